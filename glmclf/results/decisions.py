"""Posterior probabilities and decisions from log joint densities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.numerics.softmax import softmax
from glmclf.data.response.priors import numbers

COSTS = "a row for each truth and a column for each decision"
EM_TOL = 1e-12  # largest change of a prevalence in the last iteration
EM_MAX_ITERATIONS = 10_000


def posterior(joint: ndarray) -> ndarray:
    """Posterior probabilities p(k | x) from log p(k, x), (n, K); NaN where every class has probability 0."""
    with np.errstate(invalid="ignore"):
        return softmax(joint)


def estimated_priors(bare: ndarray, start: ndarray) -> ndarray:
    """Prevalences that maximise the likelihood of new rows, sum log sum_k q_k f_k(x), by EM.

    Parameters
    ----------
    bare : (n, K) ndarray
        log f_k(x).
    start : (K,) ndarray
        Where to begin.

    References
    ----------
    Saerens, Latinne & Decaestecker (2002), Neural Computation 14, 21-41.
    """
    usable = bare[np.isfinite(bare).any(axis=1) & ~np.isnan(bare).any(axis=1)]
    if not len(usable):
        raise ValueError('priors="estimate" needs rows to predict, and there are none')
    density, q = np.exp(usable - usable.max(axis=1, keepdims=True)), start
    for _ in range(EM_MAX_ITERATIONS):
        p = q * density
        new = (p / p.sum(axis=1, keepdims=True)).mean(axis=0)
        if np.abs(new - q).max() <= EM_TOL:
            return new
        q = new
    return q


def cost_matrix(cost: Any, levels: list[Any]) -> tuple[ndarray, list[Any] | None]:
    """Costs (K, D) with rows and the first K columns in the order of the levels, and names of the decisions.

    A labelled DataFrame is reordered by label; an extra column is a decision to reject, named "reject" where it has no
    name of its own. Names are None where the decisions are the levels.
    """
    K = len(levels)
    if isinstance(cost, pd.DataFrame):
        extra = _extra_decisions(cost, levels)
        C, names = numbers(cost.loc[levels, [*levels, *extra]].to_numpy(), "cost", COSTS), [*levels, *extra]
    else:
        C = numbers(cost, "cost", COSTS)
        if C.ndim != 2 or C.shape[0] != K or C.shape[1] not in (K, K + 1):
            raise ValueError(
                f"cost= has shape {C.shape}: a row and a column for each of the levels {levels}, and one more"
            )
        names = [*levels, "reject"][: C.shape[1]]
    if not np.isfinite(C).all():
        raise ValueError("cost= holds values that are missing or infinite")
    return C, names if len(names) > K else None


def _extra_decisions(cost: pd.DataFrame, levels: list[Any]) -> list[Any]:
    """Columns of a labelled cost matrix that are not levels, at most one."""
    if set(cost.index) != set(levels) or not cost.index.is_unique:
        raise ValueError(f"cost= has the rows {list(cost.index)}; the levels are {levels}")
    extra = [c for c in cost.columns if c not in levels]
    if set(levels) - set(cost.columns) or len(extra) > 1 or not cost.columns.is_unique:
        raise ValueError(
            f"cost= has the columns {list(cost.columns)}: one for each of the levels {levels}, and one more at most"
        )
    return extra
