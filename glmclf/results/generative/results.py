"""Results of generative models: the joint likelihood, the implied logit, posteriors and decisions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.special import chdtrc

from glmclf.caching import cached_property
from glmclf.checks import check_choice, check_whole, is_whole
from glmclf.core.numerics import seeds
from glmclf.core.numerics.softmax import complements, log_softmax, softmax
from glmclf.core.rows.blocks import Blocks
from glmclf.data.design.arrays import sums_up
from glmclf.data.table.undefined_rows import rows_gathered
from glmclf.errors import DataWarning, warn
from glmclf.inference.covariance.types import Covariance
from glmclf.inference.hypotheses import wald
from glmclf.results import decisions
from glmclf.results.base import Results, row_property, times_of
from glmclf.results.comparison.comparability import fingerprint, totals
from glmclf.results.comparison.conditional import ConditionalComparison, LogitForm, compare_conditional
from glmclf.results.comparison.mixin import ModelComparison
from glmclf.results.diagnostics.mixin import Diagnostics
from glmclf.results.generative.errors import ErrorTables, warn_skipped
from glmclf.results.generative.goodness_of_fit import PosteriorTests
from glmclf.results.generative.implied_logit import ImpliedLogit
from glmclf.results.lazy import by_partition
from glmclf.results.margins.mixin import Margins
from glmclf.results.performance.mixin import Performance
from glmclf.results.regression.levels import LevelPredictions, beside, check_prediction, drawn_labels
from glmclf.results.requires import Needs, requires
from glmclf.results.tables.frames import with_notes

if TYPE_CHECKING:
    from glmclf.results.performance.options import RowOptions
    from glmclf.results.tables.render import Summary

ROBUST = {
    "HC0": "Standard errors hold if the laws are not as modelled (HC0: sandwich of influences, no factor).",
    "HC1": "Standard errors hold if the laws are not as modelled (HC1: sandwich of influences times n/(n-p)).",
}
GENERATIVE_PREDICTIONS = ("mean", "class", "linear", "joint")


class GenerativeResults(Performance, Margins, PosteriorTests, ModelComparison, Results):
    """Results of a generative model: estimates, posterior probabilities and inference. Made by `fit`, not by hand.

    Attributes
    ----------
    model : Model
    params, bse : Series
        Log prior odds and the natural parameters of each class's law, with standard errors from the inverse
        information.
    discriminant : ImpliedLogit
        The logit that the laws imply, with the attributes of an MNLogit result.
    cov_type : str
        Covariance of `discriminant`.
    """

    method = "closed form"
    converged = True
    _joint_law: ClassVar[str]  # distribution of features in a class: "normal", or "independent" of any family
    _no_ratios: ClassVar[str] = (
        "params are means, variances and probabilities of classes, no logarithms. Use odds_ratios(), or exponentiate "
        "discriminant"
    )

    # what a subclass supplies
    def _log_joint(self, values) -> ndarray:
        """Log joint densities log pi_k f_k(x) of rows, (n, K), the reference first."""
        raise NotImplementedError

    def _log_scores(self, values) -> ndarray:
        """Log joint densities of rows up to a constant a row, (n, K), precise enough for posteriors."""
        return self._log_joint(values)

    def _blocks(self) -> Blocks:
        """Blocks of the rows of the fit: features, classes, weights."""
        raise NotImplementedError

    @property
    def _conditional(self) -> Callable:
        """Function ``f(*block)`` that sums w log p(y | x) over a block of `_blocks`; holds no rows."""
        raise NotImplementedError

    def _posterior(self, values) -> ndarray:
        """Posterior probabilities p(k | x) of rows, (n, K); NaN where every class has probability 0."""
        with np.errstate(invalid="ignore"):
            return softmax(self._log_scores(values), overwrite=True)

    def _log_odds_covariance(self, values, priors_free: bool) -> ndarray:
        """Covariance of the log-odds of rows against the reference, (n, K-1, K-1)."""
        raise NotImplementedError

    def _values(self, newdata) -> tuple[Any, pd.Index]:
        """Features of the rows of the fit (None) or of new rows, and the labels of the rows."""
        raise NotImplementedError

    def _values_to_predict(self, newdata) -> tuple[Any, pd.Index, ndarray]:
        """Features of rows, their labels, and in which of them a term is undefined, so that nothing is predicted."""
        with rows_gathered() as lost:
            values, index = self._values(newdata)
        return values, index, lost.of(len(index))

    def _impossible(self, what: str, values, rows: ndarray) -> str:
        """Warning about rows, in words and as a mask, that have probability 0 in every class."""
        raise NotImplementedError

    def _values_of(self, X) -> Any:
        """Features of rows in the form that the fit uses."""
        raise NotImplementedError

    def _n_missing(self, values) -> ndarray:
        """Number of features that each row lacks, (n,)."""
        raise NotImplementedError

    @property
    def _log_priors(self) -> ndarray:
        raise NotImplementedError

    @property
    def _priors_free(self) -> bool:
        return self.model._options["priors"] is None

    # ----------------------------------------------------------------------------------------------- numbers
    @property
    @requires()
    def levels(self) -> list[Any]:
        """All levels of the response, in their order."""
        return self.model.levels

    @property
    @requires()
    def reference(self) -> Any:
        """Reference level of the log-odds."""
        return self.model.reference

    @property
    @requires()
    def feature_names(self) -> list[str]:
        """Names of the features, in the order of the formula."""
        return self.model.feature_names

    def _by_class(self, values, name: str | None = None) -> pd.Series:
        """Series by level of numbers by class, the reference first."""
        index = pd.Index(self.levels, dtype=object)
        return pd.Series(np.asarray(values, dtype=float)[self.model._order], index=index, name=name)

    @property
    @requires()
    def priors(self) -> pd.Series:
        """Prior probabilities of the levels."""
        return self._by_class(np.exp(self._log_priors))

    @property
    @requires()
    def priors_bse(self) -> pd.Series:
        """Standard errors of `priors`, sqrt(p (1 - p) / N); 0 where priors are fixed, NaN under sampling weights."""
        p = np.exp(self._log_priors)
        if self.model._pseudo and self._priors_free:
            return self._by_class(np.full(len(p), np.nan))
        total = float(self._prior_counts.sum())
        return self._by_class(np.sqrt(p * (1 - p) / total) if self._priors_free else np.zeros(len(p)))

    @property
    def _prior_counts(self) -> ndarray:
        raise NotImplementedError

    @property
    def _model_based_se(self) -> ndarray:
        """Standard errors of the flat parameters from the inverse information."""
        raise NotImplementedError

    @property
    def _se(self) -> ndarray:
        """Standard errors of the flat parameters; NaN under sampling weights, whose scale they would follow."""
        se = self._model_based_se
        return np.full(len(se), np.nan) if self.model._pseudo else se

    @requires()
    def cov_params(self, r_matrix: Any = None, columns: Sequence[Any] | str | None = None) -> pd.DataFrame | ndarray:
        """Covariance matrix of `params`, of some of them, or of R params; the discriminant has its own.

        Parameters
        ----------
        r_matrix : (J, p) array_like, optional
        columns : list of str, optional
            Names of the parameters whose covariance is wanted, in this order.

        Returns
        -------
        DataFrame, or of R params ndarray (J, J)
            (p, p), of `columns` as many rows and columns as these are.

        Raises
        ------
        ValueError
            Unknown names; both arguments; sampling weights; more parameters than their matrix should have without a
            word, 2 GB of it.
        """
        if self.model._pseudo:
            self._coordinates(np.zeros((0, 0)))  # raises
        return super().cov_params(r_matrix, columns)

    def _coordinates(self, R: ndarray) -> tuple[ndarray, ndarray, ndarray]:
        if self.model._pseudo:
            raise ValueError(
                "under sampling weights priors, means and the parameters of laws have no model-based covariance: test "
                "the coefficients of discriminant, whose covariance is robust"
            )
        return super()._coordinates(R)

    @property
    @requires()
    def k_params(self) -> float:
        """Number of parameters; the effective number where they are smoothed or shrunk."""
        raise NotImplementedError

    @property
    @requires()
    def k_params_effective(self) -> float:
        """Effective number of parameters, which AIC and BIC count: below the free ones under smoothing or shrinkage."""
        return self.k_params

    @property
    def _k_counted(self) -> float:
        return self.k_params_effective

    @property
    def _k_null(self) -> float:
        raise NotImplementedError

    @property
    @requires()
    def llnull(self) -> float:
        """Log-likelihood of the null model, in which the features do not depend on the class."""
        raise NotImplementedError

    @property
    @requires()
    def llr(self) -> float:
        """Likelihood ratio statistic of no difference between the classes, 2 (llf - llnull)."""
        return 2.0 * (self.llf - self.llnull)

    @property
    @requires()
    def llr_pvalue(self) -> float:
        """p-value of `llr`, chi-squared with df_model degrees of freedom; NaN unless the fit maximises a likelihood."""
        if self.model._pseudo or not self._maximum:
            return np.nan
        return float(chdtrc(self.df_model, max(self.llr, 0.0)))

    @property
    def _maximum(self) -> bool:
        """Whether the estimate that likelihoods use is a maximum of the likelihood."""
        raise NotImplementedError

    @property
    @requires()
    def df_model(self) -> float:
        """Number of parameters beyond those of the null model."""
        return self.k_params - self._k_null

    @property
    @requires()
    def df_resid(self) -> float:
        """Observations less classes."""
        return self.nobs - len(self.levels)

    @cached_property
    @requires()
    def llf_conditional(self) -> float:
        """Conditional log-likelihood of the response given the features, sum of f log p(y | x), as MNLogit's."""
        with np.errstate(over="ignore", invalid="ignore"):
            return float(self._blocks().sum(self._conditional))

    @cached_property
    def _conditional_null(self) -> float:
        n = self.model._sums[1]
        return float(n @ np.log(n / n.sum()))

    @property
    @requires()
    def prsquared(self) -> float:
        """McFadden's pseudo-R-squared of the conditional likelihood, 1 - llf_conditional / sum n_k log(n_k / N)."""
        return 1.0 - self.llf_conditional / self._conditional_null

    # -------------------------------------------------------------------------------------------- discriminant
    @cached_property
    @requires()
    def discriminant(self) -> ImpliedLogit:
        """Implied logit: coefficients of log p_k(x)/p_0(x) with standard errors, tests and intervals."""
        raise NotImplementedError

    @property
    @requires()
    def cov_type(self) -> str:
        """Name of the covariance type of `discriminant`."""
        return self._cov.name

    @requires()
    def wald_test_terms(self, *, skip_constant: bool = False, use_f: bool = False) -> Any:
        """Wald tests of the terms in the implied logit: `discriminant.wald_test_terms`."""
        return self.discriminant.wald_test_terms(skip_constant=skip_constant, use_f=use_f)

    @requires()
    def odds_ratios(self, alpha: float = 0.05, units=None) -> pd.DataFrame:
        """Ratios exp(u b) of the implied logit: `discriminant.odds_ratios`."""
        return self.discriminant.odds_ratios(alpha, units)

    @requires()
    def conf_int(
        self, alpha: float = 0.05, method: str = "wald", columns: Sequence[Any] | str | None = None
    ) -> pd.DataFrame:
        """Confidence intervals of `params`.

        Parameters
        ----------
        alpha : float
            One minus the level of the intervals, in (0, 1).
        method : {"wald"}
        columns : list of str, optional
            Names of the parameters whose intervals are wanted; by default all.

        Returns
        -------
        DataFrame
            Columns 0 and 1: the ends, estimate -/+ z se; of positive parameters (variances, rates, shapes) on the log
            scale, of probabilities on that of log odds.
        """
        table = super().conf_int(alpha, method)
        z, b, se = wald.critical_value(alpha), self._theta, self._se
        positive, share = self._scales
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for sign, j in ((-1, 0), (1, 1)):
                ends = table[j].to_numpy(copy=True)
                ends[positive] = (b * np.exp(sign * z * se / b))[positive]
                half = sign * z * se / (b * (1 - b))
                ends[share] = (1 / (1 + np.exp(-half) * (1 - b) / b))[share]
                table[j] = ends
        return table if columns is None else table.iloc[self._places_of(columns)]

    @property
    def _param_index(self) -> pd.Index:
        return pd.Index(self._param_names)

    @property
    def _scales(self) -> tuple[ndarray, ndarray]:
        """Masks of the positive parameters and of the probabilities, (p,) each."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------------ predicting
    @by_partition
    @requires()
    def predict(
        self, newdata: Any = None, which: str = "mean", *, rule: str = "map", cost: Any = None, priors: Any = None
    ) -> Any:
        """Posterior probabilities, decisions, log-odds or joint densities.

        Parameters
        ----------
        newdata : DataFrame, array_like, optional
            Rows to predict, columns by name; by default the rows of the fit. A row is judged by the features that it
            has; one without any by the priors. Of a Dask DataFrame, predictions are lazy;
            classes that are whole numbers, or True and False, are nullable there (Int64, boolean).
        which : {"mean", "class", "linear", "joint"}
            Posterior probabilities; the class decided on; log-odds against the reference, 0 for it; or
            log pi_k f_k(x), whose density has the units of the features.
        rule : {"map", "ml"}
            Decide for the largest posterior, or for the largest density f_k(x) without the priors.
        cost : (K, D) array_like or DataFrame, optional
            Cost of each decision (columns) for each truth (rows, in the order of `levels` or by label): the decision of
            least expected cost. A column more than there are levels is a decision to reject.
        priors : array_like, dict, Series or "estimate", optional
            Other prevalences: p* proportional to p pi*/pi; or those of the rows to predict, by an EM algorithm.

        Returns
        -------
        DataFrame (a column a level) or, for classes, Series
            By the index of `newdata`. A tie goes to the first level.

        Raises
        ------
        ValueError
            Unknown options, priors that are no probabilities, a cost matrix of another shape.

        References
        ----------
        Saerens, Latinne & Decaestecker (2002), Neural Computation 14, 21-41 (`priors="estimate"`).
        """
        check_choice("which", which, GENERATIVE_PREDICTIONS)
        if which != "class" and (rule != "map" or cost is not None):
            raise ValueError('rule= and cost= are for which="class"')
        values, index, lost = self._values_to_predict(newdata)
        if which == "mean" and priors is None:
            p = self._posterior(values)
            p[lost] = np.nan
            if not sums_up(p):
                self._warn_impossible(self._log_scores(values), values, index)
            return self._by_level(p, index)
        joint = self._moved(self._log_joint(values) if which == "joint" else self._log_scores(values), priors)
        joint[lost] = np.nan
        if which == "joint":
            return self._by_level(joint, index)
        self._warn_impossible(joint, values, index)
        if which == "class":
            return self._decided(joint, index, rule, cost)
        if which == "linear":
            self._check_reference(priors)
            return self._by_level(_against_first(joint), index)
        return self._by_level(decisions.posterior(joint), index)

    def _check_reference(self, priors) -> None:
        wanted = None if priors is None or isinstance(priors, str) else self.model._prior_array(priors)
        if wanted is not None and wanted[0] == 0:
            raise ValueError(
                f"priors= is 0 for the reference {self.reference!r}, against which there are no log-odds then: use "
                'which="mean"'
            )

    def _warn_impossible(self, joint: ndarray, values, index: pd.Index) -> None:
        impossible = np.asarray(np.isneginf(joint).all(axis=1))
        if impossible.any():
            rows, n = ", ".join(map(str, index[impossible][:5])), int(impossible.sum())
            what = f"{n} row{'s' if n > 1 else ''} ({rows}{', ...' if n > 5 else ''})"
            warn(self._impossible(what, values, impossible), DataWarning)

    def _by_level(self, values: ndarray, index: pd.Index) -> pd.DataFrame:
        order, columns = self.model._order, pd.Index(self.levels, dtype=object)
        if list(order) != sorted(order):
            values = values[:, order]
        return pd.DataFrame(values, index=index, columns=columns, copy=False)

    def _moved(self, joint: ndarray, priors) -> ndarray:
        """Log joint densities log p(k, x) with other priors."""
        if priors is None:
            return joint
        bare = joint - self._log_priors
        if isinstance(priors, str) and priors == "estimate":
            with np.errstate(divide="ignore"):  # log of 0 for a class with prior 0
                return bare + np.log(decisions.estimated_priors(bare, np.exp(self._log_priors)))
        wanted = self.model._prior_array(priors)
        with np.errstate(divide="ignore"):
            return bare + np.log(wanted)

    def _decided(self, joint: ndarray, index: pd.Index, rule: str, cost) -> pd.Series:
        """Decisions in the labels of the response; "reject" columns of a cost matrix keep their own name."""
        order = np.array(self.model._order)
        missing = np.isnan(joint).any(axis=1) | np.isneginf(joint).all(axis=1)
        if cost is not None:
            if rule != "map":
                raise ValueError(f"rule={rule!r} and cost= are two rules: give one")
            C, names = decisions.cost_matrix(cost, self.levels)
            expected = np.nan_to_num(decisions.posterior(joint)[:, order]) @ C
            choice = expected.argmin(axis=1)
        else:
            check_choice("rule", rule, ("map", "ml"))
            scores = joint - self._log_priors if rule == "ml" else joint
            choice, names = np.nan_to_num(scores[:, order], nan=-np.inf).argmax(axis=1), None
        if names is not None:
            labels = np.array([*names, np.nan], dtype=object)[np.where(missing, len(names), choice)]
            return pd.Series(labels, index=index, dtype=object)
        return self.model._response.series(choice, index, missing)

    @requires()
    def get_prediction(self, newdata=None, which: str = "mean", *, priors=None) -> LevelPredictions:
        """Posterior probabilities, or log-odds, with delta-method standard errors and intervals.

        Parameters
        ----------
        newdata
            As in `predict`.
        which : {"mean", "linear"}
            Posterior probabilities, or log-odds against the reference, 0 for it.
        priors
            As in `predict`, but for "estimate"; such priors are known, not estimated.

        Returns
        -------
        LevelPredictions
            `predicted, se, conf_int(alpha), summary_frame(alpha)`; the interval of p_k is that of log(p_k / (1 - p_k)),
            transformed. `summary_frame` has the number of features a row lacks, where one lacks any.
        """
        check_prediction(which)
        if isinstance(priors, str) and priors == "estimate":
            raise NotImplementedError('get_prediction(priors="estimate"): their uncertainty is not known; use predict')
        if which == "linear":
            self._check_reference(priors)
        values, index, lost = self._values_to_predict(newdata)
        scores = self._log_scores(values)
        scores[lost] = np.nan
        joint = self._moved(scores, priors)
        self._warn_impossible(joint, values, index)
        order, lacking = self.model._order, self._n_missing(values)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            S = self._log_odds_covariance(values, self._priors_free and priors is None)
            S[lost] = np.nan
            if which == "linear":
                log_odds = _against_first(joint)
                return LevelPredictions._of_log_odds(log_odds, S, order, index, self.levels, lacking)
            log_p = log_softmax(joint)
            p, q = np.exp(log_p), complements(joint)
        impossible = np.isneginf(scores)
        # certain, as all other classes are impossible
        alone = impossible.any(axis=1) & (np.isfinite(joint).sum(axis=1) == 1)
        log_p[impossible | alone[:, None]] = np.nan
        return LevelPredictions._of_probabilities(log_p, p, q, S, order, index, self.levels, lacking)

    @row_property
    @requires(Needs.ROWS)
    def fittedvalues(self) -> pd.DataFrame:
        """Posterior probabilities of the rows of the fit, a column a level."""
        return self.predict()

    def _check_row_options(self, options: RowOptions) -> None:
        if options.offset is not None:
            raise NotImplementedError(f"offset= of {type(self.model).__name__}, which has no linear predictor")

    def _log_p(self, newdata, offset) -> tuple[ndarray, ndarray, pd.Index]:
        values, index, lost = self._values_to_predict(newdata)
        log_p = self._log_posterior(values)
        log_p[lost] = np.nan
        return log_p, np.exp(log_p), index

    def _log_posterior(self, values) -> ndarray:
        """Log posteriors log p(k | x) of rows, (n, K), in the order of the levels."""
        with np.errstate(invalid="ignore"):
            return log_softmax(self._log_scores(values))[:, self.model._order]

    def _rows_read(self, X, y, trials, offset) -> tuple[ndarray, ndarray, ndarray]:
        log_p = self._log_posterior(self._values_of(X))
        return log_p, np.exp(log_p), np.eye(len(self.levels))[self.model._as_endog(y)]

    def _log_p_beside(self, model) -> ndarray:
        return self._log_posterior(self._values_of(model._rows.X))

    @property
    def _counts(self) -> ndarray:
        return np.eye(len(self.levels))[self.model.endog]

    @property
    def _event_place(self) -> int:
        return self.levels.index(self.model._equations[0])

    def _repeated(self, model) -> Any:
        return model.fit(n_threads=1)

    def _fitted_columns(self, newdata) -> dict[str, Any]:
        return beside(self.get_prediction(newdata), self.predict(newdata, which="class"), self.levels)

    resid_quantile = Diagnostics.resid_quantile

    def _log_probabilities(self) -> ndarray:
        return self._log_posterior(self._values(None)[0])

    def _observed_classes(self) -> tuple[ndarray, ndarray | None]:
        return np.argsort(self.model._order)[self.model._rows.y], None

    # -------------------------------------------------------------------------------------------------- drawing
    @requires(Needs.ROWS)
    def simulate(self, n: int = 1, seed=None) -> pd.DataFrame:
        """Responses drawn from the posterior of each row of the fit.

        Parameters
        ----------
        n : int
            How many responses a row.
        seed : int, SeedSequence or Generator, optional

        Returns
        -------
        DataFrame
            Columns sim_1, ..., sim_n of labels. A row of frequency weight f stands f times. Features and responses
            together are drawn by `sample`.
        """
        check_whole("n", n, 1, "how many responses to draw")
        r = self.model._rows
        times = times_of(r, self.model._frequency)
        p = np.repeat(self.predict().to_numpy(), times, axis=0)
        return drawn_labels(p, n, seeds.generator(seed), self.model._response, r.index.repeat(times))

    @requires()
    def sample(self, n: int, seed=None, by_class=None) -> pd.DataFrame:
        """Sample rows from the fitted joint distribution: a class by the priors, then its features.

        Parameters
        ----------
        n : int
            How many rows.
        seed : int, SeedSequence or Generator, optional
        by_class : dict, optional
            How many rows of each level, in place of `n` rows by the priors.

        Returns
        -------
        DataFrame
            The response and the features: the variables of the table where every term is a plain name, else the columns
            of the design.
        """
        generator = seeds.generator(seed)
        y = self._drawn_classes(n, generator, by_class)
        return self._draw(y, generator)

    def _drawn_classes(self, n: int, generator, by_class) -> ndarray:
        """Draw class codes, the reference first."""
        classes = self.model._classes
        if by_class is None:
            check_whole("n", n, 1, "how many rows to draw")
            return generator.choice(len(classes), size=n, p=np.exp(self._log_priors))
        if isinstance(by_class, pd.Series):
            by_class = by_class.to_dict()
        if not isinstance(by_class, Mapping):
            raise ValueError(f"by_class={by_class!r}: a dict, level -> number of rows")
        unknown = [level for level in by_class if level not in classes]
        if unknown:
            raise ValueError(f"by_class= names {unknown}; the levels are {self.levels}")
        sizes = [by_class.get(level, 0) for level in self.levels]
        for size in sizes:
            check_whole("n", size, 0, "how many rows of a class")
        if n is not None and n != sum(sizes):
            raise ValueError(f"n={n!r}, but by_class= asks for {sum(sizes)} rows")
        return np.repeat([classes.index(level) for level in self.levels], sizes)

    def _draw(self, y: ndarray, generator) -> pd.DataFrame:
        raise NotImplementedError

    def _with_response(self, y: ndarray, features: dict[str, Any]) -> pd.DataFrame:
        codes = np.argsort(self.model._order)[y]
        return pd.DataFrame({self.model.endog_names: self.model._response.decode(codes), **features})

    # ---------------------------------------------------------------------------------------------------- tests
    @requires()
    def term_tests(self) -> pd.DataFrame:
        """Likelihood ratio test of each term: does its distribution depend on the class?"""
        raise NotImplementedError

    @requires()
    def anova(self, type: int = 3, test: str = "LR") -> pd.DataFrame:
        """Test of each term, as for regressions: `term_tests` ("LR") or Wald tests of the implied logit.

        Parameters
        ----------
        type : {3}
            Each term given all others.
        test : {"LR", "wald"}

        Returns
        -------
        DataFrame
            By term: statistic, df, pvalue.
        """
        name = self.model.__class__.__name__
        if not is_whole(type) or type != 3:
            raise NotImplementedError(f"anova(type={type!r}) of {name}: each term given all others, 3")
        said = f"{'Likelihood ratio' if test == 'LR' else 'Wald'} tests: each term given all others (type 3)."
        if test == "LR":
            return with_notes(self.term_tests(), said)
        if test != "wald":
            raise NotImplementedError(f'anova(test={test!r}) of {name}: "LR" or "wald"')
        table = self.wald_test_terms(skip_constant=True).table
        return with_notes(table.rename(columns={"df_constraint": "df"})[["statistic", "df", "pvalue"]], said)

    # ---------------------------------------------------------------------------------------------- error rates
    @cached_property
    def _error_facts(self) -> dict[str, Any]:
        """Confusion tables and sums of log posteriors, in the order of the classes."""
        raise NotImplementedError

    @requires()
    def error_rates(self) -> ErrorTables:
        """Error rates of decisions: resubstitution, leave-one-out and posterior.

        Returns
        -------
        ErrorTables
            `rates` (a row a method: error, n_errors, log_score), `confusion` by method, `by_class`. Leaving one out
            holds the priors, a pseudo-count and the intensity of shrinkage. A row whose class has no law without it is
            left aside, and counted in `skipped`. With shrinkage to a target from the data each row needs a covariance
            matrix of its own: of many rows and features a saved fit has leaving one out (else NaN) only where this was
            called before.

        References
        ----------
        Lachenbruch & Mickey (1968), Technometrics 10, 1-11. McLachlan (1992), chapter 10.
        """
        facts = self._complete_error_facts()
        warn_skipped(facts, self.model._classes)
        return ErrorTables(facts, self)

    def _complete_error_facts(self) -> dict[str, Any]:
        """Error counts with those of leaving one out, where they were not worth their time without being asked for."""
        return self._error_facts

    # ------------------------------------------------------------------------------------------------ comparing
    @requires(Needs.LIKELIHOOD)
    def compare_conditional(self, mnlogit_res) -> ConditionalComparison:
        """Test against a logit: does a logit fit the response better than chance allows if this model is right?

        The logit maximises the conditional likelihood. Twice the difference of the conditional log-likelihoods is a
        weighted sum of chi-squareds, not a chi-squared.

        Parameters
        ----------
        mnlogit_res : MultinomialResults or BinaryResults
            MNLogit, or Logit with the reference as its other level, of the same rows and weights. Its regressors span
            the functions of the features that `discriminant` has: the features of LDA, with squares and products of
            QDA, the statistics of NaiveBayes.

        Returns
        -------
        ConditionalComparison
            llf, llf_conditional, statistic, scale, df, pvalue (Satterthwaite's approximation), and the penalty
            trace(I_c V) of a conditional AIC. With fixed priors slopes alone are compared: both models take the
            intercepts that suit the rows best.

        Raises
        ------
        ValueError
            Other rows, weights, response or regressors; a pseudo-likelihood; missing features.
        NotImplementedError
            An estimate that is not the maximum of the likelihood.

        Notes
        -----
        A large-sample test, which errs on the safe side: with two normal features, one a standard deviation apart, it
        rejected a true LDA at level .05 in 0.3 % of 300 simulated samples of 200 rows, and in 4 % of 1,000 rows.
        """
        if not hasattr(getattr(mnlogit_res, "model", None), "_objective"):
            raise TypeError(f"compare_conditional needs a fit of MNLogit or Logit, found {type(mnlogit_res).__name__}")
        return compare_conditional(self, mnlogit_res)

    def _logit_form(self) -> LogitForm:
        """The model as a logit in functions of the features."""
        raise NotImplementedError

    def _check_logit_form(self) -> None:
        """Refuse a fit that is not the maximum of the likelihood, or whose log-odds are not finite."""
        raise NotImplementedError

    @cached_property
    def _fingerprint(self) -> dict[str, str]:
        """Digests of everything that compared models must share, as long as there are rows."""
        return fingerprint(self)

    @cached_property
    def _data_sums(self) -> dict[str, Any]:
        """Sums by which fits compare whose rows are gone."""
        return totals(self)

    def _check_priors(self, what: str) -> None:
        """Refuse priors that are neither known nor estimated by maximum likelihood."""
        if self._priors_free and self.model._options["prior_smoothing"]:
            raise NotImplementedError(f"{what} is for the maximum likelihood fit: without prior_smoothing=")

    # ---------------------------------------------------------------------------------------------- presentation
    @requires()
    def summary(
        self,
        yname: Any = None,
        xname: Any = None,
        title: Any = None,
        alpha: float = 0.05,
        discriminant: bool | None = None,
        date: bool = True,
        levels: bool | None = None,
    ) -> Summary:
        """Summary of the fit: likelihoods, classes, tests of the features, and the implied logit.

        Parameters
        ----------
        yname : str, optional
            Name of the response.
        xname : list of str or "levels", optional
            Names of the regressors of the implied logit; "levels": of levels of factors as "sex: male".
        title : str, optional
        alpha : float
            One minus the level of the intervals.
        discriminant : bool, optional
            Whether to print the coefficients of the implied logit; by default unless they are many (a quadratic logit
            of more than 4 features).
        date : bool
            Whether the header has date and time.
        levels : bool, optional
            Whether each coefficient of the implied logit has a row; by default terms of more than 50 stand in one line.

        Returns
        -------
        Summary
            `as_text, as_latex, as_html, as_csv, as_markdown, as_typst`.
        """
        from glmclf.results.generative.summary import summary

        names: dict[str, Any] = {"yname": yname, "xname": xname, "title": title}
        return summary(self, **names, alpha=alpha, discriminant=discriminant, date=date, levels=levels)

    @requires()
    def glance(self) -> pd.DataFrame:
        """Table of one row with measures of the fit, in the column names of R's broom.

        Columns are the joint log_lik, aic and bic, and the conditional log-likelihood, among others.
        """
        row = {
            "log_lik": self.llf,
            "log_lik_conditional": self.llf_conditional,
            "aic": self.aic,
            "bic": self.bic,
            "df_residual": self.df_resid,
            "nobs": self.nobs,
        }
        return pd.DataFrame(row, index=pd.RangeIndex(1))

    @property
    def _estimator(self) -> str:
        """Name of the method of estimation."""
        if getattr(self, "_reduced", None) is not None:
            return "unbiased slopes"
        if self._maximum:
            return "MLE (closed form)"
        return "regularised MLE" if hasattr(self, "_fitted_classes") else "smoothed MLE"

    def _notes(self) -> list[str]:
        notes = [*self._covariance_notes(), *self.model._summary_notes()]
        notes.append("Priors estimated." if self._priors_free else "Priors fixed.")
        notes.append("Joint and conditional log-likelihoods and criteria are not comparable.")
        if self._cov.name not in ("nonrobust", "expected") and not self.model._pseudo:
            notes.append(
                "Robust standard errors are those of the discriminant and of predictions; those of the classes' own "
                "parameters assume the laws."
            )
        return notes

    _facts: ClassVar[tuple[str, ...]] = ("llf_conditional", "_conditional_null", "_data_sums")

    @staticmethod
    def _patterns(seen: ndarray) -> list[tuple[ndarray, ndarray]]:
        """Patterns of observed features: (features, rows) of each pattern."""
        if seen.all():
            return [(np.ones(seen.shape[1], dtype=bool), np.arange(len(seen)))]
        kinds, of = np.unique(seen, axis=0, return_inverse=True)
        of = np.ravel(of)
        return [(kind, np.flatnonzero(of == i)) for i, kind in enumerate(kinds)]

    @classmethod
    def _by_pattern(cls, seen: ndarray, f: Callable, shape: tuple[int, ...]) -> ndarray:
        """Results of ``f(features, rows)`` for each pattern of observed features, assembled by row, (n, *shape)."""
        out = np.empty((len(seen), *shape))
        for features, rows in cls._patterns(seen):
            out[rows] = f(features, rows)
        return out


def _against_first(joint: ndarray) -> ndarray:
    """Log-odds log p_k / p_0, (n, K): 0 for the first class, NaN for rows that are possible in no class."""
    with np.errstate(invalid="ignore"):
        odds = joint - joint[:, :1]
    odds[:, 0] = np.where(np.isfinite(joint.max(axis=1)), 0.0, np.nan)
    return odds


def in_words(cov: Covariance) -> Covariance:
    """Robust covariance with a description in terms of a generative model."""
    return replace(cov, description=ROBUST.get(cov.name, cov.description))
