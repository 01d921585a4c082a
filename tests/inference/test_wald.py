"""Wald and likelihood-ratio tests: certified values, statsmodels, multi-precision tails, and what is not finite."""

import warnings

import mpmath
import numpy as np
import pandas as pd
import pytest
import references
from numpy.testing import assert_allclose
from properties.toys import close, fit

import glmclf
from glmclf import Logit
from glmclf.errors import InferenceWarning
from glmclf.inference.hypotheses.wald import (
    critical_value,
    intervals,
    linear_restrictions,
    lr_test,
    t_test,
    term_tests,
    wald_test,
    z_pvalues,
)

# theta and V are certified to 15 digits; inverting V costs log10 of its condition
RTOL = 1e-9


def estimate(name):
    values = references.reference(name)[0]["values"]
    return np.array(list(values["params"].values())), np.array(values["cov_params"]), list(values["params"]), values


@pytest.fixture(scope="module")
def statsmodels_fit():
    import statsmodels.formula.api as smf

    return smf.logit("GRADE ~ GPA + TUCE + PSI", references.reference("spector__logit")[1]).fit(disp=0)


def numbers(result):
    return np.asarray(result.params), np.asarray(result.cov_params())


def random_problem(p, seed=0):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((p, p))
    return rng.standard_normal(p), root @ root.T / p, rng


# ------------------------------------------------------------------------------------------- p-values and intervals


@pytest.mark.parametrize("z", [0.0, 0.3, -1.96, 8.0, -30.0, 37.5])
def test_normal_p_values_are_right_in_the_tail(z):
    with mpmath.workdps(40):
        exact = float(mpmath.erfc(abs(mpmath.mpf(z)) / mpmath.sqrt(2)))
    assert z_pvalues(z) == pytest.approx(exact, rel=1e-13, abs=0)


@pytest.mark.parametrize("df", [1, 3, 28, 200])
@pytest.mark.parametrize("t", [0.3, -2.0, 40.0, 1e5])
def test_t_p_values_are_right_in_the_tail(t, df):
    with mpmath.workdps(40):
        x = mpmath.mpf(df) / (df + mpmath.mpf(t) ** 2)
        exact = float(mpmath.betainc(mpmath.mpf(df) / 2, mpmath.mpf(1) / 2, 0, x, regularized=True))
    assert z_pvalues(t, df) == pytest.approx(exact, rel=1e-12, abs=1e-300)


def test_p_values_of_what_is_not_finite():
    assert z_pvalues([np.nan, np.inf, -np.inf]).tolist()[1:] == [0.0, 0.0]
    assert np.isnan(z_pvalues(np.nan))


def test_intervals():
    low, high = intervals([1.0, np.nan, np.inf], [2.0, 1.0, np.nan], alpha=0.1).T
    assert (low[0], high[0]) == (pytest.approx(1 - 2 * 1.6448536269514722), pytest.approx(1 + 2 * 1.6448536269514722))
    assert np.isnan([low[1:], high[1:]]).all()
    assert critical_value(0.05, df=3) == pytest.approx(3.182446305284263, rel=1e-13)
    with mpmath.workdps(30):
        # 1 - alpha/2 would round to 1
        assert float(mpmath.erfc(critical_value(1e-20) / mpmath.sqrt(2))) == pytest.approx(1e-20, rel=1e-11)


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 95, np.nan, "five", None])
def test_alpha_outside_of_its_range(alpha):
    with pytest.raises(ValueError, match="between 0 and 1"):
        intervals([1.0], [1.0], alpha=alpha)


# ------------------------------------------------------------------------------------------------------------ t_test


@pytest.mark.parametrize("df", [None, 28])
def test_t_test_is_statsmodels(statsmodels_fit, df):
    theta, V = numbers(statsmodels_fit)
    R, q = np.array([[0, 1, 0, 0], [0, 1, -2, 0.5]]), np.array([0.0, 1.5])
    ours, theirs = t_test(theta, V, R, q, df=df), statsmodels_fit.t_test((R, q), use_t=df is not None)
    for name in ("effect", "sd", "statistic", "tvalue", "pvalue"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-12)
    np.testing.assert_allclose(ours.conf_int(0.1), theirs.conf_int(0.1), rtol=1e-12)
    assert str(ours) == str(theirs)
    pd.testing.assert_frame_equal(ours.summary_frame(), theirs.summary_frame(), rtol=1e-12)
    assert ours.distribution == theirs.distribution


def test_t_test_of_one_row_has_flat_arrays():
    theta, V, _ = random_problem(3)
    test = t_test(theta, V, np.array([1.0, 0, 0]), 2.0)
    assert test.effect.shape == test.sd.shape == test.statistic.shape == (1,)
    assert test.effect[0] == theta[0]
    assert test.statistic[0] == pytest.approx((theta[0] - 2) / np.sqrt(V[0, 0]), rel=1e-14)
    assert "c0" in str(test)


def test_coefficients_that_are_not_finite_spoil_their_own_rows_only():
    theta, V, _ = random_problem(4)
    whole = t_test(theta, V, np.eye(4))
    theta[1], theta[2] = np.inf, np.nan
    V[[1, 2]] = V[:, [1, 2]] = np.nan
    test = t_test(theta, V, np.vstack([np.eye(4), [1, 0, 0, -1], [1, 1, 0, 0]]))
    assert np.isnan(test.statistic[[1, 2, 5]]).all() and np.isnan(test.sd[[1, 2, 5]]).all()
    np.testing.assert_allclose(test.statistic[[0, 3]], whole.statistic[[0, 3]], rtol=1e-14)
    assert np.isfinite(test.pvalue[4])
    assert test.effect[1] == np.inf and np.isnan(test.effect[2])


def test_a_variance_lost_in_rounding_is_not_reported():
    V = np.full((2, 2), 1 / 3)
    V[0, 1] = V[1, 0] = np.nextafter(1 / 3, 0)  # var(b0 - b1) is 1e-16 of rounding
    assert np.isnan(t_test(np.array([1.0, 2.0]), V, np.array([1.0, -1.0])).sd[0])
    exact = t_test(np.array([1.0, 1.0]), np.full((2, 2), 0.25), np.array([1.0, -1.0]))
    assert exact.sd[0] == 0 and np.isnan(exact.statistic[0])


@pytest.mark.parametrize(
    ("R", "q", "message"),
    [
        (np.eye(3), None, "one column for each of the 4"),
        (np.eye(4), [1.0, 2.0], "2 right-hand sides for 4"),
        (np.full((1, 4), np.nan), None, "NaN or infinite"),
        (np.ones((1, 4)), np.inf, "NaN or infinite"),
        (np.empty((0, 4)), None, "shape"),
    ],
)
def test_hypotheses_that_do_not_fit(R, q, message):
    theta, V, _ = random_problem(4)
    for test in (t_test, wald_test):
        with pytest.raises(ValueError, match=message):
            test(theta, V, R, q)


# --------------------------------------------------------------------------------------------------------- wald_test


def test_wald_test_is_statsmodels(statsmodels_fit):
    theta, V = numbers(statsmodels_fit)
    R, q = np.array([[0, 1, 0, 0], [0, 1, -2, 0.5]]), np.array([0.0, 1.5])
    for use_f in (False, True):
        ours = wald_test(theta, V, R, q, use_f=use_f, df=28)
        theirs = statsmodels_fit.wald_test((R, q), use_f=use_f, scalar=True)
        assert ours.statistic == pytest.approx(theirs.statistic, rel=1e-12)
        assert ours.pvalue == pytest.approx(theirs.pvalue, rel=1e-12)
        assert ours.df_denom == theirs.df_denom
        head = [str(test).replace("(", " ").split(",")[0][:25] for test in (ours, theirs)]
        assert head[0] == head[1] and "p" in str(ours)
    assert ours.df_num == 2
    assert wald_test(theta, V, R, q, scalar=False).statistic.shape == (1, 1)


def test_wald_p_value_far_in_the_tail():
    test = wald_test(np.array([30.0, 20.0]), np.eye(2), np.eye(2))
    assert test.pvalue == pytest.approx(np.exp(-650), rel=1e-12)  # chi-squared with 2 df: exp(-x/2)


@pytest.mark.parametrize("scale", [1.0, 1e8, 1e-9])
def test_redundant_rows_do_not_count(scale):
    theta, V, rng = random_problem(5)
    R = rng.standard_normal((2, 5))
    q = rng.standard_normal(2)
    more = np.vstack([R, R[0] + R[1], 2 * R[0]]) * scale
    plain = wald_test(theta, V, R, q)
    test = wald_test(theta, V, more, np.array([*q, q[0] + q[1], 2 * q[0]]) * scale)
    assert test.df_denom == plain.df_denom == 2
    assert test.statistic == pytest.approx(plain.statistic, rel=1e-10)


def test_contradicting_rows():
    theta, V, _ = random_problem(3)
    R = np.array([[1.0, 0, 0], [0, 1, 0], [1, 1, 0]])
    with pytest.raises(ValueError, match="row 2 follows from other rows"):
        wald_test(theta, V, R, [0.0, 0.0, 1.0])
    with pytest.raises(ValueError, match="row 1 of the hypothesis is all zeros"):
        wald_test(theta, V, np.diag([1.0, 0, 1]))


def test_rows_are_independent_or_not_by_exact_rank():
    rng = np.random.default_rng(5)
    R = rng.integers(-2, 3, (30, 12)).astype(float)
    R = R[(R != 0).any(axis=1)]
    kept, _ = linear_restrictions(R, np.zeros(len(R)))
    assert len(kept) == np.linalg.matrix_rank(R) == np.linalg.matrix_rank(kept)
    assert len(linear_restrictions(np.eye(300), np.zeros(300))[0]) == 300


def test_scale_of_a_regressor_does_not_matter():
    theta, V, _ = random_problem(4)
    D = np.diag([1.0, 1e-12, 1e9, 1.0])
    plain = wald_test(theta, V, np.eye(4))
    test = wald_test(D @ theta, D @ V @ D, np.eye(4))
    assert test.statistic == pytest.approx(plain.statistic, rel=1e-9)


def test_a_covariance_without_the_rank_says_so():
    rng = np.random.default_rng(2)
    scores = rng.standard_normal((3, 6))  # three clusters, six coefficients
    V = scores.T @ scores
    theta = rng.standard_normal(6)
    with pytest.raises(ValueError, match="6 independent restrictions.*rank 3.*cluster"):
        wald_test(theta, V, np.eye(6))
    assert np.isfinite(wald_test(theta, V, np.eye(6)[:3]).statistic)


def test_joint_test_of_what_is_not_finite_is_nan():
    theta, V, _ = random_problem(3)
    rest = wald_test(theta, V, np.eye(3)[[0, 2]]).statistic
    theta[1] = -np.inf
    V[1] = V[:, 1] = np.nan
    for use_f in (False, True):
        test = wald_test(theta, V, np.eye(3), use_f=use_f, df=10)
        assert np.isnan(test.statistic) and np.isnan(test.pvalue)
    assert wald_test(theta, V, np.eye(3)[[0, 2]]).statistic == pytest.approx(rest, rel=1e-13)


def test_an_f_test_needs_its_degrees_of_freedom():
    theta, V, _ = random_problem(2)
    with pytest.raises(ValueError, match="denominator degrees of freedom"):
        wald_test(theta, V, np.eye(2), use_f=True)


# -------------------------------------------------------------------------------------------------------- term tests


@pytest.mark.parametrize("name", ["birthwt__logit", "birthwt__probit"])
def test_terms_have_the_certified_statistics(name):
    theta, V, names, _ = estimate(name)
    expected = references.reference(f"{name}_anova")[0]["values"]["type3_wald"]
    terms = {term: np.array([i for i, n in enumerate(names) if n.split("[")[0] == term]) for term in expected}
    tests = term_tests(theta, V, terms)
    for i, term in enumerate(tests.names):
        assert tests.df_constraint[i] == expected[term]["df"]
        assert tests.statistic[i] == pytest.approx(expected[term]["chi2"], rel=RTOL)
        assert tests.pvalue[i] == pytest.approx(expected[term]["pvalue"], rel=RTOL)


ANOVA = [name for name in references.names("anova") if not name.endswith("_sum")]


@pytest.mark.parametrize("name", ANOVA)
def test_terms_of_fits(name):
    expected = references.reference(name)[0]["values"]["type3_wald"]
    table = references.fitted(name.removesuffix("_anova")).wald_test_terms(skip_constant=True).table
    assert sorted(table.index) == sorted(expected)
    for term, row in table.iterrows():
        assert row["df_constraint"] == expected[term]["df"]
        assert row["statistic"] == pytest.approx(expected[term]["chi2"], rel=RTOL)
        assert row["pvalue"] == pytest.approx(expected[term]["pvalue"], rel=RTOL)


@pytest.mark.parametrize("cov_type", ["nonrobust", "HC0"])
def test_hypotheses_of_fits_are_statsmodels(cov_type):
    import statsmodels.formula.api as smf

    _, data = references.reference("birthwt__logit")
    formula = "low ~ age + lwt + C(race) + smoke"
    theirs = smf.logit(formula, data).fit(disp=0, cov_type=cov_type)
    ours = glmclf.Logit.from_formula(formula, data).fit(cov_type=cov_type)
    for hypothesis in ("age = 0", "age = lwt, smoke = 1, C(race)[T.2] = C(race)[T.3]", np.eye(6)[2:4]):
        assert str(ours.t_test(hypothesis)) == str(theirs.t_test(hypothesis))
        for use_f in (False, True):
            tests = [res.wald_test(hypothesis, use_f=use_f, scalar=True) for res in (ours, theirs)]
            assert tests[0].statistic == pytest.approx(tests[1].statistic, rel=1e-8)
            assert tests[0].pvalue == pytest.approx(tests[1].pvalue, rel=1e-8)
            assert tests[0].df_denom == tests[1].df_denom
    np.testing.assert_allclose(ours.wald_test_terms().table, theirs.wald_test_terms(scalar=True).table, rtol=1e-8)


def test_terms_by_slices_and_with_f():
    theta, V, _ = random_problem(4)
    terms = {"Intercept": slice(0, 1), "x": slice(1, 2), "g": slice(2, 4)}
    tests = term_tests(theta, V, terms, use_f=True, df=20)
    joint = wald_test(theta, V, np.eye(4)[2:], use_f=True, df=20)
    assert tests.df_denom == 20 and tests.df_constraint.tolist() == [1, 1, 2]
    assert (tests.statistic[2], tests.pvalue[2]) == (pytest.approx(joint.statistic), pytest.approx(joint.pvalue))
    assert term_tests(theta, V, terms, skip_constant=True).names == ["x", "g"]
    assert term_tests(theta, V, terms, skip_single=True).names == ["g"]


def test_omitted_coefficients_are_no_restrictions():
    theta, V, _ = random_problem(4)
    plain = wald_test(theta, V, np.eye(4)[[1, 3]])
    theta[2] = np.nan
    V[2] = V[:, 2] = np.nan
    omitted = np.array([False, False, True, False])
    terms = {"g": slice(1, 4), "h": slice(2, 3)}
    tests = term_tests(theta, V, terms, omitted=omitted)
    assert tests.df_constraint.tolist() == [2, 0]
    assert tests.statistic[0] == pytest.approx(plain.statistic, rel=1e-13)
    assert np.isnan([tests.statistic[1], tests.pvalue[1]]).all()
    assert np.isnan(term_tests(theta, V, terms).statistic).all()  # NaN for another reason: no test of part of the term


def test_a_term_beyond_the_rank_of_the_covariance_warns():
    rng = np.random.default_rng(2)
    scores = rng.standard_normal((2, 4))
    theta = rng.standard_normal(4)
    with pytest.warns(InferenceWarning, match="no joint test of g "):
        tests = term_tests(theta, scores.T @ scores, {"x": slice(0, 1), "g": slice(1, 4)})
    assert np.isfinite(tests.pvalue[0]) and np.isnan(tests.pvalue[1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        term_tests(theta, scores.T @ scores, {"x": slice(0, 1)})


# ---------------------------------------------------------------------------------------------- likelihood-ratio test


def test_likelihood_ratio():
    values = references.reference("spector__logit")[0]["values"]
    test = lr_test(values["llf"], values["llnull"], 3)
    assert test.statistic == pytest.approx(values["llr"], rel=1e-13)
    assert test.pvalue == pytest.approx(values["llr_pvalue"], rel=1e-12)
    assert lr_test(0.0, -700.0, 2).pvalue == pytest.approx(np.exp(-700), rel=1e-11)


def test_likelihood_ratio_at_its_limits():
    assert lr_test(-10.0, -10.0 + 1e-13, 1) == (0.0, 1.0, 1)
    assert np.isnan(lr_test(-10.0, -10.0, 0).pvalue)
    assert np.isnan(lr_test(np.nan, -10.0, 2).pvalue)
    with pytest.raises(ValueError, match="not nested"):
        lr_test(-11.0, -10.0, 1)
    with pytest.raises(ValueError, match="exchange"):
        lr_test(-10.0, -11.0, -1)


# ------------------------------------------------------------------------------------------- ill-conditioned designs
def powers(model, degree, half):
    """A polynomial around 1000, and the same in a basis that is well-conditioned; its numbers are exact in doubles."""
    rng = np.random.default_rng(1)
    u = rng.integers(-8, 9, 200) / 8.0
    y = (rng.random(200) < 1 / (1 + np.exp(0.3 * u**2 - u))).astype(int)
    y = y + (rng.random(200) < 0.3) if model == "MNLogit" else y
    return [getattr(glmclf, model)(y, np.vander(v, degree + 1, increasing=True)).fit() for v in (1000 + half * u, u)]


@pytest.mark.parametrize("degree, half, rtol", [(2, 64, 1e-10), (3, 64, 1e-8), (4, 64, 1e-6), (5, 16, 1e-4)])
def test_joint_tests_keep_their_digits(degree, half, rtol):
    """Slopes, and the highest powers, are zero in both bases or in none."""
    raw, centred = powers("Logit", degree, half)
    R = np.eye(degree + 1)
    for rows in (R[1:], R[2:], R[-1:]):
        close(raw.wald_test(rows).statistic, centred.wald_test(rows).statistic, rtol)
        close(raw.f_test(rows).statistic, centred.f_test(rows).statistic, rtol)


def test_joint_tests_of_several_equations_keep_their_digits():
    raw, centred = powers("MNLogit", 4, 64)
    R = np.delete(np.eye(10), [0, 5], axis=0)
    close(raw.wald_test(R).statistic, centred.wald_test(R).statistic, 1e-6)
    close(raw.combine_test(1, 2).statistic, centred.combine_test(1, 2).statistic, 1e-6)


def test_terms_keep_their_digits():
    raw, centred = powers("Logit", 5, 16)
    t = pd.DataFrame({"y": raw.model.endog, "u": np.asarray(centred.model.exog)[:, 1]})
    t["x"] = 1000 + 16 * t.u
    a, b = (Logit.from_formula(f"y ~ np.vander({v}, 6)[:, :5]", t).fit() for v in "xu")
    close(a.wald_test_terms().table["statistic"].iloc[1], b.wald_test_terms().table["statistic"].iloc[1], 1e-4)
    for kind in (1, 2, 3):
        close(a.anova(kind, "wald").statistic, b.anova(kind, "wald").statistic, 1e-4)


def test_combinations_of_mixed_units():
    """x + y = 0 and x - y = 0 where y is known 1e12 times better than x: the test of x = 0 and y = 0."""
    V, theta = np.diag([1e12, 1e-12]), np.array([2e6, 3e-6])
    assert_allclose(wald_test(theta, V, [[1.0, 1.0], [1.0, -1.0]]).statistic, 13.0, rtol=1e-6)
    assert_allclose(wald_test(theta, V, [[1.0, 0.0], [0.0, 1.0]], [1e6, 1e-6]).statistic, 5.0, rtol=1e-12)


def test_one_restriction_in_words():
    with pytest.raises(ValueError, match="^1 restriction, but"):
        wald_test(np.ones(2), np.diag([1.0, 0.0]), [[0.0, 1.0]])
    with pytest.raises(ValueError, match="not positive semi-definite"):
        wald_test(np.ones(2), np.diag([1.0, -1.0]), [[0.0, 1.0]])
    with pytest.raises(ValueError, match="not positive semi-definite"):
        wald_test(np.ones(2), np.array([[1.0, 2.0], [2.0, 1.0]]), np.eye(2))


@pytest.mark.filterwarnings("ignore:.*Few clusters")
@pytest.mark.filterwarnings("ignore:.*no joint test")
@pytest.mark.parametrize("kind", [1, 2, 3])
def test_terms_that_few_clusters_cannot_test(kind):
    res = fit("Logit", "y ~ x1 + g + x2")
    with pytest.warns(InferenceWarning, match="no joint test of g"):
        table = res.with_cov("cluster", groups=np.arange(160) % 2).anova(kind, "wald")
    assert np.isnan(table.loc["g", ["statistic", "pvalue"]]).all() and table.df["g"] == 2
    if kind == 3:
        assert table.loc[["x1", "x2"]].notna().all(axis=None)


# ------------------------------------------------------------------------------- covariances of too low a rank
def by_clusters(name, formula, seed, clusters):
    """A fit to noise with a covariance by few clusters."""
    generator, n = np.random.default_rng(seed), 90
    table = pd.DataFrame(generator.normal(size=(n, 3)), columns=["x", "z", "u"]).assign(g=np.arange(n) % 3)
    table["y"] = generator.choice([0, 1, 2] if name in ("MNLogit", "LDA") else [0, 1], n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)
        options = {"cov_type": "cluster", "cov_kwds": {"groups": np.arange(n) % clusters}}
        return getattr(glmclf, name).from_formula(formula, table).fit(**options)


@pytest.mark.filterwarnings("ignore:.*no joint test")
@pytest.mark.parametrize("seed", [3, 5])
@pytest.mark.parametrize(("formula", "clusters"), [("y ~ x + z", 2), ("y ~ x + z + u", 2), ("y ~ x + z + u", 3)])
def test_sequential_tests_that_few_clusters_cannot_give(formula, clusters, seed):
    """Of clusters less one combinations the last terms alone have a test: x given the others is 0/0."""
    for name in ("Logit", "Probit"):
        res = by_clusters(name, formula, seed, clusters)
        with pytest.warns(InferenceWarning, match="no joint test of x"):
            table = res.anova(type=1, test="wald")
        possible = np.arange(len(table)) >= len(table) - (clusters - 1)
        assert (table.statistic.notna() == possible).all() and (table.pvalue.notna() == possible).all()
        V, theta = res.cov_params().to_numpy(), res.params.to_numpy()
        last = theta[-1] ** 2 / V[-1, -1]
        assert table.statistic.iloc[-1] == pytest.approx(last, rel=1e-10)


@pytest.mark.parametrize("clusters", [2, 3, 4])
@pytest.mark.parametrize("name", ["Logit", "MNLogit", "LDA"])
def test_joint_tests_of_more_than_the_clusters_allow(name, clusters):
    for seed in range(3):
        res = by_clusters(name, "y ~ x + z + u", seed, clusters)
        res = res.discriminant if name == "LDA" else res
        p, generator = len(res.cov_params()), np.random.default_rng(seed)
        for R in (np.eye(p)[:clusters], generator.normal(size=(clusters, p))):
            with pytest.raises(ValueError, match="covariance matrix of what is tested has rank"):
                res.wald_test(R)
            with pytest.raises(ValueError, match="covariance matrix of what is tested has rank"):
                res.f_test(R)


def test_a_null_combination_has_no_test():
    """V = v v': r with r'v = 0 has the variance of rounding alone."""
    v = np.array([0.3, -0.7, 0.11])
    r = np.array([0.7, 0.3, 0.0])
    with pytest.raises(ValueError, match="rank"):
        wald_test(np.array([1.0, 2.0, 3.0]), np.outer(v, v), r)
    assert wald_test(np.array([1.0, 2.0, 3.0]), np.outer(v, v), [0, 0, 1.0]).statistic == pytest.approx(9 / 0.0121)


@pytest.mark.parametrize("reps", [3, 4])
def test_few_replications(reps):
    generator = np.random.default_rng(1)
    table = pd.DataFrame(generator.normal(size=(80, 4)), columns=list("abcd"))
    table["y"] = generator.integers(0, 2, 80)
    model = glmclf.Logit.from_formula("y ~ a + b + c + d", table)
    words = f"of {reps} replications has rank {reps - 1} at most.*Use reps="
    with pytest.warns(InferenceWarning, match=words) as caught:
        res = model.fit(cov_type="bootstrap", cov_kwds={"reps": reps, "seed": 1})
    assert not [w for w in caught if "fitted perfectly" in str(w.message)]
    with pytest.warns(InferenceWarning, match="no joint test"):
        table = res.anova(type=1, test="wald")
    assert (table.statistic.notna() == (np.arange(4) > 4 - reps)).all()
    with pytest.raises(ValueError, match="rank"):
        res.wald_test(np.eye(5)[:reps])
