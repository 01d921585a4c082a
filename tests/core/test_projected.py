"""Coordinates in which free columns are projected out: what they are, and that the likelihood is the same in them."""

import numpy as np
import pytest

from glmclf.core.design.dense import Dense
from glmclf.core.design.factor import SubtermColumns
from glmclf.core.design.pieces import from_pieces
from glmclf.core.design.product import rotated
from glmclf.core.likelihood.links import LogitLink
from glmclf.core.likelihood.objective import Objective
from glmclf.core.likelihood.pointwise import Binomial
from glmclf.core.penalised.projection import PartialledOut, enough
from glmclf.core.rows.blocks import Blocks

RNG = np.random.default_rng(5)
N = 50
Z = np.round(RNG.normal(size=(N, 4)) * 64) / 64
Y = (RNG.random(N) < 0.5).astype(float)
FREES = [[0], [2], [0, 3], [1, 3], []]
frees = pytest.mark.parametrize("free", FREES, ids=str)
SHIFT = 2.0**30


def setting(free, shift=SHIFT):
    X = Z + shift
    X[:, 0] = 1.0
    objective = Objective(Binomial(LogitLink(), binary=True), Blocks(Dense(X), Y, None, None, None))
    return X, objective, PartialledOut.of(objective, np.isin(np.arange(4), free))


@frees
def test_columns_and_coefficients(free):
    X, objective, frame = setting(free)
    rest = np.setdiff1d(np.arange(4), free)
    A = frame.apply(objective).blocks.arrays[0][:].toarray()
    np.testing.assert_allclose(A[:, free].T @ A[:, free], N * np.eye(len(free)), atol=1e-4)
    np.testing.assert_allclose(A[:, free].T @ A[:, rest], 0.0, atol=1e-4)
    if 0 in free:  # the same rest as of the columns without the shift: exact differences
        B = Z.copy()
        B[:, 0] = 1.0
        F = B[:, free]
        want = B[:, rest] - F @ np.linalg.lstsq(F, B[:, rest], rcond=None)[0]
        np.testing.assert_allclose(A[:, rest], want, atol=1e-6)
    c = RNG.normal(size=4)
    b = frame.out(c)
    np.testing.assert_array_equal(b[rest], c[rest])  # the penalty is on the same coefficients
    exact = [sum(int(x * 2**20) * round(v * 2.0**60) for x, v in zip(row, b, strict=True)) for row in X]
    np.testing.assert_allclose(np.array(exact, dtype=float) * 2.0**-80, A @ c, atol=1e-6)


@frees
def test_the_final_basis_is_triangular_and_gives_the_same_rows(free):
    X, objective, frame = setting(free)
    R, M = frame.final
    assert (np.tril(R, -1) == 0).all()
    c = RNG.normal(size=(4, 3))
    mine = frame.apply(objective).blocks.arrays[0][:].toarray() @ c
    final = rotated(Dense(X), R, True)[:].toarray() @ (M @ c)
    np.testing.assert_allclose(final, mine, rtol=1e-13, atol=1e-13 * np.abs(mine).max())


def test_mixed_columns_carry_the_ridge_as_a_form():
    x = np.linspace(990.0, 1010.0, N)
    X = x[:, None] ** np.arange(4.0)
    objective = Objective(Binomial(LogitLink(), binary=True), Blocks(Dense(X), Y, None, None, None))
    ridge = np.array([0.0, 1e-3, 2e-3, 1e-3])
    frame = PartialledOut.of(objective, ridge == 0).mixed(ridge)
    c = RNG.normal(size=4)
    b = frame.out(c)
    assert c @ frame.quadratic(N * ridge) @ c == pytest.approx(N * ridge @ (b * b), rel=1e-12)
    G = frame.apply(objective)(np.zeros(4)).information * 4 / N + frame.quadratic(ridge)
    np.testing.assert_allclose(G, np.eye(4), atol=1e-6)
    # a score in the coordinates is one in the slopes: of s'c = (s_b)'b with the free columns at their best
    s = np.array([0.0, 1.0, 2.0, -1.0])
    assert frame.slopes(s)[1:] @ b[1:] == pytest.approx(s @ c, rel=1e-9)


def test_cells_are_expanded_where_they_must_be():
    codes = RNG.integers(0, 30, 20_000)
    numbers = (Z[RNG.integers(0, N, 20_000), :1] + SHIFT).copy()
    pieces = [
        SubtermColumns(None, None, None, np.zeros(1, dtype=int), np.zeros(1, dtype=int)),
        SubtermColumns(None, codes, np.eye(30)[:, 1:], np.zeros(29, dtype=int), np.arange(29)),
        SubtermColumns(numbers, None, None, np.zeros(1, dtype=int), np.zeros(1, dtype=int)),
    ]
    X = from_pieces(pieces, 20_000)
    assert type(X).__name__ == "FactorColumns"
    y = (RNG.random(20_000) < 0.5).astype(float)
    objective = Objective(Binomial(LogitLink(), binary=True), Blocks(X, y, None, None, None))
    assert not enough(objective(np.zeros(31)).information, X)
    A = PartialledOut.of(objective, np.arange(31) == 0).apply(objective).blocks.arrays[0][:].toarray()
    np.testing.assert_allclose(A[:, 30], numbers[:, 0] - numbers[:, 0].mean(), atol=1e-5)
    np.testing.assert_allclose(A[:, 1], (codes == 1) - (codes == 1).mean(), atol=1e-12)
