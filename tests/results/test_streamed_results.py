"""Results of fits to data in parts, and new data in parts: the numbers of the same rows in memory, or an error by name.

Parts are uneven, one is empty, one has a row without a value, and some levels are in few of them.
"""

import io
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pandas.testing import assert_frame_equal

import glmclf
from glmclf import LDA, CLogLog, Logit, MNLogit, NaiveBayes, Probit
from glmclf.core.rows import streamed
from glmclf.data.source import base
from glmclf.errors import CollinearityWarning, DataError, DataWarning

RTOL, ATOL = 1e-10, 1e-12  # sums in another order
ENDS = [0, 90, 90, 91, 230, 300]
WEIGHTS = [{}, {"freq_weights": "f"}, {"weights": "w", "offset": "o"}]


def table():
    rng = np.random.default_rng(5)
    n = ENDS[-1]
    t = pd.DataFrame({"x": rng.normal(size=n), "z": rng.integers(0, 4, n), "b": rng.integers(0, 2, n)})
    t["g"], t["h"] = rng.choice(["a", "b", "c"], n), np.where(np.arange(n) < 100, "u", rng.choice(["u", "v"], n))
    eta = 0.3 + t["x"] - 0.5 * (t["g"] == "b") + 0.2 * t["z"]
    t["y"] = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int)
    t["k"] = np.where(rng.random(n) < 0.5, np.where(eta > 0.5, "p", "q"), rng.choice(["p", "q", "r"], n))
    t["s"] = rng.binomial(5, 1 / (1 + np.exp(-eta)))
    t["t"] = 5 - t["s"]
    t["f"], t["w"], t["o"] = rng.integers(1, 4, n), rng.uniform(0.2, 2.0, n), rng.normal(size=n) / 5
    t.loc[[90, 120, 299], "x"] = np.nan
    return t.set_index(np.arange(1000, 1000 + n))


TABLE = table()
BINARY, SEVERAL = "y ~ x + I(x**2) + g + z", "k ~ x + g"


def parts():
    for a, b in zip(ENDS, ENDS[1:]):
        yield TABLE.iloc[a:b]


def fits(model, formula, **keywords):
    """A fit in memory, and one to parts."""
    return tuple(model.from_formula(formula, data, **keywords).fit() for data in (TABLE, parts))


@pytest.fixture(scope="module", params=range(3), ids=["plain", "frequency", "sampling"])
def binary(request):
    return fits(Logit, BINARY, **WEIGHTS[request.param])


@pytest.fixture(scope="module", params=range(3), ids=["plain", "frequency", "sampling"])
def several(request):
    return fits(MNLogit, SEVERAL, **WEIGHTS[request.param])


@pytest.fixture(scope="module")
def weighted():
    return fits(Logit, BINARY, **WEIGHTS[2])


@pytest.fixture(scope="module", params=["binary", "several"])
def both(request):
    return fits(Logit, BINARY) if request.param == "binary" else fits(MNLogit, SEVERAL)


def frame_of(x):
    x = x.summary_frame() if hasattr(x, "summary_frame") else x
    return x.to_frame() if isinstance(x, pd.Series) else x


def assert_same(found, expected):
    assert_frame_equal(frame_of(found), frame_of(expected), rtol=RTOL, atol=ATOL, check_dtype=False)


# ------------------------------------------------------------------------------------------------------------ judging
JUDGED = {
    "pred_table": lambda res, **k: res.pred_table(**k),
    "classification_report": lambda res, **k: res.classification_report(**k),
    "roc": lambda res, **k: res.roc(**k),
    "calibration": lambda res, **k: res.calibration(**k),
    "fixed bins": lambda res, **k: res.calibration(5, method="uniform", **k).curve,
    "decision_curve": lambda res, **k: res.decision_curve([0.7, 0.2, 0.5], event=event_of(res), **k),
    "lift": lambda res, **k: res.lift(event=event_of(res), **k),
    "precision_recall": lambda res, **k: res.precision_recall(event=event_of(res), **k).curve,
}


def event_of(res):
    return "q" if isinstance(res.model, MNLogit) else None


@pytest.mark.parametrize("name", JUDGED)
def test_judging_a_binary_fit(binary, name):
    assert_same(JUDGED[name](binary[1]), JUDGED[name](binary[0]))


@pytest.mark.parametrize("name", JUDGED)
def test_judging_a_fit_of_several_classes(several, name):
    assert_same(JUDGED[name](several[1]), JUDGED[name](several[0]))


@pytest.mark.filterwarnings("ignore:rows that cannot be judged")
@pytest.mark.parametrize("name", JUDGED)
def test_judging_new_data(weighted, name):
    memory, stream = weighted
    assert_same(JUDGED[name](stream, newdata=parts), JUDGED[name](memory, newdata=TABLE))


def test_judging_counts():
    memory, stream = fits(Probit, "s + t ~ x + g", freq_weights="f")
    for name in ("pred_table", "classification_report", "roc", "decision_curve", "calibration"):
        assert_same(JUDGED[name](stream), JUDGED[name](memory))


def test_a_table_of_parts_written_out():
    """Against counts of the rows themselves."""
    res = fits(Logit, "y ~ x")[1]
    t = TABLE.dropna(subset=["x"])
    p = 1 / (1 + np.exp(-(res.params["Intercept"] + res.params["x"] * t["x"])))
    assert_array_equal(res.pred_table(0.6), pd.crosstab(t["y"], p > 0.6))


def test_files(tmp_path, monkeypatch):
    monkeypatch.setattr(base, "PART_ROWS", 70)
    memory = Logit.from_formula(BINARY, TABLE).fit()
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    TABLE.to_parquet(tmp_path / "t.parquet")
    for path in (tmp_path / "t.csv", str(tmp_path / "t.parquet")):
        with pytest.warns(DataWarning, match='left out: no prediction in 3'):
            found = memory.classification_report(newdata=path)
        with pytest.warns(DataWarning, match="left out"):
            assert_same(found, memory.classification_report(newdata=TABLE))
        stream = Logit.from_formula(BINARY, path).fit()
        assert_same(stream.roc(), memory.roc())
        with pytest.warns(DataWarning, match="3 rows that lack a value"):
            margins = stream.get_margeff(newdata=path)
        with pytest.warns(DataWarning, match="3 rows"):
            assert_same(margins, memory.get_margeff(newdata=TABLE))


def test_new_outcomes_and_weights_by_column():
    memory = Logit.from_formula("y ~ z", TABLE).fit()
    found = memory.roc(parts, endog="b", freq_weights="f")
    assert_same(found, memory.roc(TABLE, endog="b", freq_weights="f"))
    with pytest.raises(DataError, match=r"endog= of rows of parts\(\) is the name of a column; found ndarray"):
        memory.roc(parts, endog=TABLE["b"].to_numpy())
    with pytest.raises(DataError, match=r'weights="nope": no such column of parts\(\)'):
        memory.pred_table(newdata=parts, weights="nope")


def test_a_part_without_outcomes():
    memory, missing = Logit.from_formula("y ~ z", TABLE).fit(), TABLE.astype({"y": float})
    missing.iloc[90:230, missing.columns.get_loc("y")] = np.nan

    def some():
        return (missing.iloc[a:b] for a, b in zip(ENDS, ENDS[1:]))

    with pytest.warns(DataWarning, match='"y" or a weight missing in 140'):
        found = memory.classification_report(newdata=some)
    assert_same(found, memory.classification_report(newdata=missing.dropna(subset=["y"])))
    with pytest.warns(DataWarning), pytest.raises(DataError, match="no row is left to judge"):
        memory.roc(lambda: iter([missing.iloc[100:110]]))


def test_comparing_curves():
    (memory, stream), (other, small) = fits(Logit, BINARY), fits(Logit, "y ~ x")
    expected = memory.compare_roc(other)
    for one, two in ((stream, small), (memory, small), (stream, other)):
        assert_allclose(one.compare_roc(two), expected, rtol=RTOL)
    with pytest.raises(DataError, match=r"different rows \(297 and 300\)"):
        memory.compare_roc(Logit.from_formula("y ~ g", parts).fit())
    with pytest.raises(DataError, match="different outcomes"):
        memory.compare_roc(Logit.from_formula("y ~ x", lambda: iter([TABLE[::-1]])).fit())
    with pytest.raises(DataError, match="different rows"):  # labels tell, where both are there
        memory.compare_roc(Logit.from_formula("y ~ x", TABLE.reset_index()).fit())


def test_too_many_rows_for_a_curve(monkeypatch):
    res = fits(Logit, "y ~ z")[1]
    monkeypatch.setattr(streamed, "MOST_GATHERED", 400)
    with pytest.raises(NotImplementedError, match=r"roc\(\) brings numbers of each row .* give it some of them"):
        res.roc()
    with pytest.raises(NotImplementedError, match=r"gof_test\(\) brings numbers of each row"):
        res.gof_test()
    assert res.pred_table().to_numpy().sum() == len(TABLE)
    assert len(res.decision_curve()) == 99


# ------------------------------------------------------------------------------------------------------------ margins
MARGINS = {
    "overall": lambda res, **k: res.get_margeff(**k),
    "mean": lambda res, **k: res.get_margeff("mean", **k),
    "zero": lambda res, **k: res.get_margeff("zero", **k),
    "elasticities": lambda res, **k: res.get_margeff(method="eyex", variables="x", **k),
    "groups": lambda res, **k: res.get_margeff(over="h", **k),
    "means of groups": lambda res, **k: res.get_margeff("mean", over="h", **k),
    "grid": lambda res, **k: res.get_margeff({"x": [0.0, 1.0]}, **k),
    "predictions": lambda res, **k: res.predictions("g", **k),
    "by": lambda res, **k: res.predictions("g", by="h", **k),
    "marginal means": lambda res, **k: res.predictions("g", "mean", weights="equal", **k),
    "linear": lambda res, **k: res.predictions(which="linear", **k),
    "contrasts": lambda res, **k: res.contrasts("g", **k),
}


@pytest.mark.parametrize("name", MARGINS)
def test_margins_of_a_binary_fit(weighted, name):
    assert_same(MARGINS[name](weighted[1]), MARGINS[name](weighted[0]))


@pytest.mark.parametrize("name", ["overall", "means of groups"])
def test_margins_of_several_classes(several, name):
    assert_same(MARGINS[name](several[1]), MARGINS[name](several[0]))


@pytest.mark.filterwarnings("ignore:3 rows that lack")
@pytest.mark.parametrize("name", ["overall", "mean", "groups", "contrasts"])
def test_margins_over_new_data(weighted, name):
    memory, stream = weighted
    assert_same(MARGINS[name](stream, newdata=parts), MARGINS[name](memory, newdata=TABLE))


def test_margins_of_whole_numbers_and_settings():
    memory, stream = fits(CLogLog, "y ~ x + z + b")
    assert_same(stream.get_margeff(dummy=True, count=True), memory.get_margeff(dummy=True, count=True))
    for at in (TABLE[["z"]].iloc[:3], TABLE.iloc[:3]):
        assert_same(stream.get_margeff(at=at), memory.get_margeff(at=at))
    memory, stream = fits(Logit, "y ~ x + g")
    assert_same(stream.inverse_predict([0.2, 0.9], "x"), memory.inverse_predict([0.2, 0.9], "x"))


def test_the_average_effect_written_out():
    res = fits(Logit, "y ~ x", freq_weights="f")[1]
    t = TABLE.dropna(subset=["x"])
    p = 1 / (1 + np.exp(-(res.params["Intercept"] + res.params["x"] * t["x"])))
    expected = np.average(p * (1 - p) * res.params["x"], weights=t["f"])
    assert_allclose(res.get_margeff().margeff["x"], expected, rtol=RTOL)


def test_far_tails_of_parts():
    """Sums of logs of parts whose probabilities are all next to 0 are not lost beside others."""
    memory = Logit.from_formula("y ~ x", TABLE).fit()
    new = pd.DataFrame({"x": [-1200.0, -1100.0, -1150.0]})
    found = memory.predictions(newdata=lambda: (new.iloc[i : i + 1] for i in range(3)))
    assert_same(found, memory.predictions(newdata=new))


def test_medians_of_parts(weighted, monkeypatch):
    memory, stream = weighted
    assert_same(stream.get_margeff("median"), memory.get_margeff("median"))
    assert_same(stream.predictions("g", at="median"), memory.predictions("g", at="median"))
    assert_same(stream.get_margeff("median", over="h"), memory.get_margeff("median", over="h"))
    monkeypatch.setattr(streamed, "MOST_GATHERED", 100)
    with pytest.raises(NotImplementedError, match=r"^get_margeff\(\) brings numbers of each row into memory"):
        stream.get_margeff("median")


def test_margins_that_parts_do_not_have(weighted):
    res = weighted[1]
    with pytest.raises(NotImplementedError, match='vcov="unconditional" of averages over rows in a stream'):
        res.predictions("g", vcov="unconditional")
    with pytest.raises(DataError, match="over= of rows in a stream is the name of one of its columns; found 'nope'"):
        res.get_margeff(over="nope")
    with pytest.raises(DataError, match="over= of rows in a stream .* found Series"):
        res.get_margeff(over=TABLE["h"])
    with pytest.raises(glmclf.errors.MissingDataError, match="over= is missing in 3 of 300 rows"):
        res.predictions(newdata=parts, by="x")


# -------------------------------------------------------------------------------------------------- the fit as a whole
FITTED = {
    "pseudo_rsquared": lambda res: res.pseudo_rsquared(),
    "vif": lambda res: res.vif(),
    "vif of the design": lambda res: res.vif("design"),
    "anova": lambda res: res.anova(test="wald"),
    "summary_frame": lambda res: res.summary_frame(),
    "digits": lambda res: res.digits,
}
TESTED = {
    "gof_test": lambda res: res.gof_test(),
    "gof_groups": lambda res: res.gof_groups(6),
    "hauck_donner": lambda res: res.hauck_donner,
    "anova": lambda res: res.anova(),
    "constrained": lambda res: res.model.fit_constrained(np.eye(len(res.model._param_names))[1]).gof_test(),
}


@pytest.mark.parametrize("name", FITTED)
def test_sums_over_the_rows_of_a_binary_fit(binary, name):
    assert_same(FITTED[name](binary[1]), FITTED[name](binary[0]))


@pytest.mark.parametrize("name", FITTED)
def test_sums_over_the_rows_of_several_classes(several, name):
    assert_same(FITTED[name](several[1]), FITTED[name](several[0]))


@pytest.mark.parametrize("name", TESTED)
def test_tests_of_the_fit(both, name):
    assert_same(TESTED[name](both[1]), TESTED[name](both[0]))


def test_profiles():
    memory, stream = fits(Logit, "y ~ x")
    assert_same(stream.conf_int(method="profile"), memory.conf_int(method="profile"))


def test_link_test(weighted):
    assert_same(weighted[1].linktest(), weighted[0].linktest())


@pytest.mark.parametrize("weights", [{}, {"freq_weights": "f"}])
def test_link_test_of_several_classes(weights):
    a, b = fits(MNLogit, SEVERAL, **weights)
    assert_same(b.linktest(), a.linktest())
    with pytest.raises(NotImplementedError, match=r"^linktest\(\) needs the rows"):
        b.linktest(cov_type="cluster", cov_kwds={"groups": "z"})


@pytest.mark.parametrize("type", [1, 2, 3])
@pytest.mark.parametrize("model, formula", [(Probit, BINARY), (MNLogit, SEVERAL)])
def test_score_tests_of_terms(model, formula, type):
    a, b = fits(model, formula)
    assert_same(b.anova(type=type, test="score"), a.anova(type=type, test="score"))


def test_settings_beside_columns_of_the_data_that_the_model_has_not():
    memory, stream = fits(Logit, "y ~ x + z + g")
    for beside in ("h", "f"):
        at = pd.DataFrame({"x": [0.0, 1.0], beside: [1, 2]})
        assert_same(stream.predictions(at=at), memory.predictions(at=at))
    for res in (memory, stream):
        with pytest.raises(DataError, match='the column "other", no variable .* The columns are "x", "z", "g"'):
            res.get_margeff(at=pd.DataFrame({"x": [0.0, 1.0], "other": [1, 2]}))


@pytest.mark.parametrize(
    "asked", ["simulate()", "components()", "endog", "exog", "loglikeobs()", "score_obs()", "score_factor()",
              "hessian_factor()"],
)  # fmt: skip
def test_what_the_guide_says_that_needs_rows(both, asked, repository):
    assert f"`{asked}`" in (repository / "docs/guides/large.md").read_text()
    res, name = both[1], asked.removesuffix("()")
    with pytest.raises(NotImplementedError, match=f"{name}.* needs the rows of the fit one by one, which are in a str"):
        if hasattr(type(res), name):
            getattr(res, name)()
        elif asked.endswith("()"):
            getattr(res.model, name)(res.params)
        else:
            getattr(res.model, name)


def test_what_needs_rows_that_were_not_saved_is_named(both, tmp_path):
    both[0].save(tmp_path / "fit.pkl")
    for kept in (glmclf.load(tmp_path / "fit.pkl"), pickle.loads(pickle.dumps(both[1]))):
        for name in ("pred_table", "get_margeff"):
            with pytest.raises(DataError, match=rf"^{name}\(\) needs the rows of the fit, which were removed"):
                getattr(kept, name)()


def test_fractions():
    memory, stream = fits(Logit, "I(s / 5) ~ x + g")
    assert_same(stream.pseudo_rsquared(), memory.pseudo_rsquared())
    assert_same(stream.calibration(), memory.calibration())


def test_likelihood_ratio(both):
    formula = "y ~ x" if both[0].model._likelihood.n_eta == 1 else "k ~ x"
    small = fits(type(both[0].model), formula)
    assert_allclose(both[1].compare_lr_test(small[1]), both[0].compare_lr_test(small[0]), rtol=1e-9)
    assert_allclose(both[1].compare_lr_test(small[0]), both[0].compare_lr_test(small[0]), rtol=1e-9)
    new = TABLE.assign(y=1 - TABLE["y"], k=TABLE["k"].to_numpy()[::-1])
    other = type(both[0].model).from_formula(formula, new).fit()
    with pytest.raises(ValueError, match="different data"):
        both[1].compare_lr_test(other)


def test_fits_of_other_rows_are_told_from_those_of_the_same():
    t = TABLE.assign(k=np.where(TABLE["k"] == "p", "yes", "no")).dropna()
    codings = [(Logit, {}), (Logit, {"event": "no"}), (MNLogit, {}), (MNLogit, {"reference": "yes"}), (Probit, {})]
    expected = Logit.from_formula("k ~ x + z", t).fit().compare_lr_test(Logit.from_formula("k ~ x", t).fit())
    for model, keywords in codings:
        small = model.from_formula("k ~ x", lambda: iter([t[:90], t[90:]]), **keywords).fit()
        other = model.from_formula("k ~ x", lambda: iter([t[::-1]]), **keywords).fit()
        for data in (t, lambda: iter([t[:50], t[50:]])):
            large = Logit.from_formula("k ~ x + z", data).fit()
            with pytest.raises(ValueError, match=r"different data \(their response differ\)"):
                large.compare_vuong(other)
            if model is not Probit:
                assert_allclose(large.compare_lr_test(small), expected, rtol=1e-9)


@pytest.mark.parametrize("weights", [{}, {"freq_weights": "f"}])
def test_models_that_are_not_nested(weights):
    a, b = fits(Logit, "y ~ x + z", **weights), fits(Probit, "y ~ x + b", **weights)
    assert_same(a[1].compare_vuong(b[1]), a[0].compare_vuong(b[0]))
    assert_same(a[0].compare_vuong(b[1]), a[0].compare_vuong(b[0]))
    c, d = fits(MNLogit, SEVERAL, **weights), fits(MNLogit, "k ~ x + h", **weights)
    assert_same(c[1].compare_vuong(d[1]), c[0].compare_vuong(d[0]))
    bayes = {"families": {"z": "gaussian"}, "missing": "drop"}
    e, f = fits(LDA, "k ~ x + z", **weights, missing="drop"), fits(NaiveBayes, "k ~ x + z", **bayes, **weights)
    assert_same(e[1].compare_vuong(f[1]), e[0].compare_vuong(f[0]))


def test_hauck_donner_with_a_large_offset_and_a_column_that_is_left_out():
    t = TABLE.assign(u=(TABLE.g == "a") + 0, v=(TABLE.g != "a") + 0, m=(TABLE.h == "u") + 0, n=(TABLE.h != "u") + 0)
    large = t.assign(o=np.round(t.o) + 1000)
    with pytest.warns(CollinearityWarning):
        several = [
            Logit.from_formula("y ~ 0 + u + v + m + n + x", data, offset="o").fit()
            for data in (t.assign(o=np.round(t.o)), large, halves(large))
        ]
    plain, one, two = (res.hauck_donner.loc[["m", "x"], "derivative"] for res in several)
    assert_allclose(one, plain, rtol=1e-9)
    assert_allclose(two, plain, rtol=1e-9)


def halves(data):
    """In parts that end elsewhere than those of `parts`."""
    return lambda: iter([data[:50], data[50:200], data[200:]])


def test_nesting_is_decided_by_the_columns_wherever_the_rows_are():
    pairs = [("y ~ x + z", "y ~ I(2 * x)"), ("y ~ x + g", "y ~ x + I(g == 'a')"), ("y ~ bs(x, df=4) + z", "y ~ x")]
    for (larger, smaller), data, other in zip(pairs, (parts, TABLE, parts), (halves(TABLE), parts, TABLE)):
        expected = Logit.from_formula(larger, TABLE).fit().compare_lr_test(Logit.from_formula(smaller, TABLE).fit())
        a, b = Logit.from_formula(larger, data).fit(), Logit.from_formula(smaller, other).fit()
        assert_allclose(a.compare_lr_test(b), expected, rtol=1e-9)
        with pytest.raises(ValueError, match="this fit is nested in the other model"):
            b.compare_vuong(a)
        assert_allclose(glmclf.compare(a, b)["LR"].iloc[1], expected.statistic, rtol=1e-9)
    with_firth = [Logit.from_formula(formula, TABLE).fit(bias_reduction="firth") for formula in pairs[0]]
    one, two = (Logit.from_formula(f, d).fit(bias_reduction="firth") for f, d in zip(pairs[0], (parts, halves(TABLE))))
    assert_allclose(one.compare_lr_test(two), with_firth[0].compare_lr_test(with_firth[1]), rtol=1e-9)
    c = Logit.from_formula("y ~ b + x", halves(TABLE)).fit()
    with pytest.raises(ValueError, match="not nested: b of the restricted model is no combination"):
        a.compare_lr_test(c)


@pytest.mark.parametrize("model", [Logit, MNLogit])
def test_nesting_of_offsets_and_other_codings(model):
    t = TABLE.dropna().assign(two=lambda d: 2 * d["o"], c=lambda d: np.where(d["y"] == 1, "yes", "no"))
    other = {"event": "no"} if model is Logit else {"reference": "yes"}
    larger = ("c ~ x + o", {})
    for smaller in (("c ~ x", {"offset": "o"}), ("c ~ x", {"offset": "o", **other}), ("c ~ x", {"offset": "two"})):
        one, two = (
            [model.from_formula(f, data, **k).fit() for (f, k), data in zip((larger, smaller), pair)]
            for pair in ((t, t), (halves(t), lambda: iter([t])))
        )
        assert_allclose(two[0].compare_lr_test(two[1]), one[0].compare_lr_test(one[1]), rtol=1e-9)
    one, two = (model.from_formula("c ~ x", halves(t), offset=o).fit() for o in ("two", "o"))
    larger = model.from_formula("c ~ x + g", t, offset="two").fit()
    with pytest.raises(ValueError, match="offset differ, by what is no combination"):
        larger.compare_lr_test(two)
    assert larger.compare_lr_test(one).df == 2


def test_other_references():
    memory, stream = (res.rebase("q").rebase("r") for res in fits(MNLogit, SEVERAL, offset="o"))
    assert_same(stream, memory)
    assert_same(stream.with_cov("HC0"), memory.with_cov("HC0"))
    assert_same(stream.pred_table(), memory.pred_table())
    assert_same(stream.get_margeff(), memory.get_margeff())
    assert_allclose(stream.llnull, memory.llnull, rtol=RTOL)


def test_files_of_results(weighted):
    memory, stream = (res.with_cov("HC0") for res in weighted)
    assert str(stream.summary()).count("parts()") == 1
    file = io.StringIO()
    stream.save(file)
    file.seek(0)
    loaded = glmclf.load(file)
    assert_same(loaded, memory)
    new = TABLE.iloc[:5]
    assert_same(loaded.get_prediction(new), memory.get_prediction(new))
    texts = [re.sub(r"\d\d:\d\d:\d\d", "", str(r.summary())) for r in (loaded, stream)]
    assert texts[0] == texts[1]
    copied = pickle.loads(pickle.dumps(stream))
    assert_same(copied, memory)
    with pytest.raises(DataError, match="removed or not saved"):
        copied.pred_table()


# --------------------------------------------------------------------------------------------------------- predictions
@pytest.mark.parametrize("model, formula", [(Logit, BINARY), (MNLogit, SEVERAL), (LDA, "k ~ x + z")])
def test_predictions_part_by_part(model, formula):
    res = model.from_formula(formula, TABLE).fit()
    found = res.augment(parts)
    assert iter(found) is found
    found, expected = list(found), res.augment(TABLE)
    assert [len(t) for t in found] == list(np.diff(ENDS))
    assert all(list(t.columns) == list(expected.columns) for t in found)
    assert_same(pd.concat([t for t in found if len(t)]), expected)


def test_predictions_of_a_penalised_fit():
    res = Logit.from_formula("y ~ x", parts).fit_regularized(alpha=0.1)
    assert_same(pd.concat([t for t in res.augment(parts) if len(t)]), res.augment(TABLE))


def test_parts_are_read_as_they_are_asked_for():
    res, read = Logit.from_formula("y ~ z", TABLE).fit(), []

    def counted():
        for i, t in enumerate(parts()):
            read.append(i)
            yield t

    found = res.augment(counted)
    read.clear()
    next(found)
    assert read == [0]


def test_errors_of_predictions_in_parts():
    res = Logit.from_formula("y ~ x + g", TABLE).fit()
    with pytest.raises(DataError, match="there is no such file"):
        res.augment("nope.parquet")
    new = [TABLE.iloc[:5], TABLE.iloc[5:9].assign(g="new")]
    found = res.augment(lambda: iter(new))
    assert len(next(found)) == 5
    with pytest.raises(glmclf.errors.UnseenLevelError, match='part 2 of <lambda>.*"new"'):
        next(found)
    for name in ("predict", "get_prediction"):
        with pytest.raises(NotImplementedError, match=r"use augment\(\), which gives predictions part by part"):
            getattr(res, name)(parts)


# ------------------------------------------------------------------------------------------------------------ the rest
ROWWISE = ["fittedvalues", "resid_response", "resid_pearson", "resid_dev", "resid_generalized", "resid_working"]
METHODS = ["predict", "get_prediction", "augment", "get_distribution", "get_influence", "simulate", "validate"]
METHODS += ["components", "resid_partial", "resid_quantile"]
OF_THE_MODEL = ["loglikeobs", "score_obs", "score_factor", "hessian_factor", "predict"]


def test_what_needs_rows_one_by_one_says_so_by_name(both):
    res = both[1]
    for name in ROWWISE:
        with pytest.raises(NotImplementedError, match=f"^{name} needs the rows of the fit .* a sample in memory"):
            getattr(res, name)
        assert not hasattr(res, name)
    for name in METHODS:
        with pytest.raises(NotImplementedError, match=rf"^{name}\(\) needs the rows of the fit"):
            getattr(res, name)()
    for name in OF_THE_MODEL:
        with pytest.raises(NotImplementedError, match=rf"^{name}\(\) needs the rows of the fit"):
            getattr(res.model, name)(res.params)
    for name in ("endog", "exog"):
        with pytest.raises(NotImplementedError, match=f"^{name} needs the rows of the fit"):
            getattr(res.model, name)
    with pytest.raises(NotImplementedError, match=r"^score_test\(\) needs the rows"):
        res.score_test("b")
    for cov_type in ("bootstrap", "jackknife"):
        with pytest.raises(NotImplementedError, match=f'cov_type="{cov_type}" fits the model again to resampled rows'):
            res.with_cov(cov_type)
    with pytest.raises(NotImplementedError, match=r"^fit_regularized_cv\(\) needs the rows"):
        res.model.fit_regularized_cv(seed=1)
    with pytest.raises(NotImplementedError, match=r"^pred_table\(\) needs the rows .*: give it new data"):
        res.pred_table(offset=np.zeros(len(TABLE)))


def test_tests_of_several_classes_that_need_rows():
    res = fits(MNLogit, SEVERAL)[1]
    with pytest.raises(NotImplementedError, match="^threshold= is for two levels"):
        res.pred_table(0.3)
    with pytest.raises(NotImplementedError, match=r"^iia_test\(\) needs the rows"):
        res.iia_test()
    with pytest.raises(NotImplementedError, match="^resid_misclassified needs the rows"):
        _ = res.resid_misclassified
