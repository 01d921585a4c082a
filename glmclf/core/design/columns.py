"""Columns: what X is to everyone else. Three operations only: X @ b, X' u and the gram X' diag(w) X.

The last two also come as one, `times_and_gram`, which reads X once.

`Dense` holds an array, `FactorColumns` the numbers of a formula as an array and its factors as codes, `Sparse` a
scipy.sparse array; `from_pieces` chooses; nobody else knows. `Product` is one of these times a matrix, and is asked for
rows first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy import ndarray
from scipy import sparse

from glmclf.caching import cached_property
from glmclf.core.design.arrow import ArrowColumns
from glmclf.core.design.dense import Dense, expanded_rows
from glmclf.core.design.factor import FactorColumns, SubtermColumns
from glmclf.core.design.pieces import from_pieces
from glmclf.core.design.product import Product
from glmclf.core.design.recoding import RecodedColumns
from glmclf.core.design.sparse import Sparse
from glmclf.core.numerics.arrow import ArrowMatrix, SymmetricMatrix

Columns = Dense | FactorColumns | Sparse
Z_RIDGE = 1e-12  # share of a column's square, above the rounding of sums over rows and far below `Z_APART`
Z_APART = 1e-6  # share of a column's square that others do not explain, above which it keeps its digits beside them


def some_columns(X: Columns, columns: ndarray) -> Columns:
    """Select some columns, in ascending order, of the same rows."""
    return reordered(X, columns)


def reordered(X: Columns, *columns: ndarray) -> Columns:
    """Select some columns of the same rows, group after group; those of a group in ascending order."""
    if isinstance(X, FactorColumns):
        place = np.full(X.shape[1], -1)
        place[np.concatenate(columns)] = np.arange(sum(map(len, columns)))
        return from_pieces([piece for group in columns for piece in _some_pieces(X, group, place)], X.shape[0])
    chosen = np.concatenate(columns)
    if isinstance(X, Dense) and X.X.flags.f_contiguous:  # columns whole, as they lie there
        return Dense(X.X.T.take(chosen, axis=0).T)
    return type(X)(X.X[:, chosen])


def _some_pieces(X: FactorColumns, columns: ndarray, place: ndarray) -> Iterator[SubtermColumns]:
    """Pieces of some columns, where `place` has those of all that are chosen, -1 of the others."""
    start = 0
    for piece in X.pieces:
        mine = columns[(columns >= start) & (columns < start + len(piece.num))] - start
        start += len(piece.num)
        if len(mine):
            margin = None if piece.margin is None else place[piece.margin]
            yield piece._replace(num=piece.num[mine], cat=piece.cat[mine], margin=margin)


def beside(X: Columns, Z: ndarray) -> Columns:
    """Add more columns to the same rows, Z (n, c), after those of X, which is in its own basis."""
    if isinstance(X, Dense):
        return Dense(np.column_stack([X.X, Z]))
    if isinstance(X, Sparse):
        return Sparse(sparse.csr_array(sparse.hstack([X.X, sparse.csr_array(Z)])))
    c = np.arange(Z.shape[1])
    more = SubtermColumns(np.asfortranarray(Z), None, None, c, np.zeros_like(c))
    return type(X)([*X.pieces, more], X.shape[0])


def apart(X: Columns, Z: ndarray) -> ndarray:
    """Columns Z less what those of X explain of them, where that is nearly all; beside X they say the same."""
    X = X.by_level if isinstance(X, RecodedColumns) else X
    if isinstance(X, ArrowColumns):
        return _apart_of_levels(X, Z)
    k, both = X.shape[1], beside(X, Z)
    G = np.asarray(both.gram(np.ones(X.shape[0])))
    scale = np.sqrt(np.diag(G))
    scale[scale == 0] = 1.0
    G /= np.outer(scale, scale)
    b = np.linalg.lstsq(G[:k, :k], G[:k, k:], rcond=None)[0]
    if (1.0 - (b * G[:k, k:]).sum(axis=0) > Z_APART).all():
        return Z
    T = np.vstack([-b / scale[:k, None] * scale[k:], np.eye(Z.shape[1])])
    left = Product(both, T, True)
    starts = range(0, len(Z), left.block_size)
    return np.vstack([left[start : start + left.block_size].X for start in starts])


def _apart_of_levels(X: ArrowColumns, Z: ndarray) -> ndarray:
    """As `apart`, without an array of all pairs of columns, and with a second step for the digits.

    Of few rows, levels may be empty and columns dependent: a share of the diagonal makes the gram invertible, and the
    second step takes up what it leaves.
    """
    gram, length = X.gram(np.ones(X.shape[0])), (Z * Z).sum(axis=0)
    d = gram.diagonal()
    factor = (gram + ArrowMatrix.of_diagonal(X.layout, np.where(d > 0, Z_RIDGE * d, 1.0))).factor()
    left = Z - np.column_stack([X @ b for b in factor.solve(X.times(Z)).T])
    if ((left * left).sum(axis=0) > Z_APART * length).all():
        return Z
    return left - np.column_stack([X @ b for b in factor.solve(X.times(left)).T])


def representatives(X: Columns, columns: ndarray) -> tuple[ndarray, ndarray]:
    """Rows that stand for all others in some columns, a mask (k,); see `ArrowColumns.representatives`. Without a factor
    of many levels each row stands for itself."""
    if isinstance(X, ArrowColumns):
        return X.representatives(columns)
    rows = np.arange(X.shape[0])
    return rows, rows


class RowLengths:
    """Squared lengths of rows of X T, (n,), block by block: of factors as the quadratic form of T T', formed once.

    Parameters
    ----------
    T : (k, m) ndarray, or BlocksPlusLowRank in place of T T'
    """

    def __init__(self, T: Any):
        self._T = T

    def __call__(self, X: Columns) -> ndarray:
        """Squared lengths of the rows of a block."""
        if isinstance(self._T, SymmetricMatrix):
            return X.form(self._T)  # type: ignore[union-attr,arg-type]
        return X.form(self._square) if isinstance(X, FactorColumns) else X.lengths(self._T)

    @cached_property
    def _square(self) -> ndarray:
        return self._T @ self._T.T


def rows_at_once(X: Columns | Product) -> int:
    """Rows of a block of which each is wanted as numbers."""
    return X.block_size if isinstance(X, Dense | Product) else min(X.block_size, expanded_rows(X.shape[1]))


def expandable(blocks: Any) -> Any:
    """Blocks of the same rows, so small that each may be expanded."""
    return blocks.rechunk(min(blocks.size, rows_at_once(blocks.arrays[0])))
