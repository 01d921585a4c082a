"""Statistical classification in the statsmodels style: exact likelihoods, honest errors, inference for everything."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from glmclf.models.binary import CLogLog, Logit, Probit
from glmclf.models.multinomial import MNLogit
from glmclf.models.separation import detect_separation
from glmclf.results import saving
from glmclf.results.saving import load

if TYPE_CHECKING:
    from glmclf import datasets as datasets
    from glmclf import formula as formula
    from glmclf import plots as plots
    from glmclf.models.discriminant import LDA, QDA
    from glmclf.models.naive_bayes import NaiveBayes
    from glmclf.results.comparison.compare import compare
    from glmclf.results.pooling import pool
    from glmclf.results.tables.regression_table import regression_table

__version__ = "0.1.0"
__all__ = ["LDA", "QDA", "CLogLog", "Logit", "MNLogit", "NaiveBayes", "Probit"]
__all__ += ["compare", "detect_separation", "load", "pool", "regression_table"]
_LATE = {
    "compare": "glmclf.results.comparison.compare",
    "pool": "glmclf.results.pooling",
    "regression_table": "glmclf.results.tables.regression_table",
}
_submodules = ("datasets", "formula", "plots", "sklearn")


def __getattr__(name: str) -> Any:
    """What nothing above needs, models, functions and submodules, imported when first asked for."""
    if name in _submodules:
        return import_module(f"{__name__}.{name}")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_LATE[name]), name) if name in _LATE else saving.model_class(name)
    return globals().setdefault(name, found)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_submodules})
