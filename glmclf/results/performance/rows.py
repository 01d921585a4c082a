"""Rows with predictions and outcomes for measures of performance: rows of the fit, or new data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from glmclf.checks import check_whole
from glmclf.core.rows.streamed import GatheredArrays
from glmclf.core.rows.summed import Summed, added_by, joined
from glmclf.data.reading.open_source import as_source, check_beside
from glmclf.errors import DataError, DataWarning, MissingDataError, warn
from glmclf.inference.performance import calibration
from glmclf.inference.performance.accuracy import ObservedOutcomes
from glmclf.results.performance.options import RowOptions


class ScoredRows(NamedTuple):
    """Predictions and outcomes of rows.

    Attributes
    ----------
    log_p, p : (n, K) ndarray
        Predicted probabilities and their logs, in the order of the levels.
    index : Index or None
        Labels, where they are kept: not of parts.
    outcomes : ObservedOutcomes
    """

    log_p: ndarray
    p: ndarray
    index: Any
    outcomes: ObservedOutcomes

    @property
    def scores(self) -> ndarray:
        """Log odds of each level."""
        return calibration.log_odds(self.log_p)

    def of(self, k: int) -> ObservedOutcomes:
        """Outcomes of one level against the others."""
        return self.outcomes.one_against_rest(k)


@dataclass(frozen=True)
class Tally(Summed):
    """Sum over rows, with the number of rows and the numbers of incomplete rows by reason."""

    value: Any = field(metadata=added_by(joined))
    rows: int
    lost: dict[str, int]


class ScoredRowsOfParts(GatheredArrays):
    """Rows of several parts, gathered in memory if not too many; ``a + b`` has the rows of both."""

    def arrays(self) -> list[ndarray]:
        """Probabilities of the rows of each part."""
        return [rows.p for rows in self]

    def rows(self) -> ScoredRows:
        """Rows of all parts as one; without labels if there are several."""
        if len(self) == 1:
            return self[0]
        log_p, p = (np.concatenate(some) for some in ([r.log_p for r in self], [r.p for r in self]))
        first, weights = self[0].outcomes, [r.outcomes.weights for r in self]
        counts = np.concatenate([r.outcomes.counts for r in self])
        outcomes = first._replace(counts=counts, weights=None if first.weights is None else np.concatenate(weights))
        return ScoredRows(log_p, p, None, outcomes)


def scored_rows(res: Any, options: RowOptions | None = None) -> ScoredRows:
    """Predictions and outcomes of the rows of the fit, or of new data."""
    return sum_over_scored_rows(res, lambda rows: ScoredRowsOfParts([rows]), options or RowOptions()).rows()


def sum_over_scored_rows(res: Any, f: Callable[[ScoredRows], Any], options: RowOptions) -> Any:
    """Sum ``f(rows)`` over the parts of the rows, and warn of rows that are left out."""
    res._check_row_options(options)
    source = as_source(options.newdata)
    if source is not None:
        check_beside(source, **options.beside, offset=options.offset)
        found = source.sum(lambda table, place: _tally_of(res, f, options._replace(newdata=table), part=True))
    elif options.newdata is None:
        found = _tally_of_fit(res, f, options)
    else:
        found = _tally_of(res, f, options)
    lost = {} if found is None else found.lost
    if lost:
        why = ", ".join(f"{why} in {n}" for why, n in lost.items())
        warn(f"rows that cannot be judged are left out: {why}", DataWarning)
    if found is None or not found.rows:
        raise DataError("no row is left to judge")
    return found.value


def _tally_of_fit(res: Any, f: Callable[[ScoredRows], Any], options: RowOptions) -> Tally:
    """Sum over the rows of the fit."""
    stray = [f"{name}=" for name, value in options.beside.items() if value is not None]
    if stray:
        raise TypeError(f"{', '.join(stray)} needs newdata=")
    r = res.model._rows
    if options.offset is not None:  # of rows one by one, which are in memory
        log_p, p, index = res._log_p(None, options.offset)
        return _tally(f, ScoredRows(log_p, p, index, _outcomes_of(res, res._counts, r.weights)), {})

    def part(X, y, trials, offset, weights) -> Tally:
        log_p, p, counts = res._rows_read(X, y, trials, offset)
        return _tally(f, ScoredRows(log_p, p, r.labels, _outcomes_of(res, counts, weights)), {})

    return r.blocks().sum_parts(part)


def _outcomes_of(res: Any, counts: ndarray, weights: ndarray | None, frequency: bool | None = None) -> ObservedOutcomes:
    frequency = res.model._frequency if frequency is None else frequency
    return ObservedOutcomes(counts, weights, frequency, res.model._response.kind == "fraction" or not frequency)


def _tally_of(res: Any, f: Callable[[ScoredRows], Any], options: RowOptions, part: bool = False) -> Tally | None:
    """Sum over new data, which may be one part of a table."""
    model, newdata = res.model, options.newdata
    if part and not len(newdata):
        return None
    if part:
        from glmclf.data.formula.across import refuse_across  # loads patsy

        refuse_across(model._design)
    log_p, p, index = res._log_p(newdata, options.offset)
    given = {**_new_weights(model, options), **_new_trials(model, options)}
    left = None if model.formula is None else model._design.endog_name
    from glmclf.data.reading.outcomes import read_outcomes  # loads the readers of formulas

    try:
        found = read_outcomes(model._response, left, newdata, len(log_p), options.endog, given)
    except MissingDataError:
        if not part:
            raise
        return Tally(None, 0, {f'"{model.endog_names}" or a weight missing': len(newdata)})
    keep = found.keep
    outcomes = _outcomes_of(res, found.counts, found.weights, given["weights"] is None)
    rows = ScoredRows(log_p[keep], p[keep], index[keep], outcomes)
    return _tally(f, rows, {f'"{name}" missing': n for name, n in found.dropped.items()})


def _new_weights(model: Any, options: RowOptions) -> dict[str, Any]:
    """Weights of new data: the weights given, or the column that weighted the fit."""
    newdata, given = options.newdata, {"freq_weights": options.freq_weights, "weights": options.weights}
    if any(value is not None for value in given.values()):
        return given
    named = [name for name in model._names if name in given]
    instead = "= values of these rows; 1 counts each row once"
    return given | {name: _of_new_rows(model, name, newdata, f"{name}{instead}") for name in named}


def _new_trials(model: Any, options: RowOptions) -> dict[str, Any]:
    """Column of the new data with the trials of a proportion, unless their response is counts."""
    if "trials" not in model._names or np.shape(options.endog)[1:] == (2,):
        return {}
    instead = "successes and failures of these rows as endog="
    return {"trials": _of_new_rows(model, "trials", options.newdata, instead)}


def _of_new_rows(model: Any, keyword: str, newdata: Any, instead: str) -> Any:
    """Column of new data that a keyword of the fit named, or values that its code has there; refuse data without."""
    column = model._names[keyword]
    if column in list(getattr(newdata, "columns", newdata if isinstance(newdata, dict) else ())):
        return column
    if keyword in model._computed:
        return model._computed[keyword].matrix(newdata)[:, 0]
    by_name = model.formula is not None and column != keyword
    what = (
        f'{keyword}="{column}", which the new data lack: add the column, or give'
        if by_name
        else f"{keyword}= that are not among the new data: give"
    )
    raise DataError(f"the fit has {what} {instead}")


def all_classes(res: Any, rows: ScoredRows, what: str) -> None:
    """Raise DataError unless each level has a row."""
    levels = res._judged_levels
    absent = [levels[k] for k in np.flatnonzero(~(rows.outcomes.sizes > 0))]
    if absent:
        raise DataError(
            f"{what} compares classes; no row of {', '.join(map(repr, absent))} is among the {len(rows.p)} "
            "that are judged"
        )


def place_of(res: Any, event: Any) -> int | None:
    """Place of the level asked for, or of the event of two levels; None for all levels of several."""
    levels = res._judged_levels
    if event is None:
        return res._event_place if len(levels) == 2 else None
    for k, level in enumerate(levels):
        if isinstance(event, str) == isinstance(level, str) and event == level:
            return k
    raise DataError(f"event={event!r} is not a level of {res.model.endog_names!r}, which has {levels}")


def one_place(res: Any, event: Any, what: str) -> int:
    """Place of the one level asked for."""
    k = place_of(res, event)
    if k is None:
        raise ValueError(f"{what} is about one level: give event=, one of {res._judged_levels}")
    return k


def check_bins(bins: Any) -> int:
    """Check a number of bins: a whole number, 2 or more."""
    return check_whole("bins", bins, 2)


def check_bins_or_edges(bins: Any) -> int | ndarray:
    """Check a number of bins, or edges: increasing numbers from 0 to 1, which become the ends where they are absent."""
    if np.ndim(bins) != 1 or isinstance(bins, str):
        return check_bins(bins)
    try:
        edges = np.asarray(bins, dtype=float)
    except (TypeError, ValueError):
        edges = np.array([np.nan])
    if not len(edges) or not ((edges >= 0) & (edges <= 1)).all() or (np.diff(edges) <= 0).any():
        raise ValueError(f"bins={bins!r}: how many, or their edges, increasing numbers from 0 to 1")
    edges = np.unique(np.concatenate([[0.0], edges, [1.0]]))
    if len(edges) < 3:
        raise ValueError(f"bins={bins!r}: an edge between 0 and 1, so that there are two bins")
    return edges


def _tally(f: Callable[[ScoredRows], Any], rows: ScoredRows, lost: dict[str, int]) -> Tally:
    """Tally ``f(rows)`` of the rows that have a prediction."""
    none = np.isnan(rows.log_p).any(axis=1)
    if none.any():
        lost = {**lost, "no prediction": int(none.sum())}
        kept = rows.outcomes.rows(np.flatnonzero(~none))
        rows = ScoredRows(rows.log_p[~none], rows.p[~none], None if rows.index is None else rows.index[~none], kept)
    n = len(rows.p)
    return Tally(f(rows) if n else None, n, lost)
