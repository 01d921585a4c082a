"""Tests of equal means of Gaussian classes: of all features, and of some given the others.

Everything is a function of the moments by class. Scatter matrices enter through their triangular factors, and the
eigenvalues of W^-1 B are squared singular values of the whitened class means, so that tiny and huge ones keep digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from glmclf.core.gaussian.moments import ClassMoments
from glmclf.core.numerics.triangular import qr_factor, times_inverse
from glmclf.core.rows.asked import under_usual_errors
from glmclf.inference.generative.covariances import class_roots, log_determinant, scatter_root
from glmclf.inference.hypotheses.records import ChiSquareTest, FTest, chi_square_test, f_test


def _inverse_rows(R: ndarray, J: ndarray) -> ndarray:
    """Rows J of R^-1, so that rows times their transpose are the block (J, J) of (R'R)^-1."""
    return times_inverse(np.eye(len(R))[J], R)


@dataclass(frozen=True)
class WhitenedMeans:
    """Class means in coordinates in which the scatter within classes is I.

    Attributes
    ----------
    moments : ClassMoments
    root : (p, p) ndarray
        Upper triangular R, R'R = W.
    singular : (min(K, p),) ndarray
        Singular values of G, the rows sqrt(n_k) (m_k - m) R^-1: G = U diag(singular) V'.
    V : (p, p) ndarray
        Right singular vectors: W^-1 B = R^-1 V diag(singular^2) V' R.
    """

    moments: ClassMoments
    root: ndarray
    singular: ndarray
    V: ndarray

    @property
    def s(self) -> int:
        """Eigenvalues of W^-1 B that need not be zero, min(p, K - 1)."""
        return min(self.moments.p, self.moments.K - 1)

    @property
    def eigenvalues(self) -> ndarray:
        """The s eigenvalues of W^-1 B, largest first."""
        return self.singular[: self.s] ** 2

    @property
    def df(self) -> float:
        """Degrees of freedom within classes, N - K."""
        return self.moments.n - self.moments.K


def whitened_means(
    moments: ClassMoments, root: ndarray | None = None, what: str = "The comparison of means is"
) -> WhitenedMeans:
    """The whitened class means, which all tests of means share.

    Parameters
    ----------
    moments : ClassMoments
    root : (p, p) ndarray, optional
        Upper triangular R with R'R = W, where a more accurate factor than that of W itself is known.

    Raises
    ------
    EstimationError
        N - K < p, or W is singular.
    """
    if root is None:
        root = scatter_root(moments.within, moments.n - moments.K, what)
    D = np.sqrt(moments.counts)[:, None] * (moments.means - moments.mean)
    G = times_inverse(D, root)
    _, singular, Vt = np.linalg.svd(G, full_matrices=True)
    return WhitenedMeans(moments, root, singular, Vt.T)


@under_usual_errors
@dataclass(frozen=True)
class Manova:
    """Tests of equal class means.

    Attributes
    ----------
    eigenvalues : (s,) ndarray
        Of W^-1 B, largest first.
    wilks, pillai, hotelling_lawley, roy : FTest
        F is exact where s = 1; Roy's is an upper bound, its p-value a lower bound.
    bartlett : ChiSquareTest
        Bartlett's approximation of Wilks' lambda.
    """

    eigenvalues: ndarray
    wilks: FTest
    pillai: FTest
    hotelling_lawley: FTest
    roy: FTest
    bartlett: ChiSquareTest

    @property
    def tests(self) -> dict[str, FTest]:
        """The four F tests by name."""
        names = ("wilks", "pillai", "hotelling_lawley", "roy")
        return {name: getattr(self, name) for name in names}


def manova(moments: ClassMoments, root: ndarray | None = None) -> Manova:
    """Wilks' lambda, Pillai's and Hotelling-Lawley's traces and Roy's largest root of W^-1 B.

    Parameters
    ----------
    moments : ClassMoments
    root : (p, p) ndarray, optional
        Factor of W (see `whitened_means`).

    Returns
    -------
    Manova

    Raises
    ------
    EstimationError
        N - K < p, or W is singular.

    References
    ----------
    Rao (1951); Pillai (1955); Anderson (2003), An Introduction to Multivariate Statistical Analysis, chapter 8.

    Examples
    --------
    >>> import numpy as np
    >>> W = np.array([[10.0, 2.0], [2.0, 5.0]])
    >>> m = ClassMoments(np.array([6.0, 6.0]), np.array([[0.0, 1.0], [2.0, 0.0]]), W)
    >>> [round(float(v), 4) for v in manova(m).wilks]
    [0.2875, 11.1522, 2.0, 9.0, 0.0037]
    """
    sep = whitened_means(moments, root, "The multivariate analysis of variance is")
    p, K = moments.p, moments.K
    eigenvalues, q, v = sep.eigenvalues, K - 1, sep.df
    log_lambda = -float(np.log1p(eigenvalues).sum())
    factor = moments.n - 1 - (p + K) / 2
    return Manova(
        eigenvalues,
        wilks(log_lambda, p, q, v),
        _pillai(eigenvalues, p, q, v),
        _hotelling_lawley(eigenvalues, p, q, v),
        _roy(eigenvalues, p, q, v),
        chi_square_test(-factor * log_lambda, p * q),
    )


def wilks(log_lambda: float, p: int, q: int, v: float) -> FTest:
    """Wilks' lambda of p features and q contrasts, v degrees of freedom within: Rao's F (exact if p or q is 1 or 2)."""
    t = math.sqrt((p * p * q * q - 4) / (p * p + q * q - 5)) if p * p + q * q > 5 else 1.0
    df1, df2 = p * q, t * (v + q - (p + q + 1) / 2) - (p * q - 2) / 2
    # beyond exp(700) the ratio of two scatters has no float
    ratio = math.expm1(-log_lambda / t) if -log_lambda / t < 700 else math.inf
    return f_test(math.exp(log_lambda), ratio * df2 / df1, df1, df2)


def _pillai(eigenvalues: ndarray, p: int, q: int, v: float) -> FTest:
    s, a, b = min(p, q), (abs(q - p) - 1) / 2, (v - p - 1) / 2
    V = float((eigenvalues / (1 + eigenvalues)).sum())
    df1, df2 = s * (2 * a + s + 1), s * (2 * b + s + 1)
    # s - V without its cancellation
    return f_test(V, V * df2 / (float((1 / (1 + eigenvalues)).sum()) * df1), df1, df2)


def _hotelling_lawley(eigenvalues: ndarray, p: int, q: int, v: float) -> FTest:
    s, a, b = min(p, q), (abs(q - p) - 1) / 2, (v - p - 1) / 2
    U = float(eigenvalues.sum())
    df1, df2 = s * (2 * a + s + 1), 2 * (s * b + 1)
    return f_test(U, df2 * U / (s * df1), df1, df2)


def _roy(eigenvalues: ndarray, p: int, q: int, v: float) -> FTest:
    largest = float(eigenvalues[0])
    df1 = max(p, q)
    df2 = v - df1 + q
    return f_test(largest, largest * df2 / df1, df1, df2)


# ----------------------------------------------------------------------------------------------- sets of features
@under_usual_errors
@dataclass(frozen=True)
class FeatureTest:
    """Test of whether features J separate the classes when the other features are given.

    Attributes
    ----------
    partial_lambda : float
        |(T^-1)_JJ| / |(W^-1)_JJ|, in (0, 1]: 1 means that J adds nothing.
    log_lambda : float
        Its logarithm, which does not underflow.
    eigenvalues : ndarray
        Eigenvalues whose product of 1/(1 + value) is the partial lambda.
    f_to_remove : FTest
        Rao's F with partial lambda as its statistic, with p replaced by r, N - K by N - K - (p - r); exact if J is one
        feature, or two, or K <= 3. For one feature it is (1 - lambda)/lambda (N - K - p + 1)/(K - 1), for two classes
        the squared t of the feature in the least-squares regression of the class indicator.
    lr : ChiSquareTest
        Likelihood ratio in LDA, -N log(partial lambda), df r (K - 1).
    """

    partial_lambda: float
    log_lambda: float
    eigenvalues: ndarray
    f_to_remove: FTest
    lr: ChiSquareTest


def feature_tests(
    moments: ClassMoments, sets: Sequence[Sequence[int]] | None = None, root: ndarray | None = None
) -> list[FeatureTest]:
    """Tests of sets of features given all others, one after the other.

    Parameters
    ----------
    moments : ClassMoments
    sets : sequence of sequences of int, optional
        Columns of each set; by default each feature alone.
    root : (p, p) ndarray, optional
        Factor of W (see `whitened_means`).

    Returns
    -------
    list of FeatureTest

    Raises
    ------
    EstimationError
        N - K < p, or W is singular.

    References
    ----------
    Rao (1951); McLachlan (1992), Discriminant Analysis and Statistical Pattern Recognition, section 6.6.
    """
    sep = whitened_means(moments, root, "The test of a feature is")
    return [_feature_test(sep, _columns(J, moments.p)) for J in sets or [[j] for j in range(moments.p)]]


def _columns(J: Sequence[int], p: int) -> ndarray:
    """A set of columns as sorted positions."""
    found = np.unique(np.asarray(J, dtype=np.intp))
    if not len(found) or found[0] < 0 or found[-1] >= p:
        raise ValueError(f"columns {list(J)} are not among 0, ..., {p - 1}")
    return found


def _partial_eigenvalues(sep: WhitenedMeans, J: ndarray) -> ndarray:
    """Eigenvalues of (T^-1)_JJ^-1 ((W^-1)_JJ - (T^-1)_JJ), as squared singular values.

    W^-1 - T^-1 = C C' with C = R^-1 V diag(s / sqrt(1 + s^2)), so that nothing cancels.
    """
    rows = _inverse_rows(sep.root, J) @ sep.V
    r, s = len(J), sep.singular[: sep.s]
    C = rows[:, : len(s)] * (s / np.hypot(1.0, s))
    return np.linalg.svd(times_inverse(C.T, _total_root(sep, rows)).T, compute_uv=False)[: min(r, sep.s)] ** 2


def _total_root(sep: WhitenedMeans, rows: ndarray) -> ndarray:
    """U with U'U = (T^-1)_JJ, from the rows J of R^-1 V."""
    shrink = np.ones(rows.shape[1])
    shrink[: sep.s] = 1 / np.hypot(1.0, sep.singular[: sep.s])
    return qr_factor((rows * shrink).T)


def _feature_test(sep: WhitenedMeans, J: ndarray) -> FeatureTest:
    eigenvalues = _partial_eigenvalues(sep, J)
    log_lambda = -float(np.log1p(eigenvalues).sum())
    r, q, p = len(J), sep.moments.K - 1, sep.moments.p
    F = wilks(log_lambda, r, q, sep.df - (p - r))
    lr = chi_square_test(-sep.moments.n * log_lambda, r * q)
    return FeatureTest(math.exp(log_lambda), log_lambda, eigenvalues, F, lr)


def qda_feature_tests(
    moments: ClassMoments,
    sets: Sequence[Sequence[int]] | None = None,
    root: ndarray | None = None,
    roots: Sequence[ndarray] | None = None,
) -> list[ChiSquareTest]:
    """Likelihood ratios in QDA of "features J, given the rest, have one law in all classes".

    sum n_k log|(Omega_k)_JJ| - N log|(Omega_T)_JJ|, Omega_k = (S_k/n_k)^-1, Omega_T = (T/N)^-1, with
    (K - 1)(r (p - r + 1) + r (r + 1)/2) degrees of freedom for r features.

    Parameters
    ----------
    moments : ClassMoments
    sets : sequence of sequences of int, optional
        Columns of each set; by default each feature alone.
    root, roots : ndarray(s), optional
        Factors of W and of each S_k (see `whitened_means`).

    Returns
    -------
    list of ChiSquareTest

    Raises
    ------
    EstimationError
        A class has fewer rows than p + 1, or a singular scatter.
    """
    roots = class_roots(moments, "The test of a feature is", roots)
    sep = whitened_means(moments, root, "The test of a feature is")
    sets = sets or [[j] for j in range(moments.p)]
    return [_qda_feature_test(sep, roots, _columns(J, moments.p)) for J in sets]


def _qda_feature_test(sep: WhitenedMeans, roots: Sequence[ndarray], J: ndarray) -> ChiSquareTest:
    moments, r, p = sep.moments, len(J), sep.moments.p
    statistic = 0.0
    for n, R in zip(moments.counts, roots, strict=True):
        statistic += n * (r * math.log(n) + log_determinant(qr_factor(_inverse_rows(R, J).T)))
    total = _total_root(sep, _inverse_rows(sep.root, J) @ sep.V)
    statistic -= moments.n * (r * math.log(moments.n) + log_determinant(total))
    return chi_square_test(statistic, (moments.K - 1) * (r * (p - r + 1) + r * (r + 1) // 2))


def tolerances(moments: ClassMoments, root: ndarray | None = None) -> ndarray:
    """1 - R^2 of each feature on the others within classes, 1/(W_jj (W^-1)_jj), (p,) in (0, 1]."""
    if root is None:
        root = scatter_root(moments.within, moments.n - moments.K, "The tolerance of a feature is")
    rows = _inverse_rows(root, np.arange(len(root)))
    return 1.0 / ((root**2).sum(axis=0) * (rows**2).sum(axis=1))
