"""Marginal effects and adjusted predictions: averages of a function of the linear predictors, with their gradients.

For eta = x'b and d = (dx/dv)'b the effect of v on p = F(eta) is m = F'(eta) d. It moves with b through d and through
eta: grad m = F' dx/dv + F'' d x. Everything here is a weighted average of such rows, so that one pass gives the value
and the gradient that the delta method needs; no derivative is numerical.

Shapes: n rows, k columns, q equations, L outcomes (the event alone, or all K classes, the reference first), p = q k
parameters, equation by equation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy import ndarray

from glmclf.core.likelihood import Multinomial

if TYPE_CHECKING:
    from glmclf.core.links import Link


class Effect(NamedTuple):
    """An outcome of rows and how it moves with their linear predictors.

    Attributes
    ----------
    value : (n, L) ndarray
    by_slope : (n, L, q) ndarray or None
        Its derivative in d, the change of the linear predictors; None for what has no slope in it.
    by_eta : (n, L, q) ndarray
        Its derivative in the linear predictors.
    """

    value: ndarray
    by_slope: ndarray | None
    by_eta: ndarray


class Event:
    """Outcomes of a binary model: the probability of the event, L = q = 1.

    Parameters
    ----------
    link : Link
    """

    K = 1

    def __init__(self, link: Link):
        self.link = link

    def linear(self, eta: ndarray) -> Effect:
        """The linear predictor itself."""
        return Effect(eta[:, None], None, np.ones((len(eta), 1, 1)))

    def level(self, eta: ndarray) -> Effect:
        """p = F(eta)."""
        return Effect(self.link.cdf(eta)[:, None], None, self.link.pdf(eta)[:, None, None])

    def log_level(self, eta: ndarray) -> Effect:
        """log p."""
        terms = self.link.terms(eta)
        return Effect(terms.logcdf[:, None], None, terms.r1[:, None, None])

    def slope(self, eta: ndarray, d: ndarray) -> Effect:
        """f(eta) d, with f' = f (log f)'."""
        f = self.link.pdf(eta)
        with np.errstate(invalid="ignore", over="ignore"):
            value = np.where(f == 0, 0.0, f * d[:, 0])
            curve = np.where(f == 0, 0.0, f * self.link.dlogpdf(eta) * d[:, 0])
        return Effect(value[:, None], f[:, None, None], curve[:, None, None])

    def log_slope(self, eta: ndarray, d: ndarray) -> Effect:
        """(log F)' d = r1 d, with r1' = -w1."""
        terms = self.link.terms(eta)
        with np.errstate(invalid="ignore"):
            value = np.where(terms.r1 == 0, 0.0, terms.r1 * d[:, 0])
            curve = np.where(terms.w1 == 0, 0.0, -terms.w1 * d[:, 0])
        return Effect(value[:, None], terms.r1[:, None, None], curve[:, None, None])


class Classes:
    """Outcomes of a model of K classes: the probability of each, L = K, q = K - 1.

    `eta` is (n, K) here, the reference's linear predictor first (0, or -inf where it is ruled out), `d` (n, K - 1).

    Parameters
    ----------
    K : int
    """

    def __init__(self, K: int):
        self.K = K

    def linear(self, eta: ndarray) -> Effect:
        """The linear predictors, 0 for the reference."""
        e = np.eye(self.K)[:, 1:]
        return Effect(Multinomial.log_odds(eta), None, np.broadcast_to(e, (len(eta), self.K, self.K - 1)))

    def level(self, eta: ndarray) -> Effect:
        """p_k, with dp_k/d eta_l = p_k (1[k=l] - p_l)."""
        _, p, q = Multinomial.possible(eta)
        return Effect(p, None, p[:, :, None] * _unit_less(p, q))

    def log_level(self, eta: ndarray) -> Effect:
        """log p_k."""
        log_p, p, q = Multinomial.possible(eta)
        return Effect(log_p, None, _unit_less(p, q))

    def slope(self, eta: ndarray, d: ndarray) -> Effect:
        """m_k = p_k c_k, with c_k = d_k - sum_j p_j d_j; dm_k/d eta_l = p_k ((1[k=l] - p_l) c_k - p_l c_l)."""
        _, p, q = Multinomial.possible(eta)
        c, unit = _centred(p, d), _unit_less(p, q)
        by_eta = p[:, :, None] * (unit * c[:, :, None] - (p * c)[:, None, 1:])
        return Effect(p * c, p[:, :, None] * unit, by_eta)

    def log_slope(self, eta: ndarray, d: ndarray) -> Effect:
        """c_k, with dc_k/d eta_l = -p_l c_l."""
        _, p, q = Multinomial.possible(eta)
        c = _centred(p, d)
        by_eta = np.broadcast_to(-(p * c)[:, None, 1:], (len(p), self.K, self.K - 1))
        return Effect(c, _unit_less(p, q), by_eta)


def _unit_less(p: ndarray, q: ndarray) -> ndarray:
    """1[k=l] - p_l for classes k and equations l, (n, K, K-1); on the diagonal the complement as it is."""
    K = p.shape[1]
    out = np.repeat(-p[:, None, 1:], K, axis=1)
    at = np.arange(1, K)
    out[:, at, at - 1] = q[:, 1:]
    return out


def _centred(p: ndarray, d: ndarray) -> ndarray:
    """d_k less its mean over the classes, (n, K), as sum_j p_j (d_k - d_j): the rows sum to zero with weights p."""
    whole = np.column_stack([np.zeros(len(d)), d])
    return whole - (p * whole).sum(axis=1, keepdims=True)


class Average(NamedTuple):
    """A weighted average over rows.

    Attributes
    ----------
    value : (L,) ndarray
    gradient : (L, p) ndarray
        In the parameters.
    rows : (n, L) ndarray or None
        What was averaged, where it was asked for.
    """

    value: ndarray
    gradient: ndarray
    rows: ndarray | None = None

    def __sub__(self, other: Average) -> Average:
        rows = None if self.rows is None or other.rows is None else self.rows - other.rows
        return Average(self.value - other.value, self.gradient - other.gradient, rows)

    def times(self, c: float) -> Average:
        """The average of c times the same."""
        return Average(c * self.value, c * self.gradient, None if self.rows is None else c * self.rows)


@dataclass
class Sums:
    """Weighted sums of `Effect` rows, block by block.

    Attributes
    ----------
    weight : float
    value : (L,) ndarray or 0
    gradient : (L, p) ndarray or 0
    kept : list of (n, L) ndarrays, or None
    """

    weight: float = 0.0
    value: Any = 0.0
    gradient: Any = 0.0
    kept: list[ndarray] | None = None

    def add(self, effect: Effect, w: ndarray, X: ndarray, dX: ndarray | None = None) -> None:
        """Add rows X with weights w; dX is needed where the effect has a slope."""
        _, L, q = effect.by_eta.shape
        self.weight += float(w.sum())
        self.value = self.value + w @ effect.value
        total = _crossed(effect.by_eta, w, X)
        if effect.by_slope is not None and dX is not None:
            total += _crossed(effect.by_slope, w, dX)
        self.gradient = self.gradient + total.reshape(L, q * X.shape[1])
        if self.kept is not None:
            self.kept.append(effect.value)

    def average(self) -> Average:
        """What the sums come to."""
        rows = None if self.kept is None else np.concatenate(self.kept)
        return Average(self.value / self.weight, self.gradient / self.weight, rows)


def _crossed(A: ndarray, w: ndarray, X: ndarray) -> ndarray:
    """sum_i w_i A_i (L, q) x_i, (L q, k)."""
    return (A.reshape(len(A), -1) * w[:, None]).T @ X


def standard_errors(J: ndarray, V: ndarray) -> ndarray:
    """Square roots of the diagonal of J V J', (E,): NaN where it is negative or the gradient is not finite.

    Parameters
    ----------
    J : (E, p) ndarray
        Gradients of the estimates.
    V : (p, p) ndarray
        Covariance of the parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from glmclf.inference.margins import standard_errors
    >>> standard_errors(np.array([[1.0, 0.0], [3.0, 4.0]]), np.eye(2))
    array([1., 5.])
    """
    return roots(np.diagonal(covariance(J, V)))


def roots(variances: ndarray) -> ndarray:
    """Standard errors of variances; NaN of those below 0."""
    return np.sqrt(np.where(variances >= 0, variances, np.nan))


def covariance(J: ndarray, V: ndarray) -> ndarray:
    """J V J', (E, E): rows and columns of an estimate that is not finite, or that leans on a parameter without a
    variance, are NaN."""
    lost = ~np.isfinite(np.diagonal(V))
    bad = ~np.isfinite(J).all(axis=1) | (J[:, lost] != 0).any(axis=1)
    J, V = np.where(np.isfinite(J), J, 0.0), np.where(lost | lost[:, None], 0.0, V)
    C = J @ V @ J.T
    C[bad] = C[:, bad] = np.nan
    return C


def of_sums(U: ndarray, w: ndarray, frequency: bool, clusters: ndarray | None = None) -> ndarray:
    """Covariance of the sums w'U of a sample of rows, (E, E).

    Parameters
    ----------
    U : (n, E) ndarray
        What a row of weight one adds: (h_i - mean)/sum w of an average of h over the rows, with J A^-1 s_i where it
        also moves the estimate.
    w : (n,) ndarray
        Weights.
    frequency : bool
        Whether a row of weight f stands for f rows.
    clusters : (n,) integer ndarray, optional
        Clusters, numbered from 0.

    Returns
    -------
    ndarray
        N/(N-1) sum (w_i U_i)(w_i U_i)' over N rows, or sums over clusters in place of rows, with G/(G-1).

    References
    ----------
    Korn & Graubard (1999), Analysis of Health Surveys, section 3.7; Stata's ``margins, vce(unconditional)``.
    """
    if clusters is not None:
        G = int(clusters.max()) + 1
        S = np.zeros((G, U.shape[1]))
        np.add.at(S, clusters, w[:, None] * U)
        return G / (G - 1.0) * S.T @ S
    times, N = (w, w.sum()) if frequency else (w * w, len(w))
    return N / (N - 1.0) * (U.T * times) @ U
