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
from scipy import sparse
from scipy.linalg import qr, rq

from glmclf.core.design.arrow import of_levels
from glmclf.core.design.centring import level_centring
from glmclf.core.design.columns import apart, beside, some_columns
from glmclf.core.design.dense import Dense
from glmclf.core.design.product import Product, triangular_inverse
from glmclf.core.design.recoding import recoding_of
from glmclf.core.fit.coordinates import Coordinates, composed, from_basis, into_basis, placed, rows_from_basis, wide
from glmclf.core.fit.estimate import Estimate, RankDeficiency, at_infinity, estimate, reported_from
from glmclf.core.fit.information import information_vanished, loses_digits
from glmclf.core.fit.level_rank import expands
from glmclf.core.fit.rank import dependencies, roundings, triangular_factor
from glmclf.core.fit.restricted import Restricted, Selected, Within
from glmclf.core.fit.solvers import solve
from glmclf.core.fit.solvers.loop import Fit
from glmclf.core.likelihood.objective import Evaluation, MultinomialObjective, Objective
from glmclf.core.numerics.arrow import ArrowMatrix
from glmclf.core.numerics.double_double import product
from glmclf.core.rows.blocks import Blocks
from glmclf.core.rows.streamed import Elsewhere
from glmclf.core.separation.outcomes import outcomes_ruled_out
from glmclf.core.separation.simplicial import SimplicialCone
from glmclf.errors import SearchTooLargeError


@dataclass(frozen=True)
class LimitEstimate(Estimate):
    """An estimate of which some parameters are infinite.

    `fit` has as many dimensions less as the cone has, in which it has no variance: in the coordinates of X as many of
    the infinite parameters are 0, in those of a basis what is along the cone. That gives every combination that is
    estimable its value.

    Attributes
    ----------
    cone : RecessionCone or SimplicialCone
        Directions along which the likelihood never falls. Where the rows are gone it is all that is left of the limit.
    ruled_out : (n, K) bool ndarray or RuledOut
        Outcomes of each row that the directions rule out.
    inner : Estimate
        The estimate of the parameters of the limit, all equations as one.
    limit : Limit
    """

    cone: Any = None
    ruled_out: Any = None
    inner: Any = None
    limit: Any = None

    @property
    def kept(self) -> ndarray:
        """Places of the parameters of the limit."""
        return self.limit.kept

    @property
    def rows(self) -> Any:
        """Rows that the limit is a likelihood of."""
        return self.limit.rows

    @property
    def objective(self) -> Any:
        """The limit as a function of the coordinates of `inner`."""
        return self.limit.objective

    @property
    def is_finite(self) -> bool:
        """Whether every parameter is finite: some are infinite."""
        return False

    @property
    def infinite_directions(self) -> int:
        """Dimensions of the recession cone."""
        return self.cone.dimension

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
        return replace(found, cone=self.cone.widened(coordinates), limit=self.limit.widened(coordinates))

    def without_rows(self) -> LimitEstimate:
        """The estimate without its limit, which is one of rows."""
        return replace(self, ruled_out=None, inner=None, limit=None)

    def with_fewest_facets(self) -> LimitEstimate:
        """The estimate with those facets of its cone alone that others do not imply, and no row that it decides."""
        return replace(self, cone=self.cone.with_fewest_facets())

    def with_columns(self, Z: ndarray) -> tuple[Any, ndarray, ndarray]:
        """The limit with more columns Z of all rows, its estimate with zeros for them, and the places of these."""
        Z, theta = Z[self.rows], self.inner.fit.theta
        several = isinstance(self.objective, Restricted)
        whole = self.objective.objective if several else self.objective
        X, *rest = whole.blocks.arrays
        X = Dense(X[:].toarray()) if isinstance(X, Product) else X
        Z = apart(X, Z)
        objective = type(whole)(whole.likelihood, Blocks(beside(X, Z), *rest), whole.unit)
        if several:
            return _with_columns(objective, self.objective.free, theta, X.shape[1])
        return objective, np.append(theta, np.zeros(Z.shape[1])), np.arange(X.shape[1], X.shape[1] + Z.shape[1])

    def expanded(self, V: ndarray) -> ndarray:
        """A covariance of the inner fit in the coordinates of `fit`."""
        V, free = 0.5 * (V + V.T), self.limit.free
        return wide(V, self.limit.kept, self.limit.p) if free is None else free @ V @ free.T


def _with_columns(objective: Any, free: ndarray, theta: ndarray, k: int) -> tuple[Within, ndarray, ndarray]:
    """A limit whose equations have more columns than k, in the directions that were free and those of the new columns,
    theta with zeros for these, and their places."""
    q, wider = objective.likelihood.n_eta, objective.blocks.arrays[0].shape[1]
    new = np.tile(np.arange(wider) >= k, q)
    Q = np.zeros((wider * q, free.shape[1] + new.sum()))
    Q[~new, : len(theta)] = free
    Q[new, len(theta) :] = np.eye(new.sum())
    at = np.arange(len(theta), Q.shape[1])
    return Within(objective, Q, np.zeros(len(Q))), np.append(theta, np.zeros(len(at))), at


@dataclass(frozen=True)
class Limit:
    """The limit of a likelihood along the directions of a cone.

    Where the columns are ill-conditioned it is a function of what is orthogonal to the cone in the coordinates of
    their triangular factor; otherwise of the parameters kept.

    Attributes
    ----------
    rows : integer ndarray or Elsewhere
        Rows that it is a likelihood of.
    objective : Objective or Restricted
        Of several equations restricted to some of their directions.
    start : (d,) ndarray
    kept : (d,) integer ndarray
        Places of the parameters among all p, those of columns less their means by level; the others are held at 0.
    p : int
    basis : (d, d) ndarray or DesignBasis, optional
        Basis of the parameters kept, whose product with them has the coordinates of the objective; of several equations
        None beside means by level.
    whole_basis : (k, k) ndarray or DesignBasis, optional
        The triangular factor, or the means by level.
    free : (p, d) ndarray, optional
        Directions of the objective's coordinates among all parameters, in the coordinates of the factor.
    recoding : DesignBasis, optional
        In which the limit was taken.
    """

    rows: Any
    objective: Any
    start: ndarray
    kept: ndarray
    p: int
    basis: Any = None
    whole_basis: Any = None
    free: ndarray | None = None
    recoding: Any = None

    @classmethod
    def of(cls, objective: Any, cone: Any, constraints: Any, gone: Any, near: ndarray) -> Limit:
        """The limit of an objective, where outcomes are `gone`, with a start that is like `near`."""
        held, kept = held_and_kept(cone, constraints)
        rows, inner = _limit_objective(objective, cone, gone, kept)
        p, start = len(near), cone.without(held, near)
        least = inner.blocks.arrays[0].least_rcond
        simple = cls(rows, inner, start[kept], kept, p)
        if not len(kept) or not len(rows):
            return simple
        levels = of_levels(objective.blocks)
        with np.errstate(over="ignore", invalid="ignore"):  # what diverges may have gone far
            opening = inner(start[kept] if levels is None else np.zeros(len(kept)))
            places = kept if isinstance(inner, Selected) else None
            centred = loses_digits(of_levels(inner.blocks), opening, places)
            limit = cls._centred(objective, cone, constraints, gone, near) if centred else simple
            if limit is not None and (begun := limit.begun(least)) is not None:
                return begun
        if not expands(objective.blocks):
            raise SearchTooLargeError(
                "the coefficients that separation leaves finite are told apart by so little that it takes all columns, "
                "and a factor has too many levels for that. Subtract a value in its middle from a number that is "
                'multiplied by a factor, merge levels, or use bias_reduction="firth"'
            )
        if not isinstance(inner, Selected) and (
            found := dependencies(triangular_factor(inner.blocks), roundings(inner.blocks))
        ):
            raise RankDeficiency(found)  # on the rows left, where not all is known of the cone
        R = triangular_factor(objective.blocks)
        free = qr(into_basis(R, cone.basis))[0][:, len(held) :]
        theta = from_basis(R, free)
        theta = cone.without(held, theta)
        root, turn = rq(theta[kept])
        free = free @ turn.T
        _, inner = _limit_objective(objective, cone, gone, np.arange(p))
        if isinstance(inner, Selected):
            inner = Within(inner.objective.rotated(R), free, np.zeros(p))
        else:
            T = product(triangular_inverse(R), free)
            blocks = inner.blocks.map(lambda X, *rest: (Product(X, T), *rest))
            inner = type(inner)(inner.likelihood, blocks, inner.unit)
        return cls(rows, inner, free.T @ into_basis(R, near), kept, p, triangular_inverse(root), R, free)

    @classmethod
    def _centred(cls, objective: Any, cone: Any, constraints: Any, gone: Any, near: ndarray) -> Limit | None:
        """The limit in columns less their means by level; None where rounding hides directions of the cone there."""
        p, several = len(near), isinstance(objective, MultinomialObjective)
        rows, inner = _limit_objective(objective, cone, gone, np.arange(p))
        inner = inner.objective if several else inner
        basis = level_centring(inner.blocks)
        if basis.changes(cone.moved):
            turned = basis.into(cone.basis)
            cone = SimplicialCone(sparse.csc_array(turned), False, np.ones(len(basis)))
        held, kept = held_and_kept(cone, constraints)
        if len(held) < cone.basis.shape[1]:
            return None
        inner, start = inner.rotated(basis), cone.without(held, basis.into(near))[kept]
        if several:
            return cls(rows, Selected(inner, kept, np.zeros(p)), start, kept, p, whole_basis=basis)
        blocks = inner.blocks.map(lambda X, *rest: (some_columns(X, kept), *rest))
        return cls(rows, type(inner)(inner.likelihood, blocks, inner.unit), start, kept, p, whole_basis=basis)

    def begun(self, least: float) -> Limit | None:
        """The limit with its start or, where a factor has many levels, one of zeros, if the information there is
        well-conditioned; else None."""
        starts = [self.start, np.zeros(len(self.start))]
        for start in starts if of_levels(self.objective.blocks) is not None else starts[:1]:
            if self.objective(start).well_conditioned(least):
                return replace(self, start=start)
        return None

    def row(self, r: ndarray) -> ndarray:
        """Combination (p,) of the parameters of X that is finite, in the objective's coordinates."""
        r = rows_from_basis(self.recoding, r[None])[0]
        if self.free is None:
            return rows_from_basis(self.whole_basis, r[None])[0][self.kept]
        return rows_from_basis(self.basis, r[self.kept][None])[0]

    def spread(self, a: ndarray) -> ndarray:
        """Parameters in the objective's coordinates, or one side of their covariance, as those of all parameters."""
        return placed(a, self.kept, self.p) if self.free is None else self.free @ a

    def widened(self, coordinates: Coordinates) -> Limit:
        """The limit with the places of its parameters among those of all columns."""
        free = None if self.free is None else coordinates.spread(self.free)
        bases = {name: coordinates.wide_basis(getattr(self, name)) for name in ("whole_basis", "recoding")}
        return replace(self, kept=coordinates.places[self.kept], p=coordinates.size, free=free, **bases)


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
    basis, own = recoding_of(objective.blocks), getattr(constraints, "cone", None)
    if basis is not None and own is not None:  # counted in columns for each level
        near, options = basis.into(near), reported_from(basis, options)
        found = limit_estimate(method, objective.rotated(basis), own, None, near, gone, **options)
        limit = replace(found.limit, recoding=basis)
        return replace(found, basis=composed(basis, found.basis), cone=cone, limit=limit)
    limit = Limit.of(objective, cone, constraints, gone, near)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        inner = _maximum(method, limit, options)
    evaluation = Evaluation(inner.fit.evaluation.value, np.zeros(limit.p), _nothing(objective, limit.p))
    fit = replace(inner.fit, theta=limit.spread(inner.fit.theta), evaluation=evaluation)
    return LimitEstimate(fit, limit.whole_basis, cone=cone, ruled_out=gone, inner=inner, limit=limit)


def _nothing(objective: Objective, p: int) -> Any:
    """Zero information of p parameters, an `ArrowMatrix` where a factor has many levels."""
    X = of_levels(objective.blocks)
    if X is None:
        return np.zeros((p, p))
    return ArrowMatrix.of_diagonal(X.layout.repeated(p // X.shape[1]), np.zeros(p))


def held_and_kept(cone: Any, constraints: Any) -> tuple[ndarray, ndarray]:
    """Places of as many diverging parameters as the cone has dimensions, which the limit holds at 0, and the others."""
    held = cone.held(constraints)
    return held, np.setdiff1d(np.arange(len(cone.direction)), held)


def _maximum(method: str, limit: Limit, options: dict[str, Any]) -> Estimate:
    objective, p, n = limit.objective, len(limit.start), len(limit.rows)
    if not p or not n:
        value = float(objective.gradient(limit.start).value) if n else 0.0
        e = Evaluation(value, limit.start, np.zeros((p, p)))
        return Estimate(Fit(limit.start, e, 0, True, "converged", 0.0), limit.basis)
    if limit.whole_basis is None and not isinstance(objective, Restricted):
        found = estimate(method, objective, limit.start, warm=False, **options)
    else:
        found = _solved(method, objective, limit.start, options)
    found = found if found.fit.converged else _solved(method, objective, np.zeros(p), options)
    return replace(found, basis=limit.basis)


def _solved(method: str, objective: Any, start: ndarray, options: dict[str, Any]) -> Estimate:
    opening = objective(start)
    fit = solve(method, objective, start, opening=opening, **options)
    return Estimate(fit, None, information_vanished(opening.information, fit.evaluation.information))


def _limit_objective(objective: Any, cone: Any, gone: Any, kept: ndarray) -> tuple[Any, Any]:
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
