"""Columns of a design in which a factor has many levels: its gram is an arrow matrix, made by weighted counts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray
from scipy import sparse

from glmclf.core.design import coding
from glmclf.core.design.coding import LevelCoding
from glmclf.core.design.dense import Dense, expanded_rows
from glmclf.core.design.factor import CodedColumns, FactorColumns, SubtermColumns, cut, expand, level_coding
from glmclf.core.numerics.arrow import MAX_DENSE_BYTES, ArrowLayout, ArrowMatrix, BlocksPlusLowRank, OuterProducts

ROWS_TO_COMPARE = 256  # rows that show of most columns of the border that they are not those of a slot


class Slot(NamedTuple):
    """Columns of the factor of many levels that share a vector of numbers, one a level.

    Attributes
    ----------
    numbers : (n,) ndarray or None
        None counts as one.
    places : (L,) integer ndarray
        Place of each level's column in X; -1 for none.
    """

    numbers: ndarray | None
    places: ndarray


@dataclass(frozen=True, eq=False)
class GroupSums:
    """Sums of scores by group of rows: of the border, (groups, q), and of the levels, sparse (groups, L m)."""

    layout: ArrowLayout
    top: ndarray
    below: Any

    def __len__(self) -> int:
        return len(self.top)

    def __add__(self, other: GroupSums) -> GroupSums:
        return GroupSums(self.layout, self.top + other.top, self.below + other.below)

    def summed(self, to_groups: Any) -> GroupSums:
        """Sums by larger groups, of a sparse matrix (larger, groups)."""
        return GroupSums(self.layout, to_groups @ self.top, to_groups @ self.below)

    def narrowed(self, keep: ndarray) -> GroupSums:
        """The sums of some parameters, a mask (p,)."""
        slots = np.where(self.layout.there, keep[self.layout.slots], False).ravel()
        below = self.below @ sparse.diags_array(slots.astype(float))
        return GroupSums(self.layout.narrowed(keep), self.top[:, keep[self.layout.border]], below)

    def __matmul__(self, M: ndarray) -> ndarray:
        """Product with a matrix (p, c), (groups, c)."""
        border, levels = self.layout.gather(M)
        return self.top @ border + self.below @ levels.reshape(-1, M.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """Groups and parameters."""
        return len(self.top), self.layout.size

    def squares(self) -> ndarray:
        """Sums of the squares of each parameter's sums, (p,)."""
        below = np.asarray(self.below.power(2).sum(axis=0)).reshape(self.layout.slots.shape)
        return self.layout.scatter((self.top**2).sum(axis=0), below)

    def outer_products(self) -> ArrowMatrix | OuterProducts:
        """Sum of the groups' outer products: an arrow matrix where no group has rows of two levels.

        Raises
        ------
        NotImplementedError
            Groups of several levels that are so many that their sums take gigabytes.
        """
        top, below, (L, m) = self.top, self.below.tocsr(), self.layout.slots.shape
        entries = below.tocoo()
        here = entries.data != 0
        group, level = entries.coords[0][here], entries.coords[1][here] // m
        own = np.full(len(top), -1)
        own[group] = level
        if (own[group] == level).all():
            C = np.empty((L, m, m))
            for i, j in itertools.product(range(m), repeat=2):
                C[:, i, j] = below[:, i::m].multiply(below[:, j::m]).sum(axis=0)
            return ArrowMatrix(self.layout, top.T @ top, (below.T @ top).reshape(L, m, -1), C)
        size = 8e-9 * len(top) * self.layout.size
        if size > 1e-9 * MAX_DENSE_BYTES:
            raise NotImplementedError(
                f"sums of {len(top):,} clusters, of which some have rows of several levels, for {self.layout.size:,} "
                f"parameters would take {size:.1f} GB: cluster by the factor that has the levels"
            )
        return OuterProducts(self.layout.scatter(top.T, below.T.toarray().reshape(L, m, len(top))))


class ArrowColumns(FactorColumns):
    """X in which one factor has many levels: intercepts, slopes or both by level, beside a border of other columns.

    Parameters
    ----------
    pieces : list of SubtermColumns
        What the terms of a formula contribute; some of them have the codes of the factor, by `spine`.
    n : int
        Rows.
    """

    def __init__(self, pieces: list[SubtermColumns], n: int):
        super().__init__(pieces, n)
        mine = spine(pieces)
        assert mine is not None
        starts = np.cumsum([0, *(len(p.num) for p in pieces)])
        self._mine = mine
        of_levels: Any = next(piece.codes for piece, own in zip(pieces, mine, strict=True) if own)
        self.codes = of_levels.astype(np.intp)
        pairs = list(zip(pieces, starts, mine, strict=False))
        self.slots = [slot for piece, start, own in pairs if own for slot in _slots(piece, int(start))]
        at = [np.arange(start, start + len(piece.num)) for piece, start, own in pairs if not own]
        border = np.concatenate(at) if at else np.zeros(0, dtype=np.intp)
        self.layout = ArrowLayout(border, np.column_stack([slot.places for slot in self.slots]), self.shape[1])
        rest = [piece for piece, own in zip(pieces, mine, strict=True) if not own]
        coded = any(piece.codes is not None for piece in rest)
        self.border: Any = FactorColumns(rest, n) if coded else Dense(expand(rest, n))
        self._constants = _constants(rest)

    @property
    def block_size(self) -> int:
        """Rows a block: enough that the arithmetic outweighs the arrow matrix that a block adds."""
        L, m = self.layout.slots.shape
        return max(65_536, 2 * L * m * (m + len(self.layout.border)))

    @property
    def rows_of_border(self) -> int:
        """Rows of a block of which the border may be expanded."""
        return expanded_rows(len(self.layout.border) + len(self.slots))

    def __getitem__(self, rows: Any) -> ArrowColumns:
        """Columns of X for some rows."""
        other = object.__new__(type(self))
        other.pieces, other.layout, other.codes = cut(self.pieces, rows), self.layout, self.codes[rows]
        other._mine = self._mine
        other.slots = [s._replace(numbers=None if s.numbers is None else s.numbers[rows]) for s in self.slots]
        other.border, other._constants = self.border[rows], self._constants
        other.shape = (len(other.codes), self.shape[1])
        return other

    def __matmul__(self, b: ndarray) -> ndarray:
        border, levels = self.layout.gather(b)
        eta = self.border @ border
        for i, slot in enumerate(self.slots):
            values = levels[self.codes, i]
            eta += values if slot.numbers is None else (values.T * slot.numbers).T
        return eta

    def times(self, u: ndarray) -> ndarray:
        """X' u, (k,) or (k, q)."""
        if u.ndim == 2:
            return np.column_stack([self.times(column) for column in u.T])
        return self.layout.scatter(self.border.times(u), self.level_sums(u))

    def level_sums(self, u: ndarray) -> ndarray:
        """Sums of u times the numbers of each slot by level, (L, m)."""
        return np.column_stack([self.level_sums_of(i, u) for i in range(len(self.slots))])

    def equal_columns(self, other: ArrowColumns, own: ndarray, theirs: ndarray) -> ndarray | None:
        """Mask of pairs of columns, at places of X and of another, that are equal, as is told without expanding levels:
        one of a level and one of the border count as different. None where rows have other levels."""
        if not np.array_equal(self.codes, other.codes):
            return None
        (a, s), (b, t) = ([part[at] for part in X.layout.owners] for X, at in ((self, own), (other, theirs)))
        m = range(len(self.slots)), range(len(other.slots))
        same = np.array([[np.array_equal(self.slot_numbers(i), other.slot_numbers(j)) for j in m[1]] for i in m[0]])
        equal, rest = (a == b) & (a >= 0) & same[s, t], np.flatnonzero((a < 0) & (b < 0))
        A, B = (
            X.border.toarray()[:, np.searchsorted(X.layout.border, at[rest])]
            for X, at in ((self, own), (other, theirs))
        )
        equal[rest] = (A == B).all(axis=0)
        return equal

    def slot_numbers(self, i: int) -> ndarray:
        """Numbers of the columns of a slot, (n,)."""
        numbers = self.slots[i].numbers
        return np.ones(self.shape[0]) if numbers is None else numbers

    @property
    def numbers(self) -> ndarray:
        """Numbers of which all columns are made, (n, q + m): the border and those of the slots."""
        return np.column_stack([self.border.toarray(), *(self.slot_numbers(i) for i in range(len(self.slots)))])

    @property
    def distinctions(self) -> ndarray:
        """Numbers that tell rows apart as all columns do, (n, q + 2m): the border, and of each slot the number and the
        place of its column."""
        columns = [self.border.toarray()]
        for i, slot in enumerate(self.slots):
            places = slot.places[self.codes]
            numbers = np.where(places >= 0, self.slot_numbers(i), 0.0)
            columns += [numbers, np.where(numbers != 0, places, -1)]
        return np.column_stack(columns)

    def by_column(self, values: ndarray) -> ndarray:
        """What is known of `numbers` by column of X, (q + m,) -> (k,)."""
        border, slots = np.split(values, [len(self.layout.border)])
        return self.layout.scatter(border, np.broadcast_to(slots, self.layout.slots.shape))

    @property
    def constant(self) -> ndarray | None:
        """Coefficients (k,) of zeros and ones whose combination of columns is one in every row; None without such."""
        out = np.zeros(self.shape[1])
        if self._constants:
            out[self.layout.border[self._constants[0]]] = 1.0
            return out
        for i, slot in enumerate(self.slots):
            if slot.numbers is None and self.layout.there[:, i].all():
                out[self.layout.slots[:, i]] = 1.0
                return out
        return None

    @property
    def constant_column(self) -> int | None:
        """Place of a column of ones; None without such."""
        return int(self.layout.border[self._constants[0]]) if self._constants else None

    def column_like(self, i: int) -> int | None:
        """Place of a column of the border that has the numbers of a slot in every row; None without such."""
        numbers = self.slots[i].numbers
        if numbers is None:
            return self.constant_column
        some = slice(ROWS_TO_COMPARE)
        for j in np.flatnonzero((self.border[some].toarray() == numbers[some, None]).all(axis=0)).tolist():
            if np.array_equal(self.border @ np.eye(1, len(self.layout.border), j)[0], numbers):
                return int(self.layout.border[j])
        return None

    @property
    def intercepts(self) -> ndarray:
        """Place of each level's intercept, (L,); -1 where it has none."""
        out = np.full(len(self.layout.slots), -1)
        for slot in self.slots:
            if slot.numbers is None:
                out = np.where(out < 0, slot.places, out)
        return out

    @property
    def numeric(self) -> list[int]:
        """Columns of the border, by their place in it, that are numbers and neither constants nor coded."""
        return [int(part.at[0]) for part in self._border_parts if part.codes is None and part.numbers is not None]

    @property
    def slots_of_numbers(self) -> list[int]:
        """Slots that have numbers."""
        return [i for i, slot in enumerate(self.slots) if slot.numbers is not None]

    def sums_of_numbers(self) -> ndarray:
        """Rows of each level, and sums by level of the `numeric` columns and of the numbers of slots, (., L)."""
        border = {int(part.at[0]): part.numbers for part in self._border_parts if part.codes is None}
        columns: list[Any] = [*(border[j] for j in self.numeric)]
        columns += [self.slots[i].numbers for i in self.slots_of_numbers]
        return np.stack([self._count(np.ones(self.shape[0])), *(self._count(column) for column in columns)])

    def less(self, border: ndarray, levels: ndarray) -> ArrowColumns:
        """The columns less values by level, of those of the border (L, q) that are numbers and of those of slots (L, m)
        that have numbers."""
        pieces, j, s = [], 0, 0
        for piece, own in zip(self.pieces, self._mine, strict=True):
            width, numbers = len(piece.num), piece.numbers
            if own:
                used = np.unique(piece.num)
                if numbers is not None:
                    numbers = numbers.astype(float)
                    numbers[:, used] -= levels[:, s : s + len(used)][self.codes]
                    piece = piece._replace(numbers=numbers)
                s += len(used)
            else:
                if piece.codes is None and numbers is not None:
                    numbers = np.asfortranarray(numbers[:, piece.num] - border[:, j : j + width][self.codes])
                    piece = piece._replace(numbers=numbers, num=np.arange(width))
                j += width
            pieces.append(piece)
        return ArrowColumns(pieces, self.shape[0])

    def _count(self, u: ndarray) -> ndarray:
        return np.bincount(self.codes, weights=u, minlength=len(self.layout.slots))

    def toarray(self) -> ndarray:
        """The columns as an (n, k) array, column-contiguous.

        Raises
        ------
        NotImplementedError
            It would take gigabytes: what needs rows of all columns is not to be had with so many levels.
        """
        check_rows(*self.shape)
        return super().toarray()

    def _check_border(self) -> None:
        q, (L, m) = len(self.layout.border), self.layout.slots.shape
        size = 8 * q * (q + L * m)
        if size > MAX_DENSE_BYTES:
            raise NotImplementedError(
                f"beside a factor of {L:,} levels the other {q:,} columns would take {1e-9 * size:.1f} GB: only one "
                "factor may have that many levels. Merge levels of the others, or leave them out"
            )

    def gram(self, w: ndarray) -> Any:
        """X' diag(w) X, an `ArrowMatrix`."""
        self._check_border()
        return ArrowMatrix(self.layout, self.border.gram(w), *self._bands(w))

    def times_and_gram(self, u: ndarray, w: ndarray) -> tuple[ndarray, Any]:
        """X' u and X' diag(w) X."""
        self._check_border()
        score, A = self.border.times_and_gram(u, w)
        return self.layout.scatter(score, self.level_sums(u)), ArrowMatrix(self.layout, A, *self._bands(w))

    def _bands(self, w: ndarray) -> tuple[ndarray, ndarray]:
        """What the gram has between levels and border, (L, m, q), and in the levels' own blocks, (L, m, m)."""
        there = self.layout.there
        L, m = there.shape
        B, C = np.zeros((L, m, len(self.layout.border))), np.zeros((L, m, m))
        for i, slot in enumerate(self.slots):
            mine = _times(w, slot.numbers)
            total = self._count(mine)
            for j, other in enumerate(self.slots[: i + 1]):
                both = total if other.numbers is None else self._count(mine * other.numbers)
                C[:, i, j] = C[:, j, i] = np.where(there[:, i] & there[:, j], both, 0.0)
            for part in self._border_parts:
                if part.codes is None:
                    by_level = total if part.numbers is None else self._count(mine * part.numbers)
                    B[:, i, part.at[0]] = by_level
                else:
                    cells = self.codes * part.cells + part.codes
                    table = np.bincount(cells, weights=part.weighted(mine), minlength=L * part.cells)
                    B[:, i, part.at] = part.collect(table.reshape(L, part.cells).T).T
            B[~there[:, i], i] = 0.0
        return B, C

    @property
    def _border_parts(self) -> list[CodedColumns]:
        """The columns of the border, by their place in it."""
        if isinstance(self.border, Dense):
            X, ones = self.border.X, self._constants
            return [
                CodedColumns(None if j in ones else X[:, j], None, None, np.array([j])) for j in range(X.shape[1])
            ]
        plain = [
            CodedColumns(None if j in self._constants else column, None, None, np.array([j]))
            for j, column in zip(self.border.at, self.border.D.T, strict=True)
        ]
        return plain + self.border.coded

    def fits(self, V: Any, q: int = 1) -> bool:
        """Whether a covariance, of q equations, has the levels of these columns in their places but for some that it
        lacks, so that `forms` takes rows without expanding them."""
        if not isinstance(V, BlocksPlusLowRank):
            return False
        mine, its = self.layout.repeated(q).slots, V.layout.slots
        return mine.shape == its.shape and bool(((mine == its) | (its < 0)).all())

    def form(self, M: Any) -> ndarray:
        """Quadratic form x' M x of each row, (n,), M symmetric: blocks of levels plus a low rank, or an array."""
        if not self.fits(M):
            M = np.asarray(M)
            return np.concatenate([np.einsum("ij,ij->i", a @ M, a) for a in self._expanded_parts()])
        return self.forms(M, 1)[:, 0, 0]

    def uses(self, columns: ndarray) -> ndarray:
        """Mask of the rows in which one of some columns, a mask (k,), is not zero."""
        found = self.border.uses(columns[self.layout.border])
        for slot in self.slots:
            there = np.where(slot.places >= 0, columns[slot.places], False)[self.codes]
            found |= there if slot.numbers is None else there & (slot.numbers != 0)
        return found

    def representatives(self, columns: ndarray) -> tuple[ndarray, ndarray]:
        """Rows that take all values, other than zeros, which some columns take, a mask (k,): their places, and for each
        row the place among these of the one that is like it, -1 where the columns are zero or a number is infinite.
        Of intercepts a row a level is enough."""
        there = self.uses(columns)
        for piece in self.pieces:
            if piece.numbers is not None:
                there &= np.isfinite(piece.numbers).all(axis=1)
        rows, of = np.flatnonzero(there), np.full(self.shape[0], -1)
        numbers = [s.places[s.places >= 0] for s in self.slots if s.numbers is not None]
        constants = np.zeros(len(self.layout.border), dtype=bool)
        constants[self._constants] = True
        if any(columns[places].any() for places in numbers) or columns[self.layout.border[~constants]].any():
            of[rows] = np.arange(len(rows))
            return rows, of
        _, first, of[rows] = np.unique(self.codes[rows], return_index=True, return_inverse=True)
        return rows[first], of

    def _expanded_parts(self) -> Any:
        step = max(1, 2**20 // self.shape[1])
        return (self.expanded(slice(i, i + step)) for i in range(0, self.shape[0], step))

    def forms(self, M: BlocksPlusLowRank, q: int) -> ndarray:
        """Blocks x' M_ij x of each row for pairs of q equations, (n, q, q)."""
        Z = np.stack([self @ part for part in np.split(M.Z, q)])
        out = np.einsum("ina,ab,jnb->nij", Z, M.K, Z, optimize=True)
        there, m = M.layout.there, len(self.slots)
        D = np.where(there[:, :, None] & there[:, None, :], M.D, 0.0)
        for (i, s), (j, t) in itertools.product(itertools.product(range(q), range(m)), repeat=2):
            own = D[self.codes, i * m + s, j * m + t]
            out[:, i, j] += _times(_times(own, self.slots[s].numbers), self.slots[t].numbers)
        return out

    def covariances_within(self, V: BlocksPlusLowRank) -> Iterator[ndarray]:
        """Covariances (n,) of each row's linear predictor with the coefficient of its own level in a slot, by slot."""
        Z, D = self @ V.Z @ V.K, V.D
        for i, slot in enumerate(self.slots):
            h = np.einsum("ij,ij->i", Z, np.where((slot.places >= 0)[:, None], V.Z[slot.places], 0.0)[self.codes])
            for j, other in enumerate(self.slots):
                both = (self.layout.there[:, i] & self.layout.there[:, j])[self.codes]
                h += np.where(both, _times(D[self.codes, j, i], other.numbers), 0.0)
            yield h

    def level_sums_of(self, i: int, u: ndarray) -> ndarray:
        """Sums by level of u times the numbers of a slot, (L,)."""
        return self._count(_times(u, self.slots[i].numbers))

    def sums_by(self, codes: ndarray, u: ndarray, groups: int) -> GroupSums:
        """Sums by group of the rows times u, (n,), or (n, q) of several equations, one after the other."""
        u = u.reshape(len(u), -1)
        n, q, (L, m) = len(u), u.shape[1], self.layout.slots.shape
        to_groups = sparse.csr_array((np.ones(n), (codes, np.arange(n))), shape=(groups, n))
        border = self.border.toarray()
        top = np.hstack([to_groups @ (border * column[:, None]) for column in u.T])
        below = sparse.csr_array((groups, L * m * q))
        for i, column in enumerate(u.T):
            for s, slot in enumerate(self.slots):
                mine = np.where(self.layout.there[self.codes, s], _times(column, slot.numbers), 0.0)
                at = self.codes * (m * q) + (i * m + s)
                below = below + sparse.csr_array((mine, (codes, at)), shape=below.shape)
        return GroupSums(self.layout.repeated(q), top, below)

    def ends(self) -> tuple[ndarray, ndarray, ndarray]:
        """Smallest and largest value of each column, and which hold zeros and ones alone."""
        X, shape = self.border.toarray(), self.layout.slots.shape
        low, high, other = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        counts = self._count(np.ones(self.shape[0]))
        for i in range(len(self.slots)):
            numbers = self.slot_numbers(i)
            low[:, i], high[:, i] = np.where(counts == self.shape[0], np.inf, 0.0), np.where(counts > 0, -np.inf, 0.0)
            np.minimum.at(low[:, i], self.codes, numbers)
            np.maximum.at(high[:, i], self.codes, numbers)
            high[:, i] = np.where(counts < self.shape[0], np.maximum(high[:, i], 0.0), high[:, i])
            other[:, i] = self._count((numbers * numbers != np.abs(numbers)).astype(float))
        scatter = self.layout.scatter
        flags = scatter(((X == 0) | (X == 1)).all(axis=0).astype(float), (low >= 0) & (high <= 1) & (other == 0))
        return scatter(X.min(axis=0), low), scatter(X.max(axis=0), high), flags.astype(bool)

    def largest(self) -> ndarray:
        """Largest absolute value of each column, (k,)."""
        levels = np.zeros(self.layout.slots.shape)
        for i, slot in enumerate(self.slots):
            if slot.numbers is None:
                levels[:, i] = self._count(np.ones(self.shape[0])) > 0
            else:
                np.maximum.at(levels[:, i], self.codes, np.abs(slot.numbers))
        return self.layout.scatter(self.border.largest(), levels)


def check_rows(n: int, k: int) -> None:
    """Raise NotImplementedError for an array of rows of all columns that would take more than `MAX_DENSE_BYTES`."""
    if 8 * n * k > MAX_DENSE_BYTES:
        raise NotImplementedError(
            f"{n:,} rows of all {k:,} columns, {8e-9 * n * k:.1f} GB, are what this needs at once: a factor has too "
            "many levels for it"
        )


def of_levels(blocks: Any) -> ArrowColumns | None:
    """The first of the arrays of blocks, or of a few of their rows, if a factor has many levels in it."""
    X = blocks.few()[0] if blocks.streamed else blocks.arrays[0]
    return X if isinstance(X, ArrowColumns) else None


def spine(pieces: list[SubtermColumns]) -> list[bool] | None:
    """Which pieces are of the factor that has the most levels; None where none has many."""
    widths: dict[int, int] = {}
    own = [is_of_levels(piece) for piece in pieces]
    for piece, fits in zip(pieces, own, strict=True):
        if fits:
            widths[id(piece.codes)] = max(widths.get(id(piece.codes), 0), len(np.unique(piece.cat)))
    if not widths or max(widths.values()) < coding.MANY_LEVELS:
        return None
    most = max(widths, key=widths.__getitem__)
    return [fits and id(piece.codes) == most for piece, fits in zip(pieces, own, strict=True)]


def is_of_levels(piece: SubtermColumns) -> bool:
    """Whether the columns of a piece are zeros but for a level each."""
    if piece.codes is None or len(piece.cat) < coding.MANY_LEVELS:
        return False
    found = level_coding(piece.contrast, np.unique(piece.cat))
    return isinstance(found, LevelCoding) and found.opposite is None


def _slots(piece: SubtermColumns, start: int) -> list[Slot]:
    out = []
    for a in np.unique(piece.num):  # in one order, whichever columns are left out
        here = np.flatnonzero(piece.num == a)
        position = level_coding(piece.contrast, piece.cat[here]).position
        places = np.where(position >= 0, start + here[position], -1)
        out.append(Slot(None if piece.numbers is None else piece.numbers[:, a], places))
    return out


def _constants(pieces: list[SubtermColumns]) -> list[int]:
    """Places among the columns of pieces of columns of ones."""
    starts = np.cumsum([0, *(len(p.num) for p in pieces)]).tolist()
    plain = [(p, at) for p, at in zip(pieces, starts, strict=False) if p.codes is None and p.numbers is None]
    return [at + j for p, at in plain for j in range(len(p.num))]


def _times(u: ndarray, numbers: ndarray | None) -> ndarray:
    return u if numbers is None else u * numbers
