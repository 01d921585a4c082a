"""Covariance matrices of an estimate: a registry from the name of a `cov_type` to a function of a context."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy import ndarray
from scipy import sparse

from glmclf.core.blocks import Blocks
from glmclf.core.objective import Evaluation, Factor, Objective

LATER = ("HC2", "HC3", "HAC", "bootstrap", "jackknife")


@dataclass(frozen=True)
class Covariance:
    """Covariance matrix of the parameters and what it assumes.

    Attributes
    ----------
    name : str
        The `cov_type`.
    matrix : (p, p) ndarray
    description : str
        One sentence for the summary.
    clusters : tuple of int
        Number of clusters of each grouping; empty unless clustered.
    """

    name: str
    matrix: ndarray
    description: str
    clusters: tuple[int, ...] = ()


@dataclass(frozen=True)
class Context:
    """What a covariance type may use.

    Attributes
    ----------
    objective : Objective
    theta : (p,) ndarray
        The estimate, in the objective's coordinates.
    evaluation : Evaluation
        Value, score and observed information there.
    nobs : float
        Rows, or the sum of the frequency weights.
    frequency : bool
        Whether weights are frequencies (a row stands for that many) or sampling weights (its score is multiplied).
    """

    objective: Objective
    theta: ndarray
    evaluation: Evaluation
    nobs: float
    frequency: bool

    @cached_property
    def root(self) -> ndarray:
        """T with T T' the inverse observed information, the bread."""
        return self.evaluation.factor.root

    def sandwich(self, meat: ndarray) -> ndarray:
        """A^-1 meat A^-1, of scores in the objective's unit: weights of 1e-170 must not underflow when squared."""
        root = self.objective.unit**0.5 * self.root
        half = root.T @ meat @ root
        return root @ half @ root.T

    def sum_of_outer_scores(self) -> ndarray:
        """sum_i s_i s_i' over observations."""

        def rows(X, y, m, offset, weights):
            u = self.objective.score_factor(self.theta, X, y, m, offset)
            times = 1.0
            if weights is not None:
                times = weights if self.frequency else (weights / self.objective.unit) ** 2
            if u.ndim == 1:
                return X.gram(times * u * u)
            S = _scores(X, u)
            return (S.T * times) @ S

        return self.objective.blocks.sum(rows)

    def sum_of_outer_cluster_scores(self, codes: ndarray, n_clusters: int) -> ndarray:
        """sum_g (sum_{i in g} s_i) (sum_{i in g} s_i)'; `codes` (n,) numbers the clusters from 0."""

        def rows(X, y, m, offset, weights, codes):
            u = self.objective.score_factor(self.theta, X, y, m, offset)
            times = np.ones(len(codes)) if weights is None else weights / self.objective.unit
            members = sparse.csr_array((times, (codes, np.arange(len(codes)))), shape=(n_clusters, len(codes)))
            return members @ _scores(X, u)

        blocks = self.objective.blocks
        S = Blocks(*blocks.arrays, codes, n_threads=blocks.n_threads).sum(rows)
        return S.T @ S

    def small_sample(self) -> float:
        """n / (n - p)."""
        n, p = self.nobs, len(self.theta)
        if n <= p:
            raise ValueError(f"the factor n/(n-p) needs more observations than parameters; here n = {n:g}, p = {p}")
        return n / (n - p)


def _scores(X, u: ndarray) -> ndarray:
    """Score of each row, (n, p), equation by equation."""
    A = X.toarray()
    return A * u[:, None] if u.ndim == 1 else np.hstack([A * column[:, None] for column in u.T])


_TYPES: dict[str, tuple[Callable, str]] = {}


def register(name: str, description: str) -> Callable:
    """Enter a function ``f(context, **keywords) -> (p, p) ndarray or Covariance`` under `name`."""

    def enter(f: Callable) -> Callable:
        _TYPES[name] = (f, description)
        return f

    return enter


def check(name: str) -> None:
    """Raise unless `name` is a covariance type of this version."""
    if name in LATER:
        raise NotImplementedError(f'cov_type="{name}" is not available in this version; there are {", ".join(_TYPES)}')
    if name not in _TYPES:
        raise ValueError(f"cov_type={name!r} is unknown; choose one of {', '.join(_TYPES)}")


def covariance(name: str, context: Context, **keywords) -> Covariance:
    """Covariance of the estimate of type `name`.

    Parameters
    ----------
    name : {"nonrobust", "expected", "HC0", "HC1", "cluster"}
    context : Context
    **keywords
        `groups` of "cluster": a list of one or two (n,) integer arrays that number the clusters from 0.

    Raises
    ------
    ValueError
        Unknown type, or too few observations or clusters.
    NotImplementedError
        A type that this version does not have.
    TypeError
        A keyword that the type does not take.
    """
    check(name)
    f, description = _TYPES[name]
    if name != "cluster" and keywords:
        raise TypeError(f'cov_type="{name}" takes no keyword {", ".join(map(repr, keywords))}')
    result = f(context, **keywords)
    return result if isinstance(result, Covariance) else Covariance(name, result, description)


@register("nonrobust", "Standard errors are from the inverse observed information (the model is assumed to be right).")
def _nonrobust(ctx: Context) -> ndarray:
    """V = I^-1, I the observed information."""
    return ctx.root @ ctx.root.T


@register("expected", "Standard errors are from the inverse expected information (the model is assumed to be right).")
def _expected(ctx: Context) -> ndarray:
    """V = (E I)^-1, as Fisher scoring and R's glm report."""
    if ctx.objective.canonical:
        return _nonrobust(ctx)
    T = Factor(ctx.objective(ctx.theta, True).information).root
    return T @ T.T


@register("HC0", "Standard errors are robust to heteroscedasticity (HC0: Huber-White sandwich, no factor).")
def _hc0(ctx: Context) -> ndarray:
    """Huber-White sandwich, V = A^-1 (sum_i s_i s_i') A^-1 (White 1982)."""
    return ctx.sandwich(ctx.sum_of_outer_scores())


@register("HC1", "Standard errors are robust to heteroscedasticity (HC1: Huber-White sandwich times n/(n-p)).")
def _hc1(ctx: Context) -> ndarray:
    """n/(n-p) times HC0."""
    return ctx.small_sample() * _hc0(ctx)


@register("cluster", "Standard errors are robust to correlation within clusters (factor G/(G-1) (n-1)/(n-p)).")
def _cluster(ctx: Context, groups: list[ndarray]) -> Covariance:
    """Sandwich of cluster sums; two groupings: V_a + V_b - V_ab, each with its own factor (Cameron, Gelbach & Miller
    2011)."""
    counts = tuple(int(g.max()) + 1 for g in groups)
    V = np.sum([_one_way(ctx, g, G) for g, G in zip(groups, counts, strict=True)], axis=0)
    if len(groups) == 2:
        _, crossed = np.unique(groups[0].astype(np.int64) * counts[1] + groups[1], return_inverse=True)
        V = V - _one_way(ctx, crossed, int(crossed.max()) + 1)
    return Covariance("cluster", V, _TYPES["cluster"][1], counts)


def _one_way(ctx: Context, codes: ndarray, n_clusters: int) -> ndarray:
    if n_clusters < 2:
        raise ValueError("cluster-robust standard errors need at least two clusters; the groups have one")
    ctx.small_sample()
    factor = n_clusters / (n_clusters - 1) * (ctx.nobs - 1) / (ctx.nobs - len(ctx.theta))
    return factor * ctx.sandwich(ctx.sum_of_outer_cluster_scores(codes, n_clusters))
