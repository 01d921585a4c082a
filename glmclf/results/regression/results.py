"""Results of regressions: likelihood, tests, residuals, influence and summary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.core.design.columns import Columns
from glmclf.core.design.product import Product, rotated
from glmclf.core.fit.aliasing import not_estimable
from glmclf.core.fit.coordinates import basis_of_record
from glmclf.core.fit.offsets import centred
from glmclf.core.fit.rank import roundings, triangular_factor
from glmclf.core.fit.solvers.sgd import RAW, remaining_error
from glmclf.data.table.frame import align, quoted
from glmclf.data.table.rows import offset_of_new_rows
from glmclf.errors import DataError
from glmclf.inference.hypotheses import wald
from glmclf.inference.specification import gof
from glmclf.results import saving
from glmclf.results.base import Results, row_property
from glmclf.results.comparison import comparability as same_data
from glmclf.results.comparison.mixin import ModelComparison
from glmclf.results.diagnostics.mixin import Diagnostics
from glmclf.results.margins.mixin import Margins
from glmclf.results.omitted import check_new_rows, combination, omitted_note
from glmclf.results.performance.mixin import Performance
from glmclf.results.regression.constrained import check_joint, free_design
from glmclf.results.regression.criterion import FirthCriterion, LikelihoodCriterion
from glmclf.results.regression.likelihood_tests import LikelihoodTests
from glmclf.results.regression.state import FitState
from glmclf.results.requires import requires
from glmclf.results.separation import Separation, as_dict, instead, renamed, separation_of
from glmclf.results.separation import from_dict as separation_from

OF_A_MAXIMUM = ("_flagged", "_rounded", "_digits")  # what is kept without rows of a maximum of the likelihood alone


class RegressionResults(LikelihoodTests, Performance, Margins, Diagnostics, ModelComparison, Results):
    """Results of a regression: estimate and inference. Made by `fit`, not by hand.

    Attributes
    ----------
    model : Model
    method : str
        The solver.
    converged : bool
    mle_retvals : dict
        Iterations, message, squared Newton decrement and gradient norm of the fit.
    cov_type : str
    use_t : bool
        Always False: inference uses the normal distribution.
    """

    def __init__(self, model, state: FitState, method: str):
        self.model, self.method, self._state = model, method, state
        fit, omitted = state.estimate.fit, state.estimate.omitted
        if omitted:
            model._left_out = {**model._left_out, **omitted}
        self._origin: RegressionResults | None = None  # original of a separated fit that was rebased
        self.separation: Separation | None = separation_of(model, state.estimate)
        self.converged = fit.converged
        self.mle_retvals = state.estimate.retvals(method)
        if fit.message == RAW:
            self.mle_retvals["remaining_error"] = self._remaining_error()

    # names of parts of the state for Wald tests and tables
    _theta: Any = property(lambda self: self._state.theta)
    _V: Any = property(lambda self: self._state.V)
    _diagonal: Any = property(lambda self: self._state.variances)
    _cov: Any = property(lambda self: self._state.covariance)
    _group_names: Any = property(lambda self: self._state.groupings)
    _omitted: Any = property(lambda self: self._state.omitted)
    _places: Any = property(lambda self: self._state.places)
    _size: Any = property(lambda self: self._state.free_count)
    _value: Any = property(lambda self: self._state.value)
    _unselected: Any = property(lambda self: self._state.unselected)
    _has_spread: Any = property(lambda self: self._state.has_spread)
    _has_tests: Any = property(lambda self: self._state.has_tests)
    _regularised: Any = property(lambda self: self._state.penalised)
    _deviation: Any = property(lambda self: self._state.deviation)
    _estimator: Any = property(lambda self: self._state.name)

    def _remaining_error(self) -> float:
        """Distance to the maximum in standard errors, from the information or, for a pseudo-likelihood, as reported."""
        if not self.model._pseudo:
            return remaining_error(self._state.fit, self.model._unit)
        e, at = self._state.narrow.fit.evaluation, np.ix_(self._state.places, self._state.places)
        try:
            return float(np.sqrt(wald.quadratic_form(e.factor.solve(e.score), self._cov.matrix[at])))
        except (ValueError, np.linalg.LinAlgError):
            return np.inf

    def _objective(self):
        """Objective of the columns that are not omitted, in the coordinates of the fit, with the offset centred."""
        objective, basis = centred(self.model._objective(columns=self._state.columns))[0], self._state.narrow.basis
        return objective if basis is None else objective.rotated(basis, self._state.exact)

    # ----------------------------------------------------------------------------------------------- numbers
    def _coordinates(self, R: ndarray) -> tuple[ndarray, ndarray, ndarray]:
        """Estimate, covariance and R in the fit's coordinates, where an ill-conditioned design keeps its digits."""
        self._check_estimable(R)
        return self._in_coordinates(R)

    def _in_coordinates(self, R: ndarray) -> tuple[ndarray, ndarray, ndarray]:
        return self._state.in_coordinates(R)

    def _block(self, at: ndarray) -> ndarray:
        return self._state.block(at)

    @property
    def _plain(self) -> bool:
        state, found = self._state, self._state.estimate
        return bool(found.is_finite and not (found.constraints or state.combinations)) and state.unselected is None

    @property
    def _has_joint_tests(self) -> bool:
        return self._state.has_tests and not self._state.estimate.constraints

    @property
    def _rank(self) -> float:
        return self._cov.rank(centred=self._state.estimate.has_zero_score and self.converged)

    def _check_new_rows(self, X) -> None:
        """Warn of rows to predict that violate a combination which columns of the fit obeyed."""
        if self._state.combinations:
            check_new_rows(self._state.combinations, X, self.model.exog_names, self._units)

    def _check_estimable(self, R: ndarray) -> None:
        """Refuse combinations that are infinite or fixed, or that omitted columns make arbitrary."""
        state: Any = self._state
        if state.estimate.fixed(R)[0].any():
            raise ValueError(
                f"the constraints {state.estimate.constraint} fix what the hypothesis is about, so that the estimate "
                "has no test of it: use constraint_test()"
            )
        self._check_unaliased(R)
        if state.unselected is not None and (lost := R[:, state.unselected].any(axis=0)).any():
            names = np.array(self._param_names)[state.unselected][lost]
            raise ValueError(f"the hypothesis is about {', '.join(names)}, which was not selected")
        if self._touches_infinity(R):
            raise ValueError(
                f"the hypothesis is about coefficients that are infinite ({self.separation}), which have no Wald "
                f"test: {instead(self.model._pseudo)}"
            )

    def _check_unaliased(self, R: ndarray) -> None:
        """Refuse combinations that omitted columns make arbitrary."""
        state: Any = self._state
        stray = not_estimable(state.combinations, R, state.coordinates.k, self._units) if state.combinations else []
        if stray:
            names, what = self.model.exog_names, []
            for j in stray:
                equal = combination(state.combinations[j], names) or "0 in every row"
                what.append(f'"{names[j]}" (it equals {equal})')
            raise ValueError(
                f"the hypothesis is not estimable: its value depends on the omitted coefficient of {', '.join(what)}. "
                "Test combinations that are the same whichever of these columns is left out"
            )

    def _check_joint(self, R: ndarray) -> None:
        check_joint(self, R)

    @property
    def _z(self) -> ndarray:
        """Estimates over their standard errors; NaN for parameters that constraints fix."""
        with np.errstate(divide="ignore", invalid="ignore"):  # robust standard errors may be 0
            return np.where(self._state.estimate.fixed_parameters, np.nan, self._theta / self._se)

    def _contrasts(self, R: ndarray) -> tuple[ndarray, ndarray]:
        """Estimate and standard error of each combination, a row of R: inf, -inf or NaN where it is not finite."""
        theta, V, rotated = self._in_coordinates(R)
        estimate, se = wald.combine(rotated, theta), wald.standard_errors(rotated, V)
        return self._state.combined(R, estimate, se, self._units)

    @property
    def _outcomes_gone(self) -> ndarray:
        """Mask of the outcomes that separation rules out in the rows of the fit, (n, K) bool."""
        return self.model._rows.blocks().collect(lambda X, *_: self._gone_in(X))

    def _gone_in(self, X: Columns) -> ndarray | None:
        """Outcomes that separation rules out in a part of the rows of the fit; known if these are in memory."""
        found, model = self._state.estimate, self.model
        return found.ruled_out if X is model._rows.X else found.rules_out(X, model._likelihood.n_eta + 1)

    @cached_property
    @requires()
    def llf(self) -> float:
        """Log-likelihood, with the binomial coefficients of counts; a pseudo-likelihood under sampling weights."""
        return float(self._value + self.model._constant)

    @cached_property
    @requires()
    def llnull(self) -> float:
        """Log-likelihood of the null model, without regressors and with equal offset and weights.

        It has the constant alone or, if columns do not span a constant, eta = offset.
        """
        return float(self._null_value + self.model._constant)

    @cached_property
    def _null_value(self) -> float:
        return float(self.model._null_loglike())

    @property
    def _criterion(self) -> LikelihoodCriterion:
        """Criterion that the estimate maximises."""
        return (LikelihoodCriterion if self._state.estimate.has_zero_score else FirthCriterion)(self)

    @cached_property
    def _null_maximised(self) -> float:
        """Largest value of the criterion in the null model."""
        return float(self._criterion.null)

    @property
    @requires()
    def prsquared(self) -> float:
        """McFadden's pseudo-R-squared, 1 - llf/llnull; NaN of a fit that did not converge.

        Both are without the binomial coefficients of counts.
        """
        return np.nan if self._short else 1.0 - self._value / self._null_value

    @property
    def _short(self) -> bool:
        """Whether the fit did not reach the maximum of the likelihood, so that comparisons of maxima are NaN."""
        return not self.converged and not self._regularised

    @cached_property
    @requires()
    def df_model(self) -> float:
        """Number of parameters, without the constant and omitted columns."""
        counted = self.model.df_model - (len(self._theta) - self._size)
        return max(0, counted)  # constraints may fix the constant, too

    @property
    @requires()
    def df_resid(self) -> float:
        """Observations less parameters, of a penalised fit effective ones, without omitted columns."""
        return self.nobs - self._size

    @property
    def _k_counted(self) -> float:
        return self._size

    @cached_property
    def _fingerprint(self) -> dict[str, str]:
        """Digests of everything that compared models must share, as long as there are rows."""
        found = same_data.fingerprint(self)
        if self.model._rows.offset is not None:  # with several equations offsets are relative to the reference
            found["offset"] += f" {getattr(self.model, '_offset_base', '')}"
        return found

    @cached_property
    def _data_sums(self) -> dict[str, Any]:
        """Sums by which fits compare whose rows are gone."""
        return same_data.totals(self)

    @cached_property
    def _factor(self) -> ndarray:
        """Triangular factor of all columns."""
        return triangular_factor(self.model._rows.columns())

    @cached_property
    def _units(self) -> list[float]:
        """Units of rounding of the columns' numbers, where some columns are omitted."""
        return roundings(self.model._rows.columns()).tolist() if self._state.combinations else []

    def _touches_infinity(self, R: ndarray) -> bool:
        """Whether one of some combinations of parameters is infinite."""
        return bool(self._state.estimate.moves(R).any())

    @requires()
    def pseudo_rsquared(self) -> pd.Series:
        """Pseudo-R-squareds: McFadden, adjusted McFadden, Cox-Snell, Nagelkerke, Tjur, Efron.

        Binary models also have McKelvey-Zavoina, which needs a single latent variable.

        Returns
        -------
        Series
            Weights and counts are as of single observations: a row of frequency weight or of trials f counts f times,
            so that the numbers are those of the expanded rows. NaN where a coefficient has no meaning: adjusted
            McFadden of a pseudo-likelihood, Tjur of a fractional response.

        Notes
        -----
        With l and l0 the log-likelihoods of the model and of that without regressors, n observations, p parameters
        (of a penalised fit effective ones):
        McFadden 1 - l/l0, adjusted 1 - (l - p)/l0, Cox-Snell R = 1 - exp(2 (l0 - l)/n), Nagelkerke R/(1 - exp(2 l0/n)).
        With y_k the indicator of class k: Tjur sum_k Cov(y_k, p_k) / sum_k Var(y_k), of two classes the mean fitted
        probability of the events less that of the others; Efron 1 - sum (y_k - p_k)^2 / sum (y_k - mean y_k)^2.
        McKelvey-Zavoina Var(eta) / (Var(eta) + v), v the variance of the latent error.
        """
        n = float(self.model._sums[:-1].sum())
        found = gof.from_loglikelihoods(self._value, self._null_value, n, self._size)
        if self.model._pseudo:
            found["adjusted McFadden"] = np.nan
        if self._short:
            found = dict.fromkeys(found, np.nan)
        return pd.Series(found | self._rsquared_of_rows())

    def _rsquared_of_rows(self) -> dict[str, float]:
        """Pseudo-R-squareds that only some models have."""
        return {}

    def _margin_source(self):
        from glmclf.results.margins.predictors import RegressionPredictors

        return RegressionPredictors(self)

    def _repeated(self, model) -> Any:
        found = self._state.estimate
        if found.constraints:
            return model.fit_constrained(found.equations, n_threads=1)
        start = self._state.finite_theta if found.has_zero_score else None
        options = {"bias_reduction": found.bias_reduction, "flic": found.flic}
        return model.fit(start_params=start, separation="raise", n_threads=1, **options)

    def _free_design(self) -> tuple[ndarray, list[str], ndarray | None]:
        return free_design(self)

    def _influence_on(self, J: ndarray) -> ndarray:
        from glmclf.results.diagnostics.influence import influence_on

        return influence_on(self, J)

    @row_property
    def _influences(self):
        from glmclf.results.diagnostics.influence import influences

        return influences(self, None)

    # ------------------------------------------------------------------------------------------- covariance
    def _set_covariance(self, cov_type: str, keywords) -> None:
        found = self._state.centred
        self._state = self._state.with_covariance(*self.model._covariance(found, self._objective(), cov_type, keywords))
        if self._state.estimate.constraints:
            self.__dict__["_keywords"] = keywords

    # ------------------------------------------------------------------------------------------- for the summary
    def _fit_header(self) -> list[tuple[str, str]]:
        n = self.mle_retvals["iterations"]
        solver = ("Solver:", f"{self.method}, {n} iteration{'' if n == 1 else 's'}")
        return [solver, *super()._fit_header(), *self._state.facts]

    def _notes(self) -> list[str]:
        """Notes of the summary."""
        from glmclf.results.diagnostics.accuracy import digit_notes
        from glmclf.results.diagnostics.hauck_donner import hauck_donner_notes
        from glmclf.results.diagnostics.incidental import incidental_notes

        notes = [*self._covariance_notes(), *self.model._summary_notes(), *self._state.estimate.notes]
        if self.separation is not None:
            some = not np.isinf(self._theta).all()
            notes.append(
                f"The estimate is infinite: {self.separation}. {'Finite coefficients are the limit estimates; ' * some}"
                f"llf is the supremum. For tests of infinite ones {instead(self.model._pseudo)}."
            )
        notes += [*self._omitted_notes(), *incidental_notes(self), *hauck_donner_notes(self), *digit_notes(self)]
        if not self.converged:
            notes.append(
                f"The estimate is NOT a maximum: {self.mle_retvals['message']}{self._short_of_it()}. What compares "
                "maxima is NaN: the likelihood ratio, AIC, BIC and pseudo R-squared."
            )
        if (self._diagonal < 0).any():
            notes.append("The multiway covariance is not positive semi-definite: some standard errors are undefined.")
        return notes

    def _omitted_notes(self) -> list[str]:
        omitted = self._state.combinations
        return [omitted_note(omitted, self.model.exog_names)] if omitted else []

    def _short_of_it(self) -> str:
        away = self.mle_retvals.get("remaining_error")
        if away is None:
            return ""
        return f", expected remaining error {away:.2g} standard errors; those are from the information at this point"

    # ---------------------------------------------------------------------------------------- keeping, moving
    _state_class: ClassVar[type[FitState]] = FitState
    _facts: ClassVar[tuple[str, ...]] = ("llf", "_null_value", "df_model", "_data_sums", "_units")

    @property
    def _remembered(self) -> tuple[str, ...]:
        return self._facts if self._regularised else (*self._facts, *OF_A_MAXIMUM)

    def _remember(self, but: str = "") -> None:
        _ = self._null_maximised
        super()._remember(but)

    def _without_stream(self) -> dict[str, Any]:
        """State of a fit to a stream for a pickle, without its limit, which is one of rows."""
        return {**super()._without_stream(), "_state": self._state.without_rows(), "_origin": None}

    def _drop_rows(self) -> None:
        super()._drop_rows()
        found: Any = self._state.estimate.without_rows().with_fewest_facets()
        self._state, self._origin = replace(self._state, estimate=found), None
        if self.separation is not None:
            self.separation = renamed(self.separation, self.model, found.cone)

    def _as_dict(self) -> dict[str, Any]:
        fit = self._state.to_dict(self.method)
        if self.separation is not None:
            found: Any = self._state.estimate
            fit["separation"] = as_dict(self.separation, found.cone)
        if fit["reduction"] is not None:
            null = self._null_maximised
            fit["reduction"]["null"] = None if np.isnan(null) else null
        return {**super()._as_dict(), "fit": fit, **self._state.estimate.to_dict_beside()}

    @classmethod
    def _from_dict(cls, model, stored: dict[str, Any]) -> RegressionResults:
        f, separation, cone = stored["fit"], None, None
        if f.get("separation") is not None:
            separation, cone = separation_from(f["separation"], model, basis_of_record(f["basis"]))
        self = cls(model, cls._state_class.from_dict(stored, model._coordinates, cone), f["method"])
        self.separation = separation
        if f.get("reduction") is not None:
            null = f["reduction"]["null"]
            self.__dict__["_null_maximised"] = np.nan if null is None else null
        self.__dict__.update(saving.facts_from(stored, self._remembered))
        return self

    # ------------------------------------------------------------------------------------- linear predictors
    @property
    def _saturated_value(self) -> float:
        """Log-likelihood of the saturated model."""
        raise NotImplementedError

    def _predictor(self, raw: Columns, X: Columns | Product, offset) -> ndarray:
        """Linear predictors X b + offset, from rows in both coordinates."""
        raise NotImplementedError

    def _eta_of(self, X: Columns, offset) -> ndarray:
        """Linear predictors of a part of the rows of the fit, with the limits of a separated one."""
        return self._where_gone(self._predictor(X, self._rotated(X), offset), self._gone_in(X))

    def _where_gone(self, eta: ndarray, gone: ndarray | None) -> ndarray:
        """Linear predictors of rows, with their limits where separation rules outcomes out, (n, K) bool."""
        raise NotImplementedError

    def _at_the_limit(self, X: Columns, eta: ndarray, index: pd.Index | None = None) -> ndarray:
        """Linear predictors of new rows, with the limits of a separated fit."""
        raise NotImplementedError

    def _new_offset(self, newdata, offset) -> Any:
        """Offset of rows to predict, aligned with the rows; None without an offset."""
        if offset is None and not self.model._has_offset:
            return None
        given = self.model._offset_column if offset is None else offset
        if given is None:
            raise DataError("the model was fitted with an offset: predict(newdata, offset=...) needs one value a row")
        return self._aligned_offset(newdata, given)

    def _aligned_offset(self, newdata: Any, given: Any) -> Any:
        """Offset of rows to predict from a column of theirs, or from values beside them."""
        raise NotImplementedError

    def _offset_of(self, column: Any, table: pd.DataFrame) -> ndarray:
        """Offset of the rows of a table, from a column, from code of columns, or from values beside it."""
        if not isinstance(column, str) or column in table.columns:
            return offset_of_new_rows(align(column, name="offset", frame=table))
        computed = self.model._computed.get("offset") if column == self.model._offset_column else None
        lost = [] if computed is None else [name for name in computed.variables if name not in table.columns]
        if computed is None or lost:
            what = f'{quoted(lost)} of the offset "{column}"' if lost else f'the offset "{column}"'
            raise DataError(f"the new data lack {what}: add the column, or give offset= values")
        return computed.matrix(table)[:, 0]

    def _outcome_probabilities(self, eta: ndarray) -> tuple[ndarray, ndarray]:
        """Log probabilities and probabilities of the outcomes in their order, (n, K)."""
        raise NotImplementedError

    @property
    @requires()
    def deviance(self) -> float:
        """Twice the distance in log-likelihood from the saturated model."""
        return 2.0 * (self._saturated_value - self._value)

    @property
    @requires()
    def null_deviance(self) -> float:
        """Deviance of the model without regressors."""
        return 2.0 * (self._saturated_value - self._null_value)

    @row_property
    def _eta(self) -> ndarray:
        blocks = self.model._rows.blocks()
        return blocks.collect(lambda X, y, trials, offset, weights: self._eta_of(X, offset))

    def _rotated(self, X: Columns) -> Columns | Product:
        """Columns in the coordinates of the fit."""
        return X if self._state.basis is None else rotated(X, self._state.basis, self._state.exact)

    def _linear(self, newdata, offset) -> tuple[Columns | Product, ndarray, pd.Index]:
        """Rows of the design in the fit's coordinates, linear predictors and their labels."""
        model = self.model
        if newdata is None:
            r = model._rows
            X, index = r.X, r.index
            given = r.offset if offset is None else self._new_offset(model._fit_table(), offset)
        else:
            X = model._new_columns(newdata)
            index = newdata.index if isinstance(newdata, (pd.DataFrame, pd.Series)) else pd.RangeIndex(X.shape[0])
            index = index if len(index) == X.shape[0] else pd.RangeIndex(X.shape[0])
            given = self._new_offset(newdata, offset)
            self._check_new_rows(X)
        if given is not None and np.ndim(given) and len(given) != X.shape[0]:
            raise DataError(f"offset has {len(given)} values for {X.shape[0]} rows to predict")
        raw, X = X, self._rotated(X)
        eta = self._predictor(raw, X, given)
        if newdata is None:
            return X, self._where_gone(eta, self._gone_in(raw)), index
        return X, self._at_the_limit(raw, eta, index), index

    def _log_p(self, newdata, offset) -> tuple[ndarray, ndarray, pd.Index]:
        own = newdata is None and offset is None
        eta, index = (self._eta, self.model._rows.index) if own else self._linear(newdata, offset)[1:]
        return *self._outcome_probabilities(eta), index



def saturated_sum(saturated: Callable, X: Any, y: ndarray, trials: Any, offset: Any, weights: ndarray | None) -> float:
    """Log-likelihood of the saturated model, without the coefficients of counts."""
    found = saturated(y, trials)
    return float(np.sum(found if weights is None else weights * found))
