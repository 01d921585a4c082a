"""Functions that give tables, one after another, each time they are called."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from glmclf.data.source.base import Place, Source, first_of, with_columns
from glmclf.errors import DataError


class Calls(Source):
    """A function without arguments that gives the tables anew each time it is called.

    Parameters
    ----------
    function : callable
    kind : str
        What messages call it; the function's name by default.
    """

    _again = ": the function must give its tables anew each time it is called"

    def __init__(self, function: Callable[[], Iterable[Any]], kind: str = ""):
        self._function = function
        self.kind = kind or f"{getattr(function, '__name__', type(function).__name__)}()"
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
        found = self._made(columns)
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

    def _made(self, columns: list[str] | None) -> Any:
        return self._function()

    def _noted(self, tables: Iterable[Any]) -> Iterator[Any]:
        """Tables of the function, whose own errors get a note of the part that was wanted."""
        made = 0
        try:
            for table in tables:
                made += 1
                yield table
        except Exception as error:
            error.add_note(f"while {self.kind}, given as data=, made part {made + 1}")
            raise


def _is_nothing(table: Any) -> bool:
    """Whether an object is a table without rows and columns."""
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
