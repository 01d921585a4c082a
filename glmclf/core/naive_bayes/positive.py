"""Features of naive Bayes that are not negative: Poisson counts, exponential and gamma durations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy import ndarray
from numpy.random import Generator
from scipy.special import gammaln, xlogy

from glmclf.caching import cached_property
from glmclf.core.naive_bayes.family import (
    ClassLogs,
    ClassSums,
    Defect,
    Estimates,
    Family,
    Fitted,
    Violation,
    ZeroCell,
    arrow,
    class_total,
    nonempty,
    not_finite,
    observed_rows,
    ratio,
)
from glmclf.core.numerics import special as gammas
from glmclf.core.numerics.constants import EPS


@dataclass(frozen=True)
class Poisson(Family):
    """Counts with one rate a class: T = x, eta = log rate, A = rate; the estimate is the mean."""

    name: str = field(default="poisson", init=False)

    def statistics(self, values: ndarray, y: ndarray, w: ndarray | None, K: int) -> ClassSums:
        x, y, w = observed_rows(values, y, w)
        n, total = class_total(y, None, w, K), class_total(y, x, w, K)[:, None]
        return ClassSums(n, total, -class_total(y, gammaln(x + 1), w, K))

    def fit(self, statistics: ClassSums, smoothing: float = 0.0) -> Fitted:
        return FittedPoisson(self, statistics.n[:, None], ratio(statistics.sums[:, 0], statistics.n))

    def violations(self, values: ndarray) -> list[Violation]:
        x = np.asarray(values, dtype=float)
        fraction = (x != np.floor(x)) & np.isfinite(x)
        return nonempty(
            not_finite(x),
            Violation(np.flatnonzero(x < 0), "negative values"),
            Violation(np.flatnonzero(fraction), "values that are not whole numbers"),
        )


@dataclass(frozen=True)
class _OfMean(Fitted):
    """Estimates of a family of one number with a mean (K,)."""

    mean: ndarray

    def _x(self, values: ndarray) -> tuple[ndarray, ndarray]:
        """Values (n, 1) with the first class's mean in place of missing ones, and a mask of the missing ones."""
        x = np.asarray(values, dtype=float)
        missing = np.isnan(x)
        return np.where(missing, self.mean[0], x)[:, None], missing


@dataclass(frozen=True)
class _Scalar(_OfMean):
    """Estimates of a family of one number and one parameter, the mean (K,)."""

    def statistic(self, values: ndarray) -> ndarray:
        return np.asarray(values, dtype=float)[:, None, None]

    def _variance(self) -> ndarray:
        """Variance of x, (K,); NaN where the estimate is infinite."""
        raise NotImplementedError

    def _class_covariance(self) -> ndarray:
        return arrow(self.mean[:, None, None], 1 / (self._variance()[:, None] * self.n)[..., None, None])

    def score_variance(self, values: ndarray) -> ndarray:
        x, missing = self._x(values)
        out = (x - self.mean) ** 2 / (self._variance() * self.n[:, 0])
        out[missing] = 0.0
        return out

    def influence(self, values: ndarray, y: ndarray) -> ndarray:
        x, missing = self._x(values)
        mean = self.mean[y]
        r = (x[:, 0] - mean) / self._variance()[y]
        psi = np.stack([-mean * r, r], axis=-1)
        psi[missing] = 0.0
        return psi[:, None]


@dataclass(frozen=True)
class FittedPoisson(_Scalar):
    """Estimated Poisson rates (K,)."""

    def _variance(self) -> ndarray:
        return np.where(self.mean > 0, self.mean, np.nan)

    # a rate of 0 has no log, but -A = -rate = 0 has variance 0, and so has log f(0)
    def _class_covariance(self) -> ndarray:
        V = super()._class_covariance()
        V[self.mean == 0, :, 0, 0] = 0.0
        return V

    def score_variance(self, values: ndarray) -> ndarray:
        out = super().score_variance(values)
        out[np.ix_(np.asarray(values) == 0, self.mean == 0)] = 0.0
        return out

    def influence(self, values: ndarray, y: ndarray) -> ndarray:
        psi = super().influence(values, y)
        psi[self.mean[y] == 0, :, 0] = 0.0
        return psi

    def log_density(self, values: ndarray) -> ndarray:
        """Log density in Loader's form: its rounding is that of the distance of x from the rate, not of log x!."""
        x, missing = self._x(values)
        with np.errstate(divide="ignore", invalid="ignore"):
            positive = gammas.stirling(x) - np.log(x) + x * gammas.log_excess(self.mean, x)
            out = np.where(x > 0, positive, -self.mean)
        out[missing] = 0.0
        return out

    def natural(self) -> tuple[ndarray, ndarray]:
        with np.errstate(divide="ignore"):
            return -self.mean[:, None], np.log(self.mean)[:, None, None]

    def loglik(self, statistics: ClassSums) -> ndarray:
        total = statistics.sums[:, 0]
        return (xlogy(total, self.mean) - statistics.n * self.mean + statistics.base)[:, None]

    def zero_cells(self) -> list[ZeroCell]:
        return [ZeroCell(0, None, int(k)) for k in np.flatnonzero(self.mean == 0)]

    def estimates(self) -> list[Estimates]:
        rate = self.mean[:, None]
        return [Estimates("rate", None, rate, np.sqrt(np.where(rate > 0, rate, np.nan) / self.n))]

    def sample(self, rng: Generator, k: int, size: int) -> ndarray:
        return rng.poisson(self.mean[k], size).astype(float)


@dataclass(frozen=True)
class Exponential(Family):
    """Durations x >= 0 with one rate a class: T = x, eta = -rate, A = -log rate; the estimate is 1/mean."""

    name: str = field(default="exponential", init=False)

    def statistics(self, values: ndarray, y: ndarray, w: ndarray | None, K: int) -> ClassSums:
        x, y, w = observed_rows(values, y, w)
        return ClassSums(class_total(y, None, w, K), class_total(y, x, w, K)[:, None], np.zeros(K))

    def fit(self, statistics: ClassSums, smoothing: float = 0.0) -> Fitted:
        return FittedExponential(self, statistics.n[:, None], ratio(statistics.sums[:, 0], statistics.n))

    def defects(self, statistics: ClassSums, smoothing: float = 0.0) -> list[Defect]:
        zero = (statistics.sums[:, 0] == 0) & (statistics.n > 0)
        return super().defects(statistics) + [Defect("zero in a whole class", 0, int(k)) for k in np.flatnonzero(zero)]

    def violations(self, values: ndarray) -> list[Violation]:
        x = np.asarray(values, dtype=float)
        return nonempty(not_finite(x), Violation(np.flatnonzero(x < 0), "negative values"))


@dataclass(frozen=True)
class FittedExponential(_Scalar):
    """Estimated means (K,) of durations, the inverses of the rates."""

    def _variance(self) -> ndarray:
        return self.mean**2

    def log_density(self, values: ndarray) -> ndarray:
        x, missing = self._x(values)
        out = -np.log(self.mean) - x / self.mean
        out[missing] = 0.0
        return out

    def natural(self) -> tuple[ndarray, ndarray]:
        return -np.log(self.mean)[:, None], (-1 / self.mean)[:, None, None]

    def loglik(self, statistics: ClassSums) -> ndarray:
        return (-statistics.n * np.log(self.mean) - statistics.sums[:, 0] / self.mean)[:, None]

    def estimates(self) -> list[Estimates]:
        rate = 1 / self.mean[:, None]
        return [Estimates("rate", None, rate, rate / np.sqrt(self.n))]

    def sample(self, rng: Generator, k: int, size: int) -> ndarray:
        return rng.exponential(self.mean[k], size)


@dataclass(frozen=True)
class Gamma(Family):
    """Positive numbers with shape a and rate b a class: T = (log x, x), eta = (a, -b), A = log Gamma(a) - a log b.

    The estimate solves log a - psi(a) = log(mean x) - mean(log x), b = a / mean x.
    """

    name: str = field(default="gamma", init=False)
    kind: ClassVar[Any] = ClassLogs
    width = 2
    free = 2

    def statistics(self, values: ndarray, y: ndarray, w: ndarray | None, K: int) -> ClassLogs:
        x, y, w = observed_rows(values, y, w)
        n = class_total(y, None, w, K)
        mean = ratio(class_total(y, x, w, K), n)
        # the mean is rounded: correct both moments by the mean of what is left
        off = ratio(class_total(y, x - mean[y], w, K), n)
        mean = mean + off
        return ClassLogs(n, mean, -class_total(y, gammas.log_excess(x, mean[y]), w, K))

    def fit(self, statistics: ClassLogs, smoothing: float = 0.0) -> Fitted:
        return FittedGamma(
            self, statistics.n[:, None], statistics.mean, gammas.gamma_shape(ratio(statistics.excess, statistics.n))
        )

    def defects(self, statistics: ClassLogs, smoothing: float = 0.0) -> list[Defect]:
        whole = statistics.together()
        # log(mean) - mean(log) is about half the squared coefficient of variation
        cv = np.sqrt(2 * ratio(statistics.excess, statistics.n))
        floor = max(1e-10 * float(np.sqrt(2 * ratio(whole.excess, whole.n))[0]), 8 * EPS)
        constant = np.flatnonzero((cv <= floor) & (statistics.n > 0))
        return super().defects(statistics) + [Defect("constant within a class", 0, int(k)) for k in constant]

    def violations(self, values: ndarray) -> list[Violation]:
        x = np.asarray(values, dtype=float)
        return nonempty(not_finite(x), Violation(np.flatnonzero(x <= 0), "values that are not positive"))


@dataclass(frozen=True)
class FittedGamma(_OfMean):
    """Estimated means and shapes (K,) of gamma features."""

    shape: ndarray

    @property
    def rate(self) -> ndarray:
        """Rates b = a / mean, (K,)."""
        return self.shape / self.mean

    @cached_property
    def _gap(self) -> ndarray:
        return gammas.trigamma_gap(self.shape)

    @cached_property
    def _log_mean(self) -> ndarray:
        """Expectation of log x, psi(a) - log b."""
        return np.log(self.mean) - gammas.digamma_gap(self.shape)

    def log_density(self, values: ndarray) -> ndarray:
        x, missing = self._x(values)
        out = gammas.stirling(self.shape) - np.log(x) + self.shape * gammas.log_excess(x, self.mean)
        out[missing] = 0.0
        return out

    def statistic(self, values: ndarray) -> ndarray:
        x = np.asarray(values, dtype=float)
        return np.stack([np.log(x), x], axis=-1)[:, None]

    def natural(self) -> tuple[ndarray, ndarray]:
        a, b = self.shape, self.rate
        return (a * np.log(b) - gammaln(a))[:, None], np.stack([a, -b], axis=-1)[:, None]

    def loglik(self, statistics: ClassLogs) -> ndarray:
        """Log-likelihood, n times the mean of log f, with mean log x = log(mean x) - excess/n."""
        s = ratio(statistics.excess, statistics.n)
        mean_log = np.log(statistics.mean) - s
        # mean of log(x/mu) - (x/mu - 1)
        distance = gammas.log_excess(statistics.mean, self.mean) - s
        return (statistics.n * (gammas.stirling(self.shape) - mean_log + self.shape * distance))[:, None]

    def _information(self) -> ndarray:
        """Inverse V_T^-1 of the covariance of T, (K, 2, 2)."""
        a, b = self.shape, self.rate
        P = np.empty((self.K, 2, 2))
        P[:, 0, 0], P[:, 1, 1] = a, b * b * (1 + self._gap) / a
        P[:, 0, 1] = P[:, 1, 0] = -b
        return P / self._gap[:, None, None]

    def _class_covariance(self) -> ndarray:
        a, c = self.shape, self._log_mean - 1
        V = arrow(np.stack([self._log_mean, self.mean], axis=-1), self._information())
        # the quadratic form with its cancellation done on paper
        V[:, 0, 0] = a * (c * c / self._gap + 1)
        return (V / self.n[..., None])[:, None]

    def _deviations(self, x: ndarray, k: Any) -> tuple[ndarray, ndarray]:
        """Deviations u = x/mean - 1, and log x - E log x - u."""
        mean, shape = self.mean[k], self.shape[k]
        return (x - mean) / mean, gammas.log_excess(x, mean) + gammas.digamma_gap(shape)

    def score_variance(self, values: ndarray) -> ndarray:
        x, missing = self._x(values)
        u, e = self._deviations(x, slice(None))
        out = self.shape * (e * e / self._gap + u * u) / self.n[:, 0]
        out[missing] = 0.0
        return out

    def influence(self, values: ndarray, y: ndarray) -> ndarray:
        x, missing = self._x(values)
        u, e = self._deviations(x[:, 0], y)
        e = e / self._gap[y]
        a, b = self.shape[y] * e, self.rate[y] * (u - e)
        psi = np.stack([-self._log_mean[y] * a - self.mean[y] * b, a, b], axis=-1)
        psi[missing] = 0.0
        return psi[:, None]

    def estimates(self) -> list[Estimates]:
        V = self.class_covariance()
        shape, rate = (np.sqrt(V[:, :, i, i]) for i in (1, 2))
        return [
            Estimates("shape", None, self.shape[:, None], shape),
            Estimates("rate", None, self.rate[:, None], rate),
        ]

    def sample(self, rng: Generator, k: int, size: int) -> ndarray:
        return rng.gamma(self.shape[k], self.mean[k] / self.shape[k], size)
