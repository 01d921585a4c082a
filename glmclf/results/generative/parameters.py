"""Names and covariance of the natural parameters of naive Bayes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.naive_bayes.fit import NaiveBayesFit, Parameter
from glmclf.data.reading.features import Feature

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


def parameter_covariance(fit: NaiveBayesFit, parameters: Sequence[Parameter], at: ndarray) -> ndarray:
    """Covariance of the natural parameters `at` some places: features and classes are independent."""
    V = np.diag([parameters[i].se ** 2 for i in at])
    if fit.priors_free:
        odds = np.flatnonzero(at < fit.K - 1)
        V[np.ix_(odds, odds)] += (1 - np.eye(len(odds))) / fit.prior_counts[0]
    row, inside = {int(i): j for j, i in enumerate(at)}, Counter[tuple[int, int]]()
    places: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)  # row of V, place within its feature
    for i, p in enumerate(parameters):
        if p.feature is not None and p.klass is not None:
            key = p.feature, p.klass
            if i in row:
                places[key].append((row[i], inside[key]))
            inside[key] += 1
    start = 0
    for fitted in fit.features:
        for j in range(fitted.family.p):
            for k in range(fit.K):
                if len(places[start + j, k]) > 1:
                    here, within = (np.array(some) for some in zip(*places[start + j, k], strict=True))
                    V[np.ix_(here, here)] += _beside_diagonal(fitted, k, within)
        start += fitted.family.p
    return V


def _beside_diagonal(fitted: Any, k: int, at: ndarray) -> ndarray | float:
    """Covariances of parameters `at` some places of a feature in one class, 0 on the diagonal."""
    if fitted.family.name in ("categorical", "multinomial"):
        theta = np.where(fitted.cells[k] > 0, fitted.theta[k], np.nan)[at]
        V = -np.outer(theta, theta) / fitted.n[k, 0]
    elif fitted.family.name == "gamma":
        V = -fitted.class_covariance()[k, 0, 1:, 1:][np.ix_(at, at)]  # covariance of shape and -rate
    else:
        return 0.0
    V[np.diag_indices(len(V))] = 0.0
    return V
