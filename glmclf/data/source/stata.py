"""Stata's files, read in parts of equally many rows, value labels as categories."""

from __future__ import annotations

import contextlib
import errno
import os
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from pandas.errors import OutOfBoundsDatetime
from pandas.io.stata import StataReader

from glmclf.data.source import base
from glmclf.data.source.base import Place, Source
from glmclf.data.source.paths import short
from glmclf.data.table.frame import quoted, refuse_repeated
from glmclf.errors import DataError


class Stata(Source):
    """A file of Stata, read in parts of `PART_ROWS` rows.

    A column whose values all have labels is categorical as `pandas.read_stata` makes it of the whole file: a category
    for each value that some row has, in the order of the values, called by its label. One in which only some have a
    label (99: "unknown") stays numbers, which is said where it is used.

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
        self.remarks: dict[str, str] = {}
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

    def whole(self) -> pd.DataFrame:
        """All rows as one table in memory."""
        return pd.concat([table for table, _ in self._given(None)], ignore_index=True)

    def _categories(self, name: str) -> list[Any]:
        return [self._labels[name][value] for value in self._values[name].tolist()]

    def _found_values(self) -> dict[str, Any]:
        """Values that some row has of columns whose values all have labels, in their order."""
        found = {name: np.zeros(0) for name in self._labels}
        for table in self._parts(list(self._labels)) if found else ():
            for name, values in list(found.items()):
                own = np.sort(table[name].dropna().unique())
                found[name] = np.union1d(values, own) if len(values) else own
                if bare := [value for value in own.tolist() if value not in self._labels[name]]:
                    del found[name]
                    self.remarks[name] = self._in_part(name, bare)
        return found

    def _in_part(self, name: str, bare: list[Any]) -> str:
        """Words on a column of which some values, `bare`, have no label."""
        label = next(f'{value} is "{label}"' for value, label in self._labels[name].items())
        return (
            f'"{name}" of {self.kind} has labels in part: {label}, but {quoted(bare, 3)} '
            f"{'have' if len(bare) > 1 else 'has'} none. It is taken for numbers, as Stata takes it; write I({name}) "
            f"to say so, or C({name}) for a level for each value"
        )

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
        except (OSError, ValueError, EOFError, LookupError, OverflowError, struct.error) as error:
            raise DataError(f"{self.kind} cannot be read: {_because(error)}") from error


def _because(error: Exception) -> str:
    """Words of an error of reading, unless they are of the bytes that the reader did not find."""
    words = " ".join(str(error).split()).rstrip(".")
    of_system = isinstance(error, OSError) and error.errno != errno.EINVAL  # which is of a place before the file
    if of_system or isinstance(error, OutOfBoundsDatetime) or "stata" in words.lower():
        return words
    return f"it is no file of Stata, or is damaged or cut off ({type(error).__name__}: {words})"
