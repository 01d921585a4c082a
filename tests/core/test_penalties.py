"""Penalised maxima by plain numpy conditions: optimality, ties, folds, and the coding of several classes."""

from dataclasses import replace

import numpy as np
import pytest
from core import every_link
from scipy.special import expit, ndtr

from glmclf.core.design.dense import Dense
from glmclf.core.fit import warm_start
from glmclf.core.likelihood.objective import CholeskyFactor, DeferredEvaluation, MultinomialObjective, Objective
from glmclf.core.likelihood.pointwise import Binomial, Multinomial
from glmclf.core.numerics.folds import deal
from glmclf.core.penalised import problem as penalised
from glmclf.core.penalised import proximal
from glmclf.core.penalised.problem import ClassCoding, LazyCovariance, Penalty, Problem
from glmclf.core.penalised.proximal import Ridge, kkt_violations, largest_lasso, proximal_newton
from glmclf.core.rows.blocks import Blocks
from glmclf.errors import EstimationError

N = 80
RNG = np.random.default_rng(7)
X = np.column_stack([np.ones(N), RNG.normal(size=(N, 4))])
Y = (RNG.random(N) < expit(X @ np.array([-0.3, 1.0, -0.7, 0.0, 0.1]))).astype(float)
CLASSES = RNG.integers(0, 3, N)
LINKS = [*every_link.LINKS.values()]
links = pytest.mark.parametrize("link", LINKS, ids=lambda link: link.name)


def binomial(link, A=X):
    return Objective(Binomial(link, binary=True), Blocks(Dense(A), Y, None, None, None))


def score(link, b, A=X):
    """Score by the definition, without anything of the package."""
    eta = A @ b
    if link.name == "logit":
        return A.T @ (Y - expit(eta))
    if link.name == "probit":
        f, p = np.exp(-0.5 * eta**2) / np.sqrt(2 * np.pi), ndtr(eta)
        return A.T @ (Y * f / p - (1 - Y) * f / ndtr(-eta))
    mu = np.exp(eta)
    return A.T @ (Y * mu / np.expm1(mu) - (1 - Y) * mu)


@links
@pytest.mark.parametrize("L1_wt", [0.0, 0.4, 1.0])
def test_optimality_conditions(link, L1_wt):
    alpha = 0.2 * np.array([0.0, 1.0, 1.0, 2.0, 0.5])
    ridge, lasso = N * (1 - L1_wt) * alpha, N * L1_wt * alpha
    fit = proximal_newton(Ridge(binomial(link), ridge), lasso, np.zeros(5))
    b, s = fit.theta, score(link, fit.theta) - ridge * fit.theta
    assert fit.converged and fit.message == "converged"
    assert np.abs(s[b != 0] - (lasso * np.sign(b))[b != 0]).max() < 1e-10 * N
    assert (np.abs(s[b == 0]) <= lasso[b == 0]).all()
    assert kkt_violations(fit.evaluation.score, lasso, b).max() < 1e-10 * N
    assert L1_wt == 0 or (b == 0).any()


def test_the_largest_penalty_is_where_the_first_coefficient_leaves_0():
    objective, free = binomial(LINKS[0]), np.array([True, *[False] * 4])
    null = np.array([np.log(Y.mean() / (1 - Y.mean())), *[0.0] * 4])
    top = largest_lasso(objective(null, False), free, np.where(free, 0.0, 1.0))
    assert top == pytest.approx(np.abs(X.T @ (Y - Y.mean()))[1:].max(), rel=1e-12)
    for share, count in ((1 + 1e-9, 0), (1 - 1e-6, 1)):
        fit = proximal_newton(objective, np.where(free, 0.0, share * top), null)
        assert (fit.theta[1:] != 0).sum() == count


def test_columns_that_repeat_each_other_leave_independent_ones():
    A = np.column_stack([X, X[:, 1], X[:, 1] + X[:, 2]])
    objective, lasso = binomial(LINKS[0], A), np.array([0.0, *[2.0] * 6])
    start = np.array([0.0, 0.3, 0.1, 0.0, 0.0, 0.2, 0.1])  # all tied columns in use
    fit = proximal_newton(objective, lasso, start)
    kept = np.flatnonzero(fit.theta)
    assert fit.converged and np.linalg.matrix_rank(A[:, kept]) == len(kept)
    s = score(LINKS[0], fit.theta, A)
    assert np.abs(s - lasso * np.sign(fit.theta))[kept].max() < 1e-9
    assert (np.abs(s) <= lasso + 1e-9).all()


def test_more_columns_than_rows():
    A = np.column_stack([np.ones(12), np.random.default_rng(2).normal(size=(12, 30))])
    y = np.tile([0.0, 1.0], 6)
    objective = Objective(Binomial(LINKS[0], binary=True), Blocks(Dense(A), y, None, None, None))
    lasso = np.array([0.0, *[0.05] * 30])
    fit = proximal_newton(objective, lasso, np.zeros(31))
    s = A.T @ (y - expit(A @ fit.theta))
    assert fit.converged and 0 < (fit.theta != 0).sum() <= 12
    assert np.abs(s - lasso * np.sign(fit.theta))[fit.theta != 0].max() < 1e-9
    assert (np.abs(s) <= lasso + 1e-9).all()


def test_symmetric_coding():
    objective = MultinomialObjective(Multinomial(3), Blocks(Dense(X), CLASSES, None, None, None))
    C = np.array([[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]])
    alpha = np.tile([0.0, *[0.02] * 4], 3)
    coding = ClassCoding.symmetric(C, alpha[:5] == 0)
    problem = Problem(objective, coding, Penalty(alpha, 0.0, N))
    found = problem.finish(problem.solve(np.zeros(len(coding.places))))
    B = found.b.reshape(3, 5)
    np.testing.assert_allclose(B.sum(axis=0), 0.0, atol=1e-12)  # intercepts by convention, slopes by the penalty
    eta = X @ B.T
    p = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
    gradient = (np.eye(3)[CLASSES] - p).T @ X - N * alpha.reshape(3, 5) * B
    assert np.abs(gradient).max() < 1e-9
    np.testing.assert_allclose(coding.theta(found.b), (B[1:] - B[0]).ravel())
    again = coding.b(coding.c(found.b, 5))
    np.testing.assert_allclose(again, found.b, atol=1e-14)


# ---------------------------------------------------------------------------------------- a ridge by gradients alone
ALPHAS = {
    "one": np.tile([[0.0], [0.02], [0.02], [0.02], [0.02]], 3),
    "by column": np.tile([[0.0], [0.01], [0.0], [0.3], [1e-4]], 3),
    "the intercept, too": np.full((5, 3), 0.05),
    "by class": np.random.default_rng(8).uniform(0.01, 0.1, (5, 3)),
}
CONTRASTS = np.array([[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]])


@pytest.fixture
def by_gradients(monkeypatch):
    for owner, name in (
        (penalised, "MAX_INFORMATION_COST"),
        (warm_start, "MIN_INFORMATION_COST"),
        (warm_start, "MIN_ARITHMETIC"),
    ):
        monkeypatch.setattr(owner, name, 0.0)


def placed(problem):
    """As from a start without slopes."""
    start = np.zeros(2 * problem.n_columns)
    return problem.placed(start).well_mixed()


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("name", ALPHAS)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_ridge_by_gradients(by_gradients, name, symmetric, weighted):
    """Optimality, covariance and effective degrees of freedom by their definitions."""
    alpha = ALPHAS[name] if symmetric else ALPHAS[name][:, 1:]
    w = np.random.default_rng(9).uniform(0.5, 2.0, N) if weighted else np.ones(N)
    objective = MultinomialObjective(Multinomial(3), Blocks(Dense(X), CLASSES, None, None, w if weighted else None))
    free = (alpha == 0).all(axis=1)
    coding = ClassCoding.symmetric(CONTRASTS, free) if symmetric else ClassCoding.of_equations(10)
    problem = placed(Problem(objective, coding, Penalty(alpha.ravel(order="F"), 0.0, N)))
    assert problem.mean is not None
    fit = problem.solve(np.zeros(len(coding.places)))
    found = problem.finish(fit)
    assert fit.converged and isinstance(fit.evaluation, DeferredEvaluation) and found.kkt < 1e-13
    assert problem.weakest(fit) == 1.0

    B = found.b.reshape(-1, 5)
    every = B if symmetric else np.vstack([np.zeros(5), B])
    p = np.exp(X @ every.T)
    p /= p.sum(axis=1, keepdims=True)
    gradient = ((np.eye(3)[CLASSES] - p) * w[:, None]).T @ X
    assert np.abs((gradient if symmetric else gradient[1:]) - N * alpha.T * B).max() < 1e-11 * N
    if symmetric:
        np.testing.assert_allclose(B[:, free].sum(axis=0), 0.0, atol=1e-12)

    W = w[:, None, None] * (p[:, :, None] * np.eye(3) - p[:, :, None] * p[:, None, :])
    first = 0 if symmetric else 1
    A = np.einsum("nab,ni,nj->aibj", W[:, first:, first:], X, X).reshape(len(found.b), -1)
    ridge = N * alpha.ravel(order="F")
    V = np.linalg.pinv(A + np.diag(ridge), hermitian=True, rcond=1e-12)
    np.testing.assert_allclose(found.V, V, rtol=1e-7, atol=1e-9 * V.max())
    assert found.shares.sum() == pytest.approx(np.trace(A @ V), rel=1e-9)
    np.testing.assert_allclose(found.fit.evaluation.information, _of_equations(A, symmetric), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(fit.evaluation.information, _penalised(A, ridge, coding), rtol=1e-9, atol=1e-9)


def _of_equations(A, symmetric):
    """The information against the first class from that of all classes."""
    return A[5:, 5:] if symmetric else A


def _penalised(A, ridge, coding):
    T = np.eye(len(A)) if coding.T is None else coding.T
    return T.T @ A @ T + np.diag(ridge[coding.places])


@pytest.mark.parametrize("alpha", [1e-2, 1e-6])
def test_gradients_and_the_proximal_newton_method_agree(monkeypatch, by_gradients, alpha):
    """Where gradients do not get there, as with separated data and hardly a penalty, the other method goes on."""
    A = np.column_stack([X, CLASSES == 1])
    objective = MultinomialObjective(Multinomial(3), Blocks(Dense(A), CLASSES, None, None, None))
    problem = Problem(objective, ClassCoding.of_equations(12), Penalty(np.tile([0.0, *[alpha] * 5], 2), 0.0, N))
    a = placed(problem)
    monkeypatch.setattr(penalised, "MAX_INFORMATION_COST", np.inf)
    b = placed(problem)
    assert a.mean is not None and b.mean is None
    found, expected = a.solve(np.zeros(12)), b.solve(np.zeros(12))
    assert found.converged and expected.converged
    np.testing.assert_allclose(a.finish(found).theta, b.finish(expected).theta, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize(
    ("far", "factorable", "as_it_is"), [(10.0, 3000, True), (1e3, 3000, False), (1e3, 0, True), (1e7, 0, False)]
)
def test_columns_far_from_0_by_gradients(monkeypatch, by_gradients, symmetric, far, factorable, as_it_is):
    """Up to where the free intercept takes their digits; beyond, columns are projected and the information formed."""
    monkeypatch.setattr(penalised, "MAX_FACTORED_SIZE", factorable)
    A = X + far * np.array([0.0, 1.0, 0.0, 0.0, 0.0])
    objective = MultinomialObjective(Multinomial(3), Blocks(Dense(A), CLASSES, None, None, None))
    alpha = np.tile([0.0, *[0.02] * 4], 3 if symmetric else 2)
    coding = ClassCoding.symmetric(CONTRASTS, alpha[:5] == 0) if symmetric else ClassCoding.of_equations(10)
    problem = placed(Problem(objective, coding, Penalty(alpha, 0.0, N)))
    assert (problem.mean is not None) == as_it_is and (problem.frame is None) == as_it_is
    found = problem.finish(problem.solve(np.zeros(len(coding.places))))
    B = found.b.astype(np.longdouble).reshape(-1, 5)
    every = B if symmetric else np.vstack([np.zeros(5), B])
    p = np.exp(A.astype(np.longdouble) @ every.T)
    p /= p.sum(axis=1, keepdims=True)
    rows = A - A.mean(axis=0) * np.array([0.0, *[1.0] * 4])
    gradient = (np.eye(3)[CLASSES] - p).T @ rows - N * alpha.reshape(-1, 5)[0] * every
    assert found.fit.converged and np.abs(gradient if symmetric else gradient[1:])[:, 1:].max() < 1e-8


def test_what_a_penalised_estimate_waits_with(monkeypatch, by_gradients):
    """The information is formed when it is asked for, and once."""
    monkeypatch.setattr(penalised, "MAX_FACTORED_SIZE", 0)
    asked, form = [], MultinomialObjective.information
    monkeypatch.setattr(MultinomialObjective, "information", lambda *a: asked.append(a) or form(*a))
    monkeypatch.setattr(MultinomialObjective, "__call__", None)
    objective = MultinomialObjective(Multinomial(3), Blocks(Dense(X), CLASSES, None, None, None))
    problem = placed(Problem(objective, ClassCoding.of_equations(10), Penalty(np.tile([0.0, *[0.1] * 4], 2), 0.0, N)))
    fit = problem.solve(np.zeros(10))
    found = problem.finish(fit)
    assert problem.weakest(fit) == 1.0 and not asked and not found.spread.shares_known
    A = found.fit.evaluation.information + np.diag(problem.penalty.ridge)
    np.testing.assert_allclose(found.V @ A, np.eye(10), atol=1e-10)
    assert found.spread.shares_known and len(asked) == 1


def test_effective_degrees_of_freedom_are_the_trace():
    alpha = 0.1 * np.array([0.0, 1.0, 2.0, 1.0, 0.5])
    problem = Problem(binomial(LINKS[1]), ClassCoding.of_equations(5), Penalty(alpha, 0.0, N))
    found = problem.finish(problem.solve(np.zeros(5)))
    information = found.fit.evaluation.information
    V = np.linalg.inv(information + np.diag(N * alpha))
    np.testing.assert_allclose(found.V, V, rtol=1e-10)
    assert found.shares.sum() == pytest.approx(np.trace(information @ V), rel=1e-12)
    assert found.shares[0] == 1.0


def test_a_callback_sees_the_penalised_value_rise():
    seen = []
    objective, lasso = binomial(LINKS[0]), np.array([0.0, *[1.0] * 4])
    proximal_newton(objective, lasso, np.zeros(5), callback=lambda i, b, value: seen.append((i, value)))
    assert [i for i, _ in seen] == list(range(1, len(seen) + 1))
    assert (np.diff([v for _, v in seen]) >= -1e-10).all()


def test_too_few_iterations_are_reported():
    fit = proximal_newton(binomial(LINKS[0]), np.zeros(5), np.zeros(5), maxiter=1)
    assert not fit.converged and "iterations" in fit.message


@pytest.mark.parametrize("folds", [2, 5, 7])
def test_folds_are_balanced_within_every_class(folds):
    counts = np.random.default_rng(3).integers(0, 4, (50, 3))
    parts = deal(counts, folds, 11)
    np.testing.assert_array_equal(parts.sum(axis=0), counts)
    assert parts.min() >= 0
    assert (np.ptp(parts.sum(axis=1), axis=0) <= 1).all() and np.ptp(parts.sum(axis=(1, 2))) <= 1
    np.testing.assert_array_equal(parts, deal(counts, folds, 11))
    assert (parts != deal(counts, folds, 12)).any()


def test_a_ridge_may_be_a_matrix():
    P = np.array([[2.0, 0.5], [0.5, 1.0]])
    objective, b = binomial(LINKS[0], X[:, :2]), np.array([0.3, -0.7])
    plain, ridge = objective(b, False), Ridge(objective, P)
    e, g = ridge(b, False), ridge.gradient(b)
    assert e.value == g.value == pytest.approx(plain.value - 0.5 * b @ P @ b, rel=1e-14)
    np.testing.assert_allclose(e.score, plain.score - P @ b, rtol=1e-14)
    np.testing.assert_array_equal(g.score, e.score)
    np.testing.assert_allclose(e.information, plain.information + P, rtol=1e-14)


@pytest.mark.parametrize("L1_wt", [0.0, 1.0])
@pytest.mark.parametrize("off", [0.0, 1e-10, 1e-6, 1e-2])
def test_a_fit_has_converged_only_where_the_conditions_hold(monkeypatch, L1_wt, off):
    from glmclf.core.penalised import problem as penalised

    def says_so(objective, lasso, start, **options):
        found = proximal_newton(objective, lasso, start, **options)
        b = found.theta * (1.0 + off)
        return replace(found, theta=b, evaluation=objective(b, False))

    monkeypatch.setattr(penalised, "proximal_newton", says_so)
    alpha = np.array([0.0, *[0.02] * 4])
    fit = Problem(binomial(LINKS[0]), ClassCoding.of_equations(5), Penalty(alpha, L1_wt, N)).solve(np.zeros(5))
    assert fit.converged == (off < 1e-9)
    assert ("conditions" in fit.message) == (off > 1e-9)


def test_a_singular_information_asked_for_late_is_named_each_time():
    def form():
        return CholeskyFactor(np.ones((2, 2))).inverse, np.zeros(2), None

    spread = LazyCovariance(form)
    for _ in range(2):
        with pytest.raises(EstimationError, match="Raise alpha"):
            _ = spread.V
    assert not spread.shares_known


@pytest.mark.parametrize("L1_wt", [0.001, 0.5])
def test_signs_are_settled_with_few_factors(monkeypatch, L1_wt):
    """A step costs factors of the information: about as many as a ridge has where that is most of the penalty."""
    from glmclf import Logit

    rng, made = np.random.default_rng(0), []
    X = rng.normal(size=(150, 300))
    y = (X[:, :30].sum(axis=1) + rng.normal(size=150) > 0).astype(int)

    factor_of = proximal.factor_of
    monkeypatch.setattr(proximal, "factor_of", lambda A: (made.append(len(A)), factor_of(A))[1])
    res = Logit(y, np.column_stack([np.ones(150), X])).fit_regularized(alpha=0.01, L1_wt=L1_wt)
    assert res.converged and 0 < len(made) <= {0.001: 40, 0.5: 160}[L1_wt]
