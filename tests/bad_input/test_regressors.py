"""Right sides with values that are no numbers and no labels."""

import numpy as np
import pandas as pd
import pytest
from bad_input.refusal import refused
from properties.toys import make, models, toy

import glmclf
from glmclf.errors import CollinearityError, DataError, FormulaError, MissingDataError


@models
@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize(
    "right", ["x1", "x1:g", "center(x1)", "I(x1 * 2)", "np.exp(x1)", "bs(x1, df=4)", "g + C(h):x1"]
)
def test_infinite_values(model, value, right):
    t = toy()
    t.loc[[7, 9], "x1"] = value
    if right == "np.exp(x1)" and value < 0:
        assert np.isfinite(make(model, f"y ~ {right}", t).exog).all()
        return
    with refused("x1", "infinite", "7", "9", error=DataError):
        make(model, f"y ~ {right}", t)


@models
def test_infinite_by_the_formula(model):
    t = toy()
    t.loc[4, "x2"] = 0.0
    with np.errstate(all="ignore"):
        with refused("np.log(x2)", "infinite", "4"):
            make(model, "y ~ np.log(x2)", t)
        with refused("1 / x2", "infinite", "4"):
            make(model, "y ~ I(1 / x2)", t)


@models
def test_infinite_arrays(model):
    t = toy()
    for value in (np.inf, -np.inf):
        X = t[["x1", "x2"]].to_numpy(copy=True)
        X[11, 1] = value
        with refused("x2", "infinite", "11"):
            getattr(glmclf, model)(t.y01, X)
    both = t[["x1", "x2"]].to_numpy(copy=True)
    both[3, 0], both[4, 0] = np.inf, -np.inf
    with refused("x1", "infinite", "2"):
        getattr(glmclf, model)(t.y01, both)


@models
@pytest.mark.parametrize(
    "values, words",
    [
        (pd.date_range("2020", periods=160), ["bad", "datetime"]),
        (pd.to_timedelta(np.arange(160), unit="D"), ["bad", "timedelta"]),
        (np.arange(160) * 1j, ["bad", "complex"]),
        ([[1, 2]] * 160, ["bad", "nested"]),
        ([1, "a"] * 80, ["bad", "int", "str"]),
        ([object() for _ in range(160)], ["bad"]),
    ],
)
def test_columns_of_other_things(model, values, words):
    with refused(*words):
        make(model, "y ~ x1 + bad", toy().assign(bad=values)).fit()


@models
def test_text_in_arrays(model):
    t = toy()
    with refused("g", "from_formula"):
        getattr(glmclf, model)(t.y01, t[["x1", "g"]])
    with refused("exog", "from_formula"):
        getattr(glmclf, model)(t.y01, np.array([["a", "b"]] * 160))
    with refused("exog"):
        getattr(glmclf, model)(t.y01, np.ones((160, 2)) * 1j)


@models
@pytest.mark.parametrize(
    "exog, words",
    [
        (np.ones((159, 2)), ["159", "160"]),
        (np.ones((160, 0)), ["(160, 0)"]),
        (np.ones((160, 2, 2)), ["(160, 2, 2)"]),
        (None, ["exog"]),
        (3.0, []),
        ([[1, 2], [3]], []),
    ],
)
def test_arrays_of_another_shape(model, exog, words):
    with refused(*words):
        getattr(glmclf, model)(toy().y01, exog)


@models
def test_no_regressors(model):
    with refused("regressors", error=FormulaError):
        make(model, "y ~ 0", toy())
    with refused("regressors", error=FormulaError):
        make(model, "y ~ x1 - x1 - 1", toy())


@models
def test_more_columns_than_rows(model):
    rng = np.random.default_rng(0)
    y = np.r_[np.zeros(5), np.ones(5)]
    for k in (11, 40):
        with refused("y", str(k), "10", error=CollinearityError):
            getattr(glmclf, model)(y, rng.normal(size=(10, k))).fit(collinear="raise")
    t = toy(12, 3).assign(id=[f"r{i}" for i in range(12)])
    with refused("14", "12", error=CollinearityError):
        make(model, "y ~ x1 + x2 + id", t).fit(collinear="raise")


@models
def test_sparse_arrays(model):
    from scipy import sparse

    X = np.column_stack([np.ones(160), toy().x1])
    for form in (sparse.csr_array, sparse.csc_matrix):
        assert getattr(glmclf, model)(toy().y01, form(X)).exog_names == ["const", "x1"]
        with refused("exog", "complex"):
            getattr(glmclf, model)(toy().y01, form(X * 1j))
        with refused("159", "160"):
            getattr(glmclf, model)(toy().y01, form(X[1:]))
    X[[3, 8], 1] = np.inf
    with refused("x1", "infinite", "3", "8"):
        getattr(glmclf, model)(toy().y01, sparse.coo_array(X))
    X[[3, 8], 1] = np.nan
    with refused("x1", "3", "8", error=MissingDataError):
        getattr(glmclf, model)(toy().y01, sparse.csr_array(X), missing="raise")


@models
def test_a_factor_of_one_level_says_so(model):
    t = toy().assign(bad="only")
    try:
        report = make(model, "y ~ x1 + bad", t).fit().summary().as_text()
    except ValueError as error:
        report = str(error)
    assert "bad" in report and "only" in report
