"""Averages by several columns are those by one column that holds their combinations."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import glmclf
from glmclf.errors import DataError, InferenceWarning, MissingDataError


def table(n=400, seed=2):
    rng = np.random.default_rng(seed)
    df = pd.DataFrame({"x": rng.normal(size=n), "k": rng.integers(0, 3, n), "day": rng.integers(0, 2, n)})
    df["g"] = rng.choice(["a", "b", "c"], n)
    df["day"] = pd.to_datetime("2020-01-01") + pd.to_timedelta(df.day, unit="D")
    df["f"] = rng.integers(1, 4, n)
    df = df[(df.g != "c") | (df.k != 2)].reset_index(drop=True)  # one combination is empty
    df["y"] = (rng.uniform(size=len(df)) < 1 / (1 + np.exp(-df.x - 0.4 * (df.g == "b")))).astype(int)
    df["c"] = np.array(["l", "m", "n"])[(df.y + rng.integers(0, 2, len(df))).to_numpy()]
    df["both"] = [f"{g}/{k}" for g, k in zip(df.g, df.k)]
    return df


DF = table()
MODELS = {"Logit": "y", "MNLogit": "c", "LDA": "c", "NaiveBayes": "c"}


def fitted(model, data=DF, **keywords):
    return getattr(glmclf, model).from_formula(f"{MODELS[model]} ~ x * g", data, **keywords).fit()


def parts():
    return iter([DF[:100], DF[100:110], DF[110:]])


def same(crossed, single):
    one, other = crossed.summary_frame(), single.summary_frame()
    assert_allclose(one.to_numpy(dtype=float), other.to_numpy(dtype=float), rtol=1e-9, atol=1e-12)
    names = [f"{g}/{k}" for g, k in zip(one.index.get_level_values("g"), one.index.get_level_values("k"))]
    place = "both" if "both" in other.index.names else "over"
    assert names == other.index.get_level_values(place).tolist()


@pytest.mark.parametrize("model", ["Logit", "MNLogit"])
@pytest.mark.parametrize("options", [{}, {"vcov": "unconditional"}, {"newdata": DF[::2]}])
def test_marginal_effects(model, options):
    res = fitted(model, freq_weights="f")
    crossed = res.get_margeff(variables="x", over=["g", "k"], **options)
    same(crossed, res.get_margeff(variables="x", over="both", **options))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("options", [{}, {"at": "mean"}, {"newdata": DF[::2]}])
def test_predictions(model, options):
    res = glmclf.NaiveBayes.from_formula("c ~ x + g", DF).fit() if model == "NaiveBayes" else fitted(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)
        same(res.predictions(by=["g", "k"], **options), res.predictions(by="both", **options))


@pytest.mark.parametrize("new", [False, True])
def test_data_in_parts(new):
    res = fitted("Logit", freq_weights="f") if new else fitted("Logit", parts, freq_weights="f")
    options = {"newdata": parts} if new else {}
    memory = fitted("Logit", freq_weights="f")
    whole = memory.predictions(by=["g", "k", "day"], **({"newdata": DF} if new else {})).summary_frame()
    found = res.predictions(by=["g", "k", "day"], **options).summary_frame()
    assert found.index.tolist() == whole.index.tolist() and found.index.names == ["g", "k", "day"]
    assert_allclose(found, whole, rtol=1e-8)
    one = res.get_margeff(variables="x", over=["k"], **options).summary_frame()
    assert_allclose(one, res.get_margeff(variables="x", over="k", **options).summary_frame(), rtol=1e-12)


def test_contrasts_within_crossed_groups():
    res = fitted("Logit")
    crossed = res.contrasts("g", by=["k", "day"]).summary_frame()
    labels = [f"{k}/{day}" for k, day in zip(DF.k, DF.day)]
    assert_allclose(crossed, res.contrasts("g", by=labels).summary_frame(), rtol=1e-10)


def test_what_is_no_column():
    res = fitted("Logit")
    with pytest.raises(DataError, match='no column "nobody" among "g", "nobody"'):
        res.get_margeff(over=["g", "nobody"])
    with pytest.raises(DataError, match='no column "nobody"'):
        fitted("Logit", parts).get_margeff(over=["g", "nobody"])
    holed = DF.assign(k=DF.k.where(DF.k > 0))
    with pytest.raises(MissingDataError, match=f"over= is missing in {(DF.k == 0).sum()} of {len(DF)} rows"):
        fitted("Logit", holed).get_margeff(over=["g", "k"])
    assert len(res.predictions(by=DF.both.tolist()).predicted) == DF.both.nunique()
