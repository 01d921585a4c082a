"""Predictions for Dask DataFrames, lazy and partition by partition."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from glmclf.data.source.base import Place, of_part, with_columns
from glmclf.data.source.dask import KIND, Sent, frame_of, is_dask, keeps_partitions, place_of, projected
from glmclf.errors import DataError


def by_partition(predict: Callable) -> Callable:
    """Decorate `predict` of results so that it also takes Dask DataFrames.

    Parameters
    ----------
    predict : callable
        ``predict(self, newdata, ...)`` of tables, whose rows do not depend on one another.
    """
    signature = inspect.signature(predict)

    @functools.wraps(predict)
    def wrapper(self: Any, newdata: Any = None, *args: Any, **options: Any) -> Any:
        if not is_dask(newdata):
            return predict(self, newdata, *args, **options)
        try:
            given = signature.bind(self, newdata, *args, **options).arguments
        except TypeError:
            return predict(self, newdata, *args, **options)  # raises its own error, which names the method
        return _lazy(self, frame_of(newdata), {n: v for n, v in given.items() if n not in ("self", "newdata")})

    return wrapper


def at_once(results: Any, newdata: Any, **options: Any) -> Any:
    """Predict rows in memory, for results that need all rows at once; refuse a Dask DataFrame."""
    return type(results).predict.__wrapped__(results, newdata, **options)


def _lazy(results: Any, data: Any, options: dict[str, Any]) -> Any:
    import dask

    from glmclf.data.formula.across import refuse_across  # loads patsy

    refuse_across(results.model._design)
    _refuse_rows(options)
    needed = _columns(results.model, options.get("offset"))
    meta = data._meta
    needed = needed if set(needed) <= set(data.columns) else []
    if needed:
        meta, data = meta[needed], projected(data, needed)
    meta = _with_missing(results.predict(_without_categories(meta), **options))
    small = copy.copy(results)  # a first prediction has cached what it needs of the rows of the fit
    small._drop_rows()
    dtype = meta.dtype if isinstance(meta, pd.Series) else None
    sent: Any = Sent(small)
    if tuple(map(int, dask.__version__.split(".")[:2])) >= (2025, 5):  # older versions pass tasks the Delayed itself
        sent = dask.delayed(sent, traverse=False)
    found = data.map_partitions(_predicted, sent, needed, options, dtype, True, meta=meta)
    if not keeps_partitions(found):
        found = data.map_partitions(_predicted, sent, needed, options, dtype, False, meta=meta)
    return found


def _with_missing(found: Any) -> Any:
    """Convert integer and boolean predictions to dtypes that allow missing values in any partition."""
    if isinstance(found, pd.Series) and isinstance(found.dtype, np.dtype) and found.dtype.kind in "iub":
        return found.convert_dtypes()
    return found


def _refuse_rows(options: dict[str, Any]) -> None:
    offset, priors = options.get("offset"), options.get("priors")
    if offset is not None and np.ndim(offset):
        raise DataError(f"offset= for {KIND} is the name of one of its columns; found {type(offset).__name__}")
    if isinstance(priors, str) and priors == "estimate":
        raise NotImplementedError(
            f'priors="estimate" needs all rows at once, which {KIND} does not give: pass the priors, or a pandas frame'
        )


def _columns(model: Any, offset: Any) -> list[str]:
    """Columns of a table that a prediction needs; an empty list where they are not known."""
    names = list(getattr(model._design, "columns", {}))
    column = offset if isinstance(offset, str) else model._offset_column if offset is None else None
    computed = model._computed.get("offset") if column == model._offset_column else None
    beside = [column] if computed is None else computed.variables
    return list(dict.fromkeys([*names, *beside])) if names and column is not None else names


def _without_categories(table: pd.DataFrame) -> pd.DataFrame:
    """Empty table of the same dtypes, also where categories are unknown."""
    loose = {name: "object" for name, dtype in table.dtypes.items() if isinstance(dtype, pd.CategoricalDtype)}
    return table.astype(loose)


def _predicted(
    table: Any,
    sent: Sent,
    needed: list[str],
    options: dict[str, Any],
    dtype: Any,
    numbered: bool,
    partition_info: Any = None,
) -> Any:
    def f(table: Any, place: Place) -> Any:
        table = with_columns(table, needed, place, KIND)
        table = table[needed] if needed else table
        found = sent.value.predict(table, **options)
        return found if dtype is None or found.dtype == dtype else found.astype(dtype)

    place = place_of((partition_info or {"number": 0})["number"])
    return of_part(f, table, place if numbered else _joined_place(table), KIND)


def _joined_place(table: Any) -> Place:
    """Place of partitions that Dask joined: by its rows, as Dask numbers what it joined anew."""
    rows = f" (rows {table.index[0]!r} to {table.index[-1]!r})" if len(table) else ""
    return Place(0, f"one of the joined partitions{rows}")
