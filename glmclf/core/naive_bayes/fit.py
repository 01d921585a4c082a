"""Naive Bayes on arrays: features independent given the class, each from its own exponential family.

log p(y=k, x) = log pi_k + sum_j log f_jk(x_j), a linear logit in the features' statistics T_j:

    log-odds of k against 0 = log pi_k/pi_0 + sum_j [-A_jk + A_j0] + sum_j (eta_jk - eta_j0)'T_j(x_j).

Shapes: n rows, K classes (0 is the reference), p features, M = 1 + total width of the T's: Intercept, then each
feature's T in turn. A missing value (NaN, code -1) drops its factor, in fitting and in prediction.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from glmclf.caching import cached_property
from glmclf.core.naive_bayes.families import Defect, Family, Fitted, GaussianFamily, Statistics, ZeroCell
from glmclf.core.naive_bayes.family import is_sparse
from glmclf.core.naive_bayes.gaussian import chunk
from glmclf.core.numerics.softmax import log_softmax
from glmclf.core.rows.blocks import Blocks
from glmclf.core.rows.summed import Summed


class UnusableFeatures(Exception):
    """Error of features without an estimate; `defects` names them, their class and the reason."""

    def __init__(self, defects: list[Defect]):
        super().__init__(defects)
        self.defects = defects


class Parameter(NamedTuple):
    """One natural parameter; `feature`, `level` and `klass` are positions, None where they do not apply."""

    name: str
    feature: int | None
    level: int | None
    klass: int | None
    value: float
    se: float


class Stacked:
    """Columns side by side, put together only for the rows asked for: an (n, p) matrix without its memory."""

    def __init__(self, columns: Sequence[ndarray]):
        self.columns = columns
        self.shape = (len(columns[0]), len(columns))

    def __getitem__(self, rows: Any) -> ndarray:
        return np.stack([c[rows] for c in self.columns]).T


CHUNKS_PER_BLOCK = 16  # chunks of a block of gaussian features, each of so many rows as stay in the cache


@dataclass(frozen=True)
class Record(Summed):
    """Sums of one pass: weight of each class, and each group's statistics."""

    counts: ndarray
    statistics: tuple[Statistics, ...]


def grouped(families: Iterable[Family]) -> tuple[Family, ...]:
    """The families with neighbouring gaussians as one matrix, which is many times faster than one by one."""
    groups: list[Family] = []
    for family in families:
        last = groups[-1] if groups else None
        if isinstance(family, GaussianFamily) and isinstance(last, GaussianFamily) and alike(family, last):
            groups[-1] = replace(last, p=last.p + family.p)
        else:
            groups.append(family)
    return tuple(groups)


def alike(a: GaussianFamily, b: GaussianFamily) -> bool:
    """Whether two families differ in the number of features only."""
    return replace(a, p=b.p) == b


def packed(groups: Sequence[Family], values: Sequence[Any]) -> list[Any]:
    """Values of each group of features: as they are, or p single columns together as one `Stacked`."""
    rest = iter(values)
    return [_gathered(family, next(rest), rest) for family in groups]


def _gathered(family: Family, first: Any, rest: Iterator[Any]) -> Any:
    columns, width = [first], _width(first)
    while width < family.p:
        columns.append(next(rest))
        width += _width(columns[-1])
    if len(columns) == 1:
        return first
    singles = [c if len(c.shape) == 1 else c[:, j] for c in columns for j in range(_width(c))]
    whole = _neighbours(singles)
    return Stacked(singles) if whole is None else whole


def _neighbours(columns: Sequence[Any]) -> ndarray | None:
    """Matrix of the columns given, where they lie side by side in one array, as gathering them is slow; else None."""
    first = columns[0]
    if not all(isinstance(c, ndarray) and c.base is not None and c.base is first.base for c in columns):
        return None
    if any((c.shape, c.strides, c.dtype) != (first.shape, first.strides, first.dtype) for c in columns):
        return None
    steps = np.diff([c.__array_interface__["data"][0] for c in columns])
    if (steps != steps[0]).any() or steps[0] <= 0:
        return None
    strides = (first.strides[0], int(steps[0]))
    return np.lib.stride_tricks.as_strided(first, (len(first), len(columns)), strides, writeable=False)


def _width(values: Any) -> int:
    return 1 if len(values.shape) == 1 else values.shape[1]


def _rows(groups: Sequence[Family], values: Sequence[Any], n_threads: int | None = None, *more: Any) -> Blocks:
    """Blocks of rows that stay in a cache."""
    return Blocks(*more, *values, size=_size(groups, values), n_threads=n_threads)


def _size(groups: Sequence[Family], values: Sequence[Any]) -> int:
    """Number of rows of a block that stays in a cache."""
    return chunk(int(sum(_filled(v) if is_sparse(v) else max(f.p, _width(v)) for f, v in zip(groups, values))))


def _filled(X: Any) -> float:
    """Entries in a row of a csr array; its rows are cut in blocks of many, each of which has a sum for each column."""
    return 1.0 + X.nnz / max(X.shape[0], 1) / CHUNKS_PER_BLOCK


def _record(groups: Sequence[Family], K: int, *block: Any) -> Record:
    """Statistics of one block; those of values too large for their squares are not finite."""
    *values, y, w = block
    counts = np.bincount(y, w, minlength=K).astype(float)
    with np.errstate(over="ignore", invalid="ignore"):
        return Record(counts, tuple(f.statistics(v, y, w, K) for f, v in zip(groups, values)))


def class_statistics(families: Sequence[Family], blocks: Blocks, K: int) -> Record:
    """Statistics of all features by class, in one pass.

    Parameters
    ----------
    families : sequence of Family
        One a feature, or a `GaussianFamily` for several features at once; see `grouped`.
    blocks : Blocks
        Of the features as `packed` has them, classes 0..K-1 and weights or None.
    K : int
        Classes.
    """
    groups = grouped(families)
    blocks = blocks.rechunk(_size(groups, blocks.arrays))
    if all(isinstance(family, GaussianFamily) for family in groups):  # they look at few rows at a time by themselves
        blocks = blocks.rechunk(CHUNKS_PER_BLOCK * blocks.size)
    return blocks.sum(partial(_record, groups, K))


def fit_naive_bayes(
    families: Sequence[Family],
    record: Record,
    *,
    priors: ndarray | None = None,
    prior_smoothing: float = 0.0,
    smoothing: float = 0.0,
) -> NaiveBayesFit:
    """Maximum likelihood (smoothed: posterior mode) from the statistics of `class_statistics`.

    Parameters
    ----------
    families : sequence of Family
    record : Record
    priors : (K,) ndarray, optional
        Class probabilities, held fixed; by default (n_k + a)/(N + a K), a = `prior_smoothing`.
    smoothing : float
        Pseudo-count of every cell of a table or multinomial.

    Raises
    ------
    UnusableFeatures
        A feature is constant, or never observed, in some class.

    References
    ----------
    Hand & Yu (2001), Idiot's Bayes: not so stupid after all?, Int. Stat. Rev. 69.

    Examples
    --------
    >>> import numpy as np
    >>> from glmclf.core.naive_bayes.families import Poisson
    >>> from glmclf.core.naive_bayes.fit import class_statistics, fit_naive_bayes
    >>> from glmclf.core.rows.blocks import Blocks
    >>> y, counts = np.array([0, 0, 1, 1]), np.array([1.0, 3.0, 4.0, 8.0])
    >>> rows = Blocks(counts, y, None, size=4)
    >>> fit = fit_naive_bayes([Poisson()], class_statistics([Poisson()], rows, 2))
    >>> fit.coefficients().round(3), fit.standard_errors().round(3)
    (array([[-4.   ,  1.099]]), array([[2.236, 0.577]]))
    """
    groups = grouped(families)
    statistics = record.statistics
    defects = [
        d._replace(feature=start + d.feature)
        for start, f, s in zip(_starts(groups), groups, statistics)
        for d in f.defects(s, smoothing)
    ]
    if defects:
        raise UnusableFeatures(defects)
    prior_counts = record.counts + prior_smoothing
    free = priors is None
    with np.errstate(divide="ignore"):
        log_priors = np.log(prior_counts / prior_counts.sum() if priors is None else np.asarray(priors, dtype=float))
    fits = tuple(f.fit(s, smoothing) for f, s in zip(groups, statistics))
    return NaiveBayesFit(record.counts, log_priors, free, prior_counts, fits, statistics, smoothing)


def _starts(groups: Sequence[Family]) -> list[int]:
    """Position of each group's first feature."""
    return [int(a) for a in np.cumsum([0, *(f.p for f in groups)])[:-1]]


@dataclass(frozen=True)
class NaiveBayesFit:
    """Estimates of a naive Bayes model, with its discriminant, likelihood and covariances.

    Attributes
    ----------
    counts : (K,) ndarray
        Weight n_k of each class.
    log_priors : (K,) ndarray
    priors_free : bool
        Whether the class probabilities were estimated.
    prior_counts : (K,) ndarray
        Counts behind their standard errors: n_k plus the prior's pseudo-counts.
    features : tuple of Fitted
        One a group of features: neighbouring gaussians are together (`p` features), the others alone.
    statistics : tuple
        The statistics behind `features`.
    smoothing : float
    """

    counts: ndarray
    log_priors: ndarray
    priors_free: bool
    prior_counts: ndarray
    features: tuple[Fitted, ...]
    statistics: tuple[Statistics, ...]
    smoothing: float = 0.0

    # sizes and positions

    @property
    def K(self) -> int:
        """Number of classes."""
        return len(self.counts)

    @property
    def n(self) -> float:
        """Weight of all rows, N."""
        return float(self.counts.sum())

    @property
    def families(self) -> tuple[Family, ...]:
        """Family of each group."""
        return tuple(f.family for f in self.features)

    @property
    def p(self) -> int:
        """Number of features."""
        return sum(f.p for f in self.families)

    @property
    def observed(self) -> ndarray:
        """Weight of the rows with each feature observed, by class, (K, p); rows, not totals, of a multinomial."""
        return np.concatenate([s.n.reshape(self.K, -1) for s in self.statistics], axis=1)

    @cached_property
    def starts(self) -> list[int]:
        """Position of each group's first feature."""
        return _starts(self.families)

    @cached_property
    def columns(self) -> list[slice]:
        """Columns 1..M-1 of the discriminant that belong to each feature."""
        widths = [f.width for f in self.families for _ in range(f.p)]
        ends = 1 + np.cumsum([0, *widths])
        return [slice(int(a), int(b)) for a, b in zip(ends[:-1], ends[1:])]

    @property
    def M(self) -> int:
        """Number of coefficients in an equation, the intercept included."""
        return self.columns[-1].stop

    def _spans(self) -> Iterator[tuple[Fitted, slice]]:
        """Each group of features with all its columns of the discriminant."""
        for start, fitted in zip(self.starts, self.features):
            first, last = self.columns[start], self.columns[start + fitted.family.p - 1]
            yield fitted, slice(first.start, last.stop)

    def packed(self, values: Sequence[Any]) -> list[Any]:
        """Values of features as their groups take them."""
        return packed(self.families, values)

    # densities and predictions

    def log_joint(self, values: Sequence[Any]) -> ndarray:
        """Joint log density log pi_k + sum_j log f_jk(x_j) over the features observed, (n, K); a row
        may be -inf throughout."""
        return self._by_rows(self.log_joint_of_block, values, (self.K,))

    def log_joint_of_block(self, values: Sequence[ndarray]) -> ndarray:
        """Joint log density of a few rows, whose values are packed."""
        return sum((f.log_density(v) for f, v in zip(self.features, values)), self.log_priors)

    def _by_rows(self, f: Callable[[Sequence[ndarray]], ndarray], values: Sequence[Any], shape: tuple) -> ndarray:
        """Values of f for every block of rows, (n, *shape)."""
        values = self.packed(values)
        out = np.moveaxis(np.empty((*shape, values[0].shape[0])), -1, 0)  # by column

        def write(part: ndarray, *block: ndarray) -> int:
            part[...] = f(block)
            return 0

        if len(out):
            _rows(self.families, values, None, out).sum(write)
        return out

    def block_conditional(self, *block: Any) -> float:
        """Sum of w log p(y | x) over a block of packed values, classes and weights or None."""
        *values, y, w = block
        joint = np.asfortranarray(self.log_joint_of_block(values))  # sums over columns are several times faster so
        own = log_softmax(joint)[np.arange(len(y)), y]
        return float(own.sum() if w is None else w @ own)

    def score_variance(self, values: Sequence[Any]) -> ndarray:
        """Variance of each class's log pi_k f_k(x), (n, K), without what pooled gaussians share."""
        return self._by_rows(self._score_variance, values, (self.K,))

    def _score_variance(self, values: Sequence[ndarray]) -> ndarray:
        prior = 1 / self.prior_counts if self.priors_free else np.zeros(self.K)
        return sum((f.score_variance(v) for f, v in zip(self.features, values)), prior)

    def log_odds_covariance(self, values: Sequence[Any]) -> ndarray:
        """Covariance of the estimated log-odds against class 0, (n, K-1, K-1).

        Classes are estimated independently, but for the variance of pooled gaussians, which adds
        sum_j (d_kj^2 - d_0j^2)(d_lj^2 - d_0j^2)/(2 n_j). A class that is impossible in a row, by an estimate of 0, adds
        nothing: contrasts of the other classes are right.
        """
        return self._by_rows(self._log_odds_covariance, values, (self.K - 1, self.K - 1))

    def _log_odds_covariance(self, values: Sequence[ndarray]) -> ndarray:
        v = np.nan_to_num(self._score_variance(values), nan=0.0, posinf=np.inf)
        V = np.repeat(v[:, :1, None], self.K - 1, axis=1) * np.ones(self.K - 1)
        at = np.arange(self.K - 1)
        V[:, at, at] += v[:, 1:]
        for fitted, x in zip(self.features, values):
            shared = fitted.shared_scores(x)
            if shared is not None:
                V += np.einsum("nkj,nlj->nkl", shared, shared)
        return V

    def sample(self, rng: Generator, y: ndarray, totals: dict[int, ndarray] | None = None) -> list[ndarray]:
        """Draw a row for every class code in `y`: one array a feature.

        Parameters
        ----------
        rng : numpy Generator
        y : (n,) integer ndarray
        totals : dict, optional
            For each multinomial, by position of the feature: its (n,) row totals.
        """
        drawn: list[ndarray] = []
        rows = [np.flatnonzero(y == k) for k in range(self.K)]
        for start, fitted in zip(self.starts, self.features):
            given = [{"totals": totals[start][r]} if totals and start in totals else {} for r in rows]
            parts = [fitted.sample(rng, k, len(r), **g) for k, (r, g) in enumerate(zip(rows, given))]
            values = np.empty((len(y), *parts[0].shape[1:]), dtype=parts[0].dtype)
            for r, part in zip(rows, parts):
                values[r] = part
            drawn.extend(values.T if fitted.family.by_column else [values])
        return drawn

    def alone(self, feature: int) -> NaiveBayesFit:
        """The model of one feature."""
        return self.subset([feature])

    def subset(self, features: Sequence[int]) -> NaiveBayesFit:
        """The model of some features: estimates do not change, as features are independent given the class."""
        parts = [self._part(j) for j in features]
        groups = grouped(f for f, _ in parts)
        rest = iter(s for _, s in parts)
        statistics = tuple(
            functools.reduce(lambda a, b: a.beside(b), itertools.islice(rest, f.p))  # type: ignore[union-attr, arg-type]
            for f in groups
        )
        fits = tuple(f.fit(s, self.smoothing) for f, s in zip(groups, statistics))
        return replace(self, features=fits, statistics=statistics)

    def _part(self, feature: int) -> tuple[Family, Statistics]:
        """Family and statistics of one feature."""
        g = int(np.searchsorted(self.starts, feature, side="right")) - 1
        family, statistics = self.families[g], self.statistics[g]
        if family.by_column:
            at = feature - self.starts[g]
            return replace(family, p=1), statistics.column(at)  # type: ignore[union-attr, type-var]
        return family, statistics

    # the implied logit

    def intercept_parts(self) -> ndarray:
        """Parts of the intercepts by feature, -A_jk + A_j0, (K-1, p); the prior's part comes on top."""
        return np.concatenate([f.contrasts()[0] for f in self.features], axis=1)

    def coefficients(self) -> ndarray:
        """Coefficients of the log-odds, (K-1, M)."""
        out = np.empty((self.K - 1, self.M))
        with np.errstate(invalid="ignore"):  # parts that are infinite in both directions
            out[:, 0] = self.log_priors[1:] - self.log_priors[0] + self.intercept_parts().sum(axis=1)
        for fitted, span in self._spans():
            out[:, span] = fitted.contrasts()[1].reshape(self.K - 1, -1)
        return out

    def standard_errors(self) -> ndarray:
        """Standard errors of `coefficients`, (K-1, M); NaN where a coefficient is infinite."""
        v = np.zeros((self.K, self.M))
        extra = np.zeros((self.K - 1, self.M))
        if self.priors_free:
            v[:, 0] = 1 / self.prior_counts
        for fitted, span in self._spans():
            own = fitted.variances()
            v[:, 0] += own[..., 0].sum(axis=1)
            v[:, span] = own[..., 1:].reshape(self.K, -1)
            shared = fitted.shared_loadings()
            if shared is not None:
                extra[:, 0] += (shared[..., 0] ** 2).sum(axis=1)
                extra[:, span] += (shared[..., 1:] ** 2).reshape(self.K - 1, -1)
        return np.sqrt(v[0] + v[1:] + extra)

    def covariance(self, columns: ndarray | None = None) -> ndarray:
        """Covariance of the coefficients, equation by equation, ((K-1) c, (K-1) c).

        Parameters
        ----------
        columns : (c,) integer ndarray, optional
            Coefficients of an equation, 0..M-1; by default all.
        """
        columns = np.arange(self.M) if columns is None else np.asarray(columns)
        used = np.union1d([0], columns)
        K, size = self.K, len(used)
        own, shared = np.zeros((K, size, size)), np.zeros((K - 1, 0, size))
        if self.priors_free:
            own[:, 0, 0] = 1 / self.prior_counts
        for fitted, span in self._spans():
            _place(own, fitted, span, used)
            loadings = fitted.shared_loadings()
            if loadings is not None:
                shared = np.concatenate([shared, _spread(loadings, span, self.M)[..., used]], axis=1)
        at = np.searchsorted(used, columns)
        own, shared = own[:, at[:, None], at], shared[..., at]
        V = np.einsum("kja,ljb->kalb", shared, shared) + own[0][None, :, None, :]
        for k in range(K - 1):
            V[k, :, k] += own[k + 1]
        return V.reshape((K - 1) * len(at), (K - 1) * len(at))

    def covariance_times(self, J: ndarray) -> ndarray:
        """Products J V of rows J (e, (K-1) M) with `covariance`, which has M^2 numbers and is not formed."""
        J = J.reshape(len(J), self.K - 1, self.M)
        own = np.concatenate([J.sum(axis=1, keepdims=True), J], axis=1)  # class 0 is in every equation
        V, common = np.zeros_like(own), np.zeros_like(J)
        if self.priors_free:
            V[..., 0] += own[..., 0] / self.prior_counts
        for fitted, span in self._spans():
            p = fitted.family.p
            W, slopes = fitted.class_covariance(), own[:, :, span].reshape(*own.shape[:2], p, -1)
            V[..., 0] += W[..., 0, 0].sum(axis=1) * own[..., 0] + np.einsum("kjt,ekjt->ek", W[..., 0, 1:], slopes)
            both = np.einsum("kjst,ekjs->ekjt", W[..., 1:, 1:], slopes) + W[..., 0, 1:] * own[:, :, 0, None, None]
            V[:, :, span] += both.reshape(*own.shape[:2], -1)
            loadings = fitted.shared_loadings()
            if loadings is not None:
                inside = J[:, :, span].reshape(*J.shape[:2], p, -1)
                shares = J[..., 0] @ loadings[..., 0] + np.einsum("kjt,ekjt->ej", loadings[..., 1:], inside)
                common[..., 0] += shares @ loadings[..., 0].T
                common[:, :, span] += np.einsum("ej,kjt->ekjt", shares, loadings[..., 1:]).reshape(*J.shape[:2], -1)
        return (V[:, 1:] + V[:, :1] + common).reshape(len(J), -1)

    # likelihood

    @cached_property
    def llf_parts(self) -> ndarray:
        """Log-likelihood of each feature in each class, (K, p), at the maximum, or the estimates where smoothed."""
        parts = zip(self.features, self.statistics)
        return np.concatenate([self._likeliest(f, s).loglik(s) for f, s in parts], axis=1)

    def _likeliest(self, fitted: Fitted, statistics: Statistics) -> Fitted:
        """The estimates that the likelihood is taken at: the maximum, whatever the divisor of variances."""
        family = fitted.family
        return fitted if family.mle == family else family.mle.fit(statistics, self.smoothing)

    @property
    def llf_priors(self) -> float:
        """Log-likelihood of the class counts, sum_k n_k log pi_k."""
        used = self.counts > 0
        return float(self.counts[used] @ self.log_priors[used])

    @property
    def llf(self) -> float:
        """Joint log-likelihood; it includes log(m!/prod x!) of multinomials, and is conditional on their totals."""
        return self.llf_priors + float(self.llf_parts.sum())

    @property
    def llnull(self) -> float:
        """Joint log-likelihood where no feature depends on the class."""
        return self.llf_priors + float(_null(self.families, self.statistics, self.smoothing).sum())

    def likelihood_ratios(self) -> tuple[ndarray, ndarray]:
        """For each feature 2 (sum_k ll_jk - ll_j) and its degrees of freedom, (p,); smoothing is left out.

        A table's is the G^2 of class by level, of the levels that some row has.
        """
        own = np.concatenate([f.mle.fit(s).loglik(s).sum(axis=0) for f, s in zip(self.families, self.statistics)])
        return 2 * (own - _null(self.families, self.statistics, 0.0)), self.df

    @property
    def df(self) -> ndarray:
        """Parameters of each feature beyond those of one law for all classes, (p,), of levels that some row has."""
        parts = []
        for f, seen in zip(self.families, self._seen_levels(), strict=True):
            df = np.full(f.p, (f.k_params(self.K) - f.k_params(1)) // f.p)
            parts.append(df if seen is None else df - (self.K - 1) * _unused(seen))
        return np.concatenate(parts)

    def _seen_levels(self) -> list[ndarray | None]:
        """Masks of the levels that some row has, group by group."""
        return [f.seen_levels(s) for f, s in zip(self.families, self.statistics, strict=True)]

    def tested(self) -> tuple[ndarray, ndarray]:
        """Which coefficients of an equation, compared with which others, depend on the class where a feature does.

        A coefficient of a level that no row has is that of the pseudo-counts alone, and a common shift of a block of
        counts changes no share: levels that some row has are compared with the first of these.

        Returns
        -------
        kept : (M,) bool ndarray
            Mask of the coefficients that are tested.
        base : (M,) integer ndarray
            Place of the coefficient that is taken off from each, or its own place.
        """
        kept, base = np.ones(self.M, dtype=bool), np.arange(self.M)
        for (fitted, span), seen in zip(self._spans(), self._seen_levels(), strict=True):
            if seen is None:
                continue
            width = fitted.family.width
            implied = seen.shape[1] - width  # whether the first level has no coefficient, as it is 0
            columns = np.arange(span.start, span.stop).reshape(len(seen), width)
            first = seen.argmax(axis=1) - implied
            own = seen[:, implied:] & (np.arange(width) != first[:, None])
            kept[columns] = own
            base[columns] = np.where(own & (first >= 0)[:, None], columns[:, :1] + first[:, None], columns)
        return kept, base

    @property
    def k_params(self) -> int:
        """Number of free parameters."""
        return (self.K - 1) * self.priors_free + sum(f.k_params(self.K) for f in self.families)

    @property
    def k_params_null(self) -> int:
        """Number of free parameters where no feature depends on the class."""
        return (self.K - 1) * self.priors_free + sum(f.k_params(1) for f in self.families)

    @property
    def effective_params(self) -> float:
        """Number of free parameters, those of a smoothed table counted as (L-1) n/(n + a L)."""
        parts = [f.family.k_params(self.K) if _fixed(f.family) else f.effective().sum() for f in self.features]
        return (self.K - 1) * self.priors_free + float(sum(parts))

    # natural parameters

    def parameters(self) -> list[Parameter]:
        """Log prior odds, then every feature's parameters class by class, with standard errors."""
        found = []
        if self.priors_free:
            odds = self.log_priors[1:] - self.log_priors[0]
            se = np.sqrt(1 / self.prior_counts[1:] + 1 / self.prior_counts[0])
            found = [Parameter("log_prior_odds", None, None, k + 1, *v) for k, v in enumerate(_pairs(odds, se))]
        for start, fitted in zip(self.starts, self.features):
            estimates = fitted.estimates()
            for j in range(fitted.family.p):
                for k in range(self.K):
                    found.extend(
                        Parameter(e.name, start + j, e.level, k, float(e.value[k, j]), float(e.se[k, j]))
                        for e in estimates
                        if len(e.value) == self.K
                    )
                found.extend(
                    Parameter(e.name, start + j, e.level, None, float(e.value[0, j]), float(e.se[0, j]))
                    for e in estimates
                    if len(e.value) != self.K
                )
        return found

    def zero_cells(self) -> list[ZeroCell]:
        """Probabilities and rates estimated as 0, whose logs are -inf."""
        return [
            z._replace(feature=start + z.feature)
            for start, fitted in zip(self.starts, self.features)
            for z in fitted.zero_cells()
        ]


def _pairs(value: ndarray, se: ndarray) -> Iterator[tuple[float, float]]:
    return zip(value.tolist(), se.tolist())


def _unused(seen: ndarray) -> ndarray:
    """Number of levels that no row has, but for one if these are all, by feature."""
    return np.minimum((~seen).sum(axis=1), seen.shape[1] - 1)


def _fixed(family: Family) -> bool:
    """Whether smoothing does not change a family's estimates."""
    return family.name not in ("bernoulli", "categorical", "multinomial")


def _null(families: Sequence[Family], statistics: Sequence[Statistics], smoothing: float) -> ndarray:
    """Log-likelihood of each feature with one law for all classes, (p,)."""
    one = [s.together() for s in statistics]
    return np.concatenate([f.mle.fit(s, smoothing).loglik(s)[0] for f, s in zip(families, one)])


def _place(own: ndarray, fitted: Fitted, span: slice, used: ndarray) -> None:
    """Write a group's covariances into (K, c, c), c columns `used`: its slopes, and its share of the intercept."""
    p, m = fitted.family.p, fitted.family.width
    inside = used[(used >= span.start) & (used < span.stop)] - span.start
    blocks = fitted.class_covariance(inside if p == 1 else None)
    own[:, 0, 0] += blocks[..., 0, 0].sum(axis=1)
    for j in np.unique(inside // m):
        T = inside[inside // m == j]
        at = np.searchsorted(used, T + span.start)
        within = 1 + (np.arange(len(T)) if p == 1 else T - j * m)
        own[:, at[:, None], at] = blocks[:, j][:, within[:, None], within]
        own[:, 0, at] = own[:, at, 0] = blocks[:, j, 0][:, within]


def _spread(loadings: ndarray, span: slice, M: int) -> ndarray:
    """Loadings (K-1, p, 1+m) as an array (K-1, p, M): entry 0, and each feature's own columns."""
    p, m = loadings.shape[1], loadings.shape[2] - 1
    out = np.zeros((len(loadings), p, M))
    out[..., 0] = loadings[..., 0]
    for j in range(p):
        out[:, j, span.start + j * m : span.start + (j + 1) * m] = loadings[:, j, 1:]
    return out
