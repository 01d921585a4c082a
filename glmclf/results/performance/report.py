"""Classification tables of observed and predicted classes, and reports of their measures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.checks import is_number
from glmclf.core.rows.asked import under_usual_errors
from glmclf.errors import escaped
from glmclf.inference.hypotheses.wald import check_alpha
from glmclf.inference.performance import accuracy
from glmclf.inference.performance.accuracy import Measure
from glmclf.results.performance.options import RowOptions
from glmclf.results.performance.rows import ScoredRows, sum_over_scored_rows
from glmclf.results.tables.frames import notebook

MEASURES = ["estimate", "se", "lower", "upper"]


@under_usual_errors
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
        return escaped("\n\n".join([self.table.to_string(float_format="{:.15g}".format), *words]))

    def _repr_html_(self) -> str:
        classes = [] if self.by_class is None else [self.by_class["estimate"].unstack("measure", sort=False)]
        return f"{notebook(self.table, digits='.15g')}\n{notebook(self.overall, *classes, digits='.4f')}"


def pred_table(res: Any, threshold: Any, options: RowOptions) -> pd.DataFrame:
    """See `Performance.pred_table`."""
    return cross_table(_table(res, threshold, options).cells, res._judged_levels)


def classification_report(res: Any, threshold: Any, alpha: float, options: RowOptions) -> ClassificationReport:
    """See `Performance.classification_report`."""
    measures = accuracy.TableMeasures(_table(res, threshold, options), check_alpha(alpha))
    levels, overall = res._judged_levels, {"accuracy": measures.accuracy()}
    by_class: dict[tuple[Any, str], Measure] = {}
    if len(levels) == 2:
        overall |= measures.by_class(res._event_place)
    else:
        by_class = {(level, n): m for k, level in enumerate(levels) for n, m in measures.by_class(k).items()}
        by_class |= measures.averages()
    return ClassificationReport(cross_table(measures.table, levels), overall | measures.agreement(), by_class)


def cross_table(table: ndarray, levels: list[Any]) -> pd.DataFrame:
    """Labelled table of counts (K, K) of observed levels (rows) by predicted levels."""
    rows, columns = (pd.Index(levels, name=name, dtype=object) for name in ("observed", "predicted"))
    return pd.DataFrame(table, index=rows, columns=columns)


def _table(res: Any, threshold: Any, options: RowOptions) -> accuracy.Table:
    check_threshold(res, threshold)
    return sum_over_scored_rows(
        res, lambda rows: accuracy.Table.of(rows.outcomes, predicted_classes(res, rows, threshold)), options
    )


def predicted_classes(res: Any, rows: ScoredRows, threshold: Any) -> ndarray:
    """Place of the predicted class of each row."""
    if threshold is None:
        if rows.p.shape[1] > 2 or res._most_probable:
            return rows.p.argmax(axis=1)
        threshold = 0.5
    e = res._event_place
    return np.where(rows.p[:, e] > threshold, e, 1 - e)


def check_threshold(res: Any, threshold: Any) -> None:
    """Refuse a threshold that is no probability, and any threshold for several levels."""
    K = len(res._judged_levels)
    if threshold is None:
        return
    if K > 2:
        raise NotImplementedError(
            f"threshold= is for two levels; {type(res.model).__name__} of {res.model.endog_names!r} has {K} and "
            "predicts the most probable one"
        )
    if not is_number(threshold) or not 0 <= threshold <= 1:
        raise ValueError(f"threshold={threshold!r}: a probability between 0 and 1")
