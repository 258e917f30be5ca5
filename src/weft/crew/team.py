"""The crew of many: workers in processes of their own, as the crawl sees them (E6, E7).

The crawl keeps the frontier, robots.txt, addresses, cookies and the database; a worker gets leases and brings back what
is to be stored. Leases go to the worker that has least to do; those of one site stay together while that costs nothing,
so that connections are used again. Where requests of a site may follow each other at once, workers also get leases
ahead, which take the place of requests that end without asking here, so that nobody waits while a tick is written.

A worker that dies is replaced. What it had is brought back; its WARC file ends where its last report says. So is one
that says nothing for too long: frozen from outside, or in a page that it never ends reading.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from zlib import crc32

import msgspec

from weft.conclude import Concluded, conclude_failure
from weft.crew.births import Births
from weft.crew.cores import share_of_memory
from weft.crew.mark import WORKER_SLOTS, add_slots, clear_mark, marked_page
from weft.crew.member import Member
from weft.crew.messages import ALL_SITES, Ended, Hello, Job, Line, Orders, Report
from weft.crew.nursery import Nursery
from weft.crew.rate import SharedRate
from weft.crew.suspects import Suspects
from weft.errors import BugError, Cause, StoreError, WeftError
from weft.fetch.cookies import CookieJar
from weft.fetch.http import descriptor_budget
from weft.folder import Folder
from weft.ports import Clock, Returned, RoomAhead
from weft.records import Failure, Fetched, FilePosition, Lease
from weft.shared import SeenByWorkers
from weft.spec import CrawlSpec, PageOrder
from weft.store.bodies import share_bodies
from weft.store.warc_recovery import cut_files

AHEAD_MAX = 512  # leases taken ahead per worker: what it does while the crawl writes a tick
BACKLOG_MAX = 256  # pages reported that wait: then nobody is fed, as what the crawl learns from them comes too late
SPREAD = 2  # a site leaves its worker for one that has so many requests less
FRUITLESS_DEATHS = 5
CANCEL_S = 3.0
END_S = 10.0
LOOK_S = 5.0  # workers that have work are looked at so often,
SILENCE_S = 60.0  # and ended when nothing was heard for so long, and the time a request may take

_log = logging.getLogger("weft.crew")


class Team:
    """See the module. Use as an async context manager."""

    def __init__(
        self, spec: CrawlSpec, workers: int, folder: Folder, prefix: str, home_origins: Sequence[str], clock: Clock,
        jar: CookieJar | None, nursery: Nursery | None = None, *, beside_crawl: bool = False,
        seen: SeenByWorkers | None = None,
    ) -> None:  # fmt: skip
        self._spec = spec
        self._size = workers
        self._processes = workers + beside_crawl  # that ask: the crawl's own may be one of them
        self._folder = folder
        self._prefix = prefix
        self._home_origins = list(home_origins)
        self._clock = clock
        self._jar = jar
        self._marks = folder.parsing
        self._ahead_max = AHEAD_MAX if not spec.politeness.delay_s and spec.politeness.order is PageOrder.BFS else 0
        self._at_once = workers * descriptor_budget()
        add_slots(folder.parsing, WORKER_SLOTS + workers)
        self.bodies = share_bodies()
        self._seen = seen
        rate_b = spec.limits.max_rate_b
        self._rate = SharedRate(rate_b, folder.parsing) if rate_b else None
        self._members: list[Member] = []
        self._births = Births(nursery)
        self._born = 0
        self._jobs = 0
        self._finished: deque[tuple[Concluded, dict[str, FilePosition] | None]] = deque()
        self._back: list[Returned] = []
        self._vacant: dict[int, Member] = {}  # by the identity of what ended, and was not taken yet: who had its place
        self._news: dict[str, FilePosition] = {}
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

    async def __aenter__(self) -> Team:
        return self.begin()

    def begin(self) -> Team:
        """Has the workers started; ``is_open`` tells when all of them are ready."""
        self._loop = asyncio.get_running_loop()
        self._births.begin()
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
        self._members = []
        self._births.close()
        if self.bodies is not None:
            self.bodies.close()
        if self._seen is not None:
            self._seen.close()
        if self._rate is not None:
            self._rate.close()

    # ---- what the loop asks ----------------------------------------------------------------------------------

    def on_finished(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    @property
    def running(self) -> int:
        return sum(len(member.jobs) for member in self._members)

    @property
    def has_finished(self) -> bool:
        return bool(self._finished or self._back or self._trouble)

    def free(self, workers: int) -> int:
        if not any(member.ready for member in self._members):
            return 0
        if self._rate is not None and not self._rate.refill(time.monotonic()):
            return 0
        return min(workers, self._at_once) - sum(member.running for member in self._members)

    def start(self, lease: Lease, addresses: Sequence[str], gap_s: float) -> None:
        clocks = self.clocks(lease, addresses, gap_s)
        keeper = self.keeper(clocks) if clocks else None
        member = keeper or self._member_for(lease.site)
        job = self._job(lease, addresses, ahead=False, clocks=clocks)
        member.begin(job)
        self._give(member, job)

    def room_ahead(self, untaken: int) -> Iterable[RoomAhead]:
        if not self._opened:  # the first that is ready begins, and leaves the others their share
            return
        most_ahead = min(self._ahead_max, untaken // self._processes)  # what is left is for all
        for member in self._members if most_ahead else ():
            room = most_ahead - member.waiting
            if 4 * room < most_ahead:
                continue
            sites = [*member.sites, *(site for site in member.vacant if site not in member.sites)]
            share = max(1, room // max(1, len(sites)))
            for site in sites:
                most = min(share - len(member.ahead.get(site, ())), most_ahead - member.waiting)
                if most > 0:
                    yield RoomAhead(member.slot, site, most)

    def start_ahead(self, place: int, lease: Lease, addresses: Sequence[str]) -> None:
        member = self._members[place]
        vacant = member.vacant.get(lease.site)
        job = self._job(lease, addresses, ahead=not vacant)
        if vacant:  # it had run dry
            done = next(iter(vacant.values()))
            self._fill(done)
            done.heir = lease
            member.begin(job)
        else:
            member.wait(job)
        self._give(member, job)

    def read(self, lease: Lease, answer: Fetched) -> None:
        """Has a page read that was asked for by the crawl's own process."""
        member = self._member_for(lease.site)
        job = self._job(lease, (), ahead=False)
        member.begin(job)
        self._give(member, job, answer)

    def feed(self, take_ahead: Callable[[], None]) -> None:
        for member in list(self._members):
            if member.line is not None:
                member.line.read()
        if not self.is_ahead_of_us:
            take_ahead()
        self._send()

    def fail(self, lease: Lease, failure: Failure) -> None:
        self._finished.append((conclude_failure(lease, failure, self._spec.limits), {}))

    def next(self) -> list[Concluded]:
        if self._trouble is not None:
            raise self._trouble
        report: list[Concluded] = []
        while self._finished:
            done, positions = self._finished.popleft()
            if self._vacant:
                self._fill(done)
            report.append(done)
            if positions is not None:
                self._news.update(positions)
                break
        return report

    def brought_back(self) -> list[Returned]:
        back, self._back = self._back, []
        return back

    def recall(self) -> None:
        for member in self._members:
            if member.waiting:
                member.orders.recalls.append(ALL_SITES)
                self._send_soon()
        self._ahead_max = 0
        self._recalled = True

    async def cancel_all(self) -> list[Returned]:
        self._ahead_max = 0
        self._recalled = True
        for member in self._members:
            member.orders.cancel = True
            member.cancelled = False
        self._send()
        await self._until(lambda: all(member.cancelled or member.line is None for member in self._members), CANCEL_S)
        left = self._back
        self._back = []
        for member in self._members:
            left += [Returned(job.lease, not member.is_ahead(job)) for job in member.jobs.values()]
            self._forget_jobs(member)
            if not member.cancelled:
                self._end(member)
        return left

    def flush(self) -> Mapping[str, FilePosition]:
        news, self._news = self._news, {}
        return news

    async def close(self) -> Mapping[str, FilePosition]:
        self._ending = True
        for member in self._members:
            member.orders.end = True
        self._send()
        await self._until(lambda: all(member.line is None for member in self._members), END_S)
        for member in self._members:
            self._end(member)
            self._news.update(member.positions)
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
        return self._births.pids()

    # ---- jobs ------------------------------------------------------------------------------------------------

    def _member_for(self, site: int) -> Member:
        own = self._members[site % len(self._members)]
        least = min(self._members, key=lambda member: (not member.ready, member.running))
        return own if own.ready and own.running <= least.running + SPREAD else least

    @property
    def least_running(self) -> int:
        """How many requests the worker has that has least."""
        return min(member.running for member in self._members)

    @property
    def is_ahead_of_us(self) -> bool:
        """Whether workers have reported more than the crawl finds time to store."""
        return len(self._finished) > BACKLOG_MAX

    def keeper(self, clocks: Sequence[tuple[str, float]]) -> Member | None:
        """The worker that has all requests of the first of these clocks; None: the crawl's own process."""
        place = crc32(clocks[0][0].encode()) % self._processes
        return self._members[place] if place < len(self._members) else None

    def clocks(self, lease: Lease, addresses: Sequence[str], gap_s: float) -> tuple[tuple[str, float], ...]:
        """The clocks that the worker has to heed, first the one that most share."""
        ip_gap_s = self._spec.politeness.ip_delay_s if addresses else 0.0
        by_ip = ((addresses[0], ip_gap_s),) if ip_gap_s else ()
        return (*by_ip, (f"site {lease.site}", gap_s)) if gap_s else by_ip

    def _job(
        self, lease: Lease, addresses: Sequence[str], *, ahead: bool, clocks: tuple[tuple[str, float], ...] = ()
    ) -> Job:
        self._jobs += 1
        cookie = self._jar.header_for(lease.url, self._clock.epoch_ms() / 1000) if self._jar is not None else None
        return Job(self._jobs, lease, tuple(addresses), cookie, ahead, clocks)

    def _give(self, member: Member, job: Job, answer: Fetched | None = None) -> None:
        member.jobs[job.number] = job
        member.orders.jobs.append(job if answer is None else msgspec.structs.replace(job, answer=answer))
        self._send_soon()

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
        if self._seen is not None:
            for one in report.ended:
                self._seen.restore(one.done.links, report.generation)
            self._seen.heard(member.number, report.generation)
        member.positions.update(report.positions)
        for number in report.unused:
            job = member.jobs.pop(number)
            asked = not member.is_ahead(job)  # it was, but for the word on its way
            member.end(job) if asked else member.wait_no_more(job)
            self._bring_back([Returned(job.lease, asked)])
        ended = [one for one in report.ended if one.number in member.jobs]
        for one in ended:
            self._take_in(member, one)
            self._finished.append((one.done, None))
        if ended:
            self._finished[-1] = (ended[-1].done, report.positions)
        else:
            self._news.update(report.positions)
        member.cancelled = member.cancelled or report.cancelled
        if report.failure:
            self._trouble = StoreError(report.failure)

    def _take_in(self, member: Member, ended: Ended) -> None:
        """A job that is done; the next one of its site has its place, or gets it now."""
        job = member.jobs.pop(ended.number)
        member.end(job)
        site, done = job.lease.site, ended.done
        if done.slow or done.visit.cause is not None:
            self._recall_site(site)  # it may want rest: the next tick of its clock decides
            return
        waiting = member.ahead.get(site)
        if not waiting:
            member.vacant.setdefault(site, {})[id(done)] = done
            self._vacant[id(done)] = member
            return
        heir = waiting.get(ended.heir) if ended.heir else next(iter(waiting.values()))
        if heir is None:  # it has a place already, that of another job
            return
        member.wait_no_more(heir)
        member.begin(heir)
        done.heir = heir.lease
        if not ended.heir:  # it was on its way to the worker when the place became free
            member.orders.grants.append((site, heir.number))
            self._send_soon()

    def _fill(self, done: Concluded) -> None:
        """The place of what ended is given away, or the crawl's own again: nobody else may have it."""
        member = self._vacant.pop(id(done), None)
        if member is not None:
            places = member.vacant[done.lease.site]
            del places[id(done)]
            if not places:
                del member.vacant[done.lease.site]

    def _recall_site(self, site: int) -> None:
        for member in self._members:
            for done in list(member.vacant.get(site, {}).values()):
                self._fill(done)
            if site in member.ahead:
                member.orders.recalls.append(site)
                self._send_soon()

    def _bring_back(self, leases: Iterable[Returned]) -> None:
        """Leases that no answer will end. One whose place the crawl has not heard of yet never gets it."""
        giving = {id(done.heir): done for done, _ in self._finished if done.heir is not None}
        for lease, asked in leases:
            giver = giving.get(id(lease))
            if giver is not None:
                giver.heir = None
            self._back.append(Returned(lease, asked and giver is None))

    # ---- births and deaths -----------------------------------------------------------------------------------

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
        self._born += 1
        member = Member(self._born, slot, f"{self._prefix}-{self._born}")
        shared = [self.bodies.descriptor] if self.bodies is not None else []
        if shared and self._seen is not None:
            shared.append(self._seen.descriptor)
            self._seen.joined(member.number)
        end = self._births.bear(member.number, shared)
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
            self._home_origins,
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
        for job, deed in self._suspects.blame(member, marked_page(self._marks, WORKER_SLOTS + member.slot)):
            self._give_up(member, job, deed)
        self._bring_back([Returned(job.lease, not member.is_ahead(job)) for job in member.jobs.values()])
        self._forget_jobs(member)
        self._note_files(member)
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

    def _note_files(self, member: Member) -> None:
        """The files of a worker that is gone are closed, once all that it reported has been taken."""
        if self._finished:
            done, positions = self._finished[-1]
            self._finished[-1] = (done, {**(positions or {}), **member.positions})
        else:
            self._news.update(member.positions)

    def _give_up(self, member: Member, job: Job, deed: str) -> None:
        failure = Failure(Cause.BUG, f"the processes that {deed} died", started_ms=self._clock.epoch_ms())
        done = conclude_failure(job.lease, failure, self._spec.limits)
        del member.jobs[job.number]
        if member.is_ahead(job):
            member.wait_no_more(job)
            done.heir = job.lease  # it had a place after all
        else:
            member.end(job)
        self._finished.append((done, {}))

    def _forget_jobs(self, member: Member) -> None:
        for done in [done for places in member.vacant.values() for done in places.values()]:
            self._fill(done)
        member.jobs.clear()
        member.ahead.clear()
        member.sites.clear()
        member.waiting = member.running = 0

    def _end(self, member: Member) -> None:
        """Makes sure that a worker writes no more, and that its files hold what it has reported."""
        if member.line is None:
            return
        member.line.close()
        member.line = None
        self._births.end(member.number)
        if self._seen is not None:
            self._seen.left(member.number)
        if self._spec.keep.archive:
            sizes = {file: place.size_b for file, place in member.positions.items()}
            cut_files(self._folder.warc, member.prefix, sizes)
        member.positions = {file: place._replace(is_closed=True) for file, place in member.positions.items()}


def _nothing() -> None:
    return
