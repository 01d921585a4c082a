"""Base class of regressions: fitting by maximum likelihood, and the likelihood at given parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.checks import MAX_NAMES, check_choice, known_names
from glmclf.core.design.basis import DesignBasis
from glmclf.core.design.columns import Columns, some_columns
from glmclf.core.design.dense import Dense
from glmclf.core.design.sparse import Sparse
from glmclf.core.fit.coordinates import Coordinates, Omitted, covariance_from_basis, from_basis
from glmclf.core.fit.estimate import Estimate, RankDeficiency, estimate, rests_on_few_rows
from glmclf.core.fit.level_rank import dependencies_in
from glmclf.core.fit.offsets import against_offset, centred
from glmclf.core.fit.solvers.sgd import RAW
from glmclf.core.fit.unique_rows import of_counts
from glmclf.core.fit.warm_start import MIN_COLUMNS_TO_COUNT
from glmclf.core.likelihood.objective import Objective
from glmclf.core.numerics.arrow import ArrowFactor, ArrowMatrix
from glmclf.core.rows.asked import named
from glmclf.core.rows.blocks import Blocks, linear
from glmclf.core.rows.observations import Observations
from glmclf.data.design.arrays import is_sparse, sparse_rows
from glmclf.data.table.frame import align
from glmclf.data.table.rows import offset_of_new_rows
from glmclf.errors import (
    CollinearityError,
    CollinearityWarning,
    DataError,
    EstimationError,
    InferenceWarning,
    PerfectSeparationError,
    SeparationWarning,
    warn,
)
from glmclf.inference.covariance.types import MODEL_BASED, REFITS, Context, Covariance
from glmclf.inference.covariance.wording import documents_covariances
from glmclf.models.constrained import ConstrainedFits, Fitted, constrained_covariance
from glmclf.models.cov_keywords import Keywords, row_covariance
from glmclf.models.fit_options import (
    check_choices,
    check_converged,
    check_covariance,
    check_options,
    check_reduction,
    check_refine,
    keeps_options,
    solver_options,
    wide_offset,
    with_flic,
)
from glmclf.models.inputs import Inputs
from glmclf.models.penalized import Regularization
from glmclf.models.progress import reporter_of, shown
from glmclf.models.rows import FitRows
from glmclf.results.diagnostics.accuracy import warn_of_no_digits
from glmclf.results.hypotheses.linear import respelled
from glmclf.results.omitted import check_new_rows, combination, empty_cell, splines_with_constant
from glmclf.results.regression.state import FitState
from glmclf.results.separation import Separation, separation_report

if TYPE_CHECKING:
    from glmclf.core.separation.limit import LimitEstimate

ROUNDINGS_OF_DIFFERENCE = 4.0  # relative error of a difference, in roundings of what it is of, as measured
MIN_DIGITS_OF_ERRORS = 6  # correct digits of standard errors below which a fit says so


def check_prediction(which: Any) -> None:
    """Raise ValueError for a kind of prediction that a model does not have."""
    check_choice("which", which, ("mean", "linear", "var"), '"mean", "linear", "var" or, of a result, "class"')


class Model(ConstrainedFits[Fitted], Regularization, Generic[Fitted]):
    """Base class of regressions: a model p(y | x) of a response given regressors, before it is fitted.

    Subclasses build the response and the likelihood, and say where a fit starts.
    """

    _kept: ClassVar[tuple[str, ...]] = (*Inputs._kept, "_constant")
    _objective_class: ClassVar[type[Objective]] = Objective
    _block_size: int | None = None
    _left_out: Mapping[int, Mapping[int, float]] = {}  # omitted columns, and the combinations that they equal

    # supplied by subclasses
    link: ClassVar[Any]

    @property
    def _likelihood(self) -> Any:
        raise NotImplementedError

    def _start(self) -> ndarray:
        """Parameters at which a fit starts."""
        raise NotImplementedError

    @property
    @named
    def df_model(self) -> int:
        """Number of parameters, without the constant."""
        return len(self.exog_names) - self.k_constant

    @property
    @named
    def df_resid(self) -> float:
        """Observations less parameters."""
        return self.nobs - len(self._param_names)

    def _constant_column(self) -> int | None:
        """Place of a column that is one number throughout; None without such a column."""
        if "Intercept" in self.exog_names and self.formula is not None:
            return self.exog_names.index("Intercept")
        found = self._rows.constant_column()
        return None if found is None else found[0]

    def _new_columns(self, newdata: Any) -> Columns:
        """Rows of the design for new data; a scipy.sparse array holds such rows already."""
        if is_sparse(newdata):
            return Sparse(sparse_rows(newdata, self.exog_names))
        return self._design.new_columns(newdata)

    def _without_rows(self):
        other = super()._without_rows()
        other._left_out = self._left_out
        return other

    @property
    def _cells(self) -> ndarray:
        """Observations of each class in each row, weights and counts expanded, (n, J), non-event or reference first."""
        return self._rows.blocks().collect(lambda X, y, trials, offset, w: self._cells_of(y, trials, w))

    def _cells_of(self, y: ndarray, trials: ndarray | None, weights: ndarray | None) -> ndarray:
        counts = self._counts_of(y, trials)
        return counts if weights is None else weights[:, None] * counts

    def _counts_of(self, y: ndarray, trials: ndarray | None) -> ndarray:
        """Observations of each class in rows, (n, J), without weights."""
        raise NotImplementedError

    # -------------------------------------------------------------------------------------------- likelihood
    @property
    def _unit(self) -> float:
        """Weight of one observation: the mean of sampling weights, else 1."""
        return 1.0 if self._frequency or self._weight_sum is None else self._weight_sum / self.nobs

    def _objective(
        self, n_threads: int | None = None, columns: ndarray | None = None, distinct: bool = False
    ) -> Objective:
        """Log-likelihood of all columns, or of some; over `distinct` rows alone if that pays and is asked for."""
        unit = 1.0 if self._frequency or self._weight_sum is None else self._weight_sum / len(self._rows)
        r, likelihood = self._counted(n_threads) if distinct else (self._rows, self._likelihood)
        blocks = r.blocks(size=self._block_size, n_threads=n_threads)
        if columns is not None and len(columns) < r.X.shape[1]:
            blocks = blocks.map(lambda X, *rest: (some_columns(X, columns), *rest))
        return self._objective_class(likelihood, blocks, unit)

    def _counted(self, n_threads: int | None = None) -> tuple[FitRows | Observations, Any]:
        """Distinct rows where that pays, else all rows, with the likelihood of their responses."""
        found = self._rows.distinct(self._likelihood, n_threads)
        return (self._rows, self._likelihood) if found is None else (found, of_counts(self._likelihood))

    @property
    def _coordinates(self) -> Coordinates:
        """Coordinates of all columns, with the offset given."""
        return Coordinates(len(self.exog_names), self._likelihood.n_eta)

    def _coordinates_without(self, omitted: Omitted) -> Coordinates:
        """Coordinates of the columns that are not omitted, with the offset centred unless the rows are gone."""
        found = replace(self._coordinates, omitted=omitted)
        if not self._has_offset or self._rows_ is None:
            return found
        return found.shifted(centred(self._objective(columns=found.columns))[1])

    def _without_regressors(self) -> tuple[Objective, ndarray]:
        """Log-likelihood of constants alone, with the offset centred, and the shift of the constants."""
        r, likelihood = self._counted()
        blocks = r.blocks(size=r.X.block_size).map(_alone)
        return centred(self._objective_class(likelihood, blocks))

    @cached_property
    def _constant(self) -> float:
        """Part of the log-likelihood without parameters: the log binomial coefficients."""
        return float(self._sums[-1])

    @property
    def _summed(self) -> Callable:
        return partial(_outcome_sums, self._likelihood)

    def _constant_rows(self):
        return self._likelihood.constant(self._rows.y, self._rows.trials)

    def _flat(self, params) -> ndarray:
        """Flat array of parameters; 0 for those of omitted columns, which are NaN in results."""
        theta = self._as_flat(params)
        omitted = self._omitted_in(theta)
        return np.where(omitted, 0.0, theta) if omitted.any() else theta

    def _as_flat(self, params) -> ndarray:
        params = self._in_order(params)
        if np.iscomplexobj(params):
            raise ValueError(f"params must be real numbers; found {params!r}")
        theta = np.asarray(params, dtype=float).ravel(order="F")
        if theta.shape != (len(self._param_names),):
            raise ValueError(
                f"params has {theta.size} values; the model has {len(self._param_names)}: "
                f"{known_names(self._param_names)}"
            )
        return theta

    def _omitted_in(self, theta: ndarray) -> ndarray:
        """Mask of the flat parameters that are NaN as a fit omitted their columns, and that count as 0."""
        k = len(self.exog_names)
        return np.isnan(theta) & np.isin(np.arange(len(theta)) % k, list(self._left_out))

    def _by_equation(self, theta: ndarray) -> ndarray:
        """Parameters by equation, in the shape in which X multiplies them."""
        return theta

    def _linear_at(self, params, X: Columns) -> ndarray:
        """Linear predictors x'b of rows of the design, (n,) or (n, K-1).

        Infinite parameters do not count in rows where their column is 0; NaN between infinities of both signs.
        """
        B = self._by_equation(self._flat(params))
        infinite = np.isinf(B)
        eta = linear(X, np.where(infinite, 0.0, B))
        for j in np.argwhere(infinite):
            x, at = some_columns(X[:], j[:1]).toarray()[:, 0], (slice(None), *j[1:])
            with np.errstate(invalid="ignore"):
                eta[at] += np.where(x == 0.0, 0.0, np.sign(x) * B[tuple(j)])
        return eta

    def _linear_of_rows(self, params, exog) -> ndarray:
        """Linear predictors x'b of the model's rows, or of new ones, which are checked for the aliasing of columns."""
        X = self._rows.X[:] if exog is None else self._new_columns(exog)
        if exog is not None and self._left_out and self._omitted_in(self._as_flat(params)).any():
            units = None if self._rows_ is None else self._rows.roundings()
            check_new_rows(self._left_out, X, self.exog_names, units)
        return self._linear_at(params, X)

    def _offset_of_rows(self, offset, exog) -> Any:
        """Offset of the model's rows, or the offset given for new rows."""
        if offset is None and exog is None:
            return self.offset
        if offset is None and self._has_offset:
            raise DataError("the model has an offset: predict(params, exog, offset=...) needs one value a row")
        return offset

    def _row_offset(self, offset, exog) -> ndarray:
        """Align an offset with rows of the design: a Series by label where the rows have labels, else by position."""
        if isinstance(offset, pd.Series) and (exog is None or isinstance(exog, pd.DataFrame)):
            offset = align(offset, name="offset", frame=self._fit_table() if exog is None else exog)
        return offset_of_new_rows(offset)

    def _in_order(self, params):
        """Reorder labelled parameters to the model's order; return any others unchanged."""
        if not isinstance(params, pd.Series) or isinstance(params.index, pd.RangeIndex):
            return params
        params = respelled(params, self._param_names, self._param_index)
        for labels in (self._param_names, list(self._param_index)):
            if set(params.index) == set(labels) and params.index.is_unique:
                return params[labels]
        found, known = known_names(params.index), known_names(self._param_names)
        raise ValueError(f"params is labelled {found}; the parameters are {known}")

    def _pointwise(self, params, expected=False):
        r = self._rows
        eta = self._linear_at(params, r.X)
        if r.offset is not None:
            eta += r.offset
        with np.errstate(invalid="ignore"):  # products with infinite parameters
            return self._likelihood.pointwise(r.y, r.trials, eta, expected)

    def _weighted(self, values):
        return values if self._rows.weights is None else self._rows.weights * values

    @named
    def loglike(self, params: Any) -> float:
        """Log-likelihood at `params`: sum of w_i l_i, with the binomial coefficients of counts.

        Parameters of columns that a fit left out, NaN in its results, count as 0, in all methods. Infinite ones, of a
        separated fit, do in rows where their column is 0; the value is NaN where infinities of both signs meet.
        """
        if np.isinf(self._flat(params)).any():
            return float(np.sum(self.loglikeobs(params)))
        return float(self._objective().gradient(self._flat(params)).value + self._constant)

    @named
    def loglikeobs(self, params: Any) -> ndarray:
        """Log-likelihood of each row at `params`, times its weight, (n,)."""
        return self._weighted(self._pointwise(params)[0] + self._constant_rows())

    @named
    def score(self, params: Any) -> ndarray:
        """Derivative of `loglike`, (p,)."""
        if np.isinf(self._flat(params)).any():
            return self.score_obs(params).sum(axis=0)
        return self._objective().gradient(self._flat(params)).score

    @named
    def score_factor(self, params: Any) -> ndarray:
        """Derivative of `loglikeobs` in the linear predictor, (n,)."""
        return self._weighted(self._pointwise(params)[1])

    @named
    def score_obs(self, params: Any) -> ndarray:
        """Derivative of `loglikeobs` in the parameters, (n, p)."""
        return self.score_factor(params)[:, None] * self._rows.X[:].toarray()

    @named
    def hessian_factor(self, params: Any) -> ndarray:
        """Second derivative of `loglikeobs` in the linear predictor, (n,)."""
        return -self._weighted(self._pointwise(params)[2])

    @named
    def hessian(self, params: Any) -> ndarray:
        """Second derivative of `loglike`, (p, p)."""
        return -self.information(params)

    @named
    def information(self, params: Any, expected: bool = False) -> ndarray:
        """Observed information, minus the Hessian, or the expected (Fisher) information, (p, p)."""
        return np.asarray(self._objective()(self._flat(params), expected).information)

    # --------------------------------------------------------------------------------------------------- fit
    @documents_covariances
    @keeps_options
    @named
    def fit(
        self,
        method: str = "irls",
        start_params: Any = None,
        maxiter: int = 100,
        tol: float | None = None,
        cov_type: str | None = None,
        cov_kwds: Mapping[str, Any] | None = None,
        bias_reduction: str | None = None,
        separation: str = "warn",
        collinear: str = "drop",
        n_threads: int | None = None,
        progress: bool = False,
        callback: Callable | None = None,
        disp: bool | int = False,
        flic: bool = False,
        refine: bool | None = None,
        seed: Any = None,
        batch_size: int | None = None,
        polish: bool | None = None,
    ) -> Fitted:
        """Maximum likelihood estimate, by default through iteratively reweighted least squares.

        Parameters
        ----------
        method : {"irls", "newton", "bfgs", "lbfgs", "sgd"}
            Fisher scoring, Newton-Raphson on the observed information, a quasi-Newton method, or averaged stochastic
            gradient. All end at the same maximum: the last steps are Newton steps.
        start_params : (p,) array_like, optional
            Where to start.
        maxiter : int
            Most iterations.
        tol : float, optional
            Convergence: the squared Newton decrement s' I^-1 s, the squared distance to the maximum in standard errors,
            is at most `tol`. The default, 1e-24 max(1, n/p), is rounding.
        cov_type : str, optional
            Covariance of the estimate; see `with_cov` of the result. By default "nonrobust", the inverse observed
            information, unless the log-likelihood is a pseudo-likelihood (sampling weights, fractions): then "HC0".
            Types: {cov_types}.
        cov_kwds : dict, optional
            `groups` of "cluster" and "bootstrap", `maxlags` of "HAC", `reps` and `seed` of "bootstrap".
        bias_reduction : {"firth", "median"}, optional
            A bias-reduced estimate in place of the maximum likelihood one: finite for separated data, and closer to the
            truth in small samples. "firth": of mean bias, the maximum of llf + log|I|/2 with Logit and MNLogit (Firth
            1993; Kosmidis & Firth 2009); "median": an estimate as likely above the truth as below it, coefficient by
            coefficient (Kenne Pagui, Salvan & Sartori 2017; not MNLogit). Weights of repeated rows count, sampling
            weights and fractions are refused. `cov_type` is "expected" by default; robust ones are refused where the
            data are separated. llf, aic, bic and prsquared are the plain ones at the estimate, llr is that of the
            penalised likelihood. `separation` does nothing.
        separation : {"warn", "raise"}
            What to do where the estimate is infinite (separation): give inf or -inf for such coefficients and the limit
            estimates of all others, with a warning; or raise.
        collinear : {"drop", "raise"}
            What to do about columns that are combinations of others: leave them out, with a warning that names each
            and the combination it equals; or raise. What is left out is NaN in `params` and "(omitted)" in the summary,
            does not count as a parameter, and changes no prediction for rows that obey the combination.
        n_threads : int, optional
            Threads for large data; by default one a processor. The numbers do not depend on it.
        progress : bool
            Whether to show, on stderr, the iteration and, of data in a stream, the parts of the pass that are done: as
            a bar where tqdm is installed.
        callback : callable, optional
            Called as ``callback(iteration, params, llf)`` after each iteration.
        disp : bool
            Whether to print a line an iteration.
        flic : bool
            With ``bias_reduction="firth"`` of a Logit: whether to replace the intercept, after the fit, by the maximum
            likelihood one given the slopes, so that fitted probabilities, which Firth's pulls to 1/2, add up to the
            events (Puhr et al. 2017). Standard errors are those at the corrected estimate, tests those of the slopes.
        refine : bool, optional
            Whether an ill-conditioned design is put into a well-conditioned basis in twofold (double-double)
            arithmetic, so that the estimate has every digit that the data hold. By default where the design is
            ill-conditioned and rows times columns squared are at most 2e8; True: always, at about 25 times the
            arithmetic; False: in plain arithmetic. `digits` of the result says how many to expect.
        seed : int, SeedSequence or Generator, optional
            "sgd": of the order of the rows, by default 0. One seed gives one result, whatever `n_threads`.
        batch_size : int, optional
            "sgd": rows a step, 1 or more; 1 is the classical algorithm. By default 32, fewer or more of very few or
            very many rows.
        polish : bool, optional
            "sgd": whether to end at the maximum (the default), or with the average of the stochastic steps. Then
            `converged` is False, ``mle_retvals["remaining_error"]`` is the distance to the maximum in standard errors,
            to first order, standard errors are from the information at that point, and llr, aic, bic and prsquared,
            which compare maxima, are NaN. Separated data are treated as with any other method.

        Returns
        -------
        Results
            A new object; the model is not changed.

        Raises
        ------
        PerfectSeparationError
            The estimate is infinite, and `separation` is "raise"; the message names the columns. Of data in parts also
            where the limits rest on more rows than are kept (a complete separation by seven or more regressors).
        CollinearityError
            Columns are linearly dependent, and `collinear` is "raise"; the message names them and their combination.
        ValueError
            An unknown option, groups that do not fit.
        TypeError
            A keyword of "sgd" with another `method`.
        NotImplementedError
            `refine` with `bias_reduction`. Of data in parts what needs rows one by one: "sgd", "HAC", "bootstrap",
            "jackknife".

        Warns
        -----
        SeparationWarning
            Some coefficients are infinite.
        InferenceWarning
            Standard errors that the data may not bear out: few clusters, rows missing in a series, replications of a
            bootstrap without an estimate, a model-based covariance of a pseudo-likelihood. Coefficients without a
            correct digit, as the design is so ill-conditioned.
        CollinearityWarning
            Some columns are combinations of others and were left out.
        ConvergenceWarning
            No maximum within `maxiter` iterations.
        """
        check_choices(bias_reduction, separation, collinear)
        solving = solver_options(method, seed=seed, batch_size=batch_size, polish=polish)
        if method == "sgd" and self._rows.streamed:
            raise NotImplementedError('method="sgd" of data in a stream is not available: use "irls" or "lbfgs"')
        if method == "sgd" and isinstance(self._rows.X, Sparse):
            raise NotImplementedError('method="sgd" with a scipy.sparse exog is not available: use "irls" or "lbfgs"')
        check_refine(refine, bias_reduction)
        check_reduction(self, bias_reduction, flic, method)
        cov_type = cov_type or ("expected" if bias_reduction else "HC0" if self._pseudo else "nonrobust")
        self._check_covariance(cov_type)
        keywords = self._cov_keywords(cov_type, cov_kwds)
        check_options(maxiter, tol, n_threads)
        reporter = reporter_of(callback, disp)
        options: dict[str, Any] = {"maxiter": maxiter, "tol": tol}
        if start_params is not None and not np.isfinite(self._flat(start_params)).all():
            raise ValueError(f"start_params must be finite numbers; found {self._flat(start_params)}")

        def maximum(objective, places, shift) -> Estimate:
            told = {**options, "callback": _of_the_model(reporter, shift)}
            if bias_reduction is not None:
                from glmclf.core.fit.bias import reduce_bias

                usual = start_params is None
                start = self._usual(places, shift, objective) if usual else self._flat(start_params)[places] + shift
                return reduce_bias(bias_reduction, objective, start, **told)
            told |= {**solving, "refine": refine}
            if _is_told_apart(objective):  # a fit towards infinity would tell no more: that X has full rank is enough
                start = self._usual(places, shift, objective)
                return estimate("irls", objective, start, warm=False, refine=refine, enough=-np.inf)
            return self._maximise(method, objective, start_params, places, shift, told)

        with shown(progress, f"{type(self).__name__}, {method}", self._rows, reporter) as reporter:
            found, objective, coordinates = self._of_full_rank(maximum, collinear, n_threads, distinct=method != "sgd")
            limit = None
            if bias_reduction is None:
                limit = self._limit(found, objective, coordinates, method, separation, options)
            if limit is None:
                self._verify(found, objective, coordinates, method)
                self._warn_of_levels(found, coordinates)
            else:
                check_converged(replace(limit.fit, iterations=limit.inner.fit.iterations), method, objective.unit)
            if flic:
                found = with_flic(self, found, objective, coordinates)
            found = found if limit is None else limit
            if found.basis is not None:
                objective = objective.rotated(found.basis, found.exact)
            found = found.widened(coordinates)
            V = self._covariance(found, objective, cov_type, keywords)
            return self._results_of(FitState.of_centred(found, V, coordinates), method)

    def _results_of(self, state: FitState, method: str) -> Fitted:
        results = self._results_class(self, state, method)
        if state.basis is not None:
            warn_of_no_digits(results)
        return results._prepared()

    def _of_full_rank(
        self, maximum, collinear: str, n_threads, movable: ndarray | None = None, distinct: bool = True
    ) -> tuple[Estimate, Objective, Coordinates]:
        """Fit the columns that are not aliased; return the estimate, its objective and its coordinates.

        ``maximum(objective, places, shift) -> Estimate`` raises RankDeficiency; `places` are those of its parameters,
        which are larger by `shift` than the model's, as the objective's offset is centred; `movable` says which may be.
        It is given the objective of `distinct` rows alone, if that pays.
        """
        k = len(self.exog_names)
        if collinear == "raise" and len(self._rows) < k:
            raise CollinearityError(f"{k} columns need at least as many rows; {self.endog_names} has {len(self._rows)}")
        coordinates = self._coordinates
        while True:
            columns = coordinates.columns
            objective = self._objective(n_threads, columns)
            objective, shift = centred(objective, None if movable is None else movable[columns])
            fewer = self._objective(n_threads, columns, distinct) if not shift.any() else objective
            try:
                with np.errstate(over="ignore", invalid="ignore"):
                    found = maximum(fewer, coordinates.places, shift)
                break
            except RankDeficiency as deficiency:
                coordinates = coordinates.without(deficiency.combinations)
            omitted = coordinates.omitted
            self._refuse_tiny(omitted)
            if collinear == "raise" or len(omitted) == k:
                raise CollinearityError(self._collinearity(omitted) + self._advice(omitted))
        if omitted := coordinates.omitted:
            what = "it is" if len(omitted) == 1 else "they are"
            warn(
                f"{self._collinearity(omitted)}; {what} left out: a coefficient of such a column has no estimate, and "
                "predictions do not need one where the new rows obey the same combination."
                + self._of_splines(omitted, " "),
                CollinearityWarning,
            )
        return found, objective, coordinates.shifted(shift)

    def _maximise(self, method, objective, start_params, places, shift, options) -> Estimate:
        if start_params is not None:
            found = estimate(method, objective, self._flat(start_params)[places] + shift, warm=False, **options)
            if found.fit.converged or found.fit.message == RAW or found.fit.iterations >= options["maxiter"]:
                return found
        # restart at the usual start, as no step leads on from the one given
        return estimate(method, objective, self._usual(places, shift, objective), **options)

    def _usual(self, places: ndarray, shift: ndarray, objective: Any = None) -> ndarray:
        """Usual start of a fit, with a shift that makes up for the centring of the offset; zeros stay zeros.

        Where the offset moves slopes, the constant of the null model, which has none to take it up, is no start: slopes
        that take up most of what is left of it in the `objective` are, or zeros.
        """
        away = None if objective is None else against_offset(objective)
        if away is not None:
            return away
        if shift.any() and shift[self._slopes[places]].any():
            return np.zeros(len(shift))
        start = self._start()[places]
        return start + shift if start.any() else start

    @property
    def _slopes(self) -> ndarray:
        """Mask of the parameters that are no constants."""
        slopes = np.ones((self._likelihood.n_eta, len(self.exog_names)), dtype=bool)
        constant = self._rows.constant_column()
        if constant is not None:
            slopes[:, constant[0]] = False
        return slopes.ravel()

    def _refuse_tiny(self, omitted) -> None:
        """Refuse columns "of zeros" that hold numbers whose squares underflow."""
        sizes = {self.exog_names[j]: self._largest(j) for j, terms in omitted.items() if not terms}
        tiny = [f'"{name}" (up to {size:.3g})' for name, size in sizes.items() if size > 0]
        if tiny:
            raise CollinearityError(
                f"the scale of {', '.join(tiny[:MAX_NAMES])}: no double holds their squares. Give these columns in "
                "another unit, or scale them"
            )

    def _largest(self, column: int) -> float:
        return float(self._rows.largest()[column])

    def _collinearity(self, omitted) -> str:
        """Text with each aliased column and the combination that it equals."""
        parts = []
        for j, terms in omitted.items():
            right = combination(terms, self.exog_names) or "0 in every row" + empty_cell(self.exog_names[j])
            parts.append(f'"{self.exog_names[j]}" = {right}')
        few = "; ".join(parts[:MAX_NAMES]) + (f"; and {len(parts) - MAX_NAMES} more" if len(parts) > MAX_NAMES else "")
        return f"the columns of the design are linearly dependent (perfect collinearity): {few}"

    def _of_splines(self, omitted, before: str) -> str:
        """What to write in place of splines that span the constant; "" where none does."""
        found = splines_with_constant(omitted, self.exog_names)
        return f"{before}{found[0].upper()}{found[1:]}." if found else ""

    def _advice(self, omitted) -> str:
        if found := self._of_splines(omitted, ". "):
            return found
        return f". Leave {'it' if len(omitted) == 1 else 'them'} out, or merge levels of the factor."

    def _limit(self, found: Estimate, objective, coordinates, method, separation, options) -> LimitEstimate | None:
        """Limit estimate of a separated response; None where the estimate is finite."""
        if not found.vanished and found.fit.message == "converged":
            return None
        from glmclf.core.separation.counting import CountedRows
        from glmclf.core.separation.limit import limit_estimate
        from glmclf.core.separation.search import ruled_out

        cone, constraints = self._cone(objective, found.theta, coordinates)
        if cone is None:
            return None
        gone = ruled_out(objective, cone, constraints)
        report = self._report(cone, gone, coordinates)
        if separation == "raise":
            raise PerfectSeparationError(report.message("raise", self._pseudo))
        finite = len(report.columns) < len(found.theta)
        warn(report.message("warn", self._pseudo, finite), SeparationWarning)
        method = "irls" if method == "sgd" else method
        near, iterations = found.theta, found.fit.iterations
        if isinstance(constraints, CountedRows):  # by the maximum of the rest
            near, iterations = constraints.near, iterations + constraints.iterations
        limit = limit_estimate(method, objective, cone, constraints, near, gone, **options)
        return replace(limit, fit=replace(limit.fit, iterations=iterations + limit.fit.iterations))

    def _cone(self, objective: Objective, theta: ndarray | None, coordinates: Coordinates) -> tuple[Any, Any]:
        """Recession cone of an objective, or None, and its constraints; an error if rows in a stream leave it open."""
        from glmclf.core.separation.search import find_cone, ruled_out
        from glmclf.core.separation.stream import ManyBoundsError, UndecidedError

        try:
            return find_cone(objective, theta)
        except UndecidedError as error:
            raise EstimationError(f"{error}. Fit a sample in memory to see more") from None
        except ManyBoundsError as many:
            report = self._report(many.cone, ruled_out(objective, many.cone, many.constraints), coordinates)
        raise PerfectSeparationError(report.message("stream", self._pseudo))

    def _report(self, cone, gone: Any, coordinates: Coordinates) -> Separation:
        """Report of separation from a cone of the columns not omitted."""
        return separation_report(self, cone.widened(coordinates), gone)

    def _detect(self) -> Separation | None:
        """Detect separation without a fit."""
        from glmclf.core.separation.search import ruled_out, started

        coordinates = self._coordinates.without(dependencies_in(self._rows.columns()))
        objective = self._objective(columns=coordinates.columns)
        cone, constraints = self._cone(objective, started(objective), coordinates)
        return None if cone is None else self._report(cone, ruled_out(objective, cone, constraints), coordinates)

    def _verify(self, found: Estimate, objective: Objective, coordinates: Coordinates, method: str) -> None:
        """Check an estimate: error if infinite, warning if the maximum was not reached."""
        fit = found.fit
        try:
            _ = fit.evaluation.factor
        except np.linalg.LinAlgError:
            advice = wide_offset(self) or (
                "Check the scale of the regressors and the offset, or start elsewhere; subtract a value in its middle "
                "from a number that is multiplied by a factor."
            )
            raise EstimationError(
                f"{method}: {fit.message} after {fit.iterations} iterations, and the information matrix is singular "
                f"there: no standard errors exist. {advice}"
            ) from None
        if found.vanished and fit.converged and not rests_on_few_rows(found, objective):
            scale = np.max([x.largest() for x, *_ in objective.blocks], axis=0)
            size = (_spreads(found).reshape(-1, len(scale)) * scale).max(axis=0)
            wild = coordinates.columns[size >= 0.1 * size.max()]
            names = ", ".join(f'"{self.exog_names[j]}"' for j in wild)
            warn(
                f"the estimates exist, but the data are all but separated ({names}): standard errors and Wald tests of "
                "such coefficients mean little." + ("" if self._pseudo else " Use compare_lr_test."),
                InferenceWarning,
            )
        check_converged(fit, method, objective.unit)

    def _warn_of_levels(self, found: Estimate, coordinates: Coordinates) -> None:
        """Warn of columns of which so little is left beside a factor of many levels that their standard errors lose
        digits: the variance of what is left is a difference."""
        e: Any = found.fit.evaluation
        if e.dear or not isinstance(e.information, ArrowMatrix):
            return
        shares, columns = e.factor.shares, coordinates.columns
        digits = -np.log10(ROUNDINGS_OF_DIFFERENCE * np.finfo(float).eps / np.maximum(shares, np.finfo(float).tiny))
        few = np.flatnonzero(digits < MIN_DIGITS_OF_ERRORS)
        if len(few):
            places = e.information.layout.border[few] % len(columns)
            places = found.basis.places(places) if isinstance(found.basis, DesignBasis) else places
            named = dict.fromkeys(self.exog_names[columns[j]] for j in places if columns[j] != self._constant_column())
            names = ", ".join(f'"{name}"' for name in named) or "the intercept"
            warn(
                f"{names}: hardly anything is left beside the levels of a factor and the other columns, and standard "
                f"errors have about {max(0, int(digits[few].min()))} correct digits; estimates have theirs. Subtract a "
                "value in its middle from a number that is multiplied by a factor.",
                InferenceWarning,
            )

    def _covariance(
        self, found: Any, objective: Objective, cov_type: str, keywords: Keywords
    ) -> tuple[Covariance, list[str]]:
        if not found.is_finite:
            return self._limit_covariance(found, cov_type, keywords)
        if found.constraints:
            return constrained_covariance(self, found, objective, cov_type, keywords)
        coordinates = replace(self._coordinates, omitted=found.omitted)
        narrow, n_threads = found.narrow(coordinates), objective.blocks.n_threads
        whole, shift = centred(self._objective(n_threads, coordinates.columns))
        if found.bias_reduction is not None:
            check_covariance(found, cov_type, whole)
        if cov_type in MODEL_BASED and not shift.any():
            objective = self._objective(n_threads, coordinates.columns, distinct=True)
            objective = objective if narrow.basis is None else objective.rotated(narrow.basis, found.exact)
        context = Context(objective, narrow.fit.theta, narrow.fit.evaluation, self.nobs, self._frequency)
        if cov_type in REFITS and not narrow.fit.converged:
            keywords = keywords.doubting(cov_type, "Replications are maxima, which the estimate is not.")
        V = row_covariance(self, cov_type, context, keywords)
        if found.omitted:
            V = replace(V, matrix=coordinates.wide(V.matrix))
        return V, keywords.names

    def _limit_covariance(
        self, found: LimitEstimate, cov_type: str, keywords: Keywords
    ) -> tuple[Covariance, list[str]]:
        """Covariance of the parameters of a limit estimate; rows that separation decides have no score."""
        from glmclf.inference.covariance.limit import LimitContext

        fit, p = found.inner.fit, len(found.fit.theta)
        if cov_type in REFITS:
            raise NotImplementedError(
                f'cov_type="{cov_type}" of a separated fit: use "HC1"'
                + ("" if self._pseudo else ', or bias_reduction="firth" with "expected"')
            )
        if not len(fit.theta) or not len(found.rows):
            return Covariance(cov_type, np.zeros((p, p)), "No coefficient is finite."), []
        parameters = p - len(found.omitted) * self._likelihood.n_eta
        context = LimitContext(
            *(found.objective, fit.theta, fit.evaluation, self.nobs, self._frequency),
            *(parameters, found, self._rows.weights, len(self._rows)),
        )
        V = row_covariance(self, cov_type, context, keywords, found.rows)
        return replace(V, matrix=found.expanded(V.matrix)), keywords.names

    def _maximum(self, columns: ndarray, start: ndarray) -> tuple[float, ndarray]:
        """Largest log-likelihood with some columns of the design only, without `_constant`, and the parameters there.

        Rows, offset and weights are the model's own. `start` is flat, equation by equation.
        """
        if not len(columns):
            return self._offset_alone(), np.zeros(0)
        found = self._estimate_with(columns, start)
        return found.fit.evaluation.value, found.theta

    def _estimate_with(self, columns: ndarray, start: ndarray) -> Estimate:
        """Estimate with some columns of the design only, or its limit."""
        absent: dict[int, dict[int, float]] = {j: {} for j in range(len(self.exog_names)) if j not in columns}
        coordinates = replace(self._coordinates, omitted=absent)
        objective, shift = centred(self._objective(columns=columns))
        objective = objective if shift.any() else self._objective(columns=columns, distinct=True)
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                found = estimate("irls", objective, start + shift, warm=False, maxiter=100)
                if not found.fit.converged:
                    found = estimate("irls", objective, np.zeros(len(start)), maxiter=200)
        except RankDeficiency as deficiency:
            raise CollinearityError(self._collinearity(coordinates.in_all_columns(deficiency.combinations))) from None
        if found.vanished or not found.fit.converged:
            from glmclf.core.separation.limit import limit_estimate
            from glmclf.core.separation.search import ruled_out

            cone, constraints = self._cone(objective, found.theta, coordinates)
            if cone is not None:
                gone = ruled_out(objective, cone, constraints)
                found = limit_estimate("irls", objective, cone, constraints, found.theta, gone)
        if not found.fit.converged:
            names = ", ".join(self.exog_names[j] for j in columns)
            raise EstimationError(f"the fit with the columns {names} alone found no maximum: {found.fit.message}")
        return found.restored(shift)

    def _objective_of(self, X: Columns) -> Objective:
        """Objective with other columns."""
        objective = self._objective()
        blocks = Blocks(X, *objective.blocks.arrays[1:], size=self._block_size)
        return type(objective)(objective.likelihood, blocks, objective.unit)

    @property
    def _term_factors(self) -> dict[str, frozenset]:
        """Factors of each term, by which terms are marginal to others."""
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
        """Log-likelihood without any parameter, eta = offset."""
        objective, shift = self._without_regressors()
        return objective.gradient(shift).value

    def _beside_the_rows(self, values, what: str) -> pd.DataFrame:
        """Align numbers (columns by name, Series, DataFrame or array) with the rows of the fit."""
        r, frame, positions = self._rows, self.data.table, self._rows.positions
        if isinstance(values, str) or (isinstance(values, list) and all(isinstance(v, str) for v in values)):
            names = [values] if isinstance(values, str) else values
            absent = [name for name in names if frame is None or name not in frame.columns]
            if absent or frame is None:
                raise DataError(f"{what}: {', '.join(map(repr, absent))} is no column of the model's table")
            table = frame[names].iloc[positions]
        else:
            table = _as_table(values, what)
            labels = table.index if isinstance(values, (pd.Series, pd.DataFrame)) else None
            if labels is not None and not labels.equals(r.index) and (frame is None or not labels.equals(frame.index)):
                if not labels.is_unique or not r.index.isin(labels).all():
                    raise DataError(f"{what}: its index does not match that of the {len(r)} rows of the fit")
                table = table.loc[r.index]
            elif len(table) == (self._facts["n_given"] if frame is None else len(frame)):
                table = table.iloc[positions]
        if len(table) != len(r):
            raise DataError(f"{what} has {len(table)} rows; the fit has {len(r)}")
        numbers = _as_numbers(table, what)
        lost = ~np.isfinite(numbers.to_numpy()).all(axis=1)
        if lost.any():
            raise DataError(f"{what} is missing or infinite in {int(lost.sum())} of the {len(r)} rows of the fit")
        return numbers


# --------------------------------------------------------------------------------------------------- helpers
def _is_told_apart(objective: Objective) -> bool:
    """Whether counting tells that the outcomes of some rows are separated, as of levels of a factor."""
    if objective.blocks.arrays[0].shape[1] < MIN_COLUMNS_TO_COUNT:
        return False
    from glmclf.core.separation.counting import is_told

    return is_told(objective)


def _outcome_sums(likelihood: Any, y: ndarray, trials: ndarray | None, weights: ndarray | None) -> ndarray:
    """Weighted observations of each class, and the part of the log-likelihood without parameters, (K + 1,)."""
    w = 1.0 if weights is None else weights
    return np.append(likelihood.class_totals(y, trials, weights), np.sum(w * likelihood.constant(y, trials)))


def _alone(X: Columns, *rest: Any) -> tuple:
    """Arrays of rows with the constant as the only column."""
    return Dense(np.broadcast_to(1.0, (X.shape[0], 1))), *rest


def _spreads(found: Estimate) -> ndarray:
    """Model-based standard errors, (p,)."""
    factor = found.fit.evaluation.factor
    if isinstance(factor, ArrowFactor):
        return np.sqrt(covariance_from_basis(found.basis, factor.inverse).diagonal())
    T = from_basis(found.basis, factor.root)
    return np.sqrt((T * T).sum(axis=1))


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
        if any(kind.kind == "c" for kind in table.dtypes):
            raise TypeError
        return table.astype(float)
    except (TypeError, ValueError):
        kinds = ", ".join(f"{name} ({kind})" for name, kind in table.dtypes.items())
        raise DataError(f"{what} must be real numbers; found {kinds}") from None


def _of_the_model(reporter, shift: ndarray):
    """Reporter of iterations whose parameters are larger than the model's by a shift."""
    if reporter is None or not shift.any():
        return reporter
    return lambda iteration, theta, value: reporter(iteration, theta - shift, value)
