"""Coordinates for penalised fits in which the columns without a penalty are projected out of the others.

With b the coefficients of X and T a matrix of columns, X b = (X T) c where b = T c. Free columns are orthonormalised;
each penalised one has its projection on them taken off, which leaves its coefficient, and so the penalty, as it is: the
estimate no longer depends on how far a column is from 0. Under a ridge alone the penalised columns may be mixed, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray
from scipy.linalg import solve_triangular

from glmclf.caching import cached_property
from glmclf.core.design.dense import MAX_EXPANDED_ENTRIES
from glmclf.core.design.factor import FactorColumns
from glmclf.core.design.product import Product, is_small, triangular_inverse
from glmclf.core.fit.rank import triangular_factor
from glmclf.core.likelihood.objective import CholeskyFactor
from glmclf.core.numerics.double_double import product
from glmclf.core.numerics.triangular import qr_factor
from glmclf.core.rows.blocks import Blocks

MIN_RCOND = 1e-4  # reciprocal condition of the scaled information above which at most four digits are at stake
MIN_RCOND_OF_LARGE = 1e-9  # for a table that would have to be expanded, or too large for other coordinates
MAX_TRANSFORMED_ENTRIES = 5_000_000  # entries up to which rows are put into other coordinates once, not in every pass
MAX_TWOFOLD_COLUMNS = 200  # columns above which twofold products of full matrices take long
MAX_TWOFOLD_ORDER = 32  # order of square matrices whose product in twofold arithmetic takes no time
BASIS_SLACK = 1e-7  # share of a column's length that keeps the basis of collinear columns invertible
POLISHING_STEPS = 4  # Newton steps from 0 to coordinates with no more than the rounding of a twofold product: 3 refine


def enough(A: ndarray, columns: Any, large: bool = False) -> bool:
    """Whether a gram or information of columns is well enough conditioned to work with the columns as they are.

    Of a `large` problem, and of a table that would have to be expanded, less is asked.
    """
    n, k = columns.shape
    large = large or (isinstance(columns, FactorColumns) and n * k > MAX_EXPANDED_ENTRIES)
    least = MIN_RCOND_OF_LARGE if large else MIN_RCOND
    try:
        return CholeskyFactor(A).exceeds(least)
    except np.linalg.LinAlgError:
        return False


@dataclass(frozen=True)
class PartialledOut:
    """Coordinates c of coefficients b, equation by equation: b = T c with T = inv(basis), columns in another order.

    Attributes
    ----------
    raw : Objective
        Of the columns X as they are.
    free : (k,) bool ndarray
        Columns without a penalty.
    basis : (k, k) upper triangular ndarray
        Of the free columns, then the others.
    """

    raw: Any
    free: ndarray
    basis: ndarray

    @classmethod
    def of(cls, objective: Any, free: ndarray) -> PartialledOut:
        """Coordinates in which the free columns are orthonormal, and projected out of the others."""
        order, f, n = _order(free), int(free.sum()), objective.n
        basis = np.eye(len(free))
        if f:
            R = _factor_of(objective.blocks, lambda X: Product(X, np.eye(len(free))[:, order], False))
            signs = np.where(np.diag(R)[:f] < 0, -1.0, 1.0)
            basis[:f] = R[:f] * signs[:, None] / np.sqrt(n)
        return cls(objective, free, basis)

    def mixed(self, ridge: ndarray, which: ndarray | None = None) -> PartialledOut:
        """Coordinates with the other columns, or some, orthonormal beside the roots of a ridge (k,) per row of X."""
        at, n = np.flatnonzero(~self.free if which is None else which), self.raw.n
        R = _factor_of(self.raw.blocks, lambda X: Product(X, self.T[:, at], self.exact))
        R = qr_factor(R / np.sqrt(n), np.diag(np.sqrt(ridge[at])))
        basis, place = self.basis.copy(), np.argsort(_order(self.free))[at]
        basis[np.ix_(place, place)] = R * np.where(np.diag(R) < 0, -1.0, 1.0)[:, None]
        return PartialledOut(self.raw, self.free, basis)

    @property
    def exact(self) -> bool:
        """Whether rows are transformed in twofold arithmetic."""
        n, k = self.raw.blocks.arrays[0].shape
        return is_small(n, k) and k <= MAX_TWOFOLD_COLUMNS

    @cached_property
    def T(self) -> ndarray:
        """Columns of the coordinates as combinations of those of X, (k, k)."""
        out, order = np.empty_like(self.basis), _order(self.free)
        out[np.ix_(order, order)] = triangular_inverse(self.basis)
        return out

    @cached_property
    def inverse(self) -> ndarray:
        """Inverse of T, for c = inverse b, to plain rounding."""
        out, order = np.empty_like(self.basis), _order(self.free)
        out[np.ix_(order, order)] = self.basis
        return out

    def apply(self, objective: Any) -> Any:
        """An objective of the same columns in these coordinates."""
        T, exact, size = self.T, self.exact, objective.blocks.size

        def moved(X: Any, *rest: Any) -> tuple:
            X = Product(X, T, exact)
            return (X[:] if X.shape[0] * X.shape[1] <= MAX_TRANSFORMED_ENTRIES else X, *rest)

        blocks = objective.blocks.map(moved)
        blocks = blocks.rechunk(min(size, blocks.arrays[0].block_size))  # rows may be expanded now
        return type(objective)(objective.likelihood, blocks, objective.unit)

    def into(self, b: ndarray) -> ndarray:
        """Coordinates of coefficients, to plain rounding."""
        return _by_equation(self.inverse, b)

    def out(self, c: ndarray) -> ndarray:
        """Coefficients, or one side of their covariance."""
        return _by_equation(self.T, c, _twofold)

    def quadratic(self, ridge: ndarray) -> ndarray:
        """Quadratic form sum ridge_j b_j^2 in c, (d, d); `ridge` is 0 for the free columns."""
        k = len(self.free)
        out = np.zeros((len(ridge), len(ridge)))
        for i in range(0, len(ridge), k):
            root = np.sqrt(ridge[i : i + k])[:, None] * self.T
            out[i : i + k, i : i + k] = root.T @ root
        return out

    def slopes(self, score: ndarray) -> ndarray:
        """A score in c as one in the penalised coefficients themselves, the free columns projected out."""
        return _by_equation(self._within(self.inverse).T, score)

    def unmixed(self, c: ndarray) -> ndarray:
        """Coordinates in which penalised columns are not mixed, from these."""
        return _by_equation(self._within(self.T), c, _twofold)

    def remixed(self, c: ndarray) -> ndarray:
        """Coordinates of `self` from ones in which penalised columns are not mixed, to plain rounding."""
        return _by_equation(self._within(self.inverse), c)

    def with_linear(self, linear: ndarray) -> ndarray:
        """A linear form of the penalised coefficients as one of c."""
        return _by_equation(self._within(self.T).T, linear)

    def _within(self, A: ndarray) -> ndarray:
        """The part of a matrix that is of the penalised columns."""
        P, out = np.flatnonzero(~self.free), np.eye(len(self.free))
        out[np.ix_(P, P)] = A[np.ix_(P, P)]
        return out

    @cached_property
    def final(self) -> tuple[ndarray, ndarray]:
        """An upper triangular basis for X in its own order, and M with coordinates M c in it."""
        k = len(self.free)
        if self.final_is_own:
            return self.basis, np.eye(k)
        R = _factor_of(self.raw.blocks, lambda X: X)
        length = np.linalg.norm(R, axis=0)
        R = qr_factor(R, BASIS_SLACK * np.diag(np.where(length > 0, length, 1.0))) / np.sqrt(self.raw.n)
        V, M = triangular_inverse(R), np.zeros((k, k))
        both = np.hstack([self.T, -V])
        for _ in range(POLISHING_STEPS):
            M += solve_triangular(V, _twofold(both, np.vstack([np.eye(k), M])))
        return R, M

    @property
    def final_is_own(self) -> bool:
        """Whether the free columns come first, so that the basis is triangular as it is."""
        return bool(self.free[: int(self.free.sum())].all())

    def finally_into(self, c: ndarray) -> ndarray:
        """Coordinates in the final basis."""
        return _by_equation(self.final[1], c)


@dataclass(frozen=True)
class CentredOnConstant(PartialledOut):
    """Coordinates in which numbers are less their means, which a column of ones without a penalty takes up.

    The coefficients that have a penalty stay as they are, and no array of all columns by all is made.
    """

    basis: Any  # a LevelCentring

    def apply(self, objective: Any) -> Any:
        return objective.rotated(self.basis)

    def into(self, b: ndarray) -> ndarray:
        return self.basis.into(b)

    def out(self, c: ndarray) -> ndarray:
        return self.basis.back(c)


def _factor_of(blocks: Blocks, columns: Callable[[Any], Any]) -> ndarray:
    """Triangular factor R of columns made of X."""
    return triangular_factor(blocks.map(lambda X, *rest: (columns(X),)))


def _order(free: ndarray) -> ndarray:
    return np.argsort(~free, kind="stable")


def _twofold(A: ndarray, B: ndarray) -> ndarray:
    """Product A B in twofold arithmetic, unless that takes long."""
    return product(A, B) if B.shape[1] <= 1 or len(A) <= MAX_TWOFOLD_ORDER else A @ B


def _by_equation(A: ndarray, c: ndarray, times: Any = np.matmul) -> ndarray:
    """Product of A and each equation's part of c, (d,) or (d, m)."""
    k = len(A)
    parts = [times(A, c[i : i + k].reshape(k, -1)).reshape(c[i : i + k].shape) for i in range(0, len(c), k)]
    return np.concatenate(parts)
