"""offset= that is none, in fitting and predicting."""

import numpy as np
import pandas as pd
import pytest
from bad_input.refusal import refused
from properties.toys import close, fit, make, models, shared, toy

import glmclf
from glmclf.errors import DataError


@models
@pytest.mark.parametrize(
    "value, words",
    [
        ("offf", ["offf", "off"]),
        (np.zeros(159), ["159", "160"]),
        (np.zeros((160, 2)), ["(160, 2)"]),
        (0.5, ["0.5"]),
        (["a"] * 160, ["a"]),
        ("g", ["g"]),
        (np.r_[np.inf, np.zeros(159)], ["infinite", "1 of 160", "row 0"]),
        (np.r_[np.zeros(159), -np.inf], ["infinite", "row 159"]),
        (pd.Series(0.0, index=range(5, 165)), ["label"]),
    ],
)
def test_fitting(model, value, words):
    with refused("offset", *words, error=DataError):
        make(model, "y ~ x1", toy(), offset=value)


@models
def test_predicting_asks_for_the_offset(model):
    named = shared(model, offset="off")
    new = toy(9, 4)
    with refused("off", "offset"):
        named.predict(new.drop(columns="off"))
    with refused("off", "offset"):
        named.get_prediction(new.drop(columns="off"))
    with refused("off", "offset"):
        named.augment(new.drop(columns="off"))
    given = fit(model, offset=toy().off.to_numpy())
    for call in (given.predict, given.get_prediction, given.augment):
        with refused("offset"):
            call(new)
    close(given.predict(new, offset=new.off), named.predict(new))
    close(given.predict(), named.predict())
    close(named.predict(new.drop(columns="off"), offset=0), named.predict(new.assign(off=0.0)))
    arrays = getattr(glmclf, model)(toy().y01, toy()[["x1", "x2"]], offset=toy().off).fit()
    with refused("offset"):
        arrays.predict(new[["x1", "x2"]])


@models
@pytest.mark.parametrize(
    "offset, words", [(np.zeros(8), ["8", "9"]), (np.zeros((9, 2)), []), (["a"] * 9, []), ("nowhere", ["nowhere"])]
)
def test_predicting_with_a_bad_offset(model, offset, words):
    with refused("offset", *words):
        shared(model, offset="off").predict(toy(9, 4), offset=offset)


@models
def test_a_bad_column_at_prediction(model):
    res = shared(model, offset="off")
    with refused("off"):
        res.predict(toy(9, 4).assign(off="a"))


@models
def test_a_series_of_offsets_is_matched_by_label(model):
    res, new = shared(model, offset="off"), toy(9, 4)
    mixed = new.off.sample(frac=1, random_state=2)
    close(res.predict(new.drop(columns="off"), offset=mixed), res.predict(new))
    close(res.get_prediction(new, offset=mixed).predicted, res.predict(new))
    with refused("offset"):
        res.predict(new, offset=new.off.set_axis(range(100, 109)))
    close(res.predict(offset=toy().off.sample(frac=1, random_state=2)), res.predict())


@models
def test_an_offset_by_name_of_another_column(model):
    res, new = shared(model, offset="off"), toy(9, 4)
    close(res.predict(new.rename(columns={"off": "log_n"}), offset="log_n"), res.predict(new))
    close(res.predict(offset="off"), res.predict())
