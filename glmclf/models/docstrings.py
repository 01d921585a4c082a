"""Docstrings of models that share their arguments."""

from __future__ import annotations

from typing import TypeVar

C = TypeVar("C", bound=type)


def documents_parameters(cls: C) -> C:
    """Put the sections of the base class' docstring in place of ``{parameters}`` in that of a class."""
    about, shared = cls.__doc__, cls.__base__.__doc__
    if about is not None and shared is not None:  # python -OO leaves none
        cls.__doc__ = about.replace("{parameters}", shared.split("\n", 2)[2].strip())
    return cls
