"""Penalised fits: `fit_regularized`, `fit_regularized_cv`, and how a model makes a problem of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.checks import check_choice
from glmclf.core.design.columns import some_columns
from glmclf.core.fit.aliasing import violations
from glmclf.core.fit.coordinates import Coordinates
from glmclf.core.fit.estimate import FACTORED_ALONE, RankDeficiency
from glmclf.core.fit.information import information_vanished
from glmclf.core.fit.level_rank import dependencies_in
from glmclf.core.fit.offsets import centred
from glmclf.core.fit.rank import roundings
from glmclf.core.fit.unique_rows import distinct_rows, of_counts
from glmclf.core.rows.asked import named
from glmclf.core.rows.blocks import Blocks, alone, one_blas_thread
from glmclf.core.rows.streamed import RowsElsewhereError
from glmclf.data.table.frame import quoted
from glmclf.errors import ConvergenceWarning, DataError, EstimationError, InferenceWarning, PerfectSeparationError, warn
from glmclf.models.fit_options import wide_offset
from glmclf.models.folds import dealt
from glmclf.models.inputs import Inputs
from glmclf.models.penalty_options import (
    PenaltyOptions,
    check_method,
    check_penalised_converged,
    check_refit,
    penalty_options,
    read_grid,
    start_given,
    warn_of_spanned,
    weights_of_path,
)

if TYPE_CHECKING:
    from glmclf.core.fit.solvers.loop import Fit
    from glmclf.core.penalised.problem import ClassCoding, PenalisedEstimate, Problem
    from glmclf.results.regression.path import RegularizationCV, RegularizationPath

# glmnet's grid: number of alphas, smallest as a share of the largest, and the same share where columns exceed rows
STEPS, FINEST, FINEST_WIDE = 100, 1e-4, 1e-2
MAX_BLOCKS_ALONE = 16  # blocks of rows up to which the passes of a path are too short for several threads
MIN_RIDGE = 1e-10  # share of the information that a ridge needs along directions without information


class Regularization(Inputs):
    """Mixin of models with `fit_regularized` and `fit_regularized_cv`."""

    if TYPE_CHECKING:  # of Model
        _likelihood: Any
        _objective: Any
        _objective_class: ClassVar[Any]
        _objective_of: Any
        _usual: Any
        _constant_column: Any
        _of_full_rank: Any
        _cells: Any
        _weighted: Any
        _beside_the_rows: Any

    @named
    def fit_regularized(
        self,
        alpha: Any = None,
        L1_wt: float = 0.0,
        *,
        alphas: Any = None,
        penalize_intercept: bool = False,
        symmetric: bool = False,
        refit: bool = False,
        method: str = "elastic_net",
        start_params: Any = None,
        maxiter: int = 200,
        tol: float | None = None,
        n_threads: int | None = None,
        disp: bool | int = False,
    ) -> Any:
        """Ridge, lasso or elastic net: the maximum of ``llf/N - alpha ((1 - L1_wt)/2 |b|^2 + L1_wt |b|_1)``.

        N counts the rows, or is the sum of their weights or trials. Regressors are taken as they are, not standardised
        (glmnet's ``standardize=FALSE``): put them on one scale, or give each its alpha. The intercept has no penalty.

        Parameters
        ----------
        alpha : float, (k,) array_like, Series or dict
            Weight of the penalty, 0 or more: one number, or one for each column of the design; a Series or dict names
            columns, or terms of the formula for all their columns, those not named are free. With several classes also
            a DataFrame or (k, m) array of columns by equations (levels if `symmetric`). Infinite weights, with L1_wt >
            0, leave coefficients out: they are 0.
        L1_wt : float
            Share of the absolute values: 0 is a ridge, 1 a lasso, between them an elastic net.
        alphas : sequence of float or "auto", optional
            A path of fits, each started at the one before, in place of one number as `alpha`; an `alpha` by column
            beside it has the weights (glmnet's ``penalty.factor``, as it is given) that each value multiplies.
            0 leaves collinear columns out as `fit` does. "auto" is glmnet's grid: 100 values,
            equally spaced in their logarithms, from the least at which all coefficients are 0 down to 1e-4 of it (1e-2
            where there are fewer observations than columns); of a ridge as if L1_wt were 0.001.
        penalize_intercept : bool
            Whether the intercept has the penalty, too. Where columns span a constant without being one, as in
            ``0 + g``, none is free and a DataWarning says so.
        symmetric : bool
            MNLogit: whether every level has a coefficient vector (glmnet's and neural networks' softmax with weight
            decay), so that no level is the base of the penalty. Free coefficients add up to 0 over the levels.
        refit : bool
            After a lasso or elastic net: fit the columns with non-zero coefficients again by maximum likelihood. Its
            standard errors and p-values ignore the selection, as an InferenceWarning says.
        method : {"elastic_net"}
            statsmodels' "l1" and "l1_cvxopt_cp" are refused: their alpha is N times this one.
        start_params : (p,) array_like, optional
            Where to start. The maximum does not depend on it, unless several are as good.
        maxiter : int
            Most iterations, of a proximal Newton method; where a ridge is fitted by gradients (see Notes), ten times as
            many.
        tol : float, optional
            Convergence: the squared length of a step in standard errors. The default, 1e-22, is rounding. A fit counts
            as converged only where the conditions for a maximum hold to 1e-8 of the scale of the score, too.
        n_threads : int, optional
            As in `fit`; of a path by default one where the rows are few.
        disp : bool
            Whether to print a line an iteration.

        Returns
        -------
        RegularizedResults, or RegularizationPath with `alphas`

        Raises
        ------
        ValueError
            None of alpha and alphas, or one number beside alphas; values that are negative, missing, of another length
            or name; an infinite weight of a ridge; a penalty on the intercept without `penalize_intercept`; another
            method.
        PerfectSeparationError
            The data are separated by columns that have no penalty.
        EstimationError
            The ridge is lost in rounding along what it alone decides: collinear columns, and with `symmetric` all.
        NotImplementedError
            `symmetric` of a binary model; `refit` with sampling weights, symmetric coding or a path.

        Warns
        -----
        CollinearityWarning
            Columns without penalty are combinations of each other: they are left out as in `fit`. Columns with one
            stay; where a lasso has several maxima, its non-zero coefficients belong to independent columns.
        ConvergenceWarning
            No maximum within `maxiter` iterations, or the conditions for one do not hold where the fit stopped.

        Notes
        -----
        A ridge whose information takes far longer to form than a gradient (MNLogit of 717 pixels and ten classes: 6,453
        squared entries; more than 1,000 sparse columns) is fitted without it, by limited-memory BFGS in the metric that
        the information has without slopes, to the same accuracy. With more than 3,000 coefficients the information is
        formed when something that needs it is first asked for: `bse`, `cov_params`, `df_model` and what follows from
        them (`summary`, `aic`, `get_prediction`, `save`, `remove_data`). The `edf` of a path is NaN then. A lasso and
        an elastic net form it of the columns in use: those with a coefficient and those whose score says that they may
        need one (the strong rule of Tibshirani et al. 2012), until the conditions for a maximum hold for all; it is
        kept along a path, and corrected by what gradients show, as long as that is the shorter way. Of more than 16,384
        coefficients no array of all by all (2 GiB and more) is formed: there are no standard errors, which `bse` and
        `summary` of a ridge say.

        References
        ----------
        Friedman, Hastie & Tibshirani (2010), Regularization paths for generalized linear models via coordinate descent.
        Journal of Statistical Software 33(1). Lee, Sun & Saunders (2014), SIAM Journal on Optimization 24, 1420-1443.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> model = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector"))
        >>> model.fit_regularized(0.05).params.round(4)
        Intercept   -7.1696
        GPA          0.9380
        TUCE         0.1394
        PSI          0.9280
        dtype: float64
        >>> list(model.fit_regularized(0.1, L1_wt=1).selected)
        ['TUCE']
        """
        check_method(method, alpha)
        if alpha is None and alphas is None:
            raise ValueError("fit_regularized needs one of alpha= (a fit) and alphas= (a path)")
        options = (penalize_intercept, symmetric, maxiter, tol, n_threads, disp)
        wanted = penalty_options(self, alpha if alphas is None else weights_of_path(alpha), L1_wt, *options)
        check_refit(self, refit, wanted, alphas is not None)
        warn_of_spanned(self, wanted)
        if alphas is not None:
            return self._path(wanted, alphas, start_given(self, start_params, wanted))
        return self._penalised(wanted, start_given(self, start_params, wanted), refit)

    @named
    def fit_regularized_cv(
        self,
        folds: Any = 10,
        seed: Any = None,
        alphas: Any = "auto",
        L1_wt: float = 0.0,
        *,
        alpha: Any = None,
        rule: str = "1se",
        penalize_intercept: bool = False,
        symmetric: bool = False,
        maxiter: int = 200,
        tol: float | None = None,
        n_threads: int | None = None,
    ) -> RegularizationCV:
        """Choose alpha by cross-validation: the deviance of each fold under the path fitted to the others.

        Parameters
        ----------
        folds : int, str or (n,) array_like
            How many folds, or the fold of each row: a column of the table, or labels beside it. By number, single
            observations are dealt out at random, class by class, so that every fold has its share of each. A row that
            stands for several (freq_weights, counts) is split, with the probabilities that its expanded rows have; one
            seed deals these out otherwise. A row with a sampling weight, or a fraction, stays whole; rows with given
            labels do, too.
        seed : int, SeedSequence or Generator, optional
            Of the folds; the default is another deal each time.
        alphas : sequence of float or "auto"
            The grid, the same for all folds; see `fit_regularized`.
        L1_wt : float
            Share of the absolute values in the penalty.
        alpha : (k,) array_like, Series, dict or DataFrame, optional
            Weights of the coefficients, which each value of `alphas` multiplies; see `fit_regularized`. By default all
            but the intercept's are 1.
        rule : {"1se", "min"}
            Which alpha `result` has: the largest whose mean deviance is within one standard error of the least, or the
            one with the least.
        penalize_intercept, symmetric, maxiter, tol, n_threads
            As in `fit_regularized`. Folds take turns.

        Returns
        -------
        RegularizationCV
            `cv` (a table by alpha), `alpha_min`, `alpha_1se`, `alpha`, `result`, `path`.

        Raises
        ------
        ValueError
            Fewer than 2 folds, more folds than observations, labels that do not fit, another rule, a seed with labels.
        EstimationError
            A class is absent from the observations that a fold is predicted from, or they do not determine what columns
            without a penalty say of rows of the fold: a level that they lack, say.
        PerfectSeparationError
            Columns without a penalty separate these, so that the deviance of the fold would be infinite or nothing.

        Warns
        -----
        InferenceWarning
            The deviance still falls at the smallest alpha of those that were chosen here.

        Notes
        -----
        The deviance of a fold is -2 times its log-likelihood over its observations (weights); means over folds are
        weighted by these, and the standard error is sqrt(weighted variance / (folds - 1)), as in cv.glmnet.

        What the formula remembers of the rows (knots, cuts, centres, means) is learnt for each fold from the other
        folds; where values beyond the range of the fit are an error, as of ``bs`` and ``qcut``, the range stays.

        References
        ----------
        Hastie, Tibshirani & Friedman (2009), The Elements of Statistical Learning, section 7.10.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> model = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector"))
        >>> chosen = model.fit_regularized_cv(folds=5, seed=1, L1_wt=1)
        >>> chosen.alpha_min < chosen.alpha_1se
        True
        >>> chosen.result.alpha == chosen.alpha_1se
        True
        """
        from glmclf.results.regression.path import RegularizationCV

        check_choice("rule", rule, ("1se", "min"))
        if self._rows.streamed:
            raise RowsElsewhereError()
        options = (penalize_intercept, symmetric, maxiter, tol, n_threads, False)
        wanted = penalty_options(self, weights_of_path(alpha), L1_wt, *options)
        warn_of_spanned(self, wanted)
        counts, labels = dealt(self, folds, seed)
        path = self._path(wanted, alphas, None)
        rows = self._over_folds(wanted, path, counts, labels)
        if short := {label: r[2] for label, r in zip(labels, rows, strict=True) if r[2]}:
            what = f"{sum(short.values())} of the fits to folds did not converge (fold {quoted(short)})"
            warn(f"{what}; raise maxiter=", ConvergenceWarning)
        deviances = pd.DataFrame(dict(zip(labels, (r[0] for r in rows), strict=True)), index=path.params.index)
        found = RegularizationCV(path, deviances, np.array([r[1] for r in rows]), rule)
        if found._still_falls and np.ndim(alphas) == 0:  # who gives alphas knows where they end
            warn(
                f"the deviance still falls at the smallest alpha, {found.alpha_min:.3g}: give smaller ones, alphas=",
                InferenceWarning,
            )
        return found

    @property
    def _penalized_results_class(self) -> Any:
        """Class of results of penalised fits; `_results_class` is that of other fits."""
        from glmclf.results.regression.penalized import penalized_class

        return penalized_class(self._results_class)

    # ------------------------------------------------------------------------------------------------- fitting
    @property
    def _observations(self) -> float:
        """Number N of the penalty: rows, or the sum of weights or trials."""

        def observations(y, trials, weights) -> float:
            m = np.ones(len(y)) if trials is None else trials
            return float(m.sum() if weights is None else m @ weights)

        return self._rows.total(observations)

    def _problem(self, wanted: PenaltyOptions, objective, columns: ndarray, n: float, start: ndarray) -> Problem:
        """Penalised problem of some columns, in suitable coordinates; `start` are the parameters of the null model."""
        from glmclf.core.penalised.problem import ClassCoding, Penalty, Problem

        A = wanted.alpha[columns]
        if wanted.symmetric:
            coding: ClassCoding = ClassCoding.symmetric(self._contrasts_of_levels(), ~A.any(axis=1))
        else:
            coding = ClassCoding.of_equations(A.size)
        penalty = Penalty(A.ravel(order="F"), wanted.L1_wt, n)
        return Problem(objective, coding, penalty, wanted.maxiter, wanted.tol, wanted.callback).placed(start)

    def _contrasts_of_levels(self) -> ndarray:
        """Contrasts that give the equations as differences of levels, (K-1, K)."""
        levels, model = self.levels, self  # type: ignore[attr-defined]
        C = np.zeros((len(levels) - 1, len(levels)))
        for i, level in enumerate(model._equations):  # type: ignore[attr-defined]
            C[i, levels.index(level)] = 1.0
            C[i, levels.index(model.reference)] = -1.0  # type: ignore[attr-defined]
        return C

    def _coefficients_of(self, theta: ndarray, coding: ClassCoding, k: int) -> ndarray:
        """Coefficients c of the penalised problem from parameters theta (k q,)."""
        if not coding.by_class:
            return theta
        b = self._contrasts_of_levels().clip(0.0).T @ theta.reshape(-1, k)  # 0 for the reference
        return coding.c(b.ravel(), k)

    def _refuse_dependent(self, wanted: PenaltyOptions, objective, columns: ndarray) -> None:
        """Raise RankDeficiency where columns without a penalty are linear combinations of each other."""
        free = np.flatnonzero(wanted.free[columns])
        if not len(free) or (len(free) == 1 and columns[free[0]] == self._constant_column()):
            return
        found = dependencies_in(objective.blocks.map(lambda X, *rest: (some_columns(X, free),)))
        if found:
            raise RankDeficiency(
                {int(free[j]): {int(free[i]): v for i, v in terms.items()} for j, terms in found.items()}
            )

    def _one(
        self, wanted: PenaltyOptions, start: ndarray | None, refit: bool = False
    ) -> tuple[PenalisedEstimate, dict]:
        """Fit at one alpha; return the estimate and the omitted columns."""
        q = self._likelihood.n_eta

        def maximum(objective, places, shift):
            columns = places[: len(places) // q]
            self._refuse_dependent(wanted, objective, columns)
            usual = self._usual(places, shift)
            problem = self._problem(wanted, objective, columns, self._observations, usual).well_mixed()
            fit = self._solved(problem, None if start is None else start[places] + shift, usual)
            self._check_free(wanted, fit, problem, columns, usual)
            found = self._finished(problem, fit)
            found = self._refitted(problem, fit, found, columns) if refit else found
            if not found.fit.evaluation.dear:
                _ = found.fit.evaluation.information  # formed while the rows are there
            return self._moved_back(found, shift, len(columns))

        found: Any
        found, _, coordinates = self._of_full_rank(maximum, "drop", wanted.n_threads, wanted.free)
        return found, coordinates.omitted

    def _moved_back(self, found: PenalisedEstimate, shift: ndarray, k: int) -> PenalisedEstimate:
        """Undo the centring of the offset in an estimate, which shifts parameters without a penalty alone."""
        if not shift.any():
            return found
        b = shift
        if found.symmetric:
            B = self._contrasts_of_levels().clip(0.0).T @ shift.reshape(-1, k)  # 0 for the reference
            b = (B - B.mean(axis=0)).ravel()
        return replace(found.restored(shift), b=found.b - b)

    def _solved(self, problem: Problem, start: ndarray | None, usual: ndarray):
        """Maximum reached from a start or, where the solver cannot step from it, from the usual start."""
        if start is None:
            return problem.solve(self._coded(problem, usual))
        fit = problem.solve(self._coded(problem, start))
        again = fit if fit.converged else problem.solve(self._coded(problem, usual))
        return again if again.converged else fit

    def _coded(self, problem: Problem, theta: ndarray) -> ndarray:
        """Transform parameters of X to the coordinates in which a problem is solved."""
        return self._coefficients_of(problem.into(theta), problem.coding, problem.n_columns)

    def _penalised(self, wanted: PenaltyOptions, start: ndarray | None, refit: bool = False) -> Any:
        """Result of one penalised fit; `start` is in the model's parameters."""
        from glmclf.results.regression.penalized_state import NONE, POSTERIOR, REFIT, WORDS, PenalisedState

        found: Any
        found, omitted = self._one(wanted, start, refit)
        check_penalised_converged(found.fit, wanted)
        coordinates = self._coordinates_without(omitted)  # type: ignore[attr-defined]
        found = replace(found.widened(coordinates), constant=self._constant_column())
        without = self._pseudo or (wanted.L1_wt > 0 and wanted.alpha.any())
        spread = REFIT if refit else NONE if without else POSTERIOR
        if refit:
            warn(WORDS[REFIT], InferenceWarning)
        method = "limited-memory BFGS" if found.inner.dear and not found.penalty.lasso.any() else "proximal Newton"
        results = self._penalized_results_class(self, PenalisedState.of_fit(found, spread, coordinates), method)
        return results._prepared()

    def _finished(self, problem: Problem, fit) -> PenalisedEstimate:
        try:
            found = problem.finish(fit)
            if problem.weakest(fit) < MIN_RIDGE:
                raise np.linalg.LinAlgError
            return found
        except np.linalg.LinAlgError:
            why = wide_offset(self) or (
                "alpha is too small for columns that are combinations of others, or for coefficients of every level "
                "(symmetric=True). Raise alpha, or use fit()"
            )
            raise EstimationError(
                f"fit_regularized: {fit.message} after {fit.iterations} iterations, and the information with the "
                f"penalty is singular to rounding: {why[0].lower() + why[1:]}"
            ) from None

    def _check_free(self, wanted: PenaltyOptions, fit: Fit, problem: Problem, columns: ndarray, start: ndarray) -> None:
        """Raise PerfectSeparationError where columns without a penalty separate the data."""
        A = wanted.alpha[columns]
        loose = np.repeat(wanted.free[columns][:, None], self._likelihood.n_eta, axis=1) if wanted.symmetric else A == 0
        free = np.flatnonzero(loose.any(axis=1))
        lone = len(free) == 1 and columns[free[0]] == self._constant_column()
        if not len(free) or (fit.converged and lone):
            return
        objective, coding = problem.objective, problem.coding
        ends = problem.into(start), coding.theta(coding.b(fit.theta))
        before, after = (objective.information(theta, free) for theta in ends)
        at = np.flatnonzero(loose[free].ravel(order="F"))
        if fit.converged and not information_vanished(before[np.ix_(at, at)], after[np.ix_(at, at)]):
            return
        raw: Any = objective if problem.frame is None else problem.frame.raw
        blocks = raw.blocks.map(lambda X, *rest: (some_columns(X, free), *rest))
        self._refuse_separated(type(raw)(raw.likelihood, blocks, raw.unit), columns[free], "have no penalty")

    def _refuse_separated(self, objective: Any, columns: ndarray, why: str) -> None:
        from glmclf.core.separation.search import find_cone

        cone, _ = find_cone(objective)
        if cone is None:
            return
        infinite = columns[cone.moved.reshape(-1, len(columns)).any(axis=0)]
        names = ", ".join(f'"{self.exog_names[j]}"' for j in infinite)
        raise PerfectSeparationError(
            f"the data are separated by columns that {why}: the estimate of {names} is infinite. Give them a penalty, "
            'or use fit(), or fit(bias_reduction="firth")'
        )

    def _refitted(self, problem: Problem, fit, lasso: PenalisedEstimate, columns: ndarray) -> PenalisedEstimate:
        """Refit without a penalty the coefficients that are not 0 and those that have no penalty."""
        from glmclf.core.penalised.problem import ClassCoding, Penalty
        from glmclf.core.penalised.proximal import part_of

        p = len(problem.penalty.alpha)
        at = np.flatnonzero((fit.theta != 0) | (problem.penalty.alpha == 0))
        if not len(at):
            raise EstimationError("refit=True: nothing is selected, and there is no intercept")
        unpenalised = Penalty(np.zeros(p), 0.0, problem.penalty.n)
        if problem.arrow is None:
            free = replace(problem, coding=ClassCoding.of_some(p, at), penalty=unpenalised, scale=None)
            found = self._finished(free, free.solve(fit.theta[at]))
        else:  # the others are held at 0, which leaves the levels their shape
            held = replace(unpenalised, alpha=np.where(np.isin(np.arange(p), at), 0.0, np.inf), L1_wt=1.0)
            free = replace(problem, penalty=held)
            found = self._finished(free, free.solve(fit.theta))
        assert lasso.inner is not None and found.inner is not None
        before, after = (part_of(e.information, at) for e in (lasso.inner, found.inner))
        if not found.fit.converged or information_vanished(before, after):
            selected = columns[np.unique(at % len(columns))]
            self._refuse_separated(self._objective(columns=selected), selected, "were selected")
        return replace(found, penalty=problem.penalty)

    # --------------------------------------------------------------------------------------------------- paths
    def _turns(self, wanted: PenaltyOptions) -> AbstractContextManager:
        """Context of fits one after another: with few rows on one thread, as their passes are short."""
        r, size = self._rows, len(self.exog_names) * self._likelihood.n_eta
        few = not r.streamed and len(r) <= MAX_BLOCKS_ALONE * r.X.block_size and size < FACTORED_ALONE.stop
        if few and wanted.n_threads is None:
            return alone()
        return one_blas_thread() if size in FACTORED_ALONE else nullcontext()

    def _path(self, wanted: PenaltyOptions, alphas, start: ndarray | None) -> RegularizationPath:
        from glmclf.core.penalised.problem import without_covariance
        from glmclf.results.regression.path import RegularizationPath

        given = read_grid(alphas)
        grid = None if given is None else given[given > 0]
        q, fits, omitted = self._likelihood.n_eta, [], {}  # type: ignore[var-annotated]

        def maximum(objective, places, shift):
            nonlocal grid
            columns = places[: len(places) // q]
            self._refuse_dependent(wanted, objective, columns)
            theta = self._usual(places, shift)
            problem = self._problem(wanted, objective, columns, self._observations, theta)
            if grid is None:
                grid = self._auto_grid(problem, self._coded(problem, theta))
            problem = problem.well_mixed(min(grid))
            fits.clear()
            c = None
            for a in grid:
                part = problem.scaled(a)
                first = None if start is None else start[places] + shift
                fit = self._solved(part, first, theta) if c is None else part.solve(c)
                self._check_free(wanted, fit, part, columns, theta)
                c, found = fit.theta, self._finished(part, fit)
                fits.append(without_covariance(self._moved_back(found, shift, len(columns))))
            return fits[-1]

        if grid is None or len(grid):
            with self._turns(wanted):
                omitted = self._of_full_rank(maximum, "drop", wanted.n_threads, wanted.free)[2].omitted
        assert grid is not None
        left_out = [omitted] * len(fits)
        if given is not None and given[-1] == 0:  # the refit may omit other columns than the penalised fit
            last = fits[-1].widened(Coordinates(len(self.exog_names), q, omitted)).theta if fits else start
            free, omitted = self._one(wanted.times(0.0), last)
            grid, fits, left_out = given, [*fits, without_covariance(free)], [*left_out, omitted]
        short = [a for a, f in zip(grid, fits, strict=True) if not f.fit.converged]
        if short:
            few = ", ".join(f"{a:.3g}" for a in short[:5])
            count = f"{len(short)} of {len(grid)} fits"
            warn(f"{count} did not converge (alpha = {few}); raise maxiter=", ConvergenceWarning)
        return RegularizationPath(self, wanted, grid, fits, left_out)

    def _auto_grid(self, problem: Problem, c: ndarray) -> ndarray:
        """Grid of alphas like glmnet's, the largest first."""
        top = problem.largest_alpha(problem.null(c))
        if not top > 0:
            raise ValueError('alphas="auto": no column has a penalty, or none has any effect; give the values')
        least = FINEST if self._observations >= len(self.exog_names) - self.k_constant else FINEST_WIDE
        return top * least ** (np.arange(STEPS) / (STEPS - 1))

    # --------------------------------------------------------------------------------------------------- folds
    def _part(self, counts: ndarray, columns: ndarray, centred_offset: Any, n_threads: int | None) -> tuple[Any, float]:
        """Log-likelihood of some observations of each row, and their weighted number."""
        rows = np.flatnonzero(counts.any(axis=1))
        r, C = self._rows, counts[rows].astype(float)
        X = r.X if len(columns) == r.X.shape[1] else some_columns(r.X, columns)
        y: ndarray
        weights, totals = None if self._frequency else r.weights[rows], C.sum(axis=1)
        single = bool((totals == 1).all())
        trials, likelihood = None if single else totals, self._likelihood
        if self._response.kind == "fraction":
            y, trials, weights = r.y[rows], None, C[:, 0] if weights is None else weights
        elif likelihood.n_eta == 1 and C.shape[1] == 2 and not hasattr(self, "_equations"):
            y, likelihood = C[:, 1], type(likelihood)(likelihood.link, binary=single)
        else:
            y = C.argmax(axis=1) if single else C
        offset = None if centred_offset is None else centred_offset[rows]
        m = np.ones(len(rows)) if trials is None else trials
        n = float(m.sum() if weights is None else m @ weights)
        unit = 1.0 if weights is None or self._frequency else float(weights.mean())
        arrays: Any = (X.subset(rows), y, trials, offset, weights)
        if (found := distinct_rows(likelihood, *arrays)) is not None:
            arrays, likelihood = found, of_counts(likelihood)
        return self._objective_class(likelihood, Blocks(*arrays, n_threads=n_threads), unit), n

    def _over_folds(self, wanted: PenaltyOptions, path: RegularizationPath, counts: ndarray, labels: list[Any]) -> list:
        """What `_fold` returns, fold by fold; an error names the fold.

        Folds side by side in threads take longer than one after the other, as their short passes wait for Python.
        """
        rows = []
        for label, model, out, kept in self._folds(counts, labels):
            try:
                with self._turns(wanted):
                    rows.append(model._fold(wanted, path, out, kept))
            except (DataError, EstimationError) as error:
                raise type(error)(f"fold {label}: without it {error}") from None
        return rows

    def _folds(self, counts: ndarray, labels: list[Any]) -> Iterator[tuple[Any, Any, ndarray, ndarray]]:
        """Labels of folds, models whose formula remembers the rows outside, observations of the fold and others."""
        learner = self._learner()
        for label, part in zip(labels, counts, strict=True):
            rest = counts.sum(axis=0) - part
            if learner is None:
                yield label, self, part, rest
                continue
            kept = rest.sum(axis=1)
            single = self._frequency and self._rows.trials is None
            try:
                model = self._relearnt(learner, kept if single else (kept > 0).astype(kept.dtype))
                yield label, model, part, rest
            except DataError as error:
                raise DataError(f"fold {label}: without it {error}") from None

    def _fold(self, wanted: PenaltyOptions, path: RegularizationPath, out: ndarray, kept: ndarray):
        """Deviance of a fold's observations by alpha, their number, and the number of fits without convergence."""
        wanted, short, size = replace(wanted, callback=None), 0, 0.0
        deviances: list[float] = []
        for a, omitted in zip(path.alphas, path._omitted, strict=True):
            if a == 0 or not deviances:
                part = wanted if a > 0 else wanted.times(0.0)
                least = 1.0 if a == 0 else float(min(b for b in path.alphas if b > 0))
                everything = Coordinates(len(self.exog_names), 1, omitted).columns
                self._refuse_not_estimable(part, out, kept, everything)
                problem, columns, offset, start = self._fold_problem(part, kept, everything)
                problem = problem.well_mixed(least)
                c = self._coded(problem, start)
                test, size = self._part(out, columns, offset, wanted.n_threads)
                test = problem.moved(test)
            scaled = problem.scaled(a)
            fit = scaled.solve(c)
            self._check_free(part, fit, scaled, columns, start)
            c, short = fit.theta, short + (not fit.converged)
            deviances.append(-2.0 * test.gradient(problem.coding.theta(problem.coding.b(c))).value / size)
        return np.array(deviances), size, short

    def _refuse_not_estimable(self, wanted: PenaltyOptions, out: ndarray, kept: ndarray, columns: ndarray) -> None:
        """Raise EstimationError where rows of a fold depend on what the rows outside do not tell of free coefficients.

        Those of an equation: columns that have a penalty in others may be among its free ones.
        """
        from glmclf.results.omitted import broken_combinations

        train, test = (self._rows.X.subset(np.flatnonzero(counts.any(axis=1))) for counts in (kept, out))
        for free in np.unique(wanted.alpha[columns] == 0, axis=1).T:
            at, found = columns[free], {}  # type: ignore[var-annotated]
            while len(at) and at.tolist() != [self._constant_column()]:
                more = dependencies_in(Blocks(some_columns(train, at)))
                if not more:
                    break
                found |= {int(at[j]): {int(at[i]): v for i, v in terms.items()} for j, terms in more.items()}
                at = np.delete(at, list(more))
            broken = violations(found, test, roundings(self._rows.columns())) if found else {}
            if broken:
                rows, said = broken_combinations(broken, found, self.exog_names)
                raise EstimationError(
                    f"there is no estimate for {rows} of its {test.shape[0]} rows: in every other row {said}, and not "
                    "in these. Give columns without a penalty one by alpha= (a term stands for all of its columns), "
                    "merge rare levels, or use folds that leave rows of each level to fit to"
                )

    def _fold_problem(self, wanted: PenaltyOptions, kept: ndarray, columns: ndarray):
        """Penalised problem of some observations, with its columns, the centred offset of all rows, and the start.

        The columns are those with a penalty, and those without one that are no linear combinations of others.
        """
        while True:
            whole, shift = centred(self._objective(columns=columns), wanted.free[columns])
            offset = whole.blocks.arrays[3]
            objective, n = self._part(kept, columns, offset, wanted.n_threads)
            try:
                self._refuse_dependent(wanted, objective, columns)
            except RankDeficiency as deficiency:
                columns = np.delete(columns, list(deficiency.combinations))
                continue
            k = len(self.exog_names)
            places = (np.arange(self._likelihood.n_eta)[:, None] * k + columns).ravel()
            start = self._usual(places, shift)
            return self._problem(wanted, objective, columns, n, start), columns, offset, start
