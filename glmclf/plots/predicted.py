"""Predicted probabilities over a variable."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.checks import check_whole, is_number, is_truth, true_or_false
from glmclf.data.table.frame import close_to, python_value, quoted
from glmclf.errors import DataError
from glmclf.inference.hypotheses.wald import check_alpha
from glmclf.plots import labelling, layout
from glmclf.results.margins.options import is_dummy
from glmclf.results.requires import has_rows
from glmclf.results.tables.numbers import value_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL_WIDTH = 4.4  # inches
MAX_GROUPS = 12  # groups that are drawn without being named
AVERAGED = {
    "overall": "averaged over the rows",
    "mean": "others at their means",
    "median": "others at their medians",
    "zero": "others at zero",
}


class Curves(NamedTuple):
    """Predictions (levels, groups, values of x) with their intervals, the name of x and the names of groups."""

    p: ndarray
    low: ndarray
    high: ndarray
    x: list[Any]
    groups: list[Any]
    levels: list[Any]
    points: bool


@true_or_false
def probabilities(
    res: Any,
    x: str,
    by: str | Mapping[str, Sequence[Any]] | None = None,
    *,
    at: Any = "overall",
    values: Sequence[Any] | None = None,
    points: int = 50,
    levels: Sequence[Any] | None = None,
    stacked: bool = False,
    alpha: float = 0.05,
    newdata: Any = None,
    ax: Any = None,
) -> Figure:
    """Predicted probabilities over the values of a variable, with confidence bands: adjusted predictions of the rows.

    Parameters
    ----------
    res : result
        Of any model.
    x : str
        A variable of the formula: a number has curves over its observed range, a factor points with intervals.
    by : str or dict, optional
        Another variable: a curve for each of its levels or, ``{"age": [20, 40]}``, values. With several levels of the
        response a panel for each.
    at : {"overall", "mean", "median", "zero"} or dict
        What all other variables are, as in `predictions`. "overall": as observed, and probabilities are averaged over
        the rows. A dict sets some, the others are as observed; one that sets all needs no rows.
    values : list, optional
        Of `x`, in place of all levels or an even grid.
    points : int
        Of that grid, 2 or more.
    levels : list, optional
        Of the response, those to draw; by default all.
    stacked : bool
        Of several levels: probabilities on top of each other as areas, without bands.
    alpha : float
        One minus the level of the intervals, in (0, 1).
    newdata : DataFrame, optional
        Rows to average over, in place of those of the fit.
    ax : Axes or list of Axes, optional
        To draw on; of several levels with `by` one a group.

    Returns
    -------
    Figure

    Raises
    ------
    DataError
        No such variable or level; a range that is not known, as of files of format 1: give `values`.

    Notes
    -----
    Numbers are those of ``res.predictions({x: values, by: levels}, at=at)``. A grid of 50 values costs 50 passes over
    the rows with ``at="overall"``, one with ``at="mean"``. Where predictions are NaN, as those that the directions of
    a separation disagree about, the curve has a gap.

    Examples
    --------
    >>> from glmclf import Logit, datasets, plots
    >>> res = Logit.from_formula("GRADE ~ GPA + PSI", datasets.load("spector")).fit()
    >>> fig = plots.probabilities(res, "GPA", by="PSI")
    >>> fig.axes[0].get_ylabel(), [text.get_text() for text in fig.axes[0].get_legend().get_texts()]
    ('P(GRADE = 1)', ['PSI = 0', 'PSI = 1'])
    """
    labelling.check(res, "probabilities", ("predictions",))
    several = labelling.levels(res)
    if stacked and not several:
        raise ValueError(f"stacked=True is for several levels: {type(res.model).__name__} has one event")
    found = _curves(res, x, by, at, values, points, check_alpha(alpha), newdata)
    found = _select_levels(found, several, levels)
    group = next(iter(by)) if isinstance(by, Mapping) else by
    titles = [f"{group} = {value_text(g)}" for g in found.groups] if by is not None else [""]
    panels = [found] if not several else [_group_as_levels(found, i) for i in range(len(titles))]
    columns = min(len(panels), 3)
    side = PANEL_WIDTH if len(panels) == 1 else layout.PANEL
    wide = side + (1.0 if not found.points else min(4.0, 0.3 * len(found.x)))
    y = labelling.probability(res, None if len(found.levels) != 1 else found.levels[0])
    names = titles if not several else [str(labelling.plain(level)) for level in found.levels]
    size = (wide * columns, side * -(-len(panels) // columns))
    axes = layout.several(ax, len(panels), size, columns)
    for i, (panel, part) in enumerate(zip(axes, panels)):
        _panel(panel, part, names if several or by is not None else [""], stacked)
        layout.caption(panel, titles[i] if several and titles[i] else _settings(at), x, y)
        if i == len(panels) - 1:
            layout.legend(panel, ax is None, most=0)  # bands, bars and intervals leave no room for it
    return layout.figure_of(axes[0])


# ----------------------------------------------------------------------------------------------------- the numbers
def _curves(res: Any, x: str, by: Any, at: Any, values: Any, points: int, alpha: float, newdata: Any) -> Curves:
    source = res._margin_source()
    source.check(x)
    if (by is not None and not isinstance(by, (str, Mapping))) or (isinstance(by, Mapping) and len(by) != 1):
        raise TypeError(f"by={by!r}: the name of one variable, or a dict of one with its values")
    group = next(iter(by)) if isinstance(by, Mapping) else by
    if group is not None and source.check(group) == x:
        raise ValueError(f"by={group!r} is the variable of the x axis: choose another one")
    grid, discrete = values_of(source, x, values, points, newdata)
    groups = [None]
    if group is not None:
        given = by[group] if isinstance(by, Mapping) else None
        groups, _ = values_of(source, group, given, None, newdata)
        if len(groups) > MAX_GROUPS and given is None:
            raise ValueError(f'by="{group}" has {len(groups)} levels: choose some, by={{"{group}": [...]}}')
    cells = list(itertools.product(groups, grid))
    setting = _setting(source, at, {x, group})
    if setting is not None and newdata is None:
        frame = pd.DataFrame([{**setting, x: v, **({} if group is None else {group: g})} for g, v in cells])
        table = res.predictions(at=frame).summary_frame(alpha)
    else:
        asked = {x: grid} if group is None else {group: groups, x: grid}
        table = res.predictions(asked, at, newdata=newdata).summary_frame(alpha)
    p, low, high = (
        table[name].to_numpy().reshape(-1, len(groups), len(grid)) for name in ("predicted", "ci_lower", "ci_upper")
    )
    return Curves(p, low, high, grid, groups, [], discrete)


def values_of(source: Any, name: str, given: Any, points: int | None, newdata: Any) -> tuple[list[Any], bool]:
    """Values of a variable, and whether predictions at them are separate points rather than a curve."""
    known = newdata is None and not has_rows(source.res)
    table = pd.DataFrame(columns=source.design.variables) if known else source.table(newdata)
    if given is not None and (isinstance(given, (str, bytes)) or np.ndim(given) != 1):
        raise TypeError(f'values of "{name}": a list of them, found {given!r}')
    levels = source.levels_of(name, table)
    if levels is not None:
        every = levels if levels[0] is False else sorted(levels, key=source.in_order(name, levels).index)
        return (every if given is None else list(given)), True
    if given is not None:
        found = list(given)
        if not found:
            raise ValueError(f'no value of "{name}" is given')
        found = [python_value(v) for v in found]
        odd = [v for v in found if not (is_number(v) or is_truth(v)) or not np.isfinite(v)]
        if odd:
            raise DataError(f'"{name}" is a number: it cannot be {odd[0]!r}')
        return (sorted(found) if points and len(found) > 2 else found), len(found) < 3
    if len(table) and is_dummy(table[name]):
        return [0, 1], True
    if points is None:
        raise DataError(f'"{name}" is a number: say at which values, by={{"{name}": [1, 2]}}')
    check_whole("points", points, 2)
    low, high = _range(source, name, table)
    return np.linspace(low, high, points).tolist(), False


def _range(source: Any, name: str, table: pd.DataFrame) -> tuple[float, float]:
    """Smallest and largest value of a number: in the rows of the fit, or as the fit stores it."""
    if len(table):
        column = table[name].dropna()
        return float(column.min()), float(column.max())
    kept = getattr(source.model, "_ranges", None) or {}
    if name not in kept:
        raise DataError(f'the range of "{name}" is not known without the rows of the fit: give values=, or newdata=')
    low, high = kept[name]
    return low, high


def _setting(source: Any, at: Any, free: set[Any]) -> dict[str, Any] | None:
    """Check `at`, and return the values of all other variables where `at` has them."""
    if not isinstance(at, (str, Mapping)):
        raise TypeError(f'at= is {type(at).__name__}: "overall", "mean", "median", "zero", or a dict of values')
    if isinstance(at, str):
        return None
    both = [name for name in at if name in free]
    many = [name for name, v in at.items() if not isinstance(v, (str, bytes)) and np.ndim(v)]
    if both or many:
        why = "the plot is over" if both else "to several values, which by= is for"
        raise ValueError(f"at= sets {quoted(both or many)}{', which ' if both else ' '}{why}: leave it out of at=")
    known = [*source.variables, *([source.offset_name] if source.offset_name else [])]
    odd = [name for name in at if name not in known]
    if odd:
        raise DataError(f"at=: {quoted(odd)} is no variable of the model. {close_to(str(odd[0]), known)}")
    offset = getattr(source.model, "_has_offset", False) and source.offset_name is None
    return dict(at) if set(known) <= set(at) | free and not offset else None


def _select_levels(found: Curves, every: list[Any], wanted: Any) -> Curves:
    """Select levels of the response."""
    if wanted is None or not every:
        if wanted is not None:
            raise ValueError("levels= is for a response of several levels: this model has one event")
        return found._replace(levels=every or [None])
    wanted = [wanted] if isinstance(wanted, str) else list(wanted)
    lost = [level for level in wanted if level not in every]
    if lost or not wanted:
        raise DataError(f"levels={wanted!r}: the response has the levels {every}")
    at = [every.index(level) for level in wanted]
    return found._replace(p=found.p[at], low=found.low[at], high=found.high[at], levels=wanted)


def _group_as_levels(found: Curves, i: int) -> Curves:
    """Curves of one group with the levels of the response in place of groups."""
    p, low, high = (a[:, i][None] for a in (found.p, found.low, found.high))
    return found._replace(p=p, low=low, high=high, groups=found.levels)


# --------------------------------------------------------------------------------------------------------- drawing
def _panel(ax: Axes, found: Curves, names: list[str], stacked: bool) -> None:
    x = np.arange(len(found.x)) if found.points else np.array(found.x, dtype=float)
    if stacked:
        _stack(ax, x, found, names)
    else:
        for i, name in enumerate(names):
            _curve(ax, x, found, i, name, len(names))
    if found.points:
        ax.set_xlim(-0.6, len(x) - 0.4)
    else:
        pad = 0.01 * (x.max() - x.min())
        ax.set_xlim(x.min() - pad, x.max() + pad)
    if np.isnan(found.p).all():
        ax.text(0.5, 0.5, "(NaN throughout)", ha="center", va="center", transform=ax.transAxes)
    if stacked:
        ax.set_ylim(0, 1)
    else:
        ax.set_ylim(*_room(found))
    layout.tidy(ax, "y")
    if found.points:
        layout.categories(ax, x, [value_text(v) for v in found.x])


def _room(found: Curves) -> tuple[float, float]:
    """Ends of the y axis: 0 and 1, unless all curves are finite and far from one of them."""
    ends = np.r_[found.p.ravel(), found.low.ravel(), found.high.ravel()]
    ends = ends[np.isfinite(ends)]
    low, high = (ends.min(), ends.max()) if np.isfinite(found.p).all() and len(ends) else (0.0, 1.0)
    low = 0.0 if low < 0.5 or low == 1 else low - 0.05 * (1 - low)  # where all are 0, or 1, the axis shows both
    high = 1.0 if high > 0.5 or high == 0 else 1.05 * high
    return low - 0.015 * (high - low), high + 0.015 * (high - low)


def _curve(ax: Axes, x: ndarray, found: Curves, i: int, name: str, of: int) -> None:
    p, low, high, colour = found.p[0, i], found.low[0, i], found.high[0, i], layout.colour(i)
    label = layout.named(name) or None
    if found.points:
        at = x + (i - (of - 1) / 2) * min(0.16, 0.7 / of)
        ax.vlines(at, low, high, color=colour, linewidth=1.6)
        ax.plot(at, p, layout.marker(i), color=colour, linestyle="none", markersize=6, label=label)
        for place in at[np.isnan(p)] if not np.isnan(found.p).all() else ():
            ax.annotate(
                "NaN", (place, 0.0), xycoords=ax.get_xaxis_transform(), xytext=(0, 3), textcoords="offset points",
                color=colour, ha="center", rotation=90, fontsize=layout.small(ax, 8.0),
            )  # fmt: skip
        return
    ax.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
    ax.plot(x, p, layout.dashes(i), color=colour, linewidth=1.8, label=label)


def _stack(ax: Axes, x: ndarray, found: Curves, names: list[str]) -> None:
    """Draw stacked areas, or bars of a factor, the first level at the bottom."""
    tops = np.cumsum(found.p[0], axis=0)
    for i, name in enumerate(names):
        bottom = tops[i] - found.p[0, i]
        style: dict[str, Any] = {"facecolor": layout.colour(i), "edgecolor": "white", "linewidth": 0.8}
        style["label"] = layout.named(name)
        style["hatch"] = ("", "//", "\\\\", "..", "xx", "--", "++", "oo")[i % 8]
        if found.points:
            ax.bar(x, found.p[0, i], 0.8, bottom, **style)
        else:
            ax.fill_between(x, bottom, tops[i], **style)


def _settings(at: Any) -> str:
    """Text with the values of the other variables."""
    if isinstance(at, str):
        return AVERAGED[at]
    return ", ".join(f"{name} = {value_text(v)}" for name, v in at.items()) or AVERAGED["overall"]
