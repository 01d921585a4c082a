"""Randomised quantile residuals, labelled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.numerics import seeds
from glmclf.inference.residuals import quantile as quantile_residuals
from glmclf.results.regression.levels import times_of


class QuantileResiduals:
    """Results that know the probability of each row's response, and of less and more."""

    model: Any

    def resid_quantile(self, seed=None) -> Any:
        """Randomised quantile residuals: independent standard normal numbers if the fitted probabilities are right.

        Of a row with response y, the normal quantile of a number drawn uniformly from P(Y < y) to P(Y <= y). Other
        residuals of a 0/1 response lie on two curves whether the model fits or not; these can be plotted against
        anything, and against normal quantiles.

        - 0/1 and two labels: the event is the larger. Counts: binomial.
        - Several classes: by the cumulated probabilities in the order of `levels`, also where that is no order of the
          classes; of generative models those of the posterior given the features.
        - Counts of several classes: a column a level, each by its own binomial distribution; those of a row depend on
          each other.

        Parameters
        ----------
        seed : int, SeedSequence or Generator, optional
            Of numpy's generator: the same seed gives the same residuals. Look at several, as each draw adds noise.

        Returns
        -------
        Series, or DataFrame of counts of several classes
            By the index of the rows of the fit. A row of frequency weight f stands f times, as in `simulate`.

        Raises
        ------
        NotImplementedError
            A fractional response, which has no distribution.
        DataError
            The rows were removed, or not saved.

        References
        ----------
        Dunn & Smyth (1996), Randomized quantile residuals, J. Computational and Graphical Statistics 5, 236-244.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("GRADE ~ GPA + PSI", datasets.load("spector")).fit()
        >>> res.resid_quantile(seed=1).head(3).round(3)
        0   -0.010
        1    1.244
        2   -1.180
        dtype: float64
        """
        r = self.model._rows
        y, trials = self._observed_classes()
        log_p, times = self._log_probabilities(), times_of(r, self.model._frequency)
        generator, index = seeds.generator(seed), r.index.repeat(times)

        def drawn() -> ndarray:
            return quantile_residuals.uniform(len(index), generator)

        def many(a: ndarray) -> ndarray:
            return np.repeat(a, times, axis=0)

        if trials is None:
            return pd.Series(quantile_residuals.of_classes(many(y), many(log_p), drawn()), index=index)
        m = many(np.asarray(trials, dtype=float))
        if y.ndim == 1:
            p, q = many(log_p[:, 1]), many(log_p[:, 0])
            return pd.Series(quantile_residuals.of_counts(many(y), m, p, q, drawn()), index=index)
        columns = {}
        for k, level in enumerate(self.levels):  # type: ignore[attr-defined]
            others = np.logaddexp.reduce(np.delete(log_p, k, axis=1), axis=1)
            columns[level] = quantile_residuals.of_counts(many(y[:, k]), m, many(log_p[:, k]), many(others), drawn())
        return pd.DataFrame(columns, index=index)

    def _log_probabilities(self) -> ndarray:
        """Log-probabilities of the levels in each row of the fit, (n, K), in the order of the levels."""
        raise NotImplementedError

    def _observed_classes(self) -> tuple[ndarray, ndarray | None]:
        """Codes of the levels observed, or counts (n,) or (n, K) with the trials of the rows."""
        raise NotImplementedError
