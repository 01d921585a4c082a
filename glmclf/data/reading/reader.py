"""A part of a source, or a table in memory, read by a formula: what it shows of factors, and the rows of a model.

One evaluation, `Reader.settled`, gives what a part shows before a design is known and the rows of X afterwards. A table
in memory keeps it, so that its factors are evaluated once; parts are evaluated anew in each pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.design.factor import SubtermColumns
from glmclf.core.design.pieces import from_pieces
from glmclf.core.rows.observations import Observations
from glmclf.data.design.computed import ComputedColumn
from glmclf.data.formula.evaluate import left_value, raw_missing
from glmclf.data.formula.factors import Expression, Value
from glmclf.data.reading.bind import subset_mask
from glmclf.data.reading.settle import Reading, Settled, settle
from glmclf.data.reading.summary import ColumnSummary, FactorSummary, ResponseSummary, TableSummary
from glmclf.data.response.response import counted
from glmclf.data.response.trials import counts_of
from glmclf.data.source.base import Place
from glmclf.data.source.digests import Digests, Watched
from glmclf.data.table.frame import Column, read_column
from glmclf.data.table.groups import grouping
from glmclf.data.table.rows import ReadTable, RowMask, read_extras, weigh


@dataclass
class Reader:
    """Reader of a part of a source as rows of a model.

    Attributes
    ----------
    left : list of str
        Codes of the left side.
    bound : dict of Expression
        All factors by code.
    subset : str or None
        A query; of a table in memory also a mask.
    caller : mapping
        Variables that the query may use.
    missing : str
    extras : dict of str
        Column of "offset", "freq_weights", "weights" or "trials", or a ComputedColumn; of a table in memory also values
        beside it.
    beside : tuple of str
        More columns, for groups.
    design, response
        None before they are known.
    constant : bool
        Whether the constant stays in X.
    part : bool
        Whether the rows may be some of several parts, rather than a table in memory.
    restricted : bool
        Whether only what is on the closed list may be called.
    """

    left: list[str]
    bound: dict[str, Expression]
    subset: Any
    caller: Mapping[str, Any]
    missing: str
    extras: dict[str, Any]
    beside: tuple[str, ...] = ()
    design: Any = None
    response: Any = None
    constant: bool = True
    part: bool = True
    restricted: bool = False

    @property
    def together(self) -> dict[str, Expression]:
        """Factors of which a row must have all."""
        return self.bound

    @property
    def columns(self) -> list[str]:
        """Columns of the source that are read; all with a query, which may use any."""
        names = [name for e in self.bound.values() for name in e.columns]
        beside = [value for name, value in self.extras.items() if name not in self.computed]
        return list(dict.fromkeys([*names, *self._behind, *beside, *self.beside]))

    @property
    def computed(self) -> dict[str, ComputedColumn]:
        """Extras that code computes, by keyword."""
        return {name: value for name, value in self.extras.items() if isinstance(value, ComputedColumn)}

    @property
    def _behind(self) -> list[str]:
        """Columns of which extras are computed."""
        return [name for value in self.computed.values() for name in value.expression.columns]

    @property
    def wanted(self) -> list[str] | None:
        """Columns to ask a source for; None for all."""
        return None if self.subset else self.columns

    def read(self, given: pd.DataFrame) -> Reading:
        """The table after `subset`, which of its rows may stay, the variables beside, and the columns of factors."""
        cut = subset_mask(self.subset, given, self.caller, self.restricted, part=self.part)
        frame = given if cut is None else given[cut]
        beside = read_extras(self.extras, given, cut)
        known = {} if self.design is None else self.design._read(frame)
        names = dict.fromkeys([*(name for e in self.bound.values() for name in e.columns), *self._behind])
        table = {name: known[name] if name in known else read_column(frame[name], name) for name in names}
        rows = RowMask(frame.index, self.missing, part=self.part, digests=self._digests(frame, beside, table))
        lost = weigh(rows, beside, self.extras)
        rows.lose(lost, raw_missing(self.together.values(), table))
        return Reading(given.index, cut, frame, rows, beside, self.bound, table)

    def _digests(self, frame: pd.DataFrame, beside: dict[str, ndarray], table: dict[str, Column]) -> Digests | None:
        """Digests of the columns that are read, by which a source is known again; a table in memory is read once."""
        if not self.part:
            return None
        groups = {name: grouping(name, frame) for name in self.beside if name not in table}
        return Digests.of(table | groups | {str(self.extras[keyword]): v for keyword, v in beside.items()})

    def settled(self, given: pd.DataFrame, stage: str) -> Settled:
        """Complete rows of a part, with the values of the factors there; `stage` is that of `settle`."""
        reading = self.read(given)
        times = None if self.part else reading.beside.get("freq_weights")
        values = settle(self.bound, reading.table, reading.rows, self.left, times, stage)
        return Settled(reading, values)

    def survey(self, given: pd.DataFrame, place: Place, stage: str) -> TableSummary:
        """Summary of one part; `stage` is that of `settle`."""
        return self.summary(self.settled(given, stage), place)

    def summary(self, settled: Settled, place: Place) -> TableSummary:
        """Summary of settled rows."""
        values = settled.values
        factors = {c: s for c, v in values.items() if (s := FactorSummary.of(v, c, place, c in self.left)) is not None}
        left = {code: values[code] for code in self.left if code in values}
        return self._summary(settled.reading, factors, left, place)

    def _summary(
        self, reading: Reading, factors: dict[str, Any], left: Mapping[str, Value], place: Place
    ) -> TableSummary:
        frame, rows = reading.frame, reading.rows
        right = {*self._behind, *(name for c, e in self.bound.items() if c not in self.left for name in e.columns)}
        columns = {
            name: own
            for name, column in reading.table.items()
            if (own := ColumnSummary.of(column, name, place, name not in right)) is not None
        }
        values = [left_value(self.bound[code], value, frame, rows) for code, value in left.items()]
        outcomes, shown = None, None
        if len(values) == len(self.left):
            outcomes = self._outcomes(*self._counts(values, reading))
        if self.part:
            shown = self._all_outcomes(outcomes, frame, rows)
        return TableSummary(
            given=len(reading.given_index),
            cut=len(frame),
            used=int(np.count_nonzero(rows.keep)),
            dropped=rows.n_dropped(),
            absent=rows.n_absent,
            no_trials=rows.no_trials,
            masks=rows.dropped(),
            factors=factors,
            columns=columns,
            left=outcomes,
            shown=shown,
            digests=Digests() if rows.digests is None else rows.digests.of_part(place.number),
        )

    def _counts(self, values: list[Any], reading: Reading) -> tuple[list[str], list[Any]]:
        """Names and values of the left side's terms; of a proportion of trials those of the counts that it makes."""
        trials, keep = reading.beside.get("trials"), reading.rows.selection
        if trials is None:
            return self.left, values
        index = reading.frame.index
        trials, index = (trials, index) if keep is None else (trials[keep], index[keep])
        return counts_of(self.left, values, trials, index)

    def _outcomes(self, names: list[str], values: list[Any]) -> ResponseSummary | None:
        """Rows of the left side that tell all its values; all of them of a table in memory."""
        if not self.part:
            return ResponseSummary(names, values)
        if len(values) > 1:
            for name, counts in zip(names, values, strict=True):
                counted(name, counts)  # whose error is of the rows of the part
        return ResponseSummary.of(names, values)

    def _all_outcomes(self, used: ResponseSummary | None, frame: pd.DataFrame, rows: RowMask) -> ResponseSummary | None:
        """Values of the column that is the response, whichever rows are used."""
        one = len(self.left) == 1 and "trials" not in self.extras
        name = self.bound[self.left[0]].bare if one else None
        if name is None or rows.selection is None:
            return used if name is not None else None
        return ResponseSummary.of([name], [frame[name].dropna()])

    def memories(self) -> list[list[Expression]]:
        """Factors whose transforms remember rows: those that remember the same rows together."""
        found = [e for e in self.bound.values() if e.remembers]
        return [found] if found else []

    def memorised(self, given: pd.DataFrame, place: Place, g: Callable, some: list[Expression]) -> Watched:
        """Value of ``g(columns, times, first)`` for the complete rows of one part, for transforms of some factors."""
        reading = self.read(given)
        rows = self._remembered(reading, some)
        times = reading.beside.get("freq_weights")
        cut = {name: column.take(rows.selection) for name, column in reading.table.items()}
        found = g(cut, None if times is None else times[rows.keep], place.number == 0)
        return Watched(found, reading.rows.digests.of_part(place.number))

    def _remembered(self, reading: Reading, some: list[Expression]) -> RowMask:
        settle(self.bound, reading.table, reading.rows, self.left, None, "before")
        return reading.rows

    def __call__(self, given: pd.DataFrame, place: Place) -> tuple:
        """The rows of one part, with groups beside them; None where there are none."""
        return self.watched(given, place)[:-1]

    def watched(self, given: pd.DataFrame, place: Place) -> tuple:
        """The rows of one part, with groups beside them, and digests of what was read; digests alone without rows."""
        assert self.design is not None
        reading = self.read(given)
        digests = reading.rows.digests.of_part(place.number)
        values = settle(self.together, reading.table, reading.rows, self.left, None, "after")
        if not reading.rows.keep.any():
            return (digests,)
        frame, keep = reading.frame, reading.rows.selection
        groups = [grouping(name, frame if keep is None else frame[keep]) for name in self.beside]
        return (*self._rows(Settled(reading, values)), *groups, digests)

    def _rows(self, settled: Settled) -> Observations:
        """The rows of a model."""
        reading, values = settled.reading, settled.values
        frame, keep = reading.frame, reading.rows.selection
        X = self._regressors(settled)
        left = [left_value(self.bound[c], values[c], frame, reading.rows) for c in self.left]
        index = frame.index if keep is None else frame.index[keep]
        y, trials = self.response.code(*self._counts(left, reading), index)
        kept = {name: v if keep is None else v[keep] for name, v in reading.beside.items()}
        return Observations(X, y, trials, kept.get("offset"), kept.get("freq_weights", kept.get("weights")))

    def _regressors(self, settled: Settled) -> Any:
        """The columns of the rows that stay."""
        pieces = self._pieces(settled)
        return from_pieces(pieces if self.constant else pieces[1:], int(np.count_nonzero(settled.reading.rows.keep)))

    def _pieces(self, settled: Settled) -> list[SubtermColumns]:
        assert self.design is not None
        return self.design.pieces({code: f.values(settled.values[code]) for code, f in self.design.factors.items()})

    def table_read(self, settled: Settled, notes: list[str], computed: dict[str, Any]) -> ReadTable:
        """The rows of a table in memory."""
        return ReadTable(
            design=self.design,
            response=self.response,
            pieces=self._pieces(settled),
            X=None,
            notes=notes,
            frame=settled.reading.frame,
            computed=computed,
            **settled.reading.finish(),
        )
