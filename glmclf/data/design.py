"""Design: how rows of a table become rows of X, for the training rows and for any others.

patsy parses the formula and decides codings and column names; it never sees the data. Factors are memorised and
evaluated by `glmclf.data.factors` on complete rows, and X is described as `Piece` objects, one a subterm.
"""

from __future__ import annotations

import ast
import itertools
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy import ndarray
from patsy import DesignInfo, ModelDesc, PatsyError, Term
from patsy.build import design_matrix_builders

from glmclf.core.columns import Piece, dense
from glmclf.data import expressions
from glmclf.data.arrays import ArrayDesign, read_arrays
from glmclf.data.factors import Box, Expression, Factor, Value, as_value, fit_factor, not_finite, resolve
from glmclf.data.frame import Column, align, as_frame, close_to, quoted, read_column
from glmclf.data.sample import (
    Respond,
    Rows,
    Sample,
    check_missing_option,
    finish,
    leave_out_no_trials,
    read_extras,
    weigh,
)
from glmclf.errors import DataError, FormulaError

__all__ = ["ArrayDesign", "Design", "Sample", "read_arrays", "read_formula"]


# -------------------------------------------------------------------------------------------------------- layout
class Subterm(NamedTuple):
    """A product of factors, each numerical or coded by one contrast matrix.

    Attributes
    ----------
    factors : tuple of str
        Codes of the factors; the leftmost varies fastest among the columns.
    contrasts : dict of (levels, columns) ndarrays
        Coding of the factors that have levels.
    """

    factors: tuple[str, ...]
    contrasts: dict[str, ndarray]

    def piece(self, values: Mapping[str, ndarray], widths: Mapping[str, int]) -> Piece:
        """The columns of this subterm, given each factor's codes or numbers."""
        codes, contrast, numbers = None, None, None
        for code in self.factors:
            if code in self.contrasts:
                codes, contrast = self._cross(codes, contrast, values[code], self.contrasts[code])
            else:
                numbers = _products(numbers, values[code])
        num, cat = self._columns(widths)
        return Piece(numbers, codes, contrast, num, cat)

    def _cross(
        self, codes: ndarray | None, contrast: ndarray | None, new: ndarray, coding: ndarray
    ) -> tuple[ndarray, ndarray]:
        if codes is None or contrast is None:
            return new, coding
        cells = len(contrast) * len(coding)
        crossed = new.astype(np.min_scalar_type(-cells - 1)) * len(contrast) + codes
        return crossed.astype(np.min_scalar_type(-cells - 1), copy=False), np.kron(coding, contrast)

    def _columns(self, widths: Mapping[str, int]) -> tuple[ndarray, ndarray]:
        """Which product of numbers, and which column of the crossed contrast, each column of X uses."""
        sizes = [self.contrasts[c].shape[1] if c in self.contrasts else widths[c] for c in self.factors]
        num, cat = [], []
        for reverse in itertools.product(*(range(size) for size in reversed(sizes))):
            places: dict[bool, tuple[int, int]] = {True: (0, 1), False: (0, 1)}
            for code, size, j in zip(self.factors, sizes, reverse[::-1]):
                place, stride = places[code in self.contrasts]
                places[code in self.contrasts] = (place + j * stride, stride * size)
            num.append(places[False][0])
            cat.append(places[True][0])
        return np.array(num, dtype=np.intp), np.array(cat, dtype=np.intp)

    def spans_constant(self, widths: Mapping[str, int]) -> bool:
        """Whether the columns of this subterm add up to a constant by its coding."""
        if any(code not in self.contrasts for code in self.factors):
            return False
        for coding in self.contrasts.values():  # a product of spans holds 1 if each of them does
            solution = np.linalg.lstsq(coding, np.ones(len(coding)), rcond=None)[0]
            if not np.allclose(coding @ solution, 1.0, atol=1e-10):
                return False
        return True


def _products(numbers: ndarray | None, new: ndarray) -> ndarray:
    if numbers is None:
        return new if new.flags.f_contiguous else np.asfortranarray(new)
    out = np.empty((len(new), numbers.shape[1] * new.shape[1]), order="F")
    for b in range(new.shape[1]):
        for a in range(numbers.shape[1]):
            np.multiply(numbers[:, a], new[:, b], out=out[:, b * numbers.shape[1] + a])
    return out


class Variable(NamedTuple):
    """What the training rows say of one column of the table: its kind, and the categories of a categorical one."""

    kind: str
    categories: list[Any] | None = None
    ordered: bool = False


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
        newdata : DataFrame, Mapping of columns or values, polars or pyarrow frame
            Columns are matched by name; others are ignored.

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
        while keep.any():
            rows = None if keep.all() else keep
            cut = {name: column.take(rows) for name, column in columns.items()}
            found = {code: _value(f.expression, cut, int(keep.sum())) for code, f in self.factors.items()}
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
            columns[name] = _match(read_column(frame[name], name), variable, name, self._only_labels(name))
        return columns

    def _only_labels(self, name: str) -> bool:
        """Whether a column is used as a factor only, where its levels are checked one by one."""
        uses = [f.expression for f in self.factors.values() if name in f.expression.columns]
        return all(name in (e.bare, e.categorised) for e in uses)

    def __getstate__(self) -> dict[str, Any]:
        from glmclf.data.codec import pickled

        return pickled(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        from glmclf.data.codec import unpickled

        self.__dict__.update(unpickled(state).__dict__)


def _match(column: Column, variable: Variable, name: str, only_labels: bool) -> Column:
    """A column of new data as the kind it was in training, matched by value."""
    empty = column.missing is not None and column.missing.all()
    labels = isinstance(column.values, pd.Categorical)
    if empty or column.kind == variable.kind == "label":
        return column
    if variable.kind in ("number", "bool"):
        column = _unlabelled(column) if labels else column
        if isinstance(column.values, pd.Categorical) and variable.kind == "number":
            text = quoted(column.values.categories, 3)
            raise DataError(f'column "{name}" of the new data holds labels ({text}); the model was fitted on numbers.')
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
    from glmclf.data.factors import recode
    from glmclf.errors import UnseenLevelError

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


# ------------------------------------------------------------------------------------------------------- parsing
class Parsed(NamedTuple):
    """A formula as patsy reads it: left-side codes and right-side terms (tuples of codes)."""

    left: list[str]
    right: list[tuple[str, ...]]


def parse_formula(formula: Any) -> Parsed:
    """Both sides of a formula; FormulaError where one is missing or makes no sense."""
    if not isinstance(formula, str):
        raise FormulaError(f'a formula is text like "y ~ x1 + x2", found {type(formula).__name__}.')
    if "~" not in formula or not formula.partition("~")[0].strip() or not formula.partition("~")[2].strip():
        raise FormulaError(f'the formula "{formula}" needs a response and regressors: "y ~ x1 + x2", or "y ~ 1".')
    try:
        description = ModelDesc.from_formula(formula)
    except (PatsyError, SyntaxError, tokenize.TokenError, RecursionError) as error:
        raise FormulaError(f'the formula "{formula}" cannot be read: {error}') from None
    right = [tuple(f.name() for f in term.factors) for term in description.rhs_termlist]
    _refuse_foreign(right)
    if not right:
        raise FormulaError(f'the formula "{formula}" has no regressors: "~ 1" is the model with an intercept only.')
    return Parsed(_left_side([tuple(f.name() for f in t.factors) for t in description.lhs_termlist], formula), right)


def _left_side(terms: list[tuple[str, ...]], formula: str) -> list[str]:
    if not terms or any(not term for term in terms):
        raise FormulaError(f'the left side of "{formula}" names no response.')
    if any(len(term) > 1 for term in terms):
        raise FormulaError(f'the left side of "{formula}" holds an interaction; write I(a * b) for a product.')
    return [term[0] for term in terms]


def _refuse_foreign(right: list[tuple[str, ...]]) -> None:
    """R's habits that patsy would take for something else: "x ^ 2" is bitwise in Python."""
    for code in dict.fromkeys(itertools.chain(*right)):
        if code == ".":
            raise FormulaError('"." for all other columns is not available: name the regressors.')
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

    def eval(self, state: Any, data: Any) -> Any:
        levels = self._factor.levels
        return np.zeros((1, self._factor.width)) if levels is None else Box([], self._contrast, levels)


def _codings(right: list[tuple[str, ...]], factors: dict[str, Factor], contrasts: dict[str, Any]) -> DesignInfo:
    """patsy's choice of codings, contrasts, column order and names."""
    known = {code: _Known(code, factor, contrasts[code]) for code, factor in factors.items()}
    terms = [Term([known[code] for code in codes]) for codes in right]
    try:
        return design_matrix_builders([terms], lambda: iter([{}]), 0, NA_action="drop")[0]
    except (PatsyError, ValueError, TypeError) as error:
        raise FormulaError(f"a factor of the formula cannot be coded: {error}") from None


def _build(parsed: Parsed, formula: str, factors: dict[str, Factor], contrasts: dict[str, Any]) -> Design:
    info = _codings(parsed.right, factors, contrasts)
    xnames = list(info.column_names)
    repeated = sorted({name for name in xnames if xnames.count(name) > 1}) if len(set(xnames)) < len(xnames) else []
    if repeated:
        raise DataError(
            f"columns of the design occur more than once: {quoted(repeated)}. Rename the levels or regressors."
        )
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
    return Design(xnames, terms, constant, formula, " + ".join(parsed.left), factors, subterms)


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
    lost = weigh(rows, beside)
    bound = {code: _bind(code, frame, caller, restricted) for code in codes}
    table = {name: read_column(frame[name], name) for e in bound.values() for name in e.columns}
    notes: list[str] = []
    rows.lose(lost | _raw_missing([bound[c] for c in codes], table))
    values = _settle(bound, table, rows, parsed.left, notes)
    design, pieces = _design(parsed, formula, bound, values, table, notes)
    left = [_left_value(bound[code], values[code], frame, rows) for code in parsed.left]
    made = response(list(parsed.left), left)
    return Sample(design=design, response=made, pieces=pieces, X=None, notes=notes, frame=frame, **finish(rows, beside))


def _with_arrays(frame: pd.DataFrame, codes: list[str], caller: Mapping[str, Any]) -> pd.DataFrame:
    """The table with those variables of the caller that hold a value a row; the caller's table stays as it is."""
    borrowed = {}
    for code in codes:
        found = expressions.names(code)
        for name in (found.used | found.rooted) - found.called:
            value = None if name in frame.columns else caller.get(name)
            if isinstance(value, pd.Series):
                borrowed[name] = value if value.index.equals(frame.index) else _reindexed(value, name, frame)
            elif isinstance(value, (np.ndarray, pd.Categorical, pd.Index)) and np.shape(value) == (len(frame),):
                borrowed[name] = pd.Series(value, index=frame.index)
    return frame.assign(**borrowed) if borrowed else frame


def _reindexed(value: pd.Series, name: str, frame: pd.DataFrame) -> pd.Series:
    return pd.Series(align(value, name=name, frame=frame), index=frame.index)


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
    bound: dict[str, Expression], table: dict[str, Column], rows: Rows, left: list[str], notes: list[str]
) -> dict[str, Value]:
    """Each factor's values on the rows where all have one, transforms memorised on exactly these rows."""
    if len(left) > 1:
        cut = {name: column.take(rows.selection) for name, column in table.items()}
        leave_out_no_trials(
            rows, [_scattered(_value(bound[c], cut, int(rows.keep.sum())), rows, c) for c in left], notes
        )
    while True:
        n = int(rows.keep.sum())
        cut = {name: column.take(rows.selection) for name, column in table.items()}
        if not _lost(rows, {c: _argument_missing(e, cut, n, rows) for c, e in bound.items()}):
            values = {}
            for code, expression in bound.items():
                expression.memorise(cut)
                values[code] = _value(expression, cut, n)
            if not _lost(rows, {code: value.missing() for code, value in values.items()}):
                break
    for code, value in values.items():
        not_finite(value.data, code, rows.index[rows.keep] if rows.selection is not None else rows.index)
    return values


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
        if code in rows.masks:
            full[code] |= rows.masks[code]
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
    column = expression.bare or expression.categorised
    if column is not None:
        series = frame[column]
        return series if rows.selection is None else series[rows.keep]
    if value.levels == [False, True]:
        return np.asarray(value.data.codes).astype(bool)
    return value.data if value.labelled else value.data[:, 0] if value.data.shape[1] == 1 else value.data
