"""Class moments: against exact sums, and what must not change them."""

import pickle

import mpmath as mp
import numpy as np
import pytest

from glmclf.core.design.dense import Dense
from glmclf.core.gaussian.moments import ClassMoments, class_moments
from glmclf.core.rows.blocks import Blocks

N, P, K = 400, 3, 4


@pytest.fixture
def data():
    rng = np.random.default_rng(7)
    y = rng.integers(0, K, N)
    X = rng.normal(size=(N, P)) @ rng.normal(size=(P, P)) + rng.normal(size=(K, P))[y]
    return X, y, rng.integers(0, 4, N).astype(float)


def moments(X, y, w=None, classes=K, **blocks):
    return class_moments(Blocks(Dense(X), y, w, **blocks), classes)


def exact(X, y, w):
    """Counts, means and scatter of the doubles X at forty digits, then rounded."""
    with mp.workdps(40):
        counts, means, scatter = [], [], []
        for k in range(K):
            rows = [
                (mp.mpf(float(f)), [mp.mpf(float(v)) for v in x]) for x, c, f in zip(X, y, w, strict=True) if c == k
            ]
            n = mp.fsum(f for f, _ in rows)
            m = [mp.fsum(f * x[j] for f, x in rows) / n for j in range(P)]
            counts.append(float(n))
            means.append([float(v) for v in m])
            scatter.append(
                [
                    [float(mp.fsum(f * (x[a] - m[a]) * (x[b] - m[b]) for f, x in rows)) for b in range(P)]
                    for a in range(P)
                ]
            )
    return np.array(counts), np.array(means), np.array(scatter)


def close(a: ClassMoments, b: ClassMoments, rtol=1e-12):
    np.testing.assert_allclose(a.counts, b.counts, rtol=rtol)
    np.testing.assert_allclose(a.means, b.means, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(a.scatter, b.scatter, rtol=rtol, atol=rtol * np.abs(b.scatter).max())


def relative_error(scatter, true):
    scale = np.sqrt(np.einsum("kii->ki", true))
    return np.abs((scatter - true) / (scale[:, :, None] * scale[:, None, :])).max()


@pytest.mark.parametrize("size", [7, 64, 10_000])
@pytest.mark.parametrize("weighted", [False, True])
def test_exact_sums(data, size, weighted):
    X, y, w = data
    found = moments(X, y, w if weighted else None, size=size)
    counts, means, scatter = exact(X, y, w if weighted else np.ones(N))
    assert found.counts.tolist() == counts.tolist()
    np.testing.assert_allclose(found.means, means, rtol=1e-13, atol=1e-14)
    assert relative_error(found.scatter, scatter) < 1e-14


@pytest.mark.parametrize("size", [7, 64, 10_000])
def test_an_offset_of_1e8_costs_only_the_rounding_of_the_data(data, size):
    X, y, _ = data
    X = X + 1e8  # the doubles nearest to the shifted numbers are the data here
    found = moments(X, y, size=size)
    _, means, scatter = exact(X, y, np.ones(N))
    np.testing.assert_allclose(found.means, means, rtol=3e-16)
    assert relative_error(found.scatter, scatter) < 2e-8
    plain = np.array([X[y == k].T @ X[y == k] for k in range(K)]) - np.array(
        [np.sum(y == k) * np.outer(m, m) for k, m in enumerate(means)]
    )
    assert relative_error(plain, scatter) > 0.01  # what sums of squares about zero make of them


def test_within_between_total(data):
    X, y, w = data
    found = moments(X, y, w)
    mean = np.average(X, axis=0, weights=w)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(found.total, (X - mean).T @ ((X - mean) * w[:, None]), rtol=1e-11, atol=1e-10)
    np.testing.assert_allclose(found.within + found.between, found.total)
    np.testing.assert_allclose(found.within, found.scatter.sum(axis=0))
    assert (found.n, found.K, found.p, found.by_class) == (w.sum(), K, P, True)


def test_the_sum_of_two_parts_is_the_whole(data):
    X, y, w = data
    a, b, c = (moments(X[r], y[r], w[r]) for r in (slice(90), slice(90, 111), slice(111, None)))
    close((a + b) + c, moments(X, y, w))
    close(a + (b + c), moments(X, y, w))


def test_an_empty_side_leaves_the_other_as_it_is(data):
    X, y, _ = data
    some = moments(X[y < 2] + 1e8, y[y < 2])
    others = moments(X[y >= 2] + 1e8, y[y >= 2])
    for both in (some + others, others + some):
        np.testing.assert_array_equal(both.means[:2], some.means[:2])
        np.testing.assert_array_equal(both.scatter[:2], some.scatter[:2])
        np.testing.assert_array_equal(both.scatter[2:], others.scatter[2:])
    assert some.counts[2] == 0 and np.isfinite(some.mean).all() and np.isfinite(some.between).all()


def test_a_weight_is_a_repeated_row(data):
    X, y, w = data
    copies = w.astype(int)
    close(moments(X, y, w), moments(np.repeat(X, copies, axis=0), np.repeat(y, copies)))


def test_the_order_of_rows_does_not_matter(data):
    X, y, w = data
    order = np.random.default_rng(1).permutation(N)
    close(moments(X[order], y[order], w[order], size=50), moments(X, y, w, size=50))


def test_threads_change_no_bit(data):
    X, y, w = data
    one, three = (moments(X, y, w, size=16, n_threads=t) for t in (1, 3))
    for name in ("counts", "means", "scatter"):
        np.testing.assert_array_equal(getattr(one, name), getattr(three, name))


@pytest.mark.parametrize("form", [np.asfortranarray, lambda X: X[:, ::-1][:, ::-1], lambda X: np.repeat(X, 2, 0)[::2]])
def test_memory_layouts(data, form):
    X, y, w = data
    close(moments(form(X), y, w, size=64), moments(X, y, w, size=64), rtol=1e-14)


def test_float32_and_small_codes(data):
    X, y, _ = data
    close(moments(X.astype(np.float32), y.astype(np.int8)), moments(X.astype(np.float32).astype(float), y), rtol=1e-14)


@pytest.mark.parametrize("value", [0.1, -1e8 / 3, 7e100])
def test_a_constant_has_no_scatter(value):
    y = np.arange(5000) % 2
    found = moments(np.full((5000, 1), value), y, classes=2, size=999)
    assert (np.sqrt(np.abs(found.scatter[:, 0, 0]) / 2500) <= 8 * np.finfo(float).eps * abs(value)).all()
    np.testing.assert_allclose(found.means, value, rtol=1e-15)


@pytest.mark.parametrize("size", [97, 20])
@pytest.mark.parametrize("value", [0.1, 1 / 3, 19.99, 123456.789])
def test_a_weighted_constant_has_no_scatter_below_zero(value, size):
    """Sums of squares are not negative, whatever the weights and the blocks."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        y, w = rng.integers(0, 3, 97), rng.uniform(0.1, 3, 97)
        found = moments(np.column_stack([np.full(97, value), rng.normal(size=97)]), y, w, classes=3, size=size)
        sd = np.sqrt(found.total_squares[0] / found.n)
        assert (found.class_squares >= 0).all() and sd <= 8 * np.finfo(float).eps * value


def test_many_features_keep_only_the_sum_of_the_scatters(data, monkeypatch):
    X, y, w = data
    whole = moments(X, y, w, size=64)
    monkeypatch.setattr("glmclf.core.gaussian.moments.MAX_SCATTER_NUMBERS", K * P * P - 1)
    found = moments(X, y, w, size=64)
    assert not found.by_class and found.scatter.shape == (P, P)
    np.testing.assert_allclose(found.within, whole.within, rtol=1e-12)
    np.testing.assert_allclose(found.means, whole.means, rtol=1e-14)
    np.testing.assert_allclose(found.class_squares, exact(X, y, w)[2].diagonal(axis1=1, axis2=2), rtol=1e-12)


@pytest.mark.parametrize("kind", ["diag", "spherical"])
def test_more_features_yet_keep_only_the_sums_of_squares(data, monkeypatch, kind):
    X, y, w = data
    whole, expected = moments(X, y, w, size=64), exact(X, y, w)[2].diagonal(axis1=1, axis2=2)
    monkeypatch.setattr("glmclf.core.gaussian.moments.MAX_SCATTER_NUMBERS", P * P - 1)
    found = class_moments(Blocks(Dense(X), y, w, size=64), K, kind)
    assert found.scatter.size == 0
    np.testing.assert_allclose(found.class_squares, expected, rtol=1e-12)
    np.testing.assert_allclose(found.sums_of_squares(True)[1][0], expected.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.total_squares, np.diagonal(whole.total), rtol=1e-12)
    np.testing.assert_allclose(found.scaled(2.0).class_squares, 2 * expected, rtol=1e-12)
    with pytest.raises(ValueError, match="products of 3 features, 9 numbers"):
        found.total


def test_what_is_computed_from_the_moments_is_not_pickled(data):
    found = moments(*data)
    size = len(pickle.dumps(found))
    assert found.total.shape == (P, P) and len(pickle.dumps(found)) == size



def test_nothing_passed_in_is_modified(data):
    X, y, w = data
    before = X.copy(), y.copy(), w.copy()
    moments(X, y, w)
    for a, b in zip((X, y, w), before, strict=True):
        np.testing.assert_array_equal(a, b)
