"""Bias reduction: estimates that solve score + adjustment = 0, finite where the likelihood has no maximum.

The adjustment A(theta) removes the leading term of the bias of the maximum likelihood estimate: of its mean ("firth":
Firth 1993, Kosmidis & Firth 2009) or of its median ("median": Kenne Pagui, Salvan & Sartori 2017). For logits with one
or several equations Firth's is the gradient of log|I|/2, I the information, and the estimate maximises a penalised
log-likelihood; the other adjusted scores are no gradient.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.design.columns import RowLengths
from glmclf.core.design.dense import Dense
from glmclf.core.design.product import triangular_inverse
from glmclf.core.fit.coordinates import basis_logdet, composed, from_basis, into_basis
from glmclf.core.fit.estimate import FACTORED_ALONE, Estimate, by_level, in_basis, reported_from, scalar_maximum
from glmclf.core.fit.restricted import DerivedObjective
from glmclf.core.fit.solvers.quasi_scoring import Point, solve_adjusted, value
from glmclf.core.likelihood.objective import Evaluation, MultinomialObjective, Objective
from glmclf.core.numerics.arrow import MAX_DENSE_BYTES, ArrowFactor, BlocksPlusLowRank
from glmclf.core.rows.blocks import Blocks, linear, one_blas_thread
from glmclf.core.rows.observations import linear_predictors

REDUCTIONS = ("firth", "median")
REDUCTION_TITLES = {"firth": "Mean BR (Firth)", "median": "Median BR"}
MAX_ADJUSTMENT_ENTRIES = 2**18  # entries of the arrays of an adjusted score that are handled at a time


@dataclass(frozen=True)
class Reduction:
    """Record of how an estimate was bias-reduced.

    Attributes
    ----------
    kind : str
        "firth" or "median".
    penalised : float or None
        Largest penalised log-likelihood, llf + log|I|/2 with I in the coordinates of X and without the coefficients of
        counts, where there is one; before the intercept was corrected.
    flic : bool
        Whether the intercept was corrected.
    """

    kind: str
    penalised: float | None = None
    flic: bool = False

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Reduction:
        """The reduction from what a file keeps of it."""
        return cls(stored["kind"], stored["penalised"], stored["flic"])


@dataclass(frozen=True, kw_only=True)
class ReducedEstimate(Estimate):
    """A bias-reduced estimate. `fit` holds the plain log-likelihood, the observed information and the adjusted score.

    Attributes
    ----------
    reduction : Reduction
    """

    reduction: Reduction

    @property
    def maximised(self) -> float | None:
        """The penalised log-likelihood, without the coefficients of counts; None where there is none."""
        return self.reduction.penalised

    @property
    def is_maximum(self) -> bool:
        """Whether there is a penalised log-likelihood and the intercept is its own."""
        return self.maximised is not None and not self.flic

    @property
    def flic(self) -> bool:
        """Whether the intercept was corrected."""
        return self.reduction.flic

    @property
    def has_zero_score(self) -> bool:
        """Whether the scores of the rows add up to 0: no, the adjusted score is 0."""
        return False

    @property
    def bias_reduction(self) -> str | None:
        """Kind of the bias reduction, "firth" or "median"."""
        return self.reduction.kind

    @property
    def name(self) -> str:
        """Name of what was reduced, and whether the intercept was corrected."""
        return REDUCTION_TITLES[self.reduction.kind] + (", FLIC" if self.flic else "")

    @property
    def notes(self) -> list[str]:
        """Sentences on how the bias was reduced, and what the numbers of the likelihood then are."""
        r = self.reduction
        what = "Firth's, of the mean" if r.kind == "firth" else "of the median"
        notes = [
            f"The estimate is bias-reduced ({what}); log-likelihood, AIC, BIC and pseudo R-squared are the plain ones "
            + "at "
            + ("it; the LLR p-value is of the penalised likelihood." if r.penalised is not None else "it.")
        ]
        if r.penalised is None:
            notes.append("Its adjusted score is the gradient of no likelihood: there is no likelihood ratio test.")
        if r.flic:
            notes.append("The intercept is corrected so that fitted probabilities add up to the events (FLIC).")
        return notes

    def to_dict(self) -> dict[str, Any]:
        """Record of the reduction for a file."""
        return {"reduction": vars(self.reduction).copy()}


def has_penalised_likelihood(kind: str, objective: Objective) -> bool:
    """Whether the adjusted score is the gradient of llf + log|I|/2: Firth's, with a logit."""
    return kind == "firth" and objective.canonical


class AdjustedScore:
    """Score + adjustment of an objective as a function of its parameters: two passes over the rows.

    Parameters
    ----------
    kind : {"firth", "median"}
    objective : Objective
        Of a binary or (only "firth") multinomial likelihood, in the coordinates ``basis @ theta``.
    basis : (k, k) upper triangular ndarray, optional
        The estimate is of median bias 0 in the coordinates of X, which this leads back to.

    Raises
    ------
    NotImplementedError
        "median" of several equations.
    """

    def __init__(self, kind: str, objective: Objective, basis: ndarray | None = None):
        if kind not in REDUCTIONS:
            raise ValueError(f"{kind!r} is no bias reduction; choose one of {', '.join(map(repr, REDUCTIONS))}")
        several = isinstance(objective, MultinomialObjective)
        if several and kind == "median":
            raise NotImplementedError("median bias reduction of several equations is not available")
        self.kind, self.objective, self.basis = kind, objective, basis
        self._adjustment = self._multinomial if several else self._binary

    def __call__(self, theta: ndarray) -> Point:
        """Adjusted score at theta; the penalised log-likelihood is -inf where the information is singular."""
        penalised = has_penalised_likelihood(self.kind, self.objective)
        e = self.objective(theta, True)
        try:
            factor = e.factor
        except np.linalg.LinAlgError:
            return Point(theta, e.value, -np.inf if penalised else None, e.score, e.information)
        with np.errstate(over="ignore", invalid="ignore"):
            many = isinstance(factor, ArrowFactor) and self.kind == "firth"
            score = e.score + self._adjustment(theta, e, factor.inverse if many else factor.root)
        return Point(theta, e.value, e.value + 0.5 * self.logdet(factor) if penalised else None, score, e.information)

    def logdet(self, factor: Any) -> float:
        """Log determinant log|I| in the coordinates of X."""
        found = factor.logdet
        if self.basis is None:
            return found
        return found + 2.0 * self.objective.likelihood.n_eta * basis_logdet(self.basis)

    def _binary(self, theta: ndarray, e: Evaluation, root: Any) -> ndarray:
        """Adjustment X'(h g)/2 of a binary model, and with "median" I b besides.

        h_i = w_i x_i' I^-1 x_i is the leverage, w_i the expected weight, g = d log f / d eta; b_j, the shift from the
        mean to the median, is sum_i w_i c_i (x_i' a_j)^3 / a_jj with a_j column j of I^-1 and c = (r1 - r0)/6 - g/2.
        """
        link = self.objective.likelihood.link
        median = self.kind == "median"
        columns, variances = self._inverse_columns(root) if median else (root, np.zeros(0))
        lengths = RowLengths(root)

        def rows(X, y, m, offset, weights):
            total = np.zeros(2 * len(theta) if median else len(theta))
            for x, eta, times in _chunks(X, theta, offset, _product(m, weights), len(theta) if median else 1):
                t, g = link.terms(eta), link.dlogpdf(eta)
                w = t.r1 * t.r0 * times
                h = w * lengths(x)
                total[: len(theta)] += x.times(0.5 * _times_finite(h, g))
                if median:
                    c = (t.r1 - t.r0) / 6.0 - 0.5 * g
                    Z = x @ columns
                    total[len(theta) :] += _times_finite(w, c) @ (Z * Z * Z)
            return total

        total = self.objective.blocks.sum(rows)
        if not median:
            return total
        shift = total[len(theta) :] / variances
        return total[: len(theta)] + e.information @ into_basis(self.basis, shift)

    def _inverse_columns(self, root: ndarray) -> tuple[ndarray, ndarray]:
        """Columns I^-1 c_j for the gradient c_j of each parameter of X, (p, p), and the parameters'
        variances c_j' I^-1 c_j."""
        G = root.T
        if self.basis is not None:
            G = root.T @ triangular_inverse(self.basis).T
        return root @ G, (G * G).sum(axis=0)

    def _multinomial(self, theta: ndarray, e: Evaluation, root: Any) -> ndarray:
        """Gradient of log|I|/2: of equation s, X' m p_s (Q_ss - p'diag Q - 2 (Q p)_s + 2 p'Q p)/2.

        Q = (x' [I^-1]_jl x) of the row, (q, q): the trace of Q with the third cumulants of one multinomial trial.
        """
        k, likelihood = self.objective.blocks.arrays[0].shape[1], self.objective.likelihood
        q = likelihood.n_eta
        many = isinstance(root, BlocksPlusLowRank)  # then in place of the root its square
        roots = () if many else root.reshape(q, k, -1)
        B = theta.reshape(k, q, order="F")

        def rows(X, y, m, offset, weights):
            total = np.zeros((k, q))
            for x, eta, times in _chunks(X, B, offset, _product(m, weights), k * q * q):
                p = likelihood.probabilities(eta)[1][:, 1:]
                Q = x.forms(root, q) if many else _forms(x, roots)
                d, Qp = np.einsum("njj->nj", Q), np.einsum("njl,nl->nj", Q, p)
                centred = d - 2.0 * Qp - ((d - 2.0 * Qp) * p).sum(axis=1, keepdims=True)
                total += x.times(np.reshape(times, (-1, 1)) * 0.5 * p * centred)
            return total

        return self.objective.blocks.sum(rows).ravel(order="F")


def _forms(x: Any, roots: Any) -> ndarray:
    """Blocks x' [I^-1]_jl x of rows, (n, q, q)."""
    Z = np.stack([x @ r for r in roots], axis=1)
    return Z @ Z.transpose(0, 2, 1)


def _chunks(X, b: ndarray, offset, times, width: int) -> Iterator[tuple[Any, ndarray, Any]]:
    """Rows of a block, their linear predictors and multiplicities, so few that arrays of `width` columns stay small."""
    step = max(256, MAX_ADJUSTMENT_ENTRIES // width)
    for start in range(0, X.shape[0], step):
        rows = slice(start, start + step)
        part = X[rows]
        eta = linear_predictors(part, b, None if offset is None else offset[rows])
        yield part, eta, 1.0 if times is None else times[rows]


def _product(m: ndarray | None, weights: ndarray | None) -> ndarray | None:
    return weights if m is None else m if weights is None else m * weights


def _times_finite(w: ndarray, g: ndarray) -> ndarray:
    """Product w g, 0 where w has vanished, however large g."""
    return np.where(w > 0, w * g, 0.0)


class PenalisedLikelihood(DerivedObjective):
    """Penalised log-likelihood llf + log|I|/2 of a logit with one or several equations, to be evaluated as
    an `Objective` is.

    Its information is the plain one, so that "irls" is quasi Fisher scoring.

    Parameters
    ----------
    objective : Objective
    basis : (k, k) upper triangular ndarray, optional
        As in `AdjustedScore`.
    """

    def __init__(self, objective: Objective, basis: ndarray | None = None):
        if not has_penalised_likelihood("firth", objective):
            raise NotImplementedError(
                "only logits have a penalised likelihood whose gradient is Firth's adjusted score"
            )
        super().__init__(objective)
        self.adjusted, self.basis = AdjustedScore("firth", objective, basis), basis

    def __call__(self, theta: ndarray, expected: bool = True) -> Evaluation:
        """Penalised value, adjusted score and information."""
        p = self.adjusted(theta)
        return Evaluation(value(p), p.score, p.information)

    def gradient(self, theta: ndarray) -> Evaluation:
        """Penalised value, adjusted score and information, as the value needs the information."""
        return self(theta)


# ----------------------------------------------------------------------------------------------------- the estimate
def reduce_bias(kind: str, objective: Objective, start: ndarray, **options) -> ReducedEstimate:
    """The bias-reduced estimate.

    Parameters
    ----------
    kind : {"firth", "median"}
    objective : Objective
        Weights count as repeated rows.
    start : (p,) ndarray
        In the coordinates of X.
    **options
        `maxiter`, `tol`, `callback` of `solve_adjusted`.

    Returns
    -------
    ReducedEstimate

    Raises
    ------
    RankDeficiency
        The columns are linearly dependent.
    """
    with one_blas_thread() if len(start) < FACTORED_ALONE.stop else nullcontext():
        return _reduce_bias(kind, objective, start, options)


def _reduce_bias(kind: str, objective: Objective, start: ndarray, options) -> ReducedEstimate:
    size = 8 * len(start) ** 2
    if kind == "median" and size > MAX_DENSE_BYTES:
        raise NotImplementedError(
            f"median bias reduction needs the covariances of all {len(start):,} coefficients, {1e-9 * size:.1f} GB: "
            'bias_reduction="firth" does not'
        )
    with by_level(objective) as (objective, recoding):
        start = into_basis(recoding, start)
        basis, objective, start, _ = in_basis(objective, start, objective(start))
    basis = composed(recoding, basis)
    adjusted = AdjustedScore(kind, objective, basis)
    point, fit = solve_adjusted(adjusted, start, rows=objective.n, **reported_from(basis, options))
    e = objective(fit.theta, False)
    fit = replace(fit, evaluation=Evaluation(e.value, point.score, e.information))
    return ReducedEstimate(fit, basis, reduction=Reduction(kind, point.penalised))


def with_corrected_intercept(found: ReducedEstimate, objective: Objective, column: int) -> ReducedEstimate:
    """The estimate with the intercept that maximises the likelihood given the slopes, for fitted probabilities that add
    up to the events (FLIC: Puhr, Heinze, Nold, Lusa & Geroldinger 2017).

    Parameters
    ----------
    found : ReducedEstimate
    objective : Objective
        Of a logit, in the coordinates of X.
    column : int
        Place of the constant.
    """
    X, y, m, offset, weights = objective.blocks.arrays
    eta = linear(X, found.theta)
    eta = eta if offset is None else eta + offset
    alone = Objective(objective.likelihood, Blocks(Dense(np.ones((len(eta), 1))), y, m, eta, weights))
    shift = np.zeros(X.shape[1])
    shift[column] = scalar_maximum(alone, 0.0) / float(X[:1].toarray()[0, column])
    theta = found.restored(-shift).fit.theta
    e = (objective if found.basis is None else objective.rotated(found.basis))(theta, False)
    evaluation = Evaluation(e.value, found.fit.evaluation.score, e.information)
    fit = replace(found.fit, theta=theta, evaluation=evaluation)
    return replace(found, fit=fit, reduction=replace(found.reduction, flic=True))


def penalised_maximum(
    objective: Objective,
    basis: ndarray | None,
    directions: ndarray,
    start: ndarray,
    origin: ndarray | None = None,
    **options,
) -> tuple[float, ndarray]:
    """Largest llf + log|I|/2 over theta = origin + directions @ gamma, I the information of all parameters.

    This is the restricted fit of penalised likelihood-ratio tests (Heinze & Schemper 2002), whose two sides must have
    the same penalty.

    Parameters
    ----------
    objective : Objective
        Of a logit with one or several equations, in the coordinates ``basis @ theta``.
    basis : (k, k) upper triangular ndarray or None
    directions : (p, r) ndarray
        In the coordinates of X; r may be 0.
    start : (p,) ndarray
        Any theta near which the maximum may be.
    origin : (p,) ndarray, optional
        By default 0.

    Returns
    -------
    value : float
        Without the coefficients of counts.
    theta : (p,) ndarray
        Where, in the coordinates of X.

    Raises
    ------
    ArithmeticError
        No maximum was found.
    """
    with one_blas_thread() if len(start) < FACTORED_ALONE.stop else nullcontext():
        return _penalised_maximum(objective, basis, directions, start, origin, options)


def _penalised_maximum(objective, basis, directions, start, origin, options) -> tuple[float, ndarray]:
    adjusted = AdjustedScore("firth", objective, basis)
    origin = np.zeros(len(start)) if origin is None else origin
    if basis is not None:
        origin, start = into_basis(basis, origin), into_basis(basis, start)
        directions = np.column_stack([into_basis(basis, d) for d in directions.T]) if directions.size else directions
    opening = adjusted(origin)
    if not directions.shape[1]:
        return float(value(opening)), from_basis(basis, origin)
    # an orthonormal basis of what is left, each parameter on the scale of its information
    scale = np.sqrt(np.diag(opening.information))
    C = np.linalg.qr(scale[:, None] * directions)[0] / scale[:, None]

    def restricted(gamma: ndarray) -> Point:
        p = adjusted(origin + C @ gamma)
        return Point(gamma, p.value, p.penalised, C.T @ p.score, C.T @ p.information @ C)

    for first in (C.T @ (scale**2 * (start - origin)), np.zeros(C.shape[1])):
        point, fit = solve_adjusted(restricted, first, rows=objective.n, **{"maxiter": 200} | options)
        if fit.converged:
            return value(point), from_basis(basis, origin + C @ point.theta)
    raise ArithmeticError(fit.message)
