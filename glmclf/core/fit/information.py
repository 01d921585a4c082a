"""The condition of an information matrix, and whether it has vanished."""

from __future__ import annotations

import numpy as np
from numpy import ndarray
from scipy.linalg import eigh

from glmclf.core.design.arrow import ArrowColumns
from glmclf.core.likelihood.objective import Evaluation, factor_of
from glmclf.core.numerics.arrow import ArrowMatrix
from glmclf.core.numerics.cholesky import CholeskyFactor

MIN_SHARE_WITHIN_LEVELS = 1e-4  # of the squared length of numbers, below which they are centred for their digits
VANISHED_SHARE = 1e-6  # an information that has fallen to this share of its start in some direction


def well_conditioned(information: ndarray, least: float) -> bool:
    """Whether the reciprocal condition of a scaled matrix is above a least one; see `Evaluation.well_conditioned`."""
    return Evaluation(0.0, np.zeros(0), information).well_conditioned(least)


def loses_digits(X: ArrowColumns | None, e: Evaluation, places: ndarray | None = None) -> bool:
    """Whether levels leave so little of columns of numbers that the information has few digits of it.

    Parameters
    ----------
    X : ArrowColumns or None
        None where no factor has many levels.
    e : Evaluation
    places : integer ndarray, optional
        Places of the parameters of the information among those of all columns and equations.
    """
    if X is None or not (X.numeric or X.slots_of_numbers):
        return False
    try:
        factor = e.factor
    except np.linalg.LinAlgError:
        return True
    border, k = factor.layout.border if places is None else places[factor.layout.border], X.shape[1]
    numbers = np.isin(border % k, X.layout.border[X.numeric])
    place = {int(j): i for i, j in enumerate(border)}
    constants = np.array([place.get(j // k * k + (X.constant_column or 0), -1) for j in border.tolist()], dtype=int)
    shares = factor.shares_beside(constants if X.constant_column is not None else np.full(len(border), -1))
    q = factor.own_shares.shape[1] // len(X.slots)
    slots = np.isin(np.tile(np.arange(len(X.slots)), q), X.slots_of_numbers)
    least = min(shares[numbers].min(initial=1.0), factor.own_shares[:, slots].min(initial=1.0))
    return bool(least < MIN_SHARE_WITHIN_LEVELS)


def information_vanished(before: ndarray, after: ndarray) -> bool:
    """Whether `after` is negligible against `before` in some direction (smallest generalised eigenvalue)."""
    try:
        factor_of(after - VANISHED_SHARE * before)
        return False
    except np.linalg.LinAlgError:
        if isinstance(after, ArrowMatrix):
            return True
    try:
        T = CholeskyFactor(before).root
    except np.linalg.LinAlgError:
        return False
    A = T.T @ after @ T
    return not np.isfinite(A).all() or float(eigh(A, eigvals_only=True)[0]) < VANISHED_SHARE
