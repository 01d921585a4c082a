"""A likelihood under linear equality constraints: the objective `Within` an affine subspace."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy import ndarray
from scipy.linalg import qr

from glmclf.core.fit.estimate import Estimate
from glmclf.core.fit.information import information_vanished
from glmclf.core.fit.restricted import Within
from glmclf.core.fit.solvers import solve
from glmclf.core.fit.solvers.loop import Fit
from glmclf.core.likelihood.objective import Evaluation

DEFAULT_MAXITER = 100  # iterations, unless told
EQUATION_TOL = 1e-9  # relative difference of two sides of an equation that is rounding


def constrained(R: ndarray, q: ndarray) -> tuple[ndarray, ndarray]:
    """Q and origin with R (origin + Q eta) = q for every eta.

    Parameters
    ----------
    R : (J, p) ndarray
        Of full row rank.
    q : (J,) ndarray

    Returns
    -------
    Q, origin : (p, p - J), (p,) ndarrays
        Q orthonormal, the origin the point nearest to 0.
    """
    J = len(R)
    full, T = np.linalg.qr(R.T, mode="complete")
    origin = full[:, :J] @ np.linalg.solve(T[:J].T, q)
    return full[:, J:], origin


@dataclass(frozen=True)
class Constraint:
    """Linear equations that an estimate obeys, R theta = q.

    Attributes
    ----------
    R, q : (J, p), (J,) ndarrays
        Of full row rank, in the coordinates of X.
    Q, origin : (p, p - J), (p,) ndarrays
        theta = origin + Q eta obeys them for every eta; in the coordinates of the fit.
    words : tuple of str
        What they say.
    null : bool
        Whether the model without regressors obeys them.
    """

    R: ndarray
    q: ndarray
    Q: ndarray
    origin: ndarray
    words: tuple[str, ...]
    null: bool

    def __str__(self) -> str:
        return ", ".join(self.words)

    def to_dict(self) -> dict[str, Any]:
        """Record of the constraint for a file."""
        return {**vars(self), "words": list(self.words)}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Constraint:
        """The constraint from what a file keeps of it."""
        R, q, Q, origin = (np.array(stored[name], dtype=float) for name in ("R", "q", "Q", "origin"))
        return cls(R, q, Q.reshape(len(origin), -1), origin, tuple(stored["words"]), bool(stored["null"]))

    def mapped(self, A: ndarray, inverse: ndarray) -> Constraint:
        """The constraint of the parameters A theta, in names of its own."""
        return replace(self, R=self.R @ inverse, Q=A @ self.Q, origin=A @ self.origin)

    def fixed(self, rows: ndarray) -> tuple[ndarray, ndarray]:
        """Mask of the combinations, rows (., p) of parameters, that have one value alone; and these values."""
        size = np.abs(self.R).max(axis=0)
        size = 1.0 / np.where(size > 0, size, 1.0)  # units
        weights = np.linalg.lstsq((self.R * size).T, (rows * size).T, rcond=None)[0].T
        left = np.abs(rows * size - weights @ (self.R * size)).max(axis=1, initial=0.0)
        fixed = (left <= EQUATION_TOL * np.abs(rows * size).max(axis=1, initial=0.0)) & rows.any(axis=1)
        return fixed, np.where(fixed, weights @ self.q, np.nan)

    def implies(self, R: ndarray, q: ndarray) -> bool:
        """Whether parameters that obey the equations obey other equations, too."""
        fixed, values = self.fixed(R)
        return bool(fixed.all() and np.allclose(values, q, rtol=EQUATION_TOL, atol=EQUATION_TOL * (1.0 + np.abs(q))))


@dataclass(frozen=True, kw_only=True)
class ConstrainedEstimate(Estimate):
    """The maximum under constraints, in the coordinates of `Estimate`.

    `fit` has the information of all parameters, and the score along the directions left free alone.

    Attributes
    ----------
    constraint : Constraint
    """

    constraint: Constraint

    @property
    def allows_no_slopes(self) -> bool:
        """Whether the model without regressors obeys the constraints."""
        return self.constraint.null

    @property
    def equations(self) -> tuple[ndarray, ndarray]:
        """R and q of the constraints."""
        return self.constraint.R, self.constraint.q

    @property
    def constraints(self) -> list[str]:
        """The constraints in words."""
        return list(self.constraint.words)

    @property
    def notes(self) -> list[str]:
        """The constraints in a sentence."""
        return [f"Estimated under the constraints {self.constraint}."]

    def free_count(self, lost: int) -> float:
        """Number of free parameters, each constraint one less."""
        return len(self.fit.theta) - len(self.constraint.q) - lost

    def fixed(self, R: ndarray) -> tuple[ndarray, ndarray]:
        """Mask of the combinations that the constraints fix, and their values."""
        return self.constraint.fixed(R)

    def implies(self, R: ndarray, q: ndarray) -> bool:
        """Whether the constraints imply R theta = q."""
        return self.constraint.implies(R, q)

    def reported(self, theta: ndarray) -> ndarray:
        """Parameters: those that the constraints fix have their value to the last digit."""
        fixed, values = self.fixed(np.eye(len(theta)))
        return np.where(fixed, values, theta)

    @property
    def fixed_parameters(self) -> ndarray:
        """Mask of the parameters that the constraints fix, (p,)."""
        return self.fixed(np.eye(len(self.fit.theta)))[0]

    def mapped(self, A: ndarray, inverse: ndarray, order: list[int]) -> Self:
        """The estimate of A theta, whose constraints keep their words."""
        return replace(super().mapped(A, inverse, order), constraint=self.constraint.mapped(A, inverse))

    def to_dict(self) -> dict[str, Any]:
        """Record of the constraints for a file."""
        return {"constraint": self.constraint.to_dict()}


def free_parameters(R: ndarray, q: ndarray, size: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """Matrix E, origin and the places of the free parameters: theta = origin + E theta[free] obeys R theta = q.

    Parameters
    ----------
    R, q : (J, p), (J,) ndarrays
        Of full row rank.
    size : (p,) ndarray
        Of the regressors, so that units do not decide which parameters are solved for.
    """
    J, p = R.shape
    pivots = qr(R / size, mode="r", pivoting=True)[1][:J]
    free = np.setdiff1d(np.arange(p), pivots)
    E, origin = np.zeros((p, p - J)), np.zeros(p)
    E[free, np.arange(p - J)] = 1.0
    solved = np.linalg.solve(R[:, pivots], np.column_stack([R[:, free], q]))
    E[pivots], origin[pivots] = -solved[:, :-1], solved[:, -1]
    return E, origin, free


def maximise_within(method: str, part: Within, eta: ndarray, constraint: Constraint, **options) -> tuple[Fit, bool]:
    """The maximum within a subspace as a `Fit` of all parameters; and whether its information has all but vanished."""
    Q, none = constraint.Q, not len(eta)
    gone = False
    if none:
        fit = Fit(eta, part(eta, False), 0, True, "converged", 0.0)
    else:
        opening = part(eta)
        fit = solve(method, part, eta, opening=opening, **options)  # type: ignore[arg-type]
        if not fit.converged and fit.iterations < options.get("maxiter", DEFAULT_MAXITER):
            again = solve("newton", part, eta, **options)  # type: ignore[arg-type]
            fit = again if again.converged else fit
        gone = information_vanished(opening.information, fit.evaluation.information)
    theta = part.theta(fit.theta)
    e = part.objective(theta, False)
    along = np.zeros(len(theta)) if none else Q @ np.linalg.lstsq(Q, e.score, rcond=None)[0]
    return replace(fit, theta=theta, evaluation=Evaluation(e.value, along, e.information)), gone
