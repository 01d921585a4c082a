"""Adjusted predictions and their contrasts, labelled: averages of probabilities with variables set to values."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.special import expit

from glmclf.errors import DataError
from glmclf.inference import contrasts, margins
from glmclf.results.margin_sources import Source
from glmclf.results.marginal_effects import (
    Estimand,
    LabelledEstimates,
    Settings,
    _is_dummy,
    check_word,
    estimate_covariance,
)

KINDS = ("difference", "ratio", "odds ratio")
PAIRS = ("pairwise", "reference", "sequential")
SIGNS = {"difference": " - ", "ratio": " / ", "odds ratio": " / "}
Variables = str | Sequence[str] | Mapping[str, Any] | None


def adjusted_predictions(
    res: Any, variables: Variables, at: Any, by: Any, which: str, weights: str, newdata: Any, vcov: str | None
) -> AdjustedPredictions:
    """See `Margins.predictions`."""
    check_word("which", which, ("mean", "linear"))
    check_word("weights", weights, ("proportional", "equal"))
    if vcov is not None:
        check_word("vcov", vcov, ("unconditional",))
    if weights == "equal" and not (isinstance(at, str) and at == "mean"):
        raise ValueError('weights="equal" is for at="mean": elsewhere levels are as observed, or one of them')
    res._check_margins("predictions()")
    source = res._margin_source()
    found = Settings.read(res, source, at, None, by, newdata, weights == "equal")
    if vcov is not None:
        found.check_unconditional(res)
    cells = _cells(source, variables, found.table)
    kind, keep = ("level" if which == "mean" else "linear"), vcov is not None
    estimands = [
        Estimand((*setting, *group), tuple(cell.values()), averages[g], g)
        for setting, rows in found.rows()
        for by_cell in [[rows.at(cell).averages(kind, keep=keep) for cell in cells]]
        for g, group in enumerate(found.groups)
        for cell, averages in zip(cells, by_cell, strict=True)
    ]
    C = estimate_covariance(res, source, estimands, found, vcov)
    return AdjustedPredictions(res, source, estimands, found.names, C, list(cells[0]), which)


def _cells(source: Source, variables: Variables, table: pd.DataFrame) -> list[dict[str, Any]]:
    """Each combination of the values that variables are set to."""
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
            some = levels if levels is not None else [0, 1] if _is_dummy(table[name]) else None
            if some is None:
                raise DataError(f'"{name}" is a number: say at which values, as variables={{"{name}": [1, 2]}}')
            if levels is not None and levels[0] is not False:
                some = sorted(some, key=_original_order(source, name, levels).index)
        some = [some] if isinstance(some, (str, bytes)) or np.ndim(some) == 0 else list(some)
        if not some:
            raise ValueError(f'variables= gives no value of "{name}"')
        values[name] = [v.item() if isinstance(v, np.generic) else v for v in some]
    if not values:
        raise ValueError("variables= is empty: name at least one variable, or leave it out")
    return [dict(zip(values, cell, strict=True)) for cell in itertools.product(*values.values())]


def _original_order(source: Source, name: str, levels: list[Any]) -> list[Any]:
    """Levels in their order, wherever the base is."""
    for factor in source.design.factors.values():
        if factor.levels is not None and name in (factor.expression.bare, factor.expression.categorised):
            return factor.levels
    return levels


class AdjustedPredictions(LabelledEstimates):
    """Averages of predictions with delta-method standard errors and intervals; made by `predictions`."""

    def __init__(self, res, source, estimands, names, C, variables: list[str], which: str):
        super().__init__(res, source, estimands, names, C)
        self.which, self._variables = which, variables
        self._cells = [e.name for e in estimands]
        self._settings = [e.setting for e in estimands]
        self._rows = [(*e.setting, *e.name) for e in estimands]
        self._names, self._last = [*names, *variables], None

    @property
    def predicted(self) -> pd.Series:
        """The predictions."""
        return self._series(self._value, "predicted")

    @property
    def se(self) -> pd.Series:
        """Their standard errors, by the delta method."""
        return self._series(self._se, "se")

    def _scale(self) -> tuple[ndarray, ndarray, Any]:
        """What is nearly normal, its standard error, and the way back."""
        p, se = self._value, self._se
        if self.which == "linear":
            return p, se, np.asarray
        with np.errstate(divide="ignore", invalid="ignore"):
            if self._levels:
                return np.log(p) - np.log1p(-p), se / (p * (1.0 - p)), expit
            link = self._source.outcome.link  # type: ignore[union-attr]
            centre = link.quantile(p)
            return centre, se / link.pdf(centre), link.cdf

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
        check_word("adjust", adjust, [a for a in contrasts.ADJUSTMENTS if a != "holm"])
        R = contrasts.correlation(self._covariance)
        c = contrasts.joint_critical_value(R, adjust, alpha, seed)
        centre, spread, back = self._scale()
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
        check_word("comparison", comparison, KINDS)
        check_word("contrast", contrast, PAIRS)
        check_word("adjust", adjust, contrasts.ADJUSTMENTS)
        if getattr(self.results, "_regularised", False):
            raise NotImplementedError("contrasts() of a regularised fit: it has no tests. predictions() has intervals")
        if self.which == "linear" and comparison != "difference":
            raise ValueError(f'comparison="{comparison}" is of probabilities: which="mean"')
        return Contrasts(self, comparison, contrast, adjust, seed)


class Contrasts:
    """Comparisons of adjusted predictions; made by `contrasts`.

    Attributes
    ----------
    comparison, adjust : str
    """

    def __init__(self, found: AdjustedPredictions, comparison: str, contrast: str, adjust: str, seed: int):
        self.comparison, self.adjust, self._seed = comparison, adjust, seed
        first, second, rows, family = self._pairs(found, contrast)
        p = found._value
        with np.errstate(divide="ignore", invalid="ignore"):
            made = contrasts.compare(p, first, second, comparison)
            self._C = margins.covariance(made.gradient, found._covariance)
        self._centre, self._exponential, self._family = made.centre, made.exponential, np.array(family)
        variables = ", ".join(found._variables)
        names = [*(["level"] if found._levels else []), *found._names[: -len(found._variables)], variables]
        self._index = (
            pd.Index([r[0] for r in rows], dtype=object, name=names[0])
            if len(names) == 1
            else pd.MultiIndex.from_tuples(rows, names=names)
        )

    def _pairs(self, found: AdjustedPredictions, contrast: str):
        """Places of the two sides of each contrast, its labels, and which family it is of."""
        L = max(len(found._levels), 1)
        order = found.results.model._order if found._levels else [0]
        first, second, rows, family = [], [], [], []
        settings = list(dict.fromkeys(found._settings))
        sign = SIGNS[self.comparison]
        for k in order:
            for setting in settings:
                members = [i for i, s in enumerate(found._settings) if s == setting]
                if len(members) < 2:
                    raise ValueError("contrasts() needs two or more cells: variables= with two levels or values")
                for a, b in _of(contrast, members):
                    first.append(a * L + k)
                    second.append(b * L + k)
                    words = [", ".join(map(str, found._cells[i])) for i in (b, a)]
                    label = sign.join(words)
                    rows.append((*([found._levels[k]] if found._levels else []), *setting, label))
                    family.append(settings.index(setting) + len(settings) * k)
        return np.array(first), np.array(second), rows, family

    @property
    def _se(self) -> ndarray:
        return margins.roots(np.diagonal(self._C))

    def _series(self, values: ndarray, name: str) -> pd.Series:
        return pd.Series(values, index=self._index, name=name)

    @property
    def estimate(self) -> pd.Series:
        """The comparisons."""
        return self._series(np.exp(self._centre) if self._exponential else self._centre, self.comparison)

    @property
    def se(self) -> pd.Series:
        """Their standard errors; of a ratio that of its log times the ratio."""
        se = self._se * np.exp(self._centre) if self._exponential else self._se
        return self._series(se, "se")

    @property
    def tvalues(self) -> pd.Series:
        """Differences, or logs of ratios, over their standard errors."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._series(self._centre / self._se, "z")

    @property
    def pvalues(self) -> pd.Series:
        """Two-sided p-values of no difference, adjusted."""
        z, out = self.tvalues.to_numpy(), np.full(len(self._index), np.nan)
        R = contrasts.correlation(self._C)
        for f in np.unique(self._family):
            at = np.flatnonzero(self._family == f)
            out[at] = contrasts.adjusted_pvalues(z[at], R[np.ix_(at, at)], self.adjust, self._seed)
        return self._series(out, "pvalue")

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Intervals of level 1 - alpha, of all contrasts of a setting together where these are adjusted.

        Parameters
        ----------
        alpha : float
            In (0, 1).

        Returns
        -------
        DataFrame
            ci_lower, ci_upper.
        """
        R, c = contrasts.correlation(self._C), np.empty(len(self._index))
        for f in np.unique(self._family):
            at = np.flatnonzero(self._family == f)
            c[at] = contrasts.joint_critical_value(R[np.ix_(at, at)], self.adjust, alpha, self._seed)
        ends = np.column_stack([self._centre - c * self._se, self._centre + c * self._se])
        ends = np.exp(ends) if self._exponential else ends
        return pd.DataFrame(ends, index=self._index, columns=["ci_lower", "ci_upper"])

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """The comparison, se, z, pvalue, ci_lower, ci_upper.

        Parameters
        ----------
        alpha : float
            One minus the level of the intervals, in (0, 1).

        Returns
        -------
        DataFrame
        """
        return pd.concat([self.estimate, self.se, self.tvalues, self.pvalues, self.conf_int(alpha)], axis=1)

    def __len__(self) -> int:
        return len(self._index)

    def __repr__(self) -> str:
        return repr(self.summary_frame())

    def _repr_html_(self) -> str:
        return self.summary_frame().to_html()


def _of(contrast: str, members: list[int]) -> list[tuple[int, int]]:
    if contrast == "reference":
        return [(members[0], b) for b in members[1:]]
    return list(itertools.pairwise(members)) if contrast == "sequential" else list(itertools.combinations(members, 2))
