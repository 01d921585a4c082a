"""Time limits for questions about signs: of hundreds of parameters linear programs may take hours."""

from __future__ import annotations

import sys
import time

SIGN_SECONDS = 30.0  # seconds in which the signs of many parameters are determined, or are not
SECONDS_BEFORE_WORD = 10.0  # seconds from which a line on stderr says what takes so long


class OutOfTime(Exception):
    """A question about a cone was not answered in the time it has."""


class Deadline:
    """Time that questions about signs have, from now on; once it is long a line on stderr says how far they are."""

    def __init__(self, seconds: float = SIGN_SECONDS):
        self._start, self._seconds, self._told = time.monotonic(), seconds, False

    @property
    def left(self) -> float:
        """Seconds that are left; `OutOfTime` is raised where there are none."""
        left = self._start + self._seconds - time.monotonic()
        if left <= 0:
            raise OutOfTime
        return left

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return time.monotonic() >= self._start + self._seconds

    def tell(self, done: int, of: int) -> None:
        """Say once, after a while, how many of the questions are answered."""
        if not self._told and time.monotonic() - self._start > SECONDS_BEFORE_WORD:
            self._told = True
            print(
                f"glmclf: signs of infinite combinations of parameters, {done} of {of} determined; no longer than "
                f"{self._seconds:g} s",
                file=sys.stderr,
            )
