"""Adjusted predictions, marginal means, contrasts and effective doses, against R (tests/reference/make/margins.R)."""

import json

import numpy as np
import pandas as pd
import pytest
import references
from numpy.testing import assert_allclose
from scipy.stats import studentized_range

import glmclf
from glmclf import LDA, QDA, CLogLog, Logit, MNLogit, NaiveBayes, Probit, datasets
from glmclf.errors import DataError, InferenceWarning
from glmclf.inference.hypotheses.multiplicity import JointTail
from glmclf.inference.margins.contrasts import adjusted_pvalues, correlation, joint_critical_value
from glmclf.inference.margins.inverse import ratio

R = json.loads((references.ROOT / "r" / "margins.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def birth():
    data = references.reference("birthwt__logit")[1]
    return data.assign(race=data.race.astype(str), smoke=data.smoke.astype(str))


@pytest.fixture(scope="module")
def crossed(birth):
    return Logit.from_formula("low ~ age + lwt + race * smoke", birth).fit()


# ----------------------------------------------------------------------------------------------------- marginal means
def test_marginal_means_of_emmeans(crossed):
    """Equal weights; proportional ones are emmeans' "outer": products of the shares of each factor."""
    for weights, name in (("equal", "emmeans_equal"), ("proportional", "emmeans_outer")):
        known = R[name]
        linear = crossed.predictions("race", at="mean", weights=weights, which="linear").summary_frame()
        columns = [known["emmean"], known["se"], known["low"], known["high"]]
        assert_allclose(linear, np.column_stack(columns), rtol=1e-7)
        mean = crossed.predictions("race", at="mean", weights=weights).summary_frame()
        columns = [known["prob"], known["prob_se"], known["prob_low"], known["prob_high"]]
        assert_allclose(mean, np.column_stack(columns), rtol=1e-7)
        assert list(mean.index) == [str(v) for v in known["levels"]]


@pytest.mark.parametrize("adjust", ["none", "bonferroni", "holm", "sidak", "tukey"])
def test_pairwise_comparisons_of_emmeans(crossed, adjust):
    """Ours of "tukey" is the joint normal law, emmeans' "mvt", whose quantile has three digits; mvtnorm's is beside."""
    known = R["pairs_mvt" if adjust == "tukey" else f"pairs_{adjust}"]
    found = crossed.contrasts("race", at="mean", weights="equal", which="linear", adjust=adjust).summary_frame()
    rtol = 2e-3 if adjust == "tukey" else 1e-6
    assert_allclose(found["difference"], known["estimate"], rtol=1e-7)
    assert_allclose(found["se"], known["se"], rtol=1e-7)
    assert_allclose(found["pvalue"], known["p"], rtol=5 * rtol)
    if adjust == "tukey":
        half = R["quantile_mvt"] * np.array(known["se"])
        assert_allclose(found["ci_upper"] - found["difference"], half, rtol=1e-3)
    else:
        assert_allclose(found[["ci_lower", "ci_upper"]], np.column_stack([known["low"], known["high"]]), rtol=rtol)


def test_odds_ratios_of_emmeans(crossed):
    known = R["pairs_or"]
    found = crossed.contrasts("race", at="mean", weights="equal", comparison="odds ratio").summary_frame()
    columns = [known["ratio"], known["se"], known["low"], known["high"]]
    assert_allclose(found[["odds ratio", "se", "ci_lower", "ci_upper"]], np.column_stack(columns), rtol=1e-7)


def test_averages_of_probabilities_and_their_contrasts(crossed):
    known = R["average"]
    found = crossed.predictions("race")
    assert_allclose(found.predicted, known["value"], rtol=1e-8)
    assert_allclose(found.se, known["se"], rtol=1e-6)  # of a numerical Jacobian
    for comparison, name, logs in (
        ("difference", "average_difference", False),
        ("ratio", "average_log_ratio", True),
        ("odds ratio", "average_log_odds", True),
    ):
        line = crossed.contrasts("race", comparison=comparison, contrast="reference").summary_frame().iloc[-1]
        value = np.log(line[comparison]) if logs else line[comparison]
        assert_allclose(
            [value, line["se"] / (line[comparison] if logs else 1)], [R[name]["value"], R[name]["se"]], rtol=1e-6
        )


# -------------------------------------------------------------------------------------------------------- every model
@pytest.fixture(scope="module")
def penguins():
    return datasets.load("penguins").dropna().reset_index(drop=True)


MODELS = {
    "Logit": lambda d, **k: Logit.from_formula("sex ~ bill_length_mm + species", d, **k).fit(),
    "Probit": lambda d, **k: Probit.from_formula("sex ~ bill_length_mm + species", d, **k).fit(),
    "CLogLog": lambda d, **k: CLogLog.from_formula("sex ~ bill_length_mm + species", d, **k).fit(),
    "MNLogit": lambda d, **k: MNLogit.from_formula("island ~ bill_length_mm + sex", d, **k).fit(),
    "LDA": lambda d, **k: LDA.from_formula("island ~ bill_length_mm + sex", d, **k).fit(),
    "QDA": lambda d, **k: QDA.from_formula("island ~ bill_length_mm + bill_depth_mm", d, **k).fit(),
    "NaiveBayes": lambda d, **k: NaiveBayes.from_formula("island ~ bill_length_mm + sex", d, **k).fit(),
}


@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_averages(penguins, name):
    res = MODELS[name](penguins)
    found = res.predictions({"bill_length_mm": [40.0, 45.0]}).predicted
    for value in (40.0, 45.0):
        mean = res.predict(penguins.assign(bill_length_mm=value)).mean()
        expected = mean if np.ndim(mean) == 0 else mean.to_numpy()
        assert_allclose(
            found.xs(value, level="bill_length_mm") if found.index.nlevels > 1 else found[value], expected, rtol=1e-10
        )
    whole = res.predictions().predicted.to_numpy()
    assert_allclose(whole, np.atleast_1d(res.predict().mean()), rtol=1e-10)


@pytest.mark.parametrize("name", MODELS)
def test_one_row_is_its_prediction(penguins, name):
    """Estimate, standard error and interval of get_prediction."""
    res, row = MODELS[name](penguins), penguins.iloc[[3]]
    one = res.predictions(at=row).summary_frame()
    assert_allclose(one, res.get_prediction(row).summary_frame()[one.columns], rtol=1e-6)
    linear = res.predictions(at=row, which="linear").summary_frame()
    assert_allclose(
        linear, res.get_prediction(row, which="linear").summary_frame()[linear.columns], rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("name", ["Logit", "MNLogit", "NaiveBayes"])
def test_repeated_rows_are_frequency_weights(penguins, name):
    penguins = penguins.assign(f=np.arange(len(penguins)) % 3)
    one = MODELS[name](penguins, freq_weights="f")
    two = MODELS[name](penguins.loc[penguins.index.repeat(penguins.f)])
    for keywords in ({"by": "year"}, {"at": "mean"}, {"at": "median"}):
        a, b = (r.predictions({"bill_length_mm": [40, 50]}, **keywords).summary_frame() for r in (one, two))
        assert_allclose(a, b, rtol=1e-7, atol=1e-12)


def test_groups_come_together(penguins):
    found = MODELS["MNLogit"](penguins).predictions("sex", by="species")
    assert found.predicted.index.names == ["level", "species", "sex"]
    assert list(found.predicted.index[:3]) == [
        ("Biscoe", "Adelie", "female"),
        ("Biscoe", "Adelie", "male"),
        ("Biscoe", "Chinstrap", "female"),
    ]
    sums = found.predicted.groupby(level=["species", "sex"]).sum()
    assert_allclose(sums, 1.0, rtol=1e-12)
    differences = found.contrasts().estimate
    assert list(differences.index[0]) == ["Biscoe", "Adelie", "male - female"]
    assert_allclose(differences.groupby(level=1).sum(), 0.0, atol=1e-14)


def test_simultaneous_intervals_are_wider(penguins):
    found = MODELS["Logit"](penguins).predictions("species")
    widths = [np.ptp(found.conf_int(adjust=a), axis=1).min() for a in ("none", "tukey", "sidak", "bonferroni")]
    assert widths[0] < widths[1] < widths[3] and widths[2] < widths[3]
    assert widths[1] < widths[2] * 1.001  # to the accuracy of the integration
    assert ((found.conf_int(1e-9) > 0) & (found.conf_int(1e-9) < 1)).all().all()


def test_contrasts_of_several_kinds(penguins):
    found = MODELS["Logit"](penguins).predictions("species")
    assert list(found.contrasts(contrast="sequential").estimate.index) == ["Chinstrap - Adelie", "Gentoo - Chinstrap"]
    assert list(found.contrasts(contrast="reference", comparison="ratio").estimate.index) == [
        "Chinstrap / Adelie",
        "Gentoo / Adelie",
    ]
    assert found.contrasts(adjust="tukey", seed=3).pvalues.equals(found.contrasts(adjust="tukey", seed=3).pvalues)


# ------------------------------------------------------------------------------------------------- joint normal law
@pytest.mark.parametrize("k", [3, 5])
@pytest.mark.parametrize("t", [2.5, 4.0, 7.0])
def test_balanced_pairs_are_studentised_ranges(k, t):
    """scipy's studentized_range with infinite degrees of freedom."""
    C = np.array([np.eye(k)[i] - np.eye(k)[j] for i in range(k) for j in range(i)])
    law = JointTail(correlation(C @ C.T), None, 0)
    assert_allclose(law(t)[0], studentized_range.sf(t * np.sqrt(2), k, np.inf), rtol=1e-2)
    assert_allclose(law.quantile(0.05), studentized_range.ppf(0.95, k, np.inf) / np.sqrt(2), rtol=1e-3)


def test_adjustments_of_independent_statistics():
    z, eye = np.array([3.0, 2.2, np.nan, 0.5, 40.0]), np.eye(5)
    p = adjusted_pvalues(z, eye, "sidak")
    assert_allclose(adjusted_pvalues(z, eye, "tukey")[[0, 1, 4]], p[[0, 1, 4]], rtol=5e-3)
    assert np.isnan(p[2])
    from statsmodels.stats.multitest import multipletests

    raw = adjusted_pvalues(z, eye, "none")[[0, 1, 3, 4]]
    for mine, theirs in (("holm", "holm"), ("bonferroni", "bonferroni"), ("sidak", "sidak")):
        assert_allclose(adjusted_pvalues(z, eye, mine)[[0, 1, 3, 4]], multipletests(raw, method=theirs)[1], rtol=1e-10)
    assert_allclose(
        joint_critical_value(np.eye(3), "sidak", 0.05), joint_critical_value(np.eye(3), "tukey", 0.05), rtol=1e-3
    )
    assert joint_critical_value(np.ones((3, 3)), "tukey", 0.05) == pytest.approx(1.959964, rel=1e-3)


# ------------------------------------------------------------------------------------------------------- effective dose
@pytest.fixture(scope="module")
def budworm():
    return references.reference("budworm__logit")[1]


def test_doses_of_mass_and_fieller_by_hand(budworm):
    """MASS::dose.p has estimate and delta-method standard error; the ends are roots of Fieller's quadratic."""
    res = Logit.from_formula("dead + alive ~ ldose + sex", budworm.assign(sex=pd.Categorical(budworm.sex))).fit()
    found = res.inverse_predict([0.25, 0.5, 0.9], "ldose", {"sex": "F"})
    assert_allclose(found["estimate"], R["dose_p"]["estimate"], rtol=1e-7)
    assert_allclose(found["se"], R["dose_p"]["se"], rtol=1e-7)
    assert_allclose(found[["ci_lower", "ci_upper"]], R["fieller"], rtol=1e-7)
    delta = res.inverse_predict([0.25, 0.5, 0.9], "ldose", {"sex": "F"}, method="delta")
    assert_allclose(delta["ci_upper"] - delta["estimate"], 1.959963984540054 * found["se"], rtol=1e-9)


@pytest.mark.parametrize("model", [Logit, Probit, CLogLog])
def test_a_dose_in_logs(budworm, model):
    data = budworm.assign(dose=2.0**budworm.ldose)
    logs = (
        model.from_formula("dead + alive ~ ldose + sex", data)
        .fit()
        .inverse_predict([0.01, 0.5, 0.9], "ldose", {"sex": "M"})
    )
    dose = model.from_formula("dead + alive ~ np.log2(dose) + sex", data).fit()
    found = dose.inverse_predict([0.01, 0.5, 0.9], "dose", {"sex": "M"})
    assert_allclose(
        np.log2(found[["estimate", "ci_lower", "ci_upper"]]),
        logs[["estimate", "ci_lower", "ci_upper"]],
        rtol=1e-8,
        atol=1e-9,
    )
    assert_allclose(found["se"], logs["se"] * found["estimate"] * np.log(2), rtol=1e-8)
    new = pd.DataFrame({"dose": found["estimate"].to_numpy(), "sex": "M"})
    assert_allclose(dose.predict(new), found.index, rtol=1e-9)


def test_a_kept_result_and_an_offset(budworm, tmp_path):
    res = Logit.from_formula("dead + alive ~ ldose + sex", budworm.assign(o=0.5), offset="o").fit()
    found = res.inverse_predict(0.5, "ldose", {"sex": "M", "o": 0.0})
    assert_allclose(
        res.predict(pd.DataFrame({"ldose": found["estimate"].to_numpy(), "sex": "M", "o": 0.0})), 0.5, rtol=1e-9
    )
    res.save(tmp_path / "kept.json")
    kept = glmclf.load(tmp_path / "kept.json")
    assert_allclose(
        kept.inverse_predict(0.5, "ldose", {"sex": "M", "o": 0.0}).iloc[:, :4], found.iloc[:, :4], rtol=1e-9
    )
    with pytest.raises(DataError, match="rows of the fit"):
        kept.inverse_predict(0.5, "ldose")


def test_sets_that_are_no_intervals():
    """By the definition: t with (A - t B)^2 <= z^2 Var(A - t B)."""
    V = np.array([[0.04, 0.01], [0.01, 0.09]])
    for A, B, shape in ((1.0, 2.0, "interval"), (1.0, 0.3, "two rays"), (0.1, 0.3, "whole line")):
        found = ratio(A, B, V)
        assert found.shape == shape
        t = np.linspace(-20, 20, 4001)
        inside = (A - t * B) ** 2 <= 1.959963984540054**2 * (V[0, 0] - 2 * t * V[0, 1] + t * t * V[1, 1])
        expected = (t >= found.low) & (t <= found.high)
        assert (inside == (expected if shape != "two rays" else (t <= found.low) | (t >= found.high))).all()
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=40), "y": rng.integers(0, 2, 40)})
    with pytest.warns(InferenceWarning, match="no interval"):
        Logit.from_formula("y ~ x", table).fit().inverse_predict(0.9, "x")


# --------------------------------------------------------------------------- another prevalence, intervals of many rows
@pytest.fixture(scope="module")
def cases():
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"x": rng.normal(size=300), "f": rng.integers(0, 4, 300)})
    table["y"] = (rng.random(300) < 1 / (1 + np.exp(1 - table.x))).astype(int)
    table["k"] = np.array(["a", "b", "c"])[(table.y + (rng.random(300) < 0.3)).clip(0, 2)]
    return table


def test_prevalence_of_a_case_control_study(cases):
    """Prentice & Pyke (1979): a logit with a constant; the variance of the log-odds falls by 1/n_1 + 1/n_0."""
    new, priors = pd.DataFrame({"x": [0.0, 1.5]}), {1: 0.02, 0: 0.98}
    n1, n0 = cases.y.sum(), (1 - cases.y).sum()
    res = Logit.from_formula("y ~ x", cases).fit()
    found, plain = res.get_prediction(new, "linear", priors=priors), res.get_prediction(new, "linear")
    assert_allclose(plain.se**2 - found.se**2, 1 / n1 + 1 / n0, rtol=1e-9)
    assert_allclose(res.get_prediction(new, priors=priors).predicted, res.predict(new, priors=priors), rtol=1e-12)
    classes = MNLogit.from_formula("k ~ x", cases).fit()
    found, plain = (classes.get_prediction(new, "linear", priors=q) for q in ("equal", None))
    n = cases.k.value_counts()
    for level in "bc":
        assert_allclose(plain.se[level] ** 2 - found.se[level] ** 2, 1 / n[level] + 1 / n["a"], rtol=1e-9)
    assert_allclose(found.predicted, classes.predict(new, which="linear", priors="equal"), rtol=1e-12)


@pytest.mark.parametrize("model", [Logit, Probit, CLogLog])
def test_prevalence_with_robust_errors(cases, model):
    """By a numerical derivative of the prediction in the weight of each row; weights of repeated rows."""
    new, priors = pd.DataFrame({"x": [0.0, 1.5]}), {1: 0.1, 0: 0.9}
    few = cases.head(60)

    def log_odds(w):
        p = model.from_formula("y ~ x", few.assign(w=w), weights="w").fit().predict(new, priors=priors).to_numpy()
        return np.log(p / (1 - p))

    h = 1e-4
    influence = [(log_odds(1 + h * e) - log_odds(1 - h * e)) / (2 * h) for e in np.eye(60)]
    for cov, factor in (("HC0", 1.0), ("HC1", 60 / 58)):
        res = model.from_formula("y ~ x", few).fit(cov_type=cov)
        p = res.predict(new, priors=priors)
        se = np.sqrt(factor * np.square(influence).sum(axis=0)) * p * (1 - p)
        assert_allclose(res.get_prediction(new, priors=priors).se, se, rtol=1e-5)
        one = model.from_formula("y ~ x", cases, freq_weights="f").fit(cov_type=cov).get_prediction(new, priors=priors)
        two = model.from_formula("y ~ x", cases.loc[cases.index.repeat(cases.f)]).fit(cov_type=cov)
        assert_allclose(one.summary_frame(), two.get_prediction(new, priors=priors).summary_frame(), rtol=1e-8)


def test_prevalence_refusals(cases):
    res = Logit.from_formula("y ~ x", cases).fit()
    for other in (
        res.with_cov("HC3"),
        Logit.from_formula("y ~ x", cases).fit(bias_reduction="firth"),
        Logit.from_formula("y ~ x", cases).fit_constrained("x = 1"),
    ):
        with pytest.raises(NotImplementedError, match="priors"):
            other.get_prediction(priors="equal")
    with pytest.raises(NotImplementedError, match="Logit"):
        Probit.from_formula("y ~ x", cases).fit().get_prediction(which="linear", priors="equal")


def test_intervals_for_all_levels_or_rows_together(cases):
    classes = MNLogit.from_formula("k ~ x", cases).fit().get_prediction(cases.head(2))
    assert_allclose(classes.conf_int(0.06, "bonferroni"), classes.conf_int(0.02), rtol=1e-12)
    assert_allclose(classes.conf_int(0.05, "sidak"), classes.conf_int(1 - 0.95 ** (1 / 3)), rtol=1e-12)
    rows = Logit.from_formula("y ~ x", cases).fit().get_prediction(cases.head(4))
    assert_allclose(rows.conf_int(0.04, "bonferroni"), rows.conf_int(0.01), rtol=1e-12)
    two = MNLogit.from_formula("y ~ x", cases).fit().get_prediction(cases.head(2))
    assert_allclose(two.conf_int(adjust="sidak"), two.conf_int(), rtol=1e-12)
    with pytest.raises(ValueError, match="adjust"):
        rows.conf_int(adjust="tukey")


# -------------------------------------------------------------------------------------------------------- refusals
@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda r: r.predictions("age"), DataError, "say at which values"),
        (lambda r: r.predictions("weight"), DataError, "no variable"),
        (lambda r: r.predictions({"race": []}), ValueError, "no value"),
        (lambda r: r.predictions({"race": ["7"]}), DataError, "7"),
        (lambda r: r.predictions("race", weights="equal"), ValueError, "mean"),
        (lambda r: r.predictions("race", which="class"), ValueError, "linear"),
        (lambda r: r.predictions("race", nonsense=1), TypeError, "nonsense"),
        (lambda r: r.contrasts({"age": [20]}), ValueError, "two"),
        (lambda r: r.contrasts("race", comparison="quotient"), ValueError, "ratio"),
        (lambda r: r.contrasts("race", which="linear", comparison="ratio"), ValueError, "probabilities"),
        (lambda r: r.contrasts("race", adjust="scheffe"), ValueError, "tukey"),
        (lambda r: r.predictions("race").conf_int(1.5), ValueError, "alpha"),
        (lambda r: r.inverse_predict(0.0, "age"), DataError, "between 0 and 1"),
        (lambda r: r.inverse_predict(0.5, "race"), NotImplementedError, "factor"),
        (lambda r: r.inverse_predict(0.5, "dose"), DataError, "no variable"),
        (lambda r: r.inverse_predict(0.5, "age", {"age": 3}), ValueError, "asked for"),
        (lambda r: r.inverse_predict(0.5, "age", {"lwt": [100, 120]}), ValueError, "several values"),
        (lambda r: r.inverse_predict(0.5, "age", method="exact"), ValueError, "fieller"),
    ],
)
def test_bad_input(crossed, call, error, words):
    with pytest.raises(error, match=words):
        call(crossed)


def test_more_refusals(birth):
    curved = Logit.from_formula("low ~ age + I(age**2)", birth).fit()
    with pytest.raises(NotImplementedError, match="several functions"):
        curved.inverse_predict(0.5, "age")
    with pytest.raises(NotImplementedError, match="regularised"):
        Logit.from_formula("low ~ age + race", birth).fit_regularized(alpha=0.1).contrasts("race")
    assert not hasattr(MNLogit, "inverse_predict")


def test_a_variable_called_self():
    """Names do not matter: the same table with another name has the same numbers."""
    i = np.arange(80)
    own = pd.DataFrame({"own": np.sin(i), "role": np.array(["self", "other"])[i % 2], "y": (i * 7 % 11 > 5) * 1})
    a = Logit.from_formula("y ~ self + role", own.rename(columns={"own": "self"})).fit()
    b = Logit.from_formula("y ~ own + role", own).fit()
    assert_allclose(a.predictions({"self": [0, 1]}).predicted, b.predictions({"own": [0, 1]}).predicted, rtol=1e-12)
    assert_allclose(a.get_margeff(at={"self": 0}).margeff, b.get_margeff(at={"own": 0}).margeff, rtol=1e-12)
    assert_allclose(a.contrasts("role").summary_frame(), b.contrasts("role").summary_frame(), rtol=1e-9)
