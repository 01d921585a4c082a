"""BFGS and L-BFGS through scipy.optimize, in coordinates in which the starting information is the identity."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
from numpy import ndarray

from glmclf.core.fit.solvers.loop import Fit
from glmclf.core.fit.solvers.newton import newton
from glmclf.core.likelihood.objective import Objective


def bfgs(objective: Objective, start: ndarray, **options) -> Fit:
    """Broyden-Fletcher-Goldfarb-Shanno, finished by Newton steps on the observed information."""
    return _minimise(objective, start, "BFGS", **options)


def lbfgs(objective: Objective, start: ndarray, **options) -> Fit:
    """Limited-memory BFGS, finished by Newton steps on the observed information."""
    return _minimise(objective, start, "L-BFGS-B", **options)


def _minimise(objective, start, method, *, opening=None, maxiter=100, tol=None, callback=None) -> Fit:
    """Minimise in z, theta = start + T z with T T' the inverse information at the start, so that units don't matter.

    The standard errors need the information at the end in any case; a Newton step or two from there make the estimate
    as exact as the other solvers'.
    """
    from scipy.optimize import minimize

    opening = opening or objective(start)
    try:
        T = opening.factor.root
    except np.linalg.LinAlgError:
        return newton(objective, start, maxiter=0)
    values: dict[bytes, float] = {}

    def negative(z):
        e = objective.gradient(start + T @ z)
        values[z.tobytes()] = e.value
        if not np.isfinite(e.value):
            return np.finfo(float).max, np.zeros_like(z)
        return -e.value, -(T.T @ e.score)

    steps = itertools.count(1)

    def report(z):
        value = values.get(z.tobytes())
        values.clear()
        if callback is not None:
            callback(next(steps), start + T @ z, -negative(z)[0] if value is None else value)

    def polished(iteration, theta, value):
        if callback is not None:
            callback(done + iteration, theta, value)

    z, done = np.zeros(len(start)), 0
    if maxiter > 0:
        limits = {"maxiter": -(-2 * maxiter // 3), "gtol": 1e-6}  # the rest is for the Newton steps at the end
        found = minimize(negative, z, jac=True, method=method, callback=report, options=limits)
        z, done = found.x, int(found.nit)
    fit = newton(objective, start + T @ z, maxiter=max(maxiter - done, 0), tol=tol, callback=polished)
    return replace(fit, iterations=done + fit.iterations)
