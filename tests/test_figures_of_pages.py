"""Figures that the code of a page leaves, as the site shows them (docs/_ext/figure_of.py); where sphinx is there."""

import io
import re

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("myst_parser")

CONF = 'import sys\nsys.path.insert(0, {folder!r})\nextensions = ["myst_parser", "figure_of"]\nproject = "page"\n'
BLOCK = """
```pycon
>>> from matplotlib.figure import Figure
>>> fig = Figure(figsize=(3, 2))
>>> line, = fig.subplots().plot([0, 1], color="{colour}")
>>> 1 / 0
Traceback (most recent call last):
ZeroDivisionError: division by zero
>>> raise SystemError  # doctest: +SKIP

```
"""
FIGURE = '\n```{{figure-of}} {name}\n:alt: a line that rises, "so"\n\nIts *caption*.\n```\n'


@pytest.fixture
def build(repository, tmp_path):
    """A page of these lines as HTML, the pictures in it, and what sphinx says."""
    from sphinx.application import Sphinx

    def built(text):
        source, out = tmp_path / "source", tmp_path / "out"
        source.mkdir()
        (source / "conf.py").write_text(CONF.format(folder=str(repository / "docs" / "_ext")))
        (source / "index.md").write_text(f"# Page\n{text}")
        said = io.StringIO()
        app = Sphinx(str(source), str(source), str(out), str(tmp_path / "trees"), "html", status=None, warning=said)
        app.build()
        page = (out / "index.html").read_text(encoding="utf-8")
        pictures = [(out / path).read_text(encoding="utf-8") for path in re.findall(r'<img[^>]*src="([^"]+)"', page)]
        return page, pictures, said.getvalue()

    return built


def test_a_figure_is_shown_as_it_is_at_its_place(build):
    first, second = (BLOCK.format(colour=colour) + FIGURE.format(name="fig") for colour in ("#ff0001", "#ff0002"))
    page, pictures, said = build(first + second)
    assert not said and ["#ff0001" in one for one in pictures] == [True, False]
    assert "#ff0002" in pictures[1] and "#ffffff" not in pictures[1]  # no background
    assert page.count('alt="a line that rises, &quot;so&quot;"') == 2 and "Its <em>caption</em>." in page


def test_what_is_no_figure_is_refused(build):
    from sphinx.errors import ExtensionError

    with pytest.raises(ExtensionError, match="index, line .*, line: no Figure of matplotlib, but Line2D, after the"):
        build(BLOCK.format(colour="black") + FIGURE.format(name="line"))


def test_an_error_names_page_and_line_of_code(build):
    from sphinx.errors import ExtensionError

    with pytest.raises(ExtensionError, match="index: fig = nothing: NameError"):
        build("\n```pycon\n>>> fig = nothing\n\n```\n" + FIGURE.format(name="fig"))


def test_a_figure_without_words_is_refused(build):
    assert "figure-of needs :alt:" in build("\n```{figure-of} fig\n```\n")[2]
