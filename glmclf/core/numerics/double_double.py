"""Products of matrices in twofold (double-double) arithmetic, rounded once at the end.

An ill-conditioned design makes X T and T b differences of numbers that are far larger than the result. Error-free
products and sums (Dekker 1971, Knuth 1969) keep twice the digits of a double on the way, so that what is left is right
to rounding: about 25 operations where plain arithmetic has two.

References
----------
Ogita, Rump & Oishi (2005), Accurate sum and dot product. SIAM Journal on Scientific Computing 26, 1955-1988.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

SPLITTER = 134217729.0  # 2^27 + 1: cuts a double into two halves whose products are exact (Dekker's splitting)
NUMBERS_AT_A_TIME = 4096  # numbers of an operation: beyond the cost of a call, within the cache


def two_sum(a: ndarray, b: ndarray) -> tuple[ndarray, ndarray]:
    """Sum a + b as the rounded sum and its error."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def two_product(a: ndarray, b: ndarray) -> tuple[ndarray, ndarray]:
    """Product a b as the rounded product and its error; exact unless a part over- or underflows."""
    p = a * b
    ah, al = _halves(a)
    bh, bl = _halves(b)
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def _halves(a: ndarray) -> tuple[ndarray, ndarray]:
    t = SPLITTER * a
    high = t - (t - a)
    return high, a - high


def product(A: ndarray, B: ndarray) -> ndarray:
    """Matrix product A B as if in twice the precision of a double, (n, m).

    Parameters
    ----------
    A : (n, k) ndarray
    B : (k, m) ndarray

    Returns
    -------
    (n, m) ndarray
        Column-contiguous. Entries whose terms over- or underflow are plain products.

    Examples
    --------
    >>> import numpy as np
    >>> A, B = np.array([[1e16, 1.0, -1e16]]), np.array([[1.0], [1.0], [1.0]])
    >>> (A @ B).item() == 1.0, product(A, B).item()
    (False, 1.0)
    """
    n = len(A)
    out = np.empty((n, B.shape[1]), order="F")
    columns = np.ascontiguousarray(A.T)
    width = max(1, NUMBERS_AT_A_TIME // max(n, 1))
    for start in range(0, B.shape[1], width):
        b = B[:, start : start + width, None]
        used = np.flatnonzero(b.any(axis=(1, 2)))  # half of a triangular matrix
        high, low = np.zeros((b.shape[1], n)), np.zeros((b.shape[1], n))
        with np.errstate(over="ignore", invalid="ignore"):
            for i in used:
                p, e = two_product(columns[i], b[i])
                high, f = two_sum(high, p)
                low += e + f
            out[:, start : start + width] = (high + low).T
    wrong = ~np.isfinite(out).all(axis=1)
    if wrong.any():
        out[wrong] = A[wrong] @ B
    return out
