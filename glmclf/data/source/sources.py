"""Sources: tables that come in parts, again and again, from files, functions or an engine.

A `Source` knows its columns and adds up ``f(table, place)`` over its parts, in their order; everything else that is
done with data larger than memory is such a sum. Parts are pandas frames.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import operator
import os
import queue
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from glmclf.core.rows.streamed import RowsElsewhereError
from glmclf.core.rows.summed import joined
from glmclf.data.source.digests import AGAIN, Ledger
from glmclf.data.source.file_types import csv_dtypes, one_schema
from glmclf.data.table.frame import as_frame, close_to, quoted, with_digits
from glmclf.errors import DataError

ROWS = 2**17  # of a part that is cut out of a file
ENOUGH = 20  # rows that tell whether the value of one depends on others
AHEAD = 2  # parts that are read while another is worked on
SUFFIXES = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv"}
COMPRESSED = (".gz", ".bz2", ".xz", ".zip", ".zst")


class Batch(NamedTuple):
    """Rows of a file, as pyarrow gives them, and the file's name."""

    rows: Any
    file: str

    @property
    def num_rows(self) -> int:
        """How many."""
        return self.rows.num_rows

    @property
    def schema(self) -> Any:
        """Their types."""
        return self.rows.schema


class Place(NamedTuple):
    """Where a part is in its source: its number from 0, and how a message calls it."""

    number: int
    name: str

    def __str__(self) -> str:
        return self.name


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
    labelled : bool
        Whether the index of the parts is that of the whole table, which a query may ask for.
    keeps : bool
        Whether it keeps by itself what a reader makes of its parts.
    """

    kind: str
    names: list[Any]
    _again = ""  # what a message says of a source that may be used up
    watch: Callable[[int], None] | None = None
    labelled = False
    _first: pd.DataFrame | None = None
    keeps = False
    same_parts = True  # in the first pass as in others

    @functools.cached_property
    def ledger(self) -> Ledger:
        """What it gave at first."""
        return Ledger(self.kind, self.same_parts)

    def tables(self, columns: list[str] | None = None) -> Iterator[tuple[pd.DataFrame, Place]]:
        """The parts in their order with the place of each, ``part 3``, with these columns only, by default all that the
        source has."""
        wanted = self.names if columns is None else columns
        return ((with_columns(table, wanted, place, self.kind), place) for table, place in self._given(columns))

    def _given(self, columns: list[str] | None) -> Iterator[tuple[pd.DataFrame, Place]]:
        """The parts as they are, at least one."""
        nothing = True
        for table, place in self._tables(columns):
            nothing = False
            yield table, place
        if nothing:
            raise DataError(f"{self.kind} holds no table{self._again}")

    def _tables(self, columns: list[str] | None) -> Iterator[tuple[pd.DataFrame, Place]]:
        raise NotImplementedError

    def first(self, columns: list[str] | None = None) -> pd.DataFrame:
        """Rows that show what the others are like; see `first_of`. They are kept up to `first_of_rows`."""
        if self._first is None:
            self._first = first_of(table for table, _ in self.tables())
        return self._first if columns is None else self._first[columns]

    def first_of_rows(self, reader: Callable, most: int, columns: list[str] | None = None) -> tuple:
        """The first rows, `most` at most, of the first part of which the reader finds some."""
        table, self._first = self.first(columns), None
        with contextlib.suppress(DataError, NotImplementedError):  # which is said where the part is read
            if arrays := reader(table, Place(0, "part 1")):
                return some_of(arrays, most)
        for table, place in self.tables(columns):
            if arrays := of_part(reader, table, place, self.kind):
                return some_of(arrays, most)
        raise DataError(f"{self.kind} gave rows at first and none when it was read again: {AGAIN}")

    def sum(self, f: Callable[[pd.DataFrame, Place], Any], columns: list[str] | None = None) -> Any:
        """Sum of ``f(table, place)`` over the parts, added in their order; the next ones are read meanwhile."""
        return self._added(lambda table, place: table, f, columns)

    def each(self, f: Callable[[pd.DataFrame], Any]) -> Iterator[Any]:
        """``f(table)`` of one part after another, each with the columns that it has, by the labels that rows have."""
        for table, place in self._given(None):
            part = with_columns(table, [], place, self.kind)
            yield self._labelled(of_part(lambda table, _: f(table), part, place, self.kind))

    def _labelled(self, rows: Any) -> Any:
        """What was made of rows, with the index that they have in one table in memory."""
        return rows

    def sum_of_rows(self, reader: Callable, f: Callable, columns: list[str] | None = None) -> Any:
        """Sum of ``f(*reader(table, place), place.number)`` over the parts of which the reader finds rows; those of the
        next ones are made meanwhile."""
        return self._added(reader, lambda arrays, place: of_rows(f, arrays, place), columns)

    def _added(self, before: Callable, f: Callable, columns: list[str] | None) -> Any:
        made = ((of_part(before, table, place, self.kind), place) for table, place in self.tables(columns))
        with _Ahead(made) as parts:
            return self.added(f, parts)

    def added(self, f: Callable, parts: Iterable[tuple[Any, Place]]) -> Any:
        """Sum of ``f(part, place)`` over parts that are there."""
        total = None
        for part, place in parts:
            total = joined(total, of_part(f, part, place, self.kind))
            if self.watch is not None:
                self.watch(place.number)
        return total


class Parquet(Source):
    """Parquet files, or a pyarrow dataset; row groups cut into parts of up to `ROWS` rows.

    Parameters
    ----------
    data : path, list of paths or pyarrow.dataset.Dataset
        A file or folder of such, or several.
    """

    def __init__(self, data: Any):
        paths = [os.fspath(path) for path in ([data] if isinstance(data, (str, os.PathLike)) else paths_of(data))]
        self.kind = f"Parquet {quoted(map(_short, paths), 1)}" if paths else f"the {type(data).__name__}"
        pyarrow = _needed("pyarrow", "parquet")
        self._apart: dict[str, str] = {}
        try:
            self._dataset, alike = self._opened(paths) if paths else (data, True)
        except (OSError, ValueError, pyarrow.ArrowException) as error:
            raise DataError(f"{self.kind}{_because(error)}") from None
        self.names = list(self._dataset.schema.names)
        self._indices = _pandas_indices(self._dataset.schema)
        self._plain = not alike or bool(self._indices)  # what pandas noted is of other types
        self._files, self._several = bool(paths), len(getattr(self._dataset, "files", ())) > 1

    def _opened(self, paths: list[str]) -> tuple[Any, bool]:
        """The dataset, with a schema of all its files, and whether theirs are the same."""
        dataset = _needed("pyarrow.dataset", "parquet")
        if len(paths) == 1 and not os.path.isdir(paths[0]):
            return dataset.dataset(paths[0], format=_format(paths[0]), partitioning="hive"), True
        from pyarrow.fs import LocalFileSystem

        files = [file for path in paths for file in (_parquet_files(path) if os.path.isdir(path) else [path])]
        base, hive = paths[0] if len(paths) == 1 else "", dataset.HivePartitioning.discover()
        options = dataset.FileSystemFactoryOptions(partition_base_dir=base, partitioning=hive)
        factory = dataset.FileSystemDatasetFactory(LocalFileSystem(), files, _format(files[0]), options)
        found = factory.finish()
        own = {f.path: f.physical_schema for f in found.get_fragments()}
        schema, self._apart = one_schema(list(own.values()), [_short(file) for file in own])
        for field in found.schema:
            if schema.get_field_index(field.name) < 0:
                schema = schema.append(field)  # named by folders
        return factory.finish(schema), all(one.equals(next(iter(own.values()))) for one in own.values())

    def _tables(self, columns: list[str] | None) -> Iterator[tuple[pd.DataFrame, Place]]:
        pyarrow = _needed("pyarrow", "parquet")
        for name in columns or ():
            if self._apart.get(name):
                raise DataError(f"{self.kind}: {self._apart[name]}")
        start, step = self._numbers
        for number, some in enumerate(_together(self._batches(self.names if columns is None else columns))):
            files = [file for file in dict.fromkeys(batch.file for batch in some) if file and self._several]
            of = f" ({' to '.join([files[0], *files[1:][-1:]])})" if files else ""
            place, whole = Place(number, f"part {number + 1}{of}"), pyarrow.Table.from_batches([b.rows for b in some])
            try:
                table = with_digits(whole.to_pandas(ignore_metadata=self._plain, split_blocks=True), whole)
            except (ValueError, pyarrow.ArrowException) as error:
                raise DataError(f"{place} of {self.kind}{_because(error)}") from error
            stop = start + step * len(table)
            table.index, start = pd.RangeIndex(start, stop, step), stop
            yield table, place

    def whole(self) -> pd.DataFrame:
        """All rows as one table in memory, as pandas reads them."""
        pyarrow = _needed("pyarrow", "parquet")
        for said in filter(None, self._apart.values()):
            raise DataError(f"{self.kind}: {said}")
        try:
            rows = self._dataset.to_table()
            table = with_digits(rows.to_pandas(ignore_metadata=self._plain), rows)
        except (OSError, ValueError, pyarrow.ArrowException) as error:
            raise DataError(f"{self.kind}{_because(error)}") from error
        return self._labelled(table)

    def _batches(self, columns: list[str]) -> Iterator[Batch]:
        """Rows of one file after another; one that cannot be read is named."""
        pyarrow = _needed("pyarrow", "parquet")
        for fragment in _fragments(self._dataset):
            file = _short(getattr(fragment, "path", None) or "")
            try:
                for piece, given in _pieces(fragment, self._dataset.schema, self._apart):
                    yield from (Batch(rows, file) for rows in piece.to_batches(columns=columns, **given))
            except (OSError, ValueError, pyarrow.ArrowException) as error:
                whose = f'"{file}" of {self.kind}' if file and f'"{file}"' not in self.kind else self.kind
                schema = "" if self._files else " (or a schema= that its files do not fit)"
                raise DataError(
                    f"{whose}{_because(error)}. If it was there when it was opened, it is damaged{schema} or has been "
                    f"written to since: while a result is in use {AGAIN}"
                ) from error

    @functools.cached_property
    def _numbers(self) -> tuple[int, int]:
        """Where the index that numbers rows starts, and its steps: as pandas wrote it, if it is of so many rows."""
        described = (self._dataset.schema.pandas_metadata or {}).get("index_columns", [])
        ranges = [index for index in described if isinstance(index, dict) and index.get("kind") == "range"]
        if len(ranges) != 1 or (ranges[0]["start"], ranges[0]["step"]) == (0, 1):
            return 0, 1
        start, stop, step = (ranges[0][end] for end in ("start", "stop", "step"))
        return (start, step) if len(range(start, stop, step)) == self._dataset.count_rows() else (0, 1)

    def _labelled(self, rows: Any) -> Any:
        """By the index that pandas wrote, if it is a column of the files."""
        if not self._indices or not set(self._indices) <= set(getattr(rows, "columns", ())):
            return rows
        nameless = [name.startswith("__index_level_") for name in self._indices]
        names = [None if none else name for none, name in zip(nameless, self._indices, strict=True)]
        return rows.set_index(self._indices).rename_axis(names)


def paths_of(data: Any) -> list[Any]:
    """Several paths; of what is none, nothing."""
    several = isinstance(data, (list, tuple)) and all(isinstance(path, (str, os.PathLike)) for path in data)
    return list(data) if several else []


def _because(error: Exception) -> str:
    """Why something is not read, after its name."""
    words = " ".join(str(error).split()).rstrip(".")
    return f": {words}" if isinstance(error, DataError) else f" cannot be read: {words}"


def _format(path: str) -> Any:
    """How a path is read. Files on this machine are not read ahead of what is decoded: it would hold all of them."""
    dataset = _needed("pyarrow.dataset", "parquet")
    reading = dataset.ParquetFragmentScanOptions(pre_buffer="://" in path)
    return dataset.ParquetFileFormat(default_fragment_scan_options=reading)


def _fragments(dataset: Any) -> Iterator[Any]:
    """The files of a dataset; one with a filter, which pyarrow does not take apart, as it is."""
    try:
        yield from dataset.get_fragments()
    except ValueError:
        yield dataset


def _pieces(fragment: Any, schema: Any, apart: Iterable[str]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """What is scanned at a time, with the options of that: row groups of about `ROWS` rows, as a scan of them all runs
    ahead by up to a gigabyte. Columns that no one type holds have that of the file."""
    options = {"batch_size": ROWS, "batch_readahead": 2, "fragment_readahead": 1}
    if not hasattr(fragment, "physical_schema"):
        yield fragment, options
        return
    for name in apart:
        if (own := fragment.physical_schema.get_field_index(name)) >= 0:
            schema = schema.set(schema.get_field_index(name), fragment.physical_schema.field(own))
    groups = getattr(fragment, "row_groups", None)
    pieces = [fragment] if groups is None else [fragment.subset(row_group_ids=run) for run in _runs(groups)]
    yield from ((piece, {"schema": schema, **options}) for piece in pieces)


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
    found = [os.path.join(at, name) for at, name in inside if suffix_of(name) in ("", *SUFFIXES)]
    found = [file for file in found if SUFFIXES.get(suffix_of(file)) != "csv"]
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


def _together(batches: Iterable[Batch]) -> Iterator[list[Batch]]:
    """Rows of the same types, joined to parts of about `ROWS` rows; batches without rows only where all are such."""
    for _, alike in itertools.groupby(batches, key=operator.attrgetter("schema")):
        yield from ([batch for batch in run if batch.num_rows] or run[:1] for run in _in_runs(alike))


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
        except UnicodeDecodeError as error:
            raise DataError(
                f"{self.kind} cannot be read: it is not in utf-8 (byte 0x{error.object[error.start]:02x}). Write it in "
                "utf-8, or pass a function without arguments that returns pandas.read_csv(path, encoding=..., "
                "chunksize=...)"
            ) from None
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
        tables = (table for table, _ in self._given(None))
        for table in tables:
            if len(table.columns):
                break
        self.names, self._like = list(table.columns), table.iloc[:0]
        if not self.names:
            raise DataError(f"{self.kind} gives tables without columns")
        self._first = first_of(itertools.chain([table], tables))

    def _tables(self, columns: list[str] | None) -> Iterator[tuple[pd.DataFrame, Place]]:
        found = self._function()
        one = isinstance(found, (str, bytes, Mapping)) or hasattr(found, "columns") or hasattr(found, "dtype")
        if one or not isinstance(found, Iterable):
            raise DataError(
                f"data={self.kind} gives {type(found).__name__}: it must give tables, one after another, each time it "
                "is called (a generator function, say)"
            )
        rows = 0
        for number, table in enumerate(self._noted(found)):
            place = Place(number, f"part {number + 1}")
            table = self._like if _is_nothing(table) else table
            frame = with_columns(table, columns or [], place, self.kind)
            if not isinstance(table, pd.DataFrame) and frame.index.equals(pd.RangeIndex(len(frame))):
                frame.index = pd.RangeIndex(rows, rows + len(frame))  # of tables that have no labels of rows
            rows += len(frame)
            yield (frame if columns is None else frame[columns]).copy(), place  # the function may fill its memory anew

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


def suffix_of(path: str) -> str:
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
