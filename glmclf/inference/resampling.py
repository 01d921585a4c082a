"""Covariances by refitting: bootstrap of rows or of clusters, and the jackknife."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.blocks import Blocks, one_blas_thread, processors
from glmclf.core.limit import find_cone
from glmclf.core.solvers import solve
from glmclf.errors import InferenceWarning, warn

FEW = 0.5  # with fewer replications than this share a covariance says little
MAXITER = 50


@dataclass(frozen=True)
class Replications:
    """Estimates on resampled data.

    Attributes
    ----------
    estimates : (r, p) ndarray
        In the coordinates of the fit; replications that have none are left out.
    separated, failed : int
        Replications whose estimate is infinite, or that did not converge.
    """

    estimates: ndarray
    separated: int
    failed: int

    @property
    def words(self) -> str:
        """What was left out, for the summary."""
        parts = [f"{n} {what}" for n, what in ((self.separated, "separated"), (self.failed, "failed")) if n]
        return f"; {' and '.join(parts)} left out" if parts else ""


def bootstrap_weights(n: int, times: ndarray | None, codes: ndarray | None, generator) -> ndarray:
    """How often each row is drawn: observations (rows as often as `times`), or whole clusters, with replacement."""
    if codes is not None:
        G = int(codes.max()) + 1
        return np.bincount(generator.integers(0, G, G), minlength=G)[codes].astype(float)
    if times is None:
        return np.bincount(generator.integers(0, n, n), minlength=n).astype(float)
    total = int(times.sum())
    return generator.multinomial(total, times / total).astype(float)


def replicate(ctx: Any, weights: list[ndarray] | Any, count: int) -> Replications:
    """Refit for each vector of row weights that the iterable `weights` holds, starting at the estimate."""
    with one_blas_thread(), ThreadPoolExecutor(processors()) as pool:
        found = list(pool.map(lambda w: _refit(ctx, w), weights))
    estimates = [theta for theta, _ in found if theta is not None]
    separated = sum(why == "separated" for _, why in found)
    result = Replications(
        np.array(estimates).reshape(len(estimates), -1), separated, count - len(estimates) - separated
    )
    if len(estimates) < max(2, FEW * count):
        raise ValueError(
            f"only {len(estimates)} of {count} replications have an estimate ({separated} separated): no covariance. "
            'Use another cov_type, or bias_reduction="firth"'
        )
    if len(estimates) < count:
        warn(
            f"{count - len(estimates)} of {count} replications have no estimate ({separated} separated) and were left "
            "out: the standard errors are those of data that have one",
            InferenceWarning,
        )
    return result


def _refit(ctx: Any, w: ndarray) -> tuple[ndarray | None, str]:
    objective = ctx.objective
    X, y, m, offset, _ = objective.blocks.arrays
    rows = np.flatnonzero(w)
    arrays = [None if a is None else a[rows] for a in (y, m, offset)]
    blocks = Blocks(X.subset(rows), *arrays, w[rows], size=objective.blocks.size, n_threads=1)
    part = type(objective)(objective.likelihood, blocks, objective.unit)
    with np.errstate(over="ignore", invalid="ignore"):
        fit = solve("irls", part, ctx.theta, tol=1e-16, maxiter=MAXITER)
    if fit.converged:
        return fit.theta, ""
    try:
        cone, _ = find_cone(part, fit.theta)
    except ValueError:
        cone = None
    return None, "separated" if cone is not None else "failed"


def bootstrap(ctx: Any, reps: int, seed: Any, codes: ndarray | None) -> tuple[ndarray, Replications]:
    """Covariance (p, p) of `reps` estimates on resampled observations or clusters (Efron & Tibshirani 1993, ch. 6)."""
    generator = np.random.default_rng(seed)
    own = ctx.objective.blocks.arrays[4]
    n, times = ctx.objective.n, own if ctx.frequency else None
    draws = (bootstrap_weights(n, times, codes, generator) for _ in range(reps))
    scaled = (w if own is None or (ctx.frequency and codes is None) else w * own for w in draws)
    found = replicate(ctx, scaled, reps)
    return np.atleast_2d(np.cov(found.estimates, rowvar=False)), found


def jackknife(ctx: Any) -> tuple[ndarray, Replications]:
    """(n - 1)/n sum_i (b_(i) - b)(b_(i) - b)', b_(i) the estimate without observation i and b their mean.

    A row of frequency weight f stands for f observations, each left out alone.
    """
    own = ctx.objective.blocks.arrays[4]
    n = ctx.objective.n
    full = np.ones(n) if own is None else own.astype(float)

    def without(i: int) -> ndarray:
        w = full.copy()
        w[i] = w[i] - 1.0 if ctx.frequency else 0.0
        return w

    found = replicate(ctx, (without(i) for i in range(n)), n)
    if len(found.estimates) < n:
        raise ValueError(
            f'cov_type="jackknife": without one of {n - len(found.estimates)} observations there is no estimate. Use '
            ' "HC3", or "bootstrap"'
        )
    times = full if ctx.frequency else np.ones(n)
    N = float(times.sum())
    D = found.estimates - times @ found.estimates / N
    return (N - 1) / N * (D.T * times) @ D, found
