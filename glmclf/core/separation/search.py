"""Search for the recession cone of a likelihood, whether its rows are in memory or in a stream."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.fit.estimate import RankDeficiency, estimate
from glmclf.core.fit.warm_start import passes_are_dear
from glmclf.core.likelihood.objective import Objective
from glmclf.core.separation import outcomes, stream
from glmclf.core.separation.cone import RecessionCone


def find_cone(objective: Objective, theta: ndarray | None = None) -> tuple[RecessionCone | None, Any]:
    """The recession cone of an objective's likelihood, and its constraints.

    Parameters
    ----------
    objective : Objective or MultinomialObjective
    theta : (p,) ndarray, optional
        Where a fit stopped: rows it leaves undecided bound the search.

    Returns
    -------
    RecessionCone or None
    constraints : object
        Of all rows; over a stream, of some that have the same cone.
    """
    return _search(objective).find_cone(objective, theta)


def started(objective: Objective) -> ndarray | None:
    """Parameters at which a fit stops, a start for `find_cone` that saves linear programs where rows
    and columns are many.

    None for few rows and columns, and for a design of deficient rank, with which no fit can begin.
    """
    p = objective.blocks.arrays[0].shape[1] * objective.likelihood.n_eta
    if not passes_are_dear(objective, p):
        return None
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return estimate("irls", objective, np.zeros(p)).theta
    except RankDeficiency:
        return None


def constraints_of(objective: Objective) -> Any:
    """The constraints that the outcomes put on directions of recession; over a stream, of rows that have its cone."""
    return _search(objective).constraints_of(objective)


def ruled_out(objective: Objective, cone: RecessionCone, constraints: Any) -> Any:
    """Outcomes of each row that the cone rules out, (n, K) bool, or `RuledOut` where rows are in a stream."""
    return _search(objective).ruled_out(objective, cone, constraints)


def _search(objective: Objective) -> Any:
    """Module of the functions that search where the rows of an objective are."""
    return stream if objective.blocks.streamed else outcomes
