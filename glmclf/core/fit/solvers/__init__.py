"""Solvers: name -> function. A solver sees an objective and a start, and returns a `Fit`."""

from __future__ import annotations

from collections.abc import Callable

from numpy import ndarray

from glmclf.checks import check_choice
from glmclf.core.fit.solvers import newton, quasi_newton, sgd
from glmclf.core.fit.solvers.loop import Fit
from glmclf.core.likelihood.objective import Objective

SOLVERS: dict[str, Callable[..., Fit]] = {
    "irls": newton.irls,
    "newton": newton.newton,
    "bfgs": quasi_newton.bfgs,
    "lbfgs": quasi_newton.lbfgs,
    "sgd": sgd.sgd,
}


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
    check_choice("method", name, SOLVERS)
    return SOLVERS[name](objective, start, **options)
