"""Clusters: variables beside the table, as codes of the rows of a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.data.table.frame import align, as_frame, as_series, matched, read_column
from glmclf.errors import DataError, MissingDataError

MAX_GROUPINGS = 10  # with 2^10 - 1 intersections
GROUPING_TYPES = (str, pd.Series, pd.Index, np.ndarray)  # of one grouping among several


@dataclass(frozen=True)
class Groups:
    """Groupings of the rows of a fit.

    Attributes
    ----------
    codes : list of (n,) integer ndarrays
        Clusters numbered from 0.
    names : list of str
        What to call the groupings.
    """

    codes: list[ndarray]
    names: list[str]


def read_groups(
    groups: Any,
    table: pd.DataFrame | None,
    given_index: pd.Index,
    cut: ndarray | None,
    positions: ndarray | slice,
    index: pd.Index,
) -> Groups:
    """The groupings that a user gave, for the rows of a fit.

    Parameters
    ----------
    groups : str, Series, array, or several of them as a list, DataFrame or (n, m) array
        Column names, or values beside the table before `subset` (a Series also beside the table after it).
    table : DataFrame or None
        The table after `subset`; None for a model of arrays.
    given_index, cut : Index, bool ndarray or None
        Labels of the rows before `subset`, and what it left of them.
    positions, index : ndarray or slice, Index
        Places of the rows of the fit in the table, and their labels.

    Raises
    ------
    ValueError
        More than `MAX_GROUPINGS` groupings, or none.
    DataError, MissingDataError
        Values that do not fit the rows; a row of the fit without a group.
    """
    variables = _groupings(groups, table)
    numbered = [f"groups[{i}]" for i in range(len(variables))] if len(variables) > 1 else ["groups"]
    names = [label(v, name) for v, name in zip(variables, numbered, strict=True)]
    codes = []
    for variable, name in zip(variables, names, strict=True):
        found, _ = pd.factorize(_beside(variable, table, given_index, cut)[positions])
        if (found < 0).any():
            raise without_group(name, index[found < 0])
        codes.append(found)
    return Groups(codes, names)


def without_group(name: str, rows: pd.Index) -> MissingDataError:
    """The error for rows of the fit that have no group."""
    return MissingDataError(
        f"{name}: the group is missing in {len(rows)} row{'' if len(rows) == 1 else 's'} of the fit "
        f"(first: {list(rows[:5])}). Drop such rows from the data, or give them a group."
    )


def check_number(n: int, of: str = "") -> None:
    """ValueError for no groupings, or more than `MAX_GROUPINGS`; `of` says where they were found."""
    if not 1 <= n <= MAX_GROUPINGS:
        raise ValueError(f"groups: 1 to {MAX_GROUPINGS} groupings, found {n}{of}")


def label(value: Any, keyword: str) -> str:
    """Name of a grouping in the summary: its column, its Series' name, or its keyword."""
    if isinstance(value, str):
        return value
    name = getattr(value, "name", None)
    return keyword if name is None else str(name)


def _beside(variable: Any, table: pd.DataFrame | None, given_index: pd.Index, cut: ndarray | None) -> ndarray:
    if table is not None:
        same = isinstance(variable, pd.Series) and variable.index.equals(table.index)
        if same or isinstance(variable, str):
            return _labels(variable, table)
    values = _labels(variable, pd.DataFrame(index=given_index))
    return values if cut is None else values[cut]


def _labels(variable: Any, frame: pd.DataFrame) -> ndarray:
    """Labels of the groups, one a row; objects need no common order, as levels of a factor do."""
    series = matched(variable, name="groups", frame=frame)
    if series.dtype.kind in "iu":  # floats would be equal above 2**53
        return series.to_numpy() if isinstance(series.dtype, np.dtype) else series.astype(object).to_numpy()
    if isinstance(series.dtype, pd.CategoricalDtype):
        return series.astype(object).to_numpy()
    if series.dtype == object and series.map(pd.api.types.is_hashable).all():
        return series.to_numpy()
    return align(variable, name="groups", frame=frame)


def grouping(name: str, part: pd.DataFrame) -> pd.Series:
    """A column of groups in a part of a table, refused where its values cannot be compared."""
    series = part[name]
    odd = series.dtype == object and not series.map(pd.api.types.is_hashable).all()
    if odd or series.dtype.kind == "f" or (isinstance(series.dtype, pd.ArrowDtype) and series.dtype.kind == "O"):
        values = read_column(series, name).marked()
        return pd.Series(values, index=series.index, name=name)
    return series


def _groupings(groups: Any, table: pd.DataFrame | None) -> list[Any]:
    if not isinstance(groups, (pd.DataFrame, pd.Series)) and hasattr(groups, "to_pandas"):
        groups = as_frame(groups) if hasattr(groups, "columns") else as_series(groups)
    if isinstance(groups, pd.MultiIndex):
        variables = [groups.get_level_values(i) for i in range(groups.nlevels)]
    elif isinstance(groups, pd.DataFrame):
        variables = [groups[c] for c in groups.columns]
    elif isinstance(groups, (list, tuple)) and all(isinstance(g, GROUPING_TYPES) for g in groups):
        variables = list(groups)
        known = [table is not None and isinstance(g, str) and g in table.columns for g in groups]
        names = all(known) or (any(known) and len(groups) <= MAX_GROUPINGS)
        if not names and all(isinstance(g, str) for g in groups) and len(groups) > 2:
            variables = [np.asarray(groups, dtype=object)]  # the labels themselves, as a list
    elif isinstance(groups, (list, tuple)) and len(groups) > 2 and any(isinstance(g, tuple) for g in groups):
        variables = [pd.Series(list(groups), dtype=object).array]  # labels that are tuples
    elif isinstance(groups, np.ndarray) and groups.ndim == 2:
        variables = list(np.asarray(groups).T)
    elif isinstance(groups, np.ndarray) and groups.dtype.names:
        variables = [pd.Series(groups[name], name=name) for name in groups.dtype.names]
    elif isinstance(groups, (list, tuple)) and groups and all(isinstance(g, list) for g in groups):
        raise DataError(
            f"groups= is a {type(groups).__name__} of {len(groups)} lists: pass np.array(groups) where each is a row "
            "of the data, or a tuple of arrays where each is a grouping"
        )
    else:
        variables = [groups]
    array = isinstance(groups, np.ndarray)
    check_number(len(variables), f" in an array of shape {groups.shape}, one a column" if array else "")
    return variables
