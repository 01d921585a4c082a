"""Whether one joint law of classes and features holds another, of whatever class of models the two are."""

from __future__ import annotations

from typing import Any

import numpy as np

from glmclf.inference.hypotheses import wald
from glmclf.results.comparison.comparability import check_likelihoods, coded_levels, matching

LAWS = ["spherical", "diag", "full"]


def lr_test(larger: Any, smaller: Any) -> wald.LRTest:
    """Likelihood ratio test of a normal law nested in another, where one of the two is naive Bayes."""
    check_likelihoods(larger, smaller, "compare_lr_test()", ("this fit", "the restricted one"))
    laws = []
    for res, which in ((larger, "this"), (smaller, "the restricted")):
        found = law(res)
        if found is not None:
            laws.append(found)
        else:
            raise ValueError(
                f"compare_lr_test: {which} model ({type(res.model).__name__}) has no normal law with the maximum of "
                "the likelihood: features of other families or with missing values, or smoothing="
            )
    check_priors(larger, smaller)
    df = int(larger.k_params - smaller.k_params)
    if not holds(laws[0], laws[1]) or df <= 0:
        raise ValueError(f"a covariance that is {words(laws[1])} is not nested in one that is {words(laws[0])}")
    return wald.lr_test(larger.llf, smaller.llf, df)


def law(res: Any) -> tuple[str, bool] | None:
    """Shape of the covariance of normal features, and whether the classes share it; None of other features."""
    if not res._maximum:
        return None
    if not hasattr(res.model, "features"):
        return of_normals(res)
    normal = all(f.family == "gaussian" for f in res.model.features)
    whole = (res.observed.sum() == res.nobs).all()
    return ("diag", res.model._options["pooled"]) if normal and whole else None


def of_normals(res: Any) -> tuple[str, bool]:
    """The same of LDA and QDA."""
    return res._mle.kind, res._mle.pooled


def holds(a: tuple[str, bool], b: tuple[str, bool]) -> bool:
    """Whether a law of shape and sharing a holds those of b."""
    return LAWS.index(b[0]) <= LAWS.index(a[0]) and (b[1] or not a[1])


def check_priors(larger: Any, smaller: Any) -> None:
    """ValueError unless the larger model can have the priors of the smaller one: estimated ones can be any."""
    if larger._priors_free and not smaller._priors_free and not larger.model._options["prior_smoothing"]:
        return
    if smaller._priors_free and not larger._priors_free:
        raise ValueError(
            "one model has fixed priors, the other estimated ones: the restricted one, with estimated priors, is not "
            "nested in this one"
        )
    one, two = (res.priors.reindex(res.model._classes).to_numpy() for res in (larger, smaller))
    places = matching(larger, smaller) or [coded_levels(smaller).index(name) for name in coded_levels(larger)]
    if not np.allclose(one, two[places], rtol=1e-10):
        priors = f"{larger.priors.to_dict()}; {smaller.priors.to_dict()}"
        raise ValueError(f"the models have different priors ({priors}): neither contains the other")


def words(found: tuple[str, bool]) -> str:
    """What a covariance is."""
    return f"{found[0]}, {'pooled' if found[1] else 'by class'}"
