"""The left side of rows that a response was not made of: fractions, places among its levels, or counts of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.data.response.places import distinct, narrowest
from glmclf.data.table.frame import quoted, read_column, row_labels
from glmclf.errors import DataError, UnseenLevelError


def fractions_or_places(response: Any, names: list[str], values: list[Any], index: pd.Index) -> ndarray:
    """Fractions, or the place of each row's label among the levels in a byte where that will do, (n,).

    Raises
    ------
    DataError
        Values that the response cannot have.
    UnseenLevelError
        A label that is none of its levels.
    """
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
    used = np.array([_place(label, response.levels) for label in labels], dtype=narrowest(len(response.levels)))[codes]
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


def counts_of_two(names: list[str], values: list[Any], index: pd.Index) -> ndarray:
    """Counts of failures and successes, (n, 2)."""
    columns = _counts(names, values, index)
    if len(columns) != 2:
        raise DataError(f"counts of successes and failures are two columns; found {quoted(names)}")
    return np.column_stack([columns[1], columns[0]])


def counts_of_levels(levels: list[Any], names: list[str], values: list[Any], index: pd.Index) -> ndarray:
    """Counts of each level, by the names of the columns, (n, K)."""
    known = {str(level): c for level, c in zip(names, _counts(names, values, index))}
    stray = [name for name, c in known.items() if name not in map(str, levels) and c.any()]
    absent = [str(level) for level in levels if str(level) not in known]
    if stray or absent:
        raise UnseenLevelError(
            f"the model knows counts of {quoted(levels)}"
            + (f"; the new data also count {quoted(stray)}" if stray else f"; the new data lack {quoted(absent)}")
        )
    return np.column_stack([known[str(level)] for level in levels])


def _counts(names: list[str], values: list[Any], index: pd.Index) -> list[ndarray]:
    columns = [_numbers(read_column(pd.Series(v).reset_index(drop=True), n), n) for n, v in zip(names, values)]
    for name, c in zip(names, columns):
        wrong = (c < 0) | (c != np.floor(c)) | np.isinf(c)
        if wrong.any():
            raise DataError(f'counts in "{name}" must be whole numbers, 0 or more ({row_labels(wrong, index)})')
    return columns
