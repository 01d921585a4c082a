"""Regularisation paths, and the choice of alpha by cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.checks import is_number
from glmclf.core.fit.coordinates import Coordinates
from glmclf.core.penalised.problem import PenalisedEstimate
from glmclf.core.rows.asked import named, under_usual_errors
from glmclf.data.table.frame import labels
from glmclf.errors import escaped
from glmclf.results.tables.frames import notebook

SLOPE_AT_END = 0.1  # standard errors that the deviance falls by to the last alpha, from which the path ends too early

@under_usual_errors
class RegularizationPath:
    """Path of penalised fits by alpha, the largest first. Made by ``fit_regularized(alphas=...)``.

    Attributes
    ----------
    model : Model
    alphas : (m,) ndarray
        Weights of the penalty, or what multiplies the weights that each coefficient was given by `alpha`.
    params : DataFrame
        A row an alpha, a column a coefficient; with several classes the columns are (level, regressor).
    llf, edf, nonzero, converged : Series
        By alpha: the plain log-likelihood, the effective degrees of freedom, how many slopes are not 0, and whether the
        fit is a maximum.
    """

    def __init__(self, model, wanted, alphas: ndarray, fits: list[PenalisedEstimate], omitted: list[dict]):
        self.model, self.alphas = model, alphas
        self._wanted, self._omitted = wanted, omitted  # columns that each fit omits
        k, m = wanted.alpha.shape
        B = np.full((len(alphas), k * m), np.nan)
        for row, f, out in zip(B, fits, omitted, strict=True):
            row[Coordinates(k, m, out).places] = f.b
        constant = model._constant_column()
        slope = np.arange(k * m) % k != (-1 if constant is None else constant)
        index = pd.Index(alphas, name="alpha")
        self.params = pd.DataFrame(B, index=index, columns=_labels(model, wanted.symmetric))
        self.llf = pd.Series([f.fit.evaluation.value + model._constant for f in fits], index=index, name="llf")
        self.edf = pd.Series([float(np.sum(np.asarray(f.shares))) for f in fits], index=index, name="edf")
        here = (np.nan_to_num(B) != 0) & slope
        self.nonzero = pd.Series(here.sum(axis=1), index=index, name="nonzero")
        self.converged = pd.Series([f.fit.converged for f in fits], index=index, name="converged")
        q = model._likelihood.n_eta
        self._starts = np.zeros((len(alphas), k * q))
        for row, f, out in zip(self._starts, fits, omitted, strict=True):
            row[Coordinates(k, q, out).places] = f.theta

    def __len__(self) -> int:
        return len(self.alphas)

    def __iter__(self):
        return iter(self.alphas)

    def __getitem__(self, alpha: float) -> Any:
        """Result at an alpha of the path."""
        near = np.flatnonzero(np.isclose(self.alphas, alpha, rtol=1e-9, atol=0.0))
        if not len(near):
            raise KeyError(f"alpha = {alpha!r} is not on the path; at() fits any other")
        return self.at(float(self.alphas[near[0]]))

    @named
    def at(self, alpha: float) -> Any:
        """Result at any alpha, from a fit that starts at the nearest one of the path.

        Parameters
        ----------
        alpha : float
            0 or more.

        Returns
        -------
        RegularizedResults
        """
        if not (is_number(alpha) and 0 <= alpha < np.inf):
            raise ValueError(f"alpha={alpha!r}: a number, 0 or more")
        near = int(np.abs(self.alphas - alpha).argmin())
        return self.model._penalised(self._wanted.times(float(alpha)), self._starts[near])

    def table(self) -> pd.DataFrame:
        """Table of llf, edf, nonzero and converged by alpha.

        Returns
        -------
        DataFrame
        """
        return pd.concat([self.llf, self.edf, self.nonzero, self.converged], axis=1)

    def __repr__(self) -> str:
        return escaped(f"<{self._head}>\n{self.table()}")

    @property
    def _head(self) -> str:
        return f"RegularizationPath of {len(self)} fit{'' if len(self) == 1 else 's'}"

    def _repr_html_(self) -> str:
        return notebook(self._head, self.table())


@under_usual_errors
class RegularizationCV:
    """Choice of alpha by cross-validation. Made by `fit_regularized_cv`.

    Attributes
    ----------
    path : RegularizationPath
        Of all rows.
    deviances : DataFrame
        Deviance per observation by alpha (rows) and fold (columns).
    fold_sizes : Series
        Observations of each fold, weighted.
    rule : {"1se", "min"}
    """

    def __init__(self, path: RegularizationPath, deviances: pd.DataFrame, sizes: ndarray, rule: str):
        self.path, self.deviances, self.rule = path, deviances, rule
        self.fold_sizes = pd.Series(sizes, index=deviances.columns, name="observations")

    @cached_property
    def cv(self) -> pd.DataFrame:
        """Table by alpha: mean deviance per observation over the folds, its standard error, edf and nonzero."""
        w = self.fold_sizes / self.fold_sizes.sum()
        mean = (self.deviances * w).sum(axis=1, skipna=False)
        variance = (self.deviances.sub(mean, axis=0) ** 2 * w).sum(axis=1, skipna=False)
        se = np.sqrt(variance / (len(w) - 1))
        return pd.DataFrame({"deviance": mean, "se": se, "edf": self.path.edf, "nonzero": self.path.nonzero})

    @property
    def alpha_min(self) -> float:
        """Alpha of the smallest mean deviance; the largest of several."""
        return float(self.cv.deviance.idxmin())

    @property
    def alpha_1se(self) -> float:
        """Largest alpha whose mean deviance is at most one standard error above the smallest."""
        best = self.cv.loc[self.alpha_min]
        within = self.cv.deviance <= best.deviance + best.se
        return float(self.cv.index[within].max())

    @property
    def _still_falls(self) -> bool:
        """Whether the mean deviance is smallest at the smallest alpha, and falls towards it by a tenth of a standard
        error or more: smaller ones may be better."""
        table = self.cv.sort_index()
        if len(table) < 2 or self.alpha_min > table.index[0] or not table.index[0] > 0:
            return False
        return bool(table.deviance.iloc[1] - table.deviance.iloc[0] >= SLOPE_AT_END * table.se.iloc[0])

    @property
    def alpha(self) -> float:
        """Alpha that `rule` chooses."""
        return self.alpha_1se if self.rule == "1se" else self.alpha_min

    @cached_property
    @named
    def result(self) -> Any:
        """Fit to all rows at `alpha`."""
        return self.path.at(self.alpha)

    @named
    def at(self, alpha: float) -> Any:
        """Fit to all rows at another alpha; see `RegularizationPath.at`."""
        return self.path.at(alpha)

    def __repr__(self) -> str:
        return escaped(f"<{self._head}>\n{self.cv}")

    @property
    def _head(self) -> str:
        chosen = f"alpha_min = {self.alpha_min:.6g}, alpha_1se = {self.alpha_1se:.6g}"
        return f"RegularizationCV of {len(self.fold_sizes)} folds: {chosen}"

    def _repr_html_(self) -> str:
        return notebook(self._head, self.cv)


def _labels(model: Any, symmetric: bool) -> pd.Index:
    """Labels of the coefficients, equation by equation."""
    if not symmetric:
        return model._param_index
    return labels(model.exog_names, model.levels)
