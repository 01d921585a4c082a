"""Certified values of tests/reference: where they are, how to read them, how to compare with them."""

import functools
import json
import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from glmclf import registry

ROOT = pathlib.Path(__file__).parent / "reference"
BINARY = tuple(registry.names("binary"))
NOT_A_MODEL_KEYWORD = ("fit", "fit_regularized", "cov_type")


@functools.cache
def _case(name: str) -> dict[str, Any]:
    path = ROOT / f"{name}.json"
    if not path.is_file():
        raise FileNotFoundError(f"no reference {name!r} in tests/reference; see names()")
    return json.loads(path.read_text(encoding="utf-8"))


@functools.cache
def _data(file: str) -> pd.DataFrame:
    # pandas reads exactly by default since 3.1 and warns there when asked to
    exact = {} if tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1) else {"float_precision": "round_trip"}
    return pd.read_csv(ROOT / file, **exact)


def names(quantity: str | None = None, models: tuple[str, ...] = BINARY) -> list[str]:
    """Names of the reference files, by quantity ("fit", "predict", "sandwich", ...) and model, sorted."""
    stems = sorted(path.stem for path in ROOT.glob("*.json"))
    return [s for s in stems if _case(s)["model"] in models and quantity in (None, _case(s)["quantity"])]


def reference(name: str) -> tuple[dict[str, Any], pd.DataFrame]:
    """One case, as the JSON file has it, and a copy of its data, each number its nearest double."""
    case = _case(name)
    return json.loads(json.dumps(case)), _data(case["data"]).copy()


def model_keywords(case: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords of a case that belong to the model: event, offset, freq_weights, weights."""
    return {k: v for k, v in case["keywords"].items() if k not in NOT_A_MODEL_KEYWORD}


@functools.cache
def fitted(name: str, **fit: Any) -> Any:
    """Fit of a binary reference case with default options; fitted once per test run and shared.

    Treat the result as read-only. Keywords go to ``fit()``; a case with others than the model's keywords is refused,
    so that no option is lost silently.
    """
    import glmclf

    case, data = reference(name)
    if case["model"] not in BINARY or case["quantity"] != "fit":
        raise ValueError(f"{name} is {case['quantity']} of {case['model']}, not a fit of a binary model")
    if set(case["keywords"]) & set(NOT_A_MODEL_KEYWORD):
        raise ValueError(f"{name} has fit options {case['keywords']}: fit it in the test")
    model = getattr(glmclf, case["model"])
    return model.from_formula(case["formula"], data, **model_keywords(case)).fit(**fit)


def number(value: Any) -> float:
    """A number of a JSON file, where "inf" and "-inf" are strings."""
    return float(value)


def digits(estimate: Any, expected: Any) -> np.ndarray:
    """Correct digits, -log10 |est - ref| / |ref|, between 0 and 16 (absolute where ref = 0); NaN counts 0."""
    est, ref = np.asarray(estimate, float), np.asarray(expected, float)
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.abs(est - ref) / np.where(ref == 0, 1.0, np.abs(ref))
    error = np.where(est == ref, 0.0, np.where(np.isnan(error), np.inf, error))
    return np.clip(-np.log10(np.maximum(error, 1e-16)), 0.0, 16.0)


def labelled(values: Mapping[str, Any]) -> pd.Series:
    """A named vector of a JSON file as a Series."""
    return pd.Series({k: number(v) for k, v in values.items()}, dtype=float)
