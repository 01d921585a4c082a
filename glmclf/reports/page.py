"""Reports as one HTML page: no script, nothing from a network, light and dark, print on A4."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from glmclf.reports import figures
from glmclf.reports.blocks import Block, Bullets, Drawing, Listing, Paragraph, Section, Subheading, Tables, Verbatim
from glmclf.results.tables.render import plain

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"  # a browser fetches nothing and runs nothing
WIDE_FIGURE = 7.0  # inches of a figure that a telephone shows in part, to be moved, in place of small
STYLE = """
:root { color-scheme: light dark; --text: #1b1f24; --soft: #57606a; --line: #d0d7de; --page: #ffffff; --card: #ffffff;
  --band: #f6f8fa; --link: #0a58a8; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6edf3; --soft: #9da7b3; --line: #3d444d; --page: #15191e; --card: #15191e; --band: #1f252c;
    --link: #79b8ff; }
  figure svg { filter: invert(0.92) hue-rotate(180deg) brightness(1.25); }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.55 system-ui, -apple-system, "Segoe UI",
  Roboto, "Helvetica Neue", "Noto Sans", Arial, sans-serif; overflow-wrap: break-word; }
main { max-width: 58rem; margin: 0 auto; padding: 1.5rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0.5rem 0 0.25rem; }
h2 { font-size: 1.3rem; margin: 2.5rem 0 0.75rem; padding-bottom: 0.25rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.5rem 0 0.5rem; }
p, ul { margin: 0.6rem 0; max-width: 46rem; }
a { color: var(--link); }
nav ul { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; }
.date, .aside, figcaption { color: var(--soft); font-size: 0.92rem; }
.aside { border-left: 3px solid var(--line); padding-left: 0.75rem; }
code { font: 0.9em ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  background: var(--band); padding: 0.1em 0.3em; border-radius: 3px; overflow-wrap: anywhere; }
pre { background: var(--band); padding: 0.75rem 1rem; overflow-x: auto; border-radius: 6px; }
pre code { background: none; padding: 0; overflow-wrap: normal; }
.table, figure { overflow-x: auto; margin: 1rem 0; }
figure { background: var(--card); }
figure svg { display: block; max-width: 100%; height: auto; }
figure svg.wide { min-width: 40rem; }
.pair { display: flex; flex-wrap: wrap; align-items: center; gap: 0 2rem; }
.pair > figure { flex: 0 1 25rem; }
figcaption { padding-top: 0.4rem; }
table { border-collapse: collapse; font-size: 0.86rem; font-variant-numeric: tabular-nums; line-height: 1.35; }
.table table + table { margin-top: 0.6rem; }
caption { text-align: left; font-weight: 600; padding: 0 0 0.35rem; }
th, td { padding: 0.18rem 0.9rem 0.18rem 0; text-align: right; vertical-align: top; white-space: nowrap; }
th { font-weight: 600; }
th:first-child { text-align: left; font-weight: 500; }
.wrapped td, .wrapped th { text-align: left; }
.wrapped td { white-space: normal; }
tr:first-child > * { border-top: 1.5px solid var(--text); padding-top: 0.35rem; }
tr:last-child > * { border-bottom: 1.5px solid var(--text); padding-bottom: 0.35rem; }
summary { cursor: pointer; margin: 0.8rem 0; font-weight: 600; }
svg * { stroke-linejoin: round; stroke-linecap: butt; }
@page { size: A4; margin: 18mm 16mm 20mm; }
@media print {
  :root { color-scheme: light; --text: #000000; --soft: #444444; --line: #bbbbbb; --page: #ffffff; --card: #ffffff;
    --band: #f4f4f4; --link: #000000; }
  body { font-size: 10pt; line-height: 1.4; }
  main { max-width: none; padding: 0; }
  nav { display: none; }
  h1 { font-size: 16pt; } h2 { font-size: 13pt; margin-top: 16pt; } h3 { font-size: 11pt; }
  h2, h3, caption, summary { break-after: avoid; }
  p, li { orphans: 3; widows: 3; }
  h2 + p, h3 + p, p:has(+ .table) { break-after: avoid; }
  p { break-inside: avoid; }
  figure, table, tr, pre, .pair { break-inside: avoid; }
  .pair > figure { flex-basis: 95mm; }
  figure svg.wide { min-width: 0; }
  .table, figure, pre { overflow: visible; }
  table { font-size: 8pt; max-width: 100%; }
  th, td { padding-right: 6pt; white-space: normal; overflow-wrap: normal; }
  th:first-child { overflow-wrap: anywhere; min-width: 4.5em; }
  .wrapped th, .wrapped td { overflow-wrap: break-word; }
  .wrapped th:first-child { white-space: nowrap; }
  pre { white-space: pre-wrap; }
  figure svg { filter: none; max-height: 235mm; }
  details::details-content { content-visibility: visible; block-size: auto; }
}
"""


def html_page(title: str, moment: str, sections: Sequence[Section]) -> str:
    """The page.

    Parameters
    ----------
    title : str
    moment : str
        Date and time; "" for a page without.
    sections : list of Section
    """
    head = _text(title)
    links = "".join(f'<li><a href="#{section.name}">{_text(section.title)}</a></li>' for section in sections)
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{head}</title>",
        f"<style>{STYLE}</style>",
        "</head>",
        "<body>",
        "<main>",
        f"<h1><bdi>{head}</bdi></h1>",
        *([f'<p class="date">{_text(moment)}</p>'] if moment else []),
        *([f"<nav><ul>{links}</ul></nav>"] if len(sections) > 1 else []),
    ]
    for section in sections:
        lines += [f'<section id="{section.name}">', f"<h2>{_text(section.title)}</h2>"]
        lines += [part for block in section.blocks for part in _block(block)]
        lines.append("</section>")
    return "\n".join([*lines, "</main>", "</body>", "</html>", ""])


def _text(text: str) -> str:
    return html.escape(plain(text))


def _block(block: Block) -> Iterator[str]:
    match block:
        case Paragraph(words, aside):
            inner = "".join(
                f"<bdi><code>{_text(word.text)}</code></bdi>" if isinstance(word, Verbatim) else _text(word)
                for word in words
            )
            yield f'<p class="aside">{inner}</p>' if aside else f"<p>{inner}</p>"
        case Bullets(items):
            yield "<ul>" + "".join(f"<li>{_text(item)}</li>" for item in items) + "</ul>"
        case Subheading(text):
            yield f"<h3><bdi>{_text(text)}</bdi></h3>"
        case Listing(text):
            yield f"<pre><code>{html.escape(text)}</code></pre>"
        case Tables(tables, summary):
            inner = _tables(tables)
            yield f"<details><summary><bdi>{_text(summary)}</bdi></summary>\n{inner}\n</details>" if summary else inner
        case Drawing(name, figure, caption, beside):
            shown = _text(caption)
            kind = ' class="wide"' if figure.get_figwidth() > WIDE_FIGURE else ""
            image = figures.svg(figure, name).replace("<svg", f'<svg role="img" aria-label="{shown}"{kind}', 1)
            drawn = f"<figure>\n{image}\n<figcaption>{shown}</figcaption>\n</figure>"
            yield f'<div class="pair">\n{drawn}\n{_tables(beside)}\n</div>' if beside else drawn


def _tables(tables: Iterable[Any]) -> str:
    """Tables one below the other; those of running text have a class of their own."""
    parts = (
        table.as_html().replace('class="simpletable"', 'class="wrapped"', 1) if table.wrapped else table.as_html()
        for table in tables
    )
    return '<div class="table">\n{}\n</div>'.format("\n".join(parts))
