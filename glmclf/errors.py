"""Exceptions and warnings that glmclf raises.

Bad input is a `DataError` (a `ValueError`); data for which an estimate does not exist, or is not unique, is an
`EstimationError` (also a `ValueError`). Existing ``except ValueError`` clauses therefore work.
"""

import contextlib
import contextvars
import sys
import unicodedata
import warnings
from collections.abc import Iterator
from typing import Any

BIDIRECTIONAL = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # they reorder what is shown


def escaped(text: str, keep: str = "\n") -> str:
    r"""Text with control characters, those of direction and lone surrogates as `repr` writes them.

    Names and levels come from data: printed as they are, they could command a terminal or show another text than they
    are.

    Parameters
    ----------
    text : str
    keep : str
        Control characters that stay as they are: by default line ends.

    Examples
    --------
    >>> print(escaped("a\x1b[2Jb"))
    a\x1b[2Jb
    """
    if text.isprintable():
        return text
    return "".join(c if c in keep or not _commands(c) else c.encode("unicode_escape").decode() for c in text)


def _commands(c: str) -> bool:
    return unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in BIDIRECTIONAL


class _Printable(ValueError):
    """Error whose message names columns and levels, with what they would command escaped."""

    def __str__(self) -> str:
        return escaped(super().__str__(), keep="")


class DataError(_Printable):
    """Input that no model can use: the message names the column, the values and the rows.

    Attributes
    ----------
    places : ndarray or None
        Which of the rows at hand are at fault, by position, until they are named in the message.
    """

    places: Any = None


class FormulaError(DataError):
    """A formula that cannot be read, or that uses a name or function which is not there.

    Attributes
    ----------
    reason : str
        The message without what to do when a file is loaded; empty where it has no such part.
    """

    reason = ""


class MissingDataError(DataError):
    """Missing values where none are allowed, or no complete row remains."""


class UnseenLevelError(DataError):
    """New data hold a level of a factor that the model was not fitted on."""


class DerivativeError(DataError):
    """A variable in which the design has no (finite) derivative."""


class EstimationError(_Printable):
    """The data are well-formed, but the model has no estimate, or no unique one."""


class PerfectSeparationError(EstimationError):
    """The maximum likelihood estimate of some coefficients is infinite (Albert & Anderson 1984)."""


class CollinearityError(EstimationError):
    """Some columns of the design are linear combinations of others."""


class SearchTooLargeError(EstimationError):
    """A search for separation would take gigabytes."""


class SingularCovarianceError(EstimationError):
    """A covariance matrix of the features has no inverse.

    Attributes
    ----------
    columns : list of str
        Features that are constant, or combinations of others.
    classes : list
        Classes in which they are; empty for all together.
    combination : dict
        What the first of `columns` equals: feature -> coefficient, up to a constant of the class.
    """

    def __init__(self, message: str, columns=(), classes=(), combination=None):
        super().__init__(message)
        self.columns, self.classes, self.combination = list(columns), list(classes), dict(combination or {})

    def __reduce__(self):
        return type(self), (str(self), self.columns, self.classes, self.combination)


class ConvergenceWarning(UserWarning):
    """A solver stopped before its estimate was a maximum."""


class SeparationWarning(UserWarning):
    """Some coefficients are infinite; the others are the limit estimates."""


class CollinearityWarning(UserWarning):
    """Some columns of the design are combinations of others and were left out."""


class DataWarning(UserWarning):
    """Something in the data that the user should know before trusting the result."""


class ZeroCellWarning(UserWarning):
    """A level that a class never shows: its probability is estimated as 0, its logarithm as -inf."""


class InferenceWarning(UserWarning):
    """Standard errors or tests that rest on an assumption the data may not bear out."""


_COLLECTED = contextvars.ContextVar[list[str] | None]("collected", default=None)
_SILENCED = contextvars.ContextVar[tuple[type[Warning], ...]]("silenced", default=())


@contextlib.contextmanager
def without_warnings(*kinds: type[Warning]) -> Iterator[None]:
    """Leave out the package's warnings of some kinds, by default all, in this thread and within the block.

    `warnings.catch_warnings` changes the filters of the process: two threads in it at once leave them changed for good.
    """
    token = _SILENCED.set((*_SILENCED.get(), *(kinds or (Warning,))))
    try:
        yield
    finally:
        _SILENCED.reset(token)


@contextlib.contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect the messages of the package's warnings in this thread and within the block, in place of warning."""
    found: list[str] = []
    token = _COLLECTED.set(found)
    try:
        yield found
    finally:
        _COLLECTED.reset(token)


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line that called the package, however deep in it the reason was found.

    Parameters
    ----------
    message : str
    category : type of Warning
    """
    if issubclass(category, _SILENCED.get()):
        return
    if (collected := _COLLECTED.get()) is not None:
        collected.append(message)
        return
    depth, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("glmclf", "functools"):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(escaped(message, keep=""), category, stacklevel=depth)
