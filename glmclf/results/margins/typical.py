"""Typical rows for margins: numbers at a typical value, factors at the shares of their levels."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.data.table.frame import quoted
from glmclf.errors import DataError, DerivativeError
from glmclf.inference.margins.averages import Moved
from glmclf.results.margins.predictors import LinearPredictors
from glmclf.results.margins.rows import (
    Found,
    ObservedRows,
    RowBlock,
    RowsInMemory,
    RowsInParts,
    Slopes,
    TypicalSums,
    WantedAverage,
    effect_sums,
    lacking,
)

TYPICAL = ("mean", "median", "zero")
MAX_CELLS = 200_000  # combinations of levels that one typical row is averaged over
MAX_NUMBERS = 2**24  # of the rows of the cells of several typical rows, which are computed together


class TypicalRows(RowsInMemory):
    """Typical row of each group: numbers at a typical value, factors as the average of the raw rows of their levels.

    Parameters
    ----------
    source : LinearPredictors
    point : list of dict
        Value of each number, a dict a group.
    shares : list of dict
        Levels and shares of each factor.
    offsets : list of ndarray or None
    """

    def __init__(
        self, source: LinearPredictors, point: list[dict[str, float]], shares: list[dict[str, Any]], offsets: list[Any]
    ):
        self.source, self.point, self.shares, self.offsets = source, point, shares, offsets
        self.groups = len(point)
        self.there = [True] * self.groups  # whether a group has rows

    def _changed(self, name: str, change: Callable[[Any], Any]) -> Self:
        other = copy.copy(self)
        self.source.refuse_computed(name, "a typical row sets or moves")
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
        """Repeat the row of the first group for each value of a number."""
        rows = [self.set(name, float(v)) for v in values]
        other = copy.copy(self)
        other.point, other.shares = [r.point[0] for r in rows], [r.shares[0] for r in rows]
        other.offsets, other.there, other.groups = [r.offsets[0] for r in rows], [True] * len(rows), len(rows)
        return other

    def averages(
        self, settings: Sequence[Mapping[str, Any]], wanted: Sequence[WantedAverage], keep: bool = False
    ) -> list[list[Found]]:
        """Averages wanted, with variables set to each setting: those without a slope all together, as more groups."""
        slopes = [one for one in wanted if one.slope is not None]
        of_slopes = map(iter, super().averages(settings, slopes, keep))
        out: list[list[Found]] = [[[] if one.slope is None else next(own) for one in wanted] for own in of_slopes]
        together: dict[str, list[tuple[int, int, TypicalRows]]] = {}
        for i, rows in enumerate(map(self.at, settings)):
            for j, one in enumerate(wanted):
                if one.slope is None:
                    together.setdefault(one.kind, []).append((i, j, rows.changed_for(one)))
        for kind, some in together.items():
            groups: Any = self._joined([rows for _, _, rows in some]).averages_of([WantedAverage(kind)])[0]
            found = iter(groups)
            for i, j, rows in some:
                out[i][j] = [next(found) for _ in range(rows.groups)]
        return out

    @staticmethod
    def _joined(many: Sequence[TypicalRows]) -> TypicalRows:
        """The groups of several in a row."""
        other = copy.copy(many[0])
        other.groups = sum(rows.groups for rows in many)
        for name in ("point", "shares", "offsets", "there"):
            setattr(other, name, [one for rows in many for one in getattr(rows, name)])
        return other

    def averages_of(self, wanted: Sequence[WantedAverage], keep: bool = False) -> list[Found]:
        lost = lacking(self.source, self.source.outcome.K)
        found: list[Found] = [[lost] * self.groups for _ in wanted]
        with np.errstate(all="ignore"):
            for some in self._together():
                for place, answer in enumerate(effect_sums(self.source, self._block(some), wanted, False, len(some))):
                    averages = found[place]
                    if isinstance(answer, DerivativeError) or isinstance(averages, DerivativeError):
                        found[place] = answer if isinstance(answer, DerivativeError) else averages
                        continue
                    for g, average in zip(some, answer.averages(), strict=True):
                        averages[g] = average
        return found

    def _together(self) -> Iterator[list[int]]:
        """Batches of groups with rows, small enough that the table of their cells stays small."""
        some: list[int] = []
        cells, most = 0, min(MAX_CELLS, max(1, MAX_NUMBERS // len(getattr(self.source.design, "xnames", [0]))))
        for g in np.flatnonzero(self.there).tolist():
            own = math.prod(len(levels) for levels, _ in self.shares[g].values())
            if some and cells + own > most:
                yield some
                some, cells = [], 0
            some.append(g)
            cells += own
        if some:
            yield some

    def _block(self, some: list[int]) -> Iterator[RowBlock]:
        def slopes(name: str) -> Slopes:
            self.source.refuse_computed(name, "an effect in a typical row of")
            moved = self.source.offset_of(np.ones(len(some))) if name == self.source.offset_name else None
            raw = self.collapsed(some, lambda table: self._raw_slopes(table, name))
            return Slopes(raw, moved, np.array([float(self.point[g][name]) for g in some]))

        offsets = [self.offsets[g] for g in some]
        offset = None if offsets[0] is None else np.concatenate(offsets)
        yield RowBlock(self.collapsed(some, self.raw), offset, np.ones(len(some)), np.arange(len(some)), slopes)

    def raw(self, table: pd.DataFrame) -> Any:
        """Raw rows, beside a factor of many levels as columns of which none is expanded."""
        X = self.source.design.level_columns(table) if self.source.by_level else None
        return self.source.raw(table) if X is None else X

    def _raw_slopes(self, table: pd.DataFrame, name: str) -> Any:
        """Derivatives of raw rows in a variable, beside a factor of many levels of the columns that move."""
        if not self.source.by_level:
            return self.source.raw_slopes(table, name)
        return Moved(*self.source.design.moving_columns(table, name))

    def collapsed(self, groups: list[int], rows_of: Callable[[pd.DataFrame], Any]) -> ndarray:
        """Averages of raw rows over independent levels, a row a group; each column over its own factors only."""
        by_factors: dict[tuple[str, ...], list[int]] = {}
        known = self.shares[groups[0]]
        for names, columns in self.source.parts():
            by_factors.setdefault(tuple(n for n in known if n in names), []).extend(columns)
        out = None
        for factors, columns in by_factors.items():
            table, weights, starts = self._cells(groups, factors)
            rows = rows_of(table[list(self.source.design.variables)] if len(table.columns) else table)
            if out is None:
                k = len(self.source.design.xnames) if isinstance(rows, Moved) else rows.shape[1]
                out = np.empty((len(groups), k))
            out[:, columns] = _sums(rows, weights, starts, columns, out.shape[1])
        assert out is not None
        return out

    def _cells(self, groups: list[int], factors: tuple[str, ...]) -> tuple[pd.DataFrame, ndarray, ndarray]:
        """Combinations of levels of some factors for each group, with weights, and the start of each group."""
        grids, weights = [], []
        for g in groups:
            shares = self.shares[g]
            levels = [shares[n][0] if n in factors else shares[n][0][:1] for n in shares]
            cells = math.prod(len(some) for some in levels)
            if cells > MAX_CELLS:
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


def _sums(rows: Any, weights: ndarray, starts: ndarray, columns: list[int], k: int) -> ndarray:
    """Weighted sums by group of some of k raw columns, or of the derivatives of those of them that move."""
    if isinstance(rows, ndarray):
        return np.add.reduceat(weights[:, None] * rows[:, columns], starts, axis=0)
    some, X = (rows.columns, rows.values) if isinstance(rows, Moved) else (slice(None), rows)
    out = np.zeros((len(starts), k))
    for g, (a, b) in enumerate(pairwise([*starts.tolist(), len(weights)])):
        out[g, some] = X[a:b].times(weights[a:b])
    return out[:, columns]


def typical(rows: ObservedRows | RowsInParts, at: str, equal: bool = False) -> TypicalRows:
    """Typical row of each group of rows.

    Parameters
    ----------
    rows : ObservedRows or RowsInParts
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
    known = [n for n in numbers if n in source.variables]  # without the constant of an array's design
    labels = {n: levels for n, levels in factors.items() if levels}
    summed = numbers if at == "mean" else [n for n in numbers if n not in known]
    sums = rows.middles(summed, {} if at == "zero" else labels)
    there, sums = sums.rows > 0, sums.filled()  # a group without rows has the values of all rows
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
    found = TypicalRows(source, point, shares, _typical_offsets(source, sums, point))
    found.there = there.tolist()
    return found


def _typical_offsets(source: LinearPredictors, sums: TypicalSums, point: list[dict[str, float]]) -> list[Any]:
    both = source.offset_name
    if both is not None and both in point[0]:
        return [source.offset_of(np.array([p[both]])) for p in point]
    if sums.offset is None:
        return [None] * len(point)
    return [(o / w)[None] for o, w in zip(sums.offset, sums.weight, strict=True)]


def _shares(counts: ndarray, at: str, levels: list[Any], in_order: list[Any], equal: bool) -> tuple[list[Any], ndarray]:
    if at == "median":
        most = [level for level, c in zip(levels, counts, strict=True) if c >= counts.max() * (1.0 - 1e-12)]
        return [min(most, key=in_order.index)], np.ones(1)
    there = [i for i, c in enumerate(counts) if c > 0]
    share = counts[there] / counts.sum()
    return [levels[i] for i in there], np.full(len(there), 1.0 / len(there)) if equal else share
