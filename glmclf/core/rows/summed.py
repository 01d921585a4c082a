"""Accumulators of a pass over blocks or parts, added field by field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, Self

import numpy as np

HOW = "sum"  # where a field's metadata say how its values of two parts become one


class Summed:
    """A dataclass that is summed over parts: ``a + b`` adds field by field, in the order of the parts.

    Numbers, arrays and lists are added by ``+`` (so that lists are joined), and so is whatever else knows it: another
    `Summed`, say. Tuples are added entry by entry, dicts key by key, of sets the sum is the union. None, of either,
    makes None: a part that cannot say leaves the sum unsaid. A field that needs another rule names it in its metadata,
    by `added_by`.

    Examples
    --------
    >>> import numpy as np
    >>> from dataclasses import dataclass, field
    >>> @dataclass(frozen=True)
    ... class Range(Summed):
    ...     n: int
    ...     total: float | None
    ...     low: float = field(metadata=added_by(min))
    ...     by_part: dict[int, int]
    >>> Range(2, 3.0, 1.0, {0: 2}) + Range(4, None, -1.0, {1: 4})
    Range(n=6, total=None, low=-1.0, by_part={0: 2, 1: 4})
    """

    __slots__ = ()

    def __add__(self, other: Self) -> Self:
        rules = ((f.name, f.metadata.get(HOW, added)) for f in fields(self))  # type: ignore[arg-type]
        return type(self)(*(rule(getattr(self, name), getattr(other, name)) for name, rule in rules))


class SumsSideBySide(list):
    """Several sums, added one by one; without any it is the sum over no rows."""

    def __add__(self, other: list) -> Self:
        if not self or not other:
            return self if self else type(self)(other)
        return type(self)(a + b for a, b in zip(self, other, strict=True))


def added_by(rule: Callable[[Any, Any], Any]) -> dict[str, Any]:
    """The metadata of a field of which ``rule(a, b)`` is the value of both parts: `np.minimum`, `joined`, `first`."""
    return {HOW: rule}


def added(a: Any, b: Any) -> Any:
    """The sum of two values of a field; None if either is None."""
    if a is None or b is None:
        return None
    if type(a) is tuple:
        return tuple(added(x, y) for x, y in zip(a, b, strict=True))
    if type(a) is dict:
        return {**a, **b, **{key: added(a[key], b[key]) for key in a if key in b}}
    if isinstance(a, set | frozenset):
        return a | b
    return a + b


def joined(a: Any, b: Any) -> Any:
    """Sum a + b, where None is nothing."""
    return b if a is None else a if b is None else a + b


def stacked(a: Any, b: Any) -> Any:
    """Rows of one array after those of the other; None if either is None."""
    return None if a is None or b is None else np.concatenate([a, b])


def first(a: Any, _: Any) -> Any:
    """The value of the first part: a setting that all parts share."""
    return a
