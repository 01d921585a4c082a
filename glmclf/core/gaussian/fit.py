"""Gaussian classes: maximum likelihood and regularised estimates from class moments.

Six structures: a covariance matrix that is full, diagonal or spherical, pooled over the classes or one for each. The
law itself is in `gaussian_law`, its likelihood in `gaussian_likelihood`; both are imported here.
"""

from __future__ import annotations

from functools import partial
from typing import Never

import numpy as np
from numpy import ndarray
from scipy.linalg import LinAlgError, cholesky

from glmclf.core.gaussian.dispersion import Dispersion, stacked_root, triangular_root, upright
from glmclf.core.gaussian.law import Gaussian
from glmclf.core.gaussian.likelihood import (
    block_conditional,
    conditional_loglikelihood,
    loglikelihood,
    n_elements,
    n_null_parameters,
    n_parameters,
    null_loglikelihood,
    parameter_covariance,
    parameters,
    standard_errors,
)
from glmclf.core.gaussian.moments import ClassMoments, class_rows
from glmclf.core.gaussian.shrinkage import ledoit_wolf, oas
from glmclf.core.gaussian.singular import (
    DEPENDENT_LENGTH_SHARE,
    DEPENDENT_VARIANCE_SHARE,
    SingularDispersion,
    dependent_columns,
    dependent_from_scatter,
    least_variances,
)
from glmclf.core.rows.blocks import Blocks

__all__ = [
    "Gaussian",
    "SingularDispersion",
    "block_conditional",
    "conditional_loglikelihood",
    "fit_gaussian",
    "ill_conditioned",
    "ledoit_wolf",
    "loglikelihood",
    "n_elements",
    "n_null_parameters",
    "n_parameters",
    "null_loglikelihood",
    "oas",
    "parameter_covariance",
    "parameters",
    "residual_factors",
    "standard_errors",
]

MIN_SCATTER_TOLERANCE = 1e-6  # tolerance below which a Cholesky factor of the scatter has too few digits


def fit_gaussian(
    moments: ClassMoments,
    kind: str,
    pooled: bool,
    *,
    divisor: str = "mle",
    priors: ndarray | None = None,
    prior_smoothing: float = 0.0,
    shrinkage: float | ndarray = 0.0,
    target: str | ndarray = "diag",
    ridge: float = 0.0,
    factors: tuple[ndarray, ...] | None = None,
    rows: ndarray | None = None,
) -> Gaussian:
    """Gaussian classes from their moments.

    Maximum likelihood: pi_k = n_k / N, mu_k the class means, Sigma = W / N or Sigma_k = S_k / n_k, their diagonals, or
    their mean variances. Regularised: (1 - lambda) Sigma + lambda T + tau I.

    Parameters
    ----------
    moments : ClassMoments
        With rows in every class.
    kind : {"full", "diag", "spherical"}
    pooled : bool
        One covariance matrix for all classes, or one each.
    divisor : {"mle", "unbiased"}
        Divide scatters by N or n_k, or by N - K or n_k - 1.
    priors : (K,) ndarray, optional
        Fixed priors, positive, sum 1; estimated if None.
    prior_smoothing : float
        a >= 0: pi_k = (n_k + a) / (N + a K), the mode under a Dirichlet(a + 1) prior.
    shrinkage : float or ndarray
        lambda in [0, 1]; an array has one for each dispersion.
    target : {"diag", "identity"} or (p, p) ndarray
        T: the diagonal of Sigma, its mean variance times I, or a given matrix.
    ridge : float
        tau >= 0.
    factors : tuple of ndarray, optional
        Triangular factors of the scatters from `residual_factors`, for data that are nearly singular.
    rows : (K,) ndarray, optional
        Numbers of rows by class, where `counts` are sums of sampling weights.

    Returns
    -------
    Gaussian

    Raises
    ------
    SingularDispersion
        If a covariance matrix has no inverse.
    EstimationError
        If covariances by class are asked of moments that only have the sum of the scatters.

    Examples
    --------
    >>> import numpy as np
    >>> from glmclf.core.rows.blocks import Blocks
    >>> from glmclf.core.design.dense import Dense
    >>> from glmclf.core.gaussian.moments import class_moments
    >>> X, y = np.array([[1.0], [3.0], [10.0], [14.0]]), np.array([0, 0, 1, 1])
    >>> g = fit_gaussian(class_moments(Blocks(Dense(X), y, None), 2), "full", pooled=True)
    >>> g.means.ravel().tolist(), round(float(g.dispersions[0].matrix[0, 0]), 12)
    ([2.0, 12.0], 2.5)
    >>> g.posterior(np.array([[7.0]])).tolist()
    [[0.5, 0.5]]
    """
    log_priors, prior_counts = _priors(moments.counts, priors, prior_smoothing)
    full = kind == "full"
    sizes, _ = scatters = moments.scatters(pooled) if full else moments.sums_of_squares(pooled)
    intensities = np.broadcast_to(np.asarray(shrinkage, dtype=float), sizes.shape)
    ranks = _least_ranks(intensities, kind, moments.p, target, ridge)
    _check_rows(moments.counts if rows is None else rows, ranks, pooled)
    lost = 0 if divisor == "mle" else moments.K if pooled else 1
    floors = least_variances(moments.total_squares, moments.n, moments.means)
    dispersions = []
    for g, (n, S, intensity) in enumerate(zip(*scatters, intensities, strict=True)):
        n -= lost if n > lost else 0  # a regularised class may have one row, and no scatter to divide
        classes = () if pooled else (g,)
        Sigma = _regularised(S / n, intensity, target, ridge)
        _check_spread(np.diag(Sigma) if full else Sigma, floors, kind, classes)
        # a regularised matrix is far from singular
        factor = None if factors is None or intensity or ridge else factors[g] / np.sqrt(n)
        size = float(n / (1 - intensity)) if intensity < 1 else np.inf
        dispersions.append(Dispersion(kind, _root(Sigma, kind, factor, classes), size))
    kept = tuple(intensities.tolist()) if intensities.any() else ()
    name = target if isinstance(target, str) else "fixed"
    law = (moments.counts, log_priors, priors is None, prior_counts, moments.means, tuple(dispersions), moments.mean)
    return Gaussian(*law, divisor, kept, name, float(ridge), moments.rest)


def _priors(counts: ndarray, priors: ndarray | None, smoothing: float) -> tuple[ndarray, ndarray]:
    """Log priors log pi_k and the counts behind them."""
    if priors is not None:
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(priors, dtype=float)), counts
    smoothed = counts + smoothing
    return np.log(smoothed / smoothed.sum()), smoothed


def _least_ranks(intensities: ndarray, kind: str, p: int, target: str | ndarray, ridge: float) -> ndarray:
    """Rank that each scatter matrix needs, (g,): a target of variances needs 1, a ridge or a given matrix 0."""
    if ridge > 0:
        return np.zeros(len(intensities))
    return np.where(intensities > 0, 1 if isinstance(target, str) else 0, p if kind == "full" else 1)


def _check_rows(rows: ndarray, ranks: ndarray, pooled: bool) -> None:
    """Refuse too few rows for scatter matrices of the given ranks."""
    if pooled:
        if rows.sum() - len(rows) < ranks[0]:
            raise SingularDispersion("too few rows", rows=[rows.sum()], needed=len(rows) + int(ranks[0]))
    elif (rows <= ranks).any():
        few = np.flatnonzero(rows <= ranks)
        raise SingularDispersion("too few rows", classes=few, rows=rows[few], needed=int(ranks[few].max()) + 1)


def _regularised(Sigma: ndarray, intensity: float, target: str | ndarray, ridge: float) -> ndarray:
    """Covariance matrix (1 - lambda) Sigma + lambda T + tau I, or its diagonal where Sigma is one (p,)."""
    if intensity == 0 and ridge == 0:
        return Sigma
    alone, unit = (Sigma, np.ones(len(Sigma))) if Sigma.ndim == 1 else (np.diag(Sigma), np.eye(len(Sigma)))
    if not isinstance(target, str):
        T = np.asarray(target, dtype=float)
        T = T if Sigma.ndim == 2 else np.diag(T)
    elif target == "diag":
        T = alone * unit
    else:
        T = np.mean(alone) * unit
    return (1 - intensity) * Sigma + intensity * T + ridge * unit


def _check_spread(variances: ndarray, floors: ndarray, kind: str, classes: tuple[int, ...]) -> None:
    """Refuse constant features; for a class with equal variances only if all are constant."""
    constant = variances <= floors
    if constant.any() and (not classes or kind != "spherical" or constant.all()):
        reason = "constant within a class" if classes else "constant within every class"
        raise SingularDispersion(reason, np.flatnonzero(constant).tolist(), classes)


def _root(Sigma: ndarray, kind: str, factor: ndarray | None, classes: tuple[int, ...]) -> ndarray:
    """Root of a dispersion: of its variances (p,), or of its matrix, from the factor of the residuals where there is
    one."""
    if kind == "diag":
        return np.sqrt(Sigma)
    if kind == "spherical":
        return np.full(len(Sigma), np.sqrt(np.mean(Sigma)))
    if factor is not None:
        length = np.linalg.norm(factor, axis=0)
        if (np.abs(np.diag(factor)) < DEPENDENT_LENGTH_SHARE * length).any():
            _raise_collinear(dependent_columns(factor), classes)
        return upright(factor)
    root = triangular_root(Sigma)
    if root is None or (np.diag(root) ** 2 < DEPENDENT_VARIANCE_SHARE * np.diag(Sigma)).any():
        _raise_collinear(dependent_from_scatter(Sigma), classes)
    return root


def _raise_collinear(combinations: dict[int, dict[int, float]], classes: tuple[int, ...]) -> Never:
    raise SingularDispersion("collinear", tuple(combinations), classes, combinations=combinations)


def ill_conditioned(moments: ClassMoments, pooled: bool) -> bool:
    """Whether full dispersions should come from `residual_factors`: a tolerance in a scatter is below 1e-6."""
    for S in moments.scatters(pooled)[1]:
        scale = np.sqrt(np.where(np.diag(S) > 0, np.diag(S), 1.0))
        try:
            root = cholesky(S / scale / scale[:, None], lower=False)
        except (LinAlgError, ValueError):
            return True
        if (Dispersion("full", root, 1.0).tolerance < MIN_SCATTER_TOLERANCE).any():
            return True
    return False


class _Factors:
    """Triangular factors of stacked rows; the sum is the factor of both stacks."""

    def __init__(self, R: list[ndarray]):
        self.R = R

    def __add__(self, other: _Factors) -> _Factors:
        return _Factors([stacked_root(a, b) for a, b in zip(self.R, other.R, strict=True)])


def residual_factors(blocks: Blocks, moments: ClassMoments, pooled: bool) -> tuple[ndarray, ...]:
    """Triangular factors R of the residuals, R'R = W, or S_k of each class, by a second pass.

    The QR decomposition never squares the data: it keeps twice the digits of a Cholesky factor of the scatter.

    Parameters
    ----------
    blocks : Blocks
        Of X, y and weights or None, as for `class_moments`.
    moments : ClassMoments
        Of the same rows.
    pooled : bool
        One factor for all classes, or one each.

    Returns
    -------
    tuple of (p, p) ndarray
    """
    R = blocks.sum(partial(_block_factors, means=moments.means, pooled=pooled)).R
    p = moments.p
    return tuple(np.vstack([r, np.zeros((p - len(r), p))]) for r in R)


def _block_factors(X, y: ndarray, w: ndarray | None, means: ndarray, pooled: bool) -> _Factors:
    A, K = np.ascontiguousarray(X.toarray()), len(means)
    R = [np.zeros((0, means.shape[1]))] * (1 if pooled else K)
    for k, rows in class_rows(y, K):
        Z = A.take(rows, axis=0) - means[k]
        if w is not None:
            Z *= np.sqrt(w[rows])[:, None]
        R[0 if pooled else k] = stacked_root(R[0 if pooled else k], Z)
    return _Factors(R)
