"""What `fit` asks of a bias-reduced estimate: which models have one, its intercept, which covariances it may have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from glmclf import registry
from glmclf.core.fit.aliasing import columns_kept
from glmclf.core.fit.estimate import Estimate, estimate
from glmclf.core.likelihood.objective import MultinomialObjective, Objective
from glmclf.errors import EstimationError
from glmclf.inference.covariance.types import MODEL_BASED, REFITS

if TYPE_CHECKING:
    from glmclf.core.fit.bias import ReducedEstimate


def check_reduction(model: Any, kind: str | None, flic: bool, method: str) -> None:
    """NotImplementedError, naming both, for what has no bias-reduced estimate; ValueError for flic without one."""
    if not isinstance(flic, (bool, np.bool_)):
        raise ValueError(f"flic={flic!r}: True or False")
    if kind is None:
        if flic:
            raise ValueError('flic=True corrects the intercept of bias_reduction="firth": give both')
        return
    name, option = type(model).__name__, f'bias_reduction="{kind}"'
    several = issubclass(model._objective_class, MultinomialObjective)  # with two classes, too
    if kind == "median" and several:
        others = registry.listed(["binary"], "or")
        raise NotImplementedError(f'{option} of {name} is not available: use "firth", or {others}')
    if method != "irls":
        raise NotImplementedError(f'method={method!r} with {option}: there is "irls", quasi Fisher scoring, alone')
    if model._pseudo:
        what = "a fractional response" if model._frequency else "sampling weights (weights=)"
        raise NotImplementedError(
            f"{option} with {what}: the bias depends on how the data came about, which the model does not say. "
            "Rows that stand for several equal ones have freq_weights="
        )
    if flic and (kind != "firth" or several or not model._likelihood.canonical):
        raise NotImplementedError(f'flic=True is for bias_reduction="firth" of Logit, not {option} of {name}')
    if flic and model._constant_column() is None:
        raise ValueError("flic=True corrects the intercept: the model has no column that is constant")


def with_flic(model: Any, found: Any, objective: Objective, omitted: Any) -> Estimate:
    """The bias-reduced estimate with a corrected intercept."""
    from glmclf.core.fit.bias import with_corrected_intercept

    kept = columns_kept(omitted, len(model.exog_names)).tolist()
    if model._constant_column() not in kept:
        raise ValueError("flic=True corrects the intercept, which is left out as a combination of other columns")
    return with_corrected_intercept(found, objective, kept.index(model._constant_column()))


def check_covariance(found: ReducedEstimate, cov_type: str, objective: Objective) -> None:
    """Refuse covariances by refitting, and robust ones where the data are separated.

    The scores of separated rows are all but zero at a bias-reduced estimate, as they would be at infinity, and their
    squares say nothing about its variance.
    """
    assert found.reduction is not None
    option = f'bias_reduction="{found.reduction.kind}"'
    if cov_type in REFITS:
        raise NotImplementedError(f'cov_type="{cov_type}" with {option} is not available: use "expected"')
    if cov_type in MODEL_BASED:
        return
    start = np.zeros(objective.blocks.arrays[0].shape[1] * objective.likelihood.n_eta)
    with np.errstate(over="ignore", invalid="ignore"):
        ml = estimate("irls", objective, start, maxiter=60)
    if not ml.vanished and ml.fit.message == "converged":
        return
    from glmclf.core.separation.search import find_cone

    if find_cone(objective, ml.theta)[0] is not None:
        raise EstimationError(
            f'cov_type="{cov_type}" with {option}: the data are separated, so that the scores of some rows are all but '
            'zero and robust standard errors far too small. Use cov_type="expected"'
        )
