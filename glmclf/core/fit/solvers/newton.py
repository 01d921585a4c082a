"""Newton's method with step-halving: on the expected ("irls", Fisher scoring) or observed information ("newton")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.fit.solvers.loop import (
    CONVERGED,
    CONVERGED_TO_ROUNDING,
    NO_STEP,
    OUT_OF_STEPS,
    ROUNDED_LOGLIK_SHARE,
    SINGULAR,
    Fit,
    longest_step,
    stands_still,
)
from glmclf.core.likelihood.objective import Evaluation, Objective

DECREMENT_TOL = 1e-24  # squared decrement times p/n: the last step then moves the information by 1e-12 of itself
DECREMENT_TOL_WITH_SURROGATE = 1e-16  # such a tolerance where a surrogate tells the move to some hundredths
KEPT_INFORMATION_TOL_SHARE = 1e-2  # share of such a tolerance: the information moves by no more than 1e-9 of itself
# Fisher scoring goes on with the observed information here, or where its step is too long: the log-likelihoods are
# concave, so that damped Newton steps reach the maximum, and its last digits come quickly
OBSERVED_BELOW_DECREMENT = 1e-2
ROUNDING_DECREMENT = 1e-8  # a squared decrement below this that has not fallen for NEWTON_PATIENCE steps is rounding
# and where the gain is no larger share of the log-likelihood: one far row can make a slope of little weight
ROUNDING_GAIN_SHARE = 1e-11
# squared distance from which no row moves far: one of leverage 1 by its root over that of its weight
SURE_DECREMENT = 1e-16
# change of any row's linear predictor in the last step, and of its weight, that a part may tell
MAX_FORESEEN_CHANGE = 2e-8
# squared decrement over n, the relative change of the information in a step, that a surrogate follows
SURROGATE_BELOW_DECREMENT_PER_ROW = 0.1
NEWTON_PATIENCE = 4  # steps; in an exponential tail it falls by 1/e a step: slow, but no rounding
ROUNDING_WITH_OFFSETS = 1e-8  # share of the log-likelihood that large offsets may make rounding of
MAX_NEWTON_HALVINGS = 60  # lengths of one step that are tried
TOLD_APART = "the outcomes are told apart, and the log-likelihood has no maximum"


def irls(objective: Objective, start: ndarray, surrogate=None, **options) -> Fit:
    """Fisher scoring: each step a weighted least squares fit (iteratively reweighted least squares).

    With a `SurrogateLikelihood` at whose estimate it starts, on the observed information from there.
    """
    expected = not objective.canonical and surrogate is None
    return Ascent(objective, start, expected=expected, surrogate=surrogate, **options).fit()


def newton(objective: Objective, start: ndarray, **options) -> Fit:
    """Newton-Raphson on the observed information."""
    return Ascent(objective, start, expected=False, **options).fit()


class Ascent:
    """A run of Fisher scoring or Newton's method.

    Convergence is scale-free: the squared Newton decrement d = s' I^-1 s is the squared distance to the maximum in
    standard errors (Boyd & Vandenberghe 2004, section 9.5.1). Below `tol` the step is taken without another pass: it
    squares d, and moves the information by about sqrt(d p/n) of itself. A log-likelihood above `enough` has no maximum.
    """

    def __init__(
        self,
        objective: Any,
        start: ndarray,
        *,
        expected: bool,
        opening: Evaluation | None = None,
        maxiter: int = 100,
        tol: float | None = None,
        callback: Callable | None = None,
        surrogate: Any = None,
        enough: float = np.inf,
    ):
        if tol is None:
            tol = DECREMENT_TOL if surrogate is None else DECREMENT_TOL_WITH_SURROGATE
            tol *= max(1.0, objective.n / len(start))
        self.objective, self.expected, self.opening, self.surrogate = objective, expected, opening, surrogate
        self.maxiter, self.tol, self.callback, self.enough = maxiter, tol, callback, enough
        self.theta, self.evaluation = start, opening or objective(start, expected)
        self.trace: list[tuple[float, float]] = []
        self.iteration, self.halved = 0, False
        self.converged, self.message = False, ""

    def fit(self) -> Fit:
        """Step until something ends the run."""
        while not self.message:
            self._next()
        evaluation = self.evaluation
        # an opening is of the expected information
        if self.expected or (evaluation is self.opening and not self.objective.canonical):
            evaluation = self.objective(self.theta, False)
        decrement, trace = self.trace[-1][1], tuple(self.trace)
        return Fit(self.theta, evaluation, self.iteration, self.converged, self.message, float(decrement), trace)

    def _next(self) -> None:
        """Look at the point where the run stands: end there, or move on."""
        step, decrement = _step(self.evaluation)
        self.trace.append((self.evaluation.value, decrement))
        if step is None:
            self.message = SINGULAR
            return
        distance = decrement / self.objective.unit
        if self.expected and (distance < OBSERVED_BELOW_DECREMENT or self.halved):
            self.expected, self.evaluation = False, self.objective(self.theta, False)
            self.trace.pop()  # this point again: it does not stand still
            return
        unseen = decrement <= ROUNDING_GAIN_SHARE * max(1.0, abs(self.evaluation.value))
        blind = distance < ROUNDING_DECREMENT and unseen  # the gain may be less than the log-likelihood's rounding
        if distance <= self.tol:
            self._arrive(step, distance)
        elif blind and stands_still(self.trace, NEWTON_PATIENCE):
            self.converged, self.message = True, CONVERGED_TO_ROUNDING
        elif self.iteration == self.maxiter:
            self.message = OUT_OF_STEPS
        elif self.evaluation.value > self.enough:
            self.message = TOLD_APART
        else:
            self._move(step, decrement, distance, blind)

    def _arrive(self, step: ndarray, distance: float) -> None:
        """Take the last step, with the information there as far as a surrogate tells how it moves."""
        if self.surrogate is not None:
            if distance > SURE_DECREMENT and self.objective.farthest(step) > MAX_FORESEEN_CHANGE:
                self.evaluation = self.objective(self.theta + step, False)
            elif distance > KEPT_INFORMATION_TOL_SHARE * self.tol:
                self.evaluation = self.surrogate.moved(self.theta, self.evaluation, step)
        self.theta, self.converged, self.message = self.theta + step, True, CONVERGED

    def _move(self, step: ndarray, decrement: float, distance: float, blind: bool) -> None:
        """Take the longest step that increases the log-likelihood enough."""
        theta, value = self.theta, self.evaluation.value
        if self.surrogate is not None and distance < SURROGATE_BELOW_DECREMENT_PER_ROW * self.objective.n:
            step = self.surrogate.step(theta, self.evaluation, step)
        slack = ROUNDING_WITH_OFFSETS * max(1.0, abs(value)) if blind else ROUNDED_LOGLIK_SHARE * abs(value)

        def at(length: float) -> Evaluation:
            return self.objective(theta + length * step, self.expected)

        length, moved = longest_step(at, value, decrement, slack=slack, halvings=MAX_NEWTON_HALVINGS)
        if moved is None:
            self.message = NO_STEP
            return
        self.iteration, self.halved = self.iteration + 1, length < 1.0
        self.theta, self.evaluation = theta + length * step, moved
        if self.callback is not None:
            self.callback(self.iteration, self.theta, self.evaluation.value)


def _step(evaluation: Evaluation) -> tuple[ndarray | None, float]:
    """Newton step and squared decrement; (None, nan) where the information is singular."""
    try:
        step = evaluation.factor.solve(evaluation.score)
    except np.linalg.LinAlgError:
        return None, np.nan
    decrement = float(step @ evaluation.score)
    return (step, decrement) if np.isfinite(decrement) else (None, np.nan)
