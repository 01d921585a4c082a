"""Answers of conditions on rows by three-valued logic: True, False and missing, as in SQL.

A comparison with a missing value has a missing answer, "missing or True" is True, "missing and False" is False. What
says itself what becomes of missing values is as the code has it (`x.isna()`, `x.fillna(0) > 1`), and so are ``x == x``
and ``x != x``, which ask whether there is a value. What holds the missing values, NaN, None or `pd.NA`, says nothing.
"""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.data.formula.expressions import dotted, missing_aware
from glmclf.data.formula.rowwise import with_reductions_named
from glmclf.errors import DataError

_AMONG = (ast.In, ast.NotIn)
_SAME = (ast.Eq, ast.NotEq)
COMPARED: dict[type, Callable[..., Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_MIRROR = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.Eq: ast.Eq, ast.NotEq: ast.NotEq}


class Answers:
    """Answers of a condition for the rows of a table.

    Parameters
    ----------
    frame : DataFrame
    named : callable
        The column that a name in the code stands for.
    value : callable
        Value of a piece of the condition, a tree: a value a row, or one of them all.
    refused : callable
        The error of a piece that is neither True nor False.
    caller : mapping
        Variables and functions of the caller's, by their names in the code.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        named: Callable[[str], str],
        value: Callable[[ast.expr], Any],
        refused: Callable[[ast.expr], Exception],
        caller: Mapping[str, Any],
    ):
        self.frame, self.named, self.value, self.refused, self.caller = frame, named, value, refused, caller
        self.functions = {name for name, value in caller.items() if callable(value)}

    def of(self, node: ast.expr) -> Any:
        """Answer of a condition, or of a piece of one, as a nullable array of bool.

        Parameters
        ----------
        node : ast.expr
            With ``and`` and ``or`` in place of ``&`` and ``|``.
        """
        if isinstance(node, ast.BoolOp):
            sign = operator.and_ if isinstance(node.op, ast.And) else operator.or_
            return functools.reduce(sign, map(self.of, node.values))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.Invert)):
            return ~self.of(node.operand)
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            pairs = (ast.Compare(a, [op], [b]) for a, op, b in zip(sides, node.ops, sides[1:], strict=False))
            return functools.reduce(operator.and_, map(self._compared, pairs))
        return self._truth(node, self._missing(node))

    def _compared(self, node: ast.Compare) -> Any:
        left, op, right = node.left, node.ops[0], node.comparators[0]
        if isinstance(op, _SAME) and self._same(left, right):
            missing = self._missing(left)
            return _nullable(missing if isinstance(op, ast.NotEq) else ~missing, np.zeros_like(missing))
        if (times := self._times(left)) is not None and (text := _text(right)) is not None:
            return _beside_text(times, op, text)
        if type(op) in _MIRROR and (times := self._times(right)) is not None and (text := _text(left)) is not None:
            return _beside_text(times, _MIRROR[type(op)](), text)
        if isinstance(op, _AMONG) or isinstance(right, (ast.List, ast.Tuple)):
            sought = self.value(right)
            said = pd.api.types.is_list_like(sought) and pd.isna(list(sought)).any()
            return self._truth(node, np.zeros(len(self.frame), dtype=bool) if said else self._missing(left))
        return self._truth(node, self._missing(left) | self._missing(right))

    def _same(self, left: ast.expr, right: ast.expr) -> bool:
        if isinstance(left, ast.Name) and isinstance(right, ast.Name):
            return self.named(left.id) == self.named(right.id)
        return ast.dump(left) == ast.dump(right)

    def _times(self, node: ast.expr) -> pd.Series | None:
        """Column of dates, times or durations that a piece is; None of another."""
        if not isinstance(node, ast.Name) or self.named(node.id) not in self.frame.columns:
            return None
        return as_times(self._column(node.id))

    def _truth(self, node: ast.expr, missing: ndarray) -> Any:
        found = self.value(node)
        values = np.asarray(found, dtype=object)
        if values.shape not in ((), missing.shape):
            raise self.refused(node)
        missing = missing | pd.isna(values)
        known = np.broadcast_to(values, missing.shape)[~missing]
        plain = isinstance(getattr(found, "dtype", None), np.dtype) and found.dtype.kind == "b"
        if not plain and not all(isinstance(v, (bool, np.bool_)) for v in known):
            raise self.refused(node)
        answer = np.zeros(len(missing), dtype=bool)
        answer[~missing] = known
        return _nullable(answer, missing)

    def _missing(self, node: ast.expr) -> ndarray:
        """Rows in which a piece has no value: it is missing, or is of a missing value of a column and does not say what
        becomes of it."""
        none = np.zeros(len(self.frame), dtype=bool)
        if isinstance(node, (ast.Constant, ast.List, ast.Tuple)):
            return none
        bare = isinstance(node, ast.Name) and self.named(node.id) in self.frame.columns
        found = self._column(node.id) if bare else self.value(node)  # type: ignore[attr-defined]
        missing = none | np.asarray(pd.isna(found)) if np.shape(found) in ((), none.shape) else none
        code = ast.unparse(node)
        called = {dotted(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)}
        if bare or missing_aware(code) or called & self.functions:
            return missing
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        columns = {name for name in names if self.named(name) in self.frame.columns}
        if called:
            written = ast.parse(with_reductions_named(code, sorted(columns), self.caller)[0], mode="eval")
            columns &= {n.id for n in ast.walk(written) if isinstance(n, ast.Name)}
        return functools.reduce(operator.or_, (self._column(name).isna().to_numpy() for name in columns), missing)

    def _column(self, name: str) -> pd.Series:
        return self.frame[self.named(name)]


def as_times(column: pd.Series) -> pd.Series | None:
    """A column of dates, times or durations as numpy's, which compares with text; None of anything else."""
    if isinstance(column.dtype, (np.dtype, pd.DatetimeTZDtype)) and column.dtype.kind in "mM":
        return column
    if pd.api.types.infer_dtype(column, skipna=True) in ("date", "datetime", "datetime64"):
        return pd.to_datetime(column)
    return None


def _text(node: ast.expr) -> str | list[str] | None:
    """Text, or the texts of a list, that a piece is; None of anything else."""
    if isinstance(node, (ast.List, ast.Tuple)):
        found = [one.value for one in node.elts if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        return found if len(found) == len(node.elts) else None
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _beside_text(times: pd.Series, op: ast.cmpop, text: str | list[str]) -> Any:
    """Comparison of times with text that stands for times, or of which of them they are."""
    try:
        sought = pd.Series([text] if isinstance(text, str) else text, dtype=object).astype(times.dtype)
    except (ValueError, TypeError):
        raise DataError(f"{text!r} is no date, time or duration to compare {times.name!r} with.") from None
    missing = times.isna().to_numpy()
    if isinstance(text, str) and type(op) in COMPARED:
        return _nullable(COMPARED[type(op)](times, sought[0]).to_numpy(dtype=bool), missing)
    among = times.isin(sought).to_numpy(dtype=bool)
    return _nullable(~among if isinstance(op, (ast.NotIn, ast.NotEq)) else among, missing)


def _nullable(values: ndarray, missing: ndarray) -> Any:
    return pd.arrays.BooleanArray(values, missing)


def typed(frame: pd.DataFrame, names: set[str]) -> pd.DataFrame:
    """The table with columns that have missing values in types in which nothing fails or differs by what holds these:
    numbers as floats, where these hold them, objects in a type of their own."""
    some = {name: frame[name] for name in names if name in frame.columns and frame[name].isna().any()}
    some = {name: column.convert_dtypes() if column.dtype == object else column for name, column in some.items()}
    return frame.assign(**{name: _as_floats(column) for name, column in some.items()}) if some else frame


def _as_floats(column: pd.Series) -> pd.Series:
    whole = pd.api.types.is_integer_dtype(column.dtype)
    if not whole and not pd.api.types.is_float_dtype(column.dtype):
        return column
    if whole and (column > 2**53).any() | (column < -(2**53)).any():
        return column
    return pd.Series(column.to_numpy(dtype=np.float64, na_value=np.nan), index=column.index, name=column.name)
