"""Normal features of naive Bayes, many at once as one matrix; a variance a class, or one for all classes."""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from glmclf.caching import cached_property
from glmclf.core.gaussian.law import LONG_ROW_FEATURES
from glmclf.core.naive_bayes.family import (
    ClassSquares,
    Defect,
    Estimates,
    Family,
    Fitted,
    Violation,
    class_total,
    indicator,
    nonempty,
    not_finite,
    ratio,
)
from glmclf.core.numerics.constants import EPS, LOG_2PI
from glmclf.core.numerics.double_double import two_sum

MAX_EXPANSION_DISTANCE = 30.0  # sd of class means from the grand mean to which an expanded density keeps 12 digits
MAX_CENTRE_DISTANCE2 = 4.0  # squared sd of class means from a block's centre beyond which squares are summed again
CHUNK_NUMBERS = 1e5  # numbers of a chunk of rows, which stays in the cache
CENTRE_ROWS = 64  # rows whose mean is the centre of a block


@dataclass(frozen=True)
class GaussianFamily(Family):
    """Normal features, p of them as one (n, p) matrix (or one as (n,)): T = (x, x^2), a variance a class.

    With `pooled=True` the classes share each feature's variance and T = x. The estimates are class means and mean
    squares: `divisor` n or, "unbiased", n - 1 (pooled N - K, N and n the rows that have the feature).
    """

    p: int = 1
    pooled: bool = False
    divisor: str = "mle"
    name: str = field(default="gaussian", init=False)

    kind: ClassVar[Any] = ClassSquares
    by_column: ClassVar[bool] = True

    @property
    def width(self) -> int:  # type: ignore[override]
        return 1 if self.pooled else 2

    free = 2

    def statistics(self, values: ndarray, y: ndarray, w: ndarray | None, K: int) -> ClassSquares:
        return _squares(_matrix(values), y, w, K)

    def fit(self, statistics: ClassSquares, smoothing: float = 0.0) -> Fitted:
        n, squares = statistics.n, statistics.squares
        if self.pooled:
            n, squares = (np.broadcast_to(a.sum(axis=0), a.shape) for a in (n, squares))
        lost = 0.0 if self.divisor == "mle" else float(len(n)) if self.pooled else 1.0
        df = n - lost
        fitted = FittedPooledGaussian if self.pooled else FittedGaussian
        centre = statistics.together().mean[0]
        return fitted(self, statistics.n, statistics.mean, ratio(squares, df), centre, df, statistics.rest)

    @property
    def mle(self) -> GaussianFamily:
        return replace(self, divisor="mle")

    def defects(self, statistics: ClassSquares, smoothing: float = 0.0) -> list[Defect]:
        found = [Defect("no observed value in a class", int(j), int(k)) for k, j in np.argwhere(statistics.n == 0)]
        whole = statistics.together()
        rounding = EPS * np.abs(statistics.mean).max(axis=0)
        floor = np.maximum(1e-10 * np.sqrt(ratio(whole.squares[0], whole.n[0])), 8 * rounding)
        if self.pooled:
            sd = np.sqrt(ratio(statistics.squares.sum(axis=0), whole.n[0]))
            return found + [Defect("constant within every class", int(j), None) for j in np.flatnonzero(sd <= floor)]
        constant = (np.sqrt(ratio(statistics.squares, statistics.n)) <= floor) & (statistics.n > 0)
        return found + [Defect("constant within a class", int(j), int(k)) for k, j in np.argwhere(constant)]

    def violations(self, values: ndarray) -> list[Violation]:
        return nonempty(not_finite(np.asarray(values, dtype=float)))

    def k_params(self, K: int) -> int:
        return self.p * (K + 1) if self.pooled else 2 * K * self.p


def _matrix(values: ndarray) -> ndarray:
    return values[:, None] if values.ndim == 1 else values


def _squares(X: ndarray, y: ndarray, w: ndarray | None, K: int) -> ClassSquares:
    """Moments of one block by class: sums about one centre, or where classes lie far from it about their means;
    corrected for the rest.

    A sum of squares about a point that is c standard deviations off costs log2(1 + c^2) bits.
    """
    if not len(X):
        return _squares_of_observed(X, y, w, K)
    centre = X[:CENTRE_ROWS].mean(axis=0, dtype=float)
    found = _about(np.broadcast_to(centre, (K, len(centre))), X, y, w)
    if found is None:
        return _squares_with_gaps(X, y, w, K)
    if (found.n * (found.mean - centre) ** 2 <= MAX_CENTRE_DISTANCE2 * found.squares).all():
        return found
    again = _about(found.mean, X, y, w)
    return found if again is None else again


def _about(points: ndarray, X: ndarray, y: ndarray, w: ndarray | None) -> ClassSquares | None:
    """Moments from deviations from a point a class (K, p), formed for so many rows at a time as stay in the cache; None
    where a value is missing."""
    K, p = points.shape
    sums = squares = np.zeros((K, p))
    one = points.strides[0] == 0
    for start in range(0, len(X), chunk(p)):
        rows = slice(start, start + chunk(p))
        C = indicator(y[rows], None if w is None else w[rows], K)
        rest = _deviations(X[rows], points[0][:, None] if one else np.take(points, y[rows], axis=0).T)
        sums = sums + C @ rest.T
        if np.isnan(sums).any():
            return None
        rest *= rest
        squares = squares + C @ rest.T
    n = class_total(y, None, w, K)[:, None]
    off = ratio(sums, n)
    mean, left = two_sum(points, off)
    return ClassSquares(np.broadcast_to(n, (K, p)), mean, np.maximum(squares - n * off * off, 0.0), left)


def chunk(p: int) -> int:
    """Number of rows of p numbers that stay in the cache."""
    return int(np.clip(2 ** np.round(np.log2(CHUNK_NUMBERS / max(p, 1))), 128, 16_384))


def _deviations(X: ndarray, points: ndarray) -> ndarray:
    """Deviations X' less points (p, 1) or (p, n); short rows are put side by side, so that loops over them are long."""
    return np.subtract(X.T, points, order="C" if X.shape[1] < LONG_ROW_FEATURES else "K")


def _squares_with_gaps(X: ndarray, y: ndarray, w: ndarray | None, K: int) -> ClassSquares:
    """Moments of one block by class where values are missing, perhaps in few of the rows."""
    size = chunk(X.shape[1])
    if len(X) <= size:
        return _squares_of_observed(X, y, w, K)
    parts = (slice(start, start + size) for start in range(0, len(X), size))
    return functools.reduce(operator.add, (_squares(X[s], y[s], None if w is None else w[s], K) for s in parts))


def _squares_of_observed(X: ndarray, y: ndarray, w: ndarray | None, K: int) -> ClassSquares:
    """Moments by class of so few rows, some values missing, that all are taken at once."""
    C = indicator(y, w, K)
    values = np.array(X.T, dtype=float, order="C")
    seen = ~np.isnan(values)
    filled = np.where(seen, values, 0.0)
    n = C @ seen.T.astype(float)
    mean = ratio(C @ filled.T, n)
    rest = np.where(seen, values - np.take(mean.T, y, axis=1), 0.0)
    off = ratio(C @ rest.T, n)
    rest *= rest
    mean, left = two_sum(mean, off)
    return ClassSquares(n, mean, np.maximum(C @ rest.T - n * off * off, 0.0), left)


@dataclass(frozen=True)
class FittedGaussian(Fitted):
    """Means and variances (K, p) of normal features; `centre` (p,) is the grand mean, `df` (K, p) the divisor of the
    variances, `rest` (K, p) what rounding left of the means."""

    mean: ndarray
    variance: ndarray
    centre: ndarray
    df: ndarray
    rest: ndarray

    @cached_property
    def about(self) -> ndarray:
        """Means less the centre, (K, p), with more digits than the means themselves have."""
        return self.mean - self.centre + self.rest

    def shifted(self) -> FittedGaussian:
        """The law of x - centre, where arithmetic keeps more digits."""
        return replace(self, mean=self.about, centre=np.zeros_like(self.centre), rest=np.zeros_like(self.rest))

    @cached_property
    def _sd(self) -> ndarray:
        return np.sqrt(self.variance)

    @cached_property
    def _logs(self) -> ndarray:
        return -0.5 * (LOG_2PI + np.log(self.variance))

    @cached_property
    def _expansion(self) -> tuple[ndarray, ndarray, ndarray] | None:
        """Expansion of log f about the centre: constant (K,), linear and quadratic (p, K), or None where
        that would cancel."""
        delta = self.about
        if not (np.abs(delta) <= MAX_EXPANSION_DISTANCE * self._sd).all():
            return None
        linear = delta / self.variance
        return (self._logs - 0.5 * delta * linear).sum(axis=1), linear.T.copy(), (-0.5 / self.variance).T.copy()

    def log_density(self, values: ndarray) -> ndarray:
        X = np.asarray(_matrix(values), dtype=float)
        if self._expansion is None:
            return self._by_class(X)
        constant, linear, quadratic = self._expansion
        with np.errstate(over="ignore", invalid="ignore"):
            Z = X - self.centre
            out = Z @ linear
            Z *= Z
            out += Z @ quadratic
            out += constant
        if np.isnan(out).any():  # a missing value, or one that overflowed
            bad = np.isnan(out).any(axis=1)
            out[bad] = self._by_class(X[bad])
        return out

    def _by_class(self, X: ndarray) -> ndarray:
        """Log density log f without expansion, skipping missing values."""
        out = np.empty((len(X), self.K))
        seen = ~np.isnan(X)
        complete = bool(seen.all())
        with np.errstate(over="ignore"):
            for k in range(self.K):
                Z = self._z(X, k)
                if complete:
                    out[:, k] = self._logs[k].sum() - 0.5 * np.einsum("ij,ij->i", Z, Z)
                else:
                    out[:, k] = np.where(seen, self._logs[k] - 0.5 * Z * Z, 0.0).sum(axis=1)
        return out

    def statistic(self, values: ndarray) -> ndarray:
        X = np.asarray(_matrix(values), dtype=float)
        return np.stack([X, X * X], axis=-1)

    def natural(self) -> tuple[ndarray, ndarray]:
        eta = np.stack([self.mean / self.variance, -0.5 / self.variance], axis=-1)
        return -0.5 * (np.log(self.variance) + self.mean**2 / self.variance), eta

    def loglik(self, statistics: ClassSquares) -> ndarray:
        """Log-likelihood at any moments, not only at those of the fit."""
        off = statistics.mean - self.mean + (statistics.rest - self.rest)
        distance = statistics.squares + statistics.n * off**2
        return statistics.n * self._logs - 0.5 * distance / self.variance

    def _class_covariance(self) -> ndarray:
        o = 1 / self.variance
        g = self.mean * o
        kappa = self.mean * g
        V = np.empty((*self.n.shape, 3, 3))
        V[..., 0, 0] = 0.5 * (1 + kappa**2)
        V[..., 0, 1] = V[..., 1, 0] = -kappa * g
        V[..., 0, 2] = V[..., 2, 0] = 0.5 * (g**2 - o)
        V[..., 1, 1] = o + 2 * g**2
        V[..., 1, 2] = V[..., 2, 1] = -o * g
        V[..., 2, 2] = 0.5 * o**2
        V /= self.n[..., None, None]
        if self.family.divisor != "mle":  # the part of the variances has their degrees of freedom
            v = np.stack([0.5 * (kappa - 1), -g, 0.5 * o], axis=-1)
            V += 2 * v[..., :, None] * v[..., None, :] * self._more[..., None, None]
        return V

    @cached_property
    def _more(self) -> ndarray:
        """What an unbiased divisor adds to the inverse number of rows behind a variance, (K, p)."""
        return 1 / self.df - 1 / self.n

    def _from_mean(self, X: ndarray, k: int | ndarray) -> ndarray:
        """Deviations of rows from the means of a class, or of each row's class."""
        return X - self.mean[k] - self.rest[k]

    def _z(self, X: ndarray, k: int | ndarray) -> ndarray:
        return self._from_mean(X, k) / self._sd[k]

    def score_variance(self, values: ndarray) -> ndarray:
        X = np.asarray(_matrix(values), dtype=float)
        out = np.empty((len(X), self.K))
        for k in range(self.K):
            # 0 + of missing values only
            z = self._z(X, k)
            v = (1 + z**4) / (2 * self.n[k])
            if self.family.divisor != "mle":
                v += 0.5 * (z * z - 1) ** 2 * self._more[k]
            out[:, k] = np.nansum(v, axis=1)
        return out

    def influence(self, values: ndarray, y: ndarray) -> ndarray:
        X = np.asarray(_matrix(values), dtype=float)
        mean, sd = self.mean[y], self._sd[y]
        z = self._z(X, y)
        # the ratio of n to the divisor is held, so that influences sum to 0
        t, u = mean / sd, z * z * (self.n / self.df)[y] - 1
        psi = np.stack([0.5 * u * (t * t - 1) - t * z, (z - t * u) / sd, 0.5 * u / sd**2], axis=-1)
        return np.where(np.isnan(X)[..., None], 0.0, psi)

    def estimates(self) -> list[Estimates]:
        return [
            Estimates("mean", None, self.mean, self._sd / np.sqrt(self.n)),
            Estimates("variance", None, self.variance, self.variance * np.sqrt(2 / self.df)),
        ]

    def sample(self, rng: Generator, k: int, size: int) -> ndarray:
        return self.mean[k] + self._sd[k] * rng.standard_normal((size, self.family.p))


@dataclass(frozen=True)
class FittedPooledGaussian(FittedGaussian):
    """Normal features whose classes share the variance: T = x; -log(sigma^2)/2 is common and left out of -A."""

    def statistic(self, values: ndarray) -> ndarray:
        return np.asarray(_matrix(values), dtype=float)[..., None]

    def natural(self) -> tuple[ndarray, ndarray]:
        return -0.5 * self.mean**2 / self.variance, (self.mean / self.variance)[..., None]

    def contrasts(self) -> tuple[ndarray, ndarray]:
        slopes = (self.about[1:] - self.about[0]) / self.variance[0]
        return -0.5 * (self.mean[1:] + self.mean[0]) * slopes, slopes[..., None]

    def _class_covariance(self) -> ndarray:
        """Covariance of (-A, eta) by the mean alone: J(m)'J(m) / (sigma^2 n_k)."""
        J = np.stack([-self.mean, np.ones_like(self.mean)], axis=-1)
        return np.einsum("...i,...j->...ij", J, J) / (self.variance * self.n)[..., None, None]

    def _directions(self) -> ndarray:
        """Directions J(h_k)'beta_k, h_k the midpoint of class k and class 0: minus the derivative in log sigma^2."""
        parts, slopes = self.contrasts()
        return np.concatenate([parts[..., None], slopes], axis=-1)

    def shared_loadings(self) -> ndarray:
        return -self._directions() * np.sqrt(2 / self.df[0])[:, None]

    def score_variance(self, values: ndarray) -> ndarray:
        X = np.asarray(_matrix(values), dtype=float)
        out = np.empty((len(X), self.K))
        for k in range(self.K):
            out[:, k] = np.nansum(self._z(X, k) ** 2 / self.n[k], axis=1)
        return out

    def shared_scores(self, values: ndarray) -> ndarray:
        X = np.asarray(_matrix(values), dtype=float)
        # d_k^2 - d_0^2 = -2 beta_k (x - h_k): no cancellation far from both
        midpoint = 0.5 * (self.about[1:] + self.about[0])
        slopes = (self.about[1:] - self.about[0]) / self.variance[0]
        loadings = -2 * ((X - self.centre)[:, None, :] - midpoint) * slopes / np.sqrt(2 * self.df[0])
        return np.where(np.isnan(loadings), 0.0, loadings)

    def influence(self, values: ndarray, y: ndarray) -> ndarray:
        X = np.asarray(_matrix(values), dtype=float)
        g = self._from_mean(X, y) / self.variance[0]
        return np.where(np.isnan(X)[..., None], 0.0, np.stack([-self.mean[y] * g, g], axis=-1))

    def shared_influence(self, values: ndarray, y: ndarray) -> tuple[ndarray, ndarray]:
        X = np.asarray(_matrix(values), dtype=float)
        n = self.n.sum(axis=0)
        z = self._z(X, y) ** 2 * (n / self.df[0]) - 1
        return np.where(np.isnan(X), 0.0, z / n), -self._directions()

    def estimates(self) -> list[Estimates]:
        means, _ = super().estimates()
        variance = self.variance[:1]
        return [means, Estimates("variance", None, variance, variance * np.sqrt(2 / self.df[0]))]
