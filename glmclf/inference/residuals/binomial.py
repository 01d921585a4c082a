"""Residuals of a binomial response, each exact where a fitted probability is within rounding of 0 or 1.

All take the link, successes y (n,), trials m (n,) or None for one a row, and the linear predictor eta (n,).
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from glmclf.core.likelihood.links import Link
from glmclf.core.likelihood.pointwise import Binomial


def _parts(y: ndarray, m: ndarray | None) -> tuple[ndarray, ndarray]:
    """Successes and failures as shares of the trials."""
    share = y if m is None else y / m
    return share, (1.0 - y if m is None else (m - y) / m)


def response(link: Link, y: ndarray, m: ndarray | None, eta: ndarray) -> ndarray:
    """Response residual y/m - p, as (y/m)(1-p) - (1-y/m) p: no digit is lost where p is near 1."""
    yes, no = _parts(y, m)
    return yes * link.sf(eta) - no * link.cdf(eta)


def pearson(link: Link, y: ndarray, m: ndarray | None, eta: ndarray) -> ndarray:
    """Pearson residual (y - m p) / sqrt(m p (1-p)), through log odds (McCullagh & Nelder 1989, section 2.4.1)."""
    yes, no = _parts(y, m)
    half = 0.5 * (link.logcdf(eta) - link.logsf(eta))
    root_m = 1.0 if m is None else np.sqrt(m)
    with np.errstate(over="ignore"):
        return root_m * (_times(yes, np.exp(-half)) - _times(no, np.exp(half)))


def deviance(link: Link, y: ndarray, m: ndarray | None, eta: ndarray) -> ndarray:
    """Deviance residual sign(y - m p) sqrt(2 (l(y/m) - l(p))), l the log-likelihood of the row."""
    failures = (1.0 if m is None else m) - y
    ll = _times(y, link.logcdf(eta)) + _times(failures, link.logsf(eta))
    gap = np.maximum(Binomial(link).saturated(y, m) - ll, 0.0)
    return np.sign(response(link, y, m, eta)) * np.sqrt(2.0 * gap)


def generalized(link: Link, y: ndarray, m: ndarray | None, eta: ndarray) -> ndarray:
    """Generalized residual, the derivative of the row's log-likelihood in eta (Gourieroux, Monfort, Renault & Trognon
    1987)."""
    t, failures = link.terms(eta), (1.0 if m is None else m) - y
    return _times(y, t.r1) - _times(failures, t.r0)


def working(link: Link, y: ndarray, m: ndarray | None, eta: ndarray) -> ndarray:
    """Working residual (y/m - p) / f(eta), from the slopes f/(1-F) and f/F."""
    yes, no = _parts(y, m)
    t = link.terms(eta)
    with np.errstate(divide="ignore", over="ignore"):
        return _times(yes, 1.0 / t.r0) - _times(no, 1.0 / t.r1)


def _times(share: ndarray, value: ndarray) -> ndarray:
    """Product share * value, 0 where the share is 0 although the value may be infinite."""
    return np.where(share == 0, 0.0, share * np.where(share == 0, 1.0, value))
