"""Influence of the rows on a fit, labelled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import fdtrc

from glmclf.core.estimation import from_basis


class Influence:
    """Leverage, Cook's distance and one-step deletion of each row of a fit, from the expected information.

    A row of frequency weight f stands for f rows: the numbers are those of one of them. A row of sampling weight w
    counts with it.
    """

    def __init__(self, results: Any):
        self.results = results
        self._index = results.model._rows.index
        self._found = results._influences

    @property
    def hat_matrix_diag(self) -> pd.Series:
        """Leverage, in [0, 1] for one equation; these add up to the number of parameters.

        In a model of several classes the trace of the row's leverage block W^(1/2) D' A^-1 D W^(1/2), in [0, J-1].
        """
        return pd.Series(self._found.leverage, index=self._index)

    @property
    def cooks_distance(self) -> tuple[pd.Series, pd.Series]:
        """Cook's distances, d' A d / p with d = `d_params` and A the expected information, and their p-values.

        As in statsmodels these are from the F distribution with (p, df_resid) degrees of freedom: a yardstick, no test.
        """
        cooks = self._found.cooks
        pvalues = fdtrc(self.results._size, self.results.df_resid, cooks)
        return pd.Series(cooks, index=self._index), pd.Series(pvalues, index=self._index)

    @property
    def d_params(self) -> pd.DataFrame:
        """Estimate less the one-step estimate without the row, a column a parameter."""
        change = self._found.change
        basis = self.results._basis
        if basis is not None:
            change = from_basis(basis, change.T).T
        change = np.where(np.isfinite(self.results._theta), change, np.nan)
        return pd.DataFrame(change, index=self._index, columns=self.results.model._param_index)

    @property
    def dfbetas(self) -> pd.DataFrame:
        """`d_params` in standard errors of the fit."""
        return self.d_params / self.results._se

    @property
    def resid_studentized(self) -> pd.Series:
        """Pearson residuals over sqrt(1 - leverage); binary models only."""
        if self.results.model._likelihood.n_eta > 1:
            raise NotImplementedError(
                "resid_studentized is for binary models: with several classes a row has a residual for each level and "
                "a leverage block; use cooks_distance and resid_pearson"
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.results.resid_pearson / np.sqrt(1.0 - self._found.leverage)

    def summary_frame(self) -> pd.DataFrame:
        """dfb_<parameter> (`dfbetas`), cooks_d, standard_resid (binary models) and hat_diag, by row."""
        model = self.results.model
        table = self.dfbetas.set_axis([f"dfb_{name}" for name in model._param_names], axis=1)
        table["cooks_d"] = self._found.cooks
        if model._likelihood.n_eta == 1:
            table["standard_resid"] = self.resid_studentized
        table["hat_diag"] = self._found.leverage
        return table
