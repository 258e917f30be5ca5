"""The workers of several processes: the crawl's own, which begins at once, and workers that join it (E6).

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

from weft.crawl.local import LocalWorker
from weft.ports import Returned, RoomAhead
from weft.records import Ended, Failure, FilePosition, Lease

if TYPE_CHECKING:
    from weft.workers.pool import WorkerPool  # loaded where it is needed: most crawls never grow

BUSY_SHARE = 0.8  # of a second and more: what is left would not be worth the start of a process
WATCHED_S = 1.0
REPORTS_IN_A_ROW = 4  # of workers, then answers of our own: only here can reports be stored, so they come first


class CombinedWorkers:
    """See the module. ``at_once``: workers join at once; ``goes_on``: this process asks beside them."""

    def __init__(
        self, local: LocalWorker, make_pool: Callable[[], WorkerPool], *, at_once: bool, goes_on: bool
    ) -> None:
        self._local = local
        self._make_pool = make_pool
        self._at_once = at_once
        self._goes_on = goes_on
        self._pool: WorkerPool | None = None
        self._wake: Callable[[], None] = _nothing
        self._reports = 0
        self._since_s = time.monotonic()
        self._cpu_s = time.process_time()
        self._ending = False

    async def __aenter__(self) -> CombinedWorkers:
        if self._at_once:
            self._grow()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._pool is not None:
            await self._pool.__aexit__(*_)

    def on_finished(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._local.on_finished(wake)
        if self._pool is not None:
            self._pool.on_finished(wake)

    @property
    def running(self) -> int:
        return self._local.running + (self._pool.running if self._pool is not None else 0)

    @property
    def takes_ahead(self) -> bool:
        return self._pool is not None and self._pool.takes_ahead

    @property
    def has_finished(self) -> bool:
        return self._local.has_finished or (self._pool is not None and self._pool.has_finished)

    def free(self, workers: int) -> int:
        if self._pool is None or not self._pool.is_open:
            return self._local.free(workers)
        if self._goes_on and self._pool.book.is_ahead_of_us and self._pool.book.least_running:
            return 0  # what would be asked here now goes to a worker for good: each follows its own requests
        return self._pool.free(workers) - self._local.running

    def start(self, lease: Lease, addresses: Sequence[str], gap_s: float) -> None:
        pool = self._pool
        if pool is None or not pool.is_open or (self._goes_on and self._is_ours(pool, lease, addresses, gap_s)):
            self._local.start(lease, addresses, gap_s)
        else:
            pool.start(lease, addresses, gap_s)

    def _is_ours(self, pool: WorkerPool, lease: Lease, addresses: Sequence[str], gap_s: float) -> bool:
        """Whether this process asks itself: as much as each of its workers, as long as it has time for that.

        A request that ends at a worker is followed by the next one there, so nobody's share grows at its cost.
        """
        clocks = pool.book.clocks(lease, addresses, gap_s)
        if clocks:
            return pool.book.keeper(clocks) is None
        return (
            not pool.book.is_ahead_of_us
            and self._local.running <= pool.book.least_running
            and self._local.free(1 << 30) > 0
        )

    def room_ahead(self, untaken: int) -> Iterable[RoomAhead]:
        return self._pool.room_ahead(untaken) if self._pool is not None else ()

    def feed(self, take_ahead: Callable[[], None]) -> None:
        if self._pool is not None and self._pool.is_open:
            self._pool.feed(take_ahead)

    def start_ahead(self, place: int, lease: Lease, addresses: Sequence[str]) -> None:
        assert self._pool is not None
        self._pool.start_ahead(place, lease, addresses)

    def fail(self, lease: Lease, failure: Failure) -> None:
        self._local.fail(lease, failure)

    def next(self) -> list[Ended]:
        if self._pool is None:
            return self._local.next()
        ended = self._pool.next() if self._reports < REPORTS_IN_A_ROW else []
        if ended:
            self._reports += 1
            return ended
        self._reports = 0
        return self._local.next() or self._pool.next()

    def brought_back(self) -> list[Returned]:
        return self._pool.brought_back() if self._pool is not None else []

    def recall(self) -> None:
        self._ending = True
        if self._pool is not None:
            self._pool.recall()

    async def cancel_all(self) -> list[Returned]:
        left = await self._local.cancel_all()
        self._local.hand_over(None)  # nobody is left who could read for us
        return left + (await self._pool.cancel_all() if self._pool is not None else [])

    def flush(self) -> Mapping[str, FilePosition]:
        self._grow_if_busy()
        positions = dict(self._local.flush())
        return positions | dict(self._pool.flush()) if self._pool is not None else positions

    def pids(self) -> list[int]:
        return self._pool.pids() if self._pool is not None else []

    async def close(self) -> Mapping[str, FilePosition]:
        self._ending = True
        positions = dict(await self._local.close())
        return positions | dict(await self._pool.close()) if self._pool is not None else positions

    def _grow_if_busy(self) -> None:
        """Looks, once a second, how much of it this process has worked."""
        now_s, cpu_s = time.monotonic(), time.process_time()
        passed_s = now_s - self._since_s
        if self._pool is not None or self._ending or passed_s < WATCHED_S:
            return
        busy = (cpu_s - self._cpu_s) / passed_s
        self._since_s, self._cpu_s = now_s, cpu_s
        if busy >= BUSY_SHARE:
            self._grow()

    def _grow(self) -> None:
        self._pool = self._make_pool().begin()
        self._pool.on_finished(self._wake)
        if self._goes_on:
            self._local.hand_over(self._pool.read)


def _nothing() -> None:
    return
