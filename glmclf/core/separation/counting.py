"""Separation that counting tells: levels of factors whose rows are all alike.

A column of one sign, as a level's indicator, separates the rows where it is not 0 from an outcome that none of them
showed: the likelihood never falls as its coefficient goes to infinity, whatever the other columns are. So do the rows
of no column of a group of indicators, those of the base level, by the constant less the group. What counting leaves is
a likelihood of fewer rows and parameters. Where this has a maximum, no other direction separates: all directions are
sums of those counted. So a fit proves it, and no linear program is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray
from scipy import sparse

from glmclf.core.design.columns import Columns
from glmclf.core.design.dense import Dense
from glmclf.core.design.factor import FactorColumns
from glmclf.core.design.sparse import Sparse
from glmclf.core.fit.estimate import RankDeficiency
from glmclf.core.fit.information import information_vanished
from glmclf.core.fit.restricted import Selected
from glmclf.core.fit.solvers.loop import CONVERGED
from glmclf.core.likelihood.objective import Objective
from glmclf.core.separation.limit import LimitEstimate, limit_estimate
from glmclf.core.separation.outcomes import seen_outcomes
from glmclf.core.separation.simplicial import SimplicialCone, by_column

SURE_RCOND = 1e-10  # reciprocal condition of an information that rounding does not make of a singular one
GLANCE_ROWS = 64  # rows that show of most columns that they have both signs
FAR = 50.0  # steps along a direction after which no row has another outcome to more than 1e-20


@dataclass(frozen=True)
class CountedRows:
    """What counting finds of separated rows.

    Attributes
    ----------
    gone : (n, K) bool ndarray
        Outcomes that are ruled out.
    cone : SimplicialCone or None
        Of the directions counted; None where they are not independent of each other.
    near : (p,) ndarray
        Parameters far along these directions, at the maximum of the rest as far as it was found.
    iterations : int
        Of the fit that found it.
    """

    gone: ndarray
    cone: SimplicialCone | None
    near: ndarray
    iterations: int = 0


@dataclass(frozen=True)
class Sides:
    """Directions that no row of a design is against, and how far each goes for every row.

    Attributes
    ----------
    directions : (k, c) csc_array
    gains : (n, c) csc_array
        X @ directions, nowhere below 0.
    """

    directions: Any
    gains: Any


def is_told(objective: Objective) -> bool:
    """Whether counting tells that rows in memory are separated."""
    found = _rounds(objective)
    return found is not None and bool(found[1])


def count(objective: Objective, start: ndarray | None = None) -> CountedRows | None:
    """What counting tells of rows in memory, or None where it tells nothing; the cone is proven to be all of it.

    Parameters
    ----------
    objective : Objective or MultinomialObjective
        Of full column rank.
    start : (p,) ndarray, optional
        Where a fit of the rest begins.
    """
    found = _rounds(objective)
    if found is None or not found[1]:
        return None
    sides, rounds, gone = found
    largest, q = objective.blocks.arrays[0].largest(), objective.likelihood.n_eta
    rays = _rays(sides, rounds, q)
    theta = np.zeros(len(largest) * q) if start is None else start
    far = theta + FAR * np.asarray(rays.sum(axis=1)).ravel()
    if len(rounds) > 1 or not _each_alone(sides, rounds[0]):
        return CountedRows(gone, None, far)
    seen = _seen(objective)
    complete = bool((gone | seen).all() and (seen.sum(axis=1) == 1).all())
    cone = SimplicialCone(rays, complete, 1.0 / np.where(largest > 0, largest, 1.0))
    try:
        rest = limit_estimate("irls", objective, cone, None, theta, gone)
    except RankDeficiency:  # rows that are decided were all that told columns apart
        return CountedRows(gone, None, far)
    far = rest.fit.theta + FAR * cone.direction
    return CountedRows(gone, cone if _proves(rest) else None, far, rest.fit.iterations)


def _proves(rest: LimitEstimate) -> bool:
    """Whether the rest has a maximum, which is the only one: none of its parameters goes anywhere."""
    inner = rest.inner
    if inner.fit.message != CONVERGED or inner.vanished:
        return False
    if not isinstance(rest.objective, Selected) or not len(inner.theta):
        return True  # full rank is what the fit began with
    before, after = rest.objective(np.zeros(len(inner.theta))).information, inner.fit.evaluation
    return after.well_conditioned(SURE_RCOND) and not information_vanished(before, after.information)


def _seen(objective: Objective) -> ndarray:
    _, y, m, *_ = objective.blocks.arrays
    return seen_outcomes(y, m, objective.likelihood.n_eta + 1)


def _rounds(objective: Objective) -> tuple[Sides, list[ndarray], ndarray] | None:
    """Sides of a design, masks (c, K) of the outcomes that each rules out, and the mask (n, K) of the
    outcomes gone.

    There is a mask for each round: rows that have one outcome left speak no longer, and others may be alike then.
    """
    X = objective.blocks.arrays[0]
    sides = None if objective.blocks.streamed else _sides(X)
    if sides is None:
        return None
    seen = _seen(objective)
    there = sparse.csr_array((sides.gains != 0).T, dtype=np.int64)  # (c, n)
    gone, open_ = np.zeros(seen.shape, dtype=bool), np.ones(len(seen), dtype=bool)
    rounds: list[ndarray] = []
    while True:
        shown, left = there @ (seen & open_[:, None]), there @ (~gone & open_[:, None])
        new = (shown == 0) & (left > 0)
        if not new.any():
            return sides, rounds, gone
        rounds.append(new)
        gone |= (there.T @ new.astype(np.int64) > 0) & open_[:, None]
        open_ = (~gone).sum(axis=1) > 1


def _rays(sides: Sides, rounds: list[ndarray], q: int) -> Any:
    """Directions of the parameters, (p, r): of an outcome that loses, in its equation; of the reference,
    in all others."""
    D, out = sides.directions, []
    for new in rounds:
        for c in range(q + 1):
            some = D[:, np.flatnonzero(new[:, c])]
            equations = sparse.csc_array(np.where(np.arange(1, q + 1) == c, -1.0, float(c == 0))[:, None])
            out.append(sparse.kron(equations, some, format="csc"))
    rays = sparse.csc_array(sparse.hstack(out, format="csc"))
    rays.eliminate_zeros()
    return rays


def _each_alone(sides: Sides, new: ndarray) -> bool:
    """Whether each direction is the only one that rules its outcome out in some row, so that none may be reversed."""
    for mask in new.T:
        some = sparse.csr_array(sides.gains[:, np.flatnonzero(mask)] != 0, dtype=np.int64)
        alone = np.diff(some.indptr) == 1
        if not (some.T @ alone.astype(np.int64) > 0).all():
            return False
    return True


# -------------------------------------------------------------------------------------------------- columns
class NonzeroColumn(NamedTuple):
    """A column of a design where it is not 0."""

    place: int
    rows: ndarray
    values: ndarray


class OneSidedDirection(NamedTuple):
    """A direction of the columns that no row is against, scaled to a largest gain of one, and the rows that it moves.

    Attributes
    ----------
    direction : dict
        NonzeroColumn -> coefficient.
    rows : (m,) integer ndarray
    gains : (m,) ndarray
        Of these rows, above 0.
    """

    direction: dict[int, float]
    rows: ndarray
    gains: ndarray

    def is_indicator(self) -> bool:
        """Whether all its rows gain the same."""
        return bool((self.gains == 1.0).all())


def _sides(X: Columns) -> Sides | None:
    """Columns of one sign of a design, each as a direction, and what is left of groups of indicators."""
    n, k = X.shape
    found = [side for column in _columns(X) if (side := _side(column)) is not None]
    constant = next((side for side in found if len(side.rows) == n and side.is_indicator()), None)
    # a column without zeros tells nothing but of all rows at once, as the constant does
    found = [side for side in found if len(side.rows) < n or side is constant]
    if constant is not None:
        for group in _groups([side for side in found if side is not constant and side.is_indicator()], n):
            rest = np.flatnonzero(np.bincount(np.concatenate([side.rows for side in group]), minlength=n) == 0)
            if len(rest):
                less = {j: -value for side in group for j, value in side.direction.items()}
                found.append(OneSidedDirection(constant.direction | less, rest, np.ones(len(rest))))
    if not found:
        return None
    directions = [(np.array(list(side.direction)), np.array(list(side.direction.values()))) for side in found]
    return Sides(by_column(directions, k), by_column([(side.rows, side.gains) for side in found], n))


def _side(column: NonzeroColumn) -> OneSidedDirection | None:
    """A column as a direction, if it has one sign."""
    if not len(column.values):
        return None
    size = float(column.values[np.abs(column.values).argmax()])
    gains = column.values / size
    return OneSidedDirection({column.place: 1.0 / size}, column.rows, gains) if gains.min() > 0 else None


def _groups(indicators: list[OneSidedDirection], n: int) -> Iterator[list[OneSidedDirection]]:
    """Groups of indicators that follow each other, of which no row has two: the levels of factors."""
    group: list[OneSidedDirection] = []
    taken = np.zeros(n, dtype=bool)
    for side in indicators:
        if taken[side.rows].any():
            yield group
            group = []
            taken[:] = False
        group.append(side)
        taken[side.rows] = True
    if group:
        yield group


def _columns(X: Columns) -> Iterator[NonzeroColumn]:
    """Columns where they are not 0, in their order; those of both signs, as a glance shows, are left out."""
    if isinstance(X, FactorColumns):
        numbers = [NonzeroColumn(int(X.at[j]), rows, values) for j, rows, values in _columns(Dense(X.D))]
        yield from sorted([*numbers, *_coded(X)], key=lambda column: column.place)
    elif isinstance(X, Sparse):
        A = sparse.csc_array(X.X)
        for j, (a, b) in enumerate(pairwise(A.indptr)):
            there = A.data[a:b] != 0
            yield NonzeroColumn(j, A.indices[a:b][there], A.data[a:b][there].astype(float))
    else:
        some = X.X[:GLANCE_ROWS]
        for j in np.flatnonzero((some.min(axis=0) >= 0) | (some.max(axis=0) <= 0)).tolist():
            rows = np.flatnonzero(X.X[:, j])
            yield NonzeroColumn(j, rows, X.X[rows, j].astype(float))


def _coded(X: FactorColumns) -> Iterator[NonzeroColumn]:
    """The columns of factors that are indicators, or those times numbers."""
    for part in X.coded:
        if part.table is None:
            n = len(part.codes)
            values = np.ones(n) if part.numbers is None else part.numbers
            cells = sparse.csr_array((values, part.codes, np.arange(n + 1)), (n, part.cells))
            yield from (c._replace(place=int(part.at[c.place])) for c in _columns(Sparse(cells[:, : part.width])))
