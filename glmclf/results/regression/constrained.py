"""What a constrained estimate is: its constraints, their tests, and what such an estimate does not have."""

from __future__ import annotations

import copy
import warnings
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy import ndarray

from glmclf.errors import CollinearityWarning, ConvergenceWarning, InferenceWarning, SeparationWarning
from glmclf.inference.covariance.constrained import free_form
from glmclf.inference.covariance.influence import Influences
from glmclf.inference.covariance.types import COVARIANCES, Context
from glmclf.inference.hypotheses import score, wald
from glmclf.inference.hypotheses.records import ScoreTest, WaldTest
from glmclf.results.base import row_property
from glmclf.results.regression.omitted import combination
from glmclf.results.regression.state import StateViews
from glmclf.results.requires import Needs, check_needs, requires

TESTS = ("lr", "score", "wald")


class Constrained(StateViews):
    """The part of a result that knows the constraints of its estimate."""

    model: Any

    @property
    @requires()
    def constraints(self) -> list[str]:
        """The linear equations that the estimate obeys, of a fit by `fit_constrained`; else empty."""
        return [] if self._constraint is None else list(self._constraint.words)

    @requires(Needs.MAXIMUM)
    def constraint_test(self, test: str = "lr", cov_type: str | None = None, cov_kwds: Any = None) -> Any:
        """Test of the constraints, against the fit without them.

        Parameters
        ----------
        test : {"lr", "score", "wald"}
            Likelihood ratio, which takes the model to be right whatever the covariance of the fit is; Rao's score test
            at the constrained estimate, with the expected information; or Wald's at the estimate without constraints.
        cov_type, cov_kwds : optional
            Of "wald" any covariance, of "score" "nonrobust" or "HC0" (outer products of scores). Default of "wald" is
            the covariance type of the fit, with its groups or lags; of "score" "nonrobust", or "HC0" where the fit has
            a type whose name begins with "HC".

        Returns
        -------
        (statistic, pvalue, df) namedtuple
            Chi-squared with as many degrees of freedom as the fit without the constraints has parameters more. An
            LRTest, ScoreTest or WaldTest.

        Raises
        ------
        ValueError
            A fit without constraints, an unknown test, "lr" of a pseudo-likelihood, a fit that did not converge;
            constraints that only tell collinear columns apart; "wald" and "score" where the estimate without
            constraints is infinite or their covariance singular.
        NotImplementedError
            `cov_type` with "lr", another than "nonrobust" and "HC0" with "score": also that of the fit.

        References
        ----------
        Engle (1984), Wald, likelihood ratio and Lagrange multiplier tests in econometrics. Handbook of Econometrics 2,
        775-826. Boos (1992), The American Statistician 46, 327-333.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> model = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector"))
        >>> res = model.fit_constrained("GPA = PSI")
        >>> for test in ("lr", "score", "wald"):
        ...     print(test, round(res.constraint_test(test).pvalue, 4))
        lr 0.7413
        score 0.7432
        wald 0.7437
        """
        if self._constraint is None:
            raise ValueError("constraint_test: the fit has no constraints; model.fit_constrained(...) makes one")
        if test not in TESTS:
            raise ValueError(f'test={test!r}: choose "lr", "score" or "wald"')
        if not self.converged:  # type: ignore[attr-defined]
            raise ValueError("constraint_test: the fit did not converge, so that its log-likelihood is no maximum")
        if test == "lr" and cov_type is not None:
            raise NotImplementedError(f'constraint_test("lr") with cov_type={cov_type!r}: use test="wald"')
        robust = test == "score" and self._score_is_robust(cov_type)
        if self._unconstrained._size == self._size:
            raise ValueError(
                f"constraint_test: the constraints {self._constraint} restrict nothing. They tell collinear columns "
                "apart, and the fit without them has the same likelihood"
            )
        if test == "lr":
            return self._constraint_lr()
        return self._constraint_score(robust) if test == "score" else self._constraint_wald(cov_type, cov_kwds)

    def _constraint_lr(self) -> wald.LRTest:
        res: Any = self
        check_needs(self, 'constraint_test("lr")', Needs.LIKELIHOOD)
        full = self._unconstrained
        if not full.converged:
            raise ValueError("constraint_test: the fit without the constraints did not converge")
        return wald.lr_test(full._value, self._value, full._size - res._size)

    def _score_is_robust(self, cov_type: str | None) -> bool:
        """Whether the score test takes outer products of scores; by default as the covariance of the fit."""
        res: Any = self
        if cov_type is None:
            same = {"model": "nonrobust", "rows": "HC0"}  # as far as a score test tells them apart
            own = same.get(COVARIANCES[res.cov_type].kind, res.cov_type)
            if own not in ("nonrobust", "HC0"):
                raise NotImplementedError(
                    f'constraint_test("score") of a fit with cov_type="{own}": there are "nonrobust" and "HC0". Say '
                    'which by cov_type=, or use test="wald"'
                )
            cov_type = None if self.model._pseudo and own == "nonrobust" else own
        return bool(res._robust_score(cov_type, False))

    def _constraint_score(self, robust: bool) -> ScoreTest:
        res: Any = self
        full, c = self._unconstrained, self._constraint
        assert c is not None
        # the information of the columns that are no combinations of others, along the constraints and across them
        places, Q = full._places, c.Q
        objective, theta = res._objective(), res._inner
        e = objective(theta, True)
        if full._combinations:
            Q = _in_columns_kept(full) @ Q
        U = np.linalg.qr(Q, mode="complete")[0]
        tested = np.arange(Q.shape[1], len(U))
        s, information = U.T @ e.score[places], U.T @ e.information[np.ix_(places, places)] @ U
        if not robust:
            return score.score_test(s, information, tested)
        meat = Context(objective, theta, e, res.nobs, self.model._frequency).sum_of_outer_scores()
        unit = objective.unit
        return score.score_test(s / unit, information / unit, tested, U.T @ meat[np.ix_(places, places)] @ U)

    def _constraint_wald(self, cov_type: str | None, cov_kwds) -> WaldTest:
        res, c = cast(Any, self), self._constraint
        assert c is not None
        full = self._unconstrained
        if full.separation is not None:
            raise ValueError(f'constraint_test("wald"): without the constraints there is {full.separation}. Use "lr"')
        if cov_type is not None:
            full = full.with_cov(cov_type, **(cov_kwds or {}))
        elif cov_kwds:
            full = full.with_cov(res.cov_type, **cov_kwds)
        elif full.cov_type != res.cov_type:
            full = copy.copy(full)
            full._set_covariance(res.cov_type, self._keywords)
        found = full.wald_test((c.R, c.q))
        return WaldTest(float(found.statistic), float(found.pvalue), len(c.R))

    @row_property
    def _keywords(self) -> Any:
        """Keywords of the covariance; of a fit that was kept without its rows from the names that it had."""
        res: Any = self
        given = {name: value for name, value in res.cov_kwds.items() if name in ("groups", "maxlags")}
        return self.model._cov_keywords(res.cov_type, given)

    @row_property
    def _unconstrained(self) -> Any:
        """The fit without the constraints."""
        with warnings.catch_warnings():
            for kind in (CollinearityWarning, ConvergenceWarning, InferenceWarning, SeparationWarning):
                warnings.simplefilter("ignore", kind)
            return self.model.fit()

    def _refuse_fixed(self, R: ndarray) -> None:
        """ValueError for hypotheses that the constraints decide."""
        if self._constraint is not None and self._constraint.fixed(R)[0].any():
            raise ValueError(
                f"the constraints {self._constraint} fix what the hypothesis is about, so that the estimate has no "
                "test of it: use constraint_test()"
            )

    def _check_joint(self, R: ndarray) -> None:
        """ValueError for hypotheses of which the constraints decide a combination."""
        if self._constraint is None:
            return
        from glmclf.core.fit.constraints import SAME

        C = self._constraint.R
        size = np.abs(np.vstack([C, R])).max(axis=0)
        C, R = (A / np.where(size > 0, size, 1.0) for A in (C, R))

        def rank(A: ndarray) -> int:
            A = A[A.any(axis=1)]
            return int(np.linalg.matrix_rank(A / np.linalg.norm(A, axis=1)[:, None], tol=SAME)) if len(A) else 0

        if rank(np.vstack([C, R])) < rank(C) + rank(R):
            raise ValueError(
                f"the constraints {self._constraint} decide a combination of the hypotheses, so that they have no "
                "joint test: leave out what follows from the others under the constraints"
            )

    @property
    def _z(self) -> ndarray:
        """Estimates over their standard errors; NaN for parameters that the constraints fix."""
        z = super()._z  # type: ignore[misc]
        return z if self._constraint is None else np.where(self._constraint.fixed(np.eye(len(z)))[0], np.nan, z)

    @cached_property
    def _digits(self) -> list[float]:
        if self._constraint is not None:
            return [float("nan")] * len(self._theta)
        return super()._digits  # type: ignore[misc]

    def _constrained_influences(self, objective: Any, theta: ndarray, e: Any) -> Influences:
        from glmclf.inference.covariance.constrained import constrained_influence

        assert self._constraint is not None
        return constrained_influence(objective, theta, e, self._constraint.Q, self.model._frequency)

    def _free_design(self) -> tuple[ndarray, list[str], ndarray | None]:
        """Columns that the constraints leave, each once, what they are called, and the offset with what the constraints
        add to it: of `y ~ x + z` under x = z those of `y ~ I(x + z)`."""
        r, names = self.model._rows, self.model.exog_names
        rows = r.blocks()
        X = rows.collect(lambda X, *rest: X.toarray())
        offset = None if r.offset is None else rows.collect(lambda X, y, trials, offset, weights: offset)
        if self._constraint is None:
            return X, names, offset
        k = X.shape[1]
        D, c = free_form(self._constraint.R, self._constraint.q)
        parts = np.hstack([D[i : i + k] for i in range(0, len(D), k)]).T
        columns = {part.tobytes(): part for part in parts + 0.0 if part.any()}.values()
        added = [_combined(X, c[i : i + k]) for i in range(0, len(c), k)]
        if c.any():
            base = 0.0 if offset is None else offset[:, None] if offset.ndim == 1 else offset
            offset = np.column_stack(added) + base
            offset = offset[:, 0] if offset.shape[1] == 1 else offset
        called = [combination({int(i): float(a[i]) for i in np.flatnonzero(a)}, names) for a in columns]
        return np.column_stack([X[:, :0], *(_combined(X, a) for a in columns)]), called, offset

    def _constraint_notes(self) -> list[str]:
        """A line under the summary."""
        return [] if self._constraint is None else [f"Estimated under the constraints {self._constraint}."]


def said(R: ndarray, q: ndarray, names: list[str]) -> tuple[str, ...]:
    """Constraints in words, one a row of R."""
    out = []
    for row, value in zip(R, q, strict=True):
        places = np.flatnonzero(np.abs(row) > 1e-12 * np.abs(row).max())
        sign = -1.0 if len(places) and row[places[0]] < 0 else 1.0
        left = combination({int(i): float(sign * row[i]) for i in places}, names) or "0"
        out.append(f"{left} = {sign * value + 0.0:.6g}")
    return tuple(out)


def _combined(X: ndarray, a: ndarray) -> ndarray:
    """X a, term by term: rows that a formula has as equal are equal."""
    return sum((a[i] * X[:, i] for i in np.flatnonzero(a)), np.zeros(len(X)))


def _in_columns_kept(full: Any) -> ndarray:
    """Parameters of all columns -> those of the columns that a fit has kept, with the same linear predictors."""
    k = len(full.model.exog_names)
    M = np.eye(k)
    for j, terms in full._combinations.items():
        M[:, j] = 0.0
        for i, value in terms.items():
            M[i, j] = value
    return np.kron(np.eye(full.model._likelihood.n_eta), M[full._columns])
