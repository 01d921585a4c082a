"""Derivatives of functions that are known by their values only: scipy's differences, from both sides or one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

MAX_DERIVATIVE_ERROR = 1e-6  # error of a derivative that is used, relative to the slopes about the place
RETRY_DERIVATIVE_ERROR = 1e-10  # relative error above which steps of another scale are tried, too
VALUE_ROUNDING = 1e-14  # relative rounding of a function's values
REFINED_TO = {"rtol": 1e-13, "atol": 0.0}  # relative error at which steps are not halved further


def sizes(x: ndarray, spread: float) -> tuple[ndarray, ndarray]:
    """Sizes relative to which a step is small: the number itself, or the larger of it and the spread of all."""
    return np.where(x == 0, spread, np.abs(x)), np.maximum(np.abs(x), spread)


def settled(
    at: Callable[[ndarray], ndarray], x: ndarray, scales: tuple[ndarray, ...], rows: ndarray
) -> tuple[ndarray, ndarray]:
    """Derivatives of an element-wise function in some rows, and the rows in which they are good to
    `MAX_DERIVATIVE_ERROR`.

    Parameters
    ----------
    at : callable
        (n,) -> (n, c); an exception means that the function is not defined there.
    x : (n,) ndarray
        Where.
    scales : tuple of (n,) ndarrays
        What a small step is small against; each is tried where those before it did not serve.
    rows : (n,) bool ndarray
        Rows that matter.

    Returns
    -------
    (n, c) ndarray, (n,) bool ndarray
        NaN where no scale served. At a kink the derivative to the right.
    """
    out, error = np.full((len(x), 1), np.nan), np.full(len(x), np.inf)
    for size in scales:
        todo = rows & (error > RETRY_DERIVATIVE_ERROR)
        if todo.any():
            found, found_error = _differentiated(at, x, 0.1 * np.where(todo & np.isfinite(size), size, 1.0))
            better = todo & (found_error < error)
            out, error = np.where(better[:, None], found, out), np.where(better, found_error, error)
    sure = error <= MAX_DERIVATIVE_ERROR
    return np.where(sure[:, None], out, np.nan), sure


def _differentiated(at: Callable[[ndarray], ndarray], x: ndarray, step: ndarray) -> tuple[ndarray, ndarray]:
    """Derivative at x from both sides or, at a kink, from the right; and its error, relative to the slopes about x."""
    here = at(x)

    def tried(moved: ndarray) -> ndarray:
        try:
            return at(moved) - here  # exactly 0 where the function does not move
        except Exception:  # a function of the caller's may end where the data do
            return np.full(here.shape, np.nan)

    both, error_of_both = _best(tried, x, step, 0)
    right, error_of_right = _best(tried, x, step, 1)
    steepest = np.fmax(np.abs(tried(x + step)), np.abs(tried(x - step))) / step[:, None]
    size = np.fmax(np.fmax(steepest, np.abs(both)), np.abs(right))
    rounded = VALUE_ROUNDING / MAX_DERIVATIVE_ERROR * np.abs(here) / step[:, None]  # a slope that is rounding alone
    size = np.fmax(size, rounded)
    smooth = (error_of_both <= MAX_DERIVATIVE_ERROR * size) & (error_of_right <= 100 * MAX_DERIVATIVE_ERROR * size)
    smooth &= np.abs(both - right) <= 10 * MAX_DERIVATIVE_ERROR * size + 2 * error_of_right
    error = np.where(smooth, error_of_both, error_of_right)
    relative = np.divide(error, size, out=np.where(error == 0, 0.0, np.inf), where=size > 0)
    relative = np.where(np.isinf(here), 0.0, relative)  # an infinite value has no slope, which is known: NaN
    return np.where(smooth, both, right), relative.max(axis=1)


def _best(at: Callable[[ndarray], ndarray], x: ndarray, step: ndarray, direction: int) -> tuple[ndarray, ndarray]:
    """The derivative of the smallest error among those of smaller and smaller steps, with that error; (n, c) each."""
    from scipy.differentiate import derivative

    def columns_first(points: ndarray) -> ndarray:
        """Columns of values first: (n,) -> (c, n), and (n, m) -> (c, n, m)."""
        values = [at(moved).T for moved in points.reshape(len(x), -1).T]
        return values[0] if points.ndim == 1 else np.stack(values, axis=-1)

    found: list[tuple[ndarray, ndarray]] = []

    def noted(result: Any) -> None:
        error = np.where(np.isfinite(result.error), result.error, np.inf)
        found.append((np.array(result.df), error))

    options = {"initial_step": step, "step_direction": direction, "tolerances": REFINED_TO}
    derivative(columns_first, x, preserve_shape=True, callback=noted, **options)
    values, errors = (np.stack(each) for each in zip(*found, strict=True))
    best = errors.argmin(axis=0)[None]
    return np.take_along_axis(values, best, axis=0)[0].T, np.take_along_axis(errors, best, axis=0)[0].T
