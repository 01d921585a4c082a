"""Pregibon's link test: R's fits with the squared linear predictor, weights, levels, and what it refuses."""

import numpy as np
import pandas as pd
import pytest
import references
from numpy.testing import assert_allclose

import glmclf
from glmclf import datasets

# R 4.2.2: m <- glm(low ~ lwt + race + smoke + ht, binomial(link), birthwt), race a factor; e <- predict(m);
# summary(glm(low ~ e + I(e^2), binomial(link))): estimates and standard errors of e, I(e^2) and the constant
FROM_R = {
    "Logit": [
        [0.93314437035736, 0.335188155873],
        [-0.04711917435827, 0.182040303380],
        [0.00405952834306, 0.224431554965],
    ],
    "Probit": [
        [0.94619858619772, 0.336387700437],
        [-0.05888318449557, 0.285412376622],
        [0.00130030940693, 0.137065017935],
    ],
    "CLogLog": [
        [0.7576873426029, 0.424942036411],
        [-0.1539315283704, 0.235901671583],
        [-0.0327530910976, 0.217328579451],
    ],
}


@pytest.mark.parametrize("model", FROM_R)
def test_fits_of_r(model):
    data = references.reference("birthwt__logit")[1]
    res = getattr(glmclf, model).from_formula("low ~ lwt + C(race) + smoke + ht", data).fit(cov_type="expected")
    table = res.linktest()
    assert list(table.index) == ["_hat", "_hatsq", "_cons"]
    assert_allclose(table[["coef", "std err"]], FROM_R[model], rtol=1e-5)
    assert_allclose(table.loc["_hatsq", "z"], np.divide(*FROM_R[model][1]), rtol=1e-5)


def test_counts_of_r():
    """R 4.2.2, MASS menarche: the same with cbind(Menarche, Total - Menarche) ~ Age."""
    table = references.fitted("menarche__logit").linktest()
    expected = [
        [1.0118736687593, 0.0373101641088],
        [-0.0214553329322, 0.0110168130536],
        [0.0653676052130, 0.0718154886234],
    ]
    assert_allclose(table[["coef", "std err"]], expected, rtol=1e-6)


@pytest.fixture(scope="module")
def toy():
    rng = np.random.default_rng(5)
    df = pd.DataFrame({"x": rng.normal(size=500), "g": rng.choice(list("ab"), 500), "f": rng.integers(0, 4, 500)})
    df["y"] = (rng.random(500) < 1 / (1 + np.exp(-df.x))).astype(int)
    utility = np.column_stack([0 * df.x, 0.8 * df.x, 0.5 * (df.g == "b")]) + rng.gumbel(size=(500, 3))
    df["k"] = np.array(["bus", "car", "rail"])[utility.argmax(axis=1)]
    df["o"] = rng.normal(size=500)
    return df


@pytest.mark.parametrize("model, y", [("Logit", "y"), ("Probit", "y"), ("CLogLog", "y"), ("MNLogit", "k")])
@pytest.mark.parametrize("cov", ["nonrobust", "HC1"])
def test_repeated_rows_are_frequency_weights(toy, model, y, cov):
    long, make = toy.loc[toy.index.repeat(toy.f)], getattr(glmclf, model).from_formula
    a = make(f"{y} ~ x + g", toy, freq_weights="f", offset="o").fit(cov_type=cov).linktest()
    b = make(f"{y} ~ x + g", long, offset="o").fit(cov_type=cov).linktest()
    assert_allclose(a, b, rtol=1e-6, atol=1e-8)


def test_equations_are_logits_of_pairs(toy):
    res = glmclf.MNLogit.from_formula("k ~ x + g", toy, offset="o").fit()
    for base in (res, res.rebase("rail")):
        table = base.linktest()
        for level in base.model._equations:
            pair = toy[toy.k.isin([level, base.reference])]
            eta = base.predict(pair, which="linear")[level]
            by_hand = glmclf.Logit.from_formula(
                "z ~ e + I(e**2)", pd.DataFrame({"z": pair.k == level, "e": eta}), event=True
            ).fit()
            assert_allclose(table.loc[level, "coef"], by_hand.params.iloc[[1, 2, 0]], rtol=1e-7)
            assert_allclose(table.loc[level, "std err"], by_hand.bse.iloc[[1, 2, 0]], rtol=1e-7)


def test_a_wrong_form_shows(toy):
    rng = np.random.default_rng(0)
    wrong = toy.assign(y=(rng.random(500) < 1 / (1 + np.exp(1 - toy.x**2))).astype(int), x=toy.x + 1)
    assert glmclf.Logit.from_formula("y ~ x", wrong).fit().linktest().loc["_hatsq", "P>|z|"] < 1e-4
    assert glmclf.Logit.from_formula("y ~ x", toy).fit().linktest().loc["_hatsq", "P>|z|"] > 0.01


def test_clusters_weights_and_the_model_is_left_alone(toy):
    toy = toy.assign(c=toy.index % 30, w=1.0 + toy.index % 3)
    res = glmclf.Logit.from_formula("y ~ x", toy).fit(cov_type="cluster", cov_kwds={"groups": "c"})
    before = res.model._rows
    eta = toy.assign(e=res.predict(which="linear"))
    by_hand = glmclf.Logit.from_formula("y ~ e + I(e**2)", eta).fit(cov_type="cluster", cov_kwds={"groups": "c"})
    assert_allclose(res.linktest()["std err"], by_hand.bse.iloc[[1, 2, 0]], rtol=1e-7)
    assert res.model._rows is before and list(res.params.index) == ["Intercept", "x"]
    away = glmclf.Logit.from_formula("y ~ x", toy).fit(cov_type="cluster", cov_kwds={"groups": toy.c.to_numpy()})
    with pytest.raises(NotImplementedError, match="give cov_type= and cov_kwds="):
        away.linktest()
    again = away.linktest("cluster", {"groups": toy.c.to_numpy()})
    assert_allclose(again["std err"], by_hand.bse.iloc[[1, 2, 0]], rtol=1e-7)
    one, seven = (glmclf.MNLogit.from_formula("k ~ x + g", toy, weights=u * toy.w).fit().linktest() for u in (1.0, 7.0))
    assert_allclose(one, seven, rtol=1e-6)


def test_refusals(toy):
    make = glmclf.Logit.from_formula
    with pytest.raises(ValueError, match="fewer than three values"):
        make("y ~ g", toy).fit().linktest()
    with pytest.raises(NotImplementedError, match="linktest"):
        make("y ~ x", toy).fit(bias_reduction="firth").linktest()
    with pytest.raises(NotImplementedError, match="penalised"):
        make("y ~ x", toy).fit_regularized(0.1).linktest()
    with pytest.raises(ValueError, match="goes with cov_type"):
        make("y ~ x", toy).fit().linktest(cov_kwds={"groups": "g"})
    with pytest.warns(glmclf.errors.SeparationWarning):
        res = make("y ~ x", pd.DataFrame({"x": np.arange(9.0), "y": [0, 0, 0, 0, 1, 1, 1, 1, 1]})).fit()
    with pytest.raises(ValueError, match="linear predictor is infinite"):
        res.linktest()
    res = make("GRADE ~ GPA + PSI", datasets.load("spector")).fit()
    res.remove_data()
    with pytest.raises(glmclf.errors.DataError, match="rows of the fit"):
        res.linktest()
