"""The syntax trees of formula factors: which names they use, and whether they stay on a closed list.

A design read from a file, or a formula typed into the shell command, may call numpy's element-wise functions, patsy's
functions and functions the caller supplies by name, and nothing else: `check` walks the tree before anything runs.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from glmclf.errors import FormulaError

MAX_LENGTH = 10_000  # characters of one factor: deeper trees exhaust the parser's stack
FUNCTIONS = frozenset(
    "C I Q bs cr cc te center standardize scale poly rbf sigmoid hinge qcut cut Treatment Sum Poly Helmert Diff".split()
)
AFFINE = frozenset({"I", "Q", "center", "standardize", "scale"})
MONOTONE = frozenset(
    "log log2 log10 log1p exp exp2 expm1 sqrt cbrt tanh arctan sinh arcsinh minimum maximum clip logaddexp".split()
)  # of numpy's, those that are in each argument
CONTRASTS = frozenset({"Treatment", "Sum", "Poly", "Helmert", "Diff"})
NUMPY_NAMES = frozenset({"np", "numpy"})
NUMPY_CONSTANTS = frozenset({"pi", "e", "inf", "nan", "euler_gamma"})
NUMPY_OTHERS = {"where": (3, frozenset[str]()), "clip": (3, frozenset({"a_min", "a_max", "min", "max"}))}
# Methods of columns, and functions of numpy, whose value in a row is of the rows around it or of its group.
OF_NEIGHBOURS = frozenset(
    "shift diff pct_change rolling expanding ewm groupby interpolate ffill bfill pad backfill ediff1d gradient "
    "convolve roll flip".split()
)
# The same, and those whose value in a row depends on other rows otherwise.
ACROSS = OF_NEIGHBOURS | frozenset(
    "rank cumsum cumprod cummax cummin sort_values sort_index argsort sort duplicated drop_duplicates factorize "
    "autocorr unique value_counts rankdata zscore".split()
)

# The closed list of what says itself what becomes of missing values of columns. Functions, methods and attributes:
MISSING_AWARE = frozenset(
    "isnan isna isnull notna notnull isfinite hasnans fillna nan_to_num combine_first fmax fmin".split()
)
MISSING_KEYWORDS = frozenset("na fill_value na_option na_rep dummy_na use_na_sentinel".split())
RECODING = frozenset({"replace", "map", "isin"})  # where what is looked for, which comes first, holds one
PASSING_OVER = "nansum nanprod nanmin nanmax nanmean nanmedian nanstd nanvar".split()  # along axis=
MISSING_LITERALS = frozenset({"nan", "NaN", "NA", "NaT"})

_OPERATORS = (
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.BitAnd, ast.BitOr, ast.BitXor),
    *(ast.UAdd, ast.USub, ast.Not, ast.Invert, ast.And, ast.Or),
    *(ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE),
)


class Names(NamedTuple):
    """Names that one factor's code refers to, by the role they play; not to be changed.

    Attributes
    ----------
    called, rooted, used : sets of str
        Names called as functions, names whose attributes are taken, and all other names.
    quoted : set of str
        Columns named by ``Q("...")``.
    keyword : set of str
        Names that occur only as keyword arguments, hence settings rather than columns.
    attributes : set of str
        Every attribute and function name in the code.
    on_columns : bool
        Whether an attribute is taken of anything but numpy: the code wants pandas objects.
    """

    called: set[str]
    rooted: set[str]
    used: set[str]
    quoted: set[str]
    keyword: set[str]
    attributes: set[str]
    on_columns: bool


kept = functools.lru_cache(maxsize=256)  # of the codes read last: what a text means does not change


@kept
def parse(code: str) -> ast.expr:
    """The syntax tree of a factor; FormulaError where it is not a Python expression."""
    if len(code) > MAX_LENGTH:
        raise FormulaError(
            f'the expression "{code[:60]}..." has {len(code)} characters; at most {MAX_LENGTH} are read.'
        )
    try:
        tree = ast.parse(code, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise FormulaError(f'"{code[:200]}" in the formula is not a valid expression: {error}.') from None
    if _frames(tree) > 0.9 * sys.getrecursionlimit():  # the rest is the caller's
        raise FormulaError(
            f'the expression "{code[:60]}..." is nested too deeply: make a column of it, as in '
            'df.assign(total=df[["a", "b"]].sum(axis=1)).'
        )
    return tree


def _frames(tree: ast.AST) -> int:
    """Bound of the frames of the interpreter that visitors of a tree take."""
    deepest, waiting = 0, [(tree, 0)]
    while waiting:
        node, above = waiting.pop()
        here = above + (4 if isinstance(node, ast.BinOp) else 6)
        deepest = max(deepest, here)
        waiting += [(child, here) for child in ast.iter_child_nodes(node)]
    return deepest


@kept
def names(code: str) -> Names:
    """The names that a factor's code refers to, by the role they play."""
    tree = parse(code)
    found = Names(set(), set(), set(), set(), set(), set(), False)
    _collect(tree, found, in_keyword=False)
    bound = {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    bound |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    for group in (found.called, found.rooted, found.used, found.keyword):
        group -= bound
    columns = any(isinstance(n, ast.Attribute) and dotted(n).split(".")[0] not in NUMPY_NAMES for n in ast.walk(tree))
    return found._replace(keyword=found.keyword - found.used, on_columns=columns)


def _collect(node: ast.AST, found: Names, in_keyword: bool) -> None:
    if isinstance(node, ast.Name):
        (found.keyword if in_keyword else found.used).add(node.id)
    elif isinstance(node, ast.Attribute):
        found.attributes.add(node.attr)
        if isinstance(node.value, ast.Name):
            found.rooted.add(node.value.id)
        else:
            _collect(node.value, found, in_keyword)
    elif isinstance(node, ast.Call):
        _collect_call(node, found, in_keyword)
    else:
        for child in ast.iter_child_nodes(node):
            _collect(child, found, in_keyword)


def _collect_call(node: ast.Call, found: Names, in_keyword: bool) -> None:
    if dotted(node.func) == "Q":
        found.quoted.add(quoted_name(node))
        return
    if isinstance(node.func, ast.Name):
        found.called.add(node.func.id)
        found.attributes.add(node.func.id)
    else:
        _collect(node.func, found, in_keyword)
    for argument in node.args:
        _collect(argument, found, in_keyword)
    for keyword in node.keywords:
        _collect(keyword.value, found, True)


def quoted_name(node: ast.Call) -> str:
    argument = node.args[0] if len(node.args) == 1 and not node.keywords else None
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        return argument.value
    raise FormulaError(f'{ast.unparse(node)}: Q() takes one column name in quotes, as in Q("odd name").')


def dotted_names(code: str, root: str) -> set[str]:
    """Names by which the code calls a name of the caller: ``f``, or ``sp.expit`` for a module ``sp``."""
    called = {dotted(node.func) for node in ast.walk(parse(code)) if isinstance(node, ast.Call)}
    return {name for name in called if name == root or name.startswith(root + ".")} or {root}


@kept
def bare_column(code: str) -> str | None:
    """The column that a factor is and nothing else, ``x`` or ``Q("odd name")``; None for any other code."""
    tree = parse(code)
    if isinstance(tree, ast.Name):
        return tree.id
    return quoted_name(tree) if isinstance(tree, ast.Call) and dotted(tree.func) == "Q" else None


@kept
def categorised(code: str) -> str | None:
    """The column inside ``C(column, ...)``; None for any other code."""
    tree = parse(code)
    if isinstance(tree, ast.Call) and dotted(tree.func) == "C" and tree.args:
        return bare_column(ast.unparse(tree.args[0]))
    return None


def innermost_arguments(code: str, functions: Collection[str]) -> list[str]:
    """Code of the positional arguments of those calls to `functions` that hold no other such call."""

    def calls(node: ast.AST) -> list[ast.Call]:
        return [n for n in ast.walk(node) if isinstance(n, ast.Call) and dotted(n.func) in functions]

    inner = [call for call in calls(parse(code)) if len(calls(call)) == 1]
    return [ast.unparse(a) for call in inner for a in call.args if not isinstance(a, ast.Constant)]


@kept
def subscripts(code: str) -> bool:
    """Whether the code picks or reorders rows by [...]: only a Series notices that its rows are in another order."""
    return any(isinstance(n, ast.Subscript) for n in ast.walk(parse(code)))


@kept
def looks_across(code: str) -> bool:
    """Whether the code calls a method or function whose value in a row depends on other rows, by its name.

    Examples
    --------
    >>> looks_across("x.rank()"), looks_across("np.cumsum(x)"), looks_across("np.log(x)"), looks_across("x.str.pad(3)")
    (True, True, False, False)
    """
    calls = [node.func for node in ast.walk(parse(code)) if isinstance(node, ast.Call)]
    return any(f.attr in ACROSS and _of_column(f) for f in calls if isinstance(f, ast.Attribute))


@kept
def missing_aware(code: str) -> bool:
    """Whether the code says what becomes of missing values, or takes values of other rows, by what it names.

    Examples
    --------
    >>> missing_aware("x.fillna(0)"), missing_aware("x.add(z, fill_value=0)"), missing_aware("x.shift(1)")
    (True, True, True)
    >>> missing_aware("x.replace({np.nan: 0})"), missing_aware("x.replace({9: 0})"), missing_aware("pd.factorize(x)[0]")
    (True, False, False)
    """
    return not MISSING_AWARE.isdisjoint(names(code).attributes) or any(map(_says_missing, ast.walk(parse(code))))


def _says_missing(node: ast.AST) -> bool:
    if isinstance(node, ast.keyword):
        return node.arg in MISSING_KEYWORDS
    if not isinstance(node, ast.Call):
        return False
    name = dotted(node.func).rpartition(".")[2] or getattr(node.func, "attr", "")
    if name in RECODING:
        sought = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "to_replace")]
        keys = [n for value in sought for n in (value.keys if isinstance(value, ast.Dict) else [value])]
        return any(_is_missing(n) for key in keys if key is not None for n in ast.walk(key))
    if name in PASSING_OVER:
        return len(node.args) > 1 or any(k.arg == "axis" for k in node.keywords)
    return name in OF_NEIGHBOURS and _of_column(node.func)


def _is_missing(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return node.value is None or str(node.value).lower() == "nan"  # float("nan")
    return getattr(node, "attr", getattr(node, "id", "")) in MISSING_LITERALS


def _of_column(function: ast.AST) -> bool:
    """Whether a function is no method of text or dates, as x.str.pad."""
    return getattr(getattr(function, "value", None), "attr", None) not in ("str", "dt")


@kept
def grows(code: str) -> bool:
    """Whether the code multiplies or takes powers, which integers may not survive."""
    nodes = list(ast.walk(parse(code)))
    whole = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift, ast.FloorDiv, ast.Mod)
    return any(isinstance(n, (ast.Mult, ast.Pow)) for n in nodes) and not any(isinstance(n, whole) for n in nodes)


@kept
def affine(code: str, column: str) -> bool:
    """Whether the code is a + b column by its syntax: arithmetic, I(), centring and scaling.

    Examples
    --------
    >>> affine("center(2 * x - z)", "x"), affine("np.minimum(x, 10)", "x"), affine("x // 1", "x")
    (True, False, False)
    """
    return _affine(parse(code), column)


def _affine(node: ast.AST, column: str) -> bool:
    if isinstance(node, ast.Name) or not _mentions(node, column):
        return True
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, (ast.UAdd, ast.USub)) and _affine(node.operand, column)
    if isinstance(node, ast.BinOp):
        factor = isinstance(node.op, ast.Mult) and not (_mentions(node.left, column) and _mentions(node.right, column))
        divided = isinstance(node.op, ast.Div) and not _mentions(node.right, column)
        if factor or divided or isinstance(node.op, (ast.Add, ast.Sub)):
            return _affine(node.left, column) and _affine(node.right, column)
        return False
    if not isinstance(node, ast.Call) or dotted(node.func) not in AFFINE:
        return False
    if dotted(node.func) == "Q":
        return True
    others = given_to(node)[1:]
    return bool(node.args) and _affine(node.args[0], column) and not any(_mentions(o, column) for o in others)


@kept
def monotone(code: str, column: str) -> bool:
    """Whether the code is monotone in a column by its syntax: functions on a closed list, one within another.

    Where the code has a value, that is; it may be level in places.

    Examples
    --------
    >>> monotone("np.log(np.minimum(2 - x, z)) ** 3", "x"), monotone("np.abs(x)", "x"), monotone("x**2", "x")
    (True, False, False)
    """
    return _monotone(parse(code), column)


def _monotone(node: ast.AST, column: str) -> bool:
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, (ast.UAdd, ast.USub)) and _monotone(node.operand, column)
    if isinstance(node, ast.BinOp) and not _mentions(node.right, column):
        if isinstance(node.op, ast.Pow):
            return _one_to_one(node.right) and _monotone(node.left, column)
        return isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div)) and _monotone(node.left, column)
    if isinstance(node, ast.BinOp) and not _mentions(node.left, column):
        return isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)) and _monotone(node.right, column)
    if isinstance(node, ast.Call) and dotted(node.func).startswith(tuple(f"{root}." for root in NUMPY_NAMES)):
        parts = [part for part in given_to(node) if _mentions(part, column)]
        return dotted(node.func).partition(".")[2] in MONOTONE and len(parts) == 1 and _monotone(parts[0], column)
    if isinstance(node, ast.Call) and dotted(node.func) == "I" and len(node.args) == 1:
        return _monotone(node.args[0], column)
    return _affine(node, column)


def _one_to_one(power: ast.AST) -> bool:
    """Whether x**power is monotone where it has a value: odd powers, and fractions, which need x >= 0."""
    value = power.value if isinstance(power, ast.Constant) else None
    return isinstance(value, (int, float)) and value > 0 and (value % 2 == 1 or value % 1 != 0)


def _mentions(node: ast.AST, column: str) -> bool:
    """Whether a column is in some code, by its name or as text: Q("x")."""
    return any(getattr(n, "id", None) == column or getattr(n, "value", None) == column for n in ast.walk(node))


# --------------------------------------------------------------------------------------------------- closed list
def check(
    code: str, columns: Collection[str], functions: Collection[str] = (), constants: Mapping[str, Any] | None = None
) -> None:
    """Refuse code that does anything but arithmetic on columns and calls on a closed list.

    Parameters
    ----------
    code : str
        A factor, say ``bs(np.log(x), df=4)``.
    columns : collection of str
        Names of the table's columns.
    functions : collection of str
        Functions the caller supplies: a name, or a dotted name such as ``sp.expit``.
    constants : mapping, optional
        Numbers and arrays that the code may use by name.

    Raises
    ------
    FormulaError
        Naming the expression that is not on the list.
    """
    Checker(set(columns), set(functions), dict(constants or {})).visit(parse(code))


class Checker:
    def __init__(self, columns: set[str], functions: set[str], constants: dict[str, Any]):
        self.columns, self.functions, self.constants = columns, functions, constants

    def visit(self, node: ast.AST) -> None:
        rule = getattr(self, "_" + type(node).__name__.lower(), None)
        if rule is None:
            raise refused(node)
        rule(node)

    def _constant(self, node: ast.Constant) -> None:
        if not (node.value is None or isinstance(node.value, (bool, int, float, str))):
            raise refused(node)
        if isinstance(node.value, int):
            self._folded(node)

    def _name(self, node: ast.Name) -> None:
        if node.id not in self.columns and node.id not in self.constants and node.id not in CONTRASTS:
            raise refused(node)

    def _list(self, node: ast.List | ast.Tuple) -> None:
        for element in node.elts:
            self.visit(element)

    _tuple = _list

    def _attribute(self, node: ast.Attribute) -> None:
        root, _, name = dotted(node).partition(".")
        if root not in NUMPY_NAMES or root in self.columns or name not in NUMPY_CONSTANTS:
            raise refused(node)

    def _unaryop(self, node: ast.UnaryOp) -> None:
        self._operator(node.op, node)
        self.visit(node.operand)

    def _boolop(self, node: ast.BoolOp) -> None:
        for value in node.values:
            self.visit(value)

    def _compare(self, node: ast.Compare) -> None:
        for op in node.ops:
            self._operator(op, node)
        for side in (node.left, *node.comparators):
            self.visit(side)

    def _binop(self, node: ast.BinOp) -> None:
        self._operator(node.op, node)
        for side in (node.left, node.right):
            self.visit(side)
            if self._sequence(side):  # "a" * 10**9 and [0] * 10**9 exhaust the memory
                raise refused(node, "arithmetic on text and lists")
        self._folded(node)

    def _operator(self, op: ast.AST, node: ast.AST) -> None:
        if not isinstance(op, _OPERATORS):
            raise refused(node)

    def _sequence(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Name) and node.id in self.constants and node.id not in self.columns:
            return isinstance(self.constants[node.id], (str, list, tuple))
        return isinstance(node, (ast.List, ast.Tuple)) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str)
        )

    def _folded(self, node: ast.AST) -> float | None:
        """Bound of a constant expression, None where columns are in it: 9**9**9 must not be evaluated in integers."""
        if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
            return self._bounded(lambda: abs(float(node.value)), node)
        if isinstance(node, ast.Name) and isinstance(self.constants.get(node.id), (bool, int, float)):
            return self._bounded(lambda: abs(float(self.constants[node.id])), node)
        if isinstance(node, ast.UnaryOp):
            return self._folded(node.operand)
        if not isinstance(node, ast.BinOp):
            return None
        left, right = self._folded(node.left), self._folded(node.right)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Pow):
            return self._bounded(lambda: max(left, 1.0) ** max(right, 1.0), node)
        return self._bounded(lambda: max(left, 1.0) * max(right, 1.0) + left + right, node)

    def _bounded(self, value: Any, node: ast.AST) -> float:
        try:
            bound = value()
        except OverflowError:
            bound = np.inf
        if isinstance(node, ast.BinOp) and not bound < 1e300:
            raise refused(node, "constants this large")
        if isinstance(node, ast.Constant) and isinstance(node.value, int) and not bound < 1e300:
            raise refused(node, "constants this large")
        return bound

    def _call(self, node: ast.Call) -> None:
        if any(k.arg is None for k in node.keywords):
            raise refused(node)
        name = dotted(node.func)
        if name in self.functions:
            pass
        elif name.partition(".")[0] in NUMPY_NAMES - self.columns and "." in name:
            check_numpy(node, name.partition(".")[2])
        elif name not in FUNCTIONS or (name == "Q" and quoted_name(node) not in self.columns):
            raise refused(node)
        for argument in given_to(node):
            self.visit(argument)


def given_to(node: ast.Call) -> list[ast.expr]:
    """Arguments of a call, by place and by keyword."""
    return [*node.args, *(k.value for k in node.keywords)]


def check_numpy(node: ast.Call, name: str) -> None:
    """A numpy call with inputs only: the third argument of np.add would be written into."""
    if name in NUMPY_OTHERS:
        most, keywords = NUMPY_OTHERS[name]
    else:
        function = getattr(np, name, None) if name.isidentifier() and not name.startswith("_") else None
        if not isinstance(function, np.ufunc) or function.signature is not None:
            raise refused(node)
        most, keywords = function.nin, frozenset()
    if len(node.args) > most or any(k.arg not in keywords for k in node.keywords):
        raise refused(node, "these arguments of a numpy function")


def dotted(node: ast.AST) -> str:
    """``a.b.c`` as text; empty for anything else than names joined by dots."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        root = dotted(node.value)
        return f"{root}.{node.attr}" if root else ""
    return ""


def refused(node: ast.AST, what: str = "this") -> FormulaError:
    """The error for an expression off the closed list."""
    code = ast.unparse(node)
    name = dotted(node.func) if isinstance(node, ast.Call) else ""
    name = name or (dotted(node) if isinstance(node, (ast.Name, ast.Attribute)) else "") or "f"
    reason = (
        f'"{code[:200]}": {what} is not among what a stored or restricted formula may do (columns, operators, numpy\'s '
        f"element-wise functions, patsy's and glmclf's transforms)."
    )
    error = FormulaError(
        f'{reason} If you trust it, supply the function in Python: load(path, functions={{"{name}": ...}}).'
    )
    error.reason = reason
    return error
