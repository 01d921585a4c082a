"""Rubin's rules: one inference from the estimates of several completed data sets."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from glmclf.inference.hypotheses import wald
from glmclf.inference.hypotheses.records import f_tail


class Pooled(NamedTuple):
    """Estimates pooled over m data sets, each (p,) or of one combination of parameters.

    Attributes
    ----------
    estimate : ndarray
        Mean of the estimates.
    within, between : ndarray
        Mean of the variances, and variance of the estimates with divisor m - 1.
    total : ndarray
        within + (1 + 1/m) between.
    df : ndarray
        Barnard and Rubin's degrees of freedom.
    riv : ndarray
        Relative increase in variance due to nonresponse, (1 + 1/m) between / within.
    share : ndarray
        (1 + 1/m) between / total: lambda in R's mice.
    fmi : ndarray
        Fraction of missing information, (riv + 2/(df + 3)) / (riv + 1).
    """

    estimate: ndarray
    within: ndarray
    between: ndarray
    total: ndarray
    df: ndarray
    riv: ndarray
    share: ndarray
    fmi: ndarray


def pooled(estimates: ndarray, variances: ndarray, df: float) -> Pooled:
    """Rubin's rules for scalars.

    Parameters
    ----------
    estimates, variances : (m, p) ndarrays
        Of each data set.
    df : float
        Degrees of freedom if the data were complete; inf for the normal distribution.

    Returns
    -------
    Pooled
        Where nothing is missing (between = 0) df is that of complete data, (df + 1) / (df + 3) df.

    References
    ----------
    Rubin (1987), Multiple Imputation for Nonresponse in Surveys, section 3.3. Barnard & Rubin (1999), Biometrika 86,
    948-955.

    Examples
    --------
    >>> import numpy as np
    >>> from glmclf.inference.hypotheses.pooling import pooled
    >>> p = pooled(np.array([[1.0], [2.0], [3.0]]), np.full((3, 1), 1.0), np.inf)
    >>> float(p.estimate[0]), round(float(p.total[0]), 4), round(float(p.df[0]), 4)
    (2.0, 2.3333, 6.125)
    """
    m = len(estimates)
    within, between = variances.mean(axis=0), estimates.var(axis=0, ddof=1)
    # estimates that differ by rounding alone do not differ
    between = np.where(between <= (1e-14 * np.abs(estimates).max(axis=0)) ** 2, 0.0, between)
    added = (1.0 + 1.0 / m) * between
    total = within + added
    with np.errstate(divide="ignore", invalid="ignore"):
        riv, share = added / within, added / total
        observed = 1.0 - share if np.isinf(df) else (df + 1.0) / (df + 3.0) * df * (1.0 - share)
        if np.isinf(df):
            degrees = (m - 1) / share**2
        else:
            degrees = 1.0 / (share**2 / (m - 1) + 1.0 / observed)
        fmi = (riv + 2.0 / (degrees + 3.0)) / (riv + 1.0)
    return Pooled(estimates.mean(axis=0), within, between, total, degrees, riv, share, fmi)


class PooledWald(NamedTuple):
    """A joint test of pooled estimates.

    Attributes
    ----------
    statistic : float
        F.
    pvalue : float
    df : int
        Numerator degrees of freedom.
    df_denom : float
    riv : float
        Average relative increase in variance.
    """

    statistic: float
    pvalue: float
    df: int
    df_denom: float
    riv: float


def joint_test(distances: ndarray, covariances: ndarray, df: float = math.inf) -> PooledWald:
    """Test D1 of Li, Raghunathan and Rubin, which takes the share of missing information to be the same throughout.

    D1 = d' U^-1 d / (k (1 + r)), d the mean of the distances from the hypothesis, U that of their covariances,
    r = (1 + 1/m) tr(B U^-1) / k; F with k and `denominator_df` degrees of freedom.

    Parameters
    ----------
    distances : (m, k) ndarray
    covariances : (m, k, k) ndarray
    df : float
        Degrees of freedom if the data were complete.

    Returns
    -------
    PooledWald

    Raises
    ------
    ValueError
        The mean covariance is singular.

    References
    ----------
    Li, Raghunathan & Rubin (1991), JASA 86, 1065-1073.
    """
    m, k = distances.shape
    d, U = distances.mean(axis=0), covariances.mean(axis=0)
    B = np.atleast_2d(np.cov(distances, rowvar=False))
    form = wald.quadratic_form(d, U)
    scale = np.sqrt(np.diagonal(U))
    r = (1.0 + 1.0 / m) * float(np.trace(np.linalg.solve(U / np.outer(scale, scale), B / np.outer(scale, scale)))) / k
    statistic, denominator = form / (k * (1.0 + r)), denominator_df(r, k, m, df)
    return PooledWald(statistic, float(f_tail(statistic, k, denominator)), k, denominator, r)


def denominator_df(r: float, k: int, m: int, df: float) -> float:
    """Degrees of freedom of the denominator of D1.

    Reiter's where they are defined, t = k (m - 1) > 4 and n > 4 (1 + a), n = df (df + 1)/(df + 3) those of complete
    data and a = r t/(t - 2). Elsewhere, as Barnard and Rubin join theirs, those of infinitely many complete data and
    n/(1 + r) by 1/(1/v + (1 + r)/n): exactly theirs for k = 1, and n where nothing is missing.

    Parameters
    ----------
    r : float
        Average relative increase in variance.
    k, m : int
        Size of the hypothesis, data sets.
    df : float
        Degrees of freedom if the data were complete, or inf.

    Returns
    -------
    float

    References
    ----------
    Reiter (2007), Biometrika 94, 502-508. Barnard & Rubin (1999), Biometrika 86, 948-955.
    """
    t = k * (m - 1)
    many = _of_infinite_data(r, k, t)
    if math.isinf(df):
        return many
    n = (df + 1.0) / (df + 3.0) * df
    if n <= 0:
        return 0.0
    if r <= 0:
        return n
    a = r * t / (t - 2.0) if t > 4 else math.inf
    if k == 1 or n <= 4.0 * (1.0 + a):
        return 1.0 / (1.0 / many + (1.0 + r) / n)
    two, four = n - 2.0 * (1.0 + a), n - 4.0 * (1.0 + a)
    added = a**2 * two / ((1.0 + a) ** 2 * four) + 8.0 * a**2 * two / ((1.0 + a) * four**2)
    added += 4.0 * a**2 / ((1.0 + a) * four) + 4.0 * a**2 / (four * two)
    added += 16.0 * a**2 * two / four**3 + 8.0 * a**2 / four**2
    return 4.0 + 1.0 / (1.0 / four + added / (t - 4.0))


def _of_infinite_data(r: float, k: int, t: int) -> float:
    """Li, Raghunathan and Rubin's degrees of freedom; Rubin's (1987, section 3.3) where t <= 4 or k = 1."""
    if r <= 0:
        return math.inf
    if t > 4 and k > 1:
        return 4.0 + (t - 4.0) * (1.0 + (1.0 - 2.0 / t) / r) ** 2
    return 0.5 * t * (1.0 + 1.0 / k) * (1.0 + 1.0 / r) ** 2
