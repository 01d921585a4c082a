"""Limited-memory BFGS in the metric of a Kronecker product, for several equations whose information is dear.

With equal probabilities in every row the information of a multinomial logit is W (x) X'X, W = diag(p) - pp'. It is so
where all slopes are 0, and the gradient in this metric leads far from there (Boehning 1992 has steps in the metric of a
W that bounds the information everywhere). A pass for the gradient takes two products of matrices with k columns, one
for the information as much as (k q)^2 multiplications a row.
"""

from __future__ import annotations

from collections import deque
from functools import partial

import numpy as np
from numpy import ndarray
from scipy.linalg import eigh

from glmclf.core.fit.solvers.loop import (
    CONVERGED,
    CONVERGED_TO_ROUNDING,
    NO_STEP,
    OUT_OF_STEPS,
    ROUNDED_LOGLIK_SHARE,
    Fit,
    longest_step,
)
from glmclf.core.fit.solvers.newton import MAX_NEWTON_HALVINGS
from glmclf.core.likelihood.objective import CholeskyFactor

ZERO_SHARE = 1e-13  # share of the largest entry below which an entry is 0
REMEMBERED_STEPS = 60  # steps of which the updates of the metric are made
ROUNDING_LENGTH2 = 1e-18  # squared length that is rounding where none of so many steps was a new low
KRONECKER_PATIENCE = 30  # steps; these approach the maximum linearly, and not one by one


class Kronecker:
    """The matrix W (x) G + I (x) diag(ridge), for vectors of q equations one after the other.

    In the coordinates U'.V, U the eigenvectors of W and V those of the pencil (G, G + diag(ridge)), it is diagonal.

    Parameters
    ----------
    W : (q, q) ndarray
        Positive semi-definite. Where it is 0 and there is no ridge, a vector to solve for must be 0, too.
    G : (k, k) ndarray
        Positive semi-definite.
    ridge : (k,) ndarray, optional
        >= 0; G + diag(ridge) is positive definite.

    Raises
    ------
    numpy.linalg.LinAlgError
        A matrix is singular to rounding.
    """

    def __init__(self, W: ndarray, G: ndarray, ridge: ndarray | None = None):
        self.W, self.G = W, G
        w, self.U = eigh(W)
        total = G if ridge is None else G + np.diag(ridge)
        self.V = CholeskyFactor(total).root
        g = np.ones(len(G))
        if ridge is not None:
            g, turn = eigh(self.V.T @ G @ self.V)
            self.V, g = self.V @ turn, np.clip(g, 0.0, 1.0)
        diagonal = w[:, None] * g + (1.0 - g)
        self.diagonal = np.where(diagonal > ZERO_SHARE * diagonal.max(), diagonal, np.inf)

    def solve(self, b: ndarray) -> ndarray:
        """The inverse times b, (k q,)."""
        B = (self.U.T @ b.reshape(len(self.U), -1)) @ self.V
        return (self.U @ (B / self.diagonal) @ self.V.T).ravel()

    @property
    def rcond(self) -> float:
        """Reciprocal condition of W (x) G, scaled by its diagonal."""
        return CholeskyFactor(self.W).rcond * CholeskyFactor(self.G).rcond

    def toarray(self) -> ndarray:
        """The matrix W (x) G as an array."""
        return np.kron(self.W, self.G)


class KroneckerOfDiagonal:
    """The matrix W (x) diag(g) + I (x) diag(ridge), for vectors of q equations one after the other.

    Parameters
    ----------
    W : (q, q) ndarray
        Positive semi-definite. Where it is 0 and there is no ridge, a vector to solve for must be 0, too.
    g, ridge : (k,) ndarrays
        >= 0.
    """

    def __init__(self, W: ndarray, g: ndarray, ridge: ndarray):
        w, self.U = eigh(W)
        diagonal = w.clip(0.0)[:, None] * g + ridge
        self.diagonal = np.where(diagonal > ZERO_SHARE * diagonal.max(), diagonal, np.inf)

    def solve(self, b: ndarray) -> ndarray:
        """The inverse times b, (k q,)."""
        return (self.U @ ((self.U.T @ b.reshape(len(self.U), -1)) / self.diagonal)).ravel()


class KroneckerPart:
    """The part of W (x) G that is of some parameters, as a metric in which the others stay where they are.

    Parameters
    ----------
    W, G : (q, q), (k, k) ndarrays
        G is diagonal where it is (k,).
    places : (m,) integer ndarray

    Raises
    ------
    numpy.linalg.LinAlgError
        The part is singular to rounding.
    """

    def __init__(self, W: ndarray, G: ndarray, places: ndarray):
        self.places, (i, j) = places, np.divmod(places, len(G))
        G = G[np.ix_(j, j)] if G.ndim == 2 else np.where(j[:, None] == j, G[j], 0.0)
        self.factor = CholeskyFactor(W[np.ix_(i, i)] * G)

    def solve(self, b: ndarray) -> ndarray:
        """The inverse times b, 0 for the others."""
        out = np.zeros(len(b))
        out[self.places] = self.factor.solve(b[self.places])
        return out


def lbfgs(
    objective, start: ndarray, metric, *, maxiter: int, tol: float, callback=None, opening=None, ahead: bool = False
) -> Fit:
    """Maximise a concave objective by gradients alone, from a start.

    Parameters
    ----------
    objective : MultinomialObjective or Ridge
        Has `gradient`.
    start : (p,) ndarray
    metric : Kronecker, KroneckerPart or CholeskyFactor
        ``metric.solve(s)`` is a step: the inverse of an approximate information.
    maxiter : int
    tol : float
        Convergence: the squared length of a step in the metric that the steps so far have made of the first one, about
        the squared distance to the maximum in standard errors.
    callback : callable, optional
        ``callback(iteration, theta, value)`` after each iteration.
    opening : Evaluation, optional
        Value and score at the start, where they are known.
    ahead : bool
        Whether the last step may be taken without a pass after it, where those before tell that it arrives.

    Returns
    -------
    Fit
        Its evaluation has no information; `ahead` it is the one before the last step.

    References
    ----------
    Liu & Nocedal (1989), On the limited memory BFGS method for large scale optimization, Mathematical Programming 45.
    """
    theta, e = start, opening or objective.gradient(start)
    memory: deque = deque(maxlen=REMEMBERED_STEPS)
    trace: list[tuple[float, float]] = []
    converged, message = False, OUT_OF_STEPS
    while True:
        step = _step(metric, memory, e.score)
        decrement = float(step @ e.score)
        trace.append((e.value, decrement))
        distance = decrement / objective.unit
        if not np.isfinite(decrement) or decrement < 0:
            message = NO_STEP
            break
        if distance <= tol:
            converged, message = True, CONVERGED
            break
        if distance < ROUNDING_LENGTH2 and _makes_no_progress([d for _, d in trace]):
            converged, message = True, CONVERGED_TO_ROUNDING
            break
        if ahead and distance * _shrinking(trace) <= tol:
            theta, converged, message = theta + step, True, CONVERGED
            break
        if len(trace) > maxiter:
            break
        at, slack = partial(_after, objective, theta, step), ROUNDED_LOGLIK_SHARE * abs(e.value)
        length, new = longest_step(at, e.value, decrement, slack=slack, halvings=MAX_NEWTON_HALVINGS)
        if new is None:
            message = NO_STEP
            break
        step = length * step
        bend = e.score - new.score
        if (curvature := float(step @ bend)) > 0:
            memory.append((step, bend, curvature))
        theta, e = theta + step, new
        if callback is not None:
            callback(len(trace), theta, e.value)
    return Fit(theta, e, len(trace) - 1, converged, message, decrement, tuple(trace))


def _step(metric, memory, score: ndarray) -> ndarray:
    """The inverse metric, updated by the steps in memory, times the score: the two loops of Nocedal (1980)."""
    rest, shares = score, []
    for step, bend, curvature in reversed(memory):
        share = float(step @ rest) / curvature
        rest = rest - share * bend
        shares.append(share)
    out = metric.solve(rest)
    if memory:  # the metric on the scale of the last step
        _, bend, curvature = memory[-1]
        out *= curvature / float(bend @ metric.solve(bend))
    for (step, bend, curvature), share in zip(memory, reversed(shares), strict=True):
        out = out + (share - float(bend @ out) / curvature) * step
    return out


def _shrinking(trace: list[tuple[float, float]]) -> float:
    """What a step leaves of the squared length, the worse of the last two; infinite before three lengths are known."""
    lengths = [decrement for _, decrement in trace[-3:]]
    return max(lengths[2] / lengths[1], lengths[1] / lengths[0]) if len(lengths) == 3 else np.inf


def _makes_no_progress(lengths: list[float]) -> bool:
    """Whether none of the last squared lengths is below all those before them."""
    last = KRONECKER_PATIENCE
    return len(lengths) > last and min(lengths[-last:]) > 0.9 * min(lengths[:-last])


def _after(objective, theta: ndarray, step: ndarray, length: float):
    """Value and score after a length of a step."""
    return objective.gradient(theta + length * step)
