"""The Hauck-Donner effect, against VGAM's hdeff and numerical derivatives of the Wald statistic."""

import io
import warnings

import numpy as np
import pandas as pd
import pytest
from properties.toys import close, fit, make, models, shared, toy
from references import model_keywords, reference

import glmclf
from glmclf import Logit, datasets
from glmclf.core.design.dense import Dense
from glmclf.core.likelihood import links
from glmclf.core.likelihood.pointwise import Binomial
from glmclf.core.rows.blocks import Blocks
from glmclf.inference.specification.hauck_donner import wald_derivatives

# R 4.2.2, VGAM 1.1-7: hdeff(vglm(GRADE ~ GPA + TUCE + PSI, binomialff(link), spector, epsilon = 1e-14), derivative = 1)
HDEFF = {
    "Logit": [-0.18249661055273, 0.94113184615492, 7.34343614495562, 0.72634771701131],
    "Probit": [-0.39628053791567, 1.85698031561584, 13.27785340047400, 1.45058282880513],
    "CLogLog": [-0.3326318675855, 2.0268762364668, 11.7122049304035, 1.2602220263046],
}
# the same of vglm(factor(PID) ~ logpopul + selfLR + age + educ + income, multinomial(refLevel = 1), anes96)
INTERCEPTS = [1.51393365565666, 0.55655162322462, -0.39169516879608, -1.13750952692889, -0.51216486114015]
LOGPOPUL = [29.11404778412362, 24.38610954835132, 16.24384219968938, 21.92342206071329, 24.62710936903999]
# and of vglm(cbind(s, f) ~ x, binomialff) with s = (10, 200), f = (15, 1), x = (0, 1)
COUNTS = pd.DataFrame({"x": [0, 1], "s": [10, 200], "f": [15, 1]})
OF_COUNTS = [2.3501714804464, -1.3135898711592]


@models
def test_of_vgam(model):
    found = make(model, "GRADE ~ GPA + TUCE + PSI", datasets.load("spector")).fit().hauck_donner
    np.testing.assert_allclose(found.derivative, HDEFF[model], rtol=1e-7)
    assert found.present.tolist() == [True, False, False, False]


def test_of_vgam_with_several_classes():
    case, data = reference("anes96__mnlogit")
    found = glmclf.MNLogit.from_formula(case["formula"], data, **model_keywords(case)).fit().hauck_donner
    slopes = found.derivative.unstack("level")
    np.testing.assert_allclose(slopes.loc["Intercept"].to_numpy()[:5], INTERCEPTS, rtol=1e-5)
    np.testing.assert_allclose(slopes.loc["logpopul"].to_numpy()[:5], LOGPOPUL, rtol=1e-5)


def test_of_counts_and_their_likelihood_ratio():
    found = make("Logit", "s + f ~ x", COUNTS).fit().hauck_donner
    np.testing.assert_allclose(found.derivative, OF_COUNTS, rtol=1e-9)
    assert found.present.tolist() == [False, True]
    one, two = (make("Logit", formula, COUNTS).fit() for formula in ("s + f ~ x", "s + f ~ 1"))
    assert found.lr["x"] == pytest.approx(one.compare_lr_test(two).pvalue, rel=1e-9)
    assert np.isnan(found.lr["Intercept"])
    close(found.wald, one.pvalues)


@models
def test_is_the_derivative_of_the_wald_statistic(model):
    """Of the expected information, weights, counts and an offset included."""
    res = fit(model, "won + lost ~ x1 + h", toy()[toy().trials > 0], freq_weights="times", offset="off")
    check_derivative(res)


def test_is_the_derivative_with_several_classes():
    check_derivative(make("MNLogit", "g ~ x1 + x2", toy(), offset="off", freq_weights="times").fit())


def check_derivative(res):
    theta = np.ravel(res.params.to_numpy(), order="F")

    def z(b, j):
        return b[j] / np.sqrt(np.linalg.inv(res.model.information(b, expected=True))[j, j])

    for j in range(len(theta)):
        h = 1e-5 * np.eye(len(theta))[j]
        numerical = (8 * (z(theta + h, j) - z(theta - h, j)) - z(theta + 2 * h, j) + z(theta - 2 * h, j)) / 12e-5
        assert res.hauck_donner.derivative.iloc[j] == pytest.approx(numerical, rel=1e-6)


def test_ill_conditioned_design():
    x = np.linspace(990, 1010, 60)
    y = (np.random.default_rng(4).random(60) < 0.3 + 0.01 * (x - 990)).astype(int)
    data = pd.DataFrame({"x": x, "z": x - 1000, "y": y})
    raw = Logit.from_formula("y ~ x + I(x**2) + I(x**3)", data).fit().hauck_donner
    centred = Logit.from_formula("y ~ z + I(z**2) + I(z**3)", data).fit()
    check_derivative(centred)
    assert np.isfinite(raw.derivative).all()


@pytest.mark.filterwarnings("ignore:.*Rows that alone determine")
def test_summary_says_so_and_names_the_likelihood_ratio():
    res = make("Logit", "s + f ~ x", COUNTS).fit()
    text = " ".join(res.summary().as_text().split())
    assert '"x" (p-value: Wald 1.37e-07, likelihood ratio' in text and "Hauck-Donner" in text
    assert "Hauck-Donner" not in res.with_cov("HC0").summary().as_text()  # of the likelihood alone
    assert "Hauck-Donner" not in shared("Logit").summary().as_text()
    file = io.StringIO()
    res.save(file)
    file.seek(0)
    assert "Hauck-Donner" in glmclf.load(file).summary().as_text()
    res.remove_data()
    assert "Hauck-Donner" in res.summary().as_text()


def test_constants_do_not_make_a_note():
    res = make("Logit", "GRADE ~ GPA + TUCE + PSI", datasets.load("spector")).fit()
    assert res.hauck_donner.present["Intercept"] and "Hauck-Donner" not in res.summary().as_text()


def test_separated_fits():
    """An infinite coefficient has the effect; finite ones are as if it were held far out."""
    case, data = reference("endometrial__logit_separation")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", glmclf.errors.SeparationWarning)
        found = Logit.from_formula(case["formula"], data).fit().hauck_donner
    near = make("Logit", "HG ~ PI + EH", data, offset=60.0 * data.NV).fit().hauck_donner
    close(found.derivative.drop("NV"), near.derivative, rtol=1e-7)
    assert found.present["NV"] and np.isnan(found.wald["NV"])
    with_it = make("Logit", "HG ~ NV + PI + EH", data)
    without = make("Logit", "HG ~ PI + EH", data).fit()
    with pytest.warns(glmclf.errors.SeparationWarning):
        expected = with_it.fit().compare_lr_test(without).pvalue
    assert found.lr["NV"] == pytest.approx(expected, rel=1e-8)


def test_undetermined_coefficients_are_not_said_to_have_it():
    """Separating directions of both signs: nothing is known of the sign."""
    data = pd.DataFrame({"x": [0, 0, 1, 1], "w": [0, 1, 0, 1], "y": [0, 1, 0, 1]})
    data["v"] = data.w + 2 * data.x * data.w
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", glmclf.errors.SeparationWarning)
        res = Logit.from_formula("y ~ x + w + v", data).fit()
    unknown, found = res.params.isna(), res.hauck_donner
    assert unknown.any() and not found.present[unknown].any() and found.lr[unknown].isna().all()
    assert found.present[np.isinf(res.params)].all()


def test_separated_several_classes():
    case, data = reference("sep_mnlogit__mnlogit_separation")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", glmclf.errors.SeparationWarning)
        res = glmclf.MNLogit.from_formula(case["formula"], data, **model_keywords(case)).fit()
        other = glmclf.MNLogit.from_formula(case["formula"], data, reference="c").fit()
    found, infinite = res.hauck_donner, np.isinf(np.ravel(res.params.to_numpy(), order="F"))
    assert (found.derivative.isna() == infinite).all() and found.present[infinite].all()
    close(res.rebase("c").hauck_donner.derivative, other.hauck_donner.derivative, rtol=1e-8)


def test_collinear_columns():
    data = toy().assign(twice=lambda t: 2 * t.x1)
    with pytest.warns(glmclf.errors.CollinearityWarning):
        found = make("Logit", "y ~ x1 + twice + x2", data).fit().hauck_donner
    close(found.derivative.drop("twice"), shared("Logit", "y ~ x1 + x2").hauck_donner.derivative)
    assert np.isnan(found.derivative["twice"]) and not found.present["twice"]


def test_bias_reduced_fits():
    case, data = reference("endometrial__logit_firth")
    res = Logit.from_formula(case["formula"], data).fit(bias_reduction="firth")
    found = res.hauck_donner
    check_derivative(res)
    smaller = Logit.from_formula("HG ~ PI + EH", data).fit(bias_reduction="firth")
    assert found.present["NV"]
    assert found.lr["NV"] == pytest.approx(res.compare_lr_test(smaller).pvalue, rel=1e-7)
    median = make("Probit", "HG ~ NV + PI + EH", data).fit(bias_reduction="median").hauck_donner
    assert median.lr.isna().all()


def test_refusals():
    for keywords, formula in (({"weights": "sw"}, "y ~ x1"), ({}, "share ~ x1")):
        res = make("Logit", formula, toy(), **keywords).fit()
        with pytest.raises(ValueError, match="pseudo-likelihood"):
            _ = res.hauck_donner
        assert "Hauck-Donner" not in res.summary().as_text()
    constrained = make("Logit", "y ~ x1 + x2", toy()).fit_constrained("x1 = x2")
    with pytest.raises(NotImplementedError, match="constrained"):
        _ = constrained.hauck_donner


@pytest.mark.parametrize("reach", [0.5, 2.0, 6.0])
def test_summary_asks_all_that_can_have_it(reach):
    """What the summary looks for among few coefficients is what the table finds among all."""
    data = toy(60).assign(x1=lambda t: reach * (t.x1 > 0.5))
    data["y"] = np.where(data.x1 > 0, np.where(data.index % 7 == 0, "no", "yes"), data.y)
    for res in (make("Logit", "y ~ x1 + x2", data).fit(), make("MNLogit", "g ~ x1 + y", data).fit()):
        found = res.hauck_donner.present.to_numpy() & ~np.isin(
            np.arange(len(res.hauck_donner)), np.arange(0, len(res.hauck_donner), 3)
        )
        assert [j for j, _ in res._flagged] == np.flatnonzero(found).tolist()


def test_the_advice_is_what_works():
    """Of a bias-reduced fit without likelihood ratio tests or profiles: which fit has them."""
    x = np.r_[np.zeros(40), np.ones(40)]
    y = np.r_[np.repeat([0, 1], [38, 2]), np.ones(40)].astype(int)
    table = pd.DataFrame({"y": y, "x": x})
    kinds = [
        (glmclf.Logit, {"bias_reduction": "firth"}, "", {"bias_reduction": "firth"}),
        (glmclf.Logit, {"bias_reduction": "firth", "flic": True}, "without flic=True", {"bias_reduction": "firth"}),
        (glmclf.Logit, {"bias_reduction": "median"}, "without bias_reduction=", {}),
        (glmclf.Probit, {"bias_reduction": "firth"}, "without bias_reduction=", {}),
    ]
    seen = 0
    for model, options, words, works in kinds:
        big, small = model.from_formula("y ~ x", table), model.from_formula("y ~ 1", table)
        text = " ".join(big.fit(**options).summary().as_text().split())
        if "Hauck-Donner" not in text:
            continue
        seen += 1
        advice = text[text.index("Hauck-Donner") :]
        assert 'conf_int(method="profile")' in advice and words in advice
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            other = big.fit(**works)
            assert other.conf_int(method="profile").loc["x"].notna().all()
            assert other.compare_lr_test(small.fit(**works)).pvalue < 1e-6
    assert seen >= 3


@pytest.mark.parametrize("link", [links.LogitLink(), links.ProbitLink(), links.CLogLogLink()])
def test_rows_far_out_add_nothing_and_warn_of_nothing(link):
    """The weight of a row at a linear predictor of 2000 is 0, however steep its link is there."""
    X, theta = np.column_stack([np.ones(4), [0.0, 1.0, -1.0, 0.5]]), np.array([0.2, 0.7])
    far = np.vstack([X, [1.0, 2000.0 / 0.7]])
    G, tested = np.array([[1.0], [0.3]]), np.array([1])

    def derivative(A):
        blocks = Blocks(Dense(A), Dense(A), None, None, None)
        return wald_derivatives(Binomial(link), blocks, theta, G, tested, theta[1:], np.array([0.4]))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(derivative(far), derivative(X), rtol=1e-12)
