"""ROC curves, their areas and comparison; precision and recall."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.checks import check_choice, is_number, true_or_false
from glmclf.core.rows.asked import under_usual_errors
from glmclf.data.response.response import plain
from glmclf.errors import DataError, InferenceWarning, warn
from glmclf.inference.hypotheses.wald import check_alpha
from glmclf.inference.performance import accuracy, roc
from glmclf.inference.performance.accuracy import ObservedOutcomes
from glmclf.results.performance.options import RowOptions
from glmclf.results.performance.rows import ScoredRows, all_classes, one_place, place_of, scored_rows
from glmclf.results.tables.frames import notebook

CUT_RULES = ("youden", "closest", "cost")
NO_INTERVAL = (
    "the standard error of the area is 0 or not defined (scores that separate the classes or are all equal, or "
    "one observation of a class): there is no interval"
)


@under_usual_errors
class RocCurve:
    """Receiver operating characteristic of predicted probabilities of an event. Made by `roc`, not by hand.

    Attributes
    ----------
    event : label
        The level that is looked for.
    auc : float
        Area under the curve: probability that an event has a higher predicted probability than another observation,
        ties counting one half.
    se : float
        DeLong's standard error.
    n_event, n_other : float
        Weighted observations.
    """

    def __init__(
        self, score: ndarray, p: ndarray, outcomes: ObservedOutcomes, index: pd.Index | None, event: Any, called: str
    ):
        self._called = called  # what the probability is of, in plots
        self.event, self._outcomes, self._index, self._p = event, outcomes, index, p
        self.n_other, self.n_event = (float(n) for n in outcomes.sizes)
        self._ranks = roc.ranks(score, outcomes)
        self._area = roc.area(self._ranks, outcomes)
        self.auc = self._area.auc
        self.se = roc.standard_error(self._area, outcomes)

    def __repr__(self) -> str:
        return f"RocCurve(event={self.event!r}, auc={self.auc:.4f}, se={self.se:.4f})"

    def _repr_html_(self) -> str:
        return notebook(repr(self))

    @cached_property
    def _thresholds(self) -> ndarray:
        """Threshold of each point: the event is predicted where its probability is above it."""
        p = self._p[self._ranks.first]
        last = 0.0 if p[-1] > 0 else -np.inf
        return np.r_[1.0, (p[:-1] + p[1:]) / 2, last]

    @cached_property
    def _points(self) -> tuple[ndarray, ndarray]:
        yes, no = self._ranks.above
        return no / no[-1], yes / yes[-1]

    @property
    def curve(self) -> pd.DataFrame:
        """Points of the curve: threshold (the event is predicted above it), fpr (one minus the specificity) and tpr
        (sensitivity), from (0, 0) to (1, 1). Thresholds are midway between predicted probabilities."""
        fpr, tpr = self._points
        return pd.DataFrame({"threshold": self._thresholds, "fpr": fpr, "tpr": tpr})

    def conf_int(self, alpha: float = 0.05, method: str = "delong") -> pd.Series:
        """Confidence interval of the area.

        Parameters
        ----------
        alpha : float
            One minus the level.
        method : {"delong", "logit"}
            auc -/+ z se within [0, 1], as pROC reports; or the same on the scale of log(auc/(1 - auc)), which is closer
            to its level near 1 (Pepe 2003, section 5.2.5).

        Returns
        -------
        Series
            lower and upper; NaN, with a warning, where the standard error is 0 or not defined.
        """
        alpha = check_alpha(alpha)
        check_choice("method", method, ("delong", "logit"))
        ends = (np.nan, np.nan)
        if self.se > 0:
            scale = accuracy.symmetric if method == "delong" else accuracy.on_logit_scale
            lower, upper = scale(self.auc, self.se, alpha)
            ends = (max(lower, 0.0), min(upper, 1.0))
        else:
            warn(NO_INTERVAL, InferenceWarning)
        return pd.Series(ends, index=["lower", "upper"], name="auc")

    @true_or_false
    def partial_auc(self, low: float = 0.0, high: float = 1.0, on: str = "fpr", standardized: bool = False) -> float:
        """Area under a part of the curve.

        Parameters
        ----------
        low, high : float
            Where it begins and ends.
        on : {"fpr", "tpr"}
            Whether these are false positive rates, or sensitivities: then the area is that to the right of the curve.
        standardized : bool
            McClish's (1 + (A - m)/(M - m))/2, m that of the diagonal and M the largest: 1/2 is chance, 1 perfect.

        Returns
        -------
        float
        """
        check_choice("on", on, ("fpr", "tpr"))
        if not (is_number(low) and is_number(high) and 0 <= low < high <= 1):
            raise ValueError(f"low={low!r}, high={high!r}: two rates, 0 <= low < high <= 1")
        low, high = float(low), float(high)
        fpr, tpr = self._points
        # the mirrored curve: specificity against one minus the sensitivity
        x, y = (fpr, tpr) if on == "fpr" else (1 - tpr[::-1], 1 - fpr[::-1])
        ends = (low, high) if on == "fpr" else (1 - high, 1 - low)
        found = roc.partial_area(x, y, *ends)
        return found[1] if standardized else found[0]

    def cut_points(self, cost: float = 1.0, prevalence: float | None = None) -> pd.DataFrame:
        """Best thresholds by three rules.

        Parameters
        ----------
        cost : float
            What a missed event costs, in false alarms.
        prevalence : float, optional
            Share of events where the rule will be used; by default that of these rows.

        Returns
        -------
        DataFrame
            Rows "youden" (largest sensitivity + specificity - 1), "closest" (to perfect: least
            (1 - sensitivity)^2 + (1 - specificity)^2) and "cost" (least expected cost); columns threshold, sensitivity,
            specificity and criterion, the value of J, of the distance and of the cost an observation. Of equally good
            ones the highest threshold. A cut-point chosen on the rows of the fit looks better than it is on others.
        """
        if not is_number(cost) or not 0 < cost < np.inf:
            raise ValueError(f"cost={cost!r}: a positive number, the cost of a missed event in false alarms")
        share = self.n_event / (self.n_event + self.n_other) if prevalence is None else prevalence
        if not is_number(share) or not 0 < share < 1:
            raise ValueError(f"prevalence={prevalence!r}: a share between 0 and 1")
        fpr, tpr = self._points
        at = [roc.best_cut(fpr, tpr, rule, cost, share) for rule in CUT_RULES]
        value = [
            tpr[at[0]] - fpr[at[0]],
            float(np.hypot(1 - tpr[at[1]], fpr[at[1]])),
            share * cost * (1 - tpr[at[2]]) + (1 - share) * fpr[at[2]],
        ]
        columns = {
            "threshold": self._thresholds[at],
            "sensitivity": tpr[at],
            "specificity": 1 - fpr[at],
            "criterion": value,
        }
        return pd.DataFrame(columns, index=pd.Index(CUT_RULES, name="rule"))

    def compare(self, other: RocCurve, alpha: float = 0.05) -> pd.Series:
        """DeLong's test that another score of the same rows has the same area.

        Parameters
        ----------
        other : RocCurve
        alpha : float
            One minus the level of the interval of the difference.

        Returns
        -------
        Series
            auc, other_auc, difference, se, statistic (z), pvalue (two-sided, normal), lower, upper and the correlation
            of the two areas.

        Raises
        ------
        DataError
            Other rows, outcomes or weights.
        """
        alpha = check_alpha(alpha)
        if not isinstance(other, RocCurve):
            raise TypeError(f"compare needs the roc() of another model; found {type(other).__name__}")
        check_same_rows(self, other)
        found = roc.compare(self._area, other._area, self._outcomes)
        lower, upper = accuracy.symmetric(found.difference, found.se, alpha)
        values = {"auc": self.auc, "other_auc": other.auc, "difference": found.difference, "se": found.se}
        values |= {"statistic": found.statistic, "pvalue": found.pvalue, "lower": lower, "upper": upper}
        return pd.Series(values | {"correlation": found.correlation}, name="DeLong")

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Table of the area, its standard error and both intervals, in one row."""
        names = ["delong_lower", "delong_upper", "logit_lower", "logit_upper"]
        ends = [*self.conf_int(alpha), *self.conf_int(alpha, "logit")]
        values = {"auc": self.auc, "se": self.se, **dict(zip(names, ends, strict=True))}
        values |= {"n_event": self.n_event, "n_other": self.n_other}
        return pd.DataFrame(values, index=pd.Index([self.event], name="event"))


def check_same_rows(one: RocCurve, other: RocCurve) -> None:
    """Refuse two curves of different rows."""
    a, b = one._outcomes, other._outcomes
    if one.event != other.event:
        raise DataError(f"the curves are of two events, {one.event!r} and {other.event!r}: give event= to one of them")
    x, y = one._index, other._index
    if len(a.counts) != len(b.counts) or (x is not None and y is not None and not x.equals(y)):
        raise DataError(
            f"the curves are of different rows ({len(a.counts)} and {len(b.counts)}): DeLong's test is for two scores "
            "of the same rows. Fit both models to rows without missing values, or pass the same newdata="
        )
    if not np.array_equal(a.counts, b.counts):
        raise DataError("the curves are of different outcomes: DeLong's test is for two scores of the same response")
    weights = [np.ones(len(o.counts)) if o.weights is None else o.weights for o in (a, b)]
    if not np.array_equal(weights[0], weights[1]) or a.rowwise != b.rowwise:
        raise DataError("the rows of the curves have different weights")


@under_usual_errors
class MulticlassRoc:
    """Areas under ROC curves of several classes. Made by `roc`, not by hand.

    Attributes
    ----------
    auc, se : float
        Hand and Till's M, the mean over pairs of classes of how well probabilities tell them apart, and its standard
        error by the infinitesimal jackknife.
    table : DataFrame
        One class against all others: auc, se, n.
    pairs : DataFrame
        A(i|j), rows i, columns j: the probability that a member of i has a higher probability of i than one of j.
    """

    def __init__(
        self, scores: ndarray, p: ndarray, outcomes: ObservedOutcomes, index: pd.Index | None, levels: list[Any]
    ):
        self._curve = {
            level: RocCurve(scores[:, k], p[:, k], outcomes.one_against_rest(k), index, level, repr(plain(level)))
            for k, level in enumerate(levels)
        }
        found = roc.hand_till(scores, outcomes)
        self.auc, self.se = found.auc, found.se
        labels = pd.Index(levels, dtype=object)
        self.pairs = pd.DataFrame(found.pairs, index=labels, columns=labels)
        rows = {"auc": [c.auc for c in self._curve.values()], "se": [c.se for c in self._curve.values()]}
        self.table = pd.DataFrame({**rows, "n": [c.n_event for c in self._curve.values()]}, index=labels)

    def __repr__(self) -> str:
        return f"MulticlassRoc(auc={self.auc:.4f}, se={self.se:.4f}, {len(self.table)} levels)"

    def _repr_html_(self) -> str:
        return notebook(repr(self), self.summary_frame())

    def curve(self, level) -> RocCurve:
        """ROC curve of one level against all others."""
        if level not in self._curve:
            raise ValueError(f"{level!r} is not a level of the response, which has {list(self._curve)}")
        return self._curve[level]

    conf_int = RocCurve.conf_int

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Table of M and of each level against the others: auc, se, interval on the logit scale, n."""
        alpha = check_alpha(alpha)
        rows = [(self.auc, self.se, self.table["n"].sum()), *self.table.itertuples(index=False)]
        values = [(auc, se, *accuracy.on_logit_scale(auc, se or np.nan, alpha), n) for auc, se, n in rows]
        index = pd.Index(["Hand-Till M", *self.table.index], dtype=object)
        return pd.DataFrame(values, index=index, columns=["auc", "se", "lower", "upper", "n"])


@under_usual_errors
class PrecisionRecall:
    """Precision against recall at all thresholds. Made by `precision_recall`, not by hand.

    Attributes
    ----------
    event : label
    average_precision : float
        sum of (change of recall) x precision over distinct probabilities; its value by chance is `prevalence`.
    prevalence : float
        Weighted share of events.
    """

    def __init__(self, curve: RocCurve):
        self.event, self._roc = curve.event, curve
        self.average_precision = roc.average_precision(curve._ranks)
        self.prevalence = curve.n_event / (curve.n_event + curve.n_other)

    def __repr__(self) -> str:
        return f"PrecisionRecall(event={self.event!r}, average_precision={self.average_precision:.4f})"

    def _repr_html_(self) -> str:
        return notebook(repr(self))

    @property
    def curve(self) -> pd.DataFrame:
        """Points of the curve: threshold (an event is predicted above it), recall, precision (NaN without any)."""
        yes, no = self._roc._ranks.above
        with np.errstate(invalid="ignore"):
            precision = yes / (yes + no)
        return pd.DataFrame({"threshold": self._roc._thresholds, "recall": yes / yes[-1], "precision": precision})


def roc_curves(res: Any, event: Any, options: RowOptions) -> RocCurve | MulticlassRoc:
    """See `Performance.roc`."""
    rows, k = scored_rows(res, options), place_of(res, event)
    if k is None:
        all_classes(res, rows, "roc()")
        return MulticlassRoc(rows.scores, rows.p, rows.outcomes, rows.index, res._judged_levels)
    return _curve(res, rows, k)


def compare_roc(res: Any, other: Any, event: Any, alpha: float, options: RowOptions) -> pd.Series:
    """See `Performance.compare_roc`."""
    first = roc_curves(res, event, options)
    if isinstance(first, MulticlassRoc):
        raise NotImplementedError(
            f"compare_roc of several levels: give event=, one of {res._judged_levels}, to compare one against the "
            "others"
        )
    second = roc_curves(other, first.event, options)
    assert isinstance(second, RocCurve)
    return first.compare(second, alpha)


def precision_recall(res: Any, event: Any, options: RowOptions) -> PrecisionRecall:
    """See `Performance.precision_recall`."""
    k = one_place(res, event, "precision_recall()")
    return PrecisionRecall(_curve(res, scored_rows(res, options), k))


def _curve(res: Any, rows: ScoredRows, k: int) -> RocCurve:
    outcomes, level = rows.of(k), res._judged_levels[k]
    if not (outcomes.sizes > 0).all():
        only = f"all {len(rows.p)} are" if outcomes.sizes[1] > 0 else "none is"
        raise DataError(f"a curve needs rows of {level!r} and others; of the rows judged {only} {level!r}")
    return RocCurve(rows.scores[:, k], rows.p[:, k], outcomes, rows.index, level, res.model._response.called(level))
