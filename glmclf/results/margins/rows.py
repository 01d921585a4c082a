"""Rows that margins average over: observed rows with variables set to other values, in memory or in parts."""

from __future__ import annotations

import copy
import itertools
import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.core.rows.streamed import GatheredArrays
from glmclf.core.rows.summed import Summed, SumsSideBySide, added_by
from glmclf.data.reading.open_source import as_source, check_beside
from glmclf.data.source import base
from glmclf.data.source.digests import Digests, Watched
from glmclf.data.table.frame import assigned, close_to, of_one_type
from glmclf.data.table.rows import read_extras
from glmclf.errors import DataError, DerivativeError, MissingDataError
from glmclf.inference.margins.averages import Average, EffectSums, Ends, GroupedRows, Moved
from glmclf.inference.margins.outcomes import Effect
from glmclf.results.margins.groups import CrossedGroups, named_columns
from glmclf.results.margins.predictors import LinearPredictors

ROWS_BY_LEVEL = 2**16  # rows at a time of which none is expanded
# kinds of columns that may be factors, counts or dummies; dates may not
COUNTABLE_KINDS = ("number", "bool", "label", "category")


class WantedAverage(NamedTuple):
    """Specification of an average: an outcome, over rows with a variable set or moved.

    Attributes
    ----------
    kind : str
        A method of the outcome: "level", "log_level", "linear", "slope" or "log_slope".
    setting : dict
        Values of variables that are set.
    shift : tuple of str and float, optional
        A variable, and by how much it is larger.
    slope : str, optional
        The variable of a slope.
    scaled : bool
        Whether slopes are multiplied by the variable.
    """

    kind: str
    setting: Mapping[str, Any] = {}
    shift: tuple[str, float] | None = None
    slope: str | None = None
    scaled: bool = False


Found = list[Average] | DerivativeError  # averages by group, or the error of rows without a slope


class Slopes(NamedTuple):
    """Derivatives of a block of rows in a variable: of raw columns and of the offset; the values of the variable.

    Beside a factor of many levels they are of the columns that move alone.
    """

    raw: ndarray | Moved
    offset: ndarray | None
    values: ndarray


class RowBlock(NamedTuple):
    """Block of rows: raw columns, offset, weights, groups, and its slopes in a variable.

    Raw columns are an array, or beside a factor of many levels `ArrowColumns`.
    """

    raw: Any
    offset: ndarray | None
    weights: ndarray
    codes: ndarray | None
    slopes: Callable[[str], Slopes]


class RowsInMemory:
    """Rows whose variables can be set, in one or several groups.

    Attributes
    ----------
    source : LinearPredictors
    groups : int
    """

    source: LinearPredictors
    groups: int

    def set(self, name: str, value: Any) -> Self:
        """A copy with one value of a variable, of the offset, or of a column that is both."""
        raise NotImplementedError

    def shift(self, name: str, by: float) -> Self:
        """A copy with a variable larger by a number."""
        raise NotImplementedError

    def at(self, setting: Mapping[str, Any]) -> Self:
        """A copy with several variables set."""
        rows = self
        for name, value in setting.items():
            rows = rows.set(name, value)
        return rows

    def changed_for(self, wanted: WantedAverage) -> Self:
        """A copy with the variables set and moved as an average wants them."""
        rows = self.at(wanted.setting)
        return rows if wanted.shift is None else rows.shift(*wanted.shift)

    def averages(
        self, settings: Sequence[Mapping[str, Any]], wanted: Sequence[WantedAverage], keep: bool = False
    ) -> list[list[Found]]:
        """Averages wanted, with variables set to each setting; `keep` stores the averaged values row by row."""
        found = []
        for rows in map(self.at, settings):
            some = [rows.changed_for(alike[0]).averages_of(alike, keep) for alike in _together(wanted)]
            found.append(list(itertools.chain(*some)))
        return found

    def averages_of(self, wanted: Sequence[WantedAverage], keep: bool = False) -> list[Found]:
        """Averages by group over the rows with their present settings."""
        raise NotImplementedError


def _together(wanted: Sequence[WantedAverage]) -> Iterator[list[WantedAverage]]:
    """Averages in runs that are over the same rows: slopes without a setting, of which each row is evaluated once."""
    for _, some in itertools.groupby(wanted, lambda one: id(one) if one.setting or one.shift is not None else None):
        yield list(some)


@dataclass(frozen=True)
class TypicalSums(Summed):
    """Sums over rows by group from which typical rows are computed; ``a + b`` adds more rows.

    Attributes
    ----------
    rows, weight : (G,) ndarray
    numbers : (2, G, m) ndarray
        Weighted sums of numbers, and the weights of the rows that have one.
    levels : tuple of (G, L) ndarray
        Weights of the levels of each factor.
    offset : (G,) or (G, q) ndarray or None
        Weighted sums.
    """

    rows: ndarray
    weight: ndarray
    numbers: ndarray
    levels: tuple[ndarray, ...]
    offset: ndarray | None

    def filled(self) -> TypicalSums:
        """Fill groups without rows with the sums of all rows."""
        none = self.rows == 0

        def fill(A: ndarray) -> ndarray:
            whole = A.sum(axis=0, keepdims=True)
            return np.where(none.reshape(-1, *[1] * (A.ndim - 1)), whole, A)

        numbers = np.stack([fill(A) for A in self.numbers])
        offset = None if self.offset is None else fill(self.offset)
        return TypicalSums(self.rows, fill(self.weight), numbers, tuple(map(fill, self.levels)), offset)


@dataclass
class KeptSums:
    """Sums of an average, and the values summed with, for probabilities, their complements, where they are kept."""

    sums: EffectSums
    values: list[ndarray] = field(default_factory=list)
    rest: list[ndarray] = field(default_factory=list)

    def averages(self) -> list[Average]:
        """Averages by group."""
        return self.sums.averages(*(np.concatenate(some) if some else None for some in (self.values, self.rest)))


def effect_sums(
    source: LinearPredictors, blocks: Iterator[RowBlock], wanted: Sequence[WantedAverage], keep: bool, groups: int
) -> list[KeptSums | DerivativeError]:
    """Sums of effects by group, each of the averages wanted, or the error of rows without a slope.

    A row without a value, of which none is left out here, has no average: it is NaN in all of its group.
    """
    found: list[KeptSums | DerivativeError] = [KeptSums(EffectSums(groups)) for _ in wanted]
    for block in blocks:
        source.refuse_infinite(block.raw)
        if not len(block.weights):
            continue
        X = source.rows(block.raw)
        eta, lost = source.predictors(block.raw, X, block.offset), source.lost(block.raw)
        for place, one in enumerate(wanted):
            kept = found[place]
            if isinstance(kept, DerivativeError):
                continue
            try:
                effect, dX = _effect(source, block, one, eta, lost)
            except DerivativeError as error:
                found[place] = error
                continue
            kept.sums.add(effect, block.weights, X, dX, block.codes)
            if one.kind == "level":
                tails, at = source.outcome.tails(eta), eta + np.nan if np.isnan(effect.value).any() else eta
                kept.sums.add_tails(tails, at, block.weights, X, block.codes)
                if keep:
                    kept.rest.append(np.exp(tails.log_q))
            if keep:
                kept.values.append(effect.value)
    return found


def _effect(
    source: LinearPredictors, block: RowBlock, wanted: WantedAverage, eta: ndarray, lost: bool
) -> tuple[Effect, Moved | None]:
    """Outcome of a block of rows with linear predictors eta, and the derivatives of its regressors."""
    if wanted.slope is None:
        effect, dX = getattr(source.outcome, wanted.kind)(eta), None
    else:
        slopes = block.slopes(wanted.slope)
        lost = source.lost(slopes.raw, change=True) or lost
        dX = source.slopes(block.raw, slopes.raw)
        steps = source.steps(slopes.raw, dX, eta)
        if slopes.offset is not None:
            steps = steps + slopes.offset.reshape(len(steps), -1)
        effect = getattr(source.outcome, wanted.kind)(eta, steps)
        if wanted.scaled:
            v = slopes.values[:, None]
            effect = type(effect)(effect.value * v, effect.by_slope * v[..., None], effect.by_eta * v[..., None])
    if lost:
        effect = effect._replace(value=effect.value + np.nan, by_eta=effect.by_eta + np.nan)
    return effect, dX


def lacking(source: LinearPredictors, L: int) -> Average:
    """Average over no row: NaN."""
    value, gradient = np.full(L, np.nan), np.full((L, len(source.V)), np.nan)
    return Average(value, gradient, None, Ends(value, value, gradient, gradient))


class ObservedRows(RowsInMemory):
    """Observed rows, except for variables that are set to a value.

    Parameters
    ----------
    source : LinearPredictors
    table : DataFrame
        Columns that the design uses.
    weights : (n,) ndarray
        Those of the rows times their trials.
    offset : ndarray or None
    codes : (n,) integer ndarray, optional
        Groups.
    groups : int
    fitted : bool
        Whether they are the rows of the fit.
    trials : (n,) ndarray, optional
        Numbers of trials, of counts.
    frequency : bool
        Whether a row of weight f stands for f rows.
    """

    def __init__(
        self,
        source: LinearPredictors,
        table: pd.DataFrame,
        weights,
        offset=None,
        fitted: bool = False,
        trials=None,
        frequency: bool = False,
    ):
        self.source, self.table, self.weights, self.trials = source, table, weights, trials
        self.offset, self.fitted, self.frequency, self.groups = offset, fitted, frequency, 1
        self.codes: ndarray | None = None
        self.used: ndarray | None = None  # mask of the rows of a table that these are, where some have no weight

    @property
    def group_of_row(self) -> ndarray:
        """Group of each row, 0 where there is one."""
        return np.zeros(len(self.weights), dtype=np.intp) if self.codes is None else self.codes

    def in_groups(self, codes: ndarray, groups: int) -> Self:
        """A copy in groups, from the group of each row of the table."""
        return self._changed(codes=codes if self.used is None else codes[self.used], groups=groups)

    def _changed(self, **changes: Any) -> Self:
        other = copy.copy(self)
        other.__dict__.update(changes)
        return other

    def set(self, name: str, value: Any) -> Self:
        changes: dict[str, Any] = {}
        if name in self.table:
            changes["table"] = assigned(self.table, {name: _constant(self.table, value)})
        if name == self.source.offset_name:
            changes["offset"] = self.source.offset_of(np.full(len(self.table), float(value)))
        elif name in self.source.offset_columns:
            changes["offset"] = self.source.res._new_offset(changes["table"], None)
        return self._changed(**changes)

    def shift(self, name: str, by: float) -> Self:
        other = self._changed(table=assigned(self.table, {name: self.table[name] + by}))
        if name == self.source.offset_name:
            other.offset = self.offset + self.source.offset_of(np.full(len(self.table), by))
        elif name in self.source.offset_columns:
            other.offset = self.source.res._new_offset(other.table, None)
        return other

    def complete(self, slopes: list[str]) -> ndarray:
        """Mask of the rows that have a weight and all variables of the model and of the slopes."""
        there = ~np.isnan(self.weights)
        if not len(there):
            return there
        for name in slopes:
            there &= self.table[name].notna().to_numpy()
        if self.offset is not None:
            there &= ~np.isnan(self.offset.reshape(len(there), -1)).any(axis=1)
        if self.source.by_level:
            there &= self.source.design.complete(self.table)
        elif not self.fitted or self.table.isna().to_numpy().any():
            there &= ~np.concatenate([np.isnan(block.raw).any(axis=1) for block in self._blocks()])
        return there

    def subset(self, there: ndarray) -> Self:
        """Subset of the rows."""
        offset = None if self.offset is None else self.offset[there]
        codes = None if self.codes is None else self.codes[there]
        trials = None if self.trials is None else self.trials[there]
        rows = {"table": self.table[there], "weights": self.weights[there], "trials": trials}
        return self._changed(**rows, offset=offset, codes=codes)

    def without_gaps(self, setting: dict[str, Any], slopes: list[str]) -> tuple[Self, int, ndarray]:
        """The rows that have all that the model needs with variables set, and the numbers that slopes are taken in; how
        many others there are, and how many are left by group."""
        absent = self.weights == 0  # of which nothing is asked
        there = self.at(setting).complete(slopes)
        lost, there = int((~there & ~absent).sum()), there & ~absent
        return self.subset(there), lost, np.bincount(self.group_of_row[there], minlength=self.groups)

    def middles(self, numbers: list[str], labels: dict[str, list[Any]]) -> TypicalSums:
        """Sums of numbers, of levels of factors and of the offset, by group."""
        w, G, codes = self.weights, self.groups, self.group_of_row

        def summed(v: ndarray, times: ndarray = w) -> ndarray:
            return np.array([times @ v]) if G == 1 else np.bincount(codes, times * v, minlength=G)

        sums = np.zeros((2, G, len(numbers)))
        for j, name in enumerate(numbers):
            v = numbers_of(self.table[name], "mean")
            there = ~np.isnan(v)
            sums[:, :, j] = summed(np.where(there, v, 0.0)), summed(there.astype(float))
        levels = []
        for name, some in labels.items():
            place, L = _codes_of(self.table[name], some), len(some) + 1
            levels.append(np.bincount(codes * L + place + 1, w, minlength=G * L).reshape(G, L)[:, 1:])
        o, offset = self.offset, None
        if o is not None:
            columns = [summed(column) for column in o.reshape(len(o), -1).T]
            offset = np.column_stack(columns).reshape(G, *o.shape[1:])
        return TypicalSums(np.bincount(codes, minlength=G), summed(np.ones(len(w))), sums, tuple(levels), offset)

    def medians(self, names: list[str]) -> ndarray:
        """Medians of numbers, (groups, m)."""
        columns = [numbers_of(self.table[name], "median") for name in names]
        return _medians(self.group_of_row, self.weights, columns, self.groups)

    def sums(self, wanted: Sequence[WantedAverage], keep: bool = False) -> list[KeptSums | DerivativeError]:
        """Sums that averages are made of; see `effect_sums`."""
        with np.errstate(all="ignore"):  # numbers that are not finite are checked afterwards
            return effect_sums(self.source, self._blocks(), wanted, keep, self.groups)

    def averages_of(self, wanted: Sequence[WantedAverage], keep: bool = False) -> list[Found]:
        return [one if isinstance(one, DerivativeError) else one.averages() for one in self.sums(wanted, keep)]

    def _blocks(self) -> Iterator[RowBlock]:
        n = len(self.table)
        if not self.source.by_level:
            yield from self._expanded(range(n))
            return
        for start in range(0, n, ROWS_BY_LEVEL):
            some = range(n)[start : start + ROWS_BY_LEVEL]
            X = self.source.design.level_columns(self.table.iloc[some])
            yield from self._expanded(some) if X is None else [self._block(some, X)]

    def _expanded(self, some: range) -> Iterator[RowBlock]:
        """Blocks of rows as arrays."""
        size = self.source.block_size if self.source.blockwise else max(len(some), 1)
        for start in range(0, len(some), size):
            rows = some[start : start + size]
            yield self._block(rows, self.source.raw(self.table.iloc[rows]))

    def _block(self, some: range, raw: Any) -> RowBlock:
        at = slice(some.start, some.stop)
        table = self.table.iloc[at]
        offset = None if self.offset is None else self.offset[at]
        codes = None if self.codes is None else self.codes[at]
        slopes = partial(self._slopes, table, not isinstance(raw, ndarray))
        return RowBlock(raw, offset, self.weights[at], codes, slopes)

    def _slopes(self, table: pd.DataFrame, by_level: bool, name: str) -> Slopes:
        moved = self.source.offset_slopes(table, name)
        slopes = self.source.design.moving_columns if by_level else self.source.raw_slopes
        raw = slopes(table, name)
        return Slopes(Moved(*raw) if by_level else raw, moved, table[name].to_numpy(dtype=float))


def _constant(table: pd.DataFrame, value: Any) -> Any:
    """Column of one value, a category for a label, which is read fast."""
    if (value is not None and not isinstance(value, (numbers.Number, np.bool_))) or isinstance(value, Decimal):
        codes = np.zeros(len(table), dtype=np.int8)
        return pd.Categorical.from_codes(codes, categories=pd.Index([value], dtype=object, tupleize_cols=False))
    return pd.Series(np.full(len(table), value), index=table.index)


def _medians(codes: ndarray, weights: ndarray, columns: Sequence[ndarray], groups: int) -> ndarray:
    """Medians of columns by group, (groups, m); a group without rows has those of all rows."""
    by = GroupedRows(codes, len(codes))
    members: list[Any] = [slice(None)] * groups
    for g, a, b in zip(by.of, by.starts, by.stops, strict=True):
        members[g] = by.order[a:b]
    return np.array([[median(v[rows], weights[rows]) for v in columns] for rows in members])


def numbers_of(column: pd.Series, at: str) -> ndarray:
    """Convert a column to floats."""
    try:
        if column.dtype.kind in "mM":
            raise TypeError
        return column.to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError):
        raise DataError(f'at="{at}" needs numbers or labels; "{column.name}" holds {column.dtype} values') from None


def _codes_of(column: pd.Series, levels: list[Any]) -> ndarray:
    """Place of each row's label among the levels, or -1."""
    return pd.Index(levels, dtype=object, tupleize_cols=False).get_indexer(np.asarray(column.astype(object)))


def median(v: ndarray, w: ndarray) -> float:
    """Weighted median of numbers, missing values aside."""
    there = ~np.isnan(v)
    v, w = v[there], w[there]
    order = np.argsort(v, kind="stable")
    v, below = v[order], np.cumsum(w[order])
    half = 0.5 * below[-1]
    # a row of weight f is f rows: the middle one, or the middle of the two that share it
    return float(0.5 * (v[np.searchsorted(below, half)] + v[min(np.searchsorted(below, half, "right"), len(v) - 1)]))


def rows_of_fit(
    source: LinearPredictors, newdata: Any = None, weights: Mapping[str, Any] | None = None
) -> ObservedRows:
    """The rows of a fit with their weights, trials and offset; or other rows, with weights by their keyword."""
    res, model = source.res, source.model
    if newdata is not None:
        table = source.table(newdata)
        if getattr(model, "_has_offset", False) and source.offset_name is None:
            raise DataError(
                "newdata= needs the offset of its rows, and that of the fit was given as values: fit with offset= the "
                "name of a column, which newdata= then has, too"
            )
        new_offset = getattr(res, "_new_offset", None)
        offset = None if new_offset is None else new_offset(newdata, None)
        if offset is not None and np.ndim(offset) == 0:
            offset = np.full(len(table), float(offset))
        if not len(table):
            raise DataError("the table to average over has no rows")
        if offset is not None and len(offset) != len(table):
            raise DataError(f"the offset has {len(offset)} values for {len(table)} rows to average over")
        if not weights:
            return ObservedRows(source, table, np.ones(len(table)), offset)
        from glmclf.data.reading.bind import computed_beside  # loads patsy

        frame = source.as_table(newdata)
        ((name, values),) = read_extras(computed_beside(weights, frame), frame, None).items()
        missing = np.isnan(values)
        if missing.any():
            source._say(f"rows of newdata= whose {name}= is missing are not in the averages")
        rows = ObservedRows(source, table, values, offset, frequency=name == "freq_weights")
        used = (values != 0) & ~missing
        return rows if used.all() else rows.subset(used)._changed(used=used)
    r = model._rows
    w = np.ones(len(r)) if r.weights is None else np.asarray(r.weights, dtype=float)
    w = w if r.trials is None else w * r.trials
    return ObservedRows(source, source.table(), w, r.offset, fitted=True, trials=r.trials, frequency=model._frequency)


# ------------------------------------------------------------------------------------------------------- in parts
Sum = Callable[[ObservedRows, pd.DataFrame | None], Any]  # function of some rows and of columns beside them
Change = Callable[[ObservedRows, pd.DataFrame | None], ObservedRows]


def rows_to_average(
    source: LinearPredictors, newdata: Any = None, weights: Mapping[str, Any] | None = None
) -> ObservedRows | RowsInParts:
    """Rows of a fit, or new rows in their place, in memory or in parts."""
    others = None if newdata is None else as_source(newdata)
    if others is not None:
        check_beside(others, **(weights or {}))
        return RowsInParts(source, _NewParts(source, others, weights), others.names, fitted=False)
    if newdata is None and source.model._rows.streamed:
        rows = source.model._rows
        return RowsInParts(source, _FitParts(source, rows), rows.stream.source.names, fitted=True)
    return rows_of_fit(source, newdata, weights)


class _FitParts:
    """Sums over the rows of a fit to a stream."""

    def __init__(self, source: LinearPredictors, rows: Any):
        self._source, self._rows = source, rows

    def __call__(self, f: Sum, beside: list[str]) -> Any:
        source = self._source
        names = list(dict.fromkeys([*source.design.variables, *source.offset_columns]))

        def part(X, y, trials, offset, weights, *columns) -> Any:
            index = columns[0].index if columns else pd.RangeIndex(len(y))
            table = source.table(pd.DataFrame(dict(zip(names, columns, strict=False)), index=index))
            w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
            w = w if trials is None else w * trials
            own = pd.DataFrame(dict(zip(beside, columns[len(names) :], strict=True)), index=index) if beside else None
            return f(ObservedRows(source, table, w, offset, fitted=True), own)

        return self._rows.beside([*names, *beside]).sum_parts(part)


class _NewParts:
    """Sums over the rows of new data in parts."""

    def __init__(self, source: LinearPredictors, rows: base.Source, weights: Mapping[str, Any] | None):
        self._source, self._rows, self._weights = source, rows, weights or {}

    def __call__(self, f: Sum, beside: list[str]) -> Any:
        from glmclf.data.formula.across import refuse_across  # loads patsy
        from glmclf.data.formula.parse import columns_in

        refuse_across(self._source.design)
        weights = [name for text in self._weights.values() for name in (text, *columns_in(text))]
        offset = [self._source.offset_name, *self._source.offset_columns]
        wanted = [*self._source.design.variables, *offset, *weights, *beside]
        columns = [name for name in dict.fromkeys(wanted) if name in self._rows.names]

        def part(table: pd.DataFrame, place: base.Place) -> Any:
            digests = Digests.of({name: table[name] for name in columns}).of_part(place.number)
            if not len(table):
                return Watched(None, digests)
            rows = rows_of_fit(self._source, table, self._weights)
            return Watched(f(rows, table[beside] if beside else None), digests)

        return self._rows.ledger.checked(self._rows.sum(part, columns))


class RowsInParts:
    """Rows in parts, averaged over in one pass for all averages.

    Parameters
    ----------
    source : LinearPredictors
    total : callable
        ``total(f, beside)``: the sum over parts of f(rows, columns beside them).
    names : list of str
        Columns that there are.
    fitted : bool
        Whether they are the rows of the fit.
    """

    def __init__(
        self, source: LinearPredictors, total: Callable[[Sum, list[str]], Any], names: list[str], fitted: bool
    ):
        self.source, self._sum, self.names, self.fitted = source, total, names, fitted
        self.groups, self.codes = 1, None
        self._over: list[str] = []
        self._changes: tuple[Change, ...] = ()
        self.table = _SeenValues(self)

    def total(self, f: Callable[[ObservedRows], Any]) -> Any:
        """Sum of f over the rows of each part that are not left out, in their groups."""

        def part(rows: ObservedRows, beside: pd.DataFrame | None) -> Any:
            for change in self._changes:
                rows = change(rows, beside)
            return f(rows) if len(rows.table) else None

        return self._sum(part, self._over)

    def _then(self, change: Change, **changed: Any) -> Self:
        other = copy.copy(self)
        other.__dict__ |= {"_changes": (*self._changes, change), **changed}
        other.table = _SeenValues(other)
        return other

    def by(self, over: Any) -> tuple[Self, CrossedGroups]:
        """Group the rows by a column, or by several; return them with the groups."""
        names = named_columns(over, self.names)
        if names is None or not set(names) <= set(self.names):
            hint, found = close_to(str(over), self.names), repr(over) if isinstance(over, str) else type(over).__name__
            raise DataError(f"over= of rows in a stream is the name of one of its columns; found {found}. {hint}")
        values: _GroupLabels | None = self._sum(lambda rows, beside: _GroupLabels.of(beside), names)
        if values is None:
            raise DataError("there are no rows to average over")
        if values.missing:
            raise MissingDataError(f"over= is missing in {values.missing} of {values.n} rows")
        _, groups = CrossedGroups.found({name: values.values[name] for name in names})
        count = len(groups.labels)

        def grouped(rows: ObservedRows, beside: pd.DataFrame | None) -> ObservedRows:
            assert beside is not None
            return rows.in_groups(groups.codes(beside), count)

        return self._then(grouped, groups=count, _over=names), groups

    def without_gaps(self, setting: dict[str, Any], slopes: list[str]) -> tuple[Self, int, ndarray]:
        """The rows that have all that the model needs with variables set, and the numbers that slopes are taken in; how
        many others there are, and how many are left by group."""
        def counted(rows: ObservedRows) -> ndarray:
            kept, lost, left = rows.without_gaps(setting, slopes)
            return np.r_[lost, len(rows.table) - len(kept.table), left]

        found = self.total(counted)
        if found is None:
            raise DataError("there are no rows to average over")
        kept = self._then(lambda rows, _: rows.without_gaps(setting, slopes)[0]) if found[1] else self
        return kept, int(found[0]), found[2:]

    def middles(self, numbers: list[str], labels: dict[str, list[Any]]) -> TypicalSums:
        """Sums of numbers, of levels of factors and of the offset, by group."""
        return self.total(lambda rows: rows.middles(numbers, labels))

    def medians(self, names: list[str]) -> ndarray:
        """Medians of numbers, (groups, m)."""
        def part(rows: ObservedRows) -> GatheredArrays:
            columns = [numbers_of(rows.table[name], "median") for name in names]
            return GatheredArrays([np.column_stack([rows.group_of_row, rows.weights, *columns])])

        codes, w, *columns = np.concatenate(self.total(part)).T
        return _medians(codes.astype(np.intp), w, columns, self.groups)

    def averages(
        self, settings: Sequence[Mapping[str, Any]], wanted: Sequence[WantedAverage], keep: bool = False
    ) -> list[list[Found]]:
        """Averages wanted, with variables set to the values of each setting."""

        def part(rows: ObservedRows) -> SumsSideBySide:
            sums = SumsSideBySide()
            for some in map(rows.at, settings):
                for alike in _together(wanted):
                    sums.extend(_without_error(one) for one in some.changed_for(alike[0]).sums(alike))
            return sums

        found: Any = self.total(part) if wanted else ()
        answers = (sums.averages() for sums in found)
        return [[next(answers) for _ in wanted] for _ in settings]


def _without_error(found: KeptSums | DerivativeError) -> EffectSums:
    if isinstance(found, DerivativeError):
        raise found
    return found.sums


class _SeenValues:
    """Values of variables of rows in parts, by name, as needed to find levels, dummies and counts, from one pass."""

    def __init__(self, rows: RowsInParts):
        self._rows = rows

    def __getitem__(self, name: str) -> pd.Series:
        found = self._seen.get(name)
        return pd.Series(dtype=float, name=name) if found is None else found.columns[0].rename(name)

    @cached_property
    def _seen(self) -> dict[str, Any]:
        from glmclf.data.reading.summary import ResponseSummary

        design = self._rows.source.design
        kinds = {name: column.kind for name, column in getattr(design, "columns", {}).items()}
        names = [name for name in design.variables if kinds.get(name, "number") in COUNTABLE_KINDS]

        def part(rows: ObservedRows) -> SumsSideBySide:
            return SumsSideBySide(ResponseSummary.of([name], [rows.table[name].dropna()]) for name in names)

        return dict(zip(names, self._rows.total(part) or (), strict=False))


def _both_values(a: pd.DataFrame, b: pd.DataFrame) -> pd.DataFrame:
    """Distinct rows of two tables of the same columns."""
    whole = {name: pd.concat(of_one_type(str(name), a[name], b[name]), ignore_index=True) for name in a}
    return pd.DataFrame(whole).drop_duplicates()


@dataclass(frozen=True)
class _GroupLabels(Summed):
    """Labels of groups from columns, the number of rows where one is missing, and of all rows."""

    values: pd.DataFrame = field(metadata=added_by(_both_values))
    missing: int
    n: int

    @classmethod
    def of(cls, columns: Any) -> _GroupLabels:
        there = columns.dropna()
        return cls(there.drop_duplicates(), len(columns) - len(there), len(columns))
