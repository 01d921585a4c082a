"""Identities of MNLogit: two levels are Logit; bases, labels, units, order and repetition of rows change no number."""

import functools

import numpy as np
import pandas as pd
import pytest

from glmclf import Logit, MNLogit

LEVELS = ["bus", "car", "walk", "train"]
FORMULA = "mode ~ x + z + g"
COVARIANCES = {
    "nonrobust": {},
    "HC0": {"cov_type": "HC0"},
    "HC1": {"cov_type": "HC1"},
    "one-way": {"cov_type": "cluster", "cov_kwds": {"groups": "firm"}},
    "two-way": {"cov_type": "cluster", "cov_kwds": {"groups": ["firm", "year"]}},
}
SCALARS = ["llf", "llnull", "llr", "llr_pvalue", "prsquared", "aic", "bic", "nobs", "df_model", "df_resid"]
covariances = pytest.mark.parametrize("cov", COVARIANCES)
# two-way covariances of few clusters have no joint test of some terms, and say so
pytestmark = [
    pytest.mark.filterwarnings("ignore:no joint test"),
    pytest.mark.filterwarnings("ignore:.*Few clusters"),  # of draws of any size
    pytest.mark.filterwarnings("ignore:.*not positive semi-definite"),
]


@functools.cache
def _toy(n=240, seed=3, levels=tuple(LEVELS)):
    rng = np.random.default_rng(seed)
    t = pd.DataFrame({"x": rng.normal(size=n), "z": rng.gamma(2.0, size=n), "g": rng.choice(list("abc"), n)})
    t["firm"], t["year"] = rng.integers(0, 24, n), rng.integers(2000, 2012, n)
    t["o"], t["f"], t["w"] = rng.normal(size=n), rng.integers(1, 5, n), rng.uniform(0.5, 2.0, n)
    K = len(levels)
    eta = np.outer(t.x, np.linspace(0, 1, K)) - 0.3 * np.outer(t.z, np.linspace(0, 1, K) ** 2) + t.o.to_numpy()[:, None]
    eta[:, 0] -= t.o
    t["mode"] = np.array(levels)[(eta + rng.gumbel(size=(n, K))).argmax(axis=1)]
    return t


def toy(**keywords):
    return _toy(**keywords).copy()


def fit(t, formula=FORMULA, cov="nonrobust", **keywords):
    return MNLogit.from_formula(formula, t, **keywords).fit(**COVARIANCES[cov])


def same(a, b, rtol=1e-10, atol=1e-12):
    """Two tables with the same labels and, to `rtol`, the same numbers."""
    if isinstance(a, pd.DataFrame):
        assert list(a.columns) == list(b.columns)
        assert list(a.index) == list(b.index)
    np.testing.assert_allclose(np.asarray(a, dtype=float), np.asarray(b, dtype=float), rtol=rtol, atol=atol)


def same_fit(a, b, new=None, scalars=SCALARS, **tolerance):
    """Every number of two fits, with labels; predictions for `new`."""
    for name in ("params", "bse", "tvalues"):
        same(getattr(a, name), getattr(b, name), **tolerance)
    same(a.pvalues, b.pvalues, rtol=1e-8)
    for part in (a.cov_params(), a.conf_int()), (b.cov_params(), b.conf_int()):
        assert part[0].index.equals(part[1].index)
    scale = np.sqrt(np.outer(np.diag(a.cov_params()), np.diag(a.cov_params())))
    same(a.cov_params() / scale, b.cov_params() / scale)
    same(a.conf_int(), b.conf_int(), rtol=1e-9, atol=1e-9)
    same(a.wald_test_terms().table.astype(float), b.wald_test_terms().table.astype(float), rtol=1e-8)
    for name in scalars:
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-9, err_msg=name)
    if new is not None:
        same(a.predict(new), b.predict(new))
        same(a.predict(new, which="linear"), b.predict(new, which="linear"), rtol=1e-9, atol=1e-9)
        same(a.get_prediction(new).summary_frame(), b.get_prediction(new).summary_frame())
        assert a.predict(new, which="class").tolist() == b.predict(new, which="class").tolist()


# ------------------------------------------------------------------------------------------------------- two levels
KEYWORDS = {
    "plain": {},
    "offset": {"offset": "o"},
    "freq_weights": {"freq_weights": "f"},
    "weights": {"weights": "w"},
    "all": {"offset": "o", "freq_weights": "f"},
}


@pytest.mark.parametrize("keywords", KEYWORDS)
@covariances
def test_two_levels_are_logit(keywords, cov):
    """In every number that both have."""
    t, given = toy(levels=("no", "yes")), KEYWORDS[keywords]
    a = MNLogit.from_formula(FORMULA, t, **given).fit(**COVARIANCES[cov])
    b = Logit.from_formula(FORMULA, t, **given).fit(**COVARIANCES[cov])
    for name in ("params", "bse", "tvalues", "pvalues"):
        assert list(getattr(a, name).columns) == ["yes"]
        same(getattr(a, name)["yes"], getattr(b, name))
    same(a.cov_params().droplevel("level").droplevel("level", axis=1), b.cov_params())
    same(a.conf_int().droplevel("level"), b.conf_int())
    for name in SCALARS:
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-10, err_msg=name)
    assert a.cov_type == b.cov_type
    same(a.predict(t)["yes"], b.predict(t))
    same(a.predict(t)["no"], 1 - b.predict(t))
    same(a.predict(t, which="linear")["yes"], b.predict(t, which="linear"))
    assert a.predict(t, which="class").tolist() == b.predict(t, which="class").tolist()
    p, q = a.get_prediction(t).summary_frame(), b.get_prediction(t).summary_frame()
    for name in ("predicted", "se", "ci_lower", "ci_upper"):
        same(p.xs("yes", level="level")[name], q[name])
    same(a.wald_test_terms().table.astype(float), b.wald_test_terms().table.astype(float))
    np.testing.assert_allclose(a.pred_table(), b.pred_table(), rtol=1e-13)
    np.testing.assert_allclose(a.odds_ratios(), b.odds_ratios(), rtol=1e-10)


def test_two_levels_of_counts_are_logit_of_counts():
    t = toy()
    t["s"], t["u"] = t.f, (t.z * 3).round().astype(int)
    a = MNLogit.from_formula("u + s ~ x + g", t).fit()
    b = Logit.from_formula("s + u ~ x + g", t).fit()
    same(a.params["s"], b.params)
    for name in SCALARS:
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-10, err_msg=name)


# ------------------------------------------------------------------------------------------------------------ bases
def offsets(t):
    """Offset against the first level: none, one column for all, one for each."""
    rng = np.random.default_rng(11)
    return {"none": None, "common": t.o.to_numpy(), "by level": rng.normal(size=(len(t), len(LEVELS) - 1))}


def other_offset(offset, levels, old, new):
    """The same offset against another base, (n, K-1)."""
    if offset is None:
        return None
    full = np.zeros((len(offset), len(levels)))
    full[:, [levels.index(level) for level in levels if level != old]] = offset if offset.ndim == 2 else offset[:, None]
    full -= full[:, [levels.index(new)]]
    return full[:, [levels.index(level) for level in levels if level != new]]


@pytest.mark.parametrize("weights", ["none", "freq_weights", "weights"])
@pytest.mark.parametrize("offset", ["none", "common", "by level"])
@covariances
def test_rebase_is_a_refit(cov, offset, weights):
    t = toy()
    given = {"none": {}, "freq_weights": {"freq_weights": "f"}, "weights": {"weights": "w"}}[weights]
    o = offsets(t)[offset]
    first = fit(t, cov=cov, offset=o, **given)
    for base in ("car", "walk"):
        again = fit(t, cov=cov, reference=base, offset=other_offset(o, sorted(LEVELS), "bus", base), **given)
        moved = first.rebase(base)
        assert moved.reference == base
        if o is None:
            same_fit(moved, again, t.head(40))
        else:
            same_fit(moved, again)
            same(moved.get_prediction().summary_frame(), again.get_prediction().summary_frame())
        same(moved.fittedvalues, first.fittedvalues)
        same(moved.level_contrasts(), first.level_contrasts(), rtol=1e-8, atol=1e-9)
        same(moved.rebase("bus").params, first.params)
        same(moved.rebase("bus").cov_params(), first.cov_params())
        assert moved.cov_type == first.cov_type


def test_rebase_leaves_the_original_alone():
    res = fit(toy(), offset="o")
    before, fitted, offset = res.params.copy(), res.fittedvalues.copy(), res.model.offset.copy()
    res.rebase("walk")
    assert res.reference == res.model.reference == "bus"
    same(res.params, before)
    same(res.fittedvalues, fitted)
    np.testing.assert_array_equal(res.model.offset, offset)


def test_rebase_to_the_base_is_the_fit():
    res = fit(toy(), cov="HC1", offset="o")
    same_fit(res.rebase("bus"), res, toy().head(9))


def test_rebase_with_an_ill_conditioned_design():
    """The fit runs in a basis of its own there; base changes keep the digits of a refit."""
    t = toy()
    t["q"] = 1e4 + t.x
    a = fit(t, "mode ~ q + I(q**2)").rebase("walk")
    b = fit(t, "mode ~ q + I(q**2)", reference="walk")
    same(a.fittedvalues, b.fittedvalues, rtol=1e-8)
    same(a.get_prediction(t.head(9)).se, b.get_prediction(t.head(9)).se, rtol=1e-6)


def test_rebase_with_a_named_offset_predicts_the_same():
    """The column of the new data means what it meant when the model was fitted."""
    t = toy()
    res = fit(t, offset="o")
    moved = res.rebase("walk")
    new = toy(seed=9).head(30)
    same(moved.predict(new), res.predict(new))
    same(moved.get_prediction(new).summary_frame(), res.get_prediction(new).summary_frame())
    same(moved.predict(t), moved.fittedvalues)


def test_rebase_of_a_hypothesis():
    """A test between two levels is the same against every base."""
    res = fit(toy())
    moved = res.rebase("car")
    a, b = res.t_test("ywalk_x = ytrain_x"), moved.t_test("ywalk_x = ytrain_x")
    np.testing.assert_allclose([a.effect, a.sd.ravel()], [b.effect, b.sd.ravel()], rtol=1e-9)
    for one, other in (("bus", "car"), ("car", "walk"), ("train", "bus")):
        np.testing.assert_allclose(
            res.combine_test(one, other).statistic, moved.combine_test(other, one).statistic, rtol=1e-8
        )


def test_combine_test_does_not_depend_on_the_coding():
    """All slopes, whether the factor spans the constant or not."""
    t = toy()
    a, b = (fit(t, formula).combine_test("car", "walk") for formula in ("mode ~ g + x", "mode ~ 0 + g + x"))
    assert b.df_denom == a.df_denom == 3
    np.testing.assert_allclose(b.statistic, a.statistic, rtol=1e-8)


# ----------------------------------------------------------------------------------------------------------- labels
@covariances
def test_labels_are_names_only(cov):
    """Other labels, in the order of the old ones, by strings, numbers, categoricals: the same numbers."""
    t = toy()
    codes = t["mode"].map({level: i for i, level in enumerate(sorted(LEVELS))})
    res = fit(t, cov=cov)
    renamed = {
        "integers": codes * 10 - 20,
        "floats": codes + 0.5,
        "Int64": codes.astype("Int64"),
        "text": codes.map({0: "a a", 1: "b-1", 2: "c=d", 3: "é"}),
        "categories": pd.Categorical.from_codes(codes, categories=["z", "y", "x", "w"], ordered=True),
        "string": codes.map({0: "p", 1: "q", 2: "r", 3: "s"}).astype("string"),
    }
    for what, labels in renamed.items():
        other = fit(t.assign(mode=labels), cov=cov)
        for name in ("params", "bse"):
            np.testing.assert_allclose(getattr(other, name), getattr(res, name), rtol=1e-11, err_msg=what)
        np.testing.assert_allclose(other.cov_params(), res.cov_params(), rtol=1e-9, err_msg=what)
        np.testing.assert_allclose(other.predict(), res.predict(), rtol=1e-11, err_msg=what)


def test_permuted_classes_are_a_base_change():
    """An order of categories that starts with another level is a refit against that level."""
    t = toy()
    order = ["walk", "bus", "train", "car"]
    res = fit(t.assign(mode=pd.Categorical(t["mode"], categories=order)))
    assert res.levels == order
    assert list(res.params.columns) == order[1:]
    other = fit(t, reference="walk")
    same(res.params[other.params.columns], other.params)
    same(res.bse[other.bse.columns], other.bse)
    same(res.predict()[other.levels], other.predict())
    assert res.llf == pytest.approx(other.llf, rel=1e-13)


# -------------------------------------------------------------------------------------------------------- repetition
@pytest.mark.parametrize("offset", [None, "o"])
@covariances
def test_freq_weights_are_repeated_rows(cov, offset):
    t = toy()
    t.loc[::7, "f"] = 0
    long = t.loc[t.index.repeat(t.f)].reset_index(drop=True)
    a = fit(t, cov=cov, freq_weights="f", offset=offset)
    b = fit(long, cov=cov, offset=offset)
    same_fit(a, b, t.head(30))
    same(a.pred_table(), b.pred_table())
    same(a.level_contrasts(), b.level_contrasts(), rtol=1e-8, atol=1e-9)
    same(a.odds_ratios(), b.odds_ratios())
    assert a.combine_test("bus", "car").statistic == pytest.approx(b.combine_test("bus", "car").statistic, rel=1e-8)
    assert len(a.simulate(1, seed=1)) == len(b.simulate(1, seed=1)) == a.nobs


def counts_of(t, by):
    """One row for each cell of `by`, with counts of the levels."""
    return t.groupby([*by, "mode"]).size().unstack(fill_value=0).reset_index()


def test_counts_are_expanded_rows():
    """Estimates, covariance and likelihood ratios; llf differs by the coefficients, nobs are the rows."""
    t = toy()
    t["x"] = t.x.round()
    table = counts_of(t, ["x", "g"])
    a = MNLogit.from_formula("bus + car + train + walk ~ x + g", table).fit()
    b = fit(t, "mode ~ x + g")
    assert a.levels == b.levels
    for name in ("params", "bse", "tvalues"):
        same(getattr(a, name), getattr(b, name))
    same(a.cov_params(), b.cov_params())
    for name in ("llr", "llr_pvalue", "prsquared", "df_model"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-9, err_msg=name)
    assert a.nobs == len(table)
    coefficients = sum(a.model._constant_rows())
    assert a.llf == pytest.approx(b.llf + coefficients, rel=1e-12)
    assert coefficients > 0
    same(a.predict(t.head(20)), b.predict(t.head(20)))
    same(a.pred_table(), b.pred_table())
    matrix = table[["bus", "car", "train", "walk"]]
    X = pd.DataFrame({"const": 1.0, "x": table.x, "b": table.g == "b", "c": table.g == "c"}, dtype=float)
    for given in (matrix, matrix.to_numpy()):
        np.testing.assert_allclose(
            MNLogit(given, X).fit().params, a.params.loc[["Intercept", "x", "g[T.b]", "g[T.c]"]], rtol=1e-9
        )


def test_rows_of_one_trial_are_classes():
    t = toy()
    one_hot = pd.get_dummies(t["mode"], dtype=float)
    a = MNLogit.from_formula("bus + car + train + walk ~ x + z + g", pd.concat([t, one_hot], axis=1)).fit()
    same_fit(a, fit(t), t.head(20))


def test_counts_with_offset_by_level_and_freq_weights():
    t = toy()
    O = offsets(t)["by level"]
    one_hot = pd.concat([t, pd.get_dummies(t["mode"], dtype=float)], axis=1)
    a = MNLogit.from_formula("bus + car + train + walk ~ x + g", one_hot, offset=O, freq_weights="f").fit()
    b = fit(t, "mode ~ x + g", offset=O, freq_weights="f")
    same_fit(a, b)


@covariances
def test_scaled_sampling_weights(cov):
    """Sampling weights have no unit: estimates and robust covariances stay."""
    t = toy()
    t["w2"] = 1000 * t.w
    a, b = (
        fit(t, cov=cov if cov != "nonrobust" else "HC0", weights="w"),
        fit(t, cov=cov if cov != "nonrobust" else "HC0", weights="w2"),
    )
    same(a.params, b.params)
    same(a.bse, b.bse)


# ------------------------------------------------------------------------------------------------- rows, units, coding
@covariances
def test_order_of_rows(cov):
    t = toy()
    shuffled = t.sample(frac=1.0, random_state=1)
    a, b = fit(t, cov=cov, offset="o"), fit(shuffled, cov=cov, offset="o")
    same_fit(a, b, t.head(20))
    same(a.fittedvalues, b.fittedvalues.loc[t.index])


def test_units_and_origin():
    """x in other units far from zero: coefficients follow, predictions and likelihood stay."""
    t = toy()
    t["u"] = 5000.0 + 1e-3 * t.x
    a, b = fit(t, "mode ~ x + z"), fit(t, "mode ~ u + z")
    np.testing.assert_allclose(b.params.loc["u"], 1e3 * a.params.loc["x"], rtol=1e-8)
    np.testing.assert_allclose(b.bse.loc["u"], 1e3 * a.bse.loc["x"], rtol=1e-8)
    np.testing.assert_allclose(b.bse.loc["z"], a.bse.loc["z"], rtol=1e-8)
    same(a.predict(t), b.predict(t), rtol=1e-8)
    same(a.get_prediction(t).se, b.get_prediction(t).se, rtol=1e-7)
    assert a.llf == pytest.approx(b.llf, rel=1e-10)  # u holds x to nine digits


@pytest.mark.parametrize("coding", ["C(g, Sum)", "C(g, Treatment('b'))", "C(g, Helmert)", "0 + g"])
def test_coding_of_a_factor(coding):
    t = toy()
    a, b = fit(t, "mode ~ g + x"), fit(t, f"mode ~ {coding} + x")
    same(a.predict(t), b.predict(t), rtol=1e-9)
    same(a.get_prediction(t).se, b.get_prediction(t).se, rtol=1e-8)
    for name in SCALARS:
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-10, err_msg=name)
    np.testing.assert_allclose(a.bse.loc["x"], b.bse.loc["x"], rtol=1e-9)


def test_constant_other_than_one():
    t = toy()
    X = np.column_stack([np.ones(len(t)), t.x])
    a, b = (MNLogit(t["mode"], M).fit() for M in (X, X * [7.0, 1.0]))
    np.testing.assert_allclose(b.params.iloc[0] * 7, a.params.iloc[0], rtol=1e-10)
    assert a.llnull == pytest.approx(b.llnull, rel=1e-13)
    assert a.df_model == b.df_model == 3


@covariances
def test_threads(cov):
    t = toy(n=6000)
    model = MNLogit.from_formula(FORMULA, t)
    a, b = (model.fit(n_threads=k, **COVARIANCES[cov]) for k in (1, 2))
    np.testing.assert_array_equal(a.params, b.params)
    np.testing.assert_array_equal(a.cov_params(), b.cov_params())


@pytest.mark.parametrize("method", ["irls", "newton", "bfgs", "lbfgs"])
def test_solvers_and_starts(method):
    t = toy()
    res = fit(t, offset="o")
    other = res.model.fit(method=method)
    same(other.params, res.params)
    same(other.bse, res.bse)
    rng = np.random.default_rng(0)
    for start in (res.params, np.zeros(res.params.size), rng.normal(size=res.params.size)):
        same(res.model.fit(method=method, start_params=start).params, res.params)


def test_formula_and_arrays_agree():
    t = toy()
    a = fit(t, "mode ~ x + z", offset="o", freq_weights="f")
    X = pd.DataFrame({"Intercept": 1.0, "x": t.x, "z": t.z})
    for endog in (t["mode"], t["mode"].to_numpy(), t["mode"].tolist(), pd.Categorical(t["mode"])):
        b = MNLogit(endog, X, offset=t.o.to_numpy(), freq_weights=t.f.to_numpy()).fit()
        same(a.params, b.params)
        same(a.cov_params(), b.cov_params())
        same(a.fittedvalues, b.fittedvalues)


def test_cells_and_dense_fits_agree():
    """A large table with factors is held as cell codes; a shuffled half of it dense."""
    t = toy(n=24_000, seed=5)
    t["h"] = np.random.default_rng(1).integers(0, 8, len(t)).astype(str)
    formula = "mode ~ x + C(h) + g"
    res = fit(t, formula)
    dense = MNLogit(t["mode"], pd.DataFrame(res.model.exog, columns=res.model.exog_names)).fit()
    same(res.params, dense.params, rtol=1e-9)
    same(res.cov_params(), dense.cov_params(), rtol=1e-8)
    assert res.llf == pytest.approx(dense.llf, rel=1e-12)


def test_rare_classes():
    """Levels of one, two and three rows have estimates, if no regressor separates them."""
    rng = np.random.default_rng(2)
    n = 400
    t = pd.DataFrame({"x": rng.normal(size=n), "mode": rng.choice(["a", "b"], n)})
    middle = t.x.abs().sort_values().index
    t.loc[middle[:1], "mode"], t.loc[middle[1:3], "mode"], t.loc[middle[3:6], "mode"] = "c", "d", "e"
    res = fit(t, "mode ~ x")
    assert res.converged
    same(res.rebase("c").params, fit(t, "mode ~ x", reference="c").params, rtol=1e-8)
    totals = pd.get_dummies(t["mode"], dtype=float).sum()
    np.testing.assert_allclose(res.fittedvalues.sum(), totals, rtol=1e-10)


def test_score_equations():
    """With a constant and dummies fitted totals equal observed totals, in every cell of a factor and weighted."""
    t = toy()
    res = fit(t, freq_weights="f", offset="o")
    fitted = res.fittedvalues.mul(t.f, axis=0).groupby(t.g).sum()
    observed = pd.get_dummies(t["mode"], dtype=float).mul(t.f, axis=0).groupby(t.g).sum()
    same(fitted, observed)
