"""Large offsets: a typical value is taken out of them and given to the constant, where that is exact.

An offset of a million beside a linear predictor of one leaves the predictor ten digits, since offset + X b is then a
difference of large numbers. Where X a = 1 for some a, offset - c and b + c a are the same model without it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.blocks import Blocks
from glmclf.core.columns import expandable
from glmclf.core.estimation import into_basis
from glmclf.core.twofold import two_sum

LARGE = 8.0  # typical value from which centring is worth a pass over the rows


def centred(objective: Any, movable: ndarray | None = None) -> tuple[Any, ndarray]:
    """The objective with smaller offsets, and the shift (p,) of its parameters against those of the objective given.

    The objective itself and zeros where offsets are small, or nothing can be taken from them without rounding.

    Parameters
    ----------
    objective : Objective
    movable : (k,) bool ndarray, optional
        Columns whose parameters may be shifted, as they have no penalty; by default all.

    Examples
    --------
    >>> import numpy as np
    >>> from glmclf.core.blocks import Blocks
    >>> from glmclf.core.columns import Dense
    >>> from glmclf.core.likelihood import Binomial
    >>> from glmclf.core.links import Logit
    >>> from glmclf.core.objective import Objective
    >>> from glmclf.core.offsets import centred
    >>> rows = Blocks(Dense(np.ones((3, 1))), np.array([0.0, 1.0, 1.0]), None, 1e6 + np.array([0.5, 0.0, -1.0]), None)
    >>> inner, shift = centred(Objective(Binomial(Logit()), rows))
    >>> inner.blocks.arrays[3], shift
    (array([ 0.5,  0. , -1. ]), array([1000000.]))
    """
    X, y, m, offset, w = objective.blocks.arrays
    k, q = X.shape[1], objective.likelihood.n_eta
    nothing = objective, np.zeros(k * q)
    if offset is None or not k:
        return nothing
    c = np.array([_typical(column) for column in offset.reshape(len(offset), -1).T])
    if not c.any():
        return nothing
    rest, error = two_sum(offset, np.broadcast_to(-c if offset.ndim == 2 else -c[0], offset.shape))
    a = None if error.any() else _constant(X, movable)
    if a is None:
        return nothing
    blocks = Blocks(X, y, m, rest, w, size=objective.blocks.size, n_threads=objective.blocks.n_threads)
    shift = np.outer(np.broadcast_to(c, q), a).ravel()
    return type(objective)(objective.likelihood, blocks, objective.unit), shift


def restored(found: Any, shift: ndarray) -> Any:
    """An `Estimate` of the centred objective as one of the objective given; its evaluation is the same."""
    if not shift.any():
        return found
    moved = shift if found.basis is None else into_basis(found.basis, shift)
    return replace(found, fit=replace(found.fit, theta=found.fit.theta - moved))


def _typical(offset: ndarray) -> float:
    """The median on a grid as wide as the spread, so that it has few digits; 0 where it is small beside that."""
    middle = float(np.median(offset))
    spread = float(np.abs(offset - middle).max())
    if not np.isfinite(spread) or abs(middle) < LARGE:
        return 0.0
    grid = 2.0 ** np.ceil(np.log2(max(spread, 1.0)))
    return float(np.round(middle / grid) * grid)


def _constant(X: Any, movable: ndarray | None) -> ndarray | None:
    """Coefficients a with X a = 1 in every row, if a column is constant or a sum of columns of 0 and 1 is 1."""
    blocks = expandable(Blocks(X))
    ends = [(A.min(axis=0), A.max(axis=0)) for A in (x.toarray() for (x,) in blocks)]
    low, high = np.min([a for a, _ in ends], axis=0), np.max([b for _, b in ends], axis=0)
    ok = np.ones(len(low), dtype=bool) if movable is None else movable
    ones = np.flatnonzero((low == high) & (low != 0) & ok)
    if len(ones):
        a = np.zeros(len(low))
        a[ones[0]] = 1.0 / low[ones[0]]
        return a
    flags = (low == 0) & (high == 1) & ok
    if not flags.any():
        return None
    G, a = blocks.sum(lambda x: x.gram(np.ones(x.shape[0])))[np.ix_(flags, flags)], np.zeros(len(low))
    a[flags] = np.round(np.linalg.lstsq(G, np.diag(G), rcond=None)[0])  # of flags, sums are squares
    return a if all((x @ a == 1.0).all() for (x,) in blocks) else None
