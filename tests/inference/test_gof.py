"""Goodness of fit and pseudo-R-squared: certified values, formulas written out, expanded rows."""

import numpy as np
import pandas as pd
import pytest
import references
from numpy.testing import assert_allclose
from scipy.special import chdtrc

import glmclf
from glmclf.errors import InferenceWarning
from glmclf.inference import gof


@pytest.mark.parametrize("name", references.names("hosmer_lemeshow"))
def test_certified_hosmer_lemeshow(name):
    values, res = references.reference(name)[0]["values"], references.fitted(name.removesuffix("_hosmer_lemeshow"))
    row = res.gof_test(values["groups"]).loc["Hosmer-Lemeshow"]
    assert (row["df"], row["groups"]) == (values["df"], values["n_bins"])
    assert_allclose(row[["statistic", "pvalue"]].astype(float), [values["chi2"], values["pvalue"]], rtol=1e-9)
    found = gof.hosmer_lemeshow(*res._observed_and_fitted(), values["groups"])
    assert_allclose(found.observed[:, 1], values["observed"])
    assert_allclose(found.expected[:, 1], values["expected"], rtol=1e-9)
    assert found.observed.sum(axis=1).tolist() == values["counts"]


@pytest.fixture(scope="module")
def toy():
    rng = np.random.default_rng(2)
    n = 900
    df = pd.DataFrame({"x": rng.integers(0, 9, n) / 4, "g": rng.choice(list("ab"), n)})
    utility = np.column_stack([np.zeros(n), 0.4 * df.x, 0.8 * (df.g == "b")]) + rng.gumbel(size=(n, 3))
    df["y"] = np.array(["bus", "car", "rail"])[utility.argmax(axis=1)]
    df["b"] = (df.y == "car").astype(int)
    return df


def test_fagerland_hosmer_written_out(toy):
    """With groups by 1 - p of the reference, cut by pandas at the same quantiles."""
    res = glmclf.MNLogit.from_formula("y ~ x + g", toy, reference="car").fit()
    p = res.fittedvalues
    risk = (1 - p["car"]).round(10)
    group = pd.cut(risk, np.unique(np.quantile(risk, np.arange(11) / 10)), include_lowest=True)
    observed = pd.get_dummies(toy.y).astype(float).groupby(group, observed=True).sum()
    expected = p.groupby(group, observed=True).sum()
    statistic, df = ((observed - expected) ** 2 / expected).to_numpy().sum(), (len(observed) - 2) * 2
    row = res.gof_test().loc["Fagerland-Hosmer"]
    assert_allclose(row, [statistic, df, chdtrc(df, statistic), len(observed)], rtol=1e-8)


def test_two_levels_are_hosmer_lemeshow(toy):
    two, one = (getattr(glmclf, m).from_formula("b ~ x + g", toy).fit().gof_test() for m in ("MNLogit", "Logit"))
    assert_allclose(two, one, rtol=1e-9)


def test_patterns(toy):
    """The deviance by pattern is that of the likelihood ratio test against a parameter for each pattern."""
    res = glmclf.MNLogit.from_formula("y ~ x + g", toy).fit()
    full = glmclf.MNLogit.from_formula("y ~ C(x) * g", toy).fit()
    row = res.gof_test().loc["deviance"]
    assert_allclose(row["statistic"], 2 * (full.llf - res.llf), rtol=1e-8)
    assert row["df"] == full.df_model - res.df_model and row["groups"] == 18


@pytest.mark.parametrize("model", ["Logit", "Probit", "CLogLog", "MNLogit"])
def test_expanded_rows(toy, model):
    """Frequency weights and counts give the numbers of the expanded rows."""
    y = "y" if model == "MNLogit" else "b"
    table = toy.groupby(["x", "g", y]).size().rename("n").reset_index()
    wide = table.pivot_table(index=["x", "g"], columns=y, values="n", fill_value=0)
    wide = wide.set_axis([f"c{c}" for c in wide.columns], axis=1).reset_index()
    left = " + ".join(sorted((c for c in wide.columns if c[0] == "c"), reverse=model != "MNLogit"))
    cls = getattr(glmclf, model)
    fits = [
        cls.from_formula(f"{y} ~ x + g", toy).fit(),
        cls.from_formula(f"{y} ~ x + g", table, freq_weights="n").fit(),
        cls.from_formula(f"{left} ~ x + g", wide).fit(),
    ]
    for other in fits[1:]:
        assert_allclose(other.pseudo_rsquared(), fits[0].pseudo_rsquared(), rtol=1e-8)
        assert_allclose(other.gof_test(), fits[0].gof_test(), rtol=1e-7)


def test_pseudo_rsquared_written_out():
    res = references.fitted("spector__logit")
    y, p, n = res.model.endog, res.fittedvalues.to_numpy(), 32
    eta, l, l0 = res.predict(which="linear"), res.llf, res.llnull
    expected = {
        "McFadden": 1 - l / l0,
        "adjusted McFadden": 1 - (l - 4) / l0,
        "Cox-Snell": 1 - np.exp(2 * (l0 - l) / n),
        "Nagelkerke": (1 - np.exp(2 * (l0 - l) / n)) / (1 - np.exp(2 * l0 / n)),
        "Tjur": p[y == 1].mean() - p[y == 0].mean(),
        "Efron": 1 - ((y - p) ** 2).sum() / ((y - y.mean()) ** 2).sum(),
        "McKelvey-Zavoina": eta.var(ddof=0) / (eta.var(ddof=0) + np.pi**2 / 3),
    }
    found = res.pseudo_rsquared()
    assert list(found.index) == list(expected)
    assert_allclose(found, list(expected.values()), rtol=1e-10)


def test_sampling_weights(toy):
    w = np.random.default_rng(1).uniform(0.5, 3, len(toy))
    a, b = (glmclf.Logit.from_formula("b ~ x", toy, weights=c * w).fit() for c in (1.0, 10.0))
    assert_allclose(a.pseudo_rsquared(), b.pseudo_rsquared(), rtol=1e-9)
    assert np.isnan(a.pseudo_rsquared()["adjusted McFadden"])
    with pytest.raises(ValueError, match="pseudo-likelihood"):
        a.gof_test()


def test_too_few_groups(toy):
    res = glmclf.Logit.from_formula("b ~ g", toy).fit()
    with pytest.warns(InferenceWarning, match="2 groups of 10"):
        table = res.gof_test()
    assert np.isnan(table.loc["Hosmer-Lemeshow", "statistic"])
    with pytest.raises(ValueError, match="3 or more"):
        res.gof_test(2)
