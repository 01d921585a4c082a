"""Derivatives of functions that are known by their values only: differences, extrapolated to a step of 0.

Ridders, C. J. F. (1982), Accurate computation of F'(x) and F'(x) F''(x), Advances in Engineering Software 4, 75-76.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy import ndarray

LEVELS = 10  # halvings of the step
TOLERANCE = 1e-6


def sizes(x: ndarray, spread: float) -> tuple[ndarray, ndarray]:
    """What a small step is small against: the number itself, or the larger of it and the spread of all."""
    return np.where(x == 0, spread, np.abs(x)), np.maximum(np.abs(x), spread)


def settled(
    at: Callable[[ndarray], ndarray], x: ndarray, scales: tuple[ndarray, ...], rows: ndarray
) -> tuple[ndarray, ndarray]:
    """Derivatives of an element-wise function in some rows, and the rows in which they are good to `TOLERANCE`.

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
    out, sure = np.full((len(x), 1), np.nan), np.zeros(len(x), dtype=bool)
    for size in scales:
        todo = rows & ~sure
        if todo.any():
            found, good = _extrapolated(at, x, 0.1 * np.where(todo & np.isfinite(size), size, 1.0))
            good &= todo
            out, sure = np.where(good[:, None], found, out), sure | good
    return out, sure


def _extrapolated(at: Callable[[ndarray], ndarray], x: ndarray, step: ndarray) -> tuple[ndarray, ndarray]:
    """Derivative at x by Ridders' table, from both sides or, at a kink, from the right; and where it is sure."""
    here = at(x)

    def tried(moved: ndarray) -> ndarray:
        try:
            return at(moved)
        except Exception:  # a function of the caller's may end where the data do
            return np.full(here.shape, np.nan)

    both, right = _Table(4.0, here.shape), _Table(2.0, here.shape)
    size = np.zeros(here.shape)
    for level in range(LEVELS):
        h = step / 2.0**level
        above, below = x + h, x - h
        up, down = tried(above), tried(below)
        both.add((up - down) / (above - below)[:, None])
        right.add((up - here) / (above - x)[:, None])
        if level == 0:
            size = np.fmax(np.abs(up - here), np.abs(here - down)) / h[:, None]
    enough = TOLERANCE * np.fmax(np.fmax(size, np.abs(both.best)), np.abs(right.best))
    smooth = (both.error <= enough) & (np.abs(both.best - right.best) <= 10 * enough + 2 * right.error)
    smooth &= right.error <= 100 * enough
    found = np.where(smooth, both.best, right.best)
    return found, (smooth | (right.error <= enough)).all(axis=1)


class _Table:
    """Extrapolation to a step of 0, entry by entry, and the best value with its error so far."""

    def __init__(self, factor: float, shape: tuple[int, ...]):
        self.factor, self.last = factor, list[ndarray]()
        self.best, self.error = np.full(shape, np.nan), np.full(shape, np.inf)

    def add(self, quotient: ndarray) -> None:
        """The difference quotient of half the last step."""
        row = [quotient]
        for m, before in enumerate(self.last):
            row.append(row[m] + (row[m] - before) / (self.factor ** (m + 1) - 1.0))
            error = np.maximum(np.abs(row[m + 1] - row[m]), np.abs(row[m + 1] - before))
            better = error < self.error
            self.best, self.error = np.where(better, row[m + 1], self.best), np.where(better, error, self.error)
        self.last = row
