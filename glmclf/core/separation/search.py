"""Search for the recession cone of a likelihood, whether its rows are in memory or in a stream."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.fit.coordinates import from_basis, into_basis
from glmclf.core.fit.estimate import RankDeficiency, by_level, estimate
from glmclf.core.fit.warm_start import MIN_COLUMNS_TO_COUNT, passes_are_dear
from glmclf.core.likelihood.objective import Objective
from glmclf.core.separation import outcomes, stream
from glmclf.core.separation.certificate import has_maximum
from glmclf.core.separation.counting import CountedRows, count, count_by_level, is_told
from glmclf.core.separation.recoded import RecodedCone


def find_cone(objective: Objective, theta: ndarray | None = None) -> tuple[Any, Any]:
    """The recession cone of an objective's likelihood, and its constraints.

    Parameters
    ----------
    objective : Objective or MultinomialObjective
    theta : (p,) ndarray, optional
        Where a fit stopped, which may prove that the maximum is there; else rows it leaves undecided bound the search.

    Returns
    -------
    RecessionCone, SimplicialCone or None
    constraints : object
        Of all rows; over a stream, of some that have the same cone; or what was counted.
    """
    with by_level(objective) as (own, basis):
        near = None if theta is None else into_basis(basis, theta)
        counted, maximum = _counted(own, near)
    if maximum:
        return None, None
    if counted is not None:
        counted = replace(counted, near=from_basis(basis, counted.near))
        theta = counted.near
        if counted.cone is not None:
            return counted.cone if basis is None else RecodedCone(counted.cone, basis), counted
    return _search(objective).find_cone(objective, theta)


def _counted(objective: Objective, theta: ndarray | None) -> tuple[CountedRows | None, bool]:
    """What counting tells, or None, and whether theta proves that there is a maximum."""
    several = objective.blocks.arrays[0].shape[1] >= MIN_COLUMNS_TO_COUNT
    counted = count(objective, theta) if several else None
    if theta is None or (counted is not None and counted.cone is not None):
        return counted, False
    if counted is None and has_maximum(objective, theta):
        return None, True
    told = count_by_level(objective, theta if counted is None else counted.near)
    return counted if told is None else told, False


def started(objective: Objective) -> ndarray | None:
    """Parameters at which a fit stops, a start for `find_cone` that saves linear programs where rows
    and columns are many.

    None for few rows and columns, for separation that counting tells, and for a design of deficient rank, with which no
    fit can begin.
    """
    p = objective.blocks.arrays[0].shape[1] * objective.likelihood.n_eta
    if not passes_are_dear(objective, p) or is_told(objective):
        return None
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return estimate("irls", objective, np.zeros(p)).theta
    except RankDeficiency:
        return None


def constraints_of(objective: Objective) -> Any:
    """The constraints that the outcomes put on directions of recession; over a stream, of rows that have its cone."""
    return _search(objective).constraints_of(objective)


def ruled_out(objective: Objective, cone: Any, constraints: Any) -> Any:
    """Outcomes of each row that the cone rules out, (n, K) bool, or `RuledOut` where rows are in a stream."""
    if isinstance(constraints, CountedRows):
        return constraints.gone
    return _search(objective).ruled_out(objective, cone, constraints)


def _search(objective: Objective) -> Any:
    """Module of the functions that search where the rows of an objective are."""
    return stream if objective.blocks.streamed else outcomes
