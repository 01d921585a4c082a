"""The constraints that the outcomes of rows in memory put on directions of recession, and what a cone says of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.design.dense import expanded_rows
from glmclf.core.fit.unique_rows import equal_rows, taken
from glmclf.core.likelihood.objective import MultinomialObjective, Objective
from glmclf.core.rows.blocks import linear
from glmclf.core.separation.cone import BinaryConstraints, Hint, MultinomialConstraints, RecessionCone, recession_cone
from glmclf.core.separation.recoded import of_levels
from glmclf.errors import SearchTooLargeError

MAX_NUMBERS_OF_PROGRAMS = 2**28  # numbers of rows as linear programs take them, two gigabytes
INSIDE_WEIGHT_SHARE = 1e-4  # share of the largest weight above which no direction separates a row


def find_cone(objective: Objective, theta: ndarray | None = None) -> tuple[RecessionCone | None, Any]:
    """The recession cone of an objective over rows in memory, and its constraints; see `core.separation.search`."""
    constraints = constraints_of(objective)
    several = isinstance(objective, MultinomialObjective)
    if theta is None:
        return recession_cone(constraints), constraints
    with np.errstate(over="ignore", invalid="ignore"):
        near = (_level_hint if several else _hint)(objective, theta, constraints)
    return recession_cone(constraints, near), constraints


def constraints_of(objective: Objective) -> Any:
    """The constraints of rows in memory, one for rows that are equal.

    Of several classes these are a design's rows with the classes that each showed; their `kind` says of which of them
    every row of the objective is, or is None where it is one of its own.

    Raises
    ------
    SearchTooLargeError
        The rows, as numbers, would take gigabytes.
    """
    X, y, m, *_ = objective.blocks.arrays
    several, found = isinstance(objective, MultinomialObjective), equal_rows(X)
    kind = None if found is None else found[1]
    n = X.shape[0] if found is None else len(found[0])
    if n * X.shape[1] > MAX_NUMBERS_OF_PROGRAMS:
        raise SearchTooLargeError(
            f"whether the outcomes are separated by more than levels of one outcome would take linear programs on "
            f"{n:,} x {X.shape[1]:,} numbers. Leave out the regressors that may tell the outcomes apart, merge levels, "
            'or use bias_reduction="firth"'
        )
    X = (X if found is None else taken(X, found[0]))[:].toarray()
    if several:
        seen = seen_outcomes(y, m, objective.likelihood.K)
        seen = np.column_stack([_sums(kind, column) > 0 for column in seen.T])
        constraints: Any = MultinomialConstraints(X, seen)
    else:
        constraints = BinaryConstraints(X, *((y, m) if kind is None else _outcomes(kind, y, m)))
    constraints.kind = kind
    return constraints


def _sums(kind: ndarray | None, values: ndarray) -> ndarray:
    """Sums of values over the rows of each kind."""
    return values if kind is None else np.bincount(kind, weights=values)


def _outcomes(kind: ndarray, y: ndarray, m: ndarray | None) -> tuple[ndarray, ndarray]:
    """Whether the rows of each kind showed the event, and how many different outcomes they showed."""
    yes, no = (_sums(kind, seen) > 0 for seen in (y > 0, y < (1.0 if m is None else m)))
    return yes.astype(float), yes + no.astype(float)


def _means(kind: ndarray | None, values: ndarray) -> ndarray:
    return values if kind is None else _sums(kind, values) / np.bincount(kind)


def _hint(objective: Objective, theta: ndarray, constraints: BinaryConstraints) -> Hint:
    X, y, m, offset, weights = objective.blocks.arrays
    eta, kind = linear(X, theta), constraints.kind
    _, u, w = objective.likelihood.pointwise(y, m, eta if offset is None else eta + offset, True)
    w, u = _means(kind, w), _sums(kind, u if weights is None else weights * u)
    return Hint(w > INSIDE_WEIGHT_SHARE * w.max(), constraints.sign * u, theta)


def _level_hint(objective: Objective, theta: ndarray, constraints: MultinomialConstraints) -> Hint:
    """Hint from a multinomial fit, whose score is the sum over pairs c, l of (y_c p_l - y_l p_c) (e_c - e_l) x."""
    X, y, _, offset, weights = objective.blocks.arrays
    eta, kind = linear(X, theta.reshape(X.shape[1], -1, order="F")), constraints.kind
    if offset is not None:
        eta = eta + (offset if offset.ndim == 2 else offset[:, None])
    p = objective.likelihood.probabilities(eta)[1].T
    Y = y.T if y.ndim == 2 else y == np.arange(len(p))[:, None]
    inside, value = np.empty(len(constraints.row)), np.empty(len(constraints.row))
    for both in np.unique(constraints.pair):
        c, l = divmod(int(both), len(p))
        here = constraints.pair == both
        at, score = constraints.row[here], Y[c] * p[l] - Y[l] * p[c]
        inside[here] = _means(kind, p[c] * p[l])[at]
        value[here] = _sums(kind, score if weights is None else weights * score)[at]
    return Hint(inside > INSIDE_WEIGHT_SHARE * inside.max(), value, theta)


def seen_outcomes(y: ndarray, m: ndarray | None, K: int) -> ndarray:
    """Mask of the outcomes that rows showed, (n, K)."""
    if y.ndim == 2:
        return y > 0
    if K == 2 and (m is not None or y.dtype.kind == "f"):
        return np.column_stack([y < (1.0 if m is None else m), y > 0])
    return y[:, None] == np.arange(K)


def ruled_out(objective: Objective, cone: RecessionCone, constraints: Any) -> ndarray:
    """Outcomes of each row in memory that the cone rules out, (n, K) bool."""
    y, kind = objective.blocks.arrays[1], constraints.kind
    if not isinstance(objective, MultinomialObjective):
        decided = cone.decided if kind is None else cone.decided[kind]
        return decided[:, None] & np.column_stack([y > 0, y == 0])
    out = np.zeros((len(constraints.directions.length), objective.likelihood.K), dtype=bool)
    gone = cone.decided
    out[constraints.row[gone], constraints.pair[gone] % out.shape[1]] = True
    return out if kind is None else out[kind]


def outcomes_ruled_out(cone: RecessionCone, K: int, X: Any) -> ndarray:
    """Outcomes of some rows that a cone rules out, (n, K), by the direction inside it alone: no other outcome gains
    from it like those that were seen."""
    cone, X = of_levels(cone, X)
    D = cone.direction.reshape(K - 1, -1).T
    T, size = cone.lengths(D)
    Z, size = (np.concatenate([np.zeros((*a.shape[:-1], 1)), a], axis=-1) for a in (linear(X, D), size))
    if not len(Z):
        return np.zeros(Z.shape, dtype=bool)
    best = Z.argmax(axis=1)
    behind, rounding = Z[np.arange(len(Z)), best][:, None] - Z, cone.rounding * (size[best][:, None] + size)
    out = behind > rounding * np.linalg.norm(X.largest() @ np.abs(T))  # no row is longer
    unsure = np.flatnonzero(((behind > 0) & ~out).any(axis=1))
    step = expanded_rows(len(D))
    for start in range(0, len(unsure), step):
        rows = unsure[start : start + step]
        length = np.linalg.norm(X.subset(rows)[:].toarray() @ T, axis=1)
        out[rows] = behind[rows] > rounding[rows] * length[:, None]
    return out
