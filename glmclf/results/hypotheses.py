"""Hypotheses about parameters: strings by name, labelled or plain matrices -> R and q of R theta = q."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.inference import wald


def constraints(hypothesis: Any, names: list[str]) -> tuple[ndarray, ndarray]:
    """R (J, p) and q (J,) of a hypothesis.

    Parameters
    ----------
    hypothesis : str, list of str, array_like, Series, DataFrame or (R, q)
        ``"x1 = x2, x3 = 1"``, a list of such, a matrix (q = 0), one labelled by the parameters, or a pair.
    names : list of str
        The parameters.

    Raises
    ------
    ValueError
        Unknown names, wrong shapes, an empty hypothesis.
    """
    q = None
    if isinstance(hypothesis, tuple) and len(hypothesis) == 2 and not isinstance(hypothesis[0], str):
        R, q = (np.asarray(part, dtype=float) for part in hypothesis)
    elif isinstance(hypothesis, (str, dict)) or _all_strings(hypothesis):
        R, q = _parse(list(hypothesis) if isinstance(hypothesis, tuple) else hypothesis, names)
    elif isinstance(hypothesis, (pd.Series, pd.DataFrame)):
        R = _by_label(hypothesis, names)
    else:
        R = np.asarray(hypothesis, dtype=float)
    return wald.constraints(R, q, len(names))


def _parse(hypothesis, names: list[str]) -> tuple[ndarray, ndarray]:
    from patsy import DesignInfo, PatsyError

    if not hypothesis or (isinstance(hypothesis, str) and not hypothesis.strip()):
        raise ValueError(f"the hypothesis is empty; the parameters are {names}")
    try:
        parsed = DesignInfo(names).linear_constraint(hypothesis)
    except PatsyError as error:
        raise ValueError(f"{hypothesis!r}: {error}. The parameters are {names}") from None
    return parsed.coefs, parsed.constants.ravel()


def _by_label(R: pd.Series | pd.DataFrame, names: list[str]) -> ndarray:
    """A labelled hypothesis matrix in the order of the parameters."""
    table = R.to_frame().T if isinstance(R, pd.Series) else R
    if not isinstance(table.columns, pd.RangeIndex):
        if not table.columns.is_unique or set(table.columns) != set(names):
            raise ValueError(f"the hypothesis is labelled {list(table.columns)}; the parameters are {names}")
        table = table[names]
    return table.to_numpy(dtype=float)


def _all_strings(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(v, str) for v in value)
