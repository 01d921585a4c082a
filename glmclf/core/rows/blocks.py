"""Blocks: aligned arrays in blocks of rows. A pass over the data is a sum over blocks."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import itertools
import operator
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

PROTOTYPE_ROWS = 16  # rows that show what arrays are like
RUN_ROWS = 32  # rows side by side in every part of rows, which are cheaper to reach
MAX_BLOCKS_PER_GROUP = 2  # blocks that a worker adds up by itself: fewer of its awakenings
TRANSFORMED_ROWS = 2**14  # rows whose values are transformed at a time
MIN_GROUPS = 12  # groups of blocks, so that workers end together
EVEN_BLOCKS = 4  # number of which few blocks, of one size, are a multiple, for the same reason


class Blocks:
    """Aligned arrays (or Columns), cut into blocks of rows.

    Rows that do not fit in memory are `core.rows.streamed.Streamed`.

    Parameters
    ----------
    *arrays
        Arrays or Columns with n rows each; None stays None in every block.
    size : int, optional
        Rows a block; by default such that a worker's block stays in its cache.
    n_threads : int, optional
        Workers; by default one a processor, and one alone where the data are a single block, or within `alone`.
    """

    streamed = False  # whether the arrays are elsewhere

    def __init__(self, *arrays: Any, size: int | None = None, n_threads: int | None = None):
        self.arrays = arrays
        self.n = arrays[0].shape[0]
        self.size = size or _even(self.n, arrays[0].block_size)
        self.n_threads = 1 if _ALONE.get() else n_threads or processors()

    def __iter__(self) -> Iterator[tuple]:
        return map(self._cut, self._slices())

    def _slices(self) -> Iterator[slice]:
        return (slice(start, start + self.size) for start in range(0, self.n, self.size))

    def _cut(self, rows: slice) -> tuple:
        return tuple(None if a is None else a[rows] for a in self.arrays)

    def rechunk(self, size: int) -> Blocks:
        """The rows in blocks of another size."""
        return Blocks(*self.arrays, size=size, n_threads=self.n_threads)

    def map(self, f: Callable[..., tuple], size: int | None = None) -> Blocks:
        """``f(*arrays)`` in place of the arrays, row by row the same rows."""
        return Blocks(*f(*self.arrays), size=size or self.size, n_threads=self.n_threads)

    def filter(self, f: Callable[..., tuple[np.ndarray, tuple]], gone: Any) -> Blocks:
        """Some rows: ``f(*arrays)`` gives their places and what is in place of their arrays; `gone` is what separation
        rules out, by which a stream knows how many they are."""
        return Blocks(*f(*self.arrays)[1], n_threads=self.n_threads)

    def with_codes(self, codes: Any, size: int | None = None) -> Blocks:
        """The rows with one more array."""
        return self.map(lambda *arrays: (*arrays, codes), size)

    def few(self) -> tuple:
        """The arrays of the first rows."""
        return self._cut(slice(0, PROTOTYPE_ROWS))

    def parts(self) -> Iterator[tuple]:
        """The arrays of each part that rows come in, which are one here."""
        yield self.arrays

    def sum_parts(self, f: Callable[..., Any]) -> Any:
        """Sum of ``f(*arrays)`` over the parts that rows come in, which are one here."""
        return f(*self.arrays)

    def collect(self, f: Callable[..., Any]) -> Any:
        """``f(*arrays)``: an array with an entry a row."""
        return f(*self.arrays)

    def sample(self, most: int) -> Any:
        """Rows of the first array, evenly spaced: all of them, or between `most` and twice as many."""
        return self.arrays[0][: self.n : max(1, self.n // most)]

    def middle(self, place: int) -> tuple[np.ndarray, np.ndarray]:
        """A typical value of the columns of an array and the largest distance from it, (q,) each: the median."""
        values = self.arrays[place].reshape(self.n, -1)
        middle = np.median(values, axis=0)
        return middle, np.abs(values - middle).max(axis=0)

    def arithmetic(self, per_row: float) -> float:
        """Arithmetic of a pass over the rows, if it is what a pass takes its time for."""
        return self.n * per_row

    def every(self, step: int) -> Blocks:
        """Every `step`-th run of rows."""
        rows = (np.arange(0, self.n, RUN_ROWS * step)[:, None] + np.arange(RUN_ROWS)).ravel()
        rows = rows[rows < self.n]
        parts = (a.subset(rows) if hasattr(a, "subset") else None if a is None else a[rows] for a in self.arrays)
        return Blocks(*parts, n_threads=self.n_threads)

    def sum(self, f: Callable) -> Any:
        """Sum of ``f(*block)`` over the blocks, added in the order of the blocks whatever the number of threads."""
        if self.n <= self.size:
            return functools.reduce(operator.add, itertools.starmap(f, self))
        with one_blas_thread():
            groups = _groups(self._slices(), max(1, min(MAX_BLOCKS_PER_GROUP, self.n // self.size // MIN_GROUPS)))
            if self.n_threads == 1:
                return functools.reduce(operator.add, (self._sum(f, *rows) for rows in groups))
            with ThreadPoolExecutor(self.n_threads) as pool:
                parts = ordered_map(pool, functools.partial(self._sum, f), groups, 4 * self.n_threads)
                return functools.reduce(operator.add, parts)

    def _sum(self, f: Callable, *slices: slice) -> Any:
        """Sum over groups of blocks, which a worker cuts itself: rows that are made or widened when used are so one
        block at a time."""
        return functools.reduce(operator.add, (f(*self._cut(rows)) for rows in slices))


def _even(n: int, size: int) -> int:
    """Rows a block, no more than `size`, that leave no worker alone with the last of few blocks."""
    count = -(-n // size)
    return size if count <= 1 or count > MIN_GROUPS else -(-n // (EVEN_BLOCKS * -(-count // EVEN_BLOCKS)))


def _groups(slices: Iterator[slice], size: int) -> Iterator[tuple]:
    """Slices by `size`: what a worker is given at once."""
    while group := tuple(itertools.islice(slices, size)):
        yield group


def linear(X: Any, b: np.ndarray) -> np.ndarray:
    """Products X b, (n,) or (n, q), of Columns block by block, so that rows that are made when used
    are never all there."""
    if not hasattr(X, "block_size"):
        return X @ b
    if X.shape[0] <= X.block_size:
        return X[:] @ b
    out = np.empty((X.shape[0], *b.shape[1:]), order="F")
    for start in range(0, X.shape[0], X.block_size):
        rows = slice(start, start + X.block_size)
        out[rows] = X[rows] @ b
    return out


def in_place(f: Callable, values: np.ndarray) -> np.ndarray:
    """Apply ``f(rows)`` to rows of an array in their place, block by block."""
    for start in range(0, max(len(values), 1), TRANSFORMED_ROWS):
        rows = slice(start, start + TRANSFORMED_ROWS)
        values[rows] = f(values[rows])
    return values


def ordered_map(pool: ThreadPoolExecutor, f: Callable, blocks: Iterator[tuple], ahead: int) -> Iterator:
    """Results in order, with at most `ahead` blocks under way, so that partial sums don't pile up."""
    waiting = [_submit(pool, f, b) for b in itertools.islice(blocks, ahead)]
    while waiting:
        yield waiting.pop(0).result()
        waiting.extend(_submit(pool, f, b) for b in itertools.islice(blocks, 1))


def _submit(pool: ThreadPoolExecutor, f: Callable, block: tuple) -> Future:
    """Submit a task with the caller's numpy error state, which is a context variable."""
    return pool.submit(contextvars.copy_context().run, f, *block)


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def _blas_controller():
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _give_up_control() -> None:
    """Let any thread set BLAS's threads: by newer versions of threadpoolctl only the first one that did so may, and
    whatever others ask for is passed over without a word."""
    from threadpoolctl import OpenBLASController

    if hasattr(OpenBLASController, "clear_controlling_thread"):
        OpenBLASController.clear_controlling_thread(force=True)


class _OneBlasThread:
    """A limit that threads hold together: the first sets it, the last to leave takes it off."""

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                _give_up_control()
                self._limit = _blas_controller().limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *_: Any) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                _give_up_control()
                self._limit.restore_original_limits()
                _give_up_control()


_ONE_BLAS_THREAD = _OneBlasThread()
_ALONE = contextvars.ContextVar("alone", default=False)


def one_blas_thread() -> _OneBlasThread:
    """BLAS with one thread a worker: two competing pools are far slower than either."""
    return _ONE_BLAS_THREAD


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """One worker, with one BLAS thread, for the `Blocks` of a task that has others beside it."""
    token = _ALONE.set(True)
    try:
        with one_blas_thread():
            yield
    finally:
        _ALONE.reset(token)
