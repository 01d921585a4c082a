"""Proportions of trials: the same fit as successes and failures in every input, and what they refuse."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import glmclf
from glmclf import CLogLog, Logit, Probit
from glmclf.errors import DataError, InferenceWarning

# R 4.2.2: glm(s/n ~ x, binomial, weights = n) of these three groups; standard errors of its last step but one
SE_OF_R = [0.1067379320123, 0.0906120917265]
MODELS = [Logit, Probit, CLogLog]


@pytest.fixture
def table():
    """The groups of R, and one without a trial, of which the proportion is 0/0."""
    d = pd.DataFrame({"s": [200, 100, 250, 0], "f": [100, 200, 20, 0], "x": [0.0, 1.0, 2.0, 5.0]})
    return d.assign(n=d.s + d.f, p=d.s / (d.s + d.f))


def equal(a, b):
    assert_array_equal(a.params, b.params)
    assert_array_equal(a.cov_params(), b.cov_params())
    assert (a.llf, a.llnull, a.nobs, a.aic, a.deviance) == (b.llf, b.llnull, b.nobs, b.aic, b.deviance)
    assert_array_equal(a.with_cov("HC1").bse, b.with_cov("HC1").bse)
    assert_array_equal(a.get_influence().summary_frame(), b.get_influence().summary_frame())
    assert a.roc().auc == b.roc().auc


def test_r(table):
    assert_allclose(Logit.from_formula("p ~ x", table, trials="n").fit().bse, SE_OF_R, rtol=1e-8)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "left, trials", [("p", "n"), ("I(s / n)", "n"), ("p", lambda d: d["n"]), ("p", lambda d: d["n"].to_numpy())]
)
def test_formula(table, model, left, trials):
    trials = trials(table) if callable(trials) else trials
    found = model.from_formula(f"{left} ~ x", table, trials=trials).fit()
    equal(found, model.from_formula("s + f ~ x", table).fit())
    assert found.model.endog_names == left and "Trials:" in found.summary().as_text()


@pytest.mark.parametrize("model", MODELS)
def test_arrays(table, model):
    X = np.column_stack([np.ones(4), table.x])
    found = model(table.p, X, trials=table.n).fit()
    equal(found, model(table[["s", "f"]], X).fit())
    assert_allclose(found.roc(X, endog=table[["s", "f"]]).auc, found.roc().auc)


def test_weights_offset_and_bias_reduction_beside(table):
    options = {"freq_weights": [1, 2, 3, 4], "offset": table.x / 7}
    for how in ({}, {"bias_reduction": "firth"}):
        a = Logit.from_formula("p ~ x", table, trials="n", **options).fit(**how)
        equal(a, Logit.from_formula("s + f ~ x", table, **options).fit(**how))


def test_parts_and_files(table, tmp_path):
    counts = Logit.from_formula("s + f ~ x", table).fit()
    parts = Logit.from_formula("p ~ x", lambda: iter([table[:2], table[2:]]), trials="n").fit()
    assert_allclose(parts.params, counts.params, rtol=1e-12)
    assert_allclose(parts.bse, SE_OF_R, rtol=1e-8)
    assert_allclose(parts.llf, counts.llf, rtol=1e-12)
    found = Logit.from_formula("p ~ x", table, trials="n").fit()
    found.save(tmp_path / "model.json")
    loaded = glmclf.load(tmp_path / "model.json")
    assert_array_equal(loaded.predict(table), counts.predict(table))
    assert loaded.roc(table).auc == found.roc(table).auc == counts.roc(table).auc
    assert loaded.summary().as_text() == found.summary().as_text()


def test_rows_without_trials_and_missing_ones(table):
    table = table.astype(float)
    table.loc[1, "n"] = np.nan
    found = Logit.from_formula("p ~ x", table, trials="n")
    assert found.nobs == 2
    text = found.fit().summary().as_text()
    assert "1 row with no trials left out" in text and "(n: 1)" in text


@pytest.mark.parametrize(
    "change, options, words",
    [
        ({"p": [0.123, 0.5, 0.1, 0.0]}, {}, ["whole number of successes in 1 of 3 rows", "row 0", "36.9"]),
        ({"p": [66.7, 0.5, 0.1, 0.0]}, {}, ["not within 0 and 1 in 1 of 3 rows"]),
        ({"p": list("abcd")}, {}, ["holds labels"]),
        ({"n": [1.5, 2, 3, 0]}, {}, ['trials="n"', "whole numbers"]),
        ({"n": [-1, 2, 3, 0]}, {}, ["negative"]),
        ({}, {"event": 1}, ["event=1", "trials="]),
        ({}, {"trials": "m"}, ['trials="m"', "no such column"]),
    ],
)
def test_what_is_refused(table, change, options, words):
    with pytest.raises(DataError) as error:
        Logit.from_formula("p ~ x", table.assign(**change), **{"trials": "n"} | options)
    assert all(word in str(error.value) for word in words), error.value


def test_refusals_of_the_left_side_and_of_new_rows(table):
    with pytest.raises(DataError, match="Leave trials= out"):
        Logit.from_formula("s + f ~ x", table, trials="n")
    with pytest.raises(TypeError, match="trials"):
        glmclf.MNLogit.from_formula("p ~ x", table, trials="n")
    res = Logit.from_formula("p ~ x", table, trials="n").fit()
    with pytest.raises(DataError, match='trials="n", which the new data lack'):
        res.roc(table.drop(columns="n"))


@pytest.mark.parametrize("parts", [False, True])
def test_frequency_weights_that_are_trials_are_told(table, parts):
    table = table[:3]
    data = (lambda: iter([table[:2], table[2:]])) if parts else table
    with pytest.warns(InferenceWarning, match='trials="n"'):
        Logit.from_formula("p ~ x", data, freq_weights="n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Logit.from_formula("p ~ x", data, freq_weights="f")
        Logit.from_formula("p ~ x", data)
