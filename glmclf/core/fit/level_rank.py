"""Rank of a design in which a factor has many levels: by what is left of columns within levels, in a few passes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray
from scipy.linalg import solve_triangular

from glmclf.core.design.arrow import ArrowColumns, of_levels
from glmclf.core.design.columns import beside, some_columns
from glmclf.core.design.recoding import LevelRecoding, recoding_of
from glmclf.core.fit.coordinates import Coordinates
from glmclf.core.fit.rank import (
    FEW_ROUNDINGS,
    MAX_ROUNDED_REST,
    dependencies,
    projected_out,
    roundings,
    triangular_factor,
)
from glmclf.core.numerics.arrow import MAX_DENSE_BYTES, ArrowLayout
from glmclf.core.numerics.triangular import qr_factor
from glmclf.core.rows.blocks import Blocks

ROUNDED_REST = 64 * np.finfo(float).eps  # share of the terms of a difference up to which it is rounding
MAX_EXPANDED_ARITHMETIC = 5e9  # rows times squared columns up to which the rank is told by all columns
SMALLEST_TERM = 1e-9  # share of the largest term of a combination below which one is none
LEAST_SQUARES_STEPS = 3  # passes after which coefficients of least squares have all their digits


@dataclass(frozen=True, eq=False)
class TriangularFactor:
    """Triangular factor of rows; of the rows of two parts it is that of both factors."""

    R: ndarray

    def __add__(self, other: TriangularFactor) -> TriangularFactor:
        return TriangularFactor(qr_factor(self.R, other.R))


def expands(blocks: Blocks) -> bool:
    """Whether the rank of a design is told, and its basis made, with all its columns expanded: where levels are not
    too many for that."""
    n, k = blocks.n, blocks.arrays[0].shape[1]
    return n * k * k <= MAX_EXPANDED_ARITHMETIC or (of_levels(blocks) is None and recoding_of(blocks) is None)


def dependencies_in(blocks: Blocks) -> dict[int, dict[int, float]]:
    """Dependencies of columns whose own rounding counts, too."""
    if expands(blocks):
        return dependencies(triangular_factor(blocks), roundings(blocks))
    basis = recoding_of(blocks)
    if basis is not None:
        by_level = blocks.map(lambda X, *rest: (basis.columns(X), *rest))
        return combinations_from(basis, blocks, dependencies_in(by_level))
    more = [i for i, a in enumerate(blocks.arrays) if i and hasattr(a, "block_size")]
    if more:
        blocks = blocks.map(lambda X, *rest: (beside(X, np.column_stack([rest[i - 1].toarray() for i in more])),))
    found = level_dependencies(blocks)
    if not found:
        return {}
    left = Coordinates(blocks.arrays[0].shape[1], 1).without(found)
    rest = dependencies_in(blocks.map(lambda X, *rest: (some_columns(X, left.columns),)))
    return {j: dict(terms) for j, terms in left.without(rest).omitted.items()}


def combinations_from(
    basis: LevelRecoding, blocks: Blocks, found: dict[int, dict[int, float]]
) -> dict[int, dict[int, float]]:
    """Dependent columns of blocks, from those that were found among the columns for each level and others after them.

    Raises
    ------
    NotImplementedError
        Columns of the levels are among them, so that all columns have to be asked, and they are too many.
    """
    last, k, out = basis.coded.max(), len(basis), {}
    for j, terms in found.items():
        place, b = j if j >= k else int(basis.places(np.array([j]))[0]), np.zeros(max(k, j))
        b[list(terms)] = list(terms.values())
        b[:k] = basis.back(b[:k])
        if place in basis.coded or (place < last and b[basis.coded].any()):
            break
        least = SMALLEST_TERM * np.abs(b).max(initial=0.0)
        out[place] = {int(i): float(b[i]) for i in np.flatnonzero(np.abs(b) > least)}
    else:
        return out
    if 8 * len(basis) ** 2 > MAX_DENSE_BYTES:
        L = basis.groups[0].places.shape[1]
        raise NotImplementedError(
            f"levels of a factor of {L:,} are combinations of others or of columns before them (a level without rows, "
            "or a column that is constant within levels), and to say which of them its coding leaves out takes an "
            f"array of all pairs of {len(basis):,} columns, {8e-9 * len(basis) ** 2:.1f} GB: use treatment coding, or "
            "drop levels without rows"
        )
    return dependencies(triangular_factor(blocks), roundings(blocks))


def level_dependencies(blocks: Blocks) -> dict[int, dict[int, float]]:
    """Columns that are combinations of earlier ones: dependent column -> {column: coefficient}, as of
    `core.fit.rank.dependencies`.

    Levels come first: within each, slopes lose what earlier columns of the level explain, then the border does, by
    least squares that are repeated for the sake of digits; what is left of the border is a small design. Each
    combination that is found is then solved for its last column. Where columns are zero, or combinations within a
    level, these are told alone: what is left is to be asked about again.
    """
    rows = blocks.map(lambda X, *rest: (X,))
    X = of_levels(rows)
    assert X is not None
    rows = rows.rechunk(min(rows.size, X.rows_of_border))
    levels = _Levels(rows, X.layout)
    return levels.found or _solved_for_the_last(_of_border(rows, levels), levels.length)


class _Levels:
    """Columns of the levels, made orthogonal within each level, in the order of their places.

    Attributes
    ----------
    length : (k,) ndarray
        Of each column of X.
    alive : (L, m) bool ndarray
        Columns that are no combination of earlier ones of their level.
    found : dict
        Columns of zeros, or else combinations within a level.
    """

    def __init__(self, rows: Blocks, layout: ArrowLayout):
        self.layout = layout
        gram = rows.sum(lambda X: X.gram(np.ones(X.shape[0])))
        self.length, self.C = np.sqrt(gram.diagonal()), gram.C
        self.own = self.layout.gather(self.length)[1]
        self.alive = self.layout.there & (self.own > 0)
        self.found: dict[int, dict[int, float]] = {int(j): {} for j in np.flatnonzero(self.length == 0)}
        order = np.argsort([slots[slots >= 0].min(initial=self.layout.size) for slots in self.layout.slots.T])
        for at in range(1, 1 if self.found else len(order)):
            self._orthogonalise(rows, order[at], order[:at])

    def _orthogonalise(self, rows: Blocks, s: int, before: ndarray) -> None:
        """Find the levels in which the columns of a slot are combinations of those of the slots before it."""
        P = self.explained(self.C[:, :, s : s + 1], before)
        for _ in range(LEAST_SQUARES_STEPS - 1):
            P = P + self.explained(rows.sum(lambda X, P=P: _products(X, _left(X, X.slot_numbers(s), P))), before)
        rest = np.sqrt(rows.sum(lambda X: _squares(X, _left(X, X.slot_numbers(s), P))))
        terms = self.own[:, s] + (np.abs(P[:, :, 0]) * self.own).sum(axis=1)
        dead = self.alive[:, s] & (rest <= ROUNDED_REST * terms)
        self.alive[dead, s] = False
        slots = self.layout.slots
        for level in np.flatnonzero(dead):
            size = np.abs(P[level, :, 0]) * self.own[level]
            at = np.flatnonzero(size > SMALLEST_TERM * self.own[level, s])
            self.found[int(slots[level, s])] = {int(slots[level, t]): float(P[level, t, 0]) for t in at}

    def explained(self, B: ndarray, slots: ndarray | None = None) -> ndarray:
        """Coefficients (L, m, q) of least squares on the columns of each level, from products with them."""
        use = self.alive.copy()
        if slots is not None:
            use[:, np.setdiff1d(np.arange(use.shape[1]), slots)] = False
        scale = np.where(use, 1.0 / np.where(self.own > 0, self.own, 1.0), 0.0)
        A = self.C * scale[:, :, None] * scale[:, None, :]
        at = np.arange(A.shape[1])
        A[:, at, at] = 1.0
        return np.linalg.solve(A, B * scale[:, :, None]) * scale[:, :, None]


def _left(X: ArrowColumns, columns: ndarray, P: ndarray) -> ndarray:
    """What is left of columns (n, q) once those of the levels have been taken out, times P (L, m, q)."""
    left = columns.reshape(len(columns), -1).copy()
    for i, slot in enumerate(X.slots):
        part = P[X.codes, i]
        left -= part if slot.numbers is None else part * slot.numbers[:, None]
    return left


def _products(X: ArrowColumns, left: ndarray) -> ndarray:
    """Products of the columns of the levels with others, (L, m, q)."""
    return X.layout.there[:, :, None] * np.stack([X.level_sums(column) for column in left.T], axis=2)


def _squares(X: ArrowColumns, left: ndarray) -> ndarray:
    return np.bincount(X.codes, weights=left[:, 0] ** 2, minlength=len(X.layout.slots))


def _of_border(rows: Blocks, levels: _Levels) -> ndarray:
    """Combinations (d, k) of columns of the border and the levels that are zero in every row."""
    layout, q = levels.layout, len(levels.layout.border)
    if not q:
        return np.zeros((0, layout.size))
    P = np.zeros((*layout.slots.shape, q))
    for _ in range(LEAST_SQUARES_STEPS):
        P = P + levels.explained(rows.sum(lambda X, P=P: _products(X, _left(X, X.border.toarray(), P))))
    R = rows.sum(lambda X: TriangularFactor(qr_factor(_left(X, X.border.toarray(), P)))).R
    length = levels.length[layout.border]
    inside = length + np.sqrt(((P * levels.own[:, :, None]) ** 2).sum(axis=(0, 1)))  # of the terms of the difference
    null = _combinations(R, length, inside, roundings(rows)[layout.border])
    out = np.zeros((len(null), layout.size))
    out[:, layout.border] = null
    taken = np.tensordot(null, P, axes=(1, 2))
    out[:, layout.slots[layout.there]] = -taken[:, layout.there]
    return out


def _combinations(R: ndarray, length: ndarray, inside: ndarray, units: ndarray) -> ndarray:
    """Combinations (d, q) of the columns of a triangular factor that are zero beside the lengths of the columns, the
    terms inside them, and the units of rounding of their numbers."""
    m, q = R.shape
    scale = np.where(length > 0, length, 1.0)
    S = R / scale
    Q, U = np.zeros((m, q)), np.zeros((q, q))
    kept: list[int] = []
    null = []
    for j in range(q):
        r = len(kept)
        rest, a = projected_out(Q[:, :r], S[:, j])
        size = float(np.linalg.norm(rest))
        b = solve_triangular(U[:r, :r], a) if size < MAX_ROUNDED_REST and r else np.zeros(r)
        terms = inside[j] / scale[j] + float(np.abs(b) @ (inside[kept] / scale[kept]))
        own = units[j] + float(np.abs(b) @ units[kept])
        if size > max(ROUNDED_REST * terms, FEW_ROUNDINGS * own) and r < m:
            Q[:, r], U[:r, r], U[r, r] = rest / size, a, size
            kept.append(j)
        else:
            v = np.zeros(q)
            v[j], v[kept] = 1.0, -b * scale[j] / scale[kept]
            null.append(v)
    return np.array(null).reshape(-1, q)


def _solved_for_the_last(null: ndarray, length: ndarray) -> dict[int, dict[int, float]]:
    """Each of d combinations (d, k) as an equation for a column, the last of its columns that no other has."""
    rows = null * np.where(length > 0, length, 1.0)
    rows /= np.abs(rows).max(axis=1, keepdims=True, initial=1e-300)
    last = []
    for i in range(len(rows)):
        rows[np.abs(rows) < SMALLEST_TERM] = 0.0
        places = np.where(rows[i:].any(axis=1), rows.shape[1] - 1 - (rows[i:, ::-1] != 0).argmax(axis=1), -1)
        top = i + int(places.argmax())
        rows[[i, top]] = rows[[top, i]]
        j = int(places.max())
        rows[i] /= rows[i, j]
        others = np.flatnonzero(rows[:, j])
        others = others[others != i]
        rows[others] -= rows[others, j][:, None] * rows[i]
        rows[others, j] = 0.0
        last.append(j)
    found = {}
    for j, row in zip(last, rows, strict=True):
        size = length[j] if length[j] > 0 else 1.0
        at = np.flatnonzero(np.abs(row) >= SMALLEST_TERM)
        found[j] = {int(i): float(-row[i] * size / length[i]) for i in at if i != j}
    return dict(sorted(found.items()))
