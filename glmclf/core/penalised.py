"""Penalised estimates: the coding of the coefficients that a penalty is on, and what an estimate of them is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.blocks import Blocks, one_blas_thread
from glmclf.core.estimation import FACTORED_ALONE, Estimate
from glmclf.core.objective import Factor, Objective
from glmclf.core.omitted import places_kept
from glmclf.core.penalties import Ridge, kkt_residual, largest_lasso, proximal_newton
from glmclf.core.rank import dependencies_in
from glmclf.core.solvers import Fit
from glmclf.core.subspace import Within

LITTLE = 1e-8  # of the information, above which a ridge is far from its rounding


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


@dataclass(frozen=True)
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

    D: ndarray | None
    T: ndarray | None
    places: ndarray

    @classmethod
    def of_equations(cls, p: int) -> Coding:
        """The parameters themselves."""
        return cls(None, None, np.arange(p))

    @classmethod
    def symmetric(cls, contrasts: ndarray, free: ndarray) -> Coding:
        """A coefficient vector for each of K classes; what is free adds up to 0 over the classes (glmnet's softmax).

        Parameters
        ----------
        contrasts : (K-1, K) ndarray
            The equations as differences of classes.
        free : (k,) bool ndarray
            Columns that no class's penalty is on.
        """
        K, k = contrasts.shape[1], len(free)
        places = np.array([c * k + j for c in range(K) for j in range(k) if c or not free[j]], dtype=np.intp)
        T = np.zeros((K * k, len(places)))
        T[places, np.arange(len(places))] = 1.0
        mean = np.kron(np.full((K, K), 1.0 / K), np.diag(free.astype(float)))
        return cls(np.kron(contrasts, np.eye(k)), T - mean @ T, places)

    def theta(self, b: ndarray) -> ndarray:
        """The model's parameters."""
        return b if self.D is None else self.D @ b

    def b(self, c: ndarray) -> ndarray:
        """All coefficients from those that are estimated."""
        return c if self.T is None else self.T @ c

    def c(self, b: ndarray, k: int) -> ndarray:
        """Those that are estimated; the first class's coefficients are taken off where it is left out."""
        if self.T is None:
            return b
        anchored = np.setdiff1d(np.arange(k), self.places)
        B = b.reshape(-1, k).copy()
        B[:, anchored] -= B[:1, anchored]
        return B.ravel()[self.places]

    def objective(self, objective: Objective) -> Any:
        """The log-likelihood as a function of c."""
        if self.D is None:
            return objective
        Q = self.D if self.T is None else self.D @ self.T
        return Within(objective, Q, np.zeros(len(Q)))


@dataclass(frozen=True)
class PenalisedEstimate(Estimate):
    """A maximum of llf - penalty. `fit` is in the model's parameters, its evaluation of the plain log-likelihood.

    Attributes
    ----------
    penalty : Penalty
        Of b.
    b : (d,) ndarray
        The coefficients that the penalty is on.
    V : (d, d) ndarray or None
        Inverse of the information and the ridge of the coefficients that are not 0; 0 for the others, and of a lasso.
    shares : (d,) ndarray
        Effective degrees of freedom of each coefficient: diagonal of V I.
    kkt : float
        Largest violation of the optimality conditions, of llf/N - penalty/N.
    symmetric : bool
        Whether every class has a coefficient vector.
    constant : int or None
        Which column is the intercept.
    """

    penalty: Penalty | None = None
    b: ndarray | None = None
    V: ndarray | None = None
    shares: ndarray | None = None
    kkt: float = 0.0
    symmetric: bool = False
    constant: int | None = None


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
        penalty = self.penalty.part(self.coding.places)
        objective = Ridge(self.coding.objective(self.objective), penalty.ridge)
        alone = one_blas_thread() if len(c) in FACTORED_ALONE else nullcontext()
        with np.errstate(over="ignore", invalid="ignore"), alone:
            return proximal_newton(
                objective, penalty.lasso, c, maxiter=self.maxiter, tol=self.tol, callback=self.callback
            )

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
        ridge, size = self.penalty.ridge, np.diag(found.evaluation.information)
        mine = self.penalty.part(self.coding.places)
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
        active = np.flatnonzero((c != 0) | (penalty.lasso == 0))
        V, shares = np.zeros((len(c), len(c))), np.zeros(len(c))
        if penalty.lasso.any() and not penalty.ridge.any():
            shares[active] = 1.0
        elif len(active):
            root = Factor(e.information[np.ix_(active, active)]).root
            V[np.ix_(active, active)] = root @ root.T
            shares[active] = 1.0 - penalty.ridge[active] * np.diag(V)[active]
        kkt = kkt_residual(e, penalty.lasso, c) / penalty.n
        full = np.zeros(len(self.penalty.alpha))
        full[coding.places] = shares
        b = coding.b(c)
        theta = coding.theta(b)
        fit = replace(found, theta=theta, evaluation=self.objective(theta, False))
        V = V if coding.T is None else coding.T @ V @ coding.T.T
        return PenalisedEstimate(
            fit, None, penalty=self.penalty, b=b, V=V, shares=full, kkt=kkt, symmetric=coding.D is not None
        )


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
    assert found.penalty is not None and found.b is not None and found.V is not None and found.shares is not None
    at, d = places_kept(omitted, k, q), k * q
    alpha, b, shares, V = np.zeros(d), np.zeros(d), np.zeros(d), np.zeros((d, d))
    alpha[at], b[at], shares[at], V[np.ix_(at, at)] = found.penalty.alpha, found.b, found.shares, found.V
    return replace(found, penalty=replace(found.penalty, alpha=alpha), b=b, shares=shares, V=V)
