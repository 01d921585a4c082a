"""Results as JSON files: written without a row of the data, read without running any code but the closed list's."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import threading
from collections.abc import Collection
from typing import Any

import numpy as np

from glmclf import registry
from glmclf.checks import is_whole
from glmclf.errors import DataError
from glmclf.results.file_schema import check_agreement, check_fields

#: 1 had no ranges of variables, 2 digests of the response for sums of the data and no checksums, 3 coefficients twice
FORMAT = 4
FIRST_WITH_CHECKSUMS, CHECKSUMS = 3, "checksums"


def write(path, stored: dict[str, Any]) -> None:
    """Write a result's dict to a path or an open file; a file at a path is replaced once all is written."""
    write_text(path, _text({**stored, CHECKSUMS: checksums(stored)}))


def file_name(path: Any) -> str:
    """Name of a file that is to be written.

    Raises
    ------
    TypeError
        Something else than a name or a path.
    """
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(f"path={path!r}: give the name of a file, or an open file")
    return os.fsdecode(path)


def write_text(path, text: str) -> None:
    """Write text to a path, of which it replaces the file once all is written, or to an open text or binary file."""
    if not hasattr(path, "write"):
        return replace_file(os.path.realpath(file_name(path)), text)
    try:
        path.write(text)
    except TypeError:  # the file is open in binary mode
        path.write(text.encode("utf-8"))


def replace_file(path: str, text: str | bytes) -> None:
    """Write a file beside the one of its name and put it in its place, so that a full disk leaves what was there."""
    content = text if isinstance(text, bytes) else text.encode("utf-8")
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe, or /dev/stdout
        with open(path, "wb") as file:
            file.write(content)
        return
    beside = os.path.join(os.path.dirname(path), f"glmclf.{os.getpid()}.{threading.get_ident()}.part")
    try:
        if os.path.exists(path):
            open(path, "r+b").close()  # a file that may not be written is not replaced either
        with open(beside, "xb") as file:
            file.write(content)
        if os.path.exists(path):
            shutil.copymode(path, beside)
        os.replace(beside, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        if isinstance(error, OSError) and error.filename == beside:
            raise type(error)(error.errno, error.strerror, path) from None
        raise


def checksums(stored: dict[str, Any]) -> dict[str, str]:
    """Checksum of each field of a file by its name, as in "fit.theta"."""
    fields: dict[str, Any] = {}
    for part, content in stored.items():
        inner = content if isinstance(content, dict) else {"": content}
        fields |= {f"{part}.{name}".rstrip("."): value for name, value in inner.items()}
    return {name: hashlib.blake2b(_text(value).encode(), digest_size=6).hexdigest() for name, value in fields.items()}


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_plain)


def changed_fields(stored: dict[str, Any]) -> list[str]:
    """Names of the fields of a file that are not as they were written; none of a format without checksums."""
    if stored["version"] < FIRST_WITH_CHECKSUMS:
        return []
    known = stored.get(CHECKSUMS)
    if not isinstance(known, dict):
        return [CHECKSUMS]
    found = checksums({name: value for name, value in stored.items() if name != CHECKSUMS})
    return [name for name in {**known, **found} if known.get(name) != found.get(name)]


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
        Predicts as before, without the data it was fitted to; rows of a separated fit that infinite coefficients decide
        only together with many rows of the fit are NaN, with a warning.

    Raises
    ------
    ValueError
        Not such a file, one of a newer format, one that was changed after it was written, or whose numbers contradict
        each other; the message names the field.
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
    except (ValueError, RecursionError):
        raise ValueError(f"{path!r} is not a result that glmclf saved: it is not JSON") from None
    if not isinstance(stored, dict) or stored.get("format") != "glmclf":
        raise ValueError(f"{path!r} is not a result that glmclf saved")
    version: Any = stored.get("version")
    if not is_whole(version, 1):
        raise ValueError(f"{path!r} has no format version that glmclf knows: {version!r}")
    if version > FORMAT:
        raise ValueError(f"{path!r} has format version {version}; this glmclf reads up to {FORMAT}: upgrade glmclf")
    try:
        changed = changed_fields(stored)
    except RecursionError:
        raise ValueError(f"{path!r} is damaged: it is nested too deeply") from None
    words = f"{path!r} was changed after it was saved, in {', '.join(changed[:5])}: save the result again"
    try:
        found = _restored(stored, functions)
    except DataError:
        raise
    except Exception as error:  # of fields that are not what they were written as
        if changed:
            raise ValueError(f"{words} ({type(error).__name__}: {error})") from error
        if isinstance(error, ValueError) and not isinstance(error, np.linalg.LinAlgError):
            raise
        raise ValueError(f"{path!r} is damaged: {type(error).__name__} {error}") from error
    if changed:
        raise ValueError(words)
    return found


def facts_from(stored: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Quantities that needed the rows, from a file; of one of an earlier version without sums of the data."""
    facts = {"_data_sums": {}, **stored["facts"]}
    return {name: facts[name] for name in names}


def _restored(stored: dict[str, Any], functions) -> Any:
    name = stored["model"]["class"]
    if name not in registry.MODELS:
        raise ValueError(f"the file holds a {name}, which this version of glmclf does not have")
    model = registry.model_class(name)._rebuild(stored["model"], functions)
    cls = model._penalized_results_class if stored.get("results") == "regularized" else model._results_class
    check_fields(stored, model)
    found = cls._from_dict(model, stored)
    check_agreement(stored, found)
    return found
