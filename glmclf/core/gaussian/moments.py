"""Class moments: counts, means and scatter by class, in one additive pass over the rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.core.gaussian.dispersion import OfClasses, stored_fields
from glmclf.core.numerics.double_double import two_sum
from glmclf.core.rows.blocks import Blocks
from glmclf.core.rows.summed import Summed, added_by
from glmclf.errors import EstimationError

CODES_AT_A_TIME = 65_536  # codes of classes that are counted at a time
MAX_SCATTER_NUMBERS = 20_000_000  # numbers in scatter matrices that are kept without being needed for the fit
MAX_STORED_NUMBERS = 100_000  # the same, of those that a file keeps: 2 MB
MAX_NEEDED_NUMBERS = 100_000_000  # numbers in the scatter by class of a fit that needs it: 0.8 GB


@dataclass(frozen=True)
class ClassMoments(OfClasses):
    """Counts, means and scatter of the features by class; ``a + b`` is the record of both sets of rows.

    Attributes
    ----------
    counts : (K,) ndarray
        Rows or sums of weights, n_k >= 0.
    means : (K, p) ndarray
        Class means; zero for a class without rows.
    scatter : (K, p, p) ndarray
        S_k, the sums of f (x - m_k)(x - m_k)'; or (p, p), their sum W, where they would take too much memory; or (0, 0)
        where that would, too.
    rest : (K, p) ndarray or float
        What rounding left of the means: a mean is the sum of both.
    squares : (K, p) ndarray, optional
        Diagonals of S_k, where S_k are not kept.

    Notes
    -----
    Sums are always about the mean of the rows at hand and merged as in the reference, and means have twice the digits
    of a double, so that a common offset of the features, however large, costs no more digits than the rounding of the
    data themselves.

    References
    ----------
    Chan, Golub & LeVeque (1983), Algorithms for computing the sample variance, The American Statistician 37.

    Examples
    --------
    >>> import numpy as np
    >>> from glmclf.core.rows.blocks import Blocks
    >>> from glmclf.core.design.dense import Dense
    >>> X, y = np.array([[1.0], [3.0], [10.0], [14.0]]), np.array([0, 0, 1, 1])
    >>> moments = class_moments(Blocks(Dense(X), y, None), 2)
    >>> moments.means.ravel().tolist(), moments.within.tolist(), moments.between.round(9).tolist()
    ([2.0, 12.0], [[10.0]], [[100.0]])
    """

    counts: ndarray
    means: ndarray
    scatter: ndarray
    rest: ndarray | float = 0.0
    squares: ndarray | None = None

    def __add__(self, other: ClassMoments) -> ClassMoments:
        counts = self.counts + other.counts
        share = np.divide(other.counts, counts, out=np.zeros(len(counts)), where=counts > 0)
        apart = (other.means - self.means) + (other.rest - self.rest)
        means, rest = two_sum(self.means, apart * share[:, None])
        means, rest = two_sum(means, rest + self.rest)
        none = self.counts[:, None] == 0
        means, rest = np.where(none, other.means, means), np.where(none, other.rest, rest)
        scatter = self.scatter + other.scatter
        # an empty side has share 0 or 1: the other's mean, and nothing between them
        apart = apart * np.sqrt(self.counts * share)[:, None]
        if self.by_class:
            scatter += apart[:, :, None] * apart[:, None, :]
            return ClassMoments(counts, means, scatter, rest)
        if scatter.size:
            scatter += apart.T @ apart
        return ClassMoments(counts, means, scatter, rest, self.class_squares + other.class_squares + apart**2)

    def __getstate__(self) -> dict[str, Any]:
        return stored_fields(self)

    @property
    def storable(self) -> ClassMoments:
        """The moments without products of features that are too many to be written where the fit does not need them."""
        if self.scatter.size <= MAX_STORED_NUMBERS:
            return self
        return replace(self, scatter=np.zeros((0, 0)), squares=self.class_squares)

    def scaled(self, factor: float) -> ClassMoments:
        """Moments of the same rows with all weights times a factor."""
        squares = None if self.squares is None else self.squares * factor
        return replace(self, counts=self.counts * factor, scatter=self.scatter * factor, squares=squares)

    @property
    def by_class(self) -> bool:
        """Whether the scatter is known for each class, or only their sum."""
        return self.scatter.ndim == 3

    @cached_property
    def mean(self) -> ndarray:
        """Grand mean, (p,)."""
        # about one class, so that an offset common to all is not multiplied
        origin = self.means[int(np.argmax(self.counts))]
        apart = np.where(self.counts[:, None] > 0, self.means - origin + self.rest, 0.0)
        return origin + (self.counts / self.n) @ apart

    @property
    def apart(self) -> ndarray:
        """Class means less the grand mean, (K, p), with more digits than the means themselves have."""
        return self.means - self.mean + self.rest

    @cached_property
    def within(self) -> ndarray:
        """Scatter within classes W, the sum of the scatters about the class means, (p, p)."""
        if not self.scatter.size and self.p:
            raise EstimationError(
                f"the products of {self.p:,} features, {self.p**2:,} numbers, are not kept by a diagonal or spherical "
                f"fit (at most {MAX_SCATTER_NUMBERS:,} are, and {MAX_STORED_NUMBERS:,} in a file): use fewer "
                "features, or the result before it was saved"
            )
        return self.scatter.sum(axis=0) if self.by_class else self.scatter

    def scatters(self, pooled: bool) -> tuple[ndarray, ndarray]:
        """Sample sizes and scatters of the covariance matrices: N and W, (1,) and (1, p, p), where pooled, else n_k and
        S_k, (K,) and (K, p, p)."""
        if pooled:
            return np.array([self.n]), self.within[None]
        if not self.by_class:
            raise EstimationError(
                f"the scatter of each class was not kept: {self.K} classes of {self.p:,} features are "
                f"{self.K * self.p**2:,} numbers, and at most {MAX_SCATTER_NUMBERS:,} are kept where the fit does not "
                f"need them, {MAX_STORED_NUMBERS:,} in a file: use fewer features"
            )
        return self.counts, self.scatter

    @property
    def class_squares(self) -> ndarray:
        """Sums of squares about the class means, (K, p): the diagonals of S_k."""
        if self.by_class:
            return np.diagonal(self.scatter, axis1=1, axis2=2)
        assert self.squares is not None
        return self.squares

    def sums_of_squares(self, pooled: bool) -> tuple[ndarray, ndarray]:
        """Sample sizes and sums of squares about class means, the diagonals of `scatters`, (g,) and (g, p)."""
        if not pooled:
            return self.counts, self.class_squares
        kept = self.scatter.size or not self.p
        return np.array([self.n]), (np.diagonal(self.within) if kept else self.class_squares.sum(axis=0))[None]

    @cached_property
    def between(self) -> ndarray:
        """Scatter between classes B, that of the class means about the grand mean, (p, p)."""
        apart = np.sqrt(self.counts)[:, None] * np.where(self.counts[:, None] > 0, self.apart, 0.0)
        return apart.T @ apart

    @property
    def total(self) -> ndarray:
        """Total scatter T = W + B, about the grand mean, (p, p)."""
        return self.within + self.between

    @property
    def between_squares(self) -> ndarray:
        """Sums of squares between classes, (p,): the diagonal of B."""
        if self.scatter.size:
            return np.diagonal(self.between)
        apart = np.where(self.counts[:, None] > 0, self.apart, 0.0)
        return self.counts @ apart**2

    @property
    def total_squares(self) -> ndarray:
        """Total sums of squares about the grand mean, (p,): the diagonal of T."""
        return self.sums_of_squares(True)[1][0] + self.between_squares


def class_moments(blocks: Blocks, K: int, kind: str = "full", pooled: bool = True) -> ClassMoments:
    """Moments of each class by one pass over blocks of rows.

    Parameters
    ----------
    blocks : Blocks
        Of Columns X (n, p) without a constant, integer codes y (n,) in 0..K-1, and weights (n,) >= 0 or None.
    K : int
        Classes.
    kind, pooled
        The covariances that the fit needs, as `fit_gaussian` has them.

    Returns
    -------
    ClassMoments
        With the scatter of each class where the fit needs it, or while K p^2 is at most twenty million; else with their
        sum; with the diagonals alone where p^2 is larger and the fit needs no more.

    Raises
    ------
    EstimationError
        The fit needs the scatter of each class, and K p^2 is more than a hundred million.

    Examples
    --------
    See `ClassMoments`.
    """
    p = blocks.arrays[0].shape[1]
    needed = kind == "full" and not pooled
    if needed and K * p * p > MAX_NEEDED_NUMBERS:
        raise EstimationError(
            f"{K} covariance matrices of {p:,} features are {K * p * p:,} numbers ({8e-9 * K * p * p:.1f} GB, several "
            f"times over): at most {MAX_NEEDED_NUMBERS:,} are fitted. Pool the covariances (LDA), use "
            'covariance="diag", or fewer features'
        )
    shape = (K, p, p) if needed or K * p * p <= MAX_SCATTER_NUMBERS else (p, p)
    if kind != "full" and p * p > MAX_SCATTER_NUMBERS:
        shape = (0, 0)
    return blocks.sum(partial(_block_moments, K=K, shape=shape))


def centred_by_class(X, y: ndarray, w: ndarray | None, K: int) -> Iterator[tuple]:
    """Tuples (class, its rows of X minus their own mean, their weights, their number, that mean) of a block's classes.

    The rest of the mean that rounding leaves is at most a few roundings of the largest value; see `_class_moments`.
    """
    A = np.ascontiguousarray(X.toarray())  # rows are gathered; a block by columns is turned once
    for k, rows in class_rows(y, K):
        Z = A.take(rows, axis=0)
        f = None if w is None else w[rows].astype(np.float64)
        n = float(len(rows) if f is None else f.sum())
        if n > 0:
            mean = (np.ones(len(rows)) if f is None else f) @ Z / n
            Z -= mean
            yield k, Z, f, n, mean


def class_rows(y: ndarray, K: int) -> Iterator[tuple[int, ndarray]]:
    """Pairs (class, positions of its rows in their order) of the classes that occur."""
    # numpy sorts small integers by radix
    order = np.argsort(y.astype(np.min_scalar_type(K)), kind="stable")
    ends = np.cumsum(np.bincount(y, minlength=K))
    for k, (start, stop) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        if stop > start:
            yield k, order[start:stop]


def class_sizes(y: ndarray, w: ndarray | None, K: int) -> ndarray:
    """Number of rows of each class, or sums of their weights, (K,); by parts, as numpy makes wide
    numbers of narrow codes."""
    parts = (slice(start, start + CODES_AT_A_TIME) for start in range(0, len(y), CODES_AT_A_TIME))
    counts = [np.bincount(y[part], None if w is None else w[part], minlength=K) for part in parts]
    return np.sum(counts, axis=0, dtype=float)


@dataclass(frozen=True)
class ClassEnds(Summed):
    """Least and largest value of each feature by class, (K, p) each; NaN where none is observed."""

    low: ndarray = field(metadata=added_by(np.fmin))
    high: ndarray = field(metadata=added_by(np.fmax))


def class_ends(X, y: ndarray, w: ndarray | None, K: int) -> ClassEnds:
    """Ends of the columns of an array or Columns in each class of one block; missing values are NaN."""
    A = X.toarray() if hasattr(X, "toarray") else X
    low, high = np.full((2, K, A.shape[1]), np.nan)
    for k, rows in class_rows(y, K):
        Z = A.take(rows, axis=0)
        low[k], high[k] = np.fmin.reduce(Z), np.fmax.reduce(Z)
    return ClassEnds(low, high)


def _block_moments(X, y: ndarray, w: ndarray | None, K: int, shape: tuple[int, ...]) -> ClassMoments:
    p = X.shape[1]
    counts, means, low = np.zeros(K), np.zeros((K, p)), np.zeros((K, p))
    scatter = np.zeros(shape)
    squares = None if scatter.ndim == 3 else np.zeros((K, p))
    for k, Z, f, n, mean in centred_by_class(X, y, w, K):
        # what the rounding of the mean left; without it a constant would seem to vary
        rest = (np.ones(len(Z)) if f is None else f) @ Z / n
        if f is not None:
            Z *= np.sqrt(f)[:, None]
        if squares is not None:
            squares[k] = np.maximum(np.einsum("ij,ij->j", Z, Z) - n * rest**2, 0.0)
        if scatter.size:
            S = scatter[k] if scatter.ndim == 3 else scatter
            S += Z.T @ Z
            S -= n * np.outer(rest, rest)
            # of a constant rounding may leave less than nothing
            np.fill_diagonal(S, np.maximum(np.diagonal(S), 0.0))
        counts[k] = n
        means[k], low[k] = two_sum(mean, rest)
    return ClassMoments(counts, means, scatter, low, squares)
