"""Estimates by level of a response: tables with a column a level, contrasts of levels, one-equation views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.special import expit

from glmclf.checks import check_choice
from glmclf.core.rows.asked import under_usual_errors
from glmclf.data.table.frame import labels
from glmclf.errors import escaped
from glmclf.inference.hypotheses import wald
from glmclf.inference.hypotheses.multiplicity import share_of_alpha
from glmclf.inference.margins.contrasts import check_adjust
from glmclf.inference.margins.prediction import INTERVAL_PREDICTIONS, INTERVALS, level_logit_se
from glmclf.results.hypotheses.chosen import check_formed
from glmclf.results.interop import StatsmodelsStyle
from glmclf.results.requires import Needs, requires
from glmclf.results.tables import frames
from glmclf.results.wald import WaldInference


class Levels:
    """Mixin with the order of the levels of a response, for classes that have `levels` and `reference`."""

    if TYPE_CHECKING:

        @property
        def levels(self) -> list[Any]: ...
        @property
        def reference(self) -> Any: ...

    @property
    def _classes(self) -> list[Any]:
        """Levels of the response, the base level first."""
        return [self.reference, *(level for level in self.levels if level != self.reference)]

    @property
    def _equations(self) -> list[Any]:
        """Levels that have an equation, all but the base level."""
        return self._classes[1:]

    @property
    def J(self) -> int:
        """Number of levels of the response."""
        return len(self.levels)

    @property
    def _order(self) -> list[int]:
        """Places of `levels` among the classes, the reference first."""
        classes = self._classes
        return [classes.index(level) for level in self.levels]


def spelled(levels: list[Any]) -> list[str]:
    """Spell levels as in names of parameters: as text, floats without their point where all are whole.

    Examples
    --------
    >>> spelled([0.0, 1.0]), spelled([0.5, 1.0]), spelled(["a", 1])
    (['0', '1'], ['0.5', '1.0'], ['a', '1'])
    """
    whole = all(isinstance(v, (float, np.floating)) and float(v).is_integer() and abs(float(v)) < 1e15 for v in levels)
    return [str(int(v)) if whole else str(v) for v in levels]


class LevelLabels(Levels):
    """Names of parameters by level and regressor, equation by equation.

    A class that has `levels`, `reference`, `exog_names` and `_regressor_terms`, the places of each term's columns, gets
    the rest.
    """

    if TYPE_CHECKING:

        @property
        def exog_names(self) -> list[str]: ...
        @property
        def _regressor_terms(self) -> dict[str, Any]: ...

    @property
    def K(self) -> int:
        """Number of regressors of an equation."""
        return len(self.exog_names)

    @property
    def _param_names(self) -> list[str]:
        return [f"y{level}_{name}" for level in spelled(self._classes)[1:] for name in self.exog_names]

    @property
    def _param_index(self) -> pd.Index:
        return labels(self.exog_names, self._equations)

    @property
    def _terms(self) -> dict[str, Any]:
        starts = np.arange(len(self._equations)) * self.K
        return {
            name: np.concatenate([np.arange(self.K)[part] + start for start in starts])
            for name, part in self._regressor_terms.items()
        }


class LevelEstimates(WaldInference):
    """Estimates of log p_j / p_0 for each level j but the reference: rows are regressors, columns levels."""

    @property
    def _table_levels(self) -> list[Any]:
        """Levels that have parameters, the columns of tables."""
        return self.model._equations

    def _labelled(self, values) -> pd.DataFrame:
        table = np.array(values, dtype=float).reshape(self.model.K, -1, order="F")
        columns = pd.Index(self._table_levels, dtype=object)
        return pd.DataFrame(table, index=labels(self.model.exog_names), columns=columns)

    @property
    @requires()
    def levels(self) -> list[Any]:
        """All levels of the response, in their order."""
        return self.model.levels

    @property
    @requires()
    def reference(self) -> Any:
        """Base level of the log-odds."""
        return self.model.reference

    @requires(Needs.ODDS)
    def odds_ratios(self, alpha: float = 0.05, units=None, method: str = "wald") -> pd.DataFrame:
        """Relative risk ratios exp(u b) against the reference, with delta-method standard errors.

        Parameters
        ----------
        alpha : float
            One minus the level of the intervals.
        units : dict, optional
            The change of a regressor that counts as one unit, ``{"age": 10}``.
        method : {"wald", "profile"}
            Of the intervals, as in `conf_int`; "profile" is for MNLogit.

        Returns
        -------
        DataFrame
            Indexed by (level, regressor).
        """
        return frames.odds_ratios(self, alpha, units, method)

    @requires(Needs.MAXIMUM)
    def level_contrasts(self, alpha: float = 0.05) -> pd.DataFrame:
        """Coefficients of every level against every other, with tests and intervals.

        Parameters
        ----------
        alpha : float
            One minus the level of the intervals.

        Returns
        -------
        DataFrame
            Indexed by (level, against, regressor): coef, std err, z, P>|z| and the interval.
        """
        k, classes = self.model.K, self.model._classes
        labels, R = [], []
        for a, level in enumerate(self.levels):
            for against in self.levels[:a]:
                for i, name in enumerate(self.model.exog_names):
                    row = np.zeros(len(self._theta))
                    for label, sign in ((level, 1.0), (against, -1.0)):
                        if classes.index(label):
                            row[(classes.index(label) - 1) * k + i] = sign
                    labels.append((level, against, name))
                    R.append(row)
        estimate, se = self._contrasts(np.array(R))
        z = wald.ratios(estimate, se)
        columns = ["coef", "std err", "z", "P>|z|", *frames.interval_headings(alpha)]
        values = np.column_stack([estimate, se, z, wald.z_pvalues(z), wald.intervals(estimate, se, alpha)])
        index = pd.MultiIndex.from_tuples(labels, names=["level", "against", "regressor"])
        return frames.WholeFrame(values, index=index, columns=columns)

    @requires(Needs.MAXIMUM)
    def combine_test(self, level: Any, other: Any) -> Any:
        """Wald test that all slopes of two levels are equal, so that the levels may be merged.

        Parameters
        ----------
        level, other : label
            Two levels of the response.

        Returns
        -------
        statsmodels ContrastResults
            Chi-squared with as many degrees of freedom as there are slopes.

        Raises
        ------
        ValueError
            Not two levels of the response.

        References
        ----------
        Cramer & Ridder (1991), Pooling states in the multinomial logit model. Journal of Econometrics 47, 267-272.
        """
        classes, k = self.model._classes, self.model.K
        unknown = [v for v in (level, other) if v not in classes]
        if unknown or level == other:
            raise ValueError(f"combine_test needs two of the levels {self.levels}; found {level!r} and {other!r}")
        N = self._slopes()
        if not len(N):
            raise ValueError("combine_test compares slopes; the model has none")
        R = np.zeros((len(N), len(self._theta)))
        for label, sign in ((level, 1.0), (other, -1.0)):
            if classes.index(label):
                j = (classes.index(label) - 1) * k
                R[:, j : j + k] = sign * N
        if getattr(self, "separation", None) is not None and self._touches_infinity(R):  # type: ignore[attr-defined]
            raise ValueError(
                f"combine_test: slopes of {level!r} and {other!r} differ by an infinite amount, or by one that is not "
                f"determined ({self.separation}), of which there is no Wald test"  # type: ignore[attr-defined]
                + ("" if self.model._pseudo else '. Use fit(bias_reduction="firth")')
            )
        return self.wald_test(R)

    def _slopes(self) -> ndarray:
        """Matrix N with N d = 0 if and only if coefficients d are a constant alone."""
        raise NotImplementedError

    @property
    @requires(Needs.MAXIMUM)
    def equations(self) -> dict[Any, Equation]:
        """Equations by level, each in the shape that tables of other packages take."""
        return {level: Equation(self, j, level) for j, level in enumerate(self.model._equations)}

    def _by_level(self, values: ndarray, index: pd.Index) -> pd.DataFrame:
        return pd.DataFrame(values, index=index, columns=pd.Index(self.levels, dtype=object), copy=False)


@under_usual_errors
class LevelPredictions(frames.FrameShown):
    """Predictions for each level with standard errors and intervals, labelled by row and level.

    Parameters
    ----------
    predicted, se : (n, K) ndarray
    centre, spread : (n, K) ndarray
        What is nearly normal, and its standard error: the interval of a prediction is `back` of that of `centre`.
    back : callable
    index : Index
    levels : list
    lacking : (n,) ndarray, optional
        Features that each row lacks.
    """

    def __init__(self, predicted, se, centre, spread, back, index, levels, lacking: ndarray | None = None):
        self._predicted, self._se = predicted, se
        self._centre, self._spread, self._back = centre, spread, back
        self._index, self._levels = index, levels
        self._lacking = lacking if lacking is not None and lacking.any() else None

    @classmethod
    def _of_probabilities(cls, log_p, p, q, S, order, index, levels, lacking=None) -> LevelPredictions:
        """Create predictions of probabilities from their logs, values and complements, (n, K).

        S (n, K-1, K-1) is the covariance of the log-odds; all arrays have the base level first. Intervals are those of
        log(p / (1 - p)), transformed; a row has none where the log is NaN.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            logit, spread = log_p - np.log(q), level_logit_se(S, p, q)
        spread[np.isnan(log_p)] = np.nan
        p, se, logit, spread = (c[:, order] for c in (p, p * q * spread, logit, spread))
        return cls(p, se, logit, spread, expit, index, levels, lacking)

    @classmethod
    def _of_log_odds(cls, log_odds, S, order, index, levels, lacking=None) -> LevelPredictions:
        """Create predictions of log-odds against the base level (n, K) from their covariance S (n, K-1, K-1).

        Both are 0 for the base level. Infinite log-odds have no interval.
        """
        with np.errstate(invalid="ignore"):  # a variance below 0 (multiway clusters) is NaN
            se = np.sqrt(np.diagonal(S, axis1=1, axis2=2))
        se = np.column_stack([np.zeros(len(se)), se])
        se[~np.isfinite(log_odds)] = np.nan
        log_odds, se = log_odds[:, order], se[:, order]
        return cls(log_odds, se, log_odds, se, np.asarray, index, levels, lacking)

    def _frame(self, values) -> pd.DataFrame:
        return pd.DataFrame(values, index=self._index, columns=pd.Index(self._levels, dtype=object))

    @property
    def predicted(self) -> pd.DataFrame:
        """Predictions, a column a level."""
        return self._frame(self._predicted)

    @property
    def se(self) -> pd.DataFrame:
        """Delta-method standard errors, a column a level."""
        return self._frame(self._se)

    def conf_int(self, alpha: float = 0.05, adjust: str = "none") -> pd.DataFrame:
        """Intervals of level 1 - alpha.

        Parameters
        ----------
        alpha : float
            In (0, 1).
        adjust : {"none", "bonferroni", "sidak"}
            Whether they hold level by level, or for all levels of a row together: a box that holds the row's point of
            the simplex. Of two levels one interval says both.

        Returns
        -------
        DataFrame
            Rows (row, level), columns ci_lower and ci_upper.
        """
        return self.summary_frame(alpha, adjust)[["ci_lower", "ci_upper"]]

    def summary_frame(self, alpha: float = 0.05, adjust: str = "none") -> pd.DataFrame:
        """Table of predicted, se, ci_lower and ci_upper by (row, level); also features_missing where a row lacks some.

        Parameters
        ----------
        alpha, adjust
            As in `conf_int`.

        Returns
        -------
        DataFrame
        """
        n, K = self._predicted.shape
        family = K if K > 2 else 1
        half = wald.critical_value(share_of_alpha(alpha, check_adjust(adjust), family)) * self._spread
        index = pd.MultiIndex.from_arrays(
            [self._index.repeat(K), pd.Index(self._levels * n, dtype=object)], names=[self._index.name, "level"]
        )
        columns = (self._predicted, self._se, self._back(self._centre - half), self._back(self._centre + half))
        names = ("predicted", "se", "ci_lower", "ci_upper")
        table = pd.DataFrame({name: c.ravel() for name, c in zip(names, columns, strict=True)}, index=index)
        return table if self._lacking is None else table.assign(features_missing=np.repeat(self._lacking, K))


def check_prediction(which: Any) -> None:
    """Refuse kinds of predictions that have no intervals."""
    check_choice("which", which, INTERVAL_PREDICTIONS, INTERVALS)


def beside(prediction: LevelPredictions, classes: pd.Series, levels: list[Any]) -> dict[str, Any]:
    """Columns that `augment` adds to a table: fitted values and standard errors of each level, and the class."""
    new: dict[str, Any] = {}
    for level in levels:
        new[f".fitted_{level}"] = prediction.predicted[level].to_numpy()
        new[f".se_fit_{level}"] = prediction.se[level].to_numpy()
    return {**new, ".class": classes.array}


def drawn_labels(p: ndarray, n: int, generator: Any, response: Any, index: pd.Index) -> pd.DataFrame:
    """Labels drawn n times for each row of probabilities p, in the order of the levels: columns sim_1, ..., sim_n."""
    cumulative = p.cumsum(axis=1)[:, :-1]
    draws = ((generator.random(len(p))[:, None] > cumulative).sum(axis=1) for _ in range(n))
    return pd.DataFrame({f"sim_{i}": response.series(codes, index) for i, codes in enumerate(draws, 1)}, index=index)


class Equation(StatsmodelsStyle):
    """Equation of a multinomial logit, in the shape of a binary result."""

    use_t = False

    def __repr__(self) -> str:
        return escaped(f"<Equation of {self.level} against {self.model.reference}, {len(self.params)} coefficients>")

    def __init__(self, res: Any, j: int, level):
        self.level, k = level, res.model.K
        self._part = slice(j * k, (j + 1) * k)
        names = res.model.exog_names
        self.params, self.bse = res.params[level], res.bse[level]
        self.tvalues, self.pvalues = res.tvalues[level], res.pvalues[level]
        self._res, self._names = res, names
        self.nobs, self.llf, self.aic, self.bic = res.nobs, res.llf, res.aic, res.bic
        self.df_model, self.df_resid, self.prsquared = res.df_model, res.df_resid, res.prsquared

    @property
    @requires()
    def model(self) -> Any:
        """Model of the fit."""
        return self._res.model

    @requires()
    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Intervals of the equation's parameters: columns 0 and 1."""
        return self._res.conf_int(alpha).iloc[self._part].set_axis(self._names)

    @requires()
    def cov_params(self) -> pd.DataFrame:
        """Covariance of the equation's parameters; of some of them `cov_params(columns=)` of the fit has it."""
        check_formed(len(self._names))
        block = self._res._block(np.arange(self._part.start, self._part.stop))
        return pd.DataFrame(block, index=self._names, columns=self._names)
