"""Names, shapes and types that code written for statsmodels relies on."""

import numpy as np
import pandas as pd
import pytest
import references
from properties.toys import close, models, shared, text, toy

import glmclf


@models
def test_results(model):
    res = shared(model)
    for name in ("params", "bse", "tvalues", "pvalues"):
        series = getattr(res, name)
        assert isinstance(series, pd.Series) and list(series.index) == res.model.exog_names and series.dtype == float
    assert isinstance(res.conf_int(), pd.DataFrame) and list(res.conf_int().columns) == [0, 1]
    assert res.use_t is False and res.converged is True
    assert res.nobs == 160 and res.df_model == 4 and res.df_resid == 155
    for name in ("llf", "llnull", "llr", "llr_pvalue", "prsquared", "aic", "bic"):
        assert isinstance(getattr(res, name), float), name
    assert {"converged", "iterations"} <= set(res.mle_retvals)
    assert res.cov_type == "nonrobust"
    assert not hasattr(res, "formula")


@models
def test_conf_int(model):
    from scipy.stats import norm

    res = shared(model)
    for alpha in (0.05, 0.1, 1e-10):
        z = norm.isf(alpha / 2)
        close(res.conf_int(alpha), np.column_stack([res.params - z * res.bse, res.params + z * res.bse]), 1e-12)
    close(res.conf_int(alpha=0.1, method="wald"), res.conf_int(0.1), 0)


@models
def test_summary_col_reads_it(model):
    from statsmodels.iolib.summary2 import summary_col

    table = summary_col([shared(model), shared(model, "y ~ x1")], stars=True).as_text()
    assert "x1" in table and f"{shared(model).params['x1']:.4f}" in table


@models
def test_the_summary_is_statsmodels(model):
    from statsmodels.iolib.summary import Summary

    summary = shared(model).summary()
    assert isinstance(summary, Summary)
    for method in ("as_text", "as_latex", "as_html", "as_csv", "as_markdown", "as_typst"):
        assert "x1" in getattr(summary, method)()
    assert shared(model)._repr_html_().startswith("<")
    report = text(shared(model))
    for word in (model, "P(y = 'yes')", "No. Observations", "160", "irls", "nonrobust"):
        assert word in report
    assert str(summary) == summary.as_text()


@models
def test_pairwise_and_sandwich_of_statsmodels(model):
    from statsmodels.stats.sandwich_covariance import cov_white_simple

    res = shared(model)
    S, V = res.model.score_obs(res.params), res.with_cov("nonrobust").cov_params().to_numpy()
    close(V @ S.T @ S @ V, res.with_cov("HC0").cov_params())
    assert callable(cov_white_simple)


@models
def test_model_predict_at_arrays(model):
    res = shared(model)
    X = res.model.exog
    close(res.model.predict(res.params.to_numpy(), X[:5]), res.fittedvalues[:5])
    close(res.model.predict(res.params.to_numpy(), X[:5], which="linear"), res.predict(which="linear")[:5])
    assert isinstance(res.model.predict(res.params), np.ndarray)


@models
def test_array_models_name_their_columns(model):
    t = toy()
    res = getattr(glmclf, model)(t.y01.to_numpy(), np.column_stack([np.ones(160), t.x1])).fit()
    assert list(res.params.index) == ["const", "x1"] and res.model.endog_names == "y"
    assert "const" in text(res)


@pytest.mark.parametrize("name", ["logit", "probit", "cloglog"])
def test_lower_case(name):
    import glmclf.formula.api as smf

    res = getattr(smf, name)("y ~ x1", toy()).fit()
    assert type(res.model).__name__.lower() == name
    assert getattr(smf, name)(formula="y ~ x1", data=toy(), offset="off").fit().converged


def test_levels_that_are_whole_floats():
    """statsmodels 0.15.0: mnlogit("PID ~ age + educ", anes96).fit().t_test("y2_educ = y1_educ"), PID as floats."""
    data = references.reference("anes96__mnlogit")[1]
    data = data.assign(PID=data.PID.astype(float))
    res = glmclf.MNLogit.from_formula("PID ~ age + educ", data).fit()
    for hypothesis in ("y2_educ = y1_educ", "y2.0_educ = y1.0_educ", ("y2.0_educ = y1_educ",), ["y2_educ - y1.0_educ"]):
        np.testing.assert_allclose(res.t_test(hypothesis).effect, [0.14038403], rtol=1e-7)
    at = res.wald_test({"y2.0_age": -0.01, "y1_age": 0}).statistic
    assert at == res.wald_test({"y2_age": -0.01, "y1_age": 0}).statistic
    ratio = [res.nonlinear_test(f"y{a}_educ / y{b}_educ = 1").joint.statistic for a, b in ((1, 2), (1.0, 2.0))]
    assert ratio[0] == ratio[1]
    assert res.get_influence().summary_frame().columns[0] == "dfb_y1_Intercept"
    held = [res.model.fit_constrained(f"y{a}_educ = y{b}_educ") for a, b in ((1, 2), (1.0, 2.0))]
    assert held[0].llf == held[1].llf and held[0].constraints == ["y1_educ - y2_educ = 0"] == held[1].constraints
    theta = res.params.to_numpy().ravel(order="F")
    for names in ([f"y{k}_{x}" for k in res.params for x in res.params.index], res.model._param_names):
        assert res.model.loglike(pd.Series(theta, names)[::-1]) == pytest.approx(res.llf)
    R = pd.DataFrame(np.eye(18)[[1]], columns=[f"y{k}_{x}" for k in res.params for x in res.params.index])
    assert res.t_test(R).effect == res.params.iloc[1, 0]
    lda = glmclf.LDA.from_formula("PID ~ age + educ", data).fit().discriminant
    assert lda.t_test("y2_educ = y1_educ").effect == lda.t_test("y2.0_educ = y1.0_educ").effect
    half = glmclf.MNLogit.from_formula("PID ~ educ", data.assign(PID=data.PID.clip(upper=2) / 2)).fit()
    with pytest.raises(ValueError, match=r"y0\.5_educ"):
        half.t_test("y1_educ")
    assert half.t_test("y1.0_educ - y0.5_educ").effect.size == 1
