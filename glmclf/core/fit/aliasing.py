"""Columns that are combinations of others and were left out: what rows and hypotheses obey their combinations.

`omitted` says what each column left out equals, column -> {column kept: coefficient}.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.fit.coordinates import Omitted

ROUNDED_SHARE_OF_COMBINATION = 1e-7  # share of a combination's terms that is rounding in rows that obey it


def violations(omitted: Omitted, A: ndarray, units: Any = None) -> dict[int, ndarray]:
    """Rows (., k) of which an entry is not the combination that its column was: column -> bool (.,); those alone.

    `units` (k,) are those of rounding of the columns' numbers, as `core.fit.rank.roundings` finds them.
    """
    out = {}
    units = np.zeros(A.shape[1]) if units is None else np.asarray(units)
    for j, terms in omitted.items():
        i, c = np.array(list(terms), dtype=np.intp), np.array(list(terms.values()))
        parts = A[:, i] * c
        size = np.abs(A[:, j]) + np.abs(parts).sum(axis=1)
        off = np.abs(A[:, j] - parts.sum(axis=1)) > max(ROUNDED_SHARE_OF_COMBINATION, 4.0 * units[[*i, j]].max()) * size
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
