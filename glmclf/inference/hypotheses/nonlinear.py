"""Nonlinear functions of parameters from text: a closed language, with values and exact gradients (delta method)."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray
from scipy.special import expit, logit, ndtr, ndtri

from glmclf.checks import known_names
from glmclf.core.numerics.partials import PARTIALS

NUMBER = re.compile(r"[+-]?[\d.]+(e[+-]?\d+)?", re.IGNORECASE)
QUOTED = r"\"[^\"]*\"|'[^']*'|`[^`]*`"
DEPENDENT_GRADIENT = 1e-11  # share of a gradient's length orthogonal to the others, below which it is rounding
PLACE = re.compile(r"_p(\d+)_")

#: what can be called, by the name that it has; nothing else can
TERM_FUNCTIONS: dict[str, np.ufunc] = {
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "ln": np.log,
    "log1p": np.log1p,
    "log2": np.log2,
    "log10": np.log10,
    "sqrt": np.sqrt,
    "abs": np.absolute,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "arctan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "expit": expit,
    "invlogit": expit,
    "logit": logit,
    "ndtr": ndtr,
    "normal": ndtr,
    "ndtri": ndtri,
}


class NonlinearFunction(NamedTuple):
    """A function of the parameters and the value that it has under a hypothesis.

    Attributes
    ----------
    text : str
        As it was written.
    value : float
        At the estimate.
    null : float
        Under the hypothesis; 0 where none was given.
    gradient : (p,) ndarray
        At the estimate.
    """

    text: str
    value: float
    null: float
    gradient: ndarray


def check_independent(functions: Sequence[NonlinearFunction]) -> None:
    """ValueError where gradients are linearly dependent at the estimate: their functions have no joint test."""
    G = np.array([f.gradient for f in functions])
    size = np.abs(G).max(axis=0)
    G = G / np.where(size > 0, size, 1.0)
    G = G / np.maximum(np.linalg.norm(G, axis=1, keepdims=True), np.finfo(float).tiny)
    for i in range(1, len(G)):
        others = np.linalg.lstsq(G[:i].T, G[i], rcond=None)[0]
        if np.linalg.norm(G[i] - others @ G[:i]) <= DEPENDENT_GRADIENT:
            used = [f.text for f, share in zip(functions, others, strict=False) if abs(share) > DEPENDENT_GRADIENT]
            raise ValueError(
                f"the gradients of {', '.join(used)} and {functions[i].text} are linearly dependent at the estimate: "
                "to the delta method they are one function, and have no joint test. Leave one out"
            )


class Differentiated(NamedTuple):
    """A value and its gradient, which is None for a constant."""

    value: float
    gradient: ndarray | None


def functions(text: str, names: Sequence[str], theta: ndarray) -> list[NonlinearFunction]:
    """Functions of the parameters, with their gradients at theta.

    ``"x1 / x2 = 1, exp(x3)"`` is two of them. A right side that is a number is the value under the hypothesis; another
    one is subtracted from the left side. Names are those of the parameters, the longest one that fits; in quotes any.

    Parameters
    ----------
    text : str
        Expressions, separated by commas: ``+ - * / ** ^``, brackets, numbers and the functions of `TERM_FUNCTIONS`.
    names : sequence of str
        The parameters.
    theta : (p,) ndarray
        Their values.

    Returns
    -------
    list of NonlinearFunction

    Raises
    ------
    ValueError
        What the language does not have, a name that is no parameter, a parameter that is not finite, a function that
        has no value or no gradient at theta, or that no parameter enters.

    Examples
    --------
    >>> import numpy as np
    >>> from glmclf.inference.hypotheses.nonlinear import functions
    >>> f, = functions("a / b = 1", ["a", "b"], np.array([3.0, 2.0]))
    >>> f.value, f.null, f.gradient
    (1.5, 1.0, array([ 0.5 , -0.75]))
    """
    coded = _coded(text, names)
    out = []
    for part in _split(coded, ","):
        sides = [_evaluated(side, names, theta) for side in _split(part.replace("==", "="), "=")]
        words = _named(part.strip(), names)
        if len(sides) == 1:
            sides.append(Differentiated(0.0, None))
        if len(sides) > 2:
            raise ValueError(f"{words!r} has more than one =: write one equation after the other, with commas")
        (a, da), (b, db) = sides if sides[0].gradient is not None else reversed(sides)
        if da is None:
            raise ValueError(f"{words!r} holds no parameter; the parameters are {known_names(names)}")
        value, null, gradient = (a, b, da) if db is None else (a - b, 0.0, da - db)
        if not gradient.any():
            raise ValueError(f"{words!r} does not depend on any parameter, to first order at the estimate")
        out.append(NonlinearFunction(words, value, null, gradient))
    return out


def _coded(text: str, names: Sequence[str]) -> str:
    """The text with a placeholder for each parameter: the longest name that fits, or any in quotes."""
    places = {name: f"_p{i}_" for i, name in enumerate(names)}

    def code(match: re.Match[str]) -> str:
        found = match.group(0)
        name = found if found in places else found[1:-1] if found[0] in "\"'`" else found
        if name not in places:
            raise ValueError(f"{name!r} is no parameter; the parameters are {known_names(names)}")
        return places[name]

    # a name that could be read as a number, or as signs alone, needs its quotes
    plain = [n for n in names if re.search(r"[^\W\d]", n) and not NUMBER.fullmatch(n)]
    patterns = [_pattern(name) for name in sorted(plain, key=len, reverse=True)]
    return re.sub("|".join([*patterns, QUOTED, rf"\b{PLACE.pattern}\b"]), code, text).replace("^", "**")


def _pattern(name: str) -> str:
    """A name that is no part of a longer word, nor a function that is called."""
    called = r"(?!\s*\()" if name in TERM_FUNCTIONS else ""
    return rf"(?<![\w.]){re.escape(name)}(?![\w.]){called}"


def _named(code: str, names: Sequence[str]) -> str:
    """Code with the names in the place of placeholders."""
    return re.sub(PLACE.pattern, lambda m: names[int(m.group(1))], code).strip()


def _split(code: str, sign: str) -> list[str]:
    """Parts between signs outside brackets."""
    parts, depth = [""], 0
    for c in code:
        depth += (c in "([{") - (c in ")]}")
        if c == sign and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def _evaluated(code: str, names: Sequence[str], theta: ndarray) -> Differentiated:
    words = _named(code.strip(), names)
    if not words:
        raise ValueError(f"an expression is empty; the parameters are {known_names(names)}")
    try:
        tree = ast.parse(code.strip(), mode="eval").body
        if sum(1 for _ in ast.walk(tree)) > 10_000:  # whatever limit a process sets for recursion
            raise RecursionError
        with np.errstate(all="ignore"):
            return Walk(names, theta).of(tree)
    except SyntaxError:
        raise ValueError(
            f"{words!r} cannot be read. The parameters are {known_names(names)}; quote such as hold signs"
        ) from None
    except (RecursionError, MemoryError):
        raise ValueError(f"{words[:60]!r}... is too deeply nested") from None


class Walk:
    """Value and gradient of a syntax tree of the closed language."""

    def __init__(self, names: Sequence[str], theta: ndarray):
        self.names, self.theta = names, theta

    def of(self, node: ast.expr) -> Differentiated:
        """Value and gradient of a node, which must be finite."""
        out = self._of(node)
        if not np.isfinite(out.value):
            raise ValueError(f"{self._words(node)!r} has no finite value at the estimate")
        if out.gradient is not None and not np.isfinite(out.gradient).all():
            raise ValueError(f"{self._words(node)!r} has no derivative at the estimate")
        return out

    def _of(self, node: ast.expr) -> Differentiated:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
            return Differentiated(_float(node.value), None)
        if isinstance(node, ast.Name):
            return self._parameter(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.UAdd, ast.USub)):
            a = self.of(node.operand)
            return a if isinstance(node.op, ast.UAdd) else Differentiated(-a.value, _times(-1.0, a.gradient))
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
            return OPERATIONS[type(node.op)](self.of(node.left), self.of(node.right))
        if isinstance(node, ast.Call):
            return self._call(node)
        raise ValueError(
            f"{self._words(node)!r} is not understood: there are + - * / **, brackets, numbers, "
            f"{', '.join(TERM_FUNCTIONS)}, and the parameters {known_names(self.names)}; quote such as hold signs"
        )

    def _parameter(self, node: ast.Name) -> Differentiated:
        match = PLACE.fullmatch(node.id)
        if match is None or int(match.group(1)) >= len(self.names):
            raise ValueError(f"{node.id!r} is no parameter; the parameters are {known_names(self.names)}")
        i = int(match.group(1))
        if not np.isfinite(self.theta[i]):
            raise ValueError(f"the estimate of {self.names[i]!r} is {self.theta[i]}: a function of it has no test")
        return Differentiated(float(self.theta[i]), np.eye(1, len(self.theta), i)[0])

    def _call(self, node: ast.Call) -> Differentiated:
        f = node.func
        if isinstance(f, ast.Attribute) and isinstance(f.value, ast.Name) and f.value.id == "np":
            f = ast.Name(f.attr)
        if not isinstance(f, ast.Name) or f.id not in TERM_FUNCTIONS:
            raise ValueError(f"{self._words(node)!r}: the functions are {', '.join(TERM_FUNCTIONS)}")
        if len(node.args) != 1 or node.keywords or isinstance(node.args[0], ast.Starred):
            raise ValueError(f"{self._words(node)!r}: {f.id} takes one argument")
        function, a = TERM_FUNCTIONS[f.id], self.of(node.args[0])
        at = np.float64(a.value)
        value = function(at)
        slope = None if a.gradient is None else float(_slope(function, value, at))
        return Differentiated(float(value), None if slope is None else _times(slope, a.gradient))

    def _words(self, node: ast.AST) -> str:
        return _named(ast.unparse(node), self.names)


def _slope(function: np.ufunc, value: Any, at: Any) -> Any:
    """Derivative of a function; NaN of the absolute value at 0, which has none."""
    if function is np.absolute:
        return np.sign(at) if at else np.nan
    return PARTIALS[function][0](value, at)


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _times(factor: float, gradient: ndarray | None) -> ndarray | None:
    return None if gradient is None else factor * gradient


def _plus(a: ndarray | None, b: ndarray | None) -> ndarray | None:
    return b if a is None else a if b is None else a + b


def _product(a: Differentiated, b: Differentiated) -> Differentiated:
    return Differentiated(a.value * b.value, _plus(_times(b.value, a.gradient), _times(a.value, b.gradient)))


def _ratio(a: Differentiated, b: Differentiated) -> Differentiated:
    if b.value == 0:
        return Differentiated(float("nan"), None)
    ratio = a.value / b.value
    return Differentiated(ratio, _plus(_times(1.0 / b.value, a.gradient), _times(-ratio / b.value, b.gradient)))


def _power(a: Differentiated, b: Differentiated) -> Differentiated:
    base, exponent = np.float64(a.value), np.float64(b.value)
    value = float(base**exponent)
    first = None if a.gradient is None else _times(float(exponent * base ** (exponent - 1.0)), a.gradient)
    second = None if b.gradient is None else _times(value * float(np.log(base)), b.gradient)
    return Differentiated(value, _plus(first, second))


OPERATIONS: dict[type, Callable[[Differentiated, Differentiated], Differentiated]] = {
    ast.Add: lambda a, b: Differentiated(a.value + b.value, _plus(a.gradient, b.gradient)),
    ast.Sub: lambda a, b: Differentiated(a.value - b.value, _plus(a.gradient, _times(-1.0, b.gradient))),
    ast.Mult: _product,
    ast.Div: _ratio,
    ast.Pow: _power,
}
