"""One schema of several Parquet files: each column of a type that holds those of all."""

from __future__ import annotations

from typing import Any


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
    """Type that holds the values of all types of a column, or a message where there is none."""
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
