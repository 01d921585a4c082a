"""Wald and likelihood-ratio tests of an estimate theta with covariance V.

Throughout, theta is (p,), V is (p, p), R is (J, p) and q is (J,): the hypothesis is R theta = q. A coefficient that is
not finite (NaN: omitted or undetermined; infinite: separated) takes part only where its weight in R is not zero, and
then the test is NaN: a hypothesis about other coefficients is not spoilt by it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray
from scipy.linalg import qr, solve_triangular
from scipy.linalg.lapack import dpocon, dpotrf
from scipy.special import chdtrc, ndtr, ndtri, stdtr, stdtrit

from glmclf.checks import is_number
from glmclf.core.numerics.arrow import MAX_DENSE_BYTES, SymmetricMatrix
from glmclf.core.numerics.constants import EPS
from glmclf.errors import InferenceWarning, warn
from glmclf.inference.hypotheses.records import LRTest, f_tail

if TYPE_CHECKING:
    from statsmodels.stats.contrast import ContrastResults

CONSTANTS = ("Intercept", "const")
SURE = 1e-8  # reciprocal condition above which a matrix has full rank, whatever its rounding


@dataclass(frozen=True)
class TermTests:
    """Joint Wald tests of the terms of a formula, one a term.

    Attributes
    ----------
    names : list of str
        The terms, J of them.
    statistic, pvalue : (J,) ndarray
        chi-squared, or F where `df_denom` is given; the p-value in [0, 1].
    df_constraint : (J,) ndarray of int
        Number of independent restrictions tested.
    df_denom : float or None
        Denominator degrees of freedom of the F tests.
    """

    names: list[str]
    statistic: ndarray
    pvalue: ndarray
    df_constraint: ndarray
    df_denom: float | None = None


def check_alpha(alpha: float) -> float:
    """The level alpha of a 1 - alpha interval, as a float strictly between 0 and 1; ValueError otherwise."""
    if not is_number(alpha) or not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha={alpha!r}: give a number between 0 and 1, such as 0.05 for a 95% interval")
    return float(alpha)


def critical_value(alpha: float, df: Any = None) -> Any:
    """Upper alpha/2 quantile of the standard normal, or of Student's t with df degrees of freedom, one or an array.

    Examples
    --------
    >>> from glmclf.inference.hypotheses.wald import critical_value
    >>> round(critical_value(0.05), 6)
    1.959964
    """
    tail = 0.5 * check_alpha(alpha)
    return float(-ndtri(tail)) if df is None else -stdtrit(df, tail)


def ratios(estimate: ndarray, se: ndarray) -> ndarray:
    """Estimates over their standard errors; NaN where these are 0, as what constraints fix has no test."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(se > 0, estimate / se, np.nan)


def z_pvalues(z, df: float | ndarray | None = None) -> ndarray:
    """Two-sided p-values 2 (1 - F(|z|)), as lower tails: right down to the smallest double.

    Parameters
    ----------
    z : array_like
        Ratios of estimate to standard error.
    df : float or ndarray, optional
        Degrees of freedom of Student's t; the normal distribution without.

    Returns
    -------
    ndarray
        In [0, 1], the shape of z; NaN where z is.

    Examples
    --------
    >>> from glmclf.inference.hypotheses.wald import z_pvalues
    >>> float(z_pvalues(38.0)) < 1e-300
    True
    """
    lower = -np.abs(np.asarray(z, dtype=float))
    return 2.0 * (ndtr(lower) if df is None else stdtr(df, lower))


def intervals(theta, se, alpha: float = 0.05, df: float | ndarray | None = None) -> ndarray:
    """Intervals theta -/+ c se, c the upper alpha/2 quantile of the normal (or of t with df degrees of freedom).

    Parameters
    ----------
    theta, se : (p,) array_like
        Estimates and standard errors, in the units of theta.
    alpha : float
        One minus the level of the interval, in (0, 1).
    df : float or (p,) ndarray, optional
        Degrees of freedom of Student's t.

    Returns
    -------
    (p, 2) ndarray
        Lower and upper ends; NaN where the standard error is.

    Raises
    ------
    ValueError
        If alpha is not in (0, 1).
    """
    theta, se = np.asarray(theta, dtype=float), np.asarray(se, dtype=float)
    half = critical_value(alpha, df) * se
    return np.stack((theta - half, theta + half), axis=-1)


def combine(R: ndarray, theta: ndarray) -> ndarray:
    """R theta, in which a coefficient of weight zero counts as zero even where it is not finite."""
    with np.errstate(invalid="ignore"):
        return np.where(R != 0, R * theta, 0.0).sum(axis=-1)


def orthonormal(theta: ndarray, V: ndarray, R: ndarray, q: ndarray) -> tuple[ndarray, ndarray]:
    """R theta - q and its covariance, (J,) and (J, J), in a basis of the rows' span that is orthonormal in units of the
    standard errors: a joint test is the same in every basis, and here badly scaled combinations lose no digits.

    The first j of them span the first j rows of R, which are independent. NaN where a row uses what is not finite.
    """
    used = (R != 0).any(axis=0)
    theta, V, R = theta[used], V[np.ix_(used, used)], R[:, used]
    if not (np.isfinite(theta).all() and np.isfinite(V.diagonal()).all()):
        return np.full(len(R), np.nan), np.full((len(R), len(R)), np.nan)
    scale = np.sqrt(np.maximum(V.diagonal(), 0.0))
    scale[scale == 0] = 1.0
    A = R * scale
    size = np.abs(A).max(axis=1)
    if len(theta) == len(R) and ((R != 0).sum(axis=1) == 1).all():  # single coefficients, which are orthogonal
        at = (R != 0).argmax(axis=1)
        z = theta[at] / scale[at] - q / A[np.arange(len(R)), at]
        return z, (V / np.outer(scale, scale))[np.ix_(at, at)]
    Q, L = qr((A / size[:, None]).T, mode="economic", check_finite=False)
    z = Q.T @ (theta / scale)
    if q.any():
        if not np.diagonal(L).all():
            raise ValueError("the hypotheses depend on each other to rounding: leave one of them out")
        z -= solve_triangular(L, q / size, trans="T", check_finite=False)
    C = Q.T @ (V / np.outer(scale, scale)) @ Q
    return z, 0.5 * (C + C.T)


def joint_statistic(
    theta: ndarray,
    V: ndarray,
    R: ndarray,
    q: ndarray,
    form: Callable[[ndarray, ndarray], float] | None = None,
    rank: float = math.inf,
) -> float:
    """Wald statistic d' (R V R')^-1 d, d = R theta - q, R of independent rows; or another `form` of `orthonormal` ones.

    ValueError if the covariance is singular, as one that has no higher rank than `rank` may be, or singular to
    rounding, or the combinations so close to each other that rounding decides.
    """
    form = form or quadratic_form
    z, C = orthonormal(theta, V, R, q)
    if np.isfinite(C).all():
        # variances here are of the order of one, so that smaller ones are rounding, of either sign
        rank = min(rank, int((np.abs(np.diagonal(C)) > 100 * len(R) * EPS).sum()))
        if len(R) > rank:
            raise ValueError(_low_rank(len(R), int(rank)))
    value, generator = form(z, C), np.random.default_rng(0)
    noise = 4 * EPS * generator.choice([-1.0, 1.0], R.shape)
    if _other(form(*orthonormal(theta, V, R * (1.0 + noise), q)), value):
        raise ValueError(
            f"the {len(R)} combinations tested are so close to each other that rounding decides: test fewer at once, "
            "or centre and scale the regressors"
        )
    noise = np.triu(4 * EPS * generator.choice([-1.0, 1.0], C.shape))
    if _other(form(z, C + noise + noise.T), value):
        raise ValueError(_low_rank(len(R), len(R) - 1))
    return value


def _other(again: float, value: float) -> bool:
    """Whether two statistics differ by more than is to be expected of rounding."""
    return abs(again - value) > 1e-6 + 1e-4 * value


def standard_errors(R: ndarray, V: Any) -> ndarray:
    """Standard errors of R theta, sqrt(diag(R V R')); NaN where the variance is negative or lost in rounding."""
    if isinstance(V, SymmetricMatrix):
        used = np.flatnonzero((R != 0).any(axis=0))
        R, V = R[:, used], V[np.ix_(used, used)]
    bad = ~np.isfinite(V.diagonal())
    S = np.where(bad[:, None] | bad, 0.0, V)
    variance = ((R @ S) * R).sum(axis=1)
    noise = len(V) * EPS * ((np.abs(R) @ np.abs(S)) * np.abs(R)).sum(axis=1)
    return _roots(np.where((R[:, bad] != 0).any(axis=1), np.nan, variance), noise)


def _roots(variance: ndarray, noise: ndarray) -> ndarray:
    """Square roots of variances; NaN of those that are negative, or not more than rounding."""
    # an exact zero is a restriction that the fit imposed; a remainder of cancelled terms is no variance at all
    lost = (np.abs(variance) <= noise) & (variance != 0)
    # a covariance by several clusterings need not be positive semi-definite
    return np.sqrt(np.where(lost | (variance < 0), np.nan, variance))


def differences(G: ndarray, theta: ndarray, V: ndarray) -> tuple[ndarray, ndarray]:
    """Differences (b - a) theta of any two rows a, b of G, (L, L), and their standard errors.

    Parameters
    ----------
    G : (L, p) ndarray
    theta : (p,) ndarray
    V : (p, p) ndarray
        The covariance, all of it finite.
    """
    value, S = combine(G, theta), G @ V @ G.T
    size = np.abs(G) @ np.sqrt(np.maximum(V.diagonal(), 0.0))  # its square bounds |G| |V| |G|'
    noise = len(V) * EPS * np.add.outer(size, size) ** 2
    return np.subtract.outer(value, value).T, _roots(np.add.outer(S.diagonal(), S.diagonal()) - 2.0 * S, noise)


def t_test(theta: ndarray, V: ndarray, R: ndarray, q=None, *, df: float | None = None) -> ContrastResults:
    """Wald test of each row of R theta = q by itself: (R theta - q) / sqrt(diag(R V R')).

    Parameters
    ----------
    theta : (p,) ndarray
        Estimates.
    V : (p, p) ndarray
        Their covariance.
    R : (J, p) or (p,) ndarray
        One combination of coefficients a row.
    q : float or (J,) ndarray, optional
        Its value under the hypothesis; zero by default.
    df : float, optional
        Degrees of freedom of Student's t; the normal distribution without.

    Returns
    -------
    ContrastResults
        statsmodels' record: `effect` (R theta), `sd`, `statistic`, `tvalue`, each (J,), `pvalue`, `conf_int()`,
        `summary()`, `summary_frame()`.

    Raises
    ------
    ValueError
        If R and q do not fit together.

    Examples
    --------
    >>> import numpy as np
    >>> from glmclf.inference.hypotheses.wald import t_test
    >>> test = t_test(np.array([1.0, 3.0]), np.eye(2), np.array([[-1.0, 1.0]]))
    >>> float(test.effect[0]), round(float(test.sd[0]), 4), round(float(test.pvalue), 4)
    (2.0, 1.4142, 0.1573)
    """
    from statsmodels.stats.contrast import ContrastResults

    R, q = constraints(R, q, len(theta))
    effect, sd = combine(R, theta), standard_errors(R, V)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(sd > 0, (effect - q) / sd, np.nan)
    if df is None:
        return ContrastResults(effect=effect, statistic=ratio, sd=sd, distribution="norm")
    return ContrastResults(effect=effect, t=ratio, sd=sd, df_denom=df)


def wald_test(
    theta: ndarray,
    V: ndarray,
    R: ndarray,
    q=None,
    *,
    use_f: bool = False,
    df: float | None = None,
    scalar: bool = True,
    independent: bool = False,
    rank: float = math.inf,
) -> ContrastResults:
    """Joint Wald test of R theta = q: d' (R V R')^-1 d with d = R theta - q.

    Chi-squared with rank(R) degrees of freedom: rows of R that follow from others are left out and do not count.

    Parameters
    ----------
    theta : (p,) ndarray
        Estimates.
    V : (p, p) ndarray
        Their covariance.
    R : (J, p) or (p,) ndarray
        One restriction a row.
    q : float or (J,) ndarray, optional
        Right-hand sides; zero by default.
    use_f : bool
        F = chi-squared / rank(R), with df denominator degrees of freedom, instead of chi-squared.
    df : float, optional
        Denominator degrees of freedom of the F test.
    scalar : bool
        The statistic as a float; False gives statsmodels' (1, 1) array.
    independent : bool
        Whether the rows are known to be independent, as those that `linear_restrictions` keeps, in other coordinates.
    rank : float
        The most that the rank of V can be, where that is known: clusters less one, for instance.

    Returns
    -------
    ContrastResults
        statsmodels' record: `statistic`, `pvalue`, and `df_denom` (chi-squared) or `df_num, df_denom` (F). NaN if a
        coefficient of the hypothesis is not finite.

    Raises
    ------
    ValueError
        If restrictions contradict each other, or the covariance matrix has not the rank to test them together (as a
        cluster covariance with fewer clusters than restrictions).

    Examples
    --------
    >>> import numpy as np
    >>> from glmclf.inference.hypotheses.wald import wald_test
    >>> test = wald_test(np.array([1.0, 2.0]), np.eye(2), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    >>> test.statistic, test.df_denom
    (5.0, 2)
    """
    from statsmodels.stats.contrast import ContrastResults

    if use_f and df is None:
        raise ValueError("an F test needs denominator degrees of freedom: give df=, or use_f=False for chi-squared")
    R, q = constraints(R, q, len(theta))
    if not independent:
        R, q = linear_restrictions(R, q)
    statistic, J = joint_statistic(theta, V, R, q, rank=rank), len(R)
    value = (statistic if scalar else np.array([[statistic]])) / (J if use_f else 1)
    if use_f:
        return ContrastResults(F=value, df_denom=df, df_num=J)
    return ContrastResults(statistic=value, df_denom=J, distribution="chi2", dist_args=(J,))


def constraints(R, q, p: int) -> tuple[ndarray, ndarray]:
    """R as a (J, p) and q as a (J,) array of finite numbers; ValueError where they do not fit."""
    R = np.atleast_2d(np.asarray(R, dtype=float))
    if R.ndim != 2 or R.shape[1] != p or not len(R):
        raise ValueError(f"the hypothesis matrix has shape {R.shape}: give one column for each of the {p} coefficients")
    q = np.zeros(len(R)) if q is None else np.asarray(q, dtype=float)
    q = np.full(len(R), float(q)) if q.ndim == 0 else q.ravel()
    if q.size != len(R):
        raise ValueError(f"{q.size} right-hand sides for {len(R)} hypotheses: give one for each, or a single number")
    if not (np.isfinite(R).all() and np.isfinite(q).all()):
        raise ValueError("the hypothesis R b = q has a NaN or infinite entry: give finite numbers")
    return R, q.copy()


def linear_restrictions(R: ndarray, q: ndarray) -> tuple[ndarray, ndarray]:
    """The rows of R that do not follow from others, with their q; see `independent_rows`."""
    kept = independent_rows(R, q)
    return R[kept], q[kept]


def independent_rows(R: ndarray, q: ndarray) -> ndarray:
    """Places of the rows of R that do not follow from others, those first in order.

    Raises ValueError naming the rows that contradict the others, or restrict no coefficient.
    """
    size = np.sqrt((R * R).sum(axis=1))
    if not size.all():
        rows = ", ".join(str(i) for i in np.flatnonzero(size == 0))
        raise ValueError(f"row {rows} of the hypothesis is all zeros and restricts no coefficient: leave it out")
    A, b = R / size[:, None], q / size
    used = R.any(axis=0)
    lengths = np.diagonal(qr(A[:, used].T, mode="r", check_finite=False)[0])  # those of the loop below
    if len(lengths) == len(A) and (np.abs(lengths) > 1e-10).all():
        return np.arange(len(R))
    basis = np.empty_like(A)
    kept: list[int] = []
    for i, row in enumerate(A):
        B = basis[: len(kept)]
        rest = row - (B @ row) @ B
        rest -= (B @ rest) @ B  # again: the first projection alone leaves rounding
        length = np.sqrt(rest @ rest)
        if length > 1e-10:
            basis[len(kept)] = rest / length
            kept.append(i)
    if len(kept) < len(A):
        _check_implied(A, b, kept)
    return np.array(kept)


def _check_implied(A: ndarray, b: ndarray, kept: list[int]) -> None:
    """ValueError unless every row of A theta = b follows from the kept ones."""
    weights = np.linalg.lstsq(A[kept].T, A.T, rcond=None)[0]
    implied = weights.T @ b[kept]
    scale = np.abs(weights.T) @ np.abs(b[kept]) + np.abs(b)
    wrong = np.flatnonzero(np.abs(implied - b) > 1e-8 * scale)
    if wrong.size:
        rows = ", ".join(str(i) for i in wrong)
        raise ValueError(
            f"the hypotheses contradict each other: the left side of row {rows} follows from other rows, "
            f"its right side does not. Leave out one of them"
        )


def quadratic_form(d: ndarray, C: ndarray) -> float:
    """Quadratic form d' C^-1 d for a covariance C of d; NaN if either is not finite, ValueError if C is singular."""
    if not (len(d) and np.isfinite(d).all() and np.isfinite(C).all()):
        return math.nan
    scale = np.sqrt(np.maximum(np.diagonal(C), 0.0))
    values = np.zeros(1)
    if (scale > 0).all():
        S = C / np.outer(scale, scale)
        factor, failed = dpotrf(S, lower=True)
        if not failed and dpocon(factor, np.abs(S).sum(axis=0).max(), uplo="L")[0] > SURE:
            z = solve_triangular(factor, d / scale, lower=True, check_finite=False)
            return float(z @ z)
        values, vectors = np.linalg.eigh(S)
        rank = int((values > 100 * len(d) * EPS).sum())
    else:
        rank = int((scale > 0).sum())
    if (np.diagonal(C) < 0).any() or values[0] < -1e-8:
        raise ValueError(
            "the covariance matrix of what is tested is not positive semi-definite, as a multiway one may be, "
            "so that there is no joint test: use fewer groupings, or more clusters"
        )
    if rank < len(d):
        raise ValueError(_low_rank(len(d), rank))
    z = vectors.T @ (d / scale)
    return float((z * z / values).sum())


def _low_rank(n: int, rank: int) -> str:
    """Sentence that says why n restrictions have no joint test."""
    return (
        f"{_counted(n)}, but the covariance matrix of what is tested has rank {rank} (regressors close to collinear, "
        "or a cluster covariance with few clusters, or a bootstrap of few replications): test fewer at once, or use "
        "another cov_type"
    )


def _counted(n: int) -> str:
    return "1 restriction" if n == 1 else f"{n} independent restrictions"


def term_tests(
    theta: ndarray,
    V: ndarray,
    terms: Mapping[str, slice | ndarray],
    *,
    df: float | None = None,
    use_f: bool = False,
    skip_constant: bool = False,
    skip_single: bool = False,
    omitted: ndarray | None = None,
    into: Callable[[ndarray], tuple[ndarray, ndarray, ndarray]] | None = None,
    rank: float = math.inf,
) -> TermTests:
    """Joint Wald tests that all coefficients of a term are zero, one test a term.

    Parameters
    ----------
    theta : (p,) ndarray
        Estimates.
    V : (p, p) ndarray
        Their covariance.
    terms : mapping of str to slice or index array
        The positions of each term's coefficients in theta.
    df, use_f
        As in `wald_test`.
    skip_constant : bool
        Leave out the intercept.
    skip_single : bool
        Leave out terms of one coefficient.
    omitted : (p,) ndarray of bool, optional
        Coefficients without an estimate because their columns repeat others: they do not count as restrictions.
    into : callable, optional
        Estimate, covariance and R of combinations R, (J, p), in coordinates where they keep their digits.
    rank : float
        As in `wald_test`.

    Returns
    -------
    TermTests
        NaN where a coefficient of the term is not finite. An `InferenceWarning` names terms that the covariance matrix
        has not the rank to test; they are NaN as well.
    """
    here = np.ones(len(theta), dtype=bool) if omitted is None else ~np.asarray(omitted, dtype=bool)
    names, rows, failed = [], [], []
    for name, where in terms.items():
        columns = np.arange(len(theta))[where]
        if (skip_constant and name in CONSTANTS) or (skip_single and columns.size == 1):
            continue
        columns = columns[here[columns]]
        try:
            statistic = statistic_of(theta, V, columns, into, rank)
        except ValueError:
            statistic = math.nan
            failed.append(name)
        names.append(name)
        rows.append((statistic, columns.size))
    if failed:
        warn(no_joint_test(failed), InferenceWarning)
    return _term_tests(names, np.array(rows, dtype=float).reshape(-1, 2), df if use_f else None)


def no_joint_test(terms: Sequence[str]) -> str:
    """A warning about terms that a covariance cannot test."""
    return (
        f"no joint test of {', '.join(terms)} (NaN): the covariance matrix has a lower rank than the test has "
        "coefficients (regressors close to collinear, or a cluster covariance with few clusters, or a bootstrap of few "
        "replications). Use another cov_type"
    )


def statistic_of(theta: ndarray, V: Any, columns: ndarray, into: Callable | None, rank: float) -> float:
    """Statistic of the hypothesis that some coefficients are 0."""
    J = len(columns)
    if not J or not np.isfinite(theta[columns]).all():
        return math.nan
    if isinstance(V, SymmetricMatrix):
        found = V.inverse_form(columns, theta[columns]) if J <= rank else None
        if found is not None:
            return found
        if 8 * J * J > MAX_DENSE_BYTES:
            raise ValueError(f"the covariance of {J:,} coefficients has no inverse that needs no array of all pairs")
    if into is None:
        theta, V, R = theta[columns], V[np.ix_(columns, columns)], np.eye(J)
    else:
        R = np.zeros((J, len(theta)))
        R[np.arange(J), columns] = 1.0
        theta, V, R = into(R)
    return joint_statistic(theta, V, R, np.zeros(J), rank=rank)


def _term_tests(names: list[str], rows: ndarray, df: float | None) -> TermTests:
    """Statistics and degrees of freedom, with their p-values."""
    statistic, size = rows.T
    with np.errstate(divide="ignore", invalid="ignore"):
        if df is not None:
            statistic = statistic / size
        pvalue = chdtrc(size, statistic) if df is None else f_tail(statistic, size, df)
    pvalue = np.where(np.isnan(statistic), np.nan, pvalue)
    return TermTests(names, statistic, pvalue, size.astype(int), df)


def lr_test(llf: float, llf_restricted: float, df: int) -> LRTest:
    """Likelihood-ratio test 2 (llf - llf_restricted), chi-squared with df degrees of freedom.

    Parameters
    ----------
    llf, llf_restricted : float
        Maximised log-likelihoods of the larger and of the restricted model.
    df : int
        Number of restrictions; 0 gives a p-value of NaN.

    Returns
    -------
    LRTest
        statistic, pvalue, df.

    Raises
    ------
    ValueError
        If df is negative, or the restricted model is the more likely one.

    Examples
    --------
    >>> from glmclf.inference.hypotheses.wald import lr_test
    >>> test = lr_test(-12.889633, -20.591735, 3)
    >>> round(test.statistic, 4), round(test.pvalue, 6)
    (15.4042, 0.001502)
    """
    if df < 0:
        raise ValueError(f"the restricted model has {-df} parameters more than the other: exchange the two")
    statistic = 2.0 * (float(llf) - float(llf_restricted))
    if statistic < 0:
        # two maxima that differ by rounding alone are equal
        if -statistic > 1e-8 * (1.0 + abs(llf)):
            raise ValueError(
                f"the restricted model's log-likelihood {llf_restricted:.8g} exceeds the larger model's {llf:.8g}: "
                f"the models are not nested, or one has not converged"
            )
        statistic = 0.0
    pvalue = math.nan if df == 0 or math.isnan(statistic) else float(chdtrc(df, statistic))
    return LRTest(statistic, pvalue, df)
