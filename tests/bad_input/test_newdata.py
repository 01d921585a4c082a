"""New rows that a model cannot predict."""

import numpy as np
import pandas as pd
import pytest
from bad_input.refusal import refused
from properties.toys import fit, make, models, shared, toy

import glmclf
from glmclf.errors import DataError, UnseenLevelError

CALLS = [
    lambda r, t: r.predict(t),
    lambda r, t: r.predict(t, which="class"),
    lambda r, t: r.get_prediction(t),
    lambda r, t: r.augment(t),
    lambda r, t: r.model.predict(r.params, t),
]


@models
@pytest.mark.parametrize("call", CALLS)
def test_unseen_levels(model, call):
    t = toy(9, 4)
    t.loc[5, "g"] = "z"
    with refused('"g"', '"z"', '"a"', '"b"', '"c"', "(1 of 9 rows: row 5)", error=UnseenLevelError):
        call(shared(model), t)
    res = shared(model, "y ~ C(g, Treatment('b')) + x1:h")
    with refused("g", '"z"', error=UnseenLevelError):
        call(res, t)
    with refused("h", '"up"', error=UnseenLevelError):
        call(res, t.assign(g="a", h="up"))
    for categories in (["a", "z"], ["a", "b", "c", "z"]):
        with refused("g", '"z"', error=UnseenLevelError):
            call(shared(model), t.assign(g=pd.Categorical(["z"] * 9, categories=categories)))


@models
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("column", ["x1", "x2", "g"])
def test_missing_columns(model, call, column):
    with refused(f'"{column}"', "column"):
        call(shared(model), toy(9, 4).drop(columns=column))


@models
def test_near_names(model):
    with refused('"x1"', "X1"):
        shared(model).predict(toy(9, 4).rename(columns={"x1": "X1"}))


@models
@pytest.mark.parametrize(
    "change, words",
    [
        ({"x1": "high"}, ["x1", "high"]),
        ({"x1": pd.Timestamp("2020-01-01")}, ["x1"]),
        ({"g": 1.5}, ["g", "1.5"]),
        ({"g": 1}, ["g", "1"]),
        ({"g": pd.Timestamp("2020-01-01")}, ["g"]),
        ({"x1": 1j}, ["x1"]),
    ],
)
def test_other_kinds_of_values(model, change, words):
    with refused(*words):
        shared(model).predict(toy(9, 4).assign(**change))


@models
def test_infinite_regressors(model):
    """A limit or an error, never a number that means nothing."""
    new = toy(9, 4).assign(x1=np.inf)
    try:
        p = shared(model).predict(new)
    except ValueError as error:
        assert "x1" in str(error) and "infinite" in str(error)
        return
    slope = shared(model).params["x1"]
    np.testing.assert_array_equal(p, float(slope > 0))


@models
@pytest.mark.parametrize(
    "rows, words",
    [
        (np.zeros((3, 4)), ["(3, 4)", "5"]),
        (np.zeros(4), ["5"]),
        ([1.0, 2.0], ["5"]),
        (np.zeros((2, 3, 5)), ["(2, 3, 5)"]),
        (np.array([["a"] * 5]), []),
        (5.0, []),
        ("abc", []),
        (object(), []),
        ([[1, 2, 3, 4, 5], [1, 2]], []),
    ],
)
def test_arrays_of_another_shape(model, rows, words):
    arrays = getattr(glmclf, model)(shared(model).model.endog, shared(model).model.exog).fit()
    for res in (arrays, shared(model)):
        with refused(*words, error=(ValueError, TypeError, NotImplementedError)):
            res.predict(rows)


@models
def test_array_models_match_columns_by_name(model):
    t = toy()
    res = getattr(glmclf, model)(t.y, t[["x1", "x2"]]).fit()
    new = toy(9, 4)
    np.testing.assert_array_equal(res.predict(new[["x2", "x1"]]), res.predict(new[["x1", "x2"]]))
    np.testing.assert_array_equal(res.predict(new), res.predict(new[["x1", "x2"]]))
    with refused('"x2"'):
        res.predict(new[["x1", "off"]])
    with refused("x2"):
        res.predict({"x1": [1.0]})


@models
@pytest.mark.parametrize("formula", ["y ~ bs(x1, df=5)", "y ~ 0 + cr(x1, df=4)"])
def test_splines_beyond_their_knots(model, formula):
    res = fit(model, formula, toy())
    far = toy(4, 4).assign(x1=[-50.0, np.nan, 0.0, 50.0]).set_axis(list("abcd"))
    if "bs" in formula:
        with refused("x1", "range", "(2 of 4 rows: rows a, d)", error=DataError):
            res.predict(far)
    else:
        assert np.isfinite(res.predict(far, which="linear").drop("b")).all(axis=None)


@models
def test_repeated_columns(model):
    t = toy(9, 4)
    with refused("x1", "more than once"):
        shared(model).predict(pd.concat([t, t[["x1"]]], axis=1))


@models
def test_new_rows_for_a_model_without_data(model):
    res = make(model, "y ~ x1 + g", toy()).fit()
    res.remove_data()
    for call in (res.predict, res.get_prediction, res.augment, res.pred_table, res.simulate, res.get_distribution):
        with refused("removed"):
            call()
    for name in ("fittedvalues", "resid_response", "resid_pearson", "resid_dev", "resid_generalized", "resid_working"):
        with refused("removed"):
            getattr(res, name)
    for name in ("endog", "exog", "offset"):
        with refused("removed"):
            getattr(res.model, name)
    for call in (res.model.loglike, res.model.score, res.model.hessian, res.model.score_obs, res.model.predict):
        with refused("removed"):
            call(res.params)
    with refused("removed"):
        res.with_cov("HC0")
    with refused("removed"):
        res.model.fit()


def test_whole_numbers_for_levels_of_text():
    data = pd.DataFrame({"y": [0, 1] * 30, "g": list("123") * 20})
    res = glmclf.Logit.from_formula("y ~ g", data).fit()
    for given in ([1, 7], [1.0, 7.0]):
        with pytest.raises(DataError, match='levels 1, 7, which .*"1", "2", "3", which are text: give them as text'):
            res.predict({"g": given})
