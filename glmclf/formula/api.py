"""``import glmclf.formula.api as smf``: models from formulas by their lower-case names."""

from __future__ import annotations

from typing import Any

from glmclf.models import binary, discriminant, multinomial, naive_bayes

__all__ = ["cloglog", "lda", "logit", "mnlogit", "naivebayes", "probit", "qda"]


def logit(formula: str, data, *args: Any, **keywords: Any) -> binary.Logit:
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
    return binary.Logit.from_formula(formula, data, *args, **{"eval_env": 1, **keywords})


def probit(formula: str, data, *args: Any, **keywords: Any) -> binary.Probit:
    """`Probit.from_formula`; see `logit`."""
    return binary.Probit.from_formula(formula, data, *args, **{"eval_env": 1, **keywords})


def cloglog(formula: str, data, *args: Any, **keywords: Any) -> binary.CLogLog:
    """`CLogLog.from_formula`; see `logit`."""
    return binary.CLogLog.from_formula(formula, data, *args, **{"eval_env": 1, **keywords})


def mnlogit(formula: str, data, *args: Any, **keywords: Any) -> multinomial.MNLogit:
    """`MNLogit.from_formula`; see `logit`."""
    return multinomial.MNLogit.from_formula(formula, data, *args, **{"eval_env": 1, **keywords})


def lda(formula: str, data, *args: Any, **keywords: Any) -> discriminant.LDA:
    """`LDA.from_formula`; see `logit`."""
    return discriminant.LDA.from_formula(formula, data, *args, **{"eval_env": 1, **keywords})


def qda(formula: str, data, *args: Any, **keywords: Any) -> discriminant.QDA:
    """`QDA.from_formula`; see `logit`."""
    return discriminant.QDA.from_formula(formula, data, *args, **{"eval_env": 1, **keywords})


def naivebayes(formula: str, data, *args: Any, **keywords: Any) -> naive_bayes.NaiveBayes:
    """`NaiveBayes.from_formula`; see `logit`."""
    return naive_bayes.NaiveBayes.from_formula(formula, data, *args, **{"eval_env": 1, **keywords})
