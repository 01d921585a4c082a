"""Likelihood ratio tests of nested joint distributions of classes and features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.checks import known_names
from glmclf.core.naive_bayes.families import ClassSums
from glmclf.data.reading.features import Feature
from glmclf.inference.hypotheses import wald
from glmclf.results.comparison.comparability import (
    check_likelihoods,
    check_values,
    different_data,
    matched,
)
from glmclf.results.generative.record import _arrays, _cells
from glmclf.results.requires import Needs, check_needs

NESTED_COVARIANCES = ["spherical", "diag", "full"]  # kinds of covariance matrices, each a special case of the next


def lr_test(larger: Any, smaller: Any) -> wald.LRTest:
    """Likelihood ratio test of two nested joint distributions of classes and features, fitted to the same data."""
    own, other = (getattr(res, "_joint_law", None) for res in (larger, smaller))
    if other is None:
        models = "LDA, QDA or NaiveBayes" if own == "normal" else "NaiveBayes, LDA or QDA"
        raise TypeError(
            f"compare_lr_test needs a fit of {models}, found {type(smaller).__name__}: joint likelihoods "
            "do not compare with conditional ones; use compare_conditional"
        )
    if own != other:
        return _normal_and_independent(larger, smaller)
    for which, res in (("this", larger), ("restricted", smaller)):
        check_needs(res, f"compare_lr_test ({which} model)", Needs.LIKELIHOOD)
        if own == "independent" and res._smoothed:
            raise ValueError(f"compare_lr_test needs maxima of the likelihood: the model ({which}) has smoothing=")
    differ = different_data(larger, smaller)
    if differ:
        raise ValueError(f"the two models were fitted to different data: their {', '.join(differ)} differ")
    if own == "normal" and {*larger.feature_names} != {*smaller.feature_names}:
        raise ValueError(
            f"the models have different features ({known_names(larger.feature_names)}; "
            f"{known_names(smaller.feature_names)}): densities of other variables do not compare. term_tests() tests "
            "features"
        )
    check_values(larger, smaller, "compare_lr_test()")
    _check_priors(larger, smaller)
    df = larger.k_params - smaller.k_params
    if own == "normal":
        _check_covariances(_gaussian_law(larger), _gaussian_law(smaller), df)
    else:
        _check_nested(larger, smaller)
        if df <= 0:
            raise ValueError("the restricted model has no fewer parameters than this one")
    return wald.lr_test(larger.llf, smaller.llf, int(df))


def _normal_and_independent(larger: Any, smaller: Any) -> wald.LRTest:
    """Test of two fits of which one is naive Bayes, with normal features, and the other a discriminant analysis."""
    check_likelihoods(larger, smaller, "compare_lr_test()", ("this fit", "the restricted one"))
    laws = []
    for res, which in ((larger, "this"), (smaller, "the restricted")):
        found = normal_law(res)
        if found is None:
            raise ValueError(
                f"compare_lr_test: {which} model ({type(res.model).__name__}) has no normal law with the maximum of "
                "the likelihood: features of other families or with missing values, or smoothing="
            )
        laws.append(found)
    _check_priors(larger, smaller)
    df = int(larger.k_params - smaller.k_params)
    _check_covariances(laws[0], laws[1], df)
    return wald.lr_test(larger.llf, smaller.llf, df)


# ------------------------------------------------------------------------------------------------- normal features
def normal_law(res: Any) -> tuple[str, bool] | None:
    """Kind of the covariance of normal features, and whether the classes share it; None of other features."""
    if not res._maximum:
        return None
    if not hasattr(res.model, "features"):
        return _gaussian_law(res)
    normal = all(f.family == "gaussian" for f in res.model.features)
    whole = (res.observed.sum() == res.nobs).all()
    return ("diag", res.model._options["pooled"]) if normal and whole else None


def _gaussian_law(res: Any) -> tuple[str, bool]:
    """Kind of the covariance of a discriminant analysis, and whether the classes share it."""
    return res._mle.kind, res._mle.pooled


def holds(a: tuple[str, bool], b: tuple[str, bool]) -> bool:
    """Whether a covariance structure a = (kind, shared) includes structure b as a special case."""
    return NESTED_COVARIANCES.index(b[0]) <= NESTED_COVARIANCES.index(a[0]) and (b[1] or not a[1])


def _check_covariances(a: tuple[str, bool], b: tuple[str, bool], df: float) -> None:
    """Raise ValueError unless covariance structure b is a special case of a with fewer parameters."""
    if not holds(a, b) or df <= 0:
        one, two = (f"{kind}, {'pooled' if pooled else 'by class'}" for kind, pooled in (a, b))
        raise ValueError(f"a covariance that is {two} is not nested in one that is {one}")


# ------------------------------------------------------------------------------------------------- priors, classes
def _check_priors(larger: Any, smaller: Any) -> None:
    """Raise ValueError unless the larger model, whose priors are free if estimated, can have the smaller one's."""
    if larger._priors_free and not smaller._priors_free and not larger.model._options["prior_smoothing"]:
        return
    if smaller._priors_free and not larger._priors_free:
        raise ValueError(
            "one model has fixed priors, the other estimated ones: the restricted one, with estimated priors, is not "
            "nested in this one"
        )
    one, two = (res.priors.reindex(res.model._classes).to_numpy() for res in (larger, smaller))
    if not np.allclose(one, two[matched(larger, smaller)], rtol=1e-10):
        priors = f"{larger.priors.to_dict()}; {smaller.priors.to_dict()}"
        raise ValueError(f"the models have different priors ({priors}): neither contains the other")


# --------------------------------------------------------------------------------------------- independent features
def _pieces(feature: Feature) -> list[str]:
    """Components of a feature, in a spelling independent of the formula's."""
    pieces = list(feature.variables or feature.factors)
    return pieces if len(pieces) > 1 or not feature.place else [f"{pieces[0]}[{feature.place}]"]


def _is_table(feature: Feature) -> bool:
    return feature.family in ("bernoulli", "categorical")


def _check_nested(larger: Any, smaller: Any) -> None:
    """Check that each feature of the larger model is made of features of the smaller one, with equal values."""
    rest = dict(enumerate(smaller.model.features))
    for j, feature in enumerate(larger.model.features):
        own = set(_pieces(feature))
        inside = [i for i, f in rest.items() if set(_pieces(f)) <= own]
        covered = set().union(*(_pieces(smaller.model.features[i]) for i in inside)) if inside else set()
        if covered != own:
            raise ValueError(
                f'"{feature.name}" is not made of features of the restricted model '
                f"({known_names(smaller.feature_names)}): densities of other variables do not compare. term_tests() "
                "tests features"
            )
        for i in inside:
            _check_same(larger, j, smaller, i)
            del rest[i]
    if rest:
        names = [f.name for f in rest.values()]
        raise ValueError(f"the restricted model has features that this one lacks ({names}): it is not nested in it")


def _check_same(larger: Any, j: int, smaller: Any, i: int) -> None:
    """Check that the larger family equals or contains the smaller one, and that the values are equal."""
    a, b = larger.model.features[j], smaller.model.features[i]
    one, two = larger._fit.alone(j), smaller._fit.alone(i)
    classes = matched(larger, smaller)
    if _is_table(a) and _is_table(b):
        same = np.array_equal(_margin(a, one.statistics[0], b), two.statistics[0].sums[classes])
    elif (a.family, b.family) == ("gamma", "exponential"):
        s, t = one.statistics[0], two.statistics[0]
        means = t.sums[classes, 0] / t.n[classes]
        same = np.array_equal(s.n, t.n[classes]) and np.allclose(s.mean, means, rtol=1e-9)
    elif a.family == b.family:
        if getattr(one.families[0], "pooled", False) and not two.families[0].pooled:
            raise ValueError(f'"{a.name}" has one variance in this model and one a class in the restricted one')
        pairs = list(zip(_arrays(one.statistics[0]), _arrays(two.statistics[0])))[:3]  # the first three are by class
        same = all(_close(u, v[classes]) for u, v in pairs)
    else:
        raise ValueError(f'"{a.name}": {b.family} in the restricted model is not nested in {a.family}')
    if not same:
        raise ValueError(
            f'"{a.name}" and "{b.name}" have not seen the same values: where some are missing a joint table uses fewer '
            'rows. Fit both with missing="drop"'
        )


def _close(u: ndarray, v: ndarray) -> bool:
    return np.shape(u) == np.shape(v) and np.allclose(u, v, rtol=1e-9, atol=1e-12 * float(np.abs(u).max(initial=0.0)))


def _margin(feature: Feature, statistics: ClassSums, part: Feature) -> ndarray:
    """Margin of a table: counts (K, cells) summed to the cells of a part; empty where the part lacks a cell."""
    at = [_pieces(feature).index(name) for name in _pieces(part)]
    place = {cell: j for j, cell in enumerate(_cells(part))}
    into = [place.get(tuple(cell[i] for i in at), -1) for cell in _cells(feature)]
    if min(into) < 0:
        return np.empty(0)
    counts = statistics.sums.reshape(-1, len(into))
    table = np.zeros((len(place), len(counts)))
    np.add.at(table, into, counts.T)
    return table.T
