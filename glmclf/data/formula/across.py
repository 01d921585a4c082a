"""Formulas and queries over data in parts, whose value in a row must not depend on rows that are in other parts.

What code and functions are of each row alone is said by `glmclf.data.formula.rowwise`; all others are refused.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Mapping
from typing import Any

from glmclf.data.formula import expressions
from glmclf.data.formula.factors import Expression, arrays_of
from glmclf.data.formula.rowwise import ATTRIBUTES, function_in, unknown
from glmclf.errors import FormulaError

AT = "_at_"  # stands for the @ of a query
PIECES = (ast.Call, ast.Attribute, ast.Subscript)
MATHEMATICS = frozenset(
    "sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh arcsinh arccosh arctanh exp expm1 log log10 log1p sqrt "
    "floor ceil abs".split()
)  # functions that a query has by name


def refuse_across(design: Any) -> None:
    """NotImplementedError where new data come in parts and a factor of a design may look across their rows.

    Parameters
    ----------
    design : Design or FeatureDesign
    """
    for factor in getattr(design, "factors", {}).values():
        if factor.expression.unknown_in_new:
            raise factor_across(factor.expression)


def factor_across(e: Expression) -> NotImplementedError:
    """The error of a factor of which it is not known that its value in a row is of that row alone."""
    function = function_in(e.unknown, e.borrowed)
    if function:
        return NotImplementedError(f'"{e.code}" over data in a stream: {_not_known(function)}{_no_columns(e.arrays)}')
    return NotImplementedError(
        f'"{e.code}" over data in a stream: its value in a row depends on other rows, which may be in another part, or '
        f'it is not known that it does not{_piece(e.unknown, e.code)}. Compute the column beforehand, or use center(), '
        "standardize(), qcut() and the like, which see all rows; what is of each row alone may be in a function f of "
        "the columns, declared by f = glmclf.rowwise(f)." + _no_columns(e.arrays)
    )


def query_across(query: Query) -> NotImplementedError:
    """The error of a query of which it is not known that its answer in a row is of that row alone."""
    function = function_in(query.unknown, query.caller)
    if function:
        words = _not_known(function.removeprefix(AT))
        return NotImplementedError(f'subset="{query.text}" over data in a stream: {words}{_no_columns(query.arrays)}')
    return NotImplementedError(
        f'subset="{query.text}" over data in a stream: whether a row is used depends on other rows, which may be in '
        f"another part, or it is not known that it does not{_piece(query.piece, query.text)}. Put the number itself in "
        "place of what is computed of a column, or compute a column of True and False beforehand."
        + _no_columns(query.arrays)
    )


def _not_known(function: str) -> str:
    return (
        f'whether the value of "{function}" in a row depends on other rows, which may be in another part, is unknown. '
        f"If it does not, declare it: {function} = glmclf.rowwise({function}). If it does, compute the column "
        "beforehand, or use center(), standardize(), qcut() and the like, which see all rows."
    )


def _piece(piece: str, code: str) -> str:
    """Words that name a piece of some code, empty where it is all of the code."""
    return f' ("{piece}")' if piece != code else ""


def _no_columns(arrays: Mapping[str, int]) -> str:
    """Advice on arrays of the caller's that may hold a value a row."""
    found = [f'"{name}" ({n} values)' for name, n in arrays.items()]
    if not found:
        return ""
    return f" Values of your own for each row, if {', '.join(found)} is such, must be a column of the data."


# ----------------------------------------------------------------------------------------------------------- queries
class Query:
    """A query for rows, and the names that it may look at.

    Parameters
    ----------
    text : str
        As of `pandas.DataFrame.query`.
    caller : mapping
        Variables that it may use.

    Attributes
    ----------
    names : set of str
        Names in it, of columns or of what belongs to the index.
    arrays : dict of int
        Lengths of arrays of the caller's that it uses.
    unknown : str
        The first piece of it of which it is not known whether the answer in a row is of that row alone.
    labels : bool
        Whether it takes the index of a column.
    """

    _OUTSIDE = re.compile(r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|`([^`]*)`|@""")

    def __init__(self, text: str, caller: Mapping[str, Any]):
        self.text, self._quoted = text, dict[str, str]()
        self.code = self._OUTSIDE.sub(self._python, text.strip())
        self.names, self.unknown, self.labels = set[str](), "", False
        self.arrays, self.caller = dict[str, int](), dict[str, Any]()
        try:
            found = expressions.names(self.code)
        except FormulaError:  # which pandas will refuse, too
            return
        used = found.used | found.rooted | found.keyword
        self.names = {self._quoted.get(name, name) for name in used}
        self.caller = {n: caller.get(n.removeprefix(AT)) for n in used | found.called if n.startswith(AT)}
        self.arrays = arrays_of({name.removeprefix(AT): value for name, value in self.caller.items()})
        nodes = list(ast.walk(expressions.parse(self.code)))
        self.labels = any(map(_is_label, nodes))
        if self.arrays or any(map(_is_piece, nodes)):
            columns = {name for name in used if name not in self.caller}
            self.unknown = unknown(self.code, columns, self.caller, MATHEMATICS, ATTRIBUTES | {"index"})

    @property
    def piece(self) -> str:
        """The unknown piece in the words of the query."""
        found = self.unknown
        for name, own in self._quoted.items():
            found = found.replace(name, f"`{own}`")
        return found.replace(AT, "@")

    def written(self, node: ast.expr) -> str:
        """A piece of `code` as pandas reads it."""
        return ast.unparse(_Written(self._quoted).visit(copy.deepcopy(node)))

    def named(self, name: str) -> str:
        """The name of a column or a variable of the caller's that a name of `code` stands for."""
        return self._quoted.get(name, name).removeprefix(AT)

    def _python(self, match: re.Match) -> str:
        """Name in place of a part of a query that is not Python."""
        if match[1] is not None:
            return match[1]
        name = AT if match[2] is None else f"_quoted_{len(self._quoted)}_"
        if match[2] is not None:
            self._quoted[name] = match[2]
        return name


class _Written(ast.NodeTransformer):
    """Transformer that gives names of a query their marks, backticks and @."""

    def __init__(self, quoted: Mapping[str, str]):
        self.quoted = quoted

    def visit_Name(self, node: ast.Name) -> ast.Name:
        own = self.quoted.get(node.id)
        node.id = node.id.replace(AT, "@", 1) if own is None and node.id.startswith(AT) else node.id
        return node if own is None else ast.Name(f"`{own}`", ast.Load())


def _is_piece(node: ast.AST) -> bool:
    product = isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)
    member = isinstance(node, ast.Compare) and any(isinstance(op, (ast.In, ast.NotIn)) for op in node.ops)
    return isinstance(node, PIECES) or product or member


def _is_label(node: ast.AST) -> bool:
    """Whether code is ``x.index``, the labels of rows, and not ``x.str.index``."""
    accessor = isinstance(node, ast.Attribute) and getattr(node.value, "attr", None) == "str"
    return isinstance(node, ast.Attribute) and node.attr in ("index", "axes") and not accessor
