"""Covariances of averages by the delta method, also where the rows averaged over are a sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray
from scipy import sparse

from glmclf.core.numerics.triangular import qr_factor
from glmclf.inference.margins.averages import GroupedRows

ROUNDED_VARIANCE = 1e-15  # of a sum of parameters whose variances cancel, a parameter and relative to no correlation


class DeltaCovariance:
    """Covariance J V J' + F'F of estimates, formed as far as it is asked for.

    Parameters
    ----------
    J : (E, p) ndarray
        Gradients of the estimates.
    V : (p, p) ndarray, ClosedFormCovariance, DiscriminantCovariance or None
        Covariance of the parameters, of which products J V and the diagonal are taken; None where F has their part.
    F : (m, E) ndarray or csc_array, optional
        A factor of what comes from the rows being a sample.
    lost : (E,) bool ndarray, optional
        Estimates without a covariance. Nor have one those whose gradient is not finite, or that lean on a parameter
        without a variance.
    A : (m, p) ndarray, optional
        How the parameters move with the rows of F, where the two go together: the covariance is that of F + AJ', and
        V is A'A.
    certain : (E,) bool ndarray, optional
        Estimates that count with a standard error of zero beside others, and by themselves have none.
    """

    def __init__(
        self,
        J: ndarray,
        V: Any,
        F: Any = None,
        lost: ndarray | None = None,
        A: ndarray | None = None,
        certain: ndarray | None = None,
    ):
        bad = ~np.isfinite(J).all(axis=1)
        if V is not None:
            known = np.isfinite(V.diagonal())
            bad |= (J[:, ~known] != 0).any(axis=1)
            if not known.all():
                V = np.where(known & known[:, None], V if isinstance(V, ndarray) else V.full(), 0.0)
        if F is not None:
            bad |= ~np.isfinite(abs(F).sum(axis=0))
        self.lost = bad if lost is None else bad | lost
        self.certain = np.zeros(len(J), dtype=bool) if certain is None else certain
        self.J, self.V, self.A = np.where(self.lost[:, None], 0.0, J), V, A
        self.F = None if F is None else _without(F, self.lost)

    @property
    def unknown(self) -> ndarray:
        """Mask of the estimates without a standard error, (E,)."""
        return self.lost | self.certain

    @property
    def errors(self) -> ndarray:
        """Standard errors, (E,): also where the variances are below the smallest double, or beyond the largest."""
        unit = self._units()
        J = self.J / unit[:, None]
        out = np.zeros(len(J)) if self.V is None else np.einsum("ep,ep->e", J @ self.V, J)
        if self.V is not None:
            size = np.abs(J) @ np.sqrt(np.maximum(self.V.diagonal(), 0.0))
            out = np.where(np.abs(out) <= ROUNDED_VARIANCE * J.shape[1] * size * size, 0.0, out)
        if self.F is not None:
            F = _columns_times(self.F, 1.0 / unit)
            out = out + (F * F).sum(axis=0)
            if self.A is not None:
                out = out + 2.0 * np.einsum("ep,ep->e", F.T @ self.A, J)
        return np.where(self.unknown, np.nan, unit * roots(out))

    def spreads(self) -> ndarray:
        """Bounds of the standard errors, whatever the correlations of the parameters, (E,)."""
        out = np.zeros(len(self.J))
        if self.V is not None:
            out = np.abs(self.J) @ np.sqrt(np.maximum(self.V.diagonal(), 0.0))
        return out if self.F is None else out + np.sqrt((self.F * self.F).sum(axis=0))

    def _units(self) -> ndarray:
        """Powers of two that bring the largest entry of each estimate's gradient and factor near 1, (E,)."""
        top = np.abs(self.J).max(axis=1, initial=0.0)
        if self.F is not None and self.F.shape[0]:
            largest = abs(self.F).max(axis=0)
            top = np.maximum(top, largest if isinstance(largest, ndarray) else largest.toarray().ravel())
        exponents = np.clip(np.frexp(top)[1], -1021, 1021)  # so that the inverses are normal numbers, too
        return np.where(top > 0, np.ldexp(1.0, exponents), 1.0)

    def in_units(self, at: Any = slice(None)) -> ndarray:
        """The covariance of some estimates, each in a unit of its own size: its correlations are theirs."""
        unit = self._units()
        return self.scaled(self.J / unit[:, None], 1.0 / unit).matrix(at)

    def matrix(self, at: Any = slice(None)) -> ndarray:
        """The covariance of some estimates."""
        J, unknown = self.J[at], self.unknown[at]
        C = np.zeros((len(J), len(J))) if self.V is None else J @ self.V @ J.T
        if self.F is not None:
            F = self.F[:, at]
            own = F.T @ F
            C = C + (own if isinstance(own, ndarray) else own.toarray())
            if self.A is not None:
                both = (F.T @ self.A) @ J.T
                C = C + both + both.T
        C[unknown] = C[:, unknown] = np.nan
        return C

    def scaled(self, J: ndarray, by: ndarray) -> DeltaCovariance:
        """Covariance of functions of the estimates, with gradients J in the parameters and slopes `by` (E,)."""
        F = None if self.F is None else _columns_times(self.F, by)
        return DeltaCovariance(J, self.V, F, self.lost, self.A, self.certain)

    def differences(self, first: ndarray, second: ndarray) -> DeltaCovariance:
        """Covariance of the differences of estimates `second` less estimates `first`."""
        F = None if self.F is None else self.F[:, second] - self.F[:, first]
        lost, certain = self.lost[first] | self.lost[second], self.certain[first] & self.certain[second]
        return DeltaCovariance(self.J[second] - self.J[first], self.V, F, lost, self.A, certain)

    def combined(self, R: ndarray) -> DeltaCovariance:
        """Covariance of combinations of the estimates, rows of R (m, E)."""
        F = None if self.F is None else self.F @ R.T
        lost, certain = (R[:, self.lost] != 0).any(axis=1), ~(R[:, ~self.certain] != 0).any(axis=1)
        return DeltaCovariance(R @ self.J, self.V, F, lost, self.A, certain & (R[:, self.certain] != 0).any(axis=1))

    def without(self, nothing: ndarray) -> DeltaCovariance:
        """Covariance with those of some estimates exactly 0."""
        F = None if self.F is None else _without(self.F, nothing)
        return DeltaCovariance(np.where(nothing[:, None], 0.0, self.J), self.V, F, self.lost, self.A, self.certain)


def _columns_times(F: Any, by: ndarray) -> Any:
    """F with its columns multiplied."""
    return F * by if isinstance(F, ndarray) else (F @ sparse.diags_array(by)).tocsc()


def _without(F: Any, lost: ndarray) -> Any:
    """F with 0 in columns of estimates that are lost."""
    if isinstance(F, ndarray):
        return np.where(lost, 0.0, F)
    F = F.copy()
    F.data[np.repeat(lost, np.diff(F.indptr))] = 0.0
    return F


def roots(variances: ndarray) -> ndarray:
    """Standard errors, the roots of variances; NaN where a variance is below 0."""
    return np.sqrt(np.where(variances >= 0, variances, np.nan))


def sampling_factor(U: ndarray, w: ndarray, frequency: bool, clusters: ndarray | None = None) -> ndarray:
    """A factor F of the covariance F'F of the sums w'U of a sample of rows, (m, E).

    Parameters
    ----------
    U : (n, E) ndarray
        What a row of weight one adds: (h_i - mean)/sum w of an average of h over the rows, with J A^-1 s_i where it
        also moves the estimate.
    w : (n,) ndarray
        Weights.
    frequency : bool
        Whether a row of weight f stands for f rows.
    clusters : (n,) integer ndarray, optional
        Clusters, numbered from 0.

    Returns
    -------
    ndarray
        F'F is N/(N-1) sum (w_i U_i)(w_i U_i)' over N rows, or sums over clusters in place of rows, with G/(G-1).

    References
    ----------
    Korn & Graubard (1999), Analysis of Health Surveys, section 3.7; Stata's ``margins, vce(unconditional)``.
    """
    if clusters is not None:
        return _spread_factor(int(clusters.max()) + 1) * _by_cluster(clusters) @ (w[:, None] * U)
    times, N = (np.sqrt(w), w.sum()) if frequency else (w, len(w))
    return _smaller(_spread_factor(N) * times[:, None] * U)


def grouped_sampling_factor(
    U: ndarray,
    w: ndarray,
    frequency: bool,
    groups: ndarray,
    places: ndarray,
    A: ndarray | None = None,
    clusters: ndarray | None = None,
) -> tuple[Any, ndarray | None]:
    """`sampling_factor` of estimates each of which is of one group of rows: a sparse factor (m, E), and that of A.

    Parameters
    ----------
    U : (n, M) ndarray
        What a row of weight one adds to the M estimates of its group.
    w, frequency, clusters
        As in `sampling_factor`.
    groups : (n,) integer ndarray
        GroupedRows of the rows.
    places : (G, M) integer ndarray
        Which of the E estimates are those of a group.
    A : (n, p) ndarray, optional
        What a row of weight one does to the parameters.
    """
    M, E = U.shape[1], places.size
    both = U if A is None else np.hstack([U, A])
    if clusters is not None:
        sums, c = _by_cluster(clusters), _spread_factor(int(clusters.max()) + 1)
        both = c * w[:, None] * both
        F = sums @ _spread(both[:, :M], places[groups], E)
        return F.tocsc(), None if A is None else sums @ both[:, M:]
    times, N = (np.sqrt(w), w.sum()) if frequency else (w, len(w))
    by = GroupedRows(groups, len(w))
    both = (_spread_factor(N) * times[:, None] * both)[by.order]
    parts = [_smaller(both[a:b]) for a, b in zip(by.starts, by.stops, strict=True)]
    both, of = np.concatenate(parts), np.repeat(by.of, [len(part) for part in parts])
    return _spread(both[:, :M], places[of], E).tocsc(), None if A is None else both[:, M:]


def _spread_factor(N: float) -> float:
    """Factor sqrt(N/(N-1)) for the spread of N rows; NaN for one row, which says nothing of how rows differ."""
    return float(np.sqrt(N / (N - 1.0))) if N > 1 else np.nan


def _smaller(F: ndarray) -> ndarray:
    """A factor of the same F'F with fewer rows, where that is worth the while."""
    return qr_factor(F) if 4 * F.shape[1] < len(F) and np.isfinite(F).all() else F


def _by_cluster(clusters: ndarray) -> Any:
    """The matrix that adds rows up by cluster, (G, n)."""
    n = len(clusters)
    return sparse.csr_array((np.ones(n), (clusters, np.arange(n))), shape=(int(clusters.max()) + 1, n))


def _spread(data: ndarray, columns: ndarray, E: int) -> Any:
    """A sparse matrix (m, E) with the entries of each row (m, M) in its columns (m, M)."""
    m, M = data.shape
    return sparse.csr_array((data.ravel(), columns.ravel(), np.arange(m + 1) * M), shape=(m, E))


def sampled(w: ndarray, frequency: bool, groups: ndarray, G: int, clusters: ndarray | None = None) -> ndarray:
    """Number of rows, or of clusters of rows, in each group, (G,)."""
    if clusters is not None:
        pairs = np.unique(np.column_stack([groups, clusters])[w > 0], axis=0)
        return np.bincount(pairs[:, 0], minlength=G)
    return np.bincount(groups, w if frequency else (w > 0).astype(float), G)
