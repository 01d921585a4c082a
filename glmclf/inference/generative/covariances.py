"""Tests of equal covariances of Gaussian classes, and the triangular factors of scatter matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy import ndarray
from scipy.special import chdtrc

from glmclf.core.gaussian.moments import ClassMoments
from glmclf.errors import EstimationError
from glmclf.inference.hypotheses.records import ChiSquareTest, chi_square_test, f_tail

SINGULAR_PIVOT = 1e-6  # pivot in the factor of a scatter matrix of unit diagonal, below which it is rounding


def scatter_root(S: ndarray, df: float, what: str) -> ndarray:
    """Upper triangular R with R'R = S, from the Cholesky factor of S scaled to unit diagonal.

    Raises
    ------
    EstimationError
        There are fewer degrees of freedom than features, or S is singular: `what` is not defined.
    """
    if df < len(S):
        raise EstimationError(f"{what} not defined: {df:g} degrees of freedom within classes, {len(S)} features")
    scale = np.sqrt(np.diagonal(S))
    try:
        R = np.linalg.cholesky(S / np.outer(scale, scale)).T if scale.all() else np.zeros((1, 1))
    except np.linalg.LinAlgError:
        R = np.zeros((1, 1))
    if not np.diagonal(R).min() > SINGULAR_PIVOT:
        raise EstimationError(f"{what} not defined: a feature is constant within classes or a combination of others")
    return R * scale


def class_roots(moments: ClassMoments, what: str, roots: Sequence[ndarray] | None = None) -> list[ndarray]:
    """Triangular factors of each class's own scatter matrix."""
    if roots is not None:
        return list(roots)
    return [scatter_root(S, n - 1, what) for n, S in zip(*moments.scatters(pooled=False), strict=True)]


def log_determinant(R: ndarray) -> float:
    """log |R'R| of a triangular R."""
    return 2.0 * float(np.log(np.abs(np.diagonal(R))).sum())


class BoxM(NamedTuple):
    """Box's test of equal covariances: M, its correction c1, the chi-squared and the F approximation."""

    M: float
    c1: float
    chi2: float
    df: int
    chi2_pvalue: float
    F: float
    df2: float
    pvalue: float


def box_m(moments: ClassMoments, root: ndarray | None = None, roots: Sequence[ndarray] | None = None) -> BoxM:
    """Box's M, nu log|W/nu| - sum nu_k log|S_k/nu_k|, nu_k = n_k - 1, nu = N - K.

    Parameters
    ----------
    moments : ClassMoments
    root, roots : ndarray(s), optional
        Factors of W and of each S_k, where known (see `whitened_means`).

    Returns
    -------
    BoxM
        `pvalue` belongs to F on (df, df2) degrees of freedom, the better approximation.

    Raises
    ------
    EstimationError
        A class has fewer rows than p + 1, or a singular scatter.

    References
    ----------
    Box (1949) Biometrika 36, 317-346; Rencher (2002), Methods of Multivariate Analysis, section 7.3.
    """
    roots = class_roots(moments, "Box's M is", roots)
    root = scatter_root(moments.within, moments.n - moments.K, "Box's M is") if root is None else root
    p, nu, nus = moments.p, moments.n - moments.K, moments.counts - 1.0
    pooled = nu * (log_determinant(root) - p * math.log(nu))
    M = pooled - sum(v * (log_determinant(R) - p * math.log(v)) for v, R in zip(nus, roots, strict=True))
    return _box_approximations(float(M), p, moments.K, nus, nu)


def _box_approximations(M: float, p: int, K: int, nus: ndarray, nu: float) -> BoxM:
    """Chi-squared and F approximations of Box's M."""
    c1 = float(((1 / nus).sum() - 1 / nu) * (2 * p * p + 3 * p - 1) / (6 * (p + 1) * (K - 1)))
    c2 = float(((1 / nus**2).sum() - 1 / nu**2) * (p - 1) * (p + 2) / (6 * (K - 1)))
    f1 = p * (p + 1) * (K - 1) // 2
    chi2, gap = (1 - c1) * M, c2 - c1**2
    f2 = (f1 + 2) / abs(gap) if gap else math.inf
    if gap >= 0:
        F = M * (1 - c1 - f1 / f2) / f1
    else:
        b = f2 / (1 - c1 + 2 / f2)
        # M/b is compared with a Beta variable: nothing lies beyond 1
        F = f2 * M / (f1 * (b - M)) if M < b else math.inf
    p_chi2, p_F = float(chdtrc(f1, max(chi2, 0.0))), float(f_tail(F, f1, f2))
    return BoxM(M, c1, chi2, f1, p_chi2, float(F), f2, p_F)


def lr_lda_qda(
    moments: ClassMoments, root: ndarray | None = None, roots: Sequence[ndarray] | None = None
) -> ChiSquareTest:
    """Likelihood ratio of one covariance for all classes against one for each, N log|W/N| - sum n_k log|S_k/n_k|.

    Chi-squared with p (p + 1) (K - 1) / 2 degrees of freedom in large samples; too liberal in small ones, where Box's F
    is better.

    Raises
    ------
    EstimationError
        A class has fewer rows than p + 1, or a singular scatter.
    """
    what = "The likelihood ratio against separate covariances is"
    roots = class_roots(moments, what, roots)
    root = scatter_root(moments.within, moments.n - moments.K, what) if root is None else root
    p, N = moments.p, moments.n
    pooled = N * (log_determinant(root) - p * math.log(N))
    own = sum(n * (log_determinant(R) - p * math.log(n)) for n, R in zip(moments.counts, roots, strict=True))
    return chi_square_test(pooled - own, p * (p + 1) * (moments.K - 1) // 2)
