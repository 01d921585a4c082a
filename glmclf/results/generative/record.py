"""Stored form of a naive Bayes fit, and its features as columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.naive_bayes.families import Family, Statistics
from glmclf.core.naive_bayes.fit import NaiveBayesFit, Record, grouped
from glmclf.data.reading.features import MISSING_LEVEL, Feature


def as_columns(features: Sequence[Feature], drawn: Sequence[ndarray]) -> dict[str, Any]:
    """Values of features as columns of a table: the variables themselves where a feature is made of them."""
    out: dict[str, Any] = {}
    for feature, v in zip(features, drawn):
        if feature.kind == "counts":
            out |= {str(name): v[:, j] for j, name in enumerate(feature.levels or ())}
        elif feature.kind == "codes":
            names = feature.variables or feature.factors
            for name, levels in zip(names, zip(*_cells(feature))):
                out[name] = _labels(list(levels), v)
        else:
            name = (feature.variables or (feature.name,))[0]
            out[name] = v == 1 if feature.levels is not None else v
    return out


def _labels(levels: list[Any], place: ndarray) -> Any:
    """Labels by place; the level of missing values becomes missing."""
    kept = [None if level == MISSING_LEVEL else level for level in levels]
    values = np.empty(len(kept), dtype=object)
    values[:] = kept
    return pd.Series(values[place]).infer_objects().to_numpy()


def _cells(feature: Feature) -> list[tuple[Any, ...]]:
    """Levels of a table, one of each factor."""
    levels = feature.levels or (0, 1)
    return [(level,) for level in levels] if len(feature.factors) == 1 else list(levels)


def _arrays(s: Statistics) -> list[ndarray]:
    return [getattr(s, f.name) for f in fields(s)]


def contiguous(fit: NaiveBayesFit) -> NaiveBayesFit:
    """Fit with statistics in the memory order that a file restores, so that restored numbers are bit-equal."""
    statistics = tuple(type(s)(*(np.array(a, order="C") for a in _arrays(s))) for s in fit.statistics)
    fits = tuple(f.fit(s, fit.smoothing) for f, s in zip(fit.families, statistics))
    return replace(fit, features=fits, statistics=statistics)


def record_as_dict(fit: NaiveBayesFit) -> dict[str, Any]:
    """Counts of the classes and statistics of the features."""
    return {"counts": fit.counts, "features": [_arrays(s) for s in fit.statistics]}


def record_from_dict(families: Sequence[Family], stored: dict[str, Any]) -> Record:
    """Restore a record from the dict of `record_as_dict`."""
    statistics = tuple(
        f.kind(*(np.array(a, dtype=float) for a in arrays))
        for f, arrays in zip(grouped(families), stored["features"], strict=True)
    )
    return Record(np.array(stored["counts"], dtype=float), statistics)
