"""Judging a classifier: what results of every model say about the rows of the fit, or about others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.rows.streamed import MOST_GATHERED, RowsElsewhereError, too_many
from glmclf.core.rows.summed import joined
from glmclf.data.reading.open_source import as_source, check_beside
from glmclf.errors import DataError, DataWarning, MissingDataError, warn
from glmclf.inference.hypotheses.wald import critical_value
from glmclf.inference.performance import accuracy, calibration, roc
from glmclf.inference.performance.accuracy import Measure, Outcomes
from glmclf.results.performance.calibration import Calibration
from glmclf.results.performance.roc import MulticlassRoc, PrecisionRecall, RocCurve, check_alpha
from glmclf.results.regression.levels import cross_table
from glmclf.results.requires import Needs, requires
from glmclf.results.tables.frames import notebook

if TYPE_CHECKING:
    from glmclf.results.performance.validation import Validation

MEASURES = ["estimate", "se", "lower", "upper"]


class Rows(NamedTuple):
    """Rows that are judged.

    Attributes
    ----------
    log_p, p : (n, K) ndarray
        Predicted probabilities and their logs, in the order of the levels.
    index : Index or None
        Labels, where they are kept: not of parts.
    outcomes : Outcomes
    """

    log_p: ndarray
    p: ndarray
    index: Any
    outcomes: Outcomes

    @property
    def scores(self) -> ndarray:
        """Log odds of each level."""
        return calibration.log_odds(self.log_p)

    def of(self, k: int) -> Outcomes:
        """A level against the others."""
        return self.outcomes.one_against_rest(k)


@dataclass(frozen=True)
class Tally:
    """A sum over rows that are judged, how many they are, and in how many others something is missing."""

    value: Any
    rows: int
    lost: dict[str, int]

    def __add__(self, other: Tally) -> Tally:
        lost = {why: self.lost.get(why, 0) + other.lost.get(why, 0) for why in {**self.lost, **other.lost}}
        return Tally(joined(self.value, other.value), self.rows + other.rows, lost)


class Parts(list):
    """Rows in parts, which are not too many to be held; + is those of both."""

    def __add__(self, other: list[Rows]) -> Parts:  # type: ignore[override]
        both = Parts([*self, *other])
        n = sum(len(rows.p) for rows in both)
        if n * both[0].p.shape[1] > MOST_GATHERED:
            raise RowsElsewhereError(too_many(n))
        return both

    def rows(self) -> Rows:
        """All of them; of several parts without labels."""
        if len(self) == 1:
            return self[0]
        log_p, p = (np.concatenate(some) for some in ([r.log_p for r in self], [r.p for r in self]))
        first, weights = self[0].outcomes, [r.outcomes.weights for r in self]
        counts = np.concatenate([r.outcomes.counts for r in self])
        outcomes = first._replace(counts=counts, weights=None if first.weights is None else np.concatenate(weights))
        return Rows(log_p, p, None, outcomes)


class ClassificationReport:
    """Measures of a classification table. Made by `classification_report`, not by hand.

    Attributes
    ----------
    table : DataFrame
        Observed (rows) by predicted classes.
    overall : DataFrame
        By measure: estimate, se and interval (lower, upper).
    by_class : DataFrame or None
        With several levels, by (level, measure) the same of each level against all others, and their plain ("macro")
        and weighted means.
    support : Series
        Weighted observations of each level.
    """

    def __init__(self, table: pd.DataFrame, overall: dict[str, Measure], by_class: dict[tuple[Any, str], Measure]):
        self.table = table
        self.support = table.sum(axis=1).rename("support")
        self.overall = pd.DataFrame(overall.values(), index=pd.Index(overall, name="measure"), columns=MEASURES)
        self.by_class = None
        if by_class:
            index = pd.MultiIndex.from_tuples(by_class, names=["level", "measure"])
            self.by_class = pd.DataFrame(by_class.values(), index=index, columns=MEASURES)

    def summary_frame(self) -> pd.DataFrame:
        """All measures: `overall`, with several levels under the level "all", then those by class."""
        if self.by_class is None:
            return self.overall.copy()
        return pd.concat([pd.concat({"all": self.overall}, names=["level"]), self.by_class])

    def __repr__(self) -> str:
        parts = [self.overall]
        if self.by_class is not None:
            parts.append(self.by_class["estimate"].unstack("measure", sort=False))
        words = [part.to_string(float_format="{:.4f}".format) for part in parts]
        return "\n\n".join([self.table.to_string(float_format="{:g}".format), *words])

    def _repr_html_(self) -> str:
        classes = [] if self.by_class is None else [self.by_class["estimate"].unstack("measure", sort=False)]
        return f"{notebook(self.table, digits='g')}\n{notebook(self.overall, *classes, digits='.4f')}"


class Judged:
    """Judgement of predicted probabilities, for a result class that has `_log_p`, `_outcomes` and `_repeated`."""

    model: Any

    # what a subclass supplies
    def _log_p(self, newdata, offset) -> tuple[ndarray, ndarray, pd.Index]:
        """Log probabilities and probabilities (n, K), in the order of the levels, of rows of the fit (None) or others,
        and the labels of the rows."""
        raise NotImplementedError

    def _log_p_beside(self, original) -> ndarray:
        """Log probabilities (n, K) of the rows that another result of the same model was fitted to."""
        raise NotImplementedError

    @property
    def _counts(self) -> ndarray:
        """Observations of each level in each row of the fit, unweighted, (n, K)."""
        raise NotImplementedError

    def _rows_read(self, X, y, trials, offset) -> tuple[ndarray, ndarray, ndarray]:
        """Log probabilities, probabilities and counts of rows as a stream gives them."""
        raise RowsElsewhereError()

    def _repeated(self, model) -> Any:
        """The same fit of another model."""
        raise NotImplementedError

    @property
    def _judged_levels(self) -> list[Any]:
        return list(self.model._response.levels)

    @property
    def _event_place(self) -> int:
        """Place of the level that a response of two is judged by."""
        return 1

    # ------------------------------------------------------------------------------------------------------- rows
    def _judged(self, newdata, endog, freq_weights, weights, offset) -> Rows:
        """Predictions and outcomes of the rows of the fit, or of new data."""
        return self._judged_sum(lambda rows: Parts([rows]), newdata, endog, freq_weights, weights, offset).rows()

    def _judged_sum(self, f: Callable[[Rows], Any], newdata, endog, freq_weights, weights, offset) -> Any:
        """Sum of ``f(rows)`` over the parts that rows come in; what is left out is said."""
        others = {"endog": endog, "freq_weights": freq_weights, "weights": weights}
        source = as_source(newdata)
        if source is not None:
            check_beside(source, **others, offset=offset)
            found = source.sum(lambda table, place: self._tally_of(f, table, **others, offset=offset, part=True))
        elif newdata is None:
            found = self._tally_of_fit(f, offset, others)
        else:
            found = self._tally_of(f, newdata, **others, offset=offset)
        lost = {} if found is None else found.lost
        if lost:
            why = ", ".join(f"{why} in {n}" for why, n in lost.items())
            warn(f"rows that cannot be judged are left out: {why}", DataWarning)
        if found is None or not found.rows:
            raise DataError("no row is left to judge")
        return found.value

    def _tally_of_fit(self, f: Callable[[Rows], Any], offset, others: dict[str, Any]) -> Tally:
        """Of the rows of the fit."""
        stray = [f"{name}=" for name, value in others.items() if value is not None]
        if stray:
            raise TypeError(f"{', '.join(stray)} is of rows of newdata=, which is not given")
        r = self.model._rows
        if not r.streamed:
            log_p, p, index = self._log_p(None, offset)
            return _tally(f, Rows(log_p, p, index, self._outcomes_of(self._counts, r.weights)), {})
        if offset is not None:
            raise RowsElsewhereError()

        def part(X, y, trials, offset, weights) -> Tally:
            log_p, p, counts = self._rows_read(X, y, trials, offset)
            return _tally(f, Rows(log_p, p, None, self._outcomes_of(counts, weights)), {})

        return r.blocks().over_parts(part)

    def _outcomes_of(self, counts: ndarray, weights: ndarray | None, frequency: bool | None = None) -> Outcomes:
        frequency = self.model._frequency if frequency is None else frequency
        return Outcomes(counts, weights, frequency, self.model._response.kind == "fraction" or not frequency)

    def _tally_of(self, f, newdata, endog, freq_weights, weights, offset, part: bool = False) -> Tally | None:
        """Of new data, which may be part of a table."""
        if part and not len(newdata):
            return None
        model = self.model
        if part:
            from glmclf.data.formula.across import refuse_across  # which loads patsy

            refuse_across(model._design, newdata)
        log_p, p, index = self._log_p(newdata, offset)
        given = self._new_weights(newdata, {"freq_weights": freq_weights, "weights": weights})
        left = None if model.formula is None else model._design.endog_name
        from glmclf.data.reading.outcomes import read_outcomes  # and with it all that reads formulas

        try:
            found = read_outcomes(model._response, left, newdata, len(log_p), endog, given)
        except MissingDataError:
            if not part:
                raise
            return Tally(None, 0, {f'"{model.endog_names}" or a weight missing': len(newdata)})
        keep = found.keep
        outcomes = self._outcomes_of(found.counts, found.weights, given["weights"] is None)
        rows = Rows(log_p[keep], p[keep], index[keep], outcomes)
        return _tally(f, rows, {f'"{name}" missing': n for name, n in found.dropped.items()})

    def _new_weights(self, newdata, given: dict[str, Any]) -> dict[str, Any]:
        """Weights of new data: those given, or the column that weighted the fit."""
        if any(value is not None for value in given.values()):
            return given
        columns = list(getattr(newdata, "columns", newdata if isinstance(newdata, dict) else ()))
        named = {n: c for n, c in self.model._names.items() if n in given}
        for keyword, column in named.items():
            if column not in columns:
                by_name = self.model.formula is not None and column != keyword
                what = (
                    f'{keyword}="{column}", which the new data lack: add the column, or give'
                    if by_name
                    else (f"{keyword}= that are not among the new data: give")
                )
                raise DataError(f"the fit has {what} {keyword}= values of these rows; 1 counts each row once")
        return {**given, **named}

    def _all_classes(self, rows: Rows, what: str) -> None:
        levels = self._judged_levels
        absent = [levels[k] for k in np.flatnonzero(~(rows.outcomes.sizes > 0))]
        if absent:
            raise DataError(
                f"{what} compares classes; no row of {', '.join(map(repr, absent))} is among the {len(rows.p)} "
                "that are judged"
            )

    def _place_of(self, event) -> int | None:
        """Place of the level asked for, or of the event of two levels; None for all of several."""
        levels = self._judged_levels
        if event is None:
            return self._event_place if len(levels) == 2 else None
        for k, level in enumerate(levels):
            if isinstance(event, str) == isinstance(level, str) and event == level:
                return k
        raise DataError(f"event={event!r} is not a level of {self.model.endog_names!r}, which has {levels}")

    def _one_place(self, event, what: str) -> int:
        k = self._place_of(event)
        if k is None:
            raise ValueError(f"{what} is about one level: give event=, one of {self._judged_levels}")
        return k

    # ----------------------------------------------------------------------------------------------------- tables
    def _predicted(self, rows: Rows, threshold) -> ndarray:
        """Place of the class that each row is predicted to be of."""
        if threshold is None:
            if rows.p.shape[1] > 2 or self._most_probable:
                return rows.p.argmax(axis=1)
            threshold = 0.5
        e = self._event_place
        return np.where(rows.p[:, e] > threshold, e, 1 - e)

    def _check_threshold(self, threshold) -> None:
        K = len(self._judged_levels)
        if threshold is None:
            return
        if K > 2:
            raise NotImplementedError(
                f"threshold= is for two levels; {type(self.model).__name__} of {self.model.endog_names!r} has {K} and "
                "predicts the most probable one"
            )
        if not accuracy.is_number(threshold) or not 0 <= threshold <= 1:
            raise ValueError(f"threshold={threshold!r}: a probability between 0 and 1")

    _most_probable: ClassVar[bool] = True  # the first level of equals is predicted, not that beyond a threshold

    @requires()
    def pred_table(
        self, threshold=None, newdata=None, *, endog=None, freq_weights=None, weights=None, offset=None
    ) -> pd.DataFrame:
        """Observed against predicted classes.

        Parameters
        ----------
        threshold : float, optional
            Two levels: the event is predicted where its probability is above this, by default 0.5. With several levels
            the most probable one is predicted.
        newdata : DataFrame, array_like or data in parts, optional
            Rows to judge, with the response; by default the rows of the fit. Rows without an outcome or a prediction
            are left out, with a warning. Data in parts, as `from_formula` takes them, are read part by part; of tables
            and `decision_curve` any number of rows, of curves those whose probabilities fit in memory: rows times
            levels up to 1e8.
        endog : str or array_like, optional
            The response of `newdata`, if it is not in the column that the model was fitted to.
        freq_weights, weights : str, array_like or number, optional
            Frequency or sampling weights of the rows of `newdata`; by default the column that weighted the fit.
        offset : array_like, optional
            As in `predict`.

        Returns
        -------
        DataFrame
            Rows observed, columns predicted, in the order of the levels (two: the event last); observations are counted
            with their weights, counts by successes and failures.
        """
        found = self._table(threshold, newdata, endog, freq_weights, weights, offset)
        return cross_table(found.cells, self._judged_levels)

    def _table(self, threshold, *rows) -> accuracy.Table:
        self._check_threshold(threshold)
        return self._judged_sum(lambda r: accuracy.Table.of(r.outcomes, self._predicted(r, threshold)), *rows)

    @requires()
    def classification_report(
        self,
        threshold=None,
        newdata=None,
        *,
        alpha: float = 0.05,
        endog=None,
        freq_weights=None,
        weights=None,
        offset=None,
    ) -> ClassificationReport:
        """Accuracy, sensitivity and the like of predicted classes, with standard errors and intervals.

        Parameters
        ----------
        threshold, newdata, endog, freq_weights, weights, offset
            As in `pred_table`.
        alpha : float
            One minus the level of the intervals.

        Returns
        -------
        ClassificationReport
            `overall`: accuracy; of two levels sensitivity, specificity, PPV, NPV and F1 of the event; kappa (Cohen's),
            MCC (Matthews' correlation, of several levels Gorodkin's), balanced accuracy. `by_class` of several.

        Raises
        ------
        DataError
            New data without the response, or with labels that the model does not know.

        Notes
        -----
        Intervals of proportions are Wilson's; of other measures by the delta method in the cells of the table: kappa
        -/+ z se (Fleiss, Cohen & Everitt 1969), MCC on Fisher's scale, F1, balanced accuracy and averages on the logit
        scale. Under sampling weights standard errors are those of a weighted sample of rows, and Wilson's interval is
        that of the effective number of observations. A measure that is 0/0, as the PPV of an event that is never
        predicted, is NaN, and so are averages over it. On the rows of the fit all of it is optimistic: see `validate`.

        References
        ----------
        Wilson (1927), JASA 22, 209-212. Gorodkin (2004), Computational Biology and Chemistry 28, 367-374.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector")).fit()
        >>> res.classification_report().overall.loc[["accuracy", "sensitivity"]].round(3)
                     estimate     se  lower  upper
        measure
        accuracy        0.812  0.069  0.647  0.911
        sensitivity     0.727  0.134  0.434  0.903
        """
        found = self._table(threshold, newdata, endog, freq_weights, weights, offset)
        judge = accuracy.Judge(found, check_alpha(alpha))
        levels, overall = self._judged_levels, {"accuracy": judge.accuracy()}
        by_class: dict[tuple[Any, str], Measure] = {}
        if len(levels) == 2:
            overall |= judge.by_class(self._event_place)
        else:
            by_class = {(level, n): m for k, level in enumerate(levels) for n, m in judge.by_class(k).items()}
            by_class |= judge.averages()
        return ClassificationReport(cross_table(judge.table, levels), overall | judge.agreement(), by_class)

    # ------------------------------------------------------------------------------------------------------ curves
    @requires()
    def roc(
        self, newdata=None, event=None, *, endog=None, freq_weights=None, weights=None, offset=None
    ) -> RocCurve | MulticlassRoc:
        """ROC curve and area under it, with DeLong's standard error; of several levels Hand and Till's M.

        Parameters
        ----------
        newdata, endog, freq_weights, weights, offset
            As in `pred_table`.
        event : label, optional
            The level to look for, against all others; by default the event of two levels.

        Returns
        -------
        RocCurve
            `auc`, `se`, `conf_int(method="delong"|"logit")`, `curve`, `cut_points()`, `partial_auc()`, `compare()`.
        MulticlassRoc
            Several levels without `event`: `auc` (M), `table` (one level against all others), `pairs`, `curve(level)`.

        Raises
        ------
        DataError
            One class alone in new data.

        Notes
        -----
        The score is the log odds of the event, so that probabilities that round to 1 stay apart. O(n log n). Of the
        rows of the fit, the area is optimistic, and its standard error takes the coefficients for known.

        References
        ----------
        DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44, 837-845. Hand & Till (2001), Machine Learning 45,
        171-186.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector")).fit()
        >>> res.roc()
        RocCurve(event=1, auc=0.8831, se=0.0621)
        """
        rows = self._judged(newdata, endog, freq_weights, weights, offset)
        k = self._place_of(event)
        if k is None:
            self._all_classes(rows, "roc()")
            return MulticlassRoc(rows.scores, rows.p, rows.outcomes, rows.index, self._judged_levels)
        return self._curve(rows, k)

    def _curve(self, rows: Rows, k: int) -> RocCurve:
        outcomes = rows.of(k)
        if not (outcomes.sizes > 0).all():
            level = self._judged_levels[k]
            only = f"all {len(rows.p)} are" if outcomes.sizes[1] > 0 else "none is"
            raise DataError(f"a curve needs rows of {level!r} and others; of the rows judged {only} {level!r}")
        return RocCurve(rows.scores[:, k], rows.p[:, k], outcomes, rows.index, self._judged_levels[k])

    @requires()
    def compare_roc(
        self,
        other,
        newdata=None,
        event=None,
        *,
        alpha: float = 0.05,
        endog=None,
        freq_weights=None,
        weights=None,
        offset=None,
    ) -> pd.Series:
        """DeLong's test that another model of the same rows has the same area under its ROC curve.

        Parameters
        ----------
        other : results
            Of any model of the same response.
        newdata, event, endog, freq_weights, weights, offset
            As in `roc`, for both.
        alpha : float
            One minus the level of the interval of the difference.

        Returns
        -------
        Series
            auc, other_auc, difference, se, statistic (z), pvalue, lower, upper, correlation.

        Raises
        ------
        DataError
            The models were fitted to different rows, and no `newdata` is given.

        Notes
        -----
        Of two nested models on the rows they were fitted to the test is too conservative (Demler, Pencina & D'Agostino
        2012, Statistics in Medicine 31, 2577-2587): use `compare_lr_test`, or new data.
        """
        if not isinstance(other, Judged):
            raise TypeError(f"compare_roc needs the results of another model; found {type(other).__name__}")
        keywords = {"endog": endog, "freq_weights": freq_weights, "weights": weights, "offset": offset}
        first = self.roc(newdata, event, **keywords)
        if isinstance(first, MulticlassRoc):
            raise NotImplementedError(
                f"compare_roc of several levels: give event=, one of {self._judged_levels}, to compare one against the "
                "others"
            )
        second = other.roc(newdata, first.event, **keywords)
        assert isinstance(second, RocCurve)
        return first.compare(second, alpha)

    @requires()
    def precision_recall(
        self, newdata=None, event=None, *, endog=None, freq_weights=None, weights=None, offset=None
    ) -> PrecisionRecall:
        """Precision against recall (sensitivity), and average precision.

        Parameters
        ----------
        newdata, event, endog, freq_weights, weights, offset
            As in `roc`; of several levels `event` is needed.

        Returns
        -------
        PrecisionRecall
            `average_precision`, `prevalence`, `curve`.

        References
        ----------
        Davis & Goadrich (2006), Proceedings of the 23rd International Conference on Machine Learning, 233-240.
        """
        k = self._one_place(event, "precision_recall()")
        return PrecisionRecall(self._curve(self._judged(newdata, endog, freq_weights, weights, offset), k))

    @requires()
    def decision_curve(
        self,
        thresholds=None,
        newdata=None,
        event=None,
        *,
        alpha: float = 0.05,
        endog=None,
        freq_weights=None,
        weights=None,
        offset=None,
    ) -> pd.DataFrame:
        """Net benefit of acting on predictions above each threshold, beside that of acting on all and on none.

        Parameters
        ----------
        thresholds : array_like, optional
            Probabilities in [0, 1) at which one would act: a threshold t says that a missed event is (1 - t)/t times as
            bad as acting in vain. By default 0.01, 0.02, ..., 0.99.
        newdata, event, endog, freq_weights, weights, offset
            As in `roc`; of several levels `event` is needed.
        alpha : float
            One minus the level of the intervals.

        Returns
        -------
        DataFrame
            By threshold: net_benefit TP/n - FP/n t/(1 - t) with se, lower and upper; treat_all, treat_none (0);
            standardized, divided by the share of events; and avoided, the interventions in vain saved per observation
            against treat_all, (net_benefit - treat_all) (1 - t)/t.

        References
        ----------
        Vickers & Elkin (2006), Medical Decision Making 26, 565-574.
        """
        k, alpha = self._one_place(event, "decision_curve()"), check_alpha(alpha)
        t = np.arange(1, 100) / 100 if thresholds is None else np.atleast_1d(np.asarray(thresholds, dtype=float))
        if t.ndim != 1 or not ((t >= 0) & (t < 1)).all():
            raise ValueError(f"thresholds={thresholds!r}: probabilities, 0 or more and less than 1")
        above = self._judged_sum(
            lambda rows: roc.Above.of(rows.p[:, k], rows.of(k), t), newdata, endog, freq_weights, weights, offset
        )
        value, se = roc.net_benefit(above, t)
        share = above.sizes[1] / above.sizes.sum()
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

    @requires()
    def lift(
        self, bins: int = 10, newdata=None, event=None, *, endog=None, freq_weights=None, weights=None, offset=None
    ) -> pd.DataFrame:
        """Gain and lift: which share of the events is among the observations with the highest probabilities.

        Parameters
        ----------
        bins : int
            Groups of about equal numbers of observations; equal probabilities stay together.
        newdata, event, endog, freq_weights, weights, offset
            As in `roc`; of several levels `event` is needed.

        Returns
        -------
        DataFrame
            By group, from the highest probabilities: n, events, rate, lift (rate over that of all), and of all
            observations down to it share, gain (their share of the events) and cumulative_lift (gain over share).
        """
        k = self._one_place(event, "lift()")
        rows = self._judged(newdata, endog, freq_weights, weights, offset)
        outcomes, p = rows.of(k), rows.p[:, k]
        code = calibration.bins_of(p, outcomes, _bins(bins), "quantile")
        no, yes = (np.bincount(code, t)[::-1] for t in outcomes.totals.T)
        size = no + yes
        with np.errstate(divide="ignore", invalid="ignore"):
            rate, share, gain = yes / size, np.cumsum(size) / size.sum(), np.cumsum(yes) / yes.sum()
            columns = {"n": size, "events": yes, "rate": rate, "lift": rate / (yes.sum() / size.sum())}
            columns |= {"share": share, "gain": gain, "cumulative_lift": gain / share}
        return pd.DataFrame(columns, index=pd.RangeIndex(1, len(size) + 1, name="group"))

    # ------------------------------------------------------------------------------------------------- calibration
    @requires()
    def calibration(
        self,
        bins: int = 10,
        newdata=None,
        *,
        method: str = "quantile",
        endog=None,
        freq_weights=None,
        weights=None,
        offset=None,
    ) -> Calibration:
        """Do events happen as often as predicted: curve, intercept and slope, ICI, Brier score, log score.

        Parameters
        ----------
        bins : int
            Of the curve and of Murphy's decomposition.
        newdata, endog, freq_weights, weights, offset
            As in `pred_table`.
        method : {"quantile", "uniform"}
            Bins of about equal numbers of observations (equal probabilities stay together), or of equal width.

        Returns
        -------
        Calibration
            `curve`, `intercept`, `slope`, `ici`, `brier`, `log_score`, `summary_frame()`; of several levels each
            against all others.

        Warns
        -----
        InferenceWarning
            Levels without a row among those judged: what compares them with others is NaN. Probabilities of 0 or 1.

        Notes
        -----
        Intercept ("calibration in the large") and slope are of logit models of the outcome given logit(p), the former
        with slope 1. ICI, E50, E90 and Emax are mean, median, 90th percentile and maximum of the distance between p and
        a smoothed curve, a logit model on a restricted cubic spline of logit(p) with four knots. Brier = reliability -
        resolution + uncertainty + within bins; scaled Brier = 1 - Brier/uncertainty. A maximum likelihood logit is
        calibrated on its own rows by construction (intercept 0, slope 1): use new data or `validate`.

        References
        ----------
        Cox (1958), Biometrika 45, 562-565. Murphy (1973), Journal of Applied Meteorology 12, 595-600. Austin &
        Steyerberg (2019), Statistics in Medicine 38, 4051-4065.

        Examples
        --------
        >>> from glmclf import Probit, datasets
        >>> res = Probit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector")).fit()
        >>> c = res.calibration(bins=4)
        >>> round(c.slope, 3), round(c.brier, 4)
        (0.99, 0.1305)
        """
        if method not in ("quantile", "uniform"):
            raise ValueError(f'method={method!r}: choose "quantile" or "uniform"')
        bins = _bins(bins)
        rows = self._judged(newdata, endog, freq_weights, weights, offset)
        levels = self._judged_levels
        shown = [self._event_place] if len(levels) == 2 else list(range(len(levels)))
        return Calibration(rows.log_p, rows.outcomes, levels, shown, bins, method)

    # -------------------------------------------------------------------------------------------------- validation
    @requires(Needs.REPEATABLE, Needs.ROWS)
    def validate(
        self, method: str = "bootstrap", *, seed=None, reps: int | None = None, folds: int | None = None, groups=None
    ) -> Validation:
        """What to expect of the model on rows like these that it has not seen: the whole fit repeated on resamples.

        Parameters
        ----------
        method : {"bootstrap", "cv", ".632+"}
            Harrell's bootstrap, corrected = apparent - mean(own sample - all rows); cross-validation, predictions of
            each fold by the fit to the others, all folds together; or Efron and Tibshirani's .632+ rule.
        seed : int, SeedSequence or Generator, optional
            The same seed gives the same numbers.
        reps : int, optional
            Bootstrap samples, by default 200; or how often the folds are dealt, by default once.
        folds : int, optional
            "cv": how many, by default 10.
        groups : str or array_like, optional
            Clusters that are drawn, or left out, as a whole: a column of the table, or values beside it.

        Returns
        -------
        Validation
            `table` by measure: AUC (of several levels M), Brier and log score, accuracy (most probable level),
            R2 (Nagelkerke's, after recalibration to the rows that judge), intercept and slope of recalibration;
            ``found["AUC"]`` is the corrected one.

        Raises
        ------
        EstimationError
            Fewer than half of the fits have an estimate.

        Warns
        -----
        InferenceWarning
            Fits without an estimate (separated, collinear, not converged): they are counted in `failures`. Measures
            that are not defined: a fit that predicts the same for all rows has the R2 0 and no intercept and slope.

        Notes
        -----
        Weights, offset, penalties, constraints and bias reduction are those of the fit; a penalty that cross-validation
        chose, or a formula that was, is not chosen again. A row of frequency weight f stands for f observations, each
        drawn alone; rows of counts and of sampling weights are drawn as rows. With a seed the numbers are those of the
        expanded rows, each behind the one it repeats. Without information, as the .632+ rule supposes, recalibration
        has slope 0 and the log odds of the event's share as intercept; the rule keeps the intercept between that of the
        fit and these, and so says little about it: ask another method.

        R2 is of discrimination alone: predictions are recalibrated to the very rows that judge them, as in R's rms,
        before their likelihood is taken. So the "test" and "corrected" R2 of "cv" and ".632+" are never negative
        there, do not count that predictions are too extreme (the slope does), count predictions that rank the wrong
        way round (a negative slope) as information, and may exceed the apparent R2 in tiny samples.

        A replication costs a fit that starts at the estimate and a sort of the rows for each class: of a million rows
        about 1.5 seconds of a Logit, 5 of an MNLogit of four levels. There optimism is small, and 20 tell enough.

        References
        ----------
        Harrell, Lee & Mark (1996), Statistics in Medicine 15, 361-387. Efron & Tibshirani (1997), JASA 92, 548-560.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("I(affairs > 0) ~ rate_marriage + age", datasets.load("fair")).fit()
        >>> found = res.validate(reps=20, seed=1)
        >>> round(found["AUC"], 2), found.n_used
        (0.71, 20)
        """
        from glmclf.results.performance.validation import Resampled, validate

        rows = self._judged(None, None, None, None, None)
        self._all_classes(rows, "validate()")
        return validate(Resampled(self, rows.log_p, rows.outcomes), method, seed, reps, folds, groups)


class JudgedRegression(Judged):
    """How well a regression predicts."""

    _constraint: Any
    _reduction: Any
    separation: Any
    converged: bool
    _finite_theta: Any

    def _repeated(self, model) -> Any:
        if self._constraint is not None:
            return model.fit_constrained((self._constraint.R, self._constraint.q), n_threads=1)
        reduction = self._reduction
        options = {} if reduction is None else {"bias_reduction": reduction.kind, "flic": reduction.flic}
        start = self._finite_theta if reduction is None else None
        return model.fit(start_params=start, separation="raise", n_threads=1, **options)


def _bins(bins: Any) -> int:
    if isinstance(bins, bool) or not isinstance(bins, (int, np.integer)) or bins < 2:
        raise ValueError(f"bins={bins!r}: a whole number, 2 or more")
    return int(bins)


def _tally(f: Callable[[Rows], Any], rows: Rows, lost: dict[str, int]) -> Tally:
    """``f`` of the rows that have a prediction."""
    none = np.isnan(rows.log_p).any(axis=1)
    if none.any():
        lost = {**lost, "no prediction": int(none.sum())}
        kept = rows.outcomes.rows(np.flatnonzero(~none))
        rows = Rows(rows.log_p[~none], rows.p[~none], None if rows.index is None else rows.index[~none], kept)
    n = len(rows.p)
    return Tally(f(rows) if n else None, n, lost)
