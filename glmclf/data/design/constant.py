"""Constants among the columns of a design, or in their span."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.design.arrow import ArrowColumns
from glmclf.core.design.dense import Dense
from glmclf.core.design.sparse import Sparse
from glmclf.data.design.arrays import Dropped, is_sparse
from glmclf.errors import DataError

MAX_GRAM_COLUMNS = 2000  # sparse columns up to which their gram is formed in a moment
MAX_ITERATIONS = 1000  # products with sparse columns in the search for a constant in their span


def leave_out_constant(X: ndarray, names: list[str]) -> tuple[ndarray, list[str], Dropped | None]:
    """X and its names less the first column that holds one number other than zero throughout.

    A model of the features' distribution has its own constant; any other column that does not vary stays, for the
    estimation to refuse.

    Examples
    --------
    >>> X, names, dropped = leave_out_constant(np.array([[1.0, 3.0], [1.0, 4.0]]), ["const", "x1"])
    >>> X.tolist(), names, dropped
    ([[3.0], [4.0]], ['x1'], Dropped(name='const', place=0, value=1.0))
    """
    places = constant_columns(X)
    if not places:
        return X, names, None
    j = places[0]
    if X.shape[1] == 1:
        raise DataError(f'exog has no features: its only column, "{names[j]}", is constant.')
    rest = X[:, 1:] if j == 0 else X[:, :-1] if j == X.shape[1] - 1 else np.delete(X, j, axis=1)
    return rest, names[:j] + names[j + 1 :], Dropped(names[j], j, float(X[0, j]))


def constant_columns(X: Any) -> list[int]:
    """Columns that hold one value other than zero throughout."""
    if not X.shape[0]:
        return []
    if is_sparse(X):
        full = np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0])
        return [int(full[j]) for j in constant_columns(X[:, full].toarray())] if len(full) else []
    likely = np.flatnonzero((X[:100] == X[0]).all(axis=0) & (X[0] != 0))
    return [int(j) for j in likely if (X[:, j] == X[0, j]).all()]


def constant(X: Any) -> int:
    """Number of constants, 1 where one is among the columns of X, an array, scipy.sparse array or Columns, or in
    their span; else 0.

    A constant outside the span of some rows is outside the span of all: only a design that passes on some rows is
    looked at whole.
    """
    n, k = X.shape
    if isinstance(X, ArrowColumns) and X.constant is not None:
        return 1
    if (isinstance(X, ndarray) or is_sparse(X)) and constant_columns(X):
        return 1
    if is_sparse(X) and k > MAX_GRAM_COLUMNS:
        return int(_is_one(X, _iterated(X)))
    some = X[:: max(1, n // (2 * k + 100))]
    some = some if isinstance(some, ndarray) else some.toarray()
    weights = _combination(some)
    if not _is_one(some, weights):
        return 0
    return int(_is_one(X[:], weights) or _is_one(X[:], _combination(X)))


def _combination(X: Any) -> ndarray:
    """The combination of columns nearest to one in every row; of codes and sparse columns by the normal equations,
    refined once, so that no row is expanded."""
    if isinstance(X, (ndarray, Dense)):
        X = X if isinstance(X, ndarray) else X.toarray()
        scale = np.abs(X).max(axis=0).astype(np.float64)
        scale[scale == 0] = 1.0
        return np.linalg.lstsq(X / scale, np.ones(len(X)), rcond=None)[0] / scale
    X = Sparse(X) if is_sparse(X) else X
    size, ones = X.largest(), np.ones(X.shape[0])
    scale = np.where(size > 0, size, 1.0)
    G, found = np.asarray(X.gram(ones)) / scale / scale[:, None], np.zeros(len(scale))
    for _ in range(2):
        found += np.linalg.lstsq(G, X.times(ones - X @ (found / scale)) / scale, rcond=None)[0]
    return found / scale


def _iterated(X: Any) -> ndarray:
    """The combination of sparse columns nearest to one in every row, without their gram."""
    from scipy.sparse.linalg import lsmr

    size = Sparse(X).largest()
    scale = np.where(size > 0, size, 1.0)
    return lsmr(X / scale, np.ones(X.shape[0]), atol=1e-13, btol=1e-13, maxiter=MAX_ITERATIONS)[0] / scale


def _is_one(X: ndarray, weights: ndarray) -> bool:
    return bool(np.abs(X @ weights - 1.0).max() < 1e-8)
