"""Columns of a formula with factors: numbers as an array, factors as codes of their cells, which are never expanded.

The gram of two factors is a weighted count of their cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.core.design.coding import LevelCoding
from glmclf.core.design.dense import Dense, gram_of_each_pair, least_rcond

MIN_ROWS_PER_JOINT_CELL = 8  # rows for each cell of all factors together from which these are taken as one


class SubtermColumns(NamedTuple):
    """The columns that one subterm of a formula contributes to X.

    Column j is ``numbers[:, num[j]] * contrast[codes, cat[j]]``; a part that is None counts as one.

    Attributes
    ----------
    numbers : (n, c) ndarray or None
        Products of the columns of the subterm's numerical factors.
    codes : (n,) integer ndarray or None
        Cell of the subterm's categorical factors.
    contrast : (cells, d) ndarray, LevelCoding or None
        Coding of the cells: the Kronecker product of the factors' contrast matrices.
    num, cat : (k_j,) integer ndarrays
        Which column of `numbers` and of `contrast` each column of X uses.
    margin : integer ndarray or None
        Place in X of each column of `numbers` by itself, beside which deviations of a factor of many levels stand.
    """

    numbers: ndarray | None
    codes: ndarray | None
    contrast: Any
    num: ndarray
    cat: ndarray
    margin: ndarray | None = None


def expand(pieces: list[SubtermColumns], n: int) -> ndarray:
    """The design matrix that `pieces` describe, (n, k), column-contiguous."""
    X = np.empty((n, sum(len(p.num) for p in pieces)), order="F")
    start = 0
    with np.errstate(invalid="ignore"):  # an infinite number in a cell that a factor rules out is NaN
        for piece in pieces:
            _fill(piece, X[:, start : start + len(piece.num)])
            start += len(piece.num)
    return X


def _fill(piece: SubtermColumns, out: ndarray) -> None:
    if isinstance(piece.contrast, LevelCoding):
        _fill_levels(piece, out)
        return
    for j, (a, b) in enumerate(zip(piece.num, piece.cat, strict=True)):
        column = out[:, j]
        if piece.codes is None:
            column[:] = 1.0 if piece.numbers is None else piece.numbers[:, a]
            continue
        np.take(piece.contrast[:, b], piece.codes, out=column, mode="wrap")
        if piece.numbers is not None:
            column *= piece.numbers[:, a]


def _fill_levels(piece: SubtermColumns, out: ndarray) -> None:
    out[:] = 0.0
    for a in dict.fromkeys(piece.num.tolist()):
        here = np.flatnonzero(piece.num == a)
        rows = np.zeros((len(out), len(here)))
        piece.contrast.some(piece.cat[here]).fill(rows, piece.codes)
        out[:, here] = rows if piece.numbers is None else rows * piece.numbers[:, a, None]


@dataclass(frozen=True)
class CodedColumns:
    """Columns of X that share one vector of numbers and one coding: ``numbers * table[codes]``.

    Attributes
    ----------
    numbers : (n,) ndarray or None
    codes : (n,) int32 ndarray or None
        Where the table is None, the column (from 0) that is one in the row, or `width` for none.
    table : (cells, width) ndarray or None
    at : (width,) integer ndarray
        Places of the columns in X.
    opposite : bool
        Whether, the table being None, every column is -1 in rows of code ``width + 1``.
    """

    numbers: ndarray | None
    codes: Any
    table: ndarray | None
    at: ndarray
    opposite: bool = False

    @property
    def width(self) -> int:
        """Columns of X."""
        return len(self.at)

    @property
    def cells(self) -> int:
        """Values that the codes take."""
        return self.width + 1 + self.opposite if self.table is None else len(self.table)

    def __getitem__(self, rows) -> CodedColumns:
        numbers, codes = (None if a is None else a[rows] for a in (self.numbers, self.codes))
        return CodedColumns(numbers, codes, self.table, self.at, self.opposite)

    def weighted(self, w: ndarray) -> ndarray:
        """w times the numbers."""
        return w if self.numbers is None else w * self.numbers

    def of_cells(self, b: ndarray) -> ndarray:
        """Values by cell of coefficients b, (width, ...) -> (cells, ...), without the numbers."""
        if self.table is not None:
            return self.table @ b
        rest = [np.zeros((1, *b.shape[1:])), -b.sum(axis=0, keepdims=True)]
        return np.concatenate([b, *rest[: 1 + self.opposite]])

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
        if self.table is None:
            return np.maximum(top[: self.width], top[-1] if self.opposite else 0.0)
        return np.abs(self.table * top[:, None]).max(axis=0)

    def uses(self, columns: ndarray) -> ndarray:
        """Mask of the cells in which one of some columns, a mask (width,), is not zero."""
        if self.table is not None:
            return (self.table[:, columns] != 0).any(axis=1)
        rest = np.array([False, columns.any()])
        return np.append(columns, rest[: 1 + self.opposite])

    def collect(self, by_cell: ndarray) -> ndarray:
        """Sums over the columns from sums over the cells, (cells, ...) -> (width, ...)."""
        if self.table is not None:
            return self.table.T @ by_cell
        return by_cell[: self.width] - by_cell[-1] if self.opposite else by_cell[: self.width]


def _parts(piece: SubtermColumns, start: int) -> Iterator[CodedColumns]:
    """The parts of a piece whose columns begin at `start`: one for each of its vectors of numbers."""
    at = np.arange(start, start + len(piece.num))
    if piece.codes is None:
        for j, a in enumerate(piece.num):
            yield CodedColumns(None if piece.numbers is None else piece.numbers[:, a], None, None, at[j : j + 1])
        return
    shared: dict[bytes, ndarray] = {}
    for a in dict.fromkeys(piece.num.tolist()):
        here = np.flatnonzero(piece.num == a)
        coding = level_coding(piece.contrast, piece.cat[here])
        numbers = None if piece.numbers is None else piece.numbers[:, a]
        if isinstance(coding, LevelCoding):
            position = np.where(coding.position >= 0, coding.position, coding.width).astype(np.int32)
            if coding.opposite is not None:
                position[coding.opposite] = coding.width + 1
            if (name := position.tobytes()) not in shared:
                shared[name] = position[piece.codes]
            yield CodedColumns(numbers, shared[name], None, at[here], coding.opposite is not None)
        else:
            if b"" not in shared:
                shared[b""] = piece.codes.astype(np.int32)
            yield CodedColumns(numbers, shared[b""], coding, at[here])


def level_coding(contrast: Any, columns: ndarray) -> Any:
    """Some columns of a contrast: a `LevelCoding` where they are zeros and ones with at most a one a cell, else as a
    table."""
    if isinstance(contrast, LevelCoding):
        return contrast.some(columns)
    table = contrast[:, columns]
    if not np.isin(table[:, :1], (0, 1)).all():
        return table
    if not (((table == 0) | (table == 1)).all() and (table.sum(axis=1) <= 1).all()):
        return table
    return LevelCoding(np.where(table.any(axis=1), table.argmax(axis=1), -1), len(columns))


class CrossedFactors:
    """Factors taken as one, whose cells are those of all: a sum by its cells holds the sums by each and by each pair.

    Parameters
    ----------
    parts : list of CodedColumns
        Without numbers.
    """

    def __init__(self, parts: list[CodedColumns]):
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


class FactorColumns:
    """X as an array of numbers and, for each factor or interaction, cell codes: 4 bytes a row instead of 8 a column.

    Parameters
    ----------
    pieces : list of SubtermColumns
        What the terms of a formula contribute.
    n : int
        Rows.
    """

    def __init__(self, pieces: list[SubtermColumns], n: int):
        self.pieces, self.shape = pieces, (n, sum(len(p.num) for p in pieces))

    def _parts(self, coded: bool) -> list[CodedColumns]:
        starts = np.cumsum([0, *(len(p.num) for p in self.pieces)]).tolist()
        mine = [(p, at) for p, at in zip(self.pieces, starts, strict=False) if (p.codes is not None) == coded]
        return [part for piece, at in mine for part in _parts(piece, at)]

    @cached_property
    def coded(self) -> list[CodedColumns]:
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
    def _joint(self) -> CrossedFactors | None:
        """The factors that stand alone as one, where its cells are few beside the rows."""
        parts = [part for part in self.coded if part.numbers is None]
        size = math.prod(part.cells for part in parts)
        return CrossedFactors(parts) if len(parts) > 1 and MIN_ROWS_PER_JOINT_CELL * size <= self.shape[0] else None

    @property
    def least_rcond(self) -> float:
        """Reciprocal condition of the gram below which another basis is worth it."""
        return least_rcond(*self.shape)

    @property
    def block_size(self) -> int:
        """Rows a block: enough that the arithmetic outweighs the calls, and the (k, k) array that a block adds."""
        return max(65_536, self.shape[1] ** 2 // 8)

    def __getitem__(self, rows) -> FactorColumns:
        """Columns of X for some rows."""
        other = object.__new__(FactorColumns)
        other.pieces = cut(self.pieces, rows)
        other.coded, other.at, other.D = [part[rows] for part in self.coded], self.at, self.D[rows]
        other.shape = (len(other.D), self.shape[1])
        return other

    def subset(self, rows: ndarray) -> FactorColumns:
        """Some rows."""
        return type(self)(cut(self.pieces, rows), len(rows))

    def expanded(self, rows) -> ndarray:
        """Some rows as an array of float64."""
        n = len(range(*rows.indices(self.shape[0]))) if isinstance(rows, slice) else len(rows)
        return expand(cut(self.pieces, rows), n)

    def __matmul__(self, b: ndarray) -> ndarray:
        eta = self.D @ b[self.at]
        if self._joint is not None:
            eta += self._joint.spread(b)
        for part in self._apart:
            eta += part.spread(b[part.at])
        return eta

    @property
    def _apart(self) -> list[CodedColumns]:
        """The factors that are not in the joint one."""
        return [part for part in self.coded if self._joint is None or part.numbers is not None]

    def form(self, M: ndarray) -> ndarray:
        """Quadratic form x' M x of each row, (n,), M symmetric: its blocks by cell, looked up."""
        out = np.einsum("ij,ij->i", self.D @ M[np.ix_(self.at, self.at)], self.D)
        for i, part in enumerate(self.coded):
            if len(self.at):
                out += 2.0 * np.einsum("ij,ij->i", self.D, part.spread(M[np.ix_(part.at, self.at)]))
            for other in self.coded[: i + 1]:
                by_cells = part.of_cells(other.of_cells(M[np.ix_(part.at, other.at)].T).T)
                values = other.weighted(part.weighted(by_cells[part.codes, other.codes]))
                out += values if other is part else 2.0 * values
        return out

    def uses(self, columns: ndarray) -> ndarray:
        """Mask of the rows in which one of some columns, a mask (k,), is not zero."""
        found = (self.D[:, columns[self.at]] != 0).any(axis=1)
        for part in self.coded:
            there = part.uses(columns[part.at])[part.codes]
            found |= there if part.numbers is None else there & (part.numbers != 0)
        return found

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

    def squares(self, w: ndarray) -> ndarray:
        """Diagonal of X' diag(w) X, (k,)."""
        out = np.empty(self.shape[1])
        out[self.at] = Dense(self.D).squares(w)
        for part in self.coded:
            sums = np.bincount(part.codes, weights=part.weighted(part.weighted(w)), minlength=part.cells)
            out[part.at] = sums[: part.width] if part.table is None else (part.table**2).T @ sums
        return out

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

    def _collect_joint_gram(self, joint: CrossedFactors, w: ndarray, G: ndarray) -> None:
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
        """Blocks X' diag(P_j P_l) X for pairs of columns of P, a gram for each pair, as in `Dense`."""
        return gram_of_each_pair(self, P)

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
        return expand(self.pieces, self.shape[0])


def cut(pieces: list[SubtermColumns], rows: Any) -> list[SubtermColumns]:
    """Pieces of some rows, in which those that share codes still do."""
    codes = {id(piece.codes): piece.codes[rows] for piece in pieces if piece.codes is not None}
    return [
        piece._replace(
            numbers=None if piece.numbers is None else piece.numbers[rows], codes=codes.get(id(piece.codes))
        )
        for piece in pieces
    ]


def _sums_by_cell(part: CodedColumns, w: ndarray, D: ndarray) -> ndarray:
    """Weighted sums of the columns of D by cell, (cells, d)."""
    sums = np.empty((part.cells, D.shape[1]))
    for j, column in enumerate(D.T):
        sums[:, j] = np.bincount(part.codes, weights=w * column, minlength=part.cells)
    return sums


def _own(a: CodedColumns, b: CodedColumns, sums: ndarray) -> ndarray:
    """The gram of two parts of the same codes from sums by cell, (a.width, b.width)."""
    inner = np.diag(sums)[:, : b.width].copy() if b.table is None else sums[:, None] * b.table
    if b.opposite:
        inner[-1] = -sums[-1]
    return a.collect(inner)


def _margin(cube: ndarray, *axes: int) -> ndarray:
    """Sums over all axes but these, which are in ascending order."""
    return cube.sum(axis=tuple(j for j in range(cube.ndim) if j not in axes))


def _cross(a: CodedColumns, b: CodedColumns, w: ndarray) -> ndarray:
    """The gram of two parts, (a.width, b.width)."""
    weights = b.weighted(a.weighted(w))
    if a.codes is b.codes:
        return _own(a, b, np.bincount(a.codes, weights=weights, minlength=a.cells))
    counts = np.bincount(a.codes * np.int32(b.cells) + b.codes, weights=weights, minlength=a.cells * b.cells)
    return a.collect(b.collect(counts.reshape(a.cells, b.cells).T).T)
