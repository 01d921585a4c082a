"""Digests of the columns that a pass over a source reads, by which the next pass sees that they are others."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.rows.summed import Summed, added_by, joined
from glmclf.data.table.frame import MAX_EXACT_INTEGER, Column, read_column
from glmclf.errors import DataError

AGAIN = "it must give the same tables each time"
WRAP = 2**64
ODD = np.uint64(0x9E3779B97F4A7C15)
HASH_OF_MISSING = np.uint64(0xD1B54A32D192ED03)  # the hash of a value that is missing


def _wrapped(a: int, b: int) -> int:
    return (a + b) % WRAP


@dataclass(frozen=True)
class Digest(Summed):
    """Sum of a hash of each value of a column, modulo 2**64; + adds the digest of more rows.

    There is no tolerance: bits of numbers as float64 and of labels, equal for equal values of whatever type.

    Attributes
    ----------
    n : int
    alike : int
        Sum whatever the order of the rows.
    placed : int
        Sum of the products with an odd number by the place of the row.
    """

    n: int
    alike: int = field(metadata=added_by(_wrapped))
    placed: int = field(metadata=added_by(_wrapped))

    @classmethod
    def of(cls, values: Any) -> Digest:
        """Digest of a Column, a Series or an array."""
        codes = _codes(values)
        # integers: not by BLAS, whose threads wait for each other on a busy machine
        return cls(len(codes), int(codes.sum()), int(np.einsum("i,i", codes, _places(len(codes)))))

    def of_part(self, number: int) -> Digest:
        """Digest of rows that are the part of a number."""
        odd = int(pd.util.hash_array(np.array([number], dtype=np.uint64))[0]) | 1
        return Digest(self.n, self.alike, self.placed * odd % WRAP)

    def like(self, other: Digest, places: bool = True) -> bool:
        """Whether two digests are of the same rows; without places, whatever their order."""
        placed = not places or self.placed == other.placed
        return self.n == other.n and self.alike == other.alike and placed


def _codes(values: Any) -> ndarray:
    """Hash of each value of a column."""
    if isinstance(values, np.ndarray):
        return _of_numbers(values, None)
    if isinstance(values, pd.Series):
        if values.dtype.kind not in "biuf" and not isinstance(values.dtype, pd.CategoricalDtype):
            return _of_labels(*pd.factorize(values))
        if values.dtype.kind == "u":  # groups may be whole numbers that no float holds
            return _of_numbers(values.to_numpy(dtype=np.uint64, na_value=0), values.isna().to_numpy(dtype=bool))
        values = read_column(values, values.name)
    column: Column = values
    if column.kind in ("number", "bool"):
        return _of_numbers(np.asarray(column.values), column.missing)
    if column.kind == "other":
        return _of_labels(*pd.factorize(column.values))
    codes, categories = np.asarray(column.values.codes), column.values.categories
    with contextlib.suppress(DataError):  # of categories of several types, which have no order
        inner = read_column(pd.Series(categories.tolist(), dtype=object), "")
        if len(categories) and inner.kind in ("number", "bool"):
            return np.append(_of_numbers(np.asarray(inner.values), None), HASH_OF_MISSING)[codes]
    return _of_labels(codes, categories)


def _of_numbers(values: ndarray, missing: ndarray | None) -> ndarray:
    numbers = values.astype(np.float64)
    numbers += 0.0  # which makes 0 of -0
    bits: ndarray = numbers.view(np.uint64)
    if values.dtype.kind in "iu" and len(values) and (np.abs(numbers) >= MAX_EXACT_INTEGER).any():
        bits = bits + ODD * _below_floats(values, numbers)
    codes = pd.util.hash_array(bits)
    lost = np.isnan(numbers) if missing is None else missing | np.isnan(numbers)
    if lost.any():
        codes[lost] = HASH_OF_MISSING
    return codes


def _below_floats(values: ndarray, numbers: ndarray) -> ndarray:
    """Part of whole numbers that floats do not hold, modulo 2**64: 0 for those that floats hold."""
    held: ndarray = np.where(numbers >= 2.0**63, numbers - 2.0**64, numbers).astype(np.int64)
    return values.astype(np.uint64) - held.astype(np.uint64)


def _of_labels(codes: ndarray, labels: Iterable[Any]) -> ndarray:
    words = np.array([*map(str, labels)], dtype=object)
    return np.append(pd.util.hash_array(words, categorize=False), HASH_OF_MISSING)[codes]  # the last one is of code -1


@functools.lru_cache(maxsize=4)
def _places(n: int) -> ndarray:
    """An odd number for each of n places: products with it are as unlike as what is multiplied."""
    return pd.util.hash_array(np.arange(n, dtype=np.uint64)) | np.uint64(1)


class Digests(dict[str, Digest]):
    """Digests of columns by name; + adds those of another part."""

    @classmethod
    def of(cls, columns: dict[str, Any]) -> Digests:
        """Digests of the columns of some rows."""
        return cls((name, Digest.of(values)) for name, values in columns.items())

    def of_part(self, number: int) -> Digests:
        """Digests of rows that are the part of a number."""
        return Digests((name, digest.of_part(number)) for name, digest in self.items())

    def __add__(self, other: Digests) -> Digests:
        both = {name: self[name] + other[name] for name in self.keys() & other.keys()}
        return Digests({**self, **other, **both})


@dataclass(frozen=True)
class Watched(Summed):
    """A sum over parts, and digests of what was read for it."""

    value: Any = field(metadata=added_by(joined))
    digests: Digests


class Ledger:
    """Record of what a source gave at first, column by column.

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
    """Words for the new values of a column that has changed."""
    return f'other values of "{name}" than at first'
