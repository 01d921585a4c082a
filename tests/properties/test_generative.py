"""Identities of LDA, QDA and NaiveBayes: order, repetition and labels of rows, units, bases and rotations of features.

A law is a class of model with its keywords; what holds for all is asked of all.
"""

import functools
import io
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, ndtri, softmax

import glmclf
from glmclf import LDA, QDA, NaiveBayes
from glmclf.core.design.dense import Dense
from glmclf.core.discriminant import logit
from glmclf.core.discriminant.influence import influence
from glmclf.core.gaussian.fit import fit_gaussian
from glmclf.core.gaussian.moments import class_moments
from glmclf.core.rows.blocks import Blocks

LEVELS = ["bus", "car", "walk"]
NAMES = ["x1", "x2", "x3"]
FORMULA = "mode ~ x1 + x2 + x3"
LAWS = {
    "LDA full": (LDA, {}),
    "LDA diag": (LDA, {"covariance": "diag"}),
    "LDA spherical": (LDA, {"covariance": "spherical"}),
    "QDA full": (QDA, {}),
    "QDA diag": (QDA, {"covariance": "diag"}),
    "QDA spherical": (QDA, {"covariance": "spherical"}),
    "NaiveBayes": (NaiveBayes, {}),
    "NaiveBayes pooled": (NaiveBayes, {"pooled": True}),
}
DISCRIMINANTS = [name for name in LAWS if not name.startswith("NaiveBayes")]
COVARIANCES = {
    "nonrobust": {},
    "HC0": {"cov_type": "HC0"},
    "HC1": {"cov_type": "HC1"},
    "one-way": {"cov_type": "cluster", "cov_kwds": {"groups": "firm"}},
    "two-way": {"cov_type": "cluster", "cov_kwds": {"groups": ["firm", "year"]}},
}
SCALARS = [
    *("llf", "llnull", "llr", "llr_pvalue", "llf_conditional", "prsquared", "aic", "bic", "nobs"),
    *("df_model", "df_resid", "k_params"),
]
laws = pytest.mark.parametrize("law", LAWS)
discriminants = pytest.mark.parametrize("law", DISCRIMINANTS)
# two-way covariances of few clusters have no joint test of some terms, and say so
pytestmark = [
    pytest.mark.filterwarnings("ignore:no joint test"),
    pytest.mark.filterwarnings("ignore:.*Few clusters"),  # of draws of any size
]


@functools.cache
def _toy(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n, p=[0.5, 0.2, 0.3])
    mixing = np.eye(3) + 0.4 * rng.normal(size=(3, 3, 3))
    X = 0.8 * rng.normal(size=(3, 3))[y] + np.einsum("ip,ipq->iq", rng.normal(size=(n, 3)), mixing[y])
    t = pd.DataFrame(X + [0.0, 3.0, -1.0], columns=NAMES)
    t["mode"], t["g"] = np.array(LEVELS)[y], rng.choice(list("abc"), n)
    t["firm"], t["year"] = rng.integers(0, 24, n), rng.integers(2000, 2012, n)
    t["f"], t["w"] = rng.choice([0, 1, 1, 2, 4], n), rng.uniform(0.5, 2.0, n)
    return t


def toy(n=150, seed=5):
    return _toy(n, seed).copy()


def fit(law, t=None, formula=FORMULA, cov="nonrobust", **keywords):
    model, options = LAWS[law]
    return model.from_formula(formula, toy() if t is None else t, **options, **keywords).fit(**COVARIANCES[cov])


@functools.cache
def shared(law, cov="nonrobust"):
    """A fit of the toy data; treat it as read-only."""
    return fit(law, cov=cov)


def close(a, b, rtol=1e-9, atol=1e-11):
    np.testing.assert_allclose(np.asarray(a, dtype=float), np.asarray(b, dtype=float), rtol=rtol, atol=atol)


def same(a, b, rtol=1e-9, atol=1e-11):
    """Two tables with the same labels and, to `rtol`, the same numbers."""
    assert list(a.index) == list(b.index)
    if isinstance(a, pd.DataFrame):
        assert list(a.columns) == list(b.columns)
    close(a, b, rtol, atol)


def same_logit(a, b, rtol=1e-9):
    for name in ("params", "bse", "tvalues"):
        same(getattr(a, name), getattr(b, name), rtol)
    same(a.pvalues, b.pvalues, 1e-7)
    same(a.conf_int(), b.conf_int(), 1e-8, 1e-9)
    scale = np.sqrt(np.outer(np.diag(a.cov_params()), np.diag(a.cov_params())))
    same(a.cov_params() / scale, b.cov_params() / scale, 1e-8, 1e-9)
    one, two = (r.wald_test_terms().table.astype(float) for r in (a, b))
    same(one, two, 1e-7)


def same_predictions(a, b, new):
    for which in ("mean", "linear", "joint"):
        same(a.predict(new, which), b.predict(new, which), 1e-9, 1e-9)
    same(a.get_prediction(new).summary_frame(), b.get_prediction(new).summary_frame(), 1e-8)
    assert a.predict(new, "class").tolist() == b.predict(new, "class").tolist()


def same_fit(a, b, new=None):
    """Every number that is not row-sized, with its labels; predictions for `new`."""
    for name in ("params", "bse"):
        same(getattr(a, name), getattr(b, name))
    same(a.conf_int(), b.conf_int(), 1e-8)
    same(a.cov_params(), b.cov_params(), 1e-8)
    same(a.priors, b.priors)
    same(a.priors_bse, b.priors_bse)
    for name in SCALARS:
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-9, err_msg=name)
    same_logit(a.discriminant, b.discriminant)
    same(a.pred_table(), b.pred_table())
    if new is not None:
        same_predictions(a, b, new)


def same_tests(a, b, law):
    """Everything else that LDA and QDA say of the fit."""
    same(a.error_rates().rates, b.error_rates().rates)
    same(a.error_rates().by_class, b.error_rates().by_class)
    if law.startswith("NaiveBayes"):
        return
    for name in ("manova", "boxm_test", "f_to_remove", "distances", "mardia_test"):
        same(getattr(a, name)(), getattr(b, name)(), 1e-8)
    for name in ("raw", "standardised", "structure", "centroids", "tests"):
        same(getattr(a.canonical, name), getattr(b.canonical, name), 1e-8)
    same(a.ladder(), b.ladder(), 1e-8)
    if "spherical" not in law:
        same(a.term_tests(), b.term_tests(), 1e-8)


# ------------------------------------------------------------------------------------------------------------- rows
def repeated(t):
    return t.loc[t.index.repeat(t.f)].reset_index(drop=True)


@laws
def test_frequency_weights_are_repeated_rows(law):
    t = toy()
    a, b = fit(law, t, freq_weights="f"), fit(law, repeated(t))
    assert a.nobs == t.f.sum()
    same_fit(a, b, t.head(9))
    same_tests(a, b, law)


@pytest.mark.parametrize("cov", ["HC0", "HC1", "one-way", "two-way"])
@laws
def test_robust_covariances_of_repeated_rows(law, cov):
    t = toy()
    a, b = fit(law, t, cov=cov, freq_weights="f"), fit(law, repeated(t), cov=cov)
    same_logit(a.discriminant, b.discriminant)
    same(a.get_prediction(t.head(5)).se, b.get_prediction(t.head(5)).se, 1e-8)
    if cov == "HC1":
        same_logit(a.discriminant, fit(law, t, freq_weights="f").with_cov("HC1").discriminant)


@discriminants
def test_leave_one_out_of_weighted_rows(law):
    """Of a row that stands for several, one is left out."""
    t = toy()
    a, b = fit(law, t, freq_weights="f"), fit(law, repeated(t))
    kept = t[t.f > 0]
    one = a.leave_one_out().loc[kept.index]
    close(one.loc[kept.index.repeat(kept.f)], b.leave_one_out(), 1e-9)
    if "diag" not in law:
        close(a.typicality().loc[kept.index.repeat(kept.f)], b.typicality(), 1e-9)


@pytest.mark.parametrize(
    "keywords",
    [
        *({"shrinkage": 0.2, "ridge": 0.1}, {"shrinkage": 0.2, "target": "identity"}),
        *({"shrinkage": "ledoit_wolf"}, {"shrinkage": "oas"}),
    ],
)
@pytest.mark.parametrize("law", ["LDA full", "QDA full"])
def test_frequency_weights_are_repeated_rows_when_regularised(law, keywords):
    t = toy()
    a, b = (fit(law, d, **keywords, **w) for d, w in ((t, {"freq_weights": "f"}), (repeated(t), {})))
    close(a.shrinkage, b.shrinkage)
    for name in ("params", "bse"):
        same(getattr(a, name), getattr(b, name))
        same(getattr(a.discriminant, name), getattr(b.discriminant, name))
    close([a.llf, a.k_params, a.llf_conditional, a.aic], [b.llf, b.k_params, b.llf_conditional, b.aic])
    same(a.error_rates().rates, b.error_rates().rates)
    same_predictions(a, b, t.head(5))
    same(*(r.with_cov("HC0").discriminant.bse for r in (a, b)))


@pytest.mark.parametrize("keywords", [{"divisor": "unbiased"}, {"priors": [0.2, 0.3, 0.5]}, {"prior_smoothing": 2.0}])
@pytest.mark.parametrize("law", ["LDA full", "LDA diag", "QDA full"])
def test_frequency_weights_are_repeated_rows_with_keywords(law, keywords):
    t = toy()
    a, b = fit(law, t, freq_weights="f", **keywords), fit(law, repeated(t), **keywords)
    same_fit(a, b, t.head(9))
    same(a.error_rates().rates, b.error_rates().rates)
    same(a.with_cov("HC1").discriminant.bse, b.with_cov("HC1").discriminant.bse)


def test_bias_reduction_of_repeated_rows():
    t = toy()
    a, b = (
        LDA.from_formula(FORMULA, d, **w).fit(bias_reduction="exact")
        for d, w in ((t, {"freq_weights": "f"}), (repeated(t), {}))
    )
    same_logit(a.discriminant, b.discriminant)
    same_predictions(a, b, t.head(9))


@pytest.mark.parametrize("cov", ["nonrobust", "two-way"])
@laws
def test_order_of_rows(law, cov):
    t = toy()
    mixed = t.sample(frac=1, random_state=3)
    a, b = shared(law, cov), fit(law, mixed, cov=cov)
    same_fit(a, b, t.head(9))
    same(a.predict(), b.predict().loc[t.index])
    if cov == "nonrobust":
        same(a.error_rates().rates, b.error_rates().rates)


@laws
def test_weights_of_one_are_no_weights(law):
    t = toy().assign(one=1)
    same_fit(shared(law), fit(law, t, freq_weights="one"), t.head(4))
    weighted = fit(law, t, weights="one")
    same(weighted.discriminant.params, shared(law).discriminant.params, 1e-12)
    same(weighted.discriminant.bse, shared(law, "HC0").discriminant.bse, 1e-10)


@laws
def test_threads_change_no_bit(law):
    model, options = LAWS[law]
    t = _toy(70_000, 2)
    fits = [model.from_formula(FORMULA, t, **options).fit(cov_type="HC0", n_threads=n) for n in (1, 2, 3)]
    for other in fits[1:]:
        for a, b in (
            (fits[0].params, other.params),
            (fits[0].discriminant.params, other.discriminant.params),
            (fits[0].discriminant.cov_params(), other.discriminant.cov_params()),
        ):
            np.testing.assert_array_equal(a, b)
        assert (fits[0].llf, fits[0].llf_conditional) == (other.llf, other.llf_conditional)


@pytest.mark.parametrize("law", ["LDA full", "LDA diag", "QDA full", "QDA spherical"])
def test_size_of_blocks(law, monkeypatch):
    expected = shared(law, "one-way")
    shared(law)
    monkeypatch.setattr(Dense, "block_size", property(lambda self: 37))
    other = fit(law, cov="one-way")
    same_fit(expected, other, toy().head(3))
    same(shared(law).error_rates().rates, other.error_rates().rates)
    same(shared(law).mardia_test(), other.mardia_test())


# ------------------------------------------------------------------------------------------------------- references
@pytest.mark.parametrize("cov", ["nonrobust", "HC0", "one-way"])
@laws
def test_another_reference(law, cov):
    """The same law: coefficients against another level are differences, with their covariance."""
    t, a = toy(), shared(law, cov)
    for reference in {"nonrobust": ["car"], "HC0": ["walk"], "one-way": ["walk"]}[cov]:
        b = fit(law, t, cov=cov, reference=reference)
        assert b.reference == reference and b.levels == LEVELS
        for name in SCALARS:
            np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-10, err_msg=name)
        close(b.params[[p for p in a.params.index if "odds" not in p]], a.params[len(LEVELS) - 1 :])
        same(a.priors, b.priors)
        same(a.predict(t), b.predict(t))
        same(a.predict(t, "joint"), b.predict(t, "joint"))
        same(a.get_prediction(t).summary_frame(), b.get_prediction(t).summary_frame(), 1e-8)
        same(a.pred_table(), b.pred_table())
        same(a.discriminant.level_contrasts(), b.discriminant.level_contrasts(), 1e-7, 1e-9)
        d = a.discriminant.params.assign(bus=0.0)
        same(d.sub(d[reference], axis=0)[b.discriminant.params.columns], b.discriminant.params, 1e-9, 1e-9)
        if reference == "car":
            same_tests(a, b, law)


# ------------------------------------------------------------------------------------------------ units of features
def functions(res, X):
    """The functions of the features that the implied logit is linear in, one column a coefficient."""
    columns, names = [np.ones(len(X))], dict(zip(NAMES, X.T))
    for name in res.discriminant.params.index[1:]:
        if name.startswith("|"):
            columns.append((X**2).sum(axis=1))
        elif name.endswith("^2"):
            columns.append(names[name[:-2]] ** 2)
        else:
            columns.append(np.prod([names[part] for part in name.split(":")], axis=0))
    return np.column_stack(columns)


def mapped(a, b, t, B, shift):
    """Coefficients and covariance of `a` in the features x B + shift of `b`, by the functions at the same points."""
    X = t[NAMES].to_numpy()
    A = np.linalg.lstsq(functions(b, X @ B + shift), functions(a, X), rcond=None)[0]
    M = np.kron(np.eye(len(LEVELS) - 1), A)
    return A @ a.discriminant.params.to_numpy(), M @ a.discriminant.cov_params().to_numpy() @ M.T


def check_mapped(law, B, shift, cov):
    t, a = toy(), shared(law, cov)
    new = t.copy()
    new[NAMES] = t[NAMES].to_numpy() @ B + shift
    b = fit(law, new, cov=cov)
    params, V = mapped(a, b, t, B, shift)
    scale = np.abs(params).max(axis=1, keepdims=True)
    close(b.discriminant.params / scale, params / scale, 1e-7, 1e-8)
    sd = np.sqrt(np.diag(V))
    close(b.discriminant.cov_params() / np.outer(sd, sd), V / np.outer(sd, sd), 1e-7, 1e-7)
    close(b.llf, a.llf - len(t) * np.log(abs(np.linalg.det(B))))
    close([b.llr, b.llf_conditional, b.prsquared], [a.llr, a.llf_conditional, a.prsquared])
    same(a.predict(t), b.predict(new))
    same(a.predict(t, "linear"), b.predict(new, "linear"), 1e-8, 1e-9)
    same(a.get_prediction(t).summary_frame(), b.get_prediction(new).summary_frame(), 1e-8)
    same(a.error_rates().rates, b.error_rates().rates, 1e-8)
    if "NaiveBayes" in law:
        return
    same(a.leave_one_out(), b.leave_one_out(), 1e-8)
    for name in ("manova", "boxm_test", "distances"):
        same(getattr(a, name)(), getattr(b, name)(), 1e-8)
    same(a.mardia_test(), b.mardia_test(), 1e-8)
    if np.count_nonzero(B) == len(B):
        same(a.f_to_remove(), b.f_to_remove(), 1e-8)
        same(a.canonical.structure.abs(), b.canonical.structure.abs(), 1e-8)
        same(a.canonical.scores(t).abs(), b.canonical.scores(new).abs(), 1e-8)


@pytest.mark.parametrize("cov", ["nonrobust", "one-way"])
@laws
def test_units(law, cov):
    """x -> a x + b."""
    scale = np.full(3, 4.0) if "spherical" in law else np.array([1e3, -0.25, 3.0])
    check_mapped(law, np.diag(scale), np.array([1.0, -2.0, 5.0]), cov)


@pytest.mark.parametrize("cov", ["nonrobust", "HC0"])
@pytest.mark.parametrize("law", ["LDA full", "QDA full"])
def test_linear_maps(law, cov):
    B = np.array([[1.0, 0.5, 0.0], [-0.3, 2.0, 0.4], [0.2, 0.0, 0.7]])
    check_mapped(law, B, np.array([0.5, 0.0, -1.0]), cov)


@pytest.mark.parametrize("cov", ["nonrobust", "HC0"])
@pytest.mark.parametrize("law", ["LDA spherical", "QDA spherical"])
def test_rotations(law, cov):
    Q = np.linalg.qr(np.random.default_rng(4).normal(size=(3, 3)))[0]
    check_mapped(law, Q, np.array([0.5, 0.0, -1.0]), cov)


@pytest.mark.parametrize("offset", [1e4, 1e7])
@laws
def test_a_far_origin(law, offset):
    """Features of large mean: posteriors, their errors and tests keep the digits that the data have."""
    t = toy()
    far = t.copy()
    far[NAMES] = t[NAMES] + offset
    back = far.copy()
    back[NAMES] = far[NAMES] - offset  # what the far data hold
    a, b = fit(law, back), fit(law, far)
    close(a.llf, b.llf, 1e-8)
    same(a.predict(back), b.predict(far), 1e-6, 1e-8)
    same(a.get_prediction(back).se, b.get_prediction(far).se, 1e-6, 1e-8)
    if law.startswith("LDA"):
        close(a.discriminant.bse[1:], b.discriminant.bse[1:], 1e-7)
        same(a.f_to_remove(), b.f_to_remove(), 1e-6)


# --------------------------------------------------------------------------------------------------- ways to say it
@laws
def test_arrays_are_formulas(law):
    model, options = LAWS[law]
    t, res = toy(), shared(law)
    named = model(t["mode"], t[NAMES], **options).fit()
    same(named.discriminant.params, res.discriminant.params, 1e-13)
    same_fit(named, fit(law, t), t.head(3)[NAMES])
    X = np.column_stack([t[NAMES].to_numpy(), np.ones(len(t))])
    arrays = model(t["mode"].to_numpy(), X, **options).fit()
    close(arrays.discriminant.params, res.discriminant.params, 1e-13)
    close(arrays.discriminant.bse, res.discriminant.bse, 1e-13)
    close([arrays.llf, arrays.aic], [res.llf, res.aic], 1e-14)
    assert arrays.model.dropped_const is not None
    close(arrays.predict(X[:5]), res.predict(t.head(5)), 1e-12)


@pytest.mark.parametrize("order", ["C", "F"])
@laws
def test_single_precision_arrays(law, order):
    model, options = LAWS[law]
    X = np.array(toy()[NAMES].to_numpy(), dtype=np.float32, order=order)
    a, b = model(toy()["mode"], X, **options).fit(), model(toy()["mode"], X.astype(float), **options).fit()
    for name in ("params", "bse"):
        close(getattr(a.discriminant, name), getattr(b.discriminant, name), 1e-12)
    close([a.llf, a.llf_conditional], [b.llf, b.llf_conditional], 1e-12)
    close(a.predict(X), b.predict(X.astype(float)), 1e-12)
    close(a.predict(), b.predict(), 1e-12)
    assert X.dtype == np.float32


@pytest.mark.parametrize("law", ["LDA full", "LDA diag", "QDA full"])
def test_intercepts_of_formulas(law):
    """Dummies and their coding do not depend on whether the formula has an intercept."""
    t = toy()
    a = fit(law, t, "mode ~ x1 + C(g)", cov="HC0")
    for formula in ("mode ~ 0 + x1 + C(g)", "mode ~ x1 + C(g) - 1", "mode ~ 1 + x1 + C(g)"):
        same_fit(a, fit(law, t, formula, cov="HC0"), t.head(3))
    assert list(a.discriminant.params.index[:4]) == ["Intercept", "C(g)[T.b]", "C(g)[T.c]", "x1"]
    assert "2 dummy columns" in a.summary().as_text()


def frames(t):
    """The same table in other containers and column types."""
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    t = t.drop(columns=["f", "w"])
    yield "polars", polars.DataFrame(t)
    yield "pyarrow", pyarrow.Table.from_pandas(t)
    yield "nullable", t.convert_dtypes()
    yield "categorical", t.assign(mode=t["mode"].astype("category"))
    yield "unused level", t.assign(mode=pd.Categorical(t["mode"], [*LEVELS, "train"]))
    yield "string", t.assign(mode=t["mode"].astype("string"))


@pytest.mark.filterwarnings("ignore:.*no rows, left out")
@laws
def test_kinds_of_frames(law):
    t, res = toy(), shared(law)
    new = t.head(4)[NAMES]
    for name, table in frames(t):
        other = fit(law, table)
        assert [str(level) for level in other.levels] == LEVELS, name
        close(other.discriminant.params, res.discriminant.params, 1e-12)
        close(other.discriminant.bse, res.discriminant.bse, 1e-12)
        close(other.predict(new), res.predict(new), 1e-12)
        close(other.predict(table)[:5], res.predict()[:5], 1e-12)


@laws
def test_missing_cells_of_nullable_columns(law):
    t = toy().convert_dtypes()
    t.loc[3, "x1"], t.loc[7, "mode"] = pd.NA, pd.NA
    res = fit(law, t, missing="drop")
    kept = toy().drop(index=[3, 7])
    assert res.nobs == len(kept)
    same(res.discriminant.params, fit(law, kept).discriminant.params, 1e-12)
    assert list(res.predict().index) == list(kept.index)


@pytest.mark.parametrize(
    ("kind", "labels"),
    [("int", [3, 10, 2]), ("bool", [False, True]), ("float", [0.5, 1.5, -1.0]), ("str", ["z", "y", "x"])],
)
@laws
def test_labels(law, kind, labels):
    """Levels are sorted, classes come back as the type that they had."""
    t = toy()
    code = t["mode"].map({level: i % len(labels) for i, level in enumerate(LEVELS)})
    t["y"] = np.array(labels)[code]
    res = fit(law, t, "y ~ x1 + x2 + x3")
    assert res.levels == sorted(labels) and res.reference == min(labels)
    assert list(res.predict(t).columns) == sorted(labels)
    classes = res.predict(t, "class")
    assert set(classes) <= set(labels) and type(classes.iloc[0]) is type(t["y"].iloc[0])
    assert classes.dtype == t["y"].dtype
    close(classes == t["y"], res.predict(t).idxmax(axis=1) == t["y"])
    named = t.assign(mode=code.map(dict(enumerate("abc"))))
    other = fit(law, named, reference=dict(zip(labels, "abc"))[min(labels)])
    close(other.llf, res.llf, 1e-12)
    assert other.pred_table().to_numpy().trace() == res.pred_table().to_numpy().trace()


@laws
def test_data_are_not_changed(law):
    model, options = LAWS[law]
    t = toy()
    before, X = t.copy(), t[NAMES].to_numpy()
    kept = X.copy()
    res = fit(law, t, cov="one-way", freq_weights="f")
    res.predict(t, priors="equal")
    res.augment(t)
    res.error_rates()
    pd.testing.assert_frame_equal(t, before)
    model(t["mode"].to_numpy(), X, **options).fit().predict(X)
    np.testing.assert_array_equal(X, kept)


# ------------------------------------------------------------------------------------------------------------ priors
@laws
def test_priors_at_prediction_are_those_of_a_fit(law):
    t, res, wanted = toy(), shared(law), {"car": 0.7, "bus": 0.1, "walk": 0.2}
    other = fit(law, t, priors=wanted)
    same_priors = other.predict(t)
    same(res.predict(t, priors=wanted), same_priors)
    same(res.predict(t, priors=[0.1, 0.7, 0.2]), same_priors)
    same(res.predict(t, priors=pd.Series(wanted)), same_priors)
    same(res.predict(t, "linear", priors=wanted), other.predict(t, "linear"), 1e-9, 1e-9)
    same(res.predict(t, "joint", priors=wanted), other.predict(t, "joint"))
    assert res.predict(t, "class", priors=wanted).tolist() == other.predict(t, "class").tolist()
    one, two = res.get_prediction(t, priors=wanted), other.get_prediction(t)
    same(one.summary_frame(), two.summary_frame(), 1e-8)


@laws
def test_priors_move_intercepts_only(law):
    a, b = shared(law), fit(law, priors=[0.1, 0.7, 0.2])
    shift = np.log([7.0, 2.0]) - np.log(a.priors / a.priors["bus"])[1:]
    close(b.discriminant.params.loc["Intercept"] - a.discriminant.params.loc["Intercept"], shift)
    same(a.discriminant.params[1:], b.discriminant.params[1:], 1e-12)
    same(a.discriminant.bse[1:], b.discriminant.bse[1:], 1e-12)
    counts = toy()["mode"].value_counts()[LEVELS].to_numpy()
    lost = 1 / counts[0] + 1 / counts[1:]
    close(a.discriminant.bse.loc["Intercept"] ** 2 - b.discriminant.bse.loc["Intercept"] ** 2, lost, 1e-8)
    assert b.k_params == a.k_params - 2 and len(b.params) == len(a.params) - 2


# ---------------------------------------------------------------------------------------------------------- keeping
def identical(a, b, new):
    for which in ("mean", "linear", "joint", "class"):
        np.testing.assert_array_equal(a.predict(new, which), b.predict(new, which))
    np.testing.assert_array_equal(a.get_prediction(new).summary_frame(), b.get_prediction(new).summary_frame())
    for one, two in ((a, b), (a.discriminant, b.discriminant)):
        for name in ("params", "bse", "tvalues", "pvalues", "cov_params", "conf_int"):
            if name == "cov_params" and one is a and a.model._pseudo:
                continue  # sampling weights: refused
            x, y = getattr(one, name), getattr(two, name)
            x, y = (x(), y()) if callable(x) else (x, y)
            np.testing.assert_array_equal(x, y)
            assert list(x.index) == list(y.index)
    for name in SCALARS:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    np.testing.assert_array_equal(a.error_rates().rates, b.error_rates().rates)
    np.testing.assert_array_equal(a.predict(new, priors=[0.2, 0.2, 0.6]), b.predict(new, priors=[0.2, 0.2, 0.6]))


@pytest.mark.parametrize("way", ["save", "remove_data", "pickle without data"])
@pytest.mark.parametrize("cov", ["nonrobust", "HC1"])
@laws
def test_kept_results_are_the_same_to_the_bit(law, cov, way):
    t, before, res = toy(), shared(law, cov), fit(law, cov=cov)
    new = t.head(6)
    if way == "save":
        file = io.StringIO()
        res.save(file)
        file.seek(0)
        other = glmclf.load(file)
        assert len(file.getvalue()) < 60_000
    else:
        res.remove_data()
        other = res if way == "remove_data" else pickle.loads(pickle.dumps(res))
    assert type(other) is type(before)
    identical(before, other, new)
    if law in DISCRIMINANTS:
        np.testing.assert_array_equal(before.manova(), other.manova())
        np.testing.assert_array_equal(before.boxm_test(), other.boxm_test())
        np.testing.assert_array_equal(before.canonical.scores(new), other.canonical.scores(new))


@pytest.mark.parametrize(
    ("model", "keywords", "options"),
    [
        (LDA, {"shrinkage": 0.3}, {}),
        (LDA, {"shrinkage": "oas", "ridge": 0.1}, {}),
        (QDA, {"shrinkage": "ledoit_wolf"}, {}),
        (LDA, {"divisor": "unbiased", "reference": "walk"}, {}),
        (LDA, {"priors": "equal"}, {}),
        (LDA, {}, {"bias_reduction": "exact"}),
        (QDA, {"weights": "w"}, {}),
    ],
)
def test_kept_results_with_keywords(model, keywords, options):
    res = model.from_formula(FORMULA, toy(), **keywords).fit(**options)
    file = io.StringIO()
    res.save(file)
    file.seek(0)
    identical(res, glmclf.load(file), toy().head(6))
    identical(res, pickle.loads(pickle.dumps(res)), toy().head(6))


# -------------------------------------------------------------------------------------------------- sampling weights
@pytest.mark.parametrize(
    ("law", "keywords"),
    [
        *((law, {}) for law in LAWS),
        *((law, {"shrinkage": way}) for law in ("LDA full", "QDA full") for way in (0.2, "oas", "ledoit_wolf")),
    ],
)
def test_scale_of_sampling_weights(law, keywords):
    t = toy()
    a, b = fit(law, t, weights="w", **keywords), fit(law, t.assign(w=1e4 * t.w), weights="w", **keywords)
    for res in (a, b):
        assert res.cov_type == "HC0" and res.nobs == len(t)
        assert np.isnan(res.aic) and np.isnan(res.bic) and np.isnan(res.llr_pvalue)
    same(a.priors, b.priors)
    same(a.discriminant.params, b.discriminant.params)
    same(a.discriminant.bse, b.discriminant.bse, 1e-8)
    same(a.predict(t), b.predict(t))
    close(b.llf, 1e4 * a.llf)
    same(a.error_rates().rates[["error"]], b.error_rates().rates[["error"]])


@discriminants
def test_pseudo_likelihoods_have_no_likelihood_tests(law):
    res = fit(law, weights="w")
    calls = ["manova", "boxm_test", "f_to_remove", "term_tests", "distances", "mardia_test", "ladder", "typicality"]
    for name in calls:
        with pytest.raises(ValueError, match="pseudo-likelihood"):
            getattr(res, name)()
    for call in (lambda: res.canonical, lambda: res.compare_lr_test(res), lambda: shared(law).compare_lr_test(res)):
        with pytest.raises(ValueError, match="pseudo-likelihood"):
            call()
    assert list(res.wald_test_terms().table.index[:4]) == ["Intercept", *NAMES]


@laws
def test_sampling_weights_by_hand(law):
    """Weighted moments, as if weights were counts."""
    t = toy()
    res, counted = fit(law, t, weights="w"), fit(law, t.assign(k=(t.w * 64).round().astype(int)), freq_weights="k")
    t["w"] = (t.w * 64).round() / 64
    res = fit(law, t, weights="w")
    same(res.priors, counted.priors)
    same(res.discriminant.params, counted.discriminant.params)
    close(64 * res.llf, counted.llf)


# ---------------------------------------------------------------------------------------------------- special cases
@pytest.mark.parametrize("pooled", [True, False])
def test_gaussian_naive_bayes_is_a_diagonal_law(pooled):
    t = toy()
    a = NaiveBayes.from_formula(FORMULA, t, pooled=pooled).fit()
    b = (LDA if pooled else QDA).from_formula(FORMULA, t, covariance="diag").fit()
    for name in (n for n in SCALARS if n != "bic"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-10, err_msg=name)
    for cov in ("nonrobust", "HC0", "HC1"):
        one, two = (r.with_cov(cov).discriminant for r in (a, b))
        for name in ("params", "bse"):
            same(getattr(one, name), getattr(two, name).loc[getattr(one, name).index], 1e-9)
    same(a.predict(t), b.predict(t))
    same(a.get_prediction(t).summary_frame(), b.get_prediction(t).summary_frame(), 1e-8)
    same(a.error_rates().rates, b.error_rates().rates, 1e-8)


@pytest.mark.parametrize("model", [LDA, QDA])
def test_structures_of_one_feature_agree(model):
    fits = [model.from_formula("mode ~ x1", toy(), covariance=kind).fit() for kind in ("full", "diag", "spherical")]
    for other in fits[1:]:
        close(fits[0].discriminant.params, other.discriminant.params, 1e-12)
        close(fits[0].discriminant.bse, other.discriminant.bse, 1e-12)
        close([fits[0].llf, fits[0].k_params], [other.llf, other.k_params], 1e-13)
        robust = [r.with_cov("HC0").discriminant.bse for r in (fits[0], other)]
        close(*robust, 1e-12)


def test_qda_of_equal_scatters_is_lda():
    """Classes that are translates of one another."""
    base = toy()[NAMES]
    parts = [base.assign(mode=level, x1=base.x1 + i, x2=base.x2 - i * i) for i, level in enumerate(LEVELS)]
    t = pd.concat(parts, ignore_index=True)
    a, b = fit("LDA full", t), fit("QDA full", t)
    close(a.llf, b.llf)
    close(a.predict(t), b.predict(t), 1e-8)
    close(b.discriminant.params[4:], 0, atol=1e-9)
    assert b.boxm_test().M == pytest.approx(0, abs=1e-8)
    assert b.compare_lr_test(a).pvalue == pytest.approx(1)


@discriminants
def test_discriminant_is_the_log_odds(law):
    res, t = shared(law), toy()
    Z = functions(res, t[NAMES].to_numpy())
    close(Z @ res.discriminant.params, res.predict(t, "linear")[LEVELS[1:]], 1e-9, 1e-9)
    close(softmax(res.predict(t, "linear"), axis=1), res.predict(t))


@pytest.mark.parametrize("cov", ["nonrobust", "HC0", "HC1", "one-way"])
@laws
def test_standard_errors_of_predictions_are_those_of_the_discriminant(law, cov):
    res, t = shared(law, cov), toy().head(20)
    Z, V = functions(res, t[NAMES].to_numpy()), res.discriminant.cov_params().to_numpy()
    m, p = Z.shape[1], res.predict(t).to_numpy()
    frame = res.get_prediction(t).se.to_numpy()
    for i in range(len(t)):
        R = np.kron(np.eye(2), Z[i])
        S = np.zeros((3, 3))
        S[1:, 1:] = R @ V @ R.T
        G = np.diag(p[i]) - np.outer(p[i], p[i])
        close(frame[i], np.sqrt(np.diag(G @ S @ G)), 1e-6, 1e-9)
    assert V.shape == (2 * m, 2 * m)


# ------------------------------------------------------------------------------------------------------- simulations
EFRON = {1.0: 0.995, 1.5: 0.968, 2.0: 0.899, 2.5: 0.786, 3.0: 0.641, 3.5: 0.486, 4.0: 0.343}


@pytest.mark.parametrize("delta", EFRON)
def test_asymptotic_efficiency_of_logistic_regression(delta):
    """Efron (1975): (1 + pi0 pi1 D^2) A0, by quadrature; our V has N var(b) = (1 + pi0 pi1 D^2) / (pi0 pi1)."""
    z = np.linspace(-12, 12, 40_001)
    phi = [np.exp(-0.5 * (z - m) ** 2) / np.sqrt(2 * np.pi) for m in (delta / 2, -delta / 2)]
    p = expit(delta * z)
    A0 = 4 * np.trapezoid(p * (1 - p) * (phi[0] + phi[1]) / 2, z)
    assert (1 + delta**2 / 4) * A0 == pytest.approx(EFRON[delta], abs=6e-4)
    # a table whose moments are the population's: means -/+ delta/2, variance 1
    a = np.array([-delta / 2 - 1, -delta / 2 + 1] * 2)
    t = pd.DataFrame({"x": np.r_[a, -a], "v": np.tile([-1.0, -1, 1, 1], 2), "y": np.repeat([0, 1], 4)})
    res = LDA.from_formula("y ~ x + v", t).fit()
    assert res.discriminant.params.loc["x", 1] == pytest.approx(delta)
    assert 8 * res.discriminant.bse.loc["v", 1] ** 2 == pytest.approx(4 * (1 + delta**2 / 4))


def slopes_of_logits(x, y, rounds=30):
    """Logistic regression of many samples at once, x (reps, n, k), y (reps, n): coefficients (reps, k)."""
    b = np.zeros((len(x), x.shape[2]))
    for _ in range(rounds):
        p = expit((x @ b[:, :, None])[..., 0])
        H = (x * (p * (1 - p))[..., None]).swapaxes(1, 2) @ x
        step = np.linalg.solve(H, x.swapaxes(1, 2) @ (y - p)[..., None])[..., 0]
        b += step
        if np.abs(step).max() < 1e-8:
            break
    return b


def slopes_of_lda(x, y):
    """Linear discriminants of two classes of many samples at once: S^-1 (m_1 - m_0), (reps, p)."""
    of = np.stack([1 - y, y], axis=1)  # (reps, 2, n)
    means = of @ x / of.sum(axis=2, keepdims=True)
    D = x - np.take_along_axis(means, y[..., None], axis=1)
    return np.linalg.solve(D.swapaxes(1, 2) @ D / x.shape[1], (means[:, 1] - means[:, 0])[..., None])[..., 0]


@pytest.mark.slow
@pytest.mark.parametrize("delta", [1.5, 2.0, 2.5, 3.0])
def test_efficiency_by_simulation(delta):
    """Variances of a null slope by LDA and by logistic regression, over samples large enough for the asymptotics."""
    rng = np.random.default_rng(int(10 * delta))
    reps, n = 2000, 500
    lda, reg = np.empty(reps), np.empty(reps)
    for start in range(0, reps, 250):
        y = (rng.random((250, n)) < 0.5).astype(int)
        x = rng.normal(size=(250, n, 2))
        x[:, :, 0] += delta * y
        X = np.concatenate([np.ones((250, n, 1)), x], axis=2)
        reg[start : start + 250] = slopes_of_logits(X, y)[:, 2]
        slopes = slopes_of_lda(x, y)
        lda[start : start + 250] = slopes[:, 1]
        for i in range(10):  # which are those of the package
            moments = class_moments(Blocks(Dense(x[i]), y[i], None), 2)
            close(slopes[i], logit.coefficients(fit_gaussian(moments, "full", True))[0, 1:])
    # the error of a ratio of correlated variances over 2000 samples is below sqrt(4/2000) = .045
    assert lda.var() / reg.var() == pytest.approx(EFRON[delta], abs=0.07)
    assert n * lda.var() == pytest.approx(4 * (1 + delta**2 / 4), rel=0.1)


def drawn(rng, n, unequal):
    """Rows from normal classes; with a law for each class, or one."""
    y = rng.choice(3, n, p=[0.4, 0.35, 0.25])
    roots = np.array([[[1.0, 0.0], [0.0, 1.0]], [[1.3, 0.4], [0.0, 0.8]], [[0.7, 0.0], [-0.3, 1.5]]])
    means = np.array([[0.0, 0.0], [1.0, 0.3], [-0.4, 1.2]])
    R = roots if unequal else roots[[1, 1, 1]]
    return means[y] + np.einsum("ip,ipq->iq", rng.normal(size=(n, 2)), R[y]), y


def limits(model, kind, unequal):
    """The discriminant's coefficients in the population: of a sample of moments exactly those of the laws."""
    rng = np.random.default_rng(0)
    parts = []
    for k, size in enumerate((800, 700, 500)):
        Z = rng.normal(size=(size, 2))
        Z -= Z.mean(axis=0)
        Z = Z @ np.linalg.inv(np.linalg.cholesky(Z.T @ Z / size)).T
        one = drawn_law(k, unequal)
        parts.append(one[0] + Z @ one[1])
    y = np.repeat([0, 1, 2], (800, 700, 500))
    X = np.vstack(parts)
    if kind == "diag" and model is not LDA:
        for k in range(3):
            X[y == k] = X[y == k].mean(axis=0) + decorrelated(X[y == k] - X[y == k].mean(axis=0))
    return model(y, X, covariance=kind).fit().discriminant.params


def decorrelated(D):
    sd = D.std(axis=0)
    return D @ np.linalg.inv(np.linalg.cholesky(D.T @ D / len(D))).T * sd


def drawn_law(k, unequal):
    roots = np.array([[[1.0, 0.0], [0.0, 1.0]], [[1.3, 0.4], [0.0, 0.8]], [[0.7, 0.0], [-0.3, 1.5]]])
    means = np.array([[0.0, 0.0], [1.0, 0.3], [-0.4, 1.2]])
    return means[k], roots[k] if unequal else roots[1]


def ends_of_intervals(X, y, kind, pooled, cov_type):
    """Of 95% intervals of the discriminant's coefficients, without the tables: (coefficients, 2)."""
    law = fit_gaussian(class_moments(Blocks(Dense(X), y, None), 3), kind, pooled)
    b = logit.coefficients(law)
    if cov_type is None:
        variances = logit.DiscriminantCovariance(law).variances()
    else:  # HC0
        psi = logit.to_raw(law, influence(law, X, y).reshape(-1, b.shape[1])).reshape(len(y), *b.shape)
        variances = (psi**2).sum(axis=0) / len(y) ** 2
    half = ndtri(0.975) * np.sqrt(variances)
    return np.column_stack([(b - half).ravel(), (b + half).ravel()])


def covered(model, kind, cov_type, unequal, reps, n, seed, independent=False):
    """Shares of intervals that hold the population's coefficients, one a coefficient, and all together."""
    rng, true = np.random.default_rng(seed), limits(QDA if model is NaiveBayes else model, kind, unequal)
    b, order = true.to_numpy().ravel(order="F"), list(true.index)
    hits = np.zeros((reps, true.size))
    for r in range(reps):
        X, y = drawn(rng, n, unequal)
        if independent:
            X, y = drawn_independent(rng, n)
        ends = ends_of_intervals(X, y, kind, model is LDA, cov_type)
        if r < 20:  # which are those of the results
            found = model(y, X, covariance=kind).fit(cov_type=cov_type).discriminant.conf_int()
            close(found.reindex(order, level=1), ends)
        hits[r] = (ends[:, 0] < b) & (b < ends[:, 1])
    return hits.mean(axis=0), hits.mean()


def drawn_independent(rng, n):
    """Features independent within classes, with the classes' means and variances of `drawn`."""
    y = rng.choice(3, n, p=[0.4, 0.35, 0.25])
    laws = [drawn_law(k, True) for k in range(3)]
    means = np.array([m for m, _ in laws])
    sd = np.array([np.sqrt(np.diag(R.T @ R)) for _, R in laws])
    return means[y] + sd[y] * rng.normal(size=(n, 2)), y


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "kind", "unequal"), [(LDA, "full", False), (QDA, "full", True), (NaiveBayes, "diag", True)]
)
def test_coverage_of_discriminant_intervals(model, kind, unequal):
    """95% intervals from the inverse information, under the model."""
    each, all_together = covered(model, kind, None, unequal, reps=700, n=250, seed=8, independent=model is NaiveBayes)
    assert 0.93 < all_together < 0.97
    assert (each > 0.92).all() and (each < 0.98).all()


@pytest.mark.slow
def test_coverage_of_robust_intervals():
    """LDA where covariances differ: robust intervals hold the limits, those from the information do not all."""
    each, all_together = covered(LDA, "full", "HC0", True, reps=500, n=400, seed=9)
    assert 0.93 < all_together < 0.97 and (each > 0.92).all()
    model_based, _ = covered(LDA, "full", None, True, reps=300, n=400, seed=10)
    assert np.abs(model_based - 0.95).max() > 0.02
