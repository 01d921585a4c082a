"""Probabilities, their complements and logarithms from scores of any size, against multi-precision arithmetic."""

import mpmath as mp
import numpy as np
import pytest

from glmclf.core.likelihood.pointwise import Multinomial
from glmclf.core.numerics.softmax import complements, log_softmax, softmax

SCORES = np.array([[0.0, -40, -50], [-700, 3, 2.5], [1e4, 1e4 - 1e-3, -np.inf], [-2, -2, -2], [5, 300, -900]])


def exact(of):
    """A function of the probabilities of all classes, by rows, with 500 digits, as doubles."""
    with mp.workdps(500):
        terms = [[mp.exp(mp.mpf(float(x))) for x in row] for row in SCORES]
        return np.array([[float(of(row[k] / mp.fsum(row))) for k in range(len(row))] for row in terms])


def log(p):
    return mp.log(p) if p else mp.mpf("-inf")


def test_log_probabilities_also_of_a_class_that_is_all_but_certain():
    np.testing.assert_allclose(log_softmax(SCORES), exact(log), rtol=1e-13)
    np.testing.assert_allclose(Multinomial.softmax(SCORES)[0], exact(log), rtol=1e-13)
    assert -1e-16 < log_softmax(SCORES)[0, 0] < 0


def test_probabilities_and_complements():
    np.testing.assert_allclose(softmax(SCORES), exact(lambda p: p), rtol=1e-13)
    np.testing.assert_allclose(Multinomial.softmax(SCORES)[1], exact(lambda p: p), rtol=1e-13)
    np.testing.assert_allclose(complements(SCORES), exact(lambda p: 1 - p), rtol=1e-13)
    np.testing.assert_allclose(Multinomial.softmax(SCORES)[2], exact(lambda p: 1 - p), rtol=1e-13)


def test_scores_stay_as_they_are_unless_they_may_be_overwritten():
    before = SCORES.copy()
    for function in (softmax, log_softmax, complements, Multinomial.softmax):
        function(SCORES)
        assert (SCORES == before).all()


@pytest.mark.parametrize("function", [softmax, log_softmax, complements])
def test_rows_without_a_probability_are_lost(function):
    with np.errstate(invalid="ignore"):
        assert np.isnan(function(np.array([[-np.inf, -np.inf], [np.nan, 0.0]]))).all()
