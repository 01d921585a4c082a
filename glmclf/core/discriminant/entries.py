"""Entries of a covariance matrix that are asked for: a table of rows by columns, or pairs such as the diagonal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy import ndarray


class Positions(NamedTuple):
    """Coefficients by equation (0 for class 1) and column within it, two (r,) integer arrays."""

    equation: ndarray
    column: ndarray


class Pairing(NamedTuple):
    """Rule by which entries of a covariance matrix follow from the positions of rows and columns.

    Attributes
    ----------
    split : function of two (r,) and (s,) arrays
        The arrays shaped so that they broadcast to the entries.
    dot : function of two (r, q) and (s, q) arrays
        Inner products of their rows, one for each entry.
    """

    split: Callable[[ndarray, ndarray], tuple[ndarray, ndarray]]
    dot: Callable[[ndarray, ndarray], ndarray]


def _by_table(u: ndarray, v: ndarray) -> tuple[ndarray, ndarray]:
    return u[:, None], v[None, :]


def _by_pairs(u: ndarray, v: ndarray) -> tuple[ndarray, ndarray]:
    return u, v


def _products(A: ndarray, B: ndarray) -> ndarray:
    return A @ B.T


def _paired_products(A: ndarray, B: ndarray) -> ndarray:
    return np.einsum("ij,ij->i", A, B)


TABLE = Pairing(_by_table, _products)
DIAGONAL = Pairing(_by_pairs, _paired_products)


@dataclass(frozen=True)
class Arrows:
    """Matrices (m, p), one an equation, whose first row is dense and whose other rows have one entry each.

    Such are the derivatives of coefficients where features are independent: each feature's coefficients depend on its
    own parameter alone, the intercept on all.

    Attributes
    ----------
    first : (q, p) ndarray
        First rows.
    features : (m - 1,) integer ndarray
        Column of the entry of each other row.
    values : (q, m - 1) ndarray
        These entries.
    """

    first: ndarray
    features: ndarray
    values: ndarray

    def gram(self, a: Positions, b: Positions, pairing: Pairing) -> ndarray:
        """Inner products of the rows at positions `a` with those at `b`."""
        k, l = pairing.split(a.equation, b.equation)
        i, j = pairing.split(a.column, b.column)
        at = np.concatenate([[0], self.features])
        values = np.column_stack([np.zeros(len(self.values)), self.values])
        out = np.where(at[i] == at[j], values[k, i] * values[l, j], 0.0)
        out = np.where(i == 0, self.first[k, at[j]] * values[l, j], out)
        out = np.where(j == 0, values[k, i] * self.first[l, at[i]], out)
        return np.where((i == 0) & (j == 0), (self.first @ self.first.T)[k, l], out)
