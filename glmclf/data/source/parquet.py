"""Parquet files, folders and datasets of pyarrow, read in parts of neighbouring row groups."""

from __future__ import annotations

import contextlib
import itertools
import operator
import os
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pandas as pd

from glmclf.caching import cached_property
from glmclf.data.source import base
from glmclf.data.source.base import Place, Source, needed
from glmclf.data.source.digests import AGAIN
from glmclf.data.source.paths import SUFFIXES, paths_of, short, suffix_of
from glmclf.data.source.schema import one_schema
from glmclf.data.table.arrow import as_pandas, index_of_pandas
from glmclf.data.table.frame import quoted, with_digits
from glmclf.errors import DataError


class Batch(NamedTuple):
    """Rows of a file, as pyarrow gives them, and the file's name."""

    rows: Any
    file: str

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return self.rows.num_rows

    @property
    def schema(self) -> Any:
        """Types of the columns."""
        return self.rows.schema


class Parquet(Source):
    """Parquet files, or a pyarrow dataset; row groups cut into parts of up to `PART_ROWS` rows.

    Parameters
    ----------
    data : path, list of paths or pyarrow.dataset.Dataset
        A file or folder of such, or several.
    storage_options : dict, optional
        Of fsspec, for one path elsewhere.
    """

    def __init__(self, data: Any, storage_options: dict[str, Any] | None = None):
        paths = [os.fspath(path) for path in ([data] if isinstance(data, (str, os.PathLike)) else paths_of(data))]
        self.kind = f"Parquet {quoted(map(short, paths), 1)}" if paths else f"the {type(data).__name__}"
        pyarrow = needed("pyarrow", "parquet")
        self._apart: dict[str, str] = {}
        try:
            self._dataset, alike = self._opened(paths, storage_options) if paths else (data, True)
        except (OSError, ValueError, pyarrow.ArrowException) as error:
            raise DataError(f"{self.kind}{_because(error)}") from None
        self.names = list(self._dataset.schema.names)
        self._described = index_of_pandas(self._dataset.schema)
        self._indices = [name for name in self._described or () if isinstance(name, str)]
        if self._described is None and self._dataset.schema.metadata:
            self._dataset = self._dataset.replace_schema(self._dataset.schema.remove_metadata())
        self._plain = not alike or bool(self._indices)  # what pandas noted is of other types
        self._files, self._several = bool(paths), len(getattr(self._dataset, "files", ())) > 1

    def _opened(self, paths: list[str], storage_options: dict[str, Any] | None) -> tuple[Any, bool]:
        """The dataset, with a schema of all its files, and whether theirs are the same."""
        dataset = needed("pyarrow.dataset", "parquet")
        if len(paths) == 1 and not os.path.isdir(paths[0]):
            files, path = _elsewhere(paths[0], storage_options)
            return dataset.dataset(path, format=_format(paths[0]), partitioning="hive", filesystem=files), True
        from pyarrow.fs import LocalFileSystem

        files = [file for path in paths for file in (_parquet_files(path) if os.path.isdir(path) else [path])]
        base, hive = paths[0] if len(paths) == 1 else "", dataset.HivePartitioning.discover()
        options = dataset.FileSystemFactoryOptions(partition_base_dir=base, partitioning=hive)
        factory = dataset.FileSystemDatasetFactory(LocalFileSystem(), files, _format(files[0]), options)
        found = factory.finish()
        own = {f.path: f.physical_schema for f in found.get_fragments()}
        schema, self._apart = one_schema(list(own.values()), [short(file) for file in own])
        for field in found.schema:
            if schema.get_field_index(field.name) < 0:
                schema = schema.append(field)  # named by folders
        return factory.finish(schema), all(one.equals(next(iter(own.values()))) for one in own.values())

    def _tables(self, columns: list[str] | None) -> Iterator[tuple[pd.DataFrame, Place]]:
        pyarrow = needed("pyarrow", "parquet")
        for name in columns or ():
            if self._apart.get(name):
                raise DataError(f"{self.kind}: {self._apart[name]}")
        start, step = self._numbers
        for number, some in enumerate(_together(self._batches(self.names if columns is None else columns))):
            files = [file for file in dict.fromkeys(batch.file for batch in some) if file and self._several]
            of = f" ({' to '.join([files[0], *files[1:][-1:]])})" if files else ""
            place, whole = Place(number, f"part {number + 1}{of}"), pyarrow.Table.from_batches([b.rows for b in some])
            try:
                table = with_digits(as_pandas(whole, ignore_metadata=self._plain, split_blocks=True), whole)
            except (ValueError, pyarrow.ArrowException) as error:
                raise DataError(f"{place} of {self.kind}{_because(error)}") from error
            stop = start + step * len(table)
            table.index, start = pd.RangeIndex(start, stop, step), stop
            yield table, place

    def whole(self) -> pd.DataFrame:
        """All rows as one table in memory, as pandas reads them."""
        pyarrow = needed("pyarrow", "parquet")
        for said in filter(None, self._apart.values()):
            raise DataError(f"{self.kind}: {said}")
        try:
            rows = self._dataset.to_table()
            table = with_digits(as_pandas(rows, ignore_metadata=self._plain), rows)
        except (OSError, ValueError, pyarrow.ArrowException) as error:
            raise DataError(f"{self.kind}{_because(error)}") from error
        return self._labelled(table)

    def _batches(self, columns: list[str]) -> Iterator[Batch]:
        """Rows of one file after another; one that cannot be read is named."""
        pyarrow = needed("pyarrow", "parquet")
        for fragment in _fragments(self._dataset):
            file = short(getattr(fragment, "path", None) or "")
            try:
                for piece, given in _pieces(fragment, self._dataset.schema, self._apart):
                    yield from (Batch(rows, file) for rows in piece.to_batches(columns=columns, **given))
            except (OSError, ValueError, pyarrow.ArrowException) as error:
                whose = f'"{file}" of {self.kind}' if file and f'"{file}"' not in self.kind else self.kind
                schema = "" if self._files else " (or a schema= that its files do not fit)"
                raise DataError(
                    f"{whose}{_because(error)}. If it was there when it was opened, it is damaged{schema} or has been "
                    f"written to since: while a result is in use {AGAIN}"
                ) from error

    @cached_property
    def _numbers(self) -> tuple[int, int]:
        """Start and steps of the index that numbers rows: as pandas wrote it, if it is of so many rows."""
        ranges = [index for index in self._described or () if isinstance(index, dict) and index.get("kind") == "range"]
        if len(ranges) != 1 or (ranges[0]["start"], ranges[0]["step"]) == (0, 1):
            return 0, 1
        start, stop, step = (ranges[0][end] for end in ("start", "stop", "step"))
        return (start, step) if len(range(start, stop, step)) == self._dataset.count_rows() else (0, 1)

    def _labelled(self, rows: Any) -> Any:
        """Rows with the index that pandas wrote, if it is a column of the files."""
        if not self._indices or not set(self._indices) <= set(getattr(rows, "columns", ())):
            return rows
        nameless = [name.startswith("__index_level_") for name in self._indices]
        names = [None if none else name for none, name in zip(nameless, self._indices, strict=True)]
        return rows.set_index(self._indices).rename_axis(names)


def _elsewhere(path: str, storage_options: dict[str, Any] | None) -> tuple[Any, str]:
    """File system and path of an address, by fsspec where pyarrow has none of its protocol, or options are given."""
    if "://" not in path:
        return None, path
    if storage_options is None:
        with contextlib.suppress(ValueError):
            return needed("pyarrow.fs", "parquet").FileSystem.from_uri(path)
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise ImportError(f'"{path}" needs fsspec: pip install fsspec') from None
    return url_to_fs(path, **(storage_options or {}))


def _because(error: Exception) -> str:
    """Words for why a file is not read, to follow its name."""
    words = " ".join(str(error).split()).rstrip(".")
    return f": {words}" if isinstance(error, DataError) else f" cannot be read: {words}"


def _format(path: str) -> Any:
    """Options of reading a path; files on this machine are not read ahead of what is decoded, which
    would hold them all."""
    dataset = needed("pyarrow.dataset", "parquet")
    reading = dataset.ParquetFragmentScanOptions(pre_buffer="://" in path)
    return dataset.ParquetFileFormat(default_fragment_scan_options=reading)


def _fragments(dataset: Any) -> Iterator[Any]:
    """The files of a dataset; one with a filter, which pyarrow does not take apart, as it is."""
    try:
        yield from dataset.get_fragments()
    except ValueError:
        yield dataset


def _pieces(fragment: Any, schema: Any, apart: Iterable[str]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Pieces of a file that are scanned at a time, with options: row groups of about `PART_ROWS` rows, as a scan of
    them all runs ahead by up to a gigabyte. Columns that no one type holds have that of the file."""
    options = {"batch_size": base.PART_ROWS, "batch_readahead": 2, "fragment_readahead": 1}
    if not hasattr(fragment, "physical_schema"):
        yield fragment, options
        return
    for name in apart:
        if (own := fragment.physical_schema.get_field_index(name)) >= 0:
            schema = schema.set(schema.get_field_index(name), fragment.physical_schema.field(own))
    groups = getattr(fragment, "row_groups", None)
    pieces = [fragment] if groups is None else [fragment.subset(row_group_ids=run) for run in _runs(groups)]
    yield from ((piece, {"schema": schema, **options}) for piece in pieces)


def _runs(groups: list[Any]) -> Iterator[list[int]]:
    """Numbers of neighbouring row groups, of `PART_ROWS` rows or of one that has more."""
    return ([group.id for group in run] for run in _in_runs(groups))


def _in_runs(pieces: Iterable[Any]) -> Iterator[list[Any]]:
    """Runs of neighbouring pieces of up to `PART_ROWS` rows together, or of one piece that has more."""
    run: list[Any] = []
    rows = 0
    for piece in pieces:
        if run and rows + piece.num_rows > base.PART_ROWS:
            yield run
            run, rows = [], 0
        run.append(piece)
        rows += piece.num_rows
    if run:
        yield run


def _parquet_files(folder: str) -> list[str]:
    """The Parquet files of a folder and those in it; others that lie there are passed over.

    Raises
    ------
    DataError
        There are none.
    """
    inside = [(at, name) for at, _, names in sorted(os.walk(folder)) for name in sorted(names)]
    inside = [(at, name) for at, name in inside if not _hidden(os.path.relpath(at, folder)) and name[0] not in "._"]
    known = ("", *(suffix for suffix, kind in SUFFIXES.items() if kind == "parquet"))
    found = [os.path.join(at, name) for at, name in inside if suffix_of(name) in known]
    if not found:
        others = f"; it has {quoted([name for _, name in inside], 4)}" if inside else ""
        raise DataError(f"the folder holds no Parquet file (.parquet){others}")
    return found


def _hidden(folder: str) -> bool:
    return any(name[0] in "._" and name != "." for name in folder.split(os.sep))


def _together(batches: Iterable[Batch]) -> Iterator[list[Batch]]:
    """Rows of the same types, joined to parts of about `PART_ROWS` rows; batches without rows only
    where all are such."""
    for _, alike in itertools.groupby(batches, key=operator.attrgetter("schema")):
        yield from ([batch for batch in run if batch.num_rows] or run[:1] for run in _in_runs(alike))
