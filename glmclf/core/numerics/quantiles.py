"""Quantiles of values that stand for several equal ones each."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

ROUNDED_SHARE_OF_SUM = 1e-13  # share of a sum of weights that is rounding


def at_ranks(values: ndarray, counts: ndarray, ranks: ndarray) -> ndarray:
    """Values at some ranks, counted from 0, by linear interpolation: quantiles of type 7 (R's) at ranks (n - 1) q.

    Parameters
    ----------
    values : (n,) ndarray
        In increasing order.
    counts : (n,) ndarray
        How many equal values there are up to each: the cumulative sum of weights.
    ranks : (m,) ndarray

    Examples
    --------
    >>> from glmclf.core.numerics.quantiles import at_ranks
    >>> at_ranks(np.array([1.0, 5.0]), np.array([3.0, 4.0]), np.array([0.0, 2.0, 2.5]))
    array([1., 1., 3.])
    """
    counts, last = counts * (1 - ROUNDED_SHARE_OF_SUM), len(values) - 1
    # the i-th value, i from 0, is the first whose cumulative count exceeds i
    places = (np.searchsorted(counts, i, side="right") for i in (np.floor(ranks), np.ceil(ranks)))
    low, high = (values[np.minimum(place, last)] for place in places)
    return low + (ranks - np.floor(ranks)) * (high - low)
