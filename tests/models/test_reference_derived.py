"""What follows from a fit, against certified values: sandwiches, residuals, leverage, predictions, separation."""

import numpy as np
import pandas as pd
import pytest
import references

import glmclf

# the fits themselves are held to ten digits in test_reference.py; what is derived from them to nine
DIGITS = 9

CLUSTERED = [n for n in references.names("sandwich") if "groups" in references.reference(n)[0]["keywords"]]
PLAIN = [n for n in references.names("sandwich") if "cov_type" not in references.reference(n)[0]["keywords"]]


def fit_of(name):
    """The shared fit that a derived case belongs to."""
    return references.fitted("_".join(name.split("_")[:-1]))


def agree(found, expected, what, size=None, digits=DIGITS):
    expected = references.labelled(expected) if isinstance(expected, dict) else np.asarray(expected, dtype=float)
    if isinstance(expected, pd.Series):
        assert list(found.index) == list(expected.index)
    size = np.abs(np.asarray(expected)) if size is None else size
    error = np.abs(np.asarray(found, dtype=float) - np.asarray(expected)) / np.where(size == 0, 1.0, size)
    assert (error < 10.0**-digits).all(), f"{what}: relative error {np.max(error):.1e}"


# ------------------------------------------------------------------------------------------------------ sandwich
@pytest.mark.parametrize("name", PLAIN)
def test_heteroscedasticity_robust(name):
    """Bread: inverse observed information. HC1 is HC0 times n/(n-p)."""
    values, res = references.reference(name)[0]["values"], fit_of(name)
    robust = res.with_cov("HC0")
    agree(robust.bse, values["HC0"]["bse"], "HC0")
    se = robust.bse.to_numpy()
    agree(robust.cov_params(), values["HC0"]["cov_params"], "HC0", np.outer(se, se))
    agree(res.with_cov("HC1").bse, values["HC1"]["bse"], "HC1")
    np.testing.assert_array_equal(robust.params, res.params)


@pytest.mark.parametrize("name", CLUSTERED)
def test_cluster_robust(name):
    """The factor is G/(G-1) (n-1)/(n-p): Stata's, and bse_GN of the reference."""
    case, data = references.reference(name)
    values, groups = case["values"], case["keywords"]["groups"]
    res = fit_of(name).with_cov("cluster", groups=groups)
    agree(res.bse, values["bse_GN"], "bse_GN")
    G, n, p = values["n_groups"], res.nobs, len(res.params)
    assert res.cov_kwds["n_groups"] == [G]
    factor = G / (G - 1) * (n - 1) / (n - p)
    agree(res.bse / np.sqrt(factor), values["bse_none"], "bse_none")
    agree(res.bse / np.sqrt((n - 1) / (n - p)), values["bse_G"], "bse_G")
    se = references.labelled(values["bse_none"]).to_numpy()
    agree(res.cov_params() / factor, values["cov_params_none"], "cov_params", np.outer(se, se))
    by_values = fit_of(name).with_cov("cluster", groups=data[groups])
    np.testing.assert_array_equal(by_values.bse, res.bse)


# --------------------------------------------------------------------------------------------------- diagnostics
@pytest.mark.parametrize("name", references.names("diagnostics"))
def test_residuals(name):
    values, res = references.reference(name)[0]["values"], fit_of(name)
    rows = values["rows"]
    eta = np.array(values["linear"])
    agree(res.predict(which="linear").loc[rows], eta, "linear", np.maximum(np.abs(eta), 1))
    for attribute, key in [
        ("fittedvalues", "fitted"),
        ("resid_response", "resid_response"),
        ("resid_pearson", "resid_pearson"),
        ("resid_dev", "resid_dev"),
    ]:
        expected = np.array(values[key])
        # a residual of a row of counts is a difference, y/m - p: its error is that of p
        size = np.maximum(np.abs(expected), 0.1 if res.model._rows.trials is not None else 0.0)
        agree(getattr(res, attribute).loc[rows], expected, attribute, size, 8)
    for attribute in ("deviance", "null_deviance"):
        agree(getattr(res, attribute), values[attribute], attribute)
    agree(np.square(res.resid_dev).sum(), values["deviance"], "squared deviance residuals")
    agree(np.square(res.resid_pearson).sum(), values["pearson_chi2"], "squared Pearson residuals")


@pytest.mark.parametrize("name", references.names("diagnostics"))
def test_leverage_and_influence(name):
    """Leverage from the expected information, standardised residuals, Cook's distance: the columns of augment()."""
    values, res = references.reference(name)[0]["values"], fit_of(name)
    table = res.augment()
    part = table.loc[values["rows"]]
    agree(part[".hat"], values["hat"], "hat", digits=8)
    agree(
        part[".std_resid"],
        values["resid_dev_std"],
        "resid_dev_std",
        np.maximum(np.abs(values["resid_dev_std"]), 0.1),
        8,
    )
    cooks = np.array(values["cooks"])
    agree(part[".cooksd"], cooks, "cooks", np.maximum(cooks, 1e-4 * cooks.max()), 7)
    agree(table[".hat"].sum(), values["sum_hat"], "sum of hat")
    agree(table[".cooksd"].max(), values["max_cooks"], "max_cooks")
    assert table[".cooksd"].to_numpy().argmax() == values["argmax_cooks"]
    pearson = res.resid_pearson.loc[values["rows"]] / np.sqrt(1 - part[".hat"])
    agree(
        pearson,
        values["resid_pearson_std"],
        "resid_pearson_std",
        np.maximum(np.abs(values["resid_pearson_std"]), 0.1),
        8,
    )


# ---------------------------------------------------------------------------------------------------- prediction
def check_predictions(res, new, values):
    linear = res.get_prediction(new, which="linear").summary_frame(alpha=0.05)
    size = np.abs(values["linear"]) + np.array(values["linear_se"])
    for column, key in [
        ("predicted", "linear"),
        ("se", "linear_se"),
        ("ci_lower", "linear_lower"),
        ("ci_upper", "linear_upper"),
    ]:
        agree(linear[column], values[key], key, size)
    mean = res.get_prediction(new).summary_frame(alpha=0.05)
    steep = 1 + np.square(size)
    for column, key in [
        ("predicted", "mean"),
        ("se", "mean_se_delta"),
        ("ci_lower", "mean_lower"),
        ("ci_upper", "mean_upper"),
    ]:
        agree(mean[column], values[key], key, np.abs(values[key]) * steep)
    agree(res.predict(new), values["mean"], "predict", np.abs(values["mean"]) * steep)
    assert (mean["ci_lower"] > 0).all() and (mean["ci_upper"] < 1).all()


@pytest.mark.parametrize("name", references.names("predict"))
def test_predictions(name):
    """Intervals of a probability are those of the linear predictor, transformed; its standard error is the delta's."""
    values, res = references.reference(name)[0]["values"], fit_of(name)
    check_predictions(res, pd.DataFrame(values["newdata"]), values)


@pytest.mark.parametrize(
    "name",
    [n for n in references.names("predict") if "with_expected_information" in references.reference(n)[0]["values"]],
)
def test_predictions_with_the_expected_information(name):
    values, res = references.reference(name)[0]["values"], fit_of(name).with_cov("expected")
    known = values["with_expected_information"]
    new = pd.DataFrame(values["newdata"])
    frames = {
        "linear": res.get_prediction(new, which="linear").summary_frame(),
        "mean": res.get_prediction(new).summary_frame(),
    }
    columns = {
        "linear_se": ("linear", "se"),
        "linear_lower": ("linear", "ci_lower"),
        "linear_upper": ("linear", "ci_upper"),
        "mean_se_delta": ("mean", "se"),
        "mean_lower": ("mean", "ci_lower"),
        "mean_upper": ("mean", "ci_upper"),
    }
    compared = [key for key in columns if key in known]
    assert compared
    for key in compared:
        kind, column = columns[key]
        size = np.abs(values["linear"]) + np.array(values["linear_se"]) if kind == "linear" else None
        agree(frames[kind][column], known[key], key, size, 8)


# ---------------------------------------------------------------------------------------------------- separation
@pytest.mark.parametrize("method", ["irls", "newton", "bfgs", "lbfgs"])
@pytest.mark.parametrize("name", references.names("separation"))
def test_separation_is_an_error_that_names_the_columns(name, method):
    case, data = references.reference(name)
    infinite = case["values"]["infinite"]
    model = getattr(glmclf, case["model"]).from_formula(case["formula"], data, **references.model_keywords(case))
    with pytest.raises(glmclf.errors.PerfectSeparationError) as caught:
        model.fit(method=method, separation="raise")
    message = str(caught.value)
    named = {column for column in model.exog_names if f'"{column}"' in message}
    sure = {column for column, sign in infinite.items() if sign in ("inf", "-inf")}
    assert named <= set(infinite) and named, message
    if sure == set(infinite):
        assert named == sure, message
    kind = "quasi-complete" if case["values"]["separation"].startswith("quasi") else "complete"
    assert f"({kind} separation" in message, message
    assert str(case["values"]["rows_separated"]) in message, message
