"""Design: how rows of a table become rows of X, for the training rows and for any others.

`glmclf.data.formula.parse` parses and chooses codings, `glmclf.data.reading.evaluate` and
`glmclf.data.formula.factors` memorise and evaluate factors on complete rows, and X is described as `Piece` objects,
one a subterm (`glmclf.data.formula.terms`).
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.design.columns import Cells, Dense, Piece, dense, from_pieces
from glmclf.data.derivatives.design import refuse_variable, slope
from glmclf.data.design.arrays import ArrayDesign, read_arrays, rows_by_place, sums_up
from glmclf.data.formula.factors import Expression, Factor, Value, fit_factor
from glmclf.data.formula.parse import Parsed, codings, no_features, parse_formula
from glmclf.data.formula.terms import Subterm, Variable, match
from glmclf.data.reading.evaluate import bind, left_value, raw_missing, scattered, settle, value_of, variable
from glmclf.data.table.frame import Column, as_frame, close_to, naming_rows, placed, quoted, read_column
from glmclf.data.table.sample import (
    Respond,
    Sample,
    check_missing_option,
    respond,
)
from glmclf.errors import DataError

__all__ = ["ArrayDesign", "Design", "Sample", "read_arrays", "read_formula"]


# -------------------------------------------------------------------------------------------------------- design
class TableDesign:
    """What the designs of models of a table share: reading new data, evaluating factors, pickling.

    Subclasses hold `factors`, a dict of Factor by code, and `columns`, a dict of Variable by name.
    """

    factors: dict[str, Factor]
    columns: dict[str, Variable]

    @property
    def variables(self) -> list[str]:
        """Columns of the table that the features use."""
        return list(self.columns)

    @property
    def levels(self) -> dict[str, list[Any]]:
        """Levels of each factor that has them."""
        return {code: list(f.levels) for code, f in self.factors.items() if f.levels is not None}

    def _observed(self, columns: Mapping[str, Column], n: int, codes: Collection[str]) -> ndarray:
        """Rows in which no column that these factors cannot do without is missing."""
        keep = np.ones(n, dtype=bool)
        for mask in raw_missing([self.factors[code].expression for code in codes], columns).values():
            keep &= ~mask
        return keep

    def _complete(
        self, columns: Mapping[str, Column], n: int, codes: Collection[str], *, any_level: bool = False
    ) -> tuple[dict[str, Value], ndarray]:
        """These factors' values on the rows where all of them have one, and those rows."""
        keep = self._observed(columns, n, codes)
        used = {code: self.factors[code].expression for code in codes}
        whole = {code: value_of(e, columns, n, any_level) for code, e in used.items() if e.across}
        names = {name for e in used.values() for name in e.columns}
        while keep.any():
            m, rows = int(keep.sum()), None if keep.all() else keep
            cut = {name: columns[name].take(rows) for name in names}
            with placed(keep):
                found = {
                    code: whole[code].take(keep) if code in whole else value_of(e, cut, m, any_level)
                    for code, e in used.items()
                }
            computed = [value for code, value in found.items() if used[code].bare not in cut]
            lost = np.logical_or.reduce([np.zeros(m, dtype=bool), *(value.missing() for value in computed)])
            if not lost.any():
                return found, keep
            keep = keep.copy()
            keep[keep] = ~lost
        return {}, keep

    def _slopes(
        self, factors: Mapping[str, Factor], columns: Mapping[str, Column], keep: ndarray, variable: str
    ) -> dict[str, ndarray]:
        """Derivatives, on some rows, of those of these factors that are numerical and use a variable."""
        return {
            code: slope(factor, columns, keep, variable)
            for code, factor in factors.items()
            if factor.levels is None and variable in factor.expression.columns
        }

    def _read(self, frame: pd.DataFrame) -> dict[str, Column]:
        columns = {}
        for name, known in self.columns.items():
            if name not in frame.columns:
                raise DataError(
                    f'the new data have no column "{name}", which the model needs. {close_to(name, frame.columns)}'
                )
            columns[name] = match(read_column(frame[name], name), known, name, self._only_labels(name))
        return columns

    def _only_labels(self, name: str) -> bool:
        """Whether a column is used as a factor only, where its levels are checked one by one."""
        uses = [f.expression for f in self.factors.values() if name in f.expression.columns]
        return all(name in (e.bare, e.categorised) for e in uses)

    def __deepcopy__(self, memo: Any) -> Self:
        return self  # nothing changes a design, and the caller's functions may refuse to be pickled

    def __copy__(self) -> Self:
        return self

    def __getstate__(self) -> dict[str, Any]:
        from glmclf.data.design.codec import pickled

        return pickled(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        from glmclf.data.design.codec import unpickled

        self.__dict__.update(unpickled(state).__dict__)


def table_of(newdata: Any) -> pd.DataFrame:
    """New data as a DataFrame; a Series is one row by name."""
    if isinstance(newdata, pd.Series):
        newdata = newdata.to_frame().T
    return as_frame(newdata, empty=True, scalars=True)


@dataclass
class Design(TableDesign):
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
    def computed(self) -> list[bool]:
        """Which columns of X hold numbers that the formula computes: of a function, or of a product."""
        widths = {code: factor.width for code, factor in self.factors.items()}
        return [made for s in self.subterms for made in [self._computes(s)] * s.size(widths)]

    def _computes(self, subterm: Subterm) -> bool:
        numbers = [code for code in subterm.factors if code not in subterm.contrasts]
        return len(numbers) > 1 or any(self.factors[code].expression.bare is None for code in numbers)

    def pieces(self, values: Mapping[str, ndarray]) -> list[Piece]:
        """X as pieces, from the codes or numbers of each factor."""
        widths = {code: factor.width for code, factor in self.factors.items()}
        return [subterm.piece(values, widths) for subterm in self.subterms]

    def matrix(self, newdata: Any, partial: bool = False) -> ndarray:
        """X for the rows of another table; a row with a missing value is NaN throughout, or where it has to be.

        Parameters
        ----------
        newdata : DataFrame, Mapping of columns or values, polars or pyarrow frame, Series, array or list
            Columns are matched by name; others are ignored. A Series is one row by name. An array or a list holds rows
            of the design itself, k numbers each.
        partial : bool
            Fill what can be filled of a row with missing values: only the columns of terms that need a missing value
            are NaN.

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
            return rows if partial else _all_or_nothing(rows)
        if partial:
            frame = table_of(newdata)
            with naming_rows(len(frame), frame.index):
                return self._partial(self._read(frame), len(frame))
        return self._filled(*self._new_pieces(newdata))

    def new_columns(self, newdata: Any) -> Dense | Cells:
        """The same rows as Columns; factors of a large table stay codes, unless a value is missing."""
        if isinstance(newdata, (list, tuple)) or (isinstance(newdata, ndarray) and not newdata.dtype.names):
            X = rows_by_place(newdata, self.xnames)
            return Dense(X if sums_up(X) else self.matrix(newdata))
        pieces, keep = self._new_pieces(newdata)
        return from_pieces(pieces, len(keep)) if keep.all() and len(keep) else Dense(self._filled(pieces, keep))

    def _new_pieces(self, newdata: Any) -> tuple[list[Piece], ndarray]:
        """X of the rows of another table that have all they need, as pieces, and which rows these are."""
        frame = table_of(newdata)
        with naming_rows(len(frame), frame.index):
            found, keep = self._complete(self._read(frame), len(frame), self.factors)
            if not keep.any():
                return [], keep
            with placed(keep):
                values = {code: self.factors[code].values(value) for code, value in found.items()}
        return self.pieces(values), keep

    def _filled(self, pieces: list[Piece], keep: ndarray) -> ndarray:
        X = dense(pieces, int(keep.sum())) if keep.any() else np.empty((0, len(self.xnames)))
        if keep.all() and len(keep):
            return X
        out = np.full((len(keep), len(self.xnames)), np.nan, order="F")
        out[keep] = X
        return out

    def _partial(self, columns: dict[str, Column], n: int) -> ndarray:
        """X with each factor evaluated on the rows that have its own variables."""
        there, values = {}, {}
        for code, factor in self.factors.items():
            found, there[code] = self._complete(columns, n, [code])
            if found:
                with placed(there[code]):
                    values[code] = scattered(factor.values(found[code]), there[code])
        widths = {code: factor.width for code, factor in self.factors.items()}
        out, start = np.full((n, len(self.xnames)), np.nan, order="F"), 0
        for subterm in self.subterms:
            keep = np.logical_and.reduce([np.ones(n, dtype=bool), *(there[code] for code in subterm.factors)])
            stop = start + subterm.size(widths)
            if keep.any():
                cut = {code: values[code][keep] for code in subterm.factors}
                out[keep, start:stop] = dense([subterm.piece(cut, widths)], int(keep.sum()))
            start = stop
        return out

    def derivative(self, newdata: Any, variable: str) -> ndarray:
        """Derivative of each column of X in a variable of the table, dX / d variable, row by row.

        Exact to rounding: through functions, transforms, products and interactions. At a kink (``np.abs(x)`` at 0, a
        knot of a broken line) it is the derivative to the right; a step, as of ``x > 3``, has derivative 0 between its
        jumps.

        Parameters
        ----------
        newdata : DataFrame, Mapping of columns or values, polars or pyarrow frame, Series
            Columns are matched by name, as in `matrix`.
        variable : str
            A column of numbers.

        Returns
        -------
        (len(newdata), k) ndarray
            float64, column-contiguous, in units of X per unit of the variable; NaN throughout a row with a missing
            value.

        Raises
        ------
        DataError
            A variable that is not in the formula or has no derivative (labels, categories, bools, factors), code whose
            value in a row depends on other rows, rows in which the derivative is not finite.
        """
        refuse_variable(variable, self.columns, self.factors.values())
        frame = table_of(newdata)
        columns, n = self._read(frame), len(frame)
        found, keep = self._complete(columns, n, self.factors)
        absent = columns[variable].missing
        if absent is not None:
            keep, kept = keep & ~absent, keep
            found = {code: value.take(keep[kept]) for code, value in found.items()}
        out = np.full((n, len(self.xnames)), np.nan, order="F")
        if keep.any():
            values = {code: self.factors[code].values(value) for code, value in found.items()}
            out[keep] = self._product_rule(values, self._slopes(self.factors, columns, keep, variable))
        return out

    def _product_rule(self, values: Mapping[str, ndarray], slopes: Mapping[str, ndarray]) -> ndarray:
        """dX, from the factors and the derivatives of those that have one."""
        widths = {code: factor.width for code, factor in self.factors.items()}
        n = len(next(iter(slopes.values())))
        X, start = np.zeros((n, len(self.xnames)), order="F"), 0
        for subterm in self.subterms:
            stop = start + subterm.size(widths)
            for code in subterm.factors:
                if code in slopes:
                    X[:, start:stop] += dense([subterm.piece({**values, code: slopes[code]}, widths)], n)
            start = stop
        return X

    def __call__(self, newdata: Any) -> tuple[None, ndarray]:
        """The pair (None, X) of `matrix`."""
        return None, self.matrix(newdata)


def _all_or_nothing(rows: ndarray) -> ndarray:
    rows[np.isnan(rows).any(axis=1)] = np.nan
    return rows


def build_design(parsed: Parsed, formula: str, factors: dict[str, Factor], contrasts: dict[str, Any]) -> Design:
    """The design that factors and their codings make, without its `columns`."""
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
) -> tuple[Design, list[Piece]]:
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
