"""Rank: dependencies found and written as the combination they are; ill-conditioned designs keep full rank."""

import numpy as np
import pytest
import references

from glmclf.core.design import coding
from glmclf.core.design.coding import LevelCoding
from glmclf.core.design.dense import Dense
from glmclf.core.design.factor import SubtermColumns
from glmclf.core.design.pieces import from_pieces
from glmclf.core.fit import level_rank
from glmclf.core.fit.rank import dependencies, roundings, triangular_factor
from glmclf.core.likelihood.objective import CholeskyFactor
from glmclf.core.rows.blocks import Blocks

# coefficients of a dependency come from a triangular solve of a well-conditioned basis
RTOL = 1e-8


def factor(X, **options):
    return triangular_factor(Blocks(Dense(np.asarray(X, dtype=float)), **options))


@pytest.fixture
def X():
    return np.column_stack([np.ones(60), np.random.default_rng(8).normal(size=(60, 3))])


@pytest.mark.parametrize("size", [1, 3, 7, 59, 60, 1000])
def test_triangular_factor(X, size):
    R = factor(X, size=size)
    assert R.shape == (4, 4)
    np.testing.assert_array_equal(R, np.triu(R))
    np.testing.assert_allclose(R.T @ R, X.T @ X, rtol=1e-12, atol=1e-12)


def test_factor_of_fewer_rows_than_columns(X):
    R = factor(X[:2])
    assert R.shape == (4, 4)
    np.testing.assert_allclose(R.T @ R, X[:2].T @ X[:2], atol=1e-13)
    assert sorted(dependencies(R)) == [2, 3]


def test_full_rank(X):
    assert dependencies(factor(X)) == {}


@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1.0, 1e8, 1e150])
def test_units_do_not_matter(X, scale):
    units = np.array([1.0, scale, 1.0, 1 / scale])
    assert dependencies(factor(X * units)) == {}
    Z = np.column_stack([X, 2 * X[:, 1] - 3 * X[:, 3]]) * np.r_[units, scale]
    found = dependencies(factor(Z))
    assert list(found) == [4]
    assert set(found[4]) == {1, 3}
    np.testing.assert_allclose(found[4][1], 2.0, rtol=RTOL)
    np.testing.assert_allclose(found[4][3], -3.0 * scale * scale, rtol=RTOL)


def test_the_combination_reproduces_the_column(X):
    generator = np.random.default_rng(4)
    b = generator.normal(size=(4, 2))
    Z = np.column_stack([X, X @ b, generator.normal(size=60), X[:, 2]])
    found = dependencies(factor(Z))
    assert list(found) == [4, 5, 7]
    for j, terms in found.items():
        np.testing.assert_allclose(Z[:, list(terms)] @ np.array(list(terms.values())), Z[:, j], rtol=1e-9, atol=1e-9)
    assert found[7] == pytest.approx({2: 1.0})


def test_dummies_of_all_levels_and_a_constant():
    level = np.arange(30) % 3
    Z = np.column_stack([np.ones(30), *(level == g for g in range(3))])
    found = dependencies(factor(Z))
    assert list(found) == [3] and found[3] == pytest.approx({0: 1.0, 1: -1.0, 2: -1.0})


def test_columns_of_zeros(X):
    Z = np.column_stack([np.zeros(60), X, np.zeros(60)])
    assert dependencies(factor(Z)) == {0: {}, 5: {}}


def test_later_columns_are_compared_with_columns_kept_only(X):
    Z = np.column_stack([X[:, :2], X[:, 1], X[:, 1] + 1e-3 * X[:, 2]])
    assert list(dependencies(factor(Z))) == [2]


@pytest.mark.parametrize(
    "name", ["hard_poly5__logit", "hard_poly6__logit", "hard_collinear__logit", "hard_scale__logit", "hard_wide__logit"]
)
def test_ill_conditioned_designs_have_full_rank(name):
    model = references.fitted(name).model
    assert dependencies(factor(model.exog)) == {}
    assert dependencies(factor(model.exog, size=50)) == {}


@pytest.mark.parametrize("exponent", [-6, -9, -11, -12])
def test_a_small_difference_is_a_difference(X, exponent):
    """x2 = x1 + 10^e z is another column: R's lm would drop it from 1e-7 on, at a loss."""
    Z = np.column_stack([X[:, :2], X[:, 1] + 10.0**exponent * X[:, 2]])
    assert dependencies(factor(Z)) == {}


def test_a_sum_rounded_to_doubles_is_a_dependency():
    """The rounding of x3 = x1 + x2 is no information, with many rows and any block size."""
    generator = np.random.default_rng(6)
    A = generator.normal(size=(5000, 2)) * [1.0, 1e5] + [0, 1e4]
    Z = np.column_stack([np.ones(5000), A, A.sum(axis=1), A[:, 0] / 3])
    for size in (100, 5000):
        assert list(dependencies(factor(Z, size=size))) == [3, 4]


@pytest.mark.parametrize("n", [60, 3000])
@pytest.mark.parametrize("mean", [1e4, 1e6, 1e8])
def test_the_rounding_of_large_terms_that_cancel_is_no_information(n, mean):
    """(x - mean)/sd of x far from zero is off by eps |x|/sd, which is more than a rounding of its own numbers."""
    x = mean + np.random.default_rng(2).normal(size=n)
    Z = np.column_stack([np.ones(n), x, (x - x.mean()) / x.std()])
    for size in (50, n):
        for columns in ([0, 1, 2], [0, 2, 1]):
            assert list(dependencies(factor(Z[:, columns], size=size))) == [2]


def test_a_small_difference_of_large_numbers_is_a_difference():
    generator = np.random.default_rng(2)
    x, z, noise = generator.normal(size=(3, 60))
    Z = np.column_stack([np.ones(60), 1e6 + x, z, 1e6 + x + z + 1e-7 * noise])
    assert dependencies(factor(Z)) == {}


@pytest.mark.parametrize(("dtype", "unit"), [("float32", 2.0**-24), ("float16", 2.0**-11)])
def test_columns_that_were_rounded_are_told_by_their_numbers(X, dtype, unit):
    short = X.astype(dtype).astype(float)
    assert roundings(Blocks(Dense(np.column_stack([short, X[:, 1:]])))).tolist() == [0, *[unit] * 3, *[0] * 3]
    assert roundings(Blocks(Dense(short), size=7)).tolist() == [0, *[unit] * 3]


@pytest.mark.parametrize(
    "exact",
    [
        np.arange(60.0),
        150 + np.arange(60) / 8,
        1.6e9 + 86400 * np.arange(60.0),
        np.arange(60) % 2,
        np.arange(60) / 10,
        np.zeros(60),
        (np.arange(60) - 30.0) ** 5,
    ],
)
def test_exact_numbers_are_not_taken_for_rounded(exact):
    """Whole numbers, eighths, unix times of days, decimals: half of them may use the last bit of float32 or float16."""
    assert roundings(Blocks(Dense(exact[:, None].astype(float)))).tolist() == [0]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_rounded_columns_are_dependent_within_their_rounding(X, dtype):
    third = (3 * X[:, 1]).astype(dtype)
    total = (X[:, 1] + X[:, 2]).astype(dtype)
    Z = np.column_stack([X[:, :3], third, total, X[:, 3]])
    found = level_rank.dependencies_in(Blocks(Dense(Z)))
    assert list(found) == [3, 4] and set(found[3]) == {1} and set(found[4]) == {1, 2}
    np.testing.assert_allclose(found[3][1], 3, rtol=1e-3)
    noise = 30 * np.finfo(dtype).eps * X[:, 3]
    assert level_rank.dependencies_in(Blocks(Dense(np.column_stack([X[:, :3], third + noise])))) == {}


@pytest.mark.parametrize("p", [1, 2, 9, 60])
def test_a_condition_is_judged_as_by_the_eigenvalues(p):
    generator = np.random.default_rng(p)
    judged = []
    for power in np.linspace(0.0, 12.0, 25):
        Q = np.linalg.qr(generator.normal(size=(p, p)))[0]
        A = Q * 10.0 ** -np.linspace(0.0, power, p) @ Q.T
        factor = CholeskyFactor(A * np.outer(*[10.0 ** generator.normal(size=p)] * 2))
        values = np.linalg.eigvalsh(factor.scaled)
        judged += [(factor.exceeds(least), values[0] > least * values[-1]) for least in (1e-3, 1e-6, 1e-9)]
    assert all(found == right for found, right in judged)
    assert p == 1 or {right for _, right in judged} == {True, False}


# ------------------------------------------------------------------------------------------------------ many levels
def _with_levels(case):
    """Columns and combinations among them by an independent rule: the null space of the expanded columns."""
    g = np.random.default_rng(12)
    n, L = 400, 12
    codes = g.integers(0, L, n)
    z = g.normal(size=n)
    within = np.where(codes % 3 == 0, 2.0 + codes, g.normal(size=n))  # a constant in every third level
    of_level = (codes % 4).astype(float)
    region = (codes // 4)[:, None] == np.arange(1, 3)
    zeros = np.zeros(L, dtype=int)

    def number(*x):
        k = len(x)
        return SubtermColumns(np.asfortranarray(np.column_stack(x)), None, None, np.arange(k), zeros[:k])

    ones = SubtermColumns(None, None, None, zeros[:1], zeros[:1])
    treatment = SubtermColumns(None, codes, LevelCoding.treatment(L, 0), zeros[1:], np.arange(L - 1))
    cells = SubtermColumns(None, codes, LevelCoding.full(L), zeros, np.arange(L))
    slopes = SubtermColumns(np.asfortranarray(within[:, None]), codes, LevelCoding.full(L), zeros, np.arange(L))
    empty = SubtermColumns(None, codes, LevelCoding.full(L + 1), np.zeros(L + 1, dtype=int), np.arange(L + 1))
    return {
        "none": [ones, treatment, number(z, 2000.0 + 1e-3 * z**2)],
        "constant": [ones, cells, number(z)],
        "within levels": [ones, treatment, number(z, of_level)],
        "before levels": [ones, number(*region.T), treatment, number(z)],
        "two": [ones, number(of_level, z), treatment, number(z + 3.0 * of_level)],
        "slopes": [ones, number(z), treatment, slopes],
        "slopes alone": [number(within), slopes],
        "empty": [ones, empty, empty._replace(numbers=z[:, None]), number(z, 2.0 * z + of_level)],
    }[case]


@pytest.mark.parametrize(
    "case", ["none", "constant", "within levels", "before levels", "two", "slopes", "slopes alone", "empty"]
)
def test_dependencies_of_levels(monkeypatch, case):
    """Combinations are those of the expanded columns, taken from left to right."""
    monkeypatch.setattr(coding, "MANY_LEVELS", 5)
    monkeypatch.setattr(level_rank, "MAX_EXPANDED_ARITHMETIC", 0)
    X = from_pieces(_with_levels(case), 400)
    D, k = X.toarray(), X.shape[1]
    expected = [j for j in range(k) if np.linalg.matrix_rank(D[:, : j + 1]) == np.linalg.matrix_rank(D[:, :j])]
    lost = level_rank.dependencies_in(Blocks(X, size=150))
    assert sorted(lost) == expected
    for j, terms in lost.items():
        np.testing.assert_allclose(D[:, list(terms)] @ list(terms.values()), D[:, j], atol=1e-10)
        assert all(i < j and i not in lost for i in terms)
