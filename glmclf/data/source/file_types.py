"""Types of the columns of files that are read in parts: one for all parts, as if the whole had been read at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from glmclf.data.table.frame import EXACT

BOOLS = {"bools", "bools and none"}


# ----------------------------------------------------------------------------------------------------------- CSV
def csv_dtypes(read: Callable[..., Iterable[pd.DataFrame]]) -> dict[Any, Any]:
    """The dtype of each column of all parts together; none of True and False, which each part shows by itself.

    Parameters
    ----------
    read : callable
        ``read(**how)`` reads the parts, with options of `pandas.read_csv`.
    """
    kinds: dict[Any, set[str]] = {}
    for table in read():
        for name, column in table.items():
            kinds.setdefault(name, set()).update(_kinds(column))
    dtypes = {name: dtype for name, found in kinds.items() if (dtype := _dtype(found - {"beyond"})) is not None}
    doubtful = {name for name, dtype in dtypes.items() if dtype is np.float64 and "beyond" in kinds[name]}
    return dtypes | (_whole(read(usecols=doubtful.__contains__, dtype=str)) if doubtful else {})


def _kinds(column: pd.Series) -> set[str]:
    """What the fields of one part were taken for, and whether some are beyond the whole numbers that floats hold."""
    numbers = column.dtype.kind in "iuf"
    return {_kind(column)} | ({"beyond"} if numbers and (column.abs() >= EXACT).any() else set())


def _kind(column: pd.Series) -> str:
    kind = column.dtype.kind
    if kind in "iu":
        return "large" if kind == "u" else "negative" if len(column) and column.min() < 0 else "whole"
    if kind == "f":
        return "float" if column.notna().any() else "none"
    if kind == "b":
        return "bools"
    inferred = pd.api.types.infer_dtype(column, skipna=True)
    return {"boolean": "bools and none", "integer": "float"}.get(inferred, "text")  # integers beyond 64 bits


def _dtype(kinds: set[str]) -> Any:
    numbers = kinds - BOOLS - {"none", "text"}
    bools = bool(kinds & BOOLS)
    if "text" in kinds or (bools and numbers) or numbers == {"negative", "large"} | (numbers & {"whole"}):
        return str
    if bools:
        return None
    if not numbers or "float" in numbers or "none" in kinds:
        return np.float64
    return np.uint64 if "large" in numbers else np.int64


def _whole(parts: Iterable[pd.DataFrame]) -> dict[Any, str]:
    """Columns of whole numbers, as text here, beside missing ones, and the dtype that keeps their digits."""
    ends: dict[Any, tuple[int, int] | None] = {}
    for table in parts:
        for name, column in table.items():
            fields = column.dropna().str.strip()
            low, high = ends.setdefault(name, (0, 0)) or (0, 0)
            if ends[name] is None or not fields.str.fullmatch(r"[+-]?\d+").all():
                ends[name] = None
            elif len(fields):
                values = fields.map(int)
                ends[name] = min(low, values.min()), max(high, values.max())
    known = {name: end for name, end in ends.items() if end is not None}
    signed = {name: "Int64" for name, (low, high) in known.items() if -(2**63) <= low and high < 2**63}
    return {name: "UInt64" for name, (low, high) in known.items() if low == 0 and high < 2**64} | signed


# ------------------------------------------------------------------------------------------------------- Parquet
def one_schema(schemas: list[Any], places: list[str]) -> tuple[Any, dict[str, str]]:
    """The schema that has the columns of all, each of a type that holds those of all.

    Parameters
    ----------
    schemas : list of pyarrow.Schema
    places : list of str
        What a message calls the files they are of.

    Returns
    -------
    schema : pyarrow.Schema
    apart : dict of str
        Columns of types that no one type holds, which has each file's own: what a message says of one such as text and
        numbers, nothing of truth values and numbers, which a response may be.
    """
    import pyarrow

    fields: dict[str, dict[Any, str]] = {}  # where each type of a column is first
    for schema, place in zip(schemas, places, strict=True):
        for field in schema:
            fields.setdefault(field.name, {}).setdefault(field.type, place)
    types = {name: _one_type(name, found) for name, found in fields.items()}
    apart = {name: found for name, found in types.items() if isinstance(found, str)}
    whole = [pyarrow.field(name, next(iter(fields[name])) if name in apart else t) for name, t in types.items()]
    return pyarrow.schema(whole, metadata=schemas[0].metadata), apart


def _one_type(name: str, found: dict[Any, str]) -> Any:
    """A type, or what a message says where there is none."""
    import pyarrow

    if len(found) == 1:
        return next(iter(found))
    places = {getattr(t, "value_type", t) if pyarrow.types.is_dictionary(t) else t: p for t, p in found.items()}
    if any(map(pyarrow.types.is_decimal, places)) and not all(map(pyarrow.types.is_decimal, places)):
        places = {pyarrow.float64() if pyarrow.types.is_decimal(t) else t: p for t, p in places.items()}
    schemas = [pyarrow.schema([(name, t)]) for t in places]
    try:
        return pyarrow.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pyarrow.ArrowException:
        if all(map(_counts, places)):
            return ""
        which = " and ".join(f"{t} in {place}" for t, place in list(places.items())[:2])
        return f'column "{name}" is {which}: write it with one type in all files'


def _counts(t: Any) -> bool:
    """Whether values of a type are numbers, or True and False, which equal numbers."""
    from pyarrow.types import is_boolean, is_decimal, is_floating, is_integer, is_null

    return any(is_one(t) for is_one in (is_boolean, is_integer, is_floating, is_decimal, is_null))
