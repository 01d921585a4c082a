"""Penalised likelihoods: ridge, lasso and elastic net, and the proximal Newton method that maximises them.

Everything is on the scale of the log-likelihood: with N observations and glmnet's alpha, the penalty is
``sum_j (ridge_j b_j^2 / 2 + lasso_j |b_j|)`` with ridge = N alpha (1 - L1_wt) and lasso = N alpha L1_wt.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray
from scipy.linalg import cholesky, eigh

from glmclf.core.objective import Evaluation, Factor
from glmclf.core.solvers import Fit

TOL = 1e-22  # of the squared length of a step in the metric of the information, per unit
SWEEPS = 10_000
ARMIJO = 1e-4
FLOOR, PATIENCE = 1e-8, 4  # a squared step below FLOOR that has not shrunk for PATIENCE steps is rounding
TIED = 1e-13  # a squared pivot of the scaled information below this: columns with coefficients repeat each other


class Ridge:
    """An objective less ``sum ridge_j b_j^2 / 2``.

    Parameters
    ----------
    objective : Objective
    ridge : (p,) ndarray
        Precisions of the Gaussian prior that the penalty amounts to, >= 0.
    """

    def __init__(self, objective: Any, ridge: ndarray):
        self.objective, self.ridge = objective, ridge
        self.likelihood, self.blocks, self.unit = objective.likelihood, objective.blocks, objective.unit
        self.canonical, self.n = objective.canonical, objective.n

    def __call__(self, theta: ndarray, expected: bool = True) -> Evaluation:
        """Value, score and information."""
        return self.penalised(self.objective(theta, expected), theta)

    def gradient(self, theta: ndarray) -> Evaluation:
        """Value and score alone."""
        e = self.objective.gradient(theta)
        shift = self.ridge * theta
        return Evaluation(e.value - 0.5 * float(shift @ theta), e.score - shift, e.information)

    def penalised(self, e: Evaluation, theta: ndarray) -> Evaluation:
        """An evaluation of the likelihood with the penalty in it."""
        shift = self.ridge * theta
        value = e.value - 0.5 * float(shift @ theta)
        return Evaluation(value, e.score - shift, e.information + np.diag(self.ridge))


def proximal_newton(
    objective: Any, lasso: ndarray, start: ndarray, *, maxiter: int = 200, tol: float | None = None, callback=None
) -> Fit:
    """Maximise objective(b) - sum lasso_j |b_j|.

    Each step minimises the quadratic model of the objective plus the absolute values by coordinate descent on the
    (p, p) information, then halves the step until the penalised value rises (Lee, Sun & Saunders 2014, SIAM Journal on
    Optimization 24).

    Parameters
    ----------
    objective : Objective, Ridge or Within
        Concave.
    lasso : (p,) ndarray
        >= 0; 0 leaves a coefficient free.
    start : (p,) ndarray
    maxiter : int
    tol : float, optional
        Convergence: the squared length of a step in the metric of the information, in squared standard errors. It is
        taken without another look, and squares this distance.
    callback : callable, optional
        ``callback(iteration, b, value)`` after each iteration, with the penalised value.

    Returns
    -------
    Fit
        Its evaluation is the objective's, without the absolute values.

    Notes
    -----
    Where several estimates are as good, as with columns that repeat each other, it is one whose non-zero coefficients
    belong to independent columns.
    """
    tol = TOL if tol is None else tol
    theta, e = np.array(start, dtype=float), objective(np.asarray(start, dtype=float), False)
    trace, message, converged, length = [], "no maximum within the iterations allowed", False, 0.0
    for iteration in range(maxiter + 1):
        new = _minimise_model(e.information, e.score, lasso, theta)
        step = new - theta
        length = float(step @ e.information @ step)
        trace.append((e.value - float(lasso @ np.abs(theta)), length))
        if length / objective.unit < FLOOR and _stands_still([d for _, d in trace]):
            converged, message = True, "converged to rounding"
            break
        if length / objective.unit <= tol or not step.any():
            theta, e = new, objective(new, False)
            converged, message = True, "converged"
            break
        if iteration == maxiter:
            break
        moved = _halve(objective, lasso, theta, e, step)
        if moved is None:
            converged = length / objective.unit <= 1e-14
            message = "converged to rounding" if converged else "no step increases the penalised log-likelihood"
            break
        theta, e = moved
        if callback is not None:
            callback(iteration + 1, theta, e.value - float(lasso @ np.abs(theta)))
    return Fit(theta, e, len(trace) - 1, converged, message, length, tuple(trace))


def _stands_still(lengths: list[float]) -> bool:
    before = lengths[-1 - PATIENCE : -1]
    return len(before) == PATIENCE and lengths[-1] > 0.9 * min(before)


def _minimise_model(H: ndarray, s: ndarray, lasso: ndarray, theta: ndarray) -> ndarray:
    """argmin over b of (b - theta)'H(b - theta)/2 - s'(b - theta) + sum lasso |b|.

    Coordinate descent finds which coefficients are 0 and the signs of the others; with these the rest is linear.
    """
    b, gradient = theta.copy(), -s.copy()  # of the quadratic part
    for _ in range(SWEEPS // 5):
        untied = _untied(H, lasso, b)
        if untied is not b:
            b = untied
            gradient = H @ (b - theta) - s
        exact = _with_signs(H, s, lasso, theta, b)
        if exact is not None:
            return exact
        for _ in range(5):
            largest = _sweep(H, gradient, lasso, b)
        if largest <= 1e-26:
            break
    return b


def _sweep(H: ndarray, gradient: ndarray, lasso: ndarray, b: ndarray) -> float:
    """One pass of coordinate descent, in place; the largest squared change in the metric of H."""
    largest = 0.0
    for j in range(len(b)):
        h = H[j, j]
        if h <= 0:
            continue
        z = b[j] - gradient[j] / h
        new = np.sign(z) * max(abs(z) - lasso[j] / h, 0.0)
        if new != b[j]:
            largest = max(largest, (new - b[j]) ** 2 * h)
            gradient += (new - b[j]) * H[:, j]
            b[j] = new
    return largest


def _untied(H: ndarray, lasso: ndarray, b: ndarray) -> ndarray:
    """b moved along directions in which H vanishes until no coefficient can be 0 without a loss; b itself if none can.

    The absolute values do not grow on the way, so that the new point is as good (Rosset, Zhu & Hastie 2004).
    """
    while True:
        A = np.flatnonzero((b != 0) | (lasso == 0))
        free = lasso[A] == 0
        if free.all():
            return b
        v = _null_vector(H[np.ix_(A, A)])
        if v is None:
            return b
        if float(lasso[A] * np.sign(b[A]) @ v) > 0:
            v = -v
        towards = np.flatnonzero(~free & (v * b[A] < 0))
        if not len(towards):
            return b
        reach = -b[A[towards]] / v[towards]
        first = towards[reach.argmin()]
        b = b.copy()
        b[A] += reach.min() * v
        b[A[first]] = 0.0


def _null_vector(H: ndarray) -> ndarray | None:
    """A direction in which H is 0 to rounding, in the units of its columns; None if there is none."""
    scale = np.sqrt(np.diag(H))
    if not (scale > 0).all():
        return None
    scaled = H / scale / scale[:, None]
    try:
        if np.diag(cholesky(scaled, lower=True)).min() ** 2 > TIED * len(H):
            return None
    except np.linalg.LinAlgError:
        pass
    values, vectors = eigh(scaled)
    if values[0] > TIED * len(H):
        return None
    v = vectors[:, 0]
    v[np.abs(v) < 1e-6] = 0.0  # columns that have no part in it
    return v / scale


def _with_signs(H: ndarray, s: ndarray, lasso: ndarray, theta: ndarray, b: ndarray) -> ndarray | None:
    """The minimum with the zeros and signs of b, or None if the optimality conditions don't hold there."""
    A = np.flatnonzero((b != 0) | (lasso == 0))
    rest = np.setdiff1d(np.arange(len(b)), A)
    signs = np.where(lasso[A] > 0, np.sign(b[A]), 0.0)
    new = np.zeros(len(b))
    try:
        right = s[A] + H[np.ix_(A, A)] @ theta[A] + H[np.ix_(A, rest)] @ theta[rest] - lasso[A] * signs
        new[A] = Factor(H[np.ix_(A, A)]).solve(right) if len(A) else 0.0
    except np.linalg.LinAlgError:
        return None
    gradient = H @ (new - theta) - s
    holds = (new[A] * signs >= 0).all() and (np.abs(gradient[rest]) <= lasso[rest] * (1 + 1e-12)).all()
    return new if holds else None


def _halve(objective: Any, lasso: ndarray, theta: ndarray, e: Evaluation, step: ndarray):
    value = e.value - float(lasso @ np.abs(theta))
    gain = float(e.score @ step) - float(lasso @ (np.abs(theta + step) - np.abs(theta)))
    slack, length = 1e-13 * abs(value), 1.0
    for _ in range(50):
        b = theta + length * step
        new = objective(b, False)
        if new.value - float(lasso @ np.abs(b)) >= value + ARMIJO * length * gain - slack:
            return b, new
        length *= 0.5
    return None


def kkt_residual(e: Evaluation, lasso: ndarray, theta: ndarray) -> float:
    """Largest violation of the optimality conditions: score = lasso sign(b) where b is not 0, |score| <= lasso else."""
    at_zero = np.maximum(np.abs(e.score) - lasso, 0.0)
    return float(np.where(theta == 0, at_zero, np.abs(e.score - lasso * np.sign(theta))).max(initial=0.0))


def largest_lasso(e: Evaluation, free: ndarray, share: ndarray) -> float:
    """The smallest penalty at which every penalised coefficient is 0, from the score where only the free ones are
    fitted; `share` is lasso_j for a penalty of one."""
    penalised = ~free & (share > 0)
    return float((np.abs(e.score[penalised]) / share[penalised]).max(initial=0.0))
