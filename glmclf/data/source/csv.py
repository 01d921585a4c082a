"""CSV files, read in parts of equally many rows."""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterator
from typing import Any

import pandas as pd

from glmclf.data.source import base
from glmclf.data.source.base import Place, Source
from glmclf.data.source.file_types import csv_dtypes
from glmclf.data.source.paths import short
from glmclf.errors import DataError


class Csv(Source):
    """A CSV file, read in parts of `ROWS` rows; columns have the types that the whole file has at once.

    Parameters
    ----------
    path : path
    """

    def __init__(self, path: Any):
        self.path, self.kind = os.fspath(path), f'CSV "{short(path)}"'
        self._dtypes: dict[Any, Any] | None = None
        with self._named():
            self.names = list(pd.read_csv(self.path, nrows=0).columns)

    def _tables(self, columns: list[str] | None) -> Iterator[tuple[pd.DataFrame, Place]]:
        if self._dtypes is None:  # of all columns, which also refuses lines with too many fields
            self._dtypes = csv_dtypes(self._read)
        wanted = None if columns is None else set(columns).__contains__  # a list would shift columns beside an index
        for number, table in enumerate(self._read(usecols=wanted, dtype=self._dtypes)):
            yield table, Place(number, f"part {number + 1} (rows from {number * base.ROWS})")

    def _read(self, **how: Any) -> Iterator[pd.DataFrame]:
        with self._named(), pd.read_csv(self.path, chunksize=base.ROWS, low_memory=False, **how) as parts:
            yield from parts

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """What cannot be read is named."""
        try:
            yield
        except UnicodeDecodeError as error:
            raise DataError(
                f"{self.kind} cannot be read: it is not in utf-8 (byte 0x{error.object[error.start]:02x}). Write it in "
                "utf-8, or pass a function without arguments that returns pandas.read_csv(path, encoding=..., "
                "chunksize=...)"
            ) from None
        except (OSError, ValueError, EOFError, OverflowError, zlib.error) as error:
            raise DataError(f"{self.kind} cannot be read: {' '.join(str(error).split())}") from None
