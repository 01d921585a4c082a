"""Statistical classification in the statsmodels style: exact likelihoods, honest errors, inference for everything."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from glmclf import registry

__version__ = "0.1.0"
if TYPE_CHECKING:
    from glmclf import datasets as datasets
    from glmclf import formula as formula
    from glmclf import plots as plots
    from glmclf.data.formula.rowwise import rowwise as rowwise
    from glmclf.models.binary import *  # noqa: F403
    from glmclf.models.discriminant import *  # noqa: F403
    from glmclf.models.multinomial import *  # noqa: F403
    from glmclf.models.naive_bayes import *  # noqa: F403
    from glmclf.models.separation import detect_separation as detect_separation
    from glmclf.reports.write import report as report
    from glmclf.results.comparison.compare import compare as compare
    from glmclf.results.comparison.regression_table import regression_table as regression_table
    from glmclf.results.pooling import pool as pool
    from glmclf.results.saving import load as load
else:  # type checkers take all names above
    _functions = ("compare", "detect_separation", "load", "pool", "regression_table", "report", "rowwise")
    __all__ = [*registry.names(), *_functions]
_LATE = {
    "compare": "glmclf.results.comparison.compare",
    "detect_separation": "glmclf.models.separation",
    "load": "glmclf.results.saving",
    "pool": "glmclf.results.pooling",
    "regression_table": "glmclf.results.comparison.regression_table",
    "report": "glmclf.reports.write",
    "rowwise": "glmclf.data.formula.rowwise",
}
_submodules = ("datasets", "errors", "formula", "plots", "sklearn")
_layers = ("checks", "caching", "core", "inference", "data", "results", "models", "reports")


def __getattr__(name: str) -> Any:
    """Import models, functions and submodules when first asked for."""
    if name in _submodules or name in _layers:
        return import_module(f"{__name__}.{name}")
    if name not in _LATE and name not in registry.MODELS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_LATE[name]), name) if name in _LATE else registry.model_class(name)
    return globals().setdefault(name, found)


def __dir__() -> list[str]:
    return sorted({*globals()["__all__"], *_submodules, *(name for name in globals() if name.startswith("__"))})
