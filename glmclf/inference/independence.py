"""Do features depend on each other within classes? Likelihood ratio tests of every pair in every class.

Tables (bernoulli, categorical): G^2 of the class's two-way table. Numbers: -n log(1 - r^2), the likelihood ratio of a
bivariate normal against two normals. A number beside a table: the law of the number by level of the table against one
law for all (gaussian and gamma: means of x, of log x, with one variance). Each is about chi-squared if the two are
independent given the class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray
from scipy.special import chdtrc

from glmclf.core.families import Categorical, Family, Gaussian
from glmclf.core.naive_bayes import NaiveBayesFit

TABLES = ("bernoulli", "categorical")
SINGULAR = 1e-12  # 1 - r^2 below this is rounding


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
    found = []
    for k in range(K):
        rows = np.flatnonzero(y == k)
        part = [as_tested(f, v[rows]) for f, v in zip(families, values)]
        weights = None if w is None else w[rows]
        numbers = _correlations(families, part, weights)
        for a in range(len(part)):
            for b in range(a + 1, len(part)):
                statistic, df = numbers.get((a, b)) or _with_table(families, part, weights, a, b)
                p = float(chdtrc(df, max(statistic, 0.0))) if df > 0 else np.nan
                found.append(PairTest(k, a, b, statistic if df > 0 else np.nan, df, p))
    return found


def as_tested(family: Family, v: ndarray) -> ndarray:
    """Values on the scale of the test: codes of a table, logs of a gamma."""
    if isinstance(family, Categorical):
        return family.codes(v)
    return np.log(v) if family.name == "gamma" else np.asarray(v, dtype=float)


def _correlations(
    families: Sequence[Family], part: list[ndarray], w: ndarray | None
) -> dict[tuple[int, int], tuple[float, float]]:
    """-n log(1 - r^2) of pairs of numbers, on the rows that have both."""
    at = [j for j, f in enumerate(families) if f.name not in (*TABLES, "multinomial")]
    if len(at) < 2:
        return {}
    X = np.column_stack([part[j] for j in at])
    seen = ~np.isnan(X)
    f = np.ones(len(X)) if w is None else w
    n_own = np.maximum(f @ seen, 1.0)
    X = np.where(seen, X, 0.0)
    X = np.where(seen, X - f @ X / n_own, 0.0)
    S = seen * f[:, None]
    n, sums, products, squares = S.T @ seen, (X * f[:, None]).T @ seen, (X * f[:, None]).T @ X, (X**2).T @ S
    with np.errstate(all="ignore"):
        spread = squares - sums**2 / n
        left = 1 - (products - sums * sums.T / n) ** 2 / (spread * spread.T)
        G = np.where((left > SINGULAR) & (n > 2), -n * np.log(np.minimum(left, 1.0)), np.nan)
        G = np.where((left <= SINGULAR) & (n > 2) & (spread > 0) & (spread.T > 0), np.inf, G)
    pairs = [(i, j) for i in range(len(at)) for j in range(i + 1, len(at))]
    return {(at[i], at[j]): (float(G[i, j]), 1.0 if not np.isnan(G[i, j]) else np.nan) for i, j in pairs}


def _with_table(
    families: Sequence[Family], part: list[ndarray], w: ndarray | None, a: int, b: int
) -> tuple[float, float]:
    """Likelihood ratio of the one given the levels of the other, and its degrees of freedom."""
    names = [families[a].name, families[b].name]
    if "multinomial" in names:
        return np.nan, np.nan
    if names[0] not in TABLES:
        a, b = b, a
    levels, other = part[a], part[b]
    seen = (levels >= 0) & (other >= 0 if families[b].name in TABLES else ~np.isnan(other))
    codes, levels = np.unique(levels[seen], return_inverse=True)
    other, w = other[seen], None if w is None else w[seen]
    if families[b].name in TABLES:
        kept, other = np.unique(other, return_inverse=True)
        law: Family = Categorical(len(kept))
    else:
        law = Gaussian(pooled=True) if families[b].name in ("gaussian", "gamma") else families[b]
    L = len(codes)
    if L < 2 or law.k_params(L) == law.k_params(1):
        return np.nan, np.nan
    s: Any = law.statistics(other, np.ravel(levels), w, L)
    if law.name != "categorical" and law.defects(s):
        return np.nan, np.nan
    one = s.together()
    return float(2 * (law.fit(s).loglik(s).sum() - law.fit(one).loglik(one).sum())), law.k_params(L) - law.k_params(1)


def holm(p: ndarray) -> ndarray:
    """p-values adjusted for their number; NaN stays, and does not count.

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6, 65-70.

    Examples
    --------
    >>> holm(np.array([0.02, 0.01, np.nan, 0.5])).tolist()
    [0.04, 0.03, nan, 0.5]
    """
    order = np.argsort(p)  # NaN last
    m = int(np.count_nonzero(~np.isnan(p)))
    stepped = np.full(len(p), np.nan)
    stepped[:m] = np.minimum(np.maximum.accumulate(p[order[:m]] * np.arange(m, 0, -1)), 1.0)
    out = np.empty(len(p))
    out[order] = stepped
    return out


# ---------------------------------------------------------------------------------------------------- joined pairs
def joined(
    fit: NaiveBayesFit, values: Sequence[ndarray], y: ndarray, w: ndarray | None, first: int, second: int
) -> ndarray | None:
    """log f(x_a, x_b) - log f(x_a) - log f(x_b) of each row and class if the pair is modelled jointly, (n, K).

    Two tables become one joint table, two gaussian features a bivariate normal law; other pairs have none (None). 0 in
    rows that lack one of the two.
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
        together = law.fit(law.statistics(codes, y, w, fit.K), fit.smoothing).log_density(codes)
    elif all(isinstance(f, Gaussian) for f in families):
        both = ~(np.isnan(a) | np.isnan(b))
        found = _bivariate(np.column_stack([a, b]), y, w, fit.K, both, families[0].pooled)
        if found is None:
            return None
        together = found
    else:
        return None
    with np.errstate(invalid="ignore"):
        return np.where(both[:, None], together - apart, 0.0)


def _bivariate(X: ndarray, y: ndarray, w: ndarray | None, K: int, both: ndarray, pooled: bool) -> ndarray | None:
    """log density of a bivariate normal law a class, with one covariance if pooled; None where it is singular."""
    f = (np.ones(len(X)) if w is None else w) * both
    X = np.where(both[:, None], X, 0.0)
    means, scatter, n = np.zeros((K, 2)), np.zeros((K, 2, 2)), np.bincount(y, f, K)
    for k in range(K):
        own = f * (y == k)
        means[k] = own @ X / max(n[k], 1.0)
        D = X - means[k]
        scatter[k] = (D * own[:, None]).T @ D
    S = np.broadcast_to(scatter.sum(axis=0) / n.sum(), scatter.shape) if pooled else scatter / n[:, None, None]
    share = 1 - S[:, 0, 1] ** 2 / (S[:, 0, 0] * S[:, 1, 1])
    if not (share > SINGULAR).all():
        return None
    out = np.empty((len(X), K))
    for k in range(K):
        z = (X - means[k]) / np.sqrt(np.diag(S[k]))
        r = S[k, 0, 1] / np.sqrt(S[k, 0, 0] * S[k, 1, 1])
        distance = z[:, 0] ** 2 + (z[:, 1] - r * z[:, 0]) ** 2 / share[k]
        out[:, k] = -0.5 * distance - np.log(2 * np.pi) - 0.5 * np.log(S[k, 0, 0] * S[k, 1, 1] * share[k])
    return out
