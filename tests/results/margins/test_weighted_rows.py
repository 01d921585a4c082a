"""Weights of the rows of `newdata=`: averages over repeated rows, scales, formulas of survey sampling, refusals."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import glmclf
from glmclf.errors import DataError, DataWarning, InferenceWarning


def table(n=120, seed=3):
    rng = np.random.default_rng(seed)
    df = pd.DataFrame({"x": rng.normal(size=n), "z": rng.uniform(0.5, 3.0, n), "g": rng.choice(list("abc"), n)})
    df["y"] = (rng.uniform(size=n) < 1 / (1 + np.exp(-df.x))).astype(int)
    df["c"] = np.array(["l", "m", "n"])[(df.y + rng.integers(0, 2, n)).to_numpy()]
    df["o"] = rng.normal(size=n) / 4
    df["f"], df["w"] = rng.integers(0, 4, n), rng.uniform(0.0, 2.0, n) * (rng.uniform(size=n) < 0.9)
    return df


DF = table()
NEW = table(60, seed=4)
REPEATED = NEW.loc[NEW.index.repeat(NEW.f)].reset_index(drop=True)
REGRESSIONS = {"Logit": "y", "Probit": "y", "CLogLog": "y", "MNLogit": "c"}
MODELS = {**REGRESSIONS, "LDA": "c", "QDA": "c", "NaiveBayes": "c"}
FITS = {}


def fitted(model):
    if model not in FITS:
        keywords = {"offset": "o"} if model in REGRESSIONS else {}
        right = "x + z" if model == "QDA" else "x + np.log(z) + g"
        FITS[model] = getattr(glmclf, model).from_formula(f"{MODELS[model]} ~ {right}", DF, **keywords).fit()
    return FITS[model]


def parts():
    return iter([NEW[:20], NEW[20:21], NEW[21:]])


@pytest.mark.parametrize("model", MODELS)
def test_frequency_weights_are_repeated_rows(model):
    res = fitted(model)
    one, other = {"newdata": NEW, "freq_weights": "f"}, {"newdata": REPEATED}
    for options in ({}, {"at": "mean"}, {"at": "median"}, {"over": "g"}, {"vcov": "unconditional"}):
        effects = [res.get_margeff(**rows, **options).summary_frame() for rows in (one, other)]
        assert_allclose(*effects, rtol=1e-9, atol=1e-13)
        options = {"by" if name == "over" else name: value for name, value in options.items()}
        levels = [res.predictions({"x": [0.0, 1.0]}, **rows, **options).summary_frame() for rows in (one, other)]
        assert_allclose(*levels, rtol=1e-9)
    pairs = [res.contrasts({"x": [0.0, 1.0]}, comparison="ratio", **rows).summary_frame() for rows in (one, other)]
    assert_allclose(*pairs, rtol=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_parts_are_as_one_table(model):
    res = fitted(model)
    for keyword in ("freq_weights", "weights"):
        weights = {keyword: keyword[0]}
        for at in ("overall", "median"):
            found = res.get_margeff(at=at, newdata=parts, **weights).summary_frame()
            assert_allclose(found, res.get_margeff(at=at, newdata=NEW, **weights).summary_frame(), rtol=1e-9)
        found = res.predictions({"x": [0.0, 1.0]}, newdata=parts, **weights).summary_frame()
        assert_allclose(found, res.predictions({"x": [0.0, 1.0]}, newdata=NEW, **weights).summary_frame(), rtol=1e-9)


@pytest.mark.parametrize("model", ["Probit", "MNLogit", "NaiveBayes"])
def test_sampling_weights_are_those_of_a_mean(model):
    """Of predictions; the unconditional variance is that of the estimate and N/(N-1) sum (w_i (p_i - p) / sum w)^2."""
    res, w = fitted(model), NEW.w.to_numpy()
    p = np.asarray(res.predict(NEW)).reshape(len(NEW), -1)
    known = w @ p / w.sum()
    for unit in (1.0, 1e-6):
        given = {"newdata": NEW, "weights": pd.Series(unit * w, index=NEW.index)}
        assert_allclose(res.predictions(**given).predicted, known, rtol=1e-12)
        se = [res.predictions(**given, vcov=vcov).se.to_numpy() for vcov in (None, "unconditional")]
        N = int((w > 0).sum())
        spread = N / (N - 1) * ((w[:, None] * (p - known) / w.sum()) ** 2).sum(axis=0)
        assert_allclose(se[1] ** 2, se[0] ** 2 + spread, rtol=1e-10)


def test_weights_of_levels_and_of_rows():
    """Levels may count alike while rows have frequencies; a typical row has weighted means."""
    res = fitted("Logit")
    for share in ("proportional", "equal"):
        found = [
            res.predictions("g", "mean", weights=share, **rows).summary_frame()
            for rows in ({"newdata": NEW, "freq_weights": NEW.f.to_numpy()}, {"newdata": REPEATED})
        ]
        assert_allclose(*found, rtol=1e-10)
    mean = {name: np.average(NEW[name], weights=NEW.w) for name in ("x", "z", "o")}
    found = res.predictions("g", "mean", newdata=NEW, weights="w").predicted
    point = pd.DataFrame({**mean, "g": list("abc")})
    assert_allclose(found, res.predict(point), rtol=1e-12)


def test_rows_without_a_weight():
    res = fitted("Logit")
    holed = NEW.assign(w=NEW.w.where(NEW.index > 4), x=NEW.x.where((NEW.index != 30) & (NEW.w > 0)))
    left = NEW.assign(w=NEW.w.where((NEW.index > 4) & (NEW.index != 30), 0.0))
    known = res.predictions(newdata=left, weights="w").summary_frame()
    for rows in (holed, lambda: iter([holed[:9], holed[9:]])):
        with pytest.warns(DataWarning, match="^rows of newdata= whose weights= is missing"):
            assert_allclose(res.predictions(newdata=rows, weights="w").summary_frame(), known, rtol=1e-10)
    none = NEW.assign(w=NEW.w.where(NEW.g != "b", 0.0))
    with pytest.warns(InferenceWarning, match='is left of g "b": NaN'):
        found = res.predictions(by="g", newdata=none, weights="w").predicted
    assert found.isna().tolist() == [False, True, False]


def test_refusals():
    res = fitted("Logit")
    bad = NEW.assign(minus=-NEW.w, half=NEW.f / 2, zero=0.0, text="a")
    for call, words in [
        (lambda: res.get_margeff(newdata=bad, weights="minus"), 'weights="minus" has negative values'),
        (lambda: res.get_margeff(newdata=bad, freq_weights="half"), 'freq_weights="half" has values other than whole'),
        (lambda: res.get_margeff(newdata=bad, weights="text"), 'weights="text" must be numbers'),
        (lambda: res.get_margeff(newdata=bad, weights="zero"), "and a weight, is left"),
        (lambda: res.predictions(newdata=bad, weights="nobody"), 'weights="nobody": no such column'),
        (lambda: res.predictions(newdata=parts, weights="nobody"), 'weights="nobody": no such column'),
        (lambda: res.predictions(newdata=parts, weights=NEW.w), "weights= of rows of .* is the name of a column"),
        (lambda: res.contrasts("g", newdata=bad, freq_weights="f", weights="w"), "were both given"),
        (lambda: res.contrasts("g", newdata=parts, freq_weights="f", weights="w"), "were both given"),
        (lambda: res.get_margeff(newdata=bad, weights=[1.0]), "weights has 1 values, but the table has 60 rows"),
    ]:
        with pytest.raises(DataError, match=words):
            call()
    for at in ("overall", NEW):
        with pytest.raises(TypeError, match="^freq_weights= needs newdata="):
            res.get_margeff(at, freq_weights="f")
    with pytest.raises(ValueError, match='"proportional" or "equal", or weights of the rows of newdata='):
        res.predictions(weights="w")


def test_rows_of_weight_0_are_not_read():
    """Nothing is asked of them: their levels may be unknown, and the averages are those of the other rows."""
    new = NEW.assign(w=NEW.w.where(NEW.index > 3, 0.0), g=NEW.g.where(NEW.index > 3, "unknown"))
    rest, res, options = new[4:], fitted("Logit"), {"weights": "w", "vcov": "unconditional"}
    for ask in (
        lambda rows, **more: res.get_margeff(over="c", newdata=rows, **options, **more),
        lambda rows, **more: res.predictions("g", by=rows.c.to_numpy(), newdata=rows, **options, **more),
        lambda rows, **more: res.get_margeff("mean", newdata=rows, weights="w", **more),
    ):
        assert_allclose(ask(new).summary_frame(), ask(rest).summary_frame(), rtol=1e-12)
    found = res.predictions(by="c", newdata=lambda: iter([new[:4], new[4:9], new[9:]]), freq_weights="f*(w>0)")
    plain = res.predictions(by="c", newdata=rest, freq_weights="f*(w>0)")
    assert_allclose(found.summary_frame(), plain.summary_frame(), rtol=1e-10)
    with pytest.raises(DataError, match="and a weight, is left"):
        res.predictions(newdata=new[:4], weights="w")


def test_weights_that_are_missing_are_said_to_be():
    new = NEW.assign(w=NEW.w.where(NEW.index > 3))
    with pytest.warns(DataWarning, match="^rows of newdata= whose weights= is missing"):
        found = fitted("Logit").predictions(newdata=new, weights="w")
    assert_allclose(found.predicted, fitted("Logit").predictions(newdata=new[4:], weights="w").predicted, rtol=1e-12)
