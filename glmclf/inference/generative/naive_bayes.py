"""Naive Bayes beyond its closed forms: influence part by part for robust covariances, and leaving rows out.

The log-odds are a sum of parts: the priors' log(pi_k/pi_0), and of each feature its -A and eta'T. Kept apart, one
covariance of all parts serves every row, whichever features it has: a missing feature has weight 0. Gaussian features
are taken about their mean, where nothing cancels. Tables have log theta_l of every level instead, so that the log of
one cell that is 0 matters to no other. What is estimated as 0 counts as known: rows that have it are impossible in its
class, and the contrasts of the other classes are free of it.

Shapes: n rows, K classes, p features, E = 1 + sum_j (1 + m_j) parts an equation: the priors, then of each feature -A
and the m_j entries of eta (of a table, its 1 + m_j = L levels).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy import ndarray
from scipy.special import gammaln, xlogy

from glmclf.core.naive_bayes.families import (
    ClassLogs,
    ClassSquares,
    ClassSums,
    Fitted,
    FittedGaussian,
    FittedTable,
    GaussianFamily,
    SparseSums,
)
from glmclf.core.naive_bayes.family import is_sparse
from glmclf.core.naive_bayes.fit import NaiveBayesFit
from glmclf.core.naive_bayes.tables import arrangements
from glmclf.core.numerics import special as gammas
from glmclf.core.numerics.constants import LOG_2PI
from glmclf.core.rows.blocks import Blocks
from glmclf.inference.covariance.types import InfluenceContext

MAX_NUMBERS_AT_A_TIME = 2_000_000  # numbers in the matrices of rows that are handled at a time
ROUNDED_SHARE_OF_SQUARES = 1e-10  # share of a sum of squares that is left without the row, below which it is rounding


# --------------------------------------------------------------------------------------------------------- parts
@dataclass(frozen=True)
class Parts:
    """The logit that a naive Bayes fit implies, in parts: the terms that each prior and each feature adds.

    Parameters
    ----------
    fit : NaiveBayesFit
    """

    fit: NaiveBayesFit

    @property
    def centred(self) -> NaiveBayesFit:
        """The fit with gaussian features about their means."""
        features = (f.shifted() if isinstance(f, FittedGaussian) else f for f in self.fit.features)
        return replace(self.fit, features=tuple(features))

    @property
    def E(self) -> int:
        """Number of parts in each equation."""
        return 1 + sum(f.p * (1 + f.width) for f in self.fit.families)

    def _spans(self) -> Iterator[tuple[Fitted, slice]]:
        start = 1
        for f in self.centred.features:
            stop = start + f.family.p * (1 + f.family.width)
            yield f, slice(start, stop)
            start = stop

    def _about(self, values: Sequence[ndarray]) -> list[ndarray]:
        return [v - _centre(f, v) if isinstance(f, FittedGaussian) else v for f, v in zip(self.fit.features, values)]

    def own_influence(self, y: ndarray, values: Sequence[ndarray]) -> ndarray:
        """N times the derivative of the parts of a row's own class in the row's weight, (n, E); 0 for a log of 0."""
        fit = self.fit
        phi = np.zeros((len(y), self.E))
        if fit.priors_free:
            phi[:, 0] = (fit.n / fit.prior_counts)[y]
        for (f, span), v in zip(self._spans(), self._about(values)):
            psi = f.level_influence(v, y)[:, None] if isinstance(f, FittedTable) else f.influence(v, y)
            psi = psi * (fit.n / f.n[y])[..., None]
            phi[:, span] = np.nan_to_num(psi.reshape(len(y), -1), nan=0.0)
        return phi

    def influence(self, y: ndarray, values: Sequence[ndarray]) -> ndarray:
        """N times the derivative of all parts, (n, (K-1) E), equation by equation."""
        phi, K = self.own_influence(y, values), self.fit.K
        out = np.zeros((len(y), K - 1, self.E))
        out[y == 0] = -phi[y == 0][:, None]
        rows = np.flatnonzero(y > 0)
        out[rows, y[rows] - 1] = phi[rows]
        for (f, span), v in zip(self._spans(), self._about(values)):
            shared = f.shared_influence(v, y)
            if shared is not None:
                z, directions = shared
                out[..., span] += (self.fit.n * z[:, None, :, None] * directions).reshape(len(y), K - 1, -1)
        return out.reshape(len(y), -1)

    def functions(self, values: Sequence[ndarray], priors_free: bool = True) -> ndarray:
        """Functions that multiply the parts, (n, E): 1 and T of each feature, [x = l] of a table; 0 where missing."""
        z = np.zeros((values[0].shape[0], self.E))
        z[:, 0] = priors_free
        for (f, span), v in zip(self._spans(), self._about(values)):
            if isinstance(f, FittedTable):
                z[:, span] = f.indicators(v)
                continue
            T = f.statistic(v)
            one = np.concatenate([np.ones((*T.shape[:2], 1)), T], axis=2)
            z[:, span] = np.where(np.isnan(T).any(axis=2, keepdims=True), 0.0, one).reshape(len(z), -1)
        return z

    def log_odds_covariance(self, V: ndarray, values: Sequence[Any], priors_free: bool = True) -> ndarray:
        """Covariance of the log-odds of rows, (n, K-1, K-1), from that of the parts.

        A class that is impossible in a row adds nothing: contrasts of the other classes are right.
        """
        q, packed = self.fit.K - 1, self.fit.packed(values)
        n = packed[0].shape[0]
        V = V.reshape(q, self.E, q, self.E).transpose(1, 0, 2, 3)
        out, step = np.empty((n, q, q)), max(64, MAX_NUMBERS_AT_A_TIME // (q * q * self.E))
        for start in range(0, n, step):
            rows = slice(start, start + step)
            z = self.functions([v[rows] for v in packed], priors_free)
            half = np.tensordot(z, V, 1).reshape(len(z), q * q, self.E)
            out[rows] = np.einsum("nke,ne->nk", half, z).reshape(-1, q, q)
        return out

    def logit_functions(self, values: Sequence[Any]) -> ndarray:
        """Functions that the implied logit is linear in, (n, M): 1, T of each feature, gaussian ones about their
        means."""
        z = self.functions([v[:] for v in self.fit.packed(values)])
        return np.hstack([np.ones((len(z), 1)), z[:, self._places[1]]])

    def logit_slopes(self, values: Sequence[Any], changes: Sequence[Any]) -> ndarray:
        """Derivatives of `logit_functions` where the features change by `changes`, (n, M); levels do not change."""
        z = np.zeros((len(values[0]), self.E))
        about = self._about([v[:] for v in self.fit.packed(values)])
        for (f, span), v, d in zip(self._spans(), about, self.fit.packed(changes)):
            if not isinstance(f, FittedTable):
                dT = _statistic_slopes(f, v, np.asarray(d[:], dtype=float))
                whole = np.concatenate([np.zeros((*dT.shape[:2], 1)), dT], axis=2)
                z[:, span] = whole.reshape(len(z), span.stop - span.start)
        return np.hstack([np.zeros((len(z), 1)), z[:, self._places[1]]])

    def logit_influence(self, values: Sequence[Any], y: ndarray) -> ndarray:
        """N times the derivative of the implied logit's coefficients in the weight of each row, (n, (K-1) M)."""
        psi = self.influence(y, [v[:] for v in self.fit.packed(values)])
        return self._added(psi.reshape(-1, self.E)).reshape(len(y), -1)

    # ----------------------------------------------------------------------------------------------- coefficients
    @property
    def _places(self) -> tuple[ndarray, ndarray]:
        """Parts that add up to the intercept, and those that are slopes."""
        at_zero = np.zeros(self.E, dtype=bool)
        at_zero[0] = True
        for f, span in self._spans():
            at_zero[np.arange(span.start, span.stop, 1 + f.family.width)] = True
        return np.flatnonzero(at_zero), np.flatnonzero(~at_zero)

    def collapsed(self, V: ndarray) -> ndarray:
        """Covariance of intercepts and slopes, gaussian features about their means, from that of the parts; NaN for
        infinite estimates."""
        half = self._added(V.reshape(-1, self.E)).reshape(len(V), -1)
        out = self._added(half.T.reshape(-1, self.E)).reshape(half.shape[1], -1)
        infinite = ~np.isfinite(self.fit.coefficients()).ravel()
        out[infinite] = out[:, infinite] = np.nan
        return out

    def _added(self, rows: ndarray) -> ndarray:
        zero, slopes = self._places
        rows = rows.copy()
        for f, span in self._spans():
            if isinstance(f, FittedTable):  # the slope of a level is log theta_l - log theta_0
                rows[:, span.start + 1 : span.stop] -= rows[:, [span.start]]
        return np.concatenate([rows[:, zero].sum(axis=1, keepdims=True), rows[:, slopes]], axis=1)

    def to_raw(self, rows: ndarray) -> ndarray:
        """Coefficients (r, M) of the features as they are, from those about their means."""
        out = np.array(rows, dtype=float)
        start = 1
        for f in self.fit.features:
            p, m = f.family.p, f.family.width
            if isinstance(f, FittedGaussian):
                linear = slice(start, start + p * m, m)
                c, b = f.centre, rows[:, linear]
                out[:, 0] -= b @ c
                if m == 2:
                    q = rows[:, start + 1 : start + 2 * p : 2]
                    out[:, 0] += q @ (c * c)
                    out[:, linear] -= 2 * q * c
            start += p * m
        return out


def _centre(f: FittedGaussian, v: ndarray) -> Any:
    return f.centre[0] if v.ndim == 1 else f.centre


def _statistic_slopes(f: Fitted, v: ndarray, d: ndarray) -> ndarray:
    """Derivative of `f.statistic(v)`, (n, p, m), where v changes by d: T = (x, x^2), (log x, x), or linear in x."""
    family = f.family.name
    if family == "gaussian":
        X, D = (a if a.ndim == 2 else a[:, None] for a in (v, d))
        return np.stack([D, 2.0 * X * D], axis=-1) if f.family.width == 2 else D[..., None]
    if family == "gamma":
        return np.stack([d / v, d], axis=-1)[:, None]
    return d[:, None] if family == "multinomial" else d[:, None, None]


@dataclass(frozen=True)
class PartsContext(InfluenceContext):
    """Ingredients of the covariances of the parts of an implied logit.

    A row of class k touches equation k alone, one of class 0 all equations alike: the sum of outer products is one gram
    a class, but for pooled variances, which every row moves.

    Attributes
    ----------
    parts : Parts
    """

    parts: Parts | None = None

    @classmethod
    def of(cls, parts: Parts, blocks: Blocks, total: float, nobs: float, frequency: bool) -> PartsContext:
        """Context of a fit and its rows: features as the fit packs them, classes, weights."""
        fit = parts.fit
        blocks = blocks.rechunk(int(np.clip(MAX_NUMBERS_AT_A_TIME // ((fit.K - 1) * parts.E), 128, 16_384)))

        def psi(*block: Any) -> ndarray:
            return parts.influence(block[-2], block[:-2])

        def by_formula() -> ndarray:
            raise NotImplementedError("the covariance of the parts if the model is right has closed forms")

        return cls(psi, blocks, total, (fit.K - 1) * fit.M, by_formula, nobs, frequency, parts)

    def sum_of_outer_scores(self) -> ndarray:
        parts = self.parts
        assert parts is not None
        if any(isinstance(f, GaussianFamily) and f.pooled for f in parts.fit.families):
            return super().sum_of_outer_scores()
        K, E = parts.fit.K, parts.E

        def grams(*block: Any) -> ndarray:
            values, y, w = block[:-2], block[-2], block[-1]
            phi = parts.own_influence(y, values)
            if w is not None:
                phi *= (np.sqrt(w) if self.frequency else w)[:, None]
            return np.stack([own.T @ own for own in (phi[y == k] for k in range(K))])

        G = self.blocks.sum(grams)
        out = np.tile(G[0], (K - 1, K - 1))
        for k in range(K - 1):
            at = slice(k * E, (k + 1) * E)
            out[at, at] += G[k + 1]
        return out


# ------------------------------------------------------------------------------------------------- leaving one out
def log_joint_without(
    fit: NaiveBayesFit, values: Sequence[ndarray], y: ndarray, w: ndarray | None, frequency: bool
) -> ndarray:
    """log pi_k f_k(x) of training rows with the features' laws estimated without the row, (n, K).

    Sufficient statistics are downdated, and a gamma's shape is solved anew for each row. Priors are held. NaN where the
    row's class has no estimate without it.

    Parameters
    ----------
    fit : NaiveBayesFit
    values : sequence of ndarrays
        A block of rows, as the fit packs them.
    y : (n,) integer ndarray
    w : (n,) ndarray or None
    frequency : bool
        A row of weight f stands for f rows, of which one is left out; else the row goes with its whole weight.

    References
    ----------
    Lachenbruch & Mickey (1968) Technometrics 10, 1-11.
    """
    removed = np.ones(len(y)) if frequency or w is None else w
    total = np.tile(fit.log_priors, (len(y), 1))
    rows = np.arange(len(y))
    for f, s, v in zip(fit.features, fit.statistics, values):
        v = v.astype(float, copy=False) if v.dtype.kind == "f" else v
        with np.errstate(all="ignore"):
            if isinstance(f.family, GaussianFamily) and f.family.pooled:
                total += _pooled_without(f, s, v, y, removed)
                continue
            density = f.log_density(v)
            sparse = "sparse " if is_sparse(v) else ""
            density[rows, y] = _WITHOUT[sparse + f.family.name](f, s, v, y, removed)
        total += density
    return total


def _kept(log_density: ndarray, missing: ndarray, undefined: ndarray) -> ndarray:
    """Log densities, with 0 where the value is missing and NaN where there is no estimate."""
    return np.where(missing, 0.0, np.where(undefined, np.nan, log_density))


def _gaussian_without(f: Any, s: ClassSquares, v: ndarray, y: ndarray, removed: ndarray) -> ndarray:
    x = v[:, None] if v.ndim == 1 else v
    n, r = s.n[y], removed[:, None]
    d, rest = x - s.mean[y] - s.rest[y], n - r
    left = s.squares[y] - r * n / rest * d * d
    df = rest - (f.n - f.df)[y]
    undefined = (rest <= 0) | (df <= 0) | (left <= ROUNDED_SHARE_OF_SQUARES * s.squares[y])
    variance = left / df
    log_density = -0.5 * (LOG_2PI + np.log(variance) + (d * n / rest) ** 2 / variance)
    return _kept(log_density, np.isnan(x), undefined).sum(axis=1)


def _pooled_without(f: Any, s: Any, v: ndarray, y: ndarray, removed: ndarray) -> ndarray:
    """Log densities of gaussian features of a common variance, all of which the left-out row changes, (n, K)."""
    x = v[:, None] if v.ndim == 1 else v
    n, r, within = s.n[y], removed[:, None], s.squares.sum(axis=0)
    d, rest = x - s.mean[y] - s.rest[y], n - r
    left = within - r * n / rest * d * d
    df = f.df[0] - r
    undefined = (rest <= 0) | (df <= 0) | (left <= ROUNDED_SHARE_OF_SQUARES * within)
    variance = left / df
    out = np.empty((len(x), len(s.n)))
    for k in range(out.shape[1]):
        own = (y == k)[:, None]
        distance = np.where(own, d * n / rest, x - s.mean[k] - s.rest[k]) ** 2
        log_density = -0.5 * (LOG_2PI + np.log(variance) + distance / variance)
        out[:, k] = _kept(log_density, np.isnan(x), undefined).sum(axis=1)
    return out


def _table_without(f: Any, s: ClassSums, v: ndarray, y: ndarray, removed: ndarray) -> ndarray:
    codes = f.family.codes(v)
    cell, n = f.cells[y, codes], f.n[y, 0]
    left = np.where(cell - removed > ROUNDED_SHARE_OF_SQUARES * cell, cell - removed, 0.0)
    undefined = n - removed <= ROUNDED_SHARE_OF_SQUARES * n
    return _kept(np.log(left / (n - removed)), codes < 0, undefined)


def _multinomial_without(f: Any, s: ClassSums, v: ndarray, y: ndarray, removed: ndarray) -> ndarray:
    missing = np.isnan(v).any(axis=1)
    x = np.where(missing[:, None], 0.0, v)
    m, r = x.sum(axis=1), removed[:, None]
    cells, total = f.cells[y], f.n[y, 0] - removed * x.sum(axis=1)
    left = np.where(cells - r * x > ROUNDED_SHARE_OF_SQUARES * cells, cells - r * x, 0.0)
    arrangements = gammaln(m + 1) - gammaln(x + 1).sum(axis=1)
    log_density = np.where(m > 0, xlogy(x, left / total[:, None]).sum(axis=1), 0.0) + arrangements
    return _kept(log_density, missing, (m > 0) & (total <= ROUNDED_SHARE_OF_SQUARES * f.n[y, 0]))


def _sparse_multinomial_without(f: Any, s: ClassSums, v: Any, y: ndarray, removed: ndarray) -> ndarray:
    """As `_multinomial_without`, of the counts that are not 0."""
    x, row, m = v.data.astype(float), np.repeat(np.arange(v.shape[0]), np.diff(v.indptr)), v.sum(axis=1, dtype=float)
    cells, total = f.cells[y[row], v.indices], f.n[y, 0] - removed * m
    left = cells - removed[row] * x
    left = np.where(left > ROUNDED_SHARE_OF_SQUARES * cells, left, 0.0)
    log_density = np.bincount(row, xlogy(x, left / total[row]), minlength=len(m)) + arrangements(v)
    return np.where((m > 0) & (total <= ROUNDED_SHARE_OF_SQUARES * f.n[y, 0]), np.nan, log_density)


def _sparse_bernoulli_without(f: Any, s: SparseSums, v: Any, y: ndarray, removed: ndarray) -> ndarray:
    x = v.toarray()
    cell, n, r = np.where(x == 1, f.ones[y], f.zeros[y]), f.n[y], removed[:, None]
    left = np.where(cell - r > ROUNDED_SHARE_OF_SQUARES * cell, cell - r, 0.0)
    return np.where(n - r <= ROUNDED_SHARE_OF_SQUARES * n, np.nan, np.log(left / (n - r))).sum(axis=1)


def _sparse_poisson_without(f: Any, s: SparseSums, v: Any, y: ndarray, removed: ndarray) -> ndarray:
    x = v.toarray()
    total, rest = s.sums[y], s.n[y] - removed[:, None]
    left = total - removed[:, None] * x
    mean = np.where(left > ROUNDED_SHARE_OF_SQUARES * total, left, 0.0) / rest
    return np.where(rest <= 0, np.nan, _poisson_log_density(x, mean)).sum(axis=1)


def _mean_without(s: ClassSums, x: ndarray, y: ndarray, removed: ndarray) -> tuple[ndarray, ndarray]:
    """Mean of the class without the row, and the weight that is left."""
    total, rest = s.sums[y, 0], s.n[y] - removed
    left = total - removed * x
    return np.where(left > ROUNDED_SHARE_OF_SQUARES * total, left, 0.0) / rest, rest


def _poisson_without(f: Any, s: ClassSums, x: ndarray, y: ndarray, removed: ndarray) -> ndarray:
    mean, rest = _mean_without(s, x, y, removed)
    return _kept(_poisson_log_density(x, mean), np.isnan(x), rest <= 0)


def _poisson_log_density(x: ndarray, mean: ndarray) -> ndarray:
    positive = gammas.stirling(x) - np.log(x) + x * gammas.log_excess(mean, x)
    return np.where(x > 0, np.where(mean > 0, positive, -np.inf), -mean)


def _exponential_without(f: Any, s: ClassSums, x: ndarray, y: ndarray, removed: ndarray) -> ndarray:
    mean, rest = _mean_without(s, x, y, removed)
    return _kept(-np.log(mean) - x / mean, np.isnan(x), (rest <= 0) | (mean <= 0))


def _gamma_without(f: Any, s: ClassLogs, x: ndarray, y: ndarray, removed: ndarray) -> ndarray:
    """The excess without the row, by the merge of the statistics backwards."""
    rest = s.n[y] - removed
    mean = s.mean[y] - (x - s.mean[y]) * removed / rest
    left = s.excess[y] + rest * gammas.log_excess(mean, s.mean[y]) + removed * gammas.log_excess(x, s.mean[y])
    undefined = (rest <= 0) | (mean <= 0) | (left <= ROUNDED_SHARE_OF_SQUARES * s.excess[y])
    shape = gammas.gamma_shape(np.where(undefined, np.nan, left / rest))
    log_density = gammas.stirling(shape) - np.log(x) + shape * gammas.log_excess(x, mean)
    return _kept(log_density, np.isnan(x), undefined)


_WITHOUT: dict[str, Callable[..., ndarray]] = {
    "gaussian": _gaussian_without,
    "bernoulli": _table_without,
    "categorical": _table_without,
    "sparse multinomial": _sparse_multinomial_without,
    "sparse bernoulli": _sparse_bernoulli_without,
    "sparse poisson": _sparse_poisson_without,
    "multinomial": _multinomial_without,
    "poisson": _poisson_without,
    "exponential": _exponential_without,
    "gamma": _gamma_without,
}
