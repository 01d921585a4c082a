"""Averages over rows with a factor set to each of its levels in turn, at the cost of its neighbours' columns alone.

Where the columns of a factor depend on nothing else, its level adds the same number to the linear predictor of every
row: the other columns are computed once, and rows are never as wide as there are levels.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.design.columns import some_columns
from glmclf.core.fit.estimate import at_infinity
from glmclf.data.table.frame import assigned
from glmclf.errors import InferenceWarning
from glmclf.inference.margins.averages import Average
from glmclf.results.margins.predictors import CERTAIN, RegressionPredictors
from glmclf.results.margins.rows import Found, ObservedRows, RowBlock, WantedAverage, effect_sums
from glmclf.results.separation import signs_of_rows

ROWS_JOINED = 2**14  # of a block of few columns
MIN_APART = 8  # set in turn, from which the other columns are worth computing apart


class LevelRows:
    """Rows with a factor set to any of its levels.

    Parameters
    ----------
    rows : ObservedRows
    name : str
        The factor.
    levels : list
    own : (m,) ndarray of int
        Columns of the design that depend on the factor, and on nothing else.
    """

    def __init__(self, rows: ObservedRows, name: str, levels: list[Any], own: ndarray):
        self.source: Any = rows.source
        self.groups, self._own = rows.groups, own
        table = assigned(rows.table.iloc[np.zeros(len(levels), dtype=np.intp)], {name: _column(levels)})
        raw = self.source.raw(table)
        self._parts = raw[:, own]
        self._rest = np.setdiff1d(np.arange(raw.shape[1]), own)
        self._blocks = list(_joined(self._narrow(block) for block in rows._blocks()))

    def _narrow(self, block: RowBlock) -> RowBlock:
        self.source.refuse_infinite(block.raw)
        X = block.raw
        rest = X[:, self._rest] if isinstance(X, ndarray) else some_columns(X, self._rest).toarray()
        return block._replace(raw=np.column_stack([rest, np.ones(len(rest))]))

    def averages_of(self, level: int, wanted: WantedAverage, keep: bool) -> list[Average]:
        """Averages by group with the factor at one of the levels, by its place."""
        source: Any = _LevelPredictors(self.source, self._rest, self._own, self._parts[level])
        with np.errstate(all="ignore"):  # numbers that are not finite are checked afterwards
            found: Any = effect_sums(source, iter(self._blocks), [wanted], keep, self.groups)[0]
            return [self._widened(average, level) for average in found.averages()]

    def _widened(self, average: Average, level: int) -> Average:
        """An average with gradients in all parameters: the constant stands for the level's own columns."""

        def wide(J: ndarray) -> ndarray:
            narrow = J.reshape(len(J), -1, len(self._rest) + 1)
            out = np.zeros((*narrow.shape[:2], len(self._rest) + len(self._own)))
            out[..., self._rest], out[..., self._own] = narrow[..., :-1], narrow[..., -1:] * self._parts[level]
            return out.reshape(len(J), -1)

        ends = average.ends
        if ends is not None:
            ends = ends._replace(by_p=wide(ends.by_p), by_q=wide(ends.by_q))
        return average._replace(gradient=wide(average.gradient), ends=ends)


def _joined(blocks: Iterator[RowBlock]) -> Iterator[RowBlock]:
    """Blocks of a few columns with as many rows as pay, of which no slopes are asked."""
    some: list[RowBlock] = []
    for block in blocks:
        some.append(block)
        if sum(len(one.raw) for one in some) >= ROWS_JOINED:
            yield _one_of(some)
            some = []
    if some:
        yield _one_of(some)


def _one_of(blocks: list[RowBlock]) -> RowBlock:
    def joined(name: str) -> Any:
        some = [getattr(block, name) for block in blocks]
        return None if some[0] is None else np.concatenate(some)

    return RowBlock(joined("raw"), joined("offset"), joined("weights"), joined("codes"), blocks[0].slopes)


class _LevelPredictors:
    """Linear predictors of rows of the other columns and a constant, which stands for the columns of a level."""

    def __init__(self, source: RegressionPredictors, rest: ndarray, own: ndarray, part: ndarray):
        self._source, self.outcome, self.V = source, source.outcome, source.V
        b = source.res._state.inner.reshape(-1, len(rest) + len(own))
        self._b = np.column_stack([b[:, rest], b[:, own] @ part])
        found, row = source.res._state.estimate, np.zeros((1, b.shape[1]))
        row[0, own] = part
        self._sign = 0.0 if found.is_finite else float(signs_of_rows(found.cone, row)[0][0])

    def refuse_infinite(self, raw: ndarray) -> None:
        """Nothing: the rows were checked at once."""

    def lost(self, raw: ndarray, change: bool = False) -> bool:
        """No row: no column of such a fit was left out."""
        return False

    def rows(self, raw: ndarray) -> ndarray:
        """The rows themselves."""
        return raw

    def predictors(self, raw: ndarray, X: ndarray, offset: ndarray | None) -> ndarray:
        """Linear predictors; of several classes with that of the reference, 0."""
        eta = X @ self._b.T
        if offset is not None:
            eta = eta + offset.reshape(len(eta), -1)
        if self._source.several:
            return np.column_stack([np.zeros(len(eta)), eta])
        if self._sign:
            self._source._say(CERTAIN, InferenceWarning)
        return at_infinity(eta[:, 0], np.full(len(eta), self._sign))


def averages(
    rows: Any, settings: Sequence[Mapping[str, Any]], wanted: Sequence[WantedAverage], keep: bool = False
) -> list[list[Found]]:
    """Averages wanted, with variables set to each setting, as `RowsInMemory.averages`; those of levels side by side."""
    if not isinstance(rows, ObservedRows):
        return rows.averages(settings, wanted, keep)
    out: list[list[Found]] = []
    for some in map(rows.at, settings):
        found: dict[int, Found] = dict(_of_levels(some, wanted, keep))
        rest = [j for j in range(len(wanted)) if j not in found]
        found |= dict(zip(rest, some.averages([{}], [wanted[j] for j in rest], keep)[0], strict=True))
        out.append([found[j] for j in range(len(wanted))])
    return out


def _of_levels(rows: ObservedRows, wanted: Sequence[WantedAverage], keep: bool) -> dict[int, list[Average]]:
    """Averages by group of those that set one factor to each of many levels, by their places among all."""
    places: dict[tuple[Any, ...], list[int]] = {}  # averages that differ in the level of one factor alone
    for i, one in enumerate(wanted):
        if one.shift is None and one.slope is None:
            for name in one.setting:
                others = tuple((other, value) for other, value in one.setting.items() if other != name)
                places.setdefault((one.kind, name, others), []).append(i)
    found: dict[int, list[Average]] = {}
    for (_, name, others), some in sorted(places.items(), key=lambda entry: -len(entry[1])):
        some = [i for i in some if i not in found]
        own = _own_columns(rows.source, name) if len(some) >= MIN_APART and len(rows.table) else None
        if own is not None:
            apart = LevelRows(rows.at(dict(others)), name, [wanted[i].setting[name] for i in some], own)
            found |= {i: apart.averages_of(level, wanted[i], keep) for level, i in enumerate(some)}
    return found


def _own_columns(source: Any, name: str) -> ndarray | None:
    """Columns that depend on a variable alone; None where others do, too, or rows are not those of the design."""
    if not isinstance(source, RegressionPredictors) or not source.blockwise or name == source.offset_name:
        return None
    uses = [(names, columns) for names, columns in source.parts() if name in names]
    if not uses or any(names != (name,) for names, _ in uses):
        return None
    own = np.array(sorted(j for _, columns in uses for j in columns))
    state = source.res._state
    if state.basis is not None or state.combinations or state.shift.any():
        return None
    if not state.estimate.is_finite:
        infinite = state.estimate.unbounded.copy()
        infinite[own] = False
        if source.several or infinite.any():
            return None
    return own


def _column(levels: list[Any]) -> Any:
    """Column of levels, a row each, of categories where they are labels."""
    if all(isinstance(level, (numbers.Number, np.bool_)) for level in levels):
        return np.array(levels)
    categories = pd.Index(levels, dtype=object, tupleize_cols=False)
    return pd.Categorical.from_codes(np.arange(len(levels)), categories=categories)
