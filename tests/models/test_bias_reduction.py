"""fit(bias_reduction=...): reference values, identities, and what a bias-reduced result says, does and refuses."""

import io
import warnings

import numpy as np
import pandas as pd
import pytest
import references

import glmclf
from glmclf import CLogLog, Logit, MNLogit, Probit
from glmclf.errors import CollinearityWarning, ConvergenceWarning

# Estimates certified to 15 digits; the fits keep 12 of them, and the standard errors, of the separated ones, too.
DIGITS = 12

REDUCED = references.names("bias_reduction", (*references.BINARY, "MNLogit"))
FIRTH = [name for name in REDUCED if name.endswith("_firth")]
PENALISED = [name for name in REDUCED if "penalized_llf" in references.reference(name)[0]["values"]]
KINDS = ["firth", "median"]
BINARY = [Logit, Probit, CLogLog]
_fits = {}


def fit(name, **options):
    key = (name, *sorted(options.items()))
    if key not in _fits:
        case, data = references.reference(name)
        model = getattr(glmclf, case["model"]).from_formula(case["formula"], data, **references.model_keywords(case))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            _fits[key] = model.fit(**{**case["keywords"]["fit"], **options})
    return _fits[key]


def agree(found, expected, digits=DIGITS):
    reached = references.digits(found, expected).min()
    assert reached >= digits, f"{reached:.1f} digits: {found} instead of {expected}"


def flat(res, values, what):
    if isinstance(res.params, pd.DataFrame):
        expected = pd.DataFrame(values[what])
        return expected.loc[res.params.index, res.params.columns]
    return pd.Series(values[what])[res.params.index]


def lesions(n=60, seed=0):
    rng = np.random.default_rng(seed)
    x, g = rng.normal(size=n), rng.choice(list("abc"), n)
    y = (x + (g == "b") + rng.logistic(size=n) > 0.5).astype(int)
    y[g == "c"] = 1  # separated
    kind = np.where(y == 1, rng.choice(["p", "q"], n), "r")
    return pd.DataFrame({"x": x, "z": rng.normal(size=n), "g": g, "y": y, "kind": kind, "f": rng.integers(1, 4, n)})


# ---------------------------------------------------------------------------------------------- reference values
@pytest.mark.parametrize("name", REDUCED)
def test_reference(name):
    values, res = references.reference(name)[0]["values"], fit(name)
    assert res.converged and res.cov_type == "expected"
    agree(res.params, flat(res, values, "params"))
    agree(res.bse, flat(res, values, "bse"))
    agree(res.llf, values["llf_at_estimate"])
    if "cov_params" in values:
        V = np.array(values["cov_params"])
        se = np.sqrt(V.diagonal())
        assert np.abs((res.cov_params() - V) / np.outer(se, se)).to_numpy().max() < 10.0**-DIGITS


@pytest.mark.parametrize("name", PENALISED)
def test_penalised_likelihood(name):
    case, _ = references.reference(name)
    res = fit(name)
    if case["model"] in ("Logit", "MNLogit"):
        agree(res.llf_penalized, case["values"]["penalized_llf"])
    else:
        assert not hasattr(res, "llf_penalized")


# R 4.2.2, brglm2 0.9: glm(cbind(Menarche, Immature) ~ Age + I(Age^2/100), offset = 0.1 * (Age - 13), method =
# "brglmFit", epsilon = 1e-13), which stops where scores of these sizes have 10 digits left
MENARCHE = {
    ("Logit", "firth"): [-30.0926153114848, 3.0937466576673, -5.9577884294418, 5.14690417147, 0.770487419389],
    ("Logit", "median"): [-29.9802330021786, 3.0671901977022, -5.8209565300396, 5.22980986121, 0.783731503146],
    ("Probit", "firth"): [-19.2940741779348, 2.1526596188096, -5.1106050840824, 2.69191153559, 0.400662244907],
    ("Probit", "median"): [-19.1197825061539, 2.1203027517429, -4.9661829083457, 2.77724393929, 0.414403302018],
    ("CLogLog", "firth"): [-35.750280744233, 4.436008506941, -13.222807832424, 2.17155434337, 0.298345532220],
    ("CLogLog", "median"): [-35.7273941787963, 4.4298678305016, -13.1891774681122, 2.19508868384, 0.302142313385],
}


@pytest.mark.parametrize("model, kind", MENARCHE)
def test_counts_with_an_offset(model, kind):
    data = references.reference("menarche__logit")[1]
    data["off"] = 0.1 * (data.Age - 13)
    formula = "Menarche + Immature ~ Age + I(Age**2/100)"
    res = getattr(glmclf, model).from_formula(formula, data, offset="off").fit(bias_reduction=kind)
    agree([*res.params, *res.bse[:2]], MENARCHE[model, kind], 9)


# Heinze & Schemper (2002), as R's logistf prints their endometrial data: chi-squared of the penalised likelihood ratio
def test_penalised_likelihood_ratio_tests_of_endometrial():
    res = fit("endometrial__logit_firth")
    table = res.anova()
    np.testing.assert_allclose(table.statistic[["NV", "PI", "EH"]], [6.79846, 0.74683, 17.75932], atol=6e-6)
    np.testing.assert_allclose(res.llr, 43.65582, atol=6e-6)
    np.testing.assert_allclose(res.llr_pvalue, 1.78586e-09, rtol=1e-5)
    for term in table.index:
        rest = " + ".join(t for t in table.index if t != term)
        smaller = Logit.from_formula(f"HG ~ {rest}", references.reference("endometrial__logit_firth")[1])
        test = res.compare_lr_test(smaller.fit(bias_reduction="firth"))
        np.testing.assert_allclose(test.statistic, table.statistic[term], rtol=1e-9)
        np.testing.assert_allclose(test.pvalue, table.pvalue[term], rtol=1e-7)


# -------------------------------------------------------------------------------------------------- identities
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", BINARY)
def test_weights_counts_and_rows_are_the_same_data(model, kind):
    d = lesions()
    weighted = model.from_formula("y ~ x + g", d, freq_weights="f").fit(bias_reduction=kind)
    rows = model.from_formula("y ~ x + g", d.loc[d.index.repeat(d.f)].reset_index(drop=True)).fit(bias_reduction=kind)
    counts = d.assign(s=d.y * d.f, m=(1 - d.y) * d.f)
    counted = model.from_formula("s + m ~ x + g", counts).fit(bias_reduction=kind)
    for other in (rows, counted):
        np.testing.assert_allclose(weighted.params, other.params, rtol=1e-10)
        np.testing.assert_allclose(weighted.bse, other.bse, rtol=1e-10)
    np.testing.assert_allclose(weighted.llr, rows.llr, rtol=1e-9, equal_nan=True)
    np.testing.assert_allclose(weighted.with_cov("nonrobust").bse, rows.with_cov("nonrobust").bse, rtol=1e-10)


def test_two_classes_are_a_logit_and_weights_are_rows_in_a_multinomial():
    d = lesions()
    two = MNLogit.from_formula("y ~ x + g", d).fit(bias_reduction="firth")
    one = Logit.from_formula("y ~ x + g", d).fit(bias_reduction="firth")
    np.testing.assert_allclose(two.params.iloc[:, 0], one.params, rtol=1e-10)
    np.testing.assert_allclose(two.bse.iloc[:, 0], one.bse, rtol=1e-10)
    np.testing.assert_allclose([two.llf_penalized, two.llr], [one.llf_penalized, one.llr], rtol=1e-10)
    weighted = MNLogit.from_formula("kind ~ x + g", d, freq_weights="f").fit(bias_reduction="firth")
    rows = MNLogit.from_formula("kind ~ x + g", d.loc[d.index.repeat(d.f)]).fit(bias_reduction="firth")
    np.testing.assert_allclose(weighted.params, rows.params, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose([weighted.llf_penalized, weighted.llr], [rows.llf_penalized, rows.llr], rtol=1e-10)


def test_another_reference_only_relabels():
    d = lesions()
    a = MNLogit.from_formula("kind ~ x + g", d).fit(bias_reduction="firth")
    b = MNLogit.from_formula("kind ~ x + g", d, reference="r").fit(bias_reduction="firth")
    again = a.rebase("r")
    np.testing.assert_allclose(again.params[b.params.columns], b.params, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(again.bse[b.params.columns], b.bse, rtol=1e-9)
    assert again.bias_reduction == "firth" and again.llf_penalized == pytest.approx(b.llf_penalized, rel=1e-12)
    np.testing.assert_allclose(again.anova().statistic, b.anova().statistic, rtol=1e-8)


@pytest.mark.parametrize("model", BINARY)
def test_firth_is_equivariant_and_median_is_by_coordinate(model):
    """Firth's estimates of X A are A^-1 b. Median bias reduction keeps only changes of scale and shuffling."""
    d = lesions()
    X = np.column_stack([np.ones(len(d)), d.x, d.z])
    A = np.array([[1.0, 0.5, 0], [0, 2, -1], [0, 1, 1]])
    b, c = (model(d.y, Z).fit(bias_reduction="firth").params for Z in (X, X @ A))
    np.testing.assert_allclose(A @ c, b, rtol=1e-9)
    scale = np.array([1.0, 1e4, -1e-3])
    b, c = (model(d.y, Z).fit(bias_reduction="median").params for Z in (X, X * scale))
    np.testing.assert_allclose(c * scale, b, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", [Logit, Probit])
def test_the_other_event_changes_signs(model, kind):
    d = lesions()
    b, c = (model.from_formula("y ~ x + g", d, event=e).fit(bias_reduction=kind) for e in (0, 1))
    np.testing.assert_allclose(b.params, -c.params, rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", BINARY)
def test_ill_conditioned_columns_go_through_a_basis(model, kind):
    """x around 1000 in raw and in centred powers: median bias reduction compares the coefficient that both have."""
    d = lesions().assign(t=lambda t: 1000 + t.x)
    raw = model.from_formula("y ~ t + I(t**2)", d).fit(bias_reduction=kind)
    assert raw._state.basis is not None
    if kind == "firth":
        centred = model.from_formula("y ~ x + I(x**2)", d).fit(bias_reduction=kind)
        np.testing.assert_allclose(raw.predict(d), centred.predict(d), rtol=1e-6)
    scaled = model.from_formula("y ~ I(t / 7) + I(t**2 / 11)", d).fit(bias_reduction=kind)
    np.testing.assert_allclose(raw.params, scaled.params / [1, 7, 11], rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", BINARY)
def test_factors_of_many_levels_and_blocks(model, kind):
    """Cell codes give what the expanded columns give, in any blocks and with any threads."""
    rng = np.random.default_rng(2)
    n = 25_000
    d = pd.DataFrame({"x": rng.normal(size=n), "g": rng.integers(0, 40, n).astype(str)})
    d["y"] = (d.x + rng.logistic(size=n) > 2).astype(int)
    coded = model.from_formula("y ~ x + g", d)
    assert type(coded._rows.X).__name__ == "FactorColumns"
    res = coded.fit(bias_reduction=kind)
    expanded = model(d.y, coded.exog).fit(bias_reduction=kind, n_threads=1)
    np.testing.assert_allclose(res.params, expanded.params, rtol=1e-8)
    np.testing.assert_allclose(res.bse, expanded.bse, rtol=1e-8)


def test_large_samples_leave_little_bias():
    """The correction is of the order of the estimate's variance: of n rows, 1/n."""
    d = lesions(20_000, seed=3)
    d["y"] = (d.x + np.random.default_rng(0).logistic(size=len(d)) > 0).astype(int)
    for model in BINARY:
        ml = model.from_formula("y ~ x + z", d).fit()
        for kind in KINDS:
            res = model.from_formula("y ~ x + z", d).fit(bias_reduction=kind)
            assert (np.abs(res.params - ml.params) / ml.bse).max() < 0.02


def test_bias_in_simulation():
    """One slope of 20 rows: the mean of Firth's estimates, and the median of the others, are the truth within noise."""
    rng = np.random.default_rng(4)
    x = np.linspace(-1.5, 1.5, 20)
    truth = np.array([0.3, 1.0])
    mean, middle = [], []
    for _ in range(200):
        y = (rng.random(20) < 1 / (1 + np.exp(-truth[0] - truth[1] * x))).astype(int)
        if 0 < y.sum() < 20:
            model = Logit(y, np.column_stack([np.ones(20), x]))
            mean.append(model.fit(bias_reduction="firth").params.to_numpy())
            middle.append(model.fit(bias_reduction="median").params.to_numpy())
    mean, middle = np.array(mean), np.array(middle)
    assert (np.abs(mean.mean(axis=0) - truth) < 3.5 * mean.std(axis=0) / np.sqrt(len(mean))).all()
    above = (middle > truth).mean(axis=0)
    assert (np.abs(above - 0.5) < 3.5 * 0.5 / np.sqrt(len(middle))).all()


# -------------------------------------------------------------------------------------------------- what it says
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", BINARY)
def test_separated_data_give_finite_numbers_without_a_word(model, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        res = model.from_formula("y ~ x + g", lesions()).fit(bias_reduction=kind, separation="raise")
    assert np.isfinite(res.params).all() and np.isfinite(res.bse).all() and res.separation is None
    assert res.bse["g[T.c]"] < 4
    text = res.summary().as_text()
    assert ("Firth" if kind == "firth" else "Median BR") in text and "expected information" in text


def test_results_are_plain_or_penalised_as_they_say():
    res = fit("birthwt__logit_firth")
    ml = res.model.fit()
    assert res.llf < ml.llf and res.llnull == ml.llnull
    np.testing.assert_allclose(res.prsquared, 1 - res.llf / res.llnull, rtol=1e-14)
    np.testing.assert_allclose(res.aic, -2 * res.llf + 2 * len(res.params), rtol=1e-14)
    null = Logit.from_formula(f"{res.model.endog_names} ~ 1", res.model.data.frame).fit(bias_reduction="firth")
    test = res.compare_lr_test(null)
    np.testing.assert_allclose(res.llr, test.statistic, rtol=1e-9)
    np.testing.assert_allclose(res.llr_pvalue, test.pvalue, rtol=1e-7)
    assert np.abs(res.model.score(res.params)).max() > 1e-3  # the plain score is not 0
    assert res.mle_retvals["gradient_norm"] < 1e-6
    for other in (fit("birthwt__logit_median"), fit("spector__probit_firth")):
        assert np.isnan(other.llr) and np.isnan(other.llr_pvalue) and not hasattr(other, "llf_penalized")
    assert not hasattr(ml, "llf_penalized") and ml.bias_reduction is None


def test_null_model_without_a_constant_or_with_a_spanned_one():
    d = lesions()
    a = Logit.from_formula("y ~ 0 + g + x", d).fit(bias_reduction="firth")
    b = Logit.from_formula("y ~ g + x", d).fit(bias_reduction="firth")
    np.testing.assert_allclose([a.llr, a.df_model], [b.llr, b.df_model], rtol=1e-9)
    c = Logit.from_formula("y ~ 0 + x + z", d).fit(bias_reduction="firth")
    at_zero = -len(d) * np.log(2) + 0.5 * np.linalg.slogdet(c.model.exog.T @ c.model.exog / 4)[1]
    np.testing.assert_allclose(c.llr, 2 * (c.llf_penalized - at_zero), rtol=1e-10)


def test_types_of_anova_and_other_columns_of_the_same_space():
    d = lesions()
    res = Logit.from_formula("y ~ g * x", d).fit(bias_reduction="firth")
    first, third = res.anova(type=1), res.anova(type=3)
    np.testing.assert_allclose(first.statistic.sum(), res.llr, rtol=1e-9)
    np.testing.assert_allclose(first.statistic["g:x"], third.statistic["g:x"], rtol=1e-9)
    smaller = Logit.from_formula("y ~ C(g, Sum) + x", d).fit(bias_reduction="firth")
    np.testing.assert_allclose(res.compare_lr_test(smaller).statistic, third.statistic["g:x"], rtol=1e-8)
    assert (res.anova(type=2).statistic > 0).all()
    wald = res.anova(test="wald")
    assert np.isfinite(wald.statistic).all()


def test_omitted_columns():
    d = lesions().assign(twice=lambda t: 2 * t.x)
    for kind in KINDS:
        with pytest.warns(CollinearityWarning, match="twice"):
            res = Logit.from_formula("y ~ x + twice + g", d).fit(bias_reduction=kind)
        whole = Logit.from_formula("y ~ x + g", d).fit(bias_reduction=kind)
        assert np.isnan(res.params["twice"])
        np.testing.assert_allclose(res.params[whole.params.index], whole.params, rtol=1e-10)
        np.testing.assert_allclose(res.bse[whole.params.index], whole.bse, rtol=1e-10)
        np.testing.assert_allclose([res.llr, res.llf], [whole.llr, whole.llf], rtol=1e-9)
        if kind == "firth":
            table = res.anova()
            assert table.df["twice"] == 0
            np.testing.assert_allclose(table.statistic["g"], whole.anova().statistic["g"], rtol=1e-8)
            smaller = Logit.from_formula("y ~ x", d).fit(bias_reduction=kind)
            np.testing.assert_allclose(
                res.compare_lr_test(smaller).statistic, whole.compare_lr_test(smaller).statistic, rtol=1e-8
            )


# ---------------------------------------------------------------------------------------------------- intercept
def test_flic_makes_probabilities_add_up_and_leaves_the_slopes():
    for keywords in ({}, {"freq_weights": "f"}, {"offset": "z"}):
        model = Logit.from_formula("y ~ x + g", lesions(), **keywords)
        firth, res = model.fit(bias_reduction="firth"), model.fit(bias_reduction="firth", flic=True)
        w = lesions().f if "freq_weights" in keywords else 1.0
        y = lesions().y
        assert abs((w * (y - res.fittedvalues)).sum()) < 1e-9 < abs((w * (y - firth.fittedvalues)).sum())
        np.testing.assert_array_equal(res.params[1:], firth.params[1:])
        # as logistf's flic(): the standard error of the intercept is from the information at the corrected estimate
        e = np.linalg.inv(model.information(res.params, expected=True))
        np.testing.assert_allclose(res.bse["Intercept"], np.sqrt(e[0, 0]), rtol=1e-10)
        assert res.llf > firth.llf and res.llf_penalized == firth.llf_penalized
        np.testing.assert_allclose(res.anova().statistic, firth.anova().statistic, rtol=1e-8)
        assert "FLIC" in res.summary().as_text()


def test_flic_of_ill_conditioned_columns():
    d = lesions().assign(t=lambda t: 1000 + t.x)
    res = Logit.from_formula("y ~ t + I(t**2)", d).fit(bias_reduction="firth", flic=True)
    assert res._state.basis is not None and abs((d.y - res.fittedvalues).sum()) < 1e-9


def test_flic_where_it_means_nothing():
    d = lesions()
    for options in ({"bias_reduction": "median"}, {"bias_reduction": "firth", "model": Probit}):
        model = options.pop("model", Logit)
        with pytest.raises(NotImplementedError, match="flic"):
            model.from_formula("y ~ x", d).fit(flic=True, **options)
    with pytest.raises(NotImplementedError, match="flic"):
        MNLogit.from_formula("kind ~ x", d).fit(flic=True, bias_reduction="firth")
    with pytest.raises(ValueError, match="bias_reduction"):
        Logit.from_formula("y ~ x", d).fit(flic=True)
    with pytest.raises(ValueError, match="constant"):
        Logit.from_formula("y ~ 0 + x", d).fit(flic=True, bias_reduction="firth")
    with pytest.raises(ValueError, match="flic"):
        Logit.from_formula("y ~ x", d).fit(flic="yes", bias_reduction="firth")


# --------------------------------------------------------------------------------------------- covariances, files
@pytest.mark.filterwarnings("ignore:.*Few clusters")
@pytest.mark.parametrize("cov_type", ["HC0", "HC1"])
def test_robust_covariances_use_the_scores_at_the_estimate(cov_type):
    d = lesions()
    d = d[d.g != "c"]
    for model in BINARY:
        res = model.from_formula("y ~ x + g", d).fit(bias_reduction="firth", cov_type=cov_type)
        b = res.params
        S, A = res.model.score_obs(b), np.linalg.inv(res.model.information(b))
        V = A @ S.T @ S @ A * (len(d) / (len(d) - len(b)) if cov_type == "HC1" else 1.0)
        np.testing.assert_allclose(res.cov_params(), V, rtol=1e-8)
    clustered = res.with_cov("cluster", groups="f")
    assert clustered.bias_reduction == "firth" and np.isfinite(clustered.bse).all()


@pytest.mark.parametrize("cov_type", ["HC0", "HC1", "HC3"])
def test_robust_covariances_of_separated_data_are_refused(cov_type):
    """Scores of separated rows all but vanish: the standard error of g[T.c] would be a fraction of the model-based."""
    for model in (Logit.from_formula("y ~ x + g", lesions()), MNLogit.from_formula("kind ~ x + g", lesions())):
        with pytest.raises(ValueError, match=f'{cov_type}.*"firth".*separated'):
            model.fit(bias_reduction="firth", cov_type=cov_type)
        with pytest.raises(ValueError, match=f'{cov_type}.*"firth".*separated'):
            model.fit(bias_reduction="firth").with_cov(cov_type)


@pytest.mark.parametrize("options", [{}, {"flic": True}, {"bias_reduction": "median"}], ids=str)
def test_saved_results_keep_everything(options):
    res = Logit.from_formula("y ~ x + g", lesions()).fit(**{"bias_reduction": "firth"} | options)
    smaller = Logit.from_formula("y ~ x", lesions()).fit(bias_reduction="firth")
    file = io.StringIO()
    res.save(file)
    file.seek(0)
    again = glmclf.load(file)
    res.remove_data()
    for other in (again, res):
        text = [line for line in other.summary().as_text().splitlines() if "Date" not in line and "Time" not in line]
        assert other.bias_reduction == res.bias_reduction and any(other._estimator in line for line in text)
    for name in ("llf", "llr", "llr_pvalue", "prsquared", "aic"):
        np.testing.assert_array_equal(getattr(again, name), getattr(res, name))
    np.testing.assert_array_equal(again.params, res.params)
    np.testing.assert_array_equal(again.bse, res.bse)
    if res.bias_reduction == "firth":
        assert again.llf_penalized == res.llf_penalized
        with pytest.raises(ValueError, match="rows"):
            again.compare_lr_test(smaller)
    new = lesions().head(3)
    np.testing.assert_array_equal(again.get_prediction(new).summary_frame(), res.get_prediction(new).summary_frame())


# ------------------------------------------------------------------------------------------------------- refusals
def refused(*words):
    return pytest.raises(NotImplementedError, match=".*".join(words))


def test_what_has_no_bias_reduced_estimate_is_refused_by_name():
    d = lesions().assign(w=0.5, share=lambda t: 0.2 + 0.5 * t.y)
    with refused("median", "MNLogit"):
        MNLogit.from_formula("kind ~ x", d).fit(bias_reduction="median")
    for kind in KINDS:
        for method in ("newton", "bfgs", "lbfgs"):
            with refused(method, kind):
                Logit.from_formula("y ~ x", d).fit(method, bias_reduction=kind)
        with refused(kind, "sampling weights"):
            Logit.from_formula("y ~ x", d, weights="w").fit(bias_reduction=kind)
        with refused(kind, "fraction"):
            Probit.from_formula("share ~ x", d).fit(bias_reduction=kind)
        for cov_type in ("bootstrap", "jackknife"):
            with refused(cov_type, kind):
                Logit.from_formula("y ~ x", d).fit(bias_reduction=kind, cov_type=cov_type)
    with refused("firth", "sampling weights"):
        MNLogit.from_formula("kind ~ x", d, weights="w").fit(bias_reduction="firth")
    with pytest.raises(ValueError, match="jeffreys"):
        Logit.from_formula("y ~ x", d).fit(bias_reduction="jeffreys")


def test_tests_that_need_a_likelihood_or_a_zero_score_are_refused_by_name():
    d = lesions()
    for model, kind in ((Probit, "firth"), (CLogLog, "firth"), (Logit, "median")):
        res = model.from_formula("y ~ x + g", d).fit(bias_reduction=kind)
        smaller = model.from_formula("y ~ x", d).fit(bias_reduction=kind)
        with refused("compare_lr_test", model.__name__, kind):
            res.compare_lr_test(smaller)
        with refused("anova", "LR", kind):
            res.anova()
        assert np.isfinite(res.anova(test="wald").statistic).all()
    firth = Logit.from_formula("y ~ x + g", d).fit(bias_reduction="firth")
    with refused("score_test", "firth"):
        firth.score_test("z")
    with refused("anova", "score", "firth"):
        firth.anova(test="score")
    with refused("iia_test", "firth"):
        MNLogit.from_formula("kind ~ x", d).fit(bias_reduction="firth").iia_test()
    with pytest.raises(ValueError, match="'firth'.*None"):
        firth.compare_lr_test(Logit.from_formula("y ~ x", d).fit())


def test_options_of_the_fit():
    model = Logit.from_formula("y ~ x + g", lesions())
    res = model.fit(bias_reduction="firth")
    again = model.fit(bias_reduction="firth", start_params=res.params)
    assert again.mle_retvals["iterations"] <= 2
    np.testing.assert_allclose(again.params, res.params, rtol=1e-11)
    with pytest.warns(ConvergenceWarning, match="adjusted score"):
        stopped = model.fit(bias_reduction="firth", maxiter=2)
    assert not stopped.converged
    with pytest.raises(ValueError, match="converge"):
        stopped.anova()
