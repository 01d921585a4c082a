"""Tables and columns of Arrow as pandas': categories keep values and order, and a column that pandas cannot hold stops
only who uses it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.rows.asked import first_time
from glmclf.errors import DataError, DataWarning, warn


class Unreadable:
    """Value in each row of a column that pandas cannot hold: the type of the column, and why not."""

    def __init__(self, dtype: Any, why: Exception | None):
        self.dtype, self.why = str(dtype), " ".join(str(why).split()).rstrip(".")

    def __repr__(self) -> str:
        return f"<{self.dtype}>"

    def error(self, name: Any) -> DataError:
        """The error for who uses the column."""
        return DataError(f'column "{name}" is of type {self.dtype}: {self.why}. Cast it to numbers or text.')


def as_pandas(table: Any, **options: Any) -> pd.DataFrame:
    """A pyarrow Table as a pandas frame, by its method `to_pandas` with these options.

    Dictionary columns become categoricals, see `categorical`; polars' Categorical, whose order has no meaning, becomes
    text. Columns that pandas cannot hold are `Unreadable`.
    """
    indices = index_of_pandas(table.schema)
    if indices is None:
        table, indices = table.replace_schema_metadata(None), []
    apart: dict[str, Any] = {}
    for field in [f for f in table.schema if is_dictionary(f.type) and f.name not in indices]:
        if table.column_names.count(field.name) == 1:
            apart[field.name] = _dictionary(field, table.column(field.name))
    table = _emptied(table, apart)
    try:
        frame = table.to_pandas(**options)
    except Exception:
        failed = {f.name: attempt(table.column(f.name).to_pandas)[1] for f in table.schema}
        strange = {name: Unreadable(table.field(name).type, e) for name, e in failed.items() if e is not None}
        frame, apart = _emptied(table, strange).to_pandas(**options), apart | strange
    for name, values in apart.items():
        frame[name] = constant(values, len(frame)) if isinstance(values, Unreadable) else values
    return frame


def index_of_pandas(schema: Any) -> list[Any] | None:
    """What pandas wrote of the index of a frame: names of columns, and ranges by start, stop and step.

    None where it wrote nothing, or where what is there of the frame is damaged, which a warning says.
    """
    if b"pandas" not in (schema.metadata or {}):
        return None
    found, error = attempt(lambda: _index_of_pandas(schema))
    if error is not None and first_time("damaged description of pandas"):
        warn(
            f"the description of a pandas frame in the data of Arrow or Parquet is damaged ({type(error).__name__}: "
            f"{error}) and was not used: the columns are as Arrow has them, and rows are numbered. Write the data "
            "anew, or take the description off, as by table.replace_schema_metadata(None).",
            DataWarning,
        )
    return found


def _index_of_pandas(schema: Any) -> list[Any] | None:
    if schema.pandas_metadata is None:
        return None
    indices = schema.pandas_metadata.get("index_columns", [])
    for index in indices:
        if not isinstance(index, str):
            range(index["start"], index["stop"], index["step"])
    empty = schema.empty_table()
    if attempt(empty.to_pandas)[1] is not None:
        empty.select([i for i in range(len(schema)) if attempt(empty.column(i).to_pandas)[1] is None]).to_pandas()
    return list(indices)


def constant(value: Any, n: int) -> ndarray:
    """n times the same object."""
    values = np.empty(n, dtype=object)
    values[:] = value
    return values


def attempt(function: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """What a function returns, and what it raises."""
    try:
        return function(), None
    except Exception as error:
        return None, error


def _emptied(table: Any, names: Collection[str]) -> Any:
    """The table without the values of some columns."""
    import pyarrow

    for name in names:
        table = table.set_column(table.column_names.index(name), name, pyarrow.nulls(len(table)))
    return table


def _dictionary(field: Any, column: Any) -> Any:
    """Values of a dictionary column for pandas, or `Unreadable`."""
    if any(key.startswith(b"_PL_CATEGORICAL") for key in field.metadata or {}):
        return column.cast(field.type.value_type).to_pandas().array
    values, error = attempt(lambda: categorical(column))
    return values if error is None else Unreadable(field.type, error)


def is_dictionary(dtype: Any) -> bool:
    """Whether a type of Arrow's is that of a dictionary."""
    from pyarrow import types

    return types.is_dictionary(dtype)


def is_stiff(dtype: Any) -> bool:
    """Whether pandas takes neither rows nor distinct values of an `ArrowDtype` of this type."""
    return is_dictionary(dtype) or str(dtype) in ("string_view", "binary_view")


def categorical(column: Any) -> pd.Categorical:
    """A dictionary column as pandas' Categorical: the values of the dictionary, in its order, with its flag.

    Nulls in the dictionary are missing values, and equal values one category. Where chunks of the column have
    different dictionaries there is no one order: the categories are sorted, as text would be.

    Parameters
    ----------
    column : pyarrow.ChunkedArray

    Raises
    ------
    DataError
        Nested values; an ordered dictionary that is not the same in all chunks.
    """
    from pyarrow import types

    if types.is_nested(column.type.value_type) or types.is_dictionary(column.type.value_type):
        raise DataError("it holds nested values")
    chunks = [chunk for chunk in column.chunks if len(chunk)] or column.chunks
    if not chunks:
        return pd.Categorical([], ordered=column.type.ordered)
    same = all(chunk.dictionary.equals(chunks[0].dictionary) for chunk in chunks[1:])
    if column.type.ordered and not same:
        raise DataError("it is ordered, and parts of the table have other categories than others")
    places, levels = _distinct([chunk.dictionary for chunk in (chunks[:1] if same else chunks)])
    places = places * len(chunks) if same else places
    codes = np.concatenate([place[_indices(chunk)] for place, chunk in zip(places, chunks, strict=True)])
    found = pd.Categorical.from_codes(codes, categories=pd.Index(levels), ordered=column.type.ordered)
    return found if same else found.reorder_categories(sorted(found.categories))


def _distinct(dictionaries: list[Any]) -> tuple[list[ndarray], Any]:
    """Code of each entry of the dictionaries, with -1 at the end for rows without one, and the values by code."""
    known = [d.is_valid() for d in dictionaries]
    values = [d.filter(valid).to_pandas() for d, valid in zip(dictionaries, known, strict=True)]
    codes, levels = pd.factorize(pd.concat(values) if len(values) > 1 else values[0])
    places, start = [], 0
    for valid in known:
        mask = valid.to_numpy(zero_copy_only=False)
        own = np.full(len(mask) + 1, -1, dtype=np.intp)
        own[:-1][mask] = codes[start : start + mask.sum()]
        start += int(mask.sum())
        places.append(own)
    return places, levels


def _indices(chunk: Any) -> ndarray:
    """Places in the dictionary, -1 where missing."""
    found = chunk.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.intp)
    found[chunk.indices.is_null().to_numpy(zero_copy_only=False)] = -1
    return found
