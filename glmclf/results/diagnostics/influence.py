"""Influence of the rows, or of the covariate patterns, on a fit, labelled."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.special import fdtrc

from glmclf.caching import cached_property
from glmclf.checks import check_choice
from glmclf.core.design.columns import expandable
from glmclf.core.design.product import rotated
from glmclf.core.fit.constraints import ConstrainedEstimate
from glmclf.core.fit.coordinates import from_basis, placed
from glmclf.core.fit.estimate import Estimate
from glmclf.core.fit.restricted import Restricted
from glmclf.core.likelihood.objective import Evaluation
from glmclf.core.likelihood.pointwise import Multinomial
from glmclf.core.numerics.arrow import ArrowFactor
from glmclf.core.rows.asked import named, under_usual_errors
from glmclf.core.rows.blocks import Blocks
from glmclf.core.separation.limit import LimitEstimate
from glmclf.inference.covariance.constrained import constrained_influence
from glmclf.inference.covariance.influence import LEVERAGE_ONE, Influences, first_rows, influence, of_patterns
from glmclf.inference.residuals import binomial as residuals
from glmclf.inference.residuals import multinomial as level_residuals
from glmclf.results.diagnostics.goodness_of_fit import (
    Estimated,
    at_the_estimate,
    check_coordinates,
    estimated_rows,
    pattern_numbers,
)
from glmclf.results.tables.frames import WholeFrame, notebook

PRINTED = 5  # rows that an Influence prints
MAX_CHANGE_BYTES = 2**31  # of the changes of all parameters by all rows


def get_influence(res: Any, by: str) -> Influence:
    """See `Diagnostics.get_influence`."""
    check_choice("by", by, ("row", "pattern"))
    if by == "row":
        return Influence(res)
    return PatternInfluence(res, pattern_numbers(res))


def influences(res: Any, pattern: ndarray | None, change: bool = False) -> Influences:
    """Influence of each row, or of all rows of each pattern; with the change of the estimate where it is wanted."""
    return _influences(res._state.estimate, res, pattern, change)


@singledispatch
def _influences(found: Estimate, res: Any, pattern: ndarray | None, change: bool) -> Influences:
    """`influences` of an estimate of some kind."""
    state, objective, theta, evaluation = res._state, *_at_the_estimate(res, pattern)
    factor = evaluation.factor
    root = factor.inverse if isinstance(factor, ArrowFactor) and not change else factor.root
    found_by_row = influence(objective, theta, root, res.model._frequency, change)
    if not state.combinations or not change:
        return found_by_row
    wide = np.zeros((len(found_by_row.change), len(state.theta)))
    wide[:, state.places] = found_by_row.change
    return found_by_row._replace(change=wide)


@_influences.register
def _of_constrained(found: ConstrainedEstimate, res: Any, pattern: ndarray | None, change: bool) -> Influences:
    return constrained_influence(*_at_the_estimate(res, pattern), found.constraint.Q, res.model._frequency, change)


def _at_the_estimate(res: Any, pattern: ndarray | None) -> tuple[Any, ndarray, Evaluation]:
    """The objective, of patterns if asked for, the estimate, and the evaluation there with the expected information."""
    objective, theta, evaluation, _ = at_the_estimate(res)
    return objective if pattern is None else of_patterns(objective, pattern), theta, evaluation


@_influences.register
def _of_separated(found: LimitEstimate, res: Any, pattern: ndarray | None, change: bool) -> Influences:
    """Influence on the finite parameters; rows that are decided have none."""
    if res._origin is not None:
        some = influences(res._origin, pattern, change)
        moved = some.change @ res._origin._change_of_base(res.model).T if change else None
        return some._replace(change=moved, shift=None)
    of_rows = np.arange(len(res.model._rows)) if pattern is None else pattern
    n, p = int(of_rows.max()) + 1, len(res._state.theta)
    full = Influences(np.zeros(n), np.zeros(n), np.zeros(n), np.zeros((n, p)) if change else None)
    limit = estimated_rows(res)
    if limit is None:
        return full
    at, inner = np.unique(of_rows[found.rows], return_inverse=True)
    objective = limit.objective if pattern is None else of_patterns(limit.objective, inner)
    root = _inverse_or_root(limit, change)
    some = influence(objective, limit.theta, root, res.model._frequency, change)
    full.leverage[at], full.cooks[at], full.gain[at] = some.leverage, some.cooks, some.gain
    if some.shift is not None:
        full.cooks[at] *= root.shape[1] / len(found.inner.fit.theta)
        full = full._replace(shift=np.zeros((n, some.shift.shape[1])))
        full.shift[at] = some.shift
    if change:
        moved = some.change @ found.objective.free if isinstance(found.objective, Restricted) else some.change
        full.change[at] = found.limit.spread(moved.T).T
    return full


def _inverse_or_root(limit: Estimated, change: bool) -> Any:
    """What `influence` takes of the finite parameters of a separated fit."""
    if isinstance(limit.root, ndarray):
        return limit.root
    if not change:
        V, p = limit.root.inverse, len(limit.theta)
        return V if limit.kept is None else V.embedded(limit.kept, p)
    check_coordinates(limit)
    root = limit.root.root
    return root if limit.kept is None else placed(root, limit.kept, len(limit.theta))


def influence_on(res: Any, J: ndarray) -> ndarray:
    """Influence of a row of weight one on estimates with gradient J (E, p) in the parameters, (n, E)."""
    objective, fit = res._objective(), res._state.narrow_centred.fit
    half = fit.evaluation.factor.inverse @ J[:, res._state.places].T
    parts = []
    for X, y, m, offset, _ in expandable(objective.blocks):
        u = objective.score_factor(fit.theta, X, y, m, offset)
        u = u.reshape(len(u), -1)
        parts.append(np.einsum("nq,nk,qke->ne", u, X.toarray(), half.reshape(u.shape[1], -1, half.shape[1])))
    return np.concatenate(parts)


@under_usual_errors
class Influence:
    """Leverage, residuals, Cook's distance and one-step deletion of each row of a fit, from the expected information.

    A row of frequency weight f stands for f rows: the numbers are those of one of them. A row of sampling weight w
    counts with w over the mean weight, so that the unit of the weights is nothing to the numbers, and equal weights
    change none (R's svyglm does so, too; its Cook's distances have its dispersion in the denominator).
    """

    def __init__(self, results: Any):
        self.results = results
        self._index = results.model._rows.index
        self._found = results._influences

    _unit = "row"
    _pattern: Any = None

    @cached_property
    def _change(self) -> ndarray:
        """Changes of the estimate, (n, p), in the coordinates of the fit."""
        size = 8 * len(self._index) * len(self.results._theta)
        if size > MAX_CHANGE_BYTES:
            raise ValueError(
                f"the changes of {len(self.results._theta):,} parameters by {len(self._index):,} {self._unit}s have "
                f"{size / 1e9:,.1f} GB, more than is formed: cooks_distance, hat_matrix_diag and delta_deviance have a "
                "number each"
            )
        return influences(self.results, self._pattern, change=True).change

    def __repr__(self) -> str:
        table = self._largest()
        said = f", {len(table)} of the largest Cook's distances" * (len(table) < len(self._index))
        return f"{type(self).__name__} of {len(self._index):,} {self._unit}s{said}\n{table}"

    def _repr_html_(self) -> str:
        head, *_ = repr(self).split("\n")
        return f"{notebook(head)}\n{self._largest()._repr_html_()}"

    def _largest(self) -> WholeFrame:
        """Leverage, Cook's distance and decreases of chi-squared and deviance where the distance is largest."""
        table = WholeFrame(
            {
                "hat_diag": self._found.leverage, "cooks_d": self._found.cooks, "delta_chi2": self.delta_chi2,
                "delta_deviance": self.delta_deviance,
            },
            index=self._index,
        )  # fmt: skip
        return table.iloc[np.argsort(-np.nan_to_num(table["cooks_d"], nan=-1.0), kind="stable")[:PRINTED]]

    def _series(self, values: ndarray) -> pd.Series:
        return pd.Series(values, index=self._index)

    @property
    def _several(self) -> bool:
        return isinstance(self.results.model._likelihood, Multinomial)

    @property
    @named
    def hat_matrix_diag(self) -> pd.Series:
        """Leverage of each row, in [0, 1] for one equation; the sum is the number of parameters.

        In a model of several classes the trace of the row's leverage block W^(1/2) D' A^-1 D W^(1/2), in [0, J-1].
        """
        return self._series(self._found.leverage)

    @property
    @named
    def cooks_distance(self) -> tuple[pd.Series, pd.Series]:
        """Cook's distances, d' A d / p with d = `d_params` and A the expected information, and their p-values.

        As in statsmodels these are from the F distribution with (p, df_resid) degrees of freedom: a yardstick, no test.
        """
        cooks = self._found.cooks
        return self._series(cooks), self._series(fdtrc(self.results._size, self.results.df_resid, cooks))

    @property
    @named
    def d_params(self) -> pd.DataFrame:
        """Estimate less the one-step estimate without the row, a column a parameter."""
        change = self._change
        basis = self.results._state.basis
        if basis is not None:
            change = from_basis(basis, change.T).T
        change = np.where(np.isfinite(self.results._theta), change, np.nan)
        change[:, self.results._state.estimate.fixed_parameters] = 0.0
        return pd.DataFrame(change, index=self._index, columns=self.results.model._param_index)

    @property
    @named
    def dfbetas(self) -> pd.DataFrame:
        """Changes `d_params` in standard errors of the fit."""
        return self.d_params / self.results._se

    @property
    @named
    def d_fittedvalues(self) -> Any:
        """Change of a row's own fitted probability by the row, to first order in `d_params`; by level for several."""
        res, change = self.results, self._change_of_eta()
        if not self._several:
            return self._series(res.model.link.pdf(self._eta) * change)
        change = np.column_stack([np.zeros(len(change)), change])
        p = Multinomial.softmax(self._eta)[1]
        return res._by_level((p * (change - (p * change).sum(axis=1, keepdims=True)))[:, res.model._order], self._index)

    def _change_of_eta(self) -> ndarray:
        """Change of a row's own linear predictors by the row, (n,) or (n, K-1)."""
        if self._found.shift is not None:
            return self._found.shift if self._several else self._found.shift[:, 0]
        res, q = self.results, self.results.model._likelihood.n_eta
        X = self._X if res._state.basis is None else rotated(self._X, res._state.basis, res._state.exact)
        parts = []
        for A, change in Blocks(X, self._change):
            A = A.toarray()
            parts.append(np.einsum("ik,iqk->iq", A, change.reshape(len(A), q, A.shape[1])))
        out = np.concatenate(parts)
        return out if self._several else out[:, 0]

    @property
    @named
    def resid_studentized(self) -> pd.Series:
        """Pearson residuals over sqrt(1 - leverage), R's rstandard(type="pearson"); binary models only."""
        self._need_one_equation("resid_studentized")
        return self._series(self._pearson / self._root_of_the_rest)

    @property
    @named
    def resid_studentized_dev(self) -> pd.Series:
        """Deviance residuals over sqrt(1 - leverage), R's rstandard; binary models only."""
        self._need_one_equation("resid_studentized_dev")
        return self._series(self._deviance / self._root_of_the_rest)

    @property
    @named
    def resid_deleted(self) -> pd.Series:
        """Signed square roots of `delta_deviance`, R's rstudent (Williams 1987); binary models only."""
        self._need_one_equation("resid_deleted")
        return self._series(np.sign(self._deviance)) * np.sqrt(self.delta_deviance)

    @property
    def _root_of_the_rest(self) -> ndarray:
        """Square root of one minus the leverage, NaN where it is rounding."""
        h = self._found.leverage
        return np.sqrt(np.where(h > 1.0 - LEVERAGE_ONE, np.nan, 1.0 - h))

    def _need_one_equation(self, what: str) -> None:
        if self._several:
            raise NotImplementedError(
                f"{what} is for binary models: with several classes a row has a residual for each level and "
                "a leverage block; use cooks_distance, delta_deviance and resid_pearson"
            )

    @property
    @named
    def delta_chi2(self) -> pd.Series:
        """Decrease of Pearson's chi-squared without the row, to first order: its own part and the gain of the others.

        Of one equation the squares of `resid_studentized`, r^2 / (1 - h) (Hosmer & Lemeshow 2000, section 5.3).
        """
        own = self._pearson**2
        return self._series((own.sum(axis=1) if self._several else own) + self._found.gain)

    @property
    @named
    def delta_deviance(self) -> pd.Series:
        """Decrease of the deviance without the row, to first order: d^2 + r^2 h / (1 - h) of one equation.

        As SAS's DIFDEV; Stata's ddeviance has d^2 / (1 - h).
        """
        own = self._deviance**2
        return self._series((own.sum(axis=1) if self._several else own) + self._found.gain)

    @cached_property
    def _pearson(self) -> ndarray:
        """Pearson residuals; of several classes (y - m p) / sqrt(m p), whose squares add up to the statistic."""
        y, m, eta = self._y, self._m, self._eta
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if not self._several:
                return self._scaled(residuals.pearson(self.results.model.link, y, m, eta))
            rest = Multinomial.softmax(eta)[2]
            return self._scaled(level_residuals.pearson(y, m, eta) * np.sqrt(rest))

    @cached_property
    def _deviance(self) -> ndarray:
        y, m, eta = self._y, self._m, self._eta
        with np.errstate(divide="ignore", invalid="ignore"):
            if not self._several:
                return self._scaled(residuals.deviance(self.results.model.link, y, m, eta))
            return self._scaled(level_residuals.deviance_by_level(y, m, eta))

    # units of influence: rows here, patterns in the subclass
    def _scaled(self, values: ndarray) -> ndarray:
        """Residuals with their sampling weights."""
        if self.results.model._frequency:
            return values
        root = np.sqrt(self.results.model._rows.weights / self.results.model._unit)
        return values * (root if values.ndim == 1 else root[:, None])

    @property
    def _X(self) -> Any:
        return self.results.model._rows.X

    @property
    def _y(self) -> ndarray:
        return self.results.model._rows.y

    @property
    def _m(self) -> ndarray | None:
        return self.results.model._rows.trials

    @property
    def _eta(self) -> ndarray:
        return self.results._eta

    @named
    def summary_frame(self) -> pd.DataFrame:
        """Table of influence by row or by pattern.

        Columns: dfb_<parameter> (`dfbetas`), cooks_d, standard_resid (binary models), hat_diag, delta_chi2,
        delta_deviance.
        """
        model = self.results.model
        table = self.dfbetas.set_axis([f"dfb_{name}" for name in model._param_names], axis=1)
        table["cooks_d"] = self._found.cooks
        if not self._several:
            table["standard_resid"] = self.resid_studentized
        table["hat_diag"] = self._found.leverage
        table["delta_chi2"], table["delta_deviance"] = self.delta_chi2, self.delta_deviance
        return table


@under_usual_errors
class PatternInfluence(Influence):
    """Influence of covariate patterns, which are all observations with equal regressors and offset.

    Under constraints patterns are those of the free combinations: `y ~ x + z` under x = z has the patterns of
    `y ~ I(x + z)`.

    A pattern goes by the label of its first row, in the order in which the rows come. It counts for all its
    observations, of weights and counts each: unlike the numbers by row these do not depend on how the data are grouped.

    Attributes
    ----------
    rows : Series
        Label of the pattern of each row of the fit.
    """

    _unit = "pattern"

    def __init__(self, results: Any, pattern: ndarray):
        self.results, self._pattern = results, pattern
        self._first = first_rows(pattern)
        r = results.model._rows
        self._index = r.index[self._first]
        self.rows = pd.Series(self._index[pattern].to_flat_index().array, index=r.index)
        self._found = influences(results, pattern)

    @cached_property
    def _counts(self) -> ndarray:
        """Observations of each class, (patterns, K)."""
        cells, n = self.results.model._cells, len(self._first)
        return np.column_stack([np.bincount(self._pattern, c, n) for c in cells.T])

    @property
    @named
    def patterns(self) -> pd.DataFrame:
        """Table of the patterns with their observations.

        Columns are those of the design, the offset, `n` observations and, for each level, ``observed_<level>`` and
        ``expected_<level>``.

        Under constraints the columns are the combinations left free, ``x + z`` of x = z, and the offset has what the
        constraints add. Sampling weights are in units of their mean, so that n adds up to the rows.
        """
        res, counts = self.results, self._scaled_counts
        p = res._observed_and_fitted()[1][self._first]
        X, names, offset = res._free_design()
        table = pd.DataFrame(X[self._first], index=self._index, columns=names)
        if offset is not None:
            offset = np.asarray(offset)[self._first]
            for j, column in enumerate(offset.T if offset.ndim == 2 else [offset]):
                table[f"offset_{res.model._equations[j]}" if offset.ndim == 2 else "offset"] = column
        table["n"] = counts.sum(axis=1)
        for j, level in enumerate(res._class_names()):
            table[f"observed_{level}"] = counts[:, j]
            table[f"expected_{level}"] = counts.sum(axis=1) * p[:, j]
        return table

    def _scaled(self, values: ndarray) -> ndarray:
        return values

    @property
    def _X(self) -> Any:
        return self.results.model._rows.X.subset(self._first)

    @property
    def _y(self) -> ndarray:
        return self._scaled_counts if self._several else self._scaled_counts[:, 1]

    @property
    def _m(self) -> ndarray | None:
        return self._scaled_counts.sum(axis=1)

    @property
    def _scaled_counts(self) -> ndarray:
        """Observations of each class with sampling weights in units of their mean, (patterns, K)."""
        return self._counts / self.results.model._unit

    @property
    def _eta(self) -> ndarray:
        return self.results._eta[self._first]
