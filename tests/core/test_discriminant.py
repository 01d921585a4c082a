"""The logit of Gaussian classes: coefficients, covariances and influence.

Reference values are closed forms at high precision whose means and covariances were checked against MASS. Derivatives
are by complex steps of estimators written here, exact to rounding.
"""

import dataclasses
import functools

import mpmath as mp
import numpy as np
import pytest
import references
from numpy.testing import assert_allclose

from glmclf.core.design.dense import Dense
from glmclf.core.discriminant.influence import influence
from glmclf.core.discriminant.logit import (
    DiscriminantCovariance,
    coefficients,
    exact_bias_reduction,
    log_odds_covariance,
    size,
    to_raw,
)
from glmclf.core.gaussian.dispersion import Dispersion
from glmclf.core.gaussian.fit import Gaussian, fit_gaussian
from glmclf.core.gaussian.moments import class_moments
from glmclf.core.rows.blocks import Blocks

RTOL = 1e-9  # the reference values have twelve digits
STEP = 1e-30  # of a complex step, whose error is its square
STRUCTURES = [(kind, pooled) for kind in ("full", "diag", "spherical") for pooled in (True, False)]
IDS = [f"{kind}-{'pooled' if pooled else 'by class'}" for kind, pooled in STRUCTURES]
FEATURES = {
    "iris": (["sepal_length", "sepal_width", "petal_length", "petal_width"], "species"),
    "crabs": (["FL", "RW", "CL", "CW", "BD"], "group"),
    "pima_tr": (["npreg", "glu", "bp", "skin", "bmi", "ped", "age"], "type"),
}
every_structure = pytest.mark.parametrize(("kind", "pooled"), STRUCTURES, ids=IDS)


@functools.cache
def table(name):
    """Features and class codes of a data set of tests/reference."""
    frame = references._data(f"data/{name}.csv")
    features, response = FEATURES[name]
    labels = frame[response].to_numpy(dtype=str)
    return frame[features].to_numpy(dtype=float), np.unique(labels, return_inverse=True)[1]


def log_odds(g, X):
    """Log-odds of each class against class 0 in the rows of X, (n, K - 1)."""
    if g.pooled:
        b = coefficients(g.shifted())
        return (X - g.centre) @ b[:, 1:].T + b[:, 0]
    scores = g.log_joint(X)
    return scores[:, 1:] - scores[:, :1]


def raw_map(g):
    """M, (m, m), that takes an equation's coefficients in x - g.centre to those in x: ``raw = M @ centred``."""
    return to_raw(g, np.eye(size(g))).T


def moments_of(X, y, w=None):
    return class_moments(Blocks(Dense(X), y, w), int(y.max()) + 1)


def fit(name, kind="full", pooled=True, **options):
    return fit_gaussian(moments_of(*table(name)), kind, pooled, **options)


def bse(g):
    return np.sqrt(DiscriminantCovariance(g).variances())


def raw_influence(g, X, y, **options):
    """Influence on the coefficients at the origin of x, (n, K-1, m)."""
    psi = influence(g, X, y, **options)
    return to_raw(g, psi.reshape(-1, size(g))).reshape(len(X), g.K - 1, size(g))


def hc0(g, X, y, groups=None, **options):
    psi = raw_influence(g, X, y, **options).reshape(len(X), -1)
    if groups is not None:
        psi = np.stack([psi[groups == c].sum(axis=0) for c in np.unique(groups)])
    return np.sqrt(np.einsum("ij,ij->j", psi, psi)).reshape(g.K - 1, size(g)) / len(X)


def simulated(seed=0, K=3, p=3, n=60, offset=0.0):
    """Rows of classes of different size and covariance."""
    rng = np.random.default_rng(seed)
    y = np.sort(rng.choice(K, n, p=np.arange(2, K + 2) / np.arange(2, K + 2).sum()))
    mixing = 0.5 * rng.normal(size=(K, p, p)) + 2 * np.eye(p)
    X = rng.normal(size=(K, p))[y] + np.einsum("ip,ipq->iq", rng.normal(size=(n, p)), mixing[y]) + offset
    return X, y


# ---- the same estimators and maps, written for complex steps


def monomials_of(x, kind, pooled):
    """The columns whose coefficients the discriminant has, at one point."""
    if pooled:
        return np.concatenate([[1.0], x])
    i, j = np.triu_indices(len(x))
    squares = {"full": x[i] * x[j], "diag": x**2, "spherical": np.array([x @ x])}[kind]
    return np.concatenate([[1.0], x, squares])


def plain_coefficients(odds, means, covariances, kind):
    """Coefficients from log prior odds (K-1,), means (K, p) and covariance matrices: one, or one for each class."""
    if len(covariances) == 1:
        W = np.linalg.inv(covariances[0])
        b = (means[1:] - means[0]) @ W
        return np.column_stack([odds - ((means[1:] + means[0]) * b).sum(axis=1) / 2, b])
    i, j = np.triu_indices(means.shape[1])
    rows = []
    for m, S, odd in zip(means, covariances, [0.0, *odds], strict=True):
        W = np.linalg.inv(S)
        squares = {"full": -np.where(i == j, 0.5, 1) * W[i, j], "diag": -np.diag(W) / 2, "spherical": -W[:1, 0] / 2}
        rows.append(np.concatenate([[odd - np.log(np.linalg.det(S)) / 2 - m @ W @ m / 2], W @ m, squares[kind]]))
    return np.stack(rows[1:]) - rows[0]


def structured(S, kind):
    if kind == "full":
        return S
    return np.diag(np.diag(S)) if kind == "diag" else np.eye(len(S)) * np.trace(S) / len(S)


def plain_estimate(X, y, w, kind, pooled, regularise=lambda S: S):
    """Coefficients of the maximum likelihood estimate with weights w, which may be complex."""
    K = y.max() + 1
    n = np.array([w[y == k].sum() for k in range(K)])
    means = np.array([w[y == k] @ X[y == k] / n[k] for k in range(K)])
    scatter = [(w[y == k] * (X[y == k] - means[k]).T) @ (X[y == k] - means[k]) for k in range(K)]
    S = [sum(scatter) / n.sum()] if pooled else [s / m for s, m in zip(scatter, n, strict=True)]
    S = [regularise(structured(s, kind)) for s in S]
    return plain_coefficients(np.log(n[1:] / n[0]), means, S, kind)


def elements(kind, p):
    """Positions of the free elements of a covariance, and the matrices they multiply."""
    if kind == "spherical":
        return [np.eye(p)]
    pairs = zip(*np.triu_indices(p), strict=True) if kind == "full" else ((a, a) for a in range(p))
    return [np.maximum(*(np.outer(np.eye(p)[a], np.eye(p)[b]), np.outer(np.eye(p)[b], np.eye(p)[a]))) for a, b in pairs]


def element_covariance(S, n, kind):
    """Covariance of the free elements: (s_ac s_bd + s_ad s_bc)/n; 2 s_aa^2/n; 2 s^4/(pn)."""
    p = len(S)
    if kind == "spherical":
        return np.array([[2 * S[0, 0] ** 2 / (p * n)]])
    if kind == "diag":
        return np.diag(2 * np.diag(S) ** 2 / n)
    pairs = list(zip(*np.triu_indices(p), strict=True))
    return np.array([[S[a, c] * S[b, d] + S[a, d] * S[b, c] for c, d in pairs] for a, b in pairs]) / n


def delta_method(g):
    """Covariance of the coefficients from the flat covariance of priors, means and covariance elements."""
    kind, q = g.kind, g.K - 1
    odds = g.log_priors[1:] - g.log_priors[0]
    S = [d.matrix for d in g.dispersions]
    steps = [(np.eye(q)[k] * 1j * STEP, 0, [0] * len(S)) for k in range(q)]
    V = [1 / g.prior_counts[0] + np.diag(1 / g.prior_counts[1:]) * 1.0 if g.priors_free else np.zeros((q, q))]
    for k in range(g.K):
        unit = np.eye(g.K)[:, k][:, None]
        steps += [(0, 1j * STEP * unit * np.eye(g.p)[a], [0] * len(S)) for a in range(g.p)]
        V.append(g.dispersion(k).matrix / g.counts[k])
    for c, d in enumerate(g.dispersions):
        change = [[1j * STEP * E if c == other else 0 for other in range(len(S))] for E in elements(kind, g.p)]
        steps += [(0, 0, change_k) for change_k in change]
        V.append(element_covariance(d.matrix, d.n, kind))
    columns = [
        plain_coefficients(odds + a, g.means + b, [s + e for s, e in zip(S, c, strict=True)], kind).imag.ravel() / STEP
        for a, b, c in steps
    ]
    jacobian, start, total = np.array(columns).T, 0, 0
    for block in V:
        J = jacobian[:, start : start + len(block)]
        total, start = total + J @ block @ J.T, start + len(block)
    return total


# ---- certified values


def test_iris_linear():
    g, (X, y) = fit("iris"), table("iris")
    expected = [
        [13.7304720133, -8.00607923151, -16.852408835, 22.0837652624, 24.3190203898],
        [-18.4284183804, -11.3248140093, -20.3087662077, 29.7930448944, 39.2627793826],
    ]
    se = [
        [9.57093754701, 2.76298057416, 3.36947809289, 3.61668154923, 5.3274924463],
        [13.7422915949, 3.84708225968, 4.58854654896, 4.99367441868, 7.58731126782],
    ]
    robust = [
        [10.5379464367, 2.7545123198, 4.17373004133, 3.83457875438, 4.82467506961],
        [14.8446747253, 4.03677919715, 5.59506209084, 5.36762188096, 7.22466461463],
    ]
    assert_allclose(coefficients(g), expected, rtol=RTOL)
    assert_allclose(bse(g), se, rtol=RTOL)
    assert_allclose(hc0(g, X, y), robust, rtol=RTOL)
    assert_allclose(DiscriminantCovariance(g).block([1, 6])[0, 1], 10.3116726965, rtol=RTOL)


def test_wald_of_a_feature():
    expected = {
        "iris": [8.69539265479, 28.3967938538, 37.2853274813, 30.668178954],
        "crabs": [53.2691125404, 79.2272915689, 22.0524377535, 59.8392454424, 41.927440701],
        "pima_tr": [3.03111258846, 25.0043579901, 0.0236214388668, 0.00350149514339, 3.29025237047, 8.76013620621]
        + [4.15552028499],
    }
    for name, values in expected.items():
        g = fit(name)
        b, V = coefficients(g), DiscriminantCovariance(g)
        at = [np.arange(g.K - 1) * size(g) + j for j in range(1, g.p + 1)]
        wald = [b.ravel()[rows] @ np.linalg.solve(V.block(rows), b.ravel()[rows]) for rows in at]
        assert_allclose(wald, values, rtol=RTOL, err_msg=name)


def test_iris_other_linear():
    g = fit("iris", divisor="unbiased")
    assert_allclose(coefficients(g)[0, :2], [13.455862573, -7.84595764688], rtol=RTOL)
    assert_allclose(bse(g)[0, :2], [9.47478699593, 2.73521122038], rtol=RTOL)
    g = fit("iris", priors=np.array([0.2, 0.3, 0.5]))
    assert_allclose(coefficients(g)[:, 0], [14.1359371214, -17.5121276485], rtol=RTOL)
    assert_allclose(bse(g)[:, 0], [9.5688476594, 13.7408361565], rtol=RTOL)
    g = fit("iris", "diag")
    assert_allclose(coefficients(g)[0, :2], [-66.3498069232, 3.58094475334], rtol=RTOL)
    assert_allclose(bse(g)[0, :2], [7.23454692688, 0.570083035059], rtol=RTOL)
    g = fit("iris", "spherical")
    assert_allclose(coefficients(g)[0, :2], [-79.976657775, 6.24878215939], rtol=RTOL)
    assert_allclose(bse(g)[0, :2], [5.91981821286, 0.631603054915], rtol=RTOL)


def test_quadratic():
    (X, y), at = table("iris"), [0, 1, 5, 6]
    g = fit("iris", pooled=False)
    assert_allclose(coefficients(g)[0, at], [46.2237076147, -27.0816497048, 4.81667092896, -8.90674443411], rtol=RTOL)
    assert_allclose(bse(g)[0, at], [28.4954126867, 13.0951818722, 2.16258266137, 3.67817870672], rtol=RTOL)
    assert_allclose(hc0(g, X, y)[0, at], [28.0914224112, 13.0959153559, 1.7460581776, 2.94399449714], rtol=RTOL)
    g, at = fit("iris", "diag", pooled=False), [0, 1, 5]
    assert_allclose(coefficients(g)[0, at], [9.64995946211, -18.3780794605, 2.19135822916], rtol=RTOL)
    assert_allclose(bse(g)[0, at], [29.7094787424, 9.40869648793, 0.906173268649], rtol=RTOL)
    g = fit("iris", "spherical", pooled=False)
    assert_allclose(coefficients(g)[0, at], [50.895002926, -27.3048433802, 3.33400107634], rtol=RTOL)
    assert_allclose(bse(g)[0, at], [32.923566676, 7.68755381669, 0.736418203746], rtol=RTOL)


def test_quadratic_of_crabs_and_pima():
    g, at = fit("crabs", pooled=False), [0, 1, 6, 7]
    assert_allclose(coefficients(g)[0, at], [-20.1650806123, 5.09558323704, 3.7370935015, 1.68504519291], rtol=RTOL)
    assert_allclose(bse(g)[0, at], [9.40262716418, 6.97202088795, 2.35426747142, 2.23811243806], rtol=RTOL)
    g, (X, y), at = fit("pima_tr", pooled=False), table("pima_tr"), [0, 1, 8, 9]
    b = [-29.9577313178, -0.0167815165101, 0.066589250262, -0.00169529569221]
    se = [11.1413496748, 0.519338910748, 0.015581344902, 0.00207439204443]
    robust = [9.82509394014, 0.501654222908, 0.0219311299828, 0.001975261795]
    assert_allclose(coefficients(g)[0, at], b, rtol=RTOL)
    assert_allclose(bse(g)[0, at], se, rtol=RTOL)
    assert_allclose(hc0(g, X, y)[0, at], robust, rtol=RTOL)


def test_crabs_linear():
    g = fit("crabs")  # BF, BM, OF, OM
    b = [
        [6.52894297286, -1.12511250974, -5.56328556714, 2.146606328, 0.914819991669, -1.64014860915],
        [4.15891116442, 6.16133484916, -3.94444581086, 5.2839009724, -9.04059621087, 7.67786478977],
    ]
    se = [
        [2.14272720871, 0.811578261843, 0.682625054017, 0.886507428917, 0.727403633503, 0.856716172853],
        [3.11194260337, 1.31826710956, 0.903521875229, 1.39638844041, 1.2862177074, 1.41582718323],
    ]
    assert_allclose(coefficients(g)[[0, 2]], b, rtol=RTOL)
    assert_allclose(bse(g)[[0, 2]], se, rtol=RTOL)


def test_pima_linear():
    g, (X, y) = fit("pima_tr"), table("pima_tr")
    b = [-10.6966959252, 0.121994088586, 0.0368771556641, -0.00278145796628]
    b += [-0.00127632785557, 0.0759424007762, 1.92285235289, 0.0482416482004]
    se = [1.82675390329, 0.0700709091952, 0.00737478837573, 0.0180975309056]
    se += [0.0215692718211, 0.0418667951123, 0.649666553295, 0.0236651593941]
    robust = [1.85650774054, 0.0788299873752, 0.00778937308798, 0.0191204416194]
    robust += [0.0200137676385, 0.0406043118787, 0.626944970306, 0.025964925335]
    clustered = [1.69437784188, 0.10230576064, 0.00448326808478]
    assert_allclose(coefficients(g)[0], b, rtol=RTOL)
    assert_allclose(bse(g)[0], se, rtol=RTOL)
    assert_allclose(hc0(g, X, y)[0], robust, rtol=RTOL)
    assert_allclose(hc0(g, X, y, groups=np.arange(len(X)) % 17)[0, :3], clustered, rtol=RTOL)
    g = fit("pima_tr", divisor="unbiased")
    assert_allclose(coefficients(g)[0, :2], [-10.5963619081, 0.1207741477], rtol=RTOL)
    assert_allclose(bse(g)[0, :2], [1.81765847764, 0.0697196743559], rtol=RTOL)


@pytest.mark.parametrize(
    ("intensity", "b", "sd"),
    [
        (
            0.15502352744,
            [-11.1809779864, 0.123991333909, 0.0368945162555],
            [1.78746376634, 0.0642174093626, 0.00708835790871],
        ),
        (
            0.11534760215,
            [-11.0401644158, 0.123359136755, 0.0368753645921],
            [1.79563598714, 0.0655521383058, 0.0071601727362],
        ),
        (
            0.3,
            [-11.7898759941, 0.127307363759, 0.0370643960392],
            [1.76466239245, 0.0600195376691, 0.00683022219175],
        ),
    ],
)
def test_pima_shrunk(intensity, b, sd):
    g = fit("pima_tr", shrinkage=intensity)
    assert_allclose(coefficients(g)[0, :3], b, rtol=RTOL)
    assert_allclose(bse(g)[0, :3], sd, rtol=RTOL)
    if intensity == 0.3:
        (X, y), robust = table("pima_tr"), [1.84758737893, 0.0621692416352, 0.00752783819505]
        assert_allclose(hc0(g, X, y, moments=moments_of(X, y))[0, :3], robust, rtol=RTOL)


def test_log_odds():
    x = np.array([[5.9, 3.1, 4.9, 1.6]])
    g = fit("iris")
    assert_allclose(log_odds(g, x)[0], [61.3730195681, 60.6043707154], rtol=RTOL)
    se = np.sqrt(np.diagonal(log_odds_covariance(g, x), axis1=1, axis2=2))[0]
    assert_allclose(se, [7.47857969268, 7.50500031148], rtol=RTOL)
    g = fit("iris", pooled=False)
    se = np.sqrt(np.diagonal(log_odds_covariance(g, x), axis1=1, axis2=2))[0]
    assert_allclose(se, [47.9627058926, 47.9641618874], rtol=RTOL)
    g, x = fit("crabs"), np.array([[16.0, 13.0, 32.0, 36.0, 14.0]])
    assert_allclose(log_odds(g, x)[0], [-5.13272788778, 4.61413453369, 2.57594779204], rtol=RTOL)
    se = np.sqrt(np.diagonal(log_odds_covariance(g, x), axis1=1, axis2=2))[0]
    assert_allclose(se, [1.36147513462, 1.00092754313, 1.06841795018], rtol=RTOL)
    g, x = fit("pima_tr"), np.array([[4.0, 130.0, 72.0, 30.0, 33.0, 0.5, 35.0]])
    assert_allclose(log_odds(g, x)[0], [-0.497261054707], rtol=RTOL)
    assert_allclose(log_odds_covariance(g, x)[0, 0, 0] ** 0.5, 0.188593818613, rtol=RTOL)


def test_bias_reduction_of_pima():
    b, V = exact_bias_reduction(moments_of(*table("pima_tr")), fit("pima_tr"))
    assert_allclose(b[0, 1:3], [0.115894384156, 0.0350332978809], rtol=RTOL)
    assert_allclose(np.sqrt(np.diag(V)[1:3]), [0.0692952695383, 0.0072878069126], rtol=RTOL)


# ---- derivations


@every_structure
@pytest.mark.parametrize(
    "options", [{}, {"divisor": "unbiased"}, {"prior_smoothing": 3.0}, {"priors": np.array([0.2, 0.3, 0.5])}], ids=str
)
def test_covariance_is_the_delta_methods(kind, pooled, options):
    g = fit_gaussian(moments_of(*simulated()), kind, pooled, **options)
    V = DiscriminantCovariance(g)
    exact = delta_method(g)
    scale = np.sqrt(np.outer(np.diag(exact), np.diag(exact)))
    assert_allclose(V.full() / scale, exact / scale, rtol=0, atol=1e-12)
    assert_allclose(V.variances().ravel(), np.diag(exact), rtol=1e-11)
    odds = g.log_priors[1:] - g.log_priors[0]
    assert_allclose(
        coefficients(g),
        plain_coefficients(odds, g.means, [d.matrix for d in g.dispersions], kind),
        rtol=1e-10,
        atol=1e-12,
    )


@pytest.mark.parametrize(("option", "n"), [({"shrinkage": 0.25}, 80.0), ({"ridge": 0.5}, 60.0)])
def test_regularised_covariance_is_the_delta_methods(option, n):
    """Posterior standard deviations: of prior rows N l/(1 - l) beside the N of the data."""
    g = fit_gaussian(moments_of(*simulated()), "full", True, **option)
    assert_allclose(g.dispersions[0].n, n)
    assert_allclose(DiscriminantCovariance(g).full(), delta_method(g), rtol=1e-9, atol=1e-12)


@every_structure
@pytest.mark.parametrize("options", [{}, {"priors": np.array([0.2, 0.3, 0.5])}], ids=str)
def test_products_without_the_matrix(kind, pooled, options, monkeypatch):
    """Of many coefficients J V is computed from the classes' matrices, or from blocks of columns."""
    g = fit_gaussian(moments_of(*simulated()), kind, pooled, **options)
    V, exact = DiscriminantCovariance(g), delta_method(g)
    J = np.random.default_rng(3).normal(size=(4, len(V))) / np.sqrt(np.diag(exact))
    monkeypatch.setattr("glmclf.core.discriminant.logit.MAX_FORMED_COEFFICIENTS", 0)
    monkeypatch.setattr("glmclf.core.discriminant.logit.MAX_BLOCK_NUMBERS", 3 * len(V))
    assert_allclose((J @ V) / np.sqrt(np.diag(exact)), J @ exact / np.sqrt(np.diag(exact)), rtol=0, atol=1e-11)
    assert_allclose(V.diagonal(), np.diag(exact), rtol=1e-11)


@every_structure
def test_blocks_and_origins(kind, pooled):
    g = fit_gaussian(moments_of(*simulated()), kind, pooled)
    V, rng = DiscriminantCovariance(g), np.random.default_rng(1)
    full, (q, m) = V.full(), V.shape
    rows = rng.choice(q * m, 5, replace=False)
    assert_allclose(V.block(rows), full[np.ix_(rows, rows)], rtol=1e-12)
    assert_allclose(V.block(rows, [0, m]), full[np.ix_(rows, [0, m])], rtol=1e-12)
    assert_allclose(V.block(slice(m, None)), full[m:, m:], rtol=1e-12)
    assert_allclose(V.variances().ravel(), np.diag(full), rtol=1e-12)
    centred, M = DiscriminantCovariance(g.shifted()).full(), np.kron(np.eye(q), raw_map(g))
    assert_allclose(M @ centred @ M.T, full, rtol=1e-9, atol=1e-12 * np.abs(full).max())
    assert_allclose(coefficients(g.shifted()) @ raw_map(g).T, coefficients(g), rtol=1e-11)


@every_structure
def test_log_odds_follow_from_coefficients(kind, pooled):
    X, y = simulated()
    g = fit_gaussian(moments_of(X, y), kind, pooled)
    s, points = g.shifted(), X[::7] - g.centre
    b, V = coefficients(s), DiscriminantCovariance(s).full().reshape(g.K - 1, size(g), g.K - 1, size(g))
    A = np.array([monomials_of(x, kind, pooled) for x in points])
    assert_allclose(log_odds(g, X[::7]), A @ b.T, rtol=1e-10, atol=1e-12)
    exact = np.einsum("ri,kilj,rj->rkl", A, V, A)
    assert_allclose(log_odds_covariance(g, X[::7]), exact, rtol=1e-9)
    prior = 1 / g.counts[0] + np.diag(1 / g.counts[1:])
    assert_allclose(log_odds_covariance(g, X[::7], priors_free=False), exact - prior, rtol=1e-9)
    scores = g.log_joint(X)
    assert_allclose(log_odds(g, X), scores[:, 1:] - scores[:, :1], rtol=1e-9, atol=1e-11)


@every_structure
def test_log_odds_in_chunks(kind, pooled, monkeypatch):
    X, y = simulated()
    g = fit_gaussian(moments_of(X, y), kind, pooled)
    whole = log_odds_covariance(g, X)
    monkeypatch.setattr("glmclf.core.discriminant.logit.MAX_BLOCK_NUMBERS", 100)
    assert_allclose(log_odds_covariance(g, X), whole, rtol=1e-13)
    assert log_odds_covariance(g, X[:0]).shape == (0, 2, 2)


@every_structure
def test_log_odds_of_some_features(kind, pooled):
    """A missing feature is integrated out: the marginal law is that of a fit without it.

    But a common variance is known from all p features: for class k log f has variance
    D^2/n_k + (D^2 - o)^2/(2 n p) from the o features observed.
    """
    (X, y), o = simulated(), np.array([True, False, True])
    g = fit_gaussian(moments_of(X, y), kind, pooled)
    part = g.marginal(o)
    if kind != "spherical":
        fitted = fit_gaussian(moments_of(X[:, o], y), kind, pooled)
        assert_allclose(log_odds(part, X[:, o]), log_odds(fitted, X[:, o]), rtol=1e-9, atol=1e-11)
        assert_allclose(log_odds_covariance(part, X[:, o]), log_odds_covariance(fitted, X[:, o]), rtol=1e-9)
        return
    D2, variance = part.distances(X[:, o]), log_odds_covariance(part, X[:, o], priors_free=False)[:, 0, 0]
    n = np.array([g.dispersion(k).n for k in range(2)])
    by_variance = (D2[:, :2] - 2) ** 2 / (2 * n * 3)
    if pooled:  # classes share it
        by_variance = (D2[:, :1] - D2[:, 1:2]) ** 2 / (2 * n[0] * 3)
    assert_allclose(variance, (D2[:, :2] / g.counts[:2]).sum(axis=1) + by_variance.sum(axis=1), rtol=1e-9)


@every_structure
def test_log_odds_of_no_feature(kind, pooled):
    X, y = simulated()
    none = fit_gaussian(moments_of(X, y), kind, pooled).marginal(np.zeros(3, bool))
    n = np.bincount(y)
    assert_allclose(log_odds(none, X[:2, :0]), [np.log(n[1:] / n[0])] * 2, rtol=1e-12)
    assert_allclose(log_odds_covariance(none, X[:2, :0]), [1 / n[0] + np.diag(1 / n[1:])] * 2, rtol=1e-12)


@every_structure
def test_one_feature_and_two_classes(kind, pooled):
    """With one feature the structures are one."""
    X, y = simulated(K=2, p=1)
    g, full = (fit_gaussian(moments_of(X, y), how, pooled) for how in (kind, "full"))
    assert_allclose(coefficients(g), coefficients(full), rtol=1e-11)
    assert_allclose(DiscriminantCovariance(g).full(), DiscriminantCovariance(full).full(), rtol=1e-10, atol=1e-13)
    assert_allclose(influence(g, X, y), influence(full, X, y), rtol=1e-9, atol=1e-10)
    assert_allclose(log_odds_covariance(g, X), log_odds_covariance(full, X), rtol=1e-10)


@every_structure
def test_influence_is_the_derivative_in_a_weight(kind, pooled):
    X, y = simulated()
    X = X - moments_of(X, y).mean
    w = np.random.default_rng(3).integers(1, 4, len(X)).astype(float)
    g = fit_gaussian(moments_of(X, y, w), kind, pooled)
    psi = influence(dataclasses.replace(g, centre=np.zeros(g.p)), X, y)
    assert_allclose(psi, weight_derivatives(X, y, w, kind, pooled), rtol=1e-9, atol=1e-11 * np.abs(psi).max())
    assert_allclose(w @ influence(g, X, y) / w.sum(), 0, atol=1e-12 * np.abs(psi).max())


def weight_derivatives(X, y, w, kind, pooled, regularise=lambda S: S):
    step = 1j * STEP * np.eye(len(X))
    rows = [plain_estimate(X, y, w + e, kind, pooled, regularise).imag.ravel() / STEP for e in step]
    return w.sum() * np.array(rows)


FIXED = np.diag([1.0, 2.0, 3.0]) + 0.5


@pytest.mark.parametrize("pooled", [True, False])
@pytest.mark.parametrize("target", ["diag", "identity", FIXED, "ridge"], ids=["diag", "identity", "fixed", "ridge"])
def test_influence_under_shrinkage(target, pooled):
    X, y = simulated()
    X, lam, w = X - moments_of(X, y).mean, 0.3, np.ones(len(X))
    to = {"diag": lambda S: structured(S, "diag"), "identity": lambda S: structured(S, "spherical")}
    ridge = isinstance(target, str) and target == "ridge"
    onto = to.get(target) if isinstance(target, str) else lambda S: target
    regularise = (lambda S: S + 0.7 * np.eye(3)) if ridge else lambda S: (1 - lam) * S + lam * onto(S)
    moments = moments_of(X, y)
    options = {"ridge": 0.7} if ridge else {"shrinkage": lam, "target": target}
    g = dataclasses.replace(fit_gaussian(moments, "full", pooled, **options), centre=np.zeros(3))
    psi = influence(g, X, y, moments)
    exact = weight_derivatives(X, y, w, "full", pooled, regularise)
    assert_allclose(psi, exact, rtol=1e-9, atol=1e-10 * np.abs(exact).max())
    assert_allclose(psi.sum(axis=0) / len(X), 0, atol=1e-11 * np.abs(exact).max())


def test_influence_of_a_singular_covariance():
    """More features than rows: only the regularised covariance is inverted."""
    X, y = simulated(n=20, p=3)
    X = np.column_stack([X, X @ np.random.default_rng(2).normal(size=(3, 2))])
    X = X - moments_of(X, y).mean
    moments = moments_of(X, y)
    g = dataclasses.replace(fit_gaussian(moments, "full", True, shrinkage=0.3), centre=np.zeros(5))
    exact = weight_derivatives(X, y, np.ones(len(X)), "full", True, lambda S: 0.7 * S + 0.3 * structured(S, "diag"))
    assert_allclose(influence(g, X, y, moments), exact, rtol=1e-9, atol=1e-10 * np.abs(exact).max())
    with pytest.raises(ValueError, match="needs the moments of the fit"):
        influence(g, X, y)


@pytest.mark.parametrize("pooled", [True, False])
@pytest.mark.parametrize("target", ["diag", "identity"])
@pytest.mark.parametrize("kind", ["diag", "spherical"])
def test_influence_of_shrunk_variances(kind, target, pooled):
    X, y = simulated()
    X = X - moments_of(X, y).mean
    moments, to = moments_of(X, y), {"diag": "diag", "identity": "spherical"}[target]
    fitted = fit_gaussian(moments, kind, pooled, shrinkage=0.3, target=target, ridge=0.2)
    g = dataclasses.replace(fitted, centre=np.zeros(3))

    def regularise(S):
        return 0.7 * S + 0.3 * structured(S, to) + 0.2 * np.eye(3)

    exact = weight_derivatives(X, y, np.ones(len(X)), kind, pooled, regularise)
    assert_allclose(influence(g, X, y, moments), exact, rtol=1e-9, atol=1e-10 * np.abs(exact).max())


@every_structure
def test_influence_with_an_unbiased_divisor(kind, pooled):
    """Held divisors: the rows' influence adds up to zero, and slopes scale with the covariance."""
    X, y = simulated()
    moments = moments_of(X, y)
    g, unbiased = (fit_gaussian(moments, kind, pooled, divisor=d) for d in ("mle", "unbiased"))
    psi = influence(unbiased, X, y)
    assert_allclose(psi.mean(axis=0), 0, atol=1e-12 * np.abs(psi).max())
    if pooled:
        ratio = unbiased.dispersions[0].n / moments.n
        slopes = (influence(f, X, y).reshape(len(X), -1, size(g))[:, :, 1:] for f in (g, unbiased))
        assert_allclose(ratio * next(slopes), next(slopes), rtol=1e-9, atol=1e-11)


def test_influence_with_fixed_priors():
    X, y = simulated()
    fixed = fit_gaussian(moments_of(X, y), "full", True, priors=np.array([0.2, 0.3, 0.5]))
    free = fit_gaussian(moments_of(X, y), "full", True)
    difference = (influence(free, X, y) - influence(fixed, X, y)).reshape(len(X), 2, -1)
    n = np.bincount(y)
    expected = len(X) * (np.eye(3)[y][:, 1:] / n[1:] - np.eye(3)[y][:, :1] / n[0])
    assert_allclose(difference[:, :, 0], expected, atol=1e-9)
    assert_allclose(difference[:, :, 1:], 0, atol=1e-9)


# ---- invariances


@pytest.mark.parametrize("pooled", [True, False])
@pytest.mark.parametrize("kind", ["full", "diag", "spherical"])
def test_units_and_rotations(kind, pooled):
    """x = A z + c with A any matrix, a change of units or a rotation: the same log-odds, with the same covariance."""
    X, y = simulated()
    rng = np.random.default_rng(5)
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    A = {"full": rng.normal(size=(3, 3)), "diag": np.diag([1e-6, 3.0, 1e5]), "spherical": 1e3 * rotation}[kind]
    c = A @ [1.0, -2.0, 3.0]
    other = X @ A.T + c
    g, h = (fit_gaussian(moments_of(Z, y), kind, pooled) for Z in (X, other))
    assert_allclose(log_odds(h, other), log_odds(g, X), rtol=1e-8, atol=1e-9)
    assert_allclose(log_odds_covariance(h, other), log_odds_covariance(g, X), rtol=1e-8)
    if not pooled:
        return
    M = np.block([[np.ones((1, 1)), c[None, :]], [np.zeros((3, 1)), A.T]])  # old = M @ new
    assert_allclose(coefficients(h) @ M.T, coefficients(g), rtol=1e-8, atol=1e-9)
    V = np.kron(np.eye(2), M) @ DiscriminantCovariance(h).full() @ np.kron(np.eye(2), M).T
    assert_allclose(V, DiscriminantCovariance(g).full(), rtol=1e-7, atol=1e-9)
    psi = raw_influence(h, other, y) @ M.T
    assert_allclose(psi, raw_influence(g, X, y), rtol=1e-7, atol=1e-8)


@every_structure
def test_another_reference(kind, pooled):
    """Exchanging classes 0 and 2 turns the contrasts, not their covariance."""
    X, y = simulated()
    g, h = (fit_gaussian(moments_of(X, codes), kind, pooled) for codes in (y, 2 - y))
    C = np.array([[1.0, -1.0], [0.0, -1.0]])
    assert_allclose(C @ coefficients(h), coefficients(g), rtol=1e-9, atol=1e-10)
    turn = np.kron(C, np.eye(size(g)))
    V = DiscriminantCovariance(g).full()
    assert_allclose(turn @ DiscriminantCovariance(h).full() @ turn.T, V, rtol=1e-8, atol=1e-10 * np.abs(V).max())


def test_efficiency_of_a_null_coefficient():
    """N var = (1 + p0 p1 D^2)/(p0 p1) for a feature without effect (Efron 1975)."""
    for p0, D in [(0.5, 1.0), (0.3, 2.5), (0.9, 4.0)]:
        N, counts = 1000.0, 1000.0 * np.array([p0, 1 - p0])
        spread = (Dispersion("full", np.eye(2), N),)
        means = np.array([[0.0, 0.0], [D, 0.0]])
        g = Gaussian(counts, np.log(counts / N), True, counts, means, spread, counts @ means / N)
        expected = (1 + p0 * (1 - p0) * D**2) / (p0 * (1 - p0))
        assert_allclose(N * DiscriminantCovariance(g).variances()[0, 2], expected, rtol=1e-12)


# ---- far from the origin, against mpmath


def exact_variances(g):
    """Variances of the coefficients at fifty digits, for the covariance R'R and the means as they are."""
    with mp.workdps(60):
        out = []
        for k in range(1, g.K):
            of_class = [_class_variances(g, c) for c in (0, k)] if not g.pooled else [_linear_variances(g, k)]
            prior = mp.mpf(1) / mp.mpf(float(g.counts[0])) + mp.mpf(1) / mp.mpf(float(g.counts[k]))
            total = [mp.fsum(v) for v in zip(*of_class, strict=True)]
            out.append([float(total[0] + prior), *map(float, total[1:])])
        return np.array(out)


def _exact(g, k):
    R = mp.matrix(g.dispersion(k).root.tolist())
    m = mp.matrix([mp.mpf(float(v)) for v in g.means[k]])
    return (R.T * R) ** -1, m, mp.mpf(float(g.dispersion(k).n))


def _class_variances(g, k):
    W, m, n = _exact(g, k)
    b, p = W * m, len(m)
    kappa = (m.T * b)[0]
    pairs = [(i, j) for i in range(p) for j in range(i, p)]
    squares = [(W[i, i] ** 2 / 2 if i == j else W[i, i] * W[j, j] + W[i, j] ** 2) / n for i, j in pairs]
    return [(p + kappa**2) / (2 * n), *((W[i, i] * (1 + kappa) + b[i] ** 2) / n for i in range(p)), *squares]


def _linear_variances(g, k):
    (W, m, n), (_, m0, _) = _exact(g, k), _exact(g, 0)
    n0, nk = (mp.mpf(float(g.counts[c])) for c in (0, k))
    step, h = m - m0, (m + m0) / 2
    b = W * step
    D = (step.T * b)[0]
    alpha = (m.T * W * m)[0] / nk + (m0.T * W * m0)[0] / n0 + (D * (h.T * W * h)[0] + (h.T * b)[0] ** 2) / n
    return [alpha, *(W[i, i] * (1 / nk + 1 / n0 + D / n) + b[i] ** 2 / n for i in range(len(m)))]


@pytest.mark.parametrize("pooled", [True, False])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
def test_variances_far_from_the_origin(offset, pooled):
    """They are sums of non-negative terms, and lose nothing; so do the log-odds, computed from distances."""
    X, y = simulated()
    g = fit_gaussian(moments_of(X + offset, y), "full", pooled)
    assert_allclose(DiscriminantCovariance(g).variances(), exact_variances(g), rtol=1e-12)
    here = fit_gaussian(moments_of(X, y), "full", pooled)
    rounding = max(1e-12, 1e-14 * offset)  # of the data themselves
    assert_allclose(log_odds_covariance(g, X + offset), log_odds_covariance(here, X), rtol=rounding)
    assert_allclose(log_odds(g, X + offset), log_odds(here, X), rtol=rounding, atol=rounding)
    assert_allclose(coefficients(g.shifted()), coefficients(here.shifted()), rtol=rounding, atol=rounding)


# ---- unbiased slopes


def test_bias_reduction_needs_degrees_of_freedom():
    X, y = simulated(n=9)
    moments = moments_of(X, y)
    with pytest.raises(ValueError, match="more than 6 degrees of freedom"):
        exact_bias_reduction(moments, fit_gaussian(moments, "full", True))


@pytest.mark.parametrize("divisor", ["mle", "unbiased"])
def test_bias_reduction_does_not_depend_on_the_divisor_or_origin(divisor):
    X, y = simulated()
    b, V = exact_bias_reduction(moments_of(X, y), fit_gaussian(moments_of(X, y), "full", True))
    move = np.array([10.0, -20.0, 5.0])
    moments = moments_of(X + move, y)
    b2, V2 = exact_bias_reduction(moments, fit_gaussian(moments, "full", True, divisor=divisor))
    M = np.eye(4)
    M[0, 1:] = move
    assert_allclose(b2 @ M.T, b, rtol=1e-9, atol=1e-10)
    turn = np.kron(np.eye(2), M)
    assert_allclose(turn @ V2 @ turn.T, V, rtol=1e-8, atol=1e-9)


def test_bias_reduction_in_simulation():
    """Mean and covariance over draws from known classes, to the accuracy of 40,000 draws; Wishart by Bartlett."""
    rng, draws, counts, p = np.random.default_rng(8), 40_000, np.array([12.0, 18.0, 25.0]), 2
    means, v = np.array([[0.0, 0.0], [1.0, 0.5], [-0.5, 1.5]]), 52.0
    A = np.zeros((draws, p, p))
    A[:, 0, 0], A[:, 1, 1] = np.sqrt(rng.chisquare(v, draws)), np.sqrt(rng.chisquare(v - 1, draws))
    A[:, 1, 0] = rng.normal(size=draws)
    W_inverse = np.linalg.inv(A @ A.transpose(0, 2, 1))
    m = means + rng.normal(size=(draws, 3, p)) / np.sqrt(counts)[:, None]
    b = (v - p - 1) * (m[:, 1:] - m[:, :1]) @ W_inverse
    alpha = -np.einsum("rkj,rkj->rk", (m[:, 1:] + m[:, :1]) / 2, b)
    draws_of = np.concatenate([alpha[:, :, None], b], axis=2).reshape(draws, -1)
    # the same formula with the truth plugged in: a Gaussian whose W^-1 times v - p - 1 is the identity
    spread = Dispersion("full", np.eye(p) * np.sqrt((v - p - 1) / 55), 55.0)
    truth = Gaussian(counts, np.log(counts / 55), False, counts, means, (spread,), counts @ means / 55)

    class Counts:
        n, K, p = 55.0, 3, 2

    expected, V = exact_bias_reduction(Counts, truth)
    assert_allclose(expected[:, 1:], means[1:] - means[0], rtol=1e-12)
    slopes = np.delete(np.arange(6), [0, 3])
    error = np.sqrt(np.diag(V)[slopes] / draws)
    assert (np.abs(draws_of.mean(axis=0)[slopes] - expected[:, 1:].ravel()) < 4.5 * error).all()
    scale = np.sqrt(np.outer(np.diag(V), np.diag(V)))
    seen = np.cov(draws_of, rowvar=False)
    assert_allclose((seen / scale)[np.ix_(slopes, slopes)], (V / scale)[np.ix_(slopes, slopes)], atol=0.03)
    assert_allclose(np.diag(seen / scale)[[0, 3]], 1, atol=0.15)  # the delta method's part is of first order
