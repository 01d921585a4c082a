"""Averaged stochastic gradient: near the maximum without tuning, an honest word on how near, at it when polished."""

import functools
import warnings

import numpy as np
import pandas as pd
import pytest
from core.test_solvers import IN_ERRORS, KINDS, LINKS, distance, objective

import glmclf
from glmclf import registry
from glmclf.core.fit.solvers import solve
from glmclf.core.fit.solvers.sgd import RAW, sgd
from glmclf.errors import ConvergenceWarning, PerfectSeparationError, SeparationWarning

BINARY = registry.names("binary")
MODELS = {name: registry.model_class(name) for name in registry.names(*registry.REGRESSIONS)}
NEAR = 0.7  # standard errors of the raw estimate from the maximum

models = pytest.mark.parametrize("name", MODELS)


@functools.cache
def table(n=160, classes=2, seed=4):
    generator = np.random.default_rng(seed)
    t = pd.DataFrame({"x": generator.normal(size=n), "z": generator.gamma(2.0, size=n)})
    t["v"] = t.x + 0.05 * generator.normal(size=n)  # correlated
    t["o"], t["w"] = generator.normal(scale=0.3, size=n), generator.integers(0, 5, n)
    t["s"] = generator.uniform(0.2, 3, n)
    eta = 0.5 * t.x - 0.4 * t.z + t.o
    t["y"] = (generator.random(n) < 1 / (1 + np.exp(-eta))).astype(int)
    if classes > 2:
        t["y"] += (generator.random(n) < 0.4).astype(int)
    t["won"], t["lost"] = generator.poisson(2, n), generator.poisson(1, n)
    return t


def make(name, formula="y ~ x + z + v", data=None, **keywords):
    """A model; those of the common table are made once, fits do not change them."""
    return _made(name, formula, **keywords) if data is None else MODELS[name].from_formula(formula, data, **keywords)


@functools.cache
def _made(name, formula, **keywords):
    data = table(classes=3 if name == "MNLogit" else 2)
    return MODELS[name].from_formula(formula, data, **keywords)


def quiet(model, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return model.fit(method="sgd", **options)


# ----------------------------------------------------------------------------------------------------- the solver
@pytest.mark.parametrize("size", [None, 1, 400])
@pytest.mark.parametrize("link", LINKS)
def test_near_the_maximum_without_tuning(link, size):
    problem = objective(link, n=100 if size == 1 else 400)
    fit = sgd(problem, np.zeros(4), batch_size=size, polish=False)
    away = distance(problem, fit.theta)
    assert not fit.converged and fit.message == RAW and away < NEAR
    np.testing.assert_allclose(np.sqrt(fit.decrement), away, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("link", LINKS)
def test_every_kind_of_response(link, kind):
    problem = objective(link, kind)
    best = solve("irls", problem, np.zeros(4)).theta
    assert distance(problem, sgd(problem, np.zeros(4), polish=False).theta) < NEAR
    fit = sgd(problem, np.zeros(4))
    assert fit.converged and distance(problem, fit.theta) < IN_ERRORS
    np.testing.assert_allclose(fit.theta, best, rtol=1e-11)


@pytest.mark.parametrize("link", LINKS)
def test_units_do_not_matter(link):
    units = np.array([1.0, 2.0**-27, 2.0**27, 2.0**10])
    for polish in (True, False):
        plain = sgd(objective(link), np.zeros(4), polish=polish)
        scaled = sgd(objective(link, units=units), np.zeros(4), polish=polish)
        np.testing.assert_allclose(scaled.theta * units, plain.theta, rtol=1e-9)
        assert scaled.iterations == plain.iterations


@pytest.mark.parametrize("start", [[5.0, 5, -5, 5], [-20.0, 0, 0, 0], [0.0, 30, -30, 0], [8.0, -8, 8, -8]])
@pytest.mark.parametrize("link", LINKS)
def test_bad_starts(link, start):
    """No row throws the iteration off: Newton's method ends at the maximum from where it leads."""
    problem = objective(link)
    with np.errstate(over="ignore"):
        fit = sgd(problem, np.array(start))
    assert fit.converged and distance(problem, fit.theta) < IN_ERRORS


def test_iterations_and_callback():
    problem, seen = objective("logit"), []
    fit = sgd(problem, np.zeros(4), callback=lambda i, theta, value: seen.append((i, value, problem(theta).value)))
    assert [i for i, *_ in seen] == list(range(1, fit.iterations + 1))
    np.testing.assert_allclose([v for _, v, _ in seen], [v for *_, v in seen], rtol=1e-12)
    for maxiter in range(4):
        fit = sgd(problem, np.full(4, 0.9), maxiter=maxiter)
        assert not fit.converged and fit.iterations <= maxiter


def test_a_gross_outlier():
    generator = np.random.default_rng(7)
    x = np.r_[generator.normal(size=200), 1e6]
    y = np.r_[(generator.normal(size=200) < x[:200]).astype(float), 0.0]
    for model in map(registry.model_class, BINARY):
        raw = model(y, np.column_stack([np.ones(201), x])).fit(method="sgd", polish=False)
        assert np.isfinite(raw.params).all() and raw.mle_retvals["remaining_error"] < np.inf


# ----------------------------------------------------------------------------------------------------- the models
@models
@pytest.mark.parametrize("keywords", [{}, {"offset": "o"}, {"freq_weights": "w"}, {"weights": "s"}], ids=str)
def test_polished_it_is_the_fit(name, keywords):
    model = make(name, **keywords)
    best, res = model.fit(), quiet(model)
    assert res.converged and res.method == "sgd" and "sgd" in res.summary().as_text()
    np.testing.assert_allclose(res.params, best.params, rtol=1e-10)
    np.testing.assert_allclose(res.bse, best.bse, rtol=1e-9)
    np.testing.assert_allclose(res.llf, best.llf, rtol=1e-13)


@models
def test_raw(name):
    model = make(name)
    best, raw = model.fit(), quiet(model, polish=False)
    away = raw.mle_retvals["remaining_error"]
    assert not raw.converged and 0 < away < NEAR
    flat = [np.asarray(r.params).ravel(order="F") for r in (raw, best)]
    V = np.asarray(best.cov_params())
    true = np.sqrt((flat[0] - flat[1]) @ np.linalg.solve(V, flat[0] - flat[1]))
    np.testing.assert_allclose(away, true, rtol=0.2)
    information = model.information(raw.params)
    np.testing.assert_allclose(np.asarray(raw.cov_params()), np.linalg.inv(information), rtol=1e-6)
    text = " ".join(raw.summary().as_text().split())
    assert "NOT a maximum: stochastic gradient without polish, expected remaining error" in text
    assert "from the information at this point" in text
    with pytest.raises(ValueError, match="did not converge"):
        best.compare_lr_test(raw)


def test_raw_under_sampling_weights_has_their_unit():
    t = table()
    for scale in (1.0, 1000.0):
        raw = make("Logit", data=t.assign(s=t.s * scale), weights="s").fit(method="sgd", polish=False)
        if scale == 1.0:
            first = raw.mle_retvals["remaining_error"]
    np.testing.assert_allclose(raw.mle_retvals["remaining_error"], first, rtol=1e-8)


@models
def test_kept(name, tmp_path):
    raw = quiet(make(name), polish=False)
    raw.save(tmp_path / "m.json")
    back = glmclf.load(tmp_path / "m.json")
    assert not back.converged
    np.testing.assert_allclose(back.mle_retvals["remaining_error"], raw.mle_retvals["remaining_error"], rtol=1e-14)


@models
@pytest.mark.parametrize("polish", [True, False])
def test_one_seed_one_result(name, polish):
    model = make(name)
    first = quiet(model, seed=5, polish=polish, n_threads=1)
    again = quiet(model, seed=np.random.SeedSequence(5), polish=polish, n_threads=2)
    np.testing.assert_array_equal(first.params, again.params)
    np.testing.assert_array_equal(first.bse, again.bse)
    other = quiet(model, seed=6, polish=polish)
    assert polish == np.allclose(other.params, first.params, rtol=1e-10)


def test_counts():
    for name in BINARY:
        model = make(name, "won + lost ~ x + z")
        np.testing.assert_allclose(quiet(model).params, model.fit().params, rtol=1e-10)
        assert quiet(model, polish=False).mle_retvals["remaining_error"] < NEAR
    model = make("MNLogit", "won + lost + w ~ x + z")
    np.testing.assert_allclose(quiet(model).params, model.fit().params, rtol=1e-10)


@models
def test_ten_rows_one_at_a_time(name):
    generator = np.random.default_rng(1)
    y = np.array([0, 1, 0, 1, 1, 0, 0, 1, 0, 1]) + (np.arange(10) % 5 == 4 if name == "MNLogit" else 0)
    X = np.column_stack([np.ones(10), generator.normal(size=10)])
    res = quiet(MODELS[name](y, X), batch_size=1)
    np.testing.assert_allclose(res.params, MODELS[name](y, X).fit().params, rtol=1e-9)


@models
@pytest.mark.parametrize("polish", [True, False])
def test_separated_data_do_not_pretend(name, polish):
    t = table(classes=3 if name == "MNLogit" else 2).copy()
    t["apart"] = (t.y == 1) & (t.x > 0)
    model = make(name, "y ~ z + apart", t)
    with pytest.warns(SeparationWarning):
        res = model.fit(method="sgd", polish=polish)
    with pytest.warns(SeparationWarning):
        usual = model.fit()
    np.testing.assert_allclose(res.params, usual.params, rtol=1e-8)
    np.testing.assert_allclose(res.bse, usual.bse, rtol=1e-8)
    with pytest.raises(PerfectSeparationError):
        model.fit(method="sgd", polish=polish, separation="raise")


@models
def test_collinear_columns(name):
    t = table(classes=3 if name == "MNLogit" else 2).assign(twice=lambda d: 2 * d.x)
    with pytest.warns(glmclf.errors.CollinearityWarning):
        res = make(name, "y ~ x + z + twice", t).fit(method="sgd")
    np.testing.assert_allclose(res.llf, make(name, "y ~ x + z", t).fit().llf, rtol=1e-13)


def test_too_few_passes_are_said():
    with pytest.warns(ConvergenceWarning, match="standard errors from the maximum"):
        make("Logit").fit(method="sgd", polish=False, maxiter=0, start_params=[3.0, 0, 0, 0])
    with pytest.warns(ConvergenceWarning, match="sgd: no maximum within the iterations"):
        make("Logit").fit(method="sgd", maxiter=1)


# -------------------------------------------------------------------------------------------------------- refusals
@models
@pytest.mark.parametrize("method", ["irls", "newton", "bfgs", "lbfgs"])
@pytest.mark.parametrize("option", [{"seed": 1}, {"batch_size": 8}, {"polish": True}], ids=str)
def test_other_methods_refuse_its_keywords(name, method, option):
    (word,) = option
    with pytest.raises(TypeError, match=f'method="{method}" takes no keyword {word}=: it is for method="sgd"'):
        make(name).fit(method=method, **option)


@pytest.mark.parametrize(
    "option, words",
    [
        ({"batch_size": 0}, "batch_size=0: a whole number of rows, 1 or more"),
        ({"batch_size": 2.5}, "batch_size=2.5"),
        ({"batch_size": True}, "batch_size=True"),
        ({"polish": "no"}, "polish='no': choose True, False or None"),
        ({"seed": -1}, "seed=-1: a whole number"),
        ({"seed": "a"}, "seed='a'"),
        ({"seed": True}, "seed=True"),
    ],
    ids=str,
)
def test_bad_values(option, words):
    with pytest.raises(ValueError, match=words):
        make("Logit").fit(method="sgd", **option)


def test_bias_reduction_has_its_own_method():
    with pytest.raises(NotImplementedError, match="method='sgd'"):
        make("Logit").fit(method="sgd", bias_reduction="firth")
