"""Score (Lagrange multiplier) tests: what the score at a restricted estimate says of the restriction."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import ndarray
from scipy.linalg import cho_solve
from scipy.special import chdtrc

from glmclf.core.likelihood.objective import CholeskyFactor
from glmclf.core.numerics.arrow import ArrowMatrix
from glmclf.inference.hypotheses.records import ScoreTest
from glmclf.inference.hypotheses.wald import quadratic_form


def score_test(score: ndarray, information: Any, tested: ndarray, meat: ndarray | None = None) -> ScoreTest:
    """Test of some parameters from score and information where the others are at their restricted maximum.

    S = s' C^-1 s with s = s_2 - I_21 I_11^-1 s_1, the score of the tested parameters made orthogonal to the others, and
    C = I_22 - I_21 I_11^-1 I_12 its covariance (Rao 1948); or C = L M L', L = (-I_21 I_11^-1, 1), M the sum of outer
    products of scores, if the model need not be right (Boos 1992).

    Parameters
    ----------
    score, information : (p,), (p, p) ndarrays
        Of the larger model at the restricted estimate.
    tested : integer ndarray
        Places of the parameters that the restriction sets.
    meat : (p, p) ndarray, optional
        Sum of the outer products of scores, for the robust statistic.

    Returns
    -------
    ScoreTest
        statistic, pvalue, df = len(tested).

    Raises
    ------
    ValueError
        The covariance of the score is singular: a regressor tested is a combination of those in the model.

    Examples
    --------
    >>> import numpy as np
    >>> from glmclf.inference.hypotheses.score import score_test
    >>> score_test(np.array([0.0, 3.0]), np.diag([5.0, 9.0]), np.array([1])).statistic
    1.0
    """
    L = orthogonal(information, tested)
    C = (L @ information)[:, tested] if meat is None else L @ meat @ L.T
    statistic = quadratic_form(L @ score, 0.5 * (C + C.T))
    df = len(tested)
    return ScoreTest(statistic, math.nan if math.isnan(statistic) else float(chdtrc(df, statistic)), df)


def orthogonal(information: Any, tested: ndarray) -> ndarray:
    """L (q, p) with L s the scores of some parameters made orthogonal to the others: L = (-I_21 I_11^-1, 1)."""
    others = np.setdiff1d(np.arange(len(information)), tested)
    L = np.zeros((len(tested), len(information)))
    L[:, tested] = np.eye(len(tested))
    if len(others) and isinstance(information, ArrowMatrix):
        rest = information.narrowed(~np.isin(np.arange(len(information)), tested))
        L[:, others] = -rest.factor().solve(information[np.ix_(others, tested)]).T
    elif len(others):
        A = CholeskyFactor(information[np.ix_(others, others)])
        cross = information[np.ix_(others, tested)]
        L[:, others] = -(A.scale[:, None] * cho_solve((A.L, True), A.scale[:, None] * cross)).T
    return L
