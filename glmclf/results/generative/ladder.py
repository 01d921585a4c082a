"""Ladder of covariance structures: the six normal models of the same features, each against its submodel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.special import chdtrc

from glmclf.core.design.dense import Dense
from glmclf.core.gaussian.fit import (
    SingularDispersion,
    conditional_loglikelihood,
    fit_gaussian,
    loglikelihood,
    n_parameters,
)
from glmclf.core.gaussian.moments import ClassMoments, class_moments
from glmclf.core.rows.blocks import Blocks
from glmclf.errors import EstimationError
from glmclf.inference.generative import discriminant as diagnostics
from glmclf.inference.generative.covariances import BoxM, box_m
from glmclf.results.tables.frames import WholeFrame

LAWS = (
    ("spherical, pooled", "spherical", True, None),
    ("diagonal, pooled", "diag", True, "spherical, pooled"),
    ("full, pooled (LDA)", "full", True, "diagonal, pooled"),
    ("spherical, by class", "spherical", False, "spherical, pooled"),
    ("diagonal, by class (naive Bayes)", "diag", False, "diagonal, pooled"),
    ("full, by class (QDA)", "full", False, "full, pooled (LDA)"),
)


def covariance_ladder(
    moments: ClassMoments, blocks: Blocks, priors: dict[str, Any], box_m: Callable[[], pd.Series]
) -> pd.DataFrame:
    """Table of the six covariance structures of the same features, each tested against its submodel.

    Parameters
    ----------
    moments : ClassMoments
    blocks : Blocks
        Of (X, y, weights), the rows that `moments` are of.
    priors : dict
        Options of `fit_gaussian` for the priors of the classes.
    box_m : callable
        Box's M test, which may raise EstimationError; its answer is in the table's ``attrs``.
    """
    rows, fits = {}, {}
    for name, kind, pooled, below in LAWS:
        try:
            law = fit_gaussian(moments, kind, pooled, **priors)
        except (SingularDispersion, ValueError):
            rows[name] = [np.nan] * 9
            continue
        llf, k = loglikelihood(moments, law), n_parameters(law)
        fits[name] = (llf, k)
        test = [np.nan] * 3
        if below in fits:
            statistic, df = max(2 * (llf - fits[below][0]), 0.0), k - fits[below][1]
            test = [statistic, df, float(chdtrc(df, statistic)) if df > 0 else np.nan]
        error = np.nan
        left = diagnostics.error_rates(law, blocks, moments=moments).leave_one_out
        if left is not None:
            error = float(left.rate)
        bic = k * np.log(moments.n) - 2 * llf
        rows[name] = [llf, k, 2 * k - 2 * llf, bic, *test, conditional_loglikelihood(blocks, law), error]
    columns = ["llf", "k_params", "aic", "bic", "LR", "df", "pvalue", "llf_conditional", "error_loo"]
    table = WholeFrame.from_dict(rows, orient="index", columns=columns)
    try:
        table.attrs["box_m"] = box_m().to_dict()
    except EstimationError as error:
        table.attrs["box_m"] = str(error)
    return table


def box_table(test: BoxM) -> pd.Series:
    """Box's M test as a Series."""
    return pd.Series({n: getattr(test, n) for n in ("M", "chi2", "df", "chi2_pvalue", "F", "df2", "pvalue")})


def naive_bayes_ladder(res: Any) -> pd.DataFrame:
    """Ladder of a naive Bayes fit with normal features, from the moments of their rows."""
    model = res.model
    if any(f.family != "gaussian" for f in model.features):
        others = [f.name for f in model.features if f.family != "gaussian"]
        raise NotImplementedError(f"ladder() of NaiveBayes is for gaussian features; {others} are of other families")
    if (res.observed.sum() != res.nobs).any():
        raise ValueError('ladder() needs complete rows, as covariance matrices do: fit with missing="drop"')
    blocks = model._rows.blocks().map(_matrix)
    moments = class_moments(blocks, model.J)

    def boxm_test() -> pd.Series:
        try:
            fit_gaussian(moments, "full", False)
        except SingularDispersion as singular:
            raise EstimationError(f"Box's M needs a covariance matrix of each class: {singular.reason}") from None
        return box_table(box_m(moments, None, None))

    return covariance_ladder(moments, blocks, model._prior_options, boxm_test)


def _matrix(X: Any, y: ndarray, trials: None, offset: None, weights: ndarray | None) -> tuple:
    return Dense(np.column_stack(X.values)), y, weights
