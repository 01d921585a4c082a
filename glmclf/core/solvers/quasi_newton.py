"""BFGS and L-BFGS through scipy.optimize, in coordinates in which the starting information is the identity."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy import ndarray

from glmclf.core.objective import Objective
from glmclf.core.solvers import Fit, newton


def bfgs(objective: Objective, start: ndarray, **options) -> Fit:
    """Broyden-Fletcher-Goldfarb-Shanno, finished by Newton steps on the observed information."""
    return _minimise(objective, start, "BFGS", **options)


def lbfgs(objective: Objective, start: ndarray, **options) -> Fit:
    """Limited-memory BFGS, finished by Newton steps on the observed information."""
    return _minimise(objective, start, "L-BFGS-B", **options)


def _minimise(objective, start, method, *, opening=None, maxiter=100, tol=None, callback=None) -> Fit:
    """theta = start + T z with T T' the inverse information at the start, so that units don't matter.

    The standard errors need the information at the end in any case; a Newton step or two from there make the estimate
    as exact as the other solvers'.
    """
    from scipy.optimize import minimize

    opening = opening or objective(start)
    try:
        T = opening.factor.root
    except np.linalg.LinAlgError:
        return newton.newton(objective, start, maxiter=0)

    def negative(z):
        e = objective.gradient(start + T @ z)
        if not np.isfinite(e.value):
            return np.finfo(float).max, np.zeros_like(z)
        return -e.value, -(T.T @ e.score)

    counter = iter(range(1, maxiter + 1))

    def report(z):
        if callback is not None:
            callback(next(counter), start + T @ z, -negative(z)[0])

    limits = {"maxiter": maxiter, "gtol": 1e-6}
    found = minimize(negative, np.zeros(len(start)), jac=True, method=method, callback=report, options=limits)
    fit = newton.newton(objective, start + T @ found.x, maxiter=min(maxiter - found.nit, 20), tol=tol)
    return replace(fit, iterations=int(found.nit) + fit.iterations)
