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
    from glmclf.models.discriminant import LDA, QDA
    from glmclf.models.naive_bayes import NaiveBayes

__version__ = "0.1.0"
__all__ = ["LDA", "QDA", "CLogLog", "Logit", "MNLogit", "NaiveBayes", "Probit", "detect_separation", "load"]
_submodules = ("datasets", "formula")


def __getattr__(name: str) -> Any:
    """LDA, QDA, NaiveBayes and submodules that nothing above needs, which are imported when first asked for."""
    if name in _submodules:
        return import_module(f"{__name__}.{name}")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, saving.model_class(name))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_submodules})
