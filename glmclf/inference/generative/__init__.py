"""Inference for discriminant analysis and naive Bayes."""
