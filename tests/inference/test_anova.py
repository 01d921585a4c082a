"""Term tables against certified values, and what they refuse."""

import numpy as np
import pandas as pd
import pytest
import references
from numpy.testing import assert_allclose

import glmclf
from glmclf.inference import anova

DIGITS = 10  # the certified statistics are differences of log-likelihoods that are right to fifteen
CASES = references.names("anova", (*references.BINARY, "MNLogit"))


def fit(name):
    case, data = references.reference(name)
    model = getattr(glmclf, case["model"])
    return case["values"], model.from_formula(case["formula"], data, **references.model_keywords(case)).fit()


@pytest.mark.parametrize("name", CASES)
def test_certified_tables(name):
    values, res = fit(name)
    for key, rows in values.items():
        kind, test = key.split("_")
        table = res.anova(type=int(kind[-1]), test={"lr": "LR", "wald": "wald"}[test])
        assert list(table.index) == list(rows)
        assert table["df"].tolist() == [row["df"] for row in rows.values()]
        for column, of in (("statistic", "chi2"), ("pvalue", "pvalue")):
            assert references.digits(table[column], [row[of] for row in rows.values()]).min() > DIGITS, (key, column)


@pytest.fixture(scope="module")
def toy():
    rng = np.random.default_rng(3)
    n = 400
    df = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n), "g": rng.choice(list("abc"), n)})
    utility = np.column_stack([np.zeros(n), 0.4 + 0.8 * df.x, 0.5 * df.z - 0.3 * (df.g == "b")])
    df["y"] = np.array(["bus", "car", "rail"])[(utility + rng.gumbel(size=(n, 3))).argmax(axis=1)]
    df["o"] = rng.normal(size=n)
    return df


@pytest.mark.parametrize("test", ["LR", "wald", "score"])
@pytest.mark.parametrize("kind", [1, 2, 3])
def test_types_agree_for_the_last_highest_term(toy, kind, test):
    res = glmclf.MNLogit.from_formula("y ~ x * g", toy, offset="o").fit()
    assert_allclose(res.anova(kind, test).loc["x:g"], res.anova(3, test).loc["x:g"], rtol=1e-9)


def test_type_2_respects_marginality(toy):
    """The main effect of an interaction is tested without the interaction: by fits of the two models."""
    res = glmclf.MNLogit.from_formula("y ~ x * g + z", toy, offset="o").fit()
    with_, without = (glmclf.MNLogit.from_formula(f, toy, offset="o").fit() for f in ("y ~ x + g + z", "y ~ g + z"))
    statistic, pvalue, df = with_.compare_lr_test(without)
    assert_allclose(res.anova(2).loc["x"], [statistic, df, pvalue], rtol=1e-8)
    assert_allclose(with_.anova(3, "score").loc["x", "statistic"], without.score_test("x").statistic, rtol=1e-8)
    assert_allclose(res.anova(2, "score").loc["x", "statistic"], without.score_test("x").statistic, rtol=1e-8)


def test_wald_of_a_submodel_is_a_difference_of_wald_statistics():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(9, 5))
    V, theta = A.T @ A, rng.normal(size=5)
    w = lambda i: theta[i] @ np.linalg.solve(V[np.ix_(i, i)], theta[i])
    a, b = np.array([0, 3]), np.array([1, 4])
    assert_allclose(anova.wald_statistic(theta, V, a, b), w(np.r_[a, b]) - w(b), rtol=1e-10)


def test_no_intercept_and_arrays(toy):
    X = toy[["x", "z"]].to_numpy()
    res = glmclf.Logit((toy.y == "car").astype(int), X, offset=toy.o).fit()
    table = res.anova()
    one = glmclf.Logit((toy.y == "car").astype(int), X[:, :1], offset=toy.o).fit()
    assert_allclose(table.iloc[1, 0], 2 * (res.llf - one.llf), rtol=1e-9)
    alone = glmclf.Logit((toy.y == "car").astype(int), X[:, :1], offset=toy.o).fit()
    p = 1 / (1 + np.exp(-toy.o))
    null = np.where(toy.y == "car", np.log(p), np.log1p(-p)).sum()
    assert_allclose(alone.anova().iloc[0, 0], 2 * (alone.llf - null), rtol=1e-9)


def test_many_rows_of_factors_as_codes():
    rng = np.random.default_rng(1)
    n = 30_000
    df = pd.DataFrame({"g": rng.integers(0, 12, n).astype(str), "h": rng.integers(0, 9, n).astype(str)})
    df["x"] = rng.normal(size=n)
    df["y"] = (rng.random(n) < 0.3 + 0.2 * (df.x > 0)).astype(int)
    res = glmclf.Logit.from_formula("y ~ g + h + x", df).fit()
    small = glmclf.Logit.from_formula("y ~ g + x", df).fit()
    assert_allclose(res.anova().loc["h", "statistic"], 2 * (res.llf - small.llf), rtol=1e-7)


def test_refusals(toy):
    res = glmclf.MNLogit.from_formula("y ~ x", toy, weights=np.ones(len(toy))).fit()
    with pytest.raises(ValueError, match=r'pseudo-likelihood.*anova\(test="wald"\)'):
        res.anova()
    assert np.isfinite(res.anova(test="wald").to_numpy()).all()
    for bad in ({"type": 4}, {"test": "F"}):
        with pytest.raises(ValueError, match="choose"):
            res.anova(**bad)
