"""Factors of a formula: their names resolved, their transforms memorised, their values as numbers or level codes.

One path serves the training rows, new data and a design read from a file: `Expression.evaluate` on `Column` objects of
complete rows, then `Factor.values`.
"""

from __future__ import annotations

import builtins as python_builtins
import contextlib
import contextvars
import dataclasses
import hashlib
import numbers
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import patsy.builtins
from numpy import ndarray
from patsy import PatsyError, Treatment
from patsy.eval import EvalEnvironment, EvalFactor

from glmclf.caching import cached_property
from glmclf.data.formula import expressions, operators
from glmclf.data.formula.borrowed import with_values_named
from glmclf.data.formula.dialects import R_FUNCTIONS
from glmclf.data.formula.rowwise import REDUCING, function_in, unknown, with_reductions_named
from glmclf.data.table.frame import Column, close_to, quoted, read_column, row_labels, unusable
from glmclf.data.table.numerals import MIN_VALUES, numerals, say_blanks
from glmclf.data.transforms.basis import TRANSFORMS, Refused
from glmclf.data.transforms.patsy import PATSY_TRANSFORMS
from glmclf.errors import DataError, DataWarning, FormulaError, UnseenLevelError, warn

PATSY = {name: getattr(patsy.builtins, name) for name in patsy.builtins.__all__}
LIBRARIES = frozenset({"numpy", "pandas", "scipy"})  # whose functions treat no missing values, but for a list
Box: Any = type(PATSY["C"]([0]))  # what patsy's C() returns: data, contrast, levels


class BaseLevel(Treatment):
    """Treatment coding against a level that has to be one of the factor's, never a place among them."""

    def code_without_intercept(self, levels: list[Any]) -> Any:
        """Contrasts against the level."""
        self.check(levels)
        return super().code_without_intercept(levels)

    def check(self, levels: Any) -> None:
        """Raise ValueError unless the base is a level."""
        if self.reference not in levels:
            raise ValueError(f"base={self.reference!r} is none of its levels")


def as_factor(data: Any, contrast: Any = None, levels: Any = None, base: Any = None) -> Any:
    """patsy's `C`, with ``base="b"`` in place of ``Treatment("b")``."""
    if base is not None and contrast is not None:
        raise Refused(f"base={base!r} beside another coding: base= is of treatment coding, give one of them.")
    return PATSY["C"](data, contrast if base is None else BaseLevel(base), levels)


BUILTINS: dict[str, Any] = {**PATSY, **PATSY_TRANSFORMS, **TRANSFORMS, "C": as_factor}
del BUILTINS["Q"]  # evaluated on the columns of the rows at hand


def stateful(value: Any) -> bool:
    """Whether a function remembers something about the training rows (patsy's protocol)."""
    return hasattr(value, "__patsy_stateful_transform__")


MAX_MULTIPLIED_INTEGER = 2**15  # largest whole number whose products and powers are formed as integers
MAX_REMEMBERED_NUMBERS = 1000  # of a list to which a column is reduced
TEXT_DTYPE = pd.Series(["text"]).dtype
MIN_LEVELS_OF_STRAY_WORDS = 20  # levels of text from which stray words among numbers are looked for
MAX_SHARE_OF_STRAY_WORDS = 0.05  # share of the levels that are words and not numbers


# --------------------------------------------------------------------------------------------------- expressions
@dataclass
class Expression:
    """Code of one factor with everything but the data bound to it.

    Attributes
    ----------
    code : str
        As patsy normalises it; the factor's name.
    columns : tuple of str
        Columns of the table that the code uses.
    namespace : dict
        Functions and constants that it uses.
    borrowed : dict
        The part of `namespace` that came from the caller.
    transforms, eval_code
        patsy's stateful transforms by internal name, and the code that calls them.
    safe : bool
        Evaluate without Python's builtins (the code was checked against the closed list).
    fixed : dict
        What columns were reduced to in the rows of the fit (a mean, a maximum, a list of quantiles), by the names that
        stand for it.
    seen : str or None
        Of code whose value in a row depends on other rows, and that remembers nothing of the fit: a digest of the
        columns that it saw, the only ones that it is evaluated for again.
    plain : str
        The code with names in place of values that it takes from objects of the caller's, which are in `borrowed`.
    pieces : dict of str
        The code that each such name stands for.

    Further attributes follow from these, among them `written` and `reductions` (the code with names in place of what
    columns are reduced to, and the code of each), `foreign` (code off the closed list of files) and `arrays` (lengths
    of the caller's that it uses).
    """

    code: str
    columns: tuple[str, ...]
    namespace: dict[str, Any] = field(default_factory=dict)
    borrowed: dict[str, Any] = field(default_factory=dict)
    transforms: dict[str, Any] = field(default_factory=dict)
    eval_code: str = ""
    safe: bool = False
    fixed: dict[str, Any] = field(default_factory=dict)
    seen: str | None = None
    plain: str = ""
    pieces: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.plain = self.plain or self.code
        found = expressions.names(self.plain)
        self.bare = expressions.bare_column(self.code)
        self.categorised = expressions.categorised(self.code)
        self.written, self.reductions = self.plain, dict[str, str]()
        if self.bare is None and not REDUCING.isdisjoint(found.attributes):
            self.written, self.reductions = with_reductions_named(self.plain, self.columns, self.borrowed)
        self.foreign = self._off_the_closed_list()
        self.remembers = any(stateful(value) for value in self.namespace.values())
        self.arrays = {name: n for name, n in arrays_of(self.borrowed).items() if name in found.used}
        whole = self.foreign and not self.remembers
        self.across = whole and not self.reductions
        self.grows = expressions.grows(self.plain)
        # methods of columns and functions of the caller may want pandas objects
        series = found.on_columns or expressions.subscripts(self.plain)
        self.wants_series = series or bool(found.called & set(self.borrowed))
        self.eval_code = self.eval_code or self.written

    def _off_the_closed_list(self) -> bool:
        """Whether the value of a row may depend on other rows (a lag, a rank, a mean): anything but operators,
        element-wise functions and the transforms that remember their data."""
        if self.bare is not None or self.categorised is not None:
            return False
        constants = {name: value for name, value in self.borrowed.items() if not callable(value)}
        try:
            expressions.check(self.written, self.columns, (), constants | dict.fromkeys(self.reductions, 0.0))
        except FormulaError:
            return True
        return False

    @cached_property
    def looks_across(self) -> bool:
        """Whether the code looks across rows, by the methods and functions that it names."""
        return expressions.looks_across(self.plain)

    @cached_property
    def missing_aware(self) -> bool:
        """Whether missing values of the columns may have values here: the code says what becomes of them, takes values
        of other rows, or calls a function of the caller's."""
        of_caller = self.borrowed.values() if self.foreign and not self.remembers else ()
        return any(map(_may_treat_missing, of_caller)) or expressions.missing_aware(self.plain)

    @cached_property
    def unknown(self) -> str:
        """The first piece of code of which it is not known whether its value in a row is of that row alone."""
        called = any(map(callable, self.borrowed.values()))
        if not self.foreign and not self.reductions and not self.arrays and not called:
            return ""
        return unknown(self.plain, self.columns, self.borrowed)

    @property
    def unknown_in_new(self) -> str:
        """As `unknown`, of new rows, where the numbers are remembered that columns were reduced to in the fit."""
        return "" if self.reductions else self.unknown

    def prepare(self) -> list[list[tuple[str, str]]]:
        """Create the stateful transforms; returns their names and the code that memorises them, pass by pass."""
        state: dict[str, Any] = {}
        factor = EvalFactor(self.written)
        try:
            passes = factor.memorize_passes_needed(state, EvalEnvironment([self.namespace]))
        except PatsyError as error:
            raise FormulaError(f'"{self.code}" cannot be used in a formula: {error}') from None
        self.transforms, self.eval_code = state["transforms"], state["eval_code"]
        return [[(name, state["memorize_code"][name]) for name in sorted(n)] for n in state["pass_bins"][:passes]]

    def transform_arguments(self) -> list[str]:
        """Code whose value must be finite before a transform may see it."""
        names = [name for name, value in self.namespace.items() if stateful(value)]
        found = expressions.innermost_arguments(self.written, names) if names else []
        return [code for code in found if self._uses_columns(code)]

    def _uses_columns(self, code: str) -> bool:
        """Whether an argument is of the rows; others are settings, such as edges, and may be infinite."""
        found = expressions.names(code)
        return not set(self.columns).isdisjoint(found.used | found.rooted | found.quoted)

    def evaluate(self, columns: Mapping[str, Column]) -> Any:
        """The factor's value on complete rows: whatever the code returns."""
        if self.bare is not None:
            if self.bare not in columns:  # a variable of the caller, which `as_value` will judge
                return self.namespace[self.bare]
            column = columns[self.bare]
            if column.kind == "other":
                raise unusable(column.values, self.bare)
            return column.marked()
        return self.run(self.eval_code, columns)

    def run(
        self,
        code: str,
        columns: Mapping[str, Column],
        instead: Mapping[str, Any] | None = None,
        transforms: Mapping[str, Any] | None = None,
    ) -> Any:
        """Evaluate any code that uses this expression's names, with other values or transforms where they are given."""
        instead = instead or {}
        values = {name: self._argument(columns[name], name) for name in self.columns if name not in instead}
        values |= instead
        scope = {**values, **self.namespace, **(transforms or self.transforms), "Q": values.__getitem__}
        scope |= self.fixed or self._reduced(code, columns)
        scope |= {
            operators.COMBINED: operators.combined,
            operators.GROWN: operators.grown,
            operators.NUMBERED: operators.numbered,
        }
        if self.safe:
            scope["__builtins__"] = {}
        with np.errstate(all="ignore"):  # what comes out as NaN or infinity is reported by name
            return self.guarded(lambda: eval(operators.compiled(code), scope))

    def fix(self, columns: Mapping[str, Column]) -> None:
        """Remember what columns are reduced to in the rows of a fit."""
        self.fixed = {}
        for name, code in self.reductions.items():
            value = self.run(code, columns)
            if not pd.api.types.is_scalar(value):  # several quantiles, as knots or edges
                value = np.asarray(value)
                if value.ndim != 1 or value.size > MAX_REMEMBERED_NUMBERS or value.dtype.kind not in "biuf":
                    raise FormulaError(
                        f'"{code}" in "{self.code}" is no single number, nor a list of up to {MAX_REMEMBERED_NUMBERS}: '
                        "compute the column beforehand."
                    )
            self.fixed[name] = value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value

    def _reduced(self, code: str, columns: Mapping[str, Column]) -> dict[str, Any]:
        """What columns are reduced to in the rows at hand, before the rows of a fit are known."""
        if not self.reductions or code in self.reductions.values():
            return {}
        known = dataclasses.replace(self)
        known.fix(columns)
        return known.fixed

    def check_seen(self, columns: Mapping[str, Column]) -> None:
        """DataError for other rows than those of the fit, where the code looks across rows and remembers nothing."""
        if self.seen is not None and self.seen != self.digest(columns):
            raise DataError(
                f'"{self.code}" in a row depends on other rows, and nothing of the rows of the fit is remembered: new '
                "rows, and variables set to a value, would have other values than there. Use center(), standardize(), "
                "qcut() and the like, or x.mean(), x.max() and other numbers of a column, which are remembered; or "
                f"compute the column beforehand.{self._declarable()}"
            )

    def _declarable(self) -> str:
        """Words on a function of the caller's that stands around numbers that would else be remembered."""
        function = function_in(self.unknown, self.borrowed)
        if not function or REDUCING.isdisjoint(expressions.names(self.code).attributes):
            return ""
        return (
            f' If the value of "{function}" in a row is of that row alone, declare it: '
            f"{function} = glmclf.rowwise({function})."
        )

    def digest(self, columns: Mapping[str, Column]) -> str:
        """Digest of the columns of the code, by which the rows of the fit are known again."""
        found = hashlib.blake2b(digest_size=16)
        for name in self.columns:
            values = columns[name].marked()
            numbers = columns[name].kind in ("number", "bool")
            found.update(np.asarray(values, dtype=np.float64 if numbers else str).tobytes())
        return found.hexdigest()

    def guarded(self, function: Any) -> Any:
        """The value of a function of no arguments; what it raises names the factor, and the rows where it knows."""
        try:
            return function()
        except Refused as error:
            refused = DataError(f'"{self.code}": {error}')
            refused.places = error.places
            raise refused from None
        except DataError:
            raise
        except NotImplementedError as error:
            raise DataError(f'"{self.code}" cannot be evaluated: {error}') from error
        except Exception as error:
            raise DataError(f'"{self.code}" cannot be evaluated: {type(error).__name__}: {error}') from error

    def _argument(self, column: Column, name: str) -> Any:
        if column.kind == "other":
            return column.values.reset_index(drop=True)  # as all columns: operators of pandas match labels of rows
        if name == self.categorised:
            return column.marked()
        values = column.marked()
        if self.grows and isinstance(values, np.ndarray) and values.dtype.kind == "i" and values.size:
            if max(abs(int(values.min())), abs(int(values.max()))) > MAX_MULTIPLIED_INTEGER:
                values = values.astype(np.float64)  # a product of integers would wrap around in silence
        if isinstance(values, pd.Categorical) and not (column.kind == "category" and self.wants_series):
            text = all(isinstance(label, str) for label in values.categories)
            values = _objects(values)
            if text and self.wants_series:  # also where all are missing
                return pd.Series(values, dtype=TEXT_DTYPE)
        return pd.Series(values, copy=False) if self.wants_series else values


def _may_treat_missing(value: Any) -> bool:
    """Whether a value of the caller's may give missing values another meaning: a function that is none of a library's
    off the closed list, or a list or dict that holds one."""
    if callable(value):
        library = (getattr(value, "__module__", None) or type(value).__module__).partition(".")[0]
        return library not in LIBRARIES or getattr(value, "__name__", "") in expressions.MISSING_AWARE
    return isinstance(value, (dict, list, tuple, set)) and any(pd.api.types.is_scalar(v) and pd.isna(v) for v in value)


def arrays_of(variables: Mapping[str, Any]) -> dict[str, int]:
    """Lengths of the caller's variables that may hold a value a row, by name."""
    kinds = (np.ndarray, pd.Series, pd.Index, pd.api.extensions.ExtensionArray, list, tuple)
    found = {name: value for name, value in variables.items() if isinstance(value, kinds) and np.ndim(value)}
    return {name: len(value) for name, value in found.items() if len(value) > 1}


def _objects(values: pd.Categorical) -> ndarray:
    labels = np.empty(len(values.categories) + 1, dtype=object)
    labels[:-1] = values.categories.tolist()
    labels[-1] = np.nan
    return labels[np.asarray(values.codes)]


def resolve(code: str, columns: Any, caller: Mapping[str, Any], *, safe: bool = False) -> Expression:
    """Bind the names of a factor: patsy's functions, then the table's columns, then the caller's variables.

    Parameters
    ----------
    code : str
        The factor.
    columns : collection of names
        The table's columns.
    caller : mapping
        The caller's variables (functions and constants; arrays with a value a row are columns already).
    safe : bool
        Evaluate without Python's builtins.

    Raises
    ------
    FormulaError
        A name that is nowhere; a column that is called like a function.
    """
    plain, values, pieces = code, dict[str, Any](), dict[str, str]()
    if caller and expressions.bare_column(code) is None:
        plain, values, pieces = with_values_named(code, columns, caller, None if safe else {*BUILTINS, "Q"})
    found = expressions.names(plain)
    absent = found.quoted - {name for name in found.quoted if name in columns}
    if absent:
        name = sorted(absent)[0]
        if any(str(column) == name for column in columns):
            raise FormulaError(f'Q("{name}"): the column is called by a number, not a text: df.rename(columns=str).')
        raise FormulaError(f'Q("{name}"): no such column. {close_to(name, columns)}')
    used, namespace, borrowed = set(found.quoted), {}, {}
    for name in sorted(found.called | found.rooted | found.used | found.keyword):
        if _is_column(name, found, columns, caller, code):
            used.add(name)
        elif name in values:
            namespace[name] = borrowed[name] = values[name]
        elif name in BUILTINS and (name not in TRANSFORMS or _is_ours(name, found, caller)):
            namespace[name] = BUILTINS[name]
        elif name in expressions.NUMPY_NAMES:
            namespace[name] = np
        elif name in caller:
            namespace[name] = borrowed[name] = caller[name]
        elif (safe and name not in REDUCING) or not hasattr(python_builtins, name):
            raise _not_found(name, code, columns, name in found.called)
    columns_used = tuple(sorted(used))
    return Expression(code, columns_used, namespace, borrowed, safe=safe, plain=plain, pieces=pieces)


def _is_ours(name: str, found: expressions.Names, caller: Mapping[str, Any]) -> bool:
    """Whether the name of one of our transforms means it: not a number, nor a function, of the caller's."""
    own = callable(caller.get(name)) and caller[name] is not TRANSFORMS[name]
    return name in found.called and not own


def _is_column(name: str, found: expressions.Names, columns: Any, caller: Mapping[str, Any], code: str) -> bool:
    if name not in columns:
        return False
    function = name in found.called or (name in found.rooted and name in expressions.NUMPY_NAMES)
    if not function:
        return True
    if name not in BUILTINS and name not in expressions.NUMPY_NAMES and name not in caller:
        raise FormulaError(f'"{code}" calls "{name}", which is a column of the table, not a function.')
    if name in found.used or name in found.keyword:
        raise FormulaError(
            f'in "{code}", "{name}" is a function and a column at once: write Q("{name}") for the column.'
        )
    return False


def _not_found(name: str, code: str, columns: Any, called: bool) -> FormulaError:
    where = "" if name == code else f' in "{code}"'
    if called and name == "offset":
        return FormulaError(
            f'"{code}": formulas have no offset() term. Pass offset= to the model: a column\'s name or an array.'
        )
    if called and name in R_FUNCTIONS:
        return FormulaError(f'no function "{name}"{where}: {R_FUNCTIONS[name]}.')
    if called:
        hint = f"Did you mean np.{name}?" if isinstance(getattr(np, name, None), np.ufunc) else close_to(name, BUILTINS)
        return FormulaError(f'no function "{name}"{where}. {hint.replace("The columns are", "Functions are")}')
    return FormulaError(f'no column or variable "{name}"{where}. {close_to(name, columns)}')


# -------------------------------------------------------------------------------------------------------- values
class Value(NamedTuple):
    """Value of a factor's code: (n, c) float64 numbers or a Categorical, with the coding C() asked for."""

    data: Any
    contrast: Any = None
    levels: list[Any] | None = None

    @property
    def labelled(self) -> bool:
        """Whether the value is a Categorical, of a factor with levels."""
        return isinstance(self.data, pd.Categorical)

    def take(self, rows: ndarray) -> Value:
        """The values of some rows."""
        return self._replace(data=self.data[rows])

    def equals(self, other: Value) -> bool:
        """Whether another value holds equal numbers or labels."""
        if self.labelled != other.labelled:
            return False
        if self.labelled:
            return self.data.tolist() == other.data.tolist()
        return self.data.shape == other.data.shape and bool(np.array_equal(self.data, other.data, equal_nan=True))

    def missing(self) -> ndarray:
        """Rows without a value."""
        if self.labelled:
            return np.asarray(self.data.codes) < 0
        return np.isnan(self.data[:, 0]) if self.data.shape[1] == 1 else np.isnan(self.data).any(axis=1)


def as_value(raw: Any, code: str, n: int, *, labels: bool = False) -> Value:
    """Bring what a factor's code returned into one of two forms.

    Raises
    ------
    DataError
        A single value or another number of rows than `n`, more than two dimensions, neither numbers nor labels.
    """
    if isinstance(raw, Box):
        inner = as_value(raw.data, code, n, labels=True)
        levels = inner.levels if raw.levels is None else list(raw.levels)
        contrast = inner.contrast if raw.contrast is None else raw.contrast
        return Value(_with_levels(inner.data, levels, code), contrast, levels)
    if not hasattr(raw, "__len__") or np.ndim(raw) == 0:
        raise DataError(f'"{code}" is a single value ({raw!r}), not a column of numbers or labels.')
    if len(raw) != n:
        raise DataError(f'"{code}" has {len(raw)} values where the table has {n} rows.')
    if isinstance(raw, pd.Series) and not raw.index.equals(pd.RangeIndex(n)) and set(raw.index) == set(range(n)):
        raise DataError(f'"{code}" has the rows in another order than the table: keep their order, or use .to_numpy().')
    if np.ndim(raw) == 2:
        numbers = _matrix(raw, code)
        return Value(_categorise(_only_column(numbers, code)) if labels else numbers)
    if np.ndim(raw) != 1:
        raise DataError(f'"{code}" has {np.ndim(raw)} dimensions; a factor has one or two.')
    return _vector(raw, code, labels)


def _vector(raw: Any, code: str, labels: bool) -> Value:
    if isinstance(raw, pd.Categorical):
        return Value(raw)
    if not isinstance(raw, pd.Series):
        raw = pd.Series(raw, dtype=object) if isinstance(raw, (list, tuple)) else pd.Series(raw, copy=False)
    column = read_column(raw, code)
    if column.kind == "other" and labels and _of_times(raw):
        column = read_column(raw.astype("category"), code)
    if column.kind == "other":
        raise unusable(column.values, code)
    if column.kind == "bool" and column.missing is None:
        return Value(
            pd.Categorical.from_codes(column.values.view(np.int8), categories=[False, True]), levels=[False, True]
        )
    if column.kind in ("label", "category"):
        return Value(column.values)
    if labels:
        return Value(_categorise(column.values, column.missing))
    return Value(np.asarray(column.marked(), dtype=np.float64)[:, None])


def _of_times(raw: pd.Series) -> bool:
    """Whether values are days, moments, durations or periods."""
    dtype = raw.dtype
    numbered = pd.api.types.is_datetime64_any_dtype(dtype) or pd.api.types.is_timedelta64_dtype(dtype)
    return numbered or isinstance(dtype, pd.PeriodDtype) or pd.api.types.infer_dtype(raw, skipna=True) == "date"


def _matrix(raw: Any, code: str) -> ndarray:
    values = np.asarray(raw)
    if values.dtype == object or values.dtype.kind not in "biuf":
        try:
            if values.dtype.kind in "cmM":
                raise TypeError
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise DataError(f'"{code}" gives a table that is not all numbers (dtype {values.dtype}).') from None
    return np.asarray(values, dtype=np.float64)


def _only_column(numbers: ndarray, code: str) -> ndarray:
    if numbers.shape[1] != 1:
        raise DataError(f'"{code}" makes a factor of {numbers.shape[1]} columns; it takes one.')
    return numbers[:, 0]


def _categorise(values: ndarray, missing: ndarray | None = None) -> pd.Categorical:
    codes, levels = pd.factorize(values, sort=True)
    if missing is not None:
        codes[missing] = -1
    return pd.Categorical.from_codes(codes, categories=levels)


def _with_levels(data: pd.Categorical, levels: list[Any] | None, code: str) -> pd.Categorical:
    if levels is None:
        return data
    codes, unknown = recode(data, levels)
    if unknown:
        raise UnseenLevelError(
            f'"{code}": the data hold {quoted(unknown)}, which levels= ({quoted(levels)}) leaves out.'
        )
    return pd.Categorical.from_codes(codes, categories=pd.Index(levels, dtype=object))


def recode(data: pd.Categorical, levels: list[Any]) -> tuple[ndarray, list[Any]]:
    """Codes of labels with respect to `levels`, matched by value, and the labels that are not among them.

    Examples
    --------
    >>> codes, unknown = recode(pd.Categorical(["b", "z", "a"]), ["a", "b"])
    >>> codes.tolist(), unknown
    ([1, -1, 0], ['z'])
    """
    categories, codes = data.categories.tolist(), np.asarray(data.codes)
    if categories == levels:
        return codes, []
    place = {level: i for i, level in enumerate(levels)}
    target = np.array([*(place.get(c, -1) for c in categories), -1], dtype=np.min_scalar_type(-len(levels) - 1))
    lost = [i for i, c in enumerate(categories) if c not in place]
    unknown = [categories[i] for i in lost if (codes == i).any()] if len(lost) < 50 else _used(categories, codes, lost)
    return target[codes], unknown


def _used(categories: list[Any], codes: ndarray, among: list[int]) -> list[Any]:
    counts = np.bincount(codes[codes >= 0], minlength=len(categories))
    return [categories[i] for i in among if counts[i]]


# ------------------------------------------------------------------------------------------------------- factors
_BY_VALUE = contextvars.ContextVar("by_value", default=False)


@contextlib.contextmanager
def functions_by_value() -> Iterator[None]:
    """Let the pickler decide which of the caller's functions it takes: cloudpickle takes any."""
    token = _BY_VALUE.set(True)
    try:
        yield
    finally:
        _BY_VALUE.reset(token)


def _reference(name: str, value: Any, code: str) -> tuple[str, Any]:
    if isinstance(value, ModuleType):
        return "module", value.__name__
    if _BY_VALUE.get():
        return "value", value
    try:
        pickle.dumps(value)
    except Exception as error:
        raise FormulaError(
            f'the function "{name}" in "{code}" cannot be pickled ({error}): define it at the top level of a module.'
        ) from None
    return "value", value


@dataclass
class Factor:
    """An expression whose kind, levels or width the training rows have fixed.

    Attributes
    ----------
    expression : Expression
        The code.
    levels : list or None
        Levels in order; None for a numerical factor.
    width : int
        Columns of a numerical factor; 0 with levels.
    left_out : list
        Levels seen without a row, hence left out.
    unused : tuple
        Levels that a column or ``C(g, levels=)`` declares and no row has, in a model where their probability is 0: no
        error in new rows, but the codes -2, -3, ...
    """

    expression: Expression
    levels: list[Any] | None
    width: int
    left_out: list[Any] = field(default_factory=list)
    unused: tuple[Any, ...] = ()

    def values(self, value: Value, *, any_level: bool = False) -> ndarray:
        """(n,) level codes or (n, width) numbers; rows without a value hold -1 or NaN.

        With `any_level` a level that the training rows did not have is no error but no value, declared or not.

        Raises
        ------
        UnseenLevelError, DataError
            A level or a kind of value that the training rows did not have.
        """
        code = self.expression.code
        if self.levels is None:
            return self._numbers(value)
        data = value.data if value.labelled else _categorise(_only_column(value.data, code))
        codes, unknown = recode(data, [*self.levels, *self.unused] if self.unused else self.levels)
        if self.unused:
            n = len(self.levels)
            codes = np.where(codes < n, codes, -1 if any_level else n - 2 - codes.astype(np.intp))
        if unknown and not any_level:
            error = self._unseen(unknown)
            error.places = np.flatnonzero((codes == -1) & (np.asarray(data.codes) >= 0))
            raise error
        return codes

    def _numbers(self, value: Value) -> ndarray:
        code = self.expression.code
        data = value.data
        if value.labelled:
            if value.levels != [False, True]:
                raise DataError(
                    f'"{code}" holds labels ({quoted(data.categories, 3)}) where the model was fitted on numbers.'
                )
            data = np.asarray(data.codes, dtype=np.float64)[:, None]
        if data.shape[1] != self.width:
            raise DataError(f'"{code}" gives {data.shape[1]} columns where the model was fitted on {self.width}.')
        return data

    def to_record(self) -> dict[str, Any]:
        """The factor as plain Python objects and arrays, without the caller's functions."""
        e = self.expression
        return {
            "code": e.code,
            "levels": self.levels,
            "width": self.width,
            "left_out": list(self.left_out),
            "transforms": [[name, dict(vars(transform))] for name, transform in e.transforms.items()],
            **({"fixed": list(e.fixed.values())} if e.reductions else {}),
            **({} if e.seen is None else {"across": True}),
            **({"unused": list(self.unused)} if self.unused else {}),
        }

    @classmethod
    def from_record(
        cls, record: Mapping[str, Any], columns: Mapping[str, Any], borrowed: Mapping[str, Any], *, safe: bool
    ) -> Factor:
        """The factor of which `to_record` gave the record.

        Parameters
        ----------
        record : dict
        columns : mapping
            By the names of the table's columns.
        borrowed : mapping
            The caller's functions and constants by name.
        safe : bool
            Whether only the functions on the closed list may be called.
        """
        expression = resolve(record["code"], columns, borrowed, safe=safe)
        if expression.bare is None:
            expression.prepare()
        stored = record["transforms"]
        if [name for name, _ in stored] != list(expression.transforms):
            raise DataError(f'the stored states of "{expression.code}" do not belong to its transforms.')
        for name, state in stored:
            vars(expression.transforms[name]).clear()
            vars(expression.transforms[name]).update(state)
        fixed = record.get("fixed", [])
        if len(fixed) != len(expression.reductions):
            raise DataError(f'the stored numbers of "{expression.code}" are not as many as its code has.')
        expression.fixed = dict(zip(expression.reductions, fixed, strict=True))
        expression.seen = "" if record.get("across") else None  # no digest is stored: all rows are new
        unused = tuple(record.get("unused", ()))
        return cls(expression, record["levels"], record["width"], record["left_out"], unused)

    def references(self) -> dict[str, tuple[str, Any]]:
        """The caller's functions and constants by name, as pickle may keep them.

        Raises
        ------
        FormulaError
            A function that cannot be pickled.
        """
        e = self.expression
        return {name: _reference(name, value, e.code) for name, value in e.borrowed.items()}

    def _unseen(self, unknown: list[Any]) -> UnseenLevelError:
        code, dropped = self.expression.code, [u for u in unknown if u in self.left_out]
        why = f" ({quoted(dropped)} had no rows when the model was fitted)" if dropped else ""
        plural, known = "levels" if len(unknown) > 1 else "level", quoted(self.levels or [])
        if all(isinstance(u, (float, np.floating)) and u.is_integer() for u in unknown):
            unknown = [int(u) for u in unknown]  # a column of whole numbers is read as floats
            if {str(u) for u in unknown} & set(self.levels or []):
                known += ", which are text: give them as text"
        return UnseenLevelError(
            f'"{code}" has {plural} {quoted(unknown)}, which the model does not know{why}; it knows {known}.'
        )


def fit_factor(
    expression: Expression, value: Value, rows: int | None = None, every: bool = False, declared: bool = False
) -> tuple[Factor, ndarray, str | None]:
    """Fix a factor on complete training rows: the Factor, its values, and a note on levels left out.

    Levels given by ``C(..., levels=)`` and the two of a bool all stay; otherwise a level needs a row, unless `every`
    one is wanted. `rows` is how many rows there are, where the values are not those of all; `declared` says that the
    column is a categorical one, whose levels nobody doubts.
    """
    if not value.labelled:
        return Factor(expression, None, value.data.shape[1]), value.data, None
    categories, codes = value.data.categories.tolist(), np.asarray(value.data.codes)
    if len(set(map(str, categories))) < len(categories):
        names = [str(c) for c in categories]
        twice = [c for c in categories if names.count(str(c)) > 1]
        raise DataError(
            f'levels of "{expression.code}" read the same ({quoted(twice)}), so column names occur more than once.'
        )
    if value.levels is not None:
        return Factor(expression, list(value.levels), 0), codes, None
    used = _seen(codes, len(categories))
    if expression.bare is not None and not declared:
        _check_words(expression.bare, categories, len(codes) if rows is None else rows)
        say_blanks(expression.bare, categories)
    elif expression.bare is not None:
        _say_labelled_in_part(expression.bare, categories)
    if every or used.all():
        return Factor(expression, categories, 0), codes, None
    left_out = [c for c, there in zip(categories, used) if not there]
    place = np.cumsum(used) - 1
    codes = place.astype(codes.dtype)[codes]
    plural = ("levels", "have", "were") if len(left_out) > 1 else ("level", "has", "was")
    note = f"{plural[0]} {quoted(left_out)} of {expression.code} {plural[1]} no rows and {plural[2]} left out"
    return Factor(expression, [c for c, there in zip(categories, used) if there], 0, left_out), codes, note


def _check_words(name: str, levels: list[Any], rows: int) -> None:
    """Refuse numbers that came as text, with about a level a row; warn of dates, and where a few stray words made text
    of fewer fractions, which are no codes."""
    if len(levels) < MIN_VALUES or (found := numerals(levels)) is None:
        return
    if found.too_many(rows):
        said = f"{found.said(name)}; C({name}), or a categorical column, has a level for each value"
        if not found.dates:
            raise DataError(f"{said}.")
        warn(said, DataWarning)
    stray = 0 < len(found.words) <= MAX_SHARE_OF_STRAY_WORDS * len(levels)
    if stray and not found.codes and len(levels) >= MIN_LEVELS_OF_STRAY_WORDS:
        warn(f"{found.said(name)}, or say C({name}): it gets a level for each value", DataWarning)


def _say_labelled_in_part(name: str, levels: list[Any]) -> None:
    """Warn of categories that are numbers beside others that are words, as `pandas.read_stata` makes them."""
    bare = [level for level in levels if isinstance(level, numbers.Real) and not isinstance(level, bool)]
    words = [level for level in levels if isinstance(level, str)]
    if bare and words:
        warn(
            f'"{name}" is categorical, with numbers beside words ({quoted(bare, 3)}; {quoted(words, 3)}), as '
            f"pandas.read_stata makes it where only some values have a label: each is a level. C({name}) says that "
            "this is meant; for numbers read it with convert_categoricals=False",
            DataWarning,
        )


def _seen(codes: ndarray, levels: int) -> ndarray:
    """Mask of the levels that have a row, (levels,); as a rule the first rows show that all have."""
    used, start, some = np.zeros(levels, dtype=bool), 0, 8 * levels + 1000
    while start < len(codes) and not used.all():
        used |= np.bincount(codes[start : start + some], minlength=levels) > 0
        start, some = start + some, 2 * some
    return used


def not_finite(data: Any, code: str, index: pd.Index | None) -> None:
    """Raise DataError where numbers are infinite."""
    if isinstance(data, pd.Categorical) or np.isfinite(data.sum()):
        return
    infinite = np.isinf(data).any(axis=1)
    if infinite.any():
        raise DataError(
            f'"{code}" is infinite in {int(infinite.sum())} of {len(data)} rows ({row_labels(infinite, index)}). '
            f"Correct or drop them; a logarithm of 0 is infinite."
        )
