"""Links against mpmath over the whole range of doubles: no clipping, no NaN, no digit lost in a tail."""

import functools
import warnings

import mpmath as mp
import numpy as np
import pytest
from core import exact
from core.every_link import LINKS

from glmclf.core.likelihood import links

# the promise of the package; eta itself is exact, so that all but the last three digits are the functions' own to keep
RTOL = 1e-12

FUNCTIONS = ["logcdf", "logsf", "cdf", "sf", "pdf", "logpdf", "dlogpdf"]
TERMS = ["logcdf", "logsf", "r1", "r0", "w1", "w0"]
SMALL = [1e-300, 1e-20, 1e-16, 1e-12, 1e-8, 1e-5, 1e-3]


def both_signs(values):
    return sorted({0.0, *values, *(-v for v in values)})


def spread(low, high, count, seed):
    return np.random.default_rng(seed).uniform(low, high, count).tolist()


# around every change of form in the code, and everywhere else at random
GRIDS = {
    "logit": both_signs([*SMALL, 0.5, 1, 5, 18, 36, 37, 40, 100, 300, 699.5, 700, *spread(0, 60, 20, 1)]),
    "probit": both_signs([*SMALL, 0.5, 1, 1.4, 5, 8, 8.3, 9.99, 10, 10.01, 14, 20, 25, 37, 38, 50, 100, 1e3, 1e4,
                          *spread(0, 12, 25, 2), *spread(12, 200, 8, 3)]),
    "cloglog": sorted({*both_signs(SMALL), links.LOG_LOG_2, -0.3665, -0.3666, np.log(0.5), -0.6931, -0.6932, 0.5, 1, 2,
                       3, 3.6, 4, 5, 6, 6.5, 6.6, -1, -5, -10, -18, -30, -35.99, -36, -36.01, -37, -40, -100, -700,
                       -708, *spread(-45, 6.6, 40, 4)}),
}  # fmt: skip
# outside the range in which every function is a normal double
BEYOND = {
    "logit": [-1e6, -1e4, -745.2, -709, 709, 745.2, 1e4, 1e6],
    "probit": [-1e6, 1e6],
    "cloglog": [-1e6, -1e4, -1000, -745.2, -720, 6.62, 7, 10, 50, 300, 700, 709.78, 709.79, 710, 720, 1e3, 1e4, 1e6],
}


def test_every_link_has_its_exact_values_and_its_points():
    """What a new link needs before the other tests of this file can judge it."""
    for where, table in {"tests/core/exact.py: LINKS": exact.LINKS, "GRIDS": GRIDS, "BEYOND": BEYOND}.items():
        assert {*table} == {*LINKS}, f"{where} has {sorted(table)}, the package has {sorted(LINKS)}"


@functools.cache
def expected(name, eta):
    return exact.functions(name, eta)


def quietly(f, eta):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return f(eta)


def worst(name, function, values, grid):
    """(error, eta, value, exact) of the worst point."""
    rows = [
        (exact.relative_error(v, expected(name, eta)[function]), eta, float(v), expected(name, eta)[function])
        for eta, v in zip(grid, values, strict=True)
    ]
    return max(rows, key=lambda row: row[0])


def check(name, function, values, grid):
    error, eta, value, true = worst(name, function, values, grid)
    assert error < RTOL, f"{function}({eta!r}) = {value!r}, exactly {mp.nstr(true, 17)}: relative error {error:.1e}"


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", LINKS)
def test_function(name, function):
    grid = GRIDS[name]
    values = quietly(getattr(LINKS[name], function), np.array(grid))
    check(name, function, values, grid)


@pytest.mark.parametrize("term", TERMS)
@pytest.mark.parametrize("name", LINKS)
def test_term(name, term):
    grid = GRIDS[name]
    terms = quietly(LINKS[name].terms, np.array(grid))
    check(name, term, getattr(terms, term), grid)


@pytest.mark.parametrize("name", LINKS)
def test_success_is_a_success(name):
    grid = GRIDS[name]
    eta = np.array(grid)
    for is_expected in (True, False):
        ll, r1, w = quietly(lambda e, flag=is_expected: LINKS[name].success(e, flag), eta)
        check(name, "logcdf", ll, grid)
        check(name, "r1", r1, grid)
        if not is_expected:
            check(name, "w1", w, grid)
        else:
            for e, value in zip(grid, w, strict=True):
                t = expected(name, e)
                with mp.workdps(40):
                    assert exact.relative_error(value, t["r1"] * t["r0"]) < RTOL, e


@pytest.mark.parametrize("name", LINKS)
def test_outcomes_of_rows_alone(name):
    """A link may have a quicker form where no row is far out: each point as a block of its own, of either outcome."""
    link, weight_of = LINKS[name], {1.0: ("logcdf", "r1", "w1"), 0.0: ("logsf", "r0", "w0")}
    for eta in GRIDS[name]:
        t = expected(name, eta)
        for y, (log, slope, curvature) in weight_of.items():
            for is_expected in (True, False):
                f = functools.partial(link.outcome, np.array([y]), expected=is_expected)
                ll, u, w = (float(value[0]) for value in quietly(f, np.array([eta])))
                with mp.workdps(40):
                    weight = t["r1"] * t["r0"] if is_expected else t[curvature]
                    sign = 1 if y else -1
                    for value, true in ((ll, t[log]), (u, sign * t[slope]), (w, weight)):
                        assert exact.relative_error(value, true) < RTOL, (eta, y, is_expected, value)


@pytest.mark.parametrize("name", LINKS)
def test_outcomes_do_not_depend_on_the_rows_beside_them(name):
    """The quick form and the general one meet: to rounding the same on both sides of where one takes over."""
    eta = np.linspace(-4.9, 6.4, 40)
    y = np.arange(40) % 2.0
    for flag in (True, False):
        beside = LINKS[name].outcome(np.r_[y, 1.0], np.r_[eta, -30.0], flag)
        for a, b in zip(LINKS[name].outcome(y, eta, flag), beside, strict=True):
            np.testing.assert_allclose(a, b[:-1], rtol=1e-12)


@pytest.mark.parametrize("name", LINKS)
def test_beyond_the_range_of_doubles(name):
    """A function that leaves the doubles is 0, infinite or the largest of them; it is never NaN."""
    grid = BEYOND[name]
    eta = np.array(grid)
    with np.errstate(all="ignore"):
        terms = LINKS[name].terms(eta)
        for function in FUNCTIONS:
            check_beyond(name, function, getattr(LINKS[name], function)(eta), grid)
    for term in TERMS:
        check_beyond(name, term, getattr(terms, term), grid)


def check_beyond(name, function, values, grid):
    for eta, value in zip(grid, values, strict=True):
        assert not np.isnan(value), f"{function}({eta!r}) is NaN"
        if abs(eta) > 1e4 or (name == "cloglog" and eta > 50):
            continue  # too far even for mpmath: that it is no NaN must do
        error = exact.relative_error(value, expected(name, eta)[function])
        assert error < RTOL, f"{function}({eta!r}) = {value!r}: relative error {error:.1e}"


@pytest.mark.parametrize("name", LINKS)
def test_beyond_everything_the_signs_are_right(name):
    eta = np.array([-1e300, -1e6, 1e6, 1e300])
    with np.errstate(all="ignore"):
        t = LINKS[name].terms(eta)
    assert (t.logcdf <= 0).all() and (t.logsf <= 0).all() and (t.r1 >= 0).all() and (t.r0 >= 0).all()
    concave = (t.w1 >= 0).all() and (t.w0 >= 0).all()
    assert concave, f"F of {name} is not log-concave: the docstring of `Link` says what rests on that"


@pytest.mark.parametrize("name", LINKS)
def test_infinite_eta(name):
    """Where separation decides a row: F and 1 - F, their logs and f without a warning, slopes that are no NaN."""
    link, eta = LINKS[name], np.array([-np.inf, np.inf])
    for function, values in {
        "cdf": [0, 1],
        "sf": [1, 0],
        "logcdf": [-np.inf, 0],
        "logsf": [0, -np.inf],
        "pdf": [0, 0],
    }.items():
        found = quietly(getattr(link, function), eta)
        assert (found == values).all(), f"{function} of -inf and inf is {found}, not {values}"
    with np.errstate(all="ignore"):
        t = link.terms(eta)
    assert not (np.isnan(t.r1) | np.isnan(t.r0)).any(), f"{name} needs `terms` of its own: at infinity {t}"
    assert t.r1[1] == t.r0[0] == 0


@pytest.mark.parametrize("name", LINKS)
def test_a_likelihood_may_use_the_terms_without_a_warning(name):
    """Iterations pass anywhere: no overflow or invalid operation is reported for a finite eta."""
    eta = np.array([-1e6, -1e4, -800.0, 0.0, 6.6, 700.0, 800.0, 1e4, 1e6])
    t = quietly(LINKS[name].terms, eta)
    quietly(lambda e: LINKS[name].success(e, True), eta)
    assert not any(np.isnan(x).any() for x in t)


PROBABILITIES = [1e-300, 1e-100, 1e-16, 1e-5, 0.1, 0.3, 0.5, 0.7, 0.9, 1 - 1e-5, 1 - 2.0**-50, 1 - 2.0**-53]


@pytest.mark.parametrize("name", LINKS)
def test_quantile(name):
    """F^-1 by Newton's method in mpmath, from the value under test."""
    mu = np.array(PROBABILITIES)
    eta = quietly(LINKS[name].quantile, mu)
    for p, e in zip(PROBABILITIES, eta, strict=True):
        true = exact_quantile(name, p)
        with mp.workdps(40):
            assert abs(mp.mpf(float(e)) - true) <= RTOL * max(abs(true), mp.mpf(1)), (p, e)


def exact_quantile(name, p):
    with mp.workdps(400):
        p = mp.mpf(p)
        if name == "logit":
            return mp.log(p) - mp.log1p(-p)
        if name == "cloglog":
            return mp.log(-mp.log1p(-p))
        eta = mp.mpf(float(links.ProbitLink().quantile(np.float64(p))))
        for _ in range(6):
            F, S, f = exact.probit(eta)[2:5]
            eta -= ((F - p) if p < 0.5 else (1 - p) - S) / f
        return eta


@pytest.mark.parametrize("name", LINKS)
def test_symmetry_is_declared_where_it_holds(name):
    link, eta = LINKS[name], np.linspace(-3, 3, 13)
    holds = np.allclose(link.cdf(-eta), link.sf(eta), rtol=1e-14)
    assert holds == link.symmetric
    t = link.terms(eta)
    assert np.allclose(t.r1 * t.r0, t.w1, rtol=1e-13) == link.canonical


@pytest.mark.parametrize("name", LINKS)
def test_general_terms_agree_with_a_links_own(name):
    """The four functions alone, as a new link would have, give the same away from the tails."""
    eta = np.linspace(-3, 2, 40)
    for own, general in zip(LINKS[name].terms(eta), links.Link.terms(LINKS[name], eta), strict=True):
        np.testing.assert_allclose(general, own, rtol=1e-11)


@pytest.mark.parametrize("name", LINKS)
def test_arrays_are_left_alone(name):
    eta = np.linspace(-800, 800, 9)
    before = eta.copy()
    with np.errstate(all="ignore"):
        LINKS[name].terms(eta)
        LINKS[name].success(eta, True)
        for some in (eta, eta / 200):
            y, kept = np.arange(9) % 2.0, some.copy()
            for flag in (True, False):
                LINKS[name].outcome(y, some, flag)
            assert (some == kept).all() and (y == np.arange(9) % 2).all()
    assert (eta == before).all()
