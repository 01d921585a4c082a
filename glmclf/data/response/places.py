"""Places of values among the distinct ones, by counting and in narrow integers: a response has one of each row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

PLACED_ROWS = 65_536  # rows at a time, so that what is made of them on the way stays in the cache


def distinct(values: ndarray) -> tuple[ndarray, ndarray]:
    """Sorted distinct values and each row's place among them; by counting where they are few whole numbers."""
    if values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low < 10_000:
            there = seen(values, low, high - low + 1)
            levels = np.array([low + j for j in np.flatnonzero(there).tolist()], dtype=values.dtype)
            return levels, looked_up((np.cumsum(there) - 1).astype(narrowest(len(levels))), values, low)
    return np.unique(values, return_inverse=True)


def seen(codes: ndarray, low: int, size: int) -> ndarray:
    """Mask of low, low + 1, ..., low + size - 1 that are among the codes, (size,)."""
    there = np.zeros(size, dtype=bool)
    for start in range(0, len(codes), PLACED_ROWS):
        there |= np.bincount(_less(codes[start : start + PLACED_ROWS], low), minlength=size) > 0
    return there


def looked_up(table: ndarray, codes: ndarray, low: int = 0) -> ndarray:
    """Entries table[codes - low], by parts, as numpy makes wide numbers of an index."""
    out = np.empty(len(codes), dtype=table.dtype)
    for start in range(0, len(codes), PLACED_ROWS):
        rows = slice(start, start + PLACED_ROWS)
        np.take(table, _less(codes[rows], low), out=out[rows], mode="clip")
    return out


def _less(codes: ndarray, low: int) -> ndarray:
    """Differences codes - low as int64; the differences are small, but codes may be at the ends of their type."""
    wide = codes if codes.dtype.itemsize == 8 else codes.astype(np.int64)
    return (wide - wide.dtype.type(low)).astype(np.int64, copy=False)


def narrowest(levels: int) -> Any:
    """The smallest type of integers that holds the places of so many levels, and -1."""
    return np.min_scalar_type(-levels)
