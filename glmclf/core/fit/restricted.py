"""Objectives as functions of fewer or other parameters: of an affine subspace, of some of them, of every class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.likelihood.objective import Evaluation
from glmclf.core.numerics.arrow import SymmetricMatrix


class DerivedObjective:
    """Base class of functions that are made of an objective and maximised in its place.

    Parameters
    ----------
    objective : Objective
    """

    def __init__(self, objective: Any):
        self.objective = objective
        self.likelihood, self.blocks, self.unit = objective.likelihood, objective.blocks, objective.unit
        self.canonical, self.n = objective.canonical, objective.n

    @property
    def cost(self) -> float:
        """Cost of a pass with the information in passes for the gradient."""
        return self.objective.cost


class Restricted(DerivedObjective):
    """Base class of objectives as functions of parameters eta, of which their own are an affine map.

    Subclasses have the map, and its transpose for scores and for both sides of an information.
    """

    @property
    def free(self) -> ndarray:
        """Derivative of the parameters in eta, (p, d)."""
        raise NotImplementedError

    def theta(self, eta: ndarray) -> ndarray:
        """The parameters at eta."""
        raise NotImplementedError

    def score(self, s: ndarray) -> ndarray:
        """Derivatives in eta of a function with derivatives s in the parameters."""
        raise NotImplementedError

    def information(self, A: Any) -> Any:
        """Information of eta from that of the parameters."""
        raise NotImplementedError

    def __call__(self, eta: ndarray, expected: bool = True) -> Evaluation:
        """Value, score and information."""
        e = self.objective(self.theta(eta), expected)
        return Evaluation(e.value, self.score(e.score), self.information(e.information))

    def gradient(self, eta: ndarray) -> Evaluation:
        """Value and score alone."""
        e = self.objective.gradient(self.theta(eta))
        return Evaluation(e.value, self.score(e.score), e.information)

    def score_factor(self, eta: ndarray, X, y, m, offset) -> ndarray:
        """Derivative of each row's log-likelihood in its linear predictors."""
        return self.objective.score_factor(self.theta(eta), X, y, m, offset)


class Within(Restricted):
    """An objective on an affine subspace, theta = origin + Q eta.

    Parameters
    ----------
    objective : Objective
    Q : (p, d) ndarray
        Columns that span the directions left free.
    origin : (p,) ndarray
        A point of it.
    """

    def __init__(self, objective: Any, Q: ndarray, origin: ndarray):
        super().__init__(objective)
        self.Q, self.origin = Q, origin

    @property
    def free(self) -> ndarray:
        return self.Q

    def theta(self, eta: ndarray) -> ndarray:
        return self.origin + self.Q @ eta

    def score(self, s: ndarray) -> ndarray:
        return self.Q.T @ s

    def information(self, A: Any) -> Any:
        return self.Q.T @ A @ self.Q


class Selected(Restricted):
    """An objective as a function of some of its parameters, the others held.

    Parameters
    ----------
    objective : Objective
    kept : (d,) integer ndarray
        Places of the parameters that vary, ascending.
    held : (p,) ndarray
        All parameters, of which the others keep their values.
    """

    def __init__(self, objective: Any, kept: ndarray, held: ndarray):
        super().__init__(objective)
        self.kept, self.held = kept, held

    @property
    def free(self) -> ndarray:
        return np.eye(len(self.held))[:, self.kept]

    def theta(self, eta: ndarray) -> ndarray:
        theta = self.held.copy()
        theta[self.kept] = eta
        return theta

    def score(self, s: ndarray) -> ndarray:
        return s[self.kept]

    def information(self, A: Any) -> Any:
        if isinstance(A, SymmetricMatrix):
            return A.narrowed(np.isin(np.arange(len(self.held)), self.kept))
        return A[np.ix_(self.kept, self.kept)]
