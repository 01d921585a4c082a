"""Tests of fit by moments: sums over the rows that are 0 in expectation if the fitted probabilities are right.

A moment gives each outcome j of a row a number d_j with sum_j p_j d_j = 0. Its total over what was observed, less what
estimation takes out of it, is compared with the covariance that the fitted probabilities imply: no outer product of
sums, whose tests reject far too often, is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray
from scipy.special import chdtrc

from glmclf.core.design.arrow import of_levels as of_many_levels
from glmclf.core.design.dense import Dense
from glmclf.core.design.product import triangular_inverse
from glmclf.core.fit.coordinates import placed
from glmclf.core.likelihood.pointwise import Multinomial
from glmclf.core.numerics.triangular import qr_factor
from glmclf.core.rows.summed import Summed, added_by

MAX_MOMENT_ENTRIES = 2**21  # entries of the arrays of scores and moments of rows that are handled at a time
EXPLAINED_MOMENT = 1e-8  # share of a moment's standard deviation left by estimation, below which it is rounding
EXPLAINED_DIRECTION = 1e-5  # such a share where moments are many, and some directions among them next to none


class MomentTest(NamedTuple):
    """A chi-squared test of moments.

    Attributes
    ----------
    statistic : float
    df : int
        Rank of the covariance of the moments.
    pvalue : float
        NaN with no degree of freedom.
    """

    statistic: float
    df: int
    pvalue: float


class PossibleOutcomes(NamedTuple):
    """Possible outcomes of each row of a block, by class: the reference, or the other class, first.

    Attributes
    ----------
    X : Columns or (n, k) ndarray
    eta : (n, q) ndarray
    p, rest : (n, K) ndarrays
        Probabilities and their complements.
    score : (n, K, q) ndarray
        d log p_j / d eta.
    second : (n, K, q, q) ndarray
        (d^2 p_j / d eta d eta') / p_j.
    """

    X: ndarray
    eta: ndarray
    p: ndarray
    rest: ndarray
    score: ndarray
    second: ndarray


def moment_test(
    objective: Any,
    theta: ndarray,
    root: Any,
    kept: ndarray | None,
    moments: Callable[[PossibleOutcomes], ndarray],
    c: int,
    expanded: bool = False,
) -> MomentTest:
    """Moment test m' C^+ m, m the sum of the moments of the observed outcomes, C its covariance given the regressors.

    With s_ij the score of outcome j of row i and A the expected information, estimation makes of a moment d_ij

        e_ij = d_ij - G A^-1 s_ij,     G = sum_ij m_i p_ij d_ij s_ij',     C = sum_ij m_i p_ij e_ij e_ij'

    for m_i observations in row i. With d_ij = s_ij z_i this is Rao's score test of the added regressors z; with the
    second derivatives of the likelihood it is Orme's form of White's information matrix test. An estimate that is no
    maximum (bias reduction) has its score taken out of m.

    Parameters
    ----------
    objective : Objective
        Of all rows.
    theta : (p,) ndarray
        The estimate.
    root : (p, d) ndarray or ArrowFactor
        T with T T' = A^-1, or that of the directions left free; beside many levels A itself, factored.
    kept : (d,) integer ndarray or None
        Parameters that the factor is of; None where it is of all.
    moments : callable
        PossibleOutcomes -> (n, K, c) ndarray.
    c : int
        How many.
    expanded : bool
        Whether the moments read all columns of X.

    Returns
    -------
    MomentTest

    References
    ----------
    Newey (1985), Econometrica 53, 1047-1070. Orme (1988), The calculation of the information matrix test for binary
    data models, The Manchester School 56, 370-376.
    """
    likelihood, q = objective.likelihood, objective.likelihood.n_eta
    k = len(theta) // q
    wide = k if expanded or of_many_levels(objective.blocks) is None else 0
    size = max(16, MAX_MOMENT_ENTRIES // ((q + 1) * (c + q * q) + wide))
    blocks = objective.blocks.rechunk(min(size, objective.blocks.size))

    def parts(X, y, m, offset, weights):
        o = outcomes(likelihood, X, offset, theta)
        counts = counted(y, m, q + 1)
        counts = counts if weights is None else counts * weights[:, None]
        return o, counts, counts.sum(axis=1)[:, None] * o.p, moments(o)

    def explained(X, *rest):
        X = Dense(X.toarray()) if expanded else X
        o, _, expected, d = parts(X, *rest)
        by_eta = np.einsum("njc,njq,nj->nqc", d, o.score, expected)
        return X.times(by_eta.reshape(len(d), q * c)).reshape(k, q, c).transpose(2, 1, 0).reshape(c, q * k)

    def left(X, *rest):
        X = Dense(X.toarray()) if expanded else X
        o, counts, expected, d = parts(X, *rest)
        of_eta = (X @ taken.reshape(q, k, c).transpose(1, 0, 2).reshape(k, q * c)).reshape(len(d), q, c)
        e = (d - np.einsum("njq,nqc->njc", o.score, of_eta)).reshape(expected.size, c)
        seen, expected, d = counts.ravel(), expected.ravel(), d.reshape(expected.size, c)
        there = seen > 0
        return MomentSums(e[there].T @ seen[there], _triangle(e * np.sqrt(expected)[:, None]), expected @ d**2)

    G, taken = _taken_out(blocks.sum(explained), root, kept)
    return blocks.sum(left).test(G)


def _taken_out(G: ndarray, root: Any, kept: ndarray | None) -> tuple[ndarray, ndarray]:
    """Covariance (c, d) of moments with scores whose covariance is I, and coefficients A^-1 G' (p, c) of these."""
    if isinstance(root, ndarray):
        G = G @ root
        return G, root @ G.T
    inner = G.T if kept is None else G.T[kept]
    taken = root.solve(inner)
    return root.half_solved(inner).T, taken if kept is None else placed(taken, kept, G.shape[1])


@dataclass(frozen=True)
class MomentSums(Summed):
    """Sums of moments over rows; + adds those of more rows.

    Attributes
    ----------
    total : (c,) ndarray
        Of what was observed.
    factor : (r, c) ndarray
        R with R'R their covariance, which a sum of squares would know to half its digits.
    scale : (c,) ndarray
        Their variances before estimation.
    """

    total: ndarray
    factor: ndarray = field(metadata=added_by(lambda a, b: _triangle(np.vstack([a, b]))))
    scale: ndarray

    def test(self, explained: ndarray | None = None) -> MomentTest:
        """Chi-squared test m' C^+ m; directions of which estimation leaves next to nothing do not count.

        With G (c, d) = `explained` of scores whose covariance is I, the covariance before estimation is C + G G'; what
        is left is measured against that, so that the test is the same in all coordinates.
        """
        used = self.scale > 0
        unit = np.sqrt(self.scale[used])
        if not (used.any() and np.isfinite(self.factor).all() and np.isfinite(self.total).all()):
            return MomentTest(np.nan, 0, np.nan)
        factor, total = self.factor[:, used] / unit, self.total[used] / unit
        if explained is not None:
            P = _whitening(np.vstack([factor, (explained[used] / unit[:, None]).T]))
            factor, total = factor @ P, P.T @ total
        _, values, Vt = np.linalg.svd(factor, full_matrices=False)
        kept = values > (EXPLAINED_MOMENT if len(unit) <= 2 else EXPLAINED_DIRECTION)
        z = Vt[kept] @ total / values[kept]
        df, statistic = int(kept.sum()), float(z @ z)
        return MomentTest(statistic, df, float(chdtrc(df, statistic))) if df else MomentTest(np.nan, 0, np.nan)


def _whitening(factor: ndarray) -> ndarray:
    """P with P'(R'R)P = I for a factor R, without directions that it has none of."""
    _, values, Vt = np.linalg.svd(factor, full_matrices=False)
    kept = values > EXPLAINED_MOMENT * values.max()
    return Vt[kept].T / values[kept]


def _triangle(A: ndarray) -> ndarray:
    """R of A = QR."""
    return qr_factor(A) if np.isfinite(A).all() else np.full((1, A.shape[1]), np.nan)


def counted(y: ndarray, m: ndarray | None, K: int) -> ndarray:
    """Observations of each outcome in each row, (n, K)."""
    if y.ndim == 2:
        return y
    if K == 2 and (m is not None or y.dtype.kind == "f"):
        return np.column_stack([(1.0 if m is None else m) - y, y])
    return (y[:, None] == np.arange(K)).astype(float)


def outcomes(likelihood: Any, X: Any, offset: ndarray | None, theta: ndarray) -> PossibleOutcomes:
    """PossibleOutcomes of some rows of a design at a parameter."""
    if isinstance(likelihood, Multinomial):
        eta = X @ theta.reshape(X.shape[1], -1, order="F")
        if offset is not None and offset.ndim == 2 and offset.shape[1] > eta.shape[1]:  # of all classes, some -inf
            return _of_predictors(X, np.column_stack([offset[:, :1], offset[:, 1:] + eta]))
        if offset is not None:
            eta = eta + (offset if offset.ndim == 2 else offset[:, None])
        return of_levels(X, eta)
    eta = X @ theta if offset is None else X @ theta + offset
    link, t = likelihood.link, likelihood.link.terms(eta)
    p, rest = np.column_stack([link.sf(eta), link.cdf(eta)]), np.column_stack([link.cdf(eta), link.sf(eta)])
    score = np.column_stack([-t.r0, t.r1])
    second = score * link.dlogpdf(eta)[:, None]
    return PossibleOutcomes(X, eta[:, None], p, rest, score[:, :, None], second[:, :, None, None])


def of_levels(X: Any, eta: ndarray) -> PossibleOutcomes:
    """PossibleOutcomes of a multinomial logit with linear predictors eta (n, K-1) against the first class."""
    return _of_predictors(X, np.column_stack([np.zeros(len(eta)), eta]))


def _of_predictors(X: Any, z: ndarray) -> PossibleOutcomes:
    """PossibleOutcomes of a multinomial logit with predictors z (n, K); classes ruled out, at -inf, add nothing."""
    _, p, rest = Multinomial.softmax(z)
    eta, K = Multinomial.log_odds(z)[:, 1:], p.shape[1]
    score = np.where(np.eye(K, dtype=bool), rest[:, None, :], -p[:, None, :])[:, :, 1:]
    P = p[:, 1:]
    W = -P[:, :, None] * P[:, None, :]
    j = np.arange(K - 1)
    W[:, j, j] = P * rest[:, 1:]
    second = score[:, :, :, None] * score[:, :, None, :] - W[:, None]
    return PossibleOutcomes(X, eta, p, rest, score, second)


def sum_of_squares(o: PossibleOutcomes) -> ndarray:
    """Half of sum_k (y_k - p_k)^2 less its expectation: with two classes (y - p)^2 - p (1 - p).

    The unweighted sum of squares of Copas (1989), Applied Statistics 38, 71-80; le Cessie & van Houwelingen (1991),
    Biometrics 47, 1267-1282; Hosmer, Hosmer, le Cessie & Lemeshow (1997), Statistics in Medicine 16, 965-980.
    """
    squares = o.p * o.p
    others = np.column_stack([np.delete(squares, j, axis=1).sum(axis=1) for j in range(squares.shape[1])])
    return (others - o.p * o.rest)[:, :, None]


def stukel(o: PossibleOutcomes) -> ndarray:
    """Score of the added regressors eta^2/2 where eta >= 0 and -eta^2/2 where it is below: tails heavier or lighter
    than the logistic (Stukel 1988, JASA 83, 426-431)."""
    half = 0.5 * o.eta**2
    z = np.column_stack([np.where(o.eta >= 0, half, 0.0), np.where(o.eta < 0, -half, 0.0)])
    return o.score * z[:, None, :]


def n_indicators(k: int, q: int, diagonal: bool) -> int:
    """Number of moments of `information_matrix`."""
    return k * q if diagonal else k * (k + 1) // 2 * (q * (q + 1) // 2)


def information_matrix(
    diagonal: bool, unit: ndarray | None = None, columns: Callable[[Any], ndarray] = lambda X: X.toarray()
) -> Callable[[PossibleOutcomes], ndarray]:
    """Second derivatives of the likelihood over the likelihood: outer products of scores plus Hessians.

    Parameters
    ----------
    diagonal : bool
        Whether only those in one parameter twice.
    unit : (k, k) ndarray, optional
        Coordinates of the regressors, X @ unit; the full test is the same in all.
    columns : callable
        X -> (n, k) ndarray; by default all columns.

    References
    ----------
    White (1982), Econometrica 50, 1-25.
    """

    def moments(o: PossibleOutcomes) -> ndarray:
        X = columns(o.X) if unit is None else columns(o.X) @ unit
        k, q = X.shape[1], o.score.shape[2]
        i, j = (np.arange(k),) * 2 if diagonal else np.triu_indices(k)
        a, b = (np.arange(q),) * 2 if diagonal else np.triu_indices(q)
        products, second = X[:, i] * X[:, j], o.second[:, :, a, b]
        return (second[:, :, :, None] * products[:, None, None, :]).reshape(*o.p.shape, -1)

    return moments


def information_matrix_along(
    directions: ndarray, diagonal: bool, columns: Callable[[Any], ndarray] = lambda X: X.toarray()
) -> Callable[[PossibleOutcomes], ndarray]:
    """Moments of the information matrix in d parameters, the directions (p, d) in which an estimate is free."""

    def moments(o: PossibleOutcomes) -> ndarray:
        X, q, d = columns(o.X), o.score.shape[2], directions.shape[1]
        k = X.shape[1]
        Z = np.tensordot(X, directions.reshape(q, k, d), axes=(1, 1))
        half = np.einsum("nkab,nbj->nkaj", o.second, Z)
        if diagonal:
            return np.einsum("naj,nkaj->nkj", Z, half)
        i, j = np.triu_indices(d)
        return np.einsum("nai,nkaj->nkij", Z, half)[:, :, i, j]

    return moments


def orthogonal(objective: Any, columns: Callable[[Any], ndarray] = lambda X: X.toarray()) -> ndarray:
    """Basis T (k, k) with orthogonal columns of X T over all observations, each of mean square one."""

    def sums(X, y, m, offset, weights):
        times = np.ones(X.shape[0]) if m is None else m
        times = times if weights is None else times * weights
        A = columns(X) * np.sqrt(times)[:, None]
        return MomentSums(times.sum(), _triangle(A), np.zeros(0))

    found = objective.blocks.sum(sums)
    return triangular_inverse(found.factor) * np.sqrt(found.total)


def covered(o: PossibleOutcomes, d: ndarray, times: ndarray) -> ndarray:
    """G = sum_ij m_i p_ij d_ij s_ij' of a logit in the columns of `o.X`, (c, p); additive over blocks."""
    G: Any = 0.0
    for j in range(o.p.shape[1]):
        s = (o.score[:, j, :, None] * o.X[:, None, :]).reshape(len(o.X), -1)
        G = G + (d[:, j] * (times * o.p[:, j])[:, None]).T @ s
    return G


def estimated_otherwise(
    counts: ndarray, o: PossibleOutcomes, d: ndarray, G: ndarray, influence: Callable[[int], ndarray], n: float
) -> MomentSums:
    """MomentSums with an estimate that is not the conditional likelihood's: e_ij = d_ij - G psi_ij / n.

    Parameters
    ----------
    counts : (m, K) ndarray
        Observations of each class in some rows.
    o : PossibleOutcomes
        Theirs, X with the functions that the log-odds are linear in.
    d : (m, K, c) ndarray
        MomentSums.
    G : (c, p) ndarray
        `covered` of all rows.
    influence : callable
        j -> (m, p) influence of each row on the coefficients, had it been of class j.
    n : float
        All observations.

    References
    ----------
    Andrews (1988), Chi-square diagnostic tests for econometric models, Journal of Econometrics 37, 135-156.
    """
    found: Any = None
    for j in range(counts.shape[1]):
        e, expected = d[:, j] - influence(j) @ G.T / n, counts.sum(axis=1) * o.p[:, j]
        part = MomentSums(counts[:, j] @ d[:, j], _triangle(e * np.sqrt(expected)[:, None]), expected @ d[:, j] ** 2)
        found = part if found is None else found + part
    return found


def group_moments(o: PossibleOutcomes, group: ndarray, n_groups: int) -> ndarray:
    """Observed less expected counts of every class but the first in each group, (n, K, groups (K-1))."""
    members = (group[:, None] == np.arange(n_groups)).astype(float)
    return (o.score[:, :, None, :] * members[:, None, :, None]).reshape(*o.p.shape, -1)
