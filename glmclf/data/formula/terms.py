"""Terms of a formula in a design: products of factors, and the columns of the table that factors need."""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.design import coding as many
from glmclf.core.design.coding import LevelCoding
from glmclf.core.design.factor import SubtermColumns
from glmclf.data.formula.factors import recode
from glmclf.data.table.frame import Column, quoted, read_column
from glmclf.data.table.numerals import numerals
from glmclf.errors import DataError, UnseenLevelError


class Subterm(NamedTuple):
    """A product of factors, each numerical or coded by one contrast matrix.

    Attributes
    ----------
    factors : tuple of str
        Codes of the factors; the leftmost varies fastest among the columns.
    contrasts : dict of (levels, columns) ndarrays or LevelCoding
        Coding of the factors that have levels.
    """

    factors: tuple[str, ...]
    contrasts: dict[str, Any]

    def piece(self, values: Mapping[str, ndarray], widths: Mapping[str, int]) -> SubtermColumns:
        """The columns of this subterm, given each factor's codes or numbers.

        Beside a factor of many levels the coding of others is numbers, so that its columns are told by its levels.
        """
        codes, contrast, numbers = None, None, None
        coded = self._coded()
        for code in self.factors:
            if code in coded:
                codes, contrast = self._cross(codes, contrast, values[code], self.contrasts[code])
            elif code in self.contrasts:
                numbers = _products(numbers, _rows_of(self.contrasts[code], values[code]))
            else:
                numbers = _products(numbers, values[code])
        num, cat = self._columns(widths, coded)
        return SubtermColumns(numbers, codes, contrast, num, cat)

    def _coded(self) -> set[str]:
        """The factors whose cells are codes: all, or that of the most levels where it has many."""
        found = [code for code, coding in self.contrasts.items() if len(coding) >= many.MANY_LEVELS]
        return {max(found, key=lambda code: len(self.contrasts[code]))} if found else set(self.contrasts)

    def _cross(
        self, codes: ndarray | None, contrast: ndarray | None, new: ndarray, coding: ndarray
    ) -> tuple[ndarray, ndarray]:
        if codes is None or contrast is None:
            return new, coding
        cells = len(contrast) * len(coding)
        crossed = new.astype(np.min_scalar_type(-cells - 1)) * len(contrast) + codes
        return crossed.astype(np.min_scalar_type(-cells - 1), copy=False), np.kron(coding, contrast)

    def size(self, widths: Mapping[str, int]) -> int:
        """Number of columns of X that the subterm makes."""
        return math.prod(self._sizes(widths))

    def _sizes(self, widths: Mapping[str, int]) -> list[int]:
        return [self.contrasts[c].shape[1] if c in self.contrasts else widths[c] for c in self.factors]

    def _columns(self, widths: Mapping[str, int], coded: set[str]) -> tuple[ndarray, ndarray]:
        """Places of the product of numbers and of the column of the crossed contrast that each column of X uses."""
        sizes = self._sizes(widths)
        num, cat = [], []
        for reverse in itertools.product(*(range(size) for size in reversed(sizes))):
            places: dict[bool, tuple[int, int]] = {True: (0, 1), False: (0, 1)}
            for code, size, j in zip(self.factors, sizes, reverse[::-1]):
                place, stride = places[code in coded]
                places[code in coded] = (place + j * stride, stride * size)
            num.append(places[False][0])
            cat.append(places[True][0])
        return np.array(num, dtype=np.intp), np.array(cat, dtype=np.intp)

    def spans_constant(self, widths: Mapping[str, int]) -> bool:
        """Whether the columns of this subterm add up to a constant by its coding."""
        if any(code not in self.contrasts for code in self.factors):
            return False
        for coding in self.contrasts.values():  # a product of spans holds 1 if each of them does
            if isinstance(coding, LevelCoding):
                if not coding.spans_constant():
                    return False
                continue
            if (coding.sum(axis=1) == 1.0).all():
                continue
            solution = np.linalg.lstsq(coding, np.ones(len(coding)), rcond=None)[0]
            if not np.allclose(coding @ solution, 1.0, atol=1e-10):
                return False
        return True


def margins(subterms: list[Subterm], widths: Mapping[str, int]) -> list[ndarray | None]:
    """Places in X, for each subterm in which a factor of many levels has a column less than levels, and not one for
    each of the others, of the columns of the subterm that is like it but for the factor; None for others."""
    starts = np.cumsum([0, *(s.size(widths) for s in subterms)]).tolist()
    return [_margin(s, subterms, starts, widths) for s in subterms]


def _margin(s: Subterm, subterms: list[Subterm], starts: list[int], widths: Mapping[str, int]) -> ndarray | None:
    for code, coding in s.contrasts.items():
        lacks_one = len(coding) >= many.MANY_LEVELS and coding.shape[1] == len(coding) - 1
        if lacks_one and getattr(coding, "opposite", 0) is not None and s._coded() == {code}:
            rest = tuple(c for c in s.factors if c != code)
            for other, start in zip(subterms, starts, strict=False):
                if other.factors == rest and all(_same(other.contrasts[c], s.contrasts[c]) for c in other.contrasts):
                    return np.arange(start, start + other.size(widths))
    return None


def _same(a: Any, b: Any) -> bool:
    """Whether two codings of a factor are the same."""
    if isinstance(a, LevelCoding) or isinstance(b, LevelCoding):
        return type(a) is type(b) and all(np.array_equal(x, vars(b)[name]) for name, x in vars(a).items())
    return np.array_equal(a, b)


def _rows_of(coding: Any, codes: ndarray) -> ndarray:
    """Rows of the coding of cells, (n, width)."""
    if not isinstance(coding, LevelCoding):
        return np.asfortranarray(coding[codes])
    out = np.zeros((len(codes), coding.width), order="F")
    coding.fill(out, codes)
    return out


def _products(numbers: ndarray | None, new: ndarray) -> ndarray:
    if numbers is None:
        return new if new.flags.f_contiguous else np.asfortranarray(new)
    out = np.empty((len(new), numbers.shape[1] * new.shape[1]), order="F")
    for b in range(new.shape[1]):
        for a in range(numbers.shape[1]):
            np.multiply(numbers[:, a], new[:, b], out=out[:, b * numbers.shape[1] + a])
    return out


class Variable(NamedTuple):
    """Kind of one column of the training rows, and the categories of a categorical one."""

    kind: str
    categories: list[Any] | None = None
    ordered: bool = False


def are_plain(levels: Iterable[Any]) -> bool:
    """Whether levels are text, numbers or truth values, which a column of them is read as."""
    return all(isinstance(level, (str, bytes, numbers.Real, np.bool_)) for level in levels)


def by_value(series: pd.Series, levels: list[Any]) -> pd.Series:
    """A column of other objects (dates, intervals, tuples) as a categorical of the levels that they equal, and more."""
    values = series.astype(object)
    known = [value for value in values[series.notna()] if isinstance(value, Hashable)]
    categories = pd.Index(list(dict.fromkeys([*levels, *known])), dtype=object, tupleize_cols=False)
    place = {level: i for i, level in enumerate(categories)}
    codes = [place.get(value, -1) if isinstance(value, Hashable) else -1 for value in values]
    return pd.Series(pd.Categorical.from_codes(codes, categories=categories), index=series.index)


def match(column: Column, variable: Variable, name: str, only_labels: bool) -> Column:
    """A column of new data as the kind it was in training, matched by value."""
    empty = column.missing is not None and column.missing.all()
    labels = isinstance(column.values, pd.Categorical)
    if empty or column.kind == variable.kind == "label":
        return column
    if variable.kind in ("number", "bool"):
        column = _unlabelled(column) if labels else column
        if isinstance(column.values, pd.Categorical) and variable.kind == "number":
            raise DataError(_no_numbers(column.values.categories.tolist(), name))
        if variable.kind == "number" and column.kind == "bool":
            return Column(column.values.astype(np.int64), column.missing, "number")
        if variable.kind == "bool" and column.kind == "number" and np.isin(column.values, (0, 1)).all():
            return Column(column.values.astype(bool), column.missing, "bool")
        return column
    if variable.kind in ("label", "category") and not only_labels:
        return _matched_labels(column, variable, name)
    if (variable.kind == "other") != (column.kind == "other"):
        raise DataError(
            f'column "{name}" of the new data has dtype {_dtype(column)}, unlike that of the training data.'
        )
    return column


def _no_numbers(levels: list[Any], name: str) -> str:
    """What a message says of labels where a model was fitted on numbers."""
    found = numerals(levels)
    how = "" if found is None else f" {found.said(name)}."
    return f'column "{name}" of the new data holds labels ({quoted(levels, 3)}); the model was fitted on numbers.{how}'


def _dtype(column: Column) -> str:
    return str(getattr(column.values, "dtype", type(column.values).__name__))


def _unlabelled(column: Column) -> Column:
    """Numbers or bools behind a categorical column, where its categories are such."""
    inner = read_column(pd.Series(column.values.categories.tolist(), dtype=object), "categories")
    if inner.kind not in ("number", "bool"):
        return column
    return Column(inner.values[np.asarray(column.values.codes)], column.missing, inner.kind)


def _matched_labels(column: Column, variable: Variable, name: str) -> Column:
    """Labels inside a larger expression: the training categories, or at least labels."""
    if not isinstance(column.values, pd.Categorical):
        if variable.categories is None:
            raise DataError(f'column "{name}" of the new data holds {_dtype(column)}; the model was fitted on labels.')
        values = column.marked()
        codes, levels = pd.factorize(values, sort=True)
        column = Column(pd.Categorical.from_codes(codes, categories=levels), column.missing, "category")
    if variable.categories is None:
        return column
    codes, unknown = recode(column.values, variable.categories)
    if unknown:
        raise UnseenLevelError(
            f'"{name}" has levels {quoted(unknown)}, unknown to the model; it knows {quoted(variable.categories)}.'
        )
    dtype = pd.CategoricalDtype(pd.Index(variable.categories), variable.ordered)
    return Column(pd.Categorical.from_codes(codes, dtype=dtype), column.missing, "category")
