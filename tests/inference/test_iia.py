"""Independence of irrelevant alternatives: the tests written out with refits."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import glmclf
from glmclf.inference.specification import iia


@pytest.fixture(scope="module")
def toy():
    rng = np.random.default_rng(0)
    n = 900
    df = pd.DataFrame({"x": rng.normal(size=n), "g": rng.choice(list("ab"), n)})
    utility = np.column_stack([np.zeros(n), 0.5 + 0.8 * df.x, 0.6 * (df.g == "b"), 0.2 * df.x])
    df["y"] = np.array(["bus", "car", "rail", "walk"])[(utility + rng.gumbel(size=(n, 4))).argmax(axis=1)]
    df["o"] = rng.normal(size=n)
    df["f"] = rng.integers(1, 4, n)
    return df


@pytest.mark.parametrize("level", ["bus", "car", "walk"])
def test_hausman_written_out(toy, level):
    base = "rail"
    full = glmclf.MNLogit.from_formula("y ~ x + g", toy, offset="o", freq_weights="f", reference=base).fit()
    part = toy[toy.y != level]
    small = glmclf.MNLogit.from_formula("y ~ x + g", part, offset="o", freq_weights="f", reference=base).fit()
    d = (small.params - full.params[small.params.columns]).to_numpy().ravel(order="F")
    names = small.cov_params().index
    V = small.cov_params() - full.cov_params().loc[names, names]
    for res in (full, full.rebase("bus"), full.rebase("walk")):
        row = res.iia_test().loc[level]
        assert_allclose(row["statistic"], d @ np.linalg.solve(V, d), rtol=1e-4)
        assert row["df"] == len(d)
        assert np.isnan(row["pvalue"]) == (row["statistic"] < 0)
        assert (row["statistic"] >= 0) or "negative" in row["note"]


def test_rank_of_the_difference():
    """Directions in which the covariances are equal are left out."""
    found = iia.hausman(np.zeros(2), np.diag([1.0, 1.0]), np.array([1.0, 1.0]), np.diag([2.0, 1.0]))
    assert found.df == 1
    assert_allclose(found.statistic, 1.0)


def test_small_hsiao_written_out(toy):
    """On the halves that the seed draws, with rows as frequency weights."""
    res = glmclf.MNLogit.from_formula("y ~ x + g", toy).fit()
    order = sorted(toy.y.unique())
    first, second = iia.halves((toy.y.to_numpy()[:, None] == np.array(order)).astype(float), 7)
    assert_allclose([first.sum(), second.sum()], [450, 450])
    a, b = (toy[half.any(axis=1)] for half in (first, second))
    fits = [glmclf.MNLogit.from_formula("y ~ x + g", part).fit() for part in (a, b)]
    table = res.iia_test("small-hsiao", seed=7)
    for level, base in (("walk", "bus"), ("bus", "car")):
        one, two = (f.rebase(base).params.drop(columns=level) for f in fits)
        small = glmclf.MNLogit.from_formula("y ~ x + g", b[b.y != level], reference=base).fit()
        average = np.sqrt(0.5) * one + (1 - np.sqrt(0.5)) * two
        value = small.model.loglike(average.to_numpy())
        assert_allclose(table.loc[level, "statistic"], 2 * (small.llf - value), rtol=1e-6)
        assert table.loc[level, "df"] == small.params.size
    pd.testing.assert_frame_equal(res.rebase("walk").iia_test("small-hsiao", seed=7), table, rtol=1e-6)


def test_offset_of_each_level(toy):
    """An offset with a column a level loses the column of the level left out."""
    offset = np.random.default_rng(1).normal(size=(len(toy), 3))
    res = glmclf.MNLogit.from_formula("y ~ x", toy, offset=offset).fit()
    part = (toy.y != "walk").to_numpy()
    small = glmclf.MNLogit.from_formula("y ~ x", toy[part], offset=offset[part, :2]).fit()
    assert_allclose(res._refit("walk").params, small.params, rtol=1e-9)


def test_what_cannot_be_fitted_is_said():
    """Without "wide" a threshold separates the other two."""
    x = np.r_[np.linspace(-1, -0.1, 30), np.linspace(0.1, 1, 30), np.linspace(-3, 3, 40)]
    data = pd.DataFrame({"x": x, "y": np.repeat(["low", "high", "wide"], [30, 30, 40])})
    table = glmclf.MNLogit.from_formula("y ~ x", data).fit().iia_test()
    assert np.isnan(table.loc["wide", "statistic"]) and "infinite" in table.loc["wide", "note"]
    assert np.isfinite(table.loc[["low", "high"], "statistic"]).all()


def test_a_saturated_model_has_nothing_to_test(toy):
    table = glmclf.MNLogit.from_formula("y ~ g", toy).fit().iia_test()
    assert (table["df"] == 0).all() and table["note"].str.contains("equal").all()


def test_refusals(toy):
    res = glmclf.MNLogit.from_formula("y ~ x", toy).fit()
    with pytest.raises(ValueError, match='choose "hausman-mcfadden" or "small-hsiao"'):
        res.iia_test("cheng")
    with pytest.raises(ValueError, match="seed"):
        res.iia_test(seed=1)
    two = glmclf.MNLogit.from_formula("y ~ x", toy[toy.y.isin(["bus", "car"])]).fit()
    with pytest.raises(ValueError, match="two others"):
        two.iia_test()
    weighted = glmclf.MNLogit.from_formula("y ~ x", toy, weights="f").fit()
    with pytest.raises(ValueError, match="pseudo-likelihood"):
        weighted.iia_test()
