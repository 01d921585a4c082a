"""Marginal effects by variable of the formula, labelled: averages over rows, at typical rows, by groups."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf import registry
from glmclf.data.table.frame import as_frame, close_to, matched, quoted
from glmclf.errors import DataError, DerivativeError, InferenceWarning, MissingDataError, UnseenLevelError
from glmclf.inference.covariance.types import MODEL_BASED
from glmclf.inference.hypotheses import wald
from glmclf.inference.margins import averages as margins
from glmclf.inference.margins.averages import Average, Covariance
from glmclf.results.margins.parts import InParts, rows_to_average
from glmclf.results.margins.predictors import Source
from glmclf.results.margins.rows import Observed, Rows, rows_of_fit, typical
from glmclf.results.requires import SPECIAL, kinds

if TYPE_CHECKING:
    from glmclf.results.tables.summary import Summary

METHODS = {"dydx": "dy/dx", "eyex": "d(lny)/d(lnx)", "dyex": "dy/d(lnx)", "eydx": "d(lny)/dx"}
TYPICAL = ("mean", "median", "zero")
COLUMNS = ("Std. Err.", "z", "Pr(>|z|)", "Conf. Int. Low", "Cont. Int. Hi.")  # as statsmodels spells them
T = TypeVar("T")


class Estimand(NamedTuple):
    """An average with its labels: of the setting and the group, and of the variable."""

    setting: tuple[Any, ...]
    name: Any
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
    vcov: str | None,
) -> MarginalEffects:
    """See `Margins.get_margeff`."""
    check_word("method", method, METHODS)
    check_word("contrast", contrast, ("reference", "pairwise"))
    if vcov is not None:
        check_word("vcov", vcov, ("unconditional",))
    source = res._margin_source()
    asked = asked_variables(source, variables)
    found = Settings.read(res, source, at, atexog, over, newdata)
    if vcov is not None:
        found.check_unconditional(res)
    found.leave_out(slopes=[name for name in asked if source.levels_of(name, found.table) is None])
    effects = _Effects(source, method, dummy, count, contrast, variables is not None, vcov is not None)
    estimands = [
        Estimand((*setting, *group), label, averages[g], g)
        for setting, by_variable in found.each(lambda rows: effects.of(rows, asked, found.table))
        for g, group in enumerate(found.groups)
        for label, averages in by_variable
    ]
    C = estimate_covariance(res, source, estimands, found, vcov)
    return MarginalEffects(res, source, estimands, found.names, C, METHODS[method], found.at)


def check_word(name: str, word: Any, known: Any) -> None:
    """Refuse any word but the known ones."""
    if not isinstance(word, str) or word not in known:
        raise ValueError(f"{name}={word!r}: choose one of {', '.join(map(repr, known))}")


def asked_variables(source: Source, variables: str | Sequence[str] | None) -> list[str]:
    """The variables asked for, in the order of the formula if there is no other."""
    if variables is None:
        return source.variables
    names = [variables] if isinstance(variables, str) else list(variables)
    if not names:
        raise ValueError("variables=[]: name at least one variable, or leave it out for all")
    return list(dict.fromkeys(source.check(name) for name in names))


class _Effects:
    """Effects of variables on averages over rows."""

    def __init__(self, source, method: str, dummy: bool, count: bool, contrast: str, named: bool, keep: bool):
        self.source, self.log, self.scaled = source, method.startswith("ey"), method.endswith("ex")
        self.dummy, self.count, self.pairwise, self.named, self.keep = dummy, count, contrast == "pairwise", named, keep

    def of(self, rows: Rows, names: list[str], table: pd.DataFrame) -> list[tuple[str, list[Average]]]:
        """Labelled averages, a list over the groups for each row of the table."""
        out: list[tuple[str, list[Average]]] = []
        for name in names:
            levels = self.source.levels_of(name, table)
            if levels is not None:
                out += self._changes(rows, name, levels)
            elif self.dummy and _is_dummy(table[name]):
                low, high = (self._average(rows.set(name, v)) for v in (0, 1))
                out.append((name, margins.changes(low, high)))
            elif self.count and _is_count(table[name]):
                low, high = (self._average(rows.shift(name, v)) for v in (-1, 1))
                out.append((name, margins.changes(low, high, 0.5)))
            else:
                out += self._slope(rows, name)
        if not out:
            raise DataError("no variable of the model has a marginal effect")
        return out

    def _average(self, rows: Rows) -> list[Average]:
        return rows.averages("log_level" if self.log else "level", keep=self.keep)

    def _slope(self, rows: Rows, name: str) -> list[tuple[str, list[Average]]]:
        """Of a number that has a derivative in all rows; one that was asked for must have."""
        try:
            self.source.check_slope(name)
            return [(name, rows.averages("log_slope" if self.log else "slope", name, self.scaled, self.keep))]
        except DerivativeError as error:
            if self.named:
                raise
            self.source._say(f'no effect of "{name}" is given: {error}')
            return []

    def _changes(self, rows: Rows, name: str, levels: list[Any]) -> list[tuple[str, list[Average]]]:
        at = {level: self._average(rows.set(name, level)) for level in levels}
        pairs = [(a, b) for i, a in enumerate(levels) for b in levels[i + 1 :]] if self.pairwise else []
        pairs = pairs or [(levels[0], level) for level in levels[1:]]
        return [(f"{name}[{b} - {a}]", margins.changes(at[a], at[b])) for a, b in pairs]


def _is_dummy(column: pd.Series) -> bool:
    values = column.dropna().to_numpy()
    return bool(len(values)) and bool(np.isin(values, (0, 1)).all())


def _is_count(column: pd.Series) -> bool:
    v = column.dropna().to_numpy(dtype=float)
    return bool(len(v)) and bool((v >= 0).all() and (v == np.floor(v)).all() and v.min() < v.max() and v.max() > 1)


# ------------------------------------------------------------------------------------------------------ settings
class Settings:
    """Over which rows, with which variables set to which values, by which groups.

    Attributes
    ----------
    at : str
        What it is called in a summary.
    names : list of str
        Names of the labels of an average: variables that are set, then the groups.
    groups : list of tuple
        Label of each group: () where there is one.
    """

    def __init__(self, observed: Observed | InParts, grid: list[dict[str, Any]], at: str, equal: bool = False):
        self.observed, self.grid, self.at, self._equal = observed, grid, at, equal
        self.groups: list[tuple[Any, ...]] = [()]
        self.names: list[str] = list(grid[0]) if any(grid) else []
        self.labels: list[tuple[Any, ...]] = [tuple(setting.values()) for setting in grid]

    @property
    def table(self) -> Any:
        """The rows that kinds of variables are read from."""
        return self.observed.table

    @classmethod
    def read(cls, res: Any, source: Source, at: Any, atexog: Any, over: Any, newdata: Any, equal=False) -> Settings:
        """What a user asked for, checked."""
        if not isinstance(at, (str, Mapping, pd.DataFrame)):
            with suppress(DataError, NotImplementedError):
                at = as_frame(at)
        if isinstance(at, pd.DataFrame):
            if over is not None or atexog is not None or newdata is not None:
                raise ValueError("at= is a DataFrame, a setting a row: give no over=, atexog= and newdata= beside it")
            return cls._of_frame(res, source, at)
        if not (isinstance(at, str) and at in ("overall", *TYPICAL)) and not isinstance(at, Mapping):
            found = repr(at) if isinstance(at, str) else type(at).__name__
            raise ValueError(
                f'at={found}: "overall", "mean", "median", "zero", a dict or a DataFrame in memory, a setting a row '
                "(of Dask, ddf.compute()). For averages over rows of a table, a file or a Dask DataFrame pass newdata="
            )
        observed, labels = rows_to_average(source, newdata), None
        if over is not None and isinstance(observed, InParts):
            observed, labels = observed.by(over)
        elif over is not None:
            observed.codes, labels = _groups(source, over, newdata)
            observed.groups = len(labels)
        given = dict(at) if isinstance(at, Mapping) else {}
        grid = _grid(source, {**given, **dict(atexog or {})})
        self = cls(observed, grid, at if isinstance(at, str) else "observed", equal)
        if labels is not None:
            self.groups, name = [(label,) for label in labels], over if isinstance(over, str) else "over"
            self.names = [*self.names, name]
        return self

    @classmethod
    def _of_frame(cls, res: Any, source: Source, at: pd.DataFrame) -> Settings:
        """Each row of a table a setting."""
        if not len(at):
            raise DataError("at= is a DataFrame without rows")
        offset = source.offset_name
        lacking = [name for name in source.design.variables if name not in at.columns]
        if not lacking and (offset is None) == (not getattr(source.model, "_has_offset", False)):
            observed = rows_of_fit(source, at)
            observed.codes, observed.groups = np.arange(len(at)), len(at)
            self = cls(observed, [{}], "rows")
            self.groups = [(label,) for label in at.index]
            self.names = [str(at.index.name or "row")]
            return self
        known = [name for name in at.columns if name in source.design.variables or name == offset]
        if not known:
            raise DataError(f"at= has none of the variables {quoted(source.variables)}")
        others = [*source.model._table_columns, source.model.endog_names]
        odd = [name for name in at.columns if name not in known and name not in others]
        if odd:
            hint = close_to(str(odd[0]), source.variables)
            raise DataError(f"at= has the column {quoted(odd)}, no variable of the model. {hint}")
        those = rows_to_average(source)
        grid = [dict(zip(known, values, strict=True)) for values in at[known].itertuples(index=False, name=None)]
        self = cls(those, grid, "rows")
        self.names, self.labels = [str(at.index.name or "row")], [(label,) for label in at.index]
        return self

    def leave_out(self, slopes: Sequence[str] = (), cell: Mapping[str, Any] | None = None) -> None:
        """Leave rows out that lack a value which is needed: the same for all averages of a table.

        Parameters
        ----------
        slopes : list of str
            Numbers that derivatives are taken in.
        cell : dict, optional
            Variables that each average sets, besides those of the settings; a value will do.
        """
        whole = self.observed
        self.observed, n, left = whole.without_gaps({**self.grid[0], **(cell or {})}, list(slopes))
        if not n:
            return
        if not left.any():
            raise DataError("no row with all values that the model needs is left to average over")
        if self.at != "rows" or whole.codes is None:
            whole.source._say(f"{n} rows that lack a value the model needs are not in the averages")
        empty = np.flatnonzero(left == 0)
        if len(empty):
            names = quoted([self.groups[g][0] for g in empty])
            why = f"no row with all values that the model needs is left of {self.names[-1]} {names}: NaN"
            whole.source._say(why, InferenceWarning)

    def each(self, f: Callable[[Rows], T]) -> list[tuple[tuple[Any, ...], T]]:
        """Labels of each setting and ``f(rows)`` of its rows."""
        base: Rows = typical(self.observed, self.at, self._equal) if self.at in TYPICAL else self.observed
        settings = list(zip(self.labels, self.grid, strict=True))
        return base.together(lambda rows: [(labels, f(rows.at(setting))) for labels, setting in settings])

    def check_unconditional(self, res: Any) -> None:
        """Refuse what unconditional standard errors are not known for."""
        name = type(res.model).__name__
        if isinstance(self.observed, InParts):
            raise NotImplementedError(
                'vcov="unconditional" of averages over rows in a stream: without vcov= standard errors are those given '
                "the rows"
            )
        if self.at in TYPICAL or self.at == "rows":
            raise NotImplementedError(
                f'vcov="unconditional" with at="{self.at}": only averages over the rows of a sample vary with it'
            )
        if not self.observed.fitted:  # of another sample: whatever the estimate's covariance is
            return
        if not hasattr(res.model, "_objective"):
            some = registry.listed(registry.REGRESSIONS)
            raise NotImplementedError(f'vcov="unconditional" of {name}: it is for {some}')
        known = (*MODEL_BASED, "HC0", "HC1", "cluster")
        cov, odd = res._cov.name, list(kinds(res, SPECIAL))
        if cov not in known or (odd and cov not in MODEL_BASED):
            raise NotImplementedError(f'vcov="unconditional" of {" and ".join(odd) or name} with cov_type="{cov}"')


def _grid(source: Source, given: dict[Any, Any]) -> list[dict[str, Any]]:
    """Settings of a dict: each combination of the values that lists give."""
    names, values, none = [], [], pd.DataFrame(columns=source.design.variables)
    for name, value in given.items():
        name = _by_place(source, name)
        names.append(name if name == source.offset_name else source.check(name))
        many = not isinstance(value, (str, bytes)) and np.ndim(value) == 1
        some = list(value) if many else [value]
        if not some:
            raise ValueError(f'at= gives no value of "{name}"')
        some = [v.item() if isinstance(v, np.generic) else v for v in some]
        levels = source.levels_of(name, none) if name in source.variables else None
        unknown = [v for v in some if levels and v not in levels]
        if unknown:
            raise UnseenLevelError(f'at=: "{name}" has no level {quoted(unknown)}; it has {quoted(levels or [])}')
        if levels is None and (name == source.offset_name or source.model.formula is None):
            _check_numbers(name, some)
        values.append(some)
    return [dict(zip(names, cell, strict=True)) for cell in itertools.product(*values)]


def _by_place(source: Source, name: Any) -> Any:
    """The name of an array's column that was given by place, as in statsmodels."""
    if isinstance(name, bool) or not isinstance(name, (int, np.integer)) or name in source.variables:
        return name
    names = getattr(source.design, "xnames", None)
    if source.model.formula is not None or names is None:
        return name
    if not 0 <= name < len(names):
        raise DataError(f"at= sets column {name}; the model's are 0 to {len(names) - 1}: {quoted(names)}")
    return names[name]


def _check_numbers(name: str, values: list[Any]) -> None:
    odd = [v for v in values if isinstance(v, (str, bytes)) or not isinstance(v, (int, float, np.number))]
    if odd:
        raise DataError(f'at= sets "{name}", a number, to {quoted(odd)}')


def _groups(source: Source, over: Any, newdata: Any) -> tuple[ndarray, list[Any]]:
    """Codes of the groups of rows, and their labels, sorted."""
    model = source.model
    if newdata is not None:
        column = matched(over, name="over", frame=source.as_table(newdata))
    elif isinstance(over, str):
        column = matched(over, name="over", frame=source.fit_table())
    else:
        column = beside_rows(model, over, "over")
    if column.isna().any():
        raise MissingDataError(f"over= is missing in {int(column.isna().sum())} of {len(column)} rows")
    codes, labels = pd.factorize(column, sort=True)
    return codes, list(labels)


def beside_rows(model: Any, values: Any, name: str) -> pd.Series:
    """One value a row of the fit, of those given beside these rows, the table, or the table before `subset`.

    A Series is matched by label, by position where its index is that of one of the three; an array by its length.
    """
    r, index, cut = model._rows, model._given_index, model._cut
    after = index if cut is None else index[cut]
    by_label = isinstance(values, pd.Series)
    for labels in (r.index, after, index):
        if values.index.equals(labels) if by_label else np.shape(values) == (len(labels),):
            column = matched(values, name=name, frame=pd.DataFrame(index=labels))
            column = column[cut] if labels is index and cut is not None else column
            return column if labels is r.index else column.iloc[r.positions]
    return matched(values, name=name, frame=pd.DataFrame(index=r.index if by_label else index))


# ----------------------------------------------------------------------------------------------------- covariance
def estimate_covariance(
    res: Any, source: Source, estimands: Sequence[Estimand], found: Settings, vcov: str | None
) -> Covariance:
    """Covariance of all averages, outcome by outcome within each.

    Unconditional, of new rows: those are a sample of their own, whose variance is added to that of the estimate. Of the
    rows of the fit that move the estimate, too, and with a robust covariance the two go together, row by row.
    """
    J = np.concatenate([e.average.gradient for e in estimands])
    lost = ~np.isfinite(np.concatenate([e.average.value for e in estimands]))
    if getattr(res, "_cone", None) is not None:  # rows that are decided say nothing of how far they are from certain
        lost |= ~J.any(axis=1)
    if vcov is None:
        return Covariance(J, source.V, None, lost)
    robust = found.observed.fitted and source.res._cov.name not in MODEL_BASED
    clusters = _clusters(res) if robust and res._cov.name == "cluster" else None
    lost |= _alone(estimands, found, clusters)
    return _with_rows(np.where(lost[:, None] | ~np.isfinite(J), 0.0, J), lost, estimands, found, robust, clusters)


def _with_rows(
    J: ndarray, lost: ndarray, estimands: Sequence[Estimand], found: Settings, robust: bool, clusters: ndarray | None
) -> Covariance:
    """The covariance of averages over rows that are a sample, group by group."""
    source, w = found.observed.source, found.observed.weights
    frequency = _frequency(found)
    slots, L = _slots(estimands, len(found.groups)), source.outcome.K
    U = _of_rows(estimands, slots, found)
    V, A = (None, source.res._influence_on(np.eye(J.shape[1]))) if robust else (source.V, None)
    if found.observed.codes is None:
        U = U if A is None else U + A @ J.T
        return Covariance(J, V, margins.of_sums(U, w, frequency, clusters), lost)
    places = (slots[..., None] * L + np.arange(L)).reshape(len(slots), -1)
    F, A = margins.of_grouped_sums(U, w, frequency, found.observed.codes, places, A, clusters)
    return Covariance(J, V if A is None else A.T @ A, F, lost, A)


def _frequency(found: Settings) -> bool:
    return found.observed.fitted and found.observed.source.model._frequency


def _slots(estimands: Sequence[Estimand], G: int) -> ndarray:
    """Places of the averages of each group, (G, number): one after another, alike in all groups."""
    return np.argsort([e.group for e in estimands], kind="stable").reshape(G, -1)


def _alone(estimands: Sequence[Estimand], found: Settings, clusters: ndarray | None) -> ndarray:
    """Estimates over one row, or one cluster, which says nothing of how rows vary; it is said."""
    seen, G = found.observed, len(found.groups)
    codes = np.zeros(len(seen.weights), dtype=np.intp) if seen.codes is None else seen.codes
    # a group without a row is NaN for that, and said before
    one = margins.sampled(seen.weights, _frequency(found), codes, G, clusters) == 1
    if one.any():
        unit = "row" if clusters is None else "cluster"
        names = [found.groups[g][0] for g in np.flatnonzero(one) if found.groups[g]]
        where = f" of {found.names[-1]} {quoted(names)}" if names else ""
        seen.source._say(
            f'vcov="unconditional": averages{where} are over one {unit}, which has no sampling variance: their '
            "standard errors are NaN; without vcov= they are those given the rows",
            InferenceWarning,
        )
    return np.repeat(one[[e.group for e in estimands]], seen.source.outcome.K)


def _of_rows(estimands: Sequence[Estimand], slots: ndarray, found: Settings) -> ndarray:
    """What a row of weight one adds to each average of its group, (n, M); of probabilities near 1 from their
    complements."""
    w, codes = found.observed.weights, found.observed.codes
    codes = np.zeros(len(w), dtype=np.intp) if codes is None else codes
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
        raise NotImplementedError('vcov="unconditional" with two-way clusters')
    name = res._group_names[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)  # of few clusters, said before
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
class LabelledEstimates:
    """Estimates of averages with their covariance, labelled: what marginal effects and predictions share."""

    _heading = "estimate"

    def __init__(self, res: Any, source: Source, estimands: Sequence[Estimand], names: list[str], C: Covariance):
        self.results, self._covariance = res, C
        self._value = np.concatenate([e.average.value for e in estimands])
        self._levels, self._source, self._names = source.levels, source, names
        self._rows = [(*e.setting, e.name) for e in estimands]
        self._order = self._display_order(len(estimands))

    def _display_order(self, E: int) -> ndarray:
        """Places of the numbers in tables: level by level of the response, in its own order."""
        if not self._levels:
            return np.arange(E)
        L = len(self._levels)
        return np.concatenate([np.arange(E) * L + k for k in self.results.model._order])

    _last: str | None = "variable"

    @cached_property
    def _index(self) -> pd.Index:
        """Labels of the rows of tables."""
        rows, names = self._rows, [*self._names, *([self._last] if self._last else [])]
        if self._levels:
            levels = [self._levels[k] for k in self.results.model._order]
            rows = [(level, *row) for level in levels for row in self._rows]
            names = ["level", *names]
        if not names:
            return pd.RangeIndex(len(rows))
        if len(names) == 1:
            return pd.Index([row[0] for row in rows], dtype=object, name=names[0])
        return pd.MultiIndex.from_tuples(rows, names=names)

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

    def __len__(self) -> int:
        return len(self._value)

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """A table of the estimates."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return repr(self.summary_frame())

    def _repr_html_(self) -> str:
        return self.summary_frame().to_html()


class MarginalEffects(LabelledEstimates):
    """Marginal effects with delta-method standard errors; made by `get_margeff`.

    Rows are variables, ``g[b - a]`` for levels of a factor, below the values that were set and the groups; with several
    classes below the levels of the response.
    """

    def __init__(self, res, source, estimands, names, C, heading: str, at: str):
        super().__init__(res, source, estimands, names, C)
        self._heading, self._at = heading, at
        self._tested = not getattr(res, "_regularised", False)

    def _table(self, values: ndarray, name: str) -> Any:
        """A Series; with several classes a DataFrame with a column a level."""
        series = self._series(values, name)
        if not self._levels:
            return series
        E = len(self._rows)
        index = series.index[:E].droplevel(0)
        columns = pd.Index([self._levels[k] for k in self.results.model._order], dtype=object)
        return pd.DataFrame(series.to_numpy().reshape(-1, E).T, index=index, columns=columns)

    @property
    def margeff(self) -> Any:
        """The effects: by variable or, with several classes, also a column a level."""
        return self._table(self._value, "margeff")

    @property
    def margeff_se(self) -> Any:
        """Their standard errors."""
        return self._table(self._se, "margeff_se")

    @property
    def _z(self) -> ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._value / self._se if self._tested else np.full(len(self._value), np.nan)

    @property
    def tvalues(self) -> Any:
        """Effects over their standard errors; NaN of a regularised fit, which has no tests."""
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
        data = {name: self._shown(c) for name, c in zip((self._heading, *COLUMNS), columns, strict=True)}
        return pd.DataFrame(data, index=self._index)

    def summary(self, alpha: float = 0.05) -> Summary:
        """The table with what it is of.

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
