"""Residuals of a multinomial response, exact where a fitted probability is within rounding of 0 or 1.

All take the response y, classes (n,) or counts (n, K), trials m (n,) or None for one a row, and the linear predictors
eta (n, K) of all classes, -inf for one that is ruled out.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray
from scipy.special import xlogy

from glmclf.core.likelihood.pointwise import Multinomial


def shares(y: ndarray, m: ndarray | None, K: int) -> tuple[ndarray, ndarray]:
    """Share of each class in the row's trials, and one minus the share, (n, K)."""
    if y.ndim == 1:
        yes = (y[:, None] == np.arange(K)).astype(float)
        return yes, 1.0 - yes
    trials = (y.sum(axis=1) if m is None else m)[:, None]
    return y / trials, (trials - y) / trials


def response(y: ndarray, m: ndarray | None, eta: ndarray) -> ndarray:
    """Response residuals y/m - p by class, as (y/m)(1-p) - (1-y/m) p, (n, K)."""
    _, p, q = Multinomial.softmax(eta)
    yes, no = shares(y, m, p.shape[1])
    return yes * q - no * p


def pearson(y: ndarray, m: ndarray | None, eta: ndarray) -> ndarray:
    """Pearson residuals (y - m p) / sqrt(m p (1-p)) by class, (n, K), through the odds p/(1-p) in log space."""
    log_p, _, q = Multinomial.softmax(eta)
    yes, no = shares(y, m, q.shape[1])
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        half = 0.5 * (log_p - np.log(q))
        up, down = np.where(yes > 0, yes * np.exp(-half), 0.0), np.where(no > 0, no * np.exp(half), 0.0)
    return (up - down) * (1.0 if m is None else np.sqrt(m)[:, None])


def saturated(y: ndarray, m: ndarray | None) -> ndarray:
    """Log-likelihood of each row at p = y/m, without the multinomial coefficient, (n,)."""
    if y.ndim == 1:
        return np.zeros(len(y))
    trials = (y.sum(axis=1) if m is None else m)[:, None]
    return xlogy(y, y / trials).sum(axis=1)


def deviance_by_level(y: ndarray, m: ndarray | None, eta: ndarray) -> ndarray:
    """Deviance residuals by class, (n, K), whose squares add up to the row's deviance:
    sign(y - m p) sqrt(2 (y log(y / (m p)) - (y - m p))).

    The terms y - m p add up to 0 in a row, and make each class's part non-negative.
    """
    log_p, p, q = Multinomial.softmax(eta)
    counts = (y[:, None] == np.arange(p.shape[1])).astype(float) if y.ndim == 1 else y
    trials = (counts.sum(axis=1) if m is None else m)[:, None]
    rest = counts * q - (trials - counts) * p  # y - m p
    part = xlogy(counts, counts / trials) - counts * np.where(counts > 0, log_p, 0.0) - rest
    return np.sign(rest) * np.sqrt(2.0 * np.maximum(part, 0.0))


def deviance(y: ndarray, m: ndarray | None, eta: ndarray) -> ndarray:
    """Deviance residual of each row, sign sqrt(2 (l(y/m) - l(p))), (n,): negative where the first class was seen more
    often than expected.

    With two classes that is the deviance residual of the second.
    """
    log_p = Multinomial.softmax(eta)[0]
    counts = (y[:, None] == np.arange(eta.shape[1])).astype(float) if y.ndim == 1 else y
    ll = (counts * np.where(counts > 0, log_p, 0.0)).sum(axis=1)
    gap = np.maximum(saturated(y, m) - ll, 0.0)
    return np.where(response(y, m, eta)[:, 0] > 0, -1.0, 1.0) * np.sqrt(2.0 * gap)


def working(y: ndarray, m: ndarray | None, eta: ndarray) -> ndarray:
    """Working residuals y_j/(m p_j) - y_0/(m p_0) by equation, (n, K-1): W^-1 (y - m p), W the weight of the row."""
    log_p, _, q = Multinomial.softmax(eta)
    yes = shares(y, m, q.shape[1])[0]
    with np.errstate(over="ignore"):
        ratio = yes * np.exp(np.where(yes > 0, -log_p, 0.0))
    return ratio[:, 1:] - ratio[:, :1]
