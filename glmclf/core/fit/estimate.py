"""From an objective to its maximum: a start, a solver, and the basis that an ill-conditioned design needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy import ndarray
from scipy.linalg import eigh, norm

from glmclf.core.design.arrow import of_levels
from glmclf.core.design.centring import level_centring
from glmclf.core.design.recoding import recoding_of
from glmclf.core.fit.coordinates import Coordinates, composed, from_basis, into_basis, rows_from_basis
from glmclf.core.fit.information import VANISHED_SHARE, information_vanished, loses_digits, well_conditioned
from glmclf.core.fit.level_rank import combinations_from, expands, level_dependencies
from glmclf.core.fit.rank import dependencies, roundings, triangular_factor
from glmclf.core.fit.solvers import solve
from glmclf.core.fit.solvers.loop import Fit
from glmclf.core.fit.surrogate import SurrogateLikelihood
from glmclf.core.fit.warm_start import WarmStart, from_surrogate, separation_loglik, warm_start
from glmclf.core.likelihood.objective import CholeskyFactor, DeferredEvaluation, Evaluation, Objective
from glmclf.core.numerics.arrow import ArrowMatrix
from glmclf.core.rows.blocks import Blocks, linear, one_blas_thread

MAX_FAR_ROWS = 3  # rows that may hold most of the information in some direction
MAX_OPENING = 2.0**11  # twice the longest first step of a single parameter that is taken at its word
MAX_SCALAR_STEPS = 400  # of a single parameter: doublings and halvings through the range of floats at most
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
    basis : (k, k) upper triangular ndarray, DesignBasis or None
    vanished : bool
        Whether the information has all but vanished in some direction: the symptom of separation.
    omitted : mapping of int to dict
        Columns that were left out and what they equal; see `Coordinates`.
    exact : bool, optional
        Whether rows are put into the basis in twofold arithmetic; by default where the design is not large.
    """

    fit: Fit
    basis: Any
    vanished: bool = False
    omitted: Mapping[int, Mapping[int, float]] = field(default_factory=dict)
    exact: bool | None = None

    @property
    def theta(self) -> ndarray:
        """The estimate in the coordinates of X."""
        return self.reported(from_basis(self.basis, self.fit.theta))

    # into and out of the coordinates of the model
    def widened(self, coordinates: Coordinates) -> Self:
        """The estimate of the columns that are left, in the coordinates of all."""
        if not coordinates.omitted:
            return self
        e, score = self.fit.evaluation, coordinates.spread(self.fit.evaluation.score)
        evaluation: Evaluation
        if isinstance(e, DeferredEvaluation):
            evaluation = DeferredEvaluation(e.value, score, partial(_wide_information, e, coordinates), e.dear)
        else:
            evaluation = Evaluation(e.value, score, coordinates.wide(e.information))
        fit = replace(self.fit, theta=coordinates.spread(self.fit.theta), evaluation=evaluation)
        return replace(self, fit=fit, basis=coordinates.wide_basis(self.basis), omitted=coordinates.omitted)

    def narrow(self, coordinates: Coordinates) -> Self:
        """The estimate of the columns that are left alone."""
        if not coordinates.omitted:
            return self
        at, e = coordinates.places, self.fit.evaluation
        inner = Evaluation(e.value, e.score[at], coordinates.narrow(e.information))
        fit = replace(self.fit, theta=self.fit.theta[at], evaluation=inner)
        return replace(self, fit=fit, basis=coordinates.narrow_basis(self.basis), omitted={})

    def restored(self, shift: ndarray) -> Self:
        """The estimate of the offset given from one of a centred offset, larger by `shift`; the evaluation is the same.
        """
        if not shift.any():
            return self
        return replace(self, fit=replace(self.fit, theta=self.fit.theta - into_basis(self.basis, shift)))

    # what kinds of estimates answer in their own way
    @property
    def maximised(self) -> float | None:
        """Function that the estimate maximises: the log-likelihood, or a penalised one; None if there is none.
        """
        return self.fit.evaluation.value

    @property
    def is_maximum(self) -> bool:
        """Whether the estimate is where `maximised` is as large as it can be."""
        return self.maximised is not None

    @property
    def has_zero_score(self) -> bool:
        """Whether the scores of the rows add up to 0."""
        return True

    @property
    def is_finite(self) -> bool:
        """Whether every parameter is finite."""
        return True

    @property
    def infinite_directions(self) -> int:
        """Dimensions of the cone of directions along which the likelihood never falls."""
        return 0

    @property
    def ruled_out(self) -> Any:
        """Outcomes of the rows of the fit that the estimate rules out, (n, K) bool; None if it rules none out."""
        return None

    def rules_out(self, X: Any, K: int) -> ndarray | None:
        """Outcomes of other rows of the design of the fit that the estimate rules out."""
        return None

    @property
    def has_limit(self) -> bool:
        """Whether finite parameters are the maximum of a limit of the likelihood, which is known."""
        return False

    @property
    def allows_no_slopes(self) -> bool:
        """Whether the estimate could have been that of the model without regressors."""
        return True

    @property
    def bias_reduction(self) -> str | None:
        """Kind of the bias reduction, or None."""
        return None

    @property
    def flic(self) -> bool:
        """Whether the intercept was corrected after a bias reduction."""
        return False

    @property
    def equations(self) -> tuple[ndarray, ndarray]:
        """R and q of the linear equations R theta = q that the estimate obeys, (J, p) and (J,)."""
        return np.zeros((0, len(self.fit.theta))), np.zeros(0)

    @property
    def constraints(self) -> list[str]:
        """Linear equations that the estimate obeys, in words."""
        return []

    @property
    def name(self) -> str:
        """Name of the method of estimation."""
        return "MLE"

    @property
    def notes(self) -> list[str]:
        """Sentences that a reader of the estimate should know."""
        return []

    def reported(self, theta: ndarray) -> ndarray:
        """Parameters as they are reported, from finite ones in the coordinates of X."""
        return theta

    @property
    def reported_size(self) -> int:
        """Number of parameters reported."""
        return len(self.fit.theta)

    def free_count(self, lost: int) -> float:
        """Number of free parameters, where `lost` are of columns that were left out."""
        return len(self.fit.theta) - lost

    @property
    def infinite(self) -> ndarray:
        """Signs of the infinite parameters, NaN where they have none, and 0 of finite ones."""
        return np.zeros(self.reported_size)

    @property
    def unbounded(self) -> ndarray:
        """Mask of the infinite parameters, whatever their signs."""
        return np.zeros(self.reported_size, dtype=bool)

    def moves(self, R: ndarray) -> ndarray:
        """Mask of the infinite combinations, rows of R (., p), whatever their signs."""
        return np.zeros(len(R), dtype=bool)

    def signs(self, R: ndarray) -> ndarray:
        """Signs of infinite combinations, rows of R (., p), NaN where they have none, and 0 of finite ones."""
        return np.zeros(len(R))

    def fixed(self, R: ndarray) -> tuple[ndarray, ndarray]:
        """Mask of the combinations, rows of R (., p), that have one value whatever the data are; and
        these values, else NaN."""
        return np.zeros(len(R), dtype=bool), np.full(len(R), np.nan)

    def implies(self, R: ndarray, q: ndarray) -> bool:
        """Whether the estimate obeys R theta = q whatever the data are."""
        return not len(R)

    @property
    def fixed_parameters(self) -> ndarray:
        """Mask of the parameters that have one value whatever the data are."""
        return np.zeros(self.reported_size, dtype=bool)

    def coordinates(self, R: ndarray) -> ndarray:
        """Combinations of the parameters of X, rows of R (., p), as such of those of `fit`."""
        return rows_from_basis(self.basis, R)

    def retvals(self, method: str) -> dict[str, Any]:
        """Facts that a solver reports of its end."""
        fit = self.fit
        return {
            "converged": fit.converged,
            "iterations": fit.iterations,
            "message": fit.message,
            "decrement": fit.decrement,
            "gradient_norm": float(norm(fit.evaluation.score, check_finite=False)),  # scaled: no square overflows
            "method": method,
        }

    too_wide = False  # whether the information is too large to form

    def to_dict(self) -> dict[str, Any]:
        """Record for a file of what estimates of the kind have alone."""
        return {}

    def to_dict_beside(self) -> dict[str, Any]:
        """Record for a file of what estimates of the kind have beside the fit."""
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

    def with_fewest_facets(self) -> Self:
        """The estimate with no more of a cone than its shape needs."""
        return self


def _wide_information(e: Evaluation, coordinates: Coordinates) -> ndarray:
    return coordinates.wide(e.information)


def at_infinity(values: ndarray, signs: ndarray) -> ndarray:
    """Values where the sign is 0, else infinity of that sign; NaN where the sign is."""
    with np.errstate(invalid="ignore"):
        return np.where(signs == 0, values, signs * np.inf)


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
    with by_level(objective) as (own, basis), one_blas_thread() if alone else nullcontext():
        options = reported_from(basis, options)
        found = _estimate(method, own, into_basis(basis, start), warm and method != "sgd", refine, options)
        return replace(found, basis=composed(basis, found.basis))


@contextmanager
def by_level(objective: Any) -> Iterator[tuple[Any, Any]]:
    """The objective in the basis that has a column for each level of a factor of many, and this basis; without such
    a factor, or where it has these columns, the objective itself and None.

    Raises
    ------
    RankDeficiency
        What is raised inside, of the columns of the objective given.
    """
    basis = recoding_of(objective.blocks)
    if basis is None:
        yield objective, None
        return
    try:
        yield objective.rotated(basis), basis
    except RankDeficiency as deficiency:
        found = combinations_from(basis, objective.blocks, deficiency.combinations)
        raise RankDeficiency(found) from None


def reported_from(basis: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Options of a solver whose `callback` is given parameters of X."""
    told = options.get("callback")
    if basis is None or told is None:
        return options
    return {**options, "callback": lambda i, theta, value: told(i, from_basis(basis, theta), value)}


def _estimate(
    method: str, objective: Objective, start: ndarray, warm: bool, refine: bool | None, options
) -> Estimate:
    reference, usual = None, start
    if warm and method == "irls" and not refine and (near := warm_start(objective, start, **options)) is not None:
        found = _finish(near, objective, **options)
        if found.fit.evaluation.well_conditioned(objective.blocks.arrays[0].least_rcond):
            return found
        # towards infinity the log-likelihood rises; where far rows, few of them in the part, lowered it is no end
        if found.vanished and found.fit.evaluation.value >= objective.gradient(start).value:
            return found
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
    basis, objective, start, opening = in_basis(objective, start, opening, refine)
    if surrogate is not None and basis is None and method == "irls":
        options = {"surrogate": surrogate, **options}
    fit = solve(method, objective, start, opening=opening, **reported_from(basis, options))
    reference = opening.information if reference is None or basis is not None else reference
    return Estimate(fit, basis, information_vanished(reference, fit.evaluation.information), exact=refine)


def _finish(near: WarmStart, objective: Objective, *, maxiter=100, callback=None, **options) -> Estimate:
    """The maximum from a point near it."""

    def report(iteration, theta, value):
        if callback is not None:
            callback(near.steps + iteration, theta, value)

    enough = separation_loglik(objective, len(near.theta))
    options |= {"maxiter": maxiter, "callback": report, "surrogate": near.surrogate, "enough": enough}
    fit = solve("newton", objective, near.theta, **options)
    fit = replace(fit, iterations=near.steps + fit.iterations)
    return Estimate(fit, None, information_vanished(near.metric.toarray(), fit.evaluation.information))


def scalar_maximum(objective: Objective, start: float) -> float:
    """Maximum of a concave objective of one parameter, from any start: Newton in a bracket on the sign of the score.

    Steps that mean nothing, as the information has vanished or they are not half the last, become bisections, or of
    twice the length until the maximum is between two points.
    """
    low, high, b, last, reach = -np.inf, np.inf, start, MAX_OPENING, 1.0
    for _ in range(MAX_SCALAR_STEPS):
        with np.errstate(over="ignore", invalid="ignore"):  # a log-likelihood of -inf has a side, too
            e = objective(np.array([b]), False)
        score, information = float(e.score[0]), float(e.information[0, 0])
        if score > 0:
            low = b
        else:
            high = b
        told = information > 0 and np.isfinite(e.value)
        step = score / information if told else np.copysign(np.inf, score)
        if score == 0 or (told and step * score <= max(1e-24, 1e-30 * abs(e.value))):  # of rounding alone
            return b + step if told else b
        if not (low < b + step < high and abs(step) <= 0.5 * last):
            step = 0.5 * (low + high) - b if np.isfinite(low + high) else np.copysign(reach, score)
            reach *= 2.0
        if b + step == b:
            return b
        b, last = b + step, abs(step)
    return b


def refuse_empty_columns(objective, information: ndarray) -> None:
    """Raise at once where columns of zeros alone, as empty cells of factors make them, keep X from full rank."""
    k = objective.blocks.arrays[0].shape[1]
    empty = information.diagonal().reshape(-1, k)[0] == 0
    if not empty.any() or empty.all():
        return
    squares = objective.blocks.sum(lambda X, *_: X.gram(np.ones(X.shape[0])).diagonal())
    empty &= squares == 0
    rest = np.tile(~empty, len(information) // k)
    inner = information.narrowed(rest) if isinstance(information, ArrowMatrix) else information[np.ix_(rest, rest)]
    if empty.any() and well_conditioned(inner, objective.blocks.arrays[0].least_rcond):
        raise RankDeficiency({int(j): {} for j in np.flatnonzero(empty)})


def in_basis(
    objective: Objective, start: ndarray, opening: Evaluation, refine: bool | None = None
) -> tuple[Any, Objective, ndarray, Evaluation]:
    """The basis that an objective needs for its digits, or None, and objective, start and opening in it.

    Columns less their means by level where levels leave little of them; a triangular one where the design is
    ill-conditioned none the less, or `refine` asks for it, and all columns may be expanded.

    Raises
    ------
    RankDeficiency
        The columns are linearly dependent.
    """
    basis: Any = None
    given, own = objective, start
    if loses_digits(of_levels(objective.blocks), opening):
        basis = level_centring(given.blocks)
        objective, own = given.rotated(basis), into_basis(basis, start)
        opening = objective(own)
    if not refine and opening.well_conditioned(objective.blocks.arrays[0].least_rcond):
        return basis, objective, own, opening
    refuse_empty_columns(given, opening.information)
    wide = not expands(given.blocks)
    if wide and refine:
        raise NotImplementedError(
            f"refine=True expands all {len(start):,} columns, which would take too long: a factor has many levels"
        )
    triangular: Any = None if wide else triangular_factor(given.blocks)
    combinations = level_dependencies(given.blocks) if wide else dependencies(triangular, roundings(given.blocks))
    if combinations:
        raise RankDeficiency(combinations)
    if not wide:
        basis, objective, own = triangular, given.rotated(triangular, refine), into_basis(triangular, start)
        opening = objective(own)
    return basis, objective, own, opening


def rests_on_few_rows(found: Estimate, objective: Objective) -> bool:
    """Whether the information vanished only where a few rows far off, which the estimate decides, had most of it.

    Then it is their leverage that is lost, and the other rows tell the coefficients as well as ever.
    """
    if objective.blocks.streamed or not expands(objective.blocks):
        return False
    objective = objective if found.basis is None else objective.rotated(found.basis, found.exact)
    X, _, m, _, w = objective.blocks.arrays
    weight = np.ones(X.shape[0])
    for times in (m, w):
        weight = weight if times is None else weight * times
    after, q = found.fit.evaluation.information, len(found.fit.theta) // X.shape[1]
    blocks = Blocks(X, weight, size=objective.blocks.size, n_threads=objective.blocks.n_threads)
    for _ in range(MAX_FAR_ROWS + 1):
        try:
            G = np.asarray(blocks.sum(lambda X, weight: X.gram(weight)))
            T = CholeskyFactor(np.kron(np.eye(q), G)).root
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
