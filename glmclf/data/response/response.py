"""Responses: the left side of a model coded once, so that nothing later looks at labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.data.response.new_rows import counts_of_levels, counts_of_two, fractions_or_places
from glmclf.data.response.places import distinct, looked_up, narrowest, seen
from glmclf.data.table.frame import Column, quoted, read_column, unusable
from glmclf.data.table.numerals import numerals, say_blanks
from glmclf.errors import DataError

MAX_COUNTED_NUMBERS = 20  # distinct numbers of a response that are counted


def plain(level: Any) -> Any:
    """A label as Python prints it, whole floats without their point."""
    level = level.item() if hasattr(level, "item") else level
    return int(level) if isinstance(level, float) and level.is_integer() else level


class Response:
    """Base class of responses: labels of places among the levels, and the places or counts of more rows."""

    kind: str
    levels: list[Any]
    dtype: Any

    def decode(self, codes: Any, missing: Any = None) -> Any:
        """Labels in the data's own dtype, from places in `levels`.

        Parameters
        ----------
        codes : (n,) array-like of whole numbers or bool
            Place of each row's label; of a binary response whether it is the event.
        missing : (n,) bool array-like, optional
            Rows without a class: NaN, None or NA, as the dtype has it.

        Returns
        -------
        (n,) ndarray, Categorical or extension array
            One label a row.
        """
        codes = np.array(codes, dtype=np.intp)
        some = missing is not None and np.any(missing)
        if some:
            codes[np.asarray(missing, dtype=bool)] = -1
        labels = pd.Series(self.levels, dtype=self.dtype).array
        if isinstance(self.dtype, np.dtype):
            labels = np.asarray(labels)
            labels = labels.astype(object) if some and not self._has_room_for_missing else labels
            return pd.api.extensions.take(labels, codes, allow_fill=bool(some))
        return labels.take(codes, allow_fill=bool(some))

    def series(self, codes: Any, index: pd.Index, missing: Any = None) -> pd.Series:
        """Labels as a Series, of objects where they are; see `decode`."""
        labels = self.decode(codes, missing)
        return pd.Series(labels, index=index, dtype=object if labels.dtype == object else None)

    def code(self, names: list[str], values: list[Any], index: pd.Index) -> tuple[ndarray, ndarray | None]:
        """The response of more rows as `y` and `trials`, by the levels of this one.

        Parameters
        ----------
        names : list of str
            Name of the response, or of the counts.
        values : list of (n,) array-like
        index : Index
            Labels of the rows, for messages.

        Raises
        ------
        DataError
            Values that the response cannot have.
        UnseenLevelError
            A label that is none of its levels.
        """
        if self.kind == "counts":
            counts = self.counts(names, values, index)
            return self._of_counts(counts), counts.sum(axis=1)
        return self._of_places(fractions_or_places(self, names, values, index)), None

    @property
    def _has_room_for_missing(self) -> bool:
        """Whether numpy makes a missing label of the dtype by itself, as whole numbers become floats with a NaN."""
        return False

    def counts(self, names: list[str], values: list[Any], index: pd.Index) -> ndarray:
        """Observations of each level, in their order, in more rows, (n, K); see `code`."""
        raise NotImplementedError

    def _of_counts(self, counts: ndarray) -> ndarray:
        """Counts of levels as `y` has them."""
        raise NotImplementedError

    def _of_places(self, found: ndarray) -> ndarray:
        """Fractions, or places among the levels, as `y` has them."""
        return found

    def called(self, level: Any) -> str:
        """What a probability is of: the level as Python prints it, or the column of successes or of fractions."""
        return repr(plain(level))

    def without_rows(self: Any) -> Any:
        """The labels alone, for predictions."""
        return replace(self, y=None, trials=None)


@dataclass
class BinaryResponse(Response):
    """A response of successes and failures.

    Attributes
    ----------
    y : (n,) float64 ndarray or None
        0/1, a count of successes, or a fraction; None in a response read from a file. 0/1 may be `packed`.
    trials : (n,) float64 ndarray or None
        Trials of each row; None stands for one a row.
    kind : {"binary", "counts", "fraction"}
        What the left side was.
    name : str
        The column, the expression, or ``a + b``.
    levels : list
        [non-event, event], in the data's own values; [0, 1] for counts and fractions.
    dtype : object
        dtype of the labels, which `decode` gives back.
    notes : list of str
        What the summary should say.

    Examples
    --------
    >>> r = BinaryResponse.build("answer", ["yes", "no", "yes"])
    >>> r.y.tolist(), r.event, r.describe()
    ([1.0, 0.0, 1.0], 'yes', "P(answer = 'yes')")
    """

    y: ndarray | None
    trials: ndarray | None
    kind: str
    name: str
    levels: list[Any]
    dtype: Any = "int64"
    notes: list[str] = field(default_factory=list)

    @property
    def event(self) -> Any:
        """The level whose probability is modelled."""
        return self.levels[1]

    @property
    def own_order(self) -> list[int]:
        """Places of the levels in the order that they have by themselves, whichever is the event."""
        known = getattr(self.dtype, "categories", None)
        order = sorted(range(2), key=lambda i: str(self.levels[i]))
        with suppress(TypeError, ValueError):  # labels that do not compare
            keys = self.levels if known is None else [list(known).index(level) for level in self.levels]
            order = [0, 1] if keys[0] <= keys[1] else [1, 0]
        return order

    @classmethod
    def build(cls, names: str | Sequence[str], values: Any, event: Any = None) -> BinaryResponse:
        """Code the left side of a model on complete rows.

        Parameters
        ----------
        names : str or list of str
            Name of the response, or of successes and failures.
        values : (n,) array-like, Series or Categorical, or a list of one or two of them
            0/1 numbers, bools, two labels, fractions; or counts of successes and of failures.
        event : object, optional
            The level whose probability is modelled; default 1, True, or the second level (sorted, or in the order of
            the categories).

        Returns
        -------
        BinaryResponse
            y, trials and labels.

        Raises
        ------
        DataError
            One class only, more than two, numbers other than 0 and 1, an unknown event, counts that are no counts.
        """
        if isinstance(names, str):
            names, values = [names], [values]
        if len(names) > 2:
            raise DataError(
                f"the left side has {len(names)} parts ({' + '.join(names)}); a binary model takes one response, or "
                f"successes + failures. Counts of more classes are for MNLogit."
            )
        if len(names) == 2:
            return cls._from_counts(list(names), values, event)
        return cls._from_column(names[0], values[0], event)

    @classmethod
    def _from_column(cls, name: str, values: Any, event: Any) -> BinaryResponse:
        series = _series(values)
        column = _complete(read_column(series, name), name)
        if column.kind == "number":
            return _from_numbers(name, column.values, series.dtype, event)
        if column.kind == "bool":
            _two_classes(name, sorted(set(column.values.tolist())), None)
            return _labelled(name, [False, True], column.values, series.dtype, event)
        codes, categories = np.asarray(column.values.codes), column.values.categories.tolist()
        used = [c for i, c in enumerate(categories) if (codes == i).any()] if len(categories) < 50 else _used(column)
        _two_classes(name, used, len(categories))
        second = codes == categories.index(used[1])
        response = _labelled(name, used, second, series.dtype, event)
        if len(categories) > 2:
            left_out = [c for c in categories if c not in used]
            plural = "levels {} have" if len(left_out) > 1 else "level {} has"
            response.notes.append(f"{plural.format(quoted(left_out))} no rows in {name}")
        return response

    @classmethod
    def _from_counts(cls, names: list[str], values: Any, event: Any) -> BinaryResponse:
        name = " + ".join(names)
        if event is not None:
            raise DataError(f"event={event!r} with counts ({name}): the first term of the left side counts the events.")
        successes, failures = (counted(n, v) for n, v in zip(names, values))
        trials = successes + failures
        if not successes.any() or not failures.any():
            only = "failures" if not successes.any() else "successes"
            raise DataError(f'"{name}" holds {only} only, in every row. A model needs both.')
        return cls(successes, trials, "counts", name, [0, 1])

    def describe(self) -> str:
        """Name of what is modelled, as ``P(y = 'yes')`` or ``successes of died + alive``."""
        if self.kind == "counts":
            return f"successes of {self.name}"
        if self.kind == "fraction":
            return f"mean of {self.name}, a fraction"
        return f"P({self.name} = {self.called(self.event)})"

    def called(self, level: Any) -> str:
        """What a probability is of: the column of successes, that of fractions, or the level as Python prints it."""
        if self.kind == "counts":
            return self.count_names[0]
        return self.name if self.kind == "fraction" else super().called(level)

    @property
    def count_names(self) -> list[str]:
        """Terms that count the levels."""
        return self.name.split(" + ")

    @property
    def _has_room_for_missing(self) -> bool:
        return self.dtype.kind != "b"

    def _of_counts(self, counts: ndarray) -> ndarray:
        return counts[:, 1]

    def counts(self, names: list[str], values: list[Any], index: pd.Index) -> ndarray:
        """Observations of each level in more rows, (n, 2); see `code`."""
        if self.kind == "counts":
            return counts_of_two(names, values, index)
        found = fractions_or_places(self, names, values, index)
        return np.column_stack([1 - found, found]) if self.kind == "fraction" else np.eye(2)[found]


@dataclass
class MultinomialResponse(Response):
    """A response of several classes.

    Attributes
    ----------
    y : (n,) integer ndarray, (n, K) float64 ndarray or None
        Class of each row, or counts, in the order of `classes`; None in a response read from a file.
    trials : (n,) float64 ndarray or None
        Trials of each row of counts; None stands for one a row.
    kind : {"classes", "counts"}
        What the left side was.
    name : str
        The column, the expression, or ``a + b + c``.
    levels : list
        All levels, sorted or in the order of the categories.
    reference : object
        The base level.
    dtype : object
        dtype of the labels, which `decode` gives back.
    notes : list of str
        What the summary should say.

    Examples
    --------
    >>> r = MultinomialResponse.build("mode", ["car", "bus", "walk", "car"], reference="car")
    >>> r.classes, r.y.tolist()
    (['car', 'bus', 'walk'], [0, 1, 2, 0])
    """

    y: ndarray | None
    trials: ndarray | None
    kind: str
    name: str
    levels: list[Any]
    reference: Any
    dtype: Any = "object"
    notes: list[str] = field(default_factory=list)

    @property
    def classes(self) -> list[Any]:
        """The base level, then the others in their order."""
        base = self.levels.index(self.reference)
        return [self.levels[base], *self.levels[:base], *self.levels[base + 1 :]]

    @classmethod
    def build(cls, names: str | Sequence[str], values: Any, reference: Any = None) -> MultinomialResponse:
        """Code the left side of a model on complete rows.

        Parameters
        ----------
        names : str or list of str
            Name of the response, or of the counts of each class.
        values : (n,) array-like, or a list of them
            Labels of any type that sorts; or counts.
        reference : object, optional
            The base level; the first by default.

        Returns
        -------
        MultinomialResponse

        Raises
        ------
        DataError
            One level only, an unknown reference, labels that differ only in type, counts that are no counts.
        """
        if isinstance(names, str):
            names, values = [names], [values]
        if len(names) > 1:
            return cls._from_counts(list(names), values, reference)
        name, series = names[0], _series(values[0])
        column = _complete(read_column(series, name), name)
        if column.kind in ("number", "bool"):
            found, codes = distinct(column.values)
            levels, known, place = found.tolist(), found.tolist(), np.arange(len(found))
            there = set(levels)
        else:
            known, levels = column.values.categories.tolist(), _used(column)
            codes, there = np.asarray(column.values.codes), set(levels)
            place = np.cumsum([level in there for level in known]) - 1
        _several_classes(name, levels)
        _distinct_words(name, levels, values[0])
        response = cls(None, None, "classes", name, levels, levels[_position(name, levels, reference)], series.dtype)
        ranks = np.argsort(response._order).astype(narrowest(len(levels)))[place]
        response.y = looked_up(ranks, codes)
        left_out = [level for level in known if level not in there]
        if left_out:
            plural = "s" if len(left_out) > 1 else ""
            response.notes.append(f"level{plural} {quoted(left_out)} of {name}: no rows, left out")
        return response

    @classmethod
    def _from_counts(cls, names: list[str], values: Any, reference: Any) -> MultinomialResponse:
        counts = np.column_stack([counted(n, v) for n, v in zip(names, values, strict=True)])
        seen = np.asarray(counts.any(axis=0))
        levels = [n for n, some in zip(names, seen, strict=True) if some]
        name = " + ".join(names)
        _several_classes(name, levels)
        counts = counts[:, seen]
        base = levels[_position(name, levels, reference)]
        response = cls(counts, counts.sum(axis=1), "counts", name, levels, base)
        response.y = counts[:, response._order]
        if not seen.all():
            empty = quoted(n for n, some in zip(names, seen, strict=True) if not some)
            response.notes.append(f"{empty}: no counts, left out")
        return response

    @property
    def own_order(self) -> list[int]:
        """Places among the classes, the reference first, of the levels in their own order."""
        return [self.classes.index(level) for level in self.levels]

    @property
    def _order(self) -> ndarray:
        """Places of the classes among the levels."""
        return np.array([self.levels.index(c) for c in self.classes])

    def describe(self) -> str:
        """Name of what is modelled, as ``P(mode = level), base 'bus'``."""
        return f"P({self.name} = level) against {self.reference!r}"

    @property
    def count_names(self) -> list[str]:
        """Terms that count the levels."""
        return [str(level) for level in self.levels]

    def _of_counts(self, counts: ndarray) -> ndarray:
        return counts[:, self._order]

    def _of_places(self, found: ndarray) -> ndarray:
        return np.argsort(self._order).astype(narrowest(len(self.levels)))[found]

    def counts(self, names: list[str], values: list[Any], index: pd.Index) -> ndarray:
        """Observations of each level, in their order, in more rows, (n, K); see `code`."""
        if self.kind == "counts":
            return counts_of_levels(self.levels, names, values, index)
        return np.eye(len(self.levels))[fractions_or_places(self, names, values, index)]


def packed(response: Any) -> Any:
    """The response with 0 and 1 in a byte each, as a model keeps one for each row."""
    return replace(response, y=response.y.astype(np.int8)) if response.kind == "binary" else response


def _several_classes(name: str, levels: list[Any]) -> None:
    if len(levels) < 2:
        found = f"every row is {quoted(levels)}"
        raise DataError(f'the response "{name}" has one class only: {found}. A model needs two or more.')


def refuse_numerals(name: str, levels: list[Any], rows: int) -> None:
    """Refuse numbers that came as text for a response, of which each would be a class."""
    found = numerals(levels)
    if found is not None and found.too_many(rows):
        raise DataError(f"the response {found.said(name)}; a categorical column has a class for each value.")
    say_blanks(name, levels)


def _distinct_words(name: str, levels: list[Any], values: Any) -> None:
    """Refuse labels that differ in their type alone, as 1 and "1", or 1 and True."""
    words = Counter(map(str, levels))
    twice = sorted(word for word, count in words.items() if count > 1)
    plain = all(isinstance(level, str) for level in levels)
    if not plain and str(getattr(values, "dtype", "")) == "object":
        kinds = {type(v) for v in values if v is not None}
        if bool in kinds and kinds & {int, float}:
            twice = ["True", "1"]
    if twice:
        raise DataError(f'labels of "{name}" differ in their type alone ({", ".join(twice)}): make them of one type.')


def _position(name: str, levels: list[Any], reference: Any) -> int:
    if reference is None:
        return 0
    for i, level in enumerate(levels):
        if _same(reference, level) and isinstance(reference, str) == isinstance(level, str):
            return i
    raise DataError(f'reference={reference!r} is not a level of "{name}", which has {quoted(levels)}.')


def _series(values: Any) -> pd.Series:
    if isinstance(values, pd.Series):
        return values
    if isinstance(values, (list, tuple)):
        return pd.Series(values)
    if isinstance(values, np.ndarray) and values.dtype.kind in "US":
        return pd.Series(values.astype(object))
    return pd.Series(values, copy=False)


def _complete(column: Column, name: str) -> Column:
    if column.kind == "other":
        raise unusable(column.values, name)
    if column.missing is not None:
        raise DataError(f'the response "{name}" is missing in {int(column.missing.sum())} rows.')
    return column


def _used(column: Column) -> list[Any]:
    categories = column.values.categories.tolist()
    return [c for c, there in zip(categories, seen(np.asarray(column.values.codes), 0, len(categories))) if there]


def _two_classes(name: str, used: list[Any], known: int | None) -> None:
    if len(used) == 1:
        raise DataError(f'the response "{name}" has one class only: every row is {quoted(used)}. A model needs both.')
    if len(used) > 2:
        raise DataError(
            f'the response "{name}" has {len(used)} levels ({quoted(used, 5)}); a binary model takes two. '
            f"Select two, or use MNLogit."
        )


def _labelled(name: str, levels: list[Any], second: ndarray, dtype: Any, event: Any) -> BinaryResponse:
    """Two labels, of which `second` marks levels[1]; the event may turn them round."""
    if event is None or _same(event, levels[1]):
        return BinaryResponse(second.astype(np.float64), None, "binary", name, list(levels), dtype)
    if _same(event, levels[0]):
        return BinaryResponse((~second).astype(np.float64), None, "binary", name, levels[::-1], dtype)
    raise DataError(f'event={event!r} is not a level of "{name}", which has {quoted(levels)}.')


def _same(event: Any, level: Any) -> bool:
    try:
        return bool(event == level)
    except (TypeError, ValueError):
        return False


def _from_numbers(name: str, values: ndarray, dtype: Any, event: Any) -> BinaryResponse:
    """Response from numbers: 0/1, two numbers when an event is named, or fractions."""
    one = values == 1
    binary = bool((one | (values == 0)).all())
    found = values[[one.argmin(), one.argmax()]] if binary else np.unique(values) if event is not None else values
    if binary and found[0] == found[1]:
        found = found[:1]
    if not np.isfinite(found).all():
        raise DataError(f'the response "{name}" has infinite values.')
    if binary or (event is not None and len(found) == 2):
        _two_classes(name, found.tolist(), None)
        return _labelled(name, found.tolist(), one if binary else values == found[1], dtype, event)
    if values.min() >= 0 and values.max() <= 1:
        if event is not None:
            raise DataError(f'event={event!r} with fractions: "{name}" holds numbers between 0 and 1, not two levels.')
        return BinaryResponse(np.asarray(values, dtype=np.float64), None, "fraction", name, [0, 1])
    raise _not_binary(name, np.unique(values), event)


def _not_binary(name: str, found: ndarray, event: Any) -> DataError:
    levels = found.tolist()
    shown = f"{len(levels)} values: {quoted(levels, 5)}"
    if len(levels) > MAX_COUNTED_NUMBERS:  # of a stream, which does not keep all
        shown = f"more than {MAX_COUNTED_NUMBERS} values, such as {quoted(levels[:5])}"
    what = f'the response "{name}" holds numbers other than 0 and 1 ({shown})'
    if len(levels) == 1:
        return DataError(f"{what}: one class only. A model needs both.")
    if len(levels) == 2:
        return DataError(f"{what}. Name the event, event={levels[1]!r}, or code the response as 0 and 1.")
    few = len(levels) <= MAX_COUNTED_NUMBERS
    hint = "More than two classes are for MNLogit" if few else "Numbers need a linear model"
    return DataError(f"{what}. {hint}; a cut such as I({name} > {levels[len(levels) // 2]:g}) makes two classes.")


def counted(name: str, values: Any) -> ndarray:
    """A count of each row; DataError, with how many rows, where it is none."""
    column = _complete(read_column(_series(values), name), name)
    if column.kind != "number" and column.kind != "bool":
        raise DataError(
            f'"{name}" counts successes or failures but holds labels ({quoted(column.values.categories, 3)}).'
        )
    counts = np.asarray(column.values, dtype=np.float64)
    for what, wrong in {
        "negative": counts < 0,
        "infinite": np.isinf(counts),
        "not whole numbers": counts != np.floor(counts),
    }.items():
        if wrong.any():
            first = f"first: {counts[wrong][0]:g}"
            raise DataError(f'counts in "{name}" are {what} in {int(wrong.sum())} of {len(counts)} rows ({first}).')
    return counts
