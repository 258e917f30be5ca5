"""The crawl's own time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple


class ClockStart(NamedTuple):
    """What another process needs to have the clock of the crawl."""

    start_s: float  # monotonic
    epoch_ms: int


class Clock:
    """The crawl's own time: it never jumps, whatever is done to the machine's clock.

    ``epoch_ms`` starts at the wall clock (or at the last tick of the earlier run, where the wall clock was set
    back since) and goes on by the monotonic clock, so what is stored as an instant stays in order.
    """

    def __init__(
        self, not_before_ms: int = 0, now: Callable[[], float] = time.time, mono: Callable[[], float] = time.monotonic
    ) -> None:
        self.seconds = mono  # monotonic seconds, for delays and deadlines: as it is, for it is asked all along
        self._start = mono()
        self._epoch_ms = max(int(now() * 1000), not_before_ms)

    @classmethod
    def going_on(cls, start_s: float, epoch_ms: int) -> Clock:
        """The clock of the crawl in another process of this machine, made from its ``started``."""
        clock = cls()
        clock._start, clock._epoch_ms = start_s, epoch_ms
        return clock

    @property
    def started(self) -> ClockStart:
        return ClockStart(self._start, self._epoch_ms)

    def epoch_ms(self) -> int:
        return self._epoch_ms + int((self.seconds() - self._start) * 1000)
