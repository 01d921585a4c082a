"""A design, and the labels of a response, as JSON and back: no training row, no pickle, no foreign code.

`encode` gives dicts, lists, text and numbers whose JSON text restores every bit. `decode` checks each factor against
the closed list of `glmclf.data.formula.expressions` before anything of it is evaluated. `pickled` serves ``pickle``:
the same record, with the caller's functions by reference.
"""

from __future__ import annotations

import contextlib
import contextvars
import importlib
import math
import pickle
from collections.abc import Iterator, Mapping
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.data.design.arrays import ArrayDesign, Dropped
from glmclf.data.design.design import Design, TableDesign
from glmclf.data.formula import expressions
from glmclf.data.formula.factors import Expression, Factor, resolve
from glmclf.data.formula.terms import Subterm, Variable
from glmclf.data.reading.features import Feature, FeatureDesign
from glmclf.data.response.response import BinaryResponse, MultinomialResponse
from glmclf.data.transforms.basis import TRANSFORMS
from glmclf.errors import DataError, FormulaError

VERSION = 1
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
    raise DataError(
        f"{value!r} ({type(value).__name__}) cannot be stored as JSON; use pickle, or text or numbers instead."
    )


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
    return tuple(unpack(v) for v in value["tuple"])


def _dtype(name: str) -> np.dtype[Any]:
    dtype = np.dtype(name)
    if dtype.kind not in "biufO":
        raise DataError(f"a stored array has dtype {name}; only numbers are read.")
    return dtype


# --------------------------------------------------------------------------------------------------------- record
def _record(design: TableDesign | ArrayDesign) -> dict[str, Any]:
    """A design as plain Python objects and arrays, without the caller's functions."""
    if isinstance(design, ArrayDesign):
        names = {"xnames": list(design.xnames), "k_constant": design.k_constant, "endog_name": design.endog_name}
        return {"kind": "arrays", **names, "dropped": None if design.dropped is None else list(design.dropped)}
    if isinstance(design, FeatureDesign):
        return {"kind": "features", **_table_record(design), **_features_record(design)}
    assert isinstance(design, Design)
    return {
        "kind": "formula",
        **_table_record(design),
        "xnames": list(design.xnames),
        "terms": [[name, s.start, s.stop] for name, s in design.terms.items()],
        "k_constant": design.k_constant,
        "subterms": [
            {"factors": list(s.factors), "contrasts": [[code, matrix] for code, matrix in s.contrasts.items()]}
            for s in design.subterms
        ],
    }


def _table_record(design: Design | FeatureDesign) -> dict[str, Any]:
    return {
        "formula": design.formula,
        "endog_name": design.endog_name,
        "columns": [[name, v.kind, v.categories, v.ordered] for name, v in design.columns.items()],
        "factors": [_factor_record(factor) for factor in design.factors.values()],
    }


def _features_record(design: FeatureDesign) -> dict[str, Any]:
    return {
        "features": [dict(vars(feature)) for feature in design.features],
        "missing": design.missing,
        "dropped": None if design.dropped is None else list(design.dropped),
    }


def _factor_record(factor: Factor) -> dict[str, Any]:
    e = factor.expression
    return {
        "code": e.code,
        "levels": factor.levels,
        "width": factor.width,
        "left_out": list(factor.left_out),
        "transforms": [[name, dict(vars(transform))] for name, transform in e.transforms.items()],
    }


def _design(record: Mapping[str, Any], borrowed: Mapping[str, Any], *, safe: bool) -> TableDesign | ArrayDesign:
    if record["kind"] == "arrays":
        dropped = _dropped(record)
        return ArrayDesign(record["xnames"], record["k_constant"], record["endog_name"], dropped=dropped)
    columns = {name: Variable(kind, categories, ordered) for name, kind, categories, ordered in record["columns"]}
    factors = {f["code"]: _factor(f, columns, borrowed, safe=safe) for f in record["factors"]}
    shared: dict[str, Any] = {"formula": record["formula"], "endog_name": record["endog_name"]}
    shared |= {"factors": factors, "columns": columns}
    if record["kind"] == "features":
        features = [Feature(**f) for f in record["features"]]
        return FeatureDesign(features=features, missing=record["missing"], dropped=_dropped(record), **shared)
    return Design(
        xnames=record["xnames"],
        terms={name: slice(start, stop) for name, start, stop in record["terms"]},
        k_constant=record["k_constant"],
        subterms=[Subterm(tuple(s["factors"]), {code: m for code, m in s["contrasts"]}) for s in record["subterms"]],
        **shared,
    )


def _dropped(record: Mapping[str, Any]) -> Dropped | None:
    return Dropped(*record["dropped"]) if record.get("dropped") else None


def _factor(
    record: Mapping[str, Any], columns: Mapping[str, Variable], borrowed: Mapping[str, Any], *, safe: bool
) -> Factor:
    expression = resolve(record["code"], columns, borrowed, safe=safe)
    if expression.bare is None:
        expression.prepare()
    stored = record["transforms"]
    if [name for name, _ in stored] != list(expression.transforms):
        raise DataError(f'the stored states of "{expression.code}" do not belong to its transforms.')
    for name, state in stored:
        if safe:
            _check_state(name, state, expression)
        vars(expression.transforms[name]).clear()
        vars(expression.transforms[name]).update(state)
    return Factor(expression, record["levels"], record["width"], record["left_out"])


def _check_state(name: str, state: Mapping[str, Any], expression: Expression) -> None:
    function = _function_of(name)
    known = STATES.get(function)
    if known is not None and set(state) != known:
        raise DataError(
            f'the stored state of {function}() in "{expression.code}" has other parts than {sorted(known)}.'
        )


def _function_of(name: str) -> str:
    """``bs`` of patsy's internal name ``_patsy_stobj0__bs__``."""
    return name.partition("__")[2].removesuffix("__")


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
    record = _record(design)
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
        found = expressions.names(factor.expression.code)
        for name, value in factor.expression.borrowed.items():
            if name in found.called or name in found.rooted or callable(value) or isinstance(value, ModuleType):
                functions |= expressions.dotted_names(factor.expression.code, name)
            else:
                constants[name] = value
    return constants, sorted(functions)


def _storable(expression: Expression, design: TableDesign, functions: list[str], constants: Mapping[str, Any]) -> None:
    try:
        expressions.check(expression.code, list(design.columns), functions, constants)
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
            expressions.check(factor["code"], columns, functions, constants)
        return _design(record, {**constants, **_nested(functions)}, safe=True)
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


def check_version(stored: Mapping[str, Any], what: str) -> None:
    """Refuse what a newer release wrote."""
    version = stored.get("version") if isinstance(stored, Mapping) else None
    if not isinstance(version, int) or version < 1:
        raise DataError(f"this is not a stored {what}: it has no format version.")
    if version > VERSION:
        raise DataError(
            f"the stored {what} has format version {version}; this release reads up to {VERSION}. "
            f"Upgrade glmclf to read it."
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


# --------------------------------------------------------------------------------------------------------- pickle
def pickled(design: TableDesign) -> dict[str, Any]:
    """State for pickle: the record, and the caller's functions and constants by reference or value."""
    borrowed: dict[str, Any] = {}
    for factor in design.factors.values():
        for name, value in factor.expression.borrowed.items():
            borrowed[name] = _reference(name, value, factor.expression.code)
    return {"version": VERSION, "record": _record(design), "borrowed": borrowed}


_BY_VALUE = contextvars.ContextVar("by_value", default=False)


@contextlib.contextmanager
def functions_by_value() -> Iterator[None]:
    """Leave it to the pickler which of the caller's functions it takes: cloudpickle takes any."""
    token = _BY_VALUE.set(True)
    try:
        yield
    finally:
        _BY_VALUE.reset(token)


def _reference(name: str, value: Any, code: str) -> tuple[str, Any]:
    if isinstance(value, ModuleType):
        return "module", value.__name__
    if _BY_VALUE.get():
        return "value", value
    try:
        pickle.dumps(value)
    except Exception as error:
        raise FormulaError(
            f'the function "{name}" in "{code}" cannot be pickled ({error}): define it at the top level of a module.'
        ) from None
    return "value", value


def unpickled(state: Mapping[str, Any]) -> TableDesign | ArrayDesign:
    """The design whose state `pickled` gave."""
    check_version(state, "design")
    loaded = {
        name: importlib.import_module(value) if kind == "module" else value
        for name, (kind, value) in state["borrowed"].items()
    }
    return _design(state["record"], loaded, safe=False)


# ------------------------------------------------------------------------------------------------------ responses
def encode_response(response: BinaryResponse | MultinomialResponse) -> dict[str, Any]:
    """The labels of a response as a JSON-able dict, without its rows."""
    dtype: Any = response.dtype
    stored: dict[str, Any] = {"version": VERSION, "kind": response.kind, "name": response.name}
    stored |= {"levels": pack(list(response.levels)), "notes": list(response.notes)}
    if isinstance(response, MultinomialResponse):
        stored["reference"] = response.levels.index(response.reference)
    if isinstance(dtype, pd.CategoricalDtype):
        categories = [pack(c) for c in dtype.categories.tolist()]
        labels = str(dtype.categories.dtype)
        return stored | {"dtype": "category", "categories": categories, "of": labels, "ordered": bool(dtype.ordered)}
    return stored | {"dtype": str(dtype)}


def decode_response(stored: Mapping[str, Any]) -> BinaryResponse | MultinomialResponse:
    """The response that `encode_response` stored, without rows."""
    check_version(stored, "response")
    try:
        dtype: Any = stored["dtype"]
        if dtype == "category":
            categories = pd.Index([unpack(c) for c in stored["categories"]], dtype=_label_dtype(stored["of"]))
            dtype = pd.CategoricalDtype(categories, stored["ordered"])
        else:
            dtype = _label_dtype(dtype)
        levels = unpack(stored["levels"])
        if "reference" in stored:
            base, notes = levels[stored["reference"]], list(stored["notes"])
            return MultinomialResponse(None, None, stored["kind"], stored["name"], levels, base, dtype, notes)
        return BinaryResponse(None, None, stored["kind"], stored["name"], levels, dtype, list(stored["notes"]))
    except (KeyError, TypeError) as error:
        raise DataError(f"this is not a stored response: {type(error).__name__} {error}.") from None


def _label_dtype(name: str) -> Any:
    """The dtype of that name; plain objects where this pandas does not have it."""
    try:
        return pd.api.types.pandas_dtype(name)
    except TypeError:
        return np.dtype(object)
