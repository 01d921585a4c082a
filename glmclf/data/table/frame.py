"""Raw tables at the border: any frame to pandas, any column to plain numpy or a categorical, aligned variables.

Nothing here changes what the user passed in. A `Column` holds the values of one column without missing-value tricks
(integers stay integers, bools stay bools) beside the mask of the rows in which it is missing.
"""

from __future__ import annotations

import difflib
import numbers
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.data.table.arrow import Unreadable, as_pandas, attempt, categorical, constant, is_dictionary, is_stiff
from glmclf.errors import DataError

MAX_EXACT_INTEGER = 2**53  # whole number up to which each is a float
MAX_FLOAT = int(np.finfo(float).max)  # largest whole number that is one
NESTED = (list, tuple, dict, set, frozenset, ndarray)


class Column(NamedTuple):
    """One column of a table.

    Attributes
    ----------
    values : (n,) ndarray, Categorical or Series
        float64, int64, uint64 or bool numbers, or a Categorical; the Series itself where `kind` is "other". What stands
        in a missing row has no meaning.
    missing : (n,) bool ndarray or None
        Rows without a value; None if there are none.
    kind : str
        "number", "bool", "label" (text or other objects), "category" (a categorical column) or "other" (dates,
        durations and the like, which a formula must turn into numbers or labels).
    """

    values: Any
    missing: ndarray | None
    kind: str

    def take(self, rows: ndarray | None) -> Column:
        """The column for some rows (a bool mask or positions); None for all."""
        if rows is None:
            return self
        values = self.values.iloc[np.arange(len(self.values))[rows]] if self.kind == "other" else self.values[rows]
        missing = None if self.missing is None else self.missing[rows]
        return Column(values, missing if missing is not None and missing.any() else None, self.kind)

    def marked(self) -> Any:
        """Values with missing rows as NaN (numbers, as float64) or code -1 (labels)."""
        if self.missing is None or self.kind not in ("number", "bool"):
            return self.values
        out = self.values.astype(np.float64)
        out[self.missing] = np.nan
        return out


# ------------------------------------------------------------------------------------------------------- tables
def assigned(frame: pd.DataFrame, columns: Mapping[Any, Any]) -> pd.DataFrame:
    """A table with other columns in place of some of its own, or beside them; `assign` takes none called "self"."""
    found = frame.copy(deep=False)
    for name, values in columns.items():
        found[name] = values
    return found


def as_frame(data: Any, *, empty: bool = False, scalars: bool = False) -> pd.DataFrame:
    """`data` as a pandas DataFrame; a pandas one is returned as it is, uncopied.

    Parameters
    ----------
    data : DataFrame, Mapping of columns, record array, or any frame that narwhals reads (polars, pyarrow)
        The table.
    empty : bool
        Whether a table without rows is fine.
    scalars : bool
        Whether a mapping of names to single values is fine: one row.

    Raises
    ------
    DataError
        Not a table, repeated column names, columns of unequal length, no rows.
    NotImplementedError
        A path, a Dask frame or a callable: data from a file or stream.
    """
    frame = data if isinstance(data, pd.DataFrame) else _converted(data, scalars)
    if frame.columns.nlevels > 1:
        raise DataError(
            "the table has several levels of column names: join them into one, as in df.columns.map('_'.join)."
        )
    refuse_repeated(frame.columns)
    if len(frame) == 0 and not empty:
        raise DataError(f"the table has no rows (columns: {quoted(list(frame.columns))}).")
    return _with_types_of_pandas(frame)


def refuse_repeated(names: Sequence[Any] | pd.Index) -> None:
    """Raise DataError for names of columns that occur more than once."""
    index = names if isinstance(names, pd.Index) else pd.Index(names)  # which remembers the answer
    if not index.is_unique:
        repeated = quoted(index[index.duplicated()].unique())
        raise DataError(f"column names occur more than once: {repeated}. Rename or drop the copies.")


def _with_types_of_pandas(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with pandas' own types for columns of Arrow that pandas can do little with; as it is without such."""
    types = {d for d in frame.dtypes.to_numpy() if isinstance(d, pd.ArrowDtype)}
    arrow = [d for d in types if is_stiff(d.pyarrow_dtype)]
    names = [name for name, dtype in frame.dtypes.items() if dtype in arrow] if arrow else []
    return frame.assign(**{name: _of_arrow(frame[name], name) for name in names}) if names else frame


def _of_arrow(series: pd.Series, name: Any) -> pd.Series:
    """A column of Arrow in a pandas frame in pandas' own types."""
    column = series.array.__arrow_array__()
    values, error = attempt(lambda: categorical(column) if is_dictionary(column.type) else column.to_pandas().array)
    if error is not None:
        values = constant(Unreadable(series.dtype, error), len(series))
    return pd.Series(values, index=series.index, name=name)


def _converted(data: Any, scalars: bool) -> pd.DataFrame:
    if _module(data) in ("dask", "dask_expr"):
        raise NotImplementedError(
            f"rows of a Dask {type(data).__name__} one by one: .predict(ddf) is lazy; for anything else pass a pandas "
            "frame, such as one partition, ddf.partitions[0].compute()"
        )
    file = isinstance(data, (str, bytes)) or hasattr(data, "__fspath__") or type(data).__name__.endswith("Dataset")
    if file or callable(data):
        raise NotImplementedError(
            f"rows in a file or stream (found {type(data).__name__}) are not one table here: pass a DataFrame or, of a "
            "result, use augment(), which gives predictions part by part."
        )
    if isinstance(data, Mapping):
        return _from_mapping(data, scalars)
    if isinstance(data, np.ndarray) and data.dtype.names:
        return pd.DataFrame({name: data[name] for name in data.dtype.names})
    if isinstance(data, pd.Series) or isinstance(data, (np.ndarray, list, tuple)) or data is None:
        raise DataError(f"data= needs a table with named columns, found {type(data).__name__}.")
    return _through_narwhals(data)


def _from_mapping(data: Mapping[Any, Any], scalars: bool) -> pd.DataFrame:
    if scalars and data and all(np.ndim(value) == 0 for value in data.values()):
        return pd.DataFrame({name: [value] for name, value in data.items()})
    try:
        return pd.DataFrame(dict(data))
    except ValueError as error:
        lengths = {name: np.size(value) for name, value in data.items()}
        raise DataError(f"the columns of data= do not make a table ({error}); their lengths: {lengths}.") from None


def _through_narwhals(data: Any) -> pd.DataFrame:
    import narwhals

    if type(data).__name__ == "RecordBatch":
        data = sys.modules["pyarrow"].Table.from_batches([data])
    if _module(data) == "pyarrow" and hasattr(data, "to_batches"):
        return with_digits(as_pandas(data), data)
    try:
        frame: Any = narwhals.from_native(data)
    except TypeError:
        raise DataError(f"data= needs a table with named columns, found {type(data).__name__}.") from None
    if isinstance(frame, narwhals.LazyFrame):
        try:
            frame = frame.collect()
        except Exception as failed:  # of the engine, which has its own
            raise not_computed(f"the {_module(data).strip('_')} {type(data).__name__}", failed) from failed
    # categories in the order of appearance are in no order: the rows must not decide the base level
    loose = [name for name, dtype in frame.schema.items() if dtype == narwhals.Categorical]
    if loose:
        frame = frame.with_columns(narwhals.col(*loose).cast(narwhals.String))
    read, error = attempt(frame.to_pandas)
    return with_digits(read if error is None else _column_by_column(frame), frame)


def not_computed(what: str, error: Exception) -> DataError:
    """The error that an engine cannot make the table it was asked for; plans of queries are left out."""
    words = " ".join(str(error).strip().split("\n\n")[0].split())
    return DataError(f"{what} cannot be computed: {type(error).__name__}: {words}")


def _column_by_column(frame: Any) -> pd.DataFrame:
    """A frame that pandas cannot hold as it is: columns of which that is so as Python's objects, or `Unreadable`."""
    columns = {}
    for name in frame.columns:
        values, error = attempt(frame[name].to_pandas)
        if error is not None:
            found, _ = attempt(frame[name].to_list)
            values = constant(Unreadable(frame[name].dtype, error), len(frame))
            values = values if found is None else pd.Series(found, dtype=object)
        columns[name] = values
    return pd.DataFrame(columns)


def with_digits(read: pd.DataFrame, table: Any) -> pd.DataFrame:
    """pandas' reading of another package's table, whole numbers that have lost digits put right; see `as_series`."""
    if not read.columns.is_unique:
        return read
    own = {n: _with_digits(read[n], table[str(n)]) for n, dtype in read.dtypes.items() if dtype == np.float64}
    return assigned(read, {name: own[name] for name in own if own[name] is not None})


def as_series(values: Any) -> pd.Series:
    """Another package's column as pandas'. Whole numbers beside missing ones, which pandas makes floats, stay whole
    where they are beyond 2**53: floats would make several of them one."""
    read = values.to_pandas()
    exact = _with_digits(read, values) if isinstance(read, pd.Series) and read.dtype == np.float64 else None
    return read if exact is None else exact


def _with_digits(read: pd.Series, values: Any) -> pd.Series | None:
    """Whole numbers of a column of Arrow, polars or narwhals, of which some are too large for floats; else None."""
    if not hasattr(values, "fill_null") or not (read.abs() >= MAX_EXACT_INTEGER).any():
        return None
    whole = np.asarray(values.fill_null(0))
    if whole.dtype.kind not in "iu":
        return None
    return pd.Series(pd.arrays.IntegerArray(whole, np.asarray(values.is_null())), index=read.index, name=read.name)


def of_one_type(name: str, *parts: Any) -> list[Any]:
    """Numbers of several parts, without missing ones: floats beside whole numbers beyond 2**53 as whole ones, too.

    Raises
    ------
    DataError
        Floats that are too large, or not whole: which of the others they are cannot be told.
    """
    floats = [p for p in parts if p.dtype.kind == "f"]
    whole = [p for p in parts if p.dtype.kind in "iu" and len(p)]
    if not floats or not any(max(abs(int(p.min())), abs(int(p.max()))) > MAX_EXACT_INTEGER for p in whole):
        return list(parts)
    if any(((np.abs(p) >= MAX_EXACT_INTEGER) | (p % 1 != 0)).any() for p in floats):
        raise rounded(name)
    return [p.astype(np.int64) if p.dtype.kind == "f" else p for p in parts]


def rounded(name: str) -> DataError:
    """The error for a column of whole numbers of which some were rounded."""
    return DataError(
        f'"{name}" holds whole numbers beyond 2**53 in one part and floats in another, which are rounded: give '
        'it one type throughout, as by astype("Int64")'
    )


def _module(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


def quoted(values: Iterable[Any], most: int = 8) -> str:
    """A short list of names or levels for a message: strings in double quotes, a count where it is cut."""
    items = list(values)
    shown = [f'"{v}"' if isinstance(v, str) else f"{python_value(v)!r}" for v in items[:most]]
    return ", ".join(shown) + (f" and {len(items) - most} more" if len(items) > most else "")


def python_value(value: Any) -> Any:
    """A value of numpy as Python's; dates and durations, which would turn into whole numbers, as they are."""
    kept = isinstance(value, (np.datetime64, np.timedelta64))
    return value.item() if isinstance(value, np.generic) and not kept else value


def close_to(name: str, names: Iterable[Any]) -> str:
    """A hint for a name that is not there: near names, or the first few."""
    known = [str(n) for n in names]
    lower = {n.lower(): n for n in reversed(known)}
    near = [lower[n] for n in difflib.get_close_matches(name.lower(), lower, n=3, cutoff=0.6)]
    if near:
        return f"Did you mean {' or '.join(f'{n!r}' for n in near)}?"
    return f"The columns are {quoted(known)}." if known else "There are no columns."


def labels(names: Iterable[str], levels: Iterable[Any] | None = None) -> pd.Index:
    """An index of regressors or, with levels, of each level's; the last ones are kept, as making one costs more than
    what is labelled by it."""
    if levels is None:
        return _labels(tuple(names)).view()
    levels = tuple(levels)
    return _labels(tuple(names), levels, tuple(map(type, levels))).view()


@lru_cache(maxsize=64)
def _labels(names: tuple[str, ...], levels: tuple[Any, ...] | None = None, types: Any = None) -> pd.Index:
    """Index of regressors or of each level's, kept; `types` tell levels apart that are equal, as 1 and True."""
    if levels is None:
        return pd.Index(list(names))
    return pd.MultiIndex.from_product([list(levels), list(names)], names=["level", "regressor"])


def row_labels(mask: ndarray, index: pd.Index | None, most: int = 5) -> str:
    """Phrase for the rows where a mask is true: ``rows 3, 7, 9 and 12 more``."""
    where = np.flatnonzero(mask)
    shown = [str(i if index is None else index[i]) for i in where[:most]]
    more = f" and {len(where) - most} more" if len(where) > most else ""
    return f"row{'s' if len(where) > 1 else ''} {', '.join(shown)}{more}"


@contextmanager
def placed(keep: ndarray) -> Iterator[None]:
    """Turn the rows at fault of an error, positions among the kept rows, into positions among all rows."""
    try:
        yield
    except DataError as error:
        if error.places is not None:
            error.places = np.flatnonzero(keep)[error.places]
        raise


@contextmanager
def naming_rows(n: int, index: pd.Index | None) -> Iterator[None]:
    """Say in an error's message which of n rows are at fault, by their labels."""
    try:
        yield
    except DataError as error:
        if error.places is None or not len(error.places):
            raise
        mask = np.zeros(n, dtype=bool)
        mask[error.places] = True
        text = str(error).removesuffix(".")
        raise type(error)(f"{text} ({len(error.places)} of {n} rows: {row_labels(mask, index)}).") from None


# ------------------------------------------------------------------------------------------------------ columns
def read_column(series: pd.Series, name: Any) -> Column:
    """One column of a table as a `Column`, whatever its dtype.

    Text and other objects become a Categorical with sorted levels; a categorical column keeps the order of its
    categories.

    Raises
    ------
    DataError
        Complex or nested values, labels of types that have no common order.
    """
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _read_categorical(series, name)
    if isinstance(dtype, pd.StringDtype):
        return _read_labels(series, name)
    if isinstance(dtype, pd.ArrowDtype):
        return _read_arrow(series, name)
    if isinstance(dtype, pd.SparseDtype):
        return read_column(pd.Series(np.asarray(series)), name)
    if isinstance(dtype, np.dtype) and dtype.kind == "O":
        return _read_objects(series, name)
    if dtype.kind in "biuf":
        return _read_numbers(series, dtype.kind, name)
    if dtype.kind == "c":
        raise DataError(f'column "{name}" is complex ({dtype}). Use its real part, imaginary part or modulus.')
    return Column(series, _mask(series.isna().to_numpy()), "other")


def unusable(series: Any, name: Any) -> DataError:
    """The error for a column that is neither numbers nor labels."""
    return DataError(
        f'"{name}" holds {getattr(series, "dtype", type(series).__name__)} values, neither numbers nor labels. '
        f"Turn them into numbers first (days since a date, seconds), or into text for a factor."
    )


def _mask(missing: ndarray) -> ndarray | None:
    return missing if missing.any() else None


def _read_numbers(series: pd.Series, kind: str, name: Any) -> Column:
    """Numpy or nullable numbers and bools, also Arrow's."""
    if isinstance(series.dtype, np.dtype):
        values = series.to_numpy()
        missing = _mask(np.isnan(values)) if kind == "f" else None
    else:
        missing = _mask(series.isna().to_numpy(dtype=bool))
        fill: Any = {} if missing is None else {"na_value": False if kind == "b" else 0}
        values = series.to_numpy(dtype={"b": bool, "f": np.float64, "i": np.int64, "u": np.uint64}[kind], **fill)
        if kind == "f" and np.isnan(values).any():  # a NaN inside a nullable float is missing, too
            missing = np.isnan(values) if missing is None else missing | np.isnan(values)
    return Column(_widest(values, name), missing, "bool" if kind == "b" else "number")


def _widest(values: ndarray, name: Any) -> ndarray:
    """Values as bool, int64 or float64, so that arithmetic in a formula does not wrap around at 127 or 255."""
    if values.dtype.kind == "b":
        return values
    if (
        values.dtype.kind == "u"
        and values.dtype.itemsize == 8
        and values.size
        and values.max() > np.iinfo(np.int64).max
    ):
        return _floats(values, values.tolist(), name)
    return values.astype(np.int64 if values.dtype.kind in "iu" else np.float64, copy=False)


def _floats(values: ndarray, whole: Iterable[Any], name: Any) -> ndarray:
    """Whole numbers that int64 cannot hold as floats, which must not make one of several."""
    if all(abs(v) < MAX_FLOAT and int(float(v)) == v for v in whole):
        return values.astype(np.float64)
    raise DataError(
        f'column "{name}" holds whole numbers beyond 2**63, which floats would round, so that several become one. As '
        f'labels give them as text, df["{name}"].astype(str); as numbers in floats, df["{name}"].astype(float).'
    )


def _read_categorical(series: pd.Series, name: Any) -> Column:
    cat: Any = series.array
    if isinstance(cat.categories, pd.MultiIndex) or any(isinstance(c, NESTED) for c in _objects_of(cat.categories)):
        raise DataError(
            f'column "{name}" has categories that are tuples or other nested values ({quoted(cat.categories, 2)}). '
            f'Join them into text, as in df["{name}"].map(str).'
        )
    if cat.categories.dtype.kind not in "biufO" or not isinstance(cat.categories.dtype, np.dtype):
        categories = pd.Index(cat.categories.tolist(), dtype=object)
        cat = pd.Categorical.from_codes(cat.codes, dtype=pd.CategoricalDtype(categories, cat.ordered))
    return Column(cat, _mask(np.asarray(cat.codes) < 0), "category")


def _objects_of(categories: pd.Index) -> list[Any]:
    return categories.tolist() if categories.dtype == object else []


def _read_labels(series: pd.Series, name: Any) -> Column:
    codes, uniques = pd.factorize(series)
    return _sorted_labels(codes, uniques.tolist(), name)


def in_order(levels: list[Any], what: str) -> list[int]:
    """Places of labels in sorted order; DataError, of what they are of, where their types have none in common."""
    try:
        return sorted(range(len(levels)), key=levels.__getitem__)
    except TypeError:
        types = sorted({type(level).__name__ for level in levels})
        raise DataError(
            f"{what} mixes values of types {', '.join(types)}, which have no common order "
            f"(found {quoted(levels, 4)}). Convert it to one type, or to an ordered categorical."
        ) from None


def _sorted_labels(codes: ndarray, levels: list[Any], name: Any) -> Column:
    order = in_order(levels, f'column "{name}"')
    rank = np.full(len(levels) + 1, -1, dtype=np.min_scalar_type(-len(levels) - 1))  # the last entry serves code -1
    rank[order] = np.arange(len(levels))
    categories = pd.Index([levels[i] for i in order], dtype=object)
    recoded = rank[codes]
    return Column(pd.Categorical.from_codes(recoded, categories=categories), _mask(recoded < 0), "label")


def _read_arrow(series: pd.Series, name: Any) -> Column:
    import pyarrow

    dtype: Any = series.dtype
    kind, types = dtype.pyarrow_dtype, pyarrow.types
    if types.is_dictionary(kind):
        return read_column(_of_arrow(series, name), name)
    if types.is_boolean(kind):
        return _read_numbers(series, "b", name)
    if types.is_integer(kind):
        return _read_numbers(series, "i" if types.is_signed_integer(kind) else "u", name)
    if types.is_floating(kind):
        return _read_numbers(series, "f", name)
    if types.is_decimal(kind) or types.is_null(kind):
        values = np.array([np.nan if v is None or v is pd.NA else float(v) for v in series.array], dtype=np.float64)
        return Column(values, _mask(np.isnan(values)), "number")
    if types.is_nested(kind):
        raise DataError(f'column "{name}" holds nested values ({dtype}). Expand them into columns first.')
    if types.is_temporal(kind):
        return Column(series, _mask(series.isna().to_numpy(dtype=bool)), "other")
    if types.is_string(kind) or types.is_large_string(kind):
        return _read_labels(series, name)
    return read_column(_of_arrow(series, name), name)


NUMBER_TYPES = (numbers.Real, Decimal, np.bool_)


def _read_objects(series: pd.Series, name: Any) -> Column:
    inferred = pd.api.types.infer_dtype(series, skipna=True)
    if inferred == "string":
        return _read_labels(series, name)
    values = series.to_numpy()
    missing = pd.isna(values)
    found = values[~missing]
    types = {type(value) for value in found}
    if Unreadable in types:
        raise found[0].error(name)
    if any(issubclass(t, (complex, np.complexfloating)) for t in types):
        raise DataError(f'column "{name}" holds complex numbers. Use the real part, imaginary part or modulus.')
    if any(issubclass(t, NESTED) for t in types):
        raise DataError(f'column "{name}" holds nested values (lists, dicts). Expand them into columns first.')
    if all(issubclass(t, NUMBER_TYPES) and t is not np.timedelta64 for t in types):  # which derives from whole numbers
        return _read_number_objects(values, missing, found, types, name)
    if inferred in ("datetime", "datetime64", "date", "timedelta", "timedelta64", "time", "period", "interval"):
        return Column(series, _mask(missing), "other")
    return _read_labels(series, name)


def _read_number_objects(values: ndarray, missing: ndarray, found: ndarray, types: set[type], name: Any) -> Column:
    if types and all(issubclass(t, (bool, np.bool_)) for t in types):
        return Column(np.where(missing, False, values).astype(bool), _mask(missing), "bool")
    whole = bool(types) and all(issubclass(t, (numbers.Integral, np.bool_)) for t in types)
    filled = np.where(missing, 0, values)
    if whole and all(-(2**63) <= v < 2**63 for v in found):
        return Column(filled.astype(np.int64), _mask(missing), "number")
    if whole:
        return Column(_floats(filled, found, name), _mask(missing), "number")
    return Column(filled.astype(np.float64), _mask(missing), "number")


# ---------------------------------------------------------------------------------------------------- alignment
def align(values: Any, *, name: str, frame: pd.DataFrame) -> ndarray:
    """A variable beside the table (offset, weights, groups) as an array with one value a row of `frame`.

    Parameters
    ----------
    values : str, Series or array-like
        A column's name; a Series, matched by index label (by position if its index equals the frame's); or an array of
        the frame's length.
    name : str
        The keyword, for messages.
    frame : DataFrame
        The table.

    Returns
    -------
    (len(frame),) ndarray
        Numbers with NaN where missing; labels as objects.

    Raises
    ------
    DataError
        No such column, wrong length, labels absent, labels repeated in another order.
    """
    return as_array(matched(values, name=name, frame=frame), values if isinstance(values, str) else name)


def matched(values: Any, *, name: str, frame: pd.DataFrame) -> pd.Series:
    """A variable beside the table as a Series as it is, in the order of the table."""
    if isinstance(values, str):
        return find_column(values, frame, name)
    if isinstance(values, pd.DataFrame) and values.shape[1] == 1:
        values = values.iloc[:, 0]
    if not isinstance(values, pd.Series) and hasattr(values, "to_pandas"):
        values = as_series(values).array
    if not isinstance(values, pd.Series):
        return _by_position(values, name, len(frame))
    if values.index.equals(frame.index):
        return values
    if not values.index.is_unique:
        repeated = quoted(values.index[values.index.duplicated()].unique(), 3)
        raise DataError(
            f"{name}: the Series repeats index labels ({repeated}) and its "
            f"index differs from the table's, so its rows cannot be matched. Pass an array in the table's row order."
        )
    where = values.index.get_indexer(frame.index)
    if (where < 0).any():
        absent = frame.index[where < 0]
        raise DataError(
            f"{name}: the Series has no value for {len(absent)} of the table's {len(frame)} index labels "
            f"({quoted(absent, 5)}). Give it the table's index, or pass an array of length {len(frame)}."
        )
    return values.iloc[where]


def find_column(column: str, frame: pd.DataFrame, keyword: str) -> pd.Series:
    """The column that a keyword names."""
    if column not in frame.columns:
        raise DataError(f'{keyword}="{column}": no such column. {close_to(column, frame.columns)}')
    return frame[column]


def _by_position(values: Any, name: str, n: int) -> pd.Series:
    if np.ndim(values) != 1:
        raise DataError(f"{name}: needs one value a row or a column's name, found {_shape(values)}.")
    if len(values) != n:
        raise DataError(
            f"{name} has {len(values)} values, but the table has {n} rows (before subset= and missing rows)."
        )
    if isinstance(values, (list, tuple)):
        return pd.Series(values, dtype=object)
    return pd.Series(values, copy=False)


def _shape(values: Any) -> str:
    if np.ndim(values):
        return f"an array of shape {np.shape(values)}"
    return f"{values!r}" if pd.api.types.is_scalar(values) else type(values).__name__


def as_array(series: pd.Series, name: Any) -> ndarray:
    """A column as an array: numbers with NaN where missing, or labels as objects."""
    column = read_column(series, name)
    if column.kind == "other":
        return column.values.to_numpy()
    return np.asarray(column.marked())
