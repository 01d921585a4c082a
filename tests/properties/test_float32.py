"""Single precision as exog: kept as it is, and everything computed from it equals what double precision gives."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import glmclf
from glmclf import registry

BINARY, GENERATIVE = registry.names("binary"), registry.names(*registry.GENERATIVE)
MODELS = registry.names()
ROUNDING = 1e-9  # the same numbers, summed in another order
N = 3000


def data(model: str, order: str = "C") -> tuple[np.ndarray, np.ndarray]:
    """Labels and features of another size and offset each, in single precision."""
    rng = np.random.default_rng(20)
    y = rng.integers(0, 2 if model in BINARY else 3, N)
    X = rng.normal(size=(N, 4)) * [0.01, 1.0, 30.0, 2.0] + [0.3, 0.0, 2000.0, -5.0]
    X += 0.3 * y[:, None] * [0.01, 1.0, 30.0, -2.0]
    if model not in GENERATIVE:
        X = np.column_stack([np.ones(N), X])
    return y, np.asarray(X, dtype=np.float32, order=order)


def new_rows(X: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(X[::7] * np.float32(1.01))


@pytest.mark.parametrize("form", ["by row", "by column", "table"])
@pytest.mark.parametrize("name", MODELS)
def test_single_precision_gives_the_numbers_of_double(name, form):
    y, X = data(name, "F" if form == "by column" else "C")
    wide = X.astype(np.float64)
    if form == "table":
        X, wide = (pd.DataFrame(A, columns=[f"v{j}" for j in range(A.shape[1])]) for A in (X, wide))
    model = getattr(glmclf, name)
    narrow, double = model(y, X).fit(), model(y, wide).fit()
    for what in ("llf", "llnull"):
        assert_allclose(getattr(narrow, what), getattr(double, what), rtol=ROUNDING)
    a, b = (r.discriminant if name in GENERATIVE else r for r in (narrow, double))
    scale = np.asarray(b.bse)
    assert_allclose(np.asarray(a.params) / scale, np.asarray(b.params) / scale, rtol=1e-7, atol=1e-7)
    assert_allclose(a.bse, scale, rtol=1e-7)
    rows, doubles = new_rows(np.asarray(X)), new_rows(np.asarray(X)).astype(np.float64)
    assert_allclose(narrow.predict(rows), double.predict(doubles), rtol=ROUNDING, atol=1e-12)
    assert_allclose(narrow.predict(), double.predict(), rtol=ROUNDING, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_single_precision_is_kept_and_not_changed(name):
    y, X = data(name)
    before = X.copy()
    res = getattr(glmclf, name)(y, X).fit()
    res.predict(X)
    assert np.array_equal(X, before)
    kept = res.model._values if name == "NaiveBayes" else [res.model.exog]
    assert all(part.dtype == np.float32 and np.shares_memory(part, X) for part in kept)


@pytest.mark.parametrize("name", MODELS)
def test_a_table_of_the_fit_with_predictions_beside_it(name):
    y, X = data(name)
    narrow, double = (getattr(glmclf, name)(y, A).fit().augment() for A in (X, X.astype(np.float64)))
    assert list(narrow.columns) == list(double.columns)
    for column in narrow:
        if narrow[column].dtype.kind == "f":
            assert_allclose(narrow[column], double[column], rtol=1e-6, atol=1e-9)
        else:
            assert narrow[column].equals(double[column])


@pytest.mark.parametrize("name", GENERATIVE)
def test_a_missing_value_in_single_precision(name):
    y, X = data(name)
    res = getattr(glmclf, name)(y, X).fit()
    rows = new_rows(X)
    rows[::3, 1] = np.nan
    assert_allclose(res.predict(rows), res.predict(rows.astype(np.float64)), rtol=ROUNDING, atol=1e-12)
    if name == "NaiveBayes":
        holes = X.copy()
        holes[::5, 2] = np.nan
        fits = [glmclf.NaiveBayes(y, A).fit() for A in (holes, holes.astype(np.float64))]
        assert_allclose(fits[0].llf, fits[1].llf, rtol=ROUNDING)


@pytest.mark.parametrize("family", ["poisson", "gamma", "exponential", "bernoulli", "categorical"])
def test_other_families_in_single_precision(family):
    y, _ = data("NaiveBayes")
    rng = np.random.default_rng(3)
    x = {
        "poisson": rng.poisson(300.0 + y),
        "gamma": rng.gamma(3.0, 1.0 + y),
        "exponential": rng.exponential(1.0 + y),
        "bernoulli": rng.random(N) < 0.3 + 0.1 * y,
        "categorical": rng.integers(0, 4, N),
    }[family]
    X = np.column_stack([x, rng.normal(size=N)]).astype(np.float32)
    fits = [glmclf.NaiveBayes(y, A, families={"x1": family}).fit() for A in (X, X.astype(np.float64))]
    assert_allclose(fits[0].llf, fits[1].llf, rtol=1e-12)
    assert_allclose(fits[0].discriminant.params, fits[1].discriminant.params, rtol=1e-9, atol=1e-12)
    assert_allclose(fits[0].predict(X), fits[1].predict(X.astype(np.float64)), rtol=1e-9)
    assert_allclose(fits[0].leave_one_out(), fits[1].leave_one_out(), rtol=1e-9)
