"""Correct digits of an estimate, from rounding errors of its score, propagated to the parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.design.product import is_small, triangular_inverse
from glmclf.core.fit.coordinates import covariance_from_basis, from_basis, into_basis
from glmclf.core.fit.estimate import Estimate
from glmclf.core.numerics.arrow import ArrowMatrix

UNIT_ROUNDOFF = 2.0**-53  # relative rounding of a double
MAX_DIGITS = 16.0  # digits that are reported at most
ROWS_ADDED_IN_TURN = 16_384  # rows that are added one after the other


def expected_digits(
    found: Estimate, n: int, *, unit: float, repeats: float, rounded: ndarray, shift: ndarray | None = None
) -> ndarray:
    """Correct digits to expect of each parameter, -log10 of its relative error, from -16 to 16.

    The score is a sum of rounded terms u x, with u at rounded linear predictors, added one after the other in blocks of
    m rows: with e^2 the mean squared size of the terms of a linear predictor, weighted by the curvature of the rows,
    its error has about the covariance eps^2 (1 + e^2 + m/4) I, and that of the estimate eps^2 (1 + e^2 + m/4) I^-1.
    Added are the roundings of columns that were
    computed, of rows put into a basis in plain arithmetic, of the result, and what is left of the last Newton step. All
    are taken as independent, so that this is what to expect and no bound.

    Parameters
    ----------
    found : Estimate
        Of full rank, finite.
    n : int
        Rows.
    unit : float
        What one observation weighs.
    repeats : float
        Observations a row.
    rounded : (k,) bool ndarray
        Columns whose entries are rounded.
    shift : (p,) ndarray, optional
        What `core.fit.offsets.centred` added to the parameters: the sums that were rounded are those of both.

    Returns
    -------
    (p,) ndarray
        NaN where the information is singular; negative where the error is larger than the parameter.
    """
    fit, basis, k = found.fit, found.basis, len(rounded)
    gamma, information = fit.theta, fit.evaluation.information / unit
    try:
        factor = fit.evaluation.factor
    except np.linalg.LinAlgError:
        return np.full(len(gamma), np.nan)
    if isinstance(information, ArrowMatrix):
        return _of_levels(found, n, unit, repeats, rounded, shift)
    root = factor.root * np.sqrt(unit)
    V, theta, q = root @ root.T, found.theta, len(gamma) // k
    summed = gamma if shift is None else gamma + into_basis(basis, shift)
    E = repeats * V * (1.0 + min(n, ROWS_ADDED_IN_TURN) / 4 + float(summed**2 @ np.diag(information)) / n)
    sizes, T = _sizes(information, basis, k), np.eye(k) if basis is None else triangular_inverse(basis)
    if basis is not None and not (is_small(n, k) if found.exact is None else found.exact):
        E = E + _of_columns(V, sizes @ T**2, np.abs(T) @ np.abs(summed.reshape(k, q, order="F")), sizes, n)
    E, X = covariance_from_basis(basis, E), covariance_from_basis(basis, V)
    if rounded.any():
        own = sizes * rounded
        E = E + _of_columns(X, own, theta.reshape(k, q, order="F"), own, n)
    back = T**2 @ gamma.reshape(k, q, order="F") ** 2
    variance = UNIT_ROUNDOFF**2 * (np.diag(E) + back.ravel(order="F") + theta**2) + _left(found, V, unit, n) ** 2
    return _digits(variance, theta, np.diag(X))


def _digits(variance: ndarray, theta: ndarray, own: ndarray) -> ndarray:
    """Digits of estimates whose errors have a variance, of a size of their own where they are 0."""
    size = np.where(theta == 0, np.sqrt(own), np.abs(theta))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.clip(-np.log10(np.sqrt(variance) / size), -MAX_DIGITS, MAX_DIGITS)


def _of_levels(
    found: Estimate, n: int, unit: float, repeats: float, rounded: ndarray, shift: ndarray | None
) -> ndarray:
    """Digits as of `expected_digits` where a factor has many levels."""
    gamma, theta, k = found.fit.theta, found.theta, len(rounded)
    inner, own = unit * found.fit.evaluation.factor.inverse, found.fit.evaluation.information.diagonal() / unit
    summed = gamma if shift is None else gamma + into_basis(found.basis, shift)
    V = covariance_from_basis(found.basis, inner)
    v = V.diagonal()
    E = repeats * v * (1.0 + min(n, ROWS_ADDED_IN_TURN) / 4 + float(summed**2 @ own) / n)
    if rounded.any():
        squares = own if found.basis is None else found.basis.into_squares(own)
        sizes = squares.reshape(-1, k) * rounded
        E = E + V.diagonal_around(sizes.ravel())
        E = E + float((sizes * theta.reshape(-1, k) ** 2).sum()) / n * v
    back = gamma**2 if found.basis is None else found.basis.back_squares(gamma**2)
    variance = UNIT_ROUNDOFF**2 * (E + back + theta**2) + _left(found, inner, unit, n) ** 2
    return _digits(variance, theta, v)


def _sizes(information: ndarray, basis: Any, k: int) -> ndarray:
    """Squared length of each column of X, weighted by the curvature of the rows, (q, k)."""
    blocks = [information[i : i + k, i : i + k] for i in range(0, len(information), k)]
    if basis is None:
        return np.array([np.diag(b) for b in blocks])
    B = np.asarray(basis)
    return np.array([np.einsum("ji,ji->i", B, b @ B) for b in blocks])


def _of_columns(V: ndarray, squares: ndarray, coefficients: ndarray, sizes: ndarray, n: int) -> ndarray:
    """Covariance that errors of columns give an estimate of covariance V: through the score, whose errors have these
    squares (q, k), and through the linear predictors, sums of columns of these sizes times coefficients (k, q)."""
    eta = float((sizes * coefficients.T**2).sum()) / n
    return (V * squares.ravel()) @ V + eta * V


def _left(found: Estimate, V: Any, unit: float, n: int) -> ndarray:
    """Distance to the maximum that is left: the last Newton step, or, where it was taken, its own error."""
    fit = found.fit
    step = np.abs(from_basis(found.basis, V @ (fit.evaluation.score / unit)))
    if not found.has_zero_score:  # quasi-scoring ends linearly
        return step
    if fit.message != "converged":  # to rounding: the score that is left is noise, and so is the estimate
        return step
    return step * np.sqrt(max(fit.decrement, 0.0) / unit * len(step) / n)
