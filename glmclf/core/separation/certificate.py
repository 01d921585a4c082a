"""A certificate that a likelihood has its maximum at finite parameters, from one point near it.

Let s be the score and I the observed information at theta, which is positive definite. Along a step h of length r in
the metric of I each row's linear predictor moves by at most r |x_i|, |x_i|^2 = x_i' I^-1 x_i, and its curvature w_i by
the factor exp(-M_i r |x_i|) at least, where M_i bounds |w_i'/w_i| (generalised self-concordance: Sun & Tran-Dinh 2019,
Mathematical Programming 178, 145-213). With L = max_i M_i |x_i| and r = 1/L the concave log-likelihood is lower on all
of that sphere than at theta if its Newton decrement is below exp(-1)/L: then it has a maximum inside, and
no direction of recession. Towards infinity decrement times L stays about 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.design.columns import RowLengths, expandable
from glmclf.core.likelihood.objective import Largest, MultinomialObjective, Objective
from glmclf.core.numerics.constants import EPS

MAX_DECREMENT = float(np.exp(-1.0))  # bound of the Newton decrement times L, derived above
ROUNDINGS = 16  # roundings of a sum that count as its error
SURE_RCOND = 1e-12  # reciprocal condition of a scaled information that rounding does not make of a singular one


def has_maximum(objective: Objective, theta: ndarray) -> bool:
    """Whether a maximum at finite parameters is proven by what the likelihood is at theta, (p,); False proves nothing.

    Parameters
    ----------
    objective : Objective or MultinomialObjective
    theta : (p,) ndarray
        Where a fit stopped, in the coordinates of X.
    """
    if not np.isfinite(theta).all():
        return False
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        e = objective(theta, False)
        if not e.well_conditioned(SURE_RCOND):
            return False
        root = e.factor.root
        error = np.abs(root).T @ _rounding_of_score(objective, theta)
        decrement = float(np.linalg.norm(np.abs(root.T @ e.score) + error))
        return bool(decrement * _farthest(objective, theta, root) < MAX_DECREMENT)


def _farthest(objective: Objective, theta: ndarray, root: ndarray) -> float:
    """The largest M_i |x_i| of all rows; of several classes M = 1, and |x_i| that of any difference of two predictors,
    which twice that of one bounds."""
    k, several = objective.blocks.arrays[0].shape[1], isinstance(objective, MultinomialObjective)
    lengths = [RowLengths(root[i : i + k]) for i in range(0, len(root), k)]

    def rows(X: Any, y: ndarray, m: Any, offset: ndarray | None, weights: Any) -> Largest:
        if several:
            return Largest(2.0 * np.sqrt(max(length(X).max(initial=0.0) for length in lengths)))
        eta = X @ theta if offset is None else X @ theta + offset
        steep = objective.likelihood.link.curvature_change(eta)
        return Largest((steep * np.sqrt(lengths[0](X))).max(initial=0.0))

    return float(objective.blocks.sum(rows))


def _rounding_of_score(objective: Objective, theta: ndarray) -> ndarray:
    """Bound of the rounding of the score, (p,): of its terms x_ij u_i, and of u_i by that of the linear predictor."""
    k, several = objective.blocks.arrays[0].shape[1], isinstance(objective, MultinomialObjective)
    B = np.abs(theta.reshape(k, -1, order="F"))

    def rows(X: Any, y: ndarray, m: Any, offset: ndarray | None, weights: ndarray | None) -> ndarray:
        size = np.abs(X.toarray())
        eta = size @ B
        if offset is not None:
            eta += np.abs(offset.reshape(len(size), -1))
        if several:
            _, u, p, times = objective._terms(theta, X, y, m, offset, weights)  # type: ignore[attr-defined]
            w = (p[1:] * (1.0 if times is None else times)).T * eta.max(axis=1, keepdims=True)
            return (size.T @ (np.abs(u).T + w)).ravel(order="F")
        _, u, w = objective._pointwise(theta, X, y, m, offset, weights, False)
        return size.T @ (np.abs(u) + w * eta[:, 0])

    return ROUNDINGS * EPS * expandable(objective.blocks).sum(rows)
