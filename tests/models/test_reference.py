"""Every binary reference fit: each number agrees with its certified value to the digits that the problem allows."""

import numpy as np
import pytest
import references

# Ten significant digits wherever the design is well-conditioned; of a design of condition 10^c (columns scaled to unit
# length) a method that never squares it keeps 15 - c, and one more is left for the numbers derived.
WELL_POSED = 10
RESERVE = 14

FITS = references.names("fit")
WEIGHTED = [name for name in FITS if "weights" in references.reference(name)[0]["keywords"]]
ORDINARY = [name for name in FITS if name not in WEIGHTED]
SOLVERS = ["newton", "bfgs", "lbfgs"]


def required(case):
    return min(case["digits"], WELL_POSED, RESERVE - case["checks"]["log10_condition_scaled_design"])


def agree(found, expected, needed, what):
    expected = references.labelled(expected) if isinstance(expected, dict) else np.asarray(expected, dtype=float)
    if hasattr(expected, "index"):
        assert list(found.index) == list(expected.index), f"{what}: {list(found.index)}"
    reached = references.digits(found, expected).min()
    assert reached >= needed, f"{what}: {reached:.1f} digits, {needed:.1f} needed: {found} instead of {expected}"


def agree_in_errors(found, expected, scale, needed, what):
    """Digits relative to the scale, for numbers that may be near zero by cancellation."""
    reached = -np.log10(np.maximum(np.abs(np.asarray(found) - np.asarray(expected, dtype=float)) / scale, 1e-16)).min()
    assert reached >= needed, f"{what}: {reached:.1f} digits of the scale, {needed:.1f} needed"


@pytest.fixture(params=FITS)
def problem(request):
    case, data = references.reference(request.param)
    return case | {"frame": data}, case["values"], references.fitted(request.param), required(case)


def test_estimate(problem):
    _, values, res, needed = problem
    assert res.converged
    agree(res.params, values["params"], needed, "params")
    agree(res.bse, values["bse"], needed, "bse")


def test_covariance(problem):
    """Each entry relative to the two standard errors it belongs to."""
    _, values, res, needed = problem
    V = np.array(values["cov_params"], dtype=float)
    se = np.sqrt(V.diagonal())
    agree_in_errors(res.cov_params(), V, np.outer(se, se), needed, "cov_params")
    assert list(res.cov_params().index) == list(res.cov_params().columns) == list(values["params"])


def test_likelihood(problem):
    case, values, res, needed = problem
    for name in ("llf", "llnull"):
        agree(getattr(res, name), values[name], needed, name)
    if "weights" not in case["keywords"]:
        for name in ("aic", "bic", "prsquared", "deviance", "llr"):
            agree(getattr(res, name), values[name], needed - lost(values, name), name)
        agree(np.sum(weighted(res, np.square(res.resid_pearson))), values["pearson_chi2"], needed, "pearson_chi2")


def lost(values, name):
    """Digits that go where the difference of two log-likelihoods is small against them."""
    if name not in ("prsquared", "llr"):
        return 0.0
    return max(0.0, np.log10(2 * abs(values["llf"]) / values["llr"]))


def weighted(res, rows):
    weights = res.model._rows.weights
    return rows if weights is None else weights * rows


def test_counts_and_degrees_of_freedom(problem):
    case, values, res, _ = problem
    assert res.nobs == values["nobs"]
    if "weights" not in case["keywords"]:
        assert res.df_model == values["df_model"]
        assert res.df_resid == values["df_resid"]


def test_statistics_and_pvalues(problem):
    """A p-value loses about log10(z^2) digits to its z; below 1e-300 it is compared by its z alone."""
    _, values, res, needed = problem
    z = references.labelled(values["tvalues"])
    agree(res.tvalues, values["tvalues"], needed - 1, "tvalues")
    p = references.labelled(values["pvalues"])
    for name in p.index:
        if p[name] > 1e-300:
            agree(res.pvalues[name], p[name], needed - 1 - np.log10(max(1.0, z[name] ** 2)), f"pvalue of {name}")


def test_likelihood_ratio_pvalue(problem):
    case, values, res, needed = problem
    if "weights" in case["keywords"]:
        assert np.isnan(res.llr_pvalue) and np.isnan(res.aic) and np.isnan(res.bic)
        return
    steepness = np.log10(max(1.0, values["llr"]))
    agree(res.llr_pvalue, values["llr_pvalue"], needed - lost(values, "llr") - steepness, "llr_pvalue")


def test_intervals(problem):
    """The ends, in units of the estimate and its standard error."""
    _, values, res, needed = problem
    ends = np.array(list(values["conf_int"].values()), dtype=float)
    scale = np.abs(list(values["params"].values())) + np.array(list(values["bse"].values()))
    assert list(res.conf_int().index) == list(values["conf_int"])
    agree_in_errors(res.conf_int(), ends, scale[:, None], needed, "conf_int")


def test_predictions(problem):
    """Linear predictors in units of themselves or 1, the rounding of an offset included; probabilities follow."""
    case, values, res, needed = problem
    rows = values["predicted"]["rows"]
    new = case["frame"].iloc[rows]
    eta, mean = np.array(values["predicted"]["linear"]), np.array(values["predicted"]["mean"])
    size = np.maximum(np.abs(eta), 1.0)
    agree_in_errors(res.predict(new, which="linear"), eta, size, needed, "linear")
    steepness = 2 * np.log10(size.max())
    agree(res.predict(new), mean, needed - steepness, "mean")
    assert list(res.predict(new).index) == rows


@pytest.mark.filterwarnings("ignore:.*The inverse information takes")
@pytest.mark.parametrize("name", [n for n in FITS if "bse_expected" in references.reference(n)[0]["values"]])
def test_expected_information(name):
    """What Fisher scoring, and R's glm, report."""
    case, _ = references.reference(name)
    values, needed = case["values"], required(case)
    res = references.fitted(name).with_cov("expected")
    agree(res.bse, values["bse_expected"], needed, "bse_expected")
    V = np.array(values["cov_params_expected"], dtype=float)
    se = np.sqrt(V.diagonal())
    agree_in_errors(res.cov_params(), V, np.outer(se, se), needed, "cov_params_expected")
    fitted_so = references.fitted(name, cov_type="expected")
    np.testing.assert_array_equal(fitted_so.bse, res.bse)


@pytest.mark.filterwarnings("ignore:.*The inverse information takes")
@pytest.mark.parametrize("name", WEIGHTED)
def test_sampling_weights(name):
    case, _ = references.reference(name)
    values, needed = case["values"], required(case)
    res = references.fitted(name)
    assert res.cov_type == "HC0"
    agree(res.with_cov("HC1").bse, values["bse_HC1"], needed, "bse_HC1")
    hessian = res.with_cov("nonrobust")
    agree(hessian.bse, values["bse_hessian"], needed, "bse_hessian")
    V = np.array(values["cov_params_hessian"], dtype=float)
    agree_in_errors(
        hessian.cov_params(), V, np.sqrt(np.outer(V.diagonal(), V.diagonal())), needed, "cov_params_hessian"
    )


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", FITS)
def test_every_solver(name, solver):
    case, _ = references.reference(name)
    values, needed = case["values"], required(case)
    res = references.fitted(name, method=solver)
    assert res.converged, res.mle_retvals["message"]
    agree(res.params, values["params"], needed, "params")
    agree(res.bse, values["bse"], needed, "bse")
    agree(res.llf, values["llf"], needed, "llf")


@pytest.mark.parametrize("name", [n for n in FITS if "bic_trials" in references.reference(n)[0]["values"]])
def test_counts(name):
    """nobs are the rows; the kernel of the log-likelihood leaves out the coefficients."""
    values, res = references.reference(name)[0]["values"], references.fitted(name)
    coefficients = values["llf"] - values["llf_kernel"]
    agree(res.llf - coefficients, values["llf_kernel"], WELL_POSED, "llf_kernel")
    agree(res.model.endog.sum() + (res.model._rows.trials - res.model.endog).sum(), values["nobs_trials"], 15, "trials")
    trials_bic = -2 * res.llf + len(res.params) * np.log(values["nobs_trials"])
    agree(trials_bic, values["bic_trials"], WELL_POSED, "bic_trials")


def test_fitting_twice_gives_the_same_numbers():
    res = references.fitted("spector__logit")
    again = res.model.fit()
    np.testing.assert_array_equal(res.params, again.params)
    np.testing.assert_array_equal(res.cov_params(), again.cov_params())
    assert res.llf == again.llf
