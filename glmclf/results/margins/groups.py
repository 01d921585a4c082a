"""Groups of rows by the values of one column or of several, crossed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.data.table.frame import close_to, quoted
from glmclf.errors import DataError


def named_columns(given: Any, columns: Collection[Any]) -> list[str] | None:
    """Columns that an option names, one or a list of them; None where it holds values beside the rows.

    Raises
    ------
    DataError
        A list of names, no longer than there are columns, of which some are columns and others not.
    """
    if isinstance(given, str):
        return [given]
    names = list(given) if isinstance(given, (list, tuple)) else []
    if not names or not all(isinstance(name, str) for name in names):
        return None
    unknown = [name for name in names if name not in columns]
    if unknown and len(unknown) < len(names) <= len(columns):
        raise DataError(f'no column "{unknown[0]}" among {quoted(names)}. {close_to(unknown[0], columns)}')
    return None if unknown else list(dict.fromkeys(names))


@dataclass(frozen=True)
class CrossedGroups:
    """Groups of rows: the combinations of values of some columns that some row has, the last column fastest.

    Attributes
    ----------
    names : list of str
        The columns.
    levels : list of Index
        Values of each in order.
    used : (groups,) integer ndarray
        Places of the combinations in the grid of all.
    """

    names: list[str]
    levels: list[pd.Index]
    used: ndarray

    @classmethod
    def found(cls, columns: Mapping[str, pd.Series]) -> tuple[ndarray, Self]:
        """The group of each row, and the groups, from columns without missing values."""
        coded = [pd.factorize(column, sort=True) for column in columns.values()]
        levels = [pd.Index(list(labels), dtype=object) for _, labels in coded]
        places = np.ravel_multi_index([codes for codes, _ in coded], [len(own) for own in levels])
        used, codes = np.unique(places, return_inverse=True)
        return codes, cls(list(columns), levels, used)

    @property
    def labels(self) -> list[tuple[Any, ...]]:
        """Label of each group, a value by column."""
        places = np.unravel_index(self.used, [len(own) for own in self.levels])
        return list(zip(*(own[place].tolist() for own, place in zip(self.levels, places, strict=True)), strict=True))

    def codes(self, columns: pd.DataFrame) -> ndarray:
        """The group of each of other rows, all of which have one."""
        own = [
            levels.get_indexer(pd.Index(columns[name], dtype=object))
            for name, levels in zip(self.names, self.levels, strict=True)
        ]
        return np.searchsorted(self.used, np.ravel_multi_index(own, [len(levels) for levels in self.levels]))
