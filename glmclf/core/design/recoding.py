"""Sum coding of a factor of many levels, led back to a column for each level.

Deviations from the mean of all levels span with their margin, the column of ones or of the numbers by which they are
multiplied, what a column for each level spans. These columns make the information an arrow matrix; the deviations are a
linear map of their coefficients, of as few numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.core.design import coding
from glmclf.core.design.arrow import ArrowColumns, check_rows, spine
from glmclf.core.design.basis import DesignBasis, by_equation
from glmclf.core.design.coding import LevelCoding
from glmclf.core.design.dense import Dense
from glmclf.core.design.factor import FactorColumns, SubtermColumns, cut
from glmclf.core.numerics.arrow import ArrowLayout, BlocksPlusLowRank, check_dense


@dataclass(frozen=True, eq=False)
class LevelRecoding(DesignBasis):
    """The basis in which deviations of levels from their mean are a coefficient for each level.

    With a margin's coefficient m and deviations d_1, ..., d_(L-1) of levels these are m + d_l, and m - sum(d) of the
    level without a column.

    Attributes
    ----------
    groups : (g, L) integer ndarray
        Places in X of each margin, which in the basis is that of the level without a column, and of its deviations.
    order : (k,) integer ndarray
        Place in X of each column in the basis.
    """

    groups: ndarray
    order: ndarray

    def __len__(self) -> int:
        return len(self.order)

    def into(self, b: ndarray) -> ndarray:
        """Parameters of X, (p,) or (p, r) equation by equation, in the coordinates of the basis."""

        def levels(b: ndarray) -> ndarray:
            out, margin, rest = b.copy(), b[self.groups[:, 0]], b[self.groups[:, 1:]]
            out[self.groups[:, 0]] = margin - rest.sum(axis=1)
            out[self.groups[:, 1:]] = margin[:, None] + rest
            return out[self.order]

        return by_equation(levels, len(self), b)

    def back(self, b: ndarray) -> ndarray:
        """Parameters in the coordinates of the basis, or one side of their covariance, as those of X."""

        def deviations(b: ndarray) -> ndarray:
            out = np.empty_like(b)
            out[self.order] = b
            mean = out[self.groups].mean(axis=1)
            out[self.groups[:, 1:]] -= mean[:, None]
            out[self.groups[:, 0]] = mean
            return out

        return by_equation(deviations, len(self), b)

    def rows(self, R: ndarray) -> ndarray:
        """Combinations (r, p) of the parameters of X as such of those in the basis."""

        def of_levels(r: ndarray) -> ndarray:
            out, margin, rest = r.copy(), r[self.groups[:, 0]], r[self.groups[:, 1:]]
            share = (margin - rest.sum(axis=1)) / self.groups.shape[1]
            out[self.groups[:, 0]] = share
            out[self.groups[:, 1:]] = rest + share[:, None]
            return out[self.order]

        return by_equation(of_levels, len(self), R.T).T

    def covariance(self, V: Any) -> Any:
        """Covariance of the parameters of X from one in the coordinates of the basis.

        Of blocks D the deviations have E D E + c (m' D m) c' + c v' + v c', with means m'b of levels, v = E D m, E the
        identity but for 0 at the margins, and c 1 at the margin and -1 at its deviations.
        """
        if not isinstance(V, BlocksPlusLowRank):
            return super().covariance(V)
        k, L = len(self), self.groups.shape[1]
        own = V.layout
        slots = np.where(own.there, own.slots // k * k + self.order[own.slots % k], -1)
        layout = ArrowLayout(own.border // k * k + self.order[own.border % k], slots, own.size)
        starts = np.arange(0, own.size, k)[:, None, None]
        groups = (starts + self.groups).reshape(-1, L)
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

    def columns(self, X: Any, exact: bool | None = None) -> Any:
        """Columns in the basis: one for each level."""
        return X.by_level if isinstance(X, RecodedColumns) else Dense(self.rows(X.toarray()))

    def at(self, columns: ndarray, k: int) -> LevelRecoding:
        """The basis of some columns as one of all k, in which the others stand for themselves."""
        order = np.arange(k)
        order[columns] = columns[self.order]
        return LevelRecoding(columns[self.groups], order)

    def of(self, columns: ndarray) -> LevelRecoding:
        """The basis of some of the columns."""
        place = np.full(len(self), -1)
        place[columns] = np.arange(len(columns))
        return LevelRecoding(place[self.groups], place[self.order[columns]])

    def places(self, columns: ndarray) -> ndarray:
        """Places in X of the columns that those at some places in the basis stand for."""
        return self.order[columns]

    def touched(self, columns: ndarray) -> ndarray:
        """Mask of the columns in the basis that may be not zero where one of some columns of X, a mask (k,), is not."""
        out = columns.copy()
        out[self.groups] |= columns[self.groups].any(axis=1, keepdims=True)
        return out[self.order]

    keeps_levels = True

    def into_squares(self, d: ndarray) -> ndarray:
        """Squares of the entries of the map to levels, transposed, times d."""

        def squares(d: ndarray) -> ndarray:
            out = np.empty_like(d)
            out[self.order] = d
            total = out[self.groups].sum(axis=1)
            out[self.groups[:, 1:]] += out[self.groups[:, :1]]
            out[self.groups[:, 0]] = total
            return out

        return by_equation(squares, len(self), d)

    def back_squares(self, d: ndarray) -> ndarray:
        """Squares of the entries of the map to deviations times d."""

        def squares(d: ndarray) -> ndarray:
            out, L = np.empty_like(d), self.groups.shape[1]
            out[self.order] = d
            total = out[self.groups].sum(axis=1) / L**2
            out[self.groups[:, 1:]] = (1.0 - 2.0 / L) * out[self.groups[:, 1:]] + total[:, None]
            out[self.groups[:, 0]] = total
            return out

        return by_equation(squares, len(self), d)

    @property
    def logdet(self) -> float:
        """Logarithm of the absolute determinant, that of the number of levels for each group."""
        return len(self.groups) * float(np.log(self.groups.shape[1]))

    def to_record(self) -> dict[str, Any]:
        """The basis as numbers for a file."""
        return {"groups": self.groups, "order": self.order}

    @classmethod
    def of_record(cls, stored: Any) -> LevelRecoding:
        """The basis that `to_record` gave."""
        groups, order = (np.array(stored[name], dtype=np.intp) for name in ("groups", "order"))
        return cls(groups, order)


class RecodedPieces(NamedTuple):
    """What a formula contributes where levels are recoded: the pieces with a column for each level, and the basis."""

    pieces: list[SubtermColumns]
    recoding: LevelRecoding


class RecodedColumns(FactorColumns):
    """X in which a factor of many levels has sum coding: products with it are by counts, and fits are `by_level`.

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

    def gram(self, w: ndarray) -> ndarray:
        """X' diag(w) X, an array of all pairs of columns."""
        check_dense(self.shape[1])
        return super().gram(w)

    def toarray(self) -> ndarray:
        """The columns as an (n, k) array, column-contiguous; refused where it would take gigabytes."""
        check_rows(*self.shape)
        return super().toarray()


def recoded(pieces: list[SubtermColumns]) -> RecodedPieces | None:
    """Pieces in which the deviations of the factor of the most levels are a column for each level; None where no factor
    of many levels has sum coding, or not all of its columns stand beside their margins."""
    own = [p for p in pieces if _is_of_deviations(p)]
    if not own:
        return None
    codes = max(own, key=lambda p: len(p.contrast)).codes
    starts = np.cumsum([0, *(len(p.num) for p in pieces)]).tolist()
    mine = [p.codes is codes and _is_of_deviations(p) for p in pieces]
    margins = np.concatenate([p.margin for p, is_mine in zip(pieces, mine, strict=True) if is_mine])
    found, order, groups = [], [], []
    for piece, start, is_mine in zip(pieces, starts, mine, strict=False):
        if is_mine:
            full, at = _by_level(piece, start)
            found.append(full)
            order.append(at.ravel())
            groups.append(np.column_stack([at[:, piece.contrast.opposite], np.delete(at, piece.contrast.opposite, 1)]))
            continue
        at = np.arange(start, start + len(piece.num))
        kept = ~np.isin(at, margins)
        if kept.any():
            found.append(piece._replace(num=piece.num[kept], cat=piece.cat[kept]))
            order.append(at[kept])
    levels = spine(found)
    if levels is None or any((p.codes is codes) != is_of for p, is_of in zip(found, levels, strict=True)):
        return None
    return RecodedPieces(found, LevelRecoding(np.concatenate(groups), np.concatenate(order)))


def _is_of_deviations(piece: SubtermColumns) -> bool:
    """Whether a piece has all deviations of many levels, for each of its numbers, and their margins are there."""
    coded = isinstance(piece.contrast, LevelCoding) and piece.contrast.opposite is not None
    if not coded or len(piece.contrast) < coding.MANY_LEVELS or piece.margin is None or (piece.margin < 0).any():
        return False
    return len(piece.num) == len(piece.margin) * piece.contrast.width


def _by_level(piece: SubtermColumns, start: int) -> tuple[SubtermColumns, ndarray]:
    """A piece with a column for each level and vector of numbers, and the places of these in X, (vectors, L)."""
    margin: Any = piece.margin
    L, m = len(piece.contrast), len(margin)
    places = np.empty((m, L), dtype=np.intp)
    places[:, piece.contrast.opposite] = margin
    at = np.empty((m, piece.contrast.width), dtype=np.intp)
    at[piece.num, piece.cat] = np.arange(start, start + len(piece.num))
    rest = piece.contrast.position >= 0
    places[:, rest] = at[:, piece.contrast.position[rest]]
    full = piece._replace(
        contrast=LevelCoding.full(L), num=np.repeat(np.arange(m), L), cat=np.tile(np.arange(L), m), margin=None
    )
    return full, places


def recoding_of(blocks: Any) -> LevelRecoding | None:
    """Basis in which the first of the arrays of blocks has a column for each level of its factor of many; None where
    it has them, or no such factor."""
    X = blocks.few()[0] if blocks.streamed else blocks.arrays[0]
    return X.recoding if isinstance(X, RecodedColumns) else None
