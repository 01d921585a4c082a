"""Generalised variance inflation: how much less sharp some coefficients are than with regressors that don't overlap."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.design.arrow import of_levels
from glmclf.core.design.centring import constant_centring
from glmclf.core.numerics.arrow import ArrowMatrix
from glmclf.core.numerics.triangular import qr_factor
from glmclf.core.rows.blocks import Blocks


def design_factor(blocks: Blocks) -> Any:
    """R with R'R = X' diag(times) X of blocks ``(X, times)``; beside many levels this itself, an `ArrowMatrix`, of
    columns less their means where one of ones takes these up."""
    levels = of_levels(blocks)
    if levels is not None:
        means = None if levels.constant_column is None else constant_centring(blocks)
        return blocks.sum(lambda X, times: (X if means is None else means.columns(X)).gram(times))
    R: Any = None
    for X, times in blocks:
        A = X.toarray() * np.sqrt(times)[:, None]
        R = qr_factor(A) if R is None else qr_factor(R, A)
    return R


def generalised(F: ndarray, groups: list[ndarray], constants: ndarray) -> ndarray:
    """Log of the generalised VIF det(M_gg) det(M_rr) / det(M) of each group g, r the rest.

    M = F'F with the constants taken out.

    The inverse of M, the covariance of the estimate, gives the same: the squared ratio of the volumes of the joint
    confidence ellipsoids of the group, with the other regressors and with ones that are orthogonal to it. For a single
    column the variance inflation factor, 1 / (1 - R^2) of its regression on the others.

    Parameters
    ----------
    F : (m, p) ndarray
        A factor of the information, or of the design's sum of squares.
    groups : list of integer ndarrays
        Columns of each.
    constants : integer ndarray
        Columns of constants.

    Returns
    -------
    (groups,) ndarray
        At least 0.

    References
    ----------
    Fox & Monette (1992), Generalized collinearity diagnostics, JASA 87, 178-183.
    """
    slopes = np.setdiff1d(np.arange(F.shape[1]), constants)
    R = qr_factor(F[:, np.r_[constants, slopes]])
    S = R[len(constants) :, len(constants) :]
    length = np.linalg.norm(S, axis=0)
    S = S / np.where(length > 0, length, 1.0)
    place = {int(j): i for i, j in enumerate(slopes)}
    whole, out = _log_volume(S), []
    for group in groups:
        mine = [place[int(j)] for j in group]
        rest = [i for i in range(len(slopes)) if i not in set(mine)]
        out.append(2.0 * (_log_volume(S[:, mine]) + _log_volume(S[:, rest]) - whole))
    return np.maximum(np.array(out), 0.0)


def generalised_of_levels(M: ArrowMatrix, groups: list[ndarray], constants: ndarray) -> ndarray:
    """As `generalised`, by the determinants of M beside many levels, constants included; of a single column by its
    entry of the inverse."""

    def log_volume(columns: ndarray) -> float:
        return M.narrowed(np.isin(np.arange(len(M)), np.append(columns, constants))).factor().logdet

    whole, alone, own, out = M.factor(), 0.0, M.diagonal(), []
    if len(constants):
        alone = log_volume(constants)
        B = M[:, constants]
        own = own - (B * np.linalg.solve(B[constants], B.T).T).sum(axis=1)
    single = own * whole.inverse.diagonal()
    for group in groups:
        if len(group) == 1:
            out.append(np.log(single[group[0]]))
        else:
            rest = np.setdiff1d(np.arange(len(M)), group)
            out.append(log_volume(group) + log_volume(rest) - whole.logdet - alone)
    return np.maximum(np.array(out), 0.0)


def _log_volume(A: ndarray) -> float:
    """Log of the square root of det(A'A)."""
    with np.errstate(divide="ignore"):
        return float(np.log(np.abs(np.diag(qr_factor(A)))).sum()) if A.shape[1] else 0.0
