"""A design as JSON and back: no training row, no pickle, no foreign code.

`encode` gives dicts, lists, text and numbers whose JSON text restores every bit. `decode` checks each factor against
the closed list of `glmclf.data.formula.expressions` before anything of it is evaluated.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.data.design.arrays import ArrayDesign
from glmclf.data.design.design import Design, TableDesign
from glmclf.data.design.feature_design import FeatureDesign
from glmclf.data.design.records import VERSION, check_version
from glmclf.data.design.sparse_features import SparseFeatureDesign
from glmclf.data.formula import expressions
from glmclf.data.formula.borrowed import with_values_named
from glmclf.data.formula.factors import Expression
from glmclf.data.formula.rowwise import check_closed
from glmclf.data.transforms.basis import TRANSFORMS
from glmclf.errors import DataError, FormulaError

DESIGNS: dict[str, Any] = {
    "formula": Design,
    "features": FeatureDesign,
    "arrays": ArrayDesign,
    "sparse features": SparseFeatureDesign,
}
# What a transform remembers once its training rows are gone; anything else in a file is refused.
STATES = {
    "bs": {"_degree", "_all_knots"},
    "cr": {"_name", "_cyclic", "_all_knots", "_constraints"},
    "cc": {"_name", "_cyclic", "_all_knots", "_constraints"},
    "te": {"_constraints"},
    "center": {"_sum", "_count"},
    "standardize": {"current_n", "current_mean", "current_M2"},
    "scale": {"current_n", "current_mean", "current_M2"},
    "poly": {"_centre", "_scale", "_alpha", "_norm2"},
    "rbf": {"_centers", "_scale"},
    "sigmoid": {"_centers", "_scale"},
    "hinge": {"_knots"},
    "qcut": {"_edges", "_right", "_lowest", "_labels"},
    "cut": {"_edges", "_right", "_lowest", "_labels"},
}


# --------------------------------------------------------------------------------------------------------- values
def pack(value: Any) -> Any:
    """A level, number, array or container of them as JSON-able values that `unpack` restores with its Python type.

    Examples
    --------
    >>> unpack(pack([1, 2.5, "a", True, None, float("inf")]))
    [1, 2.5, 'a', True, None, inf]
    >>> unpack(pack(np.array([[0.1, 0.2]])))
    array([[0.1, 0.2]])
    """
    if isinstance(value, ndarray):
        if value.dtype.kind not in "biuf":
            return {"array": [pack(v) for v in value.ravel().tolist()], "shape": list(value.shape), "dtype": "object"}
        if value.dtype == np.longdouble and value.dtype != np.float64:  # patsy sums in it: two doubles hold its 64 bits
            high = value.astype(np.float64)
            return {"wide": pack(high), "rest": pack((value - high).astype(np.float64))}
        flat = [pack(v) for v in value.ravel().tolist()]
        return {"array": flat, "shape": list(value.shape), "dtype": value.dtype.str}
    if isinstance(value, np.generic):
        return {"scalar": pack(np.asarray(value))} if value.dtype.kind in "biuf" else pack(value.item())
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, list):
        return [pack(v) for v in value]
    if isinstance(value, tuple):
        return {"tuple": [pack(v) for v in value]}
    if (label := _packed_label(value)) is not None:
        return label
    raise DataError(
        f"{value!r} ({type(value).__name__}) cannot be stored as JSON; use pickle, or text or numbers instead."
    )


def _packed_label(value: Any) -> dict[str, Any] | None:
    """An interval, a date, a time, a span or a period as JSON-able values; None for anything else."""
    if isinstance(value, pd.Interval):
        return {"interval": [pack(value.left), pack(value.right)], "closed": value.closed}
    if isinstance(value, pd.Timestamp) and not pd.isna(value):
        zone = None if value.tz is None else str(value.tz)
        if zone is not None:
            _zone(zone)
            value = value.tz_convert("UTC").tz_localize(None)
        return {"time": value.isoformat(), "unit": value.unit, "zone": zone}
    if isinstance(value, pd.Timedelta) and not pd.isna(value):
        return {"span": int(value.as_unit("ns").value), "unit": value.unit}
    if isinstance(value, pd.Period):
        return {"period": value.ordinal, "freq": value.freqstr}
    if type(value) is datetime.date:
        return {"date": value.isoformat()}
    return None


def _unpacked_label(value: Mapping[str, Any]) -> Any:
    """The label that `_packed_label` was given; None where there is none.

    Raises
    ------
    DataError
        Something else under its names.
    """
    try:
        if "interval" in value:
            return pd.Interval(*map(unpack, value["interval"]), closed=value["closed"])
        if "time" in value:
            found = pd.Timestamp(_time_text(value["time"])).as_unit(value["unit"])
            zone = value["zone"]
            return found if zone is None else found.tz_localize("UTC").tz_convert(_zone(zone))
        if "span" in value:
            return pd.Timedelta(int(value["span"]), unit="ns").as_unit(value["unit"])
        if "period" in value:
            return pd.Period(ordinal=int(value["period"]), freq=str(value["freq"]))
        if "date" in value:
            return datetime.date.fromisoformat(value["date"])
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DataError(f"a stored label is none: {dict(value)!r} ({error}).") from None
    return None


def _time_text(value: Any) -> str:
    """Check that a stored time is text, which a number, read as nanoseconds, is not."""
    if not isinstance(value, str):
        raise TypeError("a time is text")
    return value


def _zone(name: str) -> Any:
    """Time zone by its name in the IANA database; no path is opened."""
    import zoneinfo

    if name not in zoneinfo.available_timezones():
        raise DataError(f"the time zone {name!r} has no name that a file could store: use UTC, or text.")
    return zoneinfo.ZoneInfo(name)


def unpack(value: Any) -> Any:
    """The value that `pack` was given."""
    if isinstance(value, list):
        return [unpack(v) for v in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return np.array(unpack(value["array"]), dtype=_dtype(value["dtype"])).reshape(value["shape"])
    if "wide" in value:
        return unpack(value["wide"]).astype(np.longdouble) + unpack(value["rest"])
    if "scalar" in value:
        return unpack(value["scalar"])[()]
    if "float" in value:
        return float(value["float"])
    if (label := _unpacked_label(value)) is not None:
        return label
    return tuple(unpack(v) for v in value["tuple"])


def _dtype(name: str) -> np.dtype[Any]:
    dtype = np.dtype(name)
    if dtype.kind not in "biufO":
        raise DataError(f"a stored array has dtype {name}; only numbers are read.")
    return dtype


# --------------------------------------------------------------------------------------------------------- states
def _numbers(value: Any) -> bool:
    """Whether a value is a number, or a list of numbers."""
    return all(isinstance(v, (bool, int, float)) for v in (value if isinstance(value, list) else [value]))


def _check_states(factor: Mapping[str, Any]) -> None:
    """Refuse states of our transforms that have other parts than those which `encode` stores, and what is no number
    where columns were reduced to numbers."""
    if not all(map(_numbers, factor.get("fixed", []))):
        raise DataError(f'a stored number of "{factor["code"]}" is none: {factor["fixed"]!r}.')
    for name, state in factor["transforms"]:
        function = name.partition("__")[2].removesuffix("__")  # bs of patsy's internal name _patsy_stobj0__bs__
        known = STATES.get(function)
        if known is not None and set(state) != known:
            raise DataError(
                f'the stored state of {function}() in "{factor["code"]}" has other parts than {sorted(known)}.'
            )


# ----------------------------------------------------------------------------------------------------------- JSON
def encode(design: TableDesign | ArrayDesign) -> dict[str, Any]:
    """A design as a JSON-able dict: levels, contrasts, knots and transform states; no training row.

    Parameters
    ----------
    design : Design, FeatureDesign or ArrayDesign
        The design.

    Returns
    -------
    dict
        For ``json.dumps``; numbers survive to the last bit.

    Raises
    ------
    FormulaError, DataError
        A factor that no file may hold (methods of columns, Python's own functions), or state that is not numbers.
    """
    record = design.to_record()
    packed: dict[str, Any] = {"version": VERSION, **{k: _packed(v) for k, v in record.items()}}
    if isinstance(design, TableDesign):
        constants, functions = _borrowed(design)
        packed["constants"] = [[name, pack(value)] for name, value in constants.items()]
        packed["functions"] = functions
        for factor in design.factors.values():
            _storable(factor.expression, design, functions, constants)
    return packed


def _packed(value: Any) -> Any:
    """pack() through the dicts of a record."""
    if isinstance(value, dict):
        return {"dict": [[k, _packed(v)] for k, v in value.items()]}
    if isinstance(value, list):
        return [_packed(v) for v in value]
    return pack(value)


def _unpacked(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"dict"}:
        return {k: _unpacked(v) for k, v in value["dict"]}
    if isinstance(value, list):
        return [_unpacked(v) for v in value]
    return unpack(value)


def _borrowed(design: TableDesign) -> tuple[dict[str, Any], list[str]]:
    """The caller's constants by name, and the (dotted) names of the caller's functions."""
    constants, functions = {}, set()
    for factor in design.factors.values():
        found = expressions.names(factor.expression.plain)
        for name, value in factor.expression.borrowed.items():
            if name in found.called or name in found.rooted or callable(value) or isinstance(value, ModuleType):
                functions |= expressions.dotted_names(factor.expression.plain, name)
            else:
                constants[name] = value
    return constants, sorted(functions)


def _storable(expression: Expression, design: TableDesign, functions: list[str], constants: Mapping[str, Any]) -> None:
    words = [value for value in expression.fixed.values() if not _numbers(value)]
    if words:
        raise FormulaError(
            f'"{expression.code}" cannot be stored in a file, as it remembers {words[0]!r} of the fit, which is no '
            "number. Make it a column of the table, or use pickle."
        )
    try:
        expressions.check(expression.written, list(design.columns), functions, {**constants, **expression.fixed})
    except FormulaError as error:
        raise FormulaError(
            f'"{expression.code}" cannot be stored in a file ({error.reason or error}) Write it with numpy\'s '
            "element-wise functions, make it a column of the table, or use pickle."
        ) from None


def decode(stored: Mapping[str, Any], functions: Mapping[str, Any] | None = None) -> TableDesign | ArrayDesign:
    """The design that `encode` stored.

    Parameters
    ----------
    stored : dict
        What ``json.loads`` gives.
    functions : dict, optional
        Functions of the formula that are not on the closed list, by name: ``{"f": f, "sp.expit": expit}``.

    Returns
    -------
    Design, FeatureDesign or ArrayDesign
        `matrix` or `values` gives the same numbers, bit for bit.

    Raises
    ------
    FormulaError
        A factor off the closed list, naming the expression.
    DataError
        A newer format version, or something that is no stored design.
    """
    check_version(stored, "design")
    functions = dict(functions or {})
    try:
        _refuse_ours(stored.get("functions", []), functions)
        record = {k: _unpacked(v) for k, v in stored.items() if k not in ("version", "constants", "functions")}
        constants = {name: unpack(value) for name, value in stored.get("constants", [])}
        columns = [c[0] for c in record.get("columns", [])]
        for factor in record.get("factors", []):
            code, *_ = with_values_named(factor["code"], columns, constants, None)
            check_closed(code, columns, functions, constants)
            _check_states(factor)
        return DESIGNS[record["kind"]].from_record(record, {**constants, **_nested(functions)}, safe=True)
    except (KeyError, TypeError, IndexError, AttributeError, OverflowError) as error:
        raise DataError(f"this is not a stored design: {type(error).__name__} {error}.") from None


def _refuse_ours(stored: list[str], functions: Mapping[str, Any]) -> None:
    """A function of the caller's by the name of one of our transforms must not be taken for it."""
    absent = [name for name in stored if name in TRANSFORMS and name not in functions]
    if absent:
        raise FormulaError(
            f'"{absent[0]}" in the stored formula is a function of its author\'s, not the transform of that name. '
            f'Supply it in Python: load(path, functions={{"{absent[0]}": ...}}).'
        )


def _nested(functions: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted names as objects with attributes: {"sp.expit": f} serves the code ``sp.expit(x)``."""
    out: dict[str, Any] = {}
    for name, function in functions.items():
        *path, last = name.split(".")
        scope = out
        for part in path:
            scope = vars(scope.setdefault(part, SimpleNamespace()))
        scope[last] = function
    return out
