"""Bias reduction: estimates that solve score + adjustment = 0, finite where the likelihood has no maximum.

The adjustment A(theta) removes the leading term of the bias of the maximum likelihood estimate: of its mean ("firth":
Firth 1993, Kosmidis & Firth 2009) or of its median ("median": Kenne Pagui, Salvan & Sartori 2017). For logits with one
or several equations Firth's is the gradient of log|I|/2, I the information, and the estimate maximises a penalised
log-likelihood; the other adjusted scores are no gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy import ndarray
from scipy.linalg import solve_triangular

from glmclf.core.blocks import Blocks
from glmclf.core.columns import Dense
from glmclf.core.estimation import (
    Estimate,
    RankDeficiency,
    from_basis,
    into_basis,
    refuse_empty_columns,
    scalar_maximum,
    well_conditioned,
)
from glmclf.core.objective import Evaluation, Factor, MultinomialObjective, Objective
from glmclf.core.rank import dependencies, triangular_factor
from glmclf.core.solvers import Fit

KINDS = ("firth", "median")
ENTRIES = 2**20  # of the largest temporary array
TOL = 1e-26  # squared decrement times p/n: quasi-scoring ends linearly, so that its last step leaves a share of it
FLOOR = 1e-10  # a squared decrement below this that has not fallen for PATIENCE steps is rounding
PATIENCE = 5
MEMORY = 6  # steps that the accelerated one is made of
ARMIJO = 1e-4
MAX_HALVINGS = 40
REACH = 3.0  # standard errors of one step
NEAR = 0.1  # a squared decrement from which steps are accelerated


@dataclass(frozen=True)
class Reduction:
    """How an estimate was bias-reduced.

    Attributes
    ----------
    kind : str
        "firth" or "median".
    penalised : float or None
        Largest penalised log-likelihood, llf + log|I|/2 with I in the coordinates of X and without the coefficients of
        counts, where there is one; before the intercept was corrected.
    flic : bool
        Whether the intercept was corrected.
    """

    kind: str
    penalised: float | None = None
    flic: bool = False


@dataclass(frozen=True)
class ReducedEstimate(Estimate):
    """A bias-reduced estimate. `fit` holds the plain log-likelihood, the observed information and the adjusted score.

    Attributes
    ----------
    reduction : Reduction
    """

    reduction: Reduction | None = None


@dataclass(frozen=True)
class Point:
    """Adjusted score and expected information at a theta; the penalised log-likelihood, or None, and the plain one."""

    theta: ndarray
    value: float
    penalised: float | None
    score: ndarray
    information: ndarray

    @cached_property
    def factor(self) -> Factor:
        """The information, factorised."""
        return Factor(self.information)

    @cached_property
    def step(self) -> ndarray:
        """I^-1 (U + A), the step of quasi Fisher scoring; infinite where the information is singular."""
        try:
            return self.factor.solve(self.score)
        except np.linalg.LinAlgError:
            return np.full(len(self.theta), np.inf)

    @cached_property
    def decrement(self) -> float:
        """(U + A)' I^-1 (U + A), the squared distance to the estimate in standard errors; infinite where singular."""
        d = float(self.step @ self.score) if np.isfinite(self.step).all() else np.inf
        return d if 0.0 <= d < np.inf else np.inf


def has_penalised_likelihood(kind: str, objective: Objective) -> bool:
    """Whether the adjusted score is the gradient of llf + log|I|/2: Firth's, with a logit."""
    return kind == "firth" and objective.canonical


class AdjustedScore:
    """Score + adjustment of an objective as a function of its parameters: two passes over the rows.

    Parameters
    ----------
    kind : {"firth", "median"}
    objective : Objective
        Of a binary or (only "firth") multinomial likelihood, in the coordinates ``basis @ theta``.
    basis : (k, k) upper triangular ndarray, optional
        The estimate is of median bias 0 in the coordinates of X, which this leads back to.

    Raises
    ------
    NotImplementedError
        "median" of several equations.
    """

    def __init__(self, kind: str, objective: Objective, basis: ndarray | None = None):
        if kind not in KINDS:
            raise ValueError(f"{kind!r} is no bias reduction; choose one of {', '.join(map(repr, KINDS))}")
        several = isinstance(objective, MultinomialObjective)
        if several and kind == "median":
            raise NotImplementedError("median bias reduction of several equations is not available")
        self.kind, self.objective, self.basis = kind, objective, basis
        self._adjustment = self._multinomial if several else self._binary

    def __call__(self, theta: ndarray) -> Point:
        """Adjusted score at theta; the penalised log-likelihood is -inf where the information is singular."""
        penalised = has_penalised_likelihood(self.kind, self.objective)
        e = self.objective(theta, True)
        try:
            factor = e.factor
        except np.linalg.LinAlgError:
            return Point(theta, e.value, -np.inf if penalised else None, e.score, e.information)
        with np.errstate(over="ignore", invalid="ignore"):
            score = e.score + self._adjustment(theta, e, factor.root)
        return Point(theta, e.value, e.value + 0.5 * self.logdet(factor) if penalised else None, score, e.information)

    def logdet(self, factor: Factor) -> float:
        """log|I| in the coordinates of X."""
        value = 2.0 * float(np.log(np.diag(factor.L)).sum() - np.log(factor.scale).sum())
        if self.basis is None:
            return value
        equations = len(factor.L) // len(self.basis)
        return value + 2.0 * equations * float(np.log(np.abs(np.diag(self.basis))).sum())

    def _binary(self, theta: ndarray, e: Evaluation, root: ndarray) -> ndarray:
        """X'(h g)/2, and with "median" I b besides.

        h_i = w_i x_i' I^-1 x_i is the leverage, w_i the expected weight, g = d log f / d eta; b_j, the shift from the
        mean to the median, is sum_i w_i c_i (x_i' a_j)^3 / a_jj with a_j column j of I^-1 and c = (r1 - r0)/6 - g/2.
        """
        link = self.objective.likelihood.link
        median = self.kind == "median"
        columns, variances = self._inverse_columns(root) if median else (root, np.zeros(0))

        def rows(X, y, m, offset, weights):
            total = np.zeros(2 * len(theta) if median else len(theta))
            for X, eta, times in _chunks(X, theta, offset, _product(m, weights), len(theta)):
                t, g = link.terms(eta), link.dlogpdf(eta)
                w = t.r1 * t.r0 * times
                h = w * ((X @ root) ** 2).sum(axis=1)
                total[: len(theta)] += X.times(0.5 * _times_finite(h, g))
                if median:
                    c = (t.r1 - t.r0) / 6.0 - 0.5 * g
                    total[len(theta) :] += _times_finite(w, c) @ (X @ columns) ** 3
            return total

        total = self.objective.blocks.sum(rows)
        if not median:
            return total
        shift = total[len(theta) :] / variances
        return total[: len(theta)] + e.information @ (shift if self.basis is None else into_basis(self.basis, shift))

    def _inverse_columns(self, root: ndarray) -> tuple[ndarray, ndarray]:
        """I^-1 c_j for the gradient c_j of each parameter of X, (p, p), and the parameters' variances c_j' I^-1 c_j."""
        G = root.T
        if self.basis is not None:
            G = root.T @ solve_triangular(self.basis, np.eye(len(self.basis)), trans="T", check_finite=False)
        return root @ G, (G * G).sum(axis=0)

    def _multinomial(self, theta: ndarray, e: Evaluation, root: ndarray) -> ndarray:
        """Gradient of log|I|/2: of equation s, X' m p_s (Q_ss - p'diag Q - 2 (Q p)_s + 2 p'Q p)/2.

        Q = (x' [I^-1]_jl x) of the row, (q, q): the trace of Q with the third cumulants of one multinomial trial.
        """
        k, likelihood = self.objective.blocks.arrays[0].shape[1], self.objective.likelihood
        q = likelihood.n_eta
        roots = root.reshape(q, k, -1)
        B = theta.reshape(k, q, order="F")

        def rows(X, y, m, offset, weights):
            total = np.zeros((k, q))
            for X, eta, times in _chunks(X, B, offset, _product(m, weights), k * q * q):
                p = likelihood.probabilities(eta)[1][:, 1:]
                Z = np.stack([X @ r for r in roots], axis=1)
                Q = Z @ Z.transpose(0, 2, 1)
                d, Qp = np.einsum("njj->nj", Q), np.einsum("njl,nl->nj", Q, p)
                centred = d - 2.0 * Qp - ((d - 2.0 * Qp) * p).sum(axis=1, keepdims=True)
                total += X.times(np.reshape(times, (-1, 1)) * 0.5 * p * centred)
            return total

        return self.objective.blocks.sum(rows).ravel(order="F")


def _chunks(X, b: ndarray, offset, times, width: int) -> Iterator[tuple[Any, ndarray, Any]]:
    """Rows of a block, their linear predictors and multiplicities, so few that arrays of `width` columns stay small."""
    step = max(256, ENTRIES // width)
    for start in range(0, X.shape[0], step):
        rows = slice(start, start + step)
        part = X[rows]
        eta = part @ b
        if offset is not None:
            eta += offset[rows] if offset.ndim == b.ndim else offset[rows, None]
        yield part, eta, 1.0 if times is None else times[rows]


def _product(m: ndarray | None, weights: ndarray | None) -> ndarray | None:
    return weights if m is None else m if weights is None else m * weights


def _times_finite(w: ndarray, g: ndarray) -> ndarray:
    """w g, 0 where w has vanished, however large g."""
    return np.where(w > 0, w * g, 0.0)


class PenalisedLikelihood:
    """llf + log|I|/2 of a logit with one or several equations, to be evaluated as an `Objective` is.

    Its information is the plain one, so that "irls" is quasi Fisher scoring.

    Parameters
    ----------
    objective : Objective
    basis : (k, k) upper triangular ndarray, optional
        As in `AdjustedScore`.
    """

    canonical = True

    def __init__(self, objective: Objective, basis: ndarray | None = None):
        if not has_penalised_likelihood("firth", objective):
            raise NotImplementedError("only logits have a penalised likelihood whose gradient is Firth's adjusted score")
        self.adjusted, self.objective, self.basis = AdjustedScore("firth", objective, basis), objective, basis
        self.likelihood, self.blocks, self.unit, self.n = (
            objective.likelihood,
            objective.blocks,
            objective.unit,
            objective.n,
        )

    def __call__(self, theta: ndarray, expected: bool = True) -> Evaluation:
        """Penalised value, adjusted score and information."""
        p = self.adjusted(theta)
        return Evaluation(_value(p), p.score, p.information)

    def gradient(self, theta: ndarray) -> Evaluation:
        """The same: the value needs the information."""
        return self(theta)


# -------------------------------------------------------------------------------------------------------- the solver
def solve_adjusted(
    adjusted: Callable[[ndarray], Point],
    start: ndarray,
    *,
    rows: int,
    maxiter: int = 100,
    tol: float | None = None,
    callback: Callable | None = None,
) -> tuple[Point, Fit]:
    """The theta at which the adjusted score is 0, by accelerated quasi Fisher scoring.

    A step is theta + I^-1 (U + A) (Kosmidis & Firth 2010), a fixed-point iteration that converges linearly; from some
    steps before it the accelerated one is extrapolated (Anderson 1965). Where there is a penalised log-likelihood a
    step is halved until that rises. Where there is none no function of theta need fall on the way to the solution: the
    decrement of the adjusted score has minima of its own in small samples. Steps of more than `REACH` standard
    errors must then shorten the way, others are damped where they reverse, and accelerated only once they shrink. Such scores may have several zeros; this
    is one that quasi-scoring is drawn to.

    Parameters
    ----------
    adjusted : callable
        theta -> `Point`.
    start : (p,) ndarray
    rows : int
    maxiter : int
        Most steps.
    tol : float, optional
        On the squared decrement; by default 1e-26 max(1, n/p), rounding.
    callback : callable, optional
        Called as ``callback(iteration, theta, value)`` with the penalised log-likelihood, or the plain one.

    Returns
    -------
    Point, Fit
        The last evaluation, and the record; its `evaluation` has the adjusted score and the expected information.
    """
    tol = TOL * max(1.0, rows / max(len(start), 1)) if tol is None else tol
    past, trace = [adjusted(start)], []
    converged, message, pace = False, "no solution of the adjusted score within the iterations allowed", 1.0
    while True:
        point = past[-1]
        trace.append((_value(point), point.decrement))
        if not np.isfinite(point.decrement):
            message = "the information matrix is singular"
            break
        if point.decrement <= tol:
            converged, message = True, "converged"
            break
        if point.decrement < FLOOR and _stands_still([d for _, d in trace]):
            converged, message = True, "converged to rounding"
            point = min(past, key=lambda p: p.decrement)
            break
        if len(trace) > maxiter:
            break
        pace = _pace(past, pace)
        if point.penalised is None:
            moved = _stride(adjusted, past, pace, min(d for _, d in trace))
        else:
            moved = _climb(adjusted, past)
        if moved is None:
            message = "no step increases the penalised log-likelihood"
            break
        past = [*past[-MEMORY:], moved]
        if callback is not None:
            callback(len(trace), moved.theta, _value(moved))
    evaluation = Evaluation(point.value, point.score, point.information)
    theta = point.theta + point.step if message == "converged" else point.theta
    return point, Fit(theta, evaluation, len(trace) - 1, converged, message, float(point.decrement), tuple(trace))


def _value(point: Point) -> float:
    return point.value if point.penalised is None else point.penalised


def _stands_still(decrements: list[float]) -> bool:
    before = decrements[-1 - PATIENCE : -1]
    return len(before) == PATIENCE and decrements[-1] > 0.9 * min(before)


def _climb(adjusted: Callable[[ndarray], Point], past: list[Point]) -> Point | None:
    """A point of higher penalised log-likelihood: by the accelerated step, or the longest of 1, 1/2, ... of the plain
    one."""
    point = past[-1]
    if len(past) > 1:
        step = _accelerated(past)
        gain = float(step @ point.score)
        if gain > 0:
            new = adjusted(point.theta + step)
            if new.decrement < 0.5 * point.decrement and _rises(point, new, ARMIJO * gain):
                return new
    length = 1.0
    for _ in range(MAX_HALVINGS):
        new = adjusted(point.theta + length * point.step)
        if _rises(point, new, ARMIJO * length * point.decrement):
            return new
        length *= 0.5
    return None


def _rises(old: Point, new: Point, gain: float) -> bool:
    return np.isfinite(new.decrement) and _value(new) >= _value(old) + gain - 1e-13 * abs(_value(old))


def _stride(adjusted: Callable[[ndarray], Point], past: list[Point], pace: float, best: float) -> Point:
    """The next point without a likelihood to climb: `pace` times the plain step or, near the end, the accelerated one
    if that halves the smallest decrement so far."""
    point = past[-1]
    if len(past) > 1 and point.decrement < min(NEAR, past[-2].decrement):
        new = adjusted(point.theta + _accelerated(past))
        if new.decrement < 0.5 * best:
            return new
    # far from the end a full step may be right, as it is with many rows, or lead astray, as with few
    far = pace * np.sqrt(point.decrement) > REACH
    if far:
        new = adjusted(point.theta + pace * point.step)
        if new.decrement < 0.5 * point.decrement:
            return new
    length = REACH / np.sqrt(point.decrement) if far else pace
    for _ in range(MAX_HALVINGS):
        new = adjusted(point.theta + length * point.step)
        if new.decrement <= max(1.0, 2.0 * point.decrement):
            break
        length *= 0.5
    return new


def _pace(past: list[Point], pace: float) -> float:
    """The share of a step to take: less of it after one that went beyond its aim and had to be reversed."""
    if len(past) < 2:
        return pace
    old, new = past[-2:]
    reversal = float(new.score @ old.step) / old.decrement
    return max(0.1, pace / (1.0 - reversal)) if reversal < -0.5 else min(1.0, 1.2 * pace)


def _accelerated(past: list[Point]) -> ndarray:
    """Anderson's step: the combination of past points at which the steps, were they linear, would cancel."""
    point = past[-1]
    F = np.column_stack([point.step - p.step for p in past[:-1]])
    X = np.column_stack([point.theta - p.theta for p in past[:-1]])
    whiten = point.factor.L.T / point.factor.scale
    size = np.linalg.norm(whiten @ F, axis=0)
    size = np.where(size > 0, size, 1.0)
    weights = np.linalg.lstsq((whiten @ F) / size, whiten @ point.step, rcond=1e-8)[0] / size
    return point.step - (X + F) @ weights


# ----------------------------------------------------------------------------------------------------- the estimate
def reduce_bias(kind: str, objective: Objective, start: ndarray, **options) -> ReducedEstimate:
    """The bias-reduced estimate.

    Parameters
    ----------
    kind : {"firth", "median"}
    objective : Objective
        Weights count as repeated rows.
    start : (p,) ndarray
        In the coordinates of X.
    **options
        `maxiter`, `tol`, `callback` of `solve_adjusted`.

    Returns
    -------
    ReducedEstimate

    Raises
    ------
    RankDeficiency
        The columns are linearly dependent.
    """
    basis = None
    information = objective(start).information
    if not well_conditioned(information, objective.blocks.arrays[0].least_rcond):
        refuse_empty_columns(objective, information)
        basis = triangular_factor(objective.blocks)
        combinations = dependencies(basis)
        if combinations:
            raise RankDeficiency(combinations)
        objective, start = objective.rotated(basis), into_basis(basis, start)
    adjusted = AdjustedScore(kind, objective, basis)
    point, fit = solve_adjusted(adjusted, start, rows=objective.n, **options)
    e = objective(fit.theta, False)
    fit = replace(fit, evaluation=Evaluation(e.value, point.score, e.information))
    return ReducedEstimate(fit, basis, reduction=Reduction(kind, point.penalised))


def with_corrected_intercept(found: ReducedEstimate, objective: Objective, column: int) -> ReducedEstimate:
    """The estimate with the intercept that maximises the likelihood given the slopes, for fitted probabilities that add
    up to the events (FLIC: Puhr, Heinze, Nold, Lusa & Geroldinger 2017).

    Parameters
    ----------
    found : ReducedEstimate
    objective : Objective
        Of a logit, in the coordinates of X.
    column : int
        Place of the constant.
    """
    X, y, m, offset, weights = objective.blocks.arrays
    eta = X[:] @ found.theta
    eta = eta if offset is None else eta + offset
    alone = Objective(objective.likelihood, Blocks(Dense(np.ones((len(eta), 1))), y, m, eta, weights))
    shift = np.zeros(X.shape[1])
    shift[column] = scalar_maximum(alone, 0.0) / float(X[:1].toarray()[0, column])
    basis = found.basis
    theta = found.fit.theta + (shift if basis is None else into_basis(basis, shift))
    e = (objective if basis is None else objective.rotated(basis))(theta, False)
    evaluation = Evaluation(e.value, found.fit.evaluation.score, e.information)
    assert found.reduction is not None
    fit = replace(found.fit, theta=theta, evaluation=evaluation)
    return replace(found, fit=fit, reduction=replace(found.reduction, flic=True))


def penalised_maximum(
    objective: Objective,
    basis: ndarray | None,
    directions: ndarray,
    start: ndarray,
    origin: ndarray | None = None,
    **options,
) -> tuple[float, ndarray]:
    """Largest llf + log|I|/2 over theta = origin + directions @ gamma, I the information of all parameters.

    This is the restricted fit of penalised likelihood-ratio tests (Heinze & Schemper 2002), whose two sides must have
    the same penalty.

    Parameters
    ----------
    objective : Objective
        Of a logit with one or several equations, in the coordinates ``basis @ theta``.
    basis : (k, k) upper triangular ndarray or None
    directions : (p, r) ndarray
        In the coordinates of X; r may be 0.
    start : (p,) ndarray
        Any theta near which the maximum may be.
    origin : (p,) ndarray, optional
        By default 0.

    Returns
    -------
    value : float
        Without the coefficients of counts.
    theta : (p,) ndarray
        Where, in the coordinates of X.

    Raises
    ------
    ArithmeticError
        No maximum was found.
    """
    adjusted = AdjustedScore("firth", objective, basis)
    origin = np.zeros(len(start)) if origin is None else origin
    if basis is not None:
        origin, start = into_basis(basis, origin), into_basis(basis, start)
        directions = np.column_stack([into_basis(basis, d) for d in directions.T]) if directions.size else directions
    opening = adjusted(origin)
    if not directions.shape[1]:
        return float(_value(opening)), from_basis(basis, origin)
    # an orthonormal basis of what is left, each parameter on the scale of its information
    scale = np.sqrt(np.diag(opening.information))
    C = np.linalg.qr(scale[:, None] * directions)[0] / scale[:, None]

    def restricted(gamma: ndarray) -> Point:
        p = adjusted(origin + C @ gamma)
        return Point(gamma, p.value, p.penalised, C.T @ p.score, C.T @ p.information @ C)

    gamma = C.T @ (scale**2 * (start - origin))
    best = None
    for first in (gamma, np.zeros(C.shape[1])):
        point, fit = solve_adjusted(restricted, first, rows=objective.n, **{"maxiter": 200} | options)
        if fit.converged and (best is None or _value(point) > _value(best)):
            best = point
            break
    if best is None:
        raise ArithmeticError(fit.message)
    return float(_value(best)), from_basis(basis, origin + C @ best.theta)
