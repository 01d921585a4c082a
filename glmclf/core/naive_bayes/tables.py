"""Features of naive Bayes with levels: 0/1, categorical, and blocks of counts that share their total."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy import ndarray
from numpy.random import Generator
from scipy.special import gammaln, xlogy

from glmclf.caching import cached_property
from glmclf.core.naive_bayes.family import (
    ClassSums,
    Defect,
    Estimates,
    Family,
    Fitted,
    Violation,
    ZeroCell,
    class_total,
    indicator,
    is_sparse,
    log_factorials_of_rows,
    nonempty,
    not_finite,
    observed_rows,
    ratio,
    rows_of,
    written_out,
)


@dataclass(frozen=True)
class Categorical(Family):
    """A table of `levels` probabilities a class; values are codes 0..levels-1, -1 if missing, less for levels outside
    the table, of probability 0. T = [x = l], l >= 1.

    The estimate is (n_l + a)/(n + a L), a the smoothing: the mode under Dirichlet(a) on the scale of log-odds.
    """

    levels: int
    name: str = field(default="categorical", init=False)

    @property
    def width(self) -> int:  # type: ignore[override]
        return self.levels - 1

    @property
    def free(self) -> int:  # type: ignore[override]
        return self.levels - 1

    def codes(self, values: ndarray) -> ndarray:
        """Codes of the values in the table."""
        return values

    def statistics(self, values: ndarray, y: ndarray, w: ndarray | None, K: int) -> ClassSums:
        codes = self.codes(values)
        seen = codes >= 0
        if not seen.all():
            codes, y, w = codes[seen], y[seen], None if w is None else w[seen]
        cells = np.asarray(y, dtype=np.intp) * self.levels + codes
        sums = np.bincount(cells, w, minlength=K * self.levels).astype(float).reshape(K, self.levels)
        return ClassSums(sums.sum(axis=1), sums, np.zeros(K))

    def seen_levels(self, statistics: ClassSums) -> ndarray:
        return statistics.sums.sum(axis=0)[None] > 0

    def fit(self, statistics: ClassSums, smoothing: float = 0.0) -> Fitted:
        cells = statistics.sums + smoothing
        return FittedTable(self, cells.sum(axis=1)[:, None], cells, statistics.n)

    def defects(self, statistics: ClassSums, smoothing: float = 0.0) -> list[Defect]:
        return [] if smoothing > 0 else super().defects(statistics)

    def violations(self, values: ndarray) -> list[Violation]:
        bad = (values < -1) | (values >= self.levels)
        return nonempty(Violation(np.flatnonzero(bad), f"codes outside 0..{self.levels - 1}"))

    def draws(self, codes: ndarray) -> ndarray:
        """Values for sampled codes."""
        return codes


@dataclass(frozen=True)
class Bernoulli(Categorical):
    """A 0/1 feature, NaN if missing: the table of two levels. T = x, eta = logit p."""

    levels: int = field(default=2, init=False)
    name: str = field(default="bernoulli", init=False)

    def codes(self, values: ndarray) -> ndarray:
        if values.dtype.kind != "f":
            return values.astype(np.intp)
        return np.where(np.isnan(values), -1.0, values).astype(np.intp)

    def violations(self, values: ndarray) -> list[Violation]:
        bad = ~((values == 0) | (values == 1) | np.isnan(values))
        return nonempty(Violation(np.flatnonzero(bad), "values other than 0 and 1"))

    def draws(self, codes: ndarray) -> ndarray:
        return codes.astype(float)


@dataclass(frozen=True)
class FittedTable(Fitted):
    """Cells (K, L), pseudo-counts included, and the rows observed (K,)."""

    cells: ndarray
    rows: ndarray

    @cached_property
    def theta(self) -> ndarray:
        """Probabilities of the cells, (K, L)."""
        return self.cells / self.n

    @cached_property
    def _log(self) -> ndarray:
        """Log probabilities log theta, -inf in a zero cell."""
        with np.errstate(divide="ignore"):
            return np.log(self.theta)

    def _last(self, by_level: ndarray, codes: ndarray, outside: float = 0.0, missing: float = 0.0) -> ndarray:
        """Rows of (L, K) by code; codes below 0 take the rows appended for levels outside the table and for missing
        values."""
        more = np.repeat([[outside], [missing]], by_level.shape[1], axis=1)
        return np.vstack([by_level, more])[np.maximum(codes, -2)]

    def log_density(self, values: ndarray) -> ndarray:
        return self._last(self._log.T, self.family.codes(values), -np.inf)

    def statistic(self, values: ndarray) -> ndarray:
        return self._last(np.eye(self.family.levels)[:, 1:], self.family.codes(values), np.nan, np.nan)[:, None]

    def natural(self) -> tuple[ndarray, ndarray]:
        with np.errstate(invalid="ignore"):
            eta = (self._log[:, 1:] - self._log[:, :1])[:, None]
        return np.zeros((self.K, 1)) if self._always_one else self._log[:, :1], eta

    @cached_property
    def _always_one(self) -> bool:
        """Whether a 0/1 feature is 1 in all rows: of log p(0) = -inf in every class nothing is left but log p(1) = 0,
        which is the part of the intercept, and the slope is not identified."""
        return self.family.levels == 2 and not self.cells[:, 0].any()

    def loglik(self, statistics: ClassSums) -> ndarray:
        return xlogy(statistics.sums, self.theta).sum(axis=1)[:, None]

    @cached_property
    def _inverse(self) -> ndarray:
        """Inverse 1 / cells, NaN for a zero cell."""
        return np.divide(1.0, self.cells, out=np.full(self.cells.shape, np.nan), where=self.cells > 0)

    def class_covariance(self, chosen: ndarray | None = None) -> ndarray:
        levels = 1 + (np.arange(self.family.width) if chosen is None else chosen)
        first = self._inverse[:, 0]
        V = np.empty((self.K, len(levels) + 1, len(levels) + 1))
        V[:] = first[:, None, None]
        V[:, 0, 0] -= 1 / self.n[:, 0]
        V[:, 0, 1:] = V[:, 1:, 0] = -first[:, None]
        at = np.arange(1, len(levels) + 1)
        V[:, at, at] += self._inverse[:, levels]
        klass, level = np.nonzero(self.cells[:, levels] == 0)
        V[klass, level + 1, :] = V[klass, :, level + 1] = np.nan
        if self._always_one:
            V[:, 0, 0] = 0.0
        return V[:, None]

    def variances(self) -> ndarray:
        first = self._inverse[:, :1]
        constant = np.zeros_like(first) if self._always_one else first - 1 / self.n
        return np.concatenate([constant, first + self._inverse[:, 1:]], axis=1)[:, None]

    def score_variance(self, values: ndarray) -> ndarray:
        return self._last((self._inverse - 1 / self.n).T, self.family.codes(values), np.nan)

    def influence(self, values: ndarray, y: ndarray) -> ndarray:
        codes = self.family.codes(values)
        psi = np.zeros((len(codes), 1, self.family.levels))
        n = self.n[y, 0]
        first = np.where(codes == 0, n * self._inverse[y, 0], 0.0)
        psi[:, 0, 0] = first - 1
        psi[:, 0, 1:] = -first[:, None]
        rows = np.flatnonzero(codes > 0)
        psi[rows, 0, codes[rows]] = n[rows] * self._inverse[y[rows], codes[rows]]
        psi[:, 0, 1:][self.cells[y, 1:] == 0] = np.nan
        psi[self.cells[y, 0] == 0] = np.nan
        psi[codes < 0] = 0.0
        return psi

    def indicators(self, values: ndarray) -> ndarray:
        """Indicators [x = l] of every level, (n, L); 0 where missing."""
        return self._last(np.eye(self.family.levels), self.family.codes(values))

    def level_influence(self, values: ndarray, y: ndarray) -> ndarray:
        """n/N times the influence of each row on log theta_l of its class, (n, L): [x = l]/theta_l - 1.

        Level by level a zero cell leaves the others alone; it has 0 itself, as does a missing value.
        """
        codes = self.family.codes(values)
        psi = np.where(self.cells[y] > 0, -1.0, 0.0)
        rows = np.flatnonzero(codes >= 0)
        psi[rows, codes[rows]] += self.n[y[rows], 0] * np.nan_to_num(self._inverse[y[rows], codes[rows]], nan=0.0)
        psi[codes < 0] = 0.0
        return psi

    def zero_cells(self) -> list[ZeroCell]:
        return [ZeroCell(0, int(l), int(k)) for k, l in np.argwhere(self.cells == 0)]

    def effective(self) -> ndarray:
        return self.family.free * ratio(self.rows[:, None], self.n)

    def estimates(self) -> list[Estimates]:
        se = np.sqrt(self.theta * (1 - self.theta) / self.n)
        se = np.where(self.cells > 0, se, np.nan)
        # p alone where the other is its complement
        levels = [1] if self.family.name == "bernoulli" else range(self.family.levels)
        return [Estimates("p", l, self.theta[:, [l]], se[:, [l]]) for l in levels]

    def sample(self, rng: Generator, k: int, size: int) -> ndarray:
        return self.family.draws(rng.choice(self.family.levels, size=size, p=self.theta[k]))


@dataclass(frozen=True)
class MultinomialFamily(Family):
    """Counts (n, L) that share their row's total among `levels` cells; a row with any NaN is missing. T = counts.

    The likelihood is conditional on the totals and includes log(m!/prod x!). Smoothing as in `Categorical`.
    """

    levels: int
    name: str = field(default="multinomial", init=False)

    @property
    def width(self) -> int:  # type: ignore[override]
        return self.levels

    @property
    def free(self) -> int:  # type: ignore[override]
        return self.levels - 1

    def statistics(self, values: Any, y: ndarray, w: ndarray | None, K: int) -> ClassSums:
        X, y, w = (_floats(values), y, w) if is_sparse(values) else observed_rows(values, y, w)
        sums = written_out(indicator(y, w, K) @ X)
        return ClassSums(class_total(y, None, w, K), sums, class_total(y, arrangements(X), w, K))

    def seen_levels(self, statistics: ClassSums) -> ndarray:
        return statistics.sums.sum(axis=0)[None] > 0

    def fit(self, statistics: ClassSums, smoothing: float = 0.0) -> Fitted:
        cells = statistics.sums + smoothing
        return FittedMultinomial(self, cells.sum(axis=1)[:, None], cells, statistics.sums.sum(axis=1))

    def defects(self, statistics: ClassSums, smoothing: float = 0.0) -> list[Defect]:
        empty = np.flatnonzero(statistics.sums.sum(axis=1) == 0)
        return [] if smoothing > 0 else [Defect("no observed value in a class", 0, int(k)) for k in empty]

    def violations(self, values: Any) -> list[Violation]:
        if is_sparse(values):
            x = values.data
            return nonempty(
                Violation(rows_of(values, x < 0), "negative counts"),
                Violation(rows_of(values, x != np.floor(x)), "counts that are not whole numbers"),
            )
        X = np.asarray(values, dtype=float)
        fraction = (X != np.floor(X)) & np.isfinite(X)
        return nonempty(
            not_finite(X),
            Violation(np.flatnonzero((X < 0).any(axis=1)), "negative counts"),
            Violation(np.flatnonzero(fraction.any(axis=1)), "counts that are not whole numbers"),
        )


def arrangements(X: Any) -> ndarray:
    """Log of the multinomial coefficient, log(m! / prod x!), of each row."""
    factors = log_factorials_of_rows(X) if is_sparse(X) else gammaln(X + 1).sum(axis=1)
    return gammaln(X.sum(axis=1) + 1) - factors


def _floats(X: Any) -> Any:
    """A csr array of float64."""
    return X.astype(float, copy=False)


@dataclass(frozen=True)
class FittedMultinomial(Fitted):
    """Cells (K, L), pseudo-counts included, and the total count observed (K,); n is the total count."""

    cells: ndarray
    rows: ndarray

    @cached_property
    def theta(self) -> ndarray:
        """Probabilities of the cells, (K, L)."""
        return self.cells / self.n

    def _counts(self, values: Any) -> tuple[Any, ndarray]:
        """Counts with 0 in missing rows, and a mask of the rows observed."""
        if is_sparse(values):
            return _floats(values), np.ones(values.shape[0], dtype=bool)
        X = np.asarray(values, dtype=float)
        seen = ~np.isnan(X).any(axis=1)
        return (X if seen.all() else np.where(seen[:, None], X, 0.0)), seen

    def log_density(self, values: ndarray) -> ndarray:
        X, _ = self._counts(values)
        zero = self.cells == 0
        out = X @ np.log(np.where(zero, 1.0, self.theta)).T + arrangements(X)[:, None]
        if zero.any():
            out[X @ zero.T.astype(float) > 0] = -np.inf
        return out

    def statistic(self, values: Any) -> ndarray:
        X, seen = self._counts(written_out(values))
        return np.where(seen[:, None], X, np.nan)[:, None]

    def natural(self) -> tuple[ndarray, ndarray]:
        with np.errstate(divide="ignore"):
            return np.zeros((self.K, 1)), np.log(self.theta)[:, None]

    def loglik(self, statistics: ClassSums) -> ndarray:
        return (xlogy(statistics.sums, self.theta).sum(axis=1) + statistics.base)[:, None]

    @cached_property
    def _inverse(self) -> ndarray:
        """Inverse 1 / cells, NaN for a zero cell."""
        return np.divide(1.0, self.cells, out=np.full(self.cells.shape, np.nan), where=self.cells > 0)

    def class_covariance(self, chosen: ndarray | None = None) -> ndarray:
        levels = np.arange(self.family.levels) if chosen is None else chosen
        V = np.zeros((self.K, len(levels) + 1, len(levels) + 1))
        V[:, 1:, 1:] = -1 / self.n[..., None]
        at = np.arange(1, len(levels) + 1)
        V[:, at, at] += self._inverse[:, levels]
        klass, level = np.nonzero(self.cells[:, levels] == 0)
        V[klass, level + 1, 1:] = V[klass, 1:, level + 1] = np.nan
        return V[:, None]

    def variances(self) -> ndarray:
        return np.concatenate([np.zeros((self.K, 1)), self._inverse - 1 / self.n], axis=1)[:, None]

    def score_variance(self, values: ndarray) -> ndarray:
        X, _ = self._counts(values)
        m = X.sum(axis=1)
        if is_sparse(X):  # sum of (x - m theta)^2/(n theta) over the cells that are not 0, of x^2, x and 1 apart
            zero = (self.cells == 0).T.astype(float)
            squares = X.multiply(X).tocsr() @ np.nan_to_num(self._inverse, nan=0.0).T
            never = X @ zero
            out = squares - (2 * m[:, None] * (m[:, None] - never) - m[:, None] ** 2) / self.n[:, 0]
            out[never > 0] = np.nan
            return out
        out = np.empty((len(X), self.K))
        for k in range(self.K):
            # a zero cell matters to the rows that have a count in it
            zero = self.cells[k] == 0
            r = X - m[:, None] * self.theta[k]
            out[:, k] = (r * r) @ np.where(zero, 0.0, self._inverse[k])
            out[(X[:, zero] > 0).any(axis=1), k] = np.nan
        return out

    def influence(self, values: Any, y: ndarray) -> ndarray:
        X, seen = self._counts(written_out(values))
        psi = np.zeros((len(X), 1, self.family.levels + 1))
        psi[:, 0, 1:] = X * (self.n * self._inverse)[y] - X.sum(axis=1)[:, None]
        psi[~seen] = 0.0
        return psi

    def zero_cells(self) -> list[ZeroCell]:
        return [ZeroCell(0, int(l), int(k)) for k, l in np.argwhere(self.cells == 0)]

    def effective(self) -> ndarray:
        return self.family.free * ratio(self.rows[:, None], self.n)

    def estimates(self) -> list[Estimates]:
        se = np.where(self.cells > 0, np.sqrt(self.theta * (1 - self.theta) / self.n), np.nan)
        return [Estimates("p", l, self.theta[:, [l]], se[:, [l]]) for l in range(self.family.levels)]

    def sample(self, rng: Generator, k: int, size: int, totals: ndarray | None = None) -> ndarray:
        """Draw counts given the row totals, which the model does not describe."""
        if totals is None:
            raise ValueError("a multinomial block is conditional on its totals: give totals=")
        return rng.multinomial(np.asarray(totals), self.theta[k], size=size).astype(float)
