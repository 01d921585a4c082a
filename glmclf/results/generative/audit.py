"""Audit of the independence of features within classes, pair by pair."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from glmclf.checks import check_whole
from glmclf.core.numerics.softmax import log_softmax
from glmclf.inference.generative import independence
from glmclf.inference.hypotheses.multiplicity import adjusted_pvalues


def audit(res: Any, most: int | None) -> pd.DataFrame:
    """Most dependent pairs of features of each class."""
    if most is not None:
        check_whole("most", most, 1, "how many pairs of each class (None: all)")
    model, names = res.model, res.model.feature_names
    if len(model.features) < 2:
        raise ValueError("independence_audit() compares features; the model has one")
    if model._sparse:
        raise NotImplementedError("independence_audit() of scipy.sparse features: fit to an array, exog.toarray()")
    r = model._rows.held()
    tests = independence.pair_tests(model._families, r.X.values, r.y, r.weights, model.J)
    holm = adjusted_pvalues(np.array([t.pvalue for t in tests]), "holm")
    rows, labels = [], []
    gains: dict[tuple[int, int], float] = {}
    for k in model._order:
        own = [i for i, t in enumerate(tests) if t.klass == k]
        own.sort(key=lambda i: _strength(tests[i]))
        for i in own[:most]:
            t = tests[i]
            pair = (t.first, t.second)
            if pair not in gains:
                gains[pair] = _gain(res, r, *pair)
            labels.append((model._classes[k], names[t.first], names[t.second]))
            rows.append([t.statistic, t.df, t.pvalue, holm[i], gains[pair]])
    index = pd.MultiIndex.from_tuples(labels, names=["level", "feature", "other"])
    columns = ["statistic", "df", "pvalue", "pvalue_holm", "llf_conditional_change"]
    return pd.DataFrame(rows, index=index, columns=columns)


def _strength(t: independence.PairTest) -> tuple[float, float]:
    """Sort key of pairs: p-value, then statistic; untested pairs last."""
    return (2.0, 0.0) if np.isnan(t.pvalue) else (t.pvalue, -t.statistic)


def _gain(res: Any, r: Any, first: int, second: int) -> float:
    """Change of the conditional log-likelihood if the pair is modelled jointly."""
    extra = independence.joined(res._fit, r.X.values, r.y, r.weights, first, second)
    if extra is None:
        return np.nan
    own = log_softmax(res._fit.log_joint(r.X.values) + np.nan_to_num(extra, nan=-np.inf))[np.arange(len(r.y)), r.y]
    return float(own.sum() if r.weights is None else r.weights @ own) - res.llf_conditional
