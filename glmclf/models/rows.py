"""Rows of a fit: in memory, or in a source, where they are made part by part when they are summed over."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.design.columns import Columns, expandable, some_columns
from glmclf.core.design.dense import Dense
from glmclf.core.fit.unique_rows import UniqueRows, distinct_rows
from glmclf.core.likelihood.objective import Largest
from glmclf.core.rows.blocks import Blocks, linear
from glmclf.core.rows.streamed import MOST_GATHERED, Gathered, RowsElsewhereError, Streamed, made, too_many
from glmclf.data.design.arrays import constant
from glmclf.data.source.base import Place, Source, of_part, of_rows
from glmclf.data.source.digests import Digests, Watched, of_column, other_values
from glmclf.data.source.kept import Room
from glmclf.data.table.frame import EXACT, close_to, rounded
from glmclf.data.table.groups import Groups, check_number, without_group
from glmclf.data.table.sample import Part
from glmclf.errors import DataError

if TYPE_CHECKING:
    from glmclf.data.reading.streams import Reader, StreamSample

MAX_MISS = 1e-6  # share of the sum of squares that a combination near a constant may miss, to be examined row by row
PROTOTYPE_ROWS = 16


@dataclass(frozen=True)
class Rows:
    """The rows that a model is fitted to, aligned.

    Attributes
    ----------
    X : Dense, Cells or Sparse
        Columns of the design.
    y, trials, offset, weights : (n,) ndarray or None
        Response as coded, single trials in a byte each; None stands for one trial, offset 0, weight 1.
    index : Index
        Labels of the rows in the table.
    positions : (n,) integer ndarray or slice
        Places of the rows in the table; all of them as a slice.
    """

    X: Columns
    y: ndarray
    trials: ndarray | None
    offset: ndarray | None
    weights: ndarray | None
    index: pd.Index
    positions: ndarray | slice
    streamed: ClassVar[bool] = False

    def __len__(self) -> int:
        return len(self.y)

    def blocks(self, X: Columns | None = None, size: int | None = None, n_threads: int | None = None) -> Blocks:
        """The rows as blocks, with other columns if they are given."""
        arrays = self.y, self.trials, self.offset, self.weights
        return Blocks(self.X if X is None else X, *arrays, size=size, n_threads=n_threads)

    def held(self) -> Rows:
        """The rows in memory."""
        return self

    def total(self, f: Callable) -> Any:
        """``f(y, trials, weights)``, a sum over rows."""
        return f(self.y, self.trials, self.weights)

    def columns(self) -> Blocks:
        """Blocks of the design alone."""
        return self.blocks().changed(lambda X, *rest: (X,))

    def changed(self, f: Callable[..., tuple]) -> Rows:
        """The rows with ``f(X, y, trials, offset, weights)`` in place of these."""
        X, y, trials, offset, weights = f(self.X, self.y, self.trials, self.offset, self.weights)
        return replace(self, X=X, y=y, trials=trials, offset=offset, weights=weights)

    def parts(self) -> Iterator[tuple]:
        """Columns, response, trials, offset and weights: all at once."""
        yield self.X, self.y, self.trials, self.offset, self.weights

    @property
    def alike(self) -> bool:
        """Whether each row has the weight one."""
        return self.weights is None or bool((self.weights == 1).all())

    def largest(self) -> ndarray:
        """Largest absolute value of each column."""
        return self.patterns.largest()

    def spans_constant(self) -> int:
        """1 where a constant is in the span of the columns, else 0."""
        return constant(self.X)

    def constant_column(self) -> tuple[int, float] | None:
        """Place of a column that is one number other than 0 throughout, and the number."""
        X, n = self.X, len(self)
        first, middle, last = X.subset(np.array([0, n // 2, n - 1])).toarray()
        likely = np.flatnonzero((first != 0) & (first == middle) & (first == last)).tolist()
        there = (j for j in likely if (linear(X, np.eye(1, len(first), j)[0]) == first[j]).all())
        return next(((j, float(first[j])) for j in there), None)

    @property
    def heaviest(self) -> float:
        """The largest weight."""
        return 1.0 if self.weights is None else float(self.weights.max())

    def zero_one_columns(self) -> list[int]:
        """Places of the columns that hold zeros and ones only."""
        first = self.X.subset(np.arange(min(200, len(self)))).toarray()
        likely = np.flatnonzero(((first == 0) | (first == 1)).all(axis=0)).tolist()
        columns = ((j, some_columns(self.X, np.array([j])).toarray()) for j in likely)
        return [j for j, x in columns if ((x == 0) | (x == 1)).all()]

    def distinct(self, likelihood: Any, n_threads: int | None = None) -> UniqueRows | None:
        """Distinct rows with their counts, searched for once; None where that does not pay."""
        if "_distinct" not in self.__dict__:
            arrays = self.X, self.y, self.trials, self.offset, self.weights
            self.__dict__["_distinct"] = distinct_rows(likelihood, *arrays, n_threads)
        return self.__dict__["_distinct"]

    @property
    def patterns(self) -> Columns:
        """Rows of X, each at least once: the distinct rows if they were found, else all."""
        found = self.__dict__.get("_distinct")
        return self.X if found is None else found.X


class _Watching:
    """Reader that returns digests of the rows after the rows of a part."""

    def __init__(self, reader: Reader):
        self._reader = reader

    def __call__(self, table: pd.DataFrame, place: Any) -> tuple:
        return self._reader.watched(table, place)


class _Keeping(_Watching):
    """Reader with digests that also offers the rows to a room in memory.

    Parameters
    ----------
    reader : Reader
    rows : int
        Of all parts.
    """

    def __init__(self, reader: Reader, rows: int):
        super().__init__(reader)
        self._room, self._places = Room.beside_others(rows), list[Place]()

    def __call__(self, table: pd.DataFrame, place: Place) -> tuple:
        *rows, digests = super().__call__(table, place)
        if rows:
            self._places.append(place)
            self._room.offer(place.number, tuple(rows))
        return (*rows, digests)

    @property
    def whole(self) -> bool:
        """Whether the room holds the rows of all parts."""
        return not self._room.full

    def parts(self) -> Iterator[tuple[tuple, Place]]:
        """Arrays and places of the parts in memory, in order."""
        return ((self._room.arrays[place.number], place) for place in self._places)


def _watched(f: Callable, *arrays: Any) -> Watched:
    """Sum over the rows of a part, if it has any, with the part's digests."""
    *rows, digests, number = arrays
    return Watched(f(*rows, number) if rows else None, digests)


class Stream:
    """Stream of the rows of a model, read from a source, equal in each pass; `Streamed` of the core sums over it.

    Small ones stay in memory once a second pass has shown that they are the same: `data.kept`.

    Parameters
    ----------
    source : Source
    reader : Reader
    rows : int
        Of the fit.
    prototype : tuple, optional
        Arrays of a few rows; by default the first ones of the source.

    Raises
    ------
    DataError
        The source gives other rows than it gave at first.
    """

    def __init__(self, source: Source, reader: Reader, rows: int, prototype: tuple | None = None):
        self.source, self.reader, self.rows = source, reader, rows
        self._watching, self._known = _Watching(reader), False  # one object, as sources cache its rows by identity
        self._kept: _Keeping | None = None
        self.prototype = prototype or source.first_of_rows(reader, PROTOTYPE_ROWS, self._columns)

    @property
    def _columns(self) -> list[str] | None:
        return None if self.reader.subset else self.reader.columns

    def sum(self, f: Callable) -> Any:
        """Sum of ``f(*arrays, number)`` over the parts that have rows."""
        if self._kept is not None:
            return self.source.added(functools.partial(of_rows, f), self._kept.parts())
        reader = self._reading()
        found = self.source.sum_of_rows(reader, functools.partial(_watched, f), self._columns)
        value = self.source.ledger.checked(found)
        self._keep(reader)
        return value

    def parts(self) -> Iterator[tuple]:
        """Iterate over the arrays of each part that has rows."""
        if self._kept is not None:
            yield from (arrays for arrays, _ in self._kept.parts())
            return
        seen, reader = Digests(), self._reading()
        for table, place in self.source.tables(self._columns):
            *arrays, digests = of_part(reader, table, place, self.source.kind)
            seen = seen + digests
            if arrays:
                yield tuple(arrays)
        self.source.ledger.check(seen)
        self._keep(reader)

    def _reading(self) -> _Watching:
        """Reader of the next pass; from the second pass on one that keeps the rows in memory."""
        keep = self._known and not self.source.keeps
        return _Keeping(self.reader, self.rows) if keep else self._watching

    def _keep(self, reader: _Watching) -> None:
        """Note a complete pass, and keep its rows if all of them are in memory."""
        self._known = True
        if isinstance(reader, _Keeping) and reader.whole:
            self._kept = reader


@dataclass(frozen=True)
class Facts:
    """Sums and ranges of rows besides their likelihood.

    Attributes
    ----------
    counts : dict of int
        Rows by number of the part.
    weight, heaviest : float
        Sum and largest of the weights.
    low, high : (k,) ndarray
        Ends of each column of X.
    offset : tuple of float
        Ends of the offset.
    outcomes : ndarray or None
        Sums of the responses, where they were asked for.
    zero_one : (k,) bool ndarray
        Which columns of X hold zeros and ones only.
    """

    counts: dict[int, int]
    weight: float
    heaviest: float
    low: ndarray
    high: ndarray
    offset: tuple[float, float]
    outcomes: Any
    zero_one: ndarray

    def __add__(self, other: Facts) -> Facts:
        return Facts(
            self.counts | other.counts,
            self.weight + other.weight,
            max(self.heaviest, other.heaviest),
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            (min(self.offset[0], other.offset[0]), max(self.offset[1], other.offset[1])),
            None if self.outcomes is None else self.outcomes + other.outcomes,
            self.zero_one & other.zero_one,
        )


class StreamedRows:
    """Rows of a fit that are read from a source; `Rows` are those in memory.

    Parameters
    ----------
    sample : StreamSample
    outcomes : callable
        ``outcomes(y, trials, weights)``: what a model wants summed of its response.
    """

    streamed = True

    def __init__(self, sample: StreamSample, outcomes: Callable):
        self.stream = Stream(sample.source, sample.reader, len(sample))

        def facts(X, y, trials, offset, weights, number) -> Facts:
            return replace(_facts(X, offset, weights, number), outcomes=outcomes(y, trials, weights))

        self.facts: Facts = self.stream.sum(facts)
        self._of: tuple[Callable[..., tuple], ...] = ()
        self.X, self.y, self.trials, self.offset, self.weights = self.blocks().arrays

    def __reduce__(self) -> Any:
        """Pickle without the stream, like a model whose rows were removed."""
        return type(None), ()

    def __deepcopy__(self, memo: Any) -> StreamedRows:
        return self

    def __len__(self) -> int:
        return sum(self.facts.counts.values())

    @property
    def n_parts(self) -> int:
        """Parts of the source, as far as they have rows."""
        return max(self.facts.counts, default=-1) + 1

    def blocks(self, X: Columns | None = None, size: int | None = None, n_threads: int | None = None) -> Blocks:
        """The rows as blocks."""
        if X is not None and X is not self.X:
            raise RowsElsewhereError()
        return Streamed(self.stream, self.facts.counts, size, n_threads, self._of)

    def columns(self) -> Blocks:
        """Blocks of the design alone."""
        return self.blocks().changed(lambda X, *rest: (X,))

    def changed(self, f: Callable[..., tuple]) -> StreamedRows:
        """The rows with ``f(X, y, trials, offset, weights)`` in place of these."""
        other, of = object.__new__(type(self)), (*self._of, f)
        stream, counts = self.stream, self.facts.counts

        def facts(*arrays: Any) -> Facts:
            X, _, _, offset, weights = made(of, None, arrays[:-1])
            return _facts(X, offset, weights, arrays[-1])

        other.stream, other._of, other.facts = stream, of, stream.sum(facts)
        other.X, other.y, other.trials, other.offset, other.weights = Streamed(stream, counts, of=of).arrays
        return other

    def total(self, f: Callable) -> Any:
        """``f(y, trials, weights)``, a sum over rows."""
        return self.blocks().over_parts(lambda X, y, trials, offset, weights: f(y, trials, weights))

    def spans_constant(self) -> int:
        """1 where a constant is in the span of the columns, else 0, judged by the combination nearest to a constant."""
        if self.constant_column() is not None:
            return 1
        size, columns, n = self.largest(), self.columns(), len(self)
        scale = np.where(size > 0, size, 1.0)
        G = columns.sum(lambda X: X.gram(np.ones(X.shape[0]))) / scale / scale[:, None]
        found = np.zeros(len(scale))
        for _ in range(3):
            w = found / scale
            rest = columns.sum(lambda X, w=w: X.times(1.0 - X @ w)) / scale
            found = found + np.linalg.lstsq(G, rest, rcond=None)[0]
            if n - 2.0 * (found @ rest) + found @ G @ found > MAX_MISS * n and not w.any():
                return 0
        w = found / scale
        return int(columns.sum(lambda X: Largest(np.abs(X @ w - 1.0).max(initial=0.0))) < 1e-8)

    def constant_column(self) -> tuple[int, float] | None:
        """Place of a column that is one number other than 0 throughout, and the number."""
        there = np.flatnonzero((self.facts.low == self.facts.high) & (self.facts.low != 0))
        return (int(there[0]), float(self.facts.low[there[0]])) if len(there) else None

    @property
    def heaviest(self) -> float:
        """The largest weight."""
        return self.facts.heaviest

    def zero_one_columns(self) -> list[int]:
        """Places of the columns that hold zeros and ones only."""
        return np.flatnonzero(self.facts.zero_one).tolist()

    def parts(self) -> Iterator[tuple]:
        """Columns, response, trials, offset and weights, part by part."""
        return self.blocks().parts()  # type: ignore[attr-defined]

    def held(self) -> Any:
        """The rows in memory, labelled by their place, if they are not too many."""
        n = len(self)
        if n * self.X.shape[1] > MOST_GATHERED:
            raise RowsElsewhereError(too_many(n))

        def part(X, *rest: Any) -> Gathered:
            return Gathered([(X.values if hasattr(X, "values") else X[:].toarray(), *rest)])

        X, *rest = zip(*self.blocks().over_parts(part), strict=True)
        arrays = [None if a[0] is None else np.concatenate(a) for a in rest]
        kind: Any = type(self.stream.prototype[0])
        if isinstance(X[0], list):  # a list of features
            columns: Any = kind([np.concatenate(v) for v in zip(*X, strict=True)])
        else:
            columns = Dense(np.asfortranarray(np.concatenate(X)))
        return Rows(*(columns, *arrays, pd.RangeIndex(n), slice(None)))

    @property
    def alike(self) -> bool:
        """Whether each row has the weight one."""
        return self.facts.heaviest == 1 and self.facts.weight == len(self)

    def largest(self) -> ndarray:
        """Largest absolute value of each column."""
        return np.maximum(np.abs(self.facts.low), np.abs(self.facts.high))

    def distinct(self, likelihood: Any, n_threads: int | None = None) -> None:
        """None: distinct rows of a stream are not searched for."""

    @property
    def index(self) -> NoReturn:
        """Refuse: labels of rows in a stream are not stored."""
        raise RowsElsewhereError()

    positions = patterns = index

    def grouped(self, names: list[str]) -> Stream:
        """The stream with columns of groups beside the rows."""
        stream, reader = self.stream, replace(self.stream.reader, beside=tuple(names))
        few = stream.prototype[: len(Part._fields)]
        return Stream(stream.source, reader, stream.rows, (*few, *([np.zeros(few[0].shape[0])] * len(names))))

    def beside(self, names: list[str]) -> Streamed:
        """Rows with more columns of the source after their arrays."""
        own = self._of

        def of(*arrays: Any) -> tuple:
            return *made(own, None, arrays[: len(Part._fields)]), *arrays[len(Part._fields) :]

        return Streamed(self.grouped(names), self.facts.counts, of=(of,))

    def groups(self, groups: Any) -> Groups:
        """Clusters of the rows by one or two columns.

        Raises
        ------
        DataError, MissingDataError
            Values beside the table; no such column; a row of the fit without a group.
        """
        names: list[str] = [groups] if isinstance(groups, str) else groups
        stray = [groups] if not isinstance(names, list | tuple) else [n for n in names if not isinstance(n, str)]
        if stray:
            raise DataError(
                f"groups= of data in a stream are the names of one or two columns; found {type(stray[0]).__name__}"
            )
        check_number(len(names))
        source = self.stream.source
        absent = [name for name in names if name not in source.names]
        if absent:
            raise DataError(f'groups="{absent[0]}": no such column. {close_to(absent[0], source.names)}')
        stream = self.grouped(list(names))
        distinct = stream.sum(_Distinct.of)
        found = distinct.table
        for name in names:
            if {(name, "i"), (name, "f")} <= distinct.large:
                raise rounded(name)
            if len(types := {type(v).__name__ for v in found[name] if v is not None and isinstance(v, str | int)}) > 1:
                raise DataError(
                    f'groups="{name}" holds values of types {", ".join(sorted(types))} in different parts: give it one '
                    "type throughout"
                )
        codes: list[Any] = [StreamedCodes.of(stream, found, list(names), [name]) for name in names]
        return Groups(codes, list(names))


class _Distinct:
    """Distinct groups, or pairs of them, in order of appearance, and columns with numbers beyond 2**53 by their kind.

    ``a + b`` has the groups of both.
    """

    def __init__(self, table: pd.DataFrame, large: frozenset[tuple[str, str]] = frozenset()):
        self.table, self.large = table, large

    @classmethod
    def of(cls, *arrays: Any) -> _Distinct:
        groups = {str(g.name): g for g in arrays[len(Part._fields) : -1]}
        for name, values in groups.items():
            if (lost := values.isna().to_numpy(dtype=bool)).any():
                raise without_group(name, values.index[lost])
        found = pd.DataFrame(groups).drop_duplicates(ignore_index=True)
        numbers = {name: kind for name in groups if (kind := found[name].dtype.kind.replace("u", "i")) in "if"}
        large = frozenset((name, kind) for name, kind in numbers.items() if (found[name].abs() >= EXACT).any())
        return cls(found.assign(**{name: _plain(found[name]) for name in groups}), large)

    def __add__(self, other: _Distinct) -> _Distinct:
        table = pd.concat([self.table, other.table], ignore_index=True).drop_duplicates(ignore_index=True)
        return _Distinct(table, self.large | other.large)


def _plain(column: pd.Series) -> pd.Series:
    """Labels as objects, equal whatever dtype a part has: whole numbers stay whole, also beside missing values."""
    values = column.astype(object)
    if column.dtype.kind == "f":  # pandas reads whole numbers beside missing values as floats
        whole = (np.asarray(column) % 1 == 0) & (np.abs(np.asarray(column)) < EXACT)
        values[whole] = [int(v) for v in np.asarray(column)[whole]]
    return values.where(column.notna(), None)


@dataclass(frozen=True)
class StreamedCodes:
    """Clusters of rows in a stream, numbered from 0 part by part.

    Attributes
    ----------
    stream : Stream
        With the columns of groups after the arrays of the rows.
    at : list of int
        Which of these columns make the clusters.
    labels : Index
        Of the clusters.
    """

    stream: Stream
    at: list[int]
    labels: pd.Index

    @classmethod
    def of(cls, stream: Stream, found: pd.DataFrame, names: list[str], which: list[str]) -> StreamedCodes:
        """Clusters by some of the columns of a stream."""
        labels = _index([found[name].to_numpy() for name in which]).unique()
        return cls(stream, [names.index(name) for name in which], labels)

    def max(self) -> int:
        """The largest number."""
        return len(self.labels) - 1

    def crossed(self, other: StreamedCodes) -> StreamedCodes:
        """Intersections of two clusterings."""
        names = list(self.stream.reader.beside)
        return self.of(self.stream, self.stream.sum(_Distinct.of).table, names, names)

    @property
    def number(self) -> Callable:
        """Numbers of the clusters of some rows, from their groups."""
        labels, at = self.labels, self.at
        names = '" and "'.join(self.stream.reader.beside[i] for i in at)

        def known(groups: list[pd.Series]) -> ndarray:
            if len(groups) > 1:
                return labels.get_indexer(pd.MultiIndex.from_arrays([_plain(g) for g in groups]))
            codes, found = pd.factorize(groups[0])
            return labels.get_indexer(pd.Index(_plain(pd.Series(found)), dtype=object))[codes]

        def number(*groups: Any) -> ndarray:
            if isinstance(groups[0], np.ndarray):  # arrays of a prototype
                return np.zeros(len(groups[0]), dtype=np.intp)
            found = known([groups[i] for i in at])
            if (found < 0).any():
                raise other_values("the source", of_column(names))
            return found

        return number


def _index(labels: list[ndarray]) -> pd.Index:
    """Labels, or pairs of them, as objects."""
    pairs = np.empty(len(labels[0]), dtype=object)
    pairs[:] = labels[0] if len(labels) == 1 else list(zip(*labels, strict=True))
    return pd.Index(pairs, dtype=object, tupleize_cols=False)


def _facts(X: Columns, offset: ndarray | None, weights: ndarray | None, number: int) -> Facts:
    n, (low, high, zero_one) = X.shape[0], _ends(X)
    weight, heaviest = (float(n), 1.0) if weights is None else (float(weights.sum()), float(weights.max()))
    offsets = (0.0, 0.0) if offset is None else (float(offset.min()), float(offset.max()))
    return Facts({number: n}, weight, heaviest, low, high, offsets, None, zero_one)


def _ends(X: Any) -> tuple[ndarray, ndarray, ndarray]:
    """Smallest and largest value of each column, and which hold zeros and ones only; empty for separate features."""
    if not isinstance(X, Columns):
        return np.zeros(0), np.zeros(0), np.zeros(0, dtype=bool)
    blocks = [x.toarray() for (x,) in expandable(Blocks(X))]
    low, high = np.min([A.min(axis=0) for A in blocks], axis=0), np.max([A.max(axis=0) for A in blocks], axis=0)
    zero_one = (low >= 0) & (high <= 1)
    zero_one[zero_one] = [all(np.isin(A[:, j], (0, 1)).all() for A in blocks) for j in np.flatnonzero(zero_one)]
    return low, high, zero_one
