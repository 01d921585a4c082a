"""Live comparison with statsmodels on random data of many shapes, wherever statsmodels is right.

Where it is not, or means something else, nothing is compared here:

- Probit clips probabilities at 2e-16: data with a linear predictor beyond 8 on the wrong side have another maximum.
- cov_type HC1, HC2 and HC3 of Logit, Probit and GLM are HC0 under another name.
- GLM's IRLS reports the expected information: its standard errors are compared with cov_type="expected".
- The null model without a constant: statsmodels fits a constant all the same, so that llnull, llr and prsquared are
  those of models that are not nested. Ours has eta = offset, as R's null deviance.
- freq_weights are known to GLM alone, and its `nobs` is the number of rows.
- Logit and Probit take any numbers in [0, 1] without saying so and report model-based standard errors for fractions.
- fittedvalues of Logit and Probit are linear predictors, without the offset.
- resid_response of GLM is m times ours for counts, and resid_working m^2 times, which is not the working residual of
  the fit; ours are R's.
"""

import functools
import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import glmclf

# statsmodels' Newton stops at a change of 1e-12 in the parameters, and inverting the Hessian loses a few digits
RTOL, ATOL = 1e-7, 1e-9

MODELS = {"Logit": (glmclf.Logit, sm.Logit), "Probit": (glmclf.Probit, sm.Probit)}
GLM_LINKS = {name: getattr(sm.families.links, name) for name in ("Logit", "Probit", "CLogLog")}
# rows, regressors without the constant, whether there is a constant, seed
SHAPES = [
    *[(10, 1, True, 0), (14, 1, False, 1), (30, 2, True, 2), (60, 4, True, 3), (100, 1, True, 4), (100, 3, False, 5)],
    *[(250, 6, True, 6), (500, 8, False, 7), (1000, 11, True, 8), (3000, 12, True, 9), (40, 0, True, 10)],
    (300, 3, True, 11),
]


def draw(n, k, constant, seed):
    """A design with numbers on several scales, correlated, and 0/1 columns; a response of both kinds."""
    generator = np.random.default_rng(1000 + seed)
    X = generator.normal(size=(n, k)) @ (np.eye(k) + 0.3)
    X[:, 2::3] = (X[:, 2::3] > 0.2).astype(float)
    X[:, 3::4] *= 20
    beta = generator.normal(size=k) * 0.6 / np.maximum(X.std(axis=0) * np.sqrt(k), 1e-9)
    X = np.column_stack([np.ones(n), X]) if constant else X
    beta = np.r_[-0.2, beta] if constant else beta
    while True:
        y = (generator.random(n) < 1 / (1 + np.exp(-1.3 * X @ beta))).astype(float)
        if 2 < y.sum() < n - 2:
            return X, y, generator


@functools.cache
def pair(name, shape, offset=False):
    """The two fits of the same data, and the groups of rows."""
    X, y, generator = draw(*shape)
    extra = {"offset": generator.normal(size=len(y)) * 0.4} if offset else {}
    groups = generator.integers(0, max(3, len(y) // 6), len(y))
    ours, theirs = MODELS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sm_model = theirs(y, X, **extra)
        sm_fit = {"disp": 0, "method": "newton", "maxiter": 200, "tol": 1e-12}
        fits = (
            sm_model.fit(**sm_fit),
            sm_model.fit(cov_type="HC0", **sm_fit),
            sm_model.fit(cov_type="cluster", cov_kwds={"groups": groups}, **sm_fit),
        )
    assert fits[0].mle_retvals["converged"]
    return ours(y, X, **extra).fit(), fits, groups


CASES = [
    (name, shape, offset)
    for name in MODELS
    for shape in SHAPES
    for offset in (False, True)
    if not offset or shape[0] in (60, 100, 1000)
]


def case_id(case):
    name, (n, k, constant, _), offset = case
    return f"{name}-n{n}-k{k}{'' if constant else '-noconst'}{'-offset' if offset else ''}"


@pytest.fixture(params=CASES, ids=case_id)
def fits(request):
    return *pair(*request.param), request.param


def same(ours, theirs, what="", rtol=RTOL, atol=ATOL):
    np.testing.assert_allclose(
        np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float), rtol=rtol, atol=atol, err_msg=what
    )


def test_numbers(fits):
    ours, (theirs, *_), _, (_, (_, _, constant, _), _) = fits
    names = ["params", "bse", "tvalues", "pvalues", "llf", "aic", "bic", "nobs", "df_resid"]
    if constant:
        names += ["llnull", "llr", "llr_pvalue", "prsquared", "df_model"]
    if ours.df_model == 0:
        names = [n for n in names if n not in ("llr_pvalue", "llr", "prsquared")]
    for name in names:
        same(getattr(ours, name), getattr(theirs, name), name)
    for alpha in (0.05, 0.2):
        same(ours.conf_int(alpha), theirs.conf_int(alpha), "conf_int")
    same(ours.cov_params(), theirs.cov_params(), "cov_params")
    for crit in ("aic", "bic"):
        same(ours.info_criteria(crit, dk_params=1), theirs.info_criteria(crit, dk_params=1), crit)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("offset", [False, True])
def test_null_model_without_a_constant(name, offset):
    """eta = offset: R's null deviance. statsmodels fits a constant, which is not nested in this model."""
    ours, (theirs, *_), _ = pair(name, (100, 3, False, 5), offset)
    same(ours.llnull, theirs.model.loglike(np.zeros(3)), "llnull")
    same(ours.llr, 2 * (ours.llf - ours.llnull))
    assert ours.df_model == 3 and ours.llr >= 0


def test_rows(fits):
    ours, (theirs, *_), _, _ = fits
    same(ours.fittedvalues, theirs.predict(), "probabilities")
    same(ours.predict(which="linear"), theirs.predict(which="linear"), "linear")
    same(ours.predict(which="var"), theirs.predict(which="var"), "var")
    for name in ("resid_response", "resid_pearson", "resid_dev", "resid_generalized"):
        same(getattr(ours, name), getattr(theirs, name), name, atol=1e-7)
    same(ours.pred_table(), theirs.pred_table(), "pred_table")


def test_likelihood_at_other_parameters(fits):
    ours, (theirs, *_), _, _ = fits
    params = np.asarray(ours.params) * 0.9 + 0.02
    for name in ("loglike", "loglikeobs", "score", "score_obs", "score_factor", "hessian", "hessian_factor"):
        if hasattr(theirs.model, name):
            same(getattr(ours.model, name)(params), getattr(theirs.model, name)(params), name, rtol=1e-9)


@pytest.mark.filterwarnings("ignore:.*Few clusters")
def test_robust(fits):
    ours, (_, hc0, cluster), groups, _ = fits
    for theirs, robust in [(hc0, ours.with_cov("HC0")), (cluster, ours.with_cov("cluster", groups=groups))]:
        for name in ("params", "bse", "tvalues", "pvalues"):
            same(getattr(robust, name), getattr(theirs, name), name)
        same(robust.cov_params(), theirs.cov_params(), "cov_params")
        same(robust.conf_int(), theirs.conf_int(), "conf_int")
    refit = ours.model.fit(cov_type="cluster", cov_kwds={"groups": groups})
    same(refit.bse, cluster.bse)


@pytest.mark.filterwarnings("ignore:.*Few clusters")
def test_hypotheses(fits):
    ours, theirs, groups, _ = fits
    p = len(ours.params)
    R = np.eye(p)[: min(p, 3)]
    pairs = [(ours, theirs[0]), (ours.with_cov("HC0"), theirs[1]), (ours.with_cov("cluster", groups=groups), theirs[2])]
    for a, b in pairs:
        one, two = a.t_test(R), b.t_test(R)
        for name in ("effect", "sd", "tvalue", "pvalue"):
            same(np.ravel(getattr(one, name)), np.ravel(getattr(two, name)), f"t_test {name}")
        same(one.conf_int(), two.conf_int(), "t_test conf_int")
        check_wald(a, b, R, use_f=False)
    for a, b in pairs[:2]:
        check_wald(a, b, R, use_f=True)
        one, two = a.f_test((R, np.full(len(R), 0.1))), b.f_test((R, np.full(len(R), 0.1)))
        same(one.fvalue, two.fvalue, "f_test")
        same(one.pvalue, two.pvalue, "f_test pvalue")
        assert one.df_num == two.df_num and one.df_denom == two.df_denom


def check_wald(a, b, R, use_f):
    one, two = a.wald_test(R, use_f=use_f), b.wald_test(R, use_f=use_f, scalar=True)
    same(one.statistic, two.statistic, "wald statistic")
    same(one.pvalue, two.pvalue, "wald pvalue")


@pytest.mark.filterwarnings("ignore:.*Few clusters")
@pytest.mark.parametrize("name", MODELS)
def test_f_tests_count_clusters(name):
    """The denominator of F after clustering has G - 1 degrees of freedom: n - p of them would claim too much."""
    ours, theirs, groups = pair(name, (100, 1, True, 4))
    check_wald(ours.with_cov("cluster", groups=groups), theirs[2], np.eye(2), use_f=True)
    one, two = (
        ours.with_cov("cluster", groups=groups).t_test(np.eye(2), use_t=True),
        theirs[2].t_test(np.eye(2), use_t=True),
    )
    same(one.pvalue, two.pvalue, "t_test pvalue")


def test_new_rows(fits):
    ours, (theirs, *_), _, (_, shape, offset) = fits
    X = draw(*shape)[0][::-1][:7]
    extra = {"offset": np.linspace(-1, 1, len(X))} if offset else {}
    same(ours.predict(X, **extra), theirs.predict(X, **extra), "mean")
    same(ours.predict(X, which="linear", **extra), theirs.predict(X, which="linear", **extra), "linear")
    if not offset:
        mine, his = ours.get_prediction(X).summary_frame(), theirs.get_prediction(X).summary_frame()
        same(mine, his, "mean, with limits transformed from the linear predictor")
        line, his = ours.get_prediction(X, which="linear"), theirs.get_prediction(X, which="linear")
        same(line.summary_frame(), his.summary_frame(), "linear interval")


# ----------------------------------------------------------------------------------------------------------- GLM
def glm_data(kind, seed):
    generator = np.random.default_rng(seed)
    n = int(generator.integers(40, 200))
    X = np.column_stack([np.ones(n), generator.normal(size=(n, 2)), generator.integers(0, 2, n)])
    p = 1 / (1 + np.exp(-(X @ [-0.6, 0.7, -0.4, 0.5])))
    m = generator.integers(1, 30, n)
    y = generator.binomial(m, p) if kind == "counts" else generator.binomial(1, p)
    endog = np.column_stack([y, m - y]).astype(float) if kind == "counts" else y.astype(float)
    weights = generator.integers(1, 6, n).astype(float) if kind == "freq_weights" else None
    offset = generator.normal(size=n) * 0.5 if kind == "offset" else None
    return endog, X, {k: v for k, v in {"freq_weights": weights, "offset": offset}.items() if v is not None}


@functools.cache
def glm_pair(name, kind, seed):
    endog, X, extra = glm_data(kind, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sm.GLM(endog, X, family=sm.families.Binomial(GLM_LINKS[name]()), **extra)
        theirs = model.fit(tol=1e-14, maxiter=200)
    return getattr(glmclf, name)(endog, X, **extra).fit(), theirs


GLM_CASES = [
    (name, kind, seed)
    for name in GLM_LINKS
    for kind in ("binary", "counts", "freq_weights", "offset")
    for seed in (1, 2)
]


@pytest.fixture(params=GLM_CASES, ids=lambda case: "-".join(map(str, case)))
def glm_fits(request):
    return *glm_pair(*request.param), request.param[1]


def test_glm_numbers(glm_fits):
    ours, theirs, kind = glm_fits
    expected = ours.with_cov("expected")
    for name in ("params", "bse", "tvalues", "pvalues"):
        same(getattr(expected, name), getattr(theirs, name), name, rtol=1e-6)
    same(expected.cov_params(), theirs.cov_params(), "cov_params", rtol=1e-6)
    for name in ("llf", "llnull", "aic", "deviance", "null_deviance", "df_model", "df_resid"):
        same(getattr(ours, name), getattr(theirs, name), name)
    same(ours.bic, theirs.bic_llf, "bic")
    if kind != "freq_weights":
        same(ours.nobs, theirs.nobs)
    same(ours.fittedvalues, theirs.fittedvalues, "fittedvalues")


def test_glm_residuals(glm_fits):
    ours, theirs, _ = glm_fits
    m = 1.0 if ours.model._rows.trials is None else ours.model._rows.trials
    same(ours.resid_response * m, theirs.resid_response, "resid_response", rtol=1e-6, atol=1e-7)
    same(ours.resid_working * m * m, theirs.resid_working, "resid_working", rtol=1e-6, atol=1e-7)
    for name, his in [("resid_pearson", "resid_pearson"), ("resid_dev", "resid_deviance")]:
        same(getattr(ours, name), getattr(theirs, his), name, rtol=1e-6, atol=1e-7)
    weights = ours.model._rows.weights
    squares = np.square(ours.resid_pearson)
    same(squares.sum() if weights is None else weights @ squares, theirs.pearson_chi2, "pearson_chi2")


def test_glm_robust(glm_fits):
    """The sandwich of the observed information; under frequency weights that of the expanded rows."""
    ours, theirs, _ = glm_fits
    model = theirs.model
    same(ours.with_cov("HC0").bse, model.fit(cov_type="HC0", tol=1e-14, maxiter=200).bse, "HC0", rtol=1e-6)


def test_glm_predictions(glm_fits):
    """Means with delta-method errors, and limits transformed from the linear predictor."""
    ours, theirs, kind = glm_fits
    X = ours.model.exog[:9] * 0.9
    extra = {"offset": np.zeros(9)} if kind == "offset" else {}
    mine = ours.with_cov("expected").get_prediction(X, **extra).summary_frame()
    his = theirs.get_prediction(X, **extra).summary_frame()
    for column, name in [
        ("predicted", "mean"),
        ("se", "mean_se"),
        ("ci_lower", "mean_ci_lower"),
        ("ci_upper", "mean_ci_upper"),
    ]:
        same(mine[column], his[name], name, rtol=1e-6)


@pytest.mark.parametrize("name", GLM_LINKS)
def test_glm_observed_information(name):
    """GLM's Newton reports the observed information, our default."""
    endog, X, _ = glm_data("counts", 5)
    theirs = sm.GLM(endog, X, family=sm.families.Binomial(GLM_LINKS[name]())).fit(
        method="newton", tol=1e-12, maxiter=200, disp=0
    )
    ours = getattr(glmclf, name)(endog, X).fit()
    same(ours.params, theirs.params, rtol=1e-6)
    same(ours.bse, theirs.bse, rtol=1e-5)


@pytest.mark.parametrize("name", GLM_LINKS)
def test_frequency_weights_are_repeated_rows_to_statsmodels_too(name):
    """Ours with weights against statsmodels' GLM on the expanded rows, nobs and BIC included."""
    endog, X, extra = glm_data("freq_weights", 8)
    repeat = extra["freq_weights"].astype(int)
    theirs = sm.GLM(
        np.repeat(endog, repeat), np.repeat(X, repeat, axis=0), family=sm.families.Binomial(GLM_LINKS[name]())
    )
    theirs = theirs.fit(tol=1e-14, maxiter=200)
    ours = getattr(glmclf, name)(endog, X, **extra).fit(cov_type="expected")
    for a, b in [
        ("params", "params"),
        ("bse", "bse"),
        ("llf", "llf"),
        ("nobs", "nobs"),
        ("bic", "bic_llf"),
        ("df_resid", "df_resid"),
    ]:
        same(getattr(ours, a), getattr(theirs, b), a, rtol=1e-6)


# ------------------------------------------------------------------------------------------------------- formulas
FORMULAS = [
    "y ~ x + g",
    "y ~ x * g",
    "y ~ 0 + g + x",
    "y ~ C(h, Treatment(2)) + np.log(z)",
    "y ~ C(g, Sum) + I(x**2) + x",
    "y ~ bs(z, df=4) + g:h",
    "y ~ center(x) + standardize(z) + g * C(h)",
]


@pytest.fixture(scope="module")
def frame():
    generator = np.random.default_rng(77)
    n = 400
    table = pd.DataFrame(
        {
            "x": generator.normal(size=n),
            "z": generator.gamma(2.0, size=n) + 0.1,
            "g": generator.choice(["a", "b", "c"], n),
            "h": generator.integers(1, 4, n),
        }
    )
    eta = 0.4 * table.x - 0.2 * table.z + 0.5 * (table.g == "b") + 0.2 * table.h - 0.4
    return table.assign(y=(generator.random(n) < 1 / (1 + np.exp(-eta))).astype(int))


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("name", MODELS)
def test_formulas(name, formula, frame):
    ours = MODELS[name][0].from_formula(formula, frame).fit()
    theirs = MODELS[name][1].from_formula(formula, frame).fit(disp=0, method="newton", maxiter=200, tol=1e-12)
    assert list(ours.params.index) == list(theirs.params.index)
    for number in ("params", "bse", "pvalues", "llf", "aic", "bic"):
        same(getattr(ours, number), getattr(theirs, number), number, rtol=1e-6)
    new = frame.iloc[5:25]
    same(ours.predict(new), theirs.predict(new), "predict")
    if "Intercept" in ours.params:
        same(ours.prsquared, theirs.prsquared)
        mine, his = ours.wald_test_terms().table, theirs.wald_test_terms(scalar=True).table
        assert list(mine.index) == list(his.index)
        same(mine["pvalue"], his["pvalue"], "wald_test_terms", rtol=1e-6)
    hypothesis = (
        f"{ours.params.index[1]} = 0" if ":" not in ours.params.index[1] and "[" not in ours.params.index[1] else None
    )
    if hypothesis and "(" not in hypothesis:
        same(ours.t_test(hypothesis).pvalue, theirs.t_test(hypothesis).pvalue, "t_test by name")
