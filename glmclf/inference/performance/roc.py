"""Receiver operating characteristic: curves, areas with DeLong's covariance, cut-points, several classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from glmclf.core.numerics.ties import TIED, differs
from glmclf.core.rows.summed import Summed
from glmclf.inference.performance.accuracy import ObservedOutcomes


class Ranks(NamedTuple):
    """Rows by score, from the highest, ties together.

    Attributes
    ----------
    group : (n,) integer ndarray
        Place of each row's score among the distinct ones.
    first : (g,) integer ndarray
        A row of each.
    yes, no : (g,) ndarrays
        Weighted events and other observations that have it.
    """

    group: ndarray
    first: ndarray
    yes: ndarray
    no: ndarray

    @property
    def above(self) -> tuple[ndarray, ndarray]:
        """Events and others with a score at or above each distinct score, beginning with 0, (g + 1,) each."""
        return np.r_[0.0, np.cumsum(self.yes)], np.r_[0.0, np.cumsum(self.no)]


class Area(NamedTuple):
    """An area under the curve.

    Attributes
    ----------
    auc : float
    influence : (n, 2) ndarray
        Of another observation (column 0) and an event (column 1) in each row, scaled so that the sum of squares is
        DeLong's variance.
    """

    auc: float
    influence: ndarray


class AreaComparison(NamedTuple):
    """DeLong's test that two areas are equal."""

    difference: float
    se: float
    statistic: float
    pvalue: float
    correlation: float


def ranks(score: ndarray, outcomes: ObservedOutcomes) -> Ranks:
    """Sort rows by score; infinite scores may be among them. O(n log n)."""
    order = np.argsort(-score, kind="stable")
    s, totals = score[order], outcomes.totals[order]
    start = np.r_[True, _other(s)]
    place = np.cumsum(start) - 1
    group = np.empty(len(s), dtype=np.intp)
    group[order] = place
    no, yes = (np.bincount(place, t) for t in totals.T)
    return Ranks(group, order[start], yes, no)


def area(found: Ranks, outcomes: ObservedOutcomes) -> Area:
    """P(score of an event > that of another) + P(equal)/2, with its structural components.

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44, 837-845. Sun & Xu (2014), IEEE Signal Processing Letters 21,
    1389-1393.
    """
    n0, n1 = outcomes.sizes
    yes, no = found.above
    of_yes = _exact((n0 - no[1:] + found.no / 2) / n0, outcomes)  # share of the others below each score
    of_no = _exact((yes[1:] - found.yes / 2) / n1, outcomes)  # share of the events above
    auc = float(_exact(found.yes @ of_yes / n1, outcomes))
    with np.errstate(divide="ignore", invalid="ignore"):
        free = outcomes.units / (outcomes.units - 1)
        columns = [(of_no - auc) / n0, (of_yes - auc) / n1]
        influence = np.column_stack([np.sqrt(f) * c[found.group] for f, c in zip(free, columns, strict=True)])
    influence[:, outcomes.units <= 1] = np.nan
    return Area(auc, influence)


def _exact(shares: ndarray, outcomes: ObservedOutcomes) -> ndarray:
    """Shares of sums of weights, 0 and 1 where they differ from these by rounding."""
    rounding = 4 * np.finfo(float).eps * len(outcomes.counts)
    return np.where(shares >= 1 - rounding, 1.0, np.where(shares <= rounding, 0.0, shares))


def descending(score: ndarray) -> tuple[ndarray, ndarray]:
    """Order of the rows by score, from the highest, and the scores in it."""
    order = np.argsort(-score)
    return order, score[order]


def sorted_area(score: ndarray, no: ndarray, yes: ndarray) -> float:
    """Area under the curve, without its components, of weighted observations in descending order of their scores."""
    start = np.flatnonzero(np.r_[True, _other(score)])
    if len(start) < len(score):
        no, yes = np.add.reduceat(no, start), np.add.reduceat(yes, start)
    above = np.cumsum(no)
    return float(yes @ (above[-1] - above + no / 2) / (above[-1] * yes.sum()))


def _other(s: ndarray) -> ndarray:
    """Mask of the descending scores that are not the score before, nor differ from it by rounding alone."""
    return differs(s, TIED)


def standard_error(found: Area, outcomes: ObservedOutcomes) -> float:
    """DeLong's standard error; NaN with one event, or one other observation."""
    return float(np.sqrt(outcomes.variance(found.influence)))


def compare(first: Area, second: Area, outcomes: ObservedOutcomes) -> AreaComparison:
    """Test of equal areas of two scores of the same rows."""
    from scipy.special import ndtr

    difference = first.auc - second.auc
    V = outcomes.covariance(first.influence, second.influence)
    own = [outcomes.variance(a.influence) for a in (first, second)]
    variance = outcomes.variance(first.influence - second.influence)
    se = float(np.sqrt(variance))
    correlation = V / np.sqrt(own[0] * own[1]) if min(own) > 0 else np.nan
    if difference == 0 and se <= 1e-12:  # the same ranking
        return AreaComparison(0.0, se, 0.0, 1.0, float(correlation))
    z = difference / se if se > 0 else np.nan
    return AreaComparison(difference, se, float(z), float(2 * ndtr(-abs(z))), float(correlation))


def partial_area(fpr: ndarray, tpr: ndarray, low: float, high: float) -> tuple[float, float]:
    """Area under the curve between two values of the abscissa, and McClish's standardised one.

    (1 + (A - m)/(M - m))/2, m the area under the diagonal and M = high - low: 1/2 is no better than chance.

    References
    ----------
    McClish (1989), Medical Decision Making 9, 190-195.
    """
    inside = (fpr > low) & (fpr < high)
    x = np.r_[low, fpr[inside], high]
    y = np.r_[_height(fpr, tpr, low, "right"), tpr[inside], _height(fpr, tpr, high, "left")]
    found = float(((x[1:] - x[:-1]) * (y[1:] + y[:-1]) / 2).sum())
    least, most = (high**2 - low**2) / 2, high - low
    return found, (1 + (found - least) / (most - least)) / 2


def _height(fpr: ndarray, tpr: ndarray, x: float, side) -> float:
    """Ordinate at an abscissa; on a vertical part its upper or lower end."""
    at = np.flatnonzero(fpr == x)
    if len(at):
        return float(tpr[at[-1] if side == "right" else at[0]])
    j = int(np.searchsorted(fpr, x))
    share = (x - fpr[j - 1]) / (fpr[j] - fpr[j - 1])
    return float(tpr[j - 1] + share * (tpr[j] - tpr[j - 1]))


def best_cut(fpr: ndarray, tpr: ndarray, rule: str, cost: float, prevalence: float) -> int:
    """Place on the curve of the best cut-point; the first one of equals, from the strictest.

    "youden": largest tpr - fpr; "closest": least (1 - tpr)^2 + fpr^2; "cost": least expected cost
    prevalence cost (1 - tpr) + (1 - prevalence) fpr, where a missed event costs `cost` false alarms.

    References
    ----------
    Youden (1950), Cancer 3, 32-35. Perkins & Schisterman (2006), American Journal of Epidemiology 163, 670-675.
    """
    if rule == "youden":
        loss = fpr - tpr
    elif rule == "closest":
        loss = (1 - tpr) ** 2 + fpr**2
    else:
        loss = prevalence * cost * (1 - tpr) + (1 - prevalence) * fpr
    return int(np.flatnonzero(loss <= loss.min() + 1e-13)[0])


# -------------------------------------------------------------------------------------------------- several classes
class Pairs(NamedTuple):
    """Hand and Till's M.

    Attributes
    ----------
    auc, se : float
        The mean over pairs of classes, and its standard error from the structural components of all areas, the
        infinitesimal jackknife.
    pairs : (K, K) ndarray
        A(i|j): how well the probability of class i tells its members from those of class j.
    """

    auc: float
    se: float
    pairs: ndarray


def hand_till(scores: ndarray, outcomes: ObservedOutcomes) -> Pairs:
    """M = mean over pairs i < j of (A(i|j) + A(j|i))/2.

    Parameters
    ----------
    scores : (n, K) ndarray
        Log odds of each class.
    outcomes : ObservedOutcomes

    References
    ----------
    Hand & Till (2001), Machine Learning 45, 171-186.
    """
    n, K = scores.shape
    A, total = np.full((K, K), np.nan), np.zeros((n, K))
    for i in range(K):
        for j in range(K):
            if i == j:
                continue
            rows = np.flatnonzero(outcomes.counts[:, [i, j]].any(axis=1))
            part = outcomes.of_classes([j, i]).rows(rows)
            found = area(ranks(scores[rows, i], part), part)
            A[i, j] = found.auc
            total[np.ix_(rows, np.array([j, i]))] += found.influence
    pairs = K * (K - 1)
    return Pairs(float(np.nansum(A) / pairs), float(np.sqrt(outcomes.variance(total / pairs))), A)


def hand_till_area(by_class: list[tuple[ndarray, ndarray]], totals: ndarray) -> float:
    """Hand and Till's M, without its standard error.

    Parameters
    ----------
    by_class : list of (order, score)
        `descending` of each class's log odds.
    totals : (n, K) ndarray
        Weighted observations.
    """
    areas, sizes = [], totals.sum(axis=0)
    for i, (order, score) in enumerate(by_class):
        columns = np.ascontiguousarray(totals.take(order, axis=0).T)
        start = np.flatnonzero(np.r_[True, _other(score)])
        if len(start) < len(score):
            columns = np.add.reduceat(columns, start, axis=1)
        own, above = np.flatnonzero(columns[i]), np.cumsum(columns, axis=1)
        below = sizes[:, None] - above[:, own] + columns[:, own] / 2
        areas.append(np.delete(below @ columns[i, own] / (sizes[i] * sizes), i))
    return float(np.mean(areas))


# ------------------------------------------------------------------------------------------------- other curves
def average_precision(found: Ranks) -> float:
    """Average precision, the sum over distinct scores of (change of recall) times precision."""
    yes, no = found.above
    return float((found.yes / yes[-1]) @ (yes[1:] / (yes[1:] + no[1:])))


@dataclass(frozen=True)
class ThresholdCounts(Summed):
    """Sums of the rows whose probability is above each of T thresholds, and of all rows; + adds more rows.

    Attributes
    ----------
    no, yes : (T,) ndarray
        Weighted observations of other classes and of the event.
    products : (5, T) ndarray or None
        Of rows as units: of the event's counts squared, times the others, the others squared, and both times all, times
        what the square of a row counts.
    sizes : (2,) ndarray
        Weighted observations of all rows.
    squares : float
        Sum of the squares of what all rows count.
    """

    no: ndarray
    yes: ndarray
    products: ndarray | None
    sizes: ndarray
    squares: float

    @classmethod
    def of(cls, p: ndarray, outcomes: ObservedOutcomes, thresholds: ndarray) -> ThresholdCounts:
        """Threshold counts of rows with probabilities p."""
        order = np.argsort(thresholds, kind="stable")
        rank, place = np.argsort(order), np.searchsorted(thresholds[order], p, side="left")

        def above(values: ndarray) -> ndarray:
            sums = np.bincount(place, values, len(thresholds) + 1)[:0:-1].cumsum()[::-1]
            return sums[rank]

        no, yes = map(above, outcomes.totals.T)
        if not outcomes.rowwise:
            return cls(no, yes, None, outcomes.sizes, 0.0)
        (n, y), t = outcomes.counts.T, outcomes.powers
        m = n + y
        products = np.stack([above(t * a * b) for a, b in ((y, y), (y, n), (n, n), (y, m), (n, m))])
        return cls(no, yes, products, outcomes.sizes, float(t @ m**2))


def net_benefit(counts: ThresholdCounts, thresholds: ndarray) -> tuple[ndarray, ndarray]:
    """TP/n - FP/n t/(1-t) of deciding for the event above each threshold t, and standard errors.

    References
    ----------
    Vickers & Elkin (2006), Medical Decision Making 26, 565-574.
    """
    n, w = counts.sizes.sum(), thresholds / (1 - thresholds)
    value = (counts.yes - w * counts.no) / n
    if counts.products is None:
        return value, np.sqrt((counts.yes + w**2 * counts.no) / n**2 - value**2 / n)
    yy, yn, nn, ym, nm = counts.products
    squares = yy - 2 * w * yn + w**2 * nn - 2 * value * (ym - w * nm) + value**2 * counts.squares
    return value, np.sqrt(np.maximum(squares, 0.0)) / n
