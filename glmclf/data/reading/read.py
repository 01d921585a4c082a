"""A formula read over a source: the design, the response and the rows of a fit.

A table in memory is a source of one part that remembers what its factors are. Of others, one pass sees levels and
counts, transforms take theirs, and the rows are made part by part, each time they are summed over.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from glmclf.data.design.design import Design, build_design
from glmclf.data.formula.dialects import hinting
from glmclf.data.formula.evaluate import label_columns
from glmclf.data.formula.factors import Expression, fit_factor
from glmclf.data.formula.memory import memorise_all
from glmclf.data.formula.parse import Parsed, no_features, parse_formula
from glmclf.data.formula.terms import Variable
from glmclf.data.formula.undefined import say_undefined_parts
from glmclf.data.reading.bind import bind
from glmclf.data.reading.reader import Reader
from glmclf.data.reading.summary import TableSummary
from glmclf.data.response.response import refuse_numerals
from glmclf.data.source.base import Source
from glmclf.data.source.one_table import WHOLE_TABLE, OneTable
from glmclf.data.table.frame import quoted
from glmclf.data.table.rows import ReadTable, Respond, check_missing_option, columns_beside, no_trials, respond
from glmclf.errors import DataError, DataWarning, FormulaError, MissingDataError, warn

__all__ = ["ReadTable", "ReadParts", "read_formula"]


@dataclass(frozen=True)
class ReadParts:
    """Result of reading a source of parts: the design, the response and sums over the rows.

    Attributes
    ----------
    design, response
        As of a `ReadTable`; the response holds no rows.
    reader : Reader
    source : Source
    survey : TableSummary
    extras : dict of str
        Columns of the offset and weights, or code that computes them.
    notes : list of str
    computed : dict of Design
        Designs of the extras that code computes, by keyword.
    """

    design: Any
    response: Any
    reader: Reader
    source: Source
    survey: TableSummary
    extras: dict[str, Any]
    notes: list[str] = field(default_factory=list)
    computed: dict[str, Any] = field(default_factory=dict)

    frame = cut = None  # no table is in memory

    def __len__(self) -> int:
        return self.survey.used

    @property
    def names(self) -> list[Any]:
        """Columns of the source."""
        return list(self.source.names)

    @property
    def given_index(self) -> pd.Index:
        """Places of the rows before `subset`."""
        return pd.RangeIndex(self.survey.given)

    @property
    def labels(self) -> list[Any]:
        """Values of the response's column, those of rows that are not used included."""
        return self.survey.labels

    @property
    def facts(self) -> dict[str, Any]:
        """Facts about the rows for a summary."""
        s = self.survey
        beside = map(str, self.extras.values())
        order = list(dict.fromkeys([*beside, *self.reader.columns, *self.reader.bound, *s.masks]))
        return {
            "n_before": s.given,
            "n_given": s.cut,
            "n_dropped": s.dropped,
            "dropped": dict(sorted(s.masks.items(), key=lambda item: order.index(item[0]))),
            "n_absent": s.absent,
            "source": self.source.kind,
        }

    @property
    def ranges(self) -> dict[str, list[float]]:
        """Least and largest value of each variable of the design that is a number."""
        numbers = {name: c for name, c in self.survey.columns.items() if c.kind == "number" and not c.empty}
        return {name: [c.low, c.high] for name, c in numbers.items() if name in self.design.variables}


def read_formula(
    formula: str,
    data: Any,
    *,
    namespace: Mapping[str, Any] | None = None,
    subset: Any = None,
    missing: str = "drop",
    extras: Mapping[str, Any] | None = None,
    response: Respond,
    restricted: bool = False,
    intercept: bool = False,
) -> ReadTable | ReadParts:
    """Read a formula: response, design and extras of the rows that are complete.

    Parameters
    ----------
    formula : str
        patsy's language; names are columns of `data`, patsy's functions, `np`, or the caller's variables.
    data : Source, DataFrame, Mapping, polars or pyarrow frame
        The table, or a source of its parts.
    namespace : mapping, optional
        The caller's variables; an array with one value a row of a table in memory serves as a column.
    subset : bool array, bool Series or str, optional
        Rows to use: a query like ``"age > 30"``, or of a table in memory a mask.
    missing : {"drop", "raise", "none"}
        What becomes of rows with a missing value.
    extras : mapping
        "offset", "freq_weights", "weights", "trials": a column's name, or None; of a table in memory also a Series or
        an array beside it. With trials the left side is a proportion of them.
    response : callable
        Makes the response of the names and the values of the left side's terms on the kept rows.
    restricted : bool
        Only columns, operators, the functions on the closed list of `glmclf.data.formula.expressions` and functions in
        `namespace`, of which nothing else is used; a query as of `glmclf.data.formula.conditions`.
    intercept : bool
        Put an intercept before the other columns whether or not the formula has one, so that ``0 + g`` and ``g`` are
        the same columns; a formula without any other column is refused.

    Returns
    -------
    ReadTable or ReadParts
        Design, response, and the kept rows of a table in memory or how they are read from parts.

    Raises
    ------
    FormulaError, MissingDataError, DataError, NotImplementedError
        Naming what was found, where (of data in parts the part as well), and what to do. Of data in parts: values
        beside the table that are no columns of it; code whose value in a row depends on other rows.
    """
    check_missing_option(missing)
    source = data if isinstance(data, Source) else OneTable(data)
    names = lambda: source.first().columns  # noqa: E731
    parsed = parse_formula(formula, intercept=intercept, columns=names, beside=columns_beside(extras, source.first()))
    formula = parsed.formula
    right, given = list(itertools.chain(*parsed.right)), {"subset": subset, "extras": extras}
    with hinting(formula, names):
        fields = bind(source, parsed.left, right, namespace=namespace, restricted=restricted, **given)
    refuse_response(list(parsed.left), right, fields["bound"])
    reader = Reader(**fields, missing=missing)
    survey = surveyed(source, reader)
    say_left_out(source, reader, survey)
    design, notes = designed(parsed, formula, reader, survey)
    if intercept and len(design.xnames) == 1:
        raise no_features(formula)
    made = responded(response, source, reader, survey)
    notes = [*no_trials(survey.no_trials), *notes, *getattr(made, "notes", [])]
    reader = replace(reader, design=design, response=made, constant=not intercept)
    if isinstance(source, OneTable):
        return reader.table_read(source.settled(reader), notes, computed(reader, survey))
    return ReadParts(design, made, reader, source, survey, reader.extras, notes, computed(reader, survey))


def refuse_response(left: list[str], right: list[str], bound: Mapping[str, Expression]) -> None:
    """Refuse regressors and features made of the response of the same row; a lag of it is another thing."""
    for own, code in itertools.product(left, right):
        column = bound[own].bare or bound[own].categorised
        if own == code or (column in bound[code].columns and not bound[code].across):
            where = "" if code in (own, column) else f' in "{code}"'
            raise FormulaError(
                f'"{column or own}" is the response and cannot explain itself: take it out of the right side{where}.'
            )


def responded(response: Respond, source: Source, reader: Reader, survey: TableSummary) -> Any:
    """The response that the left side makes; of data in parts without their rows."""
    assert survey.left is not None
    for code in reader.left:
        column, factor = survey.columns.get(reader.bound[code].bare or ""), survey.factors.get(code)
        if column is not None and factor is not None and column.kind == "label":
            levels = [level for level, used in zip(factor.categories, factor.used, strict=True) if used]
            refuse_numerals(code, levels, survey.used)
    rows = source.settled(reader).reading.rows if isinstance(source, OneTable) else None
    made = respond(response, survey.left.names, survey.left.columns, rows)
    return made if isinstance(source, OneTable) else made.without_rows()


def computed(reader: Reader, survey: TableSummary) -> dict[str, Design]:
    """Designs of the extras that code computes, by keyword."""
    variables = {name: column.variable for name, column in survey.columns.items()}
    return {name: value.design(variables) for name, value in reader.computed.items()}


def say_left_out(source: Source, reader: Reader, survey: TableSummary) -> None:
    """Warn of rows of parts that were left out as a term has no value, although its columns have one, and of columns
    that the source has a remark on."""
    for code in source.remarks.keys() & (reader.bound.keys() - set(reader.left)):
        warn(source.remarks[code], DataWarning)
    terms = reader.bound | {str(value): value.expression for value in reader.computed.values()}
    for code, e in terms.items() if not isinstance(source, OneTable) else ():
        if code in survey.masks and e.bare is None and not e.missing_aware:
            say_undefined_parts(code, survey.masks[code])


def surveyed(source: Source, reader: Reader) -> TableSummary:
    """Summary of all parts, transforms memorised on the way; a table in memory is settled once and for all."""
    if isinstance(source, OneTable):
        return reader.summary(source.settled(reader), WHOLE_TABLE)
    columns, memories = reader.wanted, reader.memories()
    survey = source.sum(lambda table, place: reader.survey(table, place, "before"), columns)
    source.ledger.check(survey.digests)
    if not survey.given:
        raise DataError(f"{source.kind} has no rows (columns: {quoted(source.names)}).")
    if not survey.used:
        why = ", ".join(f'"{name}" ({count} rows)' for name, count in survey.masks.items())
        gone = "all have weight 0 or no trials" if survey.cut else "subset= leaves none"
        why = f"missing values in {why}" if why else gone
        raise MissingDataError(f"no complete row is left of the {survey.given} of {source.kind}: {why}.")
    for some in memories:

        def total(g: Callable, some: list[Expression] = some) -> Any:
            passed = source.sum(lambda table, place: reader.memorised(table, place, g, some), columns)
            return source.ledger.checked(passed)

        memorise_all(some, total)
    if memories:
        survey = source.sum(lambda table, place: reader.survey(table, place, "after"), columns)
        source.ledger.check(survey.digests)
    return survey


def designed(parsed: Parsed, formula: str, reader: Reader, survey: TableSummary) -> tuple[Design, list[str]]:
    """The design that the levels and widths of all parts make, with notes."""
    n = max([1, *(int(s.used.sum()) for s in survey.factors.values())])
    factors, contrasts, notes = {}, {}, []
    for code in dict.fromkeys(itertools.chain(*parsed.right)):
        value = survey.factors[code].value(n)
        column = survey.columns.get(reader.bound[code].bare or "")
        declared = column is not None and column.kind == "category"
        factors[code], _, note = fit_factor(reader.bound[code], value, survey.used, declared=declared)
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


def variables(factors: Mapping[str, Any], survey: TableSummary) -> dict[str, Variable]:
    """The columns that factors use, as all parts show them."""
    found, labels = {}, label_columns(f.expression for f in factors.values())
    for name in dict.fromkeys(name for f in factors.values() for name in f.expression.columns):
        seen = survey.columns[name].variable
        found[name] = Variable("category") if seen.kind == "category" and name in labels else seen
    return found
