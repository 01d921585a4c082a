"""Adjusted scores against their definitions, and the estimates that they give in closed form."""

import numpy as np
import pytest
from core import every_link
from scipy.special import expit

from glmclf.core.design.dense import Dense
from glmclf.core.fit.bias import AdjustedScore, PenalisedLikelihood, penalised_maximum, reduce_bias
from glmclf.core.fit.solvers.quasi_scoring import Point, solve_adjusted
from glmclf.core.likelihood import links
from glmclf.core.likelihood.objective import MultinomialObjective, Objective
from glmclf.core.likelihood.pointwise import Binomial, Multinomial
from glmclf.core.rows.blocks import Blocks
from glmclf.inference.profile.likelihood import Profile

LINKS = [*every_link.LINKS.values()]


def table(seed=0, n=12, k=3, trials=True):
    """Covariates, successes and trials, offsets and whole weights."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, k - 1))])
    m = rng.integers(1, 5, n).astype(float) if trials else np.ones(n)
    y = rng.binomial(m.astype(int), expit(X @ rng.normal(size=k) * 0.5)).astype(float)
    return X, y, m, rng.normal(size=n) * 0.3, rng.integers(1, 4, n).astype(float)


def binary(link, X, y, m=None, offset=None, w=None, size=None):
    return Objective(Binomial(link), Blocks(Dense(X), y, m, offset, w, size=size))


def several(X, y, K, m=None, offset=None, w=None, size=None):
    return MultinomialObjective(Multinomial(K), Blocks(Dense(X), y, m, offset, w, size=size))


def derivative(f, theta, h=1e-5):
    """By central differences of fourth order, a column a parameter."""
    steps = h * np.eye(len(theta))
    return np.array(
        [(8 * (f(theta + d) - f(theta - d)) - (f(theta + 2 * d) - f(theta - 2 * d))) / (12 * h) for d in steps]
    )


def log_det(objective):
    return lambda theta: 0.5 * np.linalg.slogdet(objective(theta, True).information)[1]


# ------------------------------------------------------------------------------------------ against definitions
@pytest.mark.parametrize("size", [None, 5])
def test_firth_of_a_logit_is_the_gradient_of_jeffreys_penalty(size):
    objective = binary(links.LogitLink(), *table(), size=size)
    theta = np.array([0.2, -0.5, 0.7])
    p = AdjustedScore("firth", objective)(theta)
    plain = objective(theta)
    np.testing.assert_allclose(p.score - plain.score, derivative(log_det(objective), theta), rtol=1e-9)
    np.testing.assert_allclose(p.penalised, plain.value + log_det(objective)(theta), rtol=1e-14)


@pytest.mark.parametrize("counts", [False, True])
def test_firth_of_a_multinomial_logit_is_the_gradient_of_jeffreys_penalty(counts):
    X, _, _, _, w = table(3, n=15)
    rng = np.random.default_rng(1)
    y = rng.integers(0, 4, len(X))
    offset = rng.normal(size=(len(X), 3))
    m = None
    if counts:
        m = rng.integers(1, 5, len(X)).astype(float)
        y = np.array([rng.multinomial(int(t), [0.1, 0.2, 0.3, 0.4]) for t in m]).astype(float)
    objective = several(X, y, 4, m, offset, w, size=4)
    theta = rng.normal(size=9) * 0.5
    p = AdjustedScore("firth", objective)(theta)
    np.testing.assert_allclose(p.score - objective(theta).score, derivative(log_det(objective), theta), rtol=1e-8)


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.name)
def test_firth_removes_the_bias_of_cordeiro_and_mccullagh(link):
    """The adjustment is minus information times the first-order bias, I b, b = I^-1 X'W xi with xi = -h g / (2 w)."""
    X, y, m, offset, w = table(4)
    objective = binary(link, X, y, m, offset, w)
    theta = np.array([0.1, 0.4, -0.6])
    eta = X @ theta + offset
    F = link.cdf(eta)
    f = link.pdf(eta)
    slope = derivative(lambda e: np.atleast_1d(link.pdf(e)), eta).diagonal()
    W = w * m * f**2 / (F * (1 - F))
    inverse = np.linalg.inv(X.T @ (W[:, None] * X))
    h = W * np.einsum("ij,jk,ik->i", X, inverse, X)
    bias = -inverse @ X.T @ (h * slope / (2 * f))
    p = AdjustedScore("firth", objective)(theta)
    np.testing.assert_allclose(p.score - objective(theta).score, -p.information @ bias, rtol=1e-8)


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.name)
def test_median_adjustment_term_by_term(link):
    """Kosmidis, Kenne Pagui & Sartori (2020), Statistics and Computing 30, equation (10): X'W (xi + X u), with
    u_j = [I^-1]_j' X' (h_j (d v'/(6 v) - d'/(2 d))) and h_j the diagonal of X K_j X'W, K_j = a_j a_j'/a_jj."""
    X, y, m, offset, w = table(5)
    objective = binary(link, X, y, m, offset, w)
    theta = np.array([-0.2, 0.3, 0.5])
    eta = X @ theta + offset
    mu, d = link.cdf(eta), link.pdf(eta)
    slope = derivative(lambda e: np.atleast_1d(link.pdf(e)), eta).diagonal()
    v, v1 = mu * (1 - mu), 1 - 2 * mu
    W = w * m * d**2 / v
    A = np.linalg.inv(X.T @ (W[:, None] * X))
    h = W * np.einsum("ij,jk,ik->i", X, A, X)
    xi = h * slope / (2 * d * W)
    u = np.empty(3)
    for j in range(3):
        K = np.outer(A[j], A[j]) / A[j, j]
        hj = np.einsum("ij,jk,ik->i", X, K, X) * W
        u[j] = A[j] @ X.T @ (hj * (d * v1 / (6 * v) - slope / (2 * d)))
    expected = X.T @ (W * (xi + X @ u))
    p = AdjustedScore("median", objective)(theta)
    np.testing.assert_allclose(p.score - objective(theta).score, expected, rtol=1e-8)


@pytest.mark.parametrize("kind", ["firth", "median"])
@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.name)
def test_another_basis_changes_nothing(kind, link):
    """Median bias is a matter of each parameter of X, whatever the coordinates of the arithmetic."""
    X, y, m, offset, w = table(6)
    objective = binary(link, X, y, m, offset, w)
    R = np.linalg.qr(X, mode="r")
    theta = np.array([0.1, 0.2, -0.4])
    p = AdjustedScore(kind, objective)(theta)
    q = AdjustedScore(kind, objective.rotated(R), R)(R @ theta)
    np.testing.assert_allclose(R.T @ q.score, p.score, rtol=1e-11, atol=1e-13)
    if p.penalised is not None:
        np.testing.assert_allclose(q.penalised, p.penalised, rtol=1e-14)


@pytest.mark.parametrize("kind", ["firth", "median"])
@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.name)
def test_tails_are_finite(kind, link):
    """Rows whose weight has underflowed contribute nothing, however large g is."""
    X = np.column_stack([np.ones(6), [-800.0, -40, -1, 1, 40, 800]])
    objective = binary(link, X, np.array([0.0, 0, 1, 0, 1, 1]))
    p = AdjustedScore(kind, objective)(np.array([0.0, 1.0]))
    assert np.isfinite(p.score).all()


def test_median_of_several_equations_is_refused():
    X, *_ = table()
    with pytest.raises(NotImplementedError, match="median"):
        AdjustedScore("median", several(X, np.arange(len(X)) % 3, 3))
    with pytest.raises(NotImplementedError, match="logits"):
        PenalisedLikelihood(binary(links.ProbitLink(), *table()))


# ------------------------------------------------------------------------------------------------- closed forms
def test_firth_of_a_saturated_table_adds_half_an_event_and_half_a_failure():
    X = np.array([[1.0, 0], [1, 1]])
    y, m = np.array([6.0, 9.0]), np.array([20.0, 9.0])
    found = reduce_bias("firth", binary(links.LogitLink(), X, y, m), np.zeros(2))
    logits = np.log((y + 0.5) / (m - y + 0.5))
    np.testing.assert_allclose(found.theta, [logits[0], logits[1] - logits[0]], rtol=1e-13)


def of_hundreds_of_groups(seed, groups=200):
    """Indicators of groups of about 10 trials, few of which succeed, and the trials."""
    rng = np.random.default_rng(seed)
    m = rng.poisson(10, groups) + 1.0
    y = rng.binomial(m.astype(int), rng.beta(0.3, 1.7, groups)).astype(float)
    X = np.eye(groups)
    X[:, 0] = 1.0
    return X, y, m


@pytest.mark.parametrize("seed", range(6))
def test_firth_of_hundreds_of_groups(seed):
    """From equal shares of all groups; the gain of many groups must not throw others beyond their aim."""
    X, y, m = of_hundreds_of_groups(seed)
    start = np.zeros(len(y))
    start[0] = np.log(y.sum() / (m - y).sum())
    found = reduce_bias("firth", binary(links.LogitLink(), X, y, m), start)
    assert found.fit.converged
    np.testing.assert_allclose(X @ found.theta, np.log((y + 0.5) / (m - y + 0.5)), atol=1e-10)


@pytest.mark.parametrize("far", [-40.0, 30.0])
def test_firth_from_where_probabilities_are_zero_and_one(far):
    X, y, m = of_hundreds_of_groups(0, 20)
    start = np.zeros(20)
    start[3] = far
    found = reduce_bias("firth", binary(links.LogitLink(), X, y, m), start)
    assert found.fit.converged
    np.testing.assert_allclose(X @ found.theta, np.log((y + 0.5) / (m - y + 0.5)), atol=1e-10)


@pytest.mark.parametrize("link", LINKS[1:], ids=lambda link: link.name)
@pytest.mark.parametrize("kind", ["firth", "median"])
def test_each_of_hundreds_of_groups_is_solved_as_if_it_were_alone(kind, link):
    """Groups that share no parameter have the adjusted scores of one group each."""
    X, y, m = of_hundreds_of_groups(1, 100)
    X[:, 0] = np.eye(100)[0]
    found = reduce_bias(kind, binary(link, X, y, m), np.zeros(100))
    assert found.fit.converged
    for j in range(0, 100, 9):
        one = reduce_bias(kind, binary(link, np.ones((1, 1)), y[j : j + 1], m[j : j + 1]), np.zeros(1))
        np.testing.assert_allclose(found.theta[j], one.theta[0], rtol=1e-9)


def test_firth_of_a_saturated_multinomial_adds_half_to_each_class():
    """log|I|/2 of K shares is sum log(p_k)/2 but for a constant: half an observation more of each class."""
    counts = np.array([[5.0, 0, 3, 2]])
    found = reduce_bias("firth", several(np.ones((1, 1)), counts, 4, np.array([10.0])), np.zeros(3))
    np.testing.assert_allclose(found.theta, np.log((counts[0, 1:] + 0.5) / 5.5), rtol=1e-13)


def test_median_of_one_logit_is_near_the_median_unbiased_probability():
    """y of n: the median adjusted score of one logit is y - n p + (1/2 - p)/3 (Kenne Pagui et al. 2017, section 3)."""
    for y, n in ((0.0, 7.0), (2.0, 7.0), (7.0, 7.0)):
        objective = binary(links.LogitLink(), np.ones((1, 1)), np.array([y]), np.array([n]))
        found = reduce_bias("median", objective, np.zeros(1))
        p = (y + 1 / 6) / (n + 1 / 3)
        np.testing.assert_allclose(found.theta[0], np.log(p / (1 - p)), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.name)
@pytest.mark.parametrize("kind", ["firth", "median"])
def test_separated_designs_of_every_kind_have_a_finite_estimate(kind, link):
    """Eight rows in which every split of the outcomes along x is tried: the adjusted score is zero at finite theta."""
    X = np.column_stack([np.ones(8), np.arange(8.0)])
    for cut in range(1, 8):
        y = (np.arange(8) >= cut).astype(float)
        objective = binary(link, X, y)
        found = reduce_bias(kind, objective, np.zeros(2))
        assert found.fit.converged, (cut, found.fit)
        assert np.isfinite(found.theta).all()
        p = AdjustedScore(kind, objective)(found.theta)
        assert p.decrement < 1e-20


def test_random_small_designs_are_solved():
    """Designs of 4 to 12 rows, mostly separated, on which step control by the adjusted score alone stalls."""
    rng = np.random.default_rng(1)
    for _ in range(25):
        n, k = int(rng.integers(4, 13)), int(rng.integers(1, 3))
        X = np.column_stack([np.ones(n), rng.integers(-2, 3, (n, k))])
        y = (X @ rng.normal(size=k + 1) * 2 + rng.logistic(size=n) > 0).astype(float)
        if y.min() == y.max() or np.linalg.matrix_rank(X) <= k:
            continue
        for link in LINKS:
            for kind in ("firth", "median"):
                found = reduce_bias(kind, binary(link, X, y), np.zeros(k + 1))
                assert found.fit.converged, (X, y, link, kind, found.fit.message)


# ------------------------------------------------------------------------------------------- the penalised profile
def test_restricted_maximum_in_closed_form():
    """Both groups alike: with s = logit the penalty of the full information is log(n1 n2 w^2)/2, w = p (1 - p)."""
    X = np.array([[1.0, 0], [1, 1]])
    y, m = np.array([6.0, 9.0]), np.array([20.0, 9.0])
    objective = binary(links.LogitLink(), X, y, m)
    value, theta = penalised_maximum(objective, None, np.array([[1.0], [0.0]]), np.zeros(2))
    p = (15 + 1.0) / (29 + 2.0)  # the two half observations of either group
    np.testing.assert_allclose(theta, [np.log(p / (1 - p)), 0.0], atol=1e-12)
    expected = 15 * np.log(p) + 14 * np.log(1 - p) + 0.5 * np.log(20 * 9 * (p * (1 - p)) ** 2)
    np.testing.assert_allclose(value, expected, rtol=1e-13)


def test_restricted_maximum_does_not_depend_on_the_coordinates():
    X, y, m, offset, w = table(7)
    objective = binary(links.LogitLink(), X, y, m, offset, w)
    R = np.linalg.qr(X, mode="r")
    D, origin = np.array([[1.0, 0], [0, 1], [0, -2]]), np.array([0.0, 0, 0.3])
    one = penalised_maximum(objective, None, D, np.zeros(3), origin)
    two = penalised_maximum(objective.rotated(R), R, D, np.zeros(3), origin)
    np.testing.assert_allclose(one[0], two[0], rtol=1e-13)
    np.testing.assert_allclose(one[1], two[1], rtol=1e-10)
    assert abs(one[1][2] + 2 * one[1][1] - 0.3) < 1e-12


def test_profile_of_the_penalised_likelihood():
    """Of a saturated 2 x 1 table in one parameter the profile is explicit: its ends solve 2 (l* - l) = 3.84."""
    objective = binary(links.LogitLink(), np.ones((1, 1)), np.array([0.0]), np.array([5.0]))
    found = reduce_bias("firth", objective, np.zeros(1))
    likelihood = PenalisedLikelihood(objective)
    profile = Profile(likelihood, found.theta, found.reduction.penalised, np.ones(1))
    low, high = (profile.end(sign, 0.05, 1.5, float(found.theta[0])) for sign in (-1.0, 1.0))

    def penalised(b):
        p = expit(b)
        return 5 * np.log(1 - p) + 0.5 * np.log(5 * p * (1 - p))

    for end in (low, high):
        assert abs(2 * (found.reduction.penalised - penalised(end)) - 3.841458820694124) < 1e-8
    assert low < found.theta[0] < high


# --------------------------------------------------------------------------------------------------- the solver
def test_steps_that_overshoot_are_damped():
    """A score -3 (t - 1) whose information claims 1: undamped quasi-scoring goes t - 1 -> -2 (t - 1)."""

    def adjusted(t):
        return Point(t, 0.0, None, -3.0 * (t - 1.0), np.eye(1))

    _, fit = solve_adjusted(adjusted, np.array([5.0]), rows=1)
    assert fit.converged
    np.testing.assert_allclose(fit.theta, 1.0, rtol=1e-12)


def test_a_zero_that_needs_a_detour_is_found():
    """The decrement rises between the start and the zero; without a likelihood that must not stop the search."""

    def adjusted(t):
        score = 0.2 + 0.15 * np.sin(6 * t) - 0.4 * np.maximum(t - 2.0, 0.0)
        return Point(t, 0.0, None, score, np.eye(1))

    point, fit = solve_adjusted(adjusted, np.zeros(1), rows=1, maxiter=200)
    assert fit.converged and point.decrement < 1e-20


def test_iterations_and_callback():
    X, y, m, offset, w = table(8)
    objective = binary(links.LogitLink(), X, y, m, offset, w)
    seen = []
    found = reduce_bias("firth", objective, np.zeros(3), callback=lambda *a: seen.append(a))
    assert [s[0] for s in seen] == list(range(1, found.fit.iterations + 1))
    assert all(b[2] >= a[2] - 1e-10 for a, b in zip(seen, seen[1:], strict=False))
    stopped = reduce_bias("firth", objective, np.zeros(3), maxiter=1)
    assert not stopped.fit.converged and stopped.fit.iterations == 1
