"""Sums over rows that are in a source: read part by part in each pass, kept in memory where they are few."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd

from glmclf.data.source.base import Place, Source, of_part, of_rows
from glmclf.data.source.digests import Digests, Watched
from glmclf.data.source.kept import Room

if TYPE_CHECKING:
    from glmclf.data.reading.reader import Reader

FEW = 16  # rows of a prototype


class _Watching:
    """A reader that gives digests of what it reads after the rows."""

    def __init__(self, reader: Reader):
        self._reader = reader

    def __call__(self, table: pd.DataFrame, place: Any) -> tuple:
        return self._reader.watched(table, place)


class _Keeping(_Watching):
    """A reader that gives digests and offers the rows to a room.

    Parameters
    ----------
    reader : Reader
    rows : int
        Of all parts.
    """

    def __init__(self, reader: Reader, rows: int):
        super().__init__(reader)
        self._room, self._places = Room.beside_others(rows), list[Place]()

    def __call__(self, table: pd.DataFrame, place: Place) -> tuple:
        *rows, digests = super().__call__(table, place)
        if rows:
            self._places.append(place)
            self._room.offer(place.number, tuple(rows))
        return (*rows, digests)

    @property
    def whole(self) -> bool:
        """Whether all that was made is there."""
        return not self._room.full

    def parts(self) -> Iterator[tuple[tuple, Place]]:
        """What is kept, in its order."""
        return ((self._room.arrays[place.number], place) for place in self._places)


def _watched(f: Callable, *arrays: Any) -> Watched:
    """A sum over the rows of a part, if it has any, and the digests beside them."""
    *rows, digests, number = arrays
    return Watched(f(*rows, number) if rows else None, digests)


class Stream:
    """What `core.rows.streamed.Streamed` sums over: a source, read as rows of a model, which are the same in each pass.

    Small ones stay in memory once a second pass has shown that they are the same: `data.source.kept`.

    Parameters
    ----------
    source : Source
    reader : Reader
    rows : int
        Of the fit.
    prototype : tuple, optional
        Arrays of a few rows; by default the first ones of the source.

    Raises
    ------
    DataError
        The source gives other rows than it gave at first.
    """

    def __init__(self, source: Source, reader: Reader, rows: int, prototype: tuple | None = None):
        self.source, self.reader, self.rows = source, reader, rows
        self._watching, self._known = _Watching(reader), False  # one object: sources keep what it makes by it
        self._kept: _Keeping | None = None
        self.prototype = prototype or source.first_of_rows(reader, FEW, self._columns)

    @property
    def _columns(self) -> list[str] | None:
        return self.reader.wanted

    def sum(self, f: Callable) -> Any:
        """Sum of ``f(*arrays, number)`` over the parts that have rows."""
        if self._kept is not None:
            return self.source.added(functools.partial(of_rows, f), self._kept.parts())
        reader = self._reading()
        found = self.source.sum_of_rows(reader, functools.partial(_watched, f), self._columns)
        value = self.source.ledger.checked(found)
        self._keep(reader)
        return value

    def parts(self) -> Iterator[tuple]:
        """The arrays of each part that has rows."""
        if self._kept is not None:
            yield from (arrays for arrays, _ in self._kept.parts())
            return
        seen, reader = Digests(), self._reading()
        for table, place in self.source.tables(self._columns):
            *arrays, digests = of_part(reader, table, place, self.source.kind)
            seen = seen + digests
            if arrays:
                yield tuple(arrays)
        self.source.ledger.check(seen)
        self._keep(reader)

    def _reading(self) -> _Watching:
        """The reader, which keeps what it makes where it was made before."""
        keep = self._known and not self.source.keeps
        return _Keeping(self.reader, self.rows) if keep else self._watching

    def _keep(self, reader: _Watching) -> None:
        """A pass has given what it had to."""
        self._known = True
        if isinstance(reader, _Keeping) and reader.whole:
            self._kept = reader
