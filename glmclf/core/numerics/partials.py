"""Partial derivatives of numpy's and scipy's smooth functions of numbers, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

LOG2, LOG10 = math.log(2.0), math.log(10.0)


def _pdf(x: Any) -> Any:
    return np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)


def _power_base(r: Any, x: Any, y: Any) -> Any:
    return np.where(y == 0, 0.0, y * np.power(x, y - 1.0))


def _power_exponent(r: Any, x: Any, y: Any) -> Any:
    return np.where((r == 0) & (y > 0), 0.0, r * np.log(x))


Partial = Callable[..., Any]


def _none(r: Any, *x: Any) -> Any:
    return 0.0


def _one(r: Any, *x: Any) -> Any:
    return 1.0


#: functions of the result and of the arguments, one for each argument
PARTIALS: dict[Any, tuple[Partial, ...]] = {
    np.exp: (lambda r, x: r,),
    np.exp2: (lambda r, x: r * LOG2,),
    np.expm1: (lambda r, x: np.exp(x),),
    np.log: (lambda r, x: 1.0 / x,),
    np.log2: (lambda r, x: 1.0 / (x * LOG2),),
    np.log10: (lambda r, x: 1.0 / (x * LOG10),),
    np.log1p: (lambda r, x: 1.0 / (1.0 + x),),
    np.sqrt: (lambda r, x: 0.5 / r,),
    np.cbrt: (lambda r, x: 1.0 / (3.0 * r * r),),
    np.square: (lambda r, x: 2.0 * x,),
    np.reciprocal: (lambda r, x: -r * r,),
    np.negative: (lambda r, x: -1.0,),
    np.positive: (_one,),
    np.sin: (lambda r, x: np.cos(x),),
    np.cos: (lambda r, x: -np.sin(x),),
    np.tan: (lambda r, x: 1.0 + r * r,),
    np.arcsin: (lambda r, x: 1.0 / np.sqrt((1.0 - x) * (1.0 + x)),),
    np.arccos: (lambda r, x: -1.0 / np.sqrt((1.0 - x) * (1.0 + x)),),
    np.arctan: (lambda r, x: 1.0 / (1.0 + x * x),),
    np.sinh: (lambda r, x: np.cosh(x),),
    np.cosh: (lambda r, x: np.sinh(x),),
    np.tanh: (lambda r, x: 1.0 / np.cosh(x) ** 2,),
    np.arcsinh: (lambda r, x: 1.0 / np.hypot(1.0, x),),
    np.arccosh: (lambda r, x: 1.0 / (np.sqrt(x - 1.0) * np.sqrt(x + 1.0)),),
    np.arctanh: (lambda r, x: 1.0 / ((1.0 - x) * (1.0 + x)),),
    np.deg2rad: (lambda r, x: math.pi / 180.0,),
    np.radians: (lambda r, x: math.pi / 180.0,),
    np.rad2deg: (lambda r, x: 180.0 / math.pi,),
    np.degrees: (lambda r, x: 180.0 / math.pi,),
    **{step: (_none,) for step in (np.floor, np.ceil, np.rint, np.trunc)},
    np.add: (_one, _one),
    np.subtract: (_one, lambda r, x, y: -1.0),
    np.multiply: (lambda r, x, y: y, lambda r, x, y: x),
    np.divide: (lambda r, x, y: 1.0 / y, lambda r, x, y: -r / y),
    np.power: (_power_base, _power_exponent),
    np.float_power: (_power_base, _power_exponent),
    np.floor_divide: (_none, _none),
    np.remainder: (_one, lambda r, x, y: -np.floor_divide(x, y)),
    np.fmod: (_one, lambda r, x, y: -np.trunc(x / y)),
    np.hypot: (lambda r, x, y: x / r, lambda r, x, y: y / r),
    np.arctan2: (lambda r, y, x: x / (x * x + y * y), lambda r, y, x: -y / (x * x + y * y)),
    np.logaddexp: (lambda r, x, y: special.expit(x - y), lambda r, x, y: special.expit(y - x)),
    np.logaddexp2: (lambda r, x, y: special.expit((x - y) * LOG2), lambda r, x, y: special.expit((y - x) * LOG2)),
    special.expit: (lambda r, x: r * special.expit(-x),),
    special.log_expit: (lambda r, x: special.expit(-x),),
    special.logit: (lambda r, x: 1.0 / (x * (1.0 - x)),),
    special.ndtr: (lambda r, x: _pdf(x),),
    special.log_ndtr: (lambda r, x: np.exp(-0.5 * x * x - 0.5 * math.log(2.0 * math.pi) - r),),
    special.ndtri: (lambda r, x: 1.0 / _pdf(r),),
    special.erf: (lambda r, x: 2.0 / math.sqrt(math.pi) * np.exp(-x * x),),
    special.erfc: (lambda r, x: -2.0 / math.sqrt(math.pi) * np.exp(-x * x),),
    special.gammaln: (lambda r, x: special.digamma(x),),
    special.xlogy: (lambda r, x, y: np.log(y), lambda r, x, y: x / y),
    special.xlog1py: (lambda r, x, y: np.log1p(y), lambda r, x, y: x / (1.0 + y)),
}
