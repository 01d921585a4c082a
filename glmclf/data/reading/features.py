"""Features for naive Bayes, read by a formula over a source or a table in memory, or from arrays."""

from __future__ import annotations

import itertools
import keyword
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.data.design.arrays import (
    Dropped,
    array_columns,
    array_extras,
    check_columns,
    column_names,
    common_index,
    constant_columns,
    is_frame,
    of_one_float,
    read_endog,
    read_exog,
    sums_up,
    unmasked,
)
from glmclf.data.design.feature_design import MISSING_LEVEL, Feature, FeatureDesign
from glmclf.data.design.feature_terms import FAMILIES, Families, Found, choose_terms
from glmclf.data.formula import expressions
from glmclf.data.formula.evaluate import value_of, variable
from glmclf.data.formula.factors import BUILTINS, Expression, not_finite, resolve
from glmclf.data.formula.parse import no_features, parse_formula
from glmclf.data.reading.bind import bind
from glmclf.data.reading.feature_builder import Builder
from glmclf.data.reading.feature_reader import ALONE, FeatureReader
from glmclf.data.reading.read import ReadParts, responded, surveyed, variables
from glmclf.data.reading.settle import Reading
from glmclf.data.source.base import Source
from glmclf.data.source.one_table import OneTable
from glmclf.data.table.frame import Column, as_frame, close_to, quoted, read_column
from glmclf.data.table.sample import ReadTable, Respond, Rows, check_missing_option, no_trials, respond, weigh
from glmclf.errors import DataError, FormulaError, MissingDataError

__all__ = ["FAMILIES", "MISSING_LEVEL", "Feature", "FeatureDesign", "read_feature_arrays", "read_features"]

MISSING = ("skip", "drop", "raise", "level", "none")


def read_features(
    formula: str,
    data: Any,
    *,
    namespace: Mapping[str, Any] | None = None,
    subset: Any = None,
    missing: str = "skip",
    extras: Mapping[str, Any] | None = None,
    response: Respond,
    restricted: bool = False,
    families: Mapping[str, str] | None = None,
    multinomial: Sequence[str] | None = None,
    pooled: bool = False,
    check: Callable | None = None,
) -> ReadTable | ReadParts:
    """Read the features that a formula names, each as it is: numbers, codes of levels, or counts.

    Parameters
    ----------
    formula : str
        patsy's language. The intercept does not matter; ``a:b`` of categories is one table over their crossed levels,
        which absorbs ``a`` and ``b``; cells and levels without rows are left out.
    data, namespace, subset, extras, response, restricted
        As in `glmclf.data.reading.read.read_formula`.
    missing : {"skip", "drop", "raise", "level", "none"}
        "skip": rows without response or weight go, a missing feature stays missing; "level": likewise, and missing is a
        level of categories; the others as in `glmclf.data.reading.read.read_formula`.
    families : dict, optional
        Family of a feature by term or column: one of `FAMILIES`. By default bools, and numbers that are all 0 or 1, are
        bernoulli, labels and ``C()`` categorical, other numbers gaussian.
    multinomial : list of str, optional
        Columns of counts that make one block; where the formula names them, they are of the block alone.
    pooled : bool
        Gaussian features have one variance for all classes, hence T = x.
    check : callable, optional
        ``check(features, values, index)``, called for each part that is read.

    Returns
    -------
    ReadTable or ReadParts
        `design` is a FeatureDesign; of a table in memory `values` are its features on the kept rows.

    Raises
    ------
    FormulaError, MissingDataError, DataError, NotImplementedError
        Naming what was found, where, and what to do.

    Examples
    --------
    >>> data = pd.DataFrame({"y": ["u", "v", "u"], "x": [1.5, np.nan, 2.0], "g": ["a", "b", None]})
    >>> sample = read_features("y ~ x + g", data, response=lambda names, values: None)
    >>> [(f.name, f.family, f.xnames) for f in sample.design.features]
    [('x', 'gaussian', ('x', 'x^2')), ('g', 'categorical', ('g[T.b]',))]
    >>> [v.tolist() for v in sample.values]
    [[1.5, nan, 2.0], [0, 1, -1]]
    """
    check_missing_option(missing, MISSING)
    source = data if isinstance(data, Source) else OneTable(data)
    parsed = parse_formula(formula, intercept=True, columns=lambda: source.first().columns)
    plain = list(itertools.chain(*parsed.right))
    block = counts_of(multinomial, list(source.first().columns), plain)
    right, given = list(dict.fromkeys([*plain, *block])), {"subset": subset, "extras": extras}
    fields = bind(source, parsed.left, right, namespace=namespace, restricted=restricted, **given)
    bound, notes = fields["bound"], list[str]()
    refuse_response(list(parsed.left), right, bound)
    terms = choose_terms([codes for codes in parsed.right if codes], block, bound, {}, notes)
    asked = Families(families, pooled)
    alone = [(t.codes[0], t) for t in terms if len(t.codes) == 1]
    reader = FeatureReader(
        **fields,
        missing="drop" if missing in ALONE else missing,
        how=missing,
        labels=frozenset(c for c, t in alone if asked.of(t.name, t, bound[c].columns) == "categorical"),
        tables=tuple(t.codes for t in terms if len(t.codes) > 1 and not t.block),
        check=check,
    )
    survey = surveyed(source, reader)
    made = responded(response, source, reader, survey)
    notes += no_trials(survey.no_trials)
    builder = reader.builder(source, survey, asked, notes)
    features = builder.features(terms)
    if not features:
        raise no_features(formula)
    columns = variables(builder.factors, survey)
    design = FeatureDesign(features, formula, " + ".join(parsed.left), builder.factors, columns, missing)
    check_names(design)
    notes += getattr(made, "notes", [])
    if isinstance(source, OneTable):
        return _sample(design, builder, made, notes, builder.reading.frame)
    reader = replace(reader, design=design, response=made)
    return ReadParts(design, made, reader, source, survey, reader.extras, notes)


def read_feature_arrays(
    endog: Any,
    exog: Any,
    *,
    missing: str = "skip",
    extras: Mapping[str, Any] | None = None,
    response: Respond,
    families: Mapping[str, str] | None = None,
    multinomial: Sequence[str] | None = None,
    pooled: bool = False,
) -> ReadTable:
    """Read features given as arrays: each column of `exog` is one.

    Parameters
    ----------
    endog : (n,) array-like or Series
        Response.
    exog : (n, p) or (n,) array-like, Series or DataFrame
        Features. A table may hold labels and categories; an array numbers. The first constant column is left out.
    missing, extras, response, families, multinomial, pooled
        As in `read_features`, with the names of columns (``x1, x2, ...`` where they have none).

    Returns
    -------
    ReadTable
        `design` is a FeatureDesign, `values` its features on the kept rows.

    Raises
    ------
    MissingDataError, DataError, NotImplementedError
        Naming what was found, where, and what to do.

    Examples
    --------
    >>> X = np.array([[1, 0, 2.5], [1, 1, 3.0], [1, 1, np.nan]])
    >>> sample = read_feature_arrays([0, 1, 0], X, response=lambda names, values: None)
    >>> [(f.name, f.family) for f in sample.design.features], sample.design.dropped.name
    ([('x1', 'bernoulli'), ('x2', 'gaussian')], 'const')
    """
    check_missing_option(missing, MISSING)
    table, index, all_finite = _exog_columns(unmasked(exog))
    left, left_index = read_endog(unmasked(endog))
    index = common_index(left, left_index, next(iter(table.values())).values, index)
    block = counts_of(multinomial, list(table), [code_of(name) for name in table])
    reading, dropped = _bind_arrays(table, index, left, missing, extras)
    notes: list[str] = []
    words = {code: str(e.bare) for code, e in reading.bound.items()}
    terms = choose_terms([(code,) for code in reading.bound], block, reading.bound, words, notes)
    every = np.ones(int(np.count_nonzero(reading.rows.keep)), dtype=bool)
    found = {code: _column(reading, code, every, all_finite) for code in reading.bound}
    keep = reading.rows.selection
    values = [series if keep is None else series[keep] for series in left.values()]
    made = respond(response, list(left), values, reading.rows)
    builder = Builder(reading, found, Families(families, pooled), missing, notes)
    features = builder.features(terms)
    if not features:
        raise DataError("exog has no features: every column has one level in the rows used.")
    design = FeatureDesign(features, None, " + ".join(left), builder.factors, {}, missing, dropped)
    names = dict.fromkeys(name for f in builder.factors.values() for name in f.expression.columns)
    design.columns = {name: variable(reading.table[name], design._only_labels(name)) for name in names}
    check_names(design)
    return _sample(design, builder, made, [*notes, *getattr(made, "notes", [])], None)


def refuse_response(left: list[str], right: list[str], bound: Mapping[str, Expression]) -> None:
    """Refuse features made of the response of the same row; a lag of it is another thing."""
    for own, code in itertools.product(left, right):
        column = bound[own].bare or bound[own].categorised
        if own == code or (column in bound[code].columns and not bound[code].across):
            where = "" if code in (own, column) else f' in "{code}"'
            raise FormulaError(
                f'"{column or own}" is the response and cannot be a feature as well: take it out of the right '
                f"side{where}."
            )


def _sample(
    design: FeatureDesign, builder: Builder, made: Any, notes: list[str], frame: pd.DataFrame | None
) -> ReadTable:
    """The design with the features of the kept rows."""
    values = [feature.values(builder.coded) for feature in design.features]
    kept = builder.reading.finish()
    return ReadTable(design=design, response=made, pieces=None, X=None, notes=notes, frame=frame, values=values, **kept)


def check_names(design: FeatureDesign) -> None:
    """Refuse columns of the implied logit that are called the same."""
    repeated = [name for name, count in Counter(design.xnames).items() if count > 1]
    if repeated:
        raise DataError(f"columns of the implied logit would be called the same: {quoted(repeated)}. Rename a feature.")


def _exog_columns(exog: Any) -> tuple[dict[str, Column], pd.Index | None, bool]:
    """Columns of a table, which may hold labels, or of an array of numbers; whether these are known to be finite."""
    if isinstance(exog, pd.Series):
        exog = exog.to_frame("x1" if exog.name is None else exog.name)
    if not is_frame(exog) or of_one_float(exog):
        X, names, index = read_exog(exog)
        finite = sums_up(X)
        return array_columns(X, names, finite), index, finite
    frame, index = as_frame(exog), exog.index if isinstance(exog, pd.DataFrame) else None
    names = column_names(frame)
    check_columns(frame.shape, names)
    return {name: read_column(frame.iloc[:, j], name) for j, name in enumerate(names)}, index, False


def _bind_arrays(
    table: dict[str, Column],
    index: pd.Index,
    left: Mapping[str, pd.Series],
    missing: str,
    extras: Mapping[str, Any] | None,
) -> tuple[Reading, Dropped | None]:
    """Columns as factors, less the first that is constant on the rows that are kept."""
    rows = Rows(index, "drop" if missing in ("skip", "level") else missing)
    beside = array_extras(extras, index)
    lost: dict[str, Any] = weigh(rows, beside, extras)
    lost |= {name: read_column(series, name).missing for name, series in left.items()}
    rows.lose(lost, {} if missing in ("skip", "level") else {name: c.missing for name, c in table.items()})
    dropped = _constant(table, rows)
    if dropped is not None and len(table) == 1:
        raise DataError(f'exog has no features: its only column, "{dropped.name}", is constant.')
    features = {name: column for name, column in table.items() if dropped is None or name != dropped.name}
    bound = {code: resolve(code, features, {}) for code in map(code_of, features)}
    return Reading(index, None, pd.DataFrame(index=index), rows, beside, bound, features), dropped


def _column(reading: Reading, code: str, every: ndarray, all_finite: bool) -> Found:
    """A column on those of the kept rows that have it."""
    expression, rows = reading.bound[code], reading.rows
    column = reading.table[str(expression.bare)].take(rows.selection)
    keep = every if column.missing is None else ~column.missing
    if not keep.any():
        raise MissingDataError(f'"{expression.bare}" is missing in all {len(keep)} rows: leave it out.')
    here = {str(expression.bare): column.take(None if keep.all() else keep)}
    value = value_of(expression, here, int(np.count_nonzero(keep)))
    if not all_finite and not value.labelled and not np.isfinite(value.data.sum()):
        not_finite(value.data, str(expression.bare), rows.index[rows.keep][keep])
    return Found(value, keep)


def _constant(table: Mapping[str, Column], rows: Rows) -> Dropped | None:
    for place, (name, column) in enumerate(table.items()):
        column = column.take(rows.selection)
        if column.kind in ("number", "bool") and column.missing is None and constant_columns(column.values[:, None]):
            return Dropped(name, place, float(column.values[0]))
    return None


def counts_of(multinomial: Any, columns: Collection[str], codes: list[str]) -> list[str]:
    """Codes of the columns of a block, as the formula has them where it does."""
    if multinomial is None:
        return []
    if isinstance(multinomial, str) or not all(isinstance(name, str) for name in multinomial):
        raise TypeError(f'multinomial= is a list of columns, as in ["w1", "w2"], found {multinomial!r}.')
    names = list(multinomial)
    if len(names) < 2 or len(set(names)) < len(names):
        raise DataError(f"multinomial= needs two or more different columns of counts, found {quoted(names)}.")
    for name in names:
        if name not in columns:
            raise DataError(f'multinomial= names "{name}", which is no column. {close_to(name, columns)}')
    listed = {expressions.bare_column(code): code for code in codes}
    return [listed.get(name) or code_of(name) for name in names]


def code_of(name: str) -> str:
    """A column as code: its name where that is one and no function's, else quoted."""
    plain = name.isidentifier() and not keyword.iskeyword(name) and name not in {*BUILTINS, "Q"}
    return name if plain and name not in expressions.NUMPY_NAMES else f"Q({name!r})"
