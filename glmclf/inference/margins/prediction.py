"""Predictions of a binary model with standard errors and intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray
from scipy.linalg.lapack import dpocon, dpotrf

from glmclf.caching import cached_property
from glmclf.checks import check_choice
from glmclf.core.design.factor import FactorColumns
from glmclf.core.numerics.arrow import SymmetricMatrix
from glmclf.core.numerics.constants import EPS
from glmclf.core.rows.asked import under_usual_errors
from glmclf.inference.hypotheses.wald import SURE, critical_value

if TYPE_CHECKING:
    from glmclf.core.likelihood.links import Link

INTERVAL_PREDICTIONS = ("mean", "linear")
INTERVALS = '"mean" (probabilities) or "linear", which have intervals'
ROUNDED = 1e-12  # of the largest variance: a negative one of this size is 0
ROWS_AT_A_TIME = 16384  # rows whose products with a root of the covariance are held at once


class LinearErrors:
    """Standard errors of linear predictors X theta, the square roots of x' V x, of rows that come in blocks.

    Those of factors, of which no row is expanded, are sums of blocks of V by the cells of the rows.

    Parameters
    ----------
    V : (k, k) ndarray or BlocksPlusLowRank
        Covariance of theta, factored once, when first needed. A coefficient without one (NaN) makes those rows NaN in
        which its column is not zero. Where it is not positive semi-definite (multiway clusters), rows with a negative
        variance are NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from glmclf.inference.margins.prediction import LinearErrors
    >>> LinearErrors(np.diag([1.0, 0.25]))(np.array([[1.0, 2.0], [1.0, 0.0]]))
    array([1.41421356, 1.        ])
    """

    def __init__(self, V: ndarray):
        self._V, self._here = V, np.isfinite(V.diagonal())

    @cached_property
    def _factored(self) -> tuple[ndarray, ndarray]:
        return _root(self._V[np.ix_(self._here, self._here)])

    def __call__(self, X: ndarray | FactorColumns) -> ndarray:
        """Standard errors of rows to predict, (n,), non-negative or NaN; a row with NaN gives NaN."""
        variance = self.variances(X)
        return np.sqrt(np.where(variance >= 0, variance, np.nan))

    def variances(self, X: ndarray | FactorColumns) -> ndarray:
        """Squares of the standard errors, (n,); negative where V has such a direction."""
        if isinstance(X, FactorColumns):
            return self._by_cells(X)
        here, variance = self._here, np.empty(len(X))
        root, sign = self._factored
        for start in range(0, len(X), ROWS_AT_A_TIME):
            block = X[start : start + ROWS_AT_A_TIME]
            with np.errstate(over="ignore", invalid="ignore"):  # numbers that are infinite, or near the largest
                part = (block if here.all() else block[:, here]) @ root
                variance[start : start + ROWS_AT_A_TIME] = (part * part) @ sign
        if not here.all():
            variance[(X[:, ~here] != 0).any(axis=1)] = np.nan
        return variance

    def _by_cells(self, X: FactorColumns) -> ndarray:
        variance = X.form(self._finite)
        variance[(variance < 0) & (variance > -ROUNDED * variance.max(initial=0.0))] = 0.0
        return variance if self._here.all() else np.where(X.uses(~self._here), np.nan, variance)

    @cached_property
    def _finite(self) -> Any:
        """Covariance with zeros for coefficients that have none."""
        here, V = self._here, self._V
        if here.all():
            return V
        if isinstance(V, SymmetricMatrix):
            return V.without(np.zeros(len(V), dtype=bool), ~here)
        return np.where(here & here[:, None], V, 0.0)


def _root(V: ndarray) -> tuple[ndarray, ndarray]:
    """L and signs s with V = L diag(s) L'; s is 1, and -1 for a direction of negative variance beyond rounding."""
    scale = np.sqrt(np.abs(np.diagonal(V)))
    divisor = np.where(scale > 0, scale, 1.0)
    S = V / np.outer(divisor, divisor)
    factor, failed = dpotrf(S, lower=True)
    if not failed and dpocon(factor, np.abs(S).sum(axis=0).max(initial=0.0), uplo="L")[0] > SURE:
        return scale[:, None] * factor, np.ones(len(V))
    values, vectors = np.linalg.eigh(S)
    values[np.abs(values) < len(V) * EPS] = 0.0
    return scale[:, None] * vectors * np.sqrt(np.abs(values)), np.where(values < 0, -1.0, 1.0)


@under_usual_errors
@dataclass(frozen=True)
class Prediction:
    """Predicted probabilities F(eta), or linear predictors eta, with standard errors and intervals.

    The interval of a probability is that of the linear predictor, transformed: [F(eta - c s), F(eta + c s)] with s the
    standard error of eta. It lies inside (0, 1) by construction, up to the rounding of 1 - 1e-17 to 1. The standard
    error of a probability is the delta method's, f(eta) s.

    Parameters
    ----------
    eta : (n,) ndarray
        Linear predictors; NaN for rows that cannot be predicted.
    se_eta : (n,) ndarray
        Their standard errors.
    link : Link
        F and f as `cdf` and `pdf`.
    which : {"mean", "linear"}
        Probabilities or linear predictors.
    df : float, optional
        Degrees of freedom where intervals use Student's t; the normal distribution without.

    Attributes
    ----------
    predicted, se : (n,) ndarray
        Predictions, in (0, 1) for "mean", and their standard errors.

    Raises
    ------
    ValueError
        If `which` is another word.

    References
    ----------
    Agresti (2013), Categorical Data Analysis, section 5.1.4.

    Examples
    --------
    >>> import numpy as np
    >>> from glmclf.core.likelihood.links import LogitLink
    >>> from glmclf.inference.margins.prediction import Prediction
    >>> prediction = Prediction(np.array([0.0, 3.0]), np.array([0.5, 1.0]), LogitLink())
    >>> prediction.predicted.round(4)
    array([0.5   , 0.9526])
    >>> prediction.conf_int().round(4)
    array([[0.2729, 0.7271],
           [0.7389, 0.993 ]])
    """

    eta: ndarray
    se_eta: ndarray
    link: Link
    which: str = "mean"
    df: float | None = None

    def __post_init__(self) -> None:
        check_choice("which", self.which, INTERVAL_PREDICTIONS, INTERVALS)

    @cached_property
    def predicted(self) -> ndarray:
        """F(eta), or eta."""
        return self._transform(self.eta)

    @cached_property
    def se(self) -> ndarray:
        """Standard error of the prediction: f(eta) times that of eta for a probability, else that of eta."""
        if self.which == "linear":
            return self.se_eta
        with np.errstate(invalid="ignore", over="ignore"):
            return self.link.pdf(self.eta) * self.se_eta

    def conf_int(self, alpha: float = 0.05) -> ndarray:
        """Pointwise intervals of level 1 - alpha.

        Parameters
        ----------
        alpha : float
            In (0, 1).

        Returns
        -------
        (n, 2) ndarray
            Lower and upper ends; NaN where the standard error is.
        """
        half = critical_value(alpha, self.df) * self.se_eta
        with np.errstate(invalid="ignore", over="ignore"):  # an infinite linear predictor has no standard error
            return np.column_stack((self._transform(self.eta - half), self._transform(self.eta + half)))

    def _transform(self, eta: ndarray) -> ndarray:
        return eta if self.which == "linear" else self.link.cdf(eta)


def level_logit_se(S: ndarray, p: ndarray, q: ndarray) -> ndarray:
    """Standard errors of log(p_k / (1 - p_k)) of several classes.

    Parameters
    ----------
    S : (n, K-1, K-1) ndarray
        Covariance of the log-odds of classes 1..K-1 against class 0.
    p, q : (n, K) ndarray
        Probabilities and their complements.

    Returns
    -------
    (n, K) ndarray
        By the gradient (1{j=k} - p_j) / (1 - p_k) in the log-odds of class j; 0 where p_k is 1, NaN where a variance is
        below 0 (multiway clusters).
    """
    out = np.empty(p.shape)
    for c in range(p.shape[1]):
        g = -p[:, 1:].copy()
        if c:
            g[:, c - 1] = q[:, c]
        with np.errstate(invalid="ignore", divide="ignore"):
            out[:, c] = np.where(q[:, c] > 0, np.sqrt(np.einsum("na,nab,nb->n", g, S, g)) / q[:, c], 0.0)
    return out
