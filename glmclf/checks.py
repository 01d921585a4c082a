"""Checks of arguments that all layers share: whole numbers, numbers, truth values, choices among words."""

from __future__ import annotations

import difflib
import functools
import inspect
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard, TypeVar, cast

import numpy as np

MAX_NAMES = 8  # names that a message lists
MAX_KNOWN_NAMES = 24  # names up to which a message that says which there are lists all
F = TypeVar("F", bound=Callable[..., Any])
NO_NUMBERS = (bool, np.timedelta64)  # subclasses of int and of numpy's integers all the same
NO_PLACE = sys.maxsize
MAY_BE_NONE = {"bool": False, bool: False, "bool | None": True, bool | None: True}  # by annotation of an option

# Names that options of the same meaning have in other methods and packages.
SAME_OPTIONS = (
    ("by", "over", "groups", "group"),
    ("at", "atexog", "grid"),
    ("newdata", "data", "exog", "X"),
    ("adjust", "method", "adjustment"),
    ("contrast", "comparison", "contrasts"),
    ("which", "type", "kind", "scale"),
    ("variables", "variable", "term_name"),
    ("seed", "random_state", "rng"),
    ("reps", "n_boot", "nboot", "n_bootstraps"),
    ("vcov", "cov_type"),
    ("exponentiate", "exp", "eform"),
    ("folds", "cv", "n_splits"),
    ("bins", "n_bins", "groups"),
    ("weights", "sample_weight", "sampling_weights", "wts"),
    ("r_matrix", "hypothesis"),
    ("n", "size", "nsim"),
)
LEVELS_OF_CONFIDENCE = ("level", "conf_level", "confidence_level", "confidence", "ci")


def is_whole(value: Any, least: float = -np.inf) -> bool:
    """Whether a value is a whole number of at least `least`; a truth value is none, nor is a duration."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, NO_NUMBERS) and bool(value >= least)


def is_number(value: Any) -> bool:
    """Whether a value is a real number, NaN and infinity included; a truth value is none, nor is a duration."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, NO_NUMBERS)


def is_truth(value: Any) -> TypeGuard[bool | np.bool_]:
    """Whether a value is True or False, of Python or of numpy."""
    return isinstance(value, (bool, np.bool_))


def check_whole(name: str, value: Any, least: int, what: str = "a whole number", most: float = np.inf) -> int:
    """Check an argument that is a whole number of at least `least` and at most `most`, and return it as an int.

    Examples
    --------
    >>> from glmclf.checks import check_whole
    >>> check_whole("maxiter", 2.5, 0, "a whole number of iterations")
    Traceback (most recent call last):
        ...
    ValueError: maxiter=2.5: a whole number of iterations, 0 or more
    """
    if not is_whole(value, least) or value > most:
        raise ValueError(f"{name}={value!r}: {what}, {f'{least} or more' if most == np.inf else f'{least} to {most}'}")
    return int(value)


def check_truth(name: str, value: Any, optional: bool = False) -> None:
    """Raise ValueError unless an argument is True or False, or None where it is `optional`."""
    if not (is_truth(value) or (optional and value is None)):
        raise ValueError(f"{name}={value!r}: choose {'True, False or None' if optional else 'True or False'}")


class TruthOption(NamedTuple):
    """Option of a function that is True or False: its place among the arguments, its name, whether it may be None.

    Options by keyword alone have NO_PLACE.
    """

    place: int
    name: str
    optional: bool


def truth_options(function: Callable[..., Any]) -> tuple[TruthOption, ...]:
    """Options of a function that are annotated as ``bool``, or ``bool | None``."""
    code = getattr(function, "__code__", None)
    by_place = () if code is None else code.co_varnames[: code.co_argcount]
    return tuple(
        TruthOption(by_place.index(name) if name in by_place else NO_PLACE, name, MAY_BE_NONE[hint])
        for name, hint in function.__annotations__.items()
        if hint in MAY_BE_NONE and name != "return"
    )


def check_truths(options: Iterable[TruthOption], args: Sequence[Any], keywords: Mapping[str, Any]) -> None:
    """Check the options of a call that are True or False; see `check_truth`."""
    for place, name, optional in options:
        if name in keywords:
            check_truth(name, keywords[name], optional)
        elif place < len(args):
            check_truth(name, args[place], optional)


def keyword_options(function: Callable[..., Any]) -> frozenset[str] | None:
    """Names of the keywords that a function takes; None where it takes any."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & inspect.CO_VARKEYWORDS:
        return None
    return frozenset(code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount])


def check_keywords(function: str, known: frozenset[str] | None, keywords: Mapping[str, Any]) -> None:
    """Raise TypeError for a keyword that a function does not take, naming the one that was meant.

    Examples
    --------
    >>> from glmclf.checks import check_keywords
    >>> check_keywords("predictions", frozenset(["self", "at", "by"]), {"over": "g"})
    Traceback (most recent call last):
        ...
    TypeError: predictions() got an unexpected keyword argument 'over': it is by= here
    """
    if known is None or known.issuperset(keywords):
        return
    name = next(name for name in keywords if name not in known)
    options = [*dict.fromkeys(option for some in SAME_OPTIONS if name in some for option in some if option in known)]
    near = difflib.get_close_matches(name, known - {"self"}, n=1, cutoff=0.75)
    if name in LEVELS_OF_CONFIDENCE and "alpha" in known:
        hint = ": it is alpha= here, one minus the level"
    elif near:
        hint = f": did you mean {near[0]}=?"
    else:
        hint = f": it is {' or '.join(f'{option}=' for option in options)} here" if options else ""
    raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")


def keywords_checked(function: F) -> F:
    """Decorate a method of an answer so that `check_keywords` looks at its keywords."""
    known = keyword_options(function)

    @functools.wraps(function)
    def checked(*args: Any, **keywords: Any) -> Any:
        check_keywords(function.__name__, known, keywords)
        return function(*args, **keywords)

    return cast(F, checked)


def true_or_false(function: F) -> F:
    """Decorate a public function whose options annotated as ``bool`` take nothing else.

    Methods of results and of models have this check in `requires` and `named`.

    Examples
    --------
    >>> from glmclf.checks import true_or_false
    >>> @true_or_false
    ... def table(rows: int, exponentiate: bool = False): ...
    >>> table(3, exponentiate="no")
    Traceback (most recent call last):
        ...
    ValueError: exponentiate='no': choose True or False
    """
    options = truth_options(function)

    @functools.wraps(function)
    def checked(*args: Any, **keywords: Any) -> Any:
        check_truths(options, args, keywords)
        return function(*args, **keywords)

    return cast(F, checked)


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


def known_names(names: Iterable[Any]) -> str:
    """The names that there are as Python writes a list: of more than `MAX_KNOWN_NAMES` the first and the number.

    Examples
    --------
    >>> from glmclf.checks import known_names
    >>> known_names(["Intercept", "x"])
    "['Intercept', 'x']"
    """
    words = [repr(name) for name in names]
    if len(words) > MAX_KNOWN_NAMES:
        words = [*words[:MAX_NAMES], f"and {len(words) - MAX_NAMES} more"]
    return f"[{', '.join(words)}]"
