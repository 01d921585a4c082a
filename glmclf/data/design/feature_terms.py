"""Features from the terms of a formula: what is one table, what is counted twice, which family each feature has."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from numpy import ndarray

from glmclf.checks import check_choice
from glmclf.data.design.feature_design import Feature
from glmclf.data.formula.factors import Expression, Value
from glmclf.data.table.frame import close_to, quoted
from glmclf.errors import DataError, FormulaError

FAMILIES = ("gaussian", "bernoulli", "categorical", "poisson", "exponential", "gamma")  # that a feature may ask for
MAX_TABLE_CELLS = 1_000_000  # cells of one table of crossed factors


class Term(NamedTuple):
    """Term of a formula: codes of its factors, their names, and whether they are the counts of one block."""

    codes: tuple[str, ...]
    words: tuple[str, ...]
    block: bool = False

    @property
    def name(self) -> str:
        """Name of the term as the formula has it; long blocks are abbreviated."""
        if not self.block:
            return ":".join(self.words)
        return " + ".join(self.words if len(self.words) <= 4 else (self.words[0], "...", self.words[-1]))


class FactorRows(NamedTuple):
    """A factor's value on those of the kept rows that have one."""

    value: Value
    keep: ndarray


def choose_terms(
    right: list[tuple[str, ...]],
    block: list[str],
    bound: Mapping[str, Expression],
    words: Mapping[str, str],
    notes: list[str],
) -> list[Term]:
    """The terms that become features; what would be counted twice is absorbed, or refused.

    Parameters
    ----------
    right : list of tuples of str
        Terms of the formula, as codes of factors; or the columns of an array.
    block : list of str
        Codes of the counts that make one block.
    bound : dict of Expression
        What the codes refer to.
    words : dict of str
        What to call a factor where it is not its code.
    notes : list of str
        Takes note of what was absorbed, and of features that share a column.

    Raises
    ------
    FormulaError
        Two tables with a common factor, a column taken twice, a column of the block elsewhere.
    """
    counted = set(block)
    terms = [Term(codes, _called(codes, words)) for codes in right if not (len(codes) == 1 and codes[0] in counted)]
    _refuse_counted(terms, {str(bound[code].bare) for code in block}, bound)
    tables = [set(t.codes) for t in terms if len(t.codes) > 1]
    absorbed = [any(set(t.codes) < table for table in tables) for t in terms]
    kept = [t for t, inside in zip(terms, absorbed, strict=True) if not inside]
    for term, inside in zip(terms, absorbed, strict=True):
        if inside:
            table = next(t for t in kept if set(term.codes) < set(t.codes))
            notes.append(f"{term.name} is part of the joint table {table.name}, which absorbs it")
    _refuse_shared(kept, bound)
    _note_shared(kept, bound, notes)
    if not block:
        return kept
    first = set(itertools.takewhile(lambda codes: codes[0] not in counted, right))
    before = [t for t in kept if t.codes in first]
    return [*before, Term(tuple(block), _called(block, words), True), *kept[len(before) :]]


def _called(codes: Iterable[str], words: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(words.get(code, code) for code in codes)


def _refuse_counted(terms: list[Term], counted: set[str], bound: Mapping[str, Expression]) -> None:
    for term in terms:
        used = sorted({name for code in term.codes for name in bound[code].columns if name in counted})
        if used:
            raise FormulaError(
                f'"{term.name}" uses {quoted(used)}, which multinomial= counts already: take it out of one of them.'
            )


def plain_columns(term: Term, bound: Mapping[str, Expression]) -> list[str]:
    """Columns of the table that a term's factors are, as they are or by C()."""
    names = [bound[code].bare or bound[code].categorised for code in term.codes]
    return [name for name in names if name is not None]


def _refuse_shared(terms: list[Term], bound: Mapping[str, Expression]) -> None:
    """Refuse tables with a common factor, and columns that are taken as they are twice."""
    for a, b in itertools.combinations([t for t in terms if len(t.codes) > 1], 2):
        shared = [code for code in a.codes if code in b.codes]
        if shared:
            union = ":".join(dict.fromkeys([*a.codes, *b.codes]))
            raise FormulaError(
                f'"{shared[0]}" would be counted twice, in "{a.name}" and "{b.name}": keep one of them, or make one '
                f"table of all, {union}."
            )
    owner: dict[str, str] = {}
    for term in terms:
        for name in plain_columns(term, bound):
            if name in owner:
                where = " and ".join(f'"{t}"' for t in dict.fromkeys([owner[name], term.name]))
                raise FormulaError(f'"{name}" would be counted twice, in {where}: keep one of them.')
            owner[name] = term.name


def _note_shared(terms: list[Term], bound: Mapping[str, Expression], notes: list[str]) -> None:
    users: dict[str, list[str]] = {}
    for term in terms:
        for name in dict.fromkeys(name for code in term.codes for name in bound[code].columns):
            users.setdefault(name, []).append(term.name)
    for name, several in users.items():
        if len(several) > 1:
            notes.append(f"{' and '.join(several)} use {name}, but count as independent given the class")


# ------------------------------------------------------------------------------------------------------ families
class Families:
    """The families that the user asked for, by term or column.

    Parameters
    ----------
    families : dict, str or None
        Name of a term, of a column of a term, or of a table's column -> one of `FAMILIES`; or one for all features.
    pooled : bool
        Gaussian features have one variance for all classes.
    smoothed : bool
        Tables have pseudo-counts, so that levels without rows have a probability.
    """

    def __init__(self, families: Mapping[str, str] | str | None, pooled: bool, smoothed: bool = False):
        if isinstance(families, str):
            check_choice("families", families, FAMILIES)
        elif families is not None and not isinstance(families, Mapping):
            raise TypeError(
                f'families= is a dict such as {{"x": "poisson"}}, or one for all features, found '
                f"{type(families).__name__}."
            )
        self.every = families if isinstance(families, str) else None
        self.asked: dict[Any, str] = {} if isinstance(families, str) else dict(families or {})
        self.pooled, self.smoothed, self._used = pooled, smoothed, set[Any]()
        self._by_parts: dict[frozenset[str], list[Any]] = {}
        for name in self.asked:
            self._by_parts.setdefault(frozenset(_squeezed(part) for part in str(name).split(":")), []).append(name)
        for name, family in self.asked.items():
            if family == "multinomial":
                given = _given(name, family)
                raise DataError(f'{given}: "{name}" alone cannot be multinomial; name its columns in multinomial=.')
            if family not in FAMILIES:
                raise DataError(f'{_given(name, family)}: "{name}" has {family!r}; choose one of {quoted(FAMILIES)}.')

    def of(self, name: str, term: Term, columns: tuple[str, ...]) -> str | None:
        """The family asked for, by the most specific name; None for the usual one."""
        keys = [name] if name in self.asked else []
        keys += self._by_parts.get(frozenset(_squeezed(word) for word in term.words), [])
        keys += [key for key in columns if len(columns) == 1 and key in self.asked]
        self._used.update(keys)
        return self.asked[keys[0]] if keys else self.every

    def check_used(self, features: list[Feature]) -> None:
        """Refuse names that are no feature's."""
        for key in self.asked:
            if key in self._used:
                continue
            inside = [f.name for f in features if len(f.factors) > 1 and (key in f.factors or key in f.columns)]
            if inside:
                given = _given(key, self.asked[key])
                raise DataError(f'{given}: "{key}" is part of "{inside[0]}", which has one distribution.')
            self.check_names([f.name for f in features])

    def check_names(self, names: list[str]) -> None:
        """Refuse names that none of the features used."""
        for key in self.asked.keys() - self._used:
            near = close_to(str(key), names).replace("The columns are", "The features are")
            raise DataError(f'{_given(key, self.asked[key])}: no feature "{key}". {near}')


def _given(name: Any, family: Any) -> str:
    return f"families={{{str(name)!r}: {family!r}}}"


def _squeezed(code: str) -> str:
    return "".join(code.split())


NUMBER_FAMILIES = ("gaussian", "bernoulli", "poisson", "exponential", "gamma")


def fitting(family: str | None, kinds: tuple[str, ...], name: str, what: str) -> str:
    """The family asked for, or the usual one, the first of `kinds`; DataError where it does not suit the values."""
    if family is None or family in kinds:
        return family or kinds[0]
    possible = quoted(dict.fromkeys(kinds))
    raise DataError(f'{_given(name, family)}: "{name}" is {what} and cannot be {family}; it can be {possible}.')
