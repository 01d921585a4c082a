"""Operators that combine bits of numbers in Python and mean something else to most who write them: ^, |, &, ~ and %.

In formulas and queries `&`, `|`, `^` and `~` combine True and False alone: `compiled` lets the code of a factor ask for
that of the values it meets, `refuse_bits` asks it of a query. `%` in a formula is refused by `refuse_modulo`.
"""

from __future__ import annotations

import ast
import functools
import io
import operator
import tokenize
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import numpy as np
import pandas as pd

from glmclf.data.formula.expressions import NUMPY_NAMES, dotted, parse
from glmclf.errors import FormulaError

COMBINED = "_glmclf_truth_"  # name by which compiled code calls `combined`
BIT_SIGNS: dict[type, tuple[str, Callable[..., Any]]] = {
    ast.BitAnd: ("&", operator.and_),
    ast.BitOr: ("|", operator.or_),
    ast.BitXor: ("^", operator.xor),
    ast.LShift: ("<<", operator.lshift),
    ast.RShift: (">>", operator.rshift),
    ast.Invert: ("~", operator.invert),
}
GROWING: dict[type, str] = {ast.Add: "+", ast.Mult: "*", ast.Pow: "**"}
GROWN = "_glmclf_grown_"  # name by which compiled code calls `grown`
NUMBERED = "_glmclf_numbered_"  # name by which compiled code calls `numbered`
MAX_BITS = 4096  # of a constant that a formula may compute
BIT_FUNCTIONS = dict(BIT_SIGNS.values())
_MEANING = {
    "&": '"and" of True and False',
    "|": '"or" of True and False',
    "^": '"either, not both" of True and False, and no power',
    "~": '"not" of True and False',
    "<<": "a shift of bits",
    ">>": "a shift of bits",
}
_INSTEAD = {
    "&": "Write (a > 1) & (b > 2), in parentheses, or np.logical_and(a, b); a:b for an interaction",
    "|": "Write (a > 1) | (b > 2), in parentheses, or np.logical_or(a, b). There are no random effects, as (1 | g) "
    'names them in R: take C(g) for an effect of each group, or fit(cov_type="cluster") for rows that are alike in it',
    "^": "Write I(x**2) for a power, (a + b)**2 for interactions, np.logical_xor(a, b) for conditions",
    "~": "Write ~(a > 1), in parentheses, or np.logical_not(a)",
    "<<": "Write a * 2**k for a product",
    ">>": "Write a // 2**k for a quotient",
}


@functools.lru_cache(maxsize=256)
def compiled(code: str) -> CodeType:
    """Code of a factor to be evaluated, its operators on bits calls of `combined` by the name `COMBINED`, its products
    and powers calls of `grown` by the name `GROWN`, what `.map` gives in a call of `numbered` by the name `NUMBERED`.
    """
    tree = ast.parse(code, mode="eval")
    if any(isinstance(node, (*BIT_SIGNS, *GROWING, ast.Call)) for node in ast.walk(tree)):
        tree = ast.fix_missing_locations(_Guarded().visit(tree))
    return compile(tree, "<formula>", "eval")


class _Guarded(ast.NodeTransformer):
    """Transformer that puts calls of `combined` in place of bit operators outside functions of single values."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        return self._call(node, node.op, [node.left, node.right])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        return self._call(node, node.op, [node.operand])

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "map":
            self.generic_visit(node)
            return ast.Call(ast.Name(NUMBERED, ast.Load()), [node], [])
        sign, operands = growth(node)
        return self._grown(sign, node, operands) if sign else self.generic_visit(node)

    def _grown(self, sign: str, node: ast.expr, operands: list[ast.expr]) -> ast.AST:
        words = [ast.Constant(sign), ast.Constant(ast.unparse(node))]
        return ast.Call(ast.Name(GROWN, ast.Load()), [*words, *map(self.visit, operands)], [])

    def _call(self, node: ast.expr, op: ast.AST, operands: list[ast.expr]) -> ast.AST:
        if type(op) is ast.Add and any(map(_of_numbers, operands)):
            return self.generic_visit(node)
        if type(op) in GROWING:
            return self._grown(GROWING[type(op)], node, operands)
        if type(op) not in BIT_SIGNS:
            return self.generic_visit(node)
        words = [ast.Constant(BIT_SIGNS[type(op)][0]), ast.Constant(ast.unparse(node))]
        return ast.Call(ast.Name(COMBINED, ast.Load()), [*words, *map(self.visit, operands)], [])

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node


def _of_numbers(operand: ast.expr) -> bool:
    """Whether an operand of a sum is a number by its form: a constant, or of an arithmetic operator."""
    if isinstance(operand, ast.BinOp):
        return type(operand.op) not in BIT_SIGNS
    return isinstance(operand, ast.Constant)


def growth(node: ast.Call) -> tuple[str, list[ast.expr]]:
    """Sign and operands of a sum, product or power that a call of numpy is; no sign of any other call."""
    root, _, name = dotted(node.func).partition(".")
    if root not in NUMPY_NAMES or node.keywords:
        return "", []
    if name == "square" and len(node.args) == 1:
        return "**", [node.args[0], ast.Constant(2)]
    sign = {"power": "**", "float_power": "**", "multiply": "*", "add": "+"}.get(name, "")
    return (sign, node.args) if len(node.args) == 2 else ("", [])


def numbered(mapped: Any) -> Any:
    """Numbers that `.map` gave for the labels of a category, as it gives them for the same labels as text."""
    dtype = getattr(mapped, "dtype", None)
    if not isinstance(dtype, pd.CategoricalDtype) or not pd.api.types.is_numeric_dtype(dtype.categories.dtype):
        return mapped
    return mapped.astype(float if mapped.isna().any() else dtype.categories.dtype)


def combined(sign: str, code: str, *operands: Any) -> Any:
    """Value of an operator on True and False; FormulaError where an operand is anything else."""
    if not all(map(_of_truth, operands)):
        raise refused(sign, f'"{code}"')
    return BIT_FUNCTIONS[sign](*operands)


def grown(sign: str, code: str, a: Any, b: Any) -> Any:
    """Value of a sum, or of a product or power of numbers of a bounded size.

    True and False are counted: numpy's sum of them is "or". Whole numbers of Python have no bound, nor has text that is
    repeated: columns of objects count as floats, text and lists, and constants of more than `MAX_BITS` bits, are
    refused.
    """
    if sign == "+":
        return a * 1 + b if _of_truth(a) and _of_truth(b) else a + b
    if all(isinstance(value, int) for value in (a, b)):
        bits = a.bit_length() * max(b, 1) if sign == "**" else a.bit_length() + b.bit_length()
        if bits > MAX_BITS and abs(a) > 1:
            raise FormulaError(f'"{code}" is a constant of more than {MAX_BITS} bits: write a smaller one.')
    a, b = (_as_numbers(value, code) for value in (a, b))
    if all(map(_is_whole, (a, b))) and _wraps(sign, a, b):
        a = a * 1.0
    return a * b if sign == "*" else a**b


def _is_whole(value: Any) -> bool:
    """Whether a value is a whole number, or an array of such, of numpy's or pandas' types."""
    dtype = getattr(value, "dtype", None)
    return getattr(dtype, "kind", None) in ("i", "u", "b") if dtype is not None else isinstance(value, int)


def _wraps(sign: str, a: Any, b: Any) -> bool:
    """Whether a product or power of whole numbers leaves their 64 bits, or is a fraction."""
    base, power = (np.asarray(value, dtype=np.float64) for value in (a, b))
    most, other = (float(np.abs(value).max(initial=1.0)) for value in (base, power))
    with np.errstate(over="ignore"):
        size = np.float64(most) * other if sign == "*" else np.float64(most) ** other
    return bool(size >= 2.0**62 or (sign == "**" and power.min(initial=0.0) < 0))


def largest(node: ast.AST, size: Callable[[str], float | None]) -> float:
    """Bound of the size of a sum, product or power of constants and of names, each of a known `size`; 0 of all else."""
    if isinstance(node, ast.Constant):
        return abs(float(node.value)) if isinstance(node.value, (bool, int, float)) else 0.0
    if isinstance(node, ast.Name):
        return size(node.id) or 0.0
    if isinstance(node, ast.UnaryOp):
        return largest(node.operand, size)
    if not isinstance(node, ast.BinOp):
        return 0.0
    left, right = (np.float64(largest(side, size)) for side in (node.left, node.right))
    with np.errstate(over="ignore"):
        if isinstance(node.op, ast.Pow):
            return float(np.maximum(left, 1.0) ** right)
        return float(left * right if isinstance(node.op, ast.Mult) else left + right)


def signed(column: pd.Series) -> pd.Series:
    """A column of whole numbers in 64 bits with a sign, where these hold it: in fewer 200 + 100 wraps around."""
    if not isinstance(column.dtype, np.dtype) or column.dtype.kind not in "iu":
        return column
    fits = column.dtype.kind == "i" or column.dtype.itemsize < 8 or not len(column) or column.max() < 2**63
    return column.astype(np.int64) if fits else column


def _as_numbers(value: Any, code: str) -> Any:
    """A value as it is, objects as floats; FormulaError where it is text or a list, or holds text."""
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if kind not in ("U", "S", "O") and not isinstance(value, (pd.Categorical, str, bytes, list, tuple)):
        return value
    try:
        if not isinstance(value, (np.ndarray, pd.Series)) or kind in ("U", "S"):
            raise TypeError
        return value.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise FormulaError(f'"{code}": a product or power of what is no number, as text.') from None


def refused(sign: str, code: str) -> FormulaError:
    """The error of an operator on what is not True or False."""
    return FormulaError(f"{code}: {sign} is {_MEANING[sign]}, and stands beside other values. {_INSTEAD[sign]}.")


def _of_truth(operand: Any) -> bool:
    """Whether a value holds True and False only, with what stands for missing, or is a set."""
    if isinstance(operand, (bool, np.bool_, set, frozenset)):
        return True
    if isinstance(operand, pd.DataFrame):
        return all(map(_of_truth, (operand[c] for c in operand)))
    dtype = getattr(operand, "dtype", None)
    if dtype is None:
        return False
    if isinstance(dtype, pd.CategoricalDtype):
        return all(isinstance(level, (bool, np.bool_)) for level in dtype.categories)
    if isinstance(dtype, np.dtype) and dtype.kind == "O":
        values = np.asarray(operand).ravel()
        return all(isinstance(v, (bool, np.bool_)) for v in values[~pd.isna(values)])
    return pd.api.types.is_bool_dtype(dtype)


def refuse_modulo(code: str) -> None:
    """FormulaError where the code of a factor has `%`, or is none."""
    tree = parse(code)
    for node in _outside_functions(tree) if "%" in code else ():
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            left, right = ast.unparse(node.left), ast.unparse(node.right)
            raise FormulaError(
                f'"{code}": % is not available in formulas. Write np.mod({left}, {right}) for the remainder of a '
                f"division, {left}.isin([...]) for what is among given values."
            )


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree, without those within functions of single values."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.Lambda):
            yield from _outside_functions(child)


# ------------------------------------------------------------------------------------------------------------- queries
def refuse_bits(query: str, code: str, is_truth: Callable[[str], bool]) -> None:
    """FormulaError where a query combines what is not True or False by `&`, `|`, `^` or `~`.

    Parameters
    ----------
    query : str
        As it was given, for the message.
    code : str
        The query as Python has it.
    is_truth : callable
        Whether a name of the query holds True and False.
    """
    try:
        tree = ast.parse(by_words(code), mode="eval")
    except (SyntaxError, ValueError, RecursionError, tokenize.TokenError):  # pandas' error is of the query
        return
    for node in ast.walk(tree):
        sign, operands = "", list[ast.expr]()
        if isinstance(node, ast.BoolOp):
            sign, operands = "&" if isinstance(node.op, ast.And) else "|", node.values
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            sign, operands = "~", [node.operand]
        elif isinstance(node, (ast.BinOp, ast.UnaryOp)) and type(node.op) in BIT_SIGNS:
            sign = BIT_SIGNS[type(node.op)][0]
            operands = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.operand]
        if any(_is_number(operand, is_truth) for operand in operands):
            raise refused(sign, f'subset="{query}"')


def by_words(code: str) -> str:
    """A query with "and" and "or" for & and |, which bind as these do there."""
    tokens = tokenize.generate_tokens(io.StringIO(code).readline)
    words = {"&": "and", "|": "or"}
    return tokenize.untokenize((t.type, f" {words[t.string]} " if t.string in words else t.string) for t in tokens)


def _is_number(node: ast.expr, is_truth: Callable[[str], bool]) -> bool:
    """Whether a piece of a query is a number by its syntax: a constant, a column of numbers, arithmetic of them."""
    if isinstance(node, ast.Constant):
        return not isinstance(node.value, bool)
    if isinstance(node, ast.Name):
        return not is_truth(node.id)
    if isinstance(node, ast.BinOp):
        return type(node.op) not in BIT_SIGNS
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd))
