"""Tests of nonlinear functions of the parameters, by the delta method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.special import chdtrc

from glmclf.caching import cached_property
from glmclf.core.rows.asked import under_usual_errors
from glmclf.errors import escaped
from glmclf.inference.hypotheses import nonlinear, wald
from glmclf.inference.hypotheses.nonlinear import NonlinearFunction
from glmclf.inference.hypotheses.records import WaldTest, f_tail
from glmclf.results.hypotheses.linear import respelled
from glmclf.results.tables.frames import notebook


@under_usual_errors
class NonlinearTest:
    """Test of nonlinear functions of the parameters, with delta-method standard errors.

    Attributes
    ----------
    estimate, se : Series
        Values f(b) and their standard errors sqrt(g' V g), g the gradient, by the text of each function.
    null : Series
        Values under the hypotheses.
    statistic, pvalue : Series
        (f(b) - null) / se, and its two-sided p-value.
    gradient : DataFrame
        A row a function, a column a parameter.
    df : float or None
        Degrees of freedom of Student's t; None for the normal distribution.
    """

    def __init__(
        self,
        found: list[NonlinearFunction],
        se: ndarray,
        covariance: ndarray,
        joint: Callable[[], float],
        df: float | None,
        parameters: pd.Index,
    ):
        """`joint` gives the chi-squared statistic of all hypotheses."""
        index = pd.Index([f.text for f in found], dtype=object)
        self.estimate = pd.Series([f.value for f in found], index=index)
        self.null = pd.Series([f.null for f in found], index=index)
        self.se, self.df, self._statistic = pd.Series(se, index=index), df, joint
        self.gradient = pd.DataFrame([f.gradient for f in found], index=index, columns=parameters)
        self._covariance = covariance

    @cached_property
    def joint(self) -> WaldTest:
        """Joint test of all hypotheses: statistic (chi-squared, or F with Student's t), pvalue, df.

        ValueError where the covariance has not the rank to test so many.
        """
        statistic, J = self._statistic(), len(self.se)
        if self.df is None:
            return WaldTest(statistic, float(chdtrc(J, statistic)), J)
        return WaldTest(statistic / J, float(f_tail(statistic / J, J, self.df)), J)

    @property
    def statistic(self) -> pd.Series:
        """Distance to the hypothesis in standard errors."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return ((self.estimate - self.null) / self.se).where(self.se > 0)

    @property
    def pvalue(self) -> pd.Series:
        """Two-sided p-values."""
        return pd.Series(wald.z_pvalues(self.statistic, self.df), index=self.estimate.index)

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Intervals f(b) -/+ z se: columns 0 and 1."""
        ends = wald.intervals(self.estimate, self.se, alpha, self.df)
        return pd.DataFrame(ends, index=self.estimate.index, columns=[0, 1])

    def cov_params(self) -> pd.DataFrame:
        """Covariance of the functions, G V G'."""
        index = self.estimate.index
        return pd.DataFrame(self._covariance.copy(), index=index, columns=index)

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Table of coef, std err, z (or t), its p-value and the interval, a row a function."""
        z, p = ("z", "P>|z|") if self.df is None else ("t", "P>|t|")
        ends = self.conf_int(alpha)
        columns = (self.estimate, self.se, self.statistic, self.pvalue, ends[0], ends[1])
        names = ("coef", "std err", z, p, "Conf. Int. Low", "Conf. Int. Upp.")
        return pd.DataFrame(dict(zip(names, columns, strict=True)))

    def __repr__(self) -> str:
        return escaped("\n".join([self.summary_frame().to_string(), *self._foot]))

    @property
    def _foot(self) -> list[str]:
        """Line about the joint test for the summary; empty for a single hypothesis."""
        if len(self.se) < 2:
            return []
        try:
            t = self.joint
        except ValueError as error:
            return [f"no joint test: {error}"]
        kind = f"chi2({t.df})" if self.df is None else f"F({t.df}, {self.df:g})"
        return [f"joint test: {kind} = {t.statistic:.6g}, p-value {t.pvalue:.4g}"]

    def _repr_html_(self) -> str:
        return notebook(self.summary_frame(), *self._foot)


def nonlinear_test(res: Any, hypothesis: str | list[str], use_t: bool | None) -> NonlinearTest:
    """Estimates, standard errors and tests of `WaldInference.nonlinear_test`."""
    found = _read(hypothesis, res)
    G = np.array([f.gradient for f in found])
    distance = np.array([f.value - f.null for f in found])
    _, V, R = res._coordinates(G)

    def joint() -> float:
        nonlinear.check_independent(found)
        res._check_joint(G)
        return wald.joint_statistic(np.zeros(len(V)), V, R, -distance, rank=res._rank)

    se = wald.standard_errors(R, V)
    return NonlinearTest(found, se, R @ V @ R.T, joint, res._df(use_t), res._param_index)


def _read(hypothesis: Any, res: Any) -> list[NonlinearFunction]:
    names = res._param_names
    texts = [hypothesis] if isinstance(hypothesis, str) else hypothesis
    if not isinstance(texts, (list, tuple)) or not texts or not all(isinstance(t, str) for t in texts):
        raise ValueError(
            f'{hypothesis!r} is no function of parameters: give text as "{names[-1]} / {names[0]} = 1", or a list'
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"the names {twice} stand for several parameters, so that text cannot tell them apart")
    texts = respelled(list(texts), names, res._param_index)
    return [f for text in texts for f in nonlinear.functions(text, names, res._theta)]
