"""Gaussian classes as each training row sees them when it has been left out.

Without the row the scatter of its class is S - c dd', so that the factor of S serves all rows, with a ridge or a fixed
matrix added, too. A covariance that is shrunk to a target from the data changes by more and is factored row by row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray
from scipy.linalg.lapack import dpotrf, dtrtrs

from glmclf.core.gaussian.dispersion import Dispersion, triangular_root
from glmclf.core.gaussian.law import Gaussian
from glmclf.core.gaussian.moments import ClassMoments
from glmclf.core.numerics.constants import LOG_2PI
from glmclf.core.numerics.softmax import log_softmax

ROUNDED_SHARE_OF_DETERMINANT = 1e-10  # share of a determinant that is left without the row, below which it is rounding
ROUNDED_TOLERANCE = 1e-12  # a tolerance below this is rounding of a scatter matrix
MIN_SHARE_TO_DOWNDATE = 1e-3  # share of a regularised determinant left without the row, below which digits are lost


class Left(NamedTuple):
    """Distances to the classes estimated without the row, by row.

    Attributes
    ----------
    distances : (n, K) ndarray
        D^2, with the covariance estimated without the row.
    logdets : (n, K) ndarray
        log-determinant of that covariance.
    defined : (n,) bool ndarray
        False, and NaN in the others, where the row is the only one of its class or a covariance is singular without it.
    """

    distances: ndarray
    logdets: ndarray
    defined: ndarray


@dataclass(frozen=True)
class LeaveOneOut:
    """Densities of training rows under the classes estimated from all other rows.

    Priors are held, and so is the intensity of a shrinkage.

    Parameters
    ----------
    gaussian : Gaussian
    frequency : bool
        A row of weight f stands for f rows, of which one is left out; else the row is left out with its whole weight.
    moments : ClassMoments, optional
        Those of the fit; a regularised one needs them.

    Notes
    -----
    With c = n/(n - 1) and d = x - m_k, S(-i) = S - c dd' (its diagonal, its trace) and x - m_k(-i) = c d
    (Sherman-Morrison). A covariance that is shrunk to its diagonal or to the identity costs p^3 / 3 a row.

    References
    ----------
    Lachenbruch & Mickey (1968) Technometrics 10, 1-11.

    Examples
    --------
    >>> import numpy as np
    >>> from glmclf.core.rows.blocks import Blocks
    >>> from glmclf.core.design.dense import Dense
    >>> from glmclf.core.gaussian.fit import fit_gaussian
    >>> from glmclf.core.gaussian.moments import class_moments
    >>> X, y = np.array([[1.0], [3.0], [10.0], [14.0]]), np.array([0, 0, 1, 1])
    >>> g = fit_gaussian(class_moments(Blocks(Dense(X), y, None), 2), "full", pooled=True)
    >>> LeaveOneOut(g).left(X, y).distances.round(3).tolist()
    [[1.5, 45.375], [1.5, 30.375], [96.0, 24.0], [216.0, 24.0]]
    """

    gaussian: Gaussian
    frequency: bool = True
    moments: ClassMoments | None = None

    def __post_init__(self):
        if self.gaussian.regularised and self.moments is None:
            raise ValueError("leaving rows out of a regularised fit needs its moments")

    def left(self, X: ndarray, y: ndarray, w: ndarray | None = None) -> Left:
        """Distances and determinants without the row.

        Parameters
        ----------
        X : (n, p) ndarray
        y : (n,) integer ndarray
        w : (n,) ndarray, optional
        """
        g = self.gaussian
        removed = np.ones(len(y)) if self.frequency or w is None else w
        rest = g.counts[y] - removed
        change = self._regularised if g.regularised else self._pooled if g.pooled else self._by_class
        with np.errstate(divide="ignore", invalid="ignore"):
            c = g.counts[y] / np.where(rest > 0, rest, 1.0)
            distances, logdets, share = change(X, y, c, removed)
        defined = (rest > 0) & (share > ROUNDED_SHARE_OF_DETERMINANT) & self._enough(y)
        distances[~defined] = logdets[~defined] = np.nan
        return Left(distances, logdets, defined)

    def log_joint(self, X: ndarray, y: ndarray, w: ndarray | None = None) -> ndarray:
        """log pi_k f_k(x) with f_k estimated without the row, (n, K)."""
        distances, logdets, _ = self.left(X, y, w)
        return self.gaussian.log_priors - 0.5 * (logdets + distances + self.gaussian.p * LOG_2PI)

    def log_posterior(self, X: ndarray, y: ndarray, w: ndarray | None = None) -> ndarray:
        """log p(k | x) with the classes estimated without the row, (n, K)."""
        return log_softmax(self.log_joint(X, y, w))

    def _enough(self, y: ndarray) -> ndarray:
        """Whether degrees of freedom are left for a covariance without the row; weights that count nothing don't
        tell."""
        g = self.gaussian
        if g.regularised or not self.frequency:
            return np.ones(len(y), dtype=bool)
        df = np.full(g.K, g.n - g.K) if g.pooled else g.counts - 1.0
        return (df - 1 >= (g.p if g.kind == "full" else 1))[y]

    def _pooled(self, X: ndarray, y: ndarray, c: ndarray, removed: ndarray) -> tuple[ndarray, ndarray, ndarray]:
        """Distances without the row where the covariance is common: all of them change."""
        g, spread = self.gaussian, self.gaussian.dispersions[0]
        Z, M = _whitened(spread, X - g.centre), _whitened(spread, g.means - g.centre)
        D, n = Z - M[y], spread.n - removed
        distances = np.empty((len(y), g.K))
        for k in range(g.K):
            V = Z - M[k]
            own = np.flatnonzero(y == k)
            V[own] *= c[own, None]
            distances[:, k], ratio, share = _downdate(g.kind, V, D, c * removed)
        logdets = spread.logdet + ratio + g.p * np.log(spread.n / n)
        return distances * n[:, None], np.repeat(logdets[:, None], g.K, axis=1), share

    def _by_class(self, X: ndarray, y: ndarray, c: ndarray, removed: ndarray) -> tuple[ndarray, ndarray, ndarray]:
        """Distances without the row where each class has a covariance: those to the row's own class change."""
        g = self.gaussian
        distances, logdets, share = self._unchanged(X)
        for k, spread in enumerate(g.dispersions):
            own = np.flatnonzero(y == k)
            D, step, n = _whitened(spread, X[own] - g.means[k]), c[own], spread.n - removed[own]
            distance, ratio, share[own] = _downdate(g.kind, step[:, None] * D, D, step * removed[own])
            distances[own, k] = n * distance
            logdets[own, k] = spread.logdet + ratio + g.p * np.log(spread.n / n)
        return distances, logdets, share

    def _unchanged(self, X: ndarray) -> tuple[ndarray, ndarray, ndarray]:
        g = self.gaussian
        logdets = np.tile([g.dispersion(k).logdet for k in range(g.K)], (len(X), 1))
        return g.distances(X), logdets, np.ones(len(X))

    def _regularised(self, X: ndarray, y: ndarray, c: ndarray, removed: ndarray) -> tuple[ndarray, ndarray, ndarray]:
        """Distances without the row where the covariance is regularised: by one factor for all rows where only the
        scatter changes and by the same weight, else by a factor for each row."""
        g = self.gaussian
        distances, logdets, share = self._unchanged(X)
        for j in range(len(g.dispersions)):
            classes = np.arange(g.K) if g.pooled else np.array([j])
            rows = np.flatnonzero((y == j) | g.pooled)
            if not self.by_row and len(rows) and (removed[rows] == removed[rows[0]]).all():
                root = triangular_root(self._without(j, np.zeros(g.p), 0.0, removed[rows[0]]))
                if root is not None:
                    at = np.ix_(rows, classes)
                    found = self._by_rank_one(j, root, classes, X[rows], y[rows], c[rows], removed[rows])
                    distances[at], logdets[at], share[rows] = found
                    rows = rows[share[rows] < MIN_SHARE_TO_DOWNDATE]
            for i in rows:
                d, V = X[i] - g.means[y[i]], X[i] - g.means[classes]
                V[classes == y[i]] = c[i] * d
                Sigma = self._without(j, d, c[i] * removed[i], removed[i])
                distances[i, classes], logdets[i, classes], share[i] = _factored(Sigma, V)
        return distances, logdets, share

    def _by_rank_one(
        self, j: int, root: ndarray, classes: ndarray, X: ndarray, y: ndarray, c: ndarray, removed: ndarray
    ) -> tuple[ndarray, ndarray, ndarray]:
        """Distances to `classes` with dispersion j without each row, whose root is that of no d but all n."""
        g, spread = self.gaussian, Dispersion("full", root, 1.0)
        _, divisor, intensity = self._scatter(j, removed)
        D, distances = spread.whiten(X - g.means[y]), np.empty((len(X), len(classes)))
        for at, k in enumerate(classes):
            V = np.where((y == k)[:, None], c[:, None] * D, spread.whiten(X - g.means[k]))
            distances[:, at], ratio, share = _downdate("full", V, D, (1 - intensity) * c * removed / divisor)
        return distances, (spread.logdet + ratio)[:, None], share

    @property
    def by_row(self) -> bool:
        """Whether each row needs a factor of its own: a target that depends on the data changes with each row."""
        g = self.gaussian
        return g.regularised and not (g.kind == "full" and (g.target == "fixed" or not any(g.shrinkage)))

    def _scatter(self, j: int, removed: Any) -> tuple[ndarray, Any, float]:
        """Scatter of dispersion j, what it is divided by without a row of some weight, and the intensity."""
        g = self.gaussian
        assert self.moments is not None
        sizes, scatters = self.moments.scatters(g.pooled)
        lost = 0 if g.divisor == "mle" else g.K if g.pooled else 1
        divisor = sizes[j] - lost - removed
        return scatters[j], np.where(divisor > 0, divisor, 1.0), g.shrinkage[j] if g.shrinkage else 0.0

    def _without(self, j: int, d: ndarray, c: float, removed: float) -> ndarray:
        """Regularised covariance (p, p) of dispersion j without one row d."""
        g = self.gaussian
        S, divisor, intensity = self._scatter(j, removed)
        Sigma = np.outer(d, -c * d)
        Sigma += S
        Sigma /= divisor
        kept = (1 - intensity) * _projected(Sigma, g.kind)
        if intensity > 0 and g.target == "fixed":
            # what was added to the covariance stays
            whole = S / self._scatter(j, 0.0)[1]
            return kept + g.dispersions[j].matrix - (1 - intensity) * _projected(whole, g.kind)
        towards = "spherical" if "spherical" == g.kind or g.target == "identity" else "diag"
        at = np.arange(g.p)
        kept[at, at] += intensity * _variances(Sigma, towards) + g.ridge
        return kept


def _whitened(spread: Dispersion, D: ndarray) -> ndarray:
    """Rows z with |z|^2 = d'S^-1 d for the scatter S = n Sigma."""
    return spread.whiten(D) / math.sqrt(spread.n)


def _downdate(kind: str, V: ndarray, D: ndarray, c: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """v'S(-i)^-1 v, log(|S(-i)|/|S|) and the smallest share that is left of S, for S(-i) = S - c dd', S = I."""
    p = D.shape[1]
    if kind == "diag":
        left = 1 - c[:, None] * D**2
        return (V**2 / left).sum(axis=1), np.log(left).sum(axis=1), left.min(axis=1)
    length, h = np.einsum("ij,ij->i", V, V), c * np.einsum("ij,ij->i", D, D)
    if kind == "spherical":
        left = 1 - h / p
        return length / left, p * np.log(left), left
    left = 1 - h
    return length + c * np.einsum("ij,ij->i", D, V) ** 2 / left, np.log(left), left


def _projected(Sigma: ndarray, kind: str) -> ndarray:
    """Matrix (p, p) without what a structure leaves out."""
    return Sigma if kind == "full" else np.diag(_variances(Sigma, kind))


def _variances(Sigma: ndarray, kind: str) -> ndarray:
    """Variances (p,) of a matrix, or their mean where one serves all."""
    variances = np.diagonal(Sigma)
    return variances if kind == "diag" else np.full(len(Sigma), variances.mean())


def _factored(Sigma: ndarray, V: ndarray) -> tuple[ndarray, float, float]:
    """v'Sigma^-1 v (K,) of V (K, p), log|Sigma| and 1, or 0 where Sigma (p, p) is singular."""
    variances = np.diagonal(Sigma)
    scale = np.sqrt(np.where(variances > 0, variances, 1.0))
    C = Sigma / scale
    C /= scale[:, None]
    root, failed = dpotrf(C.T, overwrite_a=True, clean=False)  # symmetric, and in LAPACK's order
    pivots = np.diagonal(root)
    if failed or not (variances > 0).all() or pivots.min(initial=1.0) ** 2 <= ROUNDED_TOLERANCE:
        return np.full(len(V), np.nan), np.nan, 0.0
    Z = dtrtrs(root, (V / scale).T, trans=1)[0]
    return np.einsum("jk,jk->k", Z, Z), 2 * float(np.log(pivots).sum() + np.log(scale).sum()), 1.0
