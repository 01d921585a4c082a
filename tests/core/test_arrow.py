"""Arrow matrices are the arrays that they stand for, and columns of many levels are the dense ones."""

import numpy as np
import pytest

from glmclf.core.design import coding
from glmclf.core.design.arrow import ArrowColumns
from glmclf.core.design.coding import LevelCoding, column_sums, of_record, to_record, uncoded_cells
from glmclf.core.design.factor import SubtermColumns, expand
from glmclf.core.design.pieces import from_pieces
from glmclf.core.numerics import arrow
from glmclf.core.numerics.arrow import ArrowLayout, ArrowMatrix, OuterProducts, matrix_of, of_equations, record_of
from glmclf.core.numerics.cholesky import CholeskyFactor

N, LEVELS = 300, 9
same = np.testing.assert_allclose


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    monkeypatch.setattr(coding, "MANY_LEVELS", 4)


def _columns(kind):
    """Pieces with intercepts (and slopes) by level, against a base or of all levels, beside numbers and a factor."""
    g = np.random.default_rng(5)
    codes, other = g.integers(0, LEVELS, N), g.integers(0, 3, N)
    zeros = np.zeros(LEVELS, dtype=int)
    ones = SubtermColumns(None, None, None, zeros[:1], zeros[:1])
    numbers = SubtermColumns(np.asfortranarray(g.normal(size=(N, 2))), None, None, np.arange(2), zeros[:2])
    beside = SubtermColumns(None, other, np.eye(3)[:, 1:], zeros[:2], np.arange(2))
    treatment = SubtermColumns(None, codes, LevelCoding.treatment(LEVELS, 2), zeros[1:], np.arange(LEVELS - 1))
    every = SubtermColumns(None, codes, np.eye(LEVELS), zeros, np.arange(LEVELS))
    slope = SubtermColumns(g.normal(size=(N, 1)), codes, LevelCoding.full(LEVELS), zeros, np.arange(LEVELS))
    return {
        "intercepts": [ones, beside, treatment, numbers],
        "cells": [every, numbers],
        "slopes": [ones, treatment, numbers, slope],
        "alone": [every],
    }[kind]


kinds = pytest.mark.parametrize("kind", ["intercepts", "cells", "slopes", "alone"])


@kinds
def test_columns(kind):
    pieces = _columns(kind)
    X, D, g = from_pieces(pieces, N), expand(pieces, N), np.random.default_rng(1)
    assert isinstance(X, ArrowColumns)
    b, u, w = g.normal(size=(D.shape[1], 2)), g.normal(size=(N, 2)), g.random(N)
    same(X.toarray(), D)
    same(X @ b, D @ b, atol=1e-12)
    same(X[20:90] @ b[:, 0], D[20:90] @ b[:, 0], atol=1e-12)
    same(X.subset(np.arange(5)).toarray(), D[:5])
    same(X.times(u), D.T @ u, atol=1e-12)
    same(X.largest(), np.abs(D).max(axis=0))
    s, G = X[:].times_and_gram(u[:, 0], w)
    same(s, D.T @ u[:, 0], atol=1e-12)
    same(np.asarray(G), D.T @ (w[:, None] * D), atol=1e-12)
    same(np.asarray(X.gram(w - 0.5)), D.T @ ((w - 0.5)[:, None] * D), atol=1e-12)
    halves = X[:100].gram(w[:100]) + X[100:].gram(w[100:])
    same(np.asarray(halves), np.asarray(G), atol=1e-12)
    V = G.factor().inverse
    same(X.form(V), np.einsum("ij,jk,ik->i", D, np.linalg.inv(np.asarray(G)), D), rtol=1e-9)
    same(X.form(np.eye(D.shape[1])), (D * D).sum(axis=1))


def _positive(kind, q=1):
    pieces, g = _columns(kind), np.random.default_rng(3)
    X = from_pieces(pieces, N)
    if q == 1:
        return X.gram(g.random(N) + 0.1)
    W = g.normal(size=(N, q, q))
    W = W @ W.transpose(0, 2, 1)
    return of_equations({(i, j): X.gram(W[:, i, j]) for i in range(q) for j in range(i, q)}, q)


@kinds
@pytest.mark.parametrize("q", [1, 2])
def test_matrix(kind, q):
    M, g = _positive(kind, q), np.random.default_rng(8)
    A, p = np.asarray(M), len(M)
    b, R = g.normal(size=(p, 3)), g.normal(size=(4, p))
    same(A, A.T)
    same(M.diagonal(), np.diag(A))
    same(M @ b, A @ b, atol=1e-11)
    same(R @ M, R @ A, atol=1e-11)
    same(np.asarray(2.0 * M - M / 2.0), 1.5 * A)
    keep = g.random(p) < 0.7
    same(np.asarray(M.narrowed(keep)), A[np.ix_(keep, keep)])
    wide = np.zeros((p + 2, p + 2))
    places = np.delete(np.arange(p + 2), [1, p])
    wide[np.ix_(places, places)] = A
    same(np.asarray(M.embedded(places, p + 2)), wide)
    some = np.array([p - 1, 0, p - 1, 3])
    same(M[np.ix_(some, [2, 0])], A[np.ix_(some, [2, 0])])
    same(M[1], A[1])


@kinds
@pytest.mark.parametrize("q", [1, 2])
def test_factor_and_inverse(kind, q):
    M, g = _positive(kind, q), np.random.default_rng(8)
    units = 10.0 ** g.integers(-3, 4, len(M))  # of the parameters
    border, levels = M.layout.gather(units)
    M = ArrowMatrix(
        M.layout,
        M.A * border * border[:, None],
        M.B * levels[:, :, None] * border,
        M.C * levels[:, :, None] * levels[:, None, :],
    )
    A, p = np.asarray(M), len(M)
    f, dense = M.factor(), CholeskyFactor(A)
    inverse, b, R = dense.inverse, g.normal(size=(p, 2)), g.normal(size=(3, p))
    same(f.solve(b[:, 0]), dense.solve(b[:, 0]), rtol=1e-9)
    same(f.solve(b), dense.solve(b), rtol=1e-9)
    same(f.logdet, np.linalg.slogdet(A)[1])
    white = f.whitened(b)
    same(white.T @ white, b.T @ A @ b, rtol=1e-9)
    V, size = f.inverse, np.sqrt(np.outer(np.diag(inverse), np.diag(inverse)))
    same(np.asarray(V) / size, inverse / size, atol=1e-9)
    same(V.diagonal(), np.diag(inverse), rtol=1e-9)
    same((V @ b) / np.sqrt(np.diag(inverse))[:, None], (inverse @ b) / np.sqrt(np.diag(inverse))[:, None], rtol=1e-7)
    same(R @ V @ R.T, R @ inverse @ R.T, rtol=1e-7)
    same(np.asarray(V - 0.5 * V) / size, 0.5 * inverse / size, atol=1e-9)
    back = matrix_of({name: getattr(v, "tolist", lambda v=v: v)() for name, v in record_of(V).items()})
    same(np.asarray(back), np.asarray(V))


@kinds
def test_sandwiches(kind):
    M = _positive(kind)
    X, u, g = from_pieces(_columns(kind), N), np.random.default_rng(2).normal(size=N), np.random.default_rng(4)
    D, V = X.toarray(), M.factor().inverse
    inverse = np.asarray(V)
    same(np.asarray(V.around(X.gram(u * u))), inverse @ (D.T * u**2) @ D @ inverse, rtol=1e-8, atol=1e-12)
    nested = X.codes * 3 + g.integers(0, 3, N)
    for clusters, found_kind in ((X.codes, ArrowMatrix), (nested, ArrowMatrix), (g.integers(0, 7, N), OuterProducts)):
        count = int(clusters.max()) + 1
        S = np.stack([np.bincount(clusters, weights=u * column, minlength=count) for column in D.T])
        sums = X[:120].sums_by(clusters[:120], u[:120], count) + X[120:].sums_by(clusters[120:], u[120:], count)
        meat = sums.outer_products()
        assert isinstance(meat, found_kind)
        found = V.around(meat) if found_kind is ArrowMatrix else V.around_products(meat)
        same(np.asarray(found), inverse @ S @ S.T @ inverse, rtol=1e-8, atol=1e-12)


def test_parameters_without_a_number():
    V = _positive("slopes").factor().inverse
    lost, fixed = np.zeros((2, len(V)), dtype=bool)
    lost[[0, 5]], fixed[7] = True, True
    expected = np.asarray(V)
    expected[fixed] = expected[:, fixed] = 0.0
    expected[lost] = expected[:, lost] = np.nan
    np.testing.assert_array_equal(np.asarray(V.without(lost, fixed)), expected)


@pytest.mark.parametrize("bad", ["column", "level", "block", "nan"])
def test_factor_refuses(bad):
    pieces = _columns("slopes")
    if bad == "column":  # constant within levels
        numbers = pieces[2].numbers.copy()
        numbers[:, 1] = pieces[1].codes
        pieces[2] = pieces[2]._replace(numbers=numbers)
    if bad == "block":
        pieces[3] = pieces[3]._replace(numbers=np.ones((N, 1)))
    w = np.ones(N)
    if bad == "level":
        w[pieces[1].codes == 4] = 0.0
    if bad == "nan":
        w[3] = np.nan
    M = from_pieces(pieces, N).gram(w)
    try:
        assert not M.factor().exceeds(1e-9)
    except np.linalg.LinAlgError:
        pass


def test_no_array_of_all_pairs(monkeypatch):
    layout = ArrowLayout(np.zeros(0, dtype=int), np.arange(20_000)[:, None], 20_000)
    M = ArrowMatrix(layout, np.zeros((0, 0)), np.zeros((20_000, 1, 0)), np.ones((20_000, 1, 1)))
    with pytest.raises(NotImplementedError, match="20,000 parameters would take 3.2 GB"):
        np.asarray(M)
    same(M.factor().inverse.diagonal(), 1.0)
    monkeypatch.setattr(arrow, "MAX_DENSE_BYTES", 100)
    with pytest.raises(NotImplementedError):
        np.asarray(_positive("alone"))


def test_codings():
    for c, matrix in (
        (LevelCoding.full(5), np.eye(5)),
        (LevelCoding.treatment(5, 3), np.delete(np.eye(5), 3, axis=1)),
        (LevelCoding.deviations(5, 1), np.where(np.arange(5)[:, None] == 1, -1.0, np.delete(np.eye(5), 1, axis=1))),
    ):
        same(c.toarray(), matrix)
        same(c.some(np.array([3, 0])).toarray(), matrix[:, [3, 0]])
        same(of_record(to_record(c)).toarray(), matrix)
        same(column_sums(c), matrix.sum(axis=0))
        assert uncoded_cells(c).tolist() == uncoded_cells(matrix).tolist()
        assert c.spans_constant() == (np.linalg.lstsq(matrix, np.ones(5), rcond=None)[1].sum() < 1e-20 and c.width == 5)


def test_two_factors_of_many_levels_are_refused(monkeypatch):
    """The border of a factor of many levels is small: another one of many does not fit into it."""
    X = from_pieces(_columns("intercepts"), N)
    monkeypatch.setattr("glmclf.core.design.arrow.MAX_DENSE_BYTES", 500)
    with pytest.raises(NotImplementedError, match="beside a factor of 9 levels the other 5 columns would take"):
        X.gram(np.ones(N))
    with pytest.raises(NotImplementedError, match="300 rows of all 13 columns"):
        X.toarray()


@kinds
@pytest.mark.parametrize("q", [1, 2])
def test_inverse_of_a_part(kind, q):
    M, g = _positive(kind, q), np.random.default_rng(6)
    V, at = M.factor().inverse, np.sort(M.layout.slots[M.layout.slots >= 0])
    at = at[g.random(len(at)) < 0.8]
    d, W = g.normal(size=len(at)), np.asarray(V)
    same(V.inverse_form(at, d), d @ np.linalg.solve(W[np.ix_(at, at)], d), rtol=1e-8)
    sandwich = V.around(1.5 * M + ArrowMatrix.of_diagonal(M.layout, M.diagonal()))
    expected = d @ np.linalg.solve(np.asarray(sandwich)[np.ix_(at, at)], d)
    same(sandwich.inverse_form(at, d), expected, rtol=1e-8)
    if len(M.layout.border):
        assert V.inverse_form(M.layout.border, np.ones(len(M.layout.border))) is None
