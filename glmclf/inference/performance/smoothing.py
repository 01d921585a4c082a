"""A line through points, locally: the trend of residuals."""

from __future__ import annotations

import numpy as np
from numpy import ndarray


def local_lines(x: ndarray, y: ndarray, at: ndarray, weights: ndarray | None = None, span: float = 2 / 3) -> ndarray:
    """Values at `at` of the lines fitted by weighted least squares to the points near each of them.

    Each takes the share `span` of the points that are nearest in x, with the tricube kernel (1 - (d/h)^3)^3 of their
    distance d over the h of the farthest, times `weights`: Cleveland's lowess without its robust iterations, which
    would take the rare outcome of a 0/1 response for an outlier.

    Parameters
    ----------
    x, y : (n,) ndarray
        Finite.
    at : (m,) ndarray
    weights : (n,) ndarray, optional
        At least 0.
    span : float
        In (0, 1].

    Returns
    -------
    (m,) ndarray
        Where all near points have one x, their mean; NaN where none has a weight.

    References
    ----------
    Cleveland (1979), Robust locally weighted regression and smoothing scatterplots, JASA 74, 829-836.

    Examples
    --------
    >>> x = np.arange(6.0)
    >>> local_lines(x, 1 + 2 * x, np.array([0.5, 4.0]))
    array([2., 9.])
    """
    w = np.ones(len(x)) if weights is None else weights
    k = max(min(len(x), int(span * len(x) + 1e-10)), 1)
    return np.array([_line(x - a, y, w, k) for a in at])


def _line(d: ndarray, y: ndarray, w: ndarray, k: int) -> float:
    """Value at d = 0 of the line through the k points nearest to it."""
    distance = np.abs(d)
    h = np.partition(distance, k - 1)[k - 1]
    near = distance < h if h > 0 else distance == 0
    if not near.any():  # all of the nearest are as far
        near, h = distance == h, 0.0
    d, y, v = d[near], y[near], w[near]
    if h > 0:
        u = distance[near] / h
        kernel = 1 - u * u * u  # a product is many times faster than a power
        v = v * kernel * kernel * kernel
    total = v.sum()
    if not total > 0:
        return np.nan
    centre, level = v @ d / total, v @ y / total
    spread = v @ (d - centre) ** 2
    if spread <= 1e-12 * total * h * h:
        return float(level)
    return float(level - centre * (v @ ((d - centre) * y)) / spread)
