"""`glmclf.formula.api`: each lower-case name is `from_formula` of its model, seen from the caller's place."""

import numpy as np
import pandas as pd
import pytest

import glmclf
import glmclf.formula.api as smf
from glmclf import datasets, registry

MODELS = registry.LOWER_CASE


def test_all_models_are_there():
    assert set(smf.__all__) == set(MODELS)
    assert set(MODELS.values()) == {name for name in glmclf.__all__ if isinstance(getattr(glmclf, name), type)}


@pytest.mark.parametrize("name", MODELS)
def test_a_name_is_its_model(name):
    spector = datasets.load("spector")
    model = getattr(smf, name)("GRADE ~ GPA + TUCE", spector, subset=spector["TUCE"] > 15)
    assert type(model) is getattr(glmclf, MODELS[name])
    expected = type(model).from_formula("GRADE ~ GPA + TUCE", spector, subset=spector["TUCE"] > 15).fit()
    pd.testing.assert_series_equal(model.fit().params.squeeze(), expected.params.squeeze())


@pytest.mark.parametrize("name", MODELS)
def test_functions_of_the_caller_are_known(name):
    def half(x):
        return x / 2

    res = getattr(smf, name)("GRADE ~ half(GPA) + TUCE", datasets.load("spector")).fit()
    whole = getattr(smf, name)("GRADE ~ GPA + TUCE", datasets.load("spector")).fit()
    res, whole = getattr(res, "discriminant", res), getattr(whole, "discriminant", whole)
    np.testing.assert_allclose(res.params.loc["half(GPA)"], 2 * whole.params.loc["GPA"], rtol=1e-9)


@pytest.mark.parametrize("name, keywords", [
    ("lda", {"reference": "Gentoo", "priors": "equal", "shrinkage": 0.2}),
    ("qda", {"covariance": "diag", "divisor": "unbiased", "prior_smoothing": 1.0}),
    ("naivebayes", {"reference": "Chinstrap", "smoothing": 0.5, "pooled": True, "missing": "drop"}),
])
def test_keywords_are_passed_on(name, keywords):
    penguins, formula = datasets.load("penguins"), "species ~ bill_length_mm + sex"
    res = getattr(smf, name)(formula, penguins, **keywords).fit()
    expected = getattr(glmclf, MODELS[name]).from_formula(formula, penguins, **keywords).fit()
    pd.testing.assert_frame_equal(res.discriminant.params, expected.discriminant.params)
    pd.testing.assert_frame_equal(res.discriminant.bse, expected.discriminant.bse)


@pytest.mark.parametrize("name", ["lda", "qda", "naivebayes"])
def test_an_unknown_keyword_is_a_type_error(name):
    with pytest.raises(TypeError, match="flavour"):
        getattr(smf, name)("GRADE ~ GPA", datasets.load("spector"), flavour=1)
