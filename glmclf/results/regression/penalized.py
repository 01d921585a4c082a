"""Results of penalised fits: ridge, lasso and elastic net, and maximum likelihood refits of selected columns."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.design.columns import beside as side_by_side
from glmclf.core.design.columns import some_columns
from glmclf.core.fit.coordinates import Coordinates, into_basis
from glmclf.core.fit.rank import triangular_factor
from glmclf.core.penalised.problem import LazyCovariance, PenalisedEstimate, Penalty
from glmclf.inference.covariance.types import Covariance
from glmclf.inference.hypotheses import wald
from glmclf.inference.residuals import multinomial as level_residuals
from glmclf.results.regression.binary import BinaryResults
from glmclf.results.regression.levels import beside, spelled
from glmclf.results.regression.multinomial import MultinomialResults
from glmclf.results.regression.results import RegressionResults
from glmclf.results.requires import Needs, check_needs, requires
from glmclf.results.tables import frames
from glmclf.results.tables.numbers import count, number

POSTERIOR, REFIT, NONE = "posterior", "nonrobust", "none"
WORDS = {
    POSTERIOR: "Standard errors are posterior standard deviations: the penalty is a normal prior, the posterior normal "
    "at its mode. There is no z and no p.",
    REFIT: "Standard errors are from the inverse observed information of the selected columns; they and the p-values "
    "ignore that the same data selected them.",
    NONE: "",
}

NOT_KEPT = ("_rounded", "_digits", "_flagged")  # quantities of a maximum of the likelihood


class SpreadCovariance(Covariance):
    """Lazy covariance of all parameters, from an estimate of the columns that are not omitted."""

    def __init__(self, name: str, description: str, spread: LazyCovariance, coordinates: Coordinates):
        super().__init__(name, np.zeros((0, 0)), description)
        del self.__dict__["matrix"]
        self.__dict__["form"] = partial(_of_parameters, spread, coordinates)
        if spread.known:
            _ = self.matrix

    @cached_property
    def matrix(self) -> ndarray:
        """Covariance matrix, (p, p)."""
        found = self.__dict__["form"]()
        del self.__dict__["form"]  # releases the data
        return found


def _of_parameters(spread: LazyCovariance, coordinates: Coordinates) -> ndarray:
    assert spread.parameters is not None
    return coordinates.wide(spread.parameters) if coordinates.omitted else spread.parameters


class RegularizedResults(RegressionResults):
    """Results of `fit_regularized`: maxima of ``llf/N - alpha ((1 - L1_wt)/2 |b|^2 + L1_wt |b|_1)``.

    A ridge has posterior standard deviations and intervals, as under independent normal priors with mean 0 and
    precision N alpha. A lasso has a selected set and no standard errors. Neither has z, p and tests: these are refused.

    With more than 3,000 coefficients a ridge of MNLogit forms the information, and the covariance from it, when `bse`,
    `cov_params`, `df_model` or what rests on them is first asked for.
    """

    _regularised: ClassVar[bool] = True
    _has_bic: ClassVar[bool] = True  # counts effective degrees of freedom

    @property
    def _again(self) -> bool:
        """Whether the estimate is a maximum likelihood refit."""
        return self._cov.name == REFIT

    @property
    def _penalised(self) -> PenalisedEstimate:
        assert isinstance(self._state.estimate, PenalisedEstimate)
        return self._state.estimate

    @property
    def _b(self) -> ndarray:
        assert self._penalised.b is not None
        return self._penalised.b

    @property
    def _penalty(self) -> Penalty:
        assert self._penalised.penalty is not None
        return self._penalised.penalty

    # ------------------------------------------------------------------------------------------- what was asked
    @property
    @requires()
    def alpha(self) -> Any:
        """Weight of the penalty: a number where all penalised coefficients share it, else labelled like `params`."""
        given = np.unique(self._penalty.alpha[self._penalty.alpha > 0])
        return (float(given[0]) if len(given) else 0.0) if len(given) < 2 else self._labelled(self._penalty.alpha)

    @property
    @requires()
    def L1_wt(self) -> float:
        """Share of the absolute values in the penalty: 0 is a ridge, 1 a lasso."""
        return self._penalty.L1_wt

    @property
    @requires()
    def symmetric(self) -> bool:
        """Whether every class has a coefficient vector, as the softmax of glmnet and of neural networks."""
        return self._penalised.symmetric

    @property
    @requires()
    def refit(self) -> bool:
        """Whether the selected columns were fitted again by maximum likelihood."""
        return self._again

    # ----------------------------------------------------------------------------------------------- numbers
    @property
    @requires()
    def llf_penalized(self) -> float:
        """Penalised log-likelihood at its maximum, llf - ``N alpha ((1 - L1_wt)/2 |b|^2 + L1_wt |b|_1)``."""
        if self._again:
            raise AttributeError("llf_penalized: a refit maximises the likelihood; llf is its maximum")
        return self.llf - self._penalty.value(self._b)

    @cached_property
    def _V(self) -> ndarray:
        """Posterior covariance of the coefficients; NaN without a posterior."""
        V = np.array(self._penalised.V) if self._has_spread else np.full((len(self._b), len(self._b)), np.nan)
        lost = np.zeros(len(V), dtype=bool) if self._omitted is None else self._omitted.copy()
        if self._again:
            lost |= self._b == 0
        V[lost] = V[:, lost] = np.nan
        return V

    def _repeated(self, model) -> Any:
        free = model._constant_column()
        d, k = len(self._b), len(model.exog_names)
        penalized = free is not None and bool(self._penalty.alpha[np.arange(d) % k == free].any())
        return model.fit_regularized(
            *(self.alpha, self.L1_wt),
            penalize_intercept=penalized,
            **({"symmetric": True} if self.symmetric else {}),
            refit=self.refit,
            n_threads=1,
        )

    @property
    def _has_spread(self) -> bool:
        return self._cov.name != NONE

    @property
    @requires()
    def posterior_sd(self) -> Any:
        """Posterior standard deviations, labelled like `params`.

        They are the square roots of the diagonal of (I + ridge)^-1, I the observed information and ridge = N alpha. NaN
        where there is no posterior: after a lasso, and of a pseudo-likelihood.
        """
        if self._again:
            raise NotImplementedError("posterior_sd of a refit: it has no prior. bse has the standard errors")
        return self._labelled(self._se)

    @cached_property
    @requires()
    def k_params_effective(self) -> float:
        """Effective degrees of freedom: the trace of I (I + ridge)^-1 over the coefficients that are not 0.

        I is the observed information. After a lasso it is their number (Zou, Hastie & Tibshirani 2007).
        """
        return float(self._penalised.shares.sum())

    @property
    def _size(self) -> Any:
        return self.k_params_effective

    @cached_property
    @requires()
    def df_model(self) -> float:  # type: ignore[override]
        """Effective degrees of freedom of the slopes; after a lasso the number of slopes that are not 0.

        Where columns span a constant without being one, less the effective degrees of freedom of that constant alone,
        with the same penalty.
        """
        slopes = float(self._penalised.shares[self._slope].sum())
        spanned = self.model.k_constant and self._slope.all()
        return max(0.0, slopes - self._share_of_constant()) if spanned else slopes

    def _share_of_constant(self) -> float:
        """Trace of A (A + R)^-1, A the information on the constants that the coefficients span and R their ridge."""
        model, found = self.model, self._penalised
        columns = self._state.columns
        both = model._rows.columns().map(
            lambda X: (side_by_side(some_columns(X, columns), np.ones((X.shape[0], 1))),)
        )
        R, c = triangular_factor(both), np.zeros(len(model.exog_names))
        c[columns] = np.linalg.lstsq(R[:, :-1], R[:, -1], rcond=None)[0]
        c[np.abs(c) < 1e-9 * np.abs(c).max()] = 0.0
        C = np.kron(np.eye(len(self._b) // len(c)), c[:, None])
        if self._penalty.lasso.any():  # only classes with all columns selected have a constant
            C = C[:, ~(C[self._b == 0] != 0).any(axis=0)]
        D = np.kron(model._contrasts_of_levels(), np.eye(len(c))) if found.symmetric else np.eye(len(self._b))
        DC = D @ C if self._state.basis is None else into_basis(self._state.basis, D @ C)
        A = DC.T @ self._state.fit.evaluation.information @ DC
        return float(np.trace(np.linalg.pinv(A + (C.T * self._penalty.ridge) @ C, hermitian=True) @ A))

    @property
    @requires()
    def df_resid(self) -> float:
        """Observations less effective degrees of freedom."""
        return self.nobs - self.k_params_effective

    @property
    def _k_counted(self) -> float:
        return self.k_params_effective

    @property
    def _slope(self) -> ndarray:
        """Mask of the coefficients that are not intercepts, (d,)."""
        k, constant = len(self.model.exog_names), self._penalised.constant
        return np.arange(len(self._b)) % k != (-1 if constant is None else constant)

    @property
    @requires()
    def selected(self) -> pd.Index:
        """Labels of the slopes that are not 0: names of columns or, with several classes, (level, regressor)."""
        return self._param_index[self._slope & (self._b != 0)]

    # ------------------------------------------------------------------------------------- intervals and tables
    @requires()
    def conf_int(self, alpha: float = 0.05, method: str = "wald") -> pd.DataFrame:
        """Posterior intervals of a ridge's coefficients, estimate -/+ z sd; of a refit confidence intervals.

        Parameters
        ----------
        alpha : float
            One minus the level, in (0, 1).
        method : {"wald"}
            The penalised likelihood is not profiled.

        Returns
        -------
        DataFrame
            Columns 0 and 1: the ends.

        Raises
        ------
        NotImplementedError
            After a lasso, and of a pseudo-likelihood; "profile".
        ValueError
            Another method.
        """
        _check_interval(self, "conf_int", method)
        check_needs(self, "conf_int()", Needs.SPREAD)
        return pd.DataFrame(wald.intervals(self._theta, self._se, alpha), index=self._param_index, columns=[0, 1])

    @requires(Needs.SPREAD)
    def cov_params(self, r_matrix=None) -> pd.DataFrame | ndarray:
        """Posterior covariance of a ridge's coefficients, or of R params; of a refit their covariance.

        Parameters
        ----------
        r_matrix : (J, p) array_like, optional

        Returns
        -------
        DataFrame (p, p), or ndarray (J, J)
        """
        return super().cov_params(r_matrix)

    def _coordinates(self, R: ndarray) -> tuple[ndarray, ndarray, ndarray]:
        zero = R[:, np.isnan(np.diag(self._V))].any(axis=0)
        if zero.any():
            names = np.array(self._param_names)[np.isnan(np.diag(self._V))][zero]
            raise ValueError(f"the hypothesis is about {', '.join(names)}, which was not selected")
        if self._state.basis is not None and not self.symmetric:
            return self._in_coordinates(R)
        return np.nan_to_num(self._theta), np.nan_to_num(self._V), R

    def _columns_shown(self, alpha: float, exponentiate: bool = False) -> frames.Coefficients:
        """Columns of the table of coefficients; NaN for statistics that a penalised fit does not have."""
        if exponentiate:
            frames.check_ratio(self)
        ends = wald.intervals(self._theta, self._se, alpha)
        z = self._theta / self._se if self._again else np.full(len(self._theta), np.nan)
        p = wald.z_pvalues(z) if self._again else z
        table = frames.Coefficients(self._theta, self._se, z, p, ends[:, 0], ends[:, 1])
        return table.exponentiated() if exponentiate else table

    @requires()
    def summary_frame(self, alpha: float = 0.05, exponentiate: bool = False, method: str = "wald") -> pd.DataFrame:
        """Parameter table of the summary as a DataFrame: without z and p, and after a lasso without "std err".

        Parameters
        ----------
        alpha : float
            One minus the level of the intervals.
        exponentiate : bool
            Whether to show exp(params).
        method : {"wald"}
            As in `conf_int`.

        Returns
        -------
        DataFrame
        """
        _check_interval(self, "summary_frame", method)
        names, table = self._headings(alpha), self._columns_shown(alpha, exponentiate)
        values = (table.estimate, table.std_error, table.statistic, table.pvalue, table.low, table.high)
        return pd.DataFrame({n: v for n, v in zip(names, values, strict=True) if n}, index=self._param_index)

    def _headings(self, alpha: float, ends: tuple[str, str] = ("Conf. Int. Low", "Conf. Int. Upp.")) -> list[str]:
        """Headings of coefficient, standard error, statistic, p-value and ends; "" for columns that are absent."""
        test = ("z", "P>|z|") if self._again else ("", "")
        return ["coef", "std err", *test, *ends] if self._has_spread else ["coef", "", "", "", "", ""]

    @requires()
    def tidy(self, alpha: float = 0.05, exponentiate: bool = False) -> pd.DataFrame:
        """Table of parameters in the column names of R's broom; NaN for statistics that a penalised fit lacks."""
        t, index = self._columns_shown(alpha, exponentiate), self._param_index
        values = (t.estimate, t.std_error, t.statistic, t.pvalue, t.low, t.high)
        names = ("estimate", "std_error", "statistic", "p_value", "conf_low", "conf_high")
        first: dict[str, Any] = {"y_level": list(index.get_level_values(0))} if index.nlevels > 1 else {}
        first["term"] = [str(name) for name in index.get_level_values(-1)]
        return pd.DataFrame({**first, **dict(zip(names, values, strict=True))})

    @requires(Needs.ODDS)
    def odds_ratios(
        self, alpha: float = 0.05, units: Mapping[str, float] | None = None, method: str = "wald"
    ) -> pd.DataFrame:
        """Odds ratios, or relative risk ratios, exp(u b) with exp of the posterior intervals.

        Parameters
        ----------
        alpha : float
            One minus the level.
        units : dict, optional
            The change of a regressor that counts as one unit, ``{"age": 10}``.
        method : {"wald"}
            As in `conf_int`.

        Returns
        -------
        DataFrame
            Without z and p; after a lasso the ratios alone.
        """
        _check_interval(self, "odds_ratios", method)
        index = self._param_index
        sizes = frames._sizes(units or {}, index.get_level_values(-1))
        t = self._columns_shown(alpha).scaled(sizes).exponentiated()
        names = self._headings(alpha, frames.interval_headings(alpha))
        names[0] = frames.ratio_name(self)
        values = (t.estimate, t.std_error, t.statistic, t.pvalue, t.low, t.high)
        return pd.DataFrame({n: v for n, v in zip(names, values, strict=True) if n}, index=index)

    # ------------------------------------------------------------------------------------------- for the summary
    @property
    def _kind(self) -> str:
        return {0.0: "Ridge", 1.0: "Lasso"}.get(self.L1_wt, "Elastic net")

    @property
    def _estimator(self) -> str:
        return f"{self._kind}, refit" if self._again else self._kind

    def _header_tail(self) -> tuple[str, str]:
        """Last entry of the summary's header, in place of a likelihood ratio test."""
        return ("Eff. parameters:", count(self.k_params_effective))

    def _table_cells(self, alpha: float, exponentiate: bool) -> tuple[list[str], list[tuple[str, ...]]]:
        """Headings and rows of the summary's table of coefficients."""
        names = self._headings(alpha, frames.interval_headings(alpha))
        t = self._columns_shown(alpha, exponentiate)
        columns = np.column_stack((t.estimate, t.std_error, t.statistic, t.pvalue, t.low, t.high)).tolist()
        shown = [i for i, name in enumerate(names) if name]
        gone = np.zeros(len(columns), dtype=bool) if self._omitted is None else self._omitted
        zero = (self._b == 0) & bool(self._penalty.lasso.any())
        rows = []
        for row, out, unselected in zip(columns, gone, zero, strict=True):
            cells = [number(row[0], 4), number(row[1]), number(row[2]), f"{row[3]:#6.3f}", *map(number, row[4:])]
            cells = [cells[i] for i in shown]
            if out or unselected:
                cells = ["(omitted)" if out else cells[0], *[""] * (len(cells) - 1)]
            rows.append(tuple(cells))
        if self._cov.name == POSTERIOR:
            names[1] = "post. sd"
        return [names[i] for i in shown], rows

    def _fit_header(self) -> list[tuple[str, str]]:
        alpha = self.alpha
        words = f"alpha = {alpha:.6g}" if isinstance(alpha, float) else "alpha by coefficient"
        coding = ", symmetric coding" if self.symmetric else ""
        total = int(self._slope.sum()) - (0 if self._omitted is None else int(self._omitted[self._slope].sum()))
        return [
            *super()._fit_header(),
            ("Penalty:", f"{self._kind.lower()}, {words}, L1_wt = {self.L1_wt:g}{coding}"),
            ("Nonzero slopes:", f"{len(self.selected)} of {total}"),
        ]

    def _notes(self) -> list[str]:
        notes = [self._penalty_note(), *self._intercept_notes(), *self.model._summary_notes()]
        if WORDS[self._cov.name]:
            notes.append(WORDS[self._cov.name])
        elif not self.model._pseudo:
            notes.append("There are no standard errors and no p-values after selection.")
        if self._state.combinations:
            from glmclf.results.omitted import omitted_note

            notes.append(omitted_note(self._state.combinations, self.model.exog_names))
        if not self.converged:
            notes.append(f"The estimate is NOT a maximum: {self.mle_retvals['message']}.")
        return notes

    def _penalty_note(self) -> str:
        n = f"{self._penalty.n:g}"
        if self._again:
            return f"Columns were selected by the penalty above (N = {n}) and fitted again by maximum likelihood."
        criteria = "" if self.model._pseudo else " AIC and BIC count effective parameters."
        return (
            f"The estimate maximises llf/N - alpha ((1 - L1_wt)/2 |b|^2 + L1_wt |b|_1), N = {n}; regressors are not "
            f"standardised.{criteria}"
        )

    def _intercept_notes(self) -> list[str]:
        if self._penalised.constant is not None:
            j, k = self._penalised.constant, len(self.model.exog_names)
            free = not self._penalty.alpha[j::k].any()
            return ["The intercept has no penalty." if free else "The intercept has a penalty, too."]
        if self.model.k_constant:
            return [SPANNED]
        return ["The model has no intercept."]

    # ---------------------------------------------------------------------------------------------- predicting
    @requires(Needs.SPREAD)
    def get_prediction(
        self, newdata: Any = None, which: str = "mean", offset: Any = None, *, priors: Any = None
    ) -> Any:
        """Predictions with posterior standard deviations and intervals that stay inside (0, 1); of a ridge alone.

        Parameters
        ----------
        newdata, offset
            As in `predict`.
        which : {"mean", "linear"}
        priors
            Not of a penalised estimate.

        Returns
        -------
        PredictionResults or LevelPredictions
            `predicted, se, conf_int(alpha), summary_frame(alpha)`.

        Raises
        ------
        NotImplementedError
            After a lasso, and of a pseudo-likelihood: there is no covariance. `predict` has the predictions.
        """
        return super().get_prediction(newdata, which, offset, priors=priors)  # type: ignore[misc]


SPANNED = (
    "The columns span a constant, but none is one: nothing is left free, and the level of every group is drawn to a "
    "linear predictor of 0."
)


def _check_interval(res: RegularizedResults, what: str, method: str) -> None:
    if method == "profile":
        which = "a refit after selection" if res._again else "a penalised fit"
        has = 'there is "wald"' if res._has_spread else "it has no intervals"
        raise NotImplementedError(f'{what}(method="profile") of {which}: {has}')
    if method != "wald":
        raise ValueError(f'method={method!r}: choose "wald"; "profile" is for fit()')


class RegularizedBinaryResults(RegularizedResults, BinaryResults):
    """Results of `fit_regularized` of binary models; see `RegularizedResults`."""

    _facts = tuple(name for name in BinaryResults._facts if name not in NOT_KEPT)

    def _fitted_columns(self, newdata) -> dict[str, Any]:
        new = {".fitted": np.asarray(self.predict(newdata))}
        if self._has_spread:
            new[".se_fit"] = np.asarray(self.get_prediction(newdata).se)
        return new

    def _row_columns(self) -> dict[str, Any]:
        return {".resid": np.asarray(self.resid_dev)}


class RegularizedMultinomialResults(RegularizedResults, MultinomialResults):
    """Results of `fit_regularized` of MNLogit; see `RegularizedResults`.

    With ``symmetric=True`` `params` has a column for every level, whose free coefficients add up to 0.
    """

    _facts = tuple(name for name in MultinomialResults._facts if name not in NOT_KEPT)

    @property
    def _table_levels(self) -> list[Any]:
        return self.model.levels if self.symmetric else self.model._equations

    def _labelled(self, values) -> pd.DataFrame:
        table = np.array(values, dtype=float).reshape(self.model.K, -1, order="F")
        columns = pd.Index(self._table_levels, dtype=object)
        return pd.DataFrame(table, index=self.model.exog_names, columns=columns)

    @property
    def _param_names(self) -> list[str]:
        words = dict(zip(self.model.levels, spelled(self.model.levels), strict=True))
        return [f"y{words[level]}_{name}" for level in self._table_levels for name in self.model.exog_names]

    @property
    def _param_index(self) -> pd.Index:
        names = ["level", "regressor"]
        return pd.MultiIndex.from_product([self._table_levels, self.model.exog_names], names=names)

    def _fitted_columns(self, newdata) -> dict[str, Any]:
        classes = self.predict(newdata, which="class")
        if self._has_spread:
            new = beside(self.get_prediction(newdata), classes, self.levels)
        else:
            p = self.predict(newdata)
            new = {f".fitted_{level}": p[level].to_numpy() for level in self.levels} | {".class": classes.array}
        return {name: np.asarray(column) for name, column in new.items()}

    def _header(self) -> list[tuple[str, str]]:
        """Facts of the summary's header, without the reference where every level has coefficients."""
        return [entry for entry in super()._header() if not (self.symmetric and entry[0] == "Reference:")]

    def _row_columns(self) -> dict[str, Any]:
        r = self.model._rows
        return {".resid": level_residuals.deviance(r.y, r.trials, self._eta)}


def penalized_class(results: type[RegressionResults]) -> type[RegularizedResults]:
    """Class of penalised results of a model, from the class of its other results."""
    return RegularizedMultinomialResults if issubclass(results, MultinomialResults) else RegularizedBinaryResults
