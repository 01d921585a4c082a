"""Designs from arrays: endog and exog as the caller has them, in statsmodels' manner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf import registry
from glmclf.core.design.dense import Dense
from glmclf.data.table.frame import Column, as_frame, close_to, quoted, read_column
from glmclf.errors import DataError


class Dropped(NamedTuple):
    """The constant column that a model of features leaves out of X.

    Attributes
    ----------
    name : str
        Its name.
    place : int
        Where it stood.
    value : float
        What it holds.
    """

    name: str
    place: int
    value: float

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Dropped | None:
        """The constant left out by a stored design; None where none was left out."""
        return cls(*record["dropped"]) if record.get("dropped") else None


@dataclass
class ArrayDesign:
    """Columns of X that came as an array or a table of numbers.

    Attributes
    ----------
    xnames : list of str
        Column names: the table's own, or ``const, x1, x2, ...``.
    k_constant : int
        1 where a constant is among the columns or spanned by them.
    endog_name : str
        Name of the response.
    dropped : Dropped or None
        The constant column that was left out, where the model asked for that. Rows given by place may still hold it.
    """

    xnames: list[str]
    k_constant: int
    endog_name: str
    formula: None = None
    levels: dict[str, list[Any]] = field(default_factory=dict)
    dropped: Dropped | None = None

    def to_record(self) -> dict[str, Any]:
        """The design as plain Python objects."""
        return {
            "kind": "arrays",
            "xnames": list(self.xnames),
            "k_constant": self.k_constant,
            "endog_name": self.endog_name,
            "dropped": None if self.dropped is None else list(self.dropped),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any], borrowed: Mapping[str, Any], *, safe: bool) -> ArrayDesign:
        """The design of which `to_record` gave the record; it borrows nothing."""
        dropped = Dropped.of_record(record)
        return cls(record["xnames"], record["k_constant"], record["endog_name"], dropped=dropped)

    @property
    def computed(self) -> list[bool]:
        """Whether each column of X was computed from others: none was."""
        return [False] * len(self.xnames)

    @property
    def terms(self) -> dict[str, slice]:
        """Terms of the design: each column is one."""
        return {name: slice(j, j + 1) for j, name in enumerate(self.xnames)}

    @property
    def variables(self) -> list[str]:
        """Names of the columns, which are the variables."""
        return list(self.xnames)

    def matrix(self, newdata: Any, partial: bool = False) -> ndarray:
        """X for other rows: a table with these columns in any order, k columns, or one row of k numbers.

        Returns
        -------
        (rows, k) ndarray
            float64, column-contiguous; a row with a missing value is NaN throughout, or with `partial` only in the
            columns where it is missing.

        Raises
        ------
        DataError
            Columns that are not there, another number of columns, values that are not numbers.
        """
        X = np.array(self._given(newdata), dtype=np.float64, order="F")
        if not partial:
            X[np.isnan(X).any(axis=1)] = np.nan
        return X

    def new_columns(self, newdata: Any) -> Dense:
        """X for other rows as Columns, uncopied unless a value is missing."""
        X = self._given(newdata)
        return Dense(X if sums_up(X) else self.matrix(newdata))

    def _given(self, newdata: Any) -> ndarray:
        if isinstance(newdata, Mapping) or is_frame(newdata):
            return self._by_name(as_frame(newdata, empty=True, scalars=True))
        return rows_by_place(newdata, self.xnames, self.dropped)

    def derivative(self, newdata: Any, variable: str) -> ndarray:
        """Derivative of X in one of its columns, which are the variables: 1 there and 0 elsewhere.

        Returns
        -------
        (rows, k) ndarray
            float64, column-contiguous; a row with a missing value is NaN throughout.

        Raises
        ------
        DataError
            A column that is not there, and as `matrix`.
        """
        if variable not in self.xnames:
            raise DataError(f'no column "{variable}" in the model. {close_to(str(variable), self.xnames)}')
        X = self.matrix(newdata)
        missing = np.isnan(X).any(axis=1)
        X[:] = 0.0
        X[:, self.xnames.index(variable)] = 1.0
        X[missing] = np.nan
        return X

    def __call__(self, newdata: Any) -> tuple[None, ndarray]:
        """The pair (None, X) of `matrix`."""
        return None, self.matrix(newdata)

    def _by_name(self, frame: pd.DataFrame) -> ndarray:
        names = {str(c): c for c in frame.columns}
        absent = [name for name in self.xnames if name not in names]
        if not absent:
            frame = frame[[names[name] for name in self.xnames]]
        elif frame.shape[1] != len(self.xnames) or set(names) & set(self.xnames):
            raise DataError(
                f"the new data have no column {quoted(absent)}, which the model needs. "
                f"{close_to(absent[0], frame.columns)}"
            )
        return table_numbers(frame)


def rows_by_place(newdata: Any, xnames: list[str], dropped: Dropped | None = None) -> ndarray:
    """Rows of a design given as numbers in the order of its columns: k columns, or one row of k numbers.

    With a `dropped` constant the rows may have k + 1 columns, as the model was given them.

    Raises
    ------
    DataError
        Another number of columns, values that are not numbers, something else where the constant was.
    """
    if isinstance(newdata, pd.Series) and len(xnames) > 1 and set(xnames) <= {str(i) for i in newdata.index}:
        newdata = newdata.rename(index=str)[xnames]
    X = numbers_of(newdata, "the new data")
    k = len(xnames)
    if X.ndim < 2:
        X = X.reshape(-1, 1) if k == 1 and not (dropped and len(X) == 2) else X.reshape(1, -1)
    if dropped is not None and X.ndim == 2 and X.shape[1] == k + 1:
        X = _without(X, dropped)
    if X.ndim != 2 or X.shape[1] != k:
        raise DataError(f"the new data have shape {np.shape(newdata)}; the model has {k} columns ({quoted(xnames)}).")
    return X


def _without(X: ndarray, dropped: Dropped) -> ndarray:
    """X less the constant column."""
    column = X[:, dropped.place]
    if not ((column == dropped.value) | np.isnan(column)).all():
        raise DataError(
            f'column {dropped.place} of the new data is not {dropped.value:g} throughout, as "{dropped.name}" was when '
            f"the model was fitted."
        )
    return np.delete(X, dropped.place, axis=1)


# ------------------------------------------------------------------------------------------------------- reading


def is_frame(value: Any) -> bool:
    if isinstance(value, (np.ndarray, pd.Series, list, tuple)):
        return False
    return isinstance(value, pd.DataFrame) or (hasattr(value, "columns") and not hasattr(value, "tocsr"))


def is_sparse(value: Any) -> bool:
    """Whether an object is a scipy.sparse array or matrix."""
    return hasattr(value, "tocsr")


def named_sparse(X: Any, names: list[str]) -> Any:
    """A scipy.sparse array that brings the names of its columns, which `names_of_sparse` finds."""
    from scipy.sparse import csr_array

    X = csr_array(X)
    X.names_of_columns = names
    return X


def names_of_sparse(X: Any) -> list[str] | None:
    """Names that `named_sparse` gave to the columns; None of any other array."""
    return getattr(X, "names_of_columns", None)


def sparse_table(value: Any) -> tuple[Any, list[str], pd.Index] | None:
    """A table of pandas' sparse columns as a csr array, its columns' names and its index; None for anything else."""
    if not isinstance(value, pd.DataFrame) or not value.shape[1]:
        return None
    if not all(isinstance(dtype, pd.SparseDtype) for dtype in value.dtypes.unique()):
        return None
    names = column_names(value)
    check_columns(value.shape, names)
    return sparse_numbers(value.sparse.to_coo(), "exog"), names, value.index


def column_names(frame: pd.DataFrame) -> list[str]:
    """Names of a table's columns as text."""
    return [".".join(map(str, c)) if isinstance(c, tuple) else str(c) for c in frame.columns]


def check_columns(shape: tuple[int, ...], names: list[str]) -> None:
    """Refuse an exog without rows or columns, or with two columns of one name."""
    if 0 in shape:
        raise DataError(f"exog has shape {shape}: it needs at least one row and one column.")
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise DataError(f"columns of exog occur more than once: {quoted(repeated)}. Rename or drop the copies.")


def unmasked(values: Any) -> Any:
    """A masked array with NaN for what it masks; anything else in memory as it is."""
    if type(values).__module__.partition(".")[0] in ("dask", "dask_expr"):
        raise DataError(
            f"found a Dask {type(values).__name__} where values in memory are needed: pass the Dask DataFrame to "
            'from_formula("y ~ x", ddf), or what .compute() gives'
        )
    if hasattr(values, "__fspath__") or isinstance(values, str) or callable(values) or hasattr(values, "get_fragments"):
        found = f'"{values}"' if isinstance(values, str) else f"of type {type(values).__name__}"
        raise DataError(
            f'found {found} where values in memory are needed: data in files, or that a function gives, go to '
            'from_formula("y ~ x", data)'
        )
    if not isinstance(values, np.ma.MaskedArray):
        return values
    plain = np.array(values.data, dtype=float if values.dtype.kind in "biuf" else object)
    plain[np.ma.getmaskarray(values)] = np.nan
    return plain


def numbers_of(values: Any, what: str) -> ndarray:
    """An array of floats: float64 and float32 as they are, other numbers as float64."""
    if is_sparse(values):
        raise NotImplementedError(
            f"{what}: scipy.sparse is for {registry.listed(registry.REGRESSIONS)}; pass an array, exog.toarray()."
        )
    if isinstance(values, pd.Series):
        return table_numbers(values.to_frame(name="x" if values.name is None else values.name))[:, 0]
    array = np.asarray(values)
    if array.dtype == object:
        return _from_objects(array, what)
    if array.dtype.kind not in "biuf":
        raise DataError(f"{what} has dtype {array.dtype}, not numbers: use from_formula() for text and categories.")
    if array.dtype in (np.float64, np.float32) and (array.flags.c_contiguous or array.flags.f_contiguous):
        return array
    return np.array(array, dtype=np.float32 if array.dtype == np.float32 else np.float64)


def sparse_numbers(values: Any, what: str) -> Any:
    """A scipy.sparse array by rows, of float64 or float32, each entry stored once; uncopied where it is that already.

    Raises
    ------
    DataError
        Something else than rows and columns of real numbers.
    """
    from scipy.sparse import csr_array

    if values.ndim != 2:
        raise DataError(f"{what} has shape {values.shape}; it needs rows and columns.")
    if values.dtype.kind not in "biuf":
        raise DataError(f"{what} has dtype {values.dtype}, not numbers.")
    X = csr_array(values)
    X = X if X.dtype in (np.float64, np.float32) else X.astype(np.float64)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def sparse_rows(newdata: Any, xnames: list[str]) -> Any:
    """Rows of a design given as a scipy.sparse array; a missing value makes NaN of what is computed of its row."""
    X = sparse_numbers(newdata, "the new data")
    if X.shape[1] != len(xnames):
        raise DataError(f"the new data have shape {X.shape}; the model has {len(xnames)} columns ({quoted(xnames)}).")
    return X


def _from_objects(array: ndarray, what: str) -> ndarray:
    if array.ndim == 2:
        return table_numbers(pd.DataFrame(array))
    if array.ndim != 1:
        raise DataError(f"{what} is a ragged or nested list; its rows need equal lengths.")
    return table_numbers(pd.DataFrame({"x1": array}))[:, 0]


def of_one_float(frame: Any) -> bool:
    """Whether an object is a pandas table of float64 alone or of float32 alone."""
    kinds = set(frame.dtypes) if isinstance(frame, pd.DataFrame) else set()
    return len(kinds) == 1 and kinds <= {np.dtype(np.float64), np.dtype(np.float32)}


def table_numbers(frame: pd.DataFrame) -> ndarray:
    """The numbers of a table, (n, k), uncopied where they are one block of floats.

    Raises
    ------
    DataError
        A column of text, categories or dates.
    """
    if of_one_float(frame):
        return frame.to_numpy()
    out = np.empty(frame.shape, order="F")
    for j, name in enumerate(frame.columns):
        column = read_column(frame.iloc[:, j], name)
        if column.kind not in ("number", "bool"):
            raise DataError(
                f'column "{name}" of exog has dtype {frame.dtypes.iloc[j]}, not numbers: '
                f"use from_formula() for text and categories."
            )
        out[:, j] = column.marked()
    return out


def sums_up(X: ndarray) -> bool:
    """Whether all of X is finite, told by its sum; False may be a false alarm."""
    with np.errstate(all="ignore"):
        return bool(np.isfinite(X.sum(dtype=np.float64)))


def doubtful_columns(X: Any) -> dict[int, ndarray]:
    """Columns that may hold a number that is not finite."""
    if is_sparse(X):
        return {int(j): X[:, [j]].toarray()[:, 0] for j in np.unique(X.indices[~np.isfinite(X.data)])}
    return dict(enumerate(X.T))


def missing_columns(X: Any, names: list[str]) -> dict[str, ndarray]:
    """Masks of the rows in which a column is missing, by column, of the columns with missing values."""
    masks = {names[j]: np.isnan(column) for j, column in doubtful_columns(X).items()}
    return {name: mask for name, mask in masks.items() if mask.any()}


def array_columns(X: ndarray, names: list[str], finite: bool = False) -> dict[str, Column]:
    """The columns of an array of floats as they are, each with the rows in which it is missing; see `read_column`.

    `finite` says that all numbers are known to be.
    """
    missing = {} if finite or sums_up(X) else missing_columns(X, names)
    return {name: Column(X[:, j], missing.get(name), "number") for j, name in enumerate(names)}
