"""What transforms remember of a stream is what they remember of its rows in memory.

States by order statistics agree to the last bit; sums are taken in another order, which is rounding: 1e-12.
"""

import functools
import itertools
import operator
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from patsy.state import stateful_transform

from glmclf.data.formula import memory
from glmclf.data.formula.factors import resolve
from glmclf.data.formula.memory import memorise, memorise_all
from glmclf.data.table.frame import read_column
from glmclf.data.transforms import values
from glmclf.errors import DataError

ORDER = [  # these take no sums
    "rbf(x, df=3)",
    "rbf(x, [-1, 0.5], scale=0.7)",
    "sigmoid(np.log(z), df=2)",
    "hinge(x, knots=[-0.5, 0, 0.5])",
    "qcut(x, 4)",
    "C(qcut(x, 3), Sum)",
    "cut(x, [-np.inf, -1, 0, np.inf])",
    "cut(z, 3, right=False)",
    "cut(k, 3)",
    "bs(x, df=6)",
    "bs(x, df=5, degree=2, include_intercept=True)",
    "bs(k, 3)",
    "bs(z, knots=[1, 2], lower_bound=0, upper_bound=4)",
    "bs(z, df=5, knots=[1, 2])",
    "cr(x, df=4)",
    "cr(k, df=3)",
    "cr(x, knots=[-0.5, 0.5])",
    "cr(x, df=4, lower_bound=-1, upper_bound=1)",
    "cr(x, df=3, constraints=[[1, 2, 3, 4]])",
    "cc(z, df=5)",
    "te(cr(x, df=3), cc(z, df=3))",
]
SUMS = [
    "poly(x, 3)",
    "poly(k, degree=2)",
    "sigmoid(x, [0])",
    "center(x)",
    "center(np.column_stack([x, z]))",
    "center(k) + 1",
    "standardize(x)",
    "standardize(np.column_stack([x, z]), ddof=1)",
    "scale(z, rescale=False)",
    "cr(x, df=3, constraints='center')",
    "cc(z, df=3, constraints='center')",
    "te(cr(x, df=3), cc(z, df=3), constraints='center')",
    "bs(center(x), df=5)",
    "poly(standardize(np.log(z)), 2)",
    "te(poly(x, 2), rbf(z, df=3))",
    "standardize(x) * center(z)",
]
THREE = [1, 80]
SEVEN = [1, 20, 20, 26, 90, 119]  # one is empty, one constant
PARTS = [[], THREE, SEVEN]


def table(n=120, seed=3):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame({"x": rng.normal(size=n), "z": rng.uniform(0.5, 3, n), "k": rng.integers(-3, 4, n)})
    data.loc[20:25, ["x", "z"]] = 0.625
    data.loc[20:25, "k"] = 2
    return data.assign(w=rng.integers(1, 4, n).astype(float), g="a")


def columns(frame):
    return {name: read_column(frame[name], name) for name in frame}


class Partitions:
    """A frame in parts; `passes` counts how often they were read."""

    def __init__(self, frame, cuts, weights=None, sent=lambda g: g):
        places = [0, *cuts, len(frame)]
        self.parts = [frame.iloc[a:b] for a, b in itertools.pairwise(places)]
        self.times = [None if weights is None else part[weights].to_numpy() for part in self.parts]
        self.columns = [columns(part) for part in self.parts]
        self.sent, self.passes = sent, 0

    def total(self, g):
        self.passes += 1
        g = self.sent(g)
        return functools.reduce(operator.add, [g(c, t, 0) for c, t in zip(self.columns, self.times)])


def names(frame):
    return list(frame.columns)


def in_memory(code, frame, namespace=None):
    e = resolve(code, names(frame), namespace or {})
    memorise(e, columns(frame))
    return e


def streamed(codes, partitions, namespace=None):
    expressions = [resolve(code, names(partitions.parts[0]), namespace or {}) for code in codes]
    memorise_all(expressions, partitions.total)
    return expressions


def as_numbers(value):
    value = getattr(value, "data", value) if not isinstance(value, np.ndarray) else value
    return np.asarray(value.codes if isinstance(value, pd.Categorical) else value, dtype=float)


def same(a, b, frame, rtol):
    """Equal states, of equal types, and equal values."""
    assert list(a.transforms) == list(b.transforms)
    for name in a.transforms:
        one, other = vars(a.transforms[name]), vars(b.transforms[name])
        assert set(one) == set(other)
        for key, value in one.items():
            assert type(value) is type(other[key]) or np.isscalar(value), key
            if isinstance(value, (np.ndarray, np.number, float)):
                assert np.asarray(value).dtype == np.asarray(other[key]).dtype
                np.testing.assert_allclose(
                    np.asarray(other[key], float), np.asarray(value, float), rtol=rtol, atol=rtol and 1e-13
                )
            else:
                assert other[key] == value
    found = as_numbers(b.evaluate(columns(frame)))
    np.testing.assert_allclose(found, as_numbers(a.evaluate(columns(frame))), rtol=10 * rtol, atol=10 * rtol)


@pytest.fixture
def few(monkeypatch):
    """So few rows gathered, distinct values held and bits settled that every stage of a search is gone through."""
    monkeypatch.setattr(values, "BITS_PER_PASS", 8)
    monkeypatch.setattr(values, "MAX_SORTED_VALUES", 3)
    monkeypatch.setattr(values, "MAX_DISTINCT_VALUES", 50)


@pytest.mark.parametrize("code", ORDER)
def test_states_by_order_are_those_in_memory(code, few):
    data = table()
    expected = in_memory(code, data)
    for cuts in PARTS:
        same(expected, streamed([code], Partitions(data, cuts))[0], data, rtol=0)


@pytest.mark.parametrize("code", SUMS)
def test_states_by_sums_are_those_in_memory(code):
    data = table()
    expected = in_memory(code, data)
    for cuts in PARTS:
        same(expected, streamed([code], Partitions(data, cuts))[0], data, rtol=1e-12)


@pytest.mark.parametrize("code", [*ORDER, *SUMS])
def test_frequency_weights_are_repeated_rows(code):
    data = table()
    rtol = 0 if code in ORDER else 1e-12
    repeated = in_memory(code, data.loc[data.index.repeat(data.w.astype(int))])
    same(repeated, streamed([code], Partitions(data, SEVEN, "w"))[0], data, rtol)
    at_hand = resolve(code, names(data), {})
    memorise(at_hand, columns(data), data.w.to_numpy())
    same(repeated, at_hand, data, rtol)


def test_rows_of_weight_zero_are_not_seen():
    data = table()
    outlying = pd.concat([data, data.iloc[:2].assign(x=[99.0, -99.0], w=0.0)], ignore_index=True)
    for code in ("bs(x, df=5)", "poly(x, 2)", "qcut(x, 3)"):
        found = streamed([code], Partitions(outlying, [30], "w"))[0]
        same(streamed([code], Partitions(data, [30], "w"))[0], found, data, rtol=1e-12)


@pytest.mark.parametrize("code", ["poly(x, 3)", "qcut(x, 4)", "standardize(x)", "cr(x, df=4, constraints='center')"])
def test_far_from_zero(code):
    data = table()
    data["x"] = data.x + 1e6
    same(in_memory(code, data), streamed([code], Partitions(data, SEVEN))[0], data, rtol=1e-9)


def test_transforms_of_one_formula_share_passes():
    data, codes = table(), ["poly(x, 3)", "bs(z, df=5)", "qcut(k, 3)", "standardize(x)", "center(z)", "x", "np.log(z)"]
    alone = []
    for code in codes:
        partitions = Partitions(data, THREE)
        streamed([code], partitions)
        alone.append(partitions.passes)
    assert alone == [5, 2, 2, 1, 1, 0, 0]
    partitions = Partitions(data, THREE)
    for code, e in zip(codes, streamed(codes, partitions)):
        same(in_memory(code, data), e, data, rtol=1e-12)
    assert partitions.passes == max(alone)


def test_nested_transforms_take_their_turns():
    data, partitions = table(), Partitions(table(), THREE)
    codes = ["bs(standardize(center(x)), df=4)", "te(poly(x, 2), center(z))", "center(z)"]
    for code, e in zip(codes, streamed(codes, partitions)):
        same(in_memory(code, data), e, data, rtol=1e-12)
    assert partitions.passes == 4  # of poly, meanwhile center, standardize and bs


def test_passes_are_sent_to_other_processes():
    cloudpickle = pytest.importorskip("cloudpickle")
    sizes = []

    def sent(g):
        text = cloudpickle.dumps(g)
        sizes.append(len(text))
        return pickle.loads(text)

    data = table()
    codes = [*ORDER, *SUMS, "bs(shift(x), df=4)"]
    namespace = {"shift": lambda x: x + 1}
    for code in codes:
        found = streamed([code], Partitions(data, THREE, sent=sent), namespace)[0]
        same(in_memory(code, data, namespace), found, data, rtol=1e-12)
    assert max(sizes) < 20_000


# ------------------------------------------------------------------------------------------------------ bad input
@pytest.mark.parametrize(
    "code",
    [
        "poly(x, 1.5)",
        "poly(k, 8)",
        "poly(x * 0, 2)",
        "poly(g, 2)",
        "poly(np.column_stack([x, z]), 2)",
        "poly(x, 2, 3)",
        "rbf(x)",
        "rbf(k, df=8)",
        "rbf(x, df=3, scale=0)",
        "hinge(x)",
        "hinge(x, [9, 0])",
        "qcut(k, 9)",
        "qcut(k, 7)",
        "qcut(x * 0, 2)",
        "cut(x, [-9, 9])",
        "cut(x, [0, 1])",
        "standardize(x * 0)",
        "standardize(np.column_stack([x, z * 0 + 2]))",
        "standardize(x, width=2)",
        "bs(x, df=2)",
        "bs(x)",
        "bs(x, 5, degree=-1)",
        "bs(x, 5, degree=2.5)",
        "bs(x, df=5, lower_bound=0)",
        "bs(x, df=5, width=2)",
        "bs(np.column_stack([x, z]), 4)",
        "cr(x)",
        "cr(x, df=1)",
        "cr(x * 0, df=4)",
        "cr(x, df=4, lower_bound=7, upper_bound=8)",
        "cr(x, df=4, lower_bound=1, upper_bound=0)",
        "cr(x, df=4, knots=[0])",
        "cr(x, df=3, constraints=[1, 2])",
        "cc(x, df=3, constraints='middle')",
        "center(g)",
        "center(x > 0)",
    ],
)
def test_what_makes_no_basis_is_refused_as_in_memory(code):
    data = table()
    with pytest.raises(DataError) as expected:
        in_memory(code, data)
    with pytest.raises(DataError) as caught:
        streamed([code], Partitions(data, SEVEN))
    assert code.partition("(")[0] in str(caught.value)
    rows = re.compile(r"shape \(\d+")  # of a partition
    assert rows.sub("", str(caught.value)) == rows.sub("", str(expected.value))


def test_no_rows():
    with pytest.raises(DataError, match=r'"poly\(x, 2\)": there are no rows'):
        streamed(["poly(x, 2)"], Partitions(table().iloc[:0], [0, 0]))


def test_settings_that_differ_between_partitions():
    with pytest.raises(DataError, match=r"hinge.*same in all partitions"):
        streamed(["hinge(x, [x.mean()])"], Partitions(table(), [60]))


def test_infinite_values_are_not_remembered():
    data = table().assign(z=lambda d: d.z.where(d.index != 99, 0.0))
    with pytest.raises(DataError, match=r"bs\(np.log\(z\), 4\).*infinite"):
        streamed(["bs(np.log(z), 4)"], Partitions(data, [60]))


class Ranks:
    """A transform of the caller's: how many of the training rows are below."""

    def memorize_chunk(self, x):
        self.seen = np.sort(x)

    def memorize_finish(self):
        pass

    def transform(self, x):
        return np.searchsorted(self.seen, x)


def test_transforms_of_the_caller_see_repeated_rows_and_no_stream(monkeypatch):
    data, namespace = table(), {"ranks": stateful_transform(Ranks)}
    e = resolve("ranks(x)", names(data), namespace)
    memorise(e, columns(data), data.w.to_numpy())
    expected = np.searchsorted(np.sort(np.repeat(data.x, data.w.astype(int))), data.x)
    np.testing.assert_array_equal(e.evaluate(columns(data)), expected)
    with pytest.raises(NotImplementedError, match=r"ranks\(x\).*stream"):
        streamed(["ranks(x)"], Partitions(data, [60]), namespace)
    monkeypatch.setattr(memory, "MAX_REPEATED_ROWS", 100)
    with pytest.raises(NotImplementedError, match=r"ranks\(x\).*freq_weights"):
        memorise(e, columns(data), data.w.to_numpy())
