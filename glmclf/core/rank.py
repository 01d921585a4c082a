"""Rank of a design, and the basis in which an ill-conditioned one is well-conditioned."""

from __future__ import annotations

import numpy as np
from numpy import ndarray
from scipy.linalg import qr, solve_triangular

from glmclf.core.blocks import Blocks

ROUNDINGS = 8  # a column within this many roundings (times k) of others' span is dependent
CLOSE = 1e-11  # only a rest this small can be rounding, however large the terms


def triangular_factor(blocks: Blocks) -> ndarray:
    """R of X = Q R, (k, k) upper triangular, combined block by block.

    X is the first of the blocks' arrays or, where they hold several Columns, all of those side by side.
    """
    columns = [i for i, a in enumerate(blocks.arrays) if hasattr(a, "gram")]
    k = sum(blocks.arrays[i].shape[1] for i in columns)
    R = np.zeros((0, k))
    for block in blocks:
        X = np.column_stack([block[i].toarray() for i in columns])
        R = qr(np.vstack([R, X]), mode="r", check_finite=False)[0][:k]
    return np.vstack([R, np.zeros((k - len(R), k))])


def dependencies(R: ndarray) -> dict[int, dict[int, float]]:
    """Columns of X that are combinations of earlier ones: dependent column -> {column: coefficient}.

    Parameters
    ----------
    R : (k, k) ndarray
        Triangular factor of X, or some of its columns in any order, (., k).

    Notes
    -----
    Columns are taken from left to right, as R's `lm` does, and compared with their own length, so that units do not
    matter. The tolerance is a few roundings: a design of condition 1e13 has full rank.
    """
    m, k = R.shape
    length = np.linalg.norm(R, axis=0)
    S = R / np.where(length > 0, length, 1.0)
    Q, U = np.zeros((m, k), order="F"), np.zeros((k, k))  # S[:, kept] = Q U
    kept: list[int] = []
    found: dict[int, dict[int, float]] = {}
    for j in range(k):
        r = len(kept)
        a = Q[:, :r].T @ S[:, j]
        rest = S[:, j] - Q[:, :r] @ a
        again = Q[:, :r].T @ rest
        rest, a = rest - Q[:, :r] @ again, a + again
        size = np.linalg.norm(rest)
        b = solve_triangular(U[:r, :r], a) if size < CLOSE and r else np.zeros(r)
        # the terms of the combination are rounded, too: large terms that cancel leave a larger rest
        tolerance = ROUNDINGS * k * np.finfo(float).eps * max(1.0, float(np.abs(b).sum()))
        if length[j] > 0 and size > tolerance and r < m:
            Q[:, r], U[:r, r], U[r, r] = rest / size, a, size
            kept.append(j)
        else:
            terms = zip(kept, b, strict=True) if length[j] > 0 else ()
            found[j] = {i: float(v * length[j] / length[i]) for i, v in terms if abs(v) > 1e-9}
    return found


def independent(R: ndarray, columns: ndarray) -> ndarray:
    """The columns among `columns` that are no combination of those before them, in their order."""
    found = dependencies(R[:, columns])
    return columns[[i for i in range(len(columns)) if i not in found]].astype(np.intp)
