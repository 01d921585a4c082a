"""Every solver on every link: one maximum, whatever the units and the start, and an honest word where there is none."""

import warnings

import numpy as np
import pytest
from core import exact
from core.every_link import LINKS

from glmclf.core.design.dense import Dense
from glmclf.core.fit.coordinates import from_basis
from glmclf.core.fit.estimate import RankDeficiency, estimate
from glmclf.core.fit.solvers import solve
from glmclf.core.likelihood.objective import CholeskyFactor, Objective
from glmclf.core.likelihood.pointwise import Binomial
from glmclf.core.rows.blocks import Blocks

SOLVERS = ["irls", "newton", "bfgs", "lbfgs"]
KINDS = ["binary", "counts", "weights", "offset", "fraction"]
# distance to the maximum in standard errors: rounding of the score is about sqrt(n) 1e-16
IN_ERRORS = 1e-11


def data(kind, n=400, seed=0):
    generator = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), generator.normal(size=(n, 2)), generator.integers(0, 2, n)])
    p = LINKS["probit"].cdf(X @ [-0.4, 0.6, -0.3, 0.5])
    m = generator.integers(1, 20, n).astype(float) if kind == "counts" else None
    y = generator.binomial(1 if m is None else m.astype(int), p).astype(float)
    y = p if kind == "fraction" else y
    weights = generator.uniform(0.1, 5, n) if kind == "weights" else None
    return X, y, m, generator.normal(size=n) if kind == "offset" else None, weights


def objective(link, kind="binary", units=1.0, **keywords):
    X, y, m, offset, weights = data(kind, **keywords)
    likelihood = Binomial(LINKS[link], binary=kind in ("binary", "weights", "offset"))
    return Objective(likelihood, Blocks(Dense(X * units), y, m, offset, weights))


def distance(problem, theta):
    """Distance of theta to the maximum in standard errors, the square root of s' I^-1 s."""
    e = problem(theta, expected=False)
    return float(np.sqrt(max(e.score @ e.factor.solve(e.score), 0.0)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("link", LINKS)
def test_one_maximum(link, kind):
    problem = objective(link, kind)
    exact_theta = None
    for name in SOLVERS:
        fit = solve(name, problem, np.zeros(4))
        assert fit.converged and fit.iterations > 0, (name, fit.message)
        assert distance(problem, fit.theta) < IN_ERRORS, name
        exact_theta = fit.theta if exact_theta is None else exact_theta
        np.testing.assert_allclose(fit.theta, exact_theta, rtol=1e-11, err_msg=name)
        e = problem(fit.theta, expected=False)
        np.testing.assert_allclose(fit.evaluation.value, e.value, rtol=1e-13)
        np.testing.assert_allclose(fit.evaluation.information, e.information, rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("link", LINKS)
def test_it_is_the_exact_maximum(link, kind):
    X, y, m, offset, weights = data(kind, n=60, seed=3)
    problem = objective(link, kind, n=60, seed=3)
    fit = solve("irls", problem, np.zeros(4))
    theta, value, information, _ = exact.maximum(link, X, y, fit.theta, m, offset, weights)
    np.testing.assert_allclose(fit.theta, theta, rtol=1e-12)
    np.testing.assert_allclose(fit.evaluation.value, value, rtol=1e-14)
    np.testing.assert_allclose(
        fit.evaluation.information, information, rtol=1e-11, atol=1e-13 * np.abs(information).max()
    )


@pytest.mark.parametrize("link", LINKS)
def test_information_is_minus_the_numerical_hessian(link):
    """Central differences of the score; both kinds of information are one only where the link is canonical."""
    problem = objective(link, "counts")
    theta, h = np.array([-0.3, 0.4, -0.2, 0.6]), 1e-5
    numerical = np.array(
        [problem.gradient(theta + h * d).score - problem.gradient(theta - h * d).score for d in np.eye(4)]
    )
    observed = problem(theta, expected=False).information
    np.testing.assert_allclose(observed, -numerical / (2 * h), rtol=1e-7, atol=1e-7 * np.abs(observed).max())
    assert np.allclose(observed, problem(theta).information, rtol=1e-9) == LINKS[link].canonical


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("link", LINKS)
def test_units_do_not_matter(link, name):
    """Columns from 1e-8 to 1e8: the same fit, iteration by iteration, and params in the other units."""
    units = np.array([1.0, 2.0**-27, 2.0**27, 2.0**10])
    plain, scaled = solve(name, objective(link), np.zeros(4)), solve(name, objective(link, units=units), np.zeros(4))
    assert scaled.converged and scaled.iterations == plain.iterations
    np.testing.assert_allclose(scaled.theta * units, plain.theta, rtol=1e-10)
    np.testing.assert_allclose(scaled.evaluation.value, plain.evaluation.value, rtol=1e-13)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("link", LINKS)
def test_too_few_iterations_are_no_convergence(link, name):
    problem = objective(link)
    for maxiter in (0, 1):
        fit = solve(name, problem, np.full(4, 0.9), maxiter=maxiter)
        assert not fit.converged and fit.iterations <= maxiter, (maxiter, fit.iterations)
        assert distance(problem, fit.theta) > 1e-3
        e = problem(fit.theta, expected=False)
        np.testing.assert_allclose(fit.evaluation.information, e.information, rtol=1e-12)
        np.testing.assert_allclose(fit.evaluation.score, e.score, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("link", LINKS)
def test_converged_means_converged(link, name):
    """Whatever maxiter: where the solver says converged, the score is zero."""
    problem = objective(link)
    for maxiter in range(9):
        with np.errstate(over="ignore", invalid="ignore"):
            fit = solve(name, problem, np.array([2.0, -1, 0.5, 0]), maxiter=maxiter)
        assert fit.iterations <= maxiter
        if fit.converged:
            assert distance(problem, fit.theta) < 1e-10, maxiter


@pytest.mark.parametrize("name", SOLVERS)
def test_starting_at_the_maximum(name):
    problem = objective("probit")
    best = solve("newton", problem, np.zeros(4)).theta
    fit = solve(name, problem, best)
    assert fit.converged
    np.testing.assert_allclose(fit.theta, best, rtol=1e-11)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("link", LINKS)
def test_a_fit_that_starts_at_the_maximum_ends_with_the_observed_information(link, name):
    """Also where the start was evaluated with the expected information before."""
    problem = objective(link)
    best = solve("irls", problem, np.zeros(4)).theta
    for fit in (solve(name, problem, best, opening=problem(best)), estimate(name, problem, best).fit):
        assert fit.converged
        np.testing.assert_allclose(fit.evaluation.information, problem(best, False).information, rtol=1e-9)


@pytest.mark.parametrize("name", SOLVERS)
def test_tolerance(name):
    """A looser tolerance stops no later, and at most that many standard errors (squared) away."""
    problem = objective("cloglog")
    tight = solve(name, problem, np.zeros(4))
    loose = solve(name, problem, np.zeros(4), tol=1e-3)
    assert loose.converged and loose.iterations <= tight.iterations
    assert distance(problem, loose.theta) ** 2 <= 1e-3


@pytest.mark.parametrize("name", SOLVERS)
def test_callback(name):
    problem, seen = objective("logit"), []
    fit = solve(name, problem, np.zeros(4), callback=lambda i, theta, value: seen.append((i, theta.copy(), value)))
    numbers = [i for i, _, _ in seen]
    assert seen and numbers == list(range(1, len(seen) + 1)), numbers
    assert len(seen) == fit.iterations
    for _, theta, value in seen:
        np.testing.assert_allclose(value, problem(theta).value, rtol=1e-12)
    values = [v for _, _, v in seen]
    assert all(b >= a - 1e-9 for a, b in zip(values, values[1:], strict=False)), "the log-likelihood never falls"


@pytest.mark.parametrize("start", [[5.0, 5, -5, 5], [-20.0, 0, 0, 0], [0.0, 30, -30, 0], [8.0, -8, 8, -8]])
@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("link", LINKS)
def test_bad_starts(link, name, start):
    """The maximum, or the plain word that it was not found."""
    problem = objective(link)
    best = solve("irls", problem, np.zeros(4)).theta
    with np.errstate(over="ignore", invalid="ignore"):
        fit = solve(name, problem, np.array(start))
    if fit.converged:
        np.testing.assert_allclose(fit.theta, best, rtol=1e-9)
    else:
        assert not np.allclose(fit.theta, best, rtol=1e-6), fit.message


def test_threads_are_as_quiet_as_one():
    """A caller's np.errstate covers the worker threads too: an overflow on the way is no warning of the user's."""
    X, y, *_ = data("binary", n=4000)
    for n_threads in (1, 2):
        blocks = Blocks(Dense(X), y, None, None, None, size=500, n_threads=n_threads)
        with np.errstate(over="ignore", invalid="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error")
            fit = solve("irls", Objective(Binomial(LINKS["cloglog"], binary=True), blocks), np.array([5.0, 50, -50, 5]))
        assert fit.iterations >= 0


@pytest.mark.parametrize("start", [[3.0, 3, -3, 3], [-5.0, 0, 0, 0]])
@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_starts_that_step_halving_must_mend(link, name, start):
    fit = solve(name, objective(link), np.array(start))
    assert fit.converged, fit.message


def test_the_start_is_left_alone():
    start = np.array([0.1, 0.2, 0.3, 0.4])
    for name in SOLVERS:
        solve(name, objective("logit"), start)
    np.testing.assert_array_equal(start, [0.1, 0.2, 0.3, 0.4])


# ------------------------------------------------------------------------------------------------- gross outlier
def outlier():
    """200 ordinary rows of a probit with slope 1, and one at x = 40 with y = 0."""
    generator = np.random.default_rng(7)
    x = np.r_[generator.normal(size=200), 40.0]
    y = np.r_[(generator.normal(size=200) < 0.3 + x[:200]).astype(float), 0.0]
    return np.column_stack([np.ones(201), x]), y


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("link", LINKS)
def test_gross_outlier(link, name):
    """One row 40 standard deviations on the wrong side counts for what it is; a clipped probability would hide it."""
    X, y = outlier()
    problem = Objective(Binomial(LINKS[link], binary=True), Blocks(Dense(X), y, None, None, None))
    found = estimate(name, problem, np.array([LINKS[link].quantile(y.mean()), 0.0]))
    assert found.fit.converged, found.fit.message
    theta, value, *_ = exact.maximum(link, X, y, found.theta)
    np.testing.assert_allclose(found.theta, theta, rtol=1e-11)
    np.testing.assert_allclose(found.fit.evaluation.value, value, rtol=1e-13)
    if link == "probit":
        assert abs(theta[1]) < 0.1
    assert not found.vanished


@pytest.mark.parametrize("name", SOLVERS)
def test_gross_outlier_from_the_ordinary_fit(name):
    """From the slope without the outlier, where that row alone has a log-likelihood of about -800."""
    X, y = outlier()
    problem = Objective(Binomial(LINKS["probit"], binary=True), Blocks(Dense(X), y, None, None, None))
    fit = solve(name, problem, np.array([0.3, 1.0]))
    assert fit.converged, fit.message
    assert distance(problem, fit.theta) < IN_ERRORS


# -------------------------------------------------------------------------------------------- ill-conditioned
def polynomial(degree, n=150, centre=50.0):
    x = np.linspace(-1, 1, n) + centre
    generator = np.random.default_rng(21)
    y = (generator.random(n) < 1 / (1 + np.exp(-(x - centre)))).astype(float)
    return np.column_stack([x**d for d in range(degree + 1)]), y


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("link", LINKS)
def test_the_basis_path(link, name):
    """A raw cubic of x near 50 (X of condition 1e7 and X'X of 1e14) agrees with 60 digits to 14 - c."""
    X, y = polynomial(3)
    c = np.log10(np.linalg.cond(X / np.linalg.norm(X, axis=0)))
    problem = Objective(Binomial(LINKS[link], binary=True), Blocks(Dense(X), y, None, None, None))
    found = estimate(name, problem, np.zeros(4))
    assert found.basis is not None and found.fit.converged
    theta, value, _, covariance = exact.maximum(link, X, y, found.theta)
    np.testing.assert_allclose(found.theta, theta, rtol=10 ** -(14 - c))
    np.testing.assert_allclose(found.fit.evaluation.value, value, rtol=1e-13)
    se = np.sqrt(covariance.diagonal())
    root = from_basis(found.basis, found.fit.evaluation.factor.root)
    np.testing.assert_allclose(np.sqrt((root * root).sum(axis=1)), se, rtol=10 ** -(14 - c))


def test_a_good_design_needs_no_basis():
    assert estimate("irls", objective("logit"), np.zeros(4)).basis is None


def test_dependent_columns_are_reported():
    X, y = polynomial(2, centre=0.0)
    X = np.column_stack([X, 2 * X[:, 0] - X[:, 2]])
    problem = Objective(Binomial(LINKS["logit"], binary=True), Blocks(Dense(X), y, None, None, None))
    with pytest.raises(RankDeficiency) as caught:
        estimate("irls", problem, np.zeros(4))
    assert caught.value.combinations == {3: pytest.approx({0: 2.0, 2: -1.0})}


@pytest.mark.parametrize("link", LINKS)
def test_a_large_problem_starts_on_a_part_and_ends_on_the_whole(link):
    generator = np.random.default_rng(31)
    n = 200_000
    X = np.asfortranarray(np.column_stack([np.ones(n), generator.normal(size=(n, 2))]))
    y = (generator.random(n) < LINKS[link].cdf(X @ [-1.0, 0.5, -0.25])).astype(float)
    problem = Objective(Binomial(LINKS[link], binary=True), Blocks(Dense(X), y, None, None, None))
    warm = estimate("irls", problem, np.zeros(3))
    cold = estimate("irls", problem, np.zeros(3), warm=False)
    assert warm.fit.iterations < cold.fit.iterations
    assert distance(problem, warm.theta) < 1e-10
    np.testing.assert_allclose(warm.theta, cold.theta, rtol=1e-11)


@pytest.mark.parametrize("link", LINKS)
def test_separated_data_show_the_symptom(link):
    x = np.r_[np.linspace(-2, -0.5, 30), np.linspace(0.5, 2, 30)]
    X, y = np.column_stack([np.ones(60), x]), (x > 0).astype(float)
    problem = Objective(Binomial(LINKS[link], binary=True), Blocks(Dense(X), y, None, None, None))
    for name in SOLVERS:
        with np.errstate(over="ignore", invalid="ignore"):
            found = estimate(name, problem, np.zeros(2))
        assert found.vanished or not found.fit.converged, name


# ------------------------------------------------------------------------------------------------------ factor
def test_factor_inverts():
    generator = np.random.default_rng(2)
    A = generator.normal(size=(20, 5)) * np.array([1e-150, 1e-8, 1, 1e8, 1e150])
    A = A.T @ A
    f = CholeskyFactor(A)
    units = np.sqrt(np.diag(A))
    np.testing.assert_allclose((f.root @ f.root.T @ A) * units[:, None] / units, np.eye(5), atol=1e-12)
    b = generator.normal(size=5)
    np.testing.assert_allclose(A @ f.solve(b) / units, b / units, rtol=1e-10, atol=1e-12 * np.abs(b / units).max())


@pytest.mark.parametrize(
    "bad",
    [
        np.zeros((2, 2)),
        np.diag([1.0, np.nan]),
        np.diag([1.0, np.inf]),
        np.diag([1.0, -1.0]),
        np.ones((2, 2)) - 1e-3 * np.eye(2),
    ],
)
def test_factor_refuses(bad):
    with pytest.raises(np.linalg.LinAlgError):
        CholeskyFactor(bad)


def test_names():
    with pytest.raises(ValueError, match="irls.*newton.*bfgs.*lbfgs.*sgd"):
        solve("powell", objective("logit"), np.zeros(4))


@pytest.mark.parametrize("mean", [0.0, 1e2, 1e3, 1e4, 1e6, 1e10])
@pytest.mark.parametrize("link", LINKS)
def test_a_column_far_from_zero(link, mean):
    """A year, a date in seconds: slope and standard error are those of the column centred, to ten digits.

    The column holds the numbers exactly, in units of 2^-10, so that centring it loses nothing.
    """
    generator = np.random.default_rng(5)
    x = np.round(generator.normal(size=300) * 1024) / 1024
    y = (generator.random(300) < 1 / (1 + np.exp(-x))).astype(float)
    slopes = []
    for column in (x, x + mean):
        X = np.column_stack([np.ones(300), column])
        problem = Objective(Binomial(LINKS[link], binary=True), Blocks(Dense(X), y, None, None, None))
        found = estimate("irls", problem, np.zeros(2))
        root = from_basis(found.basis, found.fit.evaluation.factor.root)
        slopes.append((found.theta[1], np.sqrt((root[1] ** 2).sum()), found.fit.evaluation.value))
    np.testing.assert_allclose(slopes[1], slopes[0], rtol=1e-10)


def test_scoring_of_huge_counts_goes_on_to_rounding():
    """Where scoring hands over to the observed information the point is the same one: it does not stand still."""
    from scipy.stats import norm

    rng = np.random.default_rng(3)
    x, m = rng.normal(size=12), np.full(12, 1e10)
    y = rng.binomial(m.astype(int), norm.cdf(0.5 * x)).astype(float)
    blocks = Blocks(Dense(np.column_stack([np.ones(12), x])), y, m, None, None)
    objective = Objective(Binomial(LINKS["probit"]), blocks)
    for method in ("irls", "newton"):
        assert solve(method, objective, np.zeros(2)).decrement < 1e-18
