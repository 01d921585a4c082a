"""Rows of a design as directions of about one size, whatever the units, origins and outliers of its columns.

Which sides of x'd the outcomes ask for does not change with the length of a row, nor with other coordinates of d. So
rows are put where linear programs, whose tolerance is 1e-7, can tell them apart: theta = M phi, z_i = M'x_i / |M'x_i|.
M makes columns orthogonal for rows of one length (so that 100,000, 100,001, ... differ). A column of which few values
dwarf the others gets the size of these (so that they stay apart), and again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray
from scipy.linalg import solve_triangular

from glmclf.core.columns import Dense, expanded_rows, is_small
from glmclf.core.rank import stacked_factor
from glmclf.core.twofold import product

EPS = np.finfo(float).eps
HELD = 2**40  # entries of a design up to which its rows are held as directions, too
SOME = 2**15  # rows of a larger one that tell of what size most entries are
ROUNDS = 5
DWARFED = 1e3  # ratio of the largest entry of a column to the distance of nine tenths of them from their median
TIE, WIDEST = 1e-12, 1e-9  # shares of a row's length that count as 0: at least, at most


class Rows:
    """Rows of a design, expanded a block at a time unless all are few.

    Parameters
    ----------
    X : Columns or (n, k) ndarray
    """

    def __init__(self, X: Any):
        X = X if hasattr(X, "gram") else Dense(X)
        self.X, self.shape = X, X.shape
        self.few = X.shape[0] * X.shape[1] <= HELD
        self._held = X[:].toarray() if self.few else None

    @property
    def exact(self) -> bool:
        """Whether products are right to rounding."""
        return is_small(*self.shape)

    def __iter__(self) -> Iterator[ndarray]:
        if self._held is not None:
            yield self._held
            return
        size = expanded_rows(self.shape[1])
        yield from (self.X[start : start + size].toarray() for start in range(0, self.shape[0], size))

    def at(self, which: ndarray) -> ndarray:
        """Some rows, by their places."""
        return self.X.subset(which)[:].toarray() if self._held is None else self._held[which]

    def some(self) -> ndarray:
        """Rows that tell of what size most entries are: all, if they are few."""
        return next(iter(self)) if self.few else self.at(np.arange(0, self.shape[0], 1 + self.shape[0] // SOME))


@dataclass(frozen=True)
class Directions:
    """Rows in coordinates of their own, z_i: of length 1, or 0.

    Attributes
    ----------
    source : Rows
        X.
    length : (n,) ndarray
        What they were divided by.
    M : (k, k) ndarray
        Upper triangular: X M = length Z, theta = M phi.
    tie : float
        What is 0 but for rounding.
    Z : (n, k) ndarray or None
        All of them; None where they are made when used, as they are too many.
    """

    source: Rows
    length: ndarray
    M: ndarray
    tie: float
    Z: ndarray | None

    def at(self, which: ndarray) -> ndarray:
        """Some of the rows z, by their places."""
        if self.Z is not None:
            return self.Z[which]
        return _of_length_one(self.source.at(which), self.M, self.source.exact)[0]

    def times(self, D: ndarray) -> ndarray:
        """Z D, (n, r)."""
        if self.Z is not None:
            return self.Z @ D
        return np.concatenate([_of_length_one(A, self.M, self.source.exact)[0] @ D for A in self.source])

    def parameters(self, D: ndarray, noise: float = 0.0) -> ndarray:
        """Directions phi (p, r), known but for `noise`, equation by equation, in the units of the parameters."""
        k = len(self.M)
        out = np.concatenate([self.M @ D[i : i + k] for i in range(0, len(D), k)])
        # what rounding in phi, whose entries are of one size, makes of a 0
        size = np.tile(np.abs(self.M).sum(axis=1), len(D) // k)[:, None] * np.abs(D).max(axis=0, initial=0.0)
        return np.where(np.abs(out) <= max(1e-11, noise) * size, 0.0, out)

    def coordinates(self, theta: ndarray) -> ndarray:
        """Parameters (p,) as phi."""
        parts = theta.reshape(-1, len(self.M))
        return np.concatenate([solve_triangular(self.M, part, check_finite=False) for part in parts])

    def rows(self, R: ndarray) -> ndarray:
        """Combinations R theta (., p) as combinations of phi."""
        k = len(self.M)
        return np.hstack([R[:, i : i + k] @ self.M for i in range(0, R.shape[1], k)])


def directions(X: Any) -> Directions:
    """The rows of a design of full column rank.

    Parameters
    ----------
    X : Columns or (n, k) ndarray

    Returns
    -------
    Directions
    """
    rows = Rows(X)
    size = np.max([np.abs(A).max(axis=0, initial=0.0) for A in rows], axis=0)
    M = np.diag(1.0 / np.where(size > 0, size, 1.0))
    for again in range(ROUNDS):
        R = _factor(rows, M)
        if R.shape != M.shape or not np.abs(np.diag(R)).min(initial=1.0) > 0:
            break
        above = np.triu(np.abs(R) <= 1e-8 * np.linalg.norm(R, axis=0), 1)
        R[above] = 0.0  # orthogonal enough, and zeros stay zeros
        if again:  # sizes are those of the first round, but for what one value dwarfs
            R = R / np.diag(R)[:, None]
        M = M @ solve_triangular(R, np.eye(len(R)), check_finite=False)
        Z, noise = _product(rows.some(), M, rows.exact)
        top = _largest(rows, M) if not rows.few else np.abs(Z).max(axis=0)
        dwarfed = _spread(Z, noise) * DWARFED < top
        if not dwarfed.any():
            break
        M = M / np.where(dwarfed, np.quantile(np.abs(Z), 0.9, axis=0), 1.0)
    return _in_coordinates(rows, M)


def _factor(rows: Rows, M: ndarray) -> ndarray:
    """R of the rows of X M at length one."""
    if rows.shape[0] < len(M):
        return np.zeros((0, 0))
    parts = (_of_length_one(A, M, rows.exact)[0] for A in rows)
    return np.asarray(np.linalg.qr(next(parts), mode="r")) if rows.few else stacked_factor(parts)


def _largest(rows: Rows, M: ndarray) -> ndarray:
    """Largest entries of the columns of X M."""
    return np.max([np.abs(_product(A, M, rows.exact)[0]).max(axis=0) for A in rows], axis=0)


def _in_coordinates(rows: Rows, M: ndarray) -> Directions:
    parts, lengths, shares = [], [], []
    for A in rows:
        Z, length, share = _of_length_one(A, M, rows.exact)
        lengths.append(length)
        shares.append(share)
        if rows.few:
            parts.append(Z)
    tie = float(np.clip(16 * max(shares), TIE, WIDEST))
    return Directions(rows, np.concatenate(lengths), M, tie, parts[0] if rows.few else None)


def _of_length_one(X: ndarray, M: ndarray, exact: bool) -> tuple[ndarray, ndarray, float]:
    """X M with rows of length one, their lengths before, and the largest share of rounding in the data."""
    Z, noise = _product(X, M, exact)
    top = np.abs(Z).max(axis=1, initial=0.0)
    top[top == 0] = 1.0
    length = top * np.linalg.norm(Z / top[:, None], axis=1)
    length[length == 0] = 1.0
    share = float((noise.max(axis=1, initial=0.0) / length).max(initial=0.0))
    return Z / length[:, None], length, share


def _product(X: ndarray, M: ndarray, exact: bool) -> tuple[ndarray, ndarray]:
    """X M, right to rounding where that is affordable (`exact`), and the rounding of the entries of X in it."""
    noise = EPS * (np.abs(X) @ np.abs(M))
    Z = X @ M
    if exact and (noise > 1e-13 * np.abs(Z).max(axis=1, keepdims=True, initial=0.0)).any():
        Z = np.asarray(product(X, M))
    return Z, noise


def _spread(Z: ndarray, noise: ndarray) -> ndarray:
    """Distance of nine tenths of the entries of each column from their median; infinite where it is rounding."""
    away = np.quantile(np.abs(Z - np.median(Z, axis=0)), 0.9, axis=0)
    return np.where(away > 64 * np.median(noise, axis=0), away, np.inf)
