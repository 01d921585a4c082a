"""What a bias-reduced estimate is, and the tests of its penalised likelihood where it has one."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from glmclf.core.design.dense import Dense
from glmclf.core.fit.aliasing import narrow_basis
from glmclf.core.fit.estimate import from_basis
from glmclf.core.fit.offsets import centred
from glmclf.core.fit.rank import triangular_factor
from glmclf.core.rows.blocks import Blocks
from glmclf.errors import EstimationError
from glmclf.results.regression.state import StateViews
from glmclf.results.requires import requires

if TYPE_CHECKING:
    from glmclf.core.fit.bias import PenalisedLikelihood

SPANNED = 1e-9  # share of a shift that is rounding
METHODS = {None: "MLE", "firth": "Mean BR (Firth)", "median": "Median BR"}


class BiasReduction(StateViews):
    """The part of a result that knows whether, and how, its estimate was bias-reduced."""

    model: Any

    @property
    @requires()
    def bias_reduction(self) -> str | None:
        """ "firth", "median", or None for a maximum likelihood estimate."""
        return None if self._reduction is None else self._reduction.kind

    @property
    @requires()
    def llf_penalized(self) -> float:
        """Firth's penalised log-likelihood at its maximum, llf + log|I|/2 with I the information of the parameters.

        Only of bias_reduction="firth" with Logit or MNLogit; with flic=True before the intercept was corrected.
        """
        if self._reduction is None or self._reduction.penalised is None:
            kind = f"bias_reduction={self.bias_reduction!r}"
            raise AttributeError(
                f"llf_penalized: a {type(self.model).__name__} with {kind} has no penalised likelihood"
            )
        return self._reduction.penalised + self.model._constant

    @property
    def _estimator(self) -> str:
        """What the summary calls the method of estimation."""
        return METHODS[self.bias_reduction] + (", FLIC" if self._reduction is not None and self._reduction.flic else "")


    # --------------------------------------------------------------------------------- the penalised likelihood
    def _penalised_objective(self) -> PenalisedLikelihood:
        """The penalised log-likelihood of the parameters that are left, in the coordinates of the fit.

        Its offset is centred: the parameters are larger by `_shift`.
        """
        from glmclf.core.fit.bias import PenalisedLikelihood

        basis = narrow_basis(self._found)
        objective = centred(self.model._objective(columns=self._columns))[0]
        return PenalisedLikelihood(objective if basis is None else objective.rotated(basis), basis)

    def _penalised_within(self, A: ndarray) -> tuple[float, ndarray]:
        """Largest penalised log-likelihood with every equation's columns in X[:, kept] A, and where it is.

        The penalty is that of all parameters, as in logistf: only then are both sides of a test of one likelihood.
        """
        from glmclf.core.fit.bias import penalised_maximum

        penalised, q = self._penalised_objective(), self.model._likelihood.n_eta
        directions = np.kron(np.eye(q), A)
        start = from_basis(penalised.basis, self._narrow_centred.fit.theta)
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                origin = _without(directions, self._shift)
                value, theta = penalised_maximum(penalised.objective, penalised.basis, directions, start, origin)
                return value, theta - self._shift
        except ArithmeticError as error:
            raise EstimationError(
                f"the restricted penalised likelihood has no maximum that was found: {error}"
            ) from None

    def _penalised_with(self, columns: ndarray) -> tuple[float, ndarray]:
        """Largest penalised log-likelihood with some columns of the design, without the coefficients of counts."""
        assert self._reduction is not None and self._reduction.penalised is not None
        if len(columns) == len(self._columns):
            return self._reduction.penalised, self._theta
        if not self._combinations:
            return self._penalised_within(np.eye(len(self._columns))[:, columns])
        R = triangular_factor(self.model._rows.columns())
        return self._penalised_within(np.linalg.lstsq(R[:, self._columns], R[:, columns], rcond=None)[0])

    def _penalised_as(self, other: Any) -> float:
        """Largest penalised log-likelihood with the columns of a smaller model's result."""
        mine, theirs = self.model.exog_names, other.model.exog_names
        kept = [theirs[j] for j in other._columns]
        X = self.model._rows.X
        if other.model._rows_ is None or self.model._rows.streamed:
            return self._penalised_with(np.array([mine.index(name) for name in kept], dtype=np.intp))[0]
        R = triangular_factor(Blocks(X, other.model._rows.X))
        A = np.linalg.lstsq(R[:, self._columns], R[:, len(mine) + other._columns], rcond=None)[0]
        A[np.abs(A) < 1e-12 * np.abs(A).max(axis=0)] = 0.0
        return self._penalised_within(A)[0]

    @cached_property
    def _null_penalised(self) -> float:
        """Largest penalised log-likelihood with the constant alone; NaN where there is no penalised likelihood."""
        if self._reduction is None or self._reduction.penalised is None:
            return np.nan
        if not self.model.k_constant:
            return self._penalised_within(np.zeros((len(self._columns), 0)))[0]
        R = triangular_factor(self.model._rows.columns().changed(_beside_a_constant))
        A = np.linalg.lstsq(R[:, self._columns], R[:, -1:], rcond=None)[0]
        A[np.abs(A) < 1e-12 * np.abs(A).max()] = 0.0
        return self._penalised_within(A)[0]

    # ------------------------------------------------------------------------------------------- words and files
    def _reduction_notes(self) -> list[str]:
        """Lines under the summary."""
        r = self._reduction
        if r is None:
            return []
        what = "Firth's, of the mean" if r.kind == "firth" else "of the median"
        notes = [
            f"The estimate is bias-reduced ({what}); log-likelihood, AIC, BIC and pseudo R-squared are the plain ones "
            + "at "
            + ("it; the LLR p-value is of the penalised likelihood." if r.penalised is not None else "it.")
        ]
        if r.penalised is None:
            notes.append("Its adjusted score is the gradient of no likelihood: there is no likelihood ratio test.")
        if r.flic:
            notes.append("The intercept is corrected so that fitted probabilities add up to the events (FLIC).")
        return notes


def _without(directions: ndarray, shift: ndarray) -> ndarray:
    """A shift less what the directions make of it, which is all where they span the constant."""
    if not shift.any():
        return shift
    left = shift - directions @ np.linalg.lstsq(directions, shift, rcond=None)[0]
    return left if np.abs(left).max() > SPANNED * np.abs(shift).max() else np.zeros(len(shift))


def _beside_a_constant(X: Any) -> tuple:
    return X, Dense(np.ones((X.shape[0], 1)))
