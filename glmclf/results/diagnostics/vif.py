"""Variance inflation factors, by term and by column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.linalg import qr

from glmclf.checks import check_choice
from glmclf.core.design.columns import some_columns
from glmclf.core.design.product import triangular_inverse
from glmclf.errors import InferenceWarning, warn
from glmclf.inference.specification import vif as inflation
from glmclf.results.diagnostics.goodness_of_fit import estimated_rows
from glmclf.results.requires import Needs, check_needs

LAST = 1e-8  # weight of a constant among the pivots: below all of size one, above their rounding


def vif(res: Any, of: str, by: str) -> pd.DataFrame:
    """See `Diagnostics.vif`."""
    check_choice("of", of, ("information", "design"))
    check_choice("by", by, ("term", "column"))
    F, places = information_factor(res) if of == "information" else design_factor(res)
    k, constant = len(res.model.exog_names), res.model._constant_column()
    if constant is None:
        warn("vif() without a column of ones: the numbers are about 0, not about the means", InferenceWarning)
    terms = columns_by(res, by, constant)
    finite = np.isfinite(res._theta)[places] if of == "information" else np.ones(len(places), dtype=bool)
    groups = {name: np.flatnonzero(finite & np.isin(places % k, columns)) for name, columns in terms.items()}
    there = [name for name, group in groups.items() if len(group)]
    constants = np.flatnonzero(places % k == (-1 if constant is None else constant))
    values = inflation.generalised(F, [groups[name] for name in there], constants)
    gvif, df = pd.Series(np.nan, index=pd.Index(list(terms), dtype=object)), {n: len(g) for n, g in groups.items()}
    gvif[there] = values
    table = pd.DataFrame({"GVIF": gvif, "df": pd.Series(df, dtype=int)})
    table["GVIF^(1/(2df))"] = table.GVIF ** (0.5 / table.df.where(table.df > 0))
    return table


def columns_by(res: Any, by: str, constant: int | None) -> dict[Any, ndarray]:
    """Groups of columns by label, without the constant: by term, or one each."""
    names = res.model.exog_names
    others = np.setdiff1d(np.arange(len(names)), [] if constant is None else [constant])
    if by == "column":
        return {names[j]: np.array([j]) for j in others}
    terms = {name: np.arange(len(names))[part] for name, part in res.model._design.terms.items()}
    return {name: np.intersect1d(c, others) for name, c in terms.items() if np.isin(c, others).any()}


def information_factor(res: Any) -> tuple[ndarray, ndarray]:
    """Factor F of the expected information F'F of the parameters, and their places among all.

    Of a separated fit that of the finite parameters and as many of the others as keep it of full rank.
    """
    check_needs(res, 'vif(of="information")', Needs.MAXIMUM, Needs.UNCONSTRAINED)
    estimate = estimated_rows(res)
    if estimate is None:
        raise NotImplementedError(f'vif(of="information") of a separated fit ({res.separation}): use vif(of="design")')
    basis, q = estimate.basis, res.model._likelihood.n_eta
    if estimate.free is not None:
        F = np.linalg.lstsq(estimate.root, estimate.free, rcond=None)[0]
    else:
        F = triangular_inverse(estimate.root)
        F = F if basis is None else F @ np.kron(np.eye(q), basis)
    if res.separation is None:
        return F, estimate.places
    return about_the_means(res, F, estimate.places)


def about_the_means(res: Any, F: ndarray, kept: ndarray) -> tuple[ndarray, ndarray]:
    """A factor of the information of the limit of a separated fit in coordinates that have the constants.

    Which of the infinite parameters the limit holds at 0 is arbitrary: here no constant where others can be, so that
    these are about their means whether the constant is finite or not.
    """
    owner, model, constant = res._origin or res, res.model, res.model._constant_column()
    basis = owner._state.estimate.cone.basis
    held = np.setdiff1d(np.flatnonzero(basis.any(axis=1)), kept)
    whole = np.zeros((len(F), len(basis)))
    whole[:, kept] = F
    # a parameter that was held at 0 moves the predictors as the others do that go with it along the cone
    whole[:, held] = -np.linalg.solve(basis[held].T, (whole @ basis).T).T
    if owner is not res:
        whole = whole @ owner._change_of_base(model, back=True)
        basis = res._state.estimate.cone.basis
    size = np.tile(model._rows.largest(), model._likelihood.n_eta)
    if constant is not None:
        size[constant :: len(model.exog_names)] *= LAST
    held = qr((basis * size[:, None]).T, mode="r", pivoting=True)[1][: basis.shape[1]]
    places = np.setdiff1d(res._state.places, held)
    return whole[:, places], places


def design_factor(res: Any) -> tuple[ndarray, ndarray]:
    """Factor F of the cross products F'F of the columns that are not omitted, and their places."""
    columns, k = res._state.columns, len(res.model.exog_names)

    def counted(X, y, trials, offset, weights):
        times = np.ones(X.shape[0]) if trials is None else trials
        return X if len(columns) == k else some_columns(X, columns), times if weights is None else weights * times

    return inflation.design_factor(res.model._rows.blocks().map(counted)), columns
