"""The rows a model uses: which are kept and why, and the variables that stand beside the design."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.design.factor import SubtermColumns
from glmclf.data.table.frame import align, as_array, matched, quoted, row_labels
from glmclf.errors import DataError, MissingDataError

Respond = Callable[[list[str], list[Any]], Any]  # names and values of the left side -> a response


@dataclass(frozen=True)
class ReadTable:
    """Result of reading a table in memory, or arrays: the design, the response and the rows of a model.

    Attributes
    ----------
    design : Design or ArrayDesign
        Rows of a table -> rows of X, for these and for new data.
    response : object
        What the `response` callable made of the left side.
    pieces : list of SubtermColumns, or None
        The design of the kept rows, from a formula.
    X : (n, k) ndarray or None
        The design of the kept rows, from arrays.
    extras : dict of (n,) float64 ndarrays
        "offset", "freq_weights" or "weights" of the kept rows.
    keep : (n_given,) bool ndarray
        Which rows of the table after `subset` are kept.
    index : Index
        Their labels.
    given_index : Index
        Labels of the rows of the table before `subset`: variables beside it are aligned with these.
    cut : (n_before,) bool ndarray or None
        What `subset` left of them; None for all.
    n_given : int
        Rows of the table after `subset`.
    dropped : dict
        Column or factor -> in how many of the dropped rows it is missing.
    n_dropped, n_absent : int
        Rows with missing values; rows of weight zero or without trials.
    notes : list of str
        What was left out, for the summary.
    frame : DataFrame or None
        The table after `subset`.
    values : list of ndarrays, or None
        The features of the kept rows, for a model that takes them one by one.
    computed : dict of Design
        Designs of the extras that code computes, by keyword.
    borrowed : dict
        What each factor of a formula, either side, takes from beside the table (`data.formula.borrowed.described`).
    """

    design: Any
    response: Any
    pieces: list[SubtermColumns] | None
    X: ndarray | None
    extras: dict[str, ndarray]
    keep: ndarray
    index: pd.Index
    given_index: pd.Index
    cut: ndarray | None
    n_given: int
    dropped: dict[str, int]
    n_dropped: int
    n_absent: int
    notes: list[str]
    frame: pd.DataFrame | None
    values: list[ndarray] | None = None
    computed: dict[str, Any] = field(default_factory=dict)
    borrowed: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def labels(self) -> list[Any]:
        """Values of the response's column, those of rows that are not used included; none of several columns, of all
        rows, and of categories, which the response knows."""
        frame, name = self.frame, self.response.name
        if frame is None or name not in frame or len(frame) == len(self):
            return []
        if isinstance(frame[name].dtype, pd.CategoricalDtype):
            return []
        return list(frame[name].dropna().unique())

    @property
    def facts(self) -> dict[str, Any]:
        """Facts about the rows for a summary."""
        return {
            "n_before": len(self.given_index),
            "n_given": self.n_given,
            "n_dropped": self.n_dropped,
            "dropped": dict(self.dropped),
            "n_absent": self.n_absent,
            "borrowed": self.borrowed,
        }

    @property
    def rows(self) -> ndarray:
        """Positions of the kept rows in the table after `subset`, (n,)."""
        return np.flatnonzero(self.keep)

    @property
    def names(self) -> list[Any]:
        """Columns of the table; none of arrays."""
        return [] if self.frame is None else list(self.frame.columns)

    def __len__(self) -> int:
        """Number of rows kept."""
        return int(np.count_nonzero(self.keep))


MISSING = ("drop", "raise", "none")
WHOLE_NUMBERS = {"freq_weights": " (sampling weights go into weights=)", "trials": ""}  # variables, with advice


def check_missing_option(missing: Any, known: tuple[str, ...] = MISSING) -> None:
    """Refuse any `missing=` but those that the model knows."""
    if missing in ("skip", "level") and missing not in known:
        raise NotImplementedError(f'missing="{missing}" is NaiveBayes\'; this model has {quoted(MISSING)}.')
    if missing not in known:
        raise ValueError(f"missing={missing!r}: choose one of {quoted(known)}.")


# -------------------------------------------------------------------------------------------------------- extras
def read_extras(extras: Mapping[str, Any] | None, frame: pd.DataFrame, cut: ndarray | None) -> dict[str, ndarray]:
    """Offset, weights and trials as float64 arrays beside the rows of the table after `cut`; NaN where missing.

    Raises
    ------
    DataError
        Not numbers, infinite, negative weights, frequency weights that are not whole numbers, two kinds of weights.
    """
    given = {name: value for name, value in (extras or {}).items() if value is not None}
    if "weights" in given and "freq_weights" in given:
        raise DataError("weights= and freq_weights= were both given: use one (freq_weights counts equal rows).")
    out = {}
    for name, value in given.items():
        if callable(value):  # code, which computes them of columns
            array = value(frame if cut is None else frame[cut])
        else:
            array = _aligned(value, name, frame)
            array = array if cut is None else array[cut]
        index = frame.index if cut is None else frame.index[cut]
        label = f'{name}="{value}"' if isinstance(value, str) or callable(value) else name
        out[name] = _numbers(name, label, array, index)
    return out


def columns_beside(extras: Mapping[str, Any] | None, frame: pd.DataFrame) -> Iterator[str]:
    """Columns of a table that are its offset, weights or trials: by their names, or given as they are."""
    for keyword, value in (extras or {}).items():
        name = getattr(value, "name", None)
        if isinstance(value, str):
            yield value
        elif isinstance(name, str) and list(frame.columns).count(name) == 1:
            with contextlib.suppress(DataError):  # of what does not fit, which is refused where it is read
                found = matched(value, name=keyword, frame=frame)
                if pd.Series(found.array).equals(pd.Series(frame[name].array)):
                    yield name


def _aligned(value: Any, name: str, frame: pd.DataFrame) -> ndarray:
    """Values beside the table, one a row, or for an offset one a row and equation."""
    if hasattr(value, "toarray"):
        raise DataError(f"{name}: scipy.sparse is for exog alone; pass {name}.toarray().")
    if name == "offset" and not isinstance(value, str) and np.ndim(value) == 2 and np.shape(value)[1] > 1:
        columns = [value[c] for c in value.columns] if isinstance(value, pd.DataFrame) else list(np.asarray(value).T)
        return np.column_stack([align(c, name=name, frame=frame) for c in columns])
    if name == "offset" and not hasattr(value, "columns") and np.ndim(value) == 2 and np.shape(value)[1] == 1:
        value = np.asarray(value)[:, 0]  # of two levels
    return align(value, name=name, frame=frame)


def offset_of_new_rows(values: Any) -> ndarray:
    """An offset of rows to predict as floats, in the shape given; DataError unless it is of numbers."""
    array = np.asarray(values)
    if array.dtype.kind == "O":
        array = as_array(pd.Series(array.ravel()), "offset").reshape(array.shape)
    return _as_floats("offset", array)


def _as_floats(label: str, array: ndarray) -> ndarray:
    """Numbers as floats; dates, durations, complex numbers and texts, which numpy would convert, are none."""
    if array.dtype.kind not in "biuf":
        raise DataError(f"{label} must be numbers, found {quoted(pd.unique(array.ravel()), 3)}.")
    return np.array(array, dtype=np.float64)


def _numbers(name: str, label: str, array: ndarray, index: pd.Index) -> ndarray:
    if not len(array):  # a part without rows is of any type
        return np.zeros(array.shape)
    values = _as_floats(label, array)
    _refuse(_in_rows(np.isinf(values)), label, "infinite values", index)
    if name != "offset":
        _refuse(values < 0, label, "negative values", index)
    if name in WHOLE_NUMBERS:
        fraction = np.isfinite(values) & (values != np.floor(values))
        _refuse(fraction, label, f"values other than whole numbers{WHOLE_NUMBERS[name]}", index)
    return values


def _in_rows(mask: ndarray) -> ndarray:
    """Rows in which something is."""
    return mask if mask.ndim == 1 else np.asarray(mask.any(axis=1))


def _refuse(mask: ndarray, label: str, what: str, index: pd.Index) -> None:
    if mask.any():
        raise DataError(f"{label} has {what} in {int(mask.sum())} of {len(mask)} rows ({row_labels(mask, index)}).")


# ---------------------------------------------------------------------------------------------------------- rows
@dataclass
class RowMask:
    """Mask of the rows that stay, with the reasons of those that go.

    `masks` maps a variable to the rows (of the table) in which it is missing. A part of a larger table may be left with
    no row; `digests` tell its columns.
    """

    index: pd.Index
    missing: str
    part: bool = False
    digests: Any = None
    keep: ndarray = field(init=False)
    masks: dict[str, ndarray] = field(default_factory=dict)
    n_absent: int = 0
    no_trials: int = 0

    def __post_init__(self) -> None:
        self.keep = np.ones(len(self.index), dtype=bool)
        self._absent = np.zeros(len(self.index), dtype=bool)

    def absent(self, mask: ndarray) -> int:
        """Leave out rows that count for nothing; returns how many of them were still in."""
        new = mask & self.keep
        self._absent |= new
        self.keep &= ~mask
        self.n_absent = int(self._absent.sum())
        return int(new.sum())

    def lose(self, *groups: Mapping[str, ndarray | None]) -> None:
        """Take note of missing values; the rows go, or an error says where they are."""
        for name, mask in (item for group in groups for item in group.items()):
            if mask is not None and (mask := mask & ~self._absent).any():
                self.masks[name] = self.masks[name] | mask if name in self.masks else mask
                self.keep &= ~mask
        if self.missing != "drop" and self.masks:
            raise self._refused()
        if not self.keep.any() and not self.part:
            raise self._all_gone()

    def _counts(self) -> str:
        counts = {name: int(mask.sum()) for name, mask in self.masks.items()}
        return ", ".join(f'"{name}" ({count} row{"s" if count > 1 else ""})' for name, count in counts.items())

    def _refused(self) -> MissingDataError:
        some = np.logical_or.reduce(list(self.masks.values()))
        return MissingDataError(
            f"missing values in {self._counts()}: {row_labels(some, self.index)}; missing={self.missing!r} "
            f'leaves none out. Use missing="drop", or fill them.'
        )

    def _all_gone(self) -> MissingDataError:
        n, zero = len(self.index), self.n_absent
        if not self.masks:
            return MissingDataError(f"no rows are left: all {n} have weight 0 or no trials.")
        absent = f"; {zero} more have weight 0 or no trials" if zero else ""
        return MissingDataError(f"no complete row is left of {n}: missing values in {self._counts()}{absent}.")

    @property
    def selection(self) -> ndarray | None:
        """The mask of kept rows, or None for all."""
        return None if self.keep.all() else self.keep

    def dropped(self) -> dict[str, int]:
        """Number of the dropped rows in which each variable is missing."""
        return {name: int(mask.sum()) for name, mask in self.masks.items()}

    def n_dropped(self) -> int:
        """Number of rows that went because something was missing."""
        return int((~self.keep & ~self._absent).sum())


def weigh(rows: RowMask, extras: Mapping[str, ndarray], given: Mapping[str, Any] | None) -> dict[str, ndarray]:
    """Leave out rows of weight zero or without trials; returns where an offset, a weight or the number of trials is
    missing, by column or keyword."""
    for name, values in extras.items():
        if name == "trials":
            rows.no_trials = rows.absent(values == 0)
        elif name != "offset":
            rows.absent(values == 0)
    source = given or {}
    known = {name: value for name, value in source.items() if isinstance(value, str) or callable(value)}
    named = {name: str(known.get(name, name)) for name in extras}
    return {named[name]: _in_rows(np.isnan(v)) for name, v in extras.items()}


def leave_out_no_trials(rows: RowMask, counts: list[ndarray]) -> None:
    """Leave out rows whose counts are all zero: no trial, no information."""
    rows.no_trials = rows.absent(np.logical_and.reduce([np.asarray(c) == 0 for c in counts]))
    rows.lose()


def no_trials(count: int) -> list[str]:
    """The note that so many rows had none."""
    return [f"{count} row{'s' if count > 1 else ''} with no trials left out"] if count else []


def respond(response: Respond, names: list[str], values: list[Any], rows: RowMask | None) -> Any:
    """The response of the rows that are left; its error says how many of a table in memory were not, and why."""
    try:
        return response(names, values)
    except DataError as error:
        if rows is None or not rows.masks:
            raise
        why = ", ".join(f'"{name}" ({count} rows)' for name, count in rows.dropped().items())
        left_out = f"{rows.n_dropped()} of {len(rows.index)} rows were left out, missing in {why}."
        raise type(error)(f"{error} {left_out}") from None


def finish(rows: RowMask, extras: Mapping[str, ndarray], given_index: pd.Index, cut: ndarray | None) -> dict[str, Any]:
    """The fields of a `ReadTable` that describe rows."""
    keep = rows.selection
    return {
        "extras": {name: values if keep is None else values[keep] for name, values in extras.items()},
        "keep": rows.keep,
        "index": rows.index if keep is None else rows.index[keep],
        "given_index": given_index,
        "cut": cut,
        "n_given": len(rows.index),
        "dropped": rows.dropped(),
        "n_dropped": rows.n_dropped(),
        "n_absent": rows.n_absent,
    }
