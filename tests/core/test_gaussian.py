"""Gaussian classes: estimates, likelihoods and covariances in closed form.

The numbers of iris, crabs and Pima.tr are closed forms at high precision, checked against R's MASS and stats; the
covariances are compared with Hessians taken numerically in mpmath.
"""

import pickle

import mpmath as mp
import numpy as np
import pytest
import references
from scipy.special import logsumexp

from glmclf.core.design.dense import Dense
from glmclf.core.gaussian import fit as core
from glmclf.core.gaussian.dispersion import Dispersion
from glmclf.core.gaussian.fit import SingularDispersion, fit_gaussian
from glmclf.core.gaussian.moments import class_moments
from glmclf.core.rows.blocks import Blocks

RTOL = 1e-9  # the numbers are given to twelve digits; some are differences of larger ones
KINDS = ("full", "diag", "spherical")
FEATURES = {
    "iris": ["sepal_length", "sepal_width", "petal_length", "petal_width"],
    "crabs": ["FL", "RW", "CL", "CW", "BD"],
    "pima_tr": ["npreg", "glu", "bp", "skin", "bmi", "ped", "age"],
}
CLASS = {"iris": "species", "crabs": "group", "pima_tr": "type"}


def arrays(name):
    data = references._data(f"data/{name}.csv")
    levels, y = np.unique(data[CLASS[name]].to_numpy(dtype=str), return_inverse=True)
    return data[FEATURES[name]].to_numpy(dtype=float), y, len(levels)


def blocks(X, y, w=None, **options):
    return Blocks(Dense(np.asarray(X, dtype=float)), y, w, **options)


def fit(X, y, kind="full", pooled=True, w=None, **options):
    rows = blocks(X, y, w)
    moments = class_moments(rows, int(y.max()) + 1)
    return rows, moments, fit_gaussian(moments, kind, pooled, **options)


def simulated(n=60, p=3, K=3, seed=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    return rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + rng.normal(size=(K, p))[y], y


# Values


@pytest.mark.parametrize(
    ("name", "kind", "pooled", "llf", "k"),
    [
        ("iris", "full", True, -263.203743274, 24),
        ("iris", "diag", True, -384.088300529, 18),
        ("iris", "spherical", True, -444.667778293, 15),
        ("iris", "full", False, -188.3755549, 44),
        ("iris", "diag", False, -326.050081189, 26),
        ("iris", "spherical", False, -417.965023763, 17),
        ("crabs", "full", True, -1384.88644114, 38),
        ("crabs", "full", False, -1245.16818705, 83),
        ("pima_tr", "full", True, -4434.9834838, 43),
        ("pima_tr", "full", False, -4396.14948224, 71),
    ],
)
def test_joint_loglikelihood(name, kind, pooled, llf, k):
    X, y, _ = arrays(name)
    _, moments, law = fit(X, y, kind, pooled)
    assert core.loglikelihood(moments, law) == pytest.approx(llf, rel=RTOL)
    assert core.n_parameters(law) == k
    assert len(core.parameters(law)) == len(core.standard_errors(law)) == k
    own = law.log_joint(X)[np.arange(len(y)), y]
    assert own.sum() == pytest.approx(llf, rel=RTOL)


@pytest.mark.parametrize(
    ("name", "llnull", "llr"), [("iris", -544.706473422, 563.005460297), ("crabs", -1759.1366617, 748.500441113)]
)
def test_null_model(name, llnull, llr):
    X, y, K = arrays(name)
    rows, moments, law = fit(X, y)
    found = core.null_loglikelihood(moments, law)
    assert found == pytest.approx(llnull, rel=RTOL)
    assert 2 * (core.loglikelihood(moments, law) - found) == pytest.approx(llr, rel=RTOL)
    assert core.n_parameters(law) - core.n_null_parameters(law) == X.shape[1] * (K - 1)
    by_factors = core.null_loglikelihood(moments, law, core.residual_factors(rows, moments, True))
    assert by_factors == pytest.approx(llnull, rel=RTOL)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pooled", [True, False])
def test_null_model_is_the_fit_of_one_class(kind, pooled):
    X, y, _ = arrays("iris")
    _, moments, law = fit(X, y, kind, pooled)
    _, one, single = fit(X, np.zeros(len(y), dtype=int), kind, pooled)
    expected = core.loglikelihood(one, single) + moments.counts @ law.log_priors
    assert core.null_loglikelihood(moments, law) == pytest.approx(expected, rel=1e-12)
    assert core.n_null_parameters(law) == core.n_parameters(single) + len(moments.counts) - 1


@pytest.mark.parametrize(
    ("name", "pooled", "value"),
    [
        ("iris", True, -6.55755901928),
        ("iris", False, -5.45470629514),
        ("crabs", True, -19.7811513889),
        ("crabs", False, -16.0028982419),
        ("pima_tr", True, -89.7883696569),
        ("pima_tr", False, -100.304514647),
    ],
)
def test_conditional_loglikelihood(name, pooled, value):
    X, y, _ = arrays(name)
    rows, _, law = fit(X, y, "full", pooled)
    assert core.conditional_loglikelihood(rows, law) == pytest.approx(value, rel=RTOL)
    assert core.conditional_loglikelihood(blocks(X, y, np.ones(len(y)), size=33), law) == pytest.approx(value, rel=RTOL)


def test_fixed_priors():
    X, y, _ = arrays("iris")
    _, moments, law = fit(X, y, priors=np.array([0.2, 0.3, 0.5]))
    assert core.loglikelihood(moments, law) == pytest.approx(-273.73979484, rel=RTOL)
    assert core.n_parameters(law) == len(core.parameters(law)) == 22
    free = fit(X, y)[2]
    np.testing.assert_array_equal(core.standard_errors(law), core.standard_errors(free)[2:])


def test_smoothed_priors():
    X, y = simulated(n=50)
    _, moments, law = fit(X, y, prior_smoothing=1.5)
    np.testing.assert_allclose(np.exp(law.log_priors), (moments.counts + 1.5) / (50 + 4.5))
    smoothed = moments.counts + 1.5
    np.testing.assert_allclose(core.standard_errors(law)[:2], np.sqrt(1 / smoothed[0] + 1 / smoothed[1:]))
    means = np.sqrt(law.dispersions[0].variances / moments.counts[:, None]).ravel()
    np.testing.assert_allclose(core.standard_errors(law)[2 : 2 + len(means)], means)


@pytest.mark.parametrize("kind", KINDS)
def test_divisors(kind):
    X, y, K = arrays("pima_tr")
    N, counts = len(y), np.bincount(y)
    mle, unbiased = (fit(X, y, kind, divisor=d)[2].dispersions[0] for d in ("mle", "unbiased"))
    np.testing.assert_allclose(unbiased.matrix, mle.matrix * N / (N - K))
    assert (mle.n, unbiased.n) == (N, N - K)
    by_class = [fit(X, y, kind, False, divisor=d)[2].dispersions for d in ("mle", "unbiased")]
    for n, a, b in zip(counts, *by_class, strict=True):
        np.testing.assert_allclose(b.matrix, a.matrix * n / (n - 1))
        assert (a.n, b.n) == (n, n - 1)


def test_estimates_by_hand():
    X, y = simulated()
    W = sum(np.cov(X[y == k].T, bias=True) * np.sum(y == k) for k in range(3)) / len(y)
    assert fit(X, y)[2].dispersions[0].matrix == pytest.approx(W, rel=1e-12)
    assert fit(X, y, "diag")[2].dispersions[0].matrix == pytest.approx(np.diag(np.diag(W)), rel=1e-12)
    assert fit(X, y, "spherical")[2].dispersions[0].matrix == pytest.approx(np.trace(W) / 3 * np.eye(3), rel=1e-12)
    for k, d in enumerate(fit(X, y, pooled=False)[2].dispersions):
        assert d.matrix == pytest.approx(np.cov(X[y == k].T, bias=True), rel=1e-12)


# Regularisation


def test_shrinkage_of_pima():
    X, y, _ = arrays("pima_tr")
    rows, moments, law = fit(X, y, shrinkage=0.3)
    assert core.loglikelihood(moments, law) == pytest.approx(-4452.71978899, rel=RTOL)
    assert core.n_parameters(law) == pytest.approx(36.7, rel=1e-12)
    assert core.ledoit_wolf(rows, moments) == pytest.approx(0.15502352744, rel=RTOL)
    assert core.oas(moments) == pytest.approx(0.11534760215, rel=RTOL)
    assert law.dispersions[0].n == pytest.approx(200 / 0.7)
    assert law.regularised and not law.maximum


def test_intensities_by_class_are_those_of_each_class_alone():
    X, y, K = arrays("pima_tr")
    rows, moments, _ = fit(X, y)
    for k in range(K):
        own, only, _ = fit(X[y == k], np.zeros(np.sum(y == k), dtype=int))
        assert core.ledoit_wolf(rows, moments, pooled=False)[k] == pytest.approx(core.ledoit_wolf(own, only)[0])
        assert core.oas(moments, pooled=False)[k] == pytest.approx(core.oas(only)[0])


@pytest.mark.parametrize("function", ["ledoit_wolf", "oas"])
def test_intensities_ignore_units_and_repeat_with_weights(function):
    X, y = simulated()
    w = np.random.default_rng(0).integers(1, 4, len(y))

    def intensity(X, y, w=None):
        rows, moments, _ = fit(X, y, w=w)
        return core.oas(moments) if function == "oas" else core.ledoit_wolf(rows, moments)

    assert intensity(X * [1e-3, 1, 1e5] + 7, y) == pytest.approx(intensity(X, y), rel=1e-9)
    assert intensity(X, y, w) == pytest.approx(intensity(np.repeat(X, w, axis=0), np.repeat(y, w)), rel=1e-11)
    assert intensity(X[:, :1], y) == 0


@pytest.mark.parametrize("pooled", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_targets(kind, pooled):
    X, y = simulated()
    T = np.diag([1.0, 2.0, 3.0]) + 0.5
    plain = fit(X, y, kind, pooled)[2].dispersions
    part = {
        "full": lambda A: A,
        "diag": lambda A: np.diag(np.diag(A)),
        "spherical": lambda A: np.trace(A) / 3 * np.eye(3),
    }
    for target in ("diag", "identity", T):
        law = fit(X, y, kind, pooled, shrinkage=0.25, target=target, ridge=0.5)[2]
        for a, b in zip(plain, law.dispersions, strict=True):
            full = T if target is T else np.diag(np.diag(a.matrix)) if target == "diag" else part["spherical"](a.matrix)
            expected = 0.75 * a.matrix + 0.25 * part[kind](full) + 0.5 * np.eye(3)
            np.testing.assert_allclose(b.matrix, expected, rtol=1e-12, atol=1e-14)
    assert law.target == "fixed"


@pytest.mark.parametrize(
    ("target", "pooled", "intensity", "elements"),
    [
        ("diag", True, 0.4, 3 + 0.6 * 3),
        ("identity", True, 0.4, 1 + 0.6 * 5),
        (np.eye(3), True, 0.4, 0.6 * 6),
        ("diag", False, np.array([0.0, 0.5, 1.0]), 9 + 3 + 1.5),
    ],
)
def test_effective_parameters(target, pooled, intensity, elements):
    X, y = simulated()
    law = fit(X, y, pooled=pooled, shrinkage=intensity, target=target)[2]
    assert core.n_parameters(law) == pytest.approx(2 + 9 + elements)
    assert not np.isnan(core.standard_errors(law)).any()


@pytest.mark.parametrize("pooled", [True, False])
def test_loglikelihood_of_any_dispersion_is_that_of_its_density(pooled):
    X, y = simulated()
    for kind in KINDS:
        for options in ({"divisor": "unbiased"}, {"shrinkage": 0.2}, {"ridge": 0.3}):
            _, moments, law = fit(X, y, kind, pooled, **options)
            own = law.log_joint(X)[np.arange(len(y)), y]
            assert core.loglikelihood(moments, law) == pytest.approx(own.sum(), rel=1e-12)


# Covariances


def negative_loglikelihood(X, y, kind, pooled, K):
    """The joint log-likelihood of two features as a function of the flat parameters, in mpmath, negated."""
    rows = [[mp.mpf(float(v)) for v in x] for x in X]

    def f(*theta):
        theta = list(theta)
        odds = [mp.mpf(0), *theta[: K - 1]]
        means = [theta[K - 1 + 2 * k : K + 1 + 2 * k] for k in range(K)]
        rest = theta[3 * K - 1 :]
        width = {"full": 3, "diag": 2, "spherical": 1}[kind]
        total = mp.log(mp.fsum(mp.exp(o) for o in odds))
        value = mp.mpf(0)
        for x, k in zip(rows, y.tolist(), strict=True):
            v = rest[0 if pooled else k * width :][:width]
            a, b, c = v if width == 3 else (v[0], mp.mpf(0), v[-1])
            d, e = x[0] - means[k][0], x[1] - means[k][1]
            det = a * c - b * b
            value += (
                odds[k]
                - total
                - mp.log(2 * mp.pi)
                - mp.log(det) / 2
                - (c * d * d - 2 * b * d * e + a * e * e) / det / 2
            )
        return -value

    return f


def hessian(f, theta, h):
    """Central differences of order h^2 in working precision far beyond h."""
    p = len(theta)
    H = mp.matrix(p, p)

    def at(i, a, j, b):
        moved = list(theta)
        moved[i] += a
        moved[j] += b
        return f(*moved)

    for i in range(p):
        for j in range(i + 1):
            H[i, j] = H[j, i] = (at(i, h, j, h) - at(i, h, j, -h) - at(i, -h, j, h) + at(i, -h, j, -h)) / (4 * h * h)
    return H


@pytest.mark.parametrize("pooled", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_covariance_is_the_inverse_of_the_hessian(kind, pooled):
    X, y = simulated(n=17, p=2, K=2, seed=5)
    law = fit(X, y, kind, pooled)[2]
    with mp.workdps(50):
        theta = [mp.mpf(float(v)) for v in core.parameters(law)]
        H = hessian(negative_loglikelihood(X, y, kind, pooled, 2), theta, mp.mpf(10) ** -12)
        V = np.array((H**-1).tolist(), dtype=float)
    found = core.parameter_covariance(law)
    np.testing.assert_allclose(found, V, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(core.standard_errors(law), np.sqrt(np.diag(V)), rtol=1e-9)


@pytest.mark.parametrize("pooled", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_standard_errors_are_the_diagonal(kind, pooled):
    X, y, _ = arrays("crabs")
    for options in ({}, {"divisor": "unbiased"}, {"shrinkage": 0.3}, {"priors": np.full(4, 0.25)}):
        law = fit(X, y, kind, pooled, **options)[2]
        V = core.parameter_covariance(law)
        np.testing.assert_allclose(np.sqrt(np.diag(V)), core.standard_errors(law), rtol=1e-13)
        assert (np.linalg.eigvalsh(V) > 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_of_the_covariance(kind):
    X, y = simulated(n=200, p=6, K=2)
    law = fit(X, y, kind, False)[2]
    V = core.parameter_covariance(law)
    at = np.array([len(V) - 1, 0, 9, 3, len(V) - 2])
    np.testing.assert_array_equal(core.parameter_covariance(law, at), V[np.ix_(at, at)])


def test_weights_are_repeated_rows():
    X, y = simulated()
    w = np.random.default_rng(0).integers(1, 4, len(y))
    for kind in KINDS:
        for pooled in (True, False):
            a, b = fit(X, y, kind, pooled, w), fit(np.repeat(X, w, axis=0), np.repeat(y, w), kind, pooled)
            np.testing.assert_allclose(core.parameters(a[2]), core.parameters(b[2]), rtol=1e-11)
            np.testing.assert_allclose(core.standard_errors(a[2]), core.standard_errors(b[2]), rtol=1e-11)
            for f in (core.loglikelihood, core.null_loglikelihood):
                assert f(a[1], a[2]) == pytest.approx(f(b[1], b[2]), rel=1e-12)
            conditional = [core.conditional_loglikelihood(rows, law) for rows, _, law in (a, b)]
            assert conditional[0] == pytest.approx(conditional[1], rel=1e-9)


# The law


@pytest.mark.parametrize("pooled", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_densities_and_posteriors(kind, pooled):
    X, y, K = arrays("iris")
    law = fit(X, y, kind, pooled)[2]
    for k in range(K):
        S, D = law.dispersion(k).matrix, X - law.means[k]
        d2 = np.einsum("ij,jk,ik->i", D, np.linalg.inv(S), D)
        np.testing.assert_allclose(law.distances(X)[:, k], d2, rtol=1e-10)
        logdet = np.linalg.slogdet(S)[1]
        assert law.dispersion(k).logdet == pytest.approx(logdet, rel=1e-12)
        joint = law.log_priors[k] - 0.5 * (d2 + logdet + 4 * np.log(2 * np.pi))
        np.testing.assert_allclose(law.log_joint(X)[:, k], joint, rtol=1e-10)
    joint = law.log_joint(X)
    np.testing.assert_allclose(
        law.log_posterior(X), joint - logsumexp(joint, axis=1, keepdims=True), rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(law.posterior(X).sum(axis=1), 1, rtol=1e-15)
    np.testing.assert_allclose(law.shifted().log_joint(X - law.centre), joint, rtol=1e-12)


@pytest.mark.parametrize("pooled", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_marginal_law(kind, pooled):
    X, y, _ = arrays("crabs")
    law = fit(X, y, kind, pooled)[2]
    for observed in ([True, False, True, True, False], [False] * 4 + [True], [True] * 5):
        keep = np.array(observed)
        part = law.marginal(keep)
        for d, whole in zip(part.dispersions, law.dispersions, strict=True):
            np.testing.assert_allclose(d.matrix, whole.matrix[np.ix_(keep, keep)], rtol=1e-12, atol=1e-14)
            assert d.kind == kind
            # all features tell of the one variance, whichever are observed
            assert d.n * (d.p if kind == "spherical" else 1) == pytest.approx(
                whole.n * (5 if kind == "spherical" else 1)
            )
        np.testing.assert_array_equal(part.means, law.means[:, keep])
        if kind != "spherical":  # the variance of some features is not that of all
            np.testing.assert_allclose(
                part.log_joint(X[:, keep]), fit(X[:, keep], y, kind, pooled)[2].log_joint(X[:, keep]), rtol=1e-9
            )


def test_with_nothing_observed_the_posterior_is_the_prior():
    X, y = simulated()
    for pooled in (True, False):
        none = fit(X, y, pooled=pooled)[2].marginal(np.zeros(3, dtype=bool))
        np.testing.assert_allclose(none.posterior(np.zeros((4, 0))), np.full((4, 3), 1 / 3), rtol=1e-15)


def test_far_from_the_data_the_posterior_is_a_probability():
    X, y, _ = arrays("iris")
    for pooled in (True, False):
        law = fit(X, y, pooled=pooled)[2]
        far = np.vstack([X.mean(axis=0) + 1e6 * s for s in (-1, 1)])
        log_p = law.log_posterior(far)
        assert np.isfinite(log_p).all() and (log_p.max(axis=1) == 0).all() and (log_p.min() < -1e6)
        np.testing.assert_array_equal(law.posterior(far).sum(axis=1), 1)


def test_blocks_and_threads_change_no_bit(monkeypatch):
    X, y, _ = arrays("crabs")
    law = fit(X, y, pooled=False)[2]
    monkeypatch.setattr("glmclf.core.gaussian.law.CACHED_NUMBERS", 300)
    X = np.tile(X, (10, 1))
    np.testing.assert_array_equal(law.log_joint(X, n_threads=1), law.log_joint(X, n_threads=3))
    assert law.posterior(X[:0]).shape == (0, 4)


def test_units_and_rotations_do_not_matter():
    X, y, _ = arrays("crabs")
    A = np.random.default_rng(2).normal(size=(5, 5))
    for pooled in (True, False):
        _, moments, law = fit(X, y, pooled=pooled)
        _, turned, other = fit(X @ A + 1e3, y, pooled=pooled)
        np.testing.assert_allclose(other.distances(X @ A + 1e3), law.distances(X), rtol=1e-6)
        shift = len(y) * np.linalg.slogdet(A)[1]
        assert core.loglikelihood(turned, other) == pytest.approx(core.loglikelihood(moments, law) - shift, rel=1e-10)
        scaled = fit(X * [1e-8, 1, 1e8, 1, 1], y, pooled=pooled)[2]
        np.testing.assert_allclose(scaled.distances(X * [1e-8, 1, 1e8, 1, 1]), law.distances(X), rtol=1e-9)


@pytest.mark.parametrize("root", [np.array([[2.0, 1.0], [0.0, 0.5]]), np.array([[1.0, 1.0], [0.0, 1e-5]])])
def test_dispersion_arithmetic(root):
    d = Dispersion("full", root, 5.0)
    D = np.random.default_rng(0).normal(size=(6, 2))
    np.testing.assert_allclose(d.whiten(D) @ root, D, rtol=1e-10)
    np.testing.assert_allclose(d.solve(D) @ d.matrix, D, rtol=1e-5)
    np.testing.assert_allclose(d.inverse, np.linalg.inv(d.matrix), rtol=1e-5)
    np.testing.assert_allclose(d.tolerance, 1 / (np.diag(d.matrix) * np.diag(d.inverse)), rtol=1e-9)
    assert d.logdet == pytest.approx(2 * np.log(root[0, 0] * root[1, 1]))
    assert pickle.loads(pickle.dumps(d)).logdet == d.logdet


def test_a_law_can_be_pickled():
    X, y = simulated()
    law = fit(X, y)[2]
    law.posterior(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(law)).posterior(X), law.posterior(X))


# Nearly singular, and singular


def nearly_collinear(gap):
    """Three features, the last a combination of the others but for gap times noise."""
    rng = np.random.default_rng(11)
    y = np.arange(300) % 3
    U = rng.normal(size=(300, 3)) + y[:, None]
    return np.column_stack([U[:, 0], U[:, 1], 2 * U[:, 0] - 0.5 * U[:, 1] + gap * U[:, 2]]), y, U


def exact_logdet(X, y, pooled):
    """log |W/N|, or the sum over classes of n_k log |S_k/n_k|, of the doubles X at sixty digits."""
    with mp.workdps(60):
        scatters = []
        for k in range(int(y.max()) + 1):
            Z = mp.matrix(X[y == k].tolist())
            n = Z.rows
            for j in range(Z.cols):
                m = mp.fsum(Z[i, j] for i in range(n)) / n
                for i in range(n):
                    Z[i, j] -= m
            scatters.append((n, Z.T * Z))
        if not pooled:
            return float(mp.fsum(n * mp.log(mp.det(S / n)) for n, S in scatters))
        W = scatters[0][1]
        for _, S in scatters[1:]:
            W = W + S
        return float(mp.log(mp.det(W / len(y))))


@pytest.mark.parametrize("gap", [1e-4, 1e-6])
@pytest.mark.parametrize("pooled", [True, False])
def test_factors_of_the_residuals_keep_the_digits(gap, pooled):
    X, y, _ = nearly_collinear(gap)
    rows = blocks(X, y, size=70)
    moments = class_moments(rows, 3)
    assert core.ill_conditioned(moments, pooled)
    factors = core.residual_factors(rows, moments, pooled)
    law = fit_gaussian(moments, "full", pooled, factors=factors)
    logdet = law.dispersions[0].logdet if pooled else moments.counts @ [d.logdet for d in law.dispersions]
    assert logdet == pytest.approx(exact_logdet(X, y, pooled), rel=1e-11 if gap > 1e-5 else 1e-9)
    assert law.near == ((0, 1, 2) if gap < 1e-5 else (0, 2))


def test_well_conditioned_data_need_no_second_pass():
    for name in FEATURES:
        X, y, _ = arrays(name)
        rows, moments, law = fit(X, y, pooled=False)
        assert not core.ill_conditioned(moments, True) and not core.ill_conditioned(moments, False) and law.near == ()
        other = fit_gaussian(moments, "full", False, factors=core.residual_factors(rows, moments, False))
        for a, b in zip(law.dispersions, other.dispersions, strict=True):
            np.testing.assert_allclose(a.root, b.root, rtol=1e-8, atol=1e-10)


def test_factors_with_weights_and_few_rows_in_a_block():
    X, y = simulated(n=24)
    w = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    rows = blocks(X, y, w, size=2)
    moments = class_moments(rows, 3)
    for pooled in (True, False):
        scatters = [moments.within] if pooled else moments.scatter
        for R, S in zip(core.residual_factors(rows, moments, pooled), scatters, strict=True):
            np.testing.assert_allclose(R.T @ R, S, rtol=1e-11, atol=1e-12)
            assert (np.diag(R) > 0).all() and (np.tril(R, -1) == 0).all()


def error(X, y, kind="full", pooled=True, factors=False, w=None, **options):
    rows = blocks(X, y, w)
    moments = class_moments(rows, int(y.max()) + 1)
    if factors:
        options["factors"] = core.residual_factors(rows, moments, pooled)
    with pytest.raises(SingularDispersion) as caught:
        fit_gaussian(moments, kind, pooled, **options)
    again = pickle.loads(pickle.dumps(caught.value))
    assert vars(again) == vars(caught.value)
    return caught.value


@pytest.mark.parametrize("factors", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_a_combination_is_named_with_its_coefficients(factors, offset):
    X, y, U = nearly_collinear(0.0)
    X = np.column_stack([U[:, 2] * 1e5, X + offset])
    found = error(X, y, factors=factors)
    assert (found.reason, found.columns, found.classes) == ("collinear", (3,), ())
    assert found.combination == pytest.approx({1: 2.0, 2: -0.5}, rel=1e-5)


@pytest.mark.parametrize("factors", [False, True])
def test_a_combination_within_one_class(factors):
    X, y = simulated(n=90)
    X[y == 1, 2] = 3 * X[y == 1, 0] + 7
    found = error(X, y, pooled=False, factors=factors)
    assert (found.reason, found.columns, found.classes) == ("collinear", (2,), (1,))
    assert found.combination == pytest.approx({0: 3.0}, rel=1e-6)
    assert fit(X, y)[2].pooled  # the pooled matrix is regular


def test_two_combinations():
    X, y = simulated(n=90, p=2)
    found = error(np.column_stack([X, X[:, 0] - X[:, 1], 4 * X[:, 1]]), y, factors=True)
    assert found.columns == (2, 3)
    assert found.combinations[2] == pytest.approx({0: 1.0, 1: -1.0})
    assert found.combinations[3] == pytest.approx({1: 4.0})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [0.1, 1e8 / 3])
def test_constant_within_every_class(kind, value):
    X, y = simulated()
    for column in (np.full(len(y), value), value * (1 + y)):
        found = error(np.column_stack([X[:, :1], column, X[:, 1:]]), y, kind)
        assert (found.reason, found.columns, found.classes) == ("constant within every class", (1,), ())


@pytest.mark.parametrize("kind", ["full", "diag"])
def test_constant_within_one_class(kind):
    X, y = simulated()
    X[y == 2, 1] = 0.3
    found = error(X, y, kind, pooled=False)
    assert (found.reason, found.columns, found.classes) == ("constant within a class", (1,), (2,))
    assert fit(X, y, kind)[2].pooled
    assert not fit(X, y, "spherical", pooled=False)[2].pooled  # its variance is the mean of all features'


def test_all_constant_within_one_class():
    X, y = simulated()
    X[y == 2] = 0.3
    found = error(X, y, "spherical", pooled=False)
    assert (found.reason, found.columns, found.classes) == ("constant within a class", (0, 1, 2), (2,))


@pytest.mark.parametrize(("kind", "needed"), [("full", 4), ("diag", 2), ("spherical", 2)])
def test_too_few_rows_in_a_class(kind, needed):
    X, y = simulated(n=30)
    keep = (y != 1) | (np.cumsum(y == 1) < needed)
    found = error(X[keep], y[keep], kind, pooled=False)
    assert (found.reason, found.classes, found.rows, found.needed) == ("too few rows", (1,), (needed - 1,), needed)
    law = fit(X[keep], y[keep], kind)[2]  # one row in a class is enough for a pooled matrix
    assert np.isfinite(core.standard_errors(law)).all()
    keep = (y != 1) | (np.cumsum(y == 1) <= needed)
    assert not fit(X[keep], y[keep], kind, pooled=False)[2].pooled


def test_too_few_rows_in_all():
    X, y = simulated(n=5)
    found = error(X, y)
    assert (found.reason, found.rows, found.needed) == ("too few rows", (5,), 6)
    X, y = simulated(n=6)
    assert fit(X, y)[2].pooled


def test_rows_count_where_weights_are_sampling_weights():
    X, y = simulated(n=30)
    w = np.full(30, 0.01)
    moments = class_moments(blocks(X, y, w), 3)
    law = fit_gaussian(moments, "full", False, rows=np.bincount(y))
    assert law.dispersions[1].matrix == pytest.approx(fit(X, y, pooled=False)[2].dispersions[1].matrix, rel=1e-10)


def test_regularised_singular_matrices():
    X, y, _ = nearly_collinear(0.0)
    for options in ({"shrinkage": 0.1}, {"shrinkage": 0.1, "target": "identity"}, {"ridge": 0.1}):
        for pooled in (True, False):
            law = fit(X, y, pooled=pooled, **options)[2]
            assert all((np.linalg.eigvalsh(d.matrix) > 0).all() for d in law.dispersions)
    X, y = simulated(n=30)
    keep = (y != 1) | (np.cumsum(y == 1) < 2)  # one row in class 1
    X, y = X[keep], y[keep]
    assert np.isfinite(fit(X, y, pooled=False, ridge=0.1)[2].posterior(X)).all()
    assert np.isfinite(fit(X, y, pooled=False, shrinkage=0.1, target=np.eye(3))[2].posterior(X)).all()
    assert np.isfinite(fit(X, y, pooled=False, ridge=0.1, divisor="unbiased")[2].posterior(X)).all()
    assert error(X, y, pooled=False, shrinkage=0.1).reason == "too few rows"
    assert error(X, y, pooled=False, shrinkage=np.array([0.0, 0.3, 0.1])).classes == (1,)


def test_a_constant_stays_singular_when_shrunk_to_its_own_variance():
    X, y = simulated()
    X[:, 1] = 2.5
    assert error(X, y, shrinkage=0.5).columns == (1,)
    assert fit(X, y, shrinkage=0.5, target="identity")[2].regularised


def test_covariances_by_class_need_scatters_by_class(monkeypatch):
    X, y = simulated()
    monkeypatch.setattr("glmclf.core.gaussian.moments.MAX_SCATTER_NUMBERS", 1)
    assert fit(X, y)[2].pooled
    with pytest.raises(ValueError, match="not kept"):
        fit(X, y, pooled=False)
    for kind in ("diag", "spherical"):  # which need variances alone
        assert not fit(X, y, kind, pooled=False)[2].pooled
