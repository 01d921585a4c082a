"""Classes with a Gaussian covariance each: the quadratic discriminant, in the coordinates of the means it is given.

Class k has ``log p_k f_k(x) = const + sum_{i<=j} t_ij x_i x_j`` over i, j = 0..p with x_0 = 1: the intercept t_00,
the linear terms t_0j, the quadratic t_ij. With W_k the inverse covariance, J = [-m_k, I] and B = J'W_k J, which is
(p+1, p+1), t_ij = -w_ij B_ij with w_ij = 1/2 if i = j else 1; ``log p_k - log|S_k|/2`` comes to the intercept. The
equations are differences from class 0, and classes are independent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from glmclf.core.discriminant.entries import DIAGONAL, TABLE, Arrows, Pairing, Positions
from glmclf.core.gaussian.dispersion import Dispersion
from glmclf.core.gaussian.fit import Gaussian


def monomials(kind: str, p: int) -> tuple[ndarray, ndarray]:
    """Indices i and j of the terms x_i x_j (x_0 = 1) in the order of coefficients, (m,) each; "full" or "diag"."""
    if kind == "full":
        return np.triu_indices(p + 1)
    feature = np.arange(1, p + 1)
    return np.concatenate([np.zeros(p + 1, int), feature]), np.concatenate([[0], feature, feature])


def size(kind: str, p: int) -> int:
    """Number of coefficients in an equation."""
    return {"full": (p + 1) * (p + 2) // 2, "diag": 2 * p + 1, "spherical": p + 2}[kind]


def products(kind: str, p: int) -> list[tuple[int, int]]:
    """Pairs of features i <= j whose products x_i x_j are regressors, in the order of their coefficients."""
    i, j = (a[p + 1 :] - 1 for a in monomials(kind, p))
    return list(zip(i.tolist(), j.tolist(), strict=True))


def regressors(law: Gaussian, D: ndarray) -> ndarray:
    """Regressors of the implied logit at x minus the centre: 1, x and, if it is quadratic, products, (n, m)."""
    out = np.empty((len(D), _width(law)))
    out[:, 0], out[:, 1 : law.p + 1] = 1.0, D
    for i, j, columns in _runs(law):
        np.multiply(D[:, i], D[:, j], out=out[:, columns])
    if not law.pooled and law.kind == "spherical":
        out[:, -1] = (D * D).sum(axis=1)
    return out


def regressor_slopes(law: Gaussian, D: ndarray, d: ndarray) -> tuple[ndarray, ndarray]:
    """Columns of `regressors` that change where x changes by d, (c,), and their derivatives, (n, c)."""
    moved = (d != 0).any(axis=0)
    features = np.flatnonzero(moved)
    columns, parts = [1 + features], [d[:, features]]
    if not law.pooled and law.kind == "spherical":
        return np.append(columns[0], law.p + 1), np.column_stack([*parts, 2.0 * (D * d).sum(axis=1)])
    if not law.pooled:
        i, j = (a[law.p + 1 :] - 1 for a in monomials(law.kind, law.p))
        at = np.flatnonzero(moved[i] | moved[j])
        i, j = i[at], j[at]
        columns.append(law.p + 1 + at)
        parts.append(d[:, i] * D[:, j] + D[:, i] * d[:, j])
    return np.concatenate(columns), np.hstack(parts)


def _width(law: Gaussian) -> int:
    """Number of regressors, the constant included."""
    return law.p + 1 if law.pooled else size(law.kind, law.p)


def _runs(law: Gaussian) -> Iterator[tuple[slice, slice, slice]]:
    """Products x_i x_j in runs that lie side by side: features i and j, and the columns of their products."""
    start, p = law.p + 1, law.p
    if law.pooled or law.kind == "spherical":
        return
    if law.kind == "diag":
        yield slice(p), slice(p), slice(start, start + p)
        return
    for a in range(p):  # x_a x_a, x_a x_a+1, ...
        yield slice(a, a + 1), slice(a, p), slice(start, start + p - a)
        start += p - a


def coefficients(g: Gaussian) -> ndarray:
    """Differences of the classes' coefficients to those of class 0, (K - 1, m)."""
    theta = np.stack([_class_coefficients(g, k) for k in range(g.K)])
    return theta[1:] - theta[0]


def _class_coefficients(g: Gaussian, k: int) -> ndarray:
    """Coefficients of log pi_k f_k(x): log p_k - log|S_k|/2 - m'W m/2, then W m, then -W_ii/2 and -W_ij."""
    spread, m = g.dispersion(k), g.means[k]
    b = spread.solve(m[None, :])[0]
    c = g.log_priors[k] - spread.logdet / 2 - m @ b / 2
    if spread.kind == "full":
        i, j = np.triu_indices(g.p)
        squares = -np.where(i == j, 0.5, 1.0) * spread.inverse[i, j]
    else:
        squares = -0.5 / spread.root[: 1 if spread.kind == "spherical" else None] ** 2
    return np.concatenate([[c], b, squares])


def translated(kind: str, rows: ndarray, origin: ndarray) -> ndarray:
    """Coefficients in x from rows (r, m) of coefficients in x - origin."""
    out, p = np.array(rows, dtype=float), len(origin)
    intercept, linear, squares = out[:, 0], out[:, 1 : p + 1], out[:, p + 1 :]  # views
    intercept -= linear @ origin
    if kind == "full":
        i, j = np.triu_indices(p)
        intercept += squares @ (origin[i] * origin[j])
        start = 0
        for a in range(p):  # the terms x_a x_a, x_a x_a+1, ...
            part = squares[:, start : start + p - a]
            linear[:, a] -= part @ origin[a:]
            linear[:, a:] -= part * origin[a]
            start += p - a
    else:
        intercept += squares @ (origin**2 if kind == "diag" else np.array([origin @ origin]))
        linear -= 2 * squares * origin
    return out


@dataclass(frozen=True)
class FullClass:
    """Covariance of the coefficients of a class with a full covariance; `bordered` is B."""

    count: float
    n: float
    bordered: ndarray

    def entries(self, i: ndarray, j: ndarray, pairing: Pairing) -> ndarray:
        """Covariances of the coefficients in columns `i` with those in columns `j`.

        Means give B_bd / n_k to (t_0b, t_0d), the covariance w w (B_ac B_bd + B_ad B_bc)/n to (t_ab, t_cd); the
        intercept's log|S_k| adds -w B_cd/n with t_cd and p/(2n) with itself.
        """
        B, p = self.bordered, len(self.bordered) - 1
        first, second = monomials("full", p)
        a, c = pairing.split(first[i], first[j])
        b, d = pairing.split(second[i], second[j])
        w, v = np.where(a == b, 0.5, 1.0), np.where(c == d, 0.5, 1.0)
        V = B[a, c] * B[b, d]
        V += B[a, d] * B[b, c]
        V *= w * v
        V -= np.where(b == 0, v * B[c, d], 0.0) + np.where(d == 0, w * B[a, b], 0.0)
        V += np.where((b == 0) & (d == 0), p / 2, 0.0)
        return V / self.n + np.where((a == 0) & (c == 0), B[b, d], 0.0) / self.count

    def times(self, rows: ndarray) -> ndarray:
        """Products with the covariance matrix of all coefficients, (r, m), of rows u of (r, m).

        With U the symmetric matrix whose entries i <= j are u, the sum over (a, b) of `entries` times u is, at (c, d),
        ``v ((BUB)_cd - u_00 B_cd)/n``, plus ``(B u_0)_d / n_k`` where c = 0 and ``(p u_00 - tr UB)/(2n)`` at (0, 0).
        """
        B, p = self.bordered, len(self.bordered) - 1
        i, j = monomials("full", p)
        at, whole = i * (p + 1) + j, np.zeros((p + 1, p + 1), dtype=np.intp)
        whole[i, j] = whole[j, i] = np.arange(len(i))
        factor, V = np.where(i == j, 0.5, 1.0) / self.n, np.empty(rows.shape)
        for u, out in zip(rows, V, strict=True):
            UB = u[whole] @ B
            np.multiply((B @ UB - u[0] * B).ravel()[at], factor, out=out)
            out[0] += (p * u[0] - np.trace(UB)) / (2 * self.n)
        V[:, : p + 1] += rows[:, : p + 1] @ B / self.count
        return V


@dataclass(frozen=True)
class DiagonalClass:
    """Covariance of the coefficients of a class with a diagonal or spherical covariance.

    `means` and `spread` (of one variance: (m, 1)) are derivatives of the coefficients in independent standardised
    parameters, of variance 1/count and 1/n.
    """

    count: float
    n: float
    means: Arrows
    spread: Arrows | ndarray

    def entries(self, i: ndarray, j: ndarray, pairing: Pairing) -> ndarray:
        """Covariances of the coefficients in columns `i` with those in columns `j`."""
        a, b = (Positions(np.zeros_like(at), at) for at in (i, j))
        if isinstance(self.spread, Arrows):
            by_spread = self.spread.gram(a, b, pairing)
        else:
            by_spread = pairing.dot(self.spread[i], self.spread[j])
        return self.means.gram(a, b, pairing) / self.count + by_spread / self.n


def _full_class(count: float, spread: Dispersion, m: ndarray) -> FullClass:
    J = np.vstack([-m, np.eye(len(m))])
    Z = spread.whiten(J)
    return FullClass(count, spread.n, Z @ Z.T)


def _diagonal_class(count: float, spread: Dispersion, m: ndarray) -> DiagonalClass:
    """DiagonalClass in the parameters m_j / s_j, and log s_j^2 / sqrt(2) for each feature or log s^2 sqrt(p/2) for the
    common variance."""
    p, s = len(m), spread.root
    z, own = m / s, np.arange(p)
    squares = np.zeros(size(spread.kind, p) - p - 1)  # they do not depend on the means
    features = np.concatenate([own, own[: len(squares)]])
    means = Arrows(-z[None], features, np.concatenate([1 / s, squares])[None])
    if spread.kind == "diag":
        values = np.concatenate([-z / s, 0.5 / s**2])
        return DiagonalClass(
            count, spread.n, means, Arrows((z**2 - 1)[None] / np.sqrt(2), features, values[None] * np.sqrt(2))
        )
    logs = np.concatenate([[(z @ z - p) / 2], -z / s, [0.5 / s[0] ** 2]])
    return DiagonalClass(count, spread.n, means, logs[:, None] * np.sqrt(2 / p))


@dataclass(frozen=True)
class QuadraticCovariance:
    """Covariance of the quadratic coefficients, without the prior part: V_0 + [k=l] V_k."""

    classes: tuple[FullClass | DiagonalClass, ...]

    @classmethod
    def of(cls, g: Gaussian) -> QuadraticCovariance:
        of_class = _full_class if g.kind == "full" else _diagonal_class
        return cls(tuple(of_class(g.counts[k], g.dispersion(k), g.means[k]) for k in range(g.K)))

    def entries(self, a: Positions, b: Positions, pairing: Pairing) -> ndarray:
        """Entries at the positions asked for."""
        return self._paired(a, b) if pairing is DIAGONAL else self._table(a, b)

    def times(self, J: ndarray) -> ndarray:
        """Products J V for J (e, K-1, m), of full covariances, in O(e K p^3): V itself has O(K^2 p^4) numbers."""
        out = np.empty(J.shape)
        out[:] = self.classes[0].times(J.sum(axis=1))[:, None]  # type: ignore[union-attr]
        for k, law in enumerate(self.classes[1:]):
            out[:, k] += law.times(J[:, k])  # type: ignore[union-attr]
        return out

    def _paired(self, a: Positions, b: Positions) -> ndarray:
        V = self.classes[0].entries(a.column, b.column, DIAGONAL)
        for k in np.unique(a.equation):
            at = (a.equation == k) & (b.equation == k)
            V[at] += self.classes[k + 1].entries(a.column[at], b.column[at], DIAGONAL)
        return V

    def _table(self, a: Positions, b: Positions) -> ndarray:
        (u, i), (v, j) = (np.unique(at.column, return_inverse=True) for at in (a, b))
        V = self.classes[0].entries(u, v, TABLE)[np.ix_(i, j)]
        for k in np.intersect1d(a.equation, b.equation):
            rows, cols = np.flatnonzero(a.equation == k), np.flatnonzero(b.equation == k)
            V[np.ix_(rows, cols)] += self.classes[k + 1].entries(a.column[rows], b.column[cols], TABLE)
        return V


def log_odds_covariance(g: Gaussian, X: ndarray) -> ndarray:
    """Covariance of the log-odds in rows of X, without the prior part: v_0 + [k=l] v_k."""
    v = np.stack([_score_variance(g, k, X) for k in range(g.K)])
    V = np.broadcast_to(v[0][:, None, None], (len(X), g.K - 1, g.K - 1)).copy()
    diagonal = np.arange(g.K - 1)
    V[:, diagonal, diagonal] += v[1:].T
    return V


def _score_variance(g: Gaussian, k: int, X: ndarray) -> ndarray:
    """Variance of log f_k(x), (n,): that of the intercept with the origin at x.

    Means give D^2/n_k, the covariance ((D^2-1)^2 + p - 1)/(2n), sum_j (d_j^2-1)^2/(2n) or (D^2-p)^2/(2np).
    """
    spread, p = g.dispersion(k), g.p
    d2 = spread.whiten((X - g.centre) - g.about[k]) ** 2
    D2 = d2.sum(axis=1)
    if spread.kind == "full":
        by_covariance = ((D2 - 1) ** 2 + p - 1) / 2
    elif spread.kind == "diag":
        by_covariance = ((d2 - 1) ** 2).sum(axis=1) / 2
    else:
        by_covariance = (D2 - p) ** 2 / (2 * p)
    return D2 / g.counts[k] + by_covariance / spread.n
