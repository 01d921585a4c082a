"""A generative model against the logit that maximises the conditional likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core import discriminant as logit
from glmclf.core.blocks import Blocks
from glmclf.core.discriminant_influence import influence
from glmclf.core.estimation import into_basis
from glmclf.inference import discriminant as diagnostics


@dataclass(frozen=True)
class ConditionalComparison:
    """Twice the difference of conditional log-likelihoods, as a weighted sum of chi-squareds.

    Attributes
    ----------
    llf : float
        Of the logit, its maximum.
    llf_conditional : float
        Of the generative model.
    statistic : float
        2 (llf - llf_conditional).
    scale, df, pvalue : float
        Satterthwaite's: statistic / scale is compared with chi-squared on df degrees of freedom.
    weights : (q,) ndarray
        Of the chi-squareds.
    penalty : float
        trace(I_c V), the optimism of llf_conditional.
    aic_conditional : float
        -2 llf_conditional + 2 penalty, which compares with the logit's aic.
    """

    llf: float
    llf_conditional: float
    statistic: float
    scale: float
    df: float
    pvalue: float
    weights: ndarray
    penalty: float
    aic_conditional: float

    def __repr__(self) -> str:
        return (
            f"conditional log-likelihoods: logit {self.llf:.6g}, generative {self.llf_conditional:.6g}\n"
            f"statistic {self.statistic:.4g} = {self.scale:.4g} x chi2({self.df:.4g}), p-value {self.pvalue:.4g}\n"
            f"conditional AIC of the generative model: {self.aic_conditional:.6g} (penalty trace {self.penalty:.4g})"
        )


def compare_conditional(res: Any, other: Any) -> ConditionalComparison:
    """See `GenerativeResults.compare_conditional`."""
    other = _checked(res, other)
    law, model, mn = res._law, res.model, other.model
    centre = np.concatenate([[1.0], law.centre])
    basis = np.eye(len(centre))  # X = [1, x] = [1, x - centre] basis
    basis[0] = centre
    objective = mn._objective().rotated(basis)
    theta = into_basis(basis, other._theta)
    kept = np.arange(len(theta)) if res._priors_free else _slopes(len(theta), len(centre))
    information = objective(theta, True).information
    information = information if res._priors_free else _schur(information, kept)
    n = float(law.counts.sum())

    def part(X, y, m, offset, w):
        x = X.toarray()
        u = objective.score_factor(theta, X, y, m, offset)
        u = u[:, None] if u.ndim == 1 else u
        scores = (u[:, :, None] * x[:, None, :]).reshape(len(x), -1)
        psi = influence(law, x[:, 1:] + law.centre, _codes(y, model), None)
        full = n * np.linalg.solve(objective_information, scores.T).T
        d = (full - psi)[:, kept]
        return (d if w is None else d * w[:, None]).T @ d

    objective_information = objective(theta, True).information
    blocks = objective.blocks
    difference = Blocks(*blocks.arrays, size=blocks.size).sum(part)
    statistic = 2 * (other.llf - res.llf_conditional)
    found = diagnostics.compare_conditional(statistic, information, difference, n)
    V = logit.DiscriminantCovariance(law.shifted()).full()[np.ix_(kept, kept)]
    penalty = diagnostics.conditional_penalty(information, V)
    return ConditionalComparison(
        other.llf,
        res.llf_conditional,
        statistic,
        found.scale,
        found.df,
        found.pvalue,
        found.weights,
        penalty,
        -2 * res.llf_conditional + 2 * penalty,
    )


def _codes(y: ndarray, model: Any) -> ndarray:
    """Classes of a block of the logit's rows, which has the same reference."""
    return y.astype(np.intp) if y.ndim == 1 else y.argmax(axis=1)


def _slopes(size: int, k: int) -> ndarray:
    return np.flatnonzero(np.arange(size) % k)


def _schur(information: ndarray, kept: ndarray) -> ndarray:
    """Information on some parameters with the others estimated."""
    rest = np.setdiff1d(np.arange(len(information)), kept)
    A, B = information[np.ix_(kept, kept)], information[np.ix_(kept, rest)]
    return A - B @ np.linalg.solve(information[np.ix_(rest, rest)], B.T)


def _checked(res: Any, other: Any) -> Any:
    """The logit against the same reference, if the two describe the same rows by the same regressors."""
    name, kind = type(other).__name__, type(res.model).__name__
    if kind not in ("LDA",):
        raise NotImplementedError(f"compare_conditional() is for LDA, whose log-odds are linear, not {kind}")
    if type(other.model).__name__ not in ("MNLogit", "Logit"):
        raise TypeError(f"compare_conditional needs a fit of MNLogit or Logit, found {name}")
    res._check_likelihood("compare_conditional()")
    if res._law.divisor != "mle" or res._reduced is not None:
        raise NotImplementedError('compare_conditional() is for the maximum likelihood fit: divisor="mle"')
    other._check_likelihood("compare_conditional()", "sampling weights make none")
    other._refuse_reduced("compare_conditional()", "it compares maximum likelihood fits")
    other = other if type(other.model).__name__ == "Logit" else other.rebase(res.reference)
    mn = other.model
    if mn._has_offset:
        raise ValueError("the logit has an offset, which the generative model cannot have")
    if list(map(str, mn._response.levels)) != list(map(str, _logit_levels(res, mn))):
        raise ValueError(f"the levels differ: {res.levels} and {mn._response.levels}")
    if mn.exog_names[1:] != res.feature_names or mn._constant_column() != 0:
        raise ValueError(
            f"the regressors differ: {mn.exog_names} of the logit, {res.model.exog_names} of this one; both "
            "need a constant, first, and the same features"
        )
    a, b = res.model._rows, mn._rows
    same = (
        len(a) == len(b) and _equal(a.weights, b.weights) and np.array_equal(a.X[:].toarray(), b.X[:].toarray()[:, 1:])
    )
    if not same or not np.array_equal(a.y, _codes(b.y, res.model)):
        raise ValueError("the two models were fitted to different rows or weights")
    return other


def _logit_levels(res: Any, mn: Any) -> list[Any]:
    return res.model._classes if type(mn).__name__ == "Logit" else res.levels


def _equal(a: ndarray | None, b: ndarray | None) -> bool:
    return a is b or (a is not None and b is not None and np.array_equal(a, b))
