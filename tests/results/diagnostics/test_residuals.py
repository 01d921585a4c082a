"""Residuals and row-wise numbers against their definitions, and against statsmodels where it is right."""

import numpy as np
import pandas as pd
import pytest
from properties.toys import close, fit, models, shared, toy

import glmclf

SORTS = {
    "plain": ("y ~ x1 + x2 + g", {}),
    "offset": ("y ~ x1 + g", {"offset": "off"}),
    "weighted": ("y ~ x1 + g", {"freq_weights": "times"}),
    "counts": ("won + lost ~ x1 + g", {"offset": "off"}),
    "fractions": ("share ~ x1 + g", {}),
}
sorts = pytest.mark.parametrize("sort", SORTS)
ROW_WISE = ["fittedvalues", "resid_response", "resid_pearson", "resid_dev", "resid_generalized", "resid_working"]


def glm(model, sort):
    import statsmodels.api as sm

    res = fit(model, SORTS[sort][0], toy(), **SORTS[sort][1])
    m = res.model
    link = {"Logit": sm.families.links.Logit, "Probit": sm.families.links.Probit, "CLogLog": sm.families.links.CLogLog}[
        model
    ]()
    r = m._rows
    y = m.endog if r.trials is None else np.column_stack([r.y, r.trials - r.y])
    kw = {"freq_weights": r.weights} if r.weights is not None else {}
    other = sm.GLM(y, m.exog, family=sm.families.Binomial(link), offset=m.offset, **kw).fit(tol=1e-14, maxiter=200)
    return res, other


@models
@sorts
def test_definitions(model, sort):
    from scipy.special import xlogy

    res = fit(model, SORTS[sort][0], toy(), **SORTS[sort][1])
    r = res.model._rows
    m = np.ones(len(r)) if r.trials is None else r.trials
    p, y = res.fittedvalues, r.y / m
    close(res.resid_response, y - p)
    close(res.resid_pearson, (y - p) * np.sqrt(m / (p * (1 - p))))
    deviance = 2 * m * (xlogy(y, y / p) + xlogy(1 - y, (1 - y) / (1 - p)))
    close(res.resid_dev, np.sign(y - p) * np.sqrt(np.maximum(deviance, 0)), 1e-6, 1e-7)
    f = res.model.link.pdf(res.predict(which="linear").to_numpy())
    close(res.resid_working, (y - p) / f)
    close(res.resid_generalized, m * (y - p) * f / (p * (1 - p)))
    w = np.ones(len(r)) if r.weights is None else r.weights
    close(res.model.exog.T @ (w * res.resid_generalized), 0, atol=1e-9)
    close((w * res.resid_dev**2).sum(), res.deviance, 1e-10)
    for name in ROW_WISE:
        series = getattr(res, name)
        assert isinstance(series, pd.Series) and series.index.equals(r.index) and series.notna().all()


@pytest.mark.filterwarnings("ignore:.*The inverse information takes")
@models
@sorts
def test_statsmodels_glm(model, sort):
    res, other = glm(model, sort)
    close(res.params, other.params, 1e-6)
    close(res.fittedvalues, other.fittedvalues, 1e-6)
    trials = 1 if res.model._rows.trials is None else res.model._rows.trials  # GLM's residuals of counts are counts
    close(res.resid_response * trials, other.resid_response, 1e-6, 1e-7)
    close(res.resid_pearson, other.resid_pearson, 1e-5)
    if sort != "counts":
        close(res.resid_working, other.resid_working, 1e-5)
    close(res.with_cov("expected").bse, other.bse, 1e-6)
    close(res.deviance, other.deviance, 1e-8)
    if sort in ("plain", "weighted", "fractions"):  # GLM's null deviance leaves the offset out of some versions
        close(res.null_deviance, other.null_deviance, 1e-8)
    if sort in ("plain", "offset", "weighted"):
        close([res.llf, res.llnull], [other.llf, other.llnull], 1e-8)


@models
def test_counts_have_glms_likelihood(model):
    res, other = glm(model, "counts")
    close(res.llf, other.llf, 1e-9)
    close(res.resid_dev, other.resid_deviance, 1e-5, 1e-7)
    close(res.aic, other.aic, 1e-9)


@models
def test_statsmodels_discrete(model):
    import statsmodels.api as sm

    if model == "CLogLog":
        pytest.skip("statsmodels has no discrete CLogLog")
    res = shared(model)
    other = getattr(sm, model)(res.model.endog, res.model.exog).fit(disp=0, tol=1e-12, method="newton", maxiter=100)
    for name in ("params", "bse", "tvalues", "pvalues"):
        close(getattr(res, name), getattr(other, name), 1e-6)
    for name in ("llf", "llnull", "llr", "llr_pvalue", "prsquared", "aic", "bic", "nobs", "df_model", "df_resid"):
        close(getattr(res, name), getattr(other, name), 1e-8)
    close(res.resid_response, other.resid_response, 1e-6, 1e-9)
    close(res.conf_int(0.1), other.conf_int(0.1), 1e-6)
    close(res.pred_table(), other.pred_table())
    close(res.pred_table(0.3), other.pred_table(0.3))
    close(res.resid_generalized, other.resid_generalized, 1e-6)
    close(res.model.score_obs(res.params), other.model.score_obs(other.params), 1e-5, 1e-7)


@models
def test_extreme_rows(model):
    """A row 30 standard deviations on the wrong side: large residuals, none infinite or NaN."""
    rng = np.random.default_rng(6)
    x = np.append(rng.normal(size=300), 60.0)
    y = np.append(rng.random(300) < 0.5 + 0.4 * np.tanh(x[:300]), False).astype(int)
    res = fit(model, "y ~ x", pd.DataFrame({"x": x, "y": y}))
    for name in ROW_WISE:
        assert np.isfinite(getattr(res, name)).all(), name
    assert (res.augment()[[".hat", ".cooksd", ".std_resid"]].notna()).all(axis=None)


@models
def test_missing_rows_stay_out(model):
    t = toy().set_index(pd.Index([f"r{i}" for i in range(160)], name="row"))
    t.loc[["r3", "r9"], "x1"] = np.nan
    res = fit(model, data=t)
    for name in ROW_WISE:
        assert getattr(res, name).index.equals(t.index.drop(["r3", "r9"]))


@models
def test_no_attribute_resid(model):
    assert not hasattr(shared(model), "resid")


def test_sampling_weights_scale_the_residuals_that_add_up_to_the_deviance():
    """R's glm: Pearson and deviance residuals carry the square root of the prior weight, svyglm's over its mean."""
    g = np.random.default_rng(8)
    n = 60
    table = pd.DataFrame({"x": g.normal(size=n), "w": g.gamma(2.0, size=n)})
    table["y"] = (g.random(n) < 0.4).astype(int)
    res = glmclf.Logit.from_formula("y ~ x", table, weights="w").fit()
    np.testing.assert_allclose((res.resid_dev**2).sum() * table.w.mean(), res.deviance, rtol=1e-12)
    p, w = res.fittedvalues, table.w / table.w.mean()
    np.testing.assert_allclose(res.resid_pearson, np.sqrt(w / (p * (1 - p))) * (table.y - p), rtol=1e-10)
