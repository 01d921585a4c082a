"""Canonical discriminant functions with their names."""

from __future__ import annotations

from typing import Any

import pandas as pd

from glmclf.core.rows.asked import named
from glmclf.errors import escaped
from glmclf.inference.generative.canonical import Canonical
from glmclf.results.tables.frames import notebook


class CanonicalTables:
    """Canonical discriminant functions with their names.

    Attributes
    ----------
    eigenvalues, correlations, proportions : Series
        By function.
    raw, standardised, structure : DataFrame
        Coefficients of x - mean; these times the standard deviation within classes; correlations of features and
        functions within classes. Rows are features, columns functions.
    centroids : DataFrame
        Scores of the class means, a row a level.
    tests : DataFrame
        For each function: are it and all after it zero? Bartlett's chi-squared.
    """

    def __init__(self, found: Canonical, res: Any):
        self._found, self._res = found, res
        functions = pd.Index([f"CAN{j + 1}" for j in range(len(found.eigenvalues))], dtype=object)
        names = res.feature_names
        self.eigenvalues = pd.Series(found.eigenvalues, index=functions)
        self.correlations = pd.Series(found.correlations, index=functions)
        self.proportions = pd.Series(found.proportions, index=functions)
        self.raw, self.standardised, self.structure = (
            pd.DataFrame(a, index=names, columns=functions) for a in (found.raw, found.standardised, found.structure)
        )
        rows = pd.Index(res.levels, dtype=object)
        self.centroids = pd.DataFrame(found.centroids[res.model._order], index=rows, columns=functions)
        columns, tests = ["statistic", "df", "pvalue"], [(t.statistic, t.df, t.pvalue) for t in found.tests]
        self.tests = pd.DataFrame(tests, columns=columns, index=functions[: len(tests)])

    @named
    def scores(self, newdata=None) -> pd.DataFrame:
        """Values of the functions, (x - mean)' raw, by row; NaN for a row with a missing feature.

        Parameters
        ----------
        newdata : DataFrame, array_like, optional
            By default the rows of the fit.

        Returns
        -------
        DataFrame
            A column a function.
        """
        values, index = self._res._values(newdata)
        return pd.DataFrame(self._found.scores(values), index=index, columns=self.eigenvalues.index)

    def _functions(self) -> pd.DataFrame:
        table = pd.DataFrame(
            {"eigenvalue": self.eigenvalues, "proportion": self.proportions, "correlation": self.correlations}
        )
        return table.join(self.tests)

    def __repr__(self) -> str:
        return escaped(f"{self._functions()}\n\nstandardised coefficients\n{self.standardised}")

    def _repr_html_(self) -> str:
        return notebook(self._functions(), "standardised coefficients", self.standardised)
