"""Triangular factors of rows, A = Q R: with R'R = A'A, but without squaring A, and so with all its digits."""

from __future__ import annotations

import numpy as np
from numpy import ndarray
from scipy.linalg import solve_triangular


def qr_factor(*rows: ndarray) -> ndarray:
    """Upper triangular R with R'R = A'A, (min(n, k), k), of rows A (n, k), which may come as parts; any signs."""
    return np.asarray(np.linalg.qr(rows[0] if len(rows) == 1 else np.vstack(rows), mode="r"))


def times_inverse(rows: ndarray, R: ndarray) -> ndarray:
    """Rows A (n, k) times R^-1, of an upper triangular R (k, k): rows whose gram is R'R have the gram I then."""
    return solve_triangular(R, rows.T, trans="T", check_finite=False).T
