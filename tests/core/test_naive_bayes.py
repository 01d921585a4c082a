"""Naive Bayes on arrays against closed forms at high precision (checked with R), identities, and derivatives."""

import functools
import pathlib

import numpy as np
import pandas as pd
import pytest
import references
from numpy.testing import assert_allclose
from scipy import optimize

import glmclf
from glmclf.core.naive_bayes.families import (
    Bernoulli,
    Categorical,
    Exponential,
    Gamma,
    GaussianFamily,
    MultinomialFamily,
    Poisson,
    ZeroCell,
)
from glmclf.core.naive_bayes.fit import (
    Record,
    Stacked,
    UnusableFeatures,
    class_statistics,
    fit_naive_bayes,
    grouped,
    packed,
)
from glmclf.core.rows.blocks import Blocks
from glmclf.inference.generative.naive_bayes import Parts

RTOL = 1e-9  # the published values have twelve digits
DATA = pathlib.Path(__file__).parent.parent / "data"
PIMA = ["npreg", "glu", "bp", "skin", "bmi", "ped", "age"]
FLOWERS = ["sepal_length", "sepal_width", "petal_length", "petal_width"]


def table(name):
    return pd.read_csv(references.ROOT / "data" / f"{name}.csv")


def coded(column, levels):
    return pd.Categorical(column, categories=levels).codes.astype(int)


def fitted(families, values, y, w=None, K=2, **options):
    return fit_naive_bayes(families, class_statistics(families, feature_blocks(families, values, y, w), K), **options)


def feature_blocks(families, values, y, w, n_threads=None):
    together = packed(grouped(families), values)
    return Blocks(*together, y, w, size=1_000, n_threads=n_threads)


def influence(fit, values, y):
    """N times the derivative of the coefficients in the weight of each row, equation by equation."""
    parts = Parts(fit)
    rows = parts.logit_influence(values, y).reshape(-1, fit.M)
    return parts.to_raw(rows).reshape(len(y), -1)


def meat(fit, values, y, w=None):
    psi = influence(fit, values, y)
    return psi.T @ (psi if w is None else psi * w[:, None])


def conditional(fit, values, y, w=None):
    joint = fit.log_joint(values)
    own = joint[np.arange(len(y)), y] - np.logaddexp.reduce(joint, axis=1)
    return own.sum() if w is None else w @ own


def hc0(fit, values, y, w=None):
    """Of the first equation."""
    V = meat(fit, values, y, w) / fit.n**2
    return np.sqrt(np.diag(V))[: fit.M]


def titanic(crossed=False):
    data = table("titanic")
    cls = coded(data.cls, ["1st", "2nd", "3rd", "Crew"])
    sex, age = coded(data.sex, ["Female", "Male"]), coded(data.age, ["Adult", "Child"])
    y, w = coded(data.survived, ["No", "Yes"]), data.n.to_numpy(float)
    if crossed:
        return [Categorical(8), Categorical(2)], [cls * 2 + sex, age], y, w
    return [Categorical(4), Categorical(2), Categorical(2)], [cls, sex, age], y, w


def pima_missing():
    data = pd.read_csv(DATA / "pima_tr2.csv")
    return [GaussianFamily(7)], [data[PIMA].to_numpy(float)], coded(data.type, ["No", "Yes"]), None


def pima_mixed():
    data = table("pima_tr")
    families = [GaussianFamily(), Poisson(), Gamma(), Exponential(), Bernoulli()]
    values = [data[c].to_numpy(float) for c in ("glu", "npreg", "ped", "age")] + [(data.bmi > 30).to_numpy(float)]
    return families, values, coded(data.type, ["No", "Yes"]), None


def sprays():
    data = pd.read_csv(DATA / "insect_sprays.csv")
    return [Poisson()], [data["count"].to_numpy(float)], coded(data.spray, list("ABCDEF")), None


def words():
    counts = [(3, 0, 1), (2, 2, 0), (4, 1, 1), (0, 3, 2), (1, 4, 4), (0, 2, 1), (1, 1, 5)]
    return [MultinomialFamily(3)], [np.array(counts, float)], np.array([0, 0, 0, 1, 1, 1, 1]), None


def iris(pooled=False):
    data = table("iris")
    labels = coded(data.species, sorted(set(data.species)))
    return [GaussianFamily(4, pooled)], [data[FLOWERS].to_numpy(float)], labels, None


def mixed(seed=5, n=60, K=3, pooled=False, missing=True):
    """Every family at once, with missing values, repeated weights and three classes."""
    g = np.random.default_rng(seed)
    y = g.integers(0, K, n)
    real = g.normal(size=(n, 2)) + 0.5 * y[:, None]
    values = [
        real[:, 0],
        real[:, 1],
        g.integers(0, 2, n).astype(float),
        g.integers(0, 3, n),
        g.poisson(2 + y).astype(float),
        g.exponential(1 + y),
        g.gamma(2 + y),
        g.multinomial(5, [0.2, 0.3, 0.5], n).astype(float),
    ]
    if missing:
        for v in values:
            v[g.random(n) < 0.15] = -1 if v.dtype.kind == "i" else np.nan
    normal = [GaussianFamily(1, pooled), GaussianFamily(1, pooled)]
    families = [*normal, Bernoulli(), Categorical(3), Poisson(), Exponential()]
    return [*families, Gamma(), MultinomialFamily(3)], values, y, g.integers(1, 4, n).astype(float)


# -------------------------------------------------------------------------------------- published values

# case, options: llf, k_params, llf_conditional, first equation, its std errors, its HC0 std errors
CASES = {
    "titanic": (
        titanic,
        {},
        (-5455.8833323, 11, -1138.76451919),
        (2.20536143618, -0.85649412226, -1.59649766772, -1.66434398928, -2.31717474077, 0.879708736077),
        (0.148443778062, 0.166088620649, 0.143647995489, 0.139016887172, 0.119588536871, 0.197481875522),
        (0.149998256744, 0.166088620649, 0.143647995489, 0.139016887172, 0.119588536871, 0.197481875522),
    ),
    "titanic smoothed": (
        titanic,
        {"smoothing": 1.0},
        (-5455.90543002, 11, -1138.54165883),
        (2.19207807235, -0.850776124764, -1.58953826449, -1.65787358367, -2.31018410002, 0.877219568246),
        (0.147954002125, 0.165492550836, 0.143209613616, 0.138602154713, 0.119258368719, 0.195782911482),
        None,
    ),
    "pima mixed": (
        pima_mixed,
        {},
        (-2633.18870379, 15, -110.037972168),
        (
            *(-7.1669547846, 0.00165519086398, 0.000150698471806, 0.506108633888),
            *(0.200542732545, 1.28429571217, 0.00767434428004, 1.51423583489),
        ),
        (
            *(2.61940276252, 0.0345340693685, 0.000129771293003, 0.0750793998059),
            *(0.592602078551, 1.30612763584, 0.00438355915656, 0.38470283614),
        ),
        (
            *(2.31715417337, 0.0301351736738, 0.000122204504945, 0.129345407637),
            *(0.580243060633, 1.46937952807, 0.00137248519852, 0.38470283614),
        ),
    ),
    "multinomial": (
        words,
        {},
        (-19.1484357329, 5, -0.165751026014),
        (0.287682072452, -2.04307389751, 0.664976303593, 1.2527629685),
        (0.763762615826, 0.705702396918, 0.565895834265, 0.685739086853),
        (0.763762615826, 0.352996209627, 0.535925884137, 0.39177339695),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_published_values(name):
    make, options, (llf, k_params, llf_conditional), coefficients, se, robust = CASES[name]
    families, values, y, w = make()
    fit = fitted(families, values, y, w, **options)
    assert_allclose(fit.llf, llf, rtol=RTOL)
    assert fit.k_params == k_params
    assert_allclose(conditional(fit, values, y, w), llf_conditional, rtol=RTOL)
    assert_allclose(fit.coefficients()[0], coefficients, rtol=RTOL)
    assert_allclose(fit.standard_errors()[0], se, rtol=RTOL)
    if robust:
        assert_allclose(hc0(fit, values, y, w), robust, rtol=RTOL)


def test_missing_values():
    families, values, y, w = pima_missing()
    fit = fitted(families, values, y, w)
    assert_allclose((fit.llf, conditional(fit, values, y)), (-6418.54314256, -168.965551626), rtol=RTOL)
    assert fit.k_params == 29
    at = [0, 5, 6, 7, 8]  # Intercept, bp, bp^2, skin, skin^2
    expected = (-15.3151156742, -0.0024191286126, 0.000245459026647, -0.00980607805352, 0.00091896242299)
    se = (5.14246147355, 0.096878427983, 0.000653818269894, 0.0491543482492, 0.000776638695328)
    robust = (5.68924530212, 0.113327674983, 0.0007771865728, 0.0926587179621, 0.00150680915263)
    assert_allclose(fit.coefficients()[0, at], expected, rtol=RTOL)
    assert_allclose(fit.standard_errors()[0, at], se, rtol=RTOL)
    assert_allclose(hc0(fit, values, y)[at], robust, rtol=RTOL)


def test_poisson_of_six_classes():
    families, values, y, w = sprays()
    fit = fitted(families, values, y, w, K=6)
    assert_allclose(fit.llf, -311.3012858, rtol=RTOL)
    assert_allclose(fit.coefficients()[1], (12.4166666667, -1.94017947435), rtol=RTOL)
    assert_allclose(fit.standard_errors()[1], (1.24443204359, 0.213885778949), rtol=RTOL)


def test_effective_parameters():
    families, values, y, w = titanic()
    assert_allclose(fitted(families, values, y, w, smoothing=1.0).effective_params, 10.9668935914, rtol=RTOL)
    assert fitted(families, values, y, w).effective_params == 11


def test_joint_table():
    families, values, y, w = titanic(crossed=True)
    joint, apart = fitted(families, values, y, w), fitted(*titanic())
    assert_allclose(joint.llf, -5254.4059589, rtol=RTOL)
    assert joint.k_params == 17
    assert_allclose(2 * (joint.llf - apart.llf), 402.954746808, rtol=RTOL)


def test_likelihood_ratio_of_a_table():
    fit = fitted(*titanic(), smoothing=1.0)
    ratios, df = fit.likelihood_ratios()
    # class by survival and sex by survival, as in R's loglm
    assert_allclose(ratios[:2], (180.9014, 434.4688), rtol=1e-6)
    assert df.tolist() == [3, 1, 1]


def test_diagonal_discriminant_analysis():
    """One variance a class is QDA of diagonal covariances, one for all is LDA."""
    families, values, y, _ = iris()
    fit = fitted(families, values, y, K=3)
    assert_allclose(fit.llf, -326.050081189, rtol=RTOL)
    assert_allclose(fit.coefficients()[0, :3], (9.64995946211, -18.3780794605, 2.19135822916), rtol=RTOL)
    assert_allclose(fit.standard_errors()[0, :3], (29.7094787424, 9.40869648793, 0.906173268649), rtol=RTOL)
    families, values, y, _ = iris(pooled=True)
    fit = fitted(families, values, y, K=3)
    assert_allclose(fit.llf, -384.088300529, rtol=RTOL)
    assert_allclose(fit.coefficients()[0, :2], (-66.3498069232, 3.58094475334), rtol=RTOL)
    assert_allclose(fit.standard_errors()[0, :2], (7.23454692688, 0.570083035059), rtol=RTOL)
    assert fit.k_params == 2 + 3 * 4 + 4


@pytest.mark.parametrize("smoothing", [0, 1, 3])
def test_house_votes(smoothing):
    case, data = references.reference("housevotes__nb_categorical")
    values, levels = case["values"], case["values"]["levels"]
    votes = [f"v{j}" for j in range(1, 17)]
    columns = [coded(data[v], values["feature_levels"][v]) for v in votes]
    y = coded(data.party, levels)
    fit = fitted([Categorical(2)] * 16, columns, y, smoothing=float(smoothing))
    expected = values[f"laplace={smoothing}"]
    for vote, table_ in zip(votes, fit.features):
        for k, level in enumerate(levels):
            assert_allclose(table_.theta[k], list(expected["tables"][vote][level].values()), rtol=1e-13)
    posterior = np.exp(fit.log_joint(columns))
    posterior /= posterior.sum(axis=1, keepdims=True)
    assert_allclose(posterior[expected["posterior"]["rows"]], expected["posterior"]["mean"], rtol=1e-11)
    assert_allclose(fit.llf, expected["llf"], rtol=1e-12)
    assert_allclose(conditional(fit, columns, y), expected["llf_conditional"], rtol=1e-12)


@pytest.mark.parametrize("name", ["iris", "pima_tr", "wine"])
def test_gaussian_references(name):
    case, data = references.reference(f"{name}__nb")
    values, expected = case["values"], case["values"]["mle"]
    X, y = data[values["features"]].to_numpy(float), coded(data[case["formula"].split(" ~ ")[0]], values["levels"])
    K = len(values["levels"])
    fit = fitted([GaussianFamily(X.shape[1])], [X], y, K=K)
    assert_allclose(fit.llf, expected["llf"], rtol=1e-12)
    assert_allclose(conditional(fit, [X], y), expected["llf_conditional"], rtol=1e-10)
    assert fit.k_params == expected["n_params"]
    found = {(p.name, p.feature, p.klass): p for p in fit.parameters()}
    for k, level in enumerate(values["levels"]):
        for j, feature in enumerate(values["features"]):
            assert_allclose(found["mean", j, k].se, expected["means_se"][level][feature], rtol=1e-12)
            assert_allclose(found["variance", j, k].se, expected["variances_se"][level][feature], rtol=1e-12)


# ------------------------------------------------------------------------------------------- identities


def test_one_table_is_the_saturated_multinomial_logit():
    g = np.random.default_rng(3)
    data = pd.DataFrame({"x": g.integers(0, 4, 300), "y": g.integers(0, 3, 300)})
    other = glmclf.MNLogit.from_formula("y ~ C(x)", data).fit()
    fit = fitted([Categorical(4)], [data.x.to_numpy()], data.y.to_numpy(), K=3)
    assert_allclose(fit.coefficients(), other.params.to_numpy().T, rtol=1e-8, atol=1e-10)
    assert_allclose(fit.standard_errors(), other.bse.to_numpy().T, rtol=1e-8)
    assert_allclose(fit.covariance(), other.cov_params().to_numpy(), rtol=1e-7, atol=1e-10)
    assert_allclose(conditional(fit, [data.x.to_numpy()], data.y.to_numpy()), other.llf, rtol=1e-12)


def test_half_a_count_is_firths_penalty():
    g = np.random.default_rng(4)
    x = np.repeat(np.arange(3), 20)
    y = g.integers(0, 2, 60)
    y[x == 2] = 1  # a zero cell
    fit = fitted([Categorical(3)], [x], y, smoothing=0.5)
    X = np.column_stack([np.ones(60), x == 1, x == 2]).astype(float)

    def penalised(beta):
        eta = X @ beta
        weight = np.exp(-np.logaddexp(0, eta) - np.logaddexp(0, -eta))
        return -(y @ eta - np.logaddexp(0, eta).sum() + 0.5 * np.linalg.slogdet(X.T @ (X * weight[:, None]))[1])

    slopes = optimize.minimize(penalised, np.zeros(3), method="BFGS", options={"gtol": 1e-7}).x[1:]
    assert_allclose(fit.coefficients()[0, 1:], slopes, rtol=1e-5)


def test_bernoulli_is_a_table_of_two():
    x, y = np.array([0, 1, 1, 0, 1, 0, 1, 1.0]), np.array([0, 0, 0, 0, 1, 1, 1, 1])
    a, b = fitted([Bernoulli()], [x], y), fitted([Categorical(2)], [x.astype(int)], y)
    assert_allclose(a.coefficients(), b.coefficients())
    assert_allclose(a.covariance(), b.covariance())


def same(a, b, rtol=1e-11):
    assert_allclose(a.llf, b.llf, rtol=rtol)
    assert_allclose(a.coefficients(), b.coefficients(), rtol=rtol, atol=1e-11)
    assert_allclose(a.standard_errors(), b.standard_errors(), rtol=rtol)


@pytest.mark.parametrize("pooled", [False, True])
def test_weights_are_repeated_rows(pooled):
    families, values, y, w = mixed(pooled=pooled)
    rows = np.repeat(np.arange(len(y)), w.astype(int))
    a = fitted(families, values, y, w, K=3)
    again = [v[rows] for v in values]
    b = fitted(families, again, y[rows], K=3)
    same(a, b)
    assert_allclose(meat(a, values, y, w), meat(b, again, y[rows]), rtol=1e-9, atol=1e-8)


def test_merge_is_one_pass():
    families, values, y, w = mixed()
    whole = class_statistics(families, feature_blocks(families, values, y, w), 3)
    parts = [
        class_statistics(families, feature_blocks(families, [v[r] for v in values], y[r], w[r]), 3)
        for r in np.array_split(np.arange(60), 7)
    ]
    total: Record = parts[0]
    for part in parts[1:]:
        total = total + part
    same(fit_naive_bayes(families, whole), fit_naive_bayes(families, total))


def test_a_matrix_is_its_columns():
    families, values, y, _ = iris()
    a = fitted(families, values, y, K=3)
    columns = list(values[0].T)
    b = fitted([GaussianFamily()] * 4, columns, y, K=3)
    same(a, b, rtol=1e-13)
    assert_allclose(a.log_joint(values), b.log_joint(columns), rtol=1e-13)
    assert_allclose(
        a.subset([2, 0]).log_joint([columns[2], columns[0]]), b.subset([2, 0]).log_joint([values[0][:, [2, 0]]])
    )
    one = [fit.alone(1).features[0].log_density(columns[1]) for fit in (a, b)]
    assert_allclose(*one)


def test_threads_and_blocks_change_nothing():
    g = np.random.default_rng(8)
    y, X = g.integers(0, 5, 40_000), g.normal(size=(40_000, 10))
    one, two = (
        class_statistics([GaussianFamily(10)], feature_blocks([GaussianFamily(10)], [X], y, None, n_threads=t), 5)
        for t in (1, 2)
    )
    assert np.array_equal(one.statistics[0].squares, two.statistics[0].squares)
    fit = fit_naive_bayes([GaussianFamily(10)], two)
    assert_allclose(fit.log_joint([X])[::1000], fit.log_joint([X[::1000]]), rtol=1e-14)
    assert_allclose(fit.log_joint([np.asfortranarray(X)]), fit.log_joint([X]), rtol=1e-13)
    rows = feature_blocks([GaussianFamily()] * 10, list(X.T), y, None)
    same(fit, fit_naive_bayes([GaussianFamily(10)], class_statistics([GaussianFamily()] * 10, rows, 5)))


def test_grouping_keeps_the_order():
    one, pooled = GaussianFamily(), GaussianFamily(pooled=True)
    families = [one, one, Poisson(), pooled, GaussianFamily(2, pooled=True), one]
    assert [f.p for f in grouped(families)] == [2, 1, 3, 1]
    columns = [np.full(2, float(j)) for j in range(7)]
    groups = packed(grouped(families), columns)
    assert isinstance(groups[0], Stacked)
    assert groups[2][:].tolist() == [[3, 4, 5]] * 2


# ------------------------------------------------------------------- derivatives, variances, missing values


@pytest.mark.parametrize(
    "options", [{}, {"smoothing": 0.7, "prior_smoothing": 0.4}, {"priors": np.array([0.2, 0.3, 0.5])}]
)
@pytest.mark.parametrize("pooled", [False, True])
def test_influence_is_the_derivative_in_the_weight(options, pooled):
    families, values, y, w = mixed(pooled=pooled)
    fit = fitted(families, values, y, w, K=3, **options)
    psi = influence(fit, values, y)
    for i in (0, 7, 23, 41, 59):
        ends = [fitted(families, values, y, w + d * (np.arange(60) == i), K=3, **options) for d in (-1e-4, 1e-4)]
        slope = (ends[1].coefficients() - ends[0].coefficients()).ravel() / 2e-4
        assert_allclose(psi[i] / fit.n, slope, rtol=1e-5, atol=1e-8)
    if "smoothing" not in options:
        assert_allclose(w @ psi, 0, atol=1e-9)


@pytest.mark.parametrize("pooled", [False, True])
def test_variance_of_log_odds_follows_from_the_covariance(pooled):
    families, values, y, w = mixed(pooled=pooled)
    fit = fitted(families, values, y, w, K=3)
    V = fit.covariance().reshape(2, fit.M, 2, fit.M)
    T = np.concatenate([f.statistic(v[:]).reshape(60, -1) for f, v in zip(fit.features, fit.packed(values))], axis=1)
    complete = ~np.isnan(T).any(axis=1)
    Z = np.column_stack([np.ones(complete.sum()), T[complete]])
    assert_allclose(
        fit.log_odds_covariance(values)[complete], np.einsum("na,kalb,nb->nkl", Z, V, Z), rtol=1e-9, atol=1e-12
    )
    assert_allclose(np.sqrt(np.diag(fit.covariance())).reshape(2, -1), fit.standard_errors(), rtol=1e-12)
    joint = fit.log_joint(values)[complete]
    assert_allclose(Z @ fit.coefficients().T, joint[:, 1:] - joint[:, :1], rtol=1e-9, atol=1e-10)
    at = [0, 3, 4]
    assert_allclose(fit.covariance(at), V[:, at][..., at].reshape(6, 6))
    J = np.random.default_rng(0).normal(size=(3, 2 * fit.M))
    assert_allclose(fit.covariance_times(J), J @ fit.covariance(), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("pooled", [False, True])
def test_a_missing_value_drops_its_factor(pooled):
    families, values, y, w = mixed(pooled=pooled)
    fit = fitted(families, values, y, w, K=3)
    i = next(i for i in range(60) if np.isnan(values[0][i]) and not np.isnan(values[6][i]))
    seen = [j for j, v in enumerate(values) if not (np.isnan(v[i]).any() if v.dtype.kind == "f" else v[i] < 0)]
    row = [values[j][i : i + 1] for j in seen]
    part = fit.subset(seen)
    assert_allclose(part.log_joint(row), fit.log_joint(values)[i : i + 1], rtol=1e-12)
    assert_allclose(part.log_odds_covariance(row), fit.log_odds_covariance(values)[i : i + 1], rtol=1e-12)
    nothing = [np.full_like(v[:1], -1 if v.dtype.kind == "i" else np.nan) for v in values]
    assert_allclose(fit.log_joint(nothing)[0], fit.log_priors, rtol=1e-14)
    assert_allclose(influence(fit, nothing, np.array([1])).reshape(2, -1)[1], 0)


def test_information_of_the_whole_model():
    """Standard errors of contrasts are the delta method on the independent blocks of the natural parameters."""
    fit = fitted(*pima_mixed())
    found = {(p.name, p.feature, p.klass): p for p in fit.parameters()}
    a, b = found["rate", 1, 0], found["rate", 1, 1]
    se = np.hypot(a.se / a.value, b.se / b.value)
    assert_allclose(fit.standard_errors()[0, 3], se, rtol=1e-12)
    assert_allclose(fit.intercept_parts()[0, 1], a.value - b.value, rtol=1e-12)
    odds = found["log_prior_odds", None, 1]
    assert_allclose((odds.value, odds.se), (np.log(68 / 132), np.sqrt(1 / 68 + 1 / 132)))
    assert len(fit.parameters()) == fit.k_params


def test_fixed_priors_leave_the_counts():
    families, values, y, _ = iris()
    free = fitted(families, values, y, K=3)
    fixed = fitted(families, values, y, K=3, priors=np.array([0.2, 0.3, 0.5]))
    assert fixed.k_params == free.k_params - 2
    gap = free.standard_errors() ** 2 - fixed.standard_errors() ** 2
    assert_allclose(gap[:, 0], 2 / 50, rtol=1e-6)
    assert_allclose(gap[:, 1:], 0, atol=1e-9)
    assert_allclose(fixed.llf, free.llf + 50 * np.log([0.6, 0.9, 1.5]).sum(), rtol=1e-12)


def test_null_model():
    families, values, y, _ = iris()
    fit = fitted(families, values, y, K=3)
    X = values[0]
    expected = 150 * np.log(1 / 3) - 75 * (np.log(X.var(axis=0)) + 1 + np.log(2 * np.pi)).sum()
    assert_allclose(fit.llnull, expected, rtol=1e-12)
    ratios, df = fit.likelihood_ratios()
    assert_allclose(ratios.sum(), 2 * (fit.llf - fit.llnull), rtol=1e-12)
    assert df.tolist() == [4] * 4
    assert df.sum() == fit.k_params - fit.k_params_null
    families, values, y, w = mixed(pooled=True)
    fit = fitted(families, values, y, w, K=3)
    assert_allclose(fit.likelihood_ratios()[0].sum(), 2 * (fit.llf - fit.llnull), rtol=1e-12)
    assert fit.likelihood_ratios()[1].tolist() == [2, 2, 2, 4, 2, 2, 4, 4]


# ------------------------------------------------------------------------------------ zero cells, defects


def test_zero_cells_are_minus_infinity():
    x, y = np.array([0, 1, 2, 0, 1, 1]), np.array([0, 0, 0, 1, 1, 1])
    fit = fitted([GaussianFamily(), Categorical(3)], [np.arange(6.0) ** 2, x], y)
    assert fit.zero_cells() == [ZeroCell(1, 2, 1)]
    coefficients, se = fit.coefficients()[0], fit.standard_errors()[0]
    assert coefficients[4] == -np.inf and np.isnan(se[4])
    assert np.isfinite(se[:4]).all() and np.isfinite(coefficients[:4]).all()
    V = fit.covariance()
    assert np.isnan(V[4, [0, 3, 4]]).all() and np.isfinite(V[:4, :4]).all()
    joint = fit.log_joint([np.ones(1), np.array([2])])
    assert np.isfinite(joint[0, 0]) and joint[0, 1] == -np.inf
    assert np.isnan(fit.score_variance([np.ones(1), np.array([2])])[0, 1])
    assert np.isfinite(fit.score_variance([np.ones(1), np.array([1])])).all()
    psi = influence(fit, [np.arange(6.0) ** 2, x], y)
    parts = Parts(fit)
    robust = parts.collapsed(np.eye(parts.E))
    assert np.isnan(robust[4]).all() and np.isfinite(robust[:4, :4]).all() and np.isfinite(psi[:, :4]).all()
    smooth = fitted([GaussianFamily(), Categorical(3)], [np.arange(6.0) ** 2, x], y, smoothing=0.5)
    assert not smooth.zero_cells() and np.isfinite(smooth.standard_errors()).all()


def test_no_class_possible():
    fit = fitted(
        [Bernoulli(), Bernoulli()], [np.array([0, 0, 1, 1.0]), np.array([1, 1, 0, 0.0])], np.array([0, 0, 1, 1])
    )
    joint = fit.log_joint([np.ones(1), np.ones(1)])
    assert (joint == -np.inf).all()


def test_unusable_features_are_named_together():
    y = np.array([0, 0, 0, 1, 1, 1])
    values = [np.arange(6.0), np.array([1, 2, 3, 5, 5, 5.0]), np.array([np.nan] * 3 + [1, 2, 3]), np.full(6, 7.0)]
    with pytest.raises(UnusableFeatures) as error:
        fitted([GaussianFamily(), GaussianFamily(), Poisson(), Gamma()], values, y)
    assert [tuple(d) for d in error.value.defects] == [
        ("constant within a class", 1, 1),
        ("no observed value in a class", 2, 0),
        ("constant within a class", 3, 0),
        ("constant within a class", 3, 1),
    ]


def test_more_features_than_rows():
    g = np.random.default_rng(12)
    y, X = np.arange(40) % 2, g.normal(size=(40, 300))
    fit = fitted([GaussianFamily(300)], [X], y)
    joint = fit.log_joint([X])
    direct = np.log(0.5) + np.stack(
        [-0.5 * (np.log(2 * np.pi * v) + (X - m) ** 2 / v).sum(axis=1) for m, v in zip(*moments(X, y))], axis=1
    )
    assert_allclose(joint, direct, rtol=1e-12)
    assert fit.covariance().shape == (601, 601)


def moments(X, y):
    return [X[y == k].mean(axis=0) for k in (0, 1)], [X[y == k].var(axis=0) for k in (0, 1)]


def test_samples_follow_the_estimates():
    families, values, y, w = mixed(missing=False)
    fit = fitted(families, values, y, w, K=3)
    codes = np.repeat(np.arange(3), 20_000)
    draw = functools.partial(fit.sample, y=codes, totals={7: np.full(60_000, 5)})
    drawn = draw(np.random.default_rng(1))
    again = fitted(families, drawn, codes, K=3)
    error = (again.coefficients() - fit.coefficients()) / again.standard_errors()
    priors = fit.log_priors[1:] - fit.log_priors[0]
    error[:, 0] += priors / again.standard_errors()[:, 0]  # the classes were drawn evenly
    assert np.abs(error).max() < 4
    assert all(np.array_equal(a, b) for a, b in zip(drawn, draw(np.random.default_rng(1))))


@pytest.mark.parametrize("offset", [1e4, 1e8])
def test_origin_of_pooled_gaussians(offset):
    """The slopes of a pooled gaussian, and its variances of log-odds, do not feel the origin."""
    families, values, y, _ = iris(pooled=True)
    near, far = (fitted(families, [values[0] + shift], y, K=3) for shift in (0.0, offset))
    x = values[0][::10]
    assert_allclose(far.coefficients()[:, 1:], near.coefficients()[:, 1:], rtol=1e-15 * offset * 1e2)
    assert_allclose(
        far.log_odds_covariance([x + offset]), near.log_odds_covariance([x]), rtol=1e-15 * offset * 1e2, atol=1e-12
    )
