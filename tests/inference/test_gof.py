"""Goodness of fit and pseudo-R-squared: certified values, formulas written out, expanded rows."""

import numpy as np
import pandas as pd
import pytest
import references
from numpy.testing import assert_allclose
from scipy.special import chdtrc

import glmclf
from glmclf.errors import InferenceWarning
from glmclf.inference.specification import gof


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


@pytest.mark.filterwarnings("ignore:.*no degree of freedom is left")
def test_too_few_groups(toy):
    res = glmclf.Logit.from_formula("b ~ g", toy).fit()
    with pytest.warns(InferenceWarning, match="2 groups of 10"):
        table = res.gof_test()
    assert np.isnan(table.loc["Hosmer-Lemeshow", "statistic"])
    with pytest.raises(ValueError, match="3 or more"):
        res.gof_test(2)


# -------------------------------------------------------------------------------------------------- separated fits
@pytest.fixture(scope="module")
def doses():
    """Group d is all successes: with or without it, the fit is the same."""
    t = pd.DataFrame({"a": np.repeat(list("abcd"), 6), "x": np.tile(np.arange(6.0), 4), "n": 20})
    t["s"] = np.random.default_rng(0).binomial(20, 1 / (1 + np.exp(-(t.x - 2.5) * 0.5)))
    t.loc[t.a == "d", "s"] = 20
    return t.assign(f=t.n - t.s, same=t.x)


@pytest.mark.filterwarnings("ignore::glmclf.errors.SeparationWarning", "ignore::glmclf.errors.CollinearityWarning")
@pytest.mark.parametrize("model", ["Logit", "Probit", "CLogLog", "MNLogit"])
@pytest.mark.parametrize("formula", ["a + x", "a * x", "a + x + same"])
def test_separated_rows_have_no_part_in_any_test(doses, model, formula):
    fit = getattr(glmclf, model).from_formula
    response = "f + s ~ " if model == "MNLogit" else "s + f ~ "
    all_rows = fit(response + formula, doses).fit()
    others = fit(response + formula, doses[doses.a != "d"]).fit()
    assert all_rows.separation is not None and others.separation is None
    table = all_rows.gof_test(8)
    assert table.df["Pearson"] == 18 - (6 if "*" in formula else 4)
    assert_allclose(table, others.gof_test(8), rtol=1e-7)
    assert_allclose(all_rows.information_matrix_test(True), others.information_matrix_test(True), rtol=1e-7)
    assert_allclose(all_rows.gof_groups(8), others.gof_groups(8), rtol=1e-7)


@pytest.mark.filterwarnings("ignore::glmclf.errors.SeparationWarning")
def test_pearson_of_a_separated_fit_by_r(doses):
    """R 4.2.2: m <- glm(cbind(s, f) ~ a + x, binomial, doses[doses$a != "d", ]); sum(resid(m, "pearson")^2); m$dev;
    m$df.residual; pchisq(., 14, lower = FALSE)."""
    table = glmclf.Logit.from_formula("s + f ~ a + x", doses).fit().gof_test()
    found = table.loc[["Pearson", "deviance"], ["statistic", "df", "pvalue"]]
    certified = [[24.4404196217018, 14, 0.0405106831879369], [29.4375484973464, 14, 0.00911389831206477]]
    assert_allclose(found, certified, rtol=1e-8)
    assert table.groups["Pearson"] == 18


@pytest.mark.filterwarnings("ignore::glmclf.errors.SeparationWarning")
@pytest.mark.parametrize("reference", ["bus", "car", "rail"])
def test_separation_of_several_classes(toy, reference):
    """Rows decided at one level or by a level of their own leave an ordinary fit of the rest."""
    df = toy.assign(q=np.arange(len(toy)) < 60)
    fit = glmclf.MNLogit.from_formula
    one = df.assign(y=df.y.where(~df.q, "bus"))
    found, rest = fit("y ~ x + q", one, reference=reference).fit(), fit("y ~ x", one[~one.q], reference=reference).fit()
    assert_allclose(found.gof_test(), rest.gof_test(), rtol=1e-7)
    assert_allclose(found.rebase("rail").gof_test(), rest.rebase("rail").gof_test(), rtol=1e-7)
    own = df.assign(y=df.y.replace("bus", "rail").where(~df.q, "bus"))
    found = fit("y ~ x + q", own, reference=reference).fit()
    rest = glmclf.Logit.from_formula("y ~ x", own[~own.q]).fit().gof_test().drop("Stukel")
    assert_allclose(found.gof_test(), rest, rtol=1e-7)


@pytest.mark.filterwarnings("ignore::glmclf.errors.SeparationWarning")
def test_outcomes_that_are_ruled_out_take_degrees_of_freedom(toy):
    """Of 18 patterns 9 have two outcomes: 9 + 18 less the parameters, rail's q none; a split by q fits the same."""
    df = toy.assign(q=np.arange(len(toy)) % 2 == 0)
    df["y"] = df.y.where(~(df.q & (df.y == "rail")), "car")
    res = glmclf.MNLogit.from_formula("y ~ x * q", df).fit()
    a = glmclf.Logit.from_formula("y ~ x", df[df.q]).fit().gof_test()
    b = glmclf.MNLogit.from_formula("y ~ x", df[~df.q]).fit().gof_test()
    table = res.gof_test()
    for name in ("Pearson", "deviance"):
        assert table.df[name] == a.df[name] + b.df[name] == (9 - 2) + (18 - 4)
        assert_allclose(table.statistic[name], a.statistic[name] + b.statistic[name], rtol=1e-7)
    assert table.df["information matrix"] >= a.df["information matrix"] + b.df["information matrix"]


def test_nothing_is_left_where_separation_decides_every_row():
    df = pd.DataFrame({"x": np.arange(20.0), "y": np.repeat([0, 1], 10)})
    for model in ("Logit", "MNLogit"):
        with pytest.warns(glmclf.errors.SeparationWarning):
            res = getattr(glmclf, model).from_formula("y ~ x", df).fit()
        with pytest.warns(InferenceWarning, match="Pearson, deviance, .*: no test of a separated fit"):
            assert res.gof_test()["pvalue"].isna().all()
        with pytest.raises(ValueError, match="separation decides all"):
            res.gof_groups()


@pytest.mark.filterwarnings("ignore:.*no degree of freedom is left")
@pytest.mark.parametrize("model", ["Logit", "MNLogit"])
def test_no_group_test_of_a_saturated_model(toy, model):
    df = toy.assign(x=toy.x.round())
    res = getattr(glmclf, model).from_formula("b ~ C(x) * g", df).fit()
    with pytest.warns(InferenceWarning, match=f"{res._risk_test}: .* saturated"):
        row = res.gof_test().loc[res._risk_test]
    assert np.isnan(row.statistic) and np.isnan(row.pvalue) and row.df == 0
