"""Renderers of all printed tables: text, LaTeX, HTML, CSV, Markdown, Typst.

`Summary` and `Table` are statsmodels' `Summary` and `SimpleTable` with the renderers of this module: aligned for any
script, escaped for each format, and linear in the number of parameters. Importing this module does not import
statsmodels; the two classes are made when first asked for.
"""

from __future__ import annotations

import csv
import html
import io
import re
import textwrap
import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from glmclf.checks import true_or_false
from glmclf.errors import escaped

RULE_WIDTH = 78
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # of what spreadsheets evaluate
SHOWN_NUMBER = r"[-+]?((\d[\d,]*\.?\d*|\.\d+)(e[-+]?\d+)?|inf|nan)"
PLAIN_NUMBER = re.compile(rf"({SHOWN_NUMBER}|[-+])?\s*[*%]*( \({SHOWN_NUMBER}\))?", re.I)  # a lone sign, too
# what Markdown may read as a mark; not _ within a word, * and ~ between spaces, and < that opens no tag
MARKDOWN_MARK = re.compile(r"(?<=[^\W_])_+(?=[^\W_])|(?<= )[*~]+(?= )|<(?![A-Za-z/!?])|([\\`*_{}<|~$^@])")
LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "#": r"\#",
    "$": r"\$",
    "%": r"\%",
    "&": r"\&",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
}


def width(text: str) -> int:
    """Columns that a text takes in a terminal: two for East Asian wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    shown = (c for c in text if not unicodedata.combining(c) and unicodedata.category(c) != "Cf")
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in shown)


def plain(text: Any) -> str:
    """Text on one line: control characters, which would break any table or command a terminal, are escaped."""
    return escaped(str(text), keep="")


def in_csv(text: str) -> str:
    """Text as a cell of CSV, with a quote before what a spreadsheet would read as a formula, which no number is."""
    return f"'{text}" if text.startswith(FORMULA) and not PLAIN_NUMBER.fullmatch(text) else text


def latex(text: str) -> str:
    """Text with LaTeX's special characters escaped, and its ligatures of punctuation kept apart."""
    text = "".join(LATEX.get(c, c) for c in text)
    text = re.sub(r"([-`',])(?=\1)", r"\1{}", text)
    return re.sub(r"[<>|]+", lambda m: f"${m[0]}$", text)


def markdown(text: str) -> str:
    """Text without markup in the Markdown of GitHub, Pandoc, Quarto and knitr: no tags, links, entities, shortcodes."""
    text = MARKDOWN_MARK.sub(lambda m: f"\\{m[1]}" if m[1] else m[0], text)
    text = re.sub(r"&(?=#?\w+;)", r"\\&", text)
    text = re.sub(r"\\`(?=r[ #])", "&#96;", text)  # knitr runs `r code` whatever is before the backtick
    # a closed bracket may refer to a heading; intervals and patsy's [T.level] do not, and read better as they are
    return re.sub(r"(\[(?:T\.|[-+\d])[^\[\]]*\](?![\[(:]))|\]", lambda m: m[1] or r"\]", text) if "[" in text else text


def typst(text: str) -> str:
    """Text as a Typst string, which Typst shows without reading markup in it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class _Cell(NamedTuple):
    """Cell of a table: whether it is a label, its text, and the number of columns it spans."""

    label: bool
    text: str
    span: int = 1


class _Line(NamedTuple):
    """Row of a table: whether it heads columns, its cells, and whether a rule is above it."""

    header: bool
    cells: list[_Cell]
    ruled: bool = False

    def places(self) -> list[tuple[int, int, str]]:
        """First and last column, from 1, and text of each cell that takes several columns."""
        ends = np.cumsum([cell.span for cell in self.cells]).tolist()
        return [(end - c.span + 1, end, c.text) for c, end in zip(self.cells, ends, strict=True) if c.span > 1]

    def spread(self, again: bool) -> list[str]:
        """Text of each column; a cell that spans several has its text in each of them, or in the first only."""
        return [c.text if again or not i else "" for c in self.cells for i in range(c.span)]

    def labels(self) -> list[bool]:
        """Whether each column holds labels."""
        return [c.label for c in self.cells for _ in range(c.span)]


class TableFormats:
    """Renderers of a table whose first columns or rows may be labels.

    `widths` are the least widths of the columns in text. In a `wrapped` table the last column is running text: to the
    left, broken into lines. `spans` has, by row, how many columns each of its cells takes (those that a cell covers are
    empty); a header with spans heads groups of columns. `rules` are rows with a rule above them. `align` is where
    numbers stand ("r", "c") in formats that align them.
    """

    title: str | None
    widths: tuple[int, ...] = ()
    wrapped = False
    spans: dict[int, tuple[int, ...]] = {}
    rules: tuple[int, ...] = ()
    align = "r"

    def _lines(self, stripped: bool = True) -> list[_Line]:
        """The rows of the table."""
        lines = []
        for i, row in enumerate(self):  # type: ignore[var-annotated, arg-type]
            cells = []
            for cell in row:
                text = plain(cell.data)
                cells.append(_Cell(cell.datatype in ("stub", "header", "empty"), text.strip() if stripped else text))
            if i in self.spans:
                starts = np.cumsum([0, *self.spans[i][:-1]])
                cells = [cells[start]._replace(span=n) for start, n in zip(starts, self.spans[i], strict=True)]
            lines.append(_Line(row.datatype == "header", cells, i in self.rules))
        return lines

    def _left(self, header: bool, label: bool) -> bool:
        return self.wrapped or (label and not header)

    def _groups(self, i: int, line: _Line) -> bool:
        """Whether a row heads groups of columns, above the row that heads the columns."""
        return line.header and i in self.spans

    # ------------------------------------------------------------------------------------------------------- text
    def as_text(self, least: int = 0, **_: Any) -> str:
        """The table as aligned text between two rules, which are `least` characters long or longer."""
        lines = self._lines(stripped=False)
        if self.wrapped:
            lines = [part for line in lines for part in _wrap(line, self.widths[-1])]
        widths = self._text_widths(lines)
        blocks = self._blocks(lines, widths) if self.align == "c" else widths
        total = max(sum(widths) + len(widths) - 1, least)
        out = [_center(plain(self.title), total)] if self.title else []
        out.append("=" * total)
        for i, line in enumerate(lines):
            if line.ruled:
                out.append("-" * total)
            text = self._text_line(line, widths, blocks, i in self.spans or line.header)
            out.append(text.rstrip() if self.wrapped or self.align == "c" else text)
            if self._groups(i, line):
                out += _under(line, widths)
            elif line.header:
                out.append("-" * total)
        out.append("=" * total)
        return "\n".join(out)

    def _text_widths(self, lines: list[_Line]) -> list[int]:
        """Widths of the columns; a cell that spans several widens them where they are too narrow for it."""
        n = len(lines[0].labels()) if lines else 0
        widths = [*self.widths, *[0] * (n - len(self.widths))]
        wide = []
        for line in lines:
            at = 0
            for cell in line.cells:
                if cell.span == 1:
                    widths[at] = max(widths[at], width(cell.text))
                else:
                    wide.append((at, at + cell.span, width(cell.text)))
                at += cell.span
        for start, end, size in wide:
            missing = max(0, size - (end - start - 1) - sum(widths[start:end]))
            for i in range(start, end):
                widths[i] += -(-missing // (end - start))
        return widths

    def _blocks(self, lines: list[_Line], widths: list[int]) -> list[int]:
        """Widths of the block of numbers in each column, right-aligned within the block and centred as a whole."""
        texts = [line.spread(again=False) for i, line in enumerate(lines) if not line.header and i not in self.spans]
        most = [max(map(width, column), default=0) for column in zip(*texts, strict=True)]
        return [size - (size - used) // 2 for size, used in zip(widths, most, strict=False)] or widths

    def _text_line(self, line: _Line, widths: list[int], blocks: list[int], middle: bool) -> str:
        """Line of text; cells that are centred over columns are centred over the block of numbers."""
        out, at = [], 0
        for cell in line.cells:
            size = sum(widths[at : at + cell.span]) + cell.span - 1
            left = self._left(line.header, cell.label)
            if cell.span > 1 or (middle and self.align == "c" and not left):
                out.append(_center(cell.text.strip(), size))
            else:
                out.append(_pad(cell.text if left else _pad(cell.text, blocks[at], False), size, True))
            at += cell.span
        return " ".join(out)

    # ------------------------------------------------------------------------------------------------------- HTML
    def as_html(self, **_: Any) -> str:
        """The table as an HTML element."""
        out = ['<table class="simpletable">']
        if self.title:
            out.append(f"<caption>{html.escape(plain(self.title), quote=False)}</caption>")
        for line in self._lines():
            style = ' style="border-top: 1px solid"' if line.ruled else ""
            cells = (_html_cell(cell, line.header) for cell in line.cells)
            out.append(f"<tr{style}>\n  {' '.join(cells)}\n</tr>")
        return "\n".join([*out, "</table>"])

    # ------------------------------------------------------------------------------------------------------ LaTeX
    @true_or_false
    def as_latex_tabular(self, center: bool = True, **_: Any) -> str:
        """The table as a LaTeX tabular environment (package booktabs)."""
        lines = self._lines()
        columns = "".join("l" if label else self.align for label in lines[-1].labels())
        columns = r"lp{0.7\textwidth}" if self.wrapped else columns
        out = [rf"\textbf{{{latex(plain(self.title))}}}\par\medskip"] if self.title else []
        out += [rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
        for i, line in enumerate(lines):
            if line.ruled:
                out.append(r"\midrule")
            out.append(" & ".join(map(_latex_cell, line.cells)) + r" \\")
            if self._groups(i, line):
                out += [rf"\cmidrule(lr){{{first}-{last}}}" for first, last, text in line.places() if text]
            elif line.header:
                out.append(r"\midrule")
        out += [r"\bottomrule", r"\end{tabular}"]
        return "\n".join([r"\begin{center}", *out, r"\end{center}"] if center else out)

    # ------------------------------------------------------------------------------------------------------ Typst
    def as_typst(self) -> str:
        """The table as Typst's function of that name."""
        lines = self._lines()
        columns = ", ".join("left" if label else _TYPST[self.align] for label in lines[-1].labels())
        columns = "left, left" if self.wrapped else columns
        out = [f"#table(\n  columns: {len(lines[-1].labels())},\n  align: ({columns}),"]
        out += ["  stroke: none,\n  table.hline(),"]
        for i, line in enumerate(lines):
            if line.ruled:
                out.append("  table.hline(stroke: 0.5pt),")
            out.append(f"  {', '.join(map(_typst_cell, line.cells))},")
            if self._groups(i, line):
                ends = (f"start: {first - 1}, end: {last}" for first, last, text in line.places() if text)
                out += [f"  table.hline({end}, stroke: 0.5pt)," for end in ends]
            elif line.header:
                out.append("  table.hline(stroke: 0.5pt),")
        table = "\n".join([*out, "  table.hline(),", ")"])
        return f"#align(center, strong({typst(plain(self.title))}))\n{table}" if self.title else table

    # ---------------------------------------------------------------------------------------------- CSV, Markdown
    def as_csv(self, **_: Any) -> str:
        """The table as comma-separated values, quoted where a text holds a comma; no cell is a formula."""
        rows = [line.spread(again=line.header) for line in self._lines()]
        return _csv([[plain(self.title)], *rows] if self.title else rows)

    def as_markdown(self) -> str:
        """The table as a GitHub pipe table."""
        lines = self._lines()
        rule = " | ".join(":---" if self._left(False, x) else _MARKDOWN[self.align] for x in lines[-1].labels())
        above = [line.spread(again=True) for i, line in enumerate(lines) if self._groups(i, line)]
        rows = [line.spread(again=line.header) for i, line in enumerate(lines) if not self._groups(i, line)]
        if above:
            rows[0] = [": ".join(filter(None, texts)) for texts in zip(*above, rows[0], strict=True)]
        body = [" | ".join(map(markdown, row)) for row in rows]
        if not lines[0].header:
            body.insert(0, " | ".join(" " for _ in rows[0]))
        body.insert(1, rule)
        table = "\n".join(f"| {row} |" for row in body)
        return f"**{markdown(plain(self.title))}**\n\n{table}" if self.title else table


_TYPST = {"r": "right", "c": "center"}
_MARKDOWN = {"r": "---:", "c": ":---:"}


def _under(line: _Line, widths: list[int]) -> list[str]:
    """Rules under the headings of groups of columns; none where each is of one column."""
    if not line.places():
        return []
    out, at = [], 0
    for cell in line.cells:
        size = sum(widths[at : at + cell.span]) + cell.span - 1
        out.append(("-" if cell.text and cell.span > 1 else " ") * size)
        at += cell.span
    return [" ".join(out).rstrip()]


def _html_cell(cell: _Cell, header: bool) -> str:
    if header and not cell.text and cell.span == 1:
        return "<td></td>"
    tag, span = "th" if cell.label else "td", f' colspan="{cell.span}"' if cell.span > 1 else ""
    style = ' style="text-align: center"' if cell.span > 1 else ""
    return f"<{tag}{span}{style}>{html.escape(cell.text, quote=False)}</{tag}>"


def _latex_cell(cell: _Cell) -> str:
    text = rf"\textbf{{{latex(cell.text)}}}" if cell.label and cell.text else latex(cell.text)
    return rf"\multicolumn{{{cell.span}}}{{c}}{{{text}}}" if cell.span > 1 else text


def _typst_cell(cell: _Cell) -> str:
    text = f"strong({typst(cell.text)})" if cell.label and cell.text else typst(cell.text)
    return f"table.cell(colspan: {cell.span}, align: center, {text})" if cell.span > 1 else text


class SummaryFormats:
    """Renderers of a summary: its tables, then its notes."""

    tables: list[Any]
    extra_txt: str | None

    def _notes(self) -> list[str]:
        return [plain(line) for line in self.extra_txt.split("\n")] if self.extra_txt else []

    def as_text(self) -> str:
        """The summary as text.

        Returns
        -------
        str
            Aligned in a fixed-width font.
        """
        lines: list[str] = []
        parts = [table.as_text().splitlines() for table in self.tables]
        longest = max((len(part[-1]) for part in parts), default=0)  # the rules of a summary are of one length
        for table, part in zip(self.tables, parts, strict=True):
            part = part if len(part[-1]) == longest else table.as_text(longest).splitlines()
            if lines and set(part[0]) == {"="}:
                lines.pop()  # neighbouring tables share a rule
            lines += part
        text = "\n".join(lines)
        notes = "\n".join(textwrap.fill(line, RULE_WIDTH, subsequent_indent="    ") for line in self._notes())
        return f"{text}\n\n{notes}" if notes else text

    def as_latex(self) -> str:
        """The summary as LaTeX.

        Returns
        -------
        str
            Tabular environments (package booktabs) in one centred block, then the notes.
        """
        parts = "\n\n\\medskip\n".join(table.as_latex_tabular(center=False) for table in self.tables)
        notes = " \\newline\n ".join(latex(line) for line in self._notes())
        text = f"\\begin{{center}}\n{parts}\n\\end{{center}}"
        return f"{text}\n\n{notes}" if notes else text

    def as_html(self) -> str:
        """The summary as HTML.

        Returns
        -------
        str
            Table elements, then the notes.
        """
        text = "\n".join(table.as_html() for table in self.tables)
        notes = "<br/>".join(html.escape(line, quote=False) for line in self._notes())
        return f"{text}<br/><br/>{notes}" if notes else text

    def as_csv(self) -> str:
        """The summary as comma-separated values.

        Returns
        -------
        str
            The numbers as printed; texts with commas are quoted, those like formulas of spreadsheets have a quote
            before them.
        """
        text = "\n".join(table.as_csv() for table in self.tables)
        notes = _csv([[line] for line in self._notes()])
        return f"{text}\n\n{notes}" if notes else text

    def as_markdown(self) -> str:
        """The summary as GitHub Markdown.

        Returns
        -------
        str
            Pipe tables, then the notes.
        """
        tables = [table.as_markdown() for table in self.tables]
        notes = "  \n".join(markdown(line) for line in self._notes())
        return "\n\n".join([*tables, notes] if notes else tables)

    def as_typst(self) -> str:
        """The summary as Typst markup.

        Returns
        -------
        str
            Tables in one centred block, then the notes.
        """
        parts = "\n\n".join(table.as_typst() for table in self.tables)
        notes = " \\\n".join(f"#{typst(line)}" for line in self._notes())
        text = f"#align(center)[\n{parts}\n]"
        return f"{text}\n\n{notes}" if notes else text


def _pad(text: str, size: int, left: bool) -> str:
    space = " " * (size - width(text))
    return text + space if left else space + text


def _center(text: str, size: int) -> str:
    """Centre text like str.center, by its width in a terminal."""
    return text.center(size + len(text) - width(text))


def _wrap(row: _Line, size: int) -> list[_Line]:
    """Split a row of a label and a long text into a row for each line of the text."""
    label, text = (cell.text for cell in row.cells)
    lines = textwrap.wrap(text, size, break_long_words=False, break_on_hyphens=False) or [""]
    return [_Line(row.header, [_Cell(True, "" if i else label), _Cell(False, line)]) for i, line in enumerate(lines)]


def _csv(rows: list[list[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([[in_csv(cell) for cell in row] for row in rows])
    return out.getvalue().rstrip("\n")


@cache
def table_classes() -> dict[str, type]:
    """Create `Summary` and `Table` as subclasses of statsmodels' classes, for isinstance checks elsewhere."""
    from statsmodels.iolib.summary import Summary
    from statsmodels.iolib.table import SimpleTable

    about = "statsmodels' {} with the renderers of this module."
    return {
        name: type(name, (formats, base), {"__module__": __name__, "__doc__": about.format(base.__name__)})
        for name, formats, base in (("Summary", SummaryFormats, Summary), ("Table", TableFormats, SimpleTable))
    }


if TYPE_CHECKING:

    class Summary(SummaryFormats):
        """Class `Summary` as type checkers see it."""


def __getattr__(name: str) -> Any:
    """`Summary` and `Table` by name, for pickle and isinstance."""
    if name in ("Summary", "Table"):
        return table_classes()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
