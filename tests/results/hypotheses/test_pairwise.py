"""Comparisons of levels: R's multcomp, the studentised range, any coding, and what they refuse."""

import numpy as np
import pandas as pd
import pytest
import references
from numpy.testing import assert_allclose

import glmclf
from glmclf import datasets
from glmclf.errors import DataError
from glmclf.inference.hypotheses import multiplicity as pairwise

# scipy 1.15: studentized_range.sf(sqrt(2) c, k, df), a one-dimensional integral: equal variances, uncorrelated levels
RANGE = [
    (3, None, 1.0, 0.5768469553307594),
    (3, None, 2.3437, 0.05000007419681274),
    (3, None, 6.0, 5.917189738191553e-09),
    (4, 12.0, 2.3437, 0.14229680298942626),
    (6, None, 3.5, 0.006196394137845007),
    (6, 12.0, 9.0, 1.2863228124326831e-05),
    (10, None, 6.0, 8.85200597267044e-08),
    (10, 12.0, 3.5, 0.0824657872163701),
]


def differences(k):
    E = np.eye(k)
    return np.array([E[j] - E[i] for i in range(k) for j in range(i + 1, k)])


@pytest.mark.parametrize("k, df, c, expected", RANGE)
def test_largest_of_differences(k, df, c, expected):
    R = differences(k)
    p, error = pairwise.JointTail(R @ R.T / 2, df, 0)(c)
    assert error < 0.005
    assert_allclose(p, expected, rtol=4 * error + 1e-6)


def test_far_tails_and_single_tests():
    tail = pairwise.JointTail(np.eye(2), None, 0)
    p, error = tail(12.0)
    assert_allclose(p, 2 * 2 * 1.776482112077678e-33, rtol=1e-6)  # mpmath: ncdf(-12)
    assert [pairwise.JointTail(np.eye(3), df, 0)(c) for df in (None, 5.0) for c in (0.0, 1e-200)] == [(1.0, 0.0)] * 4
    assert_allclose(pairwise.JointTail(np.eye(1), None, 0)(2.0)[0], 0.04550026389635842, rtol=1e-12)
    same = np.ones((3, 3))
    assert_allclose(pairwise.JointTail(same, None, 0)(2.0)[0], 0.04550026389635842, rtol=1e-12)
    assert_allclose(pairwise.JointTail(np.eye(3), None, 0)(1.5)[0], 1 - (1 - 0.1336144025377161) ** 3, rtol=5e-4)


def test_many_values_are_interpolated():
    R, z = differences(7), np.linspace(0.2, 6, 21)
    tail = pairwise.JointTail(R @ R.T / 2, None, 0)
    p, error = tail.many(z)
    assert_allclose(p[[3, 11, 18]], [tail(c)[0] for c in z[[3, 11, 18]]], rtol=3e-3)
    assert error.max() < 0.01
    found = pairwise.adjusted(z, R @ R.T / 2, "tukey", 0.05).pvalue
    assert (np.diff(found) <= 0).all() and found.max() <= 1


def test_adjustments_by_hand():
    """R 4.2.2: p.adjust(c(.01, .04, .03, .005), "holm") = .03 .06 .06 .02; Sidak 1 - (1 - p)^4."""
    from scipy.special import ndtri

    p = np.array([0.01, 0.04, 0.03, 0.005])
    z, eye = -ndtri(p / 2), np.eye(4)
    found = {m: pairwise.adjusted(z, eye, m, 0.05) for m in ("holm", "bonferroni", "sidak", "hs", "none")}
    assert_allclose(found["holm"].pvalue, [0.03, 0.06, 0.06, 0.02], rtol=1e-9)
    assert_allclose(found["bonferroni"].pvalue, 4 * p, rtol=1e-9)
    assert_allclose(found["sidak"].pvalue, 1 - (1 - p) ** 4, rtol=1e-9)
    assert_allclose(found["hs"].pvalue, [1 - 0.99**3, 1 - 0.97**2, 1 - 0.97**2, 1 - 0.995**4], rtol=1e-9)
    assert_allclose(found["none"].pvalue, p, rtol=1e-12)
    assert_allclose(found["sidak"].critical, -ndtri((1 - 0.95**0.25) / 2), rtol=1e-9)
    assert_allclose(pairwise.adjusted(np.array([40.0, 1]), np.eye(2), "sidak", 0.05).pvalue[0], 0.0, atol=1e-300)


def test_multcomp():
    """R 4.2.2, multcomp 1.4-22, mvtnorm 1.1-3: k <- glht(glm(low ~ lwt + race + smoke + ht, binomial, birthwt),
    mcp(race = "Tukey")), summary(k, adjusted("single-step" | "holm")), confint(k)'s calpha (to 3 digits); df = 20."""
    data = references.reference("birthwt__logit")[1]
    res = glmclf.Logit.from_formula("low ~ lwt + C(race) + smoke + ht", data).fit()
    t = res.t_test_pairwise("race", "tukey")
    frame = t.result_frame
    assert list(frame.index) == ["2-1", "3-1", "3-2"]
    assert_allclose(frame["coef"], [1.287662330623, 0.943644845950, -0.344017484672], rtol=1e-9)
    assert_allclose(frame["std err"], [0.521650204748, 0.423383385644, 0.536398548091], rtol=1e-7)
    assert_allclose(frame["pvalue-tukey"], [0.0356695144486, 0.0655564195229, 0.7958399020028], rtol=2e-3)
    half = (frame["Conf. Int. Upp."] - frame["coef"]) / frame["std err"]
    assert_allclose(half, 2.3378, atol=2e-3)
    assert frame["reject-tukey"].tolist() == [True, False, False] and 0 < t.error < 0.005
    holm = res.t_test_pairwise("C(race)", "holm").result_frame
    assert_allclose(holm["pvalue-holm"], [0.0407109983134, 0.0516519282187, 0.5212973984735], rtol=1e-7)
    assert list(holm.columns[:6]) == list(res.t_test(t.contrasts).summary_frame().columns)
    # df_resid is 183 here; the distribution with 20 is that of the numbers
    C = res.cov_params(t.contrasts)
    C = C / np.sqrt(np.outer(np.diag(C), np.diag(C)))
    found = pairwise.adjusted(frame["z"].to_numpy(), C, "tukey", 0.05, 20.0)
    assert_allclose(found.pvalue, [0.0559426910791, 0.0895102507500, 0.7979023740151], rtol=2e-3)
    assert_allclose(found.critical, 2.5252, atol=2e-3)


def test_frequency_weights_of_four_levels():
    """R 4.2.2, multcomp 1.4-22: glht(glm(survived == "Yes" ~ cls + sex + age, binomial, titanic, weights = n,
    subset = n > 0), mcp(cls = "Tukey")); absolute error of the p-values 5e-8."""
    data = references.reference("titanic__logit")[1]
    res = glmclf.Logit.from_formula("survived ~ cls + sex + age", data, freq_weights="n", event="Yes").fit()
    frame = res.t_test_pairwise("cls", "tukey").result_frame
    z = [-5.194426509784, -10.361935175807, -5.451138255880, -4.307643332585, 0.923079516008, 6.192259134517]
    p = [1.21555555188e-06, 0, 2.91709739364e-07, 9.63273186249e-05, 7.90541537428e-01, 1.64647828704e-09]
    order = ["2nd-1st", "3rd-1st", "Crew-1st", "3rd-2nd", "Crew-2nd", "Crew-3rd"]
    assert_allclose(frame.loc[order, "z"], z, rtol=1e-6)
    assert_allclose(frame.loc[order, "pvalue-tukey"], p, rtol=2e-3, atol=1e-7)


def toy():
    rng = np.random.default_rng(3)
    df = pd.DataFrame({"x": rng.normal(size=400), "g": rng.choice(list("abcd"), 400), "h": rng.choice([1, 2], 400)})
    df["y"] = (rng.random(400) < 1 / (1 + np.exp(-df.x - (df.g == "b")))).astype(int)
    df["k"] = rng.choice(["bus", "car", "rail"], 400)
    return df


@pytest.mark.parametrize("model", ["Logit", "Probit", "CLogLog"])
def test_any_coding_any_base(model):
    t = toy()
    fit = lambda formula: getattr(glmclf, model).from_formula(formula, t).fit()
    expected = fit("y ~ x + g").t_test_pairwise("g", "sidak").result_frame
    codings = {
        "y ~ 0 + g + x": "g",
        "y ~ C(g, Sum) + x": "g",
        "y ~ x + C(g, Treatment('c'))": "g",
        "y ~ C(g, Poly) + x": "C(g, Poly)",
    }
    for formula, name in codings.items():
        assert_allclose(
            fit(formula).t_test_pairwise(name, "sidak").result_frame.astype(float), expected.astype(float), rtol=1e-6
        )


def test_interactions():
    """Where the other variable is 0 the interaction adds nothing; a shift of it moves the comparison."""
    t = toy()
    res = glmclf.Logit.from_formula("y ~ x * g + h", t).fit()
    with pytest.raises(DataError, match=r"interacts with 'x'.*at=\{'x': value\}"):
        res.t_test_pairwise("g")
    at2 = res.t_test_pairwise("g", at={"x": 2.0}).result_frame
    moved = glmclf.Logit.from_formula("y ~ I(x - 2) * g + h", t).fit()
    assert_allclose(at2["coef"][:3], moved.params[["g[T.b]", "g[T.c]", "g[T.d]"]], rtol=1e-8)
    assert_allclose(at2["std err"][:3], moved.bse[["g[T.b]", "g[T.c]", "g[T.d]"]], rtol=1e-8)
    with pytest.raises(DataError, match="'h', which"):
        res.t_test_pairwise("g", at={"x": 1.0, "h": 1})
    with pytest.raises(DataError, match="one value"):
        res.t_test_pairwise("g", at={"x": [1.0, 2.0]})
    crossed = glmclf.Logit.from_formula("y ~ C(h) * g", t).fit()
    frame = crossed.t_test_pairwise("g", at={"h": 2}).result_frame
    p = crossed.predict({"g": ["a", "b"], "h": [2, 2]}, which="linear")
    assert_allclose(frame.loc["b-a", "coef"], p[1] - p[0], rtol=1e-9)


def test_equations_and_generative_models(tmp_path):
    t = toy()
    res = glmclf.MNLogit.from_formula("k ~ x + g", t).fit()
    found = res.t_test_pairwise("g", "bonferroni")
    assert found.n_tests == 12 and found.result_frame.index.names == ["level", "pair"]
    one = found.result_frame.loc[("car", "c-b")]
    direct = res.t_test("ycar_g[T.c] - ycar_g[T.b]")
    assert_allclose(one[["coef", "std err"]].astype(float), [direct.effect.item(), direct.sd.item()], rtol=1e-9)
    assert_allclose(one["pvalue-bonferroni"], min(1, 12 * direct.pvalue.item()), rtol=1e-9)
    res.save(tmp_path / "kept.json")
    again = glmclf.load(tmp_path / "kept.json").t_test_pairwise("g", "bonferroni").result_frame
    assert_allclose(again.astype(float), found.result_frame.astype(float), rtol=1e-9)
    lda = glmclf.LDA.from_formula("k ~ x + g", t).fit()
    assert_allclose(
        lda.t_test_pairwise("g").result_frame.loc[("rail", "c-b"), "coef"],
        lda.discriminant.params.loc["g[T.c]", "rail"] - lda.discriminant.params.loc["g[T.b]", "rail"],
        rtol=1e-9,
    )
    bayes = glmclf.NaiveBayes.from_formula("k ~ g", t).fit()  # one table: the saturated logit
    logit = glmclf.MNLogit.from_formula("k ~ g", t).fit()
    assert_allclose(
        bayes.t_test_pairwise("g").result_frame.astype(float),
        logit.t_test_pairwise("g").result_frame.astype(float),
        rtol=1e-6,
    )
    with pytest.raises(NotImplementedError, match="QDA"):
        glmclf.QDA.from_formula("y ~ x + g", t).fit().t_test_pairwise("g")
    with pytest.raises(NotImplementedError, match="NaiveBayes"):
        glmclf.NaiveBayes.from_formula("k ~ x + g", t).fit().t_test_pairwise("x")


def test_what_has_no_test_does_not_count():
    t = toy()
    t.loc[t.g == "d", "y"] = 1
    with pytest.warns(glmclf.errors.SeparationWarning):
        res = glmclf.Logit.from_formula("y ~ x + g", t).fit()
    found = res.t_test_pairwise("g", "bonferroni")
    assert found.n_tests == 3
    frame = found.result_frame
    assert frame.loc["d-a", "coef"] == np.inf and np.isnan(frame.loc["d-a", "pvalue-bonferroni"])
    assert not frame.loc["d-a", "reject-bonferroni"]


def test_refusals():
    t = toy()
    res = glmclf.Logit.from_formula("y ~ x + g", t).fit()
    for bad, why in (
        ("x", "is a number, without levels"),
        ("nosuch", "no factor of the formula; the factors of the formula are g"),
    ):
        with pytest.raises(DataError, match=why):
            res.t_test_pairwise(bad)
    with pytest.raises(ValueError, match='choose "holm", '):
        res.t_test_pairwise("g", "scheffe")
    with pytest.raises(ValueError, match="alpha"):
        res.t_test_pairwise("g", alpha=2)
    with pytest.raises(ValueError, match="name of a factor"):
        res.t_test_pairwise(3)
    with pytest.raises(DataError, match="no formula"):
        glmclf.Logit(t.y, t[["x"]]).fit().t_test_pairwise("g")
    with pytest.raises(DataError, match="enters the formula also as h"):
        glmclf.Logit.from_formula("y ~ x + C(h) + x:h", t).fit().t_test_pairwise("C(h)")
    with pytest.raises(NotImplementedError, match="penalised"):
        glmclf.Logit.from_formula("y ~ x + g", t).fit_regularized(0.1).t_test_pairwise("g")
    penguins = datasets.load("penguins")
    assert glmclf.Logit.from_formula("sex ~ species", penguins).fit().t_test_pairwise("species", seed=3).error == 0


def test_what_is_no_place_no_seed_and_no_factor():
    rng = np.random.default_rng(5)
    df = pd.DataFrame({"x": rng.normal(size=90), "g": list("abc") * 30, "y": rng.integers(0, 2, 90)})
    res = glmclf.Logit.from_formula("y ~ g * x", df).fit()
    for at in (3, [("x", 1)], "x"):
        with pytest.raises(ValueError, match="at=.*: a dict of values"):
            res.t_test_pairwise("g", at=at)
    for seed in ("a", 1.5, -1, True):
        with pytest.raises(ValueError, match="seed=.*: a whole number, 0 or more"):
            res.t_test_pairwise("g", "tukey", at={"x": 0}, seed=seed)
        with pytest.raises(ValueError, match="seed=.*: a whole number, 0 or more"):
            res.predictions("g").conf_int(adjust="tukey", seed=seed)
        for what in (res.resid_quantile, res.simulate, glmclf.LDA.from_formula("y ~ x", df).fit().resid_quantile):
            with pytest.raises(ValueError, match="seed=.*: a whole number, 0 or more"):
                what(seed=seed)
    for model in (glmclf.LDA, glmclf.Logit):
        with pytest.raises(glmclf.errors.DataError, match="the model has no formula with factors"):
            model(df.y, df[["x"]]).fit().t_test_pairwise("x")


def test_complex_numbers_are_refused():
    rng = np.random.default_rng(5)
    df = pd.DataFrame({"x": rng.normal(size=90), "o": rng.normal(size=90), "y": rng.integers(0, 2, 90)})
    res = glmclf.Logit(df.y, df[["x"]], offset=df.o).fit()
    with pytest.raises(glmclf.errors.DataError, match="exog_extra must be real numbers; found .*complex128"):
        res.score_test(df.o.to_numpy() * (1 + 1j))
    with pytest.raises(glmclf.errors.DataError, match="offset"):
        res.predict(df[["x"]].to_numpy(), offset=df.o.to_numpy() * 1j)
    with pytest.raises(ValueError, match="params must be real numbers"):
        res.model.loglike([1j])


def test_hundreds_of_levels_take_the_memory_of_the_table():
    """4950 pairs: a correlation matrix of all has 196 MB. Groups alone: log odds and 1/y + 1/(n - y) by hand."""
    import tracemalloc

    i = np.arange(100)
    data = pd.DataFrame({"g": [f"{k:02d}" for k in i], "s": 1 + i * 7 % 11, "f": 2 + i * 5 % 13})
    res = glmclf.Logit.from_formula("s + f ~ g", data).fit()
    tracemalloc.start()
    found = res.t_test_pairwise("g", method="holm")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found.result_frame) == 4950 and peak < 60e6
    logit, variance = np.log(data["s"] / data["f"]), 1 / data["s"] + 1 / data["f"]
    a, b = np.triu_indices(100, 1)
    assert_allclose(found.result_frame["coef"], logit[b].to_numpy() - logit[a].to_numpy(), atol=1e-9)
    assert_allclose(found.result_frame["std err"], np.sqrt(variance[b].to_numpy() + variance[a].to_numpy()), rtol=1e-8)
    assert found.contrasts.shape == (4950, 100) and found.contrasts.index[-1] == "99-98"


def test_a_root_of_the_correlation_has_the_law_of_the_correlation():
    R = differences(6) / np.sqrt(2)
    of_root, of_matrix = (pairwise.JointTail(C, 12.0, 0) for C in (R, R @ R.T))
    p, error = of_root(3.5)
    assert_allclose(p, of_matrix(3.5)[0], rtol=4 * (error + of_matrix(3.5)[1]))
