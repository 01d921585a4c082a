"""Pregibon's link test: does the square of the linear predictor add to the linear predictor?"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.design.dense import Dense
from glmclf.core.rows.streamed import Gathered
from glmclf.data.design.arrays import ArrayDesign
from glmclf.errors import CollinearityWarning, DataError, EstimationError, without_warnings
from glmclf.results.requires import Needs, check_needs

LINKTEST_TERMS = ["_cons", "_hat", "_hatsq"]
NEEDS_ROWS = ("cluster", "HAC", "bootstrap")


def linktest(res: Any, cov_type: str | None, cov_kwds: Mapping[str, Any] | None) -> pd.DataFrame:
    """See `Diagnostics.linktest`."""
    if not res.converged:
        raise ValueError("linktest(): the fit did not converge, so that its linear predictor is not the estimate's")
    if not res._state.estimate.is_finite:
        raise ValueError(
            f"linktest(): the linear predictor is infinite in some rows ({res.separation}), and has no square"
        )
    options = _covariance(res, cov_type, cov_kwds)
    if hasattr(res.model, "link"):  # MNLogit has no link
        rows = res.model._rows.map(lambda X, y, m, o, w: (_square(res._eta_of(X, o)), y, m, None, w))
        return _table(res.model, rows, options)
    if options["cov_type"] in NEEDS_ROWS:
        check_needs(res, "linktest()", Needs.ROWS)
    from glmclf.results.comparison.conditional import with_rows

    res = with_rows(res)
    eta, tables = res._eta[:, 1:], {}
    for j, level in enumerate(res.model._equations):
        model, rows = _pair(res.model, j + 1)
        tables[level] = _table(model, replace(model._rows, X=_square(eta[rows, j]), offset=None), options)
    return pd.concat(tables, names=["level", None])


def _covariance(res: Any, cov_type: str | None, cov_kwds: Mapping[str, Any] | None) -> dict[str, Any]:
    """Keywords of the covariance of the fit with the square."""
    if cov_type is not None:
        return {"cov_type": cov_type, "cov_kwds": cov_kwds}
    if cov_kwds is not None:
        raise ValueError("linktest(): cov_kwds= goes with cov_type=")
    if res.cov_type not in NEEDS_ROWS:
        return {"cov_type": res.cov_type}
    try:
        given = {name: value for name, value in res.cov_kwds.items() if name in ("groups", "maxlags", "reps", "seed")}
        res.model._cov_keywords(res.cov_type, given)
    except DataError:
        raise NotImplementedError(
            f'linktest() of a fit with cov_type="{res.cov_type}", whose groups are no columns of the table: give '
            "cov_type= and cov_kwds="
        ) from None
    return {"cov_type": res.cov_type, "cov_kwds": given}


def _square(eta: ndarray) -> Dense:
    return Dense(np.column_stack([np.ones(len(eta)), eta, eta * eta]))


def _few(X: Dense, *rest: Any) -> Gathered:
    """Gather up to three distinct values of the linear predictor."""
    eta = X.X[:, 1]
    some = np.unique(eta[:1000])
    return Gathered((some if len(some) > 2 else np.unique(eta))[:3])


def _table(model: Any, rows: Any, options: dict[str, Any]) -> pd.DataFrame:
    """Table of the fit of a response to a linear predictor and its square."""
    if len(set(rows.blocks().sum_parts(_few))) < 3:
        raise ValueError(
            "linktest(): the linear predictor takes fewer than three values, so that its square says nothing new"
        )
    design = ArrayDesign(LINKTEST_TERMS, 1, model._design.endog_name)
    without_offset: dict[str, Any] = {"formula": None, "_has_offset": False, "_offset_column": None, "_computed": {}}
    other = model._copy_with(keep=("_ranges",), _design=design, _rows_=rows, **without_offset)
    try:
        with without_warnings(CollinearityWarning):
            fit = other.fit(separation="raise", **options)
    except EstimationError as error:
        raise EstimationError(f"linktest(): the fit with the squared linear predictor: {error}") from None
    frame = fit.summary_frame()
    frame.index = pd.Index([str(name) for name in frame.index.get_level_values(-1)], dtype=object)
    if np.isnan(frame.loc["_hatsq", "coef"]):
        raise ValueError("linktest(): the squared linear predictor is a combination of the linear one and a constant")
    return frame.loc[["_hat", "_hatsq", "_cons"]]


def _pair(model: Any, j: int) -> tuple[Any, ndarray]:
    """Binary model of the reference and the j-th class, and the mask of the rows with one of both."""
    r, K = model._rows, len(model.levels)
    counts = r.y if r.y.ndim == 2 else (r.y[:, None] == np.arange(K)).astype(float)
    y = counts[:, [0, j]]
    rows = np.flatnonzero(y.any(axis=1))
    other = copy.copy(model)
    classes = [model._response.classes[0], model._response.classes[j]]
    other._response = replace(
        model._response,
        levels=[level for level in model._response.levels if level in classes],
        y=y[rows],
        trials=y[rows].sum(axis=1),
        kind="counts",
    )
    other._rows_ = replace(r.take(rows), X=r.X[rows], y=y[rows], trials=y[rows].sum(axis=1), offset=None)
    other.nobs = other._count(other._rows_.weights)
    if not other._frequency:
        other._weight_sum = float(other._rows_.weights.sum())
    return other, rows
