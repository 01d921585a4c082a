"""fit_regularized and fit_regularized_cv: every value that cannot be used is named."""

import numpy as np
import pandas as pd
import pytest
from bad_input.refusal import refused
from properties.toys import MODELS, make, toy

import glmclf
from glmclf.errors import EstimationError

FOUR = [*MODELS, "MNLogit"]
four = pytest.mark.parametrize("model", FOUR)


def model_of(name="Logit", **keywords):
    return make(name, "g ~ x1 + x2" if name == "MNLogit" else "y ~ x1 + x2", toy(), **keywords)


@pytest.mark.parametrize("alpha", [-0.1, np.nan, np.inf, True, [0.1, np.nan, 0.1], {"x1": -1.0}, {"x1": "much"}, 1j])
@four
def test_alpha_that_is_no_weight(model, alpha):
    with refused("alpha=", "numbers, 0 or more"):
        model_of(model).fit_regularized(alpha)


@four
def test_alpha_of_another_length(model):
    with refused("alpha has shape (2,)", "3 columns", "x1", "x2"):
        model_of(model).fit_regularized([0.1, 0.2])


@four
def test_alpha_of_an_unknown_name(model):
    for alpha in ({"x1": 1.0, "x9": 1.0}, pd.Series({"x1": 1.0, "x9": 1.0})):
        with refused("'x9'", "no column", "Intercept"):
            model_of(model).fit_regularized(alpha)
    with refused("twice"):
        model_of(model).fit_regularized(pd.Series([1.0, 2.0], index=["x1", "x1"]))


def test_alpha_by_equation():
    table = pd.DataFrame(0.1, index=["x1", "x2"], columns=["b", "c"])
    with refused("rows ['x1', 'x2']", "['b', 'c']", "Intercept"):
        model_of("MNLogit").fit_regularized(table)
    with refused("is a table", "one equation"):
        model_of().fit_regularized(table)
    with refused("shape (3, 3)", "(3, 2)"):
        model_of("MNLogit").fit_regularized(np.full((3, 3), 0.1))


@four
def test_a_penalty_on_the_intercept(model):
    for alpha in ([1.0, 1.0, 1.0], {"Intercept": 1.0}):
        with refused('"Intercept"', "penalize_intercept=True"):
            model_of(model).fit_regularized(alpha)
        assert model_of(model).fit_regularized(alpha, penalize_intercept=True).converged


@pytest.mark.parametrize("L1_wt", [-0.1, 1.1, np.nan, True, "lasso", None, [0.5]])
def test_a_share_that_is_none(L1_wt):
    with refused("L1_wt=", "0 (ridge) to 1 (lasso)"):
        model_of().fit_regularized(0.1, L1_wt)
    with refused("L1_wt="):
        model_of().fit_regularized_cv(3, L1_wt=L1_wt)


def test_one_of_alpha_and_alphas():
    for options in ({}, {"alpha": 1.0, "alphas": [1.0]}):
        with refused("alpha=", "alphas=", "one of"):
            model_of().fit_regularized(**options)


@pytest.mark.parametrize("alphas", [[], [-1.0], [np.nan], "all", 1.0, [[1.0]], ["a"], {"x1": 1.0}])
def test_a_grid_that_is_none(alphas):
    with refused("alphas=", '"auto"'):
        model_of().fit_regularized(alphas=alphas)


@pytest.mark.parametrize("method", ["l1", "l1_cvxopt_cp"])
def test_statsmodels_names(method):
    with refused(method, "alpha / N", "L1_wt=1", "penalize_intercept=True"):
        model_of().fit_regularized(alpha=1.0, method=method)
    with refused(f"alpha='{method}'", "method="):
        model_of().fit_regularized(method)
    with pytest.raises(TypeError, match="trim_mode"):
        model_of().fit_regularized(alpha=1.0, trim_mode="off")
    assert model_of().fit_regularized(alpha=1.0, method="elastic_net").converged


def test_options():
    m = model_of()
    for options, word in (
        ({"method": "bfgs"}, "method='bfgs'"),
        ({"refit": "yes"}, "refit='yes'"),
        ({"penalize_intercept": 1}, "penalize_intercept=1"),
        ({"maxiter": -1}, "maxiter=-1"),
        ({"tol": -1.0}, "tol=-1.0"),
        ({"tol": "a"}, "tol='a'"),
        ({"n_threads": 0}, "n_threads=0"),
        ({"start_params": [0.0, 1.0]}, "2 values"),
        ({"start_params": [0.0, 1.0, np.nan]}, "start_params must be finite"),
        ({"refit": True}, "a ridge selects nothing"),
    ):
        with refused(word):
            m.fit_regularized(0.1, **options)


def test_combinations_that_do_not_go_together():
    mn = model_of("MNLogit")
    for m, options, words in (
        (model_of(), {"symmetric": True}, ("symmetric=True", "MNLogit", "Logit")),
        (mn, {"symmetric": True, "start_params": np.zeros(6)}, ("start_params=", "symmetric=True")),
        (mn, {"symmetric": True, "refit": True, "L1_wt": 1.0}, ("refit=True", "symmetric=True")),
        (model_of(weights="sw"), {"refit": True, "L1_wt": 1.0}, ("refit=True", "sampling weights")),
    ):
        with refused(*words, error=NotImplementedError):
            m.fit_regularized(0.1, **options)
    with refused("refit=True", "alphas=", error=NotImplementedError):
        model_of().fit_regularized(alphas=[0.1], L1_wt=1.0, refit=True)


def test_collinear_columns_and_a_penalty_lost_in_rounding():
    t = toy().assign(x3=lambda t: t.x1)
    with refused("alpha is too small", "singular", error=EstimationError):
        make("Logit", "y ~ x1 + x2 + x3", t).fit_regularized(1e-18)


@pytest.mark.parametrize("alpha", [1e-12, 1e-16, 1e-20])
def test_a_ridge_lost_in_rounding_where_it_alone_decides(alpha):
    t, words = toy().assign(x3=lambda t: 2 * t.x1 - t.x2), ("alpha is too small", "singular")
    for m, options in (
        (make("Probit", "y ~ x1 + x2 + x3", t), {}),
        (make("MNLogit", "g ~ x1 + x2 + x3", t), {}),
        (make("MNLogit", "g ~ x1 + x2", t), {"symmetric": True}),
        (make("Logit", "y ~ x1 + x2 + x3", t), {"L1_wt": 0.0}),
    ):
        with refused(*words, error=EstimationError):
            m.fit_regularized(alpha, **options)
        with refused(*words, error=EstimationError):
            m.fit_regularized(alphas=[0.1, alpha], **options)
    assert make("Logit", "y ~ x1 + x2", t).fit_regularized(alpha).converged  # the data decide everything
    assert make("Logit", "y ~ x1 + x2 + x3", t).fit_regularized({"x2": 0.1, "x3": alpha}).converged


@pytest.mark.parametrize("folds", [1, 0, -2, 161, True, None, 2.5])
def test_how_many_folds(folds):
    with refused("folds="):
        model_of().fit_regularized_cv(folds, alphas=[0.1])


def test_folds_by_label():
    m, labels = model_of(), np.arange(160) % 4
    with refused("'part'", "no column"):
        m.fit_regularized_cv("part", alphas=[0.1])
    with refused("seed=", "by number"):
        m.fit_regularized_cv(labels, seed=1, alphas=[0.1])
    with refused("folds has 159 rows", "160"):
        m.fit_regularized_cv(labels[:-1], alphas=[0.1])
    with refused("folds is missing", "1 of the 160 rows"):
        m.fit_regularized_cv(np.where(np.arange(160) == 7, np.nan, labels), alphas=[0.1])
    with refused("one label"):
        m.fit_regularized_cv(np.zeros(160), alphas=[0.1])


def test_a_class_that_a_fold_takes_away():
    t = toy()
    with refused("fold no", "no observation of no ", error=EstimationError):
        model_of().fit_regularized_cv(t.y, alphas=[0.1])
    t["g"] = np.where(np.arange(160) == 5, "rare", t.g)
    with refused("no observation of rare", error=EstimationError):
        make("MNLogit", "g ~ x1 + x2", t).fit_regularized_cv(5, seed=1, alphas=[0.1])


@pytest.mark.parametrize("seed", ["a", 1.5, -1, True])
def test_a_seed_that_is_none(seed):
    with refused(f"seed={seed!r}"):
        model_of().fit_regularized_cv(3, seed=seed, alphas=[0.1])


def test_other_words_of_the_cross_validation():
    with refused("rule='best'", '"1se"'):
        model_of().fit_regularized_cv(3, alphas=[0.1], rule="best")
    with refused('alphas="auto"', "no column"):
        make("Logit", "y ~ 1", toy()).fit_regularized_cv(3)
    path = model_of().fit_regularized(alphas=[0.1])
    for alpha in (-1.0, np.nan, "x", None):
        with refused("alpha="):
            path.at(alpha)


@pytest.mark.parametrize(
    ("folds", "words"),
    [
        (np.zeros((32, 2)), "shape (32, 2)"),
        ([[1, 2]] * 32, "shape (32, 2)"),
        ([[1], [2, 3]] * 16, "holds sequences"),
        ({1: 2}, "{1: 2}"),
        ({1, 2}, "{1, 2}"),
    ],
    ids=str,
)
def test_folds_that_are_no_labels(folds, words):
    model = glmclf.Logit.from_formula("GRADE ~ GPA", glmclf.datasets.load("spector"))
    with refused("folds=", words, "one label for each row"):
        model.fit_regularized_cv(folds=folds)


@pytest.mark.parametrize("alpha", [{"GPA": "x"}, pd.Series({"GPA": "x"}), pd.Series({"GPA": -1.0})], ids=repr)
def test_alpha_by_name_that_is_no_weight(alpha):
    model = glmclf.Logit.from_formula("GRADE ~ GPA", glmclf.datasets.load("spector"))
    with refused("alpha={'GPA': ", "0 or more", but=("dtype", "\n")):
        model.fit_regularized(alpha)
