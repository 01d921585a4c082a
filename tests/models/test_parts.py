"""Large fits begin at a part of the rows, here runs of 32 of them: what the part doesn't show misleads none.

The right numbers are those of Newton's method on all rows, written out below, and of statsmodels.
"""

import numpy as np
import pytest
from scipy.special import expit

from glmclf import Logit, MNLogit
from glmclf.core.fit.surrogate import SurrogateLikelihood

N = 60_000


def newton(X, y):
    """Logit's maximum, its standard errors and log-likelihood."""
    b = np.zeros(X.shape[1])
    b[0] = np.log(y.mean() / (1 - y.mean()))
    for _ in range(30):
        p = expit(X @ b)
        information = (X * (p * (1 - p))[:, None]).T @ X
        b = b + np.linalg.solve(information, X.T @ (y - p))
    d = np.sqrt(np.diag(information))
    se = np.sqrt(np.diag(np.linalg.inv(information / d / d[:, None]))) / d
    return b, se, -np.logaddexp(0, np.where(y == 1, -1, 1) * (X @ b)).sum()


def same(res, X, y):
    assert SurrogateLikelihood.of(res.model._objective(), X.shape[1]) is not None
    b, se, value = newton(X, y)
    np.testing.assert_allclose(res.params, b, rtol=1e-9, atol=1e-9 * se.max())
    np.testing.assert_allclose(res.bse, se, rtol=1e-8)
    assert res.converged and res.llf == pytest.approx(value, rel=1e-12)
    assert res.mle_retvals["iterations"] <= 12


def drawn(generator, eta):
    return (generator.random(len(eta)) < expit(eta)).astype(int)


@pytest.mark.parametrize("seed", range(4))
def test_rare_events(seed):
    generator = np.random.default_rng(seed)
    X = np.column_stack([np.ones(2 * N), generator.normal(size=(2 * N, 3))])
    y = drawn(generator, X @ [-8.0, 0.8, -0.4, 0.2])
    assert 40 < y.sum() < 70
    same(Logit(y, X).fit(), X, y)


def test_a_rare_class():
    from statsmodels.discrete.discrete_model import MNLogit as Peer

    generator = np.random.default_rng(1)
    X = np.column_stack([np.ones(N), generator.normal(size=(N, 3))])
    y = (X[:, 1] > generator.logistic(size=N)).astype(int)
    y[generator.choice(N, 15, replace=False)] = 2
    res, peer = MNLogit(y, X).fit(), Peer(y, X).fit(method="newton", maxiter=100, disp=0)
    np.testing.assert_allclose(res.params, peer.params, rtol=1e-7)
    np.testing.assert_allclose(res.bse, peer.bse, rtol=1e-7)
    assert res.converged and res.llf == pytest.approx(peer.llf, rel=1e-12)


def test_a_column_with_the_period_of_the_part():
    generator, row = np.random.default_rng(0), np.arange(2 * N)
    X = np.column_stack([np.ones(2 * N), np.sin(2 * np.pi * (row // 32) / 40)])
    y = drawn(generator, X[:, 1])
    same(Logit(y, X).fit(), X, y)


def test_a_column_that_is_noise_but_in_few_rows():
    generator = np.random.default_rng(0)
    X = np.column_stack([np.ones(N), generator.normal(size=N), 1e-9 * generator.normal(size=N)])
    few = generator.choice(N, 20, replace=False)
    X[few, 2] = generator.normal(size=20)
    y = drawn(generator, X[:, 1])
    same(Logit(y, X).fit(), X, y)


@pytest.mark.parametrize("far", ["t(1)", "t(2)", "one row"])
def test_standard_errors_that_rest_on_few_rows(far):
    generator = np.random.default_rng(5)
    X = np.column_stack([np.ones(N), generator.normal(size=(N, 3))])
    if far == "one row":
        X[777, 1] = 1e5
    else:
        X[:, 1:] = generator.standard_t(float(far[2]), size=(N, 3))
    y = (generator.random(N) < 0.4).astype(int)
    same(Logit(y, X).fit(), X, y)


# ---------------------------------------------------------------------------------------------------- distinct rows
@pytest.mark.parametrize("usual, rare", [(0.0, 0.5), (1.0, 1.5), (0.3, 5.0)])
@pytest.mark.parametrize("place", ["column", "offset"])
def test_a_glance_at_a_column_shows_one_number(usual, rare, place):
    generator = np.random.default_rng(0)
    g, x = generator.integers(0, 3, N), np.full(N, usual)
    x[generator.choice(np.flatnonzero(np.arange(N) % 60 != 0), 200, replace=False)] = rare
    y = drawn(generator, 0.3 * g - 0.5 + x)
    if place == "offset":
        from statsmodels.api import GLM, families

        X = np.column_stack([np.ones(N), g])
        res, peer = Logit(y, X, offset=x).fit(), GLM(y, X, families.Binomial(), offset=x).fit()
        np.testing.assert_allclose(res.params, peer.params, rtol=1e-7)
        assert res.llf == pytest.approx(peer.llf, rel=1e-11)
        return
    X = np.column_stack([np.ones(N), g, x])
    res, (b, se, value) = Logit(y, X).fit(), newton(X, y)
    np.testing.assert_allclose(res.params, b, rtol=1e-8)
    np.testing.assert_allclose(res.bse, se, rtol=1e-8)
    assert res.llf == pytest.approx(value, rel=1e-12)


def test_numbers_that_float32_cannot_subtract():
    generator = np.random.default_rng(5)
    x = generator.integers(0, 3, N).astype(np.float32)
    x[np.arange(N) % 80 != 0] *= np.float32(1.0004)
    x[7] = -9999
    y = drawn(generator, np.clip(x, -5, 5) - 0.5)
    X = np.column_stack([np.ones(N, np.float32), x])
    res, wide = Logit(y, X).fit(), X.astype(float)
    b, se, value = newton(wide, y)
    np.testing.assert_allclose(res.params, b, rtol=1e-9)
    np.testing.assert_allclose(res.bse, se, rtol=1e-8)
    assert res.llf == pytest.approx(value, rel=1e-12)


@pytest.mark.filterwarnings("ignore::glmclf.errors.InferenceWarning")
def test_the_unit_of_weights_is_nothing_to_the_last_step():
    generator = np.random.default_rng(5)
    X = np.column_stack([np.ones(N), generator.normal(size=(N, 3))])
    X[777, 1] = 1e5
    y = (generator.random(N) < 0.4).astype(int)
    se = newton(X, y)[1]
    for unit in (1e-12, 1e6):
        res = Logit(y, X, weights=np.full(N, unit)).fit(cov_type="nonrobust")
        np.testing.assert_allclose(res.bse * np.sqrt(unit), se, rtol=1e-8)


@pytest.mark.parametrize("n", [10**6, 10**8, 10**10])
def test_the_part_is_of_a_size_that_memory_holds(n):
    """A hundredth of the rows, up to a quarter of a million: of a stream they are the only rows that are kept."""

    class Rows:
        def __init__(self, n, times=1):
            self.n, self.times = -(-n // times), times

        def every(self, times):
            return Rows(self.n, times)

    assert SurrogateLikelihood.of(Rows(n), 10).part.n == pytest.approx(min(n / 100, 250_000), rel=1e-3)
