"""Reports as Markdown with pictures beside it, for Quarto, Pandoc and whoever writes on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from glmclf.reports import figures
from glmclf.reports.blocks import (
    Block,
    Bullets,
    Drawing,
    Listing,
    Paragraph,
    Section,
    Subheading,
    Tables,
    Verbatim,
)
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
    front = [f"title: {json.dumps(plain(title), ensure_ascii=False)}", *([f'date: "{moment}"'] if moment else [])]
    parts = ["---\n" + "\n".join(front) + "\n---"]
    for section in sections:
        parts.append(f"## {_text(section.title)} {{#{section.name}}}")
        parts += [part for block in section.blocks for part in _block(block, folder, pictures)]
    return "\n\n".join(parts) + "\n", pictures


def _text(text: str) -> str:
    return markdown(plain(text))


def _code(text: str) -> str:
    """Text as a span of code, between more backticks than it has in a row."""
    text = plain(text)
    longest = max((len(run) for run in "".join(c if c == "`" else " " for c in text).split()), default=0)
    marks = "`" * (longest + 1)
    pad = " " if longest or not text.strip() else ""
    return f"{marks}{pad}{text}{pad}{marks}"


def _block(block: Block, folder: str, pictures: dict[str, bytes]) -> Iterator[str]:
    match block:
        case Paragraph(words, aside):
            inner = "".join(_code(w.text) if isinstance(w, Verbatim) else _text(w) for w in words).strip()
            yield f"> {inner}" if aside else inner
        case Bullets(items):
            yield "\n".join(f"- {_text(item)}" for item in items)
        case Subheading(text):
            yield f"### {_text(text)}"
        case Listing(text):
            yield f"```\n{text}\n```"
        case Tables(tables, summary):
            yield from ([f"### {_text(summary)}"] if summary else [])
            yield from (table.as_markdown() for table in tables)
        case Drawing(name, figure, caption, beside):
            pictures[f"{name}.png"] = figures.png(figure)
            yield f"![{_text(caption)}]({folder}/{name}.png)"
            yield from (table.as_markdown() for table in beside)
