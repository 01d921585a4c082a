"""Goodness of fit: tests by group and by covariate pattern, and coefficients that resemble R-squared."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy import ndarray
from scipy.special import chdtrc, xlogy

from glmclf.core.numerics.quantiles import at_ranks
from glmclf.core.numerics.ties import differs


class GroupTest(NamedTuple):
    """A chi-squared test of observed against expected counts.

    Attributes
    ----------
    statistic, df, pvalue : float
    observed, expected : (groups, K) ndarrays
        Counts of each class.
    """

    statistic: float
    df: int
    pvalue: float
    observed: ndarray
    expected: ndarray


def risk_groups(risk: ndarray, times: ndarray, groups: int) -> ndarray:
    """Groups of about equal size by risk, (n,) integers from 0.

    The breaks are the quantiles i/groups (R's type 7) of the risks of all observations; a group takes what is above its
    lower break up to its upper one, and equal breaks merge, so that equal risks are never parted.

    Parameters
    ----------
    risk : (n,) ndarray
        Fitted probabilities.
    times : (n,) ndarray
        How many observations each row stands for, whole numbers.
    groups : int
    """
    order = np.argsort(risk, kind="stable")
    value, count = risk[order], np.cumsum(times[order])
    first = np.r_[True, differs(value)]
    value = value[np.maximum.accumulate(np.where(first, np.arange(len(value)), 0))]
    breaks = np.unique(at_ranks(value, count, (count[-1] - 1) * np.arange(1, groups) / groups))
    group = np.empty(len(risk), dtype=np.intp)
    group[order] = np.searchsorted(breaks, value, side="left")
    return np.unique(group, return_inverse=True)[1]


def hosmer_lemeshow(
    counts: ndarray, p: ndarray, risk: ndarray, groups: int = 10, possible: ndarray | None = None
) -> GroupTest:
    """Hosmer-Lemeshow test of a binary model, and its extension to K classes.

    sum over groups and classes of (observed - expected)^2 / expected, chi-squared with (groups - 2)(K - 1) degrees of
    freedom.

    Parameters
    ----------
    counts : (n, K) ndarray
        Observations of each class.
    p : (n, K) ndarray
        Fitted probabilities.
    risk : (n,) ndarray
        What the groups are by: the probability of the event, or one minus that of the reference class.
    groups : int
        How many groups are asked for; ties may leave fewer.
    possible : (n, K) bool ndarray, optional
        Outcomes that are not ruled out; a class that is in a whole group takes a degree of freedom from it.

    Returns
    -------
    GroupTest

    Raises
    ------
    ValueError
        Fewer than three groups, or no degree of freedom: nothing is left to test.

    References
    ----------
    Hosmer & Lemeshow (1980), Communications in Statistics A9, 1043-1069. Fagerland, Hosmer & Bofin (2008), Multinomial
    goodness-of-fit tests for logistic regression models. Statistics in Medicine 27, 4238-4253.
    """
    times = counts.sum(axis=1)
    group = risk_groups(risk, times, groups) if len(risk) else np.zeros(1, dtype=np.intp)
    n_groups = int(group.max()) + 1
    if n_groups < 3:
        raise ValueError(
            f"the fitted probabilities form {n_groups} group{'s' if n_groups > 1 else ''} of {groups} asked for, as "
            "many are equal; the test needs three. Ask for more groups, or test by covariate pattern"
        )
    members = group == np.arange(n_groups)[:, None]
    observed, expected = members @ counts, members @ (times[:, None] * p)
    there = np.ones((n_groups, counts.shape[1]), dtype=bool) if possible is None else members @ possible > 0
    df = int(there.sum()) - n_groups - 2 * (int(there.any(axis=0).sum()) - 1)
    if df <= 0:
        raise ValueError(
            f"too many outcomes are ruled out in the {n_groups} groups of risk: no degree of freedom is left. Ask for "
            "more groups, or test by covariate pattern"
        )
    statistic = _chi_squared(observed, expected)
    return GroupTest(statistic, df, float(chdtrc(df, statistic)), observed, expected)


def by_pattern(counts: ndarray, p: ndarray, pattern: ndarray) -> tuple[float, float, int]:
    """Pearson's and the deviance statistic of the data with the rows of each covariate pattern added up.

    Parameters
    ----------
    counts, p : (n, K) ndarrays
        Observations of each class, and fitted probabilities, equal within a pattern.
    pattern : (n,) integer ndarray
        Numbers the patterns from 0.

    Returns
    -------
    pearson, deviance : float
        sum (o - e)^2 / e and 2 sum o log(o / e) over patterns and classes.
    patterns : int
    """
    n_patterns = int(pattern.max()) + 1
    observed = np.column_stack([np.bincount(pattern, c, n_patterns) for c in counts.T])
    first = np.zeros(n_patterns, dtype=np.intp)
    first[pattern[::-1]] = np.arange(len(pattern))[::-1]
    expected = observed.sum(axis=1)[:, None] * p[first]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(observed > 0, observed / expected, 1.0)
    return _chi_squared(observed, expected), float(2.0 * xlogy(observed, ratio).sum()), n_patterns


def _chi_squared(observed: ndarray, expected: ndarray) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = (observed - expected) ** 2 / expected
    return float(np.where(observed == expected, 0.0, terms).sum())


def from_loglikelihoods(value: float, null: float, n: float, p: int) -> dict[str, float]:
    """Pseudo-R-squared of two log-likelihoods.

    McFadden 1 - l/l0; adjusted McFadden 1 - (l - p)/l0; Cox-Snell R = 1 - exp(2 (l0 - l)/n); Nagelkerke
    R / (1 - exp(2 l0/n)).

    Parameters
    ----------
    value, null : float
        Log-likelihoods of single observations, of the model and of that without regressors.
    n : float
        Observations.
    p : int
        Parameters, all equations' and the constants' counted.

    Returns
    -------
    dict

    References
    ----------
    McFadden (1974), in Frontiers in Econometrics, 105-142. Cox & Snell (1989), The Analysis of Binary Data, 208-209.
    Nagelkerke (1991), Biometrika 78, 691-692.
    """
    cox_snell = -math.expm1(2.0 * (null - value) / n)
    return {
        "McFadden": 1.0 - value / null,
        "adjusted McFadden": 1.0 - (value - p) / null,
        "Cox-Snell": cox_snell,
        "Nagelkerke": cox_snell / -math.expm1(2.0 * null / n),
    }


def probability_sums(y: ndarray, m: ndarray, mu: ndarray, nu: ndarray, w: ndarray, mean: float) -> ndarray:
    """Sums over rows that `of_probabilities` is a function of, (7,).

    Parameters
    ----------
    y, m : (n,) ndarrays
        Successes and trials.
    mu, nu : (n,) ndarrays
        Fitted probabilities of the event and of the other class.
    w : (n,) ndarray
        Weights.
    mean : float
        Share of events among all rows.
    """
    yes, no = w * y, w * (m - y)
    residual, squares = yes @ nu**2 + no @ mu**2, (w @ (y - mu) ** 2, w @ (y - mean) ** 2)
    return np.array([yes.sum(), no.sum(), yes @ mu, no @ mu, residual, *squares])


def of_probabilities(sums: ndarray, mean: float, fractions: bool) -> dict[str, float]:
    """Pseudo-R-squared of the fitted probabilities of a binary model.

    Tjur: mean fitted probability of the events less that of the others. Efron: 1 - sum (y - mu)^2 / sum (y - mean y)^2,
    over single observations.

    Parameters
    ----------
    sums : (7,) ndarray
        Those of `probability_sums`.
    mean : float
    fractions : bool
        Whether outcomes are fractions, which have no events: Tjur's is NaN.

    Returns
    -------
    dict

    References
    ----------
    Tjur (2009), The American Statistician 63, 366-372. Efron (1978), JASA 73, 113-121.
    """
    yes, no, yes_mu, no_mu, residual, of_fractions, total = sums
    if fractions:
        return {"Tjur": math.nan, "Efron": 1.0 - float(of_fractions / total)}
    return {"Tjur": float(yes_mu / yes - no_mu / no), "Efron": 1.0 - float(residual / (yes * (1.0 - mean)))}


def class_sums(counts: ndarray, p: ndarray, rest: ndarray) -> ndarray:
    """Sums over rows that `of_class_probabilities` is a function of, (2K + 2,).

    Parameters
    ----------
    counts : (n, K) ndarray
        Observations of each class, weights and all.
    p, rest : (n, K) ndarrays
        Fitted probabilities and their complements.
    """
    squares, residual = p * p, 0.0
    for k in range(p.shape[1]):
        residual += counts[:, k] @ (rest[:, k] ** 2 + np.delete(squares, k, axis=1).sum(axis=1))
    return np.r_[residual, (counts * p).sum(), counts.sum(axis=0), counts.sum(axis=1) @ p]


def of_class_probabilities(sums: ndarray) -> dict[str, float]:
    """Tjur's and Efron's pseudo-R-squared of several classes, over single observations; with two classes as
    `of_probabilities`.

    With y_k the indicator of class k: Tjur sum_k Cov(y_k, p_k) / sum_k Var(y_k); Efron
    1 - sum_k sum (y_k - p_k)^2 / sum_k sum (y_k - mean y_k)^2.

    Parameters
    ----------
    sums : (2K + 2,) ndarray
        Those of `class_sums`.

    Returns
    -------
    dict
    """
    residual, together = sums[:2]
    counts, fitted = np.split(sums[2:], 2)
    n = counts.sum()
    share = counts / n
    spread = 1.0 - share @ share
    covariance = together / n - (fitted / n) @ share
    return {"Tjur": float(covariance / spread), "Efron": 1.0 - float(residual / (n * spread))}


class PredictorSpread(NamedTuple):
    """Weight, mean and sum of squares about the mean of linear predictors; + adds more rows.

    Attributes
    ----------
    weight, mean, squares : float
    """

    weight: float
    mean: float
    squares: float

    @classmethod
    def of(cls, eta: ndarray, times: ndarray) -> PredictorSpread:
        """Spread of the linear predictors of rows that count `times`."""
        weight = float(times.sum())
        if np.isinf(eta).any():
            return cls(weight, np.nan, np.inf)  # separated
        mean = float(times @ eta) / weight
        return cls(weight, mean, float(times @ (eta - mean) ** 2))

    def __add__(self, other: PredictorSpread) -> PredictorSpread:  # type: ignore[override]
        weight, away = self.weight + other.weight, other.mean - self.mean
        if np.isinf(self.squares) or np.isinf(other.squares):
            return PredictorSpread(weight, np.nan, np.inf)
        squares = self.squares + other.squares + away**2 * self.weight * other.weight / weight
        return PredictorSpread(weight, self.mean + away * other.weight / weight, squares)


def mckelvey_zavoina(eta: PredictorSpread, error: float) -> float:
    """Var(eta) / (Var(eta) + error): the share of a latent variable's variance that the linear predictor explains.

    Parameters
    ----------
    eta : PredictorSpread
        Of linear predictors.
    error : float
        Variance of the latent error: pi^2/3 (logit), 1 (probit), pi^2/6 (complementary log-log).

    References
    ----------
    McKelvey & Zavoina (1975), Journal of Mathematical Sociology 4, 103-120.
    """
    variance = eta.squares / eta.weight
    return 1.0 if np.isinf(variance) else variance / (variance + error)
