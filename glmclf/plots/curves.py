"""Curves over all thresholds: ROC, and precision against recall."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from glmclf.checks import check_choice
from glmclf.inference.hypotheses.wald import check_alpha
from glmclf.plots import labelling, layout
from glmclf.results.performance.roc import CUT_RULES, MulticlassRoc, PrecisionRecall, RocCurve
from glmclf.results.tables.numbers import with_minus

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = (5.2, 5.0)


def roc(
    res: Any,
    newdata: Any = None,
    event: Any = None,
    *,
    alpha: float = 0.05,
    method: str = "delong",
    cut: str | None = None,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
    **rows: Any,
) -> Figure:
    """ROC curves: sensitivity against one minus the specificity, with the areas and their intervals in the legend.

    Parameters
    ----------
    res : result, RocCurve, MulticlassRoc, or a list or dict of results or curves
        Of any model, or what its `roc` gave. Of several levels there is a curve a level, against all others.
    newdata : DataFrame, array_like or data in parts, optional
        Rows to judge; by default those of the fit.
    event : label, optional
        The level to look for, against all others; needed of several results of several levels.
    alpha : float
        One minus the level of the intervals, in (0, 1).
    method : {"delong", "logit"}
        Of the intervals of the areas, as in `RocCurve.conf_int`.
    cut : {"youden", "closest", "cost"}, optional
        Mark the best threshold by that rule of `RocCurve.cut_points`.
    names : list of str, optional
        What to call several results.
    ax : Axes, optional
        To draw on.
    **rows
        `endog`, `freq_weights`, `weights` and `offset` of `newdata`, as in `res.roc`.

    Returns
    -------
    Figure

    Raises
    ------
    NotImplementedError
        Several results of several levels without `event`.

    Examples
    --------
    >>> from glmclf import Logit, datasets, plots
    >>> res = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector")).fit()
    >>> fig = plots.roc(res)
    >>> fig.axes[0].get_legend().get_texts()[0].get_text()
    'AUC 0.883 (0.761 to 1.000)'
    """
    if cut is not None:
        check_choice("cut", cut, CUT_RULES)
    check_alpha(alpha)
    many, title = _curves(res, newdata, event, names, rows, "roc"), ""
    curves: dict[str, RocCurve] = {}
    for name, found in many.items():
        if isinstance(found, RocCurve):
            curves[name] = found
        elif len(many) > 1:
            levels = list(found.table.index)
            raise NotImplementedError(f"roc() of several results of several levels: give event=, one of {levels}")
        else:
            title = f"each level against all others, Hand-Till M {_with_ends(found, alpha, method)}"
            curves = {str(level): found.curve(level) for level in found.table.index}
    said = {name: f"AUC {_with_ends(curve, alpha, method)}" for name, curve in curves.items()}
    labels = list(said.values()) if len(curves) == 1 else [f"{name}\n{auc}" for name, auc in said.items()]
    axes = layout.axes(ax, SIZE)
    axes.plot([0, 1], [0, 1], color=layout.GREY, linewidth=1, linestyle="--", zorder=1)
    for i, (label, curve) in enumerate(zip(labels, curves.values())):
        points = curve.curve
        style: dict[str, Any] = {"color": layout.colour(i), "linestyle": layout.dashes(i)}
        axes.plot(points["fpr"], points["tpr"], linewidth=1.8, label=layout.named(label), zorder=2 + i, **style)
        if cut is not None:
            _mark(axes, curve, cut, layout.colour(i), layout.marker(i))
    of = _of_event(curves.values())
    layout.caption(axes, title or _sizes(curves), "1 \N{MINUS SIGN} specificity", f"sensitivity{of}")
    return _square(axes, ax is None, "lower right")


def precision_recall(
    res: Any,
    newdata: Any = None,
    event: Any = None,
    *,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
    **rows: Any,
) -> Figure:
    """Precision-recall curves, with average precisions in the legend and the precision of chance as a line.

    Parameters
    ----------
    res : result, PrecisionRecall, or a list or dict of results or curves
        Of any model, or what its `precision_recall` gave.
    newdata : DataFrame, array_like or data in parts, optional
        Rows to judge; by default those of the fit.
    event : label, optional
        The level to look for, against all others; needed of several levels.
    names : list of str, optional
        What to call several results.
    ax : Axes, optional
        To draw on.
    **rows
        As in `roc`.

    Returns
    -------
    Figure

    Examples
    --------
    >>> from glmclf import Logit, datasets, plots
    >>> res = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector")).fit()
    >>> fig = plots.precision_recall(res)
    >>> fig.axes[0].get_ylabel()
    'precision of 1'
    """
    curves = _curves(res, newdata, event, names, rows, "precision_recall")
    axes, shares = layout.axes(ax, SIZE), dict.fromkeys(found.prevalence for found in curves.values())
    for i, (name, found) in enumerate(curves.items()):
        points, said = found.curve.dropna(), f"average precision {found.average_precision:.3f}"
        label = said if len(curves) == 1 else f"{name}\n{said}"
        style: dict[str, Any] = {"color": layout.colour(i), "linestyle": layout.dashes(i), "drawstyle": "steps-pre"}
        style |= {"linewidth": 1.8, "label": layout.named(label), "zorder": 2 + i}
        axes.plot(points["recall"], points["precision"], **style)
    for share in shares:
        axes.axhline(share, color=layout.GREY, linewidth=1, linestyle="--", zorder=1, label=f"chance {share:.3f}")
    of = _of_event(found._roc for found in curves.values())
    layout.caption(axes, "", f"recall (sensitivity){of}", f"precision{of}")
    return _square(axes, ax is None, "best")


def _curves(res: Any, newdata: Any, event: Any, names: Any, rows: dict[str, Any], plot: str) -> dict[str, Any]:
    """Curves by name: the curve objects given, or the curves of the results given."""
    labelling.check_keywords(rows, plot)
    kinds = (RocCurve, MulticlassRoc) if plot == "roc" else PrecisionRecall
    asked = {"newdata": newdata, "event": event, **rows}
    return labelling.all_made(
        res, names, plot, kinds, plot, asked, lambda one: getattr(one, plot)(newdata, event, **rows)
    )


def _of_event(curves: Iterable[RocCurve]) -> str:
    """Words that name the event, if it is the same in all curves."""
    events = {curve._called for curve in curves}
    return f" of {events.pop()}" if len(events) == 1 else ""


def _with_ends(found: Any, alpha: float, method: str) -> str:
    low, high = found.conf_int(alpha, method)
    return f"{found.auc:.3f} " + ("(no interval)" if np.isnan(low) else f"({low:.3f} to {high:.3f})")


def _sizes(curves: Mapping[str, RocCurve]) -> str:
    found = {(c.n_event, c.n_other) for c in curves.values()}
    if len(found) > 1:
        return ""
    yes, no = found.pop()
    return f"{yes:,.6g} events, {no:,.6g} others"


def _mark(ax: Axes, curve: RocCurve, rule: str, colour: str, mark: str) -> None:
    """The best cut-point and its threshold."""
    best = curve.cut_points().loc[rule]
    x, y = 1 - best["specificity"], best["sensitivity"]
    ax.plot([x], [y], mark, color=colour, markersize=7, markeredgecolor="white", zorder=20)
    text = f"p > {with_minus(best['threshold'])}"
    ax.annotate(text, (x, y), xytext=(8, -4), textcoords="offset points", va="top", fontsize=layout.small(ax))


def _square(ax: Axes, own: bool, inside: str) -> Figure:
    """Set both axes to run from 0 to 1 at the same scale, and add the legend."""
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    ax.set_aspect("equal", adjustable="box")
    layout.tidy(ax, "both")
    layout.legend(ax, own, inside)
    return layout.figure_of(ax)
