"""Inverse prediction: the value of a variable at which the event has a given probability.

The one function of a variable that a design moves with: its values, slopes and inverse, and where it is level.

Inside the range of the data it is checked on a grid, by values and slopes, or monotone by its syntax. Beyond it is
followed for as long as it goes on the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.checks import check_choice, is_number, is_truth
from glmclf.data.formula.expressions import affine, monotone
from glmclf.data.table.frame import quoted
from glmclf.data.table.undefined_rows import domain_sought
from glmclf.errors import DataError, InferenceWarning, warn
from glmclf.inference.hypotheses.wald import check_alpha
from glmclf.inference.margins import inverse
from glmclf.inference.margins.averages import Moved
from glmclf.inference.margins.inverse import INTERVAL, LINE, RAYS
from glmclf.results.margins.predictors import LinearPredictors
from glmclf.results.margins.rows import rows_to_average
from glmclf.results.margins.typical import TypicalRows, typical

MAX_BEND = 1e-9  # share of a column's size by which the design may leave the line through its ends
MAX_ROOT_MISS = 1e-6  # relative difference of t at the value found; beyond it the function jumps
NO_CHANGE = 1e-13  # share of a function's change between the data's ends that counts as no change
SAME = 1e-12  # relative difference of two t that counts as none
LEVEL_WIDTH = 1e-3  # share of the data's range over which a constant function counts as level
MIN_VALUE, MAX_VALUE = 1e-300, 1e300  # magnitudes of the variable that are searched
ROOT_RTOL, ROOT_MAXITER = 4.0 * np.finfo(float).eps, 5_000
EVEN = np.linspace(0.0, 1.0, 401)
GRID = np.unique(np.concatenate([EVEN, 2.0 ** -np.arange(9, 31), 1.0 - 2.0 ** -np.arange(9, 31)]))
AHEAD = np.linspace(0.0, 1.0, 17)[1:]
HALVED = 2.0 ** -(2.0 ** np.arange(11))  # down to 2**-1024


def inverse_predict(
    res: Any, p: Any, variable: str, at: Mapping[str, Any] | None, alpha: float, method: str
) -> pd.DataFrame:
    """See `Margins.inverse_predict`."""
    check_choice("method", method, ("fieller", "delta"))
    values = _probabilities(p)
    source = res._margin_source()
    source.check(variable)
    if source.model._ranges is None:
        raise DataError(f'the file holds no range of "{variable}", as those of format 1: fit again and save it again')
    row = _other_variables(source, variable, dict(at or {}))
    line = _VariableLine(source, row, variable)
    wanted = res.model.link.quantile(values)
    table = [line.solve(q, check_alpha(alpha), method) for q in wanted]
    frame = pd.DataFrame(table, columns=["estimate", "se", "ci_lower", "ci_upper", "shape"])
    _say_missing(frame, line, values, wanted, variable)
    odd = frame["shape"] != INTERVAL
    if odd.any():
        what = ", ".join(f"p = {v:g}: {s}" for v, s in zip(values[odd], frame["shape"][odd], strict=True))
        warn(
            f'the slope of "{variable}" does not differ from 0 at level {alpha:g}, so that the set of its values is '
            f"no interval ({what}): two rays are all up to ci_lower and from ci_upper on",
            InferenceWarning,
        )
    return frame.set_index(pd.Index(values, name="p"))


def _say_missing(frame: pd.DataFrame, line: _VariableLine, values: ndarray, wanted: ndarray, variable: str) -> None:
    """Warn of NaN estimates: no value of the variable has p, or all values of a level piece have it."""
    flat = np.array([q in line.flat for q in wanted])
    out = np.isnan(frame["estimate"]) & np.isfinite(line.B) & ~flat
    if out.any():
        warn(
            f'no value of "{variable}" has {", ".join(f"p = {v:g}" for v in values[out])}: its function in the formula '
            "does not reach it. Such estimates are NaN, and ends that are not reached those of its domain",
            InferenceWarning,
        )
    if flat.any():
        pieces = [(v, *line.flat[q]) for v, q in zip(values[flat], wanted[flat], strict=True)]
        what = ", ".join(f"p = {v:g}: all from {low:.6g} to {high:.6g}" for v, low, high in pieces)
        warn(
            f'more than one value of "{variable}" has {what}, where its function in the formula is level. Such '
            "estimates are NaN",
            InferenceWarning,
        )


def _probabilities(p: Any) -> ndarray:
    try:
        values = np.atleast_1d(np.asarray(p, dtype=float))
    except (TypeError, ValueError):
        values = np.full(1, np.nan)
    if values.ndim != 1 or not len(values) or not ((values > 0) & (values < 1)).all():
        raise DataError(f"p={p!r}: probabilities between 0 and 1")
    return values


def _other_variables(source: LinearPredictors, variable: str, at: dict[str, Any]) -> TypicalRows:
    """Row with the other variables at typical or given values."""
    offset = getattr(source.model, "_offset_column", None)
    if variable in at:
        raise ValueError(f'at= sets "{variable}", which is what is asked for')
    for name, value in at.items():
        if name != offset:
            source.check(name)
        if not isinstance(value, (str, bytes)) and np.ndim(value):
            raise ValueError(f'at= gives several values of "{name}": one is needed')
        _check_value(name, value, name == offset)
    if variable == offset:
        raise NotImplementedError(f'inverse_predict() of "{variable}", which is the offset, too')
    source.refuse_computed(variable, "inverse_predict() of")
    others = [name for name in source.design.variables if name != variable]
    ranges = source.model._ranges
    known = {name: ranges[name][0] for name in others if name in ranges and ranges[name][0] == ranges[name][1]} | at
    if set(others) <= set(known) and (offset in at or not source.model._has_offset):
        row = TypicalRows(source, [{variable: 1.0}], [{}], [None])
        empty = pd.DataFrame({name: [known.get(name)] for name in source.design.variables})
        for name in others:
            levels = source.levels_of(name, empty)
            if levels is None:
                row.point[0][name] = known[name]
            else:
                row.shares[0][name] = ([known[name]], np.ones(1))
        if source.levels_of(variable, empty) is not None:
            row.shares[0][variable] = row.point[0].pop(variable), np.ones(1)
        if offset in at:
            row.offsets = [source.offset_of(np.array([float(at[offset])]))]
    else:
        row = typical(rows_to_average(source), "mean")
        for name, value in at.items():
            row = row.set(name, value)
    if variable not in row.point[0]:
        raise NotImplementedError(f'inverse_predict() of "{variable}", a factor: it has levels, no values between them')
    return row


def _check_value(name: str, value: Any, is_offset: bool) -> None:
    """Refuse a missing or infinite value, and an offset that is no number."""
    odd = bool(pd.isna(value)) or (isinstance(value, (float, np.floating)) and np.isinf(value))
    if odd or (is_offset and not (is_number(value) or is_truth(value))):
        what = "a number" if is_offset else "a finite number or a level"
        raise DataError(f'at= sets "{name}" to {value!r}: give it {what}')


class _VariableLine:
    """Linear predictor -A + t(v) B in a function t of one variable."""

    def __init__(self, source: LinearPredictors, row: TypicalRows, name: str):
        self.function = f = OneVariable(source, row, name)
        self.flat: dict[float, tuple[float, float]] = {}  # ends of level pieces by the predictor they have
        if source.lost(f.step, change=True) or source.lost(f.first):
            raise ValueError(
                f'the slope of "{name}" is not estimable: its column was left out as a combination of others'
            )
        x0, x1 = source.rows(f.first), source.rows(f.step)
        eta = source.predictors(f.first, x0, row.offsets[0])
        slope = source.steps(f.step, Moved.of(x1), eta)
        self.A, self.B = float(eta[0]), float(slope[0, 0])
        if not (np.isfinite(self.A) and np.isfinite(self.B)):
            raise ValueError(f'the linear predictor is infinite in "{name}" ({source.res.separation}): no value has p')
        X = np.vstack([-x0, x1])
        self.V = X @ source.V @ X.T

    def solve(self, wanted: float, alpha: float, method: str) -> tuple[float, float, float, float, str]:
        """Estimate, standard error, ends and shape of the set, in the variable's units; NaN where no value has p."""
        found, value = inverse.ratio(wanted - self.A, self.B, self.V, alpha, method), self.function.value
        v, beyond = value(found.estimate)
        (low, below), (high, above) = value(found.low), value(found.high)
        shape = found.shape
        if shape == INTERVAL and (below > 0 or above < 0):  # the whole interval is out of reach
            low = high = np.nan
        elif shape == RAYS and (below > 0 or above < 0):
            low, high, shape = value(-np.inf)[0], value(np.inf)[0], LINE
        elif shape == RAYS:  # a ray out of reach is empty
            low, high = np.nan if below else low, np.nan if above else high
        level = None if beyond else self.function.level(v)
        if level is not None:
            self.flat[wanted] = level
        if beyond or level is not None:
            return np.nan, np.nan, low, high, shape
        with np.errstate(divide="ignore"):  # infinite where the slope is 0, as of (x - a)**3
            se = np.divide(found.se, np.abs(self.function.slopes(np.array([v]))[0]))
        return v, float(se), low, high, shape


# ---------------------------------------------------------------------------------------- the function of the variable
class OneVariable:
    """Function t(v) of a design x0 + t(v) x1: 0 and 1 at the smallest and largest finite value in the fit.

    Parameters
    ----------
    source : LinearPredictors
    row : TypicalRows
        The other variables.
    name : str

    Attributes
    ----------
    low, high : float
        The values at which t is 0 and 1.
    first, step : (1, k) ndarray
        x0 and x1, as raw rows.
    linear : bool

    Raises
    ------
    DataError
        No finite range, or no change in it.
    NotImplementedError
        Several functions, one that is not monotone, or steps.
    """

    def __init__(self, source: LinearPredictors, row: TypicalRows, name: str):
        self.source, self.row, self.name = source, row, name
        # by sign, a t out of reach and the end found for it
        self._missed: dict[float, tuple[float, tuple[float, int]]] = {}
        self.low, self.high = self._range()
        few = np.array([0.0, 0.25, 0.6, 1.0])
        if not source.blockwise:
            self._check_row_by_row(self._between_ends(few))
        t, self.linear = None, all(affine(code, name) for code in self._codes())
        if self.linear:  # a product of two affine factors is not linear
            t = self._straight(self._between_ends(few))
            self.linear = bool(np.allclose(t, few, rtol=1e-12, atol=0.0))
        if not self.linear:
            self._set_range()
            v = self._between_ends(GRID)
            self._check(v, self._straight(v))

    def _range(self) -> tuple[float, float]:
        ranges = self.source.model._ranges
        if self.name not in ranges:
            raise DataError(f'"{self.name}" has no finite range in the rows of the fit')
        return ranges[self.name][0], ranges[self.name][1]

    def _set_range(self) -> None:
        """Narrow the range to the domain of the function; a log may leave rows at the ends incomplete."""
        v = self._between_ends(EVEN)
        there = v[np.isfinite(self._rows(v)).all(axis=1)]
        if len(there):
            self.low, self.high = float(there[0]), float(there[-1])

    def _between_ends(self, shares: ndarray) -> ndarray:
        v = self.low + shares * (self.high - self.low)
        v[shares == 1.0] = self.high
        return v

    def _codes(self) -> list[str]:
        """Factors of the formula with the variable; empty for a design from arrays, which is linear."""
        factors = getattr(self.source.design, "factors", {})
        return [code for code, f in factors.items() if self.name in f.expression.columns]

    def _proved(self) -> bool:
        """Whether the function is monotone by its syntax."""
        codes = self._codes()
        factors = [self.source.design.factors[code] for code in codes]
        alone = len(factors) == 1 and list(factors[0].expression.columns) == [self.name]
        return alone and not factors[0].expression.foreign and monotone(codes[0], self.name)

    # --------------------------------------------------------------------------------------------------- checks
    def _check_row_by_row(self, v: ndarray) -> None:
        """Refuse a function whose value in a row depends on other rows."""
        alone = np.concatenate([self._rows(v[i : i + 1]) for i in range(len(v))])
        if not np.array_equal(alone, self._rows(v), equal_nan=True):
            raise DataError(
                f'inverse_predict() of "{self.name}": its value in {quoted(self._codes())} depends on other rows. '
                "Compute the column beforehand"
            )

    def _straight(self, v: ndarray) -> ndarray:
        """Function t at some values, the ends first and last; refuses a design off the line through its ends."""
        rows, of = self._rows(v), f'"{self.name}" between {self.low:g} and {self.high:g}'
        if not np.isfinite(rows).all():
            raise DataError(f"the design is not finite for {of}")
        self.first, self.step = rows[:1], rows[-1:] - rows[:1]
        if not self.step.any():
            moves = len(v) > 2 and (rows != rows[0]).any()
            if moves:
                raise self._refused()
            raise DataError(f"the design does not move with {of}")
        t = self._place(rows)
        size = np.maximum(np.abs(rows), np.maximum(np.abs(rows[0]), np.abs(rows[-1])))
        if (np.abs(rows - self.first - t[:, None] * self.step) > MAX_BEND * size).any():
            raise self._refused()
        moved = self.step[0] != 0
        self.noise = NO_CHANGE + 4.0 * np.finfo(float).eps * float((size[:, moved] / np.abs(self.step[0, moved])).max())
        return t

    def _check(self, v: ndarray, t: ndarray) -> None:
        """Refuse a function that is not monotone, or that is a step function."""
        slopes = self.slopes(v)
        if np.isnan(slopes).all():
            self._slopes(v[len(v) // 2 :][:1])  # raises the error that says why
        if not self._proved() and ((np.diff(t) < -self.noise).any() or self._falls(slopes).any()):
            raise self._refused()
        if not slopes[~np.isnan(slopes)].any():
            raise NotImplementedError(
                f'inverse_predict() of "{self.name}", which enters by a step function ({quoted(self._codes())}): one '
                "value of it has many inverses, most have none"
            )

    def _falls(self, slopes: ndarray) -> ndarray:
        with np.errstate(invalid="ignore"):
            return slopes * (self.high - self.low) < -self.noise

    def _refused(self) -> NotImplementedError:
        rows = self._rows(self._between_ends(np.array([0.0, 0.25, 0.6, 1.0])))
        columns = np.array(self.source.model.exog_names)[(rows != rows[0]).any(axis=0)].tolist()
        return NotImplementedError(
            f'inverse_predict() of "{self.name}", which enters by several functions or by one that is not monotone '
            f"(columns {quoted(columns)})"
        )

    # --------------------------------------------------------------------------------------- values and slopes
    def _rows(self, v: ndarray) -> ndarray:
        """Raw rows of the design at some values."""
        return self._raw(v, self.row.raw)

    def _raw(self, v: ndarray, rows_of: Callable[..., ndarray]) -> ndarray:
        with np.errstate(all="ignore"), domain_sought():
            return self.row.over(self.name, v).collapsed(list(range(len(v))), rows_of)

    def _place(self, rows: ndarray) -> ndarray:
        """Function t from rows of the design: 0 at the first, 1 at the last value."""
        return self._along(rows - self.first)

    def _along(self, changes: ndarray) -> ndarray:
        moved = self.step[0] != 0
        scale, unit = np.abs(self.step[0, moved]), np.sign(self.step[0, moved])
        with np.errstate(all="ignore"):
            return (changes[:, moved] / scale) @ unit / len(unit)

    def _t(self, v: float) -> float:
        return float(self.at(np.array([v]))[0])

    def at(self, v: ndarray) -> ndarray:
        """Function t(v) at ordered values; NaN beyond the bounds of a spline."""
        return _each(lambda some: self._place(self._rows(some)), v, beyond=True)

    def slopes(self, v: ndarray) -> ndarray:
        """Derivatives dt/dv; NaN where the function has none."""
        if self.linear:
            return np.full(len(v), 1.0 / (self.high - self.low))
        out, there = np.full(len(v), np.nan), np.isfinite(v)
        if there.any():
            out[there] = _each(self._slopes, v[there])
        return out

    def _slopes(self, v: ndarray) -> ndarray:
        return self._along(self._raw(v, lambda table: self.source.raw_slopes(table, self.name)))

    # --------------------------------------------------------------------------------------------------- inverse
    def value(self, t: float) -> tuple[float, int]:
        """Inverse: the value v with t(v) = t, and 0; or an end of the domain and -1 or 1 for t out of reach."""
        if self.linear or np.isnan(t):
            return self.low + t * (self.high - self.low), 0
        if -SAME <= t <= 1.0 + SAME:
            return self._between(self.low, self.high, min(max(t, 0.0), 1.0)), 0
        sign = 1.0 if t > 1 else -1.0
        if np.isfinite(t) and sign in self._missed and sign * (t - self._missed[sign][0]) >= 0:
            return self._missed[sign][1]
        found = self._walk(t, sign)
        if np.isfinite(t) and found[1]:
            self._missed[sign] = t, found
        return found

    def _between(self, a: float, b: float, t: float) -> float:
        """Smallest value in [a, b] at which the function reaches t."""
        from scipy.optimize import brentq

        def off(v: float) -> float:
            found = self._t(v) - t
            return MAX_VALUE if np.isnan(found) else float(np.clip(found, -MAX_VALUE, MAX_VALUE)) or MIN_VALUE

        if off(a) >= 0 or off(b) <= 0:
            v = a if off(a) >= 0 else b
        else:
            v = brentq(off, a, b, xtol=MIN_VALUE, rtol=ROOT_RTOL, maxiter=ROOT_MAXITER)
        if abs(off(v)) <= MAX_ROOT_MISS * max(1.0, abs(t)):
            return v
        sides = np.clip(v + 8.0 * np.spacing(abs(v)) * np.array([-1.0, 1.0]), a, b)
        ends, slopes = self.at(sides), np.nan_to_num(self.slopes(sides))
        if not np.isfinite(ends).all():  # v is at a pole up to rounding
            return v
        if ends[1] - ends[0] <= 2.0 * slopes.max() * (sides[1] - sides[0]):  # steep, with no float between
            return v
        raise NotImplementedError(
            f'inverse_predict() of "{self.name}", which enters by a function that jumps at {v:g} '
            f"({quoted(self._codes())}): no value of it has this p, or this end of the set"
        )

    def _walk(self, t: float, sign: float) -> tuple[float, int]:
        """Walk from an end of the data while the function stays monotone, up to t or to the end of its domain."""
        a, here = (self.high, 1.0) if sign > 0 else (self.low, 0.0)
        step, bad = self.high - self.low, None  # the first value known to lie beyond the end
        large = MAX_VALUE if np.isfinite(t) else 1e12 * step
        while abs(a) <= large:
            v = _ahead(a, a + sign * step) if bad is None else _narrowed(a, bad)
            if not len(v):
                return 0.0 if abs(a) <= 1e-12 * (self.high - self.low) else a, int(sign)
            ts, good = self._followed(a, here, v, sign, np.isfinite(t))
            reached = np.isfinite(t) & (sign * (ts[:good] - t) >= 0)
            if reached.any():
                k = int(np.argmax(reached))
                before, past = float(v[k - 1]) if k else a, float(v[k])
                return self._between(min(before, past), max(before, past), t), 0
            if good == len(v) and bad is None and (np.abs(ts - here) <= NO_CHANGE * max(1.0, abs(here))).all():
                on = np.isfinite(t) and abs(t - here) <= SAME * max(1.0, abs(t)) and self.slopes(np.array([a]))[0] == 0
                return (a, 0) if on else (sign * np.inf, int(sign))  # the function levels off
            if good < len(v):
                bad = float(v[good])
            if good:
                a, here = float(v[good - 1]), float(ts[good - 1])
            step *= 4.0
        return sign * np.inf, 0 if np.isfinite(t) else int(sign)

    def _followed(self, a: float, here: float, v: ndarray, sign: float, poles: bool) -> tuple[ndarray, int]:
        """Function t at ordered values, and the number of values over which it stays monotone."""
        ts = self.at(v)
        with np.errstate(invalid="ignore"):
            good = np.isfinite(ts) & (sign * np.diff(ts, prepend=here) >= -NO_CHANGE * max(1.0, abs(here)))
        good[good] = ~self._falls(self.slopes(v[good]))
        if poles:
            good |= ts == sign * np.inf
        return ts, len(v) if good.all() else int(np.argmin(good))

    # ------------------------------------------------------------------------------------------------ level pieces
    def level(self, v: float) -> tuple[float, float] | None:
        """Ends of the level piece around v; None where the function is not level at v."""
        if self.linear or not np.isfinite(v):
            return None
        t, near = self._t(v), LEVEL_WIDTH * max(self.high - self.low, abs(v)) * np.array([0.25, 0.5, 1.0])
        sides = [self._is_level(v + sign * near, t) for sign in (-1.0, 1.0)]
        if not any(sides):
            return None
        ends = [self._edge(v, t, sign) if side else v for sign, side in zip((-1.0, 1.0), sides, strict=True)]
        return ends[0], ends[1]

    def _is_level(self, v: ndarray, t: float) -> bool:
        same = np.abs(self.at(v) - t) <= SAME * max(1.0, abs(t))
        return bool(same.all() and (self.slopes(v) == 0).all())

    def _edge(self, v: float, t: float, sign: float) -> float:
        """End of a level piece from v in the direction of a sign."""
        steps = LEVEL_WIDTH * max(self.high - self.low, abs(v)) * 2.0 ** np.arange(30)
        same = np.abs(self.at(v + sign * steps) - t) <= SAME * max(1.0, abs(t))
        if same.all():
            return sign * np.inf
        k = int(np.argmin(same))
        from scipy.optimize import bisect

        def side(v: float) -> float:
            return -1.0 if abs(self._t(v) - t) <= SAME * max(1.0, abs(t)) else 1.0

        inner, outer = v + sign * steps[k - 1], v + sign * steps[k]
        return bisect(side, inner, outer, xtol=MIN_VALUE, rtol=ROOT_RTOL, maxiter=ROOT_MAXITER)


def _each(f: Callable[[ndarray], ndarray], v: ndarray, beyond: bool = False) -> ndarray:
    """Apply f to all values, or to halves where f refuses some; NaN for refused values, or for all beyond one."""
    try:
        return f(v)
    except DataError:
        half = len(v) // 2
        if not half:
            return np.full(1, np.nan)
        first = _each(f, v[:half], beyond)
        if beyond and np.isnan(first[-1]):
            return np.append(first, np.full(len(v) - half, np.nan))
        return np.concatenate([first, _each(f, v[half:], beyond)])


def _ahead(a: float, b: float) -> ndarray:
    """Values from a (exclusive) to b, including 0 if it is between."""
    v = a + AHEAD * (b - a)
    if a * b < 0:
        v = np.unique(np.append(v, 0.0))
        v = v if b > a else v[::-1]
    return v[v != a]


def _narrowed(a: float, b: float) -> ndarray:
    """Values strictly between a and b, starting at a; by orders of magnitude if one end is 0."""
    if b == 0:
        v = a * HALVED
    elif a == 0:
        v = b * HALVED[::-1]
    else:
        v = np.unique(_ahead(a, b))
        v = v if b > a else v[::-1]
    return v[(v != a) & (v != b) & ((np.abs(v) >= MIN_VALUE) | (v == 0))]
