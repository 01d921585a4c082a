"""Fits over distinct rows: every number is that of the fit over all rows."""

import functools
import warnings

import numpy as np
import pandas as pd
import pytest

import glmclf
from glmclf.core.design import pieces
from glmclf.core.fit import unique_rows as collapse

MODELS = ["Logit", "Probit", "CLogLog", "MNLogit"]
every = pytest.mark.parametrize("model", MODELS)
FORMULAS = ["a + b", "a * x", "C(a, Sum) + a:b + x", "0 + b + x"]
N = 1200


@functools.cache
def _table():
    g = np.random.default_rng(11)
    t = pd.DataFrame({"a": g.choice(list("pqr"), N), "b": g.choice(["u", "v"], N), "x": g.integers(0, 4, N)})
    eta = 0.3 * t.x - 0.5 * (t.a == "q") + 0.4 * (t.b == "v") - 0.6
    t["y"] = (g.random(N) < 1 / (1 + np.exp(-eta))).astype(int)
    t["mode"] = np.where(g.random(N) < 0.3, "other", np.where(t.y == 1, "yes", "no"))
    t["s"], t["f"] = t.y + g.integers(0, 3, N), 1 - t.y + g.integers(0, 3, N)
    t["third"], t["w"], t["k"] = g.integers(0, 3, N), 0.5 + g.random(N), g.integers(1, 4, N)
    t["off"], t["cluster"] = g.choice([0.0, 0.2], N), g.integers(0, 40, N)
    return t


def table():
    return _table().copy()


@pytest.fixture(params=["dense", "cells"])
def form(request, monkeypatch):
    monkeypatch.setattr(pieces, "MIN_ROWS_FOR_CODES", 1 if request.param == "cells" else 10**9)
    return request.param


@pytest.fixture
def both(monkeypatch):
    """The same fit over distinct rows and over all of them."""

    def fits(make, **options):
        out = []
        for least in (1, 10**9):
            monkeypatch.setattr(collapse, "MIN_ROWS_TO_SEARCH", least)
            model = make()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                out.append(model.fit(**options))
            assert (model._rows.distinct(None) is None) == (least > 1)
        return out

    return fits


def left(model, counts=False):
    if counts:
        return "s + f + third" if model == "MNLogit" else "s + f"
    return "mode" if model == "MNLogit" else "y"


def maker(model, formula, data=None, counts=False, **keywords):
    data = table() if data is None else data
    return lambda: getattr(glmclf, model).from_formula(f"{left(model, counts)} ~ {formula}", data, **keywords)


def same(a, b, rtol=1e-9, atol=1e-11):
    np.testing.assert_allclose(np.asarray(a, float), np.asarray(b, float), rtol=rtol, atol=atol)


def agree(a, b, rows=True):
    for name in ("params", "bse", "llf", "llnull", "nobs", "df_resid", "pvalues", "aic", "prsquared"):
        if hasattr(a, name):
            same(getattr(a, name), getattr(b, name))
    same(a.cov_params(), b.cov_params())
    assert a.summary().as_text().split("Date")[0] == b.summary().as_text().split("Date")[0]
    if rows:
        same(a.predict(), b.predict())
        same(a.resid_pearson, b.resid_pearson)
        assert len(a.predict()) == N


@every
@pytest.mark.parametrize("formula", FORMULAS)
def test_formulas(model, formula, both, form):
    agree(*both(maker(model, formula)))


@every
@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("keywords", [{}, {"freq_weights": "k"}, {"offset": "off"}, {"offset": "off", "weights": "w"}])
def test_weights_offset_counts(model, keywords, counts, both, form):
    agree(*both(maker(model, "a + x", counts=counts, **keywords)), rows="weights" not in keywords)


@every
@pytest.mark.parametrize("cov", ["expected", "HC0", "HC1", "HC3", "HC4", "HC5", "cluster"])
@pytest.mark.parametrize("keywords", [{}, {"freq_weights": "k"}])
def test_covariances_are_of_rows(model, cov, keywords, both):
    options = {"cov_type": cov, "cov_kwds": {"groups": "cluster"} if cov == "cluster" else None}
    a, b = both(maker(model, "a + x", **keywords), **options)
    same(a.cov_params(), b.cov_params())
    a, b = both(maker(model, "a + x", **keywords))
    same(a.with_cov(cov, **(options["cov_kwds"] or {})).bse, b.with_cov(cov, **(options["cov_kwds"] or {})).bse)


@pytest.mark.parametrize("model", MODELS[:3])
def test_fractions(model, both):
    t = table()
    t["y"] = np.random.default_rng(2).choice([0.0, 0.3, 0.5, 1.0], N)
    a, b = both(maker(model, "a + x", t))
    same(a.params, b.params)
    same(a.bse, b.bse)


@every
def test_separated(model, both):
    t = table()
    t.loc[t.a == "q", ["y", "mode"]] = [0, "no"]
    a, b = both(maker(model, "a + b", t))
    assert np.isinf(np.asarray(a.params)).any()
    agree(a, b, rows=False)
    assert str(a.separation) == str(b.separation)


@every
def test_collinear(model, both, form):
    t = table()
    a, b = both(maker(model, "a + x + I(2 * x) + b", t.assign(a=t.a)))
    assert np.isnan(np.asarray(a.params)).any()
    agree(a, b)


@every
def test_regularised(model, both, monkeypatch):
    fits = []
    for least in (1, 10**9):
        monkeypatch.setattr(collapse, "MIN_ROWS_TO_SEARCH", least)
        fits.append(maker(model, "a + b + x")().fit_regularized(alpha=0.01))
    same(fits[0].params, fits[1].params, atol=1e-8)


@pytest.mark.parametrize(
    "model, options",
    [
        ("Logit", {"bias_reduction": "firth"}),
        ("Logit", {"bias_reduction": "firth", "flic": True}),
        ("Probit", {"bias_reduction": "firth"}),
        ("CLogLog", {"bias_reduction": "median"}),
        ("MNLogit", {"bias_reduction": "firth"}),
    ],
)
@pytest.mark.parametrize("keywords", [{}, {"freq_weights": "k"}])
def test_bias_reduced(model, options, keywords, both):
    a, b = both(maker(model, "a + b + x", **keywords), **options)
    same(a.params, b.params)
    same(a.bse, b.bse)


@every
@pytest.mark.parametrize("options", [{"method": "newton"}, {"method": "lbfgs"}, {"method": "sgd"}, {"refine": True}])
def test_methods(model, options, both, monkeypatch):
    fits = []
    for least in (1, 10**9):
        monkeypatch.setattr(collapse, "MIN_ROWS_TO_SEARCH", least)
        fits.append(maker(model, "a + b + x")().fit(**options))
    same(fits[0].params, fits[1].params)
    same(fits[0].bse, fits[1].bse)


@every
def test_tests(model, both):
    a, b = both(maker(model, "a + b + x", offset="off"))
    for test in ("LR", "wald", "score"):
        same(a.anova(test=test), b.anova(test=test), atol=1e-9)
    same(a.conf_int(method="profile"), b.conf_int(method="profile"), rtol=1e-6)
    same(a._wald_derivatives, b._wald_derivatives)


@every
def test_arrays(model, both):
    t = table()
    X = np.column_stack([np.ones(N), t.x, t.b == "v"])
    for A in (X, np.asfortranarray(X), X.astype(np.float32)):
        agree(*both(lambda A=A: getattr(glmclf, model)(t[left(model)], A)))


@every
def test_threads(model, monkeypatch):
    monkeypatch.setattr(collapse, "MIN_ROWS_TO_SEARCH", 1)
    monkeypatch.setattr(collapse, "MIN_CHUNK_ROWS", 64)
    a, b = (maker(model, "a + b + x", weights="w")().fit(n_threads=k) for k in (1, 2))
    np.testing.assert_array_equal(a.params, b.params)
    np.testing.assert_array_equal(a.cov_params(), b.cov_params())


def test_another_reference():
    """Rows counted for one reference are not those of another."""
    t = pd.concat([table()] * 20, ignore_index=True)
    res = maker("MNLogit", "a + b + x", t)().fit()
    assert res.model._rows.distinct(None) is not None
    other = maker("MNLogit", "a + b + x", t, reference="yes")().fit()
    same(res.params["yes"] * -1, other.params["no"])
    same(res.model._rebased("yes").loglike(other.params), res.llf)
    same(res.model._rebased("yes").fit().params, other.params)


def test_large():
    """Without a switch, from some number of rows on: the log-likelihood from the table of the cells."""
    t = pd.concat([table()] * 20, ignore_index=True)
    model = maker("Logit", "C(a) * b * C(x)", t)()
    res = model.fit()
    assert len(model._rows.distinct(None).y) == 24
    cells = t.groupby(["a", "b", "x"]).y.agg(["sum", "size"])
    p = cells["sum"] / cells["size"]
    same(res.llf, (cells["sum"] * np.log(p) + (cells["size"] - cells["sum"]) * np.log(1 - p)).sum(), rtol=1e-12)
    assert res.nobs == len(t)


@pytest.mark.parametrize("cov_type", ["nonrobust", "expected", "HC0", "cluster"])
@every
def test_constrained(model, cov_type, monkeypatch):
    name = "yyes_b[T.v]" if model == "MNLogit" else "b[T.v]"
    fits = []
    for least in (1, 10**9):
        monkeypatch.setattr(collapse, "MIN_ROWS_TO_SEARCH", least)
        made = maker(model, "a + b")()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            groups = {"cov_kwds": {"groups": "cluster"}} if cov_type == "cluster" else {}
            fits.append(made.fit_constrained({name: 0.3}, cov_type=cov_type, **groups))
        assert (made._rows.distinct(made._likelihood) is None) == (least > 1)
    a, b = fits
    for number in ("params", "bse", "llf"):
        same(getattr(a, number), getattr(b, number), atol=1e-9)
    same(a.cov_params(), b.cov_params())
    same(a.constraint_test().statistic, b.constraint_test().statistic, rtol=1e-7)


@pytest.mark.parametrize("keywords", [{}, {"weights": "w"}, {"freq_weights": "k"}])
@every
def test_penalised_and_folds(model, keywords, monkeypatch):
    found = []
    for least in (1, 10**9):
        monkeypatch.setattr(collapse, "MIN_ROWS_TO_SEARCH", least)
        made = maker(model, "a + x", **keywords)()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ridge, cv = made.fit_regularized(0.01), made.fit_regularized_cv(3, seed=1, alphas=[0.1, 0.01], L1_wt=0.5)
        found.append((ridge.params, ridge.bse, np.asarray(cv.deviances), np.asarray(cv.path.params)))
    for one, other in zip(*found, strict=True):
        same(one, other, rtol=1e-6, atol=1e-7)
