"""Recalibration: the logit model of outcomes on the log odds of predicted probabilities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy import ndarray
from scipy.special import expit, log_expit, logsumexp, xlogy

from glmclf.core.numerics.quantiles import ROUNDED_SHARE_OF_SUM
from glmclf.core.numerics.ties import TIED
from glmclf.inference.performance.accuracy import ObservedOutcomes

MOST_STEPS, RECALIBRATION_TOL, HALF = 200, 1e-22, 0.5
LOG_ODDS_OF_NEVER, LOG_OF_NO_SUM = -1e4, -1e300  # log odds of a probability of 0, log of a sum of nothing
MIN_INFORMATION_PER_OBSERVATION = 1e-6  # information per observation below which Newton's method is not trusted


class Recalibration(NamedTuple):
    """The logit model log(q_k / q_0) = a_k + b log(p_k / p_0) of the outcomes given predicted probabilities p.

    Attributes
    ----------
    intercepts, intercepts_se : (K-1,) ndarray
    slope, slope_se : float
        1 if predictions are neither too extreme nor too timid; inf where they separate the classes.
    llf : float
        Log-likelihood at the estimate, its limit where that is infinite; that of the classes' shares where predictions
        are constant.
    """

    intercepts: ndarray
    intercepts_se: ndarray
    slope: float
    slope_se: float
    llf: float


class Maximum(NamedTuple):
    """An estimate for a predictor less `shift`, where the information of intercepts and slope is nearly diagonal."""

    theta: ndarray
    shift: ndarray
    llf: float
    information: ndarray


def recalibrate(log_p: ndarray, outcomes: ObservedOutcomes) -> Recalibration:
    """Maximum likelihood recalibration of predicted probabilities.

    The predictor is standardised first: nothing but the slope depends on its scale. Standard errors are from the
    inverse information or, of rows as units, a sandwich (HC0). NaN throughout where a probability of 0 or 1 has no
    finite logit, or a class has no observation; slope and intercepts also of a constant.

    References
    ----------
    Cox (1958), Biometrika 45, 562-565. Van Hoorde et al. (2014), Statistics in Medicine 33, 2585-2596.
    """
    K = log_p.shape[1]
    if not np.isfinite(log_p).all() or not (outcomes.sizes > 0).all():
        return _without_estimate(K, np.nan, np.nan)
    z, C = (np.ascontiguousarray(a.T) for a in (log_p - log_p[:, :1], outcomes.totals))  # sums run along rows
    held = C.any(axis=0)
    if not held.all():
        z, C, outcomes = z[:, held], C[:, held], outcomes.rows(np.flatnonzero(held))
    near = TIED * (1 + float(np.abs(z).max()))
    if (np.ptp(z, axis=1) <= near).all():  # a constant predictor has no slope
        return _without_estimate(K, np.nan, float(xlogy(outcomes.sizes, outcomes.sizes / outcomes.sizes.sum()).sum()))
    for sign, apart in zip((1, -1), _least_differences(z, C), strict=True):
        a = _separating(apart, near)
        if a is not None:
            return _without_estimate(K, sign * np.inf, _limit(sign * z + a[:, None], C, near))
    m = C.sum(axis=0)
    center = z @ m / m.sum()
    z -= center[:, None]
    unit = float(np.sqrt(z**2 @ m / m.sum()).max())
    z /= unit
    start = np.r_[np.log(outcomes.sizes[1:] / outcomes.sizes[0]), 0.0]
    found = _maximum(start, z, C, np.ones(K, dtype=bool))
    if found is None:
        return _without_estimate(K, np.nan, np.nan)
    return _recalibrated(found, center[1:] / unit + found.shift, unit, z - np.r_[0, found.shift][:, None], outcomes)


def _without_estimate(K: int, slope: float, llf: float) -> Recalibration:
    lost = np.full(K - 1, np.nan)
    return Recalibration(lost, lost, slope, np.nan, llf)


# ---------------------------------------------------------------------------------------------------- infinite slopes
def _least_differences(z: ndarray, C: ndarray) -> tuple[ndarray, ndarray]:
    """Least differences min (z_k - z_j) over rows of class k, (K, K), of the predictor and of minus the predictor."""
    parts = [(row - z)[:, c > 0] for row, c in zip(z, C, strict=True)]
    return np.array([p.min(axis=1) for p in parts]), -np.array([p.max(axis=1) for p in parts])


def _separating(paths: ndarray, near: float) -> ndarray | None:
    """Intercepts a with a_k + z_k, k the class observed, the largest in all rows; None where there are none.

    Each pair of classes has a condition a_j - a_k <= min (z_k - z_j) over rows of k, which `paths` has: such a system
    has a solution if no cycle of classes has a negative sum, and lengths of shortest paths solve it (Bellman 1958).
    Their mean over the classes that paths start from is strict wherever a solution can be.
    """
    for k in range(len(paths)):
        paths = np.minimum(paths, paths[:, [k]] + paths[k])
    return paths.mean(axis=0) if (np.diag(paths) >= -near).all() else None


def _limit(eta: ndarray, C: ndarray, near: float) -> float:
    """Log-likelihood as the slope goes to infinity, where classes that tie in a row are left to choose between."""
    tied = eta >= eta.max(axis=0) - 2 * len(eta) * near
    rows = np.flatnonzero(tied.sum(axis=0) > 1)
    if not len(rows):
        return 0.0
    C, z = C[:, rows], np.where(tied[:, rows], 0.0, LOG_ODDS_OF_NEVER)
    found = _maximum(np.r_[np.zeros(len(z) - 1), 1.0], z, C, np.arange(len(z)) < len(z) - 1)
    return np.nan if found is None else found.llf


# ------------------------------------------------------------------------------------------------------- finite ones
def _maximum(theta: ndarray, z: ndarray, C: ndarray, free: ndarray) -> Maximum | None:
    """Newton's method for the parameters that are free; None if it does not get there."""
    shift = np.zeros(len(z) - 1)
    value, s, H = _evaluate(theta, z, C)
    for _ in range(MOST_STEPS):
        step = np.where(free, _solved(H, s * free, free), 0.0)
        if s @ step <= RECALIBRATION_TOL * max(1.0, z.shape[1]):
            return Maximum(theta, shift, value, H)
        away = _solved(H, H[:, -1], np.r_[free[:-1], False])[:-1]
        if free[-1] and H[:-1, -1] @ away > HALF * H[-1, -1]:  # about where the information is all keep their digits
            z, shift = z - np.r_[0.0, away][:, None], shift + away
            theta, step = (np.r_[v[:-1] + v[-1] * away, v[-1]] for v in (theta, step))
        for _ in range(40):
            new = theta + step
            found = _evaluate(new, z, C)
            if found[0] >= value - 1e-12 * abs(value):
                break
            step = step / 2
        theta, (value, s, H) = new, found
    return None


def _solved(H: ndarray, s: ndarray, free: ndarray) -> ndarray:
    """H^-1 s of some parameters, 0 for others, whatever their units."""
    unit = np.sqrt(np.diag(H))
    unit = np.where(unit > 0, unit, 1.0)
    part, out = np.ix_(free, free), np.zeros(len(s))
    out[free] = np.linalg.lstsq((H / unit / unit[:, None])[part], (s / unit)[free], rcond=None)[0]
    return out / unit


def _probabilities(theta: ndarray, z: ndarray) -> tuple[ndarray, ndarray]:
    """Recalibrated log probabilities and probabilities, (K, n)."""
    eta = np.r_[0.0, theta[:-1]][:, None] + theta[-1] * z
    eta -= eta.max(axis=0)
    q = np.exp(eta)
    total = q.sum(axis=0)
    q /= total
    return eta - np.log(total), q


def _evaluate(theta: ndarray, z: ndarray, C: ndarray) -> tuple[float, ndarray, ndarray]:
    """Log-likelihood, score and information of intercepts and slope."""
    if len(z) == 2 and not z[0].any():
        return _evaluate_two(theta, z[1], *C)
    log_q, q = _probabilities(theta, z)
    m, mean = C.sum(axis=0), (q * z).sum(axis=0)
    residual = C - m * q
    H = np.empty((len(theta), len(theta)))
    own, weighted = q[1:], m * q
    away = z - mean
    H[:-1, :-1] = np.diag(own @ m) - weighted[1:] @ own.T
    H[:-1, -1] = H[-1, :-1] = (weighted[1:] * away[1:]).sum(axis=1)
    H[-1, -1] = np.vdot(weighted * away, away)
    value = float(np.multiply(C, log_q, out=np.zeros_like(q), where=C > 0).sum())
    return value, np.r_[residual[1:].sum(axis=1), np.vdot(residual, z)], H


def _evaluate_two(theta: ndarray, z: ndarray, no: ndarray, yes: ndarray) -> tuple[float, ndarray, ndarray]:
    """Log-likelihood, score and information of a logistic regression on z, for two classes."""
    eta = theta[0] + theta[1] * z
    e, m = np.exp(-np.abs(eta)), no + yes
    q = np.where(eta >= 0, 1.0, e) / (1.0 + e)
    value = float(-(m @ np.log1p(e)) + yes @ np.minimum(eta, 0.0) - no @ np.maximum(eta, 0.0))
    residual, w = yes - m * q, m * e / (1.0 + e) ** 2
    wz = w * z
    H = np.array([[w.sum(), wz.sum()], [wz.sum(), wz @ z]])
    return value, np.array([residual.sum(), residual @ z]), H


def _recalibrated(found: Maximum, shift: ndarray, unit: float, z: ndarray, outcomes: ObservedOutcomes) -> Recalibration:
    """Recalibration estimate for z as it was given, and its standard errors."""
    theta, H = found.theta, found.information
    V = np.column_stack([_solved(H, e, np.ones(len(H), dtype=bool)) for e in np.eye(len(H))])
    if outcomes.rowwise:
        residual = outcomes.counts - outcomes.counts.sum(axis=1)[:, None] * _probabilities(theta, z)[1].T
        S = np.column_stack([residual[:, 1:], (residual * z.T).sum(axis=1)])
        V = V @ (S.T * outcomes.powers) @ S @ V
    J = np.eye(len(theta))
    J[:-1, -1], J[-1, -1] = -shift, 1 / unit
    theta, se = J @ theta, np.sqrt(np.diag(J @ V @ J.T))
    return Recalibration(theta[:-1], se[:-1], float(theta[-1]), float(se[-1]), found.llf)


# ------------------------------------------------------------------------------------------------------ in the large
def in_the_large(log_p: ndarray, outcomes: ObservedOutcomes) -> Recalibration:
    """Recalibration in the large of two classes, with slope 1: the intercept at which as many events are predicted as
    there are.

    The standard error is inf where the information underflows.
    """
    from scipy.optimize import brentq

    if not np.isfinite(log_p).all() or not (outcomes.sizes > 0).all():
        return _without_estimate(2, np.nan, np.nan)
    z, totals = log_p[:, 1] - log_p[:, 0], outcomes.totals
    m, (no, yes) = totals.sum(axis=1), outcomes.sizes
    found = _maximum(np.array([0.0, 1.0]), np.vstack([np.zeros(len(z)), z]), totals.T, np.array([True, False]))
    if found is not None and found.information[0, 0] > MIN_INFORMATION_PER_OBSERVATION * m.sum():
        a = float(found.theta[0])
    else:
        held, middle = m > 0, float(np.log(yes / no))
        low, high = middle - float(z[held].max()), middle - float(z[held].min())
        slack = 1e-9 * (1 + abs(low) + abs(high))
        a = float(brentq(_excess, low - slack, high + slack, (z[held], m[held], yes), xtol=1e-14, rtol=1e-14))
    value, _, H = _evaluate_two(np.array([a, 1.0]), z, *totals.T)
    meat = H[0, 0]
    if outcomes.rowwise:
        residual = outcomes.counts[:, 1] - outcomes.counts.sum(axis=1) * expit(a + z)
        meat = float(outcomes.powers @ residual**2)
    se = np.sqrt(meat) / H[0, 0] if H[0, 0] > 0 else np.inf
    return Recalibration(np.array([a]), np.array([se]), 1.0, np.nan, value)


def _excess(a: float, z: ndarray, m: ndarray, yes: float) -> float:
    """Log ratio of the events predicted to those observed, as far as the two differ.

    Sums are of what rows below and above a probability of 1/2 lack of 0 and of 1, by logs: they keep their digits where
    all probabilities are next to 0 or 1.
    """
    eta = a + z
    above = eta > 0
    surplus = float(m[above].sum() - yes)
    if abs(surplus) <= ROUNDED_SHARE_OF_SUM * m.sum():
        surplus = 0.0
    terms = log_expit(-np.abs(eta)) + np.log(m)
    with np.errstate(divide="ignore"):
        more, less = (np.log(max(part, 0.0)) for part in (surplus, -surplus))
    return float(np.logaddexp(more, _log_sum(terms[~above])) - np.logaddexp(less, _log_sum(terms[above])))


def _log_sum(terms: ndarray) -> float:
    return float(logsumexp(terms)) if len(terms) else LOG_OF_NO_SUM
