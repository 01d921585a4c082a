"""Calibration, whether events happen as often as predicted: curves, Brier and log scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy import ndarray
from scipy.special import xlogy

from glmclf.core.design.dense import Dense
from glmclf.core.fit.estimate import RankDeficiency, estimate
from glmclf.core.likelihood.links import LogitLink
from glmclf.core.likelihood.objective import Objective
from glmclf.core.likelihood.pointwise import Binomial
from glmclf.core.numerics.quantiles import at_ranks
from glmclf.core.rows.blocks import Blocks
from glmclf.inference.performance.accuracy import ObservedOutcomes

KNOTS = {4: (0.05, 0.35, 0.65, 0.95), 3: (0.1, 0.5, 0.9)}  # quantiles (Harrell 2015, table 2.3)


class Score(NamedTuple):
    """A mean of losses of rows, and its standard error."""

    value: float
    se: float


class Brier(NamedTuple):
    """Brier score and its parts, score = reliability - resolution + uncertainty + within.

    `within` is what probabilities of one bin differ by (Stephenson, Coelho & Jolliffe 2008): 0 where a bin holds one
    probability.
    """

    score: float
    se: float
    reliability: float
    resolution: float
    uncertainty: float
    within: float


def log_odds(log_p: ndarray) -> ndarray:
    """Log odds log p_k/(1 - p_k) from log p (n, K), without cancellation near 1."""
    n, K = log_p.shape
    if K == 2:
        with np.errstate(invalid="ignore"):
            z = log_p[:, 1] - log_p[:, 0]
        return np.column_stack([-z, z])
    out, columns = np.empty((n, K)), np.ascontiguousarray(log_p.T)
    for k in range(K):
        out[:, k] = columns[k] - np.logaddexp.reduce(np.delete(columns, k, axis=0))
    return out


# -------------------------------------------------------------------------------------------------------- smoother
def quantiles(x: ndarray, weights: ndarray, q: ndarray) -> ndarray:
    """Quantiles of type 7 (R's) of values that stand for `weights` equal ones each."""
    order = np.argsort(x, kind="stable")
    count = np.cumsum(weights[order])
    return at_ranks(x[order], count, (count[-1] - 1) * np.asarray(q))


def spline(x: ndarray, knots: ndarray) -> ndarray:
    """Restricted cubic spline, linear beyond the outer knots: one column less than knots (Harrell 2015, 2.24)."""
    t, last, before = knots, knots[-1], knots[-2]
    scale = (last - t[0]) ** 2

    def cubed(a):
        return np.maximum(x - a, 0) ** 3

    parts = [
        (cubed(a) - cubed(before) * (last - a) / (last - before) + cubed(last) * (before - a) / (last - before)) / scale
        for a in t[:-2]
    ]
    return np.column_stack([x, *parts])


def smooth(logit: ndarray, outcomes: ObservedOutcomes) -> ndarray | None:
    """Probability of the event given the predicted one: a logit model on a restricted cubic spline of its logit.

    Four knots at the quantiles .05, .35, .65 and .95 of the observations; three at .1, .5 and .9, or a line, where
    probabilities repeat so much that these coincide. None where the model has no finite estimate.

    References
    ----------
    Austin & Steyerberg (2019), The Integrated Calibration Index. Statistics in Medicine 38, 4051-4065. Harrell (2015),
    Regression Modeling Strategies, sections 2.4.5 and 10.9.
    """
    if not np.isfinite(logit).all():
        return None
    weights = _times(outcomes)
    basis = logit[:, None]
    for at in KNOTS.values():
        knots = quantiles(logit, weights, np.array(at))
        if (np.diff(knots) > 1e-8 * (1 + np.abs(knots[1:]))).all():
            basis = spline(logit, knots)
            break
    sd = np.sqrt(weights @ (basis - weights @ basis / weights.sum()) ** 2 / weights.sum())
    X = np.column_stack([np.ones(len(basis)), (basis - weights @ basis / weights.sum()) / np.where(sd > 0, sd, 1.0)])
    X = X[:, np.r_[True, sd > 1e-12]]
    counts = outcomes.counts
    blocks = Blocks(Dense(X), counts[:, 1], counts.sum(axis=1), None, outcomes.weights)
    unit = 1.0 if outcomes.frequency or outcomes.weights is None else float(outcomes.weights.mean())
    objective = Objective(Binomial(LogitLink(), binary=False), blocks, unit)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            found = estimate("irls", objective, np.zeros(X.shape[1]), maxiter=100)
    except RankDeficiency:
        return None
    return LogitLink().cdf(X @ found.theta) if found.fit.converged and not found.vanished else None


def _times(outcomes: ObservedOutcomes) -> ndarray:
    """Observations that each row stands for; sampling weights on the scale of the rows."""
    m = outcomes.totals.sum(axis=1)
    return m if outcomes.frequency else m * (outcomes.counts.sum() / m.sum())


def distances(p: ndarray, smoothed: ndarray, outcomes: ObservedOutcomes) -> tuple[float, float, float, float]:
    """ICI, E50, E90, Emax: mean, median, 90th percentile and maximum of |smoothed - predicted| over observations."""
    d, times = np.abs(smoothed - p), _times(outcomes)
    E50, E90 = quantiles(d, times, np.array([0.5, 0.9]))
    return float(times @ d / times.sum()), float(E50), float(E90), float(d[times > 0].max())


# ------------------------------------------------------------------------------------------------------------ bins
def bins_of(p: ndarray, outcomes: ObservedOutcomes, bins: int | ndarray, method: str) -> ndarray:
    """Bin of each row, numbered from 0 without those that are empty: bins of equal numbers of observations ("quantile",
    equal probabilities together), of equal width, or between edges from 0 to 1, each with its right edge."""
    if isinstance(bins, ndarray):
        edges = bins[1:-1]
    elif method == "uniform":
        edges = np.arange(1, bins) / bins
    else:
        edges = np.unique(quantiles(p, _times(outcomes), np.arange(1, bins) / bins))
        edges = edges + 1e-10 * edges  # equal probabilities but for rounding stay together
    code = np.searchsorted(edges, p, side="left")
    return np.unique(code, return_inverse=True)[1].ravel()


def brier(p: ndarray, outcomes: ObservedOutcomes, code: ndarray) -> Brier:
    """Brier score mean (p - y)^2 of an event, and Murphy's decomposition over bins.

    reliability sum n_b (p_b - o_b)^2 / n, resolution sum n_b (o_b - o)^2 / n, uncertainty o (1 - o), with p_b and o_b
    the means of the predicted probabilities and of the outcomes of bin b.

    References
    ----------
    Brier (1950), Monthly Weather Review 78, 1-3. Murphy (1973), Journal of Applied Meteorology 12, 595-600. Stephenson,
    Coelho & Jolliffe (2008), Weather and Forecasting 23, 752-757.
    """
    score = mean_loss(np.column_stack([p**2, (1 - p) ** 2]), outcomes)
    no, yes = (np.bincount(code, t) for t in outcomes.totals.T)
    m = outcomes.totals.sum(axis=1)
    size = no + yes
    n, mean, rate = size.sum(), np.bincount(code, m * p) / size, yes / size
    share = yes.sum() / n
    reliability, resolution = float(size @ (mean - rate) ** 2 / n), float(size @ (rate - share) ** 2 / n)
    away = p - mean[code]
    yes_away = np.bincount(code, outcomes.totals[:, 1] * away)
    within = float((m @ away**2 - 2 * yes_away.sum()) / n)
    return Brier(*score, reliability, resolution, float(share * (1 - share)), within)


def mean_loss(losses: ndarray, outcomes: ObservedOutcomes) -> Score:
    """Mean of a loss (n, K) of each class in each row, and its standard error; inf where a possible row has that."""
    totals = outcomes.totals
    n = totals.sum()
    used = np.where(totals > 0, losses, 0.0)
    value = float((totals * used).sum() / n)
    if not np.isfinite(value):
        return Score(value, np.nan)
    return Score(value, float(np.sqrt(outcomes.variance(np.where(totals > 0, (used - value) / n, 0.0)))))


def log_score(log_p: ndarray, outcomes: ObservedOutcomes) -> Score:
    """Mean of -log p of the class observed, in nats."""
    return mean_loss(-log_p, outcomes)


def brier_of_classes(p: ndarray, outcomes: ObservedOutcomes) -> Score:
    """Mean over observations of sum_k (p_k - [y = k])^2, Brier's score of several classes: twice that of an event."""
    squares = (p**2).sum(axis=1)[:, None]
    return mean_loss(squares - 2 * p + 1, outcomes)


def spiegelhalter(p: ndarray, q: ndarray, outcomes: ObservedOutcomes) -> float:
    """Spiegelhalter's z: sum (y - p)(1 - 2p) against its variance sum (1 - 2p)^2 p (1 - p) under perfect calibration.

    References
    ----------
    Spiegelhalter (1986), Statistics in Medicine 5, 421-433.
    """
    no, yes = outcomes.totals.T
    top = float(((yes * q - no * p) * (q - p)).sum())
    m = outcomes.counts.sum(axis=1)
    w = np.ones(len(p)) if outcomes.weights is None else outcomes.weights
    variance = float(((w if outcomes.frequency else w**2) * m) @ ((q - p) ** 2 * p * q))
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.divide(top, np.sqrt(variance)))


def nagelkerke(llf: float, sizes: ndarray) -> float:
    """Nagelkerke's R-squared of a log-likelihood against that of the classes' shares alone."""
    n = sizes.sum()
    null = float(xlogy(sizes, sizes / n).sum())
    return float(np.expm1(2 * (null - llf) / n) / np.expm1(2 * null / n)) + 0.0  # no -0
