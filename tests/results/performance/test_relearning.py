"""Resampling learns anew what a formula remembers of the rows: by hand, fit to those rows and no others."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import glmclf
from glmclf.core.numerics import seeds
from glmclf.errors import DataError, DataWarning, InferenceWarning
from glmclf.inference.covariance.resampling import drawn

MODELS = ["Logit", "Probit", "CLogLog", "MNLogit", "LDA", "QDA", "NaiveBayes"]


def table(n=180, seed=4):
    rng = np.random.default_rng(seed)
    df = pd.DataFrame({"x": rng.gamma(2, size=n), "z": rng.normal(size=n), "f": rng.integers(1, 4, n)})
    df["y"] = (rng.uniform(size=n) < 1 / (1 + np.exp(-np.sin(2 * df.x) - 0.6 * df.z))).astype(int)
    df["c"] = np.array(["a", "b", "c"])[(df.y + rng.integers(0, 2, n)).to_numpy()]
    df["g"] = rng.integers(0, 6, n)
    df["w"] = rng.uniform(0.5, 2, n)
    return df


DF = table()
LOW, HIGH = DF.x.min(), DF.x.max()
# a formula, and how to write it for some of the rows so that it reaches to the ends of all
FORMULAS = [
    ("bs(x, df=4)", f"bs(x, df=4, lower_bound={LOW!r}, upper_bound={HIGH!r})"),
    ("qcut(x, 3)", "qcut(x, 3, outside='extend')"),
    ("bs(x, df=4, outside='clip')", None),
    ("cr(x, df=4, constraints='center') + z", None),
    ("I(x - x.mean()) + z", None),
    ("standardize(np.log(x)) + z", None),
    ("poly(x, 2) + z", None),
]


def joint(res, data, response):
    """Log probabilities of what happened, with the classes in their order."""
    p = res.predict(data)
    p = np.column_stack([1 - p, p]) if np.ndim(p) == 1 else np.asarray(p)
    return np.log(p[np.arange(len(data)), pd.factorize(data[response], sort=True)[0]])


def made(model, right, data, response, options=None, **keywords):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(glmclf, model).from_formula(f"{response} ~ {right}", data, **keywords).fit(**(options or {}))


@pytest.mark.parametrize("right, own", FORMULAS)
@pytest.mark.parametrize("model", MODELS)
def test_cross_validation_is_that_of_fits_to_the_other_folds(model, right, own):
    response = "c" if model in ("MNLogit", "LDA", "NaiveBayes") else "y"
    found = made(model, right, DF, response).validate("cv", seed=1, folds=6, groups="g")
    by_hand = 0.0
    for g in range(6):
        res = made(model, own or right, DF[DF.g != g], response)
        by_hand += joint(res, DF[DF.g == g], response).sum()
    assert found.failures == {}
    assert_allclose(found["log score"], -by_hand / len(DF), rtol=1e-6)


@pytest.mark.parametrize("keywords", [{}, {"freq_weights": "f"}, {"weights": "w"}])
@pytest.mark.parametrize("right, own", FORMULAS[:5])
def test_bootstrap_samples_learn_from_the_rows_drawn(right, own, keywords):
    res = made("Logit", right, DF, "y", **keywords)
    found = res.validate(seed=3, reps=3).table
    generator, test = seeds.generator(3), []
    often = DF.f.to_numpy() if "freq_weights" in keywords else None
    mass = DF[next(iter(keywords.values()))].to_numpy() if keywords else np.ones(len(DF))
    for _ in range(3):
        times = drawn(len(DF), None if often is None else often.astype(float), None, generator).astype(int)
        rows = DF.loc[DF.index.repeat(times)]
        one = made("Logit", own or right, rows, "y", **({"weights": "w"} if "weights" in keywords else {}))
        test.append(-mass @ joint(one, DF, "y") / mass.sum())
    assert_allclose(found.loc["log score", "test"], np.mean(test), rtol=1e-6)


@pytest.mark.parametrize("right, own", FORMULAS)
def test_folds_of_a_penalty_learn_from_the_other_folds(right, own):
    model = glmclf.Logit.from_formula(f"y ~ {right}", DF)
    found = model.fit_regularized_cv("g", alphas=[0.3, 0.02], L1_wt=0.5)
    for g in range(6):
        other = glmclf.Logit.from_formula(f"y ~ {own or right}", DF[DF.g != g])
        for alpha in (0.3, 0.02):
            res = other.fit_regularized(alpha, L1_wt=0.5)
            deviance = -2 * joint(res, DF[DF.g == g], "y").mean()
            assert_allclose(found.deviances.loc[alpha, g], deviance, rtol=1e-5)


PENALTIES = [
    ("Logit", {"z": 0.3}, 0.0),
    ("Logit", {"x": np.inf}, 0.5),
    ("Probit", {"x": np.inf, "z": 0.05}, 1.0),
    ("Logit", {"qcut(x, 3)": 0.1, "z": 0.01}, 0.0),
    ("MNLogit", {"z": 0.1}, 0.0),
    ("MNLogit", [[0, 0], [0.3, 0], [0.1, 0.3]], 0.5),
]


@pytest.mark.parametrize("model, alpha, L1_wt", PENALTIES)
def test_cross_validation_repeats_the_penalty_of_each_coefficient(model, alpha, L1_wt):
    """Free coefficients stay free, and those left out stay out."""
    response, right = "c" if model == "MNLogit" else "y", "qcut(x, 3) + z" if "qcut(x, 3)" in alpha else "x + z"
    make = getattr(glmclf, model).from_formula
    found = make(f"{response} ~ {right}", DF).fit_regularized(alpha, L1_wt).validate("cv", seed=1, folds=6, groups="g")
    right = right.replace("3)", "3, outside='extend')")
    alpha = {k.replace("3)", "3, outside='extend')"): v for k, v in alpha.items()} if "z" in alpha else alpha
    by_hand = 0.0
    for g in range(6):
        res = make(f"{response} ~ {right}", DF[DF.g != g]).fit_regularized(alpha, L1_wt)
        by_hand += joint(res, DF[DF.g == g], response).sum()
    assert found.failures == {}
    assert_allclose(found["log score"], -by_hand / len(DF), rtol=1e-6)


def test_a_formula_without_memory_is_not_read_again(monkeypatch):
    from glmclf.data.reading.relearn import Learner

    monkeypatch.setattr(Learner, "__init__", lambda *a: 1 / 0)
    for right in ("x + z", "np.log(x) + C(g)", "cut(x, [0, 1, 2], outside='extend') + x"):
        if "cut" in right:
            with pytest.raises(ZeroDivisionError):
                made("Logit", right, DF, "y").validate(seed=1, reps=2)
        else:
            made("Logit", right, DF, "y").validate(seed=1, reps=2)


def test_resamples_without_a_basis_are_counted():
    data = DF.assign(x=0.0)  # but for a failure and a success each of 1, 2 and 3
    rare = np.concatenate([np.flatnonzero(data.y == k)[:3] for k in (0, 1)])
    data.loc[rare, "x"] = [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]
    res = made("Logit", "poly(x, 3) + z", data, "y", options={"bias_reduction": "firth"})
    with pytest.warns(InferenceWarning, match="without a basis"):
        found = res.validate(seed=1, reps=20)
    draws = [drawn(len(data), None, None, generator) for generator in [seeds.generator(1)] for _ in range(20)]
    assert found.failures == {"without a basis": sum(data.x[times > 0].nunique() < 4 for times in draws)}
    folds = np.isin(np.arange(len(data)), rare[[0, 3]])
    with pytest.raises(DataError, match="fold (True|False): without it .*poly"):
        glmclf.Logit.from_formula("y ~ poly(x, 3) + z", data).fit_regularized_cv(folds, alphas=[0.1])


def test_missing_features_of_naive_bayes():
    data = DF.copy()
    data.loc[::7, "x"] = np.nan
    found = made("NaiveBayes", "qcut(x, 3) + standardize(z)", data, "c").validate("cv", seed=1, folds=6, groups="g")
    by_hand = 0.0
    for g in range(6):
        res = made("NaiveBayes", "qcut(x, 3, outside='extend') + standardize(z)", data[data.g != g], "c")
        by_hand += joint(res, data[data.g == g], "c").sum()
    assert_allclose(found["log score"], -by_hand / len(data), rtol=1e-8)


def test_extended_splines_warn_once():
    res = made("Logit", "bs(x, df=4, outside='extend')", DF, "y")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        res.validate("cv", seed=1, folds=6, groups="g")
    assert sum(w.category is DataWarning for w in caught) <= 1
