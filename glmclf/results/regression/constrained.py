"""Linear constraints on an estimate: tests of constraints, texts, and the design of the free parameters."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.checks import check_choice
from glmclf.core.likelihood.objective import Evaluation
from glmclf.inference.covariance.constrained import free_form
from glmclf.inference.covariance.types import COVARIANCES, Context
from glmclf.inference.hypotheses import score, wald
from glmclf.inference.hypotheses.records import LRTest, ScoreTest, WaldTest
from glmclf.results.omitted import combination
from glmclf.results.regression.score_test import INFORMATIONS, robust_score
from glmclf.results.requires import Needs, check_needs

CONSTRAINT_TESTS = ("lr", "score", "wald")


def constraint_test(res: Any, test: str, cov_type: str | None, cov_kwds: Any, information: str) -> Any:
    """See `LikelihoodTests.constraint_test`."""
    if not res._state.estimate.constraints:
        raise ValueError("constraint_test: the fit has no constraints; model.fit_constrained(...) makes one")
    check_choice("test", test, CONSTRAINT_TESTS)
    check_choice("information", information, INFORMATIONS)
    if information != "expected" and test != "score":
        raise ValueError(f'constraint_test("{test}") takes no information=: it is for test="score"')
    if not res.converged:
        raise ValueError("constraint_test: the fit did not converge, so that its log-likelihood is no maximum")
    if test == "lr" and cov_type is not None:
        raise NotImplementedError(f'constraint_test("lr") with cov_type={cov_type!r}: use test="wald"')
    robust = test == "score" and _score_is_robust(res, cov_type)
    if res._unconstrained._size == res._size:
        raise ValueError(
            f"constraint_test: the constraints {res._state.estimate.constraint} restrict nothing. They tell collinear "
            "columns apart, and the fit without them has the same likelihood"
        )
    if test == "lr":
        return _lr(res)
    return _score(res, robust, information == "expected") if test == "score" else _wald(res, cov_type, cov_kwds)


def _lr(res: Any) -> LRTest:
    check_needs(res, 'constraint_test("lr")', Needs.LIKELIHOOD)
    full = res._unconstrained
    if not full.converged:
        raise ValueError("constraint_test: the fit without the constraints did not converge")
    return wald.lr_test(full._state.value, res._state.value, full._size - res._size)


def _score_is_robust(res: Any, cov_type: str | None) -> bool:
    """Whether the score test takes outer products of scores; by default as the covariance of the fit."""
    if cov_type is None:
        same = {"model": "nonrobust", "rows": "HC0"}  # distinct covariances of a score test
        own = same.get(COVARIANCES[res.cov_type].kind, res.cov_type)
        if own not in ("nonrobust", "HC0"):
            raise NotImplementedError(
                f'constraint_test("score") of a fit with cov_type="{own}": there are "nonrobust" and "HC0". Say '
                'which by cov_type=, or use test="wald"'
            )
        cov_type = None if res.model._pseudo and own == "nonrobust" else own
    return robust_score(res, cov_type, False)


def _score(res: Any, robust: bool, expected: bool) -> ScoreTest:
    objective, theta, e, A, tested = across(res, res._unconstrained, expected)
    s, information = A.T @ e.score, A.T @ e.information @ A
    if not robust:
        return score.score_test(s, information, tested)
    meat = Context(objective, theta, e, res.nobs, res.model._frequency).sum_of_outer_scores()
    return score.score_test(s / objective.unit, information / objective.unit, tested, A.T @ meat @ A)


def across(res: Any, full: Any, expected: bool) -> tuple[Any, ndarray, Evaluation, ndarray, ndarray]:
    """Objective, constrained estimate and its evaluation, the directions A (p, r) along and across the constraints of
    the columns that are not aliased in the fit without them, and places of those across."""
    places, Q = full._state.places, res._state.estimate.constraint.Q
    objective, theta = res._objective(), res._state.inner
    if full._state.combinations:
        Q = _in_columns_kept(full) @ Q
    A = np.zeros((len(theta), len(places)))
    A[places] = np.linalg.qr(Q, mode="complete")[0]
    return objective, theta, objective(theta, expected), A, np.arange(Q.shape[1], len(places))


def _wald(res: Any, cov_type: str | None, cov_kwds) -> WaldTest:
    c = res._state.estimate.constraint
    full = res._unconstrained
    if full.separation is not None:
        raise ValueError(f'constraint_test("wald"): without the constraints there is {full.separation}. Use "lr"')
    if cov_type is not None:
        full = full.with_cov(cov_type, **(cov_kwds or {}))
    elif cov_kwds:
        full = full.with_cov(res.cov_type, **cov_kwds)
    elif full.cov_type != res.cov_type:
        full = copy.copy(full)
        full._set_covariance(res.cov_type, res._keywords)
    found = full.wald_test((c.R, c.q))
    return WaldTest(float(found.statistic), float(found.pvalue), len(c.R))


def check_joint(res: Any, R: ndarray) -> None:
    """Raise ValueError for joint hypotheses with a combination that the constraints decide."""
    C = res._state.estimate.equations[0]
    if not len(C):
        return
    from glmclf.core.fit.constraints import EQUATION_TOL

    size = np.abs(np.vstack([C, R])).max(axis=0)
    C, R = (A / np.where(size > 0, size, 1.0) for A in (C, R))

    def rank(A: ndarray) -> int:
        A = A[A.any(axis=1)]
        return int(np.linalg.matrix_rank(A / np.linalg.norm(A, axis=1)[:, None], tol=EQUATION_TOL)) if len(A) else 0

    if rank(np.vstack([C, R])) < rank(C) + rank(R):
        raise ValueError(
            f"the constraints {res._state.estimate.constraint} decide a combination of the hypotheses, so that they "
            "have no joint test: leave out what follows from the others under the constraints"
        )


def free_design(res: Any) -> tuple[ndarray, list[str], ndarray | None]:
    """Design of the free parameters: distinct columns, their names, and the offset with the constraints' constants.

    For `y ~ x + z` under x = z it is the design of `y ~ I(x + z)`.
    """
    r, names = res.model._rows, res.model.exog_names
    rows = r.blocks()
    X = rows.collect(lambda X, *rest: X.toarray())
    offset = None if r.offset is None else rows.collect(lambda X, y, trials, offset, weights: offset)
    if not res._state.estimate.constraints:
        return X, names, offset
    k = X.shape[1]
    D, c = free_form(*res._state.estimate.equations)
    parts = np.hstack([D[i : i + k] for i in range(0, len(D), k)]).T
    columns = {part.tobytes(): part for part in parts + 0.0 if part.any()}.values()
    added = [_combined(X, c[i : i + k]) for i in range(0, len(c), k)]
    if c.any():
        base = 0.0 if offset is None else offset[:, None] if offset.ndim == 1 else offset
        offset = np.column_stack(added) + base
        offset = offset[:, 0] if offset.shape[1] == 1 else offset
    called = [combination({int(i): float(a[i]) for i in np.flatnonzero(a)}, names) for a in columns]
    return np.column_stack([X[:, :0], *(_combined(X, a) for a in columns)]), called, offset


def said(R: ndarray, q: ndarray, names: list[str]) -> tuple[str, ...]:
    """Text of the constraints, one for each row of R."""
    out = []
    for row, value in zip(R, q, strict=True):
        places = np.flatnonzero(np.abs(row) > 1e-12 * np.abs(row).max())
        sign = -1.0 if len(places) and row[places[0]] < 0 else 1.0
        left = combination({int(i): float(sign * row[i]) for i in places}, names) or "0"
        out.append(f"{left} = {sign * value + 0.0:.6g}")
    return tuple(out)


def _combined(X: ndarray, a: ndarray) -> ndarray:
    """Product X a, added term by term, so that equal rows have equal products."""
    return sum((a[i] * X[:, i] for i in np.flatnonzero(a)), np.zeros(len(X)))


def _in_columns_kept(full: Any) -> ndarray:
    """Matrix from parameters of all columns to parameters of the columns not omitted, with equal linear predictors."""
    k = len(full.model.exog_names)
    M = np.eye(k)
    for j, terms in full._state.combinations.items():
        M[:, j] = 0.0
        for i, value in terms.items():
            M[i, j] = value
    return np.kron(np.eye(full.model._likelihood.n_eta), M[full._state.columns])
