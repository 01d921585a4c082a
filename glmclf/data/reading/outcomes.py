"""Outcomes of rows that a model was not fitted to, coded as its response is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.data.design.arrays import is_sparse, read_endog
from glmclf.data.design.design import table_of
from glmclf.data.reading.read import read_formula
from glmclf.data.response.response import distinct
from glmclf.data.table.frame import matched, quoted, read_column, row_labels
from glmclf.errors import DataError, FormulaError, UnseenLevelError


class NewOutcomes(NamedTuple):
    """What happened in rows of new data.

    Attributes
    ----------
    counts : (n, K) ndarray
        Observations of each level, in their order.
    weights : (n,) ndarray or None
    keep : (n_given,) bool ndarray
        The rows that have an outcome and weight.
    index : Index
        Their labels.
    dropped : dict
        In how many of the other rows each variable is missing.
    """

    counts: ndarray
    weights: ndarray | None
    keep: ndarray
    index: pd.Index
    dropped: dict[str, int]


def read_outcomes(
    response: Any, left: str | None, newdata: Any, n: int, endog: Any, extras: Mapping[str, Any]
) -> NewOutcomes:
    """Outcomes of n rows of new data.

    Parameters
    ----------
    response : BinaryResponse or MultinomialResponse
        That of the model.
    left : str or None
        Left side of the model's formula; None for a model of arrays.
    newdata : DataFrame or array-like
        The rows; a table has the response where `endog` is None.
    n : int
        How many rows they are.
    endog : array-like, str or None
        The response of the rows, or the column of the table that holds it.
    extras : mapping
        "freq_weights" or "weights": a column, one value a row, or one number for all rows.

    Raises
    ------
    DataError
        No response, or values that the response cannot have.
    UnseenLevelError
        A label that the model was not fitted on.
    """
    array = isinstance(newdata, (ndarray, list, tuple)) or is_sparse(newdata)
    frame = pd.DataFrame(index=pd.RangeIndex(n)) if array else table_of(newdata)
    if len(frame) != n:
        frame = frame.set_axis(pd.RangeIndex(len(frame)))
    weights = {name: _full(value, frame) for name, value in extras.items() if value is not None}
    left, table, names = _left_side(response, left, frame, endog)
    found: list[Any] = []

    def keep_values(codes: list[str], values: list[Any]) -> None:
        found.extend(zip(names or codes, values, strict=True))

    try:
        sample = read_formula(f"{left} ~ 1", table, extras=weights, response=keep_values, restricted=True)
    except FormulaError as error:
        raise FormulaError(f"the response of the new data: {error} Or give it as endog=, one value a row") from None
    counts = _counts(response, [name for name, _ in found], [v for _, v in found], sample.index)
    some = counts.sum(axis=1) > 0
    keep = sample.keep.copy()
    keep[keep] = some
    given = next(iter(sample.extras.values()), None)
    dropped = dict(sample.dropped)
    return NewOutcomes(counts[some], None if given is None else given[some], keep, sample.index[some], dropped)


def _full(value: Any, frame: pd.DataFrame) -> Any:
    """One number for all rows as one a row."""
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return np.full(len(frame), float(value)) if number else value


def _left_side(response: Any, left: str | None, frame: pd.DataFrame, endog: Any) -> tuple[str, Any, list[str] | None]:
    """A left side, the table it is of, and what its terms are called where that is not how they are spelled."""
    if endog is None and left is not None:
        return left, frame, None
    if endog is None:
        names = [response.name] if response.kind != "counts" else response.name.split(" + ")
        absent = [name for name in names if name not in frame.columns]
        if absent:
            raise DataError(
                f"the new data have no response {quoted(absent)}: give it as endog=, one value a row of the new data"
            )
        columns = {name: frame[name] for name in names}
    elif isinstance(endog, str):
        columns = {endog: matched(endog, name="endog", frame=frame)}
    elif isinstance(endog, pd.Series):
        columns = {str(endog.name or response.name): matched(endog, name="endog", frame=frame)}
    else:
        columns = read_endog(endog)[0]
        if any(len(c) != len(frame) for c in columns.values()):
            lengths = ", ".join(str(len(c)) for c in columns.values())
            raise DataError(f"endog has {lengths} values for {len(frame)} rows of new data")
        columns = {name: pd.Series(c.array, index=frame.index) for name, c in columns.items()}
    plain = {f"glmclf_y{j}": c.set_axis(frame.index) for j, c in enumerate(columns.values())}
    names = [str(name) for name in columns]
    if response.kind == "counts" and endog is not None and len(names) == len(_count_names(response)):
        names = _count_names(response)
    return " + ".join(plain), frame.assign(**plain), names


def _count_names(response: Any) -> list[str]:
    """Terms that count the levels."""
    if hasattr(response, "reference"):
        return [str(level) for level in response.levels]
    return response.name.split(" + ")


def coded(response: Any, names: list[str], values: list[Any], index: pd.Index) -> tuple[ndarray, ndarray | None]:
    """Outcomes of more rows as `y` and `trials` of the response.

    Raises
    ------
    DataError, UnseenLevelError
        As of `read_outcomes`.
    """
    if response.kind == "counts":
        counts = _of_counts(response, names, values, index)
        trials = counts.sum(axis=1)
        return (counts[:, response._order], trials) if hasattr(response, "reference") else (counts[:, 1], trials)
    found = _of_rows(response, names, values, index)
    if hasattr(response, "reference"):
        found = np.argsort(response._order).astype(np.min_scalar_type(-len(response.levels)))[found]
    return found, None


def _counts(response: Any, names: list[str], values: list[Any], index: pd.Index) -> ndarray:
    """Observations of each level, (n, K)."""
    if response.kind == "counts":
        return _of_counts(response, names, values, index)
    found = _of_rows(response, names, values, index)
    return np.column_stack([1 - found, found]) if response.kind == "fraction" else np.eye(len(response.levels))[found]


def _of_rows(response: Any, names: list[str], values: list[Any], index: pd.Index) -> ndarray:
    """Fractions, or the place of each row's label among the levels in a byte where that will do, (n,)."""
    if len(values) > 1:
        raise DataError(f"the response {response.name!r} is one value a row; found {len(values)}: {quoted(names)}")
    column = read_column(pd.Series(values[0]).reset_index(drop=True), names[0])
    if response.kind == "fraction":
        y = _numbers(column, names[0])
        if not ((y >= 0) & (y <= 1)).all():
            raise DataError(f'"{names[0]}" is a fraction: numbers from 0 to 1; found {y.min():g} to {y.max():g}')
        return y
    if column.kind in ("number", "bool"):
        found, codes = distinct(np.asarray(column.values))
        labels = found.tolist()
    elif column.kind == "other":
        raise DataError(f'"{names[0]}" holds values that are no labels of the response')
    else:
        labels, codes = column.values.categories.tolist(), np.asarray(column.values.codes)
    narrow = np.min_scalar_type(-len(response.levels))
    used = np.array([_place(label, response.levels) for label in labels], dtype=narrow)[codes]
    if (used < 0).any():
        stray = [labels[c] for c in np.unique(codes[used < 0])]
        raise UnseenLevelError(
            f'"{names[0]}" holds {quoted(stray)} in {int((used < 0).sum())} rows '
            f"({row_labels(used < 0, index)}); the model knows {quoted(response.levels)}. Leave these rows out."
        )
    return used


def _place(label: Any, levels: list[Any]) -> int:
    """Place of a label among the levels, or -1."""
    for i, level in enumerate(levels):
        if isinstance(label, str) == isinstance(level, str) and label == level:
            return i
    return -1


def _numbers(column: Any, name: str) -> ndarray:
    if column.kind not in ("number", "bool"):
        raise DataError(f'"{name}" must be numbers, as in the fit; it holds labels')
    return np.asarray(column.values, dtype=float)


def _of_counts(response: Any, names: list[str], values: list[Any], index: pd.Index) -> ndarray:
    columns = [_numbers(read_column(pd.Series(v).reset_index(drop=True), n), n) for n, v in zip(names, values)]
    for name, c in zip(names, columns):
        wrong = (c < 0) | (c != np.floor(c)) | np.isinf(c)
        if wrong.any():
            raise DataError(f'counts in "{name}" must be whole numbers, 0 or more ({row_labels(wrong, index)})')
    if not hasattr(response, "reference"):
        if len(columns) != 2:
            raise DataError(f"counts of successes and failures are two columns; found {quoted(names)}")
        return np.column_stack([columns[1], columns[0]])
    known = {str(level): c for level, c in zip(names, columns)}
    stray = [name for name, c in known.items() if name not in map(str, response.levels) and c.any()]
    absent = [str(level) for level in response.levels if str(level) not in known]
    if stray or absent:
        raise UnseenLevelError(
            f"the model knows counts of {quoted(response.levels)}"
            + (f"; the new data also count {quoted(stray)}" if stray else f"; the new data lack {quoted(absent)}")
        )
    return np.column_stack([known[str(level)] for level in response.levels])
