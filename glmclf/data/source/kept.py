"""Arrays made of the parts of a source, kept in this process while they are few."""

from __future__ import annotations

import copy
import pickle
import threading
import weakref
from typing import Any

MAX_BYTES_OF_SOURCES = 2**26  # bytes that this process keeps of all sources which it reads itself
MIN_ROWS_TO_FORESEE = 10_000  # rows of a part from which the bytes of all rows are foreseen

_rooms: weakref.WeakSet[Room] = weakref.WeakSet()


class Room:
    """Arrays of tables by number, in this process; none once they are too large.

    Parameters
    ----------
    size : int
        Bytes.
    rows : int, optional
        Of all tables, by which a large one tells whether they will fit, before many are kept in vain.
    """

    def __init__(self, size: int, rows: int = 0):
        self.arrays: dict[int, tuple] = {}
        self.taken, self._size, self._rows, self._lock = 0, size, rows, threading.Lock()

    @classmethod
    def beside_others(cls, rows: int) -> Room:
        """Room for the arrays of so many rows, as large as the rooms of other readers leave."""
        room = cls(MAX_BYTES_OF_SOURCES - sum(other.taken for other in list(_rooms)), rows)
        _rooms.add(room)
        return room

    def offer(self, number: int, arrays: tuple) -> None:
        """Keep a copy of the arrays of a table, if they fit: the table may be used for others again."""
        if self.full:
            return
        size, n = Kept([arrays]).__sizeof__(), getattr(arrays[0], "shape", (0,))[0] if arrays else 0
        of_all = size * self._rows / n if n >= MIN_ROWS_TO_FORESEE else 0
        own = copy.deepcopy(arrays) if max(size, of_all) <= self._size else ()
        with self._lock:
            if number not in self.arrays and not self.full:
                self.arrays[number] = own
                self.taken += size
            if max(self.taken, of_all) > self._size:
                self.arrays, self.taken, self._size = {}, 0, -1

    @property
    def full(self) -> bool:
        """Whether some arrays did not fit into the room."""
        return self._size < 0

    def of(self, i: int, j: int) -> Kept:
        """Arrays of the tables from i up to j."""
        return Kept(self.arrays[number] for number in range(i, j))


class Kept(list):
    """Arrays of a run of tables."""

    def __reduce__(self) -> Any:
        """Pickle the arrays within the pickle, not beside it: see `_aligned`."""
        return _kept, (pickle.dumps(list(self)),)

    def __sizeof__(self) -> int:
        """Number of bytes, by which a worker sees when to write to disk."""
        sizes: list[int] = []
        rest = pickle.dumps(list(self), protocol=5, buffer_callback=lambda b: sizes.append(b.raw().nbytes))
        return sum(sizes) + len(rest)


def _kept(pickled: bytes) -> Kept:
    return Kept(pickle.loads(pickled))
