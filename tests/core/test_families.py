"""Each family of naive Bayes against mpmath: estimates, log densities far out, Hessians, merges, domains."""

import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from glmclf.core.naive_bayes.families import (
    FAMILY_CLASSES,
    Bernoulli,
    Categorical,
    Exponential,
    Gamma,
    GaussianFamily,
    MultinomialFamily,
    Poisson,
    ZeroCell,
)
from glmclf.core.naive_bayes.gaussian import chunk
from glmclf.core.numerics import special as gammas

# a density is as exact as the few roundings of its largest term
RTOL = 1e-13

G = np.random.default_rng(20)
N = 24
Y = np.repeat([0, 1], 12)
W = G.integers(1, 4, N).astype(float)
VALUES = {
    "gaussian": (GaussianFamily(), G.normal(3, 2, N)),
    "bernoulli": (Bernoulli(), np.tile([0, 1, 1.0], 8)),
    "categorical": (Categorical(3), np.tile([0, 1, 2, 2], 6)),
    "multinomial": (MultinomialFamily(3), G.multinomial(6, [0.2, 0.3, 0.5], N).astype(float)),
    "poisson": (Poisson(), G.poisson(3, N).astype(float)),
    "exponential": (Exponential(), G.exponential(2, N)),
    "gamma": (Gamma(), G.gamma(3, 2, N)),
}


def log_density(name, x, theta):
    """log f in mpmath, in parameters that are free."""
    if name == "gaussian":
        return -(mp.log(2 * mp.pi * theta[1]) + (x - theta[0]) ** 2 / theta[1]) / 2
    if name in ("bernoulli", "categorical"):
        return mp.log(theta[int(x) - 1] if x else 1 - sum(theta))
    if name == "multinomial":
        p = [*theta, 1 - sum(theta)]
        terms = [c * mp.log(q) - mp.loggamma(c + 1) for c, q in zip(x, p)]
        return mp.loggamma(sum(x) + 1) + sum(terms)
    if name == "poisson":
        return x * mp.log(theta[0]) - theta[0] - mp.loggamma(x + 1)
    if name == "exponential":
        return mp.log(theta[0]) - theta[0] * x
    a, b = theta
    return a * mp.log(b) - mp.loggamma(a) + (a - 1) * mp.log(x) - b * x


def natural(name, theta):
    """(-A, eta) in the same parameters."""
    if name == "gaussian":
        m, v = theta
        return [-mp.log(v) / 2 - m * m / (2 * v), m / v, -1 / (2 * v)]
    if name in ("bernoulli", "categorical"):
        first = 1 - sum(theta)
        return [mp.log(first), *(mp.log(t / first) for t in theta)]
    if name == "multinomial":
        return [mp.mpf(0), *(mp.log(t) for t in theta), mp.log(1 - sum(theta))]
    if name == "poisson":
        return [-theta[0], mp.log(theta[0])]
    if name == "exponential":
        return [mp.log(theta[0]), -theta[0]]
    a, b = theta
    return [a * mp.log(b) - mp.loggamma(a), a, -b]


def estimates(name, fit, k):
    """The fit's free parameters of class k."""
    found = [float(e.value[k, 0]) for e in fit.estimates()]
    return {"categorical": found[1:], "multinomial": found[:-1]}.get(name, found)


def exact(x):
    return [mp.mpf(float(v)) for v in x] if np.ndim(x) else mp.mpf(float(x))


def loglik(name, rows, weights, theta):
    return sum(mp.mpf(float(w)) * log_density(name, exact(x), theta) for x, w in zip(rows, weights))


def partials(f, theta, order):
    """Gradient or Hessian by mpmath's differences at many digits."""
    d = len(theta)
    unit = [[int(i == j) for i in range(d)] for j in range(d)]
    if order == 1:
        return [mp.diff(f, tuple(theta), tuple(u)) for u in unit]
    return [[mp.diff(f, tuple(theta), tuple(a + b for a, b in zip(u, v))) for v in unit] for u in unit]


@pytest.fixture(params=VALUES)
def case(request):
    name = request.param
    family, values = VALUES[name]
    with mp.workdps(40):
        yield name, values, family, family.fit(family.statistics(values, Y, W, 2))


def test_estimates_maximise(case):
    name, values, family, fit = case
    for k in (0, 1):
        theta = exact(estimates(name, fit, k))
        rows, weights = values[Y == k], W[Y == k]
        gradient = partials(lambda *t, r=rows, w=weights: loglik(name, r, w, t), theta, 1)
        assert max(abs(g) * t for g, t in zip(gradient, theta)) < 1e-11
        statistics = family.statistics(values, Y, W, 2)
        assert_allclose(fit.loglik(statistics)[k, 0], float(loglik(name, rows, weights, theta)), rtol=1e-13)


def test_covariance_is_the_inverse_hessian(case):
    name, values, _, fit = case
    k = 1
    theta = exact(estimates(name, fit, k))
    H = mp.matrix(partials(lambda *t: loglik(name, values[Y == k], W[Y == k], t), theta, 2))
    V = (-H) ** -1
    m = len(natural(name, theta))
    J = mp.matrix([partials(lambda *t, i=i: natural(name, t)[i], theta, 1) for i in range(m)])
    expected = np.array((J * V * J.T).tolist(), dtype=float)
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert_allclose(fit.class_covariance()[k, 0], expected, rtol=1e-10, atol=1e-11 * scale.max())
    assert_allclose(fit.variances()[k, 0], np.diag(expected), rtol=1e-11, atol=1e-30)
    # standard errors of the parameters themselves
    se = [float(e.se[k, 0]) for e in fit.estimates()]
    se = {"categorical": se[1:], "multinomial": se[:-1]}.get(name, se)
    assert_allclose(se, [float(mp.sqrt(V[i, i])) for i in range(len(theta))], rtol=1e-10)


def test_natural_parameters(case):
    name, values, _, fit = case
    for k in (0, 1):
        parts, eta = fit.natural()
        expected = [float(v) for v in natural(name, exact(estimates(name, fit, k)))]
        assert_allclose([parts[k, 0], *eta[k, 0]], expected, rtol=1e-13, atol=1e-14)


def test_density_is_linear_in_the_statistic(case):
    """log f_1 - log f_0 = contrast of -A + contrast of eta'T; its variance is that of J'V J."""
    name, values, _, fit = case
    parts, eta = fit.contrasts()
    T = fit.statistic(values)
    f = fit.log_density(values)
    assert_allclose(f[:, 1] - f[:, 0], parts[0, 0] + (T[:, 0] @ eta[0, 0]), rtol=1e-9, atol=1e-11)
    Z = np.concatenate([np.ones((N, 1)), T[:, 0]], axis=1)
    V = fit.class_covariance()[:, 0]
    assert_allclose(fit.score_variance(values), np.einsum("na,kab,nb->nk", Z, V, Z), rtol=1e-8, atol=1e-12)
    for k in (0, 1):
        expected = [float(log_density(name, exact(x), exact(estimates(name, fit, k)))) for x in values]
        assert_allclose(f[:, k], expected, rtol=1e-12, atol=1e-14)


def test_influence_explains_the_covariance(case):
    """sum_i w_i psi_i = 0, and the gram of psi estimates the covariance under the model: its trace form here."""
    name, values, family, fit = case
    psi = fit.influence(values, Y)[:, 0]
    for k in (0, 1):
        assert_allclose(W[Y == k] @ psi[Y == k], 0, atol=1e-9)
    step = 1e-5
    for i in (0, 13):
        ends = [
            family.fit(family.statistics(values, Y, W + d * (np.arange(N) == i), 2)).natural() for d in (-step, step)
        ]
        k = Y[i]
        slope = [np.r_[p[k, 0], e[k, 0]] for p, e in ends]
        denominator = fit.n[k, 0]
        assert_allclose(psi[i] / denominator, (slope[1] - slope[0]) / (2 * step), rtol=1e-5, atol=1e-8)


def test_merge_weights_and_missing(case):
    name, values, family, fit = case
    rows = np.repeat(np.arange(N), W.astype(int))
    pieces = [family.statistics(values[r], Y[r], None, 2) for r in (rows[:7], rows[7:7], rows[7:30], rows[30:])]
    total = pieces[0]
    for piece in pieces[1:]:
        total = total + piece
    again = family.fit(total)
    for a, b in zip(again.natural(), fit.natural()):
        assert_allclose(a, b, rtol=1e-12)
    holes = values.astype(float).copy()
    holes[::5] = np.nan
    if name == "categorical":
        holes = np.where(np.isnan(holes), -1, holes).astype(int)
    seen = np.arange(N) % 5 > 0
    a = family.fit(family.statistics(holes, Y, W, 2))
    b = family.fit(family.statistics(values[seen], Y[seen], W[seen], 2))
    for x, z in zip(a.natural(), b.natural()):
        assert_allclose(x, z, rtol=1e-13)
    for f in (a.log_density(holes), a.score_variance(holes), a.influence(holes, Y)):
        assert (f[::5] == 0).all() and np.isfinite(f).all()
    whole, one = family.statistics(values, Y, W, 2).together(), family.statistics(values, 0 * Y, W, 1)
    assert_allclose(family.fit(whole).loglik(whole), family.fit(one).loglik(one), rtol=1e-12)


def test_nothing_is_modified(case):
    name, values, family, fit = case
    before = values.copy()
    for method in (fit.log_density, fit.score_variance, fit.statistic, family.violations):
        method(values)
    fit.influence(values, Y)
    assert np.array_equal(values, before)


# ------------------------------------------------------------------------------------------- tails


def gaussian_fit(mean, sd, n=1000.0):
    from glmclf.core.naive_bayes.families import FittedGaussian

    mean, sd = np.array(mean, float), np.array(sd, float)
    counts = np.full(mean.shape, n)
    family, rest = GaussianFamily(mean.shape[1]), np.zeros_like(mean)
    return FittedGaussian(family, counts, mean, sd**2, mean.mean(axis=0), counts, rest)


@pytest.mark.parametrize(
    "mean, sd",
    [
        ([[0.0], [1.0]], [[1.0], [2.0]]),
        ([[1e8], [1e8 + 1]], [[1.0], [0.5]]),
        ([[0.0], [50.0]], [[1.0], [2.0]]),
        ([[0.0], [1e4]], [[1.0], [1e-4]]),
        ([[-1e-8, 5.0], [1e-8, 5.5]], [[1e-9, 1.0], [1e-9, 2.0]]),
    ],
)
def test_gaussian_distances_keep_twelve_digits(mean, sd):
    fit = gaussian_fit(mean, sd)
    steps = np.array([0, 1e-3, 1, -3, 30, 1e4, -1e4])
    X = np.concatenate([m + steps[:, None] * s for m, s in zip(fit.mean, np.sqrt(fit.variance))])
    with mp.workdps(40):
        for x, row in zip(X, fit.log_density(X)):
            for k in range(2):
                terms = [(exact(v) - exact(m)) ** 2 / exact(s2) for v, m, s2 in zip(x, fit.mean[k], fit.variance[k])]
                true = -sum(t + mp.log(2 * mp.pi * exact(s2)) for t, s2 in zip(terms, fit.variance[k])) / 2
                assert abs(exact(row[k]) - true) <= mp.mpf(2e-12) * (1 + sum(terms)), (x, k)


def test_gaussian_overflow_is_minus_infinity():
    fit = gaussian_fit([[0.0, 0.0], [1.0, 1.0]], [[1.0, 1.0], [2.0, 2.0]])
    assert (fit.log_density(np.array([[1e200, 0.0], [1e308, -1e308]])) == -np.inf).all()


def test_poisson_tails():
    rates, counts = [1e-8, 0.3, 40.0, 1e6, 1e12], [0, 1, 7, 50, 1000, 10**6, 10**6 + 3000, 10**12]
    family = Poisson()
    fit = family.fit(family.statistics(np.array(rates), np.arange(5), None, 5))
    f = fit.log_density(np.array(counts, float))
    with mp.workdps(50):
        for x, row in zip(counts, f):
            for rate, value in zip(rates, row):
                assert_allclose(value, float(log_density("poisson", mp.mpf(x), [mp.mpf(rate)])), rtol=RTOL, atol=1e-13)


def test_gamma_tails():
    from glmclf.core.naive_bayes.families import FittedGamma

    shapes, means = np.array([1e-3, 0.4, 15.9, 16.1, 1e7]), np.array([1.0, 1e-5, 3.0, 3.0, 1e4])
    fit = FittedGamma(Gamma(), np.full((5, 1), 100.0), means, shapes)
    x = np.r_[1e-300, 1e-5, 0.7, 3.0, 3.1, 1e4, 1e4 + 3, 1e9]
    with mp.workdps(50):
        for v, row in zip(x, fit.log_density(x)):
            for a, m, value in zip(shapes, means, row):
                true = log_density("gamma", exact(v), [exact(a), exact(a) / exact(m)])
                assert_allclose(value, float(true), rtol=1e-12, atol=1e-12)


def test_gamma_of_nearly_constant_values():
    """log mean - mean log of a sample with coefficient of variation 1e-6: only 3 digits if subtracted."""
    x = 5.0 * (1 + 1e-6 * np.linspace(-1, 1, 50))
    family = Gamma()
    statistics = family.statistics(x[:20], np.zeros(20, int), None, 1) + family.statistics(
        x[20:], np.zeros(30, int), None, 1
    )
    with mp.workdps(60):
        sample = [exact(v) for v in x]
        s = mp.log(sum(sample) / 50) - sum(mp.log(v) for v in sample) / 50
        a = mp.findroot(lambda a: mp.log(a) - mp.digamma(a) - s, 1 / (2 * s))
    # the mean itself is rounded: s is right to (rounding / coefficient of variation)
    assert_allclose(family.fit(statistics).shape[0], float(a), rtol=1e-9)


@pytest.mark.parametrize("s", [1e-12, 1e-6, 0.01, 0.5, 3, 50, 700])
def test_gamma_shape(s):
    a = gammas.gamma_shape(np.array(s))
    with mp.workdps(50):
        assert abs((mp.log(exact(a)) - mp.digamma(exact(a))) / mp.mpf(s) - 1) < 3e-15


def test_functions_around_log_gamma():
    with mp.workdps(60):
        for a in np.r_[10 ** np.linspace(-6, 10, 33), 15.99, 16.0, 16.01]:
            x = exact(a)
            assert abs(exact(gammas.digamma_gap(a)) / (mp.log(x) - mp.digamma(x)) - 1) < 1e-14
            assert abs(exact(gammas.trigamma_gap(a)) / (x * mp.psi(1, x) - 1) - 1) < 1e-14
            assert abs(exact(gammas.stirling(a)) - (x * mp.log(x) - x - mp.loggamma(x))) < 2e-14
        for v in [1e-300, 1e-5, 2.2499, 2.2501, 3 - 1e-9, 3.001, 3.7499, 3.7501, 1e9, 1e300]:
            ratio = exact(v) / 3
            assert abs(exact(gammas.log_excess(np.array(v), np.array(3.0))) / (mp.log(ratio) - ratio + 1) - 1) < 1e-14


# ------------------------------------------------------------------------------------------ moments


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("order", ["C", "F"])
def test_moments_of_an_offset(offset, order):
    g = np.random.default_rng(2)
    X = np.asarray(g.normal(size=(3000, 3)) + offset, order=order)
    y = g.integers(0, 20, 3000)
    family = GaussianFamily(3)
    parts = [family.statistics(X[r], y[r], None, 20) for r in np.array_split(np.arange(3000), 5)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    for k in (0, 19):
        rows = X[y == k].astype(np.longdouble)
        assert_allclose(total.mean[k], rows.mean(axis=0).astype(float), rtol=1e-15 if offset else 1e-12)
        squares = ((rows - rows.mean(axis=0)) ** 2).sum(axis=0).astype(float)
        assert_allclose(total.squares[k], squares, rtol=1e-7 if offset else 1e-13)
    single = family.statistics(X, y, None, 20)
    assert_allclose(single.squares, total.squares, rtol=1e-7 if offset else 1e-12)


@pytest.mark.parametrize("K", [3, 20])
@pytest.mark.parametrize("p", [2, 40])
@pytest.mark.parametrize("order", ["C", "F"])
def test_moments_of_classes_far_apart_and_of_sorted_rows(order, p, K):
    g = np.random.default_rng(5)
    y = np.sort(g.integers(0, K, 900))  # the first rows are of one class
    X = np.asarray(g.normal(size=(900, p)) + 1e4 * y[:, None], order=order)
    found = GaussianFamily(p).statistics(X, y.astype(np.int8), None, K)
    for k in range(K):
        rows = X[y == k].astype(np.longdouble)
        assert_allclose(found.mean[k], rows.mean(axis=0).astype(float), rtol=1e-14, atol=1e-14)
        assert_allclose(found.squares[k], ((rows - rows.mean(axis=0)) ** 2).sum(axis=0).astype(float), rtol=1e-12)


def test_a_constant_has_no_squares():
    y = np.arange(200) % 2
    X = np.column_stack([np.full(200, 0.1), np.where(y, 0.3, 1e6 / 7)])
    found = GaussianFamily(2).statistics(X, y, None, 2)
    assert GaussianFamily(2).defects(found)
    assert (np.sqrt(found.squares / found.n) <= 8 * np.finfo(float).eps * np.abs(found.mean).max(axis=0)).all()


@pytest.mark.parametrize("K", [3, 25])
def test_moments_of_a_long_block_with_gaps(K):
    """A block of several parts of which one or two have a gap: each class and feature over what it has."""
    g = np.random.default_rng(4)
    n = 3 * chunk(4)
    X, y = g.normal(size=(n, 4)) + 1e3, g.integers(0, K, n)
    X[chunk(4) + 5, 1] = X[-1, 3] = np.nan
    found = GaussianFamily(4).statistics(X, y, None, K)
    for k in (0, K - 1):
        rows = X[y == k]
        assert_allclose(found.n[k], (~np.isnan(rows)).sum(axis=0))
        assert_allclose(found.mean[k], np.nanmean(rows, axis=0), rtol=1e-14)
        assert_allclose(found.squares[k] / found.n[k], np.nanvar(rows, axis=0), rtol=1e-10)


def test_moments_with_missing_values():
    g = np.random.default_rng(2)
    X = g.normal(size=(200, 3))
    X[g.random((200, 3)) < 0.2] = np.nan
    y = g.integers(0, 2, 200)
    found = GaussianFamily(3).statistics(X, y, None, 2)
    for k in (0, 1):
        rows = X[y == k]
        assert_allclose(found.n[k], (~np.isnan(rows)).sum(axis=0))
        assert_allclose(found.mean[k], np.nanmean(rows, axis=0), rtol=1e-12)
        assert_allclose(found.squares[k] / found.n[k], np.nanvar(rows, axis=0), rtol=1e-12)
    column = GaussianFamily().statistics(X[:, 1], y, None, 2)
    assert_allclose(column.squares[:, 0], found.squares[:, 1], rtol=1e-14)


# ----------------------------------------------------------------------------- domains and defects


@pytest.mark.parametrize(
    "family, values, rows, reason",
    [
        (GaussianFamily(), [1, np.inf, np.nan], [1], "infinite values"),
        (Bernoulli(), [0, 1, 2, np.nan], [2], "values other than 0 and 1"),
        (Categorical(3), [0, 3, -1], [1], "codes outside 0..2"),
        (MultinomialFamily(2), [[1, 2], [-1, 2], [np.nan, 1]], [1], "negative counts"),
        (MultinomialFamily(2), [[1, 2], [1.5, 2], [np.nan, 1]], [1], "counts that are not whole numbers"),
        (Poisson(), [0, 2, -1, np.nan], [2], "negative values"),
        (Poisson(), [0, 2, 0.5, np.nan], [2], "values that are not whole numbers"),
        (Exponential(), [0, 2, -0.1, np.nan], [2], "negative values"),
        (Gamma(), [0, 2, 0.1, np.nan], [0], "values that are not positive"),
    ],
)
def test_domains(family, values, rows, reason):
    dtype = int if isinstance(family, Categorical) and not isinstance(family, Bernoulli) else float
    (found,) = family.violations(np.array(values, dtype=dtype))
    assert (found.rows.tolist(), found.reason) == (rows, reason)


Y4 = np.array([0, 0, 1, 1])


@pytest.mark.parametrize(
    "family, values, expected",
    [
        (GaussianFamily(), [3, 3, 1, 2], [("constant within a class", 0, 0)]),
        (GaussianFamily(), [1e9, 1e9 + 1e-7, 1, 2], [("constant within a class", 0, 0)]),
        (GaussianFamily(), [np.nan, np.nan, 1, 2], [("no observed value in a class", 0, 0)]),
        (GaussianFamily(pooled=True), [3, 3, 1, 2], []),
        (GaussianFamily(pooled=True), [3, 3, 1, 1], [("constant within every class", 0, None)]),
        (Gamma(), [3, 3, 1, 2], [("constant within a class", 0, 0)]),
        (Gamma(), [0.1 + 0.2, 0.3, 1, 2], [("constant within a class", 0, 0)]),
        (Exponential(), [0, 0, 1, 2], [("zero in a whole class", 0, 0)]),
        (Poisson(), [0, 0, 1, 2], []),
        (Poisson(), [np.nan, np.nan, 1, 2], [("no observed value in a class", 0, 0)]),
        (Categorical(2), [0, 1, -1, -1], [("no observed value in a class", 0, 1)]),
        (MultinomialFamily(2), [[0, 0], [0, 0], [1, 2], [2, 1]], [("no observed value in a class", 0, 0)]),
    ],
)
def test_defects(family, values, expected):
    values = np.array(values, dtype=int if isinstance(family, Categorical) else float)
    assert [tuple(d) for d in family.defects(family.statistics(values, Y4, None, 2))] == expected


def test_smoothing_needs_no_rows():
    family = Categorical(2)
    statistics = family.statistics(np.array([0, 1, -1, -1]), Y4, None, 2)
    assert not family.defects(statistics, 1.0)
    fit = family.fit(statistics, 1.0)
    assert_allclose(fit.theta[1], 0.5)
    assert_allclose(fit.effective()[:, 0], [2 / 4, 0])


def test_zero_counts():
    family = MultinomialFamily(2)
    fit = family.fit(family.statistics(np.array([[1, 0], [2, 0], [1, 1], [2, 1.0]]), Y4, None, 2))
    assert fit.zero_cells() == [ZeroCell(0, 1, 0)]
    f = fit.log_density(np.array([[3.0, 0.0], [2.0, 1.0]]))
    assert f[0, 0] == 0 and f[1, 0] == -np.inf and np.isfinite(f[:, 1]).all()
    assert np.isnan(fit.variances()[0, 0, 2]) and np.isfinite(fit.variances()[1]).all()
    assert np.isnan(fit.score_variance(np.array([[2.0, 1.0]]))[0, 0])
    rates = Poisson().fit(Poisson().statistics(np.array([0, 0, 1, 2.0]), Y4, None, 2))
    assert rates.zero_cells() == [ZeroCell(0, None, 0)]
    assert_allclose(rates.log_density(np.array([0.0, 1.0]))[:, 0], [0, -np.inf])
    assert rates.loglik(Poisson().statistics(np.array([0, 0, 1, 2.0]), Y4, None, 2))[0, 0] == 0
    assert np.isnan(rates.estimates()[0].se[0, 0]) and np.isnan(rates.variances()[0, 0, 1])


def test_reference_level_never_seen():
    family = Categorical(3)
    fit = family.fit(family.statistics(np.array([1, 2, 0, 1]), Y4, None, 2))
    assert np.isnan(fit.variances()[0]).all()
    assert np.isnan(fit.influence(np.array([1, 2, 0, 1]), Y4)[:2]).all()
    assert np.isfinite(fit.score_variance(np.array([1]))[0, 0])


def test_registry():
    names = ["gaussian", "bernoulli", "categorical", "multinomial", "poisson", "exponential", "gamma"]
    assert list(FAMILY_CLASSES) == names
    for name, cls in FAMILY_CLASSES.items():
        family = cls(3) if name in ("categorical", "multinomial") else cls()
        assert family.name == name and family.k_params(2) == 2 * family.free
    with pytest.raises(ValueError, match="totals"):
        VALUES["multinomial"][0].fit(VALUES["multinomial"][0].statistics(VALUES["multinomial"][1], Y, None, 2)).sample(
            np.random.default_rng(1), 0, 3
        )
