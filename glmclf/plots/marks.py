"""Marks that several plots share: points of classes, labels of single points, legends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from glmclf.plots import labelling, layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AREA = 16.0  # of a point, in points squared
AROUND = [(4, 4), (4, -11), (-4, 4), (-4, -11), (4, 14), (4, -21), (-4, 14), (-4, -21), (14, -4), (-14, -4)]


def look(i: int) -> dict[str, Any]:
    """Colour and marker of a class."""
    return {"color": layout.colour(i), "marker": layout.marker(i)}


def line(i: int) -> dict[str, Any]:
    """Colour and dashes of a class."""
    return {"color": layout.colour(i), "linestyle": layout.dashes(i)}


def name(level: Any) -> str:
    """A level as the label of an artist."""
    return layout.named(labelling.plain(level))


def points(ax: Axes, x: ndarray, y: ndarray, places: ndarray | None, levels: Sequence[Any]) -> None:
    """Draw rows as points in the colours and markers of their classes; grey without classes.

    Parameters
    ----------
    places : (n,) integer ndarray or None
        Place of each row's class among the levels.
    """
    alpha = 0.8 if len(x) < 500 else 0.5 if len(x) < 5000 else 0.2
    common = {"linewidths": 0.3 if len(x) < 5000 else 0.0, "edgecolors": "0.25", "alpha": alpha, "zorder": 2.5}
    if places is None:
        ax.scatter(x, y, s=AREA, color=layout.GREY, label=f"rows ({len(x):,})", **common)  # type: ignore[arg-type]
        return
    for k, level in enumerate(levels):
        own = places == k
        ax.scatter(x[own], y[own], s=AREA, label=name(level), **look(k), **common)  # type: ignore[arg-type]


def label_points(ax: Axes, x: ndarray, y: ndarray, labels: Sequence[Any], radius: ndarray) -> None:
    """Draw labels beside points of a radius in points, if possible without overlap and inside the axes."""
    layout.figure_of(ax).draw_without_rendering()  # positions are final after this
    taken: list[Any] = []
    size = layout.small(ax, 8.0)
    for a, b, label, r in zip(x, y, labels, 0.7 * radius - 2):
        text = ax.annotate(layout.wrapped(label), (a, b), xytext=AROUND[0], textcoords="offset points", fontsize=size)
        text.set_in_layout(False)
        places = [(a + np.sign(a) * max(r, 0), b + np.sign(b) * max(r, 0)) for a, b in AROUND]
        covered = [_covered(text, place, taken, ax) for place in places]
        taken.append(_at(text, places[int(np.argmin(covered))]))


def _at(text: Any, shift: tuple[float, float]) -> Any:
    """The box of a label that is moved."""
    text.set(position=shift, ha="left" if shift[0] > 0 else "right", va="bottom")
    return text.get_window_extent()


def _covered(text: Any, shift: tuple[float, float], taken: list[Any], ax: Axes) -> int:
    """Number of labels that a place covers, plus two where it leaves the axes."""
    box, frame = _at(text, shift), ax.get_window_extent()
    outside = box.x0 < frame.x0 or box.x1 > frame.x1 or box.y0 < frame.y0 or box.y1 > frame.y1
    return sum(bool(box.padded(3).overlaps(other)) for other in taken) + 2 * outside  # labels that touch read as one


def key(ax: Axes, own: bool, inside: str = "best", most: int = 6) -> None:
    """Draw the legend of `layout.legend`, in which no mark is faint or larger than usual."""
    layout.legend(ax, own, inside, most)
    if (found := ax.get_legend()) is not None:
        _clear(found)


def keys(figure: Any, all_axes: Sequence[Axes], own: bool) -> None:
    """Draw one legend for all panels: of a new figure below them or, if a row has no room, beside them.

    On a user's Axes it is in the first panel that has most to name.
    """
    if not own:
        key(max(all_axes, key=lambda ax: len(ax.get_legend_handles_labels()[0])), False)
        return
    handles: dict[str, Any] = {}
    for ax in all_axes:
        for handle, label in zip(*ax.get_legend_handles_labels()):
            handles.setdefault(layout.wrapped(label), handle)
    if handles:
        lines, width = "\n".join(handles).split("\n"), figure.get_figwidth()
        row = sum(layout.LETTER * len(line) + 0.6 for line in lines)
        place: dict[str, Any] = {"loc": "outside right upper"}
        if len(lines) == len(handles) and row < width:
            place = {"loc": "outside lower center", "ncols": len(handles)}
        else:
            figure.set_figwidth(width + layout.LETTER * max(map(len, lines)) + 0.6)
        found = layout.key_of(figure, [*handles.values()], [*handles], frameon=False, fontsize=9, **place)
        _clear(found)


def _clear(legend: Any) -> None:
    for handle in legend.legend_handles:
        if handle is not None and hasattr(handle, "set_sizes"):
            handle.set_sizes([24.0])
        if handle is not None:
            handle.set_alpha(1.0)


def lines_of(levels: Sequence[Any]) -> float:
    """Inches that a legend of levels needs."""
    return 0.5 + layout.LINE_HEIGHT * sum(1.25 + layout.wrapped(name(level)).count("\n") for level in levels)


def grid(needs: Sequence[float], columns: int, width: float, least: float) -> list[Axes]:
    """Axes of a new figure, each of the height in inches that it needs, tall Axes in rows below the others.

    Parameters
    ----------
    needs : sequence of float
        Inches that each panel needs.
    columns : int
    width : float
        Of the figure, in inches.
    least : float
        Height of the figure.
    """
    tall = [need > 2 * min(needs) for need in needs]
    order = [i for late in (False, True) for i in range(len(needs)) if tall[i] == late]
    short = -(-tall.count(False) // columns) * columns  # cells of the full rows
    place = {i: j if not tall[i] else short + j - tall.count(False) for j, i in enumerate(order)}
    heights = [0.0] * (max(place.values()) // columns + 1)
    for i, at in place.items():
        heights[at // columns] = max(heights[at // columns], needs[i])
    figure = layout.new_figure((width, max(least, sum(heights))))
    places = figure.add_gridspec(len(heights), columns, height_ratios=heights)
    return [figure.add_subplot(places[place[i] // columns, place[i] % columns]) for i in range(len(needs))]


def jitter(n: int, width: float) -> ndarray:
    """Uniform random numbers from -width to width, equal at each call."""
    return np.random.default_rng(0).uniform(-width, width, n)
