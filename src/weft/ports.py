"""The verbs between the stations, as small Protocols. Each has at least two implementations or callers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

import msgspec

from weft.errors import Cause
from weft.records import Lease, Verdict


class Clock:
    """The crawl's own time: it never jumps, whatever is done to the machine's clock.

    ``epoch_ms`` starts at the wall clock (or at the last tick of the earlier run, where the wall clock was set
    back since) and goes on by the monotonic clock, so what is stored as an instant stays in order.
    """

    def __init__(
        self, not_before_ms: int = 0, now: Callable[[], float] = time.time, mono: Callable[[], float] = time.monotonic
    ) -> None:
        self._mono = mono
        self._start = mono()
        self._epoch_ms = max(int(now() * 1000), not_before_ms)

    def seconds(self) -> float:
        """Monotonic seconds, for delays and deadlines."""
        return self._mono()

    def epoch_ms(self) -> int:
        return self._epoch_ms + int((self._mono() - self._start) * 1000)


class Parent(msgspec.Struct, frozen=True, gc=False):
    """The page on which a candidate was found, as far as judging needs it."""

    url: str
    depth: int
    chain: int  # hops from page to page of the same shape (traps)


class Judge(Protocol):
    """Decides which URLs belong to the crawl. Pure but for trap budgets, which it keeps itself."""

    def judge_url(self, url: str, site_id: int, parent: Parent | None) -> Verdict:
        """For a URL that is new: asked once for each."""

    def judge_link(self, kind: int, rel: str, nofollow: bool, depth: int, hops: int) -> Verdict:
        """For one link: may it bring its target in?"""

    def is_suspect(self, site_id: int) -> bool:
        """Whether ``judge_waiting`` may refuse pages of this site. Cheap: asked at every lease."""

    def judge_waiting(self, url: str, site_id: int) -> Verdict:
        """For a page that was admitted and still waits: whether what was learnt since refuses it."""

    def chain_of(self, url: str, parent: Parent | None) -> int:
        """How many hops of the same shape lead to this URL."""


class Pass(msgspec.Struct, frozen=True):
    """The page may be asked; ``delay_s`` is what robots.txt wants between requests."""

    delay_s: float


class Ask(msgspec.Struct, frozen=True):
    """robots.txt of the origin must be asked first, with this lease."""

    lease: Lease


class Hold(msgspec.Struct, frozen=True):
    """robots.txt is being asked already."""


class Refuse(msgspec.Struct, frozen=True):
    cause: Cause
    detail: str = ""


class Gate(Protocol):
    """robots.txt: stands between the queue and the lease, so that nobody can forget it."""

    def check(self, url: str, site_id: int) -> Pass | Ask | Hold | Refuse: ...
