"""Features read over a source: one pass sees levels, cells and the kind of numbers, then each part is rows of features.

`read_feature_stream` gives what `features.read_features` gives of a table in memory, but the rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.data.design.feature_design import MISSING_LEVEL, FeatureDesign, FeatureValues
from glmclf.data.design.feature_terms import Families, Found, Term, choose_terms
from glmclf.data.formula.evaluate import scattered
from glmclf.data.formula.factors import Expression, Value
from glmclf.data.formula.parse import no_features, parse_formula
from glmclf.data.reading.bind import Reading, settle
from glmclf.data.reading.feature_builder import Builder, raw_numbers
from glmclf.data.reading.features import (
    MISSING,
    check_names,
    counts_of,
    never_there,
    own_rows,
    refuse_response,
    settled,
)
from glmclf.data.reading.streams import Reader, Seen, StreamSample, Survey, bound_to, surveyed, variables
from glmclf.data.source.base import Place, Source
from glmclf.data.table.frame import Column, of_one_type
from glmclf.data.table.sample import Respond, Rows, check_missing_option

ALONE = ("skip", "level")  # missing values leave out their feature, not their row


@dataclass
class Shown:
    """What parts show of a factor that becomes features.

    Attributes
    ----------
    seen : Seen or None
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

    seen: Seen | None
    few: ndarray
    raw: Any
    missing: int
    every: bool

    @classmethod
    def of(cls, found: Found, raw: Callable[[], Any], code: str, place: Place, every: bool) -> Shown:
        """Of one part."""
        value, missing = found.value, int((~found.keep).sum())
        seen = Seen.of(value, code, place)
        if seen is None or value.labelled:
            return cls(seen, np.zeros((0, 0)), None, missing, every)
        few = _few(value.data)
        return cls(seen, few, np.unique(raw()) if every or (few == few[0]).all() else None, missing, every)

    def __add__(self, other: Shown) -> Shown:
        missing = self.missing + other.missing
        if self.seen is None or other.seen is None:
            return replace(other if self.seen is None else self, missing=missing)
        seen = self.seen + other.seen
        if not seen.width:
            return replace(self, seen=seen, missing=missing)
        few, raw = _few(np.concatenate([self.few, other.few])), None
        if self.raw is not None and other.raw is not None:
            raw = np.unique(np.concatenate(of_one_type(seen.code, self.raw, other.raw)))
        return Shown(seen, few, raw if self.every or (few == few[0]).all() else None, missing, self.every)

    def found(self) -> Found:
        """A value that shows all of this, and whether it is anywhere missing."""
        assert self.seen is not None
        if not self.seen.width:
            value = self.seen.value(int(self.seen.used.sum()))
        else:
            value = Value(self.few if self.raw is None else np.asarray(self.raw, dtype=float)[:, None])
        there = np.ones(len(value.data), dtype=bool)
        return Found(value, np.append(there, False) if self.missing else there)


def _few(numbers: ndarray) -> ndarray:
    """Rows with the ends of each column, and with a value other than 0 and 1."""
    other = (numbers != 0) & (numbers != 1)
    return numbers[np.unique([numbers.argmin(axis=0), numbers.argmax(axis=0), other.argmax(axis=0)])]


@dataclass
class Cells:
    """Combinations of levels that some row has; None stands for a missing one."""

    found: set[tuple[Any, ...]]

    @classmethod
    def of(cls, some: Sequence[Found]) -> Cells:
        """Of one part; nothing of numbers, which have no joint table."""
        if not len(some[0].keep) or not all(f.value.labelled for f in some):
            return cls(set())
        levels = [[*f.value.data.categories.tolist(), None] for f in some]
        sizes = tuple(map(len, levels))
        own = [scattered(np.asarray(f.value.data.codes, dtype=np.intp), f.keep) for f in some]
        codes = [c % size for c, size in zip(own, sizes)]  # a missing one is the last
        places = np.unravel_index(np.unique(np.ravel_multi_index(tuple(codes), sizes)), sizes)
        return cls(set(zip(*([words[i] for i in axis] for words, axis in zip(levels, places)))))

    def __add__(self, other: Cells) -> Cells:
        return Cells(self.found | other.found)


@dataclass
class FeatureReader(Reader):
    """How a part of a source becomes features.

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

    def _remembered(self, rows: Rows, table: dict[str, Column], some: list[Expression]) -> Rows:
        if self.how not in ALONE:
            return super()._remembered(rows, table, some)
        settle(self.together, table, rows, self.left, [], None, "before")
        return own_rows(some[0], table, rows, None, "before")[0]

    def survey(self, given: pd.DataFrame, place: Place, stage: str) -> Survey:
        """What one part shows."""
        frame, rows, beside, table = self.rows(given)
        reading = Reading(frame.index, None, frame, rows, beside, {}, self.bound, table)
        right = [code for code in self.bound if code not in self.left]
        found = settled(reading, self.left, right, self.how, [], stage)
        right = [code for code in right if code in found]
        left = {code: found[code].value for code in self.left if code in found}
        shown: dict[str, Any] = {code: self._shown_of(code, found[code], reading, place) for code in right}
        cells = {
            ":".join(codes): Cells.of([found[code] for code in codes])
            for codes in self.tables
            if all(code in found for code in codes)
        }
        survey = self._shown(given, frame, rows, table, left, place)
        return replace(survey, factors=survey.factors | shown | cells)

    def _shown_of(self, code: str, found: Found, reading: Reading, place: Place) -> Shown:
        def raw() -> Any:
            return raw_numbers(found.value, self.bound[code].bare, reading, found.keep)

        return Shown.of(found, raw, code, place, code in self.labels)

    def _regressors(self, values: dict[str, Value], table: dict[str, Column], rows: Rows) -> FeatureValues:
        design: Any = self.design
        columns = {name: table[name].take(rows.selection) for name in design.columns}
        features = design.of_columns(columns, int(rows.keep.sum()))
        if self.check is not None:
            self.check(design.features, features, rows.index[rows.keep])
        return FeatureValues(features)


class _Builder(Builder):
    """Features of what all parts show."""

    def __init__(self, reader: Any, survey: Survey, families: Families, notes: list[str]):
        self.survey = survey
        right = [code for code in reader.bound if code not in reader.left]
        lost = [code for code in right if self._of(code).seen is None]
        if lost:
            raise never_there(lost[0], survey.used)
        super().__init__(reader, {code: self._of(code).found() for code in right}, families, reader.how, notes)

    def _of(self, code: str) -> Shown:
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

    def _missing_rows(self, code: str) -> str:
        return f"{self._of(code).missing} rows"


def read_feature_stream(
    formula: str,
    source: Source,
    *,
    check: Callable,
    namespace: Mapping[str, Any] | None = None,
    subset: Any = None,
    missing: str = "skip",
    extras: Mapping[str, Any] | None = None,
    response: Respond,
    restricted: bool = False,
    families: Mapping[str, str] | None = None,
    multinomial: Sequence[str] | None = None,
    pooled: bool = False,
) -> StreamSample:
    """Read the features that a formula names over a source.

    Parameters
    ----------
    check : callable
        ``check(features, values, index)``, called for each part that is read.
    formula, source, namespace, subset, missing, extras, response, restricted, families, multinomial, pooled
        As in `features.read_features` and `streams.read_stream`.

    Returns
    -------
    StreamSample
        `design` is a FeatureDesign.

    Raises
    ------
    FormulaError, MissingDataError, DataError, NotImplementedError
        As in memory, with the part in which it was found.
    """
    check_missing_option(missing, MISSING)
    parsed = parse_formula(formula, intercept=True, columns=lambda: source.first().columns)
    first = source.first()
    plain = list(itertools.chain(*parsed.right))
    block = counts_of(multinomial, list(first.columns), plain)
    right = list(dict.fromkeys([*plain, *block]))
    fields = bound_to(source, first, parsed.left, right, namespace, subset, extras, restricted)
    bound, notes = fields["bound"], list[str]()
    refuse_response(list(parsed.left), right, bound)
    terms = choose_terms([codes for codes in parsed.right if codes], block, bound, {}, notes)
    asked = Families(families, pooled)
    reader = FeatureReader(
        **fields,
        missing="drop" if missing in ALONE else missing,
        how=missing,
        labels=frozenset(t.codes[0] for t in terms if asked.of(t.name, t, bound[t.codes[0]].columns) == "categorical"),
        tables=tuple(t.codes for t in terms if len(t.codes) > 1 and not t.block),
    )
    survey = surveyed(source, reader)
    builder = _Builder(reader, survey, asked, notes)
    features = builder.features(terms)
    if not features:
        raise no_features(formula)
    columns = variables(builder.factors, survey)
    design: Any = FeatureDesign(features, formula, " + ".join(parsed.left), builder.factors, columns, missing)
    check_names(design)
    assert survey.left is not None
    made = response(survey.left.names, survey.left.columns)
    notes += getattr(made, "notes", [])
    made = made.without_rows()
    reader = replace(reader, design=design, response=made, check=check)
    return StreamSample(design, made, reader, source, survey, reader.extras, notes)
