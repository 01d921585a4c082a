"""Estimated densities of the features of naive Bayes, and the parameters of each feature."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.special import chdtrc

from glmclf.core.naive_bayes.family import is_sparse
from glmclf.data.table.frame import close_to
from glmclf.errors import DataError
from glmclf.results.generative.parameters import PARAMETER_WORDS

MAX_NAMED = 6  # values, zero cells, or features, that a message spells out


def conditionals(res: Any) -> dict[str, pd.DataFrame]:
    """Tables by feature: a row a level of the response, columns (parameter, "estimate" or "se")."""
    model, order = res.model, res.model._order
    K, columns = len(res.levels), dict[str, dict[tuple[Any, str], ndarray]]()
    for p in res._parameters:
        if p.feature is None:
            continue
        feature = model.features[p.feature]
        leveled = feature.kind in ("codes", "counts")
        word = feature.word(p.level) if leveled else PARAMETER_WORDS.get(p.name, p.name)
        own = columns.setdefault(feature.name, {})
        for what, value in (("estimate", p.value), ("se", p.se)):
            into = own.setdefault((word, what), np.empty(K))
            into[slice(None) if p.klass is None else p.klass] = value
    index = pd.Index(res.levels, dtype=object)
    heads: dict[tuple[Any, ...], pd.MultiIndex] = {}  # many features have the same parameters, and making one is slow

    def table(own: dict[tuple[str, str], ndarray]) -> pd.DataFrame:
        if (names := tuple(own)) not in heads:
            heads[names] = pd.MultiIndex.from_tuples(names)
        values = np.column_stack([v[order] for v in own.values()])
        return pd.DataFrame(values, index=index, columns=heads[names])

    return {name: table(own) for name, own in columns.items()}


def place_of(res: Any, feature: Any) -> int:
    """Place of a feature; the error of an unknown one lists the features."""
    if feature not in res.feature_names:
        raise DataError(f'"{feature}" is no feature of the model. {close_to(str(feature), res.feature_names)}')
    return res.feature_names.index(feature)


def density(res: Any, name: str, values: Any) -> pd.DataFrame:
    """Densities of one feature, a column a level."""
    j = place_of(res, name)
    feature = res.model.features[j]
    if feature.kind != "numbers":
        raise NotImplementedError(f'density() of "{name}", which is {feature.family}: its table is in conditionals')
    x = np.asarray(values, dtype=float)
    if x.ndim != 1:
        raise ValueError(f"density() takes values (n,) of one feature; these have shape {x.shape}")
    index = pd.Index(x)
    res.model._check_domain(j, x, index)
    f = np.exp(res._fit.alone(j).features[0].log_density(x))
    f[np.isnan(x)] = np.nan
    return res._by_level(f, index)


def summary_features(res: Any) -> pd.DataFrame:
    """Table of the features for the summary, a row each."""
    fit, features = res._fit, res.model.features
    statistic, df = fit.likelihood_ratios()
    if res.model._pseudo:
        statistic = np.full(len(statistic), np.nan)
    families = [f for f in fit.families for _ in range(f.p)]
    observed = fit.observed.sum(axis=0)
    zeros, notes = Counter(z.feature for z in fit.zero_cells()), []
    for j, feature in enumerate(features):
        words = ["joint table"] if len(feature.factors) > 1 and feature.kind == "codes" else []
        if families[j].name == "gaussian" and families[j].pooled:
            words.append("one variance")
        if feature.kind == "codes":
            words.append(f"{feature.cells} level{'s' if feature.cells > 1 else ''}")
        zero = zeros[j]
        words += [f"{zero} zero cell{'s' if zero > 1 else ''}"] if zero else []
        notes.append(", ".join(words))
    return pd.DataFrame(
        {
            "family": [feature.family for feature in features],
            "params": [f.k_params(fit.K) // f.p for f in families],
            "observed": observed,
            "LR": statistic,
            "df": df,
            "pvalue": np.where(np.isnan(statistic), np.nan, chdtrc(df, np.maximum(np.nan_to_num(statistic), 0.0))),
            "note": notes,
        },
        index=pd.Index(res.feature_names, dtype=object),
    )


def is_missing(v: ndarray) -> ndarray:
    """Mask of the rows that lack a feature."""
    if is_sparse(v):
        return np.zeros(v.shape[0], dtype=bool)
    if v.dtype.kind in "iu":
        return v == -1
    return np.isnan(v) if v.ndim == 1 else np.isnan(v).any(axis=1)


def impossible_because(res: Any, values: Sequence[ndarray]) -> str:
    """Which values give rows the probability 0 in every class, and what to do: the end of a sentence."""
    fit, features = res._fit, res.model.features
    found: dict[str, str] = {}
    for start, law, v in zip(fit.starts, fit.features, fit.packed(values)):
        if is_sparse(v):
            found |= _never_of_sparse(features[start : start + law.family.p], law, v)
        elif np.isneginf(law.log_density(v)).all(axis=1).any():
            for j in range(start, start + law.family.p):
                zero = np.isneginf(fit.alone(j).log_joint(values[j : j + 1])).all(axis=1)
                words = _never(res, j, values[j][zero])
                found |= dict.fromkeys(words, features[j].family)
    if set(found.values()) <= {"gaussian", "gamma", "exponential"} and (found or not fit.zero_cells()):
        advice = "The values are too far out for a density above 0: check the units"
    elif set(found.values()) <= {"poisson"} and all(cell.level is None for cell in fit.zero_cells()):
        advice = "Leave out the features whose rate is 0 in a class"
    else:
        advice = "Use smoothing=.5"
    shown = "; ".join([*list(found)[:MAX_NAMED], *(["..."] if len(found) > MAX_NAMED else [])])
    return f"{shown and f' ({shown})'}: the posterior is NaN. {advice}"


def _never_of_sparse(features: Sequence[Any], law: Any, v: Any) -> dict[str, str]:
    """Values of sparse columns that have probability 0 in every class, in words, with their family."""
    block = features[0].kind == "counts"
    names = [features[0].word(j) for j in range(v.shape[1])] if block else [f.name for f in features]
    some = np.bincount(v.indices, minlength=v.shape[1])
    if features[0].family == "bernoulli":
        never = {f"{names[j]} = 1": j for j in np.flatnonzero((law.ones == 0).all(axis=0) & (some > 0))}
        never |= {f"{names[j]} = 0": j for j in np.flatnonzero((law.zeros == 0).all(axis=0) & (some < v.shape[0]))}
    else:
        rates = law.cells if block else law.mean
        never = {f"{names[j]} > 0": j for j in np.flatnonzero((rates == 0).all(axis=0) & (some > 0))}
    return dict.fromkeys(never, features[0].family)


def _never(res: Any, j: int, v: ndarray) -> list[str]:
    """Values of a feature that have probability 0 in every class, in words."""
    feature, model = res.model.features[j], res.model
    if not len(v):
        return []
    if feature.kind == "counts":
        zero = (res._fit.alone(j).features[0].cells == 0).all(axis=0)
        return [f"{feature.word(l)} > 0" for l in np.flatnonzero(zero & (v > 0).any(axis=0)).tolist()]
    if feature.kind == "numbers":
        known = [feature.word(int(x)) for x in np.unique(v)] if feature.family == "bernoulli" else np.unique(v).tolist()
        return [f"{feature.name} = {x}" for x in known]
    unused = model._design.factors[feature.factors[0]].unused if len(feature.factors) == 1 else ()
    return [
        f"{feature.name} = {feature.word(c) if c >= 0 else unused[-2 - c] if unused else 'a level without rows'}"
        for c in np.unique(v).tolist()
    ]


def totals(model: Any) -> dict[str, list[list[float]]]:
    """Totals of each block of counts and how often they occur."""
    places = [j for j, feature in enumerate(model.features) if feature.kind == "counts"]
    if not places:
        return {}

    def part(X: Any, y: ndarray, trials: None, offset: None, weights: ndarray | None) -> _Totals:
        found = [X.values[j] for j in places]
        seen = [~is_missing(v) for v in found]
        w = np.ones(len(y)) if weights is None else weights
        return _Totals([_counted(v[s].sum(axis=1), w[s]) for v, s in zip(found, seen)])

    found = model._rows.blocks().sum(part).tables
    return {model.features[j].name: [values.tolist(), counts.tolist()] for j, (values, counts) in zip(places, found)}


def _counted(values: ndarray, weights: ndarray) -> tuple[ndarray, ndarray]:
    """Distinct values and the sum of the weights of each."""
    distinct, place = np.unique(values, return_inverse=True)
    return distinct, np.bincount(np.ravel(place), weights, len(distinct))


class _Totals:
    """Frequencies of the totals of blocks of counts; ``a + b`` adds them up."""

    def __init__(self, tables: list[tuple[ndarray, ndarray]]):
        self.tables = tables

    def __add__(self, other: _Totals) -> _Totals:
        pairs = zip(self.tables, other.tables)
        return _Totals([_counted(*(np.concatenate(both) for both in zip(a, b))) for a, b in pairs])
