"""Results of naive Bayes: the distribution of each feature in each class, the implied logit, the audit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.core.naive_bayes.family import is_sparse
from glmclf.core.naive_bayes.fit import NaiveBayesFit
from glmclf.core.rows.blocks import Blocks
from glmclf.inference.covariance.types import Covariance
from glmclf.inference.generative.naive_bayes import MAX_NUMBERS_AT_A_TIME, Parts, PartsContext, log_joint_without
from glmclf.inference.hypotheses import wald
from glmclf.results import saving
from glmclf.results.comparison.conditional import LogitForm
from glmclf.results.generative.audit import audit
from glmclf.results.generative.densities import (
    conditionals,
    density,
    impossible_because,
    is_missing,
    summary_features,
    totals,
)
from glmclf.results.generative.discriminant import COVARIANCE_NOTES, DiscriminantResults
from glmclf.results.generative.errors import error_facts, error_rates, log_posterior
from glmclf.results.generative.implied_logit import MAX_ROBUST, ClosedFormCovariance, LogitLabels, NaiveBayesLogit
from glmclf.results.generative.ladder import naive_bayes_ladder
from glmclf.results.generative.lr_test import lr_test
from glmclf.results.generative.manova import term_ratio_table
from glmclf.results.generative.parameters import parameter_covariance, parameter_names
from glmclf.results.generative.record import as_columns, contiguous, record_as_dict, record_from_dict
from glmclf.results.generative.results import GenerativeResults, in_words
from glmclf.results.requires import Needs, requires

ASSUMED = (
    "Features count as independent given the class. Where they are not, the standard errors of one feature's "
    "coefficients hold, but those of intercepts and of predictions may be too small: see independence_audit(), and use "
    'cov_type="HC0".'
)

SMOOTHED = ("bernoulli", "categorical", "multinomial")  # families that smoothing= changes


class NaiveBayesResults(GenerativeResults):
    """Results of NaiveBayes.

    Attributes
    ----------
    params, bse : Series
        Log prior odds, then of each feature and class: mean and var, prob, rate, or shape and rate.
    discriminant : ImpliedLogit
        The implied logit, with the attributes of an MNLogit result. Robust covariances (`cov_type`) are of it.
    """

    _joint_law: ClassVar[str] = "independent"
    _facts: ClassVar[tuple[str, ...]] = (*GenerativeResults._facts, "_error_facts", "_totals")

    def __init__(self, model, fitted: NaiveBayesFit, cov: Covariance, group_names: list[str]):
        """`cov` holds the covariance of the parts of the log-odds, or nothing where it has closed forms."""
        self.model, self._fit = model, contiguous(fitted)
        self._cov, self._group_names = cov, group_names

    @classmethod
    def _fitted(cls, model, fitted: NaiveBayesFit, cov_type: str, keywords, n_threads=None) -> NaiveBayesResults:
        cov, names = _covariance(model, fitted, cov_type, keywords, n_threads)
        return cls(model, fitted, cov, names)

    # ----------------------------------------------------------------------------------------------- the classes
    @property
    def _log_priors(self) -> ndarray:
        return self._fit.log_priors

    @property
    def _prior_counts(self) -> ndarray:
        return self._fit.prior_counts

    @property
    @requires()
    def counts(self) -> pd.Series:
        """Rows of each level, or sums of weights."""
        return self._by_class(self._fit.counts)

    @property
    @requires()
    def conditionals(self) -> dict[str, pd.DataFrame]:
        """Distribution of each feature in each class.

        Returns
        -------
        dict of DataFrame
            By feature. Rows are the levels of the response; columns (parameter, "estimate" or "se"), where the
            parameters are mean and var, prob, rate, shape and rate, or the levels of the feature.
        """
        return conditionals(self)

    @requires()
    def density(self, feature: str, values) -> pd.DataFrame:
        """Density f_k(x) of a feature that is a number, or probability of a whole number, in each class.

        Parameters
        ----------
        feature : str
            One of `feature_names`; of a table or a block of counts `conditionals` has the probabilities.
        values : (n,) array_like
            Values of the feature as the formula has it: of ``np.log(x)`` they are logs. NaN where missing.

        Returns
        -------
        DataFrame
            By value, a column a level. Per unit of the feature where that is continuous. NaN where missing.

        Raises
        ------
        DataError
            A feature that is not there; values that its family cannot have.
        NotImplementedError
            A table, or a block of counts.

        Examples
        --------
        >>> from glmclf import NaiveBayes, datasets
        >>> res = NaiveBayes.from_formula("species ~ bill_length_mm", datasets.load("penguins")).fit()
        >>> res.density("bill_length_mm", [40, 50]).round(4)
              Adelie  Chinstrap  Gentoo
        40.0  0.1355     0.0035  0.0065
        50.0  0.0000     0.1131  0.0934
        """
        return density(self, feature, values)

    @property
    @requires()
    def observed(self) -> pd.DataFrame:
        """Numbers of rows without missing values by level (rows) and feature (columns), or sums of weights."""
        index = pd.Index(self.levels, dtype=object)
        return pd.DataFrame(self._fit.observed[self.model._order], index=index, columns=self.feature_names)

    # ------------------------------------------------------------------------------------------------ parameters
    @cached_property
    def _parameters(self):
        found = self._fit.parameters()
        return [p._replace(se=np.nan) for p in found] if self.model._pseudo else found

    @cached_property
    def _theta(self) -> ndarray:  # type: ignore[override]
        return np.array([p.value for p in self._parameters])

    @property
    def _model_based_se(self) -> ndarray:
        return np.array([p.se for p in self._parameters])

    @cached_property
    def _V(self) -> ndarray:
        return self._block(np.arange(len(self._theta)))

    def _block(self, at: ndarray) -> ndarray:
        return parameter_covariance(self._fit, self._parameters, at)

    @property
    def _param_names(self) -> list[str]:
        return parameter_names(self.model, self._parameters)

    @property
    def _scales(self) -> tuple[ndarray, ndarray]:
        names = np.array([p.name for p in self._parameters], dtype=object)
        return np.isin(names, ["variance", "rate", "shape"]), names == "p"

    @property
    def _smoothed(self) -> bool:
        """Whether a pseudo-count changes the fit."""
        return self._fit.smoothing > 0 and any(f.name in SMOOTHED for f in self._fit.families)

    @property
    def _maximum(self) -> bool:
        return not self._smoothed

    @property
    @requires()
    def k_params(self) -> int:
        """Free parameters."""
        return self._fit.k_params

    @property
    @requires()
    def k_params_effective(self) -> float:
        """Effective number of parameters, which AIC and BIC use: (L-1) n/(n + a L) for a smoothed table and class."""
        return self._fit.effective_params if self._smoothed else self._fit.k_params

    @property
    def _k_null(self) -> float:
        return self._fit.k_params_null

    @property
    @requires()
    def df_model(self) -> int:
        """Number of parameters beyond those of the null model, without levels that no row has."""
        return int(self._fit.df.sum())

    @cached_property
    @requires()
    def llf(self) -> float:
        """Joint log-likelihood sum f log(pi_y prod_j f_jy(x_j)), at the smoothed estimate if there is smoothing.
        Missing values leave out their factor; a block of counts is conditional on its sum."""
        return self._fit.llf

    @cached_property
    @requires()
    def llnull(self) -> float:
        """Joint log-likelihood with one distribution of each feature for all classes."""
        return self._fit.llnull

    # ---------------------------------------------------------------------------------------------- discriminant
    @cached_property
    @requires()
    def discriminant(self) -> NaiveBayesLogit:
        """Implied logit: coefficients of the features' statistics, as x and x^2, or indicators of levels."""
        model, fit = self.model, self._fit
        constant = model.exog_names[0]
        terms = {constant if name == "Intercept" else name: place for name, place in model._design.terms.items()}
        labels = LogitLabels(model.endog_names, model.levels, model.reference, model.exog_names, terms)
        if self._cov.name in COVARIANCE_NOTES:
            closed = ClosedFormCovariance(fit)
            return NaiveBayesLogit(self, labels, fit.coefficients(), self._cov, closed, tested=fit.tested())
        parts = self._parts
        cov = replace(self._cov, matrix=parts.collapsed(self._cov.matrix))
        b, centred = fit.coefficients(), parts.centred.coefficients()
        return NaiveBayesLogit(self, labels, b, cov, None, centred, parts.to_raw, tested=fit.tested())

    @cached_property
    def _parts(self) -> Parts:
        return Parts(self._fit)

    def _check_logit_form(self) -> None:
        if self.model._divisor != "mle":
            raise NotImplementedError('compare_conditional() is for the maximum likelihood fit: divisor="mle"')
        if self._smoothed:
            raise NotImplementedError("compare_conditional() is for the maximum likelihood fit: without smoothing=")
        self._check_priors("compare_conditional()")
        if (self.observed.sum() != self.nobs).any():
            raise ValueError('compare_conditional() needs rows without missing features: fit with missing="drop"')
        if not np.isfinite(self._fit.coefficients()).all():
            raise ValueError("compare_conditional() needs finite log-odds: cells of some class are never seen")

    def _margin_source(self):
        from glmclf.results.margins.predictors import NaiveBayesPredictors

        if self.model._sparse:
            raise NotImplementedError(
                "margins and predictions by variable set columns of a table, which scipy.sparse features have not: fit "
                "to an array, exog.toarray(); discriminant has the log-odds ratio of each column"
            )
        return NaiveBayesPredictors(self)

    def _logit_form(self) -> LogitForm:
        parts = self._parts
        about_mean = parts.centred
        return LogitForm(
            parts.logit_functions, parts.logit_influence, about_mean.coefficients(), ClosedFormCovariance(about_mean)
        )

    @property
    @requires()
    def intercept_parts(self) -> pd.DataFrame:
        """Components of the intercepts of `discriminant` from the priors and each feature, a row each, by equation.

        The intercept of a row with missing features is the sum over the others.
        """
        fit = self._fit
        odds = fit.log_priors[1:] - fit.log_priors[0]
        values = np.vstack([odds, fit.intercept_parts().T])
        columns = pd.Index(self.model._equations, dtype=object)
        return pd.DataFrame(values, index=["(priors)", *self.feature_names], columns=columns)

    def _set_covariance(self, cov_type: str, keywords) -> None:
        self.__dict__.pop("discriminant", None)
        self._cov, self._group_names = _covariance(self.model, self._fit, cov_type, keywords)

    # ------------------------------------------------------------------------------------------------- predicting
    def _values(self, newdata) -> tuple[list[ndarray], pd.Index]:
        if newdata is None:
            return self.model._values, self.model._rows.index
        values = self.model._design.values(newdata, unknown=self.model._options["unknown"])
        n = values[0].shape[0]
        index = newdata.index if isinstance(newdata, pd.DataFrame) else pd.RangeIndex(n)
        index = index if len(index) == n else pd.RangeIndex(n)
        self.model._check_domains(values, index, new=True)
        return values, index

    def _values_of(self, X) -> list[ndarray]:
        return X.values

    def _impossible(self, what: str, values: Sequence[ndarray], rows: ndarray) -> str:
        return f"{what} with probability 0 in every class{impossible_because(self, [v[rows] for v in values])}"

    def _n_missing(self, values: Sequence[ndarray]) -> ndarray:
        return np.sum([is_missing(v) for v in values], axis=0)

    def _log_joint(self, values: Sequence[ndarray]) -> ndarray:
        return self._fit.log_joint(values)

    def _log_odds_covariance(self, values: Sequence[ndarray], priors_free: bool) -> ndarray:
        if self._cov.name in COVARIANCE_NOTES:
            return replace(self._fit, priors_free=priors_free).log_odds_covariance(values)
        return self._parts.log_odds_covariance(self._cov.matrix, values, priors_free)

    # ------------------------------------------------------------------------------------------------------ tests
    @requires(Needs.LIKELIHOOD)
    def term_tests(self) -> pd.DataFrame:
        """Likelihood ratio test of each term: does its distribution depend on the class? G^2 for a table.

        Returns
        -------
        DataFrame
            By term: statistic, df, pvalue. Smoothing is left out.
        """
        return term_ratio_table(*self._fit.likelihood_ratios(), self.model._feature_terms)

    @requires()
    def compare_lr_test(self, restricted: NaiveBayesResults | DiscriminantResults) -> wald.LRTest:
        """Likelihood ratio test of a restricted model of the same features.

        Separate tables a + b in a joint one a:b; one variance for all classes (`pooled`) in one a class; exponential in
        gamma. Fixed priors are nested in estimated ones.

        Parameters
        ----------
        restricted : NaiveBayesResults or DiscriminantResults
            A fit to the same rows, features and weights; of LDA or QDA where all features are normal.

        Returns
        -------
        (statistic, pvalue, df) namedtuple

        Raises
        ------
        ValueError
            Models that are not nested, other data, smoothing, a pseudo-likelihood.
        """
        if self.model._sparse or getattr(restricted.model, "_sparse", False):
            raise NotImplementedError(
                "compare_lr_test() of scipy.sparse features: see term_tests(), or fit to an array, exog.toarray()"
            )
        return lr_test(self, restricted)

    @requires(Needs.LIKELIHOOD)
    def independence_audit(self, most: int | None = 10) -> pd.DataFrame:
        """Audit of independence: the pairs of features that depend most on each other within each class.

        Parameters
        ----------
        most : int, optional
            How many pairs of each class to show; None for all.

        Returns
        -------
        DataFrame
            By (level, feature, other), the most dependent first: statistic, df, pvalue and pvalue_holm (adjusted for
            the pairs of all classes). The statistic is G^2 of the class's table of two categories, -n log(1 - r^2) of
            two numbers (logs of a gamma), and the likelihood ratio of a number's law by the levels of a category: of a
            gaussian feature (logs of a gamma) n log(SST/SSW), an F test's likelihood ratio, which takes the variances
            at all levels as equal; NaN for blocks of counts. llf_conditional_change is what modelling the pair jointly,
            in all classes, adds to `llf_conditional`: a joint table of two categories, a bivariate normal law of two
            gaussian features; else, or where a class has no row with both, NaN.

        References
        ----------
        Friedman, Geiger & Goldszmidt (1997), Bayesian network classifiers, Machine Learning 29, 131-163. Holm (1979),
        Scandinavian Journal of Statistics 6, 65-70.
        """
        return audit(self, most)

    @requires(Needs.LIKELIHOOD)
    def ladder(self) -> pd.DataFrame:
        """Ladder of models of the same gaussian features, from one variance for all to a covariance for each class.

        Returns
        -------
        DataFrame
            As `DiscriminantResults.ladder`.

        Raises
        ------
        NotImplementedError
            Features of other families.
        ValueError
            Missing values.
        """
        return naive_bayes_ladder(self)

    # ------------------------------------------------------------------------------------------------ error rates
    def _blocks(self) -> Blocks:
        """Blocks of values as the fit packs them, classes and weights."""
        return self.model._blocks()

    @property
    def _conditional(self) -> Callable:
        return self._fit.block_conditional

    @cached_property
    def _error_facts(self) -> dict[str, Any]:
        """Confusion tables and sums of log posteriors, in the order of the classes."""
        blocks = self._blocks()
        width = sum(map(_numbers_in_a_row, self._fit.families, blocks.arrays[:-2]))
        blocks = blocks.rechunk(int(np.clip(200_000 // width, 128, 16_384)))
        return error_facts(error_rates(self._fit, blocks, self.model._frequency))

    @requires(Needs.ROWS)
    def leave_one_out(self) -> pd.DataFrame:
        """Posterior probabilities of each row of the fit under the classes estimated from all others.

        Returns
        -------
        DataFrame
            A column a level; NaN for a row that its class cannot do without.
        """
        r, packed = self.model._rows, self._fit.packed(self.model._values)
        width = sum(map(_numbers_in_a_row, self._fit.families, packed))
        joint, step = np.empty((len(r), self._fit.K)), max(64, MAX_NUMBERS_AT_A_TIME // width)
        for start in range(0, len(r), step):
            rows = slice(start, start + step)
            w = None if r.weights is None else r.weights[rows]
            values = [v[rows] for v in packed]
            joint[rows] = log_joint_without(self._fit, values, r.y[rows], w, self.model._frequency)
        return self._by_level(np.exp(log_posterior(joint)), r.index)

    # --------------------------------------------------------------------------------------------------- drawing
    @cached_property
    def _totals(self) -> dict[str, list[list[float]]]:
        """Frequencies by feature of the totals of a block of counts, on which the model is conditional."""
        return totals(self.model)

    def _draw(self, y: ndarray, generator) -> pd.DataFrame:
        totals = {}
        for name, (values, weights) in self._totals.items():
            p = np.array(weights) / np.sum(weights)
            totals[self.feature_names.index(name)] = generator.choice(values, size=len(y), p=p).astype(np.int64)
        drawn = self._fit.sample(generator, y, totals)
        return self._with_response(y, as_columns(self.model.features, drawn))

    # -------------------------------------------------------------------------------------------- presentation
    def _notes(self) -> list[str]:
        notes = super()._notes()
        if self._cov.name in COVARIANCE_NOTES and self._fit.p > 1:
            notes.append(ASSUMED)
        if self._smoothed:
            notes.append(
                f"Tables are smoothed by {self._fit.smoothing:g} a cell: {self.k_params_effective:.6g} effective "
                f"parameters of {self.k_params}, used in AIC and BIC."
            )
        return notes

    def _summary_features(self) -> pd.DataFrame:
        """Table of the features for the summary: family, params, observed, LR, df, pvalue, note.

        LR and pvalue are NaN for a pseudo-likelihood.
        """
        return summary_features(self)

    # ------------------------------------------------------------------------------------------- keeping, moving
    def _as_dict(self) -> dict[str, Any]:
        return {**super()._as_dict(), "statistics": record_as_dict(self._fit)}

    @classmethod
    def _from_dict(cls, model, stored: dict[str, Any]) -> NaiveBayesResults:
        fitted = model._estimate(record_from_dict(model._families, stored["statistics"]))
        cov, groups = Covariance.of(stored["covariance"])
        self = cls(model, fitted, cov, groups)
        self.__dict__.update(saving.facts_from(stored, self._facts))
        return self


def _numbers_in_a_row(family: Any, v: Any) -> int:
    """Numbers that are looked at where a row is left out: of sparse blocks of counts those that are not 0."""
    if is_sparse(v) and not family.by_column:
        return 1 + v.nnz // v.shape[0]
    return 1 if len(v.shape) == 1 else v.shape[1]


def _covariance(model, fitted: NaiveBayesFit, cov_type: str, keywords, n_threads=None) -> tuple[Covariance, list[str]]:
    """Covariance of the parts of the log-odds; empty where closed forms replace it."""
    if cov_type in COVARIANCE_NOTES:
        return Covariance(cov_type, np.zeros((0, 0)), COVARIANCE_NOTES[cov_type]), []
    parts = Parts(fitted)
    size = (fitted.K - 1) * parts.E
    if size > MAX_ROBUST:
        raise NotImplementedError(
            f'cov_type="{cov_type}" of {size} parts of the log-odds would take {8e-9 * size**2:.1f} GB: use fewer '
            'features or levels, or cov_type="nonrobust"'
        )
    context = PartsContext.of(
        parts, model._blocks(n_threads), model._weight_sum or model.nobs, model.nobs, model._frequency
    )
    return in_words(keywords.covariance(cov_type, context)), keywords.names
