"""Reports as Markdown with pictures beside it, for Quarto, Pandoc and whoever writes on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from glmclf.reports import figures
from glmclf.reports.blocks import Block, Bullets, Drawing, Listing, Paragraph, Section, Subheading, Tables, Verbatim
from glmclf.results.tables.render import markdown, plain


def markdown_text(title: str, moment: str, sections: Sequence[Section], folder: str) -> tuple[str, dict[str, bytes]]:
    """The text, and the pictures by name that it expects in a folder beside it.

    Parameters
    ----------
    title, moment : str
    sections : list of Section
    folder : str
        Name of the folder.
    """
    pictures: dict[str, bytes] = {}
    front = [f"title: {json.dumps(_heading(title), ensure_ascii=False)}", *([f'date: "{moment}"'] if moment else [])]
    parts = ["---\n" + "\n".join(front) + "\n---"]
    for section in sections:
        parts.append(f"## {_heading(section.title)} {{#{section.name}}}")
        parts += [part for block in section.blocks for part in _block(block, folder, pictures)]
    return "\n\n".join(parts) + "\n", pictures


def _text(text: str) -> str:
    return markdown(plain(text))


def _opening(text: str) -> str:
    """Markdown that opens a block, which is no list, quotation, heading or div for its first characters."""
    return re.sub(r"^\s*(\(?\w+(?=[.)]\s))?(?=[-+#>:%.)])", r"\1\\", text)


def _heading(text: str) -> str:
    """Text of a heading or title; marks at its end are a part of it."""
    return re.sub(r"(?<!\\)#$", r"\\#", _opening(_text(text)))


def _alt(text: str) -> str:
    """Text between the brackets of a picture."""
    return "".join(f"\\{part}" if part in ("[", "]") else markdown(part) for part in re.split(r"([][])", plain(text)))


def _code(text: str) -> str:
    """Text as spans of code; a shortcode, which Quarto expands in code, too, and `r code` within are in two pieces."""
    parts = re.split(r"(?<=\{)(?=\{)|(?<=`)(?=r[ #]|\{)", plain(text))
    return "<!-- -->".join(_span(part) for part in parts)


def _span(text: str) -> str:
    """Text between more backticks than it has in a row, and a space where `r code` or `{r} code` would run."""
    longest = max((len(run) for run in "".join(c if c == "`" else " " for c in text).split()), default=0)
    marks = "`" * (longest + 1)
    pad = " " if longest or not text.strip() or re.match(r"r[ #]|\{\w", text) else ""
    return f"{marks}{pad}{text}{pad}{marks}"


def _block(block: Block, folder: str, pictures: dict[str, bytes]) -> Iterator[str]:
    match block:
        case Paragraph(words, aside):
            inner = "".join(_code(w.text) if isinstance(w, Verbatim) else _text(w) for w in words).strip()
            inner = _opening(inner)
            yield f"> {inner}" if aside else inner
        case Bullets(items):
            yield "\n".join(f"- {_opening(_text(item))}" for item in items)
        case Subheading(text):
            yield f"### {_heading(text)}"
        case Listing(text):
            yield f"```\n{text}\n```"
        case Tables(tables, summary):
            yield from ([f"### {_heading(summary)}"] if summary else [])
            yield from (table.as_markdown() for table in tables)
        case Drawing(name, figure, caption, beside):
            pictures[f"{name}.png"] = figures.png(figure)
            yield f"![{_alt(caption)}]({folder}/{name}.png)"
            yield from (table.as_markdown() for table in beside)
