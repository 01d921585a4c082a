"""Separation that counting tells: levels of factors whose rows are all alike.

A column of one sign, as a level's indicator, separates the rows where it is not 0 from an outcome that none of them
showed: the likelihood never falls as its coefficient goes to infinity, whatever the other columns are. So do the rows
of no column of a group of indicators, those of the base level, by the constant less the group. What counting leaves is
a likelihood of fewer rows and parameters. Where this has a maximum, no other direction separates: all directions are
sums of those counted. So a fit proves it, and no linear program is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, permutations
from typing import Any

import numpy as np
from numpy import ndarray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from glmclf.core.design.columns import Columns
from glmclf.core.design.dense import Dense
from glmclf.core.design.factor import CodedColumns, FactorColumns
from glmclf.core.design.sparse import Sparse
from glmclf.core.fit.coordinates import from_basis
from glmclf.core.fit.estimate import Estimate, RankDeficiency, by_level, estimate
from glmclf.core.fit.information import information_vanished
from glmclf.core.fit.restricted import Restricted
from glmclf.core.fit.solvers.loop import CONVERGED
from glmclf.core.fit.warm_start import separation_loglik
from glmclf.core.likelihood.objective import Objective
from glmclf.core.rows.blocks import Blocks, linear
from glmclf.core.rows.summed import Summed
from glmclf.core.separation import stream
from glmclf.core.separation.by_level import level_cones
from glmclf.core.separation.certificate import SURE_RCOND, has_maximum
from glmclf.core.separation.cone import ROUNDED_SHARE_OF_TERMS, RecessionCone, different, rounded_cone
from glmclf.core.separation.limit import LimitEstimate, limit_estimate
from glmclf.core.separation.outcomes import seen_outcomes
from glmclf.core.separation.simplicial import ProductCone, SimplicialCone, by_column, pivots
from glmclf.errors import SearchTooLargeError

GLANCE_ROWS = 64  # rows that show of most columns that they have both signs
FAR = 50.0  # steps along a direction after which no row has another outcome to more than 1e-20


@dataclass(frozen=True)
class CountedRows:
    """What counting finds of separated rows.

    Attributes
    ----------
    gone : (n, K) bool ndarray or RuledOut
        Outcomes that are ruled out.
    cone : SimplicialCone, ProductCone or None
        Of the directions counted; None where it is not proven that there are no others.
    near : (p,) ndarray
        Parameters far along these directions, at the maximum of the rest as far as it was found.
    iterations : int
        Of the fit that found it.
    """

    gone: Any
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
    """Whether counting tells that rows are separated."""
    with by_level(objective) as (objective, _):
        return (_rays_in_stream if objective.blocks.streamed else _told)(objective) is not None


def count(objective: Objective, start: ndarray | None = None) -> CountedRows | None:
    """What counting tells of rows, or None where it tells nothing; the cone is proven to be all of it.

    Parameters
    ----------
    objective : Objective or MultinomialObjective
        Of full column rank.
    start : (p,) ndarray, optional
        Where a fit of the rest begins.
    """
    found = (_counted_in_stream if objective.blocks.streamed else _counted)(objective)
    if found is None:
        return None
    gone, cone = found
    return _with_rest(objective, gone, cone, start)


def count_by_level(objective: Objective, theta: ndarray) -> CountedRows | None:
    """What slopes by level tell of the rows of their own level, or None where they tell nothing or not all.

    Parameters
    ----------
    objective : Objective or MultinomialObjective
        Of full column rank.
    theta : (p,) ndarray
        Where a fit stopped, or far along what was counted.
    """
    gone = None
    while True:  # what is decided by some levels may have kept a fit from others
        found = level_cones(objective, theta)
        if found is None or (gone is not None and found[0].sum() <= gone.sum()):
            return None
        gone = found[0]
        told = _with_rest(objective, *found, theta)
        if told.cone is not None:
            return told
        theta = told.near


def _with_rest(objective: Objective, gone: Any, cone: Any, start: ndarray | None) -> CountedRows:
    """Rows that directions rule out, with the cone where a fit of the rest proves that it is all of it."""
    size = objective.blocks.arrays[0].shape[1] * objective.likelihood.n_eta
    theta, enough = np.zeros(size) if start is None else start, separation_loglik(objective, size)
    if cone is None:
        return CountedRows(gone, None, estimate("irls", objective, theta, warm=False, enough=enough).theta)
    try:
        rest = limit_estimate("irls", objective, cone, None, theta, gone, enough=enough)
    except (RankDeficiency, SearchTooLargeError):  # rows that are decided were all that told columns apart
        return CountedRows(gone, None, theta + FAR * cone.direction)
    near = _far(objective, from_basis(rest.basis, rest.fit.theta), cone.direction)
    return CountedRows(gone, cone if _proves(rest) else None, near, rest.fit.iterations)


def _far(objective: Objective, theta: ndarray, direction: ndarray) -> ndarray:
    """Parameters so far from theta along a direction that it decides the rows that it moves, whatever theta says."""
    X, y, m, *_ = objective.blocks.arrays
    if objective.blocks.streamed or not np.isfinite(theta).all():
        return theta + FAR * direction
    k, seen = X.shape[1], seen_outcomes(y, m, objective.likelihood.n_eta + 1)
    ahead = []  # what the outcomes that rows showed gain over each other
    for b in (theta, direction):
        eta = np.column_stack([np.zeros(len(seen)), linear(X, b.reshape(k, -1, order="F"))])
        ahead.append(eta[np.arange(len(seen)), seen.argmax(axis=1)][:, None] - eta)
    against = ~seen & (ahead[0] < 0) & (ahead[1] > 0)
    return theta + max(FAR, 2.0 * float((-ahead[0][against] / ahead[1][against]).max(initial=0.0))) * direction


def _counted(objective: Objective) -> tuple[ndarray, SimplicialCone | ProductCone | None] | None:
    """Outcomes that sides of rows in memory rule out, and the cone of these directions."""
    told = _told(objective)
    if told is None:
        return None
    largest = objective.blocks.arrays[0].largest()
    return told.gone, _cone_of(told, 1.0 / np.where(largest > 0, largest, 1.0))


def _counted_in_stream(objective: Objective) -> tuple[Any, SimplicialCone] | None:
    """Outcomes that levels of factors of a stream rule out, and the cone of these directions."""
    rays = _rays_in_stream(objective)
    if rays is None:
        return None
    largest = np.max([X.largest() for X, *_ in objective.blocks], axis=0)
    cone = SimplicialCone(rays, False, 1.0 / np.where(largest > 0, largest, 1.0))
    gone = stream.ruled_out(objective, cone, None)
    return gone, replace(cone, complete=gone.complete)


def _proves(rest: LimitEstimate) -> bool:
    """Whether the rest has a maximum, which is the only one: none of its parameters goes anywhere."""
    inner = rest.inner
    if not len(inner.theta) or not len(rest.rows):
        return not len(inner.theta)
    if not isinstance(rest.objective, Restricted):  # full rank is what the fit began with
        return _converged(inner) or has_maximum(rest.objective, inner.fit.theta)
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
    X, y, m, *_ = objective.blocks.arrays
    seen = seen_outcomes(y, m, objective.likelihood.n_eta + 1)
    sides = _sides(X, not seen.any(axis=0).all())
    if sides is None:
        return None
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
    others, ways = [], []
    for group in range(count_):
        members = np.flatnonzero((of == group) & grouped)
        if len(members):
            edges = np.eye(len(members))[alone[members]]
            rows = mixed[np.flatnonzero(np.diff(mixed[:, members].indptr) > 0)][:, members].toarray()
            cone = _cone_of_group(rays.depth[members], np.vstack([rows, edges]))
            if cone is None:
                return None
            others.append(cone)
            ways.append(rays.rays[:, members])
    return ProductCone(simplicial, sparse.csc_array(sparse.hstack(ways)), tuple(others))


def _cone_of_group(depths: ndarray, facets: ndarray) -> RecessionCone | None:
    """The cone of coefficients t of rays with facets t >= 0, in whose interior those of each round, by their depths,
    weigh little beside those before."""
    facets = different(facets)  # each once, with a largest entry of one
    inside = np.zeros(len(depths))
    for depth in np.unique(depths[np.isfinite(depths)]):
        more, now = facets @ (depths == depth), facets @ inside
        falling = (more < 0) & (now > 0)
        share = min(1.0, 0.5 * float((now[falling] / -more[falling]).min(initial=np.inf)))
        inside = inside + share * (depths == depth)
    if (facets @ inside).min() <= ROUNDED_SHARE_OF_TERMS:
        return None
    C, rounded, noise = rounded_cone(facets, inside)
    return RecessionCone(C, different(rounded), np.zeros(0, dtype=bool), noise)


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
    return found.take(np.sort(pivots(rays, np.isinf(found.depth))[1]))  # those that decide rows may be edges


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


# ------------------------------------------------------------------------------------------------------ streams
@dataclass(frozen=True)
class LevelCounts(Summed):
    """Rows left open by level of each factor of a stream, a factor by the place of its first column.

    Attributes
    ----------
    n : int
        Rows.
    rows : dict
        Rows in which the factor was seen.
    shown, left : dict
        Rows of each level, those without a column last, that showed each outcome, and that have it left, (cells, K).
    alone : dict
        Rows of which a level is the only one to rule out each outcome.
    mixed : set
        Columns that are no constants.
    """

    n: int
    rows: dict[int, int]
    shown: dict[int, ndarray]
    left: dict[int, ndarray]
    alone: dict[int, ndarray]
    mixed: set[int]


def _factors(X: Columns) -> dict[int, CodedColumns]:
    """Parts of a design that are indicators of levels, by the place of their first column."""
    parts = X.coded if isinstance(X, FactorColumns) else []
    return {int(part.at[0]): part for part in parts if _is_of_indicators(part) and part.numbers is None}


def _count_levels(K: int, told: dict[int, ndarray], X: Any, y: ndarray, m: ndarray | None, *_: Any) -> LevelCounts:
    """Counts of one block, where levels rule out the outcomes `told`, (cells, K) by factor."""
    factors, seen = _factors(X), seen_outcomes(y, m, K)
    ruling = np.zeros(seen.shape, dtype=int)
    for key, mask in told.items():
        ruling += mask[factors[key].codes]
    gone = ruling > 0
    open_ = ((~gone).sum(axis=1) > 1)[:, None]

    def by_level(part: CodedColumns, rows: ndarray) -> ndarray:
        return np.column_stack([np.bincount(part.codes, weights=r, minlength=part.cells) for r in rows.T])

    return LevelCounts(
        len(seen),
        {key: len(seen) for key in factors},
        {key: by_level(part, seen & open_) for key, part in factors.items()},
        {key: by_level(part, ~gone & open_) for key, part in factors.items()},
        {key: by_level(factors[key], mask[factors[key].codes] & (ruling == 1)) for key, mask in told.items()},
        set() if not factors else set(X.at[(X.D != 1.0).any(axis=0)].tolist()),
    )


def _rays_in_stream(objective: Objective) -> Any:
    """Directions along which levels of factors of a stream rule outcomes out, (p, r); None where there are none, or
    where not each of them is alone in some row."""
    prototype, K = objective.blocks.few()[0], objective.likelihood.n_eta + 1
    factors = _factors(prototype)
    if not factors:
        return None
    found = objective.blocks.sum(partial(_count_levels, K, {}))
    factors = {key: part for key, part in factors.items() if found.rows.get(key) == found.n}
    constant = next((j for j in prototype.at.tolist() if j not in found.mixed), None)
    told = {key: (found.shown[key] == 0) & (found.left[key] > 0) for key in factors}
    if constant is None:
        for key, part in factors.items():
            told[key][part.width] = False
    told = {key: mask for key, mask in told.items() if mask.any()}
    if not told:
        return None
    again = objective.blocks.sum(partial(_count_levels, K, told))
    further = any(((again.shown[key] == 0) & (again.left[key] > 0)).any() for key in factors)
    if further or any((again.alone[key][mask] == 0).any() for key, mask in told.items()):
        return None
    k, rays = prototype.shape[1], []
    for key, mask in told.items():
        at = factors[key].at
        for level, c in np.argwhere(mask).tolist():
            places, values = ([at[level]], [1.0]) if level < len(at) else ([constant, *at], [1.0, *-np.ones(len(at))])
            equations = range(K - 1) if c == 0 else [c - 1]  # of the reference, the others gain
            where = np.concatenate([np.array(places) + k * i for i in equations])
            rays.append((where, np.tile(values, len(equations)) * (1.0 if c == 0 else -1.0)))
    return by_column(rays, k * (K - 1))


# -------------------------------------------------------------------------------------------------- columns
def _sides(X: Columns, constant_alone: bool) -> Sides | None:
    """Columns of one sign of a design, each as a direction scaled to a largest gain of one, and what is left of groups
    of indicators; the constant without others, too, if it is asked for."""
    (n, k), (A, at) = X.shape, _columns(X, constant_alone)
    if not len(at):
        return None
    A, at, size = _of_one_sign(A, at)
    indicator = np.minimum.reduceat(A.data, A.indptr[:-1]) == 1.0 if len(at) else np.zeros(0, dtype=bool)
    full = np.diff(A.indptr) == n
    constants = np.flatnonzero(full & indicator)
    kept = ~full  # a column without zeros tells nothing but of all rows at once, as the constant does
    kept[constants[:1]] = True
    gains, directions = [A[:, kept]], [sparse.csc_array((1.0 / size, (at, np.arange(len(at)))), (k, len(at)))[:, kept]]
    if len(constants):
        constant = sparse.csc_array(([1.0 / size[constants[0]]], ([at[constants[0]]], [0])), (k, 1))
        for group in _groups(A, np.flatnonzero(indicator & ~full)):
            rest = np.flatnonzero(np.bincount(A[:, group].indices, minlength=n) == 0)
            if len(rest):
                less = sparse.csc_array((1.0 / size[group], (at[group], np.zeros_like(group))), (k, 1))
                gains.append(by_column([(rest, np.ones(len(rest)))], n))
                directions.append(constant - less)
    found = Sides(*(sparse.csc_array(sparse.hstack(parts, format="csc")) for parts in (directions, gains)))
    return found if found.gains.shape[1] else None


def _of_one_sign(A: Any, at: ndarray) -> tuple[Any, ndarray, ndarray]:
    """Columns of a csc_array that have one sign, over their largest numbers, with their places and these numbers."""
    some = np.flatnonzero(np.diff(A.indptr))
    A, at = sparse.csc_array(A[:, some]), at[some]
    if not len(at):
        return A, at, np.zeros(0)
    low, high = (f.reduceat(A.data, A.indptr[:-1]) for f in (np.minimum, np.maximum))
    some = np.flatnonzero((low > 0) | (high < 0))
    size = np.where(high > 0, high, low)[some]
    A = sparse.csc_array(A[:, some])
    A.data = A.data / np.repeat(size, np.diff(A.indptr))
    return A, at[some], size


def _groups(A: Any, indicators: ndarray) -> list[ndarray]:
    """Groups of indicators that follow each other, of which no row has two: the levels of factors."""
    if not len(indicators) or np.bincount(A[:, indicators].indices).max() == 1:
        return [indicators] if len(indicators) else []
    groups: list[list[int]] = [[]]
    taken = np.zeros(A.shape[0], dtype=bool)
    for j in indicators.tolist():
        rows = A.indices[A.indptr[j] : A.indptr[j + 1]]
        if taken[rows].any():
            groups.append([])
            taken[:] = False
        groups[-1].append(j)
        taken[rows] = True
    return [np.array(group) for group in groups]


def _columns(X: Columns, constant_alone: bool) -> tuple[Any, ndarray]:
    """Columns where they are not 0 as a csc_array, in their order, and their places; of an array without those of both
    signs, as a glance shows, and without those that are nowhere 0 but for the first constant."""
    if isinstance(X, FactorColumns):
        A, at = _columns(Dense(X.D), True)
        parts = [(A, X.at[at]), *(_coded(part) for part in X.coded if _is_of_indicators(part))]
        places = np.concatenate([at for _, at in parts])
        order = np.argsort(places, kind="stable")
        return sparse.csc_array(sparse.hstack([A for A, _ in parts], format="csc")[:, order]), places[order]
    if isinstance(X, Sparse):
        A = sparse.csc_array(X.X, dtype=float)
        A.eliminate_zeros()
        return A, np.arange(A.shape[1])
    some = X.X[:GLANCE_ROWS]
    one_sign = (some.min(axis=0) >= 0) | (some.max(axis=0) <= 0)
    full = one_sign & some.all(axis=0)
    for (x,) in Blocks(X.X, size=X.block_size) if full.any() else ():
        full[full] = x[:, full].all(axis=0)
    likely = np.flatnonzero(full & (some == some[:1]).all(axis=0))
    constants = (j for j in likely if (X.X[:, j] == some[0, j]).all())
    one_sign &= ~full
    one_sign[list(islice(constants, int(constant_alone or one_sign.any())))] = True
    at = np.flatnonzero(one_sign)
    found = [np.flatnonzero(X.X[:, j]) for j in at]
    return by_column([(rows, X.X[rows, j].astype(float)) for j, rows in zip(at, found, strict=True)], len(X.X)), at


def _is_of_indicators(part: CodedColumns) -> bool:
    """Whether the columns of a part are indicators of levels, or those times numbers: not of sum coding, say."""
    return part.table is None and not part.opposite


def _coded(part: CodedColumns) -> tuple[Any, ndarray]:
    """Columns of a factor that are indicators, or those times numbers, and their places."""
    n = len(part.codes)
    values = np.ones(n) if part.numbers is None else part.numbers
    cells = sparse.csr_array((values, part.codes, np.arange(n + 1)), (n, part.cells))
    A = sparse.csc_array(sparse.csc_array(cells)[:, : part.width])
    A.eliminate_zeros()
    return A, part.at
