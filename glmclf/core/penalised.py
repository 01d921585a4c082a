"""Penalised estimates: the coding of the coefficients that a penalty is on, and what an estimate of them is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.approach import is_dear
from glmclf.core.blocks import Blocks, one_blas_thread
from glmclf.core.estimation import FACTORED_ALONE, Estimate
from glmclf.core.objective import Deferred, Evaluation, Factor, MultinomialObjective, Objective
from glmclf.core.omitted import places_kept, wide
from glmclf.core.penalties import TOL, Ridge, kkt_residual, largest_lasso, proximal_newton
from glmclf.core.rank import dependencies_in
from glmclf.core.solvers import Fit
from glmclf.core.solvers.kronecker import Kronecker, lbfgs
from glmclf.core.subspace import Within

LITTLE = 1e-8  # of the information, above which a ridge is far from its rounding
TOO_DEAR = 25.0  # passes for the gradient that cost as much as one with the information, for which it is not formed
FACTORABLE = 3000  # coefficients up to which an information is not too much to ask of a fit that does without
LAST = 0.01  # of the tolerance below which a Newton step, the last, leaves nothing
GRADIENTS = 10  # steps by gradients to one of the proximal Newton method


@dataclass(frozen=True)
class Penalty:
    """N sum_j alpha_j ((1 - L1_wt)/2 b_j^2 + L1_wt |b_j|) of coefficients b.

    Attributes
    ----------
    alpha : (d,) ndarray
        >= 0; 0 leaves a coefficient free.
    L1_wt : float
        In [0, 1].
    n : float
        Observations, N.
    """

    alpha: ndarray
    L1_wt: float
    n: float

    @property
    def ridge(self) -> ndarray:
        """Precisions of the normal prior that the squares amount to."""
        return self.n * (1.0 - self.L1_wt) * self.alpha

    @property
    def lasso(self) -> ndarray:
        """Factors of the absolute values."""
        return self.n * self.L1_wt * self.alpha

    def value(self, b: ndarray) -> float:
        """The penalty at b."""
        return float(0.5 * self.ridge @ (b * b) + self.lasso @ np.abs(b))

    def part(self, places: ndarray) -> Penalty:
        """The penalty of some of the coefficients."""
        return replace(self, alpha=self.alpha[places])


class Coding:
    """How penalised coefficients b, equation by equation, make the parameters of a model: theta = D b.

    Attributes
    ----------
    D : (p, d) ndarray or None
        None is the identity.
    T : (d, c) ndarray or None
        Coefficients that are free in every class are estimated for all classes but the first and then centred: b = T c
        with c = b[places] - (the first class's, where it is free). None is the identity.
    places : (c,) integer ndarray
    """

    T: ndarray | None = None

    def __init__(self, D: ndarray | None, places: ndarray):
        self.places = places
        self.D = D

    @classmethod
    def of_equations(cls, p: int) -> Coding:
        """The parameters themselves."""
        return cls(None, np.arange(p))

    @staticmethod
    def symmetric(contrasts: ndarray, free: ndarray) -> Symmetric:
        """A coefficient vector for each of K classes; what is free adds up to 0 over the classes (glmnet's softmax).

        Parameters
        ----------
        contrasts : (K-1, K) ndarray
            The equations as differences of classes.
        free : (k,) bool ndarray
            Columns that no class's penalty is on.
        """
        return Symmetric(contrasts, free)

    def theta(self, b: ndarray) -> ndarray:
        """The model's parameters."""
        return b if self.D is None else self.D @ b

    def b(self, c: ndarray) -> ndarray:
        """All coefficients from those that are estimated."""
        return c

    def c(self, b: ndarray, k: int) -> ndarray:
        """Those that are estimated; the first class's coefficients are taken off where it is left out."""
        return b

    def objective(self, objective: Objective) -> Any:
        """The log-likelihood as a function of c."""
        if self.D is None:
            return objective
        Q = self.D if self.T is None else self.D @ self.T
        return Within(objective, Q, np.zeros(len(Q)))


class Symmetric(Coding):
    """See `Coding.symmetric`. The matrices are formed when they are asked for: they are large and nearly empty."""

    def __init__(self, contrasts: ndarray, free: ndarray):
        self.contrasts, self.free = contrasts, free
        kept = np.ones((contrasts.shape[1], len(free)), dtype=bool)
        kept[0] = ~free
        self.places = np.flatnonzero(kept)

    @cached_property
    def D(self) -> ndarray:  # type: ignore[override]
        return np.kron(self.contrasts, np.eye(len(self.free)))

    @cached_property
    def T(self) -> ndarray:  # type: ignore[override]
        K, d = self.contrasts.shape[1], self.contrasts.shape[1] * len(self.free)
        T = np.zeros((d, len(self.places)))
        T[self.places, np.arange(len(self.places))] = 1.0
        mean = np.kron(np.full((K, K), 1.0 / K), np.diag(self.free.astype(float)))
        return T - mean @ T

    def theta(self, b: ndarray) -> ndarray:
        return (self.contrasts @ b.reshape(-1, len(self.free))).ravel()

    def b(self, c: ndarray) -> ndarray:
        b = np.zeros(self.contrasts.shape[1] * len(self.free))
        b[self.places] = c
        return self.centred(b)

    def c(self, b: ndarray, k: int) -> ndarray:
        B = b.reshape(-1, k).copy()
        B[:, self.free] -= B[:1, self.free]
        return B.ravel()[self.places]

    def centred(self, b: ndarray) -> ndarray:
        """Coefficients, or derivatives in them, with what is free adding up to 0 over the classes."""
        B = b.reshape(-1, len(self.free)).copy()
        B[:, self.free] -= B[:, self.free].mean(axis=0)
        return B.ravel()

    def back(self, score: ndarray) -> ndarray:
        """Derivatives in b of what has this derivative in the model's parameters."""
        return (self.contrasts.T @ score.reshape(-1, len(self.free))).ravel()


@dataclass(frozen=True)
class PenalisedEstimate(Estimate):
    """A maximum of llf - penalty. `fit` is in the model's parameters, its evaluation of the plain log-likelihood.

    Attributes
    ----------
    penalty : Penalty
        Of b.
    b : (d,) ndarray
        The coefficients that the penalty is on.
    spread : Spread
        Covariance and effective degrees of freedom.
    kkt : float
        Largest violation of the optimality conditions, of llf/N - penalty/N.
    symmetric : bool
        Whether every class has a coefficient vector.
    constant : int or None
        Which column is the intercept.
    """

    penalty: Penalty | None = None
    b: ndarray | None = None
    spread: Spread | None = None
    kkt: float = 0.0
    symmetric: bool = False
    constant: int | None = None

    @property
    def V(self) -> ndarray:
        """Inverse of the information and the ridge of the coefficients that are not 0, (d, d); 0 for the others, and of
        a lasso."""
        assert self.spread is not None
        return self.spread.V

    @property
    def shares(self) -> ndarray:
        """Effective degrees of freedom of each coefficient, the diagonal of V I, (d,)."""
        assert self.spread is not None
        return self.spread.shares


class Spread:
    """V (d, d) and shares (d,) of a `PenalisedEstimate`, formed when they are first asked for.

    Parameters
    ----------
    form : callable
        Without arguments; gives both.
    """

    def __init__(self, form: Callable[[], tuple[ndarray, ndarray]]):
        self.form: Callable[[], tuple[ndarray, ndarray]] | None = form

    @classmethod
    def of(cls, V: ndarray, shares: ndarray) -> Spread:
        """Both as they are known."""
        self = cls(lambda: (V, shares))
        _ = self._both
        return self

    @property
    def known(self) -> bool:
        """Whether they were formed."""
        return self.form is None

    @cached_property
    def _both(self) -> tuple[ndarray, ndarray]:
        assert self.form is not None
        found, self.form = self.form(), None
        return found

    @property
    def V(self) -> ndarray:
        """Covariance of the coefficients."""
        return self._both[0]

    @property
    def shares(self) -> ndarray:
        """Effective degrees of freedom."""
        return self._both[1]


@dataclass(frozen=True)
class Problem:
    """A penalised likelihood to maximise.

    Attributes
    ----------
    objective : Objective
        The log-likelihood of the columns that are left.
    coding : Coding
    penalty : Penalty
        Of their coefficients b.
    maxiter : int
    tol : float or None
    callback : callable or None
    """

    objective: Objective
    coding: Coding
    penalty: Penalty
    maxiter: int = 200
    tol: float | None = None
    callback: Callable | None = None

    def solve(self, c: ndarray) -> Fit:
        """The maximum in the coordinates c, from a start; its evaluation has the ridge in it."""
        if self.by_gradients and (found := self._by_gradients(c)) is not None:
            if found.converged or len(c) > FACTORABLE:
                return found
            c = found.theta
        penalty = self.penalty.part(self.coding.places)
        objective = Ridge(self.coding.objective(self.objective), penalty.ridge)
        alone = one_blas_thread() if len(c) in FACTORED_ALONE else nullcontext()
        with np.errstate(over="ignore", invalid="ignore"), alone:
            return proximal_newton(
                objective, penalty.lasso, c, maxiter=self.maxiter, tol=self.tol, callback=self.callback
            )

    @property
    def by_gradients(self) -> bool:
        """Whether the information is so dear that it is not formed for the estimate: of a ridge on many coefficients."""
        if self.penalty.lasso.any() or not isinstance(self.objective, MultinomialObjective):
            return False
        whole = isinstance(self.coding, Symmetric) or self.coding.D is None
        return whole and self.objective.cost > TOO_DEAR and is_dear(self.objective)

    def _by_gradients(self, c: ndarray) -> Fit | None:
        """As `solve`, of a ridge, without an information; None where no metric is to be had."""
        coding, objective, ridge = self.coding, self.objective, self.penalty.ridge
        of_b = Ridge(ByClass(objective, coding) if isinstance(coding, Symmetric) else objective, ridge)
        b = coding.b(c)
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                W, G = objective.mean_information(coding.theta(b))
                if isinstance(coding, Symmetric):
                    W = coding.contrasts.T @ W @ coding.contrasts
                metric = Kronecker(W, G, ridge.reshape(len(W), -1).mean(axis=0))
                tol = LAST * TOL if self.tol is None else self.tol
                fit = lbfgs(of_b, b, metric, maxiter=GRADIENTS * self.maxiter, tol=tol, callback=self.callback)
        except np.linalg.LinAlgError:
            return None
        theta, score = coding.theta(fit.theta), fit.evaluation.score
        if isinstance(coding, Symmetric):
            score = coding.centred(score)[coding.places]
        form = partial(_penalised_information, objective, coding, self.penalty, theta)
        c = coding.c(fit.theta, G.shape[0])
        return replace(fit, theta=c, evaluation=Deferred(fit.evaluation.value, score, form))

    def scaled(self, alpha: float) -> Problem:
        """The same problem with `alpha` times the penalty."""
        return replace(self, penalty=replace(self.penalty, alpha=alpha * self.penalty.alpha))

    def null(self, c: ndarray) -> Fit:
        """The maximum with every coefficient that has a penalty at 0."""
        places = np.flatnonzero(self.penalty.part(self.coding.places).alpha == 0)
        inner = self.coding.objective(self.objective)
        out = np.zeros(len(c))
        if len(places):
            part = Within(inner, np.eye(len(c))[:, places], out)
            with np.errstate(over="ignore", invalid="ignore"):
                fit = proximal_newton(part, np.zeros(len(places)), c[places], maxiter=self.maxiter)
            out[places] = fit.theta
        e = inner(out, False)
        return Fit(out, e, 0, True, "converged", 0.0)

    def largest_alpha(self, null: Fit, least: float = 1e-3) -> float:
        """The alpha from which on all coefficients that have a penalty are 0; of a ridge that of L1_wt = `least`."""
        penalty = self.penalty.part(self.coding.places)
        share = penalty.n * max(penalty.L1_wt, least) * penalty.alpha
        return largest_lasso(null.evaluation, penalty.alpha == 0, share)

    def weakest(self, found: Fit) -> float:
        """Least share of the ridge in the information, scaled by its diagonal, along what the data say nothing about.

        Such directions, combinations of columns that are 0 in every row and coefficients that all classes share, have
        nothing but the ridge; below the rounding of the information it decides nothing. 1 where there is none.
        """
        ridge, mine = self.penalty.ridge, self.penalty.part(self.coding.places)
        if isinstance(found.evaluation, Deferred):  # an information's diagonal is at most a quarter of the gram's
            squares = self.objective.blocks.sum(lambda X, y, m, o, w: np.diag(X.gram(0.25 * _scale(X, m, w))))
            least = LITTLE * np.tile(squares, len(ridge) // len(squares))[self.coding.places]
            if (mine.ridge[mine.ridge > 0] >= least[mine.ridge > 0]).all():
                return 1.0
        size = np.diag(found.evaluation.information)
        if not (ridge.any() and (mine.ridge[mine.ridge > 0] < LITTLE * size[mine.ridge > 0]).any()):
            return 1.0
        X = self.objective.blocks.arrays[0]
        k, full = X.shape[1], np.zeros(len(ridge))
        full[self.coding.places] = size
        active = (self.coding.b(found.theta) != 0) | (self.penalty.lasso == 0)
        nothing = [np.kron(np.eye(len(ridge) // k), row) for row in _null_rows(dependencies_in(Blocks(X)), k)]
        if self.coding.D is not None:
            nothing.append(np.kron(np.ones(len(ridge) // k), np.eye(k)))
        V = np.vstack(nothing) ** 2 if nothing else np.zeros((0, len(ridge)))
        V = V[~V[:, ~active].any(axis=1) & (V @ ridge > 0)]
        return float(((V @ ridge) / (V @ full)).min(initial=1.0))

    def finish(self, found: Fit) -> PenalisedEstimate:
        """The estimate in the model's parameters, with the covariance and degrees of freedom that it has.

        Raises
        ------
        numpy.linalg.LinAlgError
            The information with the ridge is singular.
        """
        coding, penalty = self.coding, self.penalty.part(self.coding.places)
        c, e = found.theta, found.evaluation
        kkt = kkt_residual(e, penalty.lasso, c) / penalty.n
        b = coding.b(c)
        theta = coding.theta(b)
        if isinstance(e, Deferred):
            own = self.objective.gradient(theta)
            evaluation = Deferred(own.value, own.score, partial(self.objective.information, theta))
            spread = Spread(partial(_ridge_spread, evaluation, coding, self.penalty.ridge))
            if len(c) <= FACTORABLE:
                _ = spread.V
        else:
            evaluation, spread = self.objective(theta, False), self._spread(c, e)
        fit = replace(found, theta=theta, evaluation=evaluation)
        symmetric = isinstance(coding, Symmetric)
        return PenalisedEstimate(fit, None, penalty=self.penalty, b=b, spread=spread, kkt=kkt, symmetric=symmetric)

    def _spread(self, c: ndarray, e: Evaluation) -> Spread:
        """Of coefficients c, at whose evaluation the ridge is in the information."""
        coding, penalty = self.coding, self.penalty.part(self.coding.places)
        active = np.flatnonzero((c != 0) | (penalty.lasso == 0))
        V, shares = np.zeros((len(c), len(c))), np.zeros(len(c))
        if penalty.lasso.any() and not penalty.ridge.any():
            shares[active] = 1.0
        elif len(active):
            root = Factor(e.information[np.ix_(active, active)]).root
            V[np.ix_(active, active)] = root @ root.T
            shares[active] = 1.0 - penalty.ridge[active] * np.diag(V)[active]
        full = np.zeros(len(self.penalty.alpha))
        full[coding.places] = shares
        return Spread.of(V if coding.T is None else coding.T @ V @ coding.T.T, full)


class ByClass:
    """The log-likelihood of a coefficient vector for each class: value and score alone."""

    canonical = True

    def __init__(self, objective: MultinomialObjective, coding: Symmetric):
        self.objective, self.coding = objective, coding
        self.likelihood, self.blocks, self.unit = objective.likelihood, objective.blocks, objective.unit
        self.n = objective.n

    def gradient(self, b: ndarray) -> Evaluation:
        """Value and score; the information is 0."""
        e = self.objective.gradient(self.coding.theta(b))
        return Evaluation(e.value, self.coding.back(e.score), e.information)


def _scale(X, m: ndarray | None, w: ndarray | None) -> ndarray:
    """Trials times weights of each row."""
    return np.ones(X.shape[0]) * (1.0 if m is None else m) * (1.0 if w is None else w)


def _penalised_information(objective, coding: Coding, penalty: Penalty, theta: ndarray) -> ndarray:
    """The information in the coordinates c, with the ridge."""
    A = objective.information(theta)
    if coding.D is not None:
        Q = coding.D if coding.T is None else coding.D @ coding.T
        A = Q.T @ A @ Q
    A[np.diag_indices_from(A)] += penalty.part(coding.places).ridge
    return A


def _ridge_spread(e: Evaluation, coding: Coding, ridge: ndarray) -> tuple[ndarray, ndarray]:
    """V and shares of all coefficients b from the information of the model's parameters.

    What is free in every class is held in place by a weight on its sum over the classes, which is then taken off.
    """
    A, held = e.information, np.zeros(0, dtype=np.intp)
    if isinstance(coding, Symmetric):
        k, K = len(coding.free), coding.contrasts.shape[1]
        C, A = coding.contrasts, A.reshape(K - 1, k, K - 1, k)
        A, held = np.einsum("ja,jxly,lb->axby", C, A, C, optimize=True).reshape(K * k, K * k), np.flatnonzero(coding.free)
    A = A.copy()
    A[np.diag_indices_from(A)] += ridge
    weights = [(np.arange(j, len(A), k), float(A[j::k, j::k].trace()) / K) for j in held]
    for at, weight in weights:
        A[np.ix_(at, at)] += weight / len(at)
    V = Factor(A).inverse
    for at, weight in weights:
        V[np.ix_(at, at)] -= 1.0 / (weight * len(at))
    shares = 1.0 - ridge * np.diag(V)
    shares[held] = 0.0
    return V, shares


def _null_rows(found: Mapping[int, Mapping[int, float]], k: int) -> ndarray:
    """Combinations of k columns that are 0 in every row, (., k)."""
    out = np.zeros((len(found), k))
    for row, (j, terms) in zip(out, found.items(), strict=True):
        row[j] = -1.0
        row[list(terms)] = list(terms.values())
    return out


def widened(found: PenalisedEstimate, omitted: Any, k: int, q: int) -> PenalisedEstimate:
    """The coefficients of all k columns, with 0 for those left out; the parameters are widened elsewhere."""
    if not omitted:
        return found
    assert found.penalty is not None and found.b is not None and found.spread is not None
    at, d = places_kept(omitted, k, q), k * q
    alpha, b = np.zeros(d), np.zeros(d)
    alpha[at], b[at] = found.penalty.alpha, found.b
    spread = Spread(partial(_wide_spread, found.spread, at, d))
    if found.spread.known:
        _ = spread.V
    return replace(found, penalty=replace(found.penalty, alpha=alpha), b=b, spread=spread)


def without_covariance(found: PenalisedEstimate) -> PenalisedEstimate:
    """The estimate without V, so that many of them can be kept; and with NaN for shares that were not formed yet."""
    assert found.spread is not None and found.b is not None
    shares = found.shares if found.spread.known else np.full(len(found.b), np.nan)
    return replace(found, spread=Spread.of(np.zeros((0, 0)), shares))


def _wide_spread(spread: Spread, at: ndarray, d: int) -> tuple[ndarray, ndarray]:
    shares = np.zeros(d)
    shares[at] = spread.shares
    return wide(spread.V, at, d), shares
