"""Separation of a binary response: does the likelihood have a maximum at finite parameters?"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

TOLERANCE = 1e-7  # HiGHS' feasibility tolerance


def separating_direction(X: ndarray, y: ndarray, m: ndarray | None) -> ndarray | None:
    """A direction along which the likelihood never falls, or None if the estimate is finite.

    The estimate is infinite if and only if some b has x_i'b >= 0 for all events, <= 0 for all non-events, = 0 where both
    were seen, and not all are 0 (Albert & Anderson 1984). The linear program of Konis (2007) maximises the sum of
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
    (k,) ndarray or None
        The direction, in the units of X; entries within the program's tolerance of 0 are 0.
    """
    from scipy.optimize import linprog

    trials = np.ones_like(y) if m is None else m
    scale = np.abs(X).max(axis=0)
    Z = X / np.where(scale > 0, scale, 1.0)
    both = (y > 0) & (y < trials)
    A = np.where(y == 0, -1.0, 1.0)[~both, None] * Z[~both]
    A, E = np.unique(A, axis=0), np.unique(Z[both], axis=0)
    if not len(A):
        return None
    equal = {"A_eq": E, "b_eq": np.zeros(len(E))} if len(E) else {}
    found = linprog(-A.sum(axis=0), A_ub=-A, b_ub=np.zeros(len(A)), bounds=(-1, 1), method="highs", **equal)
    b = np.where(np.abs(found.x) > TOLERANCE, found.x, 0.0) if found.status == 0 else np.zeros(X.shape[1])
    gains = A @ b
    if gains.max(initial=0.0) < 1e3 * TOLERANCE or gains.min(initial=0.0) < -TOLERANCE * X.shape[1]:
        return None
    return b / np.where(scale > 0, scale, 1.0)
