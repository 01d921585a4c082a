"""An offset, weights or numbers of trials that code computes, row by row, of the columns of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.data.design.design import Design
from glmclf.data.formula.evaluate import raw_missing, scattered, value_of
from glmclf.data.formula.factors import Expression, Factor, Value
from glmclf.data.formula.terms import Subterm, Variable
from glmclf.data.formula.undefined import LEFT_OUT, NamedColumns, say_undefined
from glmclf.data.table.frame import naming_rows, placed, read_column
from glmclf.errors import DataError


@dataclass(frozen=True)
class ComputedColumn:
    """Code that stands where a column's name may: ``offset="np.log(exposure)"``.

    Attributes
    ----------
    text : str
        As it was given.
    keyword : str
    expression : Expression
        With its names bound; its value in a row is of that row alone.
    part : bool
        Whether tables may be parts of a larger one, whose rows without a value are told of elsewhere.
    """

    text: str
    keyword: str
    expression: Expression
    part: bool

    def __str__(self) -> str:
        return self.text

    def __call__(self, frame: pd.DataFrame) -> ndarray:
        """Numbers for the rows of a table, (n,); NaN where a column is missing or the code has no value."""
        e, columns = self.expression, NamedColumns(frame.index)
        columns |= {name: read_column(frame[name], name) for name in e.columns}
        keep = ~np.logical_or.reduce([np.zeros(len(frame), dtype=bool), *raw_missing([e], columns).values()])
        if not keep.any():
            return np.full(len(frame), np.nan)
        cut = {name: column.take(None if keep.all() else keep) for name, column in columns.items()}
        with naming_rows(len(frame), frame.index), placed(keep):
            found = scattered(self._numbers(value_of(e, cut, int(keep.sum()))), keep)
        if not self.part:
            say_undefined(e, columns, np.isnan(found), frame.index, LEFT_OUT)
        return found

    def _numbers(self, value: Value) -> ndarray:
        if value.levels == [False, True]:
            return np.asarray(value.data.codes, dtype=float)
        if value.labelled or value.data.shape[1] != 1:
            found = "labels" if value.labelled else f"{value.data.shape[1]} columns"
            raise DataError(f'{self.keyword}="{self.text}" gives {found}: it needs one number a row')
        return value.data[:, 0]

    def design(self, variables: Mapping[str, Variable]) -> Design:
        """Design of the one column that the code makes, for the rows of other tables."""
        e, name = self.expression, self.text
        factors, columns = {e.code: Factor(e, None, 1)}, {name: variables[name] for name in e.columns}
        return Design([name], {name: slice(0, 1)}, 0, None, name, factors, [Subterm((e.code,), {})], columns)
