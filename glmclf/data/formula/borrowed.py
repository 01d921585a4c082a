"""What a formula takes from the caller besides the table, in words that compare."""

from __future__ import annotations

import ast
import dis
import functools
import hashlib
import os
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

DEEP = 8  # levels of what holds what
SHORT, FEW = 40, 8  # characters, and numbers, that are shown as they are
PLAIN = (bool, int, float, str, type(None))
INSTALLED = (os.path.dirname(os.__file__) + os.sep, "site-packages", "dist-packages")
CHAIN = (ast.Name, ast.Attribute, ast.Subscript)


def described(code: str, columns: Any, borrowed: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the caller's that a factor uses, by how its code writes them (``k``, ``mu.z``, ``f``).

    Numbers and short text are themselves; of functions, arrays and the like there is a digest of what is in them.
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
    """A number or text as it is, anything else as its beginning and a digest."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and np.isfinite(value)):
        return value
    text = _shown(value)
    return text if text and len(text) <= SHORT else f"{type(value).__name__} {_digest(repr(_Walk().parts(value)))}"


def _shown(value: Any) -> str:
    """The text of a few numbers or names; empty of anything else."""
    if isinstance(value, np.ndarray):
        value = value.tolist() if value.size <= FEW else None
    if isinstance(value, float):
        return repr(value)
    if not isinstance(value, (list, tuple)) or not all(isinstance(v, PLAIN) for v in value):
        return ""
    return "[" + ", ".join(repr(_number(v)) for v in value) + "]"


def _number(value: Any) -> Any:
    """Whole numbers as floats, which they equal."""
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53
    return float(value) if whole else value


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


class _Walk:
    """What is in a value, of plain types whose repr is the same for equal values; each function and object once."""

    def __init__(self) -> None:
        self.seen: set[int] = set()

    def parts(self, value: Any, deep: int = DEEP) -> Any:
        if isinstance(value, (*PLAIN, complex, bytes)):
            return _number(value)
        if deep == 0:
            return type(value).__qualname__
        if isinstance(value, (np.ndarray, np.generic, pd.Index, pd.Categorical)):
            return self._array(np.asarray(value), deep)
        if isinstance(value, pd.DataFrame):
            value = [list(value.columns), *(value.iloc[:, j] for j in range(value.shape[1]))]
        elif isinstance(value, pd.Series):
            value = [np.asarray(value), np.asarray(value.index)]
        if isinstance(value, Mapping):
            return sorted((repr(self.parts(k, deep - 1)), repr(self.parts(v, deep - 1))) for k, v in value.items())
        if isinstance(value, (list, tuple)):
            return [self.parts(v, deep - 1) for v in value]
        if isinstance(value, (set, frozenset)):
            return sorted(repr(self.parts(v, deep - 1)) for v in value)
        return self._object(value, deep - 1)

    def _array(self, value: ndarray, deep: int) -> Any:
        if value.dtype.kind == "O":
            return [value.shape, [self.parts(v, deep - 1) for v in value.ravel().tolist()]]
        if value.dtype.kind in "biuf":
            value = value.astype(float)
        return [value.shape, value.dtype.str, hashlib.blake2b(value.tobytes()).hexdigest()]

    def _object(self, value: Any, deep: int) -> Any:
        if isinstance(value, (type, ModuleType)):
            return value.__name__
        if id(value) in self.seen:
            return type(value).__qualname__
        self.seen.add(id(value))
        if isinstance(value, functools.partial):
            return [self.parts(v, deep) for v in (value.func, value.args, value.keywords)]
        if isinstance(value, MethodType):
            return [self.parts(v, deep) for v in (value.__func__, value.__self__)]
        if isinstance(value, FunctionType):
            return self._function(value, deep)
        inside = getattr(value, "__dict__", None)
        text = repr(value)
        known = getattr(value, "__name__", "") if " at 0x" in text else text
        return [type(value).__qualname__, known, self.parts(inside, deep) if inside else None]

    def _function(self, value: FunctionType, deep: int) -> Any:
        """Its code, defaults, what it encloses and, of a function of the caller's, what it takes from its module."""
        code = value.__code__
        enclosed = [self._enclosed(cell, deep) for cell in value.__closure__ or ()]
        defaults = self.parts([value.__defaults__, value.__kwdefaults__], deep)
        if any(place in code.co_filename for place in INSTALLED):
            return [value.__module__, value.__qualname__, defaults, enclosed]
        used = {name: value.__globals__[name] for name in _globals_of(code) if name in value.__globals__}
        return [self._code(code), defaults, enclosed, self.parts(used, deep)]

    def _enclosed(self, cell: Any, deep: int) -> Any:
        try:
            return self.parts(cell.cell_contents, deep)
        except ValueError:  # not yet bound
            return None

    def _code(self, code: CodeType) -> list[Any]:
        constants = [self._code(c) if isinstance(c, CodeType) else self.parts(c) for c in code.co_consts]
        return [code.co_code.hex(), constants, code.co_names]


def _globals_of(code: CodeType) -> set[str]:
    own = {i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return own.union(*(_globals_of(c) for c in code.co_consts if isinstance(c, CodeType)))
