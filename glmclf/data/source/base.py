"""Sources: tables that come in parts, again and again, from files, functions or an engine.

A `Source` knows its columns and adds up ``f(table, place)`` over its parts, in their order; everything else that is
done with data larger than memory is such a sum. Parts are pandas frames.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pandas as pd

from glmclf.caching import cached_property
from glmclf.core.rows.streamed import RowsElsewhereError
from glmclf.core.rows.summed import joined
from glmclf.data.source.digests import AGAIN, Ledger
from glmclf.data.table.frame import as_frame, close_to, quoted
from glmclf.errors import DataError

PART_ROWS = 2**17  # rows of a part that is cut out of a file
FIRST_ROWS = 20  # rows that tell whether the value of one depends on others
MAX_PARTS_AHEAD = 2  # parts that are read while another is worked on


class Place(NamedTuple):
    """Place of a part in its source: its number from 0, and its name in messages."""

    number: int
    name: str

    def __str__(self) -> str:
        return self.name


def of_part(f: Callable, part: Any, place: Place, kind: str) -> Any:
    """Value of ``f(part, place)``, whose errors name the place and the kind of source, unless all
    rows are asked for."""
    try:
        return f(part, place)
    except RowsElsewhereError:
        raise
    except (DataError, NotImplementedError) as error:
        if place.name in str(error):
            raise
        raise type(error)(f"{place} of {kind}: {error}") from error


def of_rows(f: Callable, arrays: tuple, place: Place) -> Any:
    """Value of ``f(*arrays, number)`` for the arrays of a part; None where there are no rows."""
    return f(*arrays, place.number) if arrays else None


def some_of(arrays: tuple, most: int) -> tuple:
    """First rows of the arrays of a part, of which some may be None."""
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
    """The first table of `FIRST_ROWS` rows, or as many of shorter ones if they are alike; else the longest."""
    short: list[pd.DataFrame] = []
    for table in tables:
        if len(table) >= FIRST_ROWS:
            return table
        if short and not len(short[-1]):
            short.pop()
        if len(table) or not short:
            short.append(table)
        if sum(map(len, short)) >= FIRST_ROWS:
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
    by_cluster = False  # passes are made by who also sends results to other processes, and not while it pickles them
    same_parts = True  # in the first pass as in others
    remarks: Mapping[str, str] = {}  # on columns, to be said where they are used as they are

    @cached_property
    def ledger(self) -> Ledger:
        """Ledger of what the source gave at first."""
        return Ledger(self.kind, self.same_parts)

    def tables(self, columns: list[str] | None = None) -> Iterator[tuple[pd.DataFrame, Place]]:
        """The parts in their order with the place of each, ``part 3``, with these columns only, by default all
        that the source has."""
        wanted = self.names if columns is None else columns
        return ((with_columns(table, wanted, place, self.kind), place) for table, place in self._given(columns))

    def _given(self, columns: list[str] | None) -> Iterator[tuple[pd.DataFrame, Place]]:
        """Parts of the source as they are given, at least one."""
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
        """Values made of rows, with the index that the rows have in one table in memory."""
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
        """Sum of ``f(part, place)`` over parts in memory."""
        total = None
        for part, place in parts:
            total = joined(total, of_part(f, part, place, self.kind))
            if self.watch is not None:
                self.watch(place.number)
        return total


def needed(module: str, extra: str) -> Any:
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
        self._queue: queue.Queue = queue.Queue(MAX_PARTS_AHEAD)
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
