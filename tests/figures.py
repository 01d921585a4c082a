"""What tests ask of a figure: are its texts apart and inside, and what do its artists show."""

import itertools

import numpy as np


def ticks_in_view(ax):
    """Labels of the ticks of both axes that are seen."""
    for axis, labels in ((ax.xaxis, ax.get_xticklabels()), (ax.yaxis, ax.get_yticklabels())):
        low, high = sorted(axis.get_view_interval())
        places = axis.get_majorticklocs()
        yield from (t for t, place in zip(labels, places) if low <= place <= high)


def texts(fig):
    """All texts of a figure that are seen."""
    found = [fig._suptitle] if fig._suptitle is not None else []
    found += [text for legend in fig.legends for text in legend.get_texts()]
    for ax in fig.axes:
        for part in (ax, *ax.child_axes):
            legend = part.get_legend()
            found += [part.title, part.xaxis.label, part.yaxis.label, *part.texts, *ticks_in_view(part)]
            found += legend.get_texts() if legend else []
    return [t for t in found if t.get_visible() and t.get_text().strip()]


def crowded(fig, slack=1.0):
    """Pairs of texts that overlap by more than some pixels, and texts that leave the figure."""
    fig.draw_without_rendering()
    boxes = [(t.get_text(), t.get_window_extent()) for t in texts(fig)]
    width, height = fig.bbox.width, fig.bbox.height
    wrong = [(t,) for t, b in boxes if b.x0 < -slack or b.y0 < -slack or b.x1 > width + slack or b.y1 > height + slack]
    for (one, a), (other, b) in itertools.combinations(boxes, 2):
        across, up = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        if across > slack and up > slack:
            wrong.append((one, other))
    return wrong


def points(ax, marker=None):
    """Marks that are drawn without a line, (n, 2)."""
    lines = [line for line in ax.get_lines() if line.get_linestyle() == "None" and line.get_marker() != "None"]
    return np.concatenate([line.get_xydata() for line in lines if marker in (None, line.get_marker())])


def segments(ax):
    """Intervals that are drawn, (n, 2, 2)."""
    return np.concatenate([np.array(c.get_segments()) for c in ax.collections if hasattr(c, "get_segments")])


def words(fig):
    """Texts as they are read, without the escapes of matplotlib."""
    return [t.get_text().replace(r"\$", "$") for t in texts(fig)]
