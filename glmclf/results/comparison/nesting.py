"""Nesting of regressions, judged by the linear predictors that each can have in the rows of the fit."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from glmclf.core.design.arrow import ArrowColumns, of_levels
from glmclf.core.design.columns import expandable, some_columns
from glmclf.core.design.dense import Dense
from glmclf.core.fit.level_rank import dependencies_in
from glmclf.core.fit.rank import dependencies, roundings, triangular_factor
from glmclf.errors import DataError
from glmclf.inference.covariance.constrained import free_form
from glmclf.results.comparison.comparability import (
    coded_levels,
    columns_apart,
    columns_of,
    matching,
    rows_gone,
    same_offset,
    with_offsets,
)

MAX_NESTED_REST = 1e-12  # share of its terms' norms up to which a difference counts as 0


class Predictors(NamedTuple):
    """Linear predictors of a fit relative to the first class, equations stacked, compressed to few rows.

    Attributes
    ----------
    directions : (., d) ndarray
        What each free parameter adds.
    constant : (.,) ndarray
        What the constraints add, whatever the free parameters are.
    units : (d,) ndarray
        `core.fit.rank.roundings` of the directions.
    """

    directions: ndarray
    constant: ndarray
    units: ndarray


def check_nested(larger: Any, smaller: Any) -> None:
    """Raise ValueError unless the linear predictors of the larger fit include all those of the smaller one.

    DataError where only removed rows could tell."""
    if rows_gone(larger) or rows_gone(smaller):
        return _check_by_name(larger, smaller)
    constrained = any(res._state.estimate.constraints for res in (larger, smaller))
    stray, apart = (_outside if constrained else _outside_columns)(larger, smaller)
    mine = ', '.join(larger._state.estimate.constraints)
    if stray:
        raise ValueError(
            f"the models are not nested: {', '.join(stray)} of the restricted model is no combination of the "
            f"columns of this one{f' under its constraints {mine}' if mine else ''}"
        )
    if not apart:
        return
    if not same_offset(larger, smaller):
        raise ValueError(
            "the two models were fitted to different data (their offset differ, by what is no combination of the "
            "columns of this one). Give both the same offset="
        )
    other_event = smaller._state.estimate.constraints and coded_levels(larger) != coded_levels(smaller)
    why = "; of other events or references coefficients have opposite signs or other values" if other_event else ""
    raise ValueError(
        f"the models are not nested: the restricted one need not obey the constraints {mine} of this one{why}"
    )


def _outside_columns(larger: Any, smaller: Any) -> tuple[list[str], bool]:
    """Columns of the smaller fit outside the span of the larger fit's, and whether the offsets differ outside it.

    Without constraints all equations have the same columns.
    """
    mine, theirs = larger.model.exog_names, smaller.model.exog_names
    blocks = columns_of(larger, smaller)
    place = {name: i for i, name in enumerate(mine)}
    shared = {j: place[name] for j, name in enumerate(theirs) if name in place}
    new = np.array(sorted(set(range(len(theirs))) - set(shared)), dtype=np.intp)
    if shared:  # columns of equal names may have different values
        own, other = (np.array(list(places), dtype=np.intp) for places in (shared.values(), shared))
        new = np.sort(np.append(new, other[~_equal_columns(blocks, own, other)]))
    found = dependencies_in(blocks.map(lambda X, Z: (X, some_columns(Z, new)))) if len(new) else {}
    stray = [theirs[j] for i, j in enumerate(new) if len(mine) + i not in found]
    if stray or same_offset(larger, smaller):
        return stray, False
    found = dependencies_in(with_offsets(larger, smaller, lambda X, x, Z, z: (X, _apart(x, z))))
    return [], any(len(mine) + j not in found for j in range(len(coded_levels(larger)) - 1))


def _equal_columns(blocks: Any, own: ndarray, other: ndarray) -> ndarray:
    """Which columns of the first design, at some places, are those of the second."""

    def of_levels_alone(X: Any, Z: Any) -> Any:
        both = isinstance(X, ArrowColumns) and isinstance(Z, ArrowColumns)
        return X.equal_columns(Z, own, other) if both else None

    def differ(X: Any, Z: Any) -> ndarray:
        equal = of_levels_alone(X, Z)
        if equal is None:
            ranks = (np.argsort(np.argsort(places)) for places in (own, other))
            A, B = (
                some_columns(x, np.sort(places)).toarray()[:, rank]
                for x, places, rank in zip((X, Z), (own, other), ranks, strict=True)
            )
            equal = (A == B).all(axis=0)
        return (~equal).astype(int)

    alone = of_levels(blocks) is not None and of_levels_alone(*blocks.few()) is not None
    return (blocks if alone else expandable(blocks)).sum(differ) == 0


def _outside(larger: Any, smaller: Any) -> tuple[list[str], bool]:
    """Free parameters that move the smaller fit's linear predictors outside the larger fit's, and whether constants do.

    The constants come from constraints and offsets.
    """
    k = [res.model._rows.X.shape[1] for res in (larger, smaller)]
    other, blocks = not same_offset(larger, smaller), columns_of(larger, smaller)
    if other:
        blocks = with_offsets(larger, smaller, lambda X, x, Z, z: (X, Z, _apart(x, z)))
    T, units = triangular_factor(blocks), np.maximum(roundings(blocks), np.finfo(float).eps)
    own = np.arange(k[0]), np.arange(k[0], sum(k))
    a = _predictors(larger, T[:, own[0]], units[own[0]])
    b = _recoded(_predictors(smaller, T[:, own[1]], units[own[1]]), matching(larger, smaller))
    apart = b.constant - a.constant
    if other:
        apart = apart + T[:, sum(k) :].ravel(order="F")
    terms = np.linalg.norm(a.constant) + np.linalg.norm(b.constant)
    if np.linalg.norm(apart) <= MAX_NESTED_REST * terms:
        apart = np.zeros_like(apart)
    d, eps = a.directions.shape[1], np.finfo(float).eps
    last = max(terms * units.max(), eps) / max(float(np.linalg.norm(apart)), 1.0)
    found = dependencies(np.column_stack([a.directions, b.directions, apart]), np.r_[a.units, b.units, last])
    free = free_parameters_of(smaller)
    stray = [smaller.model._param_names[i] for j, i in enumerate(free) if d + j not in found]
    return stray, d + len(free) not in found


def _predictors(res: Any, T: ndarray, units: ndarray) -> Predictors:
    """Linear predictors of a fit from a triangular factor T of its columns."""
    k, q = T.shape[1], res.model._likelihood.n_eta
    D, origin = free_form_of(res)
    parts = range(0, k * q, k)
    directions = np.vstack([T @ D[i : i + k] for i in parts])
    size = np.linalg.norm(directions, axis=0)
    rounded = np.abs(D).T @ np.tile(np.linalg.norm(T, axis=0) * units, q)
    constant = np.concatenate([T @ origin[i : i + k] for i in parts])
    return Predictors(directions, constant, rounded / np.where(size > 0, size, 1.0))


def _recoded(b: Predictors, places: list[int] | None) -> Predictors:
    """Linear predictors with the classes in another order."""
    if places is None or places == list(range(len(places))):
        return b
    K = len(places)

    def moved(a: ndarray) -> ndarray:
        eta = a.reshape(K - 1, -1, *a.shape[1:])
        eta = np.concatenate([np.zeros_like(eta[:1]), eta])[places]
        return (eta[1:] - eta[:1]).reshape(a.shape)

    return Predictors(moved(b.directions), moved(b.constant), b.units)


def free_form_of(res: Any) -> tuple[ndarray, ndarray]:
    """Directions and constant of the parameters of a fit, as `free_form` of its covariance has them."""
    return free_form(*res._state.estimate.equations)


def free_parameters_of(res: Any) -> list[int]:
    """Places of the parameters that the directions of `free_form_of` move, one each."""
    D = free_form_of(res)[0]
    return [int(np.flatnonzero(column)[0]) for column in D.T]


def _apart(x: ndarray, z: ndarray) -> Dense:
    """Offsets z less x of all classes but the first, as columns, (n, K - 1)."""
    return Dense((z - x)[:, 1:])


def _check_by_name(larger: Any, smaller: Any) -> None:
    """Check nesting by names where rows are gone; names can show that fits are nested, never that they are not."""
    mine, names = larger._state.estimate, smaller.model._param_names
    own = larger.model._param_names
    stray = [name for name in smaller.model.exog_names if name not in larger.model.exog_names]
    if stray:
        why = (
            f"{', '.join(stray)} of the restricted model is no column of this one, but may be a combination of its "
            "columns"
        )
    elif apart := columns_apart(larger, smaller):
        why = (
            f"{', '.join(apart)} of the restricted model holds other numbers than the column of that name of this one, "
            "but may be a combination of its columns"
        )
    elif not same_offset(larger, smaller):
        why = "the offsets differ, perhaps by a combination of the columns"
    elif mine.constraints and not _obeys(smaller, mine, own, names, coded_levels(larger) == coded_levels(smaller)):
        why = f"the restricted model need not obey the constraints {mine.constraint} of this one"
    else:
        return
    raise DataError(
        f"whether the models are nested cannot be decided without the rows, which were removed or not saved: {why}. "
        "Compare the fits before they are saved"
    )


def _obeys(smaller: Any, mine: Any, own: list[str], names: list[str], alike: bool) -> bool:
    """Whether names show that the smaller fit obeys the constraints of the larger one."""
    R, q = mine.equations
    if names == own and smaller._state.estimate.implies(R, q):
        return bool(alike or not q.any())
    shared = [i for i, name in enumerate(own) if name in names]
    return set(names) <= set(own) and not R[:, shared].any() and not q.any()
