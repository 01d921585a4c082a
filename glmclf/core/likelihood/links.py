"""Links of a binary response: four functions of the linear predictor in log space, and the quantile.

A link is a distribution function F with P(event) = F(eta). Everything a binary model computes follows from log F,
log(1 - F), log f and d log f / d eta, each correct in both tails: no probability is ever formed as a difference from
one, and none is clipped.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy import ndarray
from scipy.special import erfcx, expit, log_expit, log_ndtr, logit, ndtr, ndtri, ndtri_exp

LOG_SQRT_2PI = 0.9189385332046727418
SQRT_HALF = 0.7071067811865475244
SQRT_2PI = 2.5066282746310005024
LOG_LOG_2 = -0.3665129205816643270
LOG_MAX = 709.782712893384
RELATIVE_RISK = "relative risk ratio"  # exp(b) of the multinomial logit, log(p_j / p_0) = x'b_j


class Terms(NamedTuple):
    """Functions of a link at eta that a likelihood is made of, each (n,).

    log F, log(1-F), their slopes r1 = f/F and r0 = f/(1-F) (the latter with its sign turned), and their curvatures
    w1 = -(log F)'' = r1 (r1 - g) and w0 = -(log(1-F))'' = r0 (r0 + g), g = d log f / d eta. The curvatures are here,
    and not g, because those differences cancel in the tails: a link knows a form of its own that does not.
    """

    logcdf: ndarray
    logsf: ndarray
    r1: ndarray
    r0: ndarray
    w1: ndarray
    w0: ndarray


class Link(ABC):
    """Inverse link F, a distribution function on the real line.

    A subclass defines `logcdf`, `logsf`, `logpdf`, `dlogpdf`, `quantile` and `quantile_of_logs`, and the attributes
    that are not as here; the rest is derived, and overridden for speed or digits. Where separation decides a row, eta
    is inf or -inf: `cdf`, `sf`, their logs and `pdf` must not warn there, nor may r1 and r0 of `terms` be NaN. Derived
    terms are, where log f and log F are both -inf: such a link needs `terms` of its own.

    Every F here is log-concave: the observed information is positive semi-definite, and a maximum is the only one.
    Solvers rest on that. Of another F, such as Cauchy's, there may be several maxima, and away from them the observed
    information may be indefinite, where a fit may end with "the information matrix is singular".

    Attributes
    ----------
    name : str
        As tables show it.
    ratio : str
        The name of exp(b), "odds ratio"; "" where it is no ratio of anything.
    canonical : bool
        Whether eta is the log odds, so that observed and expected information coincide for every response.
    symmetric : bool
        Whether F(-eta) = 1 - F(eta): a failure at eta is then a success at -eta, and `success` is all that 0/1 data
        need.
    latent_variance : float
        Variance of F, of the latent variable's error; NaN where F has none.
    """

    name = ""
    ratio = ""
    canonical = False
    symmetric = False
    latent_variance = np.nan

    @abstractmethod
    def logcdf(self, eta: ndarray) -> ndarray:
        """Log probability of the event, log F(eta)."""

    @abstractmethod
    def logsf(self, eta: ndarray) -> ndarray:
        """Log probability of the other outcome, log(1 - F(eta))."""

    @abstractmethod
    def logpdf(self, eta: ndarray) -> ndarray:
        """Log density log f(eta), f the derivative of F."""

    @abstractmethod
    def dlogpdf(self, eta: ndarray) -> ndarray:
        """Derivative d log f / d eta of the log density."""

    @abstractmethod
    def quantile(self, mu: ndarray) -> ndarray:
        """The eta with F(eta) = mu."""

    @abstractmethod
    def quantile_of_logs(self, log_p: ndarray, log_q: ndarray) -> ndarray:
        """The eta with log F(eta) = log_p and log(1 - F(eta)) = log_q, by the one that keeps its digits."""

    def cdf(self, eta: ndarray) -> ndarray:
        """Probability of the event, F(eta)."""
        return np.exp(self.logcdf(eta))

    def sf(self, eta: ndarray) -> ndarray:
        """Probability of the other outcome, 1 - F(eta), right where F rounds to one."""
        return np.exp(self.logsf(eta))

    def pdf(self, eta: ndarray) -> ndarray:
        """Density f(eta)."""
        return np.exp(self.logpdf(eta))

    def terms(self, eta: ndarray) -> Terms:
        """Log probabilities, slopes and curvatures at eta, all that a likelihood needs."""
        logcdf, logsf, logpdf, g = self.logcdf(eta), self.logsf(eta), self.logpdf(eta), self.dlogpdf(eta)
        r1, r0 = np.exp(logpdf - logcdf), np.exp(logpdf - logsf)
        return Terms(logcdf, logsf, r1, r0, r1 * (r1 - g), r0 * (r0 + g))

    def success(self, eta: ndarray, expected: bool) -> tuple[ndarray, ndarray, ndarray]:
        """Values of log F, r1 and the weight r1 r0 (expected) or w1 (observed) of a success at eta."""
        t = self.terms(eta)
        return t.logcdf, t.r1, t.r1 * t.r0 if expected else t.w1

    def outcome(self, y: ndarray, eta: ndarray, expected: bool) -> tuple[ndarray, ndarray, ndarray]:
        """Log-likelihood of one trial with y in {0, 1}, its derivative in eta and the weight."""
        if self.symmetric:
            sign = 2.0 * y - 1.0
            ll, r1, w = self.success(sign * eta, expected)
            return ll, np.multiply(r1, sign, out=sign), w
        t, failure = self.terms(eta), 1.0 - y
        w = t.r1 * t.r0 if expected else y * t.w1 + failure * t.w0
        return y * t.logcdf + failure * t.logsf, y * t.r1 - failure * t.r0, w

    def curvature_change(self, eta: ndarray) -> ndarray:
        """Bound M of |w'/w|, of the curvature w of either outcome's log-likelihood, at eta and within 1/M of it;
        infinite where none is known, and separation is left to linear programs."""
        return np.full_like(eta, np.inf)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class LogitLink(Link):
    """F(eta) = 1 / (1 + exp(-eta)), the standard logistic distribution function."""

    name = "logit"
    ratio = "odds ratio"
    canonical = True
    symmetric = True
    latent_variance = np.pi**2 / 3

    def logcdf(self, eta):
        return log_expit(eta)

    def logsf(self, eta):
        return log_expit(-eta)

    def logpdf(self, eta):
        return log_expit(eta) + log_expit(-eta)

    def dlogpdf(self, eta):
        return -np.tanh(0.5 * eta)

    def quantile(self, mu):
        return logit(mu)

    def curvature_change(self, eta):
        return np.ones_like(eta)

    def quantile_of_logs(self, log_p, log_q):
        return log_p - log_q

    def cdf(self, eta):
        return expit(eta)

    def sf(self, eta):
        return expit(-eta)

    def pdf(self, eta):
        return expit(eta) * expit(-eta)

    def terms(self, eta):
        """Terms r1 = 1 - F, r0 = F, w1 = w0 = F (1 - F), all by one exponential, exp(-|eta|)."""
        e = np.exp(-np.abs(eta))
        small, large = e / (1.0 + e), 1.0 / (1.0 + e)
        up = eta >= 0
        F, S = np.where(up, large, small), np.where(up, small, large)
        base = -np.log1p(e)
        w = small * large
        return Terms(base + np.minimum(eta, 0.0), base - np.maximum(eta, 0.0), S, F, w, w)

    def success(self, eta, expected):
        """Log F, r1 and weight by one exponential and one logarithm a row, and beyond its range, where minimum(eta, 0)
        - eta is -max(eta, 0)
        exactly, one exponential more."""
        if within(eta, -700.0, 700.0):
            e = np.negative(eta)
            np.exp(e, out=e)
            d = 1.0 + e
            logcdf = np.log1p(e)
            np.negative(logcdf, out=logcdf)
            e /= d
            return logcdf, e, np.divide(e, d, out=d)
        e, low = np.exp(-np.abs(eta)), np.minimum(eta, 0.0)
        d = 1.0 + e
        return low - np.log1p(e), np.exp(low - eta) / d, e / (d * d)


class ProbitLink(Link):
    """F = Phi, the standard normal distribution function."""

    name = "probit"
    symmetric = True
    latent_variance = 1.0

    def logcdf(self, eta):
        return log_ndtr(eta)

    def logsf(self, eta):
        return log_ndtr(-eta)

    def logpdf(self, eta):
        return -0.5 * eta * eta - LOG_SQRT_2PI

    def dlogpdf(self, eta):
        return -eta

    def quantile(self, mu):
        return ndtri(mu)

    def curvature_change(self, eta):
        return np.abs(eta) + 2.0

    def quantile_of_logs(self, log_p, log_q):
        return np.where(log_p < log_q, ndtri_exp(np.minimum(log_p, log_q)), -ndtri_exp(np.minimum(log_p, log_q)))

    def cdf(self, eta):
        return ndtr(eta)

    def sf(self, eta):
        return ndtr(-eta)

    def terms(self, eta):
        """Terms by Mills' ratio: with a = |eta| the small tail is Q = phi(a) M(a), M = Mills' ratio from the scaled
        erfc, so that phi/Q = 1/M loses no digit where phi and Q underflow."""
        a = np.abs(eta)
        half_erfcx = 0.5 * erfcx(a * SQRT_HALF)
        log_kernel = -0.5 * a * a
        hazard = 1.0 / (SQRT_2PI * half_erfcx)
        log_tail = np.log(half_erfcx) + log_kernel
        log_bulk = np.log1p(-half_erfcx * np.exp(log_kernel))
        reverse = np.exp(log_kernel - LOG_SQRT_2PI - log_bulk)
        w_tail, w_bulk = hazard * _hazard_excess(a, hazard), reverse * (reverse + a)
        up = eta >= 0
        return Terms(
            np.where(up, log_bulk, log_tail),
            np.where(up, log_tail, log_bulk),
            np.where(up, reverse, hazard),
            np.where(up, hazard, reverse),
            np.where(up, w_bulk, w_tail),
            np.where(up, w_tail, w_bulk),
        )

    def success(self, eta, expected):
        """Log F, r1 and weight: with a = |eta|, Mills' ratio M and the tail Q = phi(a) M(a): F = Q below 0 and 1 - Q
        above, and log F = log M + log phi or log1p(-Q). A choice between two numbers costs more than an exponential:
        `below` is 0 or 1, phi a kernel that is 1 below, and log M = log1p(M - 1), where M below rounding of 1 (a >
        1e15) is nothing beside log phi."""
        if within(eta, -5.0, 30.0):
            return self._success_at_hand(eta, expected)
        below = (eta < 0).astype(np.float64)
        a = np.abs(eta)
        half_erfcx = 0.5 * erfcx(a * SQRT_HALF)
        low, high = np.minimum(eta, 0.0), np.maximum(eta, 0.0)
        kernel = np.exp(np.multiply(high, -0.5 * high, out=high), out=high)
        signed = half_erfcx * kernel
        signed *= 2.0 * below - 1.0
        share = 1.0 - below
        share += signed
        signed -= below
        np.maximum(signed, 2.0**-52 - 1.0, out=signed)
        logcdf = np.log1p(signed, out=signed)
        low *= 0.5 * low
        logcdf -= low
        share *= SQRT_2PI
        r1 = np.divide(kernel, share, out=share)
        if not expected:
            return logcdf, r1, r1 * _hazard_excess(-eta, r1)
        tail = np.exp(-0.5 * a * a)
        return logcdf, r1, tail / (SQRT_2PI * (1.0 - half_erfcx * tail)) / (SQRT_2PI * half_erfcx)

    @staticmethod
    def _success_at_hand(eta, expected):
        """`success` where no difference loses more than two digits and nothing underflows, in half the time."""
        density = eta * eta
        density *= -0.5
        np.exp(density, out=density)
        density *= 1.0 / SQRT_2PI
        tail = np.negative(np.abs(eta))
        ndtr(tail, out=tail)
        above = (eta >= 0).astype(np.float64)
        F = 1.0 - 2.0 * tail
        F *= above
        F += tail
        logcdf = log_of(F, above * tail + (1.0 - above) * (1.0 - F))
        r1 = density / F
        if not expected:
            return logcdf, r1, r1 * (r1 + eta)
        density /= tail
        return logcdf, r1, density * density * tail / (1.0 - tail)


def within(eta: ndarray, low: float, high: float) -> bool:
    """Whether no value is below `low`, above `high` or NaN."""
    return not len(eta) or (eta.min() >= low and eta.max() <= high)


def log_of(F: ndarray, S: ndarray) -> ndarray:
    """Log F to all digits where F = 1 - S: what rounding of F took from it is (1 - F) - S, which is nothing
    where F is far from 1."""
    return np.log(F) + F * ((1.0 - F) - S)


def _hazard_excess(a: ndarray, hazard: ndarray) -> ndarray:
    """Excess phi/Q - a of the hazard; beyond 10 by Laplace's continued fraction 1/(a + 2/(a + 3/(a +
    ...))), where it cancels."""
    excess = hazard - a
    far = a > 10.0
    if far.any():
        z = a[far]
        tail = z.copy()
        for j in range(30, 1, -1):
            tail = z + j / tail
        excess[far] = 1.0 / tail
    return excess


class CLogLogLink(Link):
    """F(eta) = 1 - exp(-exp(eta)), the complementary log-log link (minimum extreme value distribution).

    exp(b) is the ratio of hazards of a proportional-hazards process that is observed at the ends of intervals (Prentice
    & Gloeckler 1978, Biometrics 34, 57-67).
    """

    name = "cloglog"
    ratio = "hazard ratio"
    latent_variance = np.pi**2 / 6

    def logcdf(self, eta):
        return self.terms(np.asarray(eta, float)).logcdf

    def logsf(self, eta):
        with np.errstate(over="ignore"):
            return -np.exp(eta)

    def logpdf(self, eta):
        with np.errstate(over="ignore"):
            return np.minimum(eta, LOG_MAX) - np.exp(eta)  # -inf, no NaN, at infinity

    def dlogpdf(self, eta):
        with np.errstate(over="ignore"):
            return -np.expm1(eta)

    def quantile(self, mu):
        return np.log(-np.log1p(-mu))

    def curvature_change(self, eta):
        return 2.0 + 2.0 * np.exp(eta)

    def quantile_of_logs(self, log_p, log_q):
        """Quantile log(-log q); for small p log p + log(-log(1-p)/p), whose second part is that of a number near 1."""
        p = np.exp(np.minimum(log_p, -1.0))
        ratio = np.where(p > 0.0, -np.log1p(-p) / np.where(p > 0.0, p, 1.0), 1.0)
        return np.where(log_p < -1.0, log_p + np.log(ratio), np.log(-log_q))

    def cdf(self, eta):
        with np.errstate(over="ignore"):
            return -np.expm1(-np.exp(eta))

    def terms(self, eta):
        """Terms with h = exp(eta): log(1-F) = -h, r0 = w0 = h, r1 = h exp(-h)/F, w1 = r1 (h/F - 1).

        log F = log(1 - exp(-h)) is eta - log1p(h/F - 1) up to h = log 2. h stops at the largest double, where the
        log-likelihood of a failure leaves the range of doubles, and h/F - 1 is h/2 where h is below rounding. A choice
        between two numbers costs more than an exponential: masks are 0 or 1.
        """
        h = np.exp(np.minimum(eta, LOG_MAX))
        small, large = (h < 0.5).astype(np.float64), (eta > LOG_LOG_2).astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            S = np.exp(-h)
            ratio = h / -np.expm1(-h)
            np.fmax(ratio, 1.0, out=ratio)  # 0/0
            r1 = S * ratio
            ratio -= 1.0
            ratio *= 1.0 - small
            small *= _ratio_series(np.minimum(h, 0.5))
            ratio += small
            logcdf = ratio * (1.0 - large)
            logcdf -= S * large
            np.log1p(logcdf, out=logcdf)
            logcdf *= 2.0 * large - 1.0
            logcdf += np.minimum(eta, 0.0) * (1.0 - large)
        return Terms(logcdf, -h, r1, h, r1 * ratio, h)

    def outcome(self, y, eta, expected):
        """Log-likelihood, slope and weight: where h is from 1e-3 to 665 no difference loses more than three digits: a
        third of the time of `terms`."""
        if not within(eta, -7.0, 6.5):
            return super().outcome(y, eta, expected)
        h = np.exp(eta)
        S = np.negative(h)
        F = np.negative(np.expm1(S))
        np.exp(S, out=S)
        logcdf = log_of(F, S)
        ratio = np.divide(h, F, out=F)
        r1 = np.multiply(S, ratio, out=S)
        missed = (1.0 - y) * h
        if expected:
            w = r1 * h
        else:
            ratio -= 1.0
            ratio *= r1
            ratio *= y
            w = np.add(ratio, missed, out=ratio)
        logcdf *= y
        logcdf -= missed
        r1 *= y
        r1 -= missed
        return logcdf, r1, w


BERNOULLI = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600)


def _ratio_series(h: ndarray) -> ndarray:
    """Series h/(1 - exp(-h)) - 1 = h/2 + sum_k B_2k h^2k / (2k)! for 0 <= h <= 1/2, where the difference cancels
    (Abramowitz & Stegun 1964, 23.1.1)."""
    square = h * h
    series = np.full_like(h, BERNOULLI[-1])
    for b in BERNOULLI[-2::-1]:
        series *= square
        series += b
    series *= square
    series += 0.5 * h
    return series
