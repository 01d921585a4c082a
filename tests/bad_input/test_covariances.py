"""Covariances that cannot be had, their keywords, and model-based ones of pseudo-likelihoods: honoured, with a word."""

import warnings

import numpy as np
import pytest
from bad_input.refusal import refused
from properties.toys import MODELS, fit, make, toy

from glmclf.errors import InferenceWarning

NUMERIC = "y ~ x1 + x2"


def words_of(res):
    """The summary on one line."""
    return " ".join(str(res.summary()).split())


def doubts(caught):
    return [w for w in caught if issubclass(w.category, InferenceWarning) and "cov_type=" in str(w.message)]


@pytest.mark.parametrize("cov_type", ["nonrobust", "expected"])
@pytest.mark.parametrize("model", [*MODELS, "MNLogit", "LDA", "QDA", "NaiveBayes"])
def test_sampling_weights(model, cov_type):
    m = make(model, NUMERIC, toy(), weights="sw")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        res = m.fit(cov_type=cov_type)
        robust = m.fit()
        res_again = robust.with_cov(cov_type)
    words = doubts(caught)
    assert len(words) == 2  # the fit and with_cov; not the default
    for w in words:
        assert w.filename == __file__
        assert f'"{cov_type}"' in str(w.message) and '"HC0"' in str(w.message)
    for each in (res, res_again):
        assert "sampling weights for numbers of observations" in words_of(each)
    assert robust.cov_type == "HC0"
    assert "for numbers of observations" not in words_of(robust)


@pytest.mark.parametrize("model", MODELS)
def test_fractions(model):
    with pytest.warns(InferenceWarning, match="fractions for outcomes"):
        res = make(model, "share ~ x1 + x2", toy()).fit(cov_type="nonrobust")
    assert "fractions for outcomes" in words_of(res)


# ------------------------------------------------------------------------------------------ keywords of each type
EVERY = [*MODELS, "MNLogit"]


def on(model):
    return fit(model, "g ~ x1" if model == "MNLogit" else "y ~ x1")


@pytest.mark.parametrize("model", EVERY)
@pytest.mark.parametrize("cov_type", ["HC2", "HC3", "HAC", "bootstrap", "jackknife", "cluster"])
def test_unknown_keywords(model, cov_type):
    res, kwds = on(model), {"groups": "firm"} if cov_type == "cluster" else {}
    for word in ("lags", "kernel", "use_correction", "B"):
        with refused(cov_type, f"'{word}'", error=TypeError):
            res.with_cov(cov_type, **{word: 1}, **kwds)
        with refused(cov_type, f"'{word}'", error=TypeError):
            res.model.fit(cov_type=cov_type, cov_kwds={word: 1, **kwds})


@pytest.mark.parametrize(
    "cov_type, kwds",
    [
        ("HC3", {"groups": "firm"}),
        ("jackknife", {"groups": "firm"}),
        ("jackknife", {"seed": 1}),
        ("HAC", {"groups": "firm"}),
        ("HAC", {"reps": 9}),
        ("bootstrap", {"maxlags": 2}),
        ("cluster", {"groups": "firm", "seed": 1}),
    ],
    ids=str,
)
def test_keywords_of_other_types(cov_type, kwds):
    with refused(cov_type, list(kwds)[-1], error=TypeError):
        on("Logit").with_cov(cov_type, **kwds)


@pytest.mark.parametrize(
    "cov_type, kwds, words",
    [
        ("HAC", {"maxlags": -1}, ["maxlags=-1", "0 or more"]),
        ("HAC", {"maxlags": 160}, ["maxlags=160", "160"]),
        ("HAC", {"maxlags": 1.5}, ["maxlags=1.5"]),
        ("HAC", {"maxlags": "two"}, ["maxlags='two'"]),
        ("HAC", {"maxlags": True}, ["maxlags=True"]),
        ("HAC", {"maxlags": np.nan}, ["maxlags=nan"]),
        ("bootstrap", {"reps": 1}, ["reps=1", "2 or more"]),
        ("bootstrap", {"reps": 2.5}, ["reps=2.5"]),
        ("bootstrap", {"reps": "many"}, ["reps='many'"]),
        ("bootstrap", {"reps": [9]}, ["reps=[9]"]),
        ("bootstrap", {"seed": -1}, ["seed=-1"]),  # "expected non-negative integer"
        ("bootstrap", {"seed": "today"}, ["seed='today'"]),
        ("bootstrap", {"seed": 1.5}, ["seed=1.5"]),
        ("bootstrap", {"seed": True}, ["seed=True"]),
        ("bootstrap", {"groups": "frim"}, ["frim"]),
        ("bootstrap", {"groups": np.zeros(5)}, ["5", "160"]),
        ("bootstrap", {"groups": np.zeros(160)}, ["two clusters"]),
    ],
    ids=str,
)
def test_values_of_keywords(cov_type, kwds, words):
    """Found before anything is fitted."""
    res = on("Logit")
    with refused(*words):
        res.with_cov(cov_type, **kwds)
    with refused(*words):
        res.model.fit(cov_type=cov_type, cov_kwds=kwds)


@pytest.mark.parametrize("model", EVERY)
def test_two_groupings_of_a_bootstrap(model):
    with refused("bootstrap", "firm and year", error=NotImplementedError):
        on(model).with_cov("bootstrap", groups=["firm", "year"])


def test_missing_clusters_of_a_bootstrap():
    t = toy()
    t["firm"] = t.firm.where(t.index != 7)
    with refused("firm", "1 row", "7"):
        make("Logit", "y ~ x1", t).fit(cov_type="bootstrap", cov_kwds={"groups": "firm"})


@pytest.mark.parametrize("model", ["LDA", "QDA", "NaiveBayes"])
@pytest.mark.parametrize("cov_type", ["HC2", "HC3", "bootstrap", "jackknife"])
def test_types_of_regressions(model, cov_type):
    m = make(model, "g ~ x1 + x2", toy())
    for call in (lambda: m.fit(cov_type=cov_type), lambda: m.fit().with_cov(cov_type)):
        with refused(cov_type, model, error=NotImplementedError):
            call()


def test_frequency_weights_too_many_for_a_series():
    """The rows in their order would take 64 GB."""
    t = toy().assign(f=10**8)
    for model in ("Logit", "LDA"):
        with refused("HAC", "freq_weights", error=NotImplementedError):
            make(model, "y ~ x1", t, freq_weights="f").fit(cov_type="HAC")
