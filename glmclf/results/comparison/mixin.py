"""Mixin with tests of a fit against another one."""

from __future__ import annotations

from typing import Any

import pandas as pd

from glmclf.results.requires import Needs, requires


class ModelComparison:
    """Mixin of results: tests against a fit of another model to the same rows."""

    @requires(Needs.MAXIMUM)
    def compare_vuong(self, other: Any) -> pd.DataFrame:
        """Vuong's test of two non-nested models: which one is closer to the truth?

        z = sum of m_i / (sqrt(n) s), m_i the differences of the rows' log-likelihoods and s their standard deviation,
        is standard normal where both are equally far from the truth; it is positive where this model is closer.

        Parameters
        ----------
        other : result
            A fit to the same response, rows and weights: another link, other regressors, another class of models (of
            two levels Logit and MNLogit). Of LDA, QDA and NaiveBayes a fit of the same features.

        Returns
        -------
        DataFrame
            Rows uncorrected, AIC and BIC: corrected for the numbers of parameters, p - q by AIC, (p - q) log(n) / 2 by
            BIC. Columns statistic and pvalue (two-sided).

        Raises
        ------
        ValueError
            Other rows, responses or weights, pseudo-likelihoods, joint against conditional likelihoods, nested models
            (`compare_lr_test` has a test of those), infinite estimates.
        NotImplementedError
            Fits that do not maximise the likelihood: penalised, bias-reduced or smoothed ones.

        Notes
        -----
        The test takes for granted that the models can be told apart by the data, which they cannot where both have
        the same log-likelihood in every row to within chance. A row of frequency weight f counts as f rows, a row of
        counts as one.

        References
        ----------
        Vuong (1989), Econometrica 57, 307-333.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> penguins = datasets.load("penguins").dropna()
        >>> weight = Logit.from_formula("sex ~ body_mass_g", penguins).fit()
        >>> bill = Logit.from_formula("sex ~ bill_length_mm + bill_depth_mm", penguins).fit()
        >>> weight.compare_vuong(bill).round(3)
                     statistic  pvalue
        uncorrected     -2.786   0.005
        AIC             -2.710   0.007
        BIC             -2.565   0.010
        """
        from glmclf.results.comparison.compare import vuong_test

        return vuong_test(self, other)
