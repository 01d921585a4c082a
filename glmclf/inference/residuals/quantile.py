"""Randomised quantile residuals: standard normal if the fitted probabilities are right, however sparse the data are.

Everything is a logarithm, so that residuals are exact as far out as normal quantiles go.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray
from scipy.special import betainc, betaincc, betaincinv, ndtri, ndtri_exp

from glmclf.core.likelihood.pointwise import Binomial

MAX_SERIES_TERMS = 2000  # terms of a binomial tail's series


def normal(below: ndarray, at: ndarray, above: ndarray, u: ndarray) -> ndarray:
    """Normal quantiles of P(Y < y) + u P(Y = y), from whichever tail is the smaller.

    Parameters
    ----------
    below, at, above : (n,) ndarrays
        log P(Y < y), log P(Y = y), log P(Y > y).
    u : (n,) ndarray
        Uniform numbers in (0, 1).

    Returns
    -------
    (n,) ndarray
        NaN where a probability is.

    References
    ----------
    Dunn & Smyth (1996), Randomized quantile residuals, Journal of Computational and Graphical Statistics 5, 236-244.
    """
    low = np.logaddexp(below, np.log(u) + at)
    high = np.logaddexp(above, np.log1p(-u) + at)
    return np.where(low <= high, ndtri_exp(low), -ndtri_exp(high))


def uniform(n: int, generator: np.random.Generator) -> ndarray:
    """Uniform numbers that are neither 0 nor 1."""
    return (generator.integers(2**53, size=n) + 0.5) / 2.0**53


def of_classes(y: ndarray, log_p: ndarray, u: ndarray) -> ndarray:
    """Residuals of classes (n,) by the cumulated log-probabilities (n, K), in the order of their columns."""
    rows = np.arange(len(y))
    nothing = np.full((len(y), 1), -np.inf)
    below = np.column_stack([nothing, np.logaddexp.accumulate(log_p, axis=1)])[rows, y]
    above = np.column_stack([nothing, np.logaddexp.accumulate(log_p[:, ::-1], axis=1)])[rows, log_p.shape[1] - 1 - y]
    return normal(below, log_p[rows, y], above, u)


def of_counts(y: ndarray, m: ndarray, log_p: ndarray, log_q: ndarray, u: ndarray) -> ndarray:
    """Residuals of y successes in m trials, log p and log(1-p) given, (n,) each."""
    failures = m - y
    yes, no = y * np.where(y > 0, log_p, 0.0), failures * np.where(failures > 0, log_q, 0.0)
    at = Binomial.constant(y, m) + yes + no
    below, above = log_lower_tail(y - 1, m, log_p, log_q), log_lower_tail(failures - 1, m, log_q, log_p)
    return normal(below, at, above, u)


def log_lower_tail(y: ndarray, m: ndarray, log_p: ndarray, log_q: ndarray) -> ndarray:
    """log P(Y <= y) of a binomial; by its series from y downwards where the probability underflows."""
    with np.errstate(divide="ignore"):
        out = np.where(y < 0, -np.inf, np.log(_tail(y, m, np.exp(log_p), np.exp(log_q))))
    tiny = np.flatnonzero((y >= 0) & (out < -600.0) & np.isfinite(log_p) & np.isfinite(log_q))
    if len(tiny):
        y, m, odds = y[tiny], m[tiny], np.exp(log_q[tiny] - log_p[tiny])
        at = Binomial.constant(y, m) + y * log_p[tiny] + (m - y) * log_q[tiny]
        total, term, k = np.ones(len(y)), np.ones(len(y)), y.copy()
        for _ in range(MAX_SERIES_TERMS):
            term = term * np.maximum(k, 0.0) / (m - k + 1.0) * odds
            total, k = total + term, k - 1.0
            if (term <= 1e-17 * total).all():
                break
        out[tiny] = at + np.log(total)
    return out


def _tail(y: ndarray, m: ndarray, p: ndarray, q: ndarray) -> ndarray:
    """P(Y <= y) for y >= 0 by incomplete beta functions, through the smaller of p and 1 - p."""
    y = np.maximum(y, 0.0)
    a, b = np.maximum(m - y, 0.5), y + 1.0
    return np.where(y >= m, 1.0, np.where(p <= 0.5, betaincc(b, a, p), betainc(a, b, q)))


def order_statistics(ranks: ndarray, n: int, alpha: float) -> ndarray:
    """Median and ends of the 1 - alpha interval of the i-th smallest of n independent standard normal numbers.

    The i-th smallest of n uniform numbers is Beta(i, n + 1 - i). The intervals are of each number by itself.

    Parameters
    ----------
    ranks : (m,) ndarray
        i, from 1 to n.
    n : int
    alpha : float

    Returns
    -------
    (m, 3) ndarray
        Median, lower and upper end.

    References
    ----------
    David & Nagaraja (2003), Order Statistics, section 2.1.
    """
    i = np.asarray(ranks, dtype=float)[:, None]
    upper = i > (n + 1) / 2  # of the two tails the one whose numbers have all digits
    p = betaincinv(np.where(upper, n + 1 - i, i), np.where(upper, i, n + 1 - i), [0.5, alpha / 2, 1 - alpha / 2])
    z = ndtri(p)
    return np.where(upper, -z[:, [0, 2, 1]], z)
