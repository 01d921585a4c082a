"""A generative model against the logit that maximises the conditional likelihood.

The log-odds of a generative model are linear in some functions z(x) of the features. Where the regressors of a logit
span the same functions, both estimate the same coefficients, and their difference tells whether the laws are right.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.design.dense import Dense
from glmclf.core.fit.estimate import estimate
from glmclf.core.likelihood.objective import MultinomialObjective
from glmclf.core.rows.asked import under_usual_errors
from glmclf.core.rows.blocks import Blocks
from glmclf.errors import EstimationError
from glmclf.inference.generative import discriminant as diagnostics
from glmclf.results.comparison.comparability import counted
from glmclf.results.requires import Needs, check_needs
from glmclf.results.tables.frames import notebook

MAX_REST = 1e-8  # share of a regressor's largest value that may remain outside the span of the features' functions


@dataclass(frozen=True)
class LogitForm:
    """A generative model as a logit in z(x), about the features' centre.

    Attributes
    ----------
    functions : callable
        Features of some rows -> z (n, m), the constant first.
    influence : callable
        Features and classes of some rows of the fit -> influence on the coefficients, (n, (K-1) m).
    coefficients : (K-1, m) ndarray
    closed : DiscriminantCovariance or ClosedFormCovariance
        Their covariance if the laws are right, from which a matrix is formed as far as it is needed.
    """

    functions: Callable[[Any], ndarray]
    influence: Callable[[Any, ndarray], ndarray]
    coefficients: ndarray
    closed: Any

    @property
    def covariance(self) -> ndarray:
        """The whole covariance matrix, ((K-1) m, (K-1) m)."""
        return self.closed.full()


@under_usual_errors
@dataclass(frozen=True)
class ConditionalComparison:
    """Twice the difference of conditional log-likelihoods, as a weighted sum of chi-squareds.

    Attributes
    ----------
    llf : float
        Of the logit, its maximum.
    llf_conditional : float
        Of the generative model; with fixed priors, of its slopes with the intercepts that suit the rows best.
    statistic : float
        2 (llf - llf_conditional).
    scale, df, pvalue : float
        Satterthwaite's: statistic / scale is compared with chi-squared on df degrees of freedom.
    weights : (q,) ndarray
        Of the chi-squareds.
    penalty : float
        trace(I_c V), the optimism of llf_conditional; with fixed priors that of the slopes, plus the intercepts.
    aic_conditional : float
        -2 llf_conditional + 2 penalty, which compares with the logit's aic.
    """

    llf: float
    llf_conditional: float
    statistic: float
    scale: float
    df: float
    pvalue: float
    weights: ndarray
    penalty: float
    aic_conditional: float

    def __repr__(self) -> str:
        return (
            f"conditional log-likelihoods: logit {self.llf:.6g}, generative {self.llf_conditional:.6g}\n"
            f"statistic {self.statistic:.4g} = {self.scale:.4g} x chi2({self.df:.4g}), p-value {self.pvalue:.4g}\n"
            f"conditional AIC of the generative model: {self.aic_conditional:.6g} (penalty trace {self.penalty:.4g})"
        )

    def _repr_html_(self) -> str:
        return notebook(*repr(self).split("\n"))


def compare_conditional(res: Any, other: Any) -> ConditionalComparison:
    """See `GenerativeResults.compare_conditional`."""
    res, other = _checked(res, other)
    form, values, y = res._logit_form(), res._values(None)[0], res.model._rows.y
    Z = form.functions(values)
    objective = other.model._objective_of(Dense(Z))
    theta = _in_terms_of(Z, res, other).ravel(order="F")
    information = objective(theta, True).information
    kept, covariance = np.arange(len(theta)), form.covariance
    llf, fitted = res.llf_conditional, 0
    if not res._priors_free:  # profile the intercepts out of both models: fixed priors do not test the distributions
        kept = np.flatnonzero(np.arange(len(theta)) % Z.shape[1])
        llf, fitted = _profiled(objective, Z, form.coefficients), len(form.coefficients)
    n = float(res.nobs)
    difference = _difference(objective, theta, information, form.influence, values, y, n)[np.ix_(kept, kept)]
    reduced = _with_rest_estimated(information, kept)
    statistic = 2 * (other.llf - llf)
    found = diagnostics.compare_conditional(statistic, reduced, difference, n)
    penalty = fitted + diagnostics.conditional_penalty(reduced, covariance[np.ix_(kept, kept)])
    aic = -2 * llf + 2 * penalty
    return ConditionalComparison(
        other.llf, llf, statistic, found.scale, found.df, found.pvalue, found.weights, penalty, aic
    )


def _difference(objective, theta: ndarray, information: ndarray, influence, values, y: ndarray, n: float) -> ndarray:
    """Sum over rows of outer products of the difference between their influences on the two estimates."""
    total, start = np.zeros_like(information), 0
    for X, counts, m, offset, w in objective.blocks:
        rows = slice(start, start + len(counts))
        start = rows.stop
        u = objective.score_factor(theta, X, counts, m, offset)
        u = u[:, None] if u.ndim == 1 else u
        scores = (u[:, :, None] * X.toarray()[:, None, :]).reshape(len(u), -1)
        psi = influence(_rows(values, rows), y[rows])
        total += diagnostics.difference_sums(information, scores, psi, w, n)
    return total


def _rows(values: Any, rows: slice) -> Any:
    """Select rows of features given as an array or a list of arrays."""
    return [v[rows] for v in values] if isinstance(values, list) else values[rows]


def _profiled(objective, Z: ndarray, coefficients: ndarray) -> float:
    """Largest log-likelihood over the intercepts, with slopes fixed."""
    slopes = Z[:, 1:] @ coefficients[:, 1:].T
    _, y, m, _, w = objective.blocks.arrays
    offset = slopes if isinstance(objective, MultinomialObjective) else slopes[:, 0]
    part = type(objective)(objective.likelihood, Blocks(Dense(np.ones((len(Z), 1))), y, m, offset, w), objective.unit)
    fit = estimate("newton", part, coefficients[:, 0], warm=False).fit
    if not fit.converged:
        raise EstimationError(f"the intercepts beside the slopes of the generative model: {fit.message}")
    return float(fit.evaluation.value)


def _with_rest_estimated(information: ndarray, kept: ndarray) -> ndarray:
    """Information on some parameters with the others estimated."""
    rest = np.setdiff1d(np.arange(len(information)), kept)
    A, B = information[np.ix_(kept, kept)], information[np.ix_(kept, rest)]
    return A - B @ np.linalg.solve(information[np.ix_(rest, rest)], B.T) if len(rest) else A


def _in_terms_of(Z: ndarray, res: Any, other: Any) -> ndarray:
    """Coefficients of a logit in terms of the columns of Z, (m, K-1), which must be spanned by its own columns."""
    model = other.model
    X = model._rows.X[:].toarray()
    scale = np.sqrt((Z * Z).mean(axis=0))
    B, _, rank, _ = np.linalg.lstsq(Z / scale, X, rcond=None)
    left = np.abs(X - (Z / scale) @ B).max(axis=0) > MAX_REST * np.abs(X).max(axis=0)
    if left.any() or X.shape[1] != Z.shape[1] or rank < Z.shape[1]:
        stray = ", ".join(f'"{name}"' for name, no in zip(model.exog_names, left, strict=True) if no)
        be = "is" if left.sum() == 1 else "are"
        why = f"{stray} {be} no combination of them" if stray else f"it has {X.shape[1]} columns, they are {Z.shape[1]}"
        raise ValueError(
            f"the regressors differ: those of the logit ({_few(model.exog_names)}) do not span the functions of the "
            f"features that discriminant.params has ({_few(res.discriminant.params.index)}): {why}"
        )
    return (B / scale[:, None]) @ other._theta.reshape(X.shape[1], -1, order="F")


def _few(names: Any) -> str:
    """Text with the first names of a list."""
    return ", ".join(map(str, names[:20])) + (", ..." if len(names) > 20 else "")


def _checked(res: Any, other: Any) -> tuple[Any, Any]:
    """Check that both fits are maxima for the same response, rows and weights; return them with rows in memory.

    The logit is returned against the reference of the generative model.
    """
    kind = type(other.model).__name__
    if kind not in ("MNLogit", "Logit"):
        raise TypeError(f"compare_conditional needs a fit of MNLogit or Logit, found {kind}")
    res._check_logit_form()
    check_needs(other, "compare_conditional()", Needs.LIKELIHOOD, Needs.MLE, Needs.UNCONSTRAINED, Needs.FINITE)
    if other.model._has_offset:
        raise ValueError("the logit has an offset, which the generative model cannot have")
    levels = [*map(str, other.model._response.levels)]
    if levels != [*map(str, res.model._classes if kind == "Logit" else res.levels)]:
        raise ValueError(
            f"the levels differ: the logit has {levels} and the generative model {res.levels}, with the reference "
            f"{res.reference!r}"
            + (", which a Logit must have as the level that is no event" if kind == "Logit" else "")
        )
    res, other = with_rows(res), with_rows(other)
    other = other if kind == "Logit" else other.rebase(other.levels[levels.index(str(res.reference))])
    a, b = res.model._rows, other.model._rows
    codes = b.y.astype(np.intp) if b.y.ndim == 1 else b.y.argmax(axis=1)
    different = len(a) != len(b) or (a.y != codes).any()
    if b.trials is not None or not _equal(counted(res), counted(other)) or different:
        raise ValueError("the two models were fitted to different rows or weights")
    return res, other


def with_rows(res: Any) -> Any:
    """Results with the rows of the fit in memory."""
    held = res.model._rows.held()
    if held is res.model._rows:
        return res
    found, model = copy.copy(res), copy.copy(res.model)
    model._rows_, found.model = held, model
    state = getattr(res, "_state", None)
    gone = None if state is None else state.estimate.rules_out(model._rows.X, model._likelihood.n_eta + 1)
    if gone is not None:
        found._state = res._state.with_estimate(ruled_out=gone)
    return found


def _equal(a: ndarray | None, b: ndarray | None) -> bool:
    return a is b or (a is not None and b is not None and np.array_equal(a, b))
