"""``import glmclf.formula.api as smf``: models from formulas by their lower-case names."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import glmclf
from glmclf import registry

EXAMPLE = """

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


def _function(lower: str, name: str) -> Callable[..., Any]:
    """Create the function of a model's lower-case name, which calls `from_formula`."""

    def of_formula(formula: str, data: Any, *args: Any, **keywords: Any) -> Any:
        return getattr(glmclf, name).from_formula(formula, data, *args, **{"eval_env": 1, **keywords})

    of_formula.__name__ = of_formula.__qualname__ = lower
    of_formula.__annotations__["return"] = f"glmclf.{name}"
    of_formula.__doc__ = f"`{name}.from_formula`" + ("." + EXAMPLE if lower == "logit" else "; see `logit`.")
    return of_formula


if TYPE_CHECKING:
    logit = glmclf.Logit.from_formula
    probit = glmclf.Probit.from_formula
    cloglog = glmclf.CLogLog.from_formula
    mnlogit = glmclf.MNLogit.from_formula
    lda = glmclf.LDA.from_formula
    qda = glmclf.QDA.from_formula
    naivebayes = glmclf.NaiveBayes.from_formula
else:
    __all__ = sorted(registry.LOWER_CASE)
    globals().update({lower: _function(lower, name) for lower, name in registry.LOWER_CASE.items()})
