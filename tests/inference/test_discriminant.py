"""Diagnostics of discriminant analysis: closed forms at high precision (checked against MASS in R) and refits.

The statistics have 12 digits and are asserted to 1e-9, tail probabilities to 1e-7. Leaving rows out by rank-one
changes is compared with fits to the remaining rows.
"""

from dataclasses import replace

import numpy as np
import pytest
from inference.test_manova import case, data, small, summary
from numpy.testing import assert_allclose
from scipy import stats

from glmclf.core.design.dense import Dense
from glmclf.core.gaussian.fit import fit_gaussian
from glmclf.core.rows.blocks import Blocks
from glmclf.errors import EstimationError
from glmclf.inference.generative import discriminant as da

RTOL = 1e-9
STRUCTURES = [(kind, pooled) for kind in ("full", "diag", "spherical") for pooled in (True, False)]
X0 = {"iris": [5.9, 3.1, 4.9, 1.6], "pima_tr": [4.0, 130.0, 72.0, 30.0, 33.0, 0.5, 35.0]}


def model(X, y, kind="full", pooled=True, w=None, **kwargs):
    return fit_gaussian(summary(X, y, w), kind, pooled, **kwargs)


# ---------------------------------------------------------------------------------------------- published numbers


@pytest.mark.parametrize(
    "name, expected",
    [
        ("iris", [89.8641855821, 550.188891319, 4, 144, 86.6475806303]),
        ("crabs", [10.0732980358, 49.3386026242, 5, 192, 9.56493176938]),
        ("pima_tr", [2.30790705553, 14.3485878652, 7, 192, 2.05868680611]),
    ],
)
def test_mahalanobis(name, expected):
    found = da.mahalanobis(summary(*data(name)))
    first = [found.squared[0, 1], found.F[0, 1], found.df1, found.df2, found.unbiased[0, 1]]
    assert_allclose(first, expected, rtol=RTOL)
    assert_allclose(found.pvalue[0, 1], stats.f.sf(expected[1], expected[2], expected[3]), rtol=1e-7)


@pytest.mark.parametrize("divisor", ["mle", "unbiased"])
@pytest.mark.parametrize(
    "name, expected",
    [
        ("iris", [1.93133543283e-18, 0.144188472268, 0.083502171847]),
        ("pima_tr", [0.997835384485, 0.999646203547]),
    ],
)
def test_typicality(name, expected, divisor):
    X, y = data(name)
    g = model(X, y, divisor=divisor)
    assert_allclose(da.typicality(g, np.array([X0[name]]))[0], expected, rtol=1e-7)


ERRORS = {
    ("iris", True): [3, 3, 0.0157152733397, -6.55755901928, -8.0755368197],
    ("iris", False): [3, 4, None, -5.45470629514, -8.60091435232],
    ("crabs", True): [8, 10, 0.0391286852081, -19.7811513889, -23.460594301],
    ("crabs", False): [8, 13, None, -16.0028982419, -22.9982142891],
    ("pima_tr", True): [46, 48, 0.183916987033, -89.7883696569, -98.3485966166],
    ("pima_tr", False): [46, 54, None, -100.304514647, -136.932396824],
}


@pytest.mark.parametrize("size", [None, 37])
@pytest.mark.parametrize("name, pooled", ERRORS)
def test_error_rates(name, pooled, size):
    X, y = data(name)
    found = da.error_rates(model(X, y, pooled=pooled), Blocks(Dense(X), y, None, size=size))
    resubstitution, left_out, posterior, llf, score = ERRORS[name, pooled]
    assert found.resubstitution.errors == resubstitution
    assert found.leave_one_out.errors == left_out
    assert found.n == len(y) == found.leave_one_out.confusion.sum()
    assert_allclose([found.resubstitution.score, found.leave_one_out.score], [llf, score], rtol=RTOL)
    if posterior is not None:
        assert_allclose(found.posterior, posterior, rtol=RTOL)
    assert_allclose(found.leave_one_out.rate, left_out / len(y))


# ---------------------------------------------------------------------------------------------- leave-one-out


def refitted(X, y, w, i, kind, pooled, g, **kwargs):
    """log pi f of row i under the fit to all observations but one of row i, the priors held."""
    f = np.ones(len(y)) if w is None else w.copy()
    f[i] -= 1
    keep = f > 0
    other = fit_gaussian(summary(X[keep], y[keep], f[keep], g.K), kind, pooled, **kwargs)
    return replace(other, log_priors=g.log_priors).log_joint(X[i : i + 1])[0]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("divisor", ["mle", "unbiased"])
@pytest.mark.parametrize("kind, pooled", STRUCTURES)
def test_leave_one_out_by_refitting(kind, pooled, divisor, weighted):
    X, y = small(n=45)
    w = np.random.default_rng(2).integers(1, 4, len(y)).astype(float) if weighted else None
    g = model(X, y, kind, pooled, w, divisor=divisor, priors=np.array([0.2, 0.3, 0.5]))
    expected = [refitted(X, y, w, i, kind, pooled, g, divisor=divisor) for i in range(len(y))]
    left = da.LeaveOneOut(g)
    assert_allclose(left.log_joint(X, y, w), expected, rtol=1e-9)
    posterior = np.exp(left.log_posterior(X, y, w))
    assert_allclose(posterior.sum(axis=1), 1)
    best = np.argmax(expected, axis=1)
    counted = np.bincount(y * 3 + best, w, 9).reshape(3, 3)
    found = da.error_rates(g, Blocks(Dense(X), y, w, size=7)).leave_one_out
    assert_allclose(found.confusion, counted)
    assert_allclose(found.score, (np.ones(len(y)) if w is None else w) @ np.log(posterior[np.arange(len(y)), y]))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("divisor", ["mle", "unbiased"])
@pytest.mark.parametrize(
    "options",
    [
        {"shrinkage": 0.3},
        {"shrinkage": 0.3, "target": "identity"},
        {"shrinkage": 0.2, "target": np.diag([1.0, 2.0, 3.0]) + 0.3},
        {"ridge": 0.4},
        {"shrinkage": 1.0},
        {"shrinkage": 0.1, "target": "identity", "ridge": 0.2},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind, pooled", STRUCTURES)
def test_leave_one_out_of_regularised_fits(kind, pooled, options, divisor, weighted):
    X, y = small(n=30)
    w = np.random.default_rng(2).integers(1, 4, len(y)).astype(float) if weighted else None
    g = model(X, y, kind, pooled, w, divisor=divisor, **options)
    left = da.LeaveOneOut(g, moments=summary(X, y, w))
    rows = [0, 3, 14, 29]
    expected = [refitted(X, y, w, i, kind, pooled, g, divisor=divisor, **options) for i in rows]
    assert_allclose(left.log_joint(X, y, w)[rows], expected, rtol=1e-9)


@pytest.mark.parametrize("pooled", [True, False])
def test_leave_one_out_of_a_shrunk_fit_with_few_rows(pooled):
    """More features than rows; an intensity for each class; a block of one row at a time."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [5, 6, 1])
    X = rng.normal(size=(12, 15)) + y[:, None]
    m = summary(X, y)
    options = {"shrinkage": 0.5 if pooled else np.array([0.3, 0.4, 0.5]), "target": "identity", "ridge": 0.1}
    g = fit_gaussian(m, "full", pooled, **options)
    found = da.error_rates(g, Blocks(Dense(X), y, None, size=1), moments=m)
    assert found.leave_one_out.skipped.tolist() == [0, 0, 1]
    left = da.LeaveOneOut(g, moments=m).log_joint(X, y)
    assert_allclose(left[7], refitted(X, y, None, 7, "full", pooled, g, **options), rtol=1e-9)
    with pytest.raises(ValueError, match="needs its moments"):
        da.error_rates(g, Blocks(Dense(X), y, None))
    assert da.error_rates(g, Blocks(Dense(X), y, None), leave_one_out=False).leave_one_out is None


def test_no_shrinkage_either_way():
    """The covariance of each row by itself agrees with the rank-one change."""
    X, y = small(n=40)
    m = summary(X, y)
    for pooled in (True, False):
        g = model(X, y, pooled=pooled)
        slow = da.LeaveOneOut(replace(g, ridge=1e-300), moments=m)
        assert_allclose(slow.log_joint(X, y), da.LeaveOneOut(g).log_joint(X, y), rtol=1e-9)


@pytest.mark.parametrize("kind, pooled", STRUCTURES)
def test_leaving_out_a_row_with_its_sampling_weight(kind, pooled):
    X, y = small(n=40)
    w = np.random.default_rng(2).uniform(0.3, 2.0, len(y))
    g = model(X, y, kind, pooled, w)
    left = da.LeaveOneOut(g, frequency=False)
    for i in (0, 11, 39):
        rest = np.arange(len(y)) != i
        other = replace(model(X[rest], y[rest], kind, pooled, w[rest]), log_priors=g.log_priors)
        assert_allclose(left.log_joint(X, y, w)[i], other.log_joint(X[i : i + 1])[0], rtol=1e-9)


@pytest.mark.parametrize("kind, pooled", STRUCTURES)
def test_frequency_weights_repeat_rows(kind, pooled):
    X, y = small(n=40)
    f = np.random.default_rng(4).integers(1, 4, len(y))
    rows = np.repeat(np.arange(len(y)), f)
    g = model(X, y, kind, pooled, f.astype(float))
    a = da.error_rates(g, Blocks(Dense(X), y, f.astype(float)))
    b = da.error_rates(model(X[rows], y[rows], kind, pooled), Blocks(Dense(X[rows]), y[rows], None))
    for one, two in ((a.resubstitution, b.resubstitution), (a.leave_one_out, b.leave_one_out)):
        assert_allclose(one.confusion, two.confusion)
        assert_allclose(one.score, two.score, rtol=1e-10)
    assert_allclose(a.largest, b.largest, rtol=1e-10)
    assert a.n == b.n == f.sum()


def test_one_row_in_a_class():
    """Without it the class has no mean: the row has no posterior and is counted as skipped."""
    X, y = small(n=30, K=2)
    X, y = np.vstack([X, X[:1] + 2]), np.append(y, 2)
    g = model(X, y)
    posterior = da.LeaveOneOut(g).log_posterior(X, y)
    assert np.isnan(posterior[-1]).all() and np.isfinite(posterior[:-1]).all()
    found = da.error_rates(g, Blocks(Dense(X), y, None))
    assert found.leave_one_out.skipped.tolist() == [0, 0, 1]
    assert found.leave_one_out.confusion.sum() == 30
    assert np.isnan(found.leave_one_out.by_class[2]) and found.resubstitution.skipped.sum() == 0


@pytest.mark.parametrize("kind, enough", [("full", 5), ("diag", 3), ("spherical", 3)])
def test_class_that_becomes_singular(kind, enough):
    """A class of own covariance needs p + 1 (diag, spherical: 2) rows besides the one left out."""
    rng = np.random.default_rng(0)
    for n in (enough - 1, enough):
        y = np.repeat([0, 1], [20, n])
        X = rng.normal(size=(20 + n, 3))
        found = da.error_rates(model(X, y, kind, pooled=False), Blocks(Dense(X), y, None)).leave_one_out
        assert found.skipped.tolist() == [0, 0 if n == enough else n]


def test_a_row_that_alone_varies():
    """A feature that only one row of the class moves is constant without it."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [20, 10])
    X = rng.normal(size=(30, 2))
    X[20:, 1] = 1.0
    X[25, 1] = 2.0
    for kind in ("full", "diag"):
        left = da.LeaveOneOut(model(X, y, kind, pooled=False)).left(X, y)
        assert np.flatnonzero(~left.defined).tolist() == [25]


def test_pooled_without_degrees_of_freedom():
    X, y = np.random.default_rng(0).normal(size=(6, 4)), np.repeat([0, 1], 3)
    g = model(X, y)
    assert not da.LeaveOneOut(g).left(X, y).defined.any()
    found = da.error_rates(g, Blocks(Dense(X), y, None)).leave_one_out
    assert np.isnan(found.rate) and found.score == 0 and found.skipped.sum() == 6


def test_far_rows_do_not_underflow():
    """Posteriors of rows hundreds of standard deviations away are logarithms, not 0/0."""
    X, y = data("iris")
    X = X + 1e3 * y[:, None]
    found = da.error_rates(model(X, y), Blocks(Dense(X), y, None))
    assert found.leave_one_out.errors == 0 and found.leave_one_out.score == pytest.approx(0, abs=1e-12)


# ---------------------------------------------------------------------------------------------- error rates


def test_error_counts_written_out():
    X, y = data("crabs")
    g = model(X, y)
    found = da.error_rates(g, Blocks(Dense(X), y, None, size=64), leave_one_out=False)
    joint = np.exp(g.log_joint(X))
    posterior = joint / joint.sum(axis=1, keepdims=True)
    best = posterior.argmax(axis=1)
    confusion = [[((y == a) & (best == b)).sum() for b in range(4)] for a in range(4)]
    assert found.leave_one_out is None
    assert_allclose(found.resubstitution.confusion, confusion)
    assert_allclose(found.resubstitution.by_class, [(best[y == k] != k).mean() for k in range(4)])
    assert_allclose(found.resubstitution.weighted(np.full(4, 0.25)), found.resubstitution.rate)
    assert_allclose(found.posterior, 1 - posterior.max(axis=1).mean())
    by_class = [1 - posterior[best == k, k].sum() / (len(y) * 0.25) for k in range(4)]
    assert_allclose(1 - found.largest / (found.n * found.priors), by_class, rtol=1e-10)
    assert_allclose(np.mean(by_class), found.posterior)


@pytest.mark.parametrize("divisor, key", [("mle", "mle"), ("unbiased", "moment")])
@pytest.mark.parametrize("quantity", ["lda", "qda"])
@pytest.mark.parametrize("name", ["crabs", "iris", "pima_tr", "wine"])
def test_reference_files(name, quantity, divisor, key):
    """Errors, confusion and conditional log-likelihood at 60 digits."""
    X, y, values = case(name, quantity)
    g, expected = model(X, y, pooled=quantity == "lda", divisor=divisor), values[key]
    found = da.error_rates(g, Blocks(Dense(X), y, None), leave_one_out=False).resubstitution
    assert found.errors == expected["errors"]
    assert found.confusion.tolist() == expected["confusion"]
    assert_allclose(found.score, expected["llf_conditional"], rtol=RTOL)


def test_ties_go_to_the_first_class():
    counts = da.decisions(np.log(np.array([[0.5, 0.5], [0.5, 0.5]])), np.array([0, 1]), np.array([1.0, 3.0]))
    assert counts.confusion.tolist() == [[1, 0], [3, 0]]


# ---------------------------------------------------------------------------------------------- distances, typicality


def test_mahalanobis_of_all_pairs():
    X, y = data("crabs")
    m = summary(X, y)
    found = da.mahalanobis(m)
    S = m.within / (m.n - m.K)
    for k in range(4):
        for l in range(4):
            d = m.means[k] - m.means[l]
            assert_allclose(found.squared[k, l], d @ np.linalg.solve(S, d), rtol=1e-9, atol=1e-20)
    for matrix in (found.squared, found.F, found.pvalue, found.unbiased):
        assert_allclose(matrix, matrix.T)
    assert np.isnan(np.diagonal(found.F)).all() and (np.diagonal(found.unbiased) == 0).all()


def test_mahalanobis_is_unbiased():
    """Mean of the unbiased distance over samples (fixed seed; three standard errors)."""
    rng = np.random.default_rng(0)
    y, shift = np.repeat([0, 1], [8, 12]), np.array([1.5, 0, 0])
    draws = [
        da.mahalanobis(summary(rng.normal(size=(20, 3)) + shift * y[:, None], y)).unbiased[0, 1] for _ in range(300)
    ]
    assert abs(np.mean(draws) - 2.25) < 3 * np.std(draws) / np.sqrt(300)


def test_mahalanobis_with_few_rows():
    """N - K = p + 1: the distance has a test but no unbiased estimate."""
    X, y = np.random.default_rng(0).normal(size=(6, 3)), np.repeat([0, 1], 3)
    found = da.mahalanobis(summary(X, y))
    assert np.isnan(found.unbiased[0, 1]) and 0 < found.pvalue[0, 1] < 1
    with pytest.raises(EstimationError, match="not defined"):
        da.mahalanobis(summary(X[:4], np.array([0, 0, 1, 1])))


@pytest.mark.parametrize("divisor", ["mle", "unbiased"])
def test_typicality_of_training_rows_is_beta(divisor):
    """D^2 n_k/((n_k - 1)(N - K)) of a row and its own class is Beta(p/2, (N - K - p)/2); by class with S_k likewise."""
    X, y = small(n=60)
    m = summary(X, y)
    p, n, own = 3, m.counts[y], np.arange(len(y))
    found = da.typicality(model(X, y, divisor=divisor), X, y)[own, y]
    d = X - m.means[y]
    h = np.einsum("ij,ij->i", d @ np.linalg.inv(m.within), d)
    assert_allclose(found, stats.beta.sf(h * n / (n - 1), p / 2, (60 - 3 - p) / 2), rtol=1e-7)
    found = da.typicality(model(X, y, pooled=False, divisor=divisor), X, y)[own, y]
    h = np.array([row @ np.linalg.solve(m.scatter[k], row) for row, k in zip(d, y)])
    assert_allclose(found, stats.beta.sf(h * n / (n - 1), p / 2, (n - 1 - p) / 2), rtol=1e-7)


@pytest.mark.parametrize("kind, pooled", [s for s in STRUCTURES if s[0] != "diag"])
def test_typicality_of_training_rows_by_refitting(kind, pooled):
    """Each row is a new one to the fit without it, for every class."""
    X, y = small(n=45)
    found = da.typicality(model(X, y, kind, pooled), X, y)
    for i in (0, 20, 44):
        rest = np.arange(45) != i
        g = model(X[rest], y[rest], kind, pooled)
        assert_allclose(found[i], da.typicality(g, X[i : i + 1])[0], rtol=1e-9)


def test_typicality_of_new_rows_by_class():
    X, y = small(n=60)
    m, new = summary(X, y), np.array([[0.5, -1.0, 2.0], [0.0, 0.0, 0.0]])
    found = da.typicality(model(X, y, pooled=False), new)
    for k, n in enumerate(m.counts):
        S = m.scatter[k] / (n - 1)
        d2 = np.array([(x - m.means[k]) @ np.linalg.solve(S, x - m.means[k]) for x in new])
        assert_allclose(found[:, k], stats.f.sf(d2 * n * (n - 3) / ((n**2 - 1) * 3), 3, n - 3), rtol=1e-7)


@pytest.mark.parametrize("kind, pooled", [s for s in STRUCTURES if s[0] != "diag"])
@pytest.mark.parametrize("new", [True, False])
def test_typicality_is_uniform(kind, pooled, new):
    """p-values of rows of class 0 where all classes have the same law (fixed seed, generous bounds)."""
    rng = np.random.default_rng(7)
    y, found = np.repeat([0, 1], [7, 9]), []
    for _ in range(300):
        X = rng.normal(size=(16, 2))
        X[y == 1] += 3.0
        row = rng.normal(size=(1, 2)) if new else X
        found.append(da.typicality(model(X, y, kind, pooled), row, None if new else y)[0, 0])
    assert stats.kstest(found, "uniform").pvalue > 0.001
    assert 0.02 < np.mean(np.array(found) < 0.05) < 0.09


def test_training_rows_are_typical_of_other_classes_uniformly():
    """Row 0 is of class 0 but has the law of class 1: without it, its distance to class 1 is F."""
    rng = np.random.default_rng(3)
    y, found = np.repeat([0, 1], [7, 9]), []
    for _ in range(300):
        X = rng.normal(size=(16, 2))
        found.append(da.typicality(model(X, y), X, y)[0, 1])
    assert stats.kstest(found, "uniform").pvalue > 0.001


@pytest.mark.parametrize("kind", ["full", "spherical"])
def test_typicality_from_the_features_that_are_there(kind):
    X, y = small(n=60)
    m, g = summary(X, y), model(X, y, kind)
    new = np.array([[0.5, -1.0, 2.0], [0.5, np.nan, 2.0], [np.nan, np.nan, 2.0], [np.nan] * 3])
    found = da.typicality(g, new)
    assert_allclose(found[0], da.typicality(g, new[:1])[0])
    assert np.isnan(found[3]).all()
    if kind == "full":
        part = X[:, [0, 2]]
        assert_allclose(found[1], da.typicality(model(part, y), new[1:2, [0, 2]])[0], rtol=1e-9)
    else:
        d2 = ((new[1, [0, 2]] - m.means[:, [0, 2]]) ** 2).sum(axis=1)
        F = d2 / 2 / (np.trace(m.within) / (3 * 57)) * m.counts / (m.counts + 1)
        assert_allclose(found[1], stats.f.sf(F, 2, 3 * 57), rtol=1e-7)


def test_typicality_without_an_exact_law():
    X, y = small(n=60)
    with pytest.raises(EstimationError, match="diagonal"):
        da.typicality(model(X, y, "diag"), X)
    with pytest.raises(EstimationError, match="regularised"):
        da.typicality(model(X, y, shrinkage=0.3), X)


def test_typicality_of_one_feature_is_a_t_test():
    X, y = small(n=30, p=1)
    m = summary(X, y)
    t = (1.3 - m.means[:, 0]) / np.sqrt(m.within[0, 0] / 27 * (1 + 1 / m.counts))
    for kind in ("full", "diag", "spherical"):
        found = da.typicality(model(X, y, kind), np.array([[1.3]]))
        assert_allclose(found[0], 2 * stats.t.sf(np.abs(t), 27), rtol=1e-7)


def test_typicality_with_too_few_rows_is_nan():
    """A class of p rows has no distribution of its own: n_k - p degrees of freedom."""
    X, y = np.random.default_rng(0).normal(size=(15, 3)), np.repeat([0, 1], [11, 4])
    found = da.typicality(model(X, y, pooled=False), X, y)
    assert np.isnan(found[y == 1, 1]).all() and np.isfinite(found[y == 0]).all()
    assert np.isfinite(da.typicality(model(X, y, pooled=False), X)).all()


# ---------------------------------------------------------------------------------------------- invariance


@pytest.mark.parametrize("pooled", [True, False])
@pytest.mark.parametrize("A", ["units", "rotation"])
def test_invariance(A, pooled):
    X, y = data("crabs")
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]
    M = np.diag([1e-8, 1e8, 1.0, -1e3, 2.0]) if A == "units" else rotation
    Z = X @ M + 10 * np.abs(M).sum(axis=0)
    rates = [da.error_rates(model(F, y, pooled=pooled), Blocks(Dense(F), y, None)) for F in (X, Z)]
    assert_allclose(rates[0].leave_one_out.confusion, rates[1].leave_one_out.confusion)
    assert_allclose(rates[0].leave_one_out.score, rates[1].leave_one_out.score, rtol=1e-8)
    distances = [da.mahalanobis(summary(F, y)) for F in (X, Z)]
    assert_allclose(distances[0].squared, distances[1].squared, rtol=1e-8)
    typical = [da.typicality(model(F, y, pooled=pooled), F, y) for F in (X, Z)]
    assert_allclose(typical[0], typical[1], rtol=1e-6)


# ---------------------------------------------------------------------------------------------- against a logit


@pytest.fixture(scope="module")
def pima():
    """The logit of Pima by Newton's method, and the implied logit of LDA with its influence and covariance."""
    X, y = data("pima_tr")
    m, design, b = summary(X, y), np.column_stack([np.ones(len(y)), X]), np.zeros(X.shape[1] + 1)
    for _ in range(30):
        mu = 1 / (1 + np.exp(-design @ b))
        information = (design * (mu * (1 - mu))[:, None]).T @ design
        b += np.linalg.solve(information, design.T @ (y - mu))
    llf = np.log(np.where(y == 1, mu, 1 - mu)).sum()
    return design, y, m, llf, information, design * (y - mu)[:, None], *implied(X, y, m)


def implied(X, y, m):
    """Covariance and influence of (log prior odds - h'b, b), b = Omega (m_1 - m_0), from their definitions."""
    N, (n0, n1), p = m.n, m.counts, m.p
    omega, delta, h = np.linalg.inv(m.within / N), m.means[1] - m.means[0], m.means.mean(axis=0)
    J = lambda v: np.hstack([-v[:, None], np.eye(p)])
    beta, e = omega @ delta, np.eye(p + 1)[0]
    V = np.outer(e, e) * (1 / n0 + 1 / n1) + sum(J(m.means[k]).T @ omega @ J(m.means[k]) / m.counts[k] for k in (0, 1))
    V += (delta @ beta * J(h).T @ omega @ J(h) + np.outer(J(h).T @ beta, J(h).T @ beta)) / N
    psi = []
    for x, k in zip(X, y):
        d, sign = x - m.means[k], 2 * k - 1
        z = omega @ d
        psi.append(sign * N / m.counts[k] * (e + J(m.means[k]).T @ z) - J(h).T @ (z * (d @ beta) - beta))
    return V, np.array(psi)


def test_compare_conditional(pima):
    design, y, m, llf, information, scores, V, psi = pima
    assert_allclose(llf, -89.195333233, rtol=RTOL)
    difference = sum(
        da.difference_sums(information, scores[rows], psi[rows], None, m.n) for rows in (slice(0, 77), slice(77, None))
    )
    found = da.compare_conditional(2 * (llf + 89.7883696569), information, difference, m.n)
    assert_allclose(found.statistic, 1.18607284774, rtol=1e-8)
    assert_allclose([found.scale, found.df], [0.105883560866, 4.38658371516], rtol=RTOL)
    assert_allclose(found.pvalue, 0.0320745499831, rtol=1e-7)
    cov = difference / m.n**2
    assert_allclose(found.weights, np.sort(np.linalg.eigvals(information @ cov).real)[::-1], atol=1e-9)


def test_compare_conditional_is_free_of_coordinates(pima):
    """Other coordinates of the coefficients: information A'IA, scores sA, influence psi A^-T."""
    design, y, m, llf, information, scores, V, psi = pima
    A = np.random.default_rng(0).normal(size=(8, 8))
    first = da.difference_sums(information, scores, psi, None, m.n)
    other = da.difference_sums(A.T @ information @ A, scores @ A, np.linalg.solve(A, psi.T).T, None, m.n)
    a = da.compare_conditional(1.2, information, first, m.n)
    b = da.compare_conditional(1.2, A.T @ information @ A, other, m.n)
    assert_allclose(b.weights, a.weights, rtol=1e-6, atol=1e-9)
    assert_allclose([b.scale, b.df, b.pvalue], [a.scale, a.df, a.pvalue], rtol=1e-7)


def test_frequency_weights_of_the_comparison(pima):
    design, y, m, llf, information, scores, V, psi = pima
    f = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    rows = np.repeat(np.arange(len(y)), f.astype(int))
    a = da.difference_sums(information, scores, psi, f, m.n)
    assert_allclose(a, da.difference_sums(information, scores[rows], psi[rows], None, m.n), rtol=1e-9)


def test_conditional_penalty(pima):
    design, y, m, llf, information, scores, V, psi = pima
    assert_allclose(da.conditional_penalty(information, V), 8.4657296465, rtol=RTOL)
