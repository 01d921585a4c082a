"""Adjusted predictions and their contrasts, labelled: averages of probabilities with variables set to values."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.special import expit

from glmclf.caching import cached_property
from glmclf.checks import check_choice, known_names
from glmclf.core.rows.asked import under_usual_errors
from glmclf.data.table.frame import quoted
from glmclf.errors import DataError
from glmclf.inference.margins import contrasts
from glmclf.results.margins.contrasts import PAIRS, SIGNS, Contrasts, LabelledRow, RowPairs, critical_value
from glmclf.results.margins.effects import Estimand, LabelledEstimates, check_size, estimate_covariance
from glmclf.results.margins.options import Settings, is_dummy
from glmclf.results.margins.predictors import LinearPredictors
from glmclf.results.margins.rows import WantedAverage

COMPARISONS = ("difference", "ratio", "odds ratio")
SHARES = ("proportional", "equal")  # of the levels of a typical row
Variables = str | Sequence[str] | Mapping[str, Any] | None


def adjusted_predictions(
    res: Any,
    variables: Variables,
    at: Any,
    by: Any,
    which: str,
    weights: Any,
    freq_weights: Any,
    newdata: Any,
    vcov: str | None,
) -> AdjustedPredictions:
    """See `Margins.predictions`."""
    check_choice("which", which, ("mean", "linear"))
    if vcov is not None:
        check_choice("vcov", vcov, ("unconditional",))
    of_levels = isinstance(weights, str) and (weights in SHARES or newdata is None)
    if of_levels and weights not in SHARES:
        raise ValueError(f'weights={weights!r}: choose "proportional" or "equal", or weights of the rows of newdata=')
    equal = of_levels and weights == "equal"
    if equal and not (isinstance(at, str) and at == "mean"):
        raise ValueError('weights="equal" is for at="mean": elsewhere levels are as observed, or one of them')
    source = res._margin_source()
    of_rows = {"freq_weights": freq_weights, "weights": None if of_levels else weights}
    found = Settings.read(res, source, at, None, by, newdata, of_rows, equal)
    if vcov is not None:
        found.check_unconditional(res)
    cells = _cells(source, variables, found.table)
    _check_cells(found, cells[0])
    found.leave_out(cell=cells[0])
    averages = len(cells) * len(found.labels) * len(found.groups)
    values = {name: list(dict.fromkeys(cell[name] for cell in cells)) for name in cells[0]}
    most = max(values, key=lambda name: len(values[name]), default=None)
    few = "fewer groups" if most is None else f'some levels, as variables={{"{most}": {known_names(values[most][:2])}}}'
    check_size(source, averages, "predictions()", few)
    kind = "level" if which == "mean" else "linear"
    estimands = [
        Estimand((*setting, *group), tuple(cell.values()), averages[g], g)
        for setting, by_cell in found.averages([WantedAverage(kind, cell) for cell in cells], keep=vcov is not None)
        for g, group in enumerate(found.groups)
        for cell, averages in zip(cells, by_cell, strict=True)
    ]
    C = estimate_covariance(res, source, estimands, found, vcov)
    return AdjustedPredictions(res, source, estimands, found.names, C, list(cells[0]), which)


def _cells(source: LinearPredictors, variables: Variables, table: pd.DataFrame) -> list[dict[str, Any]]:
    """Cells: combinations of the values that variables are set to."""
    if variables is None:
        return [{}]
    if isinstance(variables, str):
        variables = [variables]
    given = variables if isinstance(variables, Mapping) else dict.fromkeys(variables)
    values: dict[str, list[Any]] = {}
    for name, some in given.items():
        source.check(name)
        levels = source.levels_of(name, table)
        if some is None:
            some = levels if levels is not None else [0, 1] if is_dummy(table[name]) else None
            if some is None:
                raise DataError(f'"{name}" is a number: say at which values, as variables={{"{name}": [1, 2]}}')
            if levels is not None and levels[0] is not False:
                some = sorted(some, key=source.in_order(name, levels).index)
        some = [some] if isinstance(some, (str, bytes)) or np.ndim(some) == 0 else list(some)
        if not some:
            raise ValueError(f'variables= gives no value of "{name}"')
        values[name] = [v.item() if isinstance(v, np.generic) else v for v in some]
    if not values:
        raise ValueError("variables= is empty: name at least one variable, or leave it out")
    return [dict(zip(values, cell, strict=True)) for cell in itertools.product(*values.values())]


def _check_cells(found: Settings, cell: dict[str, Any]) -> None:
    """Refuse a variable that is set twice."""
    rows = found.at == "rows" and found.observed.codes is not None  # settings from a table set all variables
    both = [name for name in cell if rows or name in found.grid[0]]
    if both:
        raise ValueError(f"variables= and at= both set {quoted(both)}: leave it out of one of them")


@under_usual_errors
class AdjustedPredictions(LabelledEstimates):
    """Averages of predictions with delta-method standard errors and intervals; made by `predictions`."""

    def __init__(self, res, source, estimands, names, C, variables: list[str], which: str):
        super().__init__(res, source, estimands, names, C, variables)
        self.which = which
        if which == "mean":
            self._ends = [e.average.ends for e in estimands]

    @property
    def predicted(self) -> pd.Series:
        """Predictions by cell."""
        return self._series(self._value, "predicted")

    @property
    def se(self) -> pd.Series:
        """Standard errors of the predictions, by the delta method."""
        return self._series(self._se, "se")

    @cached_property
    def _probabilities(self) -> contrasts.Probabilities:
        parts = [np.concatenate(part) for part in zip(*(e[:4] for e in self._ends), strict=True)]
        return contrasts.Probabilities(self._covariance, *parts)

    def _scale(self) -> tuple[ndarray, ndarray, Any]:
        """Estimates on a nearly normal scale, their standard errors, and the inverse transformation."""
        if self.which == "linear":
            return self._value, self._se, np.asarray
        with np.errstate(all="ignore"):
            centre, spread = self._probabilities.on_scale(self._link, np.array([e.eta for e in self._ends]))
        return centre, spread, expit if self._link is None else self._link.cdf

    def conf_int(self, alpha: float = 0.05, adjust: str = "none", seed: int = 0) -> pd.DataFrame:
        """Intervals of level 1 - alpha.

        Parameters
        ----------
        alpha : float
            In (0, 1).
        adjust : {"none", "bonferroni", "sidak", "tukey"}
            Whether they hold one by one or all together; "tukey": by the joint normal law of the estimates.
        seed : int
            Of the integration of "tukey".

        Returns
        -------
        DataFrame
            ci_lower, ci_upper.
        """
        check_choice("adjust", adjust, [a for a in contrasts.ADJUSTMENTS if a != "holm"])
        c = critical_value(self._covariance, slice(None), adjust, alpha, seed)
        centre, spread, back = self._scale()
        with np.errstate(invalid="ignore"):
            ends = np.column_stack([back(centre - c * spread), back(centre + c * spread)])
        return pd.DataFrame(self._shown(ends), index=self._index, columns=["ci_lower", "ci_upper"])

    def summary_frame(self, alpha: float = 0.05, adjust: str = "none", seed: int = 0) -> pd.DataFrame:
        """Predictions, standard errors and intervals.

        Parameters
        ----------
        alpha, adjust, seed
            As in `conf_int`.

        Returns
        -------
        DataFrame
            predicted, se, ci_lower, ci_upper.
        """
        return pd.concat([self.predicted, self.se, self.conf_int(alpha, adjust, seed)], axis=1)

    def contrasts(
        self, *, comparison: str = "difference", contrast: str = "pairwise", adjust: str = "none", seed: int = 0
    ) -> Contrasts:
        """Contrasts of the cells of `variables`, within each setting, group and level of the response.

        Parameters
        ----------
        comparison : {"difference", "ratio", "odds ratio"}
            p_b - p_a, p_b / p_a or the ratio of odds. Ratios have the intervals and tests of their logs.
        contrast : {"pairwise", "reference", "sequential"}
            All pairs, each against the first cell, or each against the one before it.
        adjust : {"none", "bonferroni", "holm", "sidak", "tukey"}
            p-values and intervals that hold for the contrasts of a setting together. "tukey" is exact for normal
            estimates, whatever their correlation; Holm's intervals are Bonferroni's.
        seed : int
            Of the integration of "tukey".

        Returns
        -------
        Contrasts

        Raises
        ------
        ValueError
            One cell; ratios of linear predictors.
        """
        check_choice("comparison", comparison, COMPARISONS)
        check_choice("contrast", contrast, PAIRS)
        check_choice("adjust", adjust, contrasts.ADJUSTMENTS)
        self._check_tested("contrasts()")
        if self.which == "linear" and comparison != "difference":
            raise ValueError(f'comparison="{comparison}" is of probabilities: which="mean"')
        pairs = RowPairs(
            contrast,
            [(row.level, row.setting) for row in self._labelled],
            [", ".join(map(str, row.name)) for row in self._labelled],
            SIGNS[comparison],
            "contrasts() needs two or more cells: variables= with two levels or values",
            self._estimates()[1].J.shape[1],
        )
        places = np.array([row.place for row in self._labelled])
        first, second = places[pairs.first], places[pairs.second]
        with np.errstate(all="ignore"):
            if self.which == "linear":
                made = contrasts.differences(*self._estimates(), self._sizes(), first, second)
            else:
                made = contrasts.compare(self._probabilities, first, second, comparison)
        rows = [
            LabelledRow(i, level, setting, (label,))
            for i, (label, (level, setting)) in enumerate(zip(pairs.labels, pairs.keys, strict=True))
        ]
        names = (self._setting_names, [", ".join(self._row_names)])
        return Contrasts(made, rows, *names, pairs.family, comparison, adjust, seed)
