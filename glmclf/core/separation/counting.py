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
from itertools import pairwise, permutations
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from glmclf.core.design.columns import Columns
from glmclf.core.design.dense import Dense
from glmclf.core.design.factor import FactorColumns
from glmclf.core.design.sparse import Sparse
from glmclf.core.fit.estimate import Estimate, RankDeficiency
from glmclf.core.fit.information import information_vanished
from glmclf.core.fit.restricted import Selected
from glmclf.core.fit.solvers.loop import CONVERGED
from glmclf.core.likelihood.objective import Objective
from glmclf.core.separation.certificate import SURE_RCOND, has_maximum
from glmclf.core.separation.cone import ROUNDED_SHARE_OF_TERMS, RecessionCone, different, rounded_cone
from glmclf.core.separation.limit import LimitEstimate, limit_estimate
from glmclf.core.separation.outcomes import seen_outcomes
from glmclf.core.separation.simplicial import ProductCone, SimplicialCone, by_column, pivots

GLANCE_ROWS = 64  # rows that show of most columns that they have both signs
FAR = 50.0  # steps along a direction after which no row has another outcome to more than 1e-20


@dataclass(frozen=True)
class CountedRows:
    """What counting finds of separated rows.

    Attributes
    ----------
    gone : (n, K) bool ndarray
        Outcomes that are ruled out.
    cone : SimplicialCone, ProductCone or None
        Of the directions counted; None where it is not proven that there are no others.
    near : (p,) ndarray
        Parameters far along these directions, at the maximum of the rest as far as it was found.
    iterations : int
        Of the fit that found it.
    """

    gone: ndarray
    cone: SimplicialCone | ProductCone | None
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
    return _told(objective) is not None


def count(objective: Objective, start: ndarray | None = None) -> CountedRows | None:
    """What counting tells of rows in memory, or None where it tells nothing; the cone is proven to be all of it.

    Parameters
    ----------
    objective : Objective or MultinomialObjective
        Of full column rank.
    start : (p,) ndarray, optional
        Where a fit of the rest begins.
    """
    told = _told(objective)
    if told is None:
        return None
    largest = objective.blocks.arrays[0].largest()
    theta = np.zeros(len(largest) * objective.likelihood.n_eta) if start is None else start
    cone = _cone_of(told, 1.0 / np.where(largest > 0, largest, 1.0))
    if cone is None:
        return CountedRows(told.gone, None, theta)
    far = theta + FAR * cone.direction
    try:
        rest = limit_estimate("irls", objective, cone, None, theta, told.gone)
    except RankDeficiency:  # rows that are decided were all that told columns apart
        return CountedRows(told.gone, None, far)
    far = rest.fit.theta + FAR * cone.direction
    return CountedRows(told.gone, cone if _proves(rest) else None, far, rest.fit.iterations)


def _proves(rest: LimitEstimate) -> bool:
    """Whether the rest has a maximum, which is the only one: none of its parameters goes anywhere."""
    inner = rest.inner
    if not len(inner.theta) or not len(rest.rows):
        return not len(inner.theta)
    if not isinstance(rest.objective, Selected):  # full rank is what the fit began with
        return _converged(inner) or has_maximum(rest.objective, inner.theta)
    if not _converged(inner):
        return False
    before, after = rest.objective(np.zeros(len(inner.theta))).information, inner.fit.evaluation
    return after.well_conditioned(SURE_RCOND) and not information_vanished(before, after.information)


def _converged(inner: Estimate) -> bool:
    return inner.fit.message == CONVERGED and not inner.vanished


# ------------------------------------------------------------------------------------------------------ rows
@dataclass(frozen=True)
class ToldRows:
    """Rows that the sides of a design decide.

    Attributes
    ----------
    sides : Sides
    seen, gone : (n, K) bool ndarray
        Outcomes of each row that it showed, and that are ruled out.
    depth : (c, K) ndarray
        In which round, from 0 on, each side rules out each outcome of the rows it moves; infinite if in none.
    without : (c, K) bool ndarray
        Whether no row that is left open has the outcome and is moved.
    """

    sides: Sides
    seen: ndarray
    gone: ndarray
    depth: ndarray
    without: ndarray


def _told(objective: Objective) -> ToldRows | None:
    """What the sides of a design decide, or None where they decide nothing.

    There are several rounds: rows that have one outcome left speak no longer, and others may be alike then.
    """
    sides = None if objective.blocks.streamed else _sides(objective.blocks.arrays[0])
    if sides is None:
        return None
    _, y, m, *_ = objective.blocks.arrays
    seen = seen_outcomes(y, m, objective.likelihood.n_eta + 1)
    there = sparse.csr_array((sides.gains != 0).T, dtype=np.int64)  # (c, n)
    gone, open_ = np.zeros(seen.shape, dtype=bool), np.ones(len(seen), dtype=bool)
    depth = np.full((there.shape[0], seen.shape[1]), np.inf)
    rounds = 0
    while True:
        shown, left = there @ (seen & open_[:, None]), there @ (~gone & open_[:, None])
        new = (shown == 0) & (left > 0)
        if not new.any():
            return ToldRows(sides, seen, gone, depth, left == 0) if rounds else None
        depth[new] = rounds
        rounds += 1
        gone |= (there.T @ new.astype(np.int64) > 0) & open_[:, None]
        open_ = (~gone).sum(axis=1) > 1


# ------------------------------------------------------------------------------------------------------ the cone
@dataclass(frozen=True)
class Rays:
    """Directions of the parameters along which a side of a design makes an outcome less likely.

    Attributes
    ----------
    rays : (p, r) csc_array
    side, outcome : (r,) integer ndarray
    depth : (r,) ndarray
        Round in which each decides rows; infinite where others decided them, and where it may be reversed.
    """

    rays: Any
    side: ndarray
    outcome: ndarray
    depth: ndarray

    def take(self, which: ndarray) -> Rays:
        """Some of the rays."""
        return Rays(self.rays[:, which], self.side[which], self.outcome[which], self.depth[which])


def _cone_of(told: ToldRows, scale: ndarray) -> SimplicialCone | ProductCone | None:
    """The cone of the directions that move no row that is left open; None where rounding hides its interior.

    Its facets are in terms of rays. Most rays are alone in some row, and none of them is reversed in another: these are
    edges of the cone. The others fall into groups that no row has in common, each with a cone of its own.
    """
    rays = _rays(told)
    facets = _facets(told, rays)
    single = np.diff(facets.indptr) == 1
    alone = np.zeros(facets.shape[1], dtype=bool)
    alone[facets[single].indices[facets[single].data > 0]] = True
    telling = (facets.data < 0) | ~alone[facets.indices]  # facets without such entries follow from those of one ray
    mixed = facets[sparse.csr_array((telling * 1.0, facets.indices, facets.indptr), facets.shape).sum(axis=1) > 0]
    complete = bool((told.gone | told.seen).all() and (told.seen.sum(axis=1) == 1).all())
    grouped = np.diff(sparse.csc_array(mixed).indptr) > 0
    if not (alone | grouped).all():
        return None
    simplicial = SimplicialCone(rays.rays[:, np.flatnonzero(~grouped)], complete, scale)
    if not grouped.any():
        return simplicial
    count_, of = connected_components(sparse.csr_array(mixed.T @ mixed != 0), directed=False)
    others = []
    for group in range(count_):
        members = np.flatnonzero((of == group) & grouped)
        if len(members):
            edges = np.eye(len(members))[alone[members]]
            rows = mixed[np.flatnonzero(np.diff(mixed[:, members].indptr) > 0)][:, members].toarray()
            cone = _cone_of_group(rays.take(members), np.vstack([rows, edges]))
            if cone is None:
                return None
            others.append(cone)
    return ProductCone(simplicial, tuple(others))


def _cone_of_group(rays: Rays, facets: ndarray) -> RecessionCone | None:
    """The cone of rays t with facets t >= 0, in whose interior those of each round weigh little beside those before."""
    facets = different(facets)  # each once, with a largest entry of one
    inside = np.zeros(len(rays.depth))
    for depth in np.unique(rays.depth[np.isfinite(rays.depth)]):
        more, now = facets @ (rays.depth == depth), facets @ inside
        falling = (more < 0) & (now > 0)
        share = min(1.0, 0.5 * float((now[falling] / -more[falling]).min(initial=np.inf)))
        inside = inside + share * (rays.depth == depth)
    if (facets @ inside).min() <= ROUNDED_SHARE_OF_TERMS:
        return None
    C, rounded, noise = rounded_cone(facets, inside)
    return RecessionCone(rays.rays @ C, different(rounded), np.zeros(0, dtype=bool), noise)


def _rays(told: ToldRows) -> Rays:
    """Directions that move no row that is left open, none of which is a sum of others."""
    without, D = told.without.copy(), told.sides.directions
    K = without.shape[1]
    every = np.flatnonzero(without.all(axis=1))  # all K equations: to add the same to each does nothing
    without[every, np.isinf(told.depth[every]).argmax(axis=1)] = False
    side, outcome = np.nonzero(without)
    equations = np.vstack([np.ones(K - 1), -np.eye(K - 1)]).T  # of the reference, the others gain
    parts = [
        sparse.kron(equations[:, [c]], D[:, side[outcome == c]], format="csc") for c in range(K)
    ]
    order = np.concatenate([np.flatnonzero(outcome == c) for c in range(K)])
    rays = sparse.csc_array(sparse.hstack(parts, format="csc"))
    rays.eliminate_zeros()
    found = Rays(rays, side[order], outcome[order], told.depth[side[order], outcome[order]])
    return found.take(np.sort(pivots(rays)[1]))


def _facets(told: ToldRows, rays: Rays) -> Any:
    """Rows t of which t @ x >= 0 for members of the cone, x in terms of the rays: what an outcome that a row
    did not show loses against one that it did."""
    gains = told.sides.gains
    lost = [
        sparse.csr_array(gains[:, rays.side] @ sparse.diags_array(1.0 * (rays.outcome == c)))
        for c in range(told.seen.shape[1])
    ]
    found = []
    for c, l in permutations(range(len(lost)), 2):
        rows = np.flatnonzero(told.seen[:, c] & ~told.seen[:, l])
        found.append(lost[l][rows] - lost[c][rows])
    facets = sparse.csr_array(sparse.vstack(found, format="csr"))
    facets.eliminate_zeros()
    return facets[np.diff(facets.indptr) > 0]


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
