"""The limit of a likelihood along the directions in which it never falls, and the estimate there.

Rows whose outcome the directions decide drop out (of several classes: the outcomes that they rule out), and so do the
directions themselves: as many of the diverging parameters as the cone has dimensions are held at 0, which changes
nothing on the rows left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.design.columns import beside, some_columns
from glmclf.core.fit.coordinates import Coordinates, covariance_from_basis, wide
from glmclf.core.fit.estimate import Estimate, at_infinity, estimate
from glmclf.core.fit.restricted import Selected
from glmclf.core.fit.solvers import solve
from glmclf.core.fit.solvers.loop import Fit
from glmclf.core.likelihood.objective import Evaluation, MultinomialObjective, Objective
from glmclf.core.rows.blocks import Blocks
from glmclf.core.rows.streamed import Elsewhere
from glmclf.core.separation.outcomes import outcomes_ruled_out


@dataclass(frozen=True)
class LimitEstimate(Estimate):
    """An estimate of which some parameters are infinite.

    `fit` is in the coordinates of X: as many of the infinite parameters as the cone has dimensions are 0, and have no
    variance, which gives every combination that is estimable its value.

    Attributes
    ----------
    cone : RecessionCone or SimplicialCone
        Directions along which the likelihood never falls. Where the rows are gone it is all that is left of the limit.
    kept : (p - r,) integer ndarray
        Parameters of the limit.
    rows : integer ndarray or Elsewhere
        Rows that the limit is a likelihood of.
    ruled_out : (n, K) bool ndarray or RuledOut
        Outcomes of each row that the directions rule out.
    inner : Estimate
        The estimate of the parameters kept.
    objective : Objective or Selected
        The limit as a function of them.
    """

    cone: Any = None
    kept: Any = None
    rows: Any = None
    ruled_out: Any = None
    inner: Any = None
    objective: Any = None

    @property
    def is_finite(self) -> bool:
        """Whether every parameter is finite: some are infinite."""
        return False

    @property
    def infinite_directions(self) -> int:
        """Dimensions of the recession cone."""
        return self.cone.basis.shape[1]

    def rules_out(self, X: Any, K: int) -> ndarray:
        """Outcomes of rows that were in the fit which the cone rules out, (n, K) bool."""
        return outcomes_ruled_out(self.cone, K, X)

    @property
    def has_limit(self) -> bool:
        """Whether the limit is known, whose rows may be gone."""
        return self.inner is not None

    def reported(self, theta: ndarray) -> ndarray:
        """Parameters: inf, -inf, or NaN for those that directions of both signs change."""
        return at_infinity(theta, self.cone.signs)

    @property
    def infinite(self) -> ndarray:
        """Signs of the infinite parameters, NaN where directions of both signs change them, and 0 of finite ones."""
        return self.cone.signs

    @property
    def unbounded(self) -> ndarray:
        """Mask of the infinite parameters, whatever their signs."""
        return self.cone.moved

    def moves(self, R: ndarray) -> ndarray:
        """Mask of the infinite combinations, whatever their signs."""
        return self.cone.moves(R)

    def signs(self, R: ndarray) -> ndarray:
        """Signs of infinite combinations, NaN where directions of both signs change them, and 0 of finite ones."""
        return self.cone.sign_of(R)

    def mapped(self, A: ndarray, inverse: ndarray, order: list[int]) -> LimitEstimate:
        """The estimate of A theta, without its limit, which is in the coordinates of the fit."""
        gone = self.ruled_out
        if isinstance(gone, ndarray):
            gone = gone[:, order]
        found = replace(super().mapped(A, inverse, order), cone=self.cone.mapped(A)).without_rows()
        return replace(found, ruled_out=gone)

    def widened(self, coordinates: Coordinates) -> LimitEstimate:
        """The estimate of the columns that are left, in the coordinates of all."""
        if not coordinates.omitted:
            return self
        found = super().widened(coordinates)
        return replace(found, cone=self.cone.widened(coordinates), kept=coordinates.places[self.kept])

    def without_rows(self) -> LimitEstimate:
        """The estimate without its limit, which is one of rows."""
        return replace(self, kept=None, rows=None, ruled_out=None, inner=None, objective=None)

    def with_fewest_facets(self) -> LimitEstimate:
        """The estimate with those facets of its cone alone that others do not imply, and no row that it decides."""
        return replace(self, cone=self.cone.with_fewest_facets())

    def with_columns(self, Z: ndarray) -> tuple[Any, ndarray, ndarray]:
        """The limit with more columns Z of all rows, its estimate with zeros for them, and the places of these."""
        Z = Z[self.rows]
        if isinstance(self.objective, Selected):
            return _with_columns(self.objective, Z, self.inner.fit.theta)
        X, *rest = self.objective.blocks.arrays
        theta = np.concatenate([self.inner.theta, np.zeros(Z.shape[1])])
        blocks = Blocks(beside(X, Z), *rest)
        objective = type(self.objective)(self.objective.likelihood, blocks, self.objective.unit)
        return objective, theta, np.arange(X.shape[1], len(theta))

    def expanded(self, V: ndarray) -> ndarray:
        """A covariance of the inner fit in the coordinates of X, with zeros for what is held at 0."""
        V = covariance_from_basis(self.inner.basis, V)
        return wide(0.5 * (V + V.T), self.kept, len(self.fit.theta))


def _with_columns(limit: Selected, Z: ndarray, theta: ndarray) -> tuple[Selected, ndarray, ndarray]:
    """A limit with more columns in every equation, theta with zeros for them, and the places of these."""
    X, *rest = limit.blocks.arrays
    k, q = X.shape[1], limit.likelihood.n_eta
    wider = k + Z.shape[1]
    new = (np.arange(q)[:, None] * wider + np.arange(k, wider)).ravel()
    old = limit.kept // k * wider + limit.kept % k
    kept = np.sort(np.concatenate([old, new]))
    full = np.zeros(wider * q)
    full[old] = theta
    objective = type(limit.objective)(limit.likelihood, Blocks(beside(X, Z), *rest), limit.unit)
    return Selected(objective, kept, np.zeros(wider * q)), full[kept], np.flatnonzero(np.isin(kept, new))


class RestrictedObjective(MultinomialObjective):
    """Likelihood of several equations with outcomes that are ruled out: their offset, of all K classes, is -inf."""

    def _predictors(self, theta, X, offset):
        z = np.array(offset.T, order="C")
        z[1:] += (X @ theta.reshape(X.shape[1], -1, order="F")).T
        return z


def limit_estimate(
    method: str, objective: Objective, cone: Any, constraints: Any, near: ndarray, gone: Any, **options
) -> LimitEstimate:
    """Maximise the limit of an objective along its recession cone; a fit that was diverging has stopped at `near`.

    `gone` are the outcomes that the cone rules out.
    """
    held, kept = held_and_kept(cone, constraints)
    rows, limit = limit_objective(objective, cone, gone, kept)
    start = cone.without(held, near)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        inner = _maximum(method, limit, start[kept], len(rows), options)
    theta = np.zeros(len(cone.direction))
    theta[kept] = inner.theta
    score, information = np.zeros(len(theta)), np.zeros((len(theta), len(theta)))
    expanded = Evaluation(inner.fit.evaluation.value, score, information)
    fit = replace(inner.fit, theta=theta, evaluation=expanded)
    return LimitEstimate(
        fit, None, cone=cone, kept=kept, rows=rows, ruled_out=gone, inner=inner, objective=limit
    )


def held_and_kept(cone: Any, constraints: Any) -> tuple[ndarray, ndarray]:
    """Places of as many diverging parameters as the cone has dimensions, which the limit holds at 0, and the others."""
    held = cone.held(constraints)
    return held, np.setdiff1d(np.arange(len(cone.direction)), held)


def _maximum(method: str, limit: Any, start: ndarray, n: int, options) -> Estimate:
    p = len(start)
    if not p or not n:
        value = float(limit.gradient(start).value) if n else 0.0
        return Estimate(Fit(start, Evaluation(value, start, np.zeros((p, p))), 0, True, "converged", 0.0), None)
    found = maximum_from(method, limit, start, options)
    return found if found.fit.converged else maximum_from(method, limit, np.zeros(p), options)


def maximum_from(method: str, limit: Any, start: ndarray, options: Any) -> Estimate:
    """The maximum of a limit as a solver finds it from a start, or where it stops."""
    if isinstance(limit, Selected):
        return Estimate(solve(method, limit, start, **options), None)  # type: ignore[arg-type]
    return estimate(method, limit, start, warm=False, **options)


def limit_objective(objective: Any, cone: Any, gone: Any, kept: ndarray) -> tuple[Any, Any]:
    """Rows that are left where outcomes are `gone`, and the likelihood of the parameters kept on them; of a dense X in
    memory they are copied."""
    blocks, several = objective.blocks, isinstance(objective, MultinomialObjective)
    if blocks.streamed:
        left = partial(_left_of_part, cone, objective.likelihood.n_eta + 1, kept, several)
        blocks = blocks.filter(left, gone)
        rows: Any = Elsewhere((blocks.n,))
    else:
        rows, arrays = _left(gone, kept, several, *blocks.arrays)
        blocks = Blocks(*arrays)
    if not several:
        return rows, type(objective)(objective.likelihood, blocks, objective.unit)
    limit = RestrictedObjective(objective.likelihood, blocks, objective.unit)
    return rows, Selected(limit, kept, np.zeros(len(cone.direction)))


def _left_of_part(cone: Any, K: int, kept: ndarray, several: bool, X: Any, *rest: Any) -> tuple:
    return _left(outcomes_ruled_out(cone, K, X), kept, several, X, *rest)


def _left(gone: ndarray, kept: ndarray, several: bool, X: Any, y, m, offset, w) -> tuple[ndarray, tuple]:
    """Rows of which several outcomes are left, and the arrays of the limit: of several classes with an offset of all,
    of two with the columns kept."""
    rows = np.flatnonzero((~gone).sum(axis=1) > 1)
    if several:
        offset = offset_of_all(gone, offset)
    arrays = (None if a is None else a[rows] for a in (y, m, offset, w))
    return rows, (X.subset(rows) if several else some_columns(X.subset(rows), kept), *arrays)


def offset_of_all(gone: ndarray, offset: ndarray | None) -> ndarray:
    """The offset of all classes, (n, K), -inf where one is ruled out."""
    full = np.zeros(gone.shape)
    if offset is not None:
        full[:, 1:] = offset if offset.ndim == 2 else offset[:, None]
    full[gone] = -np.inf
    return full
