"""Rows of a design that differ in the level of one factor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.design.factor import expand
from glmclf.core.numerics.arrow import MAX_DENSE_BYTES
from glmclf.data.design.design import Design, table_of
from glmclf.errors import DataError


def level_rows(design: Any, factor: str, at: Mapping[str, Any] | None = None) -> tuple[list[Any], ndarray]:
    """The levels of a factor, and rows of X for each, (L, k), in which columns of terms without the factor are 0.

    Parameters
    ----------
    design : Design
    factor : str
        A variable of the formula that is a factor, or its code as ``"C(g)"``.
    at : mapping, optional
        Values of the variables that the factor's interactions are with.

    Returns
    -------
    levels : list
    rows : (L, k) ndarray

    Raises
    ------
    DataError
        No such factor, a variable without levels, one that enters in more than one way, interactions without `at`,
        names in `at` that are no such variable.
    NotImplementedError
        A table of all pairs of levels would take gigabytes.
    """
    code = _code(design, factor)
    terms = [s for s in design.subterms if code in s.factors]
    others = dict.fromkeys(c for s in terms for c in s.factors if c != code)
    wanted = list(dict.fromkeys(name for c in others for name in design.factors[c].expression.columns))
    given = dict(at or {})
    absent = [name for name in wanted if name not in given]
    if absent:
        raise DataError(
            f'"{factor}" interacts with {", ".join(map(repr, absent))}: how its levels differ depends on that. Say '
            f"where to compare, as at={{{absent[0]!r}: value}}"
        )
    stray = [name for name in given if name not in wanted]
    if stray:
        raise DataError(f'at= names {", ".join(map(repr, stray))}, which "{factor}" does not interact with')
    levels = design.factors[code].levels
    size = 32 * len(levels) * max(len(levels), len(design.xnames))  # of eight columns of a table of all pairs
    if size > MAX_DENSE_BYTES:
        raise NotImplementedError(
            f'all pairs of the {len(levels):,} levels of "{factor}" would take {1e-9 * size:.1f} GB: use t_test with a '
            "row for each pair that matters"
        )
    values = {code: np.arange(len(levels))} | _fixed(design, others, given, len(levels))
    widths = {c: f.width for c, f in design.factors.items()}
    rows, start = np.zeros((len(levels), len(design.xnames))), 0
    for subterm in design.subterms:
        stop = start + subterm.size(widths)
        if code in subterm.factors:
            cut = {c: values[c] for c in subterm.factors}
            rows[:, start:stop] = expand([subterm.piece(cut, widths)], len(levels))
        start = stop
    return levels, rows


def _code(design: Any, factor: str) -> str:
    """The one factor with levels that a name means."""
    if not isinstance(design, Design):
        raise DataError(f'"{factor}" has no levels: the model has no formula with factors. Use t_test with a matrix')
    named = [c for c, f in design.factors.items() if factor in (c, f.expression.bare, f.expression.categorised)]
    found = [c for c in named if design.factors[c].levels is not None]
    have = [c for c, f in design.factors.items() if f.levels is not None]
    words = f"the factors of the formula are {', '.join(have)}" if have else "the formula has no factors"
    if not found:
        what = "is a number, without levels" if named else "is no factor of the formula"
        raise DataError(f'"{factor}" {what}; {words}')
    used = set(design.factors[found[0]].expression.columns)
    again = [c for c, f in design.factors.items() if c != found[0] and used & set(f.expression.columns)]
    if again:
        raise DataError(f'"{factor}" enters the formula also as {", ".join(again)}: its levels differ in both')
    return found[0]


def _fixed(design: Design, codes: Any, given: dict[str, Any], n: int) -> dict[str, ndarray]:
    """Values of other factors, n times, where their variables have the values given."""
    if not codes:
        return {}
    for name, value in given.items():
        if not np.isscalar(value) or pd.isna(value):
            raise DataError(f"at={{{name!r}: {value!r}}}: one value, not missing")
    row = {name: [given.get(name, np.nan)] for name in design.columns}
    columns = design._read(table_of(pd.DataFrame(row)))
    found, keep = design._complete(columns, 1, list(codes))
    if not keep.all():
        raise DataError(f"at={given!r}: the terms that {', '.join(codes)} make have no value there")
    return {c: np.repeat(design.factors[c].values(found[c]), n, axis=0) for c in codes}
