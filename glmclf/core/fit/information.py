"""The condition of an information matrix, and whether it has vanished."""

from __future__ import annotations

import numpy as np
from numpy import ndarray
from scipy.linalg import eigh

from glmclf.core.likelihood.objective import Evaluation, factor_of
from glmclf.core.numerics.arrow import ArrowMatrix
from glmclf.core.numerics.cholesky import CholeskyFactor

VANISHED_SHARE = 1e-6  # an information that has fallen to this share of its start in some direction


def well_conditioned(information: ndarray, least: float) -> bool:
    """Whether the reciprocal condition of a scaled matrix is above a least one; see `Evaluation.well_conditioned`."""
    return Evaluation(0.0, np.zeros(0), information).well_conditioned(least)


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
