"""Classification tables: shares, agreement and correlation with standard errors and intervals; what is observed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy import ndarray
from scipy.special import expit

from glmclf.core.rows.summed import Summed
from glmclf.inference.hypotheses.wald import critical_value

ROUNDED_SLOPE = 1e-13  # share of a statistic's largest derivative in a cell that is rounding
COMPLEX_STEP = 1e-30  # step of a complex-step derivative, which has no cancellation


class ObservedOutcomes(NamedTuple):
    """Observed outcomes of each row, with the weights of the rows.

    Attributes
    ----------
    counts : (n, K) ndarray
        Observations of each class: 0 and 1, counts of trials, or fractions.
    weights : (n,) ndarray or None
        Frequency or sampling weights.
    frequency : bool
        Whether weights say how many equal rows each stands for.
    rowwise : bool
        Whether rows are the units of sampling (sampling weights, fractions), else single observations.
    """

    counts: ndarray
    weights: ndarray | None = None
    frequency: bool = True
    rowwise: bool = False

    @property
    def totals(self) -> ndarray:
        """Weighted counts, (n, K)."""
        return self.counts if self.weights is None else self.weights[:, None] * self.counts

    @property
    def sizes(self) -> ndarray:
        """Weighted observations of each class, (K,)."""
        return self.counts.sum(axis=0) if self.weights is None else self.weights @ self.counts

    @property
    def units(self) -> ndarray:
        """Units of sampling that hold each class, (K,)."""
        if not self.rowwise:
            return self.sizes
        times = np.ones(len(self.counts)) if self.weights is None or not self.frequency else self.weights
        return times @ (self.counts > 0)

    @property
    def powers(self) -> ndarray:
        """Weight of the square of a row's influence, rows as units: its frequency, or squared sampling weight."""
        if self.weights is None:
            return np.ones(len(self.counts))
        return self.weights if self.frequency else self.weights**2

    def one_against_rest(self, k: int) -> ObservedOutcomes:
        """Outcomes of two columns: other classes, and class k."""
        own = self.counts[:, k]
        return self._replace(counts=np.column_stack([self.counts.sum(axis=1) - own, own]))

    def of_classes(self, classes: list[int]) -> ObservedOutcomes:
        """Outcomes of some classes alone, in the order given."""
        return self._replace(counts=self.counts[:, classes])

    def times(self, weights: ndarray) -> ObservedOutcomes:
        """Outcomes of all rows with other weights."""
        return self._replace(weights=weights)

    def rows(self, rows: ndarray) -> ObservedOutcomes:
        """Outcomes of some rows."""
        return self._replace(counts=self.counts[rows], weights=None if self.weights is None else self.weights[rows])

    def covariance(self, first: ndarray, second: ndarray) -> float:
        """Covariance of two statistics, sum of the products of their influences.

        Parameters
        ----------
        first, second : (n, K) ndarray
            Change of a statistic with one more observation of each class in a row, to first order.
        """
        if not self.rowwise:
            return float((self.totals * first * second).sum())
        one, two = ((self.counts * u).sum(axis=1) for u in (first, second))
        return float(self.powers @ (one * two))

    def variance(self, influence: ndarray) -> float:
        """Variance of a statistic from its influence."""
        return self.covariance(influence, influence)


class Measure(NamedTuple):
    """An estimate with its standard error and interval; NaN where there is none."""

    estimate: float
    se: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Table(Summed):
    """A classification table of rows; + adds the tables of more rows.

    Attributes
    ----------
    cells : (K, K) ndarray
        Weighted observations by class observed (rows) and predicted (columns).
    squares : (K, K, K) ndarray or None
        Of rows as units of sampling, by class predicted: sums of c c', c the counts of a row, times what its square
        counts.
    """

    cells: ndarray
    squares: ndarray | None

    @classmethod
    def of(cls, outcomes: ObservedOutcomes, predicted: ndarray) -> Table:
        """Classification table of some rows and of the class that each row is predicted to be of."""
        K = outcomes.counts.shape[1]
        cells = np.array([np.bincount(predicted, t, minlength=K) for t in outcomes.totals.T])
        if not outcomes.rowwise:
            return cls(cells, None)
        members = (np.flatnonzero(predicted == k) for k in range(K))
        parts = ((outcomes.counts[rows], outcomes.powers[rows]) for rows in members)
        return cls(cells, np.stack([(C.T * w) @ C for C, w in parts]))

    def variance(self, G: ndarray) -> float:
        """Variance of a statistic with the derivative G (K, K) in the cells."""
        if self.squares is None:
            return float((self.cells * G**2).sum())
        return float(np.einsum("jp,pjk,kp->", G, self.squares, G))


def wilson(p: float, n: float, alpha: float) -> tuple[float, float]:
    """Wilson's score interval of a proportion p of n observations.

    References
    ----------
    Wilson (1927), JASA 22, 209-212. Brown, Cai & DasGupta (2001), Statistical Science 16, 101-133.
    """
    z2 = critical_value(alpha) ** 2
    if not n > 0:
        return np.nan, np.nan
    half = np.sqrt(z2 * (p * (1 - p) + z2 / (4 * n)) / n)
    # the lower end of p and, by symmetry, that of 1 - p, by products of the roots: exact at 0 and 1
    lower, rest = (q * q / (q + z2 / (2 * n) + half) for q in (p, 1 - p))
    return float(lower), float(1 - rest)


def on_logit_scale(estimate: float, se: float, alpha: float) -> tuple[float, float]:
    """Interval of a number in (0, 1): that of its logit, transformed; NaN at 0 and 1."""
    if not (0 < estimate < 1 and np.isfinite(se)):
        return np.nan, np.nan
    centre, half = np.log(estimate / (1 - estimate)), critical_value(alpha) * se / (estimate * (1 - estimate))
    return float(expit(centre - half)), float(expit(centre + half))


def on_fisher_scale(estimate: float, se: float, alpha: float) -> tuple[float, float]:
    """Interval of a correlation: that of Fisher's artanh, transformed; NaN at -1 and 1."""
    if not (-1 < estimate < 1 and np.isfinite(se)):
        return np.nan, np.nan
    centre, half = np.arctanh(estimate), critical_value(alpha) * se / (1 - estimate**2)
    return float(np.tanh(centre - half)), float(np.tanh(centre + half))


def symmetric(estimate: float, se: float, alpha: float) -> tuple[float, float]:
    """Interval estimate -/+ z se."""
    half = critical_value(alpha) * se
    return estimate - half, estimate + half


def gradient(statistic: Callable[[ndarray], ndarray], T: ndarray) -> ndarray:
    """Derivative (K, K) of a statistic of tables (..., K, K) in each cell, by complex steps."""
    K = len(T)
    G = np.empty((K, K))
    with np.errstate(divide="ignore", invalid="ignore"):
        for k in range(K):
            moved = np.repeat(T[None].astype(complex), K, axis=0)
            moved[np.arange(K), k, np.arange(K)] += 1j * COMPLEX_STEP
            G[k] = statistic(moved).imag / COMPLEX_STEP
    return G


# ------------------------------------------------------------------------------------------------------ statistics
def _diagonal(T: ndarray) -> ndarray:
    return np.diagonal(T, axis1=-2, axis2=-1)


def _total(T: ndarray) -> ndarray:
    return T.sum(axis=-1).sum(axis=-1)


def _others(T: ndarray) -> ndarray:
    """Tables with 0 on the diagonal: sums of these have no cancellation, so that shares of 0 and 1 are exact."""
    return T * (1.0 - np.eye(T.shape[-1]))


def _apart(T: ndarray) -> ndarray:
    """Observations neither of each class nor predicted to be of it, (..., K)."""
    other = 1.0 - np.eye(T.shape[-1])
    return np.einsum("ik,...ij,jk->...k", other, T, other)


def accuracy(T: ndarray) -> ndarray:
    """Share on the diagonal of tables (..., K, K)."""
    right = _diagonal(T).sum(axis=-1)
    return right / (right + _total(_others(T)))


def recalls(T: ndarray) -> ndarray:
    """Share of each class that is predicted to be of it (sensitivity), (..., K)."""
    return _diagonal(T) / (_diagonal(T) + _others(T).sum(axis=-1))


def precisions(T: ndarray) -> ndarray:
    """Share of each predicted class that is of it (positive predictive value), (..., K)."""
    return _diagonal(T) / (_diagonal(T) + _others(T).sum(axis=-2))


def specificities(T: ndarray) -> ndarray:
    """Share of the others that are not predicted to be of each class, (..., K)."""
    return _apart(T) / (_apart(T) + _others(T).sum(axis=-2))


def negative_values(T: ndarray) -> ndarray:
    """Share of those not predicted to be of each class that are not (negative predictive value), (..., K)."""
    return _apart(T) / (_apart(T) + _others(T).sum(axis=-1))


def f1(T: ndarray) -> ndarray:
    """Harmonic mean of recall and precision, 2 t_kk / (t_k. + t_.k), (..., K)."""
    wrong = _others(T).sum(axis=-1) + _others(T).sum(axis=-2)
    return 2 * _diagonal(T) / (2 * _diagonal(T) + wrong)


def balanced_accuracy(T: ndarray) -> ndarray:
    """Mean recall of the classes."""
    return recalls(T).mean(axis=-1)


def kappa(T: ndarray) -> ndarray:
    """Cohen's kappa, (p_o - p_e) / (1 - p_e), p_e the agreement of independent margins.

    References
    ----------
    Cohen (1960), Educational and Psychological Measurement 20, 37-46. Fleiss, Cohen & Everitt (1969), Psychological
    Bulletin 72, 323-327.
    """
    chance = (T.sum(axis=-1) * T.sum(axis=-2)).sum(axis=-1) / _total(T) ** 2
    return (accuracy(T) - chance) / (1 - chance)


def mcc(T: ndarray) -> ndarray:
    """Matthews' correlation of observed and predicted classes, of several classes Gorodkin's.

    (N tr T - sum_k r_k c_k) / sqrt((N^2 - sum r_k^2) (N^2 - sum c_k^2)), r and c the sums of rows and columns.

    References
    ----------
    Matthews (1975), Biochimica et Biophysica Acta 405, 442-451. Gorodkin (2004), Computational Biology and Chemistry
    28, 367-374.
    """
    r, c, n = T.sum(axis=-1), T.sum(axis=-2), _total(T)
    top = n * _diagonal(T).sum(axis=-1) - (r * c).sum(axis=-1)
    return top / (np.sqrt(n**2 - (r**2).sum(axis=-1)) * np.sqrt(n**2 - (c**2).sum(axis=-1)))


def weighted(statistic: Callable[[ndarray], ndarray]) -> Callable[[ndarray], ndarray]:
    """Mean over classes of a statistic by class, weighted by the shares of the classes observed."""
    return lambda T: (statistic(T) * T.sum(axis=-1)).sum(axis=-1) / _total(T)


def macro(statistic: Callable[[ndarray], ndarray]) -> Callable[[ndarray], ndarray]:
    """Unweighted mean over classes of a statistic by class."""
    return lambda T: statistic(T).mean(axis=-1)


def of_class(statistic: Callable[[ndarray], ndarray], k: int) -> Callable[[ndarray], ndarray]:
    """The value of a statistic by class for one class."""
    return lambda T: statistic(T)[..., k]


PROPORTIONS: dict[str, Callable[[ndarray], ndarray]] = {
    "sensitivity": recalls,
    "specificity": specificities,
    "PPV": precisions,
    "NPV": negative_values,
}


class TableMeasures:
    """Measures of one classification table.

    Parameters
    ----------
    found : Table
    alpha : float
        One minus the level of the intervals.
    """

    def __init__(self, found: Table, alpha: float):
        self.found, self.table, self.alpha = found, found.cells, alpha

    def _delta(self, statistic) -> tuple[float, float]:
        with np.errstate(divide="ignore", invalid="ignore"):
            value, G = float(statistic(self.table)), gradient(statistic, self.table)
        if not np.isfinite(value):
            return np.nan, np.nan
        G = np.where(np.isfinite(G), G, 0.0)  # of cells whose margin is empty
        largest = np.abs(G).max()  # what cells move a share of 1 that they have is rounding
        return value, float(np.sqrt(self.found.variance(np.where(np.abs(G) > ROUNDED_SLOPE * largest, G, 0.0))))

    def measure(self, statistic, interval) -> Measure:
        """A smooth function of the table by the delta method, with the interval that `interval` makes of it."""
        value, se = self._delta(statistic)
        return Measure(value, se, *interval(value, se, self.alpha))

    def proportion(self, statistic, n: float) -> Measure:
        """A proportion of n observations with Wilson's interval.

        Of rows as units n is the number of independent observations that has the delta method's standard error.
        """
        p, se = self._delta(statistic)
        if np.isnan(p):
            return Measure(np.nan, np.nan, np.nan, np.nan)
        if self.found.squares is not None:
            n = p * (1 - p) / se**2 if se > 0 else n * self._kish()
        return Measure(p, se, *wilson(p, n, self.alpha))

    def _kish(self) -> float:
        """Effective over nominal observations, (sum w)^2 / sum w^2 over sum w (Kish 1965)."""
        return float(self.table.sum() / self.found.variance(np.ones_like(self.table)))

    def by_class(self, k: int) -> dict[str, Measure]:
        """Sensitivity, specificity, PPV, NPV and F1 of a class against the others."""
        T = self.table
        own, called, n = float(T[k].sum()), float(T[:, k].sum()), float(T.sum())
        sizes = dict(zip(PROPORTIONS, (own, n - own, called, n - called), strict=True))
        found = {name: self.proportion(of_class(f, k), sizes[name]) for name, f in PROPORTIONS.items()}
        return found | {"F1": self.measure(of_class(f1, k), on_logit_scale)}

    def agreement(self) -> dict[str, Measure]:
        """Cohen's kappa, Matthews' correlation and balanced accuracy of all classes."""
        return {
            "kappa": self.measure(kappa, symmetric),
            "MCC": self.measure(mcc, on_fisher_scale),
            "balanced accuracy": self.measure(balanced_accuracy, on_logit_scale),
        }

    def accuracy(self) -> Measure:
        """The share predicted correctly."""
        return self.proportion(accuracy, float(self.table.sum()))

    def averages(self) -> dict[tuple[str, str], Measure]:
        """Plain and weighted means over the classes of what `by_class` has."""
        means = {"macro": macro, "weighted": weighted}
        return {
            (kind, name): self.measure(mean(f), on_logit_scale)
            for kind, mean in means.items()
            for name, f in {**PROPORTIONS, "F1": f1}.items()
        }
