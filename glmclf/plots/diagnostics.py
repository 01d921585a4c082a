"""Plots of diagnostics: influence, residuals and partial residuals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf import registry
from glmclf.checks import check_choice, check_whole, true_or_false
from glmclf.data.table.frame import close_to
from glmclf.errors import DataError, InferenceWarning, without_warnings
from glmclf.inference.hypotheses.wald import check_alpha
from glmclf.inference.performance.smoothing import local_lines
from glmclf.inference.residuals.quantile import order_statistics
from glmclf.plots import labelling, layout, marks
from glmclf.results.base import times_of
from glmclf.results.diagnostics.residuals import partial_weights
from glmclf.results.margins.options import beside_rows
from glmclf.results.margins.predictors import LinearPredictors, design_parts
from glmclf.results.tables.numbers import with_minus

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RESIDUALS = {
    "resid_studentized": "studentised Pearson residual",
    "resid_studentized_dev": "studentised deviance residual",
    "resid_deleted": "deletion residual, ±√Δ deviance",
    "delta_chi2": "fall of Pearson's χ² without it",
    "delta_deviance": "fall of the deviance without it",
}
MAX_AREA = 500.0  # area of the largest point, in points squared
MIN_ROWS_OF_TREND = 20  # rows from which a trend of residuals is drawn
MAX_BAND_POINTS = 1000  # points at which the band of a normal plot is computed
MAX_BOXES = 40  # categories that are drawn


# ------------------------------------------------------------------------------------------------------- influence
def influence(res: Any, y: str | None = None, *, by: str = "row", label: int = 5, ax: Axes | None = None) -> Figure:
    """Influence plot: leverage against a residual, Cook's distance as the area, the largest distances labelled.

    Parameters
    ----------
    res : result
        Of a regression, with its rows.
    y : str, optional
        What is on the y axis, an attribute of `res.get_influence()`: "resid_studentized" (the default of two classes),
        "resid_studentized_dev", "resid_deleted", "delta_chi2" or "delta_deviance" (the default of several).
    by : {"row", "pattern"}
        Points are rows, or covariate patterns, as in `get_influence`.
    label : int
        How many of the largest Cook's distances are labelled, by the index of the row (of the pattern's first row).
    ax : Axes, optional
        To draw on; by default those of a new figure.

    Returns
    -------
    Figure

    Raises
    ------
    NotImplementedError
        A result without influence: LDA, QDA and NaiveBayes, penalised and some separated fits; residuals of several
        classes; the rows are in a stream.
    DataError
        The rows were removed, or not saved.
    TypeError, ValueError
        Something else than a result; unknown options.

    Notes
    -----
    The dashed line is twice the mean leverage; dotted ones are at -2 and 2. A row that alone determines a coefficient
    has no influence (NaN): it is a cross at the lower edge, at its leverage.

    Examples
    --------
    >>> from glmclf import Logit, datasets, plots
    >>> res = Logit.from_formula("GRADE ~ GPA + PSI", datasets.load("spector")).fit()
    >>> fig = plots.influence(res, label=2)
    >>> fig.axes[0].get_xlabel(), sorted(text.get_text() for text in fig.axes[0].texts)
    ('leverage', ['23', '31'])
    """
    if hasattr(res, "discriminant"):
        raise NotImplementedError(
            f"influence() of {type(res.model).__name__}: its estimates are means and covariances, of which "
            f"leave_one_out() and typicality() tell; influence is of {registry.listed(registry.REGRESSIONS)}"
        )
    labelling.check(res, "influence", ["get_influence"])
    check_whole("label", label, 0, "how many points are labelled")
    if y is not None:
        check_choice("y", y, RESIDUALS)
    found = res.get_influence(by=by)
    y = y or ("delta_deviance" if labelling.levels(res) else "resid_studentized")
    ax = layout.axes(ax)
    h, r, cooks = found.hat_matrix_diag, getattr(found, y), found.cooks_distance[0]
    area = _bubbles(ax, h.to_numpy(), r.to_numpy(), cooks.to_numpy(), by)
    if y.startswith("resid"):
        for level in (-2, 0, 2):
            ax.axhline(level, color=layout.GREY, linewidth=0.8, linestyle=":" if level else "-", zorder=1)
    reference: dict[str, Any] = {"color": layout.GREY, "linewidth": 0.8, "zorder": 1}
    ax.axvline(2 * float(h.mean()), linestyle="--", label="twice the mean leverage", **reference)
    what = "rows" if by == "row" else "covariate patterns"
    layout.caption(ax, f"Influence of {len(h):,} {what}", "leverage", RESIDUALS[y])
    layout.tidy(ax)
    largest = cooks.fillna(-1.0).to_numpy().argsort(kind="stable")[::-1][:label]
    largest = largest[np.isfinite(r.to_numpy() + cooks.to_numpy())[largest]]
    marks.key(ax, False)
    radius = np.sqrt(area[largest] / np.pi)
    marks.label_points(ax, h.to_numpy()[largest], r.to_numpy()[largest], h.index[largest], radius)
    return layout.figure_of(ax)


def _bubbles(ax: Axes, h: ndarray, r: ndarray, cooks: ndarray, by: str) -> ndarray:
    """Draw points whose area is Cook's distance, and return the areas; crosses at the edge where there is none."""
    known = np.isfinite(r) & np.isfinite(cooks)
    top = cooks[known].max(initial=0.0)
    largest = MAX_AREA * min(1.0, min(layout.inches(ax)) / 3.5) ** 2
    area = np.maximum(largest * cooks / top, 4.0) if top > 0 else np.full(len(cooks), 4.0)
    ax.margins(0.08)
    look: dict[str, Any] = {"color": layout.colour(0), "alpha": 0.5, "linewidths": 0.6, "edgecolors": "black"}
    label = f"area: Cook's distance, up to {with_minus(float(top))}"
    ax.scatter(h[known], r[known], s=area[known], label=label, **look)
    lost = int((~known).sum())
    if lost:
        at, label = np.full(lost, 0.02), f"no estimate without the {by} ({lost})"
        ax.scatter(h[~known], at, transform=ax.get_xaxis_transform(), marker="x", color="black", label=label)
        pad = 0.05 * np.ptp(h) or 0.05
        ax.set_xlim(h.min() - pad, h.max() + pad)
    return area


# ------------------------------------------------------------------------------------------------------- residuals
def residuals(
    res: Any, against: Any = None, *, seed: Any = 0, bins: int = 10, alpha: float = 0.05, ax: Any = None
) -> Figure:
    """Residual plots: quantile residuals against the fit, their normal plot, and binned residuals.

    Parameters
    ----------
    res : result
        Of any model, with its rows.
    against : str or array_like, optional
        What quantile residuals are drawn against: a column of the data, also one that is not in the formula; a Series,
        matched by label; or an array with a value a row, of the fit or of the table. Dates have an axis of dates, other
        values that are no numbers a box each, the most frequent 40. By default the fitted probability of the event,
        with several classes that of the likeliest one.
    seed : int, SeedSequence or Generator
        Of the randomised quantile residuals.
    bins : int
        Of the third panel.
    alpha : float
        One minus the level of the bands and intervals, in (0, 1).
    ax : sequence of 3 Axes, optional
        To draw on; by default those of a new figure.

    Returns
    -------
    Figure

    Raises
    ------
    NotImplementedError
        A fractional response, which has no distribution; the rows are in a stream.
    DataError
        The rows were removed, or not saved; `against` is not a column of the data, or does not fit its rows.

    Notes
    -----
    If the fitted probabilities are right, quantile residuals (`resid_quantile`) are independent standard normal
    numbers: no trend against anything, and points in the band of the normal plot, which is that of each of n ordered
    normal numbers by itself. The trend is a local line (lowess without robust iterations). Binned residuals are
    observed shares less mean predictions, with intervals, of `res.calibration(bins)`; of several classes each against
    the rest.

    Examples
    --------
    >>> from glmclf import Logit, datasets, plots
    >>> res = Logit.from_formula("GRADE ~ GPA + PSI", datasets.load("spector")).fit()
    >>> fig = plots.residuals(res, bins=4)
    >>> [ax.get_ylabel() for ax in fig.axes]
    ['quantile residual', 'quantile residual', 'observed − predicted']
    """
    labelling.check(res, "residuals", ["resid_quantile"])
    check_alpha(alpha)
    z = res.resid_quantile(seed)
    x, name = _fitted(res) if against is None else _against(res, against)
    times = times_of(res.model._rows, res.model._frequency)
    first, second, third = layout.several(ax, 3, (3 * layout.PANEL, 3.6))
    _trend(first, x if isinstance(x, pd.DataFrame) else x.repeat(times), z, name, ax is None)
    normal_plot(second, z, alpha, ax is None)
    _binned(third, res, bins, alpha, ax is None)
    return layout.figure_of(first)


def _fitted(res: Any) -> tuple[Any, str]:
    """Fitted probabilities of the rows."""
    p = res.fittedvalues
    if isinstance(p, pd.Series):
        return p, f"fitted {labelling.probability(res)}"
    if isinstance(res.resid_quantile(0), pd.DataFrame):
        times = times_of(res.model._rows, res.model._frequency)
        p = labelling.columns(p, res.levels).iloc[np.repeat(np.arange(len(p)), times)]
        return p, "fitted probability of the level"
    return p.max(axis=1), "fitted probability of the likeliest level"


def _against(res: Any, against: Any) -> tuple[pd.Series, str]:
    """Variable that residuals are plotted against: a column of the data or values beside its rows; times as numbers."""
    rows = res.model._rows
    if isinstance(against, str):
        table = res.model._fit_table()
        names = {str(c): c for c in table.columns}
        if against not in names:
            raise DataError(f'against="{against}" is no column of the data. {close_to(against, names)}')
        return pd.Series(table[names[against]].array, index=rows.index), against
    name = getattr(against, "name", None)
    given = pd.Series(against).array if isinstance(against, (list, tuple)) else against
    values = beside_rows(res.model, given, "against")
    return pd.Series(values.array, index=rows.index), "against" if name is None else str(name)


def _times(x: pd.Series) -> tuple[pd.Series, str]:
    """Times to plot, dates as pandas' own and spans of time as days, with the label of their axis."""
    if x.dtype == object and pd.api.types.infer_dtype(x, skipna=True) in ("date", "datetime", "datetime64"):
        x = pd.to_datetime(x)
    if isinstance(x.dtype, pd.PeriodDtype):
        x = x.dt.to_timestamp()
    if isinstance(x.dtype, pd.DatetimeTZDtype):
        return x.dt.tz_localize(None), f" ({x.dtype.tz})"
    if x.dtype.kind == "m":
        return x / pd.Timedelta(days=1), " (days)"
    return x, ""


def _trend(ax: Axes, x: Any, z: Any, name: str, own: bool) -> None:
    """Draw residuals against x with a local line, or boxes by category."""
    if isinstance(x, pd.Series):
        x, said = _times(x)
        name += said
    layout.caption(ax, f"Residuals of {len(z):,} rows", name, "quantile residual")
    layout.tidy(ax)
    for level in (-2, 0, 2):
        ax.axhline(level, color=layout.GREY, linewidth=0.8, linestyle=":" if level else "-", zorder=1)
    if isinstance(x, pd.DataFrame):
        for k, level in enumerate(x.columns):
            _cloud(ax, x[level].to_numpy(), z[level].to_numpy(), k, marks.name(level))
        if not own:  # else it stands beside the third panel
            marks.key(ax, False)
    elif x.dtype.kind == "M":
        _dates(ax, x, z)
    elif pd.api.types.is_numeric_dtype(x.dtype) and not pd.api.types.is_bool_dtype(x.dtype):
        _cloud(ax, x.to_numpy(dtype=float, na_value=np.nan), z.to_numpy(), 0, None)
    else:
        _boxes(ax, x, z, name)


def _dates(ax: Axes, x: pd.Series, z: pd.Series) -> None:
    """Draw residuals over time."""
    from matplotlib import dates

    days = np.where(x.isna(), np.nan, dates.date2num(x.to_numpy(dtype="datetime64[us]")))
    _cloud(ax, days, z.to_numpy(), 0, None)
    places = dates.AutoDateLocator(maxticks=max(3, int(layout.inches(ax)[0] / 0.6)))
    ax.xaxis.set_major_locator(places)
    ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(places))


def _cloud(ax: Axes, x: ndarray, z: ndarray, k: int, label: str | None) -> None:
    known = np.isfinite(x) & np.isfinite(z)
    x, z = x[known], z[known]
    alpha = 0.7 if len(x) < 500 else 0.35 if len(x) < 5000 else 0.1
    ax.scatter(x, z, s=12, alpha=alpha, linewidths=0, label=label, **marks.look(k))
    if len(x) >= MIN_ROWS_OF_TREND:
        _smooth(ax, x, z, None, layout.colour(k) if label else layout.COLOURS[5])


def _smooth(ax: Axes, x: ndarray, z: ndarray, weights: ndarray | None, colour: str) -> None:
    """Draw a local line through points, over the range of x."""
    if len(np.unique(x)) < 5:
        return
    at = np.unique(np.quantile(x, np.linspace(0, 1, 80 if len(x) < 5000 else 40)))
    ax.plot(at, local_lines(x, z, at, weights), color=colour, linewidth=2, zorder=3)


def _boxes(ax: Axes, x: pd.Series, z: pd.Series, name: str) -> None:
    """Draw boxes of residuals by category; of many categories only the most frequent ones."""
    codes, every = pd.factorize(x, sort=True)
    shown = np.sort(np.argsort(-np.bincount(codes[codes >= 0], minlength=len(every)), kind="stable")[:MAX_BOXES])
    found, values, n = every[shown], z.to_numpy(), len(shown)
    if len(every) > n:
        layout.caption(ax, "", f"{name} (the most frequent {n} of {len(every):,})")
    groups = [values[(codes == k) & np.isfinite(values)] for k in shown]
    ax.boxplot(groups, widths=0.6, medianprops={"color": layout.COLOURS[5]}, flierprops={"markersize": 3})
    layout.categories(ax, range(1, n + 1), found)


def normal_plot(ax: Axes, z: Any, alpha: float, own: bool, legend: bool = True) -> None:
    """Draw ordered residuals against medians of normal order statistics, with their band."""
    columns = z if isinstance(z, pd.DataFrame) else z.to_frame("")
    longest = 0
    for k, level in enumerate(columns):
        values = np.sort(columns[level].dropna().to_numpy())
        n = len(values)
        if not n:
            continue
        ranks = np.unique(np.linspace(1, n, min(n, MAX_BAND_POINTS)).round().astype(int))
        ranks = np.unique(np.concatenate([ranks, np.arange(1, min(n, 50) + 1), np.arange(max(n - 49, 1), n + 1)]))
        median, low, high = order_statistics(ranks, n, alpha).T
        if n > longest:
            longest = n
            band = (median, low, high)
        ax.plot(
            median, values[ranks - 1], linestyle="none", markersize=3,
            label=None if own or columns is not z else marks.name(level), **marks.look(k),
        )  # fmt: skip
    if longest:
        said = f"{labelling.percent(alpha)} of each" if legend else None
        ax.fill_between(*band, color=layout.PALE, zorder=0, label=said)
        ax.axline((0, 0), slope=1, color=layout.GREY, linewidth=0.8, zorder=1)
    layout.caption(ax, "Normal plot", "normal quantile", "quantile residual")
    layout.tidy(ax)
    if legend:
        marks.key(ax, False, "upper left")


def _binned(ax: Axes, res: Any, bins: int, alpha: float, own: bool) -> None:
    """Draw observed less predicted shares by bin, with intervals."""
    with without_warnings(InferenceWarning):  # of summaries that are not drawn
        curve = res.calibration(bins=bins).curve_frame(alpha)
    levels = list(dict.fromkeys(curve.index.get_level_values("level"))) if curve.index.nlevels > 1 else [None]
    for k, level in enumerate(levels):
        c = curve if level is None else curve.loc[level]
        low, high = c.observed - c.lower, c.upper - c.observed
        ax.errorbar(
            c.predicted, c.observed - c.predicted, [low.clip(lower=0), high.clip(lower=0)], markersize=4, linewidth=1,
            linestyle="none", label=None if level is None else marks.name(level), **marks.look(k),
        )  # fmt: skip
    ax.axhline(0, color=layout.GREY, linewidth=0.8, zorder=1)
    what = labelling.probability(res) if len(levels) == 1 else "probability of the level"
    title = f"Bins, with {labelling.percent(alpha)} intervals"
    layout.caption(ax, title, f"mean predicted {what}", "observed − predicted")
    layout.tidy(ax)
    if len(levels) > 1:
        marks.key(ax, own, most=0)


# --------------------------------------------------------------------------------------------- partial residuals
@true_or_false
def partial_residuals(
    res: Any, terms: str | Sequence[str] | None = None, *, level: Any = None, smooth: bool = True, ax: Any = None
) -> Figure:
    """Partial residual plots: the component of each term of the linear predictor, with its partial residuals.

    Parameters
    ----------
    res : result
        Of a regression, with its rows.
    terms : str or list of str, optional
        Terms of the formula, a panel each; by default all that are made of one variable.
    level : label, optional
        With several classes: the level whose linear predictor, against the reference, is looked at.
    smooth : bool
        Whether to draw a local line through the residuals of a number, weighted by the working weights.
    ax : Axes or sequence of Axes, optional
        To draw on, one a panel; by default those of a new figure.

    Returns
    -------
    Figure

    Raises
    ------
    NotImplementedError
        A model without working residuals; the rows are in a stream.
    DataError
        The rows were removed, or not saved; a term that is not there, or is of several variables.
    ValueError
        Several classes and no `level`.

    Notes
    -----
    The area of a point is, in eighths, its weight in the smooth, one over the variance of its working residual: those
    of rows that are all but certain are huge and weigh next to nothing. The axis shows 99 % of the weight. Where the
    local line leaves the line of the model, the data ask for another shape (Landwehr, Pregibon & Shoemaker 1984).
    A term whose coefficients were left out, as others repeat it, adds 0 and is named "(omitted)".

    Examples
    --------
    >>> from glmclf import Logit, datasets, plots
    >>> res = Logit.from_formula("GRADE ~ GPA + PSI", datasets.load("spector")).fit()
    >>> fig = plots.partial_residuals(res, "GPA")
    >>> fig.axes[0].get_xlabel()
    'GPA'
    """
    if hasattr(res, "discriminant"):
        raise NotImplementedError(f"partial_residuals() of {type(res.model).__name__}, which has no linear predictor")
    labelling.check(res, "partial_residuals", ["resid_partial"])
    parts, points, weights = res.components(), res.resid_partial(), partial_weights(res)
    if isinstance(parts.columns, pd.MultiIndex):
        known = list(dict.fromkeys(parts.columns.get_level_values(0)))
        if level is None or level not in known:
            raise ValueError(f"level={level!r}: partial residuals are of one equation; choose one of {known}")
        parts, points, weights = parts[level], points[level], labelling.columns(weights, [level])
    elif level is not None:
        raise ValueError(f"level={level!r} is for several classes; {type(res.model).__name__} has one equation")
    source, variables = LinearPredictors(res), _variables_of_terms(res)
    chosen = _chosen_terms(terms, list(parts.columns), variables)
    columns = min(len(chosen), 3)
    size = (4.2, 3.8) if len(chosen) == 1 else (layout.PANEL * columns, 3.4 * -(-len(chosen) // columns))
    w, table = weights.iloc[:, 0].to_numpy(), source.table()
    all_axes = layout.several(ax, len(chosen), size, columns)
    for one, term in zip(all_axes, chosen):
        x, z = table[variables[term][0]], points[term].to_numpy()
        levels = source.levels_of(variables[term][0], table)
        name = "model (omitted)" if _term_omitted(res, term, level) else "model"
        said = _part(one, x, parts[term].to_numpy(), z, w, levels, smooth, name)
        of = "" if level is None else f" of {labelling.plain(level)!r}"
        layout.caption(one, said, variables[term][0], f"what {term} adds to the linear predictor{of}")
    figure = layout.figure_of(all_axes[0])
    marks.keys(figure, all_axes, ax is None)
    return figure


def _variables_of_terms(res: Any) -> dict[str, list[str]]:
    """Columns of the data in each term, by term."""
    k = len(res.model.exog_names)
    found = {}
    for term, place in res.model._design.terms.items():
        own = set(np.arange(k)[place].tolist())
        names = [name for variables, at in design_parts(res.model._design) if own & set(at) for name in variables]
        found[term] = list(dict.fromkeys(names))
    return found


def _term_omitted(res: Any, term: str, level: Any) -> bool:
    """Whether all coefficients of a term (of a level) were omitted, so that the term adds 0."""
    if res._omitted is None:
        return False
    gone = res._omitted.reshape(-1, len(res.model.exog_names))
    equation = 0 if level is None else list(res.params.columns).index(level)
    return bool(gone[equation, res.model._design.terms[term]].all())


def _chosen_terms(terms: Any, known: list[str], variables: dict[str, list[str]]) -> list[str]:
    """Terms to draw: those asked for, or all with one variable."""
    if terms is None:
        chosen = [term for term in known if len(variables[term]) == 1]
        if not chosen:
            raise DataError(f"no term is made of one variable: {known}")
        return chosen
    chosen = [terms] if isinstance(terms, str) else list(terms)
    for term in chosen:
        if term not in known:
            raise DataError(f'"{term}" is no term of the model. {close_to(str(term), known)}')
        if len(variables[term]) != 1:
            raise DataError(f'"{term}" is made of {variables[term]}: partial residuals are drawn against one variable')
    if not chosen:
        raise ValueError("terms=[]: name one at least")
    return chosen


def _weighed(ax: Axes, x: ndarray, z: ndarray, weight: ndarray) -> None:
    """Draw points whose area is their weight, in eight sizes: lines of markers are much faster than scatters."""
    size = np.ceil(weight * 8).clip(1, 8)
    for s in np.unique(size):
        own = size == s
        style: dict[str, Any] = {"marker": "o", "linestyle": "none", "markeredgewidth": 0}
        style["alpha"] = 0.6 if len(x) < 2000 else 0.2
        ax.plot(x[own], z[own], markersize=np.sqrt(30 * s / 8), color=layout.colour(0), **style)


def _part(ax: Axes, x: pd.Series, part: ndarray, z: ndarray, w: ndarray, levels: Any, smooth: bool, name: str) -> str:
    """Draw the component of a term, its partial residuals, and their trend; words for points out of view."""
    layout.tidy(ax)
    if levels is None:
        at = x.to_numpy(dtype=float, na_value=np.nan)
        spread = at
    else:
        at = pd.Index(levels).get_indexer(pd.Index(x.astype(object))).astype(float)
        spread = at + marks.jitter(len(at), 0.25)
        layout.categories(ax, range(len(levels)), [labelling.plain(v) for v in levels])
        ax.set_xlim(-0.5, len(levels) - 0.5)
    known = np.isfinite(part) & np.isfinite(z) & np.isfinite(at) & (w > 0)
    if not known.any():
        ax.text(0.5, 0.5, "(infinite coefficient)", ha="center", va="center", transform=ax.transAxes)
        ax.set_yticks([])
        return ""
    at, part, z, w, spread = at[known], part[known], z[known], w[known], spread[known]
    _weighed(ax, spread, z, w / w.max())
    order = at.argsort(kind="stable")
    style: dict[str, Any] = {"linestyle": "none", "marker": "_", "markersize": 18, "markeredgewidth": 2}
    ax.plot(at[order], part[order], color="black", linewidth=1.5, label=name, **(style if levels else {}))
    lines = [part]
    if smooth and levels is None and len(np.unique(at)) >= 5:
        _smooth(ax, at, z, w, layout.COLOURS[5])
        ax.lines[-1].set(label="trend of the residuals", linestyle="--")
        lines.append(np.asarray(ax.lines[-1].get_ydata()))
    return _view(ax, z, w, np.concatenate(lines))


def _view(ax: Axes, z: ndarray, w: ndarray, lines: ndarray) -> str:
    """Set the y limits to show 99 % of the weight and all lines; say how many points are out of view."""
    order = z.argsort()
    share = w[order].cumsum() / w.sum()
    low, high = z[order][np.searchsorted(share, [0.005, 0.995]).clip(max=len(z) - 1)]
    low, high = min(low, np.nanmin(lines)), max(high, np.nanmax(lines))
    margin = 0.05 * (high - low) or 1.0
    ax.set_ylim(low - margin, high + margin)
    hidden = int(((z < low - margin) | (z > high + margin)).sum())
    return f"{hidden:,} of {len(z):,} points out of view" if hidden else ""
