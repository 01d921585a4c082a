"""What `fit` is told about a solver: keywords of "sgd", and whether to refine; which go together, and what is said of a
fit that ended short of the maximum."""

from __future__ import annotations

from typing import Any

import numpy as np

from glmclf.core.fit.solvers.sgd import RAW, remaining_error
from glmclf.core.numerics import seeds
from glmclf.errors import ConvergenceWarning, warn

FAR = 1.0  # standard errors from the maximum at which an unpolished estimate is worth a warning


def solver_options(method: str, *, seed: Any, batch_size: Any, polish: Any) -> dict[str, Any]:
    """Options of the solver; TypeError for keywords of "sgd" with another, ValueError for what they cannot be."""
    given = {"seed": seed, "batch_size": batch_size, "polish": polish}
    options = {name: value for name, value in given.items() if value is not None}
    if method != "sgd" and options:
        names = ", ".join(f"{name}=" for name in options)
        raise TypeError(f'method="{method}" takes no keyword {names}: it is for method="sgd"')
    whole = isinstance(batch_size, (int, np.integer)) and not isinstance(batch_size, bool) and batch_size >= 1
    if batch_size is not None and not whole:
        raise ValueError(f"batch_size={batch_size!r}: a whole number of rows, 1 or more")
    if polish is not None and not isinstance(polish, (bool, np.bool_)):
        raise ValueError(f"polish={polish!r}: True or False")
    check_seed(seed)
    return options


def check_seed(seed: Any) -> None:
    """ValueError for what makes no random numbers."""
    if seed is not None:
        seeds.generator(seed)


def check_refine(refine: Any, bias_reduction: str | None) -> None:
    """ValueError for what is no choice, NotImplementedError with bias reduction."""
    if refine is not None and not isinstance(refine, (bool, np.bool_)):
        raise ValueError(f"refine={refine!r}: True, False or None")
    if refine and bias_reduction is not None:
        raise NotImplementedError(
            f'refine=True with bias_reduction="{bias_reduction}": digits are kept unless the design is large'
        )


def check_converged(fit: Any, method: str, unit: float) -> None:
    """Warn of a fit that did not reach a maximum; of an unpolished one only where it ended far from it."""
    if fit.converged:
        return
    if fit.message == RAW:
        away = remaining_error(fit, unit)
        if away <= FAR:
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


def check_options(maxiter, tol, n_threads) -> None:
    """ValueError for options of a fit that are not what they must be."""

    def whole(value, least):
        return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= least

    if not whole(maxiter, 0):
        raise ValueError(f"maxiter={maxiter!r}: a whole number of iterations, 0 or more")
    if n_threads is not None and not whole(n_threads, 1):
        raise ValueError(f"n_threads={n_threads!r}: a whole number of threads, 1 or more")
    number = isinstance(tol, (int, float, np.integer, np.floating)) and not isinstance(tol, bool)
    if tol is not None and not (number and 0 <= tol < np.inf):
        raise ValueError(f"tol={tol!r}: a number, 0 or more")
