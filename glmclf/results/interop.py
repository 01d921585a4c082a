"""Interoperability of results: the attributes by which other packages recognise and tabulate a result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from glmclf.results.requires import requires


class NamesStatsmodels(type):
    """Metaclass of results that names statsmodels in the class's repr, where marginaleffects looks for it."""

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__qualname__}' (statsmodels-style results)>"


class _Parent:
    """Placeholder for statsmodels' class until the first result, as `import glmclf` does not load statsmodels."""


class StatsmodelsStyle(_Parent):
    """Base class of results with one equation, in the form in which other packages read statsmodels' results.

    The first result makes statsmodels' ResultsWrapper the parent, which is how stargazer knows results; nothing is
    wrapped: attributes are plain ones.
    """

    __getattribute__ = object.__getattribute__
    __dir__ = object.__dir__

    def __new__(cls, *_: Any, **__: Any) -> Self:
        if StatsmodelsStyle.__bases__ == (_Parent,):
            from statsmodels.base.wrapper import ResultsWrapper

            StatsmodelsStyle.__bases__ = (ResultsWrapper,)
        return object.__new__(cls)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

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
