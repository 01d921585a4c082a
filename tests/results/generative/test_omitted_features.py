"""LDA and QDA with ``collinear="drop"``: the fit of the features that are left, whatever rows and weights."""

import io
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pandas.testing import assert_frame_equal

import glmclf
from glmclf import LDA, QDA, MNLogit, NaiveBayes
from glmclf.errors import CollinearityWarning, DataWarning, SingularCovarianceError

RTOL = 1e-11  # the same arithmetic on the same numbers, but for the blocks in which columns lie

both = pytest.mark.parametrize("model", [LDA, QDA])
REDUNDANT, PLAIN = "y ~ zero + x1 + three + g + x2 + sum + again", "y ~ x1 + g + x2"
KEPT = ["g[T.v]", "x1", "x2"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(20)
    n = 150
    t = pd.DataFrame({"y": rng.choice(["a", "b", "c"], n), "x1": rng.standard_normal(n), "x2": rng.normal(8, 2, n)})
    t["g"] = rng.choice(["u", "v"], n)
    t["x1"] += t.y == "b"
    t["x2"] -= 2.0 * (t.y == "c") * rng.random(n)
    t["f"], t["s"], t["k"] = rng.integers(1, 4, n), rng.uniform(0.5, 2.0, n), np.arange(n) % 30
    return t.assign(zero=0.0, three=3.0, sum=2 * t.x1 - t.x2 + 5, again=t.x2)


def dropped(model, *given, cov_type=None, cov_kwds=None, **keywords):
    with pytest.warns(CollinearityWarning, match='"zero" = 0'):
        made = model.from_formula(*given, **keywords)
        return made.fit(cov_type, cov_kwds, collinear="drop")


def parts(table):
    return lambda: (table.iloc[a:b] for a, b in ((0, 40), (40, 47), (47, len(table))))


@both
@pytest.mark.parametrize("weights", [{}, {"freq_weights": "f"}, {"weights": "s"}])
@pytest.mark.parametrize("where", ["memory", "parts"])
def test_everything_is_that_of_the_features_left(model, weights, where, table):
    data = table if where == "memory" else parts(table)
    res, plain = dropped(model, REDUNDANT, data, **weights), model.from_formula(PLAIN, table, **weights).fit()
    assert res.feature_names == KEPT
    for name in ("llf", "llnull", "llf_conditional", "k_params", "df_model", "df_resid", "nobs"):
        assert_allclose(getattr(res, name), getattr(plain, name), RTOL, err_msg=name)
    tables = ["means", "params", "bse"] + ["f_to_remove"] * (model is LDA and not weights)
    tables += [] if "weights" in weights else ["manova", "boxm_test"]
    for name in tables:
        a, b = (getattr(r, name) for r in (res, plain))
        a, b = (x() if callable(x) else x for x in (a, b))
        pd.testing.assert_index_equal(a.index, b.index)
        assert_allclose(np.asarray(a, dtype=float), np.asarray(b, dtype=float), 1e-9, 1e-12, err_msg=name)
    assert_frame_equal(res.discriminant.params, plain.discriminant.params, rtol=1e-9)
    assert_frame_equal(res.discriminant.bse, plain.discriminant.bse, rtol=1e-9)
    if "weights" not in weights:
        assert_frame_equal(res.canonical.raw, plain.canonical.raw, rtol=1e-9)
    assert_frame_equal(res.predict(table), plain.predict(table), rtol=1e-9)


@both
def test_robust_covariances_and_tests_of_terms(model, table):
    options = {"cov_type": "cluster", "cov_kwds": {"groups": "k"}}
    res, plain = dropped(model, REDUNDANT, table, **options), model.from_formula(PLAIN, table).fit(**options)
    assert_frame_equal(res.discriminant.bse, plain.discriminant.bse, rtol=1e-9)
    assert_frame_equal(res.term_tests(), plain.term_tests().loc[res.term_tests().index], rtol=1e-9)
    mine, theirs = (r.discriminant.wald_test_terms(skip_constant=True).table for r in (res, plain))
    assert_allclose(mine.to_numpy(float), theirs.loc[mine.index].to_numpy(float), 1e-9)


@both
def test_it_is_said_and_kept(model, table):
    with pytest.warns(CollinearityWarning) as caught:
        res = model.from_formula(REDUNDANT, table).fit(collinear="drop")
    said = ['"three" = 3 * Intercept', '"zero" = 0', '"sum" = 2 * x1 - x2 + 5 * Intercept', '"again" = x2']
    file = io.StringIO()
    res.save(file)
    file.seek(0)
    for text in (str(caught[0].message), str(res.summary()), str(glmclf.load(io.StringIO(file.getvalue())).summary())):
        assert all(part in " ".join(text.split()) for part in said)
    for other in (glmclf.load(file), pickle.loads(pickle.dumps(res))):
        assert_array_equal(other.predict(table), res.predict(table))
        with pytest.warns(DataWarning, match='2 of 150 rows .* "again" = x2'):
            other.predict(table.assign(again=np.where(table.index < 2, 0.0, table.x2)))
    res.remove_data()
    assert_array_equal(res.predict(table), other.predict(table))


@both
def test_new_rows(model, table):
    res, plain = dropped(model, REDUNDANT, table), model.from_formula(PLAIN, table).fit()
    few = table.head(4).copy()
    few.loc[1, ["x2", "again", "sum"]] = np.nan  # judged by the features that are there
    few.loc[2, "sum"] = np.nan  # was left out
    assert_allclose(res.predict(few), plain.predict(few), RTOL)
    with pytest.warns(DataWarning, match='1 of 4 rows .* "three" = 3'):
        p = res.predict(few.assign(three=[3.0, 3.0, 3.0, np.inf]))
    assert_allclose(p, plain.predict(few), RTOL)


@both
def test_arrays(model, table):
    X = np.column_stack([table.zero, table.x1, table.three, table.x2, table["sum"]])
    with pytest.warns(CollinearityWarning, match='"x1" = 0, "x4" = 2 \\* x2 - x3 \\+ 5 \\* const'):
        res = model(table.y, X).fit(collinear="drop")
    plain = model(table.y, table[["x1", "x2"]]).fit()
    assert_allclose(res.llf, plain.llf, RTOL)
    for rows in (X, np.delete(X, 2, axis=1)):
        assert_allclose(res.predict(rows), plain.predict(table[["x1", "x2"]]), RTOL)
    assert res.augment().shape[0] == len(table)


@both
def test_margins_are_as_of_mnlogit(model, table):
    """What leaves a combination is not estimable; features that no combination holds have their effects."""
    res, plain = dropped(model, "y ~ zero + x1 + g + x2 + again", table), model.from_formula(PLAIN, table).fit()
    with pytest.warns(DataWarning, match="not estimable"):
        mine = res.get_margeff().summary_frame()
    theirs = plain.get_margeff().summary_frame()
    estimable = mine.index.get_level_values(1).isin(["x1", "g[v - u]"])
    assert mine[~estimable].isna().all(axis=None)
    assert_frame_equal(mine[estimable], theirs.loc[mine.index[estimable]], rtol=1e-8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollinearityWarning)
        logit = MNLogit.from_formula("y ~ zero + x1 + g + x2 + again", table).fit()
    with pytest.warns(DataWarning, match="not estimable"):
        assert_array_equal(logit.get_margeff().summary_frame()["dy/dx"].isna(), mine["dy/dx"].isna())


@both
def test_what_the_fit_needs_not_is_kept(model, table):
    """A diagonal or a shrunken covariance has an inverse with repeated features, not with constant ones."""
    formula = "y ~ zero + x1 + x2 + again"
    for options in ({"covariance": "diag"}, {"shrinkage": 0.2}):
        res = dropped(model, formula, table, **options)
        assert res.feature_names == ["x1", "x2", "again"]
        assert_allclose(res.llf, model.from_formula("y ~ x1 + x2 + again", table, **options).fit().llf, RTOL)
    res = model.from_formula(formula, table, ridge=0.5).fit(collinear="drop")
    assert res.feature_names == ["zero", "x1", "x2", "again"]


@both
def test_what_tells_classes_apart_is_no_redundancy(model, table):
    apart = table.y.map({"a": 0.0, "b": 1.0, "c": 5.0})
    for x in (apart, table.x1 + apart):
        with pytest.raises(SingularCovarianceError, match="constant within every class|up to a constant of the class"):
            model.from_formula("y ~ x1 + x2 + z", table.assign(z=x)).fit(collinear="drop")


def test_constant_within_one_class_of_qda(table):
    some = table.assign(z=np.where(table.y == "b", 1.0, table.x2))
    with pytest.raises(SingularCovarianceError, match="constant in class 'b'"):
        QDA.from_formula("y ~ x1 + zero + z", some).fit(collinear="drop")
    with pytest.warns(CollinearityWarning, match='"zero" = 0'):
        LDA.from_formula("y ~ x1 + zero + z", some).fit(collinear="drop")


@both
def test_the_error_names_the_option(model, table):
    for formula in (REDUNDANT, "y ~ x1 + x2 + again"):
        with pytest.raises(SingularCovarianceError, match='or collinear="drop"\\.'):
            model.from_formula(formula, table).fit()
    with pytest.raises(SingularCovarianceError) as caught:
        model.from_formula("y ~ zero", table).fit(collinear="drop")
    assert "collinear" not in str(caught.value)


def test_options(table):
    with pytest.raises(ValueError, match="collinear='omit'"):
        LDA.from_formula(PLAIN, table).fit(collinear="omit")
    with pytest.raises(NotImplementedError, match="NaiveBayes takes each feature alone"):
        NaiveBayes.from_formula(PLAIN, table).fit(collinear="drop")


@both
def test_float32(model, table):
    t = table[["x1", "x2"]].astype(np.float32)
    X = t.assign(z=t.x1 + t.x2, one=np.float32(0.1))
    with pytest.warns(CollinearityWarning, match='"z" = x1 \\+ x2'):
        res = model(table.y, X.assign(zero=np.float32(0))).fit(collinear="drop")
    assert_allclose(res.llf, model(table.y, t).fit().llf, 1e-10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        res.predict(X.assign(zero=np.float32(0)))


@pytest.mark.parametrize("model", ["lda", "qda"])
def test_constant_pixels(model):
    """Pixels that are blank in all images, and one that two places share."""
    FormulaClassifier = pytest.importorskip("glmclf.sklearn", exc_type=ImportError).FormulaClassifier
    rng = np.random.default_rng(4)
    y = np.repeat(["3", "8"], 60)
    X = np.zeros((120, 16))
    X[:, [2, 5, 6, 9]] = rng.normal(8, 2, (120, 4)) + (y == "8")[:, None]
    X[:, 10] = X[:, 9]
    with pytest.raises(SingularCovarianceError, match="collinear"):
        FormulaClassifier(model).fit(X, y)
    with pytest.warns(CollinearityWarning, match='"x10" = x9.* and 4 more'):
        fitted = FormulaClassifier(model, collinear="drop").fit(X, y)
    plain = FormulaClassifier(model).fit(X[:, [2, 5, 6, 9]], y)
    assert_allclose(fitted.predict_proba(X), plain.predict_proba(X[:, [2, 5, 6, 9]]), 1e-9)


def test_resampling_keeps_the_features(table):
    res, plain = dropped(LDA, REDUNDANT, table), LDA.from_formula("y ~ g + x1 + x2", table).fit()
    mine, theirs = (r.validate("cv", folds=5, seed=3).table for r in (res, plain))
    assert_frame_equal(mine, theirs, rtol=1e-8)


@pytest.mark.parametrize("kind", ["full", "diag"])
def test_margins_beside_a_constant_feature(kind):
    table = pd.DataFrame(np.random.default_rng(3).normal(size=(90, 2)), columns=["a", "b"])
    table = table.assign(y=np.resize(["u", "v", "w"], 90), still=1.0)
    made = glmclf.QDA.from_formula("y ~ a + still + b", table, covariance=kind)
    with pytest.warns(CollinearityWarning, match="still"):
        res = made.fit(collinear="drop")
    with pytest.warns(DataWarning, match="not estimable"):
        found = res.get_margeff().summary_frame()
    wanted = glmclf.QDA.from_formula("y ~ a + b", table, covariance=kind).fit().get_margeff().summary_frame()
    assert found.xs("still", level="variable").isna().all(axis=None)
    np.testing.assert_allclose(found.drop("still", level="variable"), wanted, rtol=1e-9)
