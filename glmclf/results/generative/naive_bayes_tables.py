"""Tables of naive Bayes: names and covariance of its parameters, nested models, the audit of independence, columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.special import chdtrc

from glmclf.core.design.columns import Dense
from glmclf.core.gaussian.fit import SingularDispersion, fit_gaussian, log_softmax
from glmclf.core.gaussian.moments import class_moments
from glmclf.core.naive_bayes.families import Family, Logs, Squares, Statistics, Sums
from glmclf.core.naive_bayes.fit import NaiveBayesFit, Parameter, Record, grouped
from glmclf.core.rows.blocks import Blocks
from glmclf.data.reading.features import MISSING_LEVEL, Feature
from glmclf.data.table.frame import close_to
from glmclf.errors import DataError, EstimationError
from glmclf.inference.generative import independence, manova
from glmclf.inference.generative.discriminant import ErrorCounts, ErrorRates, decisions
from glmclf.inference.generative.naive_bayes import log_joint_without
from glmclf.inference.hypotheses import wald
from glmclf.results.comparison.comparability import check_values, different_data
from glmclf.results.generative import discriminant_tables
from glmclf.results.generative import lr_test as nested_laws
from glmclf.results.generative.implied_logit import FORMED, ImpliedLogit, _Blocks
from glmclf.results.requires import Needs, check_needs

SMOOTHED = ("bernoulli", "categorical", "multinomial")
WORDS = {"variance": "var", "p": "prob"}


# ------------------------------------------------------------------------------------------------ implied logit
class ClosedFormCovariance:
    """Covariance of the implied logit, entry by entry."""

    def __init__(self, fit: NaiveBayesFit):
        self._fit = fit

    def variances(self) -> ndarray:
        """(K-1, M)."""
        return self._fit.standard_errors() ** 2

    def block(self, rows: ndarray) -> ndarray:
        """Covariance of some coefficients by flat position."""
        equation, column = np.divmod(np.asarray(rows, dtype=np.intp), self._fit.M)
        columns = np.unique(column)
        at = equation * len(columns) + np.searchsorted(columns, column)
        return self._fit.covariance(columns)[np.ix_(at, at)]


class NaiveBayesLogit(ImpliedLogit):
    """The logit that naive Bayes implies."""

    def __init__(self, *parts: Any, blocks: list[slice]):
        """`blocks` are the columns of each block of counts."""
        super().__init__(*parts)
        self._counts = blocks

    def _tested_terms(self) -> tuple[ndarray, Any, Any, Any]:
        """Of a block of counts differences, as a common shift says nothing about the shares."""
        if not self._counts:
            return super()._tested_terms()
        base = self._bases()
        moved = base < np.arange(len(base))
        theta = np.where(moved, self._theta - self._theta[base], self._theta)
        starts = [block.start for block in self._counts]
        places = np.arange(len(base))
        kept = ~np.isin(places % self.model.K, starts)
        terms = {name: (at := places[where])[kept[at]] for name, where in self.model._terms.items()}
        return theta, _Blocks(lambda at: self._differences(at, base)), terms, None

    def _bases(self) -> ndarray:
        """For each coefficient, the first one of its block of counts in its equation, or itself."""
        base = np.arange(len(self._theta))
        for block in self._counts:
            for start in range(0, len(base), self.model.K):
                base[start + block.start : start + block.stop] = start + block.start
        return base

    def _differences(self, at: ndarray, base: ndarray) -> ndarray:
        """Covariance of some coefficients, each less the first of its block."""
        used = np.union1d(at, base[at])
        R, rows = np.zeros((len(at), len(used))), np.arange(len(at))
        R[rows, np.searchsorted(used, at)] = 1.0
        moved = base[at] < at
        R[rows[moved], np.searchsorted(used, base[at][moved])] = -1.0
        return R @ self._block(used) @ R.T


# ---------------------------------------------------------------------------------------------------- parameters
def level_name(feature: Feature, level: int) -> str:
    """A level of a feature as a name: those of crossed factors joined by a colon."""
    return feature.word(level)


def parameter_names(model: Any, parameters: Sequence[Parameter]) -> list[str]:
    """``mean[class, x]``, ``prob[class, x=level]`` and the like."""
    out = []
    for p in parameters:
        inside = [] if p.klass is None else [str(model._classes[p.klass])]
        if p.feature is not None:
            inside.append(_subject(model.features[p.feature], p))
        out.append(f"{WORDS.get(p.name, p.name)}[{', '.join(inside)}]")
    return out


def _subject(feature: Feature, p: Parameter) -> str:
    if feature.kind == "counts":
        return level_name(feature, p.level or 0)
    return f"{feature.name}={level_name(feature, p.level or 0)}" if feature.kind == "codes" else feature.name


def parameter_covariance(fit: NaiveBayesFit, parameters: Sequence[Parameter]) -> ndarray:
    """Covariance of the natural parameters: features and classes are independent."""
    if len(parameters) > FORMED:
        raise ValueError(
            f"the covariance matrix of {len(parameters)} parameters is not formed; the largest is {FORMED}. bse has "
            "their standard errors"
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
        V = -fitted.class_covariance()[k, 0, 1:, 1:]  # of shape and -rate
    else:
        return 0.0
    V[np.diag_indices(len(V))] = 0.0
    return V


def conditionals(res: Any) -> dict[str, pd.DataFrame]:
    """By feature: a row a level of the response, columns (parameter, "estimate" or "se")."""
    model, order = res.model, res.model._order
    K, columns = len(res.levels), dict[str, dict[tuple[Any, str], ndarray]]()
    for p in res._parameters:
        if p.feature is None:
            continue
        feature = model.features[p.feature]
        leveled = feature.kind in ("codes", "counts")
        word = level_name(feature, p.level) if leveled else WORDS.get(p.name, p.name)
        own = columns.setdefault(feature.name, {})
        for what, value in (("estimate", p.value), ("se", p.se)):
            into = own.setdefault((word, what), np.empty(K))
            into[slice(None) if p.klass is None else p.klass] = value
    index = pd.Index(res.levels, dtype=object)
    return {
        name: pd.DataFrame(
            np.column_stack([v[order] for v in own.values()]), index=index, columns=pd.MultiIndex.from_tuples(own)
        )
        for name, own in columns.items()
    }


def place_of(res: Any, feature: Any) -> int:
    """Place of a feature, or an error that says which there are."""
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
    """A row a feature for the summary."""
    fit, features = res._fit, res.model.features
    statistic, df = fit.likelihood_ratios()
    if res.model._pseudo:
        statistic = np.full(len(statistic), np.nan)
    families = [f for f in fit.families for _ in range(f.p)]
    observed = fit.observed.sum(axis=0)
    notes = []
    for j, feature in enumerate(features):
        words = ["joint table"] if len(feature.factors) > 1 and feature.kind == "codes" else []
        if families[j].name == "gaussian" and families[j].pooled:
            words.append("one variance")
        if feature.kind == "codes":
            words.append(f"{feature.cells} levels")
        zero = sum(z.feature == j for z in fit.zero_cells())
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


# -------------------------------------------------------------------------------------------------- nested models
def lr_test(larger: Any, smaller: Any) -> wald.LRTest:
    """Likelihood ratio test of a naive Bayes model nested in another."""
    if getattr(smaller, "_joint_law", None) == "normal":
        return nested_laws.lr_test(larger, smaller)
    if type(smaller) is not type(larger):
        raise TypeError(
            f"compare_lr_test needs a fit of NaiveBayes, LDA or QDA, found {type(smaller).__name__}: joint likelihoods "
            "do not compare with conditional ones; use compare_conditional"
        )
    for which, res in (("this", larger), ("restricted", smaller)):
        check_needs(res, f"compare_lr_test ({which} model)", Needs.LIKELIHOOD)
        if res._smoothed:
            raise ValueError(f"compare_lr_test needs maxima of the likelihood; the {which} model has smoothing=")
    differ = different_data(larger, smaller)
    if differ:
        raise ValueError(f"the two models were fitted to different data: their {', '.join(differ)} differ")
    check_values(larger, smaller, "compare_lr_test()")
    nested_laws.check_priors(larger, smaller)
    _check_nested(larger, smaller)
    df = larger.k_params - smaller.k_params
    if df <= 0:
        raise ValueError("the restricted model has no fewer parameters than this one")
    statistic = max(2 * (larger.llf - smaller.llf), 0.0)
    return wald.LRTest(statistic, float(chdtrc(df, statistic)), df)


def _pieces(feature: Feature) -> list[str]:
    """What a feature is made of, however the formula writes it."""
    pieces = list(feature.variables or feature.factors)
    return pieces if len(pieces) > 1 or not feature.place else [f"{pieces[0]}[{feature.place}]"]


def _is_table(feature: Feature) -> bool:
    return feature.family in ("bernoulli", "categorical")


def _check_nested(larger: Any, smaller: Any) -> None:
    """Every feature of the larger model must be made of features of the smaller one, on the same values."""
    rest = dict(enumerate(smaller.model.features))
    for j, feature in enumerate(larger.model.features):
        own = set(_pieces(feature))
        inside = [i for i, f in rest.items() if set(_pieces(f)) <= own]
        covered = set().union(*(_pieces(smaller.model.features[i]) for i in inside)) if inside else set()
        if covered != own:
            raise ValueError(
                f'"{feature.name}" is not made of features of the restricted model ({smaller.feature_names}): '
                "densities of other variables do not compare. term_tests() tests features"
            )
        for i in inside:
            _check_same(larger, j, smaller, i)
            del rest[i]
    if rest:
        names = [f.name for f in rest.values()]
        raise ValueError(f"the restricted model has features that this one lacks ({names}): it is not nested in it")


def _check_same(larger: Any, j: int, smaller: Any, i: int) -> None:
    """The family is the same or contains the other, and both have seen the same values."""
    a, b = larger.model.features[j], smaller.model.features[i]
    one, two = larger._fit.alone(j), smaller._fit.alone(i)
    classes = discriminant_tables._matched(larger, smaller)
    if _is_table(a) and _is_table(b):
        same = np.array_equal(_margin(a, one.statistics[0], b), two.statistics[0].sums[classes])
    elif (a.family, b.family) == ("gamma", "exponential"):
        s, t = one.statistics[0], two.statistics[0]
        means = t.sums[classes, 0] / t.n[classes]
        same = np.array_equal(s.n, t.n[classes]) and np.allclose(s.mean, means, rtol=1e-9)
    elif a.family == b.family:
        if getattr(one.families[0], "pooled", False) and not two.families[0].pooled:
            raise ValueError(f'"{a.name}" has one variance in this model and one a class in the restricted one')
        pairs = list(zip(_arrays(one.statistics[0]), _arrays(two.statistics[0])))[:3]  # those by class
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


def _cells(feature: Feature) -> list[tuple[Any, ...]]:
    """Levels of a table, one of each factor."""
    levels = feature.levels or (0, 1)
    return [(level,) for level in levels] if len(feature.factors) == 1 else list(levels)


def _margin(feature: Feature, statistics: Sums, part: Feature) -> ndarray:
    """Counts (K, cells) of a table summed to the cells of a part of it; empty where that lacks one."""
    at = [_pieces(feature).index(name) for name in _pieces(part)]
    place = {cell: j for j, cell in enumerate(_cells(part))}
    into = [place.get(tuple(cell[i] for i in at), -1) for cell in _cells(feature)]
    if min(into) < 0:
        return np.empty(0)
    counts = statistics.sums.reshape(-1, len(into))
    table = np.zeros((len(place), len(counts)))
    np.add.at(table, into, counts.T)
    return table.T


# ---------------------------------------------------------------------------------------------------------- audit
def audit(res: Any, most: int | None) -> pd.DataFrame:
    """The most dependent pairs of each class."""
    if most is not None and (isinstance(most, bool) or not isinstance(most, (int, np.integer)) or most < 1):
        raise ValueError(f"most={most!r}: how many pairs of each class, at least 1, or None for all")
    model, names = res.model, res.model.feature_names
    if len(model.features) < 2:
        raise ValueError("independence_audit() compares features; the model has one")
    r = model._rows.held()
    tests = independence.pair_tests(model._families, r.X.values, r.y, r.weights, model.J)
    holm = independence.holm(np.array([t.pvalue for t in tests]))
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
    """Order of the pairs: by p-value, then statistic; untested ones last."""
    return (2.0, 0.0) if np.isnan(t.pvalue) else (t.pvalue, -t.statistic)


def _gain(res: Any, r: Any, first: int, second: int) -> float:
    """Change of the conditional log-likelihood if the pair is modelled jointly."""
    extra = independence.joined(res._fit, r.X.values, r.y, r.weights, first, second)
    if extra is None:
        return np.nan
    own = log_softmax(res._fit.log_joint(r.X.values) + np.nan_to_num(extra, nan=-np.inf))[np.arange(len(r.y)), r.y]
    return float(own.sum() if r.weights is None else r.weights @ own) - res.llf_conditional


# ----------------------------------------------------------------------------------------------------- error rates
def log_posterior(joint: ndarray) -> ndarray:
    """log p(k | x), NaN where every class has probability 0."""
    with np.errstate(invalid="ignore"):
        return log_softmax(joint)


def error_rates(fit: NaiveBayesFit, blocks: Blocks, frequency: bool) -> ErrorRates:
    """Resubstitution, leave-one-out and posterior error rates in one pass over (values..., y, w)."""

    def part(*block: Any) -> Any:
        values, y, w = block[:-2], block[-2], block[-1]
        f = np.ones(len(y)) if w is None else w
        posterior = log_posterior(fit.log_joint_of_block(values))
        left = decisions(log_posterior(log_joint_without(fit, values, y, w, frequency)), y, f)
        largest = np.bincount(posterior.argmax(axis=1), f * np.exp(posterior.max(axis=1)), fit.K)
        return _Counted(decisions(posterior, y, f), left, largest, float(f.sum()))

    s = blocks.sum(part)
    return ErrorRates(s.own, s.left, s.largest, s.n, np.exp(fit.log_priors))


class _Counted:
    def __init__(self, own: ErrorCounts, left: ErrorCounts, largest: ndarray, n: float):
        self.own, self.left, self.largest, self.n = own, left, largest, n

    def __add__(self, other: _Counted) -> _Counted:
        return _Counted(self.own + other.own, self.left + other.left, self.largest + other.largest, self.n + other.n)


def gaussian_ladder(res: Any) -> pd.DataFrame:
    """The ladder of laws of LDA and QDA for the same features."""
    model = res.model
    if any(f.family != "gaussian" for f in model.features):
        others = [f.name for f in model.features if f.family != "gaussian"]
        raise NotImplementedError(f"ladder() of NaiveBayes is for gaussian features; {others} are of other families")
    if (res.observed.sum() != res.nobs).any():
        raise ValueError('ladder() needs complete rows, as covariance matrices do: fit with missing="drop"')
    blocks = model._rows.blocks().map(_matrix)
    moments = class_moments(blocks, model.J)
    o = model._options
    priors = None if o["priors"] is None else np.array(o["priors"])
    options = {"priors": priors, "prior_smoothing": o["prior_smoothing"]}

    def boxm_test() -> pd.Series:
        try:
            fit_gaussian(moments, "full", False)
        except SingularDispersion as singular:
            raise EstimationError(f"Box's M needs a covariance matrix of each class: {singular.reason}") from None
        b = manova.box_m(moments, None, None)
        return pd.Series({n: getattr(b, n) for n in ("M", "chi2", "df", "chi2_pvalue", "F", "df2", "pvalue")})

    stand_in = SimpleNamespace(
        _fitted_classes=SimpleNamespace(moments=moments, factors=None),
        model=SimpleNamespace(_blocks=lambda: blocks),
        _prior_options=options,
        boxm_test=boxm_test,
    )
    return discriminant_tables.ladder(stand_in)


def _matrix(X: Any, y: ndarray, trials: None, offset: None, weights: ndarray | None) -> tuple:
    return Dense(np.column_stack(X.values)), y, weights


# --------------------------------------------------------------------------------------------------- values, columns
def is_missing(v: ndarray) -> ndarray:
    """Which rows lack a feature."""
    if v.dtype.kind in "iu":
        return v < 0
    return np.isnan(v) if v.ndim == 1 else np.isnan(v).any(axis=1)


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
    """How often each total of some blocks of counts occurs; ``a + b`` is that of both."""

    def __init__(self, tables: list[tuple[ndarray, ndarray]]):
        self.tables = tables

    def __add__(self, other: _Totals) -> _Totals:
        pairs = zip(self.tables, other.tables)
        return _Totals([_counted(*(np.concatenate(both) for both in zip(a, b))) for a, b in pairs])


def as_columns(features: Sequence[Feature], drawn: Sequence[ndarray]) -> dict[str, Any]:
    """Values of features as columns of a table: the variables themselves where a feature is made of them."""
    out: dict[str, Any] = {}
    for feature, v in zip(features, drawn):
        if feature.kind == "counts":
            out |= {str(name): v[:, j] for j, name in enumerate(feature.levels or ())}
        elif feature.kind == "codes":
            names = feature.variables or feature.factors
            for name, levels in zip(names, zip(*_cells(feature))):
                out[name] = _labels(list(levels), v)
        else:
            name = (feature.variables or (feature.name,))[0]
            out[name] = v == 1 if feature.levels is not None else v
    return out


def _labels(levels: list[Any], place: ndarray) -> Any:
    """Labels by place; the level that stands for missing values is missing again."""
    kept = [None if level == MISSING_LEVEL else level for level in levels]
    values = np.empty(len(kept), dtype=object)
    values[:] = kept
    return pd.Series(values[place]).infer_objects().to_numpy()


# -------------------------------------------------------------------------------------------------- the record
def _arrays(s: Statistics) -> list[ndarray]:
    return [getattr(s, f.name) for f in fields(s)]


def contiguous(fit: NaiveBayesFit) -> NaiveBayesFit:
    """The fit from its statistics in the memory order that a file restores, so that not a bit differs."""
    statistics = tuple(type(s)(*(np.array(a, order="C") for a in _arrays(s))) for s in fit.statistics)
    fits = tuple(f.fit(s, fit.smoothing) for f, s in zip(fit.families, statistics))
    return replace(fit, features=fits, statistics=statistics)


def record_as_dict(fit: NaiveBayesFit) -> dict[str, Any]:
    """Counts of the classes and statistics of the features."""
    return {"counts": fit.counts, "features": [_arrays(s) for s in fit.statistics]}


def record_from_dict(families: Sequence[Family], stored: dict[str, Any]) -> Record:
    """The record that `record_as_dict` was made of."""
    kinds: dict[str, Any] = {"gaussian": Squares, "gamma": Logs}
    statistics = tuple(
        kinds.get(f.name, Sums)(*(np.array(a, dtype=float) for a in arrays))
        for f, arrays in zip(grouped(families), stored["features"], strict=True)
    )
    return Record(np.array(stored["counts"], dtype=float), statistics)
