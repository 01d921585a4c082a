"""Name of the method that a user asked for, for the messages of what refuses it far below."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar, cast

import numpy as np

from glmclf.caching import cached_property
from glmclf.checks import check_keywords, check_truths, keyword_options, keywords_checked, truth_options

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C")

# Class and name of the method. Not its object: contexts are copied by whoever schedules work during a call, an event
# loop of a cluster say, and would keep the data alive.
ASKED: ContextVar[tuple[type, str] | None] = ContextVar("asked", default=None)
USUAL_ERRSTATE: Any = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}  # numpy's own
SAID: ContextVar[set[Hashable] | None] = ContextVar("said", default=None)  # what was warned of during the call


@contextmanager
def asking(owner: type, name: str) -> Iterator[None]:
    """The call of a method by the user, whose own settings of numpy's errors are none of its business: probabilities
    far out underflow."""
    asked, said = ASKED.set((owner, name)), SAID.set(set())
    try:
        with np.errstate(**USUAL_ERRSTATE):
            yield
    finally:
        ASKED.reset(asked)
        SAID.reset(said)


@contextmanager
def own_calls() -> Iterator[None]:
    """Calls of methods within the block that messages name each by itself, not by the call that they are part of."""
    asked, said = ASKED.set(None), SAID.set(None)
    try:
        yield
    finally:
        ASKED.reset(asked)
        SAID.reset(said)


def under_usual_errors(cls: type[C]) -> type[C]:
    """Class decorator of answers: what they say in public is computed as during the call that gave them, whatever the
    user's settings of numpy's errors."""
    usual = np.errstate(**USUAL_ERRSTATE)
    for name, member in [*vars(cls).items()]:
        if name.startswith("_"):
            continue
        if inspect.isfunction(member):
            setattr(cls, name, usual(keywords_checked(member)))
        elif isinstance(member, property):
            setattr(cls, name, property(usual(member.fget), doc=member.__doc__))  # type: ignore[type-var]
        elif isinstance(member, cached_property):
            member.func = usual(member.func)
    return cls


def first_time(what: Hashable) -> bool:
    """Whether something was not warned of before in the call of the user; it counts as warned of from now on."""
    said = SAID.get()
    if said is None:
        return True
    known = what in said
    said.add(what)
    return not known


def named(method: F) -> F:
    """A public method, or the function of a property, that messages from below it name.

    Of several that call one another it is the one that the user called. Its options that are True or False take
    nothing else.
    """
    name, options, keywords = method.__name__, truth_options(method), keyword_options(method)

    @functools.wraps(method)
    def known(self: Any, *args: Any, **kwargs: Any) -> Any:
        check_keywords(name, keywords, kwargs)
        check_truths(options, (self, *args), kwargs)
        if ASKED.get() is not None:
            return method(self, *args, **kwargs)
        with asking(type(self), name):
            return method(self, *args, **kwargs)

    return cast(F, known)


def asked_for() -> str:
    """Name of what the user asked for, as it is written: ``"predict()"``, ``"fittedvalues"``; "this"
    where nobody said."""
    found = ASKED.get()
    return "this" if found is None else spelled(*found)


def takes_rows() -> bool:
    """Whether what the user asked for takes other rows in place of those of the fit."""
    found = ASKED.get()
    method = None if found is None else inspect.getattr_static(*found, None)
    return inspect.isfunction(method) and not {"newdata", "exog"}.isdisjoint(inspect.signature(method).parameters)


def spelled(owner: type, name: str) -> str:
    """A method with its parentheses, a property without."""
    return f"{name}()" if inspect.isfunction(inspect.getattr_static(owner, name, None)) else name
