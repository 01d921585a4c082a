"""Results of a multinomial logit: parameters by regressor and level, probabilities, contrasts of levels."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.checks import check_choice, check_whole
from glmclf.core.design.arrow import ArrowColumns
from glmclf.core.design.columns import Columns, representatives, rows_at_once
from glmclf.core.design.dense import expanded_rows
from glmclf.core.design.factor import FactorColumns
from glmclf.core.fit.coordinates import from_basis, into_basis
from glmclf.core.fit.offsets import centred
from glmclf.core.likelihood.pointwise import Multinomial
from glmclf.core.numerics import seeds
from glmclf.core.rows.blocks import Blocks, in_place
from glmclf.data.design.arrays import is_sparse
from glmclf.data.response.priors import read_priors
from glmclf.data.table.frame import align, as_frame, labels
from glmclf.data.table.rows import offset_of_new_rows
from glmclf.errors import CollinearityWarning, EstimationError, without_warnings
from glmclf.inference.covariance.influence import Influences
from glmclf.inference.residuals import multinomial as level_residuals
from glmclf.inference.specification import gof, iia
from glmclf.results.base import row_property, times_of
from glmclf.results.lazy import at_once, by_partition
from glmclf.results.regression.constrained import said
from glmclf.results.regression.levels import (
    LevelEstimates,
    LevelPredictions,
    beside,
    check_prediction,
    drawn_labels,
    spelled,
)
from glmclf.results.regression.results import RegressionResults, saturated_sum
from glmclf.results.requires import Needs, requires
from glmclf.results.separation import renamed, signs_of_rows, warn_of_unknown
from glmclf.results.tables.frames import WholeFrame

_NO_INFLUENCE = Influences(*[np.array(np.nan)] * 3)


class MultinomialResults(LevelEstimates, RegressionResults):
    """Results of MNLogit."""

    _facts: ClassVar[tuple[str, ...]] = (*RegressionResults._facts, "_level_shares", "_saturated_value")

    # ------------------------------------------------------------------------------------------------ numbers
    @cached_property
    def _level_shares(self) -> list[float]:
        return self.model._shares[self.model._order].tolist()

    @cached_property
    def _saturated_value(self) -> float:
        return self.model._rows.blocks().sum_parts(partial(saturated_sum, level_residuals.saturated))

    # -------------------------------------------------------------------------------------------------- names
    @property
    def _table_levels(self) -> list[Any]:
        return self.model.levels if self._state.symmetric else self.model._equations

    @property
    def _param_names(self) -> list[str]:
        if not self._state.symmetric:
            return self.model._param_names
        return [f"y{level}_{name}" for level in spelled(self.model.levels) for name in self.model.exog_names]

    @property
    def _param_index(self) -> pd.Index:
        return labels(self.model.exog_names, self._table_levels)

    def _header(self) -> list[tuple[str, str]]:
        """Facts of the summary's header, without the reference where every level has coefficients."""
        hidden = "Reference:" if self._state.symmetric else None
        return [fact for fact in [*self.model._header(), *self._fit_header()] if fact[0] != hidden]

    # ---------------------------------------------------------------------------------------------- other bases
    @requires(Needs.MAXIMUM)
    def rebase(self, level) -> MultinomialResults:
        """Re-express the fit against another reference, without fitting again.

        Parameters
        ----------
        level : label
            The new base level.

        Returns
        -------
        MultinomialResults
            Parameters b_j - b_level, their covariance, and everything else as a fit with ``reference=level`` gives.

        Raises
        ------
        ValueError
            Not a level of the response.
        """
        model = self.model._rebased(level)
        A, inverse = self._change_of_base(model), self._change_of_base(model, back=True)
        order = [self.model._response.classes.index(c) for c in model._response.classes]
        if self.model._rows_ is not None:
            _ = self._fingerprint  # cache the fingerprint of the data of the fit
        other = copy.copy(self)
        dropped = ("_digits", "_flagged", "_wald_derivatives")
        rows = {n for c in type(self).__mro__ for n, v in vars(c).items() if isinstance(v, row_property)}
        other.__dict__ = {n: v for n, v in self.__dict__.items() if n not in dropped and n not in rows}
        other.model = model
        found: Any = self._state.estimate.mapped(A, inverse, order)
        if found.constraints:
            constraint = found.constraint
            words = said(constraint.R, constraint.q, model._param_names)
            found = replace(found, constraint=replace(constraint, words=words))
        other._state = self._state.mapped(found, A, model._coordinates_without(found.omitted))
        if self.separation is not None:
            other.separation = renamed(self.separation, model, found.cone)
            other._origin = self._origin or self
        return other

    def _set_covariance(self, cov_type: str, keywords) -> None:
        if self._origin is None:
            return super()._set_covariance(cov_type, keywords)
        origin: Any = copy.copy(self._origin)  # the limit estimate is in the coordinates of the fit
        origin._set_covariance(cov_type, keywords)
        rebased = origin.rebase(self.model.reference)
        self._state = self._state.with_covariance(rebased._cov, rebased._group_names)

    def _change_of_base(self, model, back: bool = False) -> ndarray:
        """Matrix A with params' = A params, from this model's reference to another's (or back)."""
        old, new = self.model._response.classes, model._response.classes
        if back:
            old, new = new, old
        k = self.model.K
        C = np.zeros((len(new) - 1, len(old) - 1))
        for i, level in enumerate(new[1:]):
            if old.index(level):
                C[i, old.index(level) - 1] += 1.0
            C[i, old.index(new[0]) - 1] -= 1.0
        if new[0] == old[0]:
            C = np.eye(len(new) - 1)
        return np.kron(C, np.eye(k))

    def _slopes(self) -> ndarray:
        """Matrix N with N d = 0 if and only if X d is constant: the slopes, whichever way the constant is coded."""
        constant, columns = self.model._constant_column(), self._state.columns
        E = np.eye(self.model.K)[columns]
        if constant in columns:
            return E[columns != constant]
        if not self.model.k_constant:
            return E
        X = self.model._rows.X[:].toarray()[:, columns]
        c = np.linalg.lstsq(X, np.ones(len(X)), rcond=None)[0]
        return np.linalg.svd(c[None])[2][1:] @ E

    # ---------------------------------------------------------------------------------------------- row-sized

    def _where_gone(self, eta: ndarray, gone: ndarray | None) -> ndarray:
        """Linear predictors of all classes, the reference first: -inf where separation rules one out."""
        z = np.column_stack([np.zeros(len(eta)), eta])
        return z if gone is None else np.where(gone, -np.inf, z)

    def _predictor(self, raw, X, offset) -> ndarray:
        """Linear predictors X b + offset, from rows in both coordinates, with large parts cancelled beforehand."""
        shift = self._state.wide_shift
        if shift.any():
            offset = -self.model._eta(shift, raw, None if offset is None else -np.asarray(offset, dtype=float))
        return self.model._eta(self._state.inner, X, offset)

    def _at_the_limit(self, X, eta: ndarray, index: pd.Index | None = None) -> ndarray:
        """Linear predictors of all classes, the reference first, with the limits of a separated fit.

        These are -inf for classes that are ruled out, and NaN for the others where directions disagree about one of
        them.
        """
        z = np.column_stack([np.zeros(len(eta)), eta])
        estimate: Any = self._state.estimate
        if estimate.is_finite:
            return z
        from glmclf.core.separation.deadline import Deadline
        from glmclf.core.separation.recoded import of_levels

        K, k, time = self.model.J, self.model.K, Deadline()
        cone, X = of_levels(estimate.cone, X)
        rows, of = representatives(X, cone.moved.reshape(-1, k).any(axis=0))
        beats, unknown = np.zeros((K, K, len(rows) + 1)), np.zeros(len(rows) + 1, dtype=bool)
        step = expanded_rows(k * (K - 1))
        for start in range(0, len(rows), step):
            A = X[rows[start : start + step]].toarray()
            at = slice(start, start + len(A))
            for c in range(K):
                for l in range(c):
                    R = np.zeros((len(A), k * (K - 1)))
                    R[:, (c - 1) * k : c * k] = A
                    if l:
                        R[:, (l - 1) * k : l * k] = -A
                    beats[c, l, at], open_ = signs_of_rows(cone, R, time)
                    beats[l, c, at] = -beats[c, l, at]
                    unknown[at] |= open_
        beats, unknown = beats[:, :, of], unknown[of]  # the last is for rows that no direction moves
        lost = (beats == -1).any(axis=1).T
        unsure = (np.isnan(beats) & ~lost.T[:, None] & ~lost.T[None]).any(axis=(0, 1))
        warn_of_unknown(unknown & unsure, index, estimate.cone)
        return np.where(lost, -np.inf, np.where(unsure[:, None], np.nan, z))

    @row_property
    @requires(Needs.ROWS)
    def fittedvalues(self) -> pd.DataFrame:
        """Fitted probabilities, a column a level."""
        return self._by_level(self.model._transform(self._eta, "mean"), self.model._rows.index)

    def _residual(self, kind, scaled: bool = False) -> pd.DataFrame:
        r = self.model._rows
        with np.errstate(divide="ignore", invalid="ignore"):  # log of 0 where a class is ruled out
            values = kind(r.y, r.trials, self._eta)[:, self.model._order]
        if scaled and not self.model._frequency:
            values = np.sqrt(r.weights / self.model._unit)[:, None] * values
        return self._by_level(values, r.index)

    @row_property
    @requires(Needs.ROWS)
    def resid_response(self) -> pd.DataFrame:
        """Response residuals y/m - p, a column a level."""
        return self._residual(level_residuals.response)

    @row_property
    @requires(Needs.ROWS)
    def resid_pearson(self) -> pd.DataFrame:
        """Pearson residuals (y - m p) / sqrt(m p (1 - p)), a column a level.

        Sampling weights multiply by their square root, in units of their mean.
        """
        return self._residual(level_residuals.pearson, scaled=True)

    @row_property
    @requires(Needs.ROWS)
    def resid_generalized(self) -> pd.DataFrame:
        """Generalised residuals y - m p by equation: derivatives of the log-likelihood in the linear predictors.

        These are orthogonal to the regressors.
        """
        r, model = self.model._rows, self.model
        u = model._likelihood.pointwise(r.y, r.trials, self._eta[:, 1:], self._eta[:, :1])[1]
        return pd.DataFrame(u, index=r.index, columns=pd.Index(model._equations, dtype=object))

    @row_property
    @requires(Needs.ROWS)
    def resid_dev(self) -> pd.DataFrame:
        """Deviance residuals sign(y - m p) sqrt(2 (y log(y / (m p)) - (y - m p))), a column a level.

        Sampling weights multiply by their square root, in units of their mean. Squares add up to the deviance of each
        row, and to the deviance of the fit over that mean.
        """
        return self._residual(level_residuals.deviance_by_level, scaled=True)

    @row_property
    @requires(Needs.ROWS)
    def resid_misclassified(self) -> pd.Series:
        """Misclassification: 1 where the most probable level is not observed, else 0; of counts the others' share."""
        r, model = self.model._rows, self.model
        no = level_residuals.shares(r.y, r.trials, model.J)[1][:, model._order]
        best = model._transform(self._eta, "mean").argmax(axis=1)
        return pd.Series(no[np.arange(len(r)), best], index=r.index)

    @row_property
    @requires(Needs.ROWS)
    def resid_working(self) -> pd.DataFrame:
        """Working residuals y_j/(m p_j) - y_0/(m p_0) of each level j that has an equation, 0 the reference.

        They are those of the weighted least squares fit at convergence, W^-1 (y - m p).
        """
        r, model = self.model._rows, self.model
        values = level_residuals.working(r.y, r.trials, self._eta)
        return pd.DataFrame(values, index=r.index, columns=pd.Index(model._equations, dtype=object))

    def _log_probabilities(self) -> ndarray:
        return Multinomial.softmax(self._eta)[0][:, self.model._order]

    def _observed_classes(self) -> tuple[ndarray, ndarray | None]:
        y, o = self.model._rows.y, np.array(self.model._order)
        if y.ndim == 2:
            return y[:, o], y.sum(axis=1)
        return np.argsort(o)[y], None

    # ---------------------------------------------------------------------------------------- tests of the fit
    _risk_test: ClassVar[str] = "Fagerland-Hosmer"

    def _observed_and_fitted(self) -> tuple[ndarray, ndarray, ndarray]:
        _, p, q = Multinomial.softmax(self._eta)
        return self.model._cells, p, q[:, 0]

    def _rsquared_of_rows(self) -> dict[str, float]:
        model = self.model

        def part(X, y, trials, offset, weights) -> ndarray:
            _, p, q = Multinomial.softmax(self._eta_of(X, offset))
            return gof.class_sums(model._cells_of(y, trials, weights), p, q)

        return gof.of_class_probabilities(model._rows.blocks().sum_parts(part))

    def _class_names(self) -> list[Any]:
        return self.model._classes

    @requires(Needs.LEVELS, Needs.MLE, Needs.UNCONSTRAINED, Needs.FINITE, Needs.LIKELIHOOD, Needs.ROWS)
    def iia_test(self, method: str = "hausman-mcfadden", seed=None) -> pd.DataFrame:
        """Test of the independence of irrelevant alternatives: does leaving a level out change the odds of the others?

        Parameters
        ----------
        method : {"hausman-mcfadden", "small-hsiao"}
            Hausman and McFadden compare the coefficients that the fits with and without the level share; Small and
            Hsiao the likelihoods of a random half of the observations.
        seed : int, SeedSequence or Generator, optional
            Of the random halves ("small-hsiao" only).

        Returns
        -------
        DataFrame
            Index: the level left out. Columns: statistic (chi-squared), df, pvalue and note. A negative Hausman
            statistic is reported as it is, without a p-value: the covariances are too close for the test, which its
            authors read as no evidence against independence. Where the fit without the level does not exist the row is
            NaN and the note says why.

        Raises
        ------
        ValueError
            Fewer than three levels; a pseudo-likelihood; an unknown method; a seed where nothing is random.

        References
        ----------
        Hausman & McFadden (1984), Econometrica 52, 1219-1240. Small & Hsiao (1985), International Economic Review 26,
        619-627. Cheng & Long (2007), Sociological Methods & Research 35, 583-600, on how little these tests can be
        relied on.
        """
        check_choice("method", method, iia.IIA_TESTS)
        if method == "hausman-mcfadden":
            if seed is not None:
                raise ValueError('seed= is for method="small-hsiao": nothing is random here')
            rows = [self._attempt(self._hausman, level) for level in self.levels]
        else:
            order = self.model._order  # by level, so that a seed gives the same draws for any reference
            back = np.argsort(order)
            first, second = (half[:, back] for half in iia.halves(self.model._cells[:, order], seed))
            try:
                halves = [self._refit(None, counts) for counts in (first, second)]
            except EstimationError as error:
                raise EstimationError(f"small-hsiao: a random half of the data has no estimate: {error}") from None
            rows = [self._attempt(self._small_hsiao, level, second, *halves) for level in self.levels]
        index = pd.Index(self.levels, name="omitted", dtype=object)
        return WholeFrame(rows, index=index, columns=["statistic", "df", "pvalue", "note"])

    @staticmethod
    def _attempt(test, *args) -> iia.IIATest:
        try:
            return test(*args)
        except EstimationError as error:
            return iia.IIATest(np.nan, 0, np.nan, str(error))

    def _refit(self, level, counts: ndarray | None = None) -> MultinomialResults:
        """Refit without a level, and to other counts, started at this fit."""
        model = self.model._without(level, counts)
        base, at = self._common(model)
        with without_warnings(CollinearityWarning):
            fit = model.fit(start_params=base._state.finite_theta[at], separation="raise")
        lost = [model.exog_names[j] for j in fit._state.combinations if j not in self._state.combinations]
        if lost:
            raise EstimationError(f"without these rows {', '.join(lost)} is a combination of other columns")
        if not fit.converged:
            raise EstimationError(f"the fit did not converge: {fit.mle_retvals['message']}")
        return fit

    def _common(self, model) -> tuple[MultinomialResults, ndarray]:
        """Fit against the reference of a model with fewer levels, and the places of that model's parameters."""
        base = self if self.reference == model.reference else self.rebase(model.reference)
        equations, k = base.model._equations, model.K
        at = np.concatenate([np.arange(k) + k * equations.index(level) for level in model._equations])
        return base, at

    def _hausman(self, level) -> iia.IIATest:
        restricted = self._refit(level)
        base, at = self._common(restricted.model)
        # both fits in the coordinates of this one, where an ill-conditioned design keeps its digits
        inner, other = base._state.narrow, restricted._state.narrow
        at = np.searchsorted(base._places, at[np.isin(at, base._places)])
        T = inner.fit.evaluation.factor.root[at]
        A = into_basis(inner.basis, from_basis(other.basis, np.eye(len(at))))
        V = restricted._cov.matrix[np.ix_(restricted._places, restricted._places)]
        return iia.hausman(inner.fit.theta[at], T @ T.T, A @ other.fit.theta, A @ V @ A.T)

    def _small_hsiao(self, level, counts: ndarray, first, second) -> iia.IIATest:
        restricted = self._refit(level, counts)
        halves = (half._common(restricted.model) for half in (first, second))
        one, two = (base._state.finite_theta[at] for base, at in halves)
        average = np.sqrt(0.5) * one + (1.0 - np.sqrt(0.5)) * two
        objective, shift = centred(restricted.model._objective())
        value = objective.gradient(average + shift).value
        return iia.small_hsiao(value, restricted._value, restricted._size)

    # ---------------------------------------------------------------------------------------------- predicting
    @by_partition
    @requires()
    def predict(self, newdata: Any = None, which: str = "mean", priors: Any = None, offset: Any = None) -> Any:
        """Predicted probabilities, linear predictors or classes.

        Parameters
        ----------
        newdata : DataFrame, array_like, optional
            As for the binary models; by default the rows of the fit.
        which : {"mean", "linear", "var", "class"}
            Probabilities p; linear predictors, 0 for the reference; p (1 - p); or the most probable level.
        priors : dict, Series, sequence or "equal", optional
            Prevalences of the levels to predict for, instead of those of the data.
        offset : array_like, optional
            Offset of the rows.

        Returns
        -------
        DataFrame (a column a level) or, for classes, Series
            By the index of `newdata`; NaN (no label) where a value needed is missing.
        """
        _, eta, index = self._linear(newdata, offset)
        if priors is not None:
            eta = eta + np.append(0.0, self._prior_shift(priors))
        values = in_place(lambda z: self.model._transform(z, "mean" if which == "class" else which), eta)
        if which != "class":
            return self._by_level(values, index)
        missing = np.isnan(values).any(axis=1)
        return self.model._response.series(np.nan_to_num(values).argmax(axis=1), index, missing)

    @requires()
    def get_distribution(self, newdata: Any = None, offset: Any = None) -> Any:
        """Predicted distribution of the counts of each level, a frozen scipy.stats multinomial distribution.

        Parameters
        ----------
        newdata, offset
            As in `predict`.

        Returns
        -------
        scipy.stats frozen distribution
            Of one trial a row; of the rows' trials for counts of the rows of the fit.
        """
        from scipy import stats

        p = at_once(self, newdata, offset=offset).to_numpy()
        counts = newdata is None and self.model._rows.trials is not None
        return stats.multinomial(self.model._rows.trials.astype(int) if counts else 1, p)

    def _prior_shift(self, priors) -> ndarray:
        levels = self.levels
        wanted = read_priors(priors, levels, self.model.endog_names, positive=True)
        shift = dict(zip(levels, np.log(wanted / np.array(self._level_shares)), strict=True))
        return np.array([shift[level] - shift[self.reference] for level in self.model._equations])

    def _aligned_offset(self, newdata, given):
        model = self.model
        if isinstance(given, pd.DataFrame):
            base = replace(model._response, reference=model._offset_base)
            given = model._labelled_offset(given, base.classes[1:])
            if not (isinstance(newdata, (np.ndarray, list, tuple)) or is_sparse(newdata)):
                table = as_frame(newdata, empty=True, scalars=True)
                given = np.column_stack([align(given[c], name="offset", frame=table) for c in given.columns])
        if not isinstance(given, (str, pd.Series)):
            return model._relative(offset_of_new_rows(given))
        return model._relative(self._offset_of(given, as_frame(newdata, empty=True, scalars=True)))

    @requires(Needs.SPREAD)
    def get_prediction(self, newdata=None, which: str = "mean", offset=None, *, priors=None) -> LevelPredictions:
        """Predicted probabilities with delta-method standard errors and intervals inside (0, 1).

        Of a ridge the standard errors are posterior standard deviations.

        Parameters
        ----------
        newdata, offset
            As in `predict`.
        which : {"mean", "linear"}
            Probabilities, or log-odds against the reference, 0 for it.
        priors
            As in `predict`; they are known, while the shares of the levels in the data that they replace are estimated
            along with the model: rows are taken for a sample (Prentice & Pyke 1979).

        Returns
        -------
        LevelPredictions
            `predicted, se, conf_int(alpha), summary_frame(alpha)`; the interval of p_k is that of log(p_k / (1 - p_k)),
            transformed.
        """
        check_prediction(which)
        X, eta, index = self._linear(newdata, offset)
        size = X.block_size if isinstance(X, FactorColumns) else rows_at_once(X)
        with np.errstate(over="ignore", invalid="ignore"):  # numbers that are infinite, or near the largest
            parts = [self._log_odds_covariance(x) for (x,) in Blocks(X, size=size)]
        q = eta.shape[1] - 1
        S, order = np.concatenate([np.zeros((0, q, q)), *parts]), self.model._order
        if priors is not None:
            eta = eta + np.append(0.0, self._prior_shift(priors))
            S = S + self._share_covariance(X)
        if which == "linear":
            return LevelPredictions._of_log_odds(Multinomial.log_odds(eta), S, order, index, self.levels)
        log_p, p, complement = Multinomial.possible(eta)
        if not self._state.estimate.is_finite:  # a class that is ruled out or certain has no interval
            possible = ~np.isneginf(eta)
            log_p = np.where(possible & (possible.sum(axis=1, keepdims=True) > 1), log_p, np.nan)
        return LevelPredictions._of_probabilities(log_p, p, complement, S, order, index, self.levels)

    def _share_covariance(self, X) -> ndarray:
        """Terms of the estimated shares in the covariance of log-odds relative to the shares', (n, K-1, K-1)."""
        from glmclf.results.regression.prevalence import share_covariance

        C, S = share_covariance(self)
        C = C.reshape(len(S), -1, len(S))
        parts = [np.einsum("nk,akb->nab", x.toarray(), C) for (x,) in Blocks(X)]
        cross = np.concatenate([np.zeros((0, *S.shape)), *parts])
        return S - cross - cross.transpose(0, 2, 1)

    def _log_odds_covariance(self, X: Columns) -> ndarray:
        """Covariance of the linear predictors of rows in the fit's coordinates, (n, K-1, K-1)."""
        n, k = X.shape
        q = len(self._cov.matrix) // k
        if isinstance(X, ArrowColumns) and X.fits(self._cov.matrix, q):
            return X.forms(self._cov.matrix, q)
        V = np.asarray(self._cov.matrix).reshape(q, k, q, k)
        if not isinstance(X, FactorColumns) or not np.isfinite(V).all():
            A = X.toarray()
            return np.einsum("ni,aibj,nj->nab", A, V, A, optimize=True)
        S = np.empty((n, q, q))
        for a in range(q):
            for b in range(a + 1):
                S[:, a, b] = S[:, b, a] = X.form(0.5 * (V[a, :, b] + V[a, :, b].T))
        return S

    # ------------------------------------------------------------------------------------------------- tables

    def _outcome_probabilities(self, eta: ndarray) -> tuple[ndarray, ndarray]:
        """Log probabilities and probabilities of all levels in their order, (n, K)."""
        with np.errstate(invalid="ignore"):
            log_p, p, _ = Multinomial.possible(eta)
        return log_p[:, self.model._order], p[:, self.model._order]

    def _rows_read(self, X, y, trials, offset) -> tuple[ndarray, ndarray, ndarray]:
        return *self._outcome_probabilities(self._eta_of(X, offset)), self.model._level_counts(y)

    def _log_p_beside(self, model) -> ndarray:
        r = model._rows
        eta = self._predictor(r.X, self._rotated(r.X), r.offset)
        return Multinomial.softmax(np.column_stack([np.zeros(len(eta)), eta]))[0][:, self.model._order]

    @property
    def _counts(self) -> ndarray:
        return self.model.wendog

    @property
    def _event_place(self) -> int:
        return self.levels.index(self.model._equations[0])

    def _fitted_columns(self, newdata) -> dict[str, Any]:
        classes = self.predict(newdata, which="class")
        if self._has_spread:
            return beside(self.get_prediction(newdata), classes, self.levels)
        p = self.predict(newdata)
        return {f".fitted_{level}": p[level].to_numpy() for level in self.levels} | {".class": classes.array}

    def _row_columns(self) -> dict[str, Any]:
        r = self.model._rows
        signed = level_residuals.deviance(r.y, r.trials, self._eta)
        if self._regularised:
            return {".resid": signed}
        found = self._influences if self._state.estimate.is_finite else _NO_INFLUENCE
        return {".resid": signed, ".hat": found.leverage + 0.0 * signed, ".cooksd": found.cooks + 0.0 * signed}

    @requires(Needs.ROWS)
    def simulate(self, n: int = 1, seed=None) -> pd.DataFrame:
        """Responses drawn from the fitted model.

        Parameters
        ----------
        n : int
            How many responses a row.
        seed : int, SeedSequence or Generator, optional

        Returns
        -------
        DataFrame
            Columns sim_1, ..., sim_n of labels; of counts, (sim_i, level). A row of frequency weight f stands f times.
        """
        check_whole("n", n, 1, "how many responses to draw")
        r = self.model._rows
        times = times_of(r, self.model._frequency)
        index, generator = r.index.repeat(times), seeds.generator(seed)
        p = np.repeat(self.model._transform(self._eta, "mean"), times, axis=0)
        if r.trials is None:
            return drawn_labels(p, n, generator, self.model._response, index)
        trials = np.repeat(r.trials, times).astype(np.int64)
        draws = {f"sim_{i + 1}": self._by_level(generator.multinomial(trials, p), index) for i in range(n)}
        return pd.concat(draws, axis=1)
