"""Results of MNLogit: labels, tests, contrasts, predictions with intervals, simulation, summary, keeping and moving."""

import functools
import pickle
import re
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import glmclf
from glmclf import MNLogit

LEVELS = ["bus", "car", "walk"]
LABELS = {
    "text": ["bus", "car", "walk"],
    "spaces": ["by bus", "car pool", "on foot"],
    "signs": ["a-1", "b+c*d", "e=f, [g] (h)"],
    "brackets": ["C(b)[T.c]", "T.a", "x"],
    "numerals": ["1", "10", "2"],
    "unicode": ["äther", "été", "日本"],
    "integers": [-1, 0, 7],
    "floats": [0.25, 1.5, 3.0],
}


@functools.cache
def _toy(n=200, seed=4):
    rng = np.random.default_rng(seed)
    t = pd.DataFrame({"x": rng.normal(size=n), "z": rng.gamma(2.0, size=n), "g": rng.choice(list("abc"), n)})
    t["o"], t["w"], t["f"] = rng.normal(size=n), rng.uniform(0.5, 2.0, n), rng.integers(1, 4, n)
    eta = np.outer(t.x, [0, 0.5, 1]) - 0.4 * np.outer(t.z, [0, 1, 0.5])
    t["code"] = (eta + rng.gumbel(size=(n, 3))).argmax(axis=1)
    t["mode"] = np.array(LEVELS)[t.code]
    return t


def toy(**keywords):
    return _toy(**keywords).copy()


def fit(t=None, formula="mode ~ x + z + g", fit_options=None, **keywords):
    return MNLogit.from_formula(formula, toy() if t is None else t, **keywords).fit(**(fit_options or {}))


def close(a, b, rtol=1e-10, atol=1e-12):
    np.testing.assert_allclose(np.asarray(a, dtype=float), np.asarray(b, dtype=float), rtol=rtol, atol=atol)


# ------------------------------------------------------------------------------------------------------------ labels
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_everywhere(labels):
    t = toy()
    t["mode"] = t.code.map(dict(enumerate(labels)))
    res, plain = fit(t), fit()
    assert res.levels == labels
    assert res.reference == labels[0]
    for name in ("params", "bse", "tvalues", "pvalues"):
        assert list(getattr(res, name).columns) == labels[1:]
        close(getattr(res, name), getattr(plain, name))
    pairs = [(level, name) for level in labels[1:] for name in plain.params.index]
    assert list(res.cov_params().index) == list(res.cov_params().columns) == list(res.conf_int().index) == pairs
    assert list(res.predict().columns) == list(res.fittedvalues.columns) == labels
    assert list(res.predict(which="linear").columns) == labels
    assert list(res.pred_table().index) == list(res.pred_table().columns) == labels
    assert set(res.predict(which="class")) <= set(labels)
    assert list(res.equations) == labels[1:]
    close(res.rebase(labels[2]).params[labels[0]], -plain.params["walk"])
    assert res.combine_test(labels[0], labels[1]).pvalue == pytest.approx(plain.combine_test("bus", "car").pvalue)
    text = res.summary().as_text()
    assert all(str(label) in text for label in labels)
    for export in ("as_latex", "as_html", "as_csv", "as_markdown"):
        assert getattr(res.summary(), export)()


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_hypotheses_by_name(labels):
    """Strings name a parameter y<level>_<regressor>, whatever stands in the level."""
    t = toy()
    t["mode"] = t.code.map(dict(enumerate(labels)))
    res = fit(t)
    one, two = (f"y{label}_x" for label in labels[1:])
    R = np.zeros((1, 10))
    R[0, 3], R[0, 8] = 1, -1
    assert list(res.params.index)[3] == "x"
    for call in ("t_test", "wald_test", "f_test"):
        by_name, by_matrix = getattr(res, call)(f"{one} = {two}"), getattr(res, call)(R)
        close(by_name.pvalue, by_matrix.pvalue)
    close(res.t_test(f"{one} = 0.5").tvalue, (res.params.loc["x", labels[1]] - 0.5) / res.bse.loc["x", labels[1]])
    close(res.wald_test([f"{one} = 0", f"{two} = 0"]).statistic, res.wald_test(f"{one} = 0, {two} = 0").statistic)
    factor = res.t_test(f"y{labels[1]}_g[T.b] - y{labels[2]}_g[T.c] = 0")
    close(factor.effect, res.params.loc["g[T.b]", labels[1]] - res.params.loc["g[T.c]", labels[2]])


def test_bools():
    res = fit(toy().assign(mode=toy().code == 1))
    assert res.levels == [False, True]
    assert res.predict(which="class").dtype == bool
    assert list(res.params.columns) == [True]
    other = fit(toy().assign(mode=toy().code == 1), reference=True)
    assert list(other.params.columns) == [False]
    close(other.params[False], -res.params[True])


def test_ordered_categories():
    order = ["walk", "bus", "car"]
    t = toy().assign(mode=pd.Categorical(toy()["mode"], categories=[*order, "tram"], ordered=True))
    res = fit(t)
    assert res.levels == order
    assert res.reference == "walk"
    assert "tram" in res.summary().as_text()
    predicted = res.predict(which="class")
    assert isinstance(predicted.dtype, pd.CategoricalDtype)
    assert predicted.cat.ordered
    assert set(predicted) <= set(order)


@pytest.mark.parametrize("hole", ["missing", "weightless", "subset"])
def test_a_level_without_rows_is_said(hole):
    t = toy()
    first = t["mode"] == "bus"
    if hole == "missing":
        t.loc[first, "x"] = np.nan
        res = fit(t)
    elif hole == "weightless":
        t.loc[first, "f"] = 0
        res = fit(t, freq_weights="f")
    else:
        res = fit(t.astype({"mode": "category"}), subset=~first)
    assert res.levels == ["car", "walk"]
    assert re.search(r'"bus".*no rows', res.summary().as_text())


# ------------------------------------------------------------------------------------------------------------ tables
def test_covariance_belongs_to_its_labels():
    res = fit(fit_options={"cov_type": "HC1"})
    V, ends = res.cov_params(), res.conf_int(0.1)
    for level in res.params.columns:
        for name in res.params.index:
            assert np.sqrt(V.loc[(level, name), (level, name)]) == pytest.approx(res.bse.loc[name, level], rel=1e-12)
            middle = ends.loc[(level, name)].mean()
            assert middle == pytest.approx(res.params.loc[name, level], rel=1e-10)
    close(res.cov_params(np.eye(len(V))[2:4]), V.iloc[2:4, 2:4])
    close(res.tvalues, res.params / res.bse)


def test_tables_are_copies():
    res = fit()
    for table in (res.cov_params(), res.predict(), res.conf_int()):
        table.iloc[0, 0] = 1e9
    assert res.cov_params().iloc[0, 0] < 1e3
    assert res.predict().iloc[0, 0] < 1
    close(res.bse.iloc[0, 0], np.sqrt(res.cov_params().iloc[0, 0]))


def test_hypothesis_labelled_as_the_covariance():
    res = fit()
    index = res.cov_params().index
    R = pd.DataFrame(np.random.default_rng(0).normal(size=(2, len(index))), columns=index)
    close(res.wald_test(R[index[::-1]]).statistic, res.wald_test(R.to_numpy()).statistic)


def test_wald_test_of_terms():
    res = fit()
    table = res.wald_test_terms().table
    assert list(table.index) == ["Intercept", "g", "x", "z"]
    assert [int(v) for v in table["df_constraint"]] == [2, 4, 2, 2]
    R = np.zeros((2, 10))
    R[0, 3] = R[1, 8] = 1
    assert table.loc["x", "statistic"] == pytest.approx(res.wald_test(R).statistic, rel=1e-10)


def test_equations():
    res = fit(fit_options={"cov_type": "HC0"})
    for level, e in res.equations.items():
        close(e.params, res.params[level])
        close(e.bse, res.bse[level])
        close(e.tvalues, res.tvalues[level])
        close(e.pvalues, res.pvalues[level])
        close(np.sqrt(np.diag(e.cov_params())), e.bse)
        close(e.conf_int(0.1), res.conf_int(0.1).loc[level])
        for table in (e.params, e.conf_int(), e.cov_params()):
            assert list(table.index) == list(res.params.index)
        assert (e.level, e.nobs, e.llf) == (level, res.nobs, res.llf)


def test_level_contrasts():
    res = fit(fit_options={"cov_type": "HC1"})
    table = res.level_contrasts(0.1)
    assert table.index.names == ["level", "against", "regressor"]
    pairs = {tuple(p) for p in table.index.droplevel("regressor")}
    assert pairs == {("car", "bus"), ("walk", "bus"), ("walk", "car")}
    for level, against in pairs:
        part, other = table.loc[(level, against)], res.rebase(against)
        close(part["coef"], other.params[level])
        close(part["std err"], other.bse[level])
        close(part["P>|z|"], other.pvalues[level], rtol=1e-8)
        close(part.iloc[:, -2:], other.conf_int(0.1).loc[level])


def test_combine_test_is_a_wald_test():
    res = fit()
    slopes = [name for name in res.params.index if name != "Intercept"]
    for one, other in (("car", "walk"), ("bus", "walk"), ("car", "bus")):
        names = [f"ycar_{s} = ywalk_{s}" for s in slopes]
        if "bus" in (one, other):
            level = other if one == "bus" else one
            names = [f"y{level}_{s} = 0" for s in slopes]
        a, b = res.combine_test(one, other), res.wald_test(names)
        close([a.statistic, a.pvalue], [b.statistic, b.pvalue], rtol=1e-8)


def test_relative_risk_ratios():
    res = fit()
    table = res.odds_ratios(units={"x": 2})
    plain = list(res.cov_params().index)
    assert list(table.index) == [(level, {"x": "x (per 2)"}.get(name, name)) for level, name in plain]
    b, se = res.params.loc["x", "walk"], res.bse.loc["x", "walk"]
    row = table.loc[("walk", "x (per 2)")]
    close(row.iloc[:2], [np.exp(2 * b), np.exp(2 * b) * 2 * se])
    close(row.iloc[-2:], np.exp(2 * res.conf_int().loc[("walk", "x")]))


def test_lr_test():
    res, small = fit(), fit(formula="mode ~ x + z")
    test = res.compare_lr_test(small)
    close(test[0], 2 * (res.llf - small.llf))
    assert test[2] == 4
    with pytest.raises(ValueError, match="different data"):
        res.compare_lr_test(fit(toy().iloc[1:], "mode ~ x + z"))
    with pytest.raises(ValueError):
        fit(weights="w").compare_lr_test(fit(formula="mode ~ x", weights="w"))


def test_lr_test_does_not_depend_on_the_base():
    """Two fits of the same rows against other levels: the same statistic, or a refusal; never another number."""
    a, small = fit(), fit(formula="mode ~ x + z", reference="walk")
    try:
        found = a.compare_lr_test(small)
    except ValueError:
        return
    close(found[0], 2 * (a.llf - small.llf))


def test_lr_test_of_other_labels():
    """The same codes under other names are other data."""
    t = toy()
    renamed = t.assign(mode=t["mode"].map({"bus": "bus", "car": "walk", "walk": "car"}))
    with pytest.raises(ValueError, match="different data"):
        fit(t).compare_lr_test(fit(renamed, "mode ~ x"))


def test_glance_and_tidy():
    res = fit()
    tidy = res.tidy()
    assert list(tidy["y_level"].unique()) == ["car", "walk"]
    close(tidy["estimate"], np.asarray(res.params).ravel(order="F"))
    close(tidy["std_error"], np.asarray(res.bse).ravel(order="F"))
    glance = res.glance()
    assert len(glance) == 1
    for name in ("nobs", "bic"):
        close(glance[name], getattr(res, name))


# ------------------------------------------------------------------------------------------------------- predictions
def numeric_se(res, new, h=1e-5):
    """Delta-method standard errors of the probabilities by central differences in the parameters."""
    theta, V = np.asarray(res.params).ravel(order="F"), res.cov_params().to_numpy()
    steps = h * np.eye(len(theta))

    def p(at):
        return res.model.predict(at, new)

    gradients = np.stack([(p(theta + s) - p(theta - s)) / (2 * h) for s in steps], axis=-1)
    return np.sqrt(np.einsum("nkp,pq,nkq->nk", gradients, V, gradients))


@pytest.mark.parametrize("reference", LEVELS)
@pytest.mark.parametrize("cov_type", ["nonrobust", "HC1"])
def test_standard_errors_of_predictions(cov_type, reference):
    res, new = fit(reference=reference, fit_options={"cov_type": cov_type}), toy().head(25)
    prediction = res.get_prediction(new)
    close(prediction.predicted, res.predict(new))
    close(prediction.se, numeric_se(res, new), rtol=1e-6)
    assert list(prediction.se.columns) == LEVELS


@pytest.mark.parametrize("reference", LEVELS)
@pytest.mark.parametrize("cov_type", ["nonrobust", "HC1"])
def test_predicted_log_odds(cov_type, reference):
    """Each a contrast of the coefficients; 0 for the reference."""
    res, new = fit(reference=reference, fit_options={"cov_type": cov_type}), toy().head(10)
    prediction = res.get_prediction(new, "linear")
    close(prediction.predicted, res.predict(new, which="linear"))
    X = res.model._design.matrix(new)
    equations = res.params.columns
    assert list(prediction.se.columns) == LEVELS and (prediction.se[reference] == 0).all()
    assert (prediction.predicted[reference] == 0).all()
    for j, level in enumerate(equations):
        test = res.t_test(np.kron(np.eye(len(equations))[j], X))
        close(prediction.predicted[level], test.effect)
        close(prediction.se[level], test.sd)
        ends = prediction.conf_int(0.1).xs(level, level="level")
        close(ends, np.column_stack([test.effect, test.effect]) + np.outer(test.sd, [-1, 1]) * 1.6448536269514722)
    lacking = new.assign(x=np.nan)
    assert res.get_prediction(lacking, "linear").summary_frame().isna().all(axis=None)
    with pytest.raises(ValueError, match="which='class'.*mean.*linear"):
        res.get_prediction(new, "class")


def test_intervals_of_predictions():
    """Those of the logit of each probability, transformed: inside (0, 1), also where p is within rounding of 1."""
    res = fit()
    new = pd.DataFrame({"x": [-300.0, -3.0, 0.0, 3.0, 300.0], "z": [0.0, 1.0, 2.0, 3.0, 80.0], "g": list("abcab")})
    prediction = res.get_prediction(new)
    frame = prediction.summary_frame(0.1)
    assert list(frame.columns) == ["predicted", "se", "ci_lower", "ci_upper"]
    assert list(frame.index) == [(i, level) for i in range(5) for level in LEVELS]
    assert ((frame["ci_lower"] >= 0) & (frame["ci_upper"] <= 1)).all()
    assert ((frame["ci_lower"] <= frame["predicted"]) & (frame["predicted"] <= frame["ci_upper"])).all()
    assert np.isfinite(frame).all(axis=None)
    middle = frame.loc[1:3]
    logit = np.log(middle["predicted"] / (1 - middle["predicted"]))
    se = middle["se"] / (middle["predicted"] * (1 - middle["predicted"]))
    close(1 / (1 + np.exp(-(logit - 1.6448536269514722 * se))), middle["ci_lower"])
    close(1 / (1 + np.exp(-(logit + 1.6448536269514722 * se))), middle["ci_upper"])
    pd.testing.assert_frame_equal(prediction.conf_int(0.1), frame[["ci_lower", "ci_upper"]])


def test_predictions_of_extreme_rows():
    """Linear predictors of +-1e5: probabilities 0 and 1, no NaN, no warning."""
    res = fit(formula="mode ~ x + z")
    new = pd.DataFrame({"x": [1e5, -1e5], "z": [0.0, 0.0]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        close(res.predict(new).sum(axis=1), 1.0)
        frame = res.get_prediction(new).summary_frame()
    assert not frame.isna().any(axis=None)


@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "Int64", "str", "string", "category", "object"])
def test_classes_keep_the_dtype(dtype):
    t = toy()
    t["mode"] = (t.code if dtype[0] in "iIf" else t["mode"]).astype(dtype)
    res = fit(t)
    classes = res.predict(which="class")
    assert classes.dtype == t["mode"].dtype
    assert classes.index.equals(t.index)
    best = res.predict().to_numpy().argmax(axis=1)
    assert classes.tolist() == [res.levels[i] for i in best]
    assert res.simulate(1, seed=0)["sim_1"].dtype == t["mode"].dtype


def test_missing_rows():
    t = toy().set_index(pd.Index([f"r{i}" for i in range(200)]))
    t.loc["r3", "x"] = np.nan
    t.loc["r5", "g"] = None
    res = fit(t)
    assert res.nobs == 198
    assert res.fittedvalues.index.equals(t.index.drop(["r3", "r5"]))
    p = res.predict(t)
    assert p.index.equals(t.index)
    assert p.loc[["r3", "r5"]].isna().all(axis=None)
    assert not p.drop(["r3", "r5"]).isna().any(axis=None)
    classes = res.predict(t, which="class")
    assert classes.isna().sum() == 2
    assert res.get_prediction(t).summary_frame().loc["r3"].isna().all(axis=None)
    assert "2 of 200" in res.summary().as_text()


def test_other_prevalences():
    """p* proportional to p pi*/pi: the intercepts shift, the base does not matter."""
    res, new = fit(), toy().head(10)
    shares = toy()["mode"].value_counts(normalize=True)[LEVELS].to_numpy()
    wanted = np.array([0.5, 0.3, 0.2])
    p = res.predict(new).to_numpy() * wanted / shares
    expected = p / p.sum(axis=1, keepdims=True)
    for given in (wanted, list(wanted), dict(zip(LEVELS, wanted, strict=True))):
        close(res.predict(new, priors=given), expected)
        close(res.rebase("walk").predict(new, priors=given), expected)
    close(res.predict(new, priors=shares), res.predict(new))
    assert set(res.predict(new, priors=[0.998, 0.001, 0.001], which="class")) == {"bus"}


def test_offset_of_new_rows():
    t, new = toy(), toy(seed=8).head(12)
    res = fit(t, offset="o")
    linear = MNLogit.from_formula("mode ~ x + z + g", t).predict(res.params, new, which="linear")
    expected = linear + np.where(np.array(res.levels) == "bus", 0.0, new.o.to_numpy()[:, None])
    close(res.predict(new, which="linear"), expected)
    close(res.predict(new, which="linear", offset="o"), expected)
    close(res.predict(new, which="linear", offset=new.o), expected)
    close(res.predict(new, which="linear", offset=new.o.to_numpy()), expected)
    wide = np.column_stack([new.o, new.o])
    close(res.predict(new, which="linear", offset=wide), expected)
    close(res.get_prediction(new, offset=wide).predicted, res.predict(new))
    close(res.predict(new, which="linear", offset=0), linear)
    by_level = fit(t, offset=np.column_stack([t.o, -t.o]))
    assert list(by_level.predict(new, offset=wide).columns) == LEVELS


@pytest.mark.parametrize("method", ["mean", "linear"])
def test_prediction_of_one_row(method):
    res = fit(formula="mode ~ x + z")
    expected = res.predict(toy().head(1), which=method).to_numpy()
    row = toy().iloc[0]
    for given in ([1.0, row.x, row.z], np.array([1.0, row.x, row.z]), {"x": row.x, "z": row.z}, toy().head(1)):
        close(res.predict(given, which=method), expected)


# -------------------------------------------------------------------------------------------------------- simulation
def test_simulation():
    res = fit()
    draws = res.simulate(400, seed=1)
    assert draws.shape == (200, 400)
    assert draws.index.equals(toy().index)
    assert list(draws.columns[:2]) == ["sim_1", "sim_2"]
    p = res.fittedvalues
    for level in LEVELS:
        shares = (draws == level).mean(axis=1)
        assert (np.abs(shares - p[level]) < 5 * np.sqrt(p[level] * (1 - p[level]) / 400) + 1e-9).all()
    pd.testing.assert_frame_equal(draws.iloc[:, :3], res.simulate(400, seed=1).iloc[:, :3])
    assert not res.simulate(1, seed=2).equals(res.simulate(1, seed=3))


def test_simulation_of_counts():
    t = toy()
    t = t.join(pd.get_dummies(t["mode"], dtype=int).mul(t.f, axis=0))
    res = MNLogit.from_formula("bus + car + walk ~ x", t).fit()
    draws = res.simulate(300, seed=1)
    assert list(draws.columns[:3]) == [("sim_1", level) for level in LEVELS]
    close(draws["sim_7"].sum(axis=1), t.f)
    mean = sum(draws[f"sim_{i + 1}"] for i in range(300)) / 300
    expected = res.fittedvalues.mul(t.f, axis=0)
    assert (np.abs(mean - expected) < 5 * np.sqrt(expected / 300)).all(axis=None)


def test_simulation_is_the_same_against_every_base():
    res = fit()
    pd.testing.assert_frame_equal(res.simulate(3, seed=5), res.rebase("walk").simulate(3, seed=5))


# ----------------------------------------------------------------------------------------------------------- summary
def lines(summary):
    """The lines of a summary without the clock."""
    text = summary if isinstance(summary, str) else summary.as_text()
    clock = r"\w{3}, \d\d \w{3} \d{4}|\d\d:\d\d:\d\d"
    return [re.sub(clock, "", line).rstrip() for line in text.splitlines()]


@pytest.mark.parametrize("K", [2, 3, 5])
def test_summary_in_the_layout_of_statsmodels(K):
    """Line for line, with the levels' names; what was modelled stands below."""
    rng = np.random.default_rng(K)
    X = pd.DataFrame(rng.normal(size=(300, 2)), columns=["x1", "x2"])
    t = X.assign(y=(np.outer(X.x1, np.arange(K)) / K + rng.gumbel(size=(300, K))).argmax(axis=1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = sm.MNLogit.from_formula("y ~ x1 + x2", t).fit(disp=0, method="newton", tol=1e-14)
    a, b = lines(MNLogit.from_formula("y ~ x1 + x2", t).fit().summary()), lines(theirs.summary())
    strip = [re.sub(r"\s+", " ", line) for line in b]
    ours = [re.sub(r"\s+", " ", line) for line in a]
    first = next(i for i, line in enumerate(strip) if re.search(r"coef\s+std err", line))
    rows = [line for line in strip[first:] if not set(line) <= {"=", "-", " "}]
    assert rows == [line for line in ours[first:] if not set(line) <= {"=", "-", " "}][: len(rows)]
    words = " ".join(ours[:first])
    for fact in (
        "No. Observations: 300",
        "Df Residuals:",
        "Df Model:",
        "Pseudo R-squ.:",
        "Log-Likelihood:",
        "LL-Null:",
    ):
        assert fact in words
    for fact in ("Pseudo R-squ.:", "Log-Likelihood:", "LL-Null:", "LLR p-value:"):
        value = re.search(re.escape(fact) + r"\s*(\S+)", " ".join(strip)).group(1)
        assert f"{fact} {value}" in words, fact


def test_summary_says_what_was_modelled():
    t = toy()
    t.loc[3, "x"] = np.nan
    text = fit(t, reference="walk", freq_weights="f", offset="o", fit_options={"cov_type": "HC1"}).summary().as_text()
    for fact in ("Reference:", "walk", "bus, car, walk", "Freq. weights:", "Offset:", "1 of 200", "HC1", "mode=bus"):
        assert fact in text, fact
    assert "pseudo-likelihood" in fit(weights="w").summary().as_text()


def test_summary_options():
    res = fit()
    text = res.summary(yname="transport", xname=["c", "g b", "g c", "xx", "zz"], title="A title", alpha=0.1).as_text()
    for part in ("transport=car", "A title", "g b", "[0.05", "0.95]"):
        assert part in text, part
    ratios = res.summary(exponentiate=True).as_text()
    assert f"{np.exp(res.params.loc['x', 'walk']):.4f}" in ratios
    with pytest.raises(ValueError, match="xname"):
        res.summary(xname=["a"])
    assert "mode=car" in res._repr_html_()


# ---------------------------------------------------------------------------------------------------- keep and move
KINDS = {
    "plain": {},
    "reference": {"reference": "walk"},
    "offset": {"offset": "o"},
    "weights": {"weights": "w"},
    "robust": {"fit_options": {"cov_type": "HC1"}},
    "spline": {"formula": "mode ~ bs(z, df=4) + x:g"},
}


def state(res, new):
    """What a result says without its rows."""
    return [
        res.params,
        res.bse,
        res.cov_params(),
        res.conf_int(),
        res.predict(new),
        res.predict(new, which="linear"),
        res.get_prediction(new).summary_frame(),
        res.level_contrasts(),
        res.odds_ratios(),
        res.wald_test_terms().table,
        pd.Series([res.llf, res.llnull, res.aic, res.bic, res.nobs, res.df_model, res.df_resid, res.prsquared]),
    ]


def equal(one, other):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(np.asarray(a, dtype=float), np.asarray(b, dtype=float))
        assert a.index.equals(b.index)


@pytest.mark.parametrize("kind", KINDS)
def test_save_and_load(kind, tmp_path):
    res, new = fit(**KINDS[kind]), toy(seed=8).head(15)
    res.save(tmp_path / "m.json")
    loaded = glmclf.load(tmp_path / "m.json")
    equal(state(res, new), state(loaded, new))
    assert loaded.levels == res.levels
    assert loaded.reference == res.reference
    assert loaded.predict(new, which="class").tolist() == res.predict(new, which="class").tolist()
    assert loaded.predict(new, which="class").dtype == res.predict(new, which="class").dtype
    assert lines(loaded.summary()) == lines(res.summary())
    close(loaded.predict(new, priors=[0.2, 0.3, 0.5]), res.predict(new, priors=[0.2, 0.3, 0.5]))
    assert (tmp_path / "m.json").stat().st_size < 40_000
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == (tmp_path / "m.json").read_text()


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_saved_labels(labels, tmp_path):
    t = toy()
    t["mode"] = t.code.map(dict(enumerate(labels)))
    for column in (t["mode"], t["mode"].astype("category")):
        res = fit(t.assign(mode=column), reference=labels[1])
        res.save(tmp_path / "m.json")
        loaded = glmclf.load(tmp_path / "m.json")
        assert loaded.levels == labels
        assert [type(level) for level in loaded.levels] == [type(level) for level in res.levels]
        assert loaded.reference == labels[1]
        classes = loaded.predict(t, which="class")
        assert classes.dtype == res.predict(t, which="class").dtype
        assert classes.tolist() == res.predict(t, which="class").tolist()
        close(loaded.rebase(labels[2]).params, res.rebase(labels[2]).params)


@pytest.mark.parametrize(
    "labels", [*LABELS.values(), [1000, 2000, 3000], [False, True]], ids=[*LABELS, "large", "bools"]
)
def test_pickled_labels(labels):
    """Also those that a copy holds as other objects, as numbers are."""
    t = toy()
    t["mode"] = (t.code % len(labels)).map(dict(enumerate(labels)))
    for reference in labels:
        res = fit(t, reference=reference)
        other = pickle.loads(pickle.dumps(res))
        assert other.levels == labels
        assert list(other.params.columns) == list(res.params.columns)
        close(other.predict(t), res.predict(t))
        for level in labels:
            close(other.rebase(level).params, res.rebase(level).params)


def test_no_row_is_saved(tmp_path):
    t = toy().assign(x=lambda d: d.x + 0.123456789)
    fit(t).save(tmp_path / "m.json")
    text = (tmp_path / "m.json").read_text()
    saved = {float(v) for v in t.x if repr(float(v)) in text}
    assert saved == {t.x.min(), t.x.max()}  # the ends of each variable, for plots, and nothing else


def test_load_in_another_process(tmp_path):
    res, new = fit(formula="mode ~ bs(x, df=4) + g", offset="o"), toy(seed=8).head(8)
    res.save(tmp_path / "m.json")
    new.to_pickle(tmp_path / "new.pkl")
    code = (
        "import sys, pandas as pd, glmclf\n"
        "res = glmclf.load(sys.argv[1]); new = pd.read_pickle(sys.argv[2])\n"
        "res.get_prediction(new).summary_frame().to_pickle(sys.argv[3])\n"
    )
    names = [str(tmp_path / name) for name in ("m.json", "new.pkl", "out.pkl")]
    subprocess.run([sys.executable, "-c", code, *names], check=True, timeout=120)
    found = pd.read_pickle(tmp_path / "out.pkl")
    np.testing.assert_array_equal(found, res.get_prediction(new).summary_frame())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("data", ["with data", "without data"])
def test_pickle(kind, data):
    res, new = fit(**KINDS[kind]), toy(seed=8).head(15)
    expected, text = state(res, new), lines(res.summary())
    if data == "without data":
        res.remove_data()
        assert len(pickle.dumps(res)) < 30_000
    other = pickle.loads(pickle.dumps(res))
    equal(expected, state(other, new))
    assert lines(other.summary()) == text
    if data == "with data":
        close(other.fittedvalues, res.fittedvalues)


@pytest.mark.parametrize("how", ["removed", "loaded", "pickled"])
def test_rebase_without_rows(how, tmp_path):
    """All that a rebased result needs no rows for, saving included."""
    res, new = fit(offset="o"), toy(seed=8).head(9)
    expected, p = state(res.rebase("walk"), new), res.predict(new)
    if how == "loaded":
        res.save(tmp_path / "m.json")
        res = glmclf.load(tmp_path / "m.json")
    else:
        res.remove_data()
        res = pickle.loads(pickle.dumps(res)) if how == "pickled" else res
    moved = res.rebase("walk")
    equal(expected, state(moved, new))
    close(moved.predict(new), p)
    moved.save(tmp_path / "moved.json")
    again = glmclf.load(tmp_path / "moved.json")
    assert again.reference == "walk"
    equal(expected, state(again, new))


# --------------------------------------------------------------------------------------------------------- the border
@pytest.mark.parametrize("kind", ["polars", "pyarrow", "dict", "nullable"])
def test_other_tables(kind):
    t = toy()[["x", "z", "g", "mode"]]
    if kind == "nullable":
        t = t.astype({"x": "Float64", "g": "string", "mode": "string"})
        other = t
    elif kind == "dict":
        other = {name: t[name].to_numpy() for name in t}
    elif kind == "polars":
        other = pytest.importorskip("polars").DataFrame({name: t[name].to_list() for name in t})
    else:
        other = pytest.importorskip("pyarrow").table({name: t[name].to_list() for name in t})
    res = fit(other)
    close(res.params, fit(t).params)
    close(res.predict(other), res.predict(t))
    assert res.levels == LEVELS
    assert res.predict(other, which="class").tolist() == res.predict(t, which="class").tolist()


def test_nullable_with_holes():
    t = toy()
    t["x"] = t.x.astype("Float64")
    t["mode"] = t.code.astype("Int64")
    t.loc[3, "x"], t.loc[7, "mode"] = pd.NA, pd.NA
    res = fit(t)
    assert res.nobs == 198
    assert res.levels == [0, 1, 2]
    classes = res.predict(t, which="class")
    assert classes.dtype == "Int64"
    assert classes.isna().tolist() == [i == 3 for i in range(200)]


def test_arrays():
    t = toy()
    X = np.column_stack([np.ones(200), t.x, t.z])
    res = MNLogit(t["mode"].to_numpy(), X).fit()
    assert list(res.params.index) == ["const", "x1", "x2"]
    assert list(res.params.columns) == ["car", "walk"]
    close(res.predict(X[:5]), res.predict().head(5))
    close(res.params, fit(t, "mode ~ x + z").params)
    single = MNLogit(t["mode"].to_numpy(), X.astype(np.float32)).fit()
    np.testing.assert_allclose(single.params, res.params, rtol=1e-4, atol=1e-5)


def test_models_are_compared_by_their_columns_not_by_their_names():
    g = np.random.default_rng(5)
    X = np.column_stack([np.ones(200), g.normal(size=(200, 3))])
    y = g.integers(0, 3, 200)
    full = glmclf.MNLogit(y, X[:, [0, 1, 2]]).fit()
    with pytest.raises(ValueError, match="not nested"):
        full.compare_lr_test(glmclf.MNLogit(y, X[:, [0, 3]]).fit())
    nested = glmclf.MNLogit(y, X[:, [0, 1]]).fit()
    direct = full.compare_lr_test(nested)
    assert full.rebase(2).compare_lr_test(nested) == direct
    other = glmclf.MNLogit(y, X[:, [0, 1]], reference=1).fit()
    np.testing.assert_allclose(full.compare_lr_test(other), direct, rtol=1e-9)


def test_an_offset_table_of_new_rows_is_matched_by_label():
    g = np.random.default_rng(6)
    table = pd.DataFrame({"x": g.normal(size=90)}, index=[f"r{i}" for i in range(90)])
    table["s"] = g.choice(["a", "b", "c"], 90)
    offset = pd.DataFrame(g.normal(size=(90, 2)), index=table.index, columns=["b", "c"])
    res = glmclf.MNLogit.from_formula("s ~ x", table, offset=offset).fit()
    shuffled = offset.sample(frac=1, random_state=1)
    pd.testing.assert_frame_equal(res.predict(table, offset=shuffled), res.predict(table, offset=offset))
    pd.testing.assert_frame_equal(res.predict(offset=shuffled[["c", "b"]]), res.predict())


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("name", ["Logit", "MNLogit"])
def test_score_tests_do_not_depend_on_the_scale_of_sampling_weights(name, scale):
    g = np.random.default_rng(7)
    t = pd.DataFrame({"x": g.normal(size=150), "z": g.normal(size=150), "w": g.gamma(2.0, size=150)})
    t["y"] = g.integers(0, 2, 150)
    one = getattr(glmclf, name).from_formula("y ~ x", t, weights=t.w / t.w.mean()).fit().score_test("z")
    other = getattr(glmclf, name).from_formula("y ~ x", t, weights=t.w * scale).fit().score_test("z")
    np.testing.assert_allclose(other, one, rtol=1e-8)


def test_variances_and_distributions_follow_from_the_probabilities():
    g = np.random.default_rng(9)
    t = pd.DataFrame({"x": g.normal(size=80)})
    t["s"] = g.choice(["a", "b", "c"], 80)
    res = glmclf.MNLogit.from_formula("s ~ x", t).fit()
    p = res.predict(t)
    pd.testing.assert_frame_equal(res.predict(t, which="var"), p * (1 - p))
    one = np.eye(3)[[0] * 80]
    np.testing.assert_allclose(res.get_distribution(t).pmf(one), p["a"], rtol=1e-12)
    with pytest.raises(ValueError, match="which"):
        res.predict(t, which="median")
