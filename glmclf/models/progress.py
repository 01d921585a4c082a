"""What a running fit says of itself: a line an iteration, or a bar (tqdm's where it is installed, else plain text)."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

EVERY = 20  # lines of plain text a pass, at most


class Bar:
    """What is shown while a fit runs: its iteration, and in a stream the parts of the pass at hand.

    Parameters
    ----------
    title : str
    parts : int or None
        Of one pass over a stream.
    """

    def __init__(self, title: str, parts: int | None):
        self.title, self.parts, self.said = title, parts, ""
        try:
            from tqdm import tqdm

            self._bar: Any = tqdm(total=parts, desc=title, unit="part" if parts else "iteration", leave=True)
        except ImportError:
            self._bar = None

    def part(self, number: int) -> None:
        """One more part is done."""
        if self._bar is not None:
            if number == 0:
                self._bar.reset()
            self._bar.update(number + 1 - self._bar.n)
        elif self.parts and (number + 1) % max(1, self.parts // EVERY) == 0:
            self._write(f"part {number + 1} of {self.parts}")

    def iteration(self, iteration: int, value: float) -> None:
        """One more iteration is done."""
        self.said = f"iteration {iteration}, llf {value:.8g}"
        if self._bar is None:
            self._write("")
        else:
            self._bar.set_postfix_str(self.said)
            if not self.parts:
                self._bar.update(1)

    def _write(self, part: str) -> None:
        print(", ".join(w for w in (self.title, self.said, part) if w), file=sys.stderr, flush=True)

    def close(self) -> None:
        """The line stays."""
        if self._bar is not None:
            self._bar.close()


@contextlib.contextmanager
def shown(progress: Any, title: str, rows: Any, callback: Callable | None = None) -> Iterator[Callable | None]:
    """What is to be called after each iteration of a fit, while its progress is shown if asked for."""
    if not isinstance(progress, bool):
        raise ValueError(f"progress={progress!r}: True or False")
    if not progress:
        yield callback
        return
    source = rows.stream.source if rows.streamed else None
    bar = Bar(title, rows.n_parts if rows.streamed else None)

    def report(iteration: int, theta: Any, value: float) -> None:
        bar.iteration(iteration, value)
        if callback is not None:
            callback(iteration, theta, value)

    try:
        if source is not None:
            source.watch = bar.part
        yield report
    finally:
        if source is not None:
            source.watch = None
        bar.close()


def reporter_of(callback: Any, disp: Any) -> Callable | None:
    """What is called after each iteration: the callback of the caller, after a printed line if wanted."""
    if callback is not None and not callable(callback):
        raise ValueError(f"callback={callback!r}: a function, called as callback(iteration, params, llf)")
    if not isinstance(disp, (bool, int, np.bool_)):
        raise ValueError(f"disp={disp!r}: True or False")
    if not disp:
        return callback

    def report(iteration, theta, value):
        print(f"iteration {iteration:3d}  log-likelihood {value:.10g}")
        if callback is not None:
            callback(iteration, theta, value)

    return report
