"""Large offsets: a typical value is taken out of them and given to the constant, where that is exact.

An offset of a million beside a linear predictor of one leaves the predictor ten digits, since offset + X b is then a
difference of large numbers. Where X a = 1 for some a, offset - c and b + c a are the same model without it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.design.columns import expandable
from glmclf.core.numerics.double_double import two_sum

MIN_TYPICAL_OFFSET = 8.0  # typical value of an offset from which centring is worth a pass over the rows


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
    >>> from glmclf.core.rows.blocks import Blocks
    >>> from glmclf.core.design.dense import Dense
    >>> from glmclf.core.likelihood.pointwise import Binomial
    >>> from glmclf.core.likelihood.links import LogitLink
    >>> from glmclf.core.likelihood.objective import Objective
    >>> from glmclf.core.fit.offsets import centred
    >>> rows = Blocks(Dense(np.ones((3, 1))), np.array([0.0, 1.0, 1.0]), None, 1e6 + np.array([0.5, 0.0, -1.0]), None)
    >>> inner, shift = centred(Objective(Binomial(LogitLink()), rows))
    >>> inner.blocks.arrays[3], shift
    (array([ 0.5,  0. , -1. ]), array([1000000.]))
    """
    less, shift = centring(objective, movable)
    if not shift.any():
        return objective, shift
    blocks = objective.blocks.map(lambda X, y, m, offset, w: (X, y, m, offset + less, w))
    return type(objective)(objective.likelihood, blocks, objective.unit), shift


def centring(objective: Any, movable: ndarray | None = None) -> tuple[Any, ndarray]:
    """What is added to the offset to centre it, and the shift (p,) of the parameters: zeros where it is left alone."""
    k, q = objective.blocks.arrays[0].shape[1], objective.likelihood.n_eta
    nothing = 0.0, np.zeros(k * q)
    if objective.blocks.arrays[3] is None or not k:
        return nothing
    c = np.array([_on_a_grid(*ends) for ends in zip(*objective.blocks.middle(3), strict=True)])
    if not c.any():
        return nothing
    less = -c if objective.blocks.arrays[3].ndim == 2 else -c[0]
    rounded = objective.blocks.sum(lambda X, y, m, o, w: int(two_sum(o, np.broadcast_to(less, o.shape))[1].any()))
    a = None if rounded else _constant(objective.blocks.map(lambda X, *rest: (X,)), movable)
    return nothing if a is None else (less, np.outer(np.broadcast_to(c, q), a).ravel())


def _on_a_grid(middle: float, spread: float) -> float:
    """The middle on a grid as wide as the spread, so that it has few digits; 0 where it is small beside that."""
    if not np.isfinite(spread) or abs(middle) < MIN_TYPICAL_OFFSET:
        return 0.0
    grid = 2.0 ** np.ceil(np.log2(max(spread, 1.0)))
    return float(np.round(middle / grid) * grid)


def _constant(columns: Any, movable: ndarray | None) -> ndarray | None:
    """Coefficients a with X a = 1 in every row, if a column is constant or a sum of columns of 0 and 1 is 1."""
    blocks = expandable(columns)
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
