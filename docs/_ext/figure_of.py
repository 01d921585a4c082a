"""Figures of a page, drawn when the site is built by the examples that stand above them.

    ```{figure-of} fig
    :alt: what is seen, for those who do not see it

    A caption, if there is something to say.
    ```

shows the matplotlib Figure that the variable `fig` holds after the ``>>>`` blocks above it, so that the code of a
figure is on the page once, and tested with the page. They are SVG without a background, for a light page; site.css
turns them over on a dark one. The module is a scraper of sphinx-gallery, too, which draws its examples alike.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import matplotlib
from docutils import nodes
from docutils.parsers.rst import directives
from matplotlib.figure import Figure
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective

STYLE = {"svg.fonttype": "path", "savefig.transparent": True}
WIDE = 6.8  # inches: a wider figure is not shrunk to the width of a phone but scrolls


class FigureOf(SphinxDirective):
    """Place of a figure: the name of its variable, `alt` in words, a caption."""

    required_arguments = 1
    has_content = True
    option_spec = {"alt": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Return a figure whose file `Draw` makes."""
        if not self.options.get("alt"):
            raise self.error("figure-of needs :alt:, what the figure shows in words")
        image = nodes.image(alt=" ".join(self.options["alt"].split()), uri="", variable=self.arguments[0])
        figure = nodes.figure("", image, classes=["drawn"])
        for one in (image, figure):
            self.set_source_info(one)
        if self.content:
            words, _ = self.parse_inline(" ".join(self.content))
            figure += nodes.caption("", "", *words)
        return [figure]


class Draw(SphinxTransform):
    """Run the blocks of a page up to its last figure, and write each figure as it is where its place comes."""

    default_priority = 200

    def apply(self, **kwargs: Any) -> None:
        """Run blocks and write figures, in the order of the page."""
        left = sum("variable" in image for image in self.document.findall(nodes.image))
        if not left:
            return
        page, names, drawn = self.env.docname, {"__name__": "__main__"}, 0
        folder = Path(self.env.doctreedir) / "figures"
        folder.mkdir(parents=True, exist_ok=True)
        with as_a_test_runs(page):
            for node in self.document.findall(lambda one: isinstance(one, nodes.literal_block | nodes.image)):
                if isinstance(node, nodes.literal_block):
                    run(node.astext(), names, page)
                elif "variable" in node:
                    drawn += 1
                    file = folder / f"{page.replace('/', '-')}-{drawn}.svg"
                    write(names.get(node["variable"]), file, f"{page}, line {node.line}, {node['variable']}")
                    if names[node["variable"]].get_figwidth() > WIDE:
                        node.parent["classes"].append("wide")
                    node["uri"] = os.path.relpath(file, Path(self.env.doc2path(page)).parent)
                    if drawn == left:
                        return


@contextlib.contextmanager
def as_a_test_runs(page: str):
    """Quiet, in an empty folder, with matplotlib's own settings but for the file's."""
    from matplotlib import pyplot

    with (
        contextlib.ExitStack() as stack,
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        contextlib.redirect_stdout(io.StringIO()),
        warnings.catch_warnings(),
        matplotlib.rc_context(),
    ):
        stack.callback(pyplot.close, "all")
        warnings.simplefilter("ignore")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE | {"svg.hashsalt": page})
        yield


def run(text: str, names: dict[str, Any], page: str) -> None:
    """Run the examples of a block; what they should print, pytest looks at."""
    for example in doctest.DocTestParser().get_examples(text):
        if example.options.get(doctest.SKIP):
            continue
        try:
            exec(compile(example.source, f"<{page}>", "exec"), names)
        except Exception as error:
            if example.exc_msg is None:
                raise ExtensionError(f"{page}: {example.source.strip()}: {type(error).__name__}: {error}") from error


def write(figure: Any, file: Path, where: str) -> None:
    """Write a Figure as SVG."""
    if not isinstance(figure, Figure):
        raise ExtensionError(f"{where}: no Figure of matplotlib, but {type(figure).__name__}, after the blocks above")
    figure.savefig(file, format="svg", metadata={"Date": None})


def _get_sg_image_scraper():
    """What sphinx-gallery asks a module for that it is told to take figures with."""
    return scraper


def scraper(*args: Any, **kwargs: Any) -> str:
    """Figures of an example, as SVG."""
    from sphinx_gallery.scrapers import matplotlib_scraper

    with matplotlib.rc_context(STYLE):
        return matplotlib_scraper(*args, format="svg", **kwargs)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive and what draws."""
    matplotlib.use("Agg")
    app.add_directive("figure-of", FigureOf)
    app.add_transform(Draw)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
