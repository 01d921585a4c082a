"""Training of the transforms of a formula: `memorise` shows them rows in memory, `memorise_all` rows in a stream.

A transform's call is run with a recorder in the transform's place, which gives the values of its arguments. All
transforms share the passes over a stream; one that is nested in another goes before it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from glmclf.core.rows.summed import SumsSideBySide
from glmclf.data.formula.factors import Expression
from glmclf.data.table.frame import Column
from glmclf.data.transforms.basis import Refused, Remembers
from glmclf.data.transforms.values import InMemory, Moments, Steps, StreamedValues

MAX_REPEATED_ROWS = 20_000_000  # rows that a transform of the caller's is shown, each as often as its weight says
Columns = Mapping[str, Column]


class Recorder:
    """Stand-in for a transform that takes down the arguments of its call."""

    def memorize_chunk(self, *args: Any, **kwargs: Any) -> None:
        """Take down the arguments."""
        self.args, self.kwargs = args, kwargs


class Call(NamedTuple):
    """The call of one transform in the code of a factor."""

    expression: Expression
    name: str
    code: str

    @property
    def transform(self) -> Any:
        """The transform called."""
        return self.expression.transforms[self.name]

    def rows(self, columns: Columns) -> tuple[ndarray, tuple[Any, ...], dict[str, Any]]:
        """The numbers of the rows that the transform is called with, and its settings."""
        recorder = Recorder()
        self.expression.run(self.code, columns, transforms={**self.expression.transforms, self.name: recorder})
        return self.guarded(lambda: self.transform.rows(*recorder.args, **recorder.kwargs))

    def guarded(self, function: Callable[[], Any]) -> Any:
        """Value of a function, whose errors name the factor."""
        return self.expression.guarded(function)


Part = tuple[Call, Callable[..., Any] | None]


# ------------------------------------------------------------------------------------------------------- in memory
def memorise(
    expression: Expression, columns: Columns, times: ndarray | None = None, every: Columns | None = None
) -> None:
    """Let the stateful transforms of a factor see the training rows.

    Parameters
    ----------
    expression : Expression
        The factor.
    columns : dict of Column
        Its columns, in complete rows.
    times : (n,) ndarray, optional
        Positive frequency weights: so often each row counts.
    every : dict of Column, optional
        The columns of all rows of a fit for which these stand: ends of transforms reach as far as there.
    """
    for call in (Call(expression, *c) for stage in _stages(expression) for c in stage):
        if not isinstance(call.transform, Remembers):
            _show(call, columns, times)
            continue
        x, args, kwargs = call.rows(columns)
        whole = None if every is None else call.rows(every)[0]
        call.guarded(partial(_at_hand, call.transform, x, times, args, kwargs, whole))


def _at_hand(
    transform: Remembers,
    x: ndarray,
    times: ndarray | None,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    every: ndarray | None = None,
) -> None:
    if not len(x):
        raise Refused("there are no rows.")
    steps, answer = transform.fix(InMemory(x, times, every), *args, **kwargs), None
    while (f := _next(steps, answer)) is not None:
        answer = f(x, times)


def _next(steps: Generator[Any, Any, None], answer: Any) -> Any:
    """The next function to be summed over the rows; None at the end."""
    try:
        return steps.send(answer)
    except StopIteration:
        return None


def _stages(expression: Expression) -> list[list[tuple[str, str]]]:
    return [] if expression.bare is not None else expression.prepare()


def _show(call: Call, columns: Columns, times: ndarray | None) -> None:
    """Show the rows to a transform of the caller's, in patsy's protocol, each as often as its frequency weight says."""
    if times is not None:
        counts = times.astype(np.int64)
        if counts.sum() > MAX_REPEATED_ROWS:
            raise NotImplementedError(
                f'"{call.expression.code}" remembers its data, which freq_weights repeat to {counts.sum():,} rows: '
                f"more than {MAX_REPEATED_ROWS:,}. Compute the column beforehand."
            )
        where = np.repeat(np.arange(len(counts)), counts)
        columns = {name: column.take(where) for name, column in columns.items()}
    call.expression.run(call.code, columns)
    call.guarded(call.transform.memorize_finish)


# --------------------------------------------------------------------------------------------------- over a stream
def memorise_all(expressions: Iterable[Expression], total: Callable[[Callable[..., Any]], Any]) -> None:
    """Let the stateful transforms of a formula see the training rows of a stream, in as few passes as they take.

    Parameters
    ----------
    expressions : iterable of Expression
        The factors.
    total : callable
        ``total(g)`` is the sum, over the partitions in order, of ``g(columns, times, first)``: the columns of the
        complete rows of a partition by name, the positive frequency weights of these rows or None, and where they
        begin. A pass over the stream each; `g` can be pickled.

    Raises
    ------
    DataError
        As in memory: what makes no basis, by the name of the factor. Settings that differ between partitions.
    NotImplementedError
        A transform of the caller's.
    """
    running = [_remembering(e) for e in expressions]
    asked = {i: first for i, steps in enumerate(running) if (first := next(steps, None)) is not None}
    while asked:
        sums = total(_Pass([part for parts in asked.values() for part in parts]))
        found = {}
        for i, parts in asked.items():
            answers, sums = sums[: len(parts)], sums[len(parts) :]
            found[i] = _next(running[i], answers)
        asked = {i: parts for i, parts in found.items() if parts is not None}


def _remembering(expression: Expression) -> Generator[list[Part], list[Any], None]:
    """The transforms of one factor, stage by stage: yields what is to be summed for each call, is sent the sums."""
    for stage in _stages(expression):
        calls = [call for call in (Call(expression, *c) for c in stage) if _takes_rows(call)]
        if not calls:
            continue
        openings = (yield [(call, None) for call in calls]) or [None] * len(calls)
        steps = [call.guarded(partial(_started, call.transform, opening)) for call, opening in zip(calls, openings)]
        answers: dict[int, Any] = dict.fromkeys(range(len(calls)))
        while answers:
            found = {i: calls[i].guarded(partial(_next, steps[i], answer)) for i, answer in answers.items()}
            asked = {i: f for i, f in found.items() if f is not None}
            answers = dict(zip(asked, (yield [(calls[i], f) for i, f in asked.items()]))) if asked else {}


def _takes_rows(call: Call) -> bool:
    """Whether a transform has to see the rows; without that its state is fixed here."""
    if not isinstance(call.transform, Remembers):
        raise NotImplementedError(
            f'"{call.expression.code}" remembers its data by a function of your own, for which a stream does not do. '
            "Compute the column beforehand."
        )
    if not call.transform.remembers(call.code):
        call.guarded(partial(_at_hand, call.transform, np.zeros((1, 0)), None, (), {}))
        return False
    return True


@dataclass(frozen=True)
class _Pass:
    """Function that a pass sums for each call: one of its rows, at first (None) their moments and the settings."""

    parts: list[Part]

    def __call__(self, columns: Columns, times: ndarray | None, first: Any) -> SumsSideBySide:
        if times is not None and not times.all():
            columns, times = {name: c.take(times > 0) for name, c in columns.items()}, times[times > 0]
        if any(not len(column.values) for column in columns.values()):
            return SumsSideBySide()
        return SumsSideBySide(self._part(call, f, columns, times) for call, f in self.parts)

    def _part(self, call: Call, f: Callable[..., Any] | None, columns: Columns, times: ndarray | None) -> Any:
        x, args, kwargs = call.rows(columns)
        return call.guarded(lambda: _Opening(Moments.of(x, times), (args, kwargs)) if f is None else f(x, times))


@dataclass
class _Opening:
    """Moments of the rows and the settings of a call; + merges two sets of rows."""

    moments: Moments
    settings: tuple[tuple[Any, ...], dict[str, Any]]
    agree: bool = True

    def __add__(self, other: _Opening) -> _Opening:
        agree = self.agree and other.agree and _same(self.settings, other.settings)
        return _Opening(self.moments + other.moments, self.settings, agree)


def _same(a: Any, b: Any) -> bool:
    """Whether two settings are equal."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(_same, a, b))
    return bool(np.array_equal(np.asarray(a), np.asarray(b)))


def _started(transform: Remembers, opening: _Opening | None) -> Steps[None]:
    if opening is None:
        raise Refused("there are no rows.")
    if not opening.agree:
        raise Refused("its settings are not the same in all partitions: give numbers that do not depend on the rows.")
    moments, (args, kwargs) = opening.moments, opening.settings
    if not np.isfinite([moments.low, moments.high]).all():
        raise Refused("a value that it would remember is infinite or missing. Correct or drop these rows.")
    return transform.fix(StreamedValues(moments), *args, **kwargs)
