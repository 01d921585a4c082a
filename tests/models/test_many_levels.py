"""Fits of designs in which a factor has many levels: every number is that of the dense computation."""

import functools
import warnings

import numpy as np
import pandas as pd
import pytest

import glmclf
from glmclf.core.design import coding
from glmclf.core.design.arrow import ArrowColumns
from glmclf.core.design.recoding import RecodedColumns, RecodedMatrix
from glmclf.core.fit import level_rank
from glmclf.core.numerics.arrow import BlocksPlusLowRank
from glmclf.errors import CollinearityError, CollinearityWarning, EstimationError, InferenceWarning, SeparationWarning
from glmclf.results.diagnostics import hauck_donner
from glmclf.results.diagnostics.goodness_of_fit import pattern_numbers
from glmclf.results.margins.predictors import RegressionPredictors
from glmclf.results.margins.rows import ObservedRows

FEW = 10**9  # levels that no factor has, so that all are dense
LEVELS, ROWS = 14, 40
TOL = 1e-10


@functools.cache
def _table():
    g = np.random.default_rng(31)
    n = LEVELS * ROWS
    t = pd.DataFrame({"x": g.normal(size=n), "z": 2.0 + g.normal(size=n), "g": g.choice(list("abc"), n)})
    t["id"] = g.permutation(np.repeat([f"f{i:02d}" for i in range(LEVELS)], ROWS))
    eta = 0.5 * t.x - 0.3 * t.z + t.id.map(dict(zip(np.unique(t.id), 0.7 * g.normal(size=LEVELS), strict=True)))
    t["y"] = (g.random(n) < 1 / (1 + np.exp(-eta - 0.5))).astype(int)
    t["k"] = np.where(g.random(n) < 0.4, "other", np.where(t.y == 1, "yes", "no"))
    t["w"], t["share"], t["off"] = g.integers(1, 4, n), 0.5 + g.random(n), 0.3 * g.normal(size=n)
    t["s"], t["f"] = t.y + g.integers(0, 3, n), 1 - t.y + g.integers(0, 3, n)
    t["region"], t["day"] = t.id.str[1:].astype(int) // 4, g.integers(0, 30, n)
    t["size"] = pd.Categorical(t.id, categories=[*sorted(t.id.unique()), "empty"], ordered=True)
    return t


def pair(monkeypatch, model, formula, table=None, how=None, many=ArrowColumns, **given):
    """The dense fit and that of many levels."""
    found = []
    for few in (FEW, 5):
        monkeypatch.setattr(coding, "MANY_LEVELS", few)
        m = getattr(glmclf, model).from_formula(formula, _table() if table is None else table, **given)
        found.append(m.fit(**(how or {})))
    assert isinstance(found[1].model._rows.X, many)
    assert not isinstance(found[0].model._rows.X, ArrowColumns)
    return found


def check(dense, many):
    """Estimates, standard errors, covariance and likelihood agree, relative to the standard errors."""
    se = np.asarray(dense.bse).ravel()
    scale = np.where(np.isfinite(se), se, 1.0)
    a, b = (np.asarray(res.params).ravel() for res in (dense, many))
    np.testing.assert_array_equal(np.isfinite(a), np.isfinite(b))
    ok = np.isfinite(a)
    assert (a[~ok] == b[~ok])[~np.isnan(a[~ok])].all()
    assert (np.abs(a[ok] - b[ok]) / scale[ok]).max() < TOL
    np.testing.assert_allclose(np.asarray(many.bse).ravel(), se, rtol=TOL)
    V, W = np.asarray(dense.cov_params()), np.asarray(many.cov_params())
    size = np.sqrt(np.abs(np.outer(np.diag(V), np.diag(V))))  # one of two groupings may be negative
    np.testing.assert_allclose(W / size, V / size, atol=TOL)
    np.testing.assert_allclose(many.llf, dense.llf, rtol=1e-13)


@pytest.mark.parametrize("model", ["Logit", "Probit", "CLogLog"])
@pytest.mark.parametrize("formula", ["y ~ x + z + id", "y ~ 0 + id + x", "y ~ x * id + g"])
def test_binary_models(monkeypatch, model, formula):
    check(*pair(monkeypatch, model, formula))


@pytest.mark.parametrize("formula", ["k ~ x + z + id", "k ~ 0 + x + id", "k ~ x + z * id"])
def test_several_classes(monkeypatch, formula):
    check(*pair(monkeypatch, "MNLogit", formula))


@pytest.mark.parametrize(
    "formula, given",
    [
        ("y ~ x + id * g", {}),
        ("y ~ x + g:id", {}),
        ("y ~ x + C(id, Treatment('f03'))", {}),
        ("y ~ x + C(id, base='f13')", {}),
        ("y ~ x + size", {}),
        ("y ~ x + z + id", {"freq_weights": "w"}),
        ("y ~ x + z + id", {"weights": "share"}),
        ("y ~ x + id", {"offset": "off"}),
        ("s + f ~ x + z + id", {}),
        ("y ~ x + C(region) : z + id", {}),
    ],
)
def test_codings_weights_and_counts(monkeypatch, formula, given):
    check(*pair(monkeypatch, "Logit", formula, **given))


@pytest.mark.parametrize("code", ["C(id, Sum)", "C(id, Sum('f02'))"])
def test_deviations(monkeypatch, code):
    check(*pair(monkeypatch, "Logit", f"y ~ x + {code}", many=object))


ROBUST = [
    {"cov_type": "expected"},
    {"cov_type": "HC0"},
    {"cov_type": "HC1"},
    {"cov_type": "HC2"},
    {"cov_type": "HC3"},
    {"cov_type": "HC4"},
    {"cov_type": "HC5"},
    {"cov_type": "cluster", "cov_kwds": {"groups": "id"}},
    {"cov_type": "cluster", "cov_kwds": {"groups": "day"}},
    {"cov_type": "cluster", "cov_kwds": {"groups": ["id", "day"]}},
    {"cov_type": "HAC", "cov_kwds": {"maxlags": 2}},
]


@pytest.mark.parametrize("how", ROBUST, ids=lambda how: str(how.get("cov_kwds", how["cov_type"])))
@pytest.mark.parametrize("model, formula", [("Probit", "y ~ x + z + id"), ("MNLogit", "k ~ x + id")])
def test_robust_covariances(monkeypatch, model, formula, how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)  # few clusters
        check(*pair(monkeypatch, model, formula, how=how))


def test_clusters_of_several_levels_each(monkeypatch):
    how = {"cov_type": "cluster", "cov_kwds": {"groups": "region"}}
    with pytest.warns(InferenceWarning) as seen:
        dense, found = pair(monkeypatch, "Logit", "y ~ x + z + id", how=how)
    said = [str(w.message) for w in seen]
    assert sum("Few clusters" in words for words in said) == 2
    assert sum(f"add up to 0 for {len(found.params) - 2} coefficients" in words for words in said) == 2
    check(dense, found)


@pytest.mark.parametrize("given", [{"freq_weights": "w"}, {"weights": "share"}])
@pytest.mark.parametrize("how", [ROBUST[1], ROBUST[4], ROBUST[8]], ids=lambda how: how["cov_type"])
def test_robust_covariances_with_weights(monkeypatch, given, how):
    check(*pair(monkeypatch, "Logit", "y ~ x + id", how=how, **given))


@pytest.mark.parametrize("method", ["newton", "bfgs", "lbfgs", "sgd"])
def test_solvers(monkeypatch, method):
    check(*pair(monkeypatch, "Logit", "y ~ x + id", how={"method": method}))


@pytest.mark.parametrize("model", ["Logit", "Probit", "MNLogit"])
def test_bias_reduction(monkeypatch, model):
    left = "k" if model == "MNLogit" else "y"
    check(*pair(monkeypatch, model, f"{left} ~ x + id", how={"bias_reduction": "firth"}))


def test_separated_level(monkeypatch):
    t = _table().copy()
    t.loc[t.id == "f05", "y"] = 1
    with pytest.warns(SeparationWarning):
        dense, many = pair(monkeypatch, "Logit", "y ~ x + z + id", t)
    assert np.isposinf(many.params["id[T.f05]"])
    check(dense, many)


def test_level_without_rows(monkeypatch):
    t = _table().copy()
    t = t[t["size"] != "f04"]
    with pytest.warns(CollinearityWarning, match=r'"C\(size, levels='):
        dense, many = pair(monkeypatch, "Logit", f"y ~ x + C(size, levels={sorted(_table().id.unique())})", t)
    check(dense, many)


def test_nothing_of_levels_times_levels(monkeypatch):
    monkeypatch.setattr("glmclf.core.numerics.arrow.MAX_DENSE_BYTES", 8 * 10**2)
    monkeypatch.setattr(coding, "MANY_LEVELS", 5)
    res = glmclf.Logit.from_formula("y ~ x + z + id", _table()).fit()
    assert isinstance(res._V, BlocksPlusLowRank)
    for cov in (ROBUST[2], ROBUST[4], ROBUST[7]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InferenceWarning)
            assert np.isfinite(res.with_cov(cov["cov_type"], **cov.get("cov_kwds", {})).bse).all()
    assert np.isfinite(res.pvalues).all() and np.isfinite(res.conf_int()).all(axis=None)
    assert np.isfinite(res.predict()).all()
    with pytest.raises(NotImplementedError, match="cov_params"):
        res.cov_params()


def test_saved_and_loaded(monkeypatch, tmp_path):
    monkeypatch.setattr(coding, "MANY_LEVELS", 5)
    for formula in ("y ~ x * id", "y ~ C(id, Sum) + x"):
        res = glmclf.Logit.from_formula(formula, _table()).fit(cov_type="HC1")
        res.save(tmp_path / "fit.json")
        again = glmclf.load(tmp_path / "fit.json")
        np.testing.assert_array_equal(again.bse, res.bse)
        np.testing.assert_array_equal(again.cov_params(), res.cov_params())
        np.testing.assert_array_equal(again.predict(_table().head(9)), res.predict(_table().head(9)))


STREAMS = [
    ("Logit", "y ~ x + z + id", {}, {}),
    ("Logit", "y ~ 0 + x * id", {}, {"offset": "off"}),
    ("Probit", "y ~ x + id", ROBUST[2], {"freq_weights": "w"}),
    ("CLogLog", "y ~ x + id", ROBUST[4], {}),
    ("Logit", "y ~ x + id", {"cov_type": "cluster", "cov_kwds": {"groups": "person"}}, {}),
    ("Logit", "y ~ x + id", ROBUST[8], {"weights": "share"}),
    ("Logit", "y ~ x + id", {"bias_reduction": "firth"}, {}),
    ("MNLogit", "k ~ x + id", ROBUST[1], {}),
]


@pytest.mark.parametrize("model, formula, how, given", STREAMS)
def test_data_in_parts(monkeypatch, tmp_path, model, formula, how, given):
    """Levels are those of all parts, of which none has all."""
    t = _table().sort_values("id").assign(person=np.arange(len(_table())) // 3)
    t.drop(columns="size").to_parquet(tmp_path / "t.parquet", row_group_size=150)
    monkeypatch.setattr(coding, "MANY_LEVELS", FEW)
    dense = getattr(glmclf, model).from_formula(formula, t, **given).fit(**how)
    monkeypatch.setattr(coding, "MANY_LEVELS", 5)
    many = getattr(glmclf, model).from_formula(formula, tmp_path / "t.parquet", **given).fit(**how)
    assert isinstance(many._V, BlocksPlusLowRank)
    check(dense, many)
    assert many.llnull == pytest.approx(dense.llnull, rel=1e-12)


@pytest.mark.parametrize("formula", ["y ~ x + id", "y ~ 0 + x + id"])
def test_large_offsets(monkeypatch, formula):
    t = _table().assign(away=_table().off + 1e6, by_level=_table().off + 50.0 * (_table().region % 2))
    for name in ("away", "by_level"):
        check(*pair(monkeypatch, "Logit", formula, t, offset=name))


COLLINEAR = ["y ~ x + id + twice", "y ~ region + x + id", "y ~ C(region) + id", "y ~ year + id"]


@pytest.mark.parametrize("formula", COLLINEAR)
def test_collinear_and_ill_conditioned_columns(monkeypatch, formula):
    """Rank is told by what is left within levels, and digits that an ill-conditioned design costs are few."""
    monkeypatch.setattr("glmclf.core.fit.level_rank.MAX_EXPANDED_ARITHMETIC", 0)
    t = _table().assign(twice=2.0 * _table().x, year=2000.0 + _table().day // 6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollinearityWarning)
        dense, many = pair(monkeypatch, "Logit", formula, t)
    assert dense._state.combinations.keys() == many._state.combinations.keys()
    for j, terms in dense._state.combinations.items():
        assert many._state.combinations[j] == pytest.approx(terms, abs=1e-9)
    np.testing.assert_allclose(many.bse, dense.bse, rtol=1e-7 if "year" in formula else TOL)
    digits = np.asarray(many.digits)[np.isfinite(many.params)]
    assert (digits > 5).all() and np.abs(digits - np.asarray(dense.digits)[np.isfinite(many.params)]).max() < 8


def test_refine_is_refused_where_it_would_expand_all_levels(monkeypatch):
    monkeypatch.setattr("glmclf.core.fit.level_rank.MAX_EXPANDED_ARITHMETIC", 0)
    monkeypatch.setattr(coding, "MANY_LEVELS", 5)
    with pytest.raises(NotImplementedError, match="refine=True expands all 16 columns"):
        glmclf.Logit.from_formula("y ~ x + z + id", _table()).fit(refine=True)


@pytest.mark.parametrize("how", [{}, ROBUST[2], ROBUST[8]], ids=lambda how: how.get("cov_type", "nonrobust"))
@pytest.mark.parametrize("model", ["Logit", "MNLogit"])
def test_covariances_of_separated_levels(monkeypatch, model, how):
    t = _table().assign(person=np.arange(len(_table())) // 3)
    t.loc[t.id.isin(["f05", "f09"]), ["y", "k"]] = 1, "yes"
    t.loc[t.id == "f02", "y"] = 0
    t.loc[(t.id == "f02") & (t.k == "no"), "k"] = "other"
    left = "k" if model == "MNLogit" else "y"
    with pytest.warns(SeparationWarning):
        dense, many = pair(monkeypatch, model, f"{left} ~ x + z + id", t, how)
    check(dense, many)
    with monkeypatch.context() as few:
        few.setattr("glmclf.core.numerics.arrow.MAX_DENSE_BYTES", 8 * 10**2)
        with pytest.warns(SeparationWarning):
            again = many.model.fit(**how)
        np.testing.assert_array_equal(again.bse, many.bse)


def test_hauck_donner_without_the_tests_that_are_too_large(monkeypatch):
    t = _table().copy()
    t.loc[t.id == "f05", "y"] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        dense, many = pair(monkeypatch, "Logit", "y ~ x + id", t)
    right = dense.hauck_donner
    monkeypatch.setattr("glmclf.core.separation.outcomes.MAX_NUMBERS_OF_PROGRAMS", 200)
    with pytest.warns(InferenceWarning, match=r'p-values of "id\[T.f05\]" are NaN: .* linear programs on'):
        found = many.hauck_donner
    assert right.present["id[T.f05]"] and np.isfinite(right.lr["id[T.f05]"])
    assert found.present.equals(right.present) and np.isnan(found.lr["id[T.f05]"])
    np.testing.assert_allclose(found.wald, right.wald, rtol=1e-8)


EFFECT = [("Logit", "y ~ x * id"), ("Probit", "y ~ x + z + id"), ("MNLogit", "k ~ x + id"), ("MNLogit", "k ~ 0 + id")]


@pytest.mark.parametrize("model, formula", EFFECT)
def test_hauck_donner_and_likelihood_ratios(monkeypatch, model, formula):
    """Derivatives of Wald statistics (of several classes those of the border), and tests of single coefficients."""
    dense, many = pair(monkeypatch, model, formula)
    told = [hauck_donner.all_derivatives(res) for res in (dense, many)]
    here = np.isfinite(told[1])
    np.testing.assert_allclose(told[1][here], told[0][here], rtol=1e-9)
    assert here.sum() == (2 * len(many.model._rows.X.layout.border) if model == "MNLogit" else len(here))
    for j in (1, len(here) - 1):
        assert hauck_donner.lr_pvalue(many, j) == pytest.approx(hauck_donner.lr_pvalue(dense, j), rel=1e-8)


@pytest.mark.parametrize("how", [{}, ROBUST[2], ROBUST[8]], ids=lambda how: how.get("cov_type", "nonrobust"))
def test_predictions_and_joint_tests(monkeypatch, how):
    dense, many = pair(monkeypatch, "Logit", "y ~ x + z + id", how=how)
    new = _table().head(40)
    a, b = (res.get_prediction(new).summary_frame() for res in (dense, many))
    np.testing.assert_allclose(b, a, rtol=1e-9)
    a, b = (res.wald_test_terms().table.astype(float) for res in (dense, many))
    np.testing.assert_allclose(b, a, rtol=1e-7)


CELLS = [("Logit", "y ~ x + g * id"), ("Probit", "y ~ id + other"), ("MNLogit", "k ~ id * g + x")]


@pytest.mark.parametrize("model, formula", CELLS)
def test_predictions_beside_separated_cells(monkeypatch, model, formula):
    """What is infinite are columns of one slot and not of another, or so many levels that another factor has more."""
    t = _table().assign(other=np.random.default_rng(2).permutation(_table().id))
    t.loc[(t.id == "f01") & (t.g == "b"), ["y", "k"]] = 1, "yes"
    t.loc[t.id.isin(["f07", "f09"]) & ((t.g == "c") | (model == "Probit")), ["y", "k"]] = 1, "yes"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dense, many = pair(monkeypatch, model, formula, t)
        check(dense, many)
        assert 0 < (~np.isfinite(np.asarray(many.params))).sum() < 20
        for which in ("mean", "linear"):
            a, b = (res.get_prediction(t, which=which).summary_frame() for res in (dense, many))
            np.testing.assert_allclose(b.select_dtypes(float), a.select_dtypes(float), rtol=1e-8, atol=1e-12)


@pytest.mark.filterwarnings("ignore:Standard errors are from the inverse observed information of the selected")
@pytest.mark.parametrize("L1_wt, refit", [(0.0, False), (1.0, False), (0.5, False), (1.0, True)])
@pytest.mark.parametrize("model", ["Probit", "MNLogit"])
def test_penalties(monkeypatch, model, L1_wt, refit):
    left, fits = "k" if model == "MNLogit" else "y", []
    for few in (FEW, 5):
        monkeypatch.setattr(coding, "MANY_LEVELS", few)
        m = getattr(glmclf, model).from_formula(f"{left} ~ x + z + id", _table())
        fits.append(m.fit_regularized(alpha=0.01, L1_wt=L1_wt, refit=refit))
    np.testing.assert_allclose(fits[1].params, fits[0].params, atol=1e-9)
    if L1_wt == 0 or refit:
        np.testing.assert_allclose(fits[1].bse, fits[0].bse, rtol=1e-9)


RIDGES = {
    "plain": ("y ~ x + z + id", {}, {}),
    "weights": ("y ~ x + z + id", {"freq_weights": "w"}, {}),
    "offset": ("y ~ x + z + id", {"offset": "off"}, {}),
    "counts": ("s + f ~ x + z + id", {}, {}),
    "intercept": ("y ~ x + z + id", {}, {"penalize_intercept": True}),
    "alpha by coefficient": ("y ~ x + z + id", {}, {"alpha": {"x": 0.0, "z": 0.3, "id[T.f03]": 0.0}}),
    "weak": ("y ~ x + z + id", {}, {"alpha": 1e-7}),
    "no intercept": ("y ~ 0 + id + x", {}, {}),
    "slopes": ("y ~ x * id + g", {}, {}),
    "a year": ("y ~ x + I(2000 + z) + id", {}, {"alpha": 0.002}),
    "repeated": ("y ~ x + I(2 * x) + id", {}, {}),
}


def penalised(monkeypatch, model, formula, given, how):
    """The penalised fit of the dense design and that of many levels."""
    fits = []
    for few in (FEW, 5):
        monkeypatch.setattr(coding, "MANY_LEVELS", few)
        m = getattr(glmclf, model).from_formula(formula, _table(), **given)
        alpha = how.get("alpha", 0.01)
        if isinstance(alpha, dict):
            alpha = np.array([alpha.get(name, 0.0 if name == "Intercept" else 0.02) for name in m.exog_names])
        fits.append(m.fit_regularized(**{**how, "alpha": alpha}))
    assert isinstance(fits[1].model._rows.X, ArrowColumns)
    assert isinstance(fits[1]._state.estimate.V, BlocksPlusLowRank)
    return fits


def same_ridge(dense, many):
    check(dense, many)
    np.testing.assert_allclose(many.posterior_sd, dense.posterior_sd, rtol=TOL)
    for name in ("llf_penalized", "k_params_effective", "df_model", "aic"):
        assert getattr(many, name) == pytest.approx(getattr(dense, name), rel=1e-9)
    new = _table().head(40)
    a, b = (res.get_prediction(new, offset=np.zeros(40)).summary_frame() for res in (dense, many))
    np.testing.assert_allclose(b.select_dtypes(float), a.select_dtypes(float), rtol=1e-8)


@pytest.mark.filterwarnings("ignore:The columns span a constant")
@pytest.mark.parametrize("case", RIDGES)
@pytest.mark.parametrize("model", ["Logit", "Probit", "CLogLog"])
def test_ridges(monkeypatch, tmp_path, model, case):
    """Ridges keep the arrow matrix: estimates and posterior, saved and loaded, are those of the dense design."""
    dense, many = penalised(monkeypatch, model, *RIDGES[case])
    same_ridge(dense, many)
    many.save(tmp_path / "many.json")
    same_ridge(dense, glmclf.load(tmp_path / "many.json"))


@pytest.mark.parametrize("how", [{}, {"penalize_intercept": True}, {"symmetric": True}], ids=str)
def test_ridges_of_several_classes(monkeypatch, how):
    fits = []
    for few in (FEW, 5):
        monkeypatch.setattr(coding, "MANY_LEVELS", few)
        m = glmclf.MNLogit.from_formula("k ~ x + z + id", _table())
        fits.append(m.fit_regularized(alpha=0.01, **how))
    dense, many = fits
    check(dense, many)
    assert many.k_params_effective == pytest.approx(dense.k_params_effective, rel=1e-9)


@pytest.mark.filterwarnings("ignore:The columns span a constant", "ignore:Standard errors are from the inverse")
@pytest.mark.parametrize("case", [name for name in RIDGES if name not in ("weak", "repeated")])
@pytest.mark.parametrize("model, L1_wt, refit", [("Logit", 1.0, False), ("CLogLog", 0.3, False), ("Probit", 0.9, True)])
def test_lassos(monkeypatch, tmp_path, model, L1_wt, refit, case):
    """Lassos, elastic nets and refits of what they select are those of the dense design, saved and loaded, too."""
    formula, given, how = RIDGES[case]
    dense, many = penalised(monkeypatch, model, formula, given, {**how, "L1_wt": L1_wt, "refit": refit})
    assert len(many.selected)
    many.save(tmp_path / "many.json")
    for res in (many, glmclf.load(tmp_path / "many.json")):
        assert list(res.selected) == list(dense.selected)
        np.testing.assert_allclose(res.params, dense.params, atol=1e-9)
        np.testing.assert_allclose(res.bse, dense.bse, rtol=1e-9)
        for name in ("llf", "k_params_effective", "df_model"):
            assert getattr(res, name) == pytest.approx(getattr(dense, name), rel=1e-9)


def test_lasso_of_columns_that_repeat_each_other(monkeypatch):
    """Nothing tells them apart but the absolute values: an array of all columns does."""
    fits = []
    for few in (FEW, 5):
        monkeypatch.setattr(coding, "MANY_LEVELS", few)
        fits.append(glmclf.Logit.from_formula("y ~ x + I(2 * x) + id", _table()).fit_regularized(0.01, 1.0))
    np.testing.assert_allclose(fits[1].params, fits[0].params, atol=1e-9)


def test_lasso_without_some_columns(monkeypatch):
    """An infinite alpha has a coefficient 0."""
    alpha = {"id[T.f02]": np.inf, "x": np.inf, "id[T.f03]": 0.0}
    dense, many = penalised(monkeypatch, "Logit", "y ~ x + z + id", {}, {"alpha": alpha, "L1_wt": 1.0})
    np.testing.assert_allclose(many.params, dense.params, atol=1e-10)
    assert many.params["x"] == 0 and many.params["id[T.f03]"] != 0


@pytest.mark.parametrize("L1_wt", [1.0, 0.5])
def test_lasso_path(monkeypatch, L1_wt):
    found = []
    for few in (FEW, 5):
        monkeypatch.setattr(coding, "MANY_LEVELS", few)
        for model, left in (("Logit", "y"), ("MNLogit", "k")):
            m = getattr(glmclf, model).from_formula(f"{left} ~ x + z + id", _table())
            path = m.fit_regularized(alphas="auto", L1_wt=L1_wt)
            assert path.converged.all()
            found.append((path.params, path.edf))
    for dense, many in zip(found[:2], found[2:], strict=True):
        for a, b in zip(dense, many, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-8, atol=1e-8)


def test_lasso_of_very_many_levels_meets_the_optimality_conditions():
    g = np.random.default_rng(4)
    level = np.repeat(np.arange(20_000), 10)
    eta = g.normal(size=20_000)[level]
    t = pd.DataFrame({"x": g.normal(size=len(level)), "id": level, "y": g.random(len(level)) < 1 / (1 + np.exp(-eta))})
    res = glmclf.Logit.from_formula("y ~ x + C(id)", t).fit_regularized(alpha=2.0 / len(t), L1_wt=1.0)
    score = np.bincount(level, weights=t.y - res.predict(t))[1:]
    b = res.params.to_numpy()[1:-1]
    assert res.converged and 5_000 < (b != 0).sum() < 20_000
    np.testing.assert_allclose(score[b != 0], 2.0 * np.sign(b[b != 0]), atol=1e-8)
    assert (np.abs(score[b == 0]) <= 2.0).all()
    assert res.k_params_effective == (res.params != 0).sum()


def test_ridge_path_and_folds(monkeypatch):
    found = []
    for few in (FEW, 5):
        monkeypatch.setattr(coding, "MANY_LEVELS", few)
        m = glmclf.Logit.from_formula("y ~ x + z + id", _table())
        path, cv = m.fit_regularized(alphas=[0.1, 0.01, 0.0]), m.fit_regularized_cv(3, 1, [0.1, 0.01])
        found.append((path.params, path.edf, cv.cv["deviance"]))
    for dense, many in zip(*found, strict=True):
        np.testing.assert_allclose(many, dense, rtol=1e-8, atol=1e-9)


def test_no_array_of_all_levels_by_all_is_made_for_a_ridge(monkeypatch):
    """Of 20,000 levels each has a posterior, which the normal equations of its own rows and the border tell."""
    g = np.random.default_rng(3)
    level = np.repeat(np.arange(20_000), 3)
    t = pd.DataFrame({"y": g.integers(0, 2, len(level)), "x": g.normal(size=len(level)), "id": level})
    res = glmclf.Logit.from_formula("y ~ x + C(id)", t).fit_regularized(alpha=0.1 / len(t), L1_wt=0.0)
    assert res.converged and len(res.posterior_sd) == 20_001
    p = res.predict(t)
    score = np.bincount(level, weights=t.y - p)[1:] - 0.1 * res.params.to_numpy()[1:-1]
    np.testing.assert_allclose(score, 0.0, atol=1e-9)
    W, X = p * (1 - p), np.column_stack([np.ones(len(t)), t.x])
    B = np.stack([np.bincount(level, weights=W * column)[1:] for column in X.T])
    C = B[0] + 0.1
    S = X.T @ (X * W.to_numpy()[:, None]) + np.diag([0.0, 0.1]) - (B / C) @ B.T
    variance = 1 / C + np.einsum("il,ij,jl->l", B / C, np.linalg.inv(S), B / C)
    np.testing.assert_allclose(res.posterior_sd.iloc[1:-1], np.sqrt(variance), rtol=1e-9)


def test_constraints(monkeypatch):
    fits = []
    for few in (FEW, 5):
        monkeypatch.setattr(coding, "MANY_LEVELS", few)
        fits.append(glmclf.Logit.from_formula("y ~ x + id", _table()).fit_constrained("id[T.f03] = id[T.f04]"))
    np.testing.assert_allclose(fits[1].params, fits[0].params, rtol=1e-9)
    np.testing.assert_allclose(fits[1].bse, fits[0].bse, rtol=1e-9)


@pytest.mark.parametrize("cov_type", ["nonrobust", "HC1", "HC2", "cluster"])
def test_covariances_of_a_constrained_fit(monkeypatch, cov_type):
    """One coefficient for two columns is that of their sum."""
    monkeypatch.setattr(coding, "MANY_LEVELS", 5)
    groups = {"cov_kwds": {"groups": "region"}} if cov_type == "cluster" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)  # few clusters
        m = glmclf.Logit.from_formula("y ~ x + z + id", _table())
        res = m.fit_constrained("x = z", cov_type=cov_type, **groups)
        right = glmclf.Logit.from_formula("y ~ I(x + z) + id", _table()).fit(cov_type=cov_type, **groups)
    assert isinstance(m._rows.X, ArrowColumns)
    np.testing.assert_allclose(res.bse[["x", "z"]], right.bse.iloc[[-1, -1]], rtol=1e-8)


@pytest.mark.parametrize("model", ["Logit", "MNLogit"])
def test_score_tests_of_added_columns(monkeypatch, model):
    """Of columns that are apart from those of the fit, and of one that they all but explain."""
    t = _table().assign(near=_table().x + _table().region + 1e-4 * _table().z)
    left = "k" if model == "MNLogit" else "y"
    dense, many = pair(monkeypatch, model, f"{left} ~ x + id", t)
    monkeypatch.setattr("glmclf.core.numerics.arrow.MAX_DENSE_BYTES", 8 * 10**2)  # nothing of all pairs of columns
    for more in ("z", "near"):
        assert many.score_test(more).statistic == pytest.approx(dense.score_test(more).statistic, rel=1e-7)
    many, dense = (res.score_test("z", cov_type="HC0").statistic for res in (many, dense))
    assert many == pytest.approx(dense, rel=1e-7)


BESIDE_SEPARATED = [("Logit", "y ~ x * id"), ("MNLogit", "k ~ x + id"), ("MNLogit", "k ~ x * id")]


@pytest.mark.parametrize("model, formula", BESIDE_SEPARATED)
@pytest.mark.parametrize("levels", [["f00"], ["f03", "f05"]])
def test_score_tests_beside_separated_levels(monkeypatch, model, formula, levels):
    """Of the rows that are left some levels have none, or, of the base level, depend on each other."""
    t = _table().copy()
    t.loc[t.id.isin(levels), ["y", "k"]] = 1, "yes"
    t = t.assign(near=t.x + t.region + 1e-4 * t.z)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        dense, many = pair(monkeypatch, model, formula, t)
    for more in ("z", "near"):
        for cov_type in ("nonrobust", "HC0"):
            a, b = (res.score_test(more, cov_type=cov_type).statistic for res in (dense, many))
            assert b == pytest.approx(a, rel=1e-7)


@pytest.mark.parametrize("impose_null", [True, False])
@pytest.mark.parametrize("groups", ["id", "day"])
def test_score_bootstrap(monkeypatch, impose_null, groups):
    dense, many = pair(monkeypatch, "Logit", "y ~ x + z + id")
    told = {"groups": groups, "reps": 49, "seed": 1, "multipliers": "webb", "impose_null": impose_null}
    a, b = (res.score_bootstrap_test("x = 0", **told) for res in (dense, many))
    assert b.pvalue == a.pvalue and b.statistic == pytest.approx(a.statistic, rel=1e-8)


def test_tables_of_all_pairs_of_levels_are_refused(monkeypatch):
    monkeypatch.setattr(coding, "MANY_LEVELS", 5)
    res = glmclf.Logit.from_formula("y ~ x + id", _table()).fit()
    monkeypatch.setattr("glmclf.data.design.level_rows.MAX_DENSE_BYTES", 8 * 10**2)
    with pytest.raises(NotImplementedError, match='all pairs of the 14 levels of "id" would take .* use t_test'):
        res.t_test_pairwise("id")
    monkeypatch.setattr("glmclf.results.regression.anova.MAX_DENSE_BYTES", 8 * 10**2)
    with pytest.raises(NotImplementedError, match="all pairs of 15 columns, .* use wald_test_terms"):
        res.anova(1, "wald")
    monkeypatch.setattr("glmclf.models.constrained.MAX_DENSE_BYTES", 8 * 10**2)
    for ask in (lambda: res.model.fit_constrained("x = 1"), lambda: res.score_bootstrap_test("x = 0", groups="day")):
        with pytest.raises(NotImplementedError, match="15 parameters under linear constraints .* I.x . z."):
            ask()
    monkeypatch.setattr("glmclf.inference.covariance.types.MAX_EXPANDED_SCORES", 10)
    with pytest.raises(NotImplementedError, match="as a factor has many levels, takes scores of all rows"):
        res.with_cov("HAC")


@pytest.mark.parametrize("test", ["LR", "wald", "score"])
def test_tests_of_terms_form_no_array_of_all_pairs(monkeypatch, test):
    dense, many = pair(monkeypatch, "Logit", "y ~ x + z + id")
    expected = dense.anova(test=test)
    monkeypatch.setattr("glmclf.core.numerics.arrow.MAX_DENSE_BYTES", 8 * 10**2)
    monkeypatch.setattr("glmclf.results.regression.anova.MAX_DENSE_BYTES", 8 * 10**2)
    np.testing.assert_allclose(many.anova(test=test), expected, rtol=1e-9)
    assert len(expected) == 3


@pytest.mark.parametrize("smaller", ["x + id", "id + z", "z", "day + id", "moved + id"])
def test_nesting_is_told_without_expanded_levels(monkeypatch, smaller):
    table = _table().assign(moved=lambda t: t.x + t.z)
    dense, many = pair(monkeypatch, "Logit", "y ~ x + z + id", table)
    restricted = glmclf.Logit.from_formula(f"y ~ {smaller}", table).fit()
    found: list = []
    for res in (dense, many):
        try:
            found.append(res.compare_lr_test(restricted).statistic)
        except ValueError as error:
            found.append(str(error))
        monkeypatch.setattr("glmclf.core.design.arrow.MAX_DENSE_BYTES", 8 * 10**2)
        monkeypatch.setattr(level_rank, "MAX_EXPANDED_ARITHMETIC", 0)
    assert found[1] == (found[0] if isinstance(found[0], str) else pytest.approx(found[0], rel=1e-9))


@pytest.mark.filterwarnings("ignore:.*Few clusters")
def test_bootstrap_of_clusters_that_are_levels_has_no_estimate(monkeypatch):
    _, many = pair(monkeypatch, "Logit", "y ~ x + z + id")
    with pytest.raises(EstimationError, match="only 0 of 4 replications have an estimate .4 collinear"):
        many.with_cov("bootstrap", reps=4, seed=1, groups="id")


# how a column that is large beside its spread within levels may come: in the border, in slopes, in several equations
FAR = [
    ("Logit", "y ~ {x} + z + id", {}, {}),
    ("Probit", "y ~ 0 + id + {x}", ROBUST[1], {"freq_weights": "w"}),
    ("CLogLog", "y ~ {x} + id", ROBUST[4], {"weights": "share"}),
    ("Logit", "y ~ z + {x} * id", {}, {"offset": "off"}),
    ("Logit", "s + f ~ 0 + id + z + {x}:id", ROBUST[2], {}),
    ("Logit", "y ~ {x} + id", ROBUST[8], {}),
    ("Logit", "y ~ {x} + id", {"bias_reduction": "firth"}, {}),
    ("MNLogit", "k ~ {x} + z + id", ROBUST[8], {}),
    ("MNLogit", "k ~ 0 + id + z + {x}:id", {}, {}),
    ("Logit", "y ~ z + id + {x}:id", ROBUST[2], {}),
    ("MNLogit", "k ~ id + {x}:id + z:id", {}, {}),
]


def _far_and_near(monkeypatch, model, formula, how, given, table):
    """The dense fit of a column less its middle in each level, exactly, and the fit of many levels of the column."""
    monkeypatch.setattr(coding, "MANY_LEVELS", FEW)
    near = getattr(glmclf, model).from_formula(formula.format(x="near"), table, **given).fit(**how)
    monkeypatch.setattr(coding, "MANY_LEVELS", 5)
    monkeypatch.setattr(level_rank, "MAX_EXPANDED_ARITHMETIC", 0)
    return near, getattr(glmclf, model).from_formula(formula.format(x="far"), table, **given).fit(**how)


def _with_far(middle, by_level):
    t = _table().copy()
    middle = middle * (1 + t.region) if by_level else np.full(len(t), middle)
    t["far"] = t.x + middle
    t["near"] = t.far - middle  # of the column as it is rounded
    return t


@pytest.mark.parametrize("middle, by_level", [(1e4, False), (1e6, True), (1e8, False), (1e8, True)])
@pytest.mark.parametrize("model, formula, how, given", FAR)
def test_columns_large_beside_their_spread_within_levels(monkeypatch, model, formula, how, given, middle, by_level):
    """Columns are less their means by level in the fit, and keep their digits."""
    t = _with_far(middle, by_level)
    near, far = _far_and_near(monkeypatch, model, formula, how, given, t)
    slopes = [i for i, name in enumerate(near.model.exog_names) if "near" in name or name == "z"]
    q = near.model._likelihood.n_eta
    a, b = (np.asarray(r.params).reshape(-1, q)[slopes] for r in (near, far))
    u, v = (np.asarray(r.bse).reshape(-1, q)[slopes] for r in (near, far))
    assert (np.abs(a - b) / u).max() < TOL
    np.testing.assert_allclose(v, u, rtol=TOL)
    np.testing.assert_allclose(far.llf, near.llf, rtol=1e-13)
    new = t.iloc[::9]
    offset = {"offset": new.off} if given.get("offset") else {}
    a, b = (r.get_prediction(new, **offset).summary_frame().select_dtypes("number") for r in (near, far))
    np.testing.assert_allclose(b, a, rtol=1e-9)
    assert np.nanmin(np.asarray(far.digits, dtype=float)) > 9


@pytest.mark.parametrize("model", ["Probit", "MNLogit"])
def test_separated_levels_beside_a_large_column(monkeypatch, model, tmp_path):
    t = _with_far(1e7, False)
    t.loc[t.id.isin(["f00", "f09"]), ["y", "k"]] = 1, "yes"
    t.loc[(t.id == "f02") & (t.k == "no"), "k"] = "other"
    t.loc[t.id == "f02", "y"] = 0
    left = "k" if model == "MNLogit" else "y"
    with pytest.warns(SeparationWarning):
        near, far = _far_and_near(monkeypatch, model, left + " ~ id + {x} + z", ROBUST[2], {}, t)
    a, b = (np.asarray(r.params).reshape(-1, near.model._likelihood.n_eta)[-2:] for r in (near, far))
    np.testing.assert_allclose(b, a, rtol=1e-10)
    np.testing.assert_allclose(np.asarray(far.bse)[-2:], np.asarray(near.bse)[-2:], rtol=TOL)
    far.save(tmp_path / "far.json")
    again = glmclf.load(tmp_path / "far.json")
    np.testing.assert_array_equal(again.bse, far.bse)
    np.testing.assert_array_equal(again.predict(t.head(30)), far.predict(t.head(30)))
    np.testing.assert_allclose(far.predict(t.head(30)), near.predict(t.head(30)), rtol=1e-9, atol=1e-14)
    if model == "MNLogit":
        with pytest.raises(NotImplementedError, match="subtract a value in its middle"):
            far.vif(of="information")


@pytest.mark.parametrize("model", ["Logit", "MNLogit"])
def test_predictions_beside_a_large_column_and_a_separated_base_level(monkeypatch, model):
    """Another level stands for the base in the fit, and its means are those of its own columns."""
    t = _with_far(1e6, False)
    t.loc[t.id == "f00", ["y", "k"]] = 1, "yes"
    left = "k" if model == "MNLogit" else "y"
    with pytest.warns(SeparationWarning):
        near, far = _far_and_near(monkeypatch, model, left + " ~ g * id + {x}", {}, {}, t)
    for which in ("mean", "linear"):
        a, b = (r.get_prediction(t, which=which).summary_frame().select_dtypes(float) for r in (near, far))
        np.testing.assert_allclose(b, a, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("model", ["Logit", "MNLogit"])
def test_answers_beside_a_large_column(monkeypatch, model):
    t = _with_far(1e5, False)
    left = "k" if model == "MNLogit" else "y"
    near, far = _far_and_near(monkeypatch, model, left + " ~ id + {x}", {}, {}, t)
    for ask in (
        lambda r: r.score_test("z").statistic,
        lambda r: r.get_influence().cooks_distance[0],
        lambda r: r.get_influence().d_params.iloc[:, -1],
        lambda r: r.with_cov("HAC", maxlags=2).bse.iloc[-1],
        lambda r: r.get_margeff().summary_frame().select_dtypes("number").iloc[-1],
        lambda r: r.conf_int().iloc[-1],
    ):
        np.testing.assert_allclose(ask(far), ask(near), rtol=1e-8, atol=1e-13)
    if model == "Logit":
        a, b = (r.conf_int(method="profile").iloc[-1] for r in (near, far))
        np.testing.assert_allclose(b, a, rtol=1e-7)


def test_large_columns_in_parts(monkeypatch, tmp_path):
    t = _with_far(1e6, True).drop(columns="size").sort_values("id")
    t.to_parquet(tmp_path / "t.parquet", row_group_size=150)
    monkeypatch.setattr(level_rank, "MAX_EXPANDED_ARITHMETIC", 0)
    monkeypatch.setattr(coding, "MANY_LEVELS", 5)
    whole, parts = (glmclf.Logit.from_formula("y ~ far + id", d).fit() for d in (t, tmp_path / "t.parquet"))
    np.testing.assert_allclose(parts.params, whole.params, rtol=1e-11)
    np.testing.assert_allclose(parts.bse, whole.bse, rtol=1e-11)


def test_products_of_large_columns_are_warned_of(monkeypatch):
    """No basis is to be had for products of a number and a factor beside the levels of another."""
    monkeypatch.setattr(level_rank, "MAX_EXPANDED_ARITHMETIC", 0)
    monkeypatch.setattr(coding, "MANY_LEVELS", 5)
    with pytest.warns(InferenceWarning, match="about [0-5] correct digits.*multiplied by a factor"):
        glmclf.Logit.from_formula("y ~ g + far:g + id", _with_far(3e5, False)).fit()


SLOPES = [
    ("Logit", "y ~ z + x * id", {}),
    ("Probit", "y ~ 0 + id + x:id", {"weights": "share"}),
    ("MNLogit", "k ~ z + x * id", {"freq_weights": "w"}),
]


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("model, formula, given", SLOPES)
def test_slopes_that_separate_the_rows_of_their_level(monkeypatch, model, formula, given, alike):
    """Found level by level, the base level and levels of one outcome among them: nothing expands all columns."""
    t = _table().copy()
    for level in ("f00", "f03", "f08"):
        high = t.x[t.id == level] > t.x[t.id == level].median()
        t.loc[t.id == level, "y"] = high.astype(int)
        t.loc[t.id == level, "k"] = np.where(high, "yes", np.where(t.z[t.id == level] > 2, "no", "other"))
    if alike:
        t.loc[t.id == "f05", ["y", "k"]] = 1, "yes"
    fits = []
    for few in (FEW, 5):
        monkeypatch.setattr(coding, "MANY_LEVELS", few)
        m = getattr(glmclf, model).from_formula(formula, t, **given)
        if few == 5:
            monkeypatch.setattr("glmclf.core.separation.outcomes.MAX_NUMBERS_OF_PROGRAMS", 200)  # of a level alone
            monkeypatch.setattr(level_rank, "MAX_EXPANDED_ARITHMETIC", 0)
        with pytest.warns(SeparationWarning):
            fits.append(m.fit())
    assert isinstance(fits[1].model._rows.X, ArrowColumns)
    check(*fits)
    assert (~np.isfinite(np.asarray(fits[1].params))).sum() >= 4


def _panel():
    """Some eight rows a level, of one level one row: slopes tell many levels apart, the base level's too, and cells of
    levels by groups are empty or of one outcome."""
    g = np.random.default_rng(5)
    code = np.concatenate([np.arange(21), g.integers(0, 20, 150)])
    n = len(code)
    t = pd.DataFrame({"id": [f"f{i:02d}" for i in code], "x": g.normal(size=n), "z": g.normal(size=n)})
    t["g"] = g.choice(list("abc"), n)
    t["y"] = (g.random(n) < 1 / (1 + np.exp(-0.5 * t.x + 0.3 * t.z))).astype(int)
    t["k"] = np.where(g.random(n) < 0.4, "other", np.where(t.y == 1, "yes", "no"))
    base = t.id == "f00"
    t.loc[base, "y"] = (t.x[base] > t.x[base].median()).astype(int)
    t.loc[base, "k"] = np.where(t.y[base] == 1, "yes", "no")
    t.loc[base & (t.g == "b"), ["y", "k"]] = 1, "yes"
    return t


PANELS = ["z + id + x:id", "z + x * id", "x + z + id * g", "x + z + g * id", "0 + z + id + x:id"]


@pytest.mark.parametrize("model, left", [("Logit", "y"), ("Probit", "y"), ("CLogLog", "y"), ("MNLogit", "k")])
@pytest.mark.parametrize("right", PANELS)
def test_panels_whose_base_level_is_separated_too(monkeypatch, model, left, right):
    """Collinear, empty and separated columns of levels and of the base level need no search of all columns."""
    fits, t = [], _panel()
    for few in (FEW, 5):
        monkeypatch.setattr(coding, "MANY_LEVELS", few)
        m = getattr(glmclf, model).from_formula(f"{left} ~ {right}", t)
        if few == 5:
            monkeypatch.setattr("glmclf.core.separation.outcomes.MAX_NUMBERS_OF_PROGRAMS", 200)  # of a level alone
        with pytest.warns((SeparationWarning, CollinearityWarning)):
            fits.append(m.fit())
    assert isinstance(fits[1].model._rows.X, ArrowColumns)
    check(*fits)
    assert (~np.isfinite(np.asarray(fits[1].params))).sum() >= 6
    np.testing.assert_allclose(np.asarray(fits[1].predict()), np.asarray(fits[0].predict()), atol=1e-12)


@pytest.mark.parametrize("middle", [2010.0, 1e5])
@pytest.mark.parametrize("model, left", [("Logit", "y"), ("MNLogit", "k")])
def test_slopes_of_a_large_column_beside_a_column_of_ones(monkeypatch, model, left, middle):
    """The level without an intercept of its own keeps its digits, and so do covariances with those of all others."""
    t = _with_far(middle, False)
    near, far = _far_and_near(monkeypatch, model, left + " ~ id + {x}:id", {}, {}, t)
    assert isinstance(far.model._rows.X, ArrowColumns)
    q, names = near.model._likelihood.n_eta, near.model.exog_names
    T = np.eye(len(names))  # parameters of the column less its middle from those of the column
    for level in sorted(t.id.unique()):
        slope = next(i for i, name in enumerate(names) if "near" in name and level in name)
        T[0, slope] += middle if level == "f00" else 0.0
        if level != "f00":
            base = next(i for i, name in enumerate(names) if "near" in name and "f00" in name)
            own = next(i for i, name in enumerate(names) if "near" not in name and level in name)
            T[own, [slope, base]] = middle, -middle
    back = np.linalg.inv(np.kron(np.eye(q), T))
    V, W = back @ np.asarray(near.cov_params()) @ back.T, np.asarray(far.cov_params())
    size = np.sqrt(np.outer(np.diag(V), np.diag(V)))
    np.testing.assert_allclose(W / size, V / size, atol=TOL)
    np.testing.assert_allclose(np.asarray(far.bse).ravel(order="F"), np.sqrt(np.diag(V)), rtol=TOL)


@pytest.mark.parametrize("formula", ["{left} ~ {x} * id", "{left} ~ id + {x}:id"])
@pytest.mark.parametrize("model, left", [("Logit", "y"), ("MNLogit", "k")])
def test_slopes_of_a_large_column_that_separate_levels(monkeypatch, model, left, formula):
    g = np.random.default_rng(0)
    t = pd.DataFrame({"id": np.repeat([f"f{i:02d}" for i in range(30)], 12), "x": np.round(g.normal(size=360), 2)})
    t["y"] = (g.random(360) < 1 / (1 + np.exp(-2.0 * t.x))).astype(int)
    t["k"] = np.where(t.y == 1, "yes", np.where(g.random(360) < 0.3, "other", "no"))
    t["far"] = t.x + 1e7
    t["near"] = t.far - 1e7
    with pytest.warns(SeparationWarning):
        near, far = _far_and_near(monkeypatch, model, formula.format(left=left, x="{x}"), {}, {}, t)
    slopes = [i for i, name in enumerate(near.model.exog_names) if "near" in name]
    q = near.model._likelihood.n_eta
    a, b = (np.asarray(r.params).reshape(-1, q)[slopes] for r in (near, far))
    u, v = (np.asarray(r.bse).reshape(-1, q)[slopes] for r in (near, far))
    np.testing.assert_array_equal(np.isfinite(b), np.isfinite(a))
    assert 0 < np.isfinite(a).sum() < a.size
    np.testing.assert_allclose(b[np.isfinite(a)], a[np.isfinite(a)], rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(v, u, rtol=1e-8)
    np.testing.assert_allclose(far.llf, near.llf, rtol=1e-12)
    np.testing.assert_allclose(far.predict(), near.predict(), rtol=1e-7, atol=1e-12)


def test_separation_by_a_number_that_is_all_but_constant_is_refused_in_words():
    g = np.random.default_rng(0)
    t = pd.DataFrame({"id": np.repeat(np.arange(150), 8), "x": g.normal(size=1200)})
    t["y"] = (g.random(1200) < 1 / (1 + np.exp(-0.5 * t.x))).astype(int)
    t["far"] = t.x + 1e9
    with pytest.raises(NotImplementedError, match="subtract a value in its middle"):
        glmclf.Logit.from_formula("y ~ far * C(id)", t).fit()


@pytest.mark.parametrize("separated", [False, True])
@pytest.mark.parametrize("model", ["Logit", "MNLogit"])
def test_influence_without_expanded_rows(monkeypatch, model, separated):
    t = _table().copy()
    if separated:
        t.loc[t.id == "f05", ["y", "k"]] = 1, "yes"
    left = "k" if model == "MNLogit" else "y"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        dense, many = pair(monkeypatch, model, f"{left} ~ x + z + id", t, weights="share")
    monkeypatch.setattr("glmclf.core.numerics.arrow.MAX_DENSE_BYTES", 8 * 10**2)  # nothing of all pairs of columns
    a, b = (res.get_influence() for res in (dense, many))
    for ask in (lambda i: i.hat_matrix_diag, lambda i: i.cooks_distance[0], lambda i: i.d_fittedvalues):
        np.testing.assert_allclose(ask(b), ask(a), rtol=1e-8, atol=1e-14)


def test_averages_over_too_many_levels_are_refused(monkeypatch):
    monkeypatch.setattr(coding, "MANY_LEVELS", 5)
    res = glmclf.Logit.from_formula("y ~ x + id", _table()).fit()
    monkeypatch.setattr("glmclf.results.margins.effects.MAX_GRADIENT_NUMBERS", 200)
    with pytest.raises(NotImplementedError, match=r"predictions\(\) of 14 averages, .* name some levels"):
        res.predictions("id")
    few = res.predictions({"id": ["f03", "f04"]})
    monkeypatch.setattr("glmclf.results.margins.contrasts.MAX_DENSE_BYTES", 100)
    with pytest.raises(NotImplementedError, match="contrasts.. of 1 pairs: .* or name some levels"):
        few.contrasts()


MARGINS = [
    ("Logit", "y ~ x * g + np.exp(0.2 * z) + id", {"weights": "share", "offset": "off"}),
    ("Probit", "y ~ x * id + z", {"freq_weights": "w"}),
    ("CLogLog", "y ~ x:z + region + id", {}),
    ("MNLogit", "k ~ x * g + z + id", {"weights": "share"}),
    ("MNLogit", "k ~ z + x * id", {}),
]


@pytest.mark.parametrize("separated", [[], ["f05"], ["f00", "f05"]])
@pytest.mark.parametrize("model, formula, given", MARGINS)
def test_margins_without_expanded_rows(monkeypatch, model, formula, given, separated):
    """Effects and predictions in other variables than the factor, also of new rows and of a fit that was saved."""
    t = _table().copy()
    t.loc[t.id.isin(separated), ["y", "k"]] = 1, "yes"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dense, many = pair(monkeypatch, model, formula, t, **given)
        new = t.iloc[::3].assign(x=lambda t: t.x + 0.5)
        new.iloc[4, new.columns.get_loc("z")] = np.nan
        asked = [
            lambda r: r.get_margeff(variables=["x", "z"]),
            lambda r: r.get_margeff(variables=["x"], method="eyex", over="region"),
            lambda r: r.get_margeff(variables=["z"], newdata=new, atexog={"x": 0.3}),
            lambda r: r.get_margeff(variables=["x", "z"], at="mean"),
            lambda r: r.get_margeff(variables=["x"], at="mean", over="region"),
            lambda r: r.predictions({"x": [0, 1]}),
            lambda r: r.predictions({"x": [0, 1]}).contrasts(),
        ]
        if "* g" in formula:
            asked.append(lambda r: r.get_margeff(variables=["g"], contrast="pairwise"))
        if not separated:
            asked.append(lambda r: r.get_margeff(variables=["x"], vcov="unconditional"))
        expected = [ask(dense).summary_frame().select_dtypes("number") for ask in asked]
        expanded = []
        monkeypatch.setattr(ObservedRows, "_expanded", lambda rows, some: expanded.append(some) or iter(()))
        monkeypatch.setattr(RegressionPredictors, "raw", lambda source, table: expanded.append(table))
        for ask, right in zip(asked, expected, strict=True):
            found = ask(many).summary_frame().select_dtypes("number")
            np.testing.assert_allclose(found, right, rtol=1e-7, atol=1e-9)
    assert not expanded
    assert len(expected[0]) > 0 and np.isfinite(expected[0].to_numpy()).any()


PATTERNS = [("Logit", "y ~ 0 + few + few:id"), ("Probit", "y ~ g * id"), ("MNLogit", "k ~ few * id")]


@pytest.mark.parametrize("model, formula", PATTERNS)
def test_covariate_patterns_without_expanded_rows(monkeypatch, model, formula):
    """Levels without a column, and slopes of numbers that are 0, are of one pattern."""
    t = _table().assign(few=_table().x.round().clip(-1, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dense, many = pair(monkeypatch, model, formula, t)
        a, b = (pattern_numbers(res) for res in (dense, many))
    np.testing.assert_array_equal(a, b)
    assert 2 < a.max() + 1 < len(t) / 4


# ------------------------------------------------------------------------------------- other codings, by level
SUM = "C(id, Sum)"
OWN = np.random.default_rng(4).normal(size=(LEVELS, LEVELS - 1))  # with a column of ones of full rank
CODED_FITS = [
    ("Logit", f"y ~ x + z + {SUM}", {}, {}),
    ("Probit", f"y ~ x * {SUM} + g", {}, {}),
    ("CLogLog", "y ~ C(id, Sum('f02')) * g + x", {}, {}),
    ("MNLogit", f"k ~ z + x * {SUM}", {}, {"weights": "share"}),
    ("Logit", f"y ~ x + {SUM}", {"cov_type": "HC3"}, {"freq_weights": "w", "offset": "off"}),
    ("MNLogit", f"k ~ x + {SUM}", {"cov_type": "cluster", "cov_kwds": {"groups": "day"}}, {}),
    ("Logit", f"s + f ~ x * {SUM}", {"cov_type": "cluster", "cov_kwds": {"groups": "day"}}, {}),
    ("Logit", f"y ~ x + {SUM}", {"bias_reduction": "firth"}, {}),
    ("MNLogit", f"k ~ x + {SUM}", {"bias_reduction": "firth"}, {}),
    ("Logit", f"y ~ x + {SUM}", {"bias_reduction": "median"}, {}),
    ("Logit", f"y ~ x + {SUM}", {"method": "lbfgs"}, {}),
    ("Logit", f"y ~ 0 + {SUM} * x", {}, {}),
    ("Logit", "y ~ x + z + C(id, Helmert)", {"cov_type": "HC1"}, {"offset": "off"}),
    ("MNLogit", "k ~ x * C(id, Diff)", {}, {"weights": "share"}),
    ("Probit", "y ~ 0 + x + C(id, Poly)", {}, {"freq_weights": "w"}),
    ("Logit", "y ~ x + g * C(id, OWN)", {"cov_type": "cluster", "cov_kwds": {"groups": "day"}}, {}),
    ("Logit", "y ~ x:z + x:C(id, Helmert)", {"bias_reduction": "firth"}, {}),
]


@pytest.mark.parametrize("model, formula, how, given", CODED_FITS)
def test_coded_levels(monkeypatch, model, formula, how, given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)  # few clusters
        dense, many = pair(monkeypatch, model, formula, how=how, many=RecodedColumns, **given)
    check(dense, many)
    assert isinstance(many._V, BlocksPlusLowRank if SUM in formula or "Sum(" in formula else RecodedMatrix)
    if how.get("cov_type") != "cluster":  # some covariances of clusters have not the rank
        a, b = (res.wald_test_terms().table for res in (dense, many))
        np.testing.assert_allclose(b, a, rtol=1e-8)
    if how.get("bias_reduction") == "firth":
        np.testing.assert_allclose(many._state.estimate.maximised, dense._state.estimate.maximised, rtol=1e-13)
    new = _table().head(20)
    for interval in (False, True):
        a, b = (res.get_prediction(new).summary_frame() if interval else res.predict(new) for res in (dense, many))
        np.testing.assert_allclose(b, a, rtol=1e-9)


@pytest.mark.parametrize("model, left", [("Logit", "y"), ("MNLogit", "k")])
@pytest.mark.parametrize("right", [f"x + z + {SUM}", f"x * {SUM}", "x + C(id, Helmert)"])
def test_codings_beside_separated_levels(monkeypatch, tmp_path, model, left, right):
    """A level that is separated moves the mean of all, and with it each deviation."""
    t = _table().copy()
    t.loc[t.id.isin(["f05", "f09"]), ["y", "k"]] = (1, "yes")
    with pytest.warns(SeparationWarning):
        dense, many = pair(monkeypatch, model, f"{left} ~ {right}", t, many=RecodedColumns)
    assert np.isinf(many._theta).any() and np.isfinite(many._theta).any() != ("*" in right)
    np.testing.assert_allclose(many._theta, dense._theta, rtol=1e-10)
    np.testing.assert_allclose(many._se, dense._se, rtol=1e-10)
    np.testing.assert_allclose(many.llf, dense.llf, rtol=1e-13)
    assert many.separation == dense.separation
    np.testing.assert_allclose(many.predict(t), dense.predict(t), rtol=1e-9)
    many.save(tmp_path / "fit.json")
    again = glmclf.load(tmp_path / "fit.json")
    np.testing.assert_array_equal(again._theta, many._theta)
    if "*" not in right:  # of cones of slopes a file keeps no facets
        np.testing.assert_allclose(again.predict(t.head(30)), dense.predict(t.head(30)), rtol=1e-9)


NESTED = [f"C(region) + {SUM}", "C(id, Helmert) + C(region) + x", "C(size, Sum, levels=LEVELS)"]


@pytest.mark.parametrize("right", NESTED)
def test_codings_beside_collinear_columns(monkeypatch, right):
    t = _table()[_table()["size"] != "f04"]
    right = right.replace("LEVELS", str(sorted(_table().id.unique())))
    with pytest.warns(CollinearityWarning):
        dense, many = pair(monkeypatch, "Logit", f"y ~ {right}", t, many=object)
    check(dense, many)
    assert list(many.params.index[np.isnan(many.params)]) == list(dense.params.index[np.isnan(dense.params)])


@pytest.mark.parametrize("code", [SUM, "C(id, Helmert)"])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_codings_beside_large_columns_and_offsets(monkeypatch, shift, code):
    """The levels' intercepts take up means by level, and large offsets, behind the coding."""
    t = _table().assign(late=lambda t: t.x + 1e7 + 1e4 * t.region, off=lambda t: t.off + shift)
    formula = f"y ~ late + {code}"
    found = pair(monkeypatch, "Logit", formula, t, many=RecodedColumns, offset="off")
    assert type(found[1]._state.basis).__name__ == "ComposedBasis"
    a, b = (res.params["late"] for res in found)
    assert abs(a - b) < 1e-7 * found[0].bse["late"]
    np.testing.assert_allclose(found[1].bse, found[0].bse, rtol=1e-6)


@pytest.mark.parametrize("code", [SUM, "C(id, Helmert)"])
def test_codings_of_data_in_parts(monkeypatch, tmp_path, code):
    t = _table().sort_values("id").drop(columns="size")
    t.to_parquet(tmp_path / "t.parquet", row_group_size=150)
    monkeypatch.setattr(coding, "MANY_LEVELS", FEW)
    formula, how = f"y ~ x * {code}", {"cov_type": "HC1"}
    dense = glmclf.Logit.from_formula(formula, t).fit(**how)
    monkeypatch.setattr(coding, "MANY_LEVELS", 5)
    many = glmclf.Logit.from_formula(formula, tmp_path / "t.parquet").fit(**how)
    assert isinstance(many._V, BlocksPlusLowRank | RecodedMatrix)
    check(dense, many)


def test_sum_coding_forms_nothing_of_levels_times_levels(monkeypatch):
    monkeypatch.setattr("glmclf.core.numerics.arrow.MAX_DENSE_BYTES", 8 * 10**2)
    monkeypatch.setattr(coding, "MANY_LEVELS", 5)
    res = glmclf.Logit.from_formula(f"y ~ x * {SUM} + z", _table()).fit()
    assert np.isfinite(res.bse).all() and np.isfinite(res.predict(_table().head(3))).all()
    assert np.isfinite(res.with_cov("HC1").conf_int()).all(axis=None)
    assert np.isfinite(res.wald_test_terms().table["pvalue"]).all()
    with pytest.raises(NotImplementedError, match="cov_params"):
        res.cov_params()
    part = res.cov_params(columns=["x", f"{SUM}[S.f03]"])
    np.testing.assert_allclose(np.sqrt(np.diag(part)), res.bse[["x", f"{SUM}[S.f03]"]], rtol=1e-12)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("code, separated", [(SUM, False), (SUM, True), ("C(id, Helmert)", False)])
def test_answers_beside_codings(monkeypatch, code, separated):
    t = _table().copy()
    t.loc[t.id == "f05", "y"] = 1 if separated else t.y
    dense, many = pair(monkeypatch, "Logit", f"y ~ x * {code} + z", t, many=RecodedColumns)
    asked = {
        "margins": lambda res: res.get_margeff(variables=["z"] if separated else ["x", "z"]).summary_frame(),
        "averages": lambda res: res.predictions(variables={"id": ["f01", "f02"]}).summary_frame(),
        "influence": lambda res: res.get_influence().hat_matrix_diag,
        "typical": lambda res: res.get_margeff(variables=["z"], at="mean", over="region").margeff,
        "digits": lambda res: np.isfinite(res.digits),
        "score": lambda res: res.score_test(t[["g"]].eq("a").astype(float)).statistic,
    }
    if not separated:
        asked["derivatives"] = lambda res: res.hauck_donner["derivative"]
        asked["test"] = lambda res: res.t_test("x = 0").tvalue
    for what, question in asked.items():
        np.testing.assert_allclose(question(many), question(dense), rtol=1e-7, err_msg=what)


@pytest.mark.parametrize("code", [SUM, "C(id, Helmert)"])
def test_collinear_columns_beside_codings_are_told_by_level(monkeypatch, code):
    monkeypatch.setattr(level_rank, "MAX_EXPANDED_ARITHMETIC", 0)
    t = _table().assign(twice=lambda t: 2.0 * t.x + 1.0, mine=lambda t: np.sqrt(2.0 + t.region))
    with pytest.warns(CollinearityWarning, match='"twice" = Intercept.*2'):
        dense, many = pair(monkeypatch, "Logit", f"y ~ x + {code} + twice + mine", t, many=RecodedColumns)
    check(dense, many)
    assert list(many.params.index[np.isnan(many.params)]) == ["twice", "mine"]
    found = many.score_test(t[["z"]])
    assert found.statistic == pytest.approx(dense.score_test(t[["z"]]).statistic, rel=1e-9)
    with pytest.raises(CollinearityError, match="'other' is a combination"):
        many.score_test(t[["region"]].rename(columns={"region": "other"}) ** 2)
    assert np.isnan(many.hauck_donner["derivative"]["mine"])
