"""Fisher's canonical discriminant functions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy import ndarray
from scipy.linalg import solve_triangular

from glmclf.core.gaussian.moments import ClassMoments
from glmclf.core.rows.asked import under_usual_errors
from glmclf.inference.generative.means import WhitenedMeans, whitened_means
from glmclf.inference.hypotheses.records import ChiSquareTest, chi_square_test


@under_usual_errors
@dataclass(frozen=True)
class Canonical:
    """Canonical discriminant functions: uncorrelated within classes, with variance 1 there (divisor N - K).

    Attributes
    ----------
    eigenvalues, correlations, proportions : (s,) ndarray
        Of W^-1 B; canonical correlations sqrt(value/(1 + value)); share of each in the sum of eigenvalues.
    raw : (p, s) ndarray
        Coefficients of x - mean.
    standardised : (p, s) ndarray
        Raw times the standard deviation within classes; the largest of a function is positive.
    structure : (p, s) ndarray
        Correlations of features and functions within classes.
    centroids : (K, s) ndarray
        Scores of the class means, whose weighted mean is 0.
    centre : (p,) ndarray
        Mean of all rows, where scores are 0.
    tests : tuple of ChiSquareTest
        For r = 0, 1, ...: are all functions after the first r zero in the population? (Bartlett.)
    """

    eigenvalues: ndarray
    correlations: ndarray
    proportions: ndarray
    raw: ndarray
    standardised: ndarray
    structure: ndarray
    centroids: ndarray
    centre: ndarray
    tests: tuple[ChiSquareTest, ...]

    def scores(self, X: ndarray) -> ndarray:
        """Values of the functions, (x - mean)' raw, (n, s)."""
        return (X - self.centre) @ self.raw


def canonical_functions(moments: ClassMoments, root: ndarray | None = None) -> Canonical:
    """Fisher's canonical discriminant functions, v with W^-1 B v = value v and v'(W/(N - K))v = 1.

    Parameters
    ----------
    moments : ClassMoments
    root : (p, p) ndarray, optional
        Factor of W (see `whitened_means`).

    Returns
    -------
    Canonical

    Raises
    ------
    EstimationError
        N - K < p, or W is singular.

    References
    ----------
    Fisher (1936); Rencher (2002), Methods of Multivariate Analysis, chapter 8.
    """
    sep = whitened_means(moments, root, "A canonical function is")
    V, R, df = sep.V[:, : sep.s], sep.root, sep.df
    sd = np.sqrt((R**2).sum(axis=0) / df)
    raw = solve_triangular(R, V) * math.sqrt(df)
    sign = _signs(raw * sd[:, None])
    raw = raw * sign
    structure = (R.T @ V) * sign / (sd * math.sqrt(df))[:, None]
    values = sep.eigenvalues
    correlations = sep.singular[: sep.s] / np.hypot(1.0, sep.singular[: sep.s])
    total = values.sum()
    proportions = values / total if total > 0 else np.full(sep.s, np.nan)
    centroids = (moments.means - moments.mean) @ raw
    return Canonical(
        values, correlations, proportions, raw, raw * sd[:, None], structure, centroids, moments.mean, _sequential(sep)
    )


def _signs(standardised: ndarray) -> ndarray:
    """Signs that make the largest coefficient of each column positive; the first one where two are as large."""
    size = np.abs(standardised)
    first = (size >= size.max(axis=0) * (1 - 1e-9)).argmax(axis=0)
    return np.where(standardised[first, np.arange(standardised.shape[1])] < 0, -1.0, 1.0)


def _sequential(sep: WhitenedMeans) -> tuple[ChiSquareTest, ...]:
    """Bartlett's tests of the discriminant functions after the first r, for each r."""
    p, K = sep.moments.p, sep.moments.K
    factor = sep.moments.n - 1 - (p + K) / 2
    terms = np.log1p(sep.eigenvalues)
    return tuple(chi_square_test(factor * float(terms[r:].sum()), (p - r) * (K - 1 - r)) for r in range(sep.s))
