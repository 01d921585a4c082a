"""Columns as a scipy.sparse array."""

from __future__ import annotations

import numpy as np
from numpy import ndarray
from scipy import sparse

from glmclf.core.design.dense import ROWS_PER_PRODUCT, Dense, gram_of_each_pair, least_rcond

MAX_SHARE_OF_NONZEROS = 0.1  # share of entries that are not 0 from which the gram of expanded rows is the faster


class Sparse:
    """X as a scipy.sparse array; rows are expanded block by block, and only where that is the shorter way.

    Parameters
    ----------
    X : (n, k) csr_array
        float64 or float32.
    """

    def __init__(self, X: sparse.csr_array):
        self.X, self.shape = X, X.shape

    @property
    def least_rcond(self) -> float:
        """Reciprocal condition of the gram below which another basis is worth it."""
        return least_rcond(*self.shape)

    @property
    def block_size(self) -> int:
        """Rows a block: many, as each adds a (k, k) array, but no more than may be expanded."""
        return int(np.clip(2 ** np.floor(np.log2(2**24 / max(self.shape[1], 1))), 4096, 65_536))

    def __getitem__(self, rows) -> Sparse:
        """Columns of X for some rows, as float64 ready for arithmetic."""
        return Sparse(self.X[rows].astype(np.float64, copy=False))

    def subset(self, rows: ndarray) -> Sparse:
        """Some rows."""
        return Sparse(self.X[rows])

    def expanded(self, rows) -> ndarray:
        """Some rows as an array of float64."""
        return self.X[rows].astype(np.float64, copy=False).toarray()

    def __matmul__(self, b: ndarray) -> ndarray:
        return self.X @ b

    def lengths(self, T: ndarray) -> ndarray:
        """Squared lengths of the rows of X T, (n,)."""
        Z = self.X @ T
        return np.einsum("ij,ij->i", Z, Z)

    def times(self, u: ndarray) -> ndarray:
        """X' u, (k,) or (k, q)."""
        return self.X.T @ u

    def squares(self, w: ndarray) -> ndarray:
        """Diagonal of X' diag(w) X, (k,)."""
        return self.X.power(2).T @ w

    def gram(self, w: ndarray) -> ndarray:
        """X' diag(w) X, of negative weights, too."""
        if len(w) and w.min() < 0:  # of a link whose F is not log-concave
            return self.gram(np.maximum(w, 0.0)) - self.gram(np.maximum(-w, 0.0))
        n, k = self.shape
        if self.X.nnz > MAX_SHARE_OF_NONZEROS * n * k:
            parts = (slice(start, start + ROWS_PER_PRODUCT) for start in range(0, n, ROWS_PER_PRODUCT))
            return sum((Dense(self.X[rows].toarray()).gram(w[rows]) for rows in parts), np.zeros((k, k)))
        indices, starts = self.X.indices, self.X.indptr
        weighted = sparse.csr_array((self.X.data * np.repeat(np.sqrt(w), np.diff(starts)), indices, starts), (n, k))
        G = (weighted.T @ weighted).toarray()
        return 0.5 * (G + G.T)

    def stacked_gram(self, P: ndarray) -> ndarray:
        """Blocks X' diag(P_j P_l) X for pairs of columns of P, a gram for each pair, as in `Dense`."""
        return gram_of_each_pair(self, P)

    def times_and_gram(self, u: ndarray, w: ndarray) -> tuple[ndarray, ndarray]:
        """X' u and X' diag(w) X."""
        return self.times(u), self.gram(w)

    def largest(self) -> ndarray:
        """Largest absolute value of each column, (k,)."""
        return abs(self.X).max(axis=0).toarray().ravel().astype(np.float64)

    def toarray(self) -> ndarray:
        """The columns as an (n, k) array: as many bytes as a dense X, so of a block at a time."""
        return self.X.toarray()
