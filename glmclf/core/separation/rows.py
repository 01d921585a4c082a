"""Rows of a design as directions of about one size, whatever the units, origins and outliers of its columns.

Which sides of x'd the outcomes ask for does not change with the length of a row, nor with other coordinates of d. So
rows are put where linear programs, whose tolerance is 1e-7, can tell them apart: theta = M phi, z_i = M'x_i / |M'x_i|.
M makes columns orthogonal for rows of one length (so that 100,000, 100,001, ... differ). A column of which few values
dwarf the others gets the size of these (so that they stay apart), and again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray
from scipy.linalg import solve_triangular

from glmclf.core.design.product import is_small
from glmclf.core.numerics.constants import EPS
from glmclf.core.numerics.double_double import product
from glmclf.core.numerics.triangular import qr_factor

MAX_SCALING_ROUNDS = 5  # rounds in which the columns of a design are scaled anew
DWARFED_RATIO = 1e3  # ratio of a column's largest entry to the distance of nine tenths of them from their median
MIN_TIE_SHARE, MAX_TIE_SHARE = 1e-12, 1e-9  # bounds of the share of a row's length that counts as 0


@dataclass(frozen=True)
class ScaledRows:
    """Rows of a design in coordinates in which they have length 1.

    Attributes
    ----------
    X : (n, k) ndarray
        The rows as they were given.
    Z : (n, k) ndarray
        Rows of length 1, or 0.
    length : (n,) ndarray
        What they were divided by.
    M : (k, k) ndarray
        Upper triangular: X M = length Z, theta = M phi.
    tie : float
        What is 0 but for rounding.
    """

    X: ndarray
    Z: ndarray
    length: ndarray
    M: ndarray
    tie: float

    def parameters(self, D: ndarray, noise: float = 0.0) -> ndarray:
        """Directions phi (p, r), known but for `noise`, equation by equation, in the units of the parameters."""
        k = len(self.M)
        out = np.concatenate([self.M @ D[i : i + k] for i in range(0, len(D), k)])
        # what rounding in phi, whose entries are of one size, makes of a 0
        size = np.tile(np.abs(self.M).sum(axis=1), len(D) // k)[:, None] * np.abs(D).max(axis=0, initial=0.0)
        return np.where(np.abs(out) <= max(1e-11, noise) * size, 0.0, out)

    def coordinates(self, theta: ndarray) -> ndarray:
        """Coordinates phi of parameters (p,)."""
        parts = theta.reshape(-1, len(self.M))
        return np.concatenate([solve_triangular(self.M, part, check_finite=False) for part in parts])

    def rows(self, R: ndarray) -> ndarray:
        """Combinations R theta (., p) as combinations of phi."""
        k = len(self.M)
        return np.hstack([R[:, i : i + k] @ self.M for i in range(0, R.shape[1], k)])


def directions(X: ndarray) -> ScaledRows:
    """Scale the rows of a design of full column rank to length 1 in coordinates of about one size.

    Parameters
    ----------
    X : (n, k) ndarray

    Returns
    -------
    ScaledRows
    """
    X = X.astype(float, copy=False)
    size, rare = np.abs(X).max(axis=0, initial=0.0), _rare(X)
    M = np.diag(1.0 / np.where(size > 0, size, 1.0))
    for again in range(MAX_SCALING_ROUNDS):
        Z = _of_length_one(X, M)[0]
        R = qr_factor(Z) if len(Z) >= len(M) else np.zeros((0, 0))
        if R.shape != M.shape or not np.abs(np.diag(R)).min(initial=1.0) > 0:
            break
        above = np.triu(np.abs(R) <= 1e-8 * np.linalg.norm(R, axis=0), 1)
        R[above] = 0.0  # orthogonal enough, and zeros stay zeros
        if again:  # sizes are those of the first round, but for what one value dwarfs
            R = R / np.diag(R)[:, None]
        M = M @ solve_triangular(R, np.eye(len(R)), check_finite=False)
        Z, noise = _product(X, M)
        away, usual = _spread(Z, noise, rare)
        dwarfed = away * DWARFED_RATIO < np.abs(Z).max(axis=0)
        if not dwarfed.any():
            break
        M = M / np.where(dwarfed, usual, 1.0)
    Z, length, share = _of_length_one(X, M)
    return ScaledRows(X, Z, length, M, float(np.clip(16 * share, MIN_TIE_SHARE, MAX_TIE_SHARE)))


def _of_length_one(X: ndarray, M: ndarray) -> tuple[ndarray, ndarray, float]:
    """Rows of X M scaled to length one, their lengths before, and the largest share of rounding in the data."""
    Z, noise = _product(X, M)
    top = np.abs(Z).max(axis=1, initial=0.0)
    top[top == 0] = 1.0
    length = top * np.linalg.norm(Z / top[:, None], axis=1)
    length[length == 0] = 1.0
    share = float((noise.max(axis=1, initial=0.0) / length).max(initial=0.0))
    return Z / length[:, None], length, share


def _product(X: ndarray, M: ndarray) -> tuple[ndarray, ndarray]:
    """Product X M, right to rounding where that is affordable, and the rounding of the entries of X in it."""
    noise = EPS * (np.abs(X) @ np.abs(M))
    Z = X @ M
    if (noise > 1e-13 * np.abs(Z).max(axis=1, keepdims=True, initial=0.0)).any() and is_small(*X.shape):
        Z = np.asarray(product(X, M))
    return Z, noise


def _rare(X: ndarray) -> dict[int, ndarray]:
    """Map from columns of which nine tenths are one number, as of factors, to the rows with other numbers."""
    other = X != np.median(X, axis=0)
    return {int(j): np.flatnonzero(other[:, j]) for j in np.flatnonzero(other.mean(axis=0) < 0.1)}


def _spread(Z: ndarray, noise: ndarray, rare: dict[int, ndarray]) -> tuple[ndarray, ndarray]:
    """Distance of nine tenths of the entries of each column from their median, infinite where it is rounding, and of
    nine tenths from 0; of the rows in which a rare column is itself."""
    away = np.quantile(np.abs(Z - np.median(Z, axis=0)), 0.9, axis=0)
    rounding, usual = np.median(noise, axis=0), np.quantile(np.abs(Z), 0.9, axis=0)
    for j, rows in rare.items():
        z = Z[rows, j] if len(rows) else np.zeros(1)
        away[j], usual[j] = np.quantile(np.abs(z - np.median(z)), 0.9), np.quantile(np.abs(z), 0.9)
        rounding[j] = np.median(noise[rows, j]) if len(rows) else 0.0
    return np.where(away > 64 * rounding, away, np.inf), usual
