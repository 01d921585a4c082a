"""Calibration of predicted probabilities, labelled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.special import ndtr

from glmclf.caching import cached_property
from glmclf.checks import check_choice, check_whole
from glmclf.core.rows.asked import under_usual_errors
from glmclf.errors import InferenceWarning, escaped, warn
from glmclf.inference.hypotheses.wald import check_alpha, critical_value
from glmclf.inference.performance import accuracy, calibration
from glmclf.inference.performance.accuracy import ObservedOutcomes
from glmclf.inference.performance.recalibration import in_the_large, recalibrate
from glmclf.results.performance.options import RowOptions
from glmclf.results.performance.rows import check_bins_or_edges, scored_rows
from glmclf.results.tables.frames import notebook

CURVE = ["level", "bin", "n", "predicted", "observed", "lower", "upper"]


@under_usual_errors
class Calibration:
    """Calibration of predicted probabilities. Made by `calibration`, not by hand.

    Numbers of a binary response are about its event; with several levels `table` has a row a level against all others.

    Attributes
    ----------
    levels : list
        The levels that are looked at.
    brier, log_score : float
        Mean over observations of (p - y)^2, with several levels of sum_k (p_k - [y = k])^2; and of -log p of the level
        observed, in nats.
    """

    def __init__(
        self, log_p: ndarray, outcomes: ObservedOutcomes, levels: list[Any], shown: dict[int, str], bins: Any,
        method: str,
    ):  # fmt: skip
        self._log_p, self._outcomes, self._levels = log_p, outcomes, levels
        self._shown, self._bins, self._method = shown, bins, method
        self.levels = [levels[k] for k in shown]
        self._called = [*shown.values()]  # what the probability of each level is of, in plots
        self._p, self._scores = np.exp(log_p), calibration.log_odds(log_p)
        self._code = {k: calibration.bins_of(self._p[:, k], self._of(k), bins, method) for k in shown}
        score = calibration.brier_of_classes(self._p, outcomes)
        half = 2.0 if len(levels) == 2 else 1.0
        self._brier = (score.value / half, score.se / half)
        self._log_score = calibration.log_score(log_p, outcomes)
        self.brier, self.log_score = self._brier[0], self._log_score.value
        if not np.isfinite(self._scores).all():
            warn(
                "some predicted probabilities are 0 or 1, whose logit is infinite: intercepts, slopes and smoothed "
                "curves are NaN",
                InferenceWarning,
            )
        self._warn_of_one_class()

    def _warn_of_one_class(self) -> None:
        sizes = self._outcomes.sizes
        absent, n = [self._levels[k] for k in np.flatnonzero(~(sizes > 0))], len(self._log_p)
        if not absent:
            return
        if len(self._levels) - len(absent) == 1:
            only = f"; all are {self._levels[int(sizes.argmax())]!r}"
            what = "intercepts, slopes, distances (ICI, E50, E90, Emax) and scaled Brier scores"
        else:
            only = ""
            what = "those of these levels: intercept, slope, distances (ICI, E50, E90, Emax), scaled Brier score"
        warn(
            f"no row of {', '.join(map(repr, absent))} is among the {n} that are judged{only}. NaN are {what}: judge "
            "rows of every level",
            InferenceWarning,
        )

    def __repr__(self) -> str:
        return escaped(f"Calibration of {self.levels}\n{self.summary_frame().to_string(float_format='{:z.4f}'.format)}")

    def _repr_html_(self) -> str:
        return notebook(f"Calibration of {self.levels}", self.summary_frame(), digits="z.4f")

    def _of(self, k: int) -> ObservedOutcomes:
        return self._outcomes.one_against_rest(k)

    def _two(self, k: int) -> ndarray:
        """Log probabilities log(1 - p) and log p of a level."""
        if len(self._levels) == 2:
            return self._log_p[:, [1 - k, k]]
        z = self._scores[:, k]
        with np.errstate(over="ignore"):
            return np.column_stack([-np.logaddexp(0, z), -np.logaddexp(0, -z)])

    # ------------------------------------------------------------------------------------------------- of one level
    @cached_property
    def _smoothed(self) -> dict[int, ndarray | None]:
        return {k: calibration.smooth(self._scores[:, k], self._of(k)) for k in self._shown}

    def _numbers(self, k: int) -> dict[str, tuple[float, float]]:
        """Measures of a level with their standard errors, NaN where a measure has none."""
        outcomes, p, smoothed = self._of(k), self._p[:, k], self._smoothed[k]
        large = in_the_large(self._two(k), outcomes)
        both = recalibrate(self._two(k), outcomes)
        found: list[float] = [np.nan] * 4 if smoothed is None else list(calibration.distances(p, smoothed, outcomes))
        b = calibration.brier(p, outcomes, self._code[k])
        q = np.exp(self._two(k)[:, 0])
        z = calibration.spiegelhalter(p, q, outcomes)
        none = np.nan
        return {
            "calibration in the large": (float(large.intercepts[0]), float(large.intercepts_se[0])),
            "intercept": (float(both.intercepts[0]), float(both.intercepts_se[0])),
            "slope": (both.slope, both.slope_se),
            "ICI": (found[0], none),
            "E50": (found[1], none),
            "E90": (found[2], none),
            "Emax": (found[3], none),
            "Brier": (b.score, b.se),
            "scaled Brier": (1 - b.score / b.uncertainty if b.uncertainty > 0 else none, none),
            "reliability": (b.reliability, none),
            "resolution": (b.resolution, none),
            "uncertainty": (b.uncertainty, none),
            "within bins": (b.within, none),
            "Spiegelhalter z": (z, none),
            "Spiegelhalter p": (float(2 * ndtr(-abs(z))), none),
        }

    @cached_property
    def _found(self) -> dict[Any, dict[str, tuple[float, float]]]:
        return {self._levels[k]: self._numbers(k) for k in self._shown}

    @property
    def table(self) -> pd.DataFrame:
        """Table of all measures, a row for each level and a column for each measure."""
        rows = [{name: v[0] for name, v in found.items()} for found in self._found.values()]
        return pd.DataFrame(rows, index=pd.Index(self.levels, name="level", dtype=object))

    def _only(self, name: str, which: int = 0) -> Any:
        values = [found[name][which] for found in self._found.values()]
        return values[0] if len(values) == 1 else pd.Series(values, index=pd.Index(self.levels, dtype=object))

    @property
    def intercept(self) -> Any:
        """Calibration in the large: the intercept a of log odds a + logit(p), 0 if events are as many as predicted.

        A number or, with several levels, a Series.
        """
        return self._only("calibration in the large")

    @property
    def intercept_se(self) -> Any:
        """Standard error of `intercept`."""
        return self._only("calibration in the large", 1)

    @property
    def slope(self) -> Any:
        """The slope b of log odds a + b logit(p): below 1 if predictions are too extreme."""
        return self._only("slope")

    @property
    def slope_se(self) -> Any:
        """Standard error of `slope`."""
        return self._only("slope", 1)

    @property
    def ici(self) -> Any:
        """Integrated calibration index: mean distance of the smoothed calibration curve from the predictions."""
        return self._only("ICI")

    # --------------------------------------------------------------------------------------------------------- tables
    @property
    def curve(self) -> pd.DataFrame:
        """Curve by bins: observations n, mean predicted probability, observed share, and its 95 % Wilson interval."""
        return self.curve_frame()

    def curve_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Observed shares by bins of predicted probabilities.

        Parameters
        ----------
        alpha : float
            One minus the level of the intervals (Wilson's).

        Returns
        -------
        DataFrame
            Columns n, predicted (mean), observed (share), lower and upper, by bin; by level and bin, with several.
        """
        alpha, rows = check_alpha(alpha), []
        for k in self._shown:
            outcomes, code = self._of(k), self._code[k]
            m = outcomes.totals.sum(axis=1)
            mean = np.bincount(code, m * self._p[:, k]) / np.bincount(code, m)
            for b in range(len(mean)):
                part = outcomes.rows(np.flatnonzero(code == b))
                n, share = float(part.sizes.sum()), float(part.sizes[1] / part.sizes.sum())
                ends = accuracy.wilson(share, _effective(part, share, n), alpha)
                rows.append((self._levels[k], b + 1, n, float(mean[b]), share, *ends))
        found = pd.DataFrame(rows, columns=CURVE)
        return found.set_index(["level", "bin"]) if len(self._levels) > 2 else found.set_index("bin")[CURVE[2:]]

    def histogram(self, bins: int = 20) -> pd.DataFrame:
        """Histogram of predicted probabilities, in bins of equal width from 0 to 1.

        Parameters
        ----------
        bins : int
            Each holds its left end, the last one both.

        Returns
        -------
        DataFrame
            Columns left, right, events and others (weighted observations), by bin; by level and bin, with several.
        """
        check_whole("bins", bins, 1)
        edges, parts = np.arange(bins + 1) / bins, {}
        for k in self._shown:
            place = np.clip(np.searchsorted(edges, self._p[:, k], side="right") - 1, 0, bins - 1)
            others, events = (np.bincount(place, t, bins) for t in self._of(k).totals.T)
            columns = {"left": edges[:-1], "right": edges[1:], "events": events, "others": others}
            parts[self._levels[k]] = pd.DataFrame(columns, index=pd.RangeIndex(1, bins + 1, name="bin"))
        return pd.concat(parts, names=["level"]) if len(self._levels) > 2 else next(iter(parts.values()))

    def smooth_frame(self) -> pd.DataFrame:
        """Smoothed calibration curve from a logit model on a restricted cubic spline of logit(p).

        Returns
        -------
        DataFrame
            Columns predicted and smoothed of the distinct predicted probabilities, in their order; by level, with
            several.
        """
        parts = {}
        for k in self._shown:
            smoothed = self._smoothed[k]
            p, first = np.unique(self._p[:, k], return_index=True)
            values = np.full(len(p), np.nan) if smoothed is None else smoothed[first]
            parts[self._levels[k]] = pd.DataFrame({"predicted": p, "smoothed": values})
        return pd.concat(parts, names=["level"]).droplevel(1) if len(self._levels) > 2 else next(iter(parts.values()))

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """All measures with standard errors and intervals.

        Parameters
        ----------
        alpha : float
            One minus the level of the intervals, estimate -/+ z se.

        Returns
        -------
        DataFrame
            Columns estimate, se, lower and upper; rows the measures, by level with several, then the scores of all.
        """
        z = critical_value(check_alpha(alpha))
        several = len(self._levels) > 2
        rows = {((level, name) if several else name): v for level, f in self._found.items() for name, v in f.items()}
        if several:
            rows[("all", "Brier")] = self._brier
        rows[("all", "log score") if several else "log score"] = (self._log_score.value, self._log_score.se)
        index = pd.MultiIndex.from_tuples(rows, names=["level", "measure"]) if several else pd.Index(rows)
        table = pd.DataFrame(list(rows.values()), index=index, columns=["estimate", "se"])
        half = z * table["se"]
        return table.assign(lower=table["estimate"] - half, upper=table["estimate"] + half)


def _effective(outcomes: ObservedOutcomes, share: float, n: float) -> float:
    """Effective number of independent observations, from the standard error of a share."""
    if not outcomes.rowwise:
        return n
    variance = outcomes.variance(np.array([[-share, 1 - share]]) / n * np.ones_like(outcomes.counts))
    if variance > 0:
        return share * (1 - share) / variance
    return n**2 / outcomes.variance(np.ones_like(outcomes.counts))


def calibrated(res: Any, bins: Any, method: str, options: RowOptions) -> Calibration:
    """See `Performance.calibration`."""
    check_choice("method", method, ("quantile", "uniform"))
    bins = check_bins_or_edges(bins)
    rows = scored_rows(res, options)
    levels = res._judged_levels
    shown = [res._event_place] if len(levels) == 2 else list(range(len(levels)))
    called = {k: res.model._response.called(levels[k]) for k in shown}
    return Calibration(rows.log_p, rows.outcomes, levels, called, bins, method)
