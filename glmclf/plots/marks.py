"""Marks that several plots share: points of classes, labels of single points, names that no mathematics is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from glmclf.plots import canvas, subjects

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AROUND = [(4, 4), (4, -11), (-4, 4), (-4, -11), (4, 14), (4, -21), (-4, 14), (-4, -21), (14, -4), (-14, -4)]


def look(i: int) -> dict[str, Any]:
    """Colour and marker of a class: no two of the first 64 have both in common."""
    turn = i // len(canvas.COLOURS)
    return {"color": canvas.colour(i), "marker": canvas.marker(i + turn)}


def line(i: int) -> dict[str, Any]:
    """Colour and dashes of a class."""
    return {"color": canvas.colour(i), "linestyle": canvas.dashes(i + i // len(canvas.COLOURS))}


def name(level: Any) -> str:
    """A level as a label."""
    return canvas.wrapped(subjects.plain(level))


def points(
    ax: Axes, x: ndarray, y: ndarray, places: ndarray | None, levels: Sequence[Any], size: float | ndarray = 16.0
) -> None:
    """Rows as points, in the colours and markers of their classes; without classes grey.

    Parameters
    ----------
    places : (n,) integer ndarray or None
        Place of each row's class among the levels.
    size : float or (n,) ndarray
        Area in points squared.
    """
    alpha = 0.8 if len(x) < 500 else 0.5 if len(x) < 5000 else 0.2
    sizes = np.broadcast_to(np.asarray(size, dtype=float), x.shape)
    common = {"linewidths": 0.4, "edgecolors": "white", "alpha": alpha, "zorder": 2.5}
    if places is None:
        ax.scatter(x, y, s=sizes, color=canvas.GREY, label=f"rows ({len(x):,})", **common)  # type: ignore[arg-type]
        return
    for k, level in enumerate(levels):
        own = places == k
        ax.scatter(x[own], y[own], s=sizes[own], label=name(level), **look(k), **common)  # type: ignore[arg-type]


def label_points(ax: Axes, x: ndarray, y: ndarray, labels: Sequence[Any], radius: ndarray) -> None:
    """Labels beside points of a radius in points, where they neither cover each other nor leave the axes, if there is
    such a place."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()  # the layout is settled
    taken: list[Any] = []
    size = canvas.small(ax, 8.0)
    for a, b, label, r in zip(x, y, labels, 0.7 * radius - 2):
        text = ax.annotate(canvas.wrapped(label), (a, b), xytext=AROUND[0], textcoords="offset points", fontsize=size)
        text.set_in_layout(False)
        places = [(a + np.sign(a) * max(r, 0), b + np.sign(b) * max(r, 0)) for a, b in AROUND]
        covered = [_covered(text, place, taken, ax) for place in places]
        taken.append(_at(text, places[int(np.argmin(covered))]))


def _at(text: Any, shift: tuple[float, float]) -> Any:
    """The box of a label that is moved."""
    text.set(position=shift, ha="left" if shift[0] > 0 else "right", va="bottom")
    return text.get_window_extent()


def _covered(text: Any, shift: tuple[float, float], taken: list[Any], ax: Axes) -> int:
    """How many labels a place covers; twice as bad, whether it leaves the axes."""
    box, frame = _at(text, shift), ax.get_window_extent()
    outside = box.x0 < frame.x0 or box.x1 > frame.x1 or box.y0 < frame.y0 or box.y1 > frame.y1
    return sum(bool(box.overlaps(other)) for other in taken) + 2 * outside


def key(ax: Axes, own: bool, inside: str = "best", title: str | None = None) -> None:
    """A legend in which no mark is faint or larger than usual."""
    canvas.legend(ax, own, inside, title=title)
    found = ax.get_legend()
    for handle in [] if found is None else found.legend_handles:
        if handle is not None and hasattr(handle, "set_sizes"):
            handle.set_sizes([24.0])
        if handle is not None:
            handle.set_alpha(1.0)


def jitter(n: int, width: float) -> ndarray:
    """The same numbers each time, uniform on -width to width."""
    return np.random.default_rng(0).uniform(-width, width, n)
