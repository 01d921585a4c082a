"""Columns that are combinations of others and were left out: what rows and hypotheses obey their combinations.

`omitted` says what each column left out equals, column -> {column kept: coefficient}.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.design.columns import some_columns
from glmclf.core.design.dense import expanded_rows
from glmclf.core.fit.coordinates import Omitted

ROUNDED_SHARE_OF_COMBINATION = 1e-7  # share of a combination's terms that is rounding in rows that obey it


def violations(omitted: Omitted, A: Any, units: Any = None) -> dict[int, ndarray]:
    """Rows (., k) of which an entry is not the combination that its column was: column -> bool (.,); those alone.

    Rows are an array, or Columns of which only those in combinations are expanded, some rows at a time.
    `units` (k,) are those of rounding of the columns' numbers, as `core.fit.rank.roundings` finds them.
    """
    out = {}
    units = np.zeros(A.shape[1]) if units is None else np.asarray(units)
    if not isinstance(A, ndarray):
        return _violations_of_columns(omitted, A, units)
    for j, terms in omitted.items():
        i, c = np.array(list(terms), dtype=np.intp), np.array(list(terms.values()))
        parts = A[:, i] * c
        size = np.abs(A[:, j]) + np.abs(parts).sum(axis=1)
        off = np.abs(A[:, j] - parts.sum(axis=1)) > max(ROUNDED_SHARE_OF_COMBINATION, 4.0 * units[[*i, j]].max()) * size
        if off.any():
            out[j] = off
    return out


def _violations_of_columns(omitted: Omitted, X: Any, units: ndarray) -> dict[int, ndarray]:
    used = np.unique([*omitted, *(i for terms in omitted.values() for i in terms)]).astype(np.intp)
    at = {j: i for i, j in enumerate(used.tolist())}
    few = {at[j]: {at[i]: c for i, c in terms.items()} for j, terms in omitted.items()}
    X, step = some_columns(X, used), expanded_rows(len(used))
    out = {j: np.zeros(X.shape[0], dtype=bool) for j in omitted}
    for start in range(0, X.shape[0], step):
        rows = slice(start, start + step)
        found = violations(few, X[rows].toarray(), units[used])
        for j in omitted:
            out[j][rows] = found.get(at[j], False)
    return {j: off for j, off in out.items() if off.any()}


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
