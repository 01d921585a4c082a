"""Solvers: name -> function. A solver sees an objective and a start, and returns a `Fit`."""

from __future__ import annotations

from dataclasses import dataclass, field

from numpy import ndarray

from glmclf.core.likelihood.objective import Evaluation, Objective


@dataclass(frozen=True)
class Fit:
    """What a solver found.

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


def solve(name: str, objective: Objective, start: ndarray, **options) -> Fit:
    """Maximise `objective` from `start` by the solver called `name`.

    Parameters
    ----------
    name : {"irls", "newton", "bfgs", "lbfgs", "sgd"}
    objective : Objective
    start : (p,) ndarray
    **options
        `maxiter`, `tol` (on the squared Newton decrement), `callback(iteration, theta, value)`, `opening` (the
        Evaluation at the start, expected information, where it is known); `seed`, `batch_size`, `polish` of "sgd".

    Raises
    ------
    ValueError
        Unknown name.
    """
    from glmclf.core.fit.solvers import newton, quasi_newton
    from glmclf.core.fit.solvers.sgd import sgd

    solvers = {
        "irls": newton.irls,
        "newton": newton.newton,
        "bfgs": quasi_newton.bfgs,
        "lbfgs": quasi_newton.lbfgs,
        "sgd": sgd,
    }
    if name not in solvers:
        raise ValueError(f"method={name!r} is unknown; choose one of {', '.join(map(repr, solvers))}")
    return solvers[name](objective, start, **options)
