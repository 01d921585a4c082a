"""Arrow matrices: a small border, a block for each of many levels, and what is between them; nothing between levels.

Of such a symmetric matrix ::

    A   B'        A (q, q)  the border
    B   C         B_l (m, q), C_l (m, m) of each level l, C = blockdiag(C_1, ..., C_L)

the inverse is a block-diagonal matrix plus one of rank q, with S = A - B' C^-1 B (Schur complement; Golub & Van Loan
2013, section 4.3.4) ::

    V = blockdiag(0, C^-1) + G S^-1 G',     G = [I; -C^-1 B]

so that neither the matrix nor its inverse takes more than levels times border numbers. Both kinds stand for (p, p)
arrays: ``np.asarray`` gives these where they are not too large.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.core.numerics.cholesky import CholeskyFactor, scale_of

MAX_DENSE_BYTES = 2**31  # of an array of all pairs of parameters that is made unasked
MAX_CONDITION_OF_FORM = 1e10  # of the small matrix of a quadratic form, above which it may have no digit


@dataclass(frozen=True, eq=False)
class ArrowLayout:
    """Places of the border and of the levels' columns among p parameters.

    Attributes
    ----------
    border : (q,) integer ndarray
    slots : (L, m) integer ndarray
        Places of the columns of each level, -1 for one that the level lacks.
    size : int
        Number of parameters p.
    """

    border: ndarray
    slots: ndarray
    size: int

    @cached_property
    def there(self) -> ndarray:
        """Mask of the slots that have a column, (L, m)."""
        return self.slots >= 0

    @cached_property
    def owners(self) -> tuple[ndarray, ndarray]:
        """Level and slot of each parameter, (p,) each; -1 for those of the border."""
        level, slot = np.full(self.size, -1), np.full(self.size, -1)
        at = np.nonzero(self.there)
        level[self.slots[at]], slot[self.slots[at]] = at
        return level, slot

    def gather(self, b: ndarray) -> tuple[ndarray, ndarray]:
        """Rows of an array (p, ...) by border (q, ...) and level (L, m, ...), 0 for slots without a column."""
        levels = b[self.slots]
        levels[~self.there] = 0.0
        return b[self.border], levels

    def scatter(self, border: ndarray, levels: ndarray) -> ndarray:
        """Array (p, ...) of rows by border and level."""
        out = np.empty((self.size, *border.shape[1:]))
        out[self.border] = border
        out[self.slots[self.there]] = levels[self.there]
        return out

    def repeated(self, times: int) -> ArrowLayout:
        """The layout of several equations with the same columns, one after the other."""
        starts = np.arange(times) * self.size
        slots = np.where(self.there[:, None, :], self.slots[:, None, :] + starts[:, None], -1)
        border = (starts[:, None] + self.border).ravel()
        return ArrowLayout(border, slots.reshape(len(slots), -1), times * self.size)

    def embedded(self, places: ndarray, size: int) -> ArrowLayout:
        """The layout where the parameters are at some places among more, which are in no block."""
        slots = np.where(self.there, places[self.slots], -1)
        return ArrowLayout(places[self.border], slots, size)

    def narrowed(self, keep: ndarray) -> ArrowLayout:
        """The layout of some parameters, a mask (p,); the levels stay, with or without columns."""
        place = np.where(keep, np.cumsum(keep) - 1, -1)
        slots = np.where(self.there, place[self.slots], -1)
        return ArrowLayout(place[self.border[keep[self.border]]], slots, int(keep.sum()))


class SymmetricMatrix:
    """Base of symmetric (p, p) matrices of which fewer than p^2 numbers are held."""

    __array_ufunc__ = None  # so that arrays leave operators to these
    ndim = 2
    dtype = np.dtype(np.float64)
    layout: ArrowLayout

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, (p, p)."""
        return self.layout.size, self.layout.size

    def __len__(self) -> int:
        return self.layout.size

    @property
    def T(self) -> Any:
        """The matrix itself, which is symmetric."""
        return self

    def entries(self, rows: ndarray, columns: ndarray) -> ndarray:
        """Entries of some rows and columns, by their places, (r, c)."""
        raise NotImplementedError

    def diagonal(self) -> ndarray:
        """Diagonal, (p,)."""
        raise NotImplementedError

    def inverse_form(self, at: ndarray, d: ndarray) -> float | None:
        """Quadratic form d' W^-1 d of the covariance W of some parameters; None where it is not found so."""
        return None

    def embedded(self, places: ndarray, size: int) -> Any:
        """The matrix of some places among more, with zeros."""
        raise NotImplementedError

    def narrowed(self, keep: ndarray) -> Any:
        """The matrix of some parameters, a mask (p,)."""
        raise NotImplementedError

    def __matmul__(self, b: ndarray) -> ndarray:
        raise NotImplementedError

    def __rmatmul__(self, R: ndarray) -> ndarray:
        return (self @ np.asarray(R).T).T

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> ndarray:
        p = self.layout.size
        check_dense(p)
        every = np.arange(p)
        return self.entries(every, every)

    def __getitem__(self, key: Any) -> ndarray:
        """Rows, or rows and columns as of ``np.ix_``, as an array."""
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        every = np.arange(self.layout.size)
        found = self.entries(np.atleast_1d(every[_flat(rows)]), np.atleast_1d(every[_flat(columns)]))
        scalar = tuple(0 if isinstance(i, int | np.integer) else slice(None) for i in (rows, columns))
        return found[scalar]


def check_dense(p: int) -> None:
    """Refuse an array of all pairs of so many parameters.

    Raises
    ------
    NotImplementedError
        It would take more than `MAX_DENSE_BYTES`.
    """
    if 8 * p * p > MAX_DENSE_BYTES:
        raise NotImplementedError(
            f"one array of all pairs of {p:,} parameters would take {8 * p * p / 1e9:.1f} GB: ask for some of them, as "
            'by cov_params(columns=["x"]), or for standard errors alone, bse'
        )


def _flat(index: Any) -> Any:
    return index.ravel() if isinstance(index, ndarray) else index


@dataclass(frozen=True, eq=False)
class ArrowMatrix(SymmetricMatrix):
    """Arrow matrix, as weighted grams of designs with a factor of many levels are; a sum over rows.

    Attributes
    ----------
    layout : ArrowLayout
    A : (q, q) ndarray
        The border.
    B : (L, m, q) ndarray
        Between each level and the border.
    C : (L, m, m) ndarray
        The levels' own blocks; 0 where a level lacks a column.

    Examples
    --------
    >>> import numpy as np
    >>> from glmclf.core.numerics.arrow import ArrowLayout, ArrowMatrix
    >>> layout = ArrowLayout(np.array([0]), np.array([[1], [2]]), 3)
    >>> M = ArrowMatrix(layout, np.array([[4.0]]), np.array([[[1.0]], [[2.0]]]), np.array([[[1.0]], [[2.0]]]))
    >>> np.asarray(M).tolist()
    [[4.0, 1.0, 2.0], [1.0, 1.0, 0.0], [2.0, 0.0, 2.0]]
    >>> M.factor().solve(np.array([1.0, 0.0, 0.0])).round(12).tolist()
    [1.0, -1.0, -1.0]
    """

    layout: ArrowLayout
    A: ndarray
    B: ndarray
    C: ndarray

    @classmethod
    def of_diagonal(cls, layout: ArrowLayout, d: ndarray) -> ArrowMatrix:
        """Diagonal matrix."""
        border, levels = layout.gather(d)
        C = levels[:, :, None] * np.eye(levels.shape[1])
        return cls(layout, np.diag(border), np.zeros((*levels.shape, len(border))), C)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, ndarray):
            return np.asarray(self) + other
        return ArrowMatrix(self.layout, self.A + other.A, self.B + other.B, self.C + other.C)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, ndarray):
            return np.asarray(self) - other
        return ArrowMatrix(self.layout, self.A - other.A, self.B - other.B, self.C - other.C)

    def __mul__(self, c: float) -> ArrowMatrix:
        return ArrowMatrix(self.layout, c * self.A, c * self.B, c * self.C)

    __rmul__ = __mul__

    def __truediv__(self, c: float) -> ArrowMatrix:
        return ArrowMatrix(self.layout, self.A / c, self.B / c, self.C / c)

    def diagonal(self) -> ndarray:
        """Diagonal, (p,)."""
        return self.layout.scatter(self.A.diagonal(), self.C.diagonal(axis1=1, axis2=2))

    def __matmul__(self, b: ndarray) -> ndarray:
        border, levels = self.layout.gather(b)
        top = self.A @ border + np.tensordot(self.B, levels, axes=([0, 1], [0, 1]))
        below = np.tensordot(self.B, border, axes=1)
        below += np.einsum("lij,lj...->li...", self.C, levels)
        return self.layout.scatter(top, below)

    def entries(self, rows: ndarray, columns: ndarray) -> ndarray:
        """Entries of some rows and columns, by their places, (r, c)."""
        level, slot = self.layout.owners
        place = np.full(len(self), -1)
        place[self.layout.border] = np.arange(len(self.layout.border))
        out = _of_blocks(self.layout, self.C, rows, columns)
        i, j = np.flatnonzero(level[rows] < 0), np.flatnonzero(level[columns] < 0)
        out[np.ix_(i, j)] = self.A[np.ix_(place[rows[i]], place[columns[j]])]
        inner = np.flatnonzero(level[rows] >= 0)
        own = rows[inner]
        out[np.ix_(inner, j)] = self.B[level[own], slot[own]][:, place[columns[j]]]
        inner = np.flatnonzero(level[columns] >= 0)
        own = columns[inner]
        out[np.ix_(i, inner)] = self.B[level[own], slot[own]][:, place[rows[i]]].T
        return out

    def embedded(self, places: ndarray, size: int) -> ArrowMatrix:
        """The matrix of some places among more, with zeros."""
        rest = np.setdiff1d(np.arange(size), places)
        layout, q, r = self.layout.embedded(places, size), len(self.A), len(rest)
        A, B = np.zeros((q + r, q + r)), np.zeros((*self.B.shape[:2], q + r))
        A[:q, :q], B[:, :, :q] = self.A, self.B
        return ArrowMatrix(ArrowLayout(np.append(layout.border, rest), layout.slots, size), A, B, self.C)

    def narrowed(self, keep: ndarray) -> ArrowMatrix:
        """The matrix of some parameters, a mask (p,)."""
        layout, border = self.layout.narrowed(keep), keep[self.layout.border]
        here = layout.there[:, :, None]
        B = np.where(here, self.B[:, :, border], 0.0)
        return ArrowMatrix(layout, self.A[np.ix_(border, border)], B, np.where(here & here.swapaxes(1, 2), self.C, 0.0))

    def factor(self) -> ArrowFactor:
        """Block elimination of the matrix; LinAlgError where it is not positive definite to rounding."""
        return ArrowFactor(self)


def of_equations(parts: Mapping[tuple[int, int], ArrowMatrix], q: int) -> ArrowMatrix:
    """Arrow matrix of q equations with the same columns, from that of each pair (i, j), i <= j, of equations."""
    first = parts[0, 0]
    blocks = [[parts[min(i, j), max(i, j)] for j in range(q)] for i in range(q)]
    A, B, C = (
        np.concatenate([np.concatenate([getattr(part, name) for part in row], axis=-1) for row in blocks], axis=-2)
        for name in "ABC"
    )
    return ArrowMatrix(first.layout.repeated(q), A, B, C)


@dataclass(frozen=True, eq=False)
class OuterProducts:
    """Matrix U U' of the columns of U, (p, g)."""

    U: ndarray


class ArrowFactor:
    """Block elimination of a positive definite arrow matrix, its diagonal scaled to one: the levels first.

    It answers as `CholeskyFactor` does.

    Parameters
    ----------
    matrix : ArrowMatrix

    Raises
    ------
    numpy.linalg.LinAlgError
        It is not positive definite to rounding.
    """

    def __init__(self, matrix: ArrowMatrix):
        layout = matrix.layout
        self.matrix, self.layout, self.scale = matrix, layout, scale_of(matrix.diagonal())
        border, levels = layout.gather(self.scale)
        C = matrix.C * levels[:, :, None] * levels[:, None, :]
        at = np.arange(C.shape[1])
        C[:, at, at] += ~layout.there
        self.L = _cholesky(C)
        W = _below(self.L, matrix.B * levels[:, :, None] * border)
        A = matrix.A * border * border[:, None]
        flat = W.reshape(W.shape[0] * W.shape[1], len(A))
        self.W, S = W, A - flat.T @ flat
        # shares of squared lengths that columns before them leave: of those of levels, of the border
        self.own_shares = self.L.diagonal(axis1=1, axis2=2) ** 2 / C.diagonal(axis1=1, axis2=2)
        self.border_shares, self.left = S.diagonal() / A.diagonal(), S
        self.S = CholeskyFactor(S) if len(S) else None

    @property
    def shares(self) -> ndarray:
        """Share of each column of the border that all others leave of it, (q,): of its squared length."""
        border, _ = self.layout.gather(self.scale)
        own = self.matrix.A.diagonal() * border**2
        return own if self.S is None else 1.0 / (own * self.S.inverse.diagonal())

    @property
    def least_pivot2(self) -> float:
        """Least share of a column's square that those before it leave, the levels first."""
        own = 1.0 if self.S is None else float((self.border_shares * self.S.L.diagonal() ** 2).min())
        return min(own, float(self.own_shares.min(initial=1.0)))

    def shares_beside(self, constants: ndarray) -> ndarray:
        """Share of each column of the border that the levels and one of the border leave of it: (q,) places, or -1."""
        own, S = self.left.diagonal(), self.left
        taken = np.where(constants < 0, 0.0, S[np.arange(len(S)), constants] ** 2 / (own * own[constants]))
        return self.border_shares * np.maximum(1.0 - taken, 0.0)

    def solve(self, b: ndarray) -> ndarray:
        """Solution M^-1 b of a linear system, of one or several right sides."""
        border, levels = self.layout.gather((self.scale * b.T).T)
        y = _below(self.L, levels)
        top = border
        if self.S is not None:
            top = self.S.solve(border - np.tensordot(self.W, y, axes=([0, 1], [0, 1])))
        below = _above(self.L, y - np.tensordot(self.W, top, axes=1))
        return (self.scale * self.layout.scatter(top, below).T).T

    def half_solved(self, b: ndarray) -> ndarray:
        """U'^-1 b with U' U = M, for a matrix b (p, r): the lengths of its columns are b' M^-1 b."""
        border, levels = self.layout.gather((self.scale * b.T).T)
        y = _below(self.L, levels)
        flat = y.reshape(-1, b.shape[1])
        if self.S is None:
            return flat
        return np.vstack([flat, self.S.root.T @ (border - self.W.reshape(len(flat), -1).T @ flat)])

    def whitened(self, b: ndarray) -> ndarray:
        """U b with U' U = M, for a matrix b (p, r)."""
        border, levels = self.layout.gather(b / self.scale.reshape(-1, *[1] * (b.ndim - 1)))
        upper = np.einsum("lji,lj...->li...", self.L, levels) + np.tensordot(self.W, border, axes=1)
        below = border[:0] if self.S is None else self.S.whitened(border)
        return np.concatenate([upper.reshape(-1, *b.shape[1:]), below])

    @property
    def inverse(self) -> BlocksPlusLowRank:
        """Inverse, as blocks of the levels plus a matrix of the rank of the border."""
        layout, (border, levels) = self.layout, self.layout.gather(self.scale)
        eye = np.eye(self.L.shape[1])
        half = _below(self.L, np.broadcast_to(eye, self.L.shape)) * levels[:, None, :]
        q = len(border)
        root = np.zeros((0, 0)) if self.S is None else self.S.root
        below = -_above(self.L, np.tensordot(self.W, root, axes=1)) * levels[:, :, None]
        Z = layout.scatter(border[:, None] * root, below)
        return BlocksPlusLowRank(layout, np.einsum("lki,lkj->lij", half, half), Z, np.eye(q))

    @property
    def logdet(self) -> float:
        """Logarithm of the determinant."""
        levels = float(np.log(self.L.diagonal(axis1=1, axis2=2)).sum() - np.log(self.scale).sum())
        return 2.0 * levels + (0.0 if self.S is None else self.S.logdet)

    @property
    def root(self) -> ndarray:
        """Root T with M^-1 = T T', an array (p, p), where that is not too large."""
        return CholeskyFactor(np.asarray(self.matrix)).root

    def exceeds(self, least: float) -> bool:
        """Whether the matrix leaves the digits that a reciprocal condition of `least` would.

        Elimination of levels is exact but for rounding, so that digits are lost where little of a column of the border
        is left within levels, and by the condition of what is left.
        """
        own = 1.0 if self.S is None else self.S.rcond
        kept = min(self.own_shares.min(initial=1.0), self.border_shares.min(initial=1.0))
        return bool(kept * own > least)


@dataclass(frozen=True, eq=False)
class BlocksPlusLowRank(SymmetricMatrix):
    """Matrix D + Z K Z' with a block D_l for each level: inverses of arrow matrices, and sandwiches of these.

    Attributes
    ----------
    layout : ArrowLayout
        The border has no block.
    D : (L, m, m) ndarray
        The levels' blocks; of slots without a column of no meaning.
    Z : (p, r) ndarray
    K : (r, r) ndarray
        Symmetric.
    """

    layout: ArrowLayout
    D: ndarray
    Z: ndarray
    K: ndarray

    def diagonal(self) -> ndarray:
        """Diagonal, (p,)."""
        out = np.einsum("ij,ij->i", self.Z @ self.K, self.Z)
        there = self.layout.there
        out[self.layout.slots[there]] += self.D.diagonal(axis1=1, axis2=2)[there]
        return out

    def __matmul__(self, b: ndarray) -> ndarray:
        out = self.Z @ (self.K @ (self.Z.T @ b))
        levels = np.einsum("lij,lj...->li...", self.D, self.layout.gather(b)[1])
        out[self.layout.slots[self.layout.there]] += levels[self.layout.there]
        return out

    def entries(self, rows: ndarray, columns: ndarray) -> ndarray:
        """Entries of some rows and columns, by their places, (r, c)."""
        return _of_blocks(self.layout, self.D, rows, columns) + self.Z[rows] @ self.K @ self.Z[columns].T

    def __add__(self, other: BlocksPlusLowRank) -> BlocksPlusLowRank:
        r = len(self.K)
        K = np.zeros((r + len(other.K),) * 2)
        K[:r, :r], K[r:, r:] = self.K, other.K
        return BlocksPlusLowRank(self.layout, self.D + other.D, np.hstack([self.Z, other.Z]), K)

    def __sub__(self, other: BlocksPlusLowRank) -> BlocksPlusLowRank:
        return self + (-1.0) * other

    def __mul__(self, c: float) -> BlocksPlusLowRank:
        return BlocksPlusLowRank(self.layout, c * self.D, self.Z, c * self.K)

    __rmul__ = __mul__

    def __truediv__(self, c: float) -> BlocksPlusLowRank:
        return self * (1.0 / c)

    def copy(self) -> BlocksPlusLowRank:
        """The matrix itself: nothing changes it."""
        return self

    def inverse_form(self, at: ndarray, d: ndarray) -> float | None:
        """Quadratic form d' W^-1 d of the covariance W of some parameters of levels, at their places.

        By W^-1 = D^-1 - D^-1 Z K (I + Z'D^-1 Z K)^-1 Z'D^-1 (Woodbury; Golub & Van Loan 2013, section 2.1.4). None
        where a parameter is of the border, or the blocks alone are not positive definite to rounding.
        """
        level, slot = self.layout.owners
        if (level[at] < 0).any():
            return None
        here: Any = np.zeros(self.layout.slots.shape, dtype=bool)
        here[level[at], slot[at]] = True
        rhs = np.zeros((*here.shape, 1 + self.Z.shape[1]))
        rhs[level[at], slot[at], 0], rhs[level[at], slot[at], 1:] = d, self.Z[at]
        D, eye = np.where(here[:, :, None] & here[:, None, :], self.D, 0.0), np.eye(here.shape[1])
        try:
            L = _cholesky(np.where(here[:, :, None] | here[:, None, :], D, eye))
            white = _below(L, rhs).reshape(-1, rhs.shape[2])
            inner = np.eye(len(self.K)) + (white[:, 1:].T @ white[:, 1:]) @ self.K
            c = white[:, 1:].T @ white[:, 0]
            value = float(white[:, 0] @ white[:, 0] - c @ self.K @ np.linalg.solve(inner, c))
        except np.linalg.LinAlgError:
            return None
        clear = not len(inner) or np.linalg.cond(inner) < MAX_CONDITION_OF_FORM
        return value if value >= 0.0 and clear else None

    def around(self, meat: ArrowMatrix) -> BlocksPlusLowRank:
        """Sandwich V meat V of this matrix V and an arrow matrix of the same layout."""
        D, Z, K = self.D, self.Z, self.K
        if not self.layout.there.all():
            here = self.layout.there
            D = np.where(here[:, :, None] & here[:, None, :], D, 0.0)
        MZ, r = meat @ Z, Z.shape[1]
        border, levels = self.layout.gather(MZ)
        Y = self.layout.scatter(np.zeros_like(border), np.matmul(D, levels))
        inner = np.zeros((2 * r, 2 * r))
        inner[:r, :r], inner[:r, r:], inner[r:, :r] = K @ (Z.T @ MZ) @ K, K, K
        return BlocksPlusLowRank(self.layout, D @ meat.C @ D, np.hstack([Z, Y]), inner)

    def diagonal_around(self, d: ndarray) -> ndarray:
        """Diagonal of V diag(d) V of this matrix V, (p,)."""
        return self.around(ArrowMatrix.of_diagonal(self.layout, d)).diagonal()

    def around_products(self, meat: OuterProducts) -> BlocksPlusLowRank:
        """Sandwich V U U' V of this matrix V."""
        return BlocksPlusLowRank(self.layout, np.zeros_like(self.D), self @ meat.U, np.eye(meat.U.shape[1]))

    def embedded(self, places: ndarray, size: int) -> BlocksPlusLowRank:
        """The matrix of some places among more, with zeros."""
        Z = np.zeros((size, self.Z.shape[1]))
        Z[places] = self.Z
        return BlocksPlusLowRank(self.layout.embedded(places, size), self.D, Z, self.K)

    def narrowed(self, keep: ndarray) -> BlocksPlusLowRank:
        """The matrix of some parameters, a mask (p,)."""
        return BlocksPlusLowRank(self.layout.narrowed(keep), self.D, self.Z[keep], self.K)

    def without(self, lost: ndarray, fixed: ndarray) -> BlocksPlusLowRank:
        """The matrix with NaN for the parameters of a mask (p,), and 0 for those of another."""
        Z, r = self.Z.copy(), self.Z.shape[1]
        if not r:  # NaN comes with the low rank
            return BlocksPlusLowRank(self.layout, self.D, np.zeros((len(Z), 1)), np.zeros((1, 1))).without(lost, fixed)
        Z[fixed], Z[lost] = 0.0, np.nan
        gone = np.where(self.layout.there, fixed[self.layout.slots], False)
        D = np.where(gone[:, :, None] | gone[:, None, :], 0.0, self.D) if gone.any() else self.D
        return BlocksPlusLowRank(self.layout, D, Z, self.K)


KINDS: dict[str, Any] = {"arrow": ArrowMatrix, "blocks": BlocksPlusLowRank}  # by their name in files


def record_of(matrix: Any) -> Any:
    """A symmetric matrix for a file: an array as it is, others by their parts."""
    if not isinstance(matrix, SymmetricMatrix):
        return matrix
    kind = next(name for name, cls in KINDS.items() if type(matrix) is cls)
    parts = {f.name: getattr(matrix, f.name) for f in fields(matrix)[1:]}  # type: ignore[arg-type]
    layout = matrix.layout
    return {"kind": kind, "border": layout.border, "slots": layout.slots, "size": layout.size, **parts}


def matrix_of(stored: Any) -> Any:
    """The matrix that a file holds."""
    if not isinstance(stored, Mapping):
        return np.array(stored, dtype=float)
    border, slots = (np.array(stored[name], dtype=np.intp) for name in ("border", "slots"))
    layout, q, (L, m) = ArrowLayout(border, slots, int(stored["size"])), len(border), slots.shape
    r = len(stored.get("K", ()))
    shapes = {"A": (q, q), "B": (L, m, q), "C": (L, m, m), "D": (L, m, m), "Z": (layout.size, r), "K": (r, r)}
    cls = KINDS[stored["kind"]]
    return cls(layout, *(np.array(stored[f.name], dtype=float).reshape(shapes[f.name]) for f in fields(cls)[1:]))


def _of_blocks(layout: ArrowLayout, blocks: ndarray, rows: ndarray, columns: ndarray) -> ndarray:
    """Entries of a block-diagonal matrix, (r, c)."""
    level, slot = layout.owners
    out = np.zeros((len(rows), len(columns)))
    order = np.argsort(level[columns], kind="stable")
    sorted_levels = level[columns][order]
    first = np.searchsorted(sorted_levels, level[rows], side="left")
    last = np.searchsorted(sorted_levels, level[rows], side="right")
    last[level[rows] < 0] = first[level[rows] < 0]
    for step in range(int((last - first).max(initial=0))):
        i = np.flatnonzero(first + step < last)
        j = order[first[i] + step]
        out[i, j] = blocks[level[rows[i]], slot[rows[i]], slot[columns[j]]]
    return out


def _cholesky(C: ndarray) -> ndarray:
    """Lower Cholesky factors of blocks (L, m, m)."""
    if C.shape[1] == 1:
        if not (C > 0).all():
            raise np.linalg.LinAlgError("a level has no positive entry")
        return np.sqrt(C)
    return np.linalg.cholesky(C)


def _below(L: ndarray, b: ndarray) -> ndarray:
    """Solutions of L y = b, by block: (L, m, ...)."""
    y = np.array(b, dtype=float)
    for i in range(L.shape[1]):
        for j in range(i):
            y[:, i] -= _times(L[:, i, j], y[:, j])
        y[:, i] = _times(1.0 / L[:, i, i], y[:, i])
    return y


def _above(L: ndarray, b: ndarray) -> ndarray:
    """Solutions of L' x = b, by block."""
    x = np.array(b, dtype=float)
    for i in reversed(range(L.shape[1])):
        for j in range(i + 1, L.shape[1]):
            x[:, i] -= _times(L[:, j, i], x[:, j])
        x[:, i] = _times(1.0 / L[:, i, i], x[:, i])
    return x


def _times(c: ndarray, values: ndarray) -> ndarray:
    """Numbers (L,) times rows (L, ...)."""
    return (c * values.T).T
