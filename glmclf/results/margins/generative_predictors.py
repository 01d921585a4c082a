"""LDA, QDA and naive Bayes as averages over rows see them: logits in functions of the features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.inference.covariance.types import MODEL_BASED
from glmclf.inference.margins.outcomes import Classes
from glmclf.results.generative.discriminant_tables import function_slopes
from glmclf.results.margins.predictors import Source, derivative, design_parts


class Generative(Source):
    """Of LDA, QDA and NaiveBayes, through the logit that they imply."""

    def __init__(self, res: Any):
        super().__init__(res)
        self.form = res._logit_form()
        self.b, self.V = self._estimate()
        if not np.isfinite(self.b).all():
            raise ValueError(
                "margins need finite log-odds: cells of some class are never seen, their probability is estimated as "
                "0. Fit with smoothing=.5"
            )
        self.outcome = Classes(len(res.levels))
        self.levels = list(res.model._classes)

    def _estimate(self) -> tuple[ndarray, ndarray]:
        """Coefficients about the features' centre, (K-1, m), and their covariance of the fit's type."""
        raise NotImplementedError

    def predictors(self, raw: ndarray, X: ndarray, offset: ndarray | None) -> ndarray:
        return np.column_stack([np.zeros(len(X)), X @ self.b.T])

    def steps(self, d: ndarray, dX: ndarray, eta: ndarray) -> ndarray:
        return dX @ self.b.T


class Discriminant(Generative):
    """LDA and QDA: raw rows are the features, z their products."""

    def raw(self, table: pd.DataFrame) -> ndarray:
        X = self.design.matrix(table)
        return X[:, self._skip :]

    @property
    def _skip(self) -> int:
        return 1 if self.model.formula is not None else 0

    def raw_slopes(self, table: pd.DataFrame, name: str) -> ndarray:
        return derivative(self.design, table, name)[:, self._skip :]

    def parts(self) -> list[tuple[tuple[str, ...], list[int]]]:
        return design_parts(self.design, self._skip)

    def rows(self, raw: ndarray) -> ndarray:
        return self.form.functions(raw)

    def slopes(self, raw: ndarray, d: ndarray) -> ndarray:
        law = self.res._law
        return function_slopes(law, raw - law.centre, d)

    def _estimate(self) -> tuple[ndarray, ndarray]:
        res = self.res
        if res._reduced is not None:
            return res._reduced, res._cov.matrix
        return self.form.coefficients, self.form.covariance if res._cov.name in MODEL_BASED else res._cov.matrix


class Bayes(Generative):
    """NaiveBayes: raw rows are the statistics T of the features."""

    def _values(self, table: pd.DataFrame) -> list[ndarray]:
        return self.design.values(table)

    def _checked(self, table: pd.DataFrame, newdata: Any) -> pd.DataFrame:
        if newdata is not None:
            self.model._check_domains(self._values(table), table.index, new=True)
        return table

    def raw(self, table: pd.DataFrame) -> ndarray:
        values = self._values(table)
        Z = self.form.functions(values)
        missing = np.zeros(len(Z), dtype=bool)
        for v in values:
            bad = v < 0 if v.dtype.kind in "iu" else np.isnan(v)
            missing |= bad.reshape(len(Z), -1).any(axis=1)
        Z[missing] = np.nan
        return Z

    def raw_slopes(self, table: pd.DataFrame, name: str) -> ndarray:
        return self.res._parts.logit_slopes(self._values(table), derivative(self.design, table, name))

    def levels_of(self, name: str, table: pd.DataFrame) -> list[Any] | None:
        """Also of numbers that are 0 or 1 by their law."""
        found = super().levels_of(name, table)
        uses = [f for f in self.model.features if name in f.columns]
        if found is None and uses and all(f.family == "bernoulli" and f.variables for f in uses):
            return [0, 1]
        return found

    def _estimate(self) -> tuple[ndarray, ndarray]:
        res, b = self.res, self.form.coefficients
        if res._cov.name in MODEL_BASED:
            return b, self.form.covariance
        return b, res._parts.collapsed(res._cov.matrix)

    def parts(self) -> list[tuple[tuple[str, ...], list[int]]]:
        out: list[tuple[tuple[str, ...], list[int]]] = [((), [0])]
        start = 1
        for feature in self.model.features:
            stop = start + feature.width
            out.append((feature.columns, list(range(start, stop))))
            start = stop
        return out

    def rows(self, raw: ndarray) -> ndarray:
        return raw

    def slopes(self, raw: ndarray, d: ndarray) -> ndarray:
        return d
