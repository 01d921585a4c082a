"""Shrinkage intensities of covariance matrices, computed on residuals in units of their within-class sd."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy import ndarray

from glmclf.core.gaussian.moments import ClassMoments, class_rows
from glmclf.core.rows.blocks import Blocks


def oas(moments: ClassMoments, pooled: bool = True) -> ndarray:
    """Oracle approximating shrinkage of the within-class correlations R (p, p) towards the identity.

    lambda = min(1, ((1 - 2/p) |R|^2 + p^2) / ((N + 1 - 2/p) (|R|^2 - p))), |.| the Frobenius norm.

    Parameters
    ----------
    moments : ClassMoments
    pooled : bool
        One intensity, from W/N; else one a class, from S_k/n_k.

    Returns
    -------
    (1,) or (K,) ndarray
        Intensities in [0, 1]; 0 where there is nothing to shrink (one feature, or R = I).

    References
    ----------
    Chen, Wiesel, Eldar & Hero (2010), Shrinkage algorithms for MMSE covariance estimation, IEEE TSP 58, eq. 23.
    """
    sizes, squares = _norms(moments, pooled)
    p = moments.p
    numerator = (1 - 2 / p) * squares + p**2
    return _ratio(numerator, (sizes + 1 - 2 / p) * (squares - p), squares - p, p)


def ledoit_wolf(blocks: Blocks, moments: ClassMoments, pooled: bool = True) -> ndarray:
    """Ledoit and Wolf's shrinkage of the within-class correlations R (p, p) towards the identity.

    lambda = min(b^2, d^2) / d^2, d^2 = |R|^2 - p, b^2 = (sum f |z|^4 / N - |R|^2) / N, z the scaled residuals: a
    second pass over the rows.

    Parameters
    ----------
    blocks : Blocks
        Of X, y and weights or None, as for `class_moments`.
    moments : ClassMoments
        Of the same rows.
    pooled : bool
        One intensity, or one a class, with its own n_k and sd.

    Returns
    -------
    (1,) or (K,) ndarray
        Intensities in [0, 1].

    References
    ----------
    Ledoit & Wolf (2004), A well-conditioned estimator for large-dimensional covariance matrices, JMVA 88.
    """
    sizes, squares = _norms(moments, pooled)
    scale = _scales(moments, pooled)
    fourth = blocks.sum(partial(_fourth_powers, means=moments.means, scale=scale))
    fourth = np.array([fourth.sum()]) if pooled else fourth
    d2 = squares - moments.p
    b2 = np.maximum((fourth / sizes - squares) / sizes, 0.0)
    return _ratio(b2, d2, d2, moments.p)


def _ratio(a: ndarray, b: ndarray, apart: ndarray, p: int) -> ndarray:
    """Shrinkage intensity min(1, a/b), but 0 where correlations are not `apart` from the target:
    nothing is to shrink."""
    worth = apart > 1e-14 * p
    return np.where(worth, np.minimum(a, b) / np.where(worth, b, 1.0), 0.0)


def _scales(moments: ClassMoments, pooled: bool) -> ndarray:
    """Within-class standard deviations, 1 for a constant, (g, p)."""
    sizes, squares = moments.sums_of_squares(pooled)
    variances = squares / sizes[:, None]
    return np.sqrt(np.where(variances > 0, variances, 1.0))


def _norms(moments: ClassMoments, pooled: bool) -> tuple[ndarray, ndarray]:
    """Sample sizes and squared Frobenius norms of the correlation matrices, (g,) each."""
    sizes, scatters = moments.scatters(pooled)
    squares = [
        np.sum((S / n / s / s[:, None]) ** 2) for n, S, s in zip(sizes, scatters, _scales(moments, pooled), strict=True)
    ]
    return sizes, np.array(squares)


def _fourth_powers(X, y: ndarray, w: ndarray | None, means: ndarray, scale: ndarray) -> ndarray:
    """Sums of f |z|^4 by class, (K,)."""
    A, out = np.ascontiguousarray(X.toarray()), np.zeros(len(means))
    for k, rows in class_rows(y, len(means)):
        Z = (A.take(rows, axis=0) - means[k]) / scale[k if len(scale) > 1 else 0]
        powers = np.einsum("ij,ij->i", Z, Z) ** 2
        out[k] = powers.sum() if w is None else w[rows] @ powers
    return out
