"""Derivatives of a design in one variable of the table, exact to rounding.

The code of each factor runs once more with a dual number in place of the variable; a transform that remembers its
training rows has a derivative of its own. Where the code cannot take a dual number (a function of the caller's),
differences are extrapolated to a step of 0 (Richardson 1911; Ridders 1982), and what does not converge is refused.
The factors' derivatives make those of X by the product rule, term by term.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import patsy.builtins
from numpy import ndarray

from glmclf.data.duals import Dual
from glmclf.data.factors import Expression, Factor, as_value
from glmclf.data.frame import Column, close_to, quoted
from glmclf.data.reading import value_of
from glmclf.data.terms import Variable
from glmclf.data.transforms import Basis
from glmclf.errors import DataError

BLOCK = 65_536  # rows differentiated at a time


def refuse_variable(variable: str, columns: Mapping[str, Variable], factors: Collection[Factor]) -> None:
    """Raise DataError where nothing can be differentiated in this variable."""
    if variable not in columns:
        raise DataError(f'no variable "{variable}" in the formula. {close_to(str(variable), columns)}')
    kind = {
        "label": "holds labels",
        "category": "is categorical",
        "bool": "is True or False",
        "other": "is no number",
    }.get(columns[variable].kind)
    uses = [factor for factor in factors if variable in factor.expression.columns]
    as_levels = [f.expression.code for f in uses if variable in (f.expression.bare, f.expression.categorised)]
    as_levels = [code for code in as_levels if code != variable and not code.startswith("Q(")]
    if kind is None and as_levels:
        kind = f"is a factor in {quoted(as_levels)}"
    if kind is None and all(factor.levels is not None for factor in uses):
        kind = f"only chooses levels of {quoted(factor.expression.code for factor in uses)}"
    if kind is not None:
        raise DataError(f'"{variable}" {kind}, so there is no derivative in it: compare its values instead.')


def slope(factor: Factor, columns: Mapping[str, Column], n: int, variable: str) -> ndarray:
    """Derivative of a numerical factor in one of its variables, row by row.

    Parameters
    ----------
    factor : Factor
        Without levels.
    columns : mapping of Columns
        Rows without missing values, all rows where the code looks across them.
    n : int
        How many rows.
    variable : str
        A column of numbers.

    Returns
    -------
    (n, width) ndarray
        Right derivatives; NaN where the variable is missing.

    Raises
    ------
    DataError
        A value that depends on other rows, or rows without a (finite) derivative.
    """
    e = factor.expression
    if e.bare is not None:
        return np.ones((n, 1))
    columns = {name: columns[name] for name in e.columns}
    if e.across:
        _refuse_other_rows(e, columns, n, variable)
    out = np.empty((n, factor.width), order="F")
    step = n if e.across else BLOCK
    spread = _spread(columns[variable])
    for start in range(0, n, step):
        stop = min(start + step, n)
        cut = columns if stop - start == n else {k: c.take(np.arange(start, stop)) for k, c in columns.items()}
        out[start:stop] = _slope(factor, cut, stop - start, variable, spread)
    return out


def _slope(factor: Factor, columns: Mapping[str, Column], n: int, variable: str, spread: float) -> ndarray:
    missing = columns[variable].missing
    there = np.ones(n, dtype=bool) if missing is None else ~missing
    with np.errstate(all="ignore"):
        found = _by_duals(factor, columns, n, variable)
        odd = there & ~np.isfinite(found).all(axis=1)
        if odd.any():
            differences, sure = _by_differences(factor, columns, n, variable, spread, odd)
            lost = odd & ~sure
            if lost.any():
                raise DataError(
                    f'"{factor.expression.code}" has no finite derivative in "{variable}" in {_rows(lost)} '
                    f"(where {variable} is {quoted(_numbers(columns[variable])[lost][:5].tolist())}): leave them out, "
                    "or write the factor with numpy's functions."
                )
            found = np.where(odd[:, None], differences, found)
    return np.where(there[:, None], found, np.nan)


def _rows(mask: ndarray) -> str:
    return f"{int(mask.sum())} row{'s' if mask.sum() > 1 else ''}"


def _numbers(column: Column) -> ndarray:
    return np.asarray(column.marked(), dtype=np.float64)


# ----------------------------------------------------------------------------------------------------- dual numbers
def _by_duals(factor: Factor, columns: Mapping[str, Column], n: int, variable: str) -> ndarray:
    """The derivative by dual numbers, NaN where the code does not take them."""
    e, unknown = factor.expression, np.full((n, factor.width), np.nan)
    through = {name: _Through(transform) for name, transform in e.transforms.items()}
    x = Dual(_numbers(columns[variable]), 1.0)
    try:
        raw = e.run(e.eval_code, columns, {variable: x}, through)
        value, tangent = (raw.value, raw.tangent) if isinstance(raw, Dual) else (raw, None)
        if e.across:  # a function of the caller's may do something else with a dual number
            plain, own = value_of(e, columns, n).data, as_value(value, e.code, n).data
            if not np.allclose(own, plain, rtol=1e-10, atol=0.0, equal_nan=True):
                return unknown
    except (DataError, NotImplementedError):
        return unknown
    if tangent is None:
        return np.zeros((n, factor.width))
    tangent = np.asarray(tangent, dtype=np.float64).reshape(len(tangent), -1)
    return tangent if tangent.shape == (n, factor.width) else unknown


class _Through:
    """A transform that remembers its training rows, for dual numbers."""

    def __init__(self, transform: Any):
        self._transform = transform

    def transform(self, *args: Any, **kwargs: Any) -> Any:
        """As the transform's own, with the derivative where an argument has one."""
        given = [*args, *kwargs.values()]
        if not any(isinstance(argument, Dual) for argument in given):
            return self._transform.transform(*args, **kwargs)
        rule = next((rule for kind, rule in RULES.items() if isinstance(self._transform, kind)), None)
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


RULES: dict[type, Callable[..., ndarray]] = {
    _kind("center"): _centred,
    _kind("standardize"): _standardised,
    _kind("bs"): _b_spline,
    _kind("cr"): _cubic_spline,
    _kind("cc"): _cubic_spline,
    _kind("te"): _tensor,
    Basis: _basis,
}


# ------------------------------------------------------------------------------------------------------ differences
LEVELS = 10  # halvings of the step
TOLERANCE = 1e-6


def _by_differences(
    factor: Factor, columns: Mapping[str, Column], n: int, variable: str, spread: float, rows: ndarray
) -> tuple[ndarray, ndarray]:
    """Derivative from differences in some rows, and in which of them it is good to `TOLERANCE`."""
    e, x = factor.expression, _numbers(columns[variable])
    out, sure = np.full((n, factor.width), np.nan), np.zeros(n, dtype=bool)

    def at(moved: ndarray) -> ndarray:
        return _moved(e, columns, n, variable, moved)

    size = np.where(x == 0, spread, np.abs(x))
    for step in (np.maximum(size, spread), size, np.full(n, 1e-3 * spread)):
        todo = rows & ~sure
        if not todo.any():
            break
        found, good = _extrapolated(at, x, 0.1 * np.where(todo, step, 1.0))
        good &= todo
        out[good], sure = found[good], sure | good
    return out, sure


def _moved(e: Expression, columns: Mapping[str, Column], n: int, variable: str, x: ndarray) -> ndarray:
    """The factor's numbers where the variable has other values."""
    column = Column(x, columns[variable].missing, "number")
    return np.asarray(value_of(e, {**columns, variable: column}, n).data, dtype=np.float64)


def _extrapolated(at: Callable[[ndarray], ndarray], x: ndarray, step: ndarray) -> tuple[ndarray, ndarray]:
    """Derivative at x by Ridders' table, from both sides or, at a kink, from the right; and where it is sure."""
    here = at(x)

    def before(moved: ndarray) -> ndarray:
        try:
            return at(moved)
        except DataError:  # a function may end where the data do
            return np.full(here.shape, np.nan)

    both, right = _Table(4.0, here.shape), _Table(2.0, here.shape)
    size = np.zeros(here.shape)
    for level in range(LEVELS):
        h = step / 2.0**level
        above, below = x + h, x - h
        up, down = at(above), before(below)
        both.add((up - down) / (above - below)[:, None])
        right.add((up - here) / (above - x)[:, None])
        if level == 0:
            size = np.fmax(np.abs(up - here), np.abs(here - down)) / h[:, None]
    enough = TOLERANCE * np.fmax(np.fmax(size, np.abs(both.best)), np.abs(right.best))
    smooth = (both.error <= enough) & (np.abs(both.best - right.best) <= 10 * enough + 2 * right.error)
    smooth &= right.error <= 100 * enough
    found = np.where(smooth, both.best, right.best)
    return found, (smooth | (right.error <= enough)).all(axis=1)


class _Table:
    """Extrapolation to a step of 0, entry by entry, and the best value with its error so far."""

    def __init__(self, factor: float, shape: tuple[int, ...]):
        self.factor, self.last = factor, list[ndarray]()
        self.best, self.error = np.full(shape, np.nan), np.full(shape, np.inf)

    def add(self, quotient: ndarray) -> None:
        """The difference quotient of half the last step."""
        row = [quotient]
        for m, before in enumerate(self.last):
            row.append(row[m] + (row[m] - before) / (self.factor ** (m + 1) - 1.0))
            error = np.maximum(np.abs(row[m + 1] - row[m]), np.abs(row[m + 1] - before))
            better = error < self.error
            self.best, self.error = np.where(better, row[m + 1], self.best), np.where(better, error, self.error)
        self.last = row


def _spread(column: Column) -> float:
    x = _numbers(column)
    x = x[np.isfinite(x)]
    spread = float(x.std()) if len(x) else 0.0
    return spread or (math.fabs(float(x[0])) if len(x) else 0.0) or 1.0


def _refuse_other_rows(e: Expression, columns: Mapping[str, Column], n: int, variable: str) -> None:
    """Raise DataError where a row's value changes as the variable changes in other rows."""
    thrice = {name: column.take(np.repeat(np.arange(n), 3)) for name, column in columns.items()}
    x = _numbers(thrice[variable])
    h = 1e-3 * np.where(x == 0, _spread(columns[variable]), np.abs(x))
    x[::3] += h[::3]  # around each row, copies of it with other values
    x[2::3] -= 0.3 * h[2::3]  # not the same distance: their mean must change, too
    with np.errstate(all="ignore"):
        among = _moved(e, thrice, 3 * n, variable, x)[1::3]
        alone = np.asarray(value_of(e, columns, n).data, dtype=np.float64)
    if among.shape != alone.shape or not np.allclose(among, alone, rtol=1e-10, atol=0.0, equal_nan=True):
        raise DataError(
            f'"{e.code}": its value in a row depends on "{variable}" in other rows, so that it has no derivative row '
            "by row. Compute the column beforehand."
        )
