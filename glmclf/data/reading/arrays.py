"""Arrays read as a design: the response beside the columns, and the rows that are complete."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.data.design.arrays import (
    ArrayDesign,
    check_columns,
    column_names,
    doubtful_columns,
    is_frame,
    is_sparse,
    missing_columns,
    names_of_sparse,
    numbers_of,
    sparse_numbers,
    sums_up,
    table_numbers,
    unmasked,
)
from glmclf.data.design.constant import constant, constant_columns, leave_out_constant
from glmclf.data.response.response import refuse_numerals
from glmclf.data.response.trials import counts_of
from glmclf.data.table.frame import Column, as_frame, as_series, read_column, row_labels
from glmclf.data.table.rows import (
    ReadTable,
    Respond,
    RowMask,
    check_missing_option,
    finish,
    leave_out_no_trials,
    no_trials,
    read_extras,
    respond,
    weigh,
)
from glmclf.errors import DataError

__all__ = ["BesideArrays", "check_finite", "read_arrays", "read_endog", "read_exog"]


def read_arrays(
    endog: Any,
    exog: Any,
    *,
    missing: str = "drop",
    extras: Mapping[str, Any] | None = None,
    response: Respond,
    drop_constant: bool = False,
) -> ReadTable:
    """Read a response and a design given as arrays: rows that are complete, X uncopied where it can be.

    Parameters
    ----------
    endog : (n,) or (n, 2) array-like, Series or DataFrame
        Response; two columns are successes and failures.
    exog : (n, k) or (n,) array-like, Series, DataFrame or scipy.sparse array
        Regressors, numbers only; the caller adds a constant.
    missing : {"drop", "raise", "none"}
        What becomes of rows with a missing value.
    extras : mapping
        "offset", "freq_weights", "weights", "trials": a Series or an array, or None.
    response : callable
        Makes the response of the names and the values of the columns of `endog`, on the kept rows.
    drop_constant : bool
        Leave the first constant column out of X; `design.dropped` tells which.

    Returns
    -------
    ReadTable
        Design, response, X and extras of the kept rows.

    Raises
    ------
    MissingDataError, DataError, NotImplementedError
        Naming what was found, where, and what to do.
    """
    check_missing_option(missing)
    X, names, index = read_exog(unmasked(exog), sparse=not drop_constant)
    beside = BesideArrays.of(endog, X, index, missing, extras)
    rows, clean = beside.rows, sums_up(X)
    rows.lose(beside.lost, {} if clean else missing_columns(X, names))
    beside.leave_out_no_trials()
    X = X if rows.selection is None else X[rows.selection]
    if not clean:
        check_finite(X, names, rows)
    X, names, dropped = leave_out_constant(X, names) if drop_constant else (X, names, None)
    made = beside.respond(response)
    notes = [*no_trials(rows.no_trials), *getattr(made, "notes", [])]
    design = ArrayDesign(names, 0 if drop_constant else constant(X), " + ".join(beside.left), dropped=dropped)
    return ReadTable(design=design, response=made, pieces=None, X=X, notes=notes, frame=None, **beside.finish())


@dataclass
class BesideArrays:
    """Variables beside arrays, the response, the offset and weights, and the rows that stay.

    Attributes
    ----------
    left : dict of Series
        Columns of the response by name.
    columns : dict of Column
        Columns of the response as they are read.
    rows : RowMask
        Those of weight zero are out already.
    beside : dict of ndarrays
        Offset and weights.
    lost : dict
        Rows in which one of these, or a column of the response, is missing.
    """

    left: dict[str, pd.Series]
    columns: dict[str, Column]
    rows: RowMask
    beside: dict[str, ndarray]
    lost: dict[str, Any]

    @classmethod
    def of(
        cls, endog: Any, X: Any, index: pd.Index | None, missing: str, extras: Mapping[str, Any] | None
    ) -> BesideArrays:
        """Variables beside a response, an array or a column with a row for each; `index` is that of the
        regressors, if any."""
        left, left_index = read_endog(unmasked(endog))
        rows = RowMask(_common_index(left, left_index, X, index), missing)
        beside = _array_extras(extras, rows.index)
        lost: dict[str, Any] = weigh(rows, beside, extras)
        columns = {name: read_column(series, name) for name, series in left.items()}
        return cls(left, columns, rows, beside, lost | {name: column.missing for name, column in columns.items()})

    def leave_out_no_trials(self) -> None:
        """Leave out rows in which the counts of the response are all zero."""
        if len(self.left) > 1:
            leave_out_no_trials(self.rows, [np.asarray(column.values) for column in self.columns.values()])

    def respond(self, response: Respond) -> Any:
        """The response of the rows that stay."""
        keep = self.rows.selection
        for name, column in self.columns.items():
            if column.kind == "label" and isinstance(column.values, pd.Categorical):
                refuse_numerals(name, column.values.categories.tolist(), len(self.rows.index))
        names, values = list(self.left), [series if keep is None else series[keep] for series in self.left.values()]
        trials, index = self.beside.get("trials"), self.rows.index
        if trials is not None:
            trials, index = (trials, index) if keep is None else (trials[keep], index[keep])
            names, values = counts_of(names, values, trials, index)
        return respond(response, names, values, self.rows)

    def finish(self) -> dict[str, Any]:
        """The fields of a `ReadTable` that describe rows."""
        return finish(self.rows, self.beside, self.rows.index, None)


def _array_extras(extras: Mapping[str, Any] | None, index: pd.Index) -> dict[str, ndarray]:
    """Offset and weights beside arrays, which have no columns to name."""
    for name, value in (extras or {}).items():
        if isinstance(value, str):
            raise DataError(f'{name}="{value}" names a column, but the model was given arrays: pass the values.')
    return read_extras(extras, pd.DataFrame(index=index), None) if extras else {}


def read_exog(exog: Any, sparse: bool = False) -> tuple[Any, list[str], pd.Index | None]:
    """Numbers, names and index of the regressors; a scipy.sparse array stays one where that is allowed."""
    if exog is None:
        raise DataError("exog is None: pass the regressors, with a constant column for an intercept.")
    index = exog.index if isinstance(exog, (pd.DataFrame, pd.Series)) else None
    if is_frame(exog):
        frame = as_frame(exog)
        names = column_names(frame)
        X = table_numbers(frame)
    else:
        X = sparse_numbers(exog, "exog") if sparse and is_sparse(exog) else numbers_of(exog, "exog")
        X = X[:, None] if X.ndim == 1 else X
        if X.ndim != 2:
            raise DataError(f"exog has shape {np.shape(exog)}; it needs rows and columns.")
        named = isinstance(exog, pd.Series) and exog.name is not None
        names = [str(exog.name)] if named else names_of_sparse(exog) or _array_names(X)
    check_columns(X.shape, names)
    return X, names, index


def _array_names(X: ndarray) -> list[str]:
    """Names as statsmodels gives them: ``const`` for the first constant column, ``x1, x2, ...`` for the others.

    Examples
    --------
    >>> _array_names(np.array([[1.0, 3.0], [1.0, 4.0]]))
    ['const', 'x1']
    """
    constants = constant_columns(X)
    names = [f"x{j + 1}" for j in range(X.shape[1] - bool(constants))]
    if constants:
        names.insert(constants[0], "const")
    return names


def read_endog(endog: Any) -> tuple[dict[str, pd.Series], pd.Index | None]:
    """Columns of the response by name, and the index if it has one."""
    if isinstance(endog, pd.Series):
        return {"y" if endog.name is None else str(endog.name): endog}, endog.index
    if is_frame(endog):
        frame = as_frame(endog)
        left = {str(c): frame[c] for c in frame.columns}
        return left, frame.index if isinstance(endog, pd.DataFrame) else None
    if hasattr(endog, "to_pandas"):
        return {str(getattr(endog, "name", "") or "y"): as_series(endog)}, None
    if isinstance(endog, pd.Categorical):
        return {"y": pd.Series(endog)}, None
    if is_sparse(endog):
        raise DataError("endog: scipy.sparse is for exog alone; pass endog.toarray().ravel().")
    array = np.asarray(endog)
    if array.dtype.kind == "U":  # numpy turns a list of labels and numbers into text
        array = np.asarray(endog, dtype=object)
    if array.ndim == 1:
        return {"y": pd.Series(array, copy=False)}, None
    if array.ndim != 2 or array.shape[1] == 0:
        raise DataError(f"endog has shape {array.shape}; it needs one column, or two for successes and failures.")
    names = ["y"] if array.shape[1] == 1 else [f"y{j + 1}" for j in range(array.shape[1])]
    return {name: pd.Series(array[:, j]) for j, name in enumerate(names)}, None


def _common_index(left: dict[str, pd.Series], left_index: pd.Index | None, X: Any, index: pd.Index | None) -> pd.Index:
    n = len(next(iter(left.values())))
    if n != X.shape[0]:
        raise DataError(f"endog has {n} rows and exog {X.shape[0]}: they need the same rows.")
    if left_index is not None and index is not None and not left_index.equals(index):
        raise DataError("The indices for endog and exog are not aligned: give both the same index, or pass arrays.")
    return index if index is not None else left_index if left_index is not None else pd.RangeIndex(n)


def check_finite(X: Any, names: list[str], rows: RowMask) -> None:
    """Refuse infinite numbers, by column and rows."""
    for j, column in doubtful_columns(X).items():
        infinite = np.isinf(column)
        if infinite.any():
            where = row_labels(infinite, rows.index[rows.keep])
            raise DataError(
                f'"{names[j]}" is infinite in {int(infinite.sum())} of {len(column)} rows ({where}). '
                "Correct or drop them."
            )
