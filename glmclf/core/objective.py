"""Objective: log-likelihood, score and information at theta, summed over blocks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy import ndarray
from scipy.linalg import cho_solve, cholesky, eigh, solve_triangular

from glmclf.core.blocks import Blocks


@dataclass(frozen=True)
class Evaluation:
    """Log-likelihood, score (p,) and information (p, p) at a theta; + adds two sets of rows."""

    value: float
    score: ndarray
    information: ndarray

    def __add__(self, other: Evaluation) -> Evaluation:
        return Evaluation(
            self.value + other.value, self.score + other.score, self.information + other.information
        )

    @cached_property
    def factor(self) -> Factor:
        """The information, factorised."""
        return Factor(self.information)


class Factor:
    """Cholesky factor of a positive definite matrix A after scaling its diagonal to one, so that units don't matter.

    Raises
    ------
    numpy.linalg.LinAlgError
        A is not positive definite to rounding.
    """

    def __init__(self, A: ndarray):
        diagonal = np.diag(A)
        if not (np.isfinite(A).all() and (diagonal > 0).all()):
            raise np.linalg.LinAlgError("a diagonal entry is zero or not finite")
        # a power of two: scaling costs no digit
        self.scale = np.exp2(-np.round(0.5 * np.log2(diagonal)))
        self.scaled = A * self.scale * self.scale[:, None]
        self.L = cholesky(self.scaled, lower=True, check_finite=False)

    def solve(self, b: ndarray) -> ndarray:
        """A^-1 b."""
        return self.scale * cho_solve((self.L, True), self.scale * b, check_finite=False)

    @property
    def root(self) -> ndarray:
        """T with A^-1 = T T', so that T' M T loses nothing to A^-1 M A^-1."""
        T = solve_triangular(self.L, np.eye(len(self.L)), lower=True, trans="T", check_finite=False)
        return self.scale[:, None] * T

    @property
    def rcond(self) -> float:
        """Smallest over largest eigenvalue of the scaled matrix."""
        values = eigh(self.scaled, eigvals_only=True, check_finite=False)
        return float(values[0] / values[-1])


class Objective:
    """The log-likelihood of a model as a function of its flat parameters.

    Parameters
    ----------
    likelihood : Binomial
        Pointwise log-likelihood, score factor and weight.
    blocks : Blocks
        Of ``(X, y, trials, offset, weights)``; the last three may be None.
    unit : float
        What one observation weighs: the log-likelihood over this is on the scale on which convergence is judged.
    """

    def __init__(self, likelihood, blocks: Blocks, unit: float = 1.0):
        self.likelihood, self.blocks, self.unit = likelihood, blocks, unit
        self.canonical = likelihood.canonical

    def __call__(self, theta: ndarray, expected: bool = True) -> Evaluation:
        """Value, score and information (expected or observed) at theta."""

        def rows(X, y, m, offset, weights):
            ll, u, w = self._pointwise(theta, X, y, m, offset, weights, expected)
            return Evaluation(float(ll.sum()), *X.times_and_gram(u, w))

        return self.blocks.sum(rows)

    def gradient(self, theta: ndarray) -> Evaluation:
        """Value and score alone; the information is 0."""

        def rows(X, y, m, offset, weights):
            ll, u, _ = self._pointwise(theta, X, y, m, offset, weights, True)
            return Evaluation(float(ll.sum()), X.times(u), np.zeros(()))

        return self.blocks.sum(rows)

    def score_factor(self, theta: ndarray, X, y, m, offset) -> ndarray:
        """Derivative of each row's log-likelihood in its linear predictors, without its weight."""
        return self._pointwise(theta, X, y, m, offset, None, True)[1]

    @property
    def n(self) -> int:
        """Rows."""
        return self.blocks.n

    def thinned(self, step: int) -> Objective:
        """The objective of every `step`-th row."""
        return type(self)(self.likelihood, self.blocks.thinned(step), self.unit)

    def rotated(self, basis: ndarray, exact: bool | None = None) -> Objective:
        """The objective in the coordinates ``basis @ theta``, its rows in twofold arithmetic if `exact`."""
        X, *rest = self.blocks.arrays
        blocks = Blocks(X.rotated(basis, exact), *rest, size=self.blocks.size, n_threads=self.blocks.n_threads)
        return type(self)(self.likelihood, blocks, self.unit)

    def _pointwise(self, theta, X, y, m, offset, weights, expected):
        eta = X @ theta
        if offset is not None:
            eta += offset
        ll, u, w = self.likelihood.pointwise(y, m, eta, expected)
        if weights is None:
            return ll, u, w
        return weights * ll, weights * u, weights * w


class MultinomialObjective(Objective):
    """The log-likelihood of several equations, theta equation by equation (``params.ravel(order="F")``).

    Parameters
    ----------
    likelihood : Multinomial
        q = K - 1 linear predictors a row.
    blocks : Blocks
        Of ``(X, y, trials, offset, weights)``; y holds classes (n,) or counts (n, K), the offset is (n,) or (n, q).
    unit : float
        As in `Objective`.
    """

    def __call__(self, theta: ndarray, expected: bool = True) -> Evaluation:
        """Value, score (k q,) and information (k q, k q) at theta.

        Block (j, l) of the information is X' diag(m p_j (1{j = l} - p_l)) X. Off the diagonal it is minus the gram of
        the columns X p_j; on it 1 - p_j is not formed by subtraction.
        """

        def rows(X, y, m, offset, weights):
            ll, u, p, q, scale = self._terms(theta, X, y, m, offset, weights)
            k, n_eta = X.shape[1], p.shape[1]
            root = p if scale is None else p * np.sqrt(scale)[:, None]
            information = -X.stacked_gram(root)
            for j in range(n_eta):
                block = slice(j * k, (j + 1) * k)
                w = p[:, j] * q[:, j]
                information[block, block] = X.gram(w if scale is None else scale * w)
            return Evaluation(float(ll.sum()), X.times(u).ravel(order="F"), information)

        return self.blocks.sum(rows)

    def gradient(self, theta: ndarray) -> Evaluation:
        """Value and score alone; the information is 0."""

        def rows(X, y, m, offset, weights):
            ll, u, *_ = self._terms(theta, X, y, m, offset, weights)
            return Evaluation(float(ll.sum()), X.times(u).ravel(order="F"), np.zeros(()))

        return self.blocks.sum(rows)

    def score_factor(self, theta: ndarray, X, y, m, offset) -> ndarray:
        """Derivatives of each row's log-likelihood in its linear predictors, (n, q), without its weight."""
        return self._terms(theta, X, y, m, offset, None)[1]

    def _terms(self, theta, X, y, m, offset, weights):
        eta = X @ theta.reshape(X.shape[1], -1, order="F")
        if offset is not None:
            eta += offset if offset.ndim == 2 else offset[:, None]
        ll, u, p, q = self.likelihood.pointwise(y, m, eta)
        if weights is None:
            return ll, u, p, q, m
        return weights * ll, weights[:, None] * u, p, q, weights if m is None else weights * m
