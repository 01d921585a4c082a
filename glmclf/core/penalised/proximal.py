"""Penalised likelihoods: ridge, lasso and elastic net, and the proximal Newton method that maximises them.

Everything is on the scale of the log-likelihood: with N observations and glmnet's alpha, the penalty is
``sum_j (ridge_j b_j^2 / 2 + lasso_j |b_j|)`` with ridge = N alpha (1 - L1_wt) and lasso = N alpha L1_wt.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray
from scipy.linalg import eigh

from glmclf.core.fit.restricted import DerivedObjective
from glmclf.core.fit.solvers.loop import (
    CONVERGED,
    CONVERGED_TO_ROUNDING,
    OUT_OF_STEPS,
    ROUNDED_LOGLIK_SHARE,
    Fit,
    longest_step,
    stands_still,
)
from glmclf.core.likelihood.objective import DeferredEvaluation, Evaluation, factor_of
from glmclf.core.numerics.arrow import ArrowMatrix

PROXIMAL_TOL = 1e-22  # squared length of a step in the metric of the information, per unit
MIN_SIGN_ROUNDS = 500  # rounds of the search for signs, and ten more for each coefficient
MAX_PROXIMAL_HALVINGS = 50  # lengths of one step that are tried
ROUNDING_STEP2 = 1e-8  # squared step that is rounding where it has not shrunk for PROXIMAL_PATIENCE steps
PROXIMAL_PATIENCE = 4  # steps
MIN_COST_TO_KEEP = 2.0  # cost of a pass with the information, in steps without a new one, for it to be kept
STEPS_OF_NEW = 3  # steps that a new information takes to a maximum
ROWS_OF_FACTOR = 20.0  # squared coefficients over rows times this: factors of a step, in passes for the gradient
TIED_PIVOT2 = 1e-13  # squared pivot of the scaled information below which columns with coefficients repeat each other


class Ridge(DerivedObjective):
    """An objective less ``sum ridge_j b_j^2 / 2`` and, if asked, a linear form of b.

    Parameters
    ----------
    objective : Objective
    ridge : (p,) or (p, p) ndarray
        Precisions of the Gaussian prior that the penalty amounts to, >= 0; or its precision matrix.
    linear : (p,) ndarray, optional
    """

    def __init__(self, objective: Any, ridge: ndarray, linear: ndarray | None = None):
        super().__init__(objective)
        self.ridge, self.linear = ridge, linear

    def __call__(self, theta: ndarray, expected: bool = True) -> Evaluation:
        """Value, score and information."""
        return self.penalised(self.objective(theta, expected), theta)

    def gradient(self, theta: ndarray) -> Evaluation:
        """Value and score alone."""
        return self._less(self.objective.gradient(theta), theta)

    def penalised(self, e: Evaluation, theta: ndarray) -> Evaluation:
        """An evaluation of the likelihood with the penalty in it."""
        less, A = self._less(e, theta), e.information
        if isinstance(A, ArrowMatrix) and self.ridge.ndim == 1:
            return Evaluation(less.value, less.score, A + ArrowMatrix.of_diagonal(A.layout, self.ridge))
        return Evaluation(less.value, less.score, A + (np.diag(self.ridge) if self.ridge.ndim == 1 else self.ridge))

    def _less(self, e: Evaluation, theta: ndarray) -> Evaluation:
        shift = self.ridge * theta if self.ridge.ndim == 1 else self.ridge @ theta
        linear = 0.0 if self.linear is None else self.linear
        value = e.value - 0.5 * float(shift @ theta) - float(np.sum(linear * theta))
        return Evaluation(value, e.score - shift - linear, e.information)


@dataclass
class HeldInformation:
    """An information that one fit leaves to the next.

    Attributes
    ----------
    matrix : (p, p) ndarray or None
    """

    matrix: ndarray | None = None


def proximal_newton(
    objective: Any,
    lasso: ndarray,
    start: ndarray,
    *,
    maxiter: int = 200,
    tol: float | None = None,
    callback=None,
    held: HeldInformation | None = None,
    keep: bool = True,
) -> Fit:
    """Maximise objective(b) - sum lasso_j |b_j|.

    Each step minimises the quadratic model of the objective plus the absolute values on the (p, p) information, then
    is halved until the penalised value rises (Lee, Sun & Saunders 2014, SIAM Journal on Optimization 24). With a
    lasso an information is kept for the next steps, which need gradients alone, while these shrink so fast that a new
    one costs more, the factors of each step counted.

    Parameters
    ----------
    objective : Objective, Ridge or Within
        Concave.
    lasso : (p,) ndarray
        >= 0; 0 leaves a coefficient free.
    start : (p,) ndarray
    maxiter : int
    tol : float, optional
        Convergence: the squared length of a step in the metric of the information, in squared standard errors. It is
        taken without another look, and squares this distance.
    callback : callable, optional
        ``callback(iteration, b, value)`` after each iteration, with the penalised value.
    held : HeldInformation, optional
        An information to begin with, and to be left to the next fit.
    keep : bool
        Whether an information may be kept for several steps; it is then an array.

    Returns
    -------
    Fit
        Its evaluation is the objective's, without the absolute values.

    Notes
    -----
    Where several estimates are as good, as with columns that repeat each other, it is one whose non-zero coefficients
    belong to independent columns.
    """
    tol = PROXIMAL_TOL if tol is None else tol
    # a stream's time is that of reading, whatever is made of it
    step_cost = 1.0 + len(start) ** 2 / (ROWS_OF_FACTOR * max(objective.blocks.n, 1))
    kept = keep and lasso.any() and objective.cost > MIN_COST_TO_KEEP * step_cost and not objective.blocks.streamed
    evaluate = partial(DeferredEvaluation.at if kept else _evaluated, objective)
    theta = np.array(start, dtype=float)
    e, held = evaluate(theta), held or HeldInformation()
    H = e.information if held.matrix is None else held.matrix
    trace, message, converged, length = [], OUT_OF_STEPS, False, np.inf
    for iteration in range(maxiter + 1):
        H = H if kept else e.information
        new, before = _minimise_model(H, e.score, lasso, theta), length
        length = _squared_length(new - theta, H)
        if kept and _steps_to_come(length, before, tol * objective.unit) > objective.cost / step_cost + STEPS_OF_NEW:
            H = e.information
            new = _minimise_model(H, e.score, lasso, theta)
            length = _squared_length(new - theta, H)
        step = new - theta
        trace.append((e.value - float(lasso @ np.abs(theta)), length))
        if length / objective.unit < ROUNDING_STEP2 and stands_still(trace, PROXIMAL_PATIENCE):
            converged, message = True, CONVERGED_TO_ROUNDING
            break
        if length / objective.unit <= tol or not step.any():
            theta, e = new, evaluate(new)
            converged, message = True, CONVERGED
            break
        if iteration == maxiter:
            break
        moved = _increased(evaluate, lasso, theta, e, step)
        if moved is None:
            converged = length / objective.unit <= 1e-14
            message = CONVERGED_TO_ROUNDING if converged else "no step increases the penalised log-likelihood"
            break
        if kept:
            H = _bent(H, moved[0] - theta, e.score - moved[1].score)
        theta, e = moved
        if callback is not None:
            callback(iteration + 1, theta, e.value - float(lasso @ np.abs(theta)))
    held.matrix = H
    return Fit(theta, e, len(trace) - 1, converged, message, length, tuple(trace))


def _evaluated(objective: Any, theta: ndarray) -> Evaluation:
    return objective(theta, False)


def _squared_length(step: ndarray, H: ndarray) -> float:
    return float(step @ H @ step)


def _bent(H: ndarray, step: ndarray, bend: ndarray) -> ndarray:
    """The information with what a step has shown of it (the update of Broyden, Fletcher, Goldfarb and Shanno)."""
    curvature, before = float(step @ bend), H @ step
    if not curvature > 0:
        return H
    return H + np.outer(bend, bend / curvature) - np.outer(before, before / float(step @ before))


def _steps_to_come(length: float, before: float, tol: float) -> float:
    """Steps until a squared length is below `tol`, if each is to the last as the last was to the one before it."""
    if length <= tol or before == np.inf:
        return 0.0
    return np.log(tol / length) / np.log(length / before) if length < before else np.inf


def _minimise_model(H: ndarray, s: ndarray, lasso: ndarray, theta: ndarray) -> ndarray:
    """Minimum of the quadratic model: argmin over b of (b - theta)'H(b - theta)/2 - s'(b - theta) + sum lasso |b|.

    With the signs of b the rest is linear. Where its solution has other signs, b goes to the solution with 0 for these
    or, if that is lower, to the best point on the way; where it has the same, coefficients at 0 that should not be are
    moved one by one (Lee, Battle, Raina & Ng 2007, feature-sign search). Every round lowers the model, and there are
    finitely many signs.
    """
    b = theta.copy()

    def gradient_at(b: ndarray) -> ndarray:  # of differences: no digits are lost to the size of b
        return H @ (b - theta) - s

    for _ in range(MIN_SIGN_ROUNDS + 10 * len(b)):
        A = np.flatnonzero((b != 0) | (lasso == 0))
        new = _with_signs(H, gradient_at(b), lasso, b, A)
        if new is None:
            untied = _untied(H, lasso, b)
            if untied is b and _sweep(H, gradient_at(b), lasso, b, np.arange(len(b))) <= 1e-26:
                return b
            b = untied
        elif (new * b < 0)[lasso > 0].any():
            b = _lowest(H, gradient_at(b), lasso, b, new)
        else:
            b, gradient = new, gradient_at(new)
            wrong = np.flatnonzero((b == 0) & (np.abs(gradient) > lasso * (1 + 1e-12)) & (lasso > 0))
            if not len(wrong) or _sweep(H, gradient, lasso, b, wrong) == 0:
                return b
    return b


def _sweep(H: ndarray, gradient: ndarray, lasso: ndarray, b: ndarray, places: ndarray) -> float:
    """One pass of coordinate descent over some places, in place; the largest squared change in the metric of H."""
    if isinstance(H, ArrowMatrix):
        return _sweep_of_levels(H, gradient, lasso, b, places)
    largest = 0.0
    for j in places:
        h = H[j, j]
        if h <= 0:
            continue
        z = b[j] - gradient[j] / h
        new = np.sign(z) * max(abs(z) - lasso[j] / h, 0.0)
        if new != b[j]:
            largest = max(largest, (new - b[j]) ** 2 * h)
            gradient += (new - b[j]) * H[:, j]
            b[j] = new
    return largest


def _sweep_of_levels(H: ArrowMatrix, gradient: ndarray, lasso: ndarray, b: ndarray, places: ndarray) -> float:
    """As `_sweep`, coefficients of different levels, which do not lean on each other, at once."""
    h, layout, largest = H.diagonal(), H.layout, 0.0
    wanted = np.isin(np.arange(len(b)), places) & (h > 0)
    for group in [*layout.border[:, None], *layout.slots.T]:
        at = group[(group >= 0) & wanted[group]]
        z, step = b[at] - gradient[at] / h[at], np.zeros(len(b))
        new = np.sign(z) * np.maximum(np.abs(z) - lasso[at] / h[at], 0.0)
        step[at] = new - b[at]
        if step.any():
            largest = max(largest, float((step[at] ** 2 * h[at]).max()))
            gradient += H @ step
            b[at] = new
    return largest


def part_of(H: Any, at: ndarray) -> Any:
    """Rows and columns of some coefficients, ascending."""
    return H.narrowed(np.isin(np.arange(len(H)), at)) if isinstance(H, ArrowMatrix) else H[np.ix_(at, at)]


def _with_signs(H: ndarray, gradient: ndarray, lasso: ndarray, b: ndarray, A: ndarray) -> ndarray | None:
    """The minimum over the coefficients A of the quadratic with a gradient at b, plus sum lasso sign b; None where
    several are as good. The other coefficients are 0."""
    new = np.zeros(len(b))
    if not len(A):
        return new
    try:
        factor = factor_of(part_of(H, A))
    except np.linalg.LinAlgError:
        return None
    if lasso[A].any() and factor.least_pivot2 <= TIED_PIVOT2 * len(A) and _untied(H, lasso, b) is not b:
        return None
    new[A] = b[A] - factor.solve(gradient[A] + lasso[A] * np.sign(b[A]))
    return new


def _lowest(H: ndarray, gradient: ndarray, lasso: ndarray, b: ndarray, new: ndarray) -> ndarray:
    """The lower of two points towards `new`: the best one on the way, and `new` with 0 where signs differ.

    Where few columns lean on each other, as with a strong ridge, many signs are settled at a time.
    """
    points = [_best_between(H, gradient, lasso, b, new), np.where((new * b < 0) & (lasso > 0), 0.0, new)]
    steps = [point - b for point in points]
    values = [gradient @ d + 0.5 * d @ H @ d + lasso @ np.abs(b + d) for d in steps]
    return points[int(values[1] < values[0])]


def _best_between(H: ndarray, gradient: ndarray, lasso: ndarray, b: ndarray, new: ndarray) -> ndarray:
    """The lowest of the points between b and new at which a coefficient becomes 0, which it then is."""
    d = new - b
    cross = np.flatnonzero((new * b < 0) & (lasso > 0))
    t = np.append(-b[cross] / d[cross], 1.0)
    way = _absolute_values(lasso * b, lasso * d, cross, t)
    i = int((t * float(gradient @ d) + 0.5 * t * t * float(d @ H @ d) + way).argmin())
    point = b + t[i] * d
    if i < len(cross):
        point[cross[i]] = 0.0
    return point


def _absolute_values(b: ndarray, d: ndarray, cross: ndarray, t: ndarray) -> ndarray:
    """Sums of |b + t d| at the t at which `cross` become 0, one by one, and at 1; the others keep their signs."""
    order, out = np.argsort(t), np.empty(len(t))
    size, speed = np.append(np.abs(b[cross]), 0.0)[order], np.append(np.abs(d[cross]), 0.0)[order]
    rest, slope = np.abs(b).sum() - size.sum(), (np.abs(b + d) - np.abs(b)).sum()
    slope -= (np.abs(b[cross] + d[cross]) - np.abs(b[cross])).sum()
    before, faster = 2.0 * np.cumsum(size) - size.sum(), 2.0 * np.cumsum(speed) - speed.sum()
    out[order] = rest - before + t[order] * (slope + faster)
    return out


def _untied(H: ndarray, lasso: ndarray, b: ndarray) -> ndarray:
    """Coefficients b moved along directions in which H vanishes until no coefficient can be 0 without a loss; b
    itself if none can.

    The absolute values do not grow on the way, so that the new point is as good (Rosset, Zhu & Hastie 2004).
    """
    while True:
        A = np.flatnonzero((b != 0) | (lasso == 0))
        free = lasso[A] == 0
        if free.all():
            return b
        v = _null_vector(np.asarray(part_of(H, A)))
        if v is None:
            return b
        if float(lasso[A] * np.sign(b[A]) @ v) > 0:
            v = -v
        towards = np.flatnonzero(~free & (v * b[A] < 0))
        if not len(towards):
            return b
        reach = -b[A[towards]] / v[towards]
        first = towards[reach.argmin()]
        b = b.copy()
        b[A] += reach.min() * v
        b[A[first]] = 0.0


def _null_vector(H: ndarray) -> ndarray | None:
    """A direction in which H is 0 to rounding, in the units of its columns; None if there is none."""
    scale = np.sqrt(np.diag(H))
    if not (scale > 0).all():
        return None
    values, vectors = eigh(H / scale / scale[:, None])
    if values[0] > TIED_PIVOT2 * len(H):
        return None
    v = vectors[:, 0]
    v[np.abs(v) < 1e-6] = 0.0  # columns that have no part in it
    return v / scale


def _increased(evaluate: Any, lasso: ndarray, theta: ndarray, e: Evaluation, step: ndarray) -> Any:
    """The point after the longest step that increases the penalised log-likelihood, and the evaluation there."""
    value = e.value - float(lasso @ np.abs(theta))
    gain = float(e.score @ step) - float(lasso @ (np.abs(theta + step) - np.abs(theta)))

    def at(length: float) -> tuple[ndarray, Evaluation]:
        b = theta + length * step
        return b, evaluate(b)

    def value_of(found: tuple[ndarray, Evaluation]) -> float:
        b, new = found
        return new.value - float(lasso @ np.abs(b))

    slack = ROUNDED_LOGLIK_SHARE * abs(value)
    return longest_step(at, value, gain, slack=slack, halvings=MAX_PROXIMAL_HALVINGS, value_of=value_of)[1]


def kkt_violations(score: ndarray, lasso: ndarray, theta: ndarray) -> ndarray:
    """Violations of the optimality conditions, coefficient by coefficient."""
    at_zero = np.maximum(np.abs(score) - lasso, 0.0)
    return np.where((theta == 0) & (lasso > 0), at_zero, np.abs(score - lasso * np.sign(theta)))


def largest_lasso(e: Evaluation, free: ndarray, share: ndarray) -> float:
    """The smallest penalty at which every penalised coefficient is 0, from the score where only the free ones are
    fitted; `share` is lasso_j for a penalty of one."""
    penalised = ~free & (share > 0)
    return float((np.abs(e.score[penalised]) / share[penalised]).max(initial=0.0))
