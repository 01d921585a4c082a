"""Distributions that generative models give to features: densities and tables of naive Bayes, and the ladder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.checks import check_choice, check_whole, true_or_false
from glmclf.data.table.frame import close_to
from glmclf.errors import DataError
from glmclf.inference.hypotheses.wald import check_alpha
from glmclf.plots import labelling, layout, marks
from glmclf.results.generative.ladder import LAWS
from glmclf.results.performance.rows import scored_rows
from glmclf.results.tables.numbers import in_thousands

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CRITERIA = {
    "aic": "AIC",
    "bic": "BIC",
    "error_loo": "leave-one-out error",
    "llf": "log-likelihood",
    "llf_conditional": "conditional log-likelihood",
}
HIGHER_IS_BETTER = {"llf", "llf_conditional"}  # criteria; the others are better where they are lower
HATCHES = ("", "////", "....", "xxxx")
MAX_WHOLE_NUMBERS = 400  # places at which probabilities of whole numbers are drawn
MAX_LEVELS = 40  # levels of a table that are drawn


# ------------------------------------------------------------------------------------------------------- densities
@true_or_false
def densities(
    res: Any,
    features: str | Sequence[str] | None = None,
    *,
    alpha: float = 0.05,
    bins: int = 20,
    points: bool = True,
    ax: Any = None,
) -> Figure:
    """The distribution of each feature in each class of a naive Bayes model, over the data: densities, shares, tables.

    Parameters
    ----------
    res : result
        Of NaiveBayes.
    features : str or list of str, optional
        Features, as `res.feature_names` has them, a panel each; by default all.
    alpha : float
        One minus the level of the intervals of probabilities, in (0, 1).
    bins : int
        Of the histograms.
    points : bool
        Whether to draw histograms of the rows (shares of whole numbers), a class each; the curves need no rows.
    ax : Axes or sequence of Axes, optional
        To draw on, one a panel; by default those of a new figure.

    Returns
    -------
    Figure

    Raises
    ------
    NotImplementedError
        Another model; histograms of rows that are in a stream.
    DataError
        A feature that is not there; histograms of a result without rows: ``points=False``.

    Notes
    -----
    Continuous features have densities, per unit of the feature (`res.density`), counts (poisson) probabilities of whole
    numbers. Tables, 0/1 features and blocks of counts have bars: probability by class, and its interval of
    `res.conf_int(alpha)`; none where a probability is estimated as 0 or 1, or smoothed weights make it unknown.
    Histograms count weights, and leave out rows in which the feature is missing.

    Examples
    --------
    >>> from glmclf import NaiveBayes, datasets, plots
    >>> res = NaiveBayes.from_formula("species ~ bill_length_mm + sex", datasets.load("penguins")).fit()
    >>> fig = plots.densities(res)
    >>> [ax.get_title() for ax in fig.axes]
    ['bill_length_mm (gaussian)', 'sex (categorical)']
    """
    labelling.check(res, "densities", ["predict"])
    if not hasattr(res, "conditionals"):
        raise NotImplementedError(
            f"densities() of {type(res.model).__name__}: features have laws of their own in NaiveBayes; see ellipses() "
            "for LDA and QDA"
        )
    check_alpha(alpha)
    check_whole("bins", bins, 1, "how many bars a histogram has")
    chosen = [features] if isinstance(features, str) else list(res.feature_names if features is None else features)
    if not chosen:
        raise ValueError("features=[]: name one at least")
    for name in chosen:
        if name not in res.feature_names:
            raise DataError(f'"{name}" is no feature of the model. {close_to(str(name), res.feature_names)}')
    of = [res.feature_names.index(name) for name in chosen]
    numeric = [j for j in of if _is_number(res.model.features[j])]
    rows = _rows(res) if points and numeric else None
    columns = min(len(of), 3)
    if ax is None:
        needs = [_need(res, j) for j in of]
        wide = 5.7 if columns == 1 else max(layout.PANEL, 2.0 + layout.LETTER * max(_letters(res, j) for j in of))
        all_axes = marks.grid(needs, columns, wide * columns, marks.lines_of(res.levels))
    else:
        all_axes = layout.several(ax, len(of), (0, 0))
    for one, j in zip(all_axes, of):
        feature = res.model.features[j]
        if _is_number(feature):
            _distribution(one, res, j, rows, bins)
        else:
            _table(one, res, j, alpha)
        layout.caption(one, f"{feature.name} ({feature.family})", width=None if ax is not None else 2.6)
    figure = layout.figure_of(all_axes[0])
    marks.keys(figure, all_axes, ax is None)
    return figure


def _is_number(feature: Any) -> bool:
    return feature.kind == "numbers" and feature.family != "bernoulli"


def _need(res: Any, j: int) -> float:
    """Width of the panel of feature j in inches: a table has a bar for each level and class."""
    feature = res.model.features[j]
    cells = 0 if _is_number(feature) else min(feature.cells, MAX_LEVELS)
    return max(3.2, 1.2 + 0.08 * cells * (len(res.levels) + 1))


def _letters(res: Any, j: int) -> int:
    """Letters of the longest line beside the bars of a table."""
    feature = res.model.features[j]
    words = [] if _is_number(feature) else res.conditionals[feature.name].columns.get_level_values(0)
    return max((len(line) for word in words for line in layout.wrapped(word).split("\n")), default=0)


def _rows(res: Any) -> tuple[list[ndarray], ndarray, ndarray]:
    """Values of the features, places of the classes and weights of the rows of the fit."""
    r = res.model._rows
    values = res._values(None)[0]
    outcomes = scored_rows(res).outcomes
    weights = np.ones(len(r)) if r.weights is None else np.asarray(r.weights, dtype=float)
    return values, outcomes.counts.argmax(axis=1), weights


def density_over_rows(ax: Axes, res: Any, name: str, curve: pd.DataFrame | None, bins: int = 20) -> None:
    """Draw the law of a feature in each class over histograms of the rows, of LDA and QDA as `curve` has it."""
    if curve is None:
        _distribution(ax, res, res.feature_names.index(name), _rows(res), bins)
        return
    X: Any
    X, places, weights = _rows(res)
    x = np.asarray(X[:, res.feature_names.index(name)], dtype=float)
    _histograms(ax, x, places, weights, len(res.levels), bins)
    _curves(ax, curve, name, "density")


def _distribution(ax: Axes, res: Any, j: int, rows: Any, bins: int) -> None:
    """Draw densities, or probabilities of whole numbers, over histograms."""
    feature = res.model.features[j]
    whole = feature.family == "poisson"
    x = None if rows is None else np.asarray(rows[0][j], dtype=float)
    at = _places(res, feature, x)
    f = res.density(feature.name, at)
    if x is not None:
        _histograms(ax, x, rows[1], rows[2], len(res.levels), at if whole else bins)
    _curves(ax, f.set_axis(at), feature.name, "probability" if whole else "density", whole and len(at) <= 60)


def _curves(ax: Axes, f: pd.DataFrame, name: str, what: str, marked: bool = False) -> None:
    """Draw a density a class, by the values in the index."""
    for k, level in enumerate(f.columns):
        marker = {"marker": marks.look(k)["marker"], "markersize": 4} if marked else {}
        ax.plot(f.index, f[level].to_numpy(), linewidth=1.8, label=marks.name(level), **marks.line(k), **marker)
    ax.set_ylim(bottom=0)
    layout.caption(ax, "", name, what)
    layout.tidy(ax)


def _places(res: Any, feature: Any, x: ndarray | None) -> ndarray:
    """Points at which a density is evaluated: the range of the rows, and four standard deviations about each mean."""
    law = res.conditionals[feature.name].xs("estimate", axis=1, level=1)
    if feature.family == "gaussian":
        mean, sd = law["mean"], np.sqrt(law["var"])
    elif feature.family == "gamma":
        mean, sd = law["shape"] / law["rate"], np.sqrt(law["shape"]) / law["rate"]
    else:
        rate = law["rate"]
        mean = rate if feature.family == "poisson" else 1 / rate
        sd = np.sqrt(rate) if feature.family == "poisson" else mean
    low, high = float((mean - 3.5 * sd).min()), float((mean + 3.5 * sd).max())
    if x is not None and np.isfinite(x).any():
        low, high = min(low, float(np.nanmin(x))), max(high, float(np.nanmax(x)))
    if feature.family == "gaussian":
        return np.linspace(low, high, 301)
    if feature.family == "poisson":
        return np.unique(np.linspace(max(np.floor(low), 0.0), np.ceil(high), MAX_WHOLE_NUMBERS).round())
    least = high * 1e-4 if feature.family == "gamma" else 0.0
    return np.linspace(least, high, 301)


def _histograms(ax: Axes, x: ndarray, places: ndarray, weights: ndarray, K: int, bins: Any) -> None:
    """Draw a histogram of area one for each class, or the shares of whole numbers."""
    seen = np.isfinite(x)
    if isinstance(bins, np.ndarray):
        edges = np.append(bins - np.diff(bins, prepend=bins[0] - 1) / 2, bins[-1] + 0.5)
    else:
        edges = np.histogram_bin_edges(x[seen], bins)
    for k in range(K):
        own = seen & (places == k)
        if not own.any():
            continue
        heights, _ = np.histogram(x[own], edges, weights=weights[own], density=True)
        ax.stairs(heights, edges, fill=True, color=layout.colour(k), alpha=0.22, zorder=1)


def _table(ax: Axes, res: Any, j: int, alpha: float) -> None:
    """Draw probabilities of levels as bars, grouped by level, with intervals."""
    feature, K = res.model.features[j], len(res.levels)
    table = res.conditionals[feature.name].xs("estimate", axis=1, level=1)
    words = list(table.columns) if feature.kind != "numbers" else [str(feature.word(1))]
    low, high = _intervals(res, j, alpha)
    shown = slice(0, MAX_LEVELS)
    p = table.to_numpy().T[shown]
    labels = [layout.wrapped(word) for word in words[shown]]
    step = np.arange(len(p))[:, None] + (np.arange(K) - (K - 1) / 2) * 0.8 / K
    for k, level in enumerate(res.levels):
        error = np.array([p[:, k] - low[shown, k], high[shown, k] - p[:, k]])
        ax.barh(
            step[:, k], p[:, k], height=0.8 / K, color=layout.colour(k),
            hatch=HATCHES[(k + k // len(layout.COLOURS)) % len(HATCHES)],
            edgecolor="white", linewidth=0.3, label=marks.name(level),
        )  # fmt: skip
        known = np.isfinite(error).all(axis=0)
        ax.errorbar(
            p[known, k], step[known, k], xerr=np.maximum(error[:, known], 0), fmt="none", ecolor="black", linewidth=0.9
        )
    ax.set_yticks(range(len(p)), labels, fontsize=layout.small(ax, 9.0))
    ax.set_ylim(len(p) - 0.5, -0.5)
    top = float(np.nanmax([p.max(), np.nan_to_num(high[shown]).max()]))
    ax.set_xlim(0, 1.0 if top > 0.5 else 1.05 * top)
    more = len(words) - len(labels)
    what = "probability" if feature.kind != "numbers" else f"P({feature.name} = {words[0]})"
    layout.caption(ax, "", f"{what} ({more} levels more)" if more > 0 else what)
    layout.tidy(ax, "x")


def _intervals(res: Any, j: int, alpha: float) -> tuple[ndarray, ndarray]:
    """Ends of the intervals of a table's probabilities, (cells, K) in the order of the levels."""
    ends = res.conf_int(alpha).to_numpy()
    own = [(i, p) for i, p in enumerate(res._parameters) if p.feature == j]
    cells = sorted({p.level or 0 for _, p in own})
    found = np.full((2, len(cells), len(res.levels)), np.nan)
    for i, p in own:
        found[:, cells.index(p.level or 0), p.klass] = ends[i]
    low, high = found[:, :, res.model._order]
    return low, high


# ---------------------------------------------------------------------------------------------------------- ladder
def ladder(res: Any, criteria: Sequence[str] = ("aic", "bic", "error_loo"), *, ax: Any = None) -> Figure:
    """Ladder of models of the same features: a panel a criterion, which shows the gain of each step.

    Parameters
    ----------
    res : result
        Of LDA or QDA, or of NaiveBayes with gaussian features.
    criteria : list of str
        Columns of `res.ladder()`: "aic", "bic", "error_loo", "llf", "llf_conditional".
    ax : Axes or sequence of Axes, optional
        To draw on, one a criterion; by default those of a new figure.

    Returns
    -------
    Figure

    Raises
    ------
    NotImplementedError
        Another model.
    ValueError
        Unknown criteria.

    Notes
    -----
    A star is the best of its criterion, with its value; others have their difference from it. The model of `res` is in
    bold. Laws that the data do not have are named as such.

    Examples
    --------
    >>> from glmclf import LDA, datasets, plots
    >>> res = LDA.from_formula("species ~ bill_length_mm + bill_depth_mm", datasets.load("penguins")).fit()
    >>> fig = plots.ladder(res, ["aic", "bic"])
    >>> [ax.get_xlabel() for ax in fig.axes]
    ['AIC', 'BIC']
    """
    labelling.check(res, "ladder", ["predict"])
    if not hasattr(res, "ladder"):
        raise NotImplementedError(f"ladder() of {type(res.model).__name__}: the laws are of LDA, QDA and NaiveBayes")
    chosen = [criteria] if isinstance(criteria, str) else list(criteria)
    for criterion in chosen or [""]:
        check_choice("criteria", criterion, CRITERIA)
    table = res.ladder()
    wide = layout.PANEL * max(len(chosen), 3) if len(chosen) > 1 else 5.3
    all_axes = layout.several(ax, len(chosen), (wide, 3.6))
    for i, (one, criterion) in enumerate(zip(all_axes, chosen)):
        _rungs(one, table[criterion], criterion, _own_rung(res), i == 0 or ax is not None)
    return layout.figure_of(all_axes[0])


def _own_rung(res: Any) -> str:
    """Name of the rung that a result is on."""
    if hasattr(res, "conditionals"):
        kind, pooled = "diag", any(getattr(f, "pooled", False) for f in res._fit.families)
    else:
        law = res._fitted_classes.law
        kind, pooled = law.kind, law.pooled
    return next(name for name, k, p, _ in LAWS if (k, p) == (kind, pooled))


def _rungs(ax: Axes, values: pd.Series, criterion: str, own: str, named: bool) -> None:
    """Draw one criterion by model, the simplest model at the top."""
    v = values.to_numpy(dtype=float)
    at = np.arange(len(v))
    known = np.isfinite(v)
    ax.plot(v[known], at[known], linestyle="none", markersize=7, **marks.look(0))
    if known.any():
        best = np.flatnonzero(known)[(v[known].argmax if criterion in HIGHER_IS_BETTER else v[known].argmin)()]
        star: dict[str, Any] = {"marker": "*", "markersize": 16, "color": layout.COLOURS[5], "markeredgecolor": "black"}
        ax.plot(v[best], at[best], zorder=4, **star)
    least = v[best] if known.any() else np.nan
    size = layout.small(ax, 9.0)
    for i in at[known]:
        sign = "+" if v[i] >= least else ""
        words = in_thousands(v[i]) if i == best else f"{sign}{in_thousands(v[i] - least)}"
        ax.annotate(words, (v[i], i), xytext=(0, 12 if i == best else 9), textcoords="offset points",
                    ha="center", fontsize=size)  # fmt: skip
    for i in at[~known]:
        ax.text(0.5, i, "(no estimate)", ha="center", va="center", transform=ax.get_yaxis_transform(), fontsize=8)
    labels = [layout.wrapped(name, 20) for name in values.index]
    ax.set_yticks(at, labels if named else [""] * len(at), fontsize=layout.small(ax, 10.0))
    for label, name in zip(ax.get_yticklabels(), values.index):
        label.set_fontweight("bold" if name == own else "normal")
    ax.set_ylim(len(v) - 0.5, -0.7)
    ax.margins(x=0.2)
    ax.locator_params(axis="x", nbins=max(1, min(4, int(layout.inches(ax)[0] / 0.6))))
    layout.caption(ax, "", CRITERIA[criterion])
    layout.tidy(ax, "both")
