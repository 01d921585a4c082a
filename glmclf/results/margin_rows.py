"""The rows that margins are averages over: those observed, or one typical row, with variables set to other values."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.data.frame import quoted
from glmclf.errors import DataError
from glmclf.inference.margins import Average, Sums
from glmclf.results.margin_sources import Source

BLOCK = 16384
MOST_CELLS = 200_000  # combinations of levels that one typical row is averaged over


class Part(NamedTuple):
    """Some rows: raw columns, their slopes, the values of the variable, offset, weights and groups."""

    raw: ndarray
    slopes: ndarray | None
    values: ndarray | None
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

    def set(self, name: str, value: Any) -> Rows:
        """The same rows with one value of a variable."""
        raise NotImplementedError

    def shift(self, name: str, by: float) -> Rows:
        """The same rows with a variable larger by a number."""
        raise NotImplementedError

    def with_offset(self, value: float) -> Rows:
        """The same rows with one offset."""
        raise NotImplementedError

    def at(self, setting: dict[str, Any]) -> Rows:
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


def effect_sums(
    source: Source, parts: Iterator[Part], kind: str, scaled: bool, keep: bool, groups: int
) -> tuple[list[Sums], list[ndarray]]:
    """Sums by group, and what was summed."""
    sums, kept, lacking = [Sums() for _ in range(groups)], [], 0
    for part in parts:
        source.refuse_infinite(part.raw)
        there = ~np.isnan(part.raw).any(axis=1)
        if part.slopes is not None:
            there &= ~np.isnan(part.slopes).any(axis=1)
        lacking += int((~there).sum())
        if not there.all():
            part = Part._make(a if a is None else a[there] for a in part)
        if not len(part.raw):
            continue
        effect, X, dX = _effect(source, part, kind, scaled)
        if keep:
            kept.append(effect.value)
        for g in range(groups):
            at = slice(None) if part.codes is None else part.codes == g
            some = effect._replace(
                value=effect.value[at],
                by_slope=None if effect.by_slope is None else effect.by_slope[at],
                by_eta=effect.by_eta[at],
            )
            if len(some.value):
                sums[g].add(some, part.weights[at], X[at], None if dX is None else dX[at])
    if lacking:
        source._say(f"{lacking} rows that lack a value the model needs are not in the averages")
    return sums, kept


def _effect(source: Source, part: Part, kind: str, scaled: bool):
    """The outcome of some rows, with the columns that the parameters belong to."""
    X = source.rows(part.raw)
    eta = source.predictors(part.raw, X, part.offset)
    lost = source.lost(part.raw)
    if part.slopes is None:
        effect, dX = getattr(source.outcome, kind)(eta), None
    else:
        lost = source.lost(part.slopes) or lost
        dX = source.slopes(part.raw, part.slopes)
        effect = getattr(source.outcome, kind)(eta, source.steps(part.slopes, dX, eta))
    if scaled and part.values is not None:
        v = part.values[:, None]
        effect = type(effect)(effect.value * v, effect.by_slope * v[..., None], effect.by_eta * v[..., None])
    if lost:
        effect = effect._replace(value=effect.value + np.nan, by_eta=effect.by_eta + np.nan)
    return effect, X, dX


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
    """

    def __init__(self, source: Source, table: pd.DataFrame, weights, offset=None, codes=None, groups: int = 1):
        self.source, self.table, self.weights = source, table, weights
        self.offset, self.codes, self.groups = offset, codes, groups

    def _changed(self, **changes: Any) -> Observed:
        other = copy.copy(self)
        other.__dict__.update(changes)
        return other

    def set(self, name: str, value: Any) -> Observed:
        return self._changed(table=self.table.assign(**{name: _constant(self.table, value)}))

    def shift(self, name: str, by: float) -> Observed:
        return self._changed(table=self.table.assign(**{name: self.table[name] + by}))

    def with_offset(self, value: float) -> Observed:
        return self._changed(offset=np.full(len(self.table), float(value)))

    def averages(self, kind: str, name: str | None = None, scaled: bool = False, keep: bool = False) -> list[Average]:
        with np.errstate(divide="ignore", invalid="ignore"):  # what is not finite is looked at afterwards
            sums, kept = effect_sums(self.source, self._parts(name), kind, scaled, keep, self.groups)
        if any(s.weight == 0 for s in sums):
            raise DataError("no row with all values that the model needs is left to average over")
        rows = np.concatenate(kept) if keep else None
        return [s.average()._replace(rows=rows) for s in sums]

    def _parts(self, name: str | None) -> Iterator[Part]:
        n = len(self.table)
        size = BLOCK if self.source.blockwise else max(n, 1)
        for start in range(0, n, size):
            at = slice(start, start + size)
            table = self.table.iloc[at]
            slopes = None if name is None else self.source.raw_slopes(table, name)
            values = None if name is None else table[name].to_numpy(dtype=float)
            offset = None if self.offset is None else self.offset[at]
            codes = None if self.codes is None else self.codes[at]
            yield Part(self.source.raw(table), slopes, values, offset, self.weights[at], codes)


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

    def _changed(self, name: str, change: Callable[[Any], Any]) -> Typical:
        other = copy.copy(self)
        if name in self.point[0]:
            other.point = [{**p, name: change(p[name])} for p in self.point]
        else:
            other.shares = [{**s, name: ([change(None)], np.ones(1))} for s in self.shares]
        return other

    def set(self, name: str, value: Any) -> Typical:
        return self._changed(name, lambda _: value)

    def shift(self, name: str, by: float) -> Typical:
        return self._changed(name, lambda old: old + by)

    def with_offset(self, value: float) -> Typical:
        other = copy.copy(self)
        other.offsets = [np.array([float(value)])] * self.groups
        return other

    def averages(self, kind: str, name: str | None = None, scaled: bool = False, keep: bool = False) -> list[Average]:
        with np.errstate(divide="ignore", invalid="ignore"):
            return [self._average(g, kind, name, scaled) for g in range(self.groups)]

    def _average(self, g: int, kind: str, name: str | None, scaled: bool) -> Average:
        raw = self._collapsed(g, self.source.raw)
        slopes = None if name is None else self._collapsed(g, lambda t: self.source.raw_slopes(t, name))
        values = None if name is None else np.array([float(self.point[g][name])])
        part = Part(raw, slopes, values, self.offsets[g], np.ones(1), None)
        return effect_sums(self.source, iter([part]), kind, scaled, False, 1)[0][0].average()

    def _collapsed(self, g: int, rows_of: Callable[[pd.DataFrame], ndarray]) -> ndarray:
        """The average of raw rows over independent levels: each column over the factors that it is made of."""
        point, shares = self.point[g], self.shares[g]
        by_factors: dict[tuple[str, ...], list[int]] = {}
        for names, columns in self.source.parts():
            by_factors.setdefault(tuple(n for n in shares if n in names), []).extend(columns)
        out = None
        for factors, columns in by_factors.items():
            levels = [shares[n][0] if n in factors else shares[n][0][:1] for n in shares]
            cells = math.prod(len(some) for some in levels)
            if cells > MOST_CELLS:
                raise DataError(
                    f"a typical row would be an average over {cells} combinations of levels of {quoted(factors)}: use "
                    'at="overall", or set some of them'
                )
            grid = list(itertools.product(*levels))
            weights = np.ones(1)
            for n in shares:
                weights = np.outer(weights, shares[n][1] if n in factors else np.ones(1)).ravel()
            table = pd.DataFrame({n: np.full(len(grid), v) for n, v in point.items()}, index=range(len(grid)))
            for j, n in enumerate(shares):
                table[n] = pd.Series([cell[j] for cell in grid])
            rows = rows_of(table[list(self.source.design.variables)] if len(table.columns) else table)
            out = np.empty((1, rows.shape[1])) if out is None else out
            out[0, columns] = weights @ rows[:, columns]
        assert out is not None
        return out


def typical(rows: Observed, at: str, equal: bool = False) -> Typical:
    """The typical row of each group of observed rows.

    Parameters
    ----------
    rows : Observed
    at : {"mean", "median", "zero"}
        Numbers at their mean, median or 0, factors at the shares of their levels, at their most frequent level, or at
        their base; the offset at its mean.
    equal : bool
        Whether levels count alike instead of by their shares.
    """
    source, table = rows.source, rows.table
    point: list[dict[str, float]] = []
    shares: list[dict[str, Any]] = []
    offsets: list[Any] = []
    factors = {name: source.levels_of(name, table) for name in source.design.variables}
    known = source.variables  # without the constant of an array
    for g in range(rows.groups):
        member = slice(None) if rows.codes is None else rows.codes == g
        w, some = rows.weights[member], table[member] if rows.codes is not None else table
        numbers = [n for n in factors if factors[n] is None]
        point.append({n: _middle(some[n], w, at if n in known else "mean") for n in numbers})
        shares.append({n: _shares(some[n], w, at, levels, equal) for n, levels in factors.items() if levels})
        offset = None if rows.offset is None else rows.offset[member]
        offsets.append(None if offset is None else (w @ offset / w.sum())[None])
    return Typical(source, point, shares, offsets)


def _middle(column: pd.Series, w: ndarray, at: str) -> float:
    if at == "zero":
        return 0.0
    try:
        if column.dtype.kind in "mM":
            raise TypeError
        v = column.to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError):
        raise DataError(f'at="{at}" needs numbers or labels; "{column.name}" holds {column.dtype} values') from None
    there = ~np.isnan(v)
    v, w = v[there], w[there]
    if at == "mean":
        return float(w @ v / w.sum())
    order = np.argsort(v, kind="stable")
    v, below = v[order], np.cumsum(w[order])
    half = 0.5 * below[-1]
    # a row of weight f is f rows: the middle one, or the middle of the two that share it
    return float(0.5 * (v[np.searchsorted(below, half)] + v[min(np.searchsorted(below, half, "right"), len(v) - 1)]))


def _shares(column: pd.Series, w: ndarray, at: str, levels: list[Any], equal: bool) -> tuple[list[Any], ndarray]:
    if at == "zero":
        return levels[:1], np.ones(1)
    values = np.asarray(column.astype(object))
    counts = np.array([w[values == level].sum() for level in levels])
    if at == "median":
        return [levels[int(counts.argmax())]], np.ones(1)
    there = [i for i, c in enumerate(counts) if c > 0]
    share = counts[there] / counts.sum()
    return [levels[i] for i in there], np.full(len(there), 1.0 / len(there)) if equal else share


def rows_of_fit(source: Source, newdata: Any = None) -> Observed:
    """The rows of a fit with their weights, trials and offset; or other rows, each counted once."""
    res, model = source.res, source.model
    if newdata is not None:
        table = source.table(newdata)
        new_offset = getattr(res, "_new_offset", None)
        offset = None if new_offset is None else new_offset(newdata, None)
        if offset is not None and np.ndim(offset) == 0:
            offset = np.full(len(table), float(offset))
        if not len(table):
            raise DataError("the table to average over has no rows")
        return Observed(source, table, np.ones(len(table)), offset)
    r = model._rows
    weights = np.ones(len(r)) if r.weights is None else np.asarray(r.weights, dtype=float)
    if r.trials is not None:
        weights = weights * r.trials
    return Observed(source, source.table(), weights, r.offset)
