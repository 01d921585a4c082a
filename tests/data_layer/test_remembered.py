"""What code of a formula reduces columns to (a mean, a maximum) is remembered of the rows of the fit, as by center().

Other code that looks across rows remembers nothing: it is fitted, and refused for other rows.
"""

import pickle

import numpy as np
import pandas as pd
import pytest

import glmclf
from glmclf import LDA, CLogLog, Logit, MNLogit, NaiveBayes, Probit
from glmclf.data.formula.rowwise import with_reductions_named
from glmclf.errors import DataError, FormulaError

N = 80
I = np.arange(N)
D = pd.DataFrame({"x": 3 + 2 * np.sin(1.7 * I), "z": np.cos(0.9 * I), "g": np.array(list("ab"))[I % 2], "w": 1 + I % 3})
D["y"] = (I * 13 % 17 / 4 < D.x - 1).astype(int)
D["m"] = np.array(list("pqr"))[I * 5 % 3]
NEW = D.iloc[[3, 10, 11]]
MODELS = [(Logit, "y"), (Probit, "y"), (CLogLog, "y"), (MNLogit, "m"), (LDA, "m"), (NaiveBayes, "m")]

CODES = {
    "I(x - x.mean())": lambda v, d: v.x - d.x.mean(),
    "I(x - np.median(x))": lambda v, d: v.x - d.x.median(),
    "I((x - x.min()) / (x.max() - x.min()))": lambda v, d: (v.x - d.x.min()) / (d.x.max() - d.x.min()),
    "I((x - np.mean(x)) / np.std(x, ddof=1))": lambda v, d: (v.x - d.x.mean()) / d.x.std(),
    "I(x / x.quantile(0.9))": lambda v, d: v.x / d.x.quantile(0.9),
    "np.abs(x - np.percentile(x, 25))": lambda v, d: (v.x - d.x.quantile(0.25)).abs(),
    "I(x * len(z) / sum(x))": lambda v, d: v.x / d.x.mean(),
    "I(x**2 - (x**2).mean())": lambda v, d: v.x**2 - (d.x**2).mean(),
    "I(x - (x - x.mean()).max())": lambda v, d: v.x - (d.x - d.x.mean()).max(),
    "np.where(x > x.median(), x - x.median(), 0)": lambda v, d: np.maximum(v.x - d.x.median(), 0.0),
    "x.clip(upper=x.quantile(q=0.8))": lambda v, d: v.x.clip(upper=d.x.quantile(0.8)),
    "standardize(x - x.mean())": lambda v, d: (v.x - d.x.mean()) / d.x.std(ddof=0),
    "np.interp(x, np.quantile(x, [0, 0.4, 1]), [0, 3, 1])": lambda v, d: np.interp(
        v.x, d.x.quantile([0, 0.4, 1]), [0, 3, 1]
    ),
}


def plain(found):
    return np.asarray(found, dtype=float)


@pytest.mark.parametrize("model, left", MODELS)
@pytest.mark.parametrize("code", CODES)
def test_new_rows_have_the_numbers_of_the_fit(code, model, left):
    a = model.from_formula(f"{left} ~ {code} + z", D).fit()
    b = model.from_formula(f"{left} ~ v + z", D.assign(v=CODES[code](D, D))).fit()
    for new in (NEW, NEW.iloc[:1], NEW.iloc[::-1]):
        known = plain(b.predict(new.assign(v=CODES[code](new, D))))
        np.testing.assert_allclose(plain(a.predict(new)), known, rtol=1e-8)
        np.testing.assert_allclose(plain(pickle.loads(pickle.dumps(a)).predict(new)), known, rtol=1e-8)


@pytest.mark.parametrize("model, left", MODELS)
def test_averages_at_set_values(model, left):
    a, b = (model.from_formula(f"{left} ~ {c} + z", D).fit() for c in ("I(x - x.mean())", "center(x)"))
    found, known = (r.predictions({"x": [2, 4]}).predicted for r in (a, b))
    np.testing.assert_allclose(found, known, rtol=1e-9)
    np.testing.assert_allclose(a.get_margeff().margeff, b.get_margeff().margeff, rtol=1e-8)
    np.testing.assert_allclose(a.get_margeff(at={"x": 2}).margeff, b.get_margeff(at={"x": 2}).margeff, rtol=1e-8)


@pytest.mark.parametrize("code", [c for c in CODES if not any(f in c for f in (".clip", "np.where", "np.interp"))])
def test_they_are_kept_in_a_file(code, tmp_path):
    res = Logit.from_formula(f"y ~ {code}", D).fit()
    res.save(tmp_path / "fit.json")
    np.testing.assert_array_equal(glmclf.load(tmp_path / "fit.json").predict(NEW), res.predict(NEW))


def test_a_file_without_them_is_refused():
    from glmclf.data.design.codec import decode, encode

    stored = encode(Logit.from_formula("y ~ I(x - x.mean())", D)._design)
    text = str(stored)
    assert "fixed" in text
    for wrong in ([], ["3"], [1.0, 2.0]):
        broken = pickle.loads(pickle.dumps(stored))
        for factor in broken["factors"]:
            factor["dict"] = [[k, wrong if k == "fixed" else v] for k, v in factor["dict"]]
        with pytest.raises(DataError, match=r'number.* "I\(x - x.mean\(\)\)"'):
            decode(broken)


@pytest.mark.parametrize("code", ["I(x - x.mean())", "I(x / x.std())", "I(x > x.median())"])
def test_frequency_weights_repeat_rows(code):
    found = Logit.from_formula(f"y ~ {code}", D, freq_weights="w").fit()
    right = Logit.from_formula(f"y ~ {code}", D.loc[D.index.repeat(D.w)]).fit()
    np.testing.assert_allclose(found.params, right.params, rtol=1e-10)
    np.testing.assert_allclose(found.predict(NEW), right.predict(NEW), rtol=1e-10)


def test_they_are_of_the_complete_rows():
    gaps = D.assign(z=D.z.where(I % 5 > 0), x=D.x.where(I % 7 > 0))
    a, b = (Logit.from_formula(f"y ~ {c} + z", gaps).fit() for c in ("I(x - x.mean())", "center(x)"))
    np.testing.assert_allclose(a.params, b.params, rtol=1e-10)
    kept = gaps.dropna()
    filled = Logit.from_formula("y ~ x.fillna(x.mean()) + z", gaps).fit()
    some = gaps.dropna(subset="z")
    right = Logit.from_formula("y ~ v + z", some.assign(v=some.x.fillna(some.x.mean()))).fit()
    assert filled.nobs == right.nobs > len(kept)
    np.testing.assert_allclose(filled.params, right.params, rtol=1e-10)
    alone = filled.predict(gaps.iloc[[0, 7]].assign(z=0.3, x=np.nan))
    np.testing.assert_allclose(alone, right.predict(pd.DataFrame({"v": [some.x.mean()] * 2, "z": 0.3})), rtol=1e-10)


@pytest.mark.parametrize(
    "quantiles", ["np.quantile(x, [0.3, 0.6])", "x.quantile([0.3, 0.6])", "np.percentile(x, [30, 60])"]
)
def test_knots_may_be_quantiles(quantiles, tmp_path):
    a = Logit.from_formula(f"y ~ bs(x, knots={quantiles})", D).fit()
    b = Logit.from_formula(f"y ~ bs(x, knots={D.x.quantile([0.3, 0.6]).tolist()})", D).fit()
    a.save(tmp_path / "fit.json")
    for res in (a, pickle.loads(pickle.dumps(a)), glmclf.load(tmp_path / "fit.json")):
        np.testing.assert_allclose(res.predict(NEW), b.predict(NEW), rtol=1e-12)


T = D.assign(t=pd.Timestamp("2020-01-01") + pd.to_timedelta(I // 2, unit="D"))


@pytest.mark.parametrize("code", ["I((t - t.min()).dt.days)", "I((t - t.min()) / np.timedelta64(1, 'D'))"])
def test_a_first_day_is_remembered_and_not_saved(code, tmp_path):
    a, b = Logit.from_formula(f"y ~ {code}", T).fit(), Logit.from_formula("y ~ d", T.assign(d=I // 2)).fit()
    np.testing.assert_allclose(a.predict(T[20:23]), b.predict(T.assign(d=I // 2)[20:23]), rtol=1e-9)
    with pytest.raises(DataError, match="cannot be stored.*pickle"):
        a.save(tmp_path / "fit.json")


def test_a_label_is_remembered_and_not_saved(tmp_path):
    a, b = (Logit.from_formula(f"y ~ I(g == {least})", D).fit() for least in ("g.min()", "'a'"))
    np.testing.assert_allclose(a.predict(D[1:2]), b.predict(D[1:2]), rtol=1e-12)
    with pytest.raises(FormulaError, match="cannot be stored.*remembers 'a'.*pickle"):
        a.save(tmp_path / "fit.json")


def test_new_rows_in_parts():
    res = Logit.from_formula("y ~ I(x - x.mean())", D).fit()
    found = pd.concat(list(res.augment(lambda: iter([D[:30], D[30:]]))))
    np.testing.assert_allclose(found.iloc[:, -1], res.augment(D).iloc[:, -1], rtol=1e-12)


# ------------------------------------------------------------------------------------------ what remembers nothing
def ranked(v):
    return pd.Series(v).rank()


def away(v):
    return v - np.mean(v)


def curve(v):
    return np.exp(-np.asarray(v) ** 2)


def from_least(v):
    return v - v.min()


def from_first(v):
    return v - v.iloc[0]


def from_median(v):
    return v - np.median(v)


def place(v):
    return v.astype("category").cat.codes


ACROSS = ["x.rank()", "np.cumsum(x)", "x.diff().fillna(0)", "ranked(x)", "away(x)", "I(x - away(x).max())"]


@pytest.mark.parametrize("model, left", [(Logit, "y"), (MNLogit, "m"), (LDA, "m"), (NaiveBayes, "m")])
@pytest.mark.parametrize("code", [*ACROSS, "bs(away(x), df=4)", "x.groupby(g).transform('mean')"])
def test_code_that_looks_across_rows_is_not_for_new_ones(code, model, left):
    res = model.from_formula(f"{left} ~ {code} + z", D).fit()
    np.testing.assert_allclose(plain(res.predict(D)), plain(res.predict()), rtol=1e-10)  # the same rows
    for call in (
        lambda: res.predict(NEW),
        lambda: res.predict(D[::-1]),
        lambda: pickle.loads(pickle.dumps(res)).predict(NEW),
        lambda: res.predictions({"x": [2, 4]}),
        lambda: res.calibration(3, D[D.x > 3]),
    ):
        with pytest.raises(DataError, match=r"depends on other rows.*center\(\)"):
            call()


@pytest.mark.parametrize(
    "code", ["curve(x)", "x.map(curve)", "x.replace(3.0, 1.0)", "np.exp(curve(x))", "bs(curve(x), df=4)"]
)
def test_functions_of_each_row_are_for_new_ones(code):
    res = Logit.from_formula(f"y ~ {code}", D).fit()
    np.testing.assert_allclose(res.predict(NEW), res.predict()[NEW.index], rtol=1e-10)
    np.testing.assert_allclose(res.predict(NEW.iloc[:1]), res.predict()[NEW.index[:1]], rtol=1e-10)


@pytest.mark.parametrize(
    "code", ["from_least(k)", "from_first(k)", "from_median(k)", "place(k)", "place(h)", "bs(from_least(k), df=4)"]
)
def test_few_values_do_not_hide_it(code):
    """Every other row has the same least, first and median value and the same levels as all rows."""
    d = D.assign(k=I // 2 % 5, h=np.array(list("abc"))[I // 2 % 3])
    res = Logit.from_formula(f"y ~ {code}", d).fit()
    for new in (d[d.k > 1], d[d.h > "a"], d[5:6]):
        with pytest.raises(DataError, match="depends on other rows"):
            res.predict(new)


def test_a_function_of_a_mean_says_how_it_is_declared():
    def double(v):
        return 2 * v

    res = Logit.from_formula("y ~ double(x - x.mean())", D).fit()
    with pytest.raises(DataError, match=r"declare it: double = glmclf.rowwise\(double\)"):
        res.predict(NEW)
    double = glmclf.rowwise(double)
    right = Logit.from_formula("y ~ I(2 * (x - x.mean()))", D).fit()
    res = Logit.from_formula("y ~ double(x - x.mean())", D).fit()
    np.testing.assert_allclose(res.predict(NEW), right.predict(NEW), rtol=1e-12)


def test_effects_of_other_variables_are_there():
    res = Logit.from_formula("y ~ x.rank() + z", D).fit()
    right = Logit.from_formula("y ~ v + z", D.assign(v=D.x.rank())).fit()
    found, known = (r.get_margeff(variables="z").margeff for r in (res, right))
    np.testing.assert_allclose(found, known, rtol=1e-8)


@pytest.mark.parametrize(
    "code",
    ["np.max(np.column_stack([x, z]), axis=1)", "x.clip(upper=z.max(axis=0))", "np.minimum(x, z)", "x.str.count('a')"],
)
def test_what_is_no_reduction_to_a_number(code):
    assert with_reductions_named(code, ["x", "z"], {}) == (code, {})
