"""Vuong's test of two models of which neither contains the other."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from glmclf.inference.hypotheses.wald import z_pvalues

SAME_MODEL_SPREAD = 1e-10  # spread of the differences of log-likelihoods over theirs, below which two models are one


class Vuong(NamedTuple):
    """Statistics of Vuong's test, positive where the first model is closer to the truth.

    Attributes
    ----------
    statistic, pvalue : (3,) ndarray
        As it is, and corrected for the numbers of parameters as AIC and as BIC do; two-sided p-values.
    spread : float
        Standard deviation of the differences of log-likelihoods.
    """

    statistic: ndarray
    pvalue: ndarray
    spread: float


def vuong(first: ndarray, second: ndarray, weights: ndarray | None, parameters: tuple[float, float]) -> Vuong:
    """Vuong's z = sum of m_i / (sqrt(n) s), m_i = log f_i - log g_i, s^2 their variance with divisor n.

    Parameters
    ----------
    first, second : (n,) ndarray
        Log-likelihood of each row under the two models.
    weights : (n,) ndarray, optional
        How many observations each row stands for.
    parameters : (p, q)
        How many parameters they have: the sum loses p - q (AIC), or (p - q) log(n) / 2 (BIC).

    Returns
    -------
    Vuong

    Raises
    ------
    ValueError
        The models give every row the same likelihood.

    References
    ----------
    Vuong (1989), Likelihood ratio tests for model selection and non-nested hypotheses. Econometrica 57, 307-333,
    equations 4.2, 5.6 to 5.9.

    Examples
    --------
    >>> import numpy as np
    >>> from glmclf.inference.specification.vuong import vuong
    >>> vuong(np.array([-1.0, -2.0, -1.0]), np.array([-2.0, -2.0, -2.0]), None, (2, 2)).statistic.round(4)
    array([2.4495, 2.4495, 2.4495])
    """
    m = first - second
    w = np.ones(len(m)) if weights is None else weights
    n, total = float(w.sum()), float(w @ m)
    spread = math.sqrt(float(w @ (m - total / n) ** 2) / n)
    if spread <= SAME_MODEL_SPREAD * max(float(np.abs(first).max()), float(np.abs(second).max())):
        raise ValueError("the two models give all rows the same likelihood: there is nothing to compare")
    less = parameters[0] - parameters[1]
    z = (total - less * np.array([0.0, 1.0, 0.5 * math.log(n)])) / (math.sqrt(n) * spread)
    return Vuong(z, z_pvalues(z), spread)
