"""Marginal effects and adjusted predictions: averages of a function of the linear predictors, with their gradients.

For eta = x'b and d = (dx/dv)'b the effect of v on p = F(eta) is m = F'(eta) d. It moves with b through d and through
eta: grad m = F' dx/dv + F'' d x. Everything here is a weighted average of such rows, so that one pass gives the value
and the gradient that the delta method needs; no derivative is numerical.

Shapes: n rows, k columns, q equations, L outcomes (the event alone, or all K classes, the reference first), p = q k
parameters, equation by equation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy import ndarray
from scipy import sparse

from glmclf.core.likelihood.pointwise import Multinomial

if TYPE_CHECKING:
    from glmclf.core.likelihood.links import Link


class Effect(NamedTuple):
    """An outcome of rows and how it moves with their linear predictors.

    Attributes
    ----------
    value : (n, L) ndarray
    by_slope : (n, L, q) ndarray or None
        Its derivative in d, the change of the linear predictors; None for what has no slope in it.
    by_eta : (n, L, q) ndarray
        Its derivative in the linear predictors.
    """

    value: ndarray
    by_slope: ndarray | None
    by_eta: ndarray


class Tails(NamedTuple):
    """log p and log(1 - p) of rows, and how they move with the linear predictors: right where p or 1 - p rounds to 0.

    Attributes
    ----------
    log_p, log_q : (n, L) ndarray
    by_p, by_q : (n, L, q) ndarray
        Their derivatives in the linear predictors.
    """

    log_p: ndarray
    log_q: ndarray
    by_p: ndarray
    by_q: ndarray


class Event:
    """Outcomes of a binary model: the probability of the event, L = q = 1.

    Parameters
    ----------
    link : Link
    """

    K = 1

    def __init__(self, link: Link):
        self.link = link

    def linear(self, eta: ndarray) -> Effect:
        """The linear predictor itself."""
        return Effect(eta[:, None], None, np.ones((len(eta), 1, 1)))

    def level(self, eta: ndarray) -> Effect:
        """p = F(eta)."""
        return Effect(self.link.cdf(eta)[:, None], None, self.link.pdf(eta)[:, None, None])

    def log_level(self, eta: ndarray) -> Effect:
        """log p."""
        terms = self.link.terms(eta)
        return Effect(terms.logcdf[:, None], None, terms.r1[:, None, None])

    def tails(self, eta: ndarray) -> Tails:
        """log F and log(1 - F)."""
        t = self.link.terms(eta)
        return Tails(t.logcdf[:, None], t.logsf[:, None], t.r1[:, None, None], -t.r0[:, None, None])

    def slope(self, eta: ndarray, d: ndarray) -> Effect:
        """f(eta) d, with f' = f (log f)'."""
        f = self.link.pdf(eta)
        with np.errstate(invalid="ignore", over="ignore"):
            value = np.where(f == 0, 0.0, f * d[:, 0])
            curve = np.where(f == 0, 0.0, f * self.link.dlogpdf(eta) * d[:, 0])
        return Effect(value[:, None], f[:, None, None], curve[:, None, None])

    def log_slope(self, eta: ndarray, d: ndarray) -> Effect:
        """(log F)' d = r1 d, with r1' = -w1."""
        terms = self.link.terms(eta)
        with np.errstate(invalid="ignore"):
            value = np.where(terms.r1 == 0, 0.0, terms.r1 * d[:, 0])
            curve = np.where(terms.w1 == 0, 0.0, -terms.w1 * d[:, 0])
        return Effect(value[:, None], terms.r1[:, None, None], curve[:, None, None])


class Classes:
    """Outcomes of a model of K classes: the probability of each, L = K, q = K - 1.

    `eta` is (n, K) here, the reference's linear predictor first (0, or -inf where it is ruled out), `d` (n, K - 1).

    Parameters
    ----------
    K : int
    """

    def __init__(self, K: int):
        self.K = K

    def linear(self, eta: ndarray) -> Effect:
        """The linear predictors, 0 for the reference."""
        e = np.eye(self.K)[:, 1:]
        return Effect(Multinomial.log_odds(eta), None, np.broadcast_to(e, (len(eta), self.K, self.K - 1)))

    def level(self, eta: ndarray) -> Effect:
        """p_k, with dp_k/d eta_l = p_k (1[k=l] - p_l)."""
        _, p, q = Multinomial.possible(eta)
        return Effect(p, None, p[:, :, None] * _unit_less(p, q))

    def log_level(self, eta: ndarray) -> Effect:
        """log p_k."""
        log_p, p, q = Multinomial.possible(eta)
        return Effect(log_p, None, _unit_less(p, q))

    def tails(self, eta: ndarray) -> Tails:
        """log p_k and log of the others' sum q_k, with d log q_k/d eta_l = p_k (p_l / q_k), -p_k for l = k."""
        log_p, p, q = Multinomial.possible(eta)
        others = np.where(np.eye(self.K, dtype=bool), -np.inf, log_p[:, None, :])
        top = others.max(axis=2, keepdims=True)
        top[np.isneginf(top)] = 0.0
        log_q = (np.log(np.exp(others - top).sum(axis=2, keepdims=True)) + top)[:, :, 0]
        log_q = np.where(p < 0.5, np.log1p(-p), log_q)
        share = np.where(np.isneginf(others), 0.0, np.exp(others - log_q[:, :, None]))
        by_q = p[:, :, None] * (share - np.eye(self.K))[:, :, 1:]
        return Tails(log_p, log_q, _unit_less(p, q), by_q)

    def slope(self, eta: ndarray, d: ndarray) -> Effect:
        """m_k = p_k c_k, with c_k = d_k - sum_j p_j d_j; dm_k/d eta_l = p_k ((1[k=l] - p_l) c_k - p_l c_l)."""
        _, p, q = Multinomial.possible(eta)
        c, unit = _centred(p, d), _unit_less(p, q)
        by_eta = p[:, :, None] * (unit * c[:, :, None] - (p * c)[:, None, 1:])
        return Effect(p * c, p[:, :, None] * unit, by_eta)

    def log_slope(self, eta: ndarray, d: ndarray) -> Effect:
        """c_k, with dc_k/d eta_l = -p_l c_l."""
        _, p, q = Multinomial.possible(eta)
        c = _centred(p, d)
        by_eta = np.broadcast_to(-(p * c)[:, None, 1:], (len(p), self.K, self.K - 1))
        return Effect(c, _unit_less(p, q), by_eta)


def _unit_less(p: ndarray, q: ndarray) -> ndarray:
    """1[k=l] - p_l for classes k and equations l, (n, K, K-1); on the diagonal the complement as it is."""
    K = p.shape[1]
    out = np.repeat(-p[:, None, 1:], K, axis=1)
    at = np.arange(1, K)
    out[:, at, at - 1] = q[:, 1:]
    return out


def _centred(p: ndarray, d: ndarray) -> ndarray:
    """d_k less its mean over the classes, (n, K), as sum_j p_j (d_k - d_j): the rows sum to zero with weights p."""
    whole = np.column_stack([np.zeros(len(d)), d])
    return whole - (p * whole).sum(axis=1, keepdims=True)


class Average(NamedTuple):
    """A weighted average over rows.

    Attributes
    ----------
    value : (L,) ndarray
    gradient : (L, p) ndarray
        In the parameters.
    rows : (n, L) ndarray or None
        What was averaged, where it was asked for.
    ends : Ends or None
        Of an average of probabilities: what it is near 0 and 1.
    """

    value: ndarray
    gradient: ndarray
    rows: ndarray | None = None
    ends: Ends | None = None


def changes(first: list[Average], second: list[Average], times: float = 1.0) -> list[Average]:
    """Averages by group less others, times a number; all groups share what was averaged, row by row."""
    a, b = first[0].rows, second[0].rows
    rows = None if a is None or b is None else times * (b - a)
    return [
        Average(times * (y.value - x.value), times * (y.gradient - x.gradient), rows)
        for x, y in zip(first, second, strict=True)
    ]


class Ends(NamedTuple):
    """Logs of an average of p and of the average of 1 - p, neither of which is formed from the other where it is small.

    Attributes
    ----------
    log_p, log_q : (L,) ndarray
    by_p, by_q : (L, p) ndarray
        Their gradients in the parameters.
    eta : float
        The linear predictor of an event where all rows have the same one; else NaN.
    rest : (n, L) ndarray or None
        1 - p by row, where rows were asked for.
    """

    log_p: ndarray
    log_q: ndarray
    by_p: ndarray
    by_q: ndarray
    eta: float = np.nan
    rest: ndarray | None = None


class Groups:
    """Rows of a block by group.

    Parameters
    ----------
    codes : (n,) integer ndarray or None
        Groups; None for one, whose code is 0.
    n : int
    """

    def __init__(self, codes: ndarray | None, n: int):
        self.order: Any = slice(None)
        if codes is None:
            self.starts, self.of = np.zeros(1, dtype=np.intp), np.zeros(1, dtype=np.intp)
        else:
            self.order = np.argsort(codes, kind="stable")
            codes = codes[self.order]
            self.starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
            self.of = codes[self.starts]
        self.stops = np.append(self.starts[1:], n)
        self.sizes = self.stops - self.starts

    def largest(self, A: ndarray) -> ndarray:
        """Largest values by group, (g, m)."""
        return np.maximum.reduceat(A, self.starts, axis=0)

    def crossed(self, A: ndarray, X: ndarray) -> ndarray:
        """Sums of A_i x_i' by group, (g, m, k): a product a group where groups are large, else running sums."""
        if A.shape[0] >= 32 * len(self.starts):
            return np.stack([A[a:b].T @ X[a:b] for a, b in zip(self.starts, self.stops, strict=True)])
        return np.stack([np.add.reduceat(column[:, None] * X, self.starts, axis=0) for column in A.T], axis=1)


class Sums:
    """Weighted sums of `Effect` rows by group, block by block.

    Parameters
    ----------
    groups : int
    """

    def __init__(self, groups: int = 1):
        self.groups, self.weight = groups, np.zeros(groups)
        self.value: ndarray | None = None
        self.gradient: Any = None
        self.tails: tuple[_LogSums, _LogSums] | None = None
        self.low, self.high = np.full(groups, np.inf), np.full(groups, -np.inf)

    def add(self, effect: Effect, w: ndarray, X: ndarray, dX: ndarray | None = None, codes: ndarray | None = None):
        """Add rows X with weights w; dX is needed where the effect has a slope."""
        n, L, q = effect.by_eta.shape
        by = Groups(codes, n)
        at = by.order
        w, X = w[at], X[at]
        if self.value is None:
            self.value, self.gradient = np.zeros((self.groups, L)), np.zeros((self.groups, L, q * X.shape[1]))
        self.weight[by.of] += by.crossed(w[:, None], np.ones((n, 1)))[:, 0, 0]
        self.value[by.of] += by.crossed(w[:, None], effect.value[at])[:, 0]
        total = by.crossed(_flat(effect.by_eta[at], w), X)
        if effect.by_slope is not None and dX is not None:
            total = total + by.crossed(_flat(effect.by_slope[at], w), dX[at])
        self.gradient[by.of] += total.reshape(len(by.of), L, -1)

    def add_tails(self, tails: Tails, eta: ndarray, w: ndarray, X: ndarray, codes: ndarray | None = None) -> None:
        """Add the logs of the same rows; `eta` are their linear predictors."""
        n, L, q = tails.by_p.shape
        by = Groups(codes, n)
        at = by.order
        if self.tails is None:
            size = (self.groups, L, q * X.shape[1])
            self.tails = _LogSums(*size), _LogSums(*size)
        for sums, log, slope in zip(self.tails, tails[:2], tails[2:], strict=True):
            sums.add(log[at], slope[at], w[at], X[at], by)
        if eta.ndim == 1:
            self.low[by.of] = np.minimum(self.low[by.of], by.largest(-eta[at]) * -1.0)
            self.high[by.of] = np.maximum(self.high[by.of], by.largest(eta[at]))

    def __add__(self, other: Sums) -> Sums:
        """Those of both."""
        if self.value is None or other.value is None:
            return other if self.value is None else self
        both = Sums(self.groups)
        both.weight, both.value = self.weight + other.weight, self.value + other.value
        both.gradient = self.gradient + other.gradient
        both.low, both.high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        if self.tails is not None and other.tails is not None:
            both.tails = self.tails[0] + other.tails[0], self.tails[1] + other.tails[1]
        return both

    def averages(self, rows: ndarray | None = None, rest: ndarray | None = None) -> list[Average]:
        """What the sums come to, group by group; NaN of a group without a row."""
        assert self.value is not None
        with np.errstate(divide="ignore", invalid="ignore"):
            value = self.value / self.weight[:, None]
            gradient = self.gradient / self.weight[:, None, None]
        ends: list[Ends | None] = [None] * self.groups
        if self.tails is not None:
            ends = list(self._ends(*self.tails, rest))
        return [Average(v, g, rows, e) for v, g, e in zip(value, gradient, ends, strict=True)]

    def _ends(self, of_p: _LogSums, of_q: _LogSums, rest: ndarray | None):
        (log_p, by_p), (log_q, by_q) = of_p.averages(self.weight), of_q.averages(self.weight)
        # the log of a number near 1 is that of its complement
        log_p, log_q = (
            np.where(log_q < log_p, np.log1p(-np.exp(np.minimum(log_q, log_p))), log_p),
            np.where(log_p <= log_q, np.log1p(-np.exp(np.minimum(log_q, log_p))), log_q),
        )
        eta = np.where(self.low == self.high, self.low, np.nan)
        for g in range(self.groups):
            yield Ends(log_p[g], log_q[g], by_p[g], by_q[g], float(eta[g]), rest)


class _LogSums:
    """Weighted sums of exp(l) and their gradients by group, scaled by the largest of each: none over- or underflows."""

    def __init__(self, groups: int, L: int, p: int):
        self.top, self.sum = np.full((groups, L), -np.inf), np.zeros((groups, L))
        self.gradient = np.zeros((groups, L, p))

    def add(self, log: ndarray, slope: ndarray, w: ndarray, X: ndarray, by: Groups) -> None:
        g, old = by.of, self.top[by.of]
        new = np.maximum(old, by.largest(np.where(w[:, None] > 0, log, -np.inf)))
        unit = np.where(np.isfinite(new), new, 0.0)
        shrunk = np.where(np.isneginf(old), 0.0, np.exp(old - unit))
        u = w[:, None] * np.exp(log - np.repeat(unit, by.sizes, axis=0))
        added = by.crossed(_flat(np.where(u[..., None] == 0, 0.0, u[..., None] * slope), np.ones(len(w))), X)
        self.top[g] = new
        self.sum[g] = self.sum[g] * shrunk + np.add.reduceat(u, by.starts, axis=0)
        self.gradient[g] = self.gradient[g] * shrunk[..., None] + added.reshape(*shrunk.shape, -1)

    def __add__(self, other: _LogSums) -> _LogSums:
        both = _LogSums(*self.gradient.shape)
        both.top = np.maximum(self.top, other.top)
        unit = np.where(np.isfinite(both.top), both.top, 0.0)
        for part in (self, other):
            shrunk = np.where(np.isneginf(part.top), 0.0, np.exp(part.top - unit))
            both.sum += part.sum * shrunk
            both.gradient += part.gradient * shrunk[..., None]
        return both

    def averages(self, weight: ndarray) -> tuple[ndarray, ndarray]:
        """Logs of the averages, and their gradients."""
        return self.top + np.log(self.sum / weight[:, None]), self.gradient / self.sum[..., None]


def _flat(A: ndarray, w: ndarray) -> ndarray:
    """w_i A_i, (n, L q)."""
    return A.reshape(len(A), -1) * w[:, None]


class Covariance:
    """Covariance J V J' + F'F of estimates, formed as far as it is asked for.

    Parameters
    ----------
    J : (E, p) ndarray
        Gradients of the estimates.
    V : (p, p) ndarray or None
        Covariance of the parameters; None where F has their part, too.
    F : (m, E) ndarray or csc_array, optional
        A factor of what comes from the rows being a sample.
    lost : (E,) bool ndarray, optional
        Estimates without a covariance. Nor have one those whose gradient is not finite, or that lean on a parameter
        without a variance.
    A : (m, p) ndarray, optional
        How the parameters move with the rows of F, where the two go together: the covariance is that of F + AJ', and
        V is A'A.
    """

    def __init__(
        self,
        J: ndarray,
        V: ndarray | None,
        F: Any = None,
        lost: ndarray | None = None,
        A: ndarray | None = None,
    ):
        bad = ~np.isfinite(J).all(axis=1)
        if V is not None:
            known = np.isfinite(np.diagonal(V))
            bad |= (J[:, ~known] != 0).any(axis=1)
            V = np.where(known & known[:, None], V, 0.0)
        if F is not None:
            bad |= ~np.isfinite(abs(F).sum(axis=0))
        self.lost = bad if lost is None else bad | lost
        self.J, self.V, self.A = np.where(self.lost[:, None], 0.0, J), V, A
        self.F = None if F is None else _without(F, self.lost)

    @property
    def errors(self) -> ndarray:
        """Standard errors, (E,): also where the variances are below the smallest double, or beyond the largest."""
        unit = self._units()
        J = self.J / unit[:, None]
        out = np.zeros(len(J)) if self.V is None else np.einsum("ep,ep->e", J @ self.V, J)
        if self.F is not None:
            F = _columns_times(self.F, 1.0 / unit)
            out = out + (F * F).sum(axis=0)
            if self.A is not None:
                out = out + 2.0 * np.einsum("ep,ep->e", F.T @ self.A, J)
        return np.where(self.lost, np.nan, unit * roots(out))

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
        J, lost = self.J[at], self.lost[at]
        C = np.zeros((len(J), len(J))) if self.V is None else J @ self.V @ J.T
        if self.F is not None:
            F = self.F[:, at]
            own = F.T @ F
            C = C + (own if isinstance(own, ndarray) else own.toarray())
            if self.A is not None:
                both = (F.T @ self.A) @ J.T
                C = C + both + both.T
        C[lost] = C[:, lost] = np.nan
        return C

    def scaled(self, J: ndarray, by: ndarray) -> Covariance:
        """Of functions of the estimates, which have the gradients J in the parameters and slopes `by` (E,)."""
        return Covariance(J, self.V, None if self.F is None else _columns_times(self.F, by), self.lost, self.A)

    def differences(self, first: ndarray, second: ndarray) -> Covariance:
        """Of estimates `second` less estimates `first`."""
        F = None if self.F is None else self.F[:, second] - self.F[:, first]
        return Covariance(self.J[second] - self.J[first], self.V, F, self.lost[first] | self.lost[second], self.A)


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
    """Standard errors of variances; NaN of those below 0."""
    return np.sqrt(np.where(variances >= 0, variances, np.nan))


def of_sums(U: ndarray, w: ndarray, frequency: bool, clusters: ndarray | None = None) -> ndarray:
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


def of_grouped_sums(
    U: ndarray,
    w: ndarray,
    frequency: bool,
    groups: ndarray,
    places: ndarray,
    A: ndarray | None = None,
    clusters: ndarray | None = None,
) -> tuple[Any, ndarray | None]:
    """`of_sums` of estimates each of which is of one group of rows: a sparse factor (m, E), and that of A.

    Parameters
    ----------
    U : (n, M) ndarray
        What a row of weight one adds to the M estimates of its group.
    w, frequency, clusters
        As in `of_sums`.
    groups : (n,) integer ndarray
        Groups of the rows.
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
    by = Groups(groups, len(w))
    both = (_spread_factor(N) * times[:, None] * both)[by.order]
    parts = [_smaller(both[a:b]) for a, b in zip(by.starts, by.stops, strict=True)]
    both, of = np.concatenate(parts), np.repeat(by.of, [len(part) for part in parts])
    return _spread(both[:, :M], places[of], E).tocsc(), None if A is None else both[:, M:]


def _spread_factor(N: float) -> float:
    """sqrt(N/(N-1)); NaN of one row, which says nothing of how rows differ."""
    return float(np.sqrt(N / (N - 1.0))) if N > 1 else np.nan


def _smaller(F: ndarray) -> ndarray:
    """A factor of the same F'F with fewer rows, where that is worth the while."""
    return np.asarray(np.linalg.qr(F, mode="r")) if 4 * F.shape[1] < len(F) and np.isfinite(F).all() else F


def _by_cluster(clusters: ndarray) -> Any:
    """The matrix that adds rows up by cluster, (G, n)."""
    n = len(clusters)
    return sparse.csr_array((np.ones(n), (clusters, np.arange(n))), shape=(int(clusters.max()) + 1, n))


def _spread(data: ndarray, columns: ndarray, E: int) -> Any:
    """A sparse matrix (m, E) with the entries of each row (m, M) in its columns (m, M)."""
    m, M = data.shape
    return sparse.csr_array((data.ravel(), columns.ravel(), np.arange(m + 1) * M), shape=(m, E))


def sampled(w: ndarray, frequency: bool, groups: ndarray, G: int, clusters: ndarray | None = None) -> ndarray:
    """How many rows, or clusters of them, each group is a sample of, (G,)."""
    if clusters is not None:
        pairs = np.unique(np.column_stack([groups, clusters])[w > 0], axis=0)
        return np.bincount(pairs[:, 0], minlength=G)
    return np.bincount(groups, w if frequency else (w > 0).astype(float), G)
