"""Public names with their signatures, and columns of the tables that methods return, as they were when last written.

A name that goes, a signature or a column that changes is a change for users. Where it is wanted, or a name is new,
``python tests/test_snapshots.py`` writes the snapshots anew: read the difference before you commit it.
"""

import functools
import importlib.util
import json
import re
import warnings
from typing import Any

import pandas as pd
import pytest
from answers import (
    FITS,
    FOLDER,
    answer,
    is_method,
    other_answers,
    ours,
    own_names,
    own_signature,
    public_names,
    questions,
    signature,
)

import glmclf
from glmclf import datasets, plots
from glmclf.formula import api

NAMES, COLUMNS = FOLDER / "names.json", FOLDER / "columns.json"
AGAIN = "If that is wanted: `python tests/test_snapshots.py` writes the snapshots anew."
MODULES = {"glmclf": glmclf, "glmclf.datasets": datasets, "glmclf.formula.api": api, "glmclf.plots": plots}
SUBMODULES = ("datasets", "formula", "plots", "sklearn")
#: one fit of each family, and of each kind that has results of its own
KINDS = ["Logit", "Logit constrained", "Logit firth", "Logit ridge", "Logit lasso", "Logit path", "Logit cv",
         "Logit pooled", "Logit counts", "Logit quasi-separated", "Probit", "CLogLog counts", "MNLogit",
         "MNLogit ridge", "MNLogit counts", "LDA", "LDA implied logit", "QDA", "NaiveBayes", "NaiveBayes families",
         "NaiveBayes implied logit"]
ROWS = 30  # an index that is longer is one of rows
NUMBER = re.compile(r"\d\.\d{5}")


# ------------------------------------------------------------------------------------------------------------ names
def members(thing: Any) -> dict[str, str]:
    """Public names of an object: the signature of a method, "attribute" for what is not called."""
    return {name: own_signature(thing, name) or "attribute" for name in own_names(thing)}


def of_class(cls: type) -> dict[str, str]:
    found = {name: signature(getattr(cls, name)) if is_method(cls, name) else "attribute" for name in public_names(cls)}
    return {"__init__": signature(cls), **found}


def of_module(module: Any) -> dict[str, Any]:
    found = {name: getattr(module, name) for name in sorted(module.__all__)}
    return {name: of_class(thing) if isinstance(thing, type) else signature(thing) if callable(thing) else "attribute"
            for name, thing in found.items()}


def walk(thing: Any, visit, seen: set[int]) -> None:
    """Show `visit` each object of ours that a thing is, holds or answers without argument, results but once."""
    if isinstance(thing, dict):
        thing = list(thing.values())
    if isinstance(thing, list | tuple) and not hasattr(thing, "_asdict"):
        for part in thing[:3]:
            walk(part, visit, seen)
    elif ours(type(thing)) and not isinstance(thing, pd.DataFrame) and id(thing) not in seen:
        seen.add(id(thing))
        visit(thing)


@functools.cache
def everything() -> tuple[dict[str, dict[str, str]], dict[str, dict[str, Any]]]:
    """Names of each class of results, and the tables of each kind of fit."""
    names: dict[str, dict[str, str]] = {}
    tables: dict[str, dict[str, Any]] = {}

    def visit(thing: Any) -> None:
        names.setdefault(type(thing).__name__, {}).update(members(thing))

    def ask(kind: str, asked: dict) -> None:
        seen: set[int] = set()

        def look(found: Any) -> Any:
            walk(found, visit, seen)
            return shape(found)

        shapes = {name: answer(question, look) for name, question in asked.items()}
        tables[kind] = {}
        for name, found in shapes.items():
            found = found["answer"] if found and "warnings" in found else found
            if found and "raises" not in found and not said_before(name, found, tables[kind]):
                tables[kind][name] = found

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in KINDS:
            fit = FITS[kind]
            result = fit.make()
            visit(result)
            if type(getattr(result, "model", None)).__name__ in glmclf.__all__:
                visit(result.model)
            ask(kind, questions(result, fit))
        ask("functions", {name: question for name, question in other_answers().items() if not name.startswith("raise")})
    return names, tables


def said_before(name: str, found: Any, tables: dict[str, Any]) -> bool:
    """Whether the same method, asked otherwise, has the same tables."""
    method = re.split(r"\W", name)[0]
    return any(re.split(r"\W", other)[0] == method and found == what for other, what in tables.items())


def current_names() -> dict[str, Any]:
    found: dict[str, Any] = {name: of_module(module) for name, module in MODULES.items()}
    found["glmclf"]["submodules"] = [name for name in SUBMODULES if name in dir(glmclf)]
    if importlib.util.find_spec("sklearn"):
        found["glmclf.sklearn"] = of_module(importlib.import_module("glmclf.sklearn"))
    found["objects"] = dict(sorted(everything()[0].items()))
    return found


# ---------------------------------------------------------------------------------------------------------- columns
def shape(thing: Any, deep: int = 1) -> Any:
    """Columns of a table, names of its index and its labels where they are words; the same of tables in an object."""
    if isinstance(thing, pd.DataFrame | pd.Series):
        found = {"columns": words(thing.columns)} if isinstance(thing, pd.DataFrame) else {"series": str(thing.name)}
        found["index"] = words(thing.index) if deep and len(thing) <= ROWS else None
        found["of index"] = [str(name) for name in thing.index.names if name is not None]
        return {name: what for name, what in found.items() if what}
    if isinstance(thing, dict):
        inside = {str(key): shape(value, deep) for key, value in thing.items()}
        return {name: what for name, what in inside.items() if what}
    if ours(type(thing)) and deep and not hasattr(type(thing), "cov_params"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            inside = {name: shape_of_member(thing, name) for name in public_names(thing)}
        return {name: what for name, what in inside.items() if what}
    return None


def shape_of_member(thing: Any, name: str) -> Any:
    try:
        value = getattr(thing, name)
        if is_method(type(thing), name):
            if name not in ("summary_frame", "table", "frame", "conf_int", "tidy"):
                return None
            value = value()
        return shape(value, 0)
    except (ValueError, TypeError, NotImplementedError, AttributeError):
        return None


def words(index: pd.Index) -> list[str] | None:
    """Labels, unless they are numbers, of which some hang on the last bits."""
    found = [str(label) for label in index.tolist()]
    if any(NUMBER.search(label) for label in found) or (len(found) and isinstance(index, pd.RangeIndex)):
        return [f"{len(found)} numbers"]
    return found


# ------------------------------------------------------------------------------------------------------------ tests
def flat(found: Any, where: str = "") -> dict[str, str]:
    """``{"glmclf.Logit.fit": "(...)"}``."""
    if isinstance(found, dict):
        leaves: dict[str, str] = {}
        for name, what in found.items():
            leaves |= flat(what, f"{where} {name}" if where else str(name))
        return leaves
    return {where: json.dumps(found)}


def compared(path, current: dict[str, Any]) -> list[str]:
    kept = flat(json.loads(path.read_text(encoding="utf-8")))
    now = flat(json.loads(json.dumps(current)))
    if not importlib.util.find_spec("sklearn"):
        kept = {name: what for name, what in kept.items() if not name.startswith("glmclf.sklearn")}
    wrong = [f"gone: {name} {kept[name]}" for name in kept if name not in now]
    wrong += [f"changed: {name}\n    was {kept[name]}\n    is  {now[name]}" for name in kept
              if name in now and now[name] != kept[name]]
    return wrong + [f"new: {name} {now[name]}" for name in now if name not in kept]


def test_public_names_and_signatures():
    wrong = compared(NAMES, current_names())
    assert not wrong, "\n".join([*wrong, AGAIN])


@pytest.mark.parametrize("kind", [*KINDS, "functions"])
def test_columns_of_tables(kind):
    wrong = compared(COLUMNS, {**json.loads(COLUMNS.read_text(encoding="utf-8")), kind: everything()[1][kind]})
    assert not wrong, "\n".join([*wrong, AGAIN])


def write() -> None:
    NAMES.write_text(text(current_names(), 3) + "\n", encoding="utf-8")
    COLUMNS.write_text(text(everything()[1], 2) + "\n", encoding="utf-8")


def text(found: Any, deep: int, indent: int = 0) -> str:
    """JSON of which the outer names have lines of their own."""
    if not isinstance(found, dict) or not found or indent == deep:
        return json.dumps(found, ensure_ascii=False)
    pad = " " * (indent + 1)
    inner = ",\n".join(f"{pad}{json.dumps(name, ensure_ascii=False)}: {text(what, deep, indent + 1)}"
                      for name, what in found.items())
    return "{\n" + inner + "\n" + " " * indent + "}"


if __name__ == "__main__":
    write()
