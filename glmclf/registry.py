"""Registry of models by name, with their modules and kinds: the one table that all other parts of the package read.

A new model is a line here: saving, `detect_separation`, the shell, scikit-learn and `formula.api` know it from then on.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple


class ModelEntry(NamedTuple):
    """Entry of the registry: module, kind and the field's word of a model.

    Attributes
    ----------
    module : str
    kind : {"binary", "multinomial", "discriminant", "naive_bayes"}
    words : str
        What papers call it.
    """

    module: str
    kind: str
    words: str


MODELS = {
    "Logit": ModelEntry("glmclf.models.binary", "binary", "logistic regression"),
    "Probit": ModelEntry("glmclf.models.binary", "binary", "probit regression"),
    "CLogLog": ModelEntry("glmclf.models.binary", "binary", "complementary log-log regression"),
    "MNLogit": ModelEntry("glmclf.models.multinomial", "multinomial", "multinomial logistic regression"),
    "LDA": ModelEntry("glmclf.models.discriminant", "discriminant", "linear discriminant analysis"),
    "QDA": ModelEntry("glmclf.models.discriminant", "discriminant", "quadratic discriminant analysis"),
    "NaiveBayes": ModelEntry("glmclf.models.naive_bayes", "naive_bayes", "naive Bayes classification"),
}
REGRESSIONS = ("binary", "multinomial")
GENERATIVE = ("discriminant", "naive_bayes")
LOWER_CASE = {name.lower(): name for name in MODELS}  # spelling of the shell, `formula.api` and `model=`


def names(*kinds: str) -> list[str]:
    """Names of the models of some kinds, of all without any."""
    return [name for name, entry in MODELS.items() if not kinds or entry.kind in kinds]


def lower_case(*kinds: str) -> tuple[str, ...]:
    """Lower-case names of the models of some kinds."""
    return tuple(map(str.lower, names(*kinds)))


def listed(kinds: Sequence[str], last: str = "and") -> str:
    """Names of the models of some kinds as a sentence lists them: "A, B and C"."""
    *first, end = names(*kinds)
    return f"{', '.join(first)} {last} {end}" if first else end


def model_class(name: str) -> Any:
    """Class of a model by its name; imports its module if needed."""
    return getattr(import_module(MODELS[name].module), name)
