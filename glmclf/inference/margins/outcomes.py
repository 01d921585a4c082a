"""Outcomes that margins are of, and how they move with the linear predictors and with slopes of these.

Shapes: n rows, q equations, L outcomes (the event alone, or all K classes, the reference first).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy import ndarray

from glmclf.core.likelihood.pointwise import Multinomial

if TYPE_CHECKING:
    from glmclf.core.likelihood.links import Link


class Effect(NamedTuple):
    """An outcome of rows and its derivatives in their linear predictors.

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


class Tails(NamedTuple):
    """Logs of p and 1 - p of rows, and their derivatives in the linear predictors: right where p or 1 - p rounds to 0.

    Attributes
    ----------
    log_p, log_q : (n, L) ndarray
    by_p, by_q : (n, L, q) ndarray
        Their derivatives in the linear predictors.
    """

    log_p: ndarray
    log_q: ndarray
    by_p: ndarray
    by_q: ndarray


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
        """Probability of the event, p = F(eta)."""
        return Effect(self.link.cdf(eta)[:, None], None, self.link.pdf(eta)[:, None, None])

    def log_level(self, eta: ndarray) -> Effect:
        """log p."""
        terms = self.link.terms(eta)
        return Effect(terms.logcdf[:, None], None, terms.r1[:, None, None])

    def tails(self, eta: ndarray) -> Tails:
        """Logs of the event's probability F and of 1 - F."""
        t = self.link.terms(eta)
        return Tails(t.logcdf[:, None], t.logsf[:, None], t.r1[:, None, None], -t.r0[:, None, None])

    def slope(self, eta: ndarray, d: ndarray) -> Effect:
        """Slope of the event's probability, f(eta) d, with f' = f (log f)'."""
        f = self.link.pdf(eta)
        with np.errstate(invalid="ignore", over="ignore"):
            value = np.where(f == 0, 0.0, f * d[:, 0])
            curve = np.where(f == 0, 0.0, f * self.link.dlogpdf(eta) * d[:, 0])
        return Effect(value[:, None], f[:, None, None], curve[:, None, None])

    def log_slope(self, eta: ndarray, d: ndarray) -> Effect:
        """Slope of the log probability, (log F)' d = r1 d, with r1' = -w1."""
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
        """Probabilities p_k, with dp_k/d eta_l = p_k (1[k=l] - p_l)."""
        _, p, q = Multinomial.possible(eta)
        return Effect(p, None, p[:, :, None] * _unit_less(p, q))

    def log_level(self, eta: ndarray) -> Effect:
        """log p_k."""
        log_p, p, q = Multinomial.possible(eta)
        return Effect(log_p, None, _unit_less(p, q))

    def tails(self, eta: ndarray) -> Tails:
        """Logs of p_k and of the other classes' sum q_k, with d log q_k/d eta_l = p_k (p_l / q_k), -p_k for l = k."""
        log_p, p, q = Multinomial.possible(eta)
        others = np.where(np.eye(self.K, dtype=bool), -np.inf, log_p[:, None, :])
        top = others.max(axis=2, keepdims=True)
        top[np.isneginf(top)] = 0.0
        log_q = (np.log(np.exp(others - top).sum(axis=2, keepdims=True)) + top)[:, :, 0]
        log_q = np.where(p < 0.5, np.log1p(-p), log_q)
        share = np.where(np.isneginf(others), 0.0, np.exp(others - log_q[:, :, None]))
        by_q = p[:, :, None] * (share - np.eye(self.K))[:, :, 1:]
        return Tails(log_p, log_q, _unit_less(p, q), by_q)

    def slope(self, eta: ndarray, d: ndarray) -> Effect:
        """Slopes m_k = p_k c_k, with c_k = d_k - sum_j p_j d_j; dm_k/d eta_l = p_k ((1[k=l] - p_l) c_k - p_l c_l)."""
        _, p, q = Multinomial.possible(eta)
        c, unit = _centred(p, d), _unit_less(p, q)
        by_eta = p[:, :, None] * (unit * c[:, :, None] - (p * c)[:, None, 1:])
        return Effect(p * c, p[:, :, None] * unit, by_eta)

    def log_slope(self, eta: ndarray, d: ndarray) -> Effect:
        """Slopes c_k of the log probabilities, with dc_k/d eta_l = -p_l c_l."""
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
