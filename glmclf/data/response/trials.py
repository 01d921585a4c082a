"""Proportions of trials: shares of successes beside the number of trials, as counts of successes and failures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.data.table.frame import quoted, read_column, row_labels
from glmclf.errors import DataError

WHOLE = 1e-3  # how far proportion times trials may be from a whole number, as in R's binomial()


def counts_of(
    names: Sequence[str], values: Sequence[Any], trials: ndarray, index: pd.Index
) -> tuple[list[str], list[ndarray]]:
    """Names and values of the counts of successes and of failures that a proportion of trials makes.

    Parameters
    ----------
    names : sequence of str
        Terms of the left side, one.
    values : sequence of (n,) array-like
        Its values: numbers from 0 to 1, without missing ones.
    trials : (n,) ndarray
        Whole numbers.
    index : Index
        Labels of the rows, for messages.

    Raises
    ------
    DataError
        More than one term, labels, numbers beyond 0 and 1, and such as make no whole number of successes.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from glmclf.data.response.trials import counts_of
    >>> counts_of(["p"], [np.array([0.3, 1.0])], np.array([10.0, 4.0]), pd.RangeIndex(2))
    (['p', '1 - p'], [array([3., 4.]), array([7., 0.])])
    """
    if len(names) > 1:
        raise DataError(
            f"trials= is for one proportion as response; {quoted(names)} are counts, which say themselves how many "
            "trials there were. Leave trials= out"
        )
    name = names[0]
    column = read_column(pd.Series(values[0]).reset_index(drop=True), name)
    if column.kind not in ("number", "bool"):
        raise DataError(f'trials= is for a proportion as response, numbers from 0 to 1; "{name}" holds labels')
    p = np.asarray(column.values, dtype=np.float64)
    beyond = ~((p >= 0) & (p <= 1))
    if beyond.any():
        raise DataError(
            f'trials= is for a proportion as response: "{name}" is not within 0 and 1 in {int(beyond.sum())} of '
            f"{len(p)} rows ({row_labels(beyond, index)}). Divide successes by trials, or write successes + failures"
        )
    successes = np.rint(p * trials)
    far = np.abs(p * trials - successes) > WHOLE
    if far.any():
        at = int(far.argmax())
        raise DataError(
            f'"{name}" times trials is no whole number of successes in {int(far.sum())} of {len(p)} rows '
            f"({row_labels(far, index)}; first: {p[at]:.10g} * {trials[at]:g} = {p[at] * trials[at]:.10g}). Give "
            "proportions with all their digits, or write successes + failures"
        )
    return [name, f"1 - {name}"], [successes, trials - successes]


def speaks_of_trials(fractions: ndarray, weights: ndarray) -> ndarray:
    """Numbers of rows whose fraction times weight is, and is not, a whole number, but for fractions 0 and 1, (2,)."""
    inside = (fractions > 0) & (fractions < 1)
    successes = fractions * weights
    whole = np.abs(successes - np.rint(successes)) <= 1e-9 * np.maximum(weights, 1.0)
    return np.array([np.count_nonzero(inside & whole), np.count_nonzero(inside & ~whole)])
