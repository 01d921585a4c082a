"""Designs of factors, sparse arrays and float32 are expanded a block at a time, whatever is asked of a fit."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import glmclf
from glmclf.core.design import factor
from glmclf.core.design.dense import Dense
from glmclf.core.design.factor import FactorColumns
from glmclf.core.design.sparse import Sparse
from glmclf.core.fit import unique_rows as collapse
from glmclf.errors import SeparationWarning

N = 40_000
MOST = 33_000  # rows that may be expanded at once: blocks, and the sample that tells of sizes
MODELS = ["Logit", "Probit", "CLogLog", "MNLogit"]


@pytest.fixture
def expanded(monkeypatch):
    """Rows of every expansion while a test runs."""
    seen = []

    def counted(f, rows):
        def g(*args):
            seen.append(rows(*args))
            return f(*args)

        return g

    monkeypatch.setattr(factor, "expand", counted(factor.expand, lambda pieces, n: n))
    for kind in (FactorColumns, Sparse):
        rows = lambda X: X.shape[0] * (X.shape[1] > 1)
        monkeypatch.setattr(kind, "toarray", counted(kind.toarray, rows))
    wide = Dense.__getitem__

    def widened(X, rows):
        found = wide(X, rows)
        if not np.shares_memory(found.X, X.X):
            seen.append(found.shape[0])
        return found

    monkeypatch.setattr(Dense, "__getitem__", widened)
    return seen


def factors(model):
    generator = np.random.default_rng(3)
    table = pd.DataFrame({"x": generator.normal(size=N), "z": generator.normal(size=N)})
    for name, levels in (("a", 5), ("b", 20), ("c", 50)):
        table[name] = np.array([f"{name}{i:02d}" for i in range(levels)])[generator.integers(0, levels, N)]
    noise = generator.logistic(size=N)
    table["y"] = (
        (table.x - 0.5 > noise).astype(int) if model != "MNLogit" else (table.x > noise).astype(int) + (table.z > noise)
    )
    return table


def used(res, new, groups):
    """What a user may ask of a fit."""
    _ = res.bse, res.llnull
    res.summary().as_text()
    for cov_type in ("HC0", "HC2", "HC3"):
        _ = res.with_cov(cov_type).bse
    _ = res.with_cov("cluster", groups=groups).bse
    res.predict()
    res.predict(new)
    res.get_prediction(new)
    _ = res.resid_pearson, res.resid_dev


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore::glmclf.errors.SeparationWarning",
    "ignore::glmclf.errors.DataWarning",
    "ignore::glmclf.errors.InferenceWarning",
)
@pytest.mark.parametrize("model", MODELS)
def test_factors(model, expanded):
    table = factors(model)
    res = getattr(glmclf, model).from_formula("y ~ x + z + a + b + c", table).fit()
    used(res, table, np.arange(N) % 50)
    assert isinstance(res.model._rows.X, FactorColumns) and 0 < max(expanded) <= MOST, max(expanded)


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore::glmclf.errors.SeparationWarning",
    "ignore::glmclf.errors.DataWarning",
    "ignore::glmclf.errors.InferenceWarning",
)
@pytest.mark.parametrize("model", MODELS)
def test_sparse(model, expanded):
    generator = np.random.default_rng(4)
    X = sparse.csr_array(sparse.hstack([np.ones((N, 1)), sparse.random_array((N, 79), density=0.02, rng=generator)]))
    y = generator.integers(0, 2 if model != "MNLogit" else 3, N)
    expanded.clear()
    res = getattr(glmclf, model)(y, X).fit()
    used(res, X, np.arange(N) % 50)
    assert max(expanded, default=0) <= MOST, max(expanded)


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("model", MODELS)
def test_float32(model, order, expanded):
    generator = np.random.default_rng(5)
    X = np.asarray(np.column_stack([np.ones(N), generator.normal(size=(N, 4))]), dtype=np.float32, order=order)
    y = (X[:, 1] > generator.logistic(size=N)).astype(int) + (0 if model != "MNLogit" else X[:, 2] > 1)
    res = getattr(glmclf, model)(y, X).fit()
    used(res, X, np.arange(N) % 50)
    assert 0 < max(expanded) <= MOST, max(expanded)
    wide = getattr(glmclf, model)(y, X.astype(np.float64)).fit()
    np.testing.assert_allclose(res.params, wide.params, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(res.predict(X), wide.predict(X.astype(np.float64)), rtol=1e-12)


@pytest.mark.parametrize("model", ["Logit", "CLogLog", "MNLogit"])
def test_a_cone_of_repeated_rows(model, monkeypatch):
    generator = np.random.default_rng(7)
    table = pd.DataFrame({"a": generator.integers(0, 4, 3000), "b": generator.integers(0, 5, 3000)})
    table["y"] = generator.integers(0, 2 if model != "MNLogit" else 3, 3000)
    table.loc[table.a == 2, "y"] = 1
    made = getattr(glmclf, model).from_formula("y ~ C(a) + C(b)", table)
    with pytest.warns(SeparationWarning):
        rows = made.fit()
    monkeypatch.setattr(collapse, "MIN_ROWS_TO_SEARCH", 100)
    with pytest.warns(SeparationWarning):
        kinds = getattr(glmclf, model).from_formula("y ~ C(a) + C(b)", table).fit()
    assert kinds.separation == rows.separation
    assert len(kinds._state.estimate.cone.decided) < 100 < len(rows._state.estimate.cone.decided)
    np.testing.assert_allclose(kinds.params, rows.params, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(kinds.bse, rows.bse, rtol=1e-8)
    np.testing.assert_allclose(kinds.llf, rows.llf, rtol=1e-12)
    np.testing.assert_allclose(kinds.with_cov("HC1").bse, rows.with_cov("HC1").bse, rtol=1e-8)
    np.testing.assert_allclose(kinds.predict(), rows.predict(), rtol=1e-8, atol=1e-12)
    assert made._detect() == rows.separation
