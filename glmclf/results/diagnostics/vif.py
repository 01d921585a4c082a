"""Variance inflation factors, by term and by column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.linalg import qr

from glmclf.checks import check_choice
from glmclf.core.design.arrow import of_levels
from glmclf.core.design.centring import LevelCentring, constant_centring
from glmclf.core.design.columns import some_columns
from glmclf.core.design.product import triangular_inverse
from glmclf.core.numerics.arrow import ArrowMatrix
from glmclf.errors import InferenceWarning, warn
from glmclf.inference.specification import vif as inflation
from glmclf.results.diagnostics.goodness_of_fit import Estimated, check_coordinates, estimated_rows
from glmclf.results.requires import Needs, check_needs

MIN_KEPT = 1e-6  # share of a column's square that others leave, below which determinants have too few digits
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
    term = np.full(k, -1)
    for i, columns in enumerate(terms.values()):
        term[columns] = i
    own = np.where(finite, term[places % k], -1)
    order = np.argsort(own, kind="stable")
    groups = np.split(order, np.searchsorted(own[order], np.arange(len(terms))))[1:]
    there = [i for i, group in enumerate(groups) if len(group)]
    constants = np.flatnonzero(places % k == (-1 if constant is None else constant))
    log_gvif, df = np.full(len(terms), np.nan), np.array([len(group) for group in groups], dtype=int)
    generalised = inflation.generalised_of_levels if isinstance(F, ArrowMatrix) else inflation.generalised
    log_gvif[there] = generalised(F, [groups[i] for i in there], constants)
    with np.errstate(over="ignore"):  # of thousands of columns
        table = pd.DataFrame({"GVIF": np.exp(log_gvif), "df": df}, index=pd.Index(list(terms), dtype=object))
    table["GVIF^(1/(2df))"] = np.exp(log_gvif * 0.5 / np.maximum(df, 1))
    return table


def columns_by(res: Any, by: str, constant: int | None) -> dict[Any, ndarray]:
    """Groups of columns by label, without the constant: by term, or one each."""
    names = res.model.exog_names
    others = np.setdiff1d(np.arange(len(names)), [] if constant is None else [constant])
    if by == "column":
        return {names[j]: np.array([j]) for j in others}
    terms = {name: np.arange(len(names))[part] for name, part in res.model._design.terms.items()}
    return {name: np.intersect1d(c, others) for name, c in terms.items() if np.isin(c, others).any()}


def information_factor(res: Any) -> tuple[Any, ndarray]:
    """Factor F of the expected information F'F of the parameters, or this itself beside many levels, and their places
    among all.

    Of a separated fit that of the finite parameters and as many of the others as keep it of full rank.
    """
    check_needs(res, 'vif(of="information")', Needs.MAXIMUM, Needs.UNCONSTRAINED)
    estimate = estimated_rows(res)
    if estimate is None:
        raise NotImplementedError(f'vif(of="information") of a separated fit ({res.separation}): use vif(of="design")')
    check_coordinates(estimate)
    if getattr(getattr((res._origin or res)._state.estimate, "limit", None), "recoding", None) is not None:
        raise NotImplementedError(
            f'vif(of="information") of a separated fit ({res.separation}) with a coding of many levels: use treatment '
            'coding, or vif(of="design")'
        )
    basis, q = estimate.basis, res.model._likelihood.n_eta
    many = not isinstance(estimate.root, ndarray)
    if many and (basis is None or isinstance(basis, LevelCentring)) and _nothing_held_otherwise(res):
        M = estimate.root.matrix if basis is None else _about_overall_means(estimate)
        if basis is None or M.factor().exceeds(MIN_KEPT):
            return M, estimate.places
    if estimate.free is not None:
        F = np.linalg.lstsq(estimate.root, estimate.free, rcond=None)[0]
    else:
        F = triangular_inverse(estimate.root.root if many else estimate.root)
        F = F if basis is None else F @ np.kron(np.eye(q), basis)
    if res.separation is None:
        return F, estimate.places
    return about_the_means(res, F, estimate.places)


def _about_overall_means(estimate: Estimated) -> Any:
    """Information in columns less their means over all rows, of an estimate in such as are less those by level."""
    objective, theta = estimate.objective.rotated(estimate.basis.undone), estimate.basis.back(estimate.theta)
    levels: Any = of_levels(objective.blocks)
    if levels.constant_column is not None:
        means = constant_centring(objective.blocks)
        objective, theta = objective.rotated(means), means.into(theta)
    return objective(theta, True).information


def _nothing_held_otherwise(res: Any) -> bool:
    """Whether no other parameters could be held in place of the infinite ones: as many as there are directions."""
    cone = getattr((res._origin or res)._state.estimate, "cone", None)
    return cone is None or int(cone.basis.any(axis=1).sum()) == cone.basis.shape[1]


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


def design_factor(res: Any) -> tuple[Any, ndarray]:
    """Factor F of the cross products F'F of the columns that are not omitted, or these, and their places."""
    columns, k = res._state.columns, len(res.model.exog_names)

    def counted(X, y, trials, offset, weights):
        times = np.ones(X.shape[0]) if trials is None else trials
        return X if len(columns) == k else some_columns(X, columns), times if weights is None else weights * times

    return inflation.design_factor(res.model._rows.blocks().map(counted)), columns
