"""The rows that margins are averages over: those observed, or one typical row, with variables set to other values."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.data.table.frame import quoted
from glmclf.errors import DataError, InferenceWarning
from glmclf.inference.margins.averages import Average, EffectSums, Ends, GroupedRows
from glmclf.results.margins.predictors import Source

MOST_CELLS = 200_000  # combinations of levels that one typical row is averaged over
T = TypeVar("T")


class Part(NamedTuple):
    """Some rows: raw columns, their slopes, the values of the variable, how the offset moves with it, the offset,
    weights and groups."""

    raw: ndarray
    slopes: ndarray | None
    values: ndarray | None
    moved: ndarray | None
    offset: ndarray | None
    weights: ndarray
    codes: ndarray | None


class Rows:
    """What averages are taken over: one or several groups of rows.

    Attributes
    ----------
    source : Source
    groups : int
    """

    source: Source
    groups: int
    codes: ndarray | None
    fitted: bool
    weights: Any  # of rows in memory
    table: Any  # values by variable: all, or enough to tell its levels and kind

    def set(self, name: str, value: Any) -> Self:
        """The same rows with one value of a variable, of the offset, or of what is both."""
        raise NotImplementedError

    def shift(self, name: str, by: float) -> Self:
        """The same rows with a variable larger by a number."""
        raise NotImplementedError

    def at(self, setting: dict[str, Any]) -> Self:
        """The same rows with several variables set."""
        rows = self
        for name, value in setting.items():
            rows = rows.set(name, value)
        return rows

    def averages(self, kind: str, name: str | None = None, scaled: bool = False, keep: bool = False) -> list[Average]:
        """Averages of an outcome by group.

        Parameters
        ----------
        kind : str
            A method of the source's outcome: "level", "log_level", "linear", "slope" or "log_slope".
        name : str, optional
            The variable of a slope.
        scaled : bool
            Whether slopes are multiplied by the variable.
        keep : bool
            Whether to keep what is averaged, row by row.
        """
        raise NotImplementedError

    def together(self, f: Callable[[Self], T]) -> T:
        """``f(rows)``; the averages that it asks for are made together where each would take a pass."""
        return f(self)

    def without_gaps(self, setting: dict[str, Any], slopes: list[str]) -> tuple[Self, int, ndarray]:
        """The rows that have all that the model needs with variables set, and the numbers that slopes are taken in; how
        many others there are, and how many are left by group."""
        raise NotImplementedError

    def middles(self, numbers: list[str], labels: dict[str, list[Any]]) -> Middles:
        """Sums of numbers, of levels of factors and of the offset, by group."""
        raise NotImplementedError

    def medians(self, names: list[str]) -> ndarray:
        """Medians of numbers, (groups, m)."""
        raise NotImplementedError


@dataclass(frozen=True)
class Middles:
    """Sums over rows by group that typical rows are made of; + is those of more rows.

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

    def __add__(self, other: Middles) -> Middles:
        levels = tuple(a + b for a, b in zip(self.levels, other.levels, strict=True))
        offset = None if self.offset is None or other.offset is None else self.offset + other.offset
        sums = self.rows + other.rows, self.weight + other.weight, self.numbers + other.numbers
        return Middles(*sums, levels, offset)

    def filled(self) -> Middles:
        """With those of all rows where a group has none."""
        none = self.rows == 0

        def fill(A: ndarray) -> ndarray:
            whole = A.sum(axis=0, keepdims=True)
            return np.where(none.reshape(-1, *[1] * (A.ndim - 1)), whole, A)

        numbers = np.stack([fill(A) for A in self.numbers])
        offset = None if self.offset is None else fill(self.offset)
        return Middles(self.rows, fill(self.weight), numbers, tuple(map(fill, self.levels)), offset)


def effect_sums(
    source: Source, parts: Iterator[Part], kind: str, scaled: bool, keep: bool, groups: int
) -> tuple[EffectSums, tuple[list[ndarray], list[ndarray]]]:
    """Sums by group, and what was summed: values and, of probabilities, their complements.

    A row without a value, of which none is left out here, has no average: it is NaN in all of its group.
    """
    sums, kept, rest = EffectSums(groups), [], []
    for part in parts:
        source.refuse_infinite(part.raw)
        if not len(part.raw):
            continue
        effect, X, dX, eta = _effect(source, part, kind, scaled)
        sums.add(effect, part.weights, X, dX, part.codes)
        if kind == "level":
            tails = source.outcome.tails(eta)
            sums.add_tails(tails, eta + np.nan if np.isnan(effect.value).any() else eta, part.weights, X, part.codes)
            if keep:
                rest.append(np.exp(tails.log_q))
        if keep:
            kept.append(effect.value)
    return sums, (kept, rest)


def _effect(source: Source, part: Part, kind: str, scaled: bool):
    """The outcome of some rows, with the columns that the parameters belong to, and the linear predictors."""
    X = source.rows(part.raw)
    eta = source.predictors(part.raw, X, part.offset)
    lost = source.lost(part.raw)
    if part.slopes is None:
        effect, dX = getattr(source.outcome, kind)(eta), None
    else:
        lost = source.lost(part.slopes) or lost
        dX = source.slopes(part.raw, part.slopes)
        steps = source.steps(part.slopes, dX, eta)
        if part.moved is not None:
            steps = steps + part.moved.reshape(len(steps), -1)
        effect = getattr(source.outcome, kind)(eta, steps)
    if scaled and part.values is not None:
        v = part.values[:, None]
        effect = type(effect)(effect.value * v, effect.by_slope * v[..., None], effect.by_eta * v[..., None])
    if lost:
        effect = effect._replace(value=effect.value + np.nan, by_eta=effect.by_eta + np.nan)
    return effect, X, dX, eta


def lacking(source: Source, L: int) -> Average:
    """The average over no row."""
    value, gradient = np.full(L, np.nan), np.full((L, len(source.V)), np.nan)
    return Average(value, gradient, None, Ends(value, value, gradient, gradient))


class Observed(Rows):
    """Rows as they are, but for variables that were set.

    Parameters
    ----------
    source : Source
    table : DataFrame
        Columns that the design uses.
    weights : (n,) ndarray
    offset : ndarray or None
    codes : (n,) integer ndarray, optional
        Groups.
    groups : int
    fitted : bool
        Whether they are the rows of the fit.
    """

    def __init__(self, source: Source, table: pd.DataFrame, weights, offset=None, fitted: bool = False):
        self.source, self.table, self.weights = source, table, weights
        self.offset, self.fitted, self.groups = offset, fitted, 1
        self.codes = None

    def _changed(self, **changes: Any) -> Self:
        other = copy.copy(self)
        other.__dict__.update(changes)
        return other

    def set(self, name: str, value: Any) -> Self:
        changes: dict[str, Any] = {}
        if name in self.source.design.variables:
            changes["table"] = self.table.assign(**{name: _constant(self.table, value)})
        if name == self.source.offset_name:
            changes["offset"] = self.source.offset_of(np.full(len(self.table), float(value)))
        return self._changed(**changes)

    def shift(self, name: str, by: float) -> Self:
        other = self._changed(table=self.table.assign(**{name: self.table[name] + by}))
        if name == self.source.offset_name:
            other.offset = self.offset + self.source.offset_of(np.full(len(self.table), by))
        return other

    def complete(self, slopes: list[str]) -> ndarray:
        """Which rows have all that the model needs, also the numbers that slopes are taken in."""
        there = np.ones(len(self.table), dtype=bool)
        for name in slopes:
            there &= self.table[name].notna().to_numpy()
        if self.offset is not None:
            there &= ~np.isnan(self.offset.reshape(len(there), -1)).any(axis=1)
        if not self.fitted or self.table.isna().to_numpy().any():
            there &= ~np.concatenate([np.isnan(part.raw).any(axis=1) for part in self._parts(None)])
        return there

    def subset(self, there: ndarray) -> Self:
        """Some of the rows."""
        offset = None if self.offset is None else self.offset[there]
        codes = None if self.codes is None else self.codes[there]
        return self._changed(table=self.table[there], weights=self.weights[there], offset=offset, codes=codes)

    def without_gaps(self, setting: dict[str, Any], slopes: list[str]) -> tuple[Self, int, ndarray]:
        there = self.at(setting).complete(slopes)
        codes = np.zeros(len(there), dtype=np.intp) if self.codes is None else self.codes
        return self.subset(there), int((~there).sum()), np.bincount(codes[there], minlength=self.groups)

    def middles(self, numbers: list[str], labels: dict[str, list[Any]]) -> Middles:
        w, G = self.weights, self.groups
        codes = np.zeros(len(w), dtype=np.intp) if self.codes is None else self.codes

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
        return Middles(np.bincount(codes, minlength=G), summed(np.ones(len(w))), sums, tuple(levels), offset)

    def medians(self, names: list[str]) -> ndarray:
        at = [slice(None) if rows is None else rows for rows in _members(self)]
        columns = [numbers_of(self.table[name], "median") for name in names]
        return np.array([[median(v[r], self.weights[r]) for v in columns] for r in at])

    def sums(
        self, kind: str, name: str | None = None, scaled: bool = False, keep: bool = False
    ) -> tuple[EffectSums, tuple[list[ndarray], list[ndarray]]]:
        """What averages are made of; see `effect_sums`."""
        with np.errstate(all="ignore"):  # what is not finite is looked at afterwards
            return effect_sums(self.source, self._parts(name), kind, scaled, keep, self.groups)

    def averages(self, kind: str, name: str | None = None, scaled: bool = False, keep: bool = False) -> list[Average]:
        sums, kept = self.sums(kind, name, scaled, keep)
        rows, rest = (np.concatenate(some) if some else None for some in kept)
        return averaged(self.source, sums, lambda: self.odd(name), rows, rest)

    def odd(self, name: str | None) -> int:
        """How many rows have a value of the design that is not a number."""
        odd = 0
        for part in self._parts(name):
            bad = np.isnan(part.raw).any(axis=1)
            if part.slopes is not None:
                bad |= np.isnan(part.slopes).any(axis=1)
            odd += int(bad.sum())
        return odd

    def _parts(self, name: str | None) -> Iterator[Part]:
        n = len(self.table)
        size = self.source.block_size if self.source.blockwise else max(n, 1)
        for start in range(0, n, size):
            at = slice(start, start + size)
            table = self.table.iloc[at]
            slopes = values = moved = None
            if name is not None:
                slopes = self.source.raw_slopes(table, name)
                values = table[name].to_numpy(dtype=float)
                if name == self.source.offset_name:
                    moved = self.source.offset_of(np.ones(len(table)))
            offset = None if self.offset is None else self.offset[at]
            codes = None if self.codes is None else self.codes[at]
            yield Part(self.source.raw(table), slopes, values, moved, offset, self.weights[at], codes)


def averaged(source: Source, sums: EffectSums, odd: Callable[[], int], rows=None, rest=None) -> list[Average]:
    """Averages of sums; of those that are not numbers it is said how many rows' design is none."""
    with np.errstate(all="ignore"):
        found = sums.averages(rows, rest)
    n = odd() if any(np.isnan(e.value).any() for e in found) else 0
    if n:
        source._say(
            f"the design of {n} row{'s' if n > 1 else ''} is not a number at values that variables are set to: such "
            "averages are NaN",
            InferenceWarning,
        )
    return found


def _constant(table: pd.DataFrame, value: Any) -> Any:
    """A column of one value; of labels as a category, which is read fast."""
    if isinstance(value, (str, bytes)):
        codes = np.zeros(len(table), dtype=np.int8)
        return pd.Categorical.from_codes(codes, categories=pd.Index([value], dtype=object))
    return pd.Series(np.full(len(table), value), index=table.index)


class Typical(Rows):
    """One row: numbers at a typical value, factors as the average of the raw rows of their levels, group by group.

    Parameters
    ----------
    source : Source
    point : list of dict
        Value of each number, a dict a group.
    shares : list of dict
        Levels and shares of each factor.
    offsets : list of ndarray or None
    """

    def __init__(self, source: Source, point: list[dict[str, float]], shares: list[dict[str, Any]], offsets: list[Any]):
        self.source, self.point, self.shares, self.offsets = source, point, shares, offsets
        self.groups = len(point)
        self.there = [True] * self.groups  # whether a group has rows to be typical of

    def _changed(self, name: str, change: Callable[[Any], Any]) -> Self:
        other = copy.copy(self)
        if name == self.source.offset_name:
            old = self.offsets if name not in self.point[0] else [p[name] for p in self.point]
            other.offsets = [self.source.offset_of(np.array([float(change(v))])) for v in old]
        if name in self.point[0]:
            other.point = [{**p, name: change(p[name])} for p in self.point]
        elif name in self.source.design.variables:
            other.shares = [{**s, name: ([change(None)], np.ones(1))} for s in self.shares]
        return other

    def set(self, name: str, value: Any) -> Self:
        return self._changed(name, lambda _: value)

    def shift(self, name: str, by: float) -> Self:
        return self._changed(name, lambda old: old + by)

    def over(self, name: str, values: ndarray) -> Self:
        """The row of the first group once for each value of a number."""
        rows = [self.set(name, float(v)) for v in values]
        other = copy.copy(self)
        other.point, other.shares = [r.point[0] for r in rows], [r.shares[0] for r in rows]
        other.offsets, other.there, other.groups = [r.offsets[0] for r in rows], [True] * len(rows), len(rows)
        return other

    def averages(self, kind: str, name: str | None = None, scaled: bool = False, keep: bool = False) -> list[Average]:
        found = [lacking(self.source, self.source.outcome.K)] * self.groups
        with np.errstate(all="ignore"):
            for some in self._together():
                for g, average in zip(some, self._averages(some, kind, name, scaled), strict=True):
                    found[g] = average
        return found

    def _together(self) -> Iterator[list[int]]:
        """Groups with rows, so many at a time that a table of their cells stays small."""
        some: list[int] = []
        cells = 0
        for g in np.flatnonzero(self.there).tolist():
            own = math.prod(len(levels) for levels, _ in self.shares[g].values())
            if some and cells + own > MOST_CELLS:
                yield some
                some, cells = [], 0
            some.append(g)
            cells += own
        if some:
            yield some

    def _averages(self, some: list[int], kind: str, name: str | None, scaled: bool) -> list[Average]:
        raw = self.collapsed(some, self.source.raw)
        slopes = values = moved = None
        if name is not None:
            slopes = self.collapsed(some, lambda t: self.source.raw_slopes(t, name))
            values = np.array([float(self.point[g][name]) for g in some])
            moved = self.source.offset_of(np.ones(len(some))) if name == self.source.offset_name else None
        offsets = [self.offsets[g] for g in some]
        offset = None if offsets[0] is None else np.concatenate(offsets)
        part = Part(raw, slopes, values, moved, offset, np.ones(len(some)), np.arange(len(some)))
        return effect_sums(self.source, iter([part]), kind, scaled, False, len(some))[0].averages()

    def collapsed(self, groups: list[int], rows_of: Callable[[pd.DataFrame], ndarray]) -> ndarray:
        """The averages of raw rows over independent levels, a row a group: each column over the factors it is made
        of."""
        by_factors: dict[tuple[str, ...], list[int]] = {}
        known = self.shares[groups[0]]
        for names, columns in self.source.parts():
            by_factors.setdefault(tuple(n for n in known if n in names), []).extend(columns)
        out = None
        for factors, columns in by_factors.items():
            table, weights, starts = self._cells(groups, factors)
            rows = rows_of(table[list(self.source.design.variables)] if len(table.columns) else table)
            out = np.empty((len(groups), rows.shape[1])) if out is None else out
            out[:, columns] = np.add.reduceat(weights[:, None] * rows[:, columns], starts, axis=0)
        assert out is not None
        return out

    def _cells(self, groups: list[int], factors: tuple[str, ...]) -> tuple[pd.DataFrame, ndarray, ndarray]:
        """Combinations of levels of some factors for each group, the others at their first; weights; where each group
        starts."""
        grids, weights = [], []
        for g in groups:
            shares = self.shares[g]
            levels = [shares[n][0] if n in factors else shares[n][0][:1] for n in shares]
            cells = math.prod(len(some) for some in levels)
            if cells > MOST_CELLS:
                raise DataError(
                    f"a typical row would be an average over {cells} combinations of levels of {quoted(factors)}: use "
                    'at="overall", or set some of them'
                )
            grids.append(list(itertools.product(*levels)))
            own = np.ones(1)
            for n in shares:
                own = np.outer(own, shares[n][1] if n in factors else np.ones(1)).ravel()
            weights.append(own)
        sizes = [len(grid) for grid in grids]
        numbers = {n: np.repeat([self.point[g][n] for g in groups], sizes) for n in self.point[groups[0]]}
        table = pd.DataFrame(numbers, index=range(sum(sizes)))
        for j, n in enumerate(self.shares[groups[0]]):
            table[n] = pd.Series([cell[j] for grid in grids for cell in grid])
        return table, np.concatenate(weights), np.cumsum([0, *sizes[:-1]])


def typical(rows: Rows, at: str, equal: bool = False) -> Typical:
    """The typical row of each group of rows.

    Parameters
    ----------
    rows : Rows
    at : {"mean", "median", "zero"}
        Numbers at their mean, median or 0, factors at the shares of their levels, at their most frequent level (the
        first of those that tie, sorted or in the order of the categories), or at their base; the offset at its mean or,
        where it is a variable of the formula, too, with that.
    equal : bool
        Whether levels count alike instead of by their shares.
    """
    source = rows.source
    factors = {name: source.levels_of(name, rows.table) for name in source.design.variables}
    numbers = [n for n in factors if factors[n] is None]
    known = [n for n in numbers if n in source.variables]  # without the constant of an array
    labels = {n: levels for n, levels in factors.items() if levels}
    summed = numbers if at == "mean" else [n for n in numbers if n not in known]
    sums = rows.middles(summed, {} if at == "zero" else labels)
    there, sums = sums.rows > 0, sums.filled()  # the shape of a group without rows is that of all
    with np.errstate(invalid="ignore"):
        values = dict(zip(summed, (sums.numbers[0] / sums.numbers[1]).T, strict=True))
    if at == "zero":
        values |= {n: np.zeros(rows.groups) for n in known}
        shares = [{n: (levels[:1], np.ones(1)) for n, levels in labels.items()}] * rows.groups
    else:
        values |= dict(zip(known, rows.medians(known).T, strict=True)) if at == "median" else {}
        counts = [dict(zip(labels, of_group, strict=True)) for of_group in zip(*sums.levels)] or [{}] * rows.groups
        order = {n: source.in_order(n, levels) for n, levels in labels.items()}
        shares = [{n: _shares(of[n], at, labels[n], order[n], equal) for n in labels} for of in counts]
    point = [{n: float(values[n][g]) for n in numbers} for g in range(rows.groups)]
    found = Typical(source, point, shares, _typical_offsets(source, sums, point))
    found.there = there.tolist()
    return found


def _typical_offsets(source: Source, sums: Middles, point: list[dict[str, float]]) -> list[Any]:
    both = source.offset_name
    if both is not None and both in point[0]:
        return [source.offset_of(np.array([p[both]])) for p in point]
    if sums.offset is None:
        return [None] * len(point)
    return [(o / w)[None] for o, w in zip(sums.offset, sums.weight, strict=True)]


def _members(rows: Observed) -> list[Any]:
    """Places of the rows of each group, sorted once; None of a group without a row."""
    if rows.codes is None:
        return [slice(None)]
    by = GroupedRows(rows.codes, len(rows.codes))
    out: list[Any] = [None] * rows.groups
    for g, a, b in zip(by.of, by.starts, by.stops, strict=True):
        out[g] = by.order[a:b]
    return out


def numbers_of(column: pd.Series, at: str) -> ndarray:
    """A column as floats."""
    try:
        if column.dtype.kind in "mM":
            raise TypeError
        return column.to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError):
        raise DataError(f'at="{at}" needs numbers or labels; "{column.name}" holds {column.dtype} values') from None


def _codes_of(column: pd.Series, levels: list[Any]) -> ndarray:
    """Place of each row's label among the levels, or -1."""
    values = np.asarray(column.astype(object))
    codes = np.full(len(values), -1, dtype=np.intp)
    for i, level in enumerate(levels):
        codes[values == level] = i
    return codes


def median(v: ndarray, w: ndarray) -> float:
    """The median of numbers that weigh w, missing ones aside."""
    there = ~np.isnan(v)
    v, w = v[there], w[there]
    order = np.argsort(v, kind="stable")
    v, below = v[order], np.cumsum(w[order])
    half = 0.5 * below[-1]
    # a row of weight f is f rows: the middle one, or the middle of the two that share it
    return float(0.5 * (v[np.searchsorted(below, half)] + v[min(np.searchsorted(below, half, "right"), len(v) - 1)]))


def _shares(counts: ndarray, at: str, levels: list[Any], in_order: list[Any], equal: bool) -> tuple[list[Any], ndarray]:
    if at == "median":
        most = [level for level, c in zip(levels, counts, strict=True) if c >= counts.max() * (1.0 - 1e-12)]
        return [min(most, key=in_order.index)], np.ones(1)
    there = [i for i, c in enumerate(counts) if c > 0]
    share = counts[there] / counts.sum()
    return [levels[i] for i in there], np.full(len(there), 1.0 / len(there)) if equal else share


def rows_of_fit(source: Source, newdata: Any = None) -> Observed:
    """The rows of a fit with their weights, trials and offset; or other rows, each counted once."""
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
        return Observed(source, table, np.ones(len(table)), offset)
    r = model._rows
    weights = np.ones(len(r)) if r.weights is None else np.asarray(r.weights, dtype=float)
    if r.trials is not None:
        weights = weights * r.trials
    return Observed(source, source.table(), weights, r.offset, fitted=True)
