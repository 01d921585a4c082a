"""Whether results are of the same observations, so that their likelihoods compare."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.results.estimates import Kept


def is_joint(res: Any) -> bool:
    """Whether llf is that of the response and the features, not of the response given them."""
    return hasattr(res, "llf_conditional")


def check_result(res: Any, what: str) -> None:
    """TypeError for what is no fit of a model."""
    if not isinstance(res, Kept):
        raise TypeError(f"{what} needs results of fits, found {type(res).__name__}")


def check_likelihoods(a: Any, b: Any, what: str, names: tuple[str, str] = ("this fit", "the other")) -> None:
    """ValueError unless the log-likelihoods of two fits are of the same kind and of the same observations."""
    for res, name in zip((a, b), names, strict=True):
        if res.model._pseudo:
            raise ValueError(
                f"{what}: sampling weights or fractions make the log-likelihood of {name} a pseudo-likelihood, which "
                "does not compare. Compare predictions instead"
            )
        if res._short:
            raise ValueError(f"{what}: {name} did not converge, so that its log-likelihood is no maximum")
    if is_joint(a) != is_joint(b):
        joint, other = names if is_joint(a) else names[::-1]
        raise ValueError(
            f"{what}: the log-likelihood of {joint} is joint, of response and features, that of {other} is of the "
            "response given the regressors. Use compare_conditional() of the generative fit, or its llf_conditional"
        )
    differ = different_data(a, b)
    if differ:
        raise ValueError(
            f"{what}: {names[0]} and {names[1]} are of different data (their {', '.join(differ)} differ). Fit both to "
            "the same rows: drop rows with missing values of either first, for example with data.dropna()"
        )
    if is_joint(a):
        _check_features(a, b, what, names)


def different_data(a: Any, b: Any) -> list[str]:
    """What two fits do not share of response, trials and weights."""
    if a.nobs != b.nobs:
        return [f"numbers of observations, {a.nobs:g} and {b.nobs:g},"]
    one, two = a._fingerprint, b._fingerprint
    if one["weights"] != two["weights"]:
        return ["weights"]
    if sorted(coded_levels(a)) != sorted(coded_levels(b)):
        return ["levels"]
    differ = [name for name in ("response", "trials") if one[name] != two[name]]
    coded_alike = coded_levels(a) == coded_levels(b)
    if coded_alike and not differ:
        return []
    if a.model._rows_ is None or b.model._rows_ is None:
        alike = coded_alike and type(a.model) is type(b.model)
        return differ if alike else ["responses, which cannot be told as rows were removed or not saved,"]
    x, y = _cells(a), _cells(b)
    return [] if x.shape == y.shape and np.array_equal(x, y) else ["response"]


def coded_levels(res: Any) -> list[str]:
    """The levels of the response in the order of their codes, the reference or the level that is no event first."""
    model = res.model
    levels = model._classes if hasattr(model, "_classes") else model._response.levels
    return [str(level) for level in levels]


def _cells(res: Any) -> ndarray:
    """Observations of each level in each row, the levels in a fixed order."""
    r, K = res.model._rows, len(coded_levels(res))
    if hasattr(res.model, "_cells"):
        cells = res.model._cells
    else:
        cells = (r.y[:, None] == np.arange(K)) * (1.0 if r.weights is None else r.weights[:, None])
    return np.asarray(cells, dtype=float)[:, np.argsort(coded_levels(res))]


def _check_features(a: Any, b: Any, what: str, names: tuple[str, str]) -> None:
    """ValueError unless two joint likelihoods are of the same variables, in densities or in probabilities."""
    one, two = measures(a), measures(b)
    if one != two:
        apart = [name for name in {**one, **two} if one.get(name) != two.get(name)]
        differ = [f"{name}: {one.get(name, 'absent')}; {two.get(name, 'absent')}" for name in apart]
        raise ValueError(
            f"{what}: {names[0]} and {names[1]} are joint likelihoods of different variables ({', '.join(differ)}): "
            "densities of one variable do not compare with those of another, nor with probabilities. term_tests() "
            "tests features; llf_conditional compares the posteriors"
        )
    if a.model._rows_ is None or b.model._rows_ is None:
        return
    x, y = a.model.exog, b.model.exog
    if x.shape == y.shape and not np.array_equal(x.astype(float), y.astype(float), equal_nan=True):
        raise ValueError(f"{what}: the features of {names[0]} and {names[1]} have the same names and other values")


def measures(res: Any) -> dict[str, str]:
    """Each feature of a generative model, and whether it has a density or a probability."""
    features = getattr(res.model, "features", None)
    if features is None:
        return dict.fromkeys(res.feature_names, "density")
    densities = ("gaussian", "exponential", "gamma")
    return {f.name: "density" if f.family in densities else "probability" for f in features}
