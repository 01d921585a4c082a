"""Derivatives of the transforms that remember their training rows: patsy's, by its own pieces, and ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import patsy.builtins
from numpy import ndarray

from glmclf.data.derivatives.duals import Dual
from glmclf.data.transforms.basis import Basis


class Through:
    """A transform that remembers its training rows, for dual numbers."""

    def __init__(self, transform: Any):
        self._transform = transform

    def transform(self, *args: Any, **kwargs: Any) -> Any:
        """Value of the transform, with its derivative where an argument has one."""
        args = (*args, *(kwargs.pop(name) for name in ("x",) if name in kwargs))
        if not any(isinstance(argument, Dual) for argument in args):
            return self._transform.transform(*args, **kwargs)
        rule = next((rule for kind, rule in DERIVATIVES.items() if isinstance(self._transform, kind)), None)
        if rule is None:
            raise TypeError(f"{type(self._transform).__name__} has no derivative")
        values = [argument.value if isinstance(argument, Dual) else argument for argument in args]
        return Dual(self._transform.transform(*values, **kwargs), rule(self._transform, *args, **kwargs))


def _centred(transform: Any, x: Dual) -> ndarray:
    return x.tangent


def _standardised(transform: Any, x: Dual, center: bool = True, rescale: bool = True, ddof: int = 0) -> ndarray:
    scale = np.sqrt(transform.current_M2 / (transform.current_n - ddof)) if rescale else 1.0
    tangent = x.tangent / scale if x.ndim == 2 else (x.tangent[:, None] / scale)[:, 0]
    return np.asarray(tangent, dtype=np.float64)


def _of_vector(x: Dual) -> tuple[ndarray, ndarray]:
    if x.ndim == 2 and x.shape[1] == 1:
        x = x[:, 0]
    if x.ndim != 1:
        raise TypeError("a spline of several columns")
    return x.value, x.tangent


def _b_spline(transform: Any, x: Dual, *args: Any, **kwargs: Any) -> ndarray:
    """Derivative of patsy's ``bs``; at a knot from the side to which the argument moves."""
    from scipy.interpolate import splev

    value, tangent = _of_vector(x)
    degree, knots = int(transform._degree), np.asarray(transform._all_knots, dtype=np.float64)
    size = len(knots) - degree - 1
    if _argument("outside", 7, args, kwargs) == "clip":  # constant from the outer knots on
        moves = np.where(tangent < 0, (value > knots[0]) & (value <= knots[-1]), value < knots[-1])
        tangent = np.where(moves & ~transform.beyond(value), tangent, 0.0)
        value = np.clip(value, knots[0], knots[-1])
    out = np.zeros((len(value), size))
    left = (tangent < 0) & np.isin(value, knots)
    for i in range(size if degree else 0):
        unit = np.zeros(size)
        unit[i] = 1.0
        out[:, i] = splev(value, (knots, unit, degree), der=1)
        if left.any():  # from the left is from the right in the mirror
            out[left, i] = -splev(-value[left], (-knots[::-1], unit[::-1], degree), der=1)
    whole = _argument("include_intercept", 4, args, kwargs)
    return (out if whole else out[:, 1:]) * tangent[:, None]


def _argument(name: str, place: int, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """An argument of ``bs(x, df, knots, degree, include_intercept, ...)`` by name or place after x."""
    return kwargs[name] if name in kwargs else (args[place - 1] if len(args) >= place else False)


def _cubic_spline(transform: Any, x: Dual, *args: Any, **kwargs: Any) -> ndarray:
    """Derivative of patsy's ``cr`` and ``cc`` (Wood 2006, Generalized Additive Models, section 4.1.2)."""
    from patsy import mgcv_cubic_splines as mgcv

    value, tangent = _of_vector(x)
    knots = np.asarray(transform._all_knots, dtype=np.float64)
    size, cyclic = len(knots) - int(transform._cyclic), transform._cyclic
    if cyclic:
        value = mgcv._map_cyclic(value, knots[0], knots[-1])
    j = mgcv._find_knots_lower_bounds(value, knots)
    h, before, after = np.diff(knots)[j], value - knots[j], knots[j + 1] - value
    minus = np.where(value > knots[-1], 0.0, -after * after / (2.0 * h)) + h / 6.0
    plus = np.where(value < knots[0], 0.0, before * before / (2.0 * h)) - h / 6.0
    second = mgcv._get_cyclic_f(knots) if cyclic else mgcv._get_natural_f(knots)
    unit, k = np.eye(size), (j + 1) % size if cyclic else j + 1
    out = (unit[k] - unit[j]) / h[:, None] + minus[:, None] * second[j] + plus[:, None] * second[k]
    return _absorbed(out, transform._constraints) * tangent[:, None]


def _absorbed(columns: ndarray, constraints: Any) -> ndarray:
    from patsy import mgcv_cubic_splines as mgcv

    return columns if constraints is None else mgcv._absorb_constraints(columns, constraints)


def _tensor(transform: Any, *args: Any, **kwargs: Any) -> ndarray:
    """Derivative of patsy's ``te``: the product rule over its arguments."""
    from patsy import mgcv_cubic_splines as mgcv

    columns = [np.asarray(a.value if isinstance(a, Dual) else a) for a in args]
    columns = [c[:, None] if c.ndim == 1 else c for c in columns]
    total: Any = 0.0
    for place, argument in enumerate(args):
        if isinstance(argument, Dual):
            moved = argument.tangent.reshape(columns[place].shape)
            total = total + mgcv._row_tensor_product([*columns[:place], moved, *columns[place + 1 :]])
    return _absorbed(total, transform._constraints)


def _basis(transform: Basis, x: Dual, *args: Any, **kwargs: Any) -> ndarray:
    value, tangent = _of_vector(x)
    return transform.derivative(value, tangent < 0) * tangent[:, None]


def _kind(name: str) -> type:
    return getattr(patsy.builtins, name).__patsy_stateful_transform__


DERIVATIVES: dict[type, Callable[..., ndarray]] = {
    _kind("center"): _centred,
    _kind("standardize"): _standardised,
    _kind("bs"): _b_spline,
    _kind("cr"): _cubic_spline,
    _kind("cc"): _cubic_spline,
    _kind("te"): _tensor,
    Basis: _basis,
}
