"""Goodness of fit of a regression: tests by pattern, by groups of risk and by moments, and the groups themselves."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.special import chdtrc

from glmclf.errors import InferenceWarning, warn
from glmclf.inference import gof, moments
from glmclf.inference.moments import MomentTest
from glmclf.results.separation import instead

FULL = 300  # moments of an information matrix test, up to which `gof_test` has all of them
COLUMNS = ["statistic", "df", "pvalue", "groups"]


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
            them.

        Returns
        -------
        DataFrame
            Columns statistic (chi-squared), df, pvalue and groups (patterns, or groups after ties; 0 of a test without
            them), a row a test:

            - Pearson and deviance: sum (o - e)^2 / e and 2 sum o log(o / e) over covariate patterns, the offset
              included, with (K-1) patterns - p degrees of freedom; with less than two observations a pattern their
              p-values are NaN.
            - Hosmer-Lemeshow, of several classes Fagerland-Hosmer: the former over groups of risk, with
              (groups - 2)(K - 1) degrees of freedom.
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
        counts, p, risk = res._observed_and_fitted()
        rows = self._by_pattern_of_rows(counts, p)
        rows[self._risk_test] = grouped_row(counts, p, risk, groups)
        for name, test in self._moment_tests().items():
            rows[name] = (*test, 0)
        return pd.DataFrame.from_dict(rows, orient="index", columns=COLUMNS)

    def _by_pattern_of_rows(self, counts: ndarray, p: ndarray) -> dict[str, tuple]:
        res: Any = self
        pearson, deviance, patterns = gof.by_pattern(counts, p, self._patterns())
        df = patterns * (p.shape[1] - 1) - res._size
        usable = df > 0 and counts.sum() >= 2 * patterns
        found = {"Pearson": pearson, "deviance": deviance}
        return {name: (v, df, float(chdtrc(df, v)) if usable else np.nan, patterns) for name, v in found.items()}

    def gof_groups(self, groups: int = 10) -> pd.DataFrame:
        """Groups of fitted risk of the Hosmer-Lemeshow test, observed and expected.

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
            A pseudo-likelihood, or `groups` that are none.

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
        counts, p, risk = res._observed_and_fitted()
        return group_table(counts, p, risk, groups, res._class_names())

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
            Chi-squared; df is the rank: a square of a 0/1 variable, say, tells nothing new.

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
            warn(f"{', '.join(names)}: no test of a separated fit ({why}): {instead(False)}", InferenceWarning)
            return found
        objective, theta, root, basis = estimate
        found = {}
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            for name in names:
                found[name] = moments.moment_test(objective, theta, root, *self._moments(name, objective, basis))
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
        full = moments.n_indicators(k, q, False) <= FULL
        link = getattr(self.model, "link", None)  # MNLogit has none
        logit = q == 1 and (link is None or link.name == "logit")
        return [
            "sum of squares",
            *(["Stukel"] if logit else []),
            "information matrix" if full else "information matrix (diagonal)",
        ]

    @staticmethod
    def _moments(name: str, objective: Any, basis: ndarray | None) -> tuple[Any, int]:
        """A moment function and how many moments it has."""
        if name in ("sum of squares", "Stukel"):
            return (moments.sum_of_squares, 1) if name == "sum of squares" else (moments.stukel, 2)
        k, q = objective.blocks.arrays[0].shape[1], objective.likelihood.n_eta
        diagonal = name.endswith("(diagonal)")
        unit = basis if diagonal else moments.orthogonal(objective)
        return moments.information_matrix(diagonal, unit), moments.n_indicators(k, q, diagonal)

    def _estimated_rows(self) -> tuple[Any, ndarray, ndarray, ndarray | None] | None:
        """Objective and estimate of what is finite, T with T T' its inverse information, and the basis they are in.

        None where separation leaves nothing that this can be said of.
        """
        res: Any = self
        if res._cone is not None:
            limit = res._limit
            if limit is None or self.model._likelihood.n_eta > 1 or not len(limit.kept) or not len(limit.rows):
                return None
            basis, theta = limit.inner.basis, limit.inner.fit.theta
            objective = limit.objective if basis is None else limit.objective.rotated(basis)
            return objective, theta, objective(theta, True).factor.root, basis
        objective, fit = res._objective(), res._narrow_centred.fit
        evaluation = fit.evaluation if objective.canonical else objective(fit.theta, True)
        if res._constraint is None:
            return objective, fit.theta, evaluation.factor.root, res._narrow.basis
        from glmclf.inference.constrained import root_within

        return objective, fit.theta, root_within(res._constraint.Q, evaluation.information), res._narrow.basis

    def _observed_and_fitted(self) -> tuple[ndarray, ndarray, ndarray]:
        """Observations and probabilities of each class, (n, K), and the risk that groups are by."""
        raise NotImplementedError

    def _class_names(self) -> list[Any]:
        """Levels in the order of the columns of `_observed_and_fitted`."""
        raise NotImplementedError

    def _patterns(self) -> ndarray:
        """Number of each row's covariate pattern, the offset included, in the order in which they come."""
        r = self.model._rows
        X = r.X.toarray() if r.offset is None else np.column_stack([r.X.toarray(), r.offset])
        code = np.zeros(len(X), dtype=np.int64)
        for column in X.T:
            levels = pd.factorize(column + 0.0)[0]
            code = pd.factorize(code * (int(levels.max()) + 1) + levels)[0].astype(np.int64)
        return code


# --------------------------------------------------------------------------------------------------- helpers
def check_groups(groups: Any, least: int = 3) -> None:
    """ValueError unless a whole number that is large enough."""
    if isinstance(groups, bool) or not isinstance(groups, (int, np.integer)) or groups < least:
        raise ValueError(f"groups={groups!r}: a whole number, {least} or more")


def grouped_row(counts: ndarray, p: ndarray, risk: ndarray, groups: int) -> tuple[float, int, float, int]:
    """Statistic, df, pvalue and groups of the Hosmer-Lemeshow test; NaN with a warning where ties leave too few."""
    try:
        t = gof.hosmer_lemeshow(counts, p, risk, int(groups))
    except ValueError as error:
        warn(str(error), InferenceWarning)
        return np.nan, 0, np.nan, 0
    return t.statistic, t.df, t.pvalue, len(t.observed)


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
