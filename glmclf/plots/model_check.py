"""Check of a fit in one figure: a panel each for calibration, residuals, influence, overlap and laws of features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from glmclf.plots import labelling, layout, marks
from glmclf.plots.density_curves import density_over_rows
from glmclf.plots.diagnostics import normal_plot
from glmclf.results.performance.findings import FINE, LOOK, PROBLEM
from glmclf.results.performance.fit_checks import COOK_LOOK, COOK_PROBLEM, VIF_LOOK, VIF_PROBLEM
from glmclf.results.performance.law_checks import CURVES
from glmclf.results.performance.model_check import ModelCheck
from glmclf.results.tables.numbers import with_minus

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL_HEIGHT = 3.0  # inches
BAR_ROOM = 2.0  # height of a panel of densities, of the highest: bars of a few rows of one class are cut
MAX_BARS = 10  # terms or pairs that are drawn
ROWS_DRAWN = 10_000  # rows that are drawn
MOST_INFLUENTIAL = 100  # rows that are drawn in any case
MAX_CURVE_POINTS = 1_000
MAX_NAMED_ROWS = 3  # rows that are named
BARS_OF_LEVELS = 3  # levels up to which bins have intervals


def check(
    res: Any, panels: str | Sequence[str] | None = None, *, alpha: float | None = None, seed: Any = None, ax: Any = None
) -> Figure:
    """Check of a fit in one figure: may it be trusted? A panel a question, whose title says what is seen and a verdict.

    Parameters
    ----------
    res : result or ModelCheck
        Of any model, or what its `check` gave.
    panels : str or list of str, optional
        Which, as in `res.check`; by default all that the fit can have.
    alpha : float, optional
        One minus the level of bands and intervals, by default 0.05.
    seed : int, SeedSequence or Generator, optional
        Of the quantile residuals that are drawn, by default 0; no verdict depends on it.
    ax : sequence of Axes, optional
        To draw on, one a panel ("features" has up to three); by default those of a new figure.

    Returns
    -------
    Figure

    Raises
    ------
    NotImplementedError, DataError
        A panel asked for by name that the fit cannot have: the message says why.

    Notes
    -----
    The words and numbers are those of ``res.check().table``, which has thresholds and sources, too; ``left_out`` there
    says why a panel is missing. Verdicts are computed from all rows; of more than 10,000 the panel of influence draws
    about so many, the largest Cook's distances among them, and says so.

    Examples
    --------
    >>> from glmclf import Logit, datasets, plots
    >>> res = Logit.from_formula("sex ~ bill_depth_mm + body_mass_g", datasets.load("penguins")).fit()
    >>> fig = plots.check(res)
    >>> " ".join(fig.axes[-2].get_title().split())
    'Collinearity: variance inflation up to 4.41 (bill_depth_mm): fine'
    """
    asked = {"panels": panels, "alpha": alpha, "seed": seed}
    given = {name: value for name, value in asked.items() if value is not None}
    found = labelling.made(res, "check", ModelCheck, "check", asked, lambda one: one.check(**given))
    shown = _axes_of(found)
    if not shown:
        raise NotImplementedError(f"check(): nothing of this fit can be drawn: {found.left_out['calibration']}")
    columns = min(len(shown), 3 if len(shown) != 4 else 2)
    size = (layout.PANEL * columns, PANEL_HEIGHT * -(-len(shown) // columns) + 0.4)
    axes = layout.several(ax, len(shown), size, columns)
    for one, (name, which) in zip(axes, shown):
        layout.tidy(one)
        _DRAWN[name](one, found, which)
        if not which:
            _title(one, found, name)
    figure = layout.figure_of(axes[0])
    marks.keys(figure, axes, ax is None)
    if ax is None:
        figure.suptitle(layout.wrapped(_heading(found), 100), fontsize=11)
    for one, (name, _) in zip(axes, shown):
        if name == "influence":
            _name_rows(one, found)
    return figure


def _axes_of(found: ModelCheck) -> list[tuple[str, Any]]:
    """Panels with what each of their Axes shows."""
    shown: list[tuple[str, Any]] = []
    for name in found.panels:
        if name == "features":
            shown += [(name, i) for i in range(min(CURVES, len(found._inspection.drawn[name]["order"])))]
        elif name in _DRAWN:
            shown.append((name, 0))
    return shown


def _heading(found: ModelCheck) -> str:
    res = found.results
    said = f"{type(res.model).__name__} of {res.model.endog_names}, {labelling.observations(res.nobs)}"
    worse = "estimate" in found.panels and found.verdict_of("estimate") != FINE
    return said + (f"; {found.words('estimate')}" if worse else "")


def _title(ax: Axes, found: ModelCheck, name: str) -> None:
    words = found.words(name)
    layout.caption(ax, f"{'ROC' if name == 'roc' else name.capitalize()}: {words}")
    if found.verdict_of(name) in (LOOK, PROBLEM):
        ax.title.set_color(layout.COLOURS[5])


# ------------------------------------------------------------------------------------------------------------ panels
def _calibration(ax: Axes, found: ModelCheck, _: Any) -> None:
    data = found._inspection.drawn["calibration"]
    levels, curve, smooth = data["levels"], data["curve"], data["smooth"]
    ax.plot([0, 1], [0, 1], color=layout.GREY, linewidth=0.8, linestyle="--", zorder=1)
    several = curve.index.nlevels > 1
    for k, level in enumerate(levels):
        t, s = (curve.loc[[level]], smooth.loc[[level]]) if several else (curve, smooth)
        s = _thinned(s.dropna())
        name = marks.name(level) if several else None
        if len(levels) <= BARS_OF_LEVELS:
            ax.vlines(t.predicted, t.lower, t.upper, color=layout.colour(k), linewidth=1.1, alpha=0.7)
        ax.plot(t.predicted, t.observed, linestyle="none", markersize=4, label=name, **marks.look(k))
        ax.plot(s.predicted, s.smoothed, linewidth=1.2, alpha=0.8, **marks.line(k))
    event = "the level" if several else labelling.response(found.results).called(levels[0])
    layout.caption(ax, "", f"predicted probability of {event}", "observed share")
    highest = curve.upper if len(levels) <= BARS_OF_LEVELS else curve.observed
    top = min(1.0, 1.1 * float(max(curve.predicted.max(), highest.max(), smooth.predicted.max())))
    ax.set(xlim=(-0.02 * top, 1.02 * top), ylim=(-0.02 * top, 1.02 * top))


def _regressors(ax: Axes, found: ModelCheck, _: Any) -> None:
    data = found._inspection.drawn["regressors"]
    t = data["bins"]
    ax.fill_between(t.x, -2 * t.se, 2 * t.se, color=layout.PALE, linewidth=0, zorder=0)
    ax.axhline(0, color=layout.GREY, linewidth=0.8, zorder=1)
    out = t.z.abs() > 2
    for rows, i in ((~out, 0), (out, 5)):
        ax.plot(t.x[rows], t.residual[rows], linestyle="none", markersize=5, **marks.look(i))
    of = f" of {labelling.plain(data['level'])!r}" if labelling.levels(found.results) else ""
    layout.caption(ax, "", f"{data['name']}, bins", f"observed \N{MINUS SIGN} predicted{of}")


def _residuals(ax: Axes, found: ModelCheck, _: Any) -> None:
    z = found._inspection.drawn["residuals"]
    normal_plot(ax, z, found.alpha, True, legend=False)
    layout.caption(ax, "", "normal quantile", "quantile residual")


def _distances(ax: Axes, found: ModelCheck, _: Any) -> None:
    normal_plot(ax, found._inspection.drawn["distances"], found.alpha, True, legend=False)
    layout.caption(ax, "", "normal quantile", "distance from the class's mean, as a normal quantile")


def _influence(ax: Axes, found: ModelCheck, _: Any) -> None:
    t = found._inspection.drawn["influence"].dropna()
    order = np.argsort(-t.cooks.to_numpy(), kind="stable")
    if len(t) > ROWS_DRAWN:
        some = np.arange(0, len(t), -(-len(t) // ROWS_DRAWN))
        order = np.r_[order[:MOST_INFLUENTIAL], np.setdiff1d(some, order[:MOST_INFLUENTIAL])]
    d = t.iloc[order]
    ax.scatter(d.leverage, d.cooks, s=9, color=layout.colour(0), alpha=0.6, linewidths=0)
    top = float(d.cooks.max())
    for level in (COOK_LOOK, COOK_PROBLEM):
        if level < 2 * top:
            ax.axhline(level, color=layout.GREY, linewidth=0.8, linestyle=":")
    ax.set_ylim(bottom=0.0, top=1.2 * top if top > 0 else 1.0)
    ax.margins(x=0.08)
    if len(d) < len(t):
        said = f"{len(d):,} of {len(t):,} rows drawn"
        ax.text(0.99, 0.98, said, transform=ax.transAxes, ha="right", va="top", fontsize=layout.small(ax, 8.0))
    layout.caption(ax, "", "leverage", "Cook's distance")


def _name_rows(ax: Axes, found: ModelCheck) -> None:
    """Name the rows of the largest Cook's distances, when all else has its place."""
    d = found._inspection.drawn["influence"].nlargest(MAX_NAMED_ROWS, "cooks")
    d = d[d.cooks > 0]
    labels = layout.shortened([str(label) for label in d.index], 18)
    marks.label_points(ax, d.leverage.to_numpy(), d.cooks.to_numpy(), labels, np.full(len(d), 3.0))


def _collinearity(ax: Axes, found: ModelCheck, _: Any) -> None:
    data = found._inspection.drawn["collinearity"]
    v = data["vif"].sort_values(ascending=False, kind="stable")
    shown = v[:MAX_BARS]
    for level in (VIF_LOOK, VIF_PROBLEM):
        ax.axvline(level, color=layout.GREY, linewidth=0.8, linestyle=":")
    _stems(ax, shown, 1.0)
    ax.set_xscale("log")
    low, high = 0.93, max(1.25 * VIF_PROBLEM, 1.3 * float(v.max()))
    ax.set_xlim(low, high)
    layout.log_axis(ax.xaxis, low, high)
    more = f" ({len(v) - len(shown)} more are smaller)" if len(v) > len(shown) else ""
    layout.caption(ax, "", f"variance inflation of {data['of']}{more}")


def _stems(ax: Axes, values: pd.Series, base: float) -> None:
    """Draw values as marks on stems, by their labels, the first at the top."""
    at = np.arange(len(values))
    ax.hlines(at, base, values.to_numpy(), color=layout.PALE, linewidth=2)
    ax.plot(values.to_numpy(), at, linestyle="none", markersize=5, **marks.look(0))
    _named_rows(ax, [str(name) for name in values.index])
    ax.set_ylim(len(values) - 0.4, -0.6)


def _named_rows(ax: Axes, names: list[str]) -> None:
    """Set short names along the y axis."""
    short = dict(zip(unique := list(dict.fromkeys(names)), layout.shortened(unique, 25)))
    labels = [layout.wrapped(short[name], 99) for name in names]
    ax.set_yticks(np.arange(len(names)), labels, fontsize=layout.small(ax, 8.0))


def _roc(ax: Axes, found: ModelCheck, _: Any) -> None:
    curves = found._inspection.drawn["roc"]
    ax.plot([0, 1], [0, 1], color=layout.GREY, linewidth=0.8, linestyle="--", zorder=1)
    for k, (level, curve) in enumerate(curves.items()):
        t = _thinned(curve.curve)
        ax.plot(t.fpr, t.tpr, linewidth=1.4, label=marks.name(level) if len(curves) > 1 else None, **marks.line(k))
    layout.caption(ax, "", "1 \N{MINUS SIGN} specificity", "sensitivity")
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))


def _thinned(t: pd.DataFrame) -> pd.DataFrame:
    """At most so many rows of a curve, the first and the last among them."""
    return t if len(t) <= MAX_CURVE_POINTS else t.iloc[np.linspace(0, len(t) - 1, MAX_CURVE_POINTS).astype(int)]


def _features(ax: Axes, found: ModelCheck, which: int) -> None:
    data = found._inspection.drawn["features"]
    name = data["order"][which]
    density_over_rows(ax, found.results, name, data["curves"].get(name))
    highest = max(float(np.max(line.get_ydata())) for line in ax.lines)
    ax.set_ylim(top=min(ax.get_ylim()[1], BAR_ROOM * highest))
    if which:
        own = data["table"][data["table"].feature == name]
        layout.caption(ax, f"{name}: off by up to {with_minus(float(own.distance.max()), 2)}")


def _covariances(ax: Axes, found: ModelCheck, _: Any) -> None:
    t = found._inspection.drawn["covariances"]
    at = np.arange(len(t))
    for k, row in enumerate(t.itertuples()):
        ax.hlines(at[k], row.lower, row.upper, color=layout.colour(k), linewidth=1.5)
        ax.plot([row.value], [at[k]], linestyle="none", markersize=5, **marks.look(k))
    _named_rows(ax, [str(labelling.plain(v)) for v in t.index])
    ax.set_ylim(len(t) - 0.5, -0.5)
    ax.locator_params(axis="x", nbins=4)
    layout.caption(ax, "", f"log determinant of the covariance, {labelling.percent(found.alpha)} interval")


def _independence(ax: Axes, found: ModelCheck, _: Any) -> None:
    r = found._inspection.drawn["independence"].correlation[:MAX_BARS]
    levels = list(found.results.levels)
    names = list(dict.fromkeys(name for _, *pair in r.index for name in pair))
    short = dict(zip(names, layout.shortened(names, 12)))
    _stems(ax, pd.Series(r.to_numpy(), index=[f"{short[a]}, {short[b]}" for _, a, b in r.index]), 0.0)
    for i, (level, value) in enumerate(zip(r.index.get_level_values(0), r)):
        k = levels.index(level)
        ax.plot([value], [i], linestyle="none", markersize=6, **marks.look(k))
    ax.set_xlim(0, 1)
    layout.caption(ax, "", "informational correlation within a class")


_DRAWN: dict[str, Callable[[Any, ModelCheck, Any], None]] = {
    "calibration": _calibration,
    "regressors": _regressors,
    "features": _features,
    "residuals": _residuals,
    "distances": _distances,
    "influence": _influence,
    "covariances": _covariances,
    "independence": _independence,
    "collinearity": _collinearity,
    "roc": _roc,
}
