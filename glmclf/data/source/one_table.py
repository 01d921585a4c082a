"""Tables in memory as sources of one part, which remember what was made of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from glmclf.caching import cached_property
from glmclf.data.source.base import Place, Source
from glmclf.data.table.frame import as_frame, assigned

WHOLE_TABLE = Place(0, "the table")


class OneTable(Source):
    """A table in memory, as a source of one part.

    Rows may have labels, masks and values of the caller's beside them, and code may look across them.

    Parameters
    ----------
    data : DataFrame, Mapping, polars or pyarrow frame
    """

    kind, labelled = "a table in memory", True

    def __init__(self, data: Any):
        self._data = data
        self._settled: Any = None

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The table as a pandas frame; the caller's stays as it is."""
        return as_frame(self._data)

    @property
    def names(self) -> list[Any]:  # type: ignore[override]
        """Columns of the table."""
        return list(self.frame.columns)

    def add_columns(self, columns: dict[str, pd.Series]) -> None:
        """Take variables of the caller that hold a value a row for columns."""
        if columns:
            self.frame = assigned(self.frame, columns)

    def settled(self, reader: Any) -> Any:
        """Settled rows of the table for a reader: made once, and remembered."""
        if self._settled is None:
            self._settled = reader.settled(self.frame, "whole")
        return self._settled

    def first(self, columns: list[str] | None = None) -> pd.DataFrame:
        """The table itself, whose rows show what they are like."""
        return self.frame if columns is None else self.frame[columns]

    def _tables(self, columns: list[str] | None) -> Iterator[tuple[pd.DataFrame, Place]]:
        yield self.first(columns), WHOLE_TABLE
