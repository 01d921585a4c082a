"""Objective: log-likelihood, score and information at theta, summed over blocks."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.core.design.arrow import of_levels
from glmclf.core.design.columns import some_columns
from glmclf.core.design.product import is_small, rotated
from glmclf.core.numerics.arrow import ArrowFactor, ArrowMatrix, of_equations
from glmclf.core.numerics.cholesky import CholeskyFactor
from glmclf.core.rows.blocks import Blocks
from glmclf.core.rows.summed import Summed, SumsSideBySide

MAX_HELD_ENTRIES = 2**23  # entries of an information of several equations that each block holds once more
MIN_GRAM_ROWS = 4096  # rows of a block for which adding up grams of many columns is worth while
SAME_PROBABILITY_SHARE = 1e-15  # relative difference of probabilities that are the same but for rounding


@dataclass(frozen=True)
class Evaluation(Summed):
    """Log-likelihood, score (p,) and information (p, p), an array or an `ArrowMatrix`, at a theta; a sum over rows."""

    value: float
    score: ndarray
    information: Any

    dear = False  # whether the information is not to be formed before somebody needs it

    @cached_property
    def factor(self) -> Any:
        """Cholesky factor of the information."""
        return factor_of(self.information)

    def well_conditioned(self, least: float) -> bool:
        """Whether the reciprocal condition of the scaled information is above `least`, so that Cholesky will do."""
        try:
            return self.factor.exceeds(least)
        except np.linalg.LinAlgError:
            return False


class DeferredEvaluation(Evaluation):
    """An evaluation whose information is formed when it is first asked for.

    Parameters
    ----------
    value, score
        As of an `Evaluation`.
    form : callable
        Without arguments; gives the information.
    dear : bool
    """

    def __init__(self, value: float, score: ndarray, form: Callable[[], ndarray], dear: bool = True):
        self.__dict__.update(value=value, score=score, form=form, dear=dear)

    @classmethod
    def at(cls, objective: Any, theta: ndarray) -> DeferredEvaluation:
        """Evaluation of an objective by its gradient alone, until its (observed) information is asked for."""
        e = objective.gradient(theta)
        return cls(e.value, e.score, lambda: objective(theta, False).information, dear=False)

    @cached_property
    def information(self) -> ndarray:
        """The information (p, p)."""
        found = self.__dict__["form"]()
        del self.__dict__["form"]  # and the data with it
        return found


def factor_of(information: Any) -> CholeskyFactor | ArrowFactor:
    """Factor of an information, an array or an arrow matrix; LinAlgError where it is not positive definite."""
    return information.factor() if isinstance(information, ArrowMatrix) else CholeskyFactor(information)


class Largest(float):
    """A number whose sum over blocks is the largest of them."""

    def __add__(self, other: float) -> Largest:
        return Largest(max(self, other))


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

    def farthest(self, d: ndarray) -> float:
        """The largest change of a linear predictor in a step d."""
        return self.blocks.sum(lambda X, *_: Largest(np.abs(X @ d.reshape(X.shape[1], -1, order="F")).max(initial=0.0)))

    def score_factor(self, theta: ndarray, X, y, m, offset) -> ndarray:
        """Derivative of each row's log-likelihood in its linear predictors, without its weight."""
        return self._pointwise(theta, X, y, m, offset, None, True)[1]

    def information(self, theta: ndarray, columns: ndarray | None = None) -> ndarray:
        """The observed information alone, of all columns or some."""

        def rows(X, y, m, offset, weights):
            w = self._pointwise(theta, X, y, m, offset, weights, False)[2]
            return (X if columns is None else some_columns(X, columns)).gram(w)

        return self.blocks.sum(rows)

    def mean_information(self, theta: ndarray, diagonal: bool = False) -> tuple[ndarray, ndarray]:
        """Factors W (1, 1) and G (k, k) with W (x) G the expected information if every row had the mean weight of all;
        of G its diagonal alone, if asked."""

        def rows(X, y, m, offset, weights):
            w = self._pointwise(theta, X, y, m, offset, weights, True)[2]
            scale = np.ones(X.shape[0]) if m is None else m
            scale = scale if weights is None else weights * scale
            return Evaluation(float(scale.sum()), w.sum(), X.squares(scale) if diagonal else X.gram(scale))

        sums = self.blocks.sum(rows)
        return np.array([[sums.score / sums.value]]), sums.information

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.blocks.n

    @property
    def cost(self) -> float:
        """Cost of a pass with the information in passes for the gradient, as measured: less of links that are slow."""
        return (1.5 if self.canonical else 1.2) + self.blocks.arrays[0].shape[1] / 25.0

    def every(self, step: int) -> Objective:
        """The objective of every `step`-th row."""
        return type(self)(self.likelihood, self.blocks.every(step), self.unit)

    def rotated(self, basis: Any, exact: bool | None = None) -> Objective:
        """The objective in the coordinates ``basis @ theta``, its rows in twofold arithmetic if `exact`."""
        exact = is_small(self.n, len(basis)) if exact is None else exact  # no part is to take itself for the whole
        blocks = self.blocks.map(lambda X, *rest: (rotated(X, basis, exact), *rest))
        blocks = blocks.rechunk(min(blocks.size, blocks.arrays[0].block_size))  # rows may be expanded now
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

        The information is the sum over pairs of classes j, l of X' diag(m p_j p_l) X (e_j - e_l)(e_j - e_l)', so that
        nothing is formed as a difference: its blocks off the diagonal are minus the pairs', on it their sums.
        """
        if of_levels(self.blocks) is not None:
            return self._of_levels(theta)
        if (self.blocks.arrays[0].shape[1] * self.likelihood.K) ** 2 > MAX_HELD_ENTRIES:
            return replace(self.gradient(theta), information=self.information(theta))

        def rows(X, y, m, offset, weights):
            ll, u, p, scale = self._terms(theta, X, y, m, offset, weights)
            return Evaluation(float(ll.sum()), X.times(u.T).ravel(order="F"), _pairs(X, p, scale))

        e = self.blocks.sum(rows)
        return replace(e, information=_of_pairs(e.information, self.likelihood.K))

    def _of_levels(self, theta: ndarray) -> Evaluation:
        """Value, score and information where a factor has many levels."""
        K = self.likelihood.K
        pairs = [(j, i) for j in range(1, K) for i in range(j)]

        def rows(X, y, m, offset, weights):
            ll, u, p, scale = self._terms(theta, X, y, m, offset, weights)
            scale = 1.0 if scale is None else scale
            grams = SumsSideBySide(X.gram(scale * p[j] * p[i]) for j, i in pairs)
            return Evaluation(float(ll.sum()), X.times(u.T).ravel(order="F"), grams)

        e = self.blocks.sum(rows)
        found = dict(zip(pairs, e.information, strict=True))
        blocks = {(i - 1, j - 1): -1.0 * found[j, i] for j, i in pairs if i}
        for j in range(1, K):
            own = (found[max(i, j), min(i, j)] for i in range(K) if i != j)
            blocks[j - 1, j - 1] = functools.reduce(operator.add, own)
        return replace(e, information=of_equations(blocks, K - 1))

    def gradient(self, theta: ndarray) -> Evaluation:
        """Value and score alone; the information is 0."""

        def rows(X, y, m, offset, weights):
            ll, u, *_ = self._terms(theta, X, y, m, offset, weights)
            return Evaluation(float(ll.sum()), X.times(u.T).ravel(order="F"), np.zeros(()))

        return self.blocks.sum(rows)

    def information(self, theta: ndarray, columns: ndarray | None = None) -> Any:
        """The information alone, of all columns or some, with little more memory than it takes itself.

        A few pairs of classes at a time: the probabilities, formed again for each few, are quick beside their grams.
        """
        X, K = self.blocks.arrays[0], self.likelihood.K
        if columns is None and of_levels(self.blocks) is not None:
            return self._of_levels(theta).information
        columns = np.arange(X.shape[1]) if columns is None else columns
        k = len(columns)
        pairs, few = [(j, i) for j in range(1, K) for i in range(j)], max(1, MAX_HELD_ENTRIES // (8 * k * k))
        out = np.zeros((K - 1, k, K - 1, k))
        blocks = self.blocks.rechunk(max(self.blocks.size, MIN_GRAM_ROWS))
        for start in range(0, len(pairs), few):
            some = pairs[start : start + few]

            def rows(X, y, m, offset, weights, some=some):
                *_, p, scale = self._terms(theta, X, y, m, offset, weights)
                X = X if k == X.shape[1] else some_columns(X, columns)
                scale = 1.0 if scale is None else scale
                return np.stack([np.asarray(X.gram(scale * p[j] * p[i])) for j, i in some])

            for (j, i), G in zip(some, blocks.sum(rows), strict=True):
                out[j - 1, :, j - 1] += G
                if i:
                    out[i - 1, :, i - 1] += G
                    out[j - 1, :, i - 1] -= G
                    out[i - 1, :, j - 1] -= G
        return out.reshape((K - 1) * k, -1)

    @property
    def cost(self) -> float:
        """Cost of a pass with the information in passes for the gradient, as measured."""
        k, K = self.blocks.arrays[0].shape[1], self.likelihood.K
        return 1.0 + K * k * k / (200.0 + 6.0 * k)

    def mean_information(self, theta: ndarray, diagonal: bool = False) -> tuple[ndarray, ndarray]:
        """Factors W (q, q) and G (k, k) with W (x) G the information if every row had the mean probabilities of all; of
        G its diagonal alone, if asked."""

        def rows(X, y, m, offset, weights):
            *_, p, scale = self._terms(theta, X, y, m, offset, weights)
            scale = np.ones(X.shape[0]) if scale is None else scale
            return Evaluation(0.0, p @ scale, X.squares(scale) if diagonal else X.gram(scale))

        sums = self.blocks.sum(rows)
        p = sums.score / sums.score.sum()
        return _of_pairs(np.outer(p, p), len(p)), sums.information

    def score_factor(self, theta: ndarray, X, y, m, offset) -> ndarray:
        """Derivatives of each row's log-likelihood in its linear predictors, (n, q), without its weight."""
        return self._terms(theta, X, y, m, offset, None)[1].T

    def _terms(self, theta, X, y, m, offset, weights):
        """Log-likelihood (n,), score factor (q, n), probabilities of all classes (K, n), and trials times weights."""
        ll, u, p = self.likelihood.by_class(y, m, self._predictors(theta, X, offset))
        u = u[1:]
        if weights is None:
            return ll, u, p, m
        return weights * ll, weights * u, p, weights if m is None else weights * m

    def _predictors(self, theta, X, offset) -> ndarray:
        """Linear predictors of all classes, (K, n)."""
        eta = (X @ theta.reshape(X.shape[1], -1, order="F")).T
        z = np.zeros((len(eta) + 1, eta.shape[1]))
        z[1:] = eta if offset is None else eta + offset.T
        return z


def _pairs(X, p: ndarray, scale: ndarray | None) -> ndarray:
    """Blocks X' diag(scale p_j p_l) X of pairs of the K classes, (K k, K k)."""
    if (np.abs(p - p[:, :1]) <= SAME_PROBABILITY_SHARE * p[:, :1]).all():  # as without regressors
        ones = np.ones(X.shape[0]) if scale is None else scale
        return np.kron(np.outer(p[:, 0], p[:, 0]), X.gram(ones))
    return X.stacked_gram((p if scale is None else p * np.sqrt(scale)).T)


def _of_pairs(G: ndarray, K: int) -> ndarray:
    """The information (q k, q k) of the classes but the first from the blocks of pairs."""
    k = len(G) // K
    information = -G[k:, k:]
    for j in range(1, K):
        total = np.sum([G[j * k : (j + 1) * k, i * k : (i + 1) * k] for i in range(K) if i != j], axis=0)
        block = slice((j - 1) * k, j * k)
        information[block, block] = 0.5 * (total + total.T)
    return information
