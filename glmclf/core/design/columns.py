"""Columns: what X is to everyone else. Three operations only: X @ b, X' u and the gram X' diag(w) X.

The last two also come as one, `times_and_gram`, which reads X once.

`Dense` holds an array. `Cells` holds the numbers of a formula as an array and its factors as cell codes, which are
never expanded: the gram of two factors is a weighted count of their cells. `from_pieces` chooses; nobody else knows.
`Sparse` holds a scipy.sparse array.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray
from scipy import sparse
from scipy.linalg import solve_triangular

from glmclf.core.numerics.double_double import product


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
    with np.errstate(invalid="ignore"):  # an infinite number in a cell that a factor rules out is NaN
        for piece in pieces:
            _fill(piece, X[:, start : start + len(piece.num)])
            start += len(piece.num)
    return X


def _fill(piece: Piece, out: ndarray) -> None:
    for j, (a, b) in enumerate(zip(piece.num, piece.cat, strict=True)):
        column = out[:, j]
        if piece.codes is None:
            column[:] = 1.0 if piece.numbers is None else piece.numbers[:, a]
            continue
        np.take(piece.contrast[:, b], piece.codes, out=column, mode="wrap")
        if piece.numbers is not None:
            column *= piece.numbers[:, a]


def from_pieces(pieces: list[Piece], n: int) -> Dense | Cells:
    """The columns that `pieces` describe, in whichever form makes a pass cheaper.

    The costs are nanoseconds a row, measured: a dense gram takes 0.1 k^2 + 6 k, a weighted count 4, a product of one
    dense column with one factor 5.
    """
    k = sum(len(p.num) for p in pieces)
    coded = [piece for piece in pieces if piece.codes is not None]
    d = k - sum(len(piece.num) for piece in coded)
    m = sum(len(np.unique(piece.num)) for piece in coded)
    counted = 0.1 * d * d + 6 * d + m * (12 + 5 * d) + 2 * m * (m + 1)
    largest = max((len(piece.contrast) for piece in coded), default=0)
    if n < SMALL or not coded or counted > 0.1 * k * k + 6 * k or largest > MANY_CELLS:
        return Dense(dense(pieces, n))
    return Cells(pieces, n)


def some_columns(X: Columns, columns: ndarray) -> Columns:
    """The same rows of some columns, in ascending order."""
    return reordered(X, columns)


def reordered(X: Columns, *columns: ndarray) -> Columns:
    """The same rows of some columns, group after group; those of a group in ascending order."""
    if isinstance(X, Cells):
        return from_pieces([piece for group in columns for piece in _some_pieces(X, group)], X.shape[0])
    return type(X)(X.X[:, np.concatenate(columns)])


def _some_pieces(X: Cells, columns: ndarray) -> Iterator[Piece]:
    start = 0
    for piece in X.pieces:
        mine = columns[(columns >= start) & (columns < start + len(piece.num))] - start
        start += len(piece.num)
        if len(mine):
            yield piece._replace(num=piece.num[mine], cat=piece.cat[mine])


def beside(X: Columns, Z: ndarray) -> Columns:
    """The same rows with more columns, Z (n, c), after those of X, which is in its own basis."""
    if isinstance(X, Dense):
        return Dense(np.column_stack([X.X, Z]))
    if isinstance(X, Sparse):
        return Sparse(sparse.csr_array(sparse.hstack([X.X, sparse.csr_array(Z)])))
    c = np.arange(Z.shape[1])
    return Cells([*X.pieces, Piece(np.asfortranarray(Z), None, None, c, np.zeros_like(c))], X.shape[0])


def triangular_inverse(basis: ndarray) -> ndarray:
    """T = inv(basis), which stands for itself: the coordinates of ``X @ T`` are what it makes them, however T is
    rounded."""
    return solve_triangular(basis, np.eye(len(basis)), check_finite=False)


FEW, CHUNK = 24, 4096
MANY = 64  # columns from which pairs of classes are worth an update each
CACHED = 2**16  # doubles of a chunk
EXACT = 200_000_000  # n k^2 up to which rows are put into another basis in twofold arithmetic, to lose no digit
KEPT = 2_000_000  # entries of a design whose rows, once put there in twofold arithmetic, are kept
EXPANDABLE = 50_000_000  # entries of a table that may be expanded for the sake of digits
SMALL = 20_000  # rows below which the calls of `Cells` cost more than the arithmetic of `Dense`
DENSE = 0.1  # share of entries that are not 0 from which the gram of expanded rows is the faster
JOINT = 8  # rows for each cell of all factors together from which these are taken as one
MANY_CELLS = 20_000  # cells of one term above which a table of two terms' cells is no longer small


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
        self._made: dict[tuple, Dense] = {}

    least_rcond = 1e-6  # below this a Cholesky factor of the gram leaves standard errors fewer than ten digits

    @property
    def block_size(self) -> int:
        """Rows a block: 16,384 at k = 10, 4,096 at k = 100 (measured: the block, its weighted copy, six vectors)."""
        return int(np.clip(2 ** np.round(np.log2(51_800 / np.sqrt(max(self.shape[1], 1)))), 1024, 65_536))

    def __getitem__(self, rows) -> Dense:
        """The same columns for some rows, as float64 ready for arithmetic."""
        few = self.exact and self.shape[0] * self.shape[1] <= KEPT
        kept = few and isinstance(rows, slice) and self._inverse is not None
        if kept and (found := self._made.get((rows.start, rows.stop, rows.step))) is not None:
            return found
        X = self.X[rows]
        if X.dtype != np.float64:
            X = X.astype(np.float64)
        if self._inverse is not None:
            X = product(X, self._inverse) if self.exact else X @ self._inverse
        out = Dense(X)
        if kept:
            self._made[rows.start, rows.stop, rows.step] = out
        return out

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
        some = self.X.T.take(rows, axis=1).T if self.X.flags.f_contiguous else np.asfortranarray(self.X[rows])
        return Dense(some, self.basis, self.exact)

    def __matmul__(self, b: ndarray) -> ndarray:
        return self.X @ b if b.ndim == 1 else (b.T @ self.X.T).T

    def lengths(self, T: ndarray) -> ndarray:
        """Squared lengths of the rows of X T, (n,)."""
        Z = self.X @ T
        return np.einsum("ij,ij->i", Z, Z)

    def times(self, u: ndarray) -> ndarray:
        """X' u, (k,) or (k, q)."""
        return self.X.T @ u if u.ndim == 1 else (u.T @ self.X).T

    def gram(self, w: ndarray) -> ndarray:
        """X' diag(w) X for w >= 0, by one symmetric rank-n update."""
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
        if k >= MANY:
            by_column = self.X.strides[0] <= self.X.strides[1]
            return _of_each_pair(self if by_column else Dense(np.asfortranarray(self.X)), P)
        K = P.shape[1]
        G = np.zeros((k * K, k * K))
        chunk = max(256, min(n, CACHED // (k * K)))
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

    def largest(self) -> ndarray:
        """Largest absolute value of each column, (k,)."""
        return np.maximum(self.X.max(axis=0), -self.X.min(axis=0)).astype(np.float64)

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

    def largest(self) -> ndarray:
        """Largest absolute value of each column, (width,)."""
        if self.numbers is None:
            top = (np.bincount(self.codes, minlength=self.cells) > 0).astype(np.float64)
        else:
            top = np.zeros(self.cells)
            np.maximum.at(top, self.codes, np.abs(self.numbers))
        return np.abs(self.of_cells(np.eye(self.width)) * top[:, None]).max(axis=0)

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
            if (name := position.tobytes()) not in shared:
                shared[name] = position[piece.codes]
            yield Part(numbers, shared[name], None, at[here])
        else:
            if b"" not in shared:
                shared[b""] = piece.codes.astype(np.int32)
            yield Part(numbers, shared[b""], table, at[here])


class Joint:
    """Factors taken as one, whose cells are those of all: a sum by its cells holds the sums by each and by each pair.

    Parameters
    ----------
    parts : list of Part
        Without numbers.
    """

    def __init__(self, parts: list[Part]):
        self.parts, self.shape = parts, tuple(part.cells for part in parts)
        self.codes = parts[0].codes.astype(np.intp)
        for part in parts[1:]:
            self.codes *= part.cells
            self.codes += part.codes

    def sums(self, u: ndarray) -> ndarray:
        """Sums of u by cell, with an axis for each factor."""
        return np.bincount(self.codes, weights=u, minlength=math.prod(self.shape)).reshape(self.shape)

    def spread(self, b: ndarray) -> ndarray:
        """Values by row of coefficients b of all columns of X, (k,) or (k, q)."""
        rest = b.shape[1:]
        values = np.zeros((*self.shape, *rest))
        for i, part in enumerate(self.parts):
            ones = [1] * len(self.shape)
            ones[i] = part.cells
            values += part.of_cells(b[part.at]).reshape(*ones, *rest)
        return values.reshape(-1, *rest)[self.codes]


class Cells:
    """X as an array of numbers and, for each factor or interaction, cell codes: 4 bytes a row instead of 8 a column.

    Parameters
    ----------
    pieces : list of Piece
        What the terms of a formula contribute.
    n : int
        Rows.
    basis, exact
        As in `Dense`: such rows are expanded, when they are used.
    """

    basis: ndarray | None = None
    _inverse: ndarray | None = None

    def __init__(self, pieces: list[Piece], n: int, basis: ndarray | None = None, exact: bool | None = None):
        self.pieces, self.shape = pieces, (n, sum(len(p.num) for p in pieces))
        self.exact = is_small(*self.shape) if exact is None else exact
        if basis is not None:
            self.basis, self._inverse = basis, triangular_inverse(basis)

    def _parts(self, coded: bool) -> list[Part]:
        starts = np.cumsum([0, *(len(p.num) for p in self.pieces)]).tolist()
        mine = [(p, at) for p, at in zip(self.pieces, starts, strict=False) if (p.codes is not None) == coded]
        return [part for piece, at in mine for part in _parts(piece, at)]

    @cached_property
    def coded(self) -> list[Part]:
        """The columns with a factor; like the next two made when first used, as repeated rows are found without."""
        return self._parts(True)

    @cached_property
    def at(self) -> ndarray:
        """Places of the other columns in X."""
        return np.array([part.at[0] for part in self._parts(False)], dtype=np.intp)

    @cached_property
    def D(self) -> ndarray:
        """The other columns, (n, d)."""
        plain = self._parts(False)
        D = np.empty((self.shape[0], len(plain)), order="F")
        for j, part in enumerate(plain):
            D[:, j] = 1.0 if part.numbers is None else part.numbers
        return D

    @cached_property
    def _joint(self) -> Joint | None:
        """The factors that stand alone as one, where its cells are few beside the rows."""
        parts = [part for part in self.coded if part.numbers is None]
        size = math.prod(part.cells for part in parts)
        return Joint(parts) if len(parts) > 1 and JOINT * size <= self.shape[0] else None

    @property
    def least_rcond(self) -> float:
        """As for `Dense`; rotated rows are expanded, so large tables keep the gram while it leaves some digits."""
        return Dense.least_rcond if self.shape[0] * self.shape[1] < EXPANDABLE else 1e-9

    @property
    def block_size(self) -> int:
        """Rows a block: enough that the arithmetic outweighs the calls, and the (k, k) array that a block adds; fewer
        where they are expanded."""
        k = self.shape[1]
        return max(65_536, k * k // 8) if self._inverse is None else expanded_rows(k)

    def __getitem__(self, rows) -> Cells | Dense:
        """The same columns for some rows; in another basis these are expanded."""
        if self._inverse is not None:
            pieces = [_cut(piece, rows) for piece in self.pieces]
            X = dense(pieces, len(range(*rows.indices(self.shape[0]))) if isinstance(rows, slice) else len(rows))
            return Dense(product(X, self._inverse) if self.exact else X @ self._inverse)
        other = object.__new__(Cells)
        other.pieces, other.exact = [_cut(piece, rows) for piece in self.pieces], self.exact
        other.coded, other.at, other.D = [part[rows] for part in self.coded], self.at, self.D[rows]
        other.shape = (len(other.D), self.shape[1])
        return other

    def rotated(self, basis: ndarray, exact: bool | None = None) -> Cells:
        """These columns in the basis that makes them ``X @ inv(basis)``."""
        return Cells(self.pieces, self.shape[0], basis, exact)

    def mapped(self, T: ndarray, exact: bool | None = None) -> Cells:
        """``X @ T`` for any T (k, m), each row made when it is used."""
        out = Cells(self.pieces, self.shape[0], None, exact)
        out._inverse, out.shape = T, (self.shape[0], T.shape[1])
        return out

    def subset(self, rows: ndarray) -> Cells:
        """Some rows, in the same basis."""
        out = Cells([_cut(piece, rows) for piece in self.pieces], len(rows), None, self.exact)
        out.basis, out._inverse, out.shape = self.basis, self._inverse, (len(rows), self.shape[1])
        return out

    def __matmul__(self, b: ndarray) -> ndarray:
        eta = self.D @ b[self.at]
        if self._joint is not None:
            eta += self._joint.spread(b)
        for part in self._apart:
            eta += part.spread(b[part.at])
        return eta

    @property
    def _apart(self) -> list[Part]:
        """The factors that are not in the joint one."""
        return [part for part in self.coded if self._joint is None or part.numbers is not None]

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
        self._collect_times(u, out)
        return out

    def _collect_times(self, u: ndarray, out: ndarray) -> None:
        if self._joint is not None:
            cube = self._joint.sums(u)
            for i, part in enumerate(self._joint.parts):
                out[part.at] = part.collect(_margin(cube, i))
        for part in self._apart:
            sums = np.bincount(part.codes, weights=part.weighted(u), minlength=part.cells)
            out[part.at] = part.collect(sums)

    def gram(self, w: ndarray) -> ndarray:
        """X' diag(w) X for w >= 0, by weighted counts of cells."""
        G = np.zeros((self.shape[1], self.shape[1]))
        G[np.ix_(self.at, self.at)] = Dense(self.D).gram(w)
        self._collect_gram(w, G)
        return G

    def _collect_gram(self, w: ndarray, G: ndarray) -> None:
        if self._joint is not None:
            self._collect_joint_gram(self._joint, w, G)
        for i, part in enumerate(self.coded):
            alone = self._joint is not None and part.numbers is None
            if not alone:
                self._set(G, part.at, self.at, part.collect(_sums_by_cell(part, part.weighted(w), self.D)))
            for other in self.coded[: i + 1]:
                if not (alone and other.numbers is None):
                    self._set(G, part.at, other.at, _cross(part, other, w))

    def _collect_joint_gram(self, joint: Joint, w: ndarray, G: ndarray) -> None:
        counts = joint.sums(w)
        for i, part in enumerate(joint.parts):
            self._set(G, part.at, part.at, _own(part, part, _margin(counts, i)))
            for j, other in enumerate(joint.parts[:i]):
                self._set(G, other.at, part.at, other.collect(part.collect(_margin(counts, j, i).T).T))
        for at, column in zip(self.at, self.D.T, strict=True):
            cube = counts if at in self._constants else joint.sums(w * column)
            for i, part in enumerate(joint.parts):
                G[part.at, at] = G[at, part.at] = part.collect(_margin(cube, i))

    @cached_property
    def _constants(self) -> list[int]:
        """Places of columns of ones."""
        return [int(part.at[0]) for part in self._parts(False) if part.numbers is None]

    @staticmethod
    def _set(G: ndarray, rows: ndarray, columns: ndarray, block: ndarray) -> None:
        G[np.ix_(rows, columns)] = block
        G[np.ix_(columns, rows)] = block.T

    def stacked_gram(self, P: ndarray) -> ndarray:
        """As in `Dense`, a gram for each pair."""
        return _of_each_pair(self, P)

    def times_and_gram(self, u: ndarray, w: ndarray) -> tuple[ndarray, ndarray]:
        """X' u and X' diag(w) X."""
        k = self.shape[1]
        s, G = np.empty(k), np.zeros((k, k))
        s[self.at], G[np.ix_(self.at, self.at)] = Dense(self.D).times_and_gram(u, w)
        self._collect_times(u, s)
        self._collect_gram(w, G)
        return s, G

    def largest(self) -> ndarray:
        """Largest absolute value of each column, (k,)."""
        out = np.empty(self.shape[1])
        out[self.at] = Dense(self.D).largest()
        for part in self.coded:
            out[part.at] = part.largest()
        return out

    def toarray(self) -> ndarray:
        """The columns as an (n, k) array, column-contiguous: as many bytes as a dense X, so of a block at a time."""
        return dense(self.pieces, self.shape[0])


class Sparse:
    """X as a scipy.sparse array; rows are expanded block by block, and only where that is the shorter way.

    Parameters
    ----------
    X : (n, k) csr_array
        float64 or float32.
    basis, exact
        As in `Dense`.
    """

    def __init__(self, X: sparse.csr_array, basis: ndarray | None = None, exact: bool | None = None):
        self.X, self.basis, self.shape = X, basis, X.shape
        self.exact = is_small(*X.shape) if exact is None else exact
        self._inverse = None if basis is None else triangular_inverse(basis)

    @property
    def least_rcond(self) -> float:
        """As for `Cells`."""
        return Dense.least_rcond if self.shape[0] * self.shape[1] < EXPANDABLE else 1e-9

    @property
    def block_size(self) -> int:
        """Rows a block: many, as each adds a (k, k) array, but no more than may be expanded."""
        if self._inverse is not None:
            return expanded_rows(self.shape[1])
        return int(np.clip(2 ** np.floor(np.log2(2**24 / max(self.shape[1], 1))), 4096, 65_536))

    def __getitem__(self, rows) -> Sparse | Dense:
        """The same columns for some rows, as float64 ready for arithmetic."""
        X = self.X[rows]
        if X.dtype != np.float64:
            X = X.astype(np.float64)
        if self._inverse is None:
            return Sparse(X)
        return Dense(product(X.toarray(), self._inverse) if self.exact else X @ self._inverse)

    def rotated(self, basis: ndarray, exact: bool | None = None) -> Sparse:
        """These columns in the basis that makes them ``X @ inv(basis)``."""
        return Sparse(self.X, basis, exact)

    def subset(self, rows: ndarray) -> Sparse:
        """Some rows, in the same basis."""
        return Sparse(self.X[rows], self.basis, self.exact)

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
        """X' diag(w) X for w >= 0."""
        n, k = self.shape
        if self.X.nnz > DENSE * n * k:
            parts = (slice(start, start + CHUNK) for start in range(0, n, CHUNK))
            return sum((Dense(self.X[rows].toarray()).gram(w[rows]) for rows in parts), np.zeros((k, k)))
        indices, starts = self.X.indices, self.X.indptr
        weighted = sparse.csr_array((self.X.data * np.repeat(np.sqrt(w), np.diff(starts)), indices, starts), (n, k))
        G = (weighted.T @ weighted).toarray()
        return 0.5 * (G + G.T)

    def stacked_gram(self, P: ndarray) -> ndarray:
        """As in `Dense`, a gram for each pair."""
        return _of_each_pair(self, P)

    def times_and_gram(self, u: ndarray, w: ndarray) -> tuple[ndarray, ndarray]:
        """X' u and X' diag(w) X."""
        return self.times(u), self.gram(w)

    def largest(self) -> ndarray:
        """Largest absolute value of each column, (k,)."""
        return abs(self.X).max(axis=0).toarray().ravel().astype(np.float64)

    def toarray(self) -> ndarray:
        """The columns as an (n, k) array: as many bytes as a dense X, so of a block at a time."""
        return self.X.toarray()


def rows_at_once(X: Columns) -> int:
    """Rows of a block of which each is wanted as numbers."""
    return X.block_size if isinstance(X, Dense) else min(X.block_size, expanded_rows(X.shape[1]))


def expandable(blocks: Any) -> Any:
    """The same rows in blocks of which each may be expanded."""
    return blocks.rechunk(min(blocks.size, rows_at_once(blocks.arrays[0])))


def expanded_rows(k: int) -> int:
    """Rows of a block that are expanded to k columns each: some megabytes."""
    return int(np.clip(2 ** np.floor(np.log2(2**20 / max(k, 1))), 1024, 65_536))


def _of_each_pair(X: Dense | Cells | Sparse, P: ndarray) -> ndarray:
    """Blocks X' diag(P_j P_l) X of pairs of different columns of P, (k K, k K)."""
    k, K = X.shape[1], P.shape[1]
    G = np.zeros((k * K, k * K))
    for j in range(K):
        for i in range(j):
            block = X.gram(P[:, i] * P[:, j])
            G[j * k : (j + 1) * k, i * k : (i + 1) * k] = block
            G[i * k : (i + 1) * k, j * k : (j + 1) * k] = block
    return G


def _cut(piece: Piece, rows) -> Piece:
    return piece._replace(
        numbers=None if piece.numbers is None else piece.numbers[rows],
        codes=None if piece.codes is None else piece.codes[rows],
    )


def _sums_by_cell(part: Part, w: ndarray, D: ndarray) -> ndarray:
    """Weighted sums of the columns of D by cell, (cells, d)."""
    sums = np.empty((part.cells, D.shape[1]))
    for j, column in enumerate(D.T):
        sums[:, j] = np.bincount(part.codes, weights=w * column, minlength=part.cells)
    return sums


def _own(a: Part, b: Part, sums: ndarray) -> ndarray:
    """The gram of two parts of the same codes from sums by cell, (a.width, b.width)."""
    inner = np.diag(sums) if b.table is None else sums[:, None] * b.table
    return a.collect(inner[:, : b.width])


def _margin(cube: ndarray, *axes: int) -> ndarray:
    """Sums over all axes but these, which are in ascending order."""
    return cube.sum(axis=tuple(j for j in range(cube.ndim) if j not in axes))


def _cross(a: Part, b: Part, w: ndarray) -> ndarray:
    """The gram of two parts, (a.width, b.width)."""
    weights = b.weighted(a.weighted(w))
    if a.codes is b.codes:
        return _own(a, b, np.bincount(a.codes, weights=weights, minlength=a.cells))
    counts = np.bincount(a.codes * np.int32(b.cells) + b.codes, weights=weights, minlength=a.cells * b.cells)
    return a.collect(b.collect(counts.reshape(a.cells, b.cells).T).T)


Columns = Dense | Cells | Sparse
