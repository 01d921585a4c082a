"""Left sides that no binary model can take."""

import numpy as np
import pandas as pd
import pytest
from bad_input.refusal import refused
from properties.toys import make, models, toy

import glmclf
from glmclf.errors import DataError


@pytest.mark.filterwarnings("ignore:.*Rows that alone determine")
@models
@pytest.mark.parametrize(
    "values, words",
    [
        (np.zeros(160), ["resp", "one class", "0"]),
        (np.ones(160, dtype=int), ["resp", "one class", "1"]),
        (np.full(160, True), ["resp", "one class", "True"]),
        (["yes"] * 160, ["resp", "one class", "yes"]),
        (["a", "b"] * 79 + ["c", "c"], ["resp", "3", '"a"', '"b"', '"c"', "MNLogit"]),
        ([1, 2] * 80, ["resp", "1", "2", "event"]),
        ([-1, 1] * 80, ["resp", "-1"]),
        ([0, 1, 2, 3] * 40, ["resp", "0", "3"]),
        (np.linspace(0, 1.5, 160), ["resp"]),
        (np.linspace(-0.1, 1, 160), ["resp"]),
        (np.r_[np.inf, np.zeros(79), np.ones(80)], ["resp", "infinite"]),
        (np.r_[np.zeros(79), np.ones(80), -np.inf], ["resp", "infinite"]),
        (np.full(160, np.nan), ["resp", "160"]),
        ([None] * 160, ["resp"]),
        (np.arange(160) + 1j, ["resp", "complex"]),
        (pd.date_range("2020", periods=160), ["resp", "datetime"]),
        (pd.to_timedelta(np.arange(160), unit="D"), ["resp", "timedelta"]),
        ([[1], [0]] * 80, ["resp", "nested"]),
        ([1, "yes"] * 80, ["resp", "int", "str"]),
        (["0", "1"] * 40 + ["2", "1"] * 40, ["resp", "3", '"2"']),
        (pd.Categorical(["a"] * 160, categories=["a", "b"]), ["resp", "one class", '"a"']),
        (np.full(160, 0.5), []),
    ],
)
def test_values(model, values, words):
    t = toy().assign(resp=values)
    if not words:  # a constant fraction is a fraction
        assert make(model, "resp ~ x1", t).fit().converged
        return
    with refused(*words, error=DataError):
        make(model, "resp ~ x1 + x2", t)


@models
@pytest.mark.parametrize("event", ["maybe", 1, "Yes", True, 0.5, ["yes"], np.array(["yes", "no"]), {"yes": 1}])
def test_unknown_events(model, event):
    with refused("y", '"no"', '"yes"', "event", error=DataError):
        make(model, "y ~ x1", toy(), event=event)


@models
def test_events_of_numbers(model):
    t = toy()
    with refused("y01", "2", "event"):
        make(model, "y01 ~ x1", t, event=2)
    with refused("y01", "yes", "event"):
        make(model, "y01 ~ x1", t, event="yes")
    with refused("share", "fraction"):
        make(model, "share ~ x1", t, event=0.5)
    with refused("won + lost", "event"):
        make(model, "won + lost ~ x1", t, event=1)
    with refused("resp", "1, 2, 3, 4"):
        make(model, "resp ~ x1", t.assign(resp=[1, 2, 3, 4] * 40), event=4)


@models
@pytest.mark.parametrize(
    "column, row, value, words",
    [
        ("won", 8, -1, ["won", "negative", "-1"]),
        ("lost", 8, 0.5, ["lost", "whole", "0.5"]),
        ("won", 8, np.inf, ["won", "infinite"]),
        ("lost", 8, -np.inf, ["lost"]),
    ],
)
def test_counts_that_are_no_counts(model, column, row, value, words):
    t = toy().astype({column: float})
    t.loc[row, column] = value
    with refused(*words, error=DataError):
        make(model, "won + lost ~ x1", t)


@models
def test_counts_of_one_kind_labels_and_more_classes(model):
    t = toy()
    with refused("won + lost", "failures only"):
        make(model, "won + lost ~ x1", t.assign(won=0))
    with refused("won + lost", "successes only"):
        make(model, "won + lost ~ x1", t.assign(lost=0))
    with refused("160", "trials"):
        make(model, "won + lost ~ x1", t.assign(won=0, lost=0))
    with refused("g", "labels"):
        make(model, "won + g ~ x1", t)
    with refused("3", "MNLogit"):
        make(model, "won + lost + times ~ x1", t)
    with refused("3"):
        getattr(glmclf, model)(t[["won", "lost", "times"]].to_numpy(), t[["x1"]].to_numpy())


@models
@pytest.mark.parametrize(
    "endog, words",
    [
        (np.zeros(159), ["159", "160"]),
        (np.zeros((160, 2, 2)), ["(160, 2, 2)"]),
        (np.zeros((160, 0)), ["(160, 0)"]),
        (5, []),
        (None, []),
        ("y", []),
        ([], []),
    ],
)
def test_arrays_of_another_shape(model, endog, words):
    t = toy()
    with refused(*words):
        getattr(glmclf, model)(endog, t[["x1", "x2"]].to_numpy())


@models
def test_one_class_left_after_dropping_rows(model):
    t = toy()
    t.loc[t.y == "yes", "x1"] = np.nan
    with refused("y", "one class", "no"):
        make(model, "y ~ x1", t)
    with refused("y", "one class"):
        make(model, "y ~ x2", t, subset=(t.y == "no").to_numpy())
    with refused("y", "one class"):
        make(model, "y ~ x2", t, freq_weights=(t.y == "no").to_numpy(int))


@models
def test_endog_and_exog_of_other_rows(model):
    t = toy()
    with refused("aligned"):
        getattr(glmclf, model)(t.y01, t[["x1"]].sample(frac=1, random_state=1))
