"""A likelihood under linear equality constraints: the same objective on an affine subspace."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.objective import Evaluation


class Within:
    """An objective as a function of eta in theta = origin + Q eta.

    Parameters
    ----------
    objective : Objective
    Q : (p, d) ndarray
        Columns that span the directions left free.
    origin : (p,) ndarray
        A point that obeys the constraints.
    """

    def __init__(self, objective: Any, Q: ndarray, origin: ndarray):
        self.objective, self.Q, self.origin = objective, Q, origin
        self.likelihood, self.blocks, self.unit = objective.likelihood, objective.blocks, objective.unit
        self.canonical, self.n = objective.canonical, objective.n

    def theta(self, eta: ndarray) -> ndarray:
        """The parameters at eta."""
        return self.origin + self.Q @ eta

    def __call__(self, eta: ndarray, expected: bool = True) -> Evaluation:
        """Value, score and information."""
        e = self.objective(self.theta(eta), expected)
        return Evaluation(e.value, self.Q.T @ e.score, self.Q.T @ e.information @ self.Q)

    def gradient(self, eta: ndarray) -> Evaluation:
        """Value and score alone."""
        e = self.objective.gradient(self.theta(eta))
        return Evaluation(e.value, self.Q.T @ e.score, e.information)

    def score_factor(self, eta: ndarray, X, y, m, offset) -> ndarray:
        """Derivative of each row's log-likelihood in its linear predictors."""
        return self.objective.score_factor(self.theta(eta), X, y, m, offset)


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
