"""Influence of each row on an estimate: leverage, and the one-step change of the estimate without the row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from glmclf.core.design.columns import RowLengths
from glmclf.core.likelihood.objective import Objective
from glmclf.core.likelihood.pointwise import Binomial, Multinomial
from glmclf.core.numerics.arrow import BlocksPlusLowRank
from glmclf.core.rows.blocks import Blocks
from glmclf.core.rows.observations import linear_predictors

MAX_ROW_ENTRIES = 2**21  # entries of an array (rows, equations, parameters) that are handled at a time
LEVERAGE_ONE = 1e-10  # one minus a leverage, below which the leverage is one up to rounding


def instead(n: float, p: int) -> str:
    """The `cov_type` to use where leverages or refits give none: the sandwich of n/(n-p), where that exists."""
    return "HC1" if n > p else "nonrobust"


class Influences(NamedTuple):
    """Leverage, Cook's distance and one-step change of the estimate of each row, as `influence` finds them.

    Attributes
    ----------
    leverage : (n,) ndarray
    cooks : (n,) ndarray
    gain : (n,) ndarray
        u' G (I - W G)^-1 u: what the fit to the row gained by having it, in units of the deviance.
    change : (n, p) ndarray, optional
        Estimate less the one-step estimate without the row, in the objective's coordinates, where it was asked for.
    shift : (n, q) ndarray, optional
        Change of the row's own linear predictors, G (I - W G)^-1 u, where rows are not expanded.
    """

    leverage: ndarray
    cooks: ndarray
    gain: ndarray
    change: Any = None
    shift: Any = None


class RowsError(Exception):
    """Error of a covariance that some rows make impossible.

    Attributes
    ----------
    rows : integer ndarray
        Places among the rows of the objective. The message has ``{rows}`` where their labels belong.
    """

    def __init__(self, message: str, rows: ndarray):
        super().__init__(message)
        self.rows = rows


def influence(objective: Objective, theta: ndarray, root: Any, frequency: bool, change: bool = False) -> Influences:
    """Leverage, Cook's distance and one-step change of the estimate of each row.

    With D the (p, q) derivative of the row's linear predictors (one block x an equation), W its expected weight (q, q),
    u its score factor, A^-1 = T T' the inverse of the expected information sum D W D' on the directions estimated, as
    many as T has columns, G = D' A^-1 D:

    - leverage tr(W G), the trace of the leverage block W^(1/2) G W^(1/2); these add up to d
    - change A^-1 D (I - W G)^-1 u, one scoring step from the estimate after the row has gone (Pregibon 1981; with
      several equations Lesaffre & Albert 1989)
    - Cook's distance change' A change / d
    - gain u' G (I - W G)^-1 u, of one equation r^2 h / (1 - h) with r Pearson's residual: Pearson's statistic falls by
      the row's own part and this without it, and to this order the deviance does (Hosmer & Lemeshow 2000, section 5.3)

    Parameters
    ----------
    objective : Objective
    theta : (p,) ndarray
        The estimate.
    root : (p, d) ndarray
        T; with many levels and without changes A^-1 itself as `BlocksPlusLowRank`.
    frequency : bool
        Whether weights are frequencies: then the numbers are those of one of the equal rows; otherwise of the row with
        its weight, Cook's distance and gain in the objective's unit, so that only the ratios of weights matter.
    change : bool
        Whether the change of the estimate is wanted, which has p numbers a row.

    Returns
    -------
    Influences
        NaN where the estimate does not exist without the row.
    """
    p, q = len(theta), objective.likelihood.n_eta
    blocks, lengths = objective.blocks, RowLengths(root)
    many = isinstance(root, BlocksPlusLowRank)
    alone = (q == 1 or many) and not change  # then X is not expanded
    size = blocks.size if alone else max(16, min(blocks.size, MAX_ROW_ENTRIES // (p * q)))
    parts = []
    for X, y, m, offset, weights in Blocks(*blocks.arrays, size=size):
        A = X if alone else X.toarray()
        u, W = score_and_weight(objective.likelihood, A, y, m, offset, theta)
        if weights is not None and not frequency:
            u, W = weights[:, None] * u, weights[:, None, None] * W
        if not alone:
            parts.append(_rows(A, u, W, root, change))
        elif q == 1:
            parts.append(_of_one(lengths(X), u[:, 0], W[:, 0, 0], root))
        else:
            parts.append(_of_forms(X.forms(root, q), u, W, p))
    leverage, cooks, gain, *last = (np.concatenate(part) for part in zip(*parts, strict=True))
    more = dict(zip(("shift" if alone else "change",), last, strict=False))
    found = Influences(leverage, cooks, gain, **more)
    return found._replace(cooks=found.cooks / objective.unit, gain=found.gain / objective.unit)


def first_rows(pattern: ndarray) -> ndarray:
    """Place of the first row of each pattern."""
    first = np.zeros(int(pattern.max()) + 1, dtype=np.intp)
    first[pattern[::-1]] = np.arange(len(pattern))[::-1]
    return first


def of_patterns(objective: Objective, pattern: ndarray) -> Objective:
    """The objective of rows added up by covariate pattern: each row stands for all observations of its pattern.

    Parameters
    ----------
    objective : Objective
    pattern : (n,) integer ndarray
        Numbers the patterns of its rows, which agree in X and offset, from 0.
    """
    X, y, m, offset, weights = objective.blocks.arrays
    n = int(pattern.max()) + 1
    first = first_rows(pattern)
    likelihood = objective.likelihood
    several = isinstance(likelihood, Multinomial)
    w = np.ones(len(pattern)) if weights is None else weights
    counts = (y if y.ndim == 2 else np.eye(likelihood.K)[y]) if several else y[:, None]
    sums = np.column_stack([np.bincount(pattern, w * c, n) for c in counts.T])
    trials = np.bincount(pattern, w if m is None else w * m, n)
    offset = None if offset is None else offset[first]
    blocks = Blocks(X.subset(first), sums if several else sums[:, 0], trials, offset, None, size=objective.blocks.size)
    return type(objective)(likelihood if several else Binomial(likelihood.link), blocks, objective.unit)


def _of_one(G: ndarray, u: ndarray, w: ndarray, root: ndarray) -> tuple[ndarray, ...]:
    """Leverage, Cook's distance, gain and change of the predictor of rows with one equation, from their numbers G."""
    leverage = w * G
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.where(leverage > 1.0 - LEVERAGE_ONE, np.nan, u / (1.0 - leverage))
    return leverage, left * left * G / max(root.shape[1], 1), u * left * G, (left * G)[:, None]


def _of_forms(G: ndarray, u: ndarray, W: ndarray, d: int) -> tuple[ndarray, ...]:
    """Leverage, Cook's distance, gain and change of the predictors of rows with several equations, from G (n, q, q)."""
    WG = W @ G
    leverage = np.trace(WG, axis1=1, axis2=2)
    left = np.where(_alone(WG, leverage)[:, None], np.nan, _solve(np.eye(u.shape[1]) - WG, u))
    shift = np.einsum("nij,nj->ni", G, left)
    return leverage, (left * shift).sum(axis=1) / max(d, 1), (u * shift).sum(axis=1), shift


def _rows(X: ndarray, u: ndarray, W: ndarray, root: ndarray, change: bool) -> tuple[ndarray, ...]:
    k, q, d = X.shape[1], u.shape[1], root.shape[1]
    Z = np.tensordot(X, root.reshape(q, k, d), axes=(1, 1))  # D' T, (n, q, d)
    WG = W @ (Z @ Z.transpose(0, 2, 1))
    leverage = np.trace(WG, axis1=1, axis2=2)
    left = np.where(_alone(WG, leverage)[:, None], np.nan, _solve(np.eye(q) - WG, u))
    step = np.matmul(left[:, None, :], Z)[:, 0, :]
    own = np.matmul(u[:, None, :], Z)[:, 0, :]
    found = leverage, (step * step).sum(axis=1) / max(d, 1), (own * step).sum(axis=1)
    return (*found, step @ root.T) if change else found


def _alone(WG: ndarray, trace: ndarray) -> ndarray:
    """Rows of leverage one, which alone determine a coefficient: without them there is no estimate."""
    alone = trace > 1.0 - LEVERAGE_ONE
    if alone.any() and WG.shape[1] > 1:
        alone[alone] = np.linalg.eigvals(WG[alone]).real.max(axis=1) > 1.0 - LEVERAGE_ONE
    return alone


def _solve(A: ndarray, u: ndarray) -> ndarray:
    """A^-1 u row by row; a row without one is infinite or NaN."""
    if A.shape[1] == 1:
        with np.errstate(divide="ignore", invalid="ignore"):
            return u / A[:, 0]
    try:
        return np.linalg.solve(A, u[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        if len(A) == 1:
            return np.full_like(u, np.nan)
        half = len(A) // 2
        return np.vstack([_solve(A[:half], u[:half]), _solve(A[half:], u[half:])])


def score_and_weight(likelihood, X, y, m, offset, theta) -> tuple[ndarray, ndarray]:
    """Score factor (n, q) and expected weight (n, q, q) of each row, without its own weight."""
    if not isinstance(likelihood, Multinomial):
        _, u, w = likelihood.pointwise(y, m, linear_predictors(X, theta, offset), True)
        return u[:, None], w[:, None, None]
    B, base = theta.reshape(X.shape[1], -1, order="F"), None
    if offset is not None and offset.ndim == 2 and offset.shape[1] == likelihood.K:  # of a limit: some are ruled out
        offset, base = offset[:, 1:], offset[:, :1]
    with np.errstate(invalid="ignore"):  # no observation times the log of 0 where an outcome is ruled out
        _, u, p, c = likelihood.pointwise(y, m, linear_predictors(X, B, offset), base)
    W = -p[:, :, None] * p[:, None, :]
    j = np.arange(p.shape[1])
    W[:, j, j] = p * c
    return u, W if m is None else m[:, None, None] * W
