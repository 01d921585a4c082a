"""Class moments: counts, means and scatter by class, in one additive pass over the rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
from numpy import ndarray

from glmclf.core.numerics.double_double import two_sum
from glmclf.core.rows.blocks import Blocks
from glmclf.core.rows.summed import Summed, added_by

CODES_AT_A_TIME = 65_536  # codes of classes that are counted at a time
MAX_SCATTER_NUMBERS = 20_000_000  # numbers in the scatter by class above which only their sum is kept


@dataclass(frozen=True)
class ClassMoments:
    """Counts, means and scatter of the features by class; ``a + b`` is the record of both sets of rows.

    Attributes
    ----------
    counts : (K,) ndarray
        Rows or sums of weights, n_k >= 0.
    means : (K, p) ndarray
        Class means; zero for a class without rows.
    scatter : (K, p, p) ndarray
        S_k, the sums of f (x - m_k)(x - m_k)'; or (p, p), their sum W, where they would take too much memory.
    rest : (K, p) ndarray or float
        What rounding left of the means: a mean is the sum of both.

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
        scatter += apart[:, :, None] * apart[:, None, :] if self.by_class else apart.T @ apart
        return ClassMoments(counts, means, scatter, rest)

    @property
    def by_class(self) -> bool:
        """Whether the scatter is known for each class, or only their sum."""
        return self.scatter.ndim == 3

    @property
    def K(self) -> int:
        """Number of classes."""
        return self.means.shape[0]

    @property
    def p(self) -> int:
        """Number of features."""
        return self.means.shape[1]

    @property
    def n(self) -> float:
        """Number of rows, or the sum of their weights."""
        return float(self.counts.sum())

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
        return self.scatter.sum(axis=0) if self.by_class else self.scatter

    @cached_property
    def between(self) -> ndarray:
        """Scatter between classes B, that of the class means about the grand mean, (p, p)."""
        apart = np.sqrt(self.counts)[:, None] * np.where(self.counts[:, None] > 0, self.apart, 0.0)
        return apart.T @ apart

    @property
    def total(self) -> ndarray:
        """Total scatter T = W + B, about the grand mean, (p, p)."""
        return self.within + self.between


def class_moments(blocks: Blocks, K: int) -> ClassMoments:
    """Moments of each class by one pass over blocks of rows.

    Parameters
    ----------
    blocks : Blocks
        Of Columns X (n, p) without a constant, integer codes y (n,) in 0..K-1, and weights (n,) >= 0 or None.
    K : int
        Classes.

    Returns
    -------
    ClassMoments
        With the scatter of each class while K p^2 is at most twenty million, else with their sum only.

    Examples
    --------
    See `ClassMoments`.
    """
    p = blocks.arrays[0].shape[1]
    return blocks.sum(partial(_block_moments, K=K, by_class=K * p * p <= MAX_SCATTER_NUMBERS))


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


def _block_moments(X, y: ndarray, w: ndarray | None, K: int, by_class: bool) -> ClassMoments:
    p = X.shape[1]
    counts, means, low = np.zeros(K), np.zeros((K, p)), np.zeros((K, p))
    scatter = np.zeros((K, p, p) if by_class else (p, p))
    for k, Z, f, n, mean in centred_by_class(X, y, w, K):
        # what the rounding of the mean left; without it a constant would seem to vary
        rest = (np.ones(len(Z)) if f is None else f) @ Z / n
        if f is not None:
            Z *= np.sqrt(f)[:, None]
        S = scatter[k] if by_class else scatter
        S += Z.T @ Z
        S -= n * np.outer(rest, rest)
        counts[k] = n
        means[k], low[k] = two_sum(mean, rest)
    return ClassMoments(counts, means, scatter, low)
