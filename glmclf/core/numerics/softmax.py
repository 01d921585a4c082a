"""Probabilities proportional to exponentials, and their logarithms, without loss of digits near 0 and 1.

An array is (n, K), a row each observation, for `softmax` and `log_softmax`; the functions in place take (K, n), a row
each class, so that what they run over is long.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

SOFTMAX_ROWS = 8_192  # rows that are handled at a time, so that they stay in the cache


def log_softmax(scores: ndarray) -> ndarray:
    """Logs of probabilities proportional to exp(scores), by rows of an (n, K) array; by column in memory.

    Precise where a probability is 1 to rounding, too.
    """
    log_p = np.array(scores.T, dtype=float, order="C")
    for start in range(0, log_p.shape[1], SOFTMAX_ROWS):
        to_log_softmax(log_p[:, start : start + SOFTMAX_ROWS])
    return log_p.T


def softmax(scores: ndarray, overwrite: bool = False) -> ndarray:
    """Probabilities proportional to exp(scores), by rows of an (n, K) array; by column in memory, perhaps in place."""
    p = (np.asarray if overwrite else np.array)(scores.T, dtype=float, order="C")
    for start in range(0, p.shape[1], SOFTMAX_ROWS):
        to_softmax(p[:, start : start + SOFTMAX_ROWS])
    return p.T


def complements(scores: ndarray) -> ndarray:
    """Complements 1 - p of probabilities proportional to exp(scores), by rows of an (n, K) array, also of p near 1."""
    e = np.exp(scores.T - scores.max(axis=1))
    return (sums_of_others(e) / e.sum(axis=0)).T


def to_log_softmax(scores: ndarray) -> None:
    """Log softmax of the columns of scores (K, n), in place."""
    first = scores.argmax(axis=0)[None]
    scores -= np.take_along_axis(scores, first, axis=0)
    others = np.exp(scores)
    np.put_along_axis(others, first, 0.0, axis=0)  # exp(0) = 1 would swallow the digits of small ones
    scores -= np.log1p(others.sum(axis=0))


def to_softmax(scores: ndarray) -> None:
    """Softmax of the columns of scores (K, n), in place."""
    scores -= scores.max(axis=0)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=0)


def softmax_and_complements(z: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """Values log p, p and 1 - p of the columns of z (K, n), which is overwritten: exact for z of any size.

    The exponential of the largest is 1; what the others add is kept apart from it, so that neither log p nor 1 - p
    of a nearly certain class is formed as a difference from one. The class of the one infinite z is certain; of two the
    probabilities are NaN.
    """
    largest = z.max(axis=0)
    if (at := np.flatnonzero(np.isposinf(largest))).size:
        infinite = np.isposinf(z[:, at])
        z[:, at] = np.where(infinite, 0.0, -np.inf)
        z[:, at[infinite.sum(axis=0) > 1]] = np.nan
        largest[at] = 0.0
    z -= largest
    e = np.exp(z)
    others = sums_of_others(e)
    rest = np.where(z == 0.0, others, 0.0).max(axis=0)
    total = 1.0 + rest
    e /= total
    others /= total
    z -= np.log1p(rest)
    return z, e, others


def sums_of_others(e: ndarray) -> ndarray:
    """Sums over all other classes for each class, (K, n), without a difference."""
    out = np.zeros_like(e)
    for j in range(1, len(e)):
        np.add(out[j - 1], e[j - 1], out=out[j])
    after = e[-1].copy()
    for j in range(len(e) - 2, -1, -1):
        out[j] += after
        after += e[j]
    return out
