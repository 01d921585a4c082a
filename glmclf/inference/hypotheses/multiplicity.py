"""Several tests at once: adjusted p-values and the critical values of simultaneous intervals."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy import ndarray
from scipy.special import chdtrc, chdtri, ndtr, ndtri, stdtr, stdtrit

from glmclf.caching import cached_property
from glmclf.inference.hypotheses import wald
from glmclf.inference.hypotheses.records import f_tail

PAIRWISE_ADJUSTMENTS = ("holm", "sidak", "hs", "bonferroni", "tukey", "none")
SCRAMBLES = 8  # independent scramblings of the Sobol points
MAX_SOBOL_POINTS, MIN_SOBOL_POINTS = 2048, 256  # of each scrambling; fewer for many statistics, all averaged over
RADIUS_POINTS = 4096  # points at which the law of the radius is tabulated
NO_SHARE_OF_TAIL = 1e-20  # share of the radius' tail probability below which its law is not tabulated
NEAR_ZERO = 1e-6  # value of |z| that any statistic exceeds
MAX_TAILS_WITHOUT_GRID = 17  # values of |z|; the probabilities of more contrasts are interpolated between so many


class Adjusted(NamedTuple):
    """Tests adjusted for their number.

    Attributes
    ----------
    pvalue : (J,) ndarray
    critical : float
        Half width of the simultaneous intervals, in standard errors.
    error : float
        Relative standard error of the numerical integration, the largest; 0 where there is none.
    """

    pvalue: ndarray
    critical: float
    error: float


def adjusted(
    z: ndarray, correlation: ndarray | None, method: str, alpha: float, df: float | None = None, seed=0
) -> Adjusted:
    """Two-sided p-values of J statistics, and the critical value of their intervals, of family-wise level alpha.

    Parameters
    ----------
    z : (J,) ndarray
        Estimates over their standard errors; finite.
    correlation : (J, J) or (J, p) ndarray or None
        Of the estimates, of any rank, or a root C of it, C C'; only "tukey" needs it.
    method : {"holm", "sidak", "hs", "bonferroni", "tukey", "none"}
        Holm's (1979) step-down Bonferroni, with Bonferroni intervals; Sidak's (1967); its step-down form (Holm-Sidak),
        with Sidak intervals; Bonferroni's; that of the largest |z| (single step), from the joint normal or t
        distribution; or as if each were the only one.
    alpha : float
        In (0, 1).
    df : float, optional
        Degrees of freedom of Student's t.
    seed : int
        Of the integration of "tukey".

    Returns
    -------
    Adjusted

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6, 65-70. Hothorn, Bretz & Westfall (2008), Biometrical Journal 50,
    346-363.

    Examples
    --------
    >>> import numpy as np
    >>> from glmclf.inference.hypotheses.multiplicity import adjusted
    >>> adjusted(np.array([2.5, 1.0]), np.eye(2), "bonferroni", 0.05).pvalue.round(4)
    array([0.0248, 0.6346])
    """
    joint = None if correlation is None or method != "tukey" else JointTail(correlation, df, seed)
    p, error = pvalues(z, method, joint, df)
    critical, more = critical_value(len(z), method, alpha, joint, df)
    return Adjusted(p, critical, max(error, more))


def pvalues(z: ndarray, method: str, joint: JointTail | None = None, df: float | None = None) -> tuple[ndarray, float]:
    """Two-sided p-values adjusted for their number, and the relative standard error of their integration; `joint` is
    the law of "tukey"."""
    if joint is None:
        return _by_number(wald.z_pvalues(z, df), method), 0.0
    sizes, places = np.unique(np.abs(z), return_inverse=True)
    p, error = joint.many(sizes)
    p = np.minimum(np.maximum.accumulate(p[::-1])[::-1], 1.0)  # rounding of the integration near 1
    return p[places.ravel()], float(error.max(initial=0.0))


def critical_value(
    m: int, method: str, alpha: float, joint: JointTail | None = None, df: float | None = None
) -> tuple[float, float]:
    """Half width of m intervals that hold together, in standard errors, and the relative error of its level."""
    if joint is None:
        return wald.critical_value(share_of_alpha(alpha, method, max(m, 1)), df), 0.0
    critical = joint.quantile(wald.check_alpha(alpha))
    return critical, joint(critical)[1]


def share_of_alpha(alpha: float, method: str, m: int) -> float:
    """The alpha of each of m intervals that hold together with probability 1 - alpha, whatever their correlation.

    Examples
    --------
    >>> from glmclf.inference.hypotheses.multiplicity import share_of_alpha
    >>> round(share_of_alpha(0.05, "sidak", 3), 6), round(share_of_alpha(0.05, "bonferroni", 3), 6)
    (0.016952, 0.016667)
    """
    alpha = wald.check_alpha(alpha)
    if method in ("bonferroni", "holm"):
        return alpha / m
    return -math.expm1(math.log1p(-alpha) / m) if method in ("sidak", "hs") else alpha


def adjusted_pvalues(p: ndarray, method: str) -> ndarray:
    """p-values adjusted for their number; NaN stays, and does not count.

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6, 65-70. Sidak (1967), Journal of the American Statistical
    Association 62, 626-633.

    Examples
    --------
    >>> from glmclf.inference.hypotheses.multiplicity import adjusted_pvalues
    >>> adjusted_pvalues(np.array([0.02, 0.01, np.nan, 0.5]), "holm").tolist()
    [0.04, 0.03, nan, 0.5]
    """
    known = ~np.isnan(p)
    out = np.full(len(p), np.nan)
    out[known] = _by_number(p[known], method)
    return out


def _by_number(p: ndarray, method: str) -> ndarray:
    """p-values adjusted for their number, by a rule that needs no correlations."""
    m = len(p)
    if method == "none":
        return p
    if method == "bonferroni":
        return np.minimum(m * p, 1.0)
    if method == "sidak":
        return _sidak(p, m)
    order = np.argsort(p, kind="stable")
    left = m - np.arange(m)
    steps = np.minimum(left * p[order], 1.0) if method == "holm" else _sidak(p[order], left)
    out = np.empty(m)
    out[order] = np.maximum.accumulate(steps)
    return out


def _sidak(p: ndarray, m) -> ndarray:
    """Sidak's adjusted p-value 1 - (1 - p)^m."""
    with np.errstate(divide="ignore"):
        return -np.expm1(m * np.log1p(-p))


class JointTail:
    """P(max |Z_j| > c) for a normal or t vector of unit variances, to a small relative error however small it is.

    Directions u are drawn as those of points in the tail of one component after the other, in equal shares. With
    Q(x) = P(R > x) of the radius, Q_j(u) = Q(c / |a_j'u|) and Z_j = a_j'Z, the mean of max_j Q_j / sum_j Q_j, which is
    between 1/J and 1, times the sum of the J single probabilities is unbiased for that of the union: importance
    sampling of a union of half-spaces (Owen, Maximov & Chertkov 2019) with the radius integrated out (Somerville
    1998). Points are scrambled Sobol points; the standard error is that over independent scrambles.

    Parameters
    ----------
    correlation : (J, J) or (J, p) ndarray
        Of any rank, or a root C of it, C C', of fewer columns than rows.
    df : float, optional
        Degrees of freedom of the t distribution.
    seed : int
        Of the scrambles.

    References
    ----------
    Owen, Maximov & Chertkov (2019), Importance sampling the union of rare events with an application to power systems
    analysis. Electronic Journal of Statistics 13, 231-254. Somerville (1998), Numerical computation of multivariate
    normal and multivariate-t probabilities over convex regions. Journal of Computational and Graphical Statistics 7,
    529-544.
    """

    def __init__(self, correlation: ndarray, df: float | None, seed):
        root = correlation.shape[0] != correlation.shape[1]
        values, vectors = np.linalg.eigh(correlation.T @ correlation if root else correlation)
        kept = values > 1e-10 * values.max(initial=0.0)
        A = correlation @ vectors[:, kept] if root else vectors[:, kept] * np.sqrt(values[kept])
        self.A = A / np.sqrt((A * A).sum(axis=1))[:, None]
        self.df, self.seed = df, seed

    def __call__(self, c: float) -> tuple[float, float]:
        """The probability, and the relative standard error of what was integrated."""
        J = len(self.A)
        single = float(wald.z_pvalues(c, self.df))
        if J <= 1 or self.A.shape[1] == 1 or single == 0:
            return single, 0.0
        if c < NEAR_ZERO:
            return 1.0, 0.0
        law = self._radius(c)
        shares = np.array([self._share(c, points, law) for points in self._points])
        return J * single * float(shares.mean()), float(shares.std(ddof=1) / np.sqrt(len(shares)) / shares.mean())

    def quantile(self, alpha: float) -> float:
        """Critical value c with P(max |Z_j| > c) = alpha."""
        from scipy.optimize import brentq

        low, high = (wald.critical_value(alpha / m, self.df) for m in (1, max(len(self.A), 1)))
        if len(self.A) <= 1 or self(low)[0] <= alpha:
            return low
        return float(brentq(lambda c: math.log(self(c)[0] / alpha), low, high * (1 + 1e-9), xtol=1e-7, rtol=1e-7))

    def many(self, sizes: ndarray) -> tuple[ndarray, ndarray]:
        """P(max |Z_j| > c) of increasing c, of many by interpolation, since shares of the sum change slowly."""
        if len(sizes) <= MAX_TAILS_WITHOUT_GRID:
            found = np.array([self(c) for c in sizes]).reshape(-1, 2)
            return found[:, 0], found[:, 1]
        from scipy.interpolate import PchipInterpolator

        grid = np.linspace(sizes[0], sizes[-1], MAX_TAILS_WITHOUT_GRID)
        found, J = np.array([self(c) for c in grid]), len(self.A)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = found[:, 0] / (J * wald.z_pvalues(grid, self.df))
        there = np.isfinite(share)
        shares = PchipInterpolator(grid[there], share[there])(np.minimum(sizes, grid[there][-1]))
        return J * wald.z_pvalues(sizes, self.df) * shares, found[:, 1]

    @cached_property
    def _points(self) -> list[ndarray]:
        """Scrambled Sobol points of the unit cube: of the tail, the other directions and the scale of a t vector."""
        from scipy.stats import qmc

        d = self.A.shape[1] + 1 + (self.df is not None)
        seeds = np.random.SeedSequence(self.seed).spawn(SCRAMBLES)
        n = max(MIN_SOBOL_POINTS, MAX_SOBOL_POINTS >> max(0, (len(self.A) // 16).bit_length()))
        draws = [qmc.Sobol(d, seed=np.random.default_rng(s)).random(n) for s in seeds]
        return [np.maximum(u, 2.0**-40) for u in draws]

    def _radius(self, c: float) -> tuple[ndarray, ndarray]:
        """Table of log x and log P(R^2 > x) from c^2 on, to 1e-5 of the probability, as it is asked for many times."""
        r = self.A.shape[1]

        def beyond(x):
            return chdtrc(r, x) if self.df is None else f_tail(x / r, r, self.df)

        top = 2.0 * c * c
        while beyond(top) > NO_SHARE_OF_TAIL * beyond(c * c):
            top *= 2.0
        x = np.geomspace(c * c, top, RADIUS_POINTS)
        return np.log(x), np.log(np.maximum(beyond(x), np.finfo(float).tiny))

    def _share(self, c: float, u: ndarray, law: tuple[ndarray, ndarray]) -> float:
        """Share of the union in the sum of the single probabilities."""
        J, r = self.A.shape
        which = np.minimum((u[:, 0] * J).astype(np.intp), J - 1)
        tail = np.maximum(u[:, 0] * J - which, 2.0**-40)
        if self.df is None:
            t, scale = -ndtri(tail * ndtr(-c)), np.ones(len(u))
        else:
            t = -stdtrit(self.df, tail * stdtr(self.df, -c))
            # given one component, the others are t with one degree of freedom more
            scale = np.sqrt((self.df + t * t) / chdtri(self.df + 1, u[:, -1]))
        g, a = scale[:, None] * ndtri(u[:, 1 : r + 1]), self.A[which]
        points = g + (t - (g * a).sum(axis=1))[:, None] * a
        length = (points * points).sum(axis=1)
        with np.errstate(divide="ignore"):
            beyond = np.log(c * c * length[:, None] / (points @ self.A.T) ** 2)
        Q = np.exp(np.interp(beyond, *law, right=-np.inf) - law[1][0])
        return float((Q.max(axis=1) / Q.sum(axis=1)).mean())
