"""Layout of plots: axes, colours that the colour-blind tell apart, labels that fit."""

from __future__ import annotations

import contextvars
import re
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from glmclf.errors import escaped
from glmclf.results.tables.numbers import with_minus

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe & Ito (2008) with a grey for their yellow, which is lost on white, then four of Tol's (2021) that protanopes and
# deuteranopes tell apart from these and from each other; neighbours differ in lightness as well
COLOURS = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#999999",
    "#661100", "#999933", "#332288", "#117733",
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.", ":")
KEPT = "\N{NO-BREAK SPACE}"
GREY, PALE = "0.45", "0.85"  # reference lines, grid lines
MAX_CHARACTERS = 28  # characters in a line of a label
LEGEND_CHARACTERS = 42  # characters in a line of a legend beside the plot
PANEL = 3.2  # width of each of several panels, in inches: three are as wide as a page, and letters are not shrunk
LINE_HEIGHT = 0.17  # distance of lines of text at the usual size, in inches
DODGE = 0.15  # distance of the marks of several series in a row, in inches
LETTER = 0.085  # width of an average letter, in inches
MIN_FONT_SIZE = 5.0  # points, of letters that can be read

_DETACHED = contextvars.ContextVar("detached", default=False)
_newest: weakref.ref[Figure] | None = None  # of the figures that pyplot keeps without a window


def axes(ax: Axes | None = None, size: tuple[float, float] = (6.4, 4.8)) -> Axes:
    """Axes to draw on: the Axes given, or the Axes of a new figure.

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
        `ax` is not matplotlib's Axes, or they are not plain ones: polar, geographic, of three dimensions.
    """
    _check()
    from matplotlib.axes import Axes

    if ax is None:
        return panels(1, 1, size)[0]
    if not isinstance(ax, Axes):
        raise TypeError(f"ax={ax!r}: the Axes of a matplotlib figure, as plt.subplots() returns them")
    if not {"left", "right", "top", "bottom"} <= set(ax.spines) or hasattr(ax, "get_zlim"):
        raise TypeError(f"ax= has {ax.name} axes: plots are drawn on plain ones, as plt.subplots() returns them")
    return ax


@contextmanager
def detached() -> Iterator[None]:
    """Make figures within the block without pyplot, so that its own stay as they are and no window opens."""
    token = _DETACHED.set(True)
    try:
        yield
    finally:
        _DETACHED.reset(token)


def new_figure(size: tuple[float, float]) -> Figure:
    """New figure, the current one of pyplot except in a notebook.

    A notebook shows every figure that pyplot keeps at the end of the cell, and the Figure returned beside it. Where
    there are no windows to close they would pile up: pyplot keeps the newest of ours there.
    """
    global _newest
    _check()
    import matplotlib
    from matplotlib.figure import Figure

    if _DETACHED.get():
        return Figure(figsize=size, layout="constrained")
    from matplotlib import pyplot
    from matplotlib.backends import BackendFilter, backend_registry

    figure = pyplot.figure(figsize=size, layout="constrained")
    backend = matplotlib.get_backend().lower()
    if "inline" in backend:
        pyplot.close(figure)
    elif backend in backend_registry.list_builtin(BackendFilter.NON_INTERACTIVE):
        if _newest is not None and (before := _newest()) is not None:
            pyplot.close(before)
        _newest = weakref.ref(figure)
    return figure


def panels(rows: int, columns: int, size: tuple[float, float], n: int | None = None) -> list[Axes]:
    """Axes of a new figure, in reading order, laid out so that no labels overlap."""
    figure = new_figure(size)
    engine: Any = figure.get_layout_engine()
    engine.set(w_pad=0.1, h_pad=0.12)  # one pass of the layout misses a little where axes have a fixed aspect
    return [figure.add_subplot(rows, columns, i + 1) for i in range(n or rows * columns)]


def several(ax: Any, n: int, size: tuple[float, float], columns: int | None = None) -> list[Axes]:
    """List of n Axes: the Axes given, in a list or array where there are several, or the Axes of a new figure.

    Parameters
    ----------
    ax : Axes or sequence of Axes, optional
    n : int
    size : (float, float)
        Width and height of a new figure, in inches.
    columns : int, optional
        Of a new figure; by default all panels are side by side.

    Raises
    ------
    TypeError, ValueError
        Something else than `n` Axes.
    """
    if ax is None:
        columns = columns or n
        return panels(-(-n // columns), columns, size, n)
    given = [one for part in ax for one in (part if np.ndim(part) else [part])] if np.ndim(ax) else [ax]
    found = [axes(one) for one in given]
    if len(found) != n:
        raise ValueError(f"ax= has {len(found)} Axes; this plot has {n} panel{'s' if n > 1 else ''}: give as many")
    return found


def _check() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'glmclf[plot]'") from None


def colour(i: int) -> str:
    """The i-th of the colours, again from the first after the last."""
    return COLOURS[i % len(COLOURS)]


def marker(i: int) -> str:
    """The i-th of the markers, so that classes differ in more than colour: no two of the first 96 share both."""
    return MARKERS[(i + i // len(COLOURS)) % len(MARKERS)]


def dashes(i: int) -> str:
    """The i-th of the line styles: no two of the first 48 share colour and style."""
    return DASHES[(i + i // len(COLOURS)) % len(DASHES)]


def wrapped(label: Any, longest: int = MAX_CHARACTERS) -> str:
    """Label broken into lines that fit beside a plot: dollar signs are no mathematics, control characters escaped.

    Lines end at spaces, words that are too long at a `_` or the like; ``n = 3``, ``p < 0.05``, ``95 %`` stay together.
    """
    parts = escaped(str(label), keep="\n\t").split("\n")
    return "\n".join(line for part in parts for line in _lines(part, longest)).replace("$", r"\$")


def _lines(text: str, longest: int) -> list[str]:
    rest = re.sub(r" (?=[=<>%])|(?<=[=<>]) ", KEPT, " ".join(text.split()))
    lines = []
    while len(rest) > longest:
        cut = rest.rfind(" ", 0, longest + 1)
        if cut < longest // 3:
            cut = max([rest.rfind(mark, 0, longest) for mark in "_:.]/)-" + KEPT]) + 1
            cut = cut if cut > longest // 3 else longest
        lines.append(rest[:cut].rstrip().replace(KEPT, " "))
        rest = rest[cut:].lstrip()
    return [*lines, rest.replace(KEPT, " ")]


def figure_of(ax: Axes) -> Figure:
    """Figure that contains Axes, also through sub-figures."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


def inches(ax: Axes) -> tuple[float, float]:
    """Width and height of Axes, before a layout moves them."""
    box = ax.get_position()
    width, tall = figure_of(ax).get_size_inches()
    return float(box.width * width), float(box.height * tall)


def small(ax: Axes, usual: float = 9.0) -> float:
    """Font size inside Axes in points: smaller than usual where the Axes are small."""
    across, tall = inches(ax)
    return float(np.clip(usual * min(across / 2.6, tall / 1.2), 4.5, usual))


def caption(ax: Axes, title: str = "", x: str = "", y: str = "", width: float | None = None) -> None:
    """Set the title and the names of the axes, in lines no longer than the axes (or `width` inches)."""
    across, tall = inches(ax)
    across = width or across
    for text, write, length, size in (
        (title, ax.set_title, across, small(ax, 10.5)),
        (x, ax.set_xlabel, across, small(ax, 10)),
        (y, ax.set_ylabel, tall, small(ax, 10)),
    ):
        if text:
            write(wrapped(text, max(12, int(length / (LETTER * size / 10)))), fontsize=size)


def legend(ax: Axes, own: bool, inside: str = "best", most: int = 6, width: float | None = None) -> None:
    """Draw the legend: inside if it has few lines or the Axes are a user's, else outside, in a figure that grows.

    Parameters
    ----------
    own : bool
        Whether the figure is ours.
    inside : str
        Where there is place.
    most : int
        Lines of text that have place there.
    width : float, optional
        Of the axes in inches, where it is known before a layout moves them.
    """
    handles, labels = ax.get_legend_handles_labels()
    if not handles:
        return
    size = small(ax)
    if own and sum(1 + wrapped(label).count("\n") for label in labels) > most:
        text, shrunk = _best_fit(labels, (LEGEND_CHARACTERS,), size, (np.inf, inches(ax)[1]))
        key_of(ax, handles, text, fontsize=shrunk, frameon=False, **_outside(ax, text, width))
        return
    across, tall = inches(ax)
    room = 0.75 * across, 0.75 * tall
    text, shrunk = _best_fit(labels, (MAX_CHARACTERS, LEGEND_CHARACTERS, 70, 18), size, room)
    short = shortened(labels)
    if shrunk < MIN_FONT_SIZE and len(set(short)) == len(labels):
        text, shrunk = _best_fit(short, (MAX_CHARACTERS,), size, room)
    found = key_of(ax, handles, text, fontsize=shrunk, loc=inside)
    found.get_frame().set(alpha=0.8, linewidth=0)
    found.set_in_layout(own)


def _outside(ax: Axes, labels: Sequence[str], width: float | None) -> dict[str, Any]:
    """Place of a legend in a figure of ours, which grows by it: below its only Axes if two rows do, else beside."""
    from matplotlib.transforms import ScaledTranslation

    figure, lines = figure_of(ax), "\n".join(labels).split("\n")
    across = (width or inches(ax)[0]) + 0.25  # the last column needs no space after it
    needs = [LETTER * small(ax) / 10 * len(line) + 0.6 for line in lines]
    columns = len(labels) if sum(needs) < across else int(across / max(needs))
    rows = -(-len(labels) // columns) if columns else len(labels)
    if len(figure.axes) == 1 and len(lines) == len(labels) and columns and rows <= 2:
        figure.set_figheight(figure.get_figheight() + 0.15 + 0.2 * rows)
        names = ScaledTranslation(0.0, -0.32 - 0.2 * (1 + ax.get_xlabel().count("\n")), figure.dpi_scale_trans)
        return {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "bbox_transform": ax.transAxes + names,
                "ncols": columns, "borderaxespad": 0.0}  # fmt: skip
    figure.set_figwidth(figure.get_figwidth() + 0.9 * LETTER * max(map(len, lines)) + 0.7)
    return {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)}


def named(words: Any) -> str:
    """Words as the label of an artist: legends leave out what begins with an underscore, hence the space."""
    text = str(words)
    return f" {text}" if text.startswith("_") else text


def key_of(place: Axes | Figure, handles: Sequence[Any], labels: Sequence[str], **options: Any) -> Any:
    """Draw matplotlib's legend with its labels unchanged."""
    found = place.legend(handles, [named(label) for label in labels], **options)
    for text, label in zip(found.get_texts(), labels):
        text.set_text(label)
    return found


def shortened(labels: Sequence[str], most: int = 20) -> list[str]:
    """Shorten first lines to at most `most` characters: their beginning, or from where equal beginnings differ.

    Examples
    --------
    >>> shortened(["a long name", "a long noun", "short"], 8)
    ['…g name', '…g noun', 'short']
    """
    parts = [label.partition("\n") for label in labels]
    names = [name for name, *_ in parts]
    cut = [name if len(name) <= most else name[: most - 1] + "…" for name in names]
    for word in {word for word in cut if cut.count(word) > 1}:
        alike = [i for i, other in enumerate(cut) if other == word]
        same = [len(set(letters)) == 1 for letters in zip(*(names[i] for i in alike))]
        start = max([*same, False].index(False) - 3, 0)
        for i in alike:
            rest = names[i][start:]
            cut[i] = f"…{rest}" if len(rest) < most else f"…{rest[: most - 2]}…"
    return [name + end + rest for name, (_, end, rest) in zip(cut, parts)]


def _best_fit(
    labels: Sequence[str], widths: Sequence[int], size: float, room: tuple[float, float]
) -> tuple[list[str], float]:
    """Wrap labels to the first of the widths that fits, and return them with the font size, at most the one given."""
    best: tuple[list[str], float] = ([], 0.0)
    for width in widths:
        text = [wrapped(label, width) for label in labels]
        lines = [line for label in text for line in label.split("\n")]
        needs = (max(map(len, lines)) + 5) * LETTER / 10, (len(lines) + 0.4 * len(text)) * LINE_HEIGHT / 10
        fits = min(size, room[0] / needs[0], room[1] / needs[1])
        if fits > best[1]:
            best = text, fits
    return best[0], max(3.0, best[1])


def stacked(labels: Sequence[str], series: int = 1) -> tuple[np.ndarray, float]:
    """Places of labels below each other, in inches from the top, and the inches that they need."""
    around = 0.13 if series == 1 else 0.25
    need = [max(LINE_HEIGHT * (1 + label.count("\n")), DODGE * series) + around for label in labels]
    ends = np.cumsum(need)
    return ends - np.array(need) / 2, float(ends[-1])


def row_labels(
    ax: Axes, labels: Sequence[str], places: np.ndarray, total: float, own: bool, shown: bool = True
) -> None:
    """Set labels along the y axis, the first at the top; on a user's Axes in letters small enough not to overlap."""
    ax.set_ylim(total, 0.0)
    ax.set_yticks(places, labels if shown else [""] * len(labels))
    shrunk = 1.0
    if not own:
        middles = (places[1:] + places[:-1]) / 2
        apart = np.diff(np.r_[0.0, middles, total]) * 0.75 * inches(ax)[1] / total  # a user's layout may need some
        shrunk = min(1.0, float(np.min(apart / [LINE_HEIGHT * (1 + label.count("\n")) for label in labels])))
    ax.tick_params(axis="y", length=0, labelsize=max(2.0, 10.0 * shrunk))


def log_axis(axis: Any, low: float, high: float) -> None:
    """Set ticks of a log axis as plain numbers: 1, 2 and 5 times powers of ten, fewer or more where these are."""
    from matplotlib import ticker

    decades = np.log10(high / low) if 0 < low < high < np.inf else 1.0
    subs = (1.0, 2.0, 5.0) if 3 * decades <= 0.7 * axis.get_tick_space() else (1.0,)
    axis.set_major_locator(_few(axis) if decades < 0.8 else ticker.LogLocator(subs=subs))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: with_minus(value)))
    axis.set_minor_locator(ticker.NullLocator())


def _few(axis: Any) -> Any:
    """Locator of a log axis that is too short for powers of ten and their multiples."""
    from matplotlib import ticker

    return ticker.MaxNLocator(nbins=int(np.clip(axis.get_tick_space() - 1, 2, 6)), steps=[1, 2, 5, 10])


def categories(ax: Axes, places: Any, names: Sequence[Any]) -> None:
    """Set names below places of the x axis, turned upright where they have no room side by side."""
    labels, size = [wrapped(name, 16) for name in names], small(ax, 10.0)
    widest = max((len(line) for label in labels for line in label.split("\n")), default=0)
    apart = inches(ax)[0] / max(len(places), 1)
    steep = widest * LETTER * size / 10 > apart
    if steep:
        longer = [wrapped(name) for name in names]
        fits = [10 * apart / LINE_HEIGHT / (1 + max(label.count("\n") for label in some)) for some in (labels, longer)]
        labels, fit = (longer, fits[1]) if fits[0] < min(MIN_FONT_SIZE, fits[1]) else (labels, fits[0])
        size = min(size, max(2.5, fit))
    ax.set_xticks(places, labels, rotation=90 if steep else 0, fontsize=size)


def small_ticks(ax: Axes) -> None:
    """Set small tick labels where the axes are small."""
    if small(ax, 10.0) < 10.0:
        ax.tick_params(labelsize=small(ax, 10.0))


def tidy(ax: Axes, grid: str | None = None) -> None:
    """Remove the frame above and to the right; draw a pale grid along `grid` ("x", "y", "both")."""
    small_ticks(ax)
    ax.spines[["top", "right"]].set_visible(False)
    if grid:
        ax.grid(axis=grid, color=PALE, linewidth=0.8)  # type: ignore[arg-type]
        ax.set_axisbelow(True)
