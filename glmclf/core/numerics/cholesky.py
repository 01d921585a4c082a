"""Cholesky factors of symmetric matrices, whatever the units of their rows."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

# what surrounds these costs more than a small matrix
from scipy.linalg.lapack import dpocon, dpotrf, dpotri, dpotrs, dtrtri

CLEAR_RCOND_RATIO = 100.0  # ratio to the least reciprocal condition above which an estimate of it is enough


def scale_of(diagonal: ndarray) -> ndarray:
    """Powers of two, which cost no digit, that scale a diagonal to about one.

    Raises
    ------
    numpy.linalg.LinAlgError
        An entry is zero, negative or not finite.
    """
    if not (np.isfinite(diagonal).all() and (diagonal > 0).all()):
        raise np.linalg.LinAlgError("a diagonal entry is zero or not finite")
    return np.exp2(-np.rint(0.5 * np.log2(diagonal)))


class CholeskyFactor:
    """Cholesky factor of a positive definite matrix A after scaling its diagonal to one, so that units don't matter.

    Raises
    ------
    numpy.linalg.LinAlgError
        A is not positive definite to rounding.
    """

    def __init__(self, A: ndarray):
        if not np.isfinite(A).all():
            raise np.linalg.LinAlgError("an entry is not finite")
        self.scale = scale_of(A.diagonal())
        self.scaled = A * self.scale * self.scale[:, None]
        self.L, failed = dpotrf(self.scaled, lower=True)
        if failed:
            raise np.linalg.LinAlgError("the matrix is not positive definite")

    def solve(self, b: ndarray) -> ndarray:
        """Solution A^-1 b of a linear system, of one or several right sides."""
        return (self.scale * dpotrs(self.L, (self.scale * b.T).T, lower=True)[0].T).T if len(b) else b

    def whitened(self, b: ndarray) -> ndarray:
        """U b with U' U = A."""
        return (self.L.T / self.scale) @ b

    @property
    def root(self) -> ndarray:
        """Root T with A^-1 = T T', so that T' M T loses nothing to A^-1 M A^-1.

        By dtrtri: dtrtrs wakes a second BLAS thread for the smallest matrix, which then turns for some 80 ms.
        """
        return self.scale[:, None] * dtrtri(self.L, lower=True)[0].T if len(self.L) else self.L

    @property
    def inverse(self) -> ndarray:
        """Inverse A^-1, with less memory than by the root."""
        V = dpotri(self.L, lower=True)[0]
        V *= self.scale
        V *= self.scale[:, None]
        V = np.tril(V)
        V += np.tril(V, -1).T
        return V

    @property
    def least_pivot2(self) -> float:
        """Least square of a pivot of the scaled matrix: the share of a column's square that those before it leave."""
        return float(np.diag(self.L).min()) ** 2

    @property
    def logdet(self) -> float:
        """Logarithm of the determinant of A."""
        return 2.0 * float(np.log(np.diag(self.L)).sum() - np.log(self.scale).sum())

    @property
    def rcond(self) -> float:
        """Smallest over largest eigenvalue of the scaled matrix."""
        values = np.linalg.eigvalsh(self.scaled)
        return float(values[0] / values[-1])

    def exceeds(self, least: float) -> bool:
        """Whether `rcond` is above `least`.

        The condition in the 1-norm, which is no less than in the spectral, is estimated from the factor at next to no
        cost (Higham 1988, ACM Transactions on Mathematical Software 14, 381-396), up to a factor far below
        `CLEAR_RCOND_RATIO`.
        """
        rcond, _ = dpocon(self.L, np.abs(self.scaled).sum(axis=0).max(), uplo="L")
        return rcond > CLEAR_RCOND_RATIO * least or self.rcond > least
