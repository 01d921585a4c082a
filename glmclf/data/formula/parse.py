"""Formulas: patsy parses them and decides codings, contrasts and column names; it never sees the data."""

from __future__ import annotations

import ast
import contextlib
import functools
import itertools
import math
import tokenize
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from patsy import ContrastMatrix, DesignInfo, PatsyError, Sum, Term, Treatment
from patsy.build import design_matrix_builders
from patsy.contrasts import _get_level, _name_levels
from patsy.desc import Evaluator, IntermediateExpr
from patsy.design_info import FactorInfo, SubtermInfo
from patsy.parse_formula import parse_formula as parsed_tree

from glmclf.core.design import coding as many
from glmclf.core.design.coding import LevelCoding
from glmclf.core.numerics.arrow import MAX_DENSE_BYTES
from glmclf.data.formula import expressions
from glmclf.data.formula.dialects import has_dot, hinting, refuse_names, with_all_columns
from glmclf.data.formula.factors import BaseLevel, Box, Factor
from glmclf.data.formula.operators import refuse_modulo
from glmclf.data.table.frame import quoted
from glmclf.errors import FormulaError

MAX_TERMS = (
    20_000  # that products and powers of a formula may expand to: more take minutes, and 2**n of n factors no end
)
MAX_COLUMNS = 1_000_000  # of a design: their names alone take the memory of a small table


class Parsed(NamedTuple):
    """A formula as patsy reads it: left-side codes, right-side terms (tuples of codes), and its text with columns in
    place of a dot."""

    left: list[str]
    right: list[tuple[str, ...]]
    formula: str


def parse_formula(
    formula: Any,
    *,
    intercept: bool = False,
    columns: Callable[[], Iterable[Any]] | None = None,
    beside: Iterable[str] = (),
) -> Parsed:
    """Both sides of a formula; FormulaError where one is missing or makes no sense.

    `intercept` puts one first on the right side if there is none, before patsy chooses codings. `columns` gives the
    names of the table, which a dot stands for, but those on the left side and those in `beside`.
    """
    _check_sides(formula)
    with hinting(formula, columns):
        if columns is not None:
            if has_dot(formula):
                used = left_columns(formula)
                for text in beside:
                    used |= {text} if text in columns() else columns_in(text)
                formula = with_all_columns(formula, columns(), used)
            refuse_names(formula, columns())
        return _parsed(formula, intercept)


def one_factor(text: str) -> str:
    """Code of a single factor, which may be a sum: what is added is not a term of its own.

    Raises
    ------
    FormulaError
        Text that is no code, or that is more than one factor.
    """
    left = _parsed(f"I({text}) ~ 1", False).left
    code = left[0].removeprefix("I(").removesuffix(")")
    if len(left) > 1:
        raise FormulaError(f'"{text}" is no single expression.')
    expressions.parse(code)  # which a text with brackets of its own kind is not
    return code


def left_columns(formula: str) -> set[str]:
    """Names on the left side of a formula."""
    return _names_in(_parsed(f"{formula.partition('~')[0]} ~ 1", False).left)


def columns_in(text: str) -> set[str]:
    """Names in the code of a single factor; none in what is no code."""
    with contextlib.suppress(FormulaError):
        return _names_in([one_factor(text)])
    return set()


def _names_in(codes: Iterable[str]) -> set[str]:
    found = map(expressions.names, codes)
    return {name for names in found for name in (*names.quoted, *names.rooted, *names.used)}


def _check_sides(formula: Any) -> None:
    if not isinstance(formula, str):
        raise FormulaError(f'a formula is text like "y ~ x1 + x2", found {type(formula).__name__}.')
    if "~" not in formula or not formula.partition("~")[0].strip() or not formula.partition("~")[2].strip():
        raise FormulaError(f'the formula "{formula}" needs a response and regressors: "y ~ x1 + x2", or "y ~ 1".')


def _parsed(formula: str, intercept: bool) -> Parsed:
    left, terms = _described(formula)
    right = list(terms)
    _refuse_foreign(right)
    if intercept:
        right = [(), *(codes for codes in right if codes)]
    if not right:
        raise FormulaError(f'the formula "{formula}" has no regressors: "~ 1" is the model with an intercept only.')
    return Parsed(_left_side(left, formula), right, formula)


@functools.lru_cache(maxsize=64)
def _described(formula: str) -> tuple[tuple[tuple[str, ...], ...], ...]:
    """Terms of both sides, as patsy reads them, each by the codes of its factors."""
    try:
        tree = parsed_tree(formula)
        _check_expansion(formula, tree)
        found = _evaluator().eval(tree, require_evalexpr=False)
    except (PatsyError, SyntaxError, tokenize.TokenError) as error:
        raise FormulaError(f'the formula "{formula}" cannot be read: {error}') from None
    except RecursionError:
        raise FormulaError(f'the formula "{formula[:200]}..." is nested too deeply: only sums may be long.') from None
    sides = (found.lhs_termlist, found.rhs_termlist)
    return tuple(tuple(tuple(f.name() for f in term.factors) for term in side) for side in sides)


def _check_expansion(formula: str, tree: Any) -> None:
    """FormulaError where products and powers of a formula are more terms than can be told apart in seconds."""
    nodes, waiting = list[Any](), [tree]
    while waiting:
        nodes.append(waiting.pop())
        waiting += nodes[-1].args
    factors = len({node.token.extra for node in nodes if node.type == "PYTHON_EXPR"})
    most = 2 ** min(factors, 64)  # sets of factors, whatever is written twice
    sizes: dict[int, int] = {}
    for node in reversed(nodes):
        size = min(_expanded(node, [sizes[id(part)] for part in node.args]), most)
        if node.type in ("*", "/", ":", "**") and size > MAX_TERMS:
            raise FormulaError(
                f'the formula "{formula[:200]}" has products or powers of more than {MAX_TERMS:,} terms: write those '
                "that are wanted, or (a + b + c)**2 for the interactions of two at most."
            )
        sizes[id(node)] = size


def _expanded(node: Any, parts: list[int]) -> int:
    """Bound of the number of terms of a piece of a formula, from those of its operands."""
    if len(parts) < 2:
        return parts[0] if parts else int(node.type == "PYTHON_EXPR")
    left, right = parts
    if node.type == "**":
        power = node.args[1].token.extra if node.args[1].type in ("ONE", "NUMBER") else ""
        power = power.replace("_", "")
        degrees = min(left, int(power)) if power.isdecimal() else 1  # any other is no power, as patsy says
        return sum(math.comb(left, degree) for degree in range(1, min(degrees, 64) + 1))
    return {":": left * right, "*": left + right + left * right}.get(node.type, left + right)


def _evaluator() -> Evaluator:
    """patsy's evaluator, whose sums may be of any length."""
    evaluator = Evaluator()
    for sign in "+-":
        evaluator.add_op(sign, 2, _sum)
    return evaluator


def _sum(evaluator: Evaluator, tree: Any) -> IntermediateExpr:
    """Value of a sum: patsy's own descends a level for each term, and looks at all earlier terms once more."""
    chain = []
    while tree.type in ("+", "-") and len(tree.args) == 2:
        chain.append(tree)
        tree = tree.args[0]
    first = evaluator.eval(tree)
    terms, intercept = dict.fromkeys(first.terms), (first.intercept, first.intercept_origin, first.intercept_removed)
    for node in reversed(chain):
        adds, right = node.type == "+", node.args[1]
        if right.type == "ZERO":
            intercept = (False, None, True) if adds else (True, right, False)
            continue
        value = evaluator.eval(right)
        if adds:
            terms.update(dict.fromkeys(value.terms))
        else:
            terms = {term: None for term in terms if term not in value.terms}
        if value.intercept:
            intercept = (True, value.intercept_origin, False) if adds else (False, None, True)
    return IntermediateExpr(*intercept, terms)


def written_order(formula: str) -> list[str]:
    """Names of the terms of the right side by degree, equal degrees as they are written, as R orders them.

    The columns of a design are in patsy's order, in which terms without numeric factors come first.

    Examples
    --------
    >>> written_order("y ~ x:g + x + z + g")
    ['Intercept', 'x', 'z', 'g', 'x:g']
    """
    terms = sorted(_described(formula)[1], key=len)
    return [":".join(codes) or "Intercept" for codes in terms]


def no_features(formula: str, constant: Sequence[str] = ()) -> FormulaError:
    """The error for a right side without anything to classify by; `constant` was there, with one level."""
    have = "have" if len(constant) > 1 else "has"
    also = f" {quoted(constant)} {have} one level in the rows used." if constant else ""
    return FormulaError(f'the formula "{formula}" has no features: name at least one beside the intercept.{also}')


def _left_side(terms: Sequence[tuple[str, ...]], formula: str) -> list[str]:
    if not terms or any(not term for term in terms):
        raise FormulaError(f'the left side of "{formula}" names no response.')
    if any(len(term) > 1 for term in terms):
        raise FormulaError(
            f'the left side of "{formula}" holds an interaction; write I(a * b) for a product, and for a share of '
            'successes I(a / n) with trials="n", or successes + failures.'
        )
    for term in terms:
        refuse_modulo(term[0])
    return [term[0] for term in terms]


def _refuse_foreign(right: list[tuple[str, ...]]) -> None:
    """Refuse habits of R that patsy would take for something else: "x ^ 2" is bitwise in Python."""
    for code in dict.fromkeys(itertools.chain(*right)):
        refuse_modulo(code)
        tree = expressions.parse(code)
        if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.BitXor):
            raise FormulaError(
                f'"{code}": ^ is not available. Write I(x**2) for a square, (a + b)**2 for interactions.'
            )


class _Known:
    """A factor whose kind is already known: patsy asks it for an example, not for data."""

    origin = None

    def __init__(self, code: str, factor: Factor, contrast: Any):
        self._code, self._factor, self._contrast = code, factor, contrast

    def name(self) -> str:
        return self._code

    def memorize_passes_needed(self, state: Any, eval_env: Any) -> int:
        return 0

    def levels(self) -> str:
        return f"Its levels are {quoted(self._factor.levels)}." if self._factor.levels else ""

    def eval(self, state: Any, data: Any) -> Any:
        levels = self._factor.levels
        return np.zeros((1, self._factor.width)) if levels is None else Box([], _held(self._contrast, levels), levels)


class _ManyLevels:
    """Treatment or sum coding of many levels, of which patsy is given a matrix that takes no memory.

    Its `ContrastMatrix` objects have the coding itself as `coding`.
    """

    def __init__(self, contrast: Any):
        self._contrast = contrast

    def code_with_intercept(self, levels: Any) -> Any:
        """Contrasts that span the constant."""
        return _coded_by(LevelCoding.full(len(levels)), _name_levels("", levels))

    def code_without_intercept(self, levels: Any) -> Any:
        """Contrasts beside the constant."""
        make: Callable[[int, int], LevelCoding] = LevelCoding.treatment
        letter, given, usual = "T.", getattr(self._contrast, "reference", None), 0
        if isinstance(self._contrast, Sum):
            make, letter, given, usual = LevelCoding.deviations, "S.", self._contrast.omit, len(levels) - 1
        place = usual if given is None else _get_level(levels, given)
        return _coded_by(make(len(levels), place), _name_levels(letter, [*levels[:place], *levels[place + 1 :]]))


class _ManyDeviations(_ManyLevels):
    def code_with_intercept(self, levels: Any) -> Any:
        _check_held(len(levels), "sum coding without an intercept")
        return self._contrast.code_with_intercept(levels)


def _coded_by(coding: LevelCoding, suffixes: list[str]) -> Any:
    matrix = ContrastMatrix(np.broadcast_to(0.0, coding.shape), suffixes)
    matrix.coding = coding
    return matrix


def _held(contrast: Any, levels: Any) -> Any:
    """The contrast, of many levels without its matrix where it is treatment or sum coding.

    Raises
    ------
    ValueError
        Another coding of so many levels that its matrix takes gigabytes.
    """
    known = contrast() if contrast is Treatment or contrast is Sum else Treatment() if contrast is None else contrast
    if len(levels) < many.MANY_LEVELS:
        return contrast
    if isinstance(known, BaseLevel):
        known.check(levels)
    if type(known) in (Treatment, BaseLevel):
        return _ManyLevels(known)
    if type(known) is Sum:
        return _ManyDeviations(known)
    _check_held(len(levels), "another coding than treatment or sum coding")
    return contrast


def _check_held(L: int, what: str) -> None:
    """Raise ValueError for a coding of so many levels that its matrix takes gigabytes."""
    if 8 * L * L > MAX_DENSE_BYTES:
        raise ValueError(
            f"{what} of {L:,} levels would take a matrix of {8e-9 * L * L:.1f} GB: use C(...) without another coding, "
            "or C(..., Sum) beside an intercept"
        )


def coding_of(matrix: Any, code: str) -> Any:
    """The coding behind patsy's `ContrastMatrix` of a factor."""
    found = getattr(matrix, "coding", None)
    if found is not None:
        return found
    rows = np.asarray(matrix.matrix, dtype=np.float64)
    if not np.isfinite(rows).all():
        raise FormulaError(
            f'"{code}" cannot be coded: its coding of {len(rows):,} levels has numbers that are not finite '
            "(polynomials of so many levels are none). Use poly() of a number, or another coding."
        )
    return rows


def codings(right: list[tuple[str, ...]], factors: dict[str, Factor], contrasts: dict[str, Any]) -> DesignInfo:
    """patsy's choice of codings, contrasts, column order and names."""
    known = {code: _Known(code, factor, contrasts[code]) for code, factor in factors.items()}
    widths = {code: factor.width if factor.levels is None else len(factor.levels) for code, factor in factors.items()}
    columns = {":".join(codes): math.prod(widths[code] for code in codes) for codes in right}
    if sum(columns.values()) > MAX_COLUMNS:
        widest = max(columns, key=columns.__getitem__)
        raise FormulaError(
            f'the formula asks for {sum(columns.values()):,} columns, "{widest}" for most: at most '
            f"{MAX_COLUMNS:,} are made."
        )
    try:
        return _coded([tuple(known[code] for code in codes) for codes in right])
    except CODING_ERRORS as error:
        raise _not_coded(known, error) from None


def described(design: Any) -> DesignInfo:
    """The design of a formula as patsy's DesignInfo, for packages that ask for one; it evaluates nothing."""
    known = {code: _Known(code, factor, None) for code, factor in design.factors.items()}
    infos = {
        known[code]: FactorInfo(known[code], "numerical", {}, num_columns=f.width)
        if f.levels is None
        else FactorInfo(known[code], "categorical", {}, categories=tuple(f.levels))
        for code, f in design.factors.items()
    }
    widths = {code: factor.width for code, factor in design.factors.items()}
    subterms, coded, start = iter(design.subterms), OrderedDict(), 0
    for part in design.terms.values():
        some: list[Any] = []
        while start < part.stop:
            some.append(next(subterms))
            start += some[-1].size(widths)
        codes = dict.fromkeys(code for sub in some for code in sub.factors)
        coded[Term([known[code] for code in codes])] = [_described_subterm(sub, known, widths) for sub in some]
    return DesignInfo(design.xnames, infos, coded)


def _described_subterm(subterm: Any, known: dict[str, _Known], widths: dict[str, int]) -> SubtermInfo:
    contrasts = {
        known[code]: _coded_by(matrix, [f"[{i}]" for i in range(matrix.shape[1])])
        if isinstance(matrix, LevelCoding)
        else ContrastMatrix(matrix, [f"[{i}]" for i in range(matrix.shape[1])])
        for code, matrix in subterm.contrasts.items()
    }
    return SubtermInfo([known[code] for code in subterm.factors], contrasts, subterm.size(widths))


CODING_ERRORS = (PatsyError, ValueError, TypeError, AttributeError, AssertionError)  # of contrasts, the caller's too


def _coded(terms: list[tuple[_Known, ...]]) -> DesignInfo:
    with np.errstate(over="ignore", invalid="ignore"):  # of polynomials of hundreds of levels, which are refused
        return design_matrix_builders([[Term(term) for term in terms]], lambda: iter([{}]), 0, NA_action="drop")[0]


def _not_coded(known: dict[str, _Known], error: Exception) -> FormulaError:
    """Name the factor that cannot be coded by itself."""
    for code, factor in known.items():
        try:
            _coded([(), (factor,)])
        except CODING_ERRORS as own:
            if code == "Intercept":
                return FormulaError('a column named "Intercept" clashes with the constant of the formula: rename it.')
            return FormulaError(f'"{code}" cannot be coded: {own}. {factor.levels()}')
    return FormulaError(f"a factor of the formula cannot be coded: {error}")
