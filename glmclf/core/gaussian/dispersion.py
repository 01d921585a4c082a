"""Dispersion: a covariance matrix by its triangular factor, full, diagonal or spherical."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy import ndarray
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from glmclf.caching import cached_property
from glmclf.core.numerics.triangular import qr_factor

MIN_TOLERANCE_TO_INVERT = 1e-4  # tolerance of each feature above which products with R^-1 lose two digits at most


def stored_fields(record: Any) -> dict[str, Any]:
    """State of a dataclass to pickle: its fields, without the matrices that were computed from them."""
    return {f.name: getattr(record, f.name) for f in fields(record)}


class OfClasses:
    """Base class of what has `counts` (K,) and `means` (K, p) of classes."""

    counts: ndarray
    means: ndarray

    @property
    def K(self) -> int:
        """Number of classes."""
        return self.means.shape[0]

    @property
    def p(self) -> int:
        """Number of features."""
        return self.means.shape[1]

    @property
    def n(self) -> float:
        """Number of rows, or the sum of their weights."""
        return float(self.counts.sum())


@dataclass(frozen=True)
class Dispersion:
    """A positive definite covariance matrix Sigma = R'R of p features and how well it is known.

    Attributes
    ----------
    kind : {"full", "diag", "spherical"}
    root : ndarray
        R (p, p), upper triangular with a positive diagonal, where full; else standard deviations (p,), all of them
        equal where spherical.
    n : float
        Sample size behind it: cov(s_ab, s_cd) = (s_ac s_bd + s_ad s_bc) / n.

    Examples
    --------
    >>> import numpy as np
    >>> d = Dispersion("diag", np.array([1.0, 2.0]), 10.0)
    >>> d.matrix.tolist(), round(d.logdet, 6), d.whiten(np.array([[3.0, 4.0]])).tolist()
    ([[1.0, 0.0], [0.0, 4.0]], 1.386294, [[3.0, 2.0]])
    """

    kind: str
    root: ndarray
    n: float

    def __getstate__(self) -> dict[str, Any]:
        return stored_fields(self)

    @property
    def p(self) -> int:
        """Number of features."""
        return self.root.shape[-1]

    @property
    def full(self) -> bool:
        """Whether the features may be correlated."""
        return self.kind == "full"

    @cached_property
    def logdet(self) -> float:
        """Log determinant log |Sigma|."""
        return 2.0 * float(np.log(np.diag(self.root) if self.full else self.root).sum())

    @cached_property
    def matrix(self) -> ndarray:
        """The covariance matrix Sigma, (p, p)."""
        return self.root.T @ self.root if self.full else np.diag(self.root**2)

    @cached_property
    def inverse(self) -> ndarray:
        """Inverse covariance matrix Sigma^-1, (p, p)."""
        if not self.full:
            return np.diag(self.root**-2.0)
        half = self._half_inverse
        return half @ half.T

    @cached_property
    def _half_inverse(self) -> ndarray:
        """Inverse of the root, R^-1, (p, p)."""
        return _solve(self.root, np.eye(self.p), "N")

    @cached_property
    def variances(self) -> ndarray:
        """Diagonal of Sigma, (p,)."""
        return (self.root**2).sum(axis=0) if self.full else self.root**2

    @cached_property
    def tolerance(self) -> ndarray:
        """Share of each feature's variance that the others leave, 1 / (s_jj (Sigma^-1)_jj), (p,), in (0, 1]."""
        if not self.full:
            return np.ones(self.p)
        return 1.0 / (self.variances * (self._half_inverse**2).sum(axis=1))

    @cached_property
    def _tame(self) -> bool:
        """Whether R^-1 may be multiplied by: five times faster than solving, at the cost of a digit or two at most."""
        return bool((self.tolerance > MIN_TOLERANCE_TO_INVERT).all())

    def whiten(self, D: ndarray) -> ndarray:
        """Rows z = R^-T d of D (n, p), so that |z|^2 = d' Sigma^-1 d."""
        if not self.full:
            return D / self.root
        return D @ self._half_inverse if self._tame else _solve(self.root, D.T, "T").T

    def whiten_columns(self, D: ndarray) -> ndarray:
        """`whiten` of the columns of D (p, n), for many of them."""
        if not self.full:
            return D / self.root[:, None]
        return self._half_inverse.T @ D if self._tame else _solve(self.root, D, "T")

    def solve(self, D: ndarray) -> ndarray:
        """Rows Sigma^-1 d of D (n, p)."""
        if not self.full:
            return D / self.root**2
        Z = self.whiten(D)
        return Z @ self._half_inverse.T if self._tame else _solve(self.root, Z.T, "N").T

    def marginal(self, observed: ndarray) -> Dispersion:
        """Dispersion of the features where `observed` (p,) is true."""
        if not self.full:
            root = self.root[observed]
            # all p features tell of the one variance, whichever are observed
            n = self.n * self.p / len(root) if self.kind == "spherical" and len(root) else self.n
            return Dispersion(self.kind, root, n)
        # the factor of a part from the factor of the whole, without squaring
        return Dispersion(self.kind, stacked_root(self.root[:, observed]), self.n)


def _solve(R: ndarray, B: ndarray, trans: str) -> ndarray:
    return solve_triangular(R, B, trans=trans, check_finite=False) if B.size else B


def stacked_root(*rows: ndarray) -> ndarray:
    """Upper triangular R with R'R the gram of all rows (n_i, p); at most p rows, positive diagonal."""
    return upright(qr_factor(*rows))


def upright(R: ndarray) -> ndarray:
    """An upper triangular factor with the signs that make its diagonal positive."""
    return np.triu(R) * np.where(np.diag(R) < 0, -1.0, 1.0)[: len(R), None]


def triangular_root(S: ndarray) -> ndarray | None:
    """Upper triangular R with R'R = S (p, p), factored with units of the features removed; None if there is none."""
    scale = np.sqrt(np.diag(S))
    if not (scale > 0).all():
        return None
    try:
        return cholesky(S / scale / scale[:, None], lower=False) * scale
    except (LinAlgError, ValueError):
        return None
