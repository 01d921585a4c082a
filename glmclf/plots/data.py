"""Rows in the space of two variables, with their classes and the misclassified rows marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.data.table.frame import as_frame
from glmclf.plots import layout, marks
from glmclf.results.performance.options import RowOptions
from glmclf.results.performance.report import predicted_classes
from glmclf.results.performance.rows import scored_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Shown(NamedTuple):
    """Rows that are drawn: their table, the place of each row's class (or None), and which are misclassified.

    Where rows hold counts of several classes `counts` has them, (n, K), and no row is wrong. `times` are frequency
    weights, or None.
    """

    table: pd.DataFrame
    places: ndarray | None = None
    wrong: ndarray | None = None
    counts: ndarray | None = None
    times: ndarray | None = None


def shown_rows(res: Any, newdata: Any, threshold: Any, source: Any) -> Shown:
    """Rows of the fit, or of new data, with their observed classes as far as known."""
    if newdata is None:
        table = source.fit_table()
        rows = scored_rows(res)
        return judged_rows(res, table, rows, threshold)
    table = as_frame(newdata).reset_index(drop=True)
    left = getattr(res.model._design, "endog_name", None) or res.model.endog_names
    names = {str(c) for c in table.columns}
    if not {name.strip() for name in left.split(" + ")} & names and left not in names:
        return Shown(table)
    rows = scored_rows(res, RowOptions(table, None if res.model.formula else table[left]))
    return judged_rows(res, table.loc[rows.index], rows, threshold)


def judged_rows(res: Any, table: pd.DataFrame, rows: Any, threshold: Any) -> Shown:
    counts = rows.outcomes.counts
    one_each = ((counts == 0) | (counts == 1)).all() and (counts.sum(axis=1) == 1).all()
    if not one_each:
        return Shown(table, counts=counts)
    places = counts.argmax(axis=1)
    times = rows.outcomes.weights if rows.outcomes.frequency else None
    return Shown(table, places, predicted_classes(res, rows, threshold) != places, times=times)


def draw_rows(ax: Axes, shown: Shown, x: str, y: str, levels: Sequence[Any]) -> None:
    """Draw rows as points by class: misclassified rows ringed, counts as the area of a point."""
    frame = shown.table.rename(columns=str)
    a, b = (frame[name].to_numpy(dtype=float, na_value=np.nan) for name in (x, y))
    if shown.counts is not None:
        largest = shown.counts.max()
        for k, level in enumerate(levels):
            own = shown.counts[:, k] > 0
            ax.scatter(
                a[own], b[own], s=8 + 140 * shown.counts[own, k] / largest, facecolors="none", linewidths=1.2,
                edgecolors=layout.colour(k), marker=layout.marker(k), label=f"{marks.name(level)} (area: count)",
                zorder=2.5,
            )  # fmt: skip
        return
    marks.points(ax, a, b, shown.places, levels)
    if shown.wrong is not None and shown.wrong.any():
        n = int(shown.wrong.sum())
        size, width = (52, 0.9) if n <= 50 else (30, 0.5) if n <= 500 else (10, 0.3)
        ax.scatter(
            a[shown.wrong], b[shown.wrong], s=size, linewidths=width, facecolors="none",
            edgecolors="black", zorder=3, alpha=1.0 if n <= 500 else 0.4, label="decided wrongly",
        )  # fmt: skip
