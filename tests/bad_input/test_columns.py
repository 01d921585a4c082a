"""Tables whose columns are not what a formula needs."""

import numpy as np
import pandas as pd
import pytest
from bad_input.refusal import refused
from properties.toys import make, models, toy

import glmclf
from glmclf.errors import DataError


@models
@pytest.mark.parametrize(
    "formula, word",
    [
        ("y ~ x3", "x3"),
        ("why ~ x1", "why"),
        ("y ~ np.log(income)", "income"),
        ("y ~ X1", "X1"),
        ("y ~ C(group)", "group"),
        ('y ~ Q("odd name")', "odd name"),
    ],
)
def test_unknown_columns(model, formula, word):
    with refused(word):
        make(model, formula, toy())


@models
def test_near_names_are_offered(model):
    with refused("X1", "x1"):
        make(model, "y ~ X1", toy())


@models
def test_duplicate_column_names(model):
    t = toy()
    twice = pd.concat([t, t[["x1"]]], axis=1)
    with refused("x1", "more than once", error=DataError):
        make(model, "y ~ x1", twice)
    with refused("x1", "more than once", error=DataError):
        getattr(glmclf, model)(t.y01, twice[["x1", "x2"]])
    with refused("x1", "more than once", error=DataError):
        make(model, "y ~ x2", t).fit().predict(pd.concat([t, t[["x1"]]], axis=1))


@models
@pytest.mark.parametrize(
    "data",
    [
        None,
        5,
        "table.csv",
        [1, 2, 3],
        np.ones((5, 2)),
        pd.Series([1.0, 2.0]),
        lambda: None,
        {"y": [0, 1], "x1": [1, 2, 3]},
    ],
)
def test_no_table(model, data):
    with refused(error=(ValueError, TypeError, NotImplementedError)):
        make(model, "y ~ x1", data)


@models
def test_names_of_the_table_that_are_no_text(model):
    t = toy()[["y01", "x1"]].set_axis([0, 1], axis=1)
    with refused("y"):
        make(model, "y ~ x1", t)


@models
@pytest.mark.parametrize(
    "subset, error",
    [
        ("x1 > 100", ValueError),
        ("x1 >", ValueError),
        ("nowhere > 2", ValueError),
        ("x1 + 1", (ValueError, TypeError)),
        (np.ones(159, dtype=bool), ValueError),
        (np.zeros(160, dtype=bool), ValueError),
        (np.arange(160), (ValueError, TypeError)),
        ([1, 2, 3], (ValueError, TypeError)),
        (pd.Series([True, None] * 80), (ValueError, TypeError)),
        (True, (ValueError, TypeError)),
        (pd.Series(True, index=range(3, 163)), ValueError),
    ],
)
def test_subsets(model, subset, error):
    with refused("subset", error=error):
        make(model, "y ~ x1", toy(), subset=subset)
