"""Fits of another formula to the same rows: equal to a fit of that formula to those rows by hand, to the last bit."""

import numpy as np
import pandas as pd
import pytest

import glmclf
from glmclf import Logit, MNLogit, NaiveBayes, datasets, registry
from glmclf.errors import DataError, FormulaError, InferenceWarning, MissingDataError

RNG = np.random.default_rng(5)
GENERATIVE = registry.names(*registry.GENERATIVE)


def double(x):
    return 2 * x


@pytest.fixture(scope="module")
def table():
    """Rows with missing values in z, weights, trials, groups of 25, and an index that repeats."""
    n = 300
    found = pd.DataFrame({"x": RNG.normal(size=n), "z": RNG.normal(size=n), "g": RNG.choice(list("abc"), n)})
    found["y"] = np.where(found.x + found.z + RNG.logistic(size=n) > 0, "yes", "no")
    found["k"] = np.where(RNG.random(n) < 0.3, "other", found.y)
    found["f"], found["w"] = RNG.integers(0, 4, n), RNG.uniform(0.5, 2, n)
    found["m"], found["o"], found["c"] = RNG.integers(1, 6, n), RNG.normal(size=n), np.arange(n) % 25
    found["p"] = RNG.binomial(found.m, 0.4) / found.m
    found.loc[::7, "z"] = np.nan
    return found.set_index(pd.Index(np.arange(n) // 2))


def same(a, b):
    assert type(a) is type(b) and a.nobs == b.nobs and a.model.formula == b.model.formula
    np.testing.assert_array_equal(np.asarray(a.params, dtype=float), np.asarray(b.params, dtype=float))
    assert a.cov_type == b.cov_type and a.llf == b.llf
    of = [getattr(res, "discriminant", res) for res in (a, b)]
    np.testing.assert_array_equal(np.asarray(of[0].bse), np.asarray(of[1].bse))


OPTIONS = {
    "plain": ({}, {}),
    "frequencies": ({"freq_weights": "f"}, {}),
    "sampling": ({"weights": "w"}, {"cov_type": "HC1"}),
    "offset": ({"offset": "o"}, {"method": "newton"}),
    "clusters": ({}, {"cov_type": "cluster", "cov_kwds": {"groups": "c"}}),
    "bootstrap": ({}, {"cov_type": "bootstrap", "cov_kwds": {"reps": 20, "seed": 3}}),
    "firth": ({}, {"bias_reduction": "firth"}),
}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", registry.names())
def test_as_by_hand(name, options, table):
    keywords, fit = OPTIONS[options]
    if name in GENERATIVE and options in ("offset", "bootstrap", "firth"):
        pytest.skip("regressions only")
    if (name == "LDA" or name == "QDA") and options == "sampling":
        fit = {}
    model, y = getattr(glmclf, name), "y" if registry.MODELS[name].kind == "binary" else "k"
    coding = {"event": "no"} if y == "y" else {"reference": "yes"}
    ask = {**keywords, **coding, "missing": "drop"}
    with_z = model.from_formula(f"{y} ~ x + z", table, **ask).fit(**fit)
    by_hand = model.from_formula(f"{y} ~ x", table.dropna(), **ask).fit(**fit)
    same(with_z.refit(f"{y} ~ x"), by_hand)
    same(with_z.refit(". ~ x"), by_hand)
    same(with_z.refit(with_z.model.formula), with_z)


def test_trials_and_values_beside_the_table(table):
    """Values beside the table go with their rows, whatever they are called."""
    rows = table.notna().all(axis=1).to_numpy() & (table.x > -1.5).to_numpy()
    cut = table[rows]
    given = {"trials": table.m.to_numpy(), "offset": table.o.to_numpy()}
    fit = {"cov_type": "cluster", "cov_kwds": {"groups": table.c.to_numpy()}}
    large = Logit.from_formula("p ~ x + z", table, subset="x > -1.5", **given).fit(**fit)
    small = Logit.from_formula("p ~ x", cut, trials="m", offset="o").fit("irls", cov_type="cluster",
                                                                      cov_kwds={"groups": "c"})
    same(large.refit("p ~ x"), small)
    other = pd.Series(np.r_[1:301], name="o", index=table.index)  # the name of another column
    same(Logit.from_formula("y ~ x + z", table, freq_weights=other).fit().refit("y ~ x"),
         Logit.from_formula("y ~ x", table.assign(o=other.to_numpy())[table.z.notna().to_numpy()],
                            freq_weights="o").fit())


@pytest.mark.parametrize("offset", ["o", "both"])
def test_another_base_is_kept(table, offset):
    """The offset of a rebased fit is relative to its own base."""
    given = offset if offset == "o" else table[["o", "w"]].to_numpy()
    res = MNLogit.from_formula("k ~ x + z", table, reference="no", offset=given, freq_weights="f").fit()
    found, expected = res.rebase("other").refit("k ~ x"), res.refit("k ~ x").rebase("other")
    assert found.model.reference == "other"
    np.testing.assert_allclose(found.params, expected.params, rtol=1e-6)
    np.testing.assert_allclose(found.bse, expected.bse, rtol=1e-6)


@pytest.mark.parametrize("name", ["LDA", "QDA"])
def test_a_target_goes_with_the_features(table, name):
    T = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 3.0]])
    model, rows = getattr(glmclf, name), table.dropna()
    res = model.from_formula("k ~ x + z + o", rows, shrinkage=0.3, target=T).fit()
    by_hand = model.from_formula("k ~ x + o", rows, shrinkage=0.3, target=T[np.ix_([0, 2], [0, 2])]).fit()
    same(res.refit(". ~ . - z"), by_hand)
    with pytest.raises(ValueError, match="target= is labelled"):
        res.refit("k ~ x + w")


def test_another_covariance_is_kept(table):
    res = Logit.from_formula("y ~ x + z", table).fit()
    small = Logit.from_formula("y ~ x", table.dropna())
    same(res.with_cov("HC3").refit(". ~ . - z"), small.fit(cov_type="HC3"))
    with pytest.warns(InferenceWarning, match="Few clusters|positive semi-definite"):
        two = res.with_cov("cluster", groups=[table.c.to_numpy(), table.g.to_numpy()])
    with pytest.warns(InferenceWarning, match="Few clusters"):
        found = two.refit(". ~ . - z")
    with pytest.warns(InferenceWarning, match="Few clusters"):
        same(found, small.fit(cov_type="cluster", cov_kwds={"groups": ["c", "g"]}))
    drawn = res.with_cov("bootstrap", reps=20)
    again = drawn.refit(res.model.formula)
    np.testing.assert_array_equal(again.bse, drawn.bse)


def test_dots_stand_for_the_sides(table):
    res = Logit.from_formula("y ~ x + double(z)", table, event="yes").fit()
    assert res.refit("~ . + g").model.exog_names == ["Intercept", "g[T.b]", "g[T.c]", "x", "double(z)"]
    assert res.refit(". ~ . - x").model.exog_names == ["Intercept", "double(z)"]
    assert res.refit("~ .:g", eval_env=0).model.formula == "y ~ x:g + double(z):g"
    assert res.refit("~ . - x - double(z)").model.formula == "y ~ 1"
    assert res.refit("~ . - 1").model.formula == "y ~ 0 + x + double(z)"
    text = res.refit('. ~ np.abs(x) + Q("z") + C(g, Treatment("b"))').model.formula
    assert text == 'y ~ np.abs(x) + Q("z") + C(g, Treatment("b"))'


def test_names_of_the_caller(table):
    def triple(x):
        return 3 * x

    res = Logit.from_formula("y ~ x + z", table).fit()
    assert res.refit(". ~ triple(x)").params["triple(x)"] == pytest.approx(res.refit(". ~ x").params["x"] / 3)


def test_nested_models_compare(table):
    """A fit of the smaller formula to the table has more rows, and is refused; the refit compares."""
    res = Logit.from_formula("y ~ x + z", table).fit()
    with pytest.raises(ValueError, match="different data"):
        res.compare_lr_test(Logit.from_formula("y ~ x", table).fit())
    small = res.refit(". ~ . - z")
    assert res.compare_lr_test(small).statistic == pytest.approx(2 * (res.llf - small.llf))


def test_what_is_refused(table):
    res = Logit.from_formula("y ~ x", table).fit()
    with pytest.raises(MissingDataError, match='"?z'):
        res.refit("y ~ x + z")
    with pytest.raises(FormulaError, match="two sides"):
        res.refit("x")
    with pytest.raises(TypeError, match="a formula"):
        res.refit(3)
    arrays = Logit(table.y, table[["x"]]).fit()
    with pytest.raises(DataError, match="arrays"):
        arrays.refit("y ~ x")
    for fit in (res.model.fit_regularized(alpha=0.1), res.model.fit_constrained("x = 1")):
        with pytest.raises(NotImplementedError, match="refit"):
            fit.refit("y ~ 1")
    res.remove_data()
    with pytest.raises(DataError, match="removed"):
        res.refit("y ~ 1")


def test_offsets_by_level_and_another_base():
    penguins = datasets.load("penguins").dropna()
    offset = RNG.normal(size=(len(penguins), 2))
    res = MNLogit.from_formula("species ~ bill_length_mm + sex", penguins, offset=offset, reference="Gentoo").fit()
    by_hand = MNLogit.from_formula("species ~ bill_length_mm", penguins, offset=offset, reference="Gentoo").fit()
    same(res.refit(". ~ . - sex"), by_hand)


def test_options_of_features_go_with_them(table):
    """Families and the block of counts of NaiveBayes hold for the features that are left."""
    counts = table.assign(u=table.f + 1, v=table.m, w=table.c % 4, a=np.where(table.c % 2, "p", "q"))
    large = NaiveBayes.from_formula(
        "k ~ f + m + u + v + w + a:g", counts, families={"f": "poisson", "m": "gamma", "g:a": "categorical"},
        multinomial=["u", "v", "w"], smoothing=1.0).fit()
    by_hand = NaiveBayes.from_formula(
        "k ~ f + u + v", counts, families={"f": "poisson"}, multinomial=["u", "v"], smoothing=1.0).fit()
    small = large.refit(". ~ . - m - w - g:a")
    assert list(small.params.index) == list(by_hand.params.index)
    np.testing.assert_array_equal(small.params, by_hand.params)
    assert small.llf == by_hand.llf
    without = large.refit(". ~ f")
    np.testing.assert_array_equal(
        without.params, NaiveBayes.from_formula("k ~ f", counts, families={"f": "poisson"}, smoothing=1.0).fit().params)
    with pytest.raises(DataError, match="two or more"):
        large.refit(". ~ . - v - w")


@pytest.mark.parametrize("options", [{"families": "poisson"}, {"multinomial": "all"}])
def test_options_for_all_features_are_of_those_of_the_new_formula(options):
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.poisson(2.0, (60, 4)), columns=["c", "d", "e", "f"]).assign(k=rng.choice(["u", "v"], 60))
    res = NaiveBayes.from_formula("k ~ c + d + e", data, **options).fit()
    for right in ("c + d", "c + d + e + f", "d + f"):
        known = NaiveBayes.from_formula(f"k ~ {right}", data, **options).fit()
        np.testing.assert_array_equal(res.refit(f"k ~ {right}").params, known.params)
