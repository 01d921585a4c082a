"""The labels of a response as JSON and back, without its rows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from glmclf.data.design.codec import pack, unpack
from glmclf.data.design.records import VERSION, check_version
from glmclf.data.response.response import BinaryResponse, MultinomialResponse
from glmclf.errors import DataError

_DTYPE = re.compile(r"[\w\[\](){}, <>=:+-]*(, ?(tz=)?[A-Za-z_]+(/[\w+-]+){1,2}\][\w\[\]]*)?")


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
    """The dtype of a name; plain objects where the installed pandas does not have it.

    The name of a time zone may be a path to pandas, which opens it: it is one of the zones of the world, or refused.
    """
    if not isinstance(name, str) or not _DTYPE.fullmatch(name) or "dateutil" in name:
        raise DataError(f"a stored response has the dtype {name!r}, which no response has.")
    try:
        return pd.api.types.pandas_dtype(name)
    except TypeError:
        return np.dtype(object)
