"""Generative models: a distribution of the response and of the features given each class, p(y) p(x | y)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy import ndarray

from glmclf import registry
from glmclf.checks import check_choice, is_number
from glmclf.core.gaussian.moments import class_sizes
from glmclf.core.rows.asked import named
from glmclf.data.design.arrays import is_sparse
from glmclf.data.response.priors import read_priors
from glmclf.data.response.response import MultinomialResponse
from glmclf.data.table.rows import ReadTable
from glmclf.errors import DataError, DataWarning, warn
from glmclf.inference.covariance.wording import documents_covariances, names
from glmclf.models.fit_options import check_threads, keeps_options
from glmclf.models.inputs import Inputs
from glmclf.models.levelled import LevelledModel
from glmclf.models.progress import shown
from glmclf.results.generative.results import GenerativeResults

if TYPE_CHECKING:
    from glmclf.data.reading.read import ReadParts

MIN_WEIGHT = 1e-100  # sampling weight, so that its square is a normal float
MAX_SMOOTHING = 1e100

Fitted = TypeVar("Fitted", bound=GenerativeResults)


class GenerativeModel(LevelledModel, Inputs, Generic[Fitted]):
    """Base class of LDA, QDA and NaiveBayes: classes, priors, options and `fit`."""

    _kept: ClassVar[tuple[str, ...]] = (*Inputs._kept, "_options")
    _no_covariances = tuple(names(lambda entry: entry.of_regressions))
    _options: dict[str, Any]
    _takes_sparse: ClassVar[bool] = False

    @classmethod
    def _coder(cls, coding: dict[str, Any]):
        return functools.partial(_labels, cls.__name__, coding["reference"])

    def _from_arrays(self, endog, exog, missing, keywords: dict[str, Any]) -> None:
        if is_sparse(exog) and not self._takes_sparse:
            raise NotImplementedError(
                f"{type(self).__name__} takes no scipy.sparse exog, as {registry.listed(registry.REGRESSIONS)} do: "
                "pass an array, exog.toarray()"
            )
        super()._from_arrays(endog, exog, missing, keywords)

    def _split(self, keywords):
        if keywords.get("offset") is not None:
            name = type(self).__name__
            raise NotImplementedError(
                f"offset= is for {registry.listed(registry.REGRESSIONS)}: {name} has no linear predictor"
            )
        return super()._split(keywords)

    def _start_with(self, read: ReadTable | ReadParts, keywords: dict[str, Any]) -> None:
        super()._start_with(read, keywords)
        self._settle(keywords, [self._lost(label) for label in read.labels if label not in self.levels])

    def _settle(self, keywords: dict[str, Any], lost: list[str]) -> None:
        """Check the options; `lost` are notes on levels without rows."""
        coding, _ = self._split(keywords)
        self._options = self._checked({name: value for name, value in coding.items() if name != "reference"})
        self._notes += lost
        for note in self._lost_levels:
            warn(note, DataWarning)
        self._check_sampling_weights()

    def _lost(self, label: Any) -> str:
        return f'level "{label}" of {self.endog_names}: no rows, left out (all miss a value or have weight 0)'

    @property
    def _lost_levels(self) -> list[str]:
        """Notes on levels without rows."""
        return [note for note in self._notes if "no rows, left out" in note]

    def _check_sampling_weights(self) -> None:
        """Refuse sampling weights whose squares a float cannot hold."""
        largest = 1.0 if self._frequency else self._rows.heaviest
        if not MIN_WEIGHT <= largest <= 1 / MIN_WEIGHT:
            raise DataError(
                f"weights= are {largest:.3g} at most: numbers of that size cannot be squared and summed. Divide them "
                "by their mean; only their ratios matter"
            )

    def _checked(self, options: dict[str, Any]) -> dict[str, Any]:
        """Check the options of the model and return them in the form in which they are stored."""
        checked = dict(options)
        checked["priors"] = self._prior_array(options["priors"], observed=self._class_sizes > 0)
        if checked["priors"] is not None:
            checked["priors"] = checked["priors"].tolist()
        smoothing = _number(options["prior_smoothing"], "prior_smoothing", 0.0, MAX_SMOOTHING)
        if smoothing and checked["priors"] is not None:
            raise ValueError("prior_smoothing= smooths estimated priors; these are fixed by priors=")
        checked["prior_smoothing"] = smoothing
        return checked

    @property
    def _prior_options(self) -> dict[str, Any]:
        """Options of the priors in the form in which fits take them."""
        priors = self._options["priors"]
        return {
            "priors": None if priors is None else np.array(priors),
            "prior_smoothing": self._options["prior_smoothing"],
        }

    def _prior_array(self, priors, observed: ndarray | None = None) -> ndarray | None:
        """Probabilities of the classes, the reference first, from the priors that a user gives by level."""
        if priors is None:
            return None
        lost = "".join(f" ({note})" for note in self._lost_levels)
        by_level = read_priors(priors, self.levels, self.endog_names, lost=lost)
        p = by_level[[self.levels.index(c) for c in self._classes]]
        if observed is not None and (observed & (p == 0)).any():
            zero = [self._classes[k] for k in np.flatnonzero(observed & (p == 0))]
            raise ValueError(
                f"priors= is 0 for {zero} of {self.endog_names}, which has rows: leave these rows out with subset="
            )
        return p

    @property
    def k_constant(self) -> int:
        """Number of constants: 1, as the implied logit has an intercept."""
        return 1

    @property
    def _summed(self) -> Callable:
        return functools.partial(_rows_and_weights, self.J)

    @property
    def _class_sizes(self) -> ndarray:
        """Rows of each class, or sums of frequency weights, the reference first."""
        return self._sums[1 if self._frequency else 0]

    @property
    def _row_counts(self) -> ndarray:
        """Rows of each class, whatever their sampling weights."""
        return self._class_sizes

    # --------------------------------------------------------------------------------------------------- fit
    @documents_covariances
    @keeps_options
    @named
    def fit(
        self,
        cov_type: str | None = None,
        cov_kwds: Mapping[str, Any] | None = None,
        bias_reduction: str | None = None,
        n_threads: int | None = None,
        progress: bool = False,
        collinear: str = "raise",
    ) -> Fitted:
        """Closed-form maximum likelihood estimate (of a gamma's shape, by Newton's method).

        Parameters
        ----------
        cov_type : {{generative_types}}, optional
            Covariance of the implied logit: "nonrobust", the inverse information (both informations agree), or robust
            to features of other laws than the model's or, of NaiveBayes, that depend on each other within classes.
            "HC0" under sampling weights.
        cov_kwds : dict, optional
            `groups` for "cluster": one or several variables, by column name or value; `maxlags` for "HAC".
        bias_reduction : {"exact"}, optional
            LDA with a full covariance: slopes that are unbiased given the class sizes, with their exact covariance.
        n_threads : int, optional
            Threads for large data; by default one a processor. The numbers do not depend on it.
        progress : bool
            Whether to show, on stderr, the parts of a stream that are done: as a bar where tqdm is installed.
        collinear : {{"raise", "drop"}}
            LDA and QDA: what to do where a covariance matrix has no inverse as features are constant in all rows, or
            equal a combination of others and a constant in all rows: raise; or leave them out, with a warning that
            names each and what it equals. The fit is then that of the other features. Features that are constant, or
            such combinations, within classes only are an error in either case.

        Returns
        -------
        DiscriminantResults or NaiveBayesResults
            A new object; the model is not changed.

        Raises
        ------
        SingularCovarianceError
            A feature that is constant within a class or, of LDA and QDA, a combination of others, or too few rows; the
            message names features and classes.
        DataError
            NaiveBayes: values that a feature's family cannot have; the message names them.
        EstimationError
            NaiveBayes: a feature that a class never shows.
        NotImplementedError
            Of data in parts what needs rows one by one: "HAC", "bootstrap", "jackknife".
        """
        cov_type = self._check_fit(cov_type, n_threads)
        keywords = self._cov_keywords(cov_type, cov_kwds)
        self._check_bias_reduction(bias_reduction, cov_type)
        check_choice("collinear", collinear, ("raise", "drop"))
        with shown(progress, type(self).__name__, self._rows):
            return self._fit(cov_type, keywords, bias_reduction, collinear, n_threads)._prepared()

    def _fit(self, cov_type: str, keywords, bias_reduction: str | None, collinear: str, n_threads) -> Fitted:
        """Results of the model, its options checked."""
        raise NotImplementedError

    def _check_bias_reduction(self, wanted: str | None, cov_type: str) -> None:
        """Refuse a bias reduction that the model does not have."""
        raise NotImplementedError

    def _check_fit(self, cov_type: str | None, n_threads: int | None) -> str:
        check_threads(n_threads)
        if self._pseudo and self._options.get("divisor", "mle") != "mle":  # older files lack it
            raise NotImplementedError(
                f'divisor="unbiased" of {type(self).__name__} counts rows, which sampling weights= do not, as their '
                'unit is any: use divisor="mle"'
            )
        if cov_type is None:
            cov_type = "HC0" if self._pseudo else "nonrobust"
        if not isinstance(cov_type, str):
            raise ValueError(f"cov_type={cov_type!r}: give its name")
        self._check_covariance(cov_type)
        return cov_type


def _rows_and_weights(K: int, y: ndarray, trials: None, weights: ndarray | None) -> ndarray:
    """Rows of each class, and sums of their weights, (2, K)."""
    n = class_sizes(y, None, K)
    return np.stack([n, n if weights is None else class_sizes(y, weights, K)])


def _labels(model: str, reference, names, values) -> MultinomialResponse:
    """The response of a generative model: one label a row."""
    if not isinstance(names, str) and len(names) > 1:
        raise DataError(
            f"{model} takes one label a row; found counts of classes ({' + '.join(names)}). Reshape to one row a "
            "class with its count as freq_weights=, or use MNLogit"
        )
    return MultinomialResponse.build(names, values, reference)


def _number(value, name: str, least: float, most: float = np.inf) -> float:
    """Check the number that an option takes, and return it as a float."""
    good = is_number(value)
    if not good or not least <= value <= most or not np.isfinite(value):
        limits = f"{least:g} or more" if most == np.inf else f"from {least:g} to {most:g}"
        raise ValueError(f"{name}={value!r}: a number, {limits}")
    return float(value)
