"""Digests by which passes over a source are compared: exact, by place, the same for equal values of any type."""

import numpy as np
import pandas as pd
import pytest

from glmclf.data.source.digests import Digest
from glmclf.data.table.frame import read_column


def alike(a, b, places=True):
    return Digest.of(a).like(Digest.of(b), places)


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(3).normal(size=400)


@pytest.mark.parametrize("huge", [1e20, 9.969209968386869e36, np.inf, -np.inf, np.nan])
def test_a_change_beside_a_huge_value(x, huge):
    before, after = np.append(x, huge), np.append(x, huge)
    assert alike(before, after)
    after[7] = np.nextafter(after[7], 9)
    assert not alike(before, after) and not alike(before, after, places=False)


@pytest.mark.parametrize("by", [1, 97, 101, 128, 194])
def test_rows_in_another_order(x, by):
    assert not alike(x, np.roll(x, by)) and alike(x, np.roll(x, by), places=False)
    whole = (np.arange(400) // 97) * 1.0  # of few bits
    assert not alike(whole, np.roll(whole, by))


def test_parts_that_are_cut_or_come_in_another_order(x):
    def parts(*some):
        first, *others = (Digest.of(part).of_part(i) for i, part in enumerate(some))
        for other in others:
            first += other
        return first

    a, b, c = np.split(x, [100, 250])
    assert parts(a, b, c).like(parts(a.copy(), b, c))
    for other in (parts(a, c, b), parts(np.roll(x, 0)), parts(a, b[:100], np.append(b[100:], c))):
        assert not parts(a, b, c).like(other) and parts(a, b, c).like(other, places=False)


def test_equal_values_of_other_types():
    whole = np.array([0, 1, 2, 2**53, 2**60, -(2**63), -5], dtype=np.int64)
    same = [whole.astype(float), pd.Series(whole, dtype="Int64"), pd.Series(whole.tolist(), dtype="category")]
    assert all(alike(whole, values) for values in same)
    truth = np.array([True, False, True])
    labelled = pd.Series(truth).astype("category")
    assert alike(truth, truth.astype(int)) and alike(truth, labelled) and alike(truth, truth.astype("f4"))
    assert alike(np.array([0.0]), np.array([-0.0]))
    text = pd.Series(["b", None, "a"])
    assert alike(text, text.astype("category")) and alike(text, read_column(text, "g"))
    assert alike(pd.Series([1.0, np.nan]), pd.Series([1, None], dtype="Int64"))


def test_digits_that_floats_do_not_hold():
    some = np.array([2**53, 2**62, -(2**62), 2**63 - 1], dtype=np.int64)
    for i in range(4):
        other = some.copy()
        other[i] += 1 if i < 3 else -1
        assert not alike(some, other)
    top = np.array([2**64 - 1, 2**64 - 2], dtype=np.uint64)
    assert not alike(top, top[::-1])


def test_a_missing_value_is_none_of_the_others(x):
    lost = x.copy()
    lost[3] = np.nan
    assert not alike(x, lost) and not alike(lost, np.nan_to_num(lost))
    assert alike(lost, pd.Series(lost, dtype="Float64"))
