"""Marginal effects and adjusted predictions: averages of a function of the linear predictors, with their gradients.

For eta = x'b and d = (dx/dv)'b the effect of v on p = F(eta) is m = F'(eta) d. It moves with b through d and through
eta: grad m = F' dx/dv + F'' d x. Everything here is a weighted average of such rows, so that one pass gives the value
and the gradient that the delta method needs; no derivative is numerical.

X is an array, or where a factor has many levels the columns themselves, of which no row is expanded.

Shapes: n rows, k columns, q equations, L outcomes (the event alone, or all K classes, the reference first), p = q k
parameters, equation by equation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from glmclf.inference.margins.outcomes import Effect, Tails


class Average(NamedTuple):
    """A weighted average over rows.

    Attributes
    ----------
    value : (L,) ndarray
    gradient : (L, p) ndarray
        In the parameters.
    rows : (n, L) ndarray or None
        The values averaged, where asked for.
    ends : Ends or None
        Logs of an average of probabilities, which is near 0 or 1.
    """

    value: ndarray
    gradient: ndarray
    rows: ndarray | None = None
    ends: Ends | None = None


def changes(first: list[Average], second: list[Average], times: float = 1.0) -> list[Average]:
    """Averages by group less others, times a number; all groups share what was averaged, row by row."""
    a, b = first[0].rows, second[0].rows
    rows = None if a is None or b is None else times * (b - a)
    return [
        Average(times * (y.value - x.value), times * (y.gradient - x.gradient), rows)
        for x, y in zip(first, second, strict=True)
    ]


class Ends(NamedTuple):
    """Logs of an average of p and of the average of 1 - p, neither of which is formed from the other where it is small.

    Attributes
    ----------
    log_p, log_q : (L,) ndarray
    by_p, by_q : (L, p) ndarray
        Their gradients in the parameters.
    eta : float
        The linear predictor of an event where all rows have the same one; else NaN.
    rest : (n, L) ndarray or None
        1 - p by row, where rows were asked for.
    """

    log_p: ndarray
    log_q: ndarray
    by_p: ndarray
    by_q: ndarray
    eta: float = np.nan
    rest: ndarray | None = None


class GroupedRows:
    """Rows of a block by group.

    Parameters
    ----------
    codes : (n,) integer ndarray or None
        Groups; None for one, whose code is 0.
    n : int
    """

    def __init__(self, codes: ndarray | None, n: int):
        self.order: Any = slice(None)
        if codes is None:
            self.starts, self.of = np.zeros(1, dtype=np.intp), np.zeros(1, dtype=np.intp)
        else:
            self.order = np.argsort(codes, kind="stable")
            codes = codes[self.order]
            self.starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
            self.of = codes[self.starts]
        self.stops = np.append(self.starts[1:], n)
        self.sizes = self.stops - self.starts

    def largest(self, A: ndarray) -> ndarray:
        """Largest values by group, (g, m)."""
        return np.maximum.reduceat(A, self.starts, axis=0)

    def crossed(self, A: ndarray, X: Any) -> ndarray:
        """Sums of A_i x_i' by group, (g, m, k): a product a group where groups are large, else running sums."""
        if not isinstance(X, ndarray):
            return np.stack([X[a:b].times(A[a:b]).T for a, b in zip(self.starts, self.stops, strict=True)])
        if A.shape[0] >= 32 * len(self.starts):
            return np.stack([A[a:b].T @ X[a:b] for a, b in zip(self.starts, self.stops, strict=True)])
        return np.stack([np.add.reduceat(column[:, None] * X, self.starts, axis=0) for column in A.T], axis=1)


class Moved(NamedTuple):
    """Derivatives of rows of regressors, in the columns that change.

    Attributes
    ----------
    columns : (c,) integer ndarray
    values : (n, c) ndarray or FactorColumns
    """

    columns: ndarray
    values: Any

    @classmethod
    def of(cls, dX: ndarray) -> Moved:
        """Derivatives of all columns, (n, k), of which few change as a rule."""
        columns = np.flatnonzero((dX != 0).any(axis=0))
        return cls(columns, dX[:, columns])


class EffectSums:
    """Weighted sums of `Effect` rows by group, block by block.

    Parameters
    ----------
    groups : int
    """

    def __init__(self, groups: int = 1):
        self.groups, self.weight = groups, np.zeros(groups)
        self.value: ndarray | None = None
        self.gradient: Any = None
        self.tails: tuple[_LogSums, _LogSums] | None = None
        self.low, self.high = np.full(groups, np.inf), np.full(groups, -np.inf)

    def add(self, effect: Effect, w: ndarray, X: Any, dX: Moved | None = None, codes: ndarray | None = None):
        """Add rows X with weights w; dX is needed where the effect has a slope."""
        n, L, q = effect.by_eta.shape
        by = GroupedRows(codes, n)
        at = by.order
        w, X = w[at], X[at]
        if self.value is None:
            self.value, self.gradient = np.zeros((self.groups, L)), np.zeros((self.groups, L, q * X.shape[1]))
        self.weight[by.of] += by.crossed(w[:, None], np.ones((n, 1)))[:, 0, 0]
        self.value[by.of] += by.crossed(w[:, None], effect.value[at])[:, 0]
        total = by.crossed(_flat(effect.by_eta[at], w), X)
        if effect.by_slope is not None and dX is not None:
            total[..., dX.columns] += by.crossed(_flat(effect.by_slope[at], w), dX.values[at])
        self.gradient[by.of] += total.reshape(len(by.of), L, -1)

    def add_tails(self, tails: Tails, eta: ndarray, w: ndarray, X: Any, codes: ndarray | None = None) -> None:
        """Add the logs of probabilities of the rows last added; `eta` are their linear predictors."""
        n, L, q = tails.by_p.shape
        by = GroupedRows(codes, n)
        at = by.order
        if self.tails is None:
            size = (self.groups, L, q * X.shape[1])
            self.tails = _LogSums(*size), _LogSums(*size)
        for sums, log, slope in zip(self.tails, tails[:2], tails[2:], strict=True):
            sums.add(log[at], slope[at], w[at], X[at], by)
        if eta.ndim == 1:
            self.low[by.of] = np.minimum(self.low[by.of], by.largest(-eta[at]) * -1.0)
            self.high[by.of] = np.maximum(self.high[by.of], by.largest(eta[at]))

    def __add__(self, other: EffectSums) -> EffectSums:
        """Sums over the rows of both."""
        if self.value is None or other.value is None:
            return other if self.value is None else self
        both = EffectSums(self.groups)
        both.weight, both.value = self.weight + other.weight, self.value + other.value
        both.gradient = self.gradient + other.gradient
        both.low, both.high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        if self.tails is not None and other.tails is not None:
            both.tails = self.tails[0] + other.tails[0], self.tails[1] + other.tails[1]
        return both

    def averages(self, rows: ndarray | None = None, rest: ndarray | None = None) -> list[Average]:
        """Weighted averages, group by group; NaN for a group without a row."""
        assert self.value is not None
        with np.errstate(all="ignore"):
            value = self.value / self.weight[:, None]
            gradient = self.gradient / self.weight[:, None, None]
            ends: list[Ends | None] = [None] * self.groups
            if self.tails is not None:
                ends = list(self._ends(*self.tails, rest))
        return [Average(v, g, rows, e) for v, g, e in zip(value, gradient, ends, strict=True)]

    def _ends(self, of_p: _LogSums, of_q: _LogSums, rest: ndarray | None):
        (log_p, by_p), (log_q, by_q) = of_p.averages(self.weight), of_q.averages(self.weight)
        # the log of a number near 1 is that of its complement
        log_p, log_q = (
            np.where(log_q < log_p, np.log1p(-np.exp(np.minimum(log_q, log_p))), log_p),
            np.where(log_p <= log_q, np.log1p(-np.exp(np.minimum(log_q, log_p))), log_q),
        )
        eta = np.where(self.low == self.high, self.low, np.nan)
        for g in range(self.groups):
            yield Ends(log_p[g], log_q[g], by_p[g], by_q[g], float(eta[g]), rest)


class _LogSums:
    """Weighted sums of exp(l) and their gradients by group, scaled by the largest of each: none over- or underflows."""

    def __init__(self, groups: int, L: int, p: int):
        self.top, self.sum = np.full((groups, L), -np.inf), np.zeros((groups, L))
        self.gradient = np.zeros((groups, L, p))

    def add(self, log: ndarray, slope: ndarray, w: ndarray, X: Any, by: GroupedRows) -> None:
        g, old = by.of, self.top[by.of]
        new = np.maximum(old, by.largest(np.where(w[:, None] > 0, log, -np.inf)))
        unit = np.where(np.isfinite(new), new, 0.0)
        shrunk = np.where(np.isneginf(old), 0.0, np.exp(old - unit))
        u = w[:, None] * np.exp(log - np.repeat(unit, by.sizes, axis=0))
        added = by.crossed(_flat(np.where(u[..., None] == 0, 0.0, u[..., None] * slope), np.ones(len(w))), X)
        self.top[g] = new
        self.sum[g] = self.sum[g] * shrunk + np.add.reduceat(u, by.starts, axis=0)
        self.gradient[g] = self.gradient[g] * shrunk[..., None] + added.reshape(*shrunk.shape, -1)

    def __add__(self, other: _LogSums) -> _LogSums:
        both = _LogSums(*self.gradient.shape)
        both.top = np.maximum(self.top, other.top)
        unit = np.where(np.isfinite(both.top), both.top, 0.0)
        for part in (self, other):
            shrunk = np.where(np.isneginf(part.top), 0.0, np.exp(part.top - unit))
            both.sum += part.sum * shrunk
            with np.errstate(over="ignore", invalid="ignore"):  # gradients beyond the largest double
                both.gradient += part.gradient * shrunk[..., None]
        return both

    def averages(self, weight: ndarray) -> tuple[ndarray, ndarray]:
        """Logs of the averages by group, and their gradients."""
        return self.top + np.log(self.sum / weight[:, None]), self.gradient / self.sum[..., None]


def _flat(A: ndarray, w: ndarray) -> ndarray:
    """w_i A_i, (n, L q)."""
    return A.reshape(len(A), -1) * w[:, None]
