"""Observations: the rows of a design with their responses, over which a log-likelihood is a sum."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy import ndarray

from glmclf.core.rows.blocks import Blocks


class Observations(NamedTuple):
    """Rows of a design with their responses, aligned.

    Attributes
    ----------
    X : Columns
    y : (n,) or (n, K) ndarray
        Response as coded: successes or fractions, classes, or counts of each class.
    trials : (n,) ndarray or None
        None stands for one a row.
    offset : (n,) or (n, q) ndarray or None
    weights : (n,) ndarray or None
        None stands for one a row.

    Examples
    --------
    >>> import numpy as np
    >>> from glmclf.core.design.dense import Dense
    >>> rows = Observations(Dense(np.eye(3)), np.array([1, 0, 1]), None, None, np.array([2.0, 1.0, 3.0]))
    >>> rows.take(np.array([0, 2])).weights.tolist()
    [2.0, 3.0]
    """

    X: Any
    y: ndarray
    trials: ndarray | None
    offset: ndarray | None
    weights: ndarray | None

    def take(self, rows: ndarray) -> Observations:
        """Some of the rows, by their places."""
        trials, offset, weights = (None if a is None else a[rows] for a in (self.trials, self.offset, self.weights))
        return Observations(self.X.subset(rows), self.y[rows], trials, offset, weights)

    def blocks(self, size: int | None = None, n_threads: int | None = None) -> Blocks:
        """The rows as blocks."""
        return Blocks(*self, size=size, n_threads=n_threads)


def linear_predictors(X: Any, B: ndarray, offset: ndarray | None) -> ndarray:
    """X B and the offset, (n,) of one equation or (n, q) of several, which share the offset or have one each."""
    eta: ndarray = X @ B
    if offset is None:
        return eta
    return eta + (offset if offset.ndim == eta.ndim else offset[:, None])
