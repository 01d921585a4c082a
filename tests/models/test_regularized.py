"""fit_regularized and fit_regularized_cv: reference values, identities, and what penalised results say and refuse."""

import io
import json
import pickle
import warnings
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
import references
from properties.toys import MODELS, close, make, toy
from scipy import sparse

import glmclf
from glmclf import Logit, MNLogit
from glmclf.core.design import pieces
from glmclf.core.design.factor import FactorColumns
from glmclf.core.fit import warm_start
from glmclf.core.likelihood.objective import MultinomialObjective
from glmclf.core.penalised import problem as penalised
from glmclf.errors import CollinearityWarning, ConvergenceWarning, DataWarning, EstimationError, InferenceWarning
from glmclf.models import penalized as regularized
from glmclf.models.penalty_options import penalty_options
from glmclf.results.regression.penalized import (
    RegularizedBinaryResults,
    RegularizedMultinomialResults,
    RegularizedResults,
)
from glmclf.results.requires import Needs, needs_of

# The reference has 15 digits. A coefficient that is small beside its posterior sd (skin: 0.03 of it) keeps 11.
DIGITS = 11
PENALISED = references.names("ridge", ("Logit", "MNLogit")) + references.names("elastic_net", ("Logit",))
FOUR = [*MODELS, "MNLogit"]
four = pytest.mark.parametrize("model", FOUR)
kinds = pytest.mark.parametrize("L1_wt", [0.0, 0.5, 1.0])
PIMA = "type ~ npreg + glu + bp + skin + bmi + ped + age"
IRIS = "species ~ sepal_length + sepal_width + petal_length + petal_width"
COUNTS = "won + lost ~ x1 + x2 + g"

# R 4.2.2, glmnet 4.1-6, standardize=FALSE, thresh=1e-16, maxit=1e7, the last of three lambdas; right to 7 digits:
# glmnet(X, species, family="multinomial", alpha=0, lambda=c(1,.1,.01))
SOFTMAX_RIDGE = [
    [9.064408931880, 2.161915856582, -11.226324788462],
    [-0.415830492231, 0.438399029988, -0.022568537757],
    [0.823862323251, -0.347881928053, -0.475980395197],
    [-2.246510817783, -0.148649642351, 2.395160460134],
    [-0.949190222678, -0.781726954582, 1.730917177260],
]
# the same with alpha=.5, lambda=c(1,.1,.02)
SOFTMAX_NET = [
    [8.215130040233, 2.60035804209212, -10.81548808233],
    [0.0, 0.00358673330653, 0.0],
    [0.256655713900, 0.0, 0.0],
    [-2.245781797305, 0.0, 2.19870227675],
    [-0.344012447843, -0.13537294411774, 1.47938539196],
]
# glmnet(X, type == "Yes", weights=rep(c(1,2,.5,3), 50), family="binomial", alpha=.5, lambda=c(1,.5,.1))
WEIGHTED = [-8.28752371778, 0.0803876861934, 0.0294371692135, 0, 0.00177005885, 0.075897344097, 0, 0.0263095709]
# cv.glmnet(X, y, family="binomial", alpha=.5, lambda=, foldid=(0:199) %% 5 + 1, type.measure="deviance", thresh=1e-14)
CV = {
    2.00: (1.044968580657, 0.00961852560158, 2),
    1.00: (1.014296266945, 0.02086220393117, 3),
    0.50: (0.996612535950, 0.03582179811984, 4),
    0.20: (0.996345297459, 0.04429243876349, 5),
    0.10: (1.001360327057, 0.04792015734528, 6),
    0.05: (1.006348446764, 0.04760098455373, 5),
    0.01: (0.987169392561, 0.03649420598511, 7),
}


# R 4.2.2, glmnet 4.1-6, thresh=1e-20: glmnet(X, y, family="binomial", alpha=L1_wt, lambda=c(.1,.05,.02,.01,.005),
# standardize=FALSE), X and y of `many_columns`: coefficients that are not 0 and the sum of their absolute values, with
# the intercept, by lambda; then the intercept and the coefficients of columns 2, 5, 30 and 60 at the last.
MANY = {
    1.0: (
        [2, 4, 12, 25, 42],
        [0.47145579062, 1.04429303831, 2.46027664616, 4.25135742294, 6.41635825212],
        [-0.0819089435391, 1.0716383682331, -0.8990062612887, 0.4163778306874, -0.0823765213897],
    ),
    0.5: (
        [5, 11, 26, 44, 50],
        [0.802980419763, 1.796742796993, 3.787903080030, 5.824508491271, 7.731354984018],
        [-0.0825217875577, 1.0934113707435, -0.9273436231560, 0.4447908085982, -0.1156302308800],
    ),
}
# glmnet(X, factor(1 + (i * 104729) %% 3), family="multinomial", lambda=c(.02,.01,.005)): slopes of each class
MANY_BY_CLASS = (
    [[2, 0, 0], [2, 2, 0], [8, 2, 1]],
    [[0.191223006699, 0, 0], [0.366878260068, 0.0587340612394, 0], [0.515059665089, 0.1296110405512, 0.025655728874]],
)


def many_columns():
    """i = 1, ..., 300, and 60 columns round(10 sin(i sqrt(j)) + 3 sin(i sqrt(2))) / 10 beside a constant."""
    i, j = np.arange(1, 301), np.arange(1, 61)
    X = np.round(10 * np.sin(i[:, None] * np.sqrt(j)) + 3 * np.sin(i * np.sqrt(2))[:, None]) / 10
    y = (i * 7919) % 13 + 3 * X[:, 1] - 2 * X[:, 4] + X[:, 29] > 6
    return i, y.astype(float), np.column_stack([np.ones(300), X])


def pima():
    return references.reference("pima_tr__logit_ridge")[1]


def iris():
    return references.reference("iris__mnlogit_ridge")[1]


def model_of(name, data=None, **keywords):
    """A model of the toy data; MNLogit of three classes."""
    data = toy() if data is None else data
    return make(name, "g ~ x1 + x2 + h" if name == "MNLogit" else "y ~ x1 + x2 + g", data, **keywords)


def quiet(model, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return model.fit_regularized(*args, **options)


# ------------------------------------------------------------------------------------------------ reference values
@pytest.mark.parametrize("name", PENALISED)
def test_reference(name):
    case, data = references.reference(name)
    options, values = case["keywords"]["fit_regularized"], case["values"]
    model = getattr(glmclf, case["model"]).from_formula(case["formula"], data, **references.model_keywords(case))
    res = quiet(model, **options)
    expected = references.labelled(values["params"]) if case["model"] == "Logit" else pd.DataFrame(values["params"])
    found = res.params if case["model"] == "Logit" else res.params.loc[expected.index, expected.columns]
    assert references.digits(found, expected).min() >= DIGITS
    assert references.digits(res.llf, values["llf_at_estimate"]) >= 13
    assert references.digits(-res.llf_penalized / res.nobs, values["objective"]) >= 13
    assert res.mle_retvals["kkt"] < 1e-8


@pytest.mark.parametrize(("options", "expected"), [((0.01, 0.0), SOFTMAX_RIDGE), ((0.02, 0.5), SOFTMAX_NET)])
def test_softmax_of_glmnet(options, expected):
    res = quiet(MNLogit.from_formula(IRIS, iris()), *options, symmetric=True)
    assert list(res.params.columns) == ["setosa", "versicolor", "virginica"]
    close(res.params, expected, 1e-7, 1e-7)
    np.testing.assert_array_equal(res.params == 0, np.array(expected) == 0)
    assert abs(res.params.loc["Intercept"].sum()) < 1e-10


def test_sampling_weights_of_glmnet():
    w = np.tile([1.0, 2.0, 0.5, 3.0], 50)
    close(quiet(Logit.from_formula(PIMA, pima(), weights=w), 0.1, L1_wt=0.5).params, WEIGHTED, 1e-7, 1e-9)


def test_cross_validation_of_glmnet():
    model = Logit.from_formula(PIMA, pima())
    found = model.fit_regularized_cv(folds=np.arange(200) % 5 + 1, alphas=list(CV), L1_wt=0.5)
    close(found.cv[["deviance", "se", "nonzero"]], list(CV.values()), 1e-7)
    assert (found.alpha_min, found.alpha_1se, found.alpha) == (0.01, 1.0, 1.0)
    assert found.result.alpha == 1.0 and len(found.result.selected) == 3
    close(found.at(0.2).params, quiet(model, 0.2, L1_wt=0.5).params, 1e-9)


def test_grid_of_glmnet():
    model = Logit.from_formula(PIMA, pima())
    lasso, ridge = (model.fit_regularized(alphas="auto", L1_wt=w).alphas for w in (1.0, 0.0))
    close(lasso[:2], [7.1702, 6.5332191939], 1e-10)
    close(ridge[[0, 1, -1]], [7170.2, 6533.2191939, 0.7170200], 1e-10)
    assert len(lasso) == len(ridge) == 100


@pytest.mark.parametrize("L1_wt", MANY)
def test_path_of_many_columns_of_glmnet(L1_wt):
    _, y, X = many_columns()
    nonzero, sizes, last = MANY[L1_wt]
    path = Logit(y, X).fit_regularized(alphas=[0.1, 0.05, 0.02, 0.01, 0.005], L1_wt=L1_wt)
    B = path.params.to_numpy()
    assert (B != 0).sum(axis=1).tolist() == nonzero
    close(np.abs(B).sum(axis=1), sizes, 1e-9)
    close(B[-1, [0, 2, 5, 30, 60]], last, 1e-9)


def test_softmax_path_of_many_columns_of_glmnet():
    i, _, X = many_columns()
    model = MNLogit(1 + (i * 104729) % 3, X)
    path = model.fit_regularized(alphas=[0.02, 0.01, 0.005], L1_wt=1.0, symmetric=True)
    B = path.params.to_numpy().reshape(3, 3, 61)[:, :, 1:]
    assert (B != 0).sum(axis=2).tolist() == MANY_BY_CLASS[0]
    close(np.abs(B).sum(axis=2), MANY_BY_CLASS[1], 1e-8, 1e-11)


def test_many_columns_of_which_none_is_needed():
    """Without a free column the first fit of a path has no coefficient at all."""
    i, y, X = many_columns()
    path = Logit(y, X[:, 1:]).fit_regularized(alphas="auto", L1_wt=1.0)
    assert path.nonzero.iloc[0] == 0 and path.nonzero.iloc[-1] > 40 and path.converged.all()
    assert not Logit(y, X[:, 1:]).fit_regularized(5.0, L1_wt=1.0).params.any()
    other = MNLogit(1 + i % 3, X).fit_regularized(5.0, L1_wt=1.0, penalize_intercept=True, symmetric=True)
    assert not other.params.any(axis=None)


@pytest.mark.parametrize("keywords", [{}, {"weights": "w"}, {"freq_weights": "w"}, {"offset": "o"}])
@four
def test_optimality_on_paths_of_many_columns(model, keywords):
    """From one to nearly sixty columns, as a path and with a penalty of its own for each, one without."""
    i, y, X = many_columns()
    y = 1 + (i * 104729) % 3 + (X[:, 2] > 0.8) if model == "MNLogit" else y
    given = {"w": 1 + (i * 31) % 4, "o": np.cos(i)}
    m = getattr(glmclf, model)(y, X, **{name: given[value] for name, value in keywords.items()})
    n = 300 if not keywords or "offset" in keywords else given["w"].sum()
    ones, factor = np.append(0.0, np.ones(60)), 1 + np.arange(61) % 3 / 2
    factor[[0, 7]] = 0

    def nonzero(b, alpha, L1_wt):
        """Nonzero coefficients of a fit that meets the conditions."""
        b = b.reshape(-1, 61)
        s = m.score(b.ravel()).reshape(b.shape) / n - alpha * (1 - L1_wt) * b
        lasso = alpha * L1_wt
        off = np.where(b != 0, np.abs(s - lasso * np.sign(b)), np.maximum(np.abs(s) - lasso, 0))
        assert off.max() < 1e-9
        return (b != 0).any(axis=0).sum()

    for L1_wt in (1.0, 0.7):
        path = m.fit_regularized(alphas=0.1 * 0.25 ** np.arange(4), L1_wt=L1_wt)
        found = [nonzero(b, alpha * ones, L1_wt) for alpha, b in zip(path.alphas, path.params.to_numpy(), strict=True)]
        assert found[0] < 10 and found[-1] > 48 and sorted(found) == found
        for alpha in (0.05, 0.01):
            wanted = alpha * factor if model != "MNLogit" else np.outer(alpha * factor, np.ones(m.J - 1))
            res = quiet(m, wanted, L1_wt)
            nonzero(res.params.to_numpy().ravel(order="F"), alpha * factor, L1_wt)


def log_likelihood(name, eta, y):
    """By mpmath-free definitions, for an optimiser of another package."""
    from scipy.special import log_expit, log_ndtr

    if name == "Logit":
        return np.where(y, log_expit(eta), log_expit(-eta))
    if name == "Probit":
        return np.where(y, log_ndtr(eta), log_ndtr(-eta))
    return np.where(y, np.log(-np.expm1(-np.exp(eta))), -np.exp(eta))


@pytest.mark.parametrize("name", MODELS)
def test_ridge_is_where_scipy_finds_it(name):
    from scipy.optimize import minimize

    t, model = toy(), model_of(name)
    X, y = model.exog, (t.y == "yes").to_numpy()

    def loss(b):
        return -log_likelihood(name, X @ b, y).mean() + 0.5 * 0.03 * b[1:] @ b[1:]

    found = minimize(loss, np.zeros(X.shape[1]), method="BFGS", options={"gtol": 1e-9})
    res = quiet(model, 0.03)
    close(res.params, found.x, 1e-5, 1e-6)
    assert -res.llf_penalized / 160 <= found.fun + 1e-13


# ------------------------------------------------------------------------------------------------------ optimality
@kinds
@four
def test_optimality_under_every_input(model, L1_wt):
    """score = N alpha ((1 - L1_wt) b + L1_wt sign(b)), N rows, weights or trials, within 1e-8 of N."""
    inputs = [({}, 160), ({"freq_weights": "times"}, toy().times.sum()), ({"weights": "sw"}, toy().sw.sum())]
    for keywords, n in [*inputs, ({"offset": "off"}, 160)]:
        m = model_of(model, **keywords)
        alpha = 0.1 if model == "MNLogit" else 0.02
        res = quiet(m, alpha, L1_wt=L1_wt)
        b, s = res.params.to_numpy(), m.score(res.params).reshape(res.params.shape, order="F") / n
        ridge, lasso = alpha * (1 - L1_wt), alpha * L1_wt
        assert np.abs(s[0]).max() < 1e-8
        used = b[1:] != 0
        assert np.abs(s[1:] - ridge * b[1:] - lasso * np.sign(b[1:]))[used].max(initial=0) < 1e-8
        assert (np.abs(s[1:][~used]) <= lasso + 1e-8).all()


@four
def test_optimality_on_small_designs_of_whole_numbers(model):
    """Ties, separation and collinear columns, with penalties over eight orders of magnitude."""
    for seed in range(25):
        rng = np.random.default_rng(seed)
        n, classes = int(rng.integers(5, 13)), 3 if model == "MNLogit" else 2
        X = np.column_stack([np.ones(n), rng.integers(-2, 3, (n, 4))])
        X = np.column_stack([X, 2 * X[:, 1], X[:, 1] + X[:, 2]]).astype(float)
        y = np.arange(n) % classes
        m, alpha, L1_wt = getattr(glmclf, model)(y, X), 10 ** rng.uniform(-7, 0.5), rng.choice([0.0, 0.3, 1.0])
        b = quiet(m, alpha, L1_wt).params.to_numpy().reshape(7, -1)
        s = m.score(b.ravel(order="F")).reshape(7, -1, order="F") / n
        rest, lasso = s[1:] - alpha * (1 - L1_wt) * b[1:], alpha * L1_wt
        used = b[1:] != 0
        off = np.where(used, np.abs(rest - lasso * np.sign(b[1:])), np.maximum(np.abs(rest) - lasso, 0))
        assert max(off.max(), np.abs(s[0]).max()) < 1e-8, seed


@pytest.mark.parametrize("model", MODELS)
def test_counts_and_fractions(model):
    t = toy()
    counts = quiet(make(model, COUNTS, t), 0.02)
    long = pd.concat([t.assign(y=1).loc[t.index.repeat(t.won)], t.assign(y=0).loc[t.index.repeat(t.lost)]])
    rows = quiet(make(model, "y ~ x1 + x2 + g", long), 0.02)
    close(counts.params, rows.params, 1e-9)
    close(counts.bse, rows.bse, 1e-9)
    assert counts.k_params_effective == pytest.approx(rows.k_params_effective, rel=1e-9)
    m = make(model, "share ~ x1 + x2 + g", t)
    res = quiet(m, 0.02, L1_wt=0.5)
    assert np.isnan(res.aic) and np.isnan(res.bse).all()
    assert np.abs(m.score(res.params)[0]) < 1e-8


# ------------------------------------------------------------------------------------------------------ identities
@kinds
@four
def test_frequency_weights_are_repeated_rows(model, L1_wt):
    t = toy()
    a = quiet(model_of(model, freq_weights="times"), 0.02, L1_wt=L1_wt)
    b = quiet(model_of(model, t.loc[t.index.repeat(t.times)].reset_index(drop=True)), 0.02, L1_wt=L1_wt)
    for name in ("params", "bse", "llf", "llf_penalized", "aic", "bic", "df_model", "df_resid", "k_params_effective"):
        close(getattr(a, name), getattr(b, name), 1e-9)
    close(a.pred_table(), b.pred_table())


@kinds
@four
def test_units_of_a_regressor_with_its_alpha(model, L1_wt):
    """x / u with ridge alpha / u^2 and lasso alpha / u is the same fit."""
    u, t = 1e4, toy()
    if L1_wt == 0.5:
        pytest.skip("the two parts of an elastic net scale apart")
    power = 2 if L1_wt == 0 else 1
    names = model_of(model).exog_names
    alpha = pd.Series(0.02, index=names).where(np.array(names) != "Intercept", 0.0)
    a = quiet(model_of(model), alpha, L1_wt=L1_wt)
    b = quiet(model_of(model, t.assign(x1=t.x1 * u)), alpha.where(alpha.index != "x1", 0.02 * u**power), L1_wt=L1_wt)
    close(a.params.loc["x1"], b.params.loc["x1"] * u, 1e-8)
    close(a.llf, b.llf, 1e-12)
    close(a.params.drop("x1"), b.params.drop("x1"), 1e-8)
    close(a.k_params_effective, b.k_params_effective, 1e-8)


@four
def test_alpha_0_is_maximum_likelihood(model):
    m = model_of(model)
    ml = m.fit()
    for L1_wt in (0.0, 1.0):
        for alpha, rtol in ((0.0, 1e-10), (1e-10, 1e-6)):
            res = quiet(m, alpha, L1_wt=L1_wt)
            close(res.params, ml.params, rtol)
            close(res.llf, ml.llf, 1e-12)
    res = quiet(m, 0.0)
    close(res.bse, ml.bse, 1e-9)
    assert (res.df_model, res.aic) == pytest.approx((ml.df_model, ml.aic), rel=1e-12)


@four
def test_a_large_alpha_is_the_null_model(model):
    m = model_of(model)
    lasso, ridge = quiet(m, 100.0, L1_wt=1.0), quiet(m, 1e9)
    assert not len(lasso.selected) and (lasso.params.iloc[1:].to_numpy() == 0).all()
    assert lasso.df_model == 0 and lasso.llf == pytest.approx(lasso.llnull, rel=1e-13)
    assert np.abs(ridge.params.iloc[1:].to_numpy()).max() < 1e-8
    assert ridge.df_model == pytest.approx(0, abs=1e-6) and ridge.llf == pytest.approx(ridge.llnull, rel=1e-6)


@four
def test_order_of_rows_and_threads_do_not_matter(model):
    t = toy()
    a, b = quiet(model_of(model), 0.02, L1_wt=0.5), quiet(model_of(model, t.sample(frac=1, random_state=3)), 0.02, 0.5)
    close(a.params, b.params, 1e-9)
    c = quiet(model_of(model), 0.02, 0.5, n_threads=2, start_params=np.full(a.params.size, 0.3))
    close(a.params, c.params, 1e-9)


@kinds
def test_another_reference_leaves_the_symmetric_fit(L1_wt):
    t, f = toy(), "g ~ x1 + x2 + h"
    fits = [quiet(MNLogit.from_formula(f, t, reference=r), 0.01, L1_wt, symmetric=True) for r in "abc"]
    for other in fits[1:]:
        close(other.params, fits[0].params, 1e-8, 1e-10)
        close(other.predict(), fits[0].predict(), 1e-8)
        close(other.bse, fits[0].bse, 1e-8)
        close(other.k_params_effective, fits[0].k_params_effective, 1e-8)
    if L1_wt == 0:
        close(fits[1].get_prediction().summary_frame(), fits[0].get_prediction().summary_frame(), 1e-8)
    plain = [quiet(MNLogit.from_formula(f, t, reference=r), 0.01, L1_wt) for r in "ab"]
    assert np.abs(plain[0].predict() - plain[1].predict()).to_numpy().max() > 1e-6


def test_two_classes():
    """b1 = -b0 = b/2 of symmetric classes: the logit with half the ridge; with the lasso |b0| + |b1| = |b|."""
    t = toy()
    mn = make("MNLogit", "y ~ x1 + x2 + g", t)
    ridge, half = quiet(mn, 0.02, symmetric=True), quiet(model_of("Logit"), 0.01)
    close(ridge.params["yes"] - ridge.params["no"], half.params, 1e-9)
    close(ridge.predict()["yes"], half.predict(), 1e-10)
    close(ridge.params["yes"], -ridge.params["no"], 1e-9)
    assert ridge.k_params_effective == pytest.approx(half.k_params_effective, rel=1e-9)
    lasso, same = quiet(mn, 0.02, 1.0, symmetric=True), quiet(model_of("Logit"), 0.02, 1.0)
    close(lasso.params["yes"] - lasso.params["no"], same.params, 1e-8)
    reference = quiet(mn, 0.02)
    close(reference.params["yes"], quiet(model_of("Logit"), 0.02).params, 1e-10)


def test_alpha_by_name_and_by_place():
    m = model_of("Logit")
    by_name = quiet(m, {"x1": 0.1, "g[T.b]": 0.3})
    names = m.exog_names
    array = np.array([{"x1": 0.1, "g[T.b]": 0.3}.get(n, 0.0) for n in names])
    for alpha in (array, list(array), pd.Series(array, index=names)[::-1]):
        close(quiet(m, alpha).params, by_name.params, 1e-12)
    assert isinstance(by_name.alpha, pd.Series) and by_name.alpha["x1"] == 0.1 and by_name.alpha["x2"] == 0
    mn = model_of("MNLogit")
    table = pd.DataFrame(0.05, index=mn.exog_names, columns=["b", "c"])
    table.loc["Intercept"] = 0.0
    close(quiet(mn, table).params, quiet(mn, 0.05).params, 1e-12)
    close(quiet(mn, table.to_numpy()).params, quiet(mn, 0.05).params, 1e-12)
    table["c"] = 0.0
    res = quiet(mn, table[["c", "b"]])
    s = mn.score(res.params).reshape(-1, 2, order="F") / 160
    close(s[:, 1], 0, atol=1e-10)
    close(s[1:, 0], 0.05 * res.params["b"].iloc[1:], 1e-8)


def test_intercept():
    m = model_of("Logit")
    res = quiet(m, 0.5, penalize_intercept=True)
    close(m.score(res.params) / 160, 0.5 * res.params, 1e-9)
    assert "The intercept has a penalty" in str(res.summary())
    zero = quiet(m, 10.0, 1.0, penalize_intercept=True)
    assert (zero.params == 0).all() and zero.df_model == 0 == zero.k_params_effective
    none = quiet(make("Logit", "y ~ x1 - 1", toy()), 0.1)
    assert "no intercept" in str(none.summary())
    with pytest.warns(DataWarning, match="span a constant, but none is one"):
        spanned = make("Logit", "y ~ 0 + g + x1", toy()).fit_regularized(0.1)
    assert "span a constant" in str(spanned.summary()).replace("\n    ", " ")


# ------------------------------------------------------------------------------------------ collinear and separated
def test_collinear_columns_are_kept():
    t = toy().assign(x3=lambda t: t.x1, x4=lambda t: t.x1 + t.x2)
    m = make("Logit", "y ~ x1 + x2 + x3 + x4", t)
    ridge = quiet(m, 0.05)
    close(ridge.params["x1"], ridge.params["x3"], 1e-9)  # what is alike shares
    close(m.score(ridge.params)[1:] / 160, 0.05 * ridge.params[1:], 1e-8)
    assert ridge.bse.notna().all()
    lasso = quiet(m, 0.01, 1.0)
    s = m.score(lasso.params) / 160
    assert (np.abs(s[1:]) <= 0.01 + 1e-9).all() and s[0] == pytest.approx(0, abs=1e-9)
    kept = [m.exog_names.index(n) for n in ["Intercept", *lasso.selected]]
    assert np.linalg.matrix_rank(m.exog[:, kept]) == len(kept)


@pytest.mark.parametrize("symmetric", [False, True])
def test_combinations_of_collinear_columns_that_are_estimable(symmetric):
    t = toy().assign(x3=lambda t: 2 * t.x1)
    with pytest.warns(CollinearityWarning):
        res = make("MNLogit", "g ~ x1 + x3 + x2", t).fit_regularized({"x2": 0.1}, symmetric=symmetric)
    rest = quiet(make("MNLogit", "g ~ x1 + x2", t), {"x2": 0.1}, symmetric=symmetric)
    few = np.zeros((2, len(rest._theta)))
    few[0, 1] = few[1, 4] = 1.0
    many = np.zeros((2, len(res._theta)))
    many[0, 1:3] = many[1, 5:7] = 1.0, 2.0  # both columns as they move together
    close(res.cov_params(many), rest.cov_params(few), 1e-9)
    with pytest.raises(ValueError, match='not estimable.*"x3"'):
        res.cov_params(many != 0)


def test_a_refit_says_what_was_not_selected():
    with pytest.warns(InferenceWarning):
        res = make("Logit", "y ~ x1 + x2 + g", toy()).fit_regularized(0.1, 1.0, refit=True)
    alone = make("Logit", "y ~ x1", toy()).fit()
    assert list(res.selected) == ["x1"] and res.params["x2"] == 0
    close(res.t_test("x1 = 1").pvalue, alone.t_test("x1 = 1").pvalue, 1e-8)
    with pytest.raises(ValueError, match="about x2, which was not selected"):
        res.t_test("x1 = x2")


def test_collinear_columns_without_penalty_are_left_out():
    t = toy().assign(x3=lambda t: 2 * t.x1)
    m = make("MNLogit", "g ~ x1 + x3 + x2", t)
    with pytest.warns(CollinearityWarning, match='"x3" = 2 \\* x1'):
        res = m.fit_regularized({"x2": 0.1})
    rest = quiet(make("MNLogit", "g ~ x1 + x2", t), {"x2": 0.1})
    assert res.params.loc["x3"].isna().all() and res.bse.loc["x3"].isna().all()
    close(res.params.drop("x3"), rest.params, 1e-10)
    close(res.bse.drop("x3"), rest.bse, 1e-10)
    close(res.predict(), rest.predict(), 1e-10)
    close([res.aic, res.df_model, res.df_resid], [rest.aic, rest.df_model, rest.df_resid], 1e-10)
    assert "(omitted)" in str(res.summary())
    with pytest.warns(CollinearityWarning, match='"x3"'):
        symmetric = m.fit_regularized({"x2": 0.1}, symmetric=True)
    close(symmetric.params.drop("x3").sum(axis=1), 0, atol=1e-10)
    assert symmetric.params.loc["x3"].isna().all()


@pytest.mark.parametrize("model", FOUR)
@pytest.mark.parametrize("L1_wt", [0.0, 1.0])
def test_separated_data_have_a_penalised_estimate(model, L1_wt):
    t = toy()
    t["s"] = (t.y == "yes") + 0.01 * t.x1
    m = make(model, "y ~ s + x1", t)
    for alpha in (0.05, 1e-8):
        res = quiet(m, alpha, L1_wt)
        assert res.converged and np.isfinite(res.params.to_numpy()).all() and res.mle_retvals["kkt"] < 1e-10
    with pytest.raises(glmclf.errors.PerfectSeparationError, match='"s"'):
        m.fit_regularized(0.0, L1_wt)
    with pytest.raises(glmclf.errors.PerfectSeparationError, match="have no penalty"):
        m.fit_regularized({"x1": 1.0}, L1_wt)


@pytest.mark.parametrize("L1_wt", [0.0, 1.0])
def test_separation_by_free_columns_is_named_where_the_information_is_singular(L1_wt):
    m = make("MNLogit", "g ~ s + x2", toy().assign(s=lambda t: (t.g == "a") * 1.0))
    for told in ({"alpha": {"x2": 0.01}}, {"alpha": {"x2": 1.0}, "alphas": [0.1, 0.01]}):
        with pytest.raises(glmclf.errors.PerfectSeparationError, match='"s"'):
            m.fit_regularized(L1_wt=L1_wt, **told)


# ------------------------------------------------------------------------------------------------- what results say
def test_ridge_results():
    m = model_of("Logit", offset="off")
    res = quiet(m, 0.05)
    information = -m.hessian(res.params)
    R = np.diag([0.0, *[8.0] * 4])  # N alpha
    V = np.linalg.inv(information + R)
    close(res.posterior_sd, np.sqrt(np.diag(V)), 1e-10)
    close(res.bse, res.posterior_sd)
    close(res.cov_params(), V, 1e-10)
    edf = np.trace(information @ V)
    assert (res.k_params_effective, res.df_model, res.df_resid) == pytest.approx((edf, edf - 1, 160 - edf), rel=1e-10)
    assert res.aic == pytest.approx(-2 * res.llf + 2 * edf) and res.bic == pytest.approx(
        -2 * res.llf + np.log(160) * edf
    )
    assert res.llf_penalized == pytest.approx(res.llf - 160 * 0.05 / 2 * (res.params[1:] ** 2).sum(), rel=1e-13)
    close(res.conf_int(0.1), np.column_stack([res.params + s * 1.6448536269514722 * res.bse for s in (-1, 1)]), 1e-9)
    prediction = res.get_prediction(which="linear").summary_frame()
    close(prediction.se, np.sqrt(np.einsum("ij,jk,ik->i", m.exog, V, m.exog)), 1e-9)
    assert prediction.index.equals(toy().index)
    assert list(res.summary_frame().columns) == ["coef", "std err", "Conf. Int. Low", "Conf. Int. Upp."]
    assert res.tidy().statistic.isna().all() and res.tidy().std_error.notna().all()
    close(res.odds_ratios(units={"x1": 2})["odds ratio"]["x1 (per 2)"], np.exp(2 * res.params["x1"]))
    assert {".fitted", ".se_fit", ".resid"} <= set(res.augment().columns)
    assert res.cov_type == "posterior" and res.alpha == 0.05 and res.L1_wt == 0 and not res.refitted
    text = str(res.summary())
    assert all(w in text for w in ("Ridge", "post. sd", "alpha = 0.05", "Eff. parameters", "4 of 4"))
    assert "P>|z|" not in text


def test_symmetric_ridge_has_the_posterior_of_its_coding():
    """Slopes of all levels are parameters; the intercepts' common shift, which nothing determines, is taken off."""
    m = model_of("MNLogit")
    res = quiet(m, 0.05, symmetric=True)
    D = np.kron([[-1, 1, 0], [-1, 0, 1]], np.eye(4))
    R = np.diag(np.tile([0.0, *[8.0] * 3], 3))
    A = D.T @ -m.hessian(np.asarray(D @ res.params.to_numpy().ravel(order="F"))) @ D + R
    V = np.linalg.pinv(A)
    close(res.cov_params(), V, 1e-8, 1e-10)
    assert res.k_params_effective == pytest.approx(np.trace((A - R) @ V), rel=1e-8)
    variance = np.einsum("ij,jk,ik->i", m.exog, (D @ V @ D.T)[:4, :4], m.exog)
    close(res.get_prediction(which="linear").se["b"] ** 2, variance)
    assert list(res.params.columns) == ["a", "b", "c"] and "symmetric coding" in str(res.summary())
    assert res.selected.nlevels == 2 and len(res.selected) == 9


def test_lasso_results():
    res = quiet(model_of("Logit"), 0.05, 1.0)
    assert list(res.selected) == list(res.params.index[1:][res.params[1:] != 0]) and 0 < len(res.selected) < 4
    assert res.df_model == len(res.selected) and res.k_params_effective == res.df_model + 1
    assert res.bse.isna().all() and res.posterior_sd.isna().all()
    for call in (res.conf_int, res.cov_params, res.get_prediction):
        with pytest.raises(NotImplementedError, match="L1_wt=1"):
            call()
    assert list(res.summary_frame().columns) == ["coef"] and list(res.odds_ratios().columns) == ["odds ratio"]
    assert {".fitted", ".resid"} <= set(res.augment().columns)
    text = str(res.summary())
    assert "post. sd" not in text and "no p-values after selection" in text and "Lasso" in text
    mn = quiet(model_of("MNLogit"), 0.02, 1.0)
    assert mn.df_model == len(mn.selected) == (mn.params.iloc[1:] != 0).to_numpy().sum()
    assert {".fitted_a", ".class", ".resid"} <= set(mn.augment().columns)


def test_effective_parameters_of_an_elastic_net():
    m = model_of("Logit")
    res = quiet(m, 0.12, 0.5)
    A = [0, *[m.exog_names.index(n) for n in res.selected]]
    information = -m.hessian(res.params)[np.ix_(A, A)]
    R = np.diag([0.0, *[160 * 0.06] * (len(A) - 1)])
    assert 0 < len(A) - 1 < 4
    assert res.k_params_effective == pytest.approx(np.trace(information @ np.linalg.inv(information + R)), rel=1e-10)


@four
def test_refit(model):
    m = model_of(model)
    alpha = {"MNLogit": 0.015, "Probit": 0.12}.get(model, 0.06)
    lasso = quiet(m, alpha, 1.0)
    with pytest.warns(InferenceWarning, match="ignore that the same data selected them"):
        res = m.fit_regularized(alpha, 1.0, refit=True)
    used = lasso.params.to_numpy().ravel(order="F") != 0
    used[:: len(m.exog_names)] = True
    theta, s = res.params.to_numpy().ravel(order="F"), m.score(res.params)
    assert np.abs(s[used]).max() < 1e-8 and (theta[~used] == 0).all()
    V = np.linalg.inv(m.information(res.params)[np.ix_(used, used)])
    close(np.asarray(res.bse).ravel(order="F")[used], np.sqrt(np.diag(V)), 1e-9)
    assert np.asarray(res.tvalues).size == theta.size and res.cov_type == "nonrobust" and res.refitted
    assert res.aic == pytest.approx(-2 * res.llf + 2 * used.sum()) and res.df_model == lasso.df_model
    first = res._param_names[np.flatnonzero(used)[0]]
    assert res.t_test(f"{first} = 0").sd.ravel()[0] == pytest.approx(np.sqrt(V[0, 0]), rel=1e-9)
    with pytest.raises(ValueError, match="not selected"):
        res.wald_test(np.eye(len(theta))[~used][:1])
    with pytest.raises(AttributeError, match="refit"):
        _ = res.llf_penalized
    assert "refit" in str(res.summary())
    if model == "Logit":
        names = [n for n in lasso.selected if not n.startswith("g")]
        dummies = "".join(f" + I(g == '{n[-2]}')" for n in lasso.selected if n.startswith("g"))
        plain = Logit.from_formula("y ~ " + " + ".join(names) + dummies, toy()).fit()
        close(np.sort(res.params[res.params != 0]), np.sort(plain.params), 1e-9)
        close(res.llf, plain.llf, 1e-12)


# ---------------------------------------------------------------------------------------------------------- refusals
# what only a maximum of the likelihood has, and what its refit has as well
OF_A_MAXIMUM = {
    *("llr", "llr_pvalue", "compare_lr_test", "anova", "wald_test_terms", "score_test", "linktest", "compare_vuong"),
    *("gof_test", "information_matrix_test", "get_influence", "with_cov", "rebase", "level_contrasts", "combine_test"),
    *("iia_test", "equations", "hauck_donner", "constraint_test", "digits", "refit"),
    "score_bootstrap_test",
}
AFTER_REFIT = {"tvalues", "pvalues", "t_test", "wald_test", "f_test", "nonlinear_test", "t_test_pairwise"}


def names_that_need(result, *needs):
    return {n for n in dir(result) if not n.startswith("_") and {*(needs_of(result, n) or ())} & {*needs}}


@pytest.mark.parametrize("results", [RegularizedBinaryResults, RegularizedMultinomialResults])
def test_what_is_refused(results):
    several = {"rebase", "level_contrasts", "combine_test", "iia_test", "equations"}
    absent = set() if results is RegularizedMultinomialResults else several
    assert names_that_need(results, Needs.MAXIMUM, Needs.MLE) == OF_A_MAXIMUM - absent
    assert names_that_need(results, Needs.TESTS) - OF_A_MAXIMUM == AFTER_REFIT


@four
def test_refusals_name_what_is_asked(model):
    res = quiet(model_of(model), 0.05)
    for name in [n for n in (*OF_A_MAXIMUM, *AFTER_REFIT) if hasattr(type(res), n)]:
        with pytest.raises(NotImplementedError, match=f"{name} of a penalised fit"):
            thing = getattr(res, name)
            thing() if name not in AFTER_REFIT else thing("x1 = 0")
    with pytest.raises(NotImplementedError, match="compare_lr_test with a penalised fit"):
        model_of(model).fit().compare_lr_test(res)
    with pytest.raises(NotImplementedError, match="profile"):
        res.conf_int(method="profile")


@four
def test_refusals_of_a_refit_have_words_of_their_own(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)
        res = model_of(model).fit_regularized(0.015, 1.0, refit=True)
    for name in [n for n in OF_A_MAXIMUM if hasattr(type(res), n)]:
        with pytest.raises(NotImplementedError, match=f"{name} of a refit after selection"):
            getattr(res, name)()
    with pytest.raises(NotImplementedError, match='profile.*refit.*there is "wald"'):
        res.conf_int(method="profile")


def test_methods_of_intervals():
    m = model_of("Logit")
    ridge, lasso = m.fit_regularized(0.1), m.fit_regularized(0.01, 1.0)
    for res, words in ((ridge, 'there is "wald"'), (lasso, "it has no intervals")):
        for name in ("conf_int", "summary_frame", "odds_ratios"):
            with pytest.raises(NotImplementedError, match=f"{name}.*profile.*penalised fit: {words}"):
                getattr(res, name)(method="profile")
            with pytest.raises(ValueError, match="method='foo'"):
                getattr(res, name)(method="foo")


def test_pseudo_likelihoods_have_no_posterior():
    res = quiet(model_of("Logit", weights="sw"), 0.05)
    assert res.bse.isna().all() and np.isnan(res.aic) and 1 < res.k_params_effective < 5
    twice = quiet(model_of("Logit", toy().assign(sw=lambda t: 2 * t.sw), weights="sw"), 0.05)
    close(twice.params, res.params, 1e-10)  # the unit of the weights does not matter
    close(twice.k_params_effective, res.k_params_effective, 1e-10)
    with pytest.raises(NotImplementedError, match="sampling weights"):
        res.get_prediction()
    assert res.predict().notna().all() and "pseudo-likelihood" in str(res.summary())


# ----------------------------------------------------------------------------------------- predicting and keeping
@kinds
@four
def test_saved_pickled_and_without_data(model, L1_wt, tmp_path):
    t = toy()
    res = quiet(model_of(model), 0.03, L1_wt, symmetric=model == "MNLogit")
    res.save(tmp_path / "res.json")
    loaded, pickled, small = glmclf.load(tmp_path / "res.json"), *(pickle.loads(pickle.dumps(res)) for _ in range(2))
    small.remove_data()
    for other in (loaded, pickled, small):
        assert isinstance(other, RegularizedResults)
        close(other.params, res.params, 0, 0)
        close(other.bse, res.bse, 1e-14)
        close(other.predict(t.head(7)), res.predict(t.head(7)), 1e-13)
        for name in ("llf", "llf_penalized", "aic", "bic", "df_model", "df_resid", "alpha", "L1_wt", "symmetric"):
            assert getattr(other, name) == getattr(res, name), name
        assert list(other.selected) == list(res.selected)
        lines = [[x for x in str(r.summary()).splitlines() if not x.startswith(("Date", "Time"))] for r in (other, res)]
        assert lines[0] == lines[1]
        if L1_wt == 0:
            close(other.get_prediction(t.head(7)).summary_frame(), res.get_prediction(t.head(7)).summary_frame(), 1e-12)


@four
def test_new_rows_missing_rows_and_numbers_by_row(model):
    t = toy()
    t.loc[3, "x1"] = np.nan
    res = quiet(model_of(model, t), 0.05)
    assert res.nobs == 159 and 3 not in res.fittedvalues.index
    new = t.head(5)
    p = res.predict(new)
    assert np.isnan(p.loc[3]).all() and p.drop(index=3).notna().all().all()
    assert res.pred_table().to_numpy().sum() == 159
    squares = (res.resid_dev**2).to_numpy().sum()
    assert res.deviance == pytest.approx(squares, rel=1e-10)
    assert len(res.simulate(2, seed=1)) == 159 and res.prsquared > 0
    assert res.glance().aic[0] == res.aic and res.pseudo_rsquared()["McFadden"] == pytest.approx(res.prsquared)


def test_nothing_passed_in_is_changed():
    t, alpha = toy(), pd.Series({"x1": 0.2, "x2": 0.1})
    before, grid = t.copy(), [0.1, 1.0]
    m = model_of("Logit", t)
    m.fit_regularized(alpha)
    m.fit_regularized(alphas=grid)
    pd.testing.assert_frame_equal(t, before)
    assert alpha.tolist() == [0.2, 0.1] and grid == [0.1, 1.0]


# ------------------------------------------------------------------------------------------------------------ paths
@kinds
@four
def test_path(model, L1_wt):
    m, symmetric = model_of(model), model == "MNLogit"
    path = m.fit_regularized(alphas=[0.01, 0.1, 0.03], L1_wt=L1_wt, symmetric=symmetric)
    assert list(path) == list(path.alphas) == [0.1, 0.03, 0.01] and len(path) == 3
    for alpha in path:
        res = quiet(m, alpha, L1_wt, symmetric=symmetric)
        close(path.params.loc[alpha], res.params.to_numpy().ravel(order="F"), 1e-8, 1e-11)
        close(path[alpha].params, res.params, 1e-8, 1e-11)
        assert path.llf[alpha] == pytest.approx(res.llf, rel=1e-11)
        assert path.edf[alpha] == pytest.approx(res.k_params_effective, rel=1e-8)
        assert path.nonzero[alpha] == len(res.selected)
    close(path.at(0.02).params, quiet(m, 0.02, L1_wt, symmetric=symmetric).params, 1e-8, 1e-11)
    assert (np.diff(path.llf) >= 0).all() and path.converged.all()
    assert list(path.table().columns) == ["llf", "edf", "nonzero", "converged"] and "of 3 fits" in repr(path)
    with pytest.raises(KeyError, match="at\\(\\)"):
        path[0.02]
    again = pickle.loads(pickle.dumps(path))
    close(again.params, path.params)


@kinds
@four
def test_a_path_that_ends_without_a_penalty(model, L1_wt):
    """alpha = 0 leaves collinear columns out and centres what is free, as a fit of its own does."""
    symmetric = model == "MNLogit"
    m = make(model, f"{'g' if symmetric else 'y'} ~ x1 + I(2*x1 + 1) + x2", toy())
    with pytest.warns(CollinearityWarning):
        path = m.fit_regularized(alphas=[0.02, 0.0], L1_wt=L1_wt, symmetric=symmetric)
    with pytest.warns(CollinearityWarning):
        res = m.fit_regularized(0.0, L1_wt=L1_wt, symmetric=symmetric)
    with pytest.warns(CollinearityWarning):
        last = path[0.0]
    expected = res.params.to_numpy().ravel(order="F")
    close(path.params.loc[0.0], expected, 1e-9, 1e-12)
    close(last.params, res.params, 1e-9, 1e-12)
    assert path.edf[0.0] == last.k_params_effective == res.k_params_effective == (6 if symmetric else 3)
    close(path.params.loc[0.02], quiet(m, 0.02, L1_wt, symmetric=symmetric).params.to_numpy().ravel("F"), 1e-9, 1e-12)
    with pytest.warns(CollinearityWarning):
        chosen = m.fit_regularized_cv(4, seed=1, alphas=[0.02, 0.0], L1_wt=L1_wt, symmetric=symmetric)
    plain = make(model, f"{'g' if symmetric else 'y'} ~ x1 + x2", toy())
    cv = plain.fit_regularized_cv(4, seed=1, alphas=[0.02, 0.0], L1_wt=L1_wt, symmetric=symmetric).cv
    close(chosen.cv.loc[0.0, ["deviance", "se", "edf"]], cv.loc[0.0, ["deviance", "se", "edf"]], 1e-9)


@four
def test_a_start_far_off(model):
    m = model_of(model)
    far, usual = np.full(len(m._param_names), 8.0 if model == "CLogLog" else 30.0), m.fit_regularized(0.05)
    res = m.fit_regularized(0.05, start_params=far)
    close(res.params, usual.params, 1e-9)
    path = m.fit_regularized(alphas=[0.05], start_params=far)
    close(path.params.iloc[0], usual.params.to_numpy().ravel(order="F"), 1e-9)


@kinds
@pytest.mark.parametrize("symmetric", [False, True])
def test_degrees_of_freedom_where_columns_span_a_constant(L1_wt, symmetric):
    """From those of maximum likelihood to 0; of a ridge less those of a constant with the penalty of the columns."""
    m = make("MNLogit", "g ~ 0 + h", toy().assign(h=np.array(list("uuvw"))[np.arange(160) % 4]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        fits = [m.fit_regularized(a, L1_wt, symmetric=symmetric) for a in (0.0, 1e-3, 0.05, 0.3, 50.0)]
    df = [f.df_model for f in fits]
    assert df[0] == pytest.approx(m.df_model) and df[-1] == pytest.approx(0, abs=0.01) and min(df) >= 0
    assert all(0 <= f.k_params_effective - f.df_model <= 3 for f in fits)
    if L1_wt == 0:
        assert (np.diff(df) < 0).all()


def test_a_constant_with_the_penalty_of_its_columns():
    t = toy().assign(h=np.array(list("uuvw"))[np.arange(160) % 4])
    m = make("Logit", "y ~ 0 + h", t)
    with pytest.warns(DataWarning):
        res = m.fit_regularized(0.2)
    w = np.asarray(res.fittedvalues) * (1 - np.asarray(res.fittedvalues))
    sums = pd.Series(w).groupby(np.asarray(t.h)).sum().to_numpy()
    ridge = 0.2 * len(t)
    expected = (sums / (sums + ridge)).sum() - sums.sum() / (sums.sum() + 3 * ridge)
    assert res.df_model == pytest.approx(expected, rel=1e-10)
    assert glmclf.load(io.StringIO(text(res))).df_model == res.df_model


def test_selected_columns_that_span_no_constant_lose_none():
    t = toy().assign(h=np.array(list("uuvw"))[np.arange(160) % 4])
    with pytest.warns(DataWarning):
        path = [make("Logit", "y ~ 0 + h + x1", t).fit_regularized(a, 1.0) for a in (1e-4, [0.5, 0.01, 0.01, 0.01])]
    assert (path[0].params != 0).all() and path[0].df_model == 3
    assert path[1].params.filter(like="h").eq(0).any()
    assert path[1].df_model == (path[1].params != 0).sum()


def text(res):
    file = io.StringIO()
    res.save(file)
    return file.getvalue()


def test_a_symmetric_summary_has_no_reference():
    m = model_of("MNLogit")
    assert "Reference:" in str(m.fit_regularized(0.1).summary())
    assert "Reference:" not in str(m.fit_regularized(0.1, symmetric=True).summary())


def test_automatic_grid_begins_where_all_slopes_are_0():
    path = model_of("MNLogit").fit_regularized(alphas="auto", L1_wt=1.0)
    assert path.nonzero.iloc[0] == 0 and path.nonzero.iloc[2] > 0 and len(path) == 100
    close(path.alphas[-1] / path.alphas[0], 1e-4, 1e-10)
    wide = np.random.default_rng(1).normal(size=(20, 30))
    short = Logit(np.tile([0, 1], 10), np.column_stack([np.ones(20), wide])).fit_regularized(alphas="auto", L1_wt=1.0)
    close(short.alphas[-1] / short.alphas[0], 1e-2, 1e-10)
    assert short.nonzero.max() <= 20 and short.converged.all()


# ---------------------------------------------------------------------------------------------------------- folds
@pytest.mark.parametrize("keywords", [{}, {"freq_weights": "times"}, {"weights": "sw"}, {"offset": "off"}])
@four
def test_cross_validation_by_hand(model, keywords):
    """Folds by label: the deviance of each under the fit to the others."""
    t, alphas = toy(), [0.3, 0.03]
    found = model_of(model, **keywords).fit_regularized_cv(np.arange(160) % 3, alphas=alphas)
    weight = t[keywords.get("freq_weights", keywords.get("weights"))] if keywords and "offset" not in keywords else None
    for g in range(3):
        out = np.arange(160) % 3 == g
        train, test = model_of(model, t[~out], **keywords), t[out]
        for alpha in alphas:
            p = quiet(train, alpha).predict(test)
            p = p.to_numpy()[np.arange(len(test)), [*map("abc".index, test.g)]] if model == "MNLogit" else np.where(
                test.y == "yes", p, 1 - p
            )
            w = np.ones(len(test)) if weight is None else weight[out]
            close(found.deviances.loc[alpha, g], -2 * (w * np.log(p)).sum() / w.sum(), 1e-9)
            close(found.fold_sizes[g], w.sum(), 1e-12)


@pytest.mark.parametrize("model", ["Logit", "MNLogit"])
def test_seeded_folds(model):
    m, options = model_of(model, freq_weights="times"), {"alphas": [0.3, 0.01], "L1_wt": 0.5}
    a, b, c = (m.fit_regularized_cv(5, seed=s, **options) for s in (4, 4, 5))
    pd.testing.assert_frame_equal(a.deviances, b.deviances)
    assert not a.deviances.equals(c.deviances)
    assert a.fold_sizes.sum() == toy().times.sum() and np.ptp(a.fold_sizes) <= 1  # rows are split
    assert a.rule == "1se" and a.alpha == a.alpha_1se >= a.alpha_min
    least = m.fit_regularized_cv(5, seed=4, rule="min", **options)
    assert least.alpha == least.alpha_min == least.result.alpha and "5 folds" in repr(least)


def test_counts_are_dealt_as_single_observations():
    m = make("Probit", COUNTS, toy())
    found = m.fit_regularized_cv(4, seed=2, alphas=[0.1])
    assert found.fold_sizes.sum() == toy().trials.sum() and np.ptp(found.fold_sizes) <= 1
    share = make("Logit", "share ~ x1 + x2", toy()).fit_regularized_cv(4, seed=2, alphas=[0.1])
    assert share.fold_sizes.tolist() == [40.0] * 4


def test_folds_by_a_column_and_missing_rows():
    t = toy().assign(part=lambda t: t.h)
    t.loc[5, "x1"] = np.nan
    m = model_of("CLogLog", t)
    a = m.fit_regularized_cv("part", alphas=[0.1])
    b = m.fit_regularized_cv(t.part, alphas=[0.1])
    c = m.fit_regularized_cv(t.part.to_numpy(), alphas=[0.1])
    assert list(a.deviances.columns) == ["left", "right"]
    for other in (b, c):
        close(other.deviances, a.deviances)


def test_a_fit_that_is_stopped_says_so():
    m = model_of("Logit")
    with pytest.warns(ConvergenceWarning, match="not a maximum"):
        res = m.fit_regularized(0.01, 1.0, maxiter=1)
    assert not res.converged and "NOT a maximum" in str(res.summary())
    with pytest.warns(ConvergenceWarning, match="of 2 fits"):
        m.fit_regularized(alphas=[0.1, 0.001], maxiter=0)


def test_progress_is_printed_when_asked_for(capsys):
    model_of("Logit").fit_regularized(0.1, disp=True)
    assert "iteration   1" in capsys.readouterr().out


def test_text_file():
    file = io.StringIO()
    res = quiet(model_of("Logit"), 0.1)
    res.save(file)
    file.seek(0)
    close(glmclf.load(file).params, res.params, 0, 0)


# ------------------------------------------------------------------- columns that are far from 0, or almost collinear
SHIFTS = [40.0, 20_240_101.0, 1.7e9]
shifts = pytest.mark.parametrize("shift", SHIFTS)
R60 = np.random.default_rng(1)
Z60 = np.round(R60.normal(size=(60, 3)) * 64) / 64  # a shift by whole numbers is exact
Y60 = (R60.random(60) < 1 / (1 + np.exp(-Z60[:, 0]))).astype(float)
C60 = R60.choice(3, 60)
# R 4.2.2, glmnet(Z + 2e7, y, family="binomial", lambda=.05, standardize=FALSE, thresh=1e-14), to its 9 digits
GLMNET = [0.281496640, -0.172717430, 0.290034730]


def shifted(shift, order=(0, 1, 2, 3)):
    return np.column_stack([np.ones(60), Z60 + shift])[:, list(order)]


def pair(name, shift, order=(0, 1, 2, 3), **keywords):
    """The model with columns far from 0, and near."""
    y = C60 if name == "MNLogit" else Y60
    return [getattr(glmclf, name)(y, shifted(s, order), **keywords) for s in (shift, 0.0)]


def same_fit(far, near, slopes, rtol=1e-12):
    assert far.converged and near.converged
    close(np.asarray(far.params)[slopes], np.asarray(near.params)[slopes], rtol=rtol, atol=1e-14)
    close(np.asarray(far.bse)[slopes], np.asarray(near.bse)[slopes], rtol=rtol)
    close(far.predict(), near.predict(), rtol=rtol)
    close(far.k_params_effective, near.k_params_effective, rtol=rtol)
    assert far.llf == pytest.approx(near.llf, rel=1e-13)
    assert far.mle_retvals["kkt"] < 1e-14


@shifts
def test_a_lasso_of_shifted_columns_is_glmnets(shift):
    far = Logit(Y60, shifted(shift)).fit_regularized(0.05, L1_wt=1)
    close(far.params.iloc[1:], GLMNET, rtol=2e-9)


@four
@kinds
@shifts
def test_a_shift_changes_the_intercept_alone(model, L1_wt, shift):
    far, near = (m.fit_regularized(0.03, L1_wt=L1_wt) for m in pair(model, shift))
    same_fit(far, near, slice(1, None))
    if L1_wt == 0:
        for which in ("mean", "linear"):
            one, two = far.get_prediction(which=which), near.get_prediction(which=which)
            close(one.se, two.se, rtol=1e-12)
        # the intercept is that of the unshifted columns less what the shift takes
        less = np.asarray(far.params)[1:].sum(axis=0) * shift
        close(np.asarray(far.params)[0], np.asarray(near.params)[0] - less, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("order", [(1, 0, 2, 3), (1, 2, 3, 0)], ids=str)
@pytest.mark.parametrize("model", ["Logit", "MNLogit"])
def test_the_intercept_may_be_any_column(model, order):
    slopes = [i for i, j in enumerate(order) if j]
    for L1_wt in (0.0, 1.0):
        far, near = (m.fit_regularized(0.03, L1_wt=L1_wt) for m in pair(model, SHIFTS[2], order))
        same_fit(far, near, slopes)
        new = np.asarray(far.predict(shifted(SHIFTS[2], order)[:9]))
        close(new, near.predict(shifted(0.0, order)[:9]), rtol=1e-12)


@pytest.mark.parametrize(
    "keywords",
    [
        {"freq_weights": R60.integers(1, 4, 60)},
        {"weights": R60.random(60) + 0.2},
        {"offset": Z60[:, 1] * 0.5},
    ],
    ids=lambda k: next(iter(k)),
)
def test_shifted_columns_with_weights_and_offsets(keywords):
    for L1_wt in (0.0, 0.5):
        far, near = (m.fit_regularized(0.03, L1_wt=L1_wt) for m in pair("Logit", SHIFTS[2], **keywords))
        same_fit(far, near, slice(1, None))


@kinds
def test_shifted_columns_in_symmetric_and_partial_penalties(L1_wt):
    models = pair("MNLogit", SHIFTS[2])
    same_fit(*(m.fit_regularized(0.03, L1_wt=L1_wt, symmetric=True) for m in models), slice(1, None))
    partly = np.array([[0, 0], [0, 0.1], [0.1, 0.1], [0.2, 0.01]])
    same_fit(*(m.fit_regularized(partly, L1_wt=L1_wt) for m in models), slice(1, None))
    same_fit(*(m.fit_regularized([0, 0.05, 0.05, 0], L1_wt=L1_wt) for m in pair("Logit", 2e7)), slice(1, None))


@kinds
def test_free_coefficients_of_shifted_columns_add_up_to_0(L1_wt):
    """The columns are projected: the intercepts that come of it are those of columns near 0, centred again."""
    i, _, X = many_columns()
    near, far = (MNLogit(1 + (i * 104729) % 3, X[:, :6] + s * (np.arange(6) > 0)) for s in (0.0, 1e3))
    a, b = (m.fit_regularized(0.003, L1_wt, symmetric=True) for m in (near, far))
    slopes = a.params.iloc[1:]
    expected = a.params.iloc[0] - 1e3 * slopes.sum()
    close(b.params.iloc[1:], slopes, 1e-8, 1e-10)
    close(b.params.iloc[0], expected - expected.mean(), 1e-7)
    assert abs(b.params.iloc[0].sum()) < 1e-9
    if L1_wt == 0:
        R = np.eye(18)[[0, 6, 12]] - 1e3 * np.kron(np.eye(3), np.append(0.0, np.ones(5)))
        R -= R.mean(axis=0)
        at = np.ix_([0, 6, 12], [0, 6, 12])
        close(b.cov_params().to_numpy()[at], R @ a.cov_params().to_numpy() @ R.T, 1e-6, 1e-12)


@kinds
def test_paths_and_folds_of_shifted_columns(L1_wt):
    models = pair("Logit", SHIFTS[2])
    far, near = (m.fit_regularized(alphas="auto", L1_wt=L1_wt) for m in models)
    close(far.alphas, near.alphas, rtol=1e-12)
    close(far.params.to_numpy()[:, 1:], near.params.to_numpy()[:, 1:], rtol=1e-10, atol=1e-14)
    close(far.edf, near.edf, rtol=1e-11)
    assert far.converged.all()
    far, near = (m.fit_regularized_cv(np.arange(60) % 5, alphas=[0.1, 0.01], L1_wt=L1_wt) for m in models)
    close(far.cv, near.cv, rtol=1e-11)


def test_refit_and_combinations_of_shifted_columns():
    far, near = pair("Logit", SHIFTS[2])
    row = np.array([[1.0, 0.5, 0.25, -1.0]])
    away = row + np.array([0.0, 1.0, 1.0, 1.0]) * SHIFTS[2]
    with pytest.warns(InferenceWarning):
        one, two = (m.fit_regularized(0.05, L1_wt=1, refit=True) for m in (far, near))
    close(one.bse.iloc[1:], two.bse.iloc[1:], rtol=1e-12)
    close(two.params, near.fit().params, rtol=1e-10)  # all are selected
    close(one.t_test(away).effect, two.t_test(row).effect, rtol=1e-11)
    ridge = [m.fit_regularized(0.05) for m in (far, near)]
    close(ridge[0].cov_params(away), ridge[1].cov_params(row), rtol=1e-11)


def test_a_shifted_fit_survives_saving(tmp_path):
    far, near = (m.fit_regularized(0.03) for m in pair("Logit", SHIFTS[2], (1, 0, 2, 3)))
    far.save(tmp_path / "far.json")
    again = glmclf.load(tmp_path / "far.json")
    close(again.predict(shifted(SHIFTS[2], (1, 0, 2, 3))), near.predict(), rtol=1e-12)
    close(again.posterior_sd, far.posterior_sd, rtol=0, atol=0)


def test_dates_beside_a_factor_with_many_levels():
    rng = np.random.default_rng(3)
    g, x = rng.integers(0, 20, 20_000), np.round(rng.normal(size=20_000) * 64) / 64
    y = (rng.random(20_000) < 1 / (1 + np.exp(0.3 * x))).astype(int)
    table = pd.DataFrame({"y": y, "x": x, "day": x + 20_240_101, "g": g})
    for alpha in (0.002, {"x": 0.002}):
        for L1_wt in (0.0, 1.0):
            given = {"day": 0.002} if isinstance(alpha, dict) else alpha
            far = Logit.from_formula("y ~ day + C(g)", table).fit_regularized(given, L1_wt=L1_wt)
            near = Logit.from_formula("y ~ x + C(g)", table).fit_regularized(alpha, L1_wt=L1_wt)
            assert far.converged
            close(far.params.iloc[1:], near.params.iloc[1:], rtol=1e-11, atol=1e-13)


def in_many_digits(y, X, alpha, L1_wt=0.0, signs=None):
    """Estimate, posterior sd and effective degrees of freedom of a Logit penalised beside column 0; 60 digits.

    Of a lasso the estimate with the signs given, columns 1 on being those that are not 0.
    """
    mp = pytest.importorskip("mpmath")
    mp.mp.dps = 60
    n, p = X.shape
    A, b = mp.matrix(X.tolist()), mp.matrix(p, 1)
    Y, ridge = [mp.mpf(float(v)) for v in y], mp.diag([0] + [n * mp.mpf(alpha) * (1 - mp.mpf(L1_wt))] * (p - 1))
    lasso = mp.matrix([0, *(n * mp.mpf(alpha) * mp.mpf(L1_wt) * int(s) for s in signs or [0] * (p - 1))])
    for _ in range(60):
        q = [1 / (1 + mp.exp(-v)) for v in A * b]
        score = A.T * mp.matrix([a - m for a, m in zip(Y, q, strict=True)]) - ridge * b - lasso
        information = A.T * mp.diag([m * (1 - m) for m in q]) * A
        step = mp.lu_solve(information + ridge, score)
        b += step
        if (score.T * step)[0] < mp.mpf(10) ** -50:
            break
    V = (information + ridge) ** -1
    edf = mp.fsum((information * V)[j, j] for j in range(p))
    return np.array([float(v) for v in b]), np.array([float(mp.sqrt(V[j, j])) for j in range(p)]), float(edf)


@pytest.mark.parametrize(("degree", "alpha"), [(2, 0.1), (3, 1e-6), (4, 1e-12)])
def test_a_ridge_of_raw_polynomials(degree, alpha):
    x = np.round(np.linspace(990, 1010, 30), 2)
    y = (np.random.default_rng(1).random(30) < 1 / (1 + np.exp(-(x - 1000) / 5))).astype(float)
    X = x[:, None] ** np.arange(degree + 1.0)
    b, sd, edf = in_many_digits(y, X, alpha)
    res = Logit(y, X).fit_regularized(alpha)
    assert res.converged
    close(res.params, b, rtol=1e-12, atol=1e-14 * sd.min())
    close(res.posterior_sd, sd, rtol=1e-12)
    assert res.k_params_effective == pytest.approx(edf, rel=1e-13)
    reversed_ = Logit(y, X[:, ::-1]).fit_regularized(alpha)
    close(reversed_.params.to_numpy()[::-1], b, rtol=1e-12)


@pytest.mark.parametrize(
    ("degree", "alpha", "L1_wt"), [(3, 1e-6, 1.0), (4, 1e-6, 1.0), (3, 1e-4, 0.5), (4, 1e-4, 0.5), (4, 1e-4, 0.01)]
)
def test_a_lasso_and_an_elastic_net_of_raw_polynomials(degree, alpha, L1_wt):
    x = np.round(np.linspace(990, 1010, 40), 2)
    y = (np.random.default_rng(1).random(40) < 1 / (1 + np.exp(-(x - 1000) / 5))).astype(float)
    X = x[:, None] ** np.arange(degree + 1.0)
    res = Logit(y, X).fit_regularized(alpha, L1_wt=L1_wt)
    assert res.converged
    kept = np.flatnonzero(res.params.to_numpy())
    found = res.params.to_numpy()[kept]
    b, _, edf = in_many_digits(y, X[:, kept], alpha, L1_wt, np.sign(found[1:]).tolist())
    close(found, b, rtol=1e-10)  # one that is 1e-3 of its neighbours has three digits fewer
    assert res.k_params_effective == pytest.approx(edf if L1_wt < 1 else len(kept), rel=1e-10)
    # those at 0 belong there: their score, of the columns less their projections, is below the penalty
    rows = X - X.mean(axis=0)
    score = rows.T @ (y - np.asarray(res.predict()))
    assert (np.abs(score)[1:] <= 40 * alpha * L1_wt + 1e-9 * np.abs(rows).sum(axis=0)[1:])[
        res.params.to_numpy()[1:] == 0
    ].all()


@kinds
def test_a_loose_tolerance_is_reported(L1_wt):
    model = Logit(Y60, shifted(0.0))
    with pytest.warns(ConvergenceWarning, match="optimality conditions.*tol="):
        loose = model.fit_regularized(0.01, L1_wt=L1_wt, tol=100.0)
    assert not loose.converged and loose.mle_retvals["kkt"] > 1e-6


# ------------------------------------------------------------------------------------ ridges whose information waits
def waiting(monkeypatch, least=0):
    """Every ridge of MNLogit is fitted by gradients, and forms its information when it is asked for."""
    for owner, name in (
        (penalised, "MAX_INFORMATION_COST"),
        (warm_start, "MIN_INFORMATION_COST"),
        (warm_start, "MIN_ARITHMETIC"),
    ):
        monkeypatch.setattr(owner, name, 0.0)
    monkeypatch.setattr(penalised, "MAX_FACTORED_SIZE", least)
    asked, form = [], MultinomialObjective.information

    def information(*arguments):  # by its name, which pickles hold
        asked.append(arguments)
        return form(*arguments)

    monkeypatch.setattr(MultinomialObjective, "information", information)
    return asked


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("alpha", [0.03, {"x1": 0.1, "x2": 0.01}])
def test_standard_errors_on_demand(monkeypatch, symmetric, alpha):
    m = make("MNLogit", "g ~ x1 + x2 + h", toy())
    plain = m.fit_regularized(alpha, symmetric=symmetric)
    asked = waiting(monkeypatch)
    res = m.fit_regularized(alpha, symmetric=symmetric)
    before = len(asked)
    assert all(len(a) == 3 for a in asked)  # but of columns without a penalty
    assert res.converged and res.mle_retvals["method"] == "limited-memory BFGS"
    close(res.params, plain.params, 1e-8, 1e-9)
    close([res.llf, res.llf_penalized], [plain.llf, plain.llf_penalized], 1e-12)
    close(res.predict(), plain.predict(), 1e-9)
    assert len(asked) == before
    close(res.bse, plain.bse, 1e-8)
    close(res.cov_params(), plain.cov_params(), 1e-7, 1e-10)
    close([res.df_model, res.aic, res.bic], [plain.df_model, plain.aic, plain.bic], 1e-9)
    close(res.get_prediction().se, plain.get_prediction().se, 1e-7)
    assert len(asked) == before + 1
    shown = [str(r.summary()) for r in (res, plain)]
    assert [line for line in shown[0].splitlines() if "x1" in line] == [
        line for line in shown[1].splitlines() if "x1" in line
    ]


@pytest.mark.parametrize("symmetric", [False, True])
def test_the_way_does_not_matter(monkeypatch, symmetric):
    """Where a ridge is by gradients by itself: as by the information, whatever the threads."""
    generator = np.random.default_rng(5)
    X = np.column_stack([np.ones(3000), generator.normal(size=(3000, 39))])
    y = (X @ generator.normal(size=(40, 8)) + generator.gumbel(size=(3000, 8))).argmax(axis=1)
    m = MNLogit(y, X)
    one, two = (m.fit_regularized(0.02, symmetric=symmetric, n_threads=n) for n in (1, 2))
    assert one.mle_retvals["method"] == "limited-memory BFGS" and one.converged
    close(one.params, two.params, 0, 0)
    close(one.bse, two.bse, 0, 0)
    monkeypatch.setattr(penalised, "MAX_INFORMATION_COST", np.inf)
    other = m.fit_regularized(0.02, symmetric=symmetric)
    assert other.mle_retvals["method"] == "proximal Newton"
    close(one.params, other.params, 1e-8, 1e-11)
    close(one.bse, other.bse, 1e-9)
    close([one.llf, one.llf_penalized, one.df_model], [other.llf, other.llf_penalized, other.df_model], 1e-11)
    B = one.params.to_numpy().T if symmetric else np.vstack([np.zeros(40), one.params.to_numpy().T])
    p = np.exp(B @ X.T)
    score = ((y == np.arange(8)[:, None]) - p / p.sum(axis=0)) @ X - 3000 * 0.02 * B * (np.arange(40) > 0)
    assert np.abs(score if symmetric else score[1:]).max() < 1e-9


def assert_same_lasso(again, res):
    for name in ("params", "bse", "llf", "llf_penalized", "aic", "df_model", "df_resid", "k_params_effective", "alpha"):
        close(getattr(again, name), getattr(res, name), 0, 0)
    assert again.selected.equals(res.selected)
    assert again.summary().as_text().count("\n") == res.summary().as_text().count("\n")
    with pytest.raises(NotImplementedError, match="selected estimate"):
        again.cov_params()


@pytest.mark.parametrize("kind", ["dense", "sparse", "factors"])
@pytest.mark.parametrize("model", [*MODELS, "MNLogit", "symmetric"])
def test_an_information_that_is_never_formed(monkeypatch, model, kind):
    """Of too many columns: the same estimates, selections, paths and folds, and words in place of standard errors."""
    i, y, X = many_columns()
    several, keywords = model in ("MNLogit", "symmetric"), {"symmetric": True} if model == "symmetric" else {}
    y = 1 + (i * 104729) % 3 if several else y.astype(int)
    given = {"freq_weights": 1 + (i * 31) % 4, "offset": np.cos(i)}
    cls = MNLogit if several else getattr(glmclf, model)
    if kind == "factors":
        data = pd.DataFrame({"y": y, "g": (i * 37) % 40, "x": X[:, 3], "z": X[:, 9]} | given)
        monkeypatch.setattr(pieces, "MIN_ROWS_FOR_CODES", 0)
        m = cls.from_formula("y ~ x + z + C(g) + C(g):x", data, freq_weights="freq_weights", offset="offset")
        assert isinstance(m._objective().blocks.arrays[0], FactorColumns)
    else:
        X = np.where((np.abs(X) < 0.5) | (np.arange(61) == 17), 0.0, X)
        m = cls(y, sparse.csr_array(X) if kind == "sparse" else X, **given)
    plain = [m.fit_regularized(0.01, L1_wt, **keywords) for L1_wt in (0.0, 0.5, 1.0)]
    path = m.fit_regularized(alphas=[0.03, 0.01], L1_wt=1.0, **keywords)
    cv = m.fit_regularized_cv(3, seed=1, alphas=[0.03, 0.01], **keywords)
    for name in ("MAX_FORMED_SIZE", "MAX_FACTORED_SIZE", "MAX_METRIC_COLUMNS", "MAX_SPARSE_FACTORED"):
        monkeypatch.setattr(penalised, name, 8)
    for expected in plain:
        res = m.fit_regularized(0.01, expected.L1_wt, **keywords)
        close(res.params, expected.params, 1e-8, 1e-10)
        if expected.L1_wt:
            np.testing.assert_array_equal(res.params == 0, expected.params == 0)
        close(res.llf_penalized, expected.llf_penalized, 1e-12)
        close(res.predict(), expected.predict(), 1e-8)
        close(pickle.loads(pickle.dumps(res)).params, res.params)
        lasso = expected.L1_wt == 1
        assert res.mle_retvals["method"] == ("proximal Newton" if expected.L1_wt else "limited-memory BFGS")
        with nullcontext() if lasso else pytest.raises(EstimationError, match="GiB and is not formed.* predictions"):
            assert res.k_params_effective == expected.k_params_effective
        file = io.StringIO()
        with nullcontext() if lasso else pytest.raises(EstimationError, match="files included"):
            res.save(file)
            assert json.loads(file.getvalue())["fit"]["information"] is None
            again = glmclf.load(io.StringIO(file.getvalue()))
            assert_same_lasso(again, res)
        if expected.L1_wt == 0:
            with pytest.raises(EstimationError, match="standard errors"):
                _ = res.bse
    other = m.fit_regularized(alphas=[0.03, 0.01], L1_wt=1.0, **keywords)
    close(other.params, path.params, 1e-8, 1e-10)
    close(other.edf, path.edf)
    close(m.fit_regularized_cv(3, seed=1, alphas=[0.03, 0.01], **keywords).deviances, cv.deviances, 1e-9)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("how", ["pickle", "save", "remove_data", "pickle once formed"])
def test_what_waits_is_kept(monkeypatch, symmetric, how):
    waiting(monkeypatch)
    m = make("MNLogit", "g ~ x1 + x2", toy())
    expected, res = (m.fit_regularized(0.03, symmetric=symmetric) for _ in range(2))
    if how == "save":
        file = io.StringIO()
        res.save(file)
        res = glmclf.load(io.StringIO(file.getvalue()))
    elif how == "remove_data":
        res.remove_data()
        assert len(pickle.dumps(res)) < len(pickle.dumps(expected))
    else:
        _ = res.bse if how == "pickle once formed" else None
        res = pickle.loads(pickle.dumps(res))
    close(res.bse, expected.bse, 1e-12)
    close(res.cov_params(), expected.cov_params(), 1e-12)
    close([res.df_model, res.k_params_effective], [expected.df_model, expected.k_params_effective], 1e-12)


def test_a_path_of_ridges_that_wait(monkeypatch):
    m = make("MNLogit", "g ~ x1 + x2", toy())
    alphas = [0.1, 0.01]
    plain = m.fit_regularized(alphas=alphas)
    asked = waiting(monkeypatch)
    path = m.fit_regularized(alphas=alphas)
    close(path.params, plain.params, 1e-8, 1e-10)
    assert path.edf.isna().all() and not asked
    close(path[0.01].k_params_effective, plain.edf[0.01], 1e-9)
    assert len(asked) == 1
    few = waiting(monkeypatch, least=100)
    close(m.fit_regularized(alphas=alphas).edf, plain.edf, 1e-9)
    assert len(few) == 2


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("keywords", [{}, {"offset": "off"}, {"weights": "sw"}])
def test_grids_and_folds_of_ridges_that_wait(monkeypatch, symmetric, keywords):
    m = make("MNLogit", "g ~ x1 + x2", toy(), **keywords)
    told = {"folds": np.arange(160) % 2, "symmetric": symmetric}
    monkeypatch.setattr(regularized, "STEPS", 15)  # of the same range
    plain = m.fit_regularized_cv(**told)
    waiting(monkeypatch)
    found = m.fit_regularized_cv(**told)
    close(found.path.alphas, plain.path.alphas, 1e-9)
    close(found.path.params, plain.path.params, 1e-7, 1e-9)
    close(found.cv[["deviance", "se"]], plain.cv[["deviance", "se"]], 1e-8)
    assert found.cv.edf.isna().all() and found.path.converged.all() and len(found.path.alphas) == 15


@pytest.mark.parametrize("symmetric", [False, True])
def test_a_grid_where_more_than_the_intercept_is_free(monkeypatch, symmetric):
    m, alpha = make("MNLogit", "g ~ x1 + x2", toy()), np.array([0.0, 0.0, 1.0])
    A = np.repeat(alpha[:, None], 3 if symmetric else 2, axis=1)
    wanted = penalty_options(m, A, 0.0, False, symmetric, 200, None, None, False)
    start, columns = m._start(), np.arange(3)

    def top():
        problem = m._problem(wanted, m._objective(), columns, 160.0, start)
        null = problem.null(m._coded(problem, start))
        return problem.mean is not None, problem.coding.b(null.theta), problem.largest_alpha(null)

    by_information = top()
    waiting(monkeypatch)
    by_gradients = top()
    assert by_gradients[0] and not by_information[0]
    close(by_gradients[1], by_information[1], 1e-8, 1e-10)
    close(by_gradients[2], by_information[2], 1e-9)
    ours = make("MNLogit", "g ~ x1", toy()).fit()
    scores = toy().x2.to_numpy() @ (ours.model._cells - ours.predict()[ours.model.levels].to_numpy())
    if not symmetric:
        scores = [scores[ours.model.levels.index(level)] for level in ours.params.columns]
    close(by_gradients[2], np.abs(scores).max() / (160 * 1e-3), 1e-8)


def test_columns_that_are_left_out_of_a_ridge_that_waits(monkeypatch):
    t = toy().assign(z=lambda t: 2.0 * t.x1 + 1.0)
    m = make("MNLogit", "g ~ x1 + z + x2", t)
    with pytest.warns(CollinearityWarning, match='"z"'):
        plain = m.fit_regularized({"x2": 0.1})
    waiting(monkeypatch)
    with pytest.warns(CollinearityWarning, match='"z"'):
        res = m.fit_regularized({"x2": 0.1})
    close(res.params.drop("z"), plain.params.drop("z"), 1e-8, 1e-10)
    close(res.bse.drop("z"), plain.bse.drop("z"), 1e-8)
    assert res.params.loc["z"].isna().all() and res.bse.loc["z"].isna().all()


def test_separation_by_free_columns_where_the_information_waits(monkeypatch):
    waiting(monkeypatch)
    t = toy()
    t["s"] = (t.g == t.g.iloc[0]).astype(float)
    with pytest.raises(glmclf.errors.PerfectSeparationError, match='"s"'):
        make("MNLogit", "g ~ s + x1", t).fit_regularized({"x1": 0.1})


@pytest.mark.parametrize("alpha", [1e-9, 1e-15])
def test_a_ridge_lost_in_rounding_where_the_information_waits(monkeypatch, alpha):
    """Of coefficients that all classes share: refused or not as by the information."""
    m = make("MNLogit", "g ~ x1 + x2", toy())

    def fit():
        return m.fit_regularized(alpha, symmetric=True)

    waiting(monkeypatch)
    if alpha < 1e-12:
        with pytest.raises(EstimationError, match="singular to rounding"):
            fit()
        return
    found = fit()
    monkeypatch.setattr(penalised, "MAX_INFORMATION_COST", np.inf)
    close(found.params, fit().params, 1e-6)
    close(found.params.sum(axis=1), 0.0, 0, 1e-6)
