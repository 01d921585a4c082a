"""Stream of a fit: rows read from a source part by part in each pass, or kept in memory where they are few."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd

from glmclf.core.rows.blocks import PROTOTYPE_ROWS
from glmclf.data.source.base import Place, Source, of_part, of_rows
from glmclf.data.source.digests import Digests, Watched
from glmclf.data.source.kept import Room

if TYPE_CHECKING:
    from glmclf.data.reading.reader import Reader



class _Watching:
    """Reader that returns digests of the rows after the rows of a part."""

    def __init__(self, reader: Reader):
        self._reader = reader

    def __call__(self, table: pd.DataFrame, place: Any) -> tuple:
        return self._reader.watched(table, place)


class _Keeping(_Watching):
    """Reader with digests that also offers the rows to a room in memory.

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
        """Whether the room holds the rows of all parts."""
        return not self._room.full

    def parts(self) -> Iterator[tuple[tuple, Place]]:
        """Arrays and places of the parts in memory, in order."""
        return ((self._room.arrays[place.number], place) for place in self._places)


def _watched(f: Callable, *arrays: Any) -> Watched:
    """Sum over the rows of a part, if it has any, with the part's digests."""
    *rows, digests, number = arrays
    return Watched(f(*rows, number) if rows else None, digests)


class Stream:
    """Stream of the rows of a model, read from a source, equal in each pass; `Streamed` of the core sums over it.

    Few rows stay in memory once a second pass has shown that they are equal: `data.source.kept`.

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
        self._watching, self._known = _Watching(reader), False  # one object, as sources cache its rows by identity
        self._kept: _Keeping | None = None
        self.prototype = prototype or source.first_of_rows(reader, PROTOTYPE_ROWS, self._columns)

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
        """Iterate over the arrays of each part that has rows."""
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
        """Reader of the next pass; from the second pass on one that keeps the rows in memory."""
        keep = self._known and not self.source.keeps
        return _Keeping(self.reader, self.rows) if keep else self._watching

    def _keep(self, reader: _Watching) -> None:
        """Note a complete pass, and keep its rows if all of them are in memory."""
        self._known = True
        if isinstance(reader, _Keeping) and reader.whole:
            self._kept = reader
