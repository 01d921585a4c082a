"""Tests of equal means and covariances: closed forms at high precision (checked against MASS, stats and psych in R).

The statistics have 12 digits and are asserted to 1e-9, tail probabilities to 1e-7. Other routes: determinants in
mpmath, statsmodels' MANOVA, least squares.
"""

import mpmath
import numpy as np
import pytest
import references
from numpy.testing import assert_allclose
from scipy import stats

from glmclf.core.design.dense import Dense
from glmclf.core.gaussian.moments import class_moments
from glmclf.core.rows.blocks import Blocks
from glmclf.errors import EstimationError
from glmclf.inference.generative.canonical import canonical_functions
from glmclf.inference.generative.covariances import box_m, lr_lda_qda
from glmclf.inference.generative.means import (
    feature_tests,
    manova,
    qda_feature_tests,
    tolerances,
)
from glmclf.inference.generative.normality import mardia

RTOL = 1e-9
FEATURES = {
    "iris": ["sepal_length", "sepal_width", "petal_length", "petal_width"],
    "crabs": ["FL", "RW", "CL", "CW", "BD"],
    "pima_tr": ["npreg", "glu", "bp", "skin", "bmi", "ped", "age"],
}


def codes(labels):
    return np.unique(np.asarray(labels, dtype=str), return_inverse=True)[1]


def data(name):
    df = references._data(f"data/{name}.csv")
    labels = {"iris": lambda: df.species, "crabs": lambda: df.sp + df.sex, "pima_tr": lambda: df.type}[name]()
    return np.ascontiguousarray(df[FEATURES[name]].to_numpy(float)), codes(labels)


def summary(X, y, w=None, K=None):
    return class_moments(Blocks(Dense(X), y, w), K or int(y.max()) + 1)


def chi_square(test):
    """Statistic and degrees of freedom."""
    return test.statistic, test.df


@pytest.fixture(scope="module")
def moments():
    return {name: summary(*data(name)) for name in FEATURES}


def small(seed=0, n=40, p=3, K=3, shift=1.0):
    """Classes of unequal sizes with different means and covariances."""
    rng = np.random.default_rng(seed)
    y = np.sort(rng.choice(K, n, p=np.arange(1, K + 1) / np.arange(1, K + 1).sum()))
    X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.3 * rng.normal(size=(p, p))) + shift * rng.normal(size=(K, p))[y]
    return X * (1 + 0.3 * y[:, None]), y


# ---------------------------------------------------------------------------------------------- published numbers


@pytest.mark.parametrize(
    "name, expected",
    [
        ("iris", [146.663249213, 140.943049923, 20, 7.04526169571, 77566.751269]),
        ("crabs", [273.84777803, 261.428377666, 45, 5.80663964925, 95090.840052]),
        ("pima_tr", [77.6742833773, 74.3310563356, 28, 2.65352272832, 67084.6323996]),
    ],
)
def test_box_m(moments, name, expected):
    box = box_m(moments[name])
    assert_allclose([box.M, box.chi2, box.df, box.F, box.df2], expected, rtol=RTOL)
    assert_allclose(box.pvalue, stats.f.sf(box.F, box.df, box.df2), rtol=1e-7)
    assert_allclose(box.chi2_pvalue, stats.chi2.sf(box.chi2, box.df), rtol=1e-7)


@pytest.mark.parametrize("name, expected", [("iris", [149.656376747, 20]), ("crabs", [279.436508194, 45])])
def test_lr_lda_qda(moments, name, expected):
    assert_allclose(chi_square(lr_lda_qda(moments[name])), expected, rtol=RTOL)


def test_manova_iris(moments):
    found = manova(moments["iris"])
    assert_allclose(found.wilks[:4], [0.0234386306509, 199.14534354, 8, 288], rtol=RTOL)
    assert_allclose(found.pillai[:4], [1.19189882504, 53.4664887846, 8, 290], rtol=RTOL)
    assert_allclose(found.hotelling_lawley[:4], [32.4773202409, 580.532099306, 8, 286], rtol=RTOL)
    assert_allclose(found.roy[:4], [32.1919291983, 1166.95743344, 4, 145], rtol=RTOL)
    assert_allclose(chi_square(found.bartlett), [546.115296488, 8], rtol=RTOL)
    for test in found.tests.values():
        assert_allclose(test.pvalue, stats.f.sf(test.F, test.df1, test.df2), rtol=1e-7)


def test_manova_crabs(moments):
    expected = [0.0236947397829, 101.824367664, 15, 530.428854531]
    assert_allclose(manova(moments["crabs"]).wilks[:4], expected, rtol=RTOL)


LAMBDAS = {
    "iris": [0.938463488076, 0.766479891824, 0.669206087831, 0.743000830079],
    "crabs": [0.636960469178, 0.343996730734, 0.876073392211, 0.573067042687, 0.734758259834],
}
F_TO_REMOVE = {
    "iris": [4.72115209042, 21.935928089, 35.5901748494, 24.9043331922],
    "pima_tr": [
        3.00082651518, 32.0074380686, 0.0226819391125, 0.00336155304211, 3.26610538552, 9.2171671551, 4.16226316367,
    ],
}  # fmt: skip
LDA_LR = {
    "iris": [9.52669923994, 39.892022216, 60.2494819101, 44.5587175599],
    "crabs": [90.2095366281, 213.424625067, 26.4610820984, 111.350513233, 61.6427464107],
}
QDA_LR = {
    "iris": [29.3733561457, 66.114737586, 118.133238682, 108.517807022],
    "pima_tr": [
        28.6274604079, 38.6785042374, 11.4625934335, 17.4330051241, 27.7793727699, 25.5518202189, 22.4884317629,
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", LAMBDAS)
def test_partial_lambda(moments, name):
    assert_allclose([t.partial_lambda for t in feature_tests(moments[name])], LAMBDAS[name], rtol=RTOL)
    alone = [feature_tests(moments[name], [[j]])[0].partial_lambda for j in range(2)]
    assert_allclose(alone, LAMBDAS[name][:2], rtol=RTOL)


@pytest.mark.parametrize("name", F_TO_REMOVE)
def test_f_to_remove(moments, name):
    m = moments[name]
    tests = [t.f_to_remove for t in feature_tests(m)]
    assert_allclose([t.F for t in tests], F_TO_REMOVE[name], rtol=RTOL)
    assert {t.df1 for t in tests} == {m.K - 1}
    assert {t.df2 for t in tests} == {m.n - m.K - m.p + 1}
    assert feature_tests(m, [[1]])[0].f_to_remove == tests[1]


@pytest.mark.parametrize("name", LDA_LR)
def test_lr_per_feature_lda(moments, name):
    tests = [t.lr for t in feature_tests(moments[name])]
    assert_allclose([t.statistic for t in tests], LDA_LR[name], rtol=RTOL)
    assert {t.df for t in tests} == {moments[name].K - 1}


@pytest.mark.parametrize("name", QDA_LR)
def test_lr_per_feature_qda(moments, name):
    m = moments[name]
    tests = qda_feature_tests(m)
    assert_allclose([t.statistic for t in tests], QDA_LR[name], rtol=RTOL)
    assert {t.df for t in tests} == {(m.K - 1) * (m.p + 1)}


def test_tolerances(moments):
    expected = [0.347993004502, 0.608859382813, 0.36512615274, 0.649313847809]
    assert_allclose(tolerances(moments["iris"]), expected, rtol=RTOL)


def test_canonical_iris(moments):
    found = canonical_functions(moments["iris"])
    assert_allclose(found.eigenvalues, [32.1919291983, 0.285391042623], rtol=RTOL)
    assert_allclose(found.correlations, [0.984820894432, 0.47119701923], rtol=RTOL)
    tests = [v for t in found.tests for v in chi_square(t)]
    assert_allclose(tests, [546.115296488, 8, 36.5296643726, 3], rtol=RTOL)
    assert_allclose(found.raw[:, 0], [-0.829377642266, -1.5344730677, 2.20121165556, 2.81046030884], rtol=RTOL)
    expected = [-0.426954848571, -0.5212416758, 0.947257248678, 0.575160771921]
    assert_allclose(found.standardised[:, 0], expected, rtol=RTOL)
    expected = [0.222595941524, -0.119011514885, 0.706065381085, 0.633177926162]
    assert_allclose(found.structure[:, 0], expected, rtol=RTOL)
    assert_allclose(found.centroids[:, 0], [-7.6075999269, 1.82504949015, 5.78255043676], rtol=RTOL)


def test_canonical_crabs(moments):
    found = canonical_functions(moments["crabs"])
    assert_allclose(found.eigenvalues, [7.51672957457, 3.28117482044, 0.157476643622], rtol=RTOL)
    assert_allclose(found.correlations, [0.939459439008, 0.875453742891, 0.368851842161], rtol=RTOL)
    tests = [v for t in found.tests for v in chi_square(t)]
    assert_allclose(tests, [727.916678982, 15, 311.291374381, 8, 28.444132889, 3], rtol=RTOL)
    expected = [-4.81342221718, -1.42267656451, -1.25972997136, 11.4731831748, -4.16755575022]
    assert_allclose(found.standardised[:, 0], expected, rtol=RTOL)


@pytest.mark.parametrize("size", [None, 37])
def test_mardia(moments, size):
    X, y = data("iris")
    found = mardia(moments["iris"], Blocks(Dense(X), y, None, size=size))
    expected = [1.27392252262, 31.8480630656, 32.7452514911, 27.7131193649, 3.28196485281]
    numbers = [found.b1, found.skew.statistic, found.skew_small.statistic, found.b2, found.z]
    assert_allclose(numbers, expected, rtol=RTOL)
    assert found.skew.df == found.skew_small.df == 20
    assert_allclose(found.kurtosis_pvalue, 2 * stats.norm.sf(found.z), rtol=1e-7)


LDA_CASES = ["anes96", "crabs", "iris", "iris_vv", "pima_tr", "wine"]


def case(name, quantity):
    """Rows, classes and values of a reference file, classes in the file's order."""
    found, df = references.reference(f"{name}__{quantity}")
    values = found["values"]
    labels = df[found["formula"].split("~")[0].strip()].astype(str).to_numpy()
    y = np.array([values["levels"].index(label) for label in labels])
    return df[values["features"]].to_numpy(float), y, values


@pytest.mark.parametrize("name", LDA_CASES)
def test_reference_files(name):
    """Canonical functions, Wilks' lambda and Box's M at 60 digits."""
    X, y, values = case(name, "lda")
    m, expected = summary(X, y), values["canonical"]
    can, whole, box = canonical_functions(m), manova(m), box_m(m)
    assert_allclose(can.eigenvalues, expected["eigenvalues"], rtol=RTOL)
    assert_allclose(can.correlations, expected["canonical_corr"], rtol=RTOL)
    assert_allclose(can.proportions, expected["proportion"], rtol=RTOL)
    scaling = np.array([[function[f] for f in values["features"]] for function in expected["scaling"]]).T
    assert_allclose(np.abs(can.raw), np.abs(scaling), rtol=1e-8, atol=1e-10)
    assert_allclose(whole.wilks[:4], [expected["wilks"], expected["wilks_F"], *expected["wilks_df"]], rtol=RTOL)
    assert_allclose(whole.wilks.pvalue, expected["wilks_F_pvalue"], rtol=1e-7)
    assert_allclose(chi_square(whole.bartlett), [expected["wilks_chi2"], expected["wilks_chi2_df"]], rtol=RTOL)
    assert_allclose(whole.bartlett.pvalue, expected["wilks_chi2_pvalue"], rtol=1e-7)
    assert_allclose(box[0:4:2], [expected["box_m"], expected["box_chi2"]], rtol=RTOL)
    assert box.df == expected["box_df"]
    assert_allclose(box.chi2_pvalue, expected["box_pvalue"], rtol=1e-7)


# ---------------------------------------------------------------------------------------------- other routes


@pytest.mark.parametrize("name", FEATURES)
def test_against_statsmodels(moments, name):
    """statsmodels has McKeon's F of the Hotelling-Lawley trace; the other rows are the same approximations."""
    from statsmodels.multivariate.manova import MANOVA

    X, y = data(name)
    design = np.column_stack([np.ones(len(y)), *(y == k for k in range(1, y.max() + 1))]).astype(float)
    contrast = np.eye(design.shape[1])[1:]
    table = MANOVA(X, design).mv_test([("classes", contrast)]).results["classes"]["stat"]
    found = manova(moments[name])
    rows = {"Wilks' lambda": found.wilks, "Pillai's trace": found.pillai, "Roy's greatest root": found.roy}
    for row, test in rows.items():
        assert_allclose(table.loc[row].astype(float).to_numpy()[[0, 3, 1, 2]], test[:4], rtol=1e-7)
    hotelling = float(table.loc["Hotelling-Lawley trace", "Value"])
    assert_allclose(hotelling, found.hotelling_lawley.statistic, rtol=1e-7)


def exact_partial_lambda(m, J):
    with mpmath.workdps(40):
        W, T = mpmath.matrix(m.within.tolist()) ** -1, mpmath.matrix(m.total.tolist()) ** -1
        det = lambda M: mpmath.det(mpmath.matrix([[M[int(a), int(b)] for b in J] for a in J]))
        return float(det(T) / det(W))


@pytest.mark.parametrize("J", [[0], [2], [0, 1], [1, 3, 4], [0, 1, 2, 3, 4], [4, 0]])
def test_sets_of_features_by_determinants(moments, J):
    m = moments["crabs"]
    test = feature_tests(m, [J])[0]
    assert_allclose(test.partial_lambda, exact_partial_lambda(m, J), rtol=1e-10)
    r, q, v = len(J), m.K - 1, m.n - m.K - (m.p - len(J))
    t = np.sqrt((r * r * q * q - 4) / (r * r + q * q - 5)) if r * r + q * q > 5 else 1.0
    df2 = t * (v + q - (r + q + 1) / 2) - (r * q - 2) / 2
    assert_allclose(test.f_to_remove[1:4], [(test.partial_lambda ** (-1 / t) - 1) * df2 / (r * q), r * q, df2])
    assert_allclose(chi_square(test.lr), [-m.n * np.log(test.partial_lambda), r * q])


def test_all_features_are_the_manova(moments):
    for m in moments.values():
        whole, test = manova(m), feature_tests(m, [range(m.p)])[0]
        assert_allclose(test.f_to_remove[:4], whole.wilks[:4], rtol=1e-11)
        assert_allclose(test.eigenvalues, whole.eigenvalues, rtol=1e-9)


def test_removing_features_is_a_ratio_of_lambdas(moments):
    """Lambda of all features is that of some times the partial lambda of the rest."""
    X, y = data("crabs")
    part = manova(summary(X[:, [0, 2, 4]], y)).wilks.statistic
    (both,) = feature_tests(moments["crabs"], [[1, 3]])
    assert_allclose(both.partial_lambda * part, manova(moments["crabs"]).wilks.statistic)


@pytest.mark.parametrize("J", [[0], [1, 2], [0, 1, 2]])
def test_qda_features_by_refitted_densities(J):
    """The likelihood ratio as densities of x_J given the rest, regressed in each class and in all rows."""
    X, y = small(n=70)
    rest = [j for j in range(X.shape[1]) if j not in J]

    def deviance(rows):
        design = np.column_stack([np.ones(len(rows)), rows[:, rest]])
        E = rows[:, J] - design @ np.linalg.lstsq(design, rows[:, J], rcond=None)[0]
        return len(rows) * np.linalg.slogdet(E.T @ E / len(rows))[1]

    expected = deviance(X) - sum(deviance(X[y == k]) for k in range(3))
    r, p = len(J), 3
    found = qda_feature_tests(summary(X, y), [J])[0]
    assert_allclose(found.statistic, expected, rtol=1e-10)
    # mean, regression on the rest and covariance of the r features
    assert found.df == 2 * (r + r * (p - r) + r * (r + 1) // 2)


def test_two_classes_squared_t():
    """F-to-remove is the squared t of the least-squares regression of the class indicator."""
    import statsmodels.api as sm

    X, y = data("pima_tr")
    t = sm.OLS(y.astype(float), sm.add_constant(X)).fit().tvalues[1:]
    assert_allclose([f.f_to_remove.F for f in feature_tests(summary(X, y))], t**2, rtol=1e-8)


def test_canonical_definitions(moments):
    for name, m in moments.items():
        found, (X, y) = canonical_functions(m), data(name)
        Z = found.scores(X)
        within = sum((Z[y == k] - Z[y == k].mean(axis=0)).T @ (Z[y == k] - Z[y == k].mean(axis=0)) for k in range(m.K))
        assert_allclose(within / (m.n - m.K), np.eye(Z.shape[1]), atol=1e-10)
        assert_allclose(found.centroids, [Z[y == k].mean(axis=0) for k in range(m.K)], atol=1e-10)
        assert_allclose(m.counts @ found.centroids, 0, atol=1e-9)
        assert_allclose(m.between @ found.raw, m.within @ found.raw * found.eigenvalues, rtol=1e-7, atol=1e-6)
        R = np.hstack([X, Z]) - np.hstack([m.means[y], found.centroids[y]])
        assert_allclose(found.structure, np.corrcoef(R.T)[: m.p, m.p :], atol=1e-11)
        assert (found.standardised[np.abs(found.standardised).argmax(axis=0), range(Z.shape[1])] > 0).all()
        assert_allclose(found.proportions.sum(), 1)


def test_mardia_written_out():
    X, y = small(n=30)
    m = summary(X, y)
    E = X - m.means[y]
    Z = E @ np.linalg.inv(np.linalg.cholesky(m.within / m.n)).T
    found = mardia(m, Blocks(Dense(X), y, None, size=7))
    assert_allclose(found.b1, ((Z @ Z.T) ** 3).mean(), rtol=1e-11)
    assert_allclose(found.b2, ((Z**2).sum(axis=1) ** 2).mean(), rtol=1e-11)
    own, p = mardia(m, Blocks(Dense(X), y, None, size=7), pooled=False), X.shape[1]
    alone = [
        mardia(summary(X[y == k], y[y == k] * 0), Blocks(Dense(X[y == k]), y[y == k] * 0, None)) for k in range(3)
    ]
    assert_allclose(own.skew.statistic, sum(one.skew.statistic for one in alone), rtol=1e-11)
    assert_allclose(own.skew_small.statistic, sum(one.skew_small.statistic for one in alone), rtol=1e-11)
    assert own.skew.df == own.skew_small.df == 3 * p * (p + 1) * (p + 2) // 6
    assert_allclose([own.b1, own.b2], m.counts @ [[one.b1, one.b2] for one in alone] / m.n, rtol=1e-11)
    assert_allclose(own.z * np.sqrt(m.n), np.sqrt(m.counts) @ [one.z for one in alone], rtol=1e-10)


# ---------------------------------------------------------------------------------------------- properties


def numbers(m, blocks):
    """Every number that neither units nor rotations may change."""
    box, whole, can, normal = box_m(m), manova(m), canonical_functions(m), mardia(m, blocks)
    tests = [f for test in whole.tests.values() for f in test] + [f for test in can.tests for f in test]
    return np.array([*box, *lr_lda_qda(m), *tests, *normal.skew, *normal.skew_small, normal.b1, normal.b2, normal.z])


@pytest.mark.parametrize("pooled", [True, False])
def test_weights_repeat_rows(pooled):
    X, y = small(n=60)
    f = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    rows = np.repeat(np.arange(len(y)), f.astype(int))
    a, b = summary(X, y, f), summary(X[rows], y[rows])
    blocks = Blocks(Dense(X), y, f), Blocks(Dense(X[rows]), y[rows], None)
    assert_allclose(numbers(a, blocks[0]), numbers(b, blocks[1]), rtol=1e-9)
    left, right = (mardia(m, block, pooled=pooled) for m, block in zip((a, b), blocks))
    assert_allclose([left.b1, left.b2], [right.b1, right.b2], rtol=1e-10)


@pytest.mark.parametrize("A", ["units", "rotation"])
def test_invariance(moments, A):
    X, y = data("crabs")
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]
    M = np.diag([1e-8, 1e8, 1.0, -1e3, 2.0]) if A == "units" else rotation
    Z = X @ M + 10 * np.abs(M).sum(axis=0)
    a, b = moments["crabs"], summary(Z, y)
    left, right = Blocks(Dense(X), y, None), Blocks(Dense(Z), y, None)
    assert_allclose(numbers(b, right), numbers(a, left), rtol=1e-8)
    one, two = (mardia(m, block, pooled=False) for m, block in ((a, left), (b, right)))
    assert_allclose([*one.skew, *one.skew_small, one.b1, one.z], [*two.skew, *two.skew_small, two.b1, two.z], rtol=1e-8)
    scores = canonical_functions(a).scores(X), canonical_functions(b).scores(Z)
    assert_allclose(np.abs(scores[0]), np.abs(scores[1]), atol=1e-8)
    if A == "units":
        pairs = [(feature_tests(m), qda_feature_tests(m)) for m in (a, b)]
        for i in range(5):
            assert_allclose(pairs[1][0][i].f_to_remove, pairs[0][0][i].f_to_remove, rtol=1e-8)
            assert_allclose(pairs[1][1][i], pairs[0][1][i], rtol=1e-8)
        one, two = (np.abs(canonical_functions(m).standardised) for m in (a, b))
        assert_allclose(two, one, rtol=1e-7)


def test_tiny_and_huge_eigenvalues():
    """Class means 1e6 sd apart in one direction and 1e-4 in another: both eigenvalues keep digits."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.repeat([0, 1, 2], 20)
    for k in range(3):
        X[y == k] -= X[y == k].mean(axis=0)
    X = X @ (np.eye(3) + 0.3 * rng.normal(size=(3, 3)))
    X += np.array([[-1e6, 1e-4, 0], [0, -2e-4, 0], [1e6, 1e-4, 0]])[y]
    m = summary(X, y)
    with mpmath.workdps(50):
        W, B = (mpmath.matrix(S.tolist()) for S in (m.within, m.between))
        D = mpmath.matrix((m.means - m.mean).tolist())
        B = D.T * mpmath.diag(m.counts.tolist()) * D
        values = sorted(map(mpmath.re, mpmath.eig(W**-1 * B, left=False, right=False)), reverse=True)
    assert_allclose(manova(m).eigenvalues, [float(v) for v in values[:2]], rtol=1e-5)
    assert manova(m).eigenvalues[1] < 1e-6


def test_small_f_keeps_digits():
    """Partial lambdas within 1e-12 of one: the F is not lost in 1 - lambda."""
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1, 2], 30)
    X = rng.normal(size=(90, 2))
    for k in range(3):
        X[y == k] -= X[y == k].mean(axis=0)
    X[:, 1] += np.array([1e-6, -2e-6, 1e-6])[y]
    m = summary(X, y)
    with mpmath.workdps(50):
        W = mpmath.matrix(m.within.tolist())
        D = mpmath.diag(np.sqrt(m.counts).tolist()) * mpmath.matrix((m.means - m.mean).tolist())
        lam = (W + D.T * D) ** -1
        ratio = (W**-1)[1, 1] / lam[1, 1] - 1
    assert_allclose(feature_tests(m, [[1]])[0].f_to_remove.F, float(ratio * (90 - 3 - 2 + 1) / 2), rtol=1e-9)


def test_given_factors_are_used(moments):
    m = moments["crabs"]
    root, roots = np.linalg.cholesky(m.within).T, [np.linalg.cholesky(S).T for S in m.scatter]
    assert_allclose(box_m(m, root, roots), box_m(m), rtol=1e-11)
    assert_allclose(lr_lda_qda(m, root, roots), lr_lda_qda(m), rtol=1e-11)
    assert_allclose(manova(m, root).wilks, manova(m).wilks, rtol=1e-11)
    assert_allclose(tolerances(m, root), tolerances(m), rtol=1e-11)
    assert_allclose(qda_feature_tests(m, [[1]], root, roots)[0], qda_feature_tests(m, [[1]])[0], rtol=1e-10)


# ---------------------------------------------------------------------------------------------- degenerate input


def test_one_feature_is_the_analysis_of_variance():
    X, y = small(p=1, n=50)
    m = summary(X, y)
    groups = [X[y == k, 0] for k in range(3)]
    F, pvalue = stats.f_oneway(*groups)
    found = manova(m)
    for test in (found.wilks, found.pillai, found.hotelling_lawley, found.roy):
        assert_allclose([test.F, test.df1, test.df2, test.pvalue], [F, 2, 47, pvalue], rtol=1e-7)
    assert_allclose(feature_tests(m, [[0]])[0].f_to_remove[1:], found.wilks[1:], rtol=1e-12)
    # Bartlett's test of equal variances divides by 1 + c1 where Box multiplies by 1 - c1
    box = box_m(m)
    assert_allclose(box.M / (1 + box.c1), stats.bartlett(*groups)[0], rtol=1e-10)
    assert_allclose(tolerances(m), [1.0])
    can = canonical_functions(m)
    assert can.raw.shape == (1, 1) and can.standardised > 0
    assert_allclose(can.structure, [[1.0]])
    assert_allclose(
        qda_feature_tests(m)[0].statistic, len(y) * np.log(X.var()) - sum(len(g) * np.log(g.var()) for g in groups)
    )


def test_two_classes_are_hotellings_t2():
    X, y = data("pima_tr")
    m = summary(X, y)
    found, p, v = manova(m), m.p, m.n - 2
    d = m.means[1] - m.means[0]
    t2 = d @ np.linalg.solve(m.within / v, d) / (1 / m.counts).sum()
    F = t2 * (v - p + 1) / (v * p)
    for test in found.tests.values():
        assert_allclose(test[1:4], [F, p, v - p + 1], rtol=1e-9)
    assert canonical_functions(m).raw.shape == (p, 1)


def test_more_classes_than_features():
    X, y = small(n=120, p=2, K=5)
    m = summary(X, y)
    found = canonical_functions(m)
    assert found.raw.shape == (2, 2) and found.centroids.shape == (5, 2)
    assert [t.df for t in found.tests] == [8, 3]
    assert_allclose(manova(m).wilks.statistic, np.linalg.det(m.within) / np.linalg.det(m.total), rtol=1e-10)


def test_equal_means():
    """Nothing separates the classes: every statistic of means is zero and certain."""
    X, y = np.array([[1.0, 2.0], [3.0, 1.0], [2.0, 3.0], [1.0, 2.0], [3.0, 1.0], [2.0, 3.0]]), np.repeat([0, 1], 3)
    m = summary(X, y)
    assert_allclose([t.pvalue for t in manova(m).tests.values()], 1)
    assert_allclose(feature_tests(m, [[0]])[0].f_to_remove.F, 0, atol=1e-25)
    assert_allclose(box_m(m).M, 0, atol=1e-12)
    assert box_m(m).pvalue == 1


def test_perfectly_separated_classes():
    X, y = small(n=60)
    found = manova(summary(X + 1e9 * (y == 0)[:, None], y))
    assert 0 < found.wilks.statistic < 1e-15 and found.wilks.pvalue < 1e-100
    assert 1 < found.pillai.statistic < 2 and np.isfinite(found.pillai.F)


def test_few_rows_are_refused():
    X, y = small(n=9, p=4, K=2)
    y = np.repeat([0, 1], [4, 5])
    m = summary(X, y)
    with pytest.raises(EstimationError, match=r"Box's M is not defined: 3 degrees of freedom .* 4 features"):
        box_m(m)
    manova(m)
    short = summary(X[:5], np.array([0, 0, 1, 1, 1]))
    for call in (manova, canonical_functions, tolerances, feature_tests, qda_feature_tests, lr_lda_qda):
        with pytest.raises(EstimationError, match="not defined"):
            call(short)


def test_smallest_residual_degrees_of_freedom():
    """N - K = p: some F forms have no degrees of freedom left, and say NaN."""
    X, y = np.random.default_rng(0).normal(size=(9, 6)), np.repeat([0, 1, 2], 3)
    found = manova(summary(X, y))
    assert np.isnan(found.hotelling_lawley.F) and np.isnan(found.hotelling_lawley.pvalue)
    assert 0 < found.wilks.pvalue < 1


@pytest.mark.parametrize("column", ["constant", "combination"])
def test_singular_scatter_is_refused(column):
    X, y = small(n=40, p=3)
    X[:, 2] = y if column == "constant" else X[:, 0] - 3 * X[:, 1]
    with pytest.raises(EstimationError, match="constant within classes or a combination"):
        manova(summary(X, y))


def test_pooled_scatter_only(moments):
    from dataclasses import replace

    m = replace(moments["iris"], scatter=moments["iris"].within)
    assert_allclose(manova(m).wilks, manova(moments["iris"]).wilks, rtol=1e-12)
    for call in (box_m, lr_lda_qda, qda_feature_tests):
        with pytest.raises(EstimationError, match="scatter of each class"):
            call(m)


@pytest.mark.parametrize("J", [[], [7], [-1]])
def test_columns_that_are_not_there(moments, J):
    with pytest.raises(ValueError, match="columns"):
        feature_tests(moments["iris"], [J])[0].f_to_remove


def test_box_m_level():
    """F form under the null hypothesis in small classes: a level near 5% (generous bounds)."""
    rng = np.random.default_rng(5)
    y = np.repeat([0, 1, 2], [12, 15, 20])
    p = [box_m(summary(rng.normal(size=(47, 3)), y)).pvalue for _ in range(400)]
    assert 0.02 < np.mean(np.array(p) < 0.05) < 0.085
