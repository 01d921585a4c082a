"""Vuong's test and fits side by side: R's numbers, what compares, and what is refused."""

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
    with pytest.raises(ValueError, match="cannot be told"):
        glmclf.compare(kept[0], flipped)
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
