"""Values of each factor on the rows that have them: incomplete rows are left out, and transforms memorise the rest."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.data.formula.borrowed import described, labelled_rows
from glmclf.data.formula.evaluate import value_of
from glmclf.data.formula.factors import Expression, Value, as_value, not_finite
from glmclf.data.formula.memory import MAX_REPEATED_ROWS, memorise
from glmclf.data.formula.undefined import COUNTS_AS_MISSING, LEFT_OUT, say_undefined
from glmclf.data.table.frame import Column, quoted
from glmclf.data.table.rows import RowMask, finish, leave_out_no_trials
from glmclf.errors import DataError

MAX_ROWS_TRIED = 200  # rows on which code is tried that may look across rows


@dataclass
class Reading:
    """A part of a source, or all of it, as the names of a formula are bound to it, before anything is evaluated.

    Attributes
    ----------
    given_index : Index
        Rows of the table before `subset`.
    cut : bool ndarray or None
        What `subset` left of them.
    frame : DataFrame
        The table after `subset`; without columns for arrays.
    rows : RowMask
        Which of its rows stay; those of weight zero or without a value that every row needs are out already.
    beside : dict of ndarrays
        Offset and weights.
    bound : dict of Expression
        Factors by code.
    table : dict of Column
        The columns that they use.
    """

    given_index: pd.Index
    cut: ndarray | None
    frame: pd.DataFrame
    rows: RowMask
    beside: dict[str, ndarray]
    bound: dict[str, Expression]
    table: dict[str, Column]

    def finish(self) -> dict[str, Any]:
        """The fields of a `ReadTable` that describe rows."""
        taken = {code: described(e) for code, e in self.bound.items() if e.borrowed}
        return {**finish(self.rows, self.beside, self.given_index, self.cut), "borrowed": taken}


@dataclass
class Settled:
    """The rows of a part that have all they need, and each factor's value on them.

    Attributes
    ----------
    reading : Reading
    values : dict
        By the code of the factor: a Value on the rows that stay; of features FactorRows, on those that have it.
    """

    reading: Reading
    values: dict[str, Any]


def settle(
    bound: dict[str, Expression],
    table: dict[str, Column],
    rows: RowMask,
    left: list[str],
    times: ndarray | None,
    stage: str = "whole",
    together: bool = True,
) -> dict[str, Value]:
    """Values of each factor on the rows where all have one, transforms memorised on exactly these rows.

    A row of which a factor has no value is left out, or with `together` false misses the factor alone.

    Of a part of a larger table, transforms are memorised elsewhere: at the stage "before" that, factors with one have
    no value, though their arguments must; "after" it, all have.
    """
    _refuse_labelled(bound, rows)
    if rows.part and not len(rows.keep):  # functions of the caller's may not do without rows
        return {}
    if len(left) > 1 and rows.keep.any():
        cut = {name: column.take(rows.selection) for name, column in table.items()}
        n = int(rows.keep.sum())
        leave_out_no_trials(rows, [_scattered(value_of(bound[c], cut, n), rows, c) for c in left])
    whole = _whole_values(bound, table, len(rows.keep), times)
    while True:
        n = int(rows.keep.sum())
        if not n and rows.part:
            return {}
        cut = {name: column.take(rows.selection) for name, column in table.items()}
        fix_reductions(bound, cut, None if times is None else times[rows.keep])
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
    if not rows.part:
        _note_across(bound, {code: values[code] for code in values if code not in left}, table, rows)
        for code in rows.masks.keys() & bound.keys():
            say_undefined(bound[code], table, rows.masks[code], rows.index, LEFT_OUT if together else COUNTS_AS_MISSING)
    for code, value in values.items():
        not_finite(value.data, code, rows.index[rows.keep] if rows.selection is not None else rows.index)
    return values


def fix_reductions(bound: Mapping[str, Expression], cut: dict[str, Column], times: ndarray | None) -> None:
    """Let factors remember what their code reduces columns to, each row as often as its frequency weight says."""
    for expression in bound.values():
        if not expression.reductions:
            continue
        some = {name: cut[name] for name in expression.columns}
        if times is not None:
            if times.sum() > MAX_REPEATED_ROWS:
                raise NotImplementedError(
                    f'"{expression.code}" with freq_weights that repeat rows to more than {MAX_REPEATED_ROWS:,}: use '
                    "center(), standardize() and the like, or compute the column beforehand."
                )
            where = np.repeat(np.arange(len(times)), times.astype(np.int64))
            some = {name: column.take(where) for name, column in some.items()}
        expression.fix(some)


def _refuse_labelled(bound: Mapping[str, Expression], rows: RowMask) -> None:
    """DataError where pandas would match the caller's rows by their labels with columns, which go by place."""
    n, labelled = len(rows.keep), [e for e in bound.values() if e.wants_series]
    if not labelled or rows.index is None or rows.index.equals(pd.RangeIndex(n)):
        return
    for e in labelled:
        if found := labelled_rows(e.plain, e.columns, e.borrowed, n):
            found = e.pieces.get(found, found)
            found = f"({found})" if " " in found else found
            raise DataError(
                f'"{found}" in "{e.code}" has labels of rows, by which pandas would match it with columns of a table '
                f"whose labels are not 0 to {n - 1}. Write the column alone, or {found}.to_numpy() for values in the "
                "order of the table."
            )


def _note_across(
    bound: Mapping[str, Expression], values: Mapping[str, Value], table: dict[str, Column], rows: RowMask
) -> None:
    """Take note of factors whose value in a row depends on other rows, so that they are not evaluated for new ones.

    The names of methods and functions tell, or a few rows that have other values alone than among all.
    """
    for code, value in values.items():
        e = bound[code]
        if e.unknown_in_new and (e.looks_across or _differs_alone(e, value, table, rows)):
            e.seen = e.digest(table) if e.across or rows.selection is None else ""


def _differs_alone(expression: Expression, value: Value, table: dict[str, Column], rows: RowMask) -> bool:
    """Whether a factor, or an argument of a transform in it, has other values in some rows where all others are left
    out."""
    there = np.flatnonzero(rows.keep)
    some = there[np.linspace(0, len(there) - 1, min(len(there), MAX_ROWS_TRIED)).astype(np.intp)]
    place = np.cumsum(rows.keep) - 1

    def alike(few: ndarray, whole: Value, evaluate: Callable[[dict[str, Column], int], Value]) -> bool:
        cut = {name: table[name].take(few) for name in expression.columns}
        try:
            return _alike(evaluate(cut, len(few)), whole.take(place[few]))
        except DataError:  # code that wants all rows, or more of them
            return True

    asked = [(value, lambda cut, n: value_of(expression, cut, n))]
    for code in expression.transform_arguments():
        argument = functools.partial(_argument_of, expression, code)
        with contextlib.suppress(DataError):
            asked.append((argument({n: table[n].take(there) for n in expression.columns}, len(there)), argument))
    halves = _halves(some, [table[name] for name in expression.columns])
    return not all(alike(few, whole, evaluate) for few in halves for whole, evaluate in asked)


def _argument_of(expression: Expression, code: str, cut: dict[str, Column], n: int) -> Value:
    return as_value(expression.run(code, cut), code, n)


def _halves(some: ndarray, columns: list[Column]) -> Iterator[ndarray]:
    """Every other row, and rows with the lower and with the higher values of each column: these have another mean, or
    another least, greatest, median or first value than all."""
    if len(some) > 1:
        yield from (some[::2], some[1::2])
    for column in columns:
        codes, _ = pd.factorize(column.take(some).marked(), sort=True)
        cut = min(int(np.median(codes)), int(codes.max()) - 1)
        if cut >= codes.min():
            yield from (some[codes <= cut], some[codes > cut])


def _alike(a: Value, b: Value) -> bool:
    """Whether two values are equal up to the rounding of a sum."""
    if a.labelled or b.labelled or a.data.shape != b.data.shape:
        return a.equals(b) or a.labelled != b.labelled or a.data.shape != b.data.shape
    return bool(np.allclose(a.data, b.data, rtol=1e-7, atol=1e-12, equal_nan=True))


def _whole_values(
    bound: dict[str, Expression], table: dict[str, Column], n: int, times: ndarray | None
) -> dict[str, Value]:
    """Values, on every row of the table, of code that may look across rows: a lag is not of the complete rows."""
    whole = {}
    for code, expression in bound.items():
        if expression.across:
            expression.prepare()
            whole[code] = value_of(expression, table, n)
    if times is None or not whole or not 0 < np.nansum(times) <= MAX_REPEATED_ROWS:
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


def _scattered(value: Value, rows: RowMask, code: str) -> ndarray:
    """A count of the left side in the table's rows; rows already gone hold NaN."""
    if value.labelled:
        raise DataError(
            f'"{code}" on the left side is summed as a count but holds labels ({quoted(value.data.categories, 3)}).'
        )
    out = np.full(len(rows.keep), np.nan)
    out[rows.keep] = value.data[:, 0]
    return out


def _lost(rows: RowMask, masks: dict[str, ndarray]) -> bool:
    """Drop rows in which a factor came out as NaN, and return whether there were any."""
    found = {code: mask for code, mask in masks.items() if mask.any()}
    full = {}
    for code, mask in found.items():
        full[code] = np.zeros(len(rows.keep), dtype=bool)
        full[code][rows.keep] = mask
    if full:
        rows.lose(full)
    return bool(full)


def _argument_missing(expression: Expression, cut: dict[str, Column], n: int, rows: RowMask) -> ndarray:
    """Rows in which an argument of a stateful transform is NaN: one of them would spoil what it remembers."""
    lost = np.zeros(n, dtype=bool)
    for code in expression.transform_arguments():
        raw = expression.run(code, cut)
        if np.ndim(raw) and len(raw) == n:
            value = as_value(raw, code, n)
            lost |= value.missing()
            not_finite(value.data, code, rows.index[rows.keep])
    return lost
