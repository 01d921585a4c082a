"""Rows in which a term has no finite value though its columns have one: log of 0, root of -1, division by 0.

In rows of a fit and in new rows such a value counts as missing, and one warning says of which term, in which rows, and
what its columns hold there. An infinite value in a row of the fit is refused where it arises.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.rows.asked import first_time
from glmclf.data.formula.factors import Expression, Value
from glmclf.data.table.frame import Column
from glmclf.data.table.undefined_rows import infinite_stays, note_undefined
from glmclf.errors import DataWarning, warn

MAX_ROWS_LOOKED_AT = 1000  # rows among which a warning looks for different values
MAX_ROWS_SHOWN = 4  # rows that a warning names, with the values of their columns
LEFT_OUT = "They are left out."
COUNTS_AS_MISSING = "They count as missing: what needs them is NaN."


class NamedColumns(dict[str, Column]):
    """Columns of a table by name, with the labels of the table's rows."""

    def __init__(self, index: pd.Index | None):
        super().__init__()
        self.index = index


def not_finite_rows(value: Value) -> ndarray:
    """Rows in which a factor has no value, or an infinite one."""
    with np.errstate(over="ignore", invalid="ignore"):  # infinities of both signs, and finite numbers near the largest
        finite = value.labelled or infinite_stays() or np.isfinite(value.data.sum())
    if finite:
        return value.missing()
    return ~np.isfinite(value.data).all(axis=1)


def say_undefined(
    e: Expression, columns: Mapping[str, Column], lost: ndarray, index: pd.Index | None, then: str
) -> None:
    """Warn, once in a call of the user, of the rows in which a term has no finite value although its columns have one.

    Parameters
    ----------
    e : Expression
        The term.
    columns : mapping of Column
        Those of the whole table.
    lost : (n,) bool ndarray
        Rows in which it has none.
    index : Index or None
        Labels of the rows.
    then : str
        What becomes of them.
    """
    if e.bare is not None or e.seen is not None:
        return
    for name in e.columns:
        missing = columns[name].missing
        lost = lost if missing is None else lost & ~missing
    where = np.flatnonzero(lost)
    if not len(where) or infinite_stays():
        return
    note_undefined(lost)
    if not first_time(("undefined", e.code)):
        return
    shown: dict[str, str] = {}  # rows by what their columns hold: set to one value they are all alike
    for i in where[:MAX_ROWS_LOOKED_AT]:
        shown.setdefault(_values(e, columns, i), str(i if index is None else index[i]))
    some = [f"{values} in row {row}" if values else f"row {row}" for values, row in shown.items()][:MAX_ROWS_SHOWN]
    more = f", and {len(where) - len(some)} more" if len(where) > len(some) else ""
    warn(
        f'"{e.code}" has no finite value in {len(where)} of {len(lost)} rows, although its columns have one: '
        f"{'; '.join(some)}{more}. {then}",
        DataWarning,
    )


def say_undefined_parts(code: str, rows: int) -> None:
    """Warn of rows of data in parts that were left out as a term has no value in them."""
    if first_time(("undefined", code)):
        plural = "s" if rows > 1 else ""
        warn(f'"{code}" has no value in {rows} row{plural}, although its columns have one. {LEFT_OUT}', DataWarning)


def _values(e: Expression, columns: Mapping[str, Column], row: int) -> str:
    """What the columns of a term hold in a row, in words."""
    found = []
    for name in e.columns:
        values = columns[name].values
        value = values[row] if not isinstance(values, pd.Series) else values.iloc[row]
        number = isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, np.bool_))
        found.append(f"{name} = {value:.6g}" if number else f"{name} = {value}")
    return ", ".join(found)
