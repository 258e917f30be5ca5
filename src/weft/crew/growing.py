"""The crew of `--processes auto`: one process, until it is busy all the time; then as many as there are cores.

Most crawls wait for servers and for delays, and more processes would only cost their start. Where the one process has
no time left to wait, workers are started, and from then on get all leases; what is under way here ends here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from weft.conclude import Concluded
from weft.crew.alone import Alone
from weft.records import Failure, Lease

if TYPE_CHECKING:
    from weft.crew.team import Team  # loaded where it is needed: most crawls never grow

BUSY_SHARE = 0.8  # of a second and more: what is left would not be worth the start of a process
WATCHED_S = 1.0


class Growing:
    """Works alone, and hands over to a team as soon as that pays."""

    def __init__(self, alone: Alone, make_team: Callable[[], Team]) -> None:
        self._alone = alone
        self._make_team = make_team
        self._team: Team | None = None
        self._wake: Callable[[], None] = _nothing
        self._since_s = time.monotonic()
        self._cpu_s = time.process_time()
        self._ending = False

    async def __aenter__(self) -> Growing:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._team is not None:
            await self._team.__aexit__(*_)

    def on_finished(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._alone.on_finished(wake)

    @property
    def running(self) -> int:
        return self._alone.running + (self._team.running if self._team is not None else 0)

    @property
    def has_finished(self) -> bool:
        return self._alone.has_finished or (self._team is not None and self._team.has_finished)

    def free(self, workers: int) -> int:
        if self._team is None or not self._team.is_open:
            return self._alone.free(workers)
        return self._team.free(workers) - self._alone.running

    def start(self, lease: Lease, addresses: Sequence[str], gap_s: float) -> None:
        crew = self._team if self._team is not None and self._team.is_open else self._alone
        crew.start(lease, addresses, gap_s)

    def room_ahead(self, untaken: int) -> Iterable[tuple[int, int, int]]:
        return self._team.room_ahead(untaken) if self._team is not None else ()

    def feed(self, take_ahead: Callable[[], None]) -> None:
        if self._team is not None and self._team.is_open:
            self._team.feed(take_ahead)

    def start_ahead(self, place: int, lease: Lease, addresses: Sequence[str]) -> None:
        assert self._team is not None
        self._team.start_ahead(place, lease, addresses)

    def fail(self, lease: Lease, failure: Failure) -> None:
        self._alone.fail(lease, failure)

    def next(self) -> list[Concluded]:
        return (self._team.next() if self._team is not None else []) or self._alone.next()

    def brought_back(self) -> list[tuple[Lease, bool]]:
        return self._team.brought_back() if self._team is not None else []

    def recall(self) -> None:
        self._ending = True
        if self._team is not None:
            self._team.recall()

    async def cancel_all(self) -> list[tuple[Lease, bool]]:
        left = await self._alone.cancel_all()
        return left + (await self._team.cancel_all() if self._team is not None else [])

    def flush(self) -> Mapping[str, tuple[int, bool]]:
        self._grow_if_busy()
        positions = dict(self._alone.flush())
        return positions | dict(self._team.flush()) if self._team is not None else positions

    def pids(self) -> list[int]:
        return self._team.pids() if self._team is not None else []

    async def close(self) -> Mapping[str, tuple[int, bool]]:
        self._ending = True
        positions = dict(await self._alone.close())
        return positions | dict(await self._team.close()) if self._team is not None else positions

    def _grow_if_busy(self) -> None:
        """Looks, once a second, how much of it this process has worked."""
        now_s, cpu_s = time.monotonic(), time.process_time()
        passed_s = now_s - self._since_s
        if self._team is not None or self._ending or passed_s < WATCHED_S:
            return
        busy = (cpu_s - self._cpu_s) / passed_s
        self._since_s, self._cpu_s = now_s, cpu_s
        if busy >= BUSY_SHARE:
            self._team = self._make_team()
            self._team.on_finished(self._wake)


def _nothing() -> None:
    return
