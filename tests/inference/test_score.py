"""Score tests against statsmodels, the table of terms, and what they refuse."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose

import glmclf
from glmclf.errors import CollinearityError, DataError, InferenceWarning


@pytest.fixture(scope="module")
def toy():
    rng = np.random.default_rng(5)
    n = 300
    df = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n), "v": rng.normal(size=n)})
    df["y"] = (rng.random(n) < 1 / (1 + np.exp(-0.5 * df.x - 0.3 * df.z))).astype(int)
    df["k"] = rng.choice(["a", "b", "c"], n)
    return df


@pytest.mark.parametrize("name", ["Logit", "Probit"])
def test_statsmodels(toy, name):
    mine = getattr(glmclf, name).from_formula("y ~ x", toy).fit()
    theirs = getattr(sm, name)(toy.y, sm.add_constant(toy[["x"]])).fit(disp=0)
    expected = theirs.score_test(exog_extra=toy[["z", "v"]].to_numpy())
    found = mine.score_test(["z", "v"], information="observed")
    assert_allclose(found.statistic, np.squeeze(expected.statistic), rtol=1e-7)
    assert_allclose(found.pvalue, np.squeeze(expected.pvalue), rtol=1e-7)
    assert found.df == 2


@pytest.mark.parametrize("link", ["Probit", "CLogLog"])
@pytest.mark.parametrize("cov_type", ["nonrobust", "expected"])
def test_either_information_as_statsmodels(toy, link, cov_type):
    """`GLM.score_test(observed=)` of statsmodels; the default is the expected one, whatever the fit's covariance."""
    family = sm.families.Binomial(getattr(sm.families.links, link)())
    theirs = sm.GLM(toy.y, sm.add_constant(toy[["x"]]), family)
    at = theirs.fit(tol=1e-12)
    mine = getattr(glmclf, link).from_formula("y ~ x", toy).fit(cov_type=cov_type)
    for information in ("expected", "observed"):
        expected = theirs.score_test(
            at.params, exog_extra=toy[["z", "v"]].to_numpy(), observed=information == "observed"
        )
        found = mine.score_test(["z", "v"], information=information)
        assert_allclose(found[:2], [np.squeeze(v) for v in expected[:2]], rtol=1e-6)
    assert mine.score_test(["z", "v"]) == mine.score_test(["z", "v"], information="expected")
    assert mine.score_test(["z", "v"]) != mine.score_test(["z", "v"], information="observed")
    assert_allclose(  # of the same hypothesis, from the estimate under it
        getattr(glmclf, link).from_formula("y ~ x + z", toy).fit().anova(test="score").loc["z", "statistic"],
        mine.score_test("z").statistic,
        rtol=1e-8,
    )
    with pytest.raises(ValueError, match="information='fisher'"):
        mine.score_test("z", information="fisher")


def test_ways_to_give_the_regressors(toy):
    res = glmclf.MNLogit.from_formula("k ~ x", toy, subset=toy.v > -1).fit()
    expected = res.score_test("z")
    rest = toy.z[toy.v > -1]
    for given in (["z"], toy.z, toy[["z"]], rest, rest.to_numpy(), rest.iloc[::-1]):
        assert res.score_test(given) == expected
    full = glmclf.MNLogit.from_formula("k ~ x + z", toy, subset=toy.v > -1).fit()
    assert_allclose(full.anova(test="score").loc["z"], [expected.statistic, expected.df, expected.pvalue], rtol=1e-9)


def test_constrained_estimate(toy):
    full = glmclf.Logit.from_formula("y ~ x + z", toy).fit()
    small = glmclf.Logit.from_formula("y ~ x", toy).fit()
    at = pd.Series({"Intercept": small.params.iloc[0], "x": small.params.iloc[1], "z": 0.0})
    found = full.score_test(params_constrained=at, k_constraints=1)
    assert_allclose(found, small.score_test("z"), rtol=1e-8)


@pytest.mark.parametrize("name", ["Logit", "Probit"])
def test_constraints_with_either_information(toy, name):
    """s' I^-1 s at the constrained estimate, with statsmodels' score and Hessian, or X'WX of GLM's weights."""
    model = getattr(glmclf, name).from_formula("y ~ x + z + v", toy)
    res = model.fit_constrained("x = z, v = 0.2")
    X = sm.add_constant(toy[["x", "z", "v"]])
    theirs = getattr(sm, name)(toy.y, X)
    s = theirs.score(res.params.to_numpy())
    link = getattr(sm.families.links, name)()
    eta = X.to_numpy() @ res.params.to_numpy()
    mu = link.inverse(eta)
    fisher = (X.T * (link.inverse_deriv(eta) ** 2 / (mu * (1 - mu)))) @ X.to_numpy()
    for information, A in (("observed", -theirs.hessian(res.params.to_numpy())), ("expected", fisher.to_numpy())):
        expected = s @ np.linalg.solve(A, s)
        assert_allclose(res.constraint_test("score", information=information).statistic, expected, rtol=1e-7)
        found = model.fit().score_test(
            params_constrained=res.params, k_constraints=2, information=information
        )
        assert_allclose(found.statistic, expected, rtol=1e-7)
    assert res.constraint_test("score") == res.constraint_test("score", information="expected")
    with pytest.raises(ValueError, match='it is for test="score"'):
        res.constraint_test("lr", information="observed")
    with pytest.raises(ValueError, match="information='fisher'"):
        res.constraint_test("score", information="fisher")


def test_both_informations_of_a_multinomial_logit_are_one(toy):
    model = glmclf.MNLogit.from_formula("k ~ x + z", toy)
    res = model.fit_constrained("yb_x = yc_x")
    tests = [res.constraint_test("score", information=kind) for kind in ("expected", "observed")]
    tests += [
        model.fit().score_test(params_constrained=res.params, k_constraints=1, information=kind)
        for kind in ("expected", "observed")
    ]
    for found in tests:
        assert_allclose(found, tests[0], rtol=1e-9)


def test_robust_does_not_depend_on_the_unit_of_weights(toy):
    w = np.random.default_rng(0).uniform(0.5, 2, len(toy))
    a, b = (glmclf.Logit.from_formula("y ~ x", toy, weights=c * w).fit().score_test("z") for c in (1.0, 7.0))
    assert_allclose(a, b, rtol=1e-9)


def test_the_information_of_a_pseudo_likelihood_is_doubted(toy):
    """It grows with the unit of the weights, and so does the statistic."""
    res = [glmclf.Logit.from_formula("y ~ x", toy, weights=c * (1.0 + toy.index % 3)).fit() for c in (1.0, 7.0)]
    with pytest.warns(InferenceWarning, match='^cov_type="nonrobust": .* sampling weights .* Use "HC0"'):
        a, b = (one.score_test("z", cov_type="nonrobust").statistic for one in res)
    assert b == pytest.approx(7 * a, rel=1e-8)
    constrained = res[0].model.fit_constrained("x = 0")
    with pytest.warns(InferenceWarning, match='^cov_type="nonrobust": .* sampling weights'):
        constrained.constraint_test("score", cov_type="nonrobust")


def test_frequency_weights_are_repeated_rows(toy):
    f = np.random.default_rng(0).integers(1, 4, len(toy))
    long = toy.loc[toy.index.repeat(f)].reset_index(drop=True)
    a = glmclf.MNLogit.from_formula("k ~ x", toy, freq_weights=f).fit()
    b = glmclf.MNLogit.from_formula("k ~ x", long).fit()
    for kind in ("nonrobust", "HC0"):
        assert_allclose(a.score_test("z", cov_type=kind), b.score_test("z", cov_type=kind), rtol=1e-8)


def test_refusals(toy):
    res = glmclf.Logit.from_formula("y ~ x", toy).fit()
    with pytest.raises(CollinearityError, match="'w'"):
        res.score_test(pd.Series(2 * toy.x + 1, name="w"))
    with pytest.raises(DataError, match="nosuch"):
        res.score_test("nosuch")
    with pytest.raises(DataError, match="7 rows"):
        res.score_test(np.ones(7))
    with pytest.raises(DataError, match="missing or infinite in 1"):
        res.score_test(toy.z.where(toy.index > 0))
    with pytest.raises(DataError, match="numbers"):
        res.score_test("k")
    with pytest.raises(ValueError, match="needs one of"):
        res.score_test()
    with pytest.raises(NotImplementedError, match="HC1"):
        res.score_test("z", cov_type="HC1")
