"""The worker pool: workers in processes of their own, as the crawl sees them (E6, E7).

The crawl keeps the frontier, robots.txt, addresses, cookies and the database; a worker gets leases and brings back what
is to be stored. Who gets which lease is written in the book of leases (``lease_book``).

A worker that dies is replaced. What it had is brought back; its WARC file ends where its last report says. So is one
that says nothing for too long: frozen from outside, or in a page that it never ends reading.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from weft.clock import Clock
from weft.crawl.machine import share_of_memory
from weft.crawl.marks import WORKER_SLOTS, add_slots, clear_mark, marked_page
from weft.errors import BugError, StoreError, WeftError
from weft.fetch.cookies import CookieJar
from weft.fetch.http import descriptor_budget
from weft.folder import Folder
from weft.ports import Returned, RoomAhead
from weft.records import Ended, Failure, Fetched, FilePosition, Lease
from weft.spec import CrawlSpec
from weft.store.bodies import share_bodies
from weft.store.warc.recovery import cut_files
from weft.workers.fork_server import ForkServer
from weft.workers.launcher import Launcher
from weft.workers.lease_book import LeaseBook
from weft.workers.member import Member
from weft.workers.messages import Hello, Line, Orders, Report
from weft.workers.rate import SharedRate
from weft.workers.suspects import Suspects

FRUITLESS_DEATHS = 5
CANCEL_S = 3.0
END_S = 10.0
LOOK_S = 5.0  # workers that have work are looked at so often,
SILENCE_S = 60.0  # and ended when nothing was heard for so long, and the time a request may take

_log = logging.getLogger("weft.workers")


class Wanted(NamedTuple):
    """How many workers there are to be, and where they come from."""

    workers: int
    beside_crawl: bool = False  # the process of the crawl asks, too
    fork_server: ForkServer | None = None


class WorkerPool:
    """See the module. Use as an async context manager."""

    def __init__(
        self, spec: CrawlSpec, wanted: Wanted, folder: Folder, prefix: str, seed_origins: Sequence[str], clock: Clock,
        jar: CookieJar | None,
    ) -> None:  # fmt: skip
        workers, beside_crawl, fork_server = wanted
        self._spec = spec
        self._size = workers
        self._processes = workers + beside_crawl  # that ask: the crawl's own may be one of them
        self._folder = folder
        self._prefix = prefix
        self._seed_origins = list(seed_origins)
        self._clock = clock
        self._marks = folder.parsing
        self._at_once = workers * descriptor_budget()
        add_slots(folder.parsing, WORKER_SLOTS + workers)
        self.bodies = share_bodies()
        rate_b = spec.limits.max_rate_b
        self._rate = SharedRate(rate_b, folder.parsing) if rate_b else None
        self._book = LeaseBook(spec, self._processes, clock, jar, self._send_soon)
        self._members = self._book.members
        self._launcher = Launcher(fork_server)
        self._launched = 0
        self._suspects = Suspects()
        self._fruitless = 0
        self._trouble: WeftError | None = None
        self._wake: Callable[[], None] = _nothing
        self._sending = False
        self._opened = False  # all were ready once
        self._recalled = False  # the crawl ends: there is nothing to do any more but what is under way
        self._changed = asyncio.Event()
        self._ending = False
        self._silent_max = (SILENCE_S + spec.limits.timeout_s) / LOOK_S
        self._look: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> WorkerPool:
        return self.begin()

    def begin(self) -> WorkerPool:
        """Has the workers started; ``is_open`` tells when all of them are ready."""
        self._loop = asyncio.get_running_loop()
        self._launcher.begin()
        for slot in range(self._size):
            self._members.append(self._new_member(slot))
        self._look = self._loop.call_later(LOOK_S, self._look_after_all)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._ending = True
        if self._look is not None:
            self._look.cancel()
        for member in self._members:
            if member.line is not None:
                member.line.close()
        self._members.clear()
        self._launcher.close()
        if self.bodies is not None:
            self.bodies.close()
        if self._rate is not None:
            self._rate.close()

    # ---- what the loop asks ----------------------------------------------------------------------------------

    def on_finished(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    @property
    def running(self) -> int:
        return self._book.running

    @property
    def takes_ahead(self) -> bool:
        return self._opened  # the first that is ready begins, and leaves the others their share

    @property
    def has_finished(self) -> bool:
        return self._book.has_news or self._trouble is not None

    def free(self, workers: int) -> int:
        if not any(member.ready for member in self._members):
            return 0
        if self._rate is not None and not self._rate.refill(time.monotonic()):
            return 0
        return min(workers, self._at_once) - sum(member.running for member in self._members)

    def start(self, lease: Lease, addresses: Sequence[str], gap_s: float) -> None:
        self._book.start(lease, addresses, gap_s)

    def room_ahead(self, untaken: int) -> Iterable[RoomAhead]:
        return self._book.room_ahead(untaken)

    def start_ahead(self, place: int, lease: Lease, addresses: Sequence[str]) -> None:
        self._book.start_ahead(place, lease, addresses)

    def read(self, lease: Lease, answer: Fetched) -> None:
        self._book.read(lease, answer)

    def feed(self, take_ahead: Callable[[], None]) -> None:
        for member in list(self._members):
            if member.line is not None:
                member.line.read()
        if not self._book.is_ahead_of_us:
            take_ahead()
        self._send()

    def fail(self, lease: Lease, failure: Failure) -> None:
        self._book.fail(lease, failure)

    def next(self) -> list[Ended]:
        if self._trouble is not None:
            raise self._trouble
        return self._book.next()

    def brought_back(self) -> list[Returned]:
        return self._book.brought_back()

    def recall(self) -> None:
        self._book.recall_all()
        self._recalled = True

    async def cancel_all(self) -> list[Returned]:
        self._book.end_ahead()
        self._recalled = True
        for member in self._members:
            member.orders.cancel = True
            member.cancelled = False
        self._send()
        await self._until(lambda: all(member.cancelled or member.line is None for member in self._members), CANCEL_S)
        left = self._book.brought_back()
        for member in self._members:
            left += self._book.cut_off(member)
            if not member.cancelled:
                self._end(member)
        return left

    def flush(self) -> Mapping[str, FilePosition]:
        news, self._book.news = self._book.news, {}
        return news

    async def close(self) -> Mapping[str, FilePosition]:
        self._ending = True
        for member in self._members:
            member.orders.end = True
        self._send()
        await self._until(lambda: all(member.line is None for member in self._members), END_S)
        for member in self._members:
            self._end(member)
            self._book.news.update(member.positions)
        if self._trouble is not None:
            raise self._trouble
        return self.flush()

    async def _until(self, reached: Callable[[], bool], most_s: float) -> None:
        """Waits for what workers say or do, so long at most."""
        try:
            async with asyncio.timeout(most_s):
                while not reached():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return

    @property
    def is_open(self) -> bool:
        """Whether all workers were ready once: from now on each can have its share."""
        return self._opened

    def pids(self) -> list[int]:
        return self._launcher.pids()

    @property
    def book(self) -> LeaseBook:
        """Which worker has which leases."""
        return self._book

    # ---- orders ----------------------------------------------------------------------------------------------

    def _send_soon(self) -> None:
        if not self._sending:
            self._sending = True
            self._loop.call_soon(self._send)

    def _send(self) -> None:
        self._sending = False
        for member in self._members:
            orders = member.orders
            if member.line is None or not (
                orders.jobs or orders.grants or orders.recalls or orders.cancel or orders.end or orders.answer
            ):
                continue
            member.orders = Orders([], [], [])
            member.line.send(orders)

    # ---- reports ---------------------------------------------------------------------------------------------

    def _hear(self, member: Member, report: Report) -> None:
        try:
            self._take_report(member, report)
        except Exception as error:  # on the event loop nobody would hear of it
            self._trouble = BugError(f"the report of a worker was not understood: {type(error).__name__}: {error}")
        self._changed.set()
        self._wake()

    def _take_report(self, member: Member, report: Report) -> None:
        member.ready = True
        member.silent = 0
        self._opened = self._opened or all(one.ready for one in self._members)
        if report.ended:
            member.reported = True
            self._fruitless = 0
        member.positions.update(report.positions)
        self._book.take_report(member, report)
        member.cancelled = member.cancelled or report.cancelled
        if report.failure:
            self._trouble = report.fault()

    # ---- starts and deaths -----------------------------------------------------------------------------------

    def _look_after_all(self) -> None:
        """Asks those for an answer who have work and say nothing, and ends them where none comes.

        Looks are counted, not seconds: those in which this process stood still itself say nothing.
        """
        if self._ending:
            return
        for member in [one for one in self._members if one.line is not None and (one.jobs or not one.ready)]:
            if member.silent > self._silent_max:
                self._lost(member)
            else:
                member.orders.answer = member.silent > 0
                member.silent += 1
        self._send()
        self._look = self._loop.call_later(LOOK_S, self._look_after_all)

    def _new_member(self, slot: int) -> Member:
        self._launched += 1
        member = Member(self._launched, slot, f"{self._prefix}-{self._launched}")
        shared = [self.bodies.descriptor] if self.bodies is not None else []
        end = self._launcher.launch(member.number, shared)
        member.line = Line(end, Report, partial(self._hear, member))
        member.line.on_closed = partial(self._lost, member)
        member.line.send(self._hello(member))
        return member

    def _hello(self, member: Member) -> Hello:
        return Hello(
            share_of_memory(self._spec, self._processes),
            str(self._folder.path),
            member.prefix,
            WORKER_SLOTS + member.slot,
            self._seed_origins,
            *self._clock.started,
        )

    def _lost(self, member: Member) -> None:
        """A worker is gone: its jobs come back, the page that may have done it is noted, another takes its place."""
        try:
            self._end(member)
        except StoreError as error:  # on the event loop nobody would hear of it
            self._trouble = error
        self._changed.set()
        if self._ending or self._trouble is not None or (self._recalled and not member.jobs):
            self._wake()
            return
        _log.warning("a worker process died with %d pages under way; another one takes its place", len(member.jobs))
        for job, activity in self._suspects.blame(member, marked_page(self._marks, WORKER_SLOTS + member.slot)):
            self._book.give_up(member, job, activity)
        self._book.bring_back_all(member)
        self._fruitless += not member.reported
        if self._fruitless >= FRUITLESS_DEATHS:
            self._trouble = BugError(
                f"{FRUITLESS_DEATHS} worker processes ended before they had done anything: try --processes 1"
            )
        else:
            try:
                clear_mark(self._marks, WORKER_SLOTS + member.slot)
                self._members[member.slot] = self._new_member(member.slot)
            except (WeftError, OSError) as error:
                self._trouble = BugError(f"no other worker process could be started: {error}")
        self._wake()

    def _end(self, member: Member) -> None:
        """Makes sure that a worker writes no more, and that its files hold what it has reported."""
        if member.line is None:
            return
        member.line.close()
        member.line = None
        self._launcher.end(member.number)
        if self._spec.keep.archive:
            sizes = {file: place.size_b for file, place in member.positions.items()}
            cut_files(self._folder.warc, member.prefix, sizes)
        member.positions = {file: place._replace(is_closed=True) for file, place in member.positions.items()}


def _nothing() -> None:
    return
