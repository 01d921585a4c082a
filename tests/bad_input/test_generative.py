"""Bad and extreme input of LDA and QDA: errors that name features, classes and rows, and nothing silent."""

import copy
import functools
import json
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from bad_input.refusal import refused

import glmclf
from glmclf import LDA, QDA, Logit, MNLogit
from glmclf.errors import (
    DataError,
    DataWarning,
    EstimationError,
    FormulaError,
    InferenceWarning,
    MissingDataError,
    SingularCovarianceError,
    UnseenLevelError,
)

pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore:.*Few clusters:glmclf.errors.InferenceWarning"),
]
FORMULA = "y ~ x1 + x2 + x3"
both = pytest.mark.parametrize("model", [LDA, QDA], ids=lambda m: m.__name__)


@functools.cache
def _table(n: int, K: int, p: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    y = np.arange(n) % K
    t = pd.DataFrame(rng.normal(size=(n, p)) + 0.7 * y[:, None], columns=[f"x{j + 1}" for j in range(p)])
    t["y"] = np.array([f"c{k:02d}" for k in range(K)] if K > 26 else list("abcdefghijklmnopqrstuvwxyz"))[y]
    t["g"] = np.where(rng.random(n) < 0.5, "u", "v")
    t["firm"] = np.arange(n) % 9
    t["w"] = 1.0 + np.arange(n) % 4
    return t


def table(n: int = 60, K: int = 3, p: int = 3, **columns) -> pd.DataFrame:
    """Three normal features and a label; `columns` replace some."""
    return _table(n, K, p).assign(**columns)


def fitted(model, data=None, formula=FORMULA, fit=None, **keywords):
    return model.from_formula(formula, table() if data is None else data, **keywords).fit(**(fit or {}))


@functools.cache
def shared(model):
    """A fit of the table, to be read only."""
    return fitted(model)


D = table()
IN_B = (D.y == "b").to_numpy()
ONE_OF_C = pd.concat([D[D.y != "c"], D[D.y == "c"].head(1)])
EVERY = " + ".join(f"x{j + 1}" for j in range(12))


# ------------------------------------------------------------------------------------------------ model keywords
@both
@pytest.mark.parametrize(
    "keyword",
    ["prior", "tol", "families", "pooled", "event", "smoothing", "n_components", "solver", "method", "unknown"],
)
def test_unknown_model_keywords(model, keyword):
    with refused(keyword, model.__name__, "covariance", error=TypeError):
        fitted(model, **{keyword: 1})


@both
@pytest.mark.parametrize("keyword", ["method", "maxiter", "disp", "start_params", "alpha", "groups", "separation"])
def test_unknown_fit_keywords(model, keyword):
    with refused(keyword, error=TypeError):
        fitted(model, fit={keyword: 1})


@both
@pytest.mark.parametrize("offset", ["x1", np.zeros(60)], ids=["name", "array"])
def test_offset_is_refused(model, offset):
    with refused("offset=", model.__name__, error=NotImplementedError):
        fitted(model, offset=offset)


PRIORS = [
    ("empirical", ["empirical", "equal"]),
    ([0.5, 0.5], ["2 values", "3 levels", "'c'"]),
    ([0.5, 0.3, 0.3], ["1.1", "add up to 1"]),
    ([20, 30, 50], ["100", "add up to 1"]),
    ([-0.1, 0.6, 0.5], ["-0.1", "from 0 to 1"]),
    ([np.nan, 0.5, 0.5], ["nan", "from 0 to 1"]),  # said "not negative"
    ([0.2, 0.3, np.inf], ["inf", "from 0 to 1"]),
    (["a", "b", "c"], ["numbers", "'c'"]),
    (["0.2", "0.3", "0.5"], ["numbers"]),
    (np.array([0.2, 0.3, 0.5j]), ["numbers"]),  # a ComplexWarning, and the real parts were used
    ([[0.2, 0.3, 0.5]], ["(1, 3)", "3 levels"]),  # said "has 3 values; y has 3 levels"
    (0.5, ["shape ()", "3 levels"]),
    ([], ["0 values"]),
    ({"a": 0.5, "b": 0.5}, ["'a', 'b'", "'c'"]),
    ({"a": 0.5, "b": 0.2, "z": 0.3}, ["'z'", "'c'"]),
    ({"a": 0.5, "b": 0.2, "c": 0.3, "d": 0}, ["'d'"]),
    ({"a": None, "b": 0.2, "c": 0.8}, ["nan"]),
    (pd.Series([0.2, 0.3, 0.5], index=list("abz")), ["'z'"]),
    (pd.Series([0.2, 0.3, 0.5], index=list("xyz")), ["'x', 'y', 'z'", "'a', 'b', 'c'"]),  # was taken by position
    (pd.Series([0.9, 0.2, 0.3, 0.5], index=list("aabc")), ["'a', 'a'", "once"]),  # the last 'a' won, silently
]


@both
@pytest.mark.parametrize("priors, words", PRIORS, ids=lambda v: str(v).replace("\n", ",")[:40])
def test_priors(model, priors, words):
    with refused("priors=", *words):
        fitted(model, priors=priors)
    with refused("priors=", *words):
        shared(model).predict(D.head(2), priors=priors)


@both
def test_prior_of_zero_for_a_class_with_rows(model):
    with refused("priors=", "'b', 'c'", "subset="):
        fitted(model, priors=[1.0, 0, 0])


@both
def test_priors_of_a_series_without_labels_are_in_the_order_of_the_levels(model):
    by_label = fitted(model, priors={"c": 0.5, "a": 0.2, "b": 0.3})
    assert fitted(model, priors=pd.Series([0.2, 0.3, 0.5])).llf == by_label.llf
    assert by_label.priors.to_dict() == {"a": 0.2, "b": 0.3, "c": 0.5}


@both
def test_keys_of_another_type_are_unknown_levels(model):
    numbered = table(y=D.y.map({"a": 1, "b": 2, "c": 3}))
    with refused("'1'", "[1, 2, 3]"):
        fitted(model, numbered, priors={"1": 0.4, "2": 0.3, "3": 0.3})
    with refused("reference", "'1'"):
        fitted(model, numbered, reference="1")


NUMBERS = [
    ("prior_smoothing", [-1, "1", np.nan, np.inf, True, None, [1, 2, 3], 1.7e308]),  # the last made all priors 0
    ("shrinkage", [-0.1, 1.1, np.nan, True, None, [0.1, 0.2, 0.3]]),
    ("ridge", [-1, np.inf, np.nan, "1", None, True, 1e300]),  # the last let overflow warnings out
]


@both
@pytest.mark.parametrize("name, value", [(n, v) for n, values in NUMBERS for v in values], ids=str)
def test_numbers_out_of_range(model, name, value):
    with refused(f"{name}={value!r}", "number"):
        fitted(model, **{name: value})


@both
def test_prior_smoothing_with_fixed_priors(model):
    with refused("prior_smoothing=", "priors="):
        fitted(model, prior_smoothing=1, priors="equal")


@both
@pytest.mark.parametrize("name", ["covariance", "divisor", "target", "shrinkage"])
@pytest.mark.parametrize("value", ["Full", "n-1", "auto", ""])
def test_unknown_words(model, name, value):
    with refused(f"{name}={value!r}"):
        fitted(model, **{name: value})


@both
@pytest.mark.parametrize("name", ["covariance", "divisor"])
@pytest.mark.parametrize("value", [None, 57, ["mle"], np.eye(3)], ids=["None", "number", "list", "array"])
def test_words_of_another_type(model, name, value):
    """Of an array numpy said that its truth value is ambiguous."""
    with refused(f"{name}=", "choose \""):
        fitted(model, **{name: value})


@both
@pytest.mark.parametrize("covariance", ["diag", "spherical"])
@pytest.mark.parametrize("option", [{"shrinkage": 0.2}, {"shrinkage": "oas"}, {"ridge": 1}], ids=str)
def test_regularisation_is_of_full_covariances(model, covariance, option):
    with refused("shrinkage=, ridge=", covariance, error=NotImplementedError):
        fitted(model, covariance=covariance, **option)


TARGETS = [
    (np.eye(2), ["(3, 3)", "x3"]),
    (-np.eye(3), ["positive definite"]),
    (np.zeros((3, 3)), ["positive definite"]),
    (np.array([[1, 2, 0], [0, 1, 0], [0, 0, 1.0]]), ["symmetric"]),
    (np.full((3, 3), np.nan), ["(3, 3)"]),
    (np.eye(3) * 1e300, ["(3, 3)"]),
    (None, ["(3, 3)"]),
    (5, ["(3, 3)"]),
    ([["a"] * 3] * 3, ["target=", "numbers"]),  # numpy's message did not say where
    ([[1, 2], [3]], ["target=", "numbers"]),
    (np.eye(3) * 1j, ["target=", "numbers"]),
    (pd.DataFrame(np.eye(3)), ["[0, 1, 2]", "x1"]),
    (pd.DataFrame(np.eye(3), index=["x1", "x1", "x2"], columns=["x1", "x2", "x3"]), ["x1", "x2", "x3"]),
]


@both
@pytest.mark.parametrize("target, words", TARGETS, ids=range(len(TARGETS)))
def test_targets(model, target, words):
    with refused("target=", *words):
        fitted(model, target=target, shrinkage=0.1)


@both
def test_intensity_from_the_data_has_no_matrix_target(model):
    with refused("oas", "matrix", error=NotImplementedError):
        fitted(model, target=np.eye(3), shrinkage="oas")


@both
@pytest.mark.parametrize("missing", ["skip", "level"])
def test_ways_with_missing_values_of_naive_bayes(model, missing):
    with refused(missing, "NaiveBayes", error=NotImplementedError):
        fitted(model, missing=missing)


# --------------------------------------------------------------------------------------------------- fit keywords
@both
@pytest.mark.parametrize(
    "cov_type, error",
    [
        ("HC2", NotImplementedError),
        ("HC3", NotImplementedError),
        ("bootstrap", NotImplementedError),
        ("jackknife", NotImplementedError),
        ("hc0", ValueError),
        ("", ValueError),  # was taken for the default
        (5, ValueError),
        (["HC0"], ValueError),  # "unhashable type"
    ],
    ids=str,
)
def test_covariance_types(model, cov_type, error):
    with refused("cov_type", str(cov_type), error=error):
        fitted(model, fit={"cov_type": cov_type})


@both
@pytest.mark.parametrize(
    "options, words, error",
    [
        ({"cov_type": "cluster"}, ["groups"], ValueError),
        ({"cov_type": "cluster", "cov_kwds": {"groups": None}}, ["groups"], ValueError),
        ({"cov_type": "cluster", "cov_kwds": {"groups": "zz"}}, ["zz", "firm"], DataError),
        ({"cov_type": "cluster", "cov_kwds": {"groups": ["firm"] * 11}}, ["11", "1 to 10"], ValueError),
        ({"cov_type": "cluster", "cov_kwds": {"groups": np.arange(5)}}, ["5", "60"], DataError),
        ({"cov_type": "cluster", "cov_kwds": {"groups": np.zeros(60)}}, ["two clusters"], ValueError),
        ({"cov_type": "cluster", "cov_kwds": {"groups": "firm", "z": 1}}, ["'z'"], TypeError),
        ({"cov_type": "HC0", "cov_kwds": {"groups": "firm"}}, ["HC0", "groups"], TypeError),
        ({"cov_kwds": {"groups": "firm"}}, ["nonrobust", "groups"], TypeError),
        ({"cov_type": "cluster", "cov_kwds": "firm"}, ["cov_kwds='firm'", "groups"], TypeError),  # "dictionary update"
        ({"cov_type": "HC0", "cov_kwds": 5}, ["cov_kwds=5"], TypeError),  # "'int' object is not iterable"
        ({"cov_type": "HC0", "cov_kwds": ["a"]}, ["cov_kwds"], TypeError),
    ],
    ids=str,
)
def test_clusters(model, options, words, error):
    with refused(*words, error=error):
        fitted(model, fit=options)


@both
def test_missing_groups_of_kept_rows(model):
    groups = np.where(np.arange(60) > 3, np.arange(60) % 7, np.nan)
    with refused("4 rows", error=MissingDataError):
        fitted(model, fit={"cov_type": "cluster", "cov_kwds": {"groups": groups}})


@both
def test_a_class_in_one_cluster_is_warned_of(model):
    """The residuals of a class add up to zero in it: QDA's clustered standard errors were 1e-16."""
    with pytest.warns(InferenceWarning, match="'a', 'b', 'c' are in one cluster"):
        fitted(model, fit={"cov_type": "cluster", "cov_kwds": {"groups": "y"}})
    split = np.where(D.y == "a", 99, np.arange(60) % 8)
    with pytest.warns(InferenceWarning, match="'a' are in one cluster") as caught:
        shared(model).with_cov("cluster", groups=split)
    assert caught[0].filename == __file__
    fitted(model, fit={"cov_type": "cluster", "cov_kwds": {"groups": np.arange(60) // 6}})


@both
@pytest.mark.parametrize("wanted", ["Exact", True, ["exact"], 1], ids=str)
def test_unknown_bias_reduction(model, wanted):
    with refused("bias_reduction", "exact"):
        fitted(model, fit={"bias_reduction": wanted})


@both
@pytest.mark.parametrize("wanted", ["firth", "median"])
def test_bias_reduction_of_logits(model, wanted):
    with refused(wanted, "LDA", error=NotImplementedError):
        fitted(model, fit={"bias_reduction": wanted})


@pytest.mark.parametrize(
    "keywords, fit",
    [
        ({"covariance": "diag"}, {}),
        ({"shrinkage": 0.2}, {}),
        ({"weights": "w"}, {}),
        ({}, {"cov_type": "HC0"}),
        ({}, {"cov_type": "cluster", "cov_kwds": {"groups": "firm"}}),
    ],
    ids=str,
)
def test_exact_bias_reduction_is_of_plain_lda(keywords, fit):
    with refused("exact", error=NotImplementedError):
        fitted(LDA, fit={"bias_reduction": "exact", **fit}, **keywords)
    with refused("exact", "QDA", error=NotImplementedError):
        fitted(QDA, fit={"bias_reduction": "exact"})


def test_exact_bias_reduction_needs_degrees_of_freedom():
    for n in (8, 9):
        with refused("exact", "6", str(n - 3), error=EstimationError):
            fitted(LDA, D.head(n), fit={"bias_reduction": "exact"})


def test_what_exact_bias_reduction_has_not():
    res = fitted(LDA, fit={"bias_reduction": "exact"})
    for call in (res.leave_one_out, lambda: res.with_cov("HC0")):
        with refused("exact", error=NotImplementedError):
            call()
    with refused("missing features", error=NotImplementedError):
        res.get_prediction(D.head(2).assign(x1=np.nan))
    assert np.isnan(res.error_rates().rates.loc["leave-one-out", "error"])


@both
@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", True], ids=str)
def test_threads(model, threads):
    with refused("n_threads", repr(threads)):
        fitted(model, fit={"n_threads": threads})
    assert fitted(model, fit={"n_threads": np.int64(2)}).llf == shared(model).llf  # was refused
    with refused("progress", "'yes'"):
        fitted(model, fit={"progress": "yes"})


# ------------------------------------------------------------------------------------------- constant features
@both
@pytest.mark.parametrize("value", [5.0, 0.0, 0.1, 1e8, -3e-9])
def test_constant_feature(model, value):
    """QDA named its first class, and advised pooling and "diag", which cannot help."""
    with refused("x2", "constant within every class", "Drop it", but=("differ", "LDA", "diag")) as caught:
        fitted(model, table(x2=value))
    assert caught.value.columns == ["x2"] and caught.value.classes == []


@both
@pytest.mark.parametrize("base, step", [(0, 1), (1e8, 1), (0, 1e-6)])
def test_feature_that_is_a_constant_of_the_class(model, base, step):
    x2 = base + step * D.y.map({"a": 1.0, "b": 2.0, "c": 4.0})
    with refused("x2", "constant within every class", "differ", "separates", error=SingularCovarianceError):
        fitted(model, table(x2=x2))


@both
def test_the_response_among_the_features(model):
    with refused('"y" is the response', "out of the right side"):
        fitted(model, formula="y ~ y + x1")


@pytest.mark.parametrize("value", [1.7, 0.1, 0.0])
def test_feature_constant_in_one_class(value):
    """The advice was "diag" and shrinkage to it, which also have no variance there."""
    data = table(x2=np.where(IN_B, value, D.x2))
    assert np.isfinite(fitted(LDA, data).llf)
    with refused("x2", "'b'", "LDA", "ridge=", but=("'a'", '"diag"')) as caught:
        fitted(QDA, data)
    assert caught.value.columns == ["x2"] and caught.value.classes == ["b"]
    with refused("x2", "'b'", "LDA", "spherical"):
        fitted(QDA, data, covariance="diag")
    with refused("x2", "'b'"):
        fitted(QDA, data, shrinkage=0.5)
    for options in ({"covariance": "spherical"}, {"ridge": 0.1}, {"shrinkage": 0.5, "target": "identity"}):
        assert np.isfinite(fitted(QDA, data, **options).predict().to_numpy()).all()


def test_feature_constant_in_two_classes_names_both():
    with refused("x2", "'a', 'b'", but=("'c'",)) as caught:
        fitted(QDA, table(x2=np.where(D.y != "c", 1.7, D.x2)))
    assert caught.value.classes == ["a", "b"]


def test_dummies_in_qda():
    """A dummy that is constant in a class proposes NaiveBayes and LDA."""
    data = table(g=np.where(IN_B, "u", D.g), k=np.where(IN_B, 0, (D.g == "u").astype(int)))
    for formula, name in (("y ~ x1 + g", "g[T.v]"), ("y ~ x1 + k", "k")):
        with refused(name, "'b'", "NaiveBayes", "LDA"):
            fitted(QDA, data, formula)
        assert "dummy" in str(fitted(LDA, data, formula).summary())


@both
def test_constant_columns_of_arrays(model):
    X, one = D[["x1", "x2"]].to_numpy(), np.ones((60, 1))
    res = model(D.y, np.hstack([one, X])).fit()
    assert res.model.dropped_const == "const" and res.llf == pytest.approx(model(D.y, X).fit().llf, rel=1e-12)
    with refused("x2", "constant"):
        model(D.y, np.hstack([one, X[:, :1], 2 * one])).fit()
    with refused("x1", "constant"):
        model(D.y, np.hstack([0 * one, X[:, :1]])).fit()
    with refused("const", "no features", error=DataError):
        model(D.y, one)
    gaps = np.where(np.arange(60) < 2, np.nan, 1.0)[:, None]
    assert model(D.y, np.hstack([gaps, X])).fit().feature_names == ["x2", "x3"]  # constant once rows are dropped


# ------------------------------------------------------------------------------------------- collinear features
@both
@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_collinear_features_name_the_combination(model, unit):
    with refused("x3", "x1", "x2", "linearly dependent", "Drop", "shrinkage=") as caught:
        fitted(model, table(x3=unit * (2 * D.x1 - 3 * D.x2) + 7 * unit))
    found = caught.value.combination
    assert found == pytest.approx({"x1": 2 * unit, "x2": -3 * unit}, rel=1e-6)
    with refused("x3"):
        fitted(model, table(x1=unit * D.x1, x3=D.x1 + 2 * D.x2))
    with refused("x3"):
        fitted(model, table(x1=D.x1 + unit, x3=D.x1 + unit + 2 * D.x2))


@both
def test_collinear_up_to_a_constant_of_the_class(model):
    with refused("x3", "x1 + 2 * x2", "up to a constant"):
        fitted(model, table(x3=D.x1 + 2 * D.x2 + D.y.map({"a": 0.0, "b": 5.0, "c": 9.0})))


@both
def test_several_combinations(model):
    with refused('"x3" = x1 + x2', '"x4" = x1') as caught:
        fitted(model, table(x3=D.x1 + D.x2, x4=D.x1 - D.x2), FORMULA + " + x4")
    assert caught.value.columns == ["x3", "x4"]
    with refused('"x3" = x1'):
        fitted(model, table(x3=D.x1), weights="w")


def test_collinear_in_one_class():
    data = table(x3=np.where(IN_B, D.x1 - D.x2, D.x3))
    assert np.isfinite(fitted(LDA, data).llf)
    with refused("x3", "'b'", "LDA", '"diag"', "shrinkage=", but=("'a'",)) as caught:
        fitted(QDA, data)
    assert caught.value.classes == ["b"]


@both
def test_ways_out_of_collinearity(model):
    data = table(x3=D.x1)
    for options in ({"shrinkage": 0.1}, {"shrinkage": "oas"}, {"ridge": 0.1}, {"covariance": "diag"}):
        assert np.isfinite(fitted(model, data, **options).predict().to_numpy()).all()
    for options in ({"shrinkage": 1e-14}, {"ridge": 1e-16}):  # advised shrinkage= to one who has it
        with refused("x3", "larger shrinkage="):
            fitted(model, data, **options)


@both
@pytest.mark.parametrize("noise", [1e-5, 1e-6])
def test_nearly_collinear_features_are_warned_of(model, noise):
    with pytest.warns(DataWarning, match='"x1", "x3"') as caught:
        res = fitted(model, table(x3=D.x1 + noise * D.x3))
    assert len(caught) == 1 and caught[0].filename == __file__
    exact = fitted(model, table(x3=D.x3))  # the law is the same, in other coordinates
    np.testing.assert_allclose(res.predict(), exact.predict(), atol=1e-6)
    assert res.llr == pytest.approx(exact.llr, rel=1e-6)
    with refused("x3"):
        fitted(model, table(x3=D.x1 + 1e-9 * D.x3))


# ------------------------------------------------------------------------------------------------------- few rows
def test_one_row_in_a_class_is_fine_in_lda():
    res = fitted(LDA, ONE_OF_C)
    assert np.isfinite(res.predict().to_numpy()).all() and "1 left aside" in str(res.summary())
    left = res.leave_one_out()
    assert left.iloc[-1].isna().all() and left.iloc[:-1].notna().all(axis=None)
    with pytest.warns(InferenceWarning, match="'c': 1"):
        rates = res.error_rates().rates
    assert rates.loc["leave-one-out", "skipped"] == 1 and np.isfinite(rates.loc["leave-one-out", "error"])
    with refused("Box's M", error=EstimationError):
        res.boxm_test()
    assert np.isfinite(res.with_cov("HC0").discriminant.bse.to_numpy()).all()


@pytest.mark.parametrize(
    "options, needed",
    [({}, 4), ({"shrinkage": 0.2}, 2), ({"covariance": "diag"}, 2), ({"divisor": "unbiased"}, 4)],
    ids=str,
)
def test_one_row_in_a_class_of_qda(options, needed):
    """The advice was "diag" and shrinkage=, which need two rows, even to those who had asked for them."""
    with refused("'c' has 1 row,", f"at least {needed}", "LDA", but=("'a'", '"diag"', "shrinkage=")) as caught:
        fitted(QDA, ONE_OF_C, **options)
    assert caught.value.classes == ["c"]
    assert np.isfinite(fitted(QDA, ONE_OF_C, ridge=0.2).llf)


@both
@pytest.mark.parametrize("n", range(2, 9))
def test_tiny_tables(model, n):
    K = min(n, 3)
    enough = n - K >= 3 if model is LDA else False
    if enough:
        assert np.isfinite(fitted(model, D.head(n)).llf)
        return
    with refused("row", "at least", error=SingularCovarianceError):
        fitted(model, D.head(n))


def test_every_table_of_a_fit_that_just_exists():
    """The rate of leaving one out divided by no rows, with a warning of numpy."""
    res = fitted(LDA, D.head(6))
    with pytest.warns(InferenceWarning, match="'a': 2"):
        rates = res.error_rates().rates
    assert np.isnan(rates.loc["leave-one-out", "error"])
    assert np.isnan(res.ladder().loc["full, by class (QDA)", "llf"])
    for call in (
        res.manova,
        res.f_to_remove,
        res.term_tests,
        res.mardia_test,
        res.typicality,
        res.distances,
        res.summary,
    ):
        call()


@both
def test_fewer_rows_than_features(model):
    data = table(8, 2, 12)
    with refused("8 rows" if model is LDA else "4 rows", "12 features", "14" if model is LDA else "13"):
        fitted(model, data, f"y ~ {EVERY}")
    with refused("12 features"):
        model(data.y, data.iloc[:, :12].to_numpy()).fit()
    assert np.isfinite(fitted(model, data, f"y ~ {EVERY}", covariance="diag").llf)
    for options in ({"shrinkage": 0.5}, {"shrinkage": "ledoit_wolf"}, {"ridge": 0.3}):
        res = fitted(model, data, f"y ~ {EVERY}", **options)
        assert np.isfinite(res.llf) and np.isfinite(res.get_prediction().se.to_numpy()).all()
        assert np.isnan([res.llnull, res.llr, res.llr_pvalue]).all()  # was inf: the null covariance is singular
        assert "inf" not in str(res.summary())


@both
def test_many_classes(model):
    res = fitted(model, table(1000, 50))
    assert res.predict().shape == (1000, 50) and "c49" in str(res.summary())
    with refused("60 rows in 60 classes" if model is LDA else "and 55 more classes"):  # all were listed
        fitted(model, table(y=np.arange(60)))
    with refused("at least"):
        fitted(model, formula="x1 ~ x2 + x3")


@both
def test_no_classes_no_features_no_rows(model):
    for data in (D[D.y == "a"], table(w2=(D.y == "a") * 1)):
        keywords = {"freq_weights": "w2"} if "w2" in data else {}
        with refused("one class only", "a", error=DataError):
            fitted(model, data, **keywords)
    for formula in ("y ~ 1", "y ~ 0"):
        with refused("no features", error=FormulaError):
            fitted(model, formula=formula)
    for formula in ("y ~ ", "~ x1", "y", None):
        with refused("formula", error=FormulaError):
            fitted(model, formula=formula)
    with refused("no rows", error=DataError):
        fitted(model, D.head(0))
    with refused("no rows", error=DataError):
        fitted(model, pd.DataFrame())
    with refused("subset=", "60", error=DataError):
        fitted(model, subset="x1 > 99")
    with refused("(60, 0)", error=DataError):
        model(D.y, np.ones((60, 0)))


# ---------------------------------------------------------------------------------------------- levels and labels
@both
def test_unused_categories_are_left_out_and_warned_of(model):
    data = table(y=pd.Categorical(D.y, list("abcd")))
    with pytest.warns(DataWarning, match='level "d" of y') as caught:
        res = fitted(model, data)
    assert res.levels == list("abc") and '"d"' in str(res.summary())
    assert caught[0].filename == __file__
    for priors in ([0.25] * 4, {"a": 0.3, "b": 0.3, "c": 0.4, "d": 0}):
        with refused('level "d"', "'a', 'b', 'c'"):  # did not say why the levels are three
            fitted(model, data, priors=priors)
    with pytest.warns(DataWarning, match='level "d"') as caught:
        model(data.y, data[["x1", "x2"]])
    assert caught[0].filename == __file__


@both
@pytest.mark.parametrize("kind", ["str", "category", "Int64"])
def test_a_class_that_is_lost_with_its_missing_rows(model, kind):
    """Labels that are no categories went without a word."""
    label = D.y if kind != "Int64" else D.y.map({"a": 1, "b": 2, "c": 3})
    data = table(y=label.astype(kind), x1=np.where(D.y == "c", np.nan, D.x1))
    with pytest.warns(DataWarning, match='level "(c|3)" of y: no rows'):
        res = fitted(model, data)
    assert len(res.levels) == 2 and "no rows, left out" in str(res.summary())
    with pytest.warns(DataWarning, match="no rows"):
        fitted(model, table(f=(D.y != "c") * 1), freq_weights="f")
    fitted(model, table(x1=np.where(D.x1 > 1.2, np.nan, D.x1)), subset="y != 'c'")  # left out on purpose


@both
@pytest.mark.parametrize(
    "labels",
    [
        (3, 1, 2),
        (0.5, 1.5, 2.5),
        (True, False, True),
        (" x", "b", "c"),
        ("ä", "日本", "[x]"),
        ("a b", "c:d", "1"),
        (-1, 0, 1),
    ],
    ids=str,
)
def test_labels_of_any_sortable_type(model, labels):
    y = D.y.map(dict(zip("abc", labels, strict=True)))
    res = fitted(model, table(y=y))
    assert res.levels == sorted(set(labels))
    assert set(res.predict(which="class")) <= set(labels) and res.predict(which="class").dtype == y.dtype
    assert model(y.to_numpy(), D[["x1", "x2", "x3"]]).fit().llf == pytest.approx(res.llf, rel=1e-12)
    res.summary()


@both
def test_labels_without_an_order(model):
    for values in ((1, "b", 2.0), ((1, 2), (3, 4), (5, 6))):
        y = pd.Series([dict(zip("abc", values, strict=True))[c] for c in D.y], dtype=object)
        with refused("y", error=DataError):
            fitted(model, table(y=y))
    with refused("datetime", error=DataError):
        fitted(model, table(y=D.y.map(dict(zip("abc", pd.date_range("2020", periods=3), strict=True)))))
    assert fitted(model, table(y=np.where(D.y == "a", None, D.y))).nobs == 40


@both
@pytest.mark.parametrize("reference", ["z", 0, ["a"], np.nan, {"a": 1}], ids=str)
def test_reference(model, reference):
    with refused("reference", "a", "b", "c", error=DataError):
        fitted(model, reference=reference)


@both
def test_counts_of_classes(model):
    with refused(model.__name__, "freq_weights=", "MNLogit", error=DataError):
        fitted(model, formula="firm + w ~ x1")
    with refused(model.__name__, "freq_weights=", error=DataError):
        model(pd.get_dummies(D.y), D[["x1"]])


# -------------------------------------------------------------------------------------------------------- weights
W = np.arange(60)
WEIGHTS = [
    ({"weights": "w", "freq_weights": "w"}, ["weights=", "freq_weights="]),
    ({"weights": -D.w}, ["negative", "60"]),
    ({"freq_weights": -D.w}, ["negative", "60"]),
    ({"freq_weights": D.w / 2}, ["whole numbers", "weights="]),
    ({"weights": np.zeros(60)}, ["60", "weight 0"]),
    ({"freq_weights": np.zeros(60, int)}, ["60", "weight 0"]),
    ({"weights": np.full(60, np.inf)}, ["infinite"]),
    ({"weights": "g"}, ["g", "numbers"]),
    ({"weights": "nothing"}, ["nothing", "firm"]),
    ({"weights": [1, 2]}, ["2", "60"]),
    ({"weights": np.ones((60, 2))}, ["(60, 2)"]),
    ({"weights": 1.0}, ["weights", "1.0"]),
    ({"weights": np.where(W < 5, np.nan, 1), "missing": "raise"}, ["5 rows"]),
    ({"weights": np.where(W < 5, np.nan, 1), "missing": "none"}, ["5 rows"]),
    ({"weights": np.full(60, 1e300)}, ["1e+300", "mean"]),  # an OverflowError
    ({"weights": np.full(60, 1e-300)}, ["1e-300", "mean"]),  # standard errors were NaN
]


@both
@pytest.mark.parametrize("keywords, words", WEIGHTS, ids=range(len(WEIGHTS)))
def test_weights(model, keywords, words):
    with refused(*words, error=DataError):
        fitted(model, **keywords)


@both
def test_only_the_ratios_of_sampling_weights_matter(model):
    a = fitted(model, weights=D.w)
    for scale in (1e-90, 1e90):
        b = fitted(model, weights=scale * D.w)
        np.testing.assert_allclose(b.discriminant.bse, a.discriminant.bse, rtol=1e-9)
    assert fitted(model, weights=np.where(W < 5, np.nan, 1.0)).nobs == 55


LIKELIHOODS = ["manova", "boxm_test", "f_to_remove", "term_tests", "distances", "mardia_test", "typicality", "ladder"]


@both
@pytest.mark.parametrize("options", [{"weights": "w"}, {"shrinkage": 0.2}, {"ridge": 0.1}], ids=str)
@pytest.mark.parametrize("name", [*LIKELIHOODS, "canonical", "anova"])
def test_what_needs_a_likelihood(model, options, name):
    res = fitted(model, **options)
    with refused("sampling weights" if "weights" in options else "regularised"):
        found = getattr(res, name)
        found()


@both
def test_a_regularised_fit_has_no_tests(model):
    res = fitted(model, shrinkage=0.2)
    assert res.discriminant.pvalues.isna().all(axis=None) and np.isnan(res.bic) and np.isnan(res.llr_pvalue)
    for call in (res.discriminant.wald_test_terms, res.wald_test_terms):
        with refused("biased"):
            call()
    with refused("regularised"):
        res.compare_conditional(MNLogit.from_formula(FORMULA, D).fit())


# ------------------------------------------------------------------------------------------------------- features
@both
def test_columns_that_are_no_numbers(model):
    X = D[["x1", "x2"]].to_numpy()
    for bad in (
        np.array([["a", "b"]] * 60),
        X * 1j,
        D[["x1", "g"]],
        pd.DataFrame({"t": pd.date_range("2020", periods=60)}),
    ):
        with refused("not numbers", error=DataError):
            model(D.y, bad)
    for shape, bad in (("(60, 2, 2)", np.zeros((60, 2, 2))), ("10", X[:10])):
        with refused(shape, error=DataError):
            model(D.y, bad)
    with refused("more than once", "a", error=DataError):
        model(D.y, pd.DataFrame(X, columns=["a", "a"]))
    with refused("aligned", error=DataError):
        model(D.y, pd.DataFrame(X, index=range(100, 160)))
    for make in (lambda: model(D.y, None), lambda: fitted(model, [1, 2])):
        with refused(error=DataError):
            make()
    assert model(D.y, D[["x1", "x2"]].astype("float32")).fit().llf == pytest.approx(model(D.y, X).fit().llf, rel=1e-6)


@both
def test_infinite_and_missing_features(model):
    infinite, missing = np.where(W == 3, np.inf, D.x2), np.where(W == 3, np.nan, D.x2)
    with refused("x2", "infinite", "row 3", error=DataError):
        fitted(model, table(x2=infinite))
    with refused("x2", "infinite", error=DataError):
        model(D.y, np.column_stack([D.x1, infinite]))
    with refused("np.log(x1 * 0)", "infinite", error=DataError):
        fitted(model, formula="y ~ np.log(x1 * 0)")
    assert fitted(model, table(x2=missing)).nobs == 59
    for how in ("raise", "none"):
        with refused("x2", "row 3", error=MissingDataError):
            fitted(model, table(x2=missing), missing=how)
    with refused("x2", "60", error=MissingDataError):
        fitted(model, table(x2=np.nan))
    with refused("nothing", "x1", error=FormulaError):
        fitted(model, formula="y ~ x1 + nothing")


@both
def test_a_factor_with_one_level_says_so(model):
    res = fitted(model, table(g="u"), "y ~ x1 + g")
    assert "g has one level" in str(res.summary())


# ------------------------------------------------------------------------------------------- sizes and precision
SIZES = [1e-70, 1e70]


@both
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("features", [["x1"], ["x1", "x2", "x3"]], ids=len)
def test_units_change_nothing(model, size, features):
    a, b = shared(model), fitted(model, table(**{x: D[x] * size for x in features}))
    np.testing.assert_allclose(b.predict(), a.predict(), rtol=1e-9)
    np.testing.assert_allclose(b.discriminant.tvalues, a.discriminant.tvalues, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(b.get_prediction().se, a.get_prediction().se, rtol=1e-8)
    assert b.llr == pytest.approx(a.llr, rel=1e-9)
    for name in (
        "manova",
        "boxm_test",
        "mardia_test",
        "typicality",
        "ladder",
        "term_tests",
        "f_to_remove",
        "distances",
    ):
        assert np.isfinite(np.asarray(getattr(b, name)()).astype(float)).any()
    assert np.isfinite(b.with_cov("HC0").discriminant.bse.to_numpy()).all()
    b.summary()


@both
@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-160, 1e-100, 1e100, 1e155, 1e200, 1e300])
@pytest.mark.parametrize("options", [{}, {"covariance": "diag"}, {"shrinkage": "ledoit_wolf"}], ids=str)
def test_units_whose_squares_are_no_floats(model, size, options):
    """Overflow warnings, infinite standard errors, or a feature that was said to be constant."""
    with refused("x1", "too large" if size > 1 else "too small", "units", but=("x2",), error=DataError):
        fitted(model, table(x1=size * D.x1), **options)


@both
@pytest.mark.parametrize("offset, digits", [(1e3, 1e-11), (1e6, 1e-8), (1e8, 1e-6), (1e10, 1e-4)])
def test_offsets_cost_no_more_digits_than_the_data_lost(model, offset, digits):
    a, b = shared(model), fitted(model, table(x1=D.x1 + offset, x2=D.x2 - offset))
    np.testing.assert_allclose(b.predict(), a.predict(), atol=digits)
    rows = slice(1, None) if model is LDA else slice(4, None)  # what does not depend on the origin
    rounded = fitted(model, table(x1=(D.x1 + offset) - offset, x2=(D.x2 - offset) + offset))
    spacing = np.spacing(offset)  # of the means, as floats
    np.testing.assert_allclose(b.predict(), rounded.predict(), atol=1e-10 + spacing)
    np.testing.assert_allclose(
        b.discriminant.tvalues[rows], rounded.discriminant.tvalues[rows], atol=1e-9 + 10 * spacing
    )


@both
def test_an_offset_that_leaves_no_digits(model):
    with refused("x1", "constant within every class (it varies less than rounding", error=SingularCovarianceError):
        fitted(model, table(x1=D.x1 + 1e16))


def test_an_outlier_beside_which_other_classes_are_constant():
    """The message did not say in what sense."""
    data = table(x1=np.where(np.arange(60) == 5, 1e12, D.x1))
    assert np.isfinite(fitted(LDA, data).llf)
    with refused("x1", "'a', 'b'", "1e-10 of its overall spread"):
        fitted(QDA, data)
    assert np.isfinite(fitted(QDA, data.drop(5)).llf)


@both
def test_separated_classes(model):
    for step in (1e4, 1e9):
        res = fitted(model, table(x1=D.x1 + step * D.y.map({"a": 0, "b": 1, "c": 2})))
        p = res.get_prediction()
        assert p.predicted.notna().all(axis=None) and p.se.notna().all(axis=None)
        assert res.llf_conditional == 0 and res.error_rates().rates.error.max() == 0
        res.summary()


@both
def test_classes_that_do_not_differ(model):
    same = D[D.y == "a"]
    res = fitted(model, pd.concat([same, same.assign(y="b")]))
    assert res.llr == pytest.approx(0, abs=1e-9) and (res.manova().pvalue > 0.999999).all()
    assert np.allclose(res.predict(), 0.5)


@both
def test_a_hundred_thousand_rows(model):
    res = fitted(model, table(100_000, 5))
    assert np.isfinite(res.llf) and res.discriminant.bse.notna().all(axis=None)
    res.summary()


# ------------------------------------------------------------------------------------------------------ new data
@both
def test_new_rows_far_from_all_classes(model):
    """LDA's posterior was 1/3 each: distances of 1e200 had swallowed what tells the classes apart."""
    far = table().head(1).assign(x1=[1e100])
    res = shared(model)
    direction = res.discriminant.params.loc["x1"] if model is LDA else None
    p = res.predict(far).iloc[0]
    assert p.max() == 1
    if direction is not None:
        assert p.idxmax() == max(direction[direction > 0].index, key=direction.get)
        assert res.predict(far.assign(x1=1e200)).iloc[0].max() == 1  # NaN, with advice for NaiveBayes
        log_odds = res.predict(far.assign(x1=1e15), which="linear").iloc[0]
        np.testing.assert_allclose(log_odds[direction.index], direction * 1e15, rtol=1e-9)
    res.get_prediction(far)


def test_new_rows_whose_densities_underflow():
    res, far = shared(QDA), D.head(1).assign(x1=[1e200])
    for call in (res.predict, lambda f: res.predict(f, which="class"), lambda f: res.predict(f, which="linear")):
        with pytest.warns(DataWarning, match=r"1 row \(0\) so far"):
            assert pd.isna(np.asarray(call(far))).all()
    with pytest.warns(DataWarning, match="so far"):
        assert np.isnan(res.get_prediction(far).predicted.to_numpy()).all()


@both
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_new_rows(model, value):
    """NaN, with advice to smooth."""
    for call in ("predict", "get_prediction", "typicality", "augment"):
        with refused("x1", "infinite", "1 of 2", "(0)", "NaN", error=DataError):
            getattr(shared(model), call)(D.head(2).assign(x1=[value, 0.0]))


@both
def test_new_data_of_another_shape(model):
    res = shared(model)
    for data in (D[["x1", "x2"]], {"x1": [1.0], "x2": [2.0]}):
        for call in (res.predict, res.get_prediction, res.augment, res.typicality, res.canonical.scores):
            with refused("x3", error=DataError):
                call(data)
    array = model(D.y.to_numpy(), D[["x1", "x2"]].to_numpy()).fit()
    for bad in (np.ones((2, 5)), np.ones((2, 2, 2)), 3.0, np.array([["a", "b"]])):
        with refused(error=DataError):
            array.predict(bad)
    with refused("x1", "labels", error=DataError):
        res.predict(pd.DataFrame({"x1": ["a"], "x2": [0.0], "x3": [0.0]}))
    assert res.predict(D.head(0)).shape == (0, 3) and len(res.get_prediction(D.head(0)).summary_frame()) == 0
    with refused("estimate", "rows"):
        res.predict(D.head(0), priors="estimate")


@both
def test_unseen_levels(model):
    res = (
        fitted(model, formula="y ~ x1 + g") if model is LDA else fitted(model, formula="y ~ x1 + g", covariance="diag")
    )
    with refused("g", "w", "u", "v", error=UnseenLevelError):
        res.predict(pd.DataFrame({"x1": [0.0], "g": ["w"]}))
    assert res.predict(pd.DataFrame({"x1": [0.0], "g": [None]})).notna().all(axis=None)


@both
def test_rows_without_features_are_judged_by_the_priors(model):
    new = pd.DataFrame({"x1": [1.0, np.nan], "x2": [np.nan, np.nan], "x3": [0.0, np.nan]})
    for cov in ({}, {"cov_type": "HC0"}, {"cov_type": "cluster", "cov_kwds": {"groups": "firm"}}):
        res = fitted(model, fit=cov)  # clustered intervals were refused right after the fit
        p = res.get_prediction(new)
        np.testing.assert_allclose(p.predicted.iloc[1], res.priors)
        assert p.se.notna().all(axis=None)
        again = shared(model).with_cov(cov.get("cov_type", "nonrobust"), **cov.get("cov_kwds", {}))
        np.testing.assert_allclose(again.get_prediction(new).se, p.se, rtol=1e-12)
    moved = pickle.loads(pickle.dumps(res))
    moved.remove_data()
    with refused("x2", "nonrobust", error=EstimationError):
        moved.get_prediction(new)


# --------------------------------------------------------------------------------------------- method arguments
@both
@pytest.mark.parametrize("which", ["prob", None, ["mean"], np.array([1, 2])], ids=str)
def test_which(model, which):
    """Of an array numpy said that its truth value is ambiguous."""
    with refused("which=", "mean", "class", "linear", "joint"):
        shared(model).predict(which=which)
    with refused("which=", "mean", "linear"):
        shared(model).get_prediction(which=which)


@both
def test_rules(model):
    res = shared(model)
    for rule in ("MAP", None, 1):
        with refused(f"rule={rule!r}", "map", "ml"):
            res.predict(which="class", rule=rule)
    with refused("rule= and cost=", "class"):
        res.predict(rule="ml")
    with refused("rule= and cost=", "class"):
        res.predict(cost=np.eye(3))
    with refused("rule='ml'", "cost="):
        res.predict(which="class", rule="ml", cost=np.eye(3))
    for keyword in ("threshold", "offset", "prior"):
        with refused(keyword, error=TypeError):
            res.predict(**{keyword: 0.5})


LETTERS = list("abc")
COSTS = [
    (np.ones((3, 2)), ["(3, 2)"]),
    (np.ones((3, 5)), ["(3, 5)"]),
    ([1, 2, 3], ["(3,)"]),
    (3, ["()"]),
    (np.full((3, 3), np.nan), ["missing or infinite"]),
    ([["a"] * 3] * 3, ["numbers"]),  # messages of numpy, without "cost="
    ([[1], [1, 2]], ["numbers"]),
    (np.eye(3) * 1j, ["numbers"]),  # the imaginary part was dropped
    ({"a": 1}, ["numbers"]),  # a TypeError
    ("x", ["numbers"]),
    (pd.DataFrame(np.eye(3)), ["[0, 1, 2]", "'a'"]),
    (pd.DataFrame(np.ones((3, 5)), LETTERS, [*LETTERS, "r", "s"]), ["'s'", "at most"]),
    (pd.DataFrame(np.ones((3, 4)), LETTERS, [*LETTERS, "c"]), ["'c', 'c'"]),  # two columns for one decision passed
    (pd.DataFrame(np.ones((3, 2)), LETTERS, ["a", "b"]), ["'a', 'b'"]),
    (pd.DataFrame([["x"] * 3] * 3, LETTERS, LETTERS), ["numbers"]),
]


@both
@pytest.mark.parametrize("cost, words", COSTS, ids=range(len(COSTS)))
def test_costs(model, cost, words):
    with refused("cost=", *words):
        shared(model).predict(D.head(3), which="class", cost=cost)


@both
def test_prior_of_zero_at_prediction(model):
    """Log-odds against a reference that is impossible were NaN and inf."""
    res = shared(model)
    p = res.predict(D.head(4), priors=[0, 0.5, 0.5])
    assert (p.a == 0).all() and np.allclose(p.sum(axis=1), 1)
    assert (res.predict(D.head(4), which="class", priors=[0, 0, 1]) == "c").all()
    assert res.get_prediction(D.head(4), priors=[0, 0.5, 0.5]).conf_int().notna().all(axis=None)
    assert (res.predict(D.head(4), which="linear", priors=[0.5, 0, 0.5]).b == -np.inf).all()
    with refused("priors=", "'a'", "mean"):
        res.predict(D.head(4), which="linear", priors=[0, 0.5, 0.5])
    with refused("estimate", error=NotImplementedError):
        res.get_prediction(D.head(4), priors="estimate")


@both
@pytest.mark.parametrize("alpha", [0, 1, -0.1, 1.5, np.nan, "x", None, True, [0.05]], ids=str)
def test_alpha(model, alpha):
    res = shared(model)
    for call in (res.conf_int, res.discriminant.conf_int, res.odds_ratios, res.get_prediction().summary_frame):
        with refused("alpha"):
            call(alpha=alpha)
    with refused("alpha"):
        res.summary(alpha=alpha)


@both
@pytest.mark.parametrize("n", [0, -1, 1.5, "3", None, True, [3]], ids=str)
def test_numbers_to_draw(model, n):
    for call in (shared(model).sample, shared(model).simulate):
        with refused(repr(n), "1 or more"):
            call(n, seed=1)


@both
@pytest.mark.parametrize(
    "n, by_class, words",
    [
        (5, {"a": 2}, ["n=5", "2 rows"]),
        (None, {"z": 2}, ["'z'", "'a'"]),
        (None, {"a": -2}, ["-2"]),
        (None, {"a": 2.0}, ["2.0"]),
        (None, 3, ["by_class=3", "dict"]),  # "'int' object is not iterable"
        (None, [1, 2, 3], ["by_class=", "dict"]),
    ],
    ids=str,
)
def test_rows_to_draw_by_class(model, n, by_class, words):
    with refused(*words):
        shared(model).sample(n, seed=1, by_class=by_class)
    assert len(shared(model).sample(None, seed=1, by_class=pd.Series({"a": 2, "c": 1}))) == 3  # named the counts


@both
def test_dummies_are_not_drawn_as_zeros_and_ones(model):
    res = fitted(model, formula="y ~ x1 + g", covariance="diag")
    with pytest.warns(DataWarning, match=r"g\[T.v\]") as caught:
        res.sample(3, seed=1)
    assert caught[0].filename == __file__


@both
def test_comparisons(model):
    res = shared(model)
    for other in (5, MNLogit.from_formula(FORMULA, D).fit()):
        with refused("compare_lr_test", type(other).__name__, "compare_conditional", error=TypeError):
            res.compare_lr_test(other)
    with refused("not nested"):
        res.compare_lr_test(res)
    with refused("different data"):
        res.compare_lr_test(fitted(model, D.head(50), covariance="diag"))
    with refused("different features", "x3"):
        res.compare_lr_test(fitted(model, formula="y ~ x1"))
    with refused("regularised", "restricted"):
        res.compare_lr_test(fitted(model, shrinkage=0.1))
    with refused("fixed priors"):
        fitted(model, priors="equal").compare_lr_test(fitted(model, covariance="diag"))
    for call in (lambda: res.compare_conditional(5), lambda: res.compare_conditional(None)):
        with refused("compare_conditional", "MNLogit", error=TypeError):  # an AttributeError
            call()
    if model is LDA:
        with refused("regressors differ", "x3"):
            res.compare_conditional(MNLogit.from_formula("y ~ x1", D).fit())
    two = D[D.y != "c"]
    if model is QDA:
        with refused("regressors differ", "2 columns, they are 3"):
            fitted(model, two, "y ~ x1").compare_conditional(Logit.from_formula("y ~ x1", two).fit())


@both
def test_models_with_other_fixed_priors_are_not_nested(model):
    """The statistic was cut off at 0, p-value 1."""
    with refused("different priors", "0.2", "0.33"):
        fitted(model, priors=[0.2, 0.3, 0.5]).compare_lr_test(fitted(model, priors="equal", covariance="diag"))
    with refused("different priors"):
        uneven = D.head(50)
        fitted(model, uneven).compare_lr_test(fitted(model, uneven, covariance="diag", prior_smoothing=5.0))
    same = fitted(model, priors=[0.2, 0.3, 0.5]).compare_lr_test(
        fitted(model, priors=[0.2, 0.3, 0.5], covariance="diag")
    )
    assert same.statistic == pytest.approx(shared(model).compare_lr_test(fitted(model, covariance="diag")).statistic)


@both
def test_other_arguments(model):
    res = shared(model)
    with refused("hqic", "aic"):
        res.info_criteria("hqic")
    with refused("profile", error=NotImplementedError):
        res.conf_int(method="profile")
    for options in ({"type": 2}, {"type": True}, {"test": "score"}):
        with refused("anova", error=NotImplementedError):
            res.anova(**options)
    with refused("zz", "x1"):
        res.odds_ratios(units={"zz": 3})
    with refused("HC9"):
        res.with_cov("HC9")
    with refused("groups", error=TypeError):
        res.with_cov("HC0", groups="firm")
    with refused("xname="):
        res.summary(xname=["a"])
    with refused("zz"):
        res.discriminant.t_test("zz = 0")
    with refused("spherical", error=NotImplementedError):
        fitted(model, covariance="spherical").term_tests()
    with refused("typicality", error=EstimationError):
        fitted(model, covariance="diag").typicality()


@both
def test_results_without_their_rows(model, tmp_path):
    res = fitted(model)
    res.save(tmp_path / "model.json")
    assert "x1" in json.dumps(json.loads((tmp_path / "model.json").read_text()))
    loaded, removed = glmclf.load(tmp_path / "model.json"), copy.copy(res)
    removed.remove_data()
    for other in (loaded, removed):
        for name in (
            "predict",
            "typicality",
            "leave_one_out",
            "mardia_test",
            "ladder",
            "simulate",
            "augment",
            "pred_table",
        ):
            with refused("rows of the fit", "new data", error=DataError):
                getattr(other, name)()
        np.testing.assert_array_equal(other.predict(D), res.predict(D))
        other.summary()


# ------------------------------------------------------------------------------------------------- left unchanged
@both
def test_nothing_passed_in_is_modified(model):
    data = table(k=pd.Categorical(np.where(D.x1 > 0.9, "p", "q")))
    X, T = D[["x1", "x2", "x3"]].to_numpy(), 2.0 * np.eye(3)
    priors, kwds, cost = (
        {"a": 0.2, "b": 0.3, "c": 0.5},
        {"groups": "firm"},
        pd.DataFrame(1 - np.eye(3), LETTERS, LETTERS),
    )
    given = (data, X, T, priors, kwds, cost)
    before = copy.deepcopy(given)
    for a in (X, T):
        a.flags.writeable = False
    res = fitted(model, data, FORMULA, {"cov_type": "cluster", "cov_kwds": kwds}, weights="w", priors=priors)
    res.get_prediction(data).summary_frame()
    res.predict(data, which="class", cost=cost)
    res.augment(data)
    res.error_rates()
    fitted(model, data, shrinkage=0.2, target=T).summary()
    array = model(D.y, X).fit(cov_type="HC0")
    array.predict(X)
    array.leave_one_out()
    for a, b in zip(given, before, strict=True):
        if isinstance(a, pd.DataFrame):
            pd.testing.assert_frame_equal(a, b)
        else:
            assert np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b


@both
def test_global_state_is_left_alone(model):
    state, filters = np.geterr(), list(warnings.filters)
    fitted(model).summary()
    with pytest.raises(SingularCovarianceError):
        fitted(model, table(x2=1.0))
    assert np.geterr() == state and list(warnings.filters) == filters


@both
def test_means_and_variances_are_not_exponentiated(model):
    """Gave exp(variance) under the heading of a ratio."""
    res = shared(model)
    for method in ("summary_frame", "tidy"):
        with refused("exponentiate=True", "variances", "odds_ratios", "discriminant", error=NotImplementedError):
            getattr(res, method)(exponentiate=True)
        getattr(res.discriminant, method)(exponentiate=True)
    frame = res.summary_frame(0.1)
    np.testing.assert_allclose(frame[["Conf. Int. Low", "Conf. Int. Upp."]], res.conf_int(0.1))


# ------------------------------------------------------------------------------------------------ advice that works
def test_advice_of_constant_features():
    """Nothing to shrink to where every feature is constant in a class; no pooling that is singular as well."""
    t = table(g2=np.where(D.y == "a", "u", D.g))
    with refused("ridge=", error=SingularCovarianceError) as found:
        fitted(QDA, t, "y ~ g2")
    assert "shrinkage=" not in str(found.value)
    fitted(QDA, t, "y ~ g2", ridge=0.1)
    with refused('target="identity"', error=SingularCovarianceError):
        fitted(QDA, t, "y ~ g2 + x1")
    fitted(QDA, t, "y ~ g2 + x1", shrinkage=0.1, target="identity")
    with refused("shrinkage=", error=SingularCovarianceError) as found:
        fitted(QDA, formula="y ~ x1 + I(2 * x1)")
    assert "pool" not in str(found.value)


@both
def test_a_target_needs_shrinkage(model):
    with refused("target=", "shrinkage="):
        fitted(model, target="identity")
    with refused("target=", "shrinkage="):
        fitted(model, target=np.eye(3), ridge=0.1)


def test_exact_reduction_knows_no_weights():
    with refused("bias_reduction", "weights=", error=NotImplementedError) as found:
        fitted(LDA, weights="w", fit={"bias_reduction": "exact"})
    assert "HC0" not in str(found.value)


@pytest.mark.parametrize("model", [LDA, QDA, MNLogit], ids=lambda m: m.__name__)
def test_words_of_priors(model):
    if model is not MNLogit:
        with refused('priors=\'estimate\'', "default of a fit"):
            fitted(model, priors="estimate")
    res = fitted(model)
    res.predict(priors=[0.333333] * 2 + [0.333334])
    close = res.predict(priors=[0.3333333] * 3) - res.predict(priors=[1 / 3] * 3)
    assert np.abs(close.to_numpy()).max() < 1e-15
    with refused("add up to 0.9999"):
        res.predict(priors=[0.3333, 0.3333, 0.3333])
