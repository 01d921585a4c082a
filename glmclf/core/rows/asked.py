"""Name of the method that a user asked for, for the messages of what refuses it far below."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

ASKED: ContextVar[tuple[Any, str] | None] = ContextVar("asked", default=None)  # whose method, and its name


def named(method: F) -> F:
    """A public method, or the function of a property, that messages from below it name.

    Of several that call one another it is the one that the user called.
    """
    name = method.__name__

    @functools.wraps(method)
    def known(self: Any, *args: Any, **kwargs: Any) -> Any:
        if ASKED.get() is not None:
            return method(self, *args, **kwargs)
        token = ASKED.set((self, name))
        try:
            return method(self, *args, **kwargs)
        finally:
            ASKED.reset(token)

    return cast(F, known)


def asked_for() -> str:
    """Name of what the user asked for, as it is written: ``"predict()"``, ``"fittedvalues"``; "this"
    where nobody said."""
    found = ASKED.get()
    return "this" if found is None else spelled(*found)


def takes_rows() -> bool:
    """Whether what the user asked for takes other rows in place of those of the fit."""
    found = ASKED.get()
    method = None if found is None else inspect.getattr_static(type(found[0]), found[1], None)
    return inspect.isfunction(method) and not {"newdata", "exog"}.isdisjoint(inspect.signature(method).parameters)


def spelled(owner: Any, name: str) -> str:
    """A method with its parentheses, a property without."""
    return f"{name}()" if inspect.isfunction(inspect.getattr_static(type(owner), name, None)) else name
