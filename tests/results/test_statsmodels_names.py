"""Names, shapes and types that code written for statsmodels relies on."""

import numpy as np
import pandas as pd
import pytest
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
    for method in ("as_text", "as_latex", "as_html", "as_csv", "as_markdown"):
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
