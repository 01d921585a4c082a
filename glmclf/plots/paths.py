"""Regularisation paths: coefficients over alpha, and the deviance of cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.checks import check_choice, check_whole
from glmclf.errors import DataError
from glmclf.plots import labelling, layout
from glmclf.results.regression.path import RegularizationCV, RegularizationPath
from glmclf.results.tables.numbers import with_minus

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PARTS = ("cv", "coefficients")
WIDE, TALL = 5.2, 3.6


def regularization(
    found: RegularizationPath | RegularizationCV,
    part: str | None = None,
    *,
    which: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    label: int = 12,
    ax: Any = None,
) -> Figure:
    """Coefficients over the weight of the penalty, and the deviance of cross-validation with its one-se rule.

    Parameters
    ----------
    found : RegularizationPath or RegularizationCV
        Of ``fit_regularized(alphas=...)`` or ``fit_regularized_cv(...)``.
    part : {"cv", "coefficients"}, optional
        One of the parts; by default all that there are: of a RegularizationCV the deviance above the coefficients.
    which : list of str, optional
        Names of coefficients to draw; by default all but the intercept and those of an infinite weight.
    drop : list of str
        Names to leave out.
    label : int
        How many of the coefficients, the largest at the end of the path, have their name beside it.
    ax : Axes or list of Axes, optional
        To draw on: one for the deviance, if it is drawn, then one for the coefficients or, of several levels, one a
        level.

    Returns
    -------
    Figure

    Notes
    -----
    The penalty falls from left to right on a log axis; a fit with alpha = 0 has no place there and is left out, as the
    axis says. Of a path whose coefficients have weights of their own, alpha is what multiplies these. Above
    the coefficients stand the effective degrees of freedom, or after a lasso how many slopes are not 0. Dashed lines
    are at `alpha_min`, dotted ones at `alpha_1se`.

    Examples
    --------
    >>> from glmclf import Logit, datasets, plots
    >>> model = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector"))
    >>> fig = plots.regularization(model.fit_regularized(alphas=[0.001, 0.01, 0.1, 1]))
    >>> fig.axes[0].get_xscale(), len(fig.axes[0].get_lines())
    ('log', 4)
    """
    if not isinstance(found, (RegularizationPath, RegularizationCV)):
        raise TypeError(
            "regularization() draws what fit_regularized(alphas=...) or fit_regularized_cv() gave; found "
            f"{type(found).__name__}"
        )
    check_whole("label", label, 0, "how many coefficients have their name")
    if part is not None:
        check_choice("part", part, PARTS)
    cv = found if isinstance(found, RegularizationCV) else None
    if part == "cv" and cv is None:
        raise TypeError('part="cv" of a path without cross-validation: fit_regularized_cv() has it')
    path: RegularizationPath = found.path if isinstance(found, RegularizationCV) else found
    tables = {} if part == "cv" else _tables(path, which, drop)
    deviance = cv is not None and part != "coefficients"
    n = len(tables) + deviance
    columns = 1 if n < 3 else 2
    axes = layout.several(ax, n, ((WIDE + 1.2) * columns, TALL * -(-n // columns) + 0.3), columns)
    if deviance and cv is not None:
        _deviance(axes[0], cv, ax is None)
    for panel, (level, table) in zip(axes[deviance:], tables.items()):
        _coefficients(panel, path, table, level, label)
        if cv is not None:
            _chosen(panel, cv)
    return layout.figure_of(axes[0])


def _tables(path: RegularizationPath, which: Any, drop: Any) -> dict[Any, pd.DataFrame]:
    """Coefficients to draw, by level."""
    several = path.params.columns.nlevels > 1
    known = list(dict.fromkeys(path.params.columns.get_level_values(-1)))
    at, excluded = path.model._constant_column(), np.isinf(path._wanted.alpha).all(axis=1)
    silent = {name for j, name in enumerate(path.model.exog_names) if j == at or excluded[j]}
    names = labelling.chosen(known, which, drop, silent)
    if not several:
        return {None: path.params[names]}
    levels = dict.fromkeys(path.params.columns.get_level_values(0))
    return {level: path.params[level][names] for level in levels}


def _alpha_axis(ax: Axes, path: RegularizationPath, title: str, y: str) -> None:
    """Set a log axis of alpha, the largest on the left."""
    alphas, weights = path.alphas, path._wanted.alpha
    positive = alphas[alphas > 0]
    if not len(positive):
        raise DataError("the path has no alpha above 0, which a log axis could show")
    ax.set_xscale("log")
    low, high = positive.min(), positive.max()
    low, high = (low / 2, high * 2) if low == high else (low, high)
    pad = (high / low) ** 0.03
    ax.set_xlim(high * pad, low / pad)
    layout.log_axis(ax.xaxis, low, high)
    zero = "" if len(positive) == len(alphas) else " (0 is not shown)"
    several = len(np.unique(weights[(weights > 0) & np.isfinite(weights)])) > 1
    what = "times the weight of each coefficient" if several else "weight of the penalty"
    layout.caption(ax, title, f"alpha, {what}{zero}", y)


def _coefficients(ax: Axes, path: RegularizationPath, table: pd.DataFrame, level: Any, label: int) -> None:
    shown = path.alphas > 0
    alphas, b = path.alphas[shown], table.to_numpy()[shown]
    ax.axhline(0, color=layout.GREY, linewidth=1, linestyle="--", zorder=1)
    for j, name in enumerate(table.columns):
        style: dict[str, Any] = {"color": layout.colour(j), "linestyle": layout.dashes(j)}
        mark = layout.marker(j) if len(alphas) < 3 else None
        ax.plot(alphas, b[:, j], linewidth=1.5, label=layout.named(name), marker=mark, **style)
    title = labelling.probability(path) if level is None else str(labelling.plain(level))
    _alpha_axis(ax, path, title, "coefficient")
    _sizes(ax, path)
    _names(ax, [str(name) for name in table.columns], b[np.argmin(alphas)], label)
    layout.tidy(ax, "y")


def _sizes(ax: Axes, path: RegularizationPath) -> None:
    """Draw effective degrees of freedom above the axes, or the number of slopes that are not 0."""
    lasso = path._wanted.L1_wt > 0
    sizes = path.nonzero if lasso else path.edf
    order = np.argsort(path.alphas)
    order = order[path.alphas[order] > 0]
    top = ax.secondary_xaxis("top")
    most = int(np.clip(layout.inches(ax)[0] / 0.6, 2, 6))
    few = order[np.unique(np.linspace(0, len(order) - 1, min(len(order), most)).astype(int))]
    top.set_xticks(path.alphas[few], [f"{sizes.iloc[i]:.3g}" for i in few])
    top.tick_params(labelsize=layout.small(ax, 8.5), length=2)
    top.minorticks_off()
    word = "slopes that are not 0" if lasso else "effective degrees of freedom"
    top.set_xlabel(word, fontsize=layout.small(ax, 8.5))
    top.spines["top"].set_visible(False)


def _names(ax: Axes, names: list[str], ends: ndarray, most: int) -> None:
    """Draw names of the largest coefficients beside the ends of their lines, without overlap."""
    largest = [j for j in np.argsort(-np.nan_to_num(np.abs(ends)), kind="stable")[:most] if ends[j] == ends[j]]
    if not largest:
        return
    low, high = ax.get_ylim()
    ax.set_ylim(low, high)
    size = layout.small(ax, 8.5)
    labels = {j: layout.wrapped(names[j], 24) for j in largest}
    room = 0.8 * layout.inches(ax)[1]  # the layout needs some for the labels
    need = np.array([(1 + labels[j].count("\n")) * layout.LINE_HEIGHT * size / 10 for j in largest])
    size *= min(1.0, room / need.sum())
    need = need * min(1.0, room / need.sum())
    order = np.argsort(ends[largest], kind="stable")
    places = _apart((ends[largest][order] - low) / (high - low) * room, need[order], room)
    for j, place in zip(np.array(largest)[order], places):
        ax.annotate(
            labels[j], (1.01, place / room), xycoords="axes fraction", va="center", ha="left", fontsize=size,
            color=layout.colour(j), annotation_clip=False,
        )  # fmt: skip


def _apart(wanted: ndarray, need: ndarray, room: float) -> ndarray:
    """Places from 0 to `room`, as near to the places wanted, in order, as the distances needed allow."""
    places = wanted.astype(float).copy()
    gaps = (need[1:] + need[:-1]) / 2
    places[0] = max(places[0], need[0] / 2)
    for i, gap in enumerate(gaps):
        places[i + 1] = max(places[i + 1], places[i] + gap)
    places[-1] = min(places[-1], room - need[-1] / 2)
    for i in range(len(gaps) - 1, -1, -1):
        places[i] = min(places[i], places[i + 1] - gaps[i])
    return places


def _deviance(ax: Axes, cv: RegularizationCV, own: bool) -> None:
    """Draw the mean deviance with its standard error, and the alphas of both rules."""
    table = cv.cv[cv.cv.index > 0]
    alphas = table.index.to_numpy(dtype=float)
    colour = layout.COLOURS[0]
    ends = table["deviance"] - table["se"], table["deviance"] + table["se"]
    ax.vlines(alphas, *ends, color=colour, linewidth=1.2, alpha=0.6)
    ax.plot(alphas, table["deviance"], "o-", color=colour, markersize=3.5, linewidth=1, label="mean, one se")
    _chosen(ax, cv)
    folds = f"{len(cv.fold_sizes)} folds, {labelling.observations(cv.fold_sizes.sum())}"
    _alpha_axis(ax, cv.path, f"cross-validation, {folds}", "deviance per observation")
    layout.tidy(ax, "y")
    layout.legend(ax, own, most=99)


def _chosen(ax: Axes, cv: RegularizationCV) -> None:
    for name, alpha, line in (("min", cv.alpha_min, "--"), ("1se", cv.alpha_1se, ":")):
        if alpha > 0:
            style: dict[str, Any] = {"color": "0.2", "linewidth": 1.1, "linestyle": line, "zorder": 1}
            ax.axvline(alpha, label=f"alpha_{name} = {with_minus(alpha)}", **style)
