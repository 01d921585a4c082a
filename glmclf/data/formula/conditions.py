"""Conditions on rows as text from outside: columns, numbers, words, comparisons and numpy's element-wise functions.

They mean what queries of a trusted caller mean (`glmclf.data.formula.answers`), but pandas does not see them: it would
look up variables of the caller and call methods of columns. Their tree is checked against the closed list of formulas,
and walked.
"""

from __future__ import annotations

import ast
import operator
import tokenize
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from glmclf.data.formula import expressions
from glmclf.data.formula.across import AT, MATHEMATICS, Query
from glmclf.data.formula.answers import COMPARED, Answers, typed
from glmclf.data.formula.operators import GROWING, by_words, grown, growth, signed
from glmclf.data.table.frame import close_to
from glmclf.errors import DataError, FormulaError

_OPERATIONS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    **COMPARED,
}
_LISTS = (ast.List, ast.Tuple)


def chosen(text: str, frame: pd.DataFrame) -> Any:
    """Which rows meet a condition.

    Parameters
    ----------
    text : str
        As in ``"age > 20 and region in ['north', 'south']"``; columns with odd names stand in backticks.
    frame : DataFrame

    Returns
    -------
    Series of bool
        False where the answer is missing.

    Raises
    ------
    FormulaError
        A name that is no column, or anything off the closed list.
    DataError
        No True or False for each row, or values that cannot be compared.

    Examples
    --------
    >>> frame = pd.DataFrame({"age": [20, 30, 40], "odd name": ["a", "b", "c"]})
    >>> chosen("age > 25 and `odd name` != 'c'", frame).tolist()
    [False, True, False]
    """
    condition = _Condition(text, frame)
    try:
        with np.errstate(all="ignore"):  # as pandas: what is no number is not chosen
            if isinstance(condition.tree, ast.Constant):
                raise condition.no_truth()
            found = condition.answers.of(condition.tree)
    except (FormulaError, DataError):
        raise
    except Exception as error:
        raise DataError(f"subset={text!r} cannot be evaluated: {type(error).__name__}: {error}") from None
    return pd.Series(found.fillna(False).to_numpy(dtype=bool), index=frame.index)


class _Checker(expressions.Checker):
    """Checker of the code of a condition: formulas' operators, and what is among given values."""

    def _compare(self, node: ast.Compare) -> None:
        for op, right in zip(node.ops, node.comparators, strict=True):
            if not isinstance(op, (ast.In, ast.NotIn)):
                self._operator(op, node)
            elif not isinstance(right, _LISTS):
                raise expressions.refused(node)
        for side in (node.left, *node.comparators):
            self.visit(side)

    def _name(self, node: ast.Name) -> None:
        if node.id not in self.columns:
            raise expressions.refused(node)

    def _call(self, node: ast.Call) -> None:
        if expressions.dotted(node.func) in expressions.FUNCTIONS:
            raise expressions.refused(node, "a transform of formulas")
        super()._call(node)


class _Condition:
    """A condition and the columns that its names stand for.

    Parameters
    ----------
    text : str
    frame : DataFrame

    Attributes
    ----------
    tree : ast.expr
        Checked.
    """

    def __init__(self, text: str, frame: pd.DataFrame):
        query = Query(text, {})
        self.text, self.frame, self.column = text, typed(frame, query.names), query.named
        self.answers = Answers(self.frame, self.column, self.value, self._no_truth, {})
        try:
            self.tree = ast.parse(by_words(query.code), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError):
            raise FormulaError(f'subset={text!r} is no condition on columns, as in "age > 20".') from None
        nodes = list(ast.walk(self.tree))
        for node in nodes:
            self._check_name(node)
        known = {n.id for n in nodes if isinstance(n, ast.Name) and self._known(self.column(n.id))}
        try:
            _Checker(known, set(MATHEMATICS), {}).visit(self.tree)
        except RecursionError:
            raise FormulaError(f"subset={text[:60]!r}... is nested too deeply.") from None
        except FormulaError as error:
            raise FormulaError(f"subset={text!r}: {error}") from None

    def _known(self, name: str) -> bool:
        """Whether a name is that of a column or, as in pandas' queries, of the labels of rows."""
        index = self.frame.index
        return name in self.frame.columns or (index.nlevels == 1 and name in ("index", index.name))

    def _check_name(self, node: ast.AST) -> None:
        """FormulaError for a name that is no column, of a variable of the caller's in particular."""
        words = node.value if isinstance(node, ast.Constant) else ""
        if isinstance(words, str) and (AT in words or "_quoted_" in words):
            raise FormulaError(f"subset={self.text!r}: a word that holds ` or @ cannot be compared with here.")
        if not isinstance(node, ast.Name):
            return
        if node.id.startswith(AT):
            raise FormulaError(
                f"subset={self.text!r}: @{node.id.removeprefix(AT)} is a variable of the caller's, which is not "
                "available to a condition from outside (trusted=False, or given to the shell)."
            )
        name = self.column(node.id)
        if not self._known(name) and name not in MATHEMATICS | expressions.NUMPY_NAMES | expressions.FUNCTIONS:
            raise FormulaError(f'subset={self.text!r}: no column "{name}". {close_to(name, self.frame.columns)}')

    # ---------------------------------------------------------------------------------------------------- values
    def value(self, node: ast.expr) -> Any:
        """Value of a piece of the condition: a Series, a number or text, or a list of these."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            name = self.column(node.id)
            return self.frame[name] if name in self.frame.columns else self.frame.index.to_series()
        if isinstance(node, _LISTS):
            return [self.value(element) for element in node.elts]
        if isinstance(node, ast.Attribute):
            return getattr(np, node.attr)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self._pair(node.ops[0], self.value(node.left), self.value(node.comparators[0]), node)
        if isinstance(node, (ast.BoolOp, ast.Compare)) or isinstance(getattr(node, "op", None), (ast.Not, ast.Invert)):
            return pd.Series(self.answers.of(node), index=self.frame.index)
        if isinstance(node, ast.UnaryOp):
            return _OPERATIONS[type(node.op)](self._number(node.operand))
        if isinstance(node, ast.BinOp):
            left, right = self._number(node.left), self._number(node.right)
            if type(node.op) in GROWING:
                return grown(GROWING[type(node.op)], ast.unparse(node), left, right)
            if type(node.op) in _OPERATIONS:
                return _OPERATIONS[type(node.op)](left, right)
        if isinstance(node, ast.Call):
            return self._called(node)
        raise expressions.refused(node)

    def _number(self, node: ast.expr) -> Any:
        found = self.value(node)
        numeric = pd.api.types.is_numeric_dtype(found.dtype) if isinstance(found, pd.Series) else np.isreal(found)
        if isinstance(found, (str, list, type(None))) or not numeric:
            raise FormulaError(f'subset={self.text!r}: "{ast.unparse(node)}" is no number.')
        if isinstance(found, pd.Series):
            return signed(found)
        return float(found) if isinstance(found, int) and abs(found) > 2**53 else found

    def _no_truth(self, node: ast.expr) -> Exception:
        if node is self.tree:
            return self.no_truth()
        return FormulaError(f'subset={self.text!r}: "{ast.unparse(node)}" is no condition: compare it, as in x > 0.')

    def no_truth(self) -> DataError:
        """The error of a condition that is none."""
        return DataError(f"subset={self.text!r} gives no True or False for each row: write a comparison, as in x > 0.")

    def _pair(self, op: ast.cmpop, left: Any, right: Any, node: ast.Compare) -> Any:
        if isinstance(right, list):
            if not isinstance(left, pd.Series) or isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
                raise FormulaError(f'subset={self.text!r}: write "column in [...]" for "{ast.unparse(node)}".')
            among = left.isin(right)
            return ~among if isinstance(op, (ast.NotIn, ast.NotEq)) else among
        return _OPERATIONS[type(op)](left, right)

    def _called(self, node: ast.Call) -> Any:
        sign, operands = growth(node)
        if sign:
            return grown(sign, ast.unparse(node), *map(self._number, operands))
        function = getattr(np, expressions.dotted(node.func).rpartition(".")[2])
        settings = {k.arg: self._number(k.value) for k in node.keywords if k.arg is not None}
        values = [signed(v) if isinstance(v, pd.Series) else v for v in map(self.value, node.args)]
        found = function(*values, **settings)
        return pd.Series(found, index=self.frame.index) if isinstance(found, np.ndarray) and found.ndim else found
