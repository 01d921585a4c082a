"""Objectives as functions of fewer or other parameters: value by plain numpy, derivatives by differences of it."""

import numpy as np
import pytest

from glmclf.core.design.dense import Dense
from glmclf.core.fit.restricted import Selected, Within
from glmclf.core.likelihood.objective import MultinomialObjective
from glmclf.core.likelihood.pointwise import Multinomial
from glmclf.core.penalised.problem import ByClass, ClassCoding
from glmclf.core.rows.blocks import Blocks

RNG = np.random.default_rng(3)
X = np.column_stack([np.ones(30), RNG.normal(size=(30, 2))])
CLASSES = RNG.integers(0, 3, 30)
OBJECTIVE = MultinomialObjective(Multinomial(3), Blocks(Dense(X), CLASSES, None, None, None))
Q, ORIGIN, PLACES = RNG.normal(size=(6, 2)), RNG.normal(size=6), np.array([4, 1, 2])
CONTRASTS = np.array([[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]])


def loglike(B):
    """Log-likelihood of coefficients of each class, (3, 3)."""
    z = X @ B.T
    return float((z[np.arange(30), CLASSES] - np.log(np.exp(z).sum(axis=1))).sum())


def of_equations(theta):
    return loglike(np.vstack([np.zeros(3), theta.reshape(2, 3)]))


def with_held(eta):
    theta = ORIGIN.copy()
    for place, value in zip(PLACES, eta, strict=True):
        theta[place] = value
    return of_equations(theta)


MAPS = {
    "subspace": (Within(OBJECTIVE, Q, ORIGIN), 2, lambda eta: of_equations(ORIGIN + Q @ eta)),
    "some": (Selected(OBJECTIVE, PLACES, ORIGIN), 3, with_held),
    "classes": (
        ByClass(OBJECTIVE, ClassCoding.symmetric(CONTRASTS, np.zeros(3, dtype=bool))),
        9,
        lambda b: loglike(b.reshape(3, 3)),
    ),
}


@pytest.mark.parametrize("name", MAPS)
def test_derivatives_along_the_map(name):
    part, size, value = MAPS[name]
    eta, steps, h = 0.3 * np.random.default_rng(5).normal(size=size), np.eye(size), 1e-5
    e, g = part(eta), part.gradient(eta)
    assert e.value == pytest.approx(value(eta), rel=1e-13) and g.value == pytest.approx(e.value, rel=1e-13)
    slopes = [(value(eta + h * s) - value(eta - h * s)) / (2 * h) for s in steps]
    np.testing.assert_allclose(e.score, slopes, atol=1e-7)
    np.testing.assert_allclose(g.score, e.score, atol=1e-12)
    curvature = [(part.gradient(eta - h * s).score - part.gradient(eta + h * s).score) / (2 * h) for s in steps]
    np.testing.assert_allclose(e.information, curvature, atol=1e-7)
