"""Sets of inverse prediction, labelled: the value of a variable at which the event has a given probability."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.data.expressions import affine
from glmclf.data.frame import quoted
from glmclf.errors import DataError, InferenceWarning, warn
from glmclf.inference import inverse
from glmclf.inference.inverse import INTERVAL, LINE, RAYS
from glmclf.inference.wald import check_alpha
from glmclf.results.margin_rows import Typical, rows_of_fit, typical
from glmclf.results.margin_sources import Source
from glmclf.results.marginal_effects import check_word

STRAIGHT = 1e-9  # of a column's size, that a line through the design may miss
JUMP = 1e-6  # of t, that a value found may miss
FLAT = 1e-13  # of a function's change between the data's ends, that is none


def inverse_predict(
    res: Any, p: Any, variable: str, at: Mapping[str, Any] | None, alpha: float, method: str
) -> pd.DataFrame:
    """See `InversePredictions.inverse_predict`."""
    check_word("method", method, ("fieller", "delta"))
    if getattr(res, "_need_spread", None) is not None:
        res._need_spread("inverse_predict()")
    values = _probabilities(p)
    source = res._margin_source()
    source.check(variable)
    if source.model._ranges is None:
        raise DataError(f'the file holds no range of "{variable}", as those of format 1: fit again and save it again')
    row = _other_variables(source, variable, dict(at or {}))
    line = _Line(source, row, variable)
    table = [line.solve(q, check_alpha(alpha), method) for q in res.model.link.quantile(values)]
    frame = pd.DataFrame(table, columns=["estimate", "se", "ci_lower", "ci_upper", "shape"])
    out = np.isnan(frame["estimate"]) & np.isfinite(line.B)
    if out.any():
        warn(
            f'no value of "{variable}" has {", ".join(f"p = {v:g}" for v in values[out])}: its function in the formula '
            "does not go so far. Such estimates are NaN, and ends that are not reached those of its domain",
            InferenceWarning,
        )
    odd = frame["shape"] != INTERVAL
    if odd.any():
        what = ", ".join(f"p = {v:g}: {s}" for v, s in zip(values[odd], frame["shape"][odd], strict=True))
        warn(
            f'the slope of "{variable}" does not differ from 0 at level {alpha:g}, so that the set of its values is '
            f"no interval ({what}): two rays are all up to ci_lower and from ci_upper on",
            InferenceWarning,
        )
    return frame.set_index(pd.Index(values, name="p"))


def _probabilities(p: Any) -> ndarray:
    try:
        values = np.atleast_1d(np.asarray(p, dtype=float))
    except (TypeError, ValueError):
        values = np.full(1, np.nan)
    if values.ndim != 1 or not len(values) or not ((values > 0) & (values < 1)).all():
        raise DataError(f"p={p!r}: probabilities between 0 and 1")
    return values


def _other_variables(source: Source, variable: str, at: dict[str, Any]) -> Typical:
    """One row with the other variables at typical or given values."""
    offset = getattr(source.model, "_offset_column", None)
    if variable in at:
        raise ValueError(f'at= sets "{variable}", which is what is asked for')
    for name, value in at.items():
        if name != offset:
            source.check(name)
        if not isinstance(value, (str, bytes)) and np.ndim(value):
            raise ValueError(f'at= gives several values of "{name}": one is needed')
    if variable == offset:
        raise NotImplementedError(f'inverse_predict() of "{variable}", which is the offset, too')
    others = [name for name in source.design.variables if name != variable]
    ranges = source.model._ranges
    known = {name: ranges[name][0] for name in others if name in ranges and ranges[name][0] == ranges[name][1]} | at
    if set(others) <= set(known) and (offset in at or not source.model._has_offset):
        row = Typical(source, [{variable: 1.0}], [{}], [None])
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
        row = typical(rows_of_fit(source), "mean")
        for name, value in at.items():
            row = row.set(name, value)
    if variable not in row.point[0]:
        raise NotImplementedError(f'inverse_predict() of "{variable}", a factor: it has levels, no values between them')
    return row


class _Line:
    """The design as a line x0 + t(v) x1 in a function t of one variable."""

    def __init__(self, source: Source, row: Typical, name: str):
        self.source, self.row, self.name = source, row, name
        self.low, self.high = self._range()
        self._missed: dict[float, tuple[float, tuple[float, int]]] = {}  # a t out of reach, and what was found instead
        ends = self._raw(self.low), self._raw(self.high)
        middle = [self._raw(self.low + s * (self.high - self.low)) for s in (0.25, 0.6)]
        self.first, self.step = ends[0], ends[1] - ends[0]
        if not np.isfinite(np.concatenate([*ends, *middle])).all():
            raise DataError(f'the design is not finite for "{name}" between {self.low:g} and {self.high:g}')
        if not self.step.any():
            raise DataError(f'the design does not move with "{name}" between {self.low:g} and {self.high:g}')
        self._check_straight(middle)
        self._check_steps()
        if source.lost(self.step[None]) or source.lost(self.first[None]):
            raise ValueError(
                f'the slope of "{name}" is not estimable: its column was left out as a combination of others'
            )
        x0, x1 = source.rows(self.first[None]), source.rows(self.step[None])
        eta = source.predictors(self.first[None], x0, row.offsets[0])
        slope = source.steps(self.step[None], x1, eta)
        self.A, self.B = float(eta[0]), float(slope[0, 0])
        if not (np.isfinite(self.A) and np.isfinite(self.B)):
            raise ValueError(f'the linear predictor is infinite in "{name}" ({source.res.separation}): no value has p')
        X = np.vstack([-x0, x1])
        self.V = X @ source.V @ X.T

    def _range(self) -> tuple[float, float]:
        """Two values of the variable in its domain."""
        ranges = self.source.model._ranges
        if self.name not in ranges:
            raise DataError(f'"{self.name}" has no finite range in the rows of the fit')
        low, high = ranges[self.name]
        # rows at the least value may be incomplete, as of a log
        inner = (low + s * (high - low) for s in (0.0, 1e-3, 0.01, 0.1, 0.25, 0.5))
        return next((v for v in inner if self._finite(v)), low), high

    def _raw(self, v: float) -> ndarray:
        with np.errstate(all="ignore"):
            return self.row.set(self.name, float(v)).collapsed([0], self.source.raw)[0]

    def _finite(self, v: float) -> bool:
        return bool(np.isfinite(self._raw(v)).all())

    def _check_straight(self, rows: list[ndarray]) -> None:
        size = np.maximum(np.abs(self.first), np.abs(self.first + self.step))
        ts = []
        for row in rows:
            t = self._place(row)
            off = np.abs(row - self.first - t * self.step) > STRAIGHT * np.maximum(size, np.abs(row))
            if off.any() or not 0 < t < 1:
                raise NotImplementedError(
                    f'inverse_predict() of "{self.name}", which enters by several functions or by one that is not '
                    f"monotone (columns {quoted(np.array(self.source.model.exog_names)[self.step != 0].tolist())})"
                )
            ts.append(t)
        on_line = bool(np.allclose(ts, (0.25, 0.6), rtol=1e-12, atol=0.0))
        self.linear = on_line and all(affine(code, self.name) for code in self._codes())

    def _check_steps(self) -> None:
        """Refuse a function that is level between jumps."""
        places = self.low + np.array([0.137, 0.293, 0.448, 0.711, 0.934]) * (self.high - self.low)
        if not self.linear and not any(self._slope(v) for v in places):
            raise NotImplementedError(
                f'inverse_predict() of "{self.name}", which enters by a step function ({quoted(self._codes())}): one '
                "value of it has many inverses, most have none"
            )

    def _codes(self) -> list[str]:
        """The factors of the formula that hold the variable; none of a design of arrays, which is linear."""
        factors = getattr(self.source.design, "factors", {})
        return [code for code, f in factors.items() if self.name in f.expression.columns]

    def _place(self, row: ndarray) -> float:
        """t of a row of the design: 0 at the first, 1 at the last value."""
        scale = np.where(self.step == 0, 1.0, np.abs(self.step))
        return float(((row - self.first) / scale) @ (self.step / scale) / ((self.step / scale) @ (self.step / scale)))

    def solve(self, wanted: float, alpha: float, method: str) -> tuple[float, float, float, float, str]:
        """Estimate, standard error, ends and shape of the set, in the variable's units; NaN where no value reaches."""
        found = inverse.ratio(wanted - self.A, self.B, self.V, alpha, method)
        v, beyond = self._value(found.estimate)
        (low, below), (high, above) = self._value(found.low), self._value(found.high)
        shape = found.shape
        if shape == INTERVAL and (below > 0 or above < 0):  # all of it out of reach
            low = high = np.nan
        elif shape == RAYS and (below > 0 or above < 0):
            low, high, shape = self._value(-np.inf)[0], self._value(np.inf)[0], LINE
        elif shape == RAYS:  # a ray beyond the reach is empty
            low, high = np.nan if below else low, np.nan if above else high
        if beyond:
            return np.nan, np.nan, low, high, shape
        with np.errstate(divide="ignore"):  # infinite at a level point, as of (x - a)**3
            return v, float(np.divide(found.se, abs(self._slope(v)))), low, high, shape

    def _slope(self, v: float) -> float:
        """dt/dv."""
        if self.linear:
            return 1.0 / (self.high - self.low)
        if not np.isfinite(v):
            return np.nan
        moved = self.row.set(self.name, float(v))
        d = moved.collapsed([0], lambda t: self.source.raw_slopes(t, self.name))[0]
        return self._place(self.first + d)

    def _value(self, t: float) -> tuple[float, int]:
        """The value v with t(v) = t, and 0; or the end of the domain where t is below (-1) or above (1) its reach."""
        if self.linear or np.isnan(t):
            return self.low + t * (self.high - self.low), 0
        if 0 <= t <= 1:
            return self._between(self.low, self.high, t), 0
        sign = 1.0 if t > 1 else -1.0
        if np.isfinite(t) and sign in self._missed and sign * (t - self._missed[sign][0]) >= 0:
            return self._missed[sign][1]
        found = self._walk(t, sign)
        if np.isfinite(t) and found[1]:
            self._missed[sign] = t, found
        return found

    def _between(self, a: float, b: float, t: float) -> float:
        from scipy.optimize import brentq

        v = float(brentq(lambda v: self._at(v) - t, a, b, xtol=1e-300, rtol=1e-14))
        if abs(self._at(v) - t) > JUMP * max(1.0, abs(t)):
            raise NotImplementedError(
                f'inverse_predict() of "{self.name}", which enters by a function that jumps at {v:g} '
                f"({quoted(self._codes())}): no value of it has this p, or this end of the set"
            )
        return v

    def _at(self, v: float) -> float:
        """t(v); NaN beyond the bounds of a spline."""
        try:
            return self._place(self._raw(v))
        except DataError:
            return np.nan

    def _turns(self, v: float) -> bool:
        """Whether the function falls at v, where t goes down as v goes up."""
        try:
            return self._slope(v) < 0
        except DataError:
            return False

    def _ends(self, a: float, sign: float) -> tuple[float, int]:
        """Where the function ends or turns at a; infinity, where it is level from there on."""
        width = self.high - self.low
        ts = np.array([self._at(a + sign * s * width) for s in (0.0, 1e-3, 0.1, 1.0, 10.0, 1e3)])
        level = bool((np.abs(ts - ts[0]) <= 1e-9 * max(1.0, abs(ts[0]))).all())
        return (sign * np.inf if level else a), int(sign)

    def _walk(self, t: float, sign: float) -> tuple[float, int]:
        """From an end of the data on while the function goes on the same way: up to t, or to where it ends or turns."""
        a, here = (self.high, 1.0) if sign > 0 else (self.low, 0.0)
        width = self.high - self.low
        step, (tiny, large) = width, (1e-12 * width, 1e12 * width) if np.isinf(t) else (1e-300, 1e300)
        for _ in range(4400):
            b = a + sign * step
            ts = [self._at(a + sign * s * step) for s in (0.3, 0.6, 1.0)]
            steps = sign * np.diff([here, *ts])
            if np.isfinite(steps).all() and (np.abs(steps) <= FLAT * max(1.0, abs(here))).all():
                if step > 1e-3 * width:
                    return sign * np.inf, int(sign)  # the function levels off
                return self._ends(0.0 if abs(a) <= 1e-6 * width else a, sign)
            if (steps > 0).all() and not self._turns(b):
                if sign * (ts[-1] - t) >= 0:
                    return self._between(min(a, b), max(a, b), t), 0
                a, here, step = b, ts[-1], 2.0 * step
                if abs(a) > large:
                    return sign * np.inf, 0 if np.isfinite(t) else int(sign)
            else:
                step *= 0.5
                if abs(a) <= tiny:
                    return 0.0, 0 if np.isfinite(t) else int(sign)
                if step <= 1e-14 * abs(a):
                    break
        return self._ends(a, sign)
