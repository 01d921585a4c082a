"""Values of the code of a formula for the columns of a table: of a factor, a query, the left side."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray
from pandas.errors import UndefinedVariableError

from glmclf.data.formula.factors import Box, Expression, Value, as_value
from glmclf.data.formula.terms import Variable
from glmclf.data.table.frame import Column, close_to
from glmclf.data.table.rows import RowMask
from glmclf.errors import DataError


def value_of(expression: Expression, columns: Mapping[str, Column], n: int, any_level: bool = False) -> Value:
    column = columns.get(expression.bare) if expression.bare is not None else None
    if column is not None and column.kind == "number" and column.missing is None:
        values = np.asarray(column.values)
        return Value((values if values.dtype == np.float32 else values.astype(np.float64, copy=False))[:, None])
    raw = expression.evaluate(columns)
    if any_level and isinstance(raw, Box):  # the levels= of C() would refuse others
        raw = Box(raw.data, raw.contrast, None)
    return as_value(raw, expression.code, n)


def raw_missing(bound: Iterable[Expression], table: Mapping[str, Column]) -> dict[str, ndarray]:
    """Columns with missing values that some factor cannot do without."""
    needed = {name: None for e in bound if not e.missing_aware for name in e.columns}
    return {name: mask for name in needed if (mask := table[name].missing) is not None}


def scattered(values: ndarray, keep: ndarray) -> ndarray:
    """Values of some rows in all rows: the others hold NaN, or code -1."""
    if keep.all():
        return values
    out = np.full((len(keep), *values.shape[1:]), np.nan if values.dtype.kind == "f" else -1, dtype=values.dtype)
    out[keep] = values
    return out


def label_columns(expressions: Iterable[Expression]) -> set[str]:
    """Columns that are used as factors only, where levels are checked one by one."""
    uses = [(name, name in (e.bare, e.categorised)) for e in expressions for name in e.columns]
    return {name for name, _ in uses} - {name for name, as_factor in uses if not as_factor}


def variable(column: Column, only_labels: bool) -> Variable:
    if column.kind == "category" and not only_labels:
        return Variable("category", column.values.categories.tolist(), bool(column.values.ordered))
    return Variable(column.kind)


def left_value(expression: Expression, value: Value, frame: pd.DataFrame, rows: RowMask) -> Any:
    """The left side in the table's own dtype where it is a column, else as evaluated."""
    column = expression.bare or (expression.categorised if value.levels in (None, [False, True]) else None)
    if column is not None:
        series = frame[column]
        return series if rows.selection is None else series[rows.keep]
    if value.levels == [False, True]:
        return np.asarray(value.data.codes).astype(bool)
    return value.data if value.labelled else value.data[:, 0] if value.data.shape[1] == 1 else value.data


def queried(query: str, frame: pd.DataFrame, caller: Mapping[str, Any], piece: str = "") -> Any:
    """Value of a query, or of a piece of it, for a table.

    Raises
    ------
    DataError
        It cannot be evaluated.
    """
    try:
        with np.errstate(all="ignore"):  # what is no number counts as missing
            return frame.eval(piece or query, local_dict=dict(caller), global_dict={}, engine="python")
    except Exception as error:
        if isinstance(error, UndefinedVariableError) and (name := re.match(r"name '(.+?)'", str(error))):
            raise DataError(f'subset="{query}": no column "{name[1]}". {close_to(name[1], frame.columns)}') from None
        raise DataError(f'subset="{query}" cannot be evaluated: {type(error).__name__}: {error}') from None
