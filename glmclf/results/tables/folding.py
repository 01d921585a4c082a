"""Terms of many coefficients, such as factors of hundreds of levels, which tables show in one line."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.results.tables.numbers import pvalue

MAX_SHOWN = 50  # coefficients of a term that tables and plots show one by one without being asked
LIMITS = {None: MAX_SHOWN, True: math.inf, False: 1}  # by what the option levels= says


@dataclass(frozen=True)
class FoldedTerm:
    """Term of the formula whose coefficients stand in one line.

    Attributes
    ----------
    name : str
    columns : (m,) ndarray of int
        Places of its columns in the design.
    size : str
        How many levels the factor has, or coefficients the term.
    """

    name: str
    columns: ndarray
    size: str

    def line(self, res: Any, start: int, form: Callable[[float, int], str], exponentiate: bool) -> str:
        """Range of the estimates and their joint test, of the equation whose parameters begin at `start`."""
        at = start + self.columns
        estimate, n = res._theta[at], len(res._theta)
        omitted, unselected = (mask(given, n)[at] for given in (res._omitted, getattr(res, "_unselected", None)))
        finite = np.isfinite(estimate) & ~unselected
        counts = {
            "infinite": np.isinf(estimate),
            "undetermined": np.isnan(estimate) & ~omitted,
            "omitted": omitted,
            "not selected": unselected,
        }
        said = [f"{some.sum()} {word}" for word, some in counts.items() if some.any()]
        parts = [", ".join([self.size, *said])]
        if finite.any():
            with np.errstate(over="ignore"):
                ends = [f(estimate[finite]) for f in (np.min, np.max)]
                ends = [np.exp(end) for end in ends] if exponentiate else ends
            low, high = (form(float(end), 3).strip() for end in ends)
            parts.append(f"{'others ' if said else ''}{low} to {high}")
            parts += _test(res, at[finite])
        return "; ".join(parts)


def folded(res: Any, levels: bool | None) -> list[FoldedTerm]:
    """Terms of a result that a table shows in one line.

    Parameters
    ----------
    res : WaldInference
        A fit, an implied logit, or pooled ones.
    levels : bool, optional
        Whether all coefficients are shown one by one; by default those of terms of 50 at most. With False each term
        of two or more stands in one line.
    """
    model, design = res.model, res._owner.model._design
    terms = getattr(model, "_regressor_terms", None) or model._terms
    places = {str(name): np.arange(len(model.exog_names))[where] for name, where in terms.items()}
    large = {name: columns for name, columns in places.items() if len(columns) > LIMITS[levels]}
    return [FoldedTerm(name, columns, _size(design, name, len(columns))) for name, columns in large.items()]


def folded_note(res: Any, terms: Iterable[FoldedTerm]) -> list[str]:
    """Note on terms that stand in one line: what it says, and how each coefficient is shown."""
    said = ", ".join(term.name for term in terms)
    if not said:
        return []
    test = " and their joint Wald test" * res._has_joint_tests
    return [f"Of {said}: range of the coefficients{test}. summary(levels=True) shows each coefficient."]


def _size(design: Any, name: str, coefficients: int) -> str:
    """Size of a term in words: the levels of a factor, or the coefficients of any other term."""
    factor = getattr(design, "factors", {}).get(name)
    if factor is None:
        factor = next((one for one in getattr(design, "features", ()) if one.name == name), None)
    levels = getattr(factor, "levels", None)
    return f"{len(levels):,} levels" if levels is not None else f"{coefficients:,} coefficients"


def mask(given: Any, n: int) -> ndarray:
    """Mask of n parameters as an array; None stands for none of them."""
    return np.zeros(n, dtype=bool) if given is None else np.asarray(given, dtype=bool)


def _test(res: Any, at: ndarray) -> list[str]:
    """Words of the joint Wald test of some parameters; none where the fit has no such test."""
    found = res._joint_test(at)
    if found is None:
        return []
    words, p = found
    return ["no joint test" if math.isnan(p) else f"{words}, p = {pvalue(p).strip()}"]
