"""Options of `fit`: checks of values and combinations, and warnings of fits that did not converge."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from glmclf import registry
from glmclf.checks import check_choice, check_whole, is_number
from glmclf.core.fit.coordinates import Coordinates
from glmclf.core.fit.estimate import Estimate, estimate
from glmclf.core.fit.solvers.sgd import RAW, remaining_error
from glmclf.core.likelihood.objective import MultinomialObjective, Objective
from glmclf.core.numerics import seeds
from glmclf.errors import ConvergenceWarning, EstimationError, warn
from glmclf.inference.covariance.types import MODEL_BASED, REFITS

if TYPE_CHECKING:
    from glmclf.core.fit.bias import ReducedEstimate

WIDE_OFFSET = 30.0  # range of an offset, at one of whose ends every probability is within 1e-6 of 0 or 1
MAX_DISTANCE = 1.0  # standard errors from the maximum, beyond which an unpolished estimate is warned of


F = TypeVar("F", bound=Callable[..., Any])
OF_ONE_FIT = ("start_params", "callback", "disp", "progress")  # options that say nothing about another fit


def keeps_options(fit: F) -> F:
    """Decorate `fit` so that its result keeps the options that were given, for a fit of another formula."""

    @functools.wraps(fit)
    def kept(self: Any, *args: Any, **kwargs: Any) -> Any:
        res = fit(self, *args, **kwargs)
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        res._options = {name: value for name, value in given.items() if name not in OF_ONE_FIT}
        return res

    names = list(inspect.signature(fit).parameters)[1:]
    return cast(F, kept)


def check_choices(bias_reduction: Any, separation: Any, collinear: Any) -> None:
    """Raise ValueError for words that are no choice."""
    if bias_reduction is not None:
        check_choice("bias_reduction", bias_reduction, ("firth", "median"))
    check_choice("separation", separation, ("raise", "warn"))
    check_choice("collinear", collinear, ("raise", "drop"))


def solver_options(method: str, *, seed: Any, batch_size: Any, polish: Any) -> dict[str, Any]:
    """Options of the solver; TypeError for keywords of "sgd" with another method, ValueError for invalid values."""
    given = {"seed": seed, "batch_size": batch_size, "polish": polish}
    options = {name: value for name, value in given.items() if value is not None}
    if method != "sgd" and options:
        names = ", ".join(f"{name}=" for name in options)
        raise TypeError(f'method="{method}" takes no keyword {names}: it is for method="sgd"')
    if batch_size is not None:
        check_whole("batch_size", batch_size, 1, "a whole number of rows")
    check_seed(seed)
    return options


def check_seed(seed: Any) -> None:
    """Raise ValueError for a seed from which numpy makes no random numbers."""
    if seed is not None:
        seeds.generator(seed)


def check_refine(refine: Any, bias_reduction: str | None) -> None:
    """Raise NotImplementedError for `refine` with bias reduction."""
    if refine and bias_reduction is not None:
        raise NotImplementedError(
            f'refine=True with bias_reduction="{bias_reduction}": digits are kept unless the design is large'
        )


def wide_offset(model: Any) -> str:
    """Sentence that names an offset so wide that it decides rows, with its ends and what to do; "" of another."""
    if not model._has_offset:
        return ""
    name, rows, blocks = model._names["offset"], model._rows, model._objective().blocks
    if blocks.streamed:
        middle, spread = blocks.middle(3)
        ends, where = (float((middle - spread).min()), float((middle + spread).max())), ("", "")
    else:
        o = np.asarray(blocks.arrays[3]).reshape(rows.offset.shape[0], -1)
        places = [int(f(o)) // o.shape[1] for f in (np.argmin, np.argmax)]
        ends = float(o.min()), float(o.max())
        where = tuple(f" ({rows.named(np.array([i]))})" for i in places)  # type: ignore[assignment]
    if not ends[1] - ends[0] > WIDE_OFFSET:
        return ""
    return (
        f'The offset "{name}" runs from {ends[0]:.4g}{where[0]} to {ends[1]:.4g}{where[1]}, so wide that it decides '
        "outcomes by itself: check its unit (it is added to the linear predictor, so that an exposure enters as its "
        "logarithm), or leave out the rows at its ends"
    )


def check_converged(fit: Any, method: str, unit: float) -> None:
    """Warn of a fit that did not reach a maximum; an unpolished fit may end within MAX_DISTANCE of it."""
    if fit.converged:
        return
    if fit.message == RAW:
        away = remaining_error(fit, unit)
        if away <= MAX_DISTANCE:
            return
        what = f"the estimates are about {away:.2g} standard errors from the maximum"
        advice = f"{what}. Use polish=True, or raise maxiter="
    else:
        advice = "the estimates are not a maximum. Raise maxiter=, or start elsewhere"
    norm = float(np.linalg.norm(fit.evaluation.score))
    warn(
        f"{method}: {fit.message} (stopped after {fit.iterations} iteration{'' if fit.iterations == 1 else 's'}, "
        f"gradient norm {norm:.3g}, "
        f"squared Newton decrement {fit.decrement:.3g}); {advice}.",
        ConvergenceWarning,
    )


def check_threads(n_threads: Any) -> None:
    """Raise ValueError for a number of threads that is none."""
    if n_threads is not None:
        check_whole("n_threads", n_threads, 1, "a whole number of threads")


def check_options(maxiter, tol, n_threads) -> None:
    """Raise ValueError for invalid maxiter, tol or n_threads."""
    check_whole("maxiter", maxiter, 0, "a whole number of iterations")
    check_threads(n_threads)
    number = is_number(tol)
    if tol is not None and not (number and 0 <= tol < np.inf):
        raise ValueError(f"tol={tol!r}: a number, 0 or more")


# -------------------------------------------------------------------------------------------------- bias reduction
def check_reduction(model: Any, kind: str | None, flic: bool, method: str) -> None:
    """Raise NotImplementedError for options that exclude bias reduction, and ValueError for flic without it."""
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


def with_flic(model: Any, found: Any, objective: Objective, coordinates: Coordinates) -> Estimate:
    """Bias-reduced estimate with a corrected intercept."""
    from glmclf.core.fit.bias import with_corrected_intercept

    kept = coordinates.columns.tolist()
    if model._constant_column() not in kept:
        raise ValueError("flic=True corrects the intercept, which is left out as a combination of other columns")
    return with_corrected_intercept(found, objective, kept.index(model._constant_column()))


def check_covariance(found: ReducedEstimate, cov_type: str, objective: Objective) -> None:
    """Refuse covariances by refitting, and robust ones where the data are separated.

    The scores of separated rows are all but zero at a bias-reduced estimate, as they would be at infinity, and their
    squares say nothing about its variance.
    """
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
