"""Warm starts of a fit: at the maximum of a part of the rows, or near that of all by passes for the gradient alone.

The second is for many columns or several equations, of which a pass for the information is dear.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.design.arrow import of_levels
from glmclf.core.design.dense import Dense
from glmclf.core.fit.information import information_vanished
from glmclf.core.fit.solvers import solve
from glmclf.core.fit.solvers.kronecker import Kronecker, lbfgs
from glmclf.core.fit.solvers.newton import DECREMENT_TOL, DECREMENT_TOL_WITH_SURROGATE
from glmclf.core.fit.surrogate import SurrogateLikelihood
from glmclf.core.likelihood.objective import CholeskyFactor, Objective

MIN_INFORMATION_COST = 2.5  # of a pass with the information, in passes for the gradient
MIN_ARITHMETIC = 3e7  # rows times squared parameters, below which the arithmetic is not what a fit costs
# rows of a part whose information is a metric in which few steps are left: of so many, a step leaves about the root of
# one over them, and more would cost more than they spare
PART_ROWS_PER_PARAMETER = (60, 250)
PART_COST = 0.7  # of the information of a part, in passes for the gradient, between these
MIN_THINNING_FOR_SURROGATE = 4  # rows of all over rows of the part that is a place to begin
METRIC_SWITCH_DISTANCE2 = 1.0  # squared standard errors to the maximum, from which the metric of a part is a good one
MIN_ROWS_PER_PARAMETER_FOR_METRIC = 25  # times the thinning; with fewer rows the metric of a part is none
MAX_METRIC_COST = 6.0  # of the metric of a part, in passes for the gradient
GRADIENT_TOL_SHARE = 0.02  # of the fit's tolerance, which is then kept however the distance is measured
SURROGATE_TOL_SHARE = 0.01  # of what a surrogate foresees: a step by gradients costs little
GRADIENT_STEPS_PER_STEP = 10  # steps by gradients for each that the fit is allowed
MAX_GRADIENT_COST = 5  # of all steps by gradients, in passes with the information
MIN_MAXITER = 50  # iterations that the fit must be allowed
MIN_PASS_ARITHMETIC = 1e8  # n p^2 from which passes that only lead further towards infinity are not taken
MIN_COLUMNS_TO_COUNT = 16  # columns from which fits towards infinity take longer than counting levels of one outcome
SEPARATION_LOGLIK = -0.1  # log-likelihood of rows whose outcomes all have more than nine tenths
FIRST_PART_ROWS_PER_PARAMETER = 40  # rows that tell where a larger part may begin


@dataclass(frozen=True)
class WarmStart:
    """End of a warm start: theta, the metric of its start, the number of steps, and the part of the rows it used."""

    theta: ndarray
    metric: Kronecker
    steps: int
    surrogate: SurrogateLikelihood | None = None


def warm_start(
    objective: Objective, start: ndarray, *, tol: float | None = None, maxiter: int = 100, callback=None
) -> WarmStart | None:
    """A point near the maximum; None where the way there by the solvers' own steps is shorter, or a column redundant.

    From the metric of the start to where the information of a part of the rows is a good one, on that part where it is
    small; and in that metric to the maximum of all rows.

    Parameters
    ----------
    objective : Objective
    start : (p,) ndarray
        Best without slopes, where the Kronecker product is the information itself.
    tol : float, optional
        Squared distance to the maximum, in standard errors, of the fit; by default one that leaves the solvers a step.
    maxiter : int
        Of the fit: ten times as many steps by gradients, unless they take longer than a few by the information.
    callback : callable, optional
        As of the solvers.
    """
    if not isinstance(objective, Objective) or maxiter < MIN_MAXITER or not information_is_dear(objective):
        return None
    X, several = objective.blocks.arrays[0], objective.likelihood.n_eta > 1
    if of_levels(objective.blocks) is not None or not (several or isinstance(X, Dense)):  # whose information is quick
        return None
    fewest, enough = (rows * len(start) for rows in PART_ROWS_PER_PARAMETER)
    rows = int(np.clip(PART_COST * objective.n / objective.cost, fewest, enough))
    times = max(1, objective.n // rows, int(np.ceil(objective.cost / MAX_METRIC_COST)))
    small = times >= MIN_THINNING_FOR_SURROGATE and objective.n >= rows * times
    surrogate = SurrogateLikelihood(objective, times) if small else None
    part: Any = objective if surrogate is None else surrogate.part
    share = part.n / objective.n
    try:
        W, G = part.mean_information(start)
        metric = Kronecker(W, G / share)
    except np.linalg.LinAlgError:
        return None
    if metric.rcond <= X.least_rcond:
        return None
    if tol is None:
        tol = DECREMENT_TOL if surrogate is None else SURROGATE_TOL_SHARE * DECREMENT_TOL_WITH_SURROGATE
        tol *= max(1.0, objective.n / len(start))
    aim = GRADIENT_TOL_SHARE * tol
    most = int(min(GRADIENT_STEPS_PER_STEP * maxiter, MAX_GRADIENT_COST * objective.cost))
    if objective.n < MIN_ROWS_PER_PARAMETER_FOR_METRIC * len(start) * times:
        found = lbfgs(objective, start, metric, tol=aim, maxiter=most, callback=callback, ahead=True)
        return WarmStart(found.theta, metric, found.iterations)
    first = lbfgs(part, start, metric, tol=METRIC_SWITCH_DISTANCE2, maxiter=most)
    try:
        nearer = CholeskyFactor(_information(objective, part, times, first.theta))
    except np.linalg.LinAlgError:
        return None
    opening = first.evaluation if part is objective else None
    options: Any = {"maxiter": most, "callback": callback, "opening": opening, "ahead": True}
    found = lbfgs(objective, first.theta, nearer, tol=aim, **options)
    return WarmStart(found.theta, metric, found.iterations, surrogate)


def _information(objective: Objective, part: Objective, times: int, theta: ndarray) -> ndarray:
    """The information of all rows, as a part of them tells it."""
    part = objective.every(times) if part is objective and times > 1 else part
    return part(theta, False).information * (objective.n / part.n)


def information_is_dear(objective: Objective) -> bool:
    """Whether the information takes most of the time of a fit; over a stream reading does, and few passes are best."""
    size = objective.blocks.arrays[0].shape[1] * (objective.likelihood.n_eta + 1)
    return objective.cost > MIN_INFORMATION_COST and objective.blocks.arithmetic(size * size) > MIN_ARITHMETIC


def passes_are_dear(objective: Objective, p: int) -> bool:
    """Whether passes over rows in memory take long, of p parameters."""
    return objective.blocks.arithmetic(p * p) >= MIN_PASS_ARITHMETIC


def separation_loglik(objective: Objective, p: int) -> float:
    """Log-likelihood above which linear predictors of p parameters are on the side of every row's outcome: complete
    separation, without a maximum. Infinite where that is not to be told by it, and where passes cost little."""
    if not passes_are_dear(objective, p):
        return np.inf
    _, y, _, offset, weights = objective.blocks.arrays
    counts = offset is None and weights is None and y.ndim == 1 and bool((y == np.round(y)).all())
    return SEPARATION_LOGLIK if counts else np.inf


def from_surrogate(surrogate: SurrogateLikelihood, start) -> tuple[ndarray, ndarray | None]:
    """The estimate on a part of the rows and the information that all had at `start`, roughly; or `start` itself."""
    part = surrogate.part
    few = part.every(max(1, part.n // (FIRST_PART_ROWS_PER_PARAMETER * len(start))))
    opening = few(start)
    if not opening.well_conditioned(few.blocks.arrays[0].least_rcond):
        return start, None
    near = 0.05 * len(start)  # beside what the part itself is off, of p * times
    fit = solve("irls", few, start, opening=opening, tol=near, maxiter=25)
    # a step leaves about d/4n of a squared distance d
    tol = np.sqrt(4.0 * near * part.n)
    fit = solve("irls", part, fit.theta if fit.converged else start, tol=tol, maxiter=25)
    reference = surrogate.times * (part.n / few.n) * opening.information
    if not fit.converged or information_vanished(reference, surrogate.times * fit.evaluation.information):
        return start, None
    return fit.theta, reference
