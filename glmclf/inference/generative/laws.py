"""Distances of the estimated laws of features from their data, with tests that know of the estimation."""

from __future__ import annotations

import math

import numpy as np
from numpy import ndarray
from scipy.special import chdtr, chdtrc, polygamma, psi

# P(D* > x) = a exp(-b x^2) through the 5 % and 1 % points of Stephens (1974), table 1A; at 15, 10 and 2.5 % it is
# within a tenth of the level
TAILS = {"gaussian": (5.90, 5.956), "exponential": (2.117, 3.130)}
NORMAL_SHAPE = 3.0  # shape of a gamma law from which a normal law's p-values are right within a quarter


def distance(x: ndarray, weights: ndarray, F: ndarray, before: ndarray | None = None) -> float:
    """Largest distance of the weighted empirical distribution function from F.

    Parameters
    ----------
    x, weights : (n,) ndarrays
    F : (n,) ndarray
        The distribution function at x.
    before : (n,) ndarray, optional
        Its limit from below, of laws with steps.
    """
    order = np.argsort(x, kind="stable")
    x, w, F = x[order], weights[order], F[order]
    before = F if before is None else before[order]
    last = np.append(x[1:] != x[:-1], True)
    first = np.append(True, last[:-1])
    upto = np.cumsum(w) / w.sum()
    start = np.append(0.0, upto[:-1])
    return float(max(np.abs(upto[last] - F[last]).max(), np.abs(start[first] - before[first]).max()))


def pvalue_of_distance(D: float, n: float, family: str, shape: float = 1.0) -> float:
    """p-value of a distance from a law whose parameters were estimated from the same rows.

    A gamma law of a large shape is as a normal law, which has two parameters, too; for small ones the exponential's is
    a bound, as the distance is smaller where the shape is estimated.

    References
    ----------
    Lilliefors (1967), JASA 62, 399-402. Stephens (1974), EDF statistics for goodness of fit and some comparisons, JASA
    69, 730-737.
    """
    root = math.sqrt(n)
    if family == "gamma":
        family = "gaussian" if shape >= NORMAL_SHAPE else "exponential"
    if family == "exponential":
        modified = (D - 0.2 / n) * (root + 0.26 + 0.5 / root)
    else:
        modified = D * (root - 0.01 + 0.85 / root)
    a, b = TAILS[family]
    return min(1.0, a * math.exp(-b * max(modified, 0.0) ** 2))


def dispersion_test(x: ndarray, weights: ndarray, mean: float) -> tuple[float, float]:
    """Variance over mean of counts, and its two-sided p-value if they are Poisson (Fisher's index of dispersion).

    References
    ----------
    Fisher (1925), Statistical Methods for Research Workers, section 16.
    """
    n = float(weights.sum())
    chi2 = float(weights @ (x - mean) ** 2) / mean
    p = 2 * min(chdtr(n - 1, chi2), chdtrc(n - 1, chi2))
    return chi2 / (n - 1), float(min(p, 1.0))


def log_determinant_law(n: float, p: int) -> tuple[float, float]:
    """Bias and standard deviation of log |S|, S the unbiased covariance of n normal rows with p features; exact.

    |S| (n - 1)^p is |Sigma| times a product of independent chi-squares with n - 1, ..., n - p degrees of freedom.

    References
    ----------
    Muirhead (1982), Aspects of Multivariate Statistical Theory, theorem 3.2.15.
    """
    half = (n - np.arange(1, p + 1)) / 2
    bias = float((psi(half) + math.log(2.0)).sum()) - p * math.log(n - 1)
    return bias, float(np.sqrt(polygamma(1, half).sum()))
