"""Marginal effects by variable of the formula, labelled: averages over rows, at typical rows, by groups."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.checks import check_choice
from glmclf.core.rows.asked import under_usual_errors
from glmclf.errors import DataError, DerivativeError, InferenceWarning, without_warnings
from glmclf.inference.covariance.types import MODEL_BASED
from glmclf.inference.hypotheses import wald
from glmclf.inference.margins.averages import Average, changes
from glmclf.inference.margins.delta import DeltaCovariance, grouped_sampling_factor, sampled, sampling_factor
from glmclf.results.margins.contrasts import ContrastsOfSettings, LabelledRow, RowTests
from glmclf.results.margins.options import Settings, asked_variables, is_dummy
from glmclf.results.margins.predictors import LinearPredictors
from glmclf.results.margins.rows import Found, WantedAverage
from glmclf.results.tables.frames import WholeFrame

if TYPE_CHECKING:
    from glmclf.results.tables.render import Summary

SLOPES = {"dydx": "dy/dx", "eyex": "d(lny)/d(lnx)", "dyex": "dy/d(lnx)", "eydx": "d(lny)/dx"}
MAX_GRADIENT_NUMBERS = 250_000_000  # numbers in the gradients of all averages: 2 GB
EFFECT_COLUMNS = ("Std. Err.", "z", "Pr(>|z|)", "Conf. Int. Low", "Cont. Int. Hi.")  # statsmodels' spelling


class Estimand(NamedTuple):
    """Average with its labels: setting, group and variable."""

    setting: tuple[Any, ...]
    name: tuple[Any, ...]
    average: Average
    group: int


def marginal_effects(
    res: Any,
    at: Any,
    method: str,
    atexog: Mapping[str, Any] | None,
    dummy: bool,
    count: bool,
    variables: str | Sequence[str] | None,
    over: Any,
    contrast: str,
    newdata: Any,
    weights: Mapping[str, Any],
    vcov: str | None,
) -> MarginalEffects:
    """See `Margins.get_margeff`."""
    check_choice("method", method, SLOPES)
    check_choice("contrast", contrast, ("reference", "pairwise"))
    if vcov is not None:
        check_choice("vcov", vcov, ("unconditional",))
    source = res._margin_source()
    asked = asked_variables(source, variables)
    found = Settings.read(res, source, at, atexog, over, newdata, weights)
    if vcov is not None:
        found.check_unconditional(res)
    found.leave_out(slopes=[name for name in asked if source.levels_of(name, found.table) is None])
    effects = _Effects(source, method, dummy, count, contrast == "pairwise", variables is not None)
    for name in asked:
        effects.add(name, found.table)
    check_size(source, len(effects.wanted) * len(found.labels) * len(found.groups), "get_margeff()", "fewer variables=")
    estimands = [
        Estimand((*setting, *group), (label,), averages[g], g)
        for setting, answers in found.averages(effects.wanted, keep=vcov is not None)
        for by_variable in [effects.of(answers)]
        for g, group in enumerate(found.groups)
        for label, averages in by_variable
    ]
    C = estimate_covariance(res, source, estimands, found, vcov)
    return MarginalEffects(res, source, estimands, found.names, C, SLOPES[method], found.at)


def check_size(source: LinearPredictors, averages: int, method: str, few: str) -> None:
    """Refuse so many averages that their gradients, one an outcome in all parameters, would take all memory."""
    q = len(source.V)
    numbers = averages * source.outcome.K * q
    if numbers > MAX_GRADIENT_NUMBERS:
        raise NotImplementedError(
            f"{method} of {averages:,} averages, their gradients in {q:,} coefficients, would take "
            f"{8e-9 * numbers:.1f} GB, several times over: name {few}, or fewer settings"
        )


class _Effect(NamedTuple):
    """Labelled effect: an average or a share of a difference of two, by place, or the error of a missing derivative."""

    label: str
    first: int | DerivativeError
    second: int | None = None
    share: float = 1.0


class _Effects:
    """Effects of variables, and the averages from which they are computed.

    Attributes
    ----------
    wanted : list of WantedAverage
    """

    def __init__(self, source: LinearPredictors, method: str, dummy: bool, count: bool, pairwise: bool, named: bool):
        """Create an empty collection; `named` says whether the variables were asked for by name."""
        self.source, self.dummy, self.count, self.pairwise, self.named = source, dummy, count, pairwise, named
        self.level, self.slope = ("log_level", "log_slope") if method.startswith("ey") else ("level", "slope")
        self.scaled = method.endswith("ex")
        self.wanted: list[WantedAverage] = []
        self._effects: list[_Effect] = []

    def add(self, name: str, table: Any) -> None:
        """Add the effects of a variable, whose kind depends on its column in the table."""
        levels = self.source.levels_of(name, table)
        if levels is not None:
            self._add_changes(name, levels)
        elif self.dummy and is_dummy(table[name]):
            low, high = (self._want(WantedAverage(self.level, {name: v})) for v in (0, 1))
            self._effects.append(_Effect(name, low, high))
        elif self.count and _is_count(table[name]):
            low, high = (self._want(WantedAverage(self.level, shift=(name, v))) for v in (-1, 1))
            self._effects.append(_Effect(name, low, high, 0.5))
        else:
            self._add_slope(name)

    def _want(self, average: WantedAverage) -> int:
        self.wanted.append(average)
        return len(self.wanted) - 1

    def _add_changes(self, name: str, levels: list[Any]) -> None:
        at = [self._want(WantedAverage(self.level, {name: level})) for level in levels]
        places = range(len(levels))
        pairs = list(itertools.combinations(places, 2)) if self.pairwise else []
        pairs = pairs or [(0, k) for k in places[1:]]
        self._effects += [_Effect(f"{name}[{levels[b]} - {levels[a]}]", at[a], at[b]) for a, b in pairs]

    def _add_slope(self, name: str) -> None:
        """Add the slope of a number; without a derivative an error if the variable was asked for by name."""
        try:
            self.source.check_slope(name)
        except DerivativeError as error:
            if self.named:
                raise
            self._effects.append(_Effect(name, error))
        else:
            place = self._want(WantedAverage(self.slope, slope=name, scaled=self.scaled))
            self._effects.append(_Effect(name, place))

    def of(self, found: Sequence[Found]) -> list[tuple[str, list[Average]]]:
        """Labelled averages, a list over the groups for each row of the table."""
        out: list[tuple[str, list[Average]]] = []
        for effect in self._effects:
            first = effect.first if isinstance(effect.first, DerivativeError) else found[effect.first]
            if isinstance(first, DerivativeError):
                if self.named:
                    raise first
                self.source._say(f'no effect of "{effect.label}" is given: {first}')
            elif effect.second is None:
                out.append((effect.label, first))
            else:
                second = found[effect.second]
                assert not isinstance(second, DerivativeError)
                out.append((effect.label, changes(first, second, effect.share)))
        if not out:
            raise DataError("no variable of the model has a marginal effect")
        return out


def _is_count(column: pd.Series) -> bool:
    v = column.dropna().to_numpy(dtype=float)
    return bool(len(v)) and bool((v >= 0).all() and (v == np.floor(v)).all() and v.min() < v.max() and v.max() > 1)


# ----------------------------------------------------------------------------------------------------- covariance
def estimate_covariance(
    res: Any, source: LinearPredictors, estimands: Sequence[Estimand], found: Settings, vcov: str | None
) -> DeltaCovariance:
    """Covariance of all averages, outcomes within averages.

    Unconditional, of new rows: those are a sample of their own, whose variance is added to that of the estimate. Of the
    rows of the fit that move the estimate, too, and with a robust covariance the two go together, row by row.
    """
    J = np.concatenate([e.average.gradient for e in estimands])
    lost = ~np.isfinite(np.concatenate([e.average.value for e in estimands]))
    certain = None  # rows that are decided say nothing of how far they are from it
    if getattr(res, "separation", None) is not None:
        certain = ~(lost | J.any(axis=1))
    if vcov is None:
        return DeltaCovariance(J, source.V, None, lost, certain=certain)
    robust = _robust(found)
    clusters = _clusters(res) if robust and res._cov.name == "cluster" else None
    lost |= _alone(estimands, found, clusters)
    J = np.where(lost[:, None] | ~np.isfinite(J), 0.0, J)
    return _with_rows(J, lost, certain, estimands, found, robust, clusters)


def _with_rows(
    J: ndarray,
    lost: ndarray,
    certain: ndarray | None,
    estimands: Sequence[Estimand],
    found: Settings,
    robust: bool,
    clusters: ndarray | None,
) -> DeltaCovariance:
    """Covariance of averages over a sample of rows, group by group."""
    source, w = found.observed.source, _weights_of_units(found)
    frequency = found.observed.frequency
    slots, L = _slots(estimands, len(found.groups)), source.outcome.K
    U = _of_rows(estimands, slots, found)
    if robust and found.observed.trials is not None:
        U *= found.observed.trials[:, None]
    V, A = (None, source.res._influence_on(np.eye(J.shape[1]))) if robust else (source.V, None)
    if found.observed.codes is None:
        U = U if A is None else U + A @ J.T
        return DeltaCovariance(J, V, sampling_factor(U, w, frequency, clusters), lost, certain=certain)
    places = (slots[..., None] * L + np.arange(L)).reshape(len(slots), -1)
    F, A = grouped_sampling_factor(U, w, frequency, found.observed.codes, places, A, clusters)
    return DeltaCovariance(J, V if A is None else A.T @ A, F, lost, A, certain)


def _robust(found: Settings) -> bool:
    """Whether rows move the average and the estimate together: those of a fit with a robust covariance."""
    return found.observed.fitted and found.observed.source.res._cov.name not in MODEL_BASED


def _weights_of_units(found: Settings) -> ndarray:
    """Weights of the units of sampling: single trials, or with a robust covariance rows of counts as a whole."""
    seen = found.observed
    return seen.weights / seen.trials if _robust(found) and seen.trials is not None else seen.weights


def _slots(estimands: Sequence[Estimand], G: int) -> ndarray:
    """Places of the averages of each group in equal order, (G, number)."""
    return np.argsort([e.group for e in estimands], kind="stable").reshape(G, -1)


def _alone(estimands: Sequence[Estimand], found: Settings, clusters: ndarray | None) -> ndarray:
    """Mask of estimates over a single row or cluster, which have no sampling variance; warn of them."""
    seen, G = found.observed, len(found.groups)
    # a group without a row is NaN and has its own warning
    one = sampled(_weights_of_units(found), seen.frequency, seen.group_of_row, G, clusters) == 1
    if one.any():
        unit = "row" if clusters is None else "cluster"
        names = [int(g) for g in np.flatnonzero(one) if found.groups[g]]
        where = f" of {found.words_of(names)}" if names else ""
        seen.source._say(
            f'vcov="unconditional": averages{where} are over one {unit}, which has no sampling variance: their '
            "standard errors are NaN; without vcov= they are those given the rows",
            InferenceWarning,
        )
    return np.repeat(one[[e.group for e in estimands]], seen.source.outcome.K)


def _of_rows(estimands: Sequence[Estimand], slots: ndarray, found: Settings) -> ndarray:
    """Influence of one trial of weight one in a row on each average of its group, (n, M).

    Influences on probabilities near 1 are computed from complements.
    """
    w, codes = found.observed.weights, found.observed.group_of_row
    weight, parts = np.bincount(codes, w, len(slots))[codes, None], []
    for members in slots.T:
        averages = [estimands[i].average for i in members]
        value, (rows, ends) = np.stack([a.value for a in averages])[codes], (averages[0].rows, averages[0].ends)
        assert rows is not None
        off = rows - value
        if ends is not None and ends.rest is not None:
            log_q = np.stack([a.ends.log_q for a in averages if a.ends is not None])[codes]
            off = np.where(value > 0.5, np.exp(log_q) - ends.rest, off)
        with np.errstate(divide="ignore", invalid="ignore"):
            parts.append(np.where(np.isfinite(value), off / weight, 0.0))
    return np.hstack(parts)


def _clusters(res: Any) -> ndarray:
    """Codes of the clusters of the fit's covariance, from the column that it names."""
    if len(res._cov.clusters) > 1:
        raise NotImplementedError('vcov="unconditional" with clusters of several groupings')
    name = res._group_names[0]
    with without_warnings(InferenceWarning):  # of few clusters, which the fit has given
        try:
            found = res.model._cov_keywords("cluster", {"groups": name})
            same = np.array_equal(res.with_cov("cluster", groups=name)._cov.matrix, res._cov.matrix)
        except ValueError:
            same = False
    if not same:
        raise NotImplementedError(
            f'vcov="unconditional" with clusters that are no column of the table ("{name}"): add them as a column, and '
            "give its name as groups="
        )
    return found.codes[0]


# -------------------------------------------------------------------------------------------------------- results
@under_usual_errors
class LabelledEstimates(RowTests):
    """Base class of marginal effects and predictions: labelled averages with their covariance."""

    _heading = "estimate"

    def __init__(
        self,
        res: Any,
        source: LinearPredictors,
        estimands: Sequence[Estimand],
        names: list[str],
        C: DeltaCovariance,
        row_names: list[str],
    ):
        self.results, self._covariance = res, C
        self._value = np.concatenate([e.average.value for e in estimands])
        self._levels = source.levels
        self._link = None if source.levels else source.outcome.link  # type: ignore[union-attr]
        self._setting_names, self._row_names, L = names, row_names, max(len(source.levels), 1)
        self._labelled = [  # by level of the response, in the levels' own order
            LabelledRow(i * L + k, (self._levels[k],) if self._levels else (), e.setting, e.name)
            for k in (res.model._order if self._levels else (0,))
            for i, e in enumerate(estimands)
        ]
        self._order = np.array([row.place for row in self._labelled])

    def _estimates(self) -> tuple[ndarray, DeltaCovariance]:
        return self._value, self._covariance

    @cached_property
    def _se(self) -> ndarray:
        return self._covariance.errors

    def _shown(self, values: ndarray) -> ndarray:
        return values[self._order]

    def _series(self, values: ndarray, name: str) -> pd.Series:
        return pd.Series(self._shown(values), index=self._index, name=name)

    @property
    def cov(self) -> pd.DataFrame:
        """Covariance matrix of the estimates."""
        C = self._covariance.matrix(self._order)
        return pd.DataFrame(C, index=self._index, columns=self._index)




@under_usual_errors
class MarginalEffects(LabelledEstimates, ContrastsOfSettings):
    """Marginal effects with delta-method standard errors; made by `get_margeff`.

    Rows are variables, ``g[b - a]`` for levels of a factor, below the values that were set and the groups; with several
    classes below the levels of the response.
    """

    def __init__(self, res, source, estimands, names, C, heading: str, at: str):
        super().__init__(res, source, estimands, names, C, ["variable"])
        self._heading, self._at = heading, at
        self._tested = not getattr(res, "_regularised", False)

    def _table(self, values: ndarray, name: str) -> Any:
        """Label values as a Series; with several classes as a DataFrame with a column a level."""
        series = self._series(values, name)
        if not self._levels:
            return series
        E = len(self) // len(self._levels)
        index = series.index[:E].droplevel(0)
        columns = pd.Index([self._levels[k] for k in self.results.model._order], dtype=object)
        return pd.DataFrame(series.to_numpy().reshape(-1, E).T, index=index, columns=columns)

    @property
    def margeff(self) -> Any:
        """Effects by variable; with several classes a column a level."""
        return self._table(self._value, "margeff")

    @property
    def margeff_se(self) -> Any:
        """Standard errors of the effects."""
        return self._table(self._se, "margeff_se")

    @property
    def _z(self) -> ndarray:
        return wald.ratios(self._value, self._se) if self._tested else np.full(len(self._value), np.nan)

    @property
    def tvalues(self) -> Any:
        """Effects over their standard errors; NaN where these are 0, and of a regularised fit, which has no tests."""
        return self._table(self._z, "tvalues")

    @property
    def pvalues(self) -> Any:
        """Two-sided p-values that an effect is 0, from the normal distribution."""
        return self._table(wald.z_pvalues(self._z), "pvalues")

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Intervals, effect -/+ z se.

        Parameters
        ----------
        alpha : float
            One minus the level, in (0, 1).

        Returns
        -------
        DataFrame
            Columns 0 and 1: the ends; rows as in `summary_frame`.
        """
        ends = wald.intervals(self._value, self._se, alpha)
        return pd.DataFrame(self._shown(ends), index=self._index, columns=[0, 1])

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Effects, standard errors, tests and intervals, in the columns of statsmodels.

        Parameters
        ----------
        alpha : float
            One minus the level of the intervals, in (0, 1).

        Returns
        -------
        DataFrame
            "dy/dx" (or "d(lny)/d(lnx)" and so on), "Std. Err.", "z", "Pr(>|z|)", "Conf. Int. Low", "Cont. Int. Hi.".
        """
        ends = wald.intervals(self._value, self._se, alpha)
        columns = (self._value, self._se, self._z, wald.z_pvalues(self._z), ends[:, 0], ends[:, 1])
        data = {name: self._shown(c) for name, c in zip((self._heading, *EFFECT_COLUMNS), columns, strict=True)}
        return WholeFrame(data, index=self._index)

    def summary(self, alpha: float = 0.05) -> Summary:
        """Summary: the table of effects with facts about model, method and rows.

        Parameters
        ----------
        alpha : float
            One minus the level of the intervals, in (0, 1).

        Returns
        -------
        Summary
            `as_text, as_latex, as_html, as_csv, as_markdown, as_typst`.
        """
        from glmclf.results.tables.summary import estimates_summary

        title = f"{type(self.results.model).__name__} Marginal Effects"
        facts = [
            ("Dep. Variable:", str(self.results.model.endog_names)),
            ("Method:", self._heading),
            ("At:", self._at),
            ("Covariance Type:", str(self.results.cov_type)),
        ]
        return estimates_summary(title, facts, self.summary_frame(alpha))
