"""pred_table, tidy, glance, augment, odds ratios, summary_frame of fits."""

import numpy as np
import pandas as pd
import pytest
from properties.toys import close, cov_options, covariances, fit, models, shared, text, toy

import glmclf


@models
@covariances
def test_tidy_holds_the_coefficients(model, cov):
    res = shared(model, cov=cov)
    t = res.tidy()
    assert list(t.columns) == ["term", "estimate", "std_error", "statistic", "p_value", "conf_low", "conf_high"]
    assert list(t.term) == list(res.params.index)
    close(t.iloc[:, 1:5], np.column_stack([res.params, res.bse, res.tvalues, res.pvalues]), 0)
    close(t[["conf_low", "conf_high"]], res.conf_int(), 0)
    close(res.tidy(alpha=0.2)[["conf_low", "conf_high"]], res.conf_int(0.2), 0)
    if not res.model.link.ratio:
        with pytest.raises(NotImplementedError, match=model):
            res.tidy(exponentiate=True)
        return
    e = res.tidy(exponentiate=True)
    close(e.estimate, np.exp(res.params))
    close(e[["conf_low", "conf_high"]], np.exp(res.conf_int()))
    close(e.std_error, np.exp(res.params) * res.bse)
    close(e.p_value, res.pvalues, 0)


@models
def test_glance_has_r_glms_degrees_of_freedom(model):
    for formula, constant in (("y ~ x1 + g", 1), ("y ~ 0 + x1 + x2", 0), ("y ~ 0 + g", 1), ("y ~ 1", 1)):
        res = fit(model, formula)
        g = res.glance().iloc[0]
        assert g.df_null == 160 - constant and g.df_residual == 160 - len(res.params) == res.df_resid
        assert g.nobs == 160
        close(
            [g.log_lik, g.aic, g.bic, g.deviance, g.null_deviance],
            [res.llf, res.aic, res.bic, res.deviance, res.null_deviance],
            0,
        )
        close(res.deviance, -2 * res.llf)
        close(res.null_deviance - res.deviance, res.llr)


@models
def test_information_criteria(model):
    res = shared(model)
    close(res.info_criteria("aic"), -2 * res.llf + 10)
    close(res.info_criteria("bic", dk_params=1), -2 * res.llf + 6 * np.log(160))
    close(res.info_criteria("aic", dk_params=-1), -2 * res.llf + 8)


@models
def test_pred_table_counts_observations(model):
    t = toy()
    res = shared(model)
    table = res.pred_table()
    assert table.index.name == "observed" and table.columns.name == "predicted"
    assert list(table.index) == list(table.columns) == ["no", "yes"]
    assert table.to_numpy().sum() == 160
    close(table.sum(axis=1), t.y.value_counts().sort_index())
    counts = fit(model, "won + lost ~ x1", t)
    assert counts.pred_table().to_numpy().sum() == t.trials.sum()
    close(counts.pred_table().sum(axis=1), [t.lost.sum(), t.won.sum()])
    weighted = fit(model, data=t, weights="sw")
    close(weighted.pred_table().to_numpy().sum(), t.sw.sum())


@models
def test_augment_is_the_table_with_columns_beside_it(model):
    t = toy().set_index(pd.Index([f"r{i}" for i in range(160)]))
    t.loc[["r4", "r5"], "x1"] = np.nan
    res = fit(model, data=t)
    a = res.augment()
    kept = t.drop(index=["r4", "r5"])
    pd.testing.assert_frame_equal(a[t.columns], kept)
    close(a[".fitted"], res.fittedvalues, 0)
    close(a[".se_fit"], res.get_prediction().se, 0)
    close(a[".resid"], res.resid_dev, 0)
    X, w = (
        res.model.exog,
        np.sqrt(
            res.model.link.pdf(res.predict(which="linear").to_numpy()) ** 2
            / (res.fittedvalues * (1 - res.fittedvalues))
        ),
    )
    q, _ = np.linalg.qr(X * w.to_numpy()[:, None])
    hat = (q**2).sum(axis=1)
    close(a[".hat"], hat)
    close(a[".hat"].sum(), len(res.params))
    close(a[".std_resid"], res.resid_dev / np.sqrt(1 - hat))
    close(a[".cooksd"], res.resid_pearson**2 * hat / (1 - hat) ** 2 / len(res.params))
    b = res.augment(t)
    pd.testing.assert_frame_equal(b[t.columns], t)
    assert b.loc[["r4", "r5"], ".fitted"].isna().all() and b[".fitted"].notna().sum() == 158
    assert ".resid" not in b


@models
def test_influence_numbers_are_statsmodels_glms(model):
    import statsmodels.api as sm

    link = {"Logit": sm.families.links.Logit, "Probit": sm.families.links.Probit, "CLogLog": sm.families.links.CLogLog}[
        model
    ]()
    res = shared(model, offset="off")
    other = sm.GLM(res.model.endog, res.model.exog, family=sm.families.Binomial(link), offset=res.model.offset).fit(
        tol=1e-14, maxiter=100
    )
    influence = other.get_influence(observed=False)
    a = res.augment()
    close(a[".hat"], influence.hat_matrix_diag, 1e-6)
    close(a[".cooksd"], influence.cooks_distance[0], 1e-6)


@models
def test_augment_of_arrays_counts_and_weights(model):
    import glmclf

    t = toy()
    arrays = getattr(glmclf, model)(t.y01, t[["x1", "x2"]].assign(one=1.0)).fit()
    a = arrays.augment()
    assert a[".fitted"].notna().all() and {"x1", "x2", "one", "y01"} <= set(a.columns)
    counts = fit(model, "won + lost ~ x1 + g", t)
    close(counts.augment()[".hat"].sum(), len(counts.params))
    weighted = fit(model, data=t, weights="sw")
    close(weighted.augment()[".hat"].sum(), len(weighted.params))
    frequency = fit(model, data=t, freq_weights="times")
    close((frequency.augment()[".hat"] * t.times[t.times > 0]).sum(), len(frequency.params))


def test_odds_ratios():
    res = shared("Logit")
    table = res.odds_ratios()
    close(table["odds ratio"], np.exp(res.params))
    close(table.iloc[:, -2:], np.exp(res.conf_int()))
    close(table["std err"], np.exp(res.params) * res.bse)
    close(table["P>|z|"], res.pvalues, 0)
    ten = res.odds_ratios(units={"x1": 10, "x2": -1}, alpha=0.1)
    close(ten.loc["x1 (per 10)", "odds ratio"], np.exp(10 * res.params["x1"]))
    close(ten.loc["x2 (per -1)"].iloc[-2:], np.exp(-res.conf_int(0.1).loc["x2"].to_numpy()[::-1]))
    rescaled = fit("Logit", data=toy().assign(x1=toy().x1 / 10)).odds_ratios(alpha=0.1)
    close(ten.loc["x1 (per 10)"], rescaled.loc["x1"])


@models
@covariances
def test_summary_frame_and_summary_hold_the_same(model, cov):
    res = shared(model, cov=cov)
    frame = res.summary_frame()
    close(frame.iloc[:, 0], res.params, 0)
    report = text(res)
    for name in res.params.index:
        line = next(line for line in report.splitlines() if line.startswith(name))
        close(float(line.split()[-6]), res.params[name], 1e-2, 1e-3)
        close(float(line.split()[-5]), res.bse[name], 1e-2, 1e-3)
    assert res.cov_type in report


@models
def test_simulate_draws_from_the_fitted_model(model):
    res = shared(model)
    draws = res.simulate(400, seed=3)
    assert (
        draws.shape == (160, 400) and list(draws.columns[:2]) == ["sim_1", "sim_2"] and draws.index.equals(toy().index)
    )
    share = (draws == "yes").mean(axis=1)
    z = (share - res.fittedvalues) / np.sqrt(res.fittedvalues * (1 - res.fittedvalues) / 400)
    assert abs(z).max() < 5 and abs(z.mean()) < 0.4 and 0.8 < z.std() < 1.2
    pd.testing.assert_frame_equal(draws, res.simulate(400, seed=3))
    assert not draws.equals(res.simulate(400, seed=4))
    pd.testing.assert_frame_equal(
        res.simulate(5, seed=np.random.default_rng(9)), res.simulate(5, seed=np.random.default_rng(9))
    )
    assert not res.simulate(5).equals(res.simulate(5))
    state = np.random.get_state()[1].copy()
    res.simulate(5)
    assert (np.random.get_state()[1] == state).all()


@models
def test_simulated_counts(model):
    t = toy()
    res = fit(model, "won + lost ~ x1 + g", t)
    draws = res.simulate(300, seed=3)
    trials = t.trials[t.trials > 0]
    assert draws.index.equals(trials.index) and (draws.to_numpy() >= 0).all()
    assert (draws.to_numpy() <= trials.to_numpy()[:, None]).all()
    close(draws.mean(axis=1) / trials, res.fittedvalues, 0.5, 0.12)
    refit = fit(model, "sim + rest ~ x1 + g", t.loc[trials.index].assign(sim=draws.sim_1, rest=trials - draws.sim_1))
    assert (abs(refit.params - res.params) < 6 * res.bse).all()


@models
@covariances
def test_with_cov_is_the_fit_with_that_covariance(model, cov):
    from properties.toys import identical

    options = cov_options(cov)
    name, kwds = options["cov_type"], options.get("cov_kwds", {})
    base = shared(model)
    before = base.bse.copy()
    swapped = base.with_cov(name, **kwds)
    close(swapped.bse, shared(model, cov=cov).bse, 1e-12)
    close(swapped.pvalues, shared(model, cov=cov).pvalues, 1e-9)
    close(swapped.conf_int(), shared(model, cov=cov).conf_int(), 1e-11)
    close(
        swapped.get_prediction(toy()).summary_frame(),
        shared(model, cov=cov).get_prediction(toy()).summary_frame(),
        1e-10,
    )
    assert swapped.cov_type == name and name in text(swapped) and text(swapped) == text(shared(model, cov=cov))
    close(base.bse, before, 0)
    assert base.cov_type == "nonrobust"
    identical(swapped.with_cov("nonrobust"), base)
    close(swapped.augment()[".se_fit"], swapped.get_prediction().se, 0)


RATIOS = {"Logit": "odds ratio", "Probit": "", "CLogLog": "hazard ratio", "MNLogit": "relative risk ratio"}


@pytest.mark.parametrize("penalty", [None, 0.1])
@pytest.mark.parametrize("model", RATIOS)
def test_every_table_calls_exp_of_a_coefficient_by_its_name(model, penalty):
    made, name = getattr(glmclf, model).from_formula("y ~ x1", toy()), RATIOS[model]
    res = made.fit() if penalty is None else made.fit_regularized(penalty)
    if not name:
        with pytest.raises(NotImplementedError, match="no ratio of anything"):
            res.summary(exponentiate=True)
        return
    printed, plain = (res.summary(exponentiate=how).as_text() for how in (True, False))
    assert f" {name}" in printed.replace(",", " ") and "exp(coef)" not in plain
    rules = [{len(line) for line in text.splitlines() if set(line) <= set("=-") and line} for text in (printed, plain)]
    assert rules[0] == rules[1]  # the name of the ratio widens no table
    assert f"Exponentiated coefficients ({name}s)." in str(glmclf.regression_table(res, exponentiate=True))
    if model == "CLogLog":
        with pytest.raises(NotImplementedError, match=r"hazard ratio: use summary_frame\(exponentiate=True\)"):
            res.odds_ratios()
    else:
        assert res.odds_ratios().columns[0] == name
