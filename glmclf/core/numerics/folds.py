"""Folds for cross-validation: single observations dealt out, class by class."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

MAX_DEALT_ONE_BY_ONE = 10_000_000  # observations of a class up to which each is dealt by itself


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

    Notes
    -----
    Up to `MAX_DEALT_ONE_BY_ONE` observations of a class, a row of several and as many rows behind each other are dealt
    alike.

    Examples
    --------
    >>> import numpy as np
    >>> from glmclf.core.numerics.folds import deal
    >>> deal(np.array([[4, 0], [0, 2]]), 2, 0).sum(axis=1)
    array([[2, 1],
           [2, 1]])
    """
    generator = np.random.default_rng(seed)
    out = np.zeros((folds, *counts.shape), dtype=np.int64)
    first = 0  # the fold that gets the next observation left over
    for j in range(counts.shape[1]):
        column = counts[:, j].astype(np.int64)
        total = int(column.sum())
        sizes = np.full(folds, total // folds)
        sizes[(first + np.arange(total % folds)) % folds] += 1
        first = (first + total) % folds
        out[:, :, j] = (_one_by_one if total <= MAX_DEALT_ONE_BY_ONE else _by_numbers)(column, sizes, generator)
    return out


def _one_by_one(column: ndarray, sizes: ndarray, generator: np.random.Generator) -> ndarray:
    """Observations dealt to folds one by one, in the order of their rows, by a shuffled row of folds."""
    fold = np.repeat(np.arange(len(sizes)), sizes)
    generator.shuffle(fold)
    rows = np.repeat(np.arange(len(column)), column)
    return np.bincount(fold * len(column) + rows, minlength=len(sizes) * len(column)).reshape(len(sizes), -1)


def _by_numbers(column: ndarray, sizes: ndarray, generator: np.random.Generator) -> ndarray:
    """Observations dealt to folds by the number of each row's that a fold gets, with the same law."""
    out, left = np.empty((len(sizes), len(column)), dtype=np.int64), column
    for g, size in enumerate(sizes[:-1]):
        out[g] = generator.multivariate_hypergeometric(left, int(size), method="marginals")
        left = left - out[g]
    out[-1] = left
    return out
