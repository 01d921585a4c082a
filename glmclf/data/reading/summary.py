"""Summaries of the parts of a source, before anything is fitted: levels, kinds, ranges and counts, which add up.

A `TableSummary` is all that a design and a response need to know of the rows, whichever parts they come in.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.rows.summed import Summed, added_by, joined
from glmclf.data.formula.factors import Value
from glmclf.data.formula.terms import Variable
from glmclf.data.response.response import MAX_COUNTED_NUMBERS
from glmclf.data.source.base import Place
from glmclf.data.source.digests import Digests
from glmclf.data.table.frame import Column, in_order, of_one_type, quoted
from glmclf.errors import DataError

MAX_CLASSES = 10_000  # distinct values of a response that are kept
TRUTH = "True and False"
ONE = "1 column of numbers"
OUTCOMES = {TRUTH, ONE, "numbers as labels"}  # kinds of a response that are numbers where parts have several


@dataclass
class FactorSummary:
    """Summary of a factor, added up over parts: numbers of some width, or levels and which of them have a row.

    Attributes
    ----------
    width : int
        0 with levels.
    categories : list
    used : (levels,) bool ndarray
    contrast, levels
        As of a `Value`.
    place : str
        Where it was first seen.
    left : bool
        Whether it is of the left side, where True and False may stand beside numbers.
    """

    width: int
    categories: list[Any]
    used: ndarray
    contrast: Any
    levels: list[Any] | None
    place: Place
    code: str
    left: bool = False

    @classmethod
    def of(cls, value: Value, code: str, place: Place, left: bool = False) -> FactorSummary | None:
        """Summary of one part; None without rows."""
        if not len(value.data):
            return None
        if not value.labelled:
            return cls(value.data.shape[1], [], np.zeros(0, dtype=bool), None, None, place, code, left)
        categories = value.data.categories.tolist()
        used = np.bincount(np.asarray(value.data.codes), minlength=len(categories)) > 0
        return cls(0, categories, used, value.contrast, value.levels, place, code, left)

    def __add__(self, other: FactorSummary) -> FactorSummary:
        if self.width != other.width or (self.levels is None) != (other.levels is None):
            if self.left and {self.kind, other.kind} <= OUTCOMES:
                return self if self.width else other
            raise DataError(
                f'"{self.code}" is {self._words} in {self.place} and {other._words} in {other.place}: give it one type '
                "throughout"
            )
        if self.categories == other.categories and _types(self.categories) == _types(other.categories):
            return replace(self, used=self.used | other.used)
        both = _united(self.categories, other.categories, self.code)
        used, place = np.zeros(len(both), dtype=bool), {level: i for i, level in enumerate(both)}
        for some in (self, other):
            used[[place[c] for c in some.categories]] |= some.used
        return replace(self, categories=both, used=used)

    @property
    def kind(self) -> str:
        """Kind of the factor, for a message."""
        if self.width:
            return ONE if self.width == 1 else f"{self.width} columns of numbers"
        if self.levels == [False, True] or set(map(type, self.categories)) == {bool}:
            return TRUTH
        if self.levels is not None:
            return f"labels with the levels {quoted(self.levels, 4)}"
        return "numbers as labels" if _types(self.categories) <= {int, float} else "labels"

    @property
    def _words(self) -> str:
        return f"a categorical of {TRUTH}" if self.kind == TRUTH and self.levels is None else self.kind

    def value(self, n: int) -> Value:
        """A value of n rows with all levels that have one."""
        if self.width:
            return Value(np.zeros((n, self.width)))
        used = np.flatnonzero(self.used)
        codes = used[np.arange(n) % len(used)]
        categories = pd.Index(self.categories, dtype=object)
        return Value(pd.Categorical.from_codes(codes, categories=categories), self.contrast, self.levels)


def _types(levels: list[Any]) -> set[type]:
    return set(map(type, levels))


def _united(a: list[Any], b: list[Any], name: str) -> list[Any]:
    """Levels of two parts, sorted; whole numbers beside others as such, as in one column of both."""
    found = [*a, *b]
    if _types(found) == {int, float}:
        kinds = [np.array([v for v in found if type(v) is kind]) for kind in (int, float)]
        found = np.concatenate(of_one_type(name, *kinds)).tolist()
    found = list(dict.fromkeys(found))
    return [found[i] for i in in_order(found, f'"{name}"')]


@dataclass
class ColumnSummary:
    """Summary of a column, added up over parts: its kind, categories, range of numbers, and whether it has a value."""

    name: str
    kind: str
    categories: list[Any] | None
    ordered: bool
    low: float
    high: float
    place: Place
    left: bool = False
    empty: bool = False

    @classmethod
    def of(cls, column: Column, name: str, place: Place, left: bool) -> ColumnSummary | None:
        """Summary of one part; None without rows."""
        if not len(column.values):
            return None
        low, high, categories, ordered = np.nan, np.nan, None, False
        if column.kind == "number":
            values = np.asarray(column.marked(), dtype=float)
            low, high = float(np.fmin.reduce(values)), float(np.fmax.reduce(values))
        elif column.kind == "category":
            categories, ordered = column.values.categories.tolist(), bool(column.values.ordered)
        empty = column.missing is not None and bool(column.missing.all())
        return cls(name, column.kind, categories, ordered, low, high, place, left, empty)

    def __add__(self, other: ColumnSummary) -> ColumnSummary:
        if self.empty or other.empty:
            return other if self.empty else self
        labels = ("label", "category")
        if self.left and {self.kind, other.kind} == {"number", "bool"}:
            return replace(self, kind="number", **self._range(other))
        if self.kind != other.kind and not (self.kind in labels and other.kind in labels):
            words = {"number": "numbers", "bool": TRUTH, "label": "text", "category": "categories"}
            kinds = [words.get(s.kind, "dates or other values") for s in (self, other)]
            raise DataError(
                f'column "{self.name}" holds {kinds[0]} in {self.place} and {kinds[1]} in {other.place}: give it one '
                "type throughout"
            )
        if self.categories != other.categories:
            if self.ordered and other.ordered:
                raise DataError(
                    f'column "{self.name}" is an ordered categorical with other categories in {self.place} '
                    f"({quoted(self.categories or [])}) than in {other.place} ({quoted(other.categories or [])})"
                )
            return replace(self, kind="label", categories=None, ordered=False, **self._range(other))
        return replace(self, **self._range(other))

    def _range(self, other: ColumnSummary) -> dict[str, Any]:
        return {"low": float(np.fmin(self.low, other.low)), "high": float(np.fmax(self.high, other.high))}

    @property
    def variable(self) -> Variable:
        """The column as a design keeps it."""
        return Variable(self.kind, self.categories, self.ordered)


def _alike(name: str, a: pd.Series, b: pd.Series) -> list[pd.Series]:
    """Values of both parts, True and False as the 1 and 0 that they equal beside numbers."""
    truth = [pd.api.types.infer_dtype(c) == "boolean" for c in (a, b)]
    both = [c.astype(np.int64) if is_truth and not all(truth) else c for c, is_truth in zip((a, b), truth, strict=True)]
    return of_one_type(name, *both)


@dataclass
class ResponseSummary:
    """Rows of the left side that tell all its values, or of many numbers the ends and one that is not whole."""

    names: list[str]
    columns: list[pd.Series]

    @classmethod
    def of(cls, names: list[str], values: list[Any]) -> ResponseSummary | None:
        """Summary of one part; None without rows."""
        columns = [v.reset_index(drop=True) if isinstance(v, pd.Series) else pd.Series(v) for v in values]
        return cls(names, columns)._few() if len(columns[0]) else None

    def __add__(self, other: ResponseSummary) -> ResponseSummary:
        pairs = zip(self.names, self.columns, other.columns, strict=True)
        return ResponseSummary(self.names, [pd.concat(_alike(*pair), ignore_index=True) for pair in pairs])._few()

    def _few(self) -> ResponseSummary:
        if len(self.columns) == 1:
            values = self.columns[0].drop_duplicates(ignore_index=True)
            if len(values) <= MAX_CLASSES or values.dtype.kind not in "iuf":
                return ResponseSummary(self.names, [values])
        rows = set(range(2 * MAX_COUNTED_NUMBERS if len(self.columns) == 1 else 0))  # so that they are seen to be many
        for column in self.columns:
            v = pd.to_numeric(column).to_numpy(dtype=float)
            rows |= {int(v.argmin()), int(v.argmax()), int((v != np.floor(v)).argmax())}
        return ResponseSummary(self.names, [c.iloc[sorted(rows)].reset_index(drop=True) for c in self.columns])


@dataclass
class TableSummary(Summed):
    """Summary of all parts of a source, before anything is fitted.

    Attributes
    ----------
    given, cut, used, dropped, absent : int
        Rows of the tables, after `subset`, of the fit, with missing values, of weight 0 or no trials.
    masks : dict
        In how many of the dropped rows each variable is missing.
    factors, columns : dict
        `FactorSummary` by code, `ColumnSummary` by name.
    left, shown : ResponseSummary or None
        Of the rows of the fit, and of all that have a value in the column that is the response.
    digests : Digests
        Of the columns that were read.
    """

    given: int
    cut: int
    used: int
    dropped: int
    absent: int
    no_trials: int
    masks: dict[str, int]
    factors: dict[str, FactorSummary]
    columns: dict[str, ColumnSummary]
    left: ResponseSummary | None = field(metadata=added_by(joined))
    shown: ResponseSummary | None = field(metadata=added_by(joined))
    digests: Digests

    @property
    def labels(self) -> list[Any]:
        """Values of the response's column, those of rows that are not used included; none of several columns, and of
        categories, which the response knows."""
        column = None if self.shown is None else self.shown.columns[0]
        return [] if column is None or isinstance(column.dtype, pd.CategoricalDtype) else column.tolist()


