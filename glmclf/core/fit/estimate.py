"""From an objective to its maximum: a start, a solver, and the basis that an ill-conditioned design needs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy import ndarray
from scipy.linalg import eigh

from glmclf.core.design.product import triangular_inverse
from glmclf.core.fit.information import VANISHED_SHARE, information_vanished, well_conditioned
from glmclf.core.fit.rank import dependencies, roundings, triangular_factor
from glmclf.core.fit.solvers import solve
from glmclf.core.fit.solvers.loop import Fit
from glmclf.core.fit.surrogate import SurrogateLikelihood
from glmclf.core.fit.warm_start import WarmStart, from_surrogate, separation_loglik, warm_start
from glmclf.core.likelihood.objective import CholeskyFactor, Evaluation, Objective
from glmclf.core.numerics.double_double import product
from glmclf.core.rows.blocks import Blocks, linear, one_blas_thread

FAR_OFF = 3  # rows that may hold most of the information in some direction
FACTORED_ALONE = range(64, 1000)  # parameters whose Cholesky factor costs less than waking a second BLAS thread


class RankDeficiency(Exception):
    """Columns that are combinations of others: column -> {column: coefficient}."""

    def __init__(self, combinations: dict[int, dict[int, float]]):
        super().__init__(combinations)
        self.combinations = combinations


@dataclass(frozen=True)
class Estimate:
    """A `Fit` in some coordinates, and the way back to those of X.

    Attributes
    ----------
    fit : Fit
        Of the objective whose columns are ``X @ inv(basis)``, or X without a basis.
    basis : (k, k) upper triangular ndarray or None
    vanished : bool
        Whether the information has all but vanished in some direction: the symptom of separation.
    omitted : mapping of int to dict
        Columns that were left out and what they equal; see `core.omitted`.
    exact : bool, optional
        Whether rows are put into the basis in twofold arithmetic; by default where the design is not large.
    """

    fit: Fit
    basis: ndarray | None
    vanished: bool = False
    omitted: Mapping[int, Mapping[int, float]] = field(default_factory=dict)
    exact: bool | None = None

    @property
    def theta(self) -> ndarray:
        """The estimate in the coordinates of X."""
        return self.reported(from_basis(self.basis, self.fit.theta))

    # what kinds of estimates answer in their own way
    def reported(self, theta: ndarray) -> ndarray:
        """Parameters as they are reported, from finite ones in the coordinates of X."""
        return theta

    @property
    def reported_size(self) -> int:
        """How many parameters are reported."""
        return len(self.fit.theta)

    def free_count(self, lost: int) -> float:
        """How many parameters are free, where `lost` are of columns that were left out."""
        return len(self.fit.theta) - lost

    @property
    def infinite(self) -> ndarray:
        """Signs of the infinite parameters, NaN where they have none, and 0 of finite ones, (p,)."""
        return np.zeros(len(self.fit.theta))

    def signs(self, R: ndarray) -> ndarray:
        """Signs of infinite combinations, rows of R (., p), NaN where they have none, and 0 of finite ones."""
        return np.zeros(len(R))

    def fixed(self, R: ndarray) -> tuple[ndarray, ndarray]:
        """Which combinations, rows of R (., p), have one value whatever the data are; and these values, else NaN."""
        return np.zeros(len(R), dtype=bool), np.full(len(R), np.nan)

    @property
    def fixed_parameters(self) -> ndarray:
        """Which parameters have one value whatever the data are, (p,)."""
        return np.zeros(len(self.fit.theta), dtype=bool)

    def coordinates(self, R: ndarray) -> ndarray:
        """Combinations of the parameters of X, rows of R (., p), as such of those of `fit`."""
        if self.basis is None:
            return R
        k, T = len(self.basis), triangular_inverse(self.basis)
        return np.hstack([product(R[:, i : i + k], T) for i in range(0, R.shape[1], k)])

    def to_dict(self) -> dict[str, Any]:
        """What a file keeps of this kind of estimate alone."""
        return {}

    def mapped(self, A: ndarray, inverse: ndarray, order: list[int]) -> Self:
        """The estimate of A theta: against another base, whose classes are in the `order` given.

        Its basis is that of each equation, which A mixes without changing it.
        """
        e = self.fit.evaluation
        evaluation = Evaluation(e.value, inverse.T @ e.score, inverse.T @ e.information @ inverse)
        return replace(self, fit=replace(self.fit, theta=A @ self.fit.theta, evaluation=evaluation))

    def without_rows(self) -> Self:
        """The estimate without what has an entry a row."""
        return self


def from_basis(basis: ndarray | None, b: ndarray) -> ndarray:
    """inv(basis) b, equation by equation: parameters, or one side of their covariance, in the coordinates of X."""
    if basis is None:
        return b
    k, T = len(basis), triangular_inverse(basis)
    parts = [product(T, b[i : i + k].reshape(k, -1)).reshape(b[i : i + k].shape) for i in range(0, len(b), k)]
    return np.concatenate(parts)


def into_basis(basis: ndarray, b: ndarray) -> ndarray:
    """basis b, equation by equation."""
    k = len(basis)
    return np.concatenate([basis @ b[i : i + k] for i in range(0, len(b), k)])


def estimate(
    method: str, objective: Objective, start: ndarray, *, warm: bool = True, refine: bool | None = None, **options
) -> Estimate:
    """Maximise `objective` from `start`.

    Parameters
    ----------
    method : str
        Name of a solver.
    objective : Objective
    start : (p,) ndarray
    warm : bool
        Whether a large problem may begin at the estimate on a fixed subsample of its rows.
    refine : bool, optional
        Whether the fit is in a well-conditioned basis with rows in twofold arithmetic. By default it is in such a basis
        if the design is ill-conditioned, and in twofold arithmetic unless it is large. False: never in twofold.
    **options
        Of the solver.

    Raises
    ------
    RankDeficiency
        The columns are linearly dependent.
    """
    many = objective.n > objective.blocks.size  # rows: a second BLAS thread, once woken, turns beside the first pass
    alone = len(start) in FACTORED_ALONE or (many and len(start) < FACTORED_ALONE.stop)
    with one_blas_thread() if alone else nullcontext():
        return _estimate(method, objective, start, warm and method != "sgd", refine, options)


def _estimate(
    method: str, objective: Objective, start: ndarray, warm: bool, refine: bool | None, options
) -> Estimate:
    reference, usual = None, start
    if warm and method == "irls" and not refine and (near := warm_start(objective, start, **options)) is not None:
        return _finish(near, objective, **options)
    if method in ("irls", "newton"):
        options = {"enough": separation_loglik(objective, len(start)), **options}
    surrogate = SurrogateLikelihood.of(objective, len(start)) if warm else None
    if surrogate is not None:
        start, reference = from_surrogate(surrogate, start)
        surrogate = None if reference is None else surrogate
    opening = objective(start, surrogate is None)
    if surrogate is not None and surrogate.misled(opening):
        start, reference, surrogate = usual, None, None
        opening = objective(start)
    if refine or not opening.well_conditioned(objective.blocks.arrays[0].least_rcond):
        refuse_empty_columns(objective, opening.information)
        return _estimate_in_basis(method, objective, start, refine, options)
    if surrogate is not None and method == "irls":
        options = {"surrogate": surrogate, **options}
    fit = solve(method, objective, start, opening=opening, **options)
    reference = opening.information if reference is None else reference
    return Estimate(fit, None, information_vanished(reference, fit.evaluation.information))


def _finish(near: WarmStart, objective: Objective, *, maxiter=100, callback=None, **options) -> Estimate:
    """The maximum from a point near it."""

    def report(iteration, theta, value):
        if callback is not None:
            callback(near.steps + iteration, theta, value)

    enough = separation_loglik(objective, len(near.theta))
    options |= {"maxiter": maxiter, "callback": report, "surrogate": near.surrogate, "enough": enough}
    fit = solve("irls", objective, near.theta, **options)
    fit = replace(fit, iterations=near.steps + fit.iterations)
    return Estimate(fit, None, information_vanished(near.metric.toarray(), fit.evaluation.information))


def scalar_maximum(objective: Objective, start: float) -> float:
    """Maximum of an objective of one parameter, from any start: Newton inside a bracket on the sign of the score."""
    low, high, b, reach = -np.inf, np.inf, start, 1.0
    for _ in range(200):
        e = objective(np.array([b]), False)
        score, information = float(e.score[0]), float(e.information[0, 0])
        if score > 0:
            low = b
        else:
            high = b
        step = score / information if information > 0 else np.inf
        new = b + step
        if step * score <= 1e-24 or new == b:
            return new
        if not low < new < high or not np.isfinite(new):
            new = 0.5 * (low + high) if np.isfinite(low + high) else b + np.copysign(reach, score)
            reach *= 2.0
        b = new
    return b


def refuse_empty_columns(objective, information: ndarray) -> None:
    """Raise at once where columns of zeros alone, as empty cells of factors make them, keep X from full rank."""
    k = objective.blocks.arrays[0].shape[1]
    empty = np.diag(information).reshape(-1, k)[0] == 0
    if not empty.any() or empty.all():
        return
    squares = objective.blocks.sum(lambda X, *_: np.diag(X.gram(np.ones(X.shape[0]))))
    empty &= squares == 0
    rest = np.tile(~empty, len(information) // k)
    if empty.any() and well_conditioned(information[np.ix_(rest, rest)], objective.blocks.arrays[0].least_rcond):
        raise RankDeficiency({int(j): {} for j in np.flatnonzero(empty)})


def _estimate_in_basis(method, objective, start, refine, options) -> Estimate:
    R = triangular_factor(objective.blocks)
    combinations = dependencies(R, roundings(objective.blocks))
    if combinations:
        raise RankDeficiency(combinations)
    rotated, start = objective.rotated(R, refine), into_basis(R, start)
    opening = rotated(start)
    fit = solve(method, rotated, start, opening=opening, **options)
    return Estimate(fit, R, information_vanished(opening.information, fit.evaluation.information), exact=refine)


def rests_on_few_rows(found: Estimate, objective: Objective) -> bool:
    """Whether the information vanished only where a few rows far off, which the estimate decides, had most of it.

    Then it is their leverage that is lost, and the other rows tell the coefficients as well as ever.
    """
    if objective.blocks.streamed:
        return False
    objective = objective if found.basis is None else objective.rotated(found.basis, found.exact)
    X, _, m, _, w = objective.blocks.arrays
    weight = np.ones(X.shape[0])
    for times in (m, w):
        weight = weight if times is None else weight * times
    after, q = found.fit.evaluation.information, len(found.fit.theta) // X.shape[1]
    blocks = Blocks(X, weight, size=objective.blocks.size, n_threads=objective.blocks.n_threads)
    for _ in range(FAR_OFF + 1):
        try:
            T = CholeskyFactor(np.kron(np.eye(q), blocks.sum(lambda X, weight: X.gram(weight)))).root
        except np.linalg.LinAlgError:
            return False
        values, vectors = eigh(T.T @ after @ T)
        if values[0] >= VANISHED_SHARE:
            return True
        way = linear(X, (T @ vectors[:, 0]).reshape(X.shape[1], q, order="F"))
        shares = weight * (way * way).sum(axis=1)
        top = int(shares.argmax())
        if shares[top] < 0.5 * shares.sum():
            return False
        weight[top] = 0.0
    return False
