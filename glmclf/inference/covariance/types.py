"""Covariance matrices of an estimate: the list of what `cov_type` names, and what these are computed from."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy import ndarray
from scipy import sparse

from glmclf import registry
from glmclf.caching import cached_property
from glmclf.checks import check_choice, is_whole
from glmclf.core.design.arrow import GroupSums, of_levels
from glmclf.core.design.columns import expandable, rows_at_once
from glmclf.core.fit.restricted import Restricted
from glmclf.core.likelihood.objective import Evaluation, Objective
from glmclf.core.numerics.arrow import (
    ArrowFactor,
    ArrowMatrix,
    OuterProducts,
    SymmetricMatrix,
    matrix_of,
    record_of,
)
from glmclf.core.rows.blocks import Blocks
from glmclf.inference.covariance.leverage import LeverageRule, Leverages, outer_gram, whole_gram

SMALLEST_CLUSTER_SHARE = 1e-18  # of the information, up to which squares of sums are what solvers and rounding leave
MAX_EXPANDED_SCORES = 2**27  # entries of the scores of rows that an X of fewer stands for


@dataclass(frozen=True)
class Covariance:
    """Covariance matrix of the parameters and what it assumes.

    Attributes
    ----------
    name : str
        The `cov_type`.
    matrix : (p, p) ndarray or BlocksPlusLowRank
        The second where a factor has many levels; it stands for such an array.
    description : str
        One sentence for the summary.
    clusters : tuple of int
        Number of clusters of each grouping; empty unless clustered.
    options : dict
        What else the type was told or found, in what JSON knows: lags; replications, seed and how many were left out.
    silent : int
        Coefficients of which the scores of every cluster add up to 0, as of an intercept that a cluster has for itself:
        of their own spread clusters tell nothing.
    """

    name: str
    matrix: Any
    description: str
    clusters: tuple[int, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    silent: int = 0

    def rank(self, centred: bool) -> float:
        """Upper bound of the rank of the covariance matrix, by the number of clusters or replications; sums over
        clusters
        that are `centred`, that is add up to 0, have one less."""
        if self.name == "bootstrap":
            return self.options.get("used", np.inf) - 1
        return self.clusters[0] - centred if len(self.clusters) == 1 else np.inf

    def to_dict(self, groups: list[str]) -> dict[str, Any]:
        """Record of the covariance for a file, with the names of its groupings."""
        names = ("name", "matrix", "description", "clusters", "options")
        return {**{name: getattr(self, name) for name in names}, "matrix": record_of(self.matrix), "groups": groups}

    @classmethod
    def of(cls, stored: dict[str, Any]) -> tuple[Covariance, list[str]]:
        """Read a covariance and the names of its groupings from what a file holds."""
        V = matrix_of(stored["matrix"])
        V = V if V.ndim == 2 else np.zeros((0, 0))
        clusters, options = tuple(stored["clusters"]), stored.get("options", {})
        return cls(stored["name"], V, stored["description"], clusters, options), stored["groups"]


class DeferredCovariance(Covariance):
    """Covariance whose matrix is formed when it is first asked for.

    Parameters
    ----------
    name, description
        As of a `Covariance`.
    form : callable
        Without arguments; gives the matrix.
    """

    def __init__(self, name: str, description: str, form: Callable[[], ndarray]):
        self.__dict__.update(name=name, description=description, clusters=(), options={}, form=form)

    @cached_property
    def matrix(self) -> ndarray:
        """Covariance matrix, (p, p)."""
        return self.__dict__["form"]()


@dataclass(frozen=True)
class CovarianceType:
    """A covariance that `cov_type` names, an entry of `COVARIANCES`.

    Attributes
    ----------
    name : str
    kind : {"model", "rows", "clusters", "series", "refits"}
        What it supposes, or how it is found: a model that is right, independent rows, independent clusters, a series in
        time, or by fits to other rows.
    description : str
        One sentence for the summary.
    formula : str
        With A the observed information, s_i the score of row i, h_i its leverage, n the observations and p the
        parameters.
    compute : callable, optional
        ``f(context, **keywords) -> (p, p) ndarray or Covariance``.
    leverage : LeverageRule, optional
        In place of `compute`: the sandwich of scores over powers of 1 - leverage.
    source : str
        Author and year.
    options : tuple of str
        Keywords that it takes.
    found : tuple of str
        What `cov_kwds` of a result has besides.
    needs_rows : str
        Why a stream does not have it, if so.
    """

    name: str
    kind: str
    description: str
    formula: str
    compute: Callable | None = None
    leverage: LeverageRule | None = None
    source: str = ""
    options: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    needs_rows: str = ""

    @property
    def of_regressions(self) -> bool:
        """Whether regressions alone have this covariance: it takes leverages, or refits."""
        return self.leverage is not None or self.kind == "refits"


class ScoreSums:
    """Sums over rows of which covariances are made, from the scores (or influences) of a block's rows.

    Subclasses say which `blocks` there are, and of each the scores and weights of its rows.
    """

    frequency: bool
    blocks: Any
    unit: Any = 1.0

    def scores_of(self, *block: Any) -> tuple[ndarray, ndarray | None]:
        """Scores (n, p) of the rows of a block, without their weights, and these (n,) or None."""
        raise NotImplementedError

    def sum_of_outer_scores(self) -> ndarray:
        """Sum of outer products of scores, sum_i s_i s_i' over observations."""

        def part(*block: Any) -> ndarray:
            S, w = self.scores_of(*block)
            return S.T @ S if w is None else (S.T * (w if self.frequency else (w / self.unit) ** 2)) @ S

        return self.blocks.sum(part)

    def scores(self) -> ndarray:
        """Scores of the observations in their order, (n, p), in the objective's unit: no smaller than a dense X."""
        check_expanded(self)
        parts = []
        for block in self.blocks:
            S, w = self.scores_of(*block)
            if w is not None:
                S = np.repeat(S, w.astype(int), axis=0) if self.frequency else S * (w / self.unit)[:, None]
            parts.append(S)
        return np.concatenate(parts)

    def cluster_sums(self, codes: Any, n_clusters: int) -> ndarray:
        """Sums of the scores over clusters, (n_clusters, p); `codes` (n,) numbers the clusters from 0."""

        def part(*block: Any) -> ndarray:
            *own, codes = block
            S, w = self.scores_of(*own)
            return _summed_by(codes, n_clusters, None if w is None else w / self.unit) @ S

        return self._beside(codes).sum(part)

    def cluster_sizes(self, codes: Any, n_clusters: int) -> ndarray:
        """Rows of the clusters, or sums of their weights, (n_clusters,)."""
        return self._beside(codes).sum(lambda *block: np.bincount(block[-1], block[-2], n_clusters).astype(float))

    def _beside(self, codes: Any) -> Blocks:
        """Blocks of the rows with one more array beside them."""
        return self.blocks.with_codes(codes)


@dataclass(frozen=True)
class Context(ScoreSums):
    """Ingredients of the covariance types for a maximum likelihood estimate: objective, bread and scores.

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

    @property
    def size(self) -> int:
        """Number of parameters."""
        return len(self.theta)

    @cached_property
    def root(self) -> ndarray:
        """T with T T' the inverse observed information, the bread."""
        return self.evaluation.factor.root

    @property
    def bread(self) -> Any:
        """Inverse observed information."""
        return _bread(self.evaluation.factor)

    @property
    def expected_bread(self) -> Any:
        """Inverse expected information."""
        if self.objective.canonical:
            return self.bread
        return _bread(self.objective(self.theta, True).factor)

    def sandwich(self, meat: Any) -> Any:
        """A^-1 meat A^-1, of scores in the objective's unit: weights of 1e-170 must not underflow when squared."""
        if isinstance(meat, ArrowMatrix):
            return (self.objective.unit * self.bread).around(meat)
        if isinstance(meat, OuterProducts):
            return (self.objective.unit * self.bread).around_products(meat)
        root = self.objective.unit**0.5 * self.root
        half = root.T @ meat @ root
        return _without_rounding(root @ half @ root.T, (root * root).sum(axis=1) * np.abs(half).sum())

    @property
    def unit(self) -> float:
        """Unit of the objective, for weights."""
        return self.objective.unit

    @property
    def blocks(self) -> Blocks:
        """Rows that may be expanded."""
        return expandable(self.objective.blocks)

    def scores_of(self, X, y, m, offset, weights) -> tuple[ndarray, ndarray | None]:
        """Scores of the rows of a block, equation by equation, without their weights, and these."""
        return _scores(X, self.objective.score_factor(self.theta, X, y, m, offset)), weights

    def sum_of_outer_scores(self) -> ndarray:
        """sum_i s_i s_i' over observations; of one equation by the gram of X, without scores."""

        def part(X, y, m, offset, weights) -> Any:
            u = self.objective.score_factor(self.theta, X, y, m, offset)
            times = 1.0
            if weights is not None:
                times = weights if self.frequency else (weights / self.unit) ** 2
            return outer_gram(X, u, times)

        by_gram = self.objective.likelihood.n_eta == 1 or self._of_levels
        found = whole_gram((self.objective.blocks if by_gram else self.blocks).sum(part))
        return self.objective.information(found) if isinstance(self.objective, Restricted) else found

    @property
    def _of_levels(self) -> bool:
        """Whether a factor has many levels."""
        return of_levels(self.objective.blocks) is not None

    def cluster_sums(self, codes: Any, n_clusters: int) -> Any:
        """Sums of the scores over clusters, (n_clusters, p) or `GroupSums`; `codes` (n,) numbers the clusters from 0.
        """
        if not self._of_levels:
            return super().cluster_sums(codes, n_clusters)

        def part(X, y, m, offset, weights, codes) -> Any:
            u = self.objective.score_factor(self.theta, X, y, m, offset)
            u = u if weights is None else (u.T * (weights / self.unit)).T
            return X.sums_by(codes, u, n_clusters)

        return self._beside(codes).sum(part)

    def _beside(self, codes: Any) -> Blocks:
        blocks = self.objective.blocks
        X = of_levels(blocks)
        return blocks.with_codes(codes, rows_at_once(blocks.arrays[0]) if X is None else X.rows_of_border)

    def leverages(self, cov_type: str) -> Leverages:
        """Leverages of the rows, for a covariance of that name."""
        e = self.evaluation if self.objective.canonical else self.objective(self.theta, True)
        root = e.factor.inverse if isinstance(e.factor, ArrowFactor) else e.factor.root
        return Leverages(cov_type, self.objective, self.theta, root, self.frequency, len(self.theta), self.nobs)


@dataclass(frozen=True)
class InfluenceContext(ScoreSums):
    """Ingredients of the covariance types for an estimate in closed form, through the influence of its rows.

    Attributes
    ----------
    influence : callable
        ``influence(*block) -> (n, p)``: total weight times the derivative of the estimate in the weight of each row.
    blocks : Blocks
        The last array holds the weights, or is None.
    total : float
        Sum of the weights.
    size : int
        How many parameters, p.
    bread : callable
        The covariance if the model is right, (p, p).
    nobs : float
        Rows, or the sum of the frequency weights.
    frequency : bool
        As in `Context`.
    """

    influence: Callable
    blocks: Blocks
    total: float
    size: int
    model_based: Callable[[], ndarray]
    nobs: float
    frequency: bool

    @property
    def bread(self) -> ndarray:
        """The covariance if the model is right."""
        return self.model_based()

    @property
    def expected_bread(self) -> ndarray:
        """The model-based covariance: at the estimate of a full exponential family both informations agree."""
        return self.model_based()

    def sandwich(self, meat: Any) -> Any:
        """Sandwich covariance of influences: as they are on the estimate itself, only their scale is undone."""
        return meat / self.total**2

    def scores_of(self, *block: Any) -> tuple[ndarray, ndarray | None]:
        """Influences of the rows of a block, and their weights."""
        return self.influence(*block), block[-1]

    def leverages(self, cov_type: str) -> Leverages:
        """Refuse: leverages belong to regressions."""
        raise _of_regressions(cov_type)


def small_sample(ctx: Context | InfluenceContext) -> float:
    """Small-sample factor n / (n - p)."""
    _check_size(ctx, "the factor n/(n-p)")
    return ctx.nobs / (ctx.nobs - ctx.size)


def _check_size(ctx: Context | InfluenceContext, what: str) -> None:
    """ValueError unless there are more observations than parameters."""
    n, p = ctx.nobs, ctx.size
    if n <= p:
        raise ValueError(f"{what} needs more observations than parameters; here n = {n:.15g}, p = {p}")


def spread(ctx: Context, V: ndarray) -> ndarray:
    """Eigenvalues of a covariance V relative to the inverse information, in order: variances of combinations beside
    those if the model were right; empty without parameters. With many levels those of the parameters alone."""
    if isinstance(V, SymmetricMatrix):
        return np.sort(V.diagonal() / (ctx.objective.unit * ctx.bread.diagonal()))
    T = ctx.evaluation.information @ ctx.root
    M = T.T @ V @ T / ctx.objective.unit
    return np.linalg.eigvalsh(0.5 * (M + M.T)) if M.size and np.isfinite(M).all() else np.zeros(0)


def check_expanded(ctx: Any) -> None:
    """Refuse scores of more observations than memory may hold."""
    if ctx.nobs * ctx.size <= MAX_EXPANDED_SCORES:
        return
    if getattr(ctx, "_of_levels", False):
        raise NotImplementedError(
            f'cov_type="HAC" of {ctx.size:,} parameters, as a factor has many levels, takes scores of all rows, '
            f'{8e-9 * ctx.nobs * ctx.size:,.1f} GB: use "cluster" with its levels as groups, or "HC1"'
        )
    if ctx.frequency and ctx.nobs > ctx.blocks.n:
        raise NotImplementedError(
            f'cov_type="HAC" with freq_weights= that add up to {ctx.nobs:.15g}: it takes the expanded rows one by one. '
            'Use "HC0"'
        )


def _without_rounding(V: ndarray, size: ndarray) -> ndarray:
    """V with variances that are negative by rounding of their terms, of a size (p,), at 0."""
    at = np.arange(len(V))
    v = V[at, at]
    V[at, at] = np.where((v < 0) & (-v <= 8 * len(V) * np.finfo(float).eps * size), 0.0, v)
    return V


def _bread(factor: Any) -> Any:
    """Inverse of a factored information, an array or blocks of levels plus a low rank."""
    if isinstance(factor, ArrowFactor):
        return factor.inverse
    T = factor.root
    return T @ T.T


def _scores(X, u: ndarray) -> ndarray:
    """Score of each row, (n, p), equation by equation."""
    A = X.toarray()
    return A * u[:, None] if u.ndim == 1 else np.hstack([A * column[:, None] for column in u.T])

# ------------------------------------------------------------------------------------------------- model and sandwich
def _nonrobust(ctx: Context | InfluenceContext) -> ndarray:
    """V = I^-1, I the observed information."""
    return ctx.bread


def _expected(ctx: Context | InfluenceContext) -> ndarray:
    """V = (E I)^-1, as Fisher scoring and R's glm report."""
    return ctx.expected_bread


def _hc0(ctx: Context | InfluenceContext) -> ndarray:
    """Huber-White sandwich, V = A^-1 (sum_i s_i s_i') A^-1 (White 1982)."""
    return ctx.sandwich(ctx.sum_of_outer_scores())


def _hc1(ctx: Context | InfluenceContext) -> ndarray:
    """HC0 times n/(n-p)."""
    return small_sample(ctx) * _hc0(ctx)


# -------------------------------------------------------------------------- powers of 1 - leverage under squared scores
def _hc2(leverages: Leverages) -> Callable[[ndarray], ndarray]:
    """Squared scores over 1 - h, h the leverage of iteratively reweighted least squares."""
    return np.ones_like


def _hc3(leverages: Leverages) -> Callable[[ndarray], ndarray]:
    """Squared scores over (1 - h)^2: all but the jackknife."""
    return lambda h: np.full_like(h, 2.0)


def _hc4(leverages: Leverages) -> Callable[[ndarray], ndarray]:
    """Squared scores over (1 - h)^delta, delta = min(4, h/mean h) (Cribari-Neto 2004)."""
    return lambda h: np.minimum(h / leverages.mean, 4.0)


def _hc4m(leverages: Leverages) -> Callable[[ndarray], ndarray]:
    """delta = min(1, h/mean h) + min(1.5, h/mean h) (Cribari-Neto & da Silva 2011)."""
    return lambda h: np.minimum(h / leverages.mean, 1.0) + np.minimum(h / leverages.mean, 1.5)


def _hc5(leverages: Leverages) -> Callable[[ndarray], ndarray]:
    """delta = min(h/mean h, max(4, 0.7 max h/mean h))/2 (Cribari-Neto, Souza & Vasconcellos 2007)."""
    most = max(4.0, 0.7 * leverages.largest / leverages.mean)
    return lambda h: 0.5 * np.minimum(h / leverages.mean, most)


# ------------------------------------------------------------------------------------------ clusters, time, resampling
def _cluster(ctx: Context | InfluenceContext, groups: list[ndarray]) -> Covariance:
    """Sandwich of cluster sums; several groupings: the sum over their intersections, those of an even number with a
    minus, each with its own factor (Cameron, Gelbach & Miller 2011)."""
    _check_size(ctx, "the factor (n-1)/(n-p)")
    counts = tuple(int(g.max()) + 1 for g in groups)
    cells, members = _cells(groups)
    S = ctx.cluster_sums(cells, len(members[0]))
    parts = [
        -((-1) ** k) * _of_sums(ctx, S, _cells(some)[0])
        for k in range(1, len(groups) + 1)
        for some in combinations(members, k)
    ]
    V = functools.reduce(operator.add, parts)
    return Covariance("cluster", V, COVARIANCES["cluster"].description, counts, silent=_silent(ctx, S))


def _silent(ctx: Context | InfluenceContext, S: Any) -> int:
    """Number of coefficients of which the sums of scores by cluster, rows of S, are 0."""
    if not isinstance(ctx, Context) or S.shape[1] != len(ctx.theta):
        return 0
    squares = S.squares() if isinstance(S, GroupSums) else (S * S).sum(axis=0)
    return int((squares * ctx.unit <= SMALLEST_CLUSTER_SHARE * ctx.evaluation.information.diagonal()).sum())


def _cells(groups: Sequence[Any]) -> tuple[Any, list[ndarray]]:
    """Clusters of rows that are in the same cluster of all groupings, and of which cluster of each grouping they are
    part."""
    first, *others = groups
    if hasattr(first, "cells"):  # of rows in a stream
        return first.cells(others)
    codes, members = first, [np.arange(int(first.max()) + 1)]
    for other in others:
        pairs, codes = np.unique(codes * (int(other.max()) + 1) + other, return_inverse=True)
        at, of = np.divmod(pairs, int(other.max()) + 1)
        members = [*(m[at] for m in members), of]
    return codes, members


def _check_clusters(n_clusters: int) -> None:
    if n_clusters < 2:
        raise ValueError("standard errors by clusters need at least two clusters; the groups have one")


def _of_sums(ctx: Context | InfluenceContext, S: Any, codes: ndarray) -> Any:
    """Sandwich by clusters, of which each has some of the rows of S."""
    n_clusters = int(codes.max()) + 1
    _check_clusters(n_clusters)
    if n_clusters == len(S):
        sums = S
    else:
        to_clusters = _summed_by(codes, n_clusters)
        sums = S.summed(to_clusters) if isinstance(S, GroupSums) else to_clusters @ S
    factor = n_clusters / (n_clusters - 1) * (ctx.nobs - 1) / (ctx.nobs - ctx.size)
    return factor * ctx.sandwich(sums.outer_products() if isinstance(sums, GroupSums) else sums.T @ sums)


def _summed_by(codes: ndarray, n_clusters: int, times: ndarray | None = None) -> sparse.csr_array:
    """Matrix that sums rows over clusters, each so many times."""
    times = np.ones(len(codes)) if times is None else times
    return sparse.csr_array((times, (codes, np.arange(len(codes)))), shape=(n_clusters, len(codes)))


def _hac(ctx: Context | InfluenceContext, maxlags: int | None = None) -> Covariance:
    """sum_l (1 - l/(L+1)) (G_l + G_l'), G_l = sum_i s_i s_(i-l)', rows in the order of time (Newey & West 1987)."""
    _check_size(ctx, 'cov_type="HAC"')  # else no score is left
    S = ctx.scores()
    n = len(S)
    lags = min(int(4 * (n / 100) ** (2 / 9)), n - 1) if maxlags is None else int(maxlags)
    if lags >= n:
        raise ValueError(f"maxlags={maxlags!r}: fewer lags than observations, of which there are {n}")
    meat = S.T @ S
    for lag in range(1, lags + 1):
        G = S[lag:].T @ S[:-lag]
        meat += (1 - lag / (lags + 1)) * (G + G.T)
    words = f"{COVARIANCES['HAC'].description[:-2]}, {lags} lag{'' if lags == 1 else 's'})."
    return Covariance("HAC", ctx.sandwich(meat), words, options={"maxlags": lags})


def _bootstrap(ctx: Context | InfluenceContext, reps: int = 999, seed: Any = None, groups: Any = None) -> Covariance:
    """Covariance of estimates on observations, or clusters, drawn with replacement (Efron & Tibshirani 1993)."""
    from glmclf.inference.covariance import resampling

    if isinstance(ctx, InfluenceContext):
        raise _of_regressions("bootstrap")
    known = whole_seed(seed)
    codes = None if groups is None else groups[0]
    if codes is not None:
        _check_clusters(int(codes.max()) + 1)
    V, found = resampling.bootstrap(ctx, int(reps), np.random.default_rng(known), codes)
    what = "observations" if groups is None else "clusters"
    left_out = f"; {found.words} left out" if found.left_out else ""
    words = f"Standard errors are from a bootstrap of {what} ({len(found.estimates)} replications{left_out})."
    options = {"reps": int(reps), "seed": known, "used": len(found.estimates), "left_out": found.left_out}
    return Covariance("bootstrap", V, words, () if groups is None else (int(groups[0].max()) + 1,), options)


def whole_seed(seed: Any) -> int:
    """A whole number that stands for a seed of any kind, so that it can be kept; for a Generator the next it draws."""
    if seed is None:
        seed = np.random.SeedSequence()
    if isinstance(seed, np.random.SeedSequence) and not seed.spawn_key:
        seed = seed.entropy
    return int(seed) if is_whole(seed) else int(np.random.default_rng(seed).integers(2**63))


def _jackknife(ctx: Context | InfluenceContext) -> ndarray:
    """(n-1)/n times the sum of squares of the estimates without each observation (Efron 1982)."""
    from glmclf.inference.covariance import resampling

    if isinstance(ctx, InfluenceContext):
        raise _of_regressions("jackknife")
    return resampling.jackknife(ctx)


def _of_regressions(name: str) -> NotImplementedError:
    return NotImplementedError(f'cov_type="{name}" is for {registry.listed(registry.REGRESSIONS)}')


# ------------------------------------------------------------------------------------------------------------- the list
#: all covariances by name, in the order of messages and documentation
COVARIANCES = {
    entry.name: entry
    for entry in (
        CovarianceType(
            "nonrobust",
            "model",
            "Standard errors are from the inverse observed information (the model is assumed to be right).",
            "A^-1",
            _nonrobust,
        ),
        CovarianceType(
            "expected",
            "model",
            "Standard errors are from the inverse expected information (the model is assumed to be right).",
            "the inverse expected information",
            _expected,
        ),
        CovarianceType(
            "HC0",
            "rows",
            "Standard errors are robust to heteroscedasticity (HC0: Huber-White sandwich, no factor).",
            "A^-1 (sum s_i s_i') A^-1",
            _hc0,
            source="White (1982)",
        ),
        CovarianceType(
            "HC1",
            "rows",
            "Standard errors are robust to heteroscedasticity (HC1: Huber-White sandwich times n/(n-p)).",
            '"HC0" times n/(n-p)',
            _hc1,
        ),
        CovarianceType(
            "HC2",
            "rows",
            "Standard errors are robust to heteroscedasticity (HC2: scores over the square root of 1 - leverage).",
            '"HC0" of s_i / sqrt(1 - h_i), h_i the leverage of reweighted least squares, of several classes a matrix',
            leverage=_hc2,
            source="MacKinnon & White (1985)",
        ),
        CovarianceType(
            "HC3",
            "rows",
            "Standard errors are robust to heteroscedasticity (HC3: scores over 1 - leverage).",
            '"HC0" of s_i / (1 - h_i)',
            leverage=_hc3,
            source="MacKinnon & White (1985)",
        ),
        CovarianceType(
            "HC4",
            "rows",
            "Standard errors are robust to heteroscedasticity (HC4: scores over a power of 1 - leverage, of high "
            "ones the second).",
            '"HC0" of s_i / (1 - h_i)^(d_i/2), d_i = min(4, n h_i/p) with the trace of a matrix for h_i',
            leverage=_hc4,
            source="Cribari-Neto (2004)",
        ),
        CovarianceType(
            "HC4m",
            "rows",
            "Standard errors are robust to heteroscedasticity (HC4m: scores over a power of 1 - leverage, up to "
            "1.25).",
            '"HC0" of s_i / (1 - h_i)^(d_i/2), d_i = min(1, n h_i/p) + min(1.5, n h_i/p)',
            leverage=_hc4m,
            source="Cribari-Neto & da Silva (2011)",
        ),
        CovarianceType(
            "HC5",
            "rows",
            "Standard errors are robust to heteroscedasticity (HC5: scores over a power of 1 - leverage that grows "
            "with the largest one).",
            '"HC0" of s_i / (1 - h_i)^(d_i/4), d_i = min(n h_i/p, max(4, 0.7 n h_max/p))',
            leverage=_hc5,
            source="Cribari-Neto, Souza & Vasconcellos (2007)",
        ),
        CovarianceType(
            "cluster",
            "clusters",
            "Standard errors are robust to correlation within clusters (factor G/(G-1) (n-1)/(n-p)).",
            '"HC0" of sums of s_i over clusters, times G/(G-1) (n-1)/(n-p); of several groupings a sum over their '
            "intersections (Cameron, Gelbach & Miller)",
            _cluster,
            source="Cameron, Gelbach & Miller (2011); Cameron & Miller (2015)",
            options=("groups",),
            found=("n_groups",),
        ),
        CovarianceType(
            "HAC",
            "series",
            "Standard errors are robust to heteroscedasticity and autocorrelation (Newey-West, Bartlett weights).",
            "sum_l (1 - l/(L+1)) (G_l + G_l') between the A^-1, G_l = sum s_i s_(i-l)': Newey-West, rows in their "
            "order in the table, one step of time apart; those left out in between are not counted as time, with a "
            "warning",
            _hac,
            source="Newey & West (1987)",
            options=("maxlags",),
            needs_rows="it takes the rows in the order of time",
        ),
        CovarianceType(
            "bootstrap",
            "refits",
            "Standard errors are from the bootstrap.",
            "the covariance of estimates on observations, or clusters, drawn with replacement",
            _bootstrap,
            source="Efron & Tibshirani (1993), chapter 6",
            options=("reps", "seed", "groups"),
            found=("n_groups", "used", "left_out"),
            needs_rows="it draws rows",
        ),
        CovarianceType(
            "jackknife",
            "refits",
            "Standard errors are from the jackknife: fits without each observation.",
            "(n-1)/n times the squares, about their mean, of the estimates without each observation",
            _jackknife,
            needs_rows="it leaves out rows one by one",
        ),
    )
}
MODEL_BASED = tuple(name for name, entry in COVARIANCES.items() if entry.kind == "model")
REFITS = tuple(name for name, entry in COVARIANCES.items() if entry.kind == "refits")


def check(name: str) -> None:
    """Raise unless `name` is a covariance type of this version."""
    check_choice("cov_type", name, COVARIANCES)


def covariance(name: str, context: Context | InfluenceContext, **keywords) -> Covariance:
    """Covariance of the estimate of type `name`.

    Parameters
    ----------
    name : str
        Of `COVARIANCES`.
    context : Context or InfluenceContext
    **keywords
        `groups` of "cluster" and "bootstrap": a list of (n,) integer arrays that number the clusters from 0;
        `maxlags` of "HAC"; `reps` and `seed` of "bootstrap".

    Raises
    ------
    ValueError
        Unknown type, or too few observations or clusters.
    NotImplementedError
        A type that the context has not.
    RowsError
        Rows of leverage one, or without which there is no estimate.
    EstimationError
        Too few replications have an estimate.
    """
    check(name)
    entry = COVARIANCES[name]
    if entry.leverage is not None:
        return Covariance(name, context.sandwich(context.leverages(name).meat(entry.leverage)), entry.description)
    assert entry.compute is not None
    result = entry.compute(context, **keywords)
    return result if isinstance(result, Covariance) else Covariance(name, result, entry.description)
