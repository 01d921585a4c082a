"""Results of LDA and QDA: means and covariances of the classes, the implied logit, and multivariate tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.core.discriminant import logit
from glmclf.core.discriminant.influence import influence, odds_influence
from glmclf.core.discriminant.quadratic import regressor_slopes, regressors
from glmclf.core.gaussian import fit as gaussian
from glmclf.core.gaussian.dispersion import Dispersion, stored_fields
from glmclf.core.gaussian.fit import Gaussian, fit_gaussian
from glmclf.core.gaussian.moments import ClassMoments, class_ends
from glmclf.core.rows.blocks import Blocks
from glmclf.data.design.arrays import sums_up
from glmclf.errors import DataError, DataWarning, EstimationError, InferenceWarning, warn
from glmclf.inference.covariance.types import Covariance, InfluenceContext
from glmclf.inference.generative import discriminant as diagnostics
from glmclf.inference.generative.canonical import canonical_functions
from glmclf.inference.generative.covariances import box_m
from glmclf.inference.generative.leave_one_out import LeaveOneOut
from glmclf.inference.generative.means import feature_tests, manova, qda_feature_tests, tolerances
from glmclf.inference.generative.normality import mardia
from glmclf.inference.hypotheses import wald
from glmclf.results import saving
from glmclf.results.base import row_property
from glmclf.results.comparison.conditional import LogitForm
from glmclf.results.generative.canonical import CanonicalTables
from glmclf.results.generative.errors import error_facts
from glmclf.results.generative.implied_logit import MAX_ROBUST, ImpliedLogit, LogitLabels, quadratic_names
from glmclf.results.generative.ladder import box_table, covariance_ladder
from glmclf.results.generative.lr_test import lr_test
from glmclf.results.generative.manova import (
    distance_table,
    independent_term_tests,
    manova_table,
    mardia_table,
    removal_table,
)
from glmclf.results.generative.results import GenerativeResults, in_words
from glmclf.results.requires import Needs, requires

if TYPE_CHECKING:
    from glmclf.results.generative.naive_bayes import NaiveBayesResults

COVARIANCE_NOTES = {
    "nonrobust": "Standard errors are from the inverse information (the laws of the classes are assumed to be right).",
    "expected": "Standard errors are from the inverse expected information (the laws are assumed to be right).",
}
MAX_UNASKED_OPERATIONS = 1e10  # operations of leaving one out, about a second, that a summary or a file may take
EXACT = "Slopes are unbiased given the class sizes; standard errors are from their exact covariance."


@dataclass(frozen=True)
class GaussianFit:
    """Fitted Gaussian classes: the distribution in use, with its moments and triangular factors."""

    law: Gaussian
    moments: ClassMoments
    factors: tuple[ndarray, ...] | None


@dataclass(frozen=True)
class PriorParts:
    """Terms that estimated priors add to a robust covariance of the implied logit.

    Attributes
    ----------
    cross : (q, K-1) ndarray
        Covariances of its coefficients, at the centre, with the log prior odds.
    own : (K-1, K-1) ndarray
        Covariance of the log prior odds.
    """

    cross: ndarray
    own: ndarray

    def without(self, V: ndarray) -> ndarray:
        """Covariance (K-1, m, K-1, m) of coefficients whose intercepts exclude the log prior odds."""
        V, cross = V.copy(), self.cross.reshape(*V.shape[:2], -1)
        V[:, :, :, 0] -= cross
        V[:, 0] -= cross.transpose(2, 0, 1)
        V[:, 0, :, 0] += self.own
        return V


class DiscriminantResults(GenerativeResults):
    """Results of LDA and QDA."""

    _joint_law: ClassVar[str] = "normal"
    _facts: ClassVar[tuple[str, ...]] = (*GenerativeResults._facts, "_error_facts")

    def __init__(
        self, model, fitted: GaussianFit, cov: Covariance, group_names: list[str], reduced=None, prior_parts=None
    ):
        self.model, self._prior_parts = model, prior_parts
        self._fitted_classes, self._cov, self._group_names = fitted, cov, group_names
        self._reduced = reduced  # coefficients and covariance at the centre with bias_reduction="exact"

    @classmethod
    def _fitted(cls, model, fitted: GaussianFit, cov_type, keywords, bias_reduction, blocks) -> DiscriminantResults:
        if bias_reduction is not None:
            try:
                b, V = logit.exact_bias_reduction(fitted.moments, fitted.law.shifted())
            except ValueError as error:
                raise EstimationError(str(error)) from None
            return cls(model, fitted, Covariance(cov_type, V, EXACT), [], b)
        cov, names, parts = cls._covariance(model, fitted, cov_type, keywords, blocks)
        self = cls(model, fitted, cov, names, None, parts)
        self._keywords = keywords
        return self

    @staticmethod
    def _covariance(
        model, fitted: GaussianFit, cov_type: str, keywords, blocks
    ) -> tuple[Covariance, list[str], PriorParts | None]:
        if cov_type in COVARIANCE_NOTES:
            return Covariance(cov_type, np.zeros((0, 0)), COVARIANCE_NOTES[cov_type]), [], None
        return _robust(model, fitted, cov_type, keywords, blocks)

    # ----------------------------------------------------------------------------------------------- the classes
    @property
    def _law(self) -> Gaussian:
        """Gaussian classes that give the posterior probabilities."""
        law = self._fitted_classes.law
        if self._reduced is None:
            return law
        # slopes (v - p - 1) W^-1 (m_k - m_0) are those of the covariance W / (v - p - 1)
        d, moments = law.dispersions[0], self._fitted_classes.moments
        v = float(moments.n) - moments.K
        divided = moments.n if law.divisor == "mle" else v
        root = d.root * np.sqrt(divided / (v - moments.p - 1))
        return replace(law, dispersions=(Dispersion(d.kind, root, d.n),))

    @cached_property
    def _mle(self) -> Gaussian:
        """Maximum likelihood estimate of the Gaussian classes, used by llf and likelihood ratio tests."""
        f = self._fitted_classes
        if f.law.maximum:
            return f.law
        return fit_gaussian(f.moments, f.law.kind, f.law.pooled, factors=f.factors, **self._prior_options)

    @property
    def _prior_options(self) -> dict[str, Any]:
        return {**self.model._prior_options, "rows": np.array(self.model._row_counts)}

    @property
    def _for_likelihood(self) -> Gaussian:
        return self._fitted_classes.law if self._regularised else self._mle

    @property
    def _regularised(self) -> bool:
        return self._fitted_classes.law.regularised

    @property
    def _has_bic(self) -> bool:
        return not self._regularised

    @property
    def _maximum(self) -> bool:
        return not self._regularised

    @property
    def _log_priors(self) -> ndarray:
        return self._fitted_classes.law.log_priors

    @property
    def _prior_counts(self) -> ndarray:
        return self._fitted_classes.law.prior_counts

    @property
    @requires()
    def counts(self) -> pd.Series:
        """Rows of each level, or sums of weights."""
        return self._by_class(self._fitted_classes.moments.counts)

    @property
    @requires()
    def means(self) -> pd.DataFrame:
        """Class means of the features, a row a level."""
        return self._means_table(self._fitted_classes.law.means)

    @property
    @requires()
    def means_bse(self) -> pd.DataFrame:
        """Standard errors of the means, sqrt(Sigma_jj / n_k); NaN under sampling weights."""
        law = self._fitted_classes.law
        if self.model._pseudo:
            return self._means_table(np.full(law.means.shape, np.nan))
        se = [np.sqrt(law.dispersion(k).variances / n) for k, n in enumerate(law.counts)]
        return self._means_table(np.array(se))

    def _means_table(self, values: ndarray) -> pd.DataFrame:
        index = pd.Index(self.levels, dtype=object)
        return pd.DataFrame(values[self.model._order], index=index, columns=self.feature_names)

    @property
    @requires()
    def covariances(self) -> pd.DataFrame | dict[Any, pd.DataFrame]:
        """Covariance matrix of the features within classes: one (LDA), or a dict by level (QDA)."""
        law, names = self._fitted_classes.law, self.feature_names
        matrices = [pd.DataFrame(d.matrix, index=names, columns=names) for d in law.dispersions]
        if law.pooled:
            return matrices[0]
        return {level: matrices[k] for level, k in zip(self.levels, self.model._order, strict=True)}

    @property
    @requires()
    def shrinkage(self) -> float | pd.Series:
        """Intensity lambda of the shrinkage in use: one (LDA), or one a level (QDA); 0 for none."""
        law = self._fitted_classes.law
        used = law.shrinkage or (0.0,) * len(law.dispersions)
        return used[0] if law.pooled else self._by_class(np.array(used))

    # ------------------------------------------------------------------------------------------------ parameters
    @cached_property
    def _theta(self) -> ndarray:  # type: ignore[override]
        return gaussian.parameters(self._fitted_classes.law)

    @property
    def _model_based_se(self) -> ndarray:
        return gaussian.standard_errors(self._fitted_classes.law)

    @cached_property
    def _V(self) -> ndarray:
        return self._block(np.arange(len(self._theta)))

    def _block(self, at: ndarray) -> ndarray:
        return gaussian.parameter_covariance(self._fitted_classes.law, at)

    @property
    def _scales(self) -> tuple[ndarray, ndarray]:
        names = self._element_names()
        positive = np.zeros(len(self._theta), dtype=bool)
        positive[len(positive) - len(names) :] = [is_variance for _, is_variance in names]
        return positive, np.zeros(len(positive), dtype=bool)

    def _element_names(self) -> list[tuple[str, bool]]:
        """Names of the covariance elements, and whether each is a variance."""
        law, f = self._fitted_classes.law, self.feature_names
        pairs = {
            "full": [(a, b) for i, a in enumerate(f) for b in f[i:]],
            "diag": [(a, a) for a in f],
            "spherical": [("", "")],
        }[law.kind]
        out = []
        for k in [None] if law.pooled else self.model._classes:
            for a, b in pairs:
                inside = ", ".join(str(part) for part in (k, a, b) if part is not None and part != "")
                what = "var" if law.kind == "spherical" else "cov"
                out.append((f"{what}[{inside}]" if inside else what, a == b))
        return out

    @property
    def _param_names(self) -> list[str]:
        classes = self.model._classes
        odds = [f"log_prior_odds[{k}]" for k in classes[1:]] if self._priors_free else []
        means = [f"mean[{k}, {x}]" for k in classes for x in self.feature_names]
        return [*odds, *means, *(name for name, _ in self._element_names())]

    @property
    @requires()
    def k_params(self) -> float:
        """Number of parameters: prior odds if estimated, means, covariances; the effective number under shrinkage."""
        return gaussian.n_parameters(self._for_likelihood)

    @property
    def _k_null(self) -> float:
        return gaussian.n_null_parameters(self._for_likelihood)

    @cached_property
    @requires()
    def llf(self) -> float:
        """Joint log-likelihood sum f log(pi_y phi(x; mu_y, Sigma_y)).

        Its maximum, also with the unbiased divisor; of a regularised fit the value at its estimate."""
        return gaussian.loglikelihood(self._fitted_classes.moments, self._for_likelihood)

    @cached_property
    @requires()
    def llnull(self) -> float:
        """Joint log-likelihood with one mean and covariance, of the same structure, for all classes; NaN where it has
        no maximum, with fewer rows than features."""
        f = self._fitted_classes
        value = gaussian.null_loglikelihood(f.moments, self._for_likelihood, f.factors)
        return value if np.isfinite(value) else np.nan

    # ---------------------------------------------------------------------------------------------- discriminant
    @cached_property
    @requires()
    def discriminant(self) -> ImpliedLogit:
        """The implied logit: slopes Sigma^-1 (mu_k - mu_0) of LDA; of QDA also squares and products of the features."""
        law = self._law
        labels = self._logit_labels()
        if self._reduced is not None:
            return ImpliedLogit(
                self, labels, logit.to_raw(law, self._reduced), self._cov, None, self._reduced, self._to_raw
            )
        b = logit.coefficients(law)
        if self._cov.name in COVARIANCE_NOTES:
            return ImpliedLogit(self, labels, b, self._cov, logit.DiscriminantCovariance(law))
        return ImpliedLogit(self, labels, b, self._cov, None, logit.coefficients(law.shifted()), self._to_raw)

    def _to_raw(self, rows: ndarray) -> ndarray:
        return logit.to_raw(self._law, rows)

    def _logit_labels(self) -> LogitLabels:
        model, law = self.model, self._law
        linear = {name: [j + 1 for j in at] for name, at in model._feature_terms.items()}
        names, terms = model.exog_names, {model.exog_names[0]: [0], **linear}
        if not law.pooled:
            names, terms = quadratic_names(names, model._feature_terms, law.kind)
        return LogitLabels(model.endog_names, model.levels, model.reference, names, terms)

    def _check_logit_form(self) -> None:
        if self._law.divisor != "mle" or self._reduced is not None:
            raise NotImplementedError('compare_conditional() is for the maximum likelihood fit: divisor="mle"')
        self._check_priors("compare_conditional()")

    def _function_slopes(self, X: ndarray, d: ndarray) -> tuple[ndarray, ndarray]:
        """Columns of the regressors of the implied logit that change where features X change by d; derivatives."""
        law = self._law
        return regressor_slopes(law, X - law.centre, d)

    def _margin_source(self):
        from glmclf.results.margins.predictors import DiscriminantPredictors

        return DiscriminantPredictors(self)

    def _logit_form(self) -> LogitForm:
        law, f = self._law, self._fitted_classes
        return LogitForm(
            lambda X: regressors(law, X - law.centre),
            lambda X, y: influence(law, X, y, f.moments),
            logit.coefficients(law.shifted()),
            logit.DiscriminantCovariance(law.shifted()),
        )

    # ------------------------------------------------------------------------------------------------- predicting
    def _values(self, newdata) -> tuple[ndarray, pd.Index]:
        if newdata is None:
            return self.model.exog, self.model._rows.index
        X = self.model._features(newdata)
        index = newdata.index if isinstance(newdata, pd.DataFrame) else pd.RangeIndex(len(X))
        index = index if len(index) == len(X) else pd.RangeIndex(len(X))
        self._check_finite(X, index)
        return X, index

    def _impossible(self, what: str, values: ndarray, rows: ndarray) -> str:
        far = "so far from all classes that every density is 0 as a float"
        return f"{what} {far}: the posterior is NaN. Check the units"

    def _values_of(self, X) -> ndarray:
        return X.toarray()

    def _repeated(self, model) -> Any:
        return model.fit(bias_reduction=None if self._reduced is None else "exact", n_threads=1)

    def _check_finite(self, X: ndarray, index: pd.Index) -> None:
        if sums_up(X):
            return
        infinite = np.isinf(X)
        if infinite.any():
            names = ", ".join(f'"{self.feature_names[j]}"' for j in np.flatnonzero(infinite.any(axis=0)))
            rows = np.flatnonzero(infinite.any(axis=1))
            where = ", ".join(map(str, index[rows[:5]])) + (", ..." if len(rows) > 5 else "")
            raise DataError(
                f"{names} of the new data is infinite in {len(rows)} of {len(X)} rows ({where}). Correct it, or make "
                "it NaN: such a row is judged by its other features"
            )

    def _n_missing(self, values: ndarray) -> ndarray:
        return np.isnan(values).sum(axis=1)

    def _blocks(self) -> Blocks:
        return self.model._blocks()

    @property
    def _conditional(self) -> Callable:
        return partial(gaussian.block_conditional, gaussian=self._law)

    def _log_joint(self, values: ndarray) -> ndarray:
        return self._by_features_seen(values, Gaussian.log_joint)

    def _posterior(self, values: ndarray) -> ndarray:
        return self._by_features_seen(values, Gaussian.posterior)

    def _log_scores(self, values: ndarray) -> ndarray:
        """Log posteriors; with a pooled covariance linear in x, so that nothing common to all classes cancels."""
        scores = self._by_features_seen(values, Gaussian.log_posterior)
        scores[np.isnan(scores[:, 0])] = -np.inf  # every density underflowed
        return scores

    def _by_features_seen(self, values: ndarray, f: Callable[[Gaussian, ndarray], ndarray]) -> ndarray:
        """Apply f to the observed features of each row and their marginal distribution, (n, K)."""
        law = self._law
        with np.errstate(over="ignore", invalid="ignore"):
            out = f(law, values)
            # a missing value makes its row NaN: a check of (n, K) numbers in place of (n, p)
            if sums_up(out) or not np.isnan(values).any():
                return out
            return self._by_pattern(
                ~np.isnan(values),
                lambda seen, rows: f(law.marginal(seen), values[np.ix_(rows, np.flatnonzero(seen))]),
                (law.K,),
            )

    def _log_odds_covariance(self, values: ndarray, priors_free: bool) -> ndarray:
        K = len(self.levels)

        def of(seen: ndarray, rows: ndarray) -> ndarray:
            X = values[np.ix_(rows, np.flatnonzero(seen))]
            if self._cov.name in COVARIANCE_NOTES and self._reduced is None:
                return logit.log_odds_covariance(self._law.marginal(seen), X, priors_free)
            return self._quadratic_form(seen, X, priors_free)

        return self._by_pattern(~np.isnan(values), of, (K - 1, K - 1))

    def _quadratic_form(self, seen: ndarray, X: ndarray, priors_free: bool) -> ndarray:
        """Quadratic form z'V z, with z the regressors of the implied logit at the centre."""
        law = self._law.marginal(seen)
        V, parts = (self._cov.matrix, self._prior_parts) if seen.all() else self._partial_covariance(seen)
        Z = regressors(law, X - law.centre)
        m, K = Z.shape[1], law.K
        V = V.reshape(K - 1, m, K - 1, m)
        if self._priors_free and not priors_free:
            if parts is None:  # with the exact covariance
                own = 1 / law.prior_counts[0] + np.diag(1 / law.prior_counts[1:])
                cross = np.zeros((K - 1, m, K - 1))
                cross[:, 0] = own
                parts = PriorParts(cross, own)
            V = parts.without(V)
        out = np.empty((len(X), K - 1, K - 1))
        for start in range(0, len(X), 4096):
            z = Z[start : start + 4096]
            out[start : start + 4096] = np.einsum("ni,aibj,nj->nab", z, V, z, optimize=True)
        return out

    def _partial_covariance(self, seen: ndarray) -> tuple[ndarray, PriorParts | None]:
        """Robust covariance of the implied logit of some features only, from the rows of the fit."""
        if self._reduced is not None:
            raise NotImplementedError('bias_reduction="exact" has no covariance for rows with missing features')
        model = self.model
        names = [n for n, s in zip(self.feature_names, seen, strict=True) if not s]
        if model._rows_ is None:
            raise EstimationError(
                f"a {self.cov_type} interval for rows without {', '.join(names)} needs the rows of the fit, which were "
                'removed or not saved: use with_cov("nonrobust")'
            )
        if self._keywords is None:
            raise NotImplementedError(f"{self.cov_type} intervals for rows with missing features: fit again")
        cov, _, parts = _robust(model, self._fitted_classes, self.cov_type, self._keywords, model._blocks(), seen)
        return cov.matrix, parts

    @row_property
    def _keywords(self) -> Any:
        """Keywords of the covariance for the rows of the fit."""
        return None

    def _set_covariance(self, cov_type: str, keywords) -> None:
        self.__dict__.pop("discriminant", None)
        if self._reduced is not None:
            raise NotImplementedError('bias_reduction="exact" has its own exact covariance: fit without it')
        blocks = None if cov_type in COVARIANCE_NOTES else self.model._blocks()
        found = self._covariance(self.model, self._fitted_classes, cov_type, keywords, blocks)
        self._cov, self._group_names, self._prior_parts = found
        self._keywords = keywords

    # ------------------------------------------------------------------------------------------------------ tests
    @cached_property
    def _within_root(self) -> ndarray | None:
        """Triangular factor of the pooled within scatter, where it came from the residuals."""
        f = self._fitted_classes
        if f.factors is None:
            return None
        return f.factors[0] if len(f.factors) == 1 else gaussian.stacked_root(*f.factors)

    @property
    def _class_roots(self):
        f = self._fitted_classes
        return f.factors if f.factors is not None and len(f.factors) == f.moments.K else None

    @requires(Needs.LIKELIHOOD)
    def manova(self) -> pd.DataFrame:
        """Tests that all class means are equal, with one covariance: Wilks, Pillai, Hotelling-Lawley and Roy.

        Returns
        -------
        DataFrame
            statistic, F, df1, df2, pvalue. Roy's F is an upper bound. Bartlett's test is in ``attrs["bartlett"]``.

        References
        ----------
        Rencher (2002), Methods of Multivariate Analysis, chapter 6. Rao (1951), Bulletin of the ISI 33.
        """
        return manova_table(manova(self._fitted_classes.moments, self._within_root))

    @requires(Needs.LIKELIHOOD)
    def boxm_test(self) -> pd.Series:
        """Box's M test that the classes have one covariance matrix.

        Returns
        -------
        Series
            M, chi2, df, chi2_pvalue, F, df2, pvalue (of F).

        References
        ----------
        Box (1949), Biometrika 36, 317-346. Rencher (2002), section 7.3.
        """
        return box_table(box_m(self._fitted_classes.moments, self._within_root, self._class_roots))

    @requires()
    def compare_lr_test(self, restricted: DiscriminantResults | NaiveBayesResults) -> wald.LRTest:
        """Likelihood ratio test of a restricted model of the same features: LDA in QDA, "diag" in "full".

        Fixed priors are nested in estimated ones.

        Parameters
        ----------
        restricted : DiscriminantResults or NaiveBayesResults
            A fit to the same rows, features and weights; of NaiveBayes with normal features alone.

        Returns
        -------
        (statistic, pvalue, df) namedtuple
        """
        return lr_test(self, restricted)

    @requires(Needs.LIKELIHOOD)
    def f_to_remove(self) -> pd.DataFrame:
        """F-to-remove of each term: its contribution to the discrimination by the others, under one covariance matrix.

        Returns
        -------
        DataFrame
            By term: partial_lambda (Wilks), F, df1, df2, pvalue, exact for one feature; LR, LR_df, LR_pvalue; and
            tolerance, 1 - R^2 within classes, of single features.

        References
        ----------
        Rao (1951); Rencher (2002), section 6.11.
        """
        moments, terms = self._fitted_classes.moments, self.model._feature_terms
        tests = feature_tests(moments, list(terms.values()), self._within_root)
        return removal_table(terms, tests, tolerances(moments, self._within_root))

    @requires(Needs.LIKELIHOOD)
    def term_tests(self) -> pd.DataFrame:
        """Likelihood ratio test of each term: given the others, does its distribution depend on the class?

        Returns
        -------
        DataFrame
            By term: statistic, df, pvalue. LDA: -N log(partial lambda); QDA: means, covariances and regressions on the
            other features are all compared.
        """
        moments, terms, law = self._fitted_classes.moments, self.model._feature_terms, self._law
        if law.kind != "full":
            return independent_term_tests(moments, law, terms)
        sets = list(terms.values())
        if law.pooled:
            tests = [t.lr for t in feature_tests(moments, sets, self._within_root)]
        else:
            tests = qda_feature_tests(moments, sets, self._within_root, self._class_roots)
        rows = [(t.statistic, t.df, t.pvalue) for t in tests]
        return pd.DataFrame(rows, index=pd.Index(terms, dtype=object), columns=["statistic", "df", "pvalue"])

    @cached_property
    @requires(Needs.LIKELIHOOD)
    def canonical(self) -> CanonicalTables:
        """Canonical discriminant functions: eigenvalues, correlations, coefficients, centroids, tests, `scores()`."""
        found = canonical_functions(self._fitted_classes.moments, self._within_root)
        return CanonicalTables(found, self)

    @requires(Needs.LIKELIHOOD)
    def distances(self) -> pd.DataFrame:
        """Mahalanobis distances between class means, squared, divisor N - K, with their tests.

        Returns
        -------
        DataFrame
            By (level, other): D2, F, df1, df2, pvalue, and D2_unbiased.

        References
        ----------
        Mardia, Kent & Bibby (1979), Multivariate Analysis, section 3.6.
        """
        found = diagnostics.mahalanobis(self._fitted_classes.moments, self._within_root)
        return distance_table(found, self.levels, self.model._order)

    @requires(Needs.LIKELIHOOD)
    def mardia_test(self) -> pd.DataFrame:
        """Mardia's tests that the features are normal within classes: skewness and kurtosis.

        Returns
        -------
        DataFrame
            Rows skewness, skewness (small sample) and kurtosis: coefficient, statistic, df, pvalue. QDA adds the tests
            of its classes, each with its own covariance matrix.

        References
        ----------
        Mardia (1970), Biometrika 57, 519-530.
        """
        f = self._fitted_classes
        roots = None if f.factors is None else f.factors
        found = mardia(f.moments, self.model._blocks(), pooled=f.law.pooled, roots=roots)
        return mardia_table(found)

    @requires(Needs.LIKELIHOOD)
    def typicality(self, newdata=None) -> pd.DataFrame:
        """Probability of a row farther from each class's mean than this one, if it is of that class; exact.

        Parameters
        ----------
        newdata : DataFrame, array_like, optional
            New rows; by default those of the fit, each against the classes estimated without it.

        Returns
        -------
        DataFrame
            A column a level; small in every column: a row unlike all classes. NaN for a row of the fit that its class
            cannot do without.

        References
        ----------
        McLachlan (1992), section 6.4.
        """
        values, index = self._values(newdata)
        y = self.model._rows.y if newdata is None else None
        f = self._fitted_classes
        return self._by_level(diagnostics.typicality(f.law, values, y), index)

    # ------------------------------------------------------------------------------------------------ error rates
    @cached_property
    def _error_facts(self) -> dict[str, Any]:
        """Confusion tables and sums of log posteriors, in the order of the classes."""
        return self._counted_errors(self._reduced is None and not self._costly_leave_one_out)

    @property
    def _costly_leave_one_out(self) -> bool:
        """Whether leaving one out takes more than some seconds, in which a row needs a factor of its own."""
        law = self._law
        loo = LeaveOneOut(law, self.model._frequency, self._fitted_classes.moments)
        return loo.by_row and len(self.model._rows) * law.p**3 / 3 > MAX_UNASKED_OPERATIONS

    def _complete_error_facts(self) -> dict[str, Any]:
        facts = self._error_facts
        if facts["leave-one-out"] is None and self._reduced is None and self.model._rows_ is not None:
            facts = self.__dict__["_error_facts"] = self._counted_errors(True)
        return facts

    def _counted_errors(self, leave_one_out: bool) -> dict[str, Any]:
        found = diagnostics.error_rates(
            self._law,
            self.model._blocks(),
            moments=self._fitted_classes.moments,
            frequency=self.model._frequency,
            leave_one_out=leave_one_out,
        )
        return error_facts(found)

    @requires(Needs.ROWS)
    def leave_one_out(self) -> pd.DataFrame:
        """Posterior probabilities of each row of the fit under the classes estimated from all others.

        Returns
        -------
        DataFrame
            A column a level; NaN for a row that its class cannot do without.
        """
        if self._reduced is not None:
            raise NotImplementedError('leave_one_out() of a fit with bias_reduction="exact" is not available')
        r = self.model._rows
        loo = LeaveOneOut(self._law, self.model._frequency, self._fitted_classes.moments)
        values = np.exp(loo.log_posterior(self._values(None)[0], r.y, r.weights))
        return self._by_level(values, r.index)

    @requires(Needs.LIKELIHOOD)
    def ladder(self) -> pd.DataFrame:
        """Ladder of models of the same features, from one variance for all to a covariance matrix for each class.

        Returns
        -------
        DataFrame
            Rows spherical, diagonal (naive Bayes with one variance), full (LDA), and those by class (naive Bayes, QDA):
            llf, k_params, aic, bic; LR, df and pvalue against the law above that it contains; llf_conditional and the
            leave-one-out error. Box's M is in ``attrs["box_m"]``. A law that the data do not have is NaN.
        """
        return covariance_ladder(
            self._fitted_classes.moments, self.model._blocks(), self._prior_options, self.boxm_test
        )

    # --------------------------------------------------------------------------------------------------- drawing
    def _draw(self, y: ndarray, generator) -> pd.DataFrame:
        law, names = self._law, self.feature_names
        Z = generator.standard_normal((len(y), law.p))
        X = np.empty_like(Z)
        for k in range(law.K):
            d, rows = law.dispersion(k), y == k
            X[rows] = law.means[k] + (Z[rows] @ np.ascontiguousarray(d.root) if d.kind == "full" else Z[rows] * d.root)
        warn_dummies(self.model._dummies)
        return self._with_response(y, {name: X[:, j] for j, name in enumerate(names)})

    # ------------------------------------------------------------------------------------------- keeping, moving
    def _as_dict(self) -> dict[str, Any]:
        f = self._fitted_classes
        moments = f.moments if f.law.kind == "full" else f.moments.storable
        law = {name: getattr(f.law, name) for name in Gaussian.__dataclass_fields__ if name != "dispersions"}
        law["dispersions"] = [{"kind": d.kind, "root": d.root, "n": d.n} for d in f.law.dispersions]
        return {
            **super()._as_dict(),
            "law": law,
            "moments": {name: a for name, a in stored_fields(moments).items() if a is not None},
            "factors": f.factors,
            "reduced": self._reduced,
            "prior_parts": None if self._prior_parts is None else vars(self._prior_parts),
        }

    @classmethod
    def _from_dict(cls, model, stored: dict[str, Any]) -> DiscriminantResults:
        law = dict(stored["law"])
        arrays = ("counts", "log_priors", "prior_counts", "means", "centre")
        law |= {name: np.array(law[name], dtype=float) for name in arrays}
        law["means"] = law["means"].reshape(len(law["counts"]), -1)
        if np.ndim(law.get("rest", 0.0)):  # older files lack it
            law["rest"] = np.array(law["rest"], dtype=float).reshape(law["means"].shape)
        law["dispersions"] = tuple(Dispersion(d["kind"], np.array(d["root"]), d["n"]) for d in law["dispersions"])
        law["shrinkage"] = tuple(law["shrinkage"])
        moments = ClassMoments(**{name: np.array(a, dtype=float) for name, a in stored["moments"].items()})
        factors = None if stored["factors"] is None else tuple(np.array(a) for a in stored["factors"])
        cov, groups = Covariance.of(stored["covariance"])
        reduced = None if stored["reduced"] is None else np.array(stored["reduced"])
        parts = stored["prior_parts"]
        parts = None if parts is None else PriorParts(np.array(parts["cross"]), np.array(parts["own"]))
        self = cls(model, GaussianFit(Gaussian(**law), moments, factors), cov, groups, reduced, parts)
        self.__dict__.update(saving.facts_from(stored, self._facts))
        return self


def _robust(
    model, fitted: GaussianFit, cov_type: str, keywords, blocks, seen: ndarray | None = None
) -> tuple[Covariance, list[str], PriorParts | None]:
    """Robust covariance of the implied logit at the centre, of all features or of those `seen`."""
    law, moments = fitted.law, fitted.moments
    shown = law if seen is None else law.marginal(seen)
    size = (law.K - 1) * logit.size(shown)
    if size > MAX_ROBUST:
        raise NotImplementedError(
            f'cov_type="{cov_type}" of {size} coefficients would take {8e-9 * size**2:.1f} GB: use covariance="diag", '
            'fewer features, or cov_type="nonrobust"'
        )

    def psi(X, y, w, *_):
        coefficients = influence(law, X.toarray(), y, moments, seen)
        return np.hstack([coefficients, odds_influence(law, y)]) if law.priors_free else coefficients

    counted = (law.K - 1) * logit.size(law)  # small-sample factors count the parameters of the fit
    context = InfluenceContext(
        psi, blocks, model._weight_sum or model.nobs, counted,
        lambda: logit.DiscriminantCovariance(law.shifted()).full(), model.nobs, model._frequency,
    )  # fmt: skip
    found = in_words(keywords.covariance(cov_type, context))
    _warn_one_cluster(model, keywords.codes)
    V, parts = found.matrix, None
    if law.priors_free:
        parts = PriorParts(V[:size, size:].copy(), V[size:, size:].copy())
        found = replace(found, matrix=V[:size, :size].copy())
    return found, keywords.names, parts


def _warn_one_cluster(model, codes: list[ndarray]) -> None:
    """Warn if all rows of a class are in one cluster, whose residuals add up to 0 and give no variance."""
    K = model.J
    ends = (model._blocks().with_codes(c).sum(lambda X, y, w, c: class_ends(c[:, None], y, w, K)) for c in codes)
    alone = {int(k) for found in ends for k in np.flatnonzero((found.low == found.high).all(axis=1))}
    if alone:
        names = ", ".join(repr(model._classes[k]) for k in sorted(alone))
        warn(
            f"all rows of class {names} are in one cluster: clustered standard errors leave out the uncertainty of its "
            "mean and covariance",
            InferenceWarning,
        )


def warn_dummies(dummies: list[str]) -> None:
    """Warn that normal features draw other values than zeros and ones for dummy columns."""
    if dummies:
        warn(
            f"dummy columns are modelled as Gaussian: {', '.join(dummies)} of sample() hold other values than 0 and 1",
            DataWarning,
        )
