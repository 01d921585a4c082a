"""Checks of the laws that generative models give to the features: their shape, covariances and independence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.special import gammainc, ndtr, ndtri, pdtr

from glmclf.checks import check_choice
from glmclf.inference.generative import laws
from glmclf.inference.generative.covariances import class_roots, log_determinant
from glmclf.inference.hypotheses.wald import critical_value
from glmclf.inference.residuals.uniform import kolmogorov_smirnov
from glmclf.results.base import times_of
from glmclf.results.performance.findings import (
    FINE,
    LOOK,
    LOOK_P,
    P_SAYS,
    PROBLEM,
    SMALL_DISTANCE,
    UNLESS_CLOSE,
    Finding,
    Inspection,
    check_rows,
    holm,
    judged,
    p_words,
    tested,
    up_to,
)
from glmclf.results.requires import Needs, check_needs
from glmclf.results.tables.numbers import value_text

BOX_P = 0.001  # Box's M finds small differences, and departures from normality
STRONG_DEPENDENCE = 0.3  # informational correlation of a pair of features, a medium one in Cohen's terms
CURVES = 3  # features whose densities are kept to be drawn, those farthest from their data
NOUNS = {"gaussian": "normal", "gamma": "gamma", "exponential": "exponential", "poisson": "Poisson"}
LEAST_OF_CLASS = 5  # of a class, for a test of its law
MAX_PAIR_NUMBERS = 2e9  # pairs of features times rows, beyond which the audit is left out
UNUSUAL = 0.05  # expected number of rows unlike every class, in all


def generative_only(c: Inspection, panel: str, *needs: str) -> Any:
    """The result, if it is of a generative model that has what the panel needs."""
    if not hasattr(c.results, "discriminant"):
        raise NotImplementedError(
            f"{panel} is of LDA, QDA and NaiveBayes; {type(c.results.model).__name__} has no laws"
        )
    for name in needs:
        if not hasattr(c.results, name):
            kind = "NaiveBayes" if name == "conditionals" else "LDA and QDA"
            raise NotImplementedError(f"{panel} is of {kind}; this is {type(c.results.model).__name__}")
    return c.results


# ---------------------------------------------------------------------------------------------------------- features
class FeatureLaw(NamedTuple):
    """Law of a number, with the values of the rows.

    Attributes
    ----------
    name, family : str
    x : (n,) ndarray
        NaN where missing.
    parameters : dict
        By level; of a normal law mean and standard deviation.
    pooled : bool
        Whether the classes share the standard deviation: their rows are then compared together.
    """

    name: str
    family: str
    x: ndarray
    parameters: dict[Any, tuple[float, ...]]
    pooled: bool


def features(c: Inspection) -> list[Finding]:
    """Distances of the features' laws from their data, in each class or, with one variance, in all."""
    res = generative_only(c, "features")
    check_rows(res)
    weights = res.model._rows.weights
    w = np.ones(len(res.model._rows)) if weights is None else np.asarray(weights, dtype=float)
    of = _naive_bayes_laws(res) if hasattr(res, "conditionals") else _normal_laws(res)
    rows = [row for law in of for row in _rows_of(res, law, w)]
    if not rows:
        raise ValueError("features: none is a number that has a law with a shape: shares of categories fit exactly")
    table = pd.DataFrame(rows, columns=["feature", "family", "level", "n", "distance", "pvalue"])
    table["pvalue_holm"] = holm(table.pvalue.to_numpy())
    order = table.assign(judged=np.where(table.distance < SMALL_DISTANCE, 1.0, table.pvalue_holm))
    worst = order.sort_values(["judged", "distance"], ascending=[True, False], kind="stable")
    names = list(dict.fromkeys(worst.feature))
    drawn = [] if hasattr(res, "conditionals") else names[:CURVES]  # naive Bayes has density()
    curves = {law.name: _densities(law) for law in of if law.name in drawn}
    c.drawn["features"] = {"table": table, "order": names, "curves": curves}
    row = worst.iloc[0]
    D, p = float(row.distance), float(row.pvalue_holm)
    where = "" if row.level is None else f" in {value_text(row.level)}"
    words = f"{row.feature} {up_to(D)} from {NOUNS[row.family]}{where} ({p_words(p)})"
    source = "Lilliefors 1967; Stephens 1974; of counts Fisher 1925"
    return [tested("features", words, D, p, D < SMALL_DISTANCE, f"{P_SAYS} by Holm's method{UNLESS_CLOSE}", source)]


def _rows_of(res: Any, law: FeatureLaw, w: ndarray) -> list[tuple[Any, ...]]:
    """Feature, family, level (None for all), observations, distance and p-value."""
    y, frequency = res.model._rows.y, res.model._frequency
    classes = list(zip(res.levels, res.model._order))
    parts: list[tuple[Any, ndarray, tuple[float, ...], ndarray]]
    if law.pooled:
        centre = np.array([law.parameters[level][0] for level, _ in sorted(classes, key=lambda pair: pair[1])])
        parts = [(None, law.x - centre[y], (0.0, law.parameters[res.levels[0]][1]), w > 0)]
    else:
        parts = [(level, law.x, law.parameters[level], (w > 0) & (y == k)) for level, k in classes]
    found = []
    for level, x, parameters, own in parts:
        own = own & np.isfinite(x)
        if own.sum() >= LEAST_OF_CLASS:
            found.append((law.name, law.family, level, *_distance(x[own], w[own], law.family, parameters, frequency)))
    return found


def _normal_laws(res: Any) -> list[FeatureLaw]:
    """Laws of the features of LDA and QDA."""
    law, X = res._law, res._values(None)[0]
    found = []
    for j, name in enumerate(res.feature_names):
        of: dict[Any, tuple[float, ...]] = {
            level: (float(law.means[k, j]), float(np.sqrt(law.dispersion(k).variances[j])))
            for level, k in zip(res.levels, res.model._order)
        }
        found.append(FeatureLaw(name, "gaussian", np.asarray(X[:, j], dtype=float), of, law.pooled))
    return found


def _densities(law: FeatureLaw) -> pd.DataFrame:
    """Normal densities over the range of the rows and 3.5 standard deviations about each mean, a column a level."""
    ends = [mean + s * sd for mean, sd in law.parameters.values() for s in (-3.5, 3.5)]
    at = np.linspace(min(*ends, np.nanmin(law.x)), max(*ends, np.nanmax(law.x)), 301)
    density = {
        level: np.exp(-0.5 * ((at - mean) / sd) ** 2) / (sd * np.sqrt(2 * np.pi))
        for level, (mean, sd) in law.parameters.items()
    }
    return pd.DataFrame(density, index=at)


def _naive_bayes_laws(res: Any) -> list[FeatureLaw]:
    """Laws of the numbers of naive Bayes."""
    if res.model._sparse:
        raise NotImplementedError("features of scipy.sparse features: fit to an array, exog.toarray()")
    values, tables, found = res._values(None)[0], res.conditionals, []
    for feature, x in zip(res.model.features, values):
        if feature.kind != "numbers" or feature.family == "bernoulli":
            continue
        t = tables[feature.name].xs("estimate", axis=1, level=1)
        names = {"gaussian": ("mean", "var"), "gamma": ("shape", "rate")}.get(feature.family, ("rate",))
        of: dict[Any, tuple[float, ...]]
        of = {level: tuple(float(t.loc[level, name]) for name in names) for level in res.levels}
        pooled = feature.family == "gaussian" and bool(res.model._options["pooled"])
        if feature.family == "gaussian":
            of = {level: (mean, float(np.sqrt(var))) for level, (mean, var) in of.items()}
        found.append(FeatureLaw(feature.name, feature.family, np.asarray(x, dtype=float), of, pooled))
    return found


def _distance(
    x: ndarray, w: ndarray, family: str, law: tuple[float, ...], frequency: bool
) -> tuple[float, float, float]:
    """Observations, distance and p-value of one class."""
    n = float(w.sum()) if frequency else float(w.sum() ** 2 / (w @ w))
    if family == "poisson":
        if not law[0] > 0:
            return n, 0.0, np.nan
        D = laws.distance(x, w, pdtr(x, law[0]), np.where(x > 0, pdtr(np.maximum(x - 1, 0), law[0]), 0.0))
        return n, D, laws.dispersion_test(x, w * n / w.sum(), law[0])[1]
    if family == "gaussian":
        F = ndtr((x - law[0]) / law[1])
    elif family == "gamma":
        F = gammainc(law[0], law[1] * x)
    else:
        F = -np.expm1(-law[0] * x)
    D = laws.distance(x, w, F)
    return n, D, laws.pvalue_of_distance(D, n, family, law[0])


# --------------------------------------------------------------------------------------------------------- distances
def distances(c: Inspection) -> list[Finding]:
    """Distances of the rows from the mean of their class, as normal quantiles of their exact law."""
    res = generative_only(c, "distances", "typicality")
    check_needs(res, "typicality", Needs.LIKELIHOOD)
    check_rows(res)
    table = res.typicality()
    values = table.to_numpy()[np.arange(len(table)), np.argsort(res.model._order)[res.model._rows.y]]
    t = pd.Series(values, index=table.index).repeat(times_of(res.model._rows, res.model._frequency))
    known = t.dropna()
    if not len(known):
        raise ValueError("distances: classes have too few rows for a law of the distances")
    c.drawn["distances"] = pd.Series(-ndtri(known.to_numpy()), index=known.index)
    u, n = np.sort(known.to_numpy()), len(known)
    D = float(max((np.arange(1, n + 1) / n - u).max(), (u - np.arange(n) / n).max()))
    p = kolmogorov_smirnov(D, n)
    unlike = table.index[table.max(axis=1, skipna=True) < UNUSUAL / len(table)]
    words, says = f"{up_to(D)} from their law ({p_words(p)})", f"Kolmogorov-Smirnov: {P_SAYS}{UNLESS_CLOSE}"
    shape = tested("distances", words, D, p, D < SMALL_DISTANCE, says, "McLachlan 1992, section 6.4")
    named = ", ".join(map(str, unlike[:3])) + ", ..." * (len(unlike) > 3)
    words = f"{len(unlike):,} row{'s' if len(unlike) != 1 else ''} unlike every class"
    words += f" ({named})" if named else ""
    says = f"typicality below {UNUSUAL:g} / rows in every class"
    outliers = Finding("outliers", words, len(unlike), np.nan, LOOK if len(unlike) else FINE, says, shape.source)
    return [shape, outliers]


# ------------------------------------------------------------------------------------------------------- covariances
def covariances(c: Inspection) -> list[Finding]:
    """Box's M, and the log determinants of the classes' covariances with their intervals."""
    res = generative_only(c, "covariances", "boxm_test")
    check_choice("kind", res._law.kind, ("full", "diag", "spherical"))
    test = res.boxm_test()
    moments = res._fitted_classes.moments
    roots = class_roots(moments, "the log determinant is", res._class_roots)
    z, rows = critical_value(c.alpha), []
    for R, n in zip(roots, moments.counts):
        bias, sd = laws.log_determinant_law(float(n), moments.p)
        value = log_determinant(R) - moments.p * np.log(n - 1) - bias
        rows.append((value, value - z * sd, value + z * sd))
    own = pd.DataFrame(
        np.array(rows)[res.model._order], pd.Index(res.levels, dtype=object), ["value", "lower", "upper"]
    )
    c.drawn["covariances"] = own
    p, pooled = float(test["pvalue"]), res._law.pooled
    worse = float(test["M"] - test["df"] * np.log(res.nobs))  # BIC of one covariance less that of one a class
    if pooled:
        verdict = (PROBLEM if worse > 0 else LOOK) if p < BOX_P else FINE
        words = f"Box's M {p_words(p)}"
        words += ", QDA has the lower BIC" if worse > 0 else ", one covariance has the lower BIC"
    else:
        verdict, words = "", f"Box's M {p_words(p)}" + (", LDA might do" if p >= BOX_P else ": they differ")
    says = f"p below {BOX_P:g}; a problem if BIC prefers a covariance for each class. Of QDA no assumption"
    return [Finding("covariances", words, float(test["M"]), p, verdict, says, "Box 1949; Tabachnick & Fidell 2013")]


# ------------------------------------------------------------------------------------------------------ independence
def independence(c: Inspection) -> list[Finding]:
    """Pairs of features that depend on each other within classes, as informational correlations."""
    res = generative_only(c, "independence", "conditionals")
    check_needs(res, "independence_audit", Needs.LIKELIHOOD)
    p = len(res.feature_names)
    if p * (p - 1) / 2 * res.nobs > MAX_PAIR_NUMBERS:
        raise ValueError(f"independence: {p:,} features have too many pairs to look at unasked: independence_audit()")
    audit = res.independence_audit(10)
    n = res.counts.reindex(audit.index.get_level_values("level")).to_numpy(dtype=float)
    audit["correlation"] = np.sqrt(-np.expm1(-np.maximum(audit.statistic.to_numpy(), 0.0) / n))
    audit["certain"] = audit.pvalue_holm < LOOK_P  # before those of a few rows
    order = ["certain", "correlation"]
    strongest = audit.dropna(subset=["correlation"]).sort_values(order, ascending=False, kind="stable")
    if not len(strongest):
        raise ValueError("independence: no pair of features has a test")
    c.drawn["independence"] = strongest
    (level, first, second), row = strongest.index[0], strongest.iloc[0]
    r, pvalue = float(row.correlation), float(row.pvalue_holm)
    words = f"{first} and {second} correlate by {r:.2f} in {value_text(level)}"
    says = f"{P_SAYS} by Holm's method, unless the informational correlation is below {STRONG_DEPENDENCE:g}"
    verdict = judged(pvalue, r < STRONG_DEPENDENCE)
    return [Finding("independence", words, r, pvalue, verdict, says, "Linfoot 1957; Cohen 1988")]


LAW_PANELS: dict[str, Callable[[Inspection], list[Finding]]] = {
    "features": features,
    "distances": distances,
    "covariances": covariances,
    "independence": independence,
}
