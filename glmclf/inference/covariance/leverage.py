"""Scores divided by powers of one minus the leverage of their rows: what HC2 and its successors sum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.core.design.arrow import ArrowColumns
from glmclf.core.design.columns import RowLengths
from glmclf.core.likelihood.objective import Largest, Objective
from glmclf.core.numerics.arrow import of_equations
from glmclf.core.rows.summed import SumsSideBySide
from glmclf.inference.covariance.influence import LEVERAGE_ONE, MAX_ROW_ENTRIES, RowsError, instead, score_and_weight


@dataclass(frozen=True)
class Leverages:
    """Leverages of the rows of an estimate.

    With D the (p, q) derivative of a row's linear predictors (one block x an equation), W its expected weight (q, q)
    and G = D' A^-1 D, A the expected information, the leverage of the row is the matrix H = W^(1/2) G W^(1/2), and as
    one number the trace of that, h.

    Attributes
    ----------
    cov_type : str
        The covariance that asks, for messages.
    objective : Objective
    theta : (p,) ndarray
        The estimate.
    root : (p, p) ndarray
        T with T T' = A^-1; with many levels A^-1 itself, as `BlocksPlusLowRank`.
    frequency : bool
        Whether weights are frequencies; then leverages are those of one of the equal rows.
    size : int
        How many parameters are free, to which the leverages of all rows add up.
    nobs : float, optional
        Rows, or the sum of the frequency weights, where that is known.
    """

    cov_type: str
    objective: Objective
    theta: ndarray
    root: Any
    frequency: bool
    size: int
    nobs: float | None = None

    @cached_property
    def total(self) -> float:
        """Rows, or the sum of the frequency weights; if that is not known, a pass may be needed."""
        blocks = self.objective.blocks
        if self.nobs is not None:
            return self.nobs
        if not self.frequency or blocks.arrays[4] is None:
            return float(blocks.n)
        return float(blocks.sum(lambda *block: block[4].sum()))

    @property
    def mean(self) -> float:
        """Mean of h over all rows."""
        return self.size / self.total

    @cached_property
    def largest(self) -> float:
        """Largest h of all rows; a pass."""

        def rows(X: Any, *rest: Any) -> Largest:
            _, W, G = self._of_rows(X, *rest)
            return Largest((W * G).sum(axis=(1, 2)).max())

        return float(self._blocks().sum(rows))

    def meat(self, rule: LeverageRule) -> ndarray:
        """sum_i s_i s_i' of scores s = D (I - W G)^(-delta/2) u in the objective's unit, u the score factor of the row.

        Parameters
        ----------
        rule : callable
            Gives the function from h, (n,), to delta.

        Raises
        ------
        RowsError
            Rows of leverage one.
        """
        p, frequency, unit = len(self.theta), self.frequency, self.objective.unit
        delta = rule(self)

        def rows(X: Any, y: Any, m: Any, offset: Any, weights: Any) -> _Meat:
            u, W, G = self._of_rows(X, y, m, offset, weights)
            v, single = _divided(u, W, G, delta)
            v = v / (1.0 if frequency else unit)
            times = weights if frequency and weights is not None else np.ones(len(v))
            return _Meat(outer_gram(X, v, times), len(v), np.flatnonzero(single))

        found = self._blocks().sum(rows)
        if len(found.ones):
            raise RowsError(
                f'cov_type="{self.cov_type}" divides by 1 - leverage, which is 0 for {{rows}}: each alone determines a '
                f'coefficient. Use "{instead(self.total, p)}", or leave such a coefficient out',
                found.ones,
            )
        return whole_gram(found.total)

    def _blocks(self) -> Any:
        """Rows in blocks whose arrays (n, q, p), of several equations, are not too large."""
        blocks, numbers_a_row = self.objective.blocks, len(self.theta) * self.objective.likelihood.n_eta
        if self.objective.likelihood.n_eta == 1:
            return blocks
        return blocks.rechunk(max(16, min(blocks.size, MAX_ROW_ENTRIES // numbers_a_row)))

    @cached_property
    def _lengths(self) -> RowLengths:
        return RowLengths(self.root)

    def _of_rows(self, X, y, m, offset, weights) -> tuple[ndarray, ndarray, ndarray]:
        """The score factor (n, q), W and G (n, q, q) of rows."""
        p, q = len(self.theta), self.objective.likelihood.n_eta
        u, W = score_and_weight(self.objective.likelihood, X, y, m, offset, self.theta)
        if weights is not None and not self.frequency:
            u, W = weights[:, None] * u, weights[:, None, None] * W
        if q == 1:
            return u, W, self._lengths(X)[:, None, None]
        if isinstance(X, ArrowColumns):
            return u, W, X.forms(self.root, q)
        Z = np.tensordot(X.toarray(), self.root.reshape(q, X.shape[1], p), axes=(1, 1))
        return u, W, Z @ Z.transpose(0, 2, 1)


def outer_gram(X: Any, u: ndarray, times: Any) -> Any:
    """Sum of times s s' of scores s = D u of rows, D one block x an equation; of many levels and several equations a
    gram for each pair of these, for `whole_gram`."""
    u = u.reshape(len(u), -1)
    q = u.shape[1]
    if q == 1:
        return X.gram(times * u[:, 0] * u[:, 0])
    if isinstance(X, ArrowColumns):
        return SumsSideBySide(X.gram(times * u[:, i] * u[:, j]) for i in range(q) for j in range(i, q))
    A = X.toarray()
    S = np.hstack([A * column[:, None] for column in u.T])
    return (S.T * times) @ S


def whole_gram(found: Any) -> Any:
    """The sum that `outer_gram` gave, as one matrix."""
    if not isinstance(found, SumsSideBySide):
        return found
    q = int(np.sqrt(2 * len(found)))
    pairs = [(i, j) for i in range(q) for j in range(i, q)]
    return of_equations(dict(zip(pairs, found, strict=True)), q)


#: what a covariance makes of the leverages of an estimate: the function from h of some rows to their powers delta
LeverageRule = Callable[[Leverages], Callable[[ndarray], ndarray]]


@dataclass(frozen=True)
class _Meat:
    """Outer products of scores, number of rows, and the places of rows of leverage one; + adds more rows."""

    total: Any
    n: int
    ones: ndarray

    def __add__(self, other: _Meat) -> _Meat:
        ones = np.concatenate([self.ones, self.n + other.ones])
        return _Meat(self.total + other.total, self.n + other.n, ones)


def _divided(u: ndarray, W: ndarray, G: ndarray, delta: Callable[[ndarray], ndarray]) -> tuple[ndarray, ndarray]:
    """(I - W G)^-c u with c = delta(h)/2, and a mask of the rows of leverage one.

    (I - W G)^-c = I + W^(1/2) f(H) W^(1/2) G with H = W^(1/2) G W^(1/2) and f(x) = ((1 - x)^-c - 1)/x.
    """
    values, vectors = np.linalg.eigh(W)
    half = (vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]) @ vectors.transpose(0, 2, 1)
    h, U = np.linalg.eigh(half @ G @ half)
    single = np.any(h > 1.0 - LEVERAGE_ONE, axis=1)
    c = 0.5 * delta(h.sum(axis=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        f = np.where(h == 0.0, c[:, None], np.expm1(-c[:, None] * np.log1p(-h)) / h)
    f[single] = 0.0  # refused by the caller
    # u is W^(1/2) times something where W is singular; the order of the products keeps it there
    inner = np.einsum("nab,nb->na", half @ G, u)
    inner = np.einsum("nab,nb,ncb,nc->na", U, f, U, inner, optimize=True)
    return u + np.einsum("nab,nb->na", half, inner), single
