"""Dask DataFrames: sums over partitions as tasks that are added in a fixed order.

A first pass is over partitions; then neighbours of few rows and equal types are one table. Which ones, and the shape of
the tree by which sums are added, depends on the partitions alone, and what is summed lies in memory as if it had never
been sent, so that results are the same to the last bit whatever the workers do and however much is one task. Workers
keep nothing that Dask cannot make again: one may be lost in mid-fit.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import pickle
import uuid
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from glmclf.core.rows.blocks import alone
from glmclf.core.rows.summed import Summed, added_by, joined
from glmclf.data.source.base import PART_ROWS, Place, Source, first_of, of_part, of_rows, some_of, with_columns
from glmclf.data.source.digests import AGAIN
from glmclf.data.source.kept import Kept, Room
from glmclf.data.table.frame import close_to, quoted
from glmclf.errors import DataError

KIND = "the Dask DataFrame"
MAX_ROWS_PER_TASK = 2**17  # rows of small partitions that are one task
MIN_TASKS_PER_WORKER = 4  # tasks of a worker, if there are so many partitions
SAMPLE_ROWS = 2000  # rows that show what the other rows of a frame are like
TREE_LEVELS_PER_TASK = 3  # levels of the tree of sums that are one task
MIN_ROWS_PER_TABLE = 2**13  # rows of neighbouring partitions that are one table
MIN_TABLES = 64  # tables of joined partitions
MAX_BYTES_IN_PROCESS = 2**28  # bytes of arrays that are kept in this process

Range = tuple[int, int]


class LostError(DataError):
    """Error of arrays or partitions that a cluster kept and has lost."""


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
    labelled = True
    keeps = True
    same_parts = False

    def __init__(self, data: Any):
        self._data = frame_of(data)
        self.names = list(data.columns)
        self._parts: dict[tuple | None, list[Any]] = {}
        self._joined: list[Range] | None = None
        self._rows: list[int] = []
        self._kept: dict[int, tuple[str, Any]] = {}
        self._get()  # which refuses what sums cannot be waited for from

    def _tables(self, columns: list[str] | None) -> Iterator[tuple[pd.DataFrame, Place]]:
        parts = self._partitions(columns)
        for number, run in enumerate(self._runs(len(parts))):
            yield _table(columns, self._computed(parts, *parts[slice(*run)]), run), place_of(number, run)

    def first(self, columns: list[str] | None = None) -> pd.DataFrame:
        """Some rows of the first partitions; the others stay where they are."""
        import dask

        few = dask.delayed(_few)
        parts = self._partitions(columns)
        some = ((self._computed(parts, few(part)), i) for i, part in enumerate(parts))
        return first_of(_table(columns, rows, (i, i + 1)) for rows, i in some)

    def first_of_rows(self, reader: Callable, most: int, columns: list[str] | None = None) -> tuple:
        """The first rows, `most` at most, of the first partition of which the reader finds some."""
        import dask

        parts = self._partitions(columns)
        runs = [(i, i + 1) for i in range(len(parts))]
        work = self._sent(functools.partial(_read_few, reader, columns or self.names, runs, most))
        for number, part in enumerate(parts):
            (arrays,) = self._computed(parts, dask.delayed(_sum)(work, number, [[part]]))
            if arrays := _loaded(arrays):
                return arrays
        raise DataError(f"{KIND} gave rows at first and none when it was computed again: {AGAIN}")

    def sum(self, f: Callable[[pd.DataFrame, Place], Any], columns: list[str] | None = None) -> Any:
        """Sum of ``f(table, place)`` over the tables; the first time, these are the partitions."""
        parts = self._partitions(columns)
        runs = self._runs(len(parts))
        g = functools.partial(_of_table, f, columns or self.names, runs, self._joined is None)
        found = self._total(g, self._inputs(parts, runs), parts[0].dask, runs, parts)
        if self._joined is None:
            self._joined = _alike(found.shapes)
            self._rows = [sum(rows for rows, _ in found.shapes[i:j]) for i, j in self._joined]
        return found.value

    def sum_of_rows(self, reader: Callable, f: Callable, columns: list[str] | None = None) -> Any:
        """Sum of ``f(*reader(table, place), place.number)`` over the tables; what the reader makes is kept by a
        cluster, or in this process while there is room."""
        try:
            return self._sum_of_kept(reader, f, columns)
        except LostError:  # what a cluster kept is gone, as when it was restarted
            return self._sum_of_kept(reader, f, columns)

    def _sum_of_kept(self, reader: Callable, f: Callable, columns: list[str] | None) -> Any:
        parts = self._partitions(columns)
        runs = self._runs(len(parts))
        g = functools.partial(_of_arrays, f, runs)
        try:
            client = self._client()
            if client is not None:
                kept = self._arrays(client, reader, columns)
                inputs = {run: arrays.key for run, arrays in kept.items()}
                graph = {key: value for arrays in kept.values() for key, value in dict(arrays.dask).items()}
                return self._total(g, inputs, graph, runs, parts)
            room = self._room(reader)
            if room is not None and len(room.arrays) == len(runs):
                graph = {("kept", *run): (functools.partial(room.of, *run),) for run in self._leaves(len(runs))}
                return self._total(g, {key[1:]: key for key in graph}, graph, runs, parts)
            return self.sum(functools.partial(_of_read, reader, f, room), columns)
        except BaseException:  # an interrupt, too: what is kept, or about to be, is given back
            self._kept.pop(id(reader), None)
            raise

    def _arrays(self, client: Any, reader: Callable, columns: list[str] | None) -> dict[Range, Any]:
        """Arrays that the reader makes of the tables, kept by the workers as long as the reader lives."""
        import dask

        if self._kept.get(id(reader), ("",))[0] == client.id:
            return self._kept[id(reader)][1]
        parts, new = self._partitions(columns), _named("rows")
        runs = self._runs(len(parts))
        inputs = self._inputs(parts, runs)
        layer: dict[Any, Any] = {(new, *leaf): (_made, new, leaf[0], keys) for leaf, keys in inputs.items()}
        layer[new] = self._sent(functools.partial(_read, reader, columns or self.names, runs))
        made = dask.persist(*_tasks(list(layer)[:-1], new, layer, parts[0].dask))
        kept = dict(zip(inputs, made, strict=True))
        self._keep(reader, client.id, kept)
        return kept

    def _room(self, reader: Callable) -> Room | None:
        """Room in which this process keeps what the reader makes; None where tasks are in other processes."""
        if not self._here():
            return None
        name, room = self._kept.get(id(reader), ("", None))
        if name != "here":
            taken = sum(other.taken for name, other in list(self._kept.values()) if name == "here")
            room = Room(MAX_BYTES_IN_PROCESS - taken)
            self._keep(reader, "here", room)
        return room

    def _keep(self, reader: Callable, where: str, kept: Any) -> None:
        """Keep arrays, or a room for them, as long as the reader lives."""
        if id(reader) not in self._kept:
            weakref.finalize(reader, self._kept.pop, id(reader), None).atexit = False
        self._kept[id(reader)] = where, kept

    # ---------------------------------------------------------------------------------------------------- tasks
    def _partitions(self, columns: list[str] | None) -> list[Any]:
        """Each partition, delayed, with these columns."""
        key = None if columns is None else tuple(columns)
        if key not in self._parts:
            absent = [name for name in columns or [] if name not in self.names]
            if absent:
                raise DataError(f"{KIND} has no column {quoted(absent)}. {close_to(str(absent[0]), self.names)}")
            self._parts[key] = delayed_of(self._data if columns is None else chosen(self._data, columns))
        return self._parts[key]

    def _runs(self, n: int) -> list[Range]:
        """Runs of the n partitions that are one table each."""
        return [(i, i + 1) for i in range(n)] if self._joined is None else self._joined

    def _inputs(self, parts: list[Any], runs: list[Range]) -> dict[Range, Any]:
        """Keys of the partitions of each table of a task."""
        keys = [[part.key for part in parts[i:j]] for i, j in runs]
        return {(i, j): keys[i:j] for i, j in self._leaves(len(runs))}

    def _leaves(self, n: int) -> list[Range]:
        """Runs of tables that are one task each: subtrees of few rows, once the rows are known."""
        if self._joined is None:
            return [(i, i + 1) for i in range(n)]
        ends = np.cumsum([0, *self._rows])
        most = min(MAX_ROWS_PER_TASK, ends[-1] // (MIN_TASKS_PER_WORKER * self._workers()))
        leaves, waiting = [], [(0, n)]
        while waiting:
            i, j = waiting.pop()
            if j - i == 1 or ends[j] - ends[i] <= most:
                leaves.append((i, j))
            else:
                waiting += [(_middle(i, j), j), (i, _middle(i, j))]
        return leaves

    def _total(self, f: Callable, inputs: dict[Range, Any], graph: Any, runs: list[Range], parts: list[Any]) -> Any:
        """Sum of ``f(input, number)`` over the tables, whose inputs are keys of the graph."""
        name = _named("sum")
        layer: dict[Any, Any] = {name: self._sent(f)}

        def sums(i: int, j: int, levels: int) -> Any:
            """Keys of sums, as a tree of pairs so many levels deep."""
            if (i, j) in inputs:
                layer[name, i, j] = (_sum, name, i, inputs[i, j])
            elif levels:
                return [sums(i, _middle(i, j), levels - 1), sums(_middle(i, j), j, levels - 1)]
            else:
                layer[name, i, j] = (_added, sums(i, j, TREE_LEVELS_PER_TASK))
            return name, i, j

        found = _loaded(self._computed(parts, *_tasks([sums(0, len(runs), 0)], name, layer, graph))[0])
        if self.watch is not None:
            self.watch(len(runs) - 1)
        return found

    def _computed(self, parts: list[Any], *tasks: Any) -> Any:
        """Results of tasks upon partitions; an error of a task names the partition."""
        import dask

        try:
            return dask.compute(*tasks)
        except PartitionError as failed:
            error = failed.error
        except Exception as failed:
            error = self._named_error(failed, parts)
            error.__cause__ = failed
        except KeyboardInterrupt:
            _quieten(self._client())
            raise
        raise error.with_traceback(None)

    def _named_error(self, failed: Exception, parts: list[Any]) -> Exception:
        """Error that tells a user why partitions cannot be computed."""
        what = f"{type(failed).__name__}: {' '.join(str(failed).split())}"
        if isinstance(failed, CancelledError) or "Missing dependency" in what:
            return LostError(
                f"{KIND} was kept by a cluster (persist()) that has lost it, as when it is restarted or its client is "
                f"closed ({what}). Make the frame anew and fit again"
            )
        if type(failed).__name__ == "KilledWorker":
            return DataError(
                f"{KIND} cannot be computed: workers died at a task of it, as when their memory is too small for a "
                f"partition ({what}). Give them more memory, or take smaller partitions, ddf.repartition(...)"
            )
        if type(failed).__module__.partition(".")[0] in ("dask", "distributed"):
            return failed
        found = self._first_that_fails(parts)
        if found is None:
            return DataError(f"{KIND} could not be computed ({what}), though each partition can be now. Fit again")
        place, own = found
        return DataError(f"{place} of {KIND} cannot be computed: {type(own).__name__}: {own}")

    def _first_that_fails(self, parts: list[Any]) -> tuple[Place, Exception] | None:
        """The first partition that cannot be computed, and its error."""
        import dask

        probes, step = [dask.delayed(len)(part) for part in parts], self._workers()
        for start in range(0, len(probes), step):
            some = probes[start : start + step]
            if _error(some) is None:
                continue
            for number, probe in enumerate(some, start):
                if (error := _error([probe])) is not None:
                    return place_of(number), error
        return None

    def _get(self) -> Any:
        from dask.base import get_scheduler

        try:
            return get_scheduler(collections=[self._data])
        except RuntimeError as error:
            raise NotImplementedError(
                f"{KIND} with an asynchronous client: sums are waited for ({error}). Use a client that was made "
                "without asynchronous=True, in a thread of its own where there is an event loop"
            ) from None

    def _client(self) -> Any:
        """The distributed client in use, if there is one."""
        owner = getattr(self._get(), "__self__", None)
        return owner if hasattr(owner, "scheduler_info") else None

    @property
    def by_cluster(self) -> bool:  # type: ignore[override]
        """Whether a cluster makes the passes, whose client holds its locks while it pickles what it sends."""
        try:
            return self._client() is not None
        except NotImplementedError:  # in the client's own thread
            return True

    def _workers(self) -> int:
        """Threads that work on tasks."""
        import dask

        client = self._client()
        if client is not None:
            return max(1, sum(client.nthreads().values()))
        return dask.config.get("num_workers", None) or dask.system.CPU_COUNT

    def _sent(self, f: Callable) -> Any:
        """A function as tasks get it: as it is in this process, else as bytes, which are sent once and not a task."""
        f = functools.partial(_under, dict(np.geterr()), f)
        return f if self._here() else _pickled(f)

    def _here(self) -> bool:
        """Whether tasks are in this process."""
        import dask.local
        import dask.threaded

        return self._get() in (dask.threaded.get, dask.local.get_sync)


def _quieten(client: Any) -> None:
    """Let the loop of a client pass over what an interrupt left waiting for results, which it would report later."""
    if client is None:
        return
    from distributed.client import AllExit

    loop = client.loop.asyncio_loop
    before = loop.get_exception_handler()

    def handler(loop: Any, context: dict[str, Any]) -> None:
        if isinstance(context.get("exception"), AllExit):
            return
        if before is None:
            loop.default_exception_handler(context)
        else:
            before(loop, context)

    loop.set_exception_handler(handler)


def _error(tasks: list[Any]) -> Exception | None:
    """The error of tasks, where they have one."""
    import dask

    try:
        dask.compute(*tasks)
    except Exception as error:
        return error
    return None


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
    """Number of the table at which those from i up to j are parted: after the largest power of two of them."""
    return i + (1 << (j - i - 1).bit_length() - 1)


def place_of(number: int, run: Range | None = None) -> Place:
    """Place of a table by its number and its partitions."""
    i, j = run or (number, number + 1)
    return Place(number, f"partition {i}" if j - i == 1 else f"partitions {i} to {j - 1}")


def _alike(shapes: list[tuple[int, str]]) -> list[Range]:
    """Runs of partitions that are one table: of few rows, and of the same types."""
    most = max(MIN_ROWS_PER_TABLE, min(PART_ROWS, sum(rows for rows, _ in shapes) // MIN_TABLES))
    starts, together, now = [0], 0, ""
    for number, (rows, types) in enumerate(shapes):
        if together and rows and (types != now or together + rows > most):
            starts.append(number)
            together = 0
        now = types if rows else now
        together += rows
    return list(itertools.pairwise([*starts, len(shapes)]))


def delayed_of(data: Any) -> list[Any]:
    """Each partition, delayed, as the frame counts them: Dask's own `to_delayed` joins files of which few columns are
    read, other ones for other columns."""
    return type(data)(_lowered(data, fuse=True)).to_delayed(optimize_graph=False)


def _lowered(data: Any, fuse: bool = False) -> Any:
    """The expression of a frame as Dask optimises it, but for the step that joins partitions."""
    expression = data.expr.simplify().lower_completely().simplify()
    fuses = getattr(type(expression), "fuse", None) if fuse else None  # older versions leave tasks apart
    return expression if fuses is None else fuses(expression)


def chosen(data: Any, columns: list[str]) -> Any:
    """Selection of columns, where a reader of files sees it; otherwise left to the tasks, whose errors
    name the partition."""
    expression = _of_columns(data, columns)
    while type(expression).__name__ == "Projection":
        expression = expression.frame
    return type(data)(expression)


def projected(data: Any, columns: list[str]) -> Any:
    """Partitions with some columns, where a reader of files sees that; otherwise with all."""
    expression = _of_columns(data, columns)
    if expression is data.expr or type(expression).__name__ == "Projection":
        return data
    from glmclf.data.source.dask_columns import beside_frame

    return beside_frame(data, columns)


def keeps_partitions(data: Any) -> bool:
    """Whether Dask computes the partitions of a frame one by one, and does not join some of them."""
    try:
        return bool(data.optimize(fuse=False).npartitions == data.npartitions)
    except Exception:  # its own optimiser fails, as it does on ``categorize()``
        return True


def _of_columns(data: Any, columns: list[str]) -> Any:
    """Columns as Dask would read them; all columns where its own optimiser fails, as it does on ``categorize()``, or
    cuts partitions by the size of the columns."""
    if any(type(step).__name__ == "RepartitionSize" for step in data.expr.walk()):
        return data.expr
    try:
        expression = _lowered(data[columns])
        expression.__dask_graph__()
    except Exception:
        return data.expr
    return expression


def is_dask(data: Any) -> bool:
    """Whether an object is a collection of Dask's."""
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

    from glmclf.data.formula.factors import functions_by_value

    try:
        with functions_by_value():
            return cloudpickle.dumps(value)
    except (DataError, NotImplementedError):  # an error of its own
        raise
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
    """Error that carries one of glmclf's own out of a task.

    Parameters
    ----------
    error : Exception
    """

    def __init__(self, error: Exception):
        super().__init__(error)
        self.error = error


@dataclass
class Counted(Summed):
    """A sum over tables, and how many rows each of them has, of which types."""

    value: Any = field(metadata=added_by(joined))
    shapes: list[tuple[int, str]]


def _aligned(table: Any) -> Any:
    """The table, moved where its numbers start at any byte, as from a network: sums would be rounded otherwise."""
    columns = table.items() if isinstance(table, pd.DataFrame) else ()
    return table if all(_starts_right(c) for _, c in columns) else pickle.loads(pickle.dumps(table))


def _starts_right(column: pd.Series) -> bool:
    if isinstance(column.dtype, np.dtype):
        return bool(column.to_numpy().flags.aligned)
    return isinstance(column.dtype, (pd.CategoricalDtype, pd.StringDtype))


def _table(columns: list[Any] | None, tables: Any, run: Range) -> pd.DataFrame:
    """Partitions as one table of these columns."""

    def f(table: Any, place: Place) -> pd.DataFrame:
        frame = with_columns(_aligned(table), columns or [], place, KIND)
        return frame if columns is None or list(frame.columns) == columns else frame[columns]

    return _stacked([of_part(f, table, place_of(number), KIND) for number, table in zip(range(*run), tables)])


def _stacked(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """Tables stacked one below another; in columns of unequal types, the values stay as they are."""
    some = [table for table in tables if len(table)] or tables[:1]
    if len(some) == 1:
        return some[0]
    first = some[0].dtypes
    unequal = [name for name in first.index if any(table[name].dtype != first[name] for table in some[1:])]
    return pd.concat([table.astype(dict.fromkeys(unequal, object)) for table in some] if unequal else some)


def _types(table: pd.DataFrame) -> str:
    """A digest of what tables have in common that become one without a change of types."""
    types = [table.index.dtype, *table.dtypes]
    levels = [t.categories.tolist() if isinstance(t, pd.CategoricalDtype) else None for t in types]
    told = repr((list(table.columns), list(map(str, types)), levels, table.index.names))
    return hashlib.blake2b(told.encode(), digest_size=8).hexdigest()


def _of_table(f: Callable, columns: list[Any], runs: list[Range], first: bool, tables: Any, number: int) -> Counted:
    table = _table(columns, tables, runs[number])
    shapes = [(len(table), _types(table))] if first else []
    return Counted(of_part(f, table, place_of(number, runs[number]), KIND), shapes)


def _of_read(reader: Callable, f: Callable, room: Room | None, table: pd.DataFrame, place: Place) -> Any:
    arrays = reader(table, place)
    if room is not None:
        room.offer(place.number, arrays)
    return of_rows(f, arrays, place)


def _of_arrays(f: Callable, runs: list[Range], arrays: tuple, number: int) -> Any:
    return of_part(functools.partial(of_rows, f), arrays, place_of(number, runs[number]), KIND)


def _read(reader: Callable, columns: list[Any], runs: list[Range], tables: Any, number: int) -> tuple:
    return of_part(reader, _table(columns, tables, runs[number]), place_of(number, runs[number]), KIND)


def _made(work: bytes, first: int, parts: list[Any]) -> Kept:
    """Arrays kept of a run of tables: ``f(part, number)`` of each."""
    f = _loaded(work)
    return Kept(f(part, first + i) for i, part in enumerate(parts))


def _few(table: Any) -> Any:
    return table.iloc[:SAMPLE_ROWS]


def _read_few(reader: Callable, columns: list[Any], runs: list[Range], most: int, tables: Any, number: int) -> tuple:
    return some_of(_read(reader, columns, runs, tables, number), most)


def _under(state: dict[str, Any], f: Callable, part: Any, number: int) -> Any:
    """Value of ``f(part, number)`` with numpy's error state of the caller, alone in its thread."""
    with alone(), np.errstate(**state), _carried():
        return f(part, number)


@contextmanager
def _carried() -> Iterator[None]:
    """Carry the errors of a task out of it as they are."""
    try:
        yield
    except PartitionError:
        raise
    except Exception as error:
        raise PartitionError(error.with_traceback(None)) from None


def _loaded(value: Any) -> Any:
    """A function or a sum, which come as bytes between processes."""
    return pickle.loads(value) if isinstance(value, bytes) else value


def _sum(work: Any, first: int, parts: list[Any]) -> Any:
    """Sum of a run of tables, as a subtree of the sum of all tables."""
    f = _loaded(work)

    def total(i: int, j: int) -> Any:
        if j - i == 1:
            return f(parts[i], first + i)
        return joined(total(i, _middle(i, j)), total(_middle(i, j), j))

    with _carried():
        found = total(0, len(parts))
    return pickle.dumps(found) if isinstance(work, bytes) else found


def _added(sums: list[Any]) -> Any:
    """The sum of a tree of sums, in pairs of pairs."""
    with _carried():
        found = _pair(sums)
    first = sums
    while isinstance(first, list):
        first = first[0]
    return pickle.dumps(found) if isinstance(first, bytes) else found


def _pair(sums: Any) -> Any:
    return joined(*map(_pair, sums)) if isinstance(sums, list) else _loaded(sums)
