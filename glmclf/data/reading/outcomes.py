"""Outcomes of rows of new data, read as those of the fit were and coded as its response is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.data.design.arrays import is_sparse
from glmclf.data.design.design import table_of
from glmclf.data.reading.arrays import read_endog
from glmclf.data.reading.read import read_formula
from glmclf.data.table.frame import assigned, matched, quoted
from glmclf.errors import DataError, FormulaError


class NewOutcomes(NamedTuple):
    """Outcomes of rows of new data.

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
        "freq_weights" or "weights", and "trials" of a proportion: a column, one value a row, or one number for all.

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
        found.extend(zip(codes if names is None or "trials" in weights else names, values, strict=True))

    try:
        sample: Any = read_formula(f"{left} ~ 1", table, extras=weights, response=keep_values, restricted=True)
    except FormulaError as error:
        raise FormulaError(f"the response of the new data: {error} Or give it as endog=, one value a row") from None
    counts = response.counts([name for name, _ in found], [v for _, v in found], sample.index)
    some = counts.sum(axis=1) > 0
    keep = sample.keep.copy()
    keep[keep] = some
    given = next((values for name, values in sample.extras.items() if name != "trials"), None)
    dropped = dict(sample.dropped)
    return NewOutcomes(counts[some], None if given is None else given[some], keep, sample.index[some], dropped)


def _full(value: Any, frame: pd.DataFrame) -> Any:
    """Array of one number a row from one number for all rows."""
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
    if response.kind == "counts" and endog is not None and len(names) == len(response.count_names):
        names = response.count_names
    return " + ".join(plain), assigned(frame, plain), names
