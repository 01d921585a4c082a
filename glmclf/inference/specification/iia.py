"""Tests of the independence of irrelevant alternatives."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy import ndarray
from scipy.special import chdtrc

from glmclf.core.numerics import seeds

IIA_TESTS = ("hausman-mcfadden", "small-hsiao")
ROUNDED_EIGENVALUE = 1e-9  # eigenvalue of the scaled difference of covariances, below which it is rounding


class IIATest(NamedTuple):
    """A test of the independence of irrelevant alternatives: statistic, degrees of freedom, p-value and notes."""

    statistic: float
    df: int
    pvalue: float
    note: str = ""


def hausman(theta: ndarray, V: ndarray, restricted: ndarray, V_restricted: ndarray) -> IIATest:
    """Hausman-McFadden test of whether the estimates without one alternative differ from those with it.

    d' (V_r - V)^- d, d = b_r - b: b uses all rows and is efficient if the alternatives are independent, b_r uses only
    the rows that chose another alternative and is consistent in any case. The inverse is taken in the directions in
    which the difference of covariances is not rounding; there are as many degrees of freedom.

    Parameters
    ----------
    theta, V : (p,), (p, p) ndarrays
        Common coefficients of the fit to all rows, and their covariance (inverse information).
    restricted, V_restricted : (p,), (p, p) ndarrays
        The same of the fit without one alternative.

    Returns
    -------
    IIATest
        In finite samples V_r - V need not be positive definite and the statistic may be negative: then its p-value is
        NaN.

    References
    ----------
    Hausman & McFadden (1984), Specification tests for the multinomial logit model. Econometrica 52, 1219-1240.
    """
    scale = np.sqrt(np.diagonal(V_restricted))
    values, vectors = np.linalg.eigh((V_restricted - V) / np.outer(scale, scale))
    used = np.abs(values) > ROUNDED_EIGENVALUE
    z = vectors.T @ ((restricted - theta) / scale)
    statistic, df = float((z[used] ** 2 / values[used]).sum()), int(used.sum())
    if df == 0:
        return IIATest(math.nan, 0, math.nan, "the two covariances are equal")
    if statistic < 0:
        note = "negative statistic: the difference of covariances is not positive definite; no evidence against IIA"
        return IIATest(statistic, df, math.nan, note)
    note = "the difference of covariances is not positive definite" if (values[used] < 0).any() else ""
    return IIATest(statistic, df, float(chdtrc(df, statistic)), note)


def small_hsiao(value_average: float, value_restricted: float, df: int) -> IIATest:
    """Likelihood ratio test on a half of the data without one alternative.

    -2 (l(b*) - l(b_r)): b_r maximises the log-likelihood of the second half's rows that chose another alternative; b* =
    b_1/sqrt(2) + (1 - 1/sqrt(2)) b_2 is the weighted average of the estimates of all alternatives on the two halves.

    References
    ----------
    Small & Hsiao (1985), Multinomial logit specification tests. International Economic Review 26, 619-627.
    """
    statistic = max(2.0 * (value_restricted - value_average), 0.0)
    return IIATest(statistic, df, float(chdtrc(df, statistic)))


def halves(counts: ndarray, seed) -> tuple[ndarray, ndarray]:
    """Counts of a random half of the observations, and of the other half.

    Parameters
    ----------
    counts : (n, K) ndarray
        Whole numbers.
    seed : int, SeedSequence or Generator

    Returns
    -------
    (n, K) float64 ndarrays
    """
    cells = counts.ravel().astype(np.int64)
    generator = seeds.generator(seed)
    half = generator.multivariate_hypergeometric(cells, int(cells.sum()) // 2, method="marginals")
    first = half.reshape(counts.shape).astype(float)
    return first, counts - first
