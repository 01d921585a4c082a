"""Dask DataFrames: sums over partitions as tasks that are added in a fixed order.

The shape of the tree by which sums are added depends on the number of partitions alone, and what is summed lies in
memory as if it had never been sent, so that results are the same to the last bit whatever the workers do and however
small partitions are taken together. Workers keep nothing that Dask cannot make again: one may be lost in mid-fit.
"""

from __future__ import annotations

import functools
import pickle
import uuid
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from glmclf.core.blocks import alone
from glmclf.data.frame import close_to, quoted
from glmclf.data.sources import AGAIN, Place, Source, joined, of_part, of_rows, some_of, with_columns
from glmclf.errors import DataError

KIND = "the Dask DataFrame"
TOGETHER = 2**17  # rows of small partitions that are one task
A_WORKER = 4  # tasks that a worker has at the least, if there are so many partitions
FEW = 2000  # rows that show what the others are like
LEVELS = 3  # of the tree of sums that are one task

Range = tuple[int, int]


class Dask(Source):
    """The partitions of a Dask DataFrame, numbered from 0 as in ``ddf.partitions``.

    Parameters
    ----------
    data : dask.dataframe.DataFrame

    Raises
    ------
    DataError
        Another collection of Dask's.
    """

    kind = KIND

    def __init__(self, data: Any):
        self._data = frame_of(data)
        self.names = list(data.columns)
        self._parts: dict[tuple | None, list[Any]] = {}
        self._counts: list[int] | None = None
        self._kept: dict[int, tuple[str, dict[Range, Any]]] = {}

    def _tables(self, columns: list[str] | None) -> Iterator[tuple[pd.DataFrame, Place]]:
        for number, part in enumerate(self._partitions(columns)):
            yield self._computed(part), place_of(number)

    def first(self, columns: list[str] | None = None) -> pd.DataFrame:
        """Some rows of the first partition that has any; the others stay where they are."""
        import dask

        for number, part in enumerate(self._partitions(columns)):
            few = self._computed(dask.delayed(_few)(part))
            table = with_columns(few, self.names if columns is None else columns, place_of(number), KIND)
            if len(table):
                break
        return table

    def first_of_rows(self, reader: Callable, most: int, columns: list[str] | None = None) -> tuple:
        """The first rows, `most` at most, of the first partition of which the reader finds some."""
        import dask

        work = self._sent(functools.partial(_read_few, reader, self.names if columns is None else columns, most))
        for number, part in enumerate(self._partitions(columns)):
            if arrays := _loaded(self._computed(dask.delayed(_sum)(work, number, [part]))):
                return arrays
        raise DataError(f"{KIND} gave rows at first and none when it was computed again: {AGAIN}")

    def sum(self, f: Callable[[pd.DataFrame, Place], Any], columns: list[str] | None = None) -> Any:
        """Sum of ``f(table, place)`` over the partitions, each in a task."""
        parts = self._partitions(columns)
        wanted = self.names if columns is None else columns
        inputs: dict[Range, Any] = {(i, j): [part.key for part in parts[i:j]] for i, j in self._leaves(len(parts))}
        found = self._total(functools.partial(_of_table, f, wanted), inputs, parts[0].dask, len(parts))
        self._counts = found.rows
        return found.value

    def sum_of_rows(self, reader: Callable, f: Callable, columns: list[str] | None = None) -> Any:
        """Sum of ``f(*reader(table, place), place.number)`` over the partitions; a cluster keeps the arrays."""
        client = self._client()
        if client is None:
            return self.sum(lambda table, place: of_rows(f, reader(table, place), place), columns)
        n = len(self._partitions(columns))
        try:
            kept = self._arrays(client, reader, columns)
            inputs = {run: arrays.key for run, arrays in kept.items()}
            graph = {key: value for arrays in kept.values() for key, value in dict(arrays.dask).items()}
            return self._total(functools.partial(_of_arrays, f), inputs, graph, n)
        except BaseException:  # an interrupt, too: what is kept, or about to be, is given back
            self._kept.pop(id(reader), None)
            raise

    def _arrays(self, client: Any, reader: Callable, columns: list[str] | None) -> dict[Range, Any]:
        """What the reader makes of the partitions, kept by the workers as long as the reader lives."""
        import dask

        name, kept = self._kept.get(id(reader), ("", {}))
        if name == client.id:
            return kept
        if not name:
            weakref.finalize(reader, self._kept.pop, id(reader), None).atexit = False
        parts, new = self._partitions(columns), _named("rows")
        runs = self._leaves(len(parts))
        layer: dict[Any, Any] = {(new, i, j): (Kept.of, new, i, [part.key for part in parts[i:j]]) for i, j in runs}
        layer[new] = self._sent(functools.partial(_read, reader, columns or self.names))
        made = dask.persist(*_tasks(list(layer)[:-1], new, layer, parts[0].dask))
        kept = dict(zip(runs, made, strict=True))
        self._kept[id(reader)] = client.id, kept
        return kept

    # ---------------------------------------------------------------------------------------------------- tasks
    def _partitions(self, columns: list[str] | None) -> list[Any]:
        """Each partition, delayed, with these columns."""
        key = None if columns is None else tuple(columns)
        if key not in self._parts:
            absent = [name for name in columns or [] if name not in self.names]
            if absent:
                raise DataError(f"{KIND} has no column {quoted(absent)}. {close_to(str(absent[0]), self.names)}")
            self._parts[key] = (self._data if columns is None else self._data[columns]).to_delayed()
        return self._parts[key]

    def _leaves(self, n: int) -> list[Range]:
        """Runs of partitions that are one task each: subtrees of few rows, once the rows are known."""
        if self._counts is None:
            return [(i, i + 1) for i in range(n)]
        ends = np.cumsum([0, *self._counts])
        most = min(TOGETHER, ends[-1] // (A_WORKER * self._workers()))
        leaves, waiting = [], [(0, n)]
        while waiting:
            i, j = waiting.pop()
            if j - i == 1 or ends[j] - ends[i] <= most:
                leaves.append((i, j))
            else:
                waiting += [(_middle(i, j), j), (i, _middle(i, j))]
        return leaves

    def _total(self, f: Callable, inputs: dict[Range, Any], graph: Any, n: int) -> Any:
        """Sum of ``f(input, place)`` over the n partitions; inputs are keys of the graph."""
        name = _named("sum")
        layer: dict[Any, Any] = {name: self._sent(f)}

        def sums(i: int, j: int, levels: int) -> Any:
            """Keys of sums, as a tree of pairs so many levels deep."""
            if (i, j) in inputs:
                layer[name, i, j] = (_sum, name, i, inputs[i, j])
            elif levels:
                return [sums(i, _middle(i, j), levels - 1), sums(_middle(i, j), j, levels - 1)]
            else:
                layer[name, i, j] = (_added, sums(i, j, LEVELS))
            return name, i, j

        found = _loaded(self._computed(*_tasks([sums(0, n, 0)], name, layer, graph)))
        if self.watch is not None:
            self.watch(n - 1)
        return found

    def _computed(self, task: Any) -> Any:
        """What a task gives; its own error where it has one."""
        import dask

        try:
            return dask.compute(task)[0]
        except PartitionError as failed:
            error = failed.error
        except Exception as failed:
            if type(failed).__module__.partition(".")[0] in ("dask", "distributed"):
                raise
            error = DataError(
                f"{KIND} cannot be computed: {type(failed).__name__}: {failed}. ddf.partitions[i].compute() shows "
                "which partition it is."
            )
            error.__cause__ = failed
        raise error.with_traceback(None)

    def _get(self) -> Any:
        from dask.base import get_scheduler

        return get_scheduler(collections=[self._data])

    def _client(self) -> Any:
        """The distributed client in use, if there is one."""
        owner = getattr(self._get(), "__self__", None)
        return owner if hasattr(owner, "scheduler_info") else None

    def _workers(self) -> int:
        """Threads that work on tasks."""
        import dask

        client = self._client()
        if client is not None:
            return max(1, sum(client.nthreads().values()))
        return dask.config.get("num_workers", None) or dask.system.CPU_COUNT

    def _sent(self, f: Callable) -> Any:
        """A function as tasks get it: as it is in this process, else as bytes, which are sent once and not a task."""
        import dask.local
        import dask.threaded

        f = functools.partial(_under, dict(np.geterr()), f)
        return f if self._get() in (dask.threaded.get, dask.local.get_sync) else _pickled(f)


def _tasks(keys: list[Any], name: str, layer: dict[Any, Any], graph: Any) -> list[Any]:
    """Tasks of a layer upon a graph."""
    from dask.delayed import Delayed
    from dask.highlevelgraph import HighLevelGraph

    below = graph if isinstance(graph, HighLevelGraph) else HighLevelGraph.from_collections("kept-" + name, graph)
    whole = HighLevelGraph({**below.layers, name: layer}, {**below.dependencies, name: set(below.layers)})
    return [Delayed(key, whole, layer=name) for key in keys]


def _named(what: str) -> str:
    return f"glmclf-{what}-{uuid.uuid4().hex}"


def _middle(i: int, j: int) -> int:
    """Where partitions from i up to j are parted: after the largest power of two of them."""
    return i + (1 << (j - i - 1).bit_length() - 1)


def place_of(number: int) -> Place:
    return Place(number, f"partition {number}")


def is_dask(data: Any) -> bool:
    """Whether this is a collection of Dask's."""
    return type(data).__module__.partition(".")[0] in ("dask", "dask_expr")


def frame_of(data: Any) -> Any:
    """A Dask DataFrame; another collection of Dask's is refused."""
    import dask.dataframe as dd

    if isinstance(data, dd.DataFrame):
        return data
    name = "Delayed" if "Delayed" in type(data).__name__ else type(data).__name__
    ways = {
        "Series": "pass the DataFrame that has it as a column, or series.to_frame()",
        "Array": "dask.dataframe.from_dask_array(array, columns=[...]) makes one",
        "Bag": "bag.to_dataframe() makes one",
        "Delayed": "dask.dataframe.from_delayed([...]) makes one of delayed pandas frames",
    }
    how = ways.get(name, "dask.dataframe.from_delayed and its like make one")
    raise DataError(f"found a Dask {name} where a Dask DataFrame is needed: {how}.")


def _pickled(value: Any) -> bytes:
    import cloudpickle

    from glmclf.data.codec import functions_by_value

    try:
        with functions_by_value():
            return cloudpickle.dumps(value)
    except Exception as error:
        raise DataError(
            f"the formula uses something that cannot be sent to Dask's workers ({type(error).__name__}: {error}): "
            "compute it as a column beforehand"
        ) from error


class Sent:
    """A value for tasks that may be in this process or in another, with the caller's functions that it uses.

    Parameters
    ----------
    value : object
    """

    def __init__(self, value: Any):
        self.value = value

    def __reduce__(self) -> Any:
        return _arrived, (_pickled(self.value),)


def _arrived(pickled: bytes) -> Sent:
    return Sent(pickle.loads(pickled))


# ------------------------------------------------------------------------------------------------ within a task
class PartitionError(Exception):
    """Carries an error of ours out of a task.

    Parameters
    ----------
    error : Exception
    """

    def __init__(self, error: Exception):
        super().__init__(error)
        self.error = error


@dataclass
class Counted:
    """A sum over partitions, and how many rows each of them has."""

    value: Any
    rows: list[int]

    def __add__(self, other: Counted) -> Counted:
        return Counted(joined(self.value, other.value), self.rows + other.rows)


class Kept(list):
    """Arrays of a run of partitions on a worker."""

    @classmethod
    def of(cls, work: bytes, first: int, parts: list[Any]) -> Kept:
        """``f(part, place)`` of each."""
        f = _loaded(work)
        return cls(f(part, first + i) for i, part in enumerate(parts))

    def __reduce__(self) -> Any:
        """Within the pickle, not beside it: see `_aligned`."""
        return _kept, (pickle.dumps(list(self)),)

    def __sizeof__(self) -> int:
        """Bytes, by which the worker sees when to write to disk."""
        sizes: list[int] = []
        rest = pickle.dumps(list(self), protocol=5, buffer_callback=lambda b: sizes.append(b.raw().nbytes))
        return sum(sizes) + len(rest)


def _kept(pickled: bytes) -> Kept:
    return Kept(pickle.loads(pickled))


def _aligned(table: Any) -> Any:
    """The table, moved where its numbers start at any byte, as from a network: sums would be rounded otherwise."""
    columns = table.items() if isinstance(table, pd.DataFrame) else ()
    return table if all(_starts_right(c) for _, c in columns) else pickle.loads(pickle.dumps(table))


def _starts_right(column: pd.Series) -> bool:
    if isinstance(column.dtype, np.dtype):
        return bool(column.to_numpy().flags.aligned)
    return isinstance(column.dtype, (pd.CategoricalDtype, pd.StringDtype))


def _of_table(f: Callable, columns: list[Any], table: Any, place: Place) -> Counted:
    return Counted(f(with_columns(_aligned(table), columns, place, KIND), place), [len(table)])


def _of_arrays(f: Callable, arrays: tuple, place: Place) -> Any:
    return of_rows(f, arrays, place)


def _read(reader: Callable, columns: list[Any], table: Any, place: Place) -> tuple:
    return reader(with_columns(_aligned(table), columns, place, KIND), place)


def _few(table: Any) -> Any:
    return table.iloc[:FEW]


def _read_few(reader: Callable, columns: list[Any], most: int, table: Any, place: Place) -> tuple:
    return some_of(_read(reader, columns, table, place), most)


def _under(state: dict[str, Any], f: Callable, part: Any, number: int) -> Any:
    """``f(part, place)`` with numpy's error state of the caller, alone in its thread."""
    with alone(), np.errstate(**state):
        try:
            return of_part(f, part, place_of(number), KIND)
        except Exception as error:
            raise PartitionError(error.with_traceback(None)) from None


def _loaded(value: Any) -> Any:
    """A function or a sum, which come as bytes between processes."""
    return pickle.loads(value) if isinstance(value, bytes) else value


def _sum(work: Any, first: int, parts: list[Any]) -> Any:
    """The subtree of a run of partitions."""
    f = _loaded(work)

    def total(i: int, j: int) -> Any:
        if j - i == 1:
            return f(parts[i], first + i)
        return joined(total(i, _middle(i, j)), total(_middle(i, j), j))

    found = total(0, len(parts))
    return pickle.dumps(found) if isinstance(work, bytes) else found


def _added(sums: list[Any]) -> Any:
    """The sum of a tree of sums, in pairs of pairs."""
    found = _pair(sums)
    first = sums
    while isinstance(first, list):
        first = first[0]
    return pickle.dumps(found) if isinstance(first, bytes) else found


def _pair(sums: Any) -> Any:
    return joined(*map(_pair, sums)) if isinstance(sums, list) else _loaded(sums)
