"""Likelihood ratio tests of the independence of features within classes, of every pair in every class.

Tables (bernoulli, categorical): G^2 of the class's two-way table. Numbers: -n log(1 - r^2), the likelihood ratio of a
bivariate normal against two normals. A number beside a table: the law of the number by level of the table against one
law for all. For gaussian and gamma features that is n log(SST/SSW) of x, or of log x: normal laws that differ in
their means and have equal variances, the likelihood ratio behind the F test. Each is about chi-squared if the two are
independent given the class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray
from scipy.special import chdtrc, xlogy

from glmclf.core.naive_bayes.families import Categorical, Family, GaussianFamily
from glmclf.core.naive_bayes.fit import NaiveBayesFit
from glmclf.core.numerics.constants import EPS

TABLES = ("bernoulli", "categorical")
ROUNDED_REST_OF_CORRELATION = 1e-12  # 1 - r^2 below this is rounding
ROUNDED_REST_OF_SQUARES = 1e-12  # share of a sum of squares about the mean, below which all values are equal


class PairTest(NamedTuple):
    """Test of one pair in one class, by position."""

    klass: int
    first: int
    second: int
    statistic: float
    df: float
    pvalue: float


def pair_tests(
    families: Sequence[Family], values: Sequence[ndarray], y: ndarray, w: ndarray | None, K: int
) -> list[PairTest]:
    """Tests of all pairs of features in all classes; NaN where there is none (blocks of counts, too few rows).

    Parameters
    ----------
    families : sequence of Family
        One a feature.
    values : sequence of ndarrays
        One a feature, NaN (codes: -1) where missing.
    y : (n,) integer ndarray
    w : (n,) ndarray or None
        Frequency weights.

    Returns
    -------
    list of PairTest
        Class by class, pairs in the order of the features.

    References
    ----------
    Agresti (2013), Categorical Data Analysis, section 3.2. Anderson (2003), section 9.9.
    """
    found: list[PairTest] = []
    first, second = np.triu_indices(len(families), 1)
    for k in range(K):
        rows = np.flatnonzero(y == k)
        part = [as_tested(f, v[rows]) for f, v in zip(families, values)]
        statistic, df = _tests(families, part, None if w is None else w[rows])
        G, free = statistic[first, second], df[first, second]
        p = chdtrc(free, np.maximum(G, 0.0))
        found.extend(map(PairTest._make, zip([k] * len(G), *(c.tolist() for c in (first, second, G, free, p)))))
    return found


def as_tested(family: Family, v: ndarray) -> ndarray:
    """Values on the scale of the test: codes of a table, logs of a gamma."""
    if isinstance(family, Categorical):
        return family.codes(v)
    return np.log(v) if family.name == "gamma" else np.asarray(v, dtype=float)


def _tests(families: Sequence[Family], part: list[ndarray], w: ndarray | None) -> tuple[ndarray, ndarray]:
    """Statistics and degrees of freedom of the pairs (a, b), a < b, in one class, (p, p); NaN where there is none."""
    p = len(families)
    numbers = [j for j, f in enumerate(families) if f.name not in (*TABLES, "multinomial")]
    tables = [j for j, f in enumerate(families) if f.name in TABLES]
    G, df = np.full((p, p), np.nan), np.full((p, p), np.nan)
    f = np.ones(len(part[0])) if w is None else np.asarray(w, dtype=float)
    X = np.column_stack([part[j] for j in numbers]) if numbers else np.empty((len(f), 0))
    if len(numbers) > 1:
        at = np.ix_(numbers, numbers)
        G[at] = _correlations(X, f)
        df[at] = np.where(np.isnan(G[at]), np.nan, 1.0)
    onehot, starts = _onehot([families[j] for j in tables], [part[j] for j in tables])
    spans = zip(tables, starts, [*starts[1:], onehot.shape[1]])
    for a, start, stop in spans:
        levels = (onehot[:, start:stop] * f[:, None]).T.tocsr()
        G[a, tables], df[a, tables] = _of_tables((levels @ onehot).toarray(), starts)
        if numbers:
            G[a, numbers], df[a, numbers] = _of_numbers([families[j] for j in numbers], levels, X)
            # the pair may come in either order
            G[numbers, a], df[numbers, a] = G[a, numbers], df[a, numbers]
    return G, df


def _onehot(families: Sequence[Any], codes: Sequence[ndarray]) -> tuple[Any, ndarray]:
    """Indicators of all levels of all tables, sparse (n, levels), and the first column of each table."""
    from scipy.sparse import csr_array

    if not families:
        return csr_array((0, 0)), np.zeros(0, dtype=int)
    ends = np.cumsum([f.levels for f in families])
    starts = ends - [f.levels for f in families]
    cells = np.column_stack(codes) + starts
    seen = np.column_stack(codes) >= 0
    row_ends = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
    return csr_array((np.ones(row_ends[-1]), cells[seen], row_ends), shape=(len(cells), int(ends[-1]))), starts


def _of_tables(cells: ndarray, starts: ndarray) -> tuple[ndarray, ndarray]:
    """G^2 of a table by other tables, side by side in `cells` (L, all levels), and degrees of freedom; empty levels do
    not count."""
    own = np.add.reduceat(cells, starts, axis=1)  # margins of the rows that have both
    other = cells.sum(axis=0)
    n = own.sum(axis=0)
    by_cell = np.add.reduceat(xlogy(cells, cells).sum(axis=0) - xlogy(other, other), starts)
    df = ((own > 0).sum(axis=0) - 1.0) * (np.add.reduceat(other > 0, starts, dtype=float) - 1.0)
    G = 2 * (by_cell - xlogy(own, own).sum(axis=0) + xlogy(n, n))
    tested = (n > 0) & (df > 0)
    return np.where(tested, G, np.nan), np.where(tested, df, np.nan)


def _of_numbers(families: Sequence[Family], levels: Any, X: ndarray) -> tuple[ndarray, ndarray]:
    """Likelihood ratio of numbers (n, q) with a law a level of a table, weighted indicators (L, n), against one law."""
    seen = ~np.isnan(X)
    filled = np.where(seen, X, 0.0)
    normal = np.array([f.name in ("gaussian", "gamma") for f in families])
    centre = np.where(normal, filled.sum(axis=0) / np.maximum(seen.sum(axis=0), 1), 0.0)
    D = np.where(seen, filled - centre, 0.0)
    n, sums = levels @ seen.astype(float), levels @ D
    N, total = n.sum(axis=0), sums.sum(axis=0)
    with np.errstate(all="ignore"):
        mean, grand = np.where(n > 0, sums / n, 0.0), total / N
        between = (n * (mean - grand) ** 2).sum(axis=0)
        spread = (levels @ (D * D)).sum(axis=0) - N * grand**2
        share = 1 - between / spread
        constant = spread <= N * (8 * EPS * np.abs(filled).max(axis=0, initial=0.0)) ** 2
        constant |= spread <= ROUNDED_REST_OF_SQUARES * (levels @ (D * D)).sum(axis=0)
        found = {
            "poisson": 2 * (xlogy(sums, mean).sum(axis=0) - xlogy(total, grand)),
            "exponential": 2 * (N * np.log(grand) - xlogy(n, mean).sum(axis=0)),
        }
        none = constant | (share <= ROUNDED_REST_OF_CORRELATION)
        gaussian = np.where(none, np.nan, -N * np.log(np.minimum(share, 1.0)))
    G = np.where(normal, gaussian, 0.0)
    for j in np.flatnonzero(~normal).tolist():
        G[j] = found[families[j].name][j]
    df = (n > 0).sum(axis=0) - 1.0
    tested = (df > 0) & np.isfinite(G)
    return np.where(tested, G, np.nan), np.where(tested, df, np.nan)


def _correlations(X: ndarray, f: ndarray) -> ndarray:
    """-n log(1 - r^2) of pairs of numbers (n, q) on the rows that have both, (q, q); f are frequencies."""
    seen = ~np.isnan(X)
    n_own = f @ seen
    X = np.where(seen, X, 0.0)
    X = np.where(seen, X - f @ X / np.where(n_own > 0, n_own, 1.0), 0.0)
    S = seen * f[:, None]
    n, sums, products, squares = S.T @ seen, (X * f[:, None]).T @ seen, (X * f[:, None]).T @ X, (X**2).T @ S
    with np.errstate(all="ignore"):
        spread = squares - sums**2 / n
        spread = np.where(spread > ROUNDED_REST_OF_SQUARES * squares, spread, np.nan)  # constant in rows that have both
        left = 1 - (products - sums * sums.T / n) ** 2 / (spread * spread.T)
        G = np.where((left > ROUNDED_REST_OF_CORRELATION) & (n > 2), -n * np.log(np.minimum(left, 1.0)), np.nan)
        return np.where((left <= ROUNDED_REST_OF_CORRELATION) & (n > 2) & (spread > 0) & (spread.T > 0), np.inf, G)


# ---------------------------------------------------------------------------------------------------- joined pairs
def joined(
    fit: NaiveBayesFit, values: Sequence[ndarray], y: ndarray, w: ndarray | None, first: int, second: int
) -> ndarray | None:
    """Change log f(x_a, x_b) - log f(x_a) - log f(x_b) of each row and class if the pair is modelled jointly, (n, K).

    Two tables become one joint table, two gaussian features a bivariate normal law; other pairs have none (None). 0 in
    rows that lack one of the two. None also where a class has no row with both.
    """
    parts = [fit.alone(j) for j in (first, second)]
    families: list[Any] = [p.families[0] for p in parts]
    a, b = values[first], values[second]
    apart = parts[0].log_joint([a]) + parts[1].log_joint([b]) - 2 * fit.log_priors
    if all(isinstance(f, Categorical) for f in families):
        u, v = (f.codes(x) for f, x in zip(families, (a, b)))
        both = (u >= 0) & (v >= 0)
        law = Categorical(families[0].levels * families[1].levels)
        codes = np.where(both, u * families[1].levels + v, -1)
        if fit.smoothing == 0 and not np.bincount(y[both], minlength=fit.K).all():
            return None
        together = law.fit(law.statistics(codes, y, w, fit.K), fit.smoothing).log_density(codes)
    elif all(isinstance(f, GaussianFamily) for f in families):
        both = ~(np.isnan(a) | np.isnan(b))
        lost = 0.0 if families[0].divisor == "mle" else float(fit.K) if families[0].pooled else 1.0
        found = _bivariate(np.column_stack([a, b]), y, w, fit.K, both, families[0].pooled, lost)
        if found is None:
            return None
        together = found
    else:
        return None
    with np.errstate(invalid="ignore"):
        return np.where(both[:, None], together - apart, 0.0)


def _bivariate(
    X: ndarray, y: ndarray, w: ndarray | None, K: int, both: ndarray, pooled: bool, lost: float
) -> ndarray | None:
    """log density of a bivariate normal law a class, with one covariance if pooled; None where it is singular, or a
    class has no row with both."""
    f = (np.ones(len(X)) if w is None else w) * both
    X = np.where(both[:, None], X, 0.0)
    means, scatter, n = np.zeros((K, 2)), np.zeros((K, 2, 2)), np.bincount(y, f, K)
    for k in range(K):
        own = f * (y == k)
        means[k] = own @ X / (n[k] if n[k] > 0 else 1.0)
        D = X - means[k]
        scatter[k] = (D * own[:, None]).T @ D
    if not (n > 0).all() or (n.sum() if pooled else n.min()) <= lost:
        return None
    whole = scatter.sum(axis=0) / (n.sum() - lost)
    S = np.broadcast_to(whole, scatter.shape) if pooled else scatter / (n - lost)[:, None, None]
    with np.errstate(divide="ignore", invalid="ignore"):  # constant among the rows that have both
        share = 1 - S[:, 0, 1] ** 2 / (S[:, 0, 0] * S[:, 1, 1])
    if not (share > ROUNDED_REST_OF_CORRELATION).all():
        return None
    out = np.empty((len(X), K))
    for k in range(K):
        z = (X - means[k]) / np.sqrt(np.diag(S[k]))
        r = S[k, 0, 1] / np.sqrt(S[k, 0, 0] * S[k, 1, 1])
        distance = z[:, 0] ** 2 + (z[:, 1] - r * z[:, 0]) ** 2 / share[k]
        out[:, k] = -0.5 * distance - np.log(2 * np.pi) - 0.5 * np.log(S[k, 0, 0] * S[k, 1, 1] * share[k])
    return out
