"""Rows that margins are averages over, part by part: those of a fit to a stream, or of new data in a source."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.rows.streamed import MOST_GATHERED, RowsElsewhereError, too_many
from glmclf.core.rows.summed import joined
from glmclf.data.reading.open_source import as_source
from glmclf.data.source import base
from glmclf.data.source.digests import Digests, Watched
from glmclf.data.table.frame import close_to, of_one_type
from glmclf.errors import DataError, MissingDataError
from glmclf.inference.margins.averages import Average, Sums
from glmclf.results.margins.predictors import Source
from glmclf.results.margins.rows import Middles, Observed, Rows, averaged, lacking, median, numbers_of, rows_of_fit

Part = Callable[[Observed, pd.Series | None], Any]  # of some rows, and of a column beside them
Change = Callable[[Observed, pd.Series | None], Observed]
T = TypeVar("T")
KINDS = ("number", "bool", "label", "category")  # of variables that may be a factor, a count or 0 and 1; dates are not


def rows_to_average(source: Source, newdata: Any = None) -> Observed | InParts:
    """The rows of a fit or, in their place, others: in memory or in parts."""
    others = None if newdata is None else as_source(newdata)
    if others is not None:
        return InParts(source, _NewRows(source, others), others.names, fitted=False)
    if newdata is None and source.model._rows.streamed:
        rows = source.model._rows
        return InParts(source, _FitRows(source, rows), rows.stream.source.names, fitted=True)
    return rows_of_fit(source, newdata)


class _FitRows:
    """Sums over the rows of a fit to a stream."""

    def __init__(self, source: Source, rows: Any):
        self._source, self._rows = source, rows

    def __call__(self, f: Part, beside: str | None) -> Any:
        names, source = list(self._source.design.variables), self._source

        def part(X, y, trials, offset, weights, *columns) -> Any:
            index = columns[0].index if columns else pd.RangeIndex(len(y))
            table = source.table(pd.DataFrame(dict(zip(names, columns, strict=False)), index=index))
            w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
            w = w if trials is None else w * trials
            return f(Observed(source, table, w, offset, fitted=True), columns[-1] if beside else None)

        return self._rows.beside([*names, *([beside] if beside else [])]).sum_parts(part)


class _NewRows:
    """Sums over rows of a source that is new data."""

    def __init__(self, source: Source, rows: base.Source):
        self._source, self._rows = source, rows

    def __call__(self, f: Part, beside: str | None) -> Any:
        from glmclf.data.formula.across import refuse_across  # which loads patsy

        wanted = [*self._source.design.variables, self._source.offset_name, beside]
        columns = [name for name in dict.fromkeys(wanted) if name in self._rows.names]

        def part(table: pd.DataFrame, place: base.Place) -> Any:
            digests = Digests.of({name: table[name] for name in columns}).of_part(place.number)
            if not len(table):
                return Watched(None, digests)
            refuse_across(self._source.design, table)
            return Watched(f(rows_of_fit(self._source, table), table[beside] if beside else None), digests)

        return self._rows.ledger.checked(self._rows.sum(part, columns))


class Asked(NamedTuple):
    """Averages that are asked for; see `Rows.averages`."""

    rows: InParts
    kind: str
    name: str | None
    scaled: bool


class InParts(Rows):
    """Rows that are averaged over part by part.

    Parameters
    ----------
    source : Source
    total : callable
        ``total(f, beside)``: the sum of f over parts, which has their rows and a column beside them.
    names : list of str
        Columns that there are.
    fitted : bool
        Whether they are the rows of the fit.
    """

    def __init__(self, source: Source, total: Callable[[Part, str | None], Any], names: list[str], fitted: bool):
        self.source, self._sum, self.names, self.fitted = source, total, names, fitted
        self.groups, self.codes = 1, None
        self._over: str | None = None
        self._changes: tuple[Change, ...] = ()
        self._answer: Callable[[Asked], list[Average]] = lambda asked: _averages([asked])[0]
        self.table = _Values(self)

    def total(self, f: Callable[[Observed], Any]) -> Any:
        """Sum of f over the rows of each part, as they are set."""

        def part(rows: Observed, beside: pd.Series | None) -> Any:
            rows = self.as_set({(): rows}, beside)
            return f(rows) if len(rows.table) else None

        return self._sum(part, self._over)

    def as_set(self, known: dict[tuple[Change, ...], Observed], beside: pd.Series | None) -> Observed:
        """The rows of a part as they are set; those after some of the changes are taken from `known`, and added."""
        done = len(self._changes)
        while self._changes[:done] not in known:
            done -= 1
        for end in range(done, len(self._changes)):
            known[self._changes[: end + 1]] = self._changes[end](known[self._changes[:end]], beside)
        return known[self._changes]

    def _with(self, **changed: Any) -> Self:
        other = object.__new__(type(self))
        other.__dict__ = self.__dict__ | changed
        other.table = _Values(other)
        return other

    def _then(self, change: Change, **changed: Any) -> Self:
        return self._with(_changes=(*self._changes, change), **changed)

    def set(self, name: str, value: Any) -> Self:
        return self._then(lambda rows, _: rows.set(name, value))

    def shift(self, name: str, by: float) -> Self:
        return self._then(lambda rows, _: rows.shift(name, by))

    def by(self, over: Any) -> tuple[Self, list[Any]]:
        """The rows in groups by a column, and the labels of these, sorted."""
        if not isinstance(over, str) or over not in self.names:
            hint, found = close_to(str(over), self.names), repr(over) if isinstance(over, str) else type(over).__name__
            raise DataError(f"over= of rows in a stream is the name of one of its columns; found {found}. {hint}")
        values: _Labels | None = self._sum(lambda rows, beside: _Labels.of(beside), over)
        if values is None:
            raise DataError("there are no rows to average over")
        if values.missing:
            raise MissingDataError(f"over= is missing in {values.missing} of {values.n} rows")
        labels = list(pd.factorize(values.values, sort=True)[1])
        index = pd.Index(labels, dtype=object)

        def grouped(rows: Observed, beside: pd.Series | None) -> Observed:
            assert beside is not None
            return rows._changed(codes=index.get_indexer(pd.Index(beside, dtype=object)), groups=len(labels))

        return self._then(grouped, groups=len(labels), _over=over), labels

    def without_gaps(self, setting: dict[str, Any], slopes: list[str]) -> tuple[Self, int, ndarray]:
        def counted(rows: Observed) -> ndarray:
            _, lost, left = rows.without_gaps(setting, slopes)
            return np.r_[lost, left]

        found = self.total(counted)
        if found is None:
            raise DataError("there are no rows to average over")
        kept = self._then(lambda rows, _: rows.without_gaps(setting, slopes)[0]) if found[0] else self
        return kept, int(found[0]), found[1:]

    def middles(self, numbers: list[str], labels: dict[str, list[Any]]) -> Middles:
        return self.total(lambda rows: rows.middles(numbers, labels))

    def medians(self, names: list[str]) -> ndarray:
        def part(rows: Observed) -> _Held:
            codes = np.zeros(len(rows.weights)) if rows.codes is None else rows.codes
            columns = [numbers_of(rows.table[name], "median") for name in names]
            return _Held([np.column_stack([codes, rows.weights, *columns])])

        code, w, *columns = np.concatenate(self.total(part)).T
        groups = [code == g for g in range(self.groups)]  # one without a row has the medians of all
        groups = [own if own.any() else np.ones(len(code), dtype=bool) for own in groups]
        return np.array([[median(v[own], w[own]) for v in columns] for own in groups])

    def averages(self, kind: str, name: str | None = None, scaled: bool = False, keep: bool = False) -> list[Average]:
        return self._answer(Asked(self, kind, name, scaled))

    def together(self, f: Callable[[Self], T]) -> T:
        """``f(rows)``, twice: first to learn which averages it asks for, which one pass then makes."""
        asked: list[Asked] = []
        unknown = [lacking(self.source, self.source.outcome.K)] * self.groups

        def noted(one: Asked) -> list[Average]:
            asked.append(one)
            return unknown

        f(self._with(_answer=noted))
        answers = iter(_averages(asked))
        return f(self._with(_answer=lambda _: next(answers)))


def _averages(asked: list[Asked]) -> list[list[Average]]:
    """Averages over the rows of one source, in one pass."""

    def part(rows: Observed, beside: pd.Series | None) -> _SideBySide:
        known: dict[tuple[Change, ...], Observed] = {(): rows}
        found = _SideBySide()
        for one in asked:
            some = one.rows.as_set(known, beside)
            found.append(some.sums(one.kind, one.name, one.scaled)[0] if len(some.table) else None)
        return found

    if not asked:
        return []
    rows = asked[0].rows
    sums = rows._sum(part, rows._over)

    def made(one: Asked, own: Sums) -> list[Average]:
        return averaged(one.rows.source, own, lambda: one.rows.total(lambda some: some.odd(one.name)))

    return [made(one, own) for one, own in zip(asked, sums, strict=True)]


class _SideBySide(list):
    """Sums over rows, some of none; + is those of more rows."""

    def __add__(self, other: list[Any]) -> _SideBySide:
        return _SideBySide(joined(a, b) for a, b in zip(self, other, strict=True))


class _Held(list):
    """Numbers of rows in parts, which are not too many to be held; + is those of both."""

    def __add__(self, other: list[ndarray]) -> _Held:  # type: ignore[override]
        both = _Held([*self, *other])
        if sum(part.size for part in both) > MOST_GATHERED:
            raise RowsElsewhereError(too_many(sum(map(len, both))))
        return both


class _Values:
    """Values of variables of rows in parts, by name: enough to tell levels, and whether numbers are 0, 1 or whole. All
    are seen in one pass."""

    def __init__(self, rows: InParts):
        self._rows = rows

    def __getitem__(self, name: str) -> pd.Series:
        found = self._seen.get(name)
        return pd.Series(dtype=float, name=name) if found is None else found.columns[0].rename(name)

    @cached_property
    def _seen(self) -> dict[str, Any]:
        from glmclf.data.reading.summary import ResponseSummary

        design = self._rows.source.design
        kinds = {name: column.kind for name, column in getattr(design, "columns", {}).items()}
        names = [name for name in design.variables if kinds.get(name, "number") in KINDS]

        def part(rows: Observed) -> _SideBySide:
            return _SideBySide(ResponseSummary.of([name], [rows.table[name].dropna()]) for name in names)

        return dict(zip(names, self._rows.total(part) or (), strict=False))


class _Labels:
    """Values of a column that groups are by, in how many rows it is missing, and the rows; + is of both."""

    def __init__(self, values: pd.Series, missing: int, n: int):
        self.values, self.missing, self.n = values, missing, n

    @classmethod
    def of(cls, column: Any) -> _Labels:
        return cls(column.dropna().drop_duplicates(), int(column.isna().sum()), len(column))

    def __add__(self, other: _Labels) -> _Labels:
        both = of_one_type(str(self.values.name), self.values, other.values)
        values = pd.concat(both, ignore_index=True).drop_duplicates()
        return _Labels(values, self.missing + other.missing, self.n + other.n)
