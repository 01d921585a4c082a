"""Numbers of which only sums over chunks are asked: moments, quantiles and distinct values against numpy on the whole.

Order statistics are exact, hence quantiles by numpy's own interpolation, too. Moments are sums: rounding alone.
"""

import functools
import operator
import pickle

import numpy as np
import pytest

from glmclf.data.transforms import values
from glmclf.data.transforms.values import InMemory, Moments, StreamedValues, together

PROBS = np.array([0.0, 1e-9, 0.1, 1 / 3, 0.5, 0.7, 0.999, 1.0])


def chunks(x, times=None, cuts=(0.1, 0.1, 0.35, 0.8)):
    """Uneven pieces, one of them a single value, and their weights; empty ones hold nothing to sum."""
    places = [0, *(int(c * len(x)) for c in cuts), len(x)]
    pieces = [slice(a, b) for a, b in zip(places, places[1:]) if b > a]
    return [(x[p], None if times is None else times[p]) for p in pieces]


class Stream:
    """Chunks; `passes` counts how often they were read."""

    def __init__(self, x, times=None):
        self.chunks, self.passes = chunks(x, times), 0

    def total(self, f):
        self.passes += 1
        f = pickle.loads(pickle.dumps(f))
        return functools.reduce(operator.add, [f(x, t) for x, t in self.chunks])

    @property
    def values(self):
        return StreamedValues(self.total(Moments.of))

    def run(self, steps):
        answer = None
        while True:
            try:
                f = steps.send(answer)
            except StopIteration as stop:
                return stop.value
            answer = self.total(f)


def adversarial(n=1000, seed=11):
    rng = np.random.default_rng(seed)
    wide = rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(-300, 300, n)
    zeros = np.where(rng.uniform(size=n) < 0.6, rng.choice([0.0, -0.0], n), rng.normal(size=n))
    return {
        "normal": rng.normal(size=n),
        "far from 0": 1e9 + rng.normal(size=n),
        "ties": rng.integers(0, 7, n).astype(float),
        "huge range": wide,
        "negative": -np.abs(wide) - 1e-300,
        "denormal": rng.integers(-50, 50, n) * 5e-324,
        "many zeros": zeros,
        "all equal but one": np.where(np.arange(n) == 77, 4.0, 3.0),
        "all equal": np.full(n, -2.5),
        "neighbours": np.nextafter(1.0, rng.choice([0.0, 2.0], n)),
        "sorted": np.sort(rng.normal(size=n)),
        "two": np.array([5.0, -1.0]),
        "one": np.array([0.1]),
    }


DATA = adversarial()
kinds = pytest.mark.parametrize("kind", DATA)
gathered = pytest.mark.parametrize("few", [1, 200_000])


def repeats(n, seed=5):
    return np.random.default_rng(seed).integers(1, 6, n).astype(float)


# ------------------------------------------------------------------------------------------------------ quantiles
@gathered
@kinds
def test_quantiles_are_numpy_s_to_the_last_bit(kind, few, monkeypatch):
    monkeypatch.setattr(values, "MAX_SORTED_VALUES", few)
    x = DATA[kind]
    stream = Stream(x)
    np.testing.assert_array_equal(stream.run(stream.values.quantiles(PROBS)), np.quantile(x, PROBS))
    assert stream.passes <= 1 + 4 + 1  # moments, four levels of 16 bits, the rows gathered


@gathered
@kinds
def test_quantiles_of_weighted_rows_are_those_of_repeated_rows(kind, few, monkeypatch):
    monkeypatch.setattr(values, "MAX_SORTED_VALUES", few)
    x = DATA[kind]
    times = repeats(len(x))
    whole, stream = np.repeat(x, times.astype(int)), Stream(x, times)
    np.testing.assert_array_equal(stream.run(stream.values.quantiles(PROBS)), np.quantile(whole, PROBS))


@kinds
def test_quantiles_of_weighted_rows_in_memory(kind):
    x = DATA[kind]
    times = repeats(len(x))
    found = Stream(x).run(InMemory(x, times).quantiles(PROBS))  # asks for no sum
    np.testing.assert_array_equal(found, np.quantile(np.repeat(x, times.astype(int)), PROBS))


def test_all_levels_of_a_million_rows(monkeypatch):
    monkeypatch.setattr(values, "MAX_SORTED_VALUES", 1)
    x = np.random.default_rng(2).normal(size=1_000_000)
    x[::3] = np.round(x[::3], 1)
    stream, probs = Stream(x), np.linspace(0, 1, 12)[1:-1]
    np.testing.assert_array_equal(stream.run(stream.values.quantiles(probs)), np.quantile(x, probs))
    assert stream.passes == 1 + 4


def test_few_candidates_are_gathered_at_once():
    stream = Stream(DATA["normal"])
    stream.run(stream.values.quantiles(PROBS))
    assert stream.passes == 2


def test_keys_are_in_the_order_of_the_doubles():
    bits = np.random.default_rng(0).integers(0, 2**64, 100_000, dtype=np.uint64)
    x = bits.view(np.float64)
    x = np.sort(np.concatenate([x[np.isfinite(x)], [0.0, 5e-324, -5e-324, 1.7e308, -1.7e308]]))
    keys = values._keys(x)
    assert (keys[1:] >= keys[:-1]).all() and len(np.unique(keys)) == len(np.unique(x))
    np.testing.assert_array_equal(values._numbers(keys), x)
    assert values._keys(np.array([-0.0])) == values._keys(np.array([0.0]))


# ------------------------------------------------------------------------------------------------ distinct values
@pytest.mark.parametrize("bound", [1, 3, 6, 7, 8, 10_000])
@kinds
def test_distinct_values_up_to_a_bound(kind, bound):
    x = DATA[kind]
    expected, stream = min(len(np.unique(x)), bound + 1), Stream(x)
    assert stream.run(stream.values.distinct(bound)) == expected
    assert stream.run(InMemory(x).distinct(bound)) == expected


@pytest.mark.parametrize("most", [1, 7, 500, 10**6])
@pytest.mark.parametrize("kind", ["normal", "ties", "many zeros", "huge range", "all equal", "two"])
def test_quantiles_of_distinct_values(kind, most, monkeypatch):
    monkeypatch.setattr(values, "MAX_DISTINCT_VALUES", most)
    x = DATA[kind] if most > 7 else DATA[kind][:60]
    low, high = np.quantile(x, [0.0, 0.9])
    among = np.unique(x[(x >= low) & (x <= high)])
    stream = Stream(x)
    found, count = stream.run(stream.values.distinct_quantiles(PROBS, low, high))
    assert count == len(among)
    np.testing.assert_array_equal(found, np.quantile(among, PROBS))
    at_hand = stream.run(InMemory(x).distinct_quantiles(PROBS, low, high))
    np.testing.assert_array_equal(at_hand[0], found)


def test_no_value_between_the_bounds():
    stream = Stream(DATA["ties"])
    found, count = stream.run(stream.values.distinct_quantiles(PROBS, 0.1, 0.9))
    assert count == len(found) == 0


# -------------------------------------------------------------------------------------------------------- moments
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["normal", "far from 0", "ties", "many zeros", "all equal but one", "sorted", "two"])
def test_moments(kind, weighted):
    x = DATA[kind]
    times = repeats(len(x)) if weighted else None
    whole = (x if times is None else np.repeat(x, times.astype(int))).astype(np.longdouble)
    mean = whole.mean()
    for v in (Stream(x, times).values, InMemory(x, times)):
        assert (v.n, v.low, v.high) == (len(whole), x.min(), x.max())
        np.testing.assert_allclose(v.mean, float(mean), rtol=1e-15, atol=1e-16)
        np.testing.assert_allclose(v.squares, float(((whole - mean) ** 2).sum()), rtol=1e-13)
        np.testing.assert_allclose(v.std, float(whole.std()), rtol=1e-13)
        np.testing.assert_allclose(float(v.total), float(whole.sum()), rtol=0, atol=1e-15 * float(abs(whole).sum()))


def test_moments_in_memory_are_numpy_s():
    x = DATA["far from 0"]
    v = InMemory(x)
    assert (v.mean, v.std, v.total) == (x.mean(), x.std(), x.sum(dtype=np.longdouble))


def test_moments_of_several_columns():
    x = np.column_stack([DATA["normal"], DATA["far from 0"], DATA["ties"]])
    times = repeats(len(x))
    v, whole = Stream(x, times).values, np.repeat(x, times.astype(int), axis=0)
    np.testing.assert_array_equal([v.low, v.high], [x.min(axis=0), x.max(axis=0)])
    np.testing.assert_allclose(v.mean, whole.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(v.squares, len(whole) * whole.astype(np.longdouble).var(axis=0), rtol=1e-12)


# --------------------------------------------------------------------------------------------------------- passes
def test_generators_run_together_share_their_passes(monkeypatch):
    monkeypatch.setattr(values, "MAX_SORTED_VALUES", 1)
    x = DATA["normal"]
    stream = Stream(x)
    v = stream.values

    def twice():
        both = yield from together(v.distinct(5), v.sum(_cubes))
        return [*both, (yield from v.sum(_cubes))]

    stream.passes = 0
    median, found = stream.run(together(v.quantiles(np.array([0.5])), twice()))
    assert stream.passes == 4
    assert median[0] == np.median(x) and found[0] == 6
    np.testing.assert_allclose(found[1:], (x**3).sum(), rtol=1e-13)


def _cubes(x, times):
    return (x**3).sum()
