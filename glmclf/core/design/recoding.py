"""Codings of a factor of many levels other than treatment coding, led back to a column for each level.

With their margin, the column of ones or of the numbers by which they are multiplied, the columns of a coding span what
a column for each level spans. These make the information an arrow matrix, and the parameters of the coding are a linear
map of theirs: of sum coding by the mean of all levels, of any other by a table of levels times levels.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.core.design import coding
from glmclf.core.design.arrow import ArrowColumns, check_rows, is_of_levels, spine
from glmclf.core.design.basis import DesignBasis, by_equation
from glmclf.core.design.coding import LevelCoding
from glmclf.core.design.dense import Dense
from glmclf.core.design.factor import FactorColumns, SubtermColumns, cut
from glmclf.core.numerics.arrow import ArrowLayout, BlocksPlusLowRank, SymmetricMatrix, check_dense

MAX_CONDITION = 1e8  # of a table of levels, its columns of length one, above which its inverse loses half of its digits
RIGHT_ANGLES = 1e-12  # error of the transpose as an inverse, up to which columns of length one are at right angles
ROUNDED_ROW = 1e-11  # share of the terms of a row's number of a level up to which it is rounding
MAX_ROWS_ENTRIES = 2**22  # of combinations of all parameters that are made at once


class LevelTable:
    """Coding of levels by a table, with its inverse.

    Parameters
    ----------
    rows : (L, L) ndarray
        Of each level, in columns of which the first may be the margin.
    """

    def __init__(self, rows: ndarray):
        self.rows = rows
        self._size = np.linalg.norm(rows, axis=0)

    @cached_property
    def inverse(self) -> Any:
        """Inverse of the table; None where it has none that keeps most of its digits."""
        if not self._size.all():
            return None
        rows = self.rows / self._size
        inverse, v = rows.T, np.random.default_rng(0).normal(size=(len(rows), 3))
        if np.abs(inverse @ (rows @ v) - v).max() > RIGHT_ANGLES:
            try:
                inverse = np.linalg.inv(rows)
            except np.linalg.LinAlgError:
                return None
        condition = np.linalg.norm(rows, 1) * np.linalg.norm(inverse, 1)
        return inverse / self._size[:, None] if condition < MAX_CONDITION else None

    @cached_property
    def has_margin(self) -> bool:
        """Whether the first column is one number throughout."""
        return bool((self.rows[:, 0] == self.rows[0, 0]).all())


_TABLES: dict[int, tuple[weakref.ref, LevelTable]] = {}


def _table_of(contrast: ndarray) -> LevelTable:
    """Table of a contrast matrix, with the margin where it lacks one; made once as long as the matrix is there."""
    known = _TABLES.get(id(contrast))
    if known is not None and known[0]() is contrast:
        return known[1]
    L, width = contrast.shape
    rows = contrast if width == L else np.column_stack([np.ones(L), contrast])
    key, tables = id(contrast), _TABLES
    tables[key] = weakref.ref(contrast, lambda _: tables.pop(key, None)), LevelTable(rows)
    return tables[key][1]


@dataclass(frozen=True, eq=False)
class CodedGroups:
    """Groups of columns that one coding of the levels makes, each of a vector of numbers.

    Attributes
    ----------
    places : (g, L) integer ndarray
        Places in X of the columns of each group, the margin first, which are in the basis those of levels.
    table : LevelTable or None
        The coding; None for deviations from the mean of all levels, of which the first level has no column.
    """

    places: ndarray
    table: LevelTable | None = None

    @property
    def has_margin(self) -> bool:
        """Whether the first column of each group is its margin, which has one number for all levels."""
        return self.table is None or self.table.has_margin

    @property
    def is_of_numbers(self) -> bool:
        """Whether the first column of each group is its vector of numbers itself."""
        return self.table is None or (self.table.has_margin and bool(self.table.rows[0, 0] == 1.0))

    def levels(self, b: ndarray) -> ndarray:
        """Coefficients of the levels, from those of the columns of each group, (g, L, ...)."""
        if self.table is not None:
            return _matmul(self.table.rows, b)
        margin, rest = b[:, :1], b[:, 1:]
        return np.concatenate([margin - rest.sum(axis=1, keepdims=True), margin + rest], axis=1)

    def columns(self, u: ndarray) -> ndarray:
        """Coefficients of the columns, from those of the levels."""
        if self.table is not None:
            return _matmul(self.table.inverse, u)
        mean = u.mean(axis=1, keepdims=True)
        return np.concatenate([mean, u[:, 1:] - mean], axis=1)

    def combinations(self, r: ndarray) -> ndarray:
        """Combinations of coefficients of the columns as such of those of the levels."""
        if self.table is not None:
            return _matmul(self.table.inverse.T, r)
        share = (r[:, :1] - r[:, 1:].sum(axis=1, keepdims=True)) / self.places.shape[1]
        return np.concatenate([share, r[:, 1:] + share], axis=1)

    def sizes(self, r: ndarray) -> ndarray:
        """Sums of the absolute terms of `combinations`, of r not below 0."""
        if self.table is not None:
            return _matmul(np.abs(self.table.inverse).T, r)
        share = r.sum(axis=1, keepdims=True) / self.places.shape[1]
        return np.concatenate([share, r[:, 1:] + share], axis=1)

    def into_squares(self, d: ndarray) -> ndarray:
        """Squares of the entries of the map to levels, transposed, times d."""
        if self.table is not None:
            return _matmul(self.table.rows.T**2, d)
        return np.concatenate([d.sum(axis=1, keepdims=True), d[:, :1] + d[:, 1:]], axis=1)

    def back_squares(self, d: ndarray) -> ndarray:
        """Squares of the entries of the map to columns times d."""
        if self.table is not None:
            return _matmul(self.table.inverse**2, d)
        L = self.places.shape[1]
        mean = d.sum(axis=1, keepdims=True) / L**2
        return np.concatenate([mean, (1.0 - 2.0 / L) * d[:, 1:] + mean], axis=1)

    @property
    def logdet(self) -> float:
        """Logarithm of the absolute determinant of the map to levels, of all groups."""
        g, L = self.places.shape
        return g * float(np.log(L) if self.table is None else np.linalg.slogdet(self.table.rows)[1])


def _matmul(A: ndarray, b: ndarray) -> ndarray:
    """Products A b of each group, (g, L, ...)."""
    return b @ A.T if b.ndim == 2 else np.matmul(A, b)


@dataclass(frozen=True, eq=False)
class LevelRecoding(DesignBasis):
    """The basis of a design, whose factor of many levels is coded in another way, that has a column for each level.

    Attributes
    ----------
    groups : tuple of CodedGroups
    order : (k,) integer ndarray
        Place in X of each column in the basis.
    """

    groups: tuple[CodedGroups, ...]
    order: ndarray

    def __len__(self) -> int:
        return len(self.order)

    @cached_property
    def coded(self) -> ndarray:
        """Places in X of all columns of the groups."""
        return np.concatenate([group.places.ravel() for group in self.groups])

    def into(self, b: ndarray) -> ndarray:
        """Parameters of X, (p,) or (p, r) equation by equation, in the coordinates of the basis."""
        return by_equation(lambda b: self._mapped("levels", b)[self.order], len(self), b)

    def back(self, b: ndarray) -> ndarray:
        """Parameters in the coordinates of the basis, or one side of their covariance, as those of X."""
        return by_equation(lambda b: self._mapped("columns", self._placed(b)), len(self), b)

    def rows(self, R: ndarray) -> ndarray:
        """Combinations (r, p) of the parameters of X as such of those in the basis."""
        return by_equation(lambda r: self._mapped("combinations", r)[self.order], len(self), R.T).T

    def rows_of_levels(self, R: ndarray) -> ndarray:
        """Combinations as of `rows`, exactly 0 of levels that have no part in them, where rounding leaves a share."""
        out, k = self.rows(R), len(self)
        size = by_equation(lambda r: self._mapped("sizes", r)[self.order], k, np.abs(R).T).T
        return np.where(np.isfinite(out) & (np.abs(out) <= ROUNDED_ROW * size), 0.0, out)

    def into_squares(self, d: ndarray) -> ndarray:
        """Squares of the entries of the map to levels, transposed, times d."""
        return by_equation(lambda d: self._mapped("into_squares", self._placed(d)), len(self), d)

    def back_squares(self, d: ndarray) -> ndarray:
        """Squares of the entries of the map from levels times d."""
        return by_equation(lambda d: self._mapped("back_squares", self._placed(d)), len(self), d)

    def _mapped(self, what: str, b: ndarray) -> ndarray:
        """Numbers (k, ...) of the columns of X, those of each group led by its function of the name."""
        out = b.copy()
        for group in self.groups:
            out[group.places] = getattr(group, what)(b[group.places])
        return out

    def _placed(self, b: ndarray) -> ndarray:
        """Numbers of the columns in the basis at their places in X."""
        out = np.empty_like(b)
        out[self.order] = b
        return out

    def covariance(self, V: Any) -> Any:
        """Covariance of the parameters of X from one in the coordinates of the basis.

        Of blocks D deviations have E D E + c (m' D m) c' + c v' + v c', with means m'b of levels, v = E D m, E the
        identity but for 0 at the margins, and c 1 at the margin and -1 at its deviations.
        """
        if not isinstance(V, BlocksPlusLowRank):
            return super().covariance(V)
        if any(group.table is not None for group in self.groups):
            return RecodedMatrix(V, self)
        k = len(self)
        own, L = V.layout, self.groups[0].places.shape[1]
        slots = np.where(own.there, own.slots // k * k + self.order[own.slots % k], -1)
        layout = ArrowLayout(own.border // k * k + self.order[own.border % k], slots, own.size)
        starts = np.arange(0, own.size, k)[:, None]
        groups = (starts + self.coded).reshape(-1, L)
        c, m = np.zeros((own.size, len(groups))), np.zeros((own.size, len(groups)))
        at = np.arange(len(groups))
        c[groups[:, 1:], at[:, None]], c[groups[:, 0], at], m[groups, at[:, None]] = -1.0, 1.0, 1.0 / L
        v = BlocksPlusLowRank(layout, V.D, np.zeros((own.size, 0)), np.zeros((0, 0))) @ m
        inner = m.T @ v
        v[groups[:, 0]] = 0.0
        size = np.sqrt(inner.diagonal())  # so that all are of the size of standard errors
        size[size == 0] = 1.0
        c, v, inner = c * size, v / size, inner / np.outer(size, size)
        stays = layout.there & ~np.isin(slots, groups[:, 0])
        D = np.where(stays[:, :, None] & stays[:, None, :], V.D, 0.0)
        eye, zero = np.eye(len(groups)), np.zeros((len(groups),) * 2)
        K = np.block([[inner, eye], [eye, zero]])
        low = BlocksPlusLowRank(layout, np.zeros_like(D), np.hstack([c, v]), K)
        return BlocksPlusLowRank(layout, D, self.back(V.Z), V.K) + low

    @property
    def as_deviations(self) -> LevelRecoding:
        """The basis of the same columns in the basis, of a design with deviations in place of other columns."""
        return LevelRecoding(tuple(CodedGroups(group.places) for group in self.groups), self.order)

    def columns(self, X: Any, exact: bool | None = None) -> Any:
        """Columns in the basis: one for each level."""
        return X.by_level if isinstance(X, RecodedColumns) else Dense(self.rows_of_levels(X.toarray()))

    def at(self, columns: ndarray, k: int) -> LevelRecoding:
        """The basis of some columns as one of all k, in which the others stand for themselves."""
        order = np.arange(k)
        order[columns] = columns[self.order]
        return LevelRecoding(tuple(replace(group, places=columns[group.places]) for group in self.groups), order)

    def of(self, columns: ndarray) -> LevelRecoding:
        """The basis of some of the columns."""
        place = np.full(len(self), -1)
        place[columns] = np.arange(len(columns))
        groups = tuple(replace(group, places=place[group.places]) for group in self.groups)
        return LevelRecoding(groups, place[self.order[columns]])

    def places(self, columns: ndarray) -> ndarray:
        """Places in X of the columns that those at some places in the basis stand for."""
        return self.order[columns]

    def touched(self, columns: ndarray) -> ndarray:
        """Mask of the columns in the basis that may be not zero where one of some columns of X, a mask (k,), is not."""
        out = columns.copy()
        for group in self.groups:
            out[group.places] |= columns[group.places].any(axis=1, keepdims=True)
        return out[self.order]

    keeps_levels = True

    @property
    def logdet(self) -> float:
        """Logarithm of the absolute determinant."""
        return sum(group.logdet for group in self.groups)

    def to_record(self) -> dict[str, Any]:
        """The basis as numbers for a file."""
        groups = [{"places": g.places, "table": None if g.table is None else g.table.rows} for g in self.groups]
        return {"groups": groups, "order": self.order}

    @classmethod
    def of_record(cls, stored: Any) -> LevelRecoding:
        """The basis that `to_record` gave."""
        tables = [None if g["table"] is None else LevelTable(np.array(g["table"], float)) for g in stored["groups"]]
        places = [np.array(g["places"], dtype=np.intp) for g in stored["groups"]]
        groups = tuple(CodedGroups(at, table) for at, table in zip(places, tables, strict=True))
        return cls(groups, np.array(stored["order"], dtype=np.intp))


@dataclass(frozen=True, eq=False)
class RecodedMatrix(SymmetricMatrix):
    """Covariance T V T' of parameters of X from blocks plus a low rank V of levels, T a `LevelRecoding` led back.

    Attributes
    ----------
    inner : BlocksPlusLowRank
    recoding : LevelRecoding
    lost, fixed : (p,) bool ndarray, optional
        Parameters whose covariances are NaN, or 0.
    """

    inner: BlocksPlusLowRank
    recoding: LevelRecoding
    lost: ndarray | None = None
    fixed: ndarray | None = None

    @property
    def layout(self) -> ArrowLayout:  # type: ignore[override]
        """Places of the levels in the basis."""
        return self.inner.layout

    def entries(self, rows: ndarray, columns: ndarray) -> ndarray:
        """Entries of some rows and columns, by their places, (r, c)."""
        left, right = (self._combinations(at) for at in (rows, columns))
        return self._marked(left @ (self.inner @ right.T), rows, columns)

    @property
    def _parts(self) -> Iterator[ndarray]:
        """Places of some parameters at a time."""
        p = self.layout.size
        step = max(1, MAX_ROWS_ENTRIES // p)
        return (np.arange(i, min(i + step, p)) for i in range(0, p, step))

    def diagonal(self) -> ndarray:
        """Diagonal, (p,)."""
        V, layout = self.inner, self.inner.layout
        own = np.zeros(layout.size)  # of levels, of which a parameter has one coefficient each
        own[layout.slots[layout.there]] = V.D.diagonal(axis1=1, axis2=2)[layout.there]
        Z = self.recoding.back(V.Z)
        out = self.recoding.back_squares(own) + np.einsum("ij,ij->i", Z @ V.K, Z)
        for mask, value in ((self.fixed, 0.0), (self.lost, np.nan)):
            if mask is not None:
                out[mask] = value
        return out

    def diagonal_around(self, d: ndarray) -> ndarray:
        """Diagonal of V diag(d) V of this matrix V, (p,)."""
        every = np.arange(self.layout.size)
        return np.concatenate([self.entries(at, every) ** 2 @ d for at in self._parts])

    def _combinations(self, at: ndarray) -> ndarray:
        """Parameters at some places as combinations of those in the basis, (., p)."""
        R = np.zeros((len(at), self.layout.size))
        R[np.arange(len(at)), at] = 1.0
        return self.recoding.rows(R)

    def _marked(self, found: ndarray, rows: ndarray, columns: ndarray) -> ndarray:
        for mask, value in ((self.fixed, 0.0), (self.lost, np.nan)):
            if mask is not None:
                found[mask[rows]] = value
                found[:, mask[columns]] = value
        return found

    def __matmul__(self, b: ndarray) -> ndarray:
        return np.asarray(self) @ b

    def without(self, lost: ndarray, fixed: ndarray) -> RecodedMatrix:
        """The matrix with NaN for the parameters of a mask (p,), and 0 for those of another."""
        return replace(self, lost=lost, fixed=fixed)

    def inverse_form(self, at: ndarray, d: ndarray) -> float | None:
        """Quadratic form d' W^-1 d of the covariance W of some parameters: of all columns but the margins, by
        deviations from the mean of levels, which are 0 where these are; None of others."""
        k, p = len(self.recoding), self.layout.size
        mask, b = np.zeros(p, dtype=bool), np.zeros(p)
        mask[at], b[at] = True, d
        for group in self.recoding.groups:
            places = (np.arange(0, p, k)[:, None] + group.places.ravel()).reshape(-1, group.places.shape[1])
            inside = mask[places]
            apart = inside[:, 0].any() or (inside[:, 1:].any(axis=1) != inside[:, 1:].all(axis=1)).any()
            if apart or (inside.any() and not group.has_margin):
                return None
            mask[places] = False
        if mask.any():
            return None
        own = self.recoding.as_deviations
        return own.covariance(self.inner).inverse_form(at, own.back(self.recoding.into(b))[at])


class RecodedPieces(NamedTuple):
    """What a formula contributes where levels are recoded: the pieces with a column for each level, and the basis."""

    pieces: list[SubtermColumns]
    recoding: LevelRecoding


class RecodedColumns(FactorColumns):
    """X in which a factor of many levels is not coded by columns of levels: its fits are in columns `by_level`.

    Parameters
    ----------
    pieces : list of SubtermColumns
        What the terms of a formula contribute; `recoded` knows them.
    n : int
        Rows.
    """

    def __init__(self, pieces: list[SubtermColumns], n: int):
        super().__init__(pieces, n)
        found = recoded(pieces)
        assert found is not None
        self._found = found

    @property
    def recoding(self) -> LevelRecoding:
        """Basis in which each level has a column."""
        return self._found.recoding

    @cached_property
    def by_level(self) -> ArrowColumns:
        """The columns in this basis."""
        return ArrowColumns(self._found.pieces, self.shape[0])

    def __getitem__(self, rows: Any) -> RecodedColumns:
        """Columns of X for some rows."""
        other = object.__new__(RecodedColumns)
        other.pieces, other.shape = cut(self.pieces, rows), (len(self._own_codes[rows]), self.shape[1])
        other._found = self._found._replace(pieces=cut(self._found.pieces, rows))
        return other

    def subset(self, rows: ndarray) -> RecodedColumns:
        """Some rows."""
        return self[rows]

    @property
    def _own_codes(self) -> Any:
        return next(p.codes for p in self._found.pieces if p.codes is not None)

    @property
    def numbers(self) -> ndarray:
        """Numbers of which all columns are made."""
        return self.by_level.numbers

    @property
    def rows_of_border(self) -> int:
        """Rows of a block of which `numbers` may be made."""
        return self.by_level.rows_of_border

    def by_column(self, values: ndarray) -> ndarray:
        """What is known of `numbers` by column of X, (k,)."""
        out = np.empty(self.shape[1])
        out[self.recoding.order] = self.by_level.by_column(values)
        return out

    def ends(self) -> tuple[ndarray, ndarray, ndarray]:
        """Smallest and largest value of each column, of those that code levels bounds of these, and which hold zeros
        and ones alone."""
        X, size = self.numbers, self.largest()
        numbers = (X.min(axis=0), X.max(axis=0), ((X == 0) | (X == 1)).all(axis=0))
        low, high, flags = map(self.by_column, numbers)
        coded = np.zeros(self.shape[1], dtype=bool)
        for group in self.recoding.groups:
            coded[group.places[:, int(group.is_of_numbers) :]] = True
        return np.where(coded, -size, low), np.where(coded, size, high), (flags != 0) & ~coded

    def gram(self, w: ndarray) -> ndarray:
        """X' diag(w) X, an array of all pairs of columns."""
        check_dense(self.shape[1])
        return super().gram(w)

    def toarray(self) -> ndarray:
        """The columns as an (n, k) array, column-contiguous; refused where it would take gigabytes."""
        check_rows(*self.shape)
        return super().toarray()


def recoded(pieces: list[SubtermColumns]) -> RecodedPieces | None:
    """Pieces in which a factor has a column for each level, where it has the most levels, many, and each of its columns
    is of a coding that has an inverse; None without such a factor."""
    own = [p for p in pieces if _is_coded(p)]
    if not own:
        return None
    codes = max(own, key=lambda p: len(p.contrast)).codes
    starts = np.cumsum([0, *(len(p.num) for p in pieces)]).tolist()
    mine = [p.codes is codes and _is_coded(p) for p in pieces]
    margins = [p.margin for p, is_mine in zip(pieces, mine, strict=True) if is_mine and p.margin is not None]
    found, order, groups = [], [], []
    for piece, start, is_mine in zip(pieces, starts, mine, strict=False):
        if is_mine:
            full, at, group = _by_level(piece, start)
            found.append(full)
            order.append(at.ravel())
            groups.append(group)
            continue
        at = np.arange(start, start + len(piece.num))
        kept = ~np.isin(at, np.concatenate(margins)) if margins else np.ones(len(at), dtype=bool)
        if kept.any():
            found.append(piece._replace(num=piece.num[kept], cat=piece.cat[kept]))
            order.append(at[kept])
    levels = spine(found)
    if levels is None or any((p.codes is codes) != is_of for p, is_of in zip(found, levels, strict=True)):
        return None
    if any(group.table is not None and group.table.inverse is None for group in groups):
        return None
    return RecodedPieces(found, LevelRecoding(tuple(groups), np.concatenate(order)))


def _is_coded(piece: SubtermColumns) -> bool:
    """Whether a piece has all columns of a coding of many levels, for each of its numbers, with margins as many as
    levels, and is not of columns of levels already."""
    if piece.codes is None or len(piece.contrast) < coding.MANY_LEVELS or is_of_levels(piece):
        return False
    (L, width), margin = piece.contrast.shape, piece.margin
    vectors = len(np.unique(piece.num)) if margin is None else len(margin)
    there = margin is not None and bool((margin >= 0).all())
    return width == (L - 1 if there else L) and len(piece.num) == vectors * width


def _deviations(contrast: Any) -> ndarray | None:
    """Deviation of which each level has 1, (L,), -1 for the level that has none; None of other codings. A matrix has
    the mean of all levels in its first column."""
    if isinstance(contrast, LevelCoding):
        return contrast.position
    rest = contrast[:, 1:]
    if (contrast[0, :1] != 1).any() or not np.isin(rest[:2], (-1, 0, 1)).all() or len(contrast) != contrast.shape[1]:
        return None
    own = (rest == 1).argmax(axis=1)
    own[(rest == -1).all(axis=1)] = -1
    same = LevelCoding(own, rest.shape[1], int(own.argmin())).toarray()
    return own if np.array_equal(same, rest) and (contrast[:, 0] == 1).all() else None


def _by_level(piece: SubtermColumns, start: int) -> tuple[SubtermColumns, ndarray, CodedGroups]:
    """A piece with a column for each level and vector of numbers, the places of these in X, and its groups."""
    (L, width), position = piece.contrast.shape, _deviations(piece.contrast)
    used = np.unique(piece.num)
    at = np.empty((len(used), width), dtype=np.intp)
    at[np.searchsorted(used, piece.num), piece.cat] = np.arange(start, start + len(piece.num))
    places = at if piece.margin is None else np.column_stack([piece.margin, at])
    full = piece._replace(
        contrast=LevelCoding.full(L), num=np.repeat(used, L), cat=np.tile(np.arange(L), len(used)), margin=None
    )
    if position is not None:
        return full, places[:, position + 1], CodedGroups(places)
    return full, places, CodedGroups(places, _table_of(piece.contrast))


def recoding_of(blocks: Any) -> LevelRecoding | None:
    """Basis in which the first of the arrays of blocks has a column for each level of its factor of many; None where
    it has them, or no such factor."""
    X = blocks.few()[0] if blocks.streamed else blocks.arrays[0]
    return X.recoding if isinstance(X, RecodedColumns) else None
