"""Columns of numbers less their means within the levels of a factor of many.

What levels leave of a column whose values are large beside their spread within levels is a difference of large sums of
squares, without digits. Less its mean in each level, which the level's intercept takes up, the column has all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray
from scipy import sparse

from glmclf.core.design.arrow import ArrowColumns, of_levels
from glmclf.core.design.basis import DesignBasis, by_equation
from glmclf.core.design.dense import Dense
from glmclf.core.numerics.arrow import BlocksPlusLowRank

BITS_OF_MEANS = 48  # so few that differences and sums of means are exact


@dataclass(frozen=True, eq=False)
class LevelCentring(DesignBasis):
    """The basis I + N of a design whose columns in it are X (I - N): of numbers less their means by level.

    N has the means, in the rows of the levels' intercepts and in the columns of the numbers: N N = 0, so that
    parameters in the basis are (I + N) theta, and those of X (I - N) gamma.

    Attributes
    ----------
    N : (k, k) csr_array
    """

    N: Any

    def __len__(self) -> int:
        return self.N.shape[0]

    def _means(self, b: ndarray) -> ndarray:
        """Product N b, equation by equation."""
        return by_equation(lambda b: self.N @ b, len(self), b)

    def _entries(self, rows: ndarray, columns: ndarray) -> ndarray:
        """Entries of N at some places."""
        return np.asarray(self.N[rows, columns]) if len(rows) else np.zeros(0)

    def into(self, b: ndarray) -> ndarray:
        """Parameters of X, (p,) or (p, r) equation by equation, in the coordinates of the basis."""
        return b + self._means(b)

    def back(self, b: ndarray) -> ndarray:
        """Parameters in the coordinates of the basis, or one side of their covariance, as those of X."""
        return b - self._means(b)

    def into_squares(self, d: ndarray) -> ndarray:
        """Squares of the entries of (I + N)' times d."""
        return d + by_equation(lambda d: self.N.multiply(self.N).T @ d, len(self), d)

    def back_squares(self, d: ndarray) -> ndarray:
        """Squares of the entries of I - N times d."""
        return d + by_equation(lambda d: self.N.multiply(self.N) @ d, len(self), d)

    logdet, keeps_levels = 0.0, True

    def rows(self, R: ndarray) -> ndarray:
        """Combinations (r, p) of the parameters of X as such of those in the basis."""
        k = len(self)
        return R - np.hstack([(self.N.T @ R[:, i : i + k].T).T for i in range(0, R.shape[1], k)])

    def covariance(self, V: Any) -> Any:
        """Covariance of the parameters of X from one in the coordinates of the basis."""
        if not isinstance(V, BlocksPlusLowRank):
            return super().covariance(V)
        layout, k = V.layout, len(self)
        U = np.zeros(V.D.shape)
        for i, j in np.ndindex(*U.shape[1:]):
            row, column = layout.slots[:, i], layout.slots[:, j]
            here = np.flatnonzero((row >= 0) & (column >= 0) & (row // k == column // k))
            U[here, i, j] = (i == j) - self._entries(row[here] % k, column[here] % k)
        out = BlocksPlusLowRank(layout, U @ V.D @ U.swapaxes(1, 2), self.back(V.Z), V.K)
        found = self._beyond_blocks(layout)
        if found is None:
            return out
        # (U - c m') D (U - c m')' of the slopes of a level on which U is the identity
        c, m = (np.kron(np.eye(layout.size // k), b[:, None]) for b in found)
        blocks = BlocksPlusLowRank(layout, V.D, np.zeros((len(c), 0)), np.zeros((0, 0)))
        v = blocks @ m
        eye, zero = np.eye(c.shape[1]), np.zeros((c.shape[1],) * 2)
        K = np.block([[m.T @ v, -eye], [-eye, zero]])
        return out + BlocksPlusLowRank(layout, np.zeros_like(V.D), np.hstack([c, v]), K)

    def _beyond_blocks(self, layout: Any) -> tuple[ndarray, ndarray] | None:
        """Combination c (k,) of the intercepts that is one in the rows of a level without its own, and means m (k,) of
        the level's slopes, for N = c m' + entries within levels or of the border; None without such a level."""
        N, level = self.N.tocoo(), layout.owners[0][: len(self)]
        (row, column), means = N.coords, np.zeros(len(self))
        here = (level[row] < 0) & (level[column] >= 0) & (N.data != 0)
        if not here.any():
            return None
        means[column[here]] = N.data[here]
        first = column[here][0]
        return self.N[:, [first]].toarray()[:, 0] / means[first], means

    def changes(self, moved: ndarray) -> bool:
        """Whether directions that move some parameters of X, a mask (p,), are others in the basis."""
        return bool(by_equation(lambda m: abs(self.N) @ m, len(self), moved.astype(float)).any())

    def at(self, columns: ndarray, k: int) -> LevelCentring:
        """The basis of some columns as one of all k, in which the others stand for themselves."""
        N = self.N.tocoo()
        places = (columns[N.coords[0]], columns[N.coords[1]])
        return LevelCentring(sparse.csr_array((N.data, places), shape=(k, k)))

    def of(self, columns: ndarray) -> LevelCentring:
        """The basis of some of the columns."""
        return LevelCentring(self.N[columns][:, columns])

    @property
    def undone(self) -> LevelCentring:
        return LevelCentring(-self.N)

    def columns(self, X: Any, exact: bool | None = None) -> Any:
        """Columns in the basis, X (I - N)."""
        if not isinstance(X, ArrowColumns):
            A = X.toarray()
            return Dense(A - (self.N.T @ A.T).T)
        layout, own, constant = X.layout, X.intercepts, X.constant_column
        border, levels = np.zeros((len(own), len(layout.border))), np.zeros(layout.slots.shape)
        here = np.flatnonzero(own >= 0)
        border[here] = self.N[own[here]][:, layout.border].toarray()
        if constant is not None:
            border += self.N[[constant]][:, layout.border].toarray()
        for s, places in enumerate(layout.slots.T):
            mine, there = here[places[here] >= 0], np.flatnonzero(places >= 0)
            levels[mine, s] = self._entries(own[mine], places[mine])
            if constant is not None:  # of the level without its own in the fit, which here may have one
                levels[there, s] += self._entries(np.full(len(there), constant), places[there])
        return X.less(border, levels)

    def to_record(self) -> dict[str, Any]:
        """The basis as numbers for a file."""
        N = self.N.tocoo()
        return {"size": len(self), "rows": N.coords[0], "columns": N.coords[1], "means": N.data}

    @classmethod
    def of_record(cls, stored: Any) -> LevelCentring:
        """The basis that `to_record` gave."""
        k = int(stored["size"])
        places = tuple(np.array(stored[name], dtype=np.intp) for name in ("rows", "columns"))
        return cls(sparse.csr_array((np.array(stored["means"], dtype=float), places), shape=(k, k)))


def level_centring(blocks: Any) -> LevelCentring:
    """The means, by level of the factor of many, of the columns of numbers of a design, in one pass.

    Rows of levels without an intercept of their own have one mean, which a column of ones takes up; without such a
    column theirs is 0. Slopes by level have means where the level has an intercept. Those of one level without its own
    have them beside a column of ones, which less the intercepts of all others is one in its rows.

    Parameters
    ----------
    blocks : Blocks
        The first array is an `ArrowColumns`.
    """
    X: Any = of_levels(blocks)
    layout, own, constant, k = X.layout, X.intercepts, X.constant_column, X.shape[1]
    sums = blocks.sum(lambda X, *_: X.sums_of_numbers())
    counts, border, slots = np.split(sums, [1, 1 + len(X.numeric)])
    mine = own >= 0
    means = _rounded(border / np.maximum(counts, 1.0))
    common = np.zeros((len(border), 1))
    if constant is not None and counts[0, ~mine].sum():
        common = _rounded(border[:, ~mine].sum(axis=1, keepdims=True) / counts[0, ~mine].sum(), means)
    places = layout.border[X.numeric]
    at, column = np.nonzero(np.where(mine & (counts[0] > 0), means - common, 0.0).T)
    entries = [(own[at], places[column], (means - common)[column, at])]
    if constant is not None:
        entries.append((np.full(len(places), constant), places, common[:, 0]))
    for s, total in zip(X.slots_of_numbers, slots, strict=True):
        there = np.flatnonzero(mine & (layout.slots[:, s] >= 0) & (counts[0] > 0))
        entries.append((own[there], layout.slots[there, s], _rounded((total[there] / counts[0, there])[None])[0]))
        bare = np.flatnonzero(~mine & (counts[0] > 0))
        if constant is not None and len(bare) == 1 and layout.slots[bare[0], s] >= 0:
            others = own[mine & (counts[0] > 0)]
            mean = float(_rounded((total[bare] / counts[0, bare])[None])[0, 0])
            rows, values = np.append(others, constant), np.append(np.full(len(others), -mean), mean)
            entries.append((rows, np.full(len(rows), layout.slots[bare[0], s]), values))
    rows, columns, values = (np.concatenate([entry[i] for entry in entries]) for i in range(3))
    return LevelCentring(sparse.csr_array((values, (rows, columns)), shape=(k, k)))


def constant_centring(blocks: Any) -> LevelCentring:
    """The means over all rows of the columns of numbers beside the factor of many levels, which a column of ones takes
    up.

    Parameters
    ----------
    blocks : Blocks
        The first array is an `ArrowColumns` with a column of ones.
    """
    X: Any = of_levels(blocks)
    sums = blocks.sum(lambda X, *_: X.sums_of_numbers()).sum(axis=1, keepdims=True)
    means, places = _rounded(sums[1 : 1 + len(X.numeric)] / sums[0])[:, 0], X.layout.border[X.numeric]
    rows = np.full(len(places), X.constant_column)
    return LevelCentring(sparse.csr_array((means, (rows, places)), shape=(X.shape[1],) * 2))


def _rounded(means: ndarray, beside: ndarray | None = None) -> ndarray:
    """Means of each column on a grid of few bits, that of others if given."""
    largest = np.abs(means if beside is None else beside).max(axis=1, keepdims=True, initial=np.finfo(float).tiny)
    grid = 2.0 ** (np.ceil(np.log2(largest)) - BITS_OF_MEANS)
    return np.round(means / grid) * grid
