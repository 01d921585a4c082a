"""Figures of a report as SVG or PNG: the same bytes for the same fit, no setting of matplotlib changed."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from glmclf.plots import layout

SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "glmclf"}  # text stays text; the same names of parts each time
FONTS = ("font.family", "font.sans-serif", "font.serif", "font.monospace")  # the user's, which have their letters
DOTS_PER_INCH = 150  # an inch, of PNG
TAG = re.compile(r"<[^>]*>")
REFERENCE = re.compile(r"""(url\(#|href="#)([^)"]+)""")
IDENTITY = re.compile(r"""\s(?:id)="([^"]*)\"""")


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


@contextmanager
def drawing() -> Iterator[None]:
    """Draw within the block in matplotlib's own style, the user's fonts, and without pyplot."""
    with ExitStack() as stack:
        if can_draw():
            import matplotlib
            from matplotlib import style

            fonts = {name: value for name, value in matplotlib.rcParams.items() if name in FONTS}
            stack.enter_context(style.context("default"))
            own: Any = {**SETTINGS, **fonts}
            stack.enter_context(matplotlib.rc_context(own))
            stack.enter_context(layout.detached())
        yield


def svg(figure: Any, prefix: str) -> str:
    """Figure as an element of HTML, with a transparent ground; names of its parts begin with a prefix.

    Matplotlib's names repeat from figure to figure; its style sheet and metadata are for files of their own.
    """
    text = _saved(figure, "svg", transparent=True, metadata={"Date": None, "Creator": None}).decode("utf-8")
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<style[^>]*>.*?</style>", "", text, flags=re.DOTALL)
    used = {found[2] for tag in TAG.findall(text) for found in REFERENCE.finditer(tag)}

    def renamed(tag: re.Match[str]) -> str:
        said = REFERENCE.sub(lambda found: f"{found[1]}{prefix}-{found[2]}", tag[0])
        return IDENTITY.sub(lambda found: f' id="{prefix}-{found[1]}"' if found[1] in used else "", said)

    text = TAG.sub(renamed, text)
    return re.sub(r'\sxmlns(?::xlink)?="[^"]*"', "", text, count=2).strip()


def png(figure: Any) -> bytes:
    """Figure as a picture on white."""
    return _saved(figure, "png", dpi=DOTS_PER_INCH, facecolor="white", metadata={"Software": None})


def _saved(figure: Any, form: str, **options: Any) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)  # a reader's fonts have other letters
        figure.savefig(file, format=form, **options)
    return file.getvalue()
