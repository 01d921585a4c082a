"""Model: fitting by maximum likelihood, and the likelihood at any parameters; what all regressions share."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.blocks import Blocks
from glmclf.core.columns import Cells, Dense, from_pieces
from glmclf.core.estimation import Estimate, RankDeficiency, estimate, from_basis
from glmclf.core.objective import Objective
from glmclf.data.frame import align
from glmclf.errors import CollinearityError, ConvergenceWarning, DataError, EstimationError, InferenceWarning, warn
from glmclf.inference.covariance import Context, Covariance, covariance
from glmclf.models.inputs import Inputs


class Model(Inputs):
    """A model of a response given regressors, before it is fitted: p(y | x).

    Subclasses build the response and the likelihood, and say where a fit starts.
    """

    _kept: ClassVar[tuple[str, ...]] = (*Inputs._kept, "_constant")
    _objective_class: ClassVar[type[Objective]] = Objective
    _block_size: int | None = None

    # what a subclass supplies
    link: ClassVar[Any]

    @property
    def _likelihood(self) -> Any:
        raise NotImplementedError

    def _start(self) -> ndarray:
        """Where a fit begins."""
        raise NotImplementedError

    def _raise_if_separated(self, theta: ndarray) -> None:
        """PerfectSeparationError if the estimate is infinite."""
        raise NotImplementedError

    @property
    def df_model(self) -> int:
        """Parameters, the constant not counted."""
        return len(self.exog_names) - self.k_constant

    @property
    def df_resid(self) -> float:
        """Observations less parameters."""
        return self.nobs - len(self._param_names)

    def _constant_column(self) -> int | None:
        """Place of the column that is one number throughout, if there is one."""
        X, n = self._rows.X, len(self._rows)
        first, middle, last = (X[i : i + 1].toarray()[0] for i in (0, n // 2, n - 1))
        likely = np.flatnonzero((first != 0) & (first == middle) & (first == last))
        if "Intercept" in self.exog_names and self.formula is not None:
            return self.exog_names.index("Intercept")
        unit = np.eye(len(first))
        return next((int(j) for j in likely if (X[:] @ unit[j] == first[j]).all()), None)

    # -------------------------------------------------------------------------------------------- likelihood
    def _objective(self, n_threads: int | None = None) -> Objective:
        r = self._rows
        unit = 1.0 if self._frequency or r.weights is None else float(r.weights.mean())
        blocks = Blocks(r.X, r.y, r.trials, r.offset, r.weights, size=self._block_size, n_threads=n_threads)
        return self._objective_class(self._likelihood, blocks, unit)

    @cached_property
    def _constant(self) -> float:
        """The part of the log-likelihood without parameters: the log binomial coefficients."""
        c = self._constant_rows()
        return float(np.sum(c if self._rows.weights is None else self._rows.weights * c))

    def _constant_rows(self):
        return self._likelihood.constant(self._rows.y, self._rows.trials)

    def _flat(self, params) -> ndarray:
        params = self._in_order(params)
        theta = np.asarray(params, dtype=float).ravel(order="F")
        if theta.shape != (len(self._param_names),):
            raise ValueError(
                f"params has {theta.size} values; the model has {len(self._param_names)}: {self._param_names}"
            )
        return theta

    def _row_offset(self, offset, exog) -> ndarray:
        """An offset given for rows of the design: a Series by label where the rows have labels, else by position."""
        if isinstance(offset, pd.Series) and (exog is None or isinstance(exog, pd.DataFrame)):
            offset = align(offset, name="offset", frame=self._fit_table() if exog is None else exog)
        return np.asarray(offset, dtype=float)

    def _in_order(self, params):
        """Labelled parameters in the model's order; anything else as it is."""
        if not isinstance(params, pd.Series) or isinstance(params.index, pd.RangeIndex):
            return params
        for labels in (self._param_names, list(self._param_index)):
            if set(params.index) == set(labels) and params.index.is_unique:
                return params[labels]
        raise ValueError(f"params is labelled {list(params.index)}; the parameters are {self._param_names}")

    def _pointwise(self, params, expected=False):
        r = self._rows
        eta = r.X[:] @ self._flat(params)
        if r.offset is not None:
            eta += r.offset
        return self._likelihood.pointwise(r.y, r.trials, eta, expected)

    def _weighted(self, values):
        return values if self._rows.weights is None else self._rows.weights * values

    def loglike(self, params) -> float:
        """Log-likelihood at `params`: sum of w_i l_i, with the binomial coefficients of counts."""
        return float(self._objective().gradient(self._flat(params)).value + self._constant)

    def loglikeobs(self, params) -> ndarray:
        """Log-likelihood of each row at `params`, times its weight, (n,)."""
        return self._weighted(self._pointwise(params)[0] + self._constant_rows())

    def score(self, params) -> ndarray:
        """Derivative of `loglike`, (p,)."""
        return self._objective().gradient(self._flat(params)).score

    def score_factor(self, params) -> ndarray:
        """Derivative of `loglikeobs` in the linear predictor, (n,)."""
        return self._weighted(self._pointwise(params)[1])

    def score_obs(self, params) -> ndarray:
        """Derivative of `loglikeobs` in the parameters, (n, p)."""
        return self.score_factor(params)[:, None] * self._rows.X[:].toarray()

    def hessian_factor(self, params) -> ndarray:
        """Second derivative of `loglikeobs` in the linear predictor, (n,)."""
        return -self._weighted(self._pointwise(params)[2])

    def hessian(self, params) -> ndarray:
        """Second derivative of `loglike`, (p, p)."""
        return -self.information(params)

    def information(self, params, expected: bool = False) -> ndarray:
        """Observed information, minus the Hessian, or the expected (Fisher) information, (p, p)."""
        return self._objective()(self._flat(params), expected).information

    # --------------------------------------------------------------------------------------------------- fit
    def fit(
        self,
        method: str = "irls",
        start_params=None,
        maxiter: int = 100,
        tol: float | None = None,
        cov_type: str | None = None,
        cov_kwds: Mapping[str, Any] | None = None,
        bias_reduction: str | None = None,
        separation: str = "raise",
        collinear: str = "raise",
        n_threads: int | None = None,
        progress: bool = False,
        callback=None,
        disp: bool = False,
    ):
        """Maximum likelihood estimate, by default through iteratively reweighted least squares.

        Parameters
        ----------
        method : {"irls", "newton", "bfgs", "lbfgs"}
            Fisher scoring, Newton-Raphson on the observed information, or a quasi-Newton method. All end at the same
            maximum: the last steps are Newton steps.
        start_params : (p,) array_like, optional
            Where to start.
        maxiter : int
            Most iterations.
        tol : float, optional
            Convergence: the squared Newton decrement s' I^-1 s, the squared distance to the maximum in standard errors,
            is at most `tol`. The default, 1e-24 max(1, n/p), is rounding.
        cov_type : {"nonrobust", "expected", "HC0", "HC1", "cluster"}, optional
            Covariance of the estimate. "nonrobust", the inverse observed information, unless the log-likelihood is a
            pseudo-likelihood (sampling weights, fractions): then "HC0".
        cov_kwds : dict, optional
            `groups` for "cluster": one or two variables, by column name or value.
        bias_reduction : None
            "firth" and "median" are not available in this version.
        separation : {"raise"}
            What to do where the estimate is infinite; "warn" is not available in this version.
        collinear : {"raise"}
            What to do about linearly dependent columns; "drop" is not available in this version.
        n_threads : int, optional
            Threads for large data; by default one a processor. The numbers do not depend on it.
        progress : bool
            Not available in this version.
        callback : callable, optional
            Called as ``callback(iteration, params, llf)`` after each iteration.
        disp : bool
            Whether to print a line an iteration.

        Returns
        -------
        Results
            A new object; the model is not changed.

        Raises
        ------
        PerfectSeparationError
            The estimate is infinite; the message names the columns.
        CollinearityError
            Columns are linearly dependent; the message names them and their combination.
        ValueError
            More columns than rows, an unknown option, groups that do not fit.

        Warns
        -----
        ConvergenceWarning
            No maximum within `maxiter` iterations.
        """
        _refuse_later_options(bias_reduction, separation, collinear, progress)
        cov_type = cov_type or ("HC0" if self._pseudo else "nonrobust")
        self._check_covariance(cov_type)
        groups = self._groups(cov_type, cov_kwds)
        if len(self._rows) < len(self.exog_names):
            raise CollinearityError(
                f"{len(self.exog_names)} columns need at least as many rows; {self.endog_names} has {len(self._rows)}"
            )
        _check_options(maxiter, tol, n_threads)
        options = {"maxiter": maxiter, "tol": tol, "callback": _reporter(callback, disp)}
        found = self._maximise(method, start_params, n_threads, options)
        self._verify(found, method)
        objective = self._objective(n_threads)
        if found.basis is not None:
            objective = objective.rotated(found.basis)
        return self._results_class(self, found, self._covariance(found, objective, cov_type, groups), method)

    def _maximise(self, method, start_params, n_threads, options) -> Estimate:
        objective = self._objective(n_threads)
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                if start_params is not None:
                    start = self._flat(start_params)
                    if not np.isfinite(start).all():
                        raise ValueError(f"start_params must be finite numbers; found {start}")
                    found = estimate(method, objective, start, warm=False, **options)
                    if found.fit.converged or found.fit.iterations >= options["maxiter"]:
                        return found
                # a start so far off that no step leads on: begin at the usual one
                return estimate(method, objective, self._start(), **options)
        except RankDeficiency as deficiency:
            raise self._collinearity_error(deficiency.combinations) from None

    def _collinearity_error(self, combinations) -> CollinearityError:
        names = self.exog_names
        parts = []
        for j, terms in combinations.items():
            right = " + ".join(f"{v:.6g} * {names[i]}" if abs(v - 1) > 1e-9 else names[i] for i, v in terms.items())
            if not right:
                size = float(np.abs(self._rows.X[:].toarray()[:, j]).max())
                right = f"numbers up to {size:.3g}: no double holds their squares"
                if size == 0:
                    right = "0 in every row" + (" (no row has that level)" if "[" in names[j] else "")
            parts.append(f'"{names[j]}" = {right}')
        return CollinearityError(
            f"the columns of the design are linearly dependent (perfect collinearity): {'; '.join(parts)}. "
            f"Leave {'it' if len(parts) == 1 else 'them'} out, or merge levels of the factor."
        )

    def _verify(self, found: Estimate, method: str) -> None:
        """An infinite estimate is an error, a maximum not reached a warning."""
        fit = found.fit
        if found.vanished or fit.message != "converged":
            self._raise_if_separated(found.theta)
        try:
            _ = fit.evaluation.factor
        except np.linalg.LinAlgError:
            raise EstimationError(
                f"{method}: {fit.message} after {fit.iterations} iterations, and the information matrix is singular "
                "there: no standard errors exist. Check the scale of the regressors and the offset, or start elsewhere."
            ) from None
        if found.vanished and fit.converged:
            scale = np.max([np.abs(x.toarray()).max(axis=0) for x, *_ in self._objective().blocks], axis=0)
            T = from_basis(found.basis, fit.evaluation.factor.root)
            size = (np.sqrt((T * T).sum(axis=1)).reshape(-1, len(scale)) * scale).max(axis=0)
            names = ", ".join(f'"{n}"' for n, s in zip(self.exog_names, size, strict=True) if s >= 0.1 * size.max())
            warn(
                f"the estimates exist, but the data are all but separated ({names}): standard errors and Wald tests of "
                "such coefficients mean little. Use compare_lr_test.",
                InferenceWarning,
            )
        if not fit.converged:
            norm = float(np.linalg.norm(fit.evaluation.score))
            warn(
                f"{method}: {fit.message} (stopped after {fit.iterations} iterations, gradient norm {norm:.3g}, "
                f"squared Newton decrement {fit.decrement:.3g}); the estimates are not a maximum. "
                "Raise maxiter=, or start elsewhere.",
                ConvergenceWarning,
            )

    def _covariance(self, found: Estimate, objective: Objective, cov_type, groups) -> tuple[Covariance, list[str]]:
        context = Context(objective, found.fit.theta, found.fit.evaluation, self.nobs, self._frequency)
        if groups is None:
            return covariance(cov_type, context), []
        V = covariance(cov_type, context, groups=groups.codes)
        if (np.diag(V.matrix) < 0).any():
            warn(
                f"the two-way covariance by {' and '.join(groups.names)} is not positive semi-definite: some standard "
                "errors are NaN. Use one grouping, or more clusters.",
                InferenceWarning,
            )
        return V, groups.names

    def _maximum(self, columns: ndarray, start: ndarray) -> tuple[float, ndarray]:
        """Largest log-likelihood with some columns of the design only, without `_constant`, and where it is.

        Rows, offset and weights are the model's own. `start` is flat, equation by equation.
        """
        q = self._likelihood.n_eta
        if not len(columns):
            return self._offset_alone(), np.zeros(0)
        objective = self._objective_of(_some_columns(self._rows.X, columns))
        with np.errstate(over="ignore", invalid="ignore"):
            found = estimate("irls", objective, start, warm=False, maxiter=100)
            if not found.fit.converged:
                found = estimate("irls", objective, np.zeros(len(columns) * q), maxiter=200)
        if not found.fit.converged:
            names = ", ".join(self.exog_names[j] for j in columns)
            raise EstimationError(f"the fit with the columns {names} alone found no maximum: {found.fit.message}")
        return found.fit.evaluation.value, found.theta

    def _objective_of(self, X: Dense | Cells) -> Objective:
        """The objective with other columns."""
        objective = self._objective()
        blocks = Blocks(X, *objective.blocks.arrays[1:], size=self._block_size)
        return type(objective)(objective.likelihood, blocks, objective.unit)

    @property
    def _term_factors(self) -> dict[str, frozenset]:
        """Factors of each term, which decide what a term is marginal to."""
        design = self._design
        if not hasattr(design, "subterms"):
            return {name: frozenset([name]) for name in design.terms}
        starts, start = [], 0
        widths = {code: factor.width for code, factor in design.factors.items()}
        for subterm in design.subterms:
            starts.append((start, frozenset(subterm.factors)))
            sizes = (subterm.contrasts[c].shape[1] if c in subterm.contrasts else widths[c] for c in subterm.factors)
            start += int(np.prod([1, *sizes]))
        return {
            name: frozenset().union(*(f for at, f in starts if part.start <= at < part.stop))
            for name, part in design.terms.items()
        }

    def _offset_alone(self) -> float:
        """Log-likelihood without any parameter."""
        r, likelihood = self._rows, self._likelihood
        blocks = Blocks(Dense(np.ones((len(r), 1))), r.y, r.trials, r.offset, r.weights)
        return self._objective_class(likelihood, blocks).gradient(np.zeros(likelihood.n_eta)).value

    def _beside_the_rows(self, values, what: str) -> pd.DataFrame:
        """Numbers beside the table (columns by name, Series, DataFrame or array) for the rows of the fit."""
        r, frame = self._rows, self.data.frame
        if isinstance(values, str) or (isinstance(values, list) and all(isinstance(v, str) for v in values)):
            names = [values] if isinstance(values, str) else values
            absent = [name for name in names if frame is None or name not in frame.columns]
            if absent or frame is None:
                raise DataError(f"{what}: {', '.join(map(repr, absent))} is no column of the model's table")
            table = frame[names].iloc[r.positions]
        else:
            table = _as_table(values, what)
            labels = table.index if isinstance(values, (pd.Series, pd.DataFrame)) else None
            if labels is not None and not labels.equals(r.index) and (frame is None or not labels.equals(frame.index)):
                if not labels.is_unique or not r.index.isin(labels).all():
                    raise DataError(f"{what}: its index does not match that of the {len(r)} rows of the fit")
                table = table.loc[r.index]
            elif len(table) == (self._facts["n_given"] if frame is None else len(frame)):
                table = table.iloc[r.positions]
        if len(table) != len(r):
            raise DataError(f"{what} has {len(table)} rows; the fit has {len(r)}")
        numbers = _as_numbers(table, what)
        lost = ~np.isfinite(numbers.to_numpy()).all(axis=1)
        if lost.any():
            raise DataError(f"{what} is missing or infinite in {int(lost.sum())} of the {len(r)} rows of the fit")
        return numbers


# --------------------------------------------------------------------------------------------------- helpers
def _refuse_later_options(bias_reduction, separation, collinear, progress) -> None:
    choices = {
        "bias_reduction": (bias_reduction, (None, "firth", "median")),
        "separation": (separation, ("raise", "warn")),
        "collinear": (collinear, ("raise", "drop")),
    }
    for name, (value, known) in choices.items():
        if value not in known:
            raise ValueError(f"{name}={value!r} is unknown; choose one of {', '.join(map(repr, known))}")
    later = {
        f"bias_reduction={bias_reduction!r}": bias_reduction is not None,
        f"separation={separation!r}": separation != "raise",
        f"collinear={collinear!r}": collinear != "raise",
        f"progress={progress!r}": bool(progress),
    }
    for option, asked in later.items():
        if asked:
            raise NotImplementedError(f"fit({option}) is not available in this version")


def _some_columns(X: Dense | Cells, columns: ndarray) -> Dense | Cells:
    """The same rows of some columns, in ascending order."""
    if isinstance(X, Dense):
        return Dense(X.X[:, columns])
    pieces, start = [], 0
    for piece in X.pieces:
        mine = columns[(columns >= start) & (columns < start + len(piece.num))] - start
        start += len(piece.num)
        if len(mine):
            pieces.append(piece._replace(num=piece.num[mine], cat=piece.cat[mine]))
    return from_pieces(pieces, X.shape[0])


def _as_table(values, what: str) -> pd.DataFrame:
    """Values of one or more variables as a table, a column each."""
    if isinstance(values, pd.DataFrame):
        return values
    if isinstance(values, pd.Series):
        return values.to_frame(what if values.name is None else values.name)
    a = np.asarray(values)
    if a.ndim not in (1, 2):
        raise DataError(f"{what} must have one or two dimensions; it has shape {a.shape}")
    a = a.reshape(len(a), -1)
    return pd.DataFrame(a, columns=[f"{what}[{j}]" for j in range(a.shape[1])])


def _as_numbers(table: pd.DataFrame, what: str) -> pd.DataFrame:
    try:
        return table.astype(float)
    except (TypeError, ValueError):
        kinds = ", ".join(f"{name} ({kind})" for name, kind in table.dtypes.items())
        raise DataError(f"{what} must be numbers; found {kinds}") from None


def _check_options(maxiter, tol, n_threads) -> None:
    def whole(value, least):
        return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= least

    if not whole(maxiter, 0):
        raise ValueError(f"maxiter={maxiter!r}: a whole number of iterations, 0 or more")
    if n_threads is not None and not whole(n_threads, 1):
        raise ValueError(f"n_threads={n_threads!r}: a whole number of threads, 1 or more")
    if tol is not None and not 0 <= tol < np.inf:
        raise ValueError(f"tol={tol!r}: a number, 0 or more")


def _reporter(callback, disp):
    if not disp:
        return callback

    def report(iteration, theta, value):
        print(f"iteration {iteration:3d}  log-likelihood {value:.10g}")
        if callback is not None:
            callback(iteration, theta, value)

    return report
