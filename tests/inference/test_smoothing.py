"""Local lines against statsmodels' lowess, normal order statistics against scipy's beta distribution."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from glmclf.inference.performance.smoothing import local_lines
from glmclf.inference.residuals.quantile import order_statistics


@pytest.mark.parametrize("span", [0.3, 2 / 3, 1.0])
def test_without_weights_it_is_lowess(span):
    from statsmodels.nonparametric.smoothers_lowess import lowess

    rng = np.random.default_rng(0)
    x, y = np.sort(rng.uniform(size=40)), rng.normal(size=40)
    expected = lowess(y, x, frac=span, it=0, return_sorted=False)
    assert_allclose(local_lines(x, y, x, span=span), expected, rtol=1e-11, atol=1e-12)


def test_a_weight_is_so_many_points():
    rng = np.random.default_rng(1)
    x, y, w = rng.normal(size=20), rng.normal(size=20), rng.integers(0, 4, 20)
    at, w[[x.argmin(), x.argmax()]] = np.array([-0.5, 0.1, 0.9]), 1
    many = local_lines(np.repeat(x, w), np.repeat(y, w), at, span=1.0)
    assert_allclose(local_lines(x, y, at, w.astype(float), span=1.0), many, rtol=1e-11)


def test_a_line_is_kept_and_ties_are_averaged():
    x = np.array([1.0, 2, 4, 8, 9])
    w = np.array([1.0, 5, 1, 2, 1])
    assert_allclose(local_lines(x, 3 - 2 * x, np.array([1.0, 5.0]), w, span=1.0), [1, -7], rtol=1e-12)
    assert_allclose(local_lines(np.full(4, 1e8), np.arange(4.0), np.array([1e8, 0.0])), [1.5, 1.5])
    assert np.isnan(local_lines(x, x, np.array([1.0]), np.zeros(5))).all()


def test_order_statistics():
    ranks = np.array([1, 3, 7, 12])
    uniform = stats.beta(ranks, 13 - ranks)
    expected = stats.norm.ppf(np.column_stack([uniform.median(), uniform.ppf(0.05), uniform.ppf(0.95)]))
    assert_allclose(order_statistics(ranks, 12, 0.1), expected, rtol=1e-10, atol=1e-14)
    n = 10**7
    assert_allclose(order_statistics(np.array([n]), n, 0.1), -order_statistics(np.array([1]), n, 0.1)[:, [0, 2, 1]])
