"""Features of terms: each factor is fixed once and coded on the kept rows; each term becomes features of a family."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy import ndarray
from patsy import Treatment

from glmclf.data.design.feature_design import MISSING_LEVEL, Feature, everywhere, grid_codes, level_word
from glmclf.data.design.feature_terms import (
    MAX_TABLE_CELLS,
    NUMBER_FAMILIES,
    FactorRows,
    Families,
    Term,
    fitting,
    plain_columns,
)
from glmclf.data.formula import expressions
from glmclf.data.formula.factors import BaseLevel, Factor, Value, as_value, fit_factor
from glmclf.data.reading.settle import Reading
from glmclf.data.table.frame import quoted, row_labels
from glmclf.errors import DataError, FormulaError, MissingDataError


class Builder:
    """Features of terms, one after another; each factor is fixed once, and coded on the kept rows.

    Parameters
    ----------
    reading : Reading
        The table.
    found : dict of FactorRows
        Each factor's values.
    families : Families
        What the user asked for.
    missing : str
        With "level" a missing label is a level, and numbers must not be missing.
    notes : list of str
        Takes note of levels left out.
    """

    def __init__(
        self, reading: Reading, found: Mapping[str, FactorRows], families: Families, missing: str, notes: list[str]
    ):
        self.reading, self.found, self.families, self.missing, self.notes = reading, found, families, missing, notes
        self.factors: dict[str, Factor] = {}
        self.coded: dict[str, ndarray] = {}

    def features(self, terms: list[Term]) -> list[Feature]:
        """The features of all terms."""
        features = [feature for term in terms for feature in self._features(term)]
        self.families.check_used(features)
        return features

    def _features(self, term: Term) -> list[Feature]:
        if term.block:
            return [self._counts(term)]
        if len(term.codes) > 1:
            self._check_interaction(term)
            return self._table(term)
        code = term.codes[0]
        value, columns = self.found[code].value, self.reading.bound[code].columns
        if not value.labelled and value.data.shape[1] > 1:
            return self._several(term, value.data.shape[1])
        asked = self.families.of(term.name, term, columns)
        kinds, what = _kinds(value, code)
        family = fitting(asked, kinds, term.name, what)
        declared = asked is not None or value.labelled  # 0 and 1, whichever of them the rows have
        if family == "bernoulli" and not declared and _is_constant(value):
            if self.missing == "level":
                self._check_observed(code, self.found[code].keep)
            return self._table(term)  # one level: left out, with a note
        if family == "categorical":
            return self._table(term)
        self._fix(code, value, labels=False)
        return [self._number(term, term.name, family, 0)]

    def _several(self, term: Term, width: int) -> list[Feature]:
        """Features of a factor of several columns, one a column."""
        code, made = term.codes[0], []
        self._fix(code, self.found[code].value, labels=False)
        for j in range(width):
            name = f"{term.name}[{j}]"
            asked = self.families.of(name, term, self.reading.bound[code].columns)
            family = fitting(asked, NUMBER_FAMILIES, name, "a column of numbers")
            made.append(self._number(term, name, family, j))
        return made

    def _number(self, term: Term, name: str, family: str, place: int) -> Feature:
        """A feature of one number a row."""
        code = term.codes[0]
        expression, levels = self.reading.bound[code], self.factors[code].levels
        bare = None if expression.bare is None else (expression.bare,)
        known = None if levels is None else tuple(levels)
        xnames = self._statistics(name, family, levels is not None)
        return Feature(name, term.name, family, (code,), expression.columns, xnames, known, (), place, bare)

    def _statistics(self, name: str, family: str, boolean: bool) -> tuple[str, ...]:
        """Names of the statistics T of a feature."""
        names: dict[str, tuple[str, ...]] = {"gaussian": (name, f"{name}^2"), "gamma": (f"log({name})", name)}
        if family == "gaussian" and self.families.pooled:
            return (name,)
        return names.get(family, (f"{name}[T.True]" if boolean else name,))

    def _table(self, term: Term) -> list[Feature]:
        """Feature with levels, or of the observed cells of several factors; none where there is one cell only."""
        for code in term.codes:
            self._fix(code, self._labelled(code), labels=True, alone=len(term.codes) == 1)
        levels = [self.factors[code].levels or [] for code in term.codes]
        sizes = tuple(len(each) for each in levels)
        if math.prod(sizes) > MAX_TABLE_CELLS:
            raise FormulaError(
                f'"{term.name}" is a table of {math.prod(sizes):,} cells: more than {MAX_TABLE_CELLS:,}.'
            )
        joint = len(levels) > 1
        observed = self._observed_cells(term, sizes) if joint else None
        cells = tuple(_crossed(levels, observed) if joint else levels[0])
        if len(cells) == 1 and (joint or not self.factors[term.codes[0]].unused):
            return self._left_out(term, cells[0] if joint else cells)
        xnames = tuple(f"{term.name}[T.{level_word(cell, joint)}]" for cell in cells[1:])
        columns = tuple(dict.fromkeys(name for code in term.codes for name in self.reading.bound[code].columns))
        plain = tuple(plain_columns(term, self.reading.bound))
        variables = plain if len(plain) == len(term.codes) else None
        shared = (term.name, term.name, "categorical", term.codes, columns, xnames, cells, sizes, 0, variables)
        return [Feature(*shared, observed=observed)]

    def _observed_cells(self, term: Term, sizes: tuple[int, ...]) -> tuple[int, ...] | None:
        """Places in the grid of a joint table that have a row; None where all have."""
        n, there = math.prod(sizes), self._cells(term, sizes)
        if not len(there):
            raise MissingDataError(f'"{term.name}" is missing in all {self._n_rows} rows: leave it out.')
        if len(there) == n:
            return None
        if len(there) > 1:
            plural = ("have", "were") if n - len(there) > 1 else ("has", "was")
            self.notes.append(
                f"{n - len(there):,} of {n:,} cells of {term.name} {plural[0]} no rows and {plural[1]} left out"
            )
        return tuple(there.tolist())

    def _cells(self, term: Term, sizes: tuple[int, ...]) -> ndarray:
        """Places in the grid that have a row, in increasing order."""
        codes = grid_codes([self.coded[code] for code in term.codes], sizes)
        return np.flatnonzero(np.bincount(codes[codes >= 0]))

    @property
    def _n_rows(self) -> int:
        return int(np.count_nonzero(self.reading.rows.keep))

    def _left_out(self, term: Term, levels: tuple[Any, ...]) -> list[Feature]:
        """Leave a term of one cell out; new data are still checked to have the one level of each of its factors."""
        for code, level in zip(term.codes, levels):
            factor = self.factors[code]
            factor.left_out += [other for other in factor.levels or [] if other not in (level, MISSING_LEVEL)]
            factor.levels = [level]
        self.notes.append(_one_level(term.name, [level_word(levels, True)] if len(levels) > 1 else levels))
        return []

    def _check_interaction(self, term: Term) -> None:
        asked = self.families.of(term.name, term, ())
        fitting(asked, ("categorical",), term.name, "a joint table")
        numbers = [code for code in term.codes if not self.found[code].value.labelled]
        if len(numbers) == len(term.codes):
            raise FormulaError(
                f'"{term.name}" is an interaction of numbers, which has no joint table: say '
                f"I({' * '.join(term.codes)}) for their product as a feature."
            )
        if numbers:
            raise FormulaError(
                f'"{term.name}": a joint table crosses levels, and "{numbers[0]}" holds numbers. Say C({numbers[0]}) '
                f"to make each of its values a level, or take it as a feature of its own."
            )

    def _labelled(self, code: str) -> Value:
        """A factor's value as labels; whole numbers of a column stay whole."""
        value = self.found[code].value
        if value.labelled:
            return value
        raw = self._raw(code)
        return as_value(raw, code, len(raw), labels=True)

    def _raw(self, code: str) -> Any:
        """A factor's numbers, in the type of the column that it is."""
        value, keep = self.found[code]
        return raw_numbers(value, self.reading.bound[code].bare, self.reading, keep)

    def _counts(self, term: Term) -> Feature:
        for code in term.codes:
            value = self.found[code].value
            if value.labelled and value.levels != [False, True]:
                labels = quoted(value.data.categories, 3)
                raise DataError(f'multinomial= names "{code}", which holds labels ({labels}), not counts.')
            self._fix(code, value, labels=False)
        columns = tuple(self.reading.bound[code].columns[0] for code in term.codes)
        return Feature(term.name, term.name, "multinomial", term.codes, columns, term.words, columns, (), 0, columns)

    def _declares(self, code: str) -> bool:
        """Whether a column, or ``C(..., levels=)``, says which levels there are, whichever of them have rows."""
        expression = self.reading.bound[code]
        name = expression.bare or expression.categorised
        return self.found[code].value.levels is not None or (name is not None and self._kind(name) == "category")

    def _kind(self, column: str) -> str:
        """Kind of a column of the table."""
        return self.reading.table[column].kind

    def _fix(self, code: str, value: Value, *, labels: bool, alone: bool = False) -> None:
        """Fix a factor's levels or width, and code the kept rows.

        Declared levels without rows stay in a table of the factor `alone` if it is smoothed; otherwise their
        probability is 0.
        """
        listed = labels and self._declares(code)
        every = listed and alone and self.families.smoothed
        keep = self.found[code].keep
        if self.missing == "level" and not labels:
            self._check_observed(code, keep)
        expression = self.reading.bound[code]
        declared = expression.bare is not None and self._kind(expression.bare) == "category"
        factor, coded, note = fit_factor(expression, value, self._n_rows, every=every, declared=declared)
        if labels:
            coded = _base_first(factor, coded, value.contrast, self.notes)
            coded = coded if every else _only_observed(factor, coded, value.contrast)
            if listed and not every:
                factor.unused, factor.left_out = tuple(factor.left_out), []
                note = _without_rows(code, factor.unused)
            if self.missing == "level" and not keep.all():
                _add_missing_level(factor)
        if note:
            self.notes.append(note)
        self.factors[code], self.coded[code] = factor, everywhere(coded, keep, factor, self.missing)

    def _check_observed(self, code: str, keep: ndarray) -> None:
        """Refuse missing numbers under missing="level": numbers have no level for missing values."""
        if keep.all():
            return
        use = 'missing="skip" or missing="drop"'
        if self.found[code].value.labelled:
            use = f'families={{"{code}": "categorical"}}'
        raise MissingDataError(
            f'"{code}" is missing in {self._missing_rows(code)}, and missing="level" makes a level of missing labels, '
            f"not of numbers. Use {use}."
        )

    def _missing_rows(self, code: str) -> str:
        lost = ~self.found[code].keep
        return f"{int(lost.sum())} rows ({row_labels(lost, self.reading.rows.index[self.reading.rows.keep])})"


def raw_numbers(value: Value, column: str | None, reading: Reading, keep: ndarray) -> Any:
    """The numbers of a value on some of the kept rows, in the type of the column that they are."""
    if column is None:
        return value.data[:, 0]
    place = np.flatnonzero(reading.rows.keep)[keep]
    return reading.table[column].take(place).marked()


def _kinds(value: Value, code: str) -> tuple[tuple[str, ...], str]:
    """The families that suit a factor, the usual one first, and what it holds."""
    if value.levels == [False, True] and not _is_categorical(code):
        return ("bernoulli", "categorical"), "True or False"
    if value.labelled:
        return ("categorical",), f"labels ({quoted(value.data.categories, 3)})"
    head = value.data[:1000]  # the answer for most columns
    binary = bool(np.isin(head, (0.0, 1.0)).all() and np.isin(value.data, (0.0, 1.0)).all())
    return ("bernoulli" if binary else "gaussian", *NUMBER_FAMILIES, "categorical"), "numbers"


def _is_constant(value: Value) -> bool:
    """Whether a bool, or one column of zeros and ones, is the same in all rows."""
    data = np.asarray(value.data.codes) if value.labelled else value.data[:, 0]
    return bool(data[0] in (0, 1) and (data == data[0]).all())


def _one_level(name: str, levels: Iterable[Any]) -> str:
    return f"{name} has one level, {quoted(levels)}, in the rows used: it is left out"


def _crossed(levels: list[list[Any]], observed: tuple[int, ...] | None) -> Iterable[tuple[Any, ...]]:
    """Cells of crossed levels, all or those at some places of the grid."""
    if observed is None:
        return itertools.product(*levels)
    places = np.unravel_index(observed, [len(own) for own in levels])
    return zip(*([own[i] for i in axis] for own, axis in zip(levels, places)))


def _is_categorical(code: str) -> bool:
    """Whether the code is ``C(...)``."""
    tree = expressions.parse(code)
    return isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "C"


def _base_first(factor: Factor, codes: ndarray, contrast: Any, notes: list[str]) -> ndarray:
    """Codes after the base level of C(g, Treatment(base)) became the first; other codings do not matter here."""
    levels = factor.levels or []
    if contrast is not None and not (isinstance(contrast, Treatment) or contrast is Treatment):
        notes.append(f"the coding of {factor.expression.code} is not used: levels are compared with the first")
    base = contrast.reference if isinstance(contrast, Treatment) else None
    if base is None:
        return codes
    by_place = isinstance(base, int) and not isinstance(contrast, BaseLevel)
    if base not in levels and not (by_place and -len(levels) <= base < len(levels)):
        raise FormulaError(f'"{factor.expression.code}": {quoted([base])} is none of its levels {quoted(levels)}.')
    place = levels.index(base) if base in levels else base % len(levels)
    order = np.array([place, *(i for i in range(len(levels)) if i != place)])
    factor.levels = [levels[i] for i in order]
    return np.argsort(order)[codes]


def _only_observed(factor: Factor, codes: ndarray, contrast: Any) -> ndarray:
    """Codes after the levels without rows were left out: those of ``C(g, levels=)``, or one of a bool."""
    levels = factor.levels or []
    used = np.bincount(codes, minlength=len(levels)) > 0
    if used.all():
        return codes
    code, lost = factor.expression.code, [level for level, there in zip(levels, used) if not there]
    if isinstance(contrast, Treatment) and contrast.reference is not None and not used[0]:
        raise FormulaError(f'"{code}": the base level {quoted(levels[:1])} has no rows; choose another.')
    factor.left_out, factor.levels = [*factor.left_out, *lost], [v for v, there in zip(levels, used) if there]
    return (np.cumsum(used) - 1)[codes]


def _without_rows(code: str, lost: tuple[Any, ...]) -> str | None:
    """Note on declared levels without rows, where nothing gives them a probability."""
    if not lost:
        return None
    plural = ("levels", "have", "their") if len(lost) > 1 else ("level", "has", "its")
    return f"{plural[0]} {quoted(lost)} of {code} {plural[1]} no rows: {plural[2]} probability is 0 in every class"


def _add_missing_level(factor: Factor) -> None:
    levels = factor.levels or []
    if MISSING_LEVEL in [str(level) for level in levels]:
        code = factor.expression.code
        raise DataError(f'missing="level": "{code}" has a level called {quoted([MISSING_LEVEL])} already; rename it.')
    factor.levels = [*levels, MISSING_LEVEL]
