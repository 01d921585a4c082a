"""Wald inference: labelled estimates with a covariance, their standard errors, tests, intervals and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.special import chdtrc

from glmclf import registry
from glmclf.checks import check_choice
from glmclf.errors import escaped
from glmclf.inference.covariance.types import Covariance
from glmclf.inference.hypotheses import wald
from glmclf.results.hypotheses.chosen import check_formed, places_of
from glmclf.results.hypotheses.linear import constraints
from glmclf.results.requires import Needs, requires
from glmclf.results.tables import frames
from glmclf.results.tables.numbers import four

if TYPE_CHECKING:
    from glmclf.results.hypotheses.nonlinear import NonlinearTest
    from glmclf.results.hypotheses.pairwise import PairwiseTests

ENDS = pd.Index([0, 1])  # names of the columns of intervals
MAX_FORMED = 2_000  # parameters whose whole covariance matrix is formed to test some of them


class WaldInference:
    """Mixin of estimates with a covariance: standard errors, Wald tests, intervals and tables.

    Whoever builds one supplies `model`, which has the names of the parameters and what a table's head says, `_theta`,
    `_V` and `_cov`.
    """

    use_t = False
    _omitted: ndarray | None = None  # mask of parameters without an estimate, as their columns are aliased
    _no_ratios: ClassVar[str] = ""  # reason why exponentials of the estimates have no meaning
    _no_profile: ClassVar[str] = f"is for {registry.listed(registry.REGRESSIONS)}"  # instead of profile intervals
    _t_df: Any = None  # degrees of freedom of Student's t of each parameter; the normal distribution without
    _has_spread: Any = True  # whether there are standard errors
    _has_tests: Any = True  # whether there are Wald tests
    model: Any
    _theta: ndarray
    _cov: Covariance

    def __repr__(self) -> str:
        return escaped(f"<{type(self).__name__} of {self._said}>")

    @property
    def _said(self) -> str:
        """What was fitted, and how it ended, in a line or two."""
        raise NotImplementedError

    @property
    def _owner(self) -> Any:
        """Result of the fit itself: the generative one of an implied logit, the first of pooled ones."""
        return self

    @property
    def _V(self) -> ndarray:
        """Covariance of the parameters."""
        raise NotImplementedError

    @property
    def _param_names(self) -> list[str]:
        """Names of the flat parameters, as hypotheses spell them."""
        return self.model._param_names

    @property
    def _param_index(self) -> pd.Index:
        """Labels of the flat parameters in tables."""
        return self.model._param_index

    @property
    @requires()
    def df_resid(self) -> float:
        """Observations less parameters."""
        raise NotImplementedError

    def _coordinates(self, R: ndarray) -> tuple[ndarray, ndarray, ndarray]:
        """Estimate, covariance and R in coordinates in which they keep their digits; refuses infinite combinations.

        Of many parameters only those that R uses.
        """
        if len(self._theta) <= MAX_FORMED:
            return self._theta, self._V, R
        at = np.flatnonzero(R.any(axis=0))
        return self._theta[at], self._block(at), R[:, at]

    def _block(self, at: ndarray) -> ndarray:
        """Covariance of the parameters at some places."""
        return self._V[np.ix_(at, at)]

    def _in_coordinates(self, R: ndarray) -> tuple[ndarray, ndarray, ndarray]:
        """Estimate, covariance and R in coordinates in which they keep their digits, without a check of R."""
        return self._theta, self._V, R

    @property
    def _plain(self) -> bool:
        """Whether every combination of parameters is finite and estimable, so that none is looked at one by one."""
        return True

    def _contrasts(self, R: ndarray) -> tuple[ndarray, ndarray]:
        """Estimate and standard error of each combination, a row of R."""
        theta, V, rotated = self._coordinates(R)
        return wald.combine(rotated, theta), wald.standard_errors(rotated, V)

    @property
    def _rank(self) -> float:
        """Upper bound of the rank of the covariance."""
        return self._cov.rank(False)

    def _labelled(self, values) -> Any:
        """Flat array of one number a parameter, with the parameters' labels."""
        return pd.Series(np.array(values, dtype=float), index=self._param_index)

    @property
    def _se(self) -> ndarray:
        return np.sqrt(self._variances())

    @property
    def _diagonal(self) -> ndarray:
        """Diagonal of the covariance of the parameters; of two-way clusters it may be negative."""
        return self._V.diagonal()

    def _variances(self) -> ndarray:
        v = self._diagonal
        return np.where(v >= 0, v, np.nan)

    @property
    @requires()
    def params(self) -> pd.Series:
        """Estimated parameters."""
        return self._labelled(self._theta)

    @property
    @requires()
    def bse(self) -> pd.Series:
        """Standard errors."""
        return self._labelled(self._se)

    @property
    def _z(self) -> ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):  # robust standard errors may be 0
            return self._theta / self._se

    @property
    @requires(Needs.TESTS)
    def tvalues(self) -> pd.Series:
        """Estimates over their standard errors."""
        return self._labelled(self._z)

    @property
    @requires(Needs.TESTS)
    def pvalues(self) -> pd.Series:
        """Two-sided p-values of the hypotheses that a parameter is 0, from the normal distribution.

        Of pooled fits from Student's t with `df`.
        """
        return self._labelled(wald.z_pvalues(self._z, self._t_df))

    @requires()
    def conf_int(
        self, alpha: float = 0.05, method: str = "wald", columns: Sequence[Any] | str | None = None
    ) -> pd.DataFrame:
        """Confidence intervals of the parameters, estimate -/+ z se; of pooled fits t se, Student's t with `df`.

        Parameters
        ----------
        alpha : float
            One minus the level, in (0, 1).
        method : {"wald"}
            "profile" is for regressions.
        columns : list of str, optional
            Names of the parameters whose intervals are wanted, as of `cov_params`; by default all.

        Returns
        -------
        DataFrame
            Columns 0 and 1: the ends.
        """
        if method == "profile":
            raise NotImplementedError(f'conf_int(method="profile") {self._no_profile}')
        words = f'"wald" or, of {registry.listed(registry.REGRESSIONS)}, "profile"'
        check_choice("method", method, ("wald",), words)
        ends = wald.intervals(self._theta, self._se, alpha, self._t_df)
        table = pd.DataFrame(ends, index=self._param_index, columns=ENDS.view())
        return table if columns is None else table.iloc[self._places_of(columns)]

    def _places_of(self, columns: Sequence[Any] | str | None) -> ndarray:
        """Places of parameters by name; None stands for all."""
        names = self._param_names
        return np.arange(len(names)) if columns is None else places_of(columns, names, self._param_index)

    @requires(Needs.SPREAD)
    def cov_params(self, r_matrix: Any = None, columns: Sequence[Any] | str | None = None) -> pd.DataFrame | ndarray:
        """Covariance matrix of the parameters, of some of them, or of R params; of a ridge their posterior covariance.

        Parameters
        ----------
        r_matrix : (J, p) array_like, optional
        columns : list of str, optional
            Names of the parameters whose covariance is wanted, in this order. Where there is a parameter a level of the
            response, a name stands for that regressor in all equations, and (level, name) for one of them.

        Returns
        -------
        DataFrame, or of R params ndarray (J, J)
            (p, p), of `columns` as many rows and columns as these are parameters.

        Raises
        ------
        ValueError
            Unknown names; both arguments; more parameters than their matrix should have without a word, 2 GB of it.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector")).fit()
        >>> res.cov_params(columns=["PSI", "GPA"]).round(3)
               PSI    GPA
        PSI  1.133  0.428
        GPA  0.428  1.595
        """
        if r_matrix is not None:
            if columns is not None:
                raise ValueError("cov_params() takes r_matrix= or columns=, not both")
            R, _ = self._constraints(r_matrix)
            _, V, R = self._coordinates(R)
            return R @ V @ R.T
        names = self._param_index
        if columns is None:
            check_formed(len(names))
            return pd.DataFrame(np.array(self._V), index=names, columns=names)
        at = self._places_of(columns)
        check_formed(len(at), asked=True)
        return pd.DataFrame(self._block(at), index=names[at], columns=names[at])

    def _constraints(self, r_matrix) -> tuple[ndarray, ndarray]:
        """Matrices R and q of a hypothesis R theta = q given as strings, labels or numbers."""
        base = getattr(self.model, "reference", None)
        return constraints(r_matrix, self._param_names, self._param_index, base)

    def _df(self, wanted: bool | None) -> float | None:
        """Degrees of freedom of t and F tests: df_resid, or the clusters less one (as Stata and statsmodels)."""
        if not wanted:
            return None
        return min(self._cov.clusters) - 1 if self._cov.clusters else self.df_resid

    @requires(Needs.TESTS)
    def t_test(self, r_matrix: Any, *, use_t: bool | None = None) -> Any:
        """Wald test of each row of R theta = q.

        Parameters
        ----------
        r_matrix : str, list of str, array_like or (R, q)
            ``"x1 = x2"``, ``"x1 = 0, x2 = 1"``; a (J, p) matrix with q = 0; or both, q a value a row, or a number for
            all of them.
        use_t : bool, optional
            Student's t instead of the normal distribution, with df_resid degrees of freedom, or clusters - 1.

        Returns
        -------
        statsmodels ContrastResults
        """
        R, q = self._constraints(r_matrix)
        theta, V, R = self._coordinates(R)
        return wald.t_test(theta, V, R, q, df=self._df(use_t))

    @requires(Needs.TESTS)
    def wald_test(self, r_matrix: Any, *, use_f: bool | None = None, scalar: bool = True) -> Any:
        """Joint Wald test of R theta = q: chi-squared, or F with (J, df_resid) degrees of freedom;
        clusters - 1 instead of df_resid where the covariance is clustered.

        Parameters
        ----------
        r_matrix : str, list of str, array_like or (R, q)
            As in `t_test`.
        use_f : bool, optional
            The F distribution.
        scalar : bool
            Whether the statistic is a number, or a (1, 1) array as statsmodels used to return.

        Returns
        -------
        statsmodels ContrastResults
        """
        R, q = wald.linear_restrictions(*wald.constraints(*self._constraints(r_matrix), len(self._theta)))
        self._check_joint(R)
        theta, V, R = self._coordinates(R)
        options: dict[str, Any] = {"use_f": bool(use_f), "df": self._df(use_f), "scalar": scalar, "rank": self._rank}
        return wald.wald_test(theta, V, R, q, independent=True, **options)

    @requires(Needs.TESTS)
    def f_test(self, r_matrix: Any) -> Any:
        """`wald_test` with the F distribution."""
        return self.wald_test(r_matrix, use_f=True)

    @requires(Needs.MAXIMUM, Needs.UNCONSTRAINED, Needs.TESTS)
    def wald_test_terms(self, *, skip_constant: bool = False, use_f: bool = False) -> Any:
        """Joint Wald test of each term of the formula: all columns of a factor, a spline or an interaction at once.

        Of an implied logit it is all coefficients of the term in all equations; of levels of NaiveBayes those that some
        row has, and of a block of counts their differences, as a common shift says nothing about the shares.

        Parameters
        ----------
        skip_constant : bool
            Whether to leave the intercept out.
        use_f : bool
            F instead of chi-squared.

        Returns
        -------
        statsmodels WaldTestResults
            With the numbers in ``.table``.

        Raises
        ------
        NotImplementedError
            A fit under constraints.

        Notes
        -----
        Wald tests lose power where the classes are far apart: likelihood ratio tests, and the F tests of LDA, do not.
        """
        theta, V, terms, into = self._tested_terms()
        options: dict[str, Any] = {"use_f": use_f, "df": self._df(use_f), "skip_constant": skip_constant}
        return frames.term_table(
            wald.term_tests(theta, V, terms, omitted=self._omitted, into=into, rank=self._rank, **options)
        )

    @property
    def _has_joint_tests(self) -> bool:
        """Whether there are joint Wald tests of parameters."""
        return bool(self._has_tests)

    def _joint_test(self, at: ndarray) -> tuple[str, float] | None:
        """Joint Wald test that the parameters at some places are 0: statistic in words, and p-value.

        None where the fit has no tests, NaN where the covariance has not the rank.
        """
        if not self._has_joint_tests:
            return None
        theta, V, _, into = self._tested_terms()
        try:
            statistic = wald.statistic_of(theta, V, at, into, self._rank)
        except ValueError:
            statistic = np.nan
        return f"chi2({len(at)}) = {four(statistic)}", float(chdtrc(len(at), statistic))

    def _tested_terms(self) -> tuple[ndarray, Any, Any, Any]:
        """Estimate, covariance, places of each term, and the map into coordinates in which both keep their digits."""
        return self._theta, self._V, self.model._terms, self._in_coordinates

    @requires(Needs.TESTS)
    def nonlinear_test(self, hypothesis: str | list[str], *, use_t: bool | None = None) -> NonlinearTest:
        """Estimate, standard error and test of functions of the parameters (Stata's nlcom and testnl).

        For a function f with gradient g at the estimate b, the standard error of f(b) is sqrt(g' V g), V the covariance
        of the fit; hypotheses are tested together by d' (G V G')^-1 d, d the distances from them.

        Parameters
        ----------
        hypothesis : str or list of str
            Functions, separated by commas, each with its value under the hypothesis: ``"x1 / x2 = 1, exp(x3) = 2"``.
            Without ``=`` it is 0; a right side with parameters is subtracted. Parameters go by the names that `t_test`
            takes, in quotes if need be (``"`C(g)[T.b]` / x1 = 2"``). There are + - * / ** (or ^), brackets, and
            exp, log, log2, log10, log1p, expm1, sqrt, abs, sin, cos, tan, arctan, sinh, cosh, tanh, expit, logit, ndtr
            and ndtri.
        use_t : bool, optional
            Student's t, and F for the joint test, instead of the normal distribution and chi-squared.

        Returns
        -------
        NonlinearTest
            `estimate, se, statistic, pvalue, conf_int(alpha), summary_frame(alpha), joint`.

        Raises
        ------
        ValueError
            What cannot be read, unknown names, parameters that are infinite, left out or fixed, functions without a
            value or a gradient at the estimate; from `joint`, functions whose gradients are linearly dependent there.

        Notes
        -----
        Wald tests of nonlinear functions depend on how the hypothesis is written: ``x1 / x2 = 1`` and ``x1 = x2`` give
        different statistics (Gregory & Veall 1985). Gradients are exact.

        References
        ----------
        Oehlert (1992), A note on the delta method. The American Statistician 46, 27-29. Gregory & Veall (1985),
        Econometrica 53, 1465-1468.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("GRADE ~ GPA + PSI", datasets.load("spector")).fit()
        >>> t = res.nonlinear_test("GPA / PSI = 1")
        >>> t.summary_frame()[["coef", "std err", "z", "P>|z|"]].round(3)
                        coef  std err      z  P>|z|
        GPA / PSI = 1  1.31    0.646  0.481  0.631
        """
        from glmclf.results.hypotheses.nonlinear import nonlinear_test

        return nonlinear_test(self, hypothesis, use_t)

    @requires(Needs.TESTS)
    def t_test_pairwise(
        self,
        term_name: str,
        method: str = "holm",
        alpha: float = 0.05,
        *,
        at: Mapping[str, Any] | None = None,
        use_t: bool | None = None,
        seed: int = 0,
    ) -> PairwiseTests:
        """Differences of the linear predictor between each two levels of a factor, adjusted for their number.

        Whatever the coding of the factor, a row is the difference of the linear predictors of two observations that
        differ in the level alone. With several equations all pairs in all equations are one family.

        Parameters
        ----------
        term_name : str
            The factor: a variable of the formula, or its code such as ``"C(g)"``.
        method : {"holm", "sidak", "hs", "bonferroni", "tukey", "none"}
            Holm's step-down test with Bonferroni intervals; Sidak's; Holm-Sidak with Sidak intervals; Bonferroni's;
            "tukey": the largest ``|z|`` of the joint normal (or t) distribution of the differences, as multcomp and
            emmeans ("mvt") in R; or no adjustment.
        alpha : float
            Family-wise level, in (0, 1).
        at : dict, optional
            Values of the variables that the factor interacts with; needed where there are interactions.
        use_t : bool, optional
            Student's t instead of the normal distribution.
        seed : int
            Of the integration of "tukey", whose relative standard error, the largest of the p-values and of the level
            of the intervals, is `error` of the result: about 0.001 with five levels, up to 0.01 with ten to forty.

        Returns
        -------
        PairwiseTests
            `result_frame`, `contrasts`, `error`.

        Raises
        ------
        DataError
            Not a factor of the formula, or one that interacts where `at` does not say with what.
        ValueError
            An unknown method, `alpha` out of range, `at` that is no dict, `seed` that is no whole number.
        NotImplementedError
            A model whose log-odds are not linear in the levels of a factor (QDA, joint tables of NaiveBayes).

        Notes
        -----
        A difference that is infinite, not estimable or fixed by constraints has no test and does not count.

        References
        ----------
        Holm (1979), Scandinavian Journal of Statistics 6, 65-70. Sidak (1967), JASA 62, 626-633. Hothorn, Bretz &
        Westfall (2008), Simultaneous inference in general parametric models. Biometrical Journal 50, 346-363.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> penguins = datasets.load("penguins").assign(male=lambda d: d.sex == "male")
        >>> res = Logit.from_formula("male ~ species + body_mass_g", penguins).fit()
        >>> t = res.t_test_pairwise("species", method="tukey")
        >>> t.result_frame[["coef", "std err", "pvalue-tukey"]].round(3)
                          coef  std err  pvalue-tukey
        Chinstrap-Adelie -0.132    0.421         0.944
        Gentoo-Adelie    -9.717    1.123         0.000
        Gentoo-Chinstrap -9.585    1.127         0.000
        """
        from glmclf.results.hypotheses.pairwise import pairwise_tests

        return pairwise_tests(self, term_name, method, alpha, at, use_t, seed)

    def _check_joint(self, R: ndarray) -> None:
        """Refuse joint tests that the fit does not have."""

    @requires()
    def summary_frame(self, alpha: float = 0.05, exponentiate: bool = False, method: str = "wald") -> pd.DataFrame:
        """Parameter table of the summary as a DataFrame.

        A ridge has no tests, a lasso neither tests nor standard errors.

        Parameters
        ----------
        alpha : float
            One minus the level of the intervals, in (0, 1).
        exponentiate : bool
            Ratios exp(coef) with delta-method standard errors and exp of the intervals.
        method : {"wald", "profile"}
            Of the intervals, as in `conf_int`; "profile" is for regressions.

        Returns
        -------
        DataFrame
            Indexed by coefficient: coef, std err, z, P>|z|, Conf. Int. Low, Conf. Int. Upp.
        """
        return frames.summary_frame(self, alpha=alpha, exponentiate=exponentiate, method=method)

    @requires()
    def tidy(self, alpha: float = 0.05, exponentiate: bool = False) -> pd.DataFrame:
        """Table of parameters in the column names of R's broom; NaN for statistics that a penalised fit lacks.

        Columns: term, estimate, std_error, statistic, p_value, conf_low, conf_high.
        """
        return frames.tidy(self, alpha=alpha, exponentiate=exponentiate)
