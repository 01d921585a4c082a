"""What the names of a formula are in a table, and each factor's values on the rows that have them.

`bind` finds columns, functions and the caller's variables; `settle` leaves out incomplete rows, lets transforms
memorise the rest and gives every factor's value there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.data.formula import expressions
from glmclf.data.formula.borrowed import described
from glmclf.data.formula.evaluate import queried, value_of
from glmclf.data.formula.factors import Expression, Value, as_value, not_finite, resolve
from glmclf.data.table.frame import Column, align, as_frame, quoted, read_column
from glmclf.data.table.sample import Rows, finish, leave_out_no_trials, read_extras, weigh
from glmclf.data.transforms.memory import MOST_REPEATED, memorise
from glmclf.errors import DataError


@dataclass
class Reading:
    """The names of a formula bound to a table, before anything of it is evaluated.

    Attributes
    ----------
    given_index : Index
        Rows of the table before `subset`.
    cut : bool ndarray or None
        What `subset` left of them.
    frame : DataFrame or None
        The table after `subset`; None for arrays.
    rows : Rows
        Which of its rows stay; those of weight zero are out already.
    beside : dict of ndarrays
        Offset and weights.
    lost : dict of bool ndarrays
        Rows in which one of these is missing.
    bound : dict of Expression
        Factors by code.
    table : dict of Column
        The columns that they use.
    """

    given_index: pd.Index
    cut: ndarray | None
    frame: pd.DataFrame | None
    rows: Rows
    beside: dict[str, ndarray]
    lost: dict[str, ndarray]
    bound: dict[str, Expression]
    table: dict[str, Column]

    def finish(self) -> dict[str, Any]:
        """The fields of a `Sample` that describe rows."""
        taken = {code: described(code, e.columns, e.borrowed) for code, e in self.bound.items() if e.borrowed}
        return {**finish(self.rows, self.beside, self.given_index, self.cut), "borrowed": taken}


def bind(
    codes: list[str],
    data: Any,
    *,
    namespace: Mapping[str, Any] | None,
    subset: Any,
    missing: str,
    extras: Mapping[str, Any] | None,
    safe: bool,
) -> Reading:
    """Find what the factors of a formula refer to; the arguments are those of `read_formula`."""
    given = as_frame(data)
    caller = {} if safe or namespace is None else namespace
    given = _with_arrays(given, codes, caller)
    cut = subset_mask(subset, given, caller, safe)
    frame = given if cut is None else given[cut]
    rows = Rows(frame.index, missing)
    beside = read_extras(extras, given, cut)
    lost = weigh(rows, beside, extras)
    bound = {code: bind_code(code, frame, caller, safe) for code in codes}
    table = {name: read_column(frame[name], name) for e in bound.values() for name in e.columns}
    return Reading(given.index, cut, frame, rows, beside, lost, bound, table)


def _with_arrays(frame: pd.DataFrame, codes: list[str], caller: Mapping[str, Any]) -> pd.DataFrame:
    """The table with those variables of the caller that hold a value a row; the caller's table stays as it is."""
    borrowed, columns = {}, set(frame.columns)
    for code in codes:
        found = expressions.names(code)
        for name in (found.used | found.rooted) - found.called - columns:
            series = _one_a_row(caller.get(name), name, frame, found, code)
            if series is not None:
                borrowed[name] = series
    return frame.assign(**borrowed) if borrowed else frame


def _one_a_row(value: Any, name: str, frame: pd.DataFrame, found: expressions.Names, code: str) -> pd.Series | None:
    """A variable of the caller beside the table, None where it is something else (a constant, say)."""
    if isinstance(value, pd.Series):
        if value.index.equals(frame.index):
            return value
        if name not in found.used:  # s.mean() may be of any other table
            return None
        return pd.Series(align(value, name=name, frame=frame), index=frame.index)
    arrays = (np.ndarray, pd.Categorical, pd.Index, *((list, tuple) if code == name else ()))
    if isinstance(value, arrays) and np.shape(value) == (len(frame),):
        return pd.Series(value, index=frame.index)
    return None


def subset_mask(
    subset: Any, frame: pd.DataFrame, caller: Mapping[str, Any], restricted: bool, part: bool = False
) -> ndarray | None:
    """Which rows `subset` leaves, None for all; of a part of a larger table it may be none."""
    if subset is None:
        return None
    if isinstance(subset, str):
        if restricted:
            raise NotImplementedError("a subset= query is not available for restricted formulas.")
        subset = _query(subset, frame, caller)
    elif np.ndim(subset) != 1:
        raise TypeError(f"subset= is a bool array, a bool Series or a query string, found {type(subset).__name__}.")
    mask = align(subset, name="subset", frame=frame)
    if mask.dtype.kind == "f" and np.isnan(mask).any():
        raise DataError(f"subset= has missing values in {int(np.isnan(mask).sum())} rows; say True or False for each.")
    if mask.dtype != bool:
        raise TypeError(
            f"subset= is a bool array, a bool Series or a query string, found values of dtype {mask.dtype}."
        )
    if not mask.any() and not part:
        raise DataError(f"subset= leaves none of the {len(frame)} rows.")
    return mask


def _query(query: str, frame: pd.DataFrame, caller: Mapping[str, Any]) -> Any:
    found = queried(query, frame, caller)
    if np.ndim(found) != 1 or len(found) != len(frame):
        raise DataError(f'subset="{query}" gives no True or False for each row.')
    return np.asarray(found) if not isinstance(found, pd.Series) else found.array


def bind_code(code: str, frame: pd.DataFrame, caller: Mapping[str, Any], restricted: bool) -> Expression:
    """One factor, its names found."""
    if restricted:
        resolve(code, frame.columns, caller, safe=True)  # an unknown name first: its message is the more helpful one
        expressions.check(code, list(frame.columns))
    return resolve(code, frame.columns, caller, safe=restricted)


def settle(
    bound: dict[str, Expression],
    table: dict[str, Column],
    rows: Rows,
    left: list[str],
    notes: list[str],
    times: ndarray | None,
    stage: str = "whole",
) -> dict[str, Value]:
    """Each factor's values on the rows where all have one, transforms memorised on exactly these rows.

    Of a part of a larger table, transforms are memorised elsewhere: at the stage "before" that, factors with one have
    no value, though their arguments must; "after" it, all have.
    """
    if rows.part and not len(rows.keep):  # functions of the caller's may not do without rows
        return {}
    if len(left) > 1 and rows.keep.any():
        cut = {name: column.take(rows.selection) for name, column in table.items()}
        leave_out_no_trials(
            rows, [_scattered(value_of(bound[c], cut, int(rows.keep.sum())), rows, c) for c in left], notes
        )
    whole = _whole_values(bound, table, len(rows.keep), times)
    while True:
        n = int(rows.keep.sum())
        if not n and rows.part:
            return {}
        cut = {name: column.take(rows.selection) for name, column in table.items()}
        if not _lost(rows, {c: _argument_missing(e, cut, n, rows) for c, e in bound.items()}):
            values = {}
            for code, expression in bound.items():
                if code in whole:
                    values[code] = whole[code].take(rows.keep)
                    continue
                if stage == "before" and expression.remembers:
                    continue
                if stage == "whole":
                    memorise(expression, cut, None if times is None else times[rows.keep])
                values[code] = value_of(expression, cut, n)
            # a column on rows that have it is never missing; what is computed from it may be
            computed = {code: value for code, value in values.items() if bound[code].bare not in cut}
            if not _lost(rows, {code: value.missing() for code, value in computed.items()}):
                break
    for code, value in values.items():
        not_finite(value.data, code, rows.index[rows.keep] if rows.selection is not None else rows.index)
    return values


def _whole_values(
    bound: dict[str, Expression], table: dict[str, Column], n: int, times: ndarray | None
) -> dict[str, Value]:
    """Values, on every row of the table, of code that may look across rows: a lag is not of the complete rows."""
    whole = {}
    for code, expression in bound.items():
        if expression.across:
            expression.prepare()
            whole[code] = value_of(expression, table, n)
    if times is None or not whole or not 0 < np.nansum(times) <= MOST_REPEATED:
        return whole
    where = np.repeat(np.arange(n), np.nan_to_num(times).astype(np.int64))
    repeated = {name: column.take(where) for name, column in table.items()}
    for code, value in whole.items():
        if not value.take(where).equals(value_of(bound[code], repeated, len(where))):
            raise NotImplementedError(
                f'"{code}" with freq_weights: its value in a row depends on other rows, which the weights repeat. '
                "Compute the column beforehand, on the rows that it should see."
            )
    return whole


def _scattered(value: Value, rows: Rows, code: str) -> ndarray:
    """A count of the left side in the table's rows; rows already gone hold NaN."""
    if value.labelled:
        raise DataError(
            f'"{code}" on the left side is summed as a count but holds labels ({quoted(value.data.categories, 3)}).'
        )
    out = np.full(len(rows.keep), np.nan)
    out[rows.keep] = value.data[:, 0]
    return out


def _lost(rows: Rows, masks: dict[str, ndarray]) -> bool:
    """Drop rows in which a factor came out as NaN; whether there were any."""
    found = {code: mask for code, mask in masks.items() if mask.any()}
    full = {}
    for code, mask in found.items():
        full[code] = np.zeros(len(rows.keep), dtype=bool)
        full[code][rows.keep] = mask
    if full:
        rows.lose(full)
    return bool(full)


def _argument_missing(expression: Expression, cut: dict[str, Column], n: int, rows: Rows) -> ndarray:
    """Rows in which an argument of a stateful transform is NaN: one of them would spoil what it remembers."""
    lost = np.zeros(n, dtype=bool)
    for code in expression.transform_arguments():
        raw = expression.run(code, cut)
        if np.ndim(raw) and len(raw) == n:
            value = as_value(raw, code, n)
            lost |= value.missing()
            not_finite(value.data, code, rows.index[rows.keep])
    return lost
