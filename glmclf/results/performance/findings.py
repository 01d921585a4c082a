"""Findings of checks of a fit, their verdicts and thresholds."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from glmclf.core.rows.asked import asking
from glmclf.inference.hypotheses.multiplicity import adjusted_pvalues
from glmclf.results.requires import Needs, check_needs
from glmclf.results.tables.numbers import with_minus

FINE, LOOK, PROBLEM = "fine", "look", "problem"
LOOK_P, PROBLEM_P = 0.05, 0.001  # p-values below which a verdict is "look", or "problem"
P_SAYS = f"p below {LOOK_P:g}, {PROBLEM_P:g}"
SMALL_DISTANCE = 0.05  # of distribution functions, that changes no decision
UNLESS_CLOSE = f", unless distribution functions differ by less than {SMALL_DISTANCE:g}"
REFUSED = (NotImplementedError, ValueError)  # the package's errors derive from these


class Finding(NamedTuple):
    """Finding of one check.

    Attributes
    ----------
    check : str
        Its name.
    found : str
        What was found, in words.
    value, pvalue : float
        The statistic that the words are about, and its p-value where it has one.
    verdict : str
        "fine", "look", "problem", or empty: nothing to judge.
    threshold, source : str
    """

    check: str
    found: str
    value: float
    pvalue: float
    verdict: str
    threshold: str
    source: str


def judged(pvalue: float, small: bool = False) -> str:
    """Verdict of a p-value, "fine" where the deviation is small however certain it is; empty for NaN."""
    if np.isnan(pvalue):
        return ""
    return FINE if small or pvalue >= LOOK_P else LOOK if pvalue >= PROBLEM_P else PROBLEM


def tested(check: str, words: str, value: float, p: float, small: bool, says: str, source: str) -> Finding:
    """Finding of a test, whose words say of a deviation that is certain but small that it is."""
    words = f"{words}, a small deviation" if small and p < LOOK_P else words
    return Finding(check, words, float(value), float(p), judged(p, small), says, source)


def up_to(distance: float) -> str:
    """A largest distance in words, of which four decimals are shown."""
    return f"up to {with_minus(max(distance, 1e-4), 2)}"


def p_words(pvalue: float) -> str:
    """A p-value in words, as ``p = 0.034``."""
    return "p < 0.001" if pvalue < 0.001 else f"p = {pvalue:.3f}" if pvalue < 0.1 else f"p = {pvalue:.2f}"


def unbroken(text: str) -> str:
    """Words whose p-values stay on one line."""
    return re.sub(r"\bp ([=<]) (?=\d)", "p\N{NO-BREAK SPACE}\\1\N{NO-BREAK SPACE}", text)


def holm(pvalues: ndarray) -> ndarray:
    """p-values by Holm's method, NaN where there is none."""
    known = np.isfinite(pvalues)
    out = np.full(len(pvalues), np.nan)
    if known.any():
        out[known] = adjusted_pvalues(pvalues[known], "holm")
    return out


def check_rows(res: Any) -> None:
    """Refuse a fit without its rows in memory, by the name of `check`."""
    with asking(type(res), "check"):
        check_needs(res, "check", Needs.ROWS)


@dataclass
class Inspection:
    """What checks of a fit are given, and leave.

    Attributes
    ----------
    results : result
    alpha : float
    generator : Generator
        Of quantile residuals.
    drawn : dict
        What there is to draw, by panel.
    why : dict
        Reasons why panels, or checks within them, are left out.
    """

    results: Any
    alpha: float
    generator: np.random.Generator
    drawn: dict[str, Any] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)

    def optional(self, check: str, f: Callable[[], Finding | None]) -> list[Finding]:
        """A finding within a panel, or none, and why."""
        try:
            found = f()
        except REFUSED as error:
            self.why[check] = str(error)
            return []
        return [] if found is None else [found]
