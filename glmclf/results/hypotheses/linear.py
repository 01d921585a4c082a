"""Hypotheses about parameters: strings by name, labelled or plain matrices -> R and q of R theta = q."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.checks import is_number, is_whole, known_names
from glmclf.inference.hypotheses import wald


def constraints(
    hypothesis: Any, names: list[str], index: pd.Index | None = None, base: Any = None
) -> tuple[ndarray, ndarray]:
    """Matrices R (J, p) and q (J,) of a hypothesis R theta = q.

    Parameters
    ----------
    hypothesis : str, list of str, array_like, Series, DataFrame or (R, q)
        ``"x1 = x2, x3 = 1"``, a list of such, a matrix (q = 0), one labelled by the parameters, or a pair.
    names : list of str
        The parameters.
    index : Index, optional
        Their labels in tables, where these are not the names. Parameters by level and regressor are also known as
        ``y{level}_{regressor}`` with the level as Python writes it, ``y2.0_x`` for ``y2_x``.
    base : optional
        The level without parameters, of which an error speaks where a hypothesis names it.

    Raises
    ------
    ValueError
        Unknown names, wrong shapes, an empty hypothesis, what is none.
    """
    q = None
    _check_kind(hypothesis, names)
    hypothesis = respelled(hypothesis, names, index)
    if isinstance(hypothesis, tuple) and len(hypothesis) == 2 and not isinstance(hypothesis[0], str):
        R, q = (_numbers(part, names) for part in hypothesis)
    elif isinstance(hypothesis, (str, dict)) or _all_strings(hypothesis):
        try:
            R, q = _parse(list(hypothesis) if isinstance(hypothesis, tuple) else hypothesis, names)
        except ValueError as error:
            raise ValueError(f"{error}{_of_base(hypothesis, index, base)}") from None
    elif isinstance(hypothesis, (pd.Series, pd.DataFrame)):
        R = _by_label(hypothesis, names, index)
    else:
        R = _numbers(hypothesis, names)
    return wald.constraints(R, q, len(names))


def _of_base(hypothesis: Any, index: pd.Index | None, base: Any) -> str:
    """Message about names that would be parameters of the base level; "" without any."""
    if base is None or not isinstance(index, pd.MultiIndex):
        return ""
    texts = [hypothesis] if isinstance(hypothesis, str) else [str(part) for part in hypothesis]
    spelled = {str(base), f"{base:g}" if isinstance(base, (float, np.floating)) else str(base)}
    for level, name in itertools.product(spelled, dict.fromkeys(index.get_level_values(-1))):
        own = f"y{level}_{name}"
        if any(re.search(rf"(?<!\w){re.escape(own)}(?!\w)", text) for text in texts):
            return (
                f'. "{own}": {level} is the base level, which has no parameters, as its coefficients are 0: compare '
                "with 0 in its place"
            )
    return ""


def _of_levels(hypothesis: Any, names: list[str]) -> str:
    """Message about a level without a parameter of a factor that has some; "" without any."""
    known = set(names)
    factors = {name[: name.index("[T.")] for name in names if "[T." in name and name.endswith("]")}
    for factor in sorted((code for code in factors if _occurs(f"{code}[T.", hypothesis)), key=len, reverse=True):
        texts = [hypothesis] if isinstance(hypothesis, str) else hypothesis
        for level in re.findall(rf"{re.escape(factor)}\[T\.([^\[\]]*)\]", " ".join(map(str, texts))):
            if f"{factor}[T.{level}]" not in known:
                return (
                    f'. "{factor}[T.{level}]" is no parameter: "{level}" is the base level of {factor}, whose effect '
                    "is 0, or no level of it"
                )
    return ""


def _parse(hypothesis, names: list[str]) -> tuple[ndarray, ndarray]:
    from patsy import DesignInfo, PatsyError

    if not hypothesis or (isinstance(hypothesis, str) and not hypothesis.strip()):
        raise ValueError(f"the hypothesis is empty; the parameters are {known_names(names)}")
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise ValueError(f"the names {twice} stand for several parameters: use a matrix labelled like cov_params()")
    if isinstance(hypothesis, dict):
        return _by_name(hypothesis, names)
    among = [i for i, name in enumerate(names) if _occurs(name, hypothesis)] or [0]
    told = [names[i] for i in among]  # others are no part of it, and reading it takes time for each
    try:
        with np.errstate(all="ignore"):  # division by 0 gives a number that is refused later
            parsed = DesignInfo(told).linear_constraint(hypothesis)
    except (PatsyError, IndexError) as error:
        try:  # placeholders for names with signs, as "ywhite-collar_educ"
            with np.errstate(all="ignore"):
                coded = _replaced(hypothesis, {name: f"p{i}_" for i, name in enumerate(told)})
                parsed = DesignInfo([f"p{i}_" for i in range(len(told))]).linear_constraint(coded)
        except (PatsyError, IndexError):
            why = error if isinstance(error, PatsyError) else "one of the equations is empty"
            where = _of_levels(hypothesis, names) or f". The parameters are {known_names(names)}"
            raise ValueError(f"{hypothesis!r}: {why}{where}") from None
    except RecursionError:
        raise ValueError(
            "the hypothesis has too many terms to be read from text: give it as a matrix R, a row an equation and a "
            f"column for each of the {len(names)} parameters, or as (R, q)"
        ) from None
    R = np.zeros((len(parsed.coefs), len(names)))
    R[:, among] = parsed.coefs
    return R, parsed.constants.ravel()


def respelled(hypothesis: Any, names: list[str], index: pd.Index | None) -> Any:
    """Respell a hypothesis, text or labelled, from levels as Python writes them to names of parameters."""
    if not isinstance(index, pd.MultiIndex) or isinstance(hypothesis, ndarray):
        return hypothesis
    if isinstance(hypothesis, tuple):
        return tuple(respelled(part, names, index) for part in hypothesis)
    written = [f"y{level}_{name}" for level, name in index]
    known = set(names)
    others = {other: name for other, name in zip(written, names, strict=True) if other not in known}
    if not others:
        return hypothesis
    if isinstance(hypothesis, dict):
        return {others.get(name, name) if isinstance(name, str) else name: v for name, v in hypothesis.items()}
    if isinstance(hypothesis, (pd.Series, pd.DataFrame)):
        axis = "index" if isinstance(hypothesis, pd.Series) else "columns"
        labels = getattr(hypothesis, axis)
        named = not isinstance(labels, (pd.MultiIndex, pd.RangeIndex)) and labels.isin(list(others)).any()
        return hypothesis.rename(**{axis: others}) if named else hypothesis
    return _replaced(hypothesis, others)


def _by_name(values: Mapping[Any, Any], names: list[str]) -> tuple[ndarray, ndarray]:
    """Parameters, by name or place, and the values that they have."""
    R, q = np.zeros((len(values), len(names))), np.zeros(len(values))
    for row, (name, value) in enumerate(values.items()):
        whole = is_whole(name)
        if not (name in names or (whole and 0 <= name < len(names))):
            raise ValueError(f"{name!r} of {dict(values)} is no parameter; the parameters are {known_names(names)}")
        if not is_number(value):
            raise ValueError(f"{name!r}: {value!r} is no number that the parameter can be")
        R[row, names.index(name) if name in names else name], q[row] = 1.0, value
    return R, q


def _check_kind(hypothesis: Any, names: list[str]) -> None:
    """Raise ValueError for an object of a type that no hypothesis has."""
    ways = f'strings as "{names[-1]} = 0", {{"{names[-1]}": 0}}, a matrix R, or (R, q)'
    if hypothesis is None or isinstance(hypothesis, (set, frozenset)) or hasattr(hypothesis, "__next__"):
        raise ValueError(f"{hypothesis!r} is no hypothesis: give {ways}. The parameters are {known_names(names)}")
    if isinstance(hypothesis, (list, tuple)):
        if not len(hypothesis):
            raise ValueError(f"the hypothesis is empty; the parameters are {known_names(names)}")
        strings = sum(isinstance(part, str) for part in hypothesis)
        if 0 < strings < len(hypothesis):
            raise ValueError(f"{hypothesis!r} mixes strings with other things: give {ways}")


def _numbers(values: Any, names: list[str]) -> ndarray:
    """Convert to an array of real numbers."""
    try:
        a = np.asarray(values)
        if a.dtype.kind == "c" or (a.dtype.kind == "O" and any(isinstance(v, complex) for v in a.flat)):
            raise TypeError
        return a.astype(float)
    except (TypeError, ValueError):
        raise ValueError(
            f"the hypothesis {values!r} is no matrix of real numbers with a column for each of {known_names(names)}"
        ) from None


def _occurs(word: str, hypothesis: Any) -> bool:
    """Whether a word is in a text or in one of a list."""
    texts = [hypothesis] if isinstance(hypothesis, str) else hypothesis
    return any(isinstance(text, str) and word in text for text in texts)


def _replaced(hypothesis, words: Mapping[str, str]):
    """Replace words in a text or a list of texts, the longest first."""
    order = sorted((word for word in words if _occurs(word, hypothesis)), key=lambda word: -len(word))
    if not order:
        return hypothesis
    pattern = re.compile("|".join(rf"(?<![\w.]){re.escape(word)}(?![\w.])" for word in order))

    def code(text: Any) -> Any:
        return pattern.sub(lambda match: words[match.group(0)], text) if isinstance(text, str) else text

    return [code(h) for h in hypothesis] if isinstance(hypothesis, list) else code(hypothesis)


def _by_label(R: pd.Series | pd.DataFrame, names: list[str], index: pd.Index | None) -> ndarray:
    """Array of a labelled hypothesis matrix in the order of the parameters."""
    table = R.to_frame().T if isinstance(R, pd.Series) else R
    if index is not None and isinstance(table.columns, pd.MultiIndex):
        if not table.columns.is_unique or set(table.columns) != set(index):
            raise ValueError(_mislabelled(table, index))
        table = table[list(index)]
    elif not isinstance(table.columns, pd.RangeIndex):
        if not table.columns.is_unique or set(table.columns) != set(names):
            raise ValueError(_mislabelled(table, names))
        table = table[names]
    return _numbers(table.to_numpy(), names)


def _mislabelled(table: pd.DataFrame, names: Any) -> str:
    return f"the hypothesis is labelled {known_names(table.columns)}; the parameters are {known_names(names)}"


def _all_strings(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(v, str) for v in value)
