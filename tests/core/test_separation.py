"""Separation by linear programming against exact enumeration on small integer designs; directions row by row."""

import itertools

import numpy as np
import pytest
import references

from glmclf.core.separation import find_separation

# the linear program's own feasibility tolerance is 1e-7, in units of the largest entry of a column
ATOL = 1e-6


def signed(X, y, m):
    """Rows that must not be predicted wrongly (A b >= 0) and rows that both outcomes hold at 0 (E b = 0)."""
    A = np.array([x if s == t else -x for x, s, t in zip(X, y, m, strict=True) if s in (0, t)], dtype=int).reshape(
        -1, X.shape[1]
    )
    E = np.array([x for x, s, t in zip(X, y, m, strict=True) if 0 < s < t], dtype=int).reshape(-1, X.shape[1])
    return A, E


def rays(A, E):
    """Extreme rays of {b: A b >= 0, E b = 0} in exact integers; the cone is pointed, since X has full rank."""
    rows, k = np.vstack([A, E]), A.shape[1]
    found = []
    for picked in itertools.combinations(range(len(rows)), k - 1):
        part = rows[list(picked)]
        b = np.cross(part[0], part[1]) if k == 3 else np.array([-part[0][1], part[0][0]])
        for ray in (b, -b):
            if ray.any() and (A @ ray >= 0).all() and (E @ ray == 0).all():
                found.append(ray)
    return found


def by_enumeration(X, y, m):
    """None, "quasi" or "complete"."""
    A, E = signed(X, y, m)
    found = rays(A, E)
    if not found:
        return None
    gain = A @ np.sum(found, axis=0)
    return "complete" if len(E) == 0 and (gain > 0).all() else "quasi"


def random_design(generator, k, counts):
    n = int(generator.integers(3, 12))
    while True:
        X = np.column_stack([np.ones(n, dtype=int), generator.integers(-2, 4, (n, k - 1))])
        if np.linalg.matrix_rank(X) == k:
            break
    m = generator.integers(1, 4, n) if counts else np.ones(n, dtype=int)
    slope = generator.normal(size=k) * 2
    chance = 1 / (1 + np.exp(-np.clip(X @ slope * generator.choice([0.3, 3]), -30, 30)))
    return X, generator.binomial(m, chance), m


def check_direction(X, y, m, found):
    """Never against an outcome, exactly on the rows named perfectly for it."""
    scale = np.abs(X).max(axis=0)
    b = found.direction / np.abs(found.direction * scale).max()
    side = np.where(y == m, 1.0, -1.0) * (X @ b)
    both = (y > 0) & (y < m)
    assert (side[~both] >= -ATOL).all() and (np.abs(side[both]) <= ATOL).all()
    np.testing.assert_array_equal(found.rows, ~both & (side > 1e-5))
    assert found.rows.any()


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_against_enumeration(k, counts):
    generator = np.random.default_rng(100 * k + counts)
    seen = {None: 0, "quasi": 0, "complete": 0}
    for _ in range(100):
        X, y, m = random_design(generator, k, counts)
        kind = by_enumeration(X, y, m)
        found = find_separation(X.astype(float), y.astype(float), m.astype(float) if counts else None)
        example = f"X={X.tolist()}, y={y.tolist()}, m={m.tolist()}"
        assert (found is None) == (kind is None), f"{kind}: {example}"
        if found is not None:
            assert found.complete == (kind == "complete"), f"{kind}: {example}"
            check_direction(X.astype(float), y, m, found)
        seen[kind] += 1
    assert min(seen.values()) > 0, seen


@pytest.mark.parametrize("name", references.names("separation"))
def test_reference(name):
    case, data = references.reference(name)
    import glmclf

    model = getattr(glmclf, case["model"]).from_formula(case["formula"], data, **references.model_keywords(case))
    X, y = np.asarray(model.exog, dtype=float), model.endog
    found = find_separation(X, y, None)
    assert found is not None
    assert found.complete == case["values"]["separation"].startswith("complete")
    check_direction(X, y, np.ones(len(y)), found)
    infinite = set(case["values"]["infinite"])
    assert {n for n, d in zip(model.exog_names, found.direction, strict=True) if d != 0} <= infinite


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_units_do_not_matter(scale):
    x = np.array([1.0, 2, 3, 4, 5, 6])
    y = np.array([0.0, 0, 0, 1, 1, 1])
    X = np.column_stack([np.ones(6), x * scale])
    found = find_separation(X, y, None)
    assert found is not None and found.complete
    check_direction(X, y, np.ones(6), found)
    assert find_separation(X, np.array([0.0, 1, 0, 1, 0, 1]), None) is None


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9])
def test_a_narrow_overlap_is_an_overlap(gap):
    """One pair of rows on the wrong sides by a share of the range: the estimate is finite, if large."""
    x = np.r_[np.linspace(-1, -0.1, 20), gap, -gap, np.linspace(0.1, 1, 20)]
    y = np.r_[np.zeros(20), 0.0, 1.0, np.ones(20)]
    assert find_separation(np.column_stack([np.ones(42), x]), y, None) is None


@pytest.mark.parametrize("gap", [1e-2, 1e-4])
def test_a_narrow_gap_is_a_separation(gap):
    x = np.r_[np.linspace(-1, -0.1, 20), -gap, gap, np.linspace(0.1, 1, 20)]
    y = np.r_[np.zeros(20), 0.0, 1.0, np.ones(20)]
    X = np.column_stack([np.ones(42), x])
    found = find_separation(X, y, None)
    assert found is not None and found.complete


def test_one_row_of_a_level():
    """A level seen once is separated, whatever the other columns hold; its row is the one named."""
    generator = np.random.default_rng(1)
    n = 300
    X = np.column_stack([np.ones(n), generator.normal(size=(n, 3)), np.arange(n) == 17]).astype(float)
    y = (generator.random(n) < 0.4).astype(float)
    found = find_separation(X, y, None)
    assert found is not None and not found.complete
    assert np.flatnonzero(found.direction).tolist() == [4]
    assert np.flatnonzero(found.rows).tolist() == [17]


def test_counts_with_both_outcomes_everywhere_are_never_separated():
    X = np.column_stack([np.ones(5), np.arange(5.0)])
    assert find_separation(X, np.array([1.0, 2, 1, 3, 4]), np.full(5, 5.0)) is None


def test_arguments_are_left_alone():
    X, y = np.column_stack([np.ones(6), np.arange(6.0)]), np.array([0.0, 0, 0, 1, 1, 1])
    before = X.copy(), y.copy()
    find_separation(X, y, None)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])
