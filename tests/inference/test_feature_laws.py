"""Distances of laws from data: Stephens' published points, closed forms, and Wishart determinants by simulation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from glmclf.inference.generative import laws
from glmclf.inference.residuals.uniform import averaged_transform, kolmogorov_smirnov

TABLE = 0.1  # of the level: tails are drawn through two points of the table
STEPHENS = {  # Stephens (1974), JASA 69, table 1A, cases of a normal law and an exponential law that are estimated
    "gaussian": {0.15: 0.775, 0.10: 0.819, 0.05: 0.895, 0.025: 0.955, 0.01: 1.035},
    "exponential": {0.15: 0.926, 0.10: 0.990, 0.05: 1.094, 0.025: 1.190, 0.01: 1.308},
}


@pytest.mark.parametrize("family", STEPHENS)
def test_pvalues_of_distances(family):
    n = 1e8  # the modified statistic is root n times the distance
    for level, point in STEPHENS[family].items():
        assert_allclose(laws.pvalue_of_distance(point / np.sqrt(n), n, family), level, rtol=TABLE + 1e-3)


def test_distance_is_that_of_scipy():
    x = np.random.default_rng(1).normal(size=50).round(1)
    F = stats.norm.cdf(x)
    assert_allclose(laws.distance(x, np.ones(50), F), stats.kstest(x, "norm").statistic, rtol=1e-12)
    times = np.arange(1, 51) % 3 + 1
    repeated = x.repeat(times)
    assert_allclose(
        laws.distance(x, times.astype(float), F),
        laws.distance(repeated, np.ones(len(repeated)), stats.norm.cdf(repeated)),
        rtol=1e-12,
    )


def test_distance_of_a_law_with_steps():
    x = np.array([0.0, 0.0, 1.0, 1.0])
    F, before = np.array([0.5, 0.5, 1.0, 1.0]), np.array([0.0, 0.0, 0.5, 0.5])
    assert laws.distance(x, np.ones(4), F, before) == 0.0


def test_dispersion_of_counts():
    x = np.array([3.0, 5.0, 0.0, 4.0, 9.0, 1.0])
    ratio, p = laws.dispersion_test(x, np.ones(6), x.mean())
    assert_allclose(ratio, x.var(ddof=1) / x.mean(), rtol=1e-12)
    tail = stats.chi2(5).sf(5 * ratio)
    assert_allclose(p, 2 * min(tail, 1 - tail), rtol=1e-12)


def test_law_of_log_determinants():
    rng = np.random.default_rng(2)
    found = [np.linalg.slogdet(np.cov(rng.normal(size=(12, 3)), rowvar=False))[1] for _ in range(4000)]
    bias, sd = laws.log_determinant_law(12, 3)
    assert abs(np.mean(found) - bias) < 4 * sd / np.sqrt(4000)
    assert_allclose(np.std(found), sd, rtol=0.06)


def test_averaged_transforms():
    # y = 0 and 1 with p = 1/4 in one row of four: uniform numbers between 0 and 3/4, and between 3/4 and 1
    low, high = np.array([0.0, 0.0, 0.0, 0.75]), np.array([0.75, 0.75, 0.75, 1.0])
    at = np.array([0.3, 0.75, 0.9])
    assert_allclose(averaged_transform(low, high, at), at, rtol=1e-12)
    assert_allclose(kolmogorov_smirnov(1.3581 / np.sqrt(1e8), 1e8), 0.05, rtol=1e-3)  # Smirnov's table
