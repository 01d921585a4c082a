"""Some columns of a Dask DataFrame as a step of its expression that leaves partitions beside those of the frame."""

from __future__ import annotations

from typing import Any

import pandas as pd

try:
    from dask.dataframe.dask_expr import new_collection
    from dask.dataframe.dask_expr._expr import Blockwise
except ImportError:  # of versions before 2025
    from dask_expr import new_collection  # type: ignore[no-redef]
    from dask_expr._expr import Blockwise  # type: ignore[no-redef]


class ChosenColumns(Blockwise):
    """Columns of a frame, chosen by its reader where nothing else is made of the frame, and otherwise in each task.

    Dask's reader of Parquet joins partitions by the share of columns that are read, and Dask itself does not see that
    a predicate and its frame are then parted differently.

    Parameters
    ----------
    frame : Expr
    columns : list of str
    """

    _parameters = ["frame", "columns"]

    @staticmethod
    def operation(table: Any, columns: list[str]) -> Any:
        """The columns of a partition, if it has them all."""
        has = isinstance(table, pd.DataFrame) and set(columns) <= set(table.columns)
        return table[columns] if has else table

    @property
    def _projection_columns(self) -> list[Any]:
        return self.frame.columns

    def _simplify_up(self, parent: Any, dependents: Any) -> Any:
        """The parent upon a selection that the reader sees, if no other step rests on what this one rests on."""
        steps = {step._name for step in self.frame.walk()}
        users = {user._name for step in steps for seen in dependents[step] if (user := seen()) is not None}
        if not users <= steps | {self._name}:
            return None
        return parent.substitute(self, self.frame[list(self.operand("columns"))])


def beside_frame(data: Any, columns: list[str]) -> Any:
    """Partitions of a frame with some columns, to be used beside the frame itself."""
    return new_collection(ChosenColumns(data.expr, columns))
