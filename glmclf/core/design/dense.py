"""Columns as an array, and functions for columns of any kind."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

MAX_COLUMNS_OF_PRODUCTS = 24  # columns up to which one product gives X'u and the gram at least as fast as two
MAX_COLUMNS_OF_GEMV = 36  # columns up to which gemv, written for long columns, is faster than a dot product a row
MAX_VECTORS_OF_DOTS = 2  # vectors up to which dot products are faster than gemm, too, which waits for rows from memory
ROWS_PER_PRODUCT = 4096  # rows of a chunk of such a product
MIN_COLUMNS_FOR_PAIRS = 64  # columns from which pairs of classes are worth an update each
CACHED_DOUBLES = 2**16  # doubles of a chunk, so that it stays in the cache
MAX_EXPANDED_ENTRIES = 50_000_000  # entries of a table that may be expanded for the sake of digits


class Dense:
    """X as an array, in C or Fortran order, float64 or float32.

    Parameters
    ----------
    X : (n, k) ndarray
        The design; never copied whole.
    """

    def __init__(self, X: ndarray):
        self.X, self.shape = X, X.shape

    least_rcond = 1e-6  # below this a Cholesky factor of the gram leaves standard errors fewer than ten digits

    @property
    def block_size(self) -> int:
        """Rows a block."""
        return dense_rows(self.shape[1])

    def __getitem__(self, rows) -> Dense:
        """Columns of X for some rows, as float64 ready for arithmetic."""
        return Dense(self.X[rows].astype(np.float64, copy=False))

    def subset(self, rows: ndarray) -> Dense:
        """Some rows, whichever way they lie; of few columns by column, which `times_and_gram` is faster for."""
        some = self.X[rows]
        return Dense(some if self.shape[1] > MAX_COLUMNS_OF_PRODUCTS else np.asfortranarray(some))

    def expanded(self, rows) -> ndarray:
        """Some rows as an array of float64."""
        return self.X[rows].astype(np.float64, copy=False)

    def __matmul__(self, b: ndarray) -> ndarray:
        by_row = self.X.strides[0] > self.X.strides[1] and len(b) > MAX_COLUMNS_OF_GEMV
        if by_row and b[0].size <= MAX_VECTORS_OF_DOTS:
            return np.vecdot(self.X, b.T[..., None, :]).T
        return self.X @ b if b.ndim == 1 else (b.T @ self.X.T).T

    def uses(self, columns: ndarray) -> ndarray:
        """Mask of the rows in which one of some columns, a mask (k,), is not zero."""
        return (self.X[:, columns] != 0).any(axis=1)

    def lengths(self, T: ndarray) -> ndarray:
        """Squared lengths of the rows of X T, (n,)."""
        Z = self.X @ T
        return np.einsum("ij,ij->i", Z, Z)

    def times(self, u: ndarray) -> ndarray:
        """X' u, (k,) or (k, q)."""
        return self.X.T @ u if u.ndim == 1 else (u.T @ self.X).T

    def squares(self, w: ndarray) -> ndarray:
        """Diagonal of X' diag(w) X, (k,)."""
        return np.einsum("ij,ij,i->j", self.X, self.X, w)

    def gram(self, w: ndarray) -> ndarray:
        """X' diag(w) X, by one symmetric rank-n update, or by two where some of w are negative."""
        if len(w) and w.min() < 0:  # of a link whose F is not log-concave
            return self.gram(np.maximum(w, 0.0)) - self.gram(np.maximum(-w, 0.0))
        X, root = self.X, np.sqrt(w)
        by_column = X.strides[0] <= X.strides[1]
        # a broadcast over short rows is slow; einsum is not
        Z = X * root[:, None] if by_column else np.einsum("ij,i->ij", X, root)
        return Z.T @ Z

    def stacked_gram(self, P: ndarray) -> ndarray:
        """Blocks X' diag(P_j P_l) X for pairs of columns of P (n, K) >= 0, (k K, k K); those of a column with itself
        are not meant to be used.

        One symmetric update of all columns ``[X * P[:, 0], X * P[:, 1], ...]``, in chunks that stay in the cache, or
        from some sixty columns on one for each pair, which is half the arithmetic.
        """
        n, k = self.shape
        if k >= MIN_COLUMNS_FOR_PAIRS:
            return gram_of_each_pair(self, P)
        K = P.shape[1]
        G = np.zeros((k * K, k * K))
        chunk = max(256, min(n, CACHED_DOUBLES // (k * K)))
        Z, part = np.empty(k * K * chunk), np.empty_like(G)
        for start in range(0, n, chunk):
            X, weights = np.ascontiguousarray(self.X[start : start + chunk].T), P[start : start + chunk].T
            z = Z[: k * K * X.shape[1]]
            np.multiply(X, weights[:, None], out=z.reshape(K, k, -1))
            z = z.reshape(k * K, -1)
            G += np.matmul(z, z.T, out=part)
        return G

    def times_and_gram(self, u: ndarray, w: ndarray) -> tuple[ndarray, ndarray]:
        """X' u and X' diag(w) X. With few columns one product [X w, u]' X in chunks that stay in the cache; a
        symmetric update is faster only from some thirty columns on."""
        n, k = self.shape
        if k > MAX_COLUMNS_OF_PRODUCTS or self.X.strides[0] > self.X.strides[1]:
            return self.times(u), self.gram(w)
        both, M = np.zeros((k + 1, k)), np.empty((k + 1, min(n, ROWS_PER_PRODUCT)))
        for start in range(0, n, ROWS_PER_PRODUCT):
            X = self.X[start : start + ROWS_PER_PRODUCT]
            part = M[:, : len(X)]
            np.multiply(X.T, w[start : start + ROWS_PER_PRODUCT], out=part[:k])
            part[k] = u[start : start + ROWS_PER_PRODUCT]
            both += part @ X
        G = both[:k]
        return both[k], 0.5 * (G + G.T)

    def largest(self) -> ndarray:
        """Largest absolute value of each column, (k,)."""
        return np.maximum(self.X.max(axis=0), -self.X.min(axis=0)).astype(np.float64)

    def toarray(self) -> ndarray:
        """The columns as an (n, k) array."""
        return self.X


def dense_rows(k: int) -> int:
    """Rows of a block of an array: 16,384 at k = 10, 4,096 at k = 100 (measured: the block, its weighted
    copy, six vectors)."""
    return int(np.clip(2 ** np.round(np.log2(51_800 / np.sqrt(max(k, 1)))), 1024, 65_536))


def expanded_rows(k: int) -> int:
    """Rows of a block that are expanded to k columns each: some megabytes."""
    return int(np.clip(2 ** np.floor(np.log2(2**20 / max(k, 1))), 1024, 65_536))


def least_rcond(n: int, k: int) -> float:
    """Least reciprocal condition, as of `Dense`, for rows that are expanded in another basis: large tables keep the
    gram while it leaves some digits."""
    return Dense.least_rcond if n * k < MAX_EXPANDED_ENTRIES else 1e-9


def gram_of_each_pair(X: Any, P: ndarray) -> ndarray:
    """Blocks X' diag(P_j P_l) X of pairs of different columns of P, (k K, k K)."""
    k, K = X.shape[1], P.shape[1]
    G = np.zeros((k * K, k * K))
    for j in range(K):
        for i in range(j):
            block = X.gram(P[:, i] * P[:, j])
            G[j * k : (j + 1) * k, i * k : (i + 1) * k] = block
            G[i * k : (i + 1) * k, j * k : (j + 1) * k] = block
    return G
