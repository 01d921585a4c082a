"""Classes in the space of two variables: regions of decision, ellipses of the laws, canonical scores."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.special import chdtri, logit, ndtri

from glmclf.data.frame import as_frame, close_to
from glmclf.errors import DataError
from glmclf.plots import canvas, marks, subjects
from glmclf.results.margin_sources import Source

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WHOLE = ("poisson", "multinomial")  # families of whole numbers
MOST_LEAD = 50.0  # in log-odds, of a border that is drawn
LEAST_SHADE, MOST_SHADE = 0.12, 0.5  # opacity of a region


class Shown(NamedTuple):
    """Rows that are drawn: their table, the place of each row's class (or None), and which are decided wrongly.

    Where rows hold counts of several classes `counts` has them, (n, K), and no row is wrong.
    """

    table: pd.DataFrame
    places: ndarray | None = None
    wrong: ndarray | None = None
    counts: ndarray | None = None


# --------------------------------------------------------------------------------------------------------- regions
def regions(
    res: Any,
    x: str,
    y: str,
    *,
    at: Mapping[str, Any] | None = None,
    newdata: Any = None,
    points: bool = True,
    shade: bool = True,
    threshold: float | None = None,
    resolution: int = 160,
    names: Sequence[str] | None = None,
    ax: Any = None,
) -> Figure:
    """Which class is decided on, over two variables, with the data; several results side by side.

    Parameters
    ----------
    res : result, list of results or dict of them by name
        Of any model; a panel each.
    x, y : str
        Variables of the formula (columns of the data) that are numbers.
    at : dict, optional
        Values at which other variables are held; of generative models NaN leaves one out. By default numbers at their
        mean, factors at their most frequent level; in naive Bayes whole numbers that a family asks for are rounded.
        "offset" is the offset of a model that was fitted with one by values.
    newdata : DataFrame, optional
        Rows to draw, and to take ranges and means from, in place of those of the fit; of a loaded result they are
        needed. With the response their classes are shown, else they are grey.
    points : bool
        Whether to draw the rows. Rows that are decided wrongly are ringed.
    shade : bool
        Whether regions fade to where the probability of the decision is least (1/K, or the threshold).
    threshold : float, optional
        Of two classes: the probability of the event above which it is decided on, as in `pred_table`; by default 0.5.
    resolution : int
        Points of the grid on each axis.
    names : list of str, optional
        Titles of the panels; by default the classes of the models.
    ax : Axes or sequence of Axes, optional
        To draw on, one a panel; by default those of a new figure.

    Returns
    -------
    Figure

    Raises
    ------
    DataError
        A variable that is not there, or is a factor; a result without rows and no `newdata`.
    NotImplementedError
        The rows are in a stream and there is no `newdata`; `threshold` of several classes.

    Notes
    -----
    Regions reach as far as the rows do: beyond is extrapolation, and white; so are places whose probabilities are NaN.
    A point stands where its row has x and y; the region behind it is that of rows like the one held, so that a ring in
    its own region, or none in another's, comes from the other variables.

    Examples
    --------
    >>> from glmclf import LDA, QDA, datasets, plots
    >>> data = datasets.load("penguins")
    >>> fits = [M.from_formula("species ~ bill_length_mm + bill_depth_mm", data).fit() for M in (LDA, QDA)]
    >>> fig = plots.regions(fits, "bill_length_mm", "bill_depth_mm", resolution=40)
    >>> [ax.get_title() for ax in fig.axes]
    ['LDA: 15 of 342 wrong', 'QDA: 13 of 342 wrong']
    """
    found = subjects.results_of(res, names, "regions", ["predict"])
    if isinstance(resolution, bool) or not isinstance(resolution, (int, np.integer)) or resolution < 2:
        raise ValueError(f"resolution={resolution!r}: points of the grid on each axis, 2 or more")
    if x == y:
        raise DataError(f'x and y are both "{x}": regions are over two variables')
    grids = {name: _Grid(one, x, y, at, newdata, threshold, resolution) for name, one in found.items()}
    columns = 2 if len(grids) == 4 else min(len(grids), 3)
    n_rows = -(-len(grids) // columns)
    levels = dict.fromkeys(level for grid in grids.values() for level in grid.levels)
    size = (6.4, 4.8) if len(grids) == 1 else (4.2 * columns + 1, 3.8 * n_rows)
    size = size[0], max(size[1], marks.lines_of([*levels, ""]))
    width = None if ax is not None else 3.2 if len(grids) > 1 else 3.4
    all_axes = canvas.several(ax, len(grids), size, columns)
    for one, (name, grid) in zip(all_axes, grids.items()):
        grid.draw(one, points, shade)
        canvas.caption(one, grid.title(name, points), grid.label(x), y, width)
    figure = all_axes[0].get_figure(root=True)
    if points:
        if len({tuple(map(str, grid.levels)) for grid in grids.values()}) == 1:
            marks.keys(figure, all_axes, ax is None)
        else:
            for one in all_axes:
                marks.key(one, False)
    return figure  # type: ignore[return-value]


class _Grid:
    """Decisions of one result over two variables, the others held."""

    def __init__(self, res: Any, x: str, y: str, at: Any, newdata: Any, threshold: Any, resolution: int):
        self.res, self.x, self.y, self.threshold = res, x, y, threshold
        self.levels = list(res._judged_levels)
        res._check_threshold(threshold)
        self.source = Source(res)
        self.shown = shown_rows(res, newdata, threshold, self.source)
        table = self.source.table(self.shown.table)
        for name in (x, y):
            self._check_axis(name, table)
        self.held = self._held(table, at)
        self.values = [self._axis(name, table, resolution) for name in (x, y)]
        self.frame, self.offset = self._rows()
        self.p, self.decided = self._decide()
        self.leads = self._leads()
        self.whole = any(self._family(name) in WHOLE for name in (x, y))  # blocks, between which there is nothing

    # ---------------------------------------------------------------------------------------------------- the rows
    def _check_axis(self, name: Any, table: pd.DataFrame) -> None:
        self.source.check(name)
        dtype = table[name].dtype
        if (
            self.source.levels_of(name, table) is not None
            or not pd.api.types.is_numeric_dtype(dtype)
            or pd.api.types.is_bool_dtype(dtype)
            or self._family(name) == "bernoulli"
        ):
            kind = "0 or 1" if self._family(name) == "bernoulli" else "a factor" if dtype.kind != "M" else "a date"
            raise DataError(
                f'"{name}" is {kind}: regions are over two numbers. Hold it by at={{"{name}": ...}} and draw a panel '
                "for each value"
            )

    def _family(self, name: str) -> str | None:
        """Of naive Bayes the family whose values a variable has as they are."""
        for feature in getattr(self.res.model, "features", ()):
            if feature.variables and name in feature.variables:
                return feature.family
            if feature.family == "multinomial" and name in (feature.levels or ()):
                return feature.family
        return None

    def _held(self, table: pd.DataFrame, at: Any) -> dict[str, Any]:
        """Values of the other variables."""
        if at is not None and not isinstance(at, Mapping):
            raise TypeError(f"at={at!r}: a dict of values by variable")
        given, others = dict(at or {}), [v for v in self.source.variables if v not in (self.x, self.y)]
        by_values = self.res.model._has_offset if hasattr(self.res.model, "_has_offset") else False
        offset = self.source.offset_name
        if by_values:
            others.append("offset" if offset is None else offset)
        for name, value in given.items():
            if name in (self.x, self.y):
                raise DataError(f'at= holds "{name}", which is on an axis')
            if name not in others:
                raise DataError(f'at= holds "{name}", which is no other variable. {close_to(str(name), others)}')
            if np.ndim(value):
                raise DataError(f'at= holds "{name}" at {value!r}: one value is needed')
        frame = self.shown.table.rename(columns=str)
        for name in others:
            if name not in given:
                if name not in frame:
                    raise DataError(f'the offset is needed: give at={{"{name}": value}}')
                given[name] = self._typical(name, frame[name] if name not in table else table[name], table)
        return {name: given[name] for name in others}

    def _typical(self, name: str, values: pd.Series, table: pd.DataFrame) -> Any:
        """The mean of a number, the most frequent level of a factor."""
        values = values.dropna()
        if not len(values):
            raise DataError(f'"{name}" is missing in all rows: give at={{"{name}": value}}')
        number = pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_bool_dtype(values.dtype)
        family = self._family(name)
        if number and family != "bernoulli" and self.source.levels_of(name, table) is None:
            mean = float(values.mean())
            return round(mean) if family in WHOLE else mean
        return values.mode().iloc[0]

    def _axis(self, name: str, table: pd.DataFrame, resolution: int) -> ndarray:
        """Values from the least to the largest of the rows; whole ones where a family asks for them."""
        values = table[name].to_numpy(dtype=float, na_value=np.nan)
        values = values[np.isfinite(values)]
        if not len(values) or values.min() == values.max():
            raise DataError(f'"{name}" has {"no value" if not len(values) else "one value"} in the rows: no region')
        ends = np.linspace(values.min(), values.max(), resolution)
        return np.unique(ends.round()) if self._family(name) in WHOLE else ends

    # --------------------------------------------------------------------------------------------------- decisions
    def _rows(self) -> tuple[pd.DataFrame, dict[str, Any]]:
        """The grid as rows of new data, and their offset."""
        X, Y = np.meshgrid(*self.values)
        frame = pd.DataFrame({self.x: X.ravel(), self.y: Y.ravel()})
        keywords: dict[str, Any] = {}
        for name, value in self.held.items():
            if name == "offset" and self.source.offset_name is None:
                keywords["offset"] = np.full(X.size, float(value))
            else:
                frame[name] = pd.Categorical([value]).repeat(X.size) if isinstance(value, str) else value
        return frame, keywords

    def _decide(self) -> tuple[ndarray, ndarray]:
        """Probability of the decision, and its place (-1: none), (y, x)."""
        shape = len(self.values[1]), len(self.values[0])
        p = self.res.predict(self.frame, **self.offset)
        if isinstance(p, pd.Series):
            event, cut = p.to_numpy(), 0.5 if self.threshold is None else self.threshold
            e = self.res._event_place
            place = np.where(event > cut, e, 1 - e)
            own = np.where(event > cut, event, 1 - event)
        else:
            values = p.loc[:, self.levels].to_numpy()
            place = np.nan_to_num(values, nan=-1.0).argmax(axis=1)
            if self.threshold is not None:
                e = self.res._event_place
                place = np.where(values[:, e] > self.threshold, e, 1 - e)
            own = values[np.arange(len(values)), place]
        place = np.where(np.isnan(own), -1, place)
        return own.reshape(shape), place.reshape(shape)

    def _leads(self) -> list[ndarray]:
        """By how much each class leads on the scale of the linear predictor, whose borders are smooth, (y, x)."""
        shape = len(self.values[1]), len(self.values[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they were said of the probabilities
            z = self.res.predict(self.frame, "linear", **self.offset)
        cut = np.array([0.5 if self.threshold is None else self.threshold])
        with np.errstate(invalid="ignore", divide="ignore"):
            if isinstance(z, pd.Series):
                leads = [z.to_numpy() - self.res.model.link.quantile(cut)]
            else:
                leads = self._of_scores(z.loc[:, self.levels].to_numpy(), logit(cut))
        leads = [np.clip(np.nan_to_num(lead, nan=-MOST_LEAD), -MOST_LEAD, MOST_LEAD) for lead in leads]
        return [np.where(self.decided >= 0, lead.reshape(shape), np.nan) for lead in leads]

    def _of_scores(self, scores: ndarray, cut: ndarray) -> list[ndarray]:
        """Leads of the event of two levels, or of each of several, (n,)."""
        if scores.shape[1] == 2:
            e = self.res._event_place
            return [scores[:, e] - scores[:, 1 - e] - cut]
        return [s - np.delete(scores, k, axis=1).max(axis=1) for k, s in enumerate(scores.T)]

    # ----------------------------------------------------------------------------------------------------- drawing
    def draw(self, ax: Axes, points: bool, shade: bool) -> None:
        """Regions, their borders, and the rows."""
        from matplotlib.colors import to_rgb

        K = len(self.levels)
        colours = np.array([[*to_rgb(canvas.colour(k))] for k in range(K)])
        image = np.ones((*self.p.shape, 4))
        known = self.decided >= 0
        image[known, :3] = colours[self.decided[known]]
        image[..., 3] = 0.0
        strength = np.ones_like(self.p)
        if shade:
            floor = np.array([self._least(k) for k in range(K)])[np.maximum(self.decided, 0)]
            strength = np.clip((self.p - floor) / (1 - floor), 0, 1)
        image[known, 3] = (LEAST_SHADE + (MOST_SHADE - LEAST_SHADE) * strength)[known]
        ax.pcolormesh(*self.values, image, shading="nearest", rasterized=True, zorder=0)
        for lead in self.leads:
            if (lead > 0).any() and (lead < 0).any() and not self.whole:
                ax.contour(*self.values, lead, levels=[0.0], colors="black", linewidths=0.6, zorder=1)
        if points:
            draw_rows(ax, self.shown, self.x, self.y, self.levels)
        for name, values, limits in zip((self.x, self.y), self.values, (ax.set_xlim, ax.set_ylim)):
            margin = 0.02 * (values[-1] - values[0]) + (0.5 if self._family(name) in WHOLE else 0.0)
            limits(values[0] - margin, values[-1] + margin)

    def _least(self, k: int) -> float:
        """The smallest probability at which a class may be decided on."""
        if self.threshold is None:
            return 1 / len(self.levels)
        least = self.threshold if k == self.res._event_place else 1 - self.threshold
        return min(float(least), 1 - 1e-9)

    def title(self, name: str, points: bool) -> str:
        """The model, and how many rows are decided wrongly."""
        if not points or self.shown.wrong is None:
            return name
        return f"{name}: {int(self.shown.wrong.sum()):,} of {len(self.shown.wrong):,} wrong"

    def label(self, x: str) -> str:
        """Name of the axis, and below it where other variables are held."""
        parts = [f"{name} = {_value(value)}" for name, value in self.held.items()]
        return f"{x} (at {', '.join(parts)})" if parts else x


def _value(value: Any) -> str:
    value = subjects.plain(value)
    return canvas.number(value, 4) if isinstance(value, float) else str(value)


# ---------------------------------------------------------------------------------------------------- rows to draw
def shown_rows(res: Any, newdata: Any, threshold: Any, source: Any) -> Shown:
    """The rows of the fit, or others, with what is known of their classes."""
    if newdata is None:
        table = source.fit_table()
        rows = res._judged(None, None, None, None, None)
        return _judged_rows(res, table, rows, threshold)
    table = as_frame(newdata).reset_index(drop=True)
    left = getattr(res.model._design, "endog_name", None) or res.model.endog_names
    names = {str(c) for c in table.columns}
    if not {name.strip() for name in left.split(" + ")} & names and left not in names:
        return Shown(table)
    rows = res._judged(table, None if res.model.formula else table[left], None, None, None)
    return _judged_rows(res, table.loc[rows.index], rows, threshold)


def _judged_rows(res: Any, table: pd.DataFrame, rows: Any, threshold: Any) -> Shown:
    counts = rows.outcomes.counts
    one_each = ((counts == 0) | (counts == 1)).all() and (counts.sum(axis=1) == 1).all()
    if not one_each:
        return Shown(table, counts=counts)
    places = counts.argmax(axis=1)
    return Shown(table, places, res._predicted(rows, threshold) != places)


def draw_rows(ax: Axes, shown: Shown, x: str, y: str, levels: Sequence[Any]) -> None:
    """Rows as points by class; wrong ones ringed; counts as points of their area."""
    frame = shown.table.rename(columns=str)
    a, b = (frame[name].to_numpy(dtype=float, na_value=np.nan) for name in (x, y))
    if shown.counts is not None:
        largest = shown.counts.max()
        for k in range(len(levels)):
            own = shown.counts[:, k] > 0
            places = np.full(int(own.sum()), k)
            area = 8 + 140 * shown.counts[own, k] / largest
            _class_points(ax, a[own], b[own], places, levels, k, area)
        return
    marks.points(ax, a, b, shown.places, levels)
    if shown.wrong is not None and shown.wrong.any():
        n = int(shown.wrong.sum())
        size, width = (52, 0.9) if n <= 50 else (30, 0.5) if n <= 500 else (10, 0.3)
        ax.scatter(
            a[shown.wrong], b[shown.wrong], s=size, linewidths=width, facecolors="none",
            edgecolors="black", zorder=3, alpha=1.0 if n <= 500 else 0.4,
            label="decided wrongly",
        )  # fmt: skip


def _class_points(ax: Axes, a: ndarray, b: ndarray, places: ndarray, levels: Any, k: int, area: ndarray) -> None:
    """Points of one class, of their own areas."""
    ax.scatter(
        a, b, s=area, facecolors="none", linewidths=1.2, edgecolors=canvas.colour(k),
        marker=marks.look(k)["marker"], label=f"{marks.name(levels[k])} (area: count)", zorder=2.5,
    )  # fmt: skip


# -------------------------------------------------------------------------------------------------------- ellipses
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
    """The normal law of each class in two features: its mean and ellipses, with the data.

    Parameters
    ----------
    res : result
        Of LDA or QDA; of NaiveBayes with two gaussian features, whose ellipses have axes along the features.
    x, y : str
        Features, as `res.feature_names` has them.
    content : float or sequence of float
        Shares of the class's law that lie inside the ellipses, in (0, 1).
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
    of freedom, by `res.means` and `res.covariances` (naive Bayes: `res.conditionals`): the law as estimated, without
    the uncertainty of the estimate.

    Examples
    --------
    >>> from glmclf import QDA, datasets, plots
    >>> res = QDA.from_formula("species ~ bill_length_mm + bill_depth_mm", datasets.load("penguins")).fit()
    >>> fig = plots.ellipses(res, "bill_length_mm", "bill_depth_mm", content=0.9)
    >>> len(fig.axes[0].lines)
    6
    """
    subjects.check(res, "ellipses", ["predict"])
    shares = _shares(content)
    means, covariances = _laws(res, [x, y])
    ax_ = canvas.axes(ax, (6.4, max(4.8, marks.lines_of(res.levels))))
    if points:
        _rows_of_features(ax_, res, [x, y], newdata)
    _draw_laws(ax_, res.levels, means, covariances, shares, not points)
    canvas.caption(ax_, f"{type(res.model).__name__}: {_contents(shares)} of each class", x, y)
    canvas.tidy(ax_)
    marks.key(ax_, ax is None)
    return ax_.get_figure(root=True)  # type: ignore[return-value]


def _shares(content: Any) -> list[float]:
    shares = [float(c) for c in np.atleast_1d(content)]
    if not shares or not all(0 < c < 1 for c in shares):
        raise ValueError(f"content={content!r}: shares of a law, between 0 and 1")
    return sorted(shares)


def _contents(shares: Sequence[float]) -> str:
    return " and ".join(f"{100 * c:.10g} %" for c in shares)


def _laws(res: Any, names: list[str]) -> tuple[pd.DataFrame, dict[Any, ndarray]]:
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
        return _independent_laws(res, names)
    found = res.covariances
    own = found if isinstance(found, dict) else dict.fromkeys(res.levels, found)
    return res.means[names], {k: own[k].loc[names, names].to_numpy() for k in res.levels}


def _independent_laws(res: Any, names: list[str]) -> tuple[pd.DataFrame, dict[Any, ndarray]]:
    laws = [res.conditionals[name] for name in names]
    other = [name for name, law in zip(names, laws) if ("var", "estimate") not in law]
    if other:
        families = {f.name: f.family for f in res.model.features}
        what = ", ".join(f'"{name}" is {families[name]}' for name in other)
        raise NotImplementedError(f"ellipses() are of gaussian features; {what}. See densities()")
    means = pd.DataFrame({name: law["mean", "estimate"] for name, law in zip(names, laws)})
    spread = np.column_stack([law["var", "estimate"] for law in laws])
    return means, {k: np.diag(v) for k, v in zip(res.levels, spread)}


def _rows_of_features(ax: Axes, res: Any, names: list[str], newdata: Any) -> None:
    """Rows of the fit, or others, by their features."""
    places = [res.feature_names.index(name) for name in names]
    if newdata is None:
        rows = res._judged(None, None, None, None, None)
        table = newdata
        shown = _judged_rows(res, pd.DataFrame(index=rows.index), rows, None)
    else:
        table = as_frame(newdata).reset_index(drop=True)
        shown = shown_rows(res, table, None, None)
        table = shown.table
    values = res._values(table)[0]
    a, b = (np.asarray(values[j] if isinstance(values, list) else values[:, j], dtype=float) for j in places)
    marks.points(ax, a, b, shown.places, res.levels)


def _draw_laws(
    ax: Axes, levels: Sequence[Any], means: pd.DataFrame, covariances: dict[Any, ndarray], shares: Any, named: bool
) -> None:
    """Means as large marks, ellipses as lines."""
    t = np.linspace(0, 2 * np.pi, 181)
    circle = np.stack([np.cos(t), np.sin(t)])
    for k, level in enumerate(levels):
        centre = means.loc[[level]].to_numpy()[0] if means.index.is_unique else means.iloc[k].to_numpy()
        values, vectors = np.linalg.eigh(covariances[level])
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        look = marks.look(k)
        for c in shares:
            x, y = centre[:, None] + np.sqrt(chdtri(2, 1 - c)) * (root @ circle)
            ax.plot(x, y, color=look["color"], linestyle=canvas.dashes(k), linewidth=1.5, zorder=3)
        ax.plot(
            *centre, markersize=10, markeredgecolor="black", zorder=4, linestyle="none",
            label=marks.name(level) if named else None, **look,
        )  # fmt: skip


# ------------------------------------------------------------------------------------------------------- canonical
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
        Shares of the class's law that lie inside the ellipses, in (0, 1).
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
    'CAN1 (84.1 % between classes)'
    """
    subjects.check(res, "canonical", ["predict"])
    if not hasattr(res, "covariances"):
        raise NotImplementedError(f"canonical() of {type(res.model).__name__}: canonical functions are of LDA and QDA")
    shares, tables = _shares(content), res.canonical
    functions = list(tables.eigenvalues.index)
    for name, j in (("x", x), ("y", y)):
        there = max(len(functions), 2)
        if isinstance(j, bool) or not isinstance(j, (int, np.integer)) or not 1 <= j <= there:
            raise ValueError(f"{name}={j!r}: the functions are 1 to {len(functions)}")
    if x == y:
        raise ValueError(f"x and y are both {x}: two functions are drawn")
    ax_ = canvas.axes(ax, (6.4, max(4.8, marks.lines_of(res.levels))))
    shown = scores = None
    if points:
        scores, shown = _scores(res, newdata)
    one = len(functions) == 1
    chosen = functions if one else [functions[x - 1], functions[y - 1]]
    if one:
        _one_function(ax_, res, chosen[0], scores, shown, shares)
    else:
        if scores is not None and shown is not None:
            marks.points(ax_, *(scores[c].to_numpy() for c in chosen), shown.places, res.levels)
        raw = tables.raw[chosen].to_numpy()
        found = res.covariances
        own = found if isinstance(found, dict) else dict.fromkeys(res.levels, found)
        _draw_laws(
            ax_, res.levels, tables.centroids[chosen], {k: raw.T @ own[k].to_numpy() @ raw for k in res.levels}, shares,
            not points,
        )  # fmt: skip
        ax_.set_aspect("equal", adjustable="datalim")
    labels = [f"{c} ({100 * tables.proportions[c]:.3g} % between classes)" for c in chosen]
    title = f"Canonical scores, {_contents(shares)} of each class"
    canvas.caption(ax_, title, labels[0], "" if one else labels[1])
    canvas.tidy(ax_)
    if not one:
        marks.key(ax_, ax is None)
    return ax_.get_figure(root=True)  # type: ignore[return-value]


def _scores(res: Any, newdata: Any) -> tuple[pd.DataFrame, Shown]:
    """Scores of rows, and their classes."""
    if newdata is None:
        scores = res.canonical.scores()
        rows = res._judged(None, None, None, None, None)
        return scores, _judged_rows(res, scores, rows, None)
    shown = shown_rows(res, newdata, None, None)
    return res.canonical.scores(shown.table), shown


def _one_function(ax: Axes, res: Any, name: str, scores: Any, shown: Shown | None, shares: Sequence[float]) -> None:
    """Scores on one function, a strip a class, with the mean and the central interval of its law."""
    raw, found, centroids = res.canonical.raw[name].to_numpy(), res.covariances, res.canonical.centroids[name]
    own = found if isinstance(found, dict) else dict.fromkeys(res.levels, found)
    for k, level in enumerate(res.levels):
        look = marks.look(k)
        if scores is not None and shown is not None and shown.places is not None:
            v = scores[name].to_numpy()[shown.places == k]
            ax.scatter(v, k + marks.jitter(len(v), 0.22), s=14, alpha=0.6, linewidths=0, **look)
        sd = float(np.sqrt(raw @ own[level].to_numpy() @ raw))
        for c in shares:
            half = float(ndtri((1 + c) / 2)) * sd
            ends = [centroids.iloc[k] - half, centroids.iloc[k] + half]
            ax.plot(ends, [k - 0.32] * 2, color=look["color"], linewidth=2)
        ax.plot(centroids.iloc[k], k - 0.32, markersize=9, markeredgecolor="black", zorder=4, **look)
    if scores is not None and (shown is None or shown.places is None):
        v = scores[name].to_numpy()
        ax.scatter(v, np.full(len(v), len(res.levels)) + marks.jitter(len(v), 0.22), s=14, color=canvas.GREY, alpha=0.6)
    labels = [marks.name(level) for level in res.levels]
    labels += ["rows"] if scores is not None and (shown is None or shown.places is None) else []
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(-0.6, len(labels) - 0.4)
