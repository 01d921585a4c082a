"""Large offsets: a typical value is taken out of them and given to the constant, where that is exact.

An offset of a million beside a linear predictor of one leaves the predictor ten digits, since offset + X b is then a
difference of large numbers. Where X a = 1 for some a, offset - c and b + c a are the same model without it. So are
offset - X a and b + a for any a: an offset that differs by levels of a factor is taken out by the dummies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.design.arrow import of_levels
from glmclf.core.design.basis import led_back
from glmclf.core.design.columns import expandable, some_columns
from glmclf.core.design.product import rotated
from glmclf.core.design.recoding import recoding_of
from glmclf.core.fit.level_rank import ROUNDED_REST
from glmclf.core.numerics.double_double import two_sum
from glmclf.core.rows.blocks import linear
from glmclf.core.rows.summed import SumsSideBySide

MIN_TYPICAL_OFFSET = 8.0  # typical value of an offset from which centring is worth a pass over the rows
MAX_GRID_STEPS = 2.0**50  # steps of a grid whose sums are exact


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
    blocks = objective.blocks.map(lambda X, y, m, offset, w: (X, y, m, less(X, offset), w))
    return type(objective)(objective.likelihood, blocks, objective.unit), shift


@dataclass(frozen=True)
class CentredOffset:
    """What is left of an offset: ``offset - typical - X levels``.

    Attributes
    ----------
    typical : float or (q,) ndarray
    levels : (k,) or (k, q) ndarray, optional
    basis : DesignBasis, optional
        Of the columns that `levels` are of.
    """

    typical: Any = 0.0
    levels: ndarray | None = None
    basis: Any = None

    def __call__(self, X: Any, offset: ndarray) -> ndarray:
        """What is left of the offset of some rows."""
        left = offset - self.typical
        if self.levels is None:
            return left
        return left - linear(X if self.basis is None else rotated(X, self.basis), self.levels)


def centring(objective: Any, movable: ndarray | None = None) -> tuple[CentredOffset, ndarray]:
    """What is left of the offset, and the shift (p,) of the parameters: zeros where it is left alone."""
    k, q = objective.blocks.arrays[0].shape[1], objective.likelihood.n_eta
    offset = objective.blocks.arrays[3]
    if offset is None or not k:
        return CentredOffset(), np.zeros(k * q)
    basis = recoding_of(objective.blocks) if movable is None else None
    if basis is not None:
        left, shift = centring(objective.rotated(basis))
        return replace(left, basis=basis), led_back(shift, basis, ROUNDED_REST)
    middle, spread = objective.blocks.middle(3)
    c, shift = _typical(objective.blocks, middle, spread, movable)
    one = offset.ndim == 1
    left = CentredOffset(c[0] if one else c)
    shift = np.outer(np.broadcast_to(c, q), shift)
    if (np.abs(middle - c) + spread).max() >= MIN_TYPICAL_OFFSET:
        levels = _levels(objective.blocks.map(lambda X, y, m, o, w: (X, left(X, o).reshape(X.shape[0], -1))), movable)
        if levels is not None:
            left = CentredOffset(left.typical, levels[:, 0] if one else levels)
            shift = shift + np.broadcast_to(levels.T, shift.shape)
    return left, shift.ravel()


def against_offset(objective: Any) -> ndarray | None:
    """A start (p,) whose X b takes up most of a large offset, by least squares; None where the offset is small, or
    columns take up little of it.

    At zeros such an offset decides every row, and no row tells the way from there.
    """
    k, q = objective.blocks.arrays[0].shape[1], objective.likelihood.n_eta
    if objective.blocks.arrays[3] is None or not k:
        return None
    basis = recoding_of(objective.blocks)
    if basis is not None:
        start = against_offset(objective.rotated(basis))
        return None if start is None else basis.back(start)
    rows = objective.blocks.map(lambda X, y, m, o, w: (X, o.reshape(X.shape[0], -1)))
    most = _most(rows, CentredOffset())
    if not MIN_TYPICAL_OFFSET <= most < np.inf:
        return None
    b = _least_squares(rows, np.ones(k, dtype=bool))
    if not np.isfinite(b).all() or _most(rows, CentredOffset(0.0, b)) > 0.5 * most:
        return None
    return np.broadcast_to(-b.T, (q, k)).ravel()


def _least_squares(blocks: Any, columns: ndarray) -> ndarray:
    """Coefficients (k, q) of the offsets on some columns, those of the others 0."""
    if of_levels(blocks) is not None:
        return _least_squares_of_levels(blocks, columns)
    at = np.flatnonzero(columns)

    def products(X: Any, o: ndarray) -> SumsSideBySide:
        X = X if len(at) == len(columns) else some_columns(X, at)
        return SumsSideBySide([X.gram(np.ones(X.shape[0])), X.times(o)])

    G, moment = blocks.sum(products)
    scale = np.sqrt(np.diag(G))
    scale[scale == 0] = 1.0
    b = np.zeros((len(columns), moment.shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):
        G, moment = G / np.outer(scale, scale), moment / scale[:, None]
    if np.isfinite(G).all() and np.isfinite(moment).all():
        b[columns] = np.linalg.lstsq(G, moment, rcond=None)[0] / scale[:, None]
    return b


def _least_squares_of_levels(blocks: Any, columns: ndarray) -> ndarray:
    """Coefficients as of `_least_squares` where a factor has many levels; zeros where columns are collinear."""
    moment = blocks.sum(lambda X, o: X.times(o))
    b = np.zeros(moment.shape)
    try:
        G = blocks.sum(lambda X, o: X.gram(np.ones(X.shape[0]))).narrowed(columns & moment.any(axis=1))
        b[columns & moment.any(axis=1)] = G.factor().solve(moment[columns & moment.any(axis=1)])
    except np.linalg.LinAlgError:
        return np.zeros(moment.shape)
    return b


def _typical(blocks: Any, middle: ndarray, spread: ndarray, movable: ndarray | None) -> tuple[ndarray, ndarray]:
    """Typical values that offsets lose without rounding, (q,), and coefficients (k,) of 1; zeros where there are none.
    """
    c = np.array([_on_a_grid(*ends) for ends in zip(middle, spread, strict=True)])
    nothing = np.zeros(len(c)), np.zeros(blocks.arrays[0].shape[1])
    if not c.any():
        return nothing
    less = -c if blocks.arrays[3].ndim == 2 else -c[0]
    rounded = blocks.sum(lambda X, y, m, o, w: int(two_sum(o, np.broadcast_to(less, o.shape))[1].any()))
    a = None if rounded else _constant(blocks.map(lambda X, *rest: (X,)), movable)
    return nothing if a is None else (c, a)


def _levels(blocks: Any, movable: ndarray | None) -> ndarray | None:
    """Coefficients (k, q) of columns of -1, 0 and 1 that take most of the offsets without rounding; None without such.

    Those of least squares, rounded to a grid as wide as what they leave, so that they have few digits.
    """
    columns = of_levels(blocks)
    rows = expandable(blocks) if columns is None else blocks
    if columns is None:
        other = rows.sum(lambda X, o: _no_flags(X.toarray()))
    else:
        other = columns.by_column(rows.sum(lambda X, o: _no_flags(X.numbers)))
    flags = (other == 0) & (True if movable is None else movable)
    if not flags.any():
        return None
    levels = _least_squares(rows, flags)
    grid = 2.0 ** np.ceil(np.log2(max(_most(rows, CentredOffset(0.0, levels)), 1.0)))
    levels = np.round(levels / grid) * grid
    less = CentredOffset(0.0, levels)
    if not np.abs(levels).sum() <= MAX_GRID_STEPS * grid or _most(rows, less) > 0.5 * _most(rows, CentredOffset()):
        return None
    rounded = rows.sum(lambda X, o: int(two_sum(o, -linear(X, levels))[1].any()))
    return None if rounded else levels


def _no_flags(x: ndarray) -> ndarray:
    """Number of entries of each column that are neither -1, 0 nor 1."""
    return (x * x != np.abs(x)).sum(axis=0)


def _most(blocks: Any, less: CentredOffset) -> float:
    """Largest of the absolute values that are left of the offsets."""
    middle, spread = blocks.map(lambda X, o: (X, less(X, o))).middle(1)
    return float((np.abs(middle) + spread).max())


def _on_a_grid(middle: float, spread: float) -> float:
    """The middle on a grid as wide as the spread, so that it has few digits; 0 where it is small beside that."""
    if not np.isfinite(spread) or abs(middle) < MIN_TYPICAL_OFFSET:
        return 0.0
    grid = 2.0 ** np.ceil(np.log2(max(spread, 1.0)))
    return float(np.round(middle / grid) * grid)


def _constant(columns: Any, movable: ndarray | None) -> ndarray | None:
    """Coefficients a with X a = 1 in every row, if a column is constant or a sum of columns of 0 and 1 is 1."""
    X = of_levels(columns)
    if X is not None:
        a = X.constant
        return None if a is None or (movable is not None and not movable[a != 0].all()) else a
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
    at, a = np.flatnonzero(flags), np.zeros(len(low))
    G = blocks.sum(lambda x: some_columns(x, at).gram(np.ones(x.shape[0])))
    a[flags] = np.round(np.linalg.lstsq(G, np.diag(G), rcond=None)[0])  # of flags, sums are squares
    return a if all((x @ a == 1.0).all() for (x,) in blocks) else None
