"""Exponential families of naive Bayes: one feature given the class, h(x) exp(eta'T(x) - A(eta)).

A `Family` says how a feature is counted: additive statistics by class, from blocks of rows. Its `fit` gives a
`Fitted`: estimates, densities, and the covariance of (-A, eta), from which everything else follows. With tau = E T,
V_T = Var T at the estimate and n rows, for the matrix J(tau) = [-tau, I]:

    cov(-A, eta) = J'V_T^-1 J / n;   influence (N/n) J'V_T^-1 (T - tau);   var log f(x) = (T-tau)'V_T^-1 (T-tau) / n.

Shapes: n rows, K classes, p features of one family (1 but for `GaussianFamily`, which takes many as one matrix), m the
width of T. Missing values are NaN (codes: -1) and count in no sum; their log density is 0.

References
----------
Barndorff-Nielsen (1978), Information and Exponential Families; Chan, Golub & LeVeque (1983), Am. Stat. 37.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy import ndarray
from numpy.random import Generator
from scipy.special import gammaln

from glmclf.core.numerics import special as gammas
from glmclf.core.numerics.double_double import two_sum
from glmclf.core.rows.summed import Summed

MAX_CLASSES_FOR_DENSE = 16  # classes up to which a dense indicator is the fastest way to sum by class


class Violation(NamedTuple):
    """Rows whose value a family cannot have, and the words for what is wrong with it."""

    rows: ndarray
    reason: str


class Defect(NamedTuple):
    """A feature (position) without an estimate; `klass` is None where all classes together have none."""

    reason: str
    feature: int
    klass: int | None


class ZeroCell(NamedTuple):
    """A probability (or rate) estimated as 0, whose log is -inf; `level` is None where there are no levels."""

    feature: int
    level: int | None
    klass: int


class Estimates(NamedTuple):
    """Parameters of one kind, in natural units: `value` and `se` are (K, p), or (1, p) if shared by the classes."""

    name: str
    level: int | None
    value: ndarray
    se: ndarray


@dataclass(frozen=True)
class ClassSums(Summed):
    """Rows, sums of T and of log h(x), by class: the statistics that most families need.

    Attributes
    ----------
    n : (K,) ndarray
        Weight of the rows observed.
    sums : (K, m) ndarray
    base : (K,) ndarray
    """

    n: ndarray
    sums: ndarray
    base: ndarray

    def together(self) -> ClassSums:
        """Statistics of all classes as one."""
        return ClassSums(*(a.sum(axis=0, keepdims=True) for a in (self.n, self.sums, self.base)))


class _ByColumn:
    """Statistics that are arrays (K, p), of many features."""

    def column(self, j: int) -> Self:
        """Statistics of feature j alone."""
        return type(self)(*(getattr(self, f.name)[:, j : j + 1] for f in fields(self)))  # type: ignore[arg-type]

    def beside(self, other: Self) -> Self:
        """Statistics of the features of both, side by side."""
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))  # type: ignore[arg-type]
        return type(self)(*(np.concatenate(pair, axis=-1) for pair in pairs))


@dataclass(frozen=True)
class SparseSums(_ByColumn, Summed):
    """Rows, sums of T and of log h(x), by class and feature.

    Attributes
    ----------
    n, sums, base : (K, p) ndarrays
    """

    n: ndarray
    sums: ndarray
    base: ndarray

    def together(self) -> SparseSums:
        """Statistics of all classes as one."""
        return SparseSums(*(a.sum(axis=0, keepdims=True) for a in (self.n, self.sums, self.base)))


@dataclass(frozen=True)
class ClassSquares(_ByColumn):
    """Rows, mean and sum of squares about the mean, by class. `+` merges by Chan, Golub & LeVeque's formula.

    Attributes
    ----------
    n, mean, squares : (K, p) ndarrays
    rest : (K, p) ndarray
        What rounding left of the means: a mean is the sum of both. By default 0.
    """

    n: ndarray
    mean: ndarray
    squares: ndarray
    rest: ndarray = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.rest is None:
            object.__setattr__(self, "rest", np.zeros_like(self.mean))

    def __add__(self, other: ClassSquares) -> ClassSquares:
        n = self.n + other.n
        share = ratio(other.n, n)
        both, none = (self.n > 0) & (other.n > 0), self.n == 0
        delta = np.where(both, (other.mean - self.mean) + (other.rest - self.rest), 0.0)
        mean, rest = np.where(none, other.mean, self.mean), np.where(none, other.rest, self.rest)
        mean, off = two_sum(mean, delta * share)
        mean, rest = two_sum(mean, off + rest)
        squares = self.squares + other.squares + delta * delta * self.n * share
        return ClassSquares(n, mean, squares, rest)

    def together(self) -> ClassSquares:
        """Statistics of all classes as one."""
        n = self.n.sum(axis=0)
        shares = ratio(self.n, n)
        mean = (shares * self.mean).sum(axis=0)
        mean, rest = two_sum(mean, (shares * (self.mean - mean + self.rest)).sum(axis=0))
        squares = (self.squares + self.n * (self.mean - mean + (self.rest - rest)) ** 2).sum(axis=0)
        return ClassSquares(n[None], mean[None], squares[None], rest[None])


@dataclass(frozen=True)
class ClassLogs:
    """Rows, mean and n (log(mean x) - mean(log x)), by class; `+` merges without cancellation.

    Attributes
    ----------
    n, mean, excess : (K,) ndarrays
    """

    n: ndarray
    mean: ndarray
    excess: ndarray

    def __add__(self, other: ClassLogs) -> ClassLogs:
        both = ClassLogs(*(np.stack(pair) for pair in zip(_arrays(self), _arrays(other))))
        return both._merged()

    def together(self) -> ClassLogs:
        """Statistics of all classes as one."""
        merged = self._merged()
        return ClassLogs(*(a[None] for a in _arrays(merged)))

    def _merged(self) -> ClassLogs:
        n = self.n.sum(axis=0)
        mean = (ratio(self.n, n) * self.mean).sum(axis=0)
        excess = gammas.log_excess(self.mean, mean)
        between = np.multiply(-self.n, excess, out=np.zeros_like(excess), where=self.n > 0)
        return ClassLogs(n, mean, (self.excess + between).sum(axis=0))


Statistics = ClassSums | SparseSums | ClassSquares | ClassLogs


def _arrays(logs: ClassLogs) -> tuple[ndarray, ndarray, ndarray]:
    return logs.n, logs.mean, logs.excess


def ratio(part: ndarray, whole: ndarray) -> ndarray:
    """Ratio part / whole, 0 where both are 0."""
    return np.divide(part, whole, out=np.zeros(np.broadcast_shapes(part.shape, whole.shape)), where=whole > 0)


def is_sparse(values: Any) -> bool:
    """Whether values are a scipy.sparse array."""
    return hasattr(values, "tocsr")


def log_factorials(X: Any) -> tuple[ndarray, ndarray, ndarray]:
    """log x! of the entries of a csr array that are above 1, whose it is not 0, with their rows and columns."""
    entry = np.flatnonzero(X.data > 1)
    rows = np.searchsorted(X.indptr, entry, side="right") - 1
    return gammaln(X.data[entry].astype(float) + 1), rows, X.indices[entry]


def log_factorials_of_rows(X: Any) -> ndarray:
    """Sum of log x! over each row of a csr array, (n,)."""
    values, rows, _ = log_factorials(X)
    return np.bincount(rows, values, minlength=X.shape[0])


def rows_of(X: Any, entries: ndarray) -> ndarray:
    """Rows that have some of the entries of a csr array (a mask)."""
    return np.unique(np.searchsorted(X.indptr, np.flatnonzero(entries), side="right") - 1)


def written_out(values: Any) -> Any:
    """A block of rows as an array, for what has a number for each row and column."""
    return values.toarray() if is_sparse(values) else values


def observed_rows(x: ndarray, y: ndarray, w: ndarray | None) -> tuple[ndarray, ndarray, ndarray | None]:
    """The rows without a missing value, as float64."""
    x = np.asarray(x, dtype=float)
    seen = ~np.isnan(x) if x.ndim == 1 else ~np.isnan(x).any(axis=1)
    if seen.all():
        return x, y, w
    return x[seen], y[seen], None if w is None else w[seen]


def class_total(y: ndarray, x: ndarray | None, w: ndarray | None, K: int) -> ndarray:
    """Weighted sum of x (of 1, if None) by class."""
    terms = w if x is None else x if w is None else w * x
    return np.bincount(y, terms, minlength=K).astype(float)


def indicator(y: ndarray, w: ndarray | None, K: int) -> Any:
    """The (K, n) matrix whose product with X holds the weighted sums of X by class: dense where that is faster."""
    n = len(y)
    if K > MAX_CLASSES_FOR_DENSE:
        from scipy.sparse import csr_array

        return csr_array((np.ones(n) if w is None else w, y, np.arange(n + 1)), shape=(n, K)).T
    ones = (y == np.arange(K, dtype=y.dtype)[:, None]).astype(float)
    return ones if w is None else ones * w


class Family:
    """Distribution of one feature given the class; the concrete families are small frozen dataclasses.

    Attributes
    ----------
    name : str
    p : int
        Features: 1, but for families `by_column`.
    width : int
        Length m of T.
    free : int
        Parameters a class and feature.
    kind : type
        Its statistics.
    by_column : bool
        Whether values are (n, p) matrices of p features.
    """

    name: str
    p: int = 1
    width: int = 1
    free: int = 1
    kind: ClassVar[Any] = ClassSums
    by_column: ClassVar[bool] = False

    def statistics(self, values: ndarray, y: ndarray, w: ndarray | None, K: int) -> Any:
        """Additive statistics of a block of rows, by class.

        Parameters
        ----------
        values : (n,), (n, p) or (n, L) ndarray
            The feature(s), NaN (codes: -1) where missing.
        y : (n,) integer ndarray
            Class, 0..K-1.
        w : (n,) ndarray or None
            Weights.
        """
        raise NotImplementedError

    def fit(self, statistics: Any, smoothing: float = 0.0) -> Fitted:
        """Estimates of every class; `smoothing` is Dirichlet pseudo-counts and concerns tables and multinomials."""
        raise NotImplementedError

    def defects(self, statistics: Any, smoothing: float = 0.0) -> list[Defect]:
        """Features without an estimate in some class."""
        n = np.asarray(statistics.n)
        return [Defect("no observed value in a class", 0, int(k)) for k in np.flatnonzero(n == 0)]

    def violations(self, values: ndarray) -> list[Violation]:
        """Rows outside the domain of the family."""
        raise NotImplementedError

    @property
    def mle(self) -> Family:
        """The family whose estimates maximise the likelihood, where this one's divide by degrees of freedom."""
        return self

    def seen_levels(self, statistics: Any) -> ndarray | None:
        """Mask of the levels that some row has, of whatever class, (p, L); None of families without levels."""
        return None

    def k_params(self, K: int) -> int:
        """Number of parameters of all features in K classes; K = 1 is the null model."""
        return K * self.p * self.free


@dataclass(frozen=True)
class Fitted:
    """A family's estimates in K classes. Subclasses give natural parameters, densities and covariances.

    Attributes
    ----------
    family : Family
    n : (K, p) ndarray
        The n of the covariances: rows observed, plus pseudo-counts.
    """

    family: Any
    n: ndarray

    @property
    def K(self) -> int:
        return len(self.n)

    # what every family says

    def natural(self) -> tuple[ndarray, ndarray]:
        """Natural parameters: -A (K, p) and eta (K, p, m)."""
        raise NotImplementedError

    def statistic(self, values: ndarray) -> ndarray:
        """Sufficient statistic T of rows, (n, p, m), NaN where missing."""
        raise NotImplementedError

    def log_density(self, values: ndarray) -> ndarray:
        """Log density log f(x) summed over the features observed, (n, K)."""
        raise NotImplementedError

    def loglik(self, statistics: Any) -> ndarray:
        """Log-likelihood of the rows behind `statistics`, (K, p), at these estimates."""
        raise NotImplementedError

    def class_covariance(self, chosen: ndarray | None = None) -> ndarray:
        """Covariance of (-A, eta) of each class, (K, p, 1+m, 1+m); NaN for infinite estimates.

        Of a family of one feature, `chosen` (c,) picks some of eta: then (K, 1, 1+c, 1+c).
        """
        return _picked(self._class_covariance(), chosen)

    def _class_covariance(self) -> ndarray:
        raise NotImplementedError

    def score_variance(self, values: ndarray) -> ndarray:
        """Variance of the estimated log f(x), (n, K); without the part that `shared_scores` holds."""
        raise NotImplementedError

    def influence(self, values: ndarray, y: ndarray) -> ndarray:
        """n/N times the influence of each row on (-A, eta) of its class, (n, p, 1+m); 0 where missing."""
        raise NotImplementedError

    def estimates(self) -> list[Estimates]:
        """Estimates of the usual parameters, with standard errors."""
        raise NotImplementedError

    def sample(self, rng: Generator, k: int, size: int) -> ndarray:
        """Draws from class k."""
        raise NotImplementedError

    # what most families share

    def contrasts(self) -> tuple[ndarray, ndarray]:
        """Class k minus class 0, k = 1..K-1: -A (K-1, p) and eta (K-1, p, m)."""
        with np.errstate(invalid="ignore"):  # two infinite estimates have no difference
            parts, eta = self.natural()
            return parts[1:] - parts[0], eta[1:] - eta[0]

    def variances(self) -> ndarray:
        """Diagonals of `class_covariance`, (K, p, 1+m)."""
        return np.diagonal(self.class_covariance(), axis1=-2, axis2=-1)

    def shared_loadings(self) -> ndarray | None:
        """Rank-one part common to the equations: loadings (K-1, p, 1+m) of the contrasts, or None."""
        return None

    def shared_scores(self, values: ndarray) -> ndarray | None:
        """Loadings of log f_k(x) - log f_0(x) on what the classes share, (n, K-1, p), or None."""
        return None

    def shared_influence(self, values: ndarray, y: ndarray) -> tuple[ndarray, ndarray] | None:
        """Every row's influence through what the classes share: z (n, p), directions (K-1, p, 1+m)."""
        return None

    def zero_cells(self) -> list[ZeroCell]:
        """Probabilities estimated as 0."""
        return []

    def effective(self) -> ndarray:
        """Effective free parameters, (K, p)."""
        return np.full(self.n.shape, float(self.family.free))


def arrow(tau: ndarray, P: ndarray) -> ndarray:
    """Product J(tau)'P J(tau), J = [-tau, I]: (..., m) and (..., m, m) to (..., 1+m, 1+m)."""
    cross = -np.einsum("...ij,...j->...i", P, tau)
    V = np.empty((*tau.shape[:-1], tau.shape[-1] + 1, tau.shape[-1] + 1))
    V[..., 0, 0] = -np.einsum("...i,...i->...", cross, tau)
    V[..., 0, 1:] = V[..., 1:, 0] = cross
    V[..., 1:, 1:] = P
    return V


def _picked(V: ndarray, chosen: ndarray | None) -> ndarray:
    """Entries of -A and of the chosen eta."""
    if chosen is None:
        return V
    at = np.concatenate([[0], 1 + chosen])
    return V[..., at[:, None], at]


def not_finite(values: ndarray) -> Violation:
    """Violations by infinite values, which no family has."""
    bad = np.isinf(values)
    return Violation(np.flatnonzero(bad if bad.ndim == 1 else bad.any(axis=1)), "infinite values")


def nonempty(*violations: Violation) -> list[Violation]:
    """Violations that have rows."""
    return [v for v in violations if len(v.rows)]
