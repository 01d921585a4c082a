"""Quasi Fisher scoring: the zero of an adjusted score, with or without a penalised likelihood to climb."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.core.fit.solvers.loop import (
    ARMIJO,
    CONVERGED,
    CONVERGED_TO_ROUNDING,
    ROUNDED_LOGLIK_SHARE,
    SINGULAR,
    Fit,
    longest_step,
    stands_still,
)
from glmclf.core.likelihood.objective import Evaluation, factor_of

SCORING_TOL = 1e-26  # squared decrement times p/n; quasi-scoring ends linearly: its last step leaves a share of it
ADJUSTED_ROUNDING_DECREMENT = 1e-10  # squared decrement that is rounding where it has not fallen for so many steps:
SCORING_PATIENCE = 5  # steps
COMBINED_STEPS = 6  # steps that the accelerated one is made of
MAX_SCORING_HALVINGS = 100  # of a step, which is 1e27 long where all but 1e-27 of the information of a column is gone
MAX_GROWTH = 2.0  # of the squared decrement in one step
MAX_STEP_LENGTH = 3.0  # standard errors of one step
ACCELERATED_BELOW_DECREMENT = 0.1  # squared decrement below which steps are accelerated


@dataclass(frozen=True)
class Point:
    """Adjusted score and expected information at a theta; the penalised log-likelihood, or None, and the plain one."""

    theta: ndarray
    value: float
    penalised: float | None
    score: ndarray
    information: Any

    @cached_property
    def factor(self) -> Any:
        """Cholesky factor of the information."""
        return factor_of(self.information)

    @cached_property
    def step(self) -> ndarray:
        """Step I^-1 (U + A) of quasi Fisher scoring; infinite where the information is singular."""
        try:
            return self.factor.solve(self.score)
        except np.linalg.LinAlgError:
            return np.full(len(self.theta), np.inf)

    @cached_property
    def decrement(self) -> float:
        """Squared decrement (U + A)' I^-1 (U + A), the squared distance to the estimate in standard errors;
        infinite where singular."""
        d = float(self.step @ self.score) if np.isfinite(self.step).all() else np.inf
        return d if 0.0 <= d < np.inf else np.inf


def solve_adjusted(
    adjusted: Callable[[ndarray], Point],
    start: ndarray,
    *,
    rows: int,
    maxiter: int = 100,
    tol: float | None = None,
    callback: Callable | None = None,
) -> tuple[Point, Fit]:
    """Solution theta of adjusted score = 0, by accelerated quasi Fisher scoring.

    A step is theta + I^-1 (U + A) (Kosmidis & Firth 2010), a fixed-point iteration that converges linearly; from some
    steps before it the accelerated one is extrapolated (Anderson 1965). A step is halved until the decrement is no more
    than `MAX_GROWTH` times what it was and, where there is a penalised log-likelihood, that rises. Where there is none
    no function of theta need fall on the way to the solution: the decrement of the adjusted score has minima of its own
    in small samples. A step of more than `MAX_STEP_LENGTH`
    standard errors must then shorten the way, steps that reverse are damped, and they are accelerated only once they
    shrink. Such scores may have several zeros; this is one that quasi-scoring is drawn to.

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
    tol = SCORING_TOL * max(1.0, rows / max(len(start), 1)) if tol is None else tol
    past, trace = [adjusted(start)], []
    converged, message, pace = False, "no solution of the adjusted score within the iterations allowed", 1.0
    while True:
        point = past[-1]
        trace.append((value(point), point.decrement))
        if not np.isfinite(point.decrement):
            message = SINGULAR
            break
        if point.decrement <= tol:
            converged, message = True, CONVERGED
            break
        if point.decrement < ADJUSTED_ROUNDING_DECREMENT and stands_still(trace, SCORING_PATIENCE):
            converged, message = True, CONVERGED_TO_ROUNDING
            point = min(past, key=lambda p: p.decrement)
            break
        if len(trace) > maxiter:
            break
        pace = _pace(past, pace)
        moved: Point | None
        if point.penalised is None:
            moved = _stride(adjusted, past, pace, min(d for _, d in trace))
        else:
            moved = _climb(adjusted, past)
        if moved is None:
            message = "no step increases the penalised log-likelihood"
            break
        past = [*past[-COMBINED_STEPS:], moved]
        if callback is not None:
            callback(len(trace), moved.theta, value(moved))
    evaluation = Evaluation(point.value, point.score, point.information)
    theta = point.theta + point.step if message == CONVERGED else point.theta
    return point, Fit(theta, evaluation, len(trace) - 1, converged, message, float(point.decrement), tuple(trace))


def value(point: Point) -> float:
    """The penalised log-likelihood or, where there is none, the plain one."""
    return point.value if point.penalised is None else point.penalised


def _climb(adjusted: Callable[[ndarray], Point], past: list[Point]) -> Point | None:
    """A point of higher penalised log-likelihood: by the accelerated step, or the longest of 1, 1/2,
    ... of the plain one."""
    point = past[-1]
    if len(past) > 1:
        step = _accelerated(past)
        gain = float(step @ point.score)
        if gain > 0:
            new = adjusted(point.theta + step)
            if new.decrement < 0.5 * point.decrement and _rises(point, new, ARMIJO * gain):
                return new
    return longest_step(
        lambda length: adjusted(point.theta + length * point.step),
        value(point),
        point.decrement,
        slack=ROUNDED_LOGLIK_SHARE * abs(value(point)),
        halvings=MAX_SCORING_HALVINGS,
        value_of=lambda new: value(new) if _in_reach(point, new) else np.nan,
    )[1]


def _in_reach(old: Point, new: Point) -> bool:
    """Whether the decrement grew no more than steps can undo.

    The value of all rows may rise while a step throws some far beyond their aim, to where they have no information.
    """
    return new.decrement <= max(1.0, MAX_GROWTH * old.decrement)


def _rises(old: Point, new: Point, gain: float) -> bool:
    return np.isfinite(new.decrement) and value(new) >= value(old) + gain - ROUNDED_LOGLIK_SHARE * abs(value(old))


def _stride(adjusted: Callable[[ndarray], Point], past: list[Point], pace: float, best: float) -> Point:
    """The next point without a likelihood to climb: `pace` times the plain step or, near the end, the accelerated one
    if that halves the smallest decrement so far."""
    point = past[-1]
    if len(past) > 1 and point.decrement < min(ACCELERATED_BELOW_DECREMENT, past[-2].decrement):
        new = adjusted(point.theta + _accelerated(past))
        if new.decrement < 0.5 * best:
            return new
    # far from the end a full step may be right, as it is with many rows, or lead astray, as with few
    far = pace * np.sqrt(point.decrement) > MAX_STEP_LENGTH
    if far:
        new = adjusted(point.theta + pace * point.step)
        if new.decrement < 0.5 * point.decrement:
            return new
    length = MAX_STEP_LENGTH / np.sqrt(point.decrement) if far else pace
    for _ in range(MAX_SCORING_HALVINGS):
        new = adjusted(point.theta + length * point.step)
        if _in_reach(point, new):
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
    white = point.factor.whitened(F)
    size = np.linalg.norm(white, axis=0)
    size = np.where(size > 0, size, 1.0)
    weights = np.linalg.lstsq(white / size, point.factor.whitened(point.step), rcond=1e-8)[0] / size
    return point.step - (X + F) @ weights
