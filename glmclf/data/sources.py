"""Sources: tables that come in parts, again and again, from files, functions or an engine.

A `Source` knows its columns and adds up ``f(table, place)`` over its parts, in their order; everything else that is
done with data larger than memory is such a sum. Parts are pandas frames.
"""

from __future__ import annotations

import functools
import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from glmclf.core.streamed import RowsElsewhereError
from glmclf.data.frame import as_frame, close_to, quoted
from glmclf.errors import DataError

ROWS = 2**17  # of a part that is cut out of a file
AHEAD = 2  # parts that are read while another is worked on
SUFFIXES = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv"}


class Place(NamedTuple):
    """Where a part is in its source: its number from 0, and how a message calls it."""

    number: int
    name: str

    def __str__(self) -> str:
        return self.name


def joined(a: Any, b: Any) -> Any:
    """a + b, where None is nothing."""
    return b if a is None else a if b is None else a + b


def of_part(f: Callable, part: Any, place: Place, kind: str) -> Any:
    """``f(part, place)``, its errors with the place and the kind of source, unless all rows are asked for."""
    try:
        return f(part, place)
    except RowsElsewhereError:
        raise
    except (DataError, NotImplementedError) as error:
        if place.name in str(error):
            raise
        raise type(error)(f"{place} of {kind}: {error}") from error


def of_rows(f: Callable, arrays: tuple, place: Place) -> Any:
    """``f(*arrays, number)``; nothing where there are no rows."""
    return f(*arrays, place.number) if arrays else None


def with_columns(table: Any, columns: list[Any], place: Place, kind: str) -> pd.DataFrame:
    """A part as a pandas frame that has these columns."""
    frame = as_frame(table, empty=True)
    absent = [name for name in columns if name not in frame.columns]
    if absent:
        raise DataError(
            f"{place} of {kind} has no column {quoted(absent)}, which the first one has. "
            f"{close_to(str(absent[0]), frame.columns)}"
        )
    return frame


class Source:
    """Tables that come one after another, the same each time.

    Subclasses give `_tables`, or `sum` where the parts are elsewhere.

    Attributes
    ----------
    kind : str
        What it is, for messages and the summary.
    names : list of str
        Columns of every part.
    watch : callable or None
        Called with the number of each part that is done.
    """

    kind: str
    names: list[Any]
    _again = ""  # what a message says of a source that may be used up
    watch: Callable[[int], None] | None = None

    def tables(self, columns: list[str] | None = None) -> Iterator[tuple[pd.DataFrame, Place]]:
        """The parts in their order with the place of each, ``part 3``, with these columns only."""
        nothing = True
        for table, place in self._tables(columns):
            nothing = False
            yield with_columns(table, self.names if columns is None else columns, place, self.kind), place
        if nothing:
            raise DataError(f"{self.kind} holds no table{self._again}")

    def _tables(self, columns: list[str] | None) -> Iterator[tuple[pd.DataFrame, Place]]:
        raise NotImplementedError

    def first(self, columns: list[str] | None = None) -> pd.DataFrame:
        """The first table that has rows; where none has, the last."""
        for table, _ in self.tables(columns):
            if len(table):
                break
        return table

    def sum(self, f: Callable[[pd.DataFrame, Place], Any], columns: list[str] | None = None) -> Any:
        """Sum of ``f(table, place)`` over the parts, added in their order; the next ones are read meanwhile."""
        return self._added(lambda table, place: table, f, columns)

    def each(self, f: Callable[[pd.DataFrame], Any]) -> Iterator[Any]:
        """``f(table)`` of one part after another."""
        for table, place in self.tables():
            yield of_part(lambda table, _: f(table), table, place, self.kind)

    def sum_of_rows(self, reader: Callable, f: Callable, columns: list[str] | None = None) -> Any:
        """Sum of ``f(*reader(table, place), place.number)`` over the parts of which the reader finds rows; those of the
        next ones are made meanwhile."""
        return self._added(reader, lambda arrays, place: of_rows(f, arrays, place), columns)

    def _added(self, before: Callable, f: Callable, columns: list[str] | None) -> Any:
        made = ((of_part(before, table, place, self.kind), place) for table, place in self.tables(columns))
        total = None
        with _Ahead(made) as parts:
            for part, place in parts:
                total = joined(total, of_part(f, part, place, self.kind))
                if self.watch is not None:
                    self.watch(place.number)
        return total


class Parquet(Source):
    """A Parquet file, a folder of them, or a pyarrow dataset; row groups cut into parts of up to `ROWS` rows.

    Parameters
    ----------
    data : path or pyarrow.dataset.Dataset
    """

    def __init__(self, data: Any):
        dataset = _needed("pyarrow.dataset", "parquet")
        path = isinstance(data, (str, os.PathLike))
        self.kind = f'Parquet "{_short(data)}"' if path else f"the {type(data).__name__}"
        try:
            self._dataset = dataset.dataset(os.fspath(data), format="parquet", partitioning="hive") if path else data
        except (OSError, ValueError) as error:
            raise DataError(f"{self.kind} cannot be read: {error}") from None
        self.names = list(self._dataset.schema.names)
        self._indices = _pandas_indices(self._dataset.schema)

    def _tables(self, columns: list[str] | None) -> Iterator[tuple[pd.DataFrame, Place]]:
        pyarrow = _needed("pyarrow", "parquet")
        wanted = self.names if columns is None else columns
        batches = self._dataset.to_batches(columns=wanted, batch_size=ROWS, batch_readahead=2, fragment_readahead=1)
        for number, some in enumerate(_together(self._decoded(batches))):
            table = pyarrow.Table.from_batches(some).to_pandas(ignore_metadata=bool(self._indices))
            yield table, Place(number, f"part {number + 1}")

    def _decoded(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The batches; what cannot be read is named."""
        try:
            yield from batches
        except (OSError, ValueError) as error:  # pyarrow's own errors are among these
            raise DataError(
                f"{self.kind} cannot be read ({error}): it may be damaged, or have changed since it was opened"
            ) from None


def _pandas_indices(schema: Any) -> list[str]:
    """Columns that were the index of a pandas frame, which stay columns here."""
    described = schema.pandas_metadata or {}
    return [name for name in described.get("index_columns", []) if isinstance(name, str)]


def _together(batches: Iterable[Any]) -> Iterator[list[Any]]:
    """Batches of rows joined to parts of about `ROWS` rows; one without rows comes alone only if there is no other."""
    some: list[Any] = []
    rows = 0
    for batch in batches:
        if some and rows + batch.num_rows > ROWS:
            yield some
            some, rows = [], 0
        if batch.num_rows or not some:
            some = [b for b in some if b.num_rows] + [batch]
        rows += batch.num_rows
    if some:
        yield some


class Csv(Source):
    """A CSV file, read in parts of `ROWS` rows.

    Parameters
    ----------
    path : path
    """

    def __init__(self, path: Any):
        self.path, self.kind = os.fspath(path), f'CSV "{_short(path)}"'
        try:
            self.names = list(pd.read_csv(self.path, nrows=0).columns)
        except (OSError, ValueError) as error:
            raise DataError(f"{self.kind} cannot be read: {error}") from None

    def _tables(self, columns: list[str] | None) -> Iterator[tuple[pd.DataFrame, Place]]:
        wanted = None if columns is None else columns
        with pd.read_csv(self.path, usecols=wanted, chunksize=ROWS, low_memory=False) as parts:
            for number, table in enumerate(parts):
                yield table, Place(number, f"part {number + 1} (rows from {number * ROWS})")


class Calls(Source):
    """A function without arguments that gives the tables anew each time it is called.

    Parameters
    ----------
    function : callable
    """

    _again = ": the function must give its tables anew each time it is called"

    def __init__(self, function: Callable[[], Iterable[Any]]):
        self._function, self.kind = function, f"{getattr(function, '__name__', type(function).__name__)}()"
        self.names = []
        self.names = list(next(self.tables())[0].columns)

    def _tables(self, columns: list[str] | None) -> Iterator[tuple[pd.DataFrame, Place]]:
        found = self._function()
        if isinstance(found, (pd.DataFrame, str)) or not isinstance(found, Iterable):
            raise DataError(
                f"data={self.kind} gives {type(found).__name__}: it must give tables, one after another, each time it "
                "is called (a generator function, say)"
            )
        for number, table in enumerate(self._noted(found)):
            place = Place(number, f"part {number + 1}")
            frame = with_columns(table, self.names if columns is None else columns, place, self.kind)
            yield frame if columns is None else frame[columns], place

    def _noted(self, tables: Iterable[Any]) -> Iterator[Any]:
        """The tables; an error of the function's own says which was wanted."""
        number = 1
        try:
            for number, table in enumerate(tables, 2):
                yield table
        except Exception as error:
            error.add_note(f"while {self.kind}, given as data=, made part {number}")
            raise


def as_source(data: Any) -> Source | None:
    """The source that `data=` is; None for a table in memory.

    Raises
    ------
    DataError
        A path to nothing, or to a kind of file that is not read.
    ImportError
        A package that reads it is not installed; the message names it.
    """
    module = type(data).__module__.partition(".")[0]
    if isinstance(data, (str, os.PathLike)):
        return _of_path(os.fspath(data))
    if module == "pyarrow" and hasattr(data, "to_batches") and hasattr(data, "schema") and hasattr(data, "scanner"):
        return Parquet(data)
    if module in ("dask", "dask_expr") and hasattr(data, "to_delayed"):
        from glmclf.data.dask import Dask

        return Dask(data)
    return Calls(data) if callable(data) and not isinstance(data, type) else None


def by_part(method: Callable) -> Callable:
    """A method of new data that, of a source, gives an iterator over what it gives of each part."""

    @functools.wraps(method)
    def of_newdata(self: Any, newdata: Any = None) -> Any:
        source = as_source(newdata)
        return method(self, newdata) if source is None else source.each(functools.partial(method, self))

    return of_newdata


def check_beside(source: Source, **given: Any) -> None:
    """Refuse values beside a source that are neither one of its columns nor one number for all rows."""
    for name, value in given.items():
        if value is None or (isinstance(value, (int, float, np.number)) and not isinstance(value, bool)):
            continue
        if not isinstance(value, str):
            raise DataError(f"{name}= of rows of {source.kind} is the name of a column; found {type(value).__name__}")
        if value not in source.names:
            raise DataError(f'{name}="{value}": no such column of {source.kind}. {close_to(value, source.names)}')


def _of_path(path: str) -> Source:
    suffixes = [s.lower() for s in Path(path).suffixes]
    if suffixes and SUFFIXES.get(suffixes[0] if len(suffixes) == 2 else suffixes[-1]) == "csv":
        return Csv(path)
    remote = "://" in path
    if not remote and not os.path.exists(path):
        raise DataError(f'data="{path}": there is no such file or folder. A table is passed as a DataFrame.')
    if not remote and not os.path.isdir(path) and not (suffixes and SUFFIXES.get(suffixes[-1]) == "parquet"):
        raise DataError(
            f'data="{path}": files are read from Parquet (.parquet, or a folder) and CSV (.csv). Others: a function '
            "without arguments that yields DataFrames."
        )
    return Parquet(path)


def _short(path: Any) -> str:
    """The last part of a path."""
    return os.path.basename(os.fspath(path).rstrip("/\\")) or os.fspath(path)


def _needed(module: str, extra: str) -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise ImportError(f"this kind of data needs {package}: pip install 'glmclf[{extra}]'") from None


class _Ahead:
    """Items of an iterator, made by a thread while others are worked on; it ends when the block is left."""

    def __init__(self, items: Iterator[Any]):
        self._items = items
        self._queue: queue.Queue = queue.Queue(AHEAD)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._make, daemon=True)

    def __enter__(self) -> Iterator[Any]:
        self._thread.start()
        return self._given()

    def __exit__(self, *_: Any) -> None:
        self._stop.set()
        while self._thread.is_alive():
            try:
                self._queue.get(timeout=0.05)
            except queue.Empty:
                pass
        self._thread.join()

    def _given(self) -> Iterator[Any]:
        while True:
            kind, value = self._queue.get()
            if kind == "error":
                raise value
            if kind == "end":
                return
            yield value

    def _make(self) -> None:
        try:
            for item in self._items:
                self._queue.put(("item", item))
                if self._stop.is_set():
                    return
            self._queue.put(("end", None))
        except BaseException as error:
            self._queue.put(("error", error))
        finally:
            close = getattr(self._items, "close", None)
            if close is not None:
                close()
