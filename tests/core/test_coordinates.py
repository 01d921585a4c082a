"""Coordinates of a fit: columns left out, a shift, and the way back."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from glmclf.core.fit.coordinates import Coordinates, from_basis, into_basis
from glmclf.core.fit.estimate import Estimate
from glmclf.core.fit.solvers.loop import Fit
from glmclf.core.likelihood.objective import Evaluation


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def test_columns_go_one_after_another():
    """Combinations are by place among the columns that are left, and end at columns of all that are."""
    first = Coordinates(5, 2).without({3: {1: 2.0, 2: 1.0}})
    assert first.omitted == {3: {1: 2.0, 2: 1.0}} and first.columns.tolist() == [0, 1, 2, 4]
    second = first.without({2: {0: 3.0}})  # column 2 equals 3 times column 0, so that column 3 has 6 of it
    assert second.omitted == {2: {0: 3.0}, 3: {0: 3.0, 1: 2.0}}
    assert second.columns.tolist() == [0, 1, 4] and second.places.tolist() == [0, 1, 4, 5, 6, 9]
    assert first.without({3: {0: 1.0}}).omitted == {3: {1: 2.0, 2: 1.0}, 4: {0: 1.0}}


def test_nothing_is_left_out_at_first():
    all_of_them = Coordinates(3, 2)
    assert all_of_them.places.tolist() == list(range(6)) and not all_of_them.shift.any()
    basis = np.triu(np.ones((3, 3)))
    assert all_of_them.wide_basis(basis) is basis and all_of_them.narrow_basis(basis) is basis


def test_numbers_of_the_columns_left_among_all(rng):
    coordinates = Coordinates(3, 2).without({1: {0: 1.0}})
    theta, V = rng.normal(size=4), rng.normal(size=(4, 4))
    wide = coordinates.spread(theta)
    assert_array_equal(wide[coordinates.places], theta)
    assert not np.delete(wide, coordinates.places).any() and len(wide) == coordinates.size == 6
    assert_array_equal(coordinates.wide(V)[np.ix_(coordinates.places, coordinates.places)], V)


def test_a_shift_in_a_basis(rng):
    basis, shift = np.triu(rng.normal(size=(2, 2))) + 3.0 * np.eye(2), np.array([5.0, 0.0, 7.0, 0.0])
    coordinates = Coordinates(3, 2).without({1: {0: 1.0}}).shifted(shift)
    assert_array_equal(coordinates.moved(None), coordinates.spread(shift))
    assert_array_equal(coordinates.moved(basis), coordinates.spread(into_basis(basis, shift)))
    np.testing.assert_allclose(from_basis(basis, into_basis(basis, shift)), shift, atol=1e-15)
    assert_array_equal(coordinates.narrow_basis(coordinates.wide_basis(basis)), basis)


def test_an_estimate_goes_there_and_back(rng):
    coordinates = Coordinates(3, 1).without({0: {2: 1.0}})
    fit = Fit(rng.normal(size=2), Evaluation(-1.0, rng.normal(size=2), np.eye(2)), 3, True, "converged", 0.0)
    found = Estimate(fit, np.triu(rng.normal(size=(2, 2))))
    wide = found.widened(coordinates)
    assert wide.omitted == coordinates.omitted and wide.fit.theta[0] == 0.0 and wide.basis[0, 0] == 1.0
    back = wide.narrow(coordinates)
    assert_array_equal(back.fit.theta, fit.theta)
    assert_array_equal(back.fit.evaluation.information, fit.evaluation.information)
    assert_array_equal(back.basis, found.basis)
    assert found.widened(Coordinates(2, 1)) is found and found.restored(np.zeros(2)) is found
