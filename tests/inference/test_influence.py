"""Influence: certified leverage and Cook's distances, exact deletion, residuals by level."""

import numpy as np
import pandas as pd
import pytest
import references
import statsmodels.api as sm
from numpy.testing import assert_allclose

import glmclf


@pytest.mark.parametrize("name", references.names("diagnostics"))
def test_certified(name):
    values, res = references.reference(name)[0]["values"], references.fitted("_".join(name.split("_")[:-1]))
    found, rows = res.get_influence(), values["rows"]
    assert_allclose(found.hat_matrix_diag.loc[rows], values["hat"], rtol=1e-9)
    assert_allclose(found.cooks_distance[0].loc[rows], values["cooks"], rtol=1e-8)
    assert_allclose(found.resid_studentized.loc[rows], values["resid_pearson_std"], rtol=1e-8)
    assert_allclose(found.hat_matrix_diag.sum(), len(res.params), rtol=1e-9)


@pytest.fixture(scope="module")
def toy():
    rng = np.random.default_rng(0)
    n = 400
    df = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n)}, index=np.arange(n) + 100)
    utility = np.column_stack([np.zeros(n), 0.5 + 0.8 * df.x, 0.6 * df.z]) + rng.gumbel(size=(n, 3))
    df["y"] = np.array(["bus", "car", "rail"])[utility.argmax(axis=1)]
    df["b"] = (df.y == "car").astype(int)
    return df


def test_statsmodels(toy):
    mine = glmclf.Logit.from_formula("b ~ x + z", toy).fit().get_influence()
    theirs = sm.Logit(toy.b, sm.add_constant(toy[["x", "z"]])).fit(disp=0).get_influence()
    assert_allclose(mine.dfbetas, theirs.dfbetas, atol=1e-8)
    assert_allclose(mine.cooks_distance, theirs.cooks_distance, atol=1e-9)
    table = mine.summary_frame()
    ours = {"delta_chi2", "delta_deviance"}
    assert set(table) - ours <= {c.replace("const", "Intercept") for c in theirs.summary_frame()}
    assert_allclose(mine.d_fittedvalues, theirs.d_fittedvalues, atol=1e-9)


def test_one_step_is_near_exact_deletion(toy):
    res = glmclf.MNLogit.from_formula("y ~ x + z", toy).fit()
    found = res.get_influence()
    for row in found.cooks_distance[0].nlargest(3).index:
        exact = res.params - glmclf.MNLogit.from_formula("y ~ x + z", toy.drop(index=row)).fit().params
        largest = np.abs(exact).to_numpy().max()
        assert_allclose(found.d_params.loc[row], exact.to_numpy().ravel(order="F"), atol=0.05 * largest)


def test_it_is_one_scoring_step_exactly(toy):
    """From the estimate, with the information of the rows that stay."""
    res = glmclf.MNLogit.from_formula("y ~ x + z", toy).fit()
    found, theta = res.get_influence(), res.params.to_numpy().ravel(order="F")
    rest = glmclf.MNLogit.from_formula("y ~ x + z", toy.iloc[1:]).fit().model
    step = np.linalg.solve(rest.information(theta), rest.score(theta))
    assert_allclose(found.d_params.iloc[0], -step, rtol=1e-8)
    cooks = step @ res.model.information(theta) @ step / len(theta)
    assert_allclose(found.cooks_distance[0].iloc[0], cooks, rtol=1e-8)


def test_leverage_adds_up_with_weights(toy):
    w = np.random.default_rng(0).integers(1, 4, len(toy))
    by_frequency = glmclf.MNLogit.from_formula("y ~ x + z", toy, freq_weights=w).fit()
    long = glmclf.MNLogit.from_formula("y ~ x + z", toy.iloc[np.repeat(np.arange(len(toy)), w)]).fit()
    hat = by_frequency.get_influence().hat_matrix_diag
    assert_allclose((w * hat).sum(), 6, rtol=1e-10)
    assert_allclose(np.repeat(hat.to_numpy(), w), long.get_influence().hat_matrix_diag, rtol=1e-8)
    sampled = glmclf.MNLogit.from_formula("y ~ x + z", toy, weights=w).fit()
    assert_allclose(sampled.get_influence().hat_matrix_diag.sum(), 6, rtol=1e-10)


def test_two_levels_are_the_binary_model(toy):
    two, one = (getattr(glmclf, m).from_formula("b ~ x + z", toy).fit() for m in ("MNLogit", "Logit"))
    assert_allclose(two.get_influence().cooks_distance[0], one.get_influence().cooks_distance[0], rtol=1e-8)
    assert_allclose(two.get_influence().dfbetas, one.get_influence().dfbetas, rtol=1e-7)
    for name in ("resid_response", "resid_pearson"):
        assert_allclose(getattr(two, name)[1], getattr(one, name), rtol=1e-8)
    assert_allclose((two.resid_dev**2).sum(axis=1), one.resid_dev**2, rtol=1e-8)
    assert_allclose(two.augment()[".resid"], one.resid_dev, rtol=1e-8)
    assert_allclose(two.resid_generalized[1], one.resid_generalized, rtol=1e-8)
    assert_allclose([two.deviance, two.null_deviance], [one.deviance, one.null_deviance], rtol=1e-12)
    pd.testing.assert_frame_equal(two.glance(), one.glance(), rtol=1e-10)


def test_residuals_by_level(toy):
    res = glmclf.MNLogit.from_formula("y ~ x + z", toy, reference="car").fit()
    p, y = res.fittedvalues, pd.get_dummies(toy.y).astype(float)
    assert list(res.resid_response) == ["bus", "car", "rail"] and res.resid_response.index.equals(toy.index)
    assert_allclose(res.resid_response, y - p, atol=1e-14)
    assert_allclose(res.resid_pearson, (y - p) / np.sqrt(p * (1 - p)), rtol=1e-10)
    assert list(res.resid_generalized) == ["bus", "rail"]
    assert_allclose(res.model.exog.T @ res.resid_generalized, np.zeros((3, 2)), atol=1e-9)
    assert_allclose((res.resid_dev**2).sum().sum(), res.deviance, rtol=1e-12)
    assert ((res.resid_dev > 0) == y.astype(bool)).all().all()
    assert_allclose(res.resid_dev, np.where(y == 1, np.sqrt(2 * (-np.log(p) - (1 - p))), -np.sqrt(2 * p)), rtol=1e-10)
    theirs = sm.MNLogit(toy.y.map({"bus": 0, "car": 1, "rail": 2}), sm.add_constant(toy[["x", "z"]])).fit(disp=0)
    assert_allclose(res.resid_misclassified, theirs.resid_misclassified)
    assert res.resid_misclassified.mean() == (res.predict(which="class") != toy.y).mean()


def test_residuals_of_counts(toy):
    table = toy.assign(s=toy.x > 0).pivot_table(index="s", columns="y", values="z", aggfunc="size").reset_index()
    table = pd.concat([table, table.assign(bus=table.bus + 9, s=~table.s)], ignore_index=True)
    res = glmclf.MNLogit.from_formula("bus + car + rail ~ s", table).fit()
    y = table[["bus", "car", "rail"]].to_numpy()
    m, p = y.sum(axis=1, keepdims=True), res.fittedvalues.to_numpy()
    assert_allclose(res.resid_response, y / m - p, atol=1e-12)
    assert_allclose(res.resid_pearson, (y - m * p) / np.sqrt(m * p * (1 - p)), rtol=1e-9, atol=1e-10)
    assert_allclose((res.resid_dev**2).sum(axis=1), 2 * (y * np.log(y / (m * p))).sum(axis=1), rtol=1e-7, atol=1e-10)
    assert_allclose(res.deviance, (res.resid_dev**2).sum().sum(), rtol=1e-7)
    assert_allclose(res.resid_misclassified, 1 - y[np.arange(4), p.argmax(axis=1)] / m[:, 0])


def test_augment(toy, tmp_path):
    res = glmclf.MNLogit.from_formula("y ~ x + z", toy).fit()
    table = res.augment()
    assert list(table.columns[:4]) == list(toy.columns) and table.index.equals(toy.index)
    assert_allclose(table[[f".fitted_{c}" for c in res.levels]], res.fittedvalues)
    assert_allclose(table[".hat"].sum(), 6)
    assert (table[".class"] == res.predict(which="class")).all()
    deviance = res.deviance
    res.save(tmp_path / "m.json")
    res.remove_data()
    for other in (res, glmclf.load(tmp_path / "m.json")):
        assert other.deviance == deviance
        assert ".hat" not in other.augment(toy.head(3)) and len(other.augment(toy.head(3))) == 3


def test_resid_studentized_of_several_classes(toy):
    with pytest.raises(NotImplementedError, match="leverage block"):
        glmclf.MNLogit.from_formula("y ~ x", toy).fit().get_influence().resid_studentized
