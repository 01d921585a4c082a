"""Separation of small designs of whole numbers by enumeration, in exact integers: what the linear programs are held to.

Written from the definition (Albert & Anderson 1984) and sharing nothing with the package: a direction d separates if
(d_c - d_l)'x >= 0 for every row x, class c that it showed and class l that it did not, = 0 where it showed both, and if
one of these is positive. Such directions form a pointed cone; its rays are found by trying all sets of p - 1 rows.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ExactCone:
    """All extreme rays, and what follows from them.

    Attributes
    ----------
    rays : (r, p) object ndarray of int
    signs : (p,) ndarray
        Of each parameter over the cone: 1, -1, 0, or NaN for both.
    ruled_out : (n, K) bool ndarray
        Outcomes that some direction rules out.
    complete : bool
        Whether every outcome that a row did not show is.
    """

    rays: np.ndarray
    signs: np.ndarray
    ruled_out: np.ndarray
    complete: bool


def comparisons(X: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[tuple[int, int]]]:
    """Rows of the inequalities (whole numbers), which are equations, and the (row, class) that each is about."""
    k, K = X.shape[1], seen.shape[1]
    rows, tied, about = [], [], []
    for i, (x, s) in enumerate(zip(X.tolist(), seen, strict=True)):
        for c, l in itertools.permutations(range(K), 2):
            if not s[c]:
                continue
            row = np.zeros((K, k), dtype=object)
            row[c], row[l] = x, [-v for v in x]
            rows.append(row[1:].ravel().tolist())
            tied.append(bool(s[l]))
            about.append((i, l))
    return np.array(rows, dtype=object), np.array(tied), about


def cross(M: list[list[int]]) -> list[int]:
    """The direction orthogonal to p - 1 rows, by minors; zeros if the rows are dependent."""
    p = len(M[0])
    return [(-1) ** j * determinant([row[:j] + row[j + 1 :] for row in M]) for j in range(p)]


def determinant(M: list[list[int]]) -> int:
    """By Bareiss' elimination, which stays in the integers."""
    M, n, sign, before = [row[:] for row in M], len(M), 1, 1
    for k in range(n - 1):
        pivot = next((i for i in range(k, n) if M[i][k]), None)
        if pivot is None:
            return 0
        if pivot != k:
            M[k], M[pivot], sign = M[pivot], M[k], -sign
        for i, j in itertools.product(range(k + 1, n), repeat=2):
            M[i][j] = (M[i][j] * M[k][k] - M[i][k] * M[k][j]) // before
        before = M[k][k]
    return sign * M[-1][-1] if n else 1


def exact_cone(X: np.ndarray, seen: np.ndarray) -> ExactCone | None:
    """The cone of a design of full column rank, or None where it is {0}: the estimate exists.

    Parameters
    ----------
    X : (n, k) ndarray of whole numbers
    seen : (n, K) bool ndarray
        Classes that each row showed.
    """
    A, tied, about = comparisons(X.astype(int), seen)
    p, found = A.shape[1], set()
    distinct = [list(row) for row in {tuple(row) for row in A.tolist()} if any(row)]
    for picked in itertools.combinations(distinct, p - 1):
        d = cross(list(picked)) if p > 1 else [1]
        if not any(d):
            continue
        d = np.array(d, dtype=object) // np.gcd.reduce([int(v) for v in d])
        for ray in (d, -d):
            side = A @ ray
            if min(side) >= 0 and not side[tied].any():
                found.add(tuple(ray.tolist()))
    if not found:
        return None
    rays = np.array(sorted(found), dtype=object)
    up, down = (rays > 0).any(axis=0), (rays < 0).any(axis=0)
    gained = (A @ rays.T > 0).any(axis=1)
    gone = np.zeros(seen.shape, dtype=bool)
    for (i, l), gains in zip(about, gained, strict=True):
        gone[i, l] |= gains
    signs = np.where(up & down, np.nan, up.astype(float) - down)
    return ExactCone(rays, signs, gone, bool(gained.all()))
