"""Check of a fit: verdicts follow numbers of known cases, numbers are those of the methods, panels left out say why."""

import numpy as np
import pandas as pd
import pytest

plt = pytest.importorskip("matplotlib.pyplot")

from figures import crowded  # noqa: E402
from numpy.testing import assert_allclose  # noqa: E402

from glmclf import LDA, QDA, CLogLog, Logit, NaiveBayes, Probit, plots  # noqa: E402
from glmclf.errors import DataError  # noqa: E402


def table(n=600, seed=0):
    rng = np.random.default_rng(seed)
    t = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n)})
    return t, rng


def drawn(t, p, rng):
    return t.assign(y=(rng.uniform(size=len(t)) < p).astype(int))


def verdicts(found):
    return found.table["verdict"].to_dict()


def expit(eta):
    return 1 / (1 + np.exp(-eta))


# ---------------------------------------------------------------------------------------------------- known cases
@pytest.mark.parametrize("model", [Logit, Probit, CLogLog])
def test_a_right_model_is_fine(model):
    t, rng = table()
    t = drawn(t, model.from_formula("y ~ x", t.assign(y=[0, 1] * 300)).link.cdf(0.3 + 0.8 * t.x - 0.5 * t.z), rng)
    found = model.from_formula("y ~ x + z", t).fit().check()
    assert found.verdict == "fine", found.table


def test_a_missing_square_is_seen_in_its_regressor():
    t, rng = table()
    t = drawn(t, expit(1.0 - 1.2 * t.x**2 + 0.5 * t.z), rng)
    found = Logit.from_formula("y ~ x + z", t).fit().check("regressors")
    assert verdicts(found) == {"regressors": "problem"}
    assert " of x within 2 se" in found.table.found["regressors"]
    right = Logit.from_formula("y ~ x + I(x**2) + z", t).fit().check("regressors")
    assert right.verdict == "fine"


def test_a_wrong_link_is_seen_in_calibration():
    t, rng = table(4000)
    t = drawn(t, -np.expm1(-np.exp(1.5 * t.x)), rng)
    wrong, right = (model.from_formula("y ~ x", t).fit().check("calibration") for model in (Logit, CLogLog))
    assert verdicts(wrong)["link"] == "problem" and right.verdict == "fine"


def test_an_outlier_is_named():
    t, rng = table(100)
    t = drawn(t, expit(2 * t.x), rng)
    t.loc["far"] = [12.0, 0.0, 0]
    found = Logit.from_formula("y ~ x + z", t).fit().check("influence")
    assert found.verdict == "problem" and "(row far)" in found.table.found["influence"]


def test_a_collinear_pair_is_named():
    t, rng = table()
    t["twin"] = t.x + 0.2 * rng.normal(size=len(t))
    t = drawn(t, expit(t.x), rng)
    res = Logit.from_formula("y ~ x + z + twin", t).fit()
    found = res.check("collinearity")
    assert found.verdict == "problem"
    assert_allclose(found.table.value["collinearity"], res.vif().GVIF.max(), rtol=1e-12)


def classes(sd=(1.0, 1.0, 1.0), n=250, seed=1):
    rng = np.random.default_rng(seed)
    parts = [pd.DataFrame(rng.normal([m, -m], s, size=(n, 2)), columns=["a", "b"]) for m, s in zip((0, 1, 2), sd)]
    return pd.concat(parts, ignore_index=True).assign(g=np.repeat(["p", "q", "r"], n))


@pytest.mark.parametrize("model", [LDA, QDA, NaiveBayes])
def test_normal_classes_are_fine(model):
    assert model.from_formula("g ~ a + b", classes()).fit().check().verdict == "fine"


def test_unequal_covariances_are_a_problem_of_lda_alone():
    t = classes((0.5, 1.0, 2.0))
    lda, qda = (model.from_formula("g ~ a + b", t).fit().check("covariances") for model in (LDA, QDA))
    assert (lda.verdict, qda.verdict) == ("problem", "")


@pytest.mark.parametrize("model", [LDA, QDA, NaiveBayes])
def test_a_feature_that_is_not_normal_is_named(model):
    t = classes()
    t["b"] = np.exp(t.b)
    found = model.from_formula("g ~ a + b", t).fit().check("features")
    assert found.verdict == "problem" and found.table.found["features"].startswith("b up to ")


def test_dependent_features_are_a_problem_of_naive_bayes():
    t = classes()
    t["b"] += 2 * t.a
    assert NaiveBayes.from_formula("g ~ a + b", t).fit().check("independence").verdict == "problem"


# ------------------------------------------------------------------------------------------------------ identities
def test_numbers_are_those_of_the_methods(logit):
    t = logit.check().table
    assert_allclose(t.pvalue["goodness of fit"], logit.gof_test().pvalue["Hosmer-Lemeshow"], rtol=1e-12)
    assert_allclose(t.pvalue["link"], logit.linktest().loc["_hatsq", "P>|z|"], rtol=1e-12)
    assert_allclose(t.value["influence"], logit.get_influence().cooks_distance[0].max(), rtol=1e-12)
    assert_allclose(t.value["roc"], logit.roc().auc, rtol=1e-12)
    assert_allclose(t.value["shrinkage"], 1 - logit.df_model / logit.llr, rtol=1e-12)


def test_repeated_rows_are_frequency_weights(penguins):
    t = penguins.assign(f=np.arange(len(penguins)) % 3 + 1)
    formula = "sex ~ bill_length_mm + bill_depth_mm"
    weighted = Logit.from_formula(formula, t, freq_weights="f").fit().check()
    repeated = Logit.from_formula(formula, t.loc[t.index.repeat(t.f)]).fit().check()
    a, b = (found.table.drop("influence") for found in (weighted, repeated))
    assert_allclose(a.value, b.value, rtol=1e-6)
    assert list(a.verdict) == list(b.verdict)


def test_no_verdict_depends_on_the_seed(logit):
    a, b = (logit.check("residuals", seed=seed).table for seed in (0, 1))
    pd.testing.assert_frame_equal(a, b)


# --------------------------------------------------------------------------------------------------------- figures
@pytest.mark.parametrize("fit", ["logit", "probit", "mnlogit", "lda", "separated"])
def test_titles_are_the_words(fit, request):
    res = request.getfixturevalue(fit)
    found = res.check()
    fig = plots.check(found)
    titles = [ax.get_title().replace("\n", " ") for ax in fig.axes]
    for name in found.panels:
        if name != "estimate":
            words = found.words(name)
            assert any(words.replace(" ", "") in title.replace(" ", "") for title in titles), (words, titles)
    assert not crowded(fig)


def test_panels_are_left_out_and_refused_by_name(lda, logit):
    found = lda.check()
    assert "influence" not in found.panels and "LDA" in found.left_out["influence"]
    with pytest.raises(NotImplementedError, match=r'check\(panels=\["influence"\]\): .* LDA'):
        plots.check(lda, "influence")
    with pytest.raises(ValueError, match="panels"):
        plots.check(logit, "influenza")
    with pytest.raises(TypeError, match="no panels="):
        plots.check(logit.check("roc"), "roc")


def test_results_without_rows(penguins):
    res = Logit.from_formula("sex ~ bill_length_mm + bill_depth_mm", penguins).fit()
    res.remove_data()
    found = res.check()
    assert found.panels == ["estimate"]
    assert "removed" in found.left_out["calibration"]
    with pytest.raises(DataError, match="residuals"):
        res.check(["residuals"])
