"""The families of naive Bayes by name, and everything that belongs to them, in one place to import from."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy import ndarray

from glmclf.core.naive_bayes.family import (
    ClassLogs,
    ClassSquares,
    ClassSums,
    Defect,
    Estimates,
    Family,
    Fitted,
    SparseSums,
    Statistics,
    Violation,
    ZeroCell,
)
from glmclf.core.naive_bayes.gaussian import FittedGaussian, FittedPooledGaussian, GaussianFamily
from glmclf.core.naive_bayes.positive import Exponential, FittedExponential, FittedGamma, FittedPoisson, Gamma, Poisson
from glmclf.core.naive_bayes.sparse import FittedSparseBernoulli, FittedSparsePoisson, SparseBernoulli, SparsePoisson
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
    "FittedSparseBernoulli",
    "FittedSparsePoisson",
    "SparseBernoulli",
    "SparsePoisson",
    "SparseSums",
    "FAMILY_CLASSES",
    "OUTSIDE",
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

# which values are those that the reason of a `Violation` is about
OUTSIDE: dict[str, Callable[[ndarray], ndarray]] = {
    "infinite values": np.isinf,
    "negative values": lambda v: v < 0,
    "negative counts": lambda v: v < 0,
    "values that are not positive": lambda v: v <= 0,
    "values other than 0 and 1": lambda v: (v != 0) & (v != 1) & ~np.isnan(v),
    "values that are not whole numbers": lambda v: np.isfinite(v) & (v != np.floor(v)),
    "counts that are not whole numbers": lambda v: np.isfinite(v) & (v != np.floor(v)),
}
