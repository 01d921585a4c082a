"""A certificate that a likelihood has its maximum at finite parameters, from one point near it.

Let s be the score and I the observed information at theta, which is positive definite. Along a step h of length r in
the metric of I each row's linear predictor moves by at most r |x_i|, |x_i|^2 = x_i' I^-1 x_i, and its curvature w_i by
the factor exp(-M_i r |x_i|) at least, where M_i bounds |w_i'/w_i| (generalised self-concordance: Sun & Tran-Dinh 2019,
Mathematical Programming 178, 145-213). With L = max_i M_i |x_i| and r = 1/L the concave log-likelihood is lower on all
of that sphere than at theta if its Newton decrement is below exp(-1)/L: then it has a maximum inside, and
no direction of recession. Towards infinity decrement times L stays about 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.design.columns import expandable
from glmclf.core.design.factor import FactorColumns
from glmclf.core.likelihood.objective import Largest, MultinomialObjective, Objective
from glmclf.core.numerics.constants import EPS
from glmclf.core.rows.summed import Summed

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
        inverse = e.factor.inverse
        error = float(_rounding_of_score(objective, theta) @ np.sqrt(inverse.diagonal()))
        decrement = float(np.sqrt(e.score @ e.factor.solve(e.score))) + error
        return bool(decrement * _farthest(objective, theta, inverse) < MAX_DECREMENT)


def _farthest(objective: Objective, theta: ndarray, inverse: Any) -> float:
    """The largest M_i |x_i| of all rows; of several classes M = 1, and |x_i| that of any difference of two predictors,
    which twice that of one bounds."""
    k, q = objective.blocks.arrays[0].shape[1], objective.likelihood.n_eta
    blocks = [inverse[i : i + k, i : i + k] for i in range(0, k * q, k)] if isinstance(inverse, ndarray) else [inverse]

    def rows(X: Any, y: ndarray, m: Any, offset: ndarray | None, weights: Any) -> Largest:
        squares = np.stack([_forms(X, block, q) for block in blocks]).max(axis=0)
        if isinstance(objective, MultinomialObjective):
            return Largest(2.0 * np.sqrt(squares.max(initial=0.0)))
        eta = X @ theta if offset is None else X @ theta + offset
        return Largest((objective.likelihood.link.curvature_change(eta) * np.sqrt(squares)).max(initial=0.0))

    return float(objective.blocks.sum(rows))


def _forms(X: Any, M: Any, q: int) -> ndarray:
    """Quadratic forms x' M x of rows, (n,): of an array M; else the largest of those of q equations, of many levels."""
    if not isinstance(M, ndarray):
        return np.einsum("nii->ni", X.forms(M, q)).max(axis=1)
    if isinstance(X, FactorColumns):
        return X.form(M)
    Z = X @ M
    return np.einsum("ij,ij->i", Z, X.toarray())


def _rounding_of_score(objective: Objective, theta: ndarray) -> ndarray:
    """Bound of the rounding of the score, (p,): of its terms x_ij u_i, and of u_i by that of the linear predictor.

    Of factors by Cauchy's inequality, sum |x| a <= (sum x^2 a, sum a)^1/2, as they are not expanded.
    """
    X = objective.blocks.arrays[0]
    k, several = X.shape[1], isinstance(objective, MultinomialObjective)
    B = np.abs(theta.reshape(k, -1, order="F"))
    coded = isinstance(X, FactorColumns)
    terms = float((X.largest()[:, None] * B).max(initial=0.0)) * k if coded else 0.0

    def rows(X: Any, y: ndarray, m: Any, offset: ndarray | None, weights: ndarray | None) -> SizeSums:
        n = X.shape[0]
        size = None if coded else np.abs(X.toarray())
        eta = np.full(n, terms) if size is None else (size @ B).max(axis=1)
        if offset is not None:
            eta += np.abs(offset.reshape(n, -1)).max(axis=1)
        if several:
            _, u, p, times = objective._terms(theta, X, y, m, offset, weights)  # type: ignore[attr-defined]
            w = p[1:] * (1.0 if times is None else times)
        else:
            _, u, w = (np.reshape(a, (1, -1)) for a in objective._pointwise(theta, X, y, m, offset, weights, False))
        a = np.abs(u) + w * eta
        if size is not None:
            return SizeSums((a @ size).ravel(), np.ones(1))
        return SizeSums(np.concatenate([X.gram(one).diagonal() for one in a]), np.repeat(a.sum(axis=1), k))

    blocks = objective.blocks if coded else expandable(objective.blocks)
    found = blocks.sum(rows)
    return ROUNDINGS * EPS * (np.sqrt(found.first * found.second) if coded else found.first)


@dataclass(frozen=True)
class SizeSums(Summed):
    """Sums of sizes of terms, and those beside them that an inequality needs."""

    first: ndarray
    second: ndarray
