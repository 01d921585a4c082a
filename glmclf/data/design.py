"""Design: how rows of a table become rows of X, for the training rows and for any others.

`glmclf.data.formula` parses and chooses codings, `glmclf.data.factors` memorises and evaluates factors on complete
rows, and X is described as `Piece` objects, one a subterm (`glmclf.data.terms`).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.columns import Piece, dense
from glmclf.data import expressions
from glmclf.data.arrays import ArrayDesign, read_arrays, rows_by_place
from glmclf.data.factors import Expression, Factor, Value, as_value, fit_factor, not_finite, resolve
from glmclf.data.formula import Parsed, codings, parse_formula
from glmclf.data.frame import Column, align, as_frame, close_to, quoted, read_column
from glmclf.data.sample import (
    Respond,
    Rows,
    Sample,
    check_missing_option,
    finish,
    leave_out_no_trials,
    read_extras,
    respond,
    weigh,
)
from glmclf.data.terms import Subterm, Variable, match
from glmclf.errors import DataError

__all__ = ["ArrayDesign", "Design", "Sample", "read_arrays", "read_formula"]


# -------------------------------------------------------------------------------------------------------- design
@dataclass
class Design:
    """Rows of a table to rows of X, as a formula and the training rows fixed it.

    Attributes
    ----------
    xnames : list of str
        Names of the columns of X, as patsy gives them: ``Intercept``, ``g[T.b]``, ``x:g[T.b]``.
    terms : dict of slices
        Columns of each term.
    k_constant : int
        1 where an intercept is among the columns or spanned by their coding (``0 + g``).
    formula : str
        The formula.
    endog_name : str
        Left side.
    factors : dict of Factor
        Factors of the right side by their code.
    subterms : list of Subterm
        In the order of the columns.
    columns : dict of Variable
        Columns of the table that the right side uses.
    """

    xnames: list[str]
    terms: dict[str, slice]
    k_constant: int
    formula: str | None
    endog_name: str
    factors: dict[str, Factor]
    subterms: list[Subterm]
    columns: dict[str, Variable] = field(default_factory=dict)

    @property
    def variables(self) -> list[str]:
        """Columns of the table that the right side uses."""
        return list(self.columns)

    @property
    def levels(self) -> dict[str, list[Any]]:
        """Levels of each factor that has them."""
        return {code: list(f.levels) for code, f in self.factors.items() if f.levels is not None}

    def pieces(self, values: Mapping[str, ndarray]) -> list[Piece]:
        """X as pieces, from the codes or numbers of each factor."""
        widths = {code: factor.width for code, factor in self.factors.items()}
        return [subterm.piece(values, widths) for subterm in self.subterms]

    def matrix(self, newdata: Any) -> ndarray:
        """X for the rows of another table; a row with a missing value is NaN throughout.

        Parameters
        ----------
        newdata : DataFrame, Mapping of columns or values, polars or pyarrow frame, Series, array or list
            Columns are matched by name; others are ignored. A Series is one row by name. An array or a list holds rows
            of the design itself, k numbers each.

        Returns
        -------
        (len(newdata), k) ndarray
            float64, column-contiguous.

        Raises
        ------
        UnseenLevelError
            A level that the training rows did not have.
        DataError
            A column that is not there, or holds another kind of values.
        """
        if isinstance(newdata, (list, tuple)) or (isinstance(newdata, ndarray) and not newdata.dtype.names):
            rows = np.array(rows_by_place(newdata, self.xnames), dtype=np.float64, order="F")
            rows[np.isnan(rows).any(axis=1)] = np.nan
            return rows
        if isinstance(newdata, pd.Series):
            newdata = newdata.to_frame().T
        frame = as_frame(newdata, empty=True, scalars=True)
        columns = self._read(frame)
        keep = np.ones(len(frame), dtype=bool)
        for mask in _raw_missing([f.expression for f in self.factors.values()], columns).values():
            keep &= ~mask
        values, keep = self._complete(columns, keep)
        X = dense(self.pieces(values), int(keep.sum())) if keep.any() else np.empty((0, len(self.xnames)))
        if keep.all() and len(keep):
            return X
        out = np.full((len(frame), len(self.xnames)), np.nan, order="F")
        out[keep] = X
        return out

    def __call__(self, newdata: Any) -> tuple[None, ndarray]:
        """The pair (None, X) of `matrix`."""
        return None, self.matrix(newdata)

    def _complete(self, columns: dict[str, Column], keep: ndarray) -> tuple[dict[str, ndarray], ndarray]:
        """Each factor's values on the rows where all have one, and those rows."""
        n = len(keep)
        whole = {code: _value(f.expression, columns, n) for code, f in self.factors.items() if f.expression.across}
        while keep.any():
            rows = None if keep.all() else keep
            cut = {name: column.take(rows) for name, column in columns.items()}
            found = {
                code: whole[code].take(keep) if code in whole else _value(f.expression, cut, int(keep.sum()))
                for code, f in self.factors.items()
            }
            lost = np.zeros(int(keep.sum()), dtype=bool)
            for value in found.values():
                lost |= value.missing()
            if not lost.any():
                return {code: self.factors[code].values(value) for code, value in found.items()}, keep
            keep = keep.copy()
            keep[keep] = ~lost
        return {}, keep

    def _read(self, frame: pd.DataFrame) -> dict[str, Column]:
        columns = {}
        for name, variable in self.columns.items():
            if name not in frame.columns:
                raise DataError(
                    f'the new data have no column "{name}", which the model needs. {close_to(name, frame.columns)}'
                )
            columns[name] = match(read_column(frame[name], name), variable, name, self._only_labels(name))
        return columns

    def _only_labels(self, name: str) -> bool:
        """Whether a column is used as a factor only, where its levels are checked one by one."""
        uses = [f.expression for f in self.factors.values() if name in f.expression.columns]
        return all(name in (e.bare, e.categorised) for e in uses)

    def __deepcopy__(self, memo: Any) -> Design:
        return self  # nothing changes a design, and the caller's functions may refuse to be pickled

    def __copy__(self) -> Design:
        return self

    def __getstate__(self) -> dict[str, Any]:
        from glmclf.data.codec import pickled

        return pickled(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        from glmclf.data.codec import unpickled

        self.__dict__.update(unpickled(state).__dict__)


def _build(parsed: Parsed, formula: str, factors: dict[str, Factor], contrasts: dict[str, Any]) -> Design:
    info = codings(parsed.right, factors, contrasts)
    subterms = [
        Subterm(
            tuple(f.name() for f in sub.factors),
            {f.name(): np.asarray(m.matrix, dtype=np.float64) for f, m in sub.contrast_matrices.items()},
        )
        for subs in info.term_codings.values()
        for sub in subs
    ]
    widths = {code: factor.width for code, factor in factors.items()}
    constant = int(any(subterm.spans_constant(widths) for subterm in subterms))
    terms = {name: s for name, s in info.term_name_slices.items()}
    return Design(list(info.column_names), terms, constant, formula, " + ".join(parsed.left), factors, subterms)


# ------------------------------------------------------------------------------------------------------- reading
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
        Only columns, operators and the functions on the closed list of `glmclf.data.expressions`.

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
    given = as_frame(data)
    parsed = parse_formula(formula)
    caller = {} if restricted or namespace is None else namespace
    codes = list(dict.fromkeys([*parsed.left, *itertools.chain(*parsed.right)]))
    given = _with_arrays(given, codes, caller)
    cut = _subset(subset, given, caller, restricted)
    frame = given if cut is None else given[cut]
    rows = Rows(frame.index, missing)
    beside = read_extras(extras, given, cut)
    lost = weigh(rows, beside, extras)
    bound = {code: _bind(code, frame, caller, restricted) for code in codes}
    table = {name: read_column(frame[name], name) for e in bound.values() for name in e.columns}
    notes: list[str] = []
    rows.lose(lost, _raw_missing([bound[c] for c in codes], table))
    values = _settle(bound, table, rows, parsed.left, notes, beside.get("freq_weights"))
    design, pieces = _design(parsed, formula, bound, values, table, notes)
    notes += [
        f"{code} has one level, {quoted(f.levels)}, in the rows used: it adds no column"
        for code, f in design.factors.items()
        if f.levels is not None and len(f.levels) == 1
    ]
    left = [_left_value(bound[code], values[code], frame, rows) for code in parsed.left]
    made = respond(response, list(parsed.left), left, rows)
    notes += getattr(made, "notes", [])
    kept = finish(rows, beside, given.index, cut)
    return Sample(design=design, response=made, pieces=pieces, X=None, notes=notes, frame=frame, **kept)


def _with_arrays(frame: pd.DataFrame, codes: list[str], caller: Mapping[str, Any]) -> pd.DataFrame:
    """The table with those variables of the caller that hold a value a row; the caller's table stays as it is."""
    borrowed = {}
    for code in codes:
        found = expressions.names(code)
        for name in (found.used | found.rooted) - found.called - set(frame.columns):
            series = _one_a_row(caller.get(name), name, frame, found, code)
            if series is not None:
                borrowed[name] = series
    return frame.assign(**borrowed) if borrowed else frame


def _one_a_row(value: Any, name: str, frame: pd.DataFrame, found: expressions.Names, code: str) -> pd.Series | None:
    """A variable of the caller beside the table, None where it is something else (a constant, say)."""
    if isinstance(value, pd.Series):
        if value.index.equals(frame.index):
            return value
        if name not in found.used:  # s.mean() may be of any other table
            return None
        return pd.Series(align(value, name=name, frame=frame), index=frame.index)
    arrays = (np.ndarray, pd.Categorical, pd.Index, *((list, tuple) if code == name else ()))
    if isinstance(value, arrays) and np.shape(value) == (len(frame),):
        return pd.Series(value, index=frame.index)
    return None


def _subset(subset: Any, frame: pd.DataFrame, caller: Mapping[str, Any], restricted: bool) -> ndarray | None:
    if subset is None:
        return None
    if isinstance(subset, str):
        if restricted:
            raise NotImplementedError("a subset= query is not available for restricted formulas.")
        subset = _query(subset, frame, caller)
    elif np.ndim(subset) != 1:
        raise TypeError(f"subset= is a bool array, a bool Series or a query string, found {type(subset).__name__}.")
    mask = align(subset, name="subset", frame=frame)
    if mask.dtype.kind == "f" and np.isnan(mask).any():
        raise DataError(f"subset= has missing values in {int(np.isnan(mask).sum())} rows; say True or False for each.")
    if mask.dtype != bool:
        raise TypeError(
            f"subset= is a bool array, a bool Series or a query string, found values of dtype {mask.dtype}."
        )
    if not mask.any():
        raise DataError(f"subset= leaves none of the {len(frame)} rows.")
    return mask


def _query(query: str, frame: pd.DataFrame, caller: Mapping[str, Any]) -> Any:
    try:
        found = frame.eval(query, local_dict=dict(caller), global_dict={}, engine="python")
    except Exception as error:
        raise DataError(f'subset="{query}" cannot be evaluated: {type(error).__name__}: {error}') from None
    if np.ndim(found) != 1 or len(found) != len(frame):
        raise DataError(f'subset="{query}" gives no True or False for each row.')
    return np.asarray(found) if not isinstance(found, pd.Series) else found.array


def _bind(code: str, frame: pd.DataFrame, caller: Mapping[str, Any], restricted: bool) -> Expression:
    if restricted:
        resolve(code, frame.columns, caller, safe=True)  # an unknown name first: its message is the more helpful one
        expressions.check(code, list(frame.columns))
    return resolve(code, frame.columns, caller, safe=restricted)


def _raw_missing(bound: list[Expression], table: Mapping[str, Column]) -> dict[str, ndarray]:
    """Columns with missing values that some factor cannot do without."""
    needed = {name: None for e in bound if not e.missing_aware for name in e.columns}
    return {name: mask for name in needed if (mask := table[name].missing) is not None}


def _settle(
    bound: dict[str, Expression],
    table: dict[str, Column],
    rows: Rows,
    left: list[str],
    notes: list[str],
    times: ndarray | None,
) -> dict[str, Value]:
    """Each factor's values on the rows where all have one, transforms memorised on exactly these rows."""
    if len(left) > 1:
        cut = {name: column.take(rows.selection) for name, column in table.items()}
        leave_out_no_trials(
            rows, [_scattered(_value(bound[c], cut, int(rows.keep.sum())), rows, c) for c in left], notes
        )
    whole = _whole_values(bound, table, len(rows.keep), times)
    while True:
        n = int(rows.keep.sum())
        cut = {name: column.take(rows.selection) for name, column in table.items()}
        if not _lost(rows, {c: _argument_missing(e, cut, n, rows) for c, e in bound.items()}):
            values = {}
            for code, expression in bound.items():
                if code in whole:
                    values[code] = whole[code].take(rows.keep)
                    continue
                expression.memorise(_repeated(expression, cut, times, rows))
                values[code] = _value(expression, cut, n)
            if not _lost(rows, {code: value.missing() for code, value in values.items()}):
                break
    for code, value in values.items():
        not_finite(value.data, code, rows.index[rows.keep] if rows.selection is not None else rows.index)
    return values


MOST_REPEATED = 20_000_000


def _whole_values(
    bound: dict[str, Expression], table: dict[str, Column], n: int, times: ndarray | None
) -> dict[str, Value]:
    """Values, on every row of the table, of code that may look across rows: a lag is not of the complete rows."""
    whole = {}
    for code, expression in bound.items():
        if expression.across:
            expression.prepare()
            whole[code] = _value(expression, table, n)
    if times is None or not whole or not 0 < np.nansum(times) <= MOST_REPEATED:
        return whole
    where = np.repeat(np.arange(n), np.nan_to_num(times).astype(np.int64))
    repeated = {name: column.take(where) for name, column in table.items()}
    for code, value in whole.items():
        if not value.take(where).equals(_value(bound[code], repeated, len(where))):
            raise NotImplementedError(
                f'"{code}" with freq_weights: its value in a row depends on other rows, which the weights repeat. '
                "Compute the column beforehand, on the rows that it should see."
            )
    return whole


def _repeated(
    expression: Expression, cut: dict[str, Column], times: ndarray | None, rows: Rows
) -> dict[str, Column]:
    """What a transform remembers: each row as often as its frequency weight says."""
    if times is None or not expression.transform_arguments():
        return cut
    counts = times[rows.keep].astype(np.int64)
    if counts.sum() > MOST_REPEATED:
        raise NotImplementedError(
            f'"{expression.code}" remembers its data, which freq_weights repeat to {counts.sum():,} rows: more than '
            f"{MOST_REPEATED:,}. Compute the column beforehand."
        )
    where = np.repeat(np.arange(len(counts)), counts)
    return {name: column.take(where) for name, column in cut.items()}


def _scattered(value: Value, rows: Rows, code: str) -> ndarray:
    """A count of the left side in the table's rows; rows already gone hold NaN."""
    if value.labelled:
        raise DataError(
            f'"{code}" on the left side is summed as a count but holds labels ({quoted(value.data.categories, 3)}).'
        )
    out = np.full(len(rows.keep), np.nan)
    out[rows.keep] = value.data[:, 0]
    return out


def _lost(rows: Rows, masks: dict[str, ndarray]) -> bool:
    """Drop rows in which a factor came out as NaN; whether there were any."""
    found = {code: mask for code, mask in masks.items() if mask.any()}
    full = {}
    for code, mask in found.items():
        full[code] = np.zeros(len(rows.keep), dtype=bool)
        full[code][rows.keep] = mask
    if full:
        rows.lose(full)
    return bool(full)


def _argument_missing(expression: Expression, cut: dict[str, Column], n: int, rows: Rows) -> ndarray:
    """Rows in which an argument of a stateful transform is NaN: one of them would spoil what it remembers."""
    lost = np.zeros(n, dtype=bool)
    for code in expression.transform_arguments():
        raw = expression.run(code, cut)
        if np.ndim(raw) and len(raw) == n:
            value = as_value(raw, code, n)
            lost |= value.missing()
            not_finite(value.data, code, rows.index[rows.keep])
    return lost


def _value(expression: Expression, columns: Mapping[str, Column], n: int) -> Value:
    return as_value(expression.evaluate(columns), expression.code, n)


def _design(
    parsed: Parsed,
    formula: str,
    bound: dict[str, Expression],
    values: dict[str, Value],
    table: dict[str, Column],
    notes: list[str],
) -> tuple[Design, list[Piece]]:
    factors, numbers, contrasts = {}, {}, {}
    for code in dict.fromkeys(itertools.chain(*parsed.right)):
        factors[code], numbers[code], note = fit_factor(bound[code], values[code])
        contrasts[code] = values[code].contrast
        if note:
            notes.append(note)
    design = _build(parsed, formula, factors, contrasts)
    names = dict.fromkeys(name for code in factors for name in bound[code].columns)
    design.columns = {name: _variable(table[name], design._only_labels(name)) for name in names}
    return design, design.pieces(numbers)


def _variable(column: Column, only_labels: bool) -> Variable:
    if column.kind == "category" and not only_labels:
        return Variable("category", column.values.categories.tolist(), bool(column.values.ordered))
    return Variable(column.kind)


def _left_value(expression: Expression, value: Value, frame: pd.DataFrame, rows: Rows) -> Any:
    """The left side in the table's own dtype where it is a column, else as evaluated."""
    column = expression.bare or (expression.categorised if value.levels in (None, [False, True]) else None)
    if column is not None:
        series = frame[column]
        return series if rows.selection is None else series[rows.keep]
    if value.levels == [False, True]:
        return np.asarray(value.data.codes).astype(bool)
    return value.data if value.labelled else value.data[:, 0] if value.data.shape[1] == 1 else value.data
