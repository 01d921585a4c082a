"""The likelihood at any parameters: value, rows, score and Hessian belong together; the estimate is its maximum."""

import numpy as np
import pandas as pd
import pytest
from properties.toys import close, fit, make, methods, models, shared, toy

import glmclf

SORTS = {
    "plain": ("y ~ x1 + x2 + g", {}),
    "offset": ("y ~ x1 + g", {"offset": "off"}),
    "freq_weights": ("y ~ x1 + g", {"freq_weights": "times"}),
    "weights": ("y ~ x1 + g", {"weights": "sw", "offset": "off"}),
    "counts": ("won + lost ~ x1 + g", {"offset": "off"}),
    "fractions": ("share ~ x1 + g", {}),
    "no constant": ("y ~ 0 + x1 + x2", {}),
}
sorts = pytest.mark.parametrize("sort", SORTS)


def built(model, sort):
    formula, keywords = SORTS[sort]
    return make(model, formula, toy(), **keywords)


@models
@sorts
def test_the_pieces_fit_together(model, sort):
    m = built(model, sort)
    rng = np.random.default_rng(0)
    theta = rng.normal(scale=0.4, size=len(m.exog_names))
    close(m.loglikeobs(theta).sum(), m.loglike(theta), 1e-12)
    close(m.score_obs(theta).sum(axis=0), m.score(theta), 1e-10)
    close(m.score_factor(theta)[:, None] * m.exog, m.score_obs(theta), 1e-13)
    close(m.exog.T @ (m.hessian_factor(theta)[:, None] * m.exog), m.hessian(theta), 1e-11)
    close(m.hessian(theta), -m.information(theta), 0)
    eye = 1e-6 * np.eye(len(theta))
    numerical = [(m.loglike(theta + e) - m.loglike(theta - e)) / 2e-6 for e in eye]
    close(m.score(theta), numerical, 1e-5, 1e-5)
    numerical = [(m.score(theta + e) - m.score(theta - e)) / 2e-6 for e in eye]
    close(m.hessian(theta), numerical, 1e-6, 1e-5)
    assert m.score_obs(theta).shape == m.exog.shape == (len(m.endog), len(theta))


@models
@sorts
def test_factors_are_derivatives_in_the_linear_predictor(model, sort):
    m = built(model, sort)
    theta = np.linspace(-0.5, 0.5, len(m.exog_names))
    column = m.exog[:, -1]
    up, down = (theta + np.eye(len(theta))[-1] * d for d in (1e-6, -1e-6))
    close(m.score_factor(theta) * column, (m.loglikeobs(up) - m.loglikeobs(down)) / 2e-6, 1e-5, 1e-7)
    close(m.hessian_factor(theta) * column, (m.score_factor(up) - m.score_factor(down)) / 2e-6, 1e-5, 1e-7)


@pytest.mark.filterwarnings("ignore:.*The inverse information takes")
@models
@sorts
@methods
def test_the_score_is_zero_at_the_estimate(model, sort, method):
    formula, keywords = SORTS[sort]
    res = fit(model, formula, toy(), options={"method": method}, **keywords)
    m = res.model
    terms = np.abs(m.score_obs(res.params)).sum(axis=0)
    assert (np.abs(m.score(res.params)) < 1e-10 * terms).all()
    close(res.llf, m.loglike(res.params), 1e-13)
    close(np.linalg.inv(m.information(res.params)), res.with_cov("nonrobust").cov_params(), 1e-9)
    close(np.linalg.inv(m.information(res.params, expected=True)), res.with_cov("expected").cov_params(), 1e-9)
    rng = np.random.default_rng(1)
    for step in rng.normal(size=(5, len(res.params))) * 0.3 * res.bse.to_numpy():
        assert m.loglike(res.params + step) < res.llf


@models
def test_the_likelihood_is_bernoullis(model):
    m = built(model, "offset")
    t, theta = toy(), np.array([-0.4, 0.9, 0.3, -0.2])
    p = m.predict(theta)
    close(p, m.link.cdf(m.exog @ theta + t.off))
    close(m.loglikeobs(theta), np.where(t.y == "yes", np.log(p), np.log1p(-p)))
    close(m.predict(theta, which="linear"), m.exog @ theta + t.off)
    close(m.predict(theta, which="var"), p * (1 - p))


@models
@pytest.mark.parametrize("bad", [[1.0], np.zeros(6), [[1.0, 2.0]], []])
def test_params_of_another_length_are_refused(model, bad):
    m = shared(model).model
    for call in (
        m.loglike,
        m.loglikeobs,
        m.score,
        m.score_obs,
        m.score_factor,
        m.hessian,
        m.hessian_factor,
        m.information,
        m.predict,
    ):
        with pytest.raises(ValueError, match="5"):
            call(bad)


@models
def test_labelled_params_are_matched_or_in_order(model):
    res = shared(model)
    for given in (res.params, res.params.to_numpy(), res.params.tolist()):
        close(res.model.loglike(given), res.llf, 1e-13)
    # a Series in another order holds the same parameters, whatever their order: never another point
    turned = res.params.iloc[::-1]
    try:
        value = res.model.loglike(turned)
    except ValueError:
        return
    close(value, res.llf, 1e-13)


@models
def test_what_statsmodels_code_looks_for(model):
    t = toy()
    m = make(model, "y ~ x1 + x2 + g", t, offset="off")
    assert m.endog_names == "y"
    assert m.exog_names == ["Intercept", "g[T.b]", "g[T.c]", "x1", "x2"]
    assert m.data.param_names == m.exog_names == m.data.xnames
    assert m.endog.shape == (160,) and m.exog.shape == (160, 5)
    assert set(m.endog) == {0.0, 1.0} and (m.endog == (t.y == "yes")).all()
    close(m.offset, t.off)
    assert m.k_constant == 1 and m.df_model == 4 and m.df_resid == 155 and m.nobs == 160
    assert m.formula == "y ~ x1 + x2 + g"
    pd.testing.assert_frame_equal(m.data.table[t.columns], t)
    handed = t.astype({"y": "category", "g": "category"})  # text as other packages take it
    pd.testing.assert_frame_equal(m.data.frame[t.columns], handed)
    close(m.data.design_info(t.iloc[:3])[1], m.exog[:3])
    assert m.link.name == model.lower()
    assert make(model, "y ~ x1", t).offset is None


@models
def test_names_of_arrays(model):
    t = toy()
    X = np.column_stack([np.ones(160), t.x1, t.x2])
    m = getattr(glmclf, model)(t.y01.to_numpy(), X)
    assert m.exog_names == ["const", "x1", "x2"] and m.endog_names == "y" and m.formula is None
    m = getattr(glmclf, model)(t.y01, X[:, 1:])
    assert m.exog_names == ["x1", "x2"] and m.endog_names == "y01" and m.k_constant == 0
    m = getattr(glmclf, model)(t.y, t[["x2", "x1"]].assign(one=1.0))
    assert m.exog_names == ["x2", "x1", "one"] and m.k_constant == 1
    terms = m.fit().wald_test_terms().table
    assert list(terms.index) == ["x2", "x1", "one"]


@models
def test_predict_of_a_model_at_other_rows(model):
    res = shared(model)
    t = toy(12, 9)
    close(res.model.predict(res.params, t), res.predict(t))
    close(res.model.predict(res.params, res.model.exog[:7]), res.predict().iloc[:7])
    close(res.model.predict(2 * res.params, t, which="linear"), 2 * res.predict(t, which="linear"))
    with pytest.raises(ValueError, match="which"):
        res.model.predict(res.params, t, which="joint")


@models
def test_a_model_with_an_offset_never_predicts_without_one(model):
    res = shared(model, offset="off")
    t = toy(12, 9)
    close(res.model.predict(res.params), res.predict())
    close(res.model.predict(res.params, t, offset=t.off), res.predict(t))
    for rows in (t.drop(columns="off"), res.model.exog[:4]):
        with pytest.raises(ValueError, match="off"):
            res.model.predict(res.params, rows)


@models
def test_one_gross_outlier(model):
    rng = np.random.default_rng(6)
    x = np.append(rng.normal(size=200), 40.0)
    p = glmclf.__dict__[model].link.cdf(0.8 * x)
    y = (rng.random(201) < p).astype(float)
    y[-1] = 0.0
    res = fit(model, "y ~ x", pd.DataFrame({"x": x, "y": y}))
    m = res.model
    assert res.converged and np.abs(m.score(res.params)).max() < 1e-8 * np.abs(m.score_obs(res.params)).sum()
    assert res.params["x"] < 0.3
    for method in ("newton", "bfgs", "lbfgs"):
        close(fit(model, "y ~ x", pd.DataFrame({"x": x, "y": y}), options={"method": method}).params, res.params, 1e-8)


@models
def test_one_row_in_a_class(model):
    t = toy()
    y = np.zeros(160)
    y[t.x1.to_numpy().argsort()[80]] = 1
    res = fit(model, "y ~ x1", t.assign(y=y))
    assert res.converged
    close(res.model.score(res.params), 0, atol=1e-9)
    if model == "Logit":
        close(res.fittedvalues.sum(), 1)


@models
def test_tiny_p_values(model):
    n = 1000
    rng = np.random.default_rng(2)
    x = rng.normal(size=n)
    t = pd.DataFrame({"x": x, "y": (rng.random(n) < glmclf.__dict__[model].link.cdf(0.2 * x)).astype(int)})
    z = fit(model, "y ~ x", t).tvalues["x"]
    huge = fit(model, "y ~ x", t, freq_weights=np.full(n, 10**6))
    assert huge.tvalues["x"] > 500 and huge.pvalues["x"] == 0.0
    small = fit(model, "y ~ x", t, freq_weights=np.full(n, int((36.5 / z) ** 2)))
    assert 36 < small.tvalues["x"] < 37
    for p in (
        small.pvalues["x"],
        float(small.t_test("x = 0").pvalue),
        float(small.wald_test("x = 0").pvalue),
        small.wald_test_terms().table.pvalue["x"],
        small.llr_pvalue,
        small.compare_lr_test(fit(model, "y ~ 1", t, freq_weights=np.full(n, int((36.5 / z) ** 2)))).pvalue,
    ):
        assert 0 < p < 1e-280
