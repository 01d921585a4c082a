"""Results of tests, and the tails of the distributions that they refer to."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtrc, fdtrc

INFINITE_DF = 1e12  # denominator degrees of freedom beyond which F is chi-squared over its degrees of freedom


class ChiSquareTest(NamedTuple):
    """A chi-squared statistic, its p-value and its degrees of freedom."""

    statistic: float
    pvalue: float
    df: float


class LRTest(ChiSquareTest):
    """A likelihood-ratio test: the statistic, its p-value and its degrees of freedom."""

    __slots__ = ()


class WaldTest(ChiSquareTest):
    """A joint Wald test: the chi-squared (or F) statistic, its p-value and its (numerator) degrees of freedom."""

    __slots__ = ()


class ScoreTest(ChiSquareTest):
    """A score test: the chi-squared statistic, its p-value and its degrees of freedom."""

    __slots__ = ()


class ScoreBootstrapTest(NamedTuple):
    """A score bootstrap test: statistic, p-value, restrictions, clusters, draws, and the seed that repeats them (None
    where all signs were taken)."""

    statistic: float
    pvalue: float
    df: int
    clusters: int
    reps: int
    seed: int | None


class FTest(NamedTuple):
    """A statistic, its F form, degrees of freedom and p-value (NaN where the approximation does not exist)."""

    statistic: float
    F: float
    df1: float
    df2: float
    pvalue: float


def chi_square_test(statistic: float, df: float) -> ChiSquareTest:
    """The test of a statistic that is chi-squared, at least 0 up to rounding."""
    return ChiSquareTest(float(statistic), float(chdtrc(df, max(statistic, 0.0))), df)


def f_test(statistic: float, F: float, df1: float, df2: float) -> FTest:
    """The test of a statistic by its F form; NaN without denominator degrees of freedom."""
    if not df2 > 0:
        return FTest(float(statistic), np.nan, df1, df2, np.nan)
    return FTest(float(statistic), float(F), df1, df2, float(f_tail(F, df1, df2)))


def f_tail(F: Any, df1: float, df2: Any) -> Any:
    """Upper tail probabilities P(F(df1, df2) > F), of one that is below 0 by rounding 1, also for infinite df2.

    Examples
    --------
    >>> from glmclf.inference.hypotheses.records import f_tail
    >>> round(float(f_tail(3.0, 2, 10)), 4), round(float(f_tail(3.0, 2, float("inf"))), 4)
    (0.0954, 0.0498)
    """
    F = np.maximum(F, 0.0)
    if np.ndim(df2) == 0 and df2 > INFINITE_DF:
        return chdtrc(df1, df1 * F)
    return fdtrc(df1, df2, F)
