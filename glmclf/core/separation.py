"""Separation of a binary response: does the likelihood have a maximum at finite parameters?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy import ndarray

TOLERANCE = 1e-7  # HiGHS' feasibility tolerance


class Separation(NamedTuple):
    """A direction along which the likelihood never falls.

    Attributes
    ----------
    direction : (k,) ndarray
        In the units of X; entries within the program's tolerance of 0 are 0.
    complete : bool
        Whether some direction predicts every row perfectly (complete separation), not only some (quasi-complete).
    rows : (n,) bool ndarray
        The rows that `direction` predicts perfectly.
    """

    direction: ndarray
    complete: bool
    rows: ndarray


def find_separation(
    X: ndarray, y: ndarray, m: ndarray | None, undecided: ndarray | None = None
) -> Separation | None:
    """The separation of a binary response, or None if the estimate is finite.

    The estimate is infinite if and only if some b has x_i'b >= 0 for all events, <= 0 for all non-events, = 0 where
    both were seen, and not all are 0 (Albert & Anderson 1984). The linear program of Konis (2007) maximises the sum of
    (+-) x_i'b over -1 <= b <= 1.

    Parameters
    ----------
    X : (n, k) ndarray
        Design.
    y : (n,) ndarray
        Successes.
    m : (n,) ndarray or None
        Trials; None is one a row.
    undecided : (n,) bool ndarray, optional
        Rows that a fit has left with a probability well inside (0, 1), on which a separating direction is 0: where they
        leave few directions, the program is small. What it finds is checked on all rows; if that fails, all are used.

    Returns
    -------
    Separation or None
    """
    trials = np.ones_like(y) if m is None else m
    scale = np.abs(X).max(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    Z = X / scale
    both = (y > 0) & (y < trials)
    found = None if undecided is None else _in_null_space(Z, y, both, undecided)
    found = _by_program(Z, y, both) if found is None else found
    return None if found is None else found._replace(direction=found.direction / scale)


def _in_null_space(Z: ndarray, y: ndarray, both: ndarray, undecided: ndarray) -> Separation | None:
    """A separation along the directions that are 0 on the undecided rows, or None if there is none there."""
    R = np.linalg.qr(Z[undecided | both], mode="r")
    _, values, W = np.linalg.svd(R)
    values = np.pad(values, (0, len(W) - len(values)))
    N = W[values <= 1e-10 * max(values.max(), 1.0)].T
    if not N.shape[1]:
        return None
    T = np.where(np.abs(Z @ N) > 1e-9, Z @ N, 0.0)
    part = _by_program(T, y, both)
    if part is None:
        return None
    b = N @ part.direction
    b = np.where(np.abs(b) > TOLERANCE * np.abs(b).max(), b, 0.0)
    gains = np.where(y == 0, -1.0, 1.0) * (Z @ b)
    valid = gains[~both].min() > -1e-9 and np.abs(gains[both]).max(initial=0.0) < 1e-9
    return Separation(b, part.complete, part.rows) if valid else None


def _by_program(Z: ndarray, y: ndarray, both: ndarray) -> Separation | None:
    """The separation of a scaled design by linear programming on its distinct rows."""
    A = np.where(y == 0, -1.0, 1.0)[~both, None] * Z[~both]
    A, E = np.unique(A, axis=0), np.unique(Z[both], axis=0)
    b = _maximise(A.sum(axis=0), A, E) if len(A) else None
    b = None if b is None or (A @ b).max() < 1e3 * TOLERANCE else _refined(A, E, b)
    if b is None:
        return None
    rows = ~both & (np.abs(Z @ b) > 1e2 * TOLERANCE)
    return Separation(b, not both.any() and _complete(A), rows)


def _maximise(c: ndarray, A: ndarray, E: ndarray) -> ndarray | None:
    """argmax of c'b over A b >= 0, E b = 0, -1 <= b <= 1."""
    b = _solve(c, A, np.zeros(len(A)), E, np.zeros(len(E)))
    return None if b is None else np.where(np.abs(b) > TOLERANCE, b, 0.0)


def _solve(c, A, lower, E, equal) -> ndarray | None:
    from scipy.optimize import linprog

    equality = {"A_eq": E, "b_eq": equal} if len(E) else {}
    found = linprog(-c, A_ub=-A, b_ub=-lower, bounds=(-1, 1), method="highs", **equality)
    return found.x if found.status == 0 else None


def _refined(A: ndarray, E: ndarray, b: ndarray) -> ndarray | None:
    """b moved until A b >= 0 and E b = 0 to rounding, or None where that cannot be: the overlap is narrow, but is one.

    The program is solved again for the correction, in units of its own tolerance.
    """
    unit = 1.0
    for _ in range(3):
        rounding = 8 * len(b) * np.finfo(float).eps * np.abs(b).max()
        if (A @ b).min() >= -rounding and np.abs(E @ b).max(initial=0.0) <= rounding:
            return b
        unit *= 10 * TOLERANCE
        near = np.abs(A @ b) < 1e3 * len(b) * unit
        step = _solve(A[near].sum(axis=0), A[near], -(A[near] @ b) / unit, E, -(E @ b) / unit)
        if step is None:
            return None
        b = b + unit * step
    return b if (A @ b).min() >= -rounding else None


def _complete(A: ndarray) -> bool:
    """Whether some b has A b > 0 in every row: the largest t with A b >= t is positive."""
    widened = np.column_stack([A, -np.ones(len(A))])
    goal = np.zeros(widened.shape[1])
    goal[-1] = 1.0
    b = _maximise(goal, widened, np.zeros((0, len(goal))))
    return b is not None and b[-1] > 10 * TOLERANCE
