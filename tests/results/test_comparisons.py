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
