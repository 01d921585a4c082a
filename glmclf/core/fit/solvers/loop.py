"""The record of a solver's run, and what the loops of the solvers share."""

from __future__ import annotations

from dataclasses import dataclass, field

from numpy import ndarray

from glmclf.core.likelihood.objective import Evaluation


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
