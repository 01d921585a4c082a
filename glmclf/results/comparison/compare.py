"""Comparison of fits: table of criteria, likelihood ratio tests and Vuong's test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.errors import DataError, InferenceWarning, warn
from glmclf.inference.hypotheses import wald
from glmclf.inference.specification.vuong import vuong
from glmclf.results.comparison.comparability import check_likelihoods, check_result, is_joint
from glmclf.results.requires import Needs, check_needs
from glmclf.results.tables.frames import WholeFrame

MODEL_COLUMNS = ("model", "likelihood", "llf", "parameters", "nobs", "aic", "bic")


def vuong_test(res: Any, other: Any) -> pd.DataFrame:
    """See `ModelComparison.compare_vuong`."""
    check_result(other, "compare_vuong()")
    for fit in (res, other):
        check_needs(fit, "compare_vuong()", Needs.MLE, Needs.FINITE)
    check_likelihoods(res, other, "compare_vuong()")
    larger = _nested(res, other)
    if larger:
        which = "this fit contains" if larger > 0 else "this fit is nested in"
        raise ValueError(
            f"compare_vuong(): {which} the other model, where Vuong's statistic is not normal. Use compare_lr_test"
        )
    first, second = row_loglikelihoods(res), row_loglikelihoods(other)
    r = res.model._rows
    weights = None if r.weights is None else r.blocks().collect(lambda X, y, trials, offset, weights: weights)
    found = vuong(first, second, weights, (float(res._k_counted), float(other._k_counted)))
    index = pd.Index(["uncorrected", "AIC", "BIC"], dtype=object)
    return pd.DataFrame({"statistic": found.statistic, "pvalue": found.pvalue}, index=index)


def row_loglikelihoods(res: Any) -> ndarray:
    """Log-likelihood of one observation of each row, (n,); of counts without the binomial coefficients."""

    def part(X, y, trials, offset, weights) -> ndarray:
        if is_joint(res):
            return res._log_joint(res._values_of(X))[np.arange(len(y)), y]
        eta = res._eta_of(X, offset)
        of_classes = (eta,) if eta.ndim == 1 else (eta[:, 1:], eta[:, :1])
        return res.model._likelihood.pointwise(y, trials, *of_classes)[0]

    return res.model._rows.blocks().collect(part)


def _nested(a: Any, b: Any) -> int:
    """Order of nesting: 1 where a contains b, -1 where b contains a, else 0; DataError where only removed rows tell."""
    for sign, larger, smaller in ((1, a, b), (-1, b, a)):
        if _lr(larger, smaller) is not None:
            return sign
    return 0


def _lr(larger: Any, smaller: Any) -> wald.LRTest | None:
    """Likelihood ratio test of two fits; None where they have none; DataError where only removed rows could tell."""
    if type(larger) is type(smaller) or is_joint(larger) == is_joint(smaller):
        try:
            return larger.compare_lr_test(smaller)
        except DataError:
            raise
        except (ValueError, TypeError, NotImplementedError):
            pass
    return None


def compare(*results: Any, names: Sequence[str] | None = None) -> pd.DataFrame:
    """Compare fits to the same rows: log-likelihoods, AIC and BIC, and tests of nested models.

    Parameters
    ----------
    *results : results
        Two or more fits: of regressions, or of LDA, QDA and NaiveBayes with the same features.
    names : list of str, optional
        What to call them; by default (1), (2), ...

    Returns
    -------
    DataFrame
        A row a fit, in the order given: model (class and formula), likelihood ("conditional": of the response given the
        regressors; "joint": of both), llf, parameters, nobs, aic, bic, what aic and bic are above the smallest one
        (delta_aic, delta_bic), and, where the fit and the one before it are nested, their likelihood ratio test (LR,
        df, pvalue; NaN otherwise).

    Raises
    ------
    TypeError
        Fewer than two fits, or what is none.
    ValueError
        What does not compare: joint with conditional log-likelihoods (`compare_conditional` of the generative fit
        compares those), other rows, responses or weights, other features of generative models, densities with
        probabilities, pseudo-likelihoods, fits that did not converge. The message says which two and what to do.

    Warns
    -----
    InferenceWarning
        Whether two fits are nested cannot be told without rows, which were removed or not saved.

    See Also
    --------
    glmclf.regression_table : Coefficients side by side, of any fits.

    Notes
    -----
    Differences of aic mean the same for models that are not nested (Burnham & Anderson 2002); `compare_vuong` tests
    two of them. Criteria of penalised and smoothed fits count effective parameters. The likelihood ratio of fits with
    bias_reduction="firth" is that of the penalised likelihood.

    References
    ----------
    Burnham & Anderson (2002), Model Selection and Multimodel Inference, chapter 2.

    Examples
    --------
    >>> import glmclf
    >>> from glmclf import Logit, Probit, datasets
    >>> spector = datasets.load("spector")
    >>> small = Logit.from_formula("GRADE ~ GPA", spector).fit()
    >>> large = Logit.from_formula("GRADE ~ GPA + PSI", spector).fit()
    >>> probit = Probit.from_formula("GRADE ~ GPA + PSI", spector).fit()
    >>> table = glmclf.compare(small, large, probit, names=["small", "large", "probit"])
    >>> table[["llf", "parameters", "aic", "delta_aic", "LR", "pvalue"]].round(3)
               llf  parameters     aic  delta_aic     LR  pvalue
    small  -16.209           2  36.418      4.385    NaN     NaN
    large  -13.127           3  32.253      0.220  6.165   0.013
    probit -13.017           3  32.033      0.000    NaN     NaN
    """
    if len(results) < 2:
        for one in results:
            check_result(one, "compare()")
        raise TypeError("compare() needs two fits or more: compare(res1, res2, ...)")
    for res in results:
        check_result(res, "compare()")
    labels = fit_names(names, len(results))
    for i, res in enumerate(results[1:], start=1):
        check_likelihoods(results[0], res, "compare()", (labels[0], labels[i]))
    rows = [_row(res) for res in results]
    table = WholeFrame(rows, columns=[*MODEL_COLUMNS], index=pd.Index(labels, dtype=object))
    for crit in ("aic", "bic"):
        table[f"delta_{crit}"] = table[crit] - table[crit].min()
    pairs = zip(results, results[1:], labels, labels[1:], strict=False)
    tests = [(np.nan, np.nan, np.nan), *(_against(*pair) for pair in pairs)]
    return table.assign(**dict(zip(("LR", "df", "pvalue"), np.array(tests, dtype=float).T, strict=True)))


def fit_names(names: Sequence[str] | None, n: int) -> list[str]:
    """Names of the fits of a table, "(1)", "(2)", ... where none are given; ValueError unless there is one for each."""
    if names is None:
        return [f"({i + 1})" for i in range(n)]
    if isinstance(names, str) or len(names) != n:
        raise ValueError(f"names={names!r}: one name for each of the {n} fits")
    if len({*map(str, names)}) < n:
        raise ValueError(f"names={list(names)} has a name twice")
    return [str(name) for name in names]


def _row(res: Any) -> tuple[Any, ...]:
    kind = type(res.model).__name__
    formula = f": {res.model.formula}" if res.model.formula else ""
    likelihood = "joint" if is_joint(res) else "conditional"
    return f"{kind}{formula}", likelihood, res.llf, res._k_counted, res.nobs, res.aic, res.bic


def _against(before: Any, res: Any, *names: str) -> tuple[float, float, float]:
    """Likelihood ratio test of two fits, whichever contains the other; a warning where nesting is unknown."""
    try:
        test = _lr(res, before) or _lr(before, res)
    except DataError as error:
        warn(f"compare(): no likelihood ratio of {' and '.join(names)}: {error}", InferenceWarning)
        test = None
    return (np.nan, np.nan, np.nan) if test is None else (test.statistic, test.df, test.pvalue)
