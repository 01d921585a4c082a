"""Features of naive Bayes as the columns of a scipy.sparse array: many 0/1 features, or many counts, at once.

Estimates, densities and covariances are those of as many `Bernoulli` or `Poisson` features. A row costs what it has of
entries other than 0: what a 0 adds is the same in all rows, and is summed once. Where a result has a number for each
row and feature anyway (influences, leaving rows out), blocks of rows are written out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy import ndarray
from numpy.random import Generator
from scipy.special import xlogy

from glmclf.caching import cached_property
from glmclf.core.naive_bayes.family import (
    Defect,
    Estimates,
    Family,
    Fitted,
    SparseSums,
    Violation,
    ZeroCell,
    class_total,
    indicator,
    log_factorials,
    log_factorials_of_rows,
    nonempty,
    ratio,
    rows_of,
    written_out,
)


@dataclass(frozen=True)
class _SparseFamily(Family):
    """Families of the columns of a csr array, p of them."""

    p: int = 1
    by_column: ClassVar[bool] = True
    kind: ClassVar[Any] = SparseSums

    def statistics(self, values: Any, y: ndarray, w: ndarray | None, K: int) -> SparseSums:
        rows = indicator(y, w, K)
        n = np.repeat(class_total(y, None, w, K)[:, None], self.p, axis=1)
        return SparseSums(n, *map(written_out, (rows @ values.astype(float, copy=False), self._base(rows, values, K))))

    def _base(self, rows: Any, values: Any, K: int) -> ndarray:
        return np.zeros((K, self.p))

    def defects(self, statistics: SparseSums, smoothing: float = 0.0) -> list[Defect]:
        empty = [] if smoothing > 0 and self.name == "bernoulli" else np.argwhere(statistics.n == 0).tolist()
        return [Defect("no observed value in a class", j, k) for k, j in empty]


@dataclass(frozen=True)
class SparseBernoulli(_SparseFamily):
    """0/1 features as the columns of a csr array: each a table of two levels."""

    name: str = field(default="bernoulli", init=False)

    def seen_levels(self, statistics: SparseSums) -> ndarray:
        ones, n = statistics.sums.sum(axis=0), statistics.n.sum(axis=0)
        return np.column_stack([ones < n, ones > 0])

    def fit(self, statistics: SparseSums, smoothing: float = 0.0) -> Fitted:
        ones, n = statistics.sums + smoothing, statistics.n + 2 * smoothing
        return FittedSparseBernoulli(self, n, ones, statistics.n)

    def violations(self, values: Any) -> list[Violation]:
        return nonempty(Violation(rows_of(values, values.data != 1), "values other than 0 and 1"))


@dataclass(frozen=True)
class SparsePoisson(_SparseFamily):
    """Counts as the columns of a csr array, each with one rate a class."""

    name: str = field(default="poisson", init=False)

    def _base(self, rows: Any, values: Any, K: int) -> ndarray:
        from scipy.sparse import csr_array

        logs, at, columns = log_factorials(values)
        return -(rows @ csr_array((logs, (at, columns)), shape=values.shape))

    def fit(self, statistics: SparseSums, smoothing: float = 0.0) -> Fitted:
        return FittedSparsePoisson(self, statistics.n, ratio(statistics.sums, statistics.n))

    def violations(self, values: Any) -> list[Violation]:
        x = values.data
        return nonempty(
            Violation(rows_of(values, x < 0), "negative values"),
            Violation(rows_of(values, x != np.floor(x)), "values that are not whole numbers"),
        )


def has_any(X: Any, columns: ndarray) -> ndarray:
    """Which rows have an entry other than 0 in some of the columns, masks (K, p): (n, K)."""
    if not columns.any():
        return np.zeros((X.shape[0], len(columns)), dtype=bool)
    return (abs(X) @ columns.T.astype(float)) > 0


@dataclass(frozen=True)
class _FittedSparse(Fitted):
    """Estimates of the columns of a csr array."""

    def statistic(self, values: Any) -> ndarray:
        return values.toarray().astype(float, copy=False)[..., None]


@dataclass(frozen=True)
class FittedSparseBernoulli(_FittedSparse):
    """Ones (K, p), pseudo-counts included, and the rows observed (K, p); n is of both values."""

    ones: ndarray
    rows: ndarray

    @cached_property
    def theta(self) -> ndarray:
        """Probabilities of 1, (K, p)."""
        return self.ones / self.n

    @cached_property
    def zeros(self) -> ndarray:
        """Zeros (K, p), pseudo-counts included."""
        return self.n - self.ones

    @cached_property
    def _logs(self) -> tuple[ndarray, ndarray]:
        """Log probabilities of 0 and of 1, -inf where they are 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.zeros / self.n), np.log(self.theta)

    @cached_property
    def _finite(self) -> tuple[ndarray, ndarray]:
        """`_logs` summed over a row of zeros, (K,), and what a 1 adds, (K, p); 0 in place of -inf."""
        zero, one = (np.where(np.isneginf(a), 0.0, a) for a in self._logs)
        return zero.sum(axis=1), one - zero

    def impossible(self, X: Any) -> ndarray:
        """Which rows cannot be of which class, (n, K): a 1 that it never has, or a 0."""
        always = self.zeros == 0
        return has_any(X, self.ones == 0) | (X @ always.T.astype(float) < always.sum(axis=1))

    def log_density(self, values: Any) -> ndarray:
        rest, step = self._finite
        out = values @ step.T + rest
        out[self.impossible(values)] = -np.inf
        return out

    def natural(self) -> tuple[ndarray, ndarray]:
        zero, one = self._logs
        with np.errstate(invalid="ignore"):
            eta = (one - zero)[..., None]
        return np.where(self._always_one, 0.0, zero), eta

    @cached_property
    def _always_one(self) -> ndarray:
        """Which features are 1 in all rows, (p,), as of `FittedTable`."""
        return np.asarray(~self.zeros.any(axis=0))

    def loglik(self, statistics: SparseSums) -> ndarray:
        ones = statistics.sums
        return xlogy(ones, self.theta) + xlogy(statistics.n - ones, self.zeros / self.n)

    @cached_property
    def _inverses(self) -> tuple[ndarray, ndarray]:
        """Inverse counts of zeros and ones, NaN where there are none."""
        with np.errstate(divide="ignore"):
            return tuple(np.where(a > 0, 1 / a, np.nan) for a in (self.zeros, self.ones))  # type: ignore[return-value]

    def _class_covariance(self) -> ndarray:
        zero, one = self._inverses
        V = np.empty((*self.n.shape, 2, 2))
        V[..., 0, 0] = np.where(self._always_one, 0.0, zero - 1 / self.n)
        V[..., 0, 1] = V[..., 1, 0] = np.where(self.ones > 0, -zero, np.nan)
        V[..., 1, 1] = zero + one
        return V

    def variances(self) -> ndarray:
        zero, one = self._inverses
        return np.stack([np.where(self._always_one, 0.0, zero - 1 / self.n), zero + one], axis=-1)

    def score_variance(self, values: Any) -> ndarray:
        zero, one = (np.nan_to_num(a - 1 / self.n, nan=0.0) for a in self._inverses)
        out = values @ (one - zero).T + zero.sum(axis=1)
        out[self.impossible(values)] = np.nan
        return out

    def influence(self, values: Any, y: ndarray) -> ndarray:
        x, (zero, one) = values.toarray(), self._inverses
        first = np.where(x == 0, (self.n * zero)[y], 0.0)
        psi = np.stack([first - 1, np.where(x == 1, (self.n * one)[y], 0.0) - first], axis=-1)
        psi[..., 0][(self.zeros == 0)[y]] = psi[..., 1][((self.zeros == 0) | (self.ones == 0))[y]] = np.nan
        return psi

    def zero_cells(self) -> list[ZeroCell]:
        none = np.argwhere(np.stack([self.zeros, self.ones]).transpose(2, 1, 0) == 0).tolist()
        return [ZeroCell(j, level, k) for j, k, level in none]

    def effective(self) -> ndarray:
        return ratio(self.rows, self.n)

    def estimates(self) -> list[Estimates]:
        se = np.where(self.ones > 0, np.sqrt(self.theta * (1 - self.theta) / self.n), np.nan)
        return [Estimates("p", 1, self.theta, se)]

    def sample(self, rng: Generator, k: int, size: int) -> ndarray:
        return (rng.random((size, self.n.shape[1])) < self.theta[k]).astype(float)


@dataclass(frozen=True)
class FittedSparsePoisson(_FittedSparse):
    """Estimated rates (K, p)."""

    mean: ndarray

    @cached_property
    def _log(self) -> ndarray:
        """Log rates; 0 in place of -inf."""
        return np.log(np.where(self.mean > 0, self.mean, 1.0))

    def log_density(self, values: Any) -> ndarray:
        constant = log_factorials_of_rows(values)[:, None] + self.mean.sum(axis=1)
        out = values @ self._log.T - constant
        out[has_any(values, self.mean == 0)] = -np.inf
        return out

    def natural(self) -> tuple[ndarray, ndarray]:
        with np.errstate(divide="ignore"):
            return -self.mean, np.log(self.mean)[..., None]

    def loglik(self, statistics: SparseSums) -> ndarray:
        return xlogy(statistics.sums, self.mean) - statistics.n * self.mean + statistics.base

    def _class_covariance(self) -> ndarray:
        V = np.empty((*self.n.shape, 2, 2))
        V[..., 0, 0] = self.mean / self.n
        V[..., 0, 1] = V[..., 1, 0] = np.where(self.mean > 0, -1 / self.n, np.nan)
        V[..., 1, 1] = self._inverse / self.n
        return V

    def variances(self) -> ndarray:
        return np.stack([self.mean / self.n, self._inverse / self.n], axis=-1)

    @cached_property
    def _inverse(self) -> ndarray:
        """Inverse rates, NaN for 0."""
        return np.divide(1.0, self.mean, out=np.full(self.mean.shape, np.nan), where=self.mean > 0)

    def score_variance(self, values: Any) -> ndarray:
        """Sum of (x - rate)^2 / (rate n) over the features, of x^2, x and 1 apart."""
        none, n = self.mean == 0, self.n[:, 0]
        squares = values.multiply(values).tocsr() @ np.nan_to_num(self._inverse, nan=0.0).T
        out = (squares - 2 * (values @ (~none).T.astype(float)) + self.mean.sum(axis=1)) / n
        out[has_any(values, none)] = np.nan
        return out

    def influence(self, values: Any, y: ndarray) -> ndarray:
        x, mean = values.toarray(), self.mean[y]
        r = (x - mean) * self._inverse[y]
        return np.stack([np.where(mean > 0, -mean * r, 0.0), r], axis=-1)

    def zero_cells(self) -> list[ZeroCell]:
        return [ZeroCell(j, None, k) for j, k in np.argwhere(self.mean.T == 0).tolist()]

    def estimates(self) -> list[Estimates]:
        return [Estimates("rate", None, self.mean, np.sqrt(np.where(self.mean > 0, self.mean, np.nan) / self.n))]

    def sample(self, rng: Generator, k: int, size: int) -> ndarray:
        return rng.poisson(self.mean[k], (size, self.n.shape[1])).astype(float)
