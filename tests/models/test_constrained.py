"""Fits under linear constraints, against designs in which they are substituted by hand, and statsmodels' GLM."""

import io
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from properties.toys import FORMULA, close, fit, make, models, shared, text, toy
from scipy.special import chdtrc

import glmclf
from glmclf import datasets
from glmclf.errors import CollinearityError, DataError, InferenceWarning, PerfectSeparationError
from glmclf.inference.covariance.types import COVARIANCES, REFITS

LINKS = {"Logit": sm.families.links.Logit, "Probit": sm.families.links.Probit, "CLogLog": sm.families.links.CLogLog}


def model(name="Logit", formula="y ~ x1 + x2", data=None, **keywords):
    return make(name, formula, toy() if data is None else data, **keywords)


# --------------------------------------------------------------------------------------------------- numbers
@models
@pytest.mark.parametrize("constraint", ["GPA = PSI", "GPA + 2*TUCE = 3, PSI = 1", "Intercept = -10"])
def test_statsmodels(model, constraint):
    data = datasets.load("spector")
    res = make(model, "GRADE ~ GPA + TUCE + PSI", data).fit_constrained(constraint, cov_type="expected")
    glm = smf.glm("GRADE ~ GPA + TUCE + PSI", data, family=sm.families.Binomial(LINKS[model]()))
    expected = glm.fit_constrained(constraint, tol=1e-14, maxiter=200)
    close(res.params, expected.params, rtol=1e-7)
    close(res.bse, expected.bse, rtol=1e-6, atol=1e-8)
    close(
        [res.llf, res.aic, res.df_model, res.df_resid],
        [expected.llf, expected.aic, expected.df_model, expected.df_resid],
        rtol=1e-10,
    )


@models
def test_equal_coefficients_are_one_of_the_sum(model):
    res = make(model, FORMULA, toy(), offset="off", freq_weights="times").fit_constrained("x1 = x2")
    hand = fit(model, "y ~ I(x1 + x2) + g", offset="off", freq_weights="times")
    names = ["Intercept", "g[T.b]", "g[T.c]", "x1"]
    at = ["Intercept", "g[T.b]", "g[T.c]", "I(x1 + x2)"]
    close(res.params[names], hand.params[at])
    close(res.cov_params().loc[names, names], hand.cov_params().loc[at, at], atol=1e-13)
    assert res.params["x1"] == pytest.approx(res.params["x2"], rel=1e-13)
    for number in ("llf", "llnull", "llr", "llr_pvalue", "aic", "bic", "df_model", "df_resid", "prsquared", "deviance"):
        assert getattr(res, number) == pytest.approx(getattr(hand, number), rel=1e-10)
    close(res.pvalues[names], hand.pvalues[at])
    close(res.conf_int(method="profile").loc[names], hand.conf_int(method="profile").loc[at], rtol=1e-8)
    close(res.fittedvalues, hand.fittedvalues)
    close(res.get_prediction().summary_frame(), hand.get_prediction().summary_frame())
    new = toy().head(3)
    close(res.predict(new, offset=0.1), hand.predict(new, offset=0.1))


@models
@pytest.mark.parametrize("cov", [name for name in COVARIANCES if name not in ("nonrobust", *REFITS)])
def test_covariances_of_what_is_free(model, cov):
    keywords = {"groups": "firm"} if cov == "cluster" else {}
    res = make(model, "y ~ x1 + x2", toy()).fit_constrained("x1 = x2", cov_type=cov, cov_kwds=keywords)
    hand = shared(model, "y ~ I(x1 + x2)").with_cov(cov, **keywords)
    close(res.bse[["Intercept", "x1"]], hand.bse)
    close(res.bse["x2"], res.bse["x1"])


def test_influence_of_rows():
    res, hand = model().fit_constrained("x1 = x2").get_influence(), shared("Logit", "y ~ I(x1 + x2)").get_influence()
    close(res.hat_matrix_diag, hand.hat_matrix_diag)
    close(res.cooks_distance[0], hand.cooks_distance[0])
    close(np.asarray(res.d_params)[:, :2], hand.d_params)


@models
def test_fixed_coefficient_is_an_offset(model):
    data = toy()
    res = make(model, "y ~ x1 + x2", data).fit_constrained({"x2": -0.3})
    hand = fit(model, "y ~ x1", data, offset=-0.3 * data.x2)
    close(res.params, [*hand.params, -0.3])
    close(res.bse, [*hand.bse, 0.0])
    assert res.llf == pytest.approx(hand.llf, rel=1e-12)
    assert np.isnan([res.tvalues["x2"], res.pvalues["x2"]]).all()
    assert np.isnan(res.llr_pvalue)  # the model with a constant alone does not obey it
    close(res.conf_int().loc["x2"], [-0.3, -0.3])
    close(res.conf_int(method="profile").loc["x2"], [-0.3, -0.3])


@pytest.mark.parametrize("method", ["irls", "newton", "bfgs", "lbfgs"])
def test_methods(method):
    close(
        model("Probit").fit_constrained("x1 + x2 = 1", method=method).params,
        model("Probit").fit_constrained("x1 + x2 = 1").params,
    )


def test_ways_to_say_it():
    m, expected = model(), model().fit_constrained("x1 = 2*x2, Intercept = -1").params
    R = pd.DataFrame([[0.0, 1, -2], [1, 0, 0]], columns=m.exog_names)
    for said in (["x1 = 2*x2", "Intercept = -1"], (R.to_numpy(), [0, -1]), (R.to_numpy()[::-1], np.array([-1, 0]))):
        close(m.fit_constrained(said).params, expected)
    close(m.fit_constrained(R.iloc[:1, ::-1]).params, m.fit_constrained("x1 = 2*x2").params)
    close(m.fit_constrained([0.0, 1, -2]).params, m.fit_constrained("x1 = 2*x2").params)


def test_units_do_not_matter():
    data = toy().assign(small=lambda t: 1e-8 * t.x1, large=lambda t: 1e8 * t.x2)
    res = model(formula="y ~ small + large", data=data).fit_constrained("1e-8*small = 1e8*large")
    expected = model().fit_constrained("x1 = x2")
    close(res.params * [1, 1e-8, 1e8], expected.params)
    close(res.bse * [1, 1e-8, 1e8], expected.bse)


def test_ill_conditioned_design():
    x = np.linspace(990, 1010, 60)
    data = pd.DataFrame({"x": x, "z": x - 1000})
    data["y"] = (np.random.default_rng(4).random(60) < 0.2 + 0.03 * (x - 990)).astype(int)
    # b1 (x - 1000) + b2 (x - 1000)^2 with b2 = 0.01: in raw terms the coefficient of x^2 is 0.01, that of x^3 0
    raw = model(formula="y ~ x + I(x**2) + I(x**3)", data=data).fit_constrained("I(x ** 2) = 0.01, I(x ** 3) = 0")
    centred = fit("Logit", "y ~ z", data, offset=0.01 * data.z**2)
    assert raw.llf == pytest.approx(centred.llf, rel=1e-11)
    assert raw.params["x"] == pytest.approx(centred.params["z"] - 20.0, rel=1e-9)
    assert raw.bse["x"] == pytest.approx(centred.bse["z"], rel=1e-7)


# ------------------------------------------------------------------------------------------------ several classes
def test_across_the_levels_of_a_multinomial_logit():
    m = model("MNLogit", "g ~ x1 + x2")
    res = m.fit_constrained("yb_x1 = yc_x1, yb_x2 = 0")
    assert res.params.loc["x1", "b"] == pytest.approx(res.params.loc["x1", "c"], rel=1e-13)
    assert res.params.loc["x2", "b"] == 0 and res.bse.loc["x2", "b"] == 0
    score = m.score(res.params)
    close(score[[0, 3, 5]], np.zeros(3), atol=1e-9)
    assert score[1] + score[4] == pytest.approx(0, abs=1e-9)
    turned = res.rebase("b")
    assert turned.llf == res.llf and turned.params.loc["x1", "c"] == pytest.approx(0, abs=1e-14)
    close(turned.conf_int(method="profile").loc["a"], -res.conf_int(method="profile").loc["b"].iloc[:, ::-1], rtol=1e-8)
    other = model("MNLogit", "g ~ x1 + x2", reference="b").fit_constrained("yc_x1 = 0, ya_x2 = 0")
    close(turned.params, other.params, atol=1e-12)
    close(turned.bse, other.bse)
    assert set(turned.constraints) == set(other.constraints) == {"yc_x1 = 0", "ya_x2 = 0"}


def test_two_classes_are_a_logit():
    two = model("MNLogit").fit_constrained("yyes_x1 = yyes_x2")
    one = model().fit_constrained("x1 = x2")
    close(two.params.to_numpy().ravel(), one.params)
    close(two.bse.to_numpy().ravel(), one.bse)
    for test in ("lr", "score", "wald"):
        close(two.constraint_test(test), one.constraint_test(test))


# ------------------------------------------------------------------------------------------- tests of constraints
@models
def test_dropping_a_column_is_constraining_it_to_zero(model):
    full, small = shared(model, "y ~ x1 + x2 + h"), shared(model, "y ~ x1")
    res = full.model.fit_constrained("x2 = 0, h[T.right] = 0")
    expected = full.compare_lr_test(small)
    for found in (res.constraint_test(), full.compare_lr_test(res)):
        assert found.statistic == pytest.approx(expected.statistic, rel=1e-9) and found.df == 2
        assert found.pvalue == pytest.approx(chdtrc(2, expected.statistic), rel=1e-9)
    wald = res.constraint_test("wald", cov_type="HC0")
    assert wald.statistic == pytest.approx(full.with_cov("HC0").wald_test("x2 = 0, h[T.right] = 0").statistic, rel=1e-9)
    close(
        res.constraint_test("score"),
        full.model.fit().score_test(params_constrained=res.params, k_constraints=2),
        rtol=1e-8,
    )
    data = toy().assign(right=lambda t: (t.h == "right") * 1.0)
    extra = data[["x2", "right"]]
    for cov in ("nonrobust", "HC0"):
        close(res.constraint_test("score", cov_type=cov), small.score_test(extra, cov_type=cov), rtol=1e-8)


def test_nested_constraints_compare():
    m = model(formula=FORMULA)
    one, two = m.fit_constrained("x1 = x2"), m.fit_constrained("x1 = x2, x2 = 0.2")
    found = one.compare_lr_test(two)
    assert found.df == 1
    assert found.statistic == pytest.approx(two.constraint_test().statistic - one.constraint_test().statistic, rel=1e-8)
    assert one.compare_lr_test(fit("Logit", "y ~ g")).df == 1  # both coefficients 0
    with pytest.raises(ValueError, match="not nested"):
        one.compare_lr_test(m.fit_constrained("x1 = 0, g[T.b] = 0"))
    with pytest.raises(ValueError, match="not nested"):
        one.compare_lr_test(fit("Logit", "y ~ x1"))


def test_sampling_weights():
    m = model(weights="sw")
    res = m.fit_constrained("x1 = x2")
    assert res.cov_type == "HC0" and np.isnan(res.aic)
    hand = fit("Logit", "y ~ I(x1 + x2)", weights="sw")
    close(res.bse[["Intercept", "x1"]], hand.bse)
    close(res.constraint_test("score"), hand.score_test("x2"), rtol=1e-7)
    assert res.constraint_test("wald").statistic == pytest.approx(m.fit().wald_test("x1 = x2").statistic, rel=1e-9)
    with pytest.raises(ValueError, match="pseudo-likelihood"):
        res.constraint_test()


def test_all_parameters_fixed():
    m = model()
    res = m.fit_constrained("Intercept = 0, x1 = 0.5, x2 = 0.5")
    assert res.llf == pytest.approx(m.loglike([0, 0.5, 0.5]), rel=1e-13)
    assert (res.bse == 0).all() and res.constraint_test().df == 3
    close(res.with_cov("HC1").bse, np.zeros(3))
    score, information = m.score([0, 0.5, 0.5]), m.information([0, 0.5, 0.5])
    assert res.constraint_test("score").statistic == pytest.approx(score @ np.linalg.solve(information, score))
    assert "Estimated under the constraints" in res.summary().as_text()


# ------------------------------------------------------------------------------------ collinearity and separation
def test_constraints_identify_collinear_columns():
    data = toy().assign(**{f"g{level}": lambda t, level=level: (t.g == level) * 1.0 for level in "abc"})
    m = model(formula="y ~ x1 + ga + gb + gc", data=data)
    res, coded = m.fit_constrained("ga + gb + gc = 0"), fit("Logit", "y ~ x1 + C(g, Sum)")
    close(res.params[["Intercept", "ga", "gb", "x1"]], coded.params)
    close(res.bse[["Intercept", "ga", "gb", "x1"]], coded.bse)
    assert (res.df_model, res.aic) == (coded.df_model, pytest.approx(coded.aic, rel=1e-12))
    for test in ("lr", "score", "wald"):
        with pytest.raises(ValueError, match="ga \\+ gb \\+ gc = 0 restrict nothing"):
            res.constraint_test(test)
    more = m.fit_constrained("ga + gb + gc = 0, x1 = 1")
    expected = fit("Logit", "y ~ C(g, Sum)", offset=data.x1)
    assert more.llf == pytest.approx(expected.llf, rel=1e-12)
    assert more.constraint_test().df == 1
    close(more.constraint_test("score"), coded.model.fit_constrained("x1 = 1").constraint_test("score"), rtol=1e-8)
    with pytest.raises(CollinearityError, match='"gc" = Intercept - ga - gb'):
        m.fit_constrained("x1 = 0")


SEPARATED = pd.DataFrame(
    {"x": [1, 2, 3, 4, 5, 6.0, 3, 4], "z": [0, 0, 0, 0, 1, 1, 0, 0], "y": [0, 0, 1, 0, 1, 1, 0, 1]}
)


def test_a_constraint_removes_separation():
    m = model(formula="y ~ x + z", data=SEPARATED)
    res = m.fit_constrained("z = 2")
    near = fit("Logit", "y ~ x", SEPARATED, offset=2.0 * SEPARATED.z)
    close(res.params, [*near.params, 2.0])
    with pytest.warns(glmclf.errors.SeparationWarning):
        full = m.fit()
    assert res.constraint_test().statistic == pytest.approx(2 * (full.llf - res.llf), rel=1e-10)
    assert res.constraint_test("score").df == 1
    with pytest.raises(ValueError, match="separation"):
        res.constraint_test("wald")


def test_a_fit_separated_under_its_constraints_is_refused():
    with pytest.raises(PerfectSeparationError, match=r'constraints x = 0.*"z" \(inf\)'):
        model(formula="y ~ x + z", data=SEPARATED).fit_constrained("x = 0")
    levels = SEPARATED.assign(y=["a", "b", "a", "b", "c", "c", "b", "a"])
    with pytest.raises(PerfectSeparationError, match="constraints"):
        model("MNLogit", "y ~ x + z", levels).fit_constrained("yb_x = yc_x")


# --------------------------------------------------------------------------------------------- keeping, and refusals
def test_kept_results():
    for res in (model().fit_constrained("x1 = x2"), model("MNLogit", "g ~ x1").fit_constrained("yb_x1 = yc_x1")):
        known, file = text(res), io.StringIO()
        assert f"Estimated under the constraints {res.constraints[0]}." in " ".join(known.split())
        res.save(file)
        file.seek(0)
        again = glmclf.load(file)
        assert text(again) == known and again.constraints == res.constraints
        close(again.cov_params(), res.cov_params())
        with pytest.raises(DataError, match="rows"):
            again.constraint_test()
        res.remove_data()
        assert text(res) == known


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        ("x1 = zz", ["zz", "Intercept"]),
        ("", ["empty"]),
        ("x1 = x2, x1 - x2 = 1", ["contradict", "x1 - x2 = 0", "x1 - x2 = 1"]),
        ([[0.0, 1.0]], ["shape", "3"]),
        ([[0.0, 0.0, 0.0]], ["zeros"]),
        ([[0.0, np.nan, 0.0]], ["NaN"]),
        (([[0.0, 1.0, 0.0]], [1.0, 2.0]), ["2 right-hand sides"]),
    ],
)
def test_constraints_that_say_nothing(constraint, words):
    with pytest.raises(ValueError) as caught:
        model().fit_constrained(constraint)
    assert all(word in str(caught.value) for word in words), caught.value


def test_redundant_constraints_are_named():
    with pytest.warns(InferenceWarning, match="follow from others.*2 \\* x1 - 2 \\* x2 = 0"):
        res = model().fit_constrained("x1 = x2, 2*x1 = 2*x2")
    assert res.constraints == ["x1 - x2 = 0"] and res.df_model == 1


@models
def test_augment_has_the_leverage_of_what_is_free(model):
    for keywords in ({}, {"freq_weights": "times", "offset": "off"}):
        res = make(model, "y ~ x1 + x2", toy(), **keywords).fit_constrained("x1 = x2").augment()
        hand = fit(model, "y ~ I(x1 + x2)", **keywords).augment()
        names = [".fitted", ".se_fit", ".resid", ".hat", ".std_resid", ".cooksd"]
        close(res[names], hand[names])


@pytest.mark.parametrize(
    ("cov", "keywords"),
    [("HC0", {}), ("HC3", {}), ("HC4", {}), ("HC5", {}), ("HAC", {"maxlags": 3}), ("cluster", {"groups": "firm"})],
)
def test_wald_test_has_the_covariance_of_the_fit(cov, keywords):
    m = model("Probit")
    res, full = m.fit_constrained("x1 = x2", cov_type=cov, cov_kwds=keywords), m.fit().with_cov(cov, **keywords)
    assert res.constraint_test("wald").statistic == pytest.approx(float(full.wald_test("x1 = x2").statistic))
    by_value = {"groups": toy().firm.to_numpy()} if keywords.get("groups") else keywords
    for again in (m.fit_constrained("x1 = x2").with_cov(cov, **by_value), pickle.loads(pickle.dumps(res))):
        assert again.constraint_test("wald") == pytest.approx(res.constraint_test("wald"))
    assert res.constraint_test() == m.fit_constrained("x1 = x2").constraint_test()
    if cov.startswith("HC"):
        assert res.constraint_test("score") == res.constraint_test("score", cov_type="HC0")
    else:
        with pytest.raises(NotImplementedError, match=f"score.*{cov}"):
            res.constraint_test("score")
    kinds = [type(res.constraint_test(test, *more)).__name__ for test, more in (("lr", ()), ("score", ("HC0",)))]
    assert [*kinds, type(res.constraint_test("wald")).__name__] == ["LRTest", "ScoreTest", "WaldTest"]


def test_constraints_that_fix_the_constant():
    m = model(formula="y ~ x1")
    res, nothing = m.fit_constrained("Intercept = 0"), m.fit_constrained("Intercept = 0, x1 = 0")
    assert (nothing.df_model, nothing.df_resid, nothing.aic) == (0, nothing.nobs, -2 * nothing.llf)
    assert nothing.llf == pytest.approx(-nothing.nobs * np.log(2), rel=1e-12)
    without = fit("Logit", "y ~ 0 + x1")
    assert m.fit().compare_lr_test(nothing).df == 2
    assert m.fit().compare_lr_test(res) == pytest.approx(m.fit().compare_lr_test(without))


def test_a_joint_hypothesis_that_constraints_decide_in_part():
    res = model().fit_constrained("x1 = x2")
    for hypothesis in ("x1 = 0, x2 = 0", "x1 = 0, x2 = 1", "Intercept = x1, Intercept = x2"):
        with pytest.raises(ValueError, match="x1 - x2 = 0 decide a combination"):
            res.wald_test(hypothesis)
    hand = fit("Logit", "y ~ I(x1 + x2)")
    both = res.wald_test("x1 = 0, Intercept = 0").statistic
    assert both == pytest.approx(hand.wald_test(np.eye(2)).statistic)


def test_contrasts_of_levels_that_constraints_fix():
    res = model("MNLogit", "g ~ x1").fit_constrained("yb_x1 = 0.3, yc_Intercept = yb_Intercept")
    table, ends = res.level_contrasts(), res.conf_int()
    close(table.loc[[("b", "a", "x1")]].iloc[:, -2:], ends.loc[[("b", "x1")]])
    assert table.loc[("b", "a", "x1"), ["coef", "std err"]].tolist() == [0.3, 0.0]
    assert table.loc[("c", "b", "Intercept"), ["coef", "std err"]].tolist() == [0.0, 0.0]
    assert table.loc[[("b", "a", "x1"), ("c", "b", "Intercept")], ["z", "P>|z|"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("hypothesis", "words"),
    [
        (None, "None is no hypothesis.*'x1'"),
        ([], "empty.*'x1'"),
        ({}, "empty.*'x1'"),
        ({"zz": 1}, "'zz'.*'x1'"),
        ({"x1": "a"}, "'x1': 'a' is no number"),
        ({"x1": True}, "True is no number"),
        (["x1 = 0", 3], "mixes"),
        (["x1 = 0", ""], "empty"),
        ({"x1", "x2"}, "no hypothesis"),
        ((name for name in "ab"), "no hypothesis"),
        ("x1/0 = 1", "finite"),
        ("x1 = 0/0", "finite"),
        ([[0, 1, 1j]], "real"),
        ([[0, 1, "a"]], "real"),
        (object(), "real"),
    ],
)
def test_what_is_no_hypothesis(hypothesis, words):
    m, res = model(), shared("Logit", "y ~ x1 + x2")
    for call in (m.fit_constrained, res.wald_test, res.t_test):
        hypothesis = (name for name in "ab") if hasattr(hypothesis, "__next__") else hypothesis
        with warnings.catch_warnings(), pytest.raises(ValueError, match=words):
            warnings.simplefilter("error")
            call(hypothesis)


def test_what_a_constrained_fit_refuses():
    m = model()
    res = m.fit_constrained("x1 = x2")
    for call, error, words in (
        (lambda: m.fit_constrained("x1 = x2", method="sgd"), NotImplementedError, ["sgd", "fit_constrained"]),
        (lambda: m.fit_constrained("x1 = x2", method="best"), ValueError, ["best"]),
        (lambda: m.fit_constrained("x1 = x2", cov_type="bootstrap"), NotImplementedError, ["bootstrap"]),
        (lambda: m.fit_constrained("x1 = x2", maxiter=-1), ValueError, ["maxiter"]),
        (lambda: m.fit_constrained("x1 = x2", tol="a"), ValueError, ["tol='a'"]),
        (lambda: m.fit_constrained("x1 = x2", start_params=[0.0]), ValueError, ["1", "3"]),
        (lambda: m.fit_constrained("x1 = x2", start_params=[0, 0, np.nan]), ValueError, ["start_params"]),
        (lambda: res.with_cov("jackknife"), NotImplementedError, ["jackknife"]),
        (lambda: res.anova(), NotImplementedError, ["anova", "x1 - x2 = 0"]),
        (lambda: res.wald_test_terms(), NotImplementedError, ["wald_test_terms", "x1 - x2 = 0"]),
        (lambda: res.score_test("firm"), NotImplementedError, ["score_test", "constraint_test"]),
        (lambda: res.t_test("x1 = x2"), ValueError, ["x1 - x2 = 0"]),
        (lambda: res.constraint_test("F"), ValueError, ["'F'"]),
        (lambda: res.constraint_test("lr", cov_type="HC0"), NotImplementedError, ["lr", "HC0"]),
        (lambda: res.constraint_test("score", cov_type="HC3"), NotImplementedError, ["HC3"]),
        (lambda: m.fit().constraint_test(), ValueError, ["fit_constrained"]),
        (
            lambda: model("MNLogit", "g ~ x1").fit_constrained("yb_x1 = yc_x1").iia_test(),
            NotImplementedError,
            ["iia_test"],
        ),
    ):
        with pytest.raises(error) as caught:
            call()
        assert all(word in str(caught.value) for word in words), caught.value
    assert res.t_test("x1 = 0").pvalue == pytest.approx(res.pvalues["x1"])


def test_no_warning_and_nothing_changed():
    data = toy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m = model(data=data)
        one, two = m.fit_constrained("x1 = x2"), m.fit_constrained("x1 = x2")
        one.summary(), one.summary_frame(), one.odds_ratios(), one.tidy(), one.glance(), one.augment()
        one.pseudo_rsquared(), one.gof_test(), one.simulate(1, seed=0)
    pd.testing.assert_frame_equal(data, toy())
    close(one.params, two.params, rtol=0)


def test_what_a_constraint_fixes_is_exact():
    """Whatever is rounded on the way: its value, its standard error and what rows change of it are no noise."""
    rng = np.random.default_rng(2)
    t = pd.DataFrame({"x": 1e8 + rng.normal(size=30), "g": list("abc") * 10, "y": rng.integers(0, 2, 30)})
    res = glmclf.Probit.from_formula("y ~ x + g", t).fit_constrained("g[T.c] = 0")
    effect = res.get_margeff().summary_frame().loc["g[c - a]"]
    influence = res.get_influence()
    assert res.params["g[T.c]"] == res.bse["g[T.c]"] == effect["dy/dx"] == effect["Std. Err."] == 0
    assert (influence.d_params["g[T.c]"] == 0).all() and influence.dfbetas["g[T.c]"].isna().all()
