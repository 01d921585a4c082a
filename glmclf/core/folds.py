"""Folds for cross-validation: single observations dealt out, class by class."""

from __future__ import annotations

import numpy as np
from numpy import ndarray


def deal(counts: ndarray, folds: int, seed) -> ndarray:
    """Observations dealt to folds at random, so that every fold has its share of each class.

    Parameters
    ----------
    counts : (n, K) integer ndarray
        Observations of each class in each row.
    folds : int
        How many, 2 or more.
    seed : int, SeedSequence or Generator, optional

    Returns
    -------
    (folds, n, K) integer ndarray
        The observations of each fold. Sizes of the folds, and of a class within them, differ by one at most.

    Examples
    --------
    >>> import numpy as np
    >>> from glmclf.core.folds import deal
    >>> deal(np.array([[4, 0], [0, 2]]), 2, 0).sum(axis=1)
    array([[2, 1],
           [2, 1]])
    """
    generator = np.random.default_rng(seed)
    out = np.zeros((folds, *counts.shape), dtype=np.int64)
    first = 0  # the fold that gets the next observation left over
    for j in range(counts.shape[1]):
        left = counts[:, j].astype(np.int64)
        total = int(left.sum())
        sizes = np.full(folds, total // folds)
        sizes[(first + np.arange(total % folds)) % folds] += 1
        first = (first + total) % folds
        for g in range(folds - 1):
            out[g, :, j] = generator.multivariate_hypergeometric(left, int(sizes[g]), method="marginals")
            left = left - out[g, :, j]
        out[-1, :, j] = left
    return out
