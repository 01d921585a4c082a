"""Numbers as tables, messages and plots print them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

WIDEST_ESTIMATE = 22  # characters of an estimate with its standard error


# ---------------------------------------------------------------------------------------------------- summaries
def number(x: float, precision: int = 3) -> str:
    """A number as statsmodels' summaries print it: 3 or 4 decimals, or as many digits where it is large or tiny."""
    width = precision + 6
    return f"{x:{width}.{precision}g}" if abs(x) >= 1e4 or abs(x) < 1e-4 else f"{x:{width}.{precision}f}"


def ratio(x: float, precision: int = 3) -> str:
    """A ratio and its parts in a summary: as a number, with two significant digits at least."""
    width = precision + 6
    return f"{x:{width}.{precision}g}" if 0 < abs(x) < 10.0 ** (1 - precision) else number(x, precision)


def count(x: float) -> str:
    """A number of rows or degrees of freedom, without decimals where it is whole."""
    if np.isnan(x):
        return "NaN"
    return f"{int(x):6d}" if x == int(x) else f"{x:8.2f}"


def pvalue(p: float) -> str:
    """A p-value as statsmodels' summaries print it."""
    return f"{p:#6.3f}"


def dof(x: float) -> str:
    """Degrees of freedom, which may have decimals."""
    if math.isnan(x) or math.isinf(x):
        return str(x)
    return str(int(x)) if x == int(x) else f"{x:.1f}"


def blank(form: Callable[[float], str], x: float) -> str:
    """A number in some form; nothing for NaN."""
    return "" if math.isnan(x) else form(x)


def four(x: float) -> str:
    """Four significant digits, large numbers with one decimal; nothing for NaN."""
    return blank(lambda v: f"{v:.1f}" if 1e3 <= abs(v) < 1e9 else f"{v:#.4g}", x)


def with_se(x: float, se: float) -> str:
    """An estimate with its standard error, which sets the decimals and is absent where it is NaN."""
    if math.isnan(se):
        return number(x).strip()
    power = math.floor(math.log10(se)) if 0 < se < math.inf else 0
    places = 3 if -2 <= power < 1 else min(1 - power, 300) if power < 0 else max(0, 2 - power)
    text = f"{x:.{places}f} ({se:.{places}f})"
    return text if len(text) <= WIDEST_ESTIMATE else f"{x:.6g} ({se:.3g})"


# -------------------------------------------------------------------------------------------- regression tables
def decimal(x: float, digits: int) -> str:
    """A number with some decimals, or with significant digits where it is large or would lose them."""
    if x == 0:
        return "0"
    if not np.isfinite(x):
        return f"{x}"
    return f"{x:.{digits}g}" if abs(x) < 10.0 ** (1 - digits) or abs(x) >= 1e7 else f"{x:.{digits}f}"


# -------------------------------------------------------------------------------------------------------- plots
def with_minus(x: float, digits: int = 3) -> str:
    """A number with significant digits and a minus sign."""
    return f"{x:.{digits}g}".replace("-", "\N{MINUS SIGN}")


def in_thousands(x: float) -> str:
    """A number with at least three significant digits, all of those before the point, and a minus sign."""
    return f"{x:,.0f}".replace("-", "\N{MINUS SIGN}") if abs(x) >= 1000 else with_minus(x)


def value_text(v: Any, digits: int = 5) -> str:
    """The value of a variable: floats with significant digits and a minus sign, all else as it is."""
    return with_minus(float(v), digits) if isinstance(v, (float, np.floating)) else str(v)
