"""Estimates of designs of which some columns are combinations of others: those are left out, in every equation.

The estimate is in the coordinates of all columns: parameters of the columns left out are 0 and have no variance, which
gives every combination that is estimable its value. `omitted` says what each column left out equals,
column -> {column kept: coefficient}.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from glmclf.core.fit.estimate import Estimate
from glmclf.core.likelihood.objective import DeferredEvaluation, Evaluation

if TYPE_CHECKING:
    from glmclf.core.separation.cone import RecessionCone

Omitted = Mapping[int, Mapping[int, float]]
ROUNDING = 1e-7  # of the terms of a combination, in rows and hypotheses that obey it


def columns_kept(omitted: Omitted, k: int) -> ndarray:
    """The columns that are left, ascending."""
    return np.array([j for j in range(k) if j not in omitted], dtype=np.intp)


def places_kept(omitted: Omitted, k: int, q: int) -> ndarray:
    """Places of their parameters in all q equations."""
    return (np.arange(q)[:, None] * k + columns_kept(omitted, k)).ravel()


def merged(omitted: Omitted, more: Omitted, columns: ndarray) -> dict[int, dict[int, float]]:
    """`omitted` and the combinations `more` that were found among `columns`, all of them of columns that are left."""
    new = {int(columns[j]): {int(columns[i]): v for i, v in terms.items()} for j, terms in more.items()}
    out: dict[int, dict[int, float]] = {}
    for j, terms in {**omitted, **new}.items():
        out[j] = {}
        for i, v in terms.items():
            for last, share in new.get(i, {i: 1.0}).items():
                out[j][last] = out[j].get(last, 0.0) + v * share
    return dict(sorted(out.items()))


def narrow(found: Estimate, k: int, q: int) -> Estimate:
    """The estimate of the columns that are left alone."""
    if not found.omitted:
        return found
    at = places_kept(found.omitted, k, q)
    e = found.fit.evaluation
    inner = Evaluation(e.value, e.score[at], e.information[np.ix_(at, at)])
    fit = replace(found.fit, theta=found.fit.theta[at], evaluation=inner)
    return replace(found, fit=fit, basis=narrow_basis(found), omitted={})


def narrow_basis(found: Estimate) -> ndarray | None:
    """The basis of the columns that are left."""
    if found.basis is None or not found.omitted:
        return found.basis
    columns = columns_kept(found.omitted, len(found.basis))
    return found.basis[np.ix_(columns, columns)]


def widened(found: Any, omitted: Omitted, k: int, q: int) -> Estimate:
    """The estimate of the columns that are left, in the coordinates of all."""
    if not omitted:
        return found
    at, columns = places_kept(omitted, k, q), columns_kept(omitted, k)
    e, p = found.fit.evaluation, k * q
    score = np.zeros(p)
    score[at] = e.score
    evaluation: Evaluation
    if isinstance(e, DeferredEvaluation):
        evaluation = DeferredEvaluation(e.value, score, partial(_wide_information, e, at, p))
    else:
        evaluation = Evaluation(e.value, score, wide(e.information, at, p))
    fit = replace(found.fit, theta=_spread(found.fit.theta, at, p), evaluation=evaluation)
    basis = None
    if found.basis is not None:
        basis = np.eye(k)
        basis[np.ix_(columns, columns)] = found.basis
    changes: dict[str, Any] = {"fit": fit, "basis": basis, "omitted": omitted}
    if getattr(found, "cone", None) is not None:
        changes |= {"cone": wide_cone(found.cone, omitted, k, q), "kept": at[found.kept]}
    return replace(found, **changes)


def wide_cone(cone: RecessionCone, omitted: Omitted, k: int, q: int) -> RecessionCone:
    """A cone of the parameters that are left as one of all."""
    if not omitted:
        return cone
    at, p, columns = places_kept(omitted, k, q), k * q, columns_kept(omitted, k)
    out = replace(cone, basis=_spread(cone.basis, at, p), M=wide(cone.M, columns, k))
    if "signs" in vars(cone):  # asked for already
        vars(out)["signs"] = _spread(cone.signs, at, p)
    return out


def wide(V: ndarray, at: ndarray, p: int) -> ndarray:
    """A matrix of some parameters as one of all p, with zeros."""
    out = np.zeros((p, p))
    out[np.ix_(at, at)] = V
    return out


def _wide_information(e: Evaluation, at: ndarray, p: int) -> ndarray:
    return wide(e.information, at, p)


def _spread(a: ndarray, at: ndarray, p: int) -> ndarray:
    out = np.zeros((p, *a.shape[1:]))
    out[at] = a
    return out


def violations(omitted: Omitted, A: ndarray, units: Any = None) -> dict[int, ndarray]:
    """Rows (., k) of which an entry is not the combination that its column was: column -> bool (.,); those alone.

    `units` (k,) are those of rounding of the columns' numbers, as `core.rank.roundings` finds them.
    """
    out = {}
    units = np.zeros(A.shape[1]) if units is None else np.asarray(units)
    for j, terms in omitted.items():
        i, c = np.array(list(terms), dtype=np.intp), np.array(list(terms.values()))
        parts = A[:, i] * c
        size = np.abs(A[:, j]) + np.abs(parts).sum(axis=1)
        off = np.abs(A[:, j] - parts.sum(axis=1)) > max(ROUNDING, 4.0 * units[[*i, j]].max()) * size
        if off.any():
            out[j] = off
    return out


def not_estimable(omitted: Omitted, R: ndarray, k: int, units: Any = None) -> list[int]:
    """Columns left out that make a combination of parameters, a row of R (., p), depend on which ones were left out.

    A row with zeros for all of them is one about the columns that are left.
    """
    bad = set()
    for start in range(0, R.shape[1], k):
        part = R[:, start : start + k]
        touched = part[:, list(omitted)].any(axis=1)
        bad |= {j for j, off in violations(omitted, part, units).items() if (off & touched).any()}
    return sorted(bad)
