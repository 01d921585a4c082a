"""The source that `data=` or `newdata=` is: a path, a dataset, a function or an engine's table; none in memory."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from glmclf.data.source.base import Source
from glmclf.data.source.calls import Calls
from glmclf.data.source.csv import Csv
from glmclf.data.source.parquet import Parquet
from glmclf.data.source.paths import SUFFIXES, paths_of, suffix_of
from glmclf.data.table.frame import close_to
from glmclf.errors import DataError


def as_source(data: Any, storage_options: Mapping[str, Any] | None = None) -> Source | None:
    """The source that `data=` is; None for a table in memory.

    `storage_options` are those of fsspec for the path of files elsewhere.

    Raises
    ------
    DataError
        A path to nothing, or to a kind of file that is not read.
    ImportError
        A package that reads it is not installed; the message names it.
    """
    module = type(data).__module__.partition(".")[0]
    _refuse_others(data)
    if storage_options is not None and not (isinstance(data, (str, os.PathLike)) and "://" in os.fspath(data)):
        found = repr(data) if isinstance(data, (str, os.PathLike)) else f"of type {type(data).__name__}"
        raise DataError(f'storage_options= is for a path elsewhere, as "s3://bucket/rows.parquet"; data= is {found}')
    if isinstance(data, (str, os.PathLike)):
        return _of_path(os.fspath(data), None if storage_options is None else dict(storage_options))
    if paths := paths_of(data):
        return _of_paths([os.fspath(path) for path in paths])
    if module == "pyarrow" and hasattr(data, "to_batches") and hasattr(data, "schema") and hasattr(data, "scanner"):
        return Parquet(data)
    if module in ("dask", "dask_expr") and hasattr(data, "to_delayed"):
        from glmclf.data.source.dask import Dask

        return Dask(data)
    if module == "polars" and type(data).__name__ == "LazyFrame":
        from glmclf.data.source.lazy import of_polars

        return of_polars(data)
    if module.strip("_") == "duckdb" and hasattr(data, "fetch_record_batch"):
        from glmclf.data.source.lazy import of_duckdb

        return of_duckdb(data)
    return Calls(data) if callable(data) else None


def by_part(method: Callable) -> Callable:
    """A method of new data that, of a source, gives an iterator over what it gives of each part."""

    @functools.wraps(method)
    def of_newdata(self: Any, newdata: Any = None) -> Any:
        source = as_source(newdata)
        if source is None:
            return method(self, newdata)
        from glmclf.data.formula.across import refuse_across  # which loads patsy

        refuse_across(self.model._design)
        return source.each(functools.partial(method, self))

    return of_newdata


def check_beside(source: Source, **given: Any) -> None:
    """Refuse values beside a source that are neither one of its columns, or code, nor one number for all rows."""
    for name, value in given.items():
        if value is None or (isinstance(value, (int, float, np.number)) and not isinstance(value, bool)):
            continue
        if not isinstance(value, str):
            raise DataError(f"{name}= of rows of {source.kind} is the name of a column; found {type(value).__name__}")
        if value not in source.names and value.strip().isidentifier():  # other text may be code, or is refused as such
            raise DataError(f'{name}="{value}": no such column of {source.kind}. {close_to(value, source.names)}')


def kind_of(path: str) -> str | None:
    """Kind of a path's files: "csv", "stata", or "parquet", as are folders and what is elsewhere; None of another kind
    of file."""
    kind = SUFFIXES.get(suffix_of(path))
    return "parquet" if os.path.isdir(path) or (kind is None and "://" in path) else kind


def _refuse_others(data: Any) -> None:
    """Refuse what is neither a table nor a source but near one."""
    if isinstance(data, type):
        raise DataError(
            f"data= is the class {data.__name__}: pass a table, a path, or a function without arguments that gives "
            "tables, one after another"
        )
    if isinstance(data, bytes):
        raise DataError("data= is of type bytes: a path is passed as text, as by os.fsdecode, or as a pathlib.Path")
    if isinstance(data, (list, tuple)) and any(hasattr(table, "columns") for table in data):
        raise DataError(f"data= is a {type(data).__name__} of tables: pass a function that gives it, lambda: tables")
    if isinstance(data, Iterator):
        raise DataError(
            f"data= of type {type(data).__name__} is read once, but a fit takes several passes: pass a function "
            "without arguments that gives its tables anew, such as a generator function"
        )


def _found(given: str) -> str:
    """A path that stays the same wherever the process goes, to something that is there.

    Raises
    ------
    DataError
        It is not.
    """
    if "://" in given:
        return given
    path = os.path.abspath(os.path.expanduser(given))
    if not os.path.exists(path):
        several = any(sign in given for sign in "*?[")
        what = "A folder is read whole; of some of its files pass a list of paths, as glob.glob() gives it."
        what = what if several else "A table is passed as a DataFrame."
        raise DataError(f'data="{given}": there is no such file or folder. {what}')
    return path


def _of_paths(given: list[str]) -> Source:
    kinds = {path: None if "://" in path else kind_of(path) for path in given}
    if set(kinds.values()) == {"csv"}:
        return Csv([_found(path) for path in given])
    others = [path for path, kind in kinds.items() if kind != "parquet"]
    if others:
        raise DataError(
            f'data= is a list of paths, among them "{others[0]}": in a list each is a Parquet file or folder of this '
            "machine, or each a CSV file. Others: a pyarrow.dataset.dataset([...]), or a function without arguments "
            "that yields DataFrames."
        )
    return Parquet([_found(path) for path in given])


def _of_path(given: str, options: dict[str, Any] | None) -> Source:
    path = _found(given)
    kind = kind_of(path)
    if kind == "csv":
        return Csv([path], options)
    if kind == "stata":
        from glmclf.data.source.stata import Stata

        return Stata(path, options)
    if kind is None:
        raise DataError(
            f'data="{given}": files are read from Parquet (.parquet, or a folder), CSV (.csv, .tsv with tabs) and '
            "Stata (.dta). Others: a function without arguments that yields DataFrames."
        )
    return Parquet(path, options)
