"""Many parameters by gradients: the metric, the steps in it, and the maximum of Newton's method by definition."""

import mpmath as mp
import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from glmclf.core.design.dense import Dense
from glmclf.core.fit import warm_start as way
from glmclf.core.fit.estimate import RankDeficiency, estimate
from glmclf.core.fit.solvers.kronecker import Kronecker, lbfgs
from glmclf.core.likelihood import objective as objectives
from glmclf.core.likelihood.links import CLogLogLink, LogitLink, ProbitLink
from glmclf.core.likelihood.objective import MultinomialObjective, Objective
from glmclf.core.likelihood.pointwise import Binomial, Multinomial
from glmclf.core.rows.blocks import Blocks

K, k = 4, 5
LINKS = {"logit": LogitLink(), "probit": ProbitLink(), "cloglog": CLogLogLink()}
P = k * (K - 1)
# distance to the maximum in standard errors, and relative error of the information there
IN_ERRORS, INFORMATION = 1e-11, 1e-9


def problem(kind, n=4000, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, k - 2)), rng.integers(0, 2, n)])
    eta = X @ (rng.normal(size=(k, K)) * 0.7)
    y = (eta + rng.gumbel(size=(n, K))).argmax(axis=1)
    trials = offset = weights = None
    if "counts" in kind:
        y = np.eye(K)[y] + rng.integers(0, 2, (n, K))
        trials = y.sum(axis=1)
    if "offset" in kind:
        offset = rng.normal(size=(n, K - 1)) * 0.5
    if "weights" in kind:
        weights = rng.uniform(0.5, 3.0, n)
    return X, y, trials, offset, weights


KINDS = ["plain", "counts", "offset", "weights", "counts, offset, weights"]
kinds = pytest.mark.parametrize("kind", KINDS)


def objective_of(X, *rest, **options):
    return MultinomialObjective(Multinomial(K), Blocks(Dense(X), *rest, **{"size": 500, **options}))


def maximum(X, y, trials, offset, weights):
    """By Newton's method on the definition: the estimate and its information."""
    n = len(X)
    counts, w = y if y.ndim == 2 else np.eye(K)[y], np.ones(n) if weights is None else weights
    m, B = counts.sum(axis=1), np.zeros((k, K - 1))
    for _ in range(30):
        eta = X @ B if offset is None else X @ B + offset
        p = np.column_stack([np.ones(n), np.exp(eta)])
        p /= p.sum(axis=1, keepdims=True)
        score = (X.T @ (w[:, None] * (counts - m[:, None] * p)))[:, 1:]
        A = np.zeros((K - 1, k, K - 1, k))
        for j in range(1, K):
            for i in range(1, K):
                A[j - 1, :, i - 1] = X.T @ ((w * m * p[:, j] * ((i == j) - p[:, i]))[:, None] * X)
        A = A.reshape(P, P)
        B += np.linalg.solve(A, score.ravel(order="F")).reshape(k, K - 1, order="F")
    return B.ravel(order="F"), A


def usual(y, weights=None):
    """The start: intercepts alone."""
    shares = (y.sum(axis=0) if y.ndim == 2 else np.bincount(y, minlength=K)).astype(float)
    start = np.zeros((k, K - 1))
    start[0] = np.log(shares[1:] / shares[0])
    return start.ravel(order="F")


# ------------------------------------------------------------------------------------------------------ the metric
@pytest.mark.parametrize("ridge", [None, [0.0, 1.0, 0.1, 0.0, 1e4]])
def test_metric_is_the_matrix_it_stands_for(ridge):
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(K))
    W = np.diag(p[1:]) - np.outer(p[1:], p[1:])
    X = rng.normal(size=(30, k)) * [1.0, 1e3, 1e-3, 1.0, 5.0]  # units
    ridge = None if ridge is None else np.array(ridge)
    metric = Kronecker(W, X.T @ X, ridge)
    dense = np.kron(W, X.T @ X) + np.kron(np.eye(K - 1), np.diag(np.zeros(k) if ridge is None else ridge))
    b = rng.normal(size=P)
    np.testing.assert_allclose(dense @ metric.solve(b), b, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(metric.toarray(), np.kron(W, X.T @ X))


def test_metric_of_a_vector_for_each_class():
    """W is singular then; the derivatives in what has no ridge add up to 0 over the classes."""
    rng = np.random.default_rng(2)
    p, ridge = rng.dirichlet(np.ones(K)), np.array([0.0, 1.0, 2.0, 0.5, 1.0])
    W, X = np.diag(p) - np.outer(p, p), rng.normal(size=(30, k))
    dense = np.kron(W, X.T @ X) + np.kron(np.eye(K), np.diag(ridge))
    b = rng.normal(size=(K, k))
    b[:, 0] -= b[:, 0].mean()
    step = Kronecker(W, X.T @ X, ridge).solve(b.ravel())
    np.testing.assert_allclose(dense @ step, b.ravel(), rtol=1e-10, atol=1e-12)


def test_without_slopes_the_metric_is_the_information():
    X, y, *rest = problem("counts, weights")
    objective = objective_of(X, y, *rest)
    metric = Kronecker(*objective.mean_information(usual(y)))
    np.testing.assert_allclose(metric.toarray(), objective(usual(y)).information, rtol=1e-12, atol=1e-10)
    theta = np.random.default_rng(3).normal(size=P)
    scaled = np.linalg.cond(metric.toarray() / np.sqrt(np.outer(*[np.diag(metric.toarray())] * 2)))
    assert metric.rcond == pytest.approx(1 / scaled, rel=1.0)
    assert np.abs(metric.toarray() - objective(theta).information).max() > 1.0


def test_no_metric_of_dependent_columns():
    with pytest.raises(np.linalg.LinAlgError):
        Kronecker(np.eye(2), np.ones((3, 3)))


# ------------------------------------------------------------------------------------------------------- the steps
@kinds
def test_gradients_lead_to_the_maximum(kind):
    data = problem(kind)
    theta, A = maximum(*data)
    objective, seen = objective_of(*data), []
    metric = Kronecker(*objective.mean_information(usual(data[1])))
    fit = lbfgs(
        objective, usual(data[1]), metric, maxiter=100, tol=1e-24, callback=lambda i, b, value: seen.append((i, value))
    )
    off = fit.theta - theta
    assert fit.converged and np.sqrt(off @ A @ off) < IN_ERRORS
    assert [i for i, _ in seen] == list(range(1, fit.iterations + 1))
    assert (np.diff([v for _, v in seen]) > -1e-9).all()
    few = lbfgs(objective, usual(data[1]), metric, maxiter=3, tol=1e-24)
    assert not few.converged and few.iterations == 3


def test_a_far_start():
    data = problem("plain")
    theta, A = maximum(*data)
    objective = objective_of(*data)
    metric = Kronecker(*objective.mean_information(np.zeros(P)))
    fit = lbfgs(objective, np.random.default_rng(5).normal(size=P) * 20, metric, maxiter=300, tol=1e-24)
    off = fit.theta - theta
    assert fit.converged and np.sqrt(off @ A @ off) < IN_ERRORS


# --------------------------------------------------------------------------------------------------------- the way
WAYS = {  # constants of `warm_start`: least and most rows for each parameter of a part, and the least number of all
    "from a part": {"PART_ROWS_PER_PARAMETER": (20, 20), "MIN_ROWS_PER_PARAMETER_FOR_METRIC": 10},
    "in the metric of a part": {"PART_ROWS_PER_PARAMETER": (150, 150), "MIN_ROWS_PER_PARAMETER_FOR_METRIC": 10},
    "in the first metric": {"PART_ROWS_PER_PARAMETER": (150, 150), "MIN_ROWS_PER_PARAMETER_FOR_METRIC": 10**6},
}


@pytest.fixture
def dear(monkeypatch):
    """Has every problem go this way."""

    def use(**constants):
        for name, value in {"MIN_INFORMATION_COST": 0.0, "MIN_ARITHMETIC": 0.0, **constants}.items():
            monkeypatch.setattr(way, name, value)

    return use


@kinds
@pytest.mark.parametrize("name", WAYS)
def test_the_estimate_is_the_maximum(dear, kind, name):
    dear(**WAYS[name])
    data = problem(kind)
    theta, A = maximum(*data)
    objective, seen = objective_of(*data), []
    near = way.warm_start(objective, usual(data[1]))
    assert near is not None and (near.surrogate is not None) == (name == "from a part")
    found = estimate("irls", objective, usual(data[1]), callback=lambda i, *_: seen.append(i))
    off = found.theta - theta
    assert found.fit.converged and not found.vanished and np.sqrt(off @ A @ off) < IN_ERRORS
    np.testing.assert_allclose(found.fit.evaluation.information, A, rtol=INFORMATION, atol=INFORMATION * A.max())
    assert seen == list(range(1, found.fit.iterations + 1))


def of_two_outcomes(kind, link, n=2000):
    """A response of one equation: its design, successes, trials, offset and weights."""
    X, _, _, offset, weights = problem(kind, n)
    rng = np.random.default_rng(2)
    trials = rng.integers(1, 5, n).astype(float) if "counts" in kind else None
    offset = None if offset is None else offset[:, 0]
    eta = X @ [-0.4, 0.5, -0.3, 0.2, 0.6] + (0.0 if offset is None else offset)
    p = np.exp(LINKS[link].logcdf(eta))
    y = rng.binomial(1 if trials is None else trials.astype(int), p).astype(float)
    return X, y, trials, offset, weights


def curves(link, y, m, eta):
    """First and minus second derivative of y log F + (m - y) log(1 - F), by their formulas."""
    if link == "logit":
        p = expit(eta)
        return y - m * p, m * p * (1 - p)
    if link == "probit":
        up, down = norm.pdf(eta) / norm.cdf(eta), norm.pdf(eta) / norm.sf(eta)
        return y * up - (m - y) * down, y * up * (up + eta) + (m - y) * down * (down - eta)
    hazard = np.exp(eta) / np.expm1(np.exp(eta))
    return y * hazard - (m - y) * np.exp(eta), (m - y) * np.exp(eta) - y * hazard * (1 - np.exp(eta) - hazard)


def maximum_of_two(link, X, y, trials, offset, weights):
    """By Newton's method on the definition: the estimate and its observed information."""
    m, w, b = 1.0 if trials is None else trials, 1.0 if weights is None else weights, np.zeros(k)
    for _ in range(30):
        u, curvature = curves(link, y, m, X @ b + (0.0 if offset is None else offset))
        A = X.T @ ((w * curvature)[:, None] * X)
        b = b + np.linalg.solve(A, X.T @ (w * u))
    return b, A


@pytest.mark.parametrize("link", LINKS)
@kinds
@pytest.mark.parametrize("name", WAYS)
def test_one_equation_by_gradients(dear, kind, name, link):
    dear(**WAYS[name])
    X, *rest = of_two_outcomes(kind, link)
    theta, A = maximum_of_two(link, X, *rest)
    for columns in (Dense(X), Dense(np.asfortranarray(X))):
        objective = Objective(Binomial(LINKS[link]), Blocks(columns, *rest, size=500))
        near = way.warm_start(objective, np.zeros(k))
        assert near is not None and (near.surrogate is not None) == (name == "from a part")
        found = estimate("irls", objective, np.zeros(k))
        off = found.theta - theta
        assert found.fit.converged and not found.vanished and np.sqrt(off @ A @ off) < IN_ERRORS
        np.testing.assert_allclose(found.fit.evaluation.information, A, rtol=INFORMATION, atol=INFORMATION * A.max())


def test_columns_that_few_rows_make_dependent(dear):
    """Only all rows tell: the metric of the part is a good one, and the information at the maximum is not."""
    dear(**WAYS["from a part"])
    X, y, *rest = of_two_outcomes("plain", "logit")
    y[:2], X[0, 1:3], X[1, 1:3] = 0.5, [1e7, 1e7], [-1e7, -1e7]
    objective = Objective(Binomial(LINKS["logit"]), Blocks(Dense(X), y, *rest, size=500))
    assert estimate("irls", objective, np.zeros(k)).basis is not None


@pytest.mark.parametrize("name", WAYS)
def test_threads_give_the_same_bits(dear, name):
    dear(**WAYS[name])
    data = problem("offset")
    one, two = (estimate("irls", objective_of(*data, n_threads=t), usual(data[1])) for t in (1, 2))
    np.testing.assert_array_equal(one.theta, two.theta)
    np.testing.assert_array_equal(one.fit.evaluation.information, two.fit.evaluation.information)


def test_what_does_not_go_this_way(dear):
    data = problem("plain")
    assert way.warm_start(objective_of(*data), usual(data[1])) is None  # 4,000 rows of 15 parameters
    dear()
    assert way.warm_start(objective_of(*data), usual(data[1]), maxiter=10) is None
    X = np.column_stack([data[0][:, :-1], data[0][:, 1] + 2.0 * data[0][:, 2]])
    assert way.warm_start(objective_of(X, *data[1:]), usual(data[1])) is None
    with pytest.raises(RankDeficiency):
        estimate("irls", objective_of(X, *data[1:]), usual(data[1]))


def test_a_start_whose_far_rows_are_wrong_is_none():
    """Regressors of heavy tails: the maximum of a part of the rows makes the log-likelihood of others -1e200."""
    rng = np.random.default_rng(1)
    X = np.column_stack([np.ones(20_000), rng.standard_cauchy((20_000, 39))])
    y = rng.integers(0, 2, len(X)).astype(float)
    objective = Objective(Binomial(LINKS["cloglog"]), Blocks(Dense(np.asfortranarray(X)), y, None, None, None))
    with np.errstate(over="ignore", invalid="ignore"):
        found = estimate("irls", objective, np.zeros(40))
    e = objective(found.theta, False)
    assert found.fit.converged and e.score @ e.factor.solve(e.score) < 1e-15
    assert e.value >= objective(np.zeros(40)).value


def test_a_separated_response(dear):
    """The information vanishes on the way, which is what tells."""
    dear(PART_ROWS_PER_PARAMETER=(20, 20), MIN_ROWS_PER_PARAMETER_FOR_METRIC=10)
    X, y, *rest = problem("plain")
    X[:, 1] = y == 2
    found = estimate("irls", objective_of(X, y, *rest), usual(y))
    assert found.vanished
    X, y, *rest = of_two_outcomes("plain", "logit")
    X[:, 1] = np.where(y == 1, 1.0, X[:, 1] > 0.5)
    found = estimate("irls", Objective(Binomial(LINKS["logit"]), Blocks(Dense(X), y, *rest, size=500)), np.zeros(k))
    assert found.vanished


# ------------------------------------------------------------------------------------------------ the information
@kinds
@pytest.mark.parametrize("columns", [None, [0, 3], [4]])
def test_information_by_pairs(kind, columns):
    data = problem(kind, n=500)
    theta = np.random.default_rng(6).normal(size=P) * 0.3
    objective = objective_of(*data, size=64)
    at = np.arange(P) if columns is None else (np.arange(K - 1)[:, None] * k + columns).ravel()
    found = objective.information(theta, None if columns is None else np.array(columns))
    step = 1e-5 * np.eye(P)
    slopes = [(objective.gradient(theta - s).score - objective.gradient(theta + s).score) / 2e-5 for s in step]
    np.testing.assert_allclose(found, np.array(slopes)[np.ix_(at, at)], rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(found, found.T)


def test_a_large_information_is_formed_by_pairs(monkeypatch):
    data = problem("counts, weights", n=500)
    theta = np.random.default_rng(7).normal(size=P) * 0.3
    whole = objective_of(*data)(theta)
    monkeypatch.setattr(objectives, "MAX_HELD_ENTRIES", 8 * k * k)  # one pair at a time
    parts = objective_of(*data)(theta)
    np.testing.assert_allclose(parts.information, whole.information, rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(parts.score, whole.score, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("columns", [2, 70])
def test_information_of_nearly_certain_rows(columns):
    """p (1 - p) of each row in mpmath: no digit is lost where p is nearly one."""
    eta = np.array([[38.0, -3.0], [1.0, 45.0], [-60.0, -70.0], [33.0, 33.0]])
    X = np.zeros((len(eta), columns))
    X[:, 0] = 1.0
    for i, row in enumerate(eta):
        theta = np.zeros((columns, 2))
        theta[0] = row
        one = MultinomialObjective(Multinomial(3), Blocks(Dense(X[i : i + 1]), np.array([1]), None, None, None))
        found = one(theta.ravel(order="F")).information
        with mp.workdps(60):
            e = [mp.mpf(1), *(mp.exp(mp.mpf(float(v))) for v in row)]
            p = [v / mp.fsum(e) for v in e]
            for a in (1, 2):
                for b in (1, 2):
                    exact = p[a] * mp.fsum(p[:a] + p[a + 1 :]) if a == b else -p[a] * p[b]
                    value = found[(a - 1) * columns, (b - 1) * columns]
                    assert abs(mp.mpf(float(value)) / exact - 1) < 1e-13
