"""Names and covariance of the natural parameters of naive Bayes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.naive_bayes.fit import NaiveBayesFit, Parameter
from glmclf.data.reading.features import Feature
from glmclf.results.generative.implied_logit import MAX_FORMED

PARAMETER_WORDS = {"variance": "var", "p": "prob"}


def parameter_names(model: Any, parameters: Sequence[Parameter]) -> list[str]:
    """Names of parameters: ``mean[class, x]``, ``prob[class, x=level]`` and the like."""
    out = []
    for p in parameters:
        inside = [] if p.klass is None else [str(model._classes[p.klass])]
        if p.feature is not None:
            inside.append(_subject(model.features[p.feature], p))
        out.append(f"{PARAMETER_WORDS.get(p.name, p.name)}[{', '.join(inside)}]")
    return out


def _subject(feature: Feature, p: Parameter) -> str:
    if feature.kind == "counts":
        return feature.word(p.level or 0)
    return f"{feature.name}={feature.word(p.level or 0)}" if feature.kind == "codes" else feature.name


def parameter_covariance(fit: NaiveBayesFit, parameters: Sequence[Parameter]) -> ndarray:
    """Covariance of the natural parameters: features and classes are independent."""
    if len(parameters) > MAX_FORMED:
        raise ValueError(
            f"the covariance matrix of {len(parameters)} parameters is not formed; the largest is {MAX_FORMED}. bse "
            "has their standard errors"
        )
    V = np.diag([p.se**2 for p in parameters])
    if fit.priors_free:
        odds = np.arange(fit.K - 1)
        V[np.ix_(odds, odds)] += (1 - np.eye(fit.K - 1)) / fit.prior_counts[0]
    places: dict[tuple[int, int], list[int]] = {}
    for i, p in enumerate(parameters):
        if p.feature is not None and p.klass is not None:
            places.setdefault((p.feature, p.klass), []).append(i)
    start = 0
    for fitted in fit.features:
        for j in range(fitted.family.p):
            for k in range(fit.K):
                at = places[start + j, k]
                if len(at) > 1:
                    V[np.ix_(at, at)] += _beside_diagonal(fitted, k)
        start += fitted.family.p
    return V


def _beside_diagonal(fitted: Any, k: int) -> ndarray | float:
    """Covariances of a feature's parameters in one class, 0 on the diagonal."""
    if fitted.family.name in ("categorical", "multinomial"):
        theta = np.where(fitted.cells[k] > 0, fitted.theta[k], np.nan)
        V = -np.outer(theta, theta) / fitted.n[k, 0]
    elif fitted.family.name == "gamma":
        V = -fitted.class_covariance()[k, 0, 1:, 1:]  # covariance of shape and -rate
    else:
        return 0.0
    V[np.diag_indices(len(V))] = 0.0
    return V
