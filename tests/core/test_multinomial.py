"""The multinomial likelihood against mpmath, its derivatives against differences, and its sums against each other."""

import mpmath as mp
import numpy as np
import pytest
from scipy.special import gammaln

from glmclf.core.design.dense import Dense
from glmclf.core.design.factor import FactorColumns, SubtermColumns, expand
from glmclf.core.likelihood.objective import MultinomialObjective
from glmclf.core.likelihood.pointwise import Multinomial
from glmclf.core.rows.blocks import RUN_ROWS, Blocks

SMALLEST = np.finfo(float).tiny


def predictors(K, size, seed):
    """Rows of linear predictors up to `size`, ties and equal predictors included."""
    rng = np.random.default_rng(seed)
    eta = rng.uniform(-size, size, (30, K - 1))
    eta[0], eta[1], eta[2], eta[3] = 0.0, size, -size, size
    eta[3, -1] = -size
    eta[4:8] *= 1e-9
    return eta


def exact_row(eta):
    """log p, p and 1 - p of every class of one row, in mpmath."""
    with mp.workdps(700):
        e = [mp.mpf(1)] + [mp.exp(mp.mpf(float(v))) for v in eta]
        total = mp.fsum(e)
        p = [v / total for v in e]
        q = [mp.fsum(e[:j] + e[j + 1 :]) / total for j in range(len(e))]
        return [mp.log(v) for v in p], p, q


def relative(value, exact):
    """Relative error, where the exact value is a normal double; below that anything from 0 to the smallest is right."""
    with mp.workdps(40):
        if abs(exact) < SMALLEST:
            return 0.0 if abs(value) <= SMALLEST else np.inf
        return float(abs(mp.mpf(float(value)) - exact) / abs(exact))


@pytest.mark.parametrize("size", [1e-3, 3.0, 40.0, 300.0, 700.0])
@pytest.mark.parametrize("K", [2, 3, 6])
def test_probabilities(K, size):
    """p and 1 - p lose what exp loses to its argument, eps |eta|; log p nothing, where it is not nearly 0 by a tie."""
    eta = predictors(K, size, seed=K)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        log_p, p, q = Multinomial.probabilities(eta)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-14)
    for i, row in enumerate(eta):
        exact = exact_row(row)
        for name, found, wanted, least in zip(
            ("log p", "p", "1 - p"), (log_p, p, q), exact, (4e-16, 8e-16, 8e-16), strict=True
        ):
            tolerance = 8 * least + (2 * size) * 2.3e-16 * 4
            errors = [relative(v, w) for v, w in zip(found[i], wanted, strict=True)]
            assert max(errors) < tolerance, f"{name} at {row}: {max(errors):.1e}"


@pytest.mark.parametrize("eta", [(1e6, -1e6), (-1e300, 1e300), (1e300, 1e300), (0.0, 0.0)])
def test_predictors_of_any_size(eta):
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        log_p, p, q = Multinomial.probabilities(np.array([eta]))
    assert np.isfinite(log_p).all()
    np.testing.assert_allclose(p + q, 1.0)
    np.testing.assert_allclose(p.sum(), 1.0)


@pytest.mark.parametrize("size", [3.0, 40.0, 700.0])
def test_score_factor(size):
    """y - m p, also where a class is nearly certain: then it is 1 - p of the class, not a difference from 1."""
    K = 4
    eta, rng = predictors(K, size, seed=5), np.random.default_rng(6)
    y = rng.integers(0, K, len(eta))
    ll, u, p, q = Multinomial(K).pointwise(y, None, eta)
    for i, row in enumerate(eta):
        logs, exact_p, exact_q = exact_row(row)
        tolerance = 1e-14 + size * 2e-15
        assert relative(ll[i], logs[y[i]]) < tolerance
        for j in range(1, K):
            wanted = exact_q[j] if y[i] == j else -exact_p[j]
            assert relative(u[i, j - 1], wanted) < tolerance
            assert relative(p[i, j - 1], exact_p[j]) < tolerance
            assert relative(q[i, j - 1], exact_q[j]) < tolerance


def test_counts_equal_their_rows():
    """Log-likelihood and score of counts are sums over the rows that they stand for."""
    K, rng = 4, np.random.default_rng(7)
    eta = predictors(K, 5.0, seed=8)
    counts = rng.integers(0, 5, (len(eta), K)).astype(float)
    ll, u, *_ = Multinomial(K).pointwise(counts, counts.sum(axis=1), eta)
    expected_ll, expected_u = np.zeros(len(eta)), np.zeros((len(eta), K - 1))
    for j in range(K):
        ll_j, u_j, *_ = Multinomial(K).pointwise(np.full(len(eta), j), None, eta)
        expected_ll += counts[:, j] * ll_j
        expected_u += counts[:, [j]] * u_j
    np.testing.assert_allclose(ll, expected_ll, rtol=1e-13)
    np.testing.assert_allclose(u, expected_u, rtol=1e-12, atol=1e-13)


def test_no_count_times_minus_infinity():
    """A class without a count adds 0, whatever its probability."""
    eta = np.array([[800.0, 0.0], [-1e308, 0.0]])
    counts = np.array([[0.0, 3.0, 0.0], [2.0, 0.0, 1.0]])
    ll, u, *_ = Multinomial(3).pointwise(counts, counts.sum(axis=1), eta)
    assert np.isfinite(ll).all() and np.isfinite(u).all()


def test_multinomial_coefficient():
    counts = np.array([[1, 2, 3], [0, 0, 4], [10, 0, 7], [1000, 2000, 1e6], [0, 1, 0]], dtype=float)
    found = Multinomial.constant(counts, counts.sum(axis=1))
    for row, value in zip(counts, found, strict=True):
        with mp.workdps(50):
            exact = mp.loggamma(row.sum() + 1) - mp.fsum(mp.loggamma(v + 1) for v in row)
        assert abs(value - float(exact)) <= 1e-13 * max(1.0, float(exact))
    np.testing.assert_allclose(found[0], gammaln(7) - gammaln(2) - gammaln(3) - gammaln(4))
    assert Multinomial.constant(np.array([0, 1, 2]), None) == 0.0


# ------------------------------------------------------------------------------------------------------ objective
def problem(kind, n=60, K=4, k=3, seed=0):
    """A Dense design, a response, and trials, offset and weights of a kind; theta."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, k - 1))])
    y = rng.integers(0, K, n)
    trials = offset = weights = None
    if "counts" in kind:
        y = rng.integers(0, 6, (n, K)).astype(float)
        trials = y.sum(axis=1)
    if "offset" in kind:
        offset = rng.normal(size=(n, K - 1) if "by level" in kind else n)
    if "weights" in kind:
        weights = rng.uniform(0.5, 3.0, n)
    theta = rng.normal(scale=0.5, size=k * (K - 1))
    return X, (y, trials, offset, weights), theta, Multinomial(K)


KINDS = ["plain", "counts", "offset", "offset by level", "weights", "counts, offset by level, weights"]
kinds = pytest.mark.parametrize("kind", KINDS)


def differences(f, theta, h=1e-5):
    """Central differences of f, along its last axis."""
    steps = h * np.eye(len(theta))
    return np.stack([(f(theta + s) - f(theta - s)) / (2 * h) for s in steps], axis=-1)


@kinds
def test_score_and_information_are_derivatives(kind):
    X, rest, theta, likelihood = problem(kind)
    objective = MultinomialObjective(likelihood, Blocks(Dense(X), *rest))
    e = objective(theta)
    np.testing.assert_allclose(e.score, differences(lambda t: objective(t).value, theta), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(e.information, -differences(lambda t: objective(t).score, theta), rtol=1e-6, atol=1e-6)
    assert objective.canonical
    np.testing.assert_allclose(objective(theta, expected=False).information, e.information, rtol=1e-14)


@kinds
def test_information_is_symmetric_and_positive_definite(kind):
    X, rest, theta, likelihood = problem(kind)
    information = MultinomialObjective(likelihood, Blocks(Dense(X), *rest))(theta).information
    np.testing.assert_array_equal(information, information.T)
    assert np.linalg.eigvalsh(information).min() > 0


@kinds
def test_against_the_definition(kind):
    """Blocks of the information by a loop: sum of w m p_j (1{j = l} - p_l) x x'."""
    X, (y, trials, offset, weights), theta, likelihood = problem(kind)
    n, k, K = *X.shape, likelihood.K
    eta = X @ theta.reshape(k, K - 1, order="F")
    if offset is not None:
        eta = eta + (offset if offset.ndim == 2 else offset[:, None])
    z = np.column_stack([np.zeros(n), eta])
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    counts = y if y.ndim == 2 else np.eye(K)[y]
    m, w = counts.sum(axis=1), np.ones(n) if weights is None else weights
    information = np.zeros((K - 1, k, K - 1, k))
    for j in range(K - 1):
        for l in range(K - 1):
            factor = w * m * p[:, j + 1] * ((j == l) - p[:, l + 1])
            information[j, :, l] = X.T @ (factor[:, None] * X)
    e = MultinomialObjective(likelihood, Blocks(Dense(X), y, trials, offset, weights))(theta)
    size = k * (K - 1)
    np.testing.assert_allclose(e.information, information.reshape(size, size), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(e.value, (w[:, None] * counts * np.log(p)).sum(), rtol=1e-13)
    score = X.T @ (w[:, None] * (counts - m[:, None] * p))[:, 1:]
    np.testing.assert_allclose(e.score, score.ravel(order="F"), rtol=1e-10, atol=1e-11)


@kinds
def test_gradient_is_the_score(kind):
    X, rest, theta, likelihood = problem(kind)
    objective = MultinomialObjective(likelihood, Blocks(Dense(X), *rest))
    e, g = objective(theta), objective.gradient(theta)
    assert g.value == pytest.approx(e.value, rel=1e-14)
    np.testing.assert_allclose(g.score, e.score, rtol=1e-12, atol=1e-12)


@kinds
def test_blocks_and_threads_change_nothing(kind):
    X, rest, theta, likelihood = problem(kind, n=301)
    whole = MultinomialObjective(likelihood, Blocks(Dense(X), *rest))(theta)
    for options in ({"size": 17}, {"size": 64, "n_threads": 2}, {"size": 64, "n_threads": 1}):
        parts = MultinomialObjective(likelihood, Blocks(Dense(X), *rest, **options))(theta)
        assert parts.value == pytest.approx(whole.value, rel=1e-13)
        np.testing.assert_allclose(parts.score, whole.score, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(parts.information, whole.information, rtol=1e-11, atol=1e-11)
    one, two = (MultinomialObjective(likelihood, Blocks(Dense(X), *rest, size=64, n_threads=t))(theta) for t in (1, 2))
    np.testing.assert_array_equal(one.information, two.information)


def pieces(n, seed):
    """Intercept, a number, a factor of four levels in treatment coding, and their product."""
    rng = np.random.default_rng(seed)
    number, codes, contrast = rng.normal(size=(n, 1)), rng.integers(0, 4, n).astype(np.int32), np.eye(4)[:, 1:]
    zero, three = np.zeros(1, dtype=int), np.arange(3)
    return [
        SubtermColumns(None, None, None, zero, zero),
        SubtermColumns(number, None, None, zero, zero),
        SubtermColumns(None, codes, contrast, np.zeros(3, dtype=int), three),
        SubtermColumns(number, codes, contrast, np.zeros(3, dtype=int), three),
    ]


@kinds
def test_cells_equal_dense(kind):
    n = 500
    parts = pieces(n, seed=3)
    X = expand(parts, n)
    _, rest, _, likelihood = problem(kind, n=n)
    theta = np.random.default_rng(4).normal(scale=0.3, size=X.shape[1] * (likelihood.K - 1))
    a = MultinomialObjective(likelihood, Blocks(Dense(X), *rest))(theta)
    b = MultinomialObjective(likelihood, Blocks(FactorColumns(parts, n), *rest, size=128))(theta)
    assert b.value == pytest.approx(a.value, rel=1e-13)
    np.testing.assert_allclose(b.score, a.score, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(b.information, a.information, rtol=1e-11, atol=1e-11)


@kinds
def test_rotated_basis(kind):
    """In the coordinates R theta the value is the same and the derivatives follow the chain rule."""
    X, rest, theta, likelihood = problem(kind)
    k, equations = X.shape[1], likelihood.n_eta
    R = np.linalg.qr(X, mode="r")
    objective = MultinomialObjective(likelihood, Blocks(Dense(X), *rest))
    gamma = (R @ theta.reshape(k, equations, order="F")).ravel(order="F")
    a, b = objective(theta), objective.rotated(R)(gamma)
    T = np.kron(np.eye(equations), R)
    assert b.value == pytest.approx(a.value, rel=1e-13)
    np.testing.assert_allclose(T.T @ b.score, a.score, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(T.T @ b.information @ T, a.information, rtol=1e-10, atol=1e-10)


def test_float32_design():
    X, rest, theta, likelihood = problem("plain", n=200)
    single = X.astype(np.float32)
    a = MultinomialObjective(likelihood, Blocks(Dense(single.astype(float)), *rest))(theta)
    b = MultinomialObjective(likelihood, Blocks(Dense(single), *rest))(theta)
    np.testing.assert_allclose(b.information, a.information, rtol=1e-6, atol=1e-5)
    assert b.information.dtype == np.float64


def test_thinned():
    X, rest, theta, likelihood = problem("counts, offset by level, weights")
    objective = MultinomialObjective(likelihood, Blocks(Dense(X), *rest))
    part = np.arange(len(X)) // RUN_ROWS % 3 == 0
    other = MultinomialObjective(likelihood, Blocks(Dense(X[part]), *(a[part] for a in rest)))
    np.testing.assert_allclose(objective.every(3)(theta).information, other(theta).information, rtol=1e-12)
