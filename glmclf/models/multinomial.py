"""MNLogit: a model of a response with several unordered classes."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.checks import known_names
from glmclf.core.fit.estimate import estimate
from glmclf.core.fit.solvers.loop import SINGULAR
from glmclf.core.likelihood.objective import MultinomialObjective
from glmclf.core.likelihood.pointwise import Multinomial
from glmclf.core.rows.asked import named
from glmclf.data.response.response import MultinomialResponse
from glmclf.errors import DataError, EstimationError
from glmclf.models.base import Model, check_prediction
from glmclf.models.fit_options import wide_offset
from glmclf.models.levelled import LevelledModel
from glmclf.results.regression.levels import LevelLabels
from glmclf.results.regression.multinomial import MultinomialResults

__all__ = ["MNLogit"]

MIN_RCOND_OF_CONSTANTS = 1e-12  # of the information of constants, below which they are of rounding
MAX_SPREAD = 32.0  # of offsets beside which constants are found from where they would be without


class MNLogit(LevelledModel, LevelLabels, Model[MultinomialResults]):
    """Multinomial logit: log(p_j / p_0) = x'b_j + offset_j for each class j but the reference.

    `fit` maximises the multinomial log-likelihood sum_i w_i sum_j y_ij log p_ij; the default standard errors assume
    that this model is right. exp(b_j) is the ratio of the relative risk p_j / p_0 for one unit of x.

    Parameters
    ----------
    endog : array_like
        Response: labels of any sortable type, (n,); or counts of each class, (n, K).
    exog : array_like
        Regressors, (n, k), the constant included; array, DataFrame or scipy.sparse array.
    reference : label, optional
        The base level; by default the first of the (sorted or categorical) levels.
    offset : (n,) or (n, K-1) array_like, or str, optional
        Added to the linear predictors: to all alike, or one column for each level but the reference, in their order.
    freq_weights : (n,) array_like or str, optional
        How many equal observations each row stands for.
    weights : (n,) array_like or str, optional
        Sampling weights.
    missing : {"drop", "raise", "none"}
        What to do with rows that hold a missing value.

    Notes
    -----
    Where the information of all (K-1) k parameters takes far longer to form than a gradient, `fit` goes by gradients,
    in the metric that the information has without slopes and then in that of a part of the rows, and forms it once, at
    the maximum. A ridge with thousands of parameters does without: see `fit_regularized`.

    References
    ----------
    McCullagh & Nelder (1989), Generalized Linear Models, section 5.2. Boehning (1992), Multinomial logistic regression
    algorithm, Annals of the Institute of Statistical Mathematics 44, 197-200.

    Examples
    --------
    >>> from glmclf import MNLogit, datasets
    >>> penguins = datasets.load("penguins")
    >>> res = MNLogit.from_formula("species ~ body_mass_g + sex", penguins, reference="Gentoo").fit()
    >>> res.params.round(3)
                 Adelie  Chinstrap
    Intercept    75.300     73.629
    sex[T.male]  14.391     14.234
    body_mass_g  -0.019     -0.018
    """

    _coding: ClassVar[dict[str, Any]] = {"reference": None}
    _results_class = MultinomialResults
    _objective_class = MultinomialObjective

    def __init__(
        self,
        endog: Any,
        exog: Any,
        *,
        reference: Any = None,
        offset: Any = None,
        freq_weights: Any = None,
        weights: Any = None,
        missing: str = "drop",
    ) -> None:
        keywords = {"reference": reference, "offset": offset, "freq_weights": freq_weights, "weights": weights}
        self._from_arrays(endog, exog, missing, keywords)

    _kept = (*Model._kept, "_offset_base")

    def _as_dict(self) -> dict[str, Any]:
        from glmclf.data.design.codec import pack

        stored = super()._as_dict()
        stored["kept"]["_offset_base"] = pack(self._offset_base)
        return stored

    @classmethod
    def _rebuild(cls, stored: dict[str, Any], functions):
        from glmclf.data.design.codec import unpack

        self = super()._rebuild(stored, functions)
        self._offset_base = unpack(self._offset_base)
        return self

    def _start_with(self, read, keywords: dict[str, Any]) -> None:
        super()._start_with(read, keywords)
        self._offset_base = self.reference
        given, r = keywords.get("offset"), self._rows
        if isinstance(given, pd.DataFrame) and r.offset is not None and r.offset.ndim == 2:
            columns = list(self._labelled_offset(given, self._equations).columns)
            place = [list(given.columns).index(c) for c in columns]
            self._rows_ = replace(r, offset=r.offset[:, place])
        self._note_lost_levels(read.labels)

    def _note_lost_levels(self, found: Any) -> None:
        """Note levels of the response's column that no row of the fit has: lost to missing values or zero weights."""
        if self._response.kind != "classes":
            return
        name, known = self.endog_names, {str(level) for level in self.levels}
        lost = sorted({str(v) for v in found} - known)
        lost = [v for v in lost if not any(v in note for note in self._notes)]
        if lost and all(not v.endswith(".0") for v in lost):
            words = ", ".join(f'"{v}"' for v in lost)
            self._notes.append(f"level{'s' if len(lost) > 1 else ''} {words} of {name}: no rows used, left out")

    def _in_order(self, params):
        if isinstance(params, pd.DataFrame) and not isinstance(params.columns, pd.RangeIndex):
            rows, columns = self.exog_names, self._equations
            if set(params.index) != set(rows) or set(params.columns) != set(columns):
                found = f"{known_names(params.index)} by {list(params.columns)}"
                raise ValueError(f"params is labelled {found}; the model has {known_names(rows)} by {columns}")
            return params.loc[rows, columns]
        return super()._in_order(params)

    @classmethod
    def _coder(cls, coding: dict[str, Any]):
        return functools.partial(MultinomialResponse.build, reference=coding["reference"])

    def _coding_for(self, formula: str) -> dict[str, Any]:
        """Keywords for another formula: its reference is that of this model, to which its offset is relative."""
        return {**super()._coding_for(formula), "reference": self.reference}

    # ------------------------------------------------------------------------------------------------- names
    @property
    def _regressor_terms(self) -> dict[str, Any]:
        return self._design.terms

    @property
    @named
    def wendog(self) -> ndarray:
        """The response as counts of each level, (n, J), in the order of `levels`."""
        return self._level_counts(self._rows.y)

    def _level_counts(self, y: ndarray) -> ndarray:
        return _counts(y, self.J)[:, self._order]

    @property
    def df_model(self) -> int:
        """Slopes of all equations."""
        return (self.K - self.k_constant) * (self.J - 1)

    def _check_offset(self, offset: ndarray | None) -> None:
        if offset is not None and offset.ndim == 2 and offset.shape[1] != self.J - 1:
            raise DataError(
                f"offset has {offset.shape[1]} columns; {self.endog_names} has {self.J} levels: give one value a row, "
                f"or {self.J - 1} columns, for {self._equations}"
            )

    def _relative(self, offset: ndarray) -> ndarray:
        """Offset relative to this model's reference, from an offset relative to the reference of the fit."""
        if offset.ndim > 2 or (offset.ndim == 2 and offset.shape[1] != self.J - 1):
            raise DataError(
                f"offset has shape {offset.shape}; {self.endog_names} has {self.J} levels: give one value a row, or "
                f"{self.J - 1} columns, for the levels but {self._offset_base!r}"
            )
        if self.reference == self._offset_base:
            return offset
        offset = np.atleast_1d(offset)
        given = replace(self._response, reference=self._offset_base).classes
        full = np.zeros((len(offset), self.J))
        full[:, 1:] = offset if offset.ndim == 2 else offset[:, None]
        full = full[:, [given.index(c) for c in self._response.classes]]
        return full[:, 1:] - full[:, :1]

    def _labelled_offset(self, offset, equations: list[Any]):
        """Sort the columns of a table of offsets by equation; return an offset of any other kind unchanged."""
        if not isinstance(offset, pd.DataFrame) or isinstance(offset.columns, pd.RangeIndex) or offset.shape[1] == 1:
            return offset
        if set(offset.columns) != set(equations) or not offset.columns.is_unique:
            columns = list(offset.columns)
            raise DataError(f"offset has the columns {columns}; the levels but the reference are {equations}")
        return offset[equations]

    def _rebased(self, level) -> MNLogit:
        """A copy of the model against another reference."""
        old = self._response
        if level not in old.levels:
            raise ValueError(f"{level!r} is not a level of {self.endog_names}, which has {old.levels}")
        new = replace(old, reference=old.levels[old.levels.index(level)])
        other = self._copy_with(keep=("_constant", "k_constant", "_ranges"), _response=new)
        if self._rows_ is None:
            return other
        order = np.array([old.classes.index(c) for c in new.classes])
        other._rows_ = r = self._rows_.map(lambda X, y, m, o, w: (X, *_recoded(y, m, o, order), w))
        new.y = r.y
        return other

    def _without(self, level=None, counts: ndarray | None = None) -> MNLogit:
        """Model of the rows without one level; or, with `counts`, of other counts in place of the response.

        `counts`, (n, J) in the order of the classes, have their weights in them. If the reference is the level left
        out, the next class takes its place.
        """
        classes = self._response.classes
        other = self._rebased(classes[1]) if level == classes[0] else self._rebased(classes[0])
        r, mine = other._rows, other._response
        weights = r.weights if counts is None else None
        place = [classes.index(c) for c in mine.classes]
        y = _counts(r.y, self.J) if counts is None else counts[:, place]
        kept = [j for j, c in enumerate(mine.classes) if c != level]
        y = y[:, kept]
        rows = np.flatnonzero(y.any(axis=1))
        empty = [str(mine.classes[j]) for j in kept if not y[:, kept.index(j)].any()]
        if empty:
            raise EstimationError(f"no rows of level {', '.join(empty)}")
        offset = r.offset
        if offset is not None and offset.ndim == 2:
            offset = offset[:, [j - 1 for j in kept if j > 0]]
        y = y[rows]
        levels = [c for c in mine.levels if c != level]
        response = replace(mine, levels=levels, y=y, trials=y.sum(axis=1), kind="counts")
        part = replace(
            r.take(rows),
            X=r.X[rows],
            y=y,
            trials=response.trials,
            offset=None if offset is None else offset[rows],
            weights=None if weights is None else weights[rows],
        )
        other = other._copy_with(keep=("k_constant", "_ranges"), _response=response, _rows_=part)
        other.nobs = other._count(part.weights)
        return other

    def _counts_of(self, y: ndarray, trials: ndarray | None) -> ndarray:
        return _counts(y, self.J)

    # --------------------------------------------------------------------------------------------- likelihood
    @property
    def _likelihood(self) -> Multinomial:
        return Multinomial(len(self.levels))

    @property
    def _block_size(self) -> int:  # type: ignore[override]
        # no power of two: rows of arrays of all classes would compete for the same lines of the cache
        return max(512, self._rows.X.block_size // max(1, (self.J - 1) // 2)) + 64

    def _constant_rows(self):
        return self._likelihood.constant(self._rows.y, self._rows.trials)

    def _by_equation(self, theta: ndarray) -> ndarray:
        return theta.reshape(self.K, -1, order="F")

    def _eta(self, params, X, offset) -> ndarray:
        return _with_offset(self._linear_at(params, X), offset)

    def _pointwise(self, params, expected=False):
        r = self._rows
        return self._likelihood.pointwise(r.y, r.trials, self._eta(params, r.X, r.offset))

    def _weighted(self, values):
        w = self._rows.weights
        return values if w is None else (w[:, None] * values if np.ndim(values) == 2 else w * values)

    @named
    def score_obs(self, params: Any) -> ndarray:
        """Derivative of `loglikeobs` in the parameters, (n, p), equation by equation."""
        X = self._rows.X[:].toarray()
        return np.hstack([X * u[:, None] for u in self.score_factor(params).T])

    @named
    def hessian_factor(self, params: Any) -> ndarray:
        """Second derivatives of `loglikeobs` in the linear predictors, (n, J-1, J-1)."""
        r = self._rows
        _, _, p, q = self._pointwise(params)
        W = p[:, :, None] * p[:, None, :]
        j = np.arange(p.shape[1])
        W[:, j, j] = -p * q
        times = np.ones(len(r)) if r.trials is None else r.trials
        return W * (times if r.weights is None else times * r.weights)[:, None, None]

    # ---------------------------------------------------------------------------------------- start and null
    @property
    def _shares(self) -> ndarray:
        """Weighted shares of the classes, the reference first."""
        total = self._sums[:-1]
        return total / total.sum()

    @cached_property
    def _null_intercepts(self) -> ndarray:
        """Intercepts of the null model with the offset."""
        start = np.log(self._shares[1:] / self._shares[0])
        if self._rows.offset is None:
            return start
        objective, shift = self._without_regressors()
        middle, spread = objective.blocks.middle(3)
        scales = 2.0 ** np.arange(max(np.ceil(np.log2(max(spread.max() / MAX_SPREAD, 1.0))), 0.0), -1.0, -1.0)
        constants = start - middle / scales[0]
        for scale in scales:  # of offsets so wide that they decide rows, first a fraction: twice the constants are near
            blocks = objective.blocks.map(lambda X, y, m, o, w, scale=scale: (X, y, m, o / scale, w))
            fit = estimate("newton", type(objective)(objective.likelihood, blocks, objective.unit), constants).fit
            constants = 2.0 * fit.theta
        told = fit.evaluation.well_conditioned(MIN_RCOND_OF_CONSTANTS)
        if not (fit.converged and told):
            model = f"the model of {self.endog_names} with constants and the offset alone"
            raise EstimationError(f"{model}: {fit.message if told else SINGULAR}. {wide_offset(self)}")
        return fit.theta - shift

    def _start(self) -> ndarray:
        B = np.zeros((self.K, self.J - 1))
        constant = self._rows.constant_column()
        if constant is not None:
            B[constant[0]] = self._null_intercepts / constant[1]
        return B.ravel(order="F")

    def _null_loglike(self) -> float:
        b = self._null_intercepts if self.k_constant else np.zeros(self.J - 1)
        objective, shift = self._without_regressors()
        return objective.gradient(b + shift).value

    # ----------------------------------------------------------------------------------------------- predict
    @named
    def predict(self, params: Any, exog: Any = None, which: str = "mean", offset: Any = None) -> ndarray:
        """Predictions at given parameters.

        Parameters
        ----------
        params : (k, J-1) or flat array_like
            Flat ones are equation by equation.
            NaN of columns that a fit of this model left out counts as 0. Infinite ones do not count in rows where their
            column is 0; rows where infinities of both signs meet are NaN, also where `predict` of the result, which
            knows the directions of separation, has a limit.
        exog : array_like or DataFrame, optional
            Rows of the design (scipy.sparse, too), or a table with the formula's variables; by default the rows of the
            model.
        which : {"mean", "linear", "var"}
            Probabilities p; linear predictors, whose column of the reference is 0; or p (1 - p).
        offset : array_like, optional
            Offset of the rows; by default the model's own for its own rows.

        Returns
        -------
        (n, J) ndarray
            In the order of `levels`.
        """
        if offset is not None:
            offset = self._relative(self._row_offset(offset, exog))
        eta = _with_offset(self._linear_of_rows(params, exog), self._offset_of_rows(offset, exog))
        return self._transform(np.column_stack([np.zeros(len(eta)), eta]), which)

    def _transform(self, eta: ndarray, which: str) -> ndarray:
        """Predictions from the linear predictors of all classes, the reference first."""
        check_prediction(which)
        if which == "linear":
            return Multinomial.log_odds(eta)[:, self._order]
        with np.errstate(invalid="ignore"):
            _, p, q = Multinomial.possible(eta)
        return (p if which == "mean" else p * q)[:, self._order]


def _with_offset(eta: ndarray, offset) -> ndarray:
    """Add an offset of the rows, one for all equations or one for each, to linear predictors (n, K-1)."""
    if offset is None:
        return eta
    offset = np.asarray(offset, dtype=float)
    return eta + (offset if offset.ndim == 2 else offset[:, None] if offset.ndim else offset)


def _counts(y: ndarray, K: int) -> ndarray:
    """Classes as counts, (n, K)."""
    return y if y.ndim == 2 else (y[:, None] == np.arange(K)).astype(float)


def _recoded(y: ndarray, trials: Any, offset: ndarray | None, order: ndarray) -> tuple[ndarray, Any, ndarray | None]:
    """Recode classes or counts, trials, and offsets relative to the first class, for another order of the classes."""
    y = np.argsort(order)[y] if y.ndim == 1 else y[:, order]
    if offset is None:
        return y, trials, None
    full = np.zeros((len(offset), len(order)))
    full[:, 1:] = offset if offset.ndim == 2 else offset[:, None]
    full = full[:, order]
    return y, trials, full[:, 1:] - full[:, :1]
