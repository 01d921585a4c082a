"""Covariances and influence of an estimate that obeys linear constraints: those of the directions left free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.core.likelihood.objective import CholeskyFactor, Evaluation
from glmclf.core.numerics.arrow import OuterProducts
from glmclf.inference.covariance.influence import Influences, influence
from glmclf.inference.covariance.leverage import Leverages
from glmclf.inference.covariance.types import Context

ROUNDED_PIVOT = 1e-10  # share of a constraint's largest coefficient below which a pivot is rounding


def root_within(Q: ndarray, information: ndarray) -> ndarray:
    """T (p, d) with T T' = Q (Q'IQ)^-1 Q', the covariance of theta = origin + Q eta."""
    return Q @ CholeskyFactor(Q.T @ information @ Q).root if Q.shape[1] else np.zeros(Q.shape)


def free_directions(R: ndarray) -> ndarray:
    """Directions (p, d) that R d = 0 leaves free, as `free_form` has them."""
    return free_form(R, np.zeros(len(R)))[0]


def free_form(R: ndarray, q: ndarray) -> tuple[ndarray, ndarray]:
    """Directions D (p, d) and a point c (p,): theta = c + D phi are the solutions of R theta = q.

    Each direction moves one parameter that those before it do not determine, and which is 0 in c. The first parameters
    that can be are free: however the constraints are written, and so those of the design in which they are built.
    """
    p = R.shape[1]
    A = np.column_stack([R[:, ::-1], q]).astype(float)
    solved: list[int] = []
    A /= np.abs(A[:, :p]).max(axis=1, keepdims=True)
    for j in range(p):
        i = len(solved)
        if i == len(A):
            break
        best = i + int(np.abs(A[i:, j]).argmax())
        if abs(A[best, j]) <= ROUNDED_PIVOT:
            continue
        A[[i, best]] = A[[best, i]]
        A[i] /= A[i, j]
        others = np.arange(len(A)) != i
        A[others] -= np.outer(A[others, j], A[i])
        solved.append(j)
    free = np.setdiff1d(np.arange(p), solved)
    D, c = np.zeros((p, len(free))), np.zeros(p)
    D[free, np.arange(len(free))] = 1.0
    D[solved] = -A[: len(solved), free]
    c[solved] = A[: len(solved), p]
    return D[::-1, ::-1], c[::-1]


def _square(T: ndarray) -> ndarray:
    """Pad a root with columns of zeros to a square matrix."""
    return np.hstack([T, np.zeros((len(T), len(T) - T.shape[1]))])


@dataclass(frozen=True)
class ConstrainedContext(Context):
    """Ingredients of the covariance types for a constrained estimate: bread, scores and leverages.

    Attributes
    ----------
    Q : (p, d) ndarray
        Directions left free.
    """

    Q: ndarray

    @property
    def size(self) -> int:
        """Number of free parameters."""
        return self.Q.shape[1]

    @cached_property
    def root(self) -> ndarray:
        """T with T T' = Q (Q'IQ)^-1 Q', the bread."""
        return root_within(self.Q, self.evaluation.information)

    @property
    def bread(self) -> ndarray:
        """Q (Q'IQ)^-1 Q', of the observed information."""
        return self.root @ self.root.T

    @property
    def expected_bread(self) -> ndarray:
        """The bread by the expected information."""
        if self.objective.canonical:
            return self.bread
        T = root_within(self.Q, self.objective(self.theta, True).information)
        return T @ T.T

    def sandwich(self, meat: Any) -> ndarray:
        """A sandwich of the bread, which is an array however many levels there are."""
        return super().sandwich(meat.U @ meat.U.T if isinstance(meat, OuterProducts) else np.asarray(meat))

    def leverages(self, cov_type: str) -> Leverages:
        """Leverages of the rows on the directions left free."""
        e = self.evaluation if self.objective.canonical else self.objective(self.theta, True)
        root = _square(root_within(self.Q, e.information))
        return Leverages(cov_type, self.objective, self.theta, root, self.frequency, self.size, self.nobs)


def constrained_influence(
    objective, theta: ndarray, e: Evaluation, Q: ndarray, frequency: bool, change: bool
) -> Influences:
    """`influence.influence` of an estimate that stays within its constraints, e with the expected information."""
    return influence(objective, theta, root_within(Q, e.information), frequency, change)
