"""Judging every model: weights, counts, new data, events, kept results, resampling; and each kind of bad input."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import glmclf
from glmclf import datasets
from glmclf.errors import DataError, DataWarning, EstimationError, InferenceWarning, UnseenLevelError
from glmclf.models.folds import dealt

BINARY = ["Logit", "Probit", "CLogLog"]
SEVERAL = ["MNLogit", "LDA", "QDA", "NaiveBayes"]
MODELS = [*BINARY, *SEVERAL]


def table(n=240, seed=0):
    rng = np.random.default_rng(seed)
    df = pd.DataFrame({"x": rng.integers(-6, 7, n) / 3, "z": rng.integers(0, 5, n) / 2, "f": rng.integers(1, 4, n)})
    utility = np.column_stack([np.zeros(n), 0.9 * df.x, 0.6 * df.z - 0.5 * df.x - 0.5]) + rng.gumbel(size=(n, 3))
    df["c"] = np.array(["bus", "car", "rail"])[utility.argmax(axis=1)]
    df["y"] = np.where(df.c == "car", "yes", "no")
    df["w"] = rng.uniform(0.5, 2, n)
    df["g"] = rng.integers(0, 30, n)
    return df


DF = table()
TEST = table(120, 9)
LEFT = dict.fromkeys(BINARY, "y") | dict.fromkeys(SEVERAL, "c")


def fit(model, df=DF, left=None, **keywords):
    return getattr(glmclf, model).from_formula(f"{left or LEFT[model]} ~ x + z", df, **keywords).fit()


def frames(res, **rows):
    """All numbers of the judgement of some rows, as arrays."""
    event = None if len(res.model._response.levels) == 2 else "car"
    r, c = res.roc(**rows), res.calibration(6, **rows)
    return [
        res.classification_report(**rows).summary_frame(),
        [r.auc, r.se],
        res.roc(event="car" if event else None, **rows).curve,
        c.summary_frame(),
        c.curve,
        c.smooth_frame(),
        res.precision_recall(event=event, **rows).curve,
        res.precision_recall(event=event, **rows).average_precision,
        res.decision_curve([0.2, 0.4], event=event, **rows),
        res.lift(5, event=event, **rows),
    ]


def same(one, other, rtol=1e-7):
    for a, b in zip(one, other, strict=True):
        assert_allclose(np.asarray(a, float), np.asarray(b, float), rtol=rtol, atol=1e-9)


# ---------------------------------------------------------------------------------------------------------- identities
@pytest.mark.parametrize("model", MODELS)
def test_repeated_rows(model):
    """Every number under frequency weights is that of the expanded rows; their order does not matter."""
    expanded = DF.loc[DF.index.repeat(DF.f)].sample(frac=1, random_state=1).reset_index(drop=True)
    same(frames(fit(model, freq_weights="f")), frames(fit(model, expanded)))


@pytest.mark.parametrize("model", MODELS)
def test_new_data_that_are_the_rows_of_the_fit(model):
    res = fit(model, freq_weights="f")
    same(frames(res), frames(res, newdata=DF))
    same(
        frames(res), frames(res, newdata=DF.drop(columns=["f", LEFT[model]]), endog=DF[LEFT[model]], freq_weights=DF.f)
    )


@pytest.mark.parametrize("model", MODELS)
def test_expanded_new_data(model):
    res = fit(model)
    expanded = TEST.loc[TEST.index.repeat(TEST.f)]
    same(frames(res, newdata=TEST, freq_weights="f"), frames(res, newdata=expanded))


@pytest.mark.parametrize("model", MODELS)
def test_sampling_weights_have_no_scale(model):
    res = fit(model, weights="w")
    one, ten = frames(res, newdata=TEST, weights="w"), frames(res, newdata=TEST.assign(w=10 * TEST.w))
    for i in (1, 7, 8):
        assert_allclose(np.asarray(one[i], float), np.asarray(ten[i], float), rtol=1e-10)
    drop = ["n"] if "n" in one[4] else []
    same([one[0], one[3], one[4].drop(columns=drop)], [ten[0], ten[3], ten[4].drop(columns=drop)], 1e-9)


@pytest.mark.parametrize("model", BINARY)
def test_counts_are_expanded_trials(model):
    g = DF.groupby(["x", "z"], as_index=False).agg(won=("y", lambda v: (v == "yes").sum()), n=("y", "size"))
    g["lost"] = g.n - g.won
    counts = getattr(glmclf, model).from_formula("won + lost ~ x + z", g).fit()
    one, other = frames(counts), frames(fit(model))
    same(one, other, 1e-6)
    same(frames(counts, newdata=g), other, 1e-6)
    same(frames(counts, newdata=g[["x", "z"]], endog=g[["won", "lost"]].to_numpy()), other, 1e-6)


def test_counts_of_classes():
    wide = DF.groupby(["x", "z", "c"]).size().unstack(fill_value=0).reset_index()
    res = glmclf.MNLogit.from_formula("bus + car + rail ~ x + z", wide).fit()
    same(frames(res), frames(fit("MNLogit")), 1e-6)
    same(frames(res, newdata=wide), frames(res))


@pytest.mark.parametrize("model", BINARY)
def test_the_event_turned_round(model):
    res = fit(model)
    a, b = res.roc(), res.roc(event="no")
    assert_allclose([a.auc, a.se], [b.auc, b.se])
    if model != "CLogLog":
        other = fit(model, event="no")
        assert_allclose([other.roc().auc, other.calibration().brier], [a.auc, res.calibration().brier])
        x, y = (r.classification_report().overall["estimate"] for r in (res, other))
        assert_allclose(
            x[["sensitivity", "specificity", "kappa", "MCC"]], y[["specificity", "sensitivity", "kappa", "MCC"]]
        )


@pytest.mark.parametrize("model", SEVERAL)
def test_two_levels_are_a_binary_response(model):
    res, turned = fit(model, left="y"), fit(model, left="y", reference="yes")
    assert res.roc().event == "yes" and turned.roc().event == "no"
    assert_allclose([res.roc().auc, res.calibration().brier], [turned.roc().auc, turned.calibration().brier])
    assert_allclose(res.pred_table(0.5), res.pred_table())
    assert "sensitivity" in res.classification_report(0.3).overall.index
    if model == "MNLogit":
        same(frames(res), frames(fit("Logit")), 1e-6)


def test_units_and_base_change_nothing():
    one = fit("MNLogit")
    other = glmclf.MNLogit.from_formula("c ~ I(x * 1000) + z", DF, reference="rail").fit()
    same(frames(one), frames(other), 1e-6)
    same(frames(one.rebase("car")), frames(one))


@pytest.mark.parametrize("model", MODELS)
def test_table_is_of_the_predicted_classes(model):
    res = fit(model)
    expected = pd.crosstab(TEST[LEFT[model]], res.predict(TEST, which="class"))
    found = res.pred_table(newdata=TEST)
    assert_allclose(found.loc[expected.index, expected.columns], expected)
    assert found.index.name == "observed" and found.columns.name == "predicted"


def test_thresholds_of_the_curve_reproduce_it():
    res = fit("Logit")
    curve = res.roc().curve
    for t, fpr, tpr in curve.iloc[[0, 3, 10, -1]].itertuples(index=False):
        T = res.pred_table(t).to_numpy()
        assert_allclose([T[0, 1] / T[0].sum(), T[1, 1] / T[1].sum()], [fpr, tpr])


def test_curves_of_several_levels():
    res = fit("QDA")
    r = res.roc()
    assert list(r.table.index) == ["bus", "car", "rail"] and r.curve("car").event == "car"
    assert_allclose(r.curve("car").auc, res.roc(event="car").auc)
    assert_allclose(r.conf_int(method="logit"), r.summary_frame().loc["Hand-Till M", ["lower", "upper"]])
    assert res.calibration().curve.index.names == ["level", "bin"]
    found = res.compare_roc(fit("LDA"), event="car")
    assert_allclose(found["difference"], res.roc(event="car").auc - fit("LDA").roc(event="car").auc)


def test_same_ranking_has_no_difference():
    res = fit("Logit")
    assert_allclose(res.compare_roc(res)[["difference", "pvalue"]], [0, 1])


# ------------------------------------------------------------------------------------------ responses and kinds of fits
def test_fractions():
    df = DF.assign(share=0.1 + 0.8 * (DF.y == "yes"))
    res = glmclf.Logit.from_formula("share ~ x + z", df).fit()
    p = res.fittedvalues
    c = res.calibration()
    assert_allclose(c.brier, (df.share * (1 - p) ** 2 + (1 - df.share) * p**2).mean())
    assert_allclose(res.pred_table().to_numpy().sum(), len(df))
    assert res.roc().se < fit("Logit").roc().se * 2


def test_offset_and_expressions():
    res = glmclf.Logit.from_formula("I(c == 'car') ~ x + z", DF, offset="w").fit()
    assert_allclose(res.roc(DF).auc, res.roc().auc)
    moved = res.roc(DF.drop(columns="w"), offset=DF.w + 1)
    assert_allclose(moved.auc, res.roc().auc)
    assert res.calibration(newdata=DF.assign(w=DF.w + 1)).intercept == pytest.approx(-1)


def test_arrays():
    y, X = (DF.y == "yes").astype(int), DF[["x", "z"]].assign(const=1.0)
    res = glmclf.Logit(y, X).fit()
    assert_allclose(res.roc(X, endog=y).auc, res.roc().auc)
    assert_allclose(res.roc(X.to_numpy(), endog=y.to_numpy()).auc, res.roc().auc)
    assert_allclose(res.roc(X.assign(y=y)).auc, res.roc().auc)
    with pytest.raises(DataError, match='no response "y".*endog='):
        res.roc(X)


@pytest.mark.parametrize("model", MODELS)
def test_kept_results_judge_new_data(tmp_path, model):
    res = fit(model)
    res.save(tmp_path / "kept.json")
    kept = glmclf.load(tmp_path / "kept.json")
    same(frames(kept, newdata=TEST), frames(res, newdata=TEST))
    with pytest.raises(DataError, match="pass new data"):
        kept.roc()
    with pytest.raises(DataError, match="fit again"):
        kept.validate(seed=1)


@pytest.mark.filterwarnings("ignore::glmclf.errors.SeparationWarning")
def test_separated():
    df = pd.DataFrame({"x": [1.0, 2, 3, 4, 5, 6, 7, 8], "y": [0, 0, 0, 0, 1, 1, 1, 1]})
    res = glmclf.Logit.from_formula("y ~ x", df).fit()
    r = res.roc()
    assert r.auc == 1 and r.se == 0 and res.classification_report().overall.loc["accuracy", "estimate"] == 1
    with pytest.warns(InferenceWarning, match="no interval"):
        assert r.conf_int().isna().all()
    with pytest.warns(InferenceWarning, match="0 or 1"):
        c = res.calibration(2)
    assert np.isnan([c.slope, c.ici]).all() and c.brier == 0 and c.log_score == 0
    with pytest.raises(ValueError, match="infinite"):
        res.validate(seed=1)


@pytest.mark.filterwarnings("ignore::glmclf.errors.CollinearityWarning")
def test_collinear_columns_change_nothing():
    one, other = fit("Logit"), glmclf.Logit.from_formula("y ~ x + z + I(x + z)", DF).fit()
    same(frames(one), frames(other), 1e-6)
    assert other.validate(seed=1, reps=5).n_used == 5


# ------------------------------------------------------------------------------------------------------ bad input
@pytest.mark.parametrize("model", MODELS)
def test_new_data_that_cannot_be_judged(model):
    res, left = fit(model), LEFT[model]
    with pytest.raises(UnseenLevelError, match="tram.*the model knows"):
        res.roc(TEST.assign(**{left: ["tram", *TEST[left][1:]]}))
    with pytest.raises(DataError, match=left):
        res.roc(TEST.drop(columns=left))
    level = {"y": "yes", "c": "car"}[left]
    with pytest.raises(DataError, match="no row of|all .* are"):
        res.roc(TEST[TEST[left] == level])
    res.classification_report(newdata=TEST[TEST[left] == level])
    with pytest.raises(DataError, match="event='maybe'"):
        res.roc(event="maybe")
    with pytest.raises(TypeError, match="newdata="):
        res.roc(endog=TEST[left])
    with pytest.raises(TypeError):
        res.roc(bins=3)


@pytest.mark.parametrize("model", MODELS)
def test_missing_rows_are_said(model):
    res, left = fit(model), LEFT[model]
    broken = TEST.assign(**{left: TEST[left].where(TEST.index > 4)})
    with pytest.warns(DataWarning, match="missing in 5"):
        r = res.roc(broken)
    assert_allclose(r.auc, res.roc(TEST[TEST.index > 4]).auc)
    if model in BINARY or model == "MNLogit":
        with pytest.warns(DataWarning, match="no prediction in 5"):
            gone = res.roc(TEST.assign(x=TEST.x.where(TEST.index > 4)))
        assert_allclose(gone.auc, r.auc)
    with pytest.raises(DataError):
        res.roc(TEST.assign(**{left: None}))


def test_weights_of_new_data_are_asked_for():
    res = fit("Logit", freq_weights="f")
    with pytest.raises(DataError, match='freq_weights="f".*freq_weights='):
        res.roc(TEST.drop(columns="f"))
    assert_allclose(res.roc(TEST, freq_weights=1).auc, fit("Logit", freq_weights="f").roc(TEST.assign(f=1)).auc)
    with pytest.raises(DataError, match="whole numbers"):
        res.roc(TEST, freq_weights=0.5)


def test_options_that_make_no_sense():
    two, three = fit("Logit"), fit("LDA")
    for call, error, words in (
        (lambda: two.classification_report(1.5), ValueError, "threshold"),
        (lambda: three.pred_table(0.5), NotImplementedError, "threshold=.*LDA"),
        (lambda: three.compare_roc(three), NotImplementedError, "event="),
        (lambda: three.decision_curve(), ValueError, "event="),
        (lambda: three.roc(offset=1.0), NotImplementedError, "offset.*LDA"),
        (lambda: two.compare_roc("LDA"), TypeError, "results"),
        (lambda: two.compare_roc(fit("Logit", DF[:200])), DataError, "different rows"),
        (lambda: two.compare_roc(fit("Logit", freq_weights="f")), DataError, "weights"),
        (lambda: two.calibration(1), ValueError, "bins"),
        (lambda: two.calibration(method="kmeans"), ValueError, "quantile"),
        (lambda: two.decision_curve([0.2, 1.0]), ValueError, "thresholds"),
        (lambda: two.roc().conf_int(method="exact"), ValueError, "logit"),
        (lambda: two.roc().conf_int(2), ValueError, "alpha"),
        (lambda: two.roc().partial_auc(0.3, 0.1), ValueError, "low"),
        (lambda: two.roc().cut_points(cost=0), ValueError, "cost"),
        (lambda: two.roc().cut_points(prevalence=1), ValueError, "prevalence"),
        (lambda: two.validate("jackknife"), ValueError, "bootstrap"),
        (lambda: two.validate(folds=3), TypeError, "folds"),
        (lambda: two.validate("cv", folds=1000), ValueError, "folds"),
        (lambda: two.validate(reps=0), ValueError, "reps"),
        (lambda: two.validate(groups="nobody"), ValueError, "nobody"),
        *((lambda s=s: two.validate(seed=s), ValueError, f"seed={s!r}: a whole number") for s in ("a", 1.5, -1, True)),
    ):
        with pytest.raises(error, match=words):
            call()


# ------------------------------------------------------------------------------------------------------- validation
@pytest.mark.parametrize("model", MODELS)
def test_validation_is_reproducible_and_that_of_expanded_rows(model):
    expanded = DF.loc[DF.index.repeat(DF.f)].reset_index(drop=True)
    for method in ("bootstrap", ".632+", "cv"):
        a, b, c = (
            r.validate(method, seed=5, reps=1 if method == "cv" else 3).table
            for r in (fit(model, freq_weights="f"),) * 2 + (fit(model, expanded),)
        )
        assert_allclose(a, b)
        assert_allclose(a, c, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("model", ["Logit", "MNLogit", "NaiveBayes"])
def test_cross_validation_written_out(model):
    """Leaving out one group at a time: the folds are then known."""
    res, left = fit(model), LEFT[model]
    g = DF.index % 4
    found = res.validate("cv", seed=1, folds=4, groups=g)
    p = pd.concat([fit(model, DF[g != k]).predict(DF[g == k]) for k in range(4)]).loc[DF.index]
    p = pd.DataFrame({"no": 1 - p, "yes": p}) if p.ndim == 1 else p
    y = pd.get_dummies(DF[left]).astype(float)[p.columns]
    brier = ((p - y) ** 2).sum(axis=1).mean() / (2 if len(p.columns) == 2 else 1)
    assert_allclose(found["Brier"], brier, rtol=1e-8)
    assert_allclose(found["log score"], -np.log((p * y).sum(axis=1)).mean(), rtol=1e-8)
    assert found.n_used == 4 and found.method == "cv"


def test_what_rounds_to_zero_is_printed_without_a_sign():
    res = fit("Logit")
    found = res.validate(seed=5, reps=2)
    found.table.loc["intercept", "training"] = -1e-17
    for printed in (repr(found), found._repr_html_(), repr(res.calibration()), res.calibration()._repr_html_()):
        assert "-0.0000" not in printed and "0.0000" in printed


@pytest.mark.parametrize("labels", ["text", "category", "bool"])
def test_folds_do_not_depend_on_the_event(labels):
    """Measures that are of no event are the same; so are those of the MNLogit, whatever its reference."""
    y = {"text": DF.y, "category": pd.Categorical(DF.y, ["yes", "no"]), "bool": DF.y == "yes"}[labels]
    df = DF.assign(y=y)
    both = list(pd.unique(df.y))
    kinds = [("Logit", "event"), ("MNLogit", "reference"), ("LDA", "reference")]
    for model, name in kinds:
        one, other = (fit(model, df, "y", **{name: e}).validate("cv", seed=1, folds=5).table for e in both)
        rows = ["AUC", "Brier", "log score", "R2", "slope"]
        assert_allclose(one.loc[rows], other.loc[rows], rtol=1e-6, atol=1e-8)
        if model == "Logit":
            logit = one.loc[rows]
        elif model == "MNLogit":
            assert_allclose(one.loc[rows], logit, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("model, left, name", [("Logit", "y", "event"), ("MNLogit", "c", "reference")])
def test_folds_of_a_penalty_do_not_depend_on_the_event(model, left, name):
    from_formula = getattr(glmclf, model).from_formula
    choices = {"event": ["yes", "no"], "reference": ["bus", "rail"]}[name]
    for weighted in ({}, {"freq_weights": "f"}):
        parts = [dealt(from_formula(f"{left} ~ x + z", DF, **{name: e}, **weighted), 5, 1)[0] for e in choices]
        assert (parts[0].sum(axis=2) == parts[1].sum(axis=2)).all()


def test_counts_and_fractions_are_dealt_as_their_expanded_rows():
    counts = DF.assign(s=np.arange(len(DF)) % 4, r=3 - np.arange(len(DF)) % 4)
    expanded = counts.loc[counts.index.repeat(counts.f)]
    for left in ("s + r", "I(s / 3)"):
        one = glmclf.Logit.from_formula(f"{left} ~ x + z", counts, freq_weights="f").fit(cov_type="HC0")
        other = glmclf.Logit.from_formula(f"{left} ~ x + z", expanded).fit(cov_type="HC0")
        a, b = (r.validate("cv", seed=2, folds=5).table for r in (one, other))
        assert_allclose(a, b, rtol=1e-6, atol=1e-8)
    folds = [
        glmclf.MNLogit.from_formula("c ~ x + z", d, **kw) for d, kw in ((DF, {"freq_weights": "f"}), (long_table(), {}))
    ]
    a, b = (m.fit_regularized_cv(5, seed=3, alphas=[0.1, 0.01]).cv for m in folds)
    assert_allclose(a, b, rtol=1e-6)


def long_table():
    return DF.loc[DF.index.repeat(DF.f)].reset_index(drop=True)


@pytest.mark.parametrize("model", ["Logit", "MNLogit", "LDA"])
def test_validation_measures_what_judging_does(model):
    """Apparent measures are those of roc(), calibration() and pred_table()."""
    res = fit(model, freq_weights="f")
    v, c, table = res.validate(seed=1, reps=2).table["apparent"], res.calibration(), res.pred_table()
    assert_allclose(v["AUC"], res.roc().auc, rtol=1e-12)
    assert_allclose(v[["Brier", "log score"]], [c.brier, c.log_score], rtol=1e-12)
    assert_allclose(v["accuracy"], np.diag(table).sum() / table.to_numpy().sum(), rtol=1e-12)


def test_a_constant_prediction():
    for formula in ("y ~ 1", "c ~ 1"):
        model = glmclf.Logit if formula[0] == "y" else glmclf.MNLogit
        for method in ("bootstrap", ".632+", "cv"):
            with pytest.warns(InferenceWarning, match="predicts the same for every row") as caught:
                found = model.from_formula(formula, DF).fit().validate(method, seed=1, reps=3)
            assert (
                len(caught) == 1
                and not np.signbit(found.table.loc["R2"]).any()
                and found["AUC"] == 0.5
                and found["R2"] == 0
            )
            assert np.isnan(found["slope"])


def test_measures_have_their_names():
    found = fit("Logit").validate(seed=1, reps=2)
    for name in ("auc", 0, None, ["AUC"]):
        with pytest.raises(
            KeyError, match="there are 'AUC', 'Brier', 'log score', 'accuracy', 'R2', 'intercept', 'slope'"
        ):
            found[name]


def test_632_corrects_every_measure():
    table = fit("Logit").validate(".632+", seed=2, reps=10).table
    assert np.isfinite(table.to_numpy()).all()
    low, high = table[["apparent", "test"]].min(axis=1), table[["apparent", "test"]].max(axis=1)
    assert (table.corrected >= low - 1e-12).all() and (table.corrected <= high + 1e-12).all()


def test_numbers_of_numpy_and_booleans():
    res = fit("Logit")
    r = res.roc()
    assert r.partial_auc(np.float32(0), np.float32(0.5)) == r.partial_auc(0, 0.5)
    assert r.partial_auc(np.int64(0), np.int64(1)) == r.partial_auc()
    assert res.pred_table(np.float64(0.25)).equals(res.pred_table(0.25))
    for call, words in (
        (lambda: r.partial_auc(0, True), "two rates"),
        (lambda: r.partial_auc(False, 1), "two rates"),
        (lambda: r.partial_auc(0, 1j), "two rates"),
        (lambda: res.pred_table(True), "threshold=True"),
        (lambda: res.classification_report(False), "threshold=False"),
        (lambda: res.predict(which="class", threshold=True), "threshold=True"),
        (lambda: res.validate(reps=True), "reps=True"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_new_data_without_an_event():
    res = fit("Logit")
    curve = res.decision_curve([0.2, 0.5], TEST[TEST.y == "no"])
    assert curve["standardized"].isna().all() and (curve["net_benefit"] <= 0).all()
    assert res.lift(3, TEST[TEST.y == "no"])["lift"].isna().all()


def test_weights_that_were_no_column():
    X, y = DF[["x", "z"]].assign(const=1.0), (DF.y == "yes").astype(int)
    for weights in (DF.w.to_numpy(), DF.w):
        res = glmclf.Logit(y, X, weights=weights).fit()
        with pytest.raises(DataError, match="weights= that are not among the new data: give weights= values") as error:
            res.roc(X, endog=y)
        assert "column" not in str(error.value)
        assert_allclose(res.roc(X, endog=y, weights=DF.w).auc, res.roc().auc)
    named = fit("Logit", weights="w")
    with pytest.raises(DataError, match='weights="w", which the new data lack: add the column, or give weights='):
        named.roc(TEST.drop(columns="w"))


def test_632_of_useless_predictions():
    """Without information in the regressors the corrected AUC is near one half."""
    df = DF.assign(y=np.random.default_rng(3).permutation(DF.y))
    res = fit("Logit", df)
    table = res.validate(".632+", seed=2, reps=40).table
    assert abs(table.loc["AUC", "corrected"] - 0.5) < abs(table.loc["AUC", "apparent"] - 0.5)
    assert table.loc["Brier", "corrected"] > table.loc["Brier", "apparent"]


def test_632_of_a_constant_is_that_of_expanded_rows():
    """No information is to lose: R = 0, whatever the rounding of two scores that are the same."""
    expanded = DF.loc[DF.index.repeat(DF.f)].reset_index(drop=True)
    for left, model in (("y", glmclf.Logit), ("c", glmclf.MNLogit)):
        tables = []
        for data, keywords in ((DF, {"freq_weights": "f"}), (expanded, {})):
            with pytest.warns(InferenceWarning, match="predicts the same for every row"):
                res = model.from_formula(f"{left} ~ 1", data, **keywords).fit()
                tables.append(res.validate(".632+", seed=3, reps=4))
        a, b = (t.table for t in tables)
        assert_allclose(a, b, rtol=1e-9, atol=1e-12)
        for name in ("log score", "Brier", "accuracy"):
            assert_allclose(a.corrected[name], 0.368 * a.apparent[name] + 0.632 * a.test[name], rtol=1e-12)


def test_whole_clusters_are_drawn():
    """Rows that come in copies: drawn one by one they say of themselves how well they are predicted."""
    copies = pd.concat([DF[:60]] * 5, ignore_index=True)
    res = glmclf.Logit.from_formula("y ~ C(g) + x", copies[copies.groupby("g").y.transform("nunique") > 1]).fit()
    rows = res.model.data.frame
    alone = fit("Logit", rows).validate("cv", seed=1, folds=5, groups=rows.index % 60)
    one_by_one = fit("Logit", rows).validate("cv", seed=1, folds=5)
    assert alone["log score"] > one_by_one["log score"]


def test_kinds_of_fits_are_repeated():
    model = glmclf.Logit.from_formula("y ~ x + z", DF)
    for res in (
        model.fit(bias_reduction="firth"),
        model.fit(bias_reduction="firth", flic=True),
        model.fit_constrained("x = 2*z"),
        model.fit_regularized(0.1),
        model.fit_regularized(0.05, 1.0),
        fit("Logit", weights="w"),
        fit("Probit", offset="w"),
        glmclf.MNLogit.from_formula("c ~ x + z", DF).fit_regularized(0.05, symmetric=True),
        glmclf.LDA.from_formula("c ~ x + z", DF).fit(bias_reduction="exact"),
    ):
        found = res.validate(seed=1, reps=4)
        assert found.n_used == 4 and not found.failures
        own = res.model._rows.weights
        everything = res._repeated(res.model._reweighted(np.ones(len(DF)) if own is None else own))
        assert_allclose(everything._log_p_beside(res.model), res._log_p(None, None)[0], rtol=1e-6, atol=1e-8)
    ridge = model.fit_regularized(0.5).validate(seed=1, reps=4).table
    assert ridge.loc["slope", "apparent"] > 1.1


def test_fits_without_an_estimate_are_counted():
    small = pd.DataFrame({"x": [1, 2, 3, 4, 5, 6, 7, 8, 9.0, 10], "y": [0, 0, 0, 1, 0, 1, 0, 1, 1, 1]})
    res = glmclf.Logit.from_formula("y ~ x", small).fit()
    with pytest.warns(InferenceWarning, match="separated"):
        found = res.validate(seed=1, reps=40)
    assert found.failures["separated"] > 0 and found.n_used + sum(found.failures.values()) == 40
    assert "separated" in repr(found)
    small["z"] = [0, 3, 1, 2, 5, 1, 4, 3, 0, 2]
    with pytest.raises(EstimationError, match="only .* of 40.*separated"):
        glmclf.Logit.from_formula("y ~ x + z", small[:8]).fit().validate(seed=1, reps=40)


def test_a_million_rows_are_sorted_once():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200_000)
    y = (rng.random(len(x)) < 1 / (1 + np.exp(-x))).astype(int)
    r = glmclf.Logit(y, np.column_stack([np.ones_like(x), x])).fit().roc()
    ranks = pd.Series(x).rank().to_numpy()
    n1 = y.sum()
    assert_allclose(r.auc, (ranks[y == 1].sum() - n1 * (n1 + 1) / 2) / (n1 * (len(y) - n1)), rtol=1e-10)


def test_overconfident_predictions_are_judged_at_any_scale():
    """The offset is the predictor: R2, intercept and slope times scale are those of the small one."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 300)
    score, found = y + rng.normal(size=300) * 0.5 - 0.5, []
    for s in (1, 1e3, 1e4):
        df = pd.DataFrame({"y": y, "o": s * score})
        res = glmclf.Logit.from_formula("y ~ 1", df, offset="o").fit_constrained("Intercept=0")
        v = res.validate(reps=4, seed=1).table.loc[["R2", "intercept", "slope"], ["apparent", "corrected"]]
        found.append(v.mul([1, 1, s], axis=0))
        assert_allclose(res.calibration().slope * s, v.loc["slope", "apparent"] * s, rtol=1e-10)
    assert_allclose(found[0]["apparent"], [0.6365, -0.0819, 3.869], atol=6e-4)
    same(found[:1] * 2, found[1:], rtol=1e-9)


def test_perfect_predictions_have_an_R2_of_one():
    rng = np.random.default_rng(0)
    g = np.repeat(list("abc"), 20)
    df = pd.DataFrame({"g": g, "x": 50.0 * (g == "a") + rng.normal(size=60), "z": 50.0 * (g == "b")})
    df["z"] += rng.normal(size=60)
    with pytest.warns(InferenceWarning, match="slope in .*separate the classes"):
        table = glmclf.LDA.from_formula("g ~ x + z", df).fit().validate(reps=3, seed=1).table
    assert_allclose(table.loc["R2"], [1, 1, 1, 0, 1], atol=1e-12)
    assert table.loc["slope", "apparent"] == np.inf


def test_nothing_given_is_modified():
    res, before = fit("NaiveBayes"), TEST.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frames(res, newdata=TEST)
    pd.testing.assert_frame_equal(TEST, before)
    penguins = datasets.load("penguins")
    names = glmclf.LDA.from_formula("species ~ bill_length_mm", penguins).fit().roc().table.index
    assert list(names) == sorted(penguins.species.unique())


@pytest.mark.parametrize("labels", ["bool", "boolean", "category", "Int64", "string"])
def test_kinds_of_labels(labels):
    numbers = DF.assign(y=(DF.y == "yes").astype({"category": str, "string": str}.get(labels, int)).astype(labels))
    res = fit("Logit", numbers)
    same(frames(res, newdata=numbers.assign(y=numbers.y)), frames(fit("Logit")))
    assert_allclose(fit("LDA", numbers, left="y").roc(numbers).auc, fit("LDA", left="y").roc().auc)


def test_other_tables():
    res = fit("NaiveBayes")
    repeated = TEST.set_axis(np.repeat([1, 2], 60))
    assert_allclose([res.roc(repeated).auc, res.roc(TEST.to_dict("list")).auc], [res.roc(TEST).auc] * 2)
    polars = pytest.importorskip("polars")
    assert_allclose(res.roc(polars.DataFrame(TEST.to_dict("list"))).auc, res.roc(TEST).auc)


def test_a_function_of_the_caller_on_the_left_side():
    def is_car(c):
        return (c == "car").astype(int)

    res = glmclf.Logit.from_formula("is_car(c) ~ x + z", DF).fit()
    with pytest.raises(DataError, match="endog="):
        res.roc(TEST)
    assert_allclose(res.roc(TEST, endog=is_car(TEST.c)).auc, fit("Logit").roc(TEST).auc)


def test_probabilities_of_zero_in_resamples_are_said():
    rare = DF.assign(k=np.where((DF.c == "rail") & (DF.index < 60), "r", np.where(DF.index % 2, "p", "q")))
    rare.loc[rare.index[rare.c != "rail"][:1], "k"] = "r"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        res = glmclf.NaiveBayes.from_formula("c ~ x + C(k)", rare).fit()
    with pytest.warns(InferenceWarning, match="smoothing="):
        res.validate(seed=1, reps=10)
    smooth = glmclf.NaiveBayes.from_formula("c ~ x + C(k)", rare, smoothing=0.5).fit()
    assert np.isfinite(smooth.validate(seed=1, reps=10).table).all(axis=None)


def test_one_class_in_new_data():
    """What needs no second class is there; what does is NaN, and said."""
    res = fit("Logit")
    with warnings.catch_warnings(), pytest.warns(InferenceWarning, match="no row of 'no' is among .*; all are 'yes'"):
        warnings.filterwarnings("error", category=RuntimeWarning)
        c = res.calibration(newdata=TEST[TEST.y == "yes"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = c.summary_frame()["estimate"]
    assert table[["calibration in the large", "slope", "scaled Brier"]].isna().all()
    assert_allclose(table["Brier"], ((1 - res.predict(TEST[TEST.y == "yes"])) ** 2).mean())


def test_levels_without_a_row_are_said():
    res = fit("MNLogit")
    with pytest.warns(InferenceWarning, match="no row of 'rail' is .* NaN are those of these levels") as caught:
        table = res.calibration(newdata=TEST[TEST.c != "rail"]).table
    assert len(caught) == 1 and table.loc["rail", ["slope", "ICI", "scaled Brier"]].isna().all()
    assert table.loc[["bus", "car"], ["slope", "ICI", "scaled Brier"]].notna().all(axis=None)
    with pytest.warns(InferenceWarning, match="no row of 'bus', 'rail' .* all are 'car'. NaN are intercepts"):
        table = res.calibration(newdata=TEST[TEST.c == "car"]).table
    assert table[["slope", "ICI", "scaled Brier"]].isna().all(axis=None)


def test_accuracy_of_a_weighted_sample():
    res = fit("Logit", weights="w")
    right = (res.predict(which="class") == DF.y).astype(float)
    share = np.average(right, weights=DF.w)
    se = np.sqrt((DF.w**2 * (right - share) ** 2).sum()) / DF.w.sum()
    found = res.classification_report().overall.loc["accuracy"]
    assert_allclose(found[["estimate", "se"]], [share, se])
    n, z2 = share * (1 - share) / se**2, 1.959963984540054**2
    assert_allclose(found["lower"] + found["upper"], (2 * share + z2 / n) / (1 + z2 / n))


# --------------------------------------------------------------------------------------------------- edges of bins
@pytest.mark.parametrize("model", ["Logit", "MNLogit", "NaiveBayes"])
def test_bins_between_edges(model):
    """Counted one by one; the same whether or not 0 and 1 are among the edges."""
    edges, left = [0.2, 0.35, 0.8], LEFT[model]
    res = fit(model, freq_weights="f")
    found = res.calibration(edges)
    p = res.predict(TEST)
    for level in [None] if model == "Logit" else ["bus", "car", "rail"]:
        q = np.asarray(p if level is None else p[level])
        event = (TEST[left] == (level or "yes")).to_numpy()
        curve = res.calibration(edges, TEST).curve if level is None else res.calibration(edges, TEST).curve.loc[level]
        parts = pd.cut(q, [0, *edges, 1], include_lowest=True, labels=False)
        rows = [TEST.f.to_numpy() * (parts == b) for b in range(4) if (parts == b).any()]
        assert_allclose(curve.n, [m.sum() for m in rows])
        assert_allclose(curve.predicted, [m @ q / m.sum() for m in rows], rtol=1e-12)
        assert_allclose(curve.observed, [m @ event / m.sum() for m in rows], rtol=1e-12)
    same([found.curve, found.summary_frame()], [res.calibration([0, *edges, 1]).curve, found.summary_frame()])
    uniform = res.calibration(5, method="uniform").curve
    assert_allclose(uniform, res.calibration(np.arange(1, 5) / 5).curve)


@pytest.mark.parametrize("bins", [[], [0, 1], [0.3, 0.2], [0.2, 0.2], [-0.1, 0.5], [0.5, 1.5], ["a"], [np.nan], "12"])
def test_edges_that_are_none(bins):
    with pytest.raises(ValueError, match="bins="):
        fit("Logit").calibration(bins)
