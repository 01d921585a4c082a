"""Dual numbers on columns: a value and its derivative in one variable, carried through numpy's element-wise functions.

At a kink the derivative is the one to the right of the variable. Comparisons therefore look just to the right, too:
where two sides are equal, the one that grows faster is the greater, so that ``(x > k) * (x - k)`` has slope 1 at k.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray
from numpy.lib.mixins import NDArrayOperatorsMixin

from glmclf.core.numerics.partials import PARTIALS


class Dual(NDArrayOperatorsMixin):
    """Values and their derivatives, arrays of one shape.

    Anything that would lose the derivative (a conversion to an array, a truth value, a reduction) is a TypeError.
    """

    __pandas_priority__ = 10_000  # a Series leaves the arithmetic to us

    def __init__(self, value: Any, tangent: Any):
        self.value = np.asarray(value)
        self.tangent = np.broadcast_to(np.asarray(tangent, dtype=np.float64), self.value.shape)

    shape = property(lambda self: self.value.shape)
    ndim = property(lambda self: self.value.ndim)
    size = property(lambda self: self.value.size)
    dtype = property(lambda self: self.value.dtype)

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, place: Any) -> Dual:
        return Dual(self.value[place], self.tangent[place])

    def to_numpy(self) -> Dual:
        """Values of the dual number, as a Series returns them."""
        return self

    def clip(self, lower: Any = None, upper: Any = None) -> Any:
        """Dual number clipped to an interval, as a Series is."""
        return _clip(self, lower, upper)

    def __iter__(self) -> Any:
        raise TypeError("a dual number is not iterated over")

    def __bool__(self) -> bool:
        raise TypeError("a dual number has no truth value")

    def __array__(self, *args: Any, **kwargs: Any) -> ndarray:
        raise TypeError("an array would lose the derivative")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs:
            return NotImplemented
        values = [_value(i) for i in inputs]
        if ufunc in INDICATORS:
            return INDICATORS[ufunc](*map(_pair, inputs))
        if ufunc in KINKED:
            return KINKED[ufunc](*map(_pair, inputs))
        if ufunc not in PARTIALS:
            return NotImplemented
        result, tangent = ufunc(*values), 0.0
        for given, partial in zip(inputs, PARTIALS[ufunc]):
            if isinstance(given, Dual):
                tangent = tangent + partial(result, *values) * given.tangent
        return Dual(result, tangent)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        rule = DUAL_FUNCTIONS.get(function)
        return NotImplemented if rule is None else rule(*args, **kwargs)


def _value(given: Any) -> Any:
    return given.value if isinstance(given, Dual) else np.asarray(given)


def _pair(given: Any) -> tuple[Any, Any]:
    return (given.value, given.tangent) if isinstance(given, Dual) else (np.asarray(given), 0.0)


# -------------------------------------------------------------------------------------------- kinks: from the right
Pair = tuple[Any, Any]


def _greater(x: Pair, y: Pair) -> Any:
    return (x[0] > y[0]) | ((x[0] == y[0]) & (np.asarray(x[1]) > y[1]))


def _equal(x: Pair, y: Pair) -> Any:
    return (x[0] == y[0]) & (np.asarray(x[1]) == y[1])


def _true(x: Pair) -> Any:
    return (x[0] != 0) | (np.asarray(x[1]) != 0)


def _absolute(x: Pair) -> Dual:
    return Dual(np.abs(x[0]), np.where(x[0] == 0, np.abs(x[1]), np.sign(x[0]) * x[1]))


def _sign(x: Pair) -> Dual:
    return Dual(np.where(x[0] == 0, np.sign(x[1]), np.sign(x[0])), 0.0)


def _heaviside(x: Pair, y: Pair) -> Dual:
    at_zero = (x[0] == 0) & (np.asarray(x[1]) == 0)
    return Dual(np.where(at_zero, y[0], _greater(x, (0.0, 0.0))), np.where(at_zero, y[1], 0.0))


def _maximum(x: Pair, y: Pair) -> Dual:
    return _choose(np.maximum, _greater(x, y), x, y)


def _minimum(x: Pair, y: Pair) -> Dual:
    return _choose(np.minimum, _greater(y, x), x, y)


def _fmax(x: Pair, y: Pair) -> Dual:
    return _choose(np.fmax, _greater(x, y) | np.isnan(y[0]), x, y)


def _fmin(x: Pair, y: Pair) -> Dual:
    return _choose(np.fmin, _greater(y, x) | np.isnan(y[0]), x, y)


def _choose(ufunc: Any, first: Any, x: Pair, y: Pair) -> Dual:
    return Dual(ufunc(x[0], y[0]), np.where(first, x[1], y[1]))


KINKED: dict[Any, Callable[..., Dual]] = {
    np.absolute: _absolute,
    np.fabs: _absolute,
    np.sign: _sign,
    np.heaviside: _heaviside,
    np.maximum: _maximum,
    np.minimum: _minimum,
    np.fmax: _fmax,
    np.fmin: _fmin,
}
INDICATORS: dict[Any, Callable[..., Any]] = {
    np.greater: _greater,
    np.less: lambda x, y: _greater(y, x),
    np.greater_equal: lambda x, y: _greater(x, y) | _equal(x, y),
    np.less_equal: lambda x, y: _greater(y, x) | _equal(x, y),
    np.equal: _equal,
    np.not_equal: lambda x, y: ~_equal(x, y),
    np.logical_not: lambda x: ~_true(x),
    np.logical_and: lambda x, y: _true(x) & _true(y),
    np.logical_or: lambda x, y: _true(x) | _true(y),
    np.logical_xor: lambda x, y: _true(x) ^ _true(y),
    np.isnan: lambda x: np.isnan(x[0]),
    np.isfinite: lambda x: np.isfinite(x[0]),
    np.isinf: lambda x: np.isinf(x[0]),
}


# ------------------------------------------------------------------------------------------------- numpy's functions
def _where(condition: Any, x: Any, y: Any) -> Dual:
    chosen = _true(_pair(condition)) if isinstance(condition, Dual) else np.asarray(condition)
    (x, dx), (y, dy) = _pair(x), _pair(y)
    return Dual(np.where(chosen, x, y), np.where(chosen, dx, dy))


def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = (min if a_min is None else a_min), (max if a_max is None else a_max)
    a = a if low is None else np.maximum(a, low)
    return a if high is None else np.minimum(a, high)


def _column_stack(columns: Any) -> Dual:
    pairs = [_pair(column) for column in columns]
    tangents = [np.broadcast_to(tangent, value.shape) for value, tangent in pairs]
    return Dual(np.column_stack([value for value, _ in pairs]), np.column_stack(tangents))


DUAL_FUNCTIONS: dict[Any, Callable[..., Any]] = {np.where: _where, np.clip: _clip, np.column_stack: _column_stack}
