"""Clusters of rows in a source, numbered by the groups of all parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.rows.observations import Observations
from glmclf.core.rows.streamed import Elsewhere
from glmclf.core.rows.summed import Summed, added_by
from glmclf.data.source.digests import of_column, other_values
from glmclf.data.table.frame import MAX_EXACT_INTEGER, assigned, close_to, rounded
from glmclf.data.table.groups import Groups, check_number, without_group
from glmclf.errors import DataError
from glmclf.models.stream import Stream

N_ARRAYS = len(Observations._fields)  # arrays of a part before the columns of groups


def group_names(groups: Any, columns: list[Any]) -> list[str]:
    """Names of the columns of groups=.

    Raises
    ------
    DataError
        Values beside the table; no such column.
    """
    names: list[str] = [groups] if isinstance(groups, str) else groups
    stray = [groups] if not isinstance(names, list | tuple) else [n for n in names if not isinstance(n, str)]
    if stray:
        raise DataError(f"groups= of data in a stream are names of columns; found {type(stray[0]).__name__}")
    check_number(len(names))
    absent = [name for name in names if name not in columns]
    if absent:
        raise DataError(f'groups="{absent[0]}": no such column. {close_to(absent[0], columns)}')
    return list(names)


def clusters_of(stream: Stream, names: list[str]) -> Groups:
    """Clusters by the columns of groups.

    Parameters
    ----------
    stream : Stream
        With these columns beside the rows.
    names : list of str

    Raises
    ------
    DataError, MissingDataError
        Groups of several types in different parts; a row of the fit without a group.
    """
    distinct = stream.sum(_DistinctGroups.of)
    found = distinct.table
    for name in names:
        if {(name, "i"), (name, "f")} <= distinct.large:
            raise rounded(name)
        if len(types := {type(v).__name__ for v in found[name] if v is not None and isinstance(v, str | int)}) > 1:
            raise DataError(
                f'groups="{name}" holds values of types {", ".join(sorted(types))} in different parts: give it one '
                "type throughout"
            )
    codes: list[Any] = [StreamedCodes.of(stream, found, names, [name]) for name in names]
    return Groups(codes, names)


@dataclass(frozen=True)
class _DistinctGroups(Summed):
    """Distinct groups, or combinations of them, as they appear, and columns with numbers beyond 2**53 by their kind."""

    table: pd.DataFrame = field(metadata=added_by(lambda a, b: _distinct(pd.concat([a, b], ignore_index=True))))
    large: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, *arrays: Any) -> _DistinctGroups:
        groups = {str(g.name): g for g in arrays[N_ARRAYS : -1]}
        for name, values in groups.items():
            if (lost := values.isna().to_numpy(dtype=bool)).any():
                raise without_group(name, values.index[lost])
        found = _distinct(pd.DataFrame(groups))
        numbers = {name: kind for name in groups if (kind := found[name].dtype.kind.replace("u", "i")) in "if"}
        large = frozenset(
            (name, kind) for name, kind in numbers.items() if (found[name].abs() >= MAX_EXACT_INTEGER).any()
        )
        return cls(assigned(found, {name: _plain(found[name]) for name in groups}), large)


def _distinct(table: pd.DataFrame) -> pd.DataFrame:
    return table.drop_duplicates(ignore_index=True)


def _plain(column: pd.Series) -> pd.Series:
    """Labels as objects, equal whatever dtype a part has: whole numbers stay whole, also beside missing values."""
    values = column.astype(object)
    if column.dtype.kind == "f":  # pandas reads whole numbers beside missing values as floats
        whole = (np.asarray(column) % 1 == 0) & (np.abs(np.asarray(column)) < MAX_EXACT_INTEGER)
        values[whole] = [int(v) for v in np.asarray(column)[whole]]
    return values.where(column.notna(), None)


@dataclass(frozen=True)
class StreamedCodes:
    """Clusters of rows in a stream, numbered from 0 part by part.

    Attributes
    ----------
    stream : Stream
        With the columns of groups after the arrays of the rows.
    at : list of int
        Which of these columns make the clusters.
    labels : Index
        Of the clusters.
    """

    stream: Stream
    at: list[int]
    labels: pd.Index

    @classmethod
    def of(cls, stream: Stream, found: pd.DataFrame, names: list[str], which: list[str]) -> StreamedCodes:
        """Create clusters by some of the columns of groups."""
        labels = _index([found[name].to_numpy() for name in which]).unique()
        return cls(stream, [names.index(name) for name in which], labels)

    def __getitem__(self, rows: Elsewhere) -> StreamedCodes:
        """The numbers of some rows of the stream, which it leaves out by itself."""
        return self

    def max(self) -> int:
        """The largest number."""
        return len(self.labels) - 1

    def cells(self, others: list[StreamedCodes]) -> tuple[StreamedCodes, list[ndarray]]:
        """Intersections of this and other clusterings, and of which cluster of each they are part."""
        if not others:
            return self, [np.arange(len(self.labels))]
        names = list(self.stream.reader.beside)
        found = self.stream.sum(_DistinctGroups.of).table
        columns = [(codes.labels, found[names[codes.at[0]]].to_numpy()) for codes in (self, *others)]
        members = [labels.get_indexer(_index([values])) for labels, values in columns]
        return self.of(self.stream, found, names, names), members

    @property
    def number(self) -> Callable:
        """Numbers of the clusters of some rows, from their groups."""
        labels, at = self.labels, self.at
        names = '" and "'.join(self.stream.reader.beside[i] for i in at)

        def known(groups: list[pd.Series]) -> ndarray:
            if len(groups) > 1:
                return labels.get_indexer(pd.MultiIndex.from_arrays([_plain(g) for g in groups]))
            codes, found = pd.factorize(groups[0])
            return labels.get_indexer(pd.Index(_plain(pd.Series(found)), dtype=object))[codes]

        def number(*groups: Any) -> ndarray:
            if isinstance(groups[0], np.ndarray):  # arrays of a prototype
                return np.zeros(len(groups[0]), dtype=np.intp)
            found = known([groups[i] for i in at])
            if (found < 0).any():
                raise other_values("the source", of_column(names))
            return found

        return number


def _index(labels: list[ndarray]) -> pd.Index:
    """Labels, or combinations of them, as objects."""
    found = np.empty(len(labels[0]), dtype=object)
    found[:] = labels[0] if len(labels) == 1 else list(zip(*labels, strict=True))
    return pd.Index(found, dtype=object, tupleize_cols=False)
