"""Progress of a running fit: a line an iteration, or a bar (tqdm's where it is installed, else plain text)."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from glmclf.checks import check_truth, is_whole

MAX_LINES = 20  # lines of plain text a pass over the data


class Bar:
    """Progress bar of a fit: the iteration, and in a stream the parts of the current pass.

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
        """Advance the bar by one part."""
        if self._bar is not None:
            if number == 0:
                self._bar.reset()
            self._bar.update(number + 1 - self._bar.n)
        elif self.parts and (number + 1) % max(1, self.parts // MAX_LINES) == 0:
            self._write(f"part {number + 1} of {self.parts}")

    def iteration(self, iteration: int, value: float) -> None:
        """Advance the bar by one iteration."""
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
        """Close the bar; its last line stays on the terminal."""
        if self._bar is not None:
            self._bar.close()


@contextlib.contextmanager
def shown(progress: Any, title: str, rows: Any, callback: Callable | None = None) -> Iterator[Callable | None]:
    """Context with the function to call after each iteration of a fit, with a progress bar if asked for."""
    if not progress:
        yield callback
        return
    bar = Bar(title, rows.n_parts)

    def report(iteration: int, theta: Any, value: float) -> None:
        bar.iteration(iteration, value)
        if callback is not None:
            callback(iteration, theta, value)

    try:
        rows.watch(bar.part)
        yield report
    finally:
        rows.watch(None)
        bar.close()


def reporter_of(callback: Any, disp: Any) -> Callable | None:
    """Function to call after each iteration: a printed line if wanted, then the caller's callback."""
    if callback is not None and not callable(callback):
        raise ValueError(f"callback={callback!r}: a function, called as callback(iteration, params, llf)")
    if not is_whole(disp):  # statsmodels' verbosity
        check_truth("disp", disp)
    if not disp:
        return callback

    def report(iteration, theta, value):
        print(f"iteration {iteration:3d}  log-likelihood {value:.10g}")
        if callback is not None:
            callback(iteration, theta, value)

    return report
