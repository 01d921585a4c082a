"""``import glmclf.formula.api as smf``: models from formulas by their lower-case names."""

from __future__ import annotations

from typing import Any

import glmclf

__all__ = ["cloglog", "lda", "logit", "mnlogit", "naivebayes", "probit", "qda"]


def logit(formula: str, data: Any, *args: Any, **keywords: Any) -> glmclf.Logit:
    """`Logit.from_formula`.

    Parameters
    ----------
    formula, data, *args, **keywords
        As there.

    Returns
    -------
    Logit

    Examples
    --------
    >>> import glmclf.formula.api as smf
    >>> from glmclf import datasets
    >>> smf.logit("GRADE ~ GPA", datasets.load("spector")).fit().params.round(3)
    Intercept   -9.703
    GPA          2.840
    dtype: float64
    """
    return glmclf.Logit.from_formula(formula, data, *args, **{"eval_env": 1, **keywords})


def probit(formula: str, data: Any, *args: Any, **keywords: Any) -> glmclf.Probit:
    """`Probit.from_formula`; see `logit`."""
    return glmclf.Probit.from_formula(formula, data, *args, **{"eval_env": 1, **keywords})


def cloglog(formula: str, data: Any, *args: Any, **keywords: Any) -> glmclf.CLogLog:
    """`CLogLog.from_formula`; see `logit`."""
    return glmclf.CLogLog.from_formula(formula, data, *args, **{"eval_env": 1, **keywords})


def mnlogit(formula: str, data: Any, *args: Any, **keywords: Any) -> glmclf.MNLogit:
    """`MNLogit.from_formula`; see `logit`."""
    return glmclf.MNLogit.from_formula(formula, data, *args, **{"eval_env": 1, **keywords})


def lda(formula: str, data: Any, *args: Any, **keywords: Any) -> glmclf.LDA:
    """`LDA.from_formula`; see `logit`."""
    return glmclf.LDA.from_formula(formula, data, *args, **{"eval_env": 1, **keywords})


def qda(formula: str, data: Any, *args: Any, **keywords: Any) -> glmclf.QDA:
    """`QDA.from_formula`; see `logit`."""
    return glmclf.QDA.from_formula(formula, data, *args, **{"eval_env": 1, **keywords})


def naivebayes(formula: str, data: Any, *args: Any, **keywords: Any) -> glmclf.NaiveBayes:
    """`NaiveBayes.from_formula`; see `logit`."""
    return glmclf.NaiveBayes.from_formula(formula, data, *args, **{"eval_env": 1, **keywords})
