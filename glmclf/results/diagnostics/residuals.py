"""Residuals: randomised quantile residuals, components of the linear predictor, and partial residuals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.special import ndtr

from glmclf.core.design.columns import Columns, some_columns
from glmclf.core.numerics import seeds
from glmclf.core.rows.blocks import Blocks
from glmclf.inference.residuals import quantile as quantile_residuals
from glmclf.results.base import times_of


def resid_quantile(res: Any, seed: Any) -> Any:
    """See `Diagnostics.resid_quantile`."""
    generator = seeds.generator(seed)
    return _of_quantiles(res, lambda n: quantile_residuals.uniform(n, generator))


def transform_bounds(res: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    """P(Y < y) and P(Y <= y) of each row, between which quantile residuals draw; a column, or one a level."""
    with np.errstate(divide="ignore"):  # the logarithms of 0 and 1
        low = pd.DataFrame(_of_quantiles(res, np.zeros))
        high = pd.DataFrame(_of_quantiles(res, np.ones))
    return low.apply(ndtr), high.apply(ndtr)


def _of_quantiles(res: Any, drawn: Callable[[int], ndarray]) -> Any:
    """Normal quantiles of the numbers that are ``drawn(n)``, in (0, 1), of the way from P(Y < y) to P(Y <= y)."""
    r = res.model._rows
    y, trials = res._observed_classes()
    log_p, times = res._log_probabilities(), times_of(r, res.model._frequency)
    index = r.index.repeat(times)
    n = len(index)

    def many(a: ndarray) -> ndarray:
        return np.repeat(a, times, axis=0)

    if trials is None:
        return pd.Series(quantile_residuals.of_classes(many(y), many(log_p), drawn(n)), index=index)
    m = many(np.asarray(trials, dtype=float))
    if y.ndim == 1:
        p, q = many(log_p[:, 1]), many(log_p[:, 0])
        return pd.Series(quantile_residuals.of_counts(many(y), m, p, q, drawn(n)), index=index)
    columns = {}
    for k, level in enumerate(res.levels):
        others = np.logaddexp.reduce(np.delete(log_p, k, axis=1), axis=1)
        columns[level] = quantile_residuals.of_counts(many(y[:, k]), m, many(log_p[:, k]), many(others), drawn(n))
    return pd.DataFrame(columns, index=index)


def components(res: Any) -> pd.DataFrame:
    """See `Diagnostics.components`."""
    r = res.model._rows
    theta = res._theta if res._omitted is None else np.where(res._omitted, 0.0, res._theta)
    theta = theta.reshape(len(res.model.exog_names), -1, order="F")
    terms = columns_of_terms(res)
    values = np.concatenate([term_parts(X, theta, terms) for (X,) in Blocks(r.X)])  # (n, q, terms)
    times = times_of(r, res.model._frequency)
    mean = np.einsum("i,iqt->qt", times / times.sum(), values)
    values -= mean
    table = pd.DataFrame(values.reshape(len(r), -1), index=r.index, columns=labels_of_terms(res, list(terms)))
    constant = constant_part(res, theta) + mean.sum(axis=1)
    table.attrs["constant"] = constant.tolist() if len(constant) > 1 else float(constant[0])
    return table


def resid_partial(res: Any) -> pd.DataFrame:
    """See `Diagnostics.resid_partial`."""
    table = res.components()
    working = np.asarray(res.resid_working)
    working = working[:, None] if working.ndim == 1 else working
    n_terms = table.shape[1] // working.shape[1]
    return table + np.repeat(working, n_terms, axis=1)


def partial_weights(res: Any) -> pd.DataFrame:
    """Weights for a smooth through partial residuals: one over the variance of `resid_working`, a column an equation.

    Infinite residuals have weight 0. Weights of the rows count.

    Of one equation m f(eta)^2 / (p (1 - p)); of several m / (1/p_j + 1/p_0), 0 the reference.
    """
    r = res.model._rows
    m = np.ones(len(r)) if r.trials is None else np.asarray(r.trials, dtype=float)
    m = m if r.weights is None else m * r.weights / res.model._unit
    with np.errstate(divide="ignore", invalid="ignore"):
        if res.model._likelihood.n_eta == 1 and not hasattr(res.model, "_equations"):
            p, f = np.asarray(res.fittedvalues), res.model.link.pdf(res._eta)
            w = pd.DataFrame({res.model.endog_names: m * f * f / (p * (1 - p))}, index=r.index)
        else:
            p = res.fittedvalues
            w = pd.DataFrame({k: m / (1 / p[k] + 1 / p[res.model.reference]) for k in res.model._equations})
    return w.where(np.isfinite(np.asarray(res.resid_working).reshape(w.shape)) & np.isfinite(w), 0.0)


def columns_of_terms(res: Any) -> dict[str, ndarray]:
    """Columns of each term, without the constant."""
    constant, k = res.model._constant_column(), len(res.model.exog_names)
    terms = {name: np.arange(k)[part] for name, part in res.model._design.terms.items()}
    return {name: c for name, c in terms.items() if not (len(c) == 1 and c[0] == constant)}


def term_parts(X: Columns, theta: ndarray, terms: dict[str, ndarray]) -> ndarray:
    """Contribution of each term to each linear predictor of some rows, (n, q, terms)."""
    out = np.empty((X.shape[0], theta.shape[1], len(terms)))
    for t, columns in enumerate(terms.values()):
        b = theta[columns]
        known = np.isfinite(b)
        out[:, :, t] = np.where(known.all(axis=0), some_columns(X, columns) @ np.where(known, b, 0.0), np.nan)
    return out


def constant_part(res: Any, theta: ndarray) -> ndarray:
    """Contribution of the constant to each linear predictor."""
    j = res.model._constant_column()
    if j is None:
        return np.zeros(theta.shape[1])
    return theta[j] * float(res.model._rows.X.subset(np.array([0])).toarray()[0, j])


def labels_of_terms(res: Any, terms: list[str]) -> pd.Index:
    """Labels of columns, one a term and equation."""
    if res.model._likelihood.n_eta == 1 and not hasattr(res.model, "_equations"):
        return pd.Index(terms, dtype=object)
    levels = res._table_levels
    return pd.MultiIndex.from_product([levels, terms], names=["level", "term"])
