"""Rows of a fit, in memory or in a source, with sums over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.core.design.arrow import ArrowColumns, of_levels
from glmclf.core.design.columns import Columns, expandable, some_columns
from glmclf.core.design.dense import Dense
from glmclf.core.design.recoding import RecodedColumns
from glmclf.core.fit.rank import roundings
from glmclf.core.fit.unique_rows import distinct_rows
from glmclf.core.likelihood.objective import Largest
from glmclf.core.rows.blocks import Blocks
from glmclf.core.rows.observations import Observations
from glmclf.core.rows.streamed import Gathered, RowsElsewhereError, Streamed, check_gathered, made
from glmclf.core.rows.summed import Summed, added_by
from glmclf.data.design.constant import constant
from glmclf.data.table.groups import Groups, read_groups
from glmclf.models.clusters import N_ARRAYS, clusters_of, group_names
from glmclf.models.stream import Stream

MAX_ROWS_NAMED = 5  # rows that a message names
CONSTANT_MISS = 1e-6  # share of the sum of squares that a combination may miss of a constant, to be examined row by row


class FitRows:
    """Base class of the rows that a model is fitted to: sums over rows, and facts about columns.

    Attributes
    ----------
    X : Columns
        Columns of the design.
    y, trials, offset, weights : (n,) ndarray or None
        Response as coded, single trials in a byte each; None stands for one trial, offset 0, weight 1.
    streamed : bool
        Whether they are in a source; X and the arrays then have their shape alone.
    """

    X: Any
    y: Any
    trials: Any
    offset: Any
    weights: Any
    streamed: bool
    labels: pd.Index | None = None  # of the rows, if they are in memory
    n_parts: int | None = None  # of a source, which a pass reads one after the other

    def __len__(self) -> int:
        raise NotImplementedError

    def blocks(self, X: Columns | None = None, size: int | None = None, n_threads: int | None = None) -> Blocks:
        """The rows as blocks of ``(X, y, trials, offset, weights)``, with other columns if they are given."""
        raise NotImplementedError

    def columns(self) -> Blocks:
        """Blocks of the design alone."""
        return self.blocks().map(lambda X, *rest: (X,))

    def patterns(self) -> Blocks:
        """Blocks of the design, with each row at least once."""
        return self.columns()

    def roundings(self) -> ndarray | None:
        """Units of rounding of the columns' numbers, for new rows; None where they would take a pass over a source."""
        return roundings(self.columns())

    def groups(self, groups: Any, table: pd.DataFrame | None, given_index: pd.Index, cut: ndarray | None) -> Groups:
        """Clusters of the rows by some variables, of a table in memory as of `read_groups`.

        Raises
        ------
        ValueError
            Too many groupings.
        DataError, MissingDataError
            Values that do not fit the rows, or stand beside a source; no such column; a row of the fit without a group.
        """
        raise NotImplementedError

    def named(self, places: ndarray, among: ndarray | None = None) -> str:
        """Text that names rows by their places, which may be those `among` some rows."""
        return f"{len(places)} row{'' if len(places) == 1 else 's'}"

    def watch(self, f: Callable[[int], None] | None) -> None:
        """Have f called with the number of each part of a source that a pass is done with."""

    def total(self, f: Callable) -> Any:
        """``f(y, trials, weights)``, a sum over rows."""
        return self.blocks().sum_parts(lambda X, y, trials, offset, weights: f(y, trials, weights))

    def parts(self) -> Iterator[tuple]:
        """Columns, response, trials, offset and weights, part by part."""
        return self.blocks().parts()


@dataclass(frozen=True)
class FitRowsInMemory(FitRows):
    """Rows in memory, aligned, with their labels.

    Attributes
    ----------
    X : Columns
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
    streamed = False

    def __len__(self) -> int:
        return len(self.y)

    @property
    def observations(self) -> Observations:
        """The rows without their labels."""
        return Observations(self.X, self.y, self.trials, self.offset, self.weights)

    def blocks(self, X: Columns | None = None, size: int | None = None, n_threads: int | None = None) -> Blocks:
        """The rows as blocks, with other columns if they are given."""
        rows = self.observations if X is None else self.observations._replace(X=X)
        return rows.blocks(size, n_threads)

    @property
    def labels(self) -> pd.Index:  # type: ignore[override]
        """Labels of the rows in the table."""
        return self.index

    def take(self, rows: ndarray) -> FitRowsInMemory:
        """Select rows by their places."""
        places = rows if isinstance(self.positions, slice) else self.positions[rows]
        return FitRowsInMemory(*self.observations.take(rows), self.index[rows], places)

    def held(self) -> FitRowsInMemory:
        """The rows in memory."""
        return self

    def map(self, f: Callable[..., tuple]) -> FitRowsInMemory:
        """The rows with ``f(X, y, trials, offset, weights)`` in place of these."""
        X, y, trials, offset, weights = f(*self.observations)
        return FitRowsInMemory(X, y, trials, offset, weights, self.index, self.positions)

    def groups(self, groups: Any, table: pd.DataFrame | None, given_index: pd.Index, cut: ndarray | None) -> Groups:
        """Clusters of the rows by variables, columns of the table or beside it."""
        return read_groups(groups, table, given_index, cut, self.positions, self.index)

    def named(self, places: ndarray, among: ndarray | None = None) -> str:
        """Text that names rows, with the labels of the first."""
        count, places = super().named(places), places if among is None else among[places]
        labels = ", ".join(map(repr, self.index[places[:MAX_ROWS_NAMED]]))
        more = ", ..." if len(places) > MAX_ROWS_NAMED else ""
        return f"row {labels}" if len(places) == 1 else f"{count} ({labels}{more})"

    @property
    def alike(self) -> bool:
        """Whether each row has the weight one."""
        return self.weights is None or bool((self.weights == 1).all())

    def largest(self) -> ndarray:
        """Largest absolute value of each column."""
        return self._patterns.largest()

    def spans_constant(self) -> int:
        """1 where a constant is in the span of the columns, else 0."""
        return constant(self.X)

    def constant_column(self) -> tuple[int, float] | None:
        """Place of a column that is one number other than 0 throughout, and the number; searched for once."""
        if "_constant" not in self.__dict__:
            self.__dict__["_constant"] = self._found_constant()
        return self.__dict__["_constant"]

    def _found_constant(self) -> tuple[int, float] | None:
        X, n = self.X, len(self)
        first, middle, last = X.subset(np.array([0, n // 2, n - 1])).toarray()
        likely = np.flatnonzero((first != 0) & (first == middle) & (first == last)).tolist()
        there = (j for j in likely if (some_columns(X, np.array([j])).toarray() == first[j]).all())
        return next(((j, float(first[j])) for j in there), None)

    @property
    def weight_sum(self) -> float | None:
        """Sum of the weights; None without."""
        return None if self.weights is None else float(self.weights.sum())

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

    def distinct(self, likelihood: Any, n_threads: int | None = None) -> Observations | None:
        """Distinct rows with their counts, searched for once; None where that does not pay."""
        if "_distinct" not in self.__dict__:
            self.__dict__["_distinct"] = distinct_rows(likelihood, *self.observations, n_threads)
        return self.__dict__["_distinct"]

    def patterns(self) -> Blocks:
        """Blocks of the design, with each row at least once: the distinct rows if they were found, else all."""
        return Blocks(self._patterns)

    @property
    def _patterns(self) -> Columns:
        found = self.__dict__.get("_distinct")
        return self.X if found is None else found.X


@dataclass(frozen=True)
class Facts(Summed):
    """Sums and ranges of rows besides their likelihood.

    Attributes
    ----------
    counts : dict of int
        Rows by number of the part.
    weight, heaviest : float
        Sum and largest of the weights.
    low, high : (k,) ndarray
        Ends of each column of X.
    outcomes : ndarray or None
        Sums of the responses, where they were asked for.
    zero_one : (k,) bool ndarray
        Which columns of X hold zeros and ones only.
    """

    counts: dict[int, int]
    weight: float
    heaviest: float = field(metadata=added_by(max))
    low: ndarray = field(metadata=added_by(np.minimum))
    high: ndarray = field(metadata=added_by(np.maximum))
    outcomes: Any
    zero_one: ndarray = field(metadata=added_by(np.logical_and))


class FitRowsInParts(FitRows):
    """Rows of a fit in a source, read part by part in each sum.

    Parameters
    ----------
    stream : Stream
    outcomes : callable, optional
        ``outcomes(y, trials, weights)``: what a model wants summed of its response.
    of : tuple of callable
        What becomes of the arrays of a part, one after the other.
    counts : dict of int, optional
        Rows by number of the part, if they are known.
    """

    streamed = True

    def __init__(
        self, stream: Stream, outcomes: Callable | None = None, of: tuple = (), counts: dict[int, int] | None = None
    ):
        self.stream, self._outcomes, self._of = stream, outcomes, of
        self.counts = self.facts.counts if counts is None else counts
        self.X, self.y, self.trials, self.offset, self.weights = self.blocks().arrays

    @cached_property
    def facts(self) -> Facts:
        """Sums and ranges of the rows, from a pass."""
        return self.stream.sum(partial(_facts, self._of, self._outcomes))

    def __reduce__(self) -> Any:
        """Pickle without the stream, like a model whose rows were removed."""
        return type(None), ()

    def __deepcopy__(self, memo: Any) -> FitRowsInParts:
        return self

    def __len__(self) -> int:
        return sum(self.counts.values())

    @property
    def n_parts(self) -> int:  # type: ignore[override]
        """Parts of the source, as far as they have rows."""
        return max(self.counts, default=-1) + 1

    def watch(self, f: Callable[[int], None] | None) -> None:
        """Have f called with the number of each part that a pass is done with."""
        self.stream.source.watch = f

    def roundings(self) -> None:
        """None: they are not looked for in a source."""

    def blocks(self, X: Columns | None = None, size: int | None = None, n_threads: int | None = None) -> Blocks:
        """The rows as blocks."""
        if X is not None and X is not self.X:
            raise RowsElsewhereError()
        return Streamed(self.stream, self.counts, size, n_threads, self._of)

    def map(self, f: Callable[..., tuple]) -> FitRowsInParts:
        """The rows with ``f(X, y, trials, offset, weights)`` in place of these."""
        return FitRowsInParts(self.stream, None, (*self._of, f), self.counts)

    def spans_constant(self) -> int:
        """1 where a constant is in the span of the columns, else 0, judged by the combination nearest to a constant."""
        if self.constant_column() is not None:
            return 1
        size, columns, n = self.largest(), self.columns(), len(self)
        scale = np.where(size > 0, size, 1.0)
        X = of_levels(self.blocks())
        if X is not None and X.constant is not None:
            return 1
        G = np.asarray(columns.sum(lambda X: X.gram(np.ones(X.shape[0])))) / scale / scale[:, None]
        found = np.zeros(len(scale))
        for _ in range(3):
            w = found / scale
            rest = columns.sum(lambda X, w=w: X.times(1.0 - X @ w)) / scale
            found = found + np.linalg.lstsq(G, rest, rcond=None)[0]
            if n - 2.0 * (found @ rest) + found @ G @ found > CONSTANT_MISS * n and not w.any():
                return 0
        w = found / scale
        return int(columns.sum(lambda X: Largest(np.abs(X @ w - 1.0).max(initial=0.0))) < 1e-8)

    def constant_column(self) -> tuple[int, float] | None:
        """Place of a column that is one number other than 0 throughout, and the number."""
        there = np.flatnonzero((self.facts.low == self.facts.high) & (self.facts.low != 0))
        return (int(there[0]), float(self.facts.low[there[0]])) if len(there) else None

    @property
    def weight_sum(self) -> float | None:
        """Sum of the weights; None without."""
        return None if self.weights is None else self.facts.weight

    @property
    def heaviest(self) -> float:
        """The largest weight."""
        return self.facts.heaviest

    def zero_one_columns(self) -> list[int]:
        """Places of the columns that hold zeros and ones only."""
        return np.flatnonzero(self.facts.zero_one).tolist()

    def held(self) -> Any:
        """The rows in memory, labelled by their place, if they are not too many."""
        n = len(self)
        check_gathered(n, n * self.X.shape[1])

        def part(X, *rest: Any) -> Gathered:
            return Gathered([(X.values if hasattr(X, "values") else X[:].toarray(), *rest)])

        X, *rest = zip(*self.blocks().sum_parts(part), strict=True)
        arrays = [None if a[0] is None else np.concatenate(a) for a in rest]
        kind: Any = type(self.stream.prototype[0])
        if isinstance(X[0], list):  # a list of features
            columns: Any = kind([np.concatenate(v) for v in zip(*X, strict=True)])
        else:
            columns = Dense(np.asfortranarray(np.concatenate(X)))
        return FitRowsInMemory(*(columns, *arrays, pd.RangeIndex(n), slice(None)))

    @property
    def alike(self) -> bool:
        """Whether each row has the weight one."""
        return self.facts.heaviest == 1 and self.facts.weight == len(self)

    def largest(self) -> ndarray:
        """Largest absolute value of each column."""
        return np.maximum(np.abs(self.facts.low), np.abs(self.facts.high))

    def distinct(self, likelihood: Any, n_threads: int | None = None) -> None:
        """None: distinct rows of a stream are not searched for."""

    def take(self, rows: ndarray) -> NoReturn:
        """Refuse: rows in a source cannot be selected by place."""
        raise RowsElsewhereError()

    @property
    def index(self) -> NoReturn:
        """Refuse: labels of rows in a stream are not stored."""
        raise RowsElsewhereError()

    positions = index

    def grouped(self, names: list[str]) -> Stream:
        """Stream with columns of groups after the arrays of the rows."""
        stream, reader = self.stream, replace(self.stream.reader, beside=tuple(names))
        few = stream.prototype[: N_ARRAYS]
        return Stream(stream.source, reader, stream.rows, (*few, *([np.zeros(few[0].shape[0])] * len(names))))

    def beside(self, names: list[str]) -> Streamed:
        """Rows with more columns of the source after their arrays."""
        own = self._of

        def of(*arrays: Any) -> tuple:
            return *made(own, None, arrays[: N_ARRAYS]), *arrays[N_ARRAYS :]

        return Streamed(self.grouped(names), self.counts, of=(of,))

    def groups(self, groups: Any, table: pd.DataFrame | None, given_index: pd.Index, cut: ndarray | None) -> Groups:
        """Clusters of the rows by columns of the source."""
        names = group_names(groups, self.stream.source.names)
        return clusters_of(self.grouped(names), names)


def _facts(of: tuple, outcomes: Callable | None, *arrays: Any) -> Facts:
    X, y, trials, _, weights = made(of, None, arrays[:-1])
    n, (low, high, zero_one) = X.shape[0], _ends(X)
    weight, heaviest = (float(n), 1.0) if weights is None else (float(weights.sum()), float(weights.max()))
    sums = None if outcomes is None else outcomes(y, trials, weights)
    return Facts({arrays[-1]: n}, weight, heaviest, low, high, sums, zero_one)


def _ends(X: Any) -> tuple[ndarray, ndarray, ndarray]:
    """Smallest and largest value of each column, and which hold zeros and ones only; empty for separate features."""
    if not isinstance(X, Columns):
        return np.zeros(0), np.zeros(0), np.zeros(0, dtype=bool)
    if isinstance(X, ArrowColumns | RecodedColumns):
        return X.ends()
    blocks = [x.toarray() for (x,) in expandable(Blocks(X))]
    low, high = np.min([A.min(axis=0) for A in blocks], axis=0), np.max([A.max(axis=0) for A in blocks], axis=0)
    zero_one = (low >= 0) & (high <= 1)
    zero_one[zero_one] = [all(np.isin(A[:, j], (0, 1)).all() for A in blocks) for j in np.flatnonzero(zero_one)]
    return low, high, zero_one
