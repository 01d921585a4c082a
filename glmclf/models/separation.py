"""Detection of separation before any fit."""

from __future__ import annotations

import sys
from typing import Any

from glmclf import registry
from glmclf.models.base import Model
from glmclf.models.inputs import names_of_caller
from glmclf.results.separation import Separation


def detect_separation(
    formula: Any, data: Any, model: str | type[Model] = "logit", **keywords: Any
) -> Separation | None:
    """Detect separation: outcomes told apart by the regressors, so that some coefficients have infinite estimates.

    Decided by linear programs on the directions along which the likelihood never falls (Albert & Anderson 1984, Konis
    2007); no estimate is needed, though of many rows and columns a fit begins and leads there sooner.

    Parameters
    ----------
    formula : str or array_like
        The model's formula; or the response, with its regressors (the constant included) as `data`.
    data : DataFrame, path, callable, dask DataFrame or array_like
        The table, or what is read in parts, as of `from_formula`; or the regressors.
    model : {"logit", "probit", "cloglog", "mnlogit"} or class
        All binary models are separated alike.
    **keywords
        Of the model's class (`event`, `reference`, `freq_weights`, `missing`, ...) or, with a formula, of its
        `from_formula`.

    Returns
    -------
    Separation or None
        Which coefficients are infinite and in which direction, and which rows (of data in parts: how many) it decides;
        None where the maximum likelihood estimate exists. Columns that are combinations of others are left out.

    Raises
    ------
    DataError
        Input that the model cannot use.
    PerfectSeparationError
        Rows in a stream are separated, and too many bound the directions: which signs they take is not found out.
    EstimationError
        Rounding leaves open whether rows in a stream are separated.
    ValueError
        Another `model`.

    References
    ----------
    Albert & Anderson (1984), Biometrika 71, 1-10. Konis (2007), Linear programming algorithms for detecting separated
    data in binary logistic regression models, thesis, University of Oxford.

    Examples
    --------
    >>> import glmclf
    >>> from glmclf import datasets
    >>> spector = datasets.load("spector")
    >>> glmclf.detect_separation("GRADE ~ GPA + PSI", spector) is None
    True
    >>> spector["above"] = spector.GPA > 2.8
    >>> print(glmclf.detect_separation("GRADE ~ above + PSI", spector.assign(GRADE=spector.GRADE * spector.above)))
    quasi-complete separation of GRADE: "Intercept" (-inf), "above[T.True]" (inf); 8 of 32 rows
    """
    cls = _class(model)
    if not isinstance(formula, str):
        return cls(formula, data, **keywords)._detect()  # type: ignore[call-arg]
    frame = sys._getframe(1 + keywords.pop("eval_env", 0))
    names = names_of_caller(frame, keywords.get("trusted", True))
    return cls._from_formula(formula, data, names, **keywords)._detect()


def _class(model: str | type[Model]) -> type[Model]:
    if isinstance(model, type) and issubclass(model, Model):
        return model
    known = registry.lower_case(*registry.REGRESSIONS)
    if not isinstance(model, str) or model.lower() not in known:
        words = ", ".join(f'"{name}"' for name in known)
        raise ValueError(f"model={model!r}: choose {words} or one of these classes")
    return registry.model_class(registry.LOWER_CASE[model.lower()])
