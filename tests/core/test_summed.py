"""Sums of accumulators, field by field."""

import operator
from dataclasses import dataclass, field

import numpy as np
import pytest

from glmclf.core.rows.summed import Summed, added, added_by, first, joined


@dataclass(frozen=True)
class Inner(Summed):
    n: int


@dataclass(frozen=True)
class Total(Summed):
    n: float
    low: np.ndarray = field(metadata=added_by(np.minimum))
    inner: tuple[Inner, ...] = ()
    rows: list[int] = field(default_factory=list)
    by_name: dict[str, int] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    squares: float | None = None
    unit: str = field(default="cm", metadata=added_by(first))
    any: bool = field(default=False, metadata=added_by(operator.or_))
    left: float | None = field(default=None, metadata=added_by(joined))


def test_each_field_has_its_sum():
    a = Total(1.5, np.array([1, 5]), (Inner(1), Inner(2)), [0], {"a": 1, "b": 2}, {"x"}, 1.0, "m", True, None)
    b = Total(2.0, np.array([2, 3]), (Inner(3), Inner(4)), [1, 2], {"b": 5, "c": 7}, {"y"}, None, "m", False, 4.0)
    both = a + b
    assert both.n == 3.5 and both.low.tolist() == [1, 3] and both.inner == (Inner(4), Inner(6))
    assert both.rows == [0, 1, 2] and both.by_name == {"a": 1, "b": 7, "c": 7} and both.seen == {"x", "y"}
    assert both.squares is None and both.unit == "m" and both.any is True and both.left == 4.0
    assert list(both.by_name) == ["a", "b", "c"] and a.rows == [0]


def test_the_order_of_additions_is_that_of_the_parts():
    parts = [0.1, 0.2, 0.3, 1e16, -1e16]
    total = Total(parts[0], np.zeros(1))
    for part in parts[1:]:
        total = total + Total(part, np.zeros(1))
    assert total.n == sum(parts[1:], parts[0])


def test_values():
    assert added(None, 1) is None and joined(None, 1) == 1 == joined(1, None) and joined(1, 2) == 3
    assert joined([1], [2]) == [1, 2] and added({1: {2: 3}}, {1: {2: 4}}) == {1: {2: 7}}
    with pytest.raises(ValueError):
        added((1,), (1, 2))
