"""The list of covariances in words: for docstrings, messages and the help of the shell."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable
from typing import TypeVar

from glmclf.inference.covariance.types import COVARIANCES, CovarianceType

F = TypeVar("F", bound=Callable)

WIDTH = 120  # letters of a line of a docstring


def names(wanted: Callable[[CovarianceType], bool] = lambda entry: True) -> list[str]:
    """Names of the covariances that are `wanted`, in the order of the list."""
    return [name for name, entry in COVARIANCES.items() if wanted(entry)]


def enumerated(words: Iterable[str], last: str = "and", quote: str = '"') -> str:
    """Names as in a sentence.

    Examples
    --------
    >>> from glmclf.inference.covariance.wording import enumerated
    >>> print(enumerated(["HC0", "HC1", "HAC"], "or"))
    "HC0", "HC1" or "HAC"
    """
    *first, final = [f"{quote}{word}{quote}" for word in words]
    return f"{', '.join(first)} {last} {final}" if first else final


def for_generative(entry: CovarianceType) -> bool:
    """Whether LDA, QDA and NaiveBayes have a covariance type, beside the types from the information."""
    return entry.kind != "model" and not entry.of_regressions


def documents_covariances(f: F) -> F:
    """Fill the docstring of a function with the list of covariances.

    A line ``{covariances}`` becomes a list of all with their formulas, ``{sources}`` the publications; within a line
    ``{cov_types}`` become the names of all, ``{generative_types}`` those that generative models have,
    ``{regression_types}`` the others, and ``{leverage_types}`` those that take leverages.
    """
    if f.__doc__ is None:  # python -OO
        return f
    leverage = names(lambda entry: entry.leverage is not None)
    sources = dict.fromkeys(entry.source for entry in COVARIANCES.values() if entry.source)
    words = {
        "cov_types": ", ".join(f'"{name}"' for name in COVARIANCES),
        "generative_types": ", ".join(f'"{name}"' for name in names(lambda entry: not entry.of_regressions)),
        "regression_types": enumerated(names(lambda entry: entry.of_regressions)),
        "leverage_types": enumerated(leverage),
        "sources": f"{'; '.join(sources)}.",
    }
    lines: list[str] = []
    for line in f.__doc__.split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        if line.strip() == "{covariances}":
            lines += [_filled(f'- "{name}": {entry.formula}', indent) for name, entry in COVARIANCES.items()]
            continue
        found = re.sub(r"\{(\w+)\}", lambda match: words.get(match[1], match[0]), line)
        lines.append(line if found == line else _filled(found.strip(), indent))
    f.__doc__ = "\n".join(lines)
    return f


def _filled(text: str, indent: str) -> str:
    more = "  " if text.startswith("- ") else ""
    return textwrap.fill(text, WIDTH, initial_indent=indent, subsequent_indent=indent + more, break_on_hyphens=False)
