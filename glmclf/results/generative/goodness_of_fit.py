"""Goodness of fit of the posterior probabilities of a generative model, given the features."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.inference.specification import gof, moment_tests
from glmclf.inference.specification.moment_tests import MomentTest, PossibleOutcomes
from glmclf.results.diagnostics.goodness_of_fit import TEST_COLUMNS, check_groups, group_table
from glmclf.results.requires import Needs, requires


class PosteriorTests:
    """Mixin of generative results with tests of the posterior probabilities."""

    model: Any

    @requires(Needs.LIKELIHOOD)
    def gof_test(self, groups: int = 10) -> pd.DataFrame:
        """Goodness of fit of the posterior probabilities: are the classes as frequent as they say, given the features?

        A generative model has a joint likelihood; its tests of the laws themselves are `mardia_test`, `boxm_test` and
        `independence_audit`. What follows asks the question of a regression. As the estimate is not the one that
        maximises the conditional likelihood, Hosmer and Lemeshow's degrees of freedom do not hold: the covariance of
        the moments takes account of how the laws were estimated.

        Parameters
        ----------
        groups : int
            Of about equal size by the posterior of leaving the reference, 3 or more; `gof_groups` has them.

        Returns
        -------
        DataFrame
            Columns statistic (chi-squared), df (rank), pvalue and groups:

            - groups of risk: observed less expected counts of the classes in the groups (Andrews 1988).
            - sum of squares: of y - p, unweighted, against its expectation.

        Raises
        ------
        ValueError
            A pseudo-likelihood, a shrunken estimate, rows with missing features.
        NotImplementedError
            An estimate that is not the maximum of the likelihood.

        References
        ----------
        Andrews (1988), Chi-square diagnostic tests for econometric models, Journal of Econometrics 37, 135-156.

        Examples
        --------
        >>> from glmclf import LDA, datasets
        >>> res = LDA.from_formula("species ~ bill_length_mm + body_mass_g", datasets.load("penguins")).fit()
        >>> res.gof_test().pvalue.round(3)
        groups of risk    0.938
        sum of squares    0.240
        Name: pvalue, dtype: float64
        """
        check_groups(groups)
        from glmclf.results.comparison.conditional import with_rows

        res = with_rows(self)
        counts, _, risk = res._observed_and_fitted()
        group = gof.risk_groups(risk, counts.sum(axis=1), int(groups))
        n_groups, q = int(group.max()) + 1, len(res.levels) - 1

        def by_group(o: PossibleOutcomes, rows: slice) -> ndarray:
            return moment_tests.group_moments(o, group[rows], n_groups)

        found = {
            "groups of risk": (*res._posterior_test(counts, by_group, n_groups * q), n_groups),
            "sum of squares": (*res._posterior_test(counts, lambda o, rows: moment_tests.sum_of_squares(o), 1), 0),
        }
        return pd.DataFrame.from_dict(found, orient="index", columns=TEST_COLUMNS)

    @requires(Needs.LIKELIHOOD)
    def gof_groups(self, groups: int = 10) -> pd.DataFrame:
        """Groups of about equal size by the posterior of leaving the reference, observed and expected.

        Parameters
        ----------
        groups : int
            How many, 2 or more; equal posteriors stay together, so that there may be fewer.

        Returns
        -------
        DataFrame
            A row a group: `low`, `high` (smallest and largest posterior), `n` and, for each level,
            ``observed_<level>`` and ``expected_<level>``.
        """
        check_groups(groups, least=2)
        counts, p, risk = self._observed_and_fitted()
        return group_table(counts, p, risk, groups, self.model._classes)

    @requires()
    def pseudo_rsquared(self) -> pd.Series:
        """Pseudo-R-squareds of the posterior probabilities: McFadden, Cox-Snell, Nagelkerke, Tjur, Efron.

        Returns
        -------
        Series
            The first three compare `llf_conditional` with that of the shares of the classes, which another model of the
            same rows shares, so that they compare with MNLogit's; its conditional likelihood is the largest, theirs is
            not. There is no adjusted McFadden: no number of parameters was fitted to this likelihood.

        Notes
        -----
        With y_k the indicator of class k: Tjur sum_k Cov(y_k, p_k) / sum_k Var(y_k), Efron
        1 - sum_k sum (y_k - p_k)^2 / sum_k sum (y_k - mean y_k)^2; with two classes these are the usual ones.

        Examples
        --------
        >>> from glmclf import LDA, datasets
        >>> res = LDA.from_formula("sex ~ bill_length_mm + body_mass_g", datasets.load("penguins")).fit()
        >>> res.pseudo_rsquared().round(3)
        McFadden      0.152
        Cox-Snell     0.190
        Nagelkerke    0.253
        Tjur          0.192
        Efron         0.174
        dtype: float64
        """
        res: Any = self

        def part(X, y, trials, offset, weights) -> ndarray:
            counts, p = self._counts_and_posteriors(X, y, weights)
            rest = np.column_stack([np.delete(p, k, axis=1).sum(axis=1) for k in range(p.shape[1])])
            impossible = np.isnan(p[:, 0])
            sums = gof.class_sums(counts[~impossible], p[~impossible], rest[~impossible])
            return np.array([impossible.sum(), counts.sum(), *sums])

        impossible, n, *sums = self.model._rows.blocks().sum_parts(part)
        _check_possible(int(impossible))
        found = gof.from_loglikelihoods(res.llf_conditional, res._conditional_null, float(n), 0)
        del found["adjusted McFadden"]
        return pd.Series(found | gof.of_class_probabilities(np.array(sums)))

    def _observed_and_fitted(self) -> tuple[ndarray, ndarray, ndarray]:
        """Observations and posteriors of each class, the reference first, and the posterior of leaving it."""

        def part(X, y, trials, offset, weights) -> ndarray:
            return np.hstack(self._counts_and_posteriors(X, y, weights))

        counts, p = np.hsplit(self.model._rows.blocks().collect(part), 2)
        _check_possible(int(np.isnan(p[:, 0]).sum()))
        return counts, p, p[:, 1:].sum(axis=1)

    def _counts_and_posteriors(self, X, y: ndarray, weights: ndarray | None) -> tuple[ndarray, ndarray]:
        """Counts and posteriors of some rows, NaN where no class is possible, (n, K) each."""
        res: Any = self
        counts = (y[:, None] == np.arange(len(res.levels))) * (1.0 if weights is None else weights[:, None])
        return counts, res._posterior(res._values_of(X))

    def _in_blocks(self, size: int) -> Iterator[tuple[Any, slice]]:
        """Features of up to `size` rows of the fit at once, and the places of these rows."""
        res: Any = self
        start = 0
        for X, y, *_ in self.model._rows.parts():
            values = res._values_of(X)
            for i in range(0, len(y), size):
                own = slice(i, min(i + size, len(y)))
                part = [v[own] for v in values] if isinstance(values, list) else values[own]
                yield part, slice(start + own.start, start + own.stop)
            start += len(y)

    def _posterior_test(
        self, counts: ndarray, indicators: Callable[[PossibleOutcomes, slice], ndarray], c: int
    ) -> MomentTest:
        """Test of moments with their covariance given the estimate of the parameters."""
        res: Any = self
        try:
            res._check_logit_form()
        except (NotImplementedError, ValueError) as error:
            raise type(error)(str(error).replace("compare_conditional()", "gof_test()")) from None
        form = res._logit_form()
        m, K = form.coefficients.shape[1], counts.shape[1]
        size = max(16, moment_tests.MAX_MOMENT_ENTRIES // (K * (c + m * K)))

        def blocks() -> Iterator[tuple[Any, slice, PossibleOutcomes, ndarray]]:
            for part, rows in self._in_blocks(size):
                Z = form.functions(part)
                o = moment_tests.of_levels(Z, Z @ form.coefficients.T)
                yield part, rows, o, indicators(o, rows)

        G = sum(moment_tests.covered(o, d, counts[rows].sum(axis=1)) for _, rows, o, d in blocks())
        found: Any = None
        for part, rows, o, d in blocks():

            def influence(j: int, part=part, n: int = len(d)) -> ndarray:
                return form.influence(part, np.full(n, j))

            new = moment_tests.estimated_otherwise(counts[rows], o, d, np.asarray(G), influence, float(counts.sum()))
            found = new if found is None else found + new
        return found.test()


def _check_possible(n: int) -> None:
    """Raise ValueError if `n` rows are possible in no class."""
    if n:
        raise ValueError(f"{n} rows have probability 0 in every class, and no posterior. Use smoothing=.5")
