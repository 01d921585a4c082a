"""Coding of a factor of many levels, of which no matrix is held."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray

MANY_LEVELS = 128  # levels from which a factor's columns are never expanded, nor its coding held as a matrix


@dataclass(frozen=True, eq=False)
class LevelCoding:
    """Treatment, full or sum coding of a factor: it stands for a (cells, width) matrix of 0, 1 and -1.

    Attributes
    ----------
    position : (cells,) integer ndarray
        Column that is 1 for a cell; -1 for none.
    width : int
        Number of columns.
    opposite : int or None
        Cell for which every column is -1, of sum coding.

    Examples
    --------
    >>> from glmclf.core.design.coding import LevelCoding
    >>> LevelCoding.treatment(3, 0).toarray().tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    >>> LevelCoding.deviations(3, 2).toarray().tolist()
    [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]
    """

    position: ndarray
    width: int
    opposite: int | None = None

    @classmethod
    def full(cls, cells: int) -> LevelCoding:
        """A column for each level."""
        return cls(np.arange(cells), cells)

    @classmethod
    def treatment(cls, cells: int, base: int) -> LevelCoding:
        """A column for each level but the base."""
        position = np.arange(cells)
        position[base:] -= 1
        position[base] = -1
        return cls(position, cells - 1)

    @classmethod
    def deviations(cls, cells: int, opposite: int) -> LevelCoding:
        """A column for each level but one, for which all are -1."""
        return cls(cls.treatment(cells, opposite).position, cells - 1, opposite)

    @property
    def shape(self) -> tuple[int, int]:
        """Cells and columns."""
        return len(self.position), self.width

    def __len__(self) -> int:
        return len(self.position)

    def some(self, columns: ndarray) -> LevelCoding:
        """The coding with some columns alone, in the order given."""
        if len(columns) == self.width and (columns == np.arange(self.width)).all():
            return self
        place = np.full(self.width + 1, -1)
        place[columns] = np.arange(len(columns))
        return LevelCoding(place[self.position], len(columns), self.opposite)

    def toarray(self) -> ndarray:
        """The matrix, (cells, width)."""
        out = np.zeros(self.shape)
        self.fill(out, np.arange(len(self)))
        return out

    def fill(self, out: ndarray, codes: ndarray) -> None:
        """Write the rows of cells into an array of zeros, (n, width)."""
        rows = np.flatnonzero(self.position[codes] >= 0)
        out[rows, self.position[codes[rows]]] = 1.0
        if self.opposite is not None:
            out[codes == self.opposite] = -1.0

    def spans_constant(self) -> bool:
        """Whether a combination of the columns is 1 for every cell: the sum of all, where each has its own."""
        return bool((self.position >= 0).all())


def uncoded_cells(coding: Any) -> ndarray:
    """Cells whose row of a coding is zero, as that of a base level."""
    if not isinstance(coding, LevelCoding):
        return np.flatnonzero(~coding.any(axis=1))
    rest = np.flatnonzero(coding.position < 0)
    return rest if coding.opposite is None or not coding.width else rest[rest != coding.opposite]


def column_sums(coding: Any) -> ndarray:
    """Sums of the columns of a coding."""
    if not isinstance(coding, LevelCoding):
        return coding.sum(axis=0)
    return np.full(coding.width, 0.0 if coding.opposite is not None else 1.0)


def to_record(coding: Any) -> Any:
    """A coding as numbers: a matrix is one itself."""
    if not isinstance(coding, LevelCoding):
        return coding
    return {"position": coding.position, "width": coding.width, "opposite": coding.opposite}


def of_record(stored: Any) -> Any:
    """The coding that `to_record` gave."""
    return LevelCoding(**stored) if isinstance(stored, dict) else stored
