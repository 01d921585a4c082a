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
import pandas as pd
import patsy.builtins
from numpy import ndarray

from glmclf.data.duals import Dual
from glmclf.data.factors import Expression, Factor, as_value, stateful
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


def slope(factor: Factor, columns: Mapping[str, Column], keep: ndarray, variable: str) -> ndarray:
    """Derivative of a numerical factor in one of its variables, row by row.

    Parameters
    ----------
    factor : Factor
        Without levels.
    columns : mapping of Columns
        Of the whole table.
    keep : (n,) bool ndarray
        Rows in which the factor has a value and the variable is there.
    variable : str
        A column of numbers.

    Returns
    -------
    (kept rows, width) ndarray
        Right derivatives.

    Raises
    ------
    DataError
        A value that depends on other rows, or rows without a (finite) derivative.
    """
    e, m = factor.expression, int(keep.sum())
    if e.bare is not None:
        return np.ones((m, 1))
    table = {name: columns[name] for name in e.columns}
    if not e.across:
        table = {name: column.take(None if keep.all() else keep) for name, column in table.items()}
        keep = np.ones(m, dtype=bool)
    n, step = len(keep), BLOCK
    if e.foreign:
        if _depends(e, table, n, [variable]):
            raise DataError(
                f'"{e.code}": its value in a row depends on "{variable}" in other rows, so that it has no derivative '
                "row by row. Compute the column beforehand."
            )
        numbers = [name for name, column in table.items() if column.kind == "number"]
        step = n if n > BLOCK and _depends(e, table, n, numbers) else BLOCK
    out, spread = np.empty((n, factor.width), order="F"), _spread(table[variable])
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        cut = table if n <= step else {name: column.take(np.arange(n)[part]) for name, column in table.items()}
        out[part] = _slope(factor, cut, keep[part], variable, spread)
    return out if keep.all() else out[keep]


def _slope(factor: Factor, columns: Mapping[str, Column], keep: ndarray, variable: str, spread: float) -> ndarray:
    with np.errstate(all="ignore"):
        found = _by_duals(factor, columns, len(keep), variable)
        odd = keep & ~np.isfinite(found).all(axis=1)
        if not odd.any():
            return found
        differences, sure = _by_differences(factor, columns, variable, spread, odd)
    lost = odd & ~sure
    if lost.any():
        raise DataError(
            f'"{factor.expression.code}" has no finite derivative in "{variable}" in {_rows(lost)} '
            f"(where {variable} is {quoted(_numbers(columns[variable])[lost][:5].tolist())}): leave them out, "
            "or write the factor with numpy's functions."
        )
    return np.where(odd[:, None], differences, found)


def _rows(mask: ndarray) -> str:
    return f"{int(mask.sum())} row{'s' if mask.sum() > 1 else ''}"


def _numbers(column: Column) -> ndarray:
    return np.asarray(column.marked(), dtype=np.float64)


# ----------------------------------------------------------------------------------------------------- dual numbers
def _by_duals(factor: Factor, columns: Mapping[str, Column], n: int, variable: str) -> ndarray:
    """The derivative by dual numbers, NaN where the code does not take them."""
    e, unknown = factor.expression, np.full((n, factor.width), np.nan)
    through: dict[str, Any] = {name: _Through(transform) for name, transform in e.transforms.items()}
    through |= {name: _Called(f, e.wants_series) for name, f in e.borrowed.items() if _opaque(f)}
    x = Dual(_numbers(columns[variable]), 1.0)
    try:
        raw = e.run(e.eval_code, columns, {variable: x}, through)
        value, tangent = (raw.value, raw.tangent) if isinstance(raw, Dual) else (raw, None)
        if e.foreign:  # a function of the caller's may do something else with a dual number
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


def _opaque(function: Any) -> bool:
    return callable(function) and not stateful(function) and not isinstance(function, type)


class _Called:
    """A function of the caller's, for dual numbers: as it is, or by differences in the direction of its arguments."""

    def __init__(self, function: Any, series: bool):
        self._function, self._series = function, series

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not any(isinstance(argument, Dual) for argument in args):
            return self._function(*args, **kwargs)
        plain = self._at(args, kwargs, 0.0)
        try:
            found = self._function(*args, **kwargs)
            value = found.value if isinstance(found, Dual) else np.asarray(found, dtype=np.float64)
            if _same(value, plain):
                return found
        except Exception:  # whatever a function does that was written for arrays
            pass
        return Dual(plain, self._differences(args, kwargs, plain))

    def _at(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], t: Any) -> ndarray:
        """The function where each argument has gone t times its derivative."""
        moved = [_along(a, t, self._series) if isinstance(a, Dual) else a for a in args]
        return np.asarray(self._function(*moved, **kwargs), dtype=np.float64)

    def _differences(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], plain: ndarray) -> ndarray:
        n = len(plain)
        near, far = np.full(n, np.inf), np.full(n, np.inf)
        for u in (a for a in args if isinstance(a, Dual)):
            if u.shape != (n,):
                raise TypeError("a function of the caller's of an array of another shape")
            sizes = _sizes(u.value, float(np.nanstd(u.value)) or 1.0)
            near, far = np.fmin(near, sizes[0] / np.abs(u.tangent)), np.fmin(far, sizes[1] / np.abs(u.tangent))

        def at(t: ndarray) -> ndarray:
            return self._at(args, kwargs, t).reshape(n, -1)

        out, _ = _settled(at, np.zeros(n), (far, near, 1e-3 * far), np.ones(n, dtype=bool))
        return out.reshape(plain.shape)


def _along(u: Dual, t: Any, series: bool) -> Any:
    moved = u.value + np.where(u.tangent == 0, 0.0, t * u.tangent)
    return pd.Series(moved) if series else moved


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
    factor: Factor, columns: Mapping[str, Column], variable: str, spread: float, rows: ndarray
) -> tuple[ndarray, ndarray]:
    """Derivative from differences in some rows, and in which of them it is good to `TOLERANCE`."""
    x = _numbers(columns[variable])

    def at(moved: ndarray) -> ndarray:
        return _moved(factor.expression, columns, len(rows), {variable: moved})

    near, far = _sizes(x, spread)
    return _settled(at, x, (far, near, 1e-3 * far), rows)


def _sizes(x: ndarray, spread: float) -> tuple[ndarray, ndarray]:
    """What a small step is small against: the number itself, or the larger of it and the spread of all."""
    return np.where(x == 0, spread, np.abs(x)), np.maximum(np.abs(x), spread)


def _settled(
    at: Callable[[ndarray], ndarray], x: ndarray, sizes: tuple[ndarray, ...], rows: ndarray
) -> tuple[ndarray, ndarray]:
    """Derivatives in some rows by the first of several steps that gives one, and the rows where one did."""
    out, sure = np.full((len(x), 1), np.nan), np.zeros(len(x), dtype=bool)
    for size in sizes:
        todo = rows & ~sure
        if todo.any():
            found, good = _extrapolated(at, x, 0.1 * np.where(todo & np.isfinite(size), size, 1.0))
            good &= todo
            out, sure = np.where(good[:, None], found, out), sure | good
    return out, sure


def _moved(e: Expression, columns: Mapping[str, Column], n: int, moved: Mapping[str, ndarray]) -> ndarray:
    """The factor's numbers where some variables have other values."""
    others = {name: Column(x, columns[name].missing, "number") for name, x in moved.items()}
    return np.asarray(value_of(e, {**columns, **others}, n).data, dtype=np.float64)


def _extrapolated(at: Callable[[ndarray], ndarray], x: ndarray, step: ndarray) -> tuple[ndarray, ndarray]:
    """Derivative at x by Ridders' table, from both sides or, at a kink, from the right; and where it is sure."""
    here = at(x)

    def tried(moved: ndarray) -> ndarray:
        try:
            return at(moved)
        except Exception:  # a function of the caller's may end where the data do
            return np.full(here.shape, np.nan)

    both, right = _Table(4.0, here.shape), _Table(2.0, here.shape)
    size = np.zeros(here.shape)
    for level in range(LEVELS):
        h = step / 2.0**level
        above, below = x + h, x - h
        up, down = tried(above), tried(below)
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


# ------------------------------------------------------------------------------------------------------- other rows
SAMPLE = 5_000  # rows that are asked


def _depends(e: Expression, columns: Mapping[str, Column], n: int, names: Collection[str]) -> bool:
    """Whether a row's value changes as these variables change in other rows."""
    where = np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.intp))
    with np.errstate(all="ignore"):
        alone = np.asarray(value_of(e, columns, n).data, dtype=np.float64)[where]
        for up, down in ((1.0, -0.3), (1.0, 0.6), (-1.0, -0.6)):  # not the same distances: means must change, too
            try:
                return not _same(_among_others(e, columns, where, names, (up, down)), alone)
            except DataError:  # the code takes no values beyond those of the rows
                continue
        half = np.arange(n)[: (n + 1) // 2]
        few = {name: column.take(half) for name, column in columns.items()}
        return not _same(_moved(e, few, len(half), {})[where[where < len(half)]], alone[where < len(half)])


def _among_others(
    e: Expression, columns: Mapping[str, Column], where: ndarray, names: Collection[str], moves: tuple[float, float]
) -> ndarray:
    """The values of some rows, each between copies of it in which the variables have been moved."""
    thrice = {name: column.take(np.repeat(where, 3)) for name, column in columns.items()}
    moved = {}
    for name in names:
        x = moved[name] = _numbers(thrice[name])
        h = 1e-3 * np.where(x == 0, _spread(columns[name]), np.abs(x))
        x[::3] += moves[0] * h[::3]
        x[2::3] += moves[1] * h[2::3]
    return _moved(e, thrice, 3 * len(where), moved)[1::3]


def _same(a: ndarray, b: ndarray) -> bool:
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-10, atol=0.0, equal_nan=True)
