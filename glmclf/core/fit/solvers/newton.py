"""Newton's method with step-halving: on the expected ("irls", Fisher scoring) or observed information ("newton")."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from glmclf.core.fit.solvers.loop import Fit
from glmclf.core.likelihood.objective import Evaluation, Objective

TOL = 1e-24  # squared decrement times p/n: the last step then moves the information by 1e-12 of itself
FORESEEN = 1e-16  # the same, where a subsample tells the move to some hundredths
SAME = 1e-2  # of that: the information moves by no more than 1e-9 of itself
SWITCH = 1e-2  # Fisher scoring goes on with the observed information here, or where its step is too long: the
# log-likelihoods are concave, so that damped Newton steps reach the maximum, and its last digits come quickly
FLOOR = 1e-8  # a squared decrement below this that has not fallen for PATIENCE steps is rounding
UNSEEN = 1e-11  # and where the gain is no share of the log-likelihood: one far row can make a slope of little weight
SURE = 1e-16  # squared distance from which no row moves far: one of leverage 1 by its root over that of its weight
LITTLE = 2e-8  # change of any row's linear predictor in the last step, and of its weight, that a part may tell
NEAR = 0.1  # squared decrement over n, the relative change of the information in a step, that a stand-in follows
PATIENCE = 4  # in an exponential tail it falls by 1/e a step: slow, but no rounding
ARMIJO = 1e-4
SLACK, BLIND = 1e-13, 1e-8  # share of the log-likelihood that is rounding, and that large offsets may make of it
MAX_HALVINGS = 60
TOLD_APART = "the outcomes are told apart, and the log-likelihood has no maximum"


def irls(objective: Objective, start: ndarray, subsample=None, **options) -> Fit:
    """Fisher scoring: each step a weighted least squares fit (iteratively reweighted least squares).

    With a `Subsample` at whose estimate it starts, on the observed information from there.
    """
    expected = not objective.canonical and subsample is None
    return _maximise(objective, start, expected=expected, subsample=subsample, **options)


def newton(objective: Objective, start: ndarray, **options) -> Fit:
    """Newton-Raphson on the observed information."""
    return _maximise(objective, start, expected=False, **options)


def _maximise(
    objective, start, *, expected, opening=None, maxiter=100, tol=None, callback=None, subsample=None, enough=np.inf
) -> Fit:
    """The loop of both.

    Convergence is scale-free: the squared Newton decrement d = s' I^-1 s is the squared distance to the maximum in
    standard errors (Boyd & Vandenberghe 2004, section 9.5.1). Below `tol` the step is taken without another pass: it
    squares d, and moves the information by about sqrt(d p/n) of itself. A log-likelihood above `enough` has no maximum.
    """
    if tol is None:
        tol = (TOL if subsample is None else FORESEEN) * max(1.0, objective.n / len(start))
    theta, evaluation, trace = start, opening or objective(start, expected), []
    converged, message = False, "no maximum within the iterations allowed"
    iteration, halved = 0, False
    while True:
        step, decrement = _step(evaluation)
        trace.append((evaluation.value, decrement))
        if step is None:
            message = "the information matrix is singular"
            break
        distance = decrement / objective.unit
        if expected and (distance < SWITCH or halved):
            expected, evaluation = False, objective(theta, False)
            trace.pop()  # this point again: it does not stand still
            continue
        if distance <= tol:
            if subsample is not None:
                if distance > SURE and objective.farthest(step) > LITTLE:
                    evaluation = objective(theta + step, False)
                elif distance > SAME * tol:
                    evaluation = subsample.moved(theta, evaluation, step)
            theta, converged, message = theta + step, True, "converged"
            break
        unseen = decrement <= UNSEEN * max(1.0, abs(evaluation.value))
        if distance < FLOOR and unseen and _stands_still([d for _, d in trace]):
            converged, message = True, "converged to rounding"
            break
        if iteration == maxiter:
            break
        if evaluation.value > enough:
            message = TOLD_APART
            break
        if subsample is not None and distance < NEAR * objective.n:
            step = subsample.step(theta, evaluation, step)
        blind = distance < FLOOR and unseen  # the gain may be less than the log-likelihood's rounding
        length, moved = _halve(objective, theta, evaluation, step, decrement, expected, BLIND if blind else SLACK)
        if moved is None:
            message = "no step increases the log-likelihood"
            break
        iteration, halved = iteration + 1, length < 1.0
        theta, evaluation = theta + length * step, moved
        if callback is not None:
            callback(iteration, theta, evaluation.value)
    if expected or (evaluation is opening and not objective.canonical):  # an opening is of the expected information
        evaluation = objective(theta, False)
    return Fit(theta, evaluation, iteration, converged, message, float(decrement), tuple(trace))


def _stands_still(decrements: list[float]) -> bool:
    """Whether the last decrement is no smaller than those before it."""
    before = decrements[-1 - PATIENCE : -1]
    return len(before) == PATIENCE and decrements[-1] > 0.9 * min(before)


def _step(evaluation: Evaluation) -> tuple[ndarray | None, float]:
    """Newton step and squared decrement; (None, nan) where the information is singular."""
    try:
        step = evaluation.factor.solve(evaluation.score)
    except np.linalg.LinAlgError:
        return None, np.nan
    decrement = float(step @ evaluation.score)
    return (step, decrement) if np.isfinite(decrement) else (None, np.nan)


def _halve(objective, theta, evaluation, step, decrement, expected, slack) -> tuple[float, Evaluation | None]:
    """The longest of 1, 1/2, 1/4, ... of a step that increases the log-likelihood enough, and the evaluation there.

    `slack` is the share of the log-likelihood that may be rounding.
    """
    slack = slack * max(1.0, abs(evaluation.value)) if slack == BLIND else slack * abs(evaluation.value)
    length = 1.0
    for _ in range(MAX_HALVINGS):
        new = objective(theta + length * step, expected)
        if new.value >= evaluation.value + ARMIJO * length * decrement - slack:
            return length, new
        length *= 0.5
    return length, None
