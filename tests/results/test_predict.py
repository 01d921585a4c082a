"""predict, get_prediction and their kinds of new data."""

import importlib.util

import numpy as np
import pandas as pd
import pytest
from properties.toys import close, fit, models, shared, toy

import glmclf


def arrow():
    """Responses in Arrow's dtypes, where pyarrow is installed."""
    if importlib.util.find_spec("pyarrow") is None:
        return []
    pairs = {"int64[pyarrow]": [0, 1], "string[pyarrow]": ["a", "b"], "bool[pyarrow]": [False, True]}
    return [pd.Series(values * 80, dtype=dtype) for dtype, values in pairs.items()]


FORMULAS = [
    "y ~ x1 + x2 + g",
    "y ~ x1 * g + h",
    "y ~ bs(x1, df=4) + center(x2)",
    "y ~ standardize(x1) + C(g, Treatment('b')):x2",
    "y ~ np.exp(-x2) + C(g, Sum) + I(x1**2)",
    "y ~ te(cr(x1, df=3), cr(x2, df=3)) - 1",
    "y ~ np.where(x1 > 0, x1, 0) + g",
]


def new():
    return (
        toy(40, 5)
        .assign(x1=lambda t: t.x1.clip(-1.8, 1.8), x2=lambda t: t.x2.clip(0.3, 5))
        .set_index(pd.RangeIndex(100, 140))
    )


@models
@pytest.mark.parametrize("formula", FORMULAS)
def test_every_form_of_new_data(model, formula):
    res, t = shared(model, formula), new()
    whole = res.predict(t)
    assert isinstance(whole, pd.Series) and whole.index.equals(t.index) and whole.between(0, 1).all()
    np.testing.assert_array_equal(res.predict(t[sorted(t.columns, reverse=True)]), whole)
    np.testing.assert_array_equal(res.predict(t.assign(other=1, y=None)), whole)
    np.testing.assert_array_equal(res.predict(t.drop(columns=["y", "y01", "off", "firm"])), whole)
    np.testing.assert_array_equal(res.predict({c: t[c].to_numpy() for c in t}), whole)
    np.testing.assert_array_equal(res.predict({c: t[c].tolist() for c in t}), whole)
    close([float(res.predict(t.iloc[[i]]).iloc[0]) for i in range(5)], whole[:5], 1e-13)
    close(res.predict({c: t[c].iloc[0] for c in t}), whole.iloc[:1], 1e-13)
    assert len(res.predict(t.iloc[:0])) == 0 and len(res.predict(t.iloc[:0], which="class")) == 0
    assert len(res.get_prediction(t.iloc[:0]).summary_frame()) == 0
    close(res.predict(t.iloc[::-1]).iloc[::-1], whole, 1e-13)
    link = res.model.link
    eta = res.predict(t, which="linear")
    close(link.cdf(eta.to_numpy()), whole)
    close(res.predict(t, which="var"), whole * (1 - whole))
    close(res.predict(toy()), res.predict(), 1e-12)
    close(res.predict(), res.fittedvalues, 0)


@models
def test_polars_and_pyarrow(model):
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")

    res, t = shared(model), new().astype({"g": object})
    np.testing.assert_array_equal(res.predict(pl.from_pandas(t)), res.predict(t))
    np.testing.assert_array_equal(res.predict(pa.Table.from_pandas(t)), res.predict(t))
    close(res.get_prediction(pl.from_pandas(t)).summary_frame(), res.get_prediction(t).summary_frame(), 0)
    assert res.augment(pl.from_pandas(t))[".fitted"].notna().all()


@models
def test_arrays_vectors_and_lists(model):
    res = shared(model)
    X = res.model.exog
    arrays = getattr(glmclf, model)(res.model.endog, X).fit()
    for r in (arrays, res):
        close(r.predict(X[:7]), res.predict()[:7], 1e-12)
        close(r.predict(X[3]), res.predict()[3:4], 1e-12)
        close(r.predict(X[3].tolist()), res.predict()[3:4], 1e-12)
        close(r.predict(X[:4].tolist()), res.predict()[:4], 1e-12)
        close(r.get_prediction(X[:4]).summary_frame(), res.get_prediction(toy().iloc[:4]).summary_frame(), 1e-9)
    frame = pd.DataFrame(X[:4], columns=arrays.model.exog_names)
    close(arrays.predict(frame[frame.columns[::-1]]), res.predict()[:4], 1e-12)
    one = arrays.predict(frame.iloc[2])
    close(one, res.predict()[2:3], 1e-12)
    close(arrays.predict(frame.iloc[2][::-1]), one, 1e-12)


@models
def test_a_row_of_a_table_as_a_series(model):
    res, t = shared(model), toy()
    close(res.predict(t.iloc[4]), res.predict().iloc[4:5], 1e-12)


@models
def test_missing_values_give_nan_in_place(model):
    res, t = shared(model), new()
    t.loc[101, "x1"] = np.nan
    t.loc[103, "g"] = None
    for which in ("mean", "linear", "var"):
        p = res.predict(t, which=which)
        assert p.index.equals(t.index) and list(p.index[p.isna()]) == [101, 103]
    frame = res.get_prediction(t).summary_frame()
    assert list(frame.index[frame.isna().all(axis=1)]) == [101, 103] == list(frame.index[frame.isna().any(axis=1)])
    classes = res.predict(t, which="class")
    assert classes.index.equals(t.index) and list(classes.index[classes.isna()]) == [101, 103]
    assert set(classes.dropna()) <= {"yes", "no"}
    assert len(res.augment(t)) == len(t)
    close(res.predict(t.drop(index=[101, 103])), res.predict(t).drop([101, 103]), 1e-13)
    nothing = t.assign(x1=np.nan)
    assert res.predict(nothing).isna().all() and res.predict(nothing, which="class").isna().all()
    priors = res.predict(t, priors=[0.7, 0.3])
    assert list(priors.index[priors.isna()]) == [101, 103]


@models
@pytest.mark.parametrize(
    "values",
    [
        pd.Series([0, 1] * 80),
        pd.Series([0.0, 1.0] * 80),
        pd.Series([False, True] * 80),
        pd.Series(["a", "b"] * 80, dtype=object),
        pd.Series(["a", "b"] * 80, dtype="string"),
        pd.Series(["a", "b"] * 80),
        pd.Series([0, 1] * 80, dtype="Int64"),
        pd.Series([False, True] * 80, dtype="boolean"),
        pd.Series(pd.Categorical(["b", "a"] * 80, categories=["b", "a"], ordered=True)),
        pd.Series(pd.Categorical(["b", "a"] * 80, categories=["x", "b", "a"])),
        pd.Series([0, 1] * 80, dtype=np.int8),
        pd.Series([0, 1] * 80, dtype=np.float32),
        *arrow(),
    ],
    ids=lambda s: str(s.dtype) + str(s.iloc[0]),
)
def test_classes_come_in_the_labels_and_dtype_of_the_response(model, values):
    t = toy().assign(resp=values)
    res = fit(model, "resp ~ x1 + x2", t)
    event, other = values.iloc[1], values.iloc[0]
    for rows in (None, t, new()):
        p, classes = res.predict(rows), res.predict(rows, which="class")
        assert classes.dtype == values.dtype
        assert list(classes) == [event if v > 0.5 else other for v in p]
    everything = res.predict(which="class", threshold=0.0)
    assert set(everything) == {event} and set(res.predict(which="class", threshold=1.0)) == {other}
    drawn = res.simulate(2, seed=1)
    assert (drawn.dtypes == values.dtype).all()
    spoilt = t.assign(x1=t.x1.where(t.index != 3))
    some = res.predict(spoilt, which="class")
    assert pd.isna(some[3]) and some.drop(3).notna().all()
    assert list(res.pred_table().index) == [other, event]


@models
def test_the_threshold(model):
    res = shared(model)
    p = res.predict()
    for threshold in (0.2, 0.5, 0.9, float(p.iloc[7])):
        assert (res.predict(which="class", threshold=threshold) == np.where(p > threshold, "yes", "no")).all()
        table = res.pred_table(threshold)
        expected = pd.crosstab(toy().y, p > threshold).reindex(columns=[False, True], fill_value=0)
        close(table, expected)


@models
def test_other_prevalences(model):
    t, res = new(), shared(model)
    share = toy().y01.mean()
    p = res.predict(t)
    for event in (0.01, 0.3, 0.999):
        shifted = res.predict(t, priors={"yes": event, "no": 1 - event})
        a, b = p * event / share, (1 - p) * (1 - event) / (1 - share)
        close(shifted, a / (a + b))
        close(res.predict(t, priors=[1 - event, event]), shifted, 1e-14)
        close(res.predict(t, priors={"yes": event, "no": 1 - event}, which="var"), shifted * (1 - shifted))
        assert (res.predict(t, priors=[1 - event, event], which="class") == np.where(shifted > 0.5, "yes", "no")).all()
    close(res.predict(t, priors=[1 - share, share]), p)
    if model == "Logit":
        shift = res.predict(t, priors=[0.9, 0.1], which="linear") - res.predict(t, which="linear")
        close(shift, np.log(0.1 / share) - np.log(0.9 / (1 - share)))
    else:
        with pytest.raises(NotImplementedError):
            res.predict(t, priors=[0.9, 0.1], which="linear")


@models
def test_priors_use_weights(model):
    t = toy()
    a = fit(model, data=t, freq_weights="times").predict(new(), priors=[0.9, 0.1])
    b = fit(model, data=t.loc[t.index.repeat(t.times)]).predict(new(), priors=[0.9, 0.1])
    close(a, b)


@models
@pytest.mark.parametrize("alpha", [0.05, 0.5, 1e-6])
def test_intervals_are_those_of_the_linear_predictor(model, alpha):
    from scipy.stats import norm

    res, t = shared(model), new()
    X = res.model.data.design_info(t)[1]
    se = np.sqrt(np.einsum("ij,jk,ik->i", X, res.cov_params().to_numpy(), X))
    linear = res.get_prediction(t, which="linear")
    close(linear.se, se)
    close(linear.predicted, X @ res.params)
    z = norm.isf(alpha / 2)
    close(linear.conf_int(alpha), np.column_stack([linear.predicted - z * se, linear.predicted + z * se]), 1e-8)
    mean = res.get_prediction(t)
    link = res.model.link
    close(mean.se, link.pdf(X @ res.params.to_numpy()) * se)
    close(mean.conf_int(alpha), link.cdf(linear.conf_int(alpha).to_numpy()))
    frame = mean.summary_frame(alpha)
    assert list(frame.columns) == ["predicted", "se", "ci_lower", "ci_upper"] and frame.index.equals(t.index)
    close(frame[["ci_lower", "ci_upper"]], mean.conf_int(alpha), 0)
    assert (frame.ci_lower < frame.predicted).all() and (frame.predicted < frame.ci_upper).all()
    robust = res.with_cov("HC1")
    assert not np.allclose(robust.get_prediction(t).se, mean.se)


@models
def test_intervals_stay_inside_for_extreme_rows(model):
    res = shared(model)
    t = new().assign(x1=np.linspace(-300, 300, 40))
    frame = res.get_prediction(t).summary_frame(1e-4)
    assert frame.notna().all(axis=None)
    assert ((frame >= 0) & (frame <= 1))[["predicted", "ci_lower", "ci_upper"]].all(axis=None)
    assert (frame.ci_lower <= frame.predicted).all() and (frame.predicted <= frame.ci_upper).all()
    moderate = res.get_prediction(new().assign(x1=np.linspace(-6, 6, 40))).summary_frame()
    assert (moderate.ci_lower > 0).all() and (moderate.ci_lower < 1).all()


@models
def test_the_predicted_distribution(model):
    res, t = shared(model), new()
    d = res.get_distribution(t)
    close(d.mean(), res.predict(t))
    close(d.var(), res.predict(t, which="var"))
    close(d.pmf(1), res.predict(t))
    close(res.get_distribution().mean(), res.fittedvalues)
    counts = fit(model, "won + lost ~ x1", toy())
    close(counts.get_distribution().mean(), counts.fittedvalues * counts.model._rows.trials)


@models
def test_callers_variables_keep_their_value(model):
    factor = 3.0
    res = getattr(glmclf, model).from_formula("y ~ I(x1 * factor) + x2", toy()).fit()
    before = res.predict(new())
    factor = 1e6
    close(res.predict(new()), before, 0)
    assert factor == 1e6


@models
def test_categories_in_another_order_or_cut(model):
    res, t = shared(model), new()
    p = res.predict(t)
    np.testing.assert_array_equal(res.predict(t.assign(g=pd.Categorical(t.g, categories=["c", "b", "a"]))), p)
    only = t[t.g == "c"]
    np.testing.assert_array_equal(res.predict(only.assign(g=pd.Categorical(only.g))), p[t.g == "c"])
    np.testing.assert_array_equal(res.predict(t.assign(g=t.g.astype("string"))), p)


@models
def test_numbers_as_levels(model):
    t = toy().assign(k=lambda t: t.year % 3)
    res = fit(model, "y ~ C(k) + x1", t)
    p = res.predict(t)
    for dtype in (float, "Int64", "int8", object, "category"):
        np.testing.assert_array_equal(res.predict(t.assign(k=t.k.astype(dtype))), p)


@models
def test_an_offset_series_of_model_predict_is_matched_by_label(model):
    t = toy()
    res = fit(model, "y ~ x1 + g", t, offset="off")
    shuffled = t["off"].sample(frac=1, random_state=2)
    np.testing.assert_array_equal(res.model.predict(res.params, t, offset=shuffled), res.predict(t))
    np.testing.assert_array_equal(res.model.predict(res.params, offset=shuffled), res.model.predict(res.params))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("far", [np.inf, 1e308])
def test_infinite_new_rows_have_the_limit(far):
    """Slopes 0.5 and -0.5 beside a reference: towards either side one class is certain."""
    x = np.tile([-1.0, 0.0, 1.0], 40)
    k = np.repeat(["a", "b", "c"], 40)
    k[:3], k[40:43], k[80:83] = ["a", "b", "c"], ["a", "b", "c"], ["a", "b", "c"]
    x = x + np.where(k == "b", 0.5, np.where(k == "c", -0.5, 0.0))
    res = glmclf.MNLogit(k, np.column_stack([np.ones(120), x])).fit()
    assert res.params.loc["x1", "b"] > 0 > res.params.loc["x1", "c"]
    found = res.predict(np.array([[1.0, far], [1.0, -far], [1.0, 0.0]])).to_numpy()
    assert found[:2].tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    close(found[2].sum(), 1.0)
    frame = res.get_prediction(np.array([[1.0, far]])).summary_frame()
    assert frame.predicted.tolist() == [0.0, 1.0, 0.0]
    both = glmclf.MNLogit(k, np.column_stack([np.ones(120), x]), reference="c").fit()
    assert (both.params.loc["x1"] > 0).all()
    assert np.isnan(both.predict(np.array([[1.0, np.inf]]))).all(axis=None)
    y = (k == "b").astype(int)
    for model in (glmclf.Logit, glmclf.Probit, glmclf.CLogLog):
        one = model(y, np.column_stack([np.ones(120), x])).fit()
        frame = one.get_prediction(np.array([[1.0, far]])).summary_frame()
        assert frame.predicted.tolist() == [1.0] and frame.se.isna().all()
