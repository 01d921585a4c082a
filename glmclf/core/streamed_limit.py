"""Separation of rows in a stream: the linear programs see a few rows, and a pass says whether they were enough.

Directions of recession of all rows are among those of some of them that span what all span. Where these have none, all
have none; where they have some, a pass looks for rows that object, which are added (the method of cutting planes).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray
from scipy.linalg import qr

from glmclf.core.blocks import Blocks
from glmclf.core.columns import Dense, expandable
from glmclf.core.limit import find_cone
from glmclf.core.objective import Objective
from glmclf.core.separation import Cone

MOST = 4_000  # rows that a round adds
ROUNDS = 40
OBJECTION = 1e-9  # of a row's terms: a smaller one is rounding


class Farthest:
    """The rows that object most to a direction, of those that were seen; + is those of both.

    Attributes
    ----------
    objection : (n,) ndarray
    arrays : list of ndarrays or None
        Of these rows.
    against, decided, open : int
        Rows that object, those of which the direction rules some outcome out, and those of which it leaves some that
        was not seen, of all that were looked at.
    """

    def __init__(self, objection: ndarray, arrays: list[Any], against: int, decided: int, open: int):
        self.against, self.decided, self.open = against, decided, open
        most = np.argsort(-objection, kind="stable")[:MOST]
        self.objection, self.arrays = objection[most], [None if a is None else a[most] for a in arrays]

    def __add__(self, other: Farthest) -> Farthest:
        objection = np.concatenate([self.objection, other.objection])
        return Farthest(
            objection,
            _both(self.arrays, other.arrays),
            self.against + other.against,
            self.decided + other.decided,
            self.open + other.open,
        )


class Spanning:
    """As many rows as there are columns, which span what all that were seen span; + is those of both.

    Parameters
    ----------
    arrays : list of ndarrays or None
        Of rows, X first.
    """

    def __init__(self, arrays: list[Any]):
        X = arrays[0]
        largest = np.abs(X).max(axis=0, initial=0.0)
        scaled = X / np.where(largest > 0, largest, 1.0)
        most = qr(scaled.T, mode="r", pivoting=True, check_finite=False)[1][: X.shape[1]]
        self.arrays = [None if a is None else a[most] for a in arrays]

    def __add__(self, other: Spanning) -> Spanning:
        return Spanning(_both(self.arrays, other.arrays))


def _both(a: list[Any], b: list[Any]) -> list[Any]:
    return [None if x is None else np.concatenate([x, y]) for x, y in zip(a, b, strict=True)]


def find_cone_in_stream(objective: Objective, theta: ndarray) -> tuple[Cone | None, int, bool]:
    """The recession cone of an objective over a stream, None where its maximum is finite, of how many rows it rules
    outcomes out, and whether those are all that were not seen.

    Parameters
    ----------
    objective : Objective or MultinomialObjective
    theta : (p,) ndarray
        Where a fit stopped.
    """
    blocks = expandable(objective.blocks)
    held = blocks.sum(lambda X, *rest: Spanning([X.toarray(), *rest])).arrays
    direction, cone = theta, None
    for _ in range(ROUNDS):
        found = _objecting(objective, direction)
        if cone is not None and not found.against:
            return cone, found.decided, not found.open
        held = _both(held, found.arrays)
        few = Blocks(Dense(np.asfortranarray(held[0])), *held[1:])
        cone, _ = find_cone(type(objective)(objective.likelihood, few, objective.unit))
        if cone is None:
            return None, 0, False
        direction = cone.direction
    raise ArithmeticError("whether the response is separated is undecided")


def _objecting(objective: Objective, direction: ndarray) -> Farthest:
    """The rows that object most to a direction: by how much it makes an outcome that was not seen more likely."""
    def rows(X, y, m, offset, weights) -> Farthest:
        A = X.toarray()
        D = direction.reshape(A.shape[1], -1, order="F")
        Z = np.column_stack([np.zeros(len(A)), A @ D])
        size = (np.abs(A) @ np.abs(D)).max(axis=1)
        seen = _seen(y, m, Z.shape[1])
        worst = np.where(seen, Z, np.inf).min(axis=1)
        other = np.where(seen, -np.inf, Z).max(axis=1)
        best = np.where(seen.sum(axis=1) > 1, np.where(seen, Z, -np.inf).max(axis=1), -np.inf)  # of several that tie
        objection = np.maximum(other, best) - worst
        objection /= np.where(size > 0, size, 1.0)
        least = np.where(seen, np.inf, Z).min(axis=1)  # of those that were not seen
        decided, left = (int((worst - z > OBJECTION * size).sum()) for z in (least, other))
        against = int((objection > OBJECTION).sum())
        return Farthest(objection, [A, y, m, offset, weights], against, decided, len(A) - left)

    return expandable(objective.blocks).sum(rows)


def _seen(y: ndarray, m: ndarray | None, K: int) -> ndarray:
    """Which outcomes rows showed, (n, K)."""
    if y.ndim == 2:
        return y > 0
    if K == 2 and (m is not None or y.dtype.kind == "f"):
        return np.column_stack([y < (1.0 if m is None else m), y > 0])
    return y[:, None] == np.arange(K)
