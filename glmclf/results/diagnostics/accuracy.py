"""Accuracy of estimates: correct digits of each parameter, and warnings where they are few."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.checks import MAX_NAMES
from glmclf.core.design.arrow import ArrowColumns
from glmclf.core.design.columns import expandable
from glmclf.core.design.recoding import RecodedColumns
from glmclf.core.fit.precision import expected_digits
from glmclf.errors import InferenceWarning, warn
from glmclf.results.separation import spelled

MIN_DIGITS, NO_DIGITS = 8.0, 1.0  # correct digits below which the summary has a note, and a warning is given
NEGLIGIBLE = 6.0  # orders of magnitude below its standard error, from which an estimate counts as 0


def digits(res: Any) -> ndarray:
    """Correct digits to expect of each parameter; NaN where infinite or omitted, and under constraints."""
    model, state, found = res.model, res._state, res._state.estimate
    out = np.full(len(state.theta), np.nan)
    if found.constraints:
        return out
    rounded, shift = np.array(res._rounded, dtype=bool), state.shift
    n = model.nobs if model._rows_ is None else len(model._rows)
    if found.is_finite:
        part, places, inner = rounded[state.columns], state.places, state.narrow
    elif found.has_limit and len(found.kept):
        places, inner, shift, n = found.kept, found.inner, None, len(found.rows)
        part = rounded[places % len(rounded)]  # equations with different columns are treated as one long equation
    else:
        return out
    total = model.nobs if model._frequency else n
    repeats = max(1.0, total / n)
    values = expected_digits(inner, n, unit=model._unit, repeats=repeats, rounded=part, shift=shift)
    out[places] = np.where(found.unbounded[places], np.nan, values)
    return out


def digits_that_count(res: Any) -> ndarray:
    """Correct digits of each parameter, relative to its standard error where the estimate is negligible beside it."""
    values, size = np.array(res._digits, dtype=float), np.abs(res._state.theta)
    with np.errstate(divide="ignore", invalid="ignore"):
        more = np.log10(res._se / size)
    return values + np.where((size > 0) & (more > NEGLIGIBLE) & np.isfinite(more), more, 0.0)


def rounded_columns(model: Any) -> list[bool]:
    """Mask of the columns that a formula computes and that have an entry with the last bit of a double."""
    computed = np.array(model._design.computed, dtype=bool)
    if not computed.any() or model._rows_ is None:
        return [False] * len(computed)
    patterns = model._rows.patterns()
    X = patterns.arrays[0]
    if isinstance(X, ArrowColumns | RecodedColumns):
        found = X.by_column(patterns.sum(lambda X: _last_bits(X.numbers)))
    else:
        found = expandable(patterns).sum(lambda X: _last_bits(X.toarray()))
    return (computed & (found > 0)).tolist()


def warn_of_no_digits(res: Any) -> None:
    """Warn of coefficients without a correct digit."""
    none: Any = np.flatnonzero(digits_that_count(res) < NO_DIGITS) if res.converged else []
    if len(none):
        names = ", ".join(spelled(res.model._param_index[j]) for j in none[:MAX_NAMES])
        names += ", ..." if len(none) > MAX_NAMES else ""
        warn(
            f"the columns are so close to a combination of each other that the rounding of their numbers decides "
            f"the coefficients of {names}: no digit of these is right. Leave columns out, or give them in full "
            "precision, from an origin and in units that suit them.",
            InferenceWarning,
        )



def digit_notes(res: Any) -> list[str]:
    """Note of the summary where few digits are correct."""
    values = digits_that_count(res)
    if res.mle_retvals.get("remaining_error") is not None or np.isnan(values).all() or not res.converged:
        return []
    least = int(np.nanargmin(values))
    if values[least] >= MIN_DIGITS:
        return []
    name = spelled(res.model._param_index[least])
    advice = "" if any(res._rounded) or res._state.exact else " fit(refine=True) gives more."
    return [f"The design is ill-conditioned: about {values[least]:.0f} digits of {name} are right.{advice}"]


def _last_bits(A: ndarray) -> ndarray:
    """Number of entries of each column that use the last bit of a double."""
    return (np.ascontiguousarray(A, dtype=np.float64).view(np.int64) & 1).sum(axis=0)
