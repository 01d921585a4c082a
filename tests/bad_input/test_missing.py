"""missing= and tables without a complete row."""

import numpy as np
import pandas as pd
import pytest
from bad_input.refusal import refused
from properties.toys import make, models, toy

import glmclf
from glmclf.errors import DataError, MissingDataError


def holed(column, rows=(3, 50, 51), n=160):
    t = toy().assign(times=1 + toy().times)
    t[column] = t[column].astype(object) if column in ("g", "y") else t[column].astype(float)
    t.loc[list(rows), column] = None if column in ("g", "y") else np.nan
    return t


@models
@pytest.mark.parametrize("missing", ["raise", "none"])
@pytest.mark.parametrize("column", ["x1", "g", "y", "off", "times"])
def test_missing_values_are_named(model, missing, column):
    with refused(column, "3", "50", "51", error=MissingDataError):
        make(model, "y ~ x1 + g", holed(column), offset="off", freq_weights="times", missing=missing)


@models
@pytest.mark.parametrize("column", ["x1", "g", "y", "off", "times"])
def test_all_rows_missing(model, column):
    t = holed(column, range(160))
    with refused(column, "160", error=MissingDataError):
        make(model, "y ~ x1 + g", t, offset="off", freq_weights="times")


@models
def test_no_row_is_complete_though_no_column_is_empty(model):
    t = toy()
    t.loc[:79, "x1"] = np.nan
    t.loc[80:, "x2"] = np.nan
    with refused("x1", "x2", "80", "160", error=MissingDataError):
        make(model, "y ~ x1 + x2", t)


@models
@pytest.mark.parametrize("missing", ["Drop", "ignore", True, None, 1])
def test_unknown_option(model, missing):
    with refused("missing", repr(missing)):
        make(model, "y ~ x1", toy(), missing=missing)
    with refused("missing", repr(missing)):
        getattr(glmclf, model)(toy().y01, toy()[["x1"]], missing=missing)


@models
def test_options_of_other_models(model):
    with refused("skip", error=NotImplementedError):
        make(model, "y ~ x1", toy(), missing="skip")


@models
@pytest.mark.parametrize(
    "empty", [pd.DataFrame(), pd.DataFrame({"y": [], "x1": []}), toy().iloc[:0], {}, {"y": [], "x1": []}]
)
def test_empty_tables(model, empty):
    with refused("no rows", error=DataError):
        make(model, "y ~ x1", empty)


@models
def test_arrays_with_missing_values(model):
    t = holed("x1")
    X = t[["x1", "x2"]]
    with refused("x1", "3", "50", error=MissingDataError):
        getattr(glmclf, model)(t.y01, X, missing="raise")
    with refused("160", error=MissingDataError):
        getattr(glmclf, model)(t.y01, X * np.nan)
    with refused("y", error=MissingDataError):
        getattr(glmclf, model)(np.full(160, np.nan), X)
    with refused("shape"):
        getattr(glmclf, model)(np.zeros(0), np.zeros((0, 2)))


@models
def test_missing_by_the_formula_itself(model):
    t = toy()
    with np.errstate(all="ignore"):
        with refused("np.log(x1)", error=MissingDataError):
            make(model, "y ~ np.log(x1)", t.assign(x1=-t.x2))
        with refused("np.log(x1)", error=MissingDataError):
            make(model, "y ~ np.log(x1)", t, missing="raise")
