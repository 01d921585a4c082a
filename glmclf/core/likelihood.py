"""Likelihoods, pointwise in the linear predictor: log-likelihood, score factor and weight of each row."""

from __future__ import annotations

import numpy as np
from numpy import ndarray
from scipy.special import gammaln, xlogy

from glmclf.core.links import Link


class Binomial:
    """y successes in m trials with P(success) = F(eta).

    log-likelihood  y log F + (m-y) log(1-F)      score factor  u = y r1 - (m-y) r0
    expected weight m r1 r0                       observed weight  y w1 + (m-y) w0

    with the link's r1 = f/F, r0 = f/(1-F) and curvatures w1, w0 (McCullagh & Nelder 1989, chapter 4). A fraction y in
    [0, 1] with m = 1 gives the quasi-likelihood of Papke & Wooldridge (1996).

    Parameters
    ----------
    link : Link
    binary : bool
        Whether every y is 0 or 1 with one trial: for a symmetric link half the work.
    """

    n_eta = 1

    def __init__(self, link: Link, binary: bool = False):
        self.link, self.binary = link, binary

    @property
    def canonical(self) -> bool:
        """Whether expected and observed weight are the same."""
        return self.link.canonical

    def pointwise(self, y: ndarray, m: ndarray | None, eta: ndarray, expected: bool = True):
        """Log-likelihood, score factor and weight of each row.

        Parameters
        ----------
        y : (n,) ndarray
            Successes, 0 <= y <= m.
        m : (n,) ndarray or None
            Trials, > 0; None is one trial a row.
        eta : (n,) ndarray
            Linear predictor.
        expected : bool
            Whether the weight is the expected one (Fisher's) or the observed.

        Returns
        -------
        ll, u, w : (n,) ndarrays
            Log-likelihood without the binomial coefficient; its derivative in eta; minus its second derivative, or the
            expectation of that. w >= 0.
        """
        if self.binary and self.link.symmetric:
            sign = 2.0 * y - 1.0
            ll, r1, w = self.link.success(sign * eta, expected)
            return ll, sign * r1, w
        t = self.link.terms(eta)
        failures = (1.0 if m is None else m) - y
        ll = y * t.logcdf + failures * t.logsf
        u = y * t.r1 - failures * t.r0
        if not expected:
            return ll, u, y * t.w1 + failures * t.w0
        w = t.r1 * t.r0
        return ll, u, w if m is None else m * w

    @staticmethod
    def constant(y: ndarray, m: ndarray | None) -> ndarray | float:
        """log of the binomial coefficient, (n,); 0 for single trials."""
        if m is None:
            return 0.0
        inside = (y > 0) & (y < m)
        s, n = np.where(inside, y, 1.0), np.where(inside, m, 2.0)
        f = n - s
        entropy = -s * np.log(s / n) - f * np.log1p(-s / n)
        remainder = _stirling_remainder(n) - _stirling_remainder(s) - _stirling_remainder(f)
        return np.where(inside, remainder + entropy + 0.5 * np.log(n / (2 * np.pi * s * f)), 0.0)

    @staticmethod
    def saturated(y: ndarray, m: ndarray | None) -> ndarray:
        """Log-likelihood of each row at mu = y/m, without the coefficient, (n,)."""
        m = np.ones_like(y) if m is None else m
        return xlogy(y, y / m) + xlogy(m - y, (m - y) / m)


def _stirling_remainder(n: ndarray) -> ndarray:
    """log n! - [(n + 1/2) log n - n + log(2 pi)/2] for n >= 1: what Stirling's formula lacks, without its large terms.

    With it log binomial coefficients keep their digits for any number of trials (Loader 2000, Fast and accurate
    computation of binomial probabilities).
    """
    small = np.minimum(n, 15.0)
    direct = gammaln(small + 1.0) - (small + 0.5) * np.log(small) + small - 0.5 * np.log(2 * np.pi)
    z = 1.0 / np.maximum(n, 15.0) ** 2
    series = (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * (1 / 1680 - z * (1 / 1188 - z * 691 / 360360))))) / n
    return np.where(n < 15, direct, series)
