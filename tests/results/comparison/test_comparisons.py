"""Vuong's test and fits side by side: R's numbers, what compares, and what is refused."""

import json
import pickle
import re

import numpy as np
import pandas as pd
import pytest
import references
from numpy.testing import assert_allclose

import glmclf
from glmclf import datasets


@pytest.fixture(scope="module")
def birthwt():
    return references.reference("birthwt__logit")[1]


@pytest.fixture(scope="module")
def penguins():
    return datasets.load("penguins").dropna().reset_index(drop=True)


def test_vuong_of_r(birthwt):
    """R 4.2.2, pscl 1.5.5: vuong(glm(low ~ lwt + race, binomial), glm(low ~ smoke + ht + ptl + ui, binomial)), which
    divides the variance by n - 1; and the same with n."""
    a = glmclf.Logit.from_formula("low ~ lwt + C(race)", birthwt).fit()
    b = glmclf.Logit.from_formula("low ~ smoke + ht + ptl + ui", birthwt).fit()
    table = a.compare_vuong(b)
    assert list(table.index) == ["uncorrected", "AIC", "BIC"]
    assert_allclose(table["statistic"], [-0.590265049161, -0.412182485634, -0.123533176259], rtol=1e-8)
    pscl = np.array([-0.588701430390, -0.411090609581, -0.123205935483])
    assert_allclose(table["statistic"] * np.sqrt(188 / 189), pscl, rtol=1e-8)
    assert_allclose(table["pvalue"].iloc[0], 2 * 0.277508, rtol=1e-3)  # of the normal distribution at .590265
    assert_allclose(b.compare_vuong(a)["statistic"], -table["statistic"], rtol=1e-12)


@pytest.mark.parametrize(
    "pair", [("Logit", "CLogLog"), ("Probit", "Logit"), ("MNLogit", "MNLogit"), ("LDA", "NaiveBayes")]
)
def test_vuong_counts_repeated_rows(penguins, pair):
    f = penguins.index.to_numpy() % 4
    long = penguins.loc[penguins.index.repeat(f)]
    y = {"MNLogit": "island", "LDA": "species"}.get(pair[0], "sex")
    first = second = f"{y} ~ body_mass_g + bill_depth_mm"
    second = first if pair[0] != pair[1] else f"{y} ~ bill_depth_mm + flipper_length_mm"
    tables = []
    for data, keywords in ((penguins, {"freq_weights": f}), (long, {})):
        one, two = (getattr(glmclf, m).from_formula(t, data, **keywords).fit() for m, t in zip(pair, (first, second)))
        tables.append(one.compare_vuong(two))
    assert_allclose(*tables, rtol=1e-6)


def test_vuong_across_codings(penguins):
    """Logit and MNLogit of two levels, any event: the same likelihoods of the rows."""
    a = glmclf.Logit.from_formula("sex ~ body_mass_g", penguins).fit()
    other = "sex ~ bill_depth_mm"
    fits = [
        glmclf.Logit.from_formula(other, penguins).fit(),
        glmclf.Logit.from_formula(other, penguins, event="female").fit(),
        glmclf.MNLogit.from_formula(other, penguins, reference="male").fit(),
    ]
    tables = [a.compare_vuong(b).to_numpy() for b in fits]
    assert_allclose(tables[1:], [tables[0]] * 2, rtol=1e-7)
    wide = glmclf.MNLogit.from_formula("sex ~ body_mass_g + bill_depth_mm", penguins, reference="male").fit()
    with pytest.raises(ValueError, match="nested in the other model.*compare_lr_test"):
        a.compare_vuong(wide)
    with pytest.raises(ValueError, match="same likelihood"):
        a.compare_vuong(glmclf.MNLogit.from_formula("sex ~ body_mass_g", penguins).fit())


def test_vuong_refusals(penguins):
    make = glmclf.Logit.from_formula
    a, b = make("sex ~ body_mass_g", penguins).fit(), make("sex ~ body_mass_g + year", penguins).fit()
    with pytest.raises(ValueError, match="this fit is nested in the other"):
        a.compare_vuong(b)
    with pytest.raises(ValueError, match="this fit contains the other"):
        b.compare_vuong(a)
    with pytest.raises(NotImplementedError, match="firth"):
        a.compare_vuong(make("sex ~ bill_depth_mm", penguins).fit(bias_reduction="firth"))
    with pytest.raises(NotImplementedError, match="penalty or smoothing"):
        a.compare_vuong(make("sex ~ bill_depth_mm", penguins).fit_regularized(0.1))
    with pytest.raises(NotImplementedError, match="compare_vuong of a penalised fit"):
        make("sex ~ bill_depth_mm", penguins).fit_regularized(0.1).compare_vuong(a)
    with pytest.raises(ValueError, match="pseudo-likelihood"):
        a.compare_vuong(make("sex ~ bill_depth_mm", penguins, weights="body_mass_g").fit())
    with pytest.raises(TypeError, match="found str"):
        a.compare_vuong("b")
    f = "species ~ body_mass_g + bill_depth_mm"
    qda, bayes = (getattr(glmclf, m).from_formula(f, penguins).fit() for m in ("QDA", "NaiveBayes"))
    with pytest.raises(ValueError, match="contains the other"):
        qda.compare_vuong(bayes)


def test_side_by_side(birthwt):
    fit = lambda m, f: getattr(glmclf, m).from_formula(f, birthwt).fit()
    a, b, c = fit("Logit", "low ~ lwt"), fit("Logit", "low ~ lwt + C(race)"), fit("Probit", "low ~ lwt + C(race)")
    table = glmclf.compare(a, b, c, names=["a", "b", "c"])
    assert list(table.index) == ["a", "b", "c"] and (table["likelihood"] == "conditional").all()
    assert table.loc["b", "model"] == "Logit: low ~ lwt + C(race)"
    for res, name in ((a, "a"), (b, "b"), (c, "c")):
        assert table.loc[name, ["llf", "aic", "bic", "nobs"]].tolist() == [res.llf, res.aic, res.bic, res.nobs]
        assert table.loc[name, "parameters"] == len(res.params)
    assert_allclose(table.loc["b", ["LR", "df", "pvalue"]].astype(float), np.array(b.compare_lr_test(a))[[0, 2, 1]])
    assert table.loc[["a", "c"], "LR"].isna().all()
    assert_allclose(table["delta_aic"], table["aic"] - table["aic"].min())
    assert_allclose(glmclf.compare(b, a).loc["(2)", "LR"], table.loc["b", "LR"])  # the larger one first


def test_generative_fits_side_by_side(penguins):
    f = "species ~ body_mass_g + bill_depth_mm"
    lda, qda, bayes = (getattr(glmclf, m).from_formula(f, penguins).fit() for m in ("LDA", "QDA", "NaiveBayes"))
    table = glmclf.compare(lda, qda, bayes)
    assert (table["likelihood"] == "joint").all()
    assert_allclose(table["LR"].iloc[1:], [2 * (qda.llf - lda.llf), 2 * (qda.llf - bayes.llf)], rtol=1e-9)
    assert_allclose(table["df"].iloc[1:], [6, 3])
    ladder = lda.ladder()
    assert_allclose(
        table["aic"].iloc[:2], [ladder.loc[np.isclose(ladder.llf, r.llf), "aic"].item() for r in (lda, qda)]
    )


def test_what_means_nothing_is_refused(penguins):
    f = "island ~ body_mass_g + bill_depth_mm"
    lda, logit = glmclf.LDA.from_formula(f, penguins).fit(), glmclf.MNLogit.from_formula(f, penguins).fit()
    with pytest.raises(ValueError, match=r"\(1\) is joint.*compare_conditional"):
        glmclf.compare(lda, logit)
    with pytest.raises(ValueError, match="large is joint"):
        glmclf.compare(logit, lda, names=["small", "large"])
    with pytest.raises(ValueError, match="different variables.*bill_depth_mm"):
        glmclf.compare(lda, glmclf.LDA.from_formula("island ~ body_mass_g", penguins).fit())
    counts = glmclf.NaiveBayes.from_formula(f, penguins, families={"body_mass_g": "poisson"}).fit()
    with pytest.raises(ValueError, match=r"body_mass_g: density; probability.*nor with probabilities"):
        glmclf.compare(lda, counts)
    with pytest.raises(ValueError, match="numbers of observations, 333 and 323"):
        glmclf.compare(logit, glmclf.MNLogit.from_formula(f, penguins.iloc[10:]).fit())
    shuffled = penguins.assign(island=penguins.island.sample(frac=1, random_state=0).to_numpy())
    with pytest.raises(ValueError, match="their response differ"):
        glmclf.compare(logit, glmclf.MNLogit.from_formula(f, shuffled).fit())
    with pytest.raises(ValueError, match="levels differ"):
        glmclf.compare(logit, glmclf.MNLogit.from_formula("species ~ year", penguins).fit())
    with pytest.raises(ValueError, match="pseudo-likelihood"):
        glmclf.compare(logit, glmclf.MNLogit.from_formula(f, penguins, weights="body_mass_g").fit())
    with pytest.warns(glmclf.errors.ConvergenceWarning):
        short = glmclf.MNLogit.from_formula(f, penguins).fit(maxiter=1)
    with pytest.raises(ValueError, match=r"\(2\) did not converge"):
        glmclf.compare(logit, short)
    f = np.ones(333, dtype=int)
    f[0] = 2
    f[1] = 0
    double = glmclf.MNLogit.from_formula("island ~ body_mass_g", penguins, freq_weights=f).fit()
    with pytest.raises(ValueError, match="differ"):
        glmclf.compare(logit, double)


def test_bad_arguments(birthwt, penguins):
    res = glmclf.Logit.from_formula("low ~ lwt", birthwt).fit()
    with pytest.raises(TypeError, match="two fits or more"):
        glmclf.compare(res)
    with pytest.raises(TypeError, match="found int"):
        glmclf.compare(res, 3)
    with pytest.raises(TypeError, match=r"found list: pass them one by one, compare\(\*results\)"):
        glmclf.compare([res, res])
    for names, why in (["a"], "one name for each"), ("ab", "one name for each"), (["a", "a"], "twice"):
        with pytest.raises(ValueError, match=why):
            glmclf.compare(res, res, names=names)


def test_kept_results(birthwt, tmp_path):
    a, b = (glmclf.Logit.from_formula(f, birthwt).fit() for f in ("low ~ lwt", "low ~ lwt + ht"))
    expected, kept = glmclf.compare(a, b), []
    for i, res in enumerate((a, b)):
        res.save(tmp_path / f"{i}.json")
        kept.append(glmclf.load(tmp_path / f"{i}.json"))
    pd.testing.assert_frame_equal(glmclf.compare(*kept), expected)
    with pytest.raises(glmclf.errors.DataError, match="rows of the fit"):
        kept[0].compare_vuong(glmclf.Logit.from_formula("low ~ smoke", birthwt).fit())
    flipped = glmclf.Logit.from_formula("low ~ ht", birthwt, event=0).fit()
    pd.testing.assert_frame_equal(glmclf.compare(kept[0], flipped), glmclf.compare(a, flipped))
    assert glmclf.compare(a, flipped)["llf"].notna().all()


# ------------------------------------------------------------------------- one decision of what is the same data
@pytest.fixture(scope="module")
def coded():
    """One response in several codings."""
    g = np.random.default_rng(11)
    n = 200
    d = pd.DataFrame({"x": g.normal(size=n), "z": g.normal(size=n), "o": g.normal(size=n) / 2})
    d["f"] = g.integers(1, 4, n)
    d["y"] = (g.random(n) < 1 / (1 + np.exp(-d.x - d.o))).astype(int)
    d["label"] = np.where(d.y == 1, "ill", "well")
    d["no"] = 1 - d.y
    d["k"] = np.where(d.y == 1, "p", np.where(d.z > 0.3, "q", "r"))
    return d.assign(K=d.k.map({"p": "zero", "q": "b", "r": "a"}), swapped=d.k.map({"p": "q", "q": "p", "r": "r"}))


def fits(d, *pairs, **options):
    for name, formula, more in pairs:
        yield getattr(glmclf, name).from_formula(formula, d, **{**options, **more}).fit()


SAME = {
    "another event": (("Logit", "y ~ x + z", {"event": 0}), ("Logit", "y ~ x", {})),
    "probit": (("Probit", "y ~ x + z", {"event": 0}), ("Probit", "y ~ x", {})),
    "labels": (("Logit", "y ~ x + z", {}), ("Logit", "label ~ x", {})),
    "labels, the other event": (("CLogLog", "y ~ x + z", {}), ("CLogLog", "label ~ x", {"event": "ill"})),
    "two levels": (("Logit", "y ~ x + z", {}), ("MNLogit", "y ~ x", {})),
    "two labels": (("MNLogit", "label ~ x + z", {}), ("Logit", "y ~ x", {"event": 0})),
    "three labels": (("MNLogit", "k ~ x + z", {}), ("MNLogit", "K ~ x", {"reference": "b"})),
    "generative": (("QDA", "k ~ x + z", {}), ("LDA", "K ~ x + z", {"reference": "b"})),
    "naive Bayes": (("NaiveBayes", "k ~ x + z", {"pooled": False}), ("NaiveBayes", "K ~ x + z", {"pooled": True})),
}


@pytest.mark.parametrize("weights", [{}, {"freq_weights": "f"}])
@pytest.mark.parametrize("case", SAME)
def test_the_likelihood_says_what_is_the_same_data(coded, case, weights):
    """Whatever the classes are called or coded as: 2 (llf - llf) in all, and Vuong's test points to it."""
    large, small = fits(coded, *SAME[case], **weights)
    test = large.compare_lr_test(small)
    assert_allclose(test.statistic, 2 * (large.llf - small.llf), rtol=1e-9)
    row = glmclf.compare(small, large).iloc[1]
    assert_allclose(row[["LR", "df", "pvalue"]].astype(float), [test.statistic, test.df, test.pvalue], rtol=1e-12)
    with pytest.raises(ValueError, match="Use compare_lr_test"):
        small.compare_vuong(large)


@pytest.mark.parametrize(
    ("case", "options"), [("another event", [{"offset": "o"}, {"offset": "m"}]), ("two levels", [{"offset": "o"}] * 2)]
)
def test_offsets_are_compared_by_class(coded, case, options):
    """An offset of one event is its negative of the other."""
    d = coded.assign(m=-coded.o)
    (a, f, more), (b, g, rest) = SAME[case]
    large, small = fits(d, (a, f, more | options[0]), (b, g, rest | options[1]))
    same = next(fits(d, (a, "y ~ x", more | options[0])))
    assert_allclose(large.compare_lr_test(small), large.compare_lr_test(same), rtol=1e-7)
    other = next(fits(d, (b, g, rest | {"offset": "z"})))
    with pytest.raises(ValueError, match=r"different data \(their offset differ"):
        large.compare_lr_test(other)
    assert np.isnan(glmclf.compare(other, large)["LR"].iloc[1])


@pytest.mark.parametrize(
    ("large", "small"),
    [
        (("Logit", "y ~ x + z", {}), ("Logit", "no ~ x", {})),  # a name that both have is of one class
        (("MNLogit", "k ~ x + z", {}), ("MNLogit", "swapped ~ x", {})),
        (("QDA", "k ~ x + z", {}), ("LDA", "swapped ~ x + z", {})),
        (("MNLogit", "k ~ x + z", {}), ("Logit", "y ~ x", {})),
        (("Logit", "y ~ x + z", {"freq_weights": "f"}), ("Logit", "y ~ x", {})),
    ],
)
def test_other_classes_are_other_data_to_all(coded, large, small):
    a, b = fits(coded, large, small)
    for test in (a.compare_lr_test, a.compare_vuong, lambda other: glmclf.compare(a, other)):
        with pytest.raises(ValueError, match=r"differ|not nested"):
            test(b)


def test_tails_of_a_cloglog_are_not_nested(coded):
    a, b = fits(coded, ("CLogLog", "y ~ x + z", {}), ("CLogLog", "y ~ x", {"event": 0}))
    with pytest.raises(ValueError, match="other event"):
        a.compare_lr_test(b)
    assert np.isnan(glmclf.compare(b, a)["LR"].iloc[1])
    assert a.compare_vuong(b)["pvalue"].notna().all()


def test_constraints_of_the_other_event(coded):
    """x = 0.5 of one event is x = -0.5 of the other."""
    one, other = (glmclf.Logit.from_formula("y ~ x + z", coded, event=e) for e in (1, 0))
    with pytest.raises(ValueError, match="opposite signs"):
        one.fit_constrained("x = 0.5").compare_lr_test(other.fit_constrained("x = 0.5, z = 0"))
    same = one.fit_constrained("x = z").compare_lr_test(one.fit_constrained("x = z, z = 0"))
    found = one.fit_constrained("x = z").compare_lr_test(other.fit_constrained("x = z, z = 0"))
    assert_allclose(found, same, rtol=1e-8)


def test_firth_of_the_other_event(coded):
    kept = {}
    for event in (0, 1):
        a = glmclf.Logit.from_formula("y ~ x + z", coded).fit(bias_reduction="firth")
        b = glmclf.Logit.from_formula("y ~ x", coded, event=event).fit(bias_reduction="firth")
        kept[event] = a.compare_lr_test(b)
    assert_allclose(kept[0], kept[1], rtol=1e-7)


@pytest.mark.parametrize("smaller", ["y ~ C(g, Sum) + x", "y ~ I(3 * x)"])
def test_nesting_of_kept_results_that_names_do_not_decide(coded, tmp_path, smaller):
    d = coded.assign(g=np.where(coded.z > 0, "a", "b"))
    fitted = [glmclf.Logit.from_formula(f, d).fit() for f in ("y ~ C(g) + x + z", smaller, "y ~ x")]
    loaded = []
    for i, res in enumerate(fitted):
        res.save(tmp_path / f"{i}.json")
        loaded.append(glmclf.load(tmp_path / f"{i}.json"))
    large, small, named = loaded
    assert large.compare_lr_test(named) == fitted[0].compare_lr_test(fitted[2])
    for a, b in ((large, small), (fitted[0], small), (large, fitted[1])):
        with pytest.raises(glmclf.errors.DataError, match="cannot be decided without the rows"):
            a.compare_lr_test(b)
        with pytest.warns(glmclf.errors.InferenceWarning, match=r"no likelihood ratio of \(1\) and \(2\)"):
            assert np.isnan(glmclf.compare(a, b)["LR"].iloc[1])
    assert glmclf.compare(fitted[1], fitted[0])["LR"].iloc[1] > 0


@pytest.fixture(scope="module")
def nested():
    r = np.random.default_rng(0)
    d = pd.DataFrame({"x": r.normal(size=150), "z": r.uniform(0.5, 3, 150), "g": r.choice([*"abc"], 150)})
    d["y"] = (r.uniform(size=150) < 1 / (1 + np.exp(-d.x))).astype(int)
    d["k"] = r.choice([*"pqr"], 150)
    return d.assign(half=d.x / 2, part=0.3 * d.x, minus=-d.x / 2, one=1, two=np.where(d.k == "r", "q", d.k))


HALF, SAME_X = ("y ~ z", None, "half"), ("k ~ x + z", "yq_x = yr_x")
NESTED = [  # the larger fit, the smaller one, and two plain ones with the same likelihoods
    ("Logit", ("y ~ x + z + g", "x = z"), ("y ~ I(x + z)",), ("y ~ I(x + z) + g",), ("y ~ I(x + z)",)),
    ("Probit", ("y ~ x + z", None, "half"), ("y ~ x",), ("y ~ x + z",), ("y ~ x",)),
    ("Logit", ("y ~ x + z",), ("y ~ z", None, "part"), ("y ~ x + z", None, "part"), ("y ~ z", None, "part")),
    ("Logit", ("y ~ x + z + g", "x = 0.5"), ("y ~ x + z", "x = 0.5"), ("y ~ z + g", None, "half"), HALF),
    ("CLogLog", ("y ~ x + z + g", "x = 0.5"), HALF, ("y ~ z + g", None, "half"), HALF),
    ("Logit", ("y ~ x + z + g",), ("y ~ x + z", "x = 0.5"), ("y ~ x + z + g", None, "half"), HALF),
    ("Logit", ("y ~ x + z + g", "x = 0.5"), ("y ~ x + z", "x = -0.5", None, 0), ("y ~ z + g", None, "half"), HALF),
    ("MNLogit", SAME_X, ("k ~ I(2 * z)",), None, ("k ~ z",)),
    ("MNLogit", SAME_X, ("k ~ z", None, None, "r"), None, ("k ~ z",)),
    (
        "MNLogit",
        SAME_X,
        ("k ~ x + z", "yp_z = yq_z, yq_x = 0", None, "r"),
        None,
        ("k ~ x + z", "yq_x = yr_x, yq_z = 0"),
    ),
]


def held(model, data, formula, constraint=None, offset=None, base=None):
    words = {} if base is None else {"reference" if model == "MNLogit" else "event": base}
    made = getattr(glmclf, model).from_formula(formula, data, **({} if offset is None else {"offset": offset}), **words)
    return made.fit() if constraint is None else made.fit_constrained(constraint)


@pytest.mark.parametrize(("model", "larger", "smaller", "wide", "narrow"), NESTED)
def test_nested_by_what_the_linear_predictors_can_be(nested, model, larger, smaller, wide, narrow):
    a, b = held(model, nested, *larger), held(model, nested, *smaller)
    found = a.compare_lr_test(b)
    plain = [held(model, nested, *(spec or larger)).llf for spec in (wide, narrow)]
    assert_allclose(found.statistic, 2 * (plain[0] - plain[1]), rtol=1e-6)
    row = glmclf.compare(b, a).iloc[1]
    assert_allclose([row.LR, row.pvalue, row.df], found, rtol=1e-12)
    with pytest.raises(ValueError, match="this fit contains the other"):
        a.compare_vuong(b)
    with pytest.raises(ValueError, match="this fit is nested in the other"):
        b.compare_vuong(a)


@pytest.mark.parametrize(
    ("model", "larger", "smaller", "words"),
    [
        ("Logit", ("y ~ x + z + g", "x = 0.5"), ("y ~ x + z", "x = 0.7"), "need not obey the constraints x = 0.5"),
        ("Logit", ("y ~ x + z + g", "x = z"), ("y ~ x", None), "x of the restricted model is no combination"),
        ("Logit", ("y ~ x + z + g", "x = 0.5"), ("y ~ z", None, "minus"), "offset differ"),
        ("MNLogit", SAME_X, ("k ~ x + z", "yp_x = 0, yp_z = yq_z", None, "r"), "yq_x"),
        ("MNLogit", ("k ~ x + z", None), ("two ~ x", None), "their levels differ"),
    ],
)
def test_not_nested_by_what_the_linear_predictors_can_be(nested, model, larger, smaller, words):
    a, b = held(model, nested, *larger), held(model, nested, *smaller)
    with pytest.raises(ValueError, match=words):
        a.compare_lr_test(b)
    if "levels" not in words:
        assert np.isnan(glmclf.compare(b, a)["LR"].iloc[1])
        assert a.compare_vuong(b)["pvalue"].notna().all()


def test_kept_constrained_fits(nested, tmp_path):
    a, b = held("Logit", nested, "y ~ x + z + g", "x = z"), held("Logit", nested, "y ~ I(x + z)", None)
    b.save(tmp_path / "b.json")
    with pytest.raises(glmclf.errors.DataError, match="cannot be decided without the rows"):
        a.compare_lr_test(glmclf.load(tmp_path / "b.json"))


def test_an_offset_of_a_penalised_likelihood_stays(nested):
    make = glmclf.Logit.from_formula
    a = make("y ~ x + z", nested).fit(bias_reduction="firth")
    with pytest.raises(ValueError, match="offset differ"):
        a.compare_lr_test(make("y ~ z", nested, offset="part").fit(bias_reduction="firth"))


@pytest.mark.parametrize(
    ("larger", "smaller", "df"),
    [("LDA", "LDA", 2), ("QDA", "LDA", 8), ("NaiveBayes", "NaiveBayes", 2), ("QDA", "NaiveBayes", 5)],
)
def test_fixed_priors_are_nested_in_estimated_ones(nested, larger, smaller, df):
    """The likelihood of fixed priors is less by sum n_k log(n_k / (n p_k))."""
    a = getattr(glmclf, larger).from_formula("k ~ x + z", nested).fit()
    b = getattr(glmclf, smaller).from_formula("k ~ x + z", nested).fit()
    fixed = getattr(glmclf, smaller).from_formula("k ~ x + z", nested, priors={"p": 0.5, "q": 0.3, "r": 0.2}).fit()
    n = nested.k.value_counts().sort_index()
    more = 2 * (n * np.log(n / n.sum() / [0.5, 0.3, 0.2])).sum()
    found = a.compare_lr_test(fixed)
    assert_allclose([found.statistic, found.df], [more + 2 * (a.llf - b.llf), df], rtol=1e-8)
    assert_allclose(glmclf.compare(fixed, a)[["LR", "df", "pvalue"]].iloc[1], np.array(found)[[0, 2, 1]])
    with pytest.raises(ValueError, match="this fit contains the other"):
        a.compare_vuong(fixed)


def test_naive_bayes_and_normal_laws(nested):
    """NaiveBayes of normal features is QDA with covariance="diag", LDA with covariance="diag" is NaiveBayes pooled."""
    make = {name: getattr(glmclf, name).from_formula for name in ("LDA", "QDA", "NaiveBayes")}
    full, bayes = make["QDA"]("k ~ x + z", nested).fit(), make["NaiveBayes"]("k ~ z + x", nested).fit()
    assert_allclose(
        full.compare_lr_test(bayes), full.compare_lr_test(make["QDA"]("k ~ x + z", nested, covariance="diag").fit())
    )
    pooled = make["NaiveBayes"]("k ~ z + x", nested, pooled=True).fit()
    diag = make["LDA"]("k ~ x + z", nested, covariance="diag").fit()
    assert_allclose(bayes.compare_lr_test(diag), bayes.compare_lr_test(pooled), rtol=1e-8)
    with pytest.raises(ValueError, match="full, by class is not nested in one that is diag, by class"):
        bayes.compare_lr_test(full)
    for other in (make["NaiveBayes"]("k ~ g + x", nested).fit(), glmclf.Logit.from_formula("y ~ x", nested).fit()):
        with pytest.raises((ValueError, TypeError), match="different variables|compare_conditional"):
            full.compare_lr_test(other)


def test_frequencies_of_one_are_none(nested):
    for name, f, g in (("Logit", "y ~ x + z", "y ~ x"), ("QDA", "k ~ x + z", "k ~ x + z")):
        a = getattr(glmclf, name).from_formula(f, nested, freq_weights="one").fit()
        b, c = (
            getattr(glmclf, "LDA" if name == "QDA" else name).from_formula(g, nested, **k).fit()
            for k in ({}, {"freq_weights": "one"})
        )
        assert a.compare_lr_test(b) == a.compare_lr_test(c)


# ------------------------------------------------------------------------------------------------- values of columns
def kept(res, tmp_path, old=False):
    """The fit from a file; of one that was written with digests in place of sums."""
    res.save(tmp_path / "fit.json")
    if old:
        stored = json.loads((tmp_path / "fit.json").read_text())
        del stored["facts"]["_data_sums"]
        stored["facts"]["_fingerprint"] = {"response": "0123", "trials": "", "weights": "", "offset": ""}
        stored["version"] = 2
        (tmp_path / "fit.json").write_text(json.dumps(stored))
    return glmclf.load(tmp_path / "fit.json")


def valued(seed=0, n=90):
    rng = np.random.default_rng(seed)
    d = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n), "y": rng.integers(0, 2, n)})
    return d.assign(m=np.array(list("pqr"))[rng.integers(0, 3, n)]), d.x.sample(frac=1, random_state=1).to_numpy()


@pytest.mark.parametrize("models", [("QDA", "NaiveBayes"), ("NaiveBayes", "NaiveBayes"), ("QDA", "LDA")])
def test_features_of_other_values_do_not_compare(models, tmp_path):
    """Another x of the same name is refused by all, of kept fits too; the same one has the test of the fits."""
    d, other = valued()
    options = {"pooled": True} if models[0] == models[1] else {}
    a = getattr(glmclf, models[0]).from_formula("m ~ x + z", d).fit()
    same = getattr(glmclf, models[1]).from_formula("m ~ z + x", d, **options).fit()
    apart = getattr(glmclf, models[1]).from_formula("m ~ z + x", d.assign(x=other), **options).fit()
    for one, two in ((a, apart), (kept(a, tmp_path), kept(apart, tmp_path)), (a, kept(apart, tmp_path))):
        for asked in (one.compare_lr_test, one.compare_vuong, lambda r, one=one: glmclf.compare(one, r)):
            with pytest.raises(ValueError, match="different features: x of the same name has other values"):
                asked(two)
    test = a.compare_lr_test(same)
    assert_allclose(kept(a, tmp_path).compare_lr_test(kept(same, tmp_path)), test, rtol=1e-10)
    table = glmclf.compare(kept(same, tmp_path), kept(a, tmp_path))
    assert_allclose(table["LR"].iloc[1], test.statistic, rtol=1e-10)
    with pytest.raises(glmclf.errors.DataError, match="earlier version"):
        kept(a, tmp_path, True).compare_lr_test(kept(same, tmp_path))


def test_columns_of_other_numbers_are_not_nested_by_name(tmp_path):
    d, other = valued()
    large = glmclf.Logit.from_formula("y ~ x + z", d).fit()
    for column in (other, d.x + 1e-6 * other):
        small = glmclf.Logit.from_formula("y ~ x", d.assign(x=column)).fit()
        for a, b in ((kept(large, tmp_path), kept(small, tmp_path)), (large, kept(small, tmp_path))):
            with pytest.raises(glmclf.errors.DataError, match="x of the restricted model holds other numbers"):
                a.compare_lr_test(b)
            with pytest.warns(glmclf.errors.InferenceWarning, match="other numbers"):
                assert np.isnan(glmclf.compare(a, b)["LR"].iloc[1])
    same = glmclf.Logit.from_formula("y ~ x", d).fit()
    test = kept(large, tmp_path).compare_lr_test(kept(same, tmp_path))
    assert_allclose(test, large.compare_lr_test(same), rtol=1e-12)
    with pytest.raises(glmclf.errors.DataError, match="earlier version"):
        kept(large, tmp_path, True).compare_lr_test(kept(same, tmp_path, True))


def test_kept_fits_of_another_event_are_told(tmp_path):
    d, _ = valued()
    fitted = glmclf.Logit.from_formula("y ~ x + z", d).fit()
    large = kept(fitted, tmp_path)
    for small in (
        glmclf.Logit.from_formula("y ~ x", d, event=0).fit(),
        glmclf.MNLogit.from_formula("y ~ x", d).fit(),
        glmclf.MNLogit.from_formula("y ~ x", d, reference=1).fit(),
    ):
        assert_allclose(large.compare_lr_test(kept(small, tmp_path)), fitted.compare_lr_test(small), rtol=1e-12)
        assert_allclose(glmclf.compare(large, small)["llf"], glmclf.compare(fitted, small)["llf"])
    other = glmclf.Logit.from_formula("y ~ x", d.assign(y=d.y.to_numpy()[::-1])).fit()  # as many events in other rows
    with pytest.raises(glmclf.errors.DataError, match="x of the restricted model holds other numbers"):
        large.compare_lr_test(kept(other, tmp_path))
    renamed = glmclf.Logit.from_formula("y ~ x", d.assign(y=np.where(d.y == 1, "p", "q"))).fit()
    with pytest.raises(glmclf.errors.DataError, match="cannot be told without the rows"):
        large.compare_lr_test(kept(renamed, tmp_path))


def texts_of(res, tmp_path):
    """What a fit leaves behind: its file, and its pickle without data."""
    res.save(tmp_path / "fit.json")
    res.remove_data()
    return (tmp_path / "fit.json").read_text(), pickle.dumps(res)


@pytest.mark.parametrize("model", ["Logit", "Probit", "CLogLog", "MNLogit", "LDA", "QDA", "NaiveBayes"])
def test_what_is_kept_does_not_depend_on_which_row_had_which_answer(model, tmp_path):
    """Sums do not know the order of rows: the same rows in another order leave the same file, up to rounding."""
    rng = np.random.default_rng(8)
    d = pd.DataFrame({"x": rng.integers(0, 8, 24) / 8, "z": rng.integers(0, 8, 24) / 8, "y": np.resize([0, 1, 1], 24)})
    both = [getattr(glmclf, model).from_formula("y ~ x + z", t).fit() for t in (d, d.sample(frac=1, random_state=3))]
    facts = []
    for res in both:
        text, data = texts_of(res, tmp_path)
        assert b"_fingerprint" not in data and "_fingerprint" not in text
        facts.append(json.loads(text)["facts"]["_data_sums"])
        assert not re.search('"[0-9a-f]{16,}"', text), "a digest"
    assert facts[0] == facts[1]


def test_sums_of_few_rows_are_not_kept(tmp_path):
    d = pd.DataFrame({"k": np.resize(range(7), 21), "rare": np.arange(21) == 20})
    res = glmclf.Logit.from_formula("rare ~ k", d).fit(bias_reduction="firth")
    res.save(tmp_path / "fit.json")
    sums = json.loads((tmp_path / "fit.json").read_text())["facts"]["_data_sums"]
    assert [len(found[0]) for found in sums["columns"].values()] == [2, 2]  # a bound, and the sum of all rows


@pytest.mark.parametrize("large, small, options", [("QDA", "LDA", {}), ("LDA", "LDA", {"covariance": "diag"})])
def test_features_in_another_order_are_the_same(large, small, options):
    d, _ = valued()
    a = getattr(glmclf, large).from_formula("m ~ x + z", d).fit()
    b, c = (getattr(glmclf, small).from_formula(f"m ~ {t}", d, **options).fit() for t in ("x + z", "z + x"))
    assert_allclose(a.compare_lr_test(c), a.compare_lr_test(b), rtol=1e-10)
    assert_allclose(glmclf.compare(c, a)["LR"].iloc[1], a.compare_lr_test(b).statistic, rtol=1e-10)
