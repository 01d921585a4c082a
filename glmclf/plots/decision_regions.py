"""Regions of decision over two variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.special import logit

from glmclf.checks import is_whole, true_or_false
from glmclf.data.table.frame import close_to
from glmclf.errors import DataError, without_warnings
from glmclf.plots import data, labelling, layout, marks
from glmclf.results.margins.predictors import LinearPredictors
from glmclf.results.performance.report import check_threshold
from glmclf.results.tables.numbers import value_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COUNT_FAMILIES = ("poisson", "multinomial")  # families of whole numbers
MAX_LEAD = 50.0  # log-odds at which leads are clipped before contours are drawn
RESOLUTION, RESOLUTION_SEPARATED = 160, 40  # grid points on each axis by default; of a separated fit
MAX_FIXED_NAMED = 4  # fixed variables that the label of an axis names
MIN_OPACITY, MAX_OPACITY = 0.12, 0.5  # opacity of a region


@true_or_false
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
    resolution: int | None = None,
    names: Sequence[str] | None = None,
    ax: Any = None,
) -> Figure:
    """Decision regions over two variables: the predicted class of each point, with the data.

    Several results are drawn side by side.

    Parameters
    ----------
    res : result, list of results or dict of them by name
        Of any model; a panel each.
    x, y : str
        Variables of the formula (columns of the data) that are numbers.
    at : dict, optional
        Values at which other variables are held; of generative models NaN leaves one out. By default numbers at their
        mean, factors at their most frequent level, by the weights of the fit; in naive Bayes whole numbers that a
        family asks for are rounded.
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
    resolution : int, optional
        Points of the grid on each axis; by default 160, or 40 of a fit with infinite coefficients (separation), where
        a linear program is asked about each point, and fewer of several classes, which have one a pair.
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
    >>> table = datasets.load("penguins")
    >>> fits = [M.from_formula("species ~ bill_length_mm + bill_depth_mm", table).fit() for M in (LDA, QDA)]
    >>> fig = plots.regions(fits, "bill_length_mm", "bill_depth_mm", resolution=40)
    >>> [ax.get_title() for ax in fig.axes]
    ['LDA: 13 of 342 rows wrong', 'QDA: 11 of 342 rows wrong']
    """
    found = labelling.results_of(res, names, "regions", ["predict"])
    whole = is_whole(resolution)
    if resolution is not None and not (whole and resolution >= 2):
        raise ValueError(f"resolution={resolution!r}: points of the grid on each axis, 2 or more")
    if x == y:
        raise DataError(f'x and y are both "{x}": regions are over two variables')
    grids = {name: _Grid(one, x, y, at, newdata, threshold, resolution) for name, one in found.items()}
    columns = 2 if len(grids) == 4 else min(len(grids), 3)
    n_rows = -(-len(grids) // columns)
    levels = dict.fromkeys(level for grid in grids.values() for level in grid.levels)
    size = (6.4, 4.8) if len(grids) == 1 else (layout.PANEL * columns, 3.3 * n_rows)
    size = size[0], max(size[1], marks.lines_of([*levels, ""]))
    width = None if ax is not None else 2.5 if len(grids) > 1 else 3.4
    all_axes = layout.several(ax, len(grids), size, columns)
    for one, (name, grid) in zip(all_axes, grids.items()):
        grid.draw(one, points, shade)
        layout.caption(one, grid.title(name, points), grid.label(x), y, width)
    figure = layout.figure_of(all_axes[0])
    if points:
        if len({tuple(map(str, grid.levels)) for grid in grids.values()}) == 1:
            marks.keys(figure, all_axes, ax is None)
        else:
            for one in all_axes:
                marks.key(one, False)
    return figure


class _Grid:
    """Decisions of one result over a grid of two variables, with the other variables fixed."""

    def __init__(self, res: Any, x: str, y: str, at: Any, newdata: Any, threshold: Any, resolution: int | None):
        self.res, self.x, self.y, self.threshold = res, x, y, threshold
        self.levels = list(res._judged_levels)
        check_threshold(res, threshold)
        self.source = LinearPredictors(res)
        self.shown = data.shown_rows(res, newdata, threshold, self.source)
        table = self.source.table(self.shown.table)
        for name in (x, y):
            self._check_axis(name, table)
        self.weights = res.model._rows.weights if newdata is None else None
        self.fixed = self._fixed(table, at)
        self.separated = getattr(res, "separation", None) is not None
        pairs = len(self.levels) * (len(self.levels) - 1) / 2  # pairs of classes: a linear program each
        resolution = resolution or (max(10, round(RESOLUTION_SEPARATED / pairs**0.5)) if self.separated else RESOLUTION)
        self.values = [self._axis(name, table, resolution) for name in (x, y)]
        self.frame, self.offset = self._rows(table)
        self.p, self.decided = self._decide()
        if (self.decided < 0).all():
            raise DataError(f"predictions are NaN over all of {x} and {y}, with {self.fixed}: hold others, by at=")
        self.leads = self._leads()
        self.whole = any(self._family(name) in COUNT_FAMILIES for name in (x, y))  # no border between whole numbers

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
        """Family that naive Bayes gives a variable which is a feature without a transform."""
        for feature in getattr(self.res.model, "features", ()):
            if feature.variables and name in feature.variables:
                return feature.family
            if feature.family == "multinomial" and name in (feature.levels or ()):
                return feature.family
        return None

    def _fixed(self, table: pd.DataFrame, at: Any) -> dict[str, Any]:
        """Fixed values of the variables that are on neither axis."""
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
                given[name] = self._typical(name, table[name] if name in table else frame[name], table)
        return {name: given[name] for name in others}

    def _typical(self, name: str, values: pd.Series, table: pd.DataFrame) -> Any:
        """Typical value of a variable: the mean of a number, the most frequent level of a factor."""
        there = values.notna().to_numpy()
        weights = pd.Series(1.0 if self.weights is None else self.weights, index=values.index)[there]
        values = values[there]
        if not len(values):
            raise DataError(f'"{name}" is missing in all rows: give at={{"{name}": value}}')
        number = pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_bool_dtype(values.dtype)
        family = self._family(name)
        if number and family != "bernoulli" and self.source.levels_of(name, table) is None:
            mean = float(np.average(values.to_numpy(dtype=float), weights=weights))
            return round(mean) if family in COUNT_FAMILIES else mean
        counts = weights.reset_index(drop=True).groupby(values.reset_index(drop=True), observed=True).sum()
        return counts.idxmax()

    def _axis(self, name: str, table: pd.DataFrame, resolution: int) -> ndarray:
        """Grid of one axis from the smallest to the largest observed value; integers where a family needs them."""
        values = table[name].to_numpy(dtype=float, na_value=np.nan)
        values = values[np.isfinite(values)]
        if not len(values) or values.min() == values.max():
            raise DataError(f'"{name}" has {"no value" if not len(values) else "one value"} in the rows: no region')
        ends = np.linspace(values.min(), values.max(), resolution)
        return np.unique(ends.round()) if self._family(name) in COUNT_FAMILIES else ends

    # --------------------------------------------------------------------------------------------------- decisions
    def _rows(self, table: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, Any]]:
        """The grid as rows of new data, and their offset."""
        X, Y = np.meshgrid(*self.values)
        frame = pd.DataFrame({self.x: X.ravel(), self.y: Y.ravel()})
        keywords: dict[str, Any] = {}
        for name in table.columns.difference([self.x, self.y, *self.fixed]):  # constant columns of models from arrays
            frame[name] = table[name].iloc[0]
        for name, value in self.fixed.items():
            if name == "offset" and self.source.offset_name is None:
                keywords["offset"] = np.full(X.size, float(value))
            else:
                frame[name] = pd.Categorical([value]).repeat(X.size) if isinstance(value, str) else value
        return frame, keywords

    def _decide(self) -> tuple[ndarray, ndarray]:
        """Probability of the decision, and its place (-1: none), (y, x)."""
        shape = len(self.values[1]), len(self.values[0])
        self.predicted = p = self.res.predict(self.frame, **self.offset)
        if isinstance(p, pd.Series):
            event, cut = p.to_numpy(), 0.5 if self.threshold is None else self.threshold
            e = self.res._event_place
            place = np.where(event > cut, e, 1 - e)
            own = np.where(event > cut, event, 1 - event)
        else:
            values = labelling.columns(p, self.levels).to_numpy()
            place = np.nan_to_num(values, nan=-1.0).argmax(axis=1)
            if self.threshold is not None:
                e = self.res._event_place
                place = np.where(values[:, e] > self.threshold, e, 1 - e)
            own = values[np.arange(len(values)), place]
        place = np.where(np.isnan(own), -1, place)
        return own.reshape(shape), place.reshape(shape)

    def _leads(self) -> list[ndarray]:
        """Lead of each class on the scale of the linear predictor, where borders are smooth, (y, x)."""
        shape = len(self.values[1]), len(self.values[0])
        z = self._scores()
        cut = np.array([0.5 if self.threshold is None else self.threshold])
        with np.errstate(invalid="ignore", divide="ignore"):
            if isinstance(z, pd.Series):
                leads = [z.to_numpy() - self.res.model.link.quantile(cut)]
            else:
                leads = self._leads_of_scores(labelling.columns(z, self.levels).to_numpy(), logit(cut))
        leads = [np.clip(np.nan_to_num(lead, nan=-MAX_LEAD), -MAX_LEAD, MAX_LEAD) for lead in leads]
        return [np.where(self.decided >= 0, lead.reshape(shape), np.nan) for lead in leads]

    def _scores(self) -> Any:
        """Linear predictors of the grid; of a separated fit, whose predictions are slow, links of probabilities.

        The two differ near probabilities 0 and 1, where no border is.
        """
        if self.separated:
            with np.errstate(divide="ignore"):
                if isinstance(self.predicted, pd.DataFrame):
                    return np.log(self.predicted)
                return pd.Series(self.res.model.link.quantile(self.predicted.to_numpy()))
        with without_warnings():  # the prediction of probabilities has given them
            return self.res.predict(self.frame, "linear", **self.offset)

    def _leads_of_scores(self, scores: ndarray, cut: ndarray) -> list[ndarray]:
        """Leads from scores (n, K): of the event where there are two levels, else of each level, (n,) each."""
        if scores.shape[1] == 2:
            e = self.res._event_place
            return [scores[:, e] - scores[:, 1 - e] - cut]
        return [s - np.delete(scores, k, axis=1).max(axis=1) for k, s in enumerate(scores.T)]

    # ----------------------------------------------------------------------------------------------------- drawing
    def draw(self, ax: Axes, points: bool, shade: bool) -> None:
        """Draw the regions, their borders and the rows."""
        from matplotlib.colors import to_rgb

        layout.small_ticks(ax)
        K = len(self.levels)
        colours = np.array([[*to_rgb(layout.colour(k))] for k in range(K)])
        image = np.ones((*self.p.shape, 4))
        known = self.decided >= 0
        image[known, :3] = colours[self.decided[known]]
        image[..., 3] = 0.0
        strength = np.ones_like(self.p)
        if shade:
            floor = np.array([self._least(k) for k in range(K)])[np.maximum(self.decided, 0)]
            strength = np.clip((self.p - floor) / (1 - floor), 0, 1)
        image[known, 3] = (MIN_OPACITY + (MAX_OPACITY - MIN_OPACITY) * strength)[known]
        ax.pcolormesh(*self.values, image, shading="nearest", rasterized=True, zorder=0)
        for lead in self.leads:
            if (lead > 0).any() and (lead < 0).any() and not self.whole:
                ax.contour(*self.values, lead, levels=[0.0], colors="black", linewidths=0.6, zorder=1)
        if points:
            data.draw_rows(ax, self.shown, self.x, self.y, self.levels)
        ends: list[Any] = [ax.set_xlim, ax.set_ylim]
        for name, values, limits in zip((self.x, self.y), self.values, ends):
            margin = 0.02 * (values[-1] - values[0]) + (0.5 if self._family(name) in COUNT_FAMILIES else 0.0)
            limits(values[0] - margin, values[-1] + margin)

    def _least(self, k: int) -> float:
        """Smallest probability with which class k can be the decision."""
        if self.threshold is None:
            return 1 / len(self.levels)
        least = self.threshold if k == self.res._event_place else 1 - self.threshold
        return min(float(least), 1 - 1e-9)

    def title(self, name: str, points: bool) -> str:
        """Title of a panel: the model, and the number of misclassified rows counted by frequency weights."""
        if not points or self.shown.wrong is None:
            return name
        times = np.ones(len(self.shown.wrong)) if self.shown.times is None else self.shown.times
        return f"{name}: {times[self.shown.wrong].sum():,.10g} of {times.sum():,.10g} rows wrong"

    def label(self, x: str) -> str:
        """Name of the axis, and below it the values at which other variables are fixed."""
        parts = [f"{name} = {value_text(labelling.plain(v), 4)}" for name, v in self.fixed.items()]
        if len(parts) > MAX_FIXED_NAMED + 1:
            parts = [*parts[:MAX_FIXED_NAMED], f"{len(parts) - MAX_FIXED_NAMED} more"]
        return f"{x} (at {', '.join(parts)})" if parts else x
