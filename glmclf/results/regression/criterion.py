"""Criteria that an estimate maximises, the likelihood or Firth's penalised one, and their maxima in smaller models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from glmclf.core.design.dense import Dense
from glmclf.core.fit.coordinates import from_basis, placed
from glmclf.core.fit.offsets import centred
from glmclf.core.fit.rank import triangular_factor
from glmclf.core.likelihood.objective import factor_of
from glmclf.core.numerics.arrow import ArrowMatrix
from glmclf.errors import EstimationError
from glmclf.results.comparison.comparability import columns_of
from glmclf.results.regression.anova import flat_columns

if TYPE_CHECKING:
    from glmclf.core.fit.bias import PenalisedLikelihood

MAX_SHIFT_REST = 1e-9  # share of a shift up to which its remainder is rounding


class LikelihoodCriterion:
    """Log-likelihood of a fit, without the coefficients of counts."""

    def __init__(self, res: Any):
        self.res = res

    @property
    def null(self) -> float:
        """Largest log-likelihood of the null model."""
        return self.res._null_value

    def with_columns(self, columns: ndarray) -> tuple[float, ndarray]:
        """Largest log-likelihood with some columns, started as the information predicts, and the parameters."""
        res, state = self.res, self.res._state
        kept = flat_columns(res, columns)
        if len(columns) == len(state.columns):
            return state.value, state.theta[kept]
        if not np.isfinite(state.theta).all():
            return res.model._maximum(columns, np.zeros(len(kept)))
        start = state.theta[kept]
        if state.basis is None and len(kept):
            information, stays = state.fit.evaluation.information, np.isin(np.arange(len(state.theta)), kept)
            shift = (information @ np.where(stays, 0.0, state.theta))[stays]
            many = isinstance(information, ArrowMatrix)
            inner = information.narrowed(stays) if many else information[np.ix_(stays, stays)]
            start = start + placed(factor_of(inner).solve(shift), stays, len(stays))[kept]
        return res.model._maximum(columns, start)

    def of_smaller(self, other: Any) -> float:
        """Largest log-likelihood of the model of another result."""
        return other._state.value


class FirthCriterion(LikelihoodCriterion):
    """Penalised log-likelihood of a bias-reduced fit, if it has one.

    The penalty is that of all parameters also in smaller models, as in logistf: only then are both sides of a test of
    one likelihood.
    """

    @property
    def null(self) -> float:
        """Largest penalised log-likelihood with the constant alone; NaN without a penalised likelihood."""
        res, columns = self.res, self.res._state.columns
        if res._state.estimate.maximised is None:
            return np.nan
        if not res.model.k_constant:
            return _within(res, np.zeros((len(columns), 0)))[0]
        R = triangular_factor(res.model._rows.columns().map(_beside_a_constant))
        A = np.linalg.lstsq(R[:, columns], R[:, -1:], rcond=None)[0]
        A[np.abs(A) < 1e-12 * np.abs(A).max()] = 0.0
        return _within(res, A)[0]

    def with_columns(self, columns: ndarray) -> tuple[float, ndarray]:
        """Largest penalised log-likelihood with some columns of the design, and the parameters there."""
        res, state = self.res, self.res._state
        if len(columns) == len(state.columns):
            return state.estimate.maximised, state.theta
        if not state.combinations:
            return _within(res, np.eye(len(state.columns))[:, columns])
        R = triangular_factor(res.model._rows.columns())
        return _within(res, np.linalg.lstsq(R[:, state.columns], R[:, columns], rcond=None)[0])

    def of_smaller(self, other: Any) -> float:
        """Largest penalised log-likelihood with the columns of another result's model."""
        res = self.res
        mine, theirs = res.model.exog_names, other.model.exog_names
        kept = [theirs[j] for j in other._state.columns]
        if other.model._rows_ is None:
            return self.with_columns(np.array([mine.index(name) for name in kept], dtype=np.intp))[0]
        R = triangular_factor(columns_of(res, other))
        A = np.linalg.lstsq(R[:, res._state.columns], R[:, len(mine) + other._state.columns], rcond=None)[0]
        A[np.abs(A) < 1e-12 * np.abs(A).max(axis=0)] = 0.0
        return _within(res, A)[0]


def penalised_objective(res: Any) -> PenalisedLikelihood:
    """Penalised log-likelihood of the parameters that are not omitted, in the coordinates of the fit.

    Its offset is centred: the parameters are larger by the shift of the state.
    """
    from glmclf.core.fit.bias import PenalisedLikelihood

    basis = res._state.narrow.basis
    objective = centred(res.model._objective(columns=res._state.columns))[0]
    return PenalisedLikelihood(objective if basis is None else objective.rotated(basis), basis)


def _within(res: Any, A: ndarray) -> tuple[float, ndarray]:
    """Largest penalised log-likelihood with every equation's columns in X[:, kept] A, and the parameters there.

    The penalty is that of all parameters, as in logistf: only then are both sides of a test of one likelihood.
    """
    from glmclf.core.fit.bias import penalised_maximum

    penalised, q = penalised_objective(res), res.model._likelihood.n_eta
    directions = np.kron(np.eye(q), A)
    start = from_basis(penalised.basis, res._state.narrow_centred.fit.theta)
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            origin = _without(directions, res._state.shift)
            value, theta = penalised_maximum(penalised.objective, penalised.basis, directions, start, origin)
            return value, theta - res._state.shift
    except ArithmeticError as error:
        raise EstimationError(f"the restricted penalised likelihood has no maximum that was found: {error}") from None


def _without(directions: ndarray, shift: ndarray) -> ndarray:
    """Shift of the constant less its projection on the directions, 0 where they span the constant."""
    if not shift.any():
        return shift
    left = shift - directions @ np.linalg.lstsq(directions, shift, rcond=None)[0]
    return left if np.abs(left).max() > MAX_SHIFT_REST * np.abs(shift).max() else np.zeros(len(shift))


def _beside_a_constant(X: Any) -> tuple:
    return X, Dense(np.ones((X.shape[0], 1)))
