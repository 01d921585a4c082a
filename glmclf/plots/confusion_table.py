"""Tables as pictures: observed against predicted classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from glmclf.plots import labelling, layout
from glmclf.results.performance.report import ClassificationReport
from glmclf.results.tables.numbers import with_minus

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DARK = 0.55  # share of an observed class above which a cell's letters are white


def confusion(
    res: Any, threshold: float | None = None, newdata: Any = None, *, ax: Axes | None = None, **rows: Any
) -> Figure:
    """Observed against predicted classes: counts, and shares of each observed class as shades.

    Parameters
    ----------
    res : result or ClassificationReport
        Of any model, or what its `classification_report` gave.
    threshold : float, optional
        Two levels: the event is predicted where its probability is above this, by default 0.5.
    newdata : DataFrame, array_like or data in parts, optional
        Rows to judge; by default those of the fit.
    ax : Axes, optional
        To draw on.
    **rows
        `endog`, `freq_weights`, `weights` and `offset` of `newdata`, as in `res.pred_table`.

    Returns
    -------
    Figure

    Examples
    --------
    >>> from glmclf import LDA, datasets, plots
    >>> res = LDA.from_formula("species ~ bill_length_mm + bill_depth_mm", datasets.load("penguins")).fit()
    >>> fig = plots.confusion(res)
    >>> fig.axes[0].texts[0].get_text()
    '149\\n99 %'
    """
    labelling.check_keywords(rows, "confusion")
    asked = {"threshold": threshold, "newdata": newdata, **rows}
    found = labelling.made(
        *(res, "confusion", ClassificationReport, "pred_table", asked),
        lambda one: one.pred_table(threshold, newdata, **rows),
    )
    if isinstance(found, ClassificationReport):
        table, name, rule = found.table, "", None
    else:
        table, name = found, f" {labelling.response(res).name}"
        rule = 0.5 if threshold is None and not res._most_probable else threshold
    counts = table.to_numpy(dtype=float)
    totals = counts.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        shares = counts / totals
    levels = [layout.wrapped(labelling.plain(level), 18) for level in table.columns]
    tall = max(0.75, 0.2 + layout.LINE_HEIGHT * max(1 + level.count("\n") for level in levels))
    side = max(1.0 if len(levels) < 5 else 0.8, tall)
    axes = layout.axes(ax, (side * len(levels) + 2.6, side * len(levels) + 2.0))
    room = min(layout.inches(axes)) * (1.0 if ax is None else 0.65)  # a user's layout spends some on labels
    _cells(axes, counts, shares, room)
    size = _letters(room, levels, 10.0)
    across = max(len(line) for level in levels for line in level.split("\n")) * layout.LETTER * size / 10
    steep = across > room / len(levels)
    places = range(len(levels))
    axes.set_xticks(places, levels, rotation=90 if steep else 0, fontsize=size)
    axes.set_yticks(places, levels, fontsize=size)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    event = repr(labelling.plain(table.columns[-1]))
    how = "" if rule is None else f", {event} where p > {with_minus(rule)}"
    layout.caption(axes, f"{labelling.observations(counts.sum())}{how}", f"predicted{name}", f"observed{name}")
    return layout.figure_of(axes)


def _cells(ax: Axes, counts: ndarray, shares: ndarray, room: float) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    shades = LinearSegmentedColormap.from_list("shares", ["white", layout.COLOURS[0]]).with_extremes(bad="0.93")
    K = len(counts)
    ax.imshow(np.ma.masked_invalid(shares), cmap=shades, vmin=0.0, vmax=1.0, aspect="equal")
    ax.set_xticks(np.arange(K + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(K + 1) - 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=2)
    ax.tick_params(which="minor", length=0)
    words = [[f"{_count(n)}\n{_share(s)}" for n, s in zip(*row)] for row in zip(counts, shares)]
    widest = max(len(part) for row in words for word in row for part in word.split("\n"))
    cell = room / K
    size = float(np.clip(min(cell / (widest * layout.LETTER), cell / (2.4 * layout.LINE_HEIGHT)) * 10, 2.5, 10.5))
    for i, row in enumerate(words):
        for j, word in enumerate(row):
            colour = "white" if shares[i, j] > DARK else "black"
            ax.text(j, i, word, ha="center", va="center", color=colour, fontsize=size)


def _letters(room: float, levels: list[str], usual: float) -> float:
    """Font size at which the labels of rows do not overlap."""
    lines = max(1 + level.count("\n") for level in levels)
    return float(np.clip(usual * room / len(levels) / ((lines + 0.3) * layout.LINE_HEIGHT), 2.5, usual))


def _count(n: float) -> str:
    return f"{n:,.0f}" if float(n).is_integer() else f"{n:,.4g}"


def _share(share: float) -> str:
    """A share of a row in per cent; a dash of a class without rows."""
    if np.isnan(share):
        return "\N{EN DASH}"
    few = 0 < share < 0.005 or 0.995 < share < 1
    return f"{100 * share:.1f} %" if few else f"{100 * share:.0f} %"
