"""Mixin of regressions with tests of the likelihood: ratio, score, terms, constraints; profile intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.special import chdtrc

from glmclf.errors import CollinearityWarning, ConvergenceWarning, InferenceWarning, SeparationWarning, without_warnings
from glmclf.inference.hypotheses.records import LRTest, ScoreBootstrapTest, ScoreTest
from glmclf.results.base import row_property
from glmclf.results.requires import Needs, check_needs, requires
from glmclf.results.wald import WaldInference

if TYPE_CHECKING:
    from glmclf.inference.profile.likelihood import Profile
    from glmclf.results.regression.results import RegressionResults
    from glmclf.results.regression.state import FitState


class LikelihoodTests:
    """Mixin of regressions with likelihood tests, whose work is in the files of each topic."""

    model: Any
    _state: FitState

    @property
    @requires()
    def bias_reduction(self) -> str | None:
        """ "firth", "median", or None for a maximum likelihood estimate."""
        return self._state.estimate.bias_reduction

    @property
    @requires()
    def llf_penalized(self) -> float:
        """Firth's penalised log-likelihood at its maximum, llf + log|I|/2 with I the information of the parameters.

        Only of bias_reduction="firth" with Logit or MNLogit; with flic=True before the intercept was corrected.
        """
        value = self._state.estimate.maximised
        if self.bias_reduction is None or value is None:
            kind = f"bias_reduction={self.bias_reduction!r}"
            raise AttributeError(
                f"llf_penalized: a {type(self.model).__name__} with {kind} has no penalised likelihood"
            )
        return value + self.model._constant

    @property
    @requires()
    def constraints(self) -> list[str]:
        """Linear equations that the estimate of `fit_constrained` obeys; empty for other fits."""
        return self._state.estimate.constraints

    # ------------------------------------------------------------------------------------------- likelihood ratios
    @property
    @requires(Needs.MAXIMUM)
    def llr(self) -> float:
        """Likelihood ratio statistic against the model without regressors, 2 (llf - llnull).

        Of a bias-reduced fit that of the penalised likelihood, both sides with the penalty of all parameters; NaN where
        there is none. NaN of a constrained fit where that model does not obey the constraints, and of a fit that did
        not converge.
        """
        res: Any = self
        value = self._state.estimate.maximised
        if not res.converged or not self._state.estimate.allows_no_slopes or value is None:
            return np.nan
        return 2.0 * (value - res._null_maximised)

    @property
    @requires(Needs.MAXIMUM)
    def llr_pvalue(self) -> float:
        """p-value of `llr`, chi-squared with df_model degrees of freedom; NaN for a pseudo-likelihood."""
        res: Any = self
        if self.model._pseudo or res.df_model == 0 or np.isnan(self.llr):
            return np.nan
        return float(chdtrc(res.df_model, max(self.llr, 0.0)))

    @requires(Needs.MAXIMUM, Needs.OBJECTIVE)
    def compare_lr_test(self, restricted: RegressionResults) -> LRTest:
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
        if not isinstance(restricted, LikelihoodTests):
            raise TypeError(f"compare_lr_test needs the result of another model, found {type(restricted).__name__}")
        from glmclf.results.regression.lr_test import compare_lr_test

        return compare_lr_test(self, restricted)

    @requires()
    def conf_int(
        self, alpha: float = 0.05, method: str = "wald", columns: Sequence[Any] | str | None = None
    ) -> pd.DataFrame:
        """Confidence intervals of the parameters; of a ridge posterior intervals.

        Parameters
        ----------
        alpha : float
            One minus the level, in (0, 1).
        method : {"wald", "profile"}
            "wald": estimate -/+ z se, which alone a penalised fit has. "profile": all values that a likelihood ratio
            test of level `alpha` does not reject,
            {c : 2 (llf - max of the log-likelihood with b_j = c) <= chi-squared(1; 1 - alpha)}; they need no symmetry,
            and are the same whatever the parameter is called (a coefficient, or its exponential).
        columns : list of str, optional
            Names of the parameters whose intervals are wanted, as of `cov_params`; by default all. A profile takes a
            search for each.

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
            Profile of a pseudo-likelihood (sampling weights, fractions), or of a fit that did not converge; names that
            are no parameters.
        NotImplementedError
            Profile of a robust covariance, of a penalised fit, or of a bias reduction that maximises no likelihood; of
            bias_reduction="firth" with so many parameters that it would take more than half an hour; any interval after
            a lasso, and of a penalised pseudo-likelihood.
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
        >>> res.conf_int(method="profile", columns=["PSI"]).round(3)
                 0      1
        PSI  0.467  4.699
        """
        if method == "wald":
            check_needs(self, "conf_int()", Needs.SPREAD)
        if method != "profile":
            return WaldInference.conf_int(cast(Any, self), alpha, method, columns)
        from glmclf.results.regression.profile import profile_intervals

        return profile_intervals(self, alpha, cast(Any, self)._places_of(columns))

    def _profile_of(self, r: ndarray) -> Profile | None:
        """Profile likelihood of r'theta; None where its estimate has no sign, or constraints fix it."""
        from glmclf.results.regression.profile import profile_of

        return profile_of(self, r)[0]

    # ------------------------------------------------------------------------------------- terms, scores, constraints
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
            Index: the terms, without the intercept. Columns: statistic (chi-squared), df, pvalue. Below it is printed
            which tests these are.

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
        Likelihood ratio tests, type 3: each term taken out of the whole model.
        """
        from glmclf.results.regression.anova import anova

        return anova(self, type, test)

    @requires(Needs.MLE, Needs.UNCONSTRAINED)
    def score_test(
        self,
        exog_extra=None,
        params_constrained=None,
        k_constraints: int | None = None,
        cov_type: str | None = None,
        information: str = "expected",
    ) -> ScoreTest:
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
        information : {"expected", "observed"}
            Information at the estimate, whatever the covariance of the fit: the expected one, as R's
            ``anova(test="Rao")`` and `anova(test="score")`, or the observed one, as statsmodels by default. For logits
            they are the same.

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
        from glmclf.results.regression.score_test import score_test

        return score_test(self, exog_extra, params_constrained, k_constraints, cov_type, information)

    @requires(Needs.MAXIMUM)
    def constraint_test(
        self, test: str = "lr", cov_type: str | None = None, cov_kwds: Any = None, information: str = "expected"
    ) -> Any:
        """Test of the constraints, against the fit without them.

        Parameters
        ----------
        test : {"lr", "score", "wald"}
            Likelihood ratio, which takes the model to be right whatever the covariance of the fit is; Rao's score test
            at the constrained estimate; or Wald's at the estimate without constraints.
        cov_type, cov_kwds : optional
            Of "wald" any covariance, of "score" "nonrobust" or "HC0" (outer products of scores). Default of "wald" is
            the covariance type of the fit, with its groups or lags; of "score" "nonrobust", or "HC0" where the fit has
            a type whose name begins with "HC".
        information : {"expected", "observed"}
            Of "score": as in `score_test`.

        Returns
        -------
        (statistic, pvalue, df) namedtuple
            Chi-squared with as many degrees of freedom as the fit without the constraints has parameters more. An
            LRTest, ScoreTest or WaldTest.

        Raises
        ------
        ValueError
            A fit without constraints, an unknown test, "lr" of a pseudo-likelihood, a fit that did not converge;
            constraints that only tell collinear columns apart; "wald" and "score" where the estimate without
            constraints is infinite or their covariance singular.
        NotImplementedError
            `cov_type` with "lr", another than "nonrobust" and "HC0" with "score": also that of the fit.

        References
        ----------
        Engle (1984), Wald, likelihood ratio and Lagrange multiplier tests in econometrics. Handbook of Econometrics 2,
        775-826. Boos (1992), The American Statistician 46, 327-333.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> model = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector"))
        >>> res = model.fit_constrained("GPA = PSI")
        >>> for test in ("lr", "score", "wald"):
        ...     print(test, round(res.constraint_test(test).pvalue, 4))
        lr 0.7413
        score 0.7432
        wald 0.7437
        """
        from glmclf.results.regression.constrained import constraint_test

        return constraint_test(self, test, cov_type, cov_kwds, information)

    @requires(Needs.MLE, Needs.UNCONSTRAINED)
    def score_bootstrap_test(
        self,
        hypothesis: Any,
        *,
        groups: Any = None,
        multipliers: str = "rademacher",
        reps: int = 9999,
        seed: Any = None,
        impose_null: bool = True,
    ) -> ScoreBootstrapTest:
        """Test of R b = q by the wild bootstrap of the scores of clusters, also where these are few.

        With u_g the score of cluster g at the estimate under the hypothesis, in the directions that are tested and made
        orthogonal to the others by the observed information, N their sum and c_g the share of the cluster in the rows,
        the statistic is T = N' C^-1 N, C = sum_g (u_g - c_g N) (u_g - c_g N)'. Under the hypothesis the scores of
        independent clusters may as well have other signs: the p-value is how often T* >= T, where v_g u_g takes the
        place of u_g, and v_g are random numbers of mean 0 and variance 1.

        Parameters
        ----------
        hypothesis : str, list of str, array_like or (R, q)
            As in `wald_test`: ``"x1 = 0"``, ``"x1 = x2, x3 = 1"``; of MNLogit of parameters ``y{level}_{regressor}``.
        groups : str, Series or array_like, optional
            One grouping, by column name or value; by default that of the fit's clustered covariance. Each row a group
            of its own gives Kline and Santos' test of independent rows.
        multipliers : {"rademacher", "webb", "mammen"}
            What v_g are: signs; +-sqrt(1/2), +-1 and +-sqrt(3/2) (Webb), for less than about ten clusters; or Mammen's
            two points, which keep the third moment.
        reps : int
            Draws. Of signs all 2^G are taken, each once, where they are no more; the p-value is then exact.
        seed : int, SeedSequence or Generator, optional
            Without one the numbers differ from call to call; the result has the one that was drawn.
        impose_null : bool
            Whether scores and information are those of the estimate under the hypothesis, which holds the level better;
            or those of the fit, with u_g = R A^-1 s_g and T = (R b - q)' (sum_g u_g u_g')^-1 (R b - q), Wald's without
            a factor for few clusters.

        Returns
        -------
        ScoreBootstrapTest
            A namedtuple: `statistic`, T; `pvalue`; `df`, the number of restrictions; `clusters`; `reps`, draws; `seed`,
            None where all signs were taken. The data count as a draw: the p-value is
            (1 + #{T* >= T})/(1 + reps). Of all signs, one of which they are under the null, #{T* >= T}/reps; with
            ``impose_null=False`` T is of the estimate, and the data one draw more.

        Raises
        ------
        ValueError
            An unknown name or option, no groups, no more clusters than restrictions, a fit that did not converge.
        PerfectSeparationError
            The estimate under the hypothesis is infinite; that of the fit may be.
        NotImplementedError
            Several groupings; of a separated fit `impose_null=False`.

        Warns
        -----
        InferenceWarning
            So few clusters that signs have no p-value of 0.05 or less.

        Notes
        -----
        Sampling weights multiply scores and shares, a frequency weight repeats a row within its cluster. The statistic
        is the square of z of Stata's ``boottest``, which counts T* > T alone: where all signs are taken its p-value is
        less by 2/2^G, the data themselves and their mirror image.

        References
        ----------
        Kline & Santos (2012), A score based approach to wild bootstrap inference. Journal of Econometric Methods 1,
        23-41. Cameron, Gelbach & Miller (2008), Bootstrap-based improvements for inference with clustered errors.
        Review of Economics and Statistics 90, 414-427. Roodman, Nielsen, MacKinnon & Webb (2019), Fast and wild:
        Bootstrap inference in Stata using boottest. Stata Journal 19, 4-60. Webb (2023), Reworking wild bootstrap-based
        inference for clustered errors. Canadian Journal of Economics 56, 839-858.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> fair = datasets.load("fair")
        >>> res = Logit.from_formula("I(affairs > 0) ~ age + yrs_married + educ", fair).fit()
        >>> t = res.score_bootstrap_test("educ = 0", groups="occupation_husb")
        >>> round(t.statistic, 3), t.pvalue, t.clusters, t.reps
        (14.988, 0.0625, 6, 64)
        """
        from glmclf.results.regression.score_bootstrap import score_bootstrap_test

        return score_bootstrap_test(self, hypothesis, groups, multipliers, reps, seed, impose_null)

    @row_property
    def _keywords(self) -> Any:
        """Keywords of the covariance; of a fit that was stored without its rows, from the stored names."""
        res: Any = self
        given = {name: value for name, value in res.cov_kwds.items() if name in ("groups", "maxlags")}
        return self.model._cov_keywords(res.cov_type, given)

    @row_property
    def _unconstrained(self) -> Any:
        """Fit of the model without the constraints."""
        with without_warnings(CollinearityWarning, ConvergenceWarning, InferenceWarning, SeparationWarning):
            return self.model.fit()
