"""Likelihood of Gaussian classes: its value, its null model, numbers of parameters, and closed-form covariances."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy import ndarray
from scipy.linalg import solve_triangular

from glmclf.core.gaussian.dispersion import Dispersion, stacked_root, triangular_root
from glmclf.core.gaussian.law import Gaussian
from glmclf.core.gaussian.moments import ClassMoments
from glmclf.core.numerics.constants import LOG_2PI
from glmclf.core.rows.blocks import Blocks


def loglikelihood(moments: ClassMoments, gaussian: Gaussian) -> float:
    """Joint log-likelihood of y and x.

    At the maximum sum n_k log pi_k - (sum n_k log|Sigma_k| + N p (1 + log 2 pi)) / 2; elsewhere with the traces
    tr(Sigma_k^-1 S_k) in place of n_k p.

    Parameters
    ----------
    moments : ClassMoments
    gaussian : Gaussian
        Fitted to these moments, with any divisor or regularisation.
    """
    full = gaussian.kind == "full"
    sizes, scatters = (moments.scatters if full else moments.sums_of_squares)(gaussian.pooled)
    value = moments.counts @ gaussian.log_priors - 0.5 * moments.n * moments.p * LOG_2PI
    for n, S, d in zip(sizes, scatters, gaussian.dispersions, strict=True):
        trace = n * moments.p if gaussian.maximum else _trace(d, S)
        value -= 0.5 * (n * d.logdet + trace)
    return float(value)


def _trace(d: Dispersion, S: ndarray) -> float:
    """Trace tr(Sigma^-1 S) for a scatter S (p, p), or its diagonal (p,) where Sigma is diagonal."""
    if not d.full:
        return float((S / d.variances).sum())
    half = solve_triangular(d.root, S, trans="T", check_finite=False)
    return float(np.trace(solve_triangular(d.root, half.T, trans="T", check_finite=False)))


def conditional_loglikelihood(blocks: Blocks, gaussian: Gaussian) -> float:
    """Sum of f log p(y | x) over blocks of X, y and weights or None, as for `class_moments`."""
    return float(blocks.sum(partial(block_conditional, gaussian=gaussian)))


def block_conditional(X, y: ndarray, w: ndarray | None, gaussian: Gaussian) -> float:
    """Conditional log-likelihood, the sum of f log p(y | x), of one block."""
    own = gaussian.log_posterior(X.toarray(), n_threads=1)[np.arange(len(y)), y]
    return float(own.sum() if w is None else w @ own)


def null_loglikelihood(moments: ClassMoments, gaussian: Gaussian, factors: tuple[ndarray, ...] | None = None) -> float:
    """Maximum of the log-likelihood where x has one law, of the same structure, in all classes.

    Parameters
    ----------
    moments : ClassMoments
    gaussian : Gaussian
        The fit; its priors are kept.
    factors : tuple of ndarray, optional
        Those of `residual_factors`, if they were used for the fit.
    """
    n, p = moments.n, moments.p
    variances = moments.total_squares / n
    if gaussian.kind == "diag":
        logdet = float(np.log(variances).sum())
    elif gaussian.kind == "spherical":
        logdet = p * float(np.log(variances.mean()))
    else:
        root = _total_root(moments, factors)
        logdet = -np.inf if root is None else 2 * float(np.log(np.diag(root)).sum()) - p * np.log(n)
    return float(moments.counts @ gaussian.log_priors - 0.5 * n * (logdet + p * (1 + LOG_2PI)))


def _total_root(moments: ClassMoments, factors: tuple[ndarray, ...] | None) -> ndarray | None:
    if factors is None:
        return triangular_root(moments.total)
    apart = np.sqrt(moments.counts)[:, None] * moments.apart
    return stacked_root(*factors, apart)


def n_elements(kind: str, p: int) -> int:
    """Number of free elements of one covariance matrix."""
    return {"full": p * (p + 1) // 2, "diag": p, "spherical": 1}[kind]


def n_parameters(gaussian: Gaussian) -> float:
    """Number of parameters: log prior odds if estimated, means, elements of the dispersions.

    With shrinkage the effective number, a share 1 - lambda of what the target does not keep: all elements but the
    variances ("diag") or their mean ("identity"), or all (a fixed matrix).
    """
    elements = n_elements(gaussian.kind, gaussian.p)
    kept = {"diag": n_elements("diag", gaussian.p), "identity": 1, "fixed": 0}[gaussian.target]
    kept = min(kept, elements)
    free = gaussian.K - 1 if gaussian.priors_free else 0
    intensities = gaussian.shrinkage or (0.0,) * len(gaussian.dispersions)
    total = free + gaussian.K * gaussian.p + sum(kept + (1 - s) * (elements - kept) for s in intensities)
    return total if gaussian.shrinkage else round(total)


def n_null_parameters(gaussian: Gaussian) -> int:
    """Number of parameters of the null model: one mean and one covariance matrix of the same structure."""
    free = gaussian.K - 1 if gaussian.priors_free else 0
    return free + gaussian.p + n_elements(gaussian.kind, gaussian.p)


def parameters(gaussian: Gaussian) -> ndarray:
    """Flat parameters: log prior odds of classes 1.. against 0 if estimated, means class by class, then each covariance
    matrix (upper triangle row by row; variances; one variance)."""
    odds = gaussian.log_priors[1:] - gaussian.log_priors[0] if gaussian.priors_free else np.zeros(0)
    return np.concatenate([odds, gaussian.means.ravel(), *(_elements(d) for d in gaussian.dispersions)])


def _elements(d: Dispersion) -> ndarray:
    if d.full:
        return d.matrix[np.triu_indices(d.p)]
    return d.variances if d.kind == "diag" else d.variances[:1]


def standard_errors(gaussian: Gaussian) -> ndarray:
    """Standard errors of `parameters` from the inverse information; with regularisation, posterior sd."""
    odds = np.sqrt(np.diag(_odds_covariance(gaussian)))
    means = [np.sqrt(gaussian.dispersion(k).variances / n) for k, n in enumerate(gaussian.counts)]
    return np.concatenate([odds, *means, *(_element_errors(d) for d in gaussian.dispersions)])


def _element_errors(d: Dispersion) -> ndarray:
    if not d.full:
        return _elements(d) * np.sqrt(2 / (d.n * (d.p if d.kind == "spherical" else 1)))
    a, b = np.triu_indices(d.p)
    return np.sqrt((d.variances[a] * d.variances[b] + d.matrix[a, b] ** 2) / d.n)


def parameter_covariance(gaussian: Gaussian, at: ndarray | None = None) -> ndarray:
    """Covariance matrix of `parameters`, or of those `at` some places: prior odds, means of each class, elements.

    cov of log pi_k/pi_0 and log pi_l/pi_0 is 1/n_0 + [k=l]/n_k, of a mean Sigma_k/n_k, of s_ab and s_cd
    (s_ac s_bd + s_ad s_bc)/n, n that of the dispersion. Those of different kinds, classes or dispersions are 0.
    """
    sizes = [len(_odds_covariance(gaussian)), *[gaussian.p] * len(gaussian.counts)]
    sizes += [n_elements(gaussian.kind, gaussian.p)] * len(gaussian.dispersions)
    blocks: list[Callable[[ndarray], ndarray]] = [partial(_chosen, _odds_covariance(gaussian))]
    blocks += [partial(_chosen, gaussian.dispersion(k).matrix / n) for k, n in enumerate(gaussian.counts)]
    blocks += [partial(_element_covariance, d) for d in gaussian.dispersions]
    ends = np.cumsum([0, *sizes])
    at = np.arange(ends[-1]) if at is None else at
    out = np.zeros((len(at), len(at)))
    for block, start, end in zip(blocks, ends[:-1], ends[1:], strict=True):
        here = np.flatnonzero((at >= start) & (at < end))
        out[np.ix_(here, here)] = block(at[here] - start)
    return out


def _chosen(V: ndarray, at: ndarray) -> ndarray:
    return V[np.ix_(at, at)]


def _odds_covariance(gaussian: Gaussian) -> ndarray:
    if not gaussian.priors_free:
        return np.zeros((0, 0))
    return 1 / gaussian.prior_counts[0] + np.diag(1 / gaussian.prior_counts[1:])


def _element_covariance(d: Dispersion, at: ndarray) -> ndarray:
    """Covariance of the elements of a dispersion `at` some places."""
    if not d.full:
        return np.diag(_element_errors(d)[at] ** 2)
    a, b = (side[at] for side in np.triu_indices(d.p))
    S = d.matrix
    return (S[np.ix_(a, a)] * S[np.ix_(b, b)] + S[np.ix_(a, b)] * S[np.ix_(b, a)]) / d.n
