"""Separation within levels of a factor of many: slopes by level that tell the outcomes of a level's own rows apart.

The columns of a level are zero elsewhere, so that a direction of its parameters that no row of the level is against is
against none. Each level is a small problem of its own; that there is nothing else, a fit of the rest proves, as where
levels are counted. The base level is one of them, with columns of the border less those of all other levels.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy import ndarray
from scipy import sparse

from glmclf.core.design.arrow import ArrowColumns, of_levels
from glmclf.core.design.dense import Dense
from glmclf.core.fit.level_rank import ROUNDED_REST
from glmclf.core.likelihood.objective import Objective
from glmclf.core.rows.blocks import Blocks
from glmclf.core.separation import outcomes
from glmclf.core.separation.outcomes import seen_outcomes
from glmclf.core.separation.simplicial import ProductCone, SimplicialCone, by_column

MAX_SHARE_OF_INFORMATION = 1e-3  # left of a level's information where its rows may be told apart


def level_cones(objective: Objective, theta: ndarray) -> tuple[ndarray, ProductCone] | None:
    """Outcomes of rows that directions of the levels' own slopes and intercepts rule out, and the cone of these.

    None where no level has any, or there are no slopes by level in memory. Levels are asked whose information has
    vanished at theta, where a fit stopped or far along some directions.
    """
    X = None if objective.blocks.streamed else of_levels(objective.blocks)
    if X is None or not X.slots_of_numbers or not np.isfinite(theta).all():
        return None
    q, k = objective.likelihood.n_eta, X.shape[1]
    _, y, m, *_ = objective.blocks.arrays
    order = np.argsort(X.codes, kind="stable")
    starts = np.searchsorted(X.codes[order], np.arange(len(X.layout.slots) + 1))
    gone, cones, ways = np.zeros((X.shape[0], objective.likelihood.n_eta + 1), dtype=bool), [], []
    bare = _bare_levels(X, order, starts)
    for level in np.union1d(_vanished(objective, theta), np.array(list(bare), dtype=np.intp)):
        rows = order[starts[level] : starts[level + 1]]
        own_slots, more = np.flatnonzero(X.layout.there[level]), bare.get(int(level), {})
        columns = np.column_stack([X.slot_numbers(s)[rows] for s in (*own_slots, *more)])
        own = _rows_of(objective, rows, columns)
        cone, constraints = outcomes.find_cone(own)
        if cone is None:
            continue
        gone[rows] = outcomes.ruled_out(own, cone, constraints)
        for start in range(0, k * q, k):
            ways += [(np.array([start + j]), np.ones(1)) for j in X.layout.slots[level, own_slots]]
            ways += [(start + np.flatnonzero(way), way[way != 0]) for way in more.values()]
        cones.append(replace(cone, decided=np.zeros(0, dtype=bool), M=None))
    if not cones:
        return None
    largest, seen = X.largest(), seen_outcomes(y, m, gone.shape[1])
    complete = bool((gone | seen).all() and (seen.sum(axis=1) == 1).all())
    none = SimplicialCone(sparse.csc_array((k * q, 0)), complete, 1.0 / np.where(largest > 0, largest, 1.0))
    return gone, ProductCone(none, by_column(ways, k * q), tuple(cones))


def _bare_levels(X: ArrowColumns, order: ndarray, starts: ndarray) -> dict[int, dict[int, ndarray]]:
    """Slots that a level lacks, as the base level does, and which a column of the border less those of all other levels
    makes: level -> {slot: combination (k,) of columns, zero in the rows of every other level}."""
    layout = X.layout
    found: dict[int, dict[int, ndarray]] = {}
    for s in range(len(X.slots)):
        like, numbers = X.column_like(s), X.slot_numbers(s)
        if like is None:
            continue
        way = np.zeros(layout.size)
        way[like], way[layout.slots[layout.there[:, s], s]] = 1.0, -1.0
        lack = []
        for level in np.flatnonzero(~layout.there[:, s] & (starts[:-1] < starts[1:])).tolist():
            rows, slots = order[starts[level] : starts[level + 1]], np.flatnonzero(layout.there[level])
            columns = np.array([X.slot_numbers(t)[rows] for t in slots.tolist()]).reshape(-1, len(rows)).T
            mine = numbers[rows]
            b = np.linalg.lstsq(columns, mine)[0]
            if np.abs(columns @ b - mine).max() > ROUNDED_REST * np.abs(mine).max():
                lack.append(level)
            else:  # its own columns make the one that it lacks, which was left out as collinear
                way[layout.slots[level, slots]] -= b
        if len(lack) == 1:
            found.setdefault(lack[0], {})[s] = way
    return found


def _rows_of(objective: Objective, rows: ndarray, columns: ndarray) -> Objective:
    """The likelihood of some rows in some columns."""
    rest = (None if a is None else a[rows] for a in objective.blocks.arrays[1:])
    return type(objective)(objective.likelihood, Blocks(Dense(columns), *rest), objective.unit)


def _vanished(objective: Objective, theta: ndarray) -> ndarray:
    """Levels whose information at theta is a small share, in some direction, of that at zeros."""
    with np.errstate(over="ignore", invalid="ignore"):
        before, after = (objective(at, False).information.C for at in (np.zeros(len(theta)), theta))
    size = np.sqrt(before.diagonal(axis1=1, axis2=2))
    scale = np.where(size > 0, 1.0 / np.where(size > 0, size, 1.0), 0.0)
    eye = np.eye(size.shape[1]) * (size == 0)[:, :, None]
    C0, C1 = (np.where(np.isfinite(C), C, 0.0) * scale[:, :, None] * scale[:, None, :] + eye for C in (before, after))
    # the least eigenvalue of C1 beside C0, that of inv(C0) C1: both are positive semidefinite
    try:
        both = np.linalg.solve(C0 + np.finfo(float).eps * np.eye(size.shape[1]), C1)
    except np.linalg.LinAlgError:
        raise NotImplementedError(
            "whether slopes separate the rows of their level is hidden by rounding, as a number is so large beside its "
            "spread: subtract a value in its middle from a number that is multiplied by a factor"
        ) from None
    ratios = np.linalg.eigvals(both).real.min(axis=1)
    return np.flatnonzero(~(ratios > MAX_SHARE_OF_INFORMATION))
