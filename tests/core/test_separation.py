"""The recession cone by linear programs against all its extreme rays, found exactly on small integer designs."""

import itertools
import warnings

import numpy as np
import pytest
import references

import glmclf
from glmclf.core.separation import cone as separation
from glmclf.core.separation.cone import BinaryConstraints, Hint, MultinomialConstraints, recession_cone
from glmclf.core.separation.search import find_cone
from glmclf.errors import SeparationWarning

# the linear program's own feasibility tolerance is 1e-7, in units of the largest entry of a column; what it finds is
# then refined to rounding
ATOL = 1e-11


def binary(X, y, m=None):
    return BinaryConstraints(X.astype(float), y.astype(float), None if m is None else m.astype(float))


def multinomial(X, seen):
    return MultinomialConstraints(X.astype(float), seen)


def signed(X, y, m):
    """Rows of A, in their order, and of E (both outcomes seen), for counts y of m."""
    tied = (y > 0) & (y < m)
    A = np.where(y == m, 1, -1)[:, None] * X
    return A, tied


def signed_levels(X, seen):
    """The same for several classes: a row for each class seen beside one that was not, and for two that were."""
    k, K = X.shape[1], seen.shape[1]
    rows, tied = [], []
    for c, l in itertools.permutations(range(K), 2):
        for x, s in zip(X, seen, strict=True):
            if not s[c] or (s[l] and l < c):
                continue
            row = np.zeros((K, k), dtype=int)
            row[c], row[l] = x, -x
            rows.append(row[1:].ravel())
            tied.append(s[l])
    return np.array(rows), np.array(tied)


def determinants(M):
    """Of a stack (., q, q) of small integers."""
    return np.rint(np.linalg.det(M)).astype(int)


def minors(M):
    """The same of Python integers of any size."""
    if not M.shape[1]:
        return np.ones(len(M), dtype=object)
    return sum((-1) ** j * M[:, 0, j] * minors(np.delete(M[:, 1:], j, axis=2)) for j in range(M.shape[1]))


def null_vectors(M, determinants):
    """Directions orthogonal to p - 1 rows, of each of a stack of these (., p - 1, p); without those that have more."""
    b = np.column_stack([(-1) ** j * determinants(np.delete(M, j, axis=2)) for j in range(M.shape[2])])
    return b[(b != 0).any(axis=1)]


def rays(A, tied, determinants=determinants):
    """Extreme rays of {b: A b >= 0, = 0 where tied} in exact integers; the cone is pointed, since X has full rank."""
    p = A.shape[1]
    distinct = np.unique(A.astype(int), axis=0).astype(A.dtype)
    picked = list(itertools.combinations(range(len(distinct)), p - 1))
    b = null_vectors(distinct[np.array(picked, dtype=int).reshape(len(picked), p - 1)], determinants)
    b = b // np.gcd.reduce(b, axis=1)[:, None]
    both = np.vstack([b, -b])
    side = both @ A.T
    kept = both[(side >= 0).all(axis=1) & ~(side[:, tied] != 0).any(axis=1)]
    return np.array(sorted(set(map(tuple, kept.tolist())))).reshape(-1, p)


def expected_signs(values):
    """Of numbers at each ray: 1, -1, 0, or NaN for both."""
    up, down = (values > 0).any(axis=0), (values < 0).any(axis=0)
    return np.where(up & down, np.nan, up.astype(float) - down)


def agree(constraints, A, tied, cone, generator, example):
    """Existence, decided rows, signs of parameters and of other combinations, dimension."""
    all_rays = rays(A, tied)
    assert (cone is None) == (not len(all_rays)), example
    if cone is None:
        return None
    side = A @ all_rays.T
    np.testing.assert_array_equal(cone.decided, (side > 0).any(axis=1), example)
    assert cone.complete == bool((side > 0).any(axis=1).all())
    np.testing.assert_array_equal(cone.signs, expected_signs(all_rays), example)
    R = generator.integers(-2, 3, (6, A.shape[1]))
    np.testing.assert_array_equal(cone.sign_of(R.astype(float)), expected_signs(all_rays @ R.T), example)
    assert cone.basis.shape[1] == np.linalg.matrix_rank(all_rays)
    check_direction(constraints, cone)
    return "complete" if cone.complete else "quasi"


def check_direction(constraints, cone):
    """Never against an outcome, and strictly for it on the rows named."""
    b = constraints.directions.coordinates(cone.direction)
    side = constraints.times((b / np.abs(b).max())[:, None])[:, 0]
    assert side.min() >= -ATOL and np.abs(side[~cone.decided]).max(initial=0.0) <= ATOL
    assert cone.decided.any() and side[cone.decided].min() > 1e-6


def random_design(generator, k, n):
    while True:
        X = np.column_stack([np.ones(n, dtype=int), generator.integers(-2, 4, (n, k - 1))])
        if np.linalg.matrix_rank(X) == k:
            return X


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_binary_against_all_extreme_rays(k, counts):
    generator = np.random.default_rng(100 * k + counts)
    seen = {None: 0, "quasi": 0, "complete": 0}
    for _ in range(40):
        n = int(generator.integers(k, 12 if k < 4 else 9))
        X = random_design(generator, k, n)
        m = generator.integers(1, 4, n) if counts else np.ones(n, dtype=int)
        eta = X @ (generator.normal(size=k) * 2) * generator.choice([0.3, 3])
        y = generator.binomial(m, 1 / (1 + np.exp(-np.clip(eta, -30, 30))))
        constraints = binary(X, y, m if counts else None)
        example = f"X={X.tolist()}, y={y.tolist()}, m={m.tolist()}"
        seen[agree(constraints, *signed(X, y, m), recession_cone(constraints), generator, example)] += 1
    if k > 1:
        assert min(seen.values()) > 0, seen


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("k, K", [(1, 3), (1, 4), (2, 3)])
def test_several_classes_against_all_extreme_rays(k, K, counts):
    generator = np.random.default_rng(1000 * k + 10 * K + counts)
    kinds = set()
    for _ in range(25):
        n = int(generator.integers(K, 9))
        X = random_design(generator, k, n)
        eta = X @ generator.normal(size=(k, K)) * 2
        p = np.exp(eta - eta.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        y = np.array([generator.multinomial(3 if counts else 1, q) for q in p]) > 0
        constraints = multinomial(X, y)
        example = f"X={X.tolist()}, y={y.astype(int).tolist()}"
        kinds.add(agree(constraints, *signed_levels(X, y), recession_cone(constraints), generator, example))
    assert len(kinds) > 1


def test_what_a_fit_says_of_rows_changes_nothing_but_the_time():
    """Right or wrong: rows count as undecided only where their scores prove it."""
    generator = np.random.default_rng(4)
    proven = 0
    for _ in range(30):
        X = random_design(generator, 3, 10)
        m = generator.integers(1, 3, 10)
        y = generator.binomial(m, generator.choice([0.1, 0.5]))
        constraints = binary(X, y, m)
        whole = recession_cone(constraints)
        for hint in (
            Hint(generator.random(10) < 0.7, generator.random(10), generator.normal(size=3)),
            Hint(np.ones(10, dtype=bool), np.full(10, 1e-15), np.zeros(3)),
            Hint(generator.random(10) < 0.5, np.where(generator.random(10) < 0.2, np.nan, 1.0), np.full(3, np.nan)),
            Hint(np.zeros(10, dtype=bool), np.ones(10), np.zeros(3) if whole is None else whole.direction),
        ):
            proven += hint.proves(constraints)
            hinted = recession_cone(constraints, hint)
            assert (whole is None) == (hinted is None)
            if whole is not None:
                np.testing.assert_array_equal(whole.decided, hinted.decided)
                np.testing.assert_array_equal(whole.signs, hinted.signs)
    assert proven > 10


def test_a_fit_that_stopped_where_all_rows_are_nearly_decided_proves_nothing():
    """The largest of weights that all vanish is no sign of an overlap."""
    X = np.column_stack([np.ones(11), [0, -2, 1, -1, 2, 0, -1, 1, 0, 0, 0], [0] + [1] * 10])
    y = (np.arange(11) > 0).astype(float)
    constraints = binary(X, y)
    theta = np.array([-30.0, 0.1, 65.0])
    weight = np.exp(-np.abs(X @ theta))
    hint = Hint(weight > 1e-4 * weight.max(), weight, theta)
    assert not hint.proves(constraints)
    cone = recession_cone(constraints, hint)
    assert cone is not None and cone.complete
    np.testing.assert_array_equal(cone.signs, [-1, np.nan, 1])


@pytest.mark.parametrize("name", references.names("separation", (*references.BINARY, "MNLogit")))
def test_reference(name):
    case, data = references.reference(name)
    model = getattr(glmclf, case["model"]).from_formula(case["formula"], data, **references.model_keywords(case))
    cone, constraints = find_cone(model._objective())
    assert cone is not None
    assert cone.complete == case["values"]["separation"].startswith("complete")
    check_direction(constraints, cone)
    if case["model"] == "MNLogit":
        return
    infinite = case["values"]["infinite"]
    expected = {n: np.nan if "not" in s else np.sign(float(s)) for n, s in infinite.items()}
    found = {n: s for n, s in zip(model.exog_names, cone.signs, strict=True) if s != 0}
    assert found.keys() == expected.keys()
    np.testing.assert_array_equal([found[n] for n in expected], list(expected.values()))


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_units_do_not_matter(scale):
    x = np.array([1.0, 2, 3, 4, 5, 6])
    y = np.array([0.0, 0, 0, 1, 1, 1])
    X = np.column_stack([np.ones(6), x * scale])
    cone = recession_cone(binary(X, y))
    assert cone is not None and cone.complete
    check_direction(binary(X, y), cone)
    np.testing.assert_array_equal(cone.signs, [-1, 1])
    assert recession_cone(binary(X, np.array([0.0, 1, 0, 1, 0, 1]))) is None


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9])
def test_a_narrow_overlap_is_an_overlap(gap):
    """One pair of rows on the wrong sides by a share of the range: the estimate is finite, if large."""
    x = np.r_[np.linspace(-1, -0.1, 20), gap, -gap, np.linspace(0.1, 1, 20)]
    y = np.r_[np.zeros(20), 0.0, 1.0, np.ones(20)]
    assert recession_cone(binary(np.column_stack([np.ones(42), x]), y)) is None


@pytest.mark.parametrize("gap", [1e-2, 1e-4])
def test_a_narrow_gap_is_a_separation(gap):
    x = np.r_[np.linspace(-1, -0.1, 20), -gap, gap, np.linspace(0.1, 1, 20)]
    y = np.r_[np.zeros(20), 0.0, 1.0, np.ones(20)]
    cone = recession_cone(binary(np.column_stack([np.ones(42), x]), y))
    assert cone is not None and cone.complete


def test_one_row_of_a_level():
    """A level seen once is separated, whatever the other columns hold; its row is the one named."""
    generator = np.random.default_rng(1)
    n = 300
    X = np.column_stack([np.ones(n), generator.normal(size=(n, 3)), np.arange(n) == 17]).astype(float)
    y = (generator.random(n) < 0.4).astype(float)
    cone = recession_cone(binary(X, y))
    assert cone is not None and not cone.complete
    assert np.flatnonzero(cone.signs).tolist() == [4]
    assert np.flatnonzero(cone.decided).tolist() == [17]


def test_counts_with_both_outcomes_everywhere_are_never_separated():
    X = np.column_stack([np.ones(5), np.arange(5.0)])
    assert recession_cone(binary(X, np.array([1.0, 2, 1, 3, 4]), np.full(5, 5.0))) is None


def test_signs_by_the_extreme_facets_alone():
    """Many rows, few of which bound the cone: what follows from others is left out, and changes no answer."""
    generator = np.random.default_rng(2)
    X = np.column_stack([np.ones(400), generator.normal(size=(400, 2))])
    y = (X @ [0.3, 1.0, -2.0] > 0).astype(float)
    cone = recession_cone(binary(X, y))
    assert cone is not None and len(cone.extreme) < 20
    new = np.column_stack([np.ones(50), generator.normal(size=(50, 2))])
    by_all = glmclf.core.separation.cone.RecessionCone(cone.basis, cone.facets, cone.decided)
    by_all.__dict__["extreme"] = cone.facets
    np.testing.assert_array_equal(cone.sign_of(new), by_all.sign_of(new))
    np.testing.assert_array_equal(cone.sign_of(X[::4]), np.where(y[::4] == 1, 1.0, -1.0))
    assert set(np.unique(cone.sign_of(new)[~np.isnan(cone.sign_of(new))])) == {-1.0, 1.0}


def test_arguments_are_left_alone():
    X, y = np.column_stack([np.ones(6), np.arange(6.0)]), np.array([0.0, 0, 0, 1, 1, 1])
    before = X.copy(), y.copy()
    recession_cone(binary(X, y))
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


def far_apart(generator, k, n):
    """A small integer design whose columns have other units, far origins or far values: exact in doubles."""
    X = random_design(generator, k, n)
    for j in range(1, k):
        size = 10 ** int(generator.integers(2, 7))
        kind = generator.integers(4)
        if kind == 1:
            X[:, j] = X[:, j] * size + 1
        elif kind == 2:
            X[generator.integers(n), j] += size
        elif kind == 3:
            X[:, j] += size
    return X


def same_as_exact(X, y):
    """What the cone is, checked against its extreme rays: existence, decided rows, signs."""
    A = np.where(y == 1, 1, -1)[:, None].astype(object) * X.astype(object)
    exact = rays(A, np.zeros(len(X), bool), minors)
    cone = recession_cone(binary(X, y))
    example = f"X={X.tolist()}, y={y.tolist()}"
    assert (cone is None) == (not len(exact)), example
    if cone is None:
        return None
    np.testing.assert_array_equal(cone.decided, (A @ exact.T > 0).any(axis=1), example)
    np.testing.assert_array_equal(cone.signs, expected_signs(exact), example)
    return "complete" if cone.complete else "quasi"


@pytest.mark.parametrize("k", [2, 3, 4])
def test_units_origins_and_far_values_against_all_extreme_rays(k):
    generator = np.random.default_rng(17 + k)
    seen = {None: 0, "quasi": 0, "complete": 0}
    for _ in range(50):
        n = int(generator.integers(k, 11 if k < 4 else 9))
        X = far_apart(generator, k, n)
        if np.linalg.matrix_rank(X / np.abs(X).max(axis=0)) < k:
            continue
        y = (generator.random(n) < 0.5).astype(int)
        seen[same_as_exact(X, y)] += 1
    assert min(seen.values()) > 0, seen


@pytest.mark.parametrize("bits", [10, 16, 20])
def test_narrow_gaps_and_overlaps_against_all_extreme_rays(bits):
    """Pairs of rows of opposite outcomes that differ by 2**-bits in one column."""
    generator = np.random.default_rng(bits)
    seen = {None: 0, "quasi": 0, "complete": 0}
    for _ in range(50):
        k = int(generator.integers(2, 5))
        n = int(generator.integers(k + 2, 11 if k < 4 else 9))
        X = np.column_stack([np.ones(n, dtype=int), generator.integers(-2, 3, n), generator.integers(-4, 5, (n, 2))])
        X, y = X[:, :k] << bits, (generator.random(n) < 0.5).astype(int)
        for _ in range(int(generator.integers(1, 3))):
            i, j = generator.choice(n, 2, replace=False)
            X[i], y[i] = X[j], 1 - y[j]
            X[i, -1] += generator.choice([-1, 1])
        if np.linalg.matrix_rank(X) == k:
            seen[same_as_exact(X, y)] += 1
    assert min(seen.values()) > 0, seen


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-8])
@pytest.mark.parametrize("k", [2, 3])
def test_a_narrow_gap_is_separation_and_a_narrow_overlap_is_none(k, gap):
    """x splits the outcomes with almost nothing between, z does nothing: it may have either sign, within the gap."""
    generator = np.random.default_rng(3)
    x = np.concatenate([generator.uniform(0.1, 1, 40), [0.5 * gap], generator.uniform(-1, -0.1, 40), [-0.5 * gap]])
    X = np.column_stack([np.ones(len(x)), x, generator.normal(size=(len(x), 1))])[:, :k]
    y = (x > 0).astype(float)
    cone = recession_cone(binary(X, y))
    assert cone is not None and cone.complete
    np.testing.assert_array_equal(cone.signs, [np.nan, 1, np.nan][:k])
    X[[40, 81], 1] *= -1  # the two rows of the gap change sides
    if k == 3:
        X[81, 2] = X[40, 2]  # and nothing else tells them apart
    assert recession_cone(binary(X, y)) is None


@pytest.mark.parametrize("gap", [1e5, 1e3, 30, 1])
def test_seconds_of_a_year(gap):
    """A change at one second, seen from the year 1970: both signs of z leave a plane between the outcomes."""
    generator = np.random.default_rng(0)
    t = np.sort(generator.integers(0, 30_000_000, 200)).astype(float)
    t[100:] += gap - (t[100] - t[99])
    t, z, y = t + 1.7e9, np.round(generator.normal(size=200), 3), (np.arange(200) >= 100).astype(float)
    X = np.column_stack([np.ones(200), t, z])
    for sign in (1, -1):
        b = [-(int(t[99]) + int(t[100])) * 10_000, 20_000, sign * int(1000 * gap)]
        side = [b[0] + b[1] * int(s) + b[2] * round(1000 * v) // 1000 for s, v in zip(t, z, strict=True)]
        assert all((s > 0) == (v == 1) for s, v in zip(side, y, strict=True))
    np.testing.assert_array_equal(recession_cone(binary(X, y)).signs, [-1, 1, np.nan])


# ----------------------------------------------------------------------------------------- columns that are mostly zero
SPARSE = [[1, 0, 0.72, 0.86], [1, 0, 0.80, 0], [1, 0.88, 0, 0], [1, 0.08, 0, 0], [1, 0, 0, 0.48]]


@pytest.mark.parametrize("zeros", [40, 41, 200, 2000])
def test_few_rows_beside_many_of_the_constant_alone(zeros):
    X = np.array(SPARSE + [[1, 0, 0, 0]] * zeros)
    y = np.array([0, 1, 0, 0, 0] + [i % 2 for i in range(zeros)], float)
    with pytest.warns(SeparationWarning):
        res = glmclf.Logit(y, X).fit()
    assert np.sign(res.params).tolist()[1:] == [-1, 1, -1] and np.isinf(res.params[1:]).all()


@pytest.mark.parametrize("seed", range(30))
def test_sparse_columns_against_a_linear_program(seed):
    from scipy.optimize import linprog

    generator = np.random.default_rng(1000 + seed)
    n, p = 200, 8
    X = np.where(generator.random((n, p)) < 0.02, np.round(generator.random((n, p)), 2), 0.0)
    X = np.column_stack([np.ones(n), X[:, X.any(axis=0)]])
    y = (generator.random(n) < 0.4) * 1.0
    A = np.where(y == 1, 1.0, -1.0)[:, None] * X  # A d >= 0, and > 0 somewhere
    best = linprog(-A.sum(axis=0), A_ub=-A, b_ub=np.zeros(n), bounds=[(-1, 1)] * X.shape[1])
    decided = A @ best.x > 1e-7
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        res = glmclf.Logit(y, X).fit()
    assert (res.separation is not None) == decided.any()
    # rows that a direction takes to 0 or 1 have these probabilities, and each row that any direction takes there
    most = decided.copy()
    rows, first, of = np.unique(A, axis=0, return_index=True, return_inverse=True)
    for j in np.flatnonzero(~decided[first]):
        one = linprog(-rows[j], A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=[(-1, 1)] * X.shape[1])
        most[np.ravel(of) == j] = -one.fun > 1e-7
    np.testing.assert_array_equal(np.isin(res.fittedvalues, [0.0, 1.0]), most)


def test_levels_separated_each_by_itself_ask_no_program(monkeypatch):
    # eta of level l is s_l a_l with a_l >= 0 free: its sign is that of the outcome, and R d = sum of c_l s_l a_l
    levels = 40
    X = np.repeat(np.eye(levels), 2, axis=0)
    X[:, 0] = 1.0
    s = np.where(np.arange(levels) % 3 == 0, 1.0, -1.0)
    cone = recession_cone(binary(X, np.repeat(s, 2) > 0))
    rng = np.random.default_rng(2)
    some = rng.integers(-1, 2, (200, levels)) * (rng.random((200, levels)) < 0.05)
    R = np.vstack([np.eye(levels), some]).astype(float)
    c = np.column_stack([R[:, 0] - R[:, 1:].sum(axis=1), R[:, 1:]]) * s
    up, down = (c > 0).any(axis=1), (c < 0).any(axis=1)
    expected = np.where(up & down, np.nan, up.astype(float) - down)
    monkeypatch.delattr(glmclf.core.separation.cone.RecessionCone, "_reaches")
    np.testing.assert_array_equal(cone.sign_of(R), expected)


@pytest.fixture
def programs(monkeypatch):
    """The number of programs so far."""
    asked, plain = [0], separation._plain_program

    def counted(*args, **keywords):
        asked[0] += 1
        return plain(*args, **keywords)

    monkeypatch.setattr(separation, "_plain_program", counted)
    return asked


def separated(rng, n, k):
    """Rows that a direction tells apart, some of them all but on its border."""
    X = rng.integers(-3, 4, size=(n, k)).astype(float)
    X[:, 0] = 1.0
    y = (X @ rng.standard_normal(k) > 0).astype(float)
    return X, y


@pytest.mark.parametrize("climbs", [False, True])
def test_signs_shown_by_members_are_those_of_programs(monkeypatch, programs, climbs):
    if climbs:
        monkeypatch.setattr(separation, "MIN_NUMBERS_TO_CLIMB", 1)
    rng, saved, seen = np.random.default_rng(20), 0, set()
    for k in (2, 3, 4, 6) * 2:
        X, y = separated(rng, 6 * k, k)
        if np.linalg.matrix_rank(X) < k:
            continue
        R = np.vstack([np.eye(k), X[::3], rng.integers(-3, 4, size=(8, k)), 0 * X[:1]])
        quick, before = recession_cone(binary(X, y)), programs[0]
        found, used = quick.sign_of(R), programs[0] - before
        with monkeypatch.context() as m:
            m.setattr(separation.RecessionCone, "_known", lambda self, T, *_: np.full((len(T), 2), np.nan))
            slow, before = recession_cone(binary(X, y)), programs[0]
            np.testing.assert_array_equal(found, slow.sign_of(R))
            saved += programs[0] - before - used
        seen |= set(map(str, found))
    assert seen == {"1.0", "-1.0", "0.0", "nan"} and saved > 50


def test_members_are_climbed_to(programs):
    """A narrow cone about many parameters: what affine scaling leads to is inside, and on the side asked for."""
    rng = np.random.default_rng(23)
    X = np.column_stack([np.ones(60), rng.standard_normal((60, 19))])
    cone = recession_cone(binary(X, (X @ rng.standard_normal(20) > 0).astype(float)))
    far = 0
    for t in separation.largest_one(cone.basis):
        for side in (t, -t):
            x = cone._climbed(side, 1e-5)
            assert (cone.facets @ x).min() > 0
            far += side @ np.eye(20)[0] <= 0 < side @ x
    assert far > 10


def test_signs_of_many_columns_need_few_programs(programs):
    rng = np.random.default_rng(21)
    X = np.column_stack([np.ones(150), rng.standard_normal((150, 59))])
    y = (X @ rng.standard_normal(60) > 0).astype(float)
    cone = recession_cone(binary(X, y))
    before = programs[0]
    signs, rows = cone.signs, cone.sign_of(X)
    assert programs[0] < before + 10 and np.isnan(signs).all()
    np.testing.assert_array_equal(rows, np.where(y == 1, 1.0, -1.0))  # each row is a facet
    gain = (2 * y - 1)[:, None] * (X @ cone.basis)  # what shows a sign is in the cone
    x, t = cone._ends(separation.largest_one(cone.basis)), cone.basis
    assert (gain @ x).min() > 0 and ((t @ x > 0).any(axis=1) & (t @ x < 0).any(axis=1)).sum() > 50


def test_first_signs_asks_no_further(monkeypatch):
    rng = np.random.default_rng(22)
    X = np.column_stack([np.ones(60), rng.standard_normal((60, 19))])
    cone = recession_cone(binary(X, (X @ rng.standard_normal(20) > 0).astype(float)))
    asked, sign_of = [0], separation.RecessionCone.sign_of

    def counted(self, R):
        asked[0] += len(R)
        return sign_of(self, R)

    monkeypatch.setattr(separation.RecessionCone, "sign_of", counted)
    first = cone.first_signs(3)
    assert asked[0] == 3
    np.testing.assert_array_equal(first[:3], cone.signs[:3])


def test_a_wide_fit_stops_where_outcomes_are_told_apart(monkeypatch):
    from glmclf.core.fit import warm_start

    rng = np.random.default_rng(23)
    X = np.column_stack([np.ones(90), rng.standard_normal((90, 29))])
    y = (X @ rng.standard_normal(30) > 0).astype(float)
    overlapping = (X[:, 1] + 2 * rng.standard_normal(90) > 0).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        usual = [glmclf.Logit(y, X).fit(), glmclf.Probit(y, X).fit(), glmclf.Logit(y, X[:, :3]).fit()]
        monkeypatch.setattr(warm_start, "MIN_PASS_ARITHMETIC", 0.0)
        early = [glmclf.Logit(y, X).fit(), glmclf.Probit(y, X).fit(), glmclf.Logit(y, X[:, :3]).fit()]
    for a, b in zip(usual, early, strict=True):
        np.testing.assert_array_equal(a.params, b.params)
        assert a.llf == b.llf and a.separation == b.separation
    assert early[0].llf == 0.0 and 2 * early[0].mle_retvals["iterations"] < usual[0].mle_retvals["iterations"]
    assert glmclf.detect_separation(y, X) == usual[0].separation
    assert glmclf.detect_separation(overlapping, X[:, :3]) is None
    with pytest.raises(glmclf.errors.PerfectSeparationError, match="and 22 more is infinite"):
        glmclf.Logit(y, X).fit(separation="raise")


def test_shares_near_0_and_1_are_not_told_apart(monkeypatch):
    """Their log-likelihood is near 0 at a finite maximum."""
    from glmclf.core.design.dense import Dense
    from glmclf.core.fit import warm_start
    from glmclf.core.likelihood.links import LogitLink
    from glmclf.core.likelihood.objective import Objective
    from glmclf.core.likelihood.pointwise import Binomial
    from glmclf.core.rows.blocks import Blocks

    monkeypatch.setattr(warm_start, "MIN_PASS_ARITHMETIC", 0.0)
    X = np.ones((4, 1))
    for y, told in ((np.array([0.999, 1, 1, 1]), np.inf), (np.array([0.0, 1, 1, 1]), warm_start.SEPARATION_LOGLIK)):
        objective = Objective(Binomial(LogitLink()), Blocks(Dense(X), y, None, None, None))
        assert warm_start.separation_loglik(objective, 1) == told
    weighted = Blocks(Dense(X), y, None, None, np.full(4, 1e-3))
    assert warm_start.separation_loglik(Objective(Binomial(LogitLink()), weighted), 1) == np.inf


def test_twofold_rows_are_made_once_and_alike_in_any_company():
    from glmclf.core.design.dense import Dense
    from glmclf.core.design.product import rotated
    from glmclf.core.numerics.double_double import product

    rng = np.random.default_rng(24)
    A, B = rng.standard_normal((70, 90)) * 10.0 ** rng.integers(-8, 8, 90), np.triu(rng.standard_normal((90, 90)))
    whole = product(A, B)
    np.testing.assert_array_equal(whole, np.hstack([product(A, B[:, [j]]) for j in range(90)]))
    X = rotated(Dense(A), B, True)
    assert X[:20] is X[:20] and X[:20] is not X[20:]
    np.testing.assert_array_equal(X[20:].X, rotated(Dense(A[20:]), B, True)[:].X)
