"""The state of a fit: what each kind of estimate answers, and what results are made of."""

import inspect

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from glmclf import Logit, MNLogit
from glmclf.errors import SeparationWarning
from glmclf.results.regression.binary import BinaryResults
from glmclf.results.regression.multinomial import MultinomialResults

FITS = {
    "plain": lambda model: model.fit(),
    "firth": lambda model: model.fit(bias_reduction="firth"),
    "median": lambda model: model.fit(bias_reduction="median"),
    "flic": lambda model: model.fit(bias_reduction="firth", flic=True),
    "constrained": lambda model: model.fit_constrained("x = z"),
    "ridge": lambda model: model.fit_regularized(0.1),
}


@pytest.fixture
def rng():
    return np.random.default_rng(11)


@pytest.fixture
def model(rng):
    table = pd.DataFrame(rng.normal(size=(80, 2)), columns=["x", "z"])
    table["y"] = (rng.uniform(size=80) < 1 / (1 + np.exp(-table.x))).astype(int)
    return Logit.from_formula("y ~ x + z", table)


@pytest.mark.parametrize(
    ("name", "maximum", "zero_score", "bias_reduction", "constraints", "free"),
    [
        ("plain", True, True, None, [], 3),
        ("firth", True, False, "firth", [], 3),
        ("median", False, False, "median", [], 3),
        ("flic", False, False, "firth", [], 3),
        ("constrained", True, True, None, ["x - z = 0"], 2),
    ],
)
def test_kinds_of_estimates_answer(model, name, maximum, zero_score, bias_reduction, constraints, free):
    state = FITS[name](model)._state
    found = state.estimate
    assert (found.is_maximum, found.has_zero_score, found.bias_reduction) == (maximum, zero_score, bias_reduction)
    assert found.constraints == constraints and state.free_count == free
    assert found.is_finite and not found.infinite.any() and not found.signs(np.eye(3)).any()
    R, q = found.equations
    assert len(R) == len(q) == len(constraints) and found.implies(R, q)
    fixed, values = found.fixed(np.vstack([R, [[1.0, 0.0, 0.0]]]))
    assert fixed.tolist() == [True] * len(R) + [False] and np.isnan(values[-1])
    assert bool(found.notes) == (name != "plain")


def test_infinite_estimates_answer(rng):
    table = pd.DataFrame({"x": rng.normal(size=40), "q": np.r_[np.zeros(20), np.ones(20)]})
    table["y"] = np.r_[(rng.uniform(size=20) < 0.5).astype(int), np.ones(20, dtype=int)]
    with pytest.warns(SeparationWarning):
        res = Logit.from_formula("y ~ x + q", table).fit()
    found = res._state.estimate
    assert not found.is_finite and found.has_limit and found.infinite.tolist() == [0, 0, 1]
    assert found.signs(np.array([[0.0, 1.0, 0.0], [0.0, 1.0, -2.0]])).tolist() == [0, -1]
    assert_array_equal(found.rules_out(res.model._rows.X, 2), found.ruled_out)
    res.remove_data()
    gone = res._state.estimate
    assert not gone.is_finite and not gone.has_limit and gone.ruled_out is None
    assert res.params["q"] == np.inf


@pytest.mark.parametrize("name", FITS)
def test_states_are_kept_in_files(model, name, tmp_path):
    res = FITS[name](model)
    res.save(tmp_path / "fit.json")
    other = type(res).load(tmp_path / "fit.json")
    assert type(other._state.estimate) is type(res._state.estimate) and type(other) is type(res)
    assert_array_equal(other._state.theta, res._state.theta)
    assert_array_equal(other._state.V, res._state.V)
    assert other.mle_retvals == res.mle_retvals


def test_states_are_not_changed(model):
    """Another covariance is another state; the estimate is the same object."""
    res = model.fit()
    before, bse = res._state, res.bse
    robust = res.with_cov("HC0")
    assert res._state is before and robust._state.estimate is before.estimate
    assert res.bse.equals(bse) and not robust.bse.equals(bse)
    with pytest.raises(AttributeError):
        res._state.inner = np.zeros(3)


@pytest.mark.parametrize("results", [BinaryResults, MultinomialResults])
def test_few_classes_stand_behind_results(results):
    own = [c for c in results.__mro__ if c.__module__.startswith("glmclf.") and "interop" not in c.__module__]
    assert len(own) <= 10, [c.__name__ for c in own]


def test_tests_of_the_likelihood_mean_no_other_mixin():
    from glmclf.results.regression import likelihood_tests

    assert "super()" not in inspect.getsource(likelihood_tests)


def test_a_shift_of_several_offsets(rng):
    table = pd.DataFrame({"x": rng.normal(size=90), "y": rng.choice(list("abc"), 90)})
    offset = np.column_stack([1e5 + rng.normal(size=90), rng.normal(size=90)])
    state = MNLogit.from_formula("y ~ x", table, offset=offset).fit()._state
    assert state.shift[0] > 9e4 and not state.shift[1:].any()
    np.testing.assert_allclose(state.finite_theta, state.inner - state.wide_shift)
