"""Separation of rows in a stream: the linear programs see a few rows, and passes say whether they were enough.

The directions of recession of all rows are among those of some of them that span what all span. Where these have none,
all have none. Where they have some, a pass looks for rows that object to a direction in their middle, which are added
(the method of cutting planes): those that it does not move beyond rounding, though another direction moves them. Where
no row objects, the direction decides all that can be decided, and what bounds the directions is looked for: rows that
none of those held imply. In the end the few rows held have the cone of all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray
from scipy.linalg import qr

from glmclf.core.design.columns import expandable
from glmclf.core.design.dense import Dense, expanded_rows
from glmclf.core.likelihood.objective import Objective
from glmclf.core.rows.blocks import Blocks
from glmclf.core.rows.streamed import Elsewhere
from glmclf.core.rows.summed import Summed, stacked
from glmclf.core.separation import outcomes
from glmclf.core.separation.cone import (
    ROUNDED_SHARE_OF_TERMS,
    RecessionCone,
    different_rows,
    extreme_rows,
    largest_one,
    lengths,
)
from glmclf.core.separation.outcomes import outcomes_ruled_out, seen_outcomes
from glmclf.core.separation.rows import directions

MAX_ROWS_PER_PASS = 4_000  # rows violated most, which a pass adds
MAX_BOUNDING_NUMBERS = 2_000_000  # numbers of the rows that bound a cone and of their facets
MAX_PASSES = 60  # passes over the rows in a search for the cone
SAME_FACET_DISTANCE = 1e-9  # distance of facets that are the same, their largest entries one


class UndecidedError(ArithmeticError):
    """Error of a search that did not find out whether a response is separated."""


class ManyBoundsError(Exception):
    """Error of a recession cone that too many rows of a stream bound.

    Parameters
    ----------
    cone : RecessionCone
        Its span and a direction inside; its facets are those of some rows.
    constraints : object
        Of these.
    """

    def __init__(self, cone: RecessionCone, constraints: Any):
        super().__init__(cone, constraints)
        self.cone, self.constraints = cone, constraints


class RuledOut(Elsewhere):
    """Outcomes (n, K) that a cone rules out for the rows of a stream, without their numbers in memory.

    Parameters
    ----------
    shape : (int, int)
    left : dict of int
        Rows of which more than one outcome is left, by number of the part.
    decided : int
        Rows of which it rules an outcome out.
    complete : bool
        Whether it leaves no row an outcome that did not occur.
    """

    def __init__(self, shape: tuple[int, int], left: dict[int, int], decided: int, complete: bool):
        super().__init__(shape)
        self.left, self.decided, self.complete = left, decided, complete


class ViolatedRows:
    """Rows that violate a direction most, of those passed over; + merges the rows of both.

    Attributes
    ----------
    objection : (n,) ndarray
    arrays : list of ndarrays or None
        Of these rows.
    against : int
        Rows that object, of all that were looked at.
    """

    def __init__(self, objection: ndarray, arrays: list[Any], against: int):
        self.against = against
        most = np.argsort(-objection, kind="stable")[:MAX_ROWS_PER_PASS]
        self.objection, self.arrays = objection[most], [None if a is None else a[most] for a in arrays]

    def __add__(self, other: ViolatedRows) -> ViolatedRows:
        objection = np.concatenate([self.objection, other.objection])
        return ViolatedRows(objection, _both(self.arrays, other.arrays), self.against + other.against)


class FacetRows:
    """Rows that bound a cone, and its facets, without those that others imply; + merges the facets of both.

    Parameters
    ----------
    facets : (m, r) ndarray
        Positive on the first axis.
    of : (m,) integer ndarray
        Which row says each.
    arrays : list of ndarrays or None
        Of the rows.
    many : bool
        Whether they were too many to be kept.
    """

    def __init__(self, facets: ndarray, of: ndarray, arrays: list[Any], many: bool = False):
        facets = largest_one(facets)
        some = different_rows(facets)
        some = some[extreme_rows(facets[some])]
        rows, self.of = np.unique(of[some], return_inverse=True)
        self.many = many or facets[some].size + rows.size * arrays[0].shape[1] > MAX_BOUNDING_NUMBERS
        if self.many:
            some, rows, self.of = some[:0], rows[:0], self.of[:0]
        self.facets = facets[some]
        self.arrays: list[Any] = [None if a is None else a[rows] for a in arrays]

    def __add__(self, other: FacetRows) -> FacetRows:
        facets = np.concatenate([self.facets, other.facets])
        of = np.concatenate([self.of, other.of + len(self.arrays[0])])
        return FacetRows(facets, of, _both(self.arrays, other.arrays), self.many or other.many)

    def beyond(self, facets: ndarray) -> list[Any]:
        """Rows whose facets are not among the facets given, (., r)."""
        from scipy.spatial import cKDTree

        new = cKDTree(facets).query(self.facets)[0] > SAME_FACET_DISTANCE
        rows = np.unique(self.of[new])
        return [None if a is None else a[rows] for a in self.arrays]


@dataclass(frozen=True)
class PassResult(Summed):
    """Rows that a pass found: those that violate a direction and those that bound the cone."""

    farthest: ViolatedRows
    bounds: FacetRows | None


class SpanningRows:
    """As many rows as there are columns, with the span of all rows passed over; + merges the rows of both.

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

    def __add__(self, other: SpanningRows) -> SpanningRows:
        return SpanningRows(_both(self.arrays, other.arrays))


class ActiveRows:
    """Rows of a stream that are held for the linear programs, each once.

    Parameters
    ----------
    objective : Objective or MultinomialObjective
        Of all.
    arrays : list of ndarrays or None
        X, y and trials of the first of them.
    """

    def __init__(self, objective: Objective, arrays: list[Any]):
        self.objective = objective
        self.arrays: list[Any] = [None if a is None else a[:0] for a in arrays]
        self._known: set[bytes] = set()
        self.add(arrays)

    def add(self, arrays: list[Any]) -> bool:
        """Hold more rows, and return whether any of them was not held before."""
        given = [a for a in arrays if a is not None]
        keys = [b"".join(a[i].tobytes() for a in given) for i in range(len(arrays[0]))]
        first = {key: i for i, key in reversed(list(enumerate(keys)))}
        new = sorted(i for key, i in first.items() if key not in self._known)
        self._known.update(keys)
        self.arrays = _both(self.arrays, [None if a is None else a[new] for a in arrays])
        return bool(new)

    def cone(self) -> tuple[RecessionCone | None, Any]:
        """Recession cone of the rows held, and its constraints."""
        X, y, m = self.arrays
        few = Blocks(Dense(np.asfortranarray(X)), y, m, None, None)
        return outcomes.find_cone(type(self.objective)(self.objective.likelihood, few, self.objective.unit))


def _both(a: list[Any], b: list[Any]) -> list[Any]:
    return [stacked(x, y) for x, y in zip(a, b, strict=True)]


def find_cone(objective: Objective, theta: ndarray | None = None) -> tuple[RecessionCone | None, Any]:
    """The recession cone of an objective over a stream, None where its maximum is finite, and constraints of some rows
    that have the same cone.

    Parameters
    ----------
    objective : Objective or MultinomialObjective
    theta : (p,) ndarray, optional
        Where a fit stopped, near a direction that most rows may agree to.

    Raises
    ------
    UndecidedError
        Rounding leaves open which rows object.
    ManyBoundsError
        More rows bound the cone than may be held.
    """
    spanning = expandable(objective.blocks).sum(lambda X, y, m, *_: SpanningRows([X.toarray(), y, m]))
    held = ActiveRows(objective, spanning.arrays)
    if theta is not None and np.isfinite(theta).all():
        M = directions(held.arrays[0]).M
        held.add(_looked_at(objective, theta[:, None], M, ROUNDED_SHARE_OF_TERMS, False).farthest.arrays)
    bounds = False
    for _ in range(MAX_PASSES):
        cone, constraints = held.cone()
        if cone is None:
            return None, constraints
        several = cone.basis.shape[1] > 1
        found = _looked_at(objective, cone.basis, cone.M, cone.rounding, bounds and several)
        if not found.farthest.against and several and not bounds:
            bounds = True
            found = _looked_at(objective, cone.basis, cone.M, cone.rounding, True)
        if found.bounds is not None and found.bounds.many and not found.farthest.against:
            raise ManyBoundsError(cone, constraints)
        more = False
        if found.farthest.against:
            more = held.add(found.farthest.arrays)
            if not more:
                raise UndecidedError("whether the response is separated is undecided")
        if found.bounds is not None and not found.bounds.many:
            more = held.add(found.bounds.beyond(cone.facets)) or more
        if not more:
            return cone, constraints
    raise UndecidedError("whether the response is separated is undecided")


def _looked_at(objective: Objective, basis: ndarray, M: ndarray, noise: float, bounds: bool) -> PassResult:
    """Rows that violate the first column of a basis (p, r) most, and rows that bound the cone it is
    inside, by a pass."""
    blocks = expandable(objective.blocks)
    wide = objective.likelihood.n_eta + 1
    blocks = blocks.rechunk(min(blocks.size, expanded_rows(wide * basis.shape[1])))
    D = basis.reshape(wide - 1, len(M), -1).transpose(1, 0, 2)
    T, size = lengths(M, D)
    return blocks.sum(partial(_look, D, T, noise * size, bounds))


def _look(D: ndarray, T: ndarray, noise: ndarray, bounds: bool, X, y, m, *_: Any) -> PassResult:
    """Violated and bounding rows of one block, by what each direction D (k, q, r) takes from each outcome.

    `noise` (q, r) is the rounding of that for a row x of length one, which is that of x'T.
    """
    A, (q, r) = X.toarray(), noise.shape
    Z, least = np.zeros((len(A), q + 1, r)), np.zeros((len(A), q + 1, r))
    Z[:, 1:] = (A @ D.reshape(len(D), -1)).reshape(len(A), q, r)
    least[:, 1:] = np.linalg.norm(A @ T, axis=1)[:, None, None] * noise
    seen = seen_outcomes(y, m, q + 1)
    one = np.arange(len(A)), seen.argmax(axis=1)
    lost, least = Z[one][:, None] - Z, least[one][:, None] + least
    moved = (np.abs(lost) > least).any(axis=2)
    gain = lost[..., 0] / np.where(least[..., 0] > 0, least[..., 0], 1.0)
    gain = np.where(seen, -np.abs(gain), gain)  # of two that were seen neither may become less likely
    objecting = moved & (gain <= 1.0)
    worst = np.where(moved, -gain, -np.inf).max(axis=1)  # what no direction moves comes last
    farthest = ViolatedRows(worst, [A, y, m], int(objecting.any(axis=1).sum()))
    if not bounds:
        return PassResult(farthest, None)
    sure = moved & ~objecting
    return PassResult(farthest, FacetRows(lost[sure], np.nonzero(sure)[0], [A, y, m]))


@dataclass(frozen=True)
class _Counts(Summed):
    """Counts of rows: those left by part, those decided and those that are open."""

    left: dict[int, int]
    decided: int
    open: int


def constraints_of(objective: Objective) -> Any:
    """The constraints of some rows of a stream that have its cone."""
    return find_cone(objective)[1]


def ruled_out(objective: Objective, cone: Any, constraints: Any) -> RuledOut:
    """Outcomes that a cone rules out, counted in a pass over a stream."""
    K = objective.likelihood.n_eta + 1

    def part(number: int, X, y, m, *_: Any) -> _Counts:
        gone, seen = outcomes_ruled_out(cone, K, X), seen_outcomes(y, m, K)
        left, decided = (~gone).sum(axis=1) > 1, gone.any(axis=1)
        open_ = (~gone & ~seen).any(axis=1) | (seen.sum(axis=1) > 1)
        return _Counts({number: int(left.sum())}, int(decided.sum()), int(open_.sum()))

    found = objective.blocks.sum_numbered_parts(part)  # type: ignore[attr-defined]
    return RuledOut((objective.blocks.n, K), found.left, found.decided, not found.open)
