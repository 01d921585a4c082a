"""Diagnostics of regressions: goodness of fit, influence, residuals, the link, overlapping regressors, Wald tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.results.requires import Needs, requires

if TYPE_CHECKING:
    from glmclf.inference.specification.moment_tests import MomentTest
    from glmclf.results.diagnostics.influence import Influence


class Diagnostics:
    """Mixin of regressions: goodness of fit, influence, residuals, link test, VIF, Hauck-Donner effect."""

    _risk_test: ClassVar[str] = "Hosmer-Lemeshow"

    # --------------------------------------------------------------------------------------- what a family supplies
    def _observed_and_fitted(self) -> tuple[ndarray, ndarray, ndarray]:
        """Observations and probabilities of each class, (n, K), and the risk by which rows are grouped."""
        raise NotImplementedError

    def _class_names(self) -> list[Any]:
        """Levels in the order of the columns of `_observed_and_fitted`."""
        raise NotImplementedError

    def _log_probabilities(self) -> ndarray:
        """Log-probabilities of the levels in each row of the fit, (n, K), in the order of the levels."""
        raise NotImplementedError

    def _observed_classes(self) -> tuple[ndarray, ndarray | None]:
        """Codes of the levels observed, or counts (n,) or (n, K) with the trials of the rows."""
        raise NotImplementedError

    # ----------------------------------------------------------------------------------------------- goodness of fit
    @requires(Needs.MAXIMUM, Needs.LIKELIHOOD)
    def gof_test(self, groups: int = 10) -> pd.DataFrame:
        """Goodness of fit: by covariate pattern, by groups of fitted risk, and by moments, for data of any sparseness.

        Parameters
        ----------
        groups : int
            Of the Hosmer-Lemeshow test, 3 or more: cut at the quantiles i/groups of the fitted probability of the event
            or, with several classes, of one minus that of the reference (Fagerland, Hosmer & Bofin). `gof_groups` has
            them. A group holds its upper bound, as in R's ``cut``: where risks tie at a bound, the groups, and with
            them the test, are others if the other level is the event.

        Returns
        -------
        DataFrame
            Columns statistic (chi-squared), df, pvalue and groups (patterns, or groups after ties; 0 of a test without
            them), a row a test. All are of the rows that separation leaves undecided, if it decides some:

            - Pearson and deviance: sum (o - e)^2 / e and 2 sum o log(o / e) over covariate patterns, the offset
              included (under constraints those of the combinations that are left free), with (K-1) patterns - p degrees
              of freedom, p the finite parameters and K - 1 less in patterns
              of which outcomes are ruled out; with less than two observations a pattern their p-values are NaN.
            - Hosmer-Lemeshow, of several classes Fagerland-Hosmer: the former over groups of risk, with
              (groups - 2)(K - 1) degrees of freedom, less in groups of which outcomes are ruled out.
            - sum of squares: of y - p, unweighted, against its expectation (le Cessie & van Houwelingen; Copas), the
              square of the normal statistic of R's rms.
            - Stukel, of Logit: score test of two more parameters, one for each tail of the link.
            - information matrix: `information_matrix_test`; of more than 300 moments, (diagonal). With a factor of 128
              levels or more it is of the other parameters, (without levels): of as many moments as levels, each of some
              rows, the statistic is not chi-squared.

        Raises
        ------
        ValueError
            A pseudo-likelihood, a fit that did not converge, or fewer than three groups asked for.

        Warns
        -----
        InferenceWarning
            A test has no degrees of freedom: ties leave fewer than three groups, the model is saturated, separation
            decides every row.

        References
        ----------
        Hosmer & Lemeshow (1980), Communications in Statistics A9, 1043-1069. Fagerland, Hosmer & Bofin (2008),
        Statistics in Medicine 27, 4238-4253. Hosmer, Hosmer, le Cessie & Lemeshow (1997), A comparison of
        goodness-of-fit tests for the logistic regression model, ibid. 16, 965-980. Stukel (1988), JASA 83, 426-431.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector")).fit()
        >>> res.gof_test().round(3)
                            statistic  df  pvalue  groups
        Pearson                27.257  28     NaN      32
        deviance               25.779  28     NaN      32
        Hosmer-Lemeshow         6.095   8   0.637      10
        sum of squares          0.036   1   0.850       0
        Stukel                  0.062   2   0.970       0
        information matrix     10.542   9   0.308       0
        """
        from glmclf.results.diagnostics.goodness_of_fit import gof_test

        return gof_test(self, groups)

    @requires(Needs.LIKELIHOOD)
    def gof_groups(self, groups: int = 10) -> pd.DataFrame:
        """Groups of fitted risk of the Hosmer-Lemeshow test, observed and expected, of rows that separation leaves.

        Parameters
        ----------
        groups : int
            How many, 2 or more: cut at the quantiles i/groups of the risk; equal risks stay together, so that there may
            be fewer.

        Returns
        -------
        DataFrame
            A row a group, from low to high: `low`, `high` (smallest and largest risk), `n` (observations, of frequency
            weights and counts each) and, for each level, ``observed_<level>`` and ``expected_<level>``.

        Raises
        ------
        ValueError
            A pseudo-likelihood, `groups` that are none, or separation decides every row.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector")).fit()
        >>> res.gof_groups(4)[["low", "high", "n", "observed_1", "expected_1"]].round(3)
                 low   high    n  observed_1  expected_1
        group
        1      0.024  0.052  8.0         0.0       0.259
        2      0.054  0.193  8.0         2.0       0.967
        3      0.242  0.590  8.0         2.0       3.402
        4      0.635  0.945  8.0         7.0       6.372
        """
        from glmclf.results.diagnostics.goodness_of_fit import gof_groups

        return gof_groups(self, groups)

    @requires(Needs.MAXIMUM, Needs.LIKELIHOOD)
    def information_matrix_test(self, diagonal: bool = False) -> MomentTest:
        """White's information matrix test in Orme's form: do the variances agree with the likelihood?

        The rows' outer products of scores and Hessians add up to 0 in expectation where the model is right.
        Coefficients that differ among rows, a wrong link or left out interactions move them away from it. Their
        covariance is the one that the fitted probabilities imply, as Orme (1988) has it for binary models: forms of the
        test by outer products reject true models far too often.

        Parameters
        ----------
        diagonal : bool
            Whether to compare the variances alone, parameter by parameter, which is less powerful and cheaper.

        Returns
        -------
        (statistic, df, pvalue) namedtuple
            Chi-squared; df is the rank: a square of a 0/1 variable, say, tells nothing new. The parameters are those
            that constraints and separation leave: y ~ x + z with x = z has the test of y ~ I(x + z).

        Raises
        ------
        ValueError
            A pseudo-likelihood, or a fit that did not converge; more than 99 parameters, with `diagonal` 5,000.

        Warns
        -----
        InferenceWarning
            There is no degree of freedom.

        References
        ----------
        White (1982), Econometrica 50, 1-25. Orme (1988), The Manchester School 56, 370-376.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector")).fit()
        >>> round(res.information_matrix_test(diagonal=True).pvalue, 3)
        0.469
        """
        from glmclf.results.diagnostics.goodness_of_fit import information_matrix_test

        return information_matrix_test(self, diagonal)

    @requires(Needs.MLE)
    def linktest(self, cov_type: str | None = None, cov_kwds: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """Link test: the response on the linear predictor and its square, whose coefficient is 0 if the link is right.

        A square that matters says that the link is wrong, or that regressors are left out or enter in the wrong way.

        Parameters
        ----------
        cov_type, cov_kwds : optional
            Covariance of the fit with the square; by default that of the result.

        Returns
        -------
        DataFrame
            Stata's table: rows _hat (the linear predictor, offset included), _hatsq (its square) and _cons; columns
            coef, std err, z, P>|z|, Conf. Int. Low, Conf. Int. Upp. The test is the row _hatsq. Of MNLogit the rows are
            (level, name): a binary logit of each level against the reference, of the rows that hold one of the two,
            with the equation's linear predictor; the model is right only if each of these is (Begg & Gray 1984).

        Raises
        ------
        ValueError
            A fit that did not converge, infinite estimates, linear predictors of fewer than three values.
        EstimationError
            The fit with the square has no finite estimate.
        NotImplementedError
            A fit with bias_reduction; a covariance whose groups or lags have to be given again.

        References
        ----------
        Tukey (1949), Biometrics 5, 232-242. Pregibon (1980), Goodness of link tests for generalized linear models.
        Applied Statistics 29, 15-24. Begg & Gray (1984), Biometrika 71, 11-18.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector")).fit()
        >>> res.linktest()[["coef", "std err", "z", "P>|z|"]].round(3)
                 coef  std err      z  P>|z|
        _hat    0.955    0.383  2.491  0.013
        _hatsq -0.045    0.188 -0.241  0.809
        _cons   0.082    0.607  0.135  0.893
        """
        from glmclf.results.diagnostics.linktest import linktest

        return linktest(self, cov_type, cov_kwds)

    # --------------------------------------------------------------------------------- influence and residuals
    @requires(Needs.MAXIMUM, Needs.ROWS)
    def get_influence(self, by: str = "row") -> Influence:
        """Leverage, residuals, Cook's distance and the change of the estimate without each row or covariate pattern.

        Parameters
        ----------
        by : {"row", "pattern"}
            What goes: a row (one of those that a frequency weight stands for), or all observations that agree in every
            regressor and the offset, added up as Hosmer & Lemeshow do.

        Returns
        -------
        Influence
            `hat_matrix_diag`, `cooks_distance`, `d_params`, `dfbetas`, `d_fittedvalues`, `resid_studentized`,
            `delta_chi2`, `delta_deviance`, `summary_frame()`; by pattern also `patterns`.

        Raises
        ------
        DataError
            The rows were removed, or not saved.

        References
        ----------
        Pregibon (1981), Annals of Statistics 9, 705-724. Lesaffre & Albert (1989), Applied Statistics 38, 425-440.
        Hosmer & Lemeshow (2000), Applied Logistic Regression, section 5.3.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("GRADE ~ GPA + PSI", datasets.load("spector")).fit()
        >>> found = res.get_influence()
        >>> found.delta_deviance.nlargest(2).round(2)
        31    5.24
        13    4.02
        dtype: float64
        """
        from glmclf.results.diagnostics.influence import get_influence

        return get_influence(self, by)

    @requires(Needs.DISTRIBUTION, Needs.ROWS)
    def resid_quantile(self, seed=None) -> Any:
        """Randomised quantile residuals: independent standard normal numbers if the fitted probabilities are right.

        Of a row with response y, the normal quantile of a number drawn uniformly from P(Y < y) to P(Y <= y). Other
        residuals of a 0/1 response lie on two curves whether the model fits or not; these can be plotted against
        anything, and against normal quantiles.

        - 0/1 and two labels: the event is the larger. Counts: binomial.
        - Several classes: by the cumulated probabilities in the order of `levels`, also where that is no order of the
          classes; of generative models those of the posterior given the features.
        - Counts of several classes: a column a level, each by its own binomial distribution; those of a row depend on
          each other.

        Parameters
        ----------
        seed : int, SeedSequence or Generator, optional
            Of numpy's generator: the same seed gives the same residuals. Look at several, as each draw adds noise.

        Returns
        -------
        Series, or DataFrame of counts of several classes
            By the index of the rows of the fit. A row of frequency weight f stands f times, as in `simulate`.

        Raises
        ------
        NotImplementedError
            A fractional response, which has no distribution.
        DataError
            The rows were removed, or not saved.

        References
        ----------
        Dunn & Smyth (1996), Randomized quantile residuals, J. Computational and Graphical Statistics 5, 236-244.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("GRADE ~ GPA + PSI", datasets.load("spector")).fit()
        >>> res.resid_quantile(seed=1).head(3).round(3)
        0   -0.010
        1    1.244
        2   -1.180
        dtype: float64
        """
        from glmclf.results.diagnostics.residuals import resid_quantile

        return resid_quantile(self, seed)

    @requires(Needs.ROWS)
    def components(self) -> pd.DataFrame:
        """Components of the linear predictor: the contribution of each term in each row, less its mean over the rows.

        R's predict(type="terms"). Against the variable of the term it is the curve or line that the model has there.

        Returns
        -------
        DataFrame
            By the index of the rows of the fit, a column a term but the constant; of several classes columns (level,
            term), for each level with an equation. ``attrs["constant"]`` is what is left: the mean of the linear
            predictor without the offset. Means are of rows as frequency weights repeat them; counts and sampling
            weights do not enter, as in R. Columns that were left out add nothing. A term with an infinite coefficient
            is NaN.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("GRADE ~ GPA + PSI", datasets.load("spector")).fit()
        >>> res.components().head(2).round(3)
             GPA    PSI
        0 -1.401 -1.023
        1 -0.696 -1.023
        """
        from glmclf.results.diagnostics.residuals import components

        return components(self)

    @requires(Needs.REFERENCE, Needs.ROWS)
    def resid_partial(self) -> pd.DataFrame:
        """Partial residuals: the component of each term plus the working residual.

        R's residuals(type="partial"). Against the variable of the term a smooth through them shows the shape that the
        data ask for (Landwehr, Pregibon & Shoemaker 1984); weigh it by the working weights, m p (1 - p) with a Logit.

        Returns
        -------
        DataFrame
            By row; columns as of `components`.

        References
        ----------
        Landwehr, Pregibon & Shoemaker (1984), Graphical methods for assessing logistic regression models, JASA 79,
        61-71.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("GRADE ~ GPA + PSI", datasets.load("spector")).fit()
        >>> res.resid_partial().head(2).round(3)
             GPA    PSI
        0 -2.432 -2.054
        1 -1.760 -2.087
        """
        from glmclf.results.diagnostics.residuals import resid_partial

        return resid_partial(self)

    # ------------------------------------------------------------------------------------ overlap, and Wald tests
    @requires()
    def vif(self, of: str = "information", by: str = "term") -> pd.DataFrame:
        """Generalised variance inflation factors: the loss of precision of each term by overlapping regressors.

        Parameters
        ----------
        of : {"information", "design"}
            Of the correlations of the estimates, by the expected information, as car's vif does of a `glm`: rows count
            as they tell something. Or of the correlations of the columns, as of a linear regression: it does not depend
            on the response.
        by : {"term", "column"}
            All columns of a term at once, which does not depend on their coding (Fox & Monette); or each column, whose
            factor is 1 / (1 - R^2) of its regression on the others.

        Returns
        -------
        DataFrame
            By term or column, without the constant: `GVIF`, at least 1; `df`, columns times equations that these have
            in the estimate; ``GVIF^(1/(2df))``, which compares across terms and says by what a standard error is
            larger. NaN of what has no estimate, or an infinite one; of a separated fit a term counts with those of its
            coefficients that are finite, which are others with another base level.

        Raises
        ------
        NotImplementedError
            `of` "information": a regularised or constrained fit, a separated one without a finite coefficient.

        Warns
        -----
        InferenceWarning
            There is no column of ones to take out: the numbers are about 0 and not about the means.

        References
        ----------
        Fox & Monette (1992), Generalized collinearity diagnostics, JASA 87, 178-183. Fox (2016), Applied Regression
        Analysis and Generalized Linear Models, section 13.1.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("sex ~ species + body_mass_g + bill_length_mm", datasets.load("penguins")).fit()
        >>> res.vif().round(2)
                         GVIF  df  GVIF^(1/(2df))
        species         62.99   2            2.82
        body_mass_g     10.00   1            3.16
        bill_length_mm   8.24   1            2.87
        """
        from glmclf.results.diagnostics.vif import vif

        return vif(self, of, by)

    @property
    @requires(Needs.MAXIMUM)
    def digits(self) -> Any:
        """Correct digits to expect of each parameter, -log10 of its relative error, from 0 to 16.

        Computed from the information, without a pass over the rows: rounding errors of the score, propagated to the
        parameters as its sampling errors are. A column of the data counts as exact; one that the formula computes, such
        as ``I(x ** 5)`` or ``x:z``, counts as rounded unless none of its entries needs the last bit of a double. An
        ill-conditioned design (`refine` of `fit`) keeps its digits unless it is large. An estimate short of the maximum
        has the digits that its distance to it leaves.

        Returns
        -------
        Series or, of several equations, DataFrame
            As `params`; NaN for coefficients that are infinite or left out, and under constraints.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector")).fit()
        >>> bool(res.digits.min() > 13)
        True
        """
        res: Any = self
        return res._labelled(np.maximum(np.array(self._digits, dtype=float), 0.0))

    @cached_property
    def _digits(self) -> list[float]:
        from glmclf.results.diagnostics.accuracy import digits

        return digits(self).tolist()

    @cached_property
    def _rounded(self) -> list[bool]:
        """Columns that the formula computed, if an entry needs the last bit of a double."""
        from glmclf.results.diagnostics.accuracy import rounded_columns

        res: Any = self
        return rounded_columns(res.model)

    @property
    @requires(Needs.MAXIMUM, Needs.LIKELIHOOD, Needs.UNCONSTRAINED)
    def hauck_donner(self) -> pd.DataFrame:
        """Hauck-Donner effect: coefficients whose Wald tests are useless, with likelihood ratio tests to use instead.

        Far from 0 a standard error may grow faster than its coefficient, so that the Wald statistic z = b/se falls, and
        a large effect looks like none (Hauck & Donner 1977). It does where the derivative of z in b, the other
        coefficients held, is negative (Yee 2022; VGAM's hdeff): 1/se - b (dse^2/db) / (2 se^3), se of the expected
        information. Where the link is not canonical, the z of other tables has the observed one, unless
        cov_type="expected".

        Returns
        -------
        DataFrame
            Indexed by coefficient; `derivative` of z, in units of 1/b; `present`: whether it is negative, or the
            coefficient infinite; `wald`, `lr`: p-values of the tests of b = 0, `lr` only where the effect is present;
            NaN, with a warning, where whether the smaller model is separated would take gigabytes to tell.

        Raises
        ------
        ValueError
            A pseudo-likelihood, or a fit that did not converge.
        NotImplementedError
            A constrained fit.
        DataError
            The rows were removed or not saved.

        References
        ----------
        Hauck & Donner (1977), Journal of the American Statistical Association 72, 851-853. Yee (2022), On the
        Hauck-Donner effect in Wald tests: detection, tipping points, and parameter space characterization, ibid. 117,
        1763-1774.

        Examples
        --------
        >>> import pandas as pd
        >>> from glmclf import Logit
        >>> table = pd.DataFrame({"x": [0, 0, 1, 1], "y": [0, 1, 0, 1], "n": [15, 10, 1, 200]})
        >>> Logit.from_formula("y ~ x", table, freq_weights="n").fit().hauck_donner.round(4)
                   derivative  present    wald   lr
        Intercept      2.3502    False  0.3206  NaN
        x             -1.3136     True  0.0000  0.0
        """
        from glmclf.results.diagnostics.hauck_donner import hauck_donner

        return hauck_donner(self)

    @cached_property
    def _wald_derivatives(self) -> ndarray:
        """Derivatives of the Wald statistics, NaN for parameters that are infinite or omitted."""
        from glmclf.results.diagnostics.hauck_donner import all_derivatives

        return all_derivatives(self)

    @cached_property
    def _flagged(self) -> list[list[Any]]:
        """Places of the finite coefficients, constants aside, with the effect, and likelihood ratio p-values."""
        from glmclf.results.diagnostics.hauck_donner import flagged

        return flagged(self)
