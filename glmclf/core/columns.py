"""Columns: what X is to everyone else. Three operations only: X @ b, X' u and the gram X' diag(w) X.

The last two also come as one, `times_and_gram`, which reads X once.

`Dense` holds an array. `Cells` holds the numbers of a formula as an array and its factors as cell codes, which are
never expanded: the gram of two factors is a weighted count of their cells. `from_pieces` chooses; nobody else knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray
from scipy import sparse
from scipy.linalg import solve_triangular

from glmclf.core.twofold import product


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
    contrast: Any
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


def from_pieces(pieces: list[Piece], n: int) -> Dense | Cells:
    """The columns that `pieces` describe, in whichever form makes a pass cheaper.

    The costs are nanoseconds a row, measured: a dense gram takes 0.1 k^2 + 6 k, a weighted count 4, a product of one
    dense column with one factor 5.
    """
    k = sum(len(p.num) for p in pieces)
    parts = [part for piece in pieces for part in _parts(piece, 0)]
    coded = [part for part in parts if part.codes is not None]
    d = k - sum(part.width for part in coded)
    m = len(coded)
    counted = 0.1 * d * d + 6 * d + m * (12 + 5 * d) + 2 * m * (m + 1)
    largest = max((part.cells for part in coded), default=0)
    if n < SMALL or not coded or counted > 0.1 * k * k + 6 * k or largest > MANY_CELLS:
        return Dense(dense(pieces, n))
    return Cells(pieces, n)


def some_columns(X: Dense | Cells, columns: ndarray) -> Dense | Cells:
    """The same rows of some columns, in ascending order."""
    if isinstance(X, Dense):
        return Dense(X.X[:, columns])
    pieces, start = [], 0
    for piece in X.pieces:
        mine = columns[(columns >= start) & (columns < start + len(piece.num))] - start
        start += len(piece.num)
        if len(mine):
            pieces.append(piece._replace(num=piece.num[mine], cat=piece.cat[mine]))
    return from_pieces(pieces, X.shape[0])


def triangular_inverse(basis: ndarray) -> ndarray:
    """T = inv(basis), which stands for itself: the coordinates of ``X @ T`` are what it makes them, however T is
    rounded."""
    return solve_triangular(basis, np.eye(len(basis)), check_finite=False)


FEW, CHUNK = 24, 4096
EXACT = 200_000_000  # n k^2 up to which rows are put into another basis in twofold arithmetic, to lose no digit
EXPANDABLE = 50_000_000  # entries of a table that may be expanded for the sake of digits
SMALL = 20_000  # rows below which the calls of `Cells` cost more than the arithmetic of `Dense`
MANY_CELLS = 2_000  # cells of one term above which a table of two terms' cells is no longer small


def is_small(n: int, k: int) -> bool:
    """Whether rows are put into another basis in twofold arithmetic unasked."""
    return n * k * k <= EXACT


class Dense:
    """X as an array, in C or Fortran order, float64 or float32.

    Parameters
    ----------
    X : (n, k) ndarray
        The design; never copied whole.
    basis : (k, k) upper triangular ndarray, optional
        Stand for ``X @ inv(basis)`` instead: the same column space in a well-conditioned basis (section 3 of the
        architecture, "ill-conditioned designs"). A row is transformed when it is used, exactly to rounding unless the
        design is large: the fit in that basis then has all the digits that the data hold.
    exact : bool, optional
        Whether rows are transformed in twofold arithmetic; by default where the design is not large.
    """

    def __init__(self, X: ndarray, basis: ndarray | None = None, exact: bool | None = None):
        self.X, self.basis, self.shape = X, basis, X.shape
        self.exact = is_small(*X.shape) if exact is None else exact
        self._inverse = None if basis is None else triangular_inverse(basis)

    least_rcond = 1e-6  # below this a Cholesky factor of the gram leaves standard errors fewer than ten digits

    @property
    def block_size(self) -> int:
        """Rows a block: 16,384 at k = 10, 4,096 at k = 100 (measured: the block, its weighted copy, six vectors)."""
        return int(np.clip(2 ** np.round(np.log2(51_800 / np.sqrt(max(self.shape[1], 1)))), 1024, 65_536))

    def __getitem__(self, rows) -> Dense:
        """The same columns for some rows, as float64 ready for arithmetic."""
        X = self.X[rows]
        if X.dtype != np.float64:
            X = X.astype(np.float64)
        if self._inverse is not None:
            X = product(X, self._inverse) if self.exact else X @ self._inverse
        return Dense(X)

    def rotated(self, basis: ndarray, exact: bool | None = None) -> Dense:
        """These columns in the basis that makes them ``X @ inv(basis)``."""
        return Dense(self.X, basis, exact)

    def mapped(self, T: ndarray, exact: bool | None = None) -> Dense:
        """``X @ T`` for any T (k, m), each row made when it is used; X is in its own basis."""
        out = Dense(self.X, None, exact)
        out._inverse, out.shape = T, (self.shape[0], T.shape[1])
        return out

    def subset(self, rows: ndarray) -> Dense:
        """Some rows, in the same basis."""
        return Dense(self.X[rows], self.basis, self.exact)

    def __matmul__(self, b: ndarray) -> ndarray:
        return self.X @ b

    def lengths(self, T: ndarray) -> ndarray:
        """Squared lengths of the rows of X T, (n,)."""
        Z = self.X @ T
        return np.einsum("ij,ij->i", Z, Z)

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

    def stacked_gram(self, P: ndarray) -> ndarray:
        """Gram of the columns ``[X * P[:, 0], X * P[:, 1], ...]``, (k q, k q), in chunks that stay in the cache."""
        n, k = self.shape
        q = P.shape[1]
        chunk = max(256, min(n, 2**19 // (k * q)))
        G, Z = np.zeros((k * q, k * q)), np.empty((k * q, chunk))
        for start in range(0, n, chunk):
            X, weights = self.X[start : start + chunk], P[start : start + chunk]
            part = Z[:, : len(X)]
            for j in range(q):
                np.multiply(X.T, weights[:, j], out=part[j * k : (j + 1) * k])
            G += part @ part.T
        return G

    def times_and_gram(self, u: ndarray, w: ndarray) -> tuple[ndarray, ndarray]:
        """X' u and X' diag(w) X. With few columns one product [X w, u]' X in chunks that stay in the cache; a
        symmetric update is faster only from some thirty columns on."""
        n, k = self.shape
        if k > FEW or self.X.strides[0] > self.X.strides[1]:
            return self.times(u), self.gram(w)
        both, M = np.zeros((k + 1, k)), np.empty((k + 1, min(n, CHUNK)))
        for start in range(0, n, CHUNK):
            X = self.X[start : start + CHUNK]
            part = M[:, : len(X)]
            np.multiply(X.T, w[start : start + CHUNK], out=part[:k])
            part[k] = u[start : start + CHUNK]
            both += part @ X
        G = both[:k]
        return both[k], 0.5 * (G + G.T)

    def toarray(self) -> ndarray:
        """The columns as an (n, k) array."""
        return self.X


@dataclass(frozen=True)
class Part:
    """Columns of X that share one vector of numbers and one coding: ``numbers * table[codes]``.

    Attributes
    ----------
    numbers : (n,) ndarray or None
    codes : (n,) int32 ndarray or None
        Where the table is None, the column (from 0) that is one in the row, or `width` for none.
    table : (cells, width) ndarray or None
    at : (width,) integer ndarray
        Places of the columns in X.
    """

    numbers: ndarray | None
    codes: Any
    table: ndarray | None
    at: ndarray

    @property
    def width(self) -> int:
        """Columns of X."""
        return len(self.at)

    @property
    def cells(self) -> int:
        """Values that the codes take."""
        return self.width + 1 if self.table is None else len(self.table)

    def __getitem__(self, rows) -> Part:
        numbers, codes = (None if a is None else a[rows] for a in (self.numbers, self.codes))
        return Part(numbers, codes, self.table, self.at)

    def weighted(self, w: ndarray) -> ndarray:
        """w times the numbers."""
        return w if self.numbers is None else w * self.numbers

    def of_cells(self, b: ndarray) -> ndarray:
        """Values by cell of coefficients b, (width, ...) -> (cells, ...), without the numbers."""
        return np.concatenate([b, np.zeros((1, *b.shape[1:]))]) if self.table is None else self.table @ b

    def spread(self, b: ndarray) -> ndarray:
        """Values by row of coefficients b, (width,) or (width, q)."""
        values = self.of_cells(b)[self.codes]
        return values if self.numbers is None else (values.T * self.numbers).T

    def collect(self, by_cell: ndarray) -> ndarray:
        """Sums over the columns from sums over the cells, (cells, ...) -> (width, ...)."""
        return by_cell[: self.width] if self.table is None else self.table.T @ by_cell


def _parts(piece: Piece, start: int) -> Iterator[Part]:
    """The parts of a piece whose columns begin at `start`: one for each of its vectors of numbers."""
    at = np.arange(start, start + len(piece.num))
    if piece.codes is None:
        for j, a in enumerate(piece.num):
            yield Part(None if piece.numbers is None else piece.numbers[:, a], None, None, at[j : j + 1])
        return
    shared: dict[bytes, ndarray] = {}
    for a in dict.fromkeys(piece.num.tolist()):
        here = np.flatnonzero(piece.num == a)
        table = piece.contrast[:, piece.cat[here]]
        numbers = None if piece.numbers is None else piece.numbers[:, a]
        if ((table == 0) | (table == 1)).all() and (table.sum(axis=1) <= 1).all():
            position = np.where(table.any(axis=1), table.argmax(axis=1), len(here)).astype(np.int32)
            codes = shared.setdefault(position.tobytes(), position[piece.codes])
            yield Part(numbers, codes, None, at[here])
        else:
            codes = shared.setdefault(b"", piece.codes.astype(np.int32))
            yield Part(numbers, codes, table, at[here])


class Cells:
    """X as an array of numbers and, for each factor or interaction, cell codes: 4 bytes a row instead of 8 a column.

    Parameters
    ----------
    pieces : list of Piece
        What the terms of a formula contribute.
    n : int
        Rows.
    """

    def __init__(self, pieces: list[Piece], n: int):
        self.pieces, self.shape = pieces, (n, sum(len(p.num) for p in pieces))
        starts = np.cumsum([0, *(len(p.num) for p in pieces)])
        parts = [part for piece, start in zip(pieces, starts, strict=False) for part in _parts(piece, int(start))]
        plain = [part for part in parts if part.codes is None]
        self.coded = [part for part in parts if part.codes is not None]
        self.at = np.array([part.at[0] for part in plain], dtype=np.intp)
        self.D = np.empty((n, len(plain)))
        for j, part in enumerate(plain):
            self.D[:, j] = 1.0 if part.numbers is None else part.numbers

    @property
    def least_rcond(self) -> float:
        """As for `Dense`; rotating expands the factors, so large tables keep the gram while it leaves some digits."""
        return Dense.least_rcond if self.shape[0] * self.shape[1] < EXPANDABLE else 1e-9

    @property
    def block_size(self) -> int:
        """Rows a block: enough that the arithmetic outweighs the calls."""
        return 65_536

    def __getitem__(self, rows) -> Cells:
        """The same columns for some rows."""
        other = object.__new__(Cells)
        other.pieces = [_cut(piece, rows) for piece in self.pieces]
        other.coded, other.at, other.D = [part[rows] for part in self.coded], self.at, self.D[rows]
        other.shape = (len(other.D), self.shape[1])
        return other

    def rotated(self, basis: ndarray, exact: bool | None = None) -> Dense:
        """These columns in the basis that makes them ``X @ inv(basis)``."""
        return Dense(self.toarray(), basis, exact)

    def mapped(self, T: ndarray, exact: bool | None = None) -> Dense:
        """``X @ T`` for any T (k, m), each row made when it is used."""
        return Dense(self.toarray()).mapped(T, exact)

    def subset(self, rows: ndarray) -> Cells:
        """Some rows."""
        return self[rows]

    def __matmul__(self, b: ndarray) -> ndarray:
        eta = self.D @ b[self.at]
        for part in self.coded:
            eta += part.spread(b[part.at])
        return eta

    def lengths(self, T: ndarray) -> ndarray:
        """Squared lengths of the rows of X T, (n,), as the quadratic form of T T': its blocks by cell, looked up."""
        M = T @ T.T
        out = np.einsum("ij,ij->i", self.D @ M[np.ix_(self.at, self.at)], self.D)
        for i, part in enumerate(self.coded):
            if len(self.at):
                out += 2.0 * np.einsum("ij,ij->i", self.D, part.spread(M[np.ix_(part.at, self.at)]))
            for other in self.coded[: i + 1]:
                by_cells = part.of_cells(other.of_cells(M[np.ix_(part.at, other.at)].T).T)
                values = other.weighted(part.weighted(by_cells[part.codes, other.codes]))
                out += values if other is part else 2.0 * values
        return out

    def times(self, u: ndarray) -> ndarray:
        """X' u, (k,) or (k, q)."""
        if u.ndim == 2:
            return np.column_stack([self.times(column) for column in u.T])
        out = np.empty(self.shape[1])
        out[self.at] = self.D.T @ u
        for part in self.coded:
            sums = np.bincount(part.codes, weights=part.weighted(u), minlength=part.cells)
            out[part.at] = part.collect(sums)
        return out

    def gram(self, w: ndarray) -> ndarray:
        """X' diag(w) X for w >= 0, by weighted counts of cells."""
        G = np.zeros((self.shape[1], self.shape[1]))
        G[np.ix_(self.at, self.at)] = Dense(self.D).gram(w)
        for i, part in enumerate(self.coded):
            self._set(G, part.at, self.at, part.collect(_sums_by_cell(part, part.weighted(w), self.D)))
            for other in self.coded[: i + 1]:
                self._set(G, part.at, other.at, _cross(part, other, w))
        return G

    @staticmethod
    def _set(G: ndarray, rows: ndarray, columns: ndarray, block: ndarray) -> None:
        G[np.ix_(rows, columns)] = block
        G[np.ix_(columns, rows)] = block.T

    def stacked_gram(self, P: ndarray) -> ndarray:
        """Gram of the columns ``[X * P[:, 0], X * P[:, 1], ...]`` for P >= 0, (k q, k q)."""
        k, q = self.shape[1], P.shape[1]
        G = np.empty((k * q, k * q))
        for j in range(q):
            for i in range(j + 1):
                block = self.gram(P[:, i] * P[:, j])
                G[j * k : (j + 1) * k, i * k : (i + 1) * k] = block
                G[i * k : (i + 1) * k, j * k : (j + 1) * k] = block
        return G

    def times_and_gram(self, u: ndarray, w: ndarray) -> tuple[ndarray, ndarray]:
        """X' u and X' diag(w) X."""
        return self.times(u), self.gram(w)

    def toarray(self) -> ndarray:
        """The columns as an (n, k) array, column-contiguous."""
        return dense(self.pieces, self.shape[0])


def _cut(piece: Piece, rows) -> Piece:
    return piece._replace(
        numbers=None if piece.numbers is None else piece.numbers[rows],
        codes=None if piece.codes is None else piece.codes[rows],
    )


def _sums_by_cell(part: Part, w: ndarray, D: ndarray) -> ndarray:
    """Weighted sums of the columns of D by cell, (cells, d)."""
    n = len(w)
    members = sparse.csc_array((w, part.codes, np.arange(n + 1, dtype=np.int32)), shape=(part.cells, n))
    return members @ D


def _cross(a: Part, b: Part, w: ndarray) -> ndarray:
    """The gram of two parts, (a.width, b.width)."""
    weights = b.weighted(a.weighted(w))
    if a.codes is b.codes:
        sums = np.bincount(a.codes, weights=weights, minlength=a.cells)
        inner = np.diag(sums) if b.table is None else sums[:, None] * b.table
        return a.collect(inner[:, : b.width])
    counts = np.bincount(a.codes * np.int32(b.cells) + b.codes, weights=weights, minlength=a.cells * b.cells)
    return a.collect(b.collect(counts.reshape(a.cells, b.cells).T).T)
