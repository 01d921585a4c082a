"""A part of a source, or a table in memory, read as features: each factor on the rows that have it.

What parts show of factors that become features adds up, as that of factors of a design does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.rows.summed import Summed
from glmclf.data.design.feature_design import MISSING_LEVEL, FeatureValues
from glmclf.data.design.feature_terms import FactorRows, Families, Term
from glmclf.data.formula.evaluate import raw_missing, scattered
from glmclf.data.formula.factors import Expression, Value
from glmclf.data.reading.feature_builder import Builder, raw_numbers
from glmclf.data.reading.reader import Reader
from glmclf.data.reading.settle import Reading, Settled, settle
from glmclf.data.reading.summary import FactorSummary, TableSummary
from glmclf.data.source.base import Place, Source
from glmclf.data.source.one_table import OneTable
from glmclf.data.table.frame import Column, of_one_type
from glmclf.data.table.rows import RowMask
from glmclf.errors import MissingDataError

ALONE = ("skip", "level")  # missing values leave out their feature, not their row


@dataclass
class FeatureSummary:
    """Summary of a factor that becomes features, added up over parts.

    Attributes
    ----------
    seen : FactorSummary or None
        Levels or width; None where every row lacks it.
    few : (m, width) ndarray
        Of numbers, rows with the ends of each column and with a value other than 0 and 1.
    raw : array or None
        Distinct numbers in the type of the column, of one that gets levels or that is constant so far.
    missing : int
        Rows without a value.
    every : bool
        Whether all distinct numbers are wanted.
    """

    seen: FactorSummary | None
    few: ndarray
    raw: Any
    missing: int
    every: bool

    @classmethod
    def of(cls, found: FactorRows, raw: Callable[[], Any], code: str, place: Place, every: bool) -> FeatureSummary:
        """Summary of a factor in one part."""
        value, missing = found.value, int((~found.keep).sum())
        seen = FactorSummary.of(value, code, place)
        if seen is None or value.labelled:
            return cls(seen, np.zeros((0, 0)), None, missing, every)
        few = _few(value.data)
        return cls(seen, few, np.unique(raw()) if every or (few == few[0]).all() else None, missing, every)

    def __add__(self, other: FeatureSummary) -> FeatureSummary:
        missing = self.missing + other.missing
        if self.seen is None or other.seen is None:
            return replace(other if self.seen is None else self, missing=missing)
        seen = self.seen + other.seen
        if not seen.width:
            return replace(self, seen=seen, missing=missing)
        few, raw = _few(np.concatenate([self.few, other.few])), None
        if self.raw is not None and other.raw is not None:
            raw = np.unique(np.concatenate(of_one_type(seen.code, self.raw, other.raw)))
        return FeatureSummary(seen, few, raw if self.every or (few == few[0]).all() else None, missing, self.every)

    def found(self) -> FactorRows:
        """Value made of the summary, which shows all of it, and whether it is anywhere missing."""
        assert self.seen is not None
        if not self.seen.width:
            value = self.seen.value(int(self.seen.used.sum()))
        else:
            value = Value(self.few if self.raw is None else np.asarray(self.raw, dtype=float)[:, None])
        there = np.ones(len(value.data), dtype=bool)
        return FactorRows(value, np.append(there, False) if self.missing else there)


def _few(numbers: ndarray) -> ndarray:
    """Rows with the ends of each column, and with a value other than 0 and 1."""
    other = (numbers != 0) & (numbers != 1)
    return numbers[np.unique([numbers.argmin(axis=0), numbers.argmax(axis=0), other.argmax(axis=0)])]


@dataclass
class CellSummary(Summed):
    """Combinations of levels that some row has; None stands for a missing level."""

    found: set[tuple[Any, ...]]

    @classmethod
    def of(cls, some: Sequence[FactorRows]) -> CellSummary:
        """Combinations of levels in one part; none of numbers, which have no joint table."""
        if not len(some[0].keep) or not all(f.value.labelled for f in some):
            return cls(set())
        levels = [[*f.value.data.categories.tolist(), None] for f in some]
        sizes = tuple(map(len, levels))
        own = [scattered(np.asarray(f.value.data.codes, dtype=np.intp), f.keep) for f in some]
        codes = [c % size for c, size in zip(own, sizes)]  # a missing one is the last
        places = np.unravel_index(np.unique(np.ravel_multi_index(tuple(codes), sizes)), sizes)
        return cls(set(zip(*([words[i] for i in axis] for words, axis in zip(levels, places)))))


@dataclass
class FeatureReader(Reader):
    """Reader of a part of a source as features.

    Attributes
    ----------
    how : str
        ``missing=`` as the model has it; `missing` is what becomes of rows.
    labels : frozenset of str
        Codes that get levels though they may be numbers.
    tables : tuple of tuples of str
        Codes of each joint table.
    check : callable or None
        ``check(features, values, index)`` refuses values that a family cannot have.
    """

    how: str = "skip"
    labels: frozenset[str] = frozenset()
    tables: tuple[tuple[str, ...], ...] = ()
    check: Callable | None = None

    @property
    def together(self) -> dict[str, Expression]:
        return {code: self.bound[code] for code in self.left} if self.how in ALONE else self.bound

    def memories(self) -> list[list[Expression]]:
        found = super().memories()
        return [[e] for some in found for e in some] if self.how in ALONE else found

    def _remembered(self, reading: Reading, some: list[Expression]) -> RowMask:
        if self.how not in ALONE:
            return super()._remembered(reading, some)
        settle(self.together, reading.table, reading.rows, self.left, None, "before")
        return _own_rows(some[0], reading.table, reading.rows, None, "before")[0]

    def settled(self, given: pd.DataFrame, stage: str) -> Settled:
        """Values of each factor: on the rows where all have one, or each on its own rows; `stage`
        is that of `settle`."""
        reading = self.read(given)
        rows, table = reading.rows, reading.table
        times = None if self.part else reading.beside.get("freq_weights")
        values = settle(self.together, _used(self.together, table), rows, self.left, times, stage)
        every = np.ones(int(np.count_nonzero(rows.keep)), dtype=bool)
        found = {code: FactorRows(value, every) for code, value in values.items()}
        for code, expression in self.bound.items():
            if code not in self.together and not (stage == "before" and expression.remembers):
                found[code] = _alone(expression, table, rows, times, stage)
        return Settled(reading, found)

    def summary(self, settled: Settled, place: Place) -> TableSummary:
        """Summary of settled rows; for a table in memory without features, which are made of its rows."""
        reading, found = settled.reading, settled.values
        left = {code: found[code].value for code in self.left if code in found}
        factors: dict[str, Any] = {
            code: s for code, v in left.items() if (s := FactorSummary.of(v, code, place, True)) is not None
        }
        if not self.part:
            return self._summary(reading, factors, left, place)
        right = [code for code in found if code not in self.left]
        factors |= {code: self._summary_of(code, found[code], reading, place) for code in right}
        factors |= {
            ":".join(codes): CellSummary.of([found[code] for code in codes])
            for codes in self.tables
            if all(code in found for code in codes)
        }
        return self._summary(reading, factors, left, place)

    def _summary_of(self, code: str, found: FactorRows, reading: Reading, place: Place) -> FeatureSummary:
        def raw() -> Any:
            return raw_numbers(found.value, self.bound[code].bare, reading, found.keep)

        return FeatureSummary.of(found, raw, code, place, code in self.labels)

    def _regressors(self, settled: Settled) -> FeatureValues:
        design: Any = self.design
        rows, table = settled.reading.rows, settled.reading.table
        columns = {name: table[name].take(rows.selection) for name in design.columns}
        features = design.of_columns(columns, int(np.count_nonzero(rows.keep)))
        if self.check is not None:
            self.check(design.features, features, rows.index[rows.keep])
        return FeatureValues(features)

    def builder(self, source: Source, survey: TableSummary, families: Families, notes: list[str]) -> Builder:
        """Builder of features from the rows of a table in memory, or from the summary of all parts."""
        if isinstance(source, OneTable):
            settled = source.settled(self)
            return Builder(settled.reading, settled.values, families, self.how, notes)
        return SummaryBuilder(self, survey, families, notes)


def _used(bound: Mapping[str, Expression], table: Mapping[str, Column]) -> dict[str, Column]:
    return {name: table[name] for e in bound.values() for name in e.columns}


def _alone(
    expression: Expression, table: Mapping[str, Column], rows: RowMask, times: ndarray | None, stage: str
) -> FactorRows:
    """Value of one factor on its own rows, of those that have a response and a weight."""
    try:
        own, values = _own_rows(expression, table, rows, times, stage)
        value = values.get(expression.code, Value(np.zeros((0, 1))))  # none in a part without such rows
    except MissingDataError:
        raise never_there(expression.code, int(np.count_nonzero(rows.keep))) from None
    return FactorRows(value, own.keep[rows.keep])


def _own_rows(
    expression: Expression, table: Mapping[str, Column], rows: RowMask, times: ndarray | None, stage: str
) -> tuple[RowMask, dict[str, Value]]:
    """Rows that one factor has, of those that stay, and its values settled there."""
    one = {expression.code: expression}
    own = RowMask(rows.index, "drop", rows.part)
    own.absent(~rows.keep)
    own.lose(raw_missing(one.values(), table))
    return own, settle(one, _used(one, table), own, [], times, stage, together=False)


class SummaryBuilder(Builder):
    """Builder of features from the summary of all parts."""

    def __init__(self, reader: Any, survey: TableSummary, families: Families, notes: list[str]):
        self.survey = survey
        right = [code for code in reader.bound if code not in reader.left]
        lost = [code for code in right if self._of(code).seen is None]
        if lost:
            raise never_there(lost[0], survey.used)
        super().__init__(reader, {code: self._of(code).found() for code in right}, families, reader.how, notes)

    def _of(self, code: str) -> FeatureSummary:
        shown: Any = self.survey.factors[code]
        return shown

    def _raw(self, code: str) -> Any:
        shown = self._of(code)
        return shown.few[:, 0] if shown.raw is None else shown.raw

    def _cells(self, term: Term, sizes: tuple[int, ...]) -> ndarray:
        found: Any = self.survey.factors[":".join(term.codes)]
        places = [{level: i for i, level in enumerate(self.factors[code].levels or [])} for code in term.codes]
        if self.missing == "level":
            places = [{None: of[MISSING_LEVEL], **of} if MISSING_LEVEL in of else of for of in places]
        cells = [tuple(of.get(level, -1) for of, level in zip(places, cell)) for cell in found.found]
        whole = np.array([cell for cell in cells if min(cell) >= 0], dtype=np.intp).reshape(-1, len(sizes))
        return np.unique(np.ravel_multi_index(tuple(whole.T), sizes))

    @property
    def _n_rows(self) -> int:
        return self.survey.used

    def _kind(self, column: str) -> str:
        return self.survey.columns[column].kind

    def _missing_rows(self, code: str) -> str:
        return f"{self._of(code).missing} rows"


def never_there(code: str, n: int) -> MissingDataError:
    """Summary of a factor that no row has."""
    return MissingDataError(f'"{code}" is missing in all {n} rows: leave it out.')
