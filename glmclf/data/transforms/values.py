"""The numbers that a transform remembers: in memory, or over a stream of which only sums over chunks can be had.

What needs more than the moments is a generator. It yields functions `f(x, times)` of a chunk and of its frequency
weights (None without), is sent their sums over all chunks and returns its result; `together` runs several, so that
they share passes. The functions hold little and can be pickled: they may run in other processes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.core.rows.summed import Summed, SumsSideBySide, added_by, stacked

BITS_PER_PASS = 16  # bits, of a number's 64, that a pass settles
MAX_SORTED_VALUES = 200_000  # candidates that are sorted at once
MAX_DISTINCT_VALUES = 2_000_000  # distinct values that are held at a time
TOP = np.uint64(1 << 63)

T = TypeVar("T")
Steps = Generator[Callable[..., Any], Any, T]


# ----------------------------------------------------------------------------------------------------------- sums
def _side_by_side(functions: list[Callable[..., Any]], x: ndarray, times: ndarray | None) -> SumsSideBySide:
    return SumsSideBySide(f(x, times) for f in functions)


def together(*steps: Generator[Any, Any, Any]) -> Steps[list[Any]]:
    """Run generators side by side: what they ask for next is summed in one pass. Returns their results."""
    results: list[Any] = [None] * len(steps)
    asked: dict[int, Any] = {}

    def advance(i: int, answer: Any) -> None:
        asked.pop(i, None)
        try:
            asked[i] = steps[i].send(answer)
        except StopIteration as stop:
            results[i] = stop.value

    for i in range(len(steps)):
        advance(i, None)
    while asked:
        places = sorted(asked)
        sums = yield partial(_side_by_side, [asked[i] for i in places])
        for i, part in zip(places, sums):
            advance(i, part)
    return results


@dataclass
class Moments:
    """Count, range, mean and squares of deviations; + merges two sets of rows (Chan, Golub & LeVeque 1983).

    The mean is `mean + rest`, two doubles: the difference of two means keeps its digits far from 0.
    """

    n: int
    low: Any
    high: Any
    mean: Any
    rest: Any
    squares: Any

    @classmethod
    def of(cls, x: ndarray, times: ndarray | None) -> Moments:
        """Moments of the rows of x, (n,) or (n, columns)."""
        with np.errstate(all="ignore"):  # the squares of huge numbers are infinite, and seldom asked for
            n = _count(x, times)
            mean = _weighted(x, times) / n
            rest = _weighted(x - mean, times) / n
            squares = _weighted((x - mean) ** 2, times) - n * rest**2
        return cls(n, x.min(axis=0), x.max(axis=0), mean, rest, squares)

    def __add__(self, other: Moments) -> Moments:
        n, low, high = self.n + other.n, np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        with np.errstate(all="ignore"):
            apart = (other.mean - self.mean) + (other.rest - self.rest)
            move = self.rest + apart * (other.n / n)
            mean = self.mean + move
            squares = self.squares + other.squares + apart**2 * (self.n * (other.n / n))
            return Moments(n, low, high, mean, move - (mean - self.mean), squares)


def _count(x: ndarray, times: ndarray | None) -> int:
    return len(x) if times is None else int(times.sum())


def _weighted(x: ndarray, times: ndarray | None) -> Any:
    """Sum over rows, each as often as its weight says."""
    return x.sum(axis=0) if times is None else times @ x


@dataclass
class _Least:
    """The smallest distinct values, at most so many; + is their union."""

    values: ndarray
    most: int

    def __add__(self, other: _Least) -> _Least:
        return _Least(np.union1d(self.values, other.values)[: self.most], self.most)


def _least(most: int, above: float, low: float, high: float, x: ndarray, times: ndarray | None) -> _Least:
    return _Least(np.unique(x[(x > above) & (x >= low) & (x <= high)])[:most], most)


# -------------------------------------------------------------------------------------------------------- values
class Values:
    """Numbers x, (n,) or (n, columns), each row as often as its frequency weight says.

    Attributes
    ----------
    n : int
        Rows.
    low, high, mean : float or (columns,) ndarray
        Smallest, largest and mean value.
    squares : float or (columns,) ndarray
        Sum of squared deviations from the mean.
    total : longdouble or ndarray of them
        Sum of the values.
    reach : tuple of numbers
        Ends of what shall have a value without extrapolation: the smallest and the largest value or, where some rows
        stand for all rows of a fit, those of all.
    """

    n: int
    low: Any
    high: Any
    mean: Any
    squares: Any
    total: Any

    @property
    def reach(self) -> tuple[Any, Any]:
        """Ends of what shall have a value without extrapolation."""
        return self.low, self.high

    @property
    def std(self) -> float:
        """Standard deviation, of divisor n."""
        return float(np.sqrt(self.squares / self.n))

    def sum(self, f: Callable[..., Any]) -> Steps[Any]:
        """The sum over chunks of `f(x, times)`, something with +."""
        return (yield f)

    def quantiles(self, probs: ndarray) -> Steps[ndarray]:
        """Quantiles of (n,) values by linear interpolation, numpy's default."""
        below, above, share = _neighbours(self.n, probs)
        ranks, where = np.unique(np.concatenate([below, above]), return_inverse=True)
        found = (yield from self._ranked(ranks))[where]
        return _between(found[: len(below)], found[len(below) :], share)

    def distinct(self, bound: int) -> Steps[int]:
        """The number of distinct values of (n,) values; bound + 1 where there are more than `bound`."""
        raise NotImplementedError

    def distinct_quantiles(self, probs: ndarray, low: float, high: float) -> Steps[tuple[ndarray, int]]:
        """Quantiles of the distinct values from `low` to `high`, each counted once, and their number.

        Without any value there the quantiles are empty.
        """
        raise NotImplementedError

    def _ranked(self, ranks: ndarray) -> Steps[ndarray]:
        """Values of these ranks, from 0; ranks increase."""
        raise NotImplementedError


def _neighbours(n: int, probs: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """Ranks on either side of a quantile, and its share of the way between them."""
    place = (n - 1) * np.asarray(probs, dtype=np.float64)
    below = np.minimum(np.floor(place).astype(np.int64), n - 1)
    return below, np.minimum(below + 1, n - 1), place - below


def _between(below: ndarray, above: ndarray, share: ndarray) -> ndarray:
    """Interpolation between two values as numpy does it, to the last bit."""
    return np.array([np.quantile([a, b], s) for a, b, s in zip(below, above, share)], dtype=np.float64)


class InMemory(Values):
    """Values in memory."""

    def __init__(self, x: ndarray, times: ndarray | None = None, every: ndarray | None = None):
        self.x, self.times, self.n = x, times, _count(x, times)
        self.every = x if every is None else every

    @cached_property
    def reach(self) -> tuple[Any, Any]:
        """Smallest and largest value of all rows for which these stand."""
        return self.every.min(axis=0), self.every.max(axis=0)

    @cached_property
    def low(self) -> Any:
        """Smallest value."""
        return self.x.min(axis=0)

    @cached_property
    def high(self) -> Any:
        """Largest value."""
        return self.x.max(axis=0)

    @cached_property
    def mean(self) -> Any:
        """Mean of the values."""
        return self.x.mean(axis=0) if self.times is None else self.times @ self.x / self.n

    @cached_property
    def squares(self) -> Any:
        """Sum of squared deviations from the mean."""
        return _weighted((self.x - self.mean) ** 2, self.times)

    @cached_property
    def total(self) -> Any:
        """Sum of the values."""
        if self.times is None:
            return np.sum(self.x, axis=0, dtype=np.longdouble)
        return self.times.astype(np.longdouble) @ self.x

    def quantiles(self, probs: ndarray) -> Steps[ndarray]:
        """Quantiles of the values, by linear interpolation."""
        return np.quantile(self.x, probs) if self.times is None else (yield from super().quantiles(probs))

    def distinct(self, bound: int) -> Steps[int]:
        """The number of distinct values; the first rows tell as a rule that there are more than `bound`."""
        yield from ()
        some = len(np.unique(self.x[: 8 * bound + 1000]))
        return min(some if some > bound else len(np.unique(self.x)), bound + 1)

    def distinct_quantiles(self, probs: ndarray, low: float, high: float) -> Steps[tuple[ndarray, int]]:
        """Quantiles of the distinct values."""
        yield from ()
        values = np.unique(self.x[(low <= self.x) & (self.x <= high)])
        return (np.quantile(values, probs) if len(values) else values), len(values)

    def _ranked(self, ranks: ndarray) -> Steps[ndarray]:
        yield from ()
        assert self.times is not None
        order = np.argsort(self.x)
        return self.x[order[np.searchsorted(np.cumsum(self.times[order]), ranks, side="right")]]


class StreamedValues(Values):
    """Values in a stream, of which a pass has given the moments."""

    def __init__(self, moments: Moments):
        self.n, self.low, self.high, self.squares = moments.n, moments.low, moments.high, moments.squares
        self.mean = moments.mean + moments.rest
        self.total = moments.n * (np.longdouble(1) * moments.mean + moments.rest)

    def distinct(self, bound: int) -> Steps[int]:
        """The number of distinct values up to a bound, in one pass."""
        return len((yield partial(_least, bound + 1, -np.inf, -np.inf, np.inf)).values)

    def distinct_quantiles(self, probs: ndarray, low: float, high: float) -> Steps[tuple[ndarray, int]]:
        """Quantiles of the distinct values: counted in segments of `MAX_DISTINCT_VALUES`, a pass each,
        which bounds memory."""
        most, above, start = MAX_DISTINCT_VALUES, [], -np.inf
        while True:
            found = (yield partial(_least, most, start, low, high)).values
            above.append(start)
            if len(found) < most:
                break
            start = float(found[-1])
        count = most * (len(above) - 1) + len(found)
        if not count:
            return np.empty(0), 0
        below, over, share = _neighbours(count, probs)
        wanted = sorted(set((np.concatenate([below, over]) // most).tolist()))
        again = [j for j in wanted if j < len(above) - 1]
        segments = dict(zip(again, (yield from together(*(_segment(most, above[j], low, high) for j in again)))))
        segments[len(above) - 1] = found
        at = [np.array([segments[r // most][r % most] for r in ranks.tolist()]) for ranks in (below, over)]
        return _between(at[0], at[1], share), count

    def _ranked(self, ranks: ndarray) -> Steps[ndarray]:
        """Values by rank: their 64-bit keys are narrowed down `BITS_PER_PASS` bits a pass, until few
        candidates are left."""
        low, high = _keys(np.array([self.low, self.high], dtype=np.float64))
        search = _Search(np.array([low]), high - low, np.zeros(len(ranks), dtype=np.intp), ranks, self.n)
        while search.candidates > MAX_SORTED_VALUES and search.last:
            search = search.narrowed((yield partial(_histogram, search.starts, search.last, search.shift)))
        if not search.last:
            return _numbers(search.starts[search.where])
        return search.found((yield partial(_gather, search.starts, search.last)))


def _segment(most: int, above: float, low: float, high: float) -> Steps[ndarray]:
    return (yield partial(_least, most, above, low, high)).values


# --------------------------------------------------------------------------------------------------- order statistics
@dataclass
class _Search:
    """Intervals of keys that hold the wanted ranks.

    Attributes
    ----------
    starts : (i,) uint64 ndarray
        First keys of the intervals, increasing.
    last : uint64
        The last key of each, counted from its first.
    where : (r,) ndarray
        The interval of each rank.
    ranks : (r,) ndarray
        Ranks, counted from the first row of their interval.
    candidates : int
        Rows in all intervals.
    """

    starts: ndarray
    last: Any
    where: ndarray
    ranks: ndarray
    candidates: int

    @property
    def shift(self) -> Any:
        """Bits of a key that a bin of the histogram leaves open."""
        return np.uint64(max(int(self.last).bit_length() - BITS_PER_PASS, 0))

    def narrowed(self, counts: ndarray) -> _Search:
        """Search narrowed to the bins that hold the ranks, from the histogram of each interval."""
        upto = np.cumsum(counts, axis=1)
        bins = np.array([np.searchsorted(upto[i], r, side="right") for i, r in zip(self.where, self.ranks)])
        ranks = self.ranks - (upto[self.where, bins] - counts[self.where, bins]).astype(np.int64)
        starts, first, where = np.unique(
            self.starts[self.where] + (bins.astype(np.uint64) << self.shift), return_index=True, return_inverse=True
        )
        candidates = int(counts[self.where, bins][first].sum())
        return _Search(starts, (np.uint64(1) << self.shift) - np.uint64(1), where, ranks, candidates)

    def found(self, rows: _Rows) -> ndarray:
        """Values by rank among the candidates."""
        order = np.argsort(rows.keys)
        keys = rows.keys[order]
        first = np.searchsorted(keys, self.starts)[self.where]
        if rows.times is None:
            return _numbers(keys[first + self.ranks])
        upto = np.concatenate([[0], np.cumsum(rows.times[order])])
        return _numbers(keys[np.searchsorted(upto, upto[first] + self.ranks, side="right") - 1])


@dataclass
class _Rows(Summed):
    """Keys and frequency weights of some rows; + joins them."""

    keys: ndarray = field(metadata=added_by(stacked))
    times: ndarray | None = field(metadata=added_by(stacked))


def _keys(x: ndarray) -> ndarray:
    """Whole numbers in the order of the doubles x; -0.0 is 0.0."""
    bits = (x + 0.0).view(np.uint64)
    return np.where(bits >= TOP, ~bits, bits | TOP)


def _numbers(keys: ndarray) -> ndarray:
    """Doubles with the keys given."""
    return np.where(keys >= TOP, keys ^ TOP, ~keys).view(np.float64)


def _inside(starts: ndarray, last: Any, keys: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """Rows inside an interval, their intervals, and their keys counted from the first."""
    i = np.searchsorted(starts, keys, side="right") - 1
    offset = keys - starts[i]
    inside = (i >= 0) & (offset <= last)
    return inside, i[inside], offset[inside]


def _histogram(starts: ndarray, last: Any, shift: Any, x: ndarray, times: ndarray | None) -> ndarray:
    """Rows in each bin of each interval, (intervals, bins)."""
    inside, i, offset = _inside(starts, last, _keys(x))
    size = int(last >> shift) + 1
    bins = i * size + (offset >> shift).astype(np.intp)
    weights = None if times is None else times[inside]
    return np.bincount(bins, weights, minlength=size * len(starts)).reshape(len(starts), size)


def _gather(starts: ndarray, last: Any, x: ndarray, times: ndarray | None) -> _Rows:
    keys = _keys(x)
    inside = _inside(starts, last, keys)[0]
    return _Rows(keys[inside], None if times is None else times[inside])
