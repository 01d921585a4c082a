"""What the pages need to read well without a network: formulas as MathML, example blocks without doctest's marks."""

from __future__ import annotations

import re

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx

NAME = r"(<mi>(?:log|exp|det|max|min|Pr)</mi>)"
SPACE = '<mspace width="0.167em"/>'


def mathml(latex: str, display: str = "inline") -> str:
    """MathML of a formula, with a thin space on either side of a function's name where no operator gives one."""
    out = convert(latex, display=display)
    out = re.sub(rf"(?<=</mi>|</mn>){NAME}|(?<=</msub>|</msup>){NAME}|(?<=</mrow>){NAME}", rf"{SPACE}\g<0>", out)
    return re.sub(rf"{NAME}(?=<m(?!o|space))", rf"\1{SPACE}", out)


def inline(translator, node: nodes.math) -> None:
    """A formula in a line of text."""
    translator.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def display(translator, node: nodes.math_block) -> None:
    """A formula on lines of its own; it scrolls where the page is narrower."""
    translator.body.append(f'<div class="formula">{mathml(node.astext(), "block")}</div>\n')
    raise nodes.SkipNode


def tidy(app: Sphinx, tree: nodes.document) -> None:
    """Leave out of blocks of code what only the tests read: the blank line at the end and <BLANKLINE>."""
    for block in tree.findall(nodes.literal_block):
        text = block.astext().rstrip().replace("<BLANKLINE>", "")
        block.rawsource = text
        block.children = [nodes.Text(text)]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register both."""
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    app.connect("doctree-read", tidy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
