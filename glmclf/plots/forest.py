"""Forest plots: estimates with their intervals in rows: coefficients, ratios, marginal effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.checks import true_or_false
from glmclf.inference.hypotheses.wald import check_alpha
from glmclf.plots import labelling, layout
from glmclf.results.comparison.codings import told_apart
from glmclf.results.comparison.regression_table import OMITTED
from glmclf.results.margins.effects import MarginalEffects
from glmclf.results.tables.folding import folded
from glmclf.results.tables.frames import per_unit, ratio_name
from glmclf.results.tables.numbers import value_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

END_COLUMNS = ["Conf. Int. Low", "Conf. Int. Upp."]
UNKNOWN = "(not determined)"
EDGE = {"<": 0.012, ">": 0.988}  # share of the width at which arrows are drawn


class Rows(NamedTuple):
    """Estimates, ends of their intervals and notes, (rows,); NaN and "" where there is nothing to say."""

    estimate: ndarray
    low: ndarray
    high: ndarray
    note: list[str]


# ---------------------------------------------------------------------------------------------------- coefficients
@true_or_false
def coefficients(
    res: Any,
    exponentiate: bool = False,
    *,
    alpha: float = 0.05,
    which: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    units: Mapping[str, float] | None = None,
    method: str = "wald",
    names: Sequence[str] | None = None,
    panels: bool = False,
    levels: bool | None = None,
    ax: Any = None,
) -> Figure:
    """Forest plot of coefficients with their confidence intervals, of one result or of several beside each other.

    Parameters
    ----------
    res : result, list of results or dict of them by name
        Of any model. Of LDA, QDA and NaiveBayes the coefficients of `res.discriminant`, the logit that they imply.
    exponentiate : bool
        exp of the coefficients on a log axis: odds ratios, hazard ratios or, of several levels, relative risk ratios.
    alpha : float
        One minus the level of the intervals, in (0, 1).
    which : list of str, optional
        Names of coefficients, in the order to show them; by default all but the intercept and terms of more than 50
        coefficients, of which the axis says how many are not drawn.
    drop : list of str
        Names to leave out.
    units : dict, optional
        With `exponentiate`: the change of a regressor that counts as one unit, as in `odds_ratios`; its row is then
        "age (per 10)".
    method : {"wald", "profile"}
        Of the intervals, as in `conf_int`.
    names : list of str, optional
        What to call several results.
    panels : bool
        Of several levels: a panel a level, in place of one with a mark a level. Several results always have panels.
    levels : bool, optional
        Whether factors of many levels have a row each level, as in `summary`; `which` names single ones.
    ax : Axes or list of Axes, optional
        To draw on; with panels as many as these are.

    Returns
    -------
    Figure

    Raises
    ------
    DataError
        No such coefficient.
    NotImplementedError
        Ratios of a Probit, or a profile of a model that has none.

    Notes
    -----
    Infinite estimates (separation) are arrows at the edge with the text "inf", or "0" of a ratio; coefficients that
    were left out are "(omitted)"; an open mark has no interval, as after a lasso.

    Examples
    --------
    >>> from glmclf import Logit, datasets, plots
    >>> res = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector")).fit()
    >>> fig = plots.coefficients(res, exponentiate=True)
    >>> fig.axes[0].get_xscale(), [label.get_text() for label in fig.axes[0].get_yticklabels()]
    ('log', ['GPA', 'TUCE', 'PSI'])
    """
    fits = _fits(res, names)
    tables = {name: _frame(one, exponentiate, check_alpha(alpha), units, method) for name, one in fits.items()}
    many = _many(list(fits.values()), levels) if which is None else {}
    shown = _chosen([t.index.get_level_values(-1) for t in tables.values()], which, drop, many)
    lost = [f"{term} ({len([name for name in many if many[name] == term])})" for term in dict.fromkeys(many.values())]
    sizes = {name: per_unit(name, size) for name, size in (units or {}).items()}
    called = told_apart([(one._owner.model._design, one.model.exog_names) for one in fits.values()], sizes)
    rows = list(dict.fromkeys(some[name] for name in shown for some in called if name in some))
    binary = not all(labelling.levels(one) for one in fits.values())  # beside which the only equation has no level
    if binary:
        tables = {name: table.droplevel(0) if table.index.nlevels > 1 else table for name, table in tables.items()}
    cells = {
        name: _by_level(fits[name], table, rows, some, exponentiate)
        for (name, table), some in zip(tables.items(), called, strict=True)
    }
    heading = _heading(list(fits.values()), exponentiate)
    cov = {str(one.cov_type) for one in fits.values()}
    with_ends = any(END_COLUMNS[0] in t for t in tables.values())
    x = (
        f"{heading}, {labelling.percent(alpha)} interval ({', '.join(sorted(cov))})"
        if with_ends
        else f"{heading} (without intervals)"
    ) + f"; not drawn: coefficients of {', '.join(lost)}" * bool(lost)
    axes = _draw([str(row) for row in rows], cells, panels, 1.0 if exponentiate else 0.0, x, _title(fits), ax)
    return layout.figure_of(axes[0])


def _fits(res: Any, names: Sequence[str] | None) -> dict[str, Any]:
    """Results with coefficients by name; the name includes the response where responses differ."""
    found = labelling.results_of(res, names, "coefficients", ("summary_frame",))
    fits = {name: _with_params(one) for name, one in found.items()}
    sizes = {name: len(labelling.levels(one)) for name, one in fits.items()}
    if min(sizes.values()) == 0 and max(sizes.values()) > 2:
        raise ValueError(
            "coefficients() of a binary model and one of several levels: their coefficients differ in kind"
        )
    only = min(sizes.values()) == 0  # level of the only equation of two levels, beside binary models
    said = {
        name: labelling.probability(one, one._param_index[0][0])
        if only and sizes[name]
        else labelling.response(one).describe()
        for name, one in fits.items()
    }
    if len(set(said.values())) == 1:
        return fits
    return {f"{name}: {said[name]}": one for name, one in fits.items()}


def _with_params(res: Any) -> Any:
    """Result that has coefficients: of a generative model its implied logit."""
    inner = getattr(res, "discriminant", None)
    if inner is not None:
        return inner
    if not hasattr(res, "params") or not hasattr(res, "model"):
        raise TypeError(f"coefficients() draws results of fit() that have params; found {type(res).__name__}")
    return res


def _frame(res: Any, ratio: bool, alpha: float, units: Any, method: str) -> pd.DataFrame:
    """Table of coefficients with the column "coef" and, where there are any, the ends of intervals."""
    if units and not ratio:
        raise ValueError("units= is for exponentiate=True: coefficients are of one unit")
    if not units:
        return res.summary_frame(alpha=alpha, exponentiate=ratio, method=method)
    table = res.odds_ratios(alpha=alpha, units=units, method=method)
    new = {table.columns[0]: "coef"}
    if len(table.columns) > 2:
        new |= dict(zip(table.columns[-2:], END_COLUMNS))
    return table.rename(columns=new).set_axis(res._param_index)


def _many(fits: list[Any], levels: bool | None) -> dict[str, str]:
    """Terms of more coefficients than are drawn unasked, by coefficient."""
    return {one.model.exog_names[i]: term.name for one in fits for term in folded(one, levels) for i in term.columns}


def _chosen(indexes: list[pd.Index], which: Any, drop: Any, many: Mapping[str, str]) -> list[str]:
    """Names of the coefficients to show."""
    known = list(dict.fromkeys(name for index in indexes for name in index))
    constants = {"Intercept", "const"} if len(known) > 1 else set()
    alone = constants if {*known} <= {*many, *constants} else set()  # a factor alone: the constant is all that is left
    return labelling.chosen(known, which, drop, (constants - alone) | {*many})


def _by_level(
    res: Any, table: pd.DataFrame, shown: list[str], labels: Mapping[str, str], ratio: bool
) -> dict[Any, Rows]:
    """Rows of each equation, its coefficients called as `labels` say; of a binary model under None."""
    omitted = getattr(res, "_omitted", None)
    table = table.assign(_omitted=False if omitted is None else omitted)
    table = table.rename(index=labels, level=-1 if isinstance(table.index, pd.MultiIndex) else None)
    if not isinstance(table.index, pd.MultiIndex):
        return {None: _rows(table.reindex(shown), set(table.index), ratio)}
    levels = dict.fromkeys(table.index.get_level_values(0))
    parts = {level: table.xs(level, level=0) for level in levels}
    return {level: _rows(part.reindex(shown), set(part.index), ratio) for level, part in parts.items()}


def _rows(table: pd.DataFrame, known: set[Any], ratio: bool) -> Rows:
    estimate = table["coef"].to_numpy(dtype=float)
    low, high = (table[c].to_numpy(dtype=float) if c in table else np.full(len(table), np.nan) for c in END_COLUMNS)
    gone = table["_omitted"].to_numpy()
    words = {np.inf: "inf", -np.inf: "\N{MINUS SIGN}inf", 0.0: "0" if ratio else ""}
    note = [
        ("" if name not in known else OMITTED if out is True or out == 1 else UNKNOWN)
        if np.isnan(b)
        else words.get(b, "")
        for name, b, out in zip(table.index, estimate, gone)
    ]
    return Rows(estimate, low, high, note)


def _heading(fits: list[Any], ratio: bool) -> str:
    if not ratio:
        return "coefficient"
    return " or ".join(sorted({ratio_name(one) for one in fits}))


def _title(fits: Mapping[str, Any]) -> str:
    """Title of a forest plot: the response and the number of observations, as far as all results agree."""
    said = {labelling.response(one).describe() for one in fits.values()}
    sizes = {float(one.nobs) for one in fits.values()}
    counts = map(labelling.observations, sizes if len(sizes) == 1 else [])
    return ", ".join([*(said if len(said) == 1 else []), *counts])


# --------------------------------------------------------------------------------------------------------- margins
@true_or_false
def margins(res: Any, *, alpha: float = 0.05, panels: bool = False, ax: Any = None, **options: Any) -> Figure:
    """Forest plot of marginal effects with confidence intervals: a row for each variable, a mark for each level.

    Parameters
    ----------
    res : result or MarginalEffects
        Of any model, or what its `get_margeff` gave.
    alpha : float
        One minus the level of the intervals, in (0, 1).
    panels : bool
        Of several levels: a panel a level.
    ax : Axes or list of Axes, optional
        To draw on; with panels one a level.
    **options
        Of `get_margeff`, as ``variables=``, ``at=``, ``over=``.

    Returns
    -------
    Figure

    Examples
    --------
    >>> from glmclf import Logit, datasets, plots
    >>> res = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector")).fit()
    >>> fig = plots.margins(res, variables=["GPA", "PSI"])
    >>> fig.axes[0].get_xlabel()
    'dy/dx on P(GRADE = 1), 95 % interval (nonrobust)'
    """

    def effects(one: Any) -> MarginalEffects:
        labelling.check_keywords(options, "margins", list(signature(one.get_margeff).parameters))
        return one.get_margeff(**options)

    found = labelling.made(res, "margins", MarginalEffects, "get_margeff", options, effects)
    table = found.summary_frame(check_alpha(alpha))
    fit, several = found.results, bool(labelling.levels(found.results))
    parts = (
        {lv: table.xs(lv, level=0) for lv in dict.fromkeys(table.index.get_level_values(0))}
        if several
        else {None: table}
    )
    cells = {level: _effects(part) for level, part in parts.items()}
    first = next(iter(parts.values()))
    x = f"{table.columns[0]} on {labelling.probability(fit)}, {labelling.percent(alpha)} interval ({fit.cov_type})"
    title = "" if found._at == "overall" else f"at: {found._at}"
    rows, variables = _effect_names(first.index)
    if len(variables) == 1 < len(rows):
        title = f"effect of {variables[0]}" + (f", {title}" if title else "")
    axes = _draw(rows, {type(fit.model).__name__: cells}, panels, 0.0, x, title, ax)
    return layout.figure_of(axes[0])


def _effects(part: pd.DataFrame) -> Rows:
    """Effects of a table, the ends of their intervals, and their notes."""
    words = {np.inf: "inf", -np.inf: "\N{MINUS SIGN}inf"}
    effect, low, high = part.iloc[:, [0, 4, 5]].to_numpy(dtype=float).T
    return Rows(effect, low, high, [UNKNOWN if np.isnan(b) else words.get(b, "") for b in effect])


def _effect_names(index: pd.Index) -> tuple[list[str], list[str]]:
    """Labels of rows (the variable, if there are several, what was set and the group), and the variables."""
    names = [str(name) for name in index.get_level_values(-1)]
    variables = list(dict.fromkeys(names))
    if not isinstance(index, pd.MultiIndex):
        return names, variables
    heads = [str(name) for name in index.names[:-1]]
    settings = [", ".join(f"{h} = {value_text(v)}" for h, v in zip(heads, row)) for row in index.to_flat_index()]
    return settings if len(variables) == 1 else [f"{n}, {s}" for n, s in zip(names, settings)], variables


# --------------------------------------------------------------------------------------------------------- drawing
def _draw(
    rows: list[str], cells: dict[str, dict[Any, Rows]], panels: bool, reference: float, x: str, title: str, ax: Any
) -> list[Axes]:
    """Draw the rows of results and levels, in one panel or in a panel for each level."""
    series, heads = _arranged(cells, panels)
    labels = [layout.wrapped(name) for name in rows]
    places, total = layout.stacked(labels, max(map(len, series)))
    keys = list(dict.fromkeys(name for one in series for name in one))
    columns, wide = min(len(series), 4), 4.2 if len(series) == 1 else 2.7
    gutter = layout.LETTER * max(len(line) for label in labels for line in label.split("\n")) + 0.4
    axes = layout.several(
        ax, len(series), (gutter + wide * columns, (total + 1.2) * -(-len(series) // columns)), columns
    )
    for i, (one, panel) in enumerate(zip(series, axes)):
        _marks(panel, one, keys, places, reference)
        layout.row_labels(panel, labels, places, total, ax is None, shown=ax is not None or i % columns == 0)
        layout.caption(panel, heads[i] or title, x, width=wide if ax is None else None)
    if heads[0] and title and ax is None:
        head = layout.wrapped(title, int(wide * columns / layout.LETTER))
        layout.figure_of(axes[0]).suptitle(head, fontsize=11)
    if len(keys) > 1:
        for k, name in enumerate(keys):  # a legend of all results, in the last panel or not
            axes[-1].plot([], [], layout.marker(k), color=layout.colour(k), linestyle="none", label=layout.named(name))
        layout.legend(axes[-1], ax is None, most=0, width=wide)
    return axes


def _arranged(cells: dict[str, dict[Any, Rows]], panels: bool) -> tuple[list[dict[str, Rows]], list[str]]:
    """Series of each panel by name, and the titles of panels, "" for a single panel."""
    levels = list(dict.fromkeys(level for by_level in cells.values() for level in by_level))
    if levels == [None]:
        return [{name: by_level[None] for name, by_level in cells.items()}], [""]
    words = {level: str(labelling.plain(level)) for level in levels}
    if not panels and len(cells) == 1:
        return [{words[level]: rows for level, rows in next(iter(cells.values())).items()}], [""]
    series = [{name: by_level[level] for name, by_level in cells.items() if level in by_level} for level in levels]
    return series, list(words.values())


def _marks(ax: Axes, series: dict[str, Rows], keys: list[str], places: ndarray, reference: float) -> None:
    """Draw estimates and intervals of several series on one panel."""
    ratio = reference == 1.0
    low, high = _limits(list(series.values()), reference)
    if ratio:
        ax.set_xscale("log")
        layout.log_axis(ax.xaxis, low, high)
    ax.set_xlim(low, high)
    ax.axvline(reference, color=layout.GREY, linewidth=1, linestyle="--", zorder=1)
    for i, (name, rows) in enumerate(series.items()):
        k = keys.index(name)
        y, colour = places + layout.DODGE * (i - (len(series) - 1) / 2), layout.colour(k)
        ends = ~(np.isnan(rows.low) & np.isnan(rows.high))
        left = np.where(rows.low > (0 if ratio else -np.inf), rows.low, low)
        left = np.where(np.isnan(rows.low), rows.estimate, left)  # no line to an unknown end
        right = np.where(np.isnan(rows.high), rows.estimate, np.minimum(rows.high, high))
        ax.hlines(y[ends], left[ends], right[ends], color=colour, linewidth=1.6, zorder=2)
        there = np.isfinite(rows.estimate) & ~((rows.estimate == 0) & ratio)
        style: dict[str, Any] = {"color": colour, "linestyle": "none", "markersize": 5.5, "zorder": 3}
        for some, face in ((there & ends, colour), (there & ~ends, "white")):
            ax.plot(rows.estimate[some], y[some], layout.marker(k), markerfacecolor=face, **style)
        _at_edges(ax, rows, y, colour, ratio)
    layout.tidy(ax, "x")


def _limits(series: list[Rows], reference: float) -> tuple[float, float]:
    """Ends of the x axis: all finite numbers and the reference, with margins that multiply on a log axis.

    A margin is wide enough for the words of infinite estimates on its side.
    """
    values = np.concatenate([np.r_[rows.estimate, rows.low, rows.high] for rows in series])
    ratio = reference == 1.0
    values = np.r_[values[np.isfinite(values) & ((values > 0) | (not ratio))], reference]
    values = np.log(values) if ratio else values
    low, high = values.min(), values.max()
    pad = 0.06 * (high - low) if high > low else np.log(2.0) if ratio else 1.0
    estimates = np.concatenate([rows.estimate for rows in series])
    below, above = (estimates == (0.0 if ratio else -np.inf)).any(), np.isposinf(estimates).any()
    ends = np.array([low - pad * (4 if below else 1), high + pad * (4 if above else 1)])
    with np.errstate(over="ignore"):
        ends = np.exp(ends) if ratio else ends
    return float(max(ends[0], np.finfo(float).tiny) if ratio else ends[0]), float(min(ends[1], np.finfo(float).max))


def _at_edges(ax: Axes, rows: Rows, y: ndarray, colour: str, ratio: bool) -> None:
    """Draw arrows where an interval or estimate exceeds the axis, and the notes of estimates that are not finite."""
    across, size = ax.get_yaxis_transform(), layout.small(ax, 8.5)
    least = 0.0 if ratio else -np.inf
    for mark, end, ends in (("<", least, rows.low), (">", np.inf, rows.high)):
        some = (ends == end) | (rows.estimate == end)
        if some.any():
            edge = np.full(some.sum(), EDGE[mark])
            ax.plot(edge, y[some], mark, color=colour, transform=across, markersize=6, clip_on=False)
    box = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
    for text, b, place in zip(rows.note, rows.estimate, y):
        side = -1 if b == least else 1 if b == np.inf else 0
        at, align = {-1: (EDGE["<"], "left"), 1: (EDGE[">"], "right"), 0: (0.5, "center")}[side]
        if text:
            ax.annotate(
                text, (at, place), xycoords=across, xytext=(-9.0 * side, 0), textcoords="offset points", ha=align,
                va="center", fontsize=size, color=colour if side else layout.GREY, bbox=box,
            )  # fmt: skip
