"""Results of a binary model: probabilities, residuals, predictions, the classification table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.special import expit

from glmclf.caching import cached_property
from glmclf.checks import check_choice, check_whole, is_number
from glmclf.core.design.columns import Columns, representatives, rows_at_once
from glmclf.core.design.factor import FactorColumns
from glmclf.core.design.product import Product
from glmclf.core.numerics import seeds
from glmclf.core.rows.blocks import Blocks, in_place, linear
from glmclf.core.rows.summed import Summed
from glmclf.data.design.arrays import is_sparse
from glmclf.data.response.priors import read_priors
from glmclf.data.table.frame import as_frame
from glmclf.data.table.rows import offset_of_new_rows
from glmclf.errors import DataError
from glmclf.inference.margins.prediction import LinearErrors, Prediction
from glmclf.inference.residuals import binomial as residuals
from glmclf.inference.specification import gof
from glmclf.results.base import row_property, times_of
from glmclf.results.interop import NamesStatsmodels, StatsmodelsStyle
from glmclf.results.lazy import at_once, by_partition
from glmclf.results.prediction import PredictionResults
from glmclf.results.regression.results import RegressionResults, saturated_sum
from glmclf.results.requires import Needs, requires
from glmclf.results.separation import signs_of_rows, warn_of_unknown
from glmclf.results.tables import frames


class BinaryResults(RegressionResults, StatsmodelsStyle, metaclass=NamesStatsmodels):
    """Results of Logit, Probit and CLogLog."""

    _facts: ClassVar[tuple[str, ...]] = (*RegressionResults._facts, "_saturated_value", "_event_share")

    # ------------------------------------------------------------------------------------------------ numbers
    @cached_property
    def _saturated_value(self) -> float:
        if self.model._likelihood.binary:
            return 0.0
        return self.model._rows.blocks().sum_parts(partial(saturated_sum, self.model._likelihood.saturated))

    @cached_property
    def _event_share(self) -> float:
        successes, trials = self.model._totals
        return successes / trials

    @requires(Needs.ODDS)
    def odds_ratios(
        self, alpha: float = 0.05, units: Mapping[str, float] | None = None, method: str = "wald"
    ) -> pd.DataFrame:
        """Odds ratios exp(u b) with delta-method standard errors and exp of the intervals; Logit only.

        Parameters
        ----------
        alpha : float
            One minus the level.
        units : dict, optional
            The change of a regressor that counts as one unit, ``{"age": 10}``.
        method : {"wald", "profile"}
            Of the intervals, as in `conf_int`.

        Returns
        -------
        DataFrame
            Indexed by coefficient, with the size of its change where that is not 1, as "age (per 10)": "odds ratio",
            "std err", ``exp(u b) |u| se``, "z", "P>|z|" (of b = 0), and the interval ``exp(u b -/+ c |u| se)`` under
            headings such as "[0.025", "0.975]".

        Raises
        ------
        ValueError
            A name in `units` that is no coefficient, or a size that is zero or not finite.
        NotImplementedError
            Another link: its coefficients are no log odds ratios. Where exp(b) is another ratio,
            `summary_frame(exponentiate=True)` has it.

        References
        ----------
        Agresti (2013), Categorical Data Analysis, section 5.1.
        """
        return frames.odds_ratios(self, alpha=alpha, units=units, method=method)

    # ---------------------------------------------------------------------------------------------- row-sized
    def _row_series(self, values) -> pd.Series:
        return pd.Series(values, index=self.model._rows.index)

    def _where_gone(self, eta: ndarray, gone: ndarray | None) -> ndarray:
        return eta if gone is None else np.where(gone[:, 0], np.inf, np.where(gone[:, 1], -np.inf, eta))

    def _predictor(self, raw: Columns, X: Columns | Product, offset) -> ndarray:
        """Linear predictors X b + offset, from rows in both coordinates, with large parts cancelled beforehand."""
        eta, shift = linear(X, self._state.inner), self._state.wide_shift
        if shift.any():
            offset = (0.0 if offset is None else offset) - linear(raw, shift)
        return eta if offset is None else eta + offset

    def _at_the_limit(self, X: Columns, eta: ndarray, index: pd.Index | None = None) -> ndarray:
        """Linear predictors of a separated fit: inf and -inf, or NaN where directions have both signs."""
        estimate: Any = self._state.estimate
        if estimate.is_finite:
            return eta
        from glmclf.core.fit.estimate import at_infinity
        from glmclf.core.separation.deadline import Deadline
        from glmclf.core.separation.recoded import of_levels

        cone, X = of_levels(estimate.cone, X)
        time, (rows, of), step = Deadline(), representatives(X, cone.moved), rows_at_once(X)
        parts = [rows[start : start + step] for start in range(0, len(rows), step)]
        found = [signs_of_rows(cone, X[part].toarray(), time) for part in parts]
        # the last of each is for rows that no direction moves
        signs, unknown = (np.concatenate([*part, [0]])[of] for part in (zip(*found) if found else ((), ())))
        unknown = unknown.astype(bool)
        warn_of_unknown(unknown, index, estimate.cone)
        return at_infinity(eta, signs)

    @row_property
    @requires(Needs.ROWS)
    def fittedvalues(self) -> pd.Series:
        """Fitted probabilities of the event, by row."""
        return self._row_series(self.model.link.cdf(self._eta))

    def _residual(self, kind, scaled: bool = False) -> pd.Series:
        r = self.model._rows
        with np.errstate(divide="ignore", invalid="ignore"):  # infinite linear predictors
            values = kind(self.model.link, r.y, r.trials, self._eta)
        if scaled and not self.model._frequency:
            values = np.sqrt(r.weights / self.model._unit) * values
        return self._row_series(values)

    @row_property
    @requires(Needs.ROWS)
    def resid_response(self) -> pd.Series:
        """Response residuals y/m - p."""
        return self._residual(residuals.response)

    @row_property
    @requires(Needs.ROWS)
    def resid_pearson(self) -> pd.Series:
        """Pearson residuals (y - m p) / sqrt(m p (1 - p)), times square roots of sampling weights over their mean."""
        return self._residual(residuals.pearson, scaled=True)

    @row_property
    @requires(Needs.ROWS)
    def resid_dev(self) -> pd.Series:
        """Deviance residuals: signed square roots of the rows' deviances, which add up to the deviance.

        Sampling weights are taken in units of their mean, so that the sum is the deviance over that mean.
        """
        return self._residual(residuals.deviance, scaled=True)

    @row_property
    @requires(Needs.ROWS)
    def resid_generalized(self) -> pd.Series:
        """Generalised residuals, orthogonal to X: derivatives of the log-likelihood in the linear predictor."""
        return self._residual(residuals.generalized)

    @row_property
    @requires(Needs.ROWS)
    def resid_working(self) -> pd.Series:
        """Working residuals (y/m - p) / f(eta), of the weighted least squares fit at convergence."""
        return self._residual(residuals.working)

    def _log_probabilities(self) -> ndarray:
        link = self.model.link
        return np.column_stack([link.logsf(self._eta), link.logcdf(self._eta)])

    def _observed_classes(self) -> tuple[ndarray, ndarray | None]:
        r = self.model._rows
        return (r.y.astype(np.intp) if r.trials is None else r.y), r.trials

    # ------------------------------------------------------------------------------------------ goodness of fit
    def _observed_and_fitted(self) -> tuple[ndarray, ndarray, ndarray]:
        link, eta = self.model.link, self._eta
        return self.model._cells, np.column_stack([link.sf(eta), link.cdf(eta)]), link.cdf(eta)

    def _class_names(self) -> list[Any]:
        return list(self.model._response.levels)

    def _rsquared_of_rows(self) -> dict[str, float]:
        model, link = self.model, self.model.link
        mean, fractions = self._event_share, model._response.kind == "fraction"

        def part(X, y, trials, offset, weights) -> _Sums:
            eta = self._eta_of(X, offset)
            m = np.ones(len(y)) if trials is None else trials
            w = np.ones(len(y)) if weights is None else weights
            sums = gof.probability_sums(y, m, link.cdf(eta), link.sf(eta), w, mean)
            return _Sums(sums, gof.PredictorSpread.of(eta, w * m))

        found = model._rows.blocks().sum_parts(part)
        latent = gof.mckelvey_zavoina(found.spread, link.latent_variance)
        return gof.of_probabilities(found.sums, mean, fractions) | {"McKelvey-Zavoina": latent}

    # ---------------------------------------------------------------------------------------------- predicting
    @by_partition
    @requires()
    def predict(self, newdata=None, which: str = "mean", threshold: float = 0.5, priors=None, offset=None) -> pd.Series:
        """Predicted probabilities of the event, linear predictors, variances or classes.

        Parameters
        ----------
        newdata : DataFrame, array_like, optional
            Rows to predict: a table with the variables of the formula, rows of the design (scipy.sparse, too), or one
            row as a vector or list; by default the rows of the fit. Of a Dask DataFrame, predictions are lazy;
            classes that are whole numbers, or True and False, are nullable there (Int64, boolean).
        which : {"mean", "linear", "var", "class"}
            P(event), x'b + offset, P(event) (1 - P(event)), or the label: the event where P(event) > `threshold`.
        threshold : float
            In [0, 1].
        priors : dict, Series, pair or "equal", optional
            Prevalences of the two levels to predict for, instead of those of the data: p* is proportional to
            p prior / share, level by level.
        offset : array_like, optional
            Offset of the rows. A model fitted with an offset asks for it: in the column that gave it, or here.

        Returns
        -------
        Series
            By the index of `newdata`; NaN (no label) where a value needed is missing.

        Raises
        ------
        DataError
            A variable or the offset is absent.
        UnseenLevelError
            A level the model was not fitted on.
        """
        _, eta, index = self._linear(newdata, offset)
        if priors is not None:
            eta = self._with_priors(eta, priors, which)
            values = eta if which == "linear" else _from_log_odds(eta, which)
        else:
            values = in_place(lambda z: self.model._transform(z, "mean" if which == "class" else which), eta)
        if which != "class":
            return pd.Series(values, index=index, copy=False)
        _check_threshold(threshold)
        return self.model._response.series(values > threshold, index, np.isnan(values))

    @requires(Needs.SPREAD)
    def get_prediction(self, newdata=None, which: str = "mean", offset=None, *, priors=None) -> PredictionResults:
        """Predictions with delta-method standard errors and intervals that stay inside (0, 1).

        Of a ridge the standard errors are posterior standard deviations.

        Parameters
        ----------
        newdata, offset
            As in `predict`.
        which : {"mean", "linear"}
        priors
            As in `predict`; they are known, while the shares of the levels in the data that they replace are estimated
            along with the model: rows are taken for a sample (Prentice & Pyke 1979).

        Returns
        -------
        PredictionResults
            `predicted, se, conf_int(alpha), summary_frame(alpha)`.
        """
        X, eta, index = self._linear(newdata, offset)
        if priors is not None:
            return self._prediction_for(priors, X, eta, index, which)
        variance = self._predictor_variances(X)
        se = np.sqrt(np.where(variance >= 0, variance, np.nan))
        if not self._state.estimate.is_finite:
            se = np.where(np.isfinite(eta), se, np.nan)
        return PredictionResults(Prediction(eta, se, self.model.link, which), index)

    def _predictor_variances(self, X: Columns | Product) -> ndarray:
        """Variances of the linear predictors of rows in the fit's coordinates, (n,)."""
        variances = LinearErrors(self._cov.matrix).variances
        if isinstance(X, FactorColumns):
            return np.concatenate([np.zeros(0), *(variances(x) for (x,) in Blocks(X, size=X.block_size))])
        parts = (variances(x.toarray()) for (x,) in Blocks(X, size=rows_at_once(X)))
        return np.concatenate([np.zeros(0), *parts])

    def _prediction_for(self, priors, X: Columns | Product, eta: ndarray, index: pd.Index, which: str):
        """Predictions of another prevalence; log-odds have variance g^2 x'Vx - 2 g x'c + s, g = d log-odds/d eta."""
        from glmclf.core.likelihood.links import LogitLink
        from glmclf.results.regression.prevalence import share_covariance

        c, s = share_covariance(self)
        var = self._predictor_variances(X)
        with_shares = np.concatenate([np.zeros(0), *[x.toarray() @ c[:, 0] for (x,) in Blocks(X)]])
        terms = self.model.link.terms(eta)
        g = terms.r1 + terms.r0
        var = g * g * var - 2.0 * g * with_shares + s[0, 0]
        se = np.sqrt(np.where(var >= 0, var, np.nan))
        moved = self._with_priors(eta, priors, which)
        return PredictionResults(Prediction(moved, se, LogitLink(), which), index)

    def _aligned_offset(self, newdata, given):
        if isinstance(newdata, (np.ndarray, list, tuple)) or is_sparse(newdata):
            if isinstance(given, str):
                raise DataError(f'the model was fitted with the offset "{given}": these rows need offset= values')
            return offset_of_new_rows(given)
        table = as_frame(newdata, empty=True, scalars=True)
        scalar = np.ndim(given) == 0 and not isinstance(given, str)
        return offset_of_new_rows(given) if scalar else self._offset_of(given, table)

    def _with_priors(self, eta: ndarray, priors, which: str) -> ndarray:
        """Log odds under other prevalences: log p/(1-p) plus the change in the log odds of the prevalences."""
        link = self.model.link
        if which == "linear" and not link.canonical:
            raise NotImplementedError(f'priors= with which="linear" is for Logit; with {link.name} use which="mean"')
        event, other = self._prevalences(priors)
        shift = np.log(event / self._event_share) - np.log(other / (1.0 - self._event_share))
        return (eta if link.canonical else link.logcdf(eta) - link.logsf(eta)) + shift

    def _prevalences(self, priors) -> tuple[float, float]:
        levels = self.model._response.levels
        other, event = read_priors(priors, levels, self.model.endog_names, positive=True)
        return float(event), float(other)

    # ------------------------------------------------------------------------------------------------- tables
    _most_probable: ClassVar[bool] = False

    def _outcome_probabilities(self, eta: ndarray) -> tuple[ndarray, ndarray]:
        """Log probabilities and probabilities of the two outcomes, (n, 2)."""
        link = self.model.link
        log_p = np.column_stack([link.logsf(eta), link.logcdf(eta)])
        return log_p, np.column_stack([link.sf(eta), link.cdf(eta)])

    def _rows_read(self, X, y, trials, offset) -> tuple[ndarray, ndarray, ndarray]:
        return *self._outcome_probabilities(self._eta_of(X, offset)), _counts(y, trials)

    def _log_p_beside(self, model) -> ndarray:
        r, link = model._rows, self.model.link
        eta = self._predictor(r.X, self._rotated(r.X), r.offset)
        return np.column_stack([link.logsf(eta), link.logcdf(eta)])

    @property
    def _counts(self) -> ndarray:
        return _counts(self.model._rows.y, self.model._rows.trials)

    def _fitted_columns(self, newdata) -> dict[str, Any]:
        if not self._has_spread:
            return {".fitted": np.asarray(self.predict(newdata))}
        prediction = self.get_prediction(newdata)
        return {".fitted": np.asarray(prediction.predicted), ".se_fit": np.asarray(prediction.se)}

    def _row_columns(self) -> dict[str, Any]:
        resid = np.asarray(self.resid_dev)
        if self._regularised:
            return {".resid": resid}
        hat, cooks = self._influences.leverage, self._influences.cooks
        with np.errstate(divide="ignore", invalid="ignore"):  # a row that alone determines a coefficient
            standardised = resid / np.sqrt(1.0 - hat)
        return {".resid": resid, ".hat": hat, ".std_resid": standardised, ".cooksd": cooks}

    @requires(Needs.DISTRIBUTION, Needs.ROWS)
    def simulate(self, n: int = 1, seed=None) -> pd.DataFrame:
        """Responses drawn from the fitted model.

        Parameters
        ----------
        n : int
            How many responses a row.
        seed : int, SeedSequence or Generator, optional
            Of numpy's generator: the same seed gives the same draws.

        Returns
        -------
        DataFrame
            Columns sim_1, ..., sim_n: labels as in the data, or successes for counts. A row of frequency weight f
            stands f times.
        """
        r = self.model._rows
        check_whole("n", n, 1, "how many responses to draw")
        repeat = times_of(r, self.model._frequency)
        index, p = r.index.repeat(repeat), np.repeat(self.model.link.cdf(self._eta), repeat)
        generator = seeds.generator(seed)
        if r.trials is None:
            draws = [self.model._response.series(generator.random(len(p)) < p, index) for _ in range(n)]
        else:
            trials = np.repeat(r.trials, repeat).astype(np.int64)
            draws = [generator.binomial(trials, p) for _ in range(n)]
        return pd.DataFrame({f"sim_{i + 1}": d for i, d in enumerate(draws)}, index=index)

    @requires(Needs.DISTRIBUTION)
    def get_distribution(self, newdata: Any = None, offset: Any = None) -> Any:
        """Predicted distribution of the response as a frozen scipy.stats distribution.

        Parameters
        ----------
        newdata, offset
            As in `predict`.

        Returns
        -------
        scipy.stats frozen distribution
            Bernoulli; binomial with the rows' trials for counts of the rows of the fit.

        Raises
        ------
        NotImplementedError
            A fractional response, which has no distribution.
        """
        from scipy import stats

        p = at_once(self, newdata, offset=offset).to_numpy()
        if newdata is None and self.model._rows.trials is not None:
            return stats.binom(self.model._rows.trials, p)
        return stats.bernoulli(p)


@dataclass(frozen=True)
class _Sums(Summed):
    sums: ndarray
    spread: gof.PredictorSpread


def _counts(y: ndarray, trials: ndarray | None) -> ndarray:
    return np.column_stack([(1.0 if trials is None else trials) - y, y])


def _check_threshold(threshold) -> None:
    if not is_number(threshold) or not 0 <= threshold <= 1:
        raise ValueError(f"threshold={threshold!r}: a probability between 0 and 1")


def _from_log_odds(z: ndarray, which: str) -> ndarray:
    check_choice("which", which, ("mean", "linear", "var", "class"))
    return expit(z) * expit(-z) if which == "var" else expit(z)
