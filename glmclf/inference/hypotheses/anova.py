"""Term tables: which columns each term is tested with and without, and the Wald statistic of such a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy import ndarray
from scipy.linalg import cho_solve

from glmclf.core.likelihood.objective import CholeskyFactor
from glmclf.inference.hypotheses.wald import quadratic_form

ANOVA_TYPES = (3, 2, 1)
ANOVA_TESTS = ("LR", "wald", "score")


class TermComparison(NamedTuple):
    """The test of one term: the model with the columns `larger` against that without the term's own.

    Attributes
    ----------
    term : str
    larger, smaller : (k_1,), (k_0,) integer ndarrays
        Columns of the design in the two models, in their order.
    """

    term: str
    larger: ndarray
    smaller: ndarray

    @property
    def tested(self) -> ndarray:
        """Columns that are in the larger model only."""
        return np.setdiff1d(self.larger, self.smaller)


def comparisons(
    kind: int, columns: Mapping[str, ndarray], factors: Mapping[str, frozenset], skip: str | None = None
) -> list[TermComparison]:
    """Comparisons of models in a term table of type 1, 2 or 3.

    Parameters
    ----------
    kind : {3, 2, 1}
        3: each term is dropped from the whole model, its columns as they are coded. 2: it is dropped from the model
        without the terms that contain it. 1: it is added to the terms before it.
    columns : mapping of str to integer ndarray
        Columns of each term, in the order of the formula.
    factors : mapping of str to frozenset
        Factors of each term: a term contains another when it has all of its factors and more.
    skip : str, optional
        The intercept: never tested, and in every model.

    Returns
    -------
    list of TermComparison
        One a term.

    References
    ----------
    Fox (2016), Applied Regression Analysis and Generalized Linear Models, section 8.2.
    """
    names = list(columns)
    out = []
    for i, name in enumerate(names):
        if name == skip or not len(columns[name]):
            continue
        if kind == 1:
            model = [other for j, other in enumerate(names) if j <= i or other == skip]
        elif kind == 2:
            model = [other for other in names if other == skip or not factors[name] < factors[other]]
        else:
            model = names
        larger = np.sort(np.concatenate([columns[other] for other in model]))
        out.append(TermComparison(name, larger, np.setdiff1d(larger, columns[name])))
    return out


def across_equations(columns: ndarray, k: int, q: int) -> ndarray:
    """Places among the flat parameters of some columns in all q equations of k parameters."""
    return (np.arange(q)[:, None] * k + np.asarray(columns, dtype=np.intp)).ravel()


def wald_statistic(theta: ndarray, V: ndarray, tested: ndarray, absent: ndarray) -> float:
    """Wald statistic of theta[tested] = 0 in the model in which theta[absent] = 0.

    That model's estimate and covariance are those of theta[tested] given theta[absent] = 0; the statistic equals
    W(tested and absent) - W(absent), without the cancellation.

    Parameters
    ----------
    theta, V : (p,), (p, p) ndarrays
        Estimate and covariance of the whole model.
    tested, absent : integer ndarrays
        Places of parameters, disjoint.

    Returns
    -------
    float
        Chi-squared with len(tested) degrees of freedom.

    Raises
    ------
    ValueError
        The covariance of both sets has not the rank to test so many parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from glmclf.inference.hypotheses.anova import wald_statistic
    >>> wald_statistic(np.array([2.0, 1.0]), np.eye(2), np.array([0]), np.array([1]))
    4.0
    """
    d, C = theta[tested], V[np.ix_(tested, tested)]
    if len(absent):
        both = np.concatenate([absent, tested])
        # refused here where it is singular: what elimination leaves of that is rounding, which looks like a variance
        quadratic_form(theta[both], V[np.ix_(both, both)])
        cross = V[np.ix_(absent, tested)]
        B = CholeskyFactor(V[np.ix_(absent, absent)])
        solved = B.scale[:, None] * cho_solve((B.L, True), B.scale[:, None] * cross)
        d, C = d - solved.T @ theta[absent], C - cross.T @ solved
    return quadratic_form(d, 0.5 * (C + C.T))
