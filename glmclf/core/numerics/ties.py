"""Ties: numbers that differ by rounding only are one."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

TIED = 1e-12  # difference, relative to the size of the numbers, up to which they are the same but for rounding
ROUNDINGS_OF_A_TYPICAL_VALUE = 4.0  # units in the last place of the median size that a sum near 0 may be off


def differs(values: ndarray, floor: float = 0.0) -> ndarray:
    """Mask of the values in ascending or descending order that are another number than the one before.

    Parameters
    ----------
    values : (n,) ndarray
        Sorted; infinite values may be among them.
    floor : float
        Difference up to which values are the same however small they are.

    Returns
    -------
    (n - 1,) bool ndarray
        Of the second value on.

    Examples
    --------
    >>> import numpy as np
    >>> from glmclf.core.numerics.ties import differs
    >>> differs(np.array([0.1, 0.3, 0.1 + 0.2, 0.4])).tolist()
    [True, False, True]
    """
    with np.errstate(invalid="ignore"):
        near = np.abs(np.diff(values)) <= floor + TIED * np.minimum(np.abs(values[:-1]), np.abs(values[1:]))
    finite = np.isfinite(values)
    return (values[1:] != values[:-1]) & ~(near & finite[:-1] & finite[1:])


def tied_codes(values: ndarray) -> ndarray:
    """Number from 0 of each value among the distinct ones, in ascending order, (n,) integers.

    Values that agree to rounding are one, near 0 by the size that values of the column have.

    Examples
    --------
    >>> import numpy as np
    >>> from glmclf.core.numerics.ties import tied_codes
    >>> tied_codes(np.array([0.3, 0.1, 0.1 + 0.2, 0.1 + 0.2 - 0.3, 0.0])).tolist()
    [2, 1, 2, 0, 0]
    >>> [tied_codes(np.array(v)).tolist() for v in ([1.0, 0.0, 1.0], [0.3, 0.1 + 0.2, 0.3], [2.0, 2.0], [])]
    [[1, 0, 1], [0, 0, 0], [0, 0], []]
    """
    low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
    if ((values == low) | (values == high)).all():  # an indicator need not be sorted
        levels, place = np.unique([low, high]), (values != low).astype(np.intp)
    else:
        levels, place = np.unique(values, return_inverse=True)
    if len(levels) < 2:
        return place.ravel()
    floor = ROUNDINGS_OF_A_TYPICAL_VALUE * np.finfo(float).eps * float(np.median(np.abs(levels)))
    return np.r_[0, np.cumsum(differs(levels, floor))][place.ravel()]
