"""Records of tests, tails of distributions, and quantiles of weighted values."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from glmclf.core.numerics.quantiles import at_ranks
from glmclf.inference.hypotheses.records import (
    ChiSquareTest,
    LRTest,
    ScoreTest,
    WaldTest,
    chi_square_test,
    f_tail,
    f_test,
)


@pytest.mark.parametrize("record", [LRTest, WaldTest, ScoreTest])
def test_records_are_tuples_under_their_own_names(record):
    test = record(3.0, 0.5, 2)
    statistic, pvalue, df = test
    assert (statistic, pvalue, df) == (test.statistic, test.pvalue, test.df) == (3.0, 0.5, 2)
    assert repr(test) == f"{record.__name__}(statistic=3.0, pvalue=0.5, df=2)"
    assert type(pickle.loads(pickle.dumps(test))) is record and isinstance(test, ChiSquareTest)
    assert not hasattr(test, "__dict__")


def test_tail_of_f():
    F = np.array([0.0, 0.5, 3.0, 200.0, np.inf, np.nan])
    assert_allclose(f_tail(F, 3, 7.5), stats.f.sf(F, 3, 7.5), rtol=1e-12)
    for infinite in (np.inf, 1e13):
        assert_allclose(f_tail(F, 3, infinite), stats.chi2.sf(3 * F, 3), rtol=1e-12)
    assert f_tail(-1e-20, 3, 7.5) == f_tail(-1e-20, 3, np.inf) == 1.0
    assert_array_equal(f_tail(2.0, 3, np.array([4.0, 8.0])), [f_tail(2.0, 3, 4.0), f_tail(2.0, 3, 8.0)])


def test_tests_of_a_statistic():
    assert chi_square_test(-1e-17, 2).pvalue == 1.0
    assert_allclose(chi_square_test(5.0, 2).pvalue, stats.chi2.sf(5.0, 2))
    assert_allclose(f_test(0.3, 2.0, 3, 8).pvalue, stats.f.sf(2.0, 3, 8))
    assert np.isnan(f_test(0.3, 2.0, 3, 0)[1:5:3]).all()


def test_ranks_of_repeated_values():
    rng = np.random.default_rng(0)
    x, times, q = np.sort(rng.normal(size=30)), rng.integers(1, 5, 30), np.linspace(0, 1, 41)
    expected = np.quantile(np.repeat(x, times), q)
    assert_allclose(at_ranks(x, np.cumsum(times).astype(float), (times.sum() - 1) * q), expected, rtol=1e-12)
    tenths = np.cumsum(np.full(30, 0.1))  # which add up to a rounding more or less
    assert at_ranks(x, 10 * tenths, np.array([29.0]))[0] == x[-1]
