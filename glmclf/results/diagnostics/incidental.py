"""Factors whose levels have few observations each, which bias the other coefficients: incidental parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from glmclf.inference.hypotheses.wald import CONSTANTS

MIN_OBSERVATIONS = 20.0  # a level: with fewer the other coefficients of a logit are biased by 7 % or more
MIN_LEVELS = 20  # of a factor: with fewer, few observations a level are a small sample and nothing else


def incidental_notes(res: Any) -> list[str]:
    """Note on the factor with the fewest observations a level, where these are few and other coefficients are biased.

    The error of a level's own coefficient does not vanish with more levels, and the others take a part of it: with T
    observations a level those of a logit are too large by a factor of 1 + 1/(T - 1), 2 for T = 2 exactly (Andersen
    1973), or somewhat more (in the design of Greene 2004 by 1.35 for T = 5, 1.16 for 10, 1.07 for 20), of a probit
    by more.
    """
    state, model, sizes = res._state, res.model, {}
    if state.penalised or state.estimate.bias_reduction:
        return []
    slopes = {j for j, column in enumerate(model.exog_names) if column not in CONSTANTS}
    for name, where in model._design.terms.items():
        factor = getattr(model._design, "factors", {}).get(name)
        others = slopes - {*np.arange(len(model.exog_names))[where].tolist()}
        if factor is not None and factor.levels is not None and others:
            sizes[name] = len(factor.levels)
    if not sizes:
        return []
    name = max(sizes, key=lambda term: sizes[term])
    each = _observations(res) / sizes[name]
    if sizes[name] < MIN_LEVELS or each >= MIN_OBSERVATIONS:
        return []
    size = f"{1 + 1 / (each - 1):.2f}" if each > 2 else "2"
    return [
        f"{name} has {sizes[name]:,} levels of {each:.3g} observations each: estimates of so many levels from so few "
        "observations make the other coefficients too large (incidental parameters, Neyman & Scott 1948), those of a "
        f'logit some {size} times or somewhat more. bias_reduction="firth" takes most of that away from some four '
        "observations a level on, a conditional logit (R's clogit) all of it."
    ]


def _observations(res: Any) -> float:
    """Observations of the fit: rows, with their frequency weights and trials; of sampling weights rows alone."""
    if res.model._pseudo:
        return float(res.nobs)
    of_classes = res._data_sums["response"] if res.model._rows_ is None else res.model._sums[:-1]
    return float(np.sum(of_classes))
