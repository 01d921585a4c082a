"""Estimates: numbers with a covariance, and what follows from the two; what a result does with itself."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.inference.covariance.types import Covariance
from glmclf.inference.hypotheses import wald
from glmclf.results import saving
from glmclf.results.hypotheses.linear import constraints
from glmclf.results.hypotheses.nonlinear import NonlinearTests
from glmclf.results.hypotheses.pairwise import PairwiseComparisons
from glmclf.results.tables import frames

if TYPE_CHECKING:
    from glmclf.results.tables.summary import Summary

ENDS = pd.Index([0, 1])  # columns of intervals


class row_property(cached_property):
    """A cached quantity with one entry a row; `remove_data` drops it."""


class Estimates(NonlinearTests, PairwiseComparisons):
    """Labelled estimates and their covariance: standard errors, Wald tests, intervals and tables.

    Whoever builds one supplies `model`, which has the names of the parameters and what a table's head says, `_theta`,
    `_V` and `_cov`.
    """

    use_t = False
    _omitted: ndarray | None = None  # parameters without an estimate, as their columns repeat others
    _no_ratios: ClassVar[str] = ""  # why exponentials of the estimates have no meaning
    model: Any
    _theta: ndarray
    _cov: Covariance

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
    def df_resid(self) -> float:
        """Observations less parameters."""
        raise NotImplementedError

    def _coordinates(self, R: ndarray) -> tuple[ndarray, ndarray, ndarray]:
        """Estimate, covariance and R in coordinates where they keep their digits."""
        return self._theta, self._V, R

    def _in_coordinates(self, R: ndarray) -> tuple[ndarray, ndarray, ndarray]:
        """The same of combinations that need no check."""
        return self._theta, self._V, R

    def _contrasts(self, R: ndarray) -> tuple[ndarray, ndarray]:
        """Estimate and standard error of each combination, a row of R."""
        theta, V, rotated = self._coordinates(R)
        return wald.combine(rotated, theta), wald.standard_errors(rotated, V)

    @property
    def _rank(self) -> float:
        """The most that the rank of the covariance can be."""
        return self._cov.rank(False)

    def _labelled(self, values) -> Any:
        """Flat parameter-sized numbers with the parameters' labels."""
        return pd.Series(np.array(values, dtype=float), index=self._param_index)

    @property
    def _se(self) -> ndarray:
        return np.sqrt(self._variances())

    def _variances(self) -> ndarray:
        v = np.diag(self._V)
        return np.where(v >= 0, v, np.nan)

    @property
    def params(self) -> pd.Series:
        """The estimate."""
        return self._labelled(self._theta)

    @property
    def bse(self) -> pd.Series:
        """Standard errors."""
        return self._labelled(self._se)

    @property
    def _z(self) -> ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):  # a robust standard error may be 0
            return self._theta / self._se

    @property
    def tvalues(self) -> pd.Series:
        """Estimates over their standard errors."""
        return self._labelled(self._z)

    @property
    def pvalues(self) -> pd.Series:
        """Two-sided p-values of the hypotheses that a parameter is 0, from the normal distribution."""
        return self._labelled(wald.z_pvalues(self._z))

    def conf_int(self, alpha: float = 0.05, method: str = "wald") -> pd.DataFrame:
        """Confidence intervals of the parameters, estimate -/+ z se.

        Parameters
        ----------
        alpha : float
            One minus the level, in (0, 1).
        method : {"wald"}
            "profile" is for Logit, Probit, CLogLog and MNLogit.

        Returns
        -------
        DataFrame
            Columns 0 and 1: the ends.
        """
        if method == "profile":
            raise NotImplementedError('conf_int(method="profile") is for Logit, Probit, CLogLog and MNLogit')
        if method != "wald":
            raise ValueError(f'method={method!r}: choose "wald" or, of Logit, Probit, CLogLog and MNLogit, "profile"')
        ends = wald.intervals(self._theta, self._se, alpha)
        return pd.DataFrame(ends, index=self._param_index, columns=ENDS.view())

    def cov_params(self, r_matrix=None) -> pd.DataFrame | ndarray:
        """Covariance matrix of the parameters, or of R params.

        Parameters
        ----------
        r_matrix : (J, p) array_like, optional

        Returns
        -------
        DataFrame (p, p), or ndarray (J, J)
        """
        if r_matrix is not None:
            R, _ = self._constraints(r_matrix)
            _, V, R = self._coordinates(R)
            return R @ V @ R.T
        names = self._param_index
        return pd.DataFrame(self._V.copy(), index=names, columns=names)

    def _constraints(self, r_matrix) -> tuple[ndarray, ndarray]:
        """R and q of R theta = q: names and strings end here."""
        base = getattr(self.model, "reference", None)
        return constraints(r_matrix, self._param_names, self._param_index, base)

    def _df(self, wanted: bool | None) -> float | None:
        """Degrees of freedom of t and F tests: df_resid, or the clusters less one (as Stata and statsmodels)."""
        if not wanted:
            return None
        return min(self._cov.clusters) - 1 if self._cov.clusters else self.df_resid

    def t_test(self, r_matrix: Any, *, use_t: bool | None = None) -> Any:
        """Wald test of each row of R theta = q.

        Parameters
        ----------
        r_matrix : str, list of str, array_like or (R, q)
            ``"x1 = x2"``, ``"x1 = 0, x2 = 1"``; a (J, p) matrix with q = 0; or both.
        use_t : bool, optional
            Student's t instead of the normal distribution, with df_resid degrees of freedom, or clusters - 1.

        Returns
        -------
        statsmodels ContrastResults
        """
        R, q = self._constraints(r_matrix)
        theta, V, R = self._coordinates(R)
        return wald.t_test(theta, V, R, q, df=self._df(use_t))

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

    def f_test(self, r_matrix: Any) -> Any:
        """`wald_test` with the F distribution."""
        return self.wald_test(r_matrix, use_f=True)

    def wald_test_terms(self, *, skip_constant: bool = False, use_f: bool = False) -> Any:
        """Joint Wald test of each term of the formula: all columns of a factor, a spline or an interaction at once.

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
        """
        self._check_terms()
        terms, df = self.model._terms, self._df(use_f)
        tests = wald.term_tests(
            *(self._theta, self._V, terms),
            use_f=use_f,
            df=df,
            skip_constant=skip_constant,
            omitted=self._omitted,
            into=self._in_coordinates,
            rank=self._rank,
        )
        return frames.term_table(tests)

    def _check_terms(self) -> None:
        """Refuse tests of terms that the fit does not have."""

    def _check_joint(self, R: ndarray) -> None:
        """Refuse joint tests that the fit does not have."""

    def summary_frame(
        self, alpha: float = 0.05, exponentiate: bool = False, method: str = "wald"
    ) -> pd.DataFrame:
        """The parameter table of the summary as a DataFrame.

        Parameters
        ----------
        alpha : float
            One minus the level of the intervals, in (0, 1).
        exponentiate : bool
            Ratios exp(coef) with delta-method standard errors and exp of the intervals.
        method : {"wald", "profile"}
            Of the intervals, as in `conf_int`; "profile" is for Logit, Probit, CLogLog and MNLogit.

        Returns
        -------
        DataFrame
            Indexed by coefficient: coef, std err, z, P>|z|, Conf. Int. Low, Conf. Int. Upp.
        """
        return frames.summary_frame(self, alpha=alpha, exponentiate=exponentiate, method=method)

    def tidy(self, alpha: float = 0.05, exponentiate: bool = False) -> pd.DataFrame:
        """One row a parameter, with the column names of R's broom: term, estimate, std_error, statistic, p_value,
        conf_low, conf_high."""
        return frames.tidy(self, alpha=alpha, exponentiate=exponentiate)


class Kept(Estimates):
    """Estimates of a model that print themselves, can be kept in a file, and let go of the data."""

    _group_names: list[str]
    _facts: ClassVar[tuple[str, ...]] = ()

    def _as_dict(self) -> dict[str, Any]:
        """What `save` writes."""
        raise NotImplementedError

    def _fit_header(self) -> list[tuple[str, str]]:
        """Facts about the fit for the summary."""
        raise NotImplementedError

    @property
    def llf(self) -> float:
        """Log-likelihood."""
        raise NotImplementedError

    @property
    def nobs(self) -> float:
        """Rows, or the sum of the frequency weights."""
        return self.model.nobs

    @property
    def _k_counted(self) -> float:
        """How many parameters criteria count."""
        raise NotImplementedError

    @property
    def _regularised(self) -> bool:
        """Whether the estimate is drawn away from the maximum of the likelihood."""
        return False

    @property
    def _short(self) -> bool:
        """Whether the fit ended short of the maximum of the likelihood."""
        return False

    @property
    def _has_bic(self) -> bool:
        return not self._regularised

    @property
    def aic(self) -> float:
        """Akaike's criterion, -2 llf + 2 p; NaN for a pseudo-likelihood and a fit that did not converge. Of a
        generative model that of the joint likelihood: it compares laws of the same features, never a generative model
        with Logit or MNLogit."""
        return self.info_criteria("aic")

    @property
    def bic(self) -> float:
        """Schwarz's criterion, -2 llf + p log(nobs); NaN for a pseudo-likelihood, a regularised fit and one that did
        not converge. Of a generative model that of the joint likelihood."""
        return self.info_criteria("bic")

    def info_criteria(self, crit: str, dk_params: float = 0) -> float:
        """AIC or BIC with `dk_params` more parameters counted.

        Parameters
        ----------
        crit : {"aic", "bic"}
        dk_params : float

        Returns
        -------
        float
            NaN for a pseudo-likelihood, and where the fit ended short of the maximum; BIC also of a regularised fit of
            a generative model. Of a penalised fit parameters are effective ones.
        """
        p = self._k_counted + dk_params
        penalty = {"aic": 2.0 * p, "bic": p * np.log(float(self.nobs))}
        if crit not in penalty:
            raise ValueError(f'crit={crit!r}: choose "aic" or "bic"')
        if self.model._pseudo or self._short or (crit == "bic" and not self._has_bic):
            return np.nan
        return float(-2.0 * self.llf + penalty[crit])

    @property
    def cov_type(self) -> str:
        """Name of the covariance type."""
        return self._cov.name

    @property
    def cov_kwds(self) -> dict[str, Any]:
        """What the covariance type was told and found.

        `groups` and `n_groups`: names of the groupings and how many clusters each has; `maxlags` of "HAC"; of
        "bootstrap" `reps`, `used`, `left_out` (replications without an estimate, by reason) and `seed`, a whole
        number that repeats these numbers, whatever was given. All of it may be given to `with_cov` again, if groups are
        columns.
        """
        groups = {"groups": self._group_names, "n_groups": list(self._cov.clusters)} if self._group_names else {}
        return {**groups, **self._cov.options}

    def with_cov(self, cov_type: str, **kwds) -> Self:
        """The same estimate with another covariance, without a new fit.

        Of a generative model it is that of the implied logit and of predictions: standard errors of `params`, the
        classes' own parameters, stay those of the inverse information.

        Parameters
        ----------
        cov_type : {"nonrobust", "expected", "HC0", "HC1", "HC2", "HC3", "cluster", "HAC", "bootstrap", "jackknife"}
            With A the observed information, s_i the score of row i, n the observations and p the parameters:

            - "nonrobust" A^-1; "expected" the inverse expected information
            - "HC0" A^-1 (sum s_i s_i') A^-1; "HC1" that times n/(n-p); "HC2" with s_i / sqrt(1 - h_i), "HC3" with
              s_i / (1 - h_i), h_i the leverage of reweighted least squares, of several classes a matrix
            - "cluster" with sums of s_i over clusters, times G/(G-1) (n-1)/(n-p); two groupings as Cameron, Gelbach &
              Miller
            - "HAC" sum_l (1 - l/(L+1)) (G_l + G_l') between the A^-1, G_l = sum s_i s_(i-l)': Newey-West, rows in their
              order in the table, one step of time apart; those left out in between are not counted as time, with a
              warning
            - "bootstrap" the covariance of estimates on observations, or clusters, drawn with replacement
            - "jackknife" (n-1)/n times the squares, about their mean, of the estimates without each observation

            Counts are one observation a row, a row of frequency weight f is f equal ones. Generative models do not have
            "HC2", "HC3", "bootstrap" and "jackknife", separated fits (of which the finite coefficients have a
            covariance) and bias-reduced ones no refits.
        **kwds
            `groups` of "cluster" and "bootstrap": one variable, of "cluster" also two, by column name or value;
            `maxlags`, L, of "HAC": by default the whole part of 4 (n/100)^(2/9); of "bootstrap" `reps`, replications,
            by default 999, and `seed`: a whole number, SeedSequence or Generator. Without a seed the numbers differ
            from call to call; `cov_kwds` of the result has the one that was drawn.

        Returns
        -------
        Results
            A new object.

        Raises
        ------
        TypeError
            A keyword that the type does not take.
        EstimationError
            "HC2" and "HC3": rows of leverage one; "jackknife": rows without which there is no estimate; "bootstrap":
            more than half of the replications have none.
        NotImplementedError
            A type that the model or the fit does not have; a bootstrap by two groupings.
        DataError
            The rows were removed, or not saved.

        Warns
        -----
        InferenceWarning
            Fewer than 20 clusters, rows missing in a series, replications without an estimate.

        References
        ----------
        White (1982); MacKinnon & White (1985); Newey & West (1987); Efron & Tibshirani (1993), chapter 6; Cameron,
        Gelbach & Miller (2011); Cameron & Miller (2015).

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("GRADE ~ GPA + PSI", datasets.load("spector")).fit()
        >>> res.with_cov("HC3").bse.round(3)
        Intercept    4.903
        GPA          1.459
        PSI          1.037
        dtype: float64
        """
        self.model._check_covariance(cov_type)
        keywords = self.model._cov_keywords(cov_type, kwds)
        other = copy.copy(self)
        other._set_covariance(cov_type, keywords)
        return other

    def _set_covariance(self, cov_type: str, keywords) -> None:
        """Replace the covariance, and forget what came of it."""
        raise NotImplementedError

    def _covariance_notes(self) -> list[str]:
        doubt = self.model._doubt(self._cov.name)
        return [self._cov.description, *([doubt] if doubt else [])]

    def summary(
        self, yname: Any = None, xname: Any = None, title: Any = None, alpha: float = 0.05, exponentiate: bool = False
    ) -> Summary:
        """The fit in one table, in statsmodels' layout, with what was modelled.

        Parameters
        ----------
        yname : str, optional
            Name of the response.
        xname : list of str, optional
            Names of the parameters.
        title : str, optional
        alpha : float
            One minus the level of the intervals.
        exponentiate : bool
            Whether to show exp(params), their delta-method standard errors and exp of the intervals.

        Returns
        -------
        Summary
            `as_text, as_latex, as_html, as_csv, as_markdown, as_typst`.
        """
        from glmclf.results.tables.summary import summary

        return summary(self, yname=yname, xname=xname, title=title, alpha=alpha, exponentiate=exponentiate)

    def _repr_html_(self) -> str:
        return self.summary().as_html()

    def glance(self) -> pd.DataFrame:
        """One row for the fit, with the column names of R's broom."""
        return frames.glance(self)

    def _header(self) -> list[tuple[str, str]]:
        """Facts for the summary's table beyond statsmodels'."""
        return self.model._header() + self._fit_header()

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle holds: of a fit to a stream, whose rows stay behind, all that needs them."""
        rows = self.model._rows_
        if rows is not None and rows.streamed:
            self._remember()
        return self.__dict__

    def __copy__(self) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def remove_data(self) -> None:
        """Drop every array with one entry a row, and the table: predictions and inference remain."""
        self._remember()
        self._drop_rows()

    def _drop_rows(self) -> None:
        for cls in type(self).__mro__:
            for name, value in vars(cls).items():
                if isinstance(value, row_property):
                    self.__dict__.pop(name, None)
        self.model = self.model._without_rows()

    def _remember(self) -> None:
        """Compute what needs the rows while they are there."""
        for name in self._facts:
            getattr(self, name)

    def save(self, path) -> None:
        """Write the result as JSON: formula, levels, transforms, estimate and covariance, no row of the data.

        Of each variable that is a number a file of a model of an event holds the least and the largest value, from
        which `inverse_predict` starts.

        Parameters
        ----------
        path : str, path or open text or binary file
            Where; read it back with `glmclf.load`.
        """
        self._remember()
        saving.write(path, self._as_dict())

    @staticmethod
    def load(path, functions=None) -> Kept:
        """Read a result that `save` wrote; see `glmclf.load`."""
        return saving.load(path, functions)
