"""What each term adds to the linear predictor, and partial residuals about it."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.rows.blocks import Blocks
from glmclf.results.regression.levels import times_of


class PartialResiduals:
    """Results whose linear predictor is a sum of terms."""

    model: Any

    def components(self) -> pd.DataFrame:
        """What each term adds to the linear predictor of each row, less its mean over the rows.

        R's predict(type="terms"). Against the variable of the term it is the curve or line that the model has there.

        Returns
        -------
        DataFrame
            By the index of the rows of the fit, a column a term but the constant; of several classes columns (level,
            term), for each level with an equation. ``attrs["constant"]`` is what is left: the mean of the linear
            predictor without the offset. Means are of rows as frequency weights repeat them; counts and sampling
            weights do not enter, as in R. Columns that were left out add nothing. A term with an infinite coefficient
            is NaN.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("GRADE ~ GPA + PSI", datasets.load("spector")).fit()
        >>> res.components().head(2).round(3)
             GPA    PSI
        0 -1.401 -1.023
        1 -0.696 -1.023
        """
        res, r = cast(Any, self), self.model._rows
        theta = res._theta if res._omitted is None else np.where(res._omitted, 0.0, res._theta)
        theta = theta.reshape(len(self.model.exog_names), -1, order="F")
        terms = self._terms_of_columns()
        parts = [self._parts(A.toarray(), theta, terms) for (A,) in Blocks(r.X)]
        values = np.concatenate(parts)  # (n, q, terms)
        times = times_of(r, self.model._frequency)
        mean = np.einsum("i,iqt->qt", times / times.sum(), values)
        values -= mean
        table = pd.DataFrame(values.reshape(len(r), -1), index=r.index, columns=self._columns_of(list(terms)))
        constant = self._constant_part(theta) + mean.sum(axis=1)
        table.attrs["constant"] = constant.tolist() if len(constant) > 1 else float(constant[0])
        return table

    def resid_partial(self) -> pd.DataFrame:
        """Partial residuals: what each term adds, plus the working residual.

        R's residuals(type="partial"). Against the variable of the term a smooth through them shows the shape that the
        data ask for (Landwehr, Pregibon & Shoemaker 1984); weigh it by the working weights, m p (1 - p) with a Logit.

        Returns
        -------
        DataFrame
            By row; columns as of `components`.

        References
        ----------
        Landwehr, Pregibon & Shoemaker (1984), Graphical methods for assessing logistic regression models, JASA 79,
        61-71.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("GRADE ~ GPA + PSI", datasets.load("spector")).fit()
        >>> res.resid_partial().head(2).round(3)
             GPA    PSI
        0 -2.432 -2.054
        1 -1.760 -2.087
        """
        if getattr(self, "symmetric", False):
            raise NotImplementedError("resid_partial() with symmetric=True: its equations have no working residuals")
        table = self.components()
        working = np.asarray(self.resid_working)  # type: ignore[attr-defined]
        working = working[:, None] if working.ndim == 1 else working
        n_terms = table.shape[1] // working.shape[1]
        return table + np.repeat(working, n_terms, axis=1)

    def _partial_weights(self) -> pd.DataFrame:
        """What each row weighs in a smooth through its partial residuals: one over the variance of `resid_working`, a
        column an equation; infinite residuals weigh nothing. Weights of the rows count.

        Of one equation m f(eta)^2 / (p (1 - p)); of several m / (1/p_j + 1/p_0), 0 the reference.
        """
        res, r = cast(Any, self), self.model._rows
        m = np.ones(len(r)) if r.trials is None else np.asarray(r.trials, dtype=float)
        m = m if r.weights is None else m * r.weights / self.model._unit
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.model._likelihood.n_eta == 1 and not hasattr(self.model, "_equations"):
                p, f = np.asarray(res.fittedvalues), self.model.link.pdf(res._eta)
                w = pd.DataFrame({self.model.endog_names: m * f * f / (p * (1 - p))}, index=r.index)
            else:
                p = res.fittedvalues
                w = pd.DataFrame({k: m / (1 / p[k] + 1 / p[self.model.reference]) for k in self.model._equations})
        return w.where(np.isfinite(np.asarray(res.resid_working).reshape(w.shape)) & np.isfinite(w), 0.0)

    def _terms_of_columns(self) -> dict[str, ndarray]:
        """Columns of each term, without the constant."""
        constant, k = self.model._constant_column(), len(self.model.exog_names)
        terms = {name: np.arange(k)[part] for name, part in self.model._design.terms.items()}
        return {name: c for name, c in terms.items() if not (len(c) == 1 and c[0] == constant)}

    @staticmethod
    def _parts(A: ndarray, theta: ndarray, terms: dict[str, ndarray]) -> ndarray:
        out = np.empty((len(A), theta.shape[1], len(terms)))
        for t, columns in enumerate(terms.values()):
            b = theta[columns]
            known = np.isfinite(b)
            out[:, :, t] = np.where(known.all(axis=0), A[:, columns] @ np.where(known, b, 0.0), np.nan)
        return out

    def _constant_part(self, theta: ndarray) -> ndarray:
        j = self.model._constant_column()
        if j is None:
            return np.zeros(theta.shape[1])
        return theta[j] * float(self.model._rows.X.subset(np.array([0])).toarray()[0, j])

    def _columns_of(self, terms: list[str]) -> pd.Index:
        if self.model._likelihood.n_eta == 1 and not hasattr(self.model, "_equations"):
            return pd.Index(terms, dtype=object)
        levels = getattr(self, "_table_levels", self.model._equations)
        return pd.MultiIndex.from_product([levels, terms], names=["level", "term"])
