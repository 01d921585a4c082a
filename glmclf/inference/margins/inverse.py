"""Inverse prediction: where a linear predictor alpha + beta t takes a value, with Fieller's confidence set."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy import ndarray

from glmclf.inference.hypotheses.wald import critical_value

INTERVAL, RAYS, LINE = "interval", "two rays", "whole line"


class Inverse(NamedTuple):
    """A ratio of two estimates and its confidence set.

    Attributes
    ----------
    estimate, se : float
        A / B, and its standard error by the delta method.
    low, high : float
        Ends: of an interval; or of two rays (-inf, low] and [high, inf).
    shape : str
        "interval", "two rays" or "whole line".
    """

    estimate: float
    se: float
    low: float
    high: float
    shape: str


def ratio(A: float, B: float, V: ndarray, alpha: float = 0.05, method: str = "fieller") -> Inverse:
    """A confidence set of the ratio of two normal means, all t with (A - t B)^2 <= z^2 Var(A - t B).

    Parameters
    ----------
    A, B : float
        Estimates.
    V : (2, 2) ndarray
        Their covariance.
    alpha : float
        One minus the level, in (0, 1).
    method : {"fieller", "delta"}
        "delta": A/B -/+ z se.

    Returns
    -------
    Inverse
        Fieller's set is an interval where B differs from 0 at level alpha; else the complement of an interval, or all
        numbers.

    References
    ----------
    Fieller (1954), Some problems in interval estimation, Journal of the Royal Statistical Society B 16, 175-185.
    Finney (1971), Probit Analysis, section 4.4.

    Examples
    --------
    >>> import numpy as np
    >>> from glmclf.inference.margins.inverse import ratio
    >>> found = ratio(2.0, 1.0, np.diag([0.01, 0.01]))
    >>> round(float(found.low), 3), round(float(found.high), 3), found.shape
    (1.626, 2.534, 'interval')
    >>> ratio(2.0, 0.1, np.diag([0.01, 0.01])).shape
    'two rays'
    """
    z2 = critical_value(alpha) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        t = float(np.divide(A, B))
        se = float(np.sqrt(V[0, 0] - 2 * t * V[0, 1] + t * t * V[1, 1]) / abs(B)) if np.isfinite(t) else np.nan
    if method == "delta":
        half = np.sqrt(z2) * se
        return Inverse(t, se, t - half, t + half, INTERVAL)
    g, b, c = B * B - z2 * V[1, 1], A * B - z2 * V[0, 1], A * A - z2 * V[0, 0]
    inside = b * b - g * c
    if not np.isfinite(inside):
        return Inverse(t, se, np.nan, np.nan, INTERVAL)
    if g == 0:
        end = c / (2 * b) if b else np.nan
        return Inverse(t, se, end if b > 0 else -np.inf, np.inf if b > 0 else end, INTERVAL)
    if inside < 0:
        return Inverse(t, se, -np.inf, np.inf, LINE)
    far = b + np.copysign(np.sqrt(inside), b)  # no difference of near numbers
    ends = sorted((far / g, c / far if far else 0.0))
    return Inverse(t, se, ends[0], ends[1], INTERVAL if g > 0 else RAYS)
