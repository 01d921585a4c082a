"""Maximum likelihood under linear equality constraints on the parameters.

What only constrained fits need is imported in the functions, as every model has `fit_constrained`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy import ndarray

from glmclf.checks import check_choice
from glmclf.core.design.columns import some_columns
from glmclf.core.fit.coordinates import into_basis
from glmclf.core.fit.information import well_conditioned
from glmclf.core.fit.offsets import centred
from glmclf.core.fit.rank import dependencies, roundings, triangular_factor
from glmclf.core.likelihood.objective import CholeskyFactor
from glmclf.core.numerics.arrow import MAX_DENSE_BYTES
from glmclf.core.rows.asked import named
from glmclf.errors import CollinearityError, EstimationError, InferenceWarning, PerfectSeparationError, warn
from glmclf.inference.covariance.types import MODEL_BASED, REFITS, Covariance
from glmclf.inference.hypotheses.wald import linear_restrictions
from glmclf.models.cov_keywords import Keywords, row_covariance
from glmclf.models.fit_options import check_converged, check_options, wide_offset
from glmclf.results.hypotheses.linear import constraints
from glmclf.results.omitted import combination
from glmclf.results.regression.constrained import said
from glmclf.results.regression.state import FitState

if TYPE_CHECKING:
    from glmclf.core.fit.constraints import ConstrainedEstimate, Constraint

CONSTRAINED_METHODS = ("irls", "newton", "bfgs", "lbfgs")

Fitted = TypeVar("Fitted")


class ConstrainedFits(Generic[Fitted]):
    """Mixin of models with `fit_constrained`."""

    @named
    def fit_constrained(
        self: Any,
        constraints: Any,
        start_params: Any = None,
        method: str = "irls",
        maxiter: int = 100,
        tol: float | None = None,
        cov_type: str | None = None,
        cov_kwds: Mapping[str, Any] | None = None,
        n_threads: int | None = None,
    ) -> Fitted:
        """Maximum likelihood estimate that obeys linear equality constraints R b = q.

        Parameters
        ----------
        constraints : str, list of str, dict, array_like, DataFrame or (R, q)
            ``"x1 = x2"``, ``"x1 + 2*x2 = 1, x3 = 0"``, a list of such, ``{"x1": 1}``; a (J, p) matrix with q = 0, also
            labelled by the parameters; or both. Parameters of MNLogit are called ``y{level}_{regressor}``, as in
            `t_test`.
        start_params : (p,) array_like, optional
            Where to start; what disobeys the constraints is moved.
        method : {"irls", "newton", "bfgs", "lbfgs"}
        maxiter, tol, cov_type, cov_kwds, n_threads
            As in `fit`; covariances by refitting (bootstrap, jackknife) are not available.

        Returns
        -------
        Results
            All parameters, which obey the constraints, with the singular covariance Q (Q'IQ)^-1 Q', Q the directions
            that R leaves free. Constraints do not count as parameters (aic, bic, df_model, df_resid). A parameter that
            they fix has the standard error 0 and no test. `constraint_test` tests them.

        Raises
        ------
        ValueError
            Unknown names, constraints that contradict each other or say nothing, unknown options.
        CollinearityError
            The constraints leave columns linearly dependent.
        PerfectSeparationError
            The constrained estimate is infinite. Constraints can also make an infinite estimate finite.
        NotImplementedError
            method="sgd", covariances by refitting, more than 16,384 parameters.

        Warns
        -----
        InferenceWarning
            Some constraints follow from others and were left out.
        ConvergenceWarning
            No maximum within `maxiter` iterations.

        References
        ----------
        Amemiya (1985), Advanced Econometrics, section 1.4; Stata's ``constraint``.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> model = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector"))
        >>> res = model.fit_constrained("GPA = PSI")
        >>> res.params.round(4)
        Intercept   -12.5279
        GPA           2.5538
        TUCE          0.1079
        PSI           2.5538
        dtype: float64
        >>> round(res.constraint_test().pvalue, 4)
        0.7413
        """
        return _fit_constrained(self, constraints, start_params, method, maxiter, tol, cov_type, cov_kwds, n_threads)


def _fit_constrained(model, hypothesis, start_params, method, maxiter, tol, cov_type, cov_kwds, n_threads):
    """Fit under constraints, as `ConstrainedFits.fit_constrained` documents."""
    from glmclf.core.fit.constraints import ConstrainedEstimate, maximise_within

    if method == "sgd":
        raise NotImplementedError('method="sgd" with fit_constrained is not available: use "irls"')
    check_choice("method", method, CONSTRAINED_METHODS)
    cov_type = cov_type or ("HC0" if model._pseudo else "nonrobust")
    model._check_covariance(cov_type)
    keywords = model._cov_keywords(cov_type, cov_kwds)
    _refuse_refits(cov_type)
    p = len(model._param_names)
    if 8 * p * p > MAX_DENSE_BYTES:
        raise NotImplementedError(
            f"an estimate of {p:,} parameters under linear constraints forms arrays of all pairs of them, "
            f"{8e-9 * p * p:.1f} GB each: write the constraints into the formula, I(x + z) for equal coefficients and "
            "offset= for known ones; score_bootstrap_test() has impose_null=False"
        )
    check_options(maxiter, tol, n_threads)
    if start_params is not None and not np.isfinite(model._flat(start_params)).all():
        raise ValueError(f"start_params must be finite numbers; found {model._flat(start_params)}")
    R, q = _restrictions(model, hypothesis)
    objective, shift = centred(model._objective(n_threads))
    usual = start_params is None
    start = model._usual(slice(None), shift, objective) if usual else model._flat(start_params) + shift
    fewer = objective if shift.any() else model._objective(n_threads, distinct=True)
    part, basis, eta, constraint = _within(model, fewer, R, q, start, shift)
    with np.errstate(over="ignore", invalid="ignore"):
        fit, gone = maximise_within(method, part, eta, constraint, maxiter=maxiter, tol=tol)
    if gone or fit.message != "converged":
        _check_separation(model, objective, constraint)
    try:
        _ = CholeskyFactor(part.Q.T @ fit.evaluation.information @ part.Q) if len(eta) else None
    except np.linalg.LinAlgError:
        advice = wide_offset(model) or "Check the scale of the regressors, or start elsewhere."
        raise EstimationError(
            f"{method} under {constraint}: {fit.message} after {fit.iterations} iterations, and the information matrix "
            f"is singular there: no standard errors exist. {advice}"
        ) from None
    check_converged(fit, method, objective.unit)
    found = ConstrainedEstimate(fit, basis, constraint=constraint)
    if cov_type not in MODEL_BASED:  # of scores of the rows themselves
        fewer = objective
    fewer = fewer if basis is None else fewer.rotated(basis)
    V = constrained_covariance(model, found, fewer, cov_type, keywords)
    results = model._results_class(model, FitState.of_centred(found, V, model._coordinates.shifted(shift)), method)
    results.__dict__["_keywords"] = keywords
    return results._prepared()


def _restrictions(model: Any, hypothesis: Any) -> tuple[ndarray, ndarray]:
    """Constraints R b = q without redundant rows, and the names of those rows."""
    R, q = constraints(hypothesis, model._param_names, model._param_index, getattr(model, "reference", None))
    words = said(R, q, model._param_names)
    try:
        kept, values = linear_restrictions(R, q)
    except ValueError as error:
        listed = "; ".join(f"({i}) {text}" for i, text in enumerate(words))
        raise ValueError(f"constraints {listed}: {error}") from None
    if len(kept) < len(R):
        of = iter(kept)
        current, extra = next(of, None), []
        for row, text in zip(R, words, strict=True):
            if current is not None and np.array_equal(row, current):
                current = next(of, None)
            else:
                extra.append(text)
        warn(f"constraints that follow from others are left out: {', '.join(extra)}", InferenceWarning)
    return kept, values


def _within(model: Any, objective: Any, R: ndarray, q: ndarray, start: ndarray, moved: ndarray):
    """Likelihood within the constraints, the basis of its coordinates, the start, and the constraint.

    Parameters of the objective, `start` among them, are larger than those that the constraints are about by `moved`.

    Directions left free are orthonormal in the rows, theta = origin + E inv(U) eta with X E = (orthonormal) U, equation
    by equation: then neither units nor an ill-conditioned design matter.
    """
    from glmclf.core.fit.constraints import Constraint, free_parameters
    from glmclf.core.fit.restricted import Within

    k, n_eta = len(model.exog_names), model._likelihood.n_eta
    T = triangular_factor(objective.blocks)
    size = np.linalg.norm(T, axis=0)
    size = np.tile(np.where(size > 0, size, 1.0), n_eta)
    E, origin, free = free_parameters(R, q + R @ moved, size)
    A = np.vstack([T @ E[i : i + k] for i in range(0, len(E), k)])
    units = roundings(objective.blocks)
    own = np.abs(E).T @ (np.tile(np.linalg.norm(T, axis=0) * units, n_eta))  # norms of the columns of free parameters
    own /= np.maximum(np.linalg.norm(A, axis=0), np.finfo(float).tiny)
    _check_identified(model, dependencies(A, own) if len(free) else {}, free)
    O, U = np.linalg.qr(A)
    shift = start - origin  # the free parameters whose linear predictors are nearest to those of the start
    eta, basis = O.T @ np.concatenate([T @ shift[i : i + k] for i in range(0, len(E), k)]), None
    if well_conditioned(T.T @ T, objective.blocks.arrays[0].least_rcond) or dependencies(T, units):
        Q = np.linalg.solve(U.T, E.T).T
    else:
        basis, Q = T, O
        objective, origin, moved = objective.rotated(T), into_basis(T, origin), into_basis(T, moved)
    constraint = Constraint(R, q, Q, origin - moved, said(R, q, model._param_names), _null_obeys(model, R, q))
    return Within(objective, Q, origin), basis, eta, constraint


def _check_identified(model: Any, found: Mapping[int, Mapping[int, float]], free: ndarray) -> None:
    if not found:
        return
    names = [model._param_names[i] for i in free]
    what = "; ".join(f'"{names[j]}" = {combination(terms, names) or "0 in every row"}' for j, terms in found.items())
    raise CollinearityError(
        f"under the constraints columns of the design are linearly dependent (those of the free parameters: {what}). "
        "Leave such columns out of the formula, or constrain their parameters, too"
    )


def _null_obeys(model: Any, R: ndarray, q: ndarray) -> bool:
    """Whether the null model, with intercepts of any size, obeys the constraints."""
    if (q != 0).any():
        return False
    k, X = len(model.exog_names), model._rows.X
    c = np.zeros(k)
    if model._constant_column() is not None:
        c[model._constant_column()] = 1.0
    elif model.k_constant:
        A = some_columns(X, np.arange(k)).toarray()
        c = np.linalg.lstsq(A, np.ones(len(A)), rcond=None)[0]
    parts = np.column_stack([R[:, i : i + k] @ c for i in range(0, R.shape[1], k)])
    return bool((np.abs(parts) <= 1e-9 * (np.abs(R).max(axis=1, keepdims=True) * np.abs(c).max(initial=0.0))).all())


def _check_separation(model: Any, objective: Any, constraint: Constraint) -> None:
    """Refuse an estimate that is infinite under the constraints."""
    from glmclf.core.separation.cone import cone_where
    from glmclf.core.separation.search import constraints_of, ruled_out

    rows = constraints_of(objective)
    cone = cone_where(rows, constraint.R)
    if cone is None:
        return
    report = model._report(cone, ruled_out(objective, cone, rows), model._coordinates)
    raise PerfectSeparationError(
        f"under the constraints {constraint}: {report.message('raise').split('. Use ')[0]}. Constrain such "
        'coefficients, or use fit(bias_reduction="firth")'
    )


def _refuse_refits(cov_type: str) -> None:
    if cov_type in REFITS:
        raise NotImplementedError(
            f'cov_type="{cov_type}" with fit_constrained is not available: use "HC1" or "cluster"'
        )


def constrained_covariance(
    model: Any, found: ConstrainedEstimate, objective: Any, cov_type: str, keywords: Keywords
) -> tuple[Covariance, list[str]]:
    """Covariance of a constrained estimate, Q V Q'."""
    from glmclf.inference.covariance.constrained import ConstrainedContext

    _refuse_refits(cov_type)
    fit, constraint = found.fit, found.constraint
    arguments = (objective, fit.theta, fit.evaluation, model.nobs, model._frequency)
    return row_covariance(model, cov_type, ConstrainedContext(*arguments, constraint.Q), keywords), keywords.names
