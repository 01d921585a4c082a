"""MNLogit beside statsmodels' MNLogit on random data, number by number, where statsmodels is right."""

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from glmclf import MNLogit

# statsmodels stops at its own tolerance: its digits, not ours, set these
RTOL, NULL_RTOL = 1e-7, 1e-8
CASES = {"K=2": (300, 2, 2, 0), "K=3": (200, 3, 3, 1), "K=5": (500, 5, 4, 2), "K=8": (1500, 8, 2, 3)}


def data(n, K, k, seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, k)), columns=[f"x{j + 1}" for j in range(k)])
    X.insert(0, "const", 1.0)
    eta = X.to_numpy() @ rng.normal(scale=0.5, size=(k + 1, K))
    return (eta + rng.gumbel(size=(n, K))).argmax(axis=1), X


@pytest.fixture(scope="module", params=CASES)
def pair(request):
    y, X = data(*CASES[request.param])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = sm.MNLogit(pd.Series(y, name="y"), X).fit(method="newton", disp=0, maxiter=100, tol=1e-14)
    return MNLogit(pd.Series(y, name="y"), X).fit(), theirs, X


def close(a, b, rtol=RTOL, atol=1e-9):
    np.testing.assert_allclose(np.asarray(a, dtype=float), np.asarray(b, dtype=float), rtol=rtol, atol=atol)


@pytest.mark.parametrize("name", ["params", "bse", "tvalues", "pvalues"])
def test_tables(pair, name):
    ours, theirs, _ = pair
    close(getattr(ours, name), getattr(theirs, name))
    assert list(getattr(ours, name).index) == list(getattr(theirs, name).index)


def test_covariance_and_intervals(pair):
    ours, theirs, _ = pair
    close(ours.cov_params(), theirs.cov_params())
    close(ours.conf_int(), np.asarray(theirs.conf_int()).reshape(-1, 2))
    close(ours.conf_int(0.1), np.asarray(theirs.conf_int(0.1)).reshape(-1, 2))
    assert len(ours.conf_int()) == len(ours.cov_params())


@pytest.mark.parametrize("name", ["llf", "aic", "bic", "nobs", "df_model", "df_resid"])
def test_numbers(pair, name):
    ours, theirs, _ = pair
    close(getattr(ours, name), getattr(theirs, name), rtol=1e-11)


@pytest.mark.parametrize("name", ["llnull", "llr", "prsquared"])
def test_numbers_against_the_null(pair, name):
    ours, theirs, _ = pair
    close(getattr(ours, name), getattr(theirs, name), rtol=NULL_RTOL)
    close(np.log(ours.llr_pvalue), np.log(theirs.llr_pvalue), rtol=1e-6)


def test_predictions(pair):
    ours, theirs, X = pair
    new = X.sample(50, random_state=1)
    close(ours.predict(), theirs.predict())
    close(ours.predict(new), theirs.predict(new))
    close(ours.predict(new.to_numpy()), theirs.predict(new.to_numpy()))
    close(ours.predict(new.iloc[0]), theirs.predict(new.iloc[[0]]))
    close(
        ours.predict(new, which="linear").iloc[:, 1:], theirs.model.predict(theirs.params, new, which="linear")[:, 1:]
    )
    assert (ours.predict(new, which="linear").iloc[:, 0] == 0).all()


def test_prediction_table(pair):
    ours, theirs, _ = pair
    np.testing.assert_array_equal(ours.pred_table(), theirs.pred_table())


@pytest.mark.parametrize("call", ["t_test", "wald_test", "f_test"])
def test_hypotheses_by_matrix(pair, call):
    ours, theirs, _ = pair
    p = ours.params.size
    R = np.random.default_rng(0).normal(size=(2, p))
    arguments = {"scalar": True} if call == "wald_test" else {}
    a, b = getattr(ours, call)(R), getattr(theirs, call)(R, **arguments)
    close(a.pvalue, b.pvalue, rtol=1e-5)
    if call == "t_test":
        close(a.effect, b.effect)
        close(a.sd, b.sd)
        close(a.tvalue, b.tvalue, rtol=1e-6)
        close(a.conf_int(), b.conf_int())
    else:
        close(a.statistic, b.statistic, rtol=1e-6)


def test_t_test_of_each_parameter(pair):
    ours, theirs, _ = pair
    t = ours.t_test(np.eye(ours.params.size))
    close(np.ravel(t.tvalue), np.asarray(ours.tvalues).ravel(order="F"), rtol=1e-12)
    close(t.tvalue, theirs.t_test(np.eye(ours.params.size)).tvalue)


def test_model_functions_at_any_parameters(pair):
    """Flat parameters are equation by equation in both."""
    ours, theirs, _ = pair
    theta = np.random.default_rng(5).normal(scale=0.3, size=ours.params.size)
    a, b = ours.model, theirs.model
    close(a.loglike(theta), b.loglike(theta), rtol=1e-12)
    close(a.loglikeobs(theta), b.loglikeobs(theta).sum(axis=1), rtol=1e-10)  # theirs has a column a level
    close(a.score(theta), b.score(theta), rtol=1e-9)
    close(a.score_obs(theta), b.score_obs(theta), rtol=1e-9)
    close(a.hessian(theta), b.hessian(theta), rtol=1e-9)
    close(a.information(theta), -b.hessian(theta), rtol=1e-9)
    shaped = theta.reshape(ours.params.shape, order="F")
    assert a.loglike(shaped) == a.loglike(theta)
    labelled = pd.DataFrame(shaped, index=ours.params.index, columns=ours.params.columns)
    assert a.loglike(labelled) == a.loglike(theta)
    close(a.predict(shaped), b.predict(shaped))


def test_names(pair):
    ours, theirs, X = pair
    a, b = ours.model, theirs.model
    assert (a.J, a.K) == (b.J, b.K)
    np.testing.assert_array_equal(a.endog, b.endog)
    np.testing.assert_array_equal(a.exog, b.exog)
    np.testing.assert_array_equal(a.wendog, b.wendog)
    assert a.exog_names == b.exog_names == list(X.columns)
    assert a.endog_names == b.endog_names == "y"
    assert a.k_constant == 1
    assert not ours.use_t


@pytest.mark.parametrize("cov_type", ["HC0", "HC1", "cluster"])
def test_robust_covariances(pair, cov_type):
    """HC0 as theirs; their HC1 leaves the factor n/(n-p) out; theirs of clusters with the factors of section 2."""
    ours, theirs, X = pair
    y, n, p = theirs.model.endog, len(X), ours.params.size
    groups = np.arange(n) % 30
    keywords = {"groups": groups} if cov_type == "cluster" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        b = sm.MNLogit(y, X).fit(
            method="newton",
            disp=0,
            tol=1e-14,
            cov_type=cov_type,
            cov_kwds={**keywords, **({"use_correction": False} if keywords else {})},
        )
    factor = {"HC0": 1.0, "HC1": n / (n - p), "cluster": 30 / 29 * (n - 1) / (n - p)}[cov_type]
    # what theirs has as HC1 depends on the release: with the factor of one equation, or with none
    a = ours.with_cov(cov_type, **keywords)
    ratio = np.diag(a.cov_params()) / np.diag(b.cov_params())
    if cov_type == "HC1":
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)
        close(a.cov_params(), factor * np.asarray(ours.with_cov("HC0").cov_params()), rtol=1e-12)
        return
    np.testing.assert_allclose(ratio, factor, rtol=1e-6)
    assert np.isfinite(a.bse).all(axis=None)


@pytest.mark.parametrize("K", [2, 4])
def test_from_formula(K):
    y, X = data(250, K, 2, 8)
    t = X.drop(columns="const").assign(y=y, g=np.random.default_rng(1).choice(list("abc"), len(y)))
    formula = "y ~ x1 * x2 + g"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = sm.MNLogit.from_formula(formula, t).fit(disp=0, method="newton", tol=1e-14)
    ours = MNLogit.from_formula(formula, t).fit()
    assert list(ours.params.index) == list(theirs.params.index)
    close(ours.params, theirs.params)
    close(ours.bse, theirs.bse)
    assert ours.df_model == theirs.df_model
    close(ours.predict(t.head(9)), theirs.predict(t.head(9)))


def test_without_a_constant():
    y, X = data(250, 3, 2, 9)
    X = X.drop(columns="const")
    ours, theirs = MNLogit(y, X).fit(), sm.MNLogit(y, X).fit(disp=0, method="newton", tol=1e-14)
    close(ours.params, theirs.params)
    close(ours.bse, theirs.bse)
    close(ours.llf, theirs.llf)
    assert ours.model.k_constant == 0
    assert ours.df_model == 4
