"""Sources: tables that come in parts, again and again, from files, functions or an engine.

A `Source` knows its columns and adds up ``f(table, place)`` over its parts, in their order; everything else that is
done with data larger than memory is such a sum. Parts are pandas frames.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import queue
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from glmclf.core.streamed import RowsElsewhereError
from glmclf.data.digests import AGAIN, Ledger
from glmclf.data.file_types import csv_dtypes, one_schema
from glmclf.data.frame import as_frame, close_to, quoted, with_digits
from glmclf.errors import DataError

ROWS = 2**17  # of a part that is cut out of a file
ENOUGH = 20  # rows that tell whether the value of one depends on others
AHEAD = 2  # parts that are read while another is worked on
SUFFIXES = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv"}
COMPRESSED = (".gz", ".bz2", ".xz", ".zip", ".zst")


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


def some_of(arrays: tuple, most: int) -> tuple:
    """The first rows of arrays, of which some may be None."""
    return tuple(None if a is None else a[:most] for a in arrays)


def with_columns(table: Any, columns: list[Any], place: Place, kind: str) -> pd.DataFrame:
    """A part as a pandas frame that has these columns."""
    try:
        frame = as_frame(table, empty=True)
    except NotImplementedError:
        raise DataError(
            f"{place} of {kind} is no table (found {type(table).__name__}): each part is one, such as a DataFrame"
        ) from None
    except DataError as error:
        raise DataError(f"{place} of {kind}: {error}") from None
    absent = [name for name in columns if name not in frame.columns]
    if absent:
        raise DataError(
            f"{place} of {kind} has no column {quoted(absent)}, which the first one has. "
            f"{close_to(str(absent[0]), frame.columns)}"
        )
    return frame


def first_of(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """The first table of `ENOUGH` rows, or as many of shorter ones if they are alike; else the longest."""
    short: list[pd.DataFrame] = []
    for table in tables:
        if len(table) >= ENOUGH:
            return table
        if short and not len(short[-1]):
            short.pop()
        if len(table) or not short:
            short.append(table)
        if sum(map(len, short)) >= ENOUGH:
            break
    if all(table.dtypes.equals(short[0].dtypes) for table in short):
        return pd.concat(short)
    return max(short, key=len)


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
    same_parts = True  # in the first pass as in others

    @functools.cached_property
    def ledger(self) -> Ledger:
        """What it gave at first."""
        return Ledger(self.kind, self.same_parts)

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
        """Rows that show what the others are like; see `first_of`."""
        return first_of(table for table, _ in self.tables(columns))

    def first_of_rows(self, reader: Callable, most: int, columns: list[str] | None = None) -> tuple:
        """The first rows, `most` at most, of the first part of which the reader finds some."""
        for table, place in self.tables(columns):
            if arrays := of_part(reader, table, place, self.kind):
                return some_of(arrays, most)
        raise DataError(f"{self.kind} gave rows at first and none when it was read again: {AGAIN}")

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
        path = isinstance(data, (str, os.PathLike))
        self.kind = f'Parquet "{_short(data)}"' if path else f"the {type(data).__name__}"
        pyarrow = _needed("pyarrow", "parquet")
        try:
            self._dataset, alike = self._opened(os.fspath(data)) if path else (data, True)
        except DataError as error:
            raise DataError(f"{self.kind}: {error}") from None
        except (OSError, ValueError, pyarrow.ArrowException) as error:
            raise DataError(f"{self.kind} cannot be read: {error}") from None
        self.names = list(self._dataset.schema.names)
        self._plain = not alike or bool(_pandas_indices(self._dataset.schema))  # what pandas noted is of other types

    def _opened(self, path: str) -> tuple[Any, bool]:
        """The dataset, with a schema of all its files, and whether theirs are the same."""
        dataset = _needed("pyarrow.dataset", "parquet")
        if not os.path.isdir(path):
            return dataset.dataset(path, format=_format(path), partitioning="hive"), True
        from pyarrow.fs import LocalFileSystem

        hive = dataset.HivePartitioning.discover()
        options = dataset.FileSystemFactoryOptions(partition_base_dir=path, partitioning=hive)
        factory = dataset.FileSystemDatasetFactory(LocalFileSystem(), _parquet_files(path), _format(path), options)
        base = factory.finish()
        own = {f.path: f.physical_schema for f in base.get_fragments()}
        schema = one_schema(list(own.values()), [_short(file) for file in own])
        for field in base.schema:
            if schema.get_field_index(field.name) < 0:
                schema = schema.append(field)  # named by folders
        return factory.finish(schema), all(one.equals(next(iter(own.values()))) for one in own.values())

    def _tables(self, columns: list[str] | None) -> Iterator[tuple[pd.DataFrame, Place]]:
        pyarrow = _needed("pyarrow", "parquet")
        wanted = self.names if columns is None else columns
        batches = (b for piece, given in _pieces(self._dataset) for b in piece.to_batches(columns=wanted, **given))
        try:
            for number, some in enumerate(_together(batches)):
                whole = pyarrow.Table.from_batches(some)
                table = whole.to_pandas(ignore_metadata=self._plain, split_blocks=True)  # columns not copied
                yield with_digits(table, whole), Place(number, f"part {number + 1}")
        except (OSError, ValueError, pyarrow.ArrowException) as error:
            raise DataError(
                f"{self.kind} cannot be read ({error}). It may be damaged or have a schema= that its files do not fit; "
                f"while a result is in use {AGAIN}"
            ) from error


def _format(path: str) -> Any:
    """How a path is read. Files on this machine are not read ahead of what is decoded: it would hold all of them."""
    dataset = _needed("pyarrow.dataset", "parquet")
    reading = dataset.ParquetFragmentScanOptions(pre_buffer="://" in path)
    return dataset.ParquetFileFormat(default_fragment_scan_options=reading)


def _pieces(dataset: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    """What is scanned at a time, with the options of that: row groups of about `ROWS` rows, as a scan of them all runs
    ahead by up to a gigabyte; a dataset with a filter, which pyarrow does not take apart, whole."""
    options = {"batch_size": ROWS, "batch_readahead": 2, "fragment_readahead": 1}
    try:
        fragments = dataset.get_fragments()
    except ValueError:
        yield dataset, options
        return
    for fragment in fragments:
        groups = getattr(fragment, "row_groups", None)
        pieces = [fragment] if groups is None else [fragment.subset(row_group_ids=run) for run in _runs(groups)]
        yield from ((piece, {"schema": dataset.schema, **options}) for piece in pieces)


def _runs(groups: list[Any]) -> Iterator[list[int]]:
    """Numbers of row groups, side by side, of `ROWS` rows or of one that has more."""
    return ([group.id for group in run] for run in _in_runs(groups))


def _in_runs(pieces: Iterable[Any]) -> Iterator[list[Any]]:
    """Neighbours of up to `ROWS` rows together, or one that has more."""
    run: list[Any] = []
    rows = 0
    for piece in pieces:
        if run and rows + piece.num_rows > ROWS:
            yield run
            run, rows = [], 0
        run.append(piece)
        rows += piece.num_rows
    if run:
        yield run


def _parquet_files(folder: str) -> list[str]:
    """The Parquet files of a folder and those in it; others that lie there are passed over.

    Raises
    ------
    DataError
        There are none.
    """
    inside = [(at, name) for at, _, names in sorted(os.walk(folder)) for name in sorted(names)]
    inside = [(at, name) for at, name in inside if not _hidden(os.path.relpath(at, folder)) and name[0] not in "._"]
    found = [os.path.join(at, name) for at, name in inside if _suffix(name) in ("", *SUFFIXES)]
    found = [file for file in found if SUFFIXES.get(_suffix(file)) != "csv"]
    if not found:
        others = f"; it has {quoted([name for _, name in inside], 4)}" if inside else ""
        raise DataError(f"the folder holds no Parquet file (.parquet){others}")
    return found


def _hidden(folder: str) -> bool:
    return any(name[0] in "._" and name != "." for name in folder.split(os.sep))


def _pandas_indices(schema: Any) -> list[str]:
    """Columns that were the index of a pandas frame, which stay columns here."""
    described = schema.pandas_metadata or {}
    return [name for name in described.get("index_columns", []) if isinstance(name, str)]


def _together(batches: Iterable[Any]) -> Iterator[list[Any]]:
    """Batches of rows joined to parts of about `ROWS` rows, without those that have none unless all have none."""
    return ([batch for batch in run if batch.num_rows] or run[:1] for run in _in_runs(batches))


class Csv(Source):
    """A CSV file, read in parts of `ROWS` rows; columns have the types that the whole file has at once.

    Parameters
    ----------
    path : path
    """

    def __init__(self, path: Any):
        self.path, self.kind = os.fspath(path), f'CSV "{_short(path)}"'
        self._dtypes: dict[Any, Any] | None = None
        with self._named():
            self.names = list(pd.read_csv(self.path, nrows=0).columns)

    def _tables(self, columns: list[str] | None) -> Iterator[tuple[pd.DataFrame, Place]]:
        if self._dtypes is None:  # of all columns, which also refuses lines with too many fields
            self._dtypes = csv_dtypes(self._read)
        wanted = None if columns is None else set(columns).__contains__  # a list would shift columns beside an index
        for number, table in enumerate(self._read(usecols=wanted, dtype=self._dtypes)):
            yield table, Place(number, f"part {number + 1} (rows from {number * ROWS})")

    def _read(self, **how: Any) -> Iterator[pd.DataFrame]:
        with self._named(), pd.read_csv(self.path, chunksize=ROWS, low_memory=False, **how) as parts:
            yield from parts

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """What cannot be read is named."""
        try:
            yield
        except (OSError, ValueError, EOFError, OverflowError, zlib.error) as error:
            raise DataError(f"{self.kind} cannot be read: {' '.join(str(error).split())}") from None


class Calls(Source):
    """A function without arguments that gives the tables anew each time it is called.

    Parameters
    ----------
    function : callable
    """

    _again = ": the function must give its tables anew each time it is called"

    def __init__(self, function: Callable[[], Iterable[Any]]):
        self._function, self.kind = function, f"{getattr(function, '__name__', type(function).__name__)}()"
        _refuse_arguments(function)
        self.names, self._like = [], pd.DataFrame()
        for table, _ in self.tables():
            if len(table.columns):
                break
        self.names, self._like = list(table.columns), table.iloc[:0]
        if not self.names:
            raise DataError(f"{self.kind} gives tables without columns")

    def _tables(self, columns: list[str] | None) -> Iterator[tuple[pd.DataFrame, Place]]:
        found = self._function()
        one = isinstance(found, (str, bytes, Mapping)) or hasattr(found, "columns") or hasattr(found, "dtype")
        if one or not isinstance(found, Iterable):
            raise DataError(
                f"data={self.kind} gives {type(found).__name__}: it must give tables, one after another, each time it "
                "is called (a generator function, say)"
            )
        for number, table in enumerate(self._noted(found)):
            place = Place(number, f"part {number + 1}")
            table = self._like if _is_nothing(table) else table
            frame = with_columns(table, self.names if columns is None else columns, place, self.kind)
            yield frame if columns is None else frame[columns], place

    def _noted(self, tables: Iterable[Any]) -> Iterator[Any]:
        """The tables; an error of the function's own says which was wanted."""
        made = 0
        try:
            for table in tables:
                made += 1
                yield table
        except Exception as error:
            error.add_note(f"while {self.kind}, given as data=, made part {made + 1}")
            raise


def _is_nothing(table: Any) -> bool:
    """Whether it is a table without rows and columns."""
    return isinstance(table, pd.DataFrame) and table.shape == (0, 0)


def _refuse_arguments(function: Callable) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of some that are not written in Python
        return
    try:
        signature.bind()
    except TypeError as error:
        raise DataError(
            f"data= is a function that needs arguments ({error}): pass one without, such as "
            f"functools.partial({getattr(function, '__name__', 'function')}, ...)"
        ) from None


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
    _refuse_others(data)
    if isinstance(data, (str, os.PathLike)):
        return _of_path(os.fspath(data))
    if module == "pyarrow" and hasattr(data, "to_batches") and hasattr(data, "schema") and hasattr(data, "scanner"):
        return Parquet(data)
    if module in ("dask", "dask_expr") and hasattr(data, "to_delayed"):
        from glmclf.data.dask import Dask

        return Dask(data)
    return Calls(data) if callable(data) else None


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
    kind = SUFFIXES.get(_suffix(path))
    if "://" not in path and not os.path.exists(path):
        raise DataError(f'data="{path}": there is no such file or folder. A table is passed as a DataFrame.')
    if kind == "csv" and not os.path.isdir(path):
        return Csv(path)
    if "://" not in path and not os.path.isdir(path) and kind != "parquet":
        raise DataError(
            f'data="{path}": files are read from Parquet (.parquet, or a folder) and CSV (.csv). Others: a function '
            "without arguments that yields DataFrames."
        )
    return Parquet(path)


def _suffix(path: str) -> str:
    """The last suffix of a file's name, before that of a compressed CSV."""
    *before, last = ["", *(s.lower() for s in Path(path).suffixes)]
    return ".csv" if last in COMPRESSED and before[-1] == ".csv" else last


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
            with contextlib.suppress(queue.Empty):
                self._queue.get_nowait()  # it may wait for room
            self._thread.join(0.001)

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
