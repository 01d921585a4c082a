"""The logit that Gaussian classes imply: its coefficients, their covariance and that of the log-odds.

With x | k ~ N(m_k, S_k) and prior p_k the log-odds of class k against class 0 are linear in x (one covariance for all
classes) or quadratic (one for each). Everything here is a function of a fitted `Gaussian`; coefficients refer to the
origin of x, those of ``g.shifted()`` to its grand mean, where arithmetic is best conditioned. A coefficient has the
flat position ``(k - 1) * m + j``: equation by equation, class 1 first, m coefficients in each.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.core.discriminant import linear, quadratic
from glmclf.core.discriminant.entries import DIAGONAL, TABLE, Pairing, Positions
from glmclf.core.gaussian.fit import Gaussian
from glmclf.core.gaussian.moments import ClassMoments

MAX_BLOCK_NUMBERS = 2**21  # numbers a block of rows may hold while the covariance of its log-odds is formed
MAX_FORMED_COEFFICIENTS = 2_000  # coefficients whose covariance matrix is formed to multiply by it


def size(g: Gaussian) -> int:
    """Number of coefficients in an equation, m: p + 1 if linear; if quadratic 1 + p + p(p+1)/2, 2p + 1
    or p + 2 by structure."""
    return g.p + 1 if g.pooled else quadratic.size(g.kind, g.p)


def coefficients(g: Gaussian) -> ndarray:
    """Coefficients of the log-odds log(p_k f_k(x)) - log(p_0 f_0(x)), k = 1..K-1.

    Linear, with W the inverse of the common covariance: ``W (m_k - m_0)`` and the intercept
    ``log(p_k / p_0) - (m_k + m_0)' W (m_k - m_0) / 2``. Quadratic: differences of the coefficients of
    ``log p_k - log|S_k|/2 - (x - m_k)' W_k (x - m_k) / 2``.

    Parameters
    ----------
    g : Gaussian
        Fitted classes; ``g.shifted()`` for the coefficients in x minus its grand mean.

    Returns
    -------
    (K - 1, m) ndarray
        Log-odds per unit of the column. Columns are 1, x_1..x_p and, if quadratic, x_i x_j (i <= j, row by row;
        "diag": squares only; "spherical": the one column |x|^2).

    References
    ----------
    McLachlan (1992), Discriminant Analysis and Statistical Pattern Recognition, sections 3.2 and 3.3.

    Examples
    --------
    >>> import numpy as np
    >>> from glmclf.core.gaussian.dispersion import Dispersion
    >>> from glmclf.core.gaussian.fit import Gaussian
    >>> counts, means = np.array([50.0, 50.0]), np.array([[0.0], [2.0]])
    >>> spread = (Dispersion("full", np.eye(1), 100.0),)
    >>> g = Gaussian(counts, np.log([0.5, 0.5]), True, counts, means, spread, np.array([1.0]))
    >>> coefficients(g)
    array([[-2.,  2.]])
    """
    at_centre = linear.coefficients(g.shifted()) if g.pooled else quadratic.coefficients(g.shifted())
    return to_raw(g, at_centre)


def to_raw(g: Gaussian, rows: ndarray) -> ndarray:
    """Coefficients in x from rows (r, m) of coefficients in x - g.centre; this linear map M also
    turns V_c to M V_c M'."""
    if g.pooled:
        out = np.array(rows, dtype=float)
        out[:, 0] -= out[:, 1:] @ g.centre
        return out
    return quadratic.translated(g.kind, rows, g.centre)


class DiscriminantCovariance:
    """Covariance of `coefficients(g)` by the delta method, in closed form.

    Priors, means and covariances are independent at the maximum: means add ``S_k / n_k``, covariance elements
    ``cov(s_ab, s_cd) = (s_ac s_bd + s_ad s_bc) / n``, log prior odds ``1/a_0 + [k=l]/a_k`` (a the prior counts) unless
    the priors are fixed. Any block is computed from K (p, p) matrices, without the rest.

    Parameters
    ----------
    g : Gaussian
        Fitted classes; ``g.shifted()`` for the covariance of the coefficients in x minus its grand mean.

    It multiplies like a matrix from the right, ``J @ V``, which of many coefficients is not formed.

    Attributes
    ----------
    shape : (int, int)
        Equations K - 1 and coefficients in each, m.

    Notes
    -----
    Variances are sums of non-negative terms, so that an origin far from the data costs no digits. A quadratic form in
    the coefficients, such as the variance of a predicted log-odds, does lose them there: see `log_odds_covariance`.

    References
    ----------
    Efron (1975), JASA 70, 892-898 (one feature); Magnus & Neudecker (2019), Matrix Differential Calculus, chapter 15.

    Examples
    --------
    >>> import numpy as np
    >>> from glmclf.core.gaussian.dispersion import Dispersion
    >>> from glmclf.core.gaussian.fit import Gaussian
    >>> counts, means = np.array([50.0, 50.0]), np.array([[0.0], [2.0]])
    >>> spread = (Dispersion("full", np.eye(1), 100.0),)
    >>> g = Gaussian(counts, np.log([0.5, 0.5]), True, counts, means, spread, np.array([1.0]))
    >>> DiscriminantCovariance(g).variances().round(6)
    array([[0.2 , 0.12]])
    """

    __array_ufunc__ = None  # J @ V is this class's product

    def __init__(self, g: Gaussian):
        self._g = g
        self.shape = (g.K - 1, size(g))

    def __len__(self) -> int:
        """Number of coefficients."""
        return self.shape[0] * self.shape[1]

    def __rmatmul__(self, J: ndarray) -> ndarray:
        """Products J V for rows of J (e, (K-1) m)."""
        if len(self) <= MAX_FORMED_COEFFICIENTS:
            return J @ self._whole
        if isinstance(self._parts, quadratic.QuadraticCovariance) and self._g.kind == "full":
            out = self._parts.times(J.reshape(len(J), *self.shape))
            if self._g.priors_free:
                out[:, :, 0] += J[:, :: self.shape[1]] @ _prior_covariance(self._g)
            return out.reshape(J.shape)
        every, length = np.arange(len(self)), max(1, MAX_BLOCK_NUMBERS // len(self))
        return np.hstack([J @ self.block(every, every[part]) for part in _chunks(len(self), length)])

    @cached_property
    def _whole(self) -> ndarray:
        return self.full()

    def diagonal(self) -> ndarray:
        """Variances of all coefficients, ((K-1) m,)."""
        return self.variances().ravel()

    @cached_property
    def _parts(self) -> linear.LinearCovariance | quadratic.QuadraticCovariance:
        return linear.LinearCovariance.of(self._g) if self._g.pooled else quadratic.QuadraticCovariance.of(self._g)

    def variances(self) -> ndarray:
        """Variances of the coefficients, (K - 1, m), in O(K p^2) memory."""
        q, m = self.shape
        out = np.empty((q, m))
        for k in range(q):
            at = Positions(np.full(m, k), np.arange(m))
            out[k] = self._entries(at, at, DIAGONAL)
        return out

    def block(self, rows: ndarray, cols: ndarray | None = None) -> ndarray:
        """Covariances of the coefficients at flat positions `rows` with those at `cols` (default: `rows`).

        Parameters
        ----------
        rows, cols : (r,), (s,) integer ndarray, boolean mask or slice
            Flat positions, (k - 1) * m + j.

        Returns
        -------
        (r, s) ndarray
        """
        a = self._positions(rows)
        b = a if cols is None else self._positions(cols)
        V = self._entries(a, b, TABLE)
        return (V + V.T) / 2 if cols is None else V

    def full(self) -> ndarray:
        """The whole covariance matrix, ((K-1) m, (K-1) m); O(K^2 p^4) numbers for quadratic
        log-odds of full covariances."""
        return self.block(np.arange(self.shape[0] * self.shape[1]))

    def _positions(self, rows) -> Positions:
        flat = np.arange(self.shape[0] * self.shape[1])[rows]
        return Positions(*np.divmod(flat, self.shape[1]))

    def _entries(self, a: Positions, b: Positions, pairing: Pairing) -> ndarray:
        V = self._parts.entries(a, b, pairing)
        if self._g.priors_free:
            k, l = pairing.split(a.equation, b.equation)
            i, j = pairing.split(a.column, b.column)
            V += np.where((i == 0) & (j == 0), _prior_covariance(self._g)[k, l], 0.0)
        return V


def log_odds_covariance(g: Gaussian, X: ndarray, priors_free: bool | None = None) -> ndarray:
    """Covariance of the K - 1 log-odds of each row of X, by the delta method.

    One covariance: with d_k = x - m_k, h_k the midpoint of m_k and m_0, b_k the slopes and D_k^2 = d_k' W d_k,
    ``[k=l] D_k^2/n_k + D_0^2/n_0 + C_kl`` and for "full"
    ``C_kl = (b_k'S b_l (h_k-x)'W(h_l-x) + (h_k-x)'b_l (h_l-x)'b_k) / n``.
    A covariance for each class: ``[k=l] v_k + v_0``, with equal sample sizes ``v_k = (p + D_k^4)/(2 n_k)`` for "full".

    Parameters
    ----------
    g : Gaussian
        Fitted classes; `g.marginal(observed)` for rows with missing features.
    X : (n, p) ndarray
        Features.
    priors_free : bool, optional
        Whether the priors are estimates, which add 1/a_0 + [k=l]/a_k; default ``g.priors_free``.

    Returns
    -------
    (n, K - 1, K - 1) ndarray

    Notes
    -----
    Computed from whitened distances, accurate wherever the origin of x is.
    """
    free = g.priors_free if priors_free is None else priors_free
    of_rows = linear.log_odds_covariance if g.pooled else quadratic.log_odds_covariance
    out = np.zeros((len(X), g.K - 1, g.K - 1))
    # of no feature at all, the priors remain
    for rows in _chunks(len(X) if g.p else 0, max(1, MAX_BLOCK_NUMBERS // (g.K * (g.p + g.K)))):
        out[rows] = of_rows(g, X[rows])
    return out + _prior_covariance(g) if free else out


def exact_bias_reduction(moments: ClassMoments, g: Gaussian) -> tuple[ndarray, ndarray]:
    """Unbiased slopes of the linear discriminant and their exact covariance.

    With v = N - K and W_s the within-class scatter, ``b_k = (v - p - 1) W_s^-1 (m_k - m_0)`` is unbiased given the
    counts and, with W = (v - p - 1) W_s^-1, c_kl = 1/n_0 + [k=l]/n_k and D_kl = b_k' W^-1 b_l plugged in,
    ``cov(b_k, b_l) = [(v-1)(v-p-1) c_kl W + 2 b_k b_l' + (v-p-1)(D_kl W + b_l b_k')] / ((v-p)(v-p-3))``.

    Parameters
    ----------
    moments : ClassMoments
        Gives the counts.
    g : Gaussian
        One full covariance for all classes, divided by N or N - K, not regularised.

    Returns
    -------
    ((K - 1, p + 1) ndarray, ((K-1)(p+1), (K-1)(p+1)) ndarray)
        Coefficients and their covariance, equation by equation, at the origin of x.

    Raises
    ------
    ValueError
        If v <= p + 3, where the covariance is infinite.

    Notes
    -----
    The intercept is ``log(p_k / p_0) - h_k' b_k`` with h_k the midpoint. Its variance is the delta method's around the
    exact covariance of the slopes, with cov(h_k) and cov(h_k, b_l) = ([k=l]/n_k - 1/n_0) I / 2, which is exact.

    References
    ----------
    Das Gupta (1968), Annals of the Institute of Statistical Mathematics 20 (moments of the inverse Wishart law).
    """
    v, p = float(moments.n) - moments.K, moments.p
    if v <= p + 3:
        raise ValueError(
            f'bias_reduction="exact" needs more than {p + 3} degrees of freedom within classes (features + 3), '
            f"there are {v:g}: use fewer features or more rows"
        )
    b, V = linear.bias_reduced(g.shifted(), v)
    V = to_raw(g, V.reshape(-1, p + 1)).reshape(V.shape)
    V = to_raw(g, V.T.reshape(-1, p + 1)).reshape(V.shape)
    if g.priors_free:
        V[:: p + 1, :: p + 1] += _prior_covariance(g)
    return to_raw(g, b), (V + V.T) / 2


def _prior_covariance(g: Gaussian) -> ndarray:
    """Covariance of the estimated log prior odds, (K - 1, K - 1)."""
    return 1 / g.prior_counts[0] + np.diag(1 / g.prior_counts[1:])


def _chunks(n: int, length: int) -> Iterator[slice]:
    return (slice(start, start + length) for start in range(0, n, length))
