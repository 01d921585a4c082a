"""The public model classes: collect inputs, call the layers, return results."""

from glmclf.results.saving import MODELS

MODELS |= {
    **dict.fromkeys(["Logit", "Probit", "CLogLog"], "glmclf.models.binary"),
    "MNLogit": "glmclf.models.multinomial",
    **dict.fromkeys(["LDA", "QDA"], "glmclf.models.discriminant"),
    "NaiveBayes": "glmclf.models.naive_bayes",
}
