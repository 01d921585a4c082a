"""Objects of the caller that a formula uses besides the table, in words that compare: names of functions, numbers."""

from __future__ import annotations

import ast
import contextlib
import copy
import functools
import hashlib
import io
import pickle
from collections.abc import Container, Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import pandas as pd

from glmclf.data.formula import expressions

MAX_DEPTH = 6  # levels of nested values that are printed
MAX_PRINTED_LENGTH = 40  # characters of text that is printed in full
MAX_PRINTED_NUMBERS = 1000  # numbers of an array that are printed one by one
PLAIN = (bool, int, float, complex, str, bytes, type(None))
CHAIN = (ast.Name, ast.Attribute, ast.Subscript)
FUNCTION = "function "  # before the name of one


def with_values_named(
    code: str, columns: Container[str], caller: Mapping[str, Any], ours: Container[str] | None
) -> tuple[str, dict[str, Any], dict[str, str]]:
    """Code with names in place of what it takes from the caller's tables and other objects, as the values that it has.

    A formula needs ``table.x.mean()``, a number, and no row of the table; a change of the table changes no fit.

    Parameters
    ----------
    code : str
    columns : container of str
        Names of the columns: what uses one has no value of its own.
    caller : mapping
        The caller's variables. Of a design that is read again, the values by the names that they were given.
    ours : container of str or None
        Names that are not the caller's: functions and transforms of formulas. None where nothing may be evaluated, of
        code that is not trusted or read again.

    Returns
    -------
    code : str
    values : dict
        By name.
    pieces : dict of str
        The code that each name stands for.

    Examples
    --------
    >>> table = pd.DataFrame({"x": [1.0, 3.0]})
    >>> code, values, pieces = with_values_named("I(x - table.x.mean())", ["x"], {"table": table}, ["I"])
    >>> [float(value) for value in values.values()], list(pieces.values())
    ([2.0], ['table.x.mean()'])
    """
    naming = _NamingValues(columns, caller, ours)
    tree = naming.visit(copy.deepcopy(expressions.parse(code)))
    return (ast.unparse(tree), naming.values, naming.pieces) if naming.values else (code, {}, {})


def _is_settled(value: Any) -> bool:
    """Whether a value is kept as it is: a number or text, or a function or module, kept by its name."""
    return isinstance(value, (*PLAIN, np.generic, ModuleType, type, FunctionType, BuiltinFunctionType, np.ufunc))


class _NamingValues(ast.NodeTransformer):
    """Transformer that puts a name in place of each largest piece that uses objects of the caller and no column."""

    def __init__(self, columns: Container[str], caller: Mapping[str, Any], ours: Container[str] | None):
        self.columns, self.caller, self.ours = columns, caller, ours
        self.values, self.pieces = dict[str, Any](), dict[str, str]()

    def visit(self, node: ast.AST) -> Any:
        if not isinstance(node, ast.expr) or isinstance(node, (ast.Name, ast.Constant)):
            return super().visit(node)
        if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            return node
        piece = ast.unparse(node)
        name = f"{NAMED}{_digest(piece.encode())}"
        found = self.caller[name] if name in self.caller else self._value(node)
        if found is _NONE:
            return super().visit(node)
        self.values[name], self.pieces[name] = found, piece
        return ast.Name(name, ast.Load())

    def _value(self, node: ast.expr) -> Any:
        """Value of a piece of code, where it is one to keep."""
        if self.ours is None:
            return _NONE
        used = _names(node)
        if any(name in self.columns or name in self.ours for name in used):
            return _NONE
        if all(_is_settled(self.caller[name]) for name in used if name in self.caller):
            return _NONE
        if any(isinstance(n, ast.NamedExpr) for n in ast.walk(node)):
            return _NONE
        try:
            value = eval(compile(ast.Expression(node), "<formula>", "eval"), {"np": np, "numpy": np, **self.caller})
        except Exception:  # its error comes where the factor is evaluated
            return _NONE
        return _kept(value)


NAMED = "_own_"  # begins the names of values of the caller's
_NONE: Any = object()


def _kept(value: Any) -> Any:
    """A copy of a value that a formula may keep: numbers, text, arrays and containers of them."""
    if isinstance(value, (*PLAIN, np.generic, pd.Timestamp, pd.Timedelta)):
        return value
    if isinstance(value, (np.ndarray, pd.Series, pd.Index, pd.api.extensions.ExtensionArray)):
        return value.copy()
    if isinstance(value, (list, tuple, dict, set, frozenset)):
        return copy.deepcopy(value)
    return _NONE


def rows_in(value: Any, rows: float) -> str:
    """What a value holds, itself or within, that may be rows of the caller's: empty for nothing.

    Parameters
    ----------
    value : object
        A constant or function that a formula keeps. What is pickled by name, as functions of modules are, holds none.
    rows : float
        Rows of the fit.
    """
    watch = _Watch(rows)
    with contextlib.suppress(Exception):  # what cannot be pickled is kept nowhere
        watch.dump(value)
    return watch.found


class _Watch(pickle.Pickler):
    """Pickler that looks for tables and long arrays, and writes nothing of use."""

    def __init__(self, rows: float):
        super().__init__(io.BytesIO())
        self.rows, self.found = rows, ""

    def persistent_id(self, value: Any) -> Any:
        arrays = (np.ndarray, pd.Series, pd.Index, pd.api.extensions.ExtensionArray)
        if isinstance(value, pd.DataFrame):
            self.found = self.found or f"a table of {len(value)} rows"
        elif isinstance(value, arrays) and np.ndim(value) and len(value) > 1:
            if len(value) >= self.rows or np.size(value) > MAX_PRINTED_NUMBERS:
                self.found = self.found or f"an array of {len(value)} values"
        return None


def described(e: Any) -> dict[str, Any]:
    """The values of the caller's that an Expression uses, by how its code writes them (``k``, ``mu.z``, ``f``).

    Numbers and short text are themselves. Of a function there are its name and the numbers that it holds, as defaults
    or from where it was made, but not its code; of long text and large arrays the beginning and a digest.
    """
    borrowed = e.borrowed
    found = {piece: in_words(borrowed[name]) for name, piece in e.pieces.items()}
    for node in _chains(ast.parse(e.plain, mode="eval"), set(borrowed) - set(e.pieces), set(e.columns)):
        text = ast.unparse(node)
        try:
            value = eval(compile(ast.Expression(node), "<formula>", "eval"), dict(borrowed))
        except Exception:  # of a name that is no borrowed one: what it starts from has to do
            text = _root(node)
            value = borrowed[text]
        if not isinstance(value, ModuleType):
            found[text] = in_words(value)
    return found


def labelled_rows(code: str, columns: Any, borrowed: Mapping[str, Any], n: int) -> str:
    """The first pandas object of the caller's in some code, alone or as ``d.z``, that has `n` rows; empty if none."""
    tables = {name for name, value in borrowed.items() if isinstance(value, (pd.Series, pd.DataFrame))}
    for node in _chains(ast.parse(code, mode="eval"), tables, set(columns)) if tables else ():
        with contextlib.suppress(Exception):  # evaluating the factor will tell
            value = eval(compile(ast.Expression(node), "<formula>", "eval"), dict(borrowed))
            if isinstance(value, (pd.Series, pd.DataFrame)) and len(value) == n:
                return ast.unparse(node)
    return ""


def _chains(tree: ast.AST, names: set[str], columns: set[str]) -> Iterator[Any]:
    """The longest attributes and items of borrowed names that use no column."""
    if isinstance(tree, CHAIN) and _root(tree) in names and not columns & _names(tree):
        yield tree
        return
    for child in ast.iter_child_nodes(tree):
        yield from _chains(child, names, columns)


def _root(node: Any) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _names(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def in_words(value: Any) -> Any:
    """A number or text as it is, anything else as it is printed, or as the beginning of that and a digest."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and np.isfinite(value)):
        return value
    text = _printed(value, MAX_DEPTH)
    return text if len(text) <= MAX_PRINTED_LENGTH else f"{text[: MAX_PRINTED_LENGTH // 2]}... {_digest(text.encode())}"


def functions_of(words: Mapping[str, Any]) -> list[str]:
    """The names that stand for functions among what `described` gives."""
    return [name for name, text in words.items() if str(text).startswith(FUNCTION)]


def _digest(text: bytes) -> str:
    return hashlib.blake2b(text, digest_size=6).hexdigest()


def _number(value: Any) -> Any:
    """Number with whole numbers as the floats that they equal."""
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53
    return float(value) if whole else value


def _printed(value: Any, deep: int) -> str:
    """Text that is equal for equal values, whichever objects they are."""
    if isinstance(value, PLAIN):
        return repr(_number(value))
    if deep == 0:
        return type(value).__qualname__
    inner = functools.partial(_printed, deep=deep - 1)
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biuf" and value.size > MAX_PRINTED_NUMBERS:
        return f"{value.shape} numbers {_digest(np.ascontiguousarray(value, dtype=float).tobytes())}"
    if isinstance(value, (np.ndarray, np.generic, pd.Index, pd.api.extensions.ExtensionArray)):
        return inner(np.asarray(value).tolist())
    if isinstance(value, pd.Series):
        return f"Series {inner(value.to_numpy())} by {inner(value.index)}"
    if isinstance(value, pd.DataFrame):
        return f"DataFrame {inner([(str(name), column) for name, column in value.items()])}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(sorted(f"{inner(k)}: {inner(v)}" for k, v in value.items())) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(inner, value)) + "]"
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(map(inner, value))) + "}"
    if callable(value) or isinstance(value, ModuleType):
        return FUNCTION + _called(value, inner)
    text = repr(value)
    return text if " at 0x" not in text else f"{type(value).__qualname__} {inner(getattr(value, '__dict__', {}))}"


def _called(value: Any, inner: Any) -> str:
    """The name of a function, with the numbers that it holds."""
    if isinstance(value, functools.partial):
        return f"{inner(value.func)} of {inner(value.args)} {inner(value.keywords)}"
    if isinstance(value, MethodType):
        return f"{value.__func__.__qualname__} of {inner(value.__self__)}"
    name = str(getattr(value, "__qualname__", None) or getattr(value, "__name__", type(value).__qualname__))
    if not isinstance(value, FunctionType):
        inside = {} if isinstance(value, (type, ModuleType)) else getattr(value, "__dict__", {})
        return f"{name} {inner(inside)}" if inside else name
    held = [value.__defaults__, value.__kwdefaults__, [_enclosed(cell) for cell in value.__closure__ or ()]]
    return f"{name} {inner(held)}" if any(held) else name


def _enclosed(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not yet bound
        return None
