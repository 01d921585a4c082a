"""Separation within levels of a factor of many: slopes by level that tell the outcomes of a level's own rows apart.

The columns of a level are zero elsewhere, so that a direction of its parameters that no row of the level is against is
against none. Each level is a small problem of its own; that there is nothing else, a fit of the rest proves, as where
levels are counted.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy import ndarray
from scipy import sparse

from glmclf.core.design.arrow import ArrowColumns, of_levels
from glmclf.core.design.dense import Dense
from glmclf.core.likelihood.objective import Objective
from glmclf.core.rows.blocks import Blocks
from glmclf.core.separation import outcomes
from glmclf.core.separation.outcomes import seen_outcomes
from glmclf.core.separation.simplicial import ProductCone, SimplicialCone

MAX_BYTES_OF_CONES = 2**29  # of the directions of all levels, in all parameters
MAX_SHARE_OF_INFORMATION = 1e-3  # left of a level's information where its rows may be told apart


def level_cones(objective: Objective, theta: ndarray) -> tuple[ndarray, ProductCone] | None:
    """Outcomes of rows that directions of the levels' own slopes and intercepts rule out, and the cone of these.

    None where no level has any, there are no slopes by level in memory, or the directions take too much of it. Levels
    are asked whose information has vanished at theta, where a fit stopped or far along some directions, and one whose
    columns are those of the border less the other levels'.
    """
    X = None if objective.blocks.streamed else of_levels(objective.blocks)
    if X is None or not X.slots_of_numbers or not np.isfinite(theta).all():
        return None
    q, k = objective.likelihood.n_eta, X.shape[1]
    _, y, m, *_ = objective.blocks.arrays
    order = np.argsort(X.codes, kind="stable")
    starts = np.searchsorted(X.codes[order], np.arange(len(X.layout.slots) + 1))
    gone, cones, numbers, lacking = np.zeros((X.shape[0], q + 1), dtype=bool), [], 0, _lacking(X, np.diff(starts))
    for level in sorted({*_vanished(objective, theta).tolist(), *(level for level, _ in lacking)}):
        rows = order[starts[level] : starts[level + 1]]
        slots = [s for s in range(len(X.slots)) if X.layout.there[level, s] or (level, s) in lacking]
        columns = np.column_stack([X.slot_numbers(s)[rows] for s in slots])
        own = _rows_of(objective, rows, columns)
        cone, constraints = outcomes.find_cone(own)
        if cone is None:
            continue
        gone[rows] = outcomes.ruled_out(own, cone, constraints)
        numbers += k * q * cone.basis.shape[1]
        if 8 * numbers > MAX_BYTES_OF_CONES:
            return None
        D = np.zeros((k, len(slots)))
        for i, s in enumerate(slots):
            if X.layout.there[level, s]:
                D[X.layout.slots[level, s], i] = 1.0
            else:
                D[lacking[level, s], i], D[X.layout.slots[X.layout.there[:, s], s], i] = 1.0, -1.0
        basis = np.concatenate([D @ part for part in np.split(cone.basis, q)])
        cones.append(replace(cone, basis=basis, decided=np.zeros(0, dtype=bool), M=None))
    if not cones:
        return None
    largest, seen = X.largest(), seen_outcomes(y, m, gone.shape[1])
    complete = bool((gone | seen).all() and (seen.sum(axis=1) == 1).all())
    none = SimplicialCone(sparse.csc_array((k * q, 0)), complete, 1.0 / np.where(largest > 0, largest, 1.0))
    return gone, ProductCone(none, tuple(cones))


def _lacking(X: ArrowColumns, counts: ndarray) -> dict[tuple[int, int], int]:
    """Map from the level of factor and slot to the place of the column of the border that has the slot's numbers, where
    this level alone has no column in the slot, as a base level: that less the columns of all others is its own."""
    found = {}
    for s in range(len(X.slots)):
        without = np.flatnonzero(~X.layout.there[:, s] & (counts > 0))
        like = X.column_like(s)
        if len(without) == 1 and like is not None:
            found[int(without[0]), s] = like
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
