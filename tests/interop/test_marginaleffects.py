"""marginaleffects: predictions and slopes of our results, by its own numerical derivatives."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import glmclf
from glmclf import datasets
from glmclf.errors import CollinearityWarning, DataError

polars = pytest.importorskip("polars")
if int(polars.__version__.split(".")[0]) >= 2:
    pytest.skip("marginaleffects 0.6.0 fails with polars 2 for every model", allow_module_level=True)
marginaleffects = pytest.importorskip("marginaleffects")
NUMERICAL = 3e-3  # of standard errors: its derivatives are forward differences


@pytest.fixture(scope="module")
def spector():
    return datasets.load("spector")


@pytest.mark.parametrize("model", ["Logit", "Probit"])
def test_slopes(spector, model):
    res = getattr(glmclf, model).from_formula("GRADE ~ GPA * TUCE", spector).fit()
    found = marginaleffects.avg_slopes(res)
    ours = res.get_margeff().summary_frame().loc[found["term"].to_list()]
    assert_allclose(found["estimate"], ours["dy/dx"], rtol=1e-7)
    assert_allclose(found["std_error"], ours["Std. Err."], rtol=NUMERICAL)


def test_robust_covariances_carry_over(spector):
    res = glmclf.Logit.from_formula("GRADE ~ GPA + TUCE", spector).fit(cov_type="HC1")
    found = marginaleffects.avg_slopes(res)
    ours = res.get_margeff().summary_frame().loc[found["term"].to_list()]
    assert_allclose(found["std_error"], ours["Std. Err."], rtol=NUMERICAL)


@pytest.mark.parametrize("formula", ["GRADE ~ GPA + TUCE", "GRADE ~ bs(GPA, df=4)", "GRADE ~ poly(TUCE, 2)"])
def test_predictions_keep_the_knots_of_the_fit(spector, formula):
    res = glmclf.Logit.from_formula(formula, spector).fit()
    found = marginaleffects.predictions(res)
    assert_allclose(found["estimate"], res.fittedvalues, rtol=1e-12)
    assert_allclose(found["std_error"], res.get_prediction().se, rtol=NUMERICAL, atol=1e-7)
    new = spector.iloc[[3, 11, 25]]
    few = marginaleffects.predictions(res, newdata=polars.from_dicts(new.to_dict("records")))
    assert_allclose(few["estimate"], res.predict(new), rtol=1e-12)


@pytest.mark.filterwarnings("ignore:.*cat.get_categories")
def test_text_as_response_and_factor():
    """marginaleffects takes no columns of text: it is handed categoricals, and the table stays as it is."""
    penguins = datasets.load("penguins").dropna()
    res = glmclf.Logit.from_formula("sex ~ bill_length_mm + C(island) + species", penguins).fit()
    found = marginaleffects.avg_slopes(res, variables="bill_length_mm")
    ours = res.get_margeff(variables="bill_length_mm").summary_frame()
    assert_allclose(found["estimate"], ours["dy/dx"], rtol=1e-6)
    assert_allclose(marginaleffects.predictions(res)["estimate"], res.fittedvalues, rtol=1e-12)
    few = marginaleffects.predictions(res, newdata=polars.from_pandas(res.model.data.frame.iloc[:9]))
    assert_allclose(few["estimate"], res.fittedvalues[:9], rtol=1e-12)
    assert res.model.data.table.island.dtype == penguins.island.dtype == penguins.sex.dtype


def test_columns_left_out(spector):
    with pytest.warns(CollinearityWarning):
        res = glmclf.Logit.from_formula("GRADE ~ GPA + I(2 * GPA) + TUCE", spector).fit()
    plain = glmclf.Logit.from_formula("GRADE ~ GPA + TUCE", spector).fit()
    for function in (marginaleffects.avg_slopes, marginaleffects.predictions):
        assert_allclose(function(res)["estimate"], function(plain)["estimate"], rtol=1e-6)


def test_frequency_weights_are_told(spector):
    data = spector.assign(times=np.arange(len(spector)) % 3 + 1)
    res = glmclf.Logit.from_formula("GRADE ~ GPA + TUCE", data, freq_weights="times").fit()
    found = marginaleffects.avg_slopes(res, wts="times")
    ours = res.get_margeff().summary_frame().loc[found["term"].to_list()]
    assert_allclose(found["estimate"], ours["dy/dx"], rtol=1e-6)
    assert_allclose(found["std_error"], ours["Std. Err."], rtol=3 * NUMERICAL)


def test_an_offset_is_refused(spector):
    res = glmclf.Logit.from_formula("GRADE ~ GPA", spector, offset="PSI").fit()
    with pytest.raises(DataError, match="offset"):
        marginaleffects.avg_slopes(res)


@pytest.mark.filterwarnings("ignore:.*cat.get_categories")
def test_factors_are_compared(spector):
    data = spector.assign(PSI=spector.PSI.map({0: "no", 1: "yes"}).astype("category"))
    res = glmclf.Logit.from_formula("GRADE ~ GPA + PSI", data).fit()
    found = marginaleffects.avg_comparisons(res, variables="PSI")
    ours = res.get_margeff().summary_frame().loc["PSI[yes - no]"]
    assert_allclose(found["estimate"][0], ours["dy/dx"], rtol=1e-7)
    assert_allclose(found["std_error"][0], ours["Std. Err."], rtol=NUMERICAL)


def test_several_levels_are_refused():
    """Its order of two-dimensional parameters is not that of their covariance."""
    res = glmclf.MNLogit.from_formula("island ~ bill_length_mm", datasets.load("penguins")).fit()
    with pytest.raises(ValueError, match="Unknown model type"):
        marginaleffects.avg_slopes(res)
    assert np.isfinite(res.get_margeff().summary_frame().to_numpy()[:, 1]).all()
