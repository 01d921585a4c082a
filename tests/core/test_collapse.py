"""Distinct rows, their responses and weights added up: against numpy's sort of whole rows."""

import numpy as np
import pytest

from glmclf.core.design.dense import Dense
from glmclf.core.design.factor import FactorColumns, SubtermColumns
from glmclf.core.design.product import rotated
from glmclf.core.fit import unique_rows as collapse
from glmclf.core.fit.unique_rows import distinct_rows
from glmclf.core.likelihood.links import LogitLink
from glmclf.core.likelihood.pointwise import Binomial, Multinomial

N = 4_000
BINARY, COUNTS, CLASSES = Binomial(LogitLink(), binary=True), Binomial(LogitLink()), Multinomial(3)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(collapse, "MIN_ROWS_TO_SEARCH", 1)


def factor(rng, levels):
    coding = np.eye(levels)[:, 1:]
    codes = rng.integers(0, levels, N).astype(np.int8)
    return SubtermColumns(None, codes, coding, np.zeros(levels - 1, int), np.arange(levels - 1))


def designs(rng):
    """Columns of every kind, 8 rows or more for each distinct one."""
    one = SubtermColumns(None, None, None, np.zeros(1, int), np.zeros(1, int))
    whole = rng.integers(-2, 3, (N, 1)).astype(float)
    slope = factor(rng, 3)._replace(numbers=whole)
    odd = rng.choice([0.1, np.pi, -1e-3, 1e300], N)
    yield Dense(np.column_stack([np.ones(N), rng.integers(0, 2, (N, 4))]).astype(float))
    yield Dense(np.asfortranarray(np.column_stack([np.ones(N), odd, whole]), dtype=np.float64))
    yield Dense(np.column_stack([np.ones(N), whole]).astype(np.float32))
    yield FactorColumns([one, factor(rng, 5), factor(rng, 4)], N)
    number = SubtermColumns(whole, None, None, np.zeros(1, int), np.zeros(1, int))
    yield FactorColumns([one, factor(rng, 4), number, slope], N)


def summed(X, offset, columns):
    """Rows of X and the offset in the order of numpy, and the sums of the columns over equal ones."""
    whole = np.column_stack([X.toarray(), *([] if offset is None else [offset])])
    rows, at = np.unique(whole, axis=0, return_inverse=True)
    return rows, np.column_stack([np.bincount(at.ravel(), weights=c, minlength=len(rows)) for c in columns])


@pytest.mark.parametrize("design", range(5))
@pytest.mark.parametrize("response", ["binary", "classes", "counts", "many counts", "fraction"])
@pytest.mark.parametrize("weighted, offset", [(False, None), (True, None), (False, "1d"), (True, "1d"), (True, "2d")])
def test_sums(design, response, weighted, offset):
    rng = np.random.default_rng(5)
    X = list(designs(rng))[design]
    w = rng.integers(1, 5, N) + 0.25 if weighted else None
    off = {None: None, "1d": rng.choice([0.0, np.log(2.0)], N), "2d": rng.choice([0.0, 0.3], (N, 2))}[offset]
    m = None
    if response == "binary":
        likelihood, y = BINARY, rng.integers(0, 2, N).astype(float)
        columns = [1 - y, y]
    elif response == "classes":
        likelihood, y = CLASSES, rng.integers(0, 3, N)
        columns = list(np.eye(3)[y].T)
    elif response == "many counts":
        likelihood, y = CLASSES, rng.integers(0, 4, (N, 3)).astype(float)
        columns, m = list(y.T), y.sum(axis=1)
    else:
        m = rng.integers(1, 6, N).astype(float) if response == "counts" else None
        likelihood, y = COUNTS, np.floor(rng.random(N) * m) if m is not None else rng.choice([0.25, 0.5, 1.0], N)
        columns = [(1.0 if m is None else m) - y, y]
    found = distinct_rows(likelihood, X, y, m, off, w)
    rows, expected = summed(X, off, [c if w is None else w * c for c in columns])
    counts = found.y if found.y.ndim == 2 else np.column_stack([found.trials - found.y, found.y])
    got, sums = summed(found.X, found.offset, [*counts.T, found.trials])  # a slope times 0 hides a level
    np.testing.assert_array_equal(got, rows)
    np.testing.assert_allclose(sums[:, :-1], expected, rtol=1e-13)
    np.testing.assert_allclose(sums[:, -1], expected.sum(axis=1), rtol=1e-13)
    assert len(found.trials) <= 2 * len(rows)
    other = distinct_rows(likelihood, X, y, m, off, w, n_threads=2)
    np.testing.assert_array_equal(other.y, found.y)


def refused(X, offset=None):
    return distinct_rows(BINARY, X, np.zeros(N), None, offset, None) is None


def test_what_is_not_discrete():
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2, N).astype(float)
    assert not refused(Dense(x[:, None]))
    assert refused(Dense(rng.normal(size=(N, 1))))
    assert refused(Dense(x[:, None]), rng.normal(size=N))
    assert refused(Dense(rng.integers(0, 10**9, (N, 1)).astype(float)))
    assert refused(Dense(np.arange(N)[:, None] // 4 + 0.0))  # fewer than eight rows for each
    assert refused(Dense(rng.integers(0, 2, (N, 12)).astype(float)))
    strange = x.copy()
    strange[1] = 0.5  # where a glance does not see it
    assert refused(Dense(strange[:, None]))
    strange = np.where(x > 0, 0.1, 0.2)
    strange[1] = 0.3
    assert refused(Dense(strange[:, None]))
    assert refused(rotated(Dense(x[:, None]), np.array([[2.0]])))


def test_whole_numbers_that_a_glance_does_not_see():
    x = np.zeros(N)
    x[1], x[2] = 40.0, -3.0
    found = distinct_rows(BINARY, Dense(x[:, None]), x * 0, None, None, None)
    assert sorted(found.X.toarray()[:, 0]) == [-3.0, 0.0, 40.0]


def test_many_columns_of_few_patterns():
    """Numbers of rows that occur are few, though there might be very many."""
    rng = np.random.default_rng(3)
    patterns = rng.integers(0, 4, (50, 60)).astype(float)
    X = patterns[rng.integers(0, 50, N)]
    found = distinct_rows(BINARY, Dense(X), np.zeros(N), None, None, None)
    np.testing.assert_array_equal(np.unique(found.X.toarray(), axis=0), np.unique(X, axis=0))
    assert found.trials.sum() == N


def test_few_rows_are_left_alone(monkeypatch):
    monkeypatch.undo()
    assert refused(Dense(np.ones((N, 1))))


def test_an_interaction_beside_its_factors(monkeypatch):
    monkeypatch.setattr(collapse, "MAX_TABLE_SIZE", 200)
    rng = np.random.default_rng(4)
    a, b, c = factor(rng, 4), factor(rng, 6), factor(rng, 5)
    both = SubtermColumns(None, (a.codes * 6 + b.codes).astype(np.int8), np.eye(24), np.zeros(24, int), np.arange(24))
    X = FactorColumns([a, b, both, c], N)
    rows, kind = collapse.equal_rows(X)
    cells = np.unique(np.column_stack([a.codes, b.codes, c.codes]), axis=0)
    assert len(rows) == len(cells) <= N // collapse.MIN_ROWS_PER_UNIQUE
    np.testing.assert_array_equal(X.subset(rows[kind]).toarray(), X.toarray())
