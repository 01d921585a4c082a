"""CSV files and such with tabs, read in parts of equally many rows, one file after another."""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from pandas.errors import EmptyDataError

from glmclf.data.source import base
from glmclf.data.source.base import Place, Source
from glmclf.data.source.paths import separator_of, short
from glmclf.data.table.frame import MAX_EXACT_INTEGER, quoted, refuse_repeated
from glmclf.errors import DataError

DEFAULT_TEXT = pd.Series(["text"]).dtype
NUMBERS, TRUTHS, TEXT, NOTHING = "numbers", "True and False", "text", "nothing"  # what the fields of a part are


def header(file: Any, **how: Any) -> list[str]:
    """Names of columns as the first line has them, of which pandas numbers those that occur twice."""
    return list(pd.read_csv(file, header=None, nrows=1, dtype=str, keep_default_na=False, **how).iloc[0])


class Csv(Source):
    """CSV files, read in parts of `PART_ROWS` rows, or of what is left of a file.

    Columns hold in all parts what they hold in the first one: numbers, True and False, or text. Where that is text,
    numbers are read as text, too; other differences are errors.

    Parameters
    ----------
    paths : list of paths
        Files with the columns of the first one, in any order; those of a name that ends in .tsv have tabs.
    storage_options : dict, optional
        Of fsspec, for files elsewhere.
    """

    def __init__(self, paths: list[Any], storage_options: dict[str, Any] | None = None):
        self.paths, self._options = [os.fspath(path) for path in paths], storage_options
        self.kind = f"CSV {quoted(map(short, self.paths), 1)}"
        self._text: dict[Any, type] | None = None
        self._whole = True  # to be read with all columns, which refuses lines with too many fields
        for path in self.paths:
            with self._named(path):
                names = header(path, **self._how(path))
                refuse_repeated([name for name in names if name])
                self._refuse_one_column(path, names)
        with self._named(self.paths[0]):
            self.names = list(pd.read_csv(self.paths[0], nrows=0, **self._how(self.paths[0])).columns)

    def _refuse_one_column(self, path: str, names: list[str]) -> None:
        """Refuse a file in which something else than commas is between columns."""
        marks = [mark for mark in ";\t|" if len(names) == 1 and mark in names[0]]
        if marks:
            raise DataError(
                f"there is one column, {quoted(names)}, as between columns is {marks[0]!r}. Pass a function without "
                f'arguments that returns pandas.read_csv("{short(path)}", sep={marks[0]!r}, '
                f'chunksize={base.PART_ROWS}), with decimal="," where that is so'
            )

    def _tables(self, columns: list[str] | None) -> Iterator[tuple[pd.DataFrame, Place]]:
        if self._text is None:
            first, _ = next(self._read(), (pd.DataFrame(), ""))
            self._text = {name: str for name, column in first.items() if _typed(column)[1] == TEXT}
        used = self.names if columns is None else columns
        wanted = None if columns is None or self._whole else set(columns).__contains__  # a list would shift columns
        held: dict[Any, tuple[str, Place]] = {}  # what columns hold, and where that was first seen
        start = 0
        for number, (table, of) in enumerate(self._read(usecols=wanted, dtype=self._text)):
            place = Place(number, f"part {number + 1} ({of})")
            lacks = columns is not None and not set(columns) <= set(table)  # the error shows all that are there
            made = {name: _typed(table[name]) for name in (table if lacks else used) if name in table}
            for name, (_, kind) in made.items():
                if kind != NOTHING and held.setdefault(name, (kind, place))[0] != kind:
                    raise self._of_two_kinds(name, *held[name], kind, place)
            numbered = isinstance(table.index, pd.RangeIndex)
            index = pd.RangeIndex(start, start + len(table)) if numbered else _typed(table.index.to_series())[0]
            start += len(table)
            yield pd.DataFrame({name: column.array for name, (column, _) in made.items()}, index=index), place
        self._whole = False

    def _of_two_kinds(self, name: Any, kind: str, first: Place, other: str, place: Place) -> DataError:
        sep = "" if separator_of(self.paths[0]) == "," else r'sep="\t", '
        return DataError(
            f'{self.kind}: column "{name}" holds {kind} in {first} and {other} in {place}, but a column of a file that '
            "is read in parts has one type. Write it in one way, or say its type: pass a function without arguments "
            f'that returns pandas.read_csv("{short(self.paths[0])}", {sep}dtype={{"{name}": str}}, '
            f"chunksize={base.PART_ROWS})"
        )

    def _read(self, **how: Any) -> Iterator[tuple[pd.DataFrame, str]]:
        """Tables, with the rows that each holds."""
        for path in self.paths:
            options = {"chunksize": base.PART_ROWS, "low_memory": False, "dtype_backend": "numpy_nullable", **how}
            of = f' of "{short(path)}"' if len(self.paths) > 1 else ""
            with self._named(path), pd.read_csv(path, **self._how(path), **options) as parts:
                yield from ((part, f"rows from {i * base.PART_ROWS}{of}") for i, part in enumerate(parts))

    def _how(self, path: str) -> dict[str, Any]:
        return {"sep": separator_of(path), "storage_options": self._options}

    @contextlib.contextmanager
    def _named(self, path: str) -> Iterator[None]:
        """Name the file in errors of what cannot be read."""
        name = self.kind if len(self.paths) == 1 else f'CSV "{short(path)}"'
        try:
            yield
        except UnicodeDecodeError as error:
            raise DataError(
                f"{name} cannot be read: it is not in utf-8 (byte 0x{error.object[error.start]:02x}). Write it in "
                "utf-8, or pass a function without arguments that returns pandas.read_csv(path, encoding=..., "
                "chunksize=...)"
            ) from None
        except (OSError, ValueError, EOFError, OverflowError, zlib.error) as error:
            words = "it is empty" if isinstance(error, EmptyDataError) else " ".join(str(error).split())
            raise DataError(f"{name} cannot be read: {words}") from None


def _typed(column: pd.Series) -> tuple[pd.Series, str]:
    """A column as `pandas.read_csv` gives it by default, but for whole numbers beside missing ones that floats do not
    hold; and what it holds."""
    dtype: Any = column.dtype
    if not column.notna().any():
        return column.astype(np.float64), NOTHING
    if dtype.kind == "b":
        return column.astype(object if column.isna().any() else bool), TRUTHS
    if dtype.kind in "iu":
        if not column.isna().any():
            return column.astype(np.dtype(dtype.kind + "8")), NUMBERS
        beyond = (column >= MAX_EXACT_INTEGER).any() or (dtype.kind == "i" and (column <= -MAX_EXACT_INTEGER).any())
        return column if beyond else column.astype(np.float64), NUMBERS
    if dtype.kind == "f":
        return column.astype(np.float64), NUMBERS
    if isinstance(dtype, pd.StringDtype) and dtype.na_value is pd.NA:
        return _from_text(column)
    return column, TEXT


def _from_text(column: pd.Series) -> tuple[pd.Series, str]:
    """Whole numbers beyond 64 bits as floats; text as it is read by default."""
    try:
        float(column.iloc[int(column.notna().to_numpy().argmax())])
        return pd.to_numeric(column).astype(np.float64), NUMBERS
    except (ValueError, TypeError):
        return column.astype(object).where(column.notna(), np.nan).astype(DEFAULT_TEXT), TEXT
