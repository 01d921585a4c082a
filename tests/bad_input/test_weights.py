"""freq_weights= and weights= that are none."""

import numpy as np
import pandas as pd
import pytest
from bad_input.refusal import refused
from properties.toys import make, models, toy

import glmclf
from glmclf.errors import DataError


def spoilt(value, rows=(8,)):
    w = np.ones(160)
    w[list(rows)] = value
    return w


both = pytest.mark.parametrize("keyword", ["freq_weights", "weights"])


@models
@both
@pytest.mark.parametrize(
    "value, words", [(-1, ["negative", "row 8"]), (np.inf, ["infinite", "row 8"]), (-np.inf, ["row 8"])]
)
def test_values(model, keyword, value, words):
    with refused(keyword, "1 of 160", *words, error=DataError):
        make(model, "y ~ x1", toy(), **{keyword: spoilt(value)})
    with refused(keyword, "1 of 160", *words, error=DataError):
        getattr(glmclf, model)(toy().y01, toy()[["x1"]], **{keyword: spoilt(value)})
    with refused('="w"', "1 of 160", *words, error=DataError):
        make(model, "y ~ x1", toy().assign(w=spoilt(value)), **{keyword: "w"})


@models
@both
def test_missing_weights(model, keyword):
    with refused(keyword, "8", "1"):
        make(model, "y ~ x1", toy(), missing="raise", **{keyword: spoilt(np.nan)})
    with refused(keyword, "160"):
        make(model, "y ~ x1", toy(), **{keyword: np.full(160, np.nan)})


@models
@both
def test_all_zero(model, keyword):
    with refused("160", "weight 0"):
        make(model, "y ~ x1", toy(), **{keyword: np.zeros(160)})


@models
def test_fractions_point_to_sampling_weights(model):
    with refused("freq_weights", "whole numbers", "weights=", "8, 9"):
        make(model, "y ~ x1", toy(), freq_weights=spoilt(1.5, (8, 9)))


@models
def test_two_kinds_at_once(model):
    with refused("weights=", "freq_weights="):
        make(model, "y ~ x1", toy(), weights="sw", freq_weights="times")


@models
@both
@pytest.mark.parametrize(
    "value, words",
    [
        ("wheight", ["wheight", "column"]),
        ("Times", ["Times", "times"]),
        (np.ones(159), ["159", "160"]),
        ([1.0] * 161, ["161", "160"]),
        (np.ones((160, 2)), ["(160, 2)"]),
        (2.0, ["2.0"]),
        (["a"] * 160, ["a"]),
        ("g", ["g"]),
        (pd.Series(1.0, index=range(1, 161)), ["label", "0"]),
        (pd.Series(1.0, index=[0] * 160), ["repeats"]),
        (np.ones(160) * 1j, ["complex"]),
        (pd.date_range("2020", periods=160), []),
    ],
)
def test_other_things(model, keyword, value, words):
    with refused(keyword, *words):
        make(model, "y ~ x1", toy(), **{keyword: value})


@models
@both
def test_names_mean_nothing_beside_arrays(model, keyword):
    with refused(keyword, "times", "arrays"):
        getattr(glmclf, model)(toy().y01, toy()[["x1"]], **{keyword: "times"})
