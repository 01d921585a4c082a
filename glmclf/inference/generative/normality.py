"""Mardia's tests of multivariate normality within classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy import ndarray
from scipy.special import ndtr

from glmclf.core.gaussian.moments import ClassMoments
from glmclf.core.numerics.triangular import times_inverse
from glmclf.core.rows.blocks import Blocks
from glmclf.inference.generative.covariances import class_roots, scatter_root
from glmclf.inference.hypotheses.records import ChiSquareTest, chi_square_test


class Mardia(NamedTuple):
    """Mardia's tests of multivariate normality of the residuals.

    b1 and b2 are the skewness (0 for a Gaussian) and the kurtosis (p (p + 2)); `skew` the chi-squared test of b1,
    `skew_small` the same with the small-sample factor, `z` and `kurtosis_pvalue` (two-sided) the test of b2. With a
    covariance for each class b1 and b2 are averages over the classes, and chi-squareds are sums.
    """

    b1: float
    skew: ChiSquareTest
    skew_small: ChiSquareTest
    b2: float
    z: float
    kurtosis_pvalue: float


def mardia(
    moments: ClassMoments, blocks: Blocks, *, pooled: bool = True, roots: Sequence[ndarray] | None = None
) -> Mardia:
    """Mardia's skewness and kurtosis of the residuals x - m_k, whitened with the maximum likelihood covariance.

    Parameters
    ----------
    moments : ClassMoments
    blocks : Blocks
        Of (X Dense, y, w): the rows that the moments summarise.
    pooled : bool
        Whiten with W/N; else each class with its own S_k/n_k. Third moments then do not add up over classes, whose
        whitened axes have nothing to do with each other: each class has its skewness, and the statistics are added.
    roots : sequence of (p, p) ndarray, optional
        Factor of W, or of each S_k, where known (see `whitened_means`).

    Returns
    -------
    Mardia

    Raises
    ------
    EstimationError
        The covariance is singular.

    References
    ----------
    Mardia (1970) Biometrika 57, 519-530; Mardia (1974) Sankhya B 36, 115-128 (small-sample factor).
    """
    what = "Mardia's test is"
    if pooled:
        root = roots[0] if roots else scatter_root(moments.within, moments.n - moments.K, what)
        sizes, factors = np.array([moments.n]), [root / math.sqrt(moments.n)]
    else:
        sizes = moments.counts
        factors = [R / math.sqrt(n) for R, n in zip(class_roots(moments, what, roots), sizes, strict=True)]

    def part(X, y, w):
        Z = _whitened(X.toarray(), y, moments.means, factors)
        if pooled:
            return _high_moments(Z, w)[None]
        own = [y == k for k in range(moments.K)]
        return np.stack([_high_moments(Z[rows], None if w is None else w[rows]) for rows in own])

    return _mardia_tests(blocks.sum(part) / sizes[:, None], moments.p, sizes)


def _whitened(X: ndarray, y: ndarray, means: ndarray, factors: Sequence[ndarray]) -> ndarray:
    """Residuals in coordinates in which their covariance is I, (n, p)."""
    Z = X - means[y]
    if len(factors) == 1:
        return times_inverse(Z, factors[0])
    for k in np.unique(y):
        rows = y == k
        Z[rows] = times_inverse(Z[rows], factors[k])
    return Z


def _high_moments(Z: ndarray, w: ndarray | None) -> ndarray:
    """Sums of z_a z_b z_c for a <= b and a <= c, followed by the sum of |z|^4."""
    weighted = Z if w is None else Z * w[:, None]
    square = (Z**2).sum(axis=1)
    third = [((weighted[:, a:] * Z[:, [a]]).T @ Z[:, a:]).ravel() for a in range(Z.shape[1])]
    fourth = (square**2).sum() if w is None else w @ square**2
    return np.concatenate([*third, [fourth]])


def _mardia_tests(averages: ndarray, p: int, sizes: ndarray) -> Mardia:
    """Mardia's tests from moments (g, m) of the groups that were whitened together, of `sizes` rows."""
    N, df = float(sizes.sum()), len(sizes) * (p * (p + 1) * (p + 2) // 6)
    skewness = np.array([_skewness(row, p) for row in averages])
    b1, b2 = float(sizes @ skewness / N), float(sizes @ averages[:, -1] / N)
    factor = (p + 1) * (sizes + 1) * (sizes + 3) / (sizes * ((sizes + 1) * (p + 1) - 6))
    z = (b2 - p * (p + 2)) / math.sqrt(8 * p * (p + 2) / N)
    skew, small = chi_square_test(N * b1 / 6, df), chi_square_test(float((factor * sizes) @ skewness) / 6, df)
    return Mardia(b1, skew, small, b2, z, float(2 * ndtr(-abs(z))))


def _skewness(averages: ndarray, p: int) -> float:
    """Sum of squares of all third moments."""
    b1, start = 0.0, 0
    for a in range(p):
        m = averages[start : start + (p - a) ** 2].reshape(p - a, p - a) ** 2
        # every triple with smallest index a stands for its permutations
        b1 += m[0, 0] + 1.5 * (m[0, 1:].sum() + m[1:, 0].sum()) + 3.0 * m[1:, 1:].sum()
        start += (p - a) ** 2
    return float(b1)
