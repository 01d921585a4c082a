"""Entries of a covariance matrix that are asked for: a table of rows by columns, or pairs such as the diagonal."""

from __future__ import annotations

from collections.abc import Callable
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
