"""Classes with one Gaussian covariance: the linear discriminant, in the coordinates of the means it is given.

Notation: S the covariance, W its inverse, delta_k = m_k - m_0, h_k = (m_k + m_0)/2, b_k = W delta_k,
J(m) = [-m, I], (p, p+1). Products with W are inner products of whitened vectors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from glmclf.core.discriminant.entries import Arrows, Pairing, Positions
from glmclf.core.gaussian.fit import Gaussian


def coefficients(g: Gaussian) -> ndarray:
    """Coefficients of the linear discriminant: intercept log(p_k/p_0) - h_k'b_k and slopes b_k, (K - 1, p + 1)."""
    steps = g.means[1:] - g.means[0]
    slopes = g.dispersion(0).solve(steps)
    alpha = g.log_priors[1:] - g.log_priors[0] - np.einsum("kj,kj->k", _middles(g), slopes)
    return np.column_stack([alpha, slopes])


def _middles(g: Gaussian) -> ndarray:
    return (g.means[1:] + g.means[0]) / 2


@dataclass(frozen=True)
class LinearCovariance:
    """Covariance of the linear discriminant's coefficients, without the prior part.

    Attributes
    ----------
    kind : str
        "full", "diag" or "spherical".
    counts : (K,) ndarray
        Rows of each class.
    n : float
        Sample size behind the covariance.
    units : (p + 1, p) or (p,) ndarray
        A row of zeros, then the whitened unit vectors: the columns of J(m) but the first; of a diagonal covariance
        their entries that are not 0.
    means, middles, steps : (K, p), (K - 1, p), (K - 1, p) ndarray
        Whitened m_k, h_k, delta_k.
    slopes : (K - 1, p + 1) ndarray
        0, then b_k.
    """

    kind: str
    counts: ndarray
    n: float
    units: ndarray
    means: ndarray
    middles: ndarray
    steps: ndarray
    slopes: ndarray

    @classmethod
    def of(cls, g: Gaussian) -> LinearCovariance:
        spread = g.dispersion(0)
        delta = g.means[1:] - g.means[0]
        units = np.vstack([np.zeros(g.p), spread.whiten(np.eye(g.p))]) if spread.full else 1 / spread.root
        slopes = np.column_stack([np.zeros(g.K - 1), spread.solve(delta)])
        means, middles, steps = (spread.whiten(v) for v in (g.means, _middles(g), delta))
        return cls(g.kind, g.counts, spread.n, units, means, middles, steps, slopes)

    def entries(self, a: Positions, b: Positions, pairing: Pairing) -> ndarray:
        """Entries [k=l] J(m_k)'W J(m_k)/n_k + J(m_0)'W J(m_0)/n_0 + C_kl at the positions asked for."""
        k, l = pairing.split(a.equation, b.equation)
        own = self._gram(self.means[1:], a, b, pairing)
        base = self._gram(np.broadcast_to(self.means[0], self.steps.shape), a, b, pairing)
        V = np.where(k == l, own / self.counts[1:][k], 0.0) + base / self.counts[0]
        return V + (self._full(a, b, pairing) if self.kind == "full" else self._diagonal(a, b, pairing))

    def _gram(self, centres: ndarray, a: Positions, b: Positions, pairing: Pairing) -> ndarray:
        """Entries J(c_k)'W J(c_l), with c_k a whitened centre of each equation."""
        if self.kind == "full":
            return pairing.dot(self._columns(centres, a), self._columns(centres, b))
        return self._arrows(-centres, np.broadcast_to(self.units, centres.shape)).gram(a, b, pairing)

    @staticmethod
    def _arrows(first: ndarray, values: ndarray) -> Arrows:
        return Arrows(first, np.arange(first.shape[1]), values)

    def _columns(self, centres: ndarray, at: Positions) -> ndarray:
        """Whitened columns of J(c_k), (r, p), with c_k a whitened centre of each equation."""
        out = self.units[at.column]
        intercepts = at.column == 0
        out[intercepts] = -centres[at.equation[intercepts]]
        return out

    def _full(self, a: Positions, b: Positions, pairing: Pairing) -> ndarray:
        """Full covariance: C_kl = (b_k'S b_l J(h_k)'W J(h_l) + (J(h_k)'b_l)(J(h_l)'b_k)')/n."""
        k, l = pairing.split(a.equation, b.equation)
        i, j = pairing.split(a.column, b.column)
        middle = self.middles @ self.steps.T  # h_k'b_l
        one = np.where(i == 0, -middle[k, l], self.slopes[l, i])
        two = np.where(j == 0, -middle[l, k], self.slopes[k, j])
        inner = self._gram(self.middles, a, b, pairing)
        return ((self.steps @ self.steps.T)[k, l] * inner + one * two) / self.n

    def _diagonal(self, a: Positions, b: Positions, pairing: Pairing) -> ndarray:
        """Diagonal covariance: C_kl = 2/n J(h_k)' diag(b_k * b_l) J(h_l), or with one variance 2/(n p)
        (J(h_k)'b_k)(J(h_l)'b_l)'."""
        first, values = -self.middles * self.steps, self.units * self.steps
        if self.kind == "diag":
            return 2 / self.n * self._arrows(first, values).gram(a, b, pairing)
        sums = np.column_stack([first.sum(axis=1), values])  # J(h_k)'b_k
        one, two = (sums[at.equation, at.column][:, None] for at in (a, b))
        return 2 / (self.n * self.steps.shape[1]) * pairing.dot(one, two)


def log_odds_covariance(g: Gaussian, X: ndarray) -> ndarray:
    """Covariance of the log-odds in rows of X, without the prior part: the intercepts' with the origin at the row."""
    parts, Z = LinearCovariance.of(g.shifted()), g.dispersion(0).whiten(X - g.centre)
    D2 = np.stack([np.einsum("ij,ij->i", d, d) for d in (Z - m for m in parts.means)])
    V = np.broadcast_to((D2[0] / g.counts[0])[:, None, None], (len(Z), g.K - 1, g.K - 1)).copy()
    diagonal = np.arange(g.K - 1)
    V[:, diagonal, diagonal] += (D2[1:] / g.counts[1:, None]).T
    P = Z[:, None, :] - parts.middles
    if g.kind == "full":
        cross = P @ parts.steps.T  # (x - h_k)'b_l
        C = (parts.steps @ parts.steps.T) * (P @ P.transpose(0, 2, 1)) + cross * cross.transpose(0, 2, 1)
        return V + C / parts.n
    E = P * parts.steps
    if g.kind == "spherical":
        E = E.sum(axis=2, keepdims=True) / np.sqrt(g.p)
    return V + 2 / parts.n * (E @ E.transpose(0, 2, 1))


def bias_reduced(g: Gaussian, v: float) -> tuple[ndarray, ndarray]:
    """Unbiased slopes, their intercepts, and the covariance of both without the prior part.

    Parameters
    ----------
    g : Gaussian
        One full covariance for all classes.
    v : float
        Degrees of freedom within classes, more than p + 3.

    Returns
    -------
    ((K - 1, p + 1) ndarray, ((K-1)(p+1), (K-1)(p+1)) ndarray)
    """
    spread, p, h = g.dispersion(0), g.p, _middles(g)
    steps = g.means[1:] - g.means[0]
    b = (v - p - 1) / spread.n * spread.solve(steps)
    D = b @ steps.T  # b_k'S b_l
    own = np.diag(1 / g.counts[1:])
    V = _slopes_covariance(b, D, (v - p - 1) / spread.n * spread.inverse, own + 1 / g.counts[0], v)
    hV = np.einsum("ki,kilj->klj", h, V)
    d = own - 1 / g.counts[0]  # 2 cov(h_k, b_l) = d_kl I
    hb = h @ b.T
    out = np.empty((len(b), p + 1, len(b), p + 1))
    out[:, 1:, :, 1:] = V
    out[:, 0, :, 1:] = -hV - d[:, :, None] * b[:, None, :] / 2
    out[:, 1:, :, 0] = out[:, 0, :, 1:].transpose(1, 2, 0)
    out[:, 0, :, 0] = (own + 1 / g.counts[0]) * D / 4 + np.einsum("klj,lj->kl", hV, h) + d * (hb + hb.T) / 2
    alpha = g.log_priors[1:] - g.log_priors[0] - np.einsum("kj,kj->k", h, b)
    return np.column_stack([alpha, b]), out.reshape(len(b) * (p + 1), -1)


def _slopes_covariance(b: ndarray, D: ndarray, W: ndarray, c: ndarray, v: float) -> ndarray:
    """Exact covariance of the unbiased slopes, (K - 1, p, K - 1, p), by the inverse Wishart law's second moments."""
    r = v - b.shape[1] - 1
    V = (r * ((v - 1) * c + D))[:, None, :, None] * W[None, :, None, :]
    V += 2 * np.einsum("ki,lj->kilj", b, b) + r * np.einsum("li,kj->kilj", b, b)
    return V / ((r + 1) * (r - 2))
