"""Results of penalised fits: ridge, lasso and elastic net, and maximum likelihood refits of selected columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from glmclf.caching import cached_property
from glmclf.core.design.arrow import of_levels
from glmclf.core.design.columns import beside as side_by_side
from glmclf.core.design.columns import some_columns
from glmclf.core.fit.coordinates import into_basis
from glmclf.core.fit.rank import triangular_factor
from glmclf.results.regression.binary import BinaryResults
from glmclf.results.regression.multinomial import MultinomialResults
from glmclf.results.regression.penalized_state import PenalisedState
from glmclf.results.regression.results import RegressionResults
from glmclf.results.requires import requires
from glmclf.results.tables.numbers import count

SPANNED = (
    "The columns span a constant, but none is one: nothing is left free, and the level of every group is drawn to a "
    "linear predictor of 0."
)


class RegularizedResults:
    """Results of `fit_regularized`: maxima of ``llf/N - alpha ((1 - L1_wt)/2 |b|^2 + L1_wt |b|_1)``.

    A ridge has posterior standard deviations and intervals, as under independent normal priors with mean 0 and
    precision N alpha. A lasso has a selected set and no standard errors. Neither has z, p and tests: these are refused.

    With more than 3,000 coefficients a ridge of MNLogit forms the information, and the covariance from it, when `bse`,
    `cov_params`, `df_model` or what rests on them is first asked for.
    """

    _state_class: ClassVar[Any] = PenalisedState
    if TYPE_CHECKING:  # of RegressionResults
        model: Any
        _state: Any  # a PenalisedState
        llf: Any
        _labelled: Any
        _se: Any
        _param_index: Any
        _omitted_notes: Any
        converged: bool
        mle_retvals: Any

    # ------------------------------------------------------------------------------------------- what was asked
    @property
    @requires()
    def alpha(self) -> Any:
        """Weight of the penalty: a number where all penalised coefficients share it, else labelled like `params`."""
        shared = self._state.shared_alpha
        return self._labelled(self._state.penalty.alpha) if shared is None else shared

    @property
    @requires()
    def L1_wt(self) -> float:
        """Share of the absolute values in the penalty: 0 is a ridge, 1 a lasso."""
        return self._state.penalty.L1_wt

    @property
    @requires()
    def symmetric(self) -> bool:
        """Whether every class has a coefficient vector, as the softmax of glmnet and of neural networks."""
        return self._state.symmetric

    @property
    @requires()
    def refitted(self) -> bool:
        """Whether the selected columns were fitted again by maximum likelihood."""
        return self._state.has_tests

    # ----------------------------------------------------------------------------------------------- numbers
    @property
    @requires()
    def llf_penalized(self) -> float:
        """Penalised log-likelihood at its maximum, llf - ``N alpha ((1 - L1_wt)/2 |b|^2 + L1_wt |b|_1)``."""
        if self.refitted:
            raise AttributeError("llf_penalized: a refit maximises the likelihood; llf is its maximum")
        return self.llf - self._state.penalty.value(self._state.b)

    def _repeated(self, model) -> Any:
        constant, alpha = model._constant_column(), self._state.penalty.alpha.reshape(-1, len(model.exog_names)).T
        return model.fit_regularized(
            *(alpha, self.L1_wt),
            penalize_intercept=constant is not None and bool(alpha[constant].any()),
            **({"symmetric": True} if self.symmetric else {}),
            refit=self.refitted,
            n_threads=1,
        )

    @property
    @requires()
    def posterior_sd(self) -> Any:
        """Posterior standard deviations, labelled like `params`.

        They are the square roots of the diagonal of (I + ridge)^-1, I the observed information and ridge = N alpha. NaN
        where there is no posterior: after a lasso, and of a pseudo-likelihood.
        """
        if self.refitted:
            raise NotImplementedError("posterior_sd of a refit: it has no prior. bse has the standard errors")
        return self._labelled(self._se)

    @cached_property
    @requires()
    def k_params_effective(self) -> float:
        """Effective degrees of freedom: the trace of I (I + ridge)^-1 over the coefficients that are not 0.

        I is the observed information. After a lasso it is their number (Zou, Hastie & Tibshirani 2007).
        """
        return self._state.free_count

    @cached_property
    @requires()
    def df_model(self) -> float:
        """Effective degrees of freedom of the slopes; after a lasso the number of slopes that are not 0.

        Where columns span a constant without being one, less the effective degrees of freedom of that constant alone,
        with the same penalty.
        """
        slopes = float(self._state.estimate.shares[self._state.slopes].sum())
        spanned = self.model.k_constant and self._state.slopes.all()
        return max(0.0, slopes - self._share_of_constant()) if spanned else slopes

    def _share_of_constant(self) -> float:
        """Trace of A (A + R)^-1, A the information on the constants that the coefficients span and R their ridge."""
        model, state, columns = self.model, self._state, self._state.columns
        lasso = state.penalty.lasso.any()
        if lasso:
            columns = columns[(state.b.reshape(-1, len(model.exog_names))[:, columns] != 0).any(axis=0)]
        blocks, c = model._rows.columns().map(lambda X: (some_columns(X, columns),)), np.zeros(len(model.exog_names))
        levels = of_levels(blocks)
        if levels is not None and levels.constant is not None:
            c[columns] = levels.constant
        else:
            R = triangular_factor(blocks.map(lambda X: (side_by_side(X, np.ones((X.shape[0], 1))),)))
            if lasso and abs(R[-1, -1]) > 1e-9 * np.linalg.norm(R[:, -1]):  # what is selected spans no constant
                return 0.0
            c[columns] = np.linalg.lstsq(R[:, :-1], R[:, -1], rcond=None)[0]
            c[np.abs(c) < 1e-9 * np.abs(c).max()] = 0.0
        C = np.kron(np.eye(len(state.b) // len(c)), c[:, None])
        if lasso:  # only classes with all columns selected have a constant
            C = C[:, ~(C[state.b == 0] != 0).any(axis=0)]
        DC = np.kron(model._contrasts_of_levels(), np.eye(len(c))) @ C if state.symmetric else C
        DC = into_basis(state.basis, DC)
        A = DC.T @ state.fit.evaluation.information @ DC
        return float(np.trace(np.linalg.pinv(A + (C.T * state.penalty.ridge) @ C, hermitian=True) @ A))

    @property
    @requires()
    def selected(self) -> pd.Index:
        """Labels of the slopes that are not 0: names of columns or, with several classes, (level, regressor)."""
        return self._param_index[self._state.selected]

    def _as_dict(self) -> dict[str, Any]:
        stored = super()._as_dict()  # type: ignore[misc]
        if not self._state.has_spread:
            stored["covariance"]["matrix"] = None
        return stored

    # ------------------------------------------------------------------------------------------- for the summary
    def _header_tail(self) -> tuple[str, str]:
        """Last entry of the summary's header, in place of a likelihood ratio test."""
        return ("Eff. parameters:", count(self.k_params_effective))

    def _notes(self) -> list[str]:
        state = self._state
        notes = [self._penalty_note(), self._intercept_note(), *self.model._summary_notes()]
        if state.has_spread:
            notes.append(state.covariance.description)
        elif not self.model._pseudo:
            notes.append("There are no standard errors and no p-values after selection.")
        notes += self._omitted_notes()
        if not self.converged:
            notes.append(f"The estimate is NOT a maximum: {self.mle_retvals['message']}.")
        return notes

    def _penalty_note(self) -> str:
        n = f"{self._state.penalty.n:g}"
        if self.refitted:
            return f"Columns were selected by the penalty above (N = {n}) and fitted again by maximum likelihood."
        criteria = "" if self.model._pseudo else " AIC and BIC count effective parameters."
        return (
            f"The estimate maximises llf/N - alpha ((1 - L1_wt)/2 |b|^2 + L1_wt |b|_1), N = {n}; regressors are not "
            f"standardised.{criteria}"
        )

    def _intercept_note(self) -> str:
        constant, k = self._state.estimate.constant, len(self.model.exog_names)
        if constant is None:
            return SPANNED if self.model.k_constant else "The model has no intercept."
        free = not self._state.penalty.alpha[constant::k].any()
        return "The intercept has no penalty." if free else "The intercept has a penalty, too."


class RegularizedBinaryResults(RegularizedResults, BinaryResults):
    """Results of `fit_regularized` of binary models; see `RegularizedResults`."""


class RegularizedMultinomialResults(RegularizedResults, MultinomialResults):
    """Results of `fit_regularized` of MNLogit; see `RegularizedResults`.

    With ``symmetric=True`` `params` has a column for every level, whose free coefficients add up to 0.
    """


def penalized_class(results: type[RegressionResults]) -> type[RegularizedResults]:
    """Class of penalised results of a model, from the class of its other results."""
    return RegularizedMultinomialResults if issubclass(results, MultinomialResults) else RegularizedBinaryResults
