"""Values that the texts of the command line stand for."""

from __future__ import annotations

import ast
import csv
import re
from typing import Any, NamedTuple


class Given(NamedTuple):
    """What a text was given for: the option, and the formula and table that tell levels of the response.

    Attributes
    ----------
    option : str
    formula : str
    frame : DataFrame or None
    """

    option: str
    formula: str
    frame: Any

    @property
    def spelled(self) -> str:
        """The option as the shell takes it."""
        return f"--{self.option.replace('_', '-')}"


def text(value: Any, given: Given) -> Any:
    """Words, and switches, as they are."""
    return value


def number(value: str, given: Given) -> float:
    """Read a number."""
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"{given.spelled} {value!r}: a number is wanted") from None


def whole(value: str, given: Given) -> int:
    """Read a whole number."""
    try:
        return int(value)
    except ValueError:
        raise ValueError(f"{given.spelled} {value!r}: a whole number is wanted") from None


def number_or_word(value: str, given: Given) -> float | str:
    """A word as it is, or a number."""
    return value if value.isidentifier() and value not in ("nan", "inf") else number(value, given)


def list_of_names(value: str, given: Given) -> list[str]:
    """Names between commas; one that has a comma itself stands in quotes."""
    return next(csv.reader([value], skipinitialspace=True)) or [""]


def response_level(value: str, given: Given) -> Any:
    """Level of the response that is written as a text: the data decide between 1, 1.0, True and "1"."""
    name, frame = given.formula.partition("~")[0].strip(), given.frame
    levels = frame[name].dropna().unique() if [*frame].count(name) == 1 else []  # names that occur twice are refused
    for level in levels:
        if str(level) == value:
            return level.item() if hasattr(level, "item") else level
    try:
        level = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return value
    return level if isinstance(level, bool | int | float) else value


def prior_probabilities(value: str, given: Given) -> Any:
    """Probabilities of the levels: "equal", numbers in the order of the levels, or level=number."""
    if value == "equal":
        return value
    parts = value.split(",")
    if "=" not in value:
        try:
            return [float(part) for part in parts]
        except ValueError:
            raise ValueError(f"--priors {value!r}: equal, numbers as in 0.2,0.8, or a=0.2,b=0.8 is wanted") from None
    pairs = [part.rpartition("=") for part in parts]
    if not all(level.strip() and equals for level, equals, _ in pairs):
        raise ValueError(f"--priors {value!r}: level=probability of every level, as in a=0.2,b=0.8, or numbers alone")
    priors = {response_level(level.strip(), given): number(p, given) for level, _, p in pairs}
    if len(priors) < len(parts):
        raise ValueError(f"--priors {value!r} names a level twice")
    return priors


def families(value: str, given: Given) -> dict[str, str]:
    """Read families by feature; a feature's name, as C(g, levels=[1, 2]), may contain commas and equals signs."""
    pair = r"(.+?) *= *(\w+) *(?:,|$)"
    pairs = re.findall(pair, value)
    if not pairs or re.sub(pair, "", value):
        raise ValueError(f"--families {value!r}: feature=family is wanted, as in visits=poisson,income=gamma")
    found = {name.strip(): family for name, family in pairs}
    if len(found) < len(pairs):
        raise ValueError(f"--families {value!r} names a feature twice")
    return found


def character(value: str, given: Given) -> str:
    """A single character; "tab" is one, too."""
    found = {"tab": "\t", "\\t": "\t"}.get(value, value)
    if len(found) != 1:
        raise ValueError(f"{given.spelled} {value!r}: one character is wanted{', or tab' * (given.option == 'sep')}")
    return found


def missing_texts(value: str, given: Given) -> list[str]:
    """Texts that are missing values, the empty one among them."""
    return ["", *([] if value == "none" else value.split(","))]
