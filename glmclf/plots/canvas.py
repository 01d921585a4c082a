"""What all plots share: axes, colours that the colour-blind tell apart, labels that fit."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe & Ito (2008), in an order in which neighbours differ in lightness as well
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#F0E442")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.", ":")
GREY, PALE = "0.45", "0.85"  # of lines of reference, and of grids
LONGEST = 28  # characters in a line of a label
ROW = 0.32  # inches of a line of a label


def axes(ax: Axes | None = None, size: tuple[float, float] = (6.4, 4.8)) -> Axes:
    """Axes to draw on: those given, or those of a new figure.

    Parameters
    ----------
    ax : Axes, optional
    size : (float, float)
        Width and height of a new figure, in inches.

    Raises
    ------
    ImportError
        matplotlib is not installed.
    TypeError
        `ax` is not matplotlib's Axes.
    """
    _check()
    from matplotlib.axes import Axes

    if ax is None:
        return panels(1, 1, size)[0]
    if not isinstance(ax, Axes):
        raise TypeError(f"ax={ax!r}: the Axes of a matplotlib figure, as plt.subplots() returns them")
    return ax


def panels(rows: int, columns: int, size: tuple[float, float]) -> list[Axes]:
    """Axes of a new figure of pyplot's, in reading order, laid out so that no labels overlap."""
    _check()
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=size, layout="constrained")
    return [figure.add_subplot(rows, columns, i + 1) for i in range(rows * columns)]


def _check() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'glmclf[plot]'") from None


def colour(i: int) -> str:
    """The i-th of the colours, again from the first after the last."""
    return COLOURS[i % len(COLOURS)]


def marker(i: int) -> str:
    """The i-th of the markers, so that classes differ in more than colour."""
    return MARKERS[i % len(MARKERS)]


def dashes(i: int) -> str:
    """The i-th of the line styles."""
    return DASHES[i % len(DASHES)]


def wrapped(label: Any, longest: int = LONGEST) -> str:
    """A label in lines that fit beside a plot, with what matplotlib would take for mathematics as plain text."""
    lines = textwrap.wrap(str(label), longest, break_on_hyphens=False) or [""]
    return "\n".join(lines).replace("$", r"\$")


def height(labels: Sequence[str], least: float = 2.0) -> float:
    """Inches that labels below each other need, with a title and an axis."""
    return max(least, 1.2 + ROW * sum(1 + 0.6 * label.count("\n") for label in labels))


def tidy(ax: Axes, grid: str | None = None) -> None:
    """Less ink: no frame above and to the right; a pale grid along `grid` ("x", "y", "both")."""
    ax.spines[["top", "right"]].set_visible(False)
    if grid:
        ax.grid(axis=grid, color=PALE, linewidth=0.8)  # type: ignore[arg-type]
        ax.set_axisbelow(True)
