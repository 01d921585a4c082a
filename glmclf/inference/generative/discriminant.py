"""Diagnostics of discriminant analysis: distances, typicality, error rates, comparison with a logit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy import ndarray
from scipy.special import chdtrc

from glmclf.core.gaussian.fit import Gaussian
from glmclf.core.gaussian.moments import ClassMoments
from glmclf.core.numerics.triangular import times_inverse
from glmclf.core.rows.asked import under_usual_errors
from glmclf.core.rows.blocks import Blocks
from glmclf.core.rows.summed import Summed
from glmclf.errors import EstimationError
from glmclf.inference.generative.covariances import scatter_root
from glmclf.inference.generative.leave_one_out import LeaveOneOut
from glmclf.inference.hypotheses.records import f_tail

SATURATED_WEIGHT = 1e-12  # average weight of the chi-squared variables below which it is rounding


# ---------------------------------------------------------------------------------------------------- distances
@dataclass(frozen=True)
class Mahalanobis:
    """Distances between class means, each attribute a symmetric (K, K) matrix.

    Attributes
    ----------
    squared : ndarray
        D^2 = (m_k - m_l)'(W/(N - K))^-1 (m_k - m_l).
    F, pvalue : ndarray
        Test of equal means of two classes on (df1, df2) degrees of freedom; NaN on the diagonal.
    unbiased : ndarray
        Unbiased estimate of the population's distance, which may be negative; NaN if N - K <= p + 1.
    df1, df2 : float
    """

    squared: ndarray
    F: ndarray
    pvalue: ndarray
    unbiased: ndarray
    df1: float
    df2: float


def mahalanobis(moments: ClassMoments, root: ndarray | None = None) -> Mahalanobis:
    """Mahalanobis distances of all pairs of classes, with the covariance within classes, divisor N - K.

    Parameters
    ----------
    moments : ClassMoments
    root : (p, p) ndarray, optional
        Upper triangular R with R'R = W, where a more accurate factor than that of W itself is known.

    Returns
    -------
    Mahalanobis

    Raises
    ------
    EstimationError
        N - K < p, or W is singular.

    References
    ----------
    Mardia, Kent & Bibby (1979), Multivariate Analysis, section 3.6; McLachlan (1992), section 3.3.

    Examples
    --------
    >>> import numpy as np
    >>> m = ClassMoments(np.array([6.0, 6.0]), np.array([[0.0, 1.0], [2.0, 0.0]]), np.array([[10.0, 2.0], [2.0, 5.0]]))
    >>> found = mahalanobis(m)
    >>> round(float(found.squared[0, 1]), 4), round(float(found.F[0, 1]), 4), round(float(found.pvalue[0, 1]), 4)
    (8.2609, 11.1522, 0.0037)
    """
    p, K, n, nu = moments.p, moments.K, moments.counts, moments.n - moments.K
    if root is None:
        root = scatter_root(moments.within, nu, "The distance of two classes is")
    M = times_inverse(moments.apart, root)
    squared = nu * ((M[:, None] - M[None]) ** 2).sum(axis=2)
    inverse = 1 / n[:, None] + 1 / n[None]
    F = squared * (nu - p + 1) / (inverse * p * nu)
    np.fill_diagonal(F, np.nan)
    pvalue = f_tail(F, p, nu - p + 1)
    unbiased = (nu - p - 1) / nu * squared - p * inverse if nu > p + 1 else np.full((K, K), np.nan)
    np.fill_diagonal(unbiased, 0.0)
    return Mahalanobis(squared, F, pvalue, unbiased, p, nu - p + 1)


# ---------------------------------------------------------------------------------------------------- typicality


def typicality(gaussian: Gaussian, X: ndarray, y: ndarray | None = None) -> ndarray:
    """Probability that a row of class k lies farther from its mean than x does, for each class; exact under the model.

    Parameters
    ----------
    gaussian : Gaussian
        Full or spherical covariance, not regularised; either divisor.
    X : (n, p) ndarray
        A row is judged by its features that are not NaN.
    y : (n,) integer ndarray, optional
        Classes of training rows without NaN: each is compared with the classes estimated without it, which for its own
        is the Beta distribution of D^2 n_k/((n_k - 1)(N - K)). Without `y` the rows are new, and D^2 is F.

    Returns
    -------
    (n, K) ndarray
        In [0, 1], uniform where x comes from class k; NaN where there are too few rows for a distribution.

    Raises
    ------
    EstimationError
        No exact distribution is known: diagonal covariance, or a regularised one.

    References
    ----------
    McLachlan (1992), Discriminant Analysis and Statistical Pattern Recognition, section 6.4.
    """
    if gaussian.regularised:
        raise EstimationError("typicality has no exact distribution with a regularised covariance")
    if gaussian.kind == "diag" and gaussian.p > 1:
        raise EstimationError("typicality has no exact distribution with a diagonal covariance")
    if y is not None:
        return _typicality(gaussian, LeaveOneOut(gaussian).left(X, y).distances, gaussian.p, y)
    out = np.full((len(X), gaussian.K), np.nan)
    seen = ~np.isnan(X)
    for pattern in np.unique(seen, axis=0):
        if pattern.any():
            rows = (seen == pattern).all(axis=1)
            part = gaussian if pattern.all() else gaussian.marginal(pattern)
            out[rows] = _typicality(part, part.distances(X[rows][:, pattern]), gaussian.p)
    return out


def _typicality(g: Gaussian, distances: ndarray, width: int, y: ndarray | None = None) -> ndarray:
    """Tail of F for D^2; rows with a class y have been left out of the estimates.

    `width` features made the one variance of a spherical covariance, of which `g` may hold some.
    """
    left = np.zeros((1, g.K)) if y is None else (y[:, None] == np.arange(g.K)).astype(float)
    n, lost = g.counts - left, left.sum(axis=1, keepdims=True) if g.pooled else left
    df = (g.n - g.K if g.pooled else g.counts - 1) - lost
    spherical = g.kind == "spherical"
    df2 = np.broadcast_to(width * df if spherical else df - g.p + 1, distances.shape)
    # of a part of a spherical law, n counts the elements of the whole
    divisor = np.array([d.n * (g.p / width if spherical else 1) for d in g.dispersions]) - lost
    with np.errstate(divide="ignore", invalid="ignore"):
        F = distances / divisor * (df if spherical else df2) / g.p * n / (n + 1)
    valid = (n > 0) & (df2 > 0) & ~np.isnan(F)
    return np.where(valid, f_tail(np.where(valid, F, 0.0), g.p, np.where(valid, df2, 1.0)), np.nan)


# ---------------------------------------------------------------------------------------------------- error rates


@dataclass(frozen=True)
class ErrorCounts(Summed):
    """Counts of classification decisions by class, and the log score.

    Attributes
    ----------
    confusion : (K, K) ndarray
        Rows (weights) of class [truth, decision].
    skipped : (K,) ndarray
        Rows of each class without a decision.
    score : float
        Sum of log p(y | x) over the rows with one.
    """

    confusion: ndarray
    skipped: ndarray
    score: float

    @property
    def errors(self) -> float:
        """Rows decided wrongly."""
        return float(self.confusion.sum() - np.trace(self.confusion))

    @property
    def rate(self) -> float:
        """Share of rows decided wrongly; NaN if no row was decided."""
        n = self.confusion.sum()
        return self.errors / float(n) if n > 0 else math.nan

    @property
    def by_class(self) -> ndarray:
        """Share of each class decided wrongly, (K,); NaN for a class without a decision."""
        n = self.confusion.sum(axis=1)
        with np.errstate(invalid="ignore"):
            return np.where(n > 0, 1 - np.diagonal(self.confusion) / n, np.nan)

    def weighted(self, priors: ndarray) -> float:
        """Rate in a population with other shares of the classes, sum of prior times rate by class."""
        return float(priors @ self.by_class)


@under_usual_errors
@dataclass(frozen=True)
class ErrorRates:
    """Estimates of the rate of wrong decisions.

    Attributes
    ----------
    resubstitution : ErrorCounts
        Each row judged by the fit that knows it: too small. Its score is the conditional log-likelihood.
    leave_one_out : ErrorCounts or None
        Each row judged by a fit without it.
    largest : (K,) ndarray
        Sums of the largest posterior of the rows, by decision.
    n : float
        Rows.
    priors : (K,) ndarray
    """

    resubstitution: ErrorCounts
    leave_one_out: ErrorCounts | None
    largest: ndarray
    n: float
    priors: ndarray

    @property
    def posterior(self) -> float:
        """Posterior estimate, 1 - mean largest posterior."""
        return float(1 - self.largest.sum() / self.n)


@dataclass(frozen=True)
class ErrorSums(Summed):
    """What error rates are made of, of some rows; see `ErrorRates`."""

    resubstitution: ErrorCounts
    leave_one_out: ErrorCounts | None
    largest: ndarray
    n: float

    def rates(self, priors: ndarray) -> ErrorRates:
        """Error rates, with the priors of the classes."""
        return ErrorRates(self.resubstitution, self.leave_one_out, self.largest, self.n, priors)


def error_rates(
    gaussian: Gaussian,
    blocks: Blocks,
    *,
    moments: ClassMoments | None = None,
    frequency: bool = True,
    leave_one_out: bool = True,
) -> ErrorRates:
    """Resubstitution, leave-one-out and posterior error rates in one pass.

    Parameters
    ----------
    gaussian : Gaussian
        The fit.
    blocks : Blocks
        Of (X Dense, y, w): its training rows.
    moments : ClassMoments, optional
        Those of the fit, which a regularised one needs for `leave_one_out`.
    frequency : bool
        Weights count rows, see `LeaveOneOut`.
    leave_one_out : bool
        Whether to leave rows out, too.

    Returns
    -------
    ErrorRates
        Decisions are the class of the largest posterior, the first of those that tie.

    References
    ----------
    McLachlan (1992), Discriminant Analysis and Statistical Pattern Recognition, chapter 10.

    Examples
    --------
    >>> import numpy as np
    >>> from glmclf.core.design.dense import Dense
    >>> from glmclf.core.gaussian.fit import fit_gaussian
    >>> from glmclf.core.gaussian.moments import class_moments
    >>> X, y = np.array([[1.0], [3.0], [6.5], [8.0], [10.0], [14.0]]), np.array([0, 0, 0, 1, 1, 1])
    >>> blocks = Blocks(Dense(X), y, None)
    >>> rates = error_rates(fit_gaussian(class_moments(blocks, 2), "full", pooled=True), blocks)
    >>> rates.resubstitution.errors, rates.leave_one_out.confusion.tolist()
    (0.0, [[2.0, 1.0], [0.0, 3.0]])
    """
    without = LeaveOneOut(gaussian, frequency, moments) if leave_one_out else None

    def part(X, y, w):
        X, f = X.toarray(), np.ones(len(y)) if w is None else w
        posterior = gaussian.log_posterior(X)
        left = decisions(without.log_posterior(X, y, w), y, f) if without else None
        best = posterior.argmax(axis=1)
        largest = np.bincount(best, f * np.exp(posterior.max(axis=1)), gaussian.K)
        return ErrorSums(decisions(posterior, y, f), left, largest, float(f.sum()))

    return blocks.sum(part).rates(np.exp(gaussian.log_priors))


def decisions(log_posterior: ndarray, y: ndarray, f: ndarray) -> ErrorCounts:
    """Count decisions and sum log p(y | x); a row of NaN is skipped.

    Parameters
    ----------
    log_posterior : (n, K) ndarray
    y : (n,) integer ndarray
    f : (n,) ndarray
        Weights.
    """
    K = log_posterior.shape[1]
    known = ~np.isnan(log_posterior).any(axis=1)
    best = log_posterior[known].argmax(axis=1)
    confusion = np.bincount(y[known].astype(np.intp) * K + best, f[known], K * K).reshape(K, K)
    skipped = np.bincount(y[~known], f[~known], K)
    score = float(f[known] @ log_posterior[known, y[known]])
    return ErrorCounts(confusion, skipped, score)


# ---------------------------------------------------------------------------------------------------- against a logit


class WeightedChiSquare(NamedTuple):
    """A statistic that is a sum of weights times chi-squared variables with one degree of freedom each.

    `scale` and `df` are Satterthwaite's: statistic/scale is compared with chi-squared on df degrees of freedom.
    """

    statistic: float
    scale: float
    df: float
    pvalue: float
    weights: ndarray


def difference_sums(information: ndarray, scores: ndarray, influence: ndarray, w: ndarray | None, n: float) -> ndarray:
    """Sum over rows of f (psi_M - psi_L)(psi_M - psi_L)', (q, q); additive over blocks.

    Parameters
    ----------
    information : (q, q) ndarray
        Of the conditional model (MNLogit) at its estimate.
    scores : (m, q) ndarray
        Score of each row there, not weighted: psi_M = n information^-1 score.
    influence : (m, q) ndarray
        psi_L, influence of each row on the implied coefficients of the generative fit, in the same coordinates.
    w : (m,) ndarray or None
        Frequency weights.
    n : float
        All rows, N.
    """
    d = n * np.linalg.solve(information, scores.T).T - influence
    return (d if w is None else d * w[:, None]).T @ d


def compare_conditional(statistic: float, information: ndarray, difference: ndarray, n: float) -> WeightedChiSquare:
    """Test of the classes' Gaussian law: 2 (llf of MNLogit - conditional llf of the generative fit).

    Under the generative model it is sum w_j chi^2_1, w the eigenvalues of I_c Cov_d: I_c is the information of the
    conditional model and Cov_d the covariance of the difference of the two estimates.

    Parameters
    ----------
    statistic : float
    information : (q, q) ndarray
        I_c.
    difference : (q, q) ndarray
        `difference_sums` over all rows; Cov_d is this divided by n^2.
    n : float
        Rows, N.

    Returns
    -------
    WeightedChiSquare
        With scale and df 0 and p-value 1 where the two estimates are the same by construction (one table, saturated).

    References
    ----------
    Satterthwaite (1946) Biometrics Bulletin 2, 110-114; Vuong (1989) Econometrica 57, 307-333.
    """
    scale = np.sqrt(np.diagonal(information))
    R = np.linalg.cholesky(information / np.outer(scale, scale)).T * scale
    weights = np.linalg.eigvalsh(R @ difference @ R.T / n**2)[::-1]
    total, squares = float(weights.sum()), float((weights**2).sum())
    if total <= SATURATED_WEIGHT * len(weights):
        return WeightedChiSquare(statistic, 0.0, 0.0, 1.0, weights)
    factor, df = squares / total, total**2 / squares
    return WeightedChiSquare(statistic, factor, df, float(chdtrc(df, max(statistic, 0.0) / factor)), weights)


def conditional_penalty(information: ndarray, covariance: ndarray) -> float:
    """Optimism tr(I_c V) of the conditional log-likelihood of a generative fit.

    The conditional AIC is -2 llf_conditional + 2 tr(I_c V), with V the covariance of the implied coefficients and I_c
    the information of the conditional model, in the same coordinates.
    """
    return float(np.einsum("ij,ji->", information, covariance))
