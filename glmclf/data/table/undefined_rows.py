"""Undefined rows of new data, told to whoever reads these: rows in which a term has no value though its columns do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
from numpy import ndarray


class UndefinedRows:
    """Rows in which some term has no finite value although its columns have one."""

    def __init__(self) -> None:
        self._masks: list[ndarray] = []

    def add(self, lost: ndarray) -> None:
        """Take note of rows, by a mask."""
        self._masks.append(lost)

    def of(self, n: int) -> ndarray:
        """Positions among n rows."""
        found = [mask for mask in self._masks if len(mask) == n]
        return np.flatnonzero(np.logical_or.reduce(found)) if found else np.zeros(0, dtype=np.intp)


_GATHERED: ContextVar[UndefinedRows | None] = ContextVar("undefined_rows", default=None)


@contextmanager
def rows_gathered() -> Iterator[UndefinedRows]:
    """The undefined rows of new data that are read meanwhile."""
    found = UndefinedRows()
    token = _GATHERED.set(found)
    try:
        yield found
    finally:
        _GATHERED.reset(token)


_ENDS_SOUGHT: ContextVar[bool] = ContextVar("ends_sought", default=False)


@contextmanager
def domain_sought() -> Iterator[None]:
    """Rows that are read meanwhile look for the end of a domain: infinite values stay, and nothing is said."""
    token = _ENDS_SOUGHT.set(True)
    try:
        yield
    finally:
        _ENDS_SOUGHT.reset(token)


def infinite_stays() -> bool:
    """Whether infinite values are values, as the end of a domain is sought."""
    return _ENDS_SOUGHT.get()


def note_undefined(lost: ndarray) -> None:
    """Tell who gathers them of undefined rows, by a mask."""
    if (gathered := _GATHERED.get()) is not None:
        gathered.add(lost)
