"""Names of a formula bound to a source: columns, functions and the caller's variables.

Of data in parts it is refused what only a table in memory can give: masks, values beside it, code across rows.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.data.design.computed import ComputedColumn
from glmclf.data.formula import expressions
from glmclf.data.formula.across import Query, factor_across, query_across
from glmclf.data.formula.answers import Answers, as_times, typed
from glmclf.data.formula.conditions import chosen
from glmclf.data.formula.evaluate import queried
from glmclf.data.formula.expressions import parse
from glmclf.data.formula.factors import Expression, resolve
from glmclf.data.formula.operators import by_words, largest, refuse_bits, signed
from glmclf.data.formula.parse import one_factor
from glmclf.data.formula.rowwise import check_closed, function_in
from glmclf.data.source.base import Source
from glmclf.data.source.one_table import OneTable
from glmclf.data.table.frame import align, close_to, quoted
from glmclf.errors import DataError, FormulaError


def bind(
    source: Source,
    left: list[str],
    right: list[str],
    *,
    namespace: Mapping[str, Any] | None,
    subset: Any,
    extras: Mapping[str, Any] | None,
    restricted: bool,
) -> dict[str, Any]:
    """Fields of a `Reader` from the first table of a source: the codes of a formula with their names bound.

    Parameters
    ----------
    source : Source
        A table in memory takes variables of the caller's with a value a row for columns.
    left, right : list of str
        Codes of the factors.
    namespace, subset, extras, restricted
        As of `read_formula`.
    """
    caller = namespace or {}
    if restricted:
        caller = {name: value for name, value in caller.items() if callable(value)}
    codes, part = list(dict.fromkeys([*left, *right])), not isinstance(source, OneTable)
    given = {name: value for name, value in (extras or {}).items() if value is not None}
    found = {name: _code_of(value, name, source.first().columns) for name, value in given.items()}
    made = {name: code for name, code in found.items() if code is not None}
    if isinstance(source, OneTable) and not restricted:
        source.add_columns(_columns_of_caller(source.frame, [*codes, *made.values()], caller))
    first = source.first()
    bound = {code: bind_code(code, first, caller, restricted) for code in codes}
    given |= {name: _computed(code, given[name], name, first, caller, restricted, part) for name, code in made.items()}
    fields = {"left": list(left), "bound": bound, "subset": subset}
    if not part:
        return {**fields, "caller": caller, "extras": given, "restricted": restricted, "part": False}
    if subset is not None and not isinstance(subset, str):
        raise DataError(f'subset= of data in a stream is a query, such as "age > 20"; found {type(subset).__name__}')
    columns, caller = _names_of(given, first), caller if subset else {}
    if subset is not None and not restricted:
        query = Query(subset, caller)
        _refuse_labels(query, source, first)
        if query.unknown:
            raise query_across(query)
        caller = {name: caller[name] for name in map(query.named, query.caller) if name in caller}
    for e in bound.values():
        if e.unknown:
            raise factor_across(e)
    return {**fields, "caller": caller, "extras": columns, "restricted": restricted}


def _columns_of_caller(frame: pd.DataFrame, codes: list[str], caller: Mapping[str, Any]) -> dict[str, pd.Series]:
    """Variables of the caller that hold a value a row of the table, by name."""
    borrowed, columns = {}, set(frame.columns)
    for code in codes:
        found = expressions.names(code)
        for name in (found.used | found.rooted) - found.called - columns:
            series = _one_a_row(caller.get(name), name, frame, found, code)
            if series is not None:
                borrowed[name] = series
    return borrowed


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
    """Mask of the rows that `subset` leaves, None for all; in a part of a larger table it may leave none."""
    if subset is None:
        return None
    if isinstance(subset, str):
        subset = chosen(subset, frame).array if restricted else _query(subset, frame, caller)
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
    read = Query(query, caller)
    refuse_bits(query, read.code, lambda name: _may_be_truth(read.named(name), frame, caller))
    frame = typed(_with_room(frame, read), read.names)
    none = DataError(f'subset="{query}" gives no True or False for each row: write a comparison, as in x == 1.')
    if _knows_all(read, frame):
        found = queried(query, frame, caller)
        if np.ndim(found) != 1 or len(found) != len(frame):
            raise none
        return np.asarray(found) if not isinstance(found, pd.Series) else found.array

    def value(node: ast.expr) -> Any:
        return queried(query, frame, caller, read.written(node))

    tree = ast.parse(by_words(read.code), mode="eval").body
    return Answers(frame, read.named, value, lambda node: none, read.caller).of(tree).fillna(False).to_numpy(dtype=bool)


def _knows_all(read: Query, frame: pd.DataFrame) -> bool:
    """Whether by syntax and columns no piece of a query is of times or can be missing, or pandas refuses it."""
    if not read.names or not frame.columns.is_unique:
        return True
    pieces = (ast.BinOp, ast.Call, ast.Attribute, ast.Subscript)
    if read.caller or any(isinstance(node, pieces) for node in ast.walk(parse(read.code))):
        return False
    used = [frame[name] for name in read.names if name in frame.columns]
    return not any(column.isna().any() or as_times(column) is not None for column in used)


def _with_room(frame: pd.DataFrame, read: Query) -> pd.DataFrame:
    """The table with whole numbers that a query computes with in 64 bits, as floats where these might wrap around."""
    tree = parse(read.code) if read.names and frame.columns.is_unique else ast.Constant(None)
    if not any(isinstance(node, (ast.BinOp, ast.USub)) for node in ast.walk(tree)):
        return frame
    columns = {name: signed(frame[name]) for name in read.names if name in frame.columns}
    whole = {name: column for name, column in columns.items() if column.dtype == np.int64}
    sizes = {name: float(np.abs(column.to_numpy(dtype=float)).max(initial=0.0)) for name, column in whole.items()}
    if any(largest(node, lambda name: sizes.get(read.named(name))) >= 2.0**62 for node in ast.walk(tree)):
        whole = {name: column.astype(np.float64) if sizes[name] <= 2**53 else column for name, column in whole.items()}
    return frame.assign(**whole)


def _may_be_truth(name: str, frame: pd.DataFrame, caller: Mapping[str, Any]) -> bool:
    """Whether a name of a query may hold True and False: it is no column of numbers, and no number of the caller's."""
    if name in frame.columns:
        dtype = frame[name].dtype
        return pd.api.types.is_bool_dtype(dtype) or not pd.api.types.is_numeric_dtype(dtype)
    value = caller.get(name)
    return isinstance(value, bool) or not isinstance(value, (int, float, np.number))


def bind_code(code: str, frame: pd.DataFrame, caller: Mapping[str, Any], restricted: bool) -> Expression:
    """Bind the names of one factor's code."""
    bound = resolve(code, frame.columns, caller, safe=restricted)  # an unknown name has the more helpful message
    if restricted:
        try:
            check_closed(code, list(frame.columns), caller, {})
        except FormulaError as error:
            raise FormulaError(error.reason or str(error)) from None
    return bound


def _refuse_labels(query: Query, source: Source, first: pd.DataFrame) -> None:
    """NotImplementedError for a query about the index where parts have none that is the table's."""
    own = {"index", "columns", *(f"ilevel_{i}" for i in range(first.index.nlevels)), *first.index.names}
    asked = sorted(map(str, query.names & own - set(first.columns)))
    if not asked and query.labels:
        asked = ["index"]
    if asked and not source.labelled:
        raise NotImplementedError(
            f'subset="{query.text}" asks for {quoted(asked)}, the labels of rows, which {source.kind} does not keep '
            f"from part to part: make them a column. {close_to(asked[0], first.columns)}"
        )


def computed_beside(given: Mapping[str, Any], frame: pd.DataFrame) -> dict[str, Any]:
    """Variables beside a table of new rows, with what code computes in its place; it is read by the closed list."""
    made = {name: _code_of(value, name, frame.columns) for name, value in given.items()}
    some = {name: _computed(code, given[name], name, frame, {}, True, True) for name, code in made.items() if code}
    return {**given, **some}


def _code_of(value: Any, keyword: str, columns: Any) -> str | None:
    """Code that text is; None of a column's name, and of a word that might be a misspelt one."""
    if not isinstance(value, str) or value in columns or value.strip().isidentifier():
        return None
    try:
        return one_factor(value)
    except FormulaError as error:
        raise DataError(
            f'{keyword}="{value}": no such column. {close_to(value, columns)} Nor is it code of columns: {error}'
        ) from None


def _computed(
    code: str, text: str, keyword: str, first: pd.DataFrame, caller: Mapping[str, Any], restricted: bool, part: bool
) -> ComputedColumn:
    """What code computes of each row alone, so that it is the same of new rows and of parts."""
    try:
        e = bind_code(code, first, caller, restricted)
    except FormulaError as error:
        raise type(error)(f'{keyword}="{text}": no such column, and as code: {error}') from None
    unknown = e.unknown or (code if e.remembers or e.reductions else "")
    if unknown:
        function = function_in(unknown, e.borrowed)
        declared = f", or declare that it does not: {function} = glmclf.rowwise({function})" if function else ""
        raise NotImplementedError(
            f'{keyword}="{text}": the value of "{e.pieces.get(unknown, unknown)}" in a row depends on other rows, or '
            f"it is not known that it does not. Compute the column beforehand{declared}."
        )
    return ComputedColumn(text, keyword, e, part)


def _names_of(given: Mapping[str, Any], first: pd.DataFrame) -> dict[str, Any]:
    """Columns that hold the offset and weights, or code that computes them."""
    if "weights" in given and "freq_weights" in given:
        raise DataError("weights= and freq_weights= were both given: use one (freq_weights counts equal rows).")
    for name, value in given.items():
        if isinstance(value, ComputedColumn):
            continue
        if not isinstance(value, str):
            raise DataError(f"{name}= of data in a stream is the name of a column; found {type(value).__name__}")
        if value not in first.columns:
            raise DataError(f'{name}="{value}": no such column. {close_to(value, first.columns)}')
    return dict(given)
