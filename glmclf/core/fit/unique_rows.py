"""Repeated rows: where regressors are discrete, a likelihood is a sum over distinct rows, which may be far fewer.

Rows that agree in X and in the offset have the same linear predictor, so that only the sums of their responses and
weights count. Distinct rows are found without sorting: each column of small range is a digit of a mixed-radix number.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from glmclf.core.design.dense import Dense
from glmclf.core.design.factor import FactorColumns
from glmclf.core.design.pieces import from_pieces
from glmclf.core.likelihood.pointwise import Binomial, Multinomial
from glmclf.core.rows.blocks import Blocks
from glmclf.core.rows.observations import Observations

MIN_ROWS_TO_SEARCH = 20_000  # rows from which looking for repeated ones pays
MIN_ROWS_PER_UNIQUE = 8  # rows for each distinct one for which it pays
MAX_TABLE_SIZE = 2**16  # numbers that are counted as they come; more are first reduced to those that occur
ROWS_OF_A_GLANCE = 500  # rows that tell whether a column may be discrete
MAX_FRACTIONAL_LEVELS = 100  # distinct numbers of a column that are no whole ones
MIN_CHUNK_ROWS = 2**14  # rows of a block of keys


class RadixColumn(NamedTuple):
    """A column of small range: code + radix choices, or numbers and their sorted levels.

    Attributes
    ----------
    values : (n,) ndarray
        Codes from 0, or numbers.
    radix : int
        How many codes there may be.
    low : float or None
        The smallest of whole numbers; None for codes.
    levels : ndarray or None
        Numbers that are not all whole ones.
    """

    values: ndarray
    radix: int
    low: float | None = None
    levels: ndarray | None = None

    def codes(self, values: ndarray) -> tuple[ndarray, bool]:
        """Codes of some rows, and whether they tell the numbers exactly."""
        if self.low is None:
            return values, True
        if self.levels is None:
            shifted = values.astype(np.float64, copy=False) - self.low
            codes = shifted.astype(np.int32)
            return codes, bool((codes == shifted).all())
        codes = np.minimum(np.searchsorted(self.levels, values), self.radix - 1).astype(np.int32)
        return codes, bool((self.levels[codes] == values).all())


def distinct_rows(
    likelihood: Binomial | Multinomial,
    X: Any,
    y: ndarray,
    trials: ndarray | None,
    offset: ndarray | None,
    weights: ndarray | None,
    n_threads: int | None = None,
) -> Observations | None:
    """The distinct rows of a design and an offset with their counts; None unless they are found cheaply and few.

    Their responses and trials are what the rows that are equal to each add up to, with their weights in them.
    """
    found = _kinds(X, offset, n_threads)
    if found is None:
        return None
    key, rows = found
    there = rows > 0
    counts = _counts(likelihood, key, len(rows), y, trials, weights, n_threads)
    rows, counts = rows[there] - 1, counts[there]
    y = counts if isinstance(likelihood, Multinomial) else counts[:, 1]
    return Observations(taken(X, rows), y, counts.sum(axis=1), None if offset is None else offset[rows], None)


def equal_rows(X: Any) -> tuple[ndarray, ndarray] | None:
    """Place of one row of each kind, (u,), and the kind of each row, (n,); None unless they are
    found cheaply and few."""
    found = _kinds(X, None, None)
    if found is None:
        return None
    key, rows = found
    there = rows > 0
    return rows[there] - 1, (np.cumsum(there) - 1).astype(np.int32)[key]


def _kinds(X: Any, offset: ndarray | None, n_threads: int | None) -> tuple[ndarray, ndarray] | None:
    """The number of each row's kind, (n,), and the place of a row of each number, from 1 on, 0 where there is none."""
    n = X.shape[0]
    if n < MIN_ROWS_TO_SEARCH or not isinstance(X, Dense | FactorColumns):
        return None
    found = _numbered(_digits(X, offset), n, n_threads)
    if found is None:
        return None
    rows = _places(*found)
    return None if MIN_ROWS_PER_UNIQUE * np.count_nonzero(rows) > n else (found[0], rows)


def taken(X: Dense | FactorColumns, rows: ndarray) -> Dense | FactorColumns:
    """Some rows, in whichever form makes a pass cheaper."""
    return X.subset(rows) if isinstance(X, Dense) else from_pieces(X.subset(rows).pieces, len(rows))


def of_counts(likelihood: Binomial | Multinomial) -> Binomial | Multinomial:
    """The likelihood of what distinct rows hold."""
    return Binomial(likelihood.link) if isinstance(likelihood, Binomial) else likelihood


# ------------------------------------------------------------------------------------------------ digits
def _digits(X: Dense | FactorColumns, offset: ndarray | None) -> Iterator[RadixColumn | None]:
    """Every column as a digit; None for one that is not discrete."""
    numbers, coded = list(X.X.T) if isinstance(X, Dense) else [], {}
    for piece in X.pieces if isinstance(X, FactorColumns) else ():
        numbers += [] if piece.numbers is None else list(piece.numbers.T)
        if piece.codes is not None:
            coded[id(piece.codes)] = RadixColumn(piece.codes, len(piece.contrast))
    if offset is not None:
        numbers += list(offset.reshape(len(offset), -1).T)
    if all(_may_be_discrete(values) for values in numbers):  # nothing large is read before a glance at all
        ends = ((values, float(values.min()), float(values.max())) for values in numbers)
        yield from (_digit(values, low, high) for values, low, high in ends if low != high)
        yield from coded.values()
    else:
        yield None


def _may_be_discrete(values: ndarray) -> bool:
    some = values[:: max(1, len(values) // ROWS_OF_A_GLANCE)]
    return bool((np.rint(some) == some).all()) or len(np.unique(some)) <= MAX_FRACTIONAL_LEVELS


def _digit(values: ndarray, low: float, high: float) -> RadixColumn | None:
    """A digit by what a glance shows; `RadixColumn.codes` tells whether it holds for every row."""
    levels = np.unique(values[:: max(1, len(values) // ROWS_OF_A_GLANCE)])
    if (np.rint(levels) == levels).all():
        return RadixColumn(values, int(high - low) + 1, low) if high - low < MAX_TABLE_SIZE else None
    return RadixColumn(values, len(levels), low, levels)


# ------------------------------------------------------------------------------------------------ numbers
def _numbered(digits: Iterator[RadixColumn | None], n: int, n_threads: int | None) -> tuple[ndarray, int] | None:
    """A number for each row, equal for equal rows, and how many numbers there may be; None if too many."""
    all_digits: list[RadixColumn] = []
    for digit in digits:
        if digit is None:
            return None
        all_digits.append(digit)
    key, size = np.zeros(n, dtype=np.int32), 1
    for digit in sorted(all_digits, key=lambda d: -d.radix):  # interactions before the factors that they hold
        if size * digit.radix > MAX_TABLE_SIZE:
            size = _reduced(key, size, n_threads)
            if MIN_ROWS_PER_UNIQUE * size > n or size * digit.radix > max(MAX_TABLE_SIZE, n // 2):
                return None

        def append(key, values, digit=digit):
            codes, exact = digit.codes(values)
            key *= np.int32(digit.radix)
            key += codes
            return 0 if exact else 1

        if Blocks(key, digit.values, size=MIN_CHUNK_ROWS, n_threads=n_threads).sum(append):
            return None
        size *= digit.radix
    return key, size


def _reduced(key: ndarray, size: int, n_threads: int | None) -> int:
    """Renumber the keys that occur, in place; returns how many do."""
    there = _places(key, size) > 0
    place = (np.cumsum(there) - 1).astype(np.int32)

    def renumber(key):
        key[:] = place[key]
        return 0

    Blocks(key, size=MIN_CHUNK_ROWS, n_threads=n_threads).sum(renumber)
    return int(there.sum())


def _places(key: ndarray, size: int) -> ndarray:
    """One row, from 1, that has each number; 0 for a number that no row has."""
    rows = np.zeros(size, dtype=np.int64)
    chunk = _chunk(size)
    for start in range(0, len(key), chunk):
        part = key[start : start + chunk]
        rows[part] = np.arange(start + 1, start + 1 + len(part))
    return rows


def _chunk(size: int) -> int:
    """Rows a block that outweigh a table of so many numbers."""
    return max(MIN_CHUNK_ROWS, 4 * size)


def _counts(likelihood, key, size, y, trials, weights, n_threads) -> ndarray:
    """Sums over equal rows of the counts of each class, (size, K); of two outcomes the failures come first."""
    K = _classes(likelihood, y)

    def of_classes(key, y, w, K=K):
        return np.bincount(key * np.int64(K) + y.astype(np.int64), weights=w, minlength=size * K)

    def of_counts(key, y, m, w):
        columns = y.T if y.ndim == 2 else ((1.0 if m is None else m) - y, y)
        return np.array([np.bincount(key, weights=c if w is None else w * c, minlength=size) for c in columns])

    if K is not None:
        blocks = Blocks(key, y, weights, size=_chunk(size * K), n_threads=n_threads)
        return blocks.sum(of_classes).reshape(size, K).astype(np.float64)
    return Blocks(key, y, trials, weights, size=_chunk(size), n_threads=n_threads).sum(of_counts).T


def _classes(likelihood: Binomial | Multinomial, y: ndarray) -> int | None:
    """Number of classes that y codes; None where y counts."""
    if isinstance(likelihood, Multinomial):
        return likelihood.K if y.ndim == 1 else None
    return 2 if likelihood.binary else None
