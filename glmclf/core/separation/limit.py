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
from scipy.linalg import qr

from glmclf.core.design.columns import beside, expanded_rows, some_columns
from glmclf.core.fit.estimate import Estimate, RankDeficiency, estimate, from_basis, is_dear
from glmclf.core.fit.solvers import Fit, solve
from glmclf.core.fit.unique_rows import equal_rows, taken
from glmclf.core.likelihood.objective import Evaluation, MultinomialObjective, Objective
from glmclf.core.rows.blocks import Blocks, linear
from glmclf.core.rows.streamed import Elsewhere
from glmclf.core.separation.cone import BinaryConstraints, Cone, Hint, MultinomialConstraints, recession_cone

INSIDE = 1e-4  # a weight above this share of the largest: no direction separates that row


@dataclass(frozen=True)
class LimitEstimate(Estimate):
    """An estimate of which some parameters are infinite.

    `fit` is in the coordinates of X: as many of the infinite parameters as the cone has dimensions are 0, and have no
    variance, which gives every combination that is estimable its value.

    Attributes
    ----------
    cone : Cone
        Directions along which the likelihood never falls.
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
    def theta(self) -> ndarray:
        """The estimate: inf, -inf, or NaN for parameters that directions of both signs change."""
        return at_infinity(self.fit.theta, self.cone.signs)

    def with_columns(self, Z: ndarray) -> tuple[Any, ndarray, ndarray]:
        """The limit with more columns Z of all rows, its estimate with zeros for them, and the places of these."""
        Z = Z[self.rows]
        if isinstance(self.objective, Selected):
            return self.objective.with_columns(Z, self.inner.fit.theta)
        X, *rest = self.objective.blocks.arrays
        theta = np.concatenate([self.inner.theta, np.zeros(Z.shape[1])])
        blocks = Blocks(beside(X, Z), *rest)
        objective = type(self.objective)(self.objective.likelihood, blocks, self.objective.unit)
        return objective, theta, np.arange(X.shape[1], len(theta))

    def expanded(self, V: ndarray) -> ndarray:
        """A covariance of the inner fit in the coordinates of X, with zeros for what is held at 0."""
        V = from_basis(self.inner.basis, from_basis(self.inner.basis, V).T)
        out = np.zeros((len(self.fit.theta), len(self.fit.theta)))
        out[np.ix_(self.kept, self.kept)] = 0.5 * (V + V.T)
        return out


def at_infinity(values: ndarray, signs: ndarray) -> ndarray:
    """Values where the sign is 0, else infinity of that sign; NaN where the sign is."""
    with np.errstate(invalid="ignore"):
        return np.where(signs == 0, values, signs * np.inf)


class Selected:
    """An objective as a function of some of its parameters, the others 0."""

    def __init__(self, objective: Any, kept: ndarray):
        self.objective, self.kept = objective, kept
        self.likelihood, self.blocks, self.unit = objective.likelihood, objective.blocks, objective.unit
        self.canonical, self.n = objective.canonical, objective.n
        self._size = objective.blocks.arrays[0].shape[1] * objective.likelihood.n_eta

    def full(self, theta: ndarray) -> ndarray:
        """All parameters."""
        full = np.zeros(self._size)
        full[self.kept] = theta
        return full

    def __call__(self, theta: ndarray, expected: bool = True) -> Evaluation:
        """Value, score and information."""
        e = self.objective(self.full(theta), expected)
        return Evaluation(e.value, e.score[self.kept], e.information[np.ix_(self.kept, self.kept)])

    def gradient(self, theta: ndarray) -> Evaluation:
        """Value and score alone."""
        e = self.objective.gradient(self.full(theta))
        return Evaluation(e.value, e.score[self.kept], e.information)

    def with_columns(self, Z: ndarray, theta: ndarray) -> tuple[Selected, ndarray, ndarray]:
        """The same with more columns in every equation, theta with zeros for them, and the places of these."""
        X, *rest = self.objective.blocks.arrays
        k, q = X.shape[1], self.objective.likelihood.n_eta
        wider = k + Z.shape[1]
        blocks = Blocks(beside(X, Z), *rest)
        new = (np.arange(q)[:, None] * wider + np.arange(k, wider)).ravel()
        old = self.kept // k * wider + self.kept % k
        kept = np.sort(np.concatenate([old, new]))
        full = np.zeros(wider * q)
        full[old] = theta
        objective = type(self.objective)(self.objective.likelihood, blocks, self.unit)
        return Selected(objective, kept), full[kept], np.flatnonzero(np.isin(kept, new))

    def score_factor(self, theta: ndarray, X, y, m, offset) -> ndarray:
        """Derivative of each row's log-likelihood in its linear predictors."""
        return self.objective.score_factor(self.full(theta), X, y, m, offset)


class RestrictedObjective(MultinomialObjective):
    """Several equations, with outcomes that are ruled out: their offset, of all K classes, is -inf."""

    def _predictors(self, theta, X, offset):
        z = np.array(offset.T, order="C")
        z[1:] += (X @ theta.reshape(X.shape[1], -1, order="F")).T
        return z


def find_cone(objective: Objective, theta: ndarray | None = None) -> tuple[Cone | None, Any]:
    """The recession cone of an objective's likelihood, and its constraints.

    Parameters
    ----------
    objective : Objective or MultinomialObjective
    theta : (p,) ndarray, optional
        Where a fit stopped: rows it leaves undecided bound the search.

    Returns
    -------
    Cone or None
    constraints : object
        Of all rows; over a stream, of some that have the same cone.
    """
    if objective.blocks.streamed:
        from glmclf.core.separation.stream import find_cone_in_stream

        return find_cone_in_stream(objective, theta)
    constraints = constraints_of(objective)
    several = isinstance(objective, MultinomialObjective)
    if theta is None:
        return recession_cone(constraints), constraints
    with np.errstate(over="ignore", invalid="ignore"):
        near = (_level_hint if several else _hint)(objective, theta, constraints)
    return recession_cone(constraints, near), constraints


def started(objective: Objective) -> ndarray | None:
    """Where a fit stops, for `find_cone`: of many rows and columns it takes less time than the programs that it saves.

    None of few, and of a design that no fit can begin with.
    """
    p = objective.blocks.arrays[0].shape[1] * objective.likelihood.n_eta
    if not is_dear(objective, p):
        return None
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return estimate("irls", objective, np.zeros(p)).theta
    except RankDeficiency:
        return None


def constraints_of(objective: Objective) -> Any:
    """The constraints that the outcomes put on directions of recession, one for rows that are equal.

    Of several classes these are a design's rows with the classes that each showed; their `kind` says of which of them
    every row of the objective is, or is None where it is one of its own.
    """
    if objective.blocks.streamed:
        return find_cone(objective)[1]
    X, y, m, *_ = objective.blocks.arrays
    several, found = isinstance(objective, MultinomialObjective), equal_rows(X)
    kind = None if found is None else found[1]
    X = (X if found is None else taken(X, found[0]))[:].toarray()
    if several:
        seen = seen_outcomes(y, m, objective.likelihood.K)
        seen = np.column_stack([_sums(kind, column) > 0 for column in seen.T])
        constraints: Any = MultinomialConstraints(X, seen)
    else:
        constraints = BinaryConstraints(X, *((y, m) if kind is None else _outcomes(kind, y, m)))
    constraints.kind = kind
    return constraints


def _sums(kind: ndarray | None, values: ndarray) -> ndarray:
    """Sums over the rows of each kind."""
    return values if kind is None else np.bincount(kind, weights=values)


def _outcomes(kind: ndarray, y: ndarray, m: ndarray | None) -> tuple[ndarray, ndarray]:
    """Outcomes, and how many different ones, that the rows of each kind showed."""
    yes, no = (_sums(kind, seen) > 0 for seen in (y > 0, y < (1.0 if m is None else m)))
    return yes.astype(float), yes + no.astype(float)


def _means(kind: ndarray | None, values: ndarray) -> ndarray:
    return values if kind is None else _sums(kind, values) / np.bincount(kind)


def _hint(objective: Objective, theta: ndarray, constraints: BinaryConstraints) -> Hint:
    X, y, m, offset, weights = objective.blocks.arrays
    eta, kind = linear(X, theta), constraints.kind
    _, u, w = objective.likelihood.pointwise(y, m, eta if offset is None else eta + offset, True)
    w, u = _means(kind, w), _sums(kind, u if weights is None else weights * u)
    return Hint(w > INSIDE * w.max(), constraints.sign * u, theta)


def _level_hint(objective: Objective, theta: ndarray, constraints: MultinomialConstraints) -> Hint:
    """The score is the sum over pairs of classes c, l of (y_c p_l - y_l p_c) (e_c - e_l) x."""
    X, y, _, offset, weights = objective.blocks.arrays
    eta, kind = linear(X, theta.reshape(X.shape[1], -1, order="F")), constraints.kind
    if offset is not None:
        eta = eta + (offset if offset.ndim == 2 else offset[:, None])
    p = objective.likelihood.probabilities(eta)[1].T
    Y = y.T if y.ndim == 2 else y == np.arange(len(p))[:, None]
    inside, value = np.empty(len(constraints.row)), np.empty(len(constraints.row))
    for both in np.unique(constraints.pair):
        c, l = divmod(int(both), len(p))
        here = constraints.pair == both
        at, score = constraints.row[here], Y[c] * p[l] - Y[l] * p[c]
        inside[here] = _means(kind, p[c] * p[l])[at]
        value[here] = _sums(kind, score if weights is None else weights * score)[at]
    return Hint(inside > INSIDE * inside.max(), value, theta)


def seen_outcomes(y: ndarray, m: ndarray | None, K: int) -> ndarray:
    """Which outcomes rows showed, (n, K)."""
    if y.ndim == 2:
        return y > 0
    if K == 2 and (m is not None or y.dtype.kind == "f"):
        return np.column_stack([y < (1.0 if m is None else m), y > 0])
    return y[:, None] == np.arange(K)


def ruled_out(objective: Objective, cone: Cone, constraints: Any) -> Any:
    """Outcomes of each row that the cone rules out, (n, K) bool; of rows in a stream what stands for them."""
    if objective.blocks.streamed:
        from glmclf.core.separation.stream import ruled_out_in_stream

        return ruled_out_in_stream(objective, cone)
    y, kind = objective.blocks.arrays[1], constraints.kind
    if not isinstance(objective, MultinomialObjective):
        decided = cone.decided if kind is None else cone.decided[kind]
        return decided[:, None] & np.column_stack([y > 0, y == 0])
    out = np.zeros((len(constraints.directions.length), objective.likelihood.K), dtype=bool)
    gone = cone.decided
    out[constraints.row[gone], constraints.pair[gone] % out.shape[1]] = True
    return out if kind is None else out[kind]


def outcomes_ruled_out(cone: Cone, K: int, X: Any) -> ndarray:
    """The same of some rows of a cone's fit, (n, K), by the direction inside it alone: no other outcome gains from it
    like those that were seen."""
    D = cone.direction.reshape(K - 1, -1).T
    T, size = cone.lengths(D)
    Z, size = (np.concatenate([np.zeros((*a.shape[:-1], 1)), a], axis=-1) for a in (linear(X, D), size))
    if not len(Z):
        return np.zeros(Z.shape, dtype=bool)
    best = Z.argmax(axis=1)
    behind, rounding = Z[np.arange(len(Z)), best][:, None] - Z, cone.rounding * (size[best][:, None] + size)
    out = behind > rounding * np.linalg.norm(X.largest() @ np.abs(T))  # no row is longer
    unsure = np.flatnonzero(((behind > 0) & ~out).any(axis=1))
    step = expanded_rows(len(D))
    for start in range(0, len(unsure), step):
        rows = unsure[start : start + step]
        length = np.linalg.norm(X.subset(rows)[:].toarray() @ T, axis=1)
        out[rows] = behind[rows] > rounding[rows] * length[:, None]
    return out


def limit_estimate(
    method: str, objective: Objective, cone: Cone, constraints: Any, near: ndarray, gone: Any = None, **options
) -> LimitEstimate:
    """Maximise the limit of an objective along its recession cone; a fit that was diverging has stopped at `near`.

    `gone` is what `ruled_out` gives, if that is known.
    """
    held, kept = held_and_kept(cone, constraints)
    gone = ruled_out(objective, cone, constraints) if gone is None else gone
    rows, limit = limit_objective(objective, cone, gone, kept)
    start = near - cone.basis @ np.linalg.solve(cone.basis[held], near[held])  # the same rows, with zeros for `held`
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


def held_and_kept(cone: Cone, constraints: Any) -> tuple[ndarray, ndarray]:
    """As many diverging parameters as the cone has dimensions, which the limit holds at 0, and the others."""
    # in proportion to the parameters that M makes of coordinates of size one
    size = np.abs(constraints.directions.parameters(np.ones((constraints.size, 1))))
    scaled = cone.basis / np.where(size > 0, size, 1.0)
    scaled = scaled / np.linalg.norm(scaled, axis=0)
    concerned = np.flatnonzero(np.linalg.norm(scaled, axis=1) > 0)
    scaled = scaled[concerned]
    pivots = qr(scaled.T, mode="r", pivoting=True)[1][: cone.basis.shape[1]]
    held = concerned[pivots]
    return held, np.setdiff1d(np.arange(len(cone.direction)), held)


def _maximum(method: str, limit: Any, start: ndarray, n: int, options) -> Estimate:
    p = len(start)
    if not p or not n:
        value = float(limit.gradient(start).value) if n else 0.0
        return Estimate(Fit(start, Evaluation(value, start, np.zeros((p, p))), 0, True, "converged", 0.0), None)
    found = _from(method, limit, start, options)
    return found if found.fit.converged else _from(method, limit, np.zeros(p), options)


def _from(method: str, limit: Any, start: ndarray, options) -> Estimate:
    if isinstance(limit, Selected):
        return Estimate(solve(method, limit, start, **options), None)  # type: ignore[arg-type]
    return estimate(method, limit, start, warm=False, **options)


def limit_objective(objective: Any, cone: Cone, gone: Any, kept: ndarray) -> tuple[Any, Any]:
    """Rows that are left where outcomes are `gone`, and the likelihood of the parameters kept on them; of a dense X in
    memory they are copied."""
    blocks, several = objective.blocks, isinstance(objective, MultinomialObjective)
    if blocks.streamed:
        left = partial(_left_of_part, cone, objective.likelihood.n_eta + 1, kept, several)
        blocks = blocks.left(left, gone.left)
        rows: Any = Elsewhere((blocks.n,))
    else:
        rows, arrays = _left(gone, kept, several, *blocks.arrays)
        blocks = Blocks(*arrays)
    if not several:
        return rows, type(objective)(objective.likelihood, blocks, objective.unit)
    return rows, Selected(RestrictedObjective(objective.likelihood, blocks, objective.unit), kept)


def _left_of_part(cone: Cone, K: int, kept: ndarray, several: bool, X: Any, *rest: Any) -> tuple:
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
