"""Results: everything that follows from the estimate, its covariance, the log-likelihood and the names."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.special import chdtrc

from glmclf.core.design.columns import beside, expandable, reordered, some_columns
from glmclf.core.design.dense import Dense
from glmclf.core.design.product import rotated
from glmclf.core.fit.aliasing import not_estimable
from glmclf.core.fit.estimate import from_basis, into_basis
from glmclf.core.fit.offsets import centred
from glmclf.core.fit.rank import dependencies_in, independent, roundings, triangular_factor
from glmclf.core.fit.solvers.sgd import RAW, remaining_error
from glmclf.core.likelihood.objective import CholeskyFactor
from glmclf.core.rows.blocks import Blocks
from glmclf.errors import CollinearityError, EstimationError, InferenceWarning, warn
from glmclf.inference.covariance.influence import Influences, influence, of_patterns
from glmclf.inference.covariance.types import Context, Covariance
from glmclf.inference.hypotheses import anova, score, wald
from glmclf.inference.hypotheses.anova import TermComparison
from glmclf.inference.specification import gof
from glmclf.results import saving
from glmclf.results.base import Results, row_property
from glmclf.results.comparison import comparability as same_data
from glmclf.results.comparison.mixin import ModelComparison
from glmclf.results.comparison.nesting import check_nested
from glmclf.results.diagnostics.accuracy import Digits
from glmclf.results.diagnostics.mixin import Diagnostics
from glmclf.results.margins.mixin import Margins
from glmclf.results.performance.mixin import Performance
from glmclf.results.regression.bias_reduction import BiasReduction
from glmclf.results.regression.constrained import Constrained
from glmclf.results.regression.omitted import check_new_rows, combination, omitted_note
from glmclf.results.regression.separation import Separation, as_dict, instead, renamed, separation_of
from glmclf.results.regression.separation import from_dict as separation_from
from glmclf.results.regression.state import FitState, StateViews
from glmclf.results.requires import Needs, check_needs, requires


class RegressionResults(
    Performance,
    Margins,
    Diagnostics,
    Constrained,
    BiasReduction,
    Digits,
    ModelComparison,
    StateViews,
    Results,
):
    """What was estimated, with its inference. Made by `fit`, not by hand.

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
        self._origin: RegressionResults | None = None  # the fit that a separated one was re-expressed from
        self.separation: Separation | None = separation_of(model, state.estimate)
        self.converged = fit.converged
        self.mle_retvals = {
            "converged": fit.converged,
            "iterations": fit.iterations,
            "message": fit.message,
            "decrement": fit.decrement,
            "gradient_norm": float(np.linalg.norm(fit.evaluation.score)),
            "method": method,
        }
        if fit.message == RAW:
            self.mle_retvals["remaining_error"] = self._remaining_error()

    def _remaining_error(self) -> float:
        """Distance to the maximum in standard errors: of the information; of a pseudo-likelihood, those reported."""
        if not self.model._pseudo:
            return remaining_error(self._fit, self.model._unit)
        e, at = self._narrow.fit.evaluation, np.ix_(self._places, self._places)
        try:
            return float(np.sqrt(wald.quadratic_form(e.factor.solve(e.score), self._cov.matrix[at])))
        except (ValueError, np.linalg.LinAlgError):
            return np.inf

    def _objective(self):
        """The objective of these columns in the coordinates of the fit, its offset centred."""
        objective, basis = centred(self.model._objective(columns=self._columns))[0], self._narrow.basis
        return objective if basis is None else objective.rotated(basis, self._exact)

    # ----------------------------------------------------------------------------------------------- numbers
    def _coordinates(self, R: ndarray) -> tuple[ndarray, ndarray, ndarray]:
        """Estimate, covariance and R in the fit's coordinates, where an ill-conditioned design keeps its digits."""
        self._check_estimable(R)
        return self._in_coordinates(R)

    def _in_coordinates(self, R: ndarray) -> tuple[ndarray, ndarray, ndarray]:
        return self._state.coordinates(R)

    @property
    def _rank(self) -> float:
        # scores add up to 0 at a maximum
        return self._cov.rank(centred=self._reduction is None and self.converged)

    def _check_new_rows(self, X) -> None:
        """Say which rows to predict disobey a combination that columns of the fit obeyed."""
        if self._combinations:
            check_new_rows(self._combinations, X, self.model.exog_names, self._units)

    def _check_estimable(self, R: ndarray) -> None:
        """Refuse combinations that are infinite or fixed, or that columns left out make arbitrary."""
        self._refuse_fixed(R)
        k = len(self.model.exog_names)
        stray = not_estimable(self._combinations, R, k, self._units) if self._combinations else []
        if stray:
            names, what = self.model.exog_names, []
            for j in stray:
                what.append(f'"{names[j]}" (it equals {combination(self._combinations[j], names) or "0 in every row"})')
            raise ValueError(
                f"the hypothesis is not estimable: its value depends on the omitted coefficient of {', '.join(what)}. "
                "Test combinations that are the same whichever of these columns is left out"
            )
        if self._touches_infinity(R):
            raise ValueError(
                f"the hypothesis is about coefficients that are infinite ({self.separation}), which have no Wald "
                f"test: {instead(self.model._pseudo)}"
            )

    def _contrasts(self, R: ndarray) -> tuple[ndarray, ndarray]:
        """Estimate and standard error of each combination, a row of R: inf, -inf or NaN where it is not finite."""
        theta, V, rotated = self._in_coordinates(R)
        estimate, se = wald.combine(rotated, theta), wald.standard_errors(rotated, V)
        if self._cone is not None:
            from glmclf.core.separation.limit import at_infinity

            signs = self._cone.sign_of(R)
            estimate, se = at_infinity(estimate, signs), np.where(signs == 0, se, np.nan)
        if self._combinations:
            k = len(self.model.exog_names)
            lost = [bool(not_estimable(self._combinations, row[None], k, self._units)) for row in R]
            estimate, se = np.where(lost, np.nan, estimate), np.where(lost, np.nan, se)
        if self._constraint is not None:
            fixed, values = self._constraint.fixed(R)
            estimate, se = np.where(fixed, values, estimate), np.where(fixed, 0.0, se)
        return estimate, se

    @property
    def _outcomes_gone(self) -> ndarray:
        """Outcomes of the rows of a separated fit that are ruled out, (n, K) bool."""
        r, K = self.model._rows, self.model._likelihood.n_eta + 1
        if not r.streamed:
            assert self._ruled_out is not None
            return self._ruled_out
        from glmclf.core.separation.outcomes import outcomes_ruled_out

        cone: Any = self._cone
        return r.blocks().gathered(lambda X, *_: outcomes_ruled_out(cone, K, X))

    @cached_property
    @requires()
    def llf(self) -> float:
        """Log-likelihood, with the binomial coefficients of counts; a pseudo-likelihood under sampling weights."""
        return float(self._value + self.model._constant)

    @cached_property
    @requires()
    def llnull(self) -> float:
        """Log-likelihood of the model without regressors, with the same offset and weights: the constant alone or, of a
        model whose columns do not span a constant, eta = offset."""
        return float(self._null_value + self.model._constant)

    @cached_property
    def _null_value(self) -> float:
        return float(self.model._null_loglike())

    @property
    @requires(Needs.MAXIMUM)
    def llr(self) -> float:
        """Likelihood ratio statistic against the model without regressors, 2 (llf - llnull).

        Of a bias-reduced fit that of the penalised likelihood, both sides with the penalty of all parameters; NaN where
        there is none. NaN of a constrained fit where that model does not obey the constraints, and of a fit that did
        not converge.
        """
        if not self.converged or (self._constraint is not None and not self._constraint.null):
            return np.nan
        if self._reduction is not None:
            value = self._reduction.penalised
            return np.nan if value is None else 2.0 * (value - self._null_penalised)
        return 2.0 * (self._value - self._null_value)

    @property
    @requires(Needs.MAXIMUM)
    def llr_pvalue(self) -> float:
        """Its p-value, chi-squared with df_model degrees of freedom; NaN for a pseudo-likelihood."""
        if self.model._pseudo or self.df_model == 0 or np.isnan(self.llr):
            return np.nan
        return float(chdtrc(self.df_model, max(self.llr, 0.0)))

    @property
    @requires()
    def prsquared(self) -> float:
        """McFadden's pseudo-R-squared, 1 - llf/llnull, both without the binomial coefficients of counts; NaN of a fit
        that did not converge."""
        return np.nan if self._short else 1.0 - self._value / self._null_value

    @property
    def _short(self) -> bool:
        """Whether the fit ended short of the maximum of the likelihood: what compares maxima is then NaN."""
        return not self.converged and not self._regularised

    @cached_property
    @requires()
    def df_model(self) -> int:
        """Parameters, the constant and columns left out not counted."""
        counted = self.model.df_model - (len(self._theta) - self._size)
        return counted if self._constraint is None else max(0, counted)  # they may fix the constant, too

    @property
    @requires()
    def df_resid(self) -> float:
        """Observations less parameters, columns left out not counted."""
        return self.model.df_resid + (len(self._theta) - self._size)

    @property
    def _k_counted(self) -> float:
        return self._size

    # ------------------------------------------------------------------------------------------------- tests
    @requires()
    def conf_int(self, alpha: float = 0.05, method: str = "wald") -> pd.DataFrame:
        """Confidence intervals of the parameters.

        Parameters
        ----------
        alpha : float
            One minus the level, in (0, 1).
        method : {"wald", "profile"}
            "wald": estimate -/+ z se. "profile": all values that a likelihood ratio test of level `alpha` does not
            reject, {c : 2 (llf - max of the log-likelihood with b_j = c) <= chi-squared(1; 1 - alpha)}; they need no
            symmetry, and are the same whatever the parameter is called (a coefficient, or its exponential).

        Returns
        -------
        DataFrame
            Columns 0 and 1: the ends. Of a separated fit the profile interval of a coefficient at infinity is
            one-sided, [lower, inf] or [-inf, upper]; with directions of both signs it is [-inf, inf]. NaN for columns
            left out. Of a fit with bias_reduction="firth" it is of the penalised likelihood, which may have several
            maxima where a coefficient is held: the highest that a search from several points finds counts, and an end
            is the first value beyond the estimate at which the test rejects. NaN, with an `InferenceWarning`, for an
            end at which the statistic could not be brought to the quantile.

        Raises
        ------
        ValueError
            Profile of a pseudo-likelihood (sampling weights, fractions), or of a fit that did not converge.
        NotImplementedError
            Profile of a robust covariance, or of a bias reduction that maximises no likelihood.
        DataError
            Profile of a result whose rows were removed or not saved.

        References
        ----------
        Venzon & Moolgavkar (1988), A method for computing profile-likelihood-based confidence intervals. Applied
        Statistics 37, 87-94. Heinze & Schemper (2002), Statistics in Medicine 21, 2409-2419.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("GRADE ~ GPA + PSI", datasets.load("spector")).fit()
        >>> res.conf_int(method="profile").round(3)
                        0      1
        Intercept -21.660 -4.549
        GPA         0.971  5.934
        PSI         0.467  4.699
        """
        if method != "profile":
            return super().conf_int(alpha, method)
        from glmclf.results.regression.profile import profile_intervals

        return profile_intervals(self, alpha)

    @requires(Needs.MAXIMUM, Needs.OBJECTIVE)
    def compare_lr_test(self, restricted: RegressionResults) -> wald.LRTest:
        """Likelihood ratio test of a restricted model nested in this one.

        It takes the model to be right, whatever the covariance of the fits is: robust standard errors do not enter.

        Parameters
        ----------
        restricted : Results
            A fit of the same model class to the same rows with the same weights. It is nested where this one can have
            all its linear predictors: its columns, under constraints their free combinations, and what offsets and
            constraints add are combinations of those of this one. Only the likelihood counts:
            an MNLogit of two levels is a Logit, the event, the reference and the names of the classes may differ if the
            classes are the same rows (a name that both have is of one class). With bias_reduction="firth" both are,
            and the statistic is that of the penalised likelihood, the restricted one maximised again with the penalty
            of all parameters of the larger model (Heinze & Schemper 2002; logistf).

        Returns
        -------
        (statistic, pvalue, df_diff) namedtuple

        Raises
        ------
        ValueError
            Other rows, weights, offset, response, link or bias reduction; a pseudo-likelihood; a model that is not
            nested, or of which that cannot be told, as rows were removed or not saved and names do not decide it.
        NotImplementedError
            A bias reduction without a penalised likelihood.
        """
        if not isinstance(restricted, RegressionResults):
            raise TypeError(f"compare_lr_test needs the result of another model, found {type(restricted).__name__}")
        if restricted._regularised:
            raise NotImplementedError(
                "compare_lr_test with a penalised fit: its log-likelihood is no maximum. Fit it by fit()"
            )
        self._check_comparable(restricted)
        if self._reduction is not None and self._reduction.penalised is not None:
            value = self._penalised_as(restricted)
            return wald.lr_test(self._reduction.penalised, value, self._size - restricted._size)
        return wald.lr_test(self._value, restricted._value, self._size - restricted._size)

    def _check_comparable(self, other: RegressionResults) -> None:
        alike = type(self.model) is type(other.model)
        if not alike and not same_data.same_link(self, other):
            self._refuse_other_class(other)
        if self.bias_reduction != other.bias_reduction:
            a, b = (f"bias_reduction={r.bias_reduction!r}" for r in (self, other))
            raise ValueError(f"compare_lr_test: this fit has {a}, the restricted one {b}: fit both alike")
        if self.model._pseudo or other.model._pseudo:
            raise ValueError(
                "sampling weights or fractions make the log-likelihood a pseudo-likelihood, which has no likelihood "
                "ratio test; use wald_test"
            )
        for which, res in (("this", self), ("the restricted", other)):
            if not res.converged:
                raise ValueError(f"{which} model's fit did not converge, so that its log-likelihood is no maximum")
        differ = same_data.different_data(self, other)
        if not differ and self.bias_reduction and not same_data.same_offset(self, other):
            differ = ["offset"]  # the penalised likelihood is maximised again with the offset of this fit
        if differ:
            raise ValueError(
                f"the two models were fitted to different data (their {', '.join(differ)} differ). Fit both to the "
                "same rows: drop rows with missing values of either first, for example with data.dropna()"
            )
        if alike and not same_data.same_link(self, other):
            self._refuse_other_class(other)
        if self._size <= other._size:
            raise ValueError(
                f"the restricted model has {other._size} parameters, this one {self._size}: call compare_lr_test on "
                "the larger model, with the smaller one as its argument"
            )
        check_nested(self, other)

    def _refuse_other_class(self, other: RegressionResults) -> None:
        a, b = type(self.model).__name__, type(other.model).__name__
        link = getattr(self.model, "link", None)
        if a == b and link is not None and not link.symmetric:
            raise ValueError(
                f"a {a} is not nested in one of the other event, as the two tails of its link differ. Fit both with "
                "the same event="
            )
        names = [same_data.coded_levels(res) for res in (self, other)]
        if len(names[0]) != len(names[1]):
            raise ValueError(
                f"the models are not nested: their levels differ, this one has {names[0]} and the restricted one "
                f"{names[1]}. Fit both to the same response"
            )
        raise ValueError(f"a {b} is not nested in a {a}: a likelihood ratio test compares models of one class")

    @cached_property
    def _fingerprint(self) -> dict[str, Any]:
        """A digest of each thing that models compared must share, and of the columns."""
        found = same_data.fingerprint(self)
        if self.model._rows.offset is not None:  # several equations: an offset is one against the reference
            found["offset"] += f" {getattr(self.model, '_offset_base', '')}"
        return found

    @requires(Needs.MAXIMUM, Needs.UNCONSTRAINED)
    def anova(self, type: int = 3, test: str = "LR") -> pd.DataFrame:
        """Test of each term of the formula, all its columns at once and, with several classes, in all equations.

        Parameters
        ----------
        type : {3, 2, 1}
            3: each term against the model without its columns, as they are coded: with treatment coding the main effect
            of an interaction is the effect at the base level. 2: each term against the model without it, both without
            the terms that contain it. 1: each term added to those before it, in the order in which the formula has them
            but interactions after what they are of (as R), and of arrays in the order of the columns.
        test : {"LR", "wald", "score"}
            Likelihood ratio, with a fit of each smaller model; Wald, with the covariance of the result; or Rao's score
            test at the smaller model's estimate, with the expected information.

        Returns
        -------
        DataFrame
            Index: the terms, without the intercept. Columns: statistic (chi-squared), df, pvalue.

        Raises
        ------
        ValueError
            A test of a pseudo-likelihood other than Wald's, a fit that did not converge, an unknown type or test.

        Notes
        -----
        Rows, offset and weights of the smaller models are those of the fit. Degrees of freedom are differences of rank:
        a term whose columns are combinations of those of the smaller model has none, its statistic is 0.

        References
        ----------
        Fox (2016), Applied Regression Analysis and Generalized Linear Models, section 15.3.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector")).fit()
        >>> res.anova().round(4)
              statistic  df  pvalue
        GPA      6.7842   1  0.0092
        TUCE     0.4739   1  0.4912
        PSI      6.2037   1  0.0127
        """
        if type not in anova.TYPES or isinstance(type, bool):
            raise ValueError(f"type={type!r}: choose 1, 2 or 3")
        if test not in anova.TESTS:
            raise ValueError(f'test={test!r}: choose "LR", "wald" or "score"')
        if test != "wald":
            check_needs(self, f'anova(test="{test}")', Needs.LIKELIHOOD, Needs.OBJECTIVE)
        if test == "score":
            check_needs(self, 'anova(test="score")', Needs.MLE)
        model, constant = self.model, self.model._constant_column()
        columns = {name: np.arange(len(model.exog_names))[part] for name, part in model._design.terms.items()}
        if type == 1 and model.formula is not None:
            from glmclf.data.formula.parse import written_order

            columns = {name: columns[name] for name in written_order(model.formula) if name in columns}
        skip = next((name for name, c in columns.items() if len(c) == 1 and c[0] == constant), None)
        compared = anova.comparisons(type, columns, model._term_factors, skip)
        statistic = {"LR": self._lr_statistic, "wald": self._wald_statistic, "score": self._score_statistic}[test]
        q = model._likelihood.n_eta
        if self._combinations:
            compared = [self._of_full_rank(c) for c in compared]
        values = [statistic(c) for c in compared]
        df = [len(c.tested) * q for c in compared]
        pvalues = [float(chdtrc(d, v)) if d and not np.isnan(v) else np.nan for v, d in zip(values, df, strict=True)]
        index = pd.Index([c.term for c in compared], dtype=object)
        return pd.DataFrame({"statistic": values, "df": df, "pvalue": pvalues}, index=index)

    @cached_property
    def _factor(self) -> ndarray:
        """Triangular factor of all columns."""
        return triangular_factor(self.model._rows.columns())

    @cached_property
    def _units(self) -> list[float]:
        """Units of rounding of the columns' numbers, where some of them were left out."""
        return roundings(self.model._rows.columns()).tolist() if self._combinations else []

    def _of_full_rank(self, c: TermComparison) -> TermComparison:
        """The same two column spaces by columns that are no combinations of others."""
        smaller = independent(self._factor, c.smaller, self._units)
        return TermComparison(c.term, independent(self._factor, np.r_[smaller, c.tested], self._units), smaller)

    def _flat_columns(self, columns: ndarray) -> ndarray:
        return anova.across_equations(columns, len(self.model.exog_names), self.model._likelihood.n_eta)

    def _maximum(self, columns: ndarray) -> tuple[float, ndarray]:
        """Largest log-likelihood with some columns, from the estimate that the information predicts for it."""
        if self._reduction is not None:
            return self._penalised_with(columns)
        everything = np.arange(len(self.model.exog_names))
        if len(columns) == len(self._columns):
            return self._value, self._theta[self._flat_columns(columns)]
        kept = self._flat_columns(columns)
        if self._cone is not None or self._combinations:
            return self.model._maximum(columns, np.zeros(len(kept)))
        start = self._theta[kept]
        if self._basis is None and len(kept):
            lost, information = self._flat_columns(np.setdiff1d(everything, columns)), self._fit.evaluation.information
            shift = information[np.ix_(kept, lost)] @ self._theta[lost]
            start = start + CholeskyFactor(information[np.ix_(kept, kept)]).solve(shift)
        return self.model._maximum(columns, start)

    def _lr_statistic(self, c: TermComparison) -> float:
        larger, smaller = self._maximum(c.larger)[0], self._maximum(c.smaller)[0]
        return wald.lr_test(larger, smaller, 1).statistic

    def _wald_statistic(self, c: TermComparison) -> float:
        if not len(c.tested):
            return 0.0
        if self._combinations:
            return self._wald_of_spaces(c)
        absent = np.setdiff1d(np.arange(len(self.model.exog_names)), c.larger)
        tested, absent = self._flat_columns(c.tested), self._flat_columns(absent)
        chosen = np.concatenate([absent, tested])
        R = np.zeros((len(chosen), len(self._theta)))
        R[np.arange(len(chosen)), chosen] = 1.0
        place = np.arange(len(chosen))
        return self._wald_given(R, place[len(absent) :], place[: len(absent)], c.term)

    def _wald_of_spaces(self, c: TermComparison) -> float:
        """Wald statistic of two column spaces, in coordinates of which the first ones span the smaller and the next
        ones the larger."""
        columns = independent(self._factor, np.r_[c.smaller, c.tested, self._columns], self._units)
        # X[:, kept] = X[:, columns] A, so that parameters of these columns are A b
        A = np.linalg.lstsq(self._factor[:, columns], self._factor[:, self._columns], rcond=None)[0]
        q = self.model._likelihood.n_eta
        R = np.zeros((len(columns) * q, len(self._theta)))
        R[:, self._places] = np.kron(np.eye(q), A)
        tested = anova.across_equations(np.arange(len(c.smaller), len(c.larger)), len(columns), q)
        absent = anova.across_equations(np.arange(len(c.larger), len(columns)), len(columns), q)
        place = np.arange(len(absent) + len(tested))
        R = R[np.concatenate([absent, tested])]
        return self._wald_given(R, place[len(absent) :], place[: len(absent)], c.term)

    def _wald_given(self, R: ndarray, tested: ndarray, absent: ndarray, term: str) -> float:
        """Wald statistic of combinations R, the rows `absent` first, where those are 0; NaN where there is none."""

        def form(z: ndarray, C: ndarray) -> float:
            return anova.wald_statistic(z, C, tested, absent)

        if self._touches_infinity(R):
            return np.nan
        theta, V, R = self._coordinates(R)
        try:
            return wald.joint_statistic(theta, V, R, np.zeros(len(R)), form, self._rank)
        except (ValueError, np.linalg.LinAlgError):
            warn(wald.no_joint_test([term]), InferenceWarning)
            return np.nan

    def _touches_infinity(self, R: ndarray) -> bool:
        """Whether one of these combinations is infinite."""
        return self._cone is not None and bool((self._cone.sign_of(R) != 0).any())

    def _score_statistic(self, c: TermComparison) -> float:
        if not len(c.tested):
            return 0.0
        q, k = self.model._likelihood.n_eta, len(c.larger)
        kept = anova.across_equations(np.arange(len(c.smaller)), k, q)
        theta = np.zeros(k * q)
        theta[kept] = self._maximum(c.smaller)[1]
        if not np.isfinite(theta).all():
            return self._score_at_limit(c)
        own = self.model._objective()
        chosen = own.blocks.changed(lambda X, *rest: (reordered(X, c.smaller, c.tested), *rest))
        # the smaller model's columns span the first ones of a triangular basis, so that the test is the same in it
        R = triangular_factor(chosen.changed(lambda X, *rest: (X,)))
        blocks = chosen.changed(lambda X, *rest: (rotated(X, R), *rest))
        e = type(own)(own.likelihood, blocks, own.unit)(into_basis(R, theta), True)
        with suppress(np.linalg.LinAlgError):
            return score.score_test(e.score, e.information, np.setdiff1d(np.arange(k * q), kept)).statistic
        warn(
            f'anova(test="score"): {c.term} has no test, since the information of the model without it is singular to '
            'rounding (fitted probabilities of 0 and 1). Use test="LR".',
            InferenceWarning,
        )
        return np.nan

    def _score_at_limit(self, c: TermComparison) -> float:
        """Score statistic where the smaller model is separated; NaN where its limit leaves no rows to tell."""
        found: Any = self.model._estimate_with(c.smaller, np.zeros(len(c.smaller) * self.model._likelihood.n_eta))
        if getattr(found, "cone", None) is not None and len(found.rows):
            objective, theta, tested = found.with_columns(some_columns(self.model._rows.X, c.tested).toarray())
            e = objective(theta, True)
            with suppress(ValueError, np.linalg.LinAlgError):  # its columns are combinations of others on these rows
                return score.score_test(e.score, e.information, tested).statistic
        warn(
            f'anova(test="score"): {c.term} has no test, since the model without it is separated and the rows left '
            'say nothing about it. Use test="LR".',
            InferenceWarning,
        )
        return np.nan

    @requires(Needs.MLE, Needs.UNCONSTRAINED)
    def score_test(
        self,
        exog_extra=None,
        params_constrained=None,
        k_constraints: int | None = None,
        cov_type: str | None = None,
        observed: bool = False,
    ) -> score.ScoreTest:
        """Score (Lagrange multiplier) test of regressors that the model does not have, or of a constrained estimate.

        Parameters
        ----------
        exog_extra : str, list of str, Series, DataFrame or array_like, optional
            Regressors to add to every equation: columns of the model's table by name, or values beside it or beside the
            rows of the fit.
        params_constrained : array_like, optional
            An estimate of this model under constraints, in place of `exog_extra`: the test is of the constraints.
        k_constraints : int, optional
            How many independent constraints `params_constrained` obeys.
        cov_type : {"nonrobust", "HC0"}, optional
            Whether the covariance of the score is the information, or that of outer products of scores, which holds if
            the model is not right (`exog_extra` only). Default "nonrobust", for a pseudo-likelihood "HC0".
        observed : bool
            Whether to use the observed information instead of the expected one; for logits they are the same.

        Returns
        -------
        (statistic, pvalue, df) namedtuple
            Chi-squared.

        Raises
        ------
        ValueError
            Both or none of the two given, values that do not fit the rows, a fit that did not converge.
        CollinearityError
            A column of `exog_extra` is a combination of others.
        NotImplementedError
            Another `cov_type`.

        References
        ----------
        Rao (1948), Proc. Cambridge Philosophical Society 44, 50-57. Boos (1992), The American Statistician 46, 327-333.
        """
        if (exog_extra is None) == (params_constrained is None):
            raise ValueError("score_test needs one of exog_extra= and params_constrained=")
        robust = self._robust_score(cov_type, params_constrained is not None)
        if params_constrained is not None:
            if k_constraints is None or not 0 < k_constraints <= self._size:
                raise ValueError(f"k_constraints={k_constraints!r}: how many constraints params_constrained obeys")
            objective, shift = centred(self.model._objective(columns=self._columns))
            e = objective(self.model._flat(params_constrained)[self._places] + shift, not observed)
            statistic = float(e.score @ e.factor.solve(e.score))
            return score.ScoreTest(statistic, float(chdtrc(k_constraints, statistic)), int(k_constraints))
        if k_constraints is not None:
            raise ValueError("k_constraints= goes with params_constrained=; exog_extra has its columns as constraints")
        if not self.converged:
            raise ValueError("score_test: the fit did not converge, so that its score is not zero")
        objective, theta, tested = self._with_extra(self.model._beside_the_rows(exog_extra, "exog_extra"))
        e = objective(theta, not observed)
        if not robust:
            return score.score_test(e.score, e.information, tested)
        # outer products of scores are in the objective's unit
        meat = Context(objective, theta, e, self.nobs, self.model._frequency).sum_of_outer_scores()
        return score.score_test(e.score / objective.unit, e.information / objective.unit, tested, meat)

    def _robust_score(self, cov_type: str | None, constrained: bool) -> bool:
        wanted = cov_type or ("HC0" if self.model._pseudo else "nonrobust")
        if wanted not in ("nonrobust", "HC0"):
            raise NotImplementedError(f'score_test(cov_type={cov_type!r}): there are "nonrobust" and "HC0"')
        if wanted == "HC0" and constrained:
            raise NotImplementedError(
                'score_test(params_constrained=...) has no cov_type="HC0", which a pseudo-likelihood needs; '
                "use wald_test"
            )
        return wanted == "HC0"

    def _with_extra(self, extra: pd.DataFrame) -> tuple[Any, ndarray, ndarray]:
        """Objective with more columns, the estimate with zeros for them, and the places of these zeros."""
        k, q, Z = len(self.model.exog_names), self.model._likelihood.n_eta, extra.to_numpy()
        X = self.model._rows.X
        found = dependencies_in(Blocks(X, Dense(Z)))
        stray = [repr(name) for j, name in enumerate(extra.columns) if k + j in found]
        if stray:
            raise CollinearityError(f"exog_extra: {', '.join(stray)} is a combination of other columns of the design")
        if self._limit is not None:
            return self._extra_at_limit(extra)
        columns, basis = self._columns, self._narrow.basis
        X = some_columns(X, columns) if self._combinations else X
        r = len(columns)
        kept = anova.across_equations(np.arange(r), r + Z.shape[1], q)
        theta = np.zeros((r + Z.shape[1]) * q)
        theta[kept] = self._narrow_centred.fit.theta
        own = self._objective()
        if basis is None:
            wider = beside(X, Z)
        else:  # expanded, as it is seldom that a large design needs a basis
            wider = Dense(np.column_stack([rotated(X, basis, self._exact)[:].toarray(), Z]))
        blocks = Blocks(wider, *own.blocks.arrays[1:], size=own.blocks.size)
        objective = type(own)(own.likelihood, blocks, own.unit)
        return objective, theta, np.setdiff1d(np.arange(len(theta)), kept)

    def _extra_at_limit(self, extra: pd.DataFrame) -> tuple[Any, ndarray, ndarray]:
        """The same of a separated fit, where only the rows left can say something."""
        assert self._limit is not None
        rows, q = self._limit.rows, self.model._likelihood.n_eta
        kept = self._limit.kept % len(self.model.exog_names)
        columns = [j for j in np.unique(kept) if (kept == j).sum() == q]
        X = some_columns(self.model._rows.X, np.array(columns, dtype=np.intp))
        blocks = Blocks(X[rows], Dense(extra.to_numpy()[rows])) if len(rows) else None
        lost = {} if blocks is None else dependencies_in(blocks)
        stray = [repr(name) for j, name in enumerate(extra.columns) if blocks is None or len(columns) + j in lost]
        if stray:
            raise EstimationError(
                f"score_test: {', '.join(stray)} is a combination of other columns on the {len(rows)} rows that are "
                f"not predicted perfectly ({self.separation}), which alone could tell"
                + ("" if self.model._pseudo else ". Use compare_lr_test")
            )
        return self._limit.with_columns(extra.to_numpy())

    @requires()
    def pseudo_rsquared(self) -> pd.Series:
        """Coefficients that resemble R-squared: McFadden, adjusted McFadden, Cox-Snell, Nagelkerke, Tjur, Efron; of
        binary models also McKelvey-Zavoina, which needs one latent variable.

        Returns
        -------
        Series
            Weights and counts are as of single observations: a row of frequency weight or of trials f counts f times,
            so that the numbers are those of the expanded rows. NaN where a coefficient has no meaning: adjusted
            McFadden of a pseudo-likelihood, Tjur of a fractional response.

        Notes
        -----
        With l and l0 the log-likelihoods of the model and of that without regressors, n observations, p parameters:
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
        """Coefficients that only some models have."""
        return {}

    def _margin_source(self):
        from glmclf.results.margins.predictors import RegressionPredictors

        return RegressionPredictors(self)

    def _repeated(self, model) -> Any:
        if self._constraint is not None:
            return model.fit_constrained((self._constraint.R, self._constraint.q), n_threads=1)
        reduction = self._reduction
        options = {} if reduction is None else {"bias_reduction": reduction.kind, "flic": reduction.flic}
        start = self._finite_theta if reduction is None else None
        return model.fit(start_params=start, separation="raise", n_threads=1, **options)

    def _influence_on(self, J: ndarray) -> ndarray:
        """What a row of weight one does to estimates of gradient J (E, p) through the parameters, (n, E)."""
        objective, fit = self._objective(), self._narrow_centred.fit
        half = fit.evaluation.factor.inverse @ J[:, self._places].T
        parts = []
        for X, y, m, offset, _ in expandable(objective.blocks):
            u = objective.score_factor(fit.theta, X, y, m, offset)
            u = u.reshape(len(u), -1)
            parts.append(np.einsum("nq,nk,qke->ne", u, X.toarray(), half.reshape(u.shape[1], -1, half.shape[1])))
        return np.concatenate(parts)

    @row_property
    def _influences(self):
        return self._influences_by(None)

    def _influences_by(self, pattern: ndarray | None) -> Influences:
        """Influence of each row, or of all rows of each pattern."""
        if self._cone is not None:
            return self._influences_at_the_limit(pattern)
        frequency = self.model._frequency
        objective, fit = self._objective(), self._narrow_centred.fit
        evaluation = fit.evaluation if objective.canonical else objective(fit.theta, True)
        if pattern is not None:
            objective = of_patterns(objective, pattern)
        if self._constraint is not None:
            return self._constrained_influences(objective, fit.theta, evaluation)
        found = influence(objective, fit.theta, evaluation, frequency)
        if not self._combinations:
            return found
        change = np.zeros((len(found.change), len(self._theta)))
        change[:, self._places] = found.change
        return found._replace(change=change)

    def _influences_at_the_limit(self, pattern: ndarray | None):
        """Influence on the finite parameters; rows that are decided have none."""
        if self._limit is None or self.model._likelihood.n_eta > 1:
            raise NotImplementedError(
                "influence of rows on a separated fit of several classes, whose outcomes are in part ruled out: use "
                'bias_reduction="firth"'
            )
        limit, p = self._limit, len(self._theta)
        of_rows = np.arange(len(self.model._rows)) if pattern is None else pattern
        n = int(of_rows.max()) + 1
        full = Influences(np.zeros(n), np.zeros(n), np.zeros((n, p)), np.zeros(n))
        if not len(limit.kept) or not len(limit.rows):
            return full
        basis, fit = limit.inner.basis, limit.inner.fit
        objective = limit.objective if basis is None else limit.objective.rotated(basis)
        evaluation = fit.evaluation if objective.canonical else objective(fit.theta, True)
        at, inner = np.unique(of_rows[limit.rows], return_inverse=True)
        if pattern is not None:
            objective = of_patterns(objective, inner)
        found = influence(objective, fit.theta, evaluation, self.model._frequency)
        full.leverage[at], full.cooks[at], full.gain[at] = found.leverage, found.cooks, found.gain
        full.change[np.ix_(at, limit.kept)] = from_basis(basis, found.change.T).T
        return full

    # ------------------------------------------------------------------------------------------- covariance
    def _set_covariance(self, cov_type: str, keywords) -> None:
        found = self._state.centred
        self._state = self._state.with_covariance(
            *self.model._covariance(found, self._objective(), cov_type, keywords)
        )
        if self._constraint is not None:
            self.__dict__["_keywords"] = keywords

    # ---------------------------------------------------------------------------------------- presentation
    # ------------------------------------------------------------------------------------------- for the summary
    def _fit_header(self) -> list[tuple[str, str]]:
        n = self.mle_retvals["iterations"]
        facts = [("Solver:", f"{self.method}, {n} iteration{'' if n == 1 else 's'}")]
        if self._group_names:
            pairs = zip(self._group_names, self._cov.clusters, strict=True)
            facts.append(("Clusters:", ", ".join(f"{count} ({name})" for name, count in pairs)))
        return facts

    def _notes(self) -> list[str]:
        """Lines under the summary."""
        from glmclf.results.diagnostics.hauck_donner import hauck_donner_notes

        notes = [*self._covariance_notes(), *self.model._summary_notes(), *self._reduction_notes()]
        if self.separation is not None:
            some = not np.isinf(self._theta).all()
            notes.append(
                f"The estimate is infinite: {self.separation}. {'Finite coefficients are the limit estimates; ' * some}"
                f"llf is the supremum. For tests of infinite ones {instead(self.model._pseudo)}."
            )
        if self._combinations:
            notes.append(omitted_note(self._combinations, self.model.exog_names))
        notes += [*self._constraint_notes(), *hauck_donner_notes(self)]
        notes += self._digit_notes()
        if not self.converged:
            notes.append(
                f"The estimate is NOT a maximum: {self.mle_retvals['message']}{self._short_of_it()}. What compares "
                "maxima is NaN: the likelihood ratio, AIC, BIC and pseudo R-squared."
            )
        if (np.diag(self._V) < 0).any():
            notes.append("The two-way covariance is not positive semi-definite: some standard errors are undefined.")
        return notes

    def _short_of_it(self) -> str:
        away = self.mle_retvals.get("remaining_error")
        if away is None:
            return ""
        return f", expected remaining error {away:.2g} standard errors; those are from the information at this point"

    # ---------------------------------------------------------------------------------------- keeping, moving
    _facts: ClassVar[tuple[str, ...]] = (
        *("llf", "_null_value", "df_model", "_fingerprint", "_flagged"),
        *Digits._digit_facts,
        "_units",
    )

    def _remember(self) -> None:
        _ = self._null_penalised
        super()._remember()

    def __getstate__(self) -> dict[str, Any]:
        """A limit over a stream is one of rows that stay behind."""
        state, rows = super().__getstate__(), self.model._rows_
        if rows is None or not rows.streamed:
            return state
        return {**state, "_state": self._state.without_rows(), "_origin": None}

    def _drop_rows(self) -> None:
        super()._drop_rows()
        self._state, self._origin = self._state.without_rows(), None
        if self.separation is not None and self._cone is not None:
            cone = replace(self._cone, facets=self._cone.extreme, decided=np.zeros(0, dtype=bool))
            self._state = self._state.with_estimate(cone=cone)
            self.separation = renamed(self.separation, self.model, cone)

    def _as_dict(self) -> dict[str, Any]:
        fit = self._state.to_dict(self.method)
        if self.separation is not None:
            fit["separation"] = as_dict(self.separation, self._cone)
        if fit["reduction"] is not None:
            null = self._null_penalised
            fit["reduction"]["null"] = None if np.isnan(null) else null
        return {
            "format": "glmclf",
            "version": saving.FORMAT,
            "model": self.model._as_dict(),
            "fit": fit,
            "covariance": {**vars(self._cov), "groups": self._group_names},
            "facts": {name: self.__dict__.get(name, getattr(self, name)) for name in self._facts},
        }

    @classmethod
    def _from_dict(cls, model, stored: dict[str, Any]) -> RegressionResults:
        f, separation, cone = stored["fit"], None, None
        if f.get("separation") is not None:
            separation, cone = separation_from(f["separation"], model)
        size = len(model.exog_names), model._likelihood.n_eta
        self = cls(model, FitState.from_dict(f, Covariance.of(stored["covariance"]), *size, cone), f["method"])
        self.separation = separation
        if f.get("reduction") is not None:
            null = f["reduction"]["null"]
            self.__dict__["_null_penalised"] = np.nan if null is None else null
        self.__dict__.update({name: stored["facts"][name] for name in cls._facts})
        return self


def saturated_sum(saturated: Callable, X: Any, y: ndarray, trials: Any, offset: Any, weights: ndarray | None) -> float:
    """Log-likelihood of the saturated model, without the coefficients of counts."""
    found = saturated(y, trials)
    return float(np.sum(found if weights is None else weights * found))
