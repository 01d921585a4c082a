"""Hypotheses about parameters: strings by name, labelled or plain matrices -> R and q of R theta = q."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.inference import wald


def constraints(hypothesis: Any, names: list[str], index: pd.Index | None = None) -> tuple[ndarray, ndarray]:
    """R (J, p) and q (J,) of a hypothesis.

    Parameters
    ----------
    hypothesis : str, list of str, array_like, Series, DataFrame or (R, q)
        ``"x1 = x2, x3 = 1"``, a list of such, a matrix (q = 0), one labelled by the parameters, or a pair.
    names : list of str
        The parameters.
    index : Index, optional
        Their labels in tables, where these are not the names.

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
        R = _by_label(hypothesis, names, index)
    else:
        R = np.asarray(hypothesis, dtype=float)
    return wald.constraints(R, q, len(names))


def _parse(hypothesis, names: list[str]) -> tuple[ndarray, ndarray]:
    from patsy import DesignInfo, PatsyError

    if not hypothesis or (isinstance(hypothesis, str) and not hypothesis.strip()):
        raise ValueError(f"the hypothesis is empty; the parameters are {names}")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"the names {twice} stand for several parameters: use a matrix labelled like cov_params()")
    try:
        parsed = DesignInfo(names).linear_constraint(hypothesis)
    except PatsyError as error:
        try:  # names that hold signs, as "ywhite-collar_educ": by placeholders
            parsed = DesignInfo([f"p{i}_" for i in range(len(names))]).linear_constraint(_coded(hypothesis, names))
        except PatsyError:
            raise ValueError(f"{hypothesis!r}: {error}. The parameters are {names}") from None
    return parsed.coefs, parsed.constants.ravel()


def _coded(hypothesis, names: list[str]):
    """The hypothesis with a placeholder for each name, the longest first."""
    order = sorted(range(len(names)), key=lambda i: -len(names[i]))
    pattern = re.compile("|".join(rf"(?<![\w.]){re.escape(names[i])}(?![\w.])" for i in order))
    place = {name: f"p{i}_" for i, name in enumerate(names)}

    def code(text: str) -> str:
        return pattern.sub(lambda match: place[match.group(0)], text)

    if isinstance(hypothesis, dict):
        return {code(k): v for k, v in hypothesis.items()}
    return code(hypothesis) if isinstance(hypothesis, str) else [code(h) for h in hypothesis]


def _by_label(R: pd.Series | pd.DataFrame, names: list[str], index: pd.Index | None) -> ndarray:
    """A labelled hypothesis matrix in the order of the parameters."""
    table = R.to_frame().T if isinstance(R, pd.Series) else R
    if index is not None and isinstance(table.columns, pd.MultiIndex):
        if not table.columns.is_unique or set(table.columns) != set(index):
            raise ValueError(f"the hypothesis is labelled {list(table.columns)}; the parameters are {list(index)}")
        table = table[list(index)]
    elif not isinstance(table.columns, pd.RangeIndex):
        if not table.columns.is_unique or set(table.columns) != set(names):
            raise ValueError(f"the hypothesis is labelled {list(table.columns)}; the parameters are {names}")
        table = table[names]
    return table.to_numpy(dtype=float)


def _all_strings(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(v, str) for v in value)
