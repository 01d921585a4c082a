"""Margins of factors whose levels are neither text nor numbers are those of the same levels written as text."""

import datetime
import decimal

import numpy as np
import pandas as pd
import pytest

import glmclf
from glmclf.errors import DataError, UnseenLevelError

LEVELS = {
    "interval": list(pd.IntervalIndex.from_breaks([0, 1, 2, 3])),
    "timestamp": list(pd.date_range("2020-01-01", periods=3)),
    "period": list(pd.period_range("2020", periods=3, freq="Y")),
    "timedelta": list(pd.to_timedelta([1, 2, 3], unit="D")),
    "date": [datetime.date(y, 1, 1) for y in (2020, 2021, 2022)],
    "decimal": [decimal.Decimal(v) for v in ("0.1", "0.5", "2")],
}
N = 60
CODES = np.arange(N) % 3
X = np.linspace(-2, 2, N)


def table(kind):
    y = ((np.arange(N) * 7) % 11 + X + CODES > 5).astype(int)
    g = pd.Categorical.from_codes(CODES, categories=pd.Index(LEVELS[kind]))
    return pd.DataFrame({"y": y, "x": X, "g": g, "text": np.array(["a", "b", "c"])[CODES]})


@pytest.mark.parametrize("kind", LEVELS)
@pytest.mark.parametrize("model", ["Logit", "Probit", "MNLogit", "LDA", "QDA", "NaiveBayes"])
def test_margins(model, kind):
    d = table(kind)
    r, text = (getattr(glmclf, model).from_formula(f"y ~ x + {g}", d).fit() for g in ("g", "text"))

    def same(own, other):
        np.testing.assert_allclose(np.asarray(own, dtype=float), np.asarray(other, dtype=float), atol=1e-10)

    same(r.get_margeff().margeff, text.get_margeff().margeff)
    same(r.predictions("g").predicted, text.predictions("text").predicted)
    same(r.contrasts("g").estimate, text.contrasts("text").estimate)
    same(r.predict(d.iloc[4]), text.predict(d.iloc[4]))
    plain = d.assign(g=np.array(LEVELS[kind], dtype=object)[CODES])  # new rows, in which they are no categories
    same(r.predict(plain), text.predict(d))
    same(r.predictions({"g": LEVELS[kind][1:]}).predicted, text.predictions({"text": ["b", "c"]}).predicted)


@pytest.mark.parametrize("kind", LEVELS)
def test_levels_that_the_model_does_not_know(kind):
    d = table(kind)
    res = glmclf.Logit.from_formula("y ~ x + g", d[d["text"] != "c"]).fit()
    new = d.assign(g=np.array(LEVELS[kind], dtype=object)[CODES])
    with pytest.raises(UnseenLevelError, match='"g" has level .*, which the model does not know'):
        res.predict(new)
    gone = new.assign(g=new["g"].where(CODES != 2, None))
    assert np.isnan(res.predict(gone)).tolist() == (CODES == 2).tolist()


@pytest.mark.filterwarnings("ignore:.*Few clusters")
@pytest.mark.parametrize("model", ["Logit", "MNLogit", "LDA", "NaiveBayes"])
def test_tuples_are_refused(model):
    tuples = pd.Index([("a", 1), ("b", 2), ("c", 3)], tupleize_cols=False)
    d = table("date").assign(t=pd.Categorical.from_codes(CODES, categories=tuples))
    for formula in ("y ~ x + t", "t ~ x"):
        with pytest.raises(
            DataError, match=r'"t" has categories that are tuples.*Join them into text, as in df\["t"\]'
        ):
            getattr(glmclf, model).from_formula(formula, d)
    fits = (
        glmclf.Logit.from_formula("y ~ x", d).fit(cov_type="cluster", cov_kwds={"groups": g})
        for g in (pd.Series(np.arange(N) // 4).map(lambda i: (i, "a")), np.arange(N) // 4)
    )
    np.testing.assert_allclose(*(r.bse for r in fits))
