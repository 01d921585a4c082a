"""Score tests of regressors that a model does not have, and of a constrained estimate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.special import chdtrc

from glmclf.checks import check_choice
from glmclf.core.design.columns import apart, beside, some_columns
from glmclf.core.design.dense import Dense
from glmclf.core.design.product import Product, rotated
from glmclf.core.fit.level_rank import dependencies_in
from glmclf.core.fit.offsets import centred
from glmclf.core.rows.blocks import Blocks
from glmclf.errors import CollinearityError, EstimationError
from glmclf.inference.covariance.types import Context
from glmclf.inference.hypotheses import anova, score
from glmclf.inference.hypotheses.records import ScoreTest

INFORMATIONS = ("expected", "observed")


def score_test(
    res: Any,
    exog_extra: Any,
    params_constrained: Any,
    k_constraints: int | None,
    cov_type: str | None,
    information: str,
) -> ScoreTest:
    """See `LikelihoodTests.score_test`."""
    check_choice("information", information, INFORMATIONS)
    expected = information == "expected"
    if (exog_extra is None) == (params_constrained is None):
        raise ValueError("score_test needs one of exog_extra= and params_constrained=")
    robust = robust_score(res, cov_type, params_constrained is not None)
    if params_constrained is not None:
        if k_constraints is None or not 0 < k_constraints <= res._size:
            raise ValueError(f"k_constraints={k_constraints!r}: how many constraints params_constrained obeys")
        objective, shift = centred(res.model._objective(columns=res._state.columns))
        e = objective(res.model._flat(params_constrained)[res._state.places] + shift, expected)
        statistic = float(e.score @ e.factor.solve(e.score))
        return ScoreTest(statistic, float(chdtrc(k_constraints, statistic)), int(k_constraints))
    if k_constraints is not None:
        raise ValueError("k_constraints= goes with params_constrained=; exog_extra has its columns as constraints")
    if not res.converged:
        raise ValueError("score_test: the fit did not converge, so that its score is not zero")
    objective, theta, tested = with_extra(res, res.model._beside_the_rows(exog_extra, "exog_extra"))
    e = objective(theta, expected)
    if not robust:
        return score.score_test(e.score, e.information, tested)
    # outer products of scores are in the objective's unit
    meat = Context(objective, theta, e, res.nobs, res.model._frequency).sum_of_outer_scores()
    return score.score_test(e.score / objective.unit, e.information / objective.unit, tested, meat)


def robust_score(res: Any, cov_type: str | None, constrained: bool) -> bool:
    wanted = cov_type or ("HC0" if res.model._pseudo else "nonrobust")
    if wanted not in ("nonrobust", "HC0"):
        raise NotImplementedError(f'score_test(cov_type={cov_type!r}): there are "nonrobust" and "HC0"')
    if wanted == "HC0" and constrained:
        raise NotImplementedError(
            'score_test(params_constrained=...) has no cov_type="HC0", which a pseudo-likelihood needs; use wald_test'
        )
    res.model._check_covariance(wanted)  # warns of the information of a pseudo-likelihood
    return wanted == "HC0"


def with_extra(res: Any, extra: pd.DataFrame) -> tuple[Any, ndarray, ndarray]:
    """Objective with added columns, the estimate with zeros for them, and the places of the zeros."""
    k, q, Z = len(res.model.exog_names), res.model._likelihood.n_eta, extra.to_numpy()
    X = res.model._rows.X
    found = dependencies_in(Blocks(X, Dense(Z)))
    stray = [repr(name) for j, name in enumerate(extra.columns) if k + j in found]
    if stray:
        raise CollinearityError(f"exog_extra: {', '.join(stray)} is a combination of other columns of the design")
    if res._state.estimate.has_limit:
        return _extra_at_limit(res, extra)
    columns, basis = res._state.columns, res._state.narrow.basis
    X = some_columns(X, columns) if res._state.combinations else X
    r = len(columns)
    kept = anova.across_equations(np.arange(r), r + Z.shape[1], q)
    theta = np.zeros((r + Z.shape[1]) * q)
    theta[kept] = res._state.narrow_centred.fit.theta
    own, Z = res._objective(), apart(X, Z)
    if basis is not None:
        X = rotated(X, basis, res._state.exact)
        X = Dense(X[:].toarray()) if isinstance(X, Product) else X  # dense, as large designs rarely need such a basis
    wider = beside(X, Z)
    blocks = Blocks(wider, *own.blocks.arrays[1:], size=own.blocks.size)
    objective = type(own)(own.likelihood, blocks, own.unit)
    return objective, theta, np.setdiff1d(np.arange(len(theta)), kept)


def _extra_at_limit(res: Any, extra: pd.DataFrame) -> tuple[Any, ndarray, ndarray]:
    """Objective with added columns at the limit of a separated fit, from the rows that separation does not decide."""
    found, q = res._state.estimate, res.model._likelihood.n_eta
    rows = found.rows
    kept = found.kept % len(res.model.exog_names)
    columns = [j for j in np.unique(kept) if (kept == j).sum() == q]
    X = some_columns(res.model._rows.X, np.array(columns, dtype=np.intp))
    blocks = Blocks(X[rows], Dense(extra.to_numpy()[rows])) if len(rows) else None
    lost = {} if blocks is None else dependencies_in(blocks)
    stray = [repr(name) for j, name in enumerate(extra.columns) if blocks is None or len(columns) + j in lost]
    if stray:
        raise EstimationError(
            f"score_test: {', '.join(stray)} is a combination of other columns on the {len(rows)} rows that are "
            f"not predicted perfectly ({res.separation}), which alone could tell"
            + ("" if res.model._pseudo else ". Use compare_lr_test")
        )
    return found.with_columns(extra.to_numpy())
