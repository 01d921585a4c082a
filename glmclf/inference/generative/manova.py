"""Tests that compare classes of Gaussian features: equal covariances, equal means, one set of features given the rest.

Everything is a function of the moments by class. Scatter matrices enter through their triangular factors, and the
eigenvalues of W^-1 B are squared singular values of the whitened class means, so that tiny and huge ones keep digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy import ndarray
from scipy.linalg import qr, solve_triangular
from scipy.special import chdtrc, fdtrc, ndtr

from glmclf.core.gaussian.moments import ClassMoments
from glmclf.core.rows.blocks import Blocks
from glmclf.errors import EstimationError

SINGULAR = 1e-6  # a pivot this small in the factor of a scaled scatter matrix is rounding


class FTest(NamedTuple):
    """A statistic, its F form, degrees of freedom and p-value (NaN where the approximation does not exist)."""

    statistic: float
    F: float
    df1: float
    df2: float
    pvalue: float


class ChiSquareTest(NamedTuple):
    """A statistic that is chi-squared with `df` degrees of freedom, and its p-value."""

    statistic: float
    df: float
    pvalue: float


def _chi_square(statistic: float, df: float) -> ChiSquareTest:
    return ChiSquareTest(float(statistic), df, float(chdtrc(df, max(statistic, 0.0))))


def _f_test(statistic: float, F: float, df1: float, df2: float) -> FTest:
    if not df2 > 0:
        return FTest(float(statistic), math.nan, df1, df2, math.nan)
    return FTest(float(statistic), float(F), df1, df2, float(fdtrc(df1, df2, max(F, 0.0))))


# ---------------------------------------------------------------------------------------------------- factors


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
    if not np.diagonal(R).min() > SINGULAR:
        raise EstimationError(f"{what} not defined: a feature is constant within classes or a combination of others")
    return R * scale


def _class_roots(moments: ClassMoments, what: str, roots: Sequence[ndarray] | None = None) -> list[ndarray]:
    """Factors of every class's own scatter."""
    if roots is not None:
        return list(roots)
    if moments.scatter.ndim == 2:
        raise EstimationError(f"{what} needs the scatter of each class: the moments hold the pooled one only")
    return [scatter_root(S, n - 1, what) for S, n in zip(moments.scatter, moments.counts, strict=True)]


def _logdet(R: ndarray) -> float:
    """log |R'R| of a triangular R."""
    return 2.0 * float(np.log(np.abs(np.diagonal(R))).sum())


def _triangle(A: ndarray) -> ndarray:
    """R of A = Q R."""
    return qr(A, mode="r", check_finite=False)[0][: A.shape[1]]


def _inverse_rows(R: ndarray, J: ndarray) -> ndarray:
    """Rows J of R^-1, so that rows times their transpose are the block (J, J) of (R'R)^-1."""
    return solve_triangular(R, np.eye(len(R))[:, J], trans="T").T


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
    G = solve_triangular(root, D.T, trans="T").T
    _, singular, Vt = np.linalg.svd(G, full_matrices=True)
    return WhitenedMeans(moments, root, singular, Vt.T)


# ---------------------------------------------------------------------------------------------------- covariances


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
    roots = _class_roots(moments, "Box's M is", roots)
    root = scatter_root(moments.within, moments.n - moments.K, "Box's M is") if root is None else root
    p, nu, nus = moments.p, moments.n - moments.K, moments.counts - 1.0
    pooled = nu * (_logdet(root) - p * math.log(nu))
    M = pooled - sum(v * (_logdet(R) - p * math.log(v)) for v, R in zip(nus, roots, strict=True))
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
    p_chi2, p_F = float(chdtrc(f1, max(chi2, 0.0))), float(_f_tail(f1, f2, F))
    return BoxM(M, c1, chi2, f1, p_chi2, float(F), f2, p_F)


def _f_tail(df1: float, df2: float, F: float) -> float:
    """P(F(df1, df2) > F), with df2 = inf and F = inf."""
    F = max(F, 0.0)
    if math.isinf(F):
        return 0.0
    return chdtrc(df1, df1 * F) if math.isinf(df2) else fdtrc(df1, df2, F)


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
    roots = _class_roots(moments, what, roots)
    root = scatter_root(moments.within, moments.n - moments.K, what) if root is None else root
    p, N = moments.p, moments.n
    pooled = N * (_logdet(root) - p * math.log(N))
    own = sum(n * (_logdet(R) - p * math.log(n)) for n, R in zip(moments.counts, roots, strict=True))
    return _chi_square(pooled - own, p * (p + 1) * (moments.K - 1) // 2)


# ---------------------------------------------------------------------------------------------------- means


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
        _chi_square(-factor * log_lambda, p * q),
    )


def wilks(log_lambda: float, p: int, q: int, v: float) -> FTest:
    """Wilks' lambda of p features and q contrasts, v degrees of freedom within: Rao's F (exact if p or q is 1 or 2)."""
    t = math.sqrt((p * p * q * q - 4) / (p * p + q * q - 5)) if p * p + q * q > 5 else 1.0
    df1, df2 = p * q, t * (v + q - (p + q + 1) / 2) - (p * q - 2) / 2
    # beyond exp(700) the ratio of two scatters has no float
    ratio = math.expm1(-log_lambda / t) if -log_lambda / t < 700 else math.inf
    return _f_test(math.exp(log_lambda), ratio * df2 / df1, df1, df2)


def _pillai(eigenvalues: ndarray, p: int, q: int, v: float) -> FTest:
    s, a, b = min(p, q), (abs(q - p) - 1) / 2, (v - p - 1) / 2
    V = float((eigenvalues / (1 + eigenvalues)).sum())
    df1, df2 = s * (2 * a + s + 1), s * (2 * b + s + 1)
    # s - V without its cancellation
    return _f_test(V, V * df2 / (float((1 / (1 + eigenvalues)).sum()) * df1), df1, df2)


def _hotelling_lawley(eigenvalues: ndarray, p: int, q: int, v: float) -> FTest:
    s, a, b = min(p, q), (abs(q - p) - 1) / 2, (v - p - 1) / 2
    U = float(eigenvalues.sum())
    df1, df2 = s * (2 * a + s + 1), 2 * (s * b + 1)
    return _f_test(U, df2 * U / (s * df1), df1, df2)


def _roy(eigenvalues: ndarray, p: int, q: int, v: float) -> FTest:
    largest = float(eigenvalues[0])
    df1 = max(p, q)
    df2 = v - df1 + q
    return _f_test(largest, largest * df2 / df1, df1, df2)


# ---------------------------------------------------------------------------------------------------- features


@dataclass(frozen=True)
class FeatureTest:
    """Do features J separate the classes when the other features are given?

    Attributes
    ----------
    partial_lambda : float
        |(T^-1)_JJ| / |(W^-1)_JJ|, in (0, 1]: 1 means that J adds nothing.
    log_lambda : float
        Its logarithm, which does not underflow.
    eigenvalues : ndarray
        Eigenvalues whose product of 1/(1 + value) is the partial lambda.
    f_to_remove : FTest
        Rao's F with partial lambda as its statistic; exact if J is one feature, or two, or K <= 3.
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
    return np.linalg.svd(solve_triangular(_total_root(sep, rows), C, trans="T"), compute_uv=False)[: min(r, sep.s)] ** 2


def _total_root(sep: WhitenedMeans, rows: ndarray) -> ndarray:
    """U with U'U = (T^-1)_JJ, from the rows J of R^-1 V."""
    shrink = np.ones(rows.shape[1])
    shrink[: sep.s] = 1 / np.hypot(1.0, sep.singular[: sep.s])
    return _triangle((rows * shrink).T)


def _feature_test(sep: WhitenedMeans, J: ndarray) -> FeatureTest:
    eigenvalues = _partial_eigenvalues(sep, J)
    log_lambda = -float(np.log1p(eigenvalues).sum())
    r, q, p = len(J), sep.moments.K - 1, sep.moments.p
    F = wilks(log_lambda, r, q, sep.df - (p - r))
    lr = _chi_square(-sep.moments.n * log_lambda, r * q)
    return FeatureTest(math.exp(log_lambda), log_lambda, eigenvalues, F, lr)


def partial_lambda(moments: ClassMoments, J: Sequence[int], root: ndarray | None = None) -> float:
    """Partial Wilks lambda of columns J given the others, |(T^-1)_JJ| / |(W^-1)_JJ| in (0, 1]."""
    return feature_tests(moments, [J], root)[0].partial_lambda


def f_to_remove(moments: ClassMoments, J: Sequence[int], root: ndarray | None = None) -> FTest:
    """F test of columns J given the others: Rao's form with p replaced by r, N - K by N - K - (p - r).

    For one column exactly (1 - lambda)/lambda (N - K - p + 1)/(K - 1); for two classes that is the squared t of the
    column in the least-squares regression of the class indicator.
    """
    return feature_tests(moments, [J], root)[0].f_to_remove


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
    roots = _class_roots(moments, "The test of a feature is", roots)
    sep = whitened_means(moments, root, "The test of a feature is")
    sets = sets or [[j] for j in range(moments.p)]
    return [_qda_feature_test(sep, roots, _columns(J, moments.p)) for J in sets]


def _qda_feature_test(sep: WhitenedMeans, roots: Sequence[ndarray], J: ndarray) -> ChiSquareTest:
    moments, r, p = sep.moments, len(J), sep.moments.p
    statistic = 0.0
    for n, R in zip(moments.counts, roots, strict=True):
        statistic += n * (r * math.log(n) + _logdet(_triangle(_inverse_rows(R, J).T)))
    total = _total_root(sep, _inverse_rows(sep.root, J) @ sep.V)
    statistic -= moments.n * (r * math.log(moments.n) + _logdet(total))
    return _chi_square(statistic, (moments.K - 1) * (r * (p - r + 1) + r * (r + 1) // 2))


def tolerances(moments: ClassMoments, root: ndarray | None = None) -> ndarray:
    """1 - R^2 of each feature on the others within classes, 1/(W_jj (W^-1)_jj), (p,) in (0, 1]."""
    if root is None:
        root = scatter_root(moments.within, moments.n - moments.K, "The tolerance of a feature is")
    rows = _inverse_rows(root, np.arange(len(root)))
    return 1.0 / ((root**2).sum(axis=0) * (rows**2).sum(axis=1))


# ---------------------------------------------------------------------------------------------------- canonical


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


def canonical(moments: ClassMoments, root: ndarray | None = None) -> Canonical:
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
    """Bartlett's tests of the functions after the first r."""
    p, K = sep.moments.p, sep.moments.K
    factor = sep.moments.n - 1 - (p + K) / 2
    terms = np.log1p(sep.eigenvalues)
    return tuple(_chi_square(factor * float(terms[r:].sum()), (p - r) * (K - 1 - r)) for r in range(sep.s))


# ---------------------------------------------------------------------------------------------------- normality


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
        factors = [R / math.sqrt(n) for R, n in zip(_class_roots(moments, what, roots), sizes, strict=True)]

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
        return solve_triangular(factors[0], Z.T, trans="T", check_finite=False).T
    for k in np.unique(y):
        rows = y == k
        Z[rows] = solve_triangular(factors[k], Z[rows].T, trans="T", check_finite=False).T
    return Z


def _high_moments(Z: ndarray, w: ndarray | None) -> ndarray:
    """Sums of z_a z_b z_c for a <= b and a <= c, followed by the sum of |z|^4."""
    weighted = Z if w is None else Z * w[:, None]
    square = (Z**2).sum(axis=1)
    third = [((weighted[:, a:] * Z[:, [a]]).T @ Z[:, a:]).ravel() for a in range(Z.shape[1])]
    fourth = (square**2).sum() if w is None else w @ square**2
    return np.concatenate([*third, [fourth]])


def _mardia_tests(averages: ndarray, p: int, sizes: ndarray) -> Mardia:
    """From moments (g, m) of the groups that were whitened together, of these sizes."""
    N, df = float(sizes.sum()), len(sizes) * (p * (p + 1) * (p + 2) // 6)
    skewness = np.array([_skewness(row, p) for row in averages])
    b1, b2 = float(sizes @ skewness / N), float(sizes @ averages[:, -1] / N)
    factor = (p + 1) * (sizes + 1) * (sizes + 3) / (sizes * ((sizes + 1) * (p + 1) - 6))
    z = (b2 - p * (p + 2)) / math.sqrt(8 * p * (p + 2) / N)
    skew, small = _chi_square(N * b1 / 6, df), _chi_square(float((factor * sizes) @ skewness) / 6, df)
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
