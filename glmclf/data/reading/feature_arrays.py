"""Arrays read as features for naive Bayes: each column is one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.data.design.arrays import (
    Dropped,
    array_columns,
    check_columns,
    column_names,
    is_frame,
    of_one_float,
    sums_up,
    unmasked,
)
from glmclf.data.design.constant import constant_columns
from glmclf.data.design.feature_design import FeatureDesign
from glmclf.data.design.feature_terms import FactorRows, Families, choose_terms
from glmclf.data.formula.evaluate import value_of, variable
from glmclf.data.formula.factors import not_finite, resolve
from glmclf.data.reading.arrays import BesideArrays, read_exog
from glmclf.data.reading.feature_builder import Builder
from glmclf.data.reading.feature_reader import ALONE
from glmclf.data.reading.features import FEATURE_MISSING, block_of, check_names, code_of, counts_of, read_features_of
from glmclf.data.reading.settle import Reading
from glmclf.data.table.frame import Column, as_frame, read_column
from glmclf.data.table.rows import ReadTable, Respond, RowMask, check_missing_option
from glmclf.errors import DataError, MissingDataError


def read_feature_arrays(
    endog: Any,
    exog: Any,
    *,
    missing: str = "skip",
    extras: Mapping[str, Any] | None = None,
    response: Respond,
    families: Mapping[str, str] | str | None = None,
    multinomial: Sequence[str] | str | None = None,
    pooled: bool = False,
    smoothed: bool = False,
) -> ReadTable:
    """Read features given as arrays: each column of `exog` is one.

    Parameters
    ----------
    endog : (n,) array-like or Series
        Response.
    exog : (n, p) or (n,) array-like, Series or DataFrame
        Features. A table may hold labels and categories; an array numbers. The first constant column of numbers is left
        out, unless `families` names it.
    missing, extras, response, families, multinomial, pooled, smoothed
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
    check_missing_option(missing, FEATURE_MISSING)
    table, index, all_finite = _exog_columns(unmasked(exog))
    first = next(iter(table.values())).values
    beside = BesideArrays.of(endog, first, index, "drop" if missing in ALONE else missing, extras)
    block = counts_of(multinomial, list(table), [code_of(name) for name in table])
    beside.rows.lose(beside.lost, {} if missing in ALONE else {name: c.missing for name, c in table.items()})
    declared = table if isinstance(families, str) else {*(families or {}), *block_of(multinomial, list(table))}
    reading, dropped = _bound(table, beside, declared)
    notes: list[str] = []
    words = {code: str(e.bare) for code, e in reading.bound.items()}
    terms = choose_terms([(code,) for code in reading.bound], block, reading.bound, words, notes)
    every = np.ones(int(np.count_nonzero(reading.rows.keep)), dtype=bool)
    found = {code: _column(reading, code, every, all_finite) for code in reading.bound}
    made = beside.respond(response)
    builder = Builder(reading, found, Families(families, pooled, smoothed), missing, notes)
    features = builder.features(terms)
    if not any(feature.width for feature in features):
        raise DataError("exog has no features: every column has one level in the rows used.")
    design = FeatureDesign(features, None, " + ".join(beside.left), builder.factors, {}, missing, dropped)
    names = dict.fromkeys(name for f in builder.factors.values() for name in f.expression.columns)
    labels = design.label_columns
    design.columns = {name: variable(reading.table[name], name in labels) for name in names}
    check_names(design)
    return read_features_of(design, builder, made, [*notes, *getattr(made, "notes", [])], None)


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


def _bound(table: dict[str, Column], beside: BesideArrays, declared: Collection[str]) -> tuple[Reading, Dropped | None]:
    """Columns as factors, less the first of numbers that is constant on the rows that are kept and not declared."""
    rows = beside.rows
    dropped = _constant(table, rows, declared)
    if dropped is not None and len(table) == 1:
        raise DataError(f'exog has no features: its only column, "{dropped.name}", is constant.')
    features = {name: column for name, column in table.items() if dropped is None or name != dropped.name}
    bound = {code: resolve(code, features, {}) for code in map(code_of, features)}
    return Reading(rows.index, None, pd.DataFrame(index=rows.index), rows, beside.beside, bound, features), dropped


def _column(reading: Reading, code: str, every: ndarray, all_finite: bool) -> FactorRows:
    """Values of a column on those of the kept rows that have one."""
    expression, rows = reading.bound[code], reading.rows
    column = reading.table[str(expression.bare)].take(rows.selection)
    keep = every if column.missing is None else ~column.missing
    if not keep.any():
        raise MissingDataError(f'"{expression.bare}" is missing in all {len(keep)} rows: leave it out.')
    here = {str(expression.bare): column.take(None if keep.all() else keep)}
    value = value_of(expression, here, int(np.count_nonzero(keep)))
    if not all_finite and not value.labelled and not np.isfinite(value.data.sum()):
        not_finite(value.data, str(expression.bare), rows.index[rows.keep][keep])
    return FactorRows(value, keep)


def _constant(table: Mapping[str, Column], rows: RowMask, declared: Collection[str]) -> Dropped | None:
    for place, (name, column) in enumerate(table.items()):
        if name in declared:
            continue
        column = column.take(rows.selection)
        if column.kind == "number" and column.missing is None and constant_columns(column.values[:, None]):
            return Dropped(name, place, float(column.values[0]))
    return None
