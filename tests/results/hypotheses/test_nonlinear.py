"""Nonlinear functions of parameters: R's delta method, linear hypotheses, gradients, and the closed language."""

import numpy as np
import pandas as pd
import pytest
import references
from numpy.testing import assert_allclose

import glmclf
from glmclf import datasets
from glmclf.inference.hypotheses import nonlinear


def birthwt(model="Logit", **keywords):
    data = references.reference("birthwt__logit")[1]
    return getattr(glmclf, model).from_formula("low ~ lwt + C(race) + smoke + ht", data, **keywords).fit()


def test_delta_method_of_r():
    """R 4.2.2, car 3.1-1: deltaMethod(glm(low ~ lwt + race + smoke + ht, binomial, birthwt), ...), race a factor."""
    t = birthwt().nonlinear_test("smoke / ht, exp('C(race)[T.2]' - C(race)[T.3]) * lwt^2")
    assert_allclose(t.estimate, [0.61261677544, 0.0004523034148], rtol=1e-9)
    assert_allclose(t.se, [0.32503271617, 0.0004739073241], rtol=1e-7)
    assert_allclose(t.conf_int().iloc[0, 0], -0.02443564206, rtol=1e-5)


@pytest.mark.parametrize("model", ["Logit", "Probit", "CLogLog"])
def test_linear_functions_are_linear_hypotheses(model):
    res = birthwt(model)
    t, linear = res.nonlinear_test("lwt = 0.1, smoke - ht = 0.5"), res.t_test("lwt = 0.1, smoke - ht = 0.5")
    assert_allclose(t.summary_frame(0.1), linear.summary_frame(alpha=0.1), rtol=1e-9)
    joint = res.wald_test("lwt = 0.1, smoke - ht = 0.5")
    assert_allclose(t.joint[:2], [joint.statistic, joint.pvalue], rtol=1e-9)
    f, expected = res.nonlinear_test("lwt, ht", use_t=True).joint, res.f_test("lwt, ht")
    assert_allclose(f[:2], [expected.statistic, expected.pvalue], rtol=1e-9)


def test_both_sides_and_equations():
    res = birthwt()
    a, b = res.nonlinear_test("smoke / ht = lwt + 1"), res.nonlinear_test("smoke / ht - lwt - 1")
    assert_allclose([a.estimate, a.se, a.pvalue], [b.estimate, b.se, b.pvalue], rtol=1e-12)
    c, d = res.nonlinear_test("1 = smoke / ht"), res.nonlinear_test(["smoke / ht == 1"])
    assert_allclose([c.estimate, c.null, c.statistic], [d.estimate, d.null, d.statistic], rtol=1e-15)
    assert c.null.item() == 1.0


FUNCTIONS = [
    "a*b + c/d - 2**a",
    "(a + b)^2 * -c",
    "a**b",
    "b**-3",
    "log(a)*ln(b) + log1p(c) - log2(d)*log10(a)",
    "exp(a)/expm1(b) + sqrt(c)",
    "abs(-d)*sin(a) - cos(b)*tan(c)",
    "arctan(a) + sinh(b)*cosh(c) - tanh(d)",
    "expit(a) - invlogit(b)*logit(0.5*c)",
    "ndtr(a)*normal(b) + ndtri(0.3*c)",
    "np.exp(a + +b)",
    "1e-3*a/.5",
]


@pytest.mark.parametrize("text", FUNCTIONS)
def test_gradients(text):
    """Against central differences with Richardson extrapolation."""
    theta, names = np.array([0.7, 1.3, 0.4, 0.9]), list("abcd")
    (f,) = nonlinear.functions(text, names, theta)

    def slope(j, h):
        low, high = (nonlinear.functions(text, names, theta + s * h * np.eye(4)[j])[0].value for s in (-1, 1))
        return (high - low) / (2 * h)

    numeric = [(4 * slope(j, 5e-4) - slope(j, 1e-3)) / 3 for j in range(4)]
    assert_allclose(f.gradient, numeric, rtol=1e-8, atol=1e-9)


def test_names_that_hold_signs():
    theta = np.arange(1.0, 8.0)
    names = ["x", "x:z", "C(g)[T.a-b]", "log(x)", "exp", "I(x ** 2)", "3"]
    value = lambda text: nonlinear.functions(text, names, theta)[0].value
    assert value("x:z / x") == 2.0
    assert value("C(g)[T.a-b] - x") == 2.0 == value("`C(g)[T.a-b]` - 'x'")
    assert value("log(x)") == 4.0  # the parameter of that name, the longest that fits
    assert value("exp(exp)") == np.exp(5.0)
    assert value("I(x ** 2) ^ 2") == 36.0
    assert value("'3' * 2 + 3") == 17.0
    assert value("x*3") == 3.0  # a number where it could be one


@pytest.mark.parametrize(
    "text, why",
    [
        ("x /", "cannot be read"),
        ("nosuch = 1", "'nosuch' is no parameter"),
        ("'nosuch'", "'nosuch' is no parameter"),
        ("x / 0", "no finite value"),
        ("log(x - x)", "no finite value"),
        ("log(-x)", "no finite value"),
        ("abs(x - x)", "no derivative"),
        ("sqrt(x - x)", "no derivative"),
        ("x - x", "does not depend"),
        ("1 = 1", "no parameter"),
        ("x = z = 1", "more than one ="),
        ("", "empty"),
        ("x,", "empty"),
        ("exp(x, 1)", "one argument"),
        ("eval(x)", "functions are"),
        ("__import__('os')", "no parameter"),
        ("x.real", "not understood"),
        ("(lambda: 1)()", "functions are"),
        ("[x for x in x]", "not understood"),
        ("x if z else x", "not understood"),
        ("x[0]", "not understood"),
        ("_p0_", "no parameter"),
        ("9**9**9**9 * x", "no finite value"),
        ("+".join(["x"] * 5000), "too deeply nested"),
        ("True * x", "not understood"),
        ("x // z", "not understood"),
        ("np.load(x)", "functions are"),
    ],
)
def test_refusals_of_the_language(text, why):
    with pytest.raises(ValueError, match=why):
        nonlinear.functions(text, ["x", "z"], np.array([1.5, 2.5]))


def test_what_is_infinite_left_out_or_fixed():
    data = references.reference("birthwt__logit")[1]
    with pytest.raises(ValueError, match="no function of parameters"):
        birthwt().nonlinear_test(3)
    with pytest.warns(glmclf.errors.CollinearityWarning):
        res = glmclf.Logit.from_formula("low ~ lwt + I(2 * lwt) + ht", data).fit()
    with pytest.raises(ValueError, match="'I\\(2 \\* lwt\\)' is nan"):
        res.nonlinear_test("I(2 * lwt) / ht")
    toy = pd.DataFrame({"x": np.r_[-3:0, 1:4, 0, 0], "y": [0, 0, 0, 1, 1, 1, 0, 1], "z": [3.0, 1, 2, 5, 3, 1, 2, 2.5]})
    with pytest.warns(glmclf.errors.SeparationWarning):
        res = glmclf.Logit.from_formula("y ~ x", toy).fit()
    with pytest.raises(ValueError, match="'x' is inf"):
        res.nonlinear_test("1 / x")
    res = glmclf.Logit.from_formula("low ~ lwt + ht", data).fit_constrained("lwt = 0.1")
    with pytest.raises(ValueError, match="fix what the hypothesis is about"):
        res.nonlinear_test("exp(lwt) = 1")
    with pytest.raises(NotImplementedError, match="nonlinear_test of a penalised fit"):
        glmclf.Logit.from_formula("low ~ lwt + ht", data).fit_regularized(0.1).nonlinear_test("lwt/ht")


def test_joint_tests_that_do_not_exist_spoil_no_single_one():
    t = birthwt().nonlinear_test("smoke / ht = 1, 2 * smoke / ht = 2")
    assert_allclose(*t.pvalue, rtol=1e-10)
    with pytest.raises(ValueError):
        t.joint
    assert "no joint test" in repr(t)


def test_levels_robust_covariances_and_kept_results(tmp_path):
    penguins = datasets.load("penguins").dropna()
    f = penguins.body_mass_g.to_numpy().astype(int) % 3
    formula, text = "island ~ body_mass_g + sex", "yDream_body_mass_g / yTorgersen_body_mass_g = 1"
    res = glmclf.MNLogit.from_formula(formula, penguins, freq_weights=f).fit(cov_type="HC1")
    long = glmclf.MNLogit.from_formula(formula, penguins.loc[penguins.index.repeat(f)]).fit(cov_type="HC1")
    expected = res.nonlinear_test(text).summary_frame()
    assert_allclose(long.nonlinear_test(text).summary_frame(), expected, rtol=1e-7)
    res.save(tmp_path / "kept.json")
    assert_allclose(glmclf.load(tmp_path / "kept.json").nonlinear_test(text).summary_frame(), expected, rtol=1e-12)
    b, V = res.params.loc["body_mass_g"], res.cov_params()
    g = np.array([1 / b["Torgersen"], -b["Dream"] / b["Torgersen"] ** 2])
    at = [("Dream", "body_mass_g"), ("Torgersen", "body_mass_g")]
    assert_allclose(expected["std err"].item() ** 2, g @ V.loc[at, at] @ g, rtol=1e-7)
    lda = glmclf.LDA.from_formula("island ~ body_mass_g + bill_depth_mm", penguins).fit()
    assert np.isfinite(lda.discriminant.nonlinear_test(text).pvalue).all()
    spread = lda.nonlinear_test("sqrt('cov[body_mass_g, body_mass_g]')")
    assert_allclose(spread.se, spread.estimate / np.sqrt(2 * len(penguins)), rtol=1e-9)


@pytest.mark.parametrize("hypothesis", ["x/z = 1, z/x = 1", "x/z = 2, z/x = 0.5", "x + z = 0, x = 1, exp(z) = 1"])
def test_dependent_gradients_have_no_joint_test(hypothesis):
    """To first order they are one function, whatever values they are tested against."""
    rng = np.random.default_rng(5)
    df = pd.DataFrame({"x": rng.normal(size=200), "z": rng.normal(size=200)})
    df["y"] = (rng.random(200) < 1 / (1 + np.exp(-df.x))).astype(int)
    test = glmclf.Logit.from_formula("y ~ x + z", df).fit().nonlinear_test(hypothesis)
    with pytest.raises(ValueError, match="linearly dependent at the estimate.*Leave one out"):
        _ = test.joint
    assert "no joint test" in repr(test)
    assert np.isfinite(test.se).all()
