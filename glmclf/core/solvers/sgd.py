"""Averaged stochastic gradient: b += a (y - p) x, row by row or by small batches, in shuffled order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.objective import Objective
from glmclf.core.solvers import Fit, newton

EPOCHS = 5
STRETCH = 100.0  # how far steps of single rows shrink: 101^-0.6 at the end; batches are less noisy
POLISH = 1e-4  # a squared decrement per unit that a few Newton steps finish from


def sgd(
    objective: Objective,
    start: ndarray,
    *,
    opening=None,
    maxiter: int = 100,
    tol: float | None = None,
    callback=None,
    seed: Any = 0,
    batch_size: int = 32,
    epochs: int = EPOCHS,
    polish: bool = True,
) -> Fit:
    """Maximise an objective by averaged stochastic gradient, then by Newton steps unless `polish` is False.

    Columns are scaled to a mean square of one. Step t of T is a_t = a (1 + 100 t / (T batch_size))^-0.6, with
    a = 1/(2 R^2 c), R^2 the mean squared length of a row and c the largest curvature of a row (1/4 for a logit):
    nothing needs tuning. A row's step is divided by 1 + a_t w |x|^2, w its own curvature, as an implicit step would
    be, so that no row, however far
    out, can throw the iteration off (Toulis & Airoldi 2017). The average runs over the second half of the steps. The
    record's `decrement` is the squared distance to the maximum in standard errors, s' I^-1 s at the average, from one
    pass over all rows.

    Parameters
    ----------
    seed : int, SeedSequence or Generator
        Of the order of the rows.
    batch_size : int
        Rows a step; 1 is the classical algorithm.
    epochs : int
        Passes over the rows.
    polish : bool
        Whether to end at the maximum.

    References
    ----------
    Robbins & Monro (1951), Annals of Mathematical Statistics 22; Polyak & Juditsky (1992), SIAM Journal on Control and
    Optimization 30; Toulis & Airoldi (2017), Annals of Statistics 45.
    """
    theta = _average(objective, start, seed, batch_size, epochs)
    evaluation = objective(theta, False)
    if polish:
        return newton.irls(objective, theta, opening=evaluation, maxiter=maxiter, tol=tol, callback=callback)
    try:
        decrement = float(evaluation.score @ evaluation.factor.solve(evaluation.score))
    except np.linalg.LinAlgError:
        decrement = np.nan
    close = bool(decrement / objective.unit <= (POLISH if tol is None else tol))
    away = np.sqrt(max(decrement, 0.0))
    message = f"stochastic gradient without polish: the maximum is {away:.2g} standard errors away"
    return Fit(theta, evaluation, epochs, close, message, decrement, ((evaluation.value, decrement),))


def _average(objective: Objective, start: ndarray, seed: Any, size: int, epochs: int) -> ndarray:
    X, y, m, offset, weights = objective.blocks.arrays
    n, k = X.shape
    A = X[:].toarray()
    scale = np.sqrt(np.einsum("ij,ij->j", A, A) / n)
    scale = np.where(scale > 0, scale, 1.0)
    w = np.ones(n) if weights is None else weights / weights.mean()
    q = len(start) // k
    B = start.reshape(k, q, order="F") * scale[:, None]
    step = _step(objective, float(np.mean(w * ((A / scale) ** 2).sum(axis=1))), m)
    generator, mean, seen, total = np.random.default_rng(seed), np.zeros_like(B), 0, epochs * -(-n // size)
    done = 0
    for _ in range(epochs):
        order = generator.permutation(n)
        for i in range(0, n, size):
            at = order[i : i + size]
            x = A[at] / scale
            u, curvature = _factor(objective, B, x, *(None if a is None else a[at] for a in (y, m, offset)))
            a = step * (1 + STRETCH / size * done / total) ** -0.6
            own = a * w[at] / (1 + a * w[at] * curvature * np.einsum("ij,ij->i", x, x))
            B = B + x.T @ (u * own[:, None]) / len(at)
            done += 1
            if 2 * done > total:
                seen += 1
                mean += (B - mean) / seen
    return (mean / scale[:, None]).ravel(order="F")


def _factor(objective: Objective, B: ndarray, x: ndarray, y, m, offset) -> tuple[ndarray, ndarray]:
    """y - p, or what takes its place for other links, (rows, q), and the largest curvature of each row."""
    eta = x @ B
    if offset is not None:
        eta = eta + (offset if offset.ndim == 2 else offset[:, None])
    with np.errstate(over="ignore"):
        if objective.likelihood.n_eta == 1 and not hasattr(objective.likelihood, "K"):
            _, u, weight = objective.likelihood.pointwise(y, m, eta[:, 0], True)
            return u[:, None], weight
        _, u, p, q = objective.likelihood.pointwise(y, m, eta)
    curvature = (p * q).max(axis=1)
    return u, curvature if m is None else m * curvature


def _step(objective: Objective, length: float, m) -> float:
    curvature = 0.25 if objective.canonical else 1.0
    trials = 1.0 if m is None else float(np.mean(m))
    return 1.0 / (2.0 * curvature * trials * max(length, 1e-300))
