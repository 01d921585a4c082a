"""Transforms of a formula learnt anew on some rows of a fit, as resampling asks for it: knots, cuts, centres, means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.data.design.feature_design import FeatureDesign, FeatureValues
from glmclf.data.formula.evaluate import value_of
from glmclf.data.formula.factors import Expression, Factor, Value
from glmclf.data.formula.memory import memorise
from glmclf.data.reading.settle import fix_reductions
from glmclf.data.table.frame import Column
from glmclf.errors import DataError


def learns(expression: Expression) -> bool:
    """Whether a factor remembers something of the rows of the fit, and remembers it by its code alone."""
    return (expression.remembers or bool(expression.reductions)) and not expression.across


class Learner:
    """Learner of a design anew on some rows of its fit.

    What a factor's ends are is not learnt anew: where values outside the range of the fit are an error (the outer knots
    of `bs`, the outer edges of `qcut` and `cut`), the range stays that of all rows, as the fit would predict no others.
    Code that looks across rows and remembers nothing (``x.rank()``) stays as it is.

    Parameters
    ----------
    design : Design or FeatureDesign
    frame : DataFrame
        The rows of the fit.
    """

    def __init__(self, design: Any, frame: pd.DataFrame):
        self.design, self.n = design, len(frame)
        self.columns: Mapping[str, Column] = design._read(frame)
        self._there = {
            code: design._complete(self.columns, self.n, [code])[1]
            for code, factor in design.factors.items()
            if learns(factor.expression)
        }
        self._known: dict[str, ndarray] = {}

    @staticmethod
    def of(design: Any, frame: pd.DataFrame | None) -> Learner | None:
        """The learner of a design; None where there is nothing to learn."""
        factors = getattr(design, "factors", {})
        if frame is None or not any(learns(factor.expression) for factor in factors.values()):
            return None
        return Learner(design, frame)

    def on(self, times: ndarray) -> Any:
        """The design as rows that count `times`, (n,) whole numbers, would have made it.

        Raises
        ------
        DataError
            The rows make no such basis: too few distinct values, other numbers of groups or columns.
        """
        learnt = {code: self._factor(self.design.factors[code], times) for code in self._there}
        return replace(self.design, factors={**self.design.factors, **learnt})

    def _factor(self, factor: Factor, times: ndarray) -> Factor:
        there = self._there[factor.expression.code]
        rows = np.flatnonzero(there & (times > 0))
        if not len(rows):
            raise DataError(f'"{factor.expression.code}" is missing in all rows.')
        expression = replace(factor.expression, transforms={}, eval_code="", fixed={})
        every = {name: self.columns[name] for name in expression.columns}
        some = {name: column.take(rows) for name, column in every.items()}
        often = None if (times[rows] == 1).all() else times[rows]
        fix_reductions({expression.code: expression}, some, often)
        whole = {name: column.take(None if there.all() else there) for name, column in every.items()}
        memorise(expression, some, often, whole)
        return self._like(factor, expression, value_of(expression, whole, int(there.sum())))

    @staticmethod
    def _like(factor: Factor, expression: Expression, value: Value) -> Factor:
        """The factor of another expression, in columns and groups like the one of the fit."""
        if factor.levels is None:
            if value.labelled or value.data.shape[1] != factor.width:
                raise DataError(f'"{expression.code}" gives another number of columns.')
            return replace(factor, expression=expression)
        found = value.data.categories.tolist() if value.labelled else []
        if not set(factor.levels) <= set(found):
            if len(found) != len(factor.levels):
                raise DataError(f'"{expression.code}" gives another number of groups.')
            factor = replace(factor, levels=found)
        return replace(factor, expression=expression)

    def rows(self, design: Any) -> Any:
        """All rows of the fit as columns of a design that was learnt anew: pieces, or values of features."""
        if isinstance(design, FeatureDesign):
            return FeatureValues(design.of_columns(self.columns, self.n))
        for code in design.factors.keys() - self._there.keys() - self._known.keys():
            self._known[code] = self._values(design, code)
        return design.pieces(self._known | {code: self._values(design, code) for code in self._there})

    def _values(self, design: Any, code: str) -> ndarray:
        found, keep = design._complete(self.columns, self.n, [code])
        if not keep.all():
            raise DataError(f'"{code}" has no value in some rows.')
        return design.factors[code].values(found[code])
