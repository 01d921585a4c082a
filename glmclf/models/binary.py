"""Logit, Probit and CLogLog: models of a response with two outcomes."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.core.fit.estimate import scalar_maximum
from glmclf.core.likelihood import links
from glmclf.core.likelihood.pointwise import Binomial
from glmclf.core.rows.asked import named
from glmclf.data.response.response import BinaryResponse
from glmclf.data.response.trials import speaks_of_trials
from glmclf.errors import DataError, InferenceWarning, warn
from glmclf.models.base import Model, check_prediction
from glmclf.models.inputs import Inputs
from glmclf.results.regression.binary import BinaryResults

__all__ = ["Logit", "Probit", "CLogLog"]


class BinaryModel(Model[BinaryResults]):
    """P(event) = F(x'b + offset), F given by the link of the subclass.

    Parameters
    ----------
    endog : array_like
        Response: 0/1 numbers, bool or two labels, (n,); successes and failures, (n, 2); or fractions in [0, 1].
    exog : array_like
        Regressors, (n, k), the constant included; array, DataFrame or scipy.sparse array.
    event : label, optional
        The level whose probability is modelled: by default 1, True, or the second of the (sorted or categorical)
        levels.
    offset : (n,) array_like or str, optional
        Added to the linear predictor.
    freq_weights : (n,) array_like or str, optional
        How many equal observations each row stands for.
    weights : (n,) array_like or str, optional
        Sampling weights.
    trials : (n,) array_like or str, optional
        Number of trials of each row, of which the response is the proportion of successes: the fit is that of
        successes = response * trials, which must be whole, and failures. R's ``glm(p ~ x, binomial, weights = n)``.
    missing : {"drop", "raise", "none"}
        What to do with rows that hold a missing value.
    """

    link: ClassVar[links.Link]
    _variables = (*Inputs._variables, "trials")
    _coding: ClassVar[dict[str, Any]] = {"event": None}
    _results_class = BinaryResults

    def __init__(
        self,
        endog: Any,
        exog: Any,
        *,
        event: Any = None,
        offset: Any = None,
        freq_weights: Any = None,
        weights: Any = None,
        trials: Any = None,
        missing: str = "drop",
    ) -> None:
        weighted = {"freq_weights": freq_weights, "weights": weights, "trials": trials}
        self._from_arrays(endog, exog, missing, {"event": event, "offset": offset, **weighted})

    def _split(self, keywords: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        coding, extras = super()._split(keywords)
        if "trials" in extras and coding["event"] is not None:
            raise DataError(f"event={coding['event']!r} with trials=: the response is the proportion of the events")
        return coding, extras

    def _start_with(self, read: Any, keywords: dict[str, Any]) -> None:
        if "trials" in read.extras:
            read = replace(read, response=replace(read.response, name=read.design.endog_name))
        super()._start_with(read, keywords)
        if self._response.kind == "fraction" and "freq_weights" in self._names and self._weights_are_trials():
            warn(
                f"{self.endog_names} times freq_weights is a whole number in every row: if the weights are numbers of "
                f'trials, of which {self.endog_names} is the proportion of successes, say trials="'
                f'{self._names["freq_weights"]}" instead (or successes + failures on the left side). As freq_weights '
                "they mean that many equal rows of that fraction each, and standard errors are far smaller",
                InferenceWarning,
            )

    def _weights_are_trials(self) -> bool:
        """Whether frequency weights make whole numbers of successes of all fractions."""
        whole, broken = self._rows.total(lambda y, _, w: speaks_of_trials(y, w))
        return bool(whole and not broken)

    @classmethod
    def _coder(cls, coding: dict[str, Any]):
        return functools.partial(BinaryResponse.build, event=coding["event"])

    def _modelled(self) -> list[tuple[str, str]]:
        return [("Event:", self._response.describe()), ("Link:", self.link.name)]

    @property
    def _likelihood(self) -> Binomial:
        return Binomial(self.link, binary=self._response.kind == "binary")

    @property
    def _pseudo(self) -> bool:
        return not self._frequency or self._response.kind == "fraction"

    # ------------------------------------------------------------------------------------------------- start
    @property
    def _totals(self) -> tuple[float, float]:
        """Successes and trials, weighted."""
        failures, successes = self._sums[:2]
        return float(successes), float(successes + failures)

    def _counts_of(self, y: ndarray, trials: ndarray | None) -> ndarray:
        return np.column_stack([(1.0 if trials is None else trials) - y, y])

    @cached_property
    def _null_intercept(self) -> float:
        """Intercept of the null model with the offset."""
        successes, trials = self._totals
        start = float(self.link.quantile(np.array(successes / trials)))
        if self._rows.offset is None:
            return start
        objective, shift = self._without_regressors()
        inner = scalar_maximum(objective, start - float(objective.blocks.middle(3)[0][0]))
        return inner - float(shift[0])

    def _start(self) -> ndarray:
        """Start of a fit: zero slopes, and the intercept of the null model."""
        theta = np.zeros(len(self.exog_names))
        constant = self._rows.constant_column()
        if constant is not None:
            theta[constant[0]] = self._null_intercept / constant[1]
        return theta

    # ------------------------------------------------------------------------------------------------- fitting
    def _null_loglike(self) -> float:
        """Log-likelihood of the model without regressors, without the binomial coefficients.

        The constant alone, with the same offset and weights; a model without a constant has eta = offset as its null.
        """
        r = self._rows
        if not self.k_constant:
            return self._offset_alone()
        successes, trials = self._totals
        if r.offset is None:
            failures = trials - successes
            return successes * np.log(successes / trials) + failures * np.log(failures / trials)
        objective, shift = self._without_regressors()
        return objective.gradient(self._null_intercept + shift).value

    # ----------------------------------------------------------------------------------------------- predict
    @named
    def predict(self, params: Any, exog: Any = None, which: str = "mean", offset: Any = None) -> ndarray:
        """Predictions at given parameters.

        Parameters
        ----------
        params : (k,) array_like
            NaN of columns that a fit of this model left out counts as 0. Infinite ones do not count in rows where their
            column is 0; rows where infinities of both signs meet are NaN, also where `predict` of the result, which
            knows the directions of separation, has a limit.
        exog : array_like or DataFrame, optional
            Rows of the design (scipy.sparse, too), or a table with the formula's variables; by default the rows of the
            model.
        which : {"mean", "linear", "var"}
            F(eta), eta, or F(eta) (1 - F(eta)).
        offset : array_like, optional
            Offset of the rows; by default the model's own for its own rows. Rows of another table need it where the
            model was fitted with one.

        Returns
        -------
        (n,) ndarray
        """
        eta = self._linear_of_rows(params, exog)
        offset = self._offset_of_rows(offset, exog)
        return self._transform(eta if offset is None else eta + self._row_offset(offset, exog), which)

    def _transform(self, eta: ndarray, which: str) -> ndarray:
        check_prediction(which)
        if which == "linear":
            return eta
        p = self.link.cdf(eta)
        return p if which == "mean" else p * self.link.sf(eta)


class Logit(BinaryModel):
    """Logistic regression: log(p / (1 - p)) = x'b.

    `fit` maximises the Bernoulli (or binomial) log-likelihood sum_i w_i (y_i log p_i + (m_i - y_i) log(1 - p_i)); the
    default standard errors assume that this model is right. exp(b) is the ratio of the odds for one unit of x.

    {parameters}

    References
    ----------
    McCullagh & Nelder (1989), Generalized Linear Models, chapter 4.

    Examples
    --------
    >>> from glmclf import Logit, datasets
    >>> res = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector")).fit()
    >>> res.params.round(4)
    Intercept   -13.0213
    GPA           2.8261
    TUCE          0.0952
    PSI           2.3787
    dtype: float64
    """

    link = links.LogitLink()


class Probit(BinaryModel):
    """Probit regression: p = Phi(x'b), Phi the standard normal distribution function.

    `fit` maximises the Bernoulli (or binomial) log-likelihood; the default standard errors are from the observed
    information. b is the change of a latent normal index, in its standard deviations, for one unit of x. The tails are
    exact: a row 40 standard deviations on the wrong side counts for what it is.

    {parameters}

    References
    ----------
    Bliss (1935), The calculation of the dosage-mortality curve. Annals of Applied Biology 22, 134-167.

    Examples
    --------
    >>> from glmclf import Probit, datasets
    >>> res = Probit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector")).fit()
    >>> res.params.round(4)
    Intercept   -7.4523
    GPA          1.6258
    TUCE         0.0517
    PSI          1.4263
    dtype: float64
    """

    link = links.ProbitLink()


class CLogLog(BinaryModel):
    """Complementary log-log regression: p = 1 - exp(-exp(x'b)).

    `fit` maximises the Bernoulli (or binomial) log-likelihood; the default standard errors are from the observed
    information. exp(b) is a ratio of hazards: the model of a proportional-hazards process seen once at the end of an
    interval. The link is not symmetric: modelling the other event is another model.

    {parameters}

    References
    ----------
    McCullagh & Nelder (1989), Generalized Linear Models, section 4.3.

    Examples
    --------
    >>> from glmclf import CLogLog, datasets
    >>> res = CLogLog.from_formula("killed + survived ~ dose", datasets.load("beetles")).fit()
    >>> res.params.round(3)
    Intercept   -39.572
    dose         22.041
    dtype: float64
    """

    link = links.CLogLogLink()
