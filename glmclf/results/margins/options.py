"""Options of margins: the rows averaged over, the values that variables are set to, and the groups."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf import registry
from glmclf.checks import is_number, is_truth, is_whole
from glmclf.data.table.frame import as_frame, close_to, matched, python_value, quoted
from glmclf.errors import DataError, InferenceWarning, MissingDataError, UnseenLevelError
from glmclf.inference.covariance.types import MODEL_BASED
from glmclf.results.margins.groups import CrossedGroups, named_columns
from glmclf.results.margins.levels import averages
from glmclf.results.margins.predictors import LinearPredictors
from glmclf.results.margins.rows import ObservedRows, RowsInParts, WantedAverage, rows_of_fit, rows_to_average
from glmclf.results.margins.typical import TYPICAL, typical
from glmclf.results.requires import SPECIAL, kinds


def asked_variables(source: LinearPredictors, variables: str | Sequence[str] | None) -> list[str]:
    """Variables asked for, in the order of the formula by default."""
    if variables is None:
        return source.variables
    names = [variables] if isinstance(variables, str) else list(variables)
    if not names:
        raise ValueError("variables=[]: name at least one variable, or leave it out for all")
    return list(dict.fromkeys(source.check(name) for name in names))


class Settings:
    """Settings of margins: the rows averaged over, the values that variables are set to, and the groups.

    Attributes
    ----------
    at : str
        What it is called in a summary.
    names : list of str
        Names of the labels of an average: variables that are set, then the groups.
    groups : list of tuple
        Label of each group: () where there is one.
    """

    def __init__(self, observed: ObservedRows | RowsInParts, grid: list[dict[str, Any]], at: str, equal: bool = False):
        self.grid, self.at, self._equal = grid, at, equal
        self.observed: Any = observed
        self.groups: list[tuple[Any, ...]] = [()]
        self.names: list[str] = list(grid[0]) if any(grid) else []
        self.labels: list[tuple[Any, ...]] = [tuple(setting.values()) for setting in grid]

    @property
    def table(self) -> Any:
        """Rows from which kinds of variables are read."""
        return self.observed.table

    @classmethod
    def read(
        cls,
        res: Any,
        source: LinearPredictors,
        at: Any,
        atexog: Any,
        over: Any,
        newdata: Any,
        weights: Mapping[str, Any],
        equal: bool = False,
    ) -> Settings:
        """Check the options of a user; `weights` are those of new rows, by keyword."""
        weights = {name: value for name, value in weights.items() if value is not None}
        if weights and newdata is None:
            raise TypeError(f"{next(iter(weights))}= needs newdata=: rows of the fit have those of the fit")
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
        observed, groups = rows_to_average(source, newdata, weights), None
        if over is not None and isinstance(observed, RowsInParts):
            observed, groups = observed.by(over)
        elif over is not None and isinstance(observed, ObservedRows):
            columns = _group_columns(source, over, newdata)
            codes, groups = CrossedGroups.found(columns)
            observed = observed.in_groups(codes, len(groups.labels))
        given = dict(at) if isinstance(at, Mapping) else {}
        grid = _grid(source, {**given, **dict(atexog or {})})
        self = cls(observed, grid, at if isinstance(at, str) else "observed", equal)
        if groups is not None:
            self.groups, self.names = groups.labels, [*self.names, *groups.names]
        return self

    def words_of(self, groups: Sequence[int] | ndarray) -> str:
        """Groups of rows in words."""
        several = len(self.groups[0])
        found = [self.groups[g] if several > 1 else self.groups[g][0] for g in groups]
        return f"{', '.join(self.names[-several:])} {quoted(found)}"

    @classmethod
    def _of_frame(cls, res: Any, source: LinearPredictors, at: pd.DataFrame) -> Settings:
        """Settings from a table, one for each row."""
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
        beside = (offset, *source.offset_columns)
        known = [name for name in at.columns if name in source.design.variables or name in beside]
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
        """Leave out rows that lack a needed value, equally for all averages of a table.

        Parameters
        ----------
        slopes : list of str
            Numbers that derivatives are taken in.
        cell : dict, optional
            Variables that each average sets, besides those of the settings; a value will do.
        """
        whole = self.observed
        self.observed, n, left = whole.without_gaps({**self.grid[0], **(cell or {})}, list(slopes))
        if not left.any():
            raise DataError("no row with all values that the model needs, and a weight, is left to average over")
        if n and (self.at != "rows" or whole.codes is None):
            whole.source._say(f"{n} rows that lack a value the model needs are not in the averages")
        empty = np.flatnonzero(left == 0)
        if len(empty):
            why = f"no row with all values that the model needs is left of {self.words_of(empty)}: NaN"
            whole.source._say(why, InferenceWarning)

    def averages(self, wanted: Sequence[WantedAverage], keep: bool = False) -> list[tuple[tuple[Any, ...], list[Any]]]:
        """Labels of each setting with its averages; see `RowsInMemory.averages`."""
        rows = typical(self.observed, self.at, self._equal) if self.at in TYPICAL else self.observed
        return list(zip(self.labels, averages(rows, self.grid, wanted, keep), strict=True))

    def check_unconditional(self, res: Any) -> None:
        """Refuse fits and rows without known unconditional standard errors."""
        name = type(res.model).__name__
        if isinstance(self.observed, RowsInParts):
            raise NotImplementedError(
                'vcov="unconditional" of averages over rows in a stream: without vcov= standard errors are those given '
                "the rows"
            )
        if self.at in TYPICAL or self.at == "rows":
            raise NotImplementedError(
                f'vcov="unconditional" with at="{self.at}": only averages over the rows of a sample vary with it'
            )
        if not self.observed.fitted:  # new rows are a sample of their own: any covariance of the estimate will do
            return
        if not hasattr(res.model, "_objective"):
            some = registry.listed(registry.REGRESSIONS)
            raise NotImplementedError(f'vcov="unconditional" of {name}: it is for {some}')
        known = (*MODEL_BASED, "HC0", "HC1", "cluster")
        cov, odd = res._cov.name, list(kinds(res, SPECIAL))
        if cov not in known or (odd and cov not in MODEL_BASED):
            raise NotImplementedError(f'vcov="unconditional" of {" and ".join(odd) or name} with cov_type="{cov}"')


def _grid(source: LinearPredictors, given: dict[Any, Any]) -> list[dict[str, Any]]:
    """Settings of a dict: each combination of the values that lists give."""
    names, values, none = [], [], pd.DataFrame(columns=source.design.variables)
    for name, value in given.items():
        name = _by_place(source, name)
        names.append(name if name in (source.offset_name, *source.offset_columns) else source.check(name))
        many = not isinstance(value, (str, bytes)) and np.ndim(value) == 1
        some = list(value) if many else [value]
        if not some:
            raise ValueError(f'at= gives no value of "{name}"')
        some = [python_value(v) for v in some]
        levels = source.levels_of(name, none) if name in source.variables else None
        unknown = [v for v in some if levels and v not in levels]
        if unknown:
            raise UnseenLevelError(f'at=: "{name}" has no level {quoted(unknown)}; it has {quoted(levels or [])}')
        if levels is None and (name == source.offset_name or source.model.formula is None):
            _check_numbers(name, some)
        values.append(some)
    if source.offset_name in names and (both := [name for name in names if name in source.offset_columns]):
        raise ValueError(f'at= sets the offset "{source.offset_name}" and {quoted(both)}, of which it is computed')
    return [dict(zip(names, cell, strict=True)) for cell in itertools.product(*values)]


def _by_place(source: LinearPredictors, name: Any) -> Any:
    """Name of an array's column that was given by place, as in statsmodels."""
    if not is_whole(name) or name in source.variables:
        return name
    names = getattr(source.design, "xnames", None)
    if source.model.formula is not None or names is None:
        return name
    if not 0 <= name < len(names):
        raise DataError(f"at= sets column {name}; the model's are 0 to {len(names) - 1}: {quoted(names)}")
    return names[name]


def _check_numbers(name: str, values: list[Any]) -> None:
    odd = [v for v in values if not (is_number(v) or is_truth(v))]
    if odd:
        raise DataError(f'at= sets "{name}", a number, to {quoted(odd)}')


def _group_columns(source: LinearPredictors, over: Any, newdata: Any) -> dict[str, pd.Series]:
    """Columns whose values, crossed, are groups of the rows, by name."""
    named = isinstance(over, (str, list, tuple))
    table = source.as_table(newdata) if newdata is not None else source.fit_table() if named else None
    names = None if table is None else named_columns(over, table.columns)
    if table is not None and names is not None:
        columns = {name: matched(name, name="over", frame=table) for name in names}
    elif newdata is not None:
        columns = {"over": matched(over, name="over", frame=table)}
    else:
        columns = {"over": beside_rows(source.model, over, "over")}
    lost = np.logical_or.reduce([column.isna() for column in columns.values()])
    if lost.any():
        raise MissingDataError(f"over= is missing in {int(lost.sum())} of {len(lost)} rows")
    return columns


def beside_rows(model: Any, values: Any, name: str) -> pd.Series:
    """Align values with the rows of the fit, from values given for these rows, the table, or the table before `subset`.

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


def is_dummy(column: pd.Series) -> bool:
    """Whether all values that are not missing are 0 or 1."""
    values = column.dropna().to_numpy()
    return bool(len(values)) and bool(np.isin(values, (0, 1)).all())
