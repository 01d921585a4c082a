"""Distributions of the classes in two features or canonical functions: ellipses, canonical scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.special import chdtri, ndtri

from glmclf.checks import is_whole, true_or_false
from glmclf.data.table.frame import as_frame, close_to
from glmclf.errors import DataError
from glmclf.plots import data, labelling, layout, marks
from glmclf.results.performance.rows import scored_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# -------------------------------------------------------------------------------------------------------- ellipses
@true_or_false
def ellipses(
    res: Any,
    x: str,
    y: str,
    *,
    content: float | Sequence[float] = (0.5, 0.95),
    newdata: Any = None,
    points: bool = True,
    ax: Axes | None = None,
) -> Figure:
    """The normal distribution of each class in two features: its mean and ellipses, with the data.

    Parameters
    ----------
    res : result
        Of LDA or QDA; of NaiveBayes with two gaussian features, whose ellipses have axes along the features.
    x, y : str
        Features, as `res.feature_names` has them.
    content : float or sequence of float
        Shares of the class's distribution that lie inside the ellipses, in (0, 1).
    newdata : DataFrame, optional
        Rows to draw in place of those of the fit.
    points : bool
        Whether to draw the rows; ellipses need none.
    ax : Axes, optional
        To draw on; by default those of a new figure.

    Returns
    -------
    Figure

    Raises
    ------
    NotImplementedError
        Another model, or a feature of another family; points of rows that are in a stream.
    DataError
        A feature that is not there; points of a result without rows and no `newdata`.

    Notes
    -----
    The ellipse of content c is where the squared Mahalanobis distance is the c quantile of chi-squared with 2 degrees
    of freedom, by `res.means` and `res.covariances` (naive Bayes: `res.conditionals`): the distribution as estimated,
    without the uncertainty of the estimate.

    Examples
    --------
    >>> from glmclf import QDA, datasets, plots
    >>> res = QDA.from_formula("species ~ bill_length_mm + bill_depth_mm", datasets.load("penguins")).fit()
    >>> fig = plots.ellipses(res, "bill_length_mm", "bill_depth_mm", content=0.9)
    >>> len(fig.axes[0].lines)
    6
    """
    labelling.check(res, "ellipses", ["predict"])
    shares = _shares(content)
    means, covariances = _normals(res, [x, y])
    ax_ = layout.axes(ax, (6.0, max(5.0, marks.lines_of(res.levels))))
    if points:
        _rows_of_features(ax_, res, [x, y], newdata)
    _draw_ellipses(ax_, res.levels, means, covariances, shares, not points)
    title = f"{type(res.model).__name__}: {_contents(shares)} of each class"
    layout.caption(ax_, title, x, y, width=3.8 if ax is None else None)
    layout.tidy(ax_)
    marks.keys(layout.figure_of(ax_), [ax_], ax is None)
    return layout.figure_of(ax_)


def _shares(content: Any) -> list[float]:
    shares = np.atleast_1d(content).tolist()
    if not shares or not all(isinstance(c, float) and 0 < c < 1 for c in shares):
        raise ValueError(f"content={content!r}: shares of a law, between 0 and 1")
    return sorted(shares)


def _contents(shares: Sequence[float]) -> str:
    return " and ".join(f"{100 * c:.10g} %" for c in shares)


def _normals(res: Any, names: list[str]) -> tuple[pd.DataFrame, dict[Any, ndarray]]:
    """Means and covariances of two features in each class."""
    if not hasattr(res, "discriminant"):
        raise NotImplementedError(
            f"ellipses() of {type(res.model).__name__}, which has no law of the regressors: LDA, QDA and NaiveBayes do"
        )
    for name in names:
        if name not in res.feature_names:
            raise DataError(f'"{name}" is no feature of the model. {close_to(str(name), res.feature_names)}')
    if names[0] == names[1]:
        raise DataError(f'x and y are both "{names[0]}": ellipses are of two features')
    if hasattr(res, "conditionals"):
        return _independent_features(res, names)
    own = _covariances(res)
    return res.means[names], {k: own[k].loc[names, names].to_numpy() for k in res.levels}


def _covariances(res: Any) -> dict[Any, pd.DataFrame]:
    """Covariance matrix of each class, which may share one."""
    found = res.covariances
    return found if isinstance(found, dict) else dict.fromkeys(res.levels, found)


def _independent_features(res: Any, names: list[str]) -> tuple[pd.DataFrame, dict[Any, ndarray]]:
    tables = [res.conditionals[name] for name in names]
    other = [name for name, table in zip(names, tables) if ("var", "estimate") not in table]
    if other:
        families = {f.name: f.family for f in res.model.features}
        what = ", ".join(f'"{name}" is {families[name]}' for name in other)
        raise NotImplementedError(f"ellipses() are of gaussian features; {what}. See densities()")
    means = pd.DataFrame({name: table["mean", "estimate"] for name, table in zip(names, tables)})
    spread = np.column_stack([table["var", "estimate"] for table in tables])
    return means, {k: np.diag(v) for k, v in zip(res.levels, spread)}


def _rows_of_features(ax: Axes, res: Any, names: list[str], newdata: Any) -> None:
    """Draw the rows of the fit, or of new data, by their features."""
    places = [res.feature_names.index(name) for name in names]
    if newdata is None:
        rows = scored_rows(res)
        table = newdata
        shown = data.judged_rows(res, pd.DataFrame(index=rows.index), rows, None)
    else:
        table = as_frame(newdata).reset_index(drop=True)
        shown = data.shown_rows(res, table, None, None)
        table = shown.table
    values = res._values(table)[0]
    a, b = (np.asarray(values[j] if isinstance(values, list) else values[:, j], dtype=float) for j in places)
    marks.points(ax, a, b, shown.places, res.levels)


def _draw_ellipses(
    ax: Axes, levels: Sequence[Any], means: pd.DataFrame, covariances: dict[Any, ndarray], shares: Any, named: bool
) -> None:
    """Draw means as large marks and ellipses as lines."""
    t = np.linspace(0, 2 * np.pi, 181)
    circle = np.stack([np.cos(t), np.sin(t)])
    for k, level in enumerate(levels):
        centre = means.iloc[k].to_numpy()
        values, vectors = np.linalg.eigh(covariances[level])
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        look = marks.look(k)
        for c in shares:
            x, y = centre[:, None] + np.sqrt(chdtri(2, 1 - c)) * (root @ circle)
            ax.plot(x, y, color=look["color"], linestyle=layout.dashes(k), linewidth=1.5, zorder=3)
        ax.plot(
            *centre, markersize=10, markeredgecolor="black", zorder=4, linestyle="none",
            label=marks.name(level) if named else None, **look,
        )  # fmt: skip


# ------------------------------------------------------------------------------------------------------- canonical
@true_or_false
def canonical(
    res: Any,
    x: int = 1,
    y: int = 2,
    *,
    content: float | Sequence[float] = 0.95,
    newdata: Any = None,
    points: bool = True,
    ax: Axes | None = None,
) -> Figure:
    """Scores of the rows on two canonical discriminant functions, with the means and ellipses of the classes.

    Parameters
    ----------
    res : result
        Of LDA or QDA.
    x, y : int
        Which functions, from 1. With two classes, or one feature, there is one: rows are drawn by class then.
    content : float or sequence of float
        Shares of the class's distribution that lie inside the ellipses, in (0, 1).
    newdata : DataFrame, optional
        Rows to draw in place of those of the fit.
    points : bool
        Whether to draw the rows; means and ellipses need none.
    ax : Axes, optional
        To draw on; by default those of a new figure.

    Returns
    -------
    Figure

    Raises
    ------
    NotImplementedError
        Another model; points of rows that are in a stream.
    DataError
        Points of a result without rows and no `newdata`.
    ValueError
        A function that is not there.

    Notes
    -----
    Axes name the share of the variance between classes (`res.canonical.proportions`). Functions have variance 1 within
    classes: with one covariance ellipses are circles. Those of QDA are of the class's own covariance.

    Examples
    --------
    >>> from glmclf import LDA, datasets, plots
    >>> formula = "species ~ bill_length_mm + bill_depth_mm + body_mass_g"
    >>> res = LDA.from_formula(formula, datasets.load("penguins")).fit()
    >>> fig = plots.canonical(res)
    >>> fig.axes[0].get_xlabel()
    'CAN1 (83.9 % between classes)'
    """
    labelling.check(res, "canonical", ["predict"])
    if not hasattr(res, "covariances"):
        raise NotImplementedError(f"canonical() of {type(res.model).__name__}: canonical functions are of LDA and QDA")
    shares, tables = _shares(content), res.canonical
    functions = list(tables.eigenvalues.index)
    for name, j in (("x", x), ("y", y)):
        there = max(len(functions), 2)
        if not is_whole(j) or not 1 <= j <= there:
            raise ValueError(f"{name}={j!r}: the functions are 1 to {len(functions)}")
    if x == y:
        raise ValueError(f"x and y are both {x}: two functions are drawn")
    ax_ = layout.axes(ax, (6.0, max(5.0, marks.lines_of(res.levels))))
    shown = scores = None
    if points:
        scores, shown = _scores(res, newdata)
    one = len(functions) == 1
    chosen = functions if one else [functions[x - 1], functions[y - 1]]
    if one:
        _one_function(ax_, res, chosen[0], scores, shown, shares)
    else:
        if scores is not None and shown is not None:
            a, b = (scores[c].to_numpy() for c in chosen)
            marks.points(ax_, a, b, shown.places, res.levels)
        raw, own = tables.raw[chosen].to_numpy(), _covariances(res)
        _draw_ellipses(
            ax_, res.levels, tables.centroids[chosen], {k: raw.T @ own[k].to_numpy() @ raw for k in res.levels}, shares,
            not points,
        )  # fmt: skip
        ax_.set_aspect("equal", adjustable="datalim")
    labels = [f"{c} ({100 * tables.proportions[c]:.3g} % between classes)" for c in chosen]
    title = f"Canonical scores, {_contents(shares)} of each class"
    layout.caption(ax_, title, labels[0], "" if one else labels[1])
    layout.tidy(ax_)
    if not one:
        marks.keys(layout.figure_of(ax_), [ax_], ax is None)
    return layout.figure_of(ax_)


def _scores(res: Any, newdata: Any) -> tuple[pd.DataFrame, data.Shown]:
    """Scores of rows, and their classes."""
    if newdata is None:
        scores = res.canonical.scores()
        rows = scored_rows(res)
        return scores, data.judged_rows(res, scores, rows, None)
    shown = data.shown_rows(res, newdata, None, None)
    return res.canonical.scores(shown.table), shown


def _one_function(
    ax: Axes, res: Any, name: str, scores: Any, shown: data.Shown | None, shares: Sequence[float]
) -> None:
    """Draw scores on one function, a strip for each class, with the mean and the central interval."""
    raw, own, centroids = res.canonical.raw[name].to_numpy(), _covariances(res), res.canonical.centroids[name]
    v = None if scores is None else scores[name].to_numpy()
    places = None if shown is None else shown.places
    for k, level in enumerate(res.levels):
        look, centre = marks.look(k), float(centroids.iloc[k])
        if v is not None and places is not None:
            _strip(ax, v[places == k], k, look)
        sd = float(np.sqrt(raw @ own[level].to_numpy() @ raw))
        for c in shares:
            half = float(ndtri((1 + c) / 2)) * sd
            ax.plot([centre - half, centre + half], [k - 0.32] * 2, color=look["color"], linewidth=2)
        ax.plot(centre, k - 0.32, markersize=9, markeredgecolor="black", zorder=4, linestyle="none", **look)
    labels = [layout.wrapped(labelling.plain(level)) for level in res.levels]
    if v is not None and places is None:
        _strip(ax, v, len(labels), {"color": layout.GREY})
        labels.append("rows")
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(-0.6, len(labels) - 0.4)


def _strip(ax: Axes, v: ndarray, at: int, look: dict[str, Any]) -> None:
    ax.scatter(v, at + marks.jitter(len(v), 0.22), s=14, alpha=0.6, linewidths=0, **look)
