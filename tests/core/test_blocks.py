"""Sums over blocks of rows: the same whatever the threads, the block size, the memory order and the number type."""

import threading

import numpy as np
import pytest
from core.every_link import LINKS

from glmclf.core.design.dense import Dense
from glmclf.core.likelihood.objective import Objective
from glmclf.core.likelihood.pointwise import Binomial
from glmclf.core.rows.blocks import RUN_ROWS, Blocks, alone, one_blas_thread

# sums of n terms in another order differ by roundings, about sqrt(n) of them
RTOL = 1e-12
N, K = 20_011, 4


@pytest.fixture(scope="module")
def rows():
    generator = np.random.default_rng(5)
    X = np.column_stack([np.ones(N), generator.normal(size=(N, K - 1))])
    m = generator.integers(1, 5, N).astype(float)
    return {
        "X": X,
        "y": generator.binomial(m.astype(int), 0.3).astype(float),
        "m": m,
        "offset": generator.normal(size=N),
        "weights": generator.integers(1, 4, N).astype(float),
        "theta": np.array([-0.3, 0.2, -0.5, 0.1]),
    }


def evaluate(rows, *, X=None, link="logit", expected=True, **options):
    X = rows["X"] if X is None else X
    blocks = Blocks(Dense(X), rows["y"], rows["m"], rows["offset"], rows["weights"], **options)
    e = Objective(Binomial(LINKS[link]), blocks)(rows["theta"], expected)
    return e.value, e.score, e.information


def assert_same(a, b, rtol=0.0):
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol * np.abs(y).max())


@pytest.mark.parametrize("link", LINKS)
def test_the_number_of_threads_changes_no_bit(rows, link):
    one = evaluate(rows, link=link, n_threads=1, size=1024)
    for n_threads in (2, 3, 7):
        for a, b in zip(one, evaluate(rows, link=link, n_threads=n_threads, size=1024), strict=True):
            np.testing.assert_array_equal(a, b)


def test_default_blocks_and_threads_change_no_bit(rows):
    for a, b in zip(evaluate(rows), evaluate(rows, n_threads=1), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("size", [1, 7, 1000, N - 1, N, N + 1, 10 * N])
def test_block_size_changes_no_more_than_rounding(rows, size):
    if size == 1:
        rows = {name: a if name == "theta" else a[:301] for name, a in rows.items()}
    assert_same(evaluate(rows, size=size, n_threads=1), evaluate(rows, size=4096, n_threads=1), RTOL)


@pytest.mark.parametrize("expected", [True, False])
@pytest.mark.parametrize("link", LINKS)
def test_the_sum_is_the_plain_formula(rows, link, expected):
    X, w = rows["X"], rows["weights"]
    ll, u, h = Binomial(LINKS[link]).pointwise(rows["y"], rows["m"], X @ rows["theta"] + rows["offset"], expected)
    plain = (w @ ll), X.T @ (w * u), (X * (w * h)[:, None]).T @ X
    assert_same(evaluate(rows, link=link, expected=expected), plain, RTOL)


@pytest.mark.parametrize(
    "make",
    [
        np.ascontiguousarray,
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: np.asfortranarray(X)[:, ::-1][:, ::-1],
    ],
)
def test_memory_order_changes_no_more_than_rounding(rows, make):
    X = make(rows["X"])
    before = X.copy()
    assert_same(evaluate(rows, X=X), evaluate(rows), RTOL)
    np.testing.assert_array_equal(X, before)


def test_float32_is_read_as_it_is_and_summed_in_double(rows):
    """The numbers of the columns rounded to float32, but arithmetic in float64."""
    X = rows["X"].astype(np.float32)
    assert_same(evaluate(rows, X=X), evaluate(rows, X=X.astype(float)), RTOL)
    assert X.dtype == np.float32


def test_missing_arrays_stay_none():
    X = Dense(np.ones((10, 1)))
    assert all(b[1] is None and b[2].shape[0] == b[0].shape[0] for b in Blocks(X, None, np.arange(10), size=3))
    assert [len(b[2]) for b in Blocks(X, None, np.arange(10), size=3)] == [3, 3, 3, 1]


def test_absent_weights_are_ones_and_absent_offsets_zeros(rows):
    X, y, one = rows["X"], rows["y"], np.ones(N)
    binary = (y > 0).astype(float)
    for likelihood in (Binomial(LINKS["probit"]), Binomial(LINKS["logit"], binary=True)):
        a = Objective(likelihood, Blocks(Dense(X), binary, None, None, None))(rows["theta"])
        b = Objective(likelihood, Blocks(Dense(X), binary, one, 0 * one, one))(rows["theta"])
        assert_same((a.value, a.score, a.information), (b.value, b.score, b.information), 1e-15)


def test_gradient_is_the_evaluation_without_information(rows):
    blocks = Blocks(Dense(rows["X"]), rows["y"], rows["m"], rows["offset"], rows["weights"])
    objective = Objective(Binomial(LINKS["cloglog"]), blocks)
    full, part = objective(rows["theta"]), objective.gradient(rows["theta"])
    assert part.value == full.value
    np.testing.assert_array_equal(part.score, full.score)
    assert np.all(part.information == 0)


@pytest.mark.parametrize("step", [1, 2, 10, N])
def test_thinned(rows, step):
    blocks = Blocks(Dense(rows["X"]), rows["y"], None, rows["offset"])
    thin = blocks.every(step)
    picked = [np.concatenate([np.atleast_1d(b[i]) for b in thin]) for i in (1, 3)]
    some = np.arange(N) // RUN_ROWS % step == 0
    np.testing.assert_array_equal(picked[0], rows["y"][some])
    np.testing.assert_array_equal(picked[1], rows["offset"][some])
    assert thin.n == some.sum() and all(b[2] is None for b in thin)
    np.testing.assert_array_equal(np.vstack([b[0].toarray() for b in thin]), rows["X"][some])


def test_an_error_in_a_block_is_raised(rows):
    def fail(X):
        raise ZeroDivisionError

    for n_threads in (1, 2):
        with pytest.raises(ZeroDivisionError):
            Blocks(Dense(rows["X"]), size=100, n_threads=n_threads).sum(fail)


def test_blocks_of_a_task_among_others_have_one_worker(rows):
    X, found = Dense(rows["X"]), []

    def task():
        with alone():
            found.append(Blocks(X, n_threads=3).n_threads)

    thread = threading.Thread(target=task)
    with alone():
        assert Blocks(X).n_threads == Blocks(X, n_threads=2).n_threads == 1
    thread.start()
    thread.join()
    assert found == [1] and Blocks(X, n_threads=3).n_threads == 3


def test_the_last_to_leave_gives_blas_its_threads_back():
    """However those who ask for one thread overlap."""
    from threadpoolctl import threadpool_info, threadpool_limits

    def threads():
        return {p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"}

    with threadpool_limits(2, "blas"):
        before = threads()
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert threads() <= {1}
        second.__exit__(None, None, None)
        assert threads() == before


def test_every_thread_can_ask_for_one_blas_thread():
    """Also where another thread was the first to set the number, and the one that sets it is not the last to leave."""
    from threadpoolctl import threadpool_info, threadpool_limits

    found, held, entered = [], threading.Event(), threading.Event()

    def look():
        found.append({p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"})

    def task():
        with one_blas_thread():
            look()
            held.set()
            entered.wait(60)
        look()

    def other():
        held.wait(60)
        one_blas_thread().__enter__()
        entered.set()

    with threadpool_limits(2, "blas"):
        threads = [threading.Thread(target=task), threading.Thread(target=other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        one_blas_thread().__exit__()
        look()
    assert found in ([{1}, {1}, {2}], [set()] * 3)


def test_rotated_columns_are_the_columns_times_an_inverse(rows):
    X = rows["X"]
    R = np.triu(np.random.default_rng(2).normal(size=(K, K))) + 3 * np.eye(K)
    blocks = Blocks(Dense(X), rows["y"], rows["m"], rows["offset"], rows["weights"])
    plain = Objective(Binomial(LINKS["logit"]), blocks)
    turned = plain.rotated(R)
    a, b = plain(rows["theta"]), turned(R @ rows["theta"])
    inverse = np.linalg.inv(R)
    assert_same(
        (b.value, b.score, b.information), (a.value, inverse.T @ a.score, inverse.T @ a.information @ inverse), 1e-11
    )


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_rows", [0, 1, 5, 40])
def test_three_operations(order, n_rows):
    generator = np.random.default_rng(9)
    X = np.array(generator.normal(size=(n_rows, 3)), order=order)
    w, u, b = generator.uniform(0, 2, n_rows), generator.normal(size=n_rows), generator.normal(size=3)
    columns = Dense(X)[:]
    assert_same(
        (columns @ b, columns.times(u), columns.gram(w)), (X @ b, X.T @ u, X.T @ np.diag(w) @ X), 1e-14
    ) if n_rows else assert_empty(columns, w, u, b)
    if n_rows:
        G = columns.gram(w)
        np.testing.assert_array_equal(G, G.T)


def assert_empty(columns, w, u, b):
    assert (columns @ b).shape == (0,)
    assert not columns.times(u).any() and not columns.gram(w).any()
