"""Naive Bayes: families of features, the fit of all of them, the implied logit."""
