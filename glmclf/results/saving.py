"""Results as JSON files: written without a row of the data, read without running any code but the closed list's."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from glmclf import registry
from glmclf.checks import is_whole

FORMAT = 2  # format 1 had no ranges of variables


def write(path, stored: dict[str, Any]) -> None:
    """Write a result's dict to a path or an open file."""
    text = json.dumps(stored, ensure_ascii=False, default=_plain)
    if not hasattr(path, "write"):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return
    try:
        path.write(text)
    except TypeError:  # the file is open in binary mode
        path.write(text.encode("utf-8"))


def _plain(value):
    """Convert numpy values to types that JSON can hold."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"cannot save a {type(value).__name__}")


def load(path, functions=None) -> Any:
    """Read a result that `Results.save` wrote.

    Parameters
    ----------
    path : str, path or open file
        The JSON.
    functions : dict, optional
        Functions of yours that the formula calls, by name. Numpy's element-wise functions and the transforms of
        formulas need no mention; anything else is refused.

    Returns
    -------
    Results
        Predicts as before, without the data it was fitted to.

    Raises
    ------
    ValueError
        Not such a file, or one of a newer format.
    FormulaError
        The formula holds something that is not on the closed list.

    Examples
    --------
    >>> import io, glmclf
    >>> from glmclf import Logit, datasets
    >>> spector = datasets.load("spector")
    >>> file = io.StringIO()
    >>> Logit.from_formula("GRADE ~ GPA", spector).fit().save(file)
    >>> _ = file.seek(0)
    >>> glmclf.load(file).predict({"GPA": [3.5]}).round(4)
    0    0.559
    dtype: float64
    """
    if hasattr(path, "read"):
        text = path.read()
    else:
        with open(path, "rb") as file:
            text = file.read()
    try:
        stored = json.loads(text)
    except ValueError:
        raise ValueError(f"{path!r} is not a result that glmclf saved: it is not JSON") from None
    if not isinstance(stored, dict) or stored.get("format") != "glmclf":
        raise ValueError(f"{path!r} is not a result that glmclf saved")
    version: Any = stored.get("version")
    if not is_whole(version, 1):
        raise ValueError(f"{path!r} has no format version that glmclf knows: {version!r}")
    if version > FORMAT:
        raise ValueError(f"{path!r} has format version {version}; this glmclf reads up to {FORMAT}: upgrade glmclf")
    try:
        return _restored(stored, functions)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"{path!r} is damaged: {type(error).__name__} {error}") from error


def _restored(stored: dict[str, Any], functions) -> Any:
    name = stored["model"]["class"]
    if name not in registry.MODELS:
        raise ValueError(f"the file holds a {name}, which this version of glmclf does not have")
    model = registry.model_class(name)._rebuild(stored["model"], functions)
    cls = model._penalized_results_class if stored.get("results") == "regularized" else model._results_class
    return cls._from_dict(model, stored)
