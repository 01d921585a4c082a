"""Predictions for another prevalence: the covariance of the shares of the levels with the estimate."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.likelihood.pointwise import Multinomial
from glmclf.errors import DataError
from glmclf.inference.covariance.types import MODEL_BASED
from glmclf.results.requires import SPECIAL, kinds

KNOWN = (*MODEL_BASED, "HC0", "HC1")


def check_prevalence(res: Any) -> None:
    """Refuse estimates whose covariance with the shares of the levels is unknown."""
    odd = list(kinds(res, SPECIAL))
    if res._cov.name not in KNOWN:
        odd.append(f'cov_type="{res._cov.name}"')
    if odd:
        raise NotImplementedError(
            f"get_prediction(priors=) of {' and '.join(odd)}: how the shares of the levels move with the estimate is "
            f"known for maximum likelihood and {', '.join(KNOWN)}. predict(priors=) has the predictions"
        )


def share_covariance(res: Any) -> tuple[ndarray, ndarray]:
    """Covariance of the parameters with the log-odds of the levels' shares, and covariance of the log-odds.

    The rows are a sample: log(n_j/n_0) has the influence 1[y=j]/n_j - 1[y=0]/n_0. If the model is right its covariance
    with the score of a row is that of y given x.

    Parameters
    ----------
    res : Results
        Of a binary model or MNLogit, at the maximum of its likelihood.

    Returns
    -------
    (p, K-1) ndarray
        In the coordinates of the fit.
    (K-1, K-1) ndarray

    References
    ----------
    Prentice & Pyke (1979), Logistic disease incidence models and case-control studies, Biometrika 66, 403-411.
    """
    check_prevalence(res)
    if res.model._rows_ is None:
        raise DataError(
            "get_prediction(priors=) needs the rows of the fit, also for new data: how the shares of the levels move "
            "with the estimate is a sum over them, which is not in the file. predict(priors=) has the predictions"
        )
    cells = res.model._cells  # observations of each class, weights and trials as expanded
    n = cells.sum(axis=0)
    if res._cov.name in MODEL_BASED:
        return _model_based(res, n), np.diag(1.0 / n[1:]) + 1.0 / n[0]
    w = np.ones(len(cells)) if res.model._rows.weights is None else res.model._rows.weights
    xi = (cells[:, 1:] / n[1:] - cells[:, :1] / n[0]) / w[:, None]  # influence of a row of weight one
    psi = res._influence_on(np.eye(len(res._state.fit.theta)))
    times = w if res.model._frequency else w * w
    N, p = float(res.nobs), res._size
    factor = N / (N - p) if res._cov.name == "HC1" else 1.0
    return factor * (psi.T * times) @ xi, factor * (xi.T * times) @ xi


def _model_based(res: Any, n: ndarray) -> ndarray:
    """Model-based covariance with the log-odds of shares, A^-1 sum_i E[s_i (1[y=j]/n_j - 1[y=0]/n_0) | x_i]."""
    model, objective = res.model, res._objective()
    m = model._cells.sum(axis=1)
    if model._likelihood.n_eta == 1 and not hasattr(model, "levels"):
        moved = (m * model.link.pdf(res._eta) * (1.0 / n[0] + 1.0 / n[1]))[:, None, None]
    else:
        p = Multinomial.softmax(res._eta)[1]
        own = p[:, 1:, None] * (np.eye(p.shape[1] - 1) - p[:, None, 1:]) / n[1:]
        moved = m[:, None, None] * (own + p[:, 1:, None] * p[:, :1, None] / n[0])
    total, start = 0.0, 0
    for X, *_ in objective.blocks:
        A = X.toarray()
        part = moved[start : start + len(A)]
        total = total + np.einsum("nk,nqj->qkj", A, part).reshape(-1, moved.shape[2])
        start += len(A)
    out = np.zeros((len(res._state.fit.theta), moved.shape[2]))
    out[res._state.places] = res._state.narrow_centred.fit.evaluation.factor.inverse @ total
    return out
