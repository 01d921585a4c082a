"""Contrasts of effects and of contrasts between settings, and tests of combinations of rows, as R has them by hand."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from references import ROOT

import glmclf
from glmclf import LDA, Logit, MNLogit
from glmclf.errors import DataError
from glmclf.results.margins import contrasts

INFERT = pd.read_csv(ROOT / "data" / "infert.csv")
# m <- glm(case ~ spontaneous * induced + age, binomial, infert); A(s, i): mean of plogis(X b) with spontaneous = s,
# induced = i and its gradient g, the mean of p (1 - p) X: A(2, 2) - A(0, 2) - A(2, 0) + A(0, 0), sqrt(g' vcov(m) g)
SECOND = (-0.183415370856441, 0.268780217124302)
# S(k): mean over the rows of induced == k of p (1 - p) (b_s + b_si induced), and its gradient: S(2) - S(0)
OF_SLOPES = (-0.0570733283547579, 0.1282477750992599)
MODELS = ("Logit", "Probit", "CLogLog", "MNLogit", "LDA", "QDA", "NaiveBayes")


@pytest.fixture(scope="module")
def infert():
    return Logit.from_formula("case ~ spontaneous * induced + age", INFERT).fit()


def made():
    rng = np.random.default_rng(3)
    t = pd.DataFrame({"x": rng.normal(size=240), "g": rng.choice(["a", "b", "c"], 240)}).assign(
        s=rng.choice(["f", "m"], 240)
    )
    t["y"] = (rng.uniform(size=240) < 1 / (1 + np.exp(-t.x - 0.6 * (t.g == "b") * (t.s == "m")))).astype(int)
    t["k"] = np.array(["l", "m", "n"])[t.y + rng.integers(0, 2, 240)]
    return t.assign(w=rng.uniform(0.5, 2, 240), f=rng.integers(1, 4, 240), o=0.1 * rng.normal(size=240))


T = made()


def fitted(model, **keywords):
    response = "k" if model in ("MNLogit", "LDA", "QDA") else "y"
    formula = f"{response} ~ x + g + s" if model in ("QDA", "NaiveBayes") else f"{response} ~ (x + g) * s"
    return getattr(glmclf, model).from_formula(formula, T, **keywords).fit()


# --------------------------------------------------------------------------------------------------------------- R
def test_second_difference_of_r(infert):
    first = infert.contrasts({"spontaneous": [0, 2]}, at={"induced": [0, 2]})
    second = first.contrasts()
    assert_allclose((second.estimate.iloc[0], second.se.iloc[0]), SECOND, rtol=1e-7)
    assert list(second.summary_frame().index) == [("2 - 0", "2 - 0")]
    assert second.summary_frame().index.names == ["induced", "spontaneous"]
    cells = infert.predictions({"spontaneous": [0, 2], "induced": [0, 2]})
    for found in (cells.t_test("b3 - b2 - b1 + b0 = 0"), first.t_test("b1 = b0"), first.t_test([[-1, 1]])):
        assert_allclose((found.effect[0], found.sd[0]), SECOND, rtol=1e-7)


def test_difference_of_slopes_of_r(infert):
    slopes = infert.get_margeff(variables="spontaneous", over="induced")
    both = slopes.contrasts(contrast="reference")
    assert_allclose((both.estimate.iloc[1], both.se.iloc[1]), OF_SLOPES, rtol=1e-7)
    assert both.summary_frame().index[1] == ("2 - 0", "spontaneous")
    assert_allclose(slopes.t_test("b2 - b0 = 0").sd[0], OF_SLOPES[1], rtol=1e-7)
    joint = slopes.wald_test("b0 = b1, b1 = b2")
    D = np.array([[-1.0, 1, 0], [0, -1, 1]])
    d = D @ slopes.margeff.to_numpy()
    assert_allclose(joint.statistic, d @ np.linalg.solve(D @ slopes.cov.to_numpy() @ D.T, d), rtol=1e-8)
    assert joint.df_denom == 2


def test_ratio_of_odds_ratios_is_the_interaction():
    """Of a logit with nothing else: exp(b_int), and z of b_int."""
    res = Logit.from_formula("y ~ g * s", T).fit()
    found = res.contrasts("g", at={"s": ["f", "m"]}, comparison="odds ratio", contrast="reference").contrasts()
    names = ["g[T.b]:s[T.m]", "g[T.c]:s[T.m]"]
    assert_allclose(np.log(found.estimate), res.params[names], rtol=1e-9)
    assert_allclose(found.tvalues, res.tvalues[names], rtol=1e-8)
    assert list(found.summary_frame().index) == [("m / f", "b / a"), ("m / f", "c / a")]
    linear = res.contrasts("g", at={"s": ["f", "m"]}, which="linear", contrast="reference").contrasts()
    assert_allclose(linear.estimate, res.params[names], rtol=1e-9)
    assert_allclose(linear.se, res.bse[names], rtol=1e-8)
    assert_allclose(np.diag(found.cov), np.diag(res.cov_params().loc[names, names]), rtol=1e-8)


# ------------------------------------------------------------------------------------------------------- every model
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "keywords",
    [{}, {"weights": "w"}, {"freq_weights": "f"}, {"offset": "o"}],
    ids=str,
)
@pytest.mark.parametrize("vcov", [None, "unconditional"])
def test_differences_of_rows_by_the_covariance_of_all(model, keywords, vcov):
    """R C R' of all cells, with C as `predictions` has it."""
    if "offset" in keywords and model in ("LDA", "QDA", "NaiveBayes"):
        pytest.skip("no offset")
    res = fitted(model, **keywords)
    if vcov is not None and model in ("LDA", "QDA", "NaiveBayes"):
        pytest.skip("no unconditional variance")
    second = res.contrasts("g", by="s", vcov=vcov).contrasts()
    cells = res.predictions("g", by="s", vcov=vcov)
    levels = len(cells) // 6
    p, C = cells.predicted.to_numpy(), cells.cov.to_numpy()
    rows = np.zeros((3 * levels, len(p)))
    pairs = itertools.combinations(range(3), 2)
    for i, (k, (a, b)) in enumerate(itertools.product(range(levels), list(pairs))):
        rows[i, 6 * k + np.array([a, b, 3 + a, 3 + b])] = 1, -1, -1, 1
    assert_allclose(second.estimate, rows @ p, atol=1e-12)
    assert_allclose(second.se, np.sqrt(np.diag(rows @ C @ rows.T)), rtol=1e-7, atol=1e-12)
    effects = res.get_margeff(over="s", vcov=vcov)
    m, E = np.ravel(effects.margeff.to_numpy(), order="F"), len(effects) // levels
    found = effects.contrasts()
    expected = [m[k * E + E // 2 + i] - m[k * E + i] for k in range(levels) for i in range(E // 2)]
    assert_allclose(found.estimate, expected, atol=1e-12)
    assert_allclose(found.se.iloc[0], effects.t_test(f"b{E // 2} - b0 = 0").sd[0], rtol=1e-8)


@pytest.mark.parametrize("model", ["Logit", "MNLogit"])
def test_within_some_variables_and_again(model):
    res = fitted(model)
    effects = res.get_margeff(variables="x", at={"g": ["a", "b"]}, over="s")
    within = effects.contrasts(by="g")
    assert within.summary_frame().index.names[-3:] == ["g", "s", "variable"]
    third = within.contrasts()
    L = len(third)
    m = np.ravel(effects.margeff.to_numpy(), order="F").reshape(L, 4)
    assert_allclose(third.estimate, m @ [1, -1, -1, 1], atol=1e-13)
    assert third.summary_frame().index[-1][-3:] == ("b - a", "m - f", "x")
    assert_allclose(third.se.iloc[0], effects.t_test("b3 - b2 - b1 + b0 = 0").sd[0], rtol=1e-8)
    every = effects.contrasts()
    assert len(every) == 6 * L and every.summary_frame().index.names[-2:] == ["g, s", "variable"]


def test_adjustment_is_of_the_settings_of_a_row():
    res = fitted("MNLogit")
    effects = res.get_margeff(over="g", variables=["x", "s"])
    plain, holm = effects.contrasts().pvalues, effects.contrasts(adjust="bonferroni").pvalues
    assert_allclose(holm, np.minimum(3 * plain, 1), rtol=1e-12)
    tukey = effects.contrasts(adjust="tukey").pvalues
    assert (tukey >= plain - 1e-3).all() and (tukey <= holm + 1e-3).all()


def test_of_a_stream_and_of_a_loaded_fit(tmp_path, infert):
    source = Logit.from_formula(
        "case ~ spontaneous * induced + age", lambda: (INFERT.iloc[i : i + 90] for i in range(0, 248, 90))
    ).fit()
    infert.save(tmp_path / "m.json")
    loaded = glmclf.load(tmp_path / "m.json")
    for res, options in ((source, {}), (loaded, {"newdata": INFERT})):
        second = res.contrasts({"spontaneous": [0, 2]}, at={"induced": [0, 2]}, **options).contrasts()
        assert_allclose((second.estimate.iloc[0], second.se.iloc[0]), SECOND, rtol=1e-7)


# --------------------------------------------------------------------------------------------------------- refusals
def test_refusals(infert, monkeypatch):
    slopes = infert.get_margeff(variables="spontaneous", over="induced")
    with pytest.raises(DataError, match=r'by=\) names "x", of which no setting is; they are of "induced"'):
        slopes.contrasts(by="x")
    for alone in (infert.get_margeff(), infert.contrasts({"age": [30, 40]})):
        with pytest.raises(ValueError, match="two settings or more"):
            alone.contrasts()
    with pytest.raises(ValueError, match="two settings or more"):
        slopes.contrasts(by="induced")
    for wrong in ("b3 = 0", [[1, 2]], "spontaneous = 0"):
        with pytest.raises(ValueError):
            slopes.t_test(wrong)
    with pytest.raises(ValueError, match="add up|rank"):  # effects on all levels
        MNLogit.from_formula("k ~ x", T).fit().get_margeff().wald_test("b0 = 0, b1 = 0, b2 = 0")
    monkeypatch.setattr(contrasts, "MAX_PAIRS", 2)
    with pytest.raises(NotImplementedError, match='3 pairs: use contrast="reference"'):
        slopes.contrasts()
    assert len(slopes.contrasts(contrast="sequential")) == 2
    shrunk = LDA.from_formula("k ~ x + g", T, shrinkage=0.1).fit().get_margeff(over="s")
    for test in (shrunk.contrasts, lambda: shrunk.t_test("b0 = 0")):
        with pytest.raises(NotImplementedError, match="regularised"):
            test()


def test_effects_of_rows_that_are_decided_count_with_a_standard_error_of_zero():
    t = T.assign(y=np.where(T.g == "c", 1, T.y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        res = Logit.from_formula("y ~ x + g", t).fit()
        effects = res.get_margeff(variables="x", over="g")
        found = effects.contrasts().summary_frame()
    own = effects.margeff_se.to_numpy()
    assert np.isnan(own[2])  # by itself it has none
    assert_allclose(found["se"].iloc[1:], own[:2], rtol=1e-9)


@pytest.mark.parametrize("vcov", [None, "unconditional"])
def test_what_is_0_by_construction_is_not_tested(vcov):
    """Without a product the effect on the linear predictor, and the odds ratio of one row, are the same everywhere."""
    rng = np.random.default_rng(8)
    x, h = rng.normal(3.0, 2.0, 90), rng.choice(list("ab"), 90)
    data = pd.DataFrame({"x": x, "g": np.resize(["u", "v"], 90), "h": h})
    data["y"] = np.where(rng.random(90) < 1 / (1 + np.exp(3 - data.x)), "yes", "no")
    res = Logit.from_formula("y ~ x + g + h", data).fit()
    linear = res.predictions("g", at={"x": [0, 1, 7]}, which="linear", vcov=vcov).contrasts()
    second = linear.contrasts()
    assert (second.estimate == 0).all() and (second.se == 0).all() and second.tvalues.isna().all()
    assert second.pvalues.isna().all() and "Not tested: 0 by construction" in repr(second)
    tested = linear.t_test("b0 = b1, b0 = 0")
    assert tested.effect[0] == 0 and tested.sd[0] == 0 and np.isnan(tested.pvalue[0]) and tested.pvalue[1] < 1
    with pytest.raises(ValueError, match="row 0, 1 of the hypothesis, which is 0 by construction"):
        linear.wald_test("b0 = b1, b1 = b2")
    joint = linear.wald_test("b0 = 0")
    assert joint.statistic == pytest.approx(float(linear.tvalues.iloc[0]) ** 2, rel=1e-9)
    if vcov is None:
        odds = res.predictions("g", at=data.iloc[:3].drop(columns="g")).contrasts(comparison="odds ratio")
        ratios = odds.contrasts().summary_frame()
        assert (ratios["odds ratio"] == 1).all() and (ratios.se == 0).all() and ratios.z.isna().all()
    more = res.predictions("g", at={"x": [0, 1]}, vcov=vcov).contrasts().contrasts()
    assert more.se.iloc[0] > 0 and "Not tested" not in repr(more)


def test_combinations_that_depend_on_each_other_say_so():
    """Effects on all levels of the response add up to 0."""
    data = pd.DataFrame({"y": np.resize(list("abcab"), 60), "x": np.sin(np.arange(60.0) ** 2)})
    found = MNLogit.from_formula("y ~ x", data).fit().get_margeff()
    total = found.t_test("b0 + b1 + b2")
    assert total.effect[0] == 0 and total.sd[0] == 0
    with pytest.raises(ValueError, match="row 0 of the hypothesis, which is 0 by construction"):
        found.wald_test("b0 + b1 + b2 = 0")
    with pytest.raises(ValueError, match="the 3 combinations depend on each other"):
        found.wald_test(np.eye(3))
    two, other = found.wald_test(np.eye(3)[:2]), found.wald_test(np.eye(3)[1:])
    assert two.statistic == pytest.approx(other.statistic, rel=1e-8)


def test_differences_of_nearly_equal_settings_are_differences():
    """A small difference is none by construction: z is that of the derivative."""
    data = pd.DataFrame({"y": np.resize([0, 1, 1, 0, 1], 60), "x": np.sin(np.arange(60.0) ** 2)})
    res = Logit.from_formula("y ~ x", data).fit()
    near = res.predictions({"x": [0.5, 0.5 + 2.0**-24]}).contrasts()
    slope = res.get_margeff(at={"x": [0.5]})
    assert near.tvalues.iloc[0] == pytest.approx(slope.tvalues.iloc[0], rel=1e-6)
