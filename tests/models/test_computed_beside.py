"""Code of columns in place of a column of offset, weights or trials: every number is that of the computed column."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import glmclf
from glmclf import Logit, MNLogit
from glmclf.errors import DataError, DataWarning, FormulaError

REGRESSIONS = {"Logit": "y", "Probit": "y", "CLogLog": "y", "MNLogit": "c"}
MODELS = {**REGRESSIONS, "LDA": "c", "QDA": "c", "NaiveBayes": "c"}


def table(n=150, seed=5):
    rng = np.random.default_rng(seed)
    df = pd.DataFrame({"x": rng.normal(size=n), "exposure": rng.uniform(0.5, 2.0, n), "g": rng.choice(list("ab"), n)})
    df["y"] = (rng.uniform(size=n) < df.exposure / (df.exposure + np.exp(-df.x))).astype(int)
    df["c"] = np.array(["l", "m", "n"])[(df.y + rng.integers(0, 2, n)).to_numpy()]
    df["f"], df["n"] = rng.integers(1, 4, n), rng.integers(1, 9, n)
    df["share"] = rng.binomial(df.n, 0.4) / df.n
    df["o"], df["w"], df["f2"] = np.log(df.exposure), 1 / df.exposure, 2 * df.f
    return df.assign(half=df.n / 2, other=df.n - df.n / 2)


DF, NEW = table(), table(20, seed=6)
UNIT = 1.0


def parts(df=DF):
    return lambda: iter([df[:40], df[40:41], df[41:]])


def same(one, other, rtol=1e-12):
    for a, b in [(one.params, other.params), (one.cov_params(), other.cov_params())]:
        assert_allclose(a, b, rtol=rtol, atol=1e-14)


@pytest.mark.parametrize("model", REGRESSIONS)
def test_offset(model):
    make = getattr(glmclf, model).from_formula
    formula = f"{REGRESSIONS[model]} ~ x"
    known = make(formula, DF, offset="o").fit()
    for data in (DF, parts()):
        for code in ("np.log(exposure)", 'np.log(Q("exposure") / UNIT)'):
            found = make(formula, data, offset=code).fit()
            same(found, known, 1e-8)
            assert code in str(found.summary())
            assert_array_equal(found.predict(NEW), found.predict(NEW.drop(columns="o")))
            assert_allclose(found.predict(NEW), known.predict(NEW), rtol=1e-8)
            assert_allclose(found.predict(NEW, offset="o"), known.predict(NEW), rtol=1e-8)


@pytest.mark.parametrize("model", MODELS)
def test_weights(model):
    make = getattr(glmclf, model).from_formula
    formula = f"{MODELS[model]} ~ x + exposure"
    for keyword, code, column in (("weights", "1 / exposure", "w"), ("freq_weights", "f * 2", "f2")):
        options = {"cov_type": "HC0"} if model in REGRESSIONS else {}
        known = make(formula, DF, **{keyword: column}).fit(**options)
        for data in (DF, parts()):
            found = make(formula, data, **{keyword: code}, trusted=model in REGRESSIONS).fit(**options)
            if options:
                same(found, known, 1e-7)
            assert_allclose(found.predict(NEW), known.predict(NEW), rtol=1e-8)
            assert_allclose(found.pred_table(newdata=NEW), known.pred_table(newdata=NEW), rtol=1e-12)


def test_weights_of_new_rows():
    found = Logit.from_formula("y ~ x + exposure", DF).fit()
    for keyword, code, column in (("weights", "1 / exposure", "w"), ("freq_weights", "f * 2", "f2")):
        for new in (NEW, parts(NEW)):
            known = found.get_margeff(newdata=NEW, **{keyword: column}).summary_frame()
            assert_allclose(found.get_margeff(newdata=new, **{keyword: code}).summary_frame(), known, rtol=1e-9)
            known = found.pred_table(newdata=NEW, **{keyword: column})
            assert_allclose(found.pred_table(newdata=new, **{keyword: code}), known, rtol=1e-12)
            with pytest.raises(FormulaError, match="no such column, and as code"):
                found.get_margeff(newdata=new, **{keyword: "UNIT * f"})


def test_trials():
    known = Logit.from_formula("share ~ x", DF, trials="n").fit()
    for data in (DF, parts()):
        found = Logit.from_formula("share ~ x", data, trials="half + other").fit()
        same(found, known, 1e-8)
        assert_allclose(found.pred_table(newdata=NEW), known.pred_table(newdata=NEW), rtol=1e-12)


def test_saved_pickled_and_refitted(tmp_path):
    found = MNLogit.from_formula("c ~ x + g", DF, offset="np.log(exposure / UNIT)", freq_weights="f * 2").fit()
    known = found.predict(NEW)
    found.save(tmp_path / "fit.json")
    loaded = glmclf.load(tmp_path / "fit.json")
    for other in (loaded, pickle.loads(pickle.dumps(found))):
        assert_array_equal(other.predict(NEW), known)
        assert_array_equal(other.pred_table(newdata=NEW), found.pred_table(newdata=NEW))
    smaller = found.refit(". ~ . - g")
    direct = MNLogit.from_formula("c ~ x", DF, offset="o", freq_weights="f2").fit()
    same(smaller, direct)
    assert_allclose(smaller.predict(NEW), direct.predict(NEW), rtol=1e-12)
    found.remove_data()
    assert_array_equal(found.predict(NEW), known)


@pytest.mark.parametrize("model", REGRESSIONS)
def test_margins_go_through_the_offset(model):
    """As those of a fit that has the number in its formula, at the coefficient one, which the offset gives it."""
    formula = f"{REGRESSIONS[model]} ~ x"
    make = getattr(glmclf, model).from_formula
    plain, found = (make(formula, DF, offset=o).fit() for o in ("o", "np.log(exposure)"))
    for r in (found, make(formula, parts(), offset="np.log(exposure)").fit()):
        level = r.predictions(at={"exposure": [0.7, 2.0]}).summary_frame()
        assert_allclose(level, plain.predictions(at={"o": np.log([0.7, 2.0])}).summary_frame(), rtol=1e-7)
        assert_allclose(r.get_margeff().margeff, plain.get_margeff().margeff, rtol=1e-7)
    new = found.predictions(newdata=NEW, by="g").summary_frame()
    assert_allclose(new, plain.predictions(newdata=NEW, by="g").summary_frame(), rtol=1e-9)
    assert_allclose(found.predictions(newdata=parts(NEW), by="g").summary_frame(), new, rtol=1e-9)
    both = make(formula + " + exposure", DF, offset="np.log(exposure)").fit()
    step, h = 1e-5, DF.exposure
    up, down = (np.asarray(both.predict(DF.assign(exposure=h + s))) for s in (step, -step))
    slope = ((up - down) / (2 * step)).mean(axis=0)
    assert_allclose(both.get_margeff(variables="exposure").margeff.to_numpy().ravel(), slope, rtol=1e-6)
    with pytest.raises(NotImplementedError, match='"exposure", of which the offset "np.log'):
        both.get_margeff(at="mean", variables="exposure")
    with pytest.raises(NotImplementedError, match='"exposure", of which the offset "np.log'):
        both.predictions(at="mean", variables={"exposure": [1.0]})
    with pytest.raises(ValueError, match='at= sets the offset "np.log.exposure." and "exposure"'):
        both.predictions(at={"np.log(exposure)": 0.0, "exposure": 1.0})


def test_a_column_of_that_name_wins():
    df = DF.assign(**{"np.log(exposure)": 0.0, "my offset": DF.o})
    same(Logit.from_formula("y ~ x", df, offset="np.log(exposure)").fit(), Logit.from_formula("y ~ x", df).fit())
    same(Logit.from_formula("y ~ x", df, offset="my offset").fit(), Logit.from_formula("y ~ x", df, offset="o").fit())
    few = DF[["y", "x", "exposure"]]
    for code in ("np.log(exposure)", "exposure * 2"):
        assert Logit.from_formula("y ~ .", few, offset=code).exog_names == ["Intercept", "x"]


def test_rows_without_a_value():
    bad = DF.assign(exposure=DF.exposure.where(DF.index > 2), x=DF.x.where(DF.index != 5))
    minus = bad.assign(exposure=bad.exposure.where(bad.index != 9, -1.0))
    known = Logit.from_formula("y ~ x", bad[(bad.index > 2) & (bad.index != 9)], offset="o").fit()
    for data in (minus, parts(minus)):
        with pytest.warns(DataWarning, match=r'"np.log\(exposure\)" has no (finite )?value in'):
            found = Logit.from_formula("y ~ x", data, offset="np.log(exposure)").fit()
        same(found, known, 1e-8)
        assert "np.log(exposure): 4" in str(found.summary())
    with pytest.warns(DataWarning, match="exposure = -1 in row 9. They count as missing"):
        assert found.predict(minus).isna().sum() == 5
    zero = DF.assign(exposure=DF.exposure.where(DF.index != 7, 0.0))
    for data in (zero, parts(zero)):
        with pytest.raises(DataError, match=r'offset="np.log\(exposure\)" has infinite values in 1 of .* \(row 7\)'):
            Logit.from_formula("y ~ x", data, offset="np.log(exposure)")


@pytest.mark.parametrize(
    "keyword, code, error, words",
    [
        ("offset", "np.log(exposur)", FormulaError, 'offset="np.log.exposur.": no such column, and as code'),
        ("offset", "exposur", DataError, 'offset="exposur": no such column. Did you mean .exposure'),
        ("offset", "np.log(exposure", DataError, "no such column. .*Nor is it code of columns"),
        ("offset", "x) + I(exposure", DataError, "no such column"),
        ("offset", "g", DataError, "must be numbers"),
        ("offset", "C(exposure > 1)", None, ""),
        ("weights", "exposure > 1", None, ""),
        ("offset", "np.where(x > 0, g, g)", DataError, "gives labels: it needs one number a row"),
        ("weights", "x * 2", DataError, 'weights="x . 2" has negative values'),
        ("freq_weights", "f / 2", DataError, 'freq_weights="f / 2" has values other than whole numbers'),
        ("weights", "exposure / exposure.mean()", NotImplementedError, "depends on other rows.*Compute the column"),
        ("offset", "center(exposure)", NotImplementedError, "depends on other rows"),
        ("offset", "exposure.shift(1)", NotImplementedError, "depends on other rows"),
        ("offset", "own(exposure)", NotImplementedError, r"own = glmclf.rowwise\(own\)"),
        ("offset", "declared(exposure)", None, ""),
        ("offset", "DF.exposure", NotImplementedError, 'the value of "DF.exposure" in a row'),
    ],
)
def test_what_is_no_value_of_a_row(keyword, code, error, words):
    def own(x):
        return x / 2

    declared = glmclf.rowwise(lambda x: x / 2)
    for data in (DF, parts()):
        if error is None:
            assert own(2.0) == declared(2.0) and Logit.from_formula("y ~ x", data, **{keyword: code}).fit().converged
            continue
        with pytest.raises(error, match=words):
            Logit.from_formula("y ~ x", data, **{keyword: code})


def test_code_from_outside_is_read_by_the_closed_list():
    for keyword in ("offset", "weights", "freq_weights"):
        for code in ("__import__('os').getpid() * x", "exposure * UNIT", "exposure.__class__"):
            with pytest.raises(FormulaError):
                Logit.from_formula("y ~ x", DF, trusted=False, **{keyword: code})


def test_new_data_without_the_columns():
    found = Logit.from_formula("y ~ x", DF, offset="np.log(exposure)").fit()
    with pytest.raises(DataError, match='lack "exposure" of the offset "np.log'):
        found.predict(NEW[["x"]])
    with pytest.raises(DataError, match='"exposure"'):
        found.predictions(newdata=NEW[["x"]])
    assert_allclose(found.predict(NEW[["x"]], offset=NEW.o), found.predict(NEW), rtol=1e-12)
