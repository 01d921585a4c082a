"""The Hauck-Donner effect: where Wald statistics fall as their coefficients grow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.checks import MAX_NAMES, first_of
from glmclf.core.design.basis import DesignBasis
from glmclf.core.design.columns import some_columns
from glmclf.core.design.product import rotated
from glmclf.core.design.recoding import recoding_of
from glmclf.core.fit.coordinates import covariance_from_basis
from glmclf.core.fit.level_rank import expands
from glmclf.core.fit.offsets import centring
from glmclf.core.numerics.arrow import BlocksPlusLowRank
from glmclf.core.rows.blocks import Blocks
from glmclf.errors import InferenceWarning, SearchTooLargeError, warn
from glmclf.inference.covariance.types import MODEL_BASED
from glmclf.inference.hypotheses import wald
from glmclf.inference.specification.hauck_donner import level_derivatives, wald_derivatives
from glmclf.results.separation import spelled


def hauck_donner(res: Any) -> pd.DataFrame:
    """See `Diagnostics.hauck_donner`."""
    slope = res._wald_derivatives
    infinite = np.isinf(res._theta)
    present = (slope < 0) | infinite
    lr = np.full(len(slope), np.nan)
    lr[present] = lr_pvalues(res, np.flatnonzero(present))
    z = flat_pvalues(res)
    columns = {"derivative": slope, "present": present, "wald": z, "lr": lr}
    return pd.DataFrame(columns, index=res.model._param_index)


def flat_pvalues(res: Any) -> ndarray:
    """Flat array of p-values of the Wald tests that a parameter is 0."""
    return wald.z_pvalues(res._z)


def lr_pvalues(res: Any, places: ndarray) -> ndarray:
    """p-values of `lr_pvalue`, NaN with a warning for those that a search for separation would be too large for."""
    lost: list[str] = []
    out, why = np.full(len(places), np.nan), ""
    for i, j in enumerate(places.tolist()):
        try:
            out[i] = lr_pvalue(res, j)
        except SearchTooLargeError as error:
            lost.append(spelled(res.model._param_index[j]))
            why = str(error)
    if lost:
        warn(f"likelihood ratio p-values of {first_of(lost)} are NaN: {why}", InferenceWarning)
    return out


def lr_pvalue(res: Any, j: int) -> float:
    """p-value of the likelihood ratio test that a parameter is 0.

    NaN without a likelihood, or where separating directions have both signs.
    """
    if not res._state.estimate.is_maximum:
        return np.nan
    r = np.zeros(len(res._theta))
    r[j] = 1.0
    profile = res._profile_of(r)
    return np.nan if profile is None else profile.lr_pvalue()


def all_derivatives(res: Any) -> ndarray:
    """Derivatives of the Wald statistics, NaN for parameters that are infinite or omitted."""
    return derivatives_of(res, np.flatnonzero(np.isfinite(res._theta)))


def derivatives_of(res: Any, tested: ndarray) -> ndarray:
    """Derivatives of the Wald statistics of some parameters, NaN for all others."""
    out = np.full(len(res._theta), np.nan)
    if not len(tested):
        return out
    V, estimate, likelihood = expected_covariance(res), res._theta[tested], res.model._likelihood
    blocks = undecided_rows(res)
    if isinstance(V, BlocksPlusLowRank):
        simple = res._state.estimate.is_finite and not res._state.combinations
        recoded = recoding_of(res.model._rows.blocks()) is not None
        if simple and not recoded and likelihood.n_eta == 1:
            V = covariance_from_basis(res._state.basis, V)
            out[tested] = level_derivatives(likelihood, blocks, res._state.inner, V, tested, estimate)
            return out
        if not simple or not recoded or not expands(res.model._rows.columns()):
            # of levels beside others that are infinite, or in sum coding of very many, none are told
            border, basis, k = V.layout.border, res._state.basis, len(res.model.exog_names)
            border = border // k * k + basis.places(border % k) if isinstance(basis, DesignBasis) else border
            tested = tested[np.isin(tested, border)]
            if not len(tested):
                return out
            estimate = res._theta[tested]
            if not len(tested):
                return out
    unit = np.zeros((len(tested), len(res._theta)))
    unit[np.arange(len(tested)), tested] = 1.0
    R = res._in_coordinates(unit)[2]
    G = V @ R.T
    variance = np.einsum("cp,pc->c", R, G)
    out[tested] = wald_derivatives(likelihood, blocks, res._state.inner, G, tested, estimate, variance)
    return out


def suspects(res: Any) -> ndarray:
    """Finite parameters, constants aside, that may have the effect.

    With a logit no row's weight changes faster than itself, so that there is none where |b_j x_ij| <= 2 throughout.
    """
    k, finite = len(res.model.exog_names), np.isfinite(res._theta)
    finite[np.arange(len(finite)) % k == res.model._constant_column()] = False
    if res.model._likelihood.canonical and finite.any():
        largest = res.model._rows.largest()
        finite &= np.abs(np.where(finite, res._theta, 0.0)) * np.tile(largest, len(finite) // k) > 2.0
    return np.flatnonzero(finite)


def expected_covariance(res: Any) -> ndarray:
    """Inverse expected information in the coordinates of the fit, 0 for parameters that are infinite or omitted."""
    if res._origin is not None:
        A = res._origin._change_of_base(res.model)
        return A @ expected_covariance(res._origin) @ A.T
    if res.model._likelihood.canonical and res.cov_type in MODEL_BASED:
        return res._cov.matrix
    keywords = res.model._cov_keywords("expected", None)
    found = res._state.centred
    return res.model._covariance(found, res._objective(), "expected", keywords)[0].matrix


def undecided_rows(res: Any) -> Blocks:
    """Blocks of the design, in the fit's coordinates and as given, trials, offset, weights; without decided rows."""
    model, found, basis = res.model, res._state.estimate, res._state.basis
    columns = res._state.columns
    less, shift = centring(model._objective(columns=columns))
    blocks = model._objective(distinct=found.is_finite and not shift.any()).blocks

    def both(X, y, m, offset, w):
        own = X if less.levels is None else some_columns(X, columns)
        left = None if offset is None else less(own, offset)
        return X if basis is None else rotated(X, basis), X, m, left, w

    if found.is_finite:
        blocks = blocks.map(both)
        return blocks if basis is None else blocks.rechunk(min(blocks.size, blocks.arrays[0].block_size))
    from glmclf.core.separation.limit import offset_of_all

    def of_outcomes(X, y, m, offset, w):
        Z, X, m, offset, w = both(X, y, m, offset, w)
        return Z, X, m, offset_of_all(res._gone_in(X), offset), w

    def left(X, y, m, offset, w):
        rows = np.flatnonzero(~res._gone_in(X).any(axis=1))
        some = (None if a is None else a[rows] for a in (y, m, offset, w))
        return rows, both(X.subset(rows), *some)

    return blocks.map(of_outcomes) if model._likelihood.n_eta > 1 else blocks.filter(left, found.ruled_out)


def flagged(res: Any) -> list[list[Any]]:
    """Places of the finite coefficients, constants aside, with the effect, and likelihood ratio p-values."""
    model = res.model
    if model._rows_ is None or model._pseudo or res._state.estimate.constraints or not res.converged:
        return []
    found = np.flatnonzero(derivatives_of(res, suspects(res)) < 0)
    lr = np.full(len(found), np.nan)
    lr[:MAX_NAMES] = lr_pvalues(res, found[:MAX_NAMES])
    return [[j, p] for j, p in zip(found.tolist(), lr.tolist(), strict=True)]


def hauck_donner_notes(res: Any) -> list[str]:
    """Note of the summary on the Hauck-Donner effect."""
    if not res._flagged or res.cov_type not in MODEL_BASED:
        return []
    names, z = [spelled(name) for name in res.model._param_index], flat_pvalues(res)
    tests = []
    for j, pvalue in res._flagged[:MAX_NAMES]:
        lr = "" if np.isnan(pvalue) else f", likelihood ratio {pvalue:.3g}"
        tests.append(f"{names[j]} (p-value: Wald {z[j]:.3g}{lr})")
    more = f" and {len(res._flagged) - MAX_NAMES} more" if len(res._flagged) > MAX_NAMES else ""
    return [
        f"Wald statistics fall as these coefficients grow (Hauck-Donner effect): {', '.join(tests)}{more}. Use "
        f'compare_lr_test and conf_int(method="profile"){fit_with_a_likelihood(res)}.'
    ]


def fit_with_a_likelihood(res: Any) -> str:
    """Advice on the fit that has likelihood ratio tests and profiles, where this one has none."""
    if res._state.estimate.is_maximum:
        return ""
    if res._state.estimate.flic:
        return " of the fit without flic=True, which has the same slopes"
    return " of the fit without bias_reduction="
