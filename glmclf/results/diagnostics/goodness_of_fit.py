"""Goodness of fit of a regression: tests by pattern, by groups of risk and by moments, and the groups themselves."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.special import chdtrc

from glmclf.core.fit.estimate import into_basis
from glmclf.errors import InferenceWarning, warn
from glmclf.inference.covariance.influence import first_rows
from glmclf.inference.specification import gof, moments
from glmclf.inference.specification.moments import MomentTest
from glmclf.results.regression.separation import instead

FULL = 300  # moments of an information matrix test, up to which `gof_test` has all of them
COLUMNS = ["statistic", "df", "pvalue", "groups"]


class Seen(NamedTuple):
    """Rows that are tested.

    Attributes
    ----------
    counts, p : (n, K) ndarrays
        Observations and fitted probabilities of each class.
    risk : (n,) ndarray
        What groups are by.
    pattern : (n,) integer ndarray
        Numbers of the covariate patterns, from 0.
    possible : (n, K) bool ndarray
        Outcomes that separation does not rule out.
    """

    counts: ndarray
    p: ndarray
    risk: ndarray
    pattern: ndarray
    possible: ndarray


class Estimated(NamedTuple):
    """An estimate that moments are tested at.

    Attributes
    ----------
    objective : Objective
    theta : (p,) ndarray
    root : (p, d) ndarray
        T with T T' its inverse information.
    basis : (k, k) ndarray or None
        What its coordinates are, as `core.estimation.Estimate` has it.
    free : (p, d) ndarray or None
        Directions that were estimated, one a parameter of the model without the others; None where all were.
    """

    objective: Any
    theta: ndarray
    root: ndarray
    basis: ndarray | None
    free: ndarray | None


class FitTests:
    """The part of a result that asks whether the fitted probabilities are right."""

    model: Any
    _risk_test: ClassVar[str] = "Hosmer-Lemeshow"

    def gof_test(self, groups: int = 10) -> pd.DataFrame:
        """Goodness of fit: by covariate pattern, by groups of fitted risk, and by moments, for data of any sparseness.

        Parameters
        ----------
        groups : int
            Of the Hosmer-Lemeshow test, 3 or more: cut at the quantiles i/groups of the fitted probability of the event
            or, with several classes, of one minus that of the reference (Fagerland, Hosmer & Bofin). `gof_groups` has
            them. A group holds its upper bound, as in R's ``cut``: where risks tie at a bound, the groups, and with
            them the test, are others if the other level is the event.

        Returns
        -------
        DataFrame
            Columns statistic (chi-squared), df, pvalue and groups (patterns, or groups after ties; 0 of a test without
            them), a row a test. All are of the rows that separation leaves undecided, if it decides some:

            - Pearson and deviance: sum (o - e)^2 / e and 2 sum o log(o / e) over covariate patterns, the offset
              included (under constraints those of the combinations that are left free), with (K-1) patterns - p degrees
              of freedom, p the finite parameters and K - 1 less in patterns
              of which outcomes are ruled out; with less than two observations a pattern their p-values are NaN.
            - Hosmer-Lemeshow, of several classes Fagerland-Hosmer: the former over groups of risk, with
              (groups - 2)(K - 1) degrees of freedom, less in groups of which outcomes are ruled out.
            - sum of squares: of y - p, unweighted, against its expectation (le Cessie & van Houwelingen; Copas), the
              square of the normal statistic of R's rms.
            - Stukel, of Logit: score test of two more parameters, one for each tail of the link.
            - information matrix: `information_matrix_test`; of more than 300 moments, (diagonal).

        Raises
        ------
        ValueError
            A pseudo-likelihood, a fit that did not converge, or fewer than three groups asked for.

        Warns
        -----
        InferenceWarning
            A test has no degrees of freedom: ties leave fewer than three groups, the model is saturated, separation
            decides every row.

        References
        ----------
        Hosmer & Lemeshow (1980), Communications in Statistics A9, 1043-1069. Fagerland, Hosmer & Bofin (2008),
        Statistics in Medicine 27, 4238-4253. Hosmer, Hosmer, le Cessie & Lemeshow (1997), A comparison of
        goodness-of-fit tests for the logistic regression model, ibid. 16, 965-980. Stukel (1988), JASA 83, 426-431.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector")).fit()
        >>> res.gof_test().round(3)
                            statistic  df  pvalue  groups
        Pearson                27.257  28     NaN      32
        deviance               25.779  28     NaN      32
        Hosmer-Lemeshow         6.095   8   0.637      10
        sum of squares          0.036   1   0.850       0
        Stukel                  0.062   2   0.970       0
        information matrix     10.542   9   0.308       0
        """
        res: Any = self
        res._check_likelihood("gof_test()", "calibration plots and predictions")
        check_groups(groups)
        if self.model._rows.streamed:
            return _with_rows(self).gof_test(groups)
        seen = self._undecided()
        rows = self._by_pattern_of_rows(seen)
        rows[self._risk_test] = self._grouped_row(seen, rows["Pearson"][1], groups)
        for name, test in self._moment_tests().items():
            rows[name] = (*test, 0)
        return pd.DataFrame.from_dict(rows, orient="index", columns=COLUMNS)

    def _undecided(self) -> Seen:
        """What was observed and fitted in the rows that separation leaves; of binary models and of several classes."""
        res: Any = self
        counts, p, risk = res._observed_and_fitted()
        if res._cone is None:
            return Seen(counts, p, risk, self._patterns(), np.ones(p.shape, dtype=bool))
        gone = res._outcomes_gone
        rows = np.flatnonzero((~gone).sum(axis=1) > 1)
        counts, p, risk, possible = counts[rows], p[rows], risk[rows], ~gone[rows]
        if len(rows) and not possible[:, 0].any():  # no row may be of the reference: the risk of leaving another class
            risk = np.delete(p, np.flatnonzero(possible.any(axis=0))[0], axis=1).sum(axis=1)
        return Seen(counts, p, risk, np.unique(self._patterns()[rows], return_inverse=True)[1], possible)

    def _finite_parameters(self) -> int:
        """How many parameters the rows that separation leaves are fitted by."""
        res: Any = self
        return res._size - (0 if res._cone is None else res._cone.basis.shape[1])

    def _by_pattern_of_rows(self, seen: Seen) -> dict[str, tuple]:
        if not len(seen.risk):
            return dict.fromkeys(["Pearson", "deviance"], (np.nan, 0, np.nan, 0))
        pearson, deviance, patterns = gof.by_pattern(seen.counts, seen.p, seen.pattern)
        free = seen.possible[first_rows(seen.pattern)].sum() - patterns
        df = int(free) - self._finite_parameters()
        usable = df > 0 and seen.counts.sum() >= 2 * patterns
        found = {"Pearson": pearson, "deviance": deviance}
        return {name: (v, df, float(chdtrc(df, v)) if usable else np.nan, patterns) for name, v in found.items()}

    def _grouped_row(self, seen: Seen, df: int, groups: int) -> tuple[float, int, float, int]:
        """Statistic, df, pvalue and groups of the test by groups of risk, `df` those by covariate pattern; NaN with a
        warning where ties leave too few groups or the model is saturated."""
        none = np.nan, 0, np.nan, 0
        try:
            t = gof.hosmer_lemeshow(seen.counts, seen.p, seen.risk, int(groups), seen.possible)
        except ValueError as error:
            if len(seen.risk):  # else the tests by moments say it
                warn(str(error), InferenceWarning)
            return none
        if df <= 0:
            warn(
                f"{self._risk_test}: no degree of freedom is left, as the model is saturated: it fits every covariate "
                "pattern, and so every group of them, whatever was observed",
                InferenceWarning,
            )
            return none
        return t.statistic, t.df, t.pvalue, len(t.observed)

    def gof_groups(self, groups: int = 10) -> pd.DataFrame:
        """Groups of fitted risk of the Hosmer-Lemeshow test, observed and expected, of rows that separation leaves.

        Parameters
        ----------
        groups : int
            How many, 2 or more: cut at the quantiles i/groups of the risk; equal risks stay together, so that there may
            be fewer.

        Returns
        -------
        DataFrame
            A row a group, from low to high: `low`, `high` (smallest and largest risk), `n` (observations, of frequency
            weights and counts each) and, for each level, ``observed_<level>`` and ``expected_<level>``.

        Raises
        ------
        ValueError
            A pseudo-likelihood, `groups` that are none, or separation decides every row.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector")).fit()
        >>> res.gof_groups(4)[["low", "high", "n", "observed_1", "expected_1"]].round(3)
                 low   high    n  observed_1  expected_1
        group
        1      0.024  0.052  8.0         0.0       0.259
        2      0.054  0.193  8.0         2.0       0.967
        3      0.242  0.590  8.0         2.0       3.402
        4      0.635  0.945  8.0         7.0       6.372
        """
        res: Any = self
        res._check_likelihood("gof_groups()", "calibration plots and predictions")
        check_groups(groups, least=2)
        if self.model._rows.streamed:
            return _with_rows(self).gof_groups(groups)
        seen = self._undecided()
        if not len(seen.risk):
            raise ValueError(f"gof_groups(): there is no row to group, as separation decides all ({res.separation})")
        return group_table(seen.counts, seen.p, seen.risk, groups, res._class_names())

    def information_matrix_test(self, diagonal: bool = False) -> MomentTest:
        """White's information matrix test, in Orme's form: are the variances what the likelihood implies?

        The rows' outer products of scores and Hessians add up to 0 in expectation where the model is right.
        Coefficients that differ among rows, a wrong link or left out interactions move them away from it. Their
        covariance is the one that the fitted probabilities imply, as Orme (1988) has it for binary models: forms of the
        test by outer products reject true models far too often.

        Parameters
        ----------
        diagonal : bool
            Whether to compare the variances alone, parameter by parameter, which is less powerful and cheaper.

        Returns
        -------
        (statistic, df, pvalue) namedtuple
            Chi-squared; df is the rank: a square of a 0/1 variable, say, tells nothing new. The parameters are those
            that constraints and separation leave: y ~ x + z with x = z has the test of y ~ I(x + z).

        Raises
        ------
        ValueError
            A pseudo-likelihood, or a fit that did not converge.

        Warns
        -----
        InferenceWarning
            There is no degree of freedom.

        References
        ----------
        White (1982), Econometrica 50, 1-25. Orme (1988), The Manchester School 56, 370-376.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector")).fit()
        >>> round(res.information_matrix_test(diagonal=True).pvalue, 3)
        0.469
        """
        res: Any = self
        res._check_likelihood("information_matrix_test()", "robust standard errors, which do not need it")
        name = "information matrix (diagonal)" if diagonal else "information matrix"
        return self._moment_tests([name])[name]

    # ------------------------------------------------------------------------------------------------- the parts
    def _moment_tests(self, wanted: list[str] | None = None) -> dict[str, MomentTest]:
        """Tests by moments of the rows that separation leaves; NaN, with a warning, where there is nothing to test."""
        names = self._moment_names() if wanted is None else wanted
        estimate = self._estimated_rows()
        if estimate is None:
            found = dict.fromkeys(names, MomentTest(np.nan, 0, np.nan))
            why = f"{self.separation}"  # type: ignore[attr-defined]
            names = [*(["Pearson", "deviance", self._risk_test] if wanted is None else []), *names]
            warn(f"{', '.join(names)}: no test of a separated fit ({why}): {instead(False)}", InferenceWarning)
            return found
        found = {}
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            for name in names:
                found[name] = moments.moment_test(*estimate[:3], *self._moments(name, estimate))
        empty = [name for name, test in found.items() if not test.df]
        if empty:
            warn(
                f"{', '.join(empty)}: no degree of freedom is left, as the model fits whatever the moments are, or "
                "probabilities are 0 and 1 to rounding",
                InferenceWarning,
            )
        return found

    def _moment_names(self) -> list[str]:
        res: Any = self
        k, q = len(res._columns), self.model._likelihood.n_eta
        n = moments.n_indicators(k, q, False)
        if res._cone is not None or res._constraint is not None:
            n = moments.n_indicators(self._finite_parameters(), 1, False)
        link = getattr(self.model, "link", None)  # MNLogit has none
        logit = q == 1 and (link is None or link.name == "logit")
        return [
            "sum of squares",
            *(["Stukel"] if logit else []),
            "information matrix" if n <= FULL else "information matrix (diagonal)",
        ]

    @staticmethod
    def _moments(name: str, estimate: Estimated) -> tuple[Any, int]:
        """A moment function and how many moments it has."""
        if name in ("sum of squares", "Stukel"):
            return (moments.sum_of_squares, 1) if name == "sum of squares" else (moments.stukel, 2)
        objective, diagonal = estimate.objective, name.endswith("(diagonal)")
        if estimate.free is not None:
            d = estimate.free.shape[1]
            directions = estimate.free if diagonal else estimate.root
            return moments.information_matrix_along(directions, diagonal), moments.n_indicators(d, 1, diagonal)
        k, q = objective.blocks.arrays[0].shape[1], objective.likelihood.n_eta
        unit = estimate.basis if diagonal else moments.orthogonal(objective)
        return moments.information_matrix(diagonal, unit), moments.n_indicators(k, q, diagonal)

    def _estimated_rows(self) -> Estimated | None:
        """The estimate of what is finite; None where separation leaves nothing that this can be said of."""
        res: Any = self
        if res._cone is not None:
            return _at_the_limit((res._origin or res)._limit)
        objective, fit, basis = res._objective(), res._narrow_centred.fit, res._narrow.basis
        evaluation = fit.evaluation if objective.canonical else objective(fit.theta, True)
        if res._constraint is None:
            return Estimated(objective, fit.theta, evaluation.factor.root, basis, None)
        from glmclf.inference.covariance.constrained import free_directions, root_within

        free = free_directions(res._constraint.R)
        free = free if basis is None else into_basis(basis, free)
        return Estimated(objective, fit.theta, root_within(res._constraint.Q, evaluation.information), basis, free)

    def _observed_and_fitted(self) -> tuple[ndarray, ndarray, ndarray]:
        """Observations and probabilities of each class, (n, K), and the risk that groups are by."""
        raise NotImplementedError

    def _class_names(self) -> list[Any]:
        """Levels in the order of the columns of `_observed_and_fitted`."""
        raise NotImplementedError

    def _patterns(self) -> ndarray:
        """Number of each row's covariate pattern, the offset included, in the order in which they come. Of a
        constrained fit it is that of the combinations left free."""
        res: Any = self
        X, _, offset = res._free_design()
        X = X if offset is None else np.column_stack([X, offset])
        code = np.zeros(len(X), dtype=np.int64)
        for column in X.T:
            levels = pd.factorize(column + 0.0)[0]
            code = pd.factorize(code * (int(levels.max()) + 1) + levels)[0].astype(np.int64)
        return code


# --------------------------------------------------------------------------------------------------- helpers
def _at_the_limit(limit: Any) -> Estimated | None:
    """The estimate of the finite parameters of a separated fit."""
    if limit is None or not len(limit.kept) or not len(limit.rows):
        return None
    from glmclf.core.separation.limit import Selected

    basis, theta, objective = limit.inner.basis, limit.inner.fit.theta, limit.objective
    if not isinstance(objective, Selected):
        objective = objective if basis is None else objective.rotated(basis)
        return Estimated(objective, theta, objective(theta, True).factor.root, basis, None)
    free = np.eye(len(objective.full(theta)))[:, objective.kept]
    return Estimated(objective.objective, objective.full(theta), free @ objective(theta, True).factor.root, None, free)


def _with_rows(res: Any) -> Any:
    """Results with the rows of the fit in memory, where all tests see them after one pass."""
    from glmclf.results.comparison.conditional import with_rows

    return with_rows(res)


def check_groups(groups: Any, least: int = 3) -> None:
    """ValueError unless a whole number that is large enough."""
    if isinstance(groups, bool) or not isinstance(groups, (int, np.integer)) or groups < least:
        raise ValueError(f"groups={groups!r}: a whole number, {least} or more")


def group_table(counts: ndarray, p: ndarray, risk: ndarray, groups: int, levels: list[Any]) -> pd.DataFrame:
    """Groups of risk with observed and expected counts of each class."""
    times = counts.sum(axis=1)
    group = gof.risk_groups(risk, times, int(groups))
    index = pd.RangeIndex(1, int(group.max()) + 2, name="group")
    by = pd.Series(risk).groupby(group)
    table = {"low": by.min().to_numpy(), "high": by.max().to_numpy(), "n": np.bincount(group, times)}
    for j, level in enumerate(levels):
        table[f"observed_{level}"] = np.bincount(group, counts[:, j])
        table[f"expected_{level}"] = np.bincount(group, times * p[:, j])
    return pd.DataFrame(table, index=index)
