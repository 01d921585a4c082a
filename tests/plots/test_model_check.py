"""Check of a fit: verdicts follow numbers of known cases, numbers are those of the methods, panels left out say why."""

import numpy as np
import pandas as pd
import pytest

plt = pytest.importorskip("matplotlib.pyplot")

from figures import crowded  # noqa: E402
from numpy.testing import assert_allclose  # noqa: E402
from scipy import stats  # noqa: E402

from glmclf import LDA, QDA, CLogLog, Logit, NaiveBayes, Probit, plots  # noqa: E402
from glmclf.errors import DataError, SeparationWarning  # noqa: E402


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


def test_constraints_have_a_slope():
    t, rng = table(2000)
    t = drawn(t, expit(0.4 * t.x), rng)
    res = Logit.from_formula("y ~ x", t).fit_constrained("x = 1")
    found = res.check("calibration")
    assert_allclose(found.table.value["calibration slope"], res.calibration(20).slope, rtol=1e-12)
    assert verdicts(found)["calibration slope"] == "problem"


def test_overdispersed_counts_are_a_problem():
    rng = np.random.default_rng(3)
    x = rng.normal(size=200)
    p = rng.beta(4 * expit(x), 4 * expit(-x))
    t = pd.DataFrame({"x": x, "yes": rng.binomial(20, p)}).assign(no=lambda t: 20 - t.yes)
    res = Logit.from_formula("yes + no ~ x", t).fit()
    found = res.check(["calibration", "residuals"])
    assert verdicts(found)["goodness of fit"] == "problem" and verdicts(found)["residuals"] != "fine"
    assert_allclose(found.table.value["goodness of fit"], res.gof_test().statistic["Pearson"], rtol=1e-12)
    shares = Logit.from_formula("part ~ x", t.assign(part=t.yes / 20)).fit(cov_type="HC1")
    for fit, event in ((res, "yes"), (shares, "part")):
        assert plots.check(fit, "calibration").axes[0].get_xlabel() == f"predicted probability of {event}"


def test_small_deviations_of_many_rows_are_fine():
    t, rng = table(200_000)
    t = drawn(t, expit(0.8 * t.x + 0.02 * t.x**2), rng)
    t = t.assign(x=t.x.round(2)).groupby(["x", "y"], as_index=False).size()
    found = Logit.from_formula("y ~ x", t, freq_weights="size").fit().check("calibration")
    assert found.table.pvalue["link"] < 0.001 and found.verdict == "fine"


def test_given_priors_have_no_verdict_of_calibration():
    res = LDA.from_formula("g ~ a + b", classes(), priors={"p": 0.8, "q": 0.1, "r": 0.1}).fit()
    assert set(res.check("calibration").table.verdict) == {""}


def test_penalties_shrink_on_purpose():
    t, rng = table()
    res = Logit.from_formula("y ~ x + z", drawn(t, expit(2 * t.x), rng)).fit_regularized(1.0)
    found = res.check(["calibration", "regressors"])
    assert found.table.pvalue.min() < 0.001 and set(found.table.verdict) == {""}


def test_an_offset_is_a_regressor():
    t, rng = table()
    t = drawn(t.assign(o=rng.normal(size=len(t))), expit(t.x), rng)
    for offset in ("o", "np.sinh(o)"):
        found = Logit.from_formula("y ~ x", t, offset=offset).fit().check("regressors")
        assert " bins of o " in found.words("regressors") and found.verdict == "problem"


def test_pooled_normal_laws_are_compared_together():
    res = LDA.from_formula("g ~ a + b", t := classes()).fit()
    z = (t.a - t.groupby("g").a.transform("mean")).to_numpy() / np.sqrt(res.covariances.loc["a", "a"])
    found = res.check("features")
    own = found._inspection.drawn["features"]["table"].set_index("feature")
    assert_allclose(own.distance["a"], stats.kstest(z, "norm").statistic, rtol=1e-10)


@pytest.mark.parametrize("model", [LDA, QDA, NaiveBayes])
def test_laws_of_repeated_rows(model):
    t = classes(n=60).assign(f=lambda t: np.arange(len(t)) % 3 + 1)
    weighted = model.from_formula("g ~ a + b", t, freq_weights="f").fit().check().table
    repeated = model.from_formula("g ~ a + b", t.loc[t.index.repeat(t.f)]).fit().check().table
    assert list(weighted.index) == list(repeated.index)
    assert_allclose(*(x.drop("outliers", errors="ignore").value for x in (weighted, repeated)), rtol=1e-6)


def test_complete_separation_is_said():
    t, _ = table(60)
    with pytest.warns(SeparationWarning):
        res = Logit.from_formula("y ~ x", t.assign(y=(t.x > 0).astype(int))).fit()
    found = res.check()
    assert "separation" in found.words("estimate") and found.verdict == "look"
    assert "moves the estimate" in found.left_out["influence"]
    assert "separation" in plots.check(found).get_suptitle()


@pytest.mark.parametrize("model", [Logit, LDA])
def test_streams_have_what_sums_over_rows_give(model):
    t = classes().query("g != 'r'")
    stream = model.from_formula("g ~ a + b", lambda: iter([t[:200], t[200:]])).fit()
    whole = model.from_formula("g ~ a + b", t).fit()
    found = stream.check()
    assert "stream" in found.left_out["residuals"] and "calibration" in found.panels
    same = [check for check in found.table.index if check != "estimate"]
    assert_allclose(found.table.value[same], whole.check().table.value[same], rtol=1e-6)


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


def test_intervals_of_calibration_are_in_view():
    t, rng = table()
    fig = plots.check(Logit.from_formula("y ~ x + z", drawn(t, np.full(600, 0.5), rng)).fit(), "calibration")
    ends = np.concatenate([path.vertices[:, 1] for path in fig.axes[0].collections[0].get_paths()])
    assert ends.max() < fig.axes[0].get_ylim()[1] < 1.0


def test_axes_of_a_user(logit):
    figure, axes = plt.subplots(1, 2)
    assert plots.check(logit, ["influence", "roc"], ax=axes) is figure
    assert axes[1].get_title().startswith("ROC: AUC")
    with pytest.raises(ValueError, match="2 panels"):
        plots.check(logit, ["influence", "roc"], ax=axes[0])


def test_wide_and_many_levels_are_readable(wide, eight):
    for res in (wide, eight):
        assert not crowded(plots.check(res))


def test_rows_of_large_data_are_sampled_in_the_figure_alone():
    t, rng = table(30_000)
    res = Logit.from_formula("y ~ x + z", drawn(t, expit(t.x), rng)).fit()
    ax = plots.check(res, "influence").axes[0]
    shown, cooks = ax.collections[0].get_offsets(), res.get_influence().cooks_distance[0]
    assert len(shown) < 11_000 and f"{len(shown):,} of 30,000 rows drawn" in [x.get_text() for x in ax.texts]
    assert cooks.max() in shown[:, 1]


@pytest.mark.parametrize(
    "options, error", [({"panels": 3}, TypeError), ({"panels": []}, ValueError), ({"alpha": 2}, ValueError),
                       ({"seed": "a"}, ValueError)]
)  # fmt: skip
def test_bad_options(logit, options, error):
    with pytest.raises(error, match=next(iter(options))):
        logit.check(**options)


def test_results_without_rows(penguins):
    res = Logit.from_formula("sex ~ bill_length_mm + bill_depth_mm", penguins).fit()
    res.remove_data()
    found = res.check()
    assert found.panels == ["estimate"]
    first, *_, last = repr(found).splitlines()
    assert first == "Check of Logit: only the estimate was looked at: fine" and first in found._repr_html_()
    assert last.startswith("not looked at: calibration, regressors, residuals, influence, collinearity, roc: ")
    assert "needs the rows of the fit" in last and last in found._repr_html_() and "features" not in last
    assert "removed" in found.left_out["calibration"]
    with pytest.raises(DataError, match="residuals"):
        res.check(["residuals"])
