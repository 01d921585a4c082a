"""Comparisons of estimates: differences, ratios and odds ratios, with p-values and intervals that hold for all at once.

Shapes: E estimates with covariance C (E, E), m comparisons.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy import ndarray
from scipy.special import ndtr, ndtri

from glmclf.core import seeds
from glmclf.inference.margins import Covariance
from glmclf.inference.wald import EPS, check_alpha, z_pvalues

if TYPE_CHECKING:
    from glmclf.core.links import Link

ADJUSTMENTS = ("none", "bonferroni", "holm", "sidak", "tukey")
DRAWS = (1024, 8192)  # points of the integration behind "tukey": fewer for many statistics, which it averages over


class Comparisons(NamedTuple):
    """Comparisons on the scale on which they are nearly normal.

    Attributes
    ----------
    centre : (m,) ndarray
        Differences, or logs of ratios.
    covariance : Covariance
        Theirs.
    exponential : bool
        Whether the comparison is exp(centre), whose null value is 1.
    """

    centre: ndarray
    covariance: Covariance
    exponential: bool


def compare(p: Probabilities, first: ndarray, second: ndarray, kind: str) -> Comparisons:
    """Estimates `second` against `first`: p_b - p_a, p_b / p_a, or the ratio of odds p / (1 - p).

    Parameters
    ----------
    p : Probabilities
    first, second : (m,) integer ndarray
    kind : {"difference", "ratio", "odds ratio"}

    Examples
    --------
    >>> import numpy as np
    >>> from glmclf.inference.contrasts import Probabilities, compare
    >>> from glmclf.inference.margins import Covariance
    >>> p, J = np.array([0.5, 0.8]), np.eye(2)
    >>> estimates = Probabilities(Covariance(J, np.eye(2)), np.log(p), np.log1p(-p), J / p, -J / (1 - p))
    >>> found = compare(estimates, np.array([0]), np.array([1]), "odds ratio")
    >>> np.exp(found.centre).round(4)
    array([4.])
    """
    if kind == "difference":
        q = np.exp(p.log_q)
        high = np.minimum(q[first], q[second]) < 0.5
        g = np.exp(p.log_p)
        return Comparisons(
            np.where(high, q[first] - q[second], g[second] - g[first]), p.covariance.differences(first, second), False
        )
    if kind == "ratio":
        log, J, slope = p.log_p, p.by_p, np.exp(-p.log_p)
    else:
        log, J, slope = p.log_p - p.log_q, p.by_p - p.by_q, np.exp(-p.log_p - p.log_q)
    return Comparisons(log[second] - log[first], p.covariance.scaled(J, slope).differences(first, second), True)


class Probabilities(NamedTuple):
    """Estimates of probabilities as their logs, and those of their complements, know them.

    Attributes
    ----------
    covariance : Covariance
        Of the probabilities.
    log_p, log_q : (E,) ndarray
    by_p, by_q : (E, p) ndarray
        Gradients of the logs in the parameters.
    """

    covariance: Covariance
    log_p: ndarray
    log_q: ndarray
    by_p: ndarray
    by_q: ndarray

    def on_scale(self, link: Link | None, eta: ndarray) -> tuple[ndarray, ndarray]:
        """F^-1(p), without a link log(p / (1 - p)), and its standard error, (E,) each.

        Parameters
        ----------
        link : Link or None
        eta : (E,) ndarray
            Where F^-1(p) is known; NaN elsewhere.
        """
        if link is None:
            J, slope = self.by_p - self.by_q, np.exp(-self.log_p - self.log_q)
            return self.log_p - self.log_q, self.covariance.scaled(J, slope).errors
        centre = np.where(np.isnan(eta), link.quantile_of_logs(self.log_p, self.log_q), eta)
        t, low = link.terms(centre), self.log_p < self.log_q
        J = np.where(low[:, None], self.by_p / t.r1[:, None], -self.by_q / t.r0[:, None])
        slope = np.exp(-np.where(low, self.log_p + np.log(t.r1), self.log_q + np.log(t.r0)))
        return centre, self.covariance.scaled(J, slope).errors


def adjusted_pvalues(z: ndarray, R: ndarray | None, adjust: str, seed: int = 0) -> ndarray:
    """Two-sided p-values of m statistics, adjusted for all of them.

    Parameters
    ----------
    z : (m,) ndarray
        Normal statistics; NaN does not count.
    R : (m, m) ndarray or None
        Their correlation, of which only "tukey" makes use.
    adjust : {"none", "bonferroni", "holm", "sidak", "tukey"}
        "tukey": P(max_i |Z_i| >= |z_j|) for Z normal with correlation R.
    seed : int
        Of the integration of "tukey".

    Returns
    -------
    (m,) ndarray
        In [0, 1].

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6, 65-70. Hothorn, Bretz & Westfall (2008), Biometrical Journal 50,
    346-363.
    """
    out, there = np.full(len(z), np.nan), ~np.isnan(z)
    p = z_pvalues(z[there])
    m = len(p)
    if adjust == "bonferroni":
        p = np.minimum(1.0, m * p)
    elif adjust == "sidak":
        p = -np.expm1(m * np.log1p(-p))
    elif adjust == "holm":
        order = np.argsort(p)
        steps = np.maximum.accumulate(np.minimum(1.0, p[order] * (m - np.arange(m))))
        p = steps[np.argsort(order)]
    elif adjust == "tukey":
        assert R is not None
        joint = MaxNormal(R[np.ix_(there, there)], seed)
        p = np.array([joint.tail(abs(v)) for v in z[there]])
    out[there] = p
    return out


def joint_critical_value(
    R: ndarray | None, adjust: str, alpha: float, seed: int = 0, m: int | None = None
) -> float:
    """c with intervals estimate -/+ c se that hold together with probability 1 - alpha.

    Of "holm", whose steps have no intervals, it is Bonferroni's. "none": of each alone. Only "tukey" makes use of the
    correlation R, if the number m of estimates is given.
    """
    if R is None:
        return float(-ndtri(0.5 * share_of_alpha(alpha, adjust, max(m or 0, 1))))
    there = np.isfinite(np.diagonal(R))
    if adjust == "tukey":
        return MaxNormal(R[np.ix_(there, there)], seed).quantile(check_alpha(alpha))
    return float(-ndtri(0.5 * share_of_alpha(alpha, adjust, max(int(there.sum()), 1))))


def share_of_alpha(alpha: float, adjust: str, m: int) -> float:
    """The alpha of each of m intervals that hold together with probability 1 - alpha, whatever their correlation.

    Examples
    --------
    >>> from glmclf.inference.contrasts import share_of_alpha
    >>> round(share_of_alpha(0.05, "sidak", 3), 6), round(share_of_alpha(0.05, "bonferroni", 3), 6)
    (0.016952, 0.016667)
    """
    alpha = check_alpha(alpha)
    if adjust in ("bonferroni", "holm"):
        return alpha / m
    return -math.expm1(math.log1p(-alpha) / m) if adjust == "sidak" else alpha


def check_adjust(adjust: str, known: tuple[str, ...] = ("none", "bonferroni", "sidak")) -> str:
    """Refuse any adjustment but the known ones."""
    if not isinstance(adjust, str) or adjust not in known:
        why = ' ("tukey" is of the joint law: predictions(at=) and contrasts() have it)' if adjust == "tukey" else ""
        raise ValueError(f"adjust={adjust!r}: choose one of {', '.join(map(repr, known))}{why}")
    return adjust


def correlation(C: ndarray) -> ndarray:
    """The correlation matrix of a covariance; NaN for what has no variance."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.sqrt(np.where(np.diagonal(C) > 0, np.diagonal(C), np.nan))
        return C / np.outer(scale, scale)


class MaxNormal:
    """The law of max_i |Z_i|, Z normal with mean 0 and correlation R, which may be singular.

    P(max |Z| > t) = sum_j P(|Z_j| > t) E[1 / #{i : |Z_i| > t} | |Z_j| > t], where the expectation is an average of
    numbers between 1/m and 1: the relative error is small in the tail, too (mostly 0.2 %, that of a quantile 0.05 %).

    Parameters
    ----------
    R : (m, m) ndarray
    seed : int
        Of the draws, which are the same for every t.

    References
    ----------
    Naiman & Priebe (2001), Computing scan statistic p values using importance sampling, Journal of Computational and
    Graphical Statistics 10, 296-328.

    Examples
    --------
    Of one statistic it is the normal law:

    >>> import numpy as np
    >>> from glmclf.inference.contrasts import MaxNormal
    >>> round(MaxNormal(np.eye(1)).quantile(0.05), 4)
    1.96
    """

    def __init__(self, R: ndarray, seed: int = 0):
        self.R, self.m = R, len(R)
        values, vectors = np.linalg.eigh(R)
        values[values < self.m * EPS * max(values.max(initial=1.0), 1.0)] = 0.0
        generator = np.random.default_rng(seeds.whole(seed))
        n = 2 * int(np.clip(4_000_000 / max(self.m, 1) ** 2, DRAWS[0] // 2, DRAWS[1] // 2))
        half = generator.standard_normal((n // 2, self.m))
        self.Y = np.concatenate([half, -half]) @ (vectors * np.sqrt(values)).T
        self.u = (generator.permutation(n) + generator.random(n)) / n

    def tail(self, t: float) -> float:
        """P(max |Z| > t)."""
        if t <= 0 or self.m == 0:
            return 1.0
        one = 2.0 * ndtr(-t)
        if one == 0.0:
            return 0.0
        start = -ndtri(self.u * ndtr(-t))  # of |Z_j|, given that it is beyond t
        total = 0.0
        for j in range(self.m):
            Z = self.Y + np.outer(start - self.Y[:, j], self.R[j])
            Z[:, j] = start
            total += float(np.mean(1.0 / np.maximum((np.abs(Z) > t * (1 - 4 * EPS)).sum(axis=1), 1)))
        return min(1.0, one * total)

    def quantile(self, alpha: float) -> float:
        """t with P(max |Z| > t) = alpha."""
        from scipy.optimize import brentq

        low, high = float(-ndtri(0.5 * alpha)), float(-ndtri(0.5 * alpha / max(self.m, 1)))
        if self.m <= 1:
            return low
        low, high = low - 0.02, high + 0.02  # the two are bounds; draws may move the root beyond them
        return float(brentq(lambda t: math.log(self.tail(t) / alpha), low, high, xtol=1e-5))
