"""Statistical classification in the statsmodels style: exact likelihoods, honest errors, inference for everything."""

from glmclf.models.binary import CLogLog, Logit, Probit
from glmclf.models.discriminant import LDA, QDA
from glmclf.models.multinomial import MNLogit
from glmclf.models.naive_bayes import NaiveBayes
from glmclf.models.separation import detect_separation
from glmclf.results.saving import load

__version__ = "0.1.0"
__all__ = ["LDA", "QDA", "CLogLog", "Logit", "MNLogit", "NaiveBayes", "Probit", "detect_separation", "load"]
