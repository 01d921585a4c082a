"""Derivatives of a design in one variable of the table, exact to rounding.

The code of each factor runs once more with a dual number in place of the variable; a transform that remembers its
training rows has a derivative of its own. Where the code cannot take a dual number (a function of the caller's),
differences of smaller and smaller steps are taken (scipy.differentiate), and what does not converge is refused.
The factors' derivatives make those of X by the product rule, term by term.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.data.derivatives.differences import settled, sizes
from glmclf.data.derivatives.duals import Dual
from glmclf.data.derivatives.transforms import Through
from glmclf.data.formula.evaluate import value_of
from glmclf.data.formula.factors import Expression, Factor, as_value, stateful
from glmclf.data.formula.terms import Variable
from glmclf.data.table.frame import Column, close_to, quoted
from glmclf.errors import DataError, DerivativeError

DIFFERENTIATED_ROWS = 65_536  # rows that are differentiated at a time


def refuse_variable(variable: str, columns: Mapping[str, Variable], factors: Collection[Factor]) -> None:
    """Raise DataError where nothing can be differentiated in a variable of the table."""
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
        raise DerivativeError(f'"{variable}" {kind}, so there is no derivative in it: compare its values instead.')


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
    n, step = len(keep), DIFFERENTIATED_ROWS
    if e.foreign:
        if _depends(e, table, n, [variable]):
            raise DerivativeError(
                f'"{e.code}": its value in a row depends on "{variable}" in other rows, so that it has no derivative '
                "row by row. Compute the column beforehand."
            )
        numbers = [name for name, column in table.items() if column.kind == "number"]
        step = n if n > DIFFERENTIATED_ROWS and _depends(e, table, n, numbers) else DIFFERENTIATED_ROWS
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
        raise DerivativeError(
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
    through: dict[str, Any] = {name: Through(transform) for name, transform in e.transforms.items()}
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


def _opaque(function: Any) -> bool:
    return callable(function) and not stateful(function) and not isinstance(function, type)


class _Called:
    """Function of the caller's for dual numbers: as it is, or by differences in the direction of its arguments."""

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
        """Value of the function where each argument has moved by t times its derivative."""
        moved = [_along(a, t, self._series) if isinstance(a, Dual) else a for a in args]
        return np.asarray(self._function(*moved, **kwargs), dtype=np.float64)

    def _differences(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], plain: ndarray) -> ndarray:
        n = len(plain)
        near, far = np.full(n, np.inf), np.full(n, np.inf)
        for u in (a for a in args if isinstance(a, Dual)):
            if u.shape != (n,):
                raise TypeError("a function of the caller's of an array of another shape")
            some, most = sizes(u.value, float(np.nanstd(u.value)) or 1.0)
            near, far = np.fmin(near, some / np.abs(u.tangent)), np.fmin(far, most / np.abs(u.tangent))

        def at(t: ndarray) -> ndarray:
            return self._at(args, kwargs, t).reshape(n, -1)

        out, _ = settled(at, np.zeros(n), (far, near, 1e-3 * far), np.ones(n, dtype=bool))
        return out.reshape(plain.shape)


def _along(u: Dual, t: Any, series: bool) -> Any:
    moved = u.value + np.where(u.tangent == 0, 0.0, t * u.tangent)
    return pd.Series(moved) if series else moved


# ------------------------------------------------------------------------------------------------------ differences
def _by_differences(
    factor: Factor, columns: Mapping[str, Column], variable: str, spread: float, rows: ndarray
) -> tuple[ndarray, ndarray]:
    """Derivative from differences in some rows, and in which of them it is good to `MAX_DERIVATIVE_ERROR`."""
    x = _numbers(columns[variable])

    def at(moved: ndarray) -> ndarray:
        return _moved(factor.expression, columns, len(rows), {variable: moved})

    near, far = sizes(x, spread)
    return settled(at, x, (far, near, 1e-3 * far), rows)


def _moved(e: Expression, columns: Mapping[str, Column], n: int, moved: Mapping[str, ndarray]) -> ndarray:
    """Numbers of the factor where some variables have other values."""
    others = {name: Column(x, columns[name].missing, "number") for name, x in moved.items()}
    return np.asarray(value_of(e, {**columns, **others}, n).data, dtype=np.float64)


def _spread(column: Column) -> float:
    x = _numbers(column)
    x = x[np.isfinite(x)]
    spread = float(x.std()) if len(x) else 0.0
    return spread or (math.fabs(float(x[0])) if len(x) else 0.0) or 1.0


# ------------------------------------------------------------------------------------------------------- other rows
MAX_ROWS_ASKED = 5_000  # rows of which it is asked whether their values depend on other rows


def _depends(e: Expression, columns: Mapping[str, Column], n: int, names: Collection[str]) -> bool:
    """Whether a row's value changes as some variables change in other rows."""
    where = np.unique(np.linspace(0, n - 1, min(n, MAX_ROWS_ASKED)).astype(np.intp))
    with np.errstate(all="ignore"):
        alone = np.asarray(value_of(e, columns, n).data, dtype=np.float64)[where]
        for up, down in ((1.0, -0.3), (1.0, 0.6), (-1.0, -0.6)):  # not the same distances: means must change, too
            try:
                return not _same(_among_others(e, columns, where, names, (up, down)), alone)
            except DataError:  # the code takes no values beyond those of the rows
                continue
        return any(_changes_alone(e, columns, np.arange(first, n, 2), where, alone) for first in range(min(n, 2)))


def _changes_alone(e: Expression, columns: Mapping[str, Column], few: ndarray, where: ndarray, alone: ndarray) -> bool:
    """Whether the values of some rows change where the rest of the table is left out."""
    cut = {name: column.take(few) for name, column in columns.items()}
    kept = np.isin(where, few)
    return not _same(_moved(e, cut, len(few), {})[np.searchsorted(few, where[kept])], alone[kept])


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
