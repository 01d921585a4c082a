"""A formula read on a table in memory: the design, the response and the rows of a fit."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from glmclf.core.design.factor import SubtermColumns
from glmclf.data.design.design import Design, build_design
from glmclf.data.formula.evaluate import left_value, raw_missing, variable
from glmclf.data.formula.factors import Expression, Value, fit_factor
from glmclf.data.formula.parse import Parsed, no_features, parse_formula
from glmclf.data.reading.bind import bind, settle
from glmclf.data.table.frame import Column, as_frame, quoted
from glmclf.data.table.sample import Respond, Sample, check_missing_option, respond

__all__ = ["Sample", "read_formula"]


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
) -> Sample:
    """Read a formula on a table: response, design and extras of the rows that are complete.

    Parameters
    ----------
    formula : str
        patsy's language; names are columns of `data`, patsy's functions, `np`, or the caller's variables.
    data : DataFrame, Mapping, polars or pyarrow frame
        The table.
    namespace : mapping, optional
        The caller's variables; an array with one value a row of `data` serves as a column.
    subset : bool array, bool Series or str, optional
        Rows to use: a mask, or a query like ``"age > 30"``.
    missing : {"drop", "raise", "none"}
        What becomes of rows with a missing value.
    extras : mapping
        "offset", "freq_weights", "weights": a column's name, a Series or an array beside `data`, or None.
    response : callable
        Makes the response of the names and the values of the left side's terms on the kept rows.
    restricted : bool
        Only columns, operators and the functions on the closed list of `glmclf.data.formula.expressions`.
    intercept : bool
        Put an intercept before the other columns whether or not the formula has one, so that ``0 + g`` and ``g`` are
        the same columns; a formula without any other column is refused.

    Returns
    -------
    Sample
        Design, response, pieces and extras of the kept rows.

    Raises
    ------
    FormulaError, MissingDataError, DataError, NotImplementedError
        Naming what was found, where, and what to do.
    """
    check_missing_option(missing)
    parsed = parse_formula(formula, intercept=intercept, columns=lambda: as_frame(data).columns)
    codes = list(dict.fromkeys([*parsed.left, *itertools.chain(*parsed.right)]))
    reading = bind(codes, data, namespace=namespace, subset=subset, missing=missing, extras=extras, safe=restricted)
    rows, bound, table = reading.rows, reading.bound, reading.table
    notes: list[str] = []
    rows.lose(reading.lost, raw_missing(bound.values(), table))
    values = settle(bound, table, rows, parsed.left, notes, reading.beside.get("freq_weights"))
    design, pieces = _design(parsed, formula, bound, values, table, notes)
    if intercept and len(design.xnames) == 1:
        raise no_features(formula)
    notes += [
        f"{code} has one level, {quoted(f.levels)}, in the rows used: it adds no column"
        for code, f in design.factors.items()
        if f.levels is not None and len(f.levels) == 1
    ]
    left = [left_value(bound[code], values[code], reading.frame, rows) for code in parsed.left]
    made = respond(response, list(parsed.left), left, rows)
    notes += getattr(made, "notes", [])
    return Sample(
        design=design, response=made, pieces=pieces, X=None, notes=notes, frame=reading.frame, **reading.finish()
    )


def _design(
    parsed: Parsed,
    formula: str,
    bound: dict[str, Expression],
    values: dict[str, Value],
    table: dict[str, Column],
    notes: list[str],
) -> tuple[Design, list[SubtermColumns]]:
    factors, numbers, contrasts = {}, {}, {}
    for code in dict.fromkeys(itertools.chain(*parsed.right)):
        factors[code], numbers[code], note = fit_factor(bound[code], values[code])
        contrasts[code] = values[code].contrast
        if note:
            notes.append(note)
    design = build_design(parsed, formula, factors, contrasts)
    names = dict.fromkeys(name for code in factors for name in bound[code].columns)
    design.columns = {name: variable(table[name], design._only_labels(name)) for name in names}
    return design, design.pieces(numbers)
