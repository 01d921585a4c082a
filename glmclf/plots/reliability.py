"""Calibration: how often events happen against how probable they were said to be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from glmclf.checks import true_or_false
from glmclf.errors import DataError
from glmclf.inference.hypotheses.wald import check_alpha
from glmclf.plots import labelling, layout
from glmclf.results.performance.calibration import Calibration

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BAND = (-0.25, -0.03)  # ends of the band of bars below the curve, on the y axis
RELIABILITY_PANEL_WIDTH = 4.6  # inches


@true_or_false
def calibration(
    res: Any,
    bins: int | Sequence[float] = 10,
    newdata: Any = None,
    *,
    method: str = "quantile",
    level: Any = None,
    smooth: bool = True,
    histogram: bool = True,
    alpha: float = 0.05,
    names: Sequence[str] | None = None,
    ax: Any = None,
    **rows: Any,
) -> Figure:
    """Observed shares against predicted probabilities by bins, with intervals, a smoothed curve and the predictions.

    Parameters
    ----------
    res : result, Calibration, or a list or dict of them
        Of any model, or what its `calibration` gave. Of several levels there is a panel a level.
    bins : int or list of numbers
        Of the curve: how many, or their edges between 0 and 1.
    newdata : DataFrame, array_like or data in parts, optional
        Rows to judge; by default those of the fit, on which a maximum likelihood logit is calibrated by construction.
    method : {"quantile", "uniform"}
        Bins of about equal numbers of observations, or of equal width.
    level : label, optional
        Of several levels the one to draw; needed of several results of these.
    smooth : bool
        Whether to draw the smoothed curve (`Calibration.smooth_frame`), too.
    histogram : bool
        Whether to draw how often which probability was predicted, events upwards and others downwards; of one result.
    alpha : float
        One minus the level of the intervals (Wilson's), in (0, 1).
    names : list of str, optional
        What to call several results.
    ax : Axes or list of Axes, optional
        To draw on; of several levels one a level.
    **rows
        `endog`, `freq_weights`, `weights` and `offset` of `newdata`, as in `res.calibration`.

    Returns
    -------
    Figure

    Examples
    --------
    >>> from glmclf import Logit, datasets, plots
    >>> res = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector")).fit()
    >>> fig = plots.calibration(res, bins=4)
    >>> fig.axes[0].get_ylabel()
    'observed share of 1'
    """
    check_alpha(alpha)
    labelling.check_keywords(rows, "calibration")
    found = labelling.all_made(
        *(res, names, "calibration", Calibration, "calibration", {"newdata": newdata, **rows}),
        lambda one: one.calibration(bins, newdata, method=method, **rows),
    )
    levels = [_level(found, level)] if level is not None else _levels(found)
    columns, bars = min(len(levels), 3), histogram and len(found) == 1
    wide = RELIABILITY_PANEL_WIDTH if len(levels) == 1 else layout.PANEL
    tall = wide + 0.5 + 0.8 * bars
    size = (wide * columns + 0.6, tall * -(-len(levels) // columns))
    axes = layout.several(ax, len(levels), size, columns)
    for lv, panel in zip(levels, axes):
        _panel(panel, found, lv, smooth, bars, alpha, ax is None)
    return layout.figure_of(axes[0])


def _level(found: Mapping[str, Calibration], level: Any) -> Any:
    for name, one in found.items():
        if level not in one.levels:
            of = f" of {name}" if len(found) > 1 else ""
            raise DataError(f"level={level!r} is none of those with a curve{of}: {one.levels}")
    return level


def _levels(found: Mapping[str, Calibration]) -> list[Any]:
    levels = next(iter(found.values())).levels
    if len(found) > 1 and len(levels) > 1:
        raise NotImplementedError(f"calibration() of several results of several levels: give level=, one of {levels}")
    if any(one.levels != levels for one in found.values()):
        raise DataError(f"the results are of different events: {[one.levels for one in found.values()]}")
    return levels


def _level_of(table: pd.DataFrame, level: Any) -> pd.DataFrame:
    """Rows of one level of a table, without the level in the index."""
    return table.loc[[level]] if "level" in table.index.names else table


def _panel(ax: Axes, found: Mapping[str, Calibration], level: Any, smooth: bool, bars: bool, alpha: float, own: bool):
    ax.plot([0, 1], [0, 1], color=layout.GREY, linewidth=1, linestyle="--", zorder=1)
    for i, (name, one) in enumerate(found.items()):
        t, colour = _level_of(one.curve_frame(alpha), level), layout.colour(i)
        x, share = t["predicted"].to_numpy(), t["observed"].to_numpy()
        label = f"observed, {labelling.percent(alpha)} interval" if len(found) == 1 else name
        ax.vlines(x, t["lower"], t["upper"], color=colour, linewidth=1.4, zorder=3)
        style: dict[str, Any] = {"markersize": 6, "linestyle": "none", "label": layout.named(label), "zorder": 4}
        ax.plot(x, share, layout.marker(i), color=colour, **style)
        if smooth:
            s = _level_of(one.smooth_frame(), level).dropna()
            word = "smoothed" if len(found) == 1 and len(s) else "_smoothed"
            ax.plot(s["predicted"], s["smoothed"], layout.dashes(i), color=colour, linewidth=1.3, label=word, alpha=0.8)
    n = {t["n"].sum() for t in (_level_of(one.curve_frame(alpha), level) for one in found.values())}
    if bars:
        _bars(ax, _level_of(next(iter(found.values())).histogram(), level))
    events = {one._called[one.levels.index(level)] for one in found.values()}
    event = events.pop() if len(events) == 1 else "the event"
    size = f", {labelling.observations(n.pop())}" if len(n) == 1 else ""
    title = _numbers(next(iter(found.values())), level) + size if len(found) == 1 else size[2:]
    layout.caption(ax, title, f"predicted probability of {event}", f"observed share of {event}")
    ax.set(xlim=(-0.02, 1.02), ylim=(BAND[0] - 0.02 if bars else -0.02, 1.02))
    ax.set_aspect("equal", adjustable="box")
    ax.set_yticks(np.arange(6) / 5)
    layout.tidy(ax, "both")
    layout.legend(ax, own, "upper left", most=99)


def _numbers(found: Calibration, level: Any) -> str:
    """Text with the calibration intercept and slope."""
    row = found.table.loc[level] if not isinstance(level, bool) else found.table.iloc[found.levels.index(level)]
    known = [(name, row[key]) for name, key in (("intercept", "calibration in the large"), ("slope", "slope"))]
    words = [f"{name} {value:.2f}" if np.isfinite(value) else f"no {name}" for name, value in known]
    return ", ".join([*words, f"Brier {row['Brier']:.3f}"]).replace("-", "\N{MINUS SIGN}")


def _bars(ax: Axes, table: pd.DataFrame) -> None:
    """Draw bars of numbers of predictions from the middle of the band: events upwards, non-events downwards."""
    middle, half = sum(BAND) / 2, (BAND[1] - BAND[0]) / 2
    most = max(table["events"].max(), table["others"].max())
    width = table["right"] - table["left"]
    for name, sign, colour in (("events", 1, layout.COLOURS[1]), ("others", -1, "0.6")):
        tall = sign * half * table[name] / most
        said = f"{name} (tallest bar {table[name].max():,.6g})"
        ax.bar(table["left"], tall, width, middle, align="edge", color=colour, linewidth=0, label=said, zorder=2)
    ax.axhline(middle, color=layout.GREY, linewidth=0.8, zorder=3)
