"""Probabilities of levels that a user gives: by level, or in the order of the levels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray


def read_priors(priors: Any, levels: list[Any], name: str, *, positive: bool = False, lost: str = "") -> ndarray:
    """Probabilities in the order of the levels.

    Parameters
    ----------
    priors : sequence, dict, Series or "equal"
        One a level, in their order or by level.
    levels : list
    name : str
        What the levels are of.
    positive : bool
        Whether 0 is refused.
    lost : str
        Said of levels that are not there any more, beside the levels that are.

    Returns
    -------
    (K,) ndarray
        Sums to 1.

    Raises
    ------
    ValueError
        Other levels, another number, no probabilities, a sum other than 1.

    Examples
    --------
    >>> read_priors({"b": 0.75, "a": 0.25}, ["a", "b"], "y").tolist()
    [0.25, 0.75]
    """
    p = numbers(_unlabelled(priors, levels, name, lost), "priors", f"one for each of the levels {levels}")
    if p.shape != (len(levels),):
        found = f"{p.size} values" if p.ndim == 1 else f"the shape {p.shape}"
        raise ValueError(f"priors= has {found}; {name} has {len(levels)} levels: {levels}{lost}")
    if not (np.isfinite(p) & (p >= 0)).all():
        raise ValueError(f"priors={p.tolist()}: probabilities are numbers from 0 to 1")
    if positive and not (p > 0).all():
        raise ValueError(f"priors={p.tolist()}: positive numbers, one for each of the levels {levels}")
    if abs(p.sum() - 1.0) > 1e-6:
        raise ValueError(f"priors={p.tolist()} add up to {p.sum():.10g}: probabilities add up to 1")
    return p / p.sum()


def _unlabelled(priors: Any, levels: list[Any], name: str, lost: str) -> Any:
    """Probabilities in the order of the levels from those that name them, or "equal"."""
    if isinstance(priors, str):
        if priors != "equal":
            more = " (None, the default of a fit, estimates them)" if priors == "estimate" else ""
            raise ValueError(f'priors={priors!r}: give a probability for each of the levels {levels}, or "equal"{more}')
        return np.full(len(levels), 1.0 / len(levels))
    if isinstance(priors, pd.Series):
        if isinstance(priors.index, pd.RangeIndex) and not set(priors.index) & set(levels):
            return priors.to_numpy()
        if not priors.index.is_unique:
            raise ValueError(f"priors= names {list(priors.index)}: each of the levels {levels} once")
        priors = priors.to_dict()
    if not isinstance(priors, Mapping):
        return priors
    if set(priors) != set(levels):
        raise ValueError(f"priors= names {list(priors)}; the levels of {name} are {levels}{lost}")
    return [priors[level] for level in levels]


def numbers(values: Any, name: str, what: str) -> ndarray:
    """An array of real numbers from an option."""
    try:
        array = np.asarray(values)
        if array.dtype.kind in "cSU":
            raise TypeError
        return array.astype(float)
    except (TypeError, ValueError):
        raise ValueError(f"{name}={values!r}: give numbers, {what}") from None
