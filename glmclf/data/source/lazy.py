"""Tables that an engine makes when they are asked for, batch by batch: LazyFrames of polars, relations of DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from glmclf.data.source import base
from glmclf.data.source.base import needed
from glmclf.data.source.calls import Calls
from glmclf.data.table.frame import not_computed
from glmclf.errors import DataError


class LazyTables(Calls):
    """An engine's table, of which each pass asks for the columns that it needs, in parts of `PART_ROWS` rows.

    Parameters
    ----------
    kind : str
        What it is, for messages.
    batches : callable
        ``batches(columns)``: tables with these columns, by default all, that can be sliced.
    joined : callable
        A table of a list of such.
    """

    def __init__(
        self, kind: str, batches: Callable[[list[str] | None], Iterable[Any]], joined: Callable[[list[Any]], Any]
    ):
        def parts(columns: list[str] | None = None) -> Iterator[Any]:
            return _of_equal_size(batches(columns), joined)

        super().__init__(parts, kind)

    def _made(self, columns: list[str] | None) -> Any:
        return self._function(columns)  # type: ignore[call-arg]

    def _noted(self, tables: Iterable[Any]) -> Iterator[Any]:
        try:
            yield from tables
        except Exception as error:  # of the engine, which has its own
            raise not_computed(self.kind, error) from error


def of_polars(frame: Any) -> LazyTables:
    """Source of a polars LazyFrame."""
    import polars

    if not hasattr(frame, "collect_batches"):
        raise DataError(f"polars {polars.__version__} reads no LazyFrame in parts: update it, or pass data.collect()")

    def batches(columns: list[str] | None) -> Iterator[Any]:
        some = frame if columns is None else frame.select(columns)
        yield some.clear().collect()  # the columns, where there are no rows
        yield from some.collect_batches(chunk_size=base.PART_ROWS)

    return LazyTables("the polars LazyFrame", batches, polars.concat)


def of_duckdb(relation: Any) -> LazyTables:
    """Source of a relation of DuckDB."""
    import duckdb

    pyarrow = needed("pyarrow", "parquet")

    def batches(columns: list[str] | None) -> Iterator[Any]:
        some = relation.select(*map(duckdb.ColumnExpression, relation.columns if columns is None else columns))
        reader = getattr(some, "to_arrow_reader", some.fetch_record_batch)(base.PART_ROWS)
        yield reader.schema.empty_table()
        yield from map(lambda batch: pyarrow.Table.from_batches([batch]), reader)

    return LazyTables("the DuckDB relation", batches, pyarrow.concat_tables)


def _of_equal_size(tables: Iterable[Any], joined: Callable[[list[Any]], Any]) -> Iterator[Any]:
    """Tables of `PART_ROWS` rows each, but for the last, whatever the sizes in which an engine gives them."""
    waiting: list[Any] = []
    rows, nothing = 0, True
    for table in tables:
        start = 0
        while True:
            waiting.append(table.slice(start, base.PART_ROWS - rows))
            rows, start = rows + len(waiting[-1]), start + len(waiting[-1])
            if rows < base.PART_ROWS:
                break
            yield joined(waiting)
            waiting, rows, nothing = [], 0, False
    if rows or nothing:
        yield joined(waiting)
