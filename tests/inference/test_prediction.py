"""Predictions and their intervals: certified values, both tails, missing rows."""

import numpy as np
import pandas as pd
import pytest
import references

from glmclf.core.likelihood.links import CLogLogLink, LogitLink, ProbitLink
from glmclf.inference.margins.prediction import LinearErrors, Prediction

LINKS = {"Logit": LogitLink(), "Probit": ProbitLink(), "CLogLog": CLogLogLink()}
# linear predictors and their standard errors are certified to 15 digits; F and f are good to a few units in the last
RTOL = 1e-12


@pytest.mark.parametrize("name", references.names("predict"))
def test_certified_intervals(name):
    case, _ = references.reference(name)
    values = case["values"]
    eta, se = np.array(values["linear"]), np.array(values["linear_se"])
    mean = Prediction(eta, se, LINKS[case["model"]])
    np.testing.assert_allclose(mean.predicted, values["mean"], rtol=RTOL)
    np.testing.assert_allclose(mean.se, values["mean_se_delta"], rtol=RTOL)
    np.testing.assert_allclose(mean.conf_int().T, [values["mean_lower"], values["mean_upper"]], rtol=RTOL)
    linear = Prediction(eta, se, LINKS[case["model"]], which="linear")
    assert linear.predicted is eta and linear.se is se
    np.testing.assert_allclose(linear.conf_int().T, [values["linear_lower"], values["linear_upper"]], rtol=RTOL)


@pytest.mark.parametrize("name", references.names("predict"))
def test_predictions_of_fits(name):
    case, _ = references.reference(name)
    values = case["values"]
    fit, newdata = references.fitted(name.removesuffix("_predict")), pd.DataFrame(values["newdata"])
    for which, low, high, se in (
        ("mean", "mean_lower", "mean_upper", "mean_se_delta"),
        ("linear", "linear_lower", "linear_upper", "linear_se"),
    ):
        frame = fit.get_prediction(newdata, which=which).summary_frame()
        expected = np.column_stack([values[key] for key in (which, se, low, high)])
        np.testing.assert_allclose(frame, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_intervals_stay_inside_without_clipping(link):
    eta = np.array([-35.0, -5.0, 0.0, 2.0])
    prediction = Prediction(eta, np.full(4, 3.0), link)
    low, high = prediction.conf_int(1e-6).T
    assert (low >= 0).all() and (high <= 1).all()
    assert (low <= prediction.predicted).all() and (prediction.predicted <= high).all()
    assert 0 < low[1] < prediction.predicted[1] < high[1]
    assert prediction.predicted[0] > 0


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
@pytest.mark.parametrize("eta", [-800.0, 800.0, np.inf, -np.inf])
def test_extreme_predictors_give_limits_and_no_warning(link, eta):
    with np.errstate(all="raise", under="ignore"):
        prediction = Prediction(np.array([eta]), np.array([1.0]), link)
        assert prediction.predicted[0] in (0.0, 1.0) or prediction.predicted[0] < 1e-300
        assert prediction.conf_int().shape == (1, 2)
        assert not prediction.se[0] > 1e-300


def test_missing_rows_stay_missing():
    prediction = Prediction(np.array([np.nan, 0.0]), np.array([np.nan, 1.0]), LogitLink())
    assert np.isnan(prediction.predicted[0]) and np.isnan(prediction.se[0]) and np.isnan(prediction.conf_int()[0]).all()
    assert prediction.predicted[1] == 0.5 and prediction.se[1] == 0.25


def test_student_t_widens():
    eta, se = np.zeros(1), np.ones(1)
    low, high = Prediction(eta, se, LogitLink(), which="linear", df=3).conf_int()[0]
    assert (low, high) == (pytest.approx(-3.182446305284263), pytest.approx(3.182446305284263))


def test_another_word():
    with pytest.raises(ValueError, match="which='probability'"):
        Prediction(np.zeros(1), np.ones(1), LogitLink(), which="probability")
    with pytest.raises(ValueError, match="between 0 and 1"):
        Prediction(np.zeros(1), np.ones(1), LogitLink()).conf_int(95)


# ---------------------------------------------------------------------------------- standard error of X theta


def test_linear_se_is_the_quadratic_form():
    rng = np.random.default_rng(0)
    X, root = rng.standard_normal((40000, 4)), rng.standard_normal((4, 4))  # several blocks
    V = root @ root.T
    np.testing.assert_allclose(LinearErrors(V)(X), np.sqrt(np.einsum("ij,jk,ik->i", X, V, X)), rtol=1e-12)


def test_linear_se_of_a_covariance_without_full_rank():
    rng = np.random.default_rng(1)
    scores = rng.standard_normal((2, 4))
    V = scores.T @ scores
    X = rng.standard_normal((50, 4))
    np.testing.assert_allclose(LinearErrors(V)(X), np.sqrt(((X @ scores.T) ** 2).sum(axis=1)), rtol=1e-6)


def test_linear_se_of_an_indefinite_covariance():
    V = np.diag([1.0, -0.25])
    X = np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    se = LinearErrors(V)(X)
    assert se[0] == pytest.approx(np.sqrt(0.75)) and se[1] == pytest.approx(0, abs=1e-7) and np.isnan(se[2])


def test_linear_se_survives_units():
    X = np.array([[1.0, 1e9], [1.0, 2e9]])
    V = np.array([[1.0, -4e-10], [-4e-10, 4e-19]])
    np.testing.assert_allclose(LinearErrors(V)(X), np.sqrt([1 - 0.8 + 0.4, 1 - 1.6 + 1.6]), rtol=1e-12)


def test_linear_se_where_a_coefficient_has_no_covariance():
    V = np.diag([1.0, np.nan, 4.0])
    V[1] = V[:, 1] = np.nan
    X = np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 1.0], [1.0, np.nan, 1.0]])
    se = LinearErrors(V)(X)
    assert se[0] == pytest.approx(np.sqrt(5)) and np.isnan(se[1:]).all()
    assert np.isnan(LinearErrors(np.eye(2))(np.array([[np.nan, 1.0]])))[0]
    assert LinearErrors(np.eye(2))(np.empty((0, 2))).shape == (0,)
