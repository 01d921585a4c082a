"""Features of a table, one by one, for models with a distribution for each feature.

The terms of a formula are evaluated as factors, not as columns of a design: ``x`` is a number, ``g`` has levels and
``a:b`` is one table over the crossed levels. A feature may be missing in rows in which others are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.checks import check_choice
from glmclf.core.naive_bayes.family import is_sparse, written_out
from glmclf.core.naive_bayes.gaussian import chunk
from glmclf.data.derivatives.design import refuse_variable
from glmclf.data.design.arrays import Dropped, array_columns, column_names, is_frame, rows_by_place
from glmclf.data.design.design import TableDesign, of_table_record, table_of, table_record
from glmclf.data.formula.evaluate import scattered
from glmclf.data.formula.factors import Factor
from glmclf.data.formula.terms import Variable
from glmclf.data.table.frame import Column, naming_rows, placed, quoted
from glmclf.errors import DataError, UnseenLevelError

MISSING_LEVEL = "(missing)"
IMPOSSIBLE = -2  # code of the first level of probability 0; others are below it


# ------------------------------------------------------------------------------------------------------- feature
@dataclass(frozen=True)
class Feature:
    """One factor of the product that is the density of a row.

    Attributes
    ----------
    name : str
        The term, the column, or ``bs(x)[0]``.
    term : str
        The term it belongs to: several features for a factor of several columns, else one.
    family : str
        Its distribution given the class.
    factors : tuple of str
        Codes of the formula's factors that it is made of: several for a table or a block of counts.
    columns : tuple of str
        Columns of the table that it uses.
    xnames : tuple of str
        Names of its statistics T, the columns of the implied logit.
    levels : tuple or None
        What the codes of a table stand for (tuples where factors are crossed), each with at least one row; the columns
        of a block of counts; (False, True) of a bool.
    sizes : tuple of int
        Levels of each factor of a table; their product may exceed `cells`.
    place : int
        Which column of a factor that has several.
    variables : tuple of str or None
        The columns whose values the feature, or each of its factors, has as they are; None where it is computed.
    observed : tuple of int or None
        Where factors are crossed: which places of the grid of `sizes` (the last factor fastest) the levels are, in
        increasing order; None where every place has a row.
    """

    name: str
    term: str
    family: str
    factors: tuple[str, ...]
    columns: tuple[str, ...]
    xnames: tuple[str, ...]
    levels: tuple[Any, ...] | None = None
    sizes: tuple[int, ...] = ()
    place: int = 0
    variables: tuple[str, ...] | None = None
    observed: tuple[int, ...] | None = None

    @property
    def kind(self) -> str:
        """Kind of the feature's values: "numbers" (n,), "codes" (n,), or "counts" (n, cells)."""
        return {"categorical": "codes", "multinomial": "counts"}.get(self.family, "numbers")

    @property
    def cells(self) -> int:
        """Number of cells: levels of a table, columns of a block of counts, otherwise 1."""
        return len(self.levels or ()) if self.kind != "numbers" else 1

    @property
    def width(self) -> int:
        """Number of statistics T of the feature."""
        return len(self.xnames)

    def word(self, code: int) -> str:
        """Name of a level of a table, of a column of a block, or of 0 or 1."""
        return level_word((self.levels or (0, 1))[code], len(self.sizes) > 1)

    def values(self, coded: Mapping[str, ndarray]) -> ndarray:
        """The feature's values, from the codes or numbers of each factor; missing, or an unseen cell: NaN, or -1; of
        probability 0: `IMPOSSIBLE` or less."""
        parts = [coded[code] for code in self.factors]
        if self.kind == "counts":
            return np.column_stack([_as_numbers(part)[:, 0] for part in parts])
        if self.kind == "numbers":
            return _as_numbers(parts[0])[:, self.place]
        codes = grid_codes(parts, self.sizes)
        if self.observed is None:
            return codes
        known = np.array(self.observed)
        place = np.minimum(np.searchsorted(known, codes), len(known) - 1)
        return np.where(known[place] == codes, place, np.minimum(codes, -1))

    def moved(self, slopes: Mapping[str, ndarray]) -> ndarray:
        """Derivatives of the feature's values, from those of each factor."""
        if self.kind == "numbers":
            return slopes[self.factors[0]][:, self.place]
        whole = np.column_stack([slopes[code][:, 0] for code in self.factors])
        return whole if self.kind == "counts" else whole.sum(axis=1)  # 0, or NaN where one is missing

    def unseen(self, coded: Mapping[str, ndarray]) -> list[tuple[int, ...]]:
        """Combinations of the factors' codes that some row has and the table has not."""
        if self.observed is None:
            return []
        codes = grid_codes([coded[code] for code in self.factors], self.sizes)
        found = np.setdiff1d(codes[codes >= 0], self.observed)
        return list(zip(*(axis.tolist() for axis in np.unravel_index(found, self.sizes))))


def grid_codes(parts: Sequence[ndarray], sizes: Sequence[int]) -> ndarray:
    """Codes of crossed levels, the last factor fastest; -1 where one is missing, else `IMPOSSIBLE` where one is."""
    codes = parts[0]
    for part, size in zip(parts[1:], sizes[1:]):
        neither = np.where((codes == -1) | (part == -1), -1, IMPOSSIBLE)
        codes = np.where((codes < 0) | (part < 0), neither, codes.astype(np.intp) * size + part)
    return codes


def level_word(level: Any, joint: bool) -> str:
    """A level as a name; those of crossed factors are joined by a colon, in quotes where they would be misread.

    Examples
    --------
    >>> level_word(("a", "b:c"), True), level_word(("a:b", "c"), True), level_word("a:b", False)
    ("a:'b:c'", "'a:b':c", 'a:b')
    """
    if not joint:
        return str(level)
    words = [str(label) for label in level]
    return ":".join(repr(w) if ":" in w or w[:1] in ("'", '"') else w for w in words)


def _as_numbers(part: ndarray) -> ndarray:
    """Numbers of a factor as they are; the codes of a bool as 0, 1 and NaN."""
    return part if part.ndim == 2 else np.where(part < 0, np.nan, part)[:, None]


@dataclass(frozen=True)
class FeatureValues:
    """The features of the rows of a fit, each as it is: numbers, codes of levels, or counts.

    Attributes
    ----------
    values : list of ndarrays
        One a feature: (n,) numbers with NaN, (n,) codes with -1, (n, cells) counts. Of a scipy.sparse array csr arrays
        of neighbouring columns of a family.
    """

    values: list[Any]

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows, and of columns if the features were side by side."""
        return self.values[0].shape[0], sum(1 if v.ndim == 1 else v.shape[1] for v in self.values)

    @property
    def block_size(self) -> int:
        """Number of rows that stay in a cache."""
        return chunk(max(1, sum(v.nnz // max(v.shape[0], 1) if is_sparse(v) else v[:1].size for v in self.values)))

    def __getitem__(self, rows: Any) -> FeatureValues:
        return self.subset(rows)

    def subset(self, rows: Any) -> FeatureValues:
        """Feature values of some rows."""
        return FeatureValues([v[rows] for v in self.values])

    def toarray(self) -> ndarray:
        """The features side by side, NaN where missing."""
        values = [written_out(v) for v in self.values]
        return np.column_stack([np.where(v < 0, np.nan, v) if v.dtype.kind == "i" else v for v in values])


# -------------------------------------------------------------------------------------------------------- design
@dataclass
class FeatureDesign(TableDesign):
    """Rows of a table to the values of features, as a formula or arrays and the training rows fixed it.

    Attributes
    ----------
    features : list of Feature
        In the order of the formula, or of the columns of an array.
    formula : str or None
        The formula; None for arrays.
    endog_name : str
        Name of the response.
    factors : dict of Factor
        What is evaluated, by code.
    columns : dict of Variable
        Columns of the table.
    missing : str
        As the training rows were read: with "level" a missing value is a level of the tables that had one.
    dropped : Dropped or None
        The constant column of an array that was left out.
    """

    features: list[Feature]
    formula: str | None
    endog_name: str
    factors: dict[str, Factor]
    columns: dict[str, Variable]
    missing: str = "skip"
    dropped: Dropped | None = None

    k_constant = 1

    def to_record(self) -> dict[str, Any]:
        """The design as plain Python objects and arrays, without the caller's functions."""
        return {
            "kind": "features",
            **table_record(self),
            "features": [dict(vars(feature)) for feature in self.features],
            "missing": self.missing,
            "dropped": None if self.dropped is None else list(self.dropped),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any], borrowed: Mapping[str, Any], *, safe: bool) -> FeatureDesign:
        """The design of which `to_record` gave the record; the arguments are those of `Factor.from_record`."""
        shared = of_table_record(record, borrowed, safe)
        features = [Feature(**f) for f in record["features"]]
        return cls(features=features, missing=record["missing"], dropped=Dropped.of_record(record), **shared)

    @property
    def xnames(self) -> list[str]:
        """Columns of the implied logit: Intercept, then the statistics of each feature."""
        return ["Intercept", *(name for feature in self.features for name in feature.xnames)]

    @property
    def terms(self) -> dict[str, slice]:
        """Places in `xnames` of each term."""
        places, start = {"Intercept": slice(0, 1)}, 1
        for feature in self.features:
            stop = start + feature.width
            places[feature.term] = slice(places[feature.term].start if feature.term in places else start, stop)
            start = stop
        return places

    def values(self, newdata: Any, unknown: str = "raise") -> list[ndarray]:
        """The features of other rows.

        Parameters
        ----------
        newdata : DataFrame, Mapping of columns or values, polars or pyarrow frame, Series
            Columns are matched by name. A design of arrays takes arrays as well, columns in the order of training.
        unknown : {"raise", "missing"}
            What a level is that the training rows did not have: an error, or a missing value.

        Returns
        -------
        list of ndarrays
            One a feature: (n,) float64 numbers with NaN, (n,) integer codes with -1, (n, cells) counts with NaN.

        Raises
        ------
        UnseenLevelError
            Naming the factor, the level and the known ones; or the combination of levels that a joint table has not.
        DataError
            A column that is not there, or holds another kind of values.
        """
        check_choice("unknown", unknown, ("raise", "missing"))
        columns, n = self._columns_of(newdata)
        with naming_rows(n, table_of(newdata).index if self.formula is not None else None):
            return self.of_columns(columns, n, unknown)

    def of_columns(self, columns: Mapping[str, Column], n: int, unknown: str = "raise") -> list[ndarray]:
        """Features of n rows whose columns were read."""
        coded = {code: self._coded(code, columns, n, unknown == "missing") for code in self.factors}
        if unknown == "raise":
            for feature in self.features:
                self._refuse_unseen(feature, coded)
        return [feature.values(coded) for feature in self.features]

    def derivative(self, newdata: Any, variable: str) -> list[ndarray]:
        """Derivatives of the features in a variable of the table, row by row, as `values` has the features.

        Parameters
        ----------
        newdata : DataFrame, Mapping of columns or values, polars or pyarrow frame, Series
            As in `values`.
        variable : str
            A column of numbers.

        Returns
        -------
        list of ndarrays
            One a feature: (n,) derivatives of numbers, (n, cells) of counts; (n,) zeros for codes, which an
            infinitesimal change leaves as they are. float64; NaN where the feature is missing. At a kink the
            derivative to the right.

        Raises
        ------
        DataError
            As `Design.derivative`.
        """
        refuse_variable(variable, self.columns, self.factors.values())
        columns, n = self._columns_of(newdata)
        slopes = {code: self._slope(code, columns, n, variable) for code in self.factors}
        return [feature.moved(slopes) for feature in self.features]

    def _slope(self, code: str, columns: Mapping[str, Column], n: int, variable: str) -> ndarray:
        """Derivative of one factor on the rows that have it, 0 for levels, and NaN in the others."""
        factor = self.factors[code]
        coded = self._coded(code, columns, n, True)
        numerical = factor.levels is None
        there = ~np.isnan(coded).any(axis=1) if numerical else coded >= 0
        absent = columns[variable].missing
        if absent is not None and variable in factor.expression.columns:
            there &= ~absent
        out = np.where(there[:, None], 0.0, np.full((n, factor.width or 1), np.nan))
        if numerical and variable in factor.expression.columns and there.any():
            out[there] = self._slopes({code: factor}, columns, there, variable)[code]
        return out

    def _refuse_unseen(self, feature: Feature, coded: Mapping[str, ndarray]) -> None:
        """Raise UnseenLevelError where a row has a cell that no training row had."""
        levels = [self.factors[code].levels or [] for code in feature.factors]
        cells = [tuple(own[i] for own, i in zip(levels, places)) for places in feature.unseen(coded)]
        # a missing value is missing, not unseen, where no training row has that cell
        cells = [cell for cell in cells if not (self.missing == "level" and MISSING_LEVEL in map(str, cell))]
        if not cells:
            return
        plural = "combinations" if len(cells) > 1 else "combination"
        known = quoted(feature.word(code) for code in range(feature.cells))
        raise UnseenLevelError(
            f'"{feature.name}" has the {plural} {quoted(level_word(cell, True) for cell in cells)}, which no row had '
            f"when the model was fitted; it knows {known}."
        )

    def _coded(self, code: str, columns: Mapping[str, Column], n: int, any_level: bool) -> ndarray:
        """Values of one factor on all rows, with what stands for missing in the rows without one."""
        factor = self.factors[code]
        found, keep = self._complete(columns, n, [code], any_level=any_level)
        if not found:
            some = np.full((0, factor.width), np.nan) if factor.levels is None else np.zeros(0, dtype=np.intp)
        else:
            with placed(keep):
                some = factor.values(found[code], any_level=any_level)
        return everywhere(some, keep, factor, self.missing)

    def _columns_of(self, newdata: Any) -> tuple[dict[str, Column], int]:
        """Columns of new data that the features use, and the number of rows."""
        if self.formula is not None:
            if isinstance(newdata, (list, tuple)) or (isinstance(newdata, ndarray) and not newdata.dtype.names):
                raise DataError(
                    f"the model was fitted by a formula and needs a table with the columns {quoted(self.columns)}; "
                    f"found {type(newdata).__name__}, which has no names."
                )
            frame = table_of(newdata)
            return self._read(frame), len(frame)
        names = list(self.columns)
        unnamed = isinstance(newdata, pd.Series) and not set(names) <= {str(label) for label in newdata.index}
        if not unnamed and (isinstance(newdata, (Mapping, pd.Series)) or is_frame(newdata)):
            frame = table_of(newdata)
            given = column_names(frame)
            by_place = len(given) == len(names) and not set(given) & set(names)
            return self._read(frame.set_axis(names if by_place else given, axis=1)), len(frame)
        if all(column.kind == "number" for column in self.columns.values()):
            X = rows_by_place(newdata, names, self.dropped)
            return array_columns(X, names), len(X)
        frame = pd.DataFrame(self._rows_of(newdata, names), columns=names)
        return self._read(frame), len(frame)

    def _rows_of(self, newdata: Any, names: list[str]) -> ndarray:
        """Rows of new data that hold labels and no names, by place."""
        rows = np.atleast_2d(np.asarray(newdata, dtype=object))
        place = None if self.dropped is None else self.dropped.place
        if place is not None and rows.ndim == 2 and rows.shape[1] == len(names) + 1:
            rows = np.delete(rows, place, axis=1)
        if rows.ndim != 2 or rows.shape[1] != len(names):
            raise DataError(
                f"the new data have shape {np.shape(newdata)}; the model has {len(names)} columns ({quoted(names)})."
            )
        return rows


def everywhere(some: ndarray, keep: ndarray, factor: Factor, missing: str) -> ndarray:
    """A factor's values on some rows in all of them; missing ones are NaN, -1 or the level for missing values."""
    if factor.levels is None:
        return scattered(some, keep)
    out = scattered(some.astype(np.intp, copy=False), keep)
    if missing == "level" and factor.levels[-1:] == [MISSING_LEVEL]:
        out[~keep] = len(factor.levels) - 1
    return out
