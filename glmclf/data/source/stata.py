"""Stata's files, read in parts of equally many rows, value labels as categories."""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from pandas.io.stata import StataReader

from glmclf.data.source import base
from glmclf.data.source.base import Place, Source
from glmclf.data.source.paths import short
from glmclf.data.table.frame import quoted, refuse_repeated
from glmclf.errors import DataError


class Stata(Source):
    """A file of Stata, read in parts of `PART_ROWS` rows.

    A column with value labels is categorical as `pandas.read_stata` makes it of the whole file: a category for each
    value that some row has, in the order of the values, called by its label where it has one.

    Parameters
    ----------
    path : path
    storage_options : dict, optional
        Of fsspec, for a file elsewhere.
    """

    labelled = True

    def __init__(self, path: Any, storage_options: dict[str, Any] | None = None):
        self.path, self._options = os.fspath(path), storage_options
        self.kind = f"Stata {quoted([short(self.path)])}"
        with self._opened() as file:
            labels = file.value_labels()  # reads the header
            self.names, sets = list(file._varlist), list(file._lbllist)  # of which set a column has its labels
        refuse_repeated(self.names)
        self._labels = {name: labels[of] for name, of in zip(self.names, sets, strict=True) if labels.get(of)}
        self._values = self._found_values()
        for name in self._values:
            if not pd.Index(self._categories(name)).is_unique:
                raise DataError(f'{self.kind}: values of "{name}" share a label ({quoted(self._categories(name))})')

    def _tables(self, columns: list[str] | None) -> Iterator[tuple[pd.DataFrame, Place]]:
        for number, table in enumerate(self._parts(columns)):
            for name in self._values.keys() & set(table):
                codes = pd.Categorical(table[name], categories=self._values[name], ordered=True)
                table[name] = codes.rename_categories(self._categories(name))
            yield table, Place(number, f"part {number + 1} (rows from {number * base.PART_ROWS})")

    def _categories(self, name: str) -> list[Any]:
        return [self._labels[name].get(value, value) for value in self._values[name].tolist()]

    def _found_values(self) -> dict[str, Any]:
        """Values that some row has of columns with labels, in their order."""
        found = {name: np.zeros(0) for name in self._labels}
        for table in self._parts(list(self._labels)) if found else ():
            for name, values in found.items():
                own = table[name].dropna().unique()
                found[name] = np.union1d(values, own) if len(values) else np.sort(own)
        return found

    def _parts(self, columns: list[str] | None) -> Iterator[pd.DataFrame]:
        with self._opened(columns=columns, chunksize=base.PART_ROWS) as parts:
            yield from parts

    @contextlib.contextmanager
    def _opened(self, **how: Any) -> Iterator[StataReader]:
        """The file's reader; errors of what cannot be read name the file."""
        try:
            with StataReader(self.path, storage_options=self._options, convert_categoricals=False, **how) as reader:
                yield reader
        except DataError:
            raise
        except (OSError, ValueError, EOFError, KeyError, struct.error) as error:
            raise DataError(f"{self.kind} cannot be read: {' '.join(str(error).split())}") from None
