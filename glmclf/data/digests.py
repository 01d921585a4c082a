"""Digests of the columns that a pass over a source reads, by which the next pass sees that they are others."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.data.frame import EXACT, Column, read_column
from glmclf.errors import DataError

ALIKE = 1e-11  # of the terms of a sum, that is rounding
AGAIN = "it must give the same tables each time"
WRAP = 2**64
ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Digest:
    """What the rows of a column add up to, each alike and each by its place; + is that of both.

    Attributes
    ----------
    n : int
    sums : (3,) ndarray
        Of numbers: the sum, that by places, and that of absolute terms, of which rounding is a share.
    codes : tuple of two ints
        Of labels, and of what is missing or infinite: sums modulo 2**64, alike and by places.
    """

    n: int
    sums: ndarray
    codes: tuple[int, int]

    @classmethod
    def of(cls, values: Any) -> Digest:
        """Of a Column, a Series or an array, the same for equal values of whatever type."""
        numbers, codes = _told(values)
        told: Any = codes if numbers is None else numbers
        n, sums, u = len(told), np.zeros(3), _places(len(told))
        if numbers is not None:
            with np.errstate(all="ignore"):
                # not by BLAS, whose threads wait for each other on a busy machine
                by_place, size = (np.einsum("i,i", u, v) for v in (numbers, np.abs(numbers)))
                sums = np.array([numbers.sum(), by_place, size])
        if codes is None:
            return cls(n, sums, (0, 0))
        return cls(n, sums, (int(codes.sum()), int(codes @ (u.astype(np.uint64) * ODD))))

    def of_part(self, number: int) -> Digest:
        """Of rows that are a part of this number."""
        which = 1 + number % 101
        return Digest(self.n, self.sums * (1, which, which), (self.codes[0], self.codes[1] * which % WRAP))

    def __add__(self, other: Digest) -> Digest:
        a, b = ((x + y) % WRAP for x, y in zip(self.codes, other.codes, strict=True))
        return Digest(self.n + other.n, self.sums + other.sums, (a, b))

    def like(self, other: Digest, places: bool = True) -> bool:
        """Whether the rows are the same, as far as this tells; without places, whatever their order."""
        most = 1 + places
        a, b = self.sums, other.sums
        near = (np.abs(a - b) <= ALIKE * (a[2] + b[2])) | (a == b) | (np.isnan(a) & np.isnan(b))
        return self.n == other.n and bool(near[:most].all()) and self.codes[:most] == other.codes[:most]


def _told(values: Any) -> tuple[ndarray | None, ndarray | None]:
    """Values as finite numbers, or what is none of them as codes; None where there is nothing of a kind."""
    if isinstance(values, np.ndarray):
        return _of_numbers(values, None)
    if isinstance(values, pd.Series):
        if values.dtype.kind not in "biuf" and not isinstance(values.dtype, pd.CategoricalDtype):
            return _of_labels(*pd.factorize(values))
        values = read_column(values, values.name)
    column: Column = values
    if column.kind in ("number", "bool"):
        return _of_numbers(np.asarray(column.values), column.missing)
    if column.kind == "other":
        return _of_labels(*pd.factorize(column.values))
    codes, categories = np.asarray(column.values.codes), column.values.categories
    inner = read_column(pd.Series(categories.tolist(), dtype=object), "")
    if len(categories) and inner.kind in ("number", "bool"):
        return _of_numbers(np.asarray(inner.values)[codes], codes < 0)
    return _of_labels(codes, categories)


def _of_numbers(values: ndarray, missing: ndarray | None) -> tuple[ndarray, ndarray | None]:
    numbers = values.astype(np.float64)
    odd = ~np.isfinite(numbers) if missing is None else missing | ~np.isfinite(numbers)
    codes = None
    if odd.any():
        codes = np.where(odd, 1 + np.isposinf(numbers) + 2 * np.isneginf(numbers), 0).astype(np.uint64)
        codes = codes if missing is None else np.where(missing, np.uint64(1), codes)
        numbers[odd] = 0.0
    if values.dtype.kind in "iu" and len(values) and np.abs(numbers).max() >= EXACT:
        whole = np.where(odd, 0, values).astype(np.uint64) * ODD  # digits that floats do not hold
        codes = whole if codes is None else whole + codes
    return numbers, codes


def _of_labels(codes: ndarray, labels: Iterable[Any]) -> tuple[None, ndarray]:
    words = np.array([*map(str, labels), ""], dtype=object)  # the last one is of code -1
    return None, pd.util.hash_array(words, categorize=False)[codes]


@functools.lru_cache(maxsize=4)
def _places(n: int) -> ndarray:
    return 1.0 + np.arange(n) % 97


class Digests(dict[str, Digest]):
    """Digests of columns by name; + is those of both parts."""

    @classmethod
    def of(cls, columns: dict[str, Any]) -> Digests:
        """Of columns of some rows."""
        return cls((name, Digest.of(values)) for name, values in columns.items())

    def of_part(self, number: int) -> Digests:
        """Of rows that are a part of this number."""
        return Digests((name, digest.of_part(number)) for name, digest in self.items())

    def __add__(self, other: Digests) -> Digests:
        both = {name: self[name] + other[name] for name in self.keys() & other.keys()}
        return Digests({**self, **other, **both})


@dataclass(frozen=True)
class Watched:
    """A sum over parts, and digests of what was read for it."""

    value: Any
    digests: Digests

    def __add__(self, other: Watched) -> Watched:
        a, b = self.value, other.value
        return Watched(b if a is None else a if b is None else a + b, self.digests + other.digests)


class Ledger:
    """What a source gave at first, column by column.

    Parameters
    ----------
    kind : str
        What the source is, for messages.
    parts : bool
        Whether its first pass is of the same parts as others.
    """

    def __init__(self, kind: str, parts: bool = True):
        self.kind, self._parts = kind, parts
        self._known: dict[str, tuple[Digest, bool]] = {}

    def checked(self, found: Watched | None) -> Any:
        """The sum, if what was read for it is the same as before."""
        if found is None:
            return None
        self.check(found.digests)
        return found.value

    def check(self, found: Digests) -> None:
        """Take note of columns that were read.

        Raises
        ------
        DataError
            One of them is not what it was.
        """
        for name, digest in found.items():
            before, places = self._known.get(name, (digest, True))
            if not digest.like(before, places):
                rows = f"{digest.n} rows of data, and {before.n} at first"
                raise other_values(self.kind, of_column(name) if digest.n == before.n else rows)
        parts, self._parts = self._parts, True
        self._known |= {name: (digest, parts) for name, digest in found.items()}


def other_values(kind: str, what: str) -> DataError:
    """The error of a source that gives something else when it is read again."""
    return DataError(
        f"{kind} gives {what}: {AGAIN} it is read, also after the fit. Fit again, or use a fit to a table in memory"
    )


def of_column(name: str) -> str:
    """What it gives of a column that has changed."""
    return f'other values of "{name}" than at first'
