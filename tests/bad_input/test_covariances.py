"""Model-based covariances of pseudo-likelihoods: honoured, with a word."""

import warnings

import pytest
from properties.toys import MODELS, make, toy

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
