"""Tables that the command reads and writes: files, shipped data sets, standard input; csv that spreadsheets take."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

FILES = ".csv or .tsv (also .csv.gz and the like), .parquet or .dta file, a folder of .parquet files"


def form_of(source: str) -> str | None:
    """What a table is read as: "shipped", "csv", or what `kind_of` a path is; None where nothing reads it."""
    from glmclf import datasets
    from glmclf.data.reading.open_source import kind_of

    if source in datasets.names():
        return "shipped"
    return "csv" if source == "-" else kind_of(source)


def read(source: str, written: dict[str, Any], name: str = "DATA", remote: bool = False, formula: str = "") -> Any:
    """Read the table that DATA names: a shipped data set, a path that `data=` takes, or csv on stdin.

    An address is fetched where `remote` says so: what calls the command with a name from outside asks for no network.
    Remarks of the file on columns are said of those that stand in the formula as they are.
    """
    from pandas.errors import EmptyDataError

    from glmclf import datasets
    from glmclf.data.reading.open_source import as_source
    from glmclf.errors import DataError, DataWarning, warn

    kind = form_of(source)
    if kind == "shipped":
        return datasets.load(source)
    if "://" in source and not remote:
        raise ValueError(f"{name} {source!r} is an address: --remote fetches it")
    if kind is None:
        names = ", ".join(datasets.names())
        raise ValueError(f"{name} {source!r} is neither a shipped data set ({names}) nor a {FILES}, nor -")
    if source != "-" and "://" not in source and not os.path.exists(os.path.expanduser(source)):
        raise ValueError(f"cannot read {source!r}: No such file or folder")
    try:
        if kind == "csv":
            return read_csv(source, written)
        opened: Any = as_source(source)
        for remark in said_of(opened, formula):
            warn(remark, DataWarning)
        return opened.whole()
    except DataError:
        raise
    except UnicodeDecodeError as error:
        byte = f"byte 0x{error.object[error.start]:02x}"
        encoding = written.get("encoding", "utf-8")
        raise ValueError(f"cannot read {source!r}: it is not in {encoding} ({byte}): name another --encoding") from None
    except EmptyDataError:
        raise ValueError(f"cannot read {source!r}: it is empty") from None
    except ValueError as error:
        raise ValueError(f"cannot read {source!r}: {printable(error)}") from None
    except ImportError:
        raise ValueError(f'reading {source!r} needs pyarrow: pip install "glmclf[parquet]"') from None
    except Exception as error:  # readers raise many types of errors for a file of another format
        raise ValueError(f"cannot read {source!r}: {getattr(error, 'strerror', None) or error}") from None


def said_of(opened: Any, formula: str) -> list[str]:
    """Remarks of a source on columns that stand in a formula as they are, not within a function."""
    return [said for name, said in opened.remarks.items() if re.search(rf"(?<![\w(]){re.escape(name)}(?!\w)", formula)]


def read_csv(source: str, written: dict[str, Any]) -> Any:
    """Read a csv file or standard input; names that occur twice in the header stay duplicates, which are refused."""
    import pandas as pd

    from glmclf import datasets
    from glmclf.data.source.csv import header
    from glmclf.data.source.paths import separator_of

    if source == "-" and (sys.stdin is None or sys.stdin.closed):
        raise ValueError("standard input is closed")
    text = None
    if source == "-":
        text = sys.stdin.buffer.read().decode(written["encoding"]) if "encoding" in written else sys.stdin.read()
    first, file = (source if text is None else io.StringIO(text) for _ in range(2))
    written = {"sep": separator_of(source), **written, **({"keep_default_na": False} if "na_values" in written else {})}
    if written.get("decimal") == written["sep"]:
        raise ValueError(f"--decimal {written['decimal']} is what is between columns, too: give --sep")
    names = header(first, **{name: value for name, value in written.items() if name in ("sep", "encoding")})
    frame = datasets.read_csv(file, **written)
    numbers = frame.iloc[:, 0].dtype.kind in "iuf" and isinstance(frame.index, pd.RangeIndex)
    if len(names) == 1 and any(mark in names[0] for mark in ",;\t| ") and not numbers:
        raise ValueError(f"there is one column, {names[0]!r}: name what is between columns by --sep")
    return frame.set_axis(names, axis=1) if len(names) == frame.shape[1] and all(names) else frame


def printable(error: Exception) -> str:
    """Message of an error, printable whatever bytes it quotes."""
    return str(error).encode("utf-8", "replace").decode("utf-8")


def for_spreadsheets(table: Any) -> Any:
    """Table for csv: no name or text is a formula of spreadsheets or commands a terminal; numbers stay."""
    from glmclf.errors import escaped
    from glmclf.results.tables.render import in_csv

    def word(value: Any) -> Any:
        return in_csv(escaped(value)) if isinstance(value, str) else value

    columns = [table.iloc[:, j] for j in range(table.shape[1])]
    shown = {j: c if c.dtype.kind in "biufM" else c.astype(object).map(word) for j, c in enumerate(columns)}
    return type(table)(shown, index=table.index).set_axis([word(name) for name in table.columns], axis=1)


def kind_written(path: str) -> str | None:
    """What separates the fields of csv in a file that a name is of; None of a name of another kind of file."""
    from glmclf.data.source.paths import SUFFIXES, separator_of, suffix_of

    suffix = suffix_of(path)
    return separator_of(path) if suffix in ("", ".txt") or SUFFIXES.get(suffix) == "csv" else None


def no_place(path: str) -> str:
    """Why no file of a name can be written: its folder is not there, or it is a folder itself; empty where none is."""
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        return "it is a folder"
    return "" if os.path.isdir(folder) else f"there is no folder {folder!r}"


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Name a file that cannot be written."""
    try:
        yield
    except OSError as error:
        raise ValueError(f"cannot write {path!r}: {error.strerror or error}") from None
