"""Uniformity of probability integral transforms, of discrete responses without random numbers."""

from __future__ import annotations

import numpy as np
from numpy import ndarray
from scipy.special import kolmogorov

PLACES = np.arange(1, 200) / 200  # where distribution functions are compared


def averaged_transform(low: ndarray, high: ndarray, at: ndarray = PLACES) -> ndarray:
    """Mean distribution function of numbers that are uniform between P(Y < y) and P(Y <= y), each row its own.

    The law of randomised quantile residuals, over all draws: uniform if the probabilities are right.

    Parameters
    ----------
    low, high : (n,) ndarrays
        P(Y < y) and P(Y <= y).
    at : (m,) ndarray
        Where, in (0, 1).

    Returns
    -------
    (m,) ndarray

    References
    ----------
    Czado, Gneiting & Held (2009), Predictive model assessment for count data, Biometrics 65, 1254-1261.
    """
    width = np.maximum(high - low, np.finfo(float).tiny)
    return np.array([np.clip((u - low) / width, 0.0, 1.0).mean() for u in at])


def kolmogorov_smirnov(distance: float, n: float) -> float:
    """p-value of the largest distance of an empirical distribution function from one that is known.

    References
    ----------
    Stephens (1970), Use of the Kolmogorov-Smirnov, Cramer-von Mises and related statistics without extensive tables,
    Journal of the Royal Statistical Society B 32, 115-122.
    """
    root = np.sqrt(n)
    return float(kolmogorov((root + 0.12 + 0.11 / root) * distance))
