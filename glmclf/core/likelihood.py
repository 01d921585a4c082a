"""Likelihoods, pointwise in the linear predictor: log-likelihood, score factor and weight of each row."""

from __future__ import annotations

import numpy as np
from numpy import ndarray
from scipy.special import gammaln

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
        return gammaln(m + 1) - gammaln(y + 1) - gammaln(m - y + 1)

    @staticmethod
    def saturated(y: ndarray, m: ndarray | None) -> ndarray:
        """Log-likelihood of each row at mu = y/m, without the coefficient, (n,)."""
        from scipy.special import xlogy

        m = np.ones_like(y) if m is None else m
        return xlogy(y, y / m) + xlogy(m - y, (m - y) / m)
