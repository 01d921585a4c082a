"""The record of a solver's run, and the functions that the loops of all solvers use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy import ndarray

from glmclf.core.likelihood.objective import Evaluation

ARMIJO = 1e-4  # least share of the gain its slope promises that a step must have
ROUNDED_LOGLIK_SHARE = 1e-13  # share of a log-likelihood that is rounding
CONVERGED = "converged"
CONVERGED_TO_ROUNDING = "converged to rounding"
OUT_OF_STEPS = "no maximum within the iterations allowed"
SINGULAR = "the information matrix is singular"
NO_STEP = "no step increases the log-likelihood"


@dataclass(frozen=True)
class Fit:
    """The end of a solver's run, and its record.

    Attributes
    ----------
    theta : (p,) ndarray
        The estimate.
    evaluation : Evaluation
        Value, score and observed information there.
    iterations : int
        Steps taken.
    converged : bool
        Whether theta is a maximum to rounding.
    message : str
        Why the solver stopped.
    decrement : float
        Squared Newton decrement s' I^-1 s at the last evaluation: the squared distance to the maximum in standard
        errors.
    trace : tuple
        (log-likelihood, squared decrement) of each iteration.
    """

    theta: ndarray
    evaluation: Evaluation
    iterations: int
    converged: bool
    message: str
    decrement: float
    trace: tuple = field(default=())


def stands_still(trace: Sequence[tuple[float, float]], patience: int) -> bool:
    """Whether the last squared decrement of a trace is no smaller than those of `patience` steps before it."""
    decrements = [decrement for _, decrement in trace[-1 - patience :]]
    return len(decrements) > patience and decrements[-1] > 0.9 * min(decrements[:-1])


def longest_step(
    at: Callable[[float], Any],
    value: float,
    gain: float,
    *,
    slack: float,
    halvings: int,
    value_of: Callable[[Any], float] = lambda e: e.value,
) -> tuple[float, Any]:
    """The longest of 1, 1/2, 1/4, ... of a step that increases a value enough, and what is found there; else None.

    Parameters
    ----------
    at : callable
        ``at(length)`` evaluates the objective after that length of the step.
    value : float
        Of the objective before it.
    gain : float
        What the slope promises of a whole step.
    slack : float
        What of the value may be rounding.
    halvings : int
        Most lengths to try.
    value_of : callable
        The value of what `at` gives.
    """
    length = 1.0
    for _ in range(halvings):
        new = at(length)
        if value_of(new) >= value + ARMIJO * length * gain - slack:
            return length, new
        length *= 0.5
    return length, None
