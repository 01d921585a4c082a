"""Columns times a matrix, of which rows are made when they are used: a design in another basis."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray
from scipy.linalg import solve_triangular

from glmclf.core.design.basis import DesignBasis
from glmclf.core.design.dense import Dense, dense_rows, expanded_rows
from glmclf.core.design.factor import FactorColumns
from glmclf.core.design.sparse import Sparse
from glmclf.core.numerics.double_double import product

MAX_TWOFOLD_ARITHMETIC = 200_000_000  # n k^2 up to which rows are put into another basis in twofold arithmetic
MAX_KEPT_ENTRIES = 2_000_000  # entries of a design whose rows, once put there in twofold arithmetic, are kept


class Product:
    """X @ T, of which rows are made when they are used, in twofold arithmetic unless the design is large.

    With T = inv(basis) this is the same column space in a well-conditioned basis: a fit in it has all the digits that
    the data hold. It has no operations of its own: ``[rows]`` gives the columns that have them.

    Parameters
    ----------
    X : Dense, FactorColumns or Sparse
    T : (k, m) ndarray
    exact : bool, optional
        Whether in twofold arithmetic; by default where the design is not large.
    """

    def __init__(self, X: Dense | FactorColumns | Sparse, T: ndarray, exact: bool | None = None):
        self.X, self.T, self.shape, self.least_rcond = X, T, (X.shape[0], T.shape[1]), X.least_rcond
        self.exact = is_small(*X.shape) if exact is None else exact
        self._made: dict[tuple, Dense] = {}

    @property
    def block_size(self) -> int:
        """Rows a block: as of `Dense`, or as many as are expanded at once."""
        return (dense_rows if isinstance(self.X, Dense) else expanded_rows)(self.shape[1])

    def __getitem__(self, rows) -> Dense:
        """Some rows, ready for arithmetic; those of a small design are kept."""
        few = self.exact and self.shape[0] * self.shape[1] <= MAX_KEPT_ENTRIES
        key = (rows.start, rows.stop, rows.step) if few and isinstance(rows, slice) else None
        if key is not None and key in self._made:
            return self._made[key]
        out = Dense(self._rows(rows))
        if key is not None:
            self._made[key] = out
        return out

    def _rows(self, rows) -> ndarray:
        if self.exact:
            return product(self.X.expanded(rows), self.T)
        return (self.X[rows].X if isinstance(self.X, Sparse) else self.X.expanded(rows)) @ self.T

    def subset(self, rows: ndarray) -> Product:
        """Some rows."""
        return Product(self.X.subset(rows), self.T, self.exact)


def rotated(X: Dense | FactorColumns | Sparse, basis: Any, exact: bool | None = None) -> Any:
    """Columns in the basis that makes them ``X @ inv(basis)``."""
    if isinstance(basis, DesignBasis):
        return basis.columns(X, exact)
    return Product(X, triangular_inverse(basis), exact)


def triangular_inverse(basis: Any) -> ndarray:
    """T = inv(basis), which stands for itself: the coordinates of ``X @ T`` are what it makes them,
    however T is rounded."""
    if isinstance(basis, DesignBasis):
        return basis.inverse
    return solve_triangular(basis, np.eye(len(basis)), check_finite=False)


def is_small(n: int, k: int) -> bool:
    """Whether rows are put into another basis in twofold arithmetic unasked."""
    return n * k * k <= MAX_TWOFOLD_ARITHMETIC
