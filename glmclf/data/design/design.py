"""Design: how rows of a table become rows of X, for the training rows and for any others.

`glmclf.data.formula.parse` parses and chooses codings, `glmclf.data.reading.bind` and
`glmclf.data.formula.factors` memorise and evaluate factors on complete rows, and X is described as `SubtermColumns`
objects, one a subterm (`glmclf.data.formula.terms`).
"""

from __future__ import annotations

import importlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.design.arrow import spine
from glmclf.core.design.coding import of_record, to_record
from glmclf.core.design.dense import Dense
from glmclf.core.design.factor import FactorColumns, SubtermColumns, expand
from glmclf.core.design.pieces import from_pieces
from glmclf.core.design.recoding import recoded
from glmclf.data.derivatives.design import refuse_variable, slope
from glmclf.data.design.arrays import rows_by_place, sums_up
from glmclf.data.design.records import VERSION, check_version
from glmclf.data.formula.evaluate import label_columns, raw_missing, scattered, value_of
from glmclf.data.formula.factors import Expression, Factor, Value
from glmclf.data.formula.parse import Parsed, coding_of, codings
from glmclf.data.formula.terms import Subterm, Variable, are_plain, by_value, margins, match
from glmclf.data.formula.undefined import COUNTS_AS_MISSING, NamedColumns, not_finite_rows, say_undefined
from glmclf.data.table.frame import Column, as_frame, close_to, naming_rows, placed, read_column
from glmclf.errors import DataError

__all__ = ["Design", "TableDesign", "build_design", "table_of"]


# -------------------------------------------------------------------------------------------------------- design
class TableDesign:
    """Base of the designs of models of a table: reading new data, evaluating factors, pickling.

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
        """Rows in which no column is missing that the factors in `codes` cannot do without."""
        keep = np.ones(n, dtype=bool)
        for mask in raw_missing([self.factors[code].expression for code in codes], columns).values():
            keep &= ~mask
        return keep

    def _complete(
        self, columns: Mapping[str, Column], n: int, codes: Collection[str], *, any_level: bool = False
    ) -> tuple[dict[str, Value], ndarray]:
        """Values of the factors in `codes` on the rows where all of them have one, and a mask of these rows."""
        keep = self._observed(columns, n, codes)
        used = {code: self.factors[code].expression for code in codes}
        for e in used.values():
            e.check_seen(columns)
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
            computed = {code: not_finite_rows(v) for code, v in found.items() if used[code].bare not in cut}
            lost = np.logical_or.reduce([np.zeros(m, dtype=bool), *computed.values()])
            if not lost.any():
                return found, keep
            for code, rows_lost in computed.items():
                whole_rows = np.zeros(n, dtype=bool)
                whole_rows[keep] = rows_lost
                self._say_undefined(used[code], columns, whole_rows)
            keep = keep.copy()
            keep[keep] = ~lost
        return {}, keep

    def _say_undefined(self, e: Expression, columns: Mapping[str, Column], lost: ndarray) -> None:
        if lost.any() and isinstance(columns, NamedColumns):
            say_undefined(e, columns, lost, columns.index, COUNTS_AS_MISSING)

    def _slopes(
        self, factors: Mapping[str, Factor], columns: Mapping[str, Column], keep: ndarray, variable: str
    ) -> dict[str, ndarray]:
        """Derivatives in a variable, on some rows, of the factors that are numerical and use the variable."""
        return {
            code: slope(factor, columns, keep, variable)
            for code, factor in factors.items()
            if factor.levels is None and variable in factor.expression.columns
        }

    def _read(self, frame: pd.DataFrame) -> dict[str, Column]:
        columns, labels, strange = NamedColumns(frame.index), self.label_columns, self._strange_levels
        for name, known in self.columns.items():
            if name not in frame.columns:
                raise DataError(
                    f'the new data have no column "{name}", which the model needs. {close_to(name, frame.columns)}'
                )
            series = frame[name]
            if name in strange and known.kind != "other" and not isinstance(series.dtype, pd.CategoricalDtype):
                series = by_value(series, strange[name])
            columns[name] = match(read_column(series, name), known, name, name in labels)
        return columns

    @property
    def _strange_levels(self) -> dict[str, list[Any]]:
        """Levels that are neither text nor numbers, by the column that is a factor with these."""
        factors = [(f.expression, f.levels) for f in self.factors.values() if f.levels is not None]
        named = {e.bare or e.categorised: levels for e, levels in factors}
        return {name: levels for name, levels in named.items() if name is not None and not are_plain(levels)}

    @property
    def label_columns(self) -> set[str]:
        """Columns that are used as factors only."""
        return label_columns(f.expression for f in self.factors.values())

    def __deepcopy__(self, memo: Any) -> Self:
        return self  # nothing changes a design, and the caller's functions may refuse to be pickled

    def __copy__(self) -> Self:
        return self

    def to_record(self) -> dict[str, Any]:
        """The design as plain Python objects and arrays, without the caller's functions."""
        raise NotImplementedError

    @classmethod
    def from_record(cls, record: Mapping[str, Any], borrowed: Mapping[str, Any], *, safe: bool) -> Self:
        """The design of which `to_record` gave the record; the arguments are those of `Factor.from_record`."""
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        borrowed = {name: kept for f in self.factors.values() for name, kept in f.references().items()}
        return {"version": VERSION, "record": self.to_record(), "borrowed": borrowed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        check_version(state, "design")
        borrowed = {
            name: importlib.import_module(value) if kind == "module" else value
            for name, (kind, value) in state["borrowed"].items()
        }
        self.__dict__.update(self.from_record(state["record"], borrowed, safe=False).__dict__)


def table_record(design: Any) -> dict[str, Any]:
    """Record of a design of a table: the fields that all such designs have."""
    return {
        "formula": design.formula,
        "endog_name": design.endog_name,
        "columns": [[name, v.kind, v.categories, v.ordered] for name, v in design.columns.items()],
        "factors": [factor.to_record() for factor in design.factors.values()],
    }


def of_table_record(record: Mapping[str, Any], borrowed: Mapping[str, Any], safe: bool) -> dict[str, Any]:
    """Fields of a design from the record that `table_record` made."""
    columns = {name: Variable(kind, categories, ordered) for name, kind, categories, ordered in record["columns"]}
    factors = {f["code"]: Factor.from_record(f, columns, borrowed, safe=safe) for f in record["factors"]}
    return {"formula": record["formula"], "endog_name": record["endog_name"], "factors": factors, "columns": columns}


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

    def to_record(self) -> dict[str, Any]:
        """The design as plain Python objects and arrays, without the caller's functions."""
        return {
            "kind": "formula",
            **table_record(self),
            "xnames": list(self.xnames),
            "terms": [[name, s.start, s.stop] for name, s in self.terms.items()],
            "k_constant": self.k_constant,
            "subterms": [
                {"factors": list(s.factors), "contrasts": [[code, to_record(c)] for code, c in s.contrasts.items()]}
                for s in self.subterms
            ],
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any], borrowed: Mapping[str, Any], *, safe: bool) -> Design:
        """The design of which `to_record` gave the record; the arguments are those of `Factor.from_record`."""
        shared = of_table_record(record, borrowed, safe)
        return cls(
            xnames=record["xnames"],
            terms={name: slice(start, stop) for name, start, stop in record["terms"]},
            k_constant=record["k_constant"],
            subterms=[
                Subterm(tuple(s["factors"]), {code: of_record(c) for code, c in s["contrasts"]})
                for s in record["subterms"]
            ],
            **shared,
        )

    @property
    def computed(self) -> list[bool]:
        """Whether each column of X holds numbers that the formula computes, by a function or a product."""
        widths = {code: factor.width for code, factor in self.factors.items()}
        return [made for s in self.subterms for made in [self._computes(s)] * s.size(widths)]

    def _computes(self, subterm: Subterm) -> bool:
        numbers = [code for code in subterm.factors if code not in subterm.contrasts]
        return len(numbers) > 1 or any(self.factors[code].expression.bare is None for code in numbers)

    def pieces(self, values: Mapping[str, ndarray]) -> list[SubtermColumns]:
        """X as pieces, from the codes or numbers of each factor."""
        widths = {code: factor.width for code, factor in self.factors.items()}
        found = [subterm.piece(values, widths) for subterm in self.subterms]
        return [p._replace(margin=at) for p, at in zip(found, margins(self.subterms, widths), strict=True)]

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

    def new_columns(self, newdata: Any) -> Dense | FactorColumns:
        """X for the rows of another table as Columns; factors of a large table stay codes,
        unless a value is missing."""
        if isinstance(newdata, (list, tuple)) or (isinstance(newdata, ndarray) and not newdata.dtype.names):
            X = rows_by_place(newdata, self.xnames)
            return Dense(X if sums_up(X) else self.matrix(newdata))
        pieces, keep = self._new_pieces(newdata)
        return from_pieces(pieces, len(keep)) if keep.all() and len(keep) else Dense(self._filled(pieces, keep))

    def level_columns(self, newdata: Any) -> Any:
        """X for the rows of another table where a factor has many levels, and no value is missing; else None."""
        pieces, keep = self._new_pieces(newdata)
        if not keep.all() or not len(keep) or (recoded(pieces) is None and spine(pieces) is None):
            return None
        return from_pieces(pieces, len(keep))

    def _new_pieces(self, newdata: Any) -> tuple[list[SubtermColumns], ndarray]:
        """X as pieces for the complete rows of another table, and a mask of these rows."""
        frame = table_of(newdata)
        with naming_rows(len(frame), frame.index):
            found, keep = self._complete(self._read(frame), len(frame), self.factors)
            if not keep.any():
                return [], keep
            with placed(keep):
                values = {code: self.factors[code].values(value) for code, value in found.items()}
        return self.pieces(values), keep

    def complete(self, newdata: Any) -> ndarray:
        """Mask of the rows of another table in which all columns of X have a value, none of which is expanded."""
        pieces, keep = self._new_pieces(newdata)
        if not keep.any():
            return keep
        there = np.ones(int(keep.sum()), dtype=bool)
        for piece in pieces:
            if piece.numbers is not None:
                there &= ~np.isnan(piece.numbers).any(axis=1)
        keep = keep.copy()
        keep[keep] = there
        return keep

    def _filled(self, pieces: list[SubtermColumns], keep: ndarray) -> ndarray:
        X = expand(pieces, int(keep.sum())) if keep.any() else np.empty((0, len(self.xnames)))
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
                out[keep, start:stop] = expand([subterm.piece(cut, widths)], int(keep.sum()))
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
        moving, pieces, keep = self._moving(newdata, variable)
        out = np.full((len(keep), len(self.xnames)), np.nan, order="F")
        if keep.any():
            out[keep] = 0.0
            out[np.ix_(keep, moving)] = expand(pieces, int(keep.sum()))
        return out

    def moving_columns(self, newdata: Any, variable: str) -> tuple[ndarray, Dense | FactorColumns]:
        """The columns of X that change with a variable, by their places, and their derivatives as Columns; NaN in rows
        with a missing value."""
        moving, pieces, keep = self._moving(newdata, variable)
        if keep.all() and len(keep):
            return moving, from_pieces(pieces, len(keep))
        out = np.full((len(keep), len(moving)), np.nan)
        out[keep] = expand(pieces, int(keep.sum()))
        return moving, Dense(out)

    def _moving(self, newdata: Any, variable: str) -> tuple[ndarray, list[SubtermColumns], ndarray]:
        """The columns of X that change with a variable, the pieces of their derivatives, and the complete rows."""
        refuse_variable(variable, self.columns, self.factors.values())
        frame = table_of(newdata)
        columns, n = self._read(frame), len(frame)
        found, keep = self._complete(columns, n, self.factors)
        absent = columns[variable].missing
        if absent is not None:
            keep, kept = keep & ~absent, keep
            found = {code: value.take(keep[kept]) for code, value in found.items()}
        if not keep.any():
            return np.zeros(0, dtype=np.intp), [], keep
        values = {code: self.factors[code].values(value) for code, value in found.items()}
        return *self._product_rule(values, self._slopes(self.factors, columns, keep, variable)), keep

    def _product_rule(
        self, values: Mapping[str, ndarray], slopes: Mapping[str, ndarray]
    ) -> tuple[ndarray, list[SubtermColumns]]:
        """Columns that change and the pieces of their derivatives, from the factors and the derivatives of those that
        have one."""
        widths = {code: factor.width for code, factor in self.factors.items()}
        moving, pieces, start = [np.zeros(0, dtype=np.intp)], [], 0
        for subterm, margin in zip(self.subterms, margins(self.subterms, widths), strict=True):
            stop = start + subterm.size(widths)
            mine = [code for code in subterm.factors if code in slopes]
            parts: list[Any] = [subterm.piece({**values, code: slopes[code]}, widths) for code in mine]
            if parts:
                moving.append(np.arange(start, stop))
                pieces.append(parts[0]._replace(numbers=sum(part.numbers for part in parts), margin=margin))
            start = stop
        columns = np.concatenate(moving)
        place = np.full(start, -1)
        place[columns] = np.arange(len(columns))
        own = (p if p.margin is None else p._replace(margin=place[p.margin]) for p in pieces)
        return columns, list(own)

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
            {f.name(): coding_of(m, f.name()) for f, m in sub.contrast_matrices.items()},
        )
        for subs in info.term_codings.values()
        for sub in subs
    ]
    widths = {code: factor.width for code, factor in factors.items()}
    constant = int(any(subterm.spans_constant(widths) for subterm in subterms))
    terms = {name: s for name, s in info.term_name_slices.items()}
    return Design(list(info.column_names), terms, constant, formula, " + ".join(parsed.left), factors, subterms)
