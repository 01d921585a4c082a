"""Near the maximum of several equations by passes for the gradient alone, since one for the information is dear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.fit.solvers.kronecker import Kronecker, lbfgs
from glmclf.core.fit.solvers.newton import FORESEEN, TOL
from glmclf.core.fit.surrogate import Subsample
from glmclf.core.likelihood.objective import Factor, MultinomialObjective, Objective

DEAR = 2.5  # passes for the gradient that cost as much as one with the information, from which on this way is shorter
LARGE = 3e7  # rows times squared parameters below which the arithmetic is not what a fit costs
EACH = 60  # rows for each parameter whose information is a metric in which few steps are left
FEW = 4  # times such a part that make it a place to begin
NEAR = 1.0  # squared distance to the maximum, in standard errors, from which that metric is a good one
LEAST = 25  # and with fewer than these the metric is none
MOST = 6.0  # passes for the gradient that the metric may cost
SAFE = 0.02  # of a tolerance, which is then kept however the distance is measured
CLOSER = 0.01  # of what a subsample foresees: a step by gradients costs little
GRADIENTS, WORTH = 10, 8  # steps by gradients to one of the fit's; passes with the information that they may cost
FEWEST = 50  # iterations that the fit must be allowed


@dataclass(frozen=True)
class Approach:
    """Where the way ended: theta, the metric of its start, the number of steps, and the part of the rows it used."""

    theta: ndarray
    metric: Kronecker
    steps: int
    subsample: Subsample | None = None


def approach(
    objective: Objective, start: ndarray, *, tol: float | None = None, maxiter: int = 100, callback=None
) -> Approach | None:
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
    if not isinstance(objective, MultinomialObjective) or maxiter < FEWEST or not is_dear(objective):
        return None
    if objective.blocks.streamed:  # each pass reads the rows anew: few are better than quick ones
        return None
    times = max(1, objective.n // (EACH * len(start)), int(np.ceil(objective.cost / MOST)))
    subsample = Subsample(objective, times) if times >= FEW and objective.n >= EACH * len(start) * times else None
    part: Any = objective if subsample is None else subsample.part
    share = part.n / objective.n
    try:
        W, G = part.mean_information(start)
        metric = Kronecker(W, G / share)
    except np.linalg.LinAlgError:
        return None
    if metric.rcond <= objective.blocks.arrays[0].least_rcond:
        return None
    if tol is None:
        tol = (TOL if subsample is None else CLOSER * FORESEEN) * max(1.0, objective.n / len(start))
    aim, most = SAFE * tol, int(min(GRADIENTS * maxiter, WORTH * objective.cost))
    if objective.n < LEAST * len(start) * times:
        found = lbfgs(objective, start, metric, tol=aim, maxiter=most, callback=callback)
        return Approach(found.theta, metric, found.iterations)
    first = lbfgs(part, start, metric, tol=NEAR, maxiter=most)
    try:
        nearer = Factor(_information(objective, part, times, first.theta))
    except np.linalg.LinAlgError:
        return None
    opening = first.evaluation if part is objective else None
    found = lbfgs(objective, first.theta, nearer, tol=aim, maxiter=most, callback=callback, opening=opening)
    return Approach(found.theta, metric, found.iterations, subsample)


def _information(objective: Objective, part: Objective, times: int, theta: ndarray) -> ndarray:
    """The information of all rows, as a part of them tells it."""
    part = objective.every(times) if part is objective and times > 1 else part
    return part(theta, False).information * (objective.n / part.n)


def is_dear(objective: MultinomialObjective) -> bool:
    """Whether the information takes most of the time of a fit."""
    X = objective.blocks.arrays[0]
    return objective.cost > DEAR and objective.n * (X.shape[1] * objective.likelihood.K) ** 2 > LARGE
