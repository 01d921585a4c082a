"""The binomial likelihood, pointwise in eta, against mpmath: value, derivatives, expectations, counts, fractions."""

import functools
import itertools

import mpmath as mp
import numpy as np
import pytest
from core import exact
from core.every_link import LINKS

from glmclf.core.likelihood.pointwise import Binomial

# y log F + (m - y) log(1-F) adds two terms of one sign: it is as exact as its parts; so is the weight. The score is a
# difference, and its error is measured against the larger of its two terms.
RTOL = 1e-12

RANGE = {"logit": (-650, 650), "probit": (-150, 150), "cloglog": (-600, 5.8)}
COUNTS = [(0, 1), (1, 1), (0, 7), (3, 7), (7, 7), (123456789, 10**9), (10**9, 10**9), (0, 10**9), (1, 10**9)]
FRACTIONS = [(1e-12, 1), (0.25, 1), (0.5, 1), (1 - 2.0**-53, 1)]


def etas(name):
    low, high = RANGE[name]
    generator = np.random.default_rng(11)
    inner = generator.uniform(-6, min(high, 6), 12)
    return np.r_[0.0, -1e-9, 1e-9, low, low / 7, high / 7, high, inner, generator.uniform(low, high, 8)]


@functools.cache
def link_values(name, eta):
    return exact.functions(name, eta)


def close(value, true, size=None, context=""):
    with mp.workdps(40):
        size = abs(true) if size is None else size
        assert not np.isnan(value), context
        assert abs(mp.mpf(float(value)) - true) <= RTOL * size + exact.SMALLEST, (
            context,
            float(value),
            mp.nstr(true, 17),
        )


@pytest.mark.parametrize(("y", "m"), COUNTS + FRACTIONS)
@pytest.mark.parametrize("name", LINKS)
def test_pointwise(name, y, m):
    eta = etas(name)
    args = np.full(len(eta), float(y)), np.full(len(eta), float(m)), eta
    ll, u, expected = Binomial(LINKS[name]).pointwise(*args)
    observed = Binomial(LINKS[name]).pointwise(*args, expected=False)[2]
    for i, e in enumerate(eta):
        t = link_values(name, e)
        with mp.workdps(40):
            yes, no = mp.mpf(y), mp.mpf(m) - mp.mpf(y)
            where = f"y={y}, m={m}, eta={e!r}"
            close(ll[i], yes * t["logcdf"] + no * t["logsf"], context=where)
            close(u[i], yes * t["r1"] - no * t["r0"], yes * t["r1"] + no * t["r0"], where)
            close(observed[i], yes * t["w1"] + no * t["w0"], context=where)
            close(expected[i], m * t["r1"] * t["r0"], context=where)


def log_likelihood(name, y, m):
    def value(eta):
        logcdf, logsf = exact.LINKS[name](eta)[:2]
        return y * logcdf + (m - y) * logsf

    return value


@pytest.mark.parametrize(("y", "m"), [(0, 1), (1, 1), (3, 7), (0.25, 1)])
@pytest.mark.parametrize("name", LINKS)
def test_score_factor_and_weight_are_derivatives(name, y, m):
    """First and minus second derivative of the log-likelihood, by differences in 120 digits."""
    eta = np.array([-8.0, -3.3, -0.4, 0.0, 0.7, 1.6, 2.2])
    _, u, w = Binomial(LINKS[name]).pointwise(np.full(7, float(y)), np.full(7, float(m)), eta, expected=False)
    with mp.workdps(120):
        value, h = log_likelihood(name, mp.mpf(y), mp.mpf(m)), mp.mpf(10) ** -30
        for i, e in enumerate(eta):
            low, middle, high = (value(mp.mpf(float(e)) + step) for step in (-h, 0, h))
            close(u[i], (high - low) / (2 * h), context=e)
            close(w[i], -(high - 2 * middle + low) / h**2, context=e)


@pytest.mark.parametrize("m", [1, 4])
@pytest.mark.parametrize("name", LINKS)
def test_expected_weight_is_an_expectation(name, m):
    """Both the mean of the observed weight and the variance of the score, over the outcomes 0 to m."""
    eta = np.linspace(-6, 2.3, 12)
    link, likelihood = LINKS[name], Binomial(LINKS[name])
    mean, variance = np.zeros_like(eta), np.zeros_like(eta)
    trials = np.full_like(eta, float(m))
    for y in range(m + 1):
        outcome = np.full_like(eta, float(y))
        p = np.exp(y * link.logcdf(eta) + (m - y) * link.logsf(eta) + likelihood.constant(outcome, trials))
        _, u, w = likelihood.pointwise(outcome, trials, eta, expected=False)
        mean, variance = mean + p * w, variance + p * u * u
    expected = likelihood.pointwise(outcome, trials, eta)[2]
    np.testing.assert_allclose(expected, mean, rtol=1e-12)
    np.testing.assert_allclose(expected, variance, rtol=1e-12)


@pytest.mark.parametrize("expected", [True, False])
@pytest.mark.parametrize("name", LINKS)
def test_binary_shortcut_is_the_general_formula(name, expected):
    eta = np.r_[np.linspace(-30, 5.5, 80), np.random.default_rng(3).uniform(-400, 5.5, 60)]
    for y in (np.zeros_like(eta), np.ones_like(eta), (np.arange(len(eta)) % 2).astype(float)):
        short = Binomial(LINKS[name], binary=True).pointwise(y, None, eta, expected)
        general = Binomial(LINKS[name]).pointwise(y, None, eta, expected)
        for a, b in zip(short, general, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("name", LINKS)
def test_no_trials_are_one_trial_a_row(name):
    eta, y = np.linspace(-5, 3, 9), np.linspace(0, 1, 9)
    for expected, binary in itertools.product((True, False), repeat=2):
        if binary:
            y = np.round(y)
        likelihood = Binomial(LINKS[name], binary=binary)
        for a, b in zip(
            likelihood.pointwise(y, None, eta, expected),
            likelihood.pointwise(y, np.ones(9), eta, expected),
            strict=True,
        ):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", LINKS)
def test_weights_are_never_negative(name):
    """Every link is log-concave, so that the observed information is positive semi-definite everywhere."""
    eta = np.r_[-1e6, -1e4, np.linspace(-800, 800, 401), 1e4, 1e6]
    for y, expected, binary in itertools.product((0.0, 0.5, 1.0), (True, False), (True, False)):
        if binary and y == 0.5:
            continue
        with np.errstate(over="ignore"):
            ll, u, w = Binomial(LINKS[name], binary).pointwise(np.full_like(eta, y), None, eta, expected)
        assert not any(np.isnan(a).any() for a in (ll, u, w)), (y, expected, binary)
        assert (ll <= 0).all()
        assert (w >= 0).all(), f"F of {name} is not log-concave: the docstring of `Link` says what rests on that"


def test_constant():
    """log of the binomial coefficient, from the exact integer; gammaln of m near 1e9 cancels to 1e-16 of its size."""
    y = np.array([0.0, 1, 3, 7, 50, 123456789, 10**9 - 1])
    m = np.array([5.0, 1, 7, 7, 100, 10**9, 10**9])
    found = Binomial.constant(y, m)
    with mp.workdps(40):
        for i in range(len(y)):
            true = mp.loggamma(m[i] + 1) - mp.loggamma(y[i] + 1) - mp.loggamma(m[i] - y[i] + 1)
            assert abs(mp.mpf(float(found[i])) - true) <= 1e-15 * mp.loggamma(m[i] + 1) + mp.mpf("1e-14"), (y[i], m[i])
    assert Binomial.constant(y, None) == 0.0


def test_saturated():
    """The likelihood at mu = y/m, and 0 log 0 = 0; it bounds the likelihood of every eta."""
    y, m = np.array([0.0, 1, 3, 7, 123456789, 10**9]), np.array([1.0, 1, 7, 7, 10**9, 10**9])
    found = Binomial.saturated(y, m)
    with mp.workdps(40):
        for i in range(len(y)):
            p = mp.mpf(y[i]) / mp.mpf(m[i])
            true = sum(c * mp.log(q) for c, q in ((y[i], p), (m[i] - y[i], 1 - p)) if c)
            assert abs(mp.mpf(float(found[i])) - true) <= RTOL * abs(true)
    np.testing.assert_array_equal(Binomial.saturated(np.array([0.0, 1.0]), None), 0.0)
    for link in LINKS.values():
        at = Binomial(link).pointwise(y, m, np.full(6, -0.3))[0]
        assert (at <= found).all()
