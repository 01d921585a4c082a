"""Benefit of acting on predictions: net benefit by threshold, gain and lift."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from glmclf.inference.hypotheses.wald import check_alpha, critical_value
from glmclf.inference.performance import calibration, roc
from glmclf.results.performance.options import RowOptions
from glmclf.results.performance.rows import check_bins, one_place, scored_rows, sum_over_scored_rows


def decision_curve(res: Any, thresholds: Any, event: Any, alpha: float, options: RowOptions) -> pd.DataFrame:
    """See `Performance.decision_curve`."""
    k, alpha = one_place(res, event, "decision_curve()"), check_alpha(alpha)
    t = np.arange(1, 100) / 100 if thresholds is None else np.atleast_1d(np.asarray(thresholds, dtype=float))
    if t.ndim != 1 or not ((t >= 0) & (t < 1)).all():
        raise ValueError(f"thresholds={thresholds!r}: probabilities, 0 or more and less than 1")
    counts = sum_over_scored_rows(res, lambda rows: roc.ThresholdCounts.of(rows.p[:, k], rows.of(k), t), options)
    value, se = roc.net_benefit(counts, t)
    share = counts.sizes[1] / counts.sizes.sum()
    everybody = share - (1 - share) * t / (1 - t)
    half = critical_value(alpha) * se
    with np.errstate(divide="ignore", invalid="ignore"):
        columns = {
            "net_benefit": value,
            "se": se,
            "lower": value - half,
            "upper": value + half,
            "treat_all": everybody,
            "treat_none": 0.0,
            "standardized": value / share if share > 0 else np.nan,
            "avoided": (value - everybody) * (1 - t) / t,
        }
    return pd.DataFrame(columns, index=pd.Index(t, name="threshold"))


def lift(res: Any, bins: int, event: Any, options: RowOptions) -> pd.DataFrame:
    """See `Performance.lift`."""
    k = one_place(res, event, "lift()")
    rows = scored_rows(res, options)
    outcomes, p = rows.of(k), rows.p[:, k]
    code = calibration.bins_of(p, outcomes, check_bins(bins), "quantile")
    no, yes = (np.bincount(code, t)[::-1] for t in outcomes.totals.T)
    size = no + yes
    with np.errstate(divide="ignore", invalid="ignore"):
        rate, share, gain = yes / size, np.cumsum(size) / size.sum(), np.cumsum(yes) / yes.sum()
        columns = {"n": size, "events": yes, "rate": rate, "lift": rate / (yes.sum() / size.sum())}
        columns |= {"share": share, "gain": gain, "cumulative_lift": gain / share}
    return pd.DataFrame(columns, index=pd.RangeIndex(1, len(size) + 1, name="group"))
