"""Numbers that came as text: columns in which most values read as numbers, and what to do about it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from glmclf.data.table.frame import quoted
from glmclf.errors import DataWarning, warn

MIN_SHARE_OF_NUMERALS = 0.5  # share of the distinct values that read as numbers
MIN_VALUES, MIN_CODES = 5, 10  # distinct values, of which whole numbers may be codes, that are looked at
MAX_SHARE_OF_ODD_ONES = 0.05  # share of the distinct values that are no numbers where the others are plain ones
MAX_UNITS = 3  # distinct units behind numbers: names that begin with a number have more

_PLAIN = r"[-+−]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_COMMA = r"[-+−]?\d+,\d+"
_THOUSANDS = r"[-+−]?\d{1,3}(?:(?:,\d{3})+(?:\.\d+)?|(?:[ '\u00a0\u202f]\d{3})+(?:[.,]\d+)?|(?:\.\d{3})+,\d+)"
_ANY = rf"(?:{_THOUSANDS}|{_COMMA}|{_PLAIN})"
_UNIT = r"%|[$€£¥]|[^\W\d_][\w/²³·°%]{0,9}"
_KINDS = {
    "date": r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?:[T ]\d.*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}(?: \d.*)?",
    "plain": _PLAIN,
    "thousands": _THOUSANDS,
    "comma": _COMMA,
    "bound": rf"[<>≤≥]=?\s*{_ANY}(?:\s*(?:{_UNIT}))?",
    "unit": rf"(?:[$€£¥]\s*{_ANY}|{_ANY}\s*(?P<unit>{_UNIT}))",
}  # compiled where they are first used
_HOW = {
    "date": '(pd.to_datetime(df["{0}"]) - pd.Timestamp("2000-01-01")).dt.days',
    "plain": 'pd.to_numeric(df["{0}"])',
    "comma": 'pd.to_numeric(df["{0}"].str.replace(",", ".")), or decimal="," where a file is read',
    "thousands": 'thousands="," where a file is read (or decimal=",", if that is what it is)',
    "unit": 'df["{0}"].str.extract(r"([-+.\\d]+)", expand=False).astype(float), all in one unit',
    "bound": "what a bound such as {1} counts as first (its limit, half of it, a missing value)",
}
_NO_VALUE = frozenset({"na", "n/a", "nan", "null", "none", "nil", "missing", "unknown", "inf", "-inf", "<na>"})


class Numerals(NamedTuple):
    """Distinct values of a column of text, most of which read as numbers.

    Attributes
    ----------
    values : list of str
    kinds : dict of lists of str
        Values that are numbers by how they are written: "plain", "comma" ("1,5"), "thousands" ("1,500"), "bound"
        ("<0.5") or "unit" ("12 kg"); or a "date" ("2020-01-31").
    words : list of str
        The others.
    """

    values: Sequence[str]
    kinds: dict[str, list[str]]
    words: list[str]

    @property
    def codes(self) -> bool:
        """Whether they may be a code: whole numbers, beside which words stand, but no sign for a missing value."""
        whole = all(re.fullmatch(r"[-+−]?\d+", value.strip()) for value in self.kinds.get("plain", []))
        return whole and set(self.kinds) == {"plain"} and not any(map(_stands_for_nothing, self.words))

    @property
    def dates(self) -> bool:
        """Whether all of the numbers are dates."""
        return set(self.kinds) == {"date"}

    def too_many(self, rows: int) -> bool:
        """Whether so many levels are too many for a factor of so many rows that nobody asked for."""
        n = len(self.values)
        return n >= MIN_CODES and 2 * n > rows if self.codes else n >= MIN_VALUES and 5 * n > rows

    def said(self, name: Any) -> str:
        """What the column holds, and how it becomes numbers."""
        number = len(self.values) - len(self.words)
        odd = [value for kind, values in self.kinds.items() if kind != "plain" for value in values]
        shown = f" ({quoted(odd, 3)})" if odd else ""
        count = f"{number} of its {len(self.values)} values" if self.words else f"all of its {number} values"
        plural = "these are" if len(self.words) > 1 else "this is"
        words = f"; {plural} not: {quoted(self.words)}" if self.words else ""
        what = "dates" if self.dates else "numbers"
        return f'"{name}" is a column of text, although {count} are {what}{shown}{words}. {self._how(name)}'

    def _how(self, name: Any) -> str:
        if set(self.kinds) == {"plain"} and self.words:
            return f'Make it numbers, pd.to_numeric(df["{name}"], errors="coerce"), in which these are missing'
        order = ["date", "bound", "unit", "thousands", "comma", "plain"]
        kind = next(kind for kind in order if kind in self.kinds)
        verb = "Decide" if kind == "bound" else "Make it numbers,"
        return f"{verb} {_HOW[kind].format(name, quoted(self.kinds[kind], 1))}"


def numerals(values: Sequence[Any]) -> Numerals | None:
    """The numbers among distinct values of a column of text; None where they are not most of them.

    Examples
    --------
    >>> numerals(["1,5", "2", "?"]).kinds
    {'comma': ['1,5'], 'plain': ['2']}
    >>> numerals(["a1", "b2", "12"]) is None
    True
    >>> numerals(["007", "008", "012"]) is None, numerals(["1A", "1B", "2A"]) is None
    (True, True)
    """
    if not values or not all(isinstance(value, str) for value in values):
        return None
    if len({len(value) for value in values}) == 1 < len(values[0]) and all(map(str.isdecimal, values)):
        if any(value.startswith("0") for value in values):
            return None  # codes of a fixed width, 007
    kinds: dict[str, list[str]] = {}
    words, units, before = [], set(), list[str]()
    for value in values:
        kind = next((kind for kind, pattern in _KINDS.items() if re.fullmatch(pattern, value.strip())), None)
        if kind is None:
            words.append(value)
            continue
        kinds.setdefault(kind, []).append(value)
        if kind == "unit" and (found := re.fullmatch(_KINDS["unit"], value.strip())):
            units.add(found["unit"])
            before.append(value.strip().removesuffix(found["unit"] or "").strip())
    letters = len(units) > 1 and all(len(unit or "") == 1 and unit.isalpha() for unit in units)
    if len(units) > MAX_UNITS or (letters and len(set(before)) < len(before)):  # names: 1A, 1B, 2A
        words += kinds.pop("unit")
    few = MAX_SHARE_OF_ODD_ONES * len(values)
    for kind in ("unit", "comma", "thousands"):
        if len(kinds.get(kind, [])) <= few and "plain" in kinds:
            words += kinds.pop(kind, [])  # slips, not a way of writing
    most = len(words) <= (1 - MIN_SHARE_OF_NUMERALS) * len(values)
    return Numerals(values, kinds, words) if most else None


def say_blanks(name: Any, levels: Sequence[Any]) -> None:
    """Warn of levels of text that are blank, or differ in blanks alone: "yes" and "yes "."""
    words = [level for level in levels if isinstance(level, str)]
    bare = Counter(" ".join(word.split()) for word in words)
    odd = [word for word in words if not (short := " ".join(word.split())) or bare[short] > 1]
    if odd:
        several = "levels" if len(odd) > 1 else "a level"
        warn(
            f'"{name}" has {several} that only blanks make ({quoted(odd)}). If a blank stands for a missing value, '
            f'read it as one, na_values=" "; df["{name}"].str.strip() takes blanks off; a categorical column is taken '
            "as it is",
            DataWarning,
        )


def _stands_for_nothing(word: str) -> bool:
    """Whether a word stands for a missing value: "?", ".", "NA"."""
    return word.strip().lower() in _NO_VALUE or not re.search(r"\w", word)
