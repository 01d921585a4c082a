"""Frequency weights are repeated rows, counts are expanded rows, sampling weights are neither."""

import numpy as np
import pandas as pd
import pytest
from properties.toys import close, cov_options, covariances, fit, models, same_inference, text, toy

from glmclf.errors import DataError


def repeated(t):
    return t.loc[t.index.repeat(t.times)].reset_index(drop=True)


@models
@covariances
def test_a_frequency_weight_is_that_many_rows(model, cov):
    t = toy()
    a = fit(model, data=t, freq_weights="times", options=cov_options(cov))
    b = fit(model, data=repeated(t), options=cov_options(cov))
    same_inference(a, b)


@models
@pytest.mark.parametrize(
    "formula, offset",
    [("y ~ x1 + g", "off"), ("y ~ 0 + x1 + x2", None), ("y ~ 1", "off"), ("won + lost ~ x1 + g", "off")],
)
def test_also_with_an_offset_without_a_constant_and_for_counts(model, formula, offset):
    t = toy()
    a = fit(model, formula, t, freq_weights="times", offset=offset)
    b = fit(model, formula, repeated(t), offset=offset)
    same_inference(a, b)
    close(a.pred_table(), b.pred_table())


@models
def test_row_wise_numbers_are_those_of_one_of_the_equal_rows(model):
    t = toy()
    a = fit(model, data=t, freq_weights="times", offset="off")
    b = fit(model, data=repeated(t), offset="off")
    kept = t[t.times > 0]
    assert a.fittedvalues.index.equals(kept.index)
    first = np.flatnonzero(~repeated(t.assign(row=t.index)).row.duplicated())
    names = ["fittedvalues", "resid_response", "resid_pearson", "resid_dev", "resid_generalized", "resid_working"]
    for name in names:
        close(getattr(a, name), getattr(b, name).iloc[first])
    close(a.predict(t), b.predict(t))
    close(a.get_prediction(t).summary_frame(), b.get_prediction(t).summary_frame())
    one, two = a.augment(), b.augment().iloc[first]
    for name in (".fitted", ".se_fit", ".resid", ".hat", ".std_resid", ".cooksd"):
        close(one[name], two[name])
    close(a.pred_table(0.3), b.pred_table(0.3))
    close(a.predict(t, priors=[0.8, 0.2]), b.predict(t, priors=[0.8, 0.2]))


@models
def test_simulate_draws_every_repeated_row(model):
    t = toy()
    a = fit(model, data=t, freq_weights="times").simulate(3, seed=5)
    b = fit(model, data=repeated(t)).simulate(3, seed=5)
    assert len(a) == t.times.sum()
    assert a.index.equals(t.index.repeat(t.times))
    assert (a.to_numpy() == b.to_numpy()).all()


@models
def test_rows_of_weight_zero_are_absent(model):
    t = toy()
    kept = t[t.times > 0]
    spoilt = t.copy()
    spoilt.loc[t.times == 0, ["x1", "off"]] = np.nan
    spoilt.loc[t.times == 0, "g"] = "a level of no weight"
    a = fit(model, data=spoilt, freq_weights="times", offset="off")
    b = fit(model, data=kept, freq_weights="times", offset="off")
    same_inference(a, b, rtol=0)
    assert a.fittedvalues.index.equals(kept.index)
    c = fit(model, data=t, weights=t.sw.where(t.times > 0, 0.0))
    d = fit(model, data=kept, weights="sw")
    same_inference(c, d, rtol=0)
    assert c.nobs == len(kept)
    assert "weight zero" in text(c)


@models
@pytest.mark.parametrize("how", ["name", "array", "Series in another order", "list", "Int64", "float"])
def test_weights_are_aligned_whatever_they_come_as(model, how):
    t = toy().set_index(pd.Index([f"r{i}" for i in range(160)]))
    given = {
        "name": "times",
        "array": t.times.to_numpy(),
        "Series in another order": t.times.sample(frac=1, random_state=3),
        "list": t.times.tolist(),
        "Int64": t.times.astype("Int64"),
        "float": t.times.astype(float),
    }[how]
    same_inference(fit(model, data=t, freq_weights=given), fit(model, data=t, freq_weights="times"), rtol=0)


@models
@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e7])
def test_large_and_equal_frequency_weights(model, factor):
    if factor < 1:
        with pytest.raises(DataError, match="whole numbers"):
            fit(model, freq_weights=np.full(160, factor))
        return
    a, b = fit(model, freq_weights=np.full(160, factor)), fit(model)
    close(a.params, b.params)
    close(a.bse * np.sqrt(factor), b.bse)
    close(a.llf, factor * b.llf)
    close(a.prsquared, b.prsquared)
    assert a.nobs == 160 * factor


@models
def test_counts_are_the_expanded_rows(model):
    t = toy()
    won = t.loc[t.index.repeat(t.won)].assign(y=1)
    lost = t.loc[t.index.repeat(t.lost)].assign(y=0)
    a = fit(model, "won + lost ~ x1 + x2 + g", t, offset="off")
    b = fit(model, data=pd.concat([won, lost], ignore_index=True), offset="off")
    close(a.params, b.params)
    close(a.bse, b.bse)
    close(a.pvalues, b.pvalues)
    close(a.conf_int(), b.conf_int())
    close(a.wald_test_terms().table, b.wald_test_terms().table)
    close(a.llr, b.llr)
    close(a.llr_pvalue, b.llr_pvalue)
    close(a.prsquared, b.prsquared)
    close(a.pred_table(), b.pred_table())
    close(a.predict(t), b.predict(t))
    close(a.predict(t, priors={0: 0.5, 1: 0.5}), b.predict(t, priors={0: 0.5, 1: 0.5}))
    assert a.nobs == (t.trials > 0).sum() != b.nobs
    with_expected = a.with_cov("expected").bse, b.with_cov("expected").bse
    close(*with_expected)


@models
def test_counts_carry_the_binomial_coefficient(model):
    from scipy.stats import binom

    t = toy()
    res = fit(model, "won + lost ~ x1 + g", t)
    kept = t[t.trials > 0]
    close(res.llf, binom.logpmf(kept.won, kept.trials, res.fittedvalues).sum())
    close(res.llnull, binom.logpmf(kept.won, kept.trials, kept.won.sum() / kept.trials.sum()).sum())
    close(res.aic, -2 * res.llf + 2 * 4)
    close(res.bic, -2 * res.llf + 4 * np.log(len(kept)))


@models
def test_order_of_the_counts_and_arrays(model):
    t = toy()
    a = fit(model, "won + lost ~ x1 + g", t)
    X = a.model.exog
    import glmclf

    kept = t[t.trials > 0]
    b = getattr(glmclf, model)(kept[["won", "lost"]].to_numpy(), X).fit()
    close(a.params, b.params)
    close(a.bse, b.bse)
    close(a.llf, b.llf)


@models
@pytest.mark.parametrize("size", [1, 10**9])
def test_counts_of_one_and_of_a_billion(model, size):
    t = pd.DataFrame({"x": np.linspace(-1, 1, 9)})
    p = np.array([0.2, 0.3, 0.25, 0.4, 0.5, 0.45, 0.6, 0.7, 0.75])
    t["won"] = np.round(p * size).astype(np.int64) if size > 1 else np.array([0, 1, 0, 0, 1, 0, 1, 0, 1])
    t["lost"] = size - t.won
    res = fit(model, "won + lost ~ x", t)
    assert res.converged and np.isfinite([*res.params, *res.bse, res.llf, res.llr]).all()
    # the score is zero against the size of its terms
    assert np.abs(res.model.score(res.params)).max() < 1e-9 * size
    if size > 1:
        assert res.pvalues["x"] < 1e-300
        assert res.llr_pvalue < 1e-300


@models
def test_sampling_weights_are_scale_free(model):
    a = fit(model, weights="sw")
    t = toy()
    b = fit(model, weights=t.sw * 1e-6)
    assert a.cov_type == b.cov_type == "HC0"
    close(a.params, b.params)
    close(a.bse, b.bse)
    close(a.prsquared, b.prsquared)
    close(a.predict(), b.predict())
    for options in (cov_options("HC1"), cov_options("one-way"), cov_options("two-way")):
        close(fit(model, weights="sw", options=options).bse, fit(model, weights=t.sw * 1e5, options=options).bse)
    assert a.nobs == 160
    assert np.isnan([a.aic, a.bic, a.llr_pvalue]).all()
    assert "pseudo-likelihood" in text(a) and "HC0" in text(a) and "sw" in text(a)
    close(a.llf, (t.sw * np.log(np.where(t.y == "yes", a.predict(), 1 - a.predict()))).sum())


@models
def test_whole_sampling_weights_give_the_estimate_of_the_repeated_rows(model):
    t = toy()
    a, b = fit(model, data=t, weights="times"), fit(model, data=t, freq_weights="times")
    close(a.params, b.params)
    close(a.llf, b.llf)
    assert a.nobs == (t.times > 0).sum() and b.nobs == t.times.sum()


@models
def test_a_sandwich_of_sampling_weights_squares_them(model):
    t = toy()
    res = fit(model, data=t, weights="sw")
    m = res.model
    S = m.score_obs(res.params)
    bread = np.linalg.inv(m.information(res.params))
    close(res.cov_params(), bread @ S.T @ S @ bread)


@models
def test_pseudo_likelihoods_have_no_likelihood_ratio_test(model):
    big, small = fit(model, weights="sw"), fit(model, "y ~ x1", weights="sw")
    with pytest.raises(ValueError, match="pseudo-likelihood"):
        big.compare_lr_test(small)
    big, small = fit(model, "share ~ x1 + x2"), fit(model, "share ~ x1")
    with pytest.raises(ValueError, match="pseudo-likelihood"):
        big.compare_lr_test(small)


@models
def test_fractions(model):
    t = toy()
    res = fit(model, "share ~ x1 + x2", t)
    assert res.cov_type == "HC0" and np.isnan(res.aic) and "pseudo-likelihood" in text(res)
    close(res.model.score(res.params), 0, atol=1e-9)
    p = res.predict()
    close(res.llf, (t.share * np.log(p) + (1 - t.share) * np.log1p(-p)).sum())
    twice = fit(model, "share ~ x1 + x2", pd.concat([t, t], ignore_index=True))
    close(res.params, fit(model, "share ~ x1 + x2", t, freq_weights=np.full(160, 2)).params)
    same_inference(twice, fit(model, "share ~ x1 + x2", t, freq_weights=np.full(160, 2)))
    with pytest.raises(NotImplementedError):
        res.simulate()


@models
def test_groups_by_name_array_and_series_are_the_same(model):
    t = toy().set_index(pd.Index([f"r{i}" for i in range(160)]))
    base = fit(model, data=t, options=cov_options("one-way"))
    for groups in (
        t.firm,
        t.firm.to_numpy(),
        t.firm.tolist(),
        t.firm.sample(frac=1, random_state=1),
        t.firm.astype("category"),
        ["firm"],
    ):
        res = fit(model, data=t, options={"cov_type": "cluster", "cov_kwds": {"groups": groups}})
        same_inference(res, base, rtol=1e-12)
    two = fit(model, data=t, options=cov_options("two-way"))
    for groups in (t[["firm", "year"]], (t.firm, t.year), [t.year.to_numpy(), "firm"], t[["firm", "year"]].to_numpy()):
        res = fit(model, data=t, options={"cov_type": "cluster", "cov_kwds": {"groups": groups}})
        close(res.bse, two.bse, rtol=1e-12)


@models
def test_singleton_clusters_are_hc0_with_the_factor(model):
    t = toy()
    res = fit(model, data=t, options={"cov_type": "cluster", "cov_kwds": {"groups": np.arange(160)}})
    n, p = 160, len(res.params)
    close(
        res.cov_params(), fit(model, data=t, options=cov_options("HC0")).cov_params() * n / (n - 1) * (n - 1) / (n - p)
    )


@models
def test_the_same_grouping_twice_is_one_way(model):
    one = fit(model, options=cov_options("one-way"))
    two = fit(model, options={"cov_type": "cluster", "cov_kwds": {"groups": ["firm", "firm"]}})
    close(one.bse, two.bse)


@models
def test_groups_follow_dropped_rows_and_subset(model):
    t = toy()
    t.loc[[4, 40, 77], "x1"] = np.nan
    keep = (t.x2 > 0.5).to_numpy()
    cut = t[keep & t.x1.notna()]
    expected = fit(model, data=cut, options=cov_options("two-way"))
    for groups in (["firm", "year"], [t.firm, t.year], [t.firm.to_numpy(), t.year.to_numpy()]):
        res = fit(model, data=t, subset=keep, options={"cov_type": "cluster", "cov_kwds": {"groups": groups}})
        same_inference(res, expected, rtol=1e-12)


@models
def test_missing_groups_of_dropped_rows_do_no_harm(model):
    t = toy()
    t.loc[7, "x1"] = np.nan
    t.loc[7, "firm"] = None
    res = fit(model, data=t, options=cov_options("one-way"))
    same_inference(res, fit(model, data=t.drop(index=7), options=cov_options("one-way")), rtol=1e-12)


@models
@pytest.mark.parametrize(
    "right", ["center(x1)", "standardize(x1) * g", "bs(x1, df=5)", "cr(x1, df=4) + x2 - 1", "bs(center(x1), df=4)"]
)
def test_transforms_remember_the_repeated_rows(model, right):
    t = toy()
    a, b = fit(model, f"y ~ {right}", t, freq_weights="times"), fit(model, f"y ~ {right}", repeated(t))
    same_inference(a, b, 1e-8)
    new = toy(20, 4).assign(x1=lambda t: t.x1.clip(-1.5, 1.5))
    close(a.predict(new), b.predict(new))


@models
@pytest.mark.parametrize("cov", ["HC0", "HC1", "two-way"])
def test_weighted_counts_and_fractions_with_robust_errors(model, cov):
    t = toy()
    for formula in ("won + lost ~ x1 + g", "share ~ x1 + g"):
        options = cov_options(cov)
        same_inference(
            fit(model, formula, t, freq_weights="times", options=options),
            fit(model, formula, repeated(t), options=options),
        )


@models
def test_groups_of_a_polars_table(model):
    pl = pytest.importorskip("polars")
    table = pl.from_pandas(toy().astype({c: object for c in ("y", "g", "h", "firm")}))
    for groups, cov in ((table["firm"], "one-way"), ("firm", "one-way"), (table[["firm", "year"]], "two-way")):
        res = fit(model, data=table, options={"cov_type": "cluster", "cov_kwds": {"groups": groups}})
        close(res.bse, fit(model, options=cov_options(cov)).bse, 1e-12)


@models
@pytest.mark.parametrize("factor", [1e-12, 1e-5, 1e9])
def test_the_size_of_sampling_weights_changes_no_digit(model, factor):
    t = toy()
    base = fit(model, data=t, weights="sw")
    for method in ("irls", "newton", "bfgs", "lbfgs"):
        res = fit(model, data=t, weights=t.sw * factor, options={"method": method})
        assert res.converged
        close(res.params, base.params, 1e-11)
        close(res.bse, base.bse, 1e-10)
