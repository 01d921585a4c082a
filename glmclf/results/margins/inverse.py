"""Sets of inverse prediction, labelled: the value of a variable at which the event has a given probability."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf import registry
from glmclf.errors import DataError, InferenceWarning, warn
from glmclf.inference.hypotheses.wald import check_alpha
from glmclf.inference.margins import inverse
from glmclf.inference.margins.inverse import INTERVAL, LINE, RAYS
from glmclf.results.margins.inverse_functions import Function
from glmclf.results.margins.options import check_word
from glmclf.results.margins.predictors import LinearPredictors
from glmclf.results.margins.rows import rows_to_average
from glmclf.results.margins.typical import TypicalRows, typical


def inverse_predict(
    res: Any, p: Any, variable: str, at: Mapping[str, Any] | None, alpha: float, method: str
) -> pd.DataFrame:
    """See `Margins.inverse_predict`."""
    if getattr(res.model, "link", None) is None:
        raise NotImplementedError(
            f"inverse_predict() of {type(res.model).__name__}: it is for {registry.listed(['binary'])}. "
            "predictions() has the probabilities at values of a variable"
        )
    check_word("method", method, ("fieller", "delta"))
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
    """Warn of estimates that are NaN: of a p that no value has, or all values on a level piece."""
    flat = np.array([q in line.flat for q in wanted])
    out = np.isnan(frame["estimate"]) & np.isfinite(line.B) & ~flat
    if out.any():
        warn(
            f'no value of "{variable}" has {", ".join(f"p = {v:g}" for v in values[out])}: its function in the formula '
            "does not go so far. Such estimates are NaN, and ends that are not reached those of its domain",
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
    """One row with the other variables at typical or given values."""
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
    if odd or (is_offset and not isinstance(value, (int, float, np.number, np.bool_))):
        what = "a number" if is_offset else "a finite number or a level"
        raise DataError(f'at= sets "{name}" to {value!r}: give it {what}')


class _VariableLine:
    """The linear predictor -A + t(v) B in a function t of one variable."""

    def __init__(self, source: LinearPredictors, row: TypicalRows, name: str):
        self.function = f = Function(source, row, name)
        self.flat: dict[float, tuple[float, float]] = {}  # ends of the values that all have a predictor asked for
        if source.lost(f.step) or source.lost(f.first):
            raise ValueError(
                f'the slope of "{name}" is not estimable: its column was left out as a combination of others'
            )
        x0, x1 = source.rows(f.first), source.rows(f.step)
        eta = source.predictors(f.first, x0, row.offsets[0])
        slope = source.steps(f.step, x1, eta)
        self.A, self.B = float(eta[0]), float(slope[0, 0])
        if not (np.isfinite(self.A) and np.isfinite(self.B)):
            raise ValueError(f'the linear predictor is infinite in "{name}" ({source.res.separation}): no value has p')
        X = np.vstack([-x0, x1])
        self.V = X @ source.V @ X.T

    def solve(self, wanted: float, alpha: float, method: str) -> tuple[float, float, float, float, str]:
        """Estimate, standard error, ends and shape of the set, in the variable's units; NaN where no value reaches."""
        found, value = inverse.ratio(wanted - self.A, self.B, self.V, alpha, method), self.function.value
        v, beyond = value(found.estimate)
        (low, below), (high, above) = value(found.low), value(found.high)
        shape = found.shape
        if shape == INTERVAL and (below > 0 or above < 0):  # all of it out of reach
            low = high = np.nan
        elif shape == RAYS and (below > 0 or above < 0):
            low, high, shape = value(-np.inf)[0], value(np.inf)[0], LINE
        elif shape == RAYS:  # a ray beyond the reach is empty
            low, high = np.nan if below else low, np.nan if above else high
        level = None if beyond else self.function.level(v)
        if level is not None:
            self.flat[wanted] = level
        if beyond or level is not None:
            return np.nan, np.nan, low, high, shape
        with np.errstate(divide="ignore"):  # infinite at a level point, as of (x - a)**3
            se = np.divide(found.se, np.abs(self.function.slopes(np.array([v]))[0]))
        return v, float(se), low, high, shape
