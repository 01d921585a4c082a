"""Content of a report, whatever its form: sections of paragraphs, lists, tables, figures and listings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from glmclf.checks import MAX_NAMES
from glmclf.core.rows.asked import own_calls
from glmclf.errors import collected_warnings
from glmclf.results.tables.render import table_classes

MAX_TABLE_ROWS = 200  # rows of a table of a report
#: what methods raise of a fit that cannot have what is asked for; anything else is a fault of ours
REFUSALS_OF_FITS = (ValueError, NotImplementedError, ImportError, OSError)
T = TypeVar("T")


@dataclass(frozen=True)
class Verbatim:
    """Text within a sentence as it is in the data or in code: a formula, the name of a column, a level."""

    text: str


Words = str | Verbatim


@dataclass(frozen=True)
class Paragraph:
    """Sentences; those of an `aside` are remarks, such as why something is left out."""

    words: tuple[Words, ...]
    aside: bool = False


@dataclass(frozen=True)
class Bullets:
    """List of sentences."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Subheading:
    """Heading within a section: the name of a fit."""

    text: str


@dataclass(frozen=True)
class Listing:
    """Lines of code to copy."""

    text: str


@dataclass(frozen=True)
class Tables:
    """Tables with the renderers of `results.tables.render`; where `summary` is not empty, folded under these words."""

    tables: tuple[Any, ...]
    summary: str = ""


@dataclass(frozen=True)
class Drawing:
    """Figure with the name of its file, what it shows, and the tables beside it."""

    name: str
    figure: Any
    caption: str
    beside: tuple[Any, ...] = ()


Block = Paragraph | Bullets | Subheading | Listing | Tables | Drawing


@dataclass
class Section:
    """Section of a report while it is written.

    Attributes
    ----------
    name : str
    title : str
    blocks : list
    """

    name: str
    title: str
    blocks: list[Block] = field(default_factory=list)

    def say(self, *words: Words) -> None:
        """Add a paragraph."""
        self.blocks.append(Paragraph(words))

    def remark(self, *words: Words) -> None:
        """Add a remark, once."""
        found = Paragraph(words, aside=True)
        if found not in self.blocks:
            self.blocks.append(found)

    def list(self, items: Iterable[str]) -> None:
        """Add a list of sentences, unless it is empty."""
        found = tuple(items)
        if found:
            self.blocks.append(Bullets(found))

    def show(self, *tables: Any, summary: str = "") -> None:
        """Add tables, of which a report has the first rows where they are long, and all that are running text."""
        room, lost, shown = MAX_TABLE_ROWS, 0, []
        for table in tables:
            many = len(table)
            if not table.wrapped and many > room:
                del table[room:]
                table.spans = {row: spans for row, spans in table.spans.items() if row < room}
            lost += many - len(table)
            room -= len(table) * (not table.wrapped)
            shown += [table] if len(table) else []
        self.blocks.append(Tables(tuple(shown), summary))
        if lost:
            self.remark(f"The table has {lost:,} more rows, which are not shown: tidy() of the result has all.")

    def draw(
        self, what: str, caption: str, plot: Callable[..., Any], *args: Any, beside: Sequence[Any] = (), **options: Any
    ) -> None:
        """Add a figure, with tables beside it; where the fit cannot have it, a remark that says why, and the tables."""
        figure = self.ask(what, plot, *args, **options)
        if figure is not None:
            number = sum(isinstance(block, Drawing) for block in self.blocks) + 1
            self.blocks.append(Drawing(f"{self.name}-{number}", figure, caption, tuple(beside)))
        elif beside:
            self.show(*beside)

    def ask(self, what: str, method: Callable[..., T], *args: Any, **options: Any) -> T | None:
        """What a method of a result gives, its warnings as remarks; None where it refuses, with a remark that says why.

        Parameters
        ----------
        what : str
            Subject of the remark, such as "The validation".
        method : callable
        *args, **options
            Its arguments.
        """
        try:
            with own_calls(), collected_warnings() as said:
                found = method(*args, **options)
        except REFUSALS_OF_FITS as error:
            self.remark(f"{what} is left out: {sentence(str(error))}")
            return None
        for message in said:
            self.remark(f"Warning: {sentence(message)}")
        return found


def sentence(text: str) -> str:
    """Text with a full stop at its end."""
    text = " ".join(text.split())
    return text if text.endswith((".", "!", "?")) else f"{text}."


def listed(names: Sequence[Any], after: Sequence[str] = ()) -> list[Words]:
    """Names as a sentence lists them, each with the words after it: "a (1), b (2) and c (3)"; the first eight."""
    shown = list(names[:MAX_NAMES])
    more = len(names) - len(shown)
    words: list[Words] = []
    for i, name in enumerate(shown):
        last = i == len(shown) - 1 and not more
        words += ["" if i == 0 else " and " if last else ", ", Verbatim(str(name)), after[i] if after else ""]
    return [*words, f" and {more:,} more"] if more else words


def table_of(
    heads: Sequence[str], stubs: Sequence[str], rows: Sequence[Sequence[str]], title: str = "", text: bool = False
) -> Any:
    """Table of numbers, or of running text, a row for each of `stubs`; `heads` are those of the columns beside them."""
    table = table_classes()["Table"]([tuple(row) for row in rows], list(heads), list(stubs), title=title or None)
    table.wrapped = text
    return table
