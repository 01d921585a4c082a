"""Interoperability of results: the attributes by which other packages recognise and tabulate a result."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Self

from glmclf.results.requires import requires


class NamesStatsmodels(type):
    """Metaclass of results that names statsmodels in the class's repr, where marginaleffects looks for it."""

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__qualname__}' (statsmodels-style results)>"


class _Parent:
    """Placeholder for statsmodels' class until somebody has loaded statsmodels."""


def _adopted() -> bool:
    """Make statsmodels' class the parent of results where it is loaded; whether that was to be done."""
    loaded = sys.modules.get("statsmodels.base.wrapper")
    wrapper = getattr(loaded, "ResultsWrapper", None)  # None while the module is being loaded
    if wrapper is None or StatsmodelsStyle.__bases__ != (_Parent,):
        return False
    StatsmodelsStyle.__bases__ = (wrapper,)
    return True


class StatsmodelsStyle(_Parent):
    """Base class of results with one equation, in the form in which other packages read statsmodels' results.

    The parent is statsmodels' ResultsWrapper, which is how stargazer knows results, once that class is loaded: nobody
    can ask for it before. Nothing is wrapped: attributes are plain ones.
    """

    __getattribute__ = object.__getattribute__
    __dir__ = object.__dir__

    def __new__(cls, *_: Any, **__: Any) -> Self:
        _adopted()
        return object.__new__(cls)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __reduce_ex__(self, protocol: Any) -> Any:
        _adopted()  # before pickle reads `__class__`, which has to be the class itself
        return object.__reduce_ex__(self, protocol)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """Class of the result; `isinstance`, which reads this where the parents are others, sees the new parent."""
        cls: Any = type(self)
        if not _adopted():
            return cls
        return type(cls)(cls.__name__, (cls,), {name: getattr(cls, name) for name in ("__module__", "__qualname__")})

    @property
    @requires()
    def default_model_infos(self) -> dict[str, Callable[[Any], str]]:
        """Lines that statsmodels' `summary_col` puts below the coefficients."""
        return {
            "Observations": lambda res: f"{res.nobs:.15g}",
            "Log-likelihood": lambda res: f"{res.llf:.4f}",
            "Pseudo R-squared": lambda res: f"{res.prsquared:.4f}",
            "AIC": lambda res: f"{res.aic:.4f}",
            "BIC": lambda res: f"{res.bic:.4f}",
        }
