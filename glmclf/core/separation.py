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


def find_separation(X: ndarray, y: ndarray, m: ndarray | None) -> Separation | None:
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

    Returns
    -------
    Separation or None
    """
    trials = np.ones_like(y) if m is None else m
    scale = np.abs(X).max(axis=0)
    Z = X / np.where(scale > 0, scale, 1.0)
    both = (y > 0) & (y < trials)
    A = np.where(y == 0, -1.0, 1.0)[~both, None] * Z[~both]
    A, E = np.unique(A, axis=0), np.unique(Z[both], axis=0)
    b = _maximise(A.sum(axis=0), A, E) if len(A) else None
    if b is None:
        return None
    gains = A @ b
    if gains.max() < 1e3 * TOLERANCE or gains.min() < -TOLERANCE * X.shape[1]:
        return None
    rows = ~both & (np.abs(Z @ b) > 1e2 * TOLERANCE)
    return Separation(b / np.where(scale > 0, scale, 1.0), not both.any() and _complete(A), rows)


def _maximise(c: ndarray, A: ndarray, E: ndarray) -> ndarray | None:
    """argmax of c'b over A b >= 0, E b = 0, -1 <= b <= 1."""
    from scipy.optimize import linprog

    equal = {"A_eq": E, "b_eq": np.zeros(len(E))} if len(E) else {}
    found = linprog(-c, A_ub=-A, b_ub=np.zeros(len(A)), bounds=(-1, 1), method="highs", **equal)
    return np.where(np.abs(found.x) > TOLERANCE, found.x, 0.0) if found.status == 0 else None


def _complete(A: ndarray) -> bool:
    """Whether some b has A b > 0 in every row: the largest t with A b >= t is positive."""
    widened = np.column_stack([A, -np.ones(len(A))])
    goal = np.zeros(widened.shape[1])
    goal[-1] = 1.0
    b = _maximise(goal, widened, np.zeros((0, len(goal))))
    return b is not None and b[-1] > 10 * TOLERANCE
