"""Columns: what X is to everyone else. Three operations only: X @ b, X' u and the gram X' diag(w) X."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy import ndarray
from scipy.linalg import solve_triangular


class Piece(NamedTuple):
    """The columns that one subterm of a formula contributes to X.

    Column j is ``numbers[:, num[j]] * contrast[codes, cat[j]]``; a part that is None counts as one.

    Attributes
    ----------
    numbers : (n, c) ndarray or None
        Products of the columns of the subterm's numerical factors.
    codes : (n,) integer ndarray or None
        Cell of the subterm's categorical factors.
    contrast : (cells, d) ndarray or None
        Coding of the cells: the Kronecker product of the factors' contrast matrices.
    num, cat : (k_j,) integer ndarrays
        Which column of `numbers` and of `contrast` each column of X uses.
    """

    numbers: ndarray | None
    codes: ndarray | None
    contrast: ndarray | None
    num: ndarray
    cat: ndarray


def dense(pieces: list[Piece], n: int) -> ndarray:
    """The design matrix that `pieces` describe, (n, k), column-contiguous."""
    X = np.empty((n, sum(len(p.num) for p in pieces)), order="F")
    start = 0
    for piece in pieces:
        _fill(piece, X[:, start : start + len(piece.num)])
        start += len(piece.num)
    return X


def _fill(piece: Piece, out: ndarray) -> None:
    for j, (a, b) in enumerate(zip(piece.num, piece.cat, strict=True)):
        column = out[:, j]
        if piece.codes is None:
            column[:] = 1.0
        else:
            np.take(piece.contrast[:, b], piece.codes, out=column, mode="wrap")
        if piece.numbers is not None:
            column *= piece.numbers[:, a]


class Dense:
    """X as an array, in C or Fortran order, float64 or float32.

    Parameters
    ----------
    X : (n, k) ndarray
        The design; never copied whole.
    basis : (k, k) upper triangular ndarray, optional
        Stand for ``X @ inv(basis)`` instead: the same column space in a well-conditioned basis (section 3 of the
        architecture, "ill-conditioned designs"). A row is transformed when it is used.
    """

    def __init__(self, X: ndarray, basis: ndarray | None = None):
        self.X, self.basis, self.shape = X, basis, X.shape

    def __getitem__(self, rows) -> Dense:
        """The same columns for some rows, as float64 ready for arithmetic."""
        X = self.X[rows]
        if X.dtype != np.float64:
            X = X.astype(np.float64)
        if self.basis is not None:
            X = solve_triangular(self.basis, X.T, trans="T", check_finite=False).T
        return Dense(X)

    def rotated(self, basis: ndarray) -> Dense:
        """These columns in the basis that makes them ``X @ inv(basis)``."""
        return Dense(self.X, basis)

    def __matmul__(self, b: ndarray) -> ndarray:
        return self.X @ b

    def times(self, u: ndarray) -> ndarray:
        """X' u, (k,) or (k, q)."""
        return self.X.T @ u

    def gram(self, w: ndarray) -> ndarray:
        """X' diag(w) X for w >= 0, by one symmetric rank-n update."""
        X, root = self.X, np.sqrt(w)
        by_column = X.strides[0] <= X.strides[1]
        # a broadcast over short rows is slow; einsum is not
        Z = X * root[:, None] if by_column else np.einsum("ij,i->ij", X, root)
        return Z.T @ Z

    def toarray(self) -> ndarray:
        """The columns as an (n, k) array."""
        return self.X
