"""MNLogit on every reference: estimates, covariances, likelihoods, tests, predictions, sandwiches, separation."""

import functools

import numpy as np
import pytest
import references

import glmclf
from glmclf.errors import PerfectSeparationError

MNLOGIT = ("MNLogit",)
FITS = references.names("fit", MNLOGIT)
SANDWICHES = references.names("sandwich", MNLOGIT)
SEPARATED = references.names("separation", MNLOGIT)
SOLVERS = ["irls", "newton", "bfgs", "lbfgs"]
# every reference is well-conditioned: ten digits are the least, and a design of condition 10^c keeps 14 - c
WELL_POSED, RESERVE = 10, 14


@functools.cache
def fitted(name, method="irls"):
    case, data = references.reference(name)
    model = glmclf.MNLogit.from_formula(case["formula"], data, **references.model_keywords(case))
    return model.fit(method=method)


def required(case):
    return min(case["digits"], WELL_POSED, RESERVE - case.get("checks", {}).get("log10_condition_scaled_design", 0))


def table(values):
    """params[level][name] as (regressor, level), with the levels as the file spells them."""
    levels = list(values)
    return np.array([[float(values[level][name]) for level in levels] for name in values[levels[0]]])


def names_of(frame):
    return [str(c) for c in frame.columns], list(frame.index)


def agree(found, expected, needed, what):
    reached = references.digits(found, expected).min()
    assert reached >= needed, f"{what}: {reached:.1f} digits, {needed:.1f} needed"


def agree_in_errors(found, expected, scale, needed, what):
    error = np.abs(np.asarray(found, dtype=float) - np.asarray(expected, dtype=float)) / scale
    assert (error < 10.0**-needed).all(), f"{what}: error {error.max():.1e} of the scale, {needed:.1f} digits needed"


@pytest.fixture(params=FITS)
def problem(request):
    case, data = references.reference(request.param)
    return data, case["values"], fitted(request.param), required(case)


def test_labels(problem):
    _, values, res, _ = problem
    for name in ("params", "bse", "tvalues", "pvalues"):
        levels, regressors = names_of(getattr(res, name))
        assert levels == list(values["params"])
        assert regressors == list(values["params"][levels[0]])
    assert [str(level) for level in res.levels] == list(map(str, sorted(values["levels"])))
    assert str(res.reference) == values["levels"][0]
    pairs = [(str(level), name) for level, name in res.cov_params().index]
    assert pairs == [(level, name) for level in values["params"] for name in values["params"][level]]
    assert list(res.conf_int().index) == list(res.cov_params().index) == list(res.cov_params().columns)


def test_estimate(problem):
    _, values, res, needed = problem
    assert res.converged
    agree(res.params, table(values["params"]), needed, "params")
    agree(res.bse, table(values["bse"]), needed, "bse")


def test_covariance(problem):
    _, values, res, needed = problem
    V = np.array(values["cov_params"], dtype=float)
    se = np.sqrt(V.diagonal())
    agree_in_errors(res.cov_params(), V, np.outer(se, se), needed, "cov_params")
    np.testing.assert_array_equal(res.cov_params(), res.cov_params().T)


def test_likelihood(problem):
    _, values, res, needed = problem
    for name in ("llf", "llnull", "aic", "bic"):
        agree(getattr(res, name), values[name], needed, name)
    lost = max(0.0, np.log10(2 * abs(values["llf"]) / values["llr"]))
    for name in ("llr", "prsquared"):
        agree(getattr(res, name), values[name], needed - lost, name)
    agree(res.llr_pvalue, values["llr_pvalue"], needed - lost - np.log10(max(1.0, values["llr"])), "llr_pvalue")


def test_degrees_of_freedom(problem):
    _, values, res, _ = problem
    assert (res.nobs, res.df_model, res.df_resid) == (values["nobs"], values["df_model"], values["df_resid"])


def test_statistics(problem):
    """A p-value loses about log10(z^2) digits to its z."""
    _, values, res, needed = problem
    z, p = table(values["tvalues"]), table(values["pvalues"])
    agree(res.tvalues, z, needed - 1, "tvalues")
    steep = 1 + np.square(z)
    agree_in_errors(res.pvalues, p, p * steep, needed - 1, "pvalues")


def test_intervals(problem):
    _, values, res, needed = problem
    ends = np.array([values["conf_int"][level][name] for level in values["params"] for name in values["params"][level]])
    scale = np.abs(table(values["params"])).ravel(order="F") + table(values["bse"]).ravel(order="F")
    agree_in_errors(res.conf_int(), ends, scale[:, None], needed, "conf_int")


def test_predictions(problem):
    """Columns of the file have the base first; the relative error of a p is the error of log p."""
    data, values, res, needed = problem
    rows = values["predicted"]["rows"]
    found = res.predict(data.iloc[rows])
    assert list(found.index) == rows
    assert list(found.columns) == res.levels
    places = [list(map(str, found.columns)).index(level) for level in values["levels"]]
    expected = np.array(values["predicted"]["mean"], dtype=float)
    steep = 10 * np.maximum(1.0, np.abs(np.log(expected)))
    agree_in_errors(found.iloc[:, places], expected, expected * steep, needed, "predict")


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", FITS)
def test_every_solver(name, solver):
    case, _ = references.reference(name)
    values, needed, res = case["values"], required(case), fitted(name, solver)
    assert res.converged, res.mle_retvals["message"]
    agree(res.params, table(values["params"]), needed, "params")
    agree(res.bse, table(values["bse"]), needed, "bse")
    agree(res.llf, values["llf"], needed, "llf")


@pytest.mark.parametrize("name", FITS)
def test_every_base(name):
    """The certified numbers come back from a fit against each other level, by rebase and through it."""
    case, data = references.reference(name)
    values, needed = case["values"], required(case)
    original = fitted(name)
    for level in original.levels:
        keywords = references.model_keywords(case) | {"reference": level}
        res = glmclf.MNLogit.from_formula(case["formula"], data, **keywords).fit().rebase(original.reference)
        agree(res.params, table(values["params"]), needed - 1, f"params through {level}")
        agree(res.bse, table(values["bse"]), needed - 1, f"bse through {level}")


@pytest.mark.parametrize("name", SANDWICHES)
def test_sandwich(name):
    values = references.reference(name)[0]["values"]
    res = fitted(name.removesuffix("_sandwich"))
    for cov_type in ("HC0", "HC1"):
        robust = res.with_cov(cov_type)
        agree(robust.bse, table(values[cov_type]["bse"]), WELL_POSED, f"bse of {cov_type}")
        at_once = res.model.fit(cov_type=cov_type)
        np.testing.assert_array_equal(at_once.bse, robust.bse)
    V = np.array(values["HC0"]["cov_params"], dtype=float)
    se = np.sqrt(V.diagonal())
    agree_in_errors(res.with_cov("HC0").cov_params(), V, np.outer(se, se), WELL_POSED, "cov_params of HC0")


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", SEPARATED)
def test_separation_names_what_is_infinite(name, solver):
    case, data = references.reference(name)
    values = case["values"]
    with pytest.raises(PerfectSeparationError) as caught:
        glmclf.MNLogit.from_formula(case["formula"], data).fit(method=solver, separation="raise")
    message = str(caught.value)
    kind = values["separation"]
    assert f"({kind} separation" in message, message
    infinite = [f"\"{name}\" of '{level}'" for level, names in values["infinite"].items() for name in names]
    finite = [f"\"{name}\" of '{level}'" for level, names in values.get("finite_limit", {}).items() for name in names]
    assert all(part in message for part in infinite[:8]), message
    assert not any(part in message for part in finite), message


def test_fitting_twice_gives_the_same_numbers():
    res = fitted("wine__mnlogit")
    again = res.model.fit()
    np.testing.assert_array_equal(res.params, again.params)
    np.testing.assert_array_equal(res.cov_params(), again.cov_params())
    assert res.llf == again.llf
