"""Averaged stochastic gradient: b += a P (y - p) x, by rows or small batches, in shuffled order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy import ndarray
from scipy.linalg import block_diag

from glmclf.core.fit.solvers.loop import Fit
from glmclf.core.fit.solvers.newton import newton
from glmclf.core.likelihood.objective import CholeskyFactor, Objective
from glmclf.core.rows.observations import linear_predictors

MAX_BATCH = 32  # rows of a batch
MIN_STEPS_PER_PASS = 5_000  # steps of a pass over large data
ROWS_TO_SEE = 200_000  # rows to see in all passes: small data are passed over more often
PASSES = (4, 50)  # fewest and most passes
MAX_PREDICTOR_CHANGE = 2.0  # change of a linear predictor in one step
RAW = "stochastic gradient without polish"


def sgd(
    objective: Objective,
    start: ndarray,
    *,
    opening=None,
    maxiter: int = 100,
    tol: float | None = None,
    callback=None,
    seed: Any = 0,
    batch_size: int | None = None,
    polish: bool = True,
) -> Fit:
    """Maximise an objective by averaged stochastic gradient, then by Newton steps unless `polish` is False.

    Step t adds a_t P mean(u_i x_i) over a batch, u = y - p (of several classes y_k - p_k), P the inverse of the mean
    information of a row at the start, equation by equation, so that the curvature is about one in every direction,
    whatever the units of the columns and their correlation: a_t = a (1 + a t / sqrt(s))^-0.6 with a = s/(s + 2 k) for
    batches of s rows and k columns then needs no tuning. A row's share is divided by 1 + (a_t/s) w x'Px, w its own
    curvature, as an implicit step would be (Toulis & Airoldi 2017), and no step changes a linear predictor of its batch
    by more than `MAX_PREDICTOR_CHANGE`: no row, however far out, can throw the iteration off. The estimate is the
    average over the second half of the steps.

    Parameters
    ----------
    objective : Objective
    start : (p,) ndarray
    opening : Evaluation, optional
        At the start.
    maxiter : int
        Most passes over the rows and Newton steps together; with `polish` two thirds of them at most are passes.
    tol : float, optional
        On the squared Newton decrement, as for Newton's method.
    callback : callable, optional
        ``callback(iteration, theta, value)`` after each pass and each Newton step.
    seed : int, SeedSequence or Generator
        Of the order of the rows.
    batch_size : int, optional
        Rows a step; 1 is the classical algorithm. Default 32; n/8 of few rows, n/5000 of very many.
    polish : bool
        Whether to end at the maximum. Else the record's `decrement` is the squared distance to the maximum in standard
        errors, s' I^-1 s at the average, from one pass over all rows.

    Returns
    -------
    Fit

    References
    ----------
    Robbins & Monro (1951), Annals of Mathematical Statistics 22; Polyak & Juditsky (1992), SIAM Journal on Control and
    Optimization 30; Toulis & Airoldi (2017), Annals of Statistics 45.
    """
    opening = opening or objective(start)
    passes = min(int(np.clip(-(-ROWS_TO_SEE // objective.n), *PASSES)), 2 * maxiter // 3 if polish else maxiter)
    size = batch_size or max(1, min(MAX_BATCH, objective.n // 8), objective.n // MIN_STEPS_PER_PASS)
    theta = _average(objective, start, opening, np.random.default_rng(seed), size, passes, callback)
    evaluation = objective(theta, False)

    def report(iteration, theta, value):
        if callback is not None:
            callback(passes + iteration, theta, value)

    if polish and np.isfinite(evaluation.value):
        fit = newton(objective, theta, opening=evaluation, maxiter=maxiter - passes, tol=tol, callback=report)
        return replace(fit, iterations=passes + fit.iterations)
    try:
        decrement = float(evaluation.score @ evaluation.factor.solve(evaluation.score))
    except np.linalg.LinAlgError:
        decrement = np.nan
    close = tol is not None and bool(decrement / objective.unit <= tol)
    trace = ((opening.value, np.nan), (evaluation.value, decrement))
    return Fit(theta, evaluation, passes, close, RAW, decrement, trace)


def remaining_error(fit: Fit, unit: float) -> float:
    """Distance of a raw fit to the maximum in standard errors of the inverse information, to first order.

    No combination of the parameters is further away. `unit` is what one observation weighs.
    """
    return float(np.sqrt(max(fit.decrement, 0.0) / unit)) if np.isfinite(fit.decrement) else np.inf


def _average(objective: Objective, start: ndarray, opening, generator, size: int, passes: int, callback) -> ndarray:
    X, y, m, offset, weights = objective.blocks.arrays
    n, k = X.shape
    roots = _preconditioner(objective, opening, k, len(start) // k)
    A = X[:].toarray()
    lengths = np.column_stack([((A @ T) ** 2).sum(axis=1) for T in roots])
    whole = block_diag(*(T @ T.T for T in roots))
    w = np.ones(n) if weights is None else weights / objective.unit
    theta, mean, seen, done = start, start, 0, 0
    a, total = size / (size + 2 * k), passes * -(-n // size)
    for number in range(1, passes + 1):
        order = generator.permutation(n)
        for i in range(0, n, size):
            at = order[i : i + size]
            x, step = A[at], a * (1.0 + a * done / np.sqrt(size)) ** -0.6 / len(at)
            rows = (None if b is None else b[at] for b in (y, m, offset))
            u, curvature = _factor(objective, theta.reshape(k, -1, order="F"), x, *rows)
            own = step * w[at]
            own = own / (1.0 + own * (curvature * lengths[at]).max(axis=1))
            theta = theta + _within_reach(x, whole @ (x.T @ (u * own[:, None])).ravel(order="F"))
            done += 1
            if 2 * done > total:
                seen += 1
                mean = mean + (theta - mean) / seen
        if callback is not None:
            now = mean if seen else theta
            callback(number, now, float(objective.gradient(now).value))
    return mean


def _preconditioner(objective: Objective, opening, k: int, q: int) -> list[ndarray]:
    """Preconditioner T (k, k) of each equation, T T' the inverse mean information of a row, at the start or, where that
    is singular, of rows that weigh a quarter."""
    count = objective.n if objective.blocks.arrays[4] is None else objective.blocks.arrays[4].sum() / objective.unit
    scale = np.sqrt(objective.unit * count)
    blocks = [opening.information[j * k : (j + 1) * k, j * k : (j + 1) * k] for j in range(q)]
    try:
        return [scale * CholeskyFactor(block).root for block in blocks]
    except np.linalg.LinAlgError:
        one = np.ones(1)
        gram = objective.blocks.sum(lambda X, y, m, o, w: X.gram(0.25 * (one.repeat(X.shape[0]) if w is None else w)))
        return [scale * CholeskyFactor(gram).root] * q


def _within_reach(x: ndarray, change: ndarray) -> ndarray:
    """The change of theta, shorter where it would change a linear predictor of these rows by more than
    `MAX_PREDICTOR_CHANGE`."""
    largest = float(np.abs(x @ change.reshape(x.shape[1], -1, order="F")).max())
    return change if largest <= MAX_PREDICTOR_CHANGE else change * (MAX_PREDICTOR_CHANGE / largest)


def _factor(objective: Objective, B: ndarray, x: ndarray, y, m, offset) -> tuple[ndarray, ndarray]:
    """Score factor y - p, or what takes its place for other links, and the curvature of each row, (rows, q) both."""
    eta = linear_predictors(x, B, offset)
    if objective.likelihood.n_eta == 1 and not hasattr(objective.likelihood, "K"):
        _, u, weight = objective.likelihood.pointwise(y, m, eta[:, 0], False)
        return u[:, None], weight[:, None]
    _, u, p, q = objective.likelihood.pointwise(y, m, eta)
    return u, p * q if m is None else m[:, None] * p * q
