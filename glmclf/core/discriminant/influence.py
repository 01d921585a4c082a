"""Influence of single rows on the discriminant of Gaussian classes, of which its robust covariances are made."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from glmclf.core.discriminant import quadratic
from glmclf.core.gaussian.dispersion import Dispersion
from glmclf.core.gaussian.fit import Gaussian
from glmclf.core.gaussian.moments import ClassMoments


def influence(
    g: Gaussian, X: ndarray, y: ndarray, moments: ClassMoments | None = None, seen: ndarray | None = None
) -> ndarray:
    """First-order influence of each row on the coefficients in x minus the grand mean.

    psi_i is N times the derivative of the estimate in the weight of row i, with the factors N/(N-K) or n_k/(n_k-1) of
    an unbiased covariance, the smoothing of priors and the intensity of shrinkage held fixed. Unless priors are
    smoothed, the weighted sum of psi_i over the rows of the fit is zero; N^-2 sum f_i psi_i psi_i' is the sandwich
    covariance, HC0.

    Parameters
    ----------
    g : Gaussian
        Fitted classes.
    X : (n, p) ndarray
        Features of some rows of the fit.
    y : (n,) integer ndarray
        Their classes, 0..K-1.
    moments : ClassMoments, optional
        Of all rows of the fit; needed where the covariances are shrunk or carry a ridge.
    seen : (p,) bool ndarray, optional
        The features whose marginal law the discriminant is of; all by default. A variance that all features share is
        estimated from all.

    Returns
    -------
    (n, (K-1) m) ndarray
        Equation by equation, in the units of the coefficients.

    Raises
    ------
    ValueError
        If the covariances of `g` are regularised and there are no moments.

    References
    ----------
    Hampel, Ronchetti, Rousseeuw & Stahel (1986), Robust Statistics, section 4.2; White (1982), Econometrica 50, 1-25.

    Examples
    --------
    >>> import numpy as np
    >>> from glmclf.core.gaussian.dispersion import Dispersion
    >>> from glmclf.core.gaussian.fit import Gaussian
    >>> X, y = np.array([[-1.0], [1.0], [1.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> counts, spread = np.array([2.0, 2.0]), (Dispersion("full", np.eye(1), 4.0),)
    >>> g = Gaussian(counts, np.log([0.5, 0.5]), True, counts, np.array([[0.0], [2.0]]), spread, np.array([1.0]))
    >>> influence(g, X, y)
    array([[ 0.,  2.],
           [-4., -2.],
           [ 4., -2.],
           [ 0.,  2.]])
    """
    s, D = g.shifted(), (X - g.centre) - g.about[y]
    law = s if seen is None else s.marginal(seen)
    if g.pooled:
        psi = _linear(law, y, _Change.of(s, 0, D, moments).on(seen))
    else:
        psi = np.zeros((len(X), g.K - 1, quadratic.size(g.kind, law.p)))
        for k in range(g.K):
            rows = np.flatnonzero(y == k)
            part = _of_class(law, k, _Change.of(s, k, D[rows], moments).on(seen))
            _add(psi, rows, k, s.counts.sum() / s.counts[k] * part)
    if g.priors_free:
        psi[:, :, 0] += odds_influence(g, y)
    return psi.reshape(len(X), -1)


def odds_influence(g: Gaussian, y: ndarray) -> ndarray:
    """Influence of each row on the estimated log prior odds, (n, K-1): the part that `influence` of intercepts has."""
    odds = np.zeros((len(y), g.K - 1, 1))
    for k in range(g.K):
        _add(odds, np.flatnonzero(y == k), k, g.counts.sum() / g.prior_counts[k])
    return odds[:, :, 0]


def _add(psi: ndarray, rows: ndarray, k: int, part: ndarray | float) -> None:
    """Add the influence of rows of class k to equation k, or, if it is the reference, subtract it in every equation."""
    if k == 0:
        psi[rows] -= part[:, None, :] if isinstance(part, ndarray) else part
    else:
        psi[rows, k - 1] += part


@dataclass(frozen=True)
class _Change:
    """Change of a covariance matrix by each row, dS_i = share (ratio d_i d_i' - C) + diag(t_i).

    Attributes
    ----------
    spread : Dispersion
        S, the covariance in use.
    C : (p, p) ndarray
        The covariance before it was shrunk.
    D : (n, p) ndarray
        Rows less their class means, d_i.
    share, ratio : float
        1 less the shrinkage for a full covariance, else 0; total weight over the divisor of C.
    t : (n, p) ndarray or None
        None for zero.
    """

    spread: Dispersion
    C: ndarray
    D: ndarray
    share: float
    ratio: float
    t: ndarray | None

    @classmethod
    def of(cls, g: Gaussian, k: int, D: ndarray, moments: ClassMoments | None) -> _Change:
        """Change of the covariance of class k by rows D (n, p)."""
        spread, (C, ratio) = g.dispersion(k), _unshrunk(g, k, moments)
        intensity = g.shrinkage[0 if g.pooled else k] if g.shrinkage else 0.0
        weights = {"full": 0.0, "diag": 0.0, "spherical": 0.0, "fixed": 0.0}
        weights[spread.kind] += 1 - intensity
        if g.target != "fixed" and spread.kind == "spherical":
            target = "spherical"  # of any target the mean variance alone counts
        else:
            target = {"identity": "spherical"}.get(g.target, g.target)
        weights[target] += intensity
        t = None
        if weights["diag"] or weights["spherical"]:
            t = ratio * D**2 - C.diagonal()
            t = weights["diag"] * t + weights["spherical"] * t.mean(axis=1, keepdims=True)
        return cls(spread, C, D, weights["full"], ratio, t)

    def on(self, seen: ndarray | None) -> _Change:
        """The change of the covariance of some features."""
        if seen is None or seen.all():
            return self
        t = None if self.t is None else self.t[:, seen]
        C = self.C[np.ix_(seen, seen)]
        return _Change(self.spread.marginal(seen), C, self.D[:, seen], self.share, self.ratio, t)

    def applied(self, b: ndarray, Z: ndarray) -> ndarray:
        """Products W dS_i b, (n, p); Z has rows W d_i."""
        out = np.zeros_like(Z) if self.t is None else self.spread.solve(self.t * b)
        if self.share:
            Cb = self.spread.solve((self.C @ b)[None, :])
            out += self.share * (self.ratio * Z * (self.D @ b)[:, None] - Cb)
        return out

    def sandwiched(self, Z: ndarray) -> ndarray:
        """Entries (W dS_i W)_ij, halved where i = j, in the order of the quadratic coefficients; Z has rows W d_i."""
        if self.spread.kind != "full":
            t = self.t if self.t is not None else np.zeros_like(self.D)
            out = t / self.spread.root**4 / 2
            if self.spread.kind != "spherical":
                return out
            return out[:, :1] if out.shape[1] else np.zeros((len(out), 1))
        W, (i, j) = self.spread.inverse, np.triu_indices(Z.shape[1])
        WCW = W if self.C is self.spread.matrix else W @ self.C @ W
        out = self.share * (self.ratio * Z[:, i] * Z[:, j] - WCW[i, j])
        if self.t is not None:
            out += self.t @ (W[:, i] * W[:, j])
        return out * np.where(i == j, 0.5, 1.0)

    def trace(self, Z: ndarray) -> ndarray:
        """Change of log|S|, tr(W dS_i), (n,)."""
        W = self.spread.inverse
        out = np.zeros(len(Z)) if self.t is None else self.t @ W.diagonal()
        if self.share:
            out += self.share * (self.ratio * np.einsum("ij,ij->i", self.D, Z) - np.sum(W * self.C))
        return out


def _unshrunk(g: Gaussian, k: int, moments: ClassMoments | None) -> tuple[ndarray, float]:
    """The covariance of class k before regularisation, and the weight behind it over its divisor."""
    n = float(g.counts.sum() if g.pooled else g.counts[k])
    if not g.regularised:
        return g.dispersion(k).matrix, n / g.dispersion(k).n
    if moments is None:
        raise ValueError("the influence of rows on regularised covariances needs the moments of the fit")
    lost = 0 if g.divisor == "mle" else g.K if g.pooled else 1
    divisor = n - lost if n > lost else 1.0
    return (moments.within if g.pooled else moments.scatter[k]) / divisor, n / divisor


def _linear(g: Gaussian, y: ndarray, change: _Change) -> ndarray:
    """Influence [y=k] N/n_k J(m_k)'z - [y=0] N/n_0 J(m_0)'z - J(h_k)'W dS b_k, with z = W d and J(m) = [-m, I]."""
    spread, N, D = g.dispersion(0), g.counts.sum(), change.D
    Z = spread.solve(D)
    psi = np.zeros((len(D), g.K - 1, g.p + 1))
    for k in range(g.K):
        rows = np.flatnonzero(y == k)
        _add(psi, rows, k, N / g.counts[k] * np.column_stack([-Z[rows] @ g.means[k], Z[rows]]))
    for k, b in enumerate(spread.solve(g.means[1:] - g.means[0])):
        u = change.applied(b, Z)
        psi[:, k, 0] += u @ (g.means[k + 1] + g.means[0]) / 2
        psi[:, k, 1:] -= u
    return psi


def _of_class(g: Gaussian, k: int, change: _Change) -> ndarray:
    """Influence of a class's rows on its own coefficients, (n_k, m), without prior part and factor N/n_k."""
    spread, m, D = g.dispersion(k), g.means[k], change.D
    Z, b = spread.solve(D), spread.solve(m[None, :])[0]
    u = change.applied(b, Z)
    c = -D @ b - change.trace(Z) / 2 + u @ m / 2
    return np.column_stack([c, Z - u, change.sandwiched(Z)])
