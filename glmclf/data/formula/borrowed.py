"""Objects of the caller that a formula uses besides the table, in words that compare: names of functions, numbers."""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
from collections.abc import Iterator, Mapping
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import pandas as pd

MAX_DEPTH = 6  # levels of nested values that are printed
MAX_PRINTED_LENGTH = 40  # characters of text that is printed in full
MAX_PRINTED_NUMBERS = 1000  # numbers of an array that are printed one by one
PLAIN = (bool, int, float, complex, str, bytes, type(None))
CHAIN = (ast.Name, ast.Attribute, ast.Subscript)
FUNCTION = "function "  # before the name of one


def described(code: str, columns: Any, borrowed: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the caller's that a factor uses, by how its code writes them (``k``, ``mu.z``, ``f``).

    Numbers and short text are themselves. Of a function there are its name and the numbers that it holds, as defaults
    or from where it was made, but not its code; of long text and large arrays the beginning and a digest.
    """
    if not borrowed:
        return {}
    found = {}
    for node in _chains(ast.parse(code, mode="eval"), set(borrowed), set(columns)):
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
