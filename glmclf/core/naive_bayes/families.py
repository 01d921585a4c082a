"""The families of naive Bayes by name, and everything that belongs to them, in one place to import from."""

from __future__ import annotations

from glmclf.core.naive_bayes.family import (
    ClassLogs,
    ClassSquares,
    ClassSums,
    Defect,
    Estimates,
    Family,
    Fitted,
    Statistics,
    Violation,
    ZeroCell,
)
from glmclf.core.naive_bayes.gaussian import FittedGaussian, FittedPooledGaussian, GaussianFamily
from glmclf.core.naive_bayes.positive import Exponential, FittedExponential, FittedGamma, FittedPoisson, Gamma, Poisson
from glmclf.core.naive_bayes.tables import Bernoulli, Categorical, FittedMultinomial, FittedTable, MultinomialFamily

__all__ = [
    "Defect",
    "Estimates",
    "Family",
    "Fitted",
    "ClassLogs",
    "ClassSquares",
    "Statistics",
    "ClassSums",
    "Violation",
    "ZeroCell",
    "FittedGaussian",
    "FittedPooledGaussian",
    "GaussianFamily",
    "Exponential",
    "FittedExponential",
    "FittedGamma",
    "FittedPoisson",
    "Gamma",
    "Poisson",
    "Bernoulli",
    "Categorical",
    "FittedMultinomial",
    "FittedTable",
    "MultinomialFamily",
    "FAMILY_CLASSES",
]

FAMILY_CLASSES: dict[str, type[Family]] = {
    "gaussian": GaussianFamily,
    "bernoulli": Bernoulli,
    "categorical": Categorical,
    "multinomial": MultinomialFamily,
    "poisson": Poisson,
    "exponential": Exponential,
    "gamma": Gamma,
}
