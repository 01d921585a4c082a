"""The Hauck-Donner effect: Wald statistics that fall as the estimate moves away from the hypothesis."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.design.columns import some_columns
from glmclf.core.likelihood.pointwise import Multinomial
from glmclf.core.numerics.arrow import BlocksPlusLowRank
from glmclf.core.rows.blocks import Blocks
from glmclf.core.rows.observations import linear_predictors

MAX_EFFECT_ENTRIES = 2**17  # entries of the arrays of a derivative of the information that are handled at a time


def wald_derivatives(
    likelihood: Any, blocks: Blocks, theta: ndarray, G: ndarray, tested: ndarray, estimate: ndarray, variance: ndarray
) -> ndarray:
    """Derivative of z_j = b_j / sqrt(V_jj) in b_j, the other coefficients held: 1/se - b_j (dV_jj/db_j) / (2 se^3).

    V is the inverse expected information I, so that dV_jj/db_j = -v'(dI/db_j) v with v column j of V. The effect is
    present where the derivative is negative (Hauck & Donner 1977; Yee 2022).

    Parameters
    ----------
    likelihood : Binomial or Multinomial
    blocks : Blocks
        Of ``(Z, X, trials, offset, weights)``: the design in the coordinates of `theta`, and as it is.
    theta : (p,) ndarray
    G : (p, c) ndarray
        Covariances of theta with the c coefficients tested.
    tested : (c,) integer ndarray
        Their places among the parameters, equation by equation.
    estimate, variance : (c,) ndarray
        Of the coefficients.

    Returns
    -------
    (c,) ndarray
        In units of one over the coefficient; NaN where the variance is.

    References
    ----------
    Hauck & Donner (1977), Journal of the American Statistical Association 72, 851-853. Yee (2022), On the Hauck-Donner
    effect in Wald tests, ibid. 117, 1763-1774.
    """
    several = isinstance(likelihood, Multinomial)
    sums: Any = _level_sums if several else _sums
    fall = blocks.sum(lambda *block: sums(likelihood, *block, theta, G, tested))
    with np.errstate(divide="ignore", invalid="ignore"):
        se = np.sqrt(variance)
        return 1.0 / se + estimate * fall / (2.0 * se**3)


def level_derivatives(
    likelihood: Any, blocks: Blocks, theta: ndarray, V: BlocksPlusLowRank, tested: ndarray, estimate: ndarray
) -> ndarray:
    """Derivatives as of `wald_derivatives` of a binary model in which a factor has many levels, in one pass.

    A row has part in the derivatives of the columns of its own level alone, and in those of the border. V is in the
    coordinates of X.
    """
    border, slots = V.layout.border, V.layout.slots
    among = border[np.isin(border, tested)]
    G = V[:, among] if len(among) else np.zeros((len(theta), 0))

    def rows(Z, X, m, offset, w) -> ndarray:
        total = np.zeros(len(theta))
        eta = linear_predictors(Z, theta, offset)
        t, g = likelihood.link.terms(eta), likelihood.link.dlogpdf(eta)
        weight, times = t.r1 * t.r0, 1.0 if m is None else m
        slope = np.where(weight > 0, weight * (2.0 * g - t.r1 + t.r0), 0.0) * times * (1.0 if w is None else w)
        total[among] = slope @ (X.border.toarray()[:, np.isin(border, among)] * (X @ G) ** 2)
        own = np.column_stack([X.level_sums_of(i, slope * h * h) for i, h in enumerate(X.covariances_within(V))])
        total[slots[slots >= 0]] = own[slots >= 0]
        return total

    with np.errstate(divide="ignore", invalid="ignore"):
        fall, se = blocks.sum(rows)[tested], np.sqrt(V.diagonal()[tested])
        return 1.0 / se + estimate * fall / (2.0 * se**3)


def _chunks(Z, X, m, offset, w, width: int, tested: ndarray):
    """Rows a few at a time, of the columns tested alone."""
    columns, of = np.unique(tested, return_inverse=True)
    X = some_columns(X, columns)
    step = max(64, MAX_EFFECT_ENTRIES // max(width, len(columns)))
    for start in range(0, Z.shape[0], step):
        rows = slice(start, start + step)
        times: Any = 1.0 if m is None else m[rows]
        times = times if w is None else times * w[rows]
        yield Z[rows], X[rows].toarray()[:, of], times, None if offset is None else offset[rows]


def _sums(likelihood, Z, X, m, offset, w, theta, G, tested) -> ndarray:
    """Sums sum_i w'_i x_ij (z_i'v_j)^2, w' = w (2 g - r1 + r0) the derivative of the expected weight r1 r0."""
    link, total = likelihood.link, np.zeros(len(tested))
    for z, x, times, off in _chunks(Z, X, m, offset, w, G.shape[1], tested):
        eta = linear_predictors(z, theta, off)
        t, g = link.terms(eta), link.dlogpdf(eta)
        weight = t.r1 * t.r0
        with np.errstate(invalid="ignore"):  # 0 times infinity, far out
            slope = np.where(weight > 0, weight * (2.0 * g - t.r1 + t.r0), 0.0) * times
        v = z @ G
        total += slope @ (x * v * v)
    return total


def _level_sums(likelihood, Z, X, m, offset, w, theta, G, tested) -> ndarray:
    """Sums sum_i m_i x_ij p_s ((v_s - a)^2 - b) of a multinomial logit, v the covariances of the row's linear
    predictors
    with b_j of equation s, a and b their mean and variance over the classes."""
    k, q = Z.shape[1], likelihood.n_eta
    B, equation, column = theta.reshape(k, q, order="F"), tested // k, tested % k
    parts, total = G.reshape(q, k, -1), np.zeros(len(tested))
    c = np.arange(len(tested))
    for z, x, times, off in _chunks(Z, X, m, offset, w, G.shape[1] * q, column):
        base = None
        if off is not None and off.ndim == 2 and off.shape[1] == q + 1:  # of a limit: outcomes that are ruled out
            off, base = off[:, 1:], off[:, :1]
        eta = linear_predictors(z, B, off)
        with np.errstate(invalid="ignore"):
            p = likelihood.probabilities(eta, base)[1][:, 1:]
        v = np.stack([z @ part for part in parts], axis=1)
        mean = np.einsum("nj,njc->nc", p, v)
        spread = np.einsum("nj,njc->nc", p, v * v) - mean * mean
        own = v[:, equation, c] - mean
        total += np.einsum("nc->c", x * np.reshape(times, (-1, 1)) * p[:, equation] * (own * own - spread))
    return total
