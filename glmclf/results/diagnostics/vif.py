"""Variance inflation factors, by term and by column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.design.columns import some_columns, triangular_inverse
from glmclf.errors import InferenceWarning, warn
from glmclf.inference.specification import vif as inflation


class Inflation:
    """Results of a design whose columns may overlap."""

    model: Any

    def vif(self, of: str = "information", by: str = "term") -> pd.DataFrame:
        """Generalised variance inflation factors: what overlapping regressors cost each term in sharpness.

        Parameters
        ----------
        of : {"information", "design"}
            Of the correlations of the estimates, by the expected information, as car's vif does of a `glm`: rows count
            as they tell something. Or of the correlations of the columns, as of a linear regression: it does not depend
            on the response.
        by : {"term", "column"}
            All columns of a term at once, which does not depend on their coding (Fox & Monette); or each column, whose
            factor is 1 / (1 - R^2) of its regression on the others.

        Returns
        -------
        DataFrame
            By term or column, without the constant: `GVIF`, at least 1; `df`, columns times equations that these have
            in the estimate; ``GVIF^(1/(2df))``, which compares across terms and says by what a standard error is
            larger. NaN of what has no estimate, or an infinite one.

        Raises
        ------
        NotImplementedError
            `of` "information": a regularised or constrained fit, a separated one of several classes.

        Warns
        -----
        InferenceWarning
            There is no column of ones to take out: the numbers are about 0 and not about the means.

        References
        ----------
        Fox & Monette (1992), Generalized collinearity diagnostics, JASA 87, 178-183. Fox (2016), Applied Regression
        Analysis and Generalized Linear Models, section 13.1.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("sex ~ species + body_mass_g + bill_length_mm", datasets.load("penguins")).fit()
        >>> res.vif().round(2)
                         GVIF  df  GVIF^(1/(2df))
        species         62.99   2            2.82
        body_mass_g     10.00   1            3.16
        bill_length_mm   8.24   1            2.87
        """
        if of not in ("information", "design"):
            raise ValueError(f'of={of!r}: choose "information" or "design"')
        if by not in ("term", "column"):
            raise ValueError(f'by={by!r}: choose "term" or "column"')
        F, places = self._information_factor() if of == "information" else self._design_factor()
        k, constant = len(self.model.exog_names), self.model._constant_column()
        if constant is None:
            warn("vif() without a column of ones: the numbers are about 0, not about the means", InferenceWarning)
        terms = self._inflated(by, constant)
        groups = {name: np.flatnonzero(np.isin(places % k, columns)) for name, columns in terms.items()}
        there = [name for name, group in groups.items() if len(group)]
        constants = np.flatnonzero(places % k == (-1 if constant is None else constant))
        values = inflation.generalised(F, [groups[name] for name in there], constants)
        gvif, df = pd.Series(np.nan, index=pd.Index(list(terms), dtype=object)), {n: len(g) for n, g in groups.items()}
        gvif[there] = values
        table = pd.DataFrame({"GVIF": gvif, "df": pd.Series(df, dtype=int)})
        table["GVIF^(1/(2df))"] = table.GVIF ** (0.5 / table.df.where(table.df > 0))
        return table

    def _inflated(self, by: str, constant: int | None) -> dict[Any, ndarray]:
        """Columns of what is asked for."""
        names = self.model.exog_names
        if by == "column":
            return {name: np.array([j]) for j, name in enumerate(names) if j != constant}
        terms = {name: np.arange(len(names))[part] for name, part in self.model._design.terms.items()}
        return {name: c for name, c in terms.items() if not (len(c) == 1 and c[0] == constant)}

    def _information_factor(self) -> tuple[ndarray, ndarray]:
        """F with F'F the expected information of the finite parameters, and their places among all."""
        res: Any = self
        instead = 'vif(of="design")'
        if res._regularised:
            raise NotImplementedError(f'vif(of="information") of a regularised fit: a penalty is in it. Use {instead}')
        res._refuse_constrained('vif(of="information")', instead)
        estimate = res._estimated_rows()
        if estimate is None or estimate.free is not None:
            raise NotImplementedError(f'vif(of="information") of a separated fit ({res.separation}): use {instead}')
        basis = estimate.basis
        F, q = triangular_inverse(estimate.root), self.model._likelihood.n_eta
        if basis is not None:
            F = F @ np.kron(np.eye(q), basis)
        return F, res._places if res._cone is None else res._limit.kept

    def _design_factor(self) -> tuple[ndarray, ndarray]:
        res: Any = self
        columns, k = res._columns, len(self.model.exog_names)

        def counted(X, y, trials, offset, weights):
            times = np.ones(X.shape[0]) if trials is None else trials
            return X if len(columns) == k else some_columns(X, columns), times if weights is None else weights * times

        return inflation.design_factor(self.model._rows.blocks().changed(counted)), columns
