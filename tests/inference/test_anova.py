"""Term tables against certified values, and what they refuse."""

import numpy as np
import pandas as pd
import pytest
import references
from numpy.testing import assert_allclose

import glmclf
from glmclf.inference.hypotheses import anova

DIGITS = 10  # the certified statistics are differences of log-likelihoods that are right to fifteen
CASES = references.names("anova", (*references.BINARY, "MNLogit"))


def fit(name):
    case, data = references.reference(name)
    model = getattr(glmclf, case["model"])
    return case["values"], model.from_formula(case["formula"], data, **references.model_keywords(case)).fit()


def written_as(name, terms):
    """The fit with its terms written in this order."""
    case, data = references.reference(name)
    formula = case["formula"].partition("~")[0] + "~" + " + ".join(terms)
    return getattr(glmclf, case["model"]).from_formula(formula, data, **references.model_keywords(case)).fit()


@pytest.mark.parametrize("name", CASES)
def test_certified_tables(name):
    values, res = fit(name)
    for key, rows in values.items():
        kind, test = key.split("_")
        if kind == "type1":  # the tables are in the order of the columns, numbers after factors
            res = written_as(name, list(rows))
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


# R 4.2.2: m <- glm(terms(low ~ race + smoke + race:smoke + lwt + ht, keep.order = TRUE), binomial(link), birthwt,
# control = glm.control(1e-15, 100)), race and smoke factors. Type 1: anova(m, test = "Rao" | "Chisq"); type 2: car
# 3.1-1, Anova(m, type = 2, test = "LR" | "Wald"), and anova(m0, m1, test = "Rao") of the pairs of fits; type 3
# (treatment coding): Anova(m, type = 3, test = "Wald"), and fits without the columns of the term.
TERMS = ["C(race)", "C(smoke)", "C(race):C(smoke)", "lwt", "ht"]
FROM_R = {
    "Logit": {
        (1, "score"): [5.00481301090, 9.57594817070, 3.11813317914, 3.93212593006, 6.54412320002],
        (1, "LR"): [5.01036601014, 9.68691964052, 3.15693666957, 4.20635540267, 6.06315510565],
        (2, "score"): [8.4980894312, 7.98464231788, 1.69052178693, 6.66514122256, 6.54412320002],
        (2, "LR"): [8.61030341051, 8.04742672284, 1.69915271372, 7.20900876426, 6.06315510565],
        (2, "wald"): [7.24340445979, 6.8484754383, 1.6601393996, 6.25173306135, 5.74468990877],
        (3, "score"): [6.58623677394, 6.88490954312, 1.69052178693, 6.66514122256, 6.54412320002],
        (3, "LR"): [7.17674834469, 7.3931137144, 1.69915271372, 7.20900876426, 6.06315510565],
        (3, "wald"): [5.93857326811, 6.21631684628, 1.6601393996, 6.25173306135, 5.74468990877],
    },
    "Probit": {
        (1, "score"): [5.00481301090, 9.77306967988, 2.80380670007, 4.13826541720, 6.19505887145],
        (1, "LR"): [5.01036601014, 10.02920688564, 2.81464942445, 4.49438001004, 5.76522133141],
        (2, "score"): [8.64457781568, 8.30214511234, 1.48576050743, 6.76415197094, 6.19505887145],
        (2, "LR"): [8.84617504837, 8.44345586978, 1.49842149206, 7.25528342493, 5.76522133141],
        (3, "score"): [6.79393849226, 7.24319378662, 1.48576050743, 6.76415197094, 6.19505887145],
        (3, "LR"): [7.32099826306, 7.66005757994, 1.49842149206, 7.25528342493, 5.76522133141],
        (3, "wald"): [6.64610422487, 6.97208511484, 1.49353259766, 6.59209363778, 5.69912656455],
    },
    "CLogLog": {
        (1, "score"): [5.00481301090, 9.20535293214, 3.80932339558, 3.78041625733, 6.70898608943],
        (1, "LR"): [5.01036601014, 8.90704730454, 3.93680900555, 4.07670822286, 6.29297463407],
        (2, "score"): [8.68578391083, 8.45083658993, 2.1039973449, 6.90901289165, 6.70898608943],
        (2, "LR"): [8.68129449127, 8.33672616574, 2.14929305869, 7.07110262535, 6.29297463407],
        (3, "score"): [6.93415864412, 7.35295322098, 2.1039973449, 6.90901289165, 6.70898608943],
        (3, "LR"): [7.47986621317, 7.87061161426, 2.14929305869, 7.07110262535, 6.29297463407],
        (3, "wald"): [5.69314258896, 6.1122701962, 1.96883554134, 5.77107742824, 7.5542237046],
    },
}


@pytest.mark.parametrize("name", FROM_R)
def test_tables_of_r(name):
    data = references.reference("birthwt__logit")[1]
    formula = "low ~ C(race)*C(smoke) + lwt + ht"
    res = getattr(glmclf, name).from_formula(formula, data).fit(cov_type="expected")  # as R's glm
    for (kind, test), expected in FROM_R[name].items():
        table = res.anova(kind, test)
        if kind == 1:  # each term the last of a model of those before it
            made = [getattr(glmclf, name).from_formula("low ~ " + " + ".join(TERMS[: i + 1]), data) for i in range(5)]
            last = [m.fit().anova(3, test).loc[[term]] for m, term in zip(made, TERMS, strict=True)]
            table = pd.concat(last)
        assert list(table.index) == TERMS
        rtol = {"LR": 1e-9, "score": 1e-7, "wald": 1e-6}[test]  # what R's iterations leave
        assert_allclose(table["statistic"], expected, rtol=rtol, err_msg=f"{kind} {test}")


# R 4.2.2: the same glm without keep.order, low ~ race*smoke + lwt + ht: anova(m, test = "Rao" | "Chisq")
SEQUENTIAL = {
    "Logit": {
        "score": [5.00481301090, 9.57594817070, 4.68549189392, 7.49022475623, 1.69052178693],
        "LR": [5.010366010137, 9.686919640521, 4.960053105146, 6.767241359026, 1.699152713716],
    },
    "Probit": {
        "score": [5.00481301090, 9.77306967988, 4.76693867246, 7.12791541545, 1.48576050743],
        "LR": [5.010366010137, 10.029206885641, 5.101315464491, 6.474513809346, 1.498421492059],
    },
    "CLogLog": {
        "score": [5.00481301090, 9.20535293214, 4.83081914845, 7.78921357994, 2.10399734490],
        "LR": [5.010366010137, 8.907047304541, 5.073293838816, 7.083904964977, 2.149293058686],
    },
}


@pytest.mark.parametrize("name", SEQUENTIAL)
def test_type_1_is_in_the_order_of_r(name):
    data = references.reference("birthwt__logit")[1]
    res = getattr(glmclf, name).from_formula("low ~ C(race)*C(smoke) + lwt + ht", data).fit(cov_type="expected")
    for test, expected in SEQUENTIAL[name].items():
        table = res.anova(1, test)
        assert list(table.index) == ["C(race)", "C(smoke)", "lwt", "ht", "C(race):C(smoke)"]
        assert_allclose(table["statistic"], expected, rtol={"LR": 1e-9, "score": 1e-7}[test])


# R 4.2.2: m <- glm(low ~ lwt:race + lwt + smoke + race, binomial, birthwt, control = list(epsilon = 1e-14)), race a
# factor: anova(m, test = "LRT" | "Rao"); low ~ 0 + lwt + race: LRT; low ~ lwt + smoke + race: differences of
# t(b) %*% solve(V) %*% b of what is left
def test_a_factor_behind_numbers():
    data = references.reference("birthwt__logit")[1]
    make = glmclf.Logit.from_formula
    res = make("low ~ lwt:C(race) + lwt + smoke + C(race)", data).fit()
    LR, rao = res.anova(1, "LR"), res.anova(1, "score")
    assert list(LR.index) == ["lwt", "smoke", "C(race)", "lwt:C(race)"] and list(LR.df) == [1, 1, 2, 2]
    assert_allclose(LR.statistic, [5.98132710336, 4.35001840358, 9.32599324886, 1.49833327578], rtol=1e-9)
    assert_allclose(rao.statistic, [5.43815343272, 4.40233542731, 9.17089125514, 1.38494878746], rtol=1e-7)
    wald = make("low ~ lwt + smoke + C(race)", data).fit().anova(1, "wald")
    assert_allclose(wald.statistic, [4.12992533649, 3.45739576729, 8.73049844899], rtol=1e-8)
    bare = make("low ~ 0 + lwt + C(race)", data).fit().anova(1)
    assert_allclose(bare.statistic, [31.61164245951, 7.13890128138], rtol=1e-9)


def test_several_classes_behind_numbers(toy):
    """The likelihood ratios add up, and each is that of two fits."""
    res = glmclf.MNLogit.from_formula("y ~ x + z + g", toy, offset="o").fit()
    smaller = [glmclf.MNLogit.from_formula(f"y ~ {right}", toy, offset="o").fit() for right in ("x + z", "x", "1")]
    llf = [res.llf, *(r.llf for r in smaller)]
    table = res.anova(1)
    assert list(table.index) == ["x", "z", "g"]
    assert_allclose(table.statistic[::-1], -2 * np.diff(llf), rtol=1e-8)


@pytest.mark.parametrize("test", ["LR", "wald", "score"])
@pytest.mark.parametrize("kind", [1, 2, 3])
def test_repeated_rows_are_frequency_weights(toy, kind, test):
    f = np.random.default_rng(2).integers(0, 4, len(toy))
    long = toy.loc[toy.index.repeat(f)]
    a = glmclf.MNLogit.from_formula("y ~ x * g", toy, freq_weights=f).fit().anova(kind, test)
    assert_allclose(a, glmclf.MNLogit.from_formula("y ~ x * g", long).fit().anova(kind, test), rtol=1e-7)
