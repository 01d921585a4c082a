"""Code whose value in a row is of that row alone, as rows in parts ask for it: by its syntax, or by what is declared.

A closed list decides, of operators, numpy's element-wise functions, methods of columns and transforms that remember
their rows. Nothing is tried: of other code, and of functions of the caller's that are not declared to be `rowwise`, it
is not known.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd

from glmclf.data.formula import expressions
from glmclf.data.formula.expressions import FUNCTIONS, NUMPY_NAMES, Checker, dotted, given_to, parse, refused
from glmclf.errors import FormulaError

MARK = "__glmclf_rowwise__"
ROWWISE_METHODS = frozenset(
    "abs round clip between isin isna isnull notna notnull fillna astype map apply where mask to_numpy combine_first "
    "eq ne lt le gt ge add sub mul div truediv floordiv mod pow radd rsub rmul rdiv rtruediv".split()
)  # of a column
FROM_OTHER_ROWS = frozenset({"method", "limit", "axis", "ambiguous", "by_row", "inplace"})  # their keywords
ATTRIBUTES = frozenset({"values"})  # of a column
OF_TEXT = frozenset(
    "upper lower title capitalize swapcase casefold strip lstrip rstrip len contains startswith endswith match "
    "fullmatch find rfind count replace slice get pad center ljust rjust zfill removeprefix removesuffix isalpha "
    "isdigit isnumeric isdecimal isalnum isspace islower isupper istitle".split()
)  # methods of x.str
OF_DATES = frozenset(
    "year month day hour minute second microsecond nanosecond dayofweek day_of_week weekday dayofyear day_of_year "
    "quarter days_in_month daysinmonth is_month_start is_month_end is_quarter_start is_quarter_end is_year_start "
    "is_year_end is_leap_year date time days seconds total_seconds floor ceil round normalize day_name month_name "
    "strftime".split()
)  # attributes and methods of x.dt
CAST_TYPES = frozenset({"float", "int", "str", "bool"})
TYPE_NAMES = CAST_TYPES | {"float32", "float64", "int32", "int64", "Int64", "Float64", "boolean", "string"}
OF_ROWS = {"isin": 0, "digitize": 0, "interp": 0, "searchsorted": 1}  # of numpy's: the argument that is of the rows
WITH_SETTINGS = {
    "round": {"decimals"}, "around": {"decimals"}, "asarray": {"dtype"}, "nan_to_num": {"nan", "posinf", "neginf"}
}  # fmt: skip  # of numpy's: keywords beside the argument of the rows
BUILT_IN = frozenset({"abs", "round"})
MOMENTS = (np.datetime64, np.timedelta64, pd.Timestamp, pd.Timedelta)  # single values, where they are of no column
ALL_OF_ROWS = frozenset({"te", "I", "Q"})  # transforms that take no settings, or columns only


_OF_COLUMN = frozenset(
    "mean median std var min max sum prod count quantile sem skew kurt kurtosis nunique".split()
)  # methods that reduce a column to one number
_OF_NUMPY = frozenset(
    "mean median std var min max amin amax sum prod ptp average quantile percentile nanmean nanmedian nanstd nanvar "
    "nanmin nanmax nansum nanquantile nanpercentile count_nonzero".split()
)
_SHARES = frozenset({"quantile", "percentile", "nanquantile", "nanpercentile"})  # which take a share besides
_SETTINGS = frozenset({"ddof", "q", "skipna", "interpolation", "method", "min_count"})  # keywords, of no other axis
_OF_PYTHON = frozenset({"min", "max", "sum", "len"})
REDUCING = _OF_COLUMN | _OF_NUMPY | _OF_PYTHON
REMEMBERED = "_fit{}_"  # names of what the rows of a fit were reduced to


def rowwise(function: Callable) -> Callable:
    """Declare that a function's value in a row is of that row alone, so that formulas over data in parts may use it.

    Parameters
    ----------
    function : callable
        Of columns, one value for each row. Its value in a row must not depend on other rows (a mean, a rank, a lag):
        it is called for each part of the data by itself, and nothing checks it.

    Returns
    -------
    callable
        The function; it is pickled, saved and loaded as any function.

    Raises
    ------
    TypeError
        This is no function, or a transform that remembers rows.

    See Also
    --------
    Logit.from_formula : `data=` that comes in parts.

    Examples
    --------
    >>> import numpy as np
    >>> import glmclf
    >>> fair = glmclf.datasets.load("fair")
    >>> @glmclf.rowwise
    ... def early(age, years):
    ...     return np.where(age - years < 20, 1.0, 0.0)
    >>> halves = lambda: iter([fair[:3000], fair[3000:]])
    >>> res = glmclf.Logit.from_formula("I(affairs > 0) ~ early(age, yrs_married)", halves).fit()
    >>> res.params.round(3).to_dict()
    {'Intercept': -0.961, 'early(age, yrs_married)': 0.364}
    """
    if not callable(function) or hasattr(function, "__patsy_stateful_transform__"):
        what = "remembers rows" if callable(function) else f"is of type {type(function).__name__}"
        raise TypeError(f"rowwise() takes a function of columns, of each row alone; this {what}")
    try:
        setattr(function, MARK, True)
    except (AttributeError, TypeError):  # of functions that are not written in Python, and of methods
        return function if is_rowwise(function) else Declared(function)
    return function


class Declared:
    """A function that is declared to be `rowwise` and cannot hold the mark itself.

    Parameters
    ----------
    function : callable
    """

    def __init__(self, function: Callable):
        self.function, self.__name__ = function, getattr(function, "__name__", type(function).__name__)
        setattr(self, MARK, True)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def is_rowwise(function: Any) -> bool:
    """Whether a function is element-wise by its type, or is declared to be `rowwise`."""
    return (isinstance(function, np.ufunc) and function.signature is None) or getattr(function, MARK, False) is True


def function_in(piece: str, caller: Mapping[str, Any]) -> str:
    """The function of the caller's that a piece of code is, or calls by its name; empty where it is none."""
    node = parse(piece)
    name = dotted(node.func if isinstance(node, ast.Call) else node)
    return name if callable(caller.get(name)) else ""


def with_reductions_named(code: str, columns: Collection[str], caller: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """Code with names in place of numbers that columns are reduced to, and the code of each: a mean, a maximum.

    As `center` does, a fit remembers these numbers, where all else in the code is of each row alone; other code stays
    as it is.

    Examples
    --------
    >>> with_reductions_named("I((x - x.min()) / np.std(z))", ["x", "z"], {})
    ('I((x - _fit0_) / _fit1_)', {'_fit0_': 'x.min()', '_fit1_': 'np.std(z)'})
    >>> with_reductions_named("x - x.rank().mean()", ["x"], {})
    ('x - x.rank().mean()', {})
    """
    naming = _Naming(set(columns), caller)
    tree = naming.visit(copy.deepcopy(parse(code)))
    if not naming.found:
        return code, {}
    written = ast.unparse(tree)
    known = {**caller, **dict.fromkeys(naming.found, 0.0)}
    return (code, {}) if unknown(written, columns, known) else (written, naming.found)


def check_closed(
    code: str, columns: Collection[str], functions: Mapping[str, Any], constants: Mapping[str, Any]
) -> None:
    """Refuse code off the closed list, but for numbers that columns are reduced to; see `expressions.check`."""
    written, reductions = with_reductions_named(code, columns, {**constants, **functions})
    expressions.check(written, columns, functions, {**constants, **dict.fromkeys(reductions, 0.0)})


class _Naming(ast.NodeTransformer):
    """Transformer that puts a name in place of each number that a column, or code of each row alone, is reduced to."""

    def __init__(self, columns: set[str], caller: Mapping[str, Any]):
        self.columns, self.caller, self.found = columns, caller, dict[str, str]()

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        reduced, settings = self._reduced(node)
        known = {**self.caller, **dict.fromkeys(self.found, 0.0)}
        if reduced is None or not _uses(reduced, self.columns) or any(_uses(s, self.columns) for s in settings):
            return node
        if unknown(ast.unparse(reduced), self.columns, known):
            return node
        name = REMEMBERED.format(len(self.found))
        self.found[name] = ast.unparse(node)
        return ast.Name(name, ast.Load())

    def _reduced(self, node: ast.Call) -> tuple[ast.expr | None, list[ast.expr]]:
        """What a call reduces, and its settings; None where it reduces nothing."""
        name = dotted(node.func)
        root, _, rest = name.partition(".")
        numpy = root in NUMPY_NAMES - self.columns and rest in _OF_NUMPY
        python = name in _OF_PYTHON - self.columns - self.caller.keys() and len(node.args) == 1
        function = rest if numpy else name if python else getattr(node.func, "attr", "")
        settings = node.args[1 if numpy or python else 0 :]
        if any(k.arg not in _SETTINGS for k in node.keywords) or len(settings) > (1 if function in _SHARES else 0):
            return None, []
        if (numpy or python) and node.args:
            return node.args[0], [*settings, *(k.value for k in node.keywords)]
        if isinstance(node.func, ast.Attribute) and node.func.attr in _OF_COLUMN and not numpy:
            return node.func.value, [*settings, *(k.value for k in node.keywords)]
        return None, []

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node


def unknown(
    code: str,
    columns: Collection[str],
    caller: Mapping[str, Any],
    functions: Collection[str] = (),
    attributes: Collection[str] = ATTRIBUTES,
) -> str:
    """The first piece of code of which it is not known to be of each row alone; empty where there is none.

    Parameters
    ----------
    code : str
    columns : collection of str
    caller : mapping
        Variables of the caller's that are in the code.
    functions : collection of str
        Names of other functions that are element-wise.
    attributes : collection of str
        Attributes of columns that may be taken.

    Examples
    --------
    >>> unknown("g.str.upper() == 'A'", ["g"], {}), unknown("x.fillna(x.mean())", ["x"], {})
    ('', 'x.mean()')
    """
    try:
        _Alone(set(columns), caller, set(functions), attributes).visit(parse(code))
    except FormulaError as error:
        return getattr(error, "piece", "") or code
    return ""


class _Alone(Checker):
    """Visitor that refuses code that is not of each row alone, by its syntax and by what is declared."""

    def __init__(self, columns: set[str], caller: Mapping[str, Any], functions: set[str], attributes: Collection[str]):
        kinds = (list, tuple, set, frozenset, dict)
        plain = {name: value for name, value in caller.items() if isinstance(value, kinds) or np.isscalar(value)}
        super().__init__(columns, functions | BUILT_IN, plain)
        self.caller, self.attributes = caller, attributes

    def visit(self, node: ast.AST) -> None:
        try:
            super().visit(node)
        except FormulaError as error:
            error.piece = getattr(error, "piece", None) or ast.unparse(node)  # type: ignore[attr-defined]
            raise

    def _name(self, node: ast.Name) -> None:
        super()._name(node)
        if node.id not in self.columns and isinstance(self.constants.get(node.id), (list, tuple, set, dict)):
            raise _off(node)  # beside a column it would be a value a row

    def _list(self, node: ast.List | ast.Tuple) -> None:
        raise _off(node)

    _tuple = _list

    def _compare(self, node: ast.Compare) -> None:
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            self.visit(node.left)
            self._setting(node.comparators[0])
        else:
            super()._compare(node)

    def _attribute(self, node: ast.Attribute) -> None:
        if self._accessor(node) == "dt" and node.attr in OF_DATES:
            return
        if node.attr in self.attributes and self._uses_columns(node):
            self.visit(node.value)
        elif not np.isscalar(self._of_caller(node)):
            super()._attribute(node)

    def _subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "str":
            self.visit(node.value.value)
            self._setting(node.slice)
        elif not np.isscalar(self._of_caller(node)):
            raise _off(node)

    def _of_caller(self, node: ast.AST) -> Any:
        """Object that a name of the caller's or of numpy stands for, or an attribute or constant
        item of it; else None."""
        if isinstance(node, ast.Name):
            return None if node.id in self.columns else np if node.id in NUMPY_NAMES else self.caller.get(node.id)
        if not isinstance(node, (ast.Attribute, ast.Subscript)) or (owner := self._of_caller(node.value)) is None:
            return None
        if isinstance(node, ast.Attribute):
            return getattr(owner, node.attr, None)
        try:
            return owner[node.slice.value] if isinstance(node.slice, ast.Constant) else None
        except Exception:  # of whatever has no such item
            return None

    def _accessor(self, node: ast.Attribute) -> str:
        """Accessor ``str`` or ``dt`` through which an attribute is got from a column; empty if through neither."""
        through = node.value
        if not isinstance(through, ast.Attribute) or through.attr not in ("str", "dt"):
            return ""
        self.visit(through.value)
        return through.attr

    def _call(self, node: ast.Call) -> None:
        given, name = given_to(node), dotted(node.func)
        root, _, rest = name.partition(".")
        if any(k.arg is None for k in node.keywords):
            raise _off(node)
        if any(self._of_caller(node.func) is moment for moment in MOMENTS) and not any(map(self._uses_columns, given)):
            return
        if root in NUMPY_NAMES - self.columns and rest:
            self._numpy(node, rest)
        elif (function := self._of_caller(node.func)) is not None:
            self._declared(node, function)
        elif isinstance(node.func, ast.Attribute):
            self._method(node, node.func)
        elif name in FUNCTIONS - ALL_OF_ROWS and node.args:
            self.visit(node.args[0])
            for argument in given[1:]:
                if self._uses_columns(argument):
                    self.visit(argument)
        else:
            super()._call(node)

    def _declared(self, node: ast.Call, function: Any) -> None:
        """Check the call of a function of the caller's, of columns and numbers."""
        if not is_rowwise(function):
            raise _off(node)
        if isinstance(function, np.ufunc) and (node.keywords or len(node.args) > function.nin):
            raise _off(node)  # the argument after these would be written into
        for argument in given_to(node):
            self.visit(argument)

    def _numpy(self, node: ast.Call, name: str) -> None:
        if name in OF_ROWS and len(node.args) > OF_ROWS[name]:
            for i, argument in enumerate(node.args):
                (self.visit if i == OF_ROWS[name] else self._setting)(argument)
            for keyword in node.keywords:
                self._setting(keyword.value)
        elif name == "column_stack" and len(node.args) == 1 and isinstance(node.args[0], (ast.List, ast.Tuple)):
            for column in node.args[0].elts:
                self.visit(column)
        elif name in WITH_SETTINGS and len(node.args) <= 1 + (name == "round"):
            for argument in node.args:
                self.visit(argument)
            for keyword in node.keywords:
                if keyword.arg not in WITH_SETTINGS[name]:
                    raise _off(node)
                self._setting(keyword.value)
        else:
            super()._call(node)

    def _method(self, node: ast.Call, method: ast.Attribute) -> None:
        accessor = self._accessor(method)
        if accessor:
            if method.attr not in (OF_TEXT if accessor == "str" else OF_DATES):
                raise _off(node)
        else:
            self.visit(method.value)
            if method.attr not in ROWWISE_METHODS:
                raise _off(node)
        if not FROM_OTHER_ROWS.isdisjoint(k.arg for k in node.keywords):
            raise _off(node)
        for argument in given_to(node):
            if method.attr == "astype" and not accessor:
                self._type(argument)
            elif method.attr in ("map", "apply") and not accessor:
                self._mapping(argument, method.attr == "map")
            elif accessor or method.attr == "isin":
                self._setting(argument)
            else:
                self.visit(argument)

    def _type(self, node: ast.AST) -> None:
        if not (getattr(node, "id", None) in CAST_TYPES - self.columns or getattr(node, "value", None) in TYPE_NAMES):
            raise _off(node)

    def _mapping(self, node: ast.expr, table: bool) -> None:
        """Check a mapping of values to values: a function of one value, or a table."""
        if isinstance(node, ast.Lambda):
            self._lambda(node)
        elif getattr(node, "id", None) not in CAST_TYPES - self.columns and not is_rowwise(self._of_caller(node)):
            self._setting(node)
            if not table or callable(self._of_caller(node)):
                raise _off(node)

    def _lambda(self, node: ast.Lambda) -> None:
        """Check a lambda: it uses its own argument, numbers, declared functions and built-ins, and nothing
        that it could fill."""
        own = {argument.arg for argument in ast.walk(node) if isinstance(argument, ast.arg)}
        if node.args.defaults or node.args.kw_defaults:
            raise _off(node)
        for name in ast.walk(node):
            if isinstance(name, ast.Name) and name.id not in own:
                value = self._of_caller(name)
                built_in = value is np or (value is None and hasattr(builtins, name.id) and name.id not in self.columns)
                if not built_in and not np.isscalar(value) and not is_rowwise(value):
                    raise _off(name)

    def _setting(self, node: ast.AST) -> None:
        """Check a setting: any code without columns, as a number, a list or edges."""
        if self._uses_columns(node):
            raise _off(node)

    def _uses_columns(self, node: ast.AST) -> bool:
        return _uses(node, self.columns)


def _uses(node: ast.AST, columns: set[str]) -> bool:
    """Whether columns are in some code, by their names or as ``Q("x")``."""
    nodes = list(ast.walk(node))
    quoted = any(isinstance(n, ast.Call) and dotted(n.func) == "Q" for n in nodes)
    return quoted or any(isinstance(n, ast.Name) and n.id in columns for n in nodes)


def _off(node: ast.AST) -> FormulaError:
    """The error of a piece of code that is not on the list."""
    error = refused(node)
    error.piece = ast.unparse(node)  # type: ignore[attr-defined]
    return error
