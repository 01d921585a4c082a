"""Options of `fit_regularized` and `fit_regularized_cv`, read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.checks import is_number, is_truth, known_names
from glmclf.core.rows.asked import asked_for
from glmclf.data.table.frame import quoted
from glmclf.errors import ConvergenceWarning, DataWarning, warn
from glmclf.models.fit_options import check_options
from glmclf.models.progress import reporter_of

PENALIZED_METHODS = ("elastic_net",)


@dataclass(frozen=True)
class PenaltyOptions:
    """Options of a penalised fit.

    Attributes
    ----------
    alpha : (k, m) ndarray
        Of each column and equation, or class if `symmetric`; of a path for alpha = 1.
    """

    alpha: ndarray
    L1_wt: float
    symmetric: bool
    maxiter: int
    tol: float | None
    n_threads: int | None
    callback: Any = None

    @property
    def free(self) -> ndarray:
        """Columns without any penalty, (k,)."""
        return (self.alpha == 0).all(axis=1)

    def times(self, a: float) -> PenaltyOptions:
        """The options with each alpha times a number."""
        from glmclf.core.penalised.problem import scaled_alpha

        return replace(self, alpha=scaled_alpha(self.alpha, a))


def penalty_options(
    model: Any, alpha, L1_wt, penalize_intercept, symmetric, maxiter, tol, n_threads, disp
) -> PenaltyOptions:
    """Check the options of `fit_regularized` for a model."""
    check_options(maxiter, tol, n_threads)
    if not (is_number(L1_wt) and 0 <= L1_wt <= 1):
        raise ValueError(f"L1_wt={L1_wt!r}: a number from 0 (ridge) to 1 (lasso)")
    if symmetric and model._likelihood.n_eta == 1 and not hasattr(model, "_equations"):
        raise NotImplementedError(f"symmetric=True is for MNLogit; {type(model).__name__} has one equation")
    A = _alphas_of(model, alpha, bool(symmetric), bool(penalize_intercept))
    if L1_wt == 0 and np.isinf(A).any():
        names = [name for name, row in zip(model.exog_names, A, strict=True) if np.isinf(row).any()]
        raise ValueError(
            f"alpha is infinite for {quoted(names)}, with L1_wt=0: a ridge leaves no column out. Leave such columns "
            "out of the model"
        )
    return PenaltyOptions(A, float(L1_wt), bool(symmetric), maxiter, tol, n_threads, reporter_of(None, disp))


def _alphas_of(model: Any, alpha, symmetric: bool, penalize_intercept: bool) -> ndarray:
    """alpha of each column and equation, (k, m)."""
    names, constant = model.exog_names, model._constant_column()
    equations = getattr(model, "levels" if symmetric else "_equations", None)
    A, by_name = _read_alpha(alpha, names, model._design.terms, 1 if equations is None else len(equations), equations)
    if not ((A >= 0).all() and (by_name or np.isfinite(A).all())):
        raise ValueError(f"alpha={_shown(alpha)}: weights of a penalty are numbers, 0 or more")
    if constant is None or penalize_intercept:
        return A
    if by_name and A[constant].any():
        raise ValueError(
            f'alpha is not 0 for the intercept "{names[constant]}", which has no penalty: give 0, or '
            "penalize_intercept=True"
        )
    A[constant] = 0.0
    return A


def warn_of_spanned(model: Any, wanted: PenaltyOptions) -> None:
    """Warn of an intercept that the columns span, which the penalty then has."""
    from glmclf.results.regression.penalized import SPANNED

    if model._constant_column() is None and model.k_constant and not wanted.free.any():
        warn(SPANNED + " Write the formula with an intercept to leave it free.", DataWarning)


def start_given(model: Any, start_params, wanted: PenaltyOptions) -> ndarray | None:
    """Parameters to start at, (p,), if any are given."""
    if start_params is None:
        return None
    if wanted.symmetric:
        raise NotImplementedError("start_params= with symmetric=True: the start is the model without regressors")
    theta = model._flat(start_params)
    if not np.isfinite(theta).all():
        raise ValueError(f"start_params must be finite numbers; found {theta}")
    return theta


def check_method(method: Any, alpha: Any) -> None:
    """Raise ValueError for an unknown method, naming the counterparts of statsmodels' methods."""
    if isinstance(alpha, str):
        raise ValueError(f"alpha={alpha!r}: a number or one for each column; a path has alphas=, a solver method=")
    if method in PENALIZED_METHODS:
        return
    if isinstance(method, str) and method in ("l1", "l1_cvxopt_cp"):
        raise ValueError(
            f"method={method!r} of statsmodels maximises llf - alpha |b|_1, the intercept included. Here that is "
            "fit_regularized(alpha / N, L1_wt=1, penalize_intercept=True), N the number of observations"
        )
    raise ValueError(f'method={method!r} is unknown: there is "elastic_net" (ridge with L1_wt=0, lasso with L1_wt=1)')


def check_refit(model: Any, refit: Any, wanted: PenaltyOptions, path: bool) -> None:
    """Raise ValueError or NotImplementedError where refit= is not possible."""
    if not refit:
        return
    if wanted.L1_wt == 0:
        raise ValueError("refit=True with L1_wt=0: a ridge selects nothing. Use fit(), or L1_wt=1")
    for what, found in (
        ("alphas=: fit again with the alpha of your choice", path),
        ("symmetric=True", wanted.symmetric),
        ("sampling weights or fractions", model._pseudo),
    ):
        if found:
            raise NotImplementedError(f"refit=True with {what}")


def check_penalised_converged(fit: Any, wanted: PenaltyOptions) -> None:
    """Warn of a fit that did not reach the maximum."""
    from glmclf.core.penalised.problem import VIOLATED

    if fit.converged:
        return
    advice = "Raise maxiter="
    if VIOLATED in fit.message:
        advice = "Lower tol=" if wanted.tol is not None else "Give columns that are close to collinear another form"
    warn(
        f"fit_regularized: {fit.message} (stopped after {fit.iterations} iterations, squared step "
        f"{fit.decrement:.3g}); the estimates are not a maximum. {advice}.",
        ConvergenceWarning,
    )


def _shown(alpha) -> str:
    """Text of alpha on one line."""
    if isinstance(alpha, (pd.Series, pd.DataFrame)):
        alpha = alpha.to_dict()
    return " ".join(repr(alpha).split())


def weights_of_path(alpha: Any) -> Any:
    """Weights of the coefficients for each alpha of a path, by default 1 for all."""
    if alpha is None:
        return 1.0
    if np.ndim(alpha) == 0 and not isinstance(alpha, Mapping):
        raise ValueError(
            f"{asked_for()} needs one of alpha= (one number) and alphas= (a path); alpha={alpha!r} beside alphas= has "
            "to be a weight for each coefficient, which the values of the path multiply"
        )
    return alpha


def _read_alpha(
    alpha, names: list[str], terms: Mapping[str, slice], m: int, equations: list[Any] | None
) -> tuple[ndarray, bool]:
    """alpha as (k, m), and whether it was given column by column."""
    k = len(names)
    if isinstance(alpha, pd.DataFrame):
        return _read_table(alpha, names, equations), True
    if isinstance(alpha, Mapping) or (isinstance(alpha, pd.Series) and not isinstance(alpha.index, pd.RangeIndex)):
        return np.repeat(_by_name(alpha, names, terms)[:, None], m, axis=1), True
    values = _floats(alpha, alpha)
    if values.ndim == 0:
        return np.full((k, m), float(values)), False
    if values.shape == (k,):
        return np.repeat(values[:, None], m, axis=1), True
    if values.shape == (k, m):
        return values.copy(), True
    more = f", or of shape {(k, m)}" if equations is not None else ""
    columns = known_names(names)
    raise ValueError(f"alpha has shape {values.shape}: one number, or one for each of the {k} columns {columns}{more}")


def _by_name(alpha, names: list[str], terms: Mapping[str, slice]) -> ndarray:
    """alpha of each column, from numbers for columns and for terms, which stand for all their columns; (k,)."""
    places: dict[Any, Any] = {**terms, **{name: slice(i, i + 1) for i, name in enumerate(names)}}
    unknown = [repr(name) for name in alpha.keys() if name not in places]
    if unknown:
        what = f"{', '.join(unknown)}, which is no column and no term of the model"
        raise ValueError(f"alpha names {what}, which has {quoted(names)}")
    out, times = np.zeros(len(names)), np.zeros(len(names), dtype=int)
    for name, value in alpha.items():
        out[places[name]] = _floats(value if np.ndim(value) == 0 else None, alpha)
        times[places[name]] += 1
    if (times > 1).any():
        twice = [name for name, t in zip(names, times, strict=True) if t > 1]
        raise ValueError(f"alpha names {quoted(twice)} twice, as a column or by its term")
    return out


def _read_table(alpha: pd.DataFrame, names: list[str], equations: list[Any] | None) -> ndarray:
    if equations is None:
        raise ValueError("alpha is a table: this model has one equation; give a Series or a dict")
    if set(alpha.index) != set(names) or set(alpha.columns) != set(equations) or alpha.shape != (
        len(names),
        len(equations),
    ):
        raise ValueError(
            f"alpha has rows {known_names(alpha.index)} and columns {known_names(alpha.columns)}; the model has "
            f"{known_names(names)} by {equations}"
        )
    return _floats(alpha.loc[names, equations], alpha)


def _floats(values, given) -> ndarray:
    try:
        if is_truth(values):
            raise TypeError
        return np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"alpha={_shown(given)}: weights of a penalty are numbers, 0 or more") from None


def read_grid(alphas: Any) -> ndarray | None:
    """Values of a path, the largest first; None for "auto"."""
    if isinstance(alphas, str) and alphas == "auto":
        return None
    try:
        if isinstance(alphas, (str, Mapping)):
            raise TypeError
        grid = np.unique(np.asarray(alphas, dtype=float))[::-1]
    except (TypeError, ValueError):
        raise ValueError(f'alphas={alphas!r}: a sequence of numbers, 0 or more, or "auto"') from None
    if np.ndim(alphas) != 1 or not len(grid) or not (np.isfinite(grid).all() and (grid >= 0).all()):
        raise ValueError(f'alphas={alphas!r}: a sequence of numbers, 0 or more, or "auto"')
    return grid
