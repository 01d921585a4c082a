"""Covariances by refitting: bootstrap of observations or of clusters, and the jackknife."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.design.factor import FactorColumns
from glmclf.core.fit.information import information_vanished
from glmclf.core.fit.level_rank import dependencies_in
from glmclf.core.fit.solvers import solve
from glmclf.core.rows.blocks import Blocks, one_blas_thread, ordered_map
from glmclf.core.separation.search import find_cone
from glmclf.errors import EstimationError, InferenceWarning, warn
from glmclf.inference.covariance.influence import RowsError, instead

MIN_SHARE_WITH_ESTIMATE = 0.5  # with fewer replications than this share a covariance says little
REFIT_TOL, REFIT_MAXITER = 1e-20, 60  # tolerance of the solver and iterations of a refit
MAX_DRAWN_ONE_BY_ONE = 10_000_000  # observations up to which those of a row of frequency weight f are drawn one by one
REASONS = ("separated", "collinear", "not converged")


@dataclass(frozen=True)
class Replications:
    """Estimates on resampled data.

    Attributes
    ----------
    estimates : (r, p) ndarray
        In the coordinates of the fit; replications that have none are left out.
    reasons : list of str
        One of each replication: why it has no estimate, or "".
    """

    estimates: ndarray
    reasons: list[str]

    @property
    def left_out(self) -> dict[str, int]:
        """Number of replications without an estimate, by reason: it is infinite, not unique, or was not reached."""
        return {reason: self.reasons.count(reason) for reason in REASONS if reason in self.reasons}

    @property
    def words(self) -> str:
        """Numbers of replications left out and their reasons, for a sentence."""
        return ", ".join(f"{n} {reason}" for reason, n in self.left_out.items())


def drawn(n: int, times: ndarray | None, codes: ndarray | None, generator: np.random.Generator) -> ndarray:
    """Number of times each of n rows is drawn: observations (`times` of each), or whole clusters, with replacement.

    A table with frequency weights and its expanded rows are drawn alike.
    """
    if codes is not None:
        G = int(codes.max()) + 1
        return np.bincount(generator.integers(0, G, G), minlength=G)[codes].astype(float)
    if times is None:
        return np.bincount(generator.integers(0, n, n), minlength=n).astype(float)
    N = int(times.sum())
    if N > MAX_DRAWN_ONE_BY_ONE:  # the same law, with other random numbers
        return generator.multinomial(N, times / N).astype(float)
    ends = np.cumsum(times).astype(np.int64)
    return np.bincount(np.searchsorted(ends, generator.integers(0, N, N), side="right"), minlength=n).astype(float)


def replicate(ctx: Any, weights: Iterator[ndarray]) -> Replications:
    """Refit for each vector of row weights, starting at the estimate; a few vectors are there at a time."""
    workers = ctx.objective.blocks.n_threads
    found: list[tuple[ndarray | None, str]] = []
    tasks = ((ctx, w) for w in weights)
    with one_blas_thread():
        if workers == 1:
            found.extend(_refit(*task) for task in tasks)
        else:
            with ThreadPoolExecutor(workers) as pool:
                found.extend(ordered_map(pool, _refit, tasks, 4 * workers))
    estimates = [theta for theta, _ in found if theta is not None]
    return Replications(np.array(estimates).reshape(len(estimates), ctx.size), [why for _, why in found])


def _refit(ctx: Any, w: ndarray) -> tuple[ndarray | None, str]:
    """Estimate of rows with other weights; or None, and why there is none."""
    objective = ctx.objective
    X, y, m, offset, _ = objective.blocks.arrays
    rows = np.flatnonzero(w)
    if not len(rows):
        return None, "collinear"
    arrays = [None if a is None else a[rows] for a in (y, m, offset)]
    X = X.subset(rows)
    if isinstance(X, FactorColumns) and not X.largest().all():  # a level was not drawn
        return None, "collinear"
    blocks = Blocks(X, *arrays, w[rows], size=objective.blocks.size, n_threads=1)
    part = type(objective)(objective.likelihood, blocks, objective.unit)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        opening = part(ctx.theta, True)
        fit = solve("irls", part, ctx.theta, opening=opening, tol=REFIT_TOL, maxiter=REFIT_MAXITER)
    # the steps of a separated fit shrink, too: its information tells
    if fit.converged and not information_vanished(opening.information, fit.evaluation.information):
        return fit.theta, ""
    try:
        if find_cone(part, fit.theta)[0] is not None:
            return None, "separated"
    except ValueError:  # no program was solved
        pass
    if fit.converged:
        return fit.theta, ""
    return None, "collinear" if dependencies_in(blocks) else "not converged"


def bootstrap(
    ctx: Any, reps: int, generator: np.random.Generator, codes: ndarray | None
) -> tuple[ndarray, Replications]:
    """Covariance (p, p) of estimates on observations, or clusters, drawn with replacement, and these estimates.

    Parameters
    ----------
    ctx : Context
    reps : int
        Replications.
    generator : Generator
    codes : (n,) integer ndarray or None
        Clusters, numbered from 0.

    Raises
    ------
    EstimationError
        Fewer than half of the replications have an estimate.

    References
    ----------
    Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapter 6.
    """
    own = ctx.objective.blocks.arrays[4]
    times = own if ctx.frequency else None
    draws = (drawn(ctx.objective.n, times, codes, generator) for _ in range(reps))
    drawn_one_by_one = ctx.frequency and codes is None
    found = replicate(ctx, (w if own is None or drawn_one_by_one else w * own for w in draws))
    lost = reps - len(found.estimates)
    if len(found.estimates) < max(2, MIN_SHARE_WITH_ESTIMATE * reps):
        raise EstimationError(
            f'cov_type="bootstrap": only {len(found.estimates)} of {reps} replications have an estimate '
            f'({found.words}). Use "{instead(ctx.nobs, ctx.size)}", or a smaller model'
        )
    if lost:
        warn(
            f"{lost} of {reps} bootstrap replications have no estimate ({found.words}) and were left out: the standard "
            "errors are those of data that have one, and may be too small",
            InferenceWarning,
        )
    return np.atleast_2d(np.cov(found.estimates, rowvar=False)), found


def jackknife(ctx: Any) -> ndarray:
    """(n - 1)/n sum_i (b_(i) - b)(b_(i) - b)', b_(i) the estimate without observation i and b their mean, (p, p).

    A row of frequency weight f stands for f observations, each left out alone.

    Raises
    ------
    RowsError
        Without some rows there is no estimate.

    References
    ----------
    Efron (1982), The Jackknife, the Bootstrap and Other Resampling Plans, chapter 3.
    """
    own, n = ctx.objective.blocks.arrays[4], ctx.objective.n
    full = np.ones(n) if own is None else own.astype(float)

    def without(i: int) -> ndarray:
        w = full.copy()
        w[i] = w[i] - 1.0 if ctx.frequency else 0.0
        return w

    found = replicate(ctx, (without(i) for i in range(n)))
    if len(found.estimates) < n:
        other = '"HC1", or "bootstrap"' if ctx.nobs > ctx.size else '"nonrobust"'
        raise RowsError(
            f'cov_type="jackknife": without {{rows}} there is no estimate ({found.words}). Use {other}',
            np.flatnonzero([bool(why) for why in found.reasons]),
        )
    times = full if ctx.frequency else np.ones(n)
    N = float(times.sum())
    D = found.estimates - times @ found.estimates / N
    return (N - 1) / N * (D.T * times) @ D
