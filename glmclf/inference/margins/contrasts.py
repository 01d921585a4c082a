"""Comparisons of estimates: differences, ratios and odds ratios, with p-values and intervals that hold for all at once.

Shapes: E estimates with covariance C (E, E), m comparisons.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy import ndarray

from glmclf.checks import check_choice, either
from glmclf.core.numerics import seeds
from glmclf.inference.hypotheses.multiplicity import JointTail, critical_value, pvalues
from glmclf.inference.margins.delta import DeltaCovariance

if TYPE_CHECKING:
    from glmclf.core.likelihood.links import Link

ADJUSTMENTS = ("none", "bonferroni", "holm", "sidak", "tukey")
ROUNDED_SHARE = 1e-13  # share of the size of what is compared up to which a difference, and its gradient, is rounding


class Comparisons(NamedTuple):
    """Comparisons of estimates on the scale on which they are nearly normal.

    Attributes
    ----------
    centre : (m,) ndarray
        Differences, or logs of ratios.
    covariance : DeltaCovariance
        Of the centres.
    size : (m,) ndarray
        Size of what is compared, with which rounding grows.
    exponential : bool
        Whether the comparison is exp(centre), whose null value is 1.
    """

    centre: ndarray
    covariance: DeltaCovariance
    size: ndarray
    exponential: bool

    @classmethod
    def of(cls, centre: ndarray, covariance: DeltaCovariance, size: ndarray, exponential: bool) -> Comparisons:
        """Comparisons of which those that are 0 whatever the parameters are exactly 0, with the standard error 0."""
        nothing = vanishing(centre, covariance, size)
        if nothing.any():
            centre, covariance = np.where(nothing, 0.0, centre), covariance.without(nothing)
        return cls(centre, covariance, size, exponential)


def vanishing(value: ndarray, C: DeltaCovariance, size: ndarray) -> ndarray:
    """Mask of combinations that are 0 by construction: both their value and its gradient are rounding."""
    small = np.where(np.isfinite(size), ROUNDED_SHARE * size, -1.0)
    return (np.abs(value) <= small) & (C.spreads() <= small) & ~C.unknown


def differences(
    value: ndarray, C: DeltaCovariance, size: ndarray, first: ndarray, second: ndarray, exponential: bool = False
) -> Comparisons:
    """Differences of estimates `second` less estimates `first`, (m,) integer ndarrays, of given sizes (E,)."""
    centre = value[second] - value[first]
    return Comparisons.of(centre, C.differences(first, second), size[first] + size[second], exponential)


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
    >>> from glmclf.inference.margins.contrasts import Probabilities, compare
    >>> from glmclf.inference.margins.delta import DeltaCovariance
    >>> p, J = np.array([0.5, 0.8]), np.eye(2)
    >>> estimates = Probabilities(DeltaCovariance(J, np.eye(2)), np.log(p), np.log1p(-p), J / p, -J / (1 - p))
    >>> found = compare(estimates, np.array([0]), np.array([1]), "odds ratio")
    >>> np.exp(found.centre).round(4)
    array([4.])
    """
    if kind == "difference":
        q = np.exp(p.log_q)
        high = np.minimum(q[first], q[second]) < 0.5
        g = np.exp(p.log_p)
        centre = np.where(high, q[first] - q[second], g[second] - g[first])
        spreads = p.covariance.spreads()
        size = np.where(high, q[first] + q[second], g[first] + g[second]) + spreads[first] + spreads[second]
        return Comparisons.of(centre, p.covariance.differences(first, second), size, False)
    if kind == "ratio":
        log, J, slope = p.log_p, p.by_p, np.exp(-p.log_p)
    else:
        log, J, slope = p.log_p - p.log_q, p.by_p - p.by_q, np.exp(-p.log_p - p.log_q)
    C = p.covariance.scaled(J, slope)
    return differences(log, C, np.abs(p.log_p) + np.abs(log) + C.spreads(), first, second, True)


class Probabilities(NamedTuple):
    """Estimates of probabilities as their logs, and those of their complements, know them.

    Attributes
    ----------
    covariance : DeltaCovariance
        Of the probabilities.
    log_p, log_q : (E,) ndarray
    by_p, by_q : (E, p) ndarray
        Gradients of the logs in the parameters.
    """

    covariance: DeltaCovariance
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
    joint = None
    if adjust == "tukey":
        assert R is not None
        joint = JointTail(R[np.ix_(there, there)], None, seeds.whole(seed))
    out[there] = pvalues(z[there], adjust, joint)[0]
    return out


def joint_critical_value(R: ndarray | None, adjust: str, alpha: float, seed: int = 0, m: int | None = None) -> float:
    """Critical value c of intervals estimate -/+ c se that hold together with probability 1 - alpha.

    For "holm", whose steps have no intervals, it is Bonferroni's; for "none", that of each interval alone. Only
    "tukey" makes use of the correlation R, if the number m of estimates is given.
    """
    if R is None:
        return critical_value(m or 0, adjust, alpha)[0]
    there = np.isfinite(np.diagonal(R))
    joint = JointTail(R[np.ix_(there, there)], None, seeds.whole(seed)) if adjust == "tukey" else None
    return critical_value(int(there.sum()), adjust, alpha, joint)[0]


def check_adjust(adjust: str) -> str:
    """Refuse adjustments that predictions row by row do not have."""
    known = ("none", "bonferroni", "sidak")
    why = ' ("tukey" is of the joint law: predictions(at=) and contrasts() have it)' if adjust == "tukey" else ""
    check_choice("adjust", adjust, known, why and f"{either(known)}{why}")
    return adjust


def correlation(C: ndarray) -> ndarray:
    """The correlation matrix of a covariance; NaN for what has no variance."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.sqrt(np.where(np.diagonal(C) > 0, np.diagonal(C), np.nan))
        return C / np.outer(scale, scale)
