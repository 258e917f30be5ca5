"""The crew of several processes: the crawl's own, which begins at once, and workers that join it (E6).

`--processes auto` has them join when the one process is busy all the time: most crawls wait for servers and for delays,
and more processes would only cost their start.

The crawl's own process goes on asking beside its workers: what it reads itself need not be packed, sent and unpacked.
But it reads only pages that need no tree. The others are handed to a worker, so that a page on which the parser dies
takes no crawl down. Where every page needs the tree, workers that join get all leases as soon as they are ready, and
what is under way here ends here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from weft.crawl.conclude import Concluded
from weft.crawl.local import Alone
from weft.ports import Returned, RoomAhead
from weft.records import Failure, FilePosition, Lease

if TYPE_CHECKING:
    from weft.workers.pool import Team  # loaded where it is needed: most crawls never grow

BUSY_SHARE = 0.8  # of a second and more: what is left would not be worth the start of a process
WATCHED_S = 1.0
REPORTS_IN_A_ROW = 4  # of workers, then answers of our own: only here can reports be stored, so they come first


class Joint:
    """See the module. ``at_once``: workers join at once; ``goes_on``: this process asks beside them."""

    def __init__(self, alone: Alone, make_team: Callable[[], Team], *, at_once: bool, goes_on: bool) -> None:
        self._alone = alone
        self._make_team = make_team
        self._at_once = at_once
        self._goes_on = goes_on
        self._team: Team | None = None
        self._wake: Callable[[], None] = _nothing
        self._reports = 0
        self._since_s = time.monotonic()
        self._cpu_s = time.process_time()
        self._ending = False

    async def __aenter__(self) -> Joint:
        if self._at_once:
            self._grow()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._team is not None:
            await self._team.__aexit__(*_)

    def on_finished(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._alone.on_finished(wake)
        if self._team is not None:
            self._team.on_finished(wake)

    @property
    def running(self) -> int:
        return self._alone.running + (self._team.running if self._team is not None else 0)

    @property
    def has_finished(self) -> bool:
        return self._alone.has_finished or (self._team is not None and self._team.has_finished)

    def free(self, workers: int) -> int:
        if self._team is None or not self._team.is_open:
            return self._alone.free(workers)
        if self._goes_on and self._team.book.is_ahead_of_us and self._team.book.least_running:
            return 0  # what would be asked here now goes to a worker for good: each follows its own requests
        return self._team.free(workers) - self._alone.running

    def start(self, lease: Lease, addresses: Sequence[str], gap_s: float) -> None:
        team = self._team
        if team is None or not team.is_open or (self._goes_on and self._is_ours(team, lease, addresses, gap_s)):
            self._alone.start(lease, addresses, gap_s)
        else:
            team.start(lease, addresses, gap_s)

    def _is_ours(self, team: Team, lease: Lease, addresses: Sequence[str], gap_s: float) -> bool:
        """Whether this process asks itself: as much as each of its workers, as long as it has time for that.

        A request that ends at a worker is followed by the next one there, so nobody's share grows at its cost.
        """
        clocks = team.book.clocks(lease, addresses, gap_s)
        if clocks:
            return team.book.keeper(clocks) is None
        return (
            not team.book.is_ahead_of_us
            and self._alone.running <= team.book.least_running
            and self._alone.free(1 << 30) > 0
        )

    def room_ahead(self, untaken: int) -> Iterable[RoomAhead]:
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
        if self._team is None:
            return self._alone.next()
        ended = self._team.next() if self._reports < REPORTS_IN_A_ROW else []
        if ended:
            self._reports += 1
            return ended
        self._reports = 0
        return self._alone.next() or self._team.next()

    def brought_back(self) -> list[Returned]:
        return self._team.brought_back() if self._team is not None else []

    def recall(self) -> None:
        self._ending = True
        if self._team is not None:
            self._team.recall()

    async def cancel_all(self) -> list[Returned]:
        left = await self._alone.cancel_all()
        self._alone.hand_over(None)  # nobody is left who could read for us
        return left + (await self._team.cancel_all() if self._team is not None else [])

    def flush(self) -> Mapping[str, FilePosition]:
        self._grow_if_busy()
        positions = dict(self._alone.flush())
        return positions | dict(self._team.flush()) if self._team is not None else positions

    def pids(self) -> list[int]:
        return self._team.pids() if self._team is not None else []

    async def close(self) -> Mapping[str, FilePosition]:
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
            self._grow()

    def _grow(self) -> None:
        self._team = self._make_team().begin()
        self._team.on_finished(self._wake)
        if self._goes_on:
            self._alone.hand_over(self._team.read)


def _nothing() -> None:
    return
