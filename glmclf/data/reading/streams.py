"""A formula read over a source: one pass sees levels and counts, transforms take theirs, then each part is rows of X.

`read_stream` gives what `read_formula` gives of a table in memory, but the rows: they are made part by part, each time
they are summed over, by a `Reader`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.design.factor import from_pieces
from glmclf.core.rows.summed import joined
from glmclf.data.design.design import Design, build_design
from glmclf.data.formula.across import Query, factor_across, query_across
from glmclf.data.formula.evaluate import left_value, raw_missing
from glmclf.data.formula.factors import Expression, Value, fit_factor
from glmclf.data.formula.parse import no_features, parse_formula
from glmclf.data.formula.terms import Variable
from glmclf.data.reading.bind import bind_code, settle, subset_mask
from glmclf.data.reading.outcomes import coded
from glmclf.data.response.response import SHOWN, counted
from glmclf.data.source.base import Place, Source
from glmclf.data.source.digests import Digests, Watched
from glmclf.data.table.frame import Column, close_to, in_order, of_one_type, quoted, read_column
from glmclf.data.table.sample import Part, Respond, Rows, check_missing_option, no_trials, read_extras, weigh
from glmclf.errors import DataError, MissingDataError

MOST_CLASSES = 10_000  # distinct values of a response that are kept
TRUTH = "True and False"
ONE = "1 column of numbers"
OUTCOMES = {TRUTH, ONE, "numbers as labels"}  # kinds of a response that are numbers where parts have several


@dataclass
class Seen:
    """What parts show of a factor: numbers of some width, or levels and which of them have a row.

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
    def of(cls, value: Value, code: str, place: Place, left: bool = False) -> Seen | None:
        """Of one part; None without rows."""
        if not len(value.data):
            return None
        if not value.labelled:
            return cls(value.data.shape[1], [], np.zeros(0, dtype=bool), None, None, place, code, left)
        categories = value.data.categories.tolist()
        used = np.bincount(np.asarray(value.data.codes), minlength=len(categories)) > 0
        return cls(0, categories, used, value.contrast, value.levels, place, code, left)

    def __add__(self, other: Seen) -> Seen:
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
        """What it is, for a message."""
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
class SeenColumn:
    """What parts show of a column of the table: its kind, categories, and the range of numbers."""

    name: str
    kind: str
    categories: list[Any] | None
    ordered: bool
    low: float
    high: float
    place: Place
    left: bool = False

    @classmethod
    def of(cls, column: Column, name: str, place: Place, left: bool) -> SeenColumn | None:
        """Of one part; None where it is missing throughout."""
        n = len(column.values)
        if not n or (column.missing is not None and column.missing.all()):
            return None
        low, high, categories, ordered = np.nan, np.nan, None, False
        if column.kind == "number":
            values = np.asarray(column.marked(), dtype=float)
            low, high = float(np.fmin.reduce(values)), float(np.fmax.reduce(values))
        elif column.kind == "category":
            categories, ordered = column.values.categories.tolist(), bool(column.values.ordered)
        return cls(name, column.kind, categories, ordered, low, high, place, left)

    def __add__(self, other: SeenColumn) -> SeenColumn:
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

    def _range(self, other: SeenColumn) -> dict[str, Any]:
        return {"low": float(np.fmin(self.low, other.low)), "high": float(np.fmax(self.high, other.high))}

    @property
    def variable(self) -> Variable:
        """The column as a design keeps it."""
        return Variable(self.kind, self.categories, self.ordered)


def _alike(name: str, a: pd.Series, b: pd.Series) -> list[pd.Series]:
    """Both; True and False as 1 and 0 beside numbers, which they are equal to."""
    truth = [pd.api.types.infer_dtype(c) == "boolean" for c in (a, b)]
    both = [c.astype(np.int64) if is_truth and not all(truth) else c for c, is_truth in zip((a, b), truth, strict=True)]
    return of_one_type(name, *both)


@dataclass
class Outcomes:
    """Rows of the left side that tell all its values, or of many numbers the ends and one that is not whole."""

    names: list[str]
    columns: list[pd.Series]

    @classmethod
    def of(cls, names: list[str], values: list[Any]) -> Outcomes | None:
        """Of one part; None without rows."""
        columns = [v.reset_index(drop=True) if isinstance(v, pd.Series) else pd.Series(v) for v in values]
        return cls(names, columns)._few() if len(columns[0]) else None

    def __add__(self, other: Outcomes) -> Outcomes:
        pairs = zip(self.names, self.columns, other.columns, strict=True)
        return Outcomes(self.names, [pd.concat(_alike(*pair), ignore_index=True) for pair in pairs])._few()

    def _few(self) -> Outcomes:
        if len(self.columns) == 1:
            values = self.columns[0].drop_duplicates(ignore_index=True)
            if len(values) <= MOST_CLASSES or values.dtype.kind not in "iuf":
                return Outcomes(self.names, [values])
        rows = set(range(2 * SHOWN if len(self.columns) == 1 else 0))  # so that they are seen to be many
        for column in self.columns:
            v = pd.to_numeric(column).to_numpy(dtype=float)
            rows |= {int(v.argmin()), int(v.argmax()), int((v != np.floor(v)).argmax())}
        return Outcomes(self.names, [c.iloc[sorted(rows)].reset_index(drop=True) for c in self.columns])


@dataclass
class Survey:
    """What the parts of a source add up to before anything is fitted.

    Attributes
    ----------
    given, cut, used, dropped, absent : int
        Rows of the tables, after `subset`, of the fit, with missing values, of weight 0 or no trials.
    masks : dict
        In how many of the dropped rows each variable is missing.
    factors, columns : dict
        `Seen` by code, `SeenColumn` by name.
    left, shown : Outcomes or None
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
    factors: dict[str, Seen]
    columns: dict[str, SeenColumn]
    left: Outcomes | None
    shown: Outcomes | None
    digests: Digests

    def __add__(self, other: Survey) -> Survey:
        names = ("given", "cut", "used", "dropped", "absent", "no_trials")
        counts = {n: getattr(self, n) + getattr(other, n) for n in names}
        masks = {n: self.masks.get(n, 0) + other.masks.get(n, 0) for n in {**self.masks, **other.masks}}
        return Survey(
            **counts,
            masks=masks,
            factors=_merged(self.factors, other.factors),
            columns=_merged(self.columns, other.columns),
            left=joined(self.left, other.left),
            shown=joined(self.shown, other.shown),
            digests=self.digests + other.digests,
        )

    @property
    def labels(self) -> list[Any]:
        """Values of the response's column, those of rows that are not used included; none of several columns, and of
        categories, which the response knows."""
        column = None if self.shown is None else self.shown.columns[0]
        return [] if column is None or isinstance(column.dtype, pd.CategoricalDtype) else column.tolist()


def _merged(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    return {**a, **b, **{name: a[name] + b[name] for name in a if name in b}}


@dataclass
class Reader:
    """How a part of a source becomes rows of a model.

    Attributes
    ----------
    left : list of str
        Codes of the left side.
    bound : dict of Expression
        All factors by code.
    subset : str or None
        A query.
    caller : mapping
        Variables that the query may use.
    missing : str
    extras : dict of str
        Column of "offset", "freq_weights" or "weights".
    beside : tuple of str
        More columns, for groups.
    design, response
        None before they are known.
    constant : bool
        Whether the constant stays in X.
    """

    left: list[str]
    bound: dict[str, Expression]
    subset: str | None
    caller: Mapping[str, Any]
    missing: str
    extras: dict[str, str]
    beside: tuple[str, ...] = ()
    design: Design | None = None
    response: Any = None
    constant: bool = True

    @property
    def together(self) -> dict[str, Expression]:
        """Factors of which a row must have all."""
        return self.bound

    @property
    def columns(self) -> list[str]:
        """Columns of the source that are read; all with a query, which may use any."""
        names = [name for e in self.bound.values() for name in e.columns]
        return list(dict.fromkeys([*names, *self.extras.values(), *self.beside]))

    def rows(self, given: pd.DataFrame) -> tuple[pd.DataFrame, Rows, dict[str, ndarray], dict[str, Column]]:
        """The table after `subset`, which of its rows may stay, the variables beside, and the columns of factors."""
        cut = subset_mask(self.subset, given, self.caller, False, part=True)
        frame = given if cut is None else given[cut]
        beside = read_extras(self.extras, frame, None)
        known = {} if self.design is None else self.design._read(frame)
        names = dict.fromkeys(name for e in self.bound.values() for name in e.columns)
        table = {name: known[name] if name in known else read_column(frame[name], name) for name in names}
        groups = {name: frame[name] for name in self.beside if name not in table}
        read = table | groups | {self.extras[keyword]: values for keyword, values in beside.items()}
        rows = Rows(frame.index, self.missing, part=True, digests=Digests.of(read))
        lost = weigh(rows, beside, self.extras)
        rows.lose(lost, raw_missing(self.together.values(), table))
        return frame, rows, beside, table

    def survey(self, given: pd.DataFrame, place: Place, stage: str) -> Survey:
        """What one part shows."""
        frame, rows, _, table = self.rows(given)
        values = settle(self.bound, table, rows, self.left, [], None, stage)
        return self._shown(given, frame, rows, table, values, place)

    def _shown(
        self, given: pd.DataFrame, frame: pd.DataFrame, rows: Rows, table: dict[str, Column],
        values: dict[str, Value], place: Place,
    ) -> Survey:  # fmt: skip
        left = [left_value(self.bound[c], values[c], frame, rows) for c in self.left if c in values]
        seen = {c: s for c, v in values.items() if (s := Seen.of(v, c, place, c in self.left)) is not None}
        right = {name for c, e in self.bound.items() if c not in self.left for name in e.columns}
        columns = {n: own for n, c in table.items() if (own := SeenColumn.of(c, n, place, n not in right)) is not None}
        if len(left) > 1:
            for code, counts in zip(self.left, left, strict=False):
                counted(code, counts)  # whose error is of the rows of the part
        outcomes = Outcomes.of(self.left, left) if len(left) == len(self.left) else None
        return Survey(
            len(given), len(frame), int(rows.keep.sum()), rows.n_dropped(), rows.n_absent, rows.no_trials,
            rows.dropped(), seen, columns,
            outcomes,
            self._all_outcomes(outcomes, frame, rows),
            rows.digests.of_part(place.number),
        )  # fmt: skip

    def _all_outcomes(self, used: Outcomes | None, frame: pd.DataFrame, rows: Rows) -> Outcomes | None:
        """Values of the column that is the response, whichever rows are used."""
        name = self.bound[self.left[0]].bare if len(self.left) == 1 else None
        if name is None or rows.selection is None:
            return used if name is not None else None
        return Outcomes.of([name], [frame[name].dropna()])

    def memories(self) -> list[list[Expression]]:
        """Factors whose transforms remember rows: those that remember the same rows together."""
        found = [e for e in self.bound.values() if e.remembers]
        return [found] if found else []

    def memorised(self, given: pd.DataFrame, place: Place, g: Callable, some: list[Expression]) -> Watched:
        """``g(columns, times, first)`` of the complete rows of one part, for transforms of some factors."""
        _, read, beside, table = self.rows(given)
        rows = self._remembered(read, table, some)
        times = beside.get("freq_weights")
        cut = {name: column.take(rows.selection) for name, column in table.items()}
        found = g(cut, None if times is None else times[rows.keep], place.number == 0)
        return Watched(found, read.digests.of_part(place.number))

    def _remembered(self, rows: Rows, table: dict[str, Column], some: list[Expression]) -> Rows:
        settle(self.bound, table, rows, self.left, [], None, "before")
        return rows

    def __call__(self, given: pd.DataFrame, place: Place) -> tuple:
        """The rows of one part, with groups beside them; None where there are none."""
        return self.watched(given, place)[:-1]

    def watched(self, given: pd.DataFrame, place: Place) -> tuple:
        """The same, and digests of what was read."""
        assert self.design is not None
        frame, rows, beside, table = self.rows(given)
        digests = rows.digests.of_part(place.number)
        values = settle(self.together, table, rows, self.left, [], None, "after")
        if not rows.keep.any():
            return (digests,)
        keep = rows.selection
        X = self._regressors(values, table, rows)
        left = [left_value(self.bound[c], values[c], frame, rows) for c in self.left]
        index = frame.index if keep is None else frame.index[keep]
        y, trials = coded(self.response, self.left, left, index)
        kept = {name: v if keep is None else v[keep] for name, v in beside.items()}
        w = kept.get("freq_weights", kept.get("weights"))
        groups = [frame[name] if keep is None else frame[name][keep] for name in self.beside]
        return (*Part(X, y, trials, kept.get("offset"), w), *groups, digests)

    def _regressors(self, values: dict[str, Value], table: dict[str, Column], rows: Rows) -> Any:
        """The columns of the rows that stay."""
        assert self.design is not None
        numbers = {code: f.values(values[code]) for code, f in self.design.factors.items()}
        pieces = self.design.pieces(numbers)
        return from_pieces(pieces if self.constant else pieces[1:], int(rows.keep.sum()))


@dataclass(frozen=True)
class StreamSample:
    """What reading a source gives a model.

    Attributes
    ----------
    design, response
        As of a `Sample`; the response holds no rows.
    reader : Reader
    source : Source
    survey : Survey
    extras : dict of str
        Columns of the offset and weights.
    notes : list of str
    """

    design: Design
    response: Any
    reader: Reader
    source: Source
    survey: Survey
    extras: dict[str, str]
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return self.survey.used


def read_stream(
    formula: str,
    source: Source,
    *,
    namespace: Mapping[str, Any] | None = None,
    subset: Any = None,
    missing: str = "drop",
    extras: Mapping[str, Any] | None = None,
    response: Respond,
    restricted: bool = False,
    intercept: bool = False,
) -> StreamSample:
    """Read a formula over a source; the arguments are those of `data.design.read_formula`.

    Raises
    ------
    FormulaError, MissingDataError, DataError, NotImplementedError
        As in memory, with the part in which it was found; values beside the table that are no columns of it; code whose
        value in a row depends on other rows.
    """
    check_missing_option(missing)
    parsed = parse_formula(formula, intercept=intercept, columns=lambda: source.first().columns)
    first = source.first()
    right = list(itertools.chain(*parsed.right))
    fields = bound_to(source, first, parsed.left, right, namespace, subset, extras, restricted)
    reader = Reader(**fields, missing=missing)
    survey = surveyed(source, reader)
    design, notes = _designed(parsed, formula, reader, survey)
    if intercept and len(design.xnames) == 1:
        raise no_features(formula)
    assert survey.left is not None
    made = response(survey.left.names, survey.left.columns)
    notes = [*no_trials(survey.no_trials), *notes, *getattr(made, "notes", [])]
    made = made.without_rows()
    reader = replace(reader, design=design, response=made, constant=not intercept)
    return StreamSample(design, made, reader, source, survey, reader.extras, notes)


def bound_to(
    source: Source,
    first: pd.DataFrame,
    left: list[str],
    right: list[str],
    namespace: Mapping[str, Any] | None,
    subset: Any,
    extras: Mapping[str, Any] | None,
    restricted: bool,
) -> dict[str, Any]:
    """The fields of a Reader that the first table of a source tells."""
    caller = {} if restricted or namespace is None else namespace
    bound = {code: bind_code(code, first, caller, restricted) for code in dict.fromkeys([*left, *right])}
    if subset is not None and not isinstance(subset, str):
        raise DataError(f"subset= of data in a stream is a query, such as \"age > 20\"; found {type(subset).__name__}")
    caller, columns = caller if subset else {}, _columns_of(extras, first)
    if subset is not None:
        query = Query(subset, caller)
        _refuse_labels(query, source, first)
        if query.unknown:
            raise query_across(query)
    for e in bound.values():
        if e.unknown:
            raise factor_across(e)
    return {"left": list(left), "bound": bound, "subset": subset, "caller": caller, "extras": columns}


def _wanted(reader: Reader) -> list[str] | None:
    return None if reader.subset else reader.columns


def surveyed(source: Source, reader: Reader) -> Survey:
    """All that the parts show, transforms memorised on the way."""
    columns = _wanted(reader)
    memories = reader.memories()
    survey = source.sum(lambda table, place: reader.survey(table, place, "before"), columns)
    source.ledger.check(survey.digests)
    if not survey.given:
        raise DataError(f"{source.kind} has no rows (columns: {quoted(source.names)}).")
    if not survey.used:
        why = ", ".join(f'"{name}" ({count} rows)' for name, count in survey.masks.items())
        gone = "all have weight 0 or no trials" if survey.cut else "subset= leaves none"
        why = f"missing values in {why}" if why else gone
        raise MissingDataError(f"no complete row is left of the {survey.given} of {source.kind}: {why}.")
    if memories:
        from glmclf.data.transforms.memory import memorise_all

        for some in memories:

            def total(g: Callable, some: list[Expression] = some) -> Any:
                passed = source.sum(lambda table, place: reader.memorised(table, place, g, some), columns)
                return source.ledger.checked(passed)

            memorise_all(some, total)
        survey = source.sum(lambda table, place: reader.survey(table, place, "after"), columns)
        source.ledger.check(survey.digests)
    return survey


def _designed(parsed: Any, formula: str, reader: Reader, survey: Survey) -> tuple[Design, list[str]]:
    """The design that the levels and widths of all parts make, with notes."""
    n = max([1, *(int(s.used.sum()) for s in survey.factors.values())])
    factors, contrasts, notes = {}, {}, []
    for code in dict.fromkeys(itertools.chain(*parsed.right)):
        value = survey.factors[code].value(n)
        factors[code], _, note = fit_factor(reader.bound[code], value, survey.used)
        contrasts[code] = value.contrast
        if note:
            notes.append(note)
    design = build_design(parsed, formula, factors, contrasts)
    design.columns |= variables(factors, survey)
    notes += [
        f"{code} has one level, {quoted(f.levels)}, in the rows used: it adds no column"
        for code, f in design.factors.items()
        if f.levels is not None and len(f.levels) == 1
    ]
    return design, notes


def variables(factors: Mapping[str, Any], survey: Survey) -> dict[str, Variable]:
    """The columns that factors use, as all parts show them."""
    found = {}
    for name in dict.fromkeys(name for f in factors.values() for name in f.expression.columns):
        seen = survey.columns[name].variable
        found[name] = Variable("category") if seen.kind == "category" and design_only_labels(factors, name) else seen
    return found


def design_only_labels(factors: Mapping[str, Any], name: str) -> bool:
    """Whether a column is used as a factor only."""
    uses = [f.expression for f in factors.values() if name in f.expression.columns]
    return all(name in (e.bare, e.categorised) for e in uses)


def _refuse_labels(query: Query, source: Source, first: pd.DataFrame) -> None:
    """NotImplementedError for a query about the index where parts have none that is the table's."""
    own = {"index", "columns", *(f"ilevel_{i}" for i in range(first.index.nlevels)), *first.index.names}
    asked = sorted(map(str, query.names & own - set(first.columns)))
    if not asked and query.labels:
        asked = ["index"]
    if asked and not source.labelled:
        raise NotImplementedError(
            f'subset="{query.text}" asks for {quoted(asked)}, the labels of rows, which {source.kind} does not keep '
            f"from part to part: make them a column. {close_to(asked[0], first.columns)}"
        )


def _columns_of(extras: Mapping[str, Any] | None, first: pd.DataFrame) -> dict[str, str]:
    given = {name: value for name, value in (extras or {}).items() if value is not None}
    if "weights" in given and "freq_weights" in given:
        raise DataError("weights= and freq_weights= were both given: use one (freq_weights counts equal rows).")
    for name, value in given.items():
        if not isinstance(value, str):
            raise DataError(f"{name}= of data in a stream is the name of a column; found {type(value).__name__}")
        if value not in first.columns:
            raise DataError(f'{name}="{value}": no such column. {close_to(value, first.columns)}')
    return given
