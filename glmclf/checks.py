"""Checks of arguments that all layers share: whole numbers, numbers, truth values, choices among words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, TypeGuard

import numpy as np

MAX_NAMES = 8  # names that a message lists


def is_whole(value: Any, least: float = -np.inf) -> bool:
    """Whether a value is a whole number of at least `least`; a truth value is none."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value >= least)


def is_number(value: Any) -> bool:
    """Whether a value is a real number, NaN and infinity included; a truth value is none."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def is_truth(value: Any) -> TypeGuard[bool | np.bool_]:
    """Whether a value is True or False, of Python or of numpy."""
    return isinstance(value, (bool, np.bool_))


def check_choice(name: str, value: Any, known: Collection[str], words: str = "") -> None:
    """Raise ValueError that lists the words an argument can be, unless it is one of them.

    Parameters
    ----------
    name : str
        The argument.
    value
    known : collection of str
    words : str
        What the message says that one can choose, where that is more than the list.

    Examples
    --------
    >>> from glmclf.checks import check_choice
    >>> check_choice("on", "both", ("fpr", "tpr"))
    Traceback (most recent call last):
        ...
    ValueError: on='both': choose "fpr" or "tpr"
    """
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name}={value!r}: choose {words or either(known)}")


def either(known: Iterable[str]) -> str:
    """Words in quotes as a sentence lists them: "a", "b" or "c"."""
    *first, last = (f'"{word}"' for word in known)
    return f"{', '.join(first)} or {last}" if first else last


def first_of(words: Sequence[str]) -> str:
    """The first `MAX_NAMES` words as a message lists them, and how many more there are."""
    more = f" and {len(words) - MAX_NAMES} more" if len(words) > MAX_NAMES else ""
    return ", ".join(words[:MAX_NAMES]) + more
