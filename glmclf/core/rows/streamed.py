"""Blocks of rows that come in parts from elsewhere, made anew in each pass: files, functions, other machines."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, Self

import numpy as np

from glmclf.core.design.dense import Dense
from glmclf.core.rows.asked import asked_for, takes_rows
from glmclf.core.rows.blocks import RUN_ROWS, Blocks
from glmclf.core.rows.summed import Summed, added_by
from glmclf.errors import DataError

MOST_GATHERED = 100_000_000  # numbers that are brought into memory: one a row and level, say


class RowsElsewhereError(NotImplementedError, AttributeError):
    """Error of what needs rows that are in a stream; an attribute that they do not have, to `hasattr`.

    Parameters
    ----------
    message : str, optional
        By default that what was called, by name, needs the rows.
    """

    def __init__(self, message: str | None = None):
        super().__init__(message or _needs_rows())


def _needs_rows() -> str:
    new = "give it new data, or " if takes_rows() else ""
    return (
        f"{asked_for()} needs the rows of the fit one by one, which are in a stream: {new}use a fit to a sample in "
        "memory. augment(source) has predictions of all rows, part by part"
    )


def rows_removed() -> DataError:
    """Error of what needs rows that nobody has any more."""
    return DataError(
        f"{asked_for()} needs the rows of the fit, which were removed or not saved, or are in a stream, "
        "which a pickle does not keep: pass new data, or fit again"
    )


class Elsewhere:
    """Stands where an array of rows would be; whatever asks for the numbers is refused.

    Parameters
    ----------
    shape : tuple of int
    """

    __array_ufunc__ = None

    def __init__(self, shape: tuple[int, ...]):
        self.shape, self.ndim = shape, len(shape)

    def __len__(self) -> int:
        return self.shape[0]

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise RowsElsewhereError()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    __array__ = __getitem__ = __iter__ = __matmul__ = __rmatmul__ = __add__ = __radd__ = _refuse
    __mul__ = __rmul__ = __sub__ = __rsub__ = __truediv__ = __rtruediv__ = __eq__ = __ne__ = __lt__ = __gt__ = _refuse
    __hash__ = None  # type: ignore[assignment]


class ColumnsElsewhere(Elsewhere):
    """Stands where Columns would be; how many they are and how they are worked on is known.

    Parameters
    ----------
    shape : tuple of int
    block_size : int
        Of Columns so wide.
    least_rcond : float
    """

    def __init__(self, shape: tuple[int, ...], block_size: int, least_rcond: float):
        super().__init__(shape)
        self.block_size, self.least_rcond = block_size, least_rcond

    gram = times = subset = toarray = Elsewhere._refuse


class Gathered(list):
    """A list whose sum with another is both, one after the other."""

    def __add__(self, other: list) -> Self:
        return type(self)([*self, *other])


class GatheredArrays(Gathered):
    """Arrays of rows in parts, gathered in memory if they are not too many."""

    def arrays(self) -> list[np.ndarray]:
        """The arrays that count."""
        return self

    def __add__(self, other: list) -> Self:
        both = super().__add__(other)
        check_gathered(sum(map(len, both.arrays())), sum(a.size for a in both.arrays()))
        return both


class Filter:
    """Arrays of a part restricted to the rows that are kept.

    Parameters
    ----------
    f : callable
        ``f(*arrays)`` gives the places of the rows that stay, and the arrays of these.
    """

    def __init__(self, f: Callable[..., tuple[np.ndarray, tuple]]):
        self.f = f


@dataclass(frozen=True)
class ColumnEnds(Summed):
    """Least and largest number of each column of an array, (q,)."""

    low: np.ndarray = field(metadata=added_by(np.minimum))
    high: np.ndarray = field(metadata=added_by(np.maximum))

    @classmethod
    def of(cls, values: np.ndarray) -> ColumnEnds:
        """Ends of the columns of some rows."""
        columns = values.reshape(len(values), -1)
        return cls(columns.min(axis=0), columns.max(axis=0))


class Streamed(Blocks):
    """Blocks of a stream: its sums, part by part, without the rows themselves.

    Parameters
    ----------
    stream : object
        Gives ``sum(f)``, the sum of ``f(*arrays, number)`` over parts with rows in their order, ``parts()``, an
        iterator over their arrays, and `prototype`, the arrays of a few rows.
    counts : dict of int
        Rows by number of the part.
    size : int, optional
        Rows a block; by default as of `Blocks`.
    n_threads : int, optional
        As of `Blocks`.
    of : sequence of callable or Filter
        What becomes of the arrays of a part, one after the other.
    number : (int, callable), optional
        How many arrays of a part are those of its rows, and ``number(*more)``, the numbers (n,) of the clusters of
        these, from the arrays after them.
    """

    streamed = True

    def __init__(
        self,
        stream: Any,
        counts: dict[int, int],
        size: int | None = None,
        n_threads: int | None = None,
        of: Sequence[Callable[..., tuple] | Filter] = (),
        number: tuple[int, Callable] | None = None,
    ):
        self.stream, self.counts, self.n = stream, counts, sum(counts.values())
        self._of, self._number, self._size = tuple(of), number, size
        self.n_threads = n_threads  # type: ignore[assignment]
        self.arrays = tuple(_elsewhere(a, self.n) for a in self.few())
        self.size = size or self.arrays[0].block_size

    def _made(self, *arrays: Any) -> tuple:
        return made(self._of, self._number, arrays)

    def few(self) -> tuple:
        """The arrays of a few rows."""
        return self._made(*self.stream.prototype)

    def __reduce__(self) -> Any:
        """Send another process sums, never the stream."""
        return _of_a_stream, ()

    def sum(self, f: Callable) -> Any:
        """Sum of ``f(*block)`` over the blocks of all parts in their order."""
        of, number, size, n_threads = self._of, self._number, self._size, self.n_threads

        def part(*arrays: Any) -> Any:
            blocks = Blocks(*made(of, number, arrays[:-1]), size=size, n_threads=n_threads)
            return blocks.sum(f) if blocks.n else None

        return self.stream.sum(part)

    def parts(self) -> Iterator[tuple]:
        """The arrays of each part."""
        return (self._made(*arrays) for arrays in self.stream.parts())

    def __iter__(self) -> Iterator[tuple]:
        for arrays in self.parts():
            yield from Blocks(*arrays, size=self._size, n_threads=self.n_threads)

    def sum_parts(self, f: Callable) -> Any:
        """Sum of ``f(*arrays)`` over parts."""
        of, number = self._of, self._number
        return self.stream.sum(lambda *arrays: f(*made(of, number, arrays[:-1])))

    def sum_numbered_parts(self, f: Callable) -> Any:
        """Sum of ``f(number, *arrays)`` over parts."""
        of, number = self._of, self._number
        return self.stream.sum(lambda *arrays: f(arrays[-1], *made(of, number, arrays[:-1])))

    def collect(self, f: Callable) -> Any:
        """``f(*arrays)`` of all rows in memory, if they are not too many."""

        def part(*arrays: Any) -> Gathered:
            found = f(*arrays)
            check_gathered(self.n, self.n * found[:1].size)
            return Gathered([found])

        return np.concatenate(self.sum_parts(part))

    def rechunk(self, size: int) -> Streamed:
        """The rows in blocks of another size."""
        return Streamed(self.stream, self.counts, size, self.n_threads, self._of, self._number)

    def map(self, f: Callable[..., tuple], size: int | None = None) -> Streamed:
        """``f(*arrays)`` in place of the arrays of each part."""
        return Streamed(self.stream, self.counts, size or self.size, self.n_threads, (*self._of, f))

    def filter(self, f: Callable[..., tuple[np.ndarray, tuple]], gone: Any) -> Streamed:
        """Some rows of each part, of which `gone`, its outcomes ruled out, says how many are left."""
        return Streamed(self.stream, gone.left, None, self.n_threads, (*self._of, Filter(f)))

    def with_codes(self, codes: Any, size: int | None = None) -> Streamed:
        """The rows with the numbers of their clusters, which are made part by part.

        Parameters
        ----------
        codes : object
            Gives `stream`, whose parts have more arrays after those of this one, and ``number(*more)``, (n,).
        """
        of, count, number = self._of, len(self.stream.prototype), codes.number
        return Streamed(codes.stream, self.counts, size or self._size, self.n_threads, of, (count, number))

    def middle(self, place: int) -> tuple[np.ndarray, np.ndarray]:
        """The middle of the range of the columns of an array, and half the range."""
        ends = self.sum(lambda *arrays: ColumnEnds.of(arrays[place]))
        return 0.5 * (ends.low + ends.high), 0.5 * (ends.high - ends.low)

    def arithmetic(self, per_row: float) -> float:
        """None that counts: a pass takes the time of reading the rows."""
        return 0.0

    def sample(self, most: int) -> Any:
        """Rows of the first array, in runs that are evenly spaced, in memory."""
        return self.every(max(1, self.n // most)).arrays[0]

    def every(self, step: int) -> Blocks:
        """Every `step`-th run of rows, in memory: the same rows however they are parted."""
        of, number, ends = self._of, self._number, np.cumsum([0, *self.counts.values()])
        starts = dict(zip(self.counts, ends.tolist(), strict=False))

        def some(*arrays: Any) -> Gathered:
            start, arrays = starts[arrays[-1]], made(of, number, arrays[:-1])
            at = start + np.arange(arrays[0].shape[0])
            rows = np.flatnonzero(at // RUN_ROWS % step == 0)
            return Gathered([tuple(_some(a, rows) for a in arrays)])

        parts = zip(*self.stream.sum(some), strict=True)
        arrays = [None if a is None else np.concatenate(few) for a, few in zip(self.arrays, parts, strict=True)]
        return Blocks(Dense(np.asfortranarray(arrays[0])), *arrays[1:], n_threads=self.n_threads)


class _SideBySide:
    """Stream of the rows of two blocks, in parts that neither of them cuts; they are as many, and in the same order."""

    def __init__(self, first: Blocks, second: Blocks):
        self._both, few = (first, second), (first.few(), second.few())
        least = slice(0, min(arrays[0].shape[0] for arrays in few))
        self.prototype = tuple(_cut(a, least) for arrays in few for a in arrays)

    def parts(self) -> Iterator[tuple]:
        """Arrays of the first, then of the second."""
        return _aligned(*(b.parts() for b in self._both))

    def sum(self, f: Callable) -> Any:
        """Sum of ``f(*arrays, number)`` over the parts."""
        return functools.reduce(operator.add, (f(*arrays, number) for number, arrays in enumerate(self.parts())))


def side_by_side(first: Blocks, second: Blocks, of: Callable[..., tuple]) -> Blocks:
    """Blocks of ``of(*arrays)``, the arrays of both, which are of the same rows, wherever they are."""
    if not (first.streamed or second.streamed):
        return Blocks(*of(*first.arrays, *second.arrays))
    blocks = Streamed(_SideBySide(first, second), {0: first.n}, n_threads=1, of=(of,))
    return blocks.rechunk(blocks.size)


def _aligned(first: Iterator[tuple], second: Iterator[tuple]) -> Iterator[tuple]:
    """Arrays of runs of rows which neither of two streams parts."""
    other: tuple = ()
    start = rows = 0
    for own in first:
        at, n = 0, own[0].shape[0]
        while at < n:
            if start == rows:
                other, start = next(second), 0
                rows = other[0].shape[0]
                continue
            run = min(n - at, rows - start)
            yield *(_cut(a, slice(at, at + run)) for a in own), *(_cut(a, slice(start, start + run)) for a in other)
            at, start = at + run, start + run
    next(second, None)  # a stream tells at its end whether its rows are those of before


def _cut(a: Any, rows: slice) -> Any:
    return None if a is None else a[rows]


def made(of: Sequence[Any], number: tuple[int, Callable] | None, arrays: tuple) -> tuple:
    """Arrays of a part after the steps upon them, and the numbers of the clusters of the rows that stay."""
    beside: tuple = ()
    if number is not None:
        arrays, beside = arrays[: number[0]], (number[1](*arrays[number[0] :]),)
    for f in of:
        if isinstance(f, Filter):
            rows, arrays = f.f(*arrays)
            beside = tuple(codes[rows] for codes in beside)
        else:
            arrays = f(*arrays)
    return (*arrays, *beside)


def check_gathered(n: int, numbers: int) -> None:
    """Raise RowsElsewhereError where the numbers of n rows are too many to be brought into memory."""
    if numbers > MOST_GATHERED:
        instead = "give it some of them as newdata=" if takes_rows() else "use a fit to a sample in memory"
        raise RowsElsewhereError(
            f"{asked_for()} brings numbers of each row into memory, and {n} rows have more than {MOST_GATHERED}: "
            f"{instead}"
        )


def _of_a_stream() -> Any:
    """Stand-in for `Streamed` in another process."""
    return None


def _elsewhere(a: Any, n: int) -> Any:
    if a is None:
        return None
    shape = (n, *a.shape[1:])
    return (
        ColumnsElsewhere(shape, a.block_size, getattr(a, "least_rcond", 0.0))
        if hasattr(a, "block_size")
        else Elsewhere(shape)
    )


def _some(a: Any, rows: np.ndarray) -> Any:
    if a is None:
        return None
    return np.asarray(a.subset(rows)[:].toarray(), dtype=float) if hasattr(a, "subset") else a[rows]
