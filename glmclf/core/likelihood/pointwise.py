"""Likelihoods, pointwise in the linear predictor: log-likelihood, score factor and weight of each row."""

from __future__ import annotations

import numpy as np
from numpy import ndarray
from scipy.special import gammaln, xlogy

from glmclf.core.likelihood.links import Link
from glmclf.core.numerics.softmax import softmax_and_complements, sums_of_others

MAX_PLAIN_PREDICTOR = 300.0  # linear predictors up to which exponentials and their ratios are doubles


class Binomial:
    """Likelihood of y successes in m trials with P(success) = F(eta).

    log-likelihood  y log F + (m-y) log(1-F)      score factor  u = y r1 - (m-y) r0
    expected weight m r1 r0                       observed weight  y w1 + (m-y) w0

    with the link's r1 = f/F, r0 = f/(1-F) and curvatures w1, w0 (McCullagh & Nelder 1989, chapter 4). A fraction y in
    [0, 1] with m = 1 gives the quasi-likelihood of Papke & Wooldridge (1996).

    Parameters
    ----------
    link : Link
    binary : bool
        Whether every y is 0 or 1 with one trial: half the work.
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
        if self.binary:
            return self.link.outcome(y, eta, expected)
        t = self.link.terms(eta)
        failures = (1.0 if m is None else m) - y
        ll = y * t.logcdf + failures * t.logsf
        u = y * t.r1 - failures * t.r0
        if not expected:
            return ll, u, y * t.w1 + failures * t.w0
        w = t.r1 * t.r0
        return ll, u, w if m is None else m * w

    @staticmethod
    def class_totals(y: ndarray, m: ndarray | None, weights: ndarray | None) -> ndarray:
        """Failures and successes of all rows with their weights, (2,)."""
        if weights is None:
            successes, trials = float(y.sum()), float(len(y) if m is None else m.sum())
        else:
            successes, trials = float(weights @ y), float(weights.sum() if m is None else weights @ m)
        return np.array([trials - successes, successes])

    @staticmethod
    def constant(y: ndarray, m: ndarray | None) -> ndarray | float:
        """Log of the binomial coefficient, (n,); 0 for single trials."""
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



class Multinomial:
    """Likelihood of counts of K classes in m trials, with log odds eta_j of class j against class 0.

    log-likelihood  sum_j y_j log p_j,   p_j = exp(eta_j) / sum_l exp(eta_l),   eta_0 = 0
    score factor    u_j = y_j - m p_j,   weight of (j, l)   m p_j (1{j = l} - p_l)

    (McCullagh & Nelder 1989, section 5.2.) The link is canonical: observed and expected weight are the same.

    Parameters
    ----------
    K : int
        Classes.
    """

    canonical = True

    def __init__(self, K: int):
        self.K, self.n_eta = K, K - 1

    def pointwise(self, y: ndarray, m: ndarray | None, eta: ndarray, base: ndarray | None = None):
        """Log-likelihood, score factor and probabilities of each row.

        Parameters
        ----------
        y : (n,) integer ndarray or (n, K) ndarray
            Class of each row, or counts.
        m : (n,) ndarray or None
            Trials; None is one a row.
        eta : (n, K-1) ndarray
            Linear predictors; -inf for a class that is ruled out.
        base : (n, 1) ndarray, optional
            That of class 0: 0, or -inf.

        Returns
        -------
        ll, u, p, q : (n,), (n, K-1), (n, K-1), (n, K-1) ndarrays
            Log-likelihood without the multinomial coefficient; its derivative in eta; the probabilities of classes 1 to
            K-1; and their complements, right where a probability rounds to one.
        """
        z = np.zeros((self.K, len(eta)))
        z[1:] = eta.T
        if base is not None:
            z[0] = base[:, 0]
        ll, u, p = self.by_class(y, m, z)
        return ll, u[1:].T, p[1:].T, sums_of_others(p)[1:].T

    def by_class(self, y: ndarray, m: ndarray | None, z: ndarray) -> tuple[ndarray, ndarray, ndarray]:
        """Log-likelihood, score factor and probabilities of all K classes, a row of each array a class:
        long rows are quick.

        Parameters
        ----------
        y, m
            As in `pointwise`.
        z : (K, n) ndarray
            Linear predictors; overwritten.

        Returns
        -------
        ll, u, p : (n,), (K, n), (K, n) ndarrays
        """
        if y.ndim == 2:
            log_p, p, q = softmax_and_complements(z)
            trials = y.sum(axis=1) if m is None else m
            ll = np.where(y.T > 0, y.T * log_p, 0.0).sum(axis=0)
            return ll, y.T * q - (trials - y.T) * p, p
        modest = np.abs(z).max() < MAX_PLAIN_PREDICTOR
        if not modest:
            z -= z.max(axis=0)
        flat, seen = z.ravel(), y.astype(np.intp) * len(y) + np.arange(len(y))
        mine = None if modest else flat[seen]
        e = np.exp(flat, out=flat)
        own = e[seen]
        e[seen] = 0.0
        others = z.sum(axis=0)
        total = own + others
        e[seen] = own
        if mine is None:
            ll = -np.log1p(others / own)
        else:  # log p of the largest exponent is a logarithm of 1 + others, that of any other below -log 2
            ll = mine - np.log1p(np.where(mine == 0.0, others, total - 1.0))
        share = 1.0 / total
        z *= share
        u = np.negative(z)
        u.ravel()[seen] = others * share
        return ll, u, z

    @classmethod
    def probabilities(cls, eta: ndarray, base: ndarray | None = None) -> tuple[ndarray, ndarray, ndarray]:
        """Softmax of the linear predictors (n, K-1) beside that of class 0: zeros, or `base` (n, 1)."""
        return cls.softmax(np.column_stack([np.zeros(len(eta)) if base is None else base, eta]))

    @staticmethod
    def log_odds(z: ndarray) -> ndarray:
        """Linear predictors (n, K) against that of class 0, whose own are 0; NaN between two that are ruled out."""
        with np.errstate(invalid="ignore"):
            difference = z - z[:, :1]
        difference[:, 0] = np.where(np.isnan(z).any(axis=1), np.nan, 0.0)
        return difference

    @staticmethod
    def softmax(z: ndarray) -> tuple[ndarray, ndarray, ndarray]:
        """Values log p, p and 1 - p of all K classes, (n, K) each: exact for z (n, K) of any size."""
        log_p, p, q = softmax_and_complements(np.array(z.T, order="C"))
        return log_p.T, p.T, q.T

    @staticmethod
    def possible(z: ndarray) -> tuple[ndarray, ndarray, ndarray]:
        """Softmax where exponents may be NaN: classes of exponent -inf have probability 0 nonetheless."""
        log_p, p, q = Multinomial.softmax(z)
        gone = np.isneginf(z)
        return np.where(gone, -np.inf, log_p), np.where(gone, 0.0, p), np.where(gone, 1.0, q)

    def class_totals(self, y: ndarray, m: ndarray | None, weights: ndarray | None) -> ndarray:
        """Observations of each class in all rows with their weights, (K,)."""
        if y.ndim == 1:
            return np.bincount(y, weights=weights, minlength=self.K).astype(float)
        return y.sum(axis=0) if weights is None else weights @ y

    @staticmethod
    def constant(y: ndarray, m: ndarray | None) -> ndarray | float:
        """Log of the multinomial coefficient, (n,), as a product of binomial ones; 0 for single trials."""
        if y.ndim == 1:
            return 0.0
        left = np.cumsum(y, axis=1)
        return sum(Binomial.constant(y[:, j], left[:, j]) for j in range(1, y.shape[1]))


def _stirling_remainder(n: ndarray) -> ndarray:
    """Remainder log n! - [(n + 1/2) log n - n + log(2 pi)/2] for n >= 1: what Stirling's formula lacks,
    without its large terms.

    With it log binomial coefficients keep their digits for any number of trials (Loader 2000, Fast and accurate
    computation of binomial probabilities).
    """
    small = np.minimum(n, 15.0)
    direct = gammaln(small + 1.0) - (small + 0.5) * np.log(small) + small - 0.5 * np.log(2 * np.pi)
    z = 1.0 / np.maximum(n, 15.0) ** 2
    series = (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * (1 / 1680 - z * (1 / 1188 - z * 691 / 360360))))) / n
    return np.where(n < 15, direct, series)
