"""The certificate of a finite maximum: true of no separated data, and of nearly all others at their maxima."""

import numpy as np
import pytest
from core import exact, test_counting
from core.every_link import LINKS
from mpmath import mp

from glmclf.core.design.dense import Dense
from glmclf.core.fit.estimate import estimate
from glmclf.core.likelihood.links import LogitLink, ProbitLink
from glmclf.core.likelihood.objective import Objective
from glmclf.core.likelihood.pointwise import Binomial
from glmclf.core.rows.blocks import Blocks
from glmclf.core.separation import outcomes
from glmclf.core.separation.certificate import has_maximum

GRID = np.arange(-12.0, 3.5, 0.5)  # beyond which 60 digits do not show the derivatives of all links' log probabilities


def stopped(objective, size):
    """Where a fit stops, at a maximum or on the way to infinity."""
    with np.errstate(all="ignore"):
        return estimate("irls", objective, np.zeros(size), warm=False, maxiter=200)


@pytest.mark.parametrize("several", [False, True])
def test_maxima_are_proven_and_no_others(several):
    """Against linear programs."""
    seen = set()
    for seed in range(60):
        objective = test_counting.example(seed, several)
        found = stopped(objective, objective.blocks.arrays[0].shape[1] * objective.likelihood.n_eta)
        finite = outcomes.find_cone(objective)[0] is None
        assert has_maximum(objective, found.theta) == finite, seed
        assert not has_maximum(objective, 0.9 * found.theta) or finite, seed
        seen.add(finite)
    assert seen == {True, False}


@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("link", [LogitLink(), ProbitLink()])
def test_narrow_overlaps_and_gaps(link, gap):
    """Two rows on the wrong sides, or on the right ones, by a share of the range."""
    for sign in (1, -1):
        x = np.r_[np.linspace(-1, -0.1, 20), sign * gap, -sign * gap, np.linspace(0.1, 1, 20)]
        X, y = np.column_stack([np.ones(42), x]), np.repeat([0.0, 1.0], [20, 22])
        y[20] = 0.0
        objective = Objective(Binomial(link, True), Blocks(Dense(np.asfortranarray(X)), y, None, None, None))
        found = stopped(objective, 2)
        assert has_maximum(objective, found.theta) == (sign > 0)
        assert not has_maximum(objective, np.array([0.0, np.inf]))


@pytest.mark.parametrize("name", LINKS)
def test_bounds_of_the_change_of_curvatures(name):
    """Bounds |w'/w| <= M within 1/M, of both outcomes, by differences in 60 digits."""
    with mp.workdps(60):
        for eta, M in zip(GRID, LINKS[name].curvature_change(GRID), strict=True):
            if np.isinf(M):
                continue
            for outcome in (0, 1):
                for share in (-1, 0, 1):
                    t = mp.mpf(eta) + share / mp.mpf(float(M))
                    second, third = (mp.diff(lambda z, k=outcome: exact.LINKS[name](z)[k], t, n) for n in (2, 3))
                    assert abs(third / second) <= M, (eta, outcome)
