"""Terms without a finite value where their columns have one: log of 0, root of a negative number, division by 0."""

import warnings

import numpy as np
import pandas as pd
import pytest

from glmclf import LDA, QDA, CLogLog, Logit, MNLogit, NaiveBayes, Probit
from glmclf.errors import DataError, DataWarning

N = 80
G = np.random.default_rng(5)
D = pd.DataFrame({"income": G.uniform(1, 100, N), "z": G.normal(size=N)})
D["y"] = (G.random(N) < 1 / (1 + np.exp(3 - np.log(D.income)))).astype(int)
D["k"] = np.where(G.random(N) < 0.3, "c", np.where(D.y == 1, "a", "b"))
NEW = pd.DataFrame({"income": [-5.0, 0.0, 10.0], "z": [0.5, 1.0, 2.0], "y": [0, 1, 1], "k": list("abc")}, list("uvw"))
MODELS = [(m, "y") for m in (Logit, Probit, CLogLog)] + [(m, "k") for m in (MNLogit, LDA, QDA, NaiveBayes)]


def said(call):
    """Value of a call that warns once of a term, and the warning."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        value = call()
    (text,) = (str(w.message) for w in found if "has no finite value" in str(w.message))
    return value, text


@pytest.mark.parametrize("model, left", MODELS)
@pytest.mark.parametrize("formula", ["np.log(income)", "np.log(income) + z", "z * np.log(income)"])
def test_new_rows_are_nan_and_named(model, left, formula):
    if model is NaiveBayes and "*" in formula:
        formula = "np.log(income) + z"
    res = model.from_formula(f"{left} ~ {formula}", D).fit()
    good = NEW.loc[["w"]]
    for call in (lambda new: res.predict(new), lambda new: res.get_prediction(new).summary_frame().iloc[:, :1]):
        found, text = said(lambda call=call: call(NEW))
        found, known = (np.asarray(v, dtype=float).reshape(n, -1) for v, n in ((found, 3), (call(good), 1)))
        assert np.isnan(found[:2]).all()
        np.testing.assert_allclose(found[2:], known, rtol=1e-12)
        assert text.startswith('"np.log(income)" has no finite value in 2 of 3 rows, although its columns have one')
        assert "income = -5 in row u; income = 0 in row v" in text
    found, _ = said(lambda: res.predict(NEW, which="class"))
    assert found.isna().tolist() == [True, True, False]


@pytest.mark.parametrize("code, bad", [("np.sqrt(z)", {"z": -1.0}), ("I(1 / z)", {"z": 0.0}), ("I(z / z)", {"z": 0.0})])
@pytest.mark.parametrize("model, left", [(Logit, "y"), (MNLogit, "k"), (QDA, "k")])
def test_roots_and_divisions(model, left, code, bad):
    data = D.assign(z=D.z.abs() + 0.1)
    res = model.from_formula(f"{left} ~ income + {code.replace('z / z', 'z**2 / z')}", data).fit()
    found, text = said(lambda: res.predict(NEW.assign(**bad)))
    assert np.isnan(np.asarray(found, dtype=float)).all()
    assert f"z = {bad['z']:g} in row u" in text


@pytest.mark.parametrize("model, left", MODELS)
def test_averages_at_values_beyond_the_domain(model, left):
    res = model.from_formula(f"{left} ~ np.log(income) + z", D).fit()
    found, text = said(lambda: res.predictions({"income": [10, -5, 0]}).predicted)
    found = np.asarray(found).reshape(-1, 3)
    assert np.isfinite(found[:, 0]).all()
    assert np.isnan(found[:, 1:]).all()
    assert "income = -5" in text
    found, _ = said(lambda: res.get_margeff(newdata=NEW).margeff)
    np.testing.assert_allclose(found, res.get_margeff(newdata=NEW.loc[["w"]]).margeff, rtol=1e-10)


@pytest.mark.parametrize("model, left", [(Logit, "y"), (MNLogit, "k"), (LDA, "k"), (NaiveBayes, "k")])
def test_new_rows_that_are_judged(model, left):
    res = model.from_formula(f"{left} ~ np.log(income) + z", D).fit()
    new = pd.concat([NEW, D[:30]])
    found, _ = said(lambda: res.calibration(3, new).summary_frame())
    known = res.calibration(3, new[2:]).summary_frame()
    np.testing.assert_allclose(found.estimate, known.estimate, rtol=1e-12)
    rows, _ = said(lambda: res.augment(NEW))
    assert rows.iloc[:2, -1].isna().all()


@pytest.mark.parametrize("model, left", [(Logit, "y"), (MNLogit, "k"), (LDA, "k")])
def test_rows_of_the_fit_are_left_out_with_a_word(model, left):
    whole = D.assign(z=D.z.where(D.index != 7))  # missing there: nothing is to be said of it
    some = whole[whole.z >= 0]
    for data in (whole, lambda: iter([whole[:40], whole[40:]])):
        with pytest.warns(DataWarning, match=rf'"np.sqrt\(z\)" has no .*value in {int((whole.z < 0).sum())} ') as found:
            res = model.from_formula(f"{left} ~ np.sqrt(z) + income", data).fit()
        assert sum("np.sqrt(z)" in str(w.message) for w in found) == 1
        assert "left out" in str(found[0].message)
        known = model.from_formula(f"{left} ~ np.sqrt(z) + income", some).fit()
        np.testing.assert_allclose(res.predict(some[:5]), known.predict(some[:5]), rtol=1e-6)
    with pytest.raises(DataError, match=r'"np.log\(z \* 0\)" is infinite in 79 of'):
        model.from_formula(f"{left} ~ np.log(z * 0) + income", whole)


def test_a_feature_of_naive_bayes_is_missing_with_a_word():
    with pytest.warns(DataWarning, match=r'"np.sqrt\(z\)" has no finite value .*They count as missing'):
        res = NaiveBayes.from_formula("k ~ np.sqrt(z) + income", D).fit()
    assert res.nobs == N


def test_missing_values_lags_and_constants_say_nothing():
    data = D.assign(gap=D.z.where(D.z > 0))
    for formula in ("y ~ np.exp(gap)", "y ~ gap.shift(1)", "y ~ z + income", "y ~ np.where(gap.isna(), 0, gap)"):
        with warnings.catch_warnings():
            warnings.simplefilter("error", DataWarning)
            Logit.from_formula(formula, data).fit().predict(data)


GAPS = D.assign(z=D.z.where(D.index % 8 > 0), t=np.where(D.index % 8 > 0, np.resize(list("pqrsp"), N), None))


@pytest.mark.parametrize("code", [
    "I(z.gt(0))", "I(z.between(-0.5, 0.5))", "C(np.digitize(z, [-0.5, 0.5]))", "I(np.searchsorted([0.0], z))",
    "C(np.digitize(z, np.quantile(z, [0.3, 0.6])))", "I(z.gt(np.quantile(z, 0.4)))", "I(t.isin(['p', 'q']))",
    "I(t.str.upper() == 'P')", "t.astype(str)", "np.select([z > 0], [1], 0)", "np.isclose(z, 0, atol=0.5)",
    "I(np.array(z) > 0)", "I(z.replace(-9, 0) > 0)", "t.replace({'p': 'q'})",
    "I(np.isinf(1 / np.round(z)))", "I(z > np.nanmean(z))",
])
@pytest.mark.parametrize("model, left", MODELS)
def test_what_is_computed_of_a_missing_value_is_missing(model, left, code):
    res = model.from_formula(f"{left} ~ {code} + income", GAPS, missing="drop").fit()
    without = model.from_formula(f"{left} ~ {code} + income", GAPS.dropna()).fit()
    whole = GAPS.assign(z=GAPS.z.fillna(9.0), t=GAPS.t.fillna("p")).iloc[1:8]
    np.testing.assert_array_equal(res.predict(whole), without.predict(whole))
    if model not in (LDA, QDA, NaiveBayes):  # which judge new rows by the other features
        assert np.isnan(np.asarray(res.predict(GAPS.iloc[:1]), dtype=float)).all()
    if not any(word in code for word in ("quantile", "select", "isclose", "array", "mean", "replace")):  # known by row
        parts = model.from_formula(f"{left} ~ {code} + income", lambda: iter([GAPS[:30], GAPS[30:]]), missing="drop")
        parts = parts.fit()
        np.testing.assert_allclose(parts.predict(whole), without.predict(whole), rtol=1e-8)


@pytest.mark.parametrize("left", ["I(z.gt(0))", "I(t.isin(['p', 'q']))", "z.between(-0.5, 0.5)"])
def test_a_response_of_a_missing_value_is_missing(left):
    assert Logit.from_formula(f"{left} ~ income", GAPS).fit().nobs == len(GAPS.dropna())


@pytest.mark.parametrize("code", ["z.isna()", "z.fillna(0)", "own(z)", "t.str.contains('p', na=False)",
                                  "z.add(income, fill_value=0)", "z.replace(np.nan, 0)", "z.replace({np.nan: 0})",
                                  "t.replace(words)", "t.isin([None, 'p'])", "np.nanmean([z, income], axis=0)",
                                  "z.rank(na_option='top')", "z.fillna(0).clip(-1, 1)"])
def test_code_that_says_what_becomes_of_missing_values(code):
    words = {None: "none", "p": "q"}  # noqa: F841

    def own(z):
        return np.where(z > 0, 1.0, 0.0)

    assert Logit.from_formula(f"y ~ {code}", GAPS).fit().nobs == N


def test_codes_of_categories_are_missing_where_these_are():
    data = GAPS.assign(t=GAPS.t.astype("category"))
    res = Logit.from_formula("y ~ C(t.cat.codes)", data).fit()
    assert res.nobs == len(GAPS.dropna()) and not any("-1" in name for name in res.params.index)


@pytest.mark.parametrize("code", ["C(pd.factorize(t)[0])", "C(coded(t)[0])", "I(z.rank(pct=True) > 0.5)",
                                  "C(np.unique(np.sign(z), return_inverse=True)[1])"])
def test_codes_and_ranks_of_missing_values_are_missing(code):
    coded = pd.factorize  # noqa: F841
    found = Logit.from_formula(f"y ~ {code} + income", GAPS).fit()
    without = Logit.from_formula(f"y ~ {code} + income", GAPS.dropna()).fit()
    assert found.nobs == len(GAPS.dropna())
    assert found.llf == pytest.approx(without.llf, rel=1e-12)


def test_values_of_other_rows_stay_inside_transforms():
    assert Logit.from_formula("y ~ center(z.ffill())", GAPS).fit().nobs == N - 1  # the first row is missing
